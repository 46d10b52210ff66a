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

export function treesOf({ root, about }: TreeContext): Tree[] {
  const treeIn = (from: From, base: string): Tree => ({
    from,
    base,
    folder: path.join(base, "memory"),
  });
  const trees = [treeIn("project", path.join(root, ".zz")), treeIn("home", about.home)];
  const [project, homeBase] = trees.map(({ base }) => realOf(base));
  return project && project === homeBase ? trees.slice(1) : trees; // the project's .zz/ is the home
}

/** The file of a tree that is in the prompt: its index, or its only file. */
export const promptFileOf = ({ base, folder }: Tree): string | undefined =>
  [path.join(folder, INDEX), path.join(base, "MEMORY.md"), path.join(folder, "MEMORY.md")].find(
    lstat,
  );

/**
 * The text of a file, or both ends of a huge one. Throws a clause that says why it cannot be read.
 */
export function endsOf(
  memoryFile: string,
  openFile: Ctx["files"]["open"],
): { text: string; size: number } {
  const descriptor = openFile(memoryFile);
  try {
    const fileStats = fs.fstatSync(descriptor);
    if (!fileStats.isFile()) throw new Error("it is not a regular file");
    const { size } = fileStats;
    const readAt = (length: number, position: number) => {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, fs.readSync(descriptor, bytes, 0, length, position));
    };
    const content =
      size > MAX_FILE_BYTES
        ? Buffer.concat([readAt(END_BYTES, 0), readAt(END_BYTES, size - END_BYTES)])
        : readAt(size, 0);
    if (content.includes(0)) throw new Error("it is not text");
    return { text: content.toString("utf8").replace(/^\ufeff/, ""), size };
  } finally {
    fs.closeSync(descriptor);
  }
}

/** The files of memory that may be read, and those that are left out, with the reason. */
export function filesOf(ctx: TreeContext): { files: string[]; leftOut: LeftOut[] } {
  const [files, leftOut]: [string[], LeftOut[]] = [[], []];
  for (const memoryTree of treesOf(ctx)) {
    const memoryFiles = [path.join(memoryTree.base, "MEMORY.md")].filter(lstat);
    for (const file of [...memoryFiles, ...filesUnder(memoryTree.folder)]) {
      const problem =
        refusal(ctx, memoryTree.from, file) ??
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
  treeOrigin: From,
  memoryFile: string,
): string | undefined {
  const realPath = realOf(memoryFile);
  if (!realPath) return "it is a link that leads nowhere";
  if (treeOrigin === "project" && !realPath.startsWith(root + path.sep))
    return "it is a link that leaves the project";
  if (treeOrigin === "project" && (permissions.secret(memoryFile) || permissions.secret(realPath)))
    return "it may hold secrets";
  const { verdict } = permissions.judge("read", allowed(memoryFile));
  return verdict === "deny" ? "reading it is denied" : undefined;
}

/** The need to read a file of memory, which the gate allows unless a rule denies it. */
export const allowed = (name: string) => ({
  name,
  verdict: "allow" as const,
  why: "it is zz's memory",
});

function filesUnder(parentFolder: string, folderDepth = 0): string[] {
  if (folderDepth > 5) return [];
  return entriesIn(parentFolder).flatMap((folderEntry) => {
    const entryPath = path.join(parentFolder, folderEntry.name);
    if (folderEntry.isDirectory()) return filesUnder(entryPath, folderDepth + 1);
    return /\.(md|txt)$/i.test(folderEntry.name) ? [entryPath] : [];
  });
}

/** None where the folder does not exist or cannot be read: most people have none. */
export const entriesIn = (parentFolder: string): fs.Dirent[] =>
  (tryTo(() => fs.readdirSync(parentFolder, { withFileTypes: true })) ?? [])
    .filter(({ name }) => !name.startsWith("."))
    .sort(byName);

export const lstat = (filePath: string): fs.Stats | undefined =>
  tryTo(() => fs.lstatSync(filePath));
export const realOf = (filePath: string): string | undefined =>
  tryTo(() => fs.realpathSync(filePath));

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
export const shownPath = (projectRoot: string, filePath: string): string =>
  filePath.startsWith(projectRoot + path.sep) ? path.relative(projectRoot, filePath) : filePath;
