// repo_map, and the map in the prompt.
import crypto from "node:crypto";
import type { Ctx, Result } from "zz";
import { notUtf8, plural } from "zz/text";
import type { Index } from "../index-view.ts";
import { mayRead } from "../may-read.ts";
import { countTokens } from "../rank/tokens.ts";
import type { MapRequest, Source, Survey } from "../rank.ts";
import { filesDefining } from "../rows.ts";
import type { Facts, Sym } from "../scan/facts.ts";
import { isGenerated } from "../scan/generated-files.ts";
import { isMapped, lastName } from "./answer-rows.ts";
import { importGraph, leadsAsBefore } from "./list-imports.ts";
import { historyOf } from "./project-history.ts";
import {
  freshIndex,
  type Resolved,
  runWithSmallHeap,
  type ShownMap,
  type State,
  unattended,
} from "./tool-state.ts";
import { listUnread, unreadCode } from "./unread.ts";

const MAP_TOKENS = 2_000;
// of the map in the prompt: a part of the model's window
const [WINDOW_SHARE, MIN_TOKENS, MAX_TOKENS] = [0.08, 1_000, 8_000];
const MAX_WINDOW_SHARE = 0.1; // also of a small window, which could not hold MIN_TOKENS
const UNKNOWN_WINDOW_TOKENS = 2_560; // 8 % of a window of 32,000
const MAX_UNREAD_SHARE = 0.1; // of its tokens may say what was not read
const MIN_NEW_SHARE = 0.1; // of the map's lines must be new or gone before the model gets it again
// files that came at once and are put first; with more, a branch was switched
const MAX_NEW_FOCUS = 10;
// ms; by then the request has been sent, and no further line comes at once
const REMAP_DELAY_MS = 200;
const VERIFY_NOTE = "Lines may have moved since: verify with grep or read_file.";

export async function showMap(
  state: State,
  { query, focus, tokens = MAP_TOKENS, why }: Partial<MapRequest>,
  ctx: Ctx,
): Promise<Result> {
  const index = await freshIndex(state, ctx);
  const repoMap = await makeMap(state, index, { query, focus, why, tokens }, ctx);
  const unknown = (focus ?? []).filter((focusName) => !isKnown(index, focusName));
  const missing = unknown.map(
    (focusName) => `[Nothing here is called '${focusName}': no file, no folder, no symbol]`,
  );
  const encodingNotes = notUtf8(ctx.root, index.names, "not mapped");
  return {
    text: [repoMap.text || "There is no code here to map.", ...missing, ...encodingNotes].join(
      "\n",
    ),
    data: repoMap,
  };
}

function isKnown(index: Index, focusName: string): boolean {
  const trimmedName = focusName.trim().replace(/^\.\/|\/+$|\(\)$/g, "");
  if (!trimmedName || trimmedName === ".") return true;
  const isThere = index.names.some((filePath) => `/${filePath}/`.includes(`/${trimmedName}/`));
  return isThere || filesDefining(index, lastName(trimmedName)).length > 0;
}

const makeMap = (
  state: State,
  index: Index,
  request: MapRequest,
  ctx: Ctx,
  arrived?: Iterable<string>,
) =>
  runWithSmallHeap(async () => {
    const { mapFrom } = await import("../rank.ts");
    const [survey, history] = await Promise.all([
      surveyFor(state, index, ctx),
      request.query ? historyOf(state, ctx) : undefined,
    ]);
    const mappedFiles = new Set(
      survey.docs.flatMap(({ path: filePath, source }) => (source ? [filePath] : [])),
    );
    return mapFrom(survey, { seen: filesSeen(ctx, mappedFiles, arrived), history, ...request });
  });

/** What is counted of the index, until a file of it changes, or what may be read. */
async function surveyFor(state: State, index: Index, ctx: Ctx): Promise<Survey> {
  const about = crypto.hash(
    "sha256",
    [JSON.stringify(ctx.permissions.rules), ...index.names].join("\n"),
  );
  const { survey: earlier } = state;
  if (earlier?.about === about && (await leadsAsBefore(state, index, earlier))) return earlier.made;
  state.survey = { version: index.version, about, ...(await takeSurvey(state, index, ctx)) };
  return state.survey.made;
}

async function takeSurvey(
  state: State,
  index: Index,
  ctx: Ctx,
): Promise<{ made: Survey; seen: Resolved["seen"] }> {
  // of each file once, while it is counted
  const factsByFile = new Map<string, Facts | undefined>();
  const factsOf = (filePath: string) => {
    if (!factsByFile.has(filePath)) factsByFile.set(filePath, factsToCount(index.facts(filePath)));
    return factsByFile.get(filePath);
  };
  const cachedIndex = { ...index, facts: factsOf };
  const [{ surveyOf }, { imports, resolver }] = await Promise.all([
    import("../rank.ts"),
    importGraph(state, cachedIndex, ctx),
  ]);
  const sources = index.files
    .filter((filePath) => isMapped(filePath) && mayRead(ctx, filePath))
    .map((filePath): Source => {
      const targets = (imports.get(filePath) ?? []).flatMap(({ to, also = [], kind: edgeKind }) =>
        edgeKind === "internal" && to ? [to, ...also] : [],
      );
      return {
        path: filePath,
        imports: targets,
        get words() {
          return index.words(filePath);
        },
        get facts() {
          // later from the disk: all of them would take much memory
          return (factsByFile.get(filePath) ?? index.facts(filePath))!;
        },
      };
    });
  const mappedFiles = new Set(sources.map(({ path: filePath }) => filePath));
  const otherFiles = index.names.filter(
    (filePath) =>
      !mappedFiles.has(filePath) && !index.ignored.has(filePath) && mayRead(ctx, filePath),
  );
  const survey = surveyOf(
    sources,
    otherFiles.map((filePath) => ({
      path: filePath,
      get words() {
        return index.words(filePath);
      },
    })),
  );
  factsByFile.clear();
  return { made: survey, seen: resolver.kept().seen };
}

