// apply_patch: makes many edits in many files with one patch, all of them or none.
import { isUtf8 } from "node:buffer";
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
      "Change, create, delete or move files by one patch, all or none: " +
      "a unified diff, or *** Begin Patch with " +
      "*** Update File: / *** Add File: / *** Delete File: sections. " +
      "Show a few unchanged lines around each change.",
    changes: true,
    params: { patch: "string the whole patch" },
    needs: ({ patch }) => ({ read: pathsRead(patch) }),
    async run({ patch }, { files, chat }) {
      // by path, whether the file exists after this patch
      const existing = new Map<string, boolean>();
      const changes = parsePatch(patch);
      const outcomes: Applied[] = [];
      for (const change of changes)
        outcomes.push(await applyToFile(change, files, existing, chat.messages.length > 0));
      return { text: resultText(outcomes, changes), data: { files: outcomes } };
    },
  });

/**
 * The files that the patch reads. None if the patch is unreadable, since run() reports what is
 * wrong with it.
 */
function pathsRead(patchText: string): string[] {
  try {
    return [
      ...new Set(
        parsePatch(patchText).flatMap(({ action, path }) => (action === "add" ? [] : [path])),
      ),
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
  const fileExists = (filePath: string) =>
    existing.get(files.path(filePath)) ?? existsSync(files.path(filePath));
  const recordExists = (filePath: string, isPresent: boolean) =>
    existing.set(files.path(filePath), isPresent);
  // unless this patch wrote it
  const mustBeRead = inConversation && !existing.has(files.path(path));
  const readText = async () =>
    hunks.length && action !== "add" ? await readOldText(path, files, mustBeRead) : "";
  const textBefore = fileExists(path) ? await readText() : undefined;
  if (textBefore === undefined && action !== "add") await refuseMissing(change, files);
  const textAfter = applyChange(textBefore, change);
  if (to && fileExists(to))
    throw new Error(
      `Cannot move '${path}' to '${to}': it exists already. ` +
        "Nothing was changed. Choose another name.",
    );
  if (to) {
    await files.move(path, to);
    recordExists(path, false);
  }
  if (textAfter === undefined) await files.remove(path);
  else if (textAfter !== textBefore) await files.write(to ?? path, Buffer.from(textAfter));
  recordExists(to ?? path, textAfter !== undefined);
  const did = outcomeOf(textBefore, textAfter, to);
  return { path, did, ...(to && { to }), hunks: textBefore === textAfter ? 0 : hunks.length };
}

function outcomeOf(textBefore: unknown, textAfter: unknown, newPath?: string): Applied["did"] {
  if (newPath) return "moved";
  if (textAfter === textBefore) return "unchanged";
  if (textAfter === undefined) return "deleted";
  return textBefore === undefined ? "created" : "edited";
}

/** Suggests files of the same name, since wrong paths are often wrong only in their folder. */
async function refuseMissing(
  { action, path, hunks }: FileChange,
  files: Ctx["files"],
): Promise<void> {
  if (hunks.length && hunks.every(({ fresh }) => fresh)) return;
  const nameSuffix = `/${path.split("/").at(-1)}`;
  const similar = (await files.list().catch(() => []))
    .filter((candidate) => `/${candidate}`.endsWith(nameSuffix))
    .slice(0, 3);
  const suggestion = similar.length
    ? `Did you mean ${similar.map((candidate) => `'${candidate}'`).join(" or ")}?`
    : "Check the path.";
  throw new Error(`Cannot ${action} '${path}': no such file. Nothing was changed. ${suggestion}`);
}

async function readOldText(
  filePath: string,
  files: Ctx["files"],
  mustBeRead: boolean,
): Promise<string> {
  const { bytes, seen } = await files.read(filePath);
  if (mustBeRead && seen === undefined)
    throw new Error(
      `Cannot patch '${filePath}': it was not read in this conversation. ` +
        "Nothing was changed. Read it first.",
    );
  const refuse = (reason: string) =>
    new Error(
      `Cannot patch '${filePath}': ${reason}. ` +
        "Nothing was changed. Leave this file out of the patch.",
    );
  if (bytes.includes(0)) throw refuse("it is binary");
  if (!isUtf8(bytes)) throw refuse("it is not UTF-8");
  return bytes.toString();
}

function resultText(outcomes: Applied[], changes: FileChange[]): string {
  const applied = outcomes.filter((outcome) => outcome.did !== "unchanged");
  const unchangedPaths = outcomes
    .filter((outcome) => outcome.did === "unchanged")
    .map(({ path }) => visible(path));
  const unchangedReason = applied.length
    ? "Unchanged, since it was there already"
    : "Nothing to change: it is there already";
  const unsetModes = changes.flatMap(({ path, to, mode }) =>
    mode ? [`${visible(to ?? path)} (${mode})`] : [],
  );
  return [
    applied.length && `Applied: ${listNames(applied.map(describeOutcome))}.`,
    unchangedPaths.length && `${unchangedReason}: ${listNames(unchangedPaths)}.`,
    unsetModes.length && `Modes were not set: ${listNames(unsetModes)}.`,
  ]
    .filter(Boolean)
    .join(" ");
}

function describeOutcome({ path, did, to, hunks }: Applied): string {
  const hunkCount =
    hunks && (did === "edited" || did === "moved") ? ` (${plural(hunks, "hunk")})` : "";
  return `${did} ${visible(path)}${to ? ` to ${visible(to)}` : ""}${hunkCount}`;
}

const listNames = (names: string[]): string =>
  [
    ...names.slice(0, MAX_FILES_LISTED),
    ...(names.length > MAX_FILES_LISTED ? [`and ${names.length - MAX_FILES_LISTED} more`] : []),
  ].join(", ");
