// Installs, restores, updates and removes plugins: each is fetched, shown and asked for, tried, then put in place.
import fs from "node:fs";
import path from "node:path";
import type { Choice, Ctx, Kind, Result } from "zz";
import { errnoSentence, fault, plural, usage } from "zz/text";
import { checkLoads, PACKAGE_FOLDER } from "./check.ts";
import { fetchSpec, examples as known } from "./fetch.ts";
import { counter, filesIn, inUnits, plain, sumOf } from "./files.ts";
import { type Look, lookAt } from "./look.ts";
import { assertAllowed, packagesIn } from "./npm.ts";
import { aboutOf } from "./package.ts";
import {
  changesOf,
  closeStage,
  copyExtras,
  type Entry,
  existingName,
  openStage as openStageIn,
  pluginsOf,
  putInPlace,
  readLock,
  type Stage,
  sumsIn,
  sweep,
} from "./place.ts";
import { type Spec, specOf } from "./spec.ts";

/** A plugin that was fetched and read, but not confirmed yet. */
interface Candidate {
  called: string; // by the person
  name: string;
  rows: [what: string, text: string][]; // what is shown of it
  look: Look;
  entry: Entry; // as it will stand in the lock file
  old: Entry | undefined;
  stage: Stage;
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

// ── install, restore, update ──

export async function install(given: string | undefined, ctx: Ctx): Promise<Result> {
  if (given === undefined) return restore(ctx);
  const wanted = { called: given.trim(), spec: specOf(given, ctx.root) };
  return staged("install", wanted.called, ctx, (openStage) => bring("install", [wanted], openStage, ctx));
}

/** Installs again what is missing or was changed, exactly as in the lock file. */
async function restore(ctx: Ctx): Promise<Result> {
  return staged("restore", "the plugins of the lock file", ctx, async (openStage) => {
    const lock = [...readLock(ctx.about.home)];
    const missing = lock.filter(([, entry]) => !isWhole(ctx, entry));
    if (missing.length) return bring("restore", missing.map(wantedOf), openStage, ctx);
    const names = lock.map(([name]) => name).join(", ");
    return { text: names ? `Everything is as it was installed: ${names}.` : `${NOTHING} restore.`, data: [] };
  });
}

export async function update(given: string | undefined, ctx: Ctx): Promise<Result> {
  return staged("update", given ?? "the plugins", ctx, async (openStage) => {
    const lock = readLock(ctx.about.home);
    if (given !== undefined && !lock.has(given)) throw usage(notInstalled(lock.keys()));
    if (!lock.size) return { text: `${NOTHING} update.`, data: [] };
    const all = [...lock].filter(([name]) => given === undefined || name === given);
    return bring(
      "update",
      all.map(wantedOf).map(({ same, ...wanted }) => wanted),
      openStage,
      ctx,
    );
  });
}

/** A plugin to get. `same`: what the lock file says of it, to get exactly that. */
type Wanted = { called: string; spec: Spec; name?: string; same?: Entry };
const wantedOf = ([name, same]: [string, Entry]) => ({ called: name, name, spec: specOf(same.spec, "/"), same });
const NOTHING = "No plugin was installed yet: there is nothing to";

/** Gets plugins, asks once, and puts them in place. One that fails keeps none of the others from it. */
async function bring(verb: string, all: Wanted[], openStage: () => Stage, ctx: Ctx): Promise<Result> {
  const [done, failures, candidates]: [Result[], (Error & { exit?: number })[], Candidate[]] = [[], [], []];
  const each = async (called: string, act: () => Promise<unknown>) => {
    await withSentence(verb, called, ctx, act).catch((error) => {
      ctx.signal.throwIfAborted();
      failures.push(error);
    });
  };
  for (const wanted of all)
    await each(wanted.called, async () => {
      const candidate = await fetchCandidate(wanted, openStage(), ctx);
      const { name, old, entry } = candidate;
      if (old?.integrity !== entry.integrity || !isWhole(ctx, old)) candidates.push(candidate);
      else {
        const state = verb === "update" ? "up to date" : "installed already";
        done.push({ text: `${titleOf(name, old)} is ${state}.`, data: dataOf(name, old) });
      }
    });
  if (candidates.length) await confirmCandidates(ctx, verb, candidates);
  for (const candidate of candidates) await each(candidate.called, async () => done.push(await place(candidate, ctx)));
  const text = done.map((result) => result.text).join("\n");
  const data = done.map((result) => result.data);
  if (!failures.length) return { text, data: verb === "install" ? data[0] : data };
  if (text) ctx.note(text);
  const exit = Math.max(...failures.map(({ exit = 1 }) => exit));
  throw fault(failures.map(({ message }) => message).join("\n"), { exit });
}

async function fetchCandidate({ called, spec, same, ...wanted }: Wanted, stage: Stage, ctx: Ctx): Promise<Candidate> {
  const { home } = ctx.about;
  assertAllowed(ctx, "write", pluginsOf(home));
  ctx.progress(`Fetching ${plain(spec.text)}`);
  const fetched = await fetchSpec(spec, { work: stage.work, zzFolder: PACKAGE_FOLDER }, ctx, same);
  const about = aboutOf(fetched.found, fetched.base);
  const { name = spec.kind === "example" ? spec.text.slice("zz/".length) : about.name } = wanted;
  assertAllowed(ctx, "write", path.join(pluginsOf(home), name));
  const old = readLock(home).get(name);
  const replaced = ctx.about.plugins.find((one) => one.from === "zz" && one.name.toLowerCase() === name.toLowerCase());
  if (!old) checkName(name, ctx, spec.kind === "example" ? undefined : replaced);
  const { version, license, description, typeless } = about;
  const isFile = fs.statSync(fetched.found).isFile();
  const top = isFile ? `${name}${path.extname(fetched.found)}` : name;
  fs.renameSync(fetched.found, path.join(stage.plugins, top));
  const packages = packagesIn(fetched.lock);
  const placed = { top, ...(packages.size && fetched.lock && { packages: fetched.lock }) };
  const count = counter();
  let bytes = 0;
  filesIn(stage.plugins, top, new Set(packages.keys()), (size) => {
    bytes = count(size);
  });
  const files = sumsIn(stage.plugins, placed);
  const integrity = fetched.integrity ?? sumOf(JSON.stringify(files), "sha512");
  const { source, commit } = fetched;
  const entry = {
    spec: spec.text,
    source,
    ...(version && { version }),
    ...(commit && { commit }),
    integrity,
    ...placed,
    files,
  };
  if (same && same.integrity !== integrity)
    throw fault(
      `what ${plain(source)} gives is not what was installed (${integrity} instead of ${same.integrity}). --update ${name} takes what there is now`,
    );
  const look = lookAt(Object.keys(files), (file) => fs.readFileSync(path.join(stage.plugins, file), "utf8"));
  const rows: Candidate["rows"] = [
    ["plugin", [name, versionOf(entry), description && `(${description})`].filter(Boolean).join(" ")],
    ["from", plain(source) + (commit ? `, commit ${commit}` : "")],
    ["integrity", integrity],
    ["license", isFile ? "" : (license ?? "not named")],
    [
      "files",
      `${Object.keys(files).length}, ${inUnits(bytes)}: ${listed(Object.keys(files).map((file) => shortName(name, file)))}`,
    ],
    [
      "needs",
      packages.size
        ? `${plural(packages.size, "package")}: ${listed(namesOf(packages))}; none of their install scripts runs`
        : "",
    ],
    ["adds", listed(look.adds, 20) || "nothing that its text names"],
    ["reaches", look.reaches.join("; ") || "nothing past zz that its text names"],
    ["replaces", replaced ? `zz's own '${name}', until it is uninstalled` : ""],
    ["changes", old ? changes(name, entry, old, home) : ""],
    [
      "note",
      [fetched.note, typeless && 'Its package.json does not say "type": "module"; Node may warn of that.']
        .filter(Boolean)
        .join(" "),
    ],
  ];
  return { called, name, rows, look, entry: same ?? entry, old, stage };
}

function checkName(name: string, { about: { home } }: Ctx, zzs: object | undefined): void {
  if (zzs) throw fault(`zz has a plugin '${name}' of its own. It must be renamed`);
  const present = existingName(home, name);
  if (!present) return;
  const at = path.join(pluginsOf(home), present);
  throw fault(`'${at}' is there already, and was not installed so. Move it away first`);
}

/** Whether all of a plugin's files are as they were installed. */
function isWhole({ about: { home } }: Ctx, entry: Entry): boolean {
  const { missing, changed } = changesOf(home, entry);
  return (
    !missing.length &&
    !changed.length &&
    (!entry.packages || fs.existsSync(path.join(pluginsOf(home), entry.top, "node_modules")))
  );
}

/** Moves a plugin from the stage to its place, once it loads. */
async function place({ name, entry, old, stage, look }: Candidate, ctx: Ctx): Promise<Result> {
  const { home } = ctx.about;
  ctx.progress(`Checking that '${name}' loads`);
  await checkLoads(name, stage, ctx);
  if (old) copyExtras(home, stage, changesOf(home, old).extras);
  putInPlace(home, stage, { name, entry, target: entry.top, known: old });
  const packages = packagesIn(entry.packages);
  const notRun = [...packages].flatMap(([needed, { hasInstallScript }]) => (hasInstallScript ? [plain(needed)] : []));
  const more = notRun.length ? `\nThese packages have install scripts, which were not run: ${notRun.join(", ")}.` : "";
  const text = `Installed ${titleOf(name, entry)} in ${path.join(pluginsOf(home), entry.top)}.${more}`;
  return { text, data: { ...dataOf(name, entry), needs: namesOf(packages), ...look } };
}

const namesOf = (packages: ReturnType<typeof packagesIn>): string[] =>
  [...packages].map(([name, { version = "" }]) => plain(`${name} ${version}`, 120));

/** The entry as --json prints it: without the list of all packages. */
const dataOf = (name: string, { packages, ...entry }: Entry) => ({ name, ...entry });

const notInstalled = (names: Iterable<string>): string =>
  `it was not installed by zz. ${[...names].length ? `These were: ${[...names].join(", ")}` : "Nothing was"}`;

// ── uninstall ──

/** Removes exactly what was installed; what the person added stays. */
export async function uninstall(name: string | undefined, ctx: Ctx): Promise<Result> {
  if (!name?.trim()) throw usage("Cannot uninstall: nothing is named. /uninstall NAME.");
  return staged("uninstall", name, ctx, async (openStage) => {
    const { home } = ctx.about;
    const lock = readLock(home);
    const entry = lock.get(name);
    if (!entry) throw usage(notInstalled([...lock.keys()]));
    const at = path.join(pluginsOf(home), entry.top);
    assertAllowed(ctx, "write", at);
    const assertAsAsked = asItStands(pluginsOf(home), entry);
    const { changed, extras } = changesOf(home, entry);
    if (changed.length)
      await confirm(ctx, `These files of '${name}' were changed since: ${listed(changed)}.`, "Remove them anyway?");
    assertAsAsked();
    const stage = openStage();
    copyExtras(home, stage, extras);
    putInPlace(home, stage, { name, entry: null, target: extras.length ? entry.top : null, known: entry });
    const left = extras.length ? ` What was not installed stays: ${listed(extras)}.` : "";
    return { text: `Uninstalled ${titleOf(name, entry)} from ${at}.${left}`, data: { name, left: extras } };
  });
}

// ── the question ──

async function confirmCandidates(ctx: Ctx, verb: string, all: Candidate[]): Promise<void> {
  const { home } = ctx.about;
  const lines = all.flatMap(({ name, rows }) => [
    ...(all.length > 1 ? [`── ${name}`] : []),
    ...rows.flatMap(([what, text]) => (text ? [`${what.padEnd(10)}${text}`] : [])),
  ]);
  const head = `${verb} puts ${all.map(({ name }) => `'${name}'`).join(", ")} into ${pluginsOf(home)}.`;
  const checks = all.flatMap(({ old, entry: { top }, stage }) => [
    asItStands(stage.plugins, { top }),
    ...(old ? [asItStands(pluginsOf(home), old)] : []),
  ]);
  const question = `${verb[0]!.toUpperCase()}${verb.slice(1)} ${all.length > 1 ? "them" : "it"}?`;
  await confirm(ctx, [head, ...lines].join("\n"), question, RIGHTS);
  for (const assertAsAsked of checks) assertAsAsked();
}

/** A check that what is there of a plugin is what was there when the person was asked. */
function asItStands(folder: string, plugin: Pick<Entry, "top" | "packages">): () => void {
  const look = () => JSON.stringify(sumsIn(folder, plugin));
  const before = look();
  return () => {
    if (look() !== before) throw fault("its files changed while the question stood. Try again");
  };
}

const shortName = (name: string, file: string): string =>
  plain(file.startsWith(`${name}/`) ? file.slice(name.length + 1) : file, 80);

/** Describes an update: the old version and the new one, and which files differ. */
function changes(name: string, entry: Entry, old: Entry, home: string): string {
  const differ = [...new Set([...Object.keys(entry.files), ...Object.keys(old.files)])].flatMap((file) => {
    const [before, after] = [old.files[file], entry.files[file]];
    return before === after ? [] : [`${!before ? "+" : !after ? "-" : "~"} ${shortName(name, file)}`];
  });
  const [from, to] = [versionOf(old), versionOf(entry)];
  const { changed } = changesOf(home, old);
  return [
    from === to ? from : `${from || "no version"} → ${to || "no version"}`,
    ...(entry.spec === old.spec ? [] : [`it was installed from ${plain(old.spec)}`]),
    differ.length ? listed(differ, 20) : "no file differs",
    ...(changed.length ? [`what you changed since is lost: ${listed(changed)}`] : []),
  ]
    .filter(Boolean)
    .join("; ");
}

const versionOf = ({ version, commit }: Entry): string =>
  plain([version, commit && `(${commit.slice(0, 10)})`].filter(Boolean).join(" "));

const titleOf = (name: string, entry: Entry): string => `'${name}' ${versionOf(entry)}`.trim();

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
  act: (openStage: () => Stage) => Promise<Result>,
): Promise<Result> {
  const stages: Stage[] = [];
  const open = () => stages[stages.push(openStageIn(ctx.about.home)) - 1]!;
  const run = async () => {
    sweep(ctx.about.home);
    return act(open);
  };
  return withSentence(verb, what, ctx, run).finally(() => stages.forEach(closeStage));
}

/** Turns an error that is only a reason into a sentence. */
async function withSentence<T>(verb: string, what: string, ctx: Ctx, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const { message, exit = 1, path: at } = error as Error & { exit?: number; path?: string };
    if (ctx.signal.aborted || message.startsWith("Cannot ")) throw error;
    const why = errnoSentence(error) || `${message.replace(/\.$/, "")}.`;
    const name = what.startsWith("the plugins") ? what : `'${plain(what)}'`;
    throw fault(`Cannot ${verb} ${name}: ${at ? `'${at}' cannot be used: ` : ""}${why}`, { exit });
  }
}
