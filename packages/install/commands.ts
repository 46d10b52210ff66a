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

const EFFECT_KINDS: Kind[] = ["read", "write", "run", "net", "env"];
const RIGHTS_WARNING =
  "What it adds and reaches is what its text seems to do; it was not run. " +
  "It runs with all your rights: the gate asks only for what goes through it.";

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
  const wantedPlugin = { called: specText.trim(), spec: specOf(specText, ctx.root) };
  return runStaged("install", wantedPlugin.called, ctx, (openStage) =>
    bringPlugins("install", [wantedPlugin], openStage, ctx),
  );
}

/** Installs again what is missing or was changed, exactly as in the lock file. */
async function restore(ctx: Ctx): Promise<Result> {
  return runStaged("restore", "the plugins of the lock file", ctx, async (openStage) => {
    const lockEntries = [...readLock(ctx.about.home)];
    const missing = lockEntries.filter(([, lockEntry]) => !isWhole(ctx, lockEntry));
    if (missing.length) return bringPlugins("restore", missing.map(wantedOf), openStage, ctx);
    const allNames = lockEntries.map(([pluginName]) => pluginName).join(", ");
    return {
      text: allNames ? `Everything is as it was installed: ${allNames}.` : `${NOTHING} restore.`,
      data: [],
    };
  });
}

