// Installs, restores, updates and removes plugins: each is fetched, shown and asked for, tried,
// then put in place.
import fs from "node:fs";
import path from "node:path";
import type { Choice, Ctx, Kind, Result } from "zz";
import { errnoSentence, fault, usage } from "zz/text";
import {
  type Candidate,
  fetchCandidate,
  listed,
  namesOf,
  titleOf,
  versionOf,
  type Wanted,
} from "./candidate.ts";
import { examples as known } from "./fetch.ts";
import { plain } from "./files.ts";
import { assertAllowed, packagesIn } from "./npm.ts";
import {
  changesOf,
  closeStage,
  copyExtras,
  type LockEntry,
  openStage as openStageIn,
  pluginsOf,
  putInPlace,
  readLock,
  type Stage,
  sumsIn,
  sweep,
} from "./put-in-place.ts";
import { specOf } from "./spec.ts";
import { checkLoads } from "./try-loading.ts";

const KINDS: Kind[] = ["read", "write", "run", "net", "env"];
const RIGHTS =
  "What it adds and reaches is what its text seems to do; it was not run. It runs with all your rights: the gate asks only for what goes through it.";

export const examples = (): string[] => [...known().keys()];

export function installed(ctx: Ctx): Choice[] {
  try {
    return [...readLock(ctx.about.home)].map(([name, lockEntry]) => ({
      name,
      description: versionOf(lockEntry),
    }));
  } catch {
    return [];
  }
}

// ── install, restore, update ──

export async function install(specText: string | undefined, ctx: Ctx): Promise<Result> {
  if (specText === undefined) return restore(ctx);
  const wanted = { called: specText.trim(), spec: specOf(specText, ctx.root) };
  return staged("install", wanted.called, ctx, (openStage) =>
    bring("install", [wanted], openStage, ctx),
  );
}

/** Installs again what is missing or was changed, exactly as in the lock file. */
async function restore(ctx: Ctx): Promise<Result> {
  return staged("restore", "the plugins of the lock file", ctx, async (openStage) => {
    const lock = [...readLock(ctx.about.home)];
    const missing = lock.filter(([, lockEntry]) => !isWhole(ctx, lockEntry));
    if (missing.length) return bring("restore", missing.map(wantedOf), openStage, ctx);
    const names = lock.map(([name]) => name).join(", ");
    return {
      text: names ? `Everything is as it was installed: ${names}.` : `${NOTHING} restore.`,
      data: [],
    };
  });
}

export async function update(requestedName: string | undefined, ctx: Ctx): Promise<Result> {
  return staged("update", requestedName ?? "the plugins", ctx, async (openStage) => {
    const lock = readLock(ctx.about.home);
    if (requestedName !== undefined && !lock.has(requestedName))
      throw usage(notInstalled(lock.keys()));
    if (!lock.size) return { text: `${NOTHING} update.`, data: [] };
    const chosen = [...lock].filter(
      ([name]) => requestedName === undefined || name === requestedName,
    );
    return bring(
      "update",
      chosen.map(wantedOf).map(({ locked, ...wanted }) => wanted),
      openStage,
      ctx,
    );
  });
}

const wantedOf = ([name, locked]: [string, LockEntry]) => ({
  called: name,
  name,
  spec: specOf(locked.spec, "/"),
  locked,
});
const NOTHING = "No plugin was installed yet: there is nothing to";

/**
 * Gets plugins, asks once, and puts them in place. One that fails keeps none of the others from it.
 */
