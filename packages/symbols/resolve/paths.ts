// Paths relative to the project.
import path from "node:path";

export const IN_NODE_MODULES = /(?:^|\/)node_modules(?:\/|$)/;
export const SCRIPT = /\.[cm]?[jt]sx?$/i;

export const folderOf = (file: string): string => file.slice(0, Math.max(file.lastIndexOf("/"), 0));

export const under = (folder: string, name: string): string =>
  folder ? `${folder}/${name}` : name;

export function* upwards(folder: string): Generator<string> {
  for (let up = folder; up; up = folderOf(up)) yield up;
  yield "";
}

/** Undefined if it is outside of the project. */
export function join(folder: string, spec: string): string | undefined {
  const joined = path.posix.join(folder || ".", spec).replace(/\/$/, "");
  if (joined === ".." || joined.startsWith("../")) return undefined;
  return joined === "." ? "" : joined;
}

export const slashes = (file: string): string =>
  path.sep === "/" ? file : file.replaceAll(path.sep, "/");

export function firstOf(
  { names }: { names: ReadonlySet<string> },
  paths: readonly (string | undefined)[],
): string[] {
  const existing = paths.find((candidate) => candidate !== undefined && names.has(candidate));
  return existing === undefined ? [] : [existing];
}

/** The folders of these files, and those around them; "" is the project itself. */
export function foldersOf(names: Iterable<string>): Set<string> {
  const folders = new Set([""]);
  for (const name of names)
    for (let folder = folderOf(name); !folders.has(folder); folder = folderOf(folder))
      folders.add(folder);
  return folders;
}

export const comparePaths = (a: string, b: string): number => Number(a > b) - Number(a < b);
