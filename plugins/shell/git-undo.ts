// What git commands in the project itself take from its files: work that no commit has is
// recorded, so that undo brings it back.
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { gitParts } from "./judge/git-commands.ts";
import type { Simple } from "./judge/judge-line.ts";
import { programOf, SHELLS } from "./judge/program-table.ts";
import { listedByGit } from "./listed-by-git.ts";
import { bytesOf } from "./resolve-paths.ts";

const [MAX_FILES, MAX_BYTES] = [5_000, 50 << 20];

type FileBefore = { path: string; bytes: Buffer; mode: number };
/**
 * Whether it may run git, by whatever spelling, in a way that is not known to only read: itself, or
 * in a script of its own.
 */
function mayRunGit({ verdict, words, text }: Simple): boolean {
  const [program] = words;
  if (verdict === "allow") return false;
  if (program === undefined || words.includes(undefined) || namesGit({ words, text })) return true;
  const programName = programOf(program);
  return SHELLS.has(programName) || /^(\.|source)$/.test(programName) || programName.includes("/");
}

const namesGit = ({ words, text }: Pick<Simple, "words" | "text">): boolean =>
  /git/i.test(`${text} ${words.join(" ")}`);

const removesTracked = ({ words: [program, ...args] }: Simple): boolean =>
  path.basename(program ?? "") === "git" && gitParts(args, (argument) => argument)[1] === "rm";

/**
 * Looks at the files before a line with such a command. The function returned records what was
 * lost, and says so for the model.
 */
export async function filesBefore(
  simpleCommands: Simple[],
  ctx: Ctx,
): Promise<(() => Promise<string>) | undefined> {
  if (!simpleCommands.some(mayRunGit)) return undefined;
  const fileNames = await ctx.files.list().catch(() => []);
  const contentsBefore = fileNames.length > MAX_FILES ? undefined : readFiles(fileNames, ctx.root);
  if (!contentsBefore && !simpleCommands.some(namesGit)) return undefined;
  if (!contentsBefore)
    return async () => "/undo does not have what git changed: there are too many files to look at";
  const committedHashes = hashesIn(ctx);
  const isCommitted = (fileBefore: FileBefore) =>
    committedHashes.has(hashBlob(fileBefore.bytes, committedHashes));
  const filesAtRisk = simpleCommands.some(removesTracked)
    ? contentsBefore
    : contentsBefore.filter((fileBefore) => !isCommitted(fileBefore));
  return async () => {
    const lostFiles = filesAtRisk.filter((fileBefore) => !isUnchanged(fileBefore));
    // A file that git has, and that is only another one now, is git's to bring back.
    const recorded = lostFiles.filter(
      (fileBefore) => !isCommitted(fileBefore) || !fs.existsSync(fileBefore.path),
    );
    try {
      await ctx.files.made(recorded);
    } catch (error) {
      return `/undo does not have what git changed: ${(error as Error).message}`;
    }
    const shownPaths = recorded
      .slice(0, 5)
      .map((fileBefore) => path.relative(ctx.root, fileBefore.path));
    return shownPaths.length
      ? `/undo brings back: ${shownPaths.join(", ")}${recorded.length > 5 ? " …" : ""}`
      : "";
  };
}

function readFiles(fileNames: string[], root: string): FileBefore[] | undefined {
  const contents: FileBefore[] = [];
  let remainingBytes = MAX_BYTES;
  for (const fileName of fileNames) {
    const absolutePath = path.join(root, fileName);
    const fileStats = fs.lstatSync(absolutePath, { throwIfNoEntry: false });
    if (!fileStats?.isFile()) continue;
    if ((remainingBytes -= fileStats.size) < 0) return undefined;
    contents.push({ path: absolutePath, bytes: bytesOf(absolutePath), mode: fileStats.mode });
  }
  return contents;
}

function isUnchanged({ path: filePath, bytes }: FileBefore): boolean {
  const fileStats = fs.lstatSync(filePath, { throwIfNoEntry: false });
  return (
    fileStats?.isFile() === true &&
    fileStats.size === bytes.length &&
    bytesOf(filePath).equals(bytes)
  );
}

/** The hashes of what the last commit has. */
function hashesIn(ctx: Ctx): Set<string> {
  const entries = listedByGit(ctx, ctx.root, ["ls-tree", "-r", "-z", "--full-tree", "HEAD"]);
  return new Set(entries.flatMap((treeRow) => /^\d+ blob (\w+)\t/.exec(treeRow)?.[1] ?? []));
}

function hashBlob(fileBytes: Buffer, committedHashes: Set<string>): string {
  const [sampleHash = ""] = committedHashes;
  const hashBuilder = createHash(sampleHash.length === 64 ? "sha256" : "sha1");
  return hashBuilder.update(`blob ${fileBytes.length}\0`).update(fileBytes).digest("hex");
}
