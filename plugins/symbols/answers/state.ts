// What the tools share while a project is open.

import type { Ctx } from "zz";
import type { defaults } from "../index.ts";
import type { Index, Project } from "../project.ts";
import type { Remote } from "../remote.ts";
import type { Watch } from "../watch.ts";

export interface State {
  root: string;
  config: typeof defaults;
  isOngoing(): boolean; // whether the conversation has more than one turn
  project: Project;
  remote: Remote;
  watch: Watch;
  partial?: string; // why answers are about a part of the code only, for the model
  sources?: { version: object; all: ReadonlyMap<string, string> }; // of the project's own packages
  mapTimer?: NodeJS.Timeout; // until the map is made again
  lastCtx?: Ctx; // of the last turn that had the map
  shownMap?: { version: object; text: string }; // in the prompt
}
/** A symbol as given to a tool; path and line choose one of several. */
export interface SymbolQuery {
  symbol: string;
  path?: string;
  line?: number;
}

/** The up-to-date index. In a conversation of several turns, files are watched from then on. */
export async function freshIndex(state: State, ctx: Ctx): Promise<Index> {
  const index = await state.project.fresh(ctx);
  state.partial = partialIndex(index);
  if (state.isOngoing()) state.watch.on(index.files, () => void state.project.fresh(unattended(ctx)).catch(() => {}));
  return index;
}

function partialIndex({ files, left, beyond, scope, ignored }: Index): string {
  if (!left && !beyond && !ignored.size) return "";
  const place = beyond ? ` in '${scope}'` : "";
  const rest = ignored.size ? ` that symbols.ignore does not name` : "";
  const what = left ? `the first ${files.length}${rest}` : `the ${files.length}${place}${rest}`;
  return `[Of ${files.length + left + beyond + ignored.size} code files only ${what} are indexed, so this is about a part of the code. grep searches all of it.]`;
}

/** For work outside of a turn: it asks nothing, says nothing and is not cancelled with the turn. */
export function unattended(ctx: Ctx): Ctx {
  const quiet = () => {};
  const own = { ask: undefined, note: quiet, progress: quiet, signal: new AbortController().signal };
  return Object.create(ctx, Object.fromEntries(Object.entries(own).map(([key, value]) => [key, { value }])));
}
