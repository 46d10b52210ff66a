// Installs, restores, updates and removes plugins: each is fetched, shown and asked for, tried, then put in place.
import fs from "node:fs";
import path from "node:path";
import type { Choice, Ctx, Kind, Result } from "zz";
import { errnoSentence, fault, usage } from "zz/text";
import { checkLoads, PACKAGE_FOLDER } from "./check.ts";
import { inUnits, plain, sizeOf, sumOf } from "./contents.ts";
import { type Fetched, fetchSpec, installPackages, examples as known, needsOf, type Pinned } from "./fetch.ts";
import { type Look, lookAt } from "./look.ts";
import { type About, aboutOf } from "./package.ts";
import {
  changedOf,
  closeStage,
  copyExtras,
  type Entry,
  existingName,
  extrasOf,
  filesNow,
  openStage,
  pluginsOf,
  putInPlace,
  readLock,
  type Stage,
  sumsOf,
  sweep,
  topOf,
  write,
} from "./place.ts";
import { type Spec, specOf } from "./spec.ts";

/** A plugin that was fetched and read, but not confirmed yet. */
interface Candidate extends Fetched {
  spec: Spec;
  about: About;
  look: Look;
  name: string;
  old?: Entry;
}

const KINDS: Kind[] = ["read", "write", "run", "net", "env"];
const MAX_LISTED = 8; // names per line
const RIGHTS =
  "What it adds and reaches is what its text seems to do; it was not run. It runs with all your rights: the gate asks only for what goes through it.";

export const examples = (): string[] => [...known(PACKAGE_FOLDER).keys()];

export function installed(ctx: Ctx): Choice[] {
  try {
    return [...readLock(ctx.about.home)].map(([name, entry]) => ({ name, description: versionOf(entry) }));
  } catch {
    return [];
  }
}

// ── install ──

export async function install(given: string | undefined, ctx: Ctx): Promise<Result> {
  if (given === undefined) return restore(ctx);
  const spec = specOf(given, ctx.root);
  return staged("install", given.trim(), ctx, async (stages) => {
    const stage = stages.open();
    const candidate = await fetchCandidate(spec, stage, ctx);
    const { old, name, integrity } = candidate;
    checkName(candidate, ctx);
    if (old && old.integrity === integrity && isWhole(ctx, old))
      return { text: `${called(name, old)} is installed already.`, data: dataOf(name, old) };
    await confirmCandidates(ctx, "install", [candidate]);
    return place(candidate, stage, ctx);
  });
}

async function fetchCandidate(
  spec: Spec,
  stage: Stage,
  ctx: Ctx,
  pinned: Pinned = {},
  as?: string,
): Promise<Candidate> {
  const { home } = ctx.about;
  for (const [kind, name] of Object.entries(needsOf(spec))) assertAllowed(ctx, kind as Kind, name);
  assertAllowed(ctx, "write", pluginsOf(home));
  if (spec.kind === "npm") await assertRegistryAllowed(ctx);
  ctx.progress(`Fetching ${plain(spec.text)}`);
  const fetched = await fetchSpec(spec, { ctx, work: stage.work, home: PACKAGE_FOLDER }, pinned);
  const about = aboutOf(fetched.contents, fetched.base, fetched.single);
  const name = as ?? about.name;
  if (about.typeless) fetched.notes.push('Its package.json does not say "type": "module"; Node may warn of that.');
  assertAllowed(ctx, "write", path.join(pluginsOf(home), name));
  const old = readLock(home).get(name);
  return { ...fetched, spec, about, name, look: lookAt(fetched.contents), ...(old && { old }) };
}

/** Refuses at once what the gate denies; what the gate would ask about is part of the one question. */
function assertAllowed(ctx: Ctx, kind: Kind, name: string): void {
  const { verdict, why } = ctx.permissions.judge(kind, name);
  if (verdict === "deny") throw fault(`${kind} access to "${plain(name)}" is denied ${why}`, { exit: 4 });
}

