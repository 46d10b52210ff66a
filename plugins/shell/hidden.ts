// The files that a command may not read, or not write: a sandbox knows no patterns, so they are looked up on the disk.
import { type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Ctx, Rule } from "zz";
import { direntsOf } from "./paths.ts";

export interface ClosedFiles {
  hide: string[]; // neither read nor written
  pin: string[]; // of these, what is hidden by its place
  keep: string[]; // read, and not written
}

const MAX_PLACES = 2_000; // that a sandbox can be given
const MAX_ENTRIES = 200_000; // looked at where no project is: a home, or the whole disk
const SLICE = 30; // ms at a stretch, then other work has a turn
const isPattern = (name: string): boolean => /[*?]/.test(name);

/** By the rules, by the one list of files that hold secrets, and by what zz itself goes by. */
export async function closedFiles(ctx: Ctx): Promise<ClosedFiles> {
  const { root, permissions } = ctx;
  const { home } = ctx.about;
  const own = [
    "zz.config.json",
    "permissions.json",
    "trust.json",
    "keys.json",
    "env.json",
    "history",
    "sessions",
    "outputs",
  ];
  const [unread, unwritten] = [denied(ctx, "read"), denied(ctx, "write")];
  const found = await look(ctx, [...unread.patterns, ...unwritten.patterns]);
  const all = permissions.rules.some(({ verdict, kind, name }) => verdict === "deny" && kind === "write" && !name);
  const pin = [...unread.places, ...found.matching.flatMap(({ file, rule }) => (rule.kind === "read" ? [file] : []))];
  const closed = {
    hide: [...own.map((name) => join(home, name)), ...permissions.credentials(), ...pin, ...found.secret],
    pin,
    keep: [
      ...(all ? [root, `${root}/.git`] : unwritten.places),
      ...found.matching.flatMap(({ file, rule }) => (rule.kind === "write" ? [file] : [])),
      ...(home.startsWith(`${root}/`) ? [home] : []),
    ],
  };
  const many = closed.pin.length + found.secret.length + found.matching.length;
  if (many > MAX_PLACES)
    throw new Error(
      `Cannot run it: ${many} files here may not be read or written, more than a sandbox can be told of. ` +
        "Name their folders in the rules, or work in a part of the project.",
    );
  return closed;
}

/** Files that there are now, of names that must not be written: a sandbox cannot keep what is new from being made. */
export async function unwantedFiles(ctx: Ctx, before: string[]): Promise<string[]> {
  const { patterns } = denied(ctx, "write");
  if (!patterns.length) return [];
  const { matching } = await look(ctx, patterns);
  return matching.flatMap(({ file }) => (before.includes(file) ? [] : [file]));
}

interface Denied {
  places: string[];
  patterns: { rule: Rule; base: string }[];
}

/** What a denial names, and the patterns with the folder where each begins. One for all of a folder names the folder. */
function denied({ permissions, root }: Ctx, kind: "read" | "write"): Denied {
  const made: Denied = { places: [], patterns: [] };
  for (const rule of permissions.rules) {
    const { verdict, kind: one, name } = rule;
    if (verdict !== "deny" || one !== kind || !name) continue;
    const place = permissions.place(name);
    made.places.push(place); // a file may be called so to the letter
    if (!isPattern(name)) continue;
    const begin = place.slice(0, place.search(/[*?]/));
    const base = begin.slice(0, begin.lastIndexOf("/")) || "/";
    if (/^\/(\*+\/?)+$/.test(place.slice(base.length)) && base !== root && base !== "/") made.places.push(base);
    else made.patterns.push({ rule, base });
  }
  return made;
}

interface Found {
  secret: string[];
  matching: { file: string; rule: Rule }[];
}

async function look(ctx: Ctx, patterns: Denied["patterns"]): Promise<Found> {
  const { root, permissions } = ctx;
  const found: Found = { secret: [], matching: [] };
  const rules = patterns.map(({ rule }) => ({ rule, fits: permissions.matches(rule.kind, rule.name!) }));
  let [left, rest] = [
    permissions.wide === undefined ? Number.POSITIVE_INFINITY : MAX_ENTRIES,
    performance.now() + SLICE,
  ];
  await walk(root, true);
  const isOutside = (base: string) => base !== root && !base.startsWith(`${root}/`);
  for (const base of new Set(patterns.map(({ base }) => base).filter(isOutside))) {
    left = Math.min(left, MAX_ENTRIES);
    await walk(base, false);
  }
  if (left <= 0 && rules.length)
    throw new Error(
      "Cannot run it: there are too many files to look for those that the rules deny. Name their folders.",
    );
  return found;

  async function walk(top: string, isProject: boolean): Promise<void> {
    const folders = [top];
    while (folders.length && left > 0) {
      const at = folders.pop()!;
      if (performance.now() > rest) rest = (await setImmediate(SLICE)) + performance.now();
      const { names = [], secret, inner } = entriesAt(at, permissions.secret, rules.length > 0);
      left -= names.length + inner.length + 1;
      if (isProject)
        found.secret.push(
          ...secret.filter((file) => !isGits(file) && permissions.judge("read", file).verdict !== "allow"),
        );
      const skip = new Set<string>();
      for (const { rule, fits } of rules)
        for (const name of [...names, ...inner]) {
          const file = within(at, name);
          if (!fits(file)) continue;
          found.matching.push({ file, rule });
          if (rule.kind === "read") skip.add(file);
        }
      // What is in `.git` is git's; in a folder that is hidden there is nothing to look for.
      for (const name of inner) {
        const file = within(at, name);
        if (name === ".git") found.secret.push(...(isProject ? [`${file}/credentials`] : []));
        else if (!skip.has(file)) folders.push(file);
      }
    }
  }
}

/** Git stops where it cannot read its settings, so those stay; a command that names them is asked for. */
const isGits = (file: string): boolean => /\.git\/(.*\/)?config(\.worktree)?$/i.test(file);

interface Seen {
  mtime: number;
  at: number; // when it was looked at
  names?: string[]; // of all that is not a folder, where they are asked for
  inner: string[]; // folders
  secret: string[];
}
/** By folder: one that did not change is not read again, which takes a tenth of the time where there are many. */
const seen = new Map<string, Seen>();
const MAX_SEEN_FOLDERS = 100_000;
const TOO_NEW = 2_000; // ms in which a disk's clock may not tell two changes apart

const within = (folder: string, name: string): string => `${folder === "/" ? "" : folder}/${name}`;

function entriesAt(folder: string, isSecret: (path: string) => boolean, named: boolean): Seen {
  const mtime = statOf(folder)?.mtimeMs ?? 0;
  const before = seen.get(folder);
  if (!named && before && before.mtime === mtime && before.at - mtime > TOO_NEW) return before;
  const made: Seen = { mtime, at: Date.now(), inner: [], secret: [], ...(named && { names: [] }) };
  const isDotted = /\/\.|\.git$/.test(folder);
  for (const entry of direntsOf(folder)) {
    const { name } = entry;
    const file = within(folder, name);
    if (entry.isDirectory()) {
      if (name.startsWith(".") && name !== ".git" && isSecret(`${file}/x`)) made.secret.push(file);
      else made.inner.push(name);
    } else {
      made.names?.push(name);
      if (isSecret(name) || (isDotted && isSecret(file))) made.secret.push(file);
    }
  }
  if (seen.size > MAX_SEEN_FOLDERS) seen.clear();
  if (!named) seen.set(folder, made);
  return made;
}

function statOf(file: string): Stats | undefined {
  return statSync(file, { throwIfNoEntry: false });
}
