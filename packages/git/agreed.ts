// agreed: what a commit was shown to hold, so that a yes is for exactly that.
import { createHash } from "node:crypto";
import { createReadStream, lstatSync, readlinkSync } from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import type { Plan } from "./commit.ts";
import { DIFF, hashOf, listSome, type Repository } from "./run-git.ts";

/**
 * Each file that a commit takes, in quotes, with its content, where it goes, and what was shown
 * with the question.
 */
export type Shown = Map<string, string>;

const RAW_OPTIONS = ["-r", "--raw", "--no-abbrev", "--no-renames", "-z"];
const [HEAD_KEY, TEXT_KEY] = ["the commit before it", "what the question says"];

export async function shownNow(
  questionText: string,
  commitPlan: Plan,
  repository: Repository,
  ctx: Ctx,
): Promise<Shown> {
  return new Map([
    [HEAD_KEY, await hashOf("HEAD", repository)],
    ...(await contentsOf(commitPlan, repository, ctx)),
    [TEXT_KEY, questionText],
  ]);
}

const changedNames = (shownBefore: Shown, current: Shown): string[] =>
  [...new Set([...shownBefore.keys(), ...current.keys()])].filter(
    (shownName) => shownBefore.get(shownName) !== current.get(shownName),
  );

/** What differs from what was shown, in words; "" if nothing does. */
export function differences(shownBefore: Shown, current: Shown): string {
  const changed = changedNames(shownBefore, current);
  // the others say more than the text does
  return listSome(
    changed.length > 1 ? changed.filter((shownName) => shownName !== TEXT_KEY) : changed,
    5,
  );
}

/**
 * The files that a commit just made holds otherwise than they were shown: a hook, or another
 * program, has changed them since.
 */
export async function changedIn(
  shownBefore: Shown,
  commitPlan: Plan,
  repository: Repository,
  ctx: Ctx,
): Promise<string> {
  const headBefore = shownBefore.get(HEAD_KEY);
  const revisionArgs = headBefore ? [headBefore, "HEAD"] : ["--root", "--no-commit-id", "HEAD"];
  const current = commitPlan.only.length
    ? await contentsOf(commitPlan, repository, ctx)
    : blobsIn(
        (
          await repository.git(
            ["diff-tree", ...RAW_OPTIONS, "--ignore-submodules=dirty", ...revisionArgs],
            { cut: true },
          )
        ).stdout,
      );
  const changed = changedNames(shownBefore, current);
  return listSome(
    changed.filter((shownName) => shownName.startsWith("'")),
    5,
  );
}

/**
 * Of requested files the content on the disk, of staged ones the content that git keeps; each with
 * its mode.
 */
async function contentsOf(
  { only, files, against }: Plan,
  repository: Repository,
  { root }: Ctx,
): Promise<Shown> {
  if (!only.length)
    return blobsIn(
      (await repository.git([...DIFF, "--cached", "--no-relative", ...RAW_OPTIONS.slice(1)]))
        .stdout,
    );
  const contents: Shown = new Map();
  for (const { path: filePath } of files) {
    const ofSubmodule = async () =>
      (await repository.git([...DIFF, ...(against ?? []), "--", `:(literal)${filePath}`])).stdout;
    contents.set(`'${filePath}'`, await contentOf(path.resolve(root, filePath), ofSubmodule));
  }
  return contents;
}

const blobsIn = (rawDiff: string): Shown => {
  const rawFields = rawDiff.split("\0");
  return new Map(
    rawFields.flatMap((rawField, i) =>
      rawField.startsWith(":") ? [[`'${rawFields[i + 1]}'`, rawField]] : [],
    ),
  );
};

async function contentOf(filePath: string, ofFolder: () => Promise<string>): Promise<string> {
  const fileStats = lstatSync(filePath, { throwIfNoEntry: false });
  if (!fileStats) return "gone";
  if (fileStats.isSymbolicLink()) return `link to ${readlinkSync(filePath)}`;
  if (fileStats.isDirectory()) return ofFolder();
  if (!fileStats.isFile()) return "no file";
  const contentHash = createHash("sha256");
  for await (const fileBytes of createReadStream(filePath)) contentHash.update(fileBytes);
  return `${contentHash.digest("hex")} ${fileStats.mode & 0o100}`;
}
