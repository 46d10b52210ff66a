// Where memory is: memory/ with an INDEX.md, or a MEMORY.md, of the project (in .zz/) and of the
// home.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { byName, codeOf, errnoSentence, tryTo } from "zz/text";

type From = "project" | "home";
export interface Tree {
  from: From;
  base: string;
  folder: string; // its memory/
}
type TreeContext = Pick<Ctx, "root" | "about" | "permissions">;
export type LeftOut = { file: string; problem: string };

export const PARTS = ["core", "projects", "daily", "topics"];
export const INDEX = "INDEX.md";
export const MAX_FILE_BYTES = 1024 * 1024; // of a file that is searched
const END_BYTES = 64 * 1024; // read of each end of a larger file, for the prompt
const MAX_FILES = 1_000;

export function treesOf({ root, about }: Pick<TreeContext, "root" | "about">): Tree[] {
  const tree = (from: From, base: string): Tree => ({
    from,
    base,
    folder: path.join(base, "memory"),
  });
  const trees = [tree("project", path.join(root, ".zz")), tree("home", about.home)];
  const [project, home] = trees.map(({ base }) => realOf(base));
  return project && project === home ? trees.slice(1) : trees; // the project's .zz/ is the home
}

/** The file of a tree that is in the prompt: its index, or its only file. */
export const promptFileOf = ({ base, folder }: Tree): string | undefined =>
  [path.join(folder, INDEX), path.join(base, "MEMORY.md"), path.join(folder, "MEMORY.md")].find(
    (file) => lstat(file),
  );

/**
 * The text of a file, or both ends of a huge one. Throws a clause that says why it cannot be read.
 */
export function endsOf(file: string, open: Ctx["files"]["open"]): { text: string; size: number } {
  const fd = open(file);
  try {
    const stat = fs.fstatSync(fd);
    if (!stat.isFile()) throw new Error("it is not a regular file");
    const [head, tail] = stat.size > MAX_FILE_BYTES ? [END_BYTES, END_BYTES] : [stat.size, 0];
    const bytes = Buffer.alloc(head + tail);
    let read = fs.readSync(fd, bytes, 0, head, 0);
    if (tail) read += fs.readSync(fd, bytes, head, tail, stat.size - tail);
    const content = bytes.subarray(0, read);
    if (content.includes(0)) throw new Error("it is not text");
    return { text: content.toString("utf8").replace(/^\ufeff/, ""), size: stat.size };
  } finally {
    fs.closeSync(fd);
  }
}

/** The files of memory that may be read, and those that are left out, with the reason. */
export function filesOf(ctx: TreeContext): { files: string[]; leftOut: LeftOut[] } {
  const [files, leftOut]: [string[], LeftOut[]] = [[], []];
  for (const tree of treesOf(ctx)) {
    const memoryFiles = lstat(path.join(tree.base, "MEMORY.md"))
      ? [path.join(tree.base, "MEMORY.md")]
      : [];
    for (const file of [...memoryFiles, ...under(tree.folder)]) {
      const problem =
        refusal(ctx, tree.from, file) ??
        (files.length < MAX_FILES ? undefined : `there are more than ${MAX_FILES} files`);
      if (problem) leftOut.push({ file, problem });
      else files.push(file);
    }
  }
  return { files, leftOut };
}

/**
 * Why a file is not shown to the model. A link in a project may lead anywhere; the home is the
 * person's own.
 */
export function refusal(
  { root, permissions }: TreeContext,
  from: From,
  file: string,
): string | undefined {
  const real = realOf(file);
  if (!real) return "it is a link that leads nowhere";
  if (from === "project" && !real.startsWith(root + path.sep))
    return "it is a link that leaves the project";
  if (from === "project" && (permissions.secret(file) || permissions.secret(real)))
    return "it may hold secrets";
  const { verdict } = permissions.judge("read", allowed(file));
  return verdict === "deny" ? "reading it is denied" : undefined;
}

/** The need to read a file of memory, which the gate allows unless a rule denies it. */
export const allowed = (name: string) => ({
  name,
  verdict: "allow" as const,
  why: "it is zz's memory",
});

function under(folder: string, depth = 0): string[] {
  if (depth > 5) return [];
  return entriesIn(folder).flatMap((dirent) => {
    const file = path.join(folder, dirent.name);
    if (dirent.isDirectory()) return under(file, depth + 1);
    return /\.(md|txt)$/i.test(dirent.name) ? [file] : [];
  });
}

export function entriesIn(folder: string): fs.Dirent[] {
  try {
    const entries = fs
      .readdirSync(folder, { withFileTypes: true })
      .filter(({ name }) => !name.startsWith("."));
    return entries.sort(byName);
  } catch {
    return []; // it does not exist or cannot be read: most people have none
  }
}

export const lstat = (file: string): fs.Stats | undefined => tryTo(() => fs.lstatSync(file));
export const realOf = (file: string): string | undefined => tryTo(() => fs.realpathSync(file));

const REASONS: Record<string, string> = {
  EACCES: "permission denied",
  ELOOP: "it was swapped for a link",
  ENOENT: "it is gone",
  ENXIO: "it is not a regular file",
  ENOTDIR: "a part of its path is not a folder",
};
export const reason = (error: unknown): string =>
  REASONS[codeOf(error)] ??
  (errnoSentence(error).split(". ")[0] || (error as Error).message.replace(/\.$/, ""));

/** The path of a file as messages show it: relative if it is inside the project. */
export const shownPath = (root: string, file: string): string =>
  file.startsWith(root + path.sep) ? path.relative(root, file) : file;
