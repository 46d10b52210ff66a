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

const FORMAT = 2;
const PATIENCE_MS = 10_000; // ms, for the look at what the repository would make git do

/**
 * Undefined: there is no repository here, nothing in it, or it is one that would make git run or
 * show something.
 */
export async function historyOf(state: State, ctx: Ctx): Promise<History | undefined> {
  const { git, root } = ctx;
  const head = (await git.say(["rev-parse", "--verify", "--quiet", "HEAD"]))?.trim();
  if (!head) return undefined;
  if (state.history?.head === head) return state.history;
  const file = historyFile(root, ctx.about.home);
  const kept = state.history ?? readKept(file, root);
  if (kept?.head === head) return (state.history = kept);
  if (state.unreadHead === head || !(await isHarmless(ctx))) return undefined;
  const isNewer =
    kept && (await git.say(["merge-base", "--is-ancestor", kept.head, head])) !== undefined;
  const logOptions = "-z --name-only --no-renames --no-merges --relative".split(" ");
  const commits = [
    `--max-count=${MAX_COMMITS}`,
    `--format=${LOG_FORMAT}`,
    isNewer ? `${kept.head}..${head}` : head,
  ];
  const log = await git.say(["log", ...logOptions, ...commits, "--", "."]);
  // such as a clone without its trees: asked again at the next commit
  if (log === undefined) return void (state.unreadHead = head);
  state.history = readLog(log, head, (name) => mayRead(ctx, name), isNewer ? kept : undefined);
  keep(file, root, state.history);
  return state.history;
}

/**
 * Nobody is asked for the sake of an order: where git would run something, or look elsewhere, there
 * is no history.
 */
async function isHarmless(ctx: Ctx): Promise<boolean> {
  const stop = AbortSignal.any([ctx.signal, ctx.io.clock.limit(PATIENCE_MS)]);
  const doubt = await ctx.git.check(ctx.root, { stop }).catch(() => undefined);
  return doubt !== undefined && !doubt.why && doubt.reads.every((folder) => mayRead(ctx, folder));
}

function readKept(file: string, root: string): History | undefined {
  const kept = tryTo(() => JSON.parse(fs.readFileSync(file, "utf8")));
  const isOurs =
    kept?.format === FORMAT && kept.root === root && Array.isArray(kept.history?.commits);
  return isOurs ? kept.history : undefined;
}

/** Whole or not at all: two may do it at once. What cannot be kept is read again next time. */
function keep(file: string, root: string, history: History): void {
  tryTo(() => {
    makeFolder(path.dirname(file), 0o700);
    // zz's own file: never through a link
    if (fs.lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) fs.unlinkSync(file);
    writeWhole(file, JSON.stringify({ format: FORMAT, root, history }), 0o600);
  });
}
