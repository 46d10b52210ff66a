// The files of a project: those that git does not ignore.
import fs from "node:fs";
import path from "node:path";
import { gitOf } from "./git.ts";
import { wideness } from "./places.ts";
import { textOf, tryTo } from "./text.ts";

export const NEVER_LISTED = /(^|\/)(node_modules|\.git)(\/|$)/;
const IGNORED_WITHOUT_GIT = ["dist", "build", ".next", "coverage", ".venv", "__pycache__", "target"];

/** What git tracks, and what it would if asked; so for every repository in it. Undefined: git does not look here. */
export async function listByGit(root: string, folder: string): Promise<string[] | undefined> {
  const git = gitOf(root);
  const { why, reads } = await git.check(folder).catch(() => ({ why: "git gives no answer", reads: [] }));
  if (why || reads.length) return undefined; // nobody is asked for a list of files: without git there is one as well
  const out = await git.say(["ls-files", "-coz", "--exclude-standard", "--deduplicate"], folder);
  if (out === undefined) return undefined;
  const folders = new Map<string, Map<string, fs.Dirent>>(); // a look at each folder is half the work of one at each file
  const found: string[] = [];
  for (const name of out.split("\0")) {
    const entry = name ? entryOf(name.replace(/\/$/, "")) : undefined; // tracked ones may be gone
    const file = `${folder}/${name}`;
    if (entry?.isFile() || entry?.isSymbolicLink()) found.push(name);
    else if (entry?.isDirectory() && fs.existsSync(path.join(file, ".git")))
      found.push(...((await listByGit(root, file)) ?? []).map((inner) => path.join(name, inner)));
  }
  return found;

  function entryOf(name: string): fs.Dirent | undefined {
    const cut = name.lastIndexOf("/") + 1;
    const at = name.slice(0, cut);
    const read = () => tryTo(() => fs.readdirSync(`${folder}/${at}`, { withFileTypes: true })) ?? [];
    if (!folders.has(at)) folders.set(at, new Map(read().map((entry) => [entry.name, entry])));
    return folders.get(at)!.get(name.slice(cut));
  }
}

/** Where there is no git: every folder's .gitignore holds below it, and the last rule that says anything wins. */
export async function listByWalk(root: string, top: string, under: string): Promise<string[]> {
  const [{ default: ignore }, { setImmediate }] = await Promise.all([import("ignore"), import("node:timers/promises")]);
  const wanted = under === top ? "" : `${path.relative(top, under)}/`;
  const isWide = wideness(root) !== undefined; // there may be hundreds of repositories: none of them is asked
  const found: string[] = [];
  let rest = performance.now() + 30; // reading folders at a stretch is three times as fast as waiting for each
  await walk("", []);
  return found.map((name) => name.slice(wanted.length));

  async function walk(at: string, above: { base: string; rules: ReturnType<typeof ignore> }[]): Promise<void> {
    if (performance.now() > rest) rest = (await setImmediate(30)) + performance.now();
    const folder = path.join(top, at);
    const entries = tryTo(() => fs.readdirSync(folder, { withFileTypes: true })) ?? [];
    const isOther = at && !isWide && entries.some((entry) => entry.name === ".git");
    const known = isOther ? await listByGit(root, folder) : undefined;
    if (known) return void found.push(...known.map((name) => at + name).filter((name) => name.startsWith(wanted)));
    const own = entries.some((entry) => entry.name === ".gitignore" && entry.isFile());
    const text = own ? textOf(path.join(folder, ".gitignore")) : "";
    const rules = own ? [...above, { base: at, rules: ignore().add(rulesIn(text)) }] : above;
    for (const entry of entries) {
      if (performance.now() > rest) rest = (await setImmediate(30)) + performance.now();
      const name = at + entry.name + (entry.isDirectory() ? "/" : "");
      if (!name.startsWith(wanted) && !(entry.isDirectory() && wanted.startsWith(name))) continue;
      const judged = rules.map((rule) => rule.rules.test(name.slice(rule.base.length)));
      const last = judged.findLast(({ ignored, unignored }) => ignored || unignored);
      if (NEVER_LISTED.test(name) || (last ? last.ignored : IGNORED_WITHOUT_GIT.includes(entry.name))) continue;
      if (entry.isDirectory()) await walk(name, rules);
      else if (entry.isFile() || entry.isSymbolicLink()) found.push(name);
    }
  }
}

/** The lines of a .gitignore that are worth a regular expression: those with many stars can take for ever. */
function rulesIn(text: string): string[] {
  let starred = 0;
  const stars = (line: string) => Math.max(...line.split("/").map((part) => part.split(/\*+/).length - 1));
  return text
    .split(/\r?\n/, MAX_IGNORE_RULES)
    .filter((line) => line.length <= MAX_IGNORE_RULE_CHARS && stars(line) <= 3 && (stars(line) < 2 || starred++ < MAX_STARRED_RULES));
}
const [MAX_IGNORE_RULES, MAX_IGNORE_RULE_CHARS, MAX_STARRED_RULES] = [10_000, 500, 100];
