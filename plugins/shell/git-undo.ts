// What git commands in the project itself take from its files: work that no commit has is
// recorded, so that undo brings it back.
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { gitParts } from "./judge/git-commands.ts";
import type { Simple } from "./judge/judge-line.ts";
import { programOf, SHELLS } from "./judge/program-table.ts";
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
  const name = programOf(program);
  return SHELLS.has(name) || /^(\.|source)$/.test(name) || name.includes("/");
}

const namesGit = ({ words, text }: Pick<Simple, "words" | "text">): boolean =>
  /git/i.test(`${text} ${words.join(" ")}`);

const removesTracked = ({ words: [program, ...args] }: Simple): boolean =>
  path.basename(program ?? "") === "git" && gitParts(args, (word) => word)[1] === "rm";

/**
 * Looks at the files before a line with such a command. The function returned records what was
 * lost, and says so for the model.
 */
export async function filesBefore(
  simple: Simple[],
  ctx: Ctx,
): Promise<(() => Promise<string>) | undefined> {
  if (!simple.some(mayRunGit)) return undefined;
  const names = await ctx.files.list().catch(() => []);
  const before = names.length > MAX_FILES ? undefined : readFiles(names, ctx.root);
  if (!before && !simple.some(namesGit)) return undefined;
  if (!before)
    return async () => "/undo does not have what git changed: there are too many files to look at";
  const kept = hashesIn(ctx);
  const isKept = (file: FileBefore) => kept.has(hashOf(file.bytes, kept));
  const atRisk = simple.some(removesTracked) ? before : before.filter((file) => !isKept(file));
  return async () => {
    const lost = atRisk.filter((file) => !isUnchanged(file));
    // A file that git has, and that is only another one now, is git's to bring back.
    const recorded = lost.filter((file) => !isKept(file) || !fs.existsSync(file.path));
    try {
      await ctx.files.made(recorded);
    } catch (error) {
      return `/undo does not have what git changed: ${(error as Error).message}`;
    }
    const shown = recorded.slice(0, 5).map((file) => path.relative(ctx.root, file.path));
    return shown.length
      ? `/undo brings back: ${shown.join(", ")}${recorded.length > 5 ? " …" : ""}`
      : "";
  };
}

function readFiles(names: string[], root: string): FileBefore[] | undefined {
  const files: FileBefore[] = [];
  let remainingBytes = MAX_BYTES;
  for (const name of names) {
    const absolutePath = path.join(root, name);
    const stat = fs.lstatSync(absolutePath, { throwIfNoEntry: false });
    if (!stat?.isFile()) continue;
    if ((remainingBytes -= stat.size) < 0) return undefined;
    files.push({ path: absolutePath, bytes: bytesOf(absolutePath), mode: stat.mode });
  }
  return files;
}

function isUnchanged({ path: file, bytes }: FileBefore): boolean {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  return stat?.isFile() === true && stat.size === bytes.length && bytesOf(file).equals(bytes);
}

/** The hashes of what the last commit has. Nothing that the repository names runs for that. */
function hashesIn({ git, programs, root }: Ctx): Set<string> {
  const runOptions = { cwd: root, env: git.env(), timeout: 10_000, maxBuffer: 1 << 26 };
  const args = [...git.quiet, "ls-tree", "-r", "-z", "--full-tree", "HEAD"];
  const { stdout } = programs.run("git", args, {
    ...runOptions,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const entries = stdout?.toString().split("\0") ?? [];
  return new Set(entries.flatMap((row) => /^\d+ blob (\w+)\t/.exec(row)?.[1] ?? []));
}

function hashOf(bytes: Buffer, kept: Set<string>): string {
  const [sample = ""] = kept;
  const hash = createHash(sample.length === 64 ? "sha256" : "sha1");
  return hash.update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}
