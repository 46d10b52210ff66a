// The names of a large project's files, kept from one process to the next. Listing tens of thousands of files takes longer
// than asking each folder whether it has changed: one that has not has the same entries. Whatever else decides what is
// listed (.gitignore files, git's index and settings) is looked at as well, and where that cannot be known nothing is kept.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Ctx } from "zz";
import { makeFolder, repositoryTop, tryTo, writeWhole } from "zz/text";
import { namesFile } from "./store.ts";
import { LOCAL_DISKS, notIgnored } from "./watch.ts";

const FORMAT = 1;
const MANY_NAMES = 3_000; // from which on it pays
const MAX_UNLISTED = 1_000; // folders without a listed file
const TICK_MS = 100; // a folder's time says nothing about changes within the same tick of the clock
const COARSE_TICK_MS = 2_000; // where times are in whole seconds
const GIT_FILES = ["index", "config", "config.worktree", "info/exclude"];
const OTHER_LISTS = /(?:^|\n)(?:include|includeif\..*)\.path$/i;

type Stamp = [mtime: number, ctime: number, ino: number];
interface Kept {
  format: number;
  about: string;
  names: string[];
  folders: [folder: string, ...Stamp][]; // relative; "" is the root
  rules: [file: string, ...(Stamp | [])][]; // absolute; without a stamp: there is no such file
}

/** All files that `ctx.files.list()` gives. */
export async function namesIn(ctx: Ctx, many = MANY_NAMES): Promise<string[]> {
  const { root } = ctx;
  const file = namesFile(root, ctx.about.home);
  const kept = tryTo(() => JSON.parse(fs.readFileSync(file, "utf8")) as Kept);
  const about = aboutListing(ctx);
  const isOurs = kept?.format === FORMAT && kept.about === about;
  if (isOurs && tryTo(() => isCurrent(root, kept))) return kept.names;
  const began = Date.now();
  const names = await ctx.files.list();
  if (names.length < many) return names;
  const found = await lookAt(ctx, names, began, isOurs ? kept : undefined).catch(() => undefined);
  if (found) keep(file, { format: FORMAT, about, names, ...found });
  return names;
}

/** What decides which files are listed, besides the files that are looked at. */
function aboutListing({ root, programs }: Ctx): string {
  const variables = Object.entries(process.env).filter(([name]) => /^(?:GIT_|HOME$|XDG_CONFIG_HOME$)/.test(name));
  return JSON.stringify([root, repositoryTop(root) ?? "", programs.find("git") ?? "", variables.sort()]);
}

function isCurrent(root: string, { folders, rules }: Kept): boolean {
  for (const [file, ...stamp] of rules) if (!isSame(statOf(file), stamp)) return false;
  for (const one of folders) {
    const stat = fs.lstatSync(`${root}/${one[0]}`, { throwIfNoEntry: false });
    if (stat?.mtimeMs !== one[1] || stat.ctimeMs !== one[2] || stat.ino !== one[3]) return false;
  }
  return true;
}
const statOf = (file: string): fs.Stats | undefined => tryTo(() => fs.statSync(file, { throwIfNoEntry: false }));
const stampOf = ({ mtimeMs, ctimeMs, ino }: fs.Stats): Stamp => [mtimeMs, ctimeMs, ino];
const isSame = (stat: fs.Stats | undefined, stamp: readonly number[]): boolean =>
  stat ? stampOf(stat).every((one, i) => one === stamp[i]) : !stamp.length;
/** Also in which of them there are: a new one may bring back a folder that was ignored. */
const hasSameRules = (rules: ReadonlyMap<string, fs.Stats | undefined>, before: Kept["rules"]): boolean =>
  rules.size === before.length &&
  before.every(
    ([file, ...stamp]) => rules.has(file) && (file.endsWith("/.git/index") || isSame(rules.get(file), stamp)),
  );