/** Checks the host of the registry, which matters only if rules deny hosts. */
async function assertRegistryAllowed(ctx: Ctx): Promise<void> {
  const denied = ctx.permissions.rules.filter(({ verdict, kind }) => verdict === "deny" && kind === "net");
  if (!denied.length) return;
  const { npm } = await import("./fetch.ts");
  const { out } = await npm(["config", "get", "registry"], ctx.about.home, ctx);
  assertAllowed(ctx, "net", new URL(out.toString().trim()).hostname);
}

function checkName({ name, old }: Candidate, { about }: Ctx): void {
  if (old) return;
  if (about.plugins.some((one) => one.from === "zz" && one.name.toLowerCase() === name.toLowerCase()))
    throw fault(`zz has a plugin '${name}' of its own. It must be renamed`);
  const present = existingName(about.home, name);
  if (present)
    throw fault(
      `'${path.join(pluginsOf(about.home), present)}' is there already, and was not installed so. Move it away first`,
    );
}

/** Whether all of a plugin's files are as they were installed. */
function isWhole({ about: { home } }: Ctx, entry: Entry): boolean {
  const modules = path.join(pluginsOf(home), topOf(entry), "node_modules");
  return !changedOf(home, entry).length && (!entry.dependencies || fs.existsSync(modules));
}

/**
 * Moves a plugin from the stage to its place, once it loads. `exact`: its entry in the lock file, to restore each byte.
 */
async function place(candidate: Candidate, stage: Stage, ctx: Ctx, exact?: Entry): Promise<Result> {
  const { home } = ctx.about;
  const { name, single, contents, about, spec, source, integrity, version, commit, old } = candidate;
  const top = single ? about.entry.replace(/^.*(?=\.[cm]?[jt]s$)/, name) : name;
  write(stage, top, contents, single);
  const scripts = await dependenciesOf(candidate, path.join(stage.plugins, top), ctx, exact);
  const has = [...contents.keys(), ...(scripts ? ["package-lock.json"] : [])];
  const files = sumsOf(stage, single ? [top] : [...new Set(has)].map((file) => `${top}/${file}`));
  const entry: Entry = {
    ...{ spec: exact?.spec ?? spec.text, source: exact?.source ?? source },
    ...((version ?? about.version) && { version: version ?? about.version! }),
    ...(commit && { commit }),
    ...{ integrity, entry: single ? top : `${top}/${about.entry}`, files },
    ...(scripts && { dependencies: scripts.dependencies }),
  };
  ctx.progress(`Checking that '${name}' loads`);
  await checkLoads(name, stage, ctx);
  if (old) copyExtras(home, stage, extrasOf(home, old));
  putInPlace(home, stage, name, entry, top, old);
  const notRun = scripts?.names.map((one) => plain(one)).join(", ");
  const at = path.join(pluginsOf(home), top);
  const more = notRun ? `\nThese packages have install scripts, which were not run: ${notRun}.` : "";
  const text = `Installed ${called(name, entry)} in ${at}.${more}`;
  return { text, data: { ...dataOf(name, entry), needs: Object.fromEntries(about.dependencies), ...candidate.look } };
}

/** The entry as --json prints it: without the list of all packages. */
const dataOf = (name: string, { dependencies, ...entry }: Entry) => ({ name, ...entry });

