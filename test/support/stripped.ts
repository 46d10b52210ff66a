// The tests' own small programs without types: node starts them in little more than half of the
// time.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { after } from "node:test";
import { transformSync } from "esbuild";
import { ROOT } from "./run.ts";

/** Where such a program lies, visible in the sandbox as well. It imports only what Node brings. */
export function stripped(name: string): string {
  const folder = mkdtempSync("/var/tmp/zz-stripped-");
  after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, `${basename(name, ".ts")}.mjs`);
  writeFileSync(file, transformSync(readFileSync(join(ROOT, name), "utf8"), { loader: "ts" }).code);
  return file;
}