/** Undefined: it cannot be known when the list changes, or something changed just now. */
async function lookAt(
  ctx: Ctx,
  names: readonly string[],
  began: number,
  before: Kept | undefined,
): Promise<Pick<Kept, "folders" | "rules"> | undefined> {
  const { root, git } = ctx;
  const isGit = repositoryTop(root) !== undefined;
  if (process.platform !== "linux" || !LOCAL_DISKS.has(fs.statfsSync(root).type)) return undefined;
  const rules = new Map((isGit ? await gitsFiles(ctx) : [])?.map((file) => [file, statOf(file)]));
  if (isGit && !rules.size) return undefined;
  const [{ dev }, stamps] = [fs.lstatSync(root), new Map<string, Stamp>()];
  const known = new Map(before?.folders.map((one) => [one[0], one]));
  const inner = Map.groupBy(known.keys(), (folder) => path.posix.dirname(folder));
  const ruled = new Set(before?.rules.map(([file]) => file));
  let unlisted = 0;
  for (let next = foldersOf(names); next.length; ) {
    const others = new Set<string>();
    for (const folder of next) {
      const at = path.join(root, folder);
      const stat = fs.lstatSync(at);
      if (!stat.isDirectory() || stat.dev !== dev) return undefined;
      stamps.set(folder, stampOf(stat));
      const rule = `${at}/.gitignore`;
      const old = known.get(folder);
      if (old && isSame(stat, old.slice(1) as Stamp)) {
        for (const one of inner.get(folder || ".") ?? []) if (one) others.add(one);
        if (ruled.has(rule)) rules.set(rule, statOf(rule));
        continue;
      }
      if (isYoung(stat, began)) return undefined;
      for (const entry of tryTo(() => fs.readdirSync(at, { withFileTypes: true })) ?? []) {
        if (entry.name === ".git" && (folder || !isGit)) return undefined; // another repository, with a list of its own
        if (entry.name === ".gitignore") rules.set(rule, statOf(rule));
        if (entry.isDirectory() && !NEVER.has(entry.name)) others.add(folder ? `${folder}/${entry.name}` : entry.name);
      }
    }
    const fresh = [...others].filter((folder) => !stamps.has(folder));
    if ((unlisted += fresh.length) > MAX_UNLISTED) return undefined;
    next = fresh.length && isGit ? await notIgnored(fresh, git, root) : fresh;
  }
  if (before && !hasSameRules(rules, before.rules)) return lookAt(ctx, names, began, undefined);
  for (const stat of rules.values()) if (stat && isYoung(stat, began)) return undefined;
  return {
    folders: Array.from(stamps, ([folder, stamp]) => [folder, ...stamp]),
    rules: Array.from(rules, ([file, stat]) => [file, ...(stat ? stampOf(stat) : ([] as []))]),
  };
}
const NEVER = new Set(["node_modules", ".git"]);

/** It may change again within the same tick. */
function isYoung({ mtimeMs, ctimeMs }: fs.Stats, began: number): boolean {
  const last = Math.max(mtimeMs, ctimeMs);
  return last > began - (last % 1_000 ? TICK_MS : COARSE_TICK_MS);
}

/** Of these files, and those around them. */
function foldersOf(names: readonly string[]): string[] {
  const folders = new Set([""]);
  for (const name of names)
    for (let at = name.lastIndexOf("/"); at > 0; at = name.lastIndexOf("/", at - 1)) {
      const folder = name.slice(0, at);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  return [...folders];
}

/** The files by which git knows what to list, whether they are there or not; undefined: others may count, too. */
async function gitsFiles({ git, root }: Ctx): Promise<string[] | undefined> {
  const own = path.join(root, ".git");
  if (!fs.lstatSync(own, { throwIfNoEntry: false })?.isDirectory()) return undefined; // a worktree, or a part of a repository
  const { why, reads } = await git.check(root);
  const settings = await git.say(["config", "--list", "-z", "--show-origin"], root);
  if (why || reads.length || settings === undefined) return undefined;
  const fields = settings.split("\0");
  const origins = fields.filter((_, i) => i % 2 === 0).flatMap((origin) => /^file:(.*)$/s.exec(origin)?.[1] ?? []);
  const isElsewhere = fields.some((field, i) => i % 2 && /^(?:core\.(?:excludesfile|worktree)|include)/i.test(field));
  if (isElsewhere || fields.some((field) => OTHER_LISTS.test(field))) return undefined;
  const home = process.env.HOME || os.homedir();
  const config = process.env.XDG_CONFIG_HOME || path.join(home, ".config");
  return [
    ...GIT_FILES.map((name) => path.join(own, name)),
    ...origins.map((name) => path.resolve(root, name)),
    ...["/etc/gitconfig", path.join(home, ".gitconfig")],
    ...["git/config", "git/ignore"].map((name) => path.join(config, name)),
  ];
}

/** Whole or not at all: two may do it at once. What cannot be kept is listed again next time. */
function keep(file: string, kept: Kept): void {
  tryTo(() => {
    makeFolder(path.dirname(file), 0o700);
    writeWhole(file, JSON.stringify(kept), 0o600);
  });
}
