// Real code to measure on and to compare with: what packages in node_modules were made from, as
// package-lock.json pins them.
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./run.ts";

/** 579 files of TypeScript. */
export const TYPESCRIPT = ["zod/src", "openai/src"];

const CODE = /(?<!\.d)\.[cm]?[jt]sx?$/;
const TESTS = /(^|\/)(tests?|benchmarks)\//;

/** Copies these packages' code below `root`. */
export function copyCode(packages: string[], root: string): void {
  for (const name of packages)
    for (const file of codeIn(join(ROOT, "node_modules", name)))
      cpSync(join(ROOT, "node_modules", name, file), join(root, name.split("/").at(-2)!, file));
}

/** The same, in git, as projects are. */
export function copyProject(packages: string[], root: string): void {
  copyCode(packages, root);
  execFileSync("git", ["init", "-q"], { cwd: root });
  execFileSync("git", ["add", "-A"], { cwd: root });
}

export const codeIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => CODE.test(name) && !TESTS.test(name))
    .sort();
