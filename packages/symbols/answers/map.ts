// repo_map, and the map in the prompt.
import crypto from "node:crypto";
import type { Ctx, Result } from "zz";
import { notUtf8, plural } from "zz/text";
import type { Index } from "../index-view.ts";
import { mayRead } from "../may-read.ts";
import { countTokens } from "../rank/tokens.ts";
import type { MapRequest, RepoMap, Source, Survey } from "../rank.ts";
import { filesDefining } from "../rows.ts";
import type { Facts, Sym } from "../scan/facts.ts";
import { isGenerated } from "../scan/generated-files.ts";
import { isMapped, lastName } from "./answer-rows.ts";
import { importGraph, leadsAsBefore } from "./list-imports.ts";
import { historyOf } from "./project-history.ts";
import {
  freshIndex,
  lean,
  type Resolved,
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
  {
    query,
    focus,
    tokens = MAP_TOKENS,
    why: withReasons,
  }: { query?: string; focus?: string[]; tokens?: number; why?: boolean },
  ctx: Ctx,
): Promise<Result> {
  const index = await freshIndex(state, ctx);
  const repoMap = await mapFor(
    state,
    index,
    {
      ...(query && { query }),
      ...(focus && { focus }),
      ...(withReasons && { why: withReasons }),
      tokens,
    },
    ctx,
  );
  const unknown = (focus ?? []).filter((focusName) => !isKnown(index, focusName));
  const missing = unknown.map(
    (focusName) => `[Nothing here is called '${focusName}': no file, no folder, no symbol]`,
  );
  const lost = notUtf8(ctx.root, index.names, "not mapped");
  return {
    text: [repoMap.text || "There is no code here to map.", ...missing, ...lost].join("\n"),
    data: repoMap,
  };
}

function isKnown(index: Index, focus: string): boolean {
  const name = focus.trim().replace(/^\.\/|\/+$|\(\)$/g, "");
  if (!name || name === ".") return true;
  const isThere = index.names.some((file) => `/${file}/`.includes(`/${name}/`));
  return isThere || filesDefining(index, lastName(name)).length > 0;
}

