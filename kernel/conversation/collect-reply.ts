// One whole reply of a model, made of the pieces of its stream, whatever servers do to them.
import type { Call, CallDelta, Delta, Finish, Reply, Usage } from "../contract.ts";
import { newId } from "../instance.ts";
import { asFault, fault } from "../text/faults.ts";
import { errorMessage } from "../text/secrets.ts";
import { tryTo } from "../text/words.ts";
import { answerFault, isDeep, MAX_JSON_DEPTH } from "./server-errors.ts";

// so far; and what came since the last call
type SeeProgress = (text: string, thinking: string, thought: string, size: number) => void;
/** Reads a provider's stream into one whole reply. Servers differ in all of it: indexes, ids, names
 * sent twice, pieces of arguments, finish reasons that contradict the content. Throws if it was cut
 * off or carried an error; what had arrived is in `partial`. */
export async function collectReply(
  stream: AsyncIterable<Delta>,
  see?: SeeProgress,
  from = "",
): Promise<Reply> {
  let [text, thinking] = ["", ""];
  let finish: Finish | undefined;
  let usage: Usage | undefined;
  const drafts: CallDraft[] = [];
  const extra: unknown[] = [];
  const unrun: UnrunCalls = { count: 0, names: new Set() };
  let size = 0;
  try {
    for await (const delta of stream) {
      if (!isDelta(delta))
        throw fault(
          `Cannot read the answer of provider '${from}': ${JSON.stringify(delta)?.slice(0, 60)} ${NOT_A_DELTA}`,
        );
      if ("text" in delta) text += delta.text ?? "";
      else if ("thinking" in delta) thinking += delta.thinking ?? "";
      else if ("call" in delta) addCallPiece(drafts, delta.call, unrun);
      else if ("usage" in delta) usage = checkedUsage({ ...usage, ...delta.usage });
      else if ("finish" in delta) finish = finishOf(delta.finish) ?? finish;
      else if ("error" in delta)
        throw answerFault("The model's server failed in mid-stream", delta.error);
      if (delta.extra !== undefined && !isDeep(delta.extra, MAX_JSON_DEPTH))
        extra.push(delta.extra);
      const deltaSize = sizeOf(delta);
      see?.(text, thinking, ("thinking" in delta && delta.thinking) || "", deltaSize);
      size += deltaSize + CHARS_PER_DELTA;
      if (size > MAX_REPLY_CHARS)
        throw fault("The answer is larger than 64 MB and was given up. Ask for less.");
    }
    if (!finish && !text && !thinking && !drafts.length)
      throw fault("The server answered with nothing. Try again.", { transient: true });
    if (!finish) throw fault(CUT_OFF, { transient: true });
  } catch (error) {
    const cut = CONNECTION_ENDED.test((error as NodeJS.ErrnoException)?.code ?? "");
    throw Object.assign(cut ? fault(CUT_OFF, { transient: true }) : asFault(error), {
      partial: { text, thinking },
    });
  }
  const calls = drafts
    .filter(({ name, args }) => name || args)
    .map((draft) => finishCall(draft, finish === "length"));
  if (calls.length > MAX_CALLS) calls[MAX_CALLS]!.broken = tooManyCalls(calls[MAX_CALLS]!, unrun);
  if (finish === "stop" || finish === "calls") finish = calls.length ? "calls" : "stop";
  giveOwnIds(calls);
  const parts = splitThinking(text);
  const thought = [...new Set([thinking.trim(), parts.thinking])].filter(Boolean).join("\n");
  return {
    text: parts.text,
    thinking: thought,
    calls,
    finish,
    ...(usage && { usage }),
    ...(extra.length && { extra }),
  };
}
function giveOwnIds(calls: Call[]): void {
  const ids = new Set<string>();
  for (const call of calls) {
    if (!call.id || ids.has(call.id)) call.id = newId("call_");
    ids.add(call.id);
  }
}

const CONNECTION_ENDED = /^(ECONN|EPIPE|ETIMEDOUT|HPE_|Z_)/;
const NOT_A_DELTA =
  "is not a delta. It yields { text }, { thinking }, { call }, { usage }, { extra }, { finish } or { error }: see Delta.";
const DELTA_FIELDS = {
  text: "string",
  thinking: "string",
  call: "object",
  usage: "object",
  finish: "string",
  error: "",
  extra: "",
};
const DELTA_FIELD_TYPES = Object.entries(DELTA_FIELDS);
function isDelta(delta: any): boolean {
  const fields = Object(delta);
  let count = 0;
  for (const [name, type] of DELTA_FIELD_TYPES)
    if (
      name in fields &&
      ++count &&
      type &&
      (fields[name] == null ? name === "call" : typeof fields[name] !== type)
    )
      return false;
  return count > 0;
}
const MAX_REPLY_CHARS = 64 * 1024 * 1024;
const CHARS_PER_DELTA = 32; // what an empty delta counts as, so that endless ones stop too
const MAX_CALLS = 128; // that run; the model is told which ones did not
const MAX_NAME_CHARS = 200; // of a tool's name
const MAX_ID_CHARS = 100_000; // some gateways put signatures into it
const MAX_ARGS_CHARS = 4 * 1024 * 1024; // of one call's arguments
const MAX_PARSED_CHARS = 8 * 1024 * 1024; // parsed to see whether a call's arguments are complete
const charsOf = (text: unknown): number => (typeof text === "string" ? text.length : 0);
const extraSize = (extra: unknown): number =>
  extra === undefined || isDeep(extra, MAX_JSON_DEPTH) ? 0 : charsOf(JSON.stringify(extra));