async function bring(
  verb: string,
  allWanted: Wanted[],
  openStage: () => Stage,
  ctx: Ctx,
): Promise<Result> {
  const [done, failures, candidates]: [Result[], (Error & { exit?: number })[], Candidate[]] = [
    [],
    [],
    [],
  ];
  const each = async (called: string, act: () => Promise<unknown>) => {
    await withSentence(verb, called, ctx, act).catch((error) => {
      ctx.signal.throwIfAborted();
      failures.push(error);
    });
  };
  for (const wanted of allWanted)
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
  for (const candidate of candidates)
    await each(candidate.called, async () => done.push(await placeCandidate(candidate, ctx)));
  const text = done.map((result) => result.text).join("\n");
  const data = done.map((result) => result.data);
  if (!failures.length) return { text, data: verb === "install" ? data[0] : data };
  if (text) ctx.note(text);
  const exit = Math.max(...failures.map(({ exit = 1 }) => exit));
  throw fault(failures.map(({ message }) => message).join("\n"), { exit });
}

/** Whether all of a plugin's files are as they were installed. */
function isWhole({ about: { home } }: Ctx, lockEntry: LockEntry): boolean {
  const { missing, changed } = changesOf(home, lockEntry);
  return (
    !missing.length &&
    !changed.length &&
    (!lockEntry.packages ||
      fs.existsSync(path.join(pluginsOf(home), lockEntry.top, "node_modules")))
  );
}

/** Moves a plugin from the stage to its place, once it loads. */
async function placeCandidate(
  { name, entry, old, stage, look }: Candidate,
  ctx: Ctx,
): Promise<Result> {
  const { home } = ctx.about;
  ctx.progress(`Checking that '${name}' loads`);
  await checkLoads(name, stage, ctx);
  if (old) copyExtras(home, stage, changesOf(home, old).extras);
  putInPlace(home, stage, { name, entry, target: entry.top, expected: old });
  const packages = packagesIn(entry.packages);
  const notRun = [...packages].flatMap(([needed, { hasInstallScript }]) =>
    hasInstallScript ? [plain(needed)] : [],
  );
  const scriptsNote = notRun.length
    ? `\nThese packages have install scripts, which were not run: ${notRun.join(", ")}.`
    : "";
  const text = `Installed ${titleOf(name, entry)} in ${path.join(pluginsOf(home), entry.top)}.${scriptsNote}`;
  return { text, data: { ...dataOf(name, entry), needs: namesOf(packages), ...look } };
}

/** The entry as --json prints it: without the list of all packages. */
const dataOf = (name: string, { packages, ...lockEntry }: LockEntry) => ({ name, ...lockEntry });

const notInstalled = (names: Iterable<string>): string =>
  `it was not installed by zz. ${[...names].length ? `These were: ${[...names].join(", ")}` : "Nothing was"}`;

// ── uninstall ──

/** Removes exactly what was installed; what the person added stays. */
export async function uninstall(name: string | undefined, ctx: Ctx): Promise<Result> {
  if (!name?.trim()) throw usage("Cannot uninstall: nothing is named. /uninstall NAME.");
  return staged("uninstall", name, ctx, async (openStage) => {
    const { home } = ctx.about;
    const lock = readLock(home);
    const lockEntry = lock.get(name);
    if (!lockEntry) throw usage(notInstalled([...lock.keys()]));
    const installedPath = path.join(pluginsOf(home), lockEntry.top);
    assertAllowed(ctx, "write", installedPath);
    const assertAsAsked = asItStands(pluginsOf(home), lockEntry);
    const { changed, extras } = changesOf(home, lockEntry);
    if (changed.length)
      await confirm(
        ctx,
        `These files of '${name}' were changed since: ${listed(changed)}.`,
        "Remove them anyway?",
      );
    assertAsAsked();
    const stage = openStage();
    copyExtras(home, stage, extras);
    putInPlace(home, stage, {
      name,
      entry: null,
      target: extras.length ? lockEntry.top : null,
      expected: lockEntry,
    });
    const keptNote = extras.length ? ` What was not installed stays: ${listed(extras)}.` : "";
    return {
      text: `Uninstalled ${titleOf(name, lockEntry)} from ${installedPath}.${keptNote}`,
      data: { name, left: extras },
    };
  });
}

