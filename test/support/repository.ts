// Repositories for tests, made by one shell: from a process of this size, starting git costs more than what git does.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { has } from "./needs.ts";

/** Keeps git from reading the machine's own configuration. */
export const PERSON = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };

export function put(folder: string, files: Record<string, string>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
}

/** Runs lines in a shell in this folder, until one fails; returns what they print. */
export function shell(cwd: string, script: string, ...words: string[]): string {
  if (!has("git")) return ""; // without git, no test looks at the shared repositories
  const env = { ...process.env, ...PERSON };
  const stdio = ["ignore", "pipe", "pipe"] as const;
  return execFileSync("sh", ["-ec", script, "sh", ...words], { cwd, encoding: "utf8", env, stdio: [...stdio] });
}

export const INIT = "git init -q -b trunk --template=; mkdir .git/hooks .git/info";

/** Sets git's settings, each a name and a value. */
export function configure(cwd: string, settings: [name: string, value: string][]): void {
  shell(cwd, 'while [ $# -gt 0 ]; do git config "$1" "$2"; shift 2; done', ...settings.flat());
}
