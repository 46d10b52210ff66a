// Where memory lies: memory/ with an INDEX.md, or a MEMORY.md, of the project (in .zz/) and of the home.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";

export type From = "project" | "home";
export interface Tree {
  from: From;
  base: string;
  folder: string; // its memory/
}
type Here = Pick<Ctx, "root" | "about" | "permissions">;
export type Left = { file: string; why: string };

export const PARTS = ["core", "projects", "daily", "topics"];
export const INDEX = "INDEX.md";
export const LARGEST = 1024 * 1024; // of a file that is searched
const ENDS = 64 * 1024; // of a larger one, what the prompt is cut from
const MOST = 1_000; // files

export function treesOf({ root, about }: Pick<Here, "root" | "about">): Tree[] {
  const tree = (from: From, base: string): Tree => ({ from, base, folder: path.join(base, "memory") });
  const trees = [tree("project", path.join(root, ".zz")), tree("home", about.home)];
  const [project, home] = trees.map(({ base }) => realOf(base));
  return project && project === home ? trees.slice(1) : trees; // in the folder that the home lies in
}

/** What stands for a tree in the prompt: its index, or else all of it. */
export const frontOf = ({ base, folder }: Tree): string | undefined =>
  [path.join(folder, INDEX), path.join(base, "MEMORY.md"), path.join(folder, "MEMORY.md")].find((file) => lstat(file));

/** Its text; of a huge one both ends. Throws a clause. */
export function endsOf(file: string): { text: string; size: number } {
  const fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  try {
    const stat = fs.fstatSync(fd);
    if (!stat.isFile()) throw new Error("it is not a regular file");
    const [head, tail] = stat.size > LARGEST ? [ENDS, ENDS] : [stat.size, 0];
    const bytes = Buffer.alloc(head + tail);
    let read = fs.readSync(fd, bytes, 0, head, 0);
    if (tail) read += fs.readSync(fd, bytes, head, tail, stat.size - tail);
    const whole = bytes.subarray(0, read);
    if (whole.includes(0)) throw new Error("it is not text");
    return { text: whole.toString("utf8").replace(/^\ufeff/, ""), size: stat.size };
  } finally {
    fs.closeSync(fd);
  }
}

/** Every file of memory, and what is passed over. */
export function filesOf(ctx: Here): { files: string[]; left: Left[] } {
  const [files, left]: [string[], Left[]] = [[], []];
  for (const tree of treesOf(ctx)) {
    const more = lstat(path.join(tree.base, "MEMORY.md")) ? [path.join(tree.base, "MEMORY.md")] : [];
    for (const file of [...more, ...under(tree.folder)]) {
      const why =
        refusal(ctx, tree.from, file) ?? (files.length < MOST ? undefined : `there are more than ${MOST} files`);
      if (why) left.push({ file, why });
      else files.push(file);
    }
  }
  return { files, left };
}

/** Why a file stays out of the model's sight. A link in a project may lead anywhere; the home is the person's own. */
export function refusal({ root, permissions }: Here, from: From, file: string): string | undefined {
  const real = realOf(file);
  if (!real) return "it is a link that leads nowhere";
  if (from === "project" && !real.startsWith(root + path.sep)) return "it is a link that leaves the project";
  const { verdict } = permissions.judge("read", allowed(file));
  return verdict === "deny" ? "reading it is denied" : undefined;
}

/** It is there to be read. */
export const allowed = (name: string) => ({ name, verdict: "allow" as const, why: "it is zz's memory" });

function under(folder: string, depth = 0): string[] {
  if (depth > 5) return [];
  return entriesIn(folder).flatMap((entry) => {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) return under(file, depth + 1);
    return /\.(md|txt)$/i.test(entry.name) ? [file] : [];
  });
}

export function entriesIn(folder: string): fs.Dirent[] {
  try {
    const entries = fs.readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !name.startsWith("."));
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return []; // not there, or not to be read: most people have none
  }
}

export const lstat = (file: string): fs.Stats | undefined => tried(() => fs.lstatSync(file));
export const realOf = (file: string): string | undefined => tried(() => fs.realpathSync(file));

function tried<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

const WORDS: Record<string, string> = {
  EACCES: "permission denied",
  ENOENT: "it is gone",
  ENXIO: "it is not a regular file",
  ENOTDIR: "a part of its path is not a folder",
};
export const reason = (error: unknown): string =>
  WORDS[(error as { code?: string }).code ?? ""] ?? (error as Error).message.replace(/\.$/, "");

/** As a place is written: relative inside the project. */
export const placeOf = (root: string, file: string): string =>
  file.startsWith(root + path.sep) ? path.relative(root, file) : file;
