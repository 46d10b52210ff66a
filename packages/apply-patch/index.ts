// apply_patch: makes many edits in many files with one patch, all of them or none.
import { existsSync } from "node:fs";
import type { Ctx, Zz } from "zz";
import { plural, visible } from "zz/text";
import { applyChange } from "./apply.ts";
import { type FileChange, parsePatch } from "./parse.ts";

type Applied = {
  path: string;
  did: "created" | "edited" | "deleted" | "moved" | "unchanged";
  to?: string;
  hunks: number;
};

const MAX_FILES_LISTED = 20;

export default (zz: Zz) =>
  zz.tool({
    name: "apply_patch",
    description:
      "Change, create, delete or move files by one patch, all or none: a unified diff, or *** Begin Patch with " +
      "*** Update File: / *** Add File: / *** Delete File: sections. Show a few unchanged lines around each change.",
    changes: true,
    params: { patch: "string the whole patch" },
    needs: ({ patch }) => ({ read: pathsRead(patch) }),
    async run({ patch }, { files, chat }) {
      // by path, whether the file exists after this patch
      const existing = new Map<string, boolean>();
      const changes = parsePatch(patch);
      const did: Applied[] = [];
      for (const change of changes)
        did.push(await applyToFile(change, files, existing, chat.messages.length > 0));
      return { text: resultText(did, changes), data: { files: did } };
    },
  });

/**
 * The files that the patch reads. None if the patch is unreadable, since run() reports what is
 * wrong with it.
 */
function pathsRead(patch: string): string[] {
  try {
    return [
      ...new Set(parsePatch(patch).flatMap(({ action, path }) => (action === "add" ? [] : [path]))),
    ];
  } catch {
    return [];
  }
}

async function applyToFile(
  change: FileChange,
  files: Ctx["files"],
  existing: Map<string, boolean>,
  inConversation: boolean,
): Promise<Applied> {
  const { action, path, to, hunks } = change;
  const exists = (name: string) => existing.get(files.path(name)) ?? existsSync(files.path(name));
  const set = (name: string, is: boolean) => existing.set(files.path(name), is);
  // unless this patch wrote it
  const mustBeRead = inConversation && !existing.has(files.path(path));
  const text = async () =>
    hunks.length && action !== "add" ? await textOf(path, files, mustBeRead) : "";
  const before = exists(path) ? await text() : undefined;
  if (before === undefined && action !== "add") await refuseMissing(change, files);
  const after = applyChange(before, change);
  if (to && exists(to))
    throw new Error(
      `Cannot move '${path}' to '${to}': it exists already. Nothing was changed. Choose another name.`,
    );
  if (to) {
    await files.move(path, to);
    set(path, false);
  }
  if (after === undefined) await files.remove(path);
  else if (after !== before) await files.write(to ?? path, Buffer.from(after));
  set(to ?? path, after !== undefined);
  const kept = before === after && !to;
  const did = kept ? "unchanged" : outcomeOf(before, after, to);
  return { path, did, ...(to && { to }), hunks: before === after ? 0 : hunks.length };
}

function outcomeOf(before: unknown, after: unknown, to?: string) {
  if (to) return "moved";
  if (after === undefined) return "deleted";
  return before === undefined ? "created" : "edited";
}

/** Suggests files of the same name, since wrong paths are often wrong only in their folder. */
async function refuseMissing(
  { action, path, hunks }: FileChange,
  files: Ctx["files"],
): Promise<void> {
  if (hunks.length && hunks.every(({ fresh }) => fresh)) return;
  const base = `/${path.split("/").at(-1)}`;
  const similar = (await files.list().catch(() => []))
    .filter((file) => `/${file}`.endsWith(base))
    .slice(0, 3);
  const hint = similar.length
    ? `Did you mean ${similar.map((file) => `'${file}'`).join(" or ")}?`
    : "Check the path.";
  throw new Error(`Cannot ${action} '${path}': no such file. Nothing was changed. ${hint}`);
}

async function textOf(path: string, files: Ctx["files"], mustBeRead: boolean): Promise<string> {
  const { bytes, seen } = await files.read(path);
  if (mustBeRead && seen === undefined)
    throw new Error(
      `Cannot patch '${path}': it was not read in this conversation. Nothing was changed. Read it first.`,
    );
  const refuse = (reason: string) =>
    new Error(
      `Cannot patch '${path}': ${reason}. Nothing was changed. Leave this file out of the patch.`,
    );
  if (bytes.includes(0)) throw refuse("it is binary");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw refuse("it is not UTF-8");
  }
}

function resultText(did: Applied[], changes: FileChange[]): string {
  const applied = did.filter((file) => file.did !== "unchanged");
  const kept = did.filter((file) => file.did === "unchanged").map(({ path }) => visible(path));
  const modes = changes.flatMap(({ path, to, mode }) =>
    mode ? [`${visible(to ?? path)} (${mode})`] : [],
  );
  return [
    applied.length && `Applied: ${listed(applied.map(phrase))}.`,
    kept.length &&
      `${applied.length ? "Unchanged, since it was there already" : "Nothing to change: it is there already"}: ${listed(kept)}.`,
    modes.length && `Modes were not set: ${listed(modes)}.`,
  ]
    .filter(Boolean)
    .join(" ");
}

function phrase({ path, did, to, hunks }: Applied): string {
  const count = hunks && (did === "edited" || did === "moved") ? ` (${plural(hunks, "hunk")})` : "";
  return `${did} ${visible(path)}${to ? ` to ${visible(to)}` : ""}${count}`;
}

const listed = (names: string[]): string =>
  [
    ...names.slice(0, MAX_FILES_LISTED),
    ...(names.length > MAX_FILES_LISTED ? [`and ${names.length - MAX_FILES_LISTED} more`] : []),
  ].join(", ");
