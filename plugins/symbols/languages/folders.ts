// Paths in a project, with "" for its root.

export const folderOf = (file: string): string => file.slice(0, Math.max(file.lastIndexOf("/"), 0));
export const under = (folder: string, name: string): string => (folder ? `${folder}/${name}` : name);

/** A path with parts such as "..", from a folder. */
export function joined(folder: string, path: string): string | undefined {
  const parts = folder ? folder.split("/") : [];
  for (const part of path.split("/"))
    if (part === "..") {
      if (parts.pop() === undefined) return undefined;
    } else if (part && part !== ".") parts.push(part);
  return parts.join("/");
}

export const firstOf = (
  { names }: { names: ReadonlySet<string> },
  paths: readonly (string | undefined)[],
): string[] => {
  const found = paths.find((one) => one !== undefined && names.has(one));
  return found === undefined ? [] : [found];
};

/** a, a/b, a/b/c … upwards from a folder. */
export function* upwards(folder: string): Generator<string> {
  for (let up = folder; up; up = folderOf(up)) yield up;
  yield "";
}
