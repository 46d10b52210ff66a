// Which changes of a command git ignores, or lie in packages that git does not track.
import path from "node:path";
import type { Ctx } from "zz";
import { repositoryTop } from "zz/text";
import {
  bytePath,
  type Change,
  lstatOrNone,
  parentsOf,
  raw,
  utf8,
  within,
} from "./compare-copy.ts";

/** Why changes are not shown one by one. */
const [IGNORED, MODULES] = ["ignored by git", "in node_modules"];
/**
 * The topmost folder of a path that git ignores, or of packages that git does not track, and why it
 * is not shown.
 */
export function findIgnored(
  ctx: Ctx,
  changes: Change[],
): (change: Change) => [group: string, why: string] | undefined {
  const asked = namesByRepository(ctx.root, changes);
  const [ignored, tracked] = [new Set<string>(), new Set<string>()];
  for (const [top, names] of [...asked].slice(0, MAX_REPOSITORIES)) {
    const cut = top ? top.length + 1 : 0;
    const input = raw(`${[...names].map((name) => name.slice(cut)).join("\0")}\0`);
    for (const name of askGitToList(ctx, top, ["check-ignore", "-z", "--stdin"], input))
      ignored.add(name);
    if (![...names].some((name) => inModules(name) && !ignored.has(name))) continue;
    for (const name of askGitToList(ctx, top, [
      "ls-files",
      "-z",
      "--",
      ":(glob)**/node_modules/**",
    ]))
      tracked.add(name);
  }
  return (change) => {
    const key = keyOf(change);
    // what goes is shown
    if (isReplaced(change) && !ignored.has(change.name) && !inModules(change.name))
      return undefined;
    const folder = ignored.has(key)
      ? parentsOf(key).find((folder) => ignored.has(`${folder}/`))
      : undefined;
    if (folder !== undefined) return [utf8(folder), IGNORED];
    const modules = tracked.has(change.name) ? undefined : inModules(key);
    return modules === undefined
      ? undefined
      : [utf8(modules), ignored.has(key) ? IGNORED : MODULES];
  };
}

/** The names to ask git about, by repository: git looks neither through links nor into others. */
function namesByRepository(root: string, changes: Change[]): Map<string, Set<string>> {
  const tops = new Map<string, string | undefined>([["", repositoryTop(root) && ""]]);
  const topOf = (folder: string): string | undefined => {
    if (tops.has(folder)) return tops.get(folder);
    const gitFolder = lstatOrNone(bytePath(root, within(folder, ".git")));
    tops.set(
      folder,
      gitFolder ? folder : topOf(folder.slice(0, Math.max(0, folder.lastIndexOf("/")))),
    );
    return tops.get(folder);
  };
  const asked = new Map<string, Set<string>>();
  const links = new Set(
    changes.flatMap(({ name, before }) => (before && !before.isDirectory() ? name : [])),
  );
  for (const changed of changes) {
    const { name } = changed;
    const folders = parentsOf(name);
    const top = topOf(folders.at(-1) ?? "");
    if (top === undefined || folders.some((folder) => links.has(folder))) continue;
    const names = asked.get(top) ?? new Set();
    asked.set(top, names);
    for (const parent of folders) if (parent.length > top.length) names.add(`${parent}/`);
    names.add(keyOf(changed));
    if (isReplaced(changed)) names.add(name);
  }
  return asked;
}

/** What git lists, relative to the project. */
function askGitToList(ctx: Ctx, top: string, args: string[], input?: Buffer): string[] {
  const child = ctx.programs.run("git", [...ctx.git.quiet, ...args], {
    cwd: path.join(ctx.root, utf8(top)),
    env: ctx.git.env(),
    ...(input && { input }),
    timeout: 10_000,
    maxBuffer: 1 << 26,
    stdio: [input ? "pipe" : "ignore", "pipe", "ignore"],
  });
  const names = child.stdout?.toString("latin1").split("\0") ?? [];
  return names.filter(Boolean).map((name) => within(top, name));
}

/**
 * The name as git expects it: only the slash tells git that a name which is not on the disk is a
 * folder's.
 */
const keyOf = ({ name, before, after }: Change): string =>
  (after ?? before)!.isDirectory() ? `${name}/` : name;
/** Whether a folder takes the place of a file or a link. */
const isReplaced = ({ before, after }: Change): boolean =>
  before !== undefined && !before.isDirectory() && after?.isDirectory() === true;
const MAX_REPOSITORIES = 50;
export const inModules = (name: string): string | undefined =>
  /^(.*?\/)?node_modules(?=\/)/s.exec(name)?.[0];
