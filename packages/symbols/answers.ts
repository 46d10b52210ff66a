// What the symbol tools answer. Each first brings the index up to date, and shows only what may be
// read.
import type { Ctx, Result } from "zz";
import { plural } from "zz/text";
import { lastName, nameIn } from "./answers/answer-rows.ts";
import { checkTypes } from "./answers/check-types.ts";
import {
  findDefinition,
  findSymbols,
  showClass,
  showFunction,
  showStructure,
} from "./answers/definitions.ts";
import { findCalls } from "./answers/find-calls.ts";
import { findReferences } from "./answers/find-references.ts";
import { listDependencies, listDependents } from "./answers/list-imports.ts";
import { mapForPrompt, noticeChange, scheduleMap, showMap } from "./answers/map.ts";
import { listTodos, measureComplexity } from "./answers/measure-code.ts";
import { renameSymbol } from "./answers/rename-symbol.ts";
import { freshIndex, runWithSmallHeap, type State, type ToldMap } from "./answers/tool-state.ts";
import { type AnswerTopic, missingSentence, qualifyText } from "./answers/unread.ts";
import type { Config } from "./index.ts";
import { openProject } from "./project.ts";
import type { Scope } from "./store.ts";
import { Watch } from "./watch.ts";

export type Answers = ReturnType<typeof openAnswers>;

export function openAnswers(
  { root, about: { home }, io: { clock } }: Ctx,
  config: Config,
  isOngoing: () => boolean,
  toldMap: ToldMap,
) {
  const watch = new Watch(root, () => config.debounce, clock);
  const project = openProject(
    root,
    home,
    (fileCount, ctx, current) => limitFiles(config, fileCount, ctx, current),
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
  return {
    answer: (toolName: string, args: any, ctx: Ctx) =>
      answerTool(state, ANSWERS[toolName]!, args, ctx),
    layer: (ctx: Ctx) => mapForPrompt(state, ctx),
    scheduleMap: () => scheduleMap(state),
    reindex: (ctx: Ctx) => reindex(state, ctx),
    close(): void {
      state.cancelMap();
      state.watch.close();
    },
  };
}

const lastNameIn = (symbol: string) => lastName(nameIn(symbol));
const aboutUses = ({ symbol }: any): AnswerTopic => ({ words: [lastNameIn(symbol)], like: true });

type Answer = (state: State, args: any, ctx: Ctx) => Promise<Result | string>;
/** What each tool answers, and what that is about. */
const ANSWERS: Record<string, [answer: Answer, about?: (args: any) => AnswerTopic | undefined]> = {
  find_definition: [findDefinition, ({ symbol }) => ({ words: [lastNameIn(symbol)] })],
  find_references: [findReferences, aboutUses],
  find_calls: [findCalls, aboutUses],
  find_symbols: [
    findSymbols,
    ({ query, path }) => ({ words: [lastNameIn(query)], anywhere: true, path }),
  ],
  get_structure: [showStructure],
  get_function: [showFunction, ({ name, path }) => ({ words: [lastNameIn(name)], path })],
  get_class: [showClass, ({ name, path }) => ({ words: [lastNameIn(name)], path })],
  get_dependencies: [
    listDependencies,
    ({ path }) => (path === undefined ? { imports: true } : undefined),
  ],
  get_dependents: [listDependents, ({ path }) => ({ users: true, path })],
  get_complexity: [measureComplexity],
  get_todos: [listTodos],
  check_types: [checkTypes],
  rename_symbol: [renameSymbol, aboutUses],
  repo_map: [
    showMap,
    ({ query }) => ({ map: true, words: query?.match(/[\p{L}\p{N}_$]{4,}/gu) ?? [] }),
  ],
};

/** What is about a part of the code says so, also when it fails. */
async function answerTool(
  state: State,
  [runTool, aboutOf]: (typeof ANSWERS)[string],
  args: any,
  ctx: Ctx,
): Promise<Result> {
  const topic = aboutOf?.(args);
  const completed = (text: string, data?: unknown): string => {
    const missing =
      topic && state.index && text ? missingSentence(state.index, topic, { text, data }, ctx) : "";
    return [missing ? qualifyText(text) : text, missing, text && state.partial]
      .filter(Boolean)
      .join("\n");
  };
  const answered = await runWithSmallHeap(() => runTool(state, args, ctx)).catch((error: Error) => {
    error.message = completed(error.message);
    throw error;
  });
  const result = typeof answered === "string" ? { text: answered } : answered;
  return { ...result, text: completed(result.text, result.data) };
}

async function limitFiles(
  config: Config,
  fileCount: number,
  { ask, note }: Ctx,
  current: Scope,
): Promise<Scope> {
  if (config.folder)
    return { scope: config.folder.replace(/\/+$/, ""), most: Number.MAX_SAFE_INTEGER };
  if (fileCount <= config.most) return { scope: "", most: config.most };
  if (current.scope || current.most > config.most) return current; // already asked
  if (!ask) {
    if (!current.most)
      note(
        `This project has ${fileCount} code files; the first ${config.most} are indexed. ` +
          "Set symbols.folder in the settings to choose.",
      );
    return { scope: "", most: config.most };
  }
  const pressedKey = await ask(
    `This project has ${fileCount} code files. ` +
      "Index [a]ll of them, one [f]older, or [c]ancel? (Enter: cancel) ",
    "afc",
  );
  if (pressedKey === "a") return { scope: "", most: Number.MAX_SAFE_INTEGER };
  const chosenFolder =
    pressedKey === "f" ? (await ask("Which folder? ")).trim().replace(/^\.\/|\/+$/g, "") : "";
  if (!chosenFolder)
    throw new Error("Cannot index this project: it was cancelled. /reindex asks again.");
  return { scope: chosenFolder, most: Number.MAX_SAFE_INTEGER };
}

async function reindex(state: State, ctx: Ctx): Promise<string> {
  state.project.drop();
  const index = await freshIndex(state, ctx);
  const symbolCount = index.files.reduce(
    (total, filePath) => total + index.facts(filePath)!.symbols.length,
    0,
  );
  const brokenCount = index.files.filter((filePath) => index.facts(filePath)!.parseError).length;
  return (
    `Indexed ${plural(index.files.length, "file")} with ${plural(symbolCount, "symbol")} ` +
    `in ${(index.ms / 1000).toFixed(1)} s` +
    (brokenCount ? `; ${brokenCount} ${brokenCount === 1 ? "has" : "have"} syntax errors` : "") +
    (index.leftOut ? `; ${index.leftOut} ${index.leftOut === 1 ? "is" : "are"} left out.` : ".")
  );
}
