// Paths relative to the project.
import path from "node:path";

export const IN_NODE_MODULES = /(?:^|\/)node_modules(?:\/|$)/;
export const SCRIPT = /\.[cm]?[jt]sx?$/i;

export const folderOf = (filePath: string): string =>
  filePath.slice(0, Math.max(filePath.lastIndexOf("/"), 0));

export const under = (folderPath: string, innerName: string): string =>
  folderPath ? `${folderPath}/${innerName}` : innerName;

export function* upwards(startFolder: string): Generator<string> {
  for (let ancestor = startFolder; ancestor; ancestor = folderOf(ancestor)) yield ancestor;
  yield "";
}

/** Undefined if it is outside of the project. */
export function join(baseFolder: string, specifier: string): string | undefined {
  const joinedPath = path.posix.join(baseFolder || ".", specifier).replace(/\/$/, "");
  if (joinedPath === ".." || joinedPath.startsWith("../")) return undefined;
  return joinedPath === "." ? "" : joinedPath;
}

export const slashes = (systemPath: string): string =>
  path.sep === "/" ? systemPath : systemPath.replaceAll(path.sep, "/");

export function firstOf(
  { names }: { names: ReadonlySet<string> },
  candidates: readonly (string | undefined)[],
): string[] {
  const existing = candidates.find((candidate) => candidate !== undefined && names.has(candidate));
  return existing === undefined ? [] : [existing];
}

/** The folders of these files, and those around them; "" is the project itself. */
export function foldersOf(filePaths: Iterable<string>): Set<string> {
  const folders = new Set([""]);
  for (const filePath of filePaths)
    for (let ancestor = folderOf(filePath); !folders.has(ancestor); ancestor = folderOf(ancestor))
      folders.add(ancestor);
  return folders;
}
