// What the symbol tools answer. Each first brings the index up to date, and shows only what may be read.
import type { Ctx, Result } from "zz";
import { plural } from "zz/text";
import { calls } from "./answers/calls.ts";
import { definition, showPart, structure, symbols } from "./answers/definitions.ts";
import { dependencies, dependents } from "./answers/imports.ts";
import { layer, map, noticeChange, scheduleMap } from "./answers/map.ts";
import { check, references, rename } from "./answers/meaning.ts";
import { complexity, todos } from "./answers/measures.ts";
import { lastName, nameIn } from "./answers/rows.ts";
import { freshIndex, lean, type State, type SymbolQuery, type ToldMap } from "./answers/state.ts";
import { type About, lackOf, qualified } from "./answers/unread.ts";
import type { Config } from "./index.ts";
import { openProject } from "./project.ts";
import type { Scope } from "./store.ts";
import { openWatch } from "./watch.ts";

export type Answers = ReturnType<typeof openAnswers>;

export function openAnswers(
  { root, about: { home }, io: { clock } }: Ctx,
  config: Config,
  isOngoing: () => boolean,
  toldMap: ToldMap,
) {
  const watch = openWatch(root, () => config.debounce, clock);
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
    watch,
    toldMap,
    asked: 0,
    arrived: new Set(),
    texts: new Map(),
    clock,
    cancelMap() {},
    noticeChange: (ctx) => noticeChange(state, ctx),
  };
  const told = (ctx: Ctx, answer: Promise<Result | string>, about?: About) => tell(state, ctx, answer, about);
  const toldLean = (ctx: Ctx, run: () => Promise<Result | string>, about?: About) => told(ctx, lean(run), about);
  return {
    definition: (symbol: string, ctx: Ctx) => told(ctx, definition(state, symbol, ctx), { words: [lastOf(symbol)] }),
    references: (args: SymbolQuery & { start?: number }, ctx: Ctx) =>
      toldLean(ctx, () => references(state, args, ctx), { words: [lastOf(args.symbol)], like: true }),
    calls: (args: SymbolQuery & { callees?: boolean }, ctx: Ctx) =>
      told(ctx, calls(state, args, ctx), { words: [lastOf(args.symbol)], like: true }),
    symbols: (args: { query: string; kind?: string; path?: string }, ctx: Ctx) =>
      toldLean(ctx, () => symbols(state, args, ctx), { words: [lastOf(args.query)], anywhere: true, ...pathOf(args) }),
    structure: (args: { path?: string; depth?: number }, ctx: Ctx) => toldLean(ctx, () => structure(state, args, ctx)),
    part: (what: "function" | "class", args: { name: string; path?: string }, ctx: Ctx) =>
      told(ctx, showPart(state, what, args, ctx), { words: [lastOf(args.name)], ...pathOf(args) }),
    dependencies: (args: { path?: string }, ctx: Ctx) =>
      toldLean(ctx, () => dependencies(state, args, ctx), args.path === undefined ? { imports: true } : undefined),
    dependents: (args: { path: string }, ctx: Ctx) =>
      toldLean(ctx, () => dependents(state, args, ctx), { users: true, ...pathOf(args) }),
    complexity: (args: { path?: string }, ctx: Ctx) => toldLean(ctx, () => complexity(state, args, ctx)),
    todos: (args: { path?: string }, ctx: Ctx) => toldLean(ctx, () => todos(state, args, ctx)),
    check: (args: { paths: string[] }, ctx: Ctx) => told(ctx, check(state, args, ctx)),
    rename: (args: SymbolQuery & { to: string }, ctx: Ctx) =>
      told(ctx, rename(state, args, ctx), { words: [lastOf(args.symbol)], like: true }),
    map: (args: { query?: string; focus?: string[]; tokens?: number; why?: boolean }, ctx: Ctx) =>
      told(ctx, map(state, args, ctx), { map: true, words: args.query?.match(/[\p{L}\p{N}_$]{4,}/gu) ?? [] }),
    layer: (ctx: Ctx) => layer(state, ctx),
    scheduleMap: () => scheduleMap(state),
    reindex: (ctx: Ctx) => reindex(state, ctx),
    close(): void {
      state.cancelMap();
      state.watch.close();
    },
  };
}

/** What is about a part of the code says so, also when it fails. */
async function tell(state: State, ctx: Ctx, answer: Promise<Result | string>, about?: About): Promise<Result> {
  const lack = (text: string, data?: unknown): string =>
    about && state.index ? lackOf(state.index, about, { text, data }, ctx) : "";
  const given = await answer.catch((error: Error) => {
    const missing = error.message && lack(error.message);
    if (missing) error.message = `${qualified(error.message)}\n${missing}`;
    if (state.partial && error.message) error.message += `\n${state.partial}`;
    throw error;
  });
  const result = typeof given === "string" ? { text: given } : given;
  const missing = lack(result.text, result.data);
  const text = missing ? `${qualified(result.text)}\n${missing}` : result.text;
  return { ...result, text: state.partial ? `${text}\n${state.partial}` : text };
}

const lastOf = (symbol: string): string => lastName(nameIn(symbol));
const pathOf = ({ path }: { path?: string }): { path?: string } => (path === undefined ? {} : { path });

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
