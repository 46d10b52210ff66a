// The tests' own small programs without types: node starts them in little more than half of the
// time.
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { transformSync } from "esbuild";
import { temporaryFolder } from "./files.ts";
import { ROOT } from "./run.ts";

/** Where such a program lies, visible in the sandbox as well. It imports only what Node brings. */
export function stripped(name: string): string {
  const folder = temporaryFolder("/var/tmp/zz-stripped-");
  const file = join(folder, `${basename(name, ".ts")}.mjs`);
  writeFileSync(file, transformSync(readFileSync(join(ROOT, name), "utf8"), { loader: "ts" }).code);
  return file;
}
