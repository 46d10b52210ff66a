// agreed: what a commit was shown to hold, so that a yes is for exactly that.
import { createHash } from "node:crypto";
import { createReadStream, lstatSync, readlinkSync } from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import type { Plan } from "./commit.ts";
import { DIFF, type Repository } from "./run-git.ts";

/**
 * Each file that a commit takes with its content, where it goes, and what was shown with the
 * question.
 */
export type Shown = Map<string, string>;

const RAW = ["-r", "--raw", "--no-abbrev", "--no-renames", "-z"];
const [HEAD, TEXT] = ["the commit before it", "what the question says"];

export async function shownNow(
  text: string,
  plan: Plan,
  repo: Repository,
  ctx: Ctx,
): Promise<Shown> {
  const before = await repo.git(["rev-parse", "--verify", "--quiet", "HEAD"], {
    codes: [0, 1, 128],
  });
  const shown: Shown = new Map([[HEAD, before.stdout.trim()]]);
  for (const [file, content] of await contentsOf(plan, repo, ctx)) shown.set(`'${file}'`, content);
  return shown.set(TEXT, text);
}

/** What differs from what was shown, in words; "" if nothing does. */
export function differences(shown: Shown, current: Shown): string {
  const names = [...new Set([...shown.keys(), ...current.keys()])].filter(
    (name) => shown.get(name) !== current.get(name),
  );
  // they say more than the text does
  const parts = names.length > 1 ? names.filter((name) => name !== TEXT) : names;
  return listFew(parts);
}

/**
 * The files that a commit just made holds otherwise than they were shown: a hook, or another
 * program, has changed them since.
 */
export async function changedIn(
  shown: Shown,
  plan: Plan,
  repo: Repository,
  ctx: Ctx,
): Promise<string> {
  const before = shown.get(HEAD);
  const since = before ? [before, "HEAD"] : ["--root", "--no-commit-id", "HEAD"];
  const current = plan.only.length
    ? await contentsOf(plan, repo, ctx)
    : blobsIn(
        (
          await repo.git(["diff-tree", ...RAW, "--ignore-submodules=dirty", ...since], {
            cut: true,
          })
        ).stdout,
      );
  const files = [...new Set([...shown.keys()].filter((name) => name.startsWith("'")))];
  const changedFiles = files.filter((name) => shown.get(name) !== current.get(name.slice(1, -1)));
  const addedFiles = [...current.keys()]
    .map((name) => `'${name}'`)
    .filter((name) => !shown.has(name));
  return listFew([...changedFiles, ...addedFiles]);
}

const listFew = (names: string[]): string =>
  names.slice(0, 5).join(", ") + (names.length > 5 ? ` and ${names.length - 5} more` : "");

/**
 * Of requested files the content on the disk, of staged ones the content that git keeps; each with
 * its mode.
 */
async function contentsOf(
  { only, files, against }: Plan,
  repo: Repository,
  { root }: Ctx,
): Promise<Map<string, string>> {
  if (!only.length)
    return blobsIn(
      (await repo.git([...DIFF, "--cached", "--no-relative", ...RAW.slice(1)])).stdout,
    );
  const contents = new Map<string, string>();
  for (const { path: file } of files)
    contents.set(file, await contentOf(path.resolve(root, file), submodule(file)));
  return contents;

  function submodule(file: string): () => Promise<string> {
    return async () =>
      (await repo.git([...DIFF, ...(against ?? []), "--", `:(literal)${file}`])).stdout;
  }
}

const blobsIn = (raw: string): Map<string, string> => {
  const fields = raw.split("\0");
  return new Map(
    fields.flatMap((field, i) => (field.startsWith(":") ? [[fields[i + 1] ?? "", field]] : [])),
  );
};

async function contentOf(file: string, ofFolder: () => Promise<string>): Promise<string> {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (!stat) return "gone";
  if (stat.isSymbolicLink()) return `link to ${readlinkSync(file)}`;
  if (stat.isDirectory()) return ofFolder();
  if (!stat.isFile()) return "no file";
  const hash = createHash("sha256");
  for await (const bytes of createReadStream(file)) hash.update(bytes);
  return `${hash.digest("hex")} ${stat.mode & 0o100}`;
}