function sizeOf(delta: Delta): number {
  const { text, thinking, call } = delta as { text?: string; thinking?: string; call?: CallDelta };
  const size = charsOf(text) + charsOf(thinking) + extraSize(delta.extra);
  return call
    ? size + charsOf(call.id) + charsOf(call.name) + charsOf(call.args) + extraSize(call.extra)
    : size;
}

/** A server's token counts, if they are numbers. */
function checkedUsage({ input, output, cached, written }: Partial<Usage>): Usage {
  const number = (value: unknown) => (Number.isFinite(value) ? Math.max(0, value as number) : 0);
  const cacheCounts = Object.entries({ cached, written }).filter(([, count]) => number(count) > 0);
  return { input: number(input), output: number(output), ...Object.fromEntries(cacheCounts) };
}
const CUT_OFF = "The connection ended before the answer was complete. Try again.";
interface CallDraft {
  index: number | undefined;
  id: string;
  name: string;
  args: string;
  last: string; // the last character: looking for it in `args` would copy them each time
  extra?: unknown;
  wrong?: string; // why it cannot run
  parsed: number; // characters parsed so far to see whether the arguments are complete
}
type UnrunCalls = { count: number; names: Set<string> }; // calls beyond the limit

/** Adds a piece to its call: by index, else by id, else to the last call. */
function addCallPiece(drafts: CallDraft[], piece: CallDelta, unrun: UnrunCalls): void {
  const index = piece.index ?? undefined;
  const id = typeof piece.id === "string" && piece.id.length <= MAX_ID_CHARS ? piece.id : "";
  const name = typeof piece.name === "string" ? piece.name : "";
  const { args, wrong } = textOfArgs(piece.args);
  const last = drafts.at(-1);
  let draft = last;
  if (index !== undefined) draft = drafts.findLast((candidate) => candidate.index === index);
  else if (id)
    draft = drafts.findLast((candidate) => candidate.id === id) ?? (last?.id ? undefined : last);
  if (!draft || startsAnother(draft)) {
    if (drafts.length > MAX_CALLS) leaveOut(drafts.pop()!);
    drafts.push((draft = { index, id: "", name: "", args: "", last: "", parsed: 0 }));
  }
  draft.id ||= id;
  // some gateways send it again: never append
  draft.name = name.slice(0, MAX_NAME_CHARS + 1) || draft.name;
  if (name.length > MAX_NAME_CHARS)
    draft.wrong = `its name has ${name.length} characters, more than the ${MAX_NAME_CHARS} that a tool's may have`;
  if (wrong) draft.wrong = wrong;
  draft.last = args.at(-1) ?? draft.last;
  if (draft.args.length + args.length <= MAX_ARGS_CHARS) draft.args += args;
  else draft.wrong = `its arguments have more than ${MAX_ARGS_CHARS / 1024 / 1024} MB`;
  if (piece.extra !== undefined && !isDeep(piece.extra, MAX_JSON_DEPTH)) draft.extra = piece.extra;

  function startsAnother(open: CallDraft): boolean {
    if (id && open.id && id !== open.id) return true;
    if (!name || !open.name) return false;
    const isOtherName = name.slice(0, MAX_NAME_CHARS + 1) !== open.name;
    if (index === undefined && isOtherName) return true;
    if (!isDraftWhole(open)) return false;
    return isOtherName || (isWhole(args) && ((index === undefined && !id) || args !== open.args));
  }
  function leaveOut({ name }: CallDraft): void {
    unrun.count++;
    if (unrun.names.size < 10) unrun.names.add(name.slice(0, 60));
  }
}

/** Arguments may come as text or as JSON values. */
function textOfArgs(args: unknown): { args: string; wrong?: string } {
  if (typeof args === "string" || !args) return { args: (args as string) || "" };
  return isDeep(args, MAX_JSON_DEPTH)
    ? { args: "", wrong: TOO_DEEP }
    : { args: JSON.stringify(args) ?? "" };
}

