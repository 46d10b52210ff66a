// What a path in a command names, seen from where the line starts.

import path from "node:path";
import { realOf } from "../paths.ts";

/** What a path in a command means for the gate: relative to where the line starts. */
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

/** `link/..` is not where it started: a path that comes to that is followed here, any other stays as it is written. */
function physical(dir: string, name: string): string {
  let real = path.isAbsolute(name) ? "/" : (realOf(dir) ?? dir);
  let written = real;
  for (const part of name.split("/")) {
    real = part === ".." ? path.dirname(realOf(real) ?? real) : path.join(real, part);
    written = path.join(written, part);
  }
  return real === written ? name : real;
}