/** What counting needs of a file: the rest of all files takes three times as much memory. */
function factsToCount(fileFacts: Facts | undefined): Facts | undefined {
  if (!fileFacts) return undefined;
  const { symbols } = fileFacts;
  const isAlone = (symbolIndex: number) =>
    symbols[symbolIndex - 1]?.line !== symbols[symbolIndex]!.line &&
    symbols[symbolIndex + 1]?.line !== symbols[symbolIndex]!.line;
  const slimSymbols = symbols.map(
    ({ name, kind: symbolKind, line, signature, visibility, local }, symbolIndex): Sym => {
      const slimSymbol: Sym = {
        name,
        kind: symbolKind,
        line,
        end: line,
        signature: isAlone(symbolIndex) ? "" : signature,
      };
      if (visibility) slimSymbol.visibility = visibility;
      if (local) slimSymbol.local = local;
      return slimSymbol;
    },
  );
  Object.assign(fileFacts, { symbols: slimSymbols, todos: [] });
  return fileFacts;
}

/**
 * The map in the prompt, of what the conversation has been about so far. It stays the same to the
 * letter until code changes, so that a provider's prompt cache stays valid. Waited for is the first
 * map, and a moment for what was just saved.
 */
export async function mapForPrompt(state: State, ctx: Ctx): Promise<string | undefined> {
  state.lastCtx = unattended(ctx);
  if (isForAnother(state, ctx)) state.shownMap = undefined;
  const { config, shownMap, mapLook } = state;
  const isCurrent =
    mapLook && mapLook.changes === state.watch.changes && budgetOf(state, ctx) >= mapLook.tokens;
  if (shownMap && isCurrent)
    scheduleMap(state); // for what the watcher does not see: it appears with the next message
  else
    await Promise.race([
      refreshMap(state),
      sleep(state, shownMap ? config.waitAgain : config.wait),
    ]);
  const { text, files } = state.shownMap ?? state.toldMap;
  Object.assign(state.toldMap, { text, files: [...files] });
  if (state.shownMap) state.deliveredMap = state.shownMap;
  if (state.mapLook) state.mapLook.told = text;
  return text || undefined;
}
/**
 * Whether the map was made for another conversation, or for one that has gone back since, or that
 * starts now.
 */
const isForAnother = ({ mapLook, toldMap }: State, { chat }: Ctx) =>
  chat.messages.length < 2 || mapLook?.told !== toldMap.text;
const sleep = ({ clock }: State, delayMs: number) =>
  new Promise<void>((resolve) => void clock.timer(delayMs, resolve, { background: true }));

/** The map for the next turn, when nothing happens for a moment. */
export function scheduleMap(state: State): void {
  state.cancelMap();
  state.cancelMap = state.clock.timer(REMAP_DELAY_MS, () => refreshMap(state), {
    background: true,
  });
}

/** Saved files are indexed at once, and between two turns the map is made of them. */
export function noticeChange(state: State, ctx: Ctx): void {
  if (state.shownMap && state.lastCtx?.chat.phase === "idle") void refreshMap(state);
  else state.project.fresh(ctx).catch(() => {});
}

/** One after the other, so that an earlier look does not replace a later one. */
function refreshMap(state: State): Promise<void> {
  const refresh = async () =>
    state.lastCtx && updateMap(state, state.lastCtx).catch(() => undefined);
  state.mapRun = (state.mapRun ?? Promise.resolve()).then(refresh);
  return state.mapRun;
}

