// repo_map, and the map in the prompt.
import type { Ctx, Result } from "zz";
import { type Index, mayRead } from "../project.ts";
import type { MapRequest, RepoMap } from "../rank.ts";
import { defining } from "../rows.ts";
import { importGraph } from "./imports.ts";
import { lastName, SCRIPT } from "./rows.ts";
import { freshIndex, type State, unattended } from "./state.ts";

const MAP_TOKENS = 2_000;
const MIN_NEW_SHARE = 0.1; // of the map's lines must be new before the model gets it again
const REMAP_DELAY_MS = 200; // ms; by then the request has been sent, and no further line comes at once
const FIRST_MAP_WAIT_MS = 2_000; // ms that the first message waits for the map
const VERIFY_NOTE = "Lines may have moved since: verify with grep or read_file.";

export async function map(
  state: State,
  { query, focus, tokens = MAP_TOKENS }: { query?: string; focus?: string[]; tokens?: number },
  ctx: Ctx,
): Promise<Result> {
  const index = await freshIndex(state, ctx);
  const made = await mapFor(state, index, { ...(query && { query }), ...(focus && { focus }), tokens }, ctx);
  const unknown = (focus ?? []).filter((one) => !isKnown(index, one));
  const missing = unknown.map((one) => `[Nothing here is called '${one}': no file, no folder, no symbol]`);
  return { text: [made.text || "There is no code here to map.", ...missing].join("\n"), data: made };
}

function isKnown(index: Index, focus: string): boolean {
  const name = focus.trim().replace(/^\.\/|\/+$|\(\)$/g, "");
  if (!name || name === ".") return true;
  const isThere = index.names.some((file) => `/${file}/`.includes(`/${name}/`));
  return isThere || defining(index.pageIndexes, lastName(name)).length > 0;
}

async function mapFor(state: State, index: Index, request: MapRequest, ctx: Ctx): Promise<RepoMap> {
  const [{ mapOf }, { imports }] = await Promise.all([import("../rank.ts"), importGraph(state, index, ctx)]);
  const visible = index.files.filter((file) => SCRIPT.test(file) && mayRead(ctx, file));
  const sources = visible.map((file) => {
    const targets = (imports.get(file) ?? []).flatMap(({ to, kind }) => (kind === "internal" && to ? [to] : []));
    return { path: file, facts: index.facts(file)!, imports: targets };
  });
  const mapped = new Set(visible);
  const others = index.names.filter((name) => !mapped.has(name) && !index.ignored.has(name) && mayRead(ctx, name));
  return mapOf(sources, others, { seen: filesSeen(ctx, mapped), ...request });
}

/**
 * The map in the prompt, of what the conversation has been about so far. It stays the same to the letter until code
 * changes, so that a provider's prompt cache stays valid. Only the first map is waited for.
 */
export async function layer(state: State, ctx: Ctx): Promise<string | undefined> {
  state.lastCtx = unattended(ctx);
  if (state.shownMap)
    scheduleMap(state); // changes made meanwhile appear with the next message
  else
    await Promise.race([refreshMap(state), new Promise((resolve) => setTimeout(resolve, FIRST_MAP_WAIT_MS).unref())]);
  return state.shownMap?.text;
}

/** The map for the next turn, when nothing happens for a moment. */
export function scheduleMap(state: State): void {
  clearTimeout(state.mapTimer);
  state.mapTimer = setTimeout(() => refreshMap(state), REMAP_DELAY_MS).unref();
}

async function refreshMap(state: State): Promise<void> {
  if (state.lastCtx) await updateMap(state, state.lastCtx).catch(() => undefined);
}

async function updateMap(state: State, ctx: Ctx): Promise<void> {
  const index = await freshIndex(state, ctx);
  if (state.shownMap?.version === index.version) return;
  const words = ctx.chat.messages.flatMap((message) =>
    message.role === "user" && !message.aside ? [message.text] : [],
  );
  const { text } = await mapFor(state, index, { query: words.slice(-3).join("\n"), tokens: state.config.tokens }, ctx);
  const sentMap = ctx.chat.messages.length > 1 ? state.shownMap?.text : undefined; // the one that the model has
  const shown = text && [text, VERIFY_NOTE, state.partial].filter(Boolean).join("\n");
  state.shownMap = { version: index.version, text: sentMap && !hasEnoughNew(sentMap, shown) ? sentMap : shown };
}

/** Whether enough is new to send it again: the model knows its own edits. */
function hasEnoughNew(old: string, text: string): boolean {
  const oldLines = new Set(old.split("\n"));
  const lines = text.split("\n");
  return lines.filter((line) => !oldLines.has(line)).length > lines.length * MIN_NEW_SHARE;
}

/** The files that the conversation has read or changed. */
function filesSeen({ chat, files }: Ctx, known: Set<string>): MapRequest["seen"] {
  const edited = new Set(files.changes().map(({ path: file }) => file));
  const words = chat.messages.flatMap((message) => (message.role === "assistant" ? (message.calls ?? []) : []));
  const named = words.flatMap(({ args }) => Object.values(args)).filter((value) => typeof value === "string");
  const seen = new Set([...edited, ...named.map((name) => name.replace(/^\.\//, ""))]);
  return [...seen].filter((file) => known.has(file)).map((file) => ({ path: file, edited: edited.has(file) }));
}
