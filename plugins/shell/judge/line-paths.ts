// The file that a path in a command names, relative to where the line starts.

import path from "node:path";
import { realOf } from "../paths.ts";

/** A path in a command, as the gate needs it: relative to where the line starts. */
export function pathsOf(
  { cwd }: { cwd: string },
  name: string,
  { dirs }: { dirs: readonly string[] },
): string[] | undefined {
  if (path.isAbsolute(name)) return [physical("/", name)];
  if (!dirs.length) return undefined;
  return dirs.map((dir) => {
    const real = physical(dir, name);
    return dir === cwd || path.isAbsolute(real) ? real : path.join(path.relative(cwd, dir), name) || ".";
  });
}

/** `link/..` is not where it started: a path with `..` after a link is followed here, any other stays as written. */
function physical(dir: string, name: string): string {
  let real = path.isAbsolute(name) ? "/" : (realOf(dir) ?? dir);
  let written = real;
  for (const part of name.split("/")) {
    real = part === ".." ? path.dirname(realOf(real) ?? real) : path.join(real, part);
    written = path.join(written, part);
  }
  return real === written ? name : real;
}
