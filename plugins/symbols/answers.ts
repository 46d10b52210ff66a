// What the symbol tools answer. Each first brings the index up to date, and shows only what may be read.
import type { Ctx, Result } from "zz";
import { plural } from "zz/text";
import { definition, showPart, structure, symbols } from "./answers/definitions.ts";
import { dependencies, dependents } from "./answers/imports.ts";
import { layer, map, noticeChange, scheduleMap } from "./answers/map.ts";
import { check, references, rename } from "./answers/meaning.ts";
import { complexity, todos } from "./answers/measures.ts";
import { freshIndex, lean, type State, type SymbolQuery } from "./answers/state.ts";
import type { Config } from "./index.ts";
import { openProject } from "./project.ts";
import { openRemote } from "./remote.ts";
import type { Scope } from "./store.ts";
import { openWatch } from "./watch.ts";

export type Answers = ReturnType<typeof openAnswers>;

export function openAnswers({ root, about: { home } }: Ctx, config: Config, isOngoing: () => boolean) {
  const watch = openWatch(root, () => config.debounce);
  const project = openProject(
    root,
    home,
    (count, ctx, now) => limit(config, count, ctx, now),
    () => config.ignore,
    watch,
  );
  const state: State = {
    root,
    config,
    isOngoing,
    project,
    remote: openRemote(root, isOngoing),
    watch,
    arrived: new Set(),
    noticeChange: (ctx) => noticeChange(state, ctx),
  };
  /** What is about a part of the code says so, also when it fails. */
  const told = async (answer: Promise<Result | string>): Promise<Result> => {
    const given = await answer.catch((error: Error) => {
      if (state.partial && error.message) error.message += `\n${state.partial}`;
      throw error;
    });
    const result = typeof given === "string" ? { text: given } : given;
    return state.partial ? { ...result, text: `${result.text}\n${state.partial}` } : result;
  };
  return {
    definition: (symbol: string, ctx: Ctx) => told(definition(state, symbol, ctx)),
    references: (args: SymbolQuery & { start?: number }, ctx: Ctx) => told(references(state, args, ctx)),
    symbols: (args: { query: string; kind?: string; path?: string }, ctx: Ctx) =>
      told(lean(() => symbols(state, args, ctx))),
    structure: (args: { path?: string; depth?: number }, ctx: Ctx) =>
      told(lean<Result | string>(() => structure(state, args, ctx))),
    part: (what: "function" | "class", args: { name: string; path?: string }, ctx: Ctx) =>
      told(showPart(state, what, args, ctx)),
    dependencies: (args: { path?: string }, ctx: Ctx) =>
      told(lean<Result | string>(() => dependencies(state, args, ctx))),
    dependents: (args: { path: string }, ctx: Ctx) => told(lean<Result | string>(() => dependents(state, args, ctx))),
    complexity: (args: { path?: string }, ctx: Ctx) => told(lean<Result | string>(() => complexity(state, args, ctx))),
    todos: (args: { path?: string }, ctx: Ctx) => told(lean<Result | string>(() => todos(state, args, ctx))),
    check: (args: { paths: string[] }, ctx: Ctx) => told(check(state, args, ctx)),
    rename: (args: SymbolQuery & { to: string }, ctx: Ctx) => told(rename(state, args, ctx)),
    map: (args: { query?: string; focus?: string[]; tokens?: number; why?: boolean }, ctx: Ctx) =>
      told(map(state, args, ctx)),
    layer: (ctx: Ctx) => layer(state, ctx),
    scheduleMap: () => scheduleMap(state),
    reindex: (ctx: Ctx) => reindex(state, ctx),
    close(): void {
      clearTimeout(state.mapTimer);
      state.watch.close();
      state.remote.close();
    },
  };
}

async function limit(config: Config, count: number, { ask, note }: Ctx, now: Scope): Promise<Scope> {
  if (config.folder) return { scope: config.folder.replace(/\/+$/, ""), most: Number.MAX_SAFE_INTEGER };
  if (count <= config.most) return { scope: "", most: config.most };
  if (now.scope || now.most > config.most) return now; // already asked
  if (!ask) {
    if (!now.most)
      note(
        `This project has ${count} code files; the first ${config.most} are indexed. Set symbols.folder in the settings to choose.`,
      );
    return { scope: "", most: config.most };
  }
  const key = await ask(
    `This project has ${count} code files. Index [a]ll of them, one [f]older, or [c]ancel? (Enter: cancel) `,
    "afc",
  );
  if (key === "a") return { scope: "", most: Number.MAX_SAFE_INTEGER };
  const folder = key === "f" ? (await ask("Which folder? ")).trim().replace(/^\.\/|\/+$/g, "") : "";
  if (!folder) throw new Error("Cannot index this project: it was cancelled. /reindex asks again.");
  return { scope: folder, most: Number.MAX_SAFE_INTEGER };
}

async function reindex(state: State, ctx: Ctx): Promise<string> {
  state.project.drop();
  const index = await freshIndex(state, ctx);
  const count = index.files.reduce((sum, file) => sum + index.facts(file)!.symbols.length, 0);
  const broken = index.files.filter((file) => index.facts(file)!.parseError).length;
  return `Indexed ${plural(index.files.length, "file")} with ${plural(count, "symbol")} in ${(index.ms / 1000).toFixed(1)} s${broken ? `; ${broken} ${broken === 1 ? "has" : "have"} syntax errors` : ""}${index.left ? `; ${index.left} ${index.left === 1 ? "is" : "are"} left out` : ""}.`;
}