/** Asked for every piece: checks the last character first, and parses only up to a limit. */
function isDraftWhole(draft: CallDraft): boolean {
  if (draft.parsed > MAX_PARSED_CHARS || !/[}"l\s]/.test(draft.last)) return false;
  draft.parsed += draft.args.length;
  return isWhole(draft.args);
}

function tooManyCalls({ name }: Call, { count, names }: UnrunCalls): string {
  const unrunNames = [...names, name.slice(0, 60)].filter(
    (name, i, list) => name && list.indexOf(name) === i,
  );
  const excess = `This reply had ${MAX_CALLS + 1 + count} calls, and at most ${MAX_CALLS} of a reply run.`;
  return `${excess} Not run: the last ${count + 1}, of ${unrunNames.join(", ")}. Make those that are still needed in the next reply.`;
}

const isWhole = (args: string): boolean => args.trim() !== "" && "args" in parseArguments(args);

function finishCall({ id, name, args, extra, wrong }: CallDraft, cut: boolean): Call {
  const broken = `The call did not run: ${wrong}. Send it again, shorter.`;
  if (wrong) return { id, name: name.slice(0, MAX_NAME_CHARS), args: {}, broken };
  const parsed = parseArguments(args);
  const call: Call = {
    id,
    name,
    args: "args" in parsed ? parsed.args : {},
    ...(extra !== undefined && { extra }),
  };
  if (cut && !isWhole(args))
    call.broken =
      "The call was cut off by the output limit and did not run. Send it again, shorter or in parts.";
  else if ("wrong" in parsed)
    call.broken = `The arguments are not usable: ${parsed.wrong}. Send the call again with a valid JSON object.`;
  else if (!name) call.broken = "The call names no tool. Send it again with a name.";
  return call;
}

/**
 * Parses arguments. Nothing is {}; a JSON string is parsed again; repeated objects count once, and
 * a leading {} is dropped.
 */
function parseArguments(text: string): { args: Record<string, unknown> } | { wrong: string } {
  if (!text.trim()) return { args: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
    if (typeof value === "string") value = JSON.parse(value);
  } catch (error) {
    const values = jsonValues(text);
    const meant = values?.filter((json) => json !== "{}");
    if (!values || new Set(meant).size > 1) return { wrong: errorMessage(error) };
    value = JSON.parse(meant?.[0] ?? "{}");
  }
  if (isDeep(value, MAX_JSON_DEPTH)) return { wrong: TOO_DEEP };
  if (typeof value === "object" && !Array.isArray(value)) return { args: { ...value } };
  return { wrong: `expected an object, got ${text.trim().slice(0, 40)}` };
}
const TOO_DEEP = `its arguments are nested more than ${MAX_JSON_DEPTH} deep`;

/** Splits `{…}{…}`; undefined unless everything is objects. */
function jsonValues(text: string): string[] | undefined {
  const values: string[] = [];
  let [depth, start] = [0, 0];
  for (const { 0: token, index } of text.matchAll(/"(?:\\.|[^"\\])*"?|[{}]/gs)) {
    if (token === "{") depth++;
    if (token !== "}" || --depth > 0) continue;
    values.push(text.slice(start, index + 1));
    start = index + 1;
  }
  if (values.length < 2 || text.slice(start).trim()) return undefined;
  return tryTo(() => values.map((value) => JSON.stringify(JSON.parse(value))));
}

function finishOf(word: string): Finish | undefined {
  if (!word) return undefined;
  if (/^(tool_calls|tool_use|function_call|calls)$/.test(word)) return "calls";
  if (/length|max_tokens|window_exceeded/.test(word)) return "length";
  if (/content_filter|safety|^filter$/i.test(word)) return "filter";
  if (word === "refusal") return "refusal";
  if (/^error$|insufficient_system_resource/.test(word))
    throw fault(`The model's server gave up in mid-stream (${word}). Try again.`, {
      transient: true,
    });
  return "stop";
}

/**
 * Separates thinking from text: `<think>…</think>` at the start, or everything before a lone
 * `</think>` that is not in code.
 */
export function splitThinking(text: string): { text: string; thinking: string } {
  let remaining = text;
  const thoughts: string[] = [];
  for (
    let block: RegExpExecArray | null;
    (block = /^\s*<think(?:ing)?>(.*?)(?:<\/think(?:ing)?>|$)/s.exec(remaining));
  ) {
    thoughts.push(block[1]!.replace(/^\s*<think>/, "").trim());
    remaining = remaining.slice(block[0].length);
  }
  const close = remaining.indexOf("</think>");
  const before = remaining.slice(0, close);
  if (thoughts.length) remaining = remaining.replace(/^\s*<\/think>/, "");
  else if (close >= 0 && !before.includes("<think>") && !isQuoted(before)) {
    thoughts.push(before.trim());
    remaining = remaining.slice(close + "</think>".length);
  }
  if (remaining.length !== text.length) remaining = remaining.replace(/^\s+/, "");
  return { text: remaining, thinking: thoughts.filter(Boolean).join("\n") };
}

/** Of a reply that is not complete yet, the text that is certainly no thinking at its start. */
export function answerSoFar(text: string): string {
  if (!/^\s*</.test(text.slice(0, 200))) return text;
  return /^\s*<[^>]*$/.test(text) ? "" : splitThinking(text).text;
}

/** Whether a text ends inside of a code fence or inline code. */
function isQuoted(before: string): boolean {
  return (
    before.split("```").length % 2 === 0 ||
    before.slice(before.lastIndexOf("\n") + 1).split("`").length % 2 === 0
  );
}