const mapFor = (
  ...[state, index, request, ctx, arrived]: [State, Index, MapRequest, Ctx, Iterable<string>?]
): Promise<RepoMap> =>
  lean(async () => {
    const { mapFrom } = await import("../rank.ts");
    const [survey, history] = await Promise.all([
      surveyFor(state, index, ctx),
      request.query ? historyOf(state, ctx) : undefined,
    ]);
    const mappedFiles = new Set(
      survey.docs.flatMap(({ path: file, source }) => (source ? [file] : [])),
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
  const read = new Map<string, Facts | undefined>(); // of each file once, while it is counted
  const factsOf = (file: string) => {
    if (!read.has(file)) read.set(file, factsToCount(index.facts(file)));
    return read.get(file);
  };
  const once: Index = Object.create(index, { facts: { value: factsOf } });
  const [{ surveyOf }, { imports, resolver }] = await Promise.all([
    import("../rank.ts"),
    importGraph(state, once, ctx),
  ]);
  const sources = index.files
    .filter((file) => isMapped(file) && mayRead(ctx, file))
    .map((file): Source => {
      const targets = (imports.get(file) ?? []).flatMap(({ to, also = [], kind: edgeKind }) =>
        edgeKind === "internal" && to ? [to, ...also] : [],
      );
      return {
        path: file,
        imports: targets,
        get words() {
          return index.words(file);
        },
        get facts() {
          // later from the disk: all of them would take much memory
          return (read.get(file) ?? index.facts(file))!;
        },
      };
    });
  const mapped = new Set(sources.map(({ path: file }) => file));
  const others = index.names.filter(
    (name) => !mapped.has(name) && !index.ignored.has(name) && mayRead(ctx, name),
  );
  const counts = surveyOf(
    sources,
    others.map((name) => ({
      path: name,
      get words() {
        return index.words(name);
      },
    })),
  );
  read.clear();
  return { made: counts, seen: resolver.kept().seen };
}

/** What counting needs of a file: the rest of all files takes three times as much memory. */
function factsToCount(facts: Facts | undefined): Facts | undefined {
  if (!facts) return undefined;
  const { symbols } = facts;
  const isAlone = (index: number) =>
    symbols[index - 1]?.line !== symbols[index]!.line &&
    symbols[index + 1]?.line !== symbols[index]!.line;
  const slim = symbols.map(
    ({ name, kind: symbolKind, line, signature, visibility, local }, index): Sym => {
      const sym: Sym = {
        name,
        kind: symbolKind,
        line,
        end: line,
        signature: isAlone(index) ? "" : signature,
      };
      if (visibility) sym.visibility = visibility;
      if (local) sym.local = local;
      return sym;
    },
  );
  Object.assign(facts, { symbols: slim, todos: [] });
  return facts;
}

/**
 * The map in the prompt, of what the conversation has been about so far. It stays the same to the
 * letter until code changes, so that a provider's prompt cache stays valid. Waited for is the first
 * map, and a moment for what was just saved.
 */
export async function layer(state: State, ctx: Ctx): Promise<string | undefined> {
  state.lastCtx = unattended(ctx);
  if (isForAnother(state, ctx)) state.shownMap = undefined;
  const { config, shownMap, mapLook } = state;
  const isCurrent =
    mapLook && mapLook.changes === state.watch.changes() && budgetOf(state, ctx) >= mapLook.tokens;
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
const isForAnother = ({ mapLook, toldMap }: State, { chat }: Ctx): boolean =>
  chat.messages.length < 2 || mapLook?.told !== toldMap.text;
const sleep = ({ clock }: State, ms: number) =>
  new Promise<void>((resolve) => void clock.timer(ms, resolve, { background: true }));

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
  const [changes, toldText] = [state.watch.changes(), state.toldMap.text];
  const index = await freshIndex(state, ctx);
  const [{ version }, tokens] = [index, budgetOf(state, ctx)];
  const { mapLook: look } = state;
  if (
    state.shownMap &&
    look?.version === version &&
    look.told === toldText &&
    tokens >= look.tokens
  )
    return void (look.changes = changes);
  const words = ctx.chat.messages.flatMap((message) =>
    message.role === "user" && !message.aside ? [message.text] : [],
  );
  const sent =
    // the one that the model has
    ctx.chat.messages.length > 1 && state.toldMap.text ? sentMap(state, index) : undefined;
  if (!sent) state.arrived.clear(); // another conversation
  const { came, went } = changesByOthers(sent, index, ctx);
  if (came.length <= MAX_NEW_FOCUS) for (const file of came) state.arrived.add(file);
  const query = words.slice(-3).join("\n");
  const unread = unreadOnMap(index, ctx, tokens);
  const remainingTokens = tokens - countTokens(`\n${unread}`);
  const { text, files: mappedFiles } = await mapFor(
    state,
    index,
    { query, tokens: remainingTokens },
    ctx,
    state.arrived,
  );
  const code = new Set(index.files);
  const files = mappedFiles.filter((file) => code.has(file));
  const shown = text && [text, VERIFY_NOTE, unread, state.partial].filter(Boolean).join("\n");
  const isNews =
    !sent ||
    went.length ||
    came.some((file) => files.includes(file)) ||
    isOutdated(sent.text, shown);
  state.mapLook = { version, tokens, changes, told: toldText };
  state.shownMap = isNews ? { text: shown, files, indexed: index.files } : sent;
}

/** What the map lacks, in one line; "": nothing that people wrote. */
function unreadOnMap(index: Index, ctx: Ctx, tokens: number): string {
  const unreadFiles = unreadCode(index, ctx).filter(({ path: file }) => !isGenerated(file));
  const lines = [
    `[Not read: ${listUnread(unreadFiles)}]`,
    `[Not read: ${plural(unreadFiles.length, "file")}]`,
  ];
  return unreadFiles.length
    ? (lines.find((line) => countTokens(line) <= tokens * MAX_UNREAD_SHARE) ?? "")
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
  const share = Math.min(Math.max(WINDOW_SHARE * window, MIN_TOKENS), MAX_TOKENS);
  return Math.round(Math.min(share, MAX_WINDOW_SHARE * window));
}

/**
 * Files of code that came and, of those on the map, files that went, though no edit of the model
 * that is in force did so.
 */
function changesByOthers(
  sent: ShownMap | undefined,
  index: Index,
  { files }: Ctx,
): { came: string[]; went: string[] } {
  if (!sent) return { came: [], went: [] };
  const edits = files.changes().filter(({ undone }) => !undone);
  const editedFiles = new Set(edits.map(({ path: file }) => file));
  const [before, present] = [new Set(sent.indexed), new Set(index.files)];
  const isOfOthers = (file: string) => !editedFiles.has(file);
  return {
    came: index.files.filter((file) => !before.has(file) && isOfOthers(file)),
    went: sent.files.filter((file) => before.has(file) && !present.has(file) && isOfOthers(file)),
  };
}

/** Whether so many lines are new or gone that the model needs it again: it knows its own edits. */
function isOutdated(old: string, text: string): boolean {
  const [before, after] = [old.split("\n"), text.split("\n")];
  return shareOutside(after, before) > MIN_NEW_SHARE || shareOutside(before, after) > MIN_NEW_SHARE;
}
function shareOutside(lines: string[], others: string[]): number {
  const otherLines = new Set(others);
  return lines.filter((line) => !otherLines.has(line)).length / lines.length;
}

/** The files that the conversation has read or changed, and those that came meanwhile. */
function filesSeen(
  { chat, files }: Ctx,
  mappedFiles: Set<string>,
  arrived: Iterable<string> = [],
): MapRequest["seen"] {
  const edited = new Set(files.changes().map(({ path: file }) => file));
  const words = chat.messages.flatMap((message) =>
    message.role === "assistant" ? (message.calls ?? []) : [],
  );
  const named = words
    .flatMap(({ args }) => Object.values(args))
    .filter((value) => typeof value === "string");
  const seenFiles = new Set([
    ...edited,
    ...named.map((name) => name.replace(/^\.\//, "")),
    ...arrived,
  ]);
  return [...seenFiles]
    .filter((file) => mappedFiles.has(file))
    .map((file) => ({ path: file, edited: edited.has(file) }));
}
