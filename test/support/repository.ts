// Repositories for tests, made by one shell: from a process of this size, starting git costs more
// than what git does.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, cpSync, mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "./files.ts";
import { has } from "./needs.ts";

/** Keeps git from reading the machine's own configuration. */
export const PERSON = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };

export { put, type Tree } from "./files.ts";

/** Runs lines in a shell in this folder, until one fails; returns what they print. */
export function shell(cwd: string, script: string, ...words: string[]): string {
  if (!has("git")) return ""; // without git, no test looks at the shared repositories
  const env = { ...process.env, ...PERSON };
  const stdio = ["ignore", "pipe", "pipe"] as const;
  return execFileSync("sh", ["-ec", script, "sh", ...words], {
    cwd,
    encoding: "utf8",
    env,
    stdio: [...stdio],
  });
}

export const INIT = "git init -q -b trunk --template=; mkdir .git/hooks .git/info";

/** Adds to the settings of a repository, each a name and a value, as git itself would write
 * them. */
export function configure(cwd: string, settings: [name: string, value: string][]): void {
  appendFileSync(
    join(cwd, ".git/config"),
    settings.map(([name, value]) => settingLines(name, value)).join(""),
  );
}

export function settingLines(name: string, value: string): string {
  const [first, last] = [name.indexOf("."), name.lastIndexOf(".")];
  const quoted = (text: string) => `"${text.replace(/["\\]/g, "\\$&")}"`;
  const section =
    name.slice(0, first) + (first === last ? "" : ` ${quoted(name.slice(first + 1, last))}`);
  return `[${section}]\n\t${name.slice(last + 1)} = ${quoted(value)}\n`;
}

/** Where git keeps this content, in the folder of objects. */
export function objectOf(content: string): string {
  const hash = createHash("sha1")
    .update(`blob ${Buffer.byteLength(content)}\0${content}`)
    .digest("hex");
  return join(hash.slice(0, 2), hash.slice(2));
}

const models = temporaryFolder("zz-models-");
const made = new Map<string, string>();
/** Fills a folder with what `make` makes of an empty one. That is done once for each key, and
 * copied from then on. */
export function fill(folder: string, key: string, make: (model: string) => void): void {
  let model = made.get(key);
  if (!model) {
    model = join(mkdtempSync(join(models, "-")), "model"); // `make` may use the folder around it
    mkdirSync(model);
    make(model);
    made.set(key, model);
  }
  cpSync(model, folder, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
}