async function updateMap(state: State, ctx: Ctx): Promise<void> {
  const [changes, toldText] = [state.watch.changes, state.toldMap.text];
  const index = await freshIndex(state, ctx);
  const [{ version }, tokens] = [index, budgetOf(state, ctx)];
  const { mapLook: lastLook } = state;
  if (
    state.shownMap &&
    lastLook?.version === version &&
    lastLook.told === toldText &&
    tokens >= lastLook.tokens
  )
    return void (lastLook.changes = changes);
  const userTexts = ctx.chat.messages.flatMap((message) =>
    message.role === "user" && !message.aside ? [message.text] : [],
  );
  const modelMap =
    // the one that the model has
    ctx.chat.messages.length > 1 && state.toldMap.text ? sentMap(state, index) : undefined;
  if (!modelMap) state.arrived.clear(); // another conversation
  const { came, went } = changesByOthers(modelMap, index, ctx);
  if (came.length <= MAX_NEW_FOCUS) for (const filePath of came) state.arrived.add(filePath);
  const query = userTexts.slice(-3).join("\n");
  const unreadNote = unreadOnMap(index, ctx, tokens);
  const remainingTokens = tokens - countTokens(`\n${unreadNote}`);
  const { text, files: mappedFiles } = await makeMap(
    state,
    index,
    { query, tokens: remainingTokens },
    ctx,
    state.arrived,
  );
  const codeFiles = new Set(index.files);
  const files = mappedFiles.filter((filePath) => codeFiles.has(filePath));
  const shownText =
    text && [text, VERIFY_NOTE, unreadNote, state.partial].filter(Boolean).join("\n");
  const isNewMap =
    !modelMap ||
    went.length ||
    came.some((filePath) => files.includes(filePath)) ||
    isOutdated(modelMap.text, shownText);
  state.mapLook = { version, tokens, changes, told: toldText };
  state.shownMap = isNewMap ? { text: shownText, files, indexed: index.files } : modelMap;
}

/** What the map lacks, in one line; "": nothing that people wrote. */
function unreadOnMap(index: Index, ctx: Ctx, maxTokens: number): string {
  const unreadFiles = unreadCode(index, ctx).filter(({ path: filePath }) => !isGenerated(filePath));
  const noteForms = [
    `[Not read: ${listUnread(unreadFiles)}]`,
    `[Not read: ${plural(unreadFiles.length, "file")}]`,
  ];
  return unreadFiles.length
    ? (noteForms.find((noteForm) => countTokens(noteForm) <= maxTokens * MAX_UNREAD_SHARE) ?? "")
    : "";
}

/**
 * Which files there were is forgotten when zz ends: then none came meanwhile, as far as anyone
 * knows.
 */
function sentMap({ toldMap: { text, files }, deliveredMap }: State, index: Index): ShownMap {
  const indexed =
    deliveredMap?.text === text ? deliveredMap.indexed : [...new Set([...files, ...index.files])];
  return { text, files: [...files], indexed };
}

/** A share of what the model takes in, unless the settings say how much. */
function budgetOf({ config }: State, { chat: { window } }: Ctx): number {
  if (config.tokens !== undefined) return config.tokens;
  if (!window) return UNKNOWN_WINDOW_TOKENS;
  const windowShare = Math.min(Math.max(WINDOW_SHARE * window, MIN_TOKENS), MAX_TOKENS);
  return Math.round(Math.min(windowShare, MAX_WINDOW_SHARE * window));
}

/**
 * Files of code that came and, of those on the map, files that went, though no edit of the model
 * that is in force did so.
 */
function changesByOthers(
  modelMap: ShownMap | undefined,
  index: Index,
  { files }: Ctx,
): { came: string[]; went: string[] } {
  if (!modelMap) return { came: [], went: [] };
  const standingEdits = files.changes().filter(({ undone }) => !undone);
  const editedFiles = new Set(standingEdits.map(({ path: filePath }) => filePath));
  const [filesBefore, present] = [new Set(modelMap.indexed), new Set(index.files)];
  const isOfOthers = (filePath: string) => !editedFiles.has(filePath);
  return {
    came: index.files.filter((filePath) => !filesBefore.has(filePath) && isOfOthers(filePath)),
    went: modelMap.files.filter(
      (filePath) => filesBefore.has(filePath) && !present.has(filePath) && isOfOthers(filePath),
    ),
  };
}

/** Whether so many lines are new or gone that the model needs it again: it knows its own edits. */
function isOutdated(oldText: string, newText: string): boolean {
  const [oldLines, newLines] = [oldText.split("\n"), newText.split("\n")];
  return (
    shareOutside(newLines, oldLines) > MIN_NEW_SHARE ||
    shareOutside(oldLines, newLines) > MIN_NEW_SHARE
  );
}
function shareOutside(mapLines: string[], comparedLines: string[]): number {
  const otherLines = new Set(comparedLines);
  return mapLines.filter((mapLine) => !otherLines.has(mapLine)).length / mapLines.length;
}

/** The files that the conversation has read or changed, and those that came meanwhile. */
function filesSeen(
  { chat, files }: Ctx,
  mappedFiles: Set<string>,
  arrived: Iterable<string> = [],
): MapRequest["seen"] {
  const editedFiles = new Set(files.changes().map(({ path: filePath }) => filePath));
  const toolCalls = chat.messages.flatMap((message) =>
    message.role === "assistant" ? (message.calls ?? []) : [],
  );
  const argumentTexts = toolCalls
    .flatMap(({ args }) => Object.values(args))
    .filter((argument) => typeof argument === "string");
  const seenFiles = new Set([
    ...editedFiles,
    ...argumentTexts.map((argumentText) => argumentText.replace(/^\.\//, "")),
    ...arrived,
  ]);
  return [...seenFiles]
    .filter((filePath) => mappedFiles.has(filePath))
    .map((filePath) => ({ path: filePath, edited: editedFiles.has(filePath) }));
}