export async function update(requestedName: string | undefined, ctx: Ctx): Promise<Result> {
  return runStaged("update", requestedName ?? "the plugins", ctx, async (openStage) => {
    const pluginLock = readLock(ctx.about.home);
    if (requestedName !== undefined && !pluginLock.has(requestedName))
      throw usage(notInstalled(pluginLock));
    if (!pluginLock.size) return { text: `${NOTHING} update.`, data: [] };
    const chosenEntries = [...pluginLock].filter(
      ([pluginName]) => requestedName === undefined || pluginName === requestedName,
    );
    return bringPlugins(
      "update",
      chosenEntries.map(wantedOf).map(({ locked, ...wanted }) => wanted),
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
async function bringPlugins(
  actionVerb: string,
  allWanted: Wanted[],
  openStage: () => Stage,
  ctx: Ctx,
): Promise<Result> {
  const results: Result[] = [];
  const failures: (Error & { exit?: number })[] = [];
  const candidates: Candidate[] = [];
  const attemptPlugin = async (calledName: string, runAttempt: () => Promise<unknown>) => {
    await withSentence(actionVerb, calledName, ctx, runAttempt).catch((error) => {
      ctx.signal.throwIfAborted();
      failures.push(error);
    });
  };
  for (const wantedPlugin of allWanted)
    await attemptPlugin(wantedPlugin.called, async () => {
      const candidate = await fetchCandidate(wantedPlugin, openStage(), ctx);
      const { name, old, entry } = candidate;
      if (old?.integrity !== entry.integrity || !isWhole(ctx, old)) candidates.push(candidate);
      else {
        const state = actionVerb === "update" ? "up to date" : "installed already";
        results.push({ text: `${titleOf(name, old)} is ${state}.`, data: dataOf(name, old) });
      }
    });
  if (candidates.length) await confirmCandidates(ctx, actionVerb, candidates);
  for (const candidate of candidates)
    await attemptPlugin(candidate.called, async () =>
      results.push(await placeCandidate(candidate, ctx)),
    );
  const text = results.map((doneResult) => doneResult.text).join("\n");
  const resultData = results.map((doneResult) => doneResult.data);
  if (!failures.length)
    return { text, data: actionVerb === "install" ? resultData[0] : resultData };
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
  const unrunScripts = [...packages].flatMap(([packageName, { hasInstallScript }]) =>
    hasInstallScript ? [plain(packageName)] : [],
  );
  const scriptsNote = unrunScripts.length
    ? `\nThese packages have install scripts, which were not run: ${unrunScripts.join(", ")}.`
    : "";
  const text =
    `Installed ${titleOf(name, entry)} in ` +
    `${path.join(pluginsOf(home), entry.top)}.${scriptsNote}`;
  return { text, data: { ...dataOf(name, entry), needs: namesOf(packages), ...look } };
}

/** The entry as --json prints it: without the list of all packages. */
const dataOf = (name: string, { packages, ...lockEntry }: LockEntry) => ({ name, ...lockEntry });

const notInstalled = (pluginLock: ReadonlyMap<string, LockEntry>): string =>
  "it was not installed by zz. " +
  `${pluginLock.size ? `These were: ${[...pluginLock.keys()].join(", ")}` : "Nothing was"}`;

// ── uninstall ──

/** Removes exactly what was installed; what the person added stays. */
export async function uninstall(name: string | undefined, ctx: Ctx): Promise<Result> {
  if (!name?.trim()) throw usage("Cannot uninstall: nothing is named. /uninstall NAME.");
  return runStaged("uninstall", name, ctx, async (openStage) => {
    const { home } = ctx.about;
    const pluginLock = readLock(home);
    const lockEntry = pluginLock.get(name);
    if (!lockEntry) throw usage(notInstalled(pluginLock));
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
    const pluginStage = openStage();
    copyExtras(home, pluginStage, extras);
    putInPlace(home, pluginStage, {
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

async function confirmCandidates(
  ctx: Ctx,
  actionVerb: string,
  candidates: Candidate[],
): Promise<void> {
  const { home } = ctx.about;
  const detailLines = candidates.flatMap(({ name, rows }) => [
    ...(candidates.length > 1 ? [`── ${name}`] : []),
    ...rows.flatMap(([rowLabel, rowText]) => (rowText ? [`${rowLabel.padEnd(10)}${rowText}`] : [])),
  ]);
  const headLine =
    `${actionVerb} puts ${candidates.map(({ name }) => `'${name}'`).join(", ")} ` +
    `into ${pluginsOf(home)}.`;
  const stateChecks = candidates.flatMap(({ old, entry: { top }, stage }) => [
    asItStands(stage.plugins, { top }),
    ...(old ? [asItStands(pluginsOf(home), old)] : []),
  ]);
  const question =
    `${actionVerb[0]!.toUpperCase()}${actionVerb.slice(1)} ` +
    `${candidates.length > 1 ? "them" : "it"}?`;
  await confirm(ctx, [headLine, ...detailLines].join("\n"), question, RIGHTS_WARNING);
  for (const assertAsAsked of stateChecks) assertAsAsked();
}

/** A check that what is there of a plugin is what was there when the person was asked. */
function asItStands(pluginFolder: string, plugin: Pick<LockEntry, "top" | "packages">): () => void {
  const readSums = () => JSON.stringify(sumsIn(pluginFolder, plugin));
  const before = readSums();
  return () => {
    if (readSums() !== before) throw fault("its files changed while the question stood. Try again");
  };
}

/** Asks once. -A answers yes; without a terminal to ask on the answer is no. */
async function confirm(
  ctx: Ctx,
  messageText: string,
  question: string,
  warning?: string,
): Promise<void> {
  const [headLine, ...detailLines] = messageText.split("\n");
  const message = [
    `┏ ${headLine}`,
    ...detailLines.map((detailLine) => `┃ ${detailLine}`),
    ...(warning ? [`┠ ${warning}`] : []),
  ].join("\n");
  const { rules } = ctx.permissions;
  const allowsAll = EFFECT_KINDS.every((effect) =>
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
async function runStaged(
  actionVerb: string,
  target: string,
  ctx: Ctx,
  runAction: (openStage: () => Stage) => Promise<Result>,
): Promise<Result> {
  const openedStages: Stage[] = [];
  const openNewStage = () => openedStages[openedStages.push(openStageIn(ctx.about.home)) - 1]!;
  const sweepAndRun = async () => {
    sweep(ctx.about.home);
    return runAction(openNewStage);
  };
  return withSentence(actionVerb, target, ctx, sweepAndRun).finally(() =>
    openedStages.forEach(closeStage),
  );
}

/** Turns an error that is only a reason into a sentence. */
async function withSentence<T>(
  actionVerb: string,
  target: string,
  ctx: Ctx,
  runAction: () => Promise<T>,
): Promise<T> {
  try {
    return await runAction();
  } catch (error) {
    const {
      message,
      exit = 1,
      path: failedPath,
    } = error as Error & { exit?: number; path?: string };
    const isOwnError = (error as Error).constructor === Error;
    if (ctx.signal.aborted || (isOwnError && message.startsWith("Cannot "))) throw error;
    const errorMessage = isOwnError ? message : `${message}. This is a bug in zz`;
    const reason = errnoSentence(error) || `${errorMessage.replace(/\.$/, "")}.`;
    const shownTarget = target.startsWith("the plugins") ? target : `'${plain(target)}'`;
    throw fault(
      `Cannot ${actionVerb} ${shownTarget}: ` +
        `${failedPath ? `'${failedPath}' cannot be used: ` : ""}${reason}`,
      { exit },
    );
  }
}