// ── the question ──

async function confirmCandidates(ctx: Ctx, verb: string, candidates: Candidate[]): Promise<void> {
  const { home } = ctx.about;
  const lines = candidates.flatMap(({ name, rows }) => [
    ...(candidates.length > 1 ? [`── ${name}`] : []),
    ...rows.flatMap(([label, text]) => (text ? [`${label.padEnd(10)}${text}`] : [])),
  ]);
  const head = `${verb} puts ${candidates.map(({ name }) => `'${name}'`).join(", ")} into ${pluginsOf(home)}.`;
  const checks = candidates.flatMap(({ old, entry: { top }, stage }) => [
    asItStands(stage.plugins, { top }),
    ...(old ? [asItStands(pluginsOf(home), old)] : []),
  ]);
  const question = `${verb[0]!.toUpperCase()}${verb.slice(1)} ${candidates.length > 1 ? "them" : "it"}?`;
  await confirm(ctx, [head, ...lines].join("\n"), question, RIGHTS);
  for (const assertAsAsked of checks) assertAsAsked();
}

/** A check that what is there of a plugin is what was there when the person was asked. */
function asItStands(folder: string, plugin: Pick<LockEntry, "top" | "packages">): () => void {
  const look = () => JSON.stringify(sumsIn(folder, plugin));
  const before = look();
  return () => {
    if (look() !== before) throw fault("its files changed while the question stood. Try again");
  };
}

/** Asks once. -A answers yes; without a terminal to ask on the answer is no. */
async function confirm(ctx: Ctx, text: string, question: string, warning?: string): Promise<void> {
  const [head, ...rows] = text.split("\n");
  const message = [
    `┏ ${head}`,
    ...rows.map((row) => `┃ ${row}`),
    ...(warning ? [`┠ ${warning}`] : []),
  ].join("\n");
  const { rules } = ctx.permissions;
  const allowsAll = KINDS.every((effect) =>
    rules.some(
      (rule) =>
        rule.verdict === "allow" &&
        rule.kind === effect &&
        rule.name === undefined &&
        rule.from === "flag",
    ),
  );
  ctx.progress("");
  if (allowsAll || !ctx.ask) ctx.note(message);
  if (allowsAll) return;
  if (!ctx.ask) throw fault("there is no terminal to ask on. In a script -A says yes", { exit: 4 });
  if ((await ctx.ask(`${message}\n┗ ${question} [y/N] `, "yn")) !== "y")
    throw fault("you said no. Nothing was changed", { exit: 4 });
}

// ── errors ──

/** Cleans up after a killed run first, and after this one at the end. */
async function staged(
  verb: string,
  target: string,
  ctx: Ctx,
  act: (openStage: () => Stage) => Promise<Result>,
): Promise<Result> {
  const stages: Stage[] = [];
  const open = () => stages[stages.push(openStageIn(ctx.about.home)) - 1]!;
  const run = async () => {
    sweep(ctx.about.home);
    return act(open);
  };
  return withSentence(verb, target, ctx, run).finally(() => stages.forEach(closeStage));
}

/** Turns an error that is only a reason into a sentence. */
async function withSentence<T>(
  verb: string,
  target: string,
  ctx: Ctx,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const {
      message,
      exit = 1,
      path: failedPath,
    } = error as Error & { exit?: number; path?: string };
    const isOwn = (error as Error).constructor === Error;
    if (ctx.signal.aborted || (isOwn && message.startsWith("Cannot "))) throw error;
    const told = isOwn ? message : `${message}. This is a bug in zz`;
    const reason = errnoSentence(error) || `${told.replace(/\.$/, "")}.`;
    const name = target.startsWith("the plugins") ? target : `'${plain(target)}'`;
    throw fault(
      `Cannot ${verb} ${name}: ${failedPath ? `'${failedPath}' cannot be used: ` : ""}${reason}`,
      { exit },
    );
  }
}
