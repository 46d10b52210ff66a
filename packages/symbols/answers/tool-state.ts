// What the tools share while a project is open.

import v8 from "node:v8";
import type { Clock, Ctx } from "zz";
import type { Config } from "../index.ts";
import type { Index } from "../index-view.ts";
import type { Text } from "../meaning/desk.ts";
import type { Project } from "../project.ts";
import type { History } from "../rank/commit-signals.ts";
import type { Survey } from "../rank.ts";
import type { Kept } from "../resolve.ts";
import type { Watch } from "../watch.ts";

export interface State {
  root: string;
  config: Config;
  isOngoing(): boolean; // whether the conversation has more than one turn
  project: Project;
  watch: Watch;
  asked: number; // how many questions there were
  index?: Index; // as it was for the last question
  partial?: string; // why answers are about a part of the code only, for the model
  texts: Map<string, { hash: string; text: Text }>; // of files that an answer was about
  // where a name stands in texts
  said?: { name: string; about: unknown[]; rows: Promise<string[]> };
  hasServer?: true; // a language server has answered
  // for language servers
  stamps?: { version: object; names: readonly string[]; all: ReadonlyMap<string, string> };
  // what the map counts of the index at that version
  survey?: Resolved & { about: string; made: Survey };
  history?: History; // of the repository, as it was last read
  unreadHead?: string; // a commit whose history git could not tell
  clock: Clock;
  cancelMap(): void; // which is to be made again after a moment
  lastCtx?: Ctx; // of the last turn that had the map
  mapRun?: Promise<void>; // until the map that is being made is there
  // when the map was last made or found to be current; told: the map that the model had
  mapLook?: { version: object; tokens: number; changes: number; told: string };
  shownMap?: ShownMap; // for the next message
  toldMap: ToldMap;
  // the same, with the files that there were then: the map may be made again before the next
  // message
  deliveredMap?: ShownMap;
  arrived: Set<string>; // files that came during the conversation, and not by its edits
  noticeChange(ctx: Ctx): void; // of files that are watched
}
/** Of what was made of imports: the index then, and what else decided where they lead. */
export interface Resolved {
  version: object;
  seen: Kept["seen"];
}
/** What the conversation's model was told last: "" before that. It stays with the conversation. */
export interface ToldMap {
  text: string;
  files: string[]; // of code, on it
}
/** The map as it is in the prompt. */
export interface ShownMap {
  text: string;
  files: readonly string[]; // of code, on it
  indexed: readonly string[]; // all that there were
}
/** A symbol as given to a tool; path and line choose one of several. */
export interface SymbolQuery {
  symbol: string;
  path?: string;
  line?: number;
}

/**
 * The up-to-date index. In a conversation of several turns, or from a second question on, files are
 * watched.
 */
export async function freshIndex(state: State, ctx: Ctx): Promise<Index> {
  const index = await state.project.fresh(ctx);
  state.index = index;
  state.partial = partialIndex(index);
  const handleChange = state.isOngoing() ? () => state.noticeChange(unattended(ctx)) : () => {};
  if (state.isOngoing() || state.asked++)
    state.watch.watchFolders(index.names, ctx.git, handleChange);
  return index;
}

/**
 * What is read of all files is garbage soon: V8 would make room for it, of 60 MB, and keep that.
 */
export async function runWithSmallHeap<T>(runTask: () => Promise<T>): Promise<T> {
  v8.setFlagsFromString("--semi-space-growth-factor=1");
  try {
    return await runTask();
  } finally {
    v8.setFlagsFromString("--semi-space-growth-factor=2"); // as it is by itself
  }
}

function partialIndex({ files, leftOut, beyond, scope, ignored }: Index): string {
  if (!leftOut && !beyond && !ignored.size) return "";
  const inScope = beyond ? ` in '${scope}'` : "";
  const notIgnored = ignored.size ? ` that symbols.ignore does not name` : "";
  const indexedPart = leftOut
    ? `the first ${files.length}${notIgnored}`
    : `the ${files.length}${inScope}${notIgnored}`;
  return (
    `[Of ${files.length + leftOut + beyond + ignored.size} code files only ${indexedPart} are ` +
    "indexed, so this is about a part of the code. grep searches all of it.]"
  );
}

/** For work outside of a turn: it asks nothing, says nothing and is not cancelled with the turn. */
export function unattended(ctx: Ctx): Ctx {
  const doNothing = { value: () => {} };
  return Object.create(ctx, {
    ask: { value: undefined },
    note: doNothing,
    progress: doNothing,
    signal: { value: new AbortController().signal },
  });
}
