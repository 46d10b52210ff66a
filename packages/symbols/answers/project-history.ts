// The history of the project for the map: what words the messages of past commits had, and which
// files they changed. Git is asked once and then for what is new; the result is kept beside the
// index, words as hashes.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { makeFolder, tryTo, writeWhole } from "zz/text";
import { mayRead } from "../may-read.ts";
import { type History, LOG_FORMAT, MAX_COMMITS, readLog } from "../rank/commit-signals.ts";
import { historyFile } from "../store.ts";
import type { State } from "./tool-state.ts";

const HISTORY_FORMAT = 2;
const PATIENCE_MS = 10_000; // ms, for the look at what the repository would make git do

/**
 * Undefined: there is no repository here, nothing in it, or it is one that would make git run or
 * show something.
 */
export async function historyOf(state: State, ctx: Ctx): Promise<History | undefined> {
  const { git, root } = ctx;
  const headCommit = (await git.say(["rev-parse", "--verify", "--quiet", "HEAD"]))?.trim();
  if (!headCommit) return undefined;
  if (state.history?.head === headCommit) return state.history;
  const historyPath = historyFile(root, ctx.about.home);
  const keptHistory = state.history ?? readKept(historyPath, root);
  if (keptHistory?.head === headCommit) return (state.history = keptHistory);
  if (state.unreadHead === headCommit || !(await isHarmless(ctx))) return undefined;
  const isNewer =
    keptHistory &&
    (await git.say(["merge-base", "--is-ancestor", keptHistory.head, headCommit])) !== undefined;
  const logOptions = "-z --name-only --no-renames --no-merges --relative".split(" ");
  const commits = [
    `--max-count=${MAX_COMMITS}`,
    `--format=${LOG_FORMAT}`,
    isNewer ? `${keptHistory.head}..${headCommit}` : headCommit,
  ];
  const gitLog = await git.say(["log", ...logOptions, ...commits, "--", "."]);
  // such as a clone without its trees: asked again at the next commit
  if (gitLog === undefined) return void (state.unreadHead = headCommit);
  state.history = readLog(
    gitLog,
    headCommit,
    (filePath) => mayRead(ctx, filePath),
    isNewer ? keptHistory : undefined,
  );
  saveHistory(historyPath, root, state.history);
  return state.history;
}

/**
 * Nobody is asked for the sake of an order: where git would run something, or look elsewhere, there
 * is no history.
 */
async function isHarmless(ctx: Ctx): Promise<boolean> {
  const stop = AbortSignal.any([ctx.signal, ctx.io.clock.limit(PATIENCE_MS)]);
  const safetyCheck = await ctx.git.check(ctx.root, { stop }).catch(() => undefined);
  return (
    safetyCheck !== undefined &&
    !safetyCheck.why &&
    safetyCheck.reads.every((folder) => mayRead(ctx, folder))
  );
}

function readKept(historyPath: string, root: string): History | undefined {
  const keptRecord = tryTo(() => JSON.parse(fs.readFileSync(historyPath, "utf8")));
  const isOwnRecord =
    keptRecord?.format === HISTORY_FORMAT &&
    keptRecord.root === root &&
    Array.isArray(keptRecord.history?.commits);
  return isOwnRecord ? keptRecord.history : undefined;
}

/** Whole or not at all: two may do it at once. What cannot be kept is read again next time. */
function saveHistory(historyPath: string, root: string, history: History): void {
  tryTo(() => {
    makeFolder(path.dirname(historyPath), 0o700);
    // zz's own file: never through a link
    if (fs.lstatSync(historyPath, { throwIfNoEntry: false })?.isSymbolicLink())
      fs.unlinkSync(historyPath);
    writeWhole(historyPath, JSON.stringify({ format: HISTORY_FORMAT, root, history }), 0o600);
  });
}