/** Installs the packages that a plugin needs next to it. Undefined if it needs none. */
async function dependenciesOf({ about, name }: Candidate, folder: string, ctx: Ctx, exact?: Entry) {
  if (!about.dependencies.length) return undefined;
  assertAllowed(ctx, "run", "npm install");
  ctx.progress(`Fetching what '${name}' needs`);
  const file = path.join(folder, "package-lock.json");
  const known = exact?.dependencies;
  const format = (lock: object) => `${JSON.stringify(lock, null, 2)}\n`;
  if (known && sumOf(format(known.lock)) !== known.integrity)
    throw fault("the lock file's list of what it needs is not the one that was installed. Install it again");
  if (known) fs.writeFileSync(file, format(known.lock));
  const own = path.join(folder, "package.json");
  const original = fs.readFileSync(own);
  fs.writeFileSync(own, JSON.stringify(about.manifest));
  await installPackages(folder, Boolean(known), ctx);
  fs.writeFileSync(own, original);
  const lock = JSON.parse(fs.readFileSync(file, "utf8"));
  fs.writeFileSync(file, format(lock));
  const names = Object.entries<{ hasInstallScript?: boolean }>(lock.packages ?? {}).flatMap(
    ([at, { hasInstallScript }]) => (hasInstallScript && at ? [at.replace(/^.*node_modules\//, "")] : []),
  );
  return { names, dependencies: { integrity: sumOf(format(lock)), lock } };
}

// ── restore ──

/** Installs again what is missing or was changed, exactly as in the lock file. */
async function restore(ctx: Ctx): Promise<Result> {
  return staged("restore", "the plugins of the lock file", ctx, async (stages) => {
    const { home } = ctx.about;
    const lock = readLock(home);
    const missing = [...lock].filter(([, entry]) => !isWhole(ctx, entry));
    if (!lock.size) return { text: "No plugin was installed yet: there is nothing to restore.", data: [] };
    if (!missing.length)
      return { text: `Everything is as it was installed: ${[...lock.keys()].join(", ")}.`, data: [] };
    const pending: { candidate: Candidate; entry: Entry; stage: Stage }[] = [];
    for (const [name, entry] of missing) {
      const stage = stages.open();
      const { version, commit } = entry;
      const pinned = { ...(version && { version }), ...(commit && { commit }) };
      const candidate = await withSentence("restore", name, ctx, async () => {
        const candidate = await fetchCandidate(specOf(entry.spec, "/"), stage, ctx, pinned, name);
        if (candidate.integrity === entry.integrity) return candidate;
        throw fault(
          `what ${plain(entry.source)} gives is not what was installed (${candidate.integrity} instead of ${entry.integrity}). --update ${name} takes what there is now`,
        );
      });
      pending.push({ candidate, entry, stage });
    }
    await confirmCandidates(
      ctx,
      "restore",
      pending.map(({ candidate }) => candidate),
    );
    const done: Result[] = [];
    for (const { candidate, entry, stage } of pending)
      done.push(await withSentence("restore", candidate.name, ctx, () => place(candidate, stage, ctx, entry)));
    return { text: done.map(({ text }) => text).join("\n"), data: done.map(({ data }) => data) };
  });
}

// ── update ──

export async function update(given: string | undefined, ctx: Ctx): Promise<Result> {
  return staged("update", given ?? "the plugins", ctx, async (stages) => {
    const lock = readLock(ctx.about.home);
    if (given !== undefined && !lock.has(given)) throw usage(notInstalled(lock.keys()));
    if (!lock.size) return { text: "No plugin was installed yet: there is nothing to update.", data: [] };
    const done: Result[] = [];
    const failures: (Error & { exit?: number })[] = [];
    for (const name of given === undefined ? lock.keys() : [given])
      try {
        done.push(await withSentence("update", name, ctx, () => updateOne(name, lock.get(name)!, stages.open(), ctx)));
      } catch (error) {
        ctx.signal.throwIfAborted();
        failures.push(error as Error);
      }
    const text = done.map((one) => one.text).join("\n");
    if (!failures.length) return { text, data: done.map(({ data }) => data) };
    if (text) ctx.note(text);
    const exit = Math.max(...failures.map(({ exit = 1 }) => exit));
    throw fault(failures.map(({ message }) => message).join("\n"), { exit });
  });
}

async function updateOne(name: string, entry: Entry, stage: Stage, ctx: Ctx): Promise<Result> {
  const candidate = await fetchCandidate(specOf(entry.spec, "/"), stage, ctx, {}, name);
  if (candidate.integrity === entry.integrity && isWhole(ctx, entry))
    return { text: `${called(name, entry)} is up to date.`, data: dataOf(name, entry) };
  await confirmCandidates(ctx, "update", [candidate]);
  return place(candidate, stage, ctx);
}

const notInstalled = (names: Iterable<string>): string => {
  const all = [...names].join(", ");
  return `it was not installed by zz. ${all ? `These were: ${all}` : "Nothing was"}`;
};

// ── uninstall ──

/** Removes exactly what was installed; what the person added stays. */
export async function uninstall(name: string, ctx: Ctx): Promise<Result> {
  if (!name.trim()) throw usage("Cannot uninstall: nothing is named. /uninstall NAME.");
  return staged("uninstall", name, ctx, async (stages) => {
    const { home } = ctx.about;
    const lock = readLock(home);
    const entry = lock.get(name);
    if (!entry) throw usage(notInstalled(lock.keys()));
    const at = path.join(pluginsOf(home), topOf(entry));
    assertAllowed(ctx, "write", at);
    const changed = changedOf(home, entry).filter((file) => fs.existsSync(path.join(pluginsOf(home), file)));
    const assertAsAsked = asItStands(home, entry);
    if (changed.length)
      await confirm(ctx, `These files of '${name}' were changed since: ${listed(changed)}.`, "Remove them anyway?");
    assertAsAsked();
    const extras = extrasOf(home, entry);
    const stage = stages.open();
    copyExtras(home, stage, extras);
    putInPlace(home, stage, name, null, extras.length ? topOf(entry) : null, entry);
    const left = extras.length ? ` What was not installed stays: ${listed(extras)}.` : "";
    return { text: `Uninstalled ${called(name, entry)} from ${at}.${left}`, data: { name, left: extras } };
  });
}

// ── the question ──

async function confirmCandidates(ctx: Ctx, verb: string, all: Candidate[]): Promise<void> {
  const { home } = ctx.about;
  const names = all.map(({ name }) => `'${name}'`).join(", ");
  const rows = all.flatMap((candidate) => [
    ...(all.length > 1 ? [`── ${candidate.name}`] : []),
    ...shown(candidate, home).map(([what, text]) => `${what.padEnd(10)}${text}`),
  ]);
  const head = `${verb} puts ${names} into ${pluginsOf(home)}.`;
  const what = all.length > 1 ? "them" : "it";
  const checks = all.flatMap(({ old }) => (old ? asItStands(home, old) : []));
  await confirm(ctx, [head, ...rows].join("\n"), `${verb[0]!.toUpperCase()}${verb.slice(1)} ${what}?`, RIGHTS);
  for (const assertAsAsked of checks) assertAsAsked();
}

/** A check that what is there of a plugin is what was there when the person was asked. */
function asItStands(home: string, entry: Entry): () => void {
  const look = () => JSON.stringify(filesNow(home, entry));
  const before = look();
  return () => {
    if (look() !== before) throw fault("its files changed while the question stood. Try again");
  };
}

function shown(candidate: Candidate, home: string): [string, string][] {
  const { name, about, contents, look, source, commit, integrity, notes, old } = candidate;
  const packages = about.dependencies.map(([one, range]) => `${plain(one, 80)} ${plain(range, 40)}`);
  const names = [...contents.keys()].map((file) => plain(file, 80));
  const rows: [string, string | undefined][] = [
    ["plugin", [name, versionOf(candidate), about.description && `(${about.description})`].filter(Boolean).join(" ")],
    ["from", plain(source) + (commit ? `, commit ${commit}` : "")],
    ["integrity", integrity],
    ["license", candidate.single ? undefined : (about.license ?? "not named")],
    ["files", `${contents.size}, ${inUnits(sizeOf(contents))}: ${listed(names)}`],
    [
      "needs",
      packages.length ? `${listed(packages)}, and what those need; none of their install scripts runs` : undefined,
    ],
    ["adds", look.adds.length ? listed(look.adds, 20) : "nothing that its text names"],
    ["reaches", look.reaches.length ? look.reaches.join("; ") : "nothing past zz that its text names"],
    ["changes", old && changes(candidate, old, home)],
    ["note", notes.length ? notes.join(" ") : undefined],
  ];
  return rows.filter((row): row is [string, string] => Boolean(row[1]));
}

/** Describes an update: the old version and the new one, and which files differ. */
function changes(
  { contents, single, name, about, version, commit, spec }: Candidate,
  old: Entry,
  home: string,
): string {
  const now = new Map(
    [...contents].map(([file, { bytes }]) => [
      single ? `${name}${path.extname(about.entry)}` : `${name}/${file}`,
      sumOf(bytes, "sha256"),
    ]),
  );
  const files = [
    ...now.keys(),
    ...Object.keys(old.files).filter((file) => !now.has(file) && !file.endsWith("/package-lock.json")),
  ];
  const differ = files.flatMap((file) => {
    const [before, after] = [old.files[file], now.get(file)];
    const near = plain(file.startsWith(`${name}/`) ? file.slice(name.length + 1) : file, 80);
    return before === after ? [] : [`${!before ? "+" : !after ? "-" : "~"} ${near}`];
  });
  const [from, to] = [versionOf(old), versionOf({ version: version ?? about.version, commit })];
  const mine = changedOf(home, old).filter((file) => fs.existsSync(path.join(pluginsOf(home), file)));
  return [
    from === to ? from : `${from || "no version"} → ${to || "no version"}`,
    ...(spec.text === old.spec ? [] : [`it was installed from ${plain(old.spec)}`]),
    differ.length ? listed(differ, 20) : "no file differs",
    ...(mine.length ? [`what you changed since is lost: ${listed(mine)}`] : []),
  ]
    .filter(Boolean)
    .join("; ");
}

const versionOf = (one: { version?: string | undefined; commit?: string | undefined; about?: About }): string =>
  plain([one.version ?? one.about?.version, one.commit && `(${one.commit.slice(0, 10)})`].filter(Boolean).join(" "));

const called = (name: string, entry: Entry): string => `'${name}' ${versionOf(entry)}`.trim();

const listed = (names: string[], max = MAX_LISTED): string =>
  names.slice(0, max).join(", ") + (names.length > max ? `, and ${names.length - max} more` : "");

/** Asks once. -A answers yes; without a terminal to ask on the answer is no. */
async function confirm(ctx: Ctx, text: string, question: string, warning?: string): Promise<void> {
  const [head, ...rows] = text.split("\n");
  const message = [`┏ ${head}`, ...rows.map((row) => `┃ ${row}`), ...(warning ? [`┠ ${warning}`] : [])].join("\n");
  const { rules } = ctx.permissions;
  const all = KINDS.every((kind) =>
    rules.some(
      (rule) => rule.verdict === "allow" && rule.kind === kind && rule.name === undefined && rule.from === "flag",
    ),
  );
  ctx.progress("");
  if (all || !ctx.ask) ctx.note(message);
  if (all) return;
  if (!ctx.ask) throw fault("there is no terminal to ask on. In a script -A says yes", { exit: 4 });
  if ((await ctx.ask(`${message}\n┗ ${question} [y/N] `, "yn")) !== "y")
    throw fault("you said no. Nothing was changed", { exit: 4 });
}

// ── errors ──

/** Cleans up after a killed run first, and after this one at the end. */
async function staged(
  verb: string,
  what: string,
  ctx: Ctx,
  act: (stages: { open(): Stage }) => Promise<Result>,
): Promise<Result> {
  const stages: Stage[] = [];
  const open = () => {
    const stage = openStage(ctx.about.home);
    stages.push(stage);
    return stage;
  };
  return withSentence(verb, what, ctx, async () => {
    try {
      sweep(ctx.about.home);
      return await act({ open });
    } finally {
      stages.forEach(closeStage);
    }
  });
}

/** Turns an error that is only a reason into a sentence. */
async function withSentence<T>(verb: string, what: string, ctx: Ctx, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const { message, exit, code, path: at } = error as Error & { exit?: number; code?: string; path?: string };
    if (ctx.signal.aborted || message.startsWith("Cannot ")) throw error;
    const why =
      code && at
        ? `'${at}' cannot be used: ${errnoSentence(error) || `${code}. Check that it can be read and written.`}`
        : errnoSentence(error) || `${message.replace(/\.$/, "")}.`;
    throw fault(
      `Cannot ${verb} ${what.includes(" ") && verb !== "install" ? what : `'${plain(what)}'`}: ${why}`,
      exit === undefined ? {} : { exit },
    );
  }
}
