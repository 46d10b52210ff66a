// One whole reply of a model, made of the pieces of its stream, whatever servers do to them.
import type { Call, CallDelta, Delta, Finish, Reply, Usage } from "../contract.ts";
import { newId } from "../instance.ts";
import { asFault, fault } from "../text/faults.ts";
import { errorMessage } from "../text/secrets.ts";
import { isDeep, MAX_JSON_DEPTH, pickKeys, tryTo } from "../text/words.ts";
import { answerFault } from "./server-errors.ts";

// the text and thinking so far, then what this piece added
type SeeProgress = (
  answerText: string,
  thinking: string,
  newThinking: string,
  pieceSize: number,
) => void;
/** Reads a provider's stream into one whole reply. Servers differ in all of it: indexes, ids, names
 * sent twice, pieces of arguments, finish reasons that contradict the content. Throws if it was cut
 * off or carried an error; what had arrived is in `partial`. */
export async function collectReply(
  stream: AsyncIterable<Delta>,
  reportProgress?: SeeProgress,
  providerName = "",
): Promise<Reply> {
  let [text, thinking] = ["", ""];
  let finish: Finish | undefined;
  let usage: Usage | undefined;
  const callDrafts: CallDraft[] = [];
  const extra: unknown[] = [];
  const unrunCalls: UnrunCalls = { count: 0, names: new Set() };
  let replySize = 0;
  try {
    for await (const delta of stream) {
      if (!isDelta(delta)) throw notADelta(delta, providerName);
      if ("text" in delta) text += delta.text ?? "";
      else if ("thinking" in delta) thinking += delta.thinking ?? "";
      else if ("call" in delta) addCallPiece(callDrafts, delta.call, unrunCalls);
      else if ("usage" in delta) usage = checkedUsage({ ...usage, ...delta.usage });
      else if ("finish" in delta) finish = finishOf(delta.finish) ?? finish;
      else if ("error" in delta)
        throw answerFault("The model's server failed in mid-stream", delta.error);
      if (delta.extra !== undefined && !isDeep(delta.extra)) extra.push(delta.extra);
      const deltaSize = measureDelta(delta);
      reportProgress?.(text, thinking, ("thinking" in delta && delta.thinking) || "", deltaSize);
      replySize += deltaSize + CHARS_PER_DELTA;
      if (replySize > MAX_REPLY_CHARS)
        throw fault("The answer is larger than 64 MB and was given up. Ask for less.");
    }
    if (!finish && !text && !thinking && !callDrafts.length)
      throw fault("The server answered with nothing. Try again.", { transient: true });
    if (!finish) throw fault(CUT_OFF, { transient: true });
  } catch (error) {
    const isCutOff = CONNECTION_ENDED.test((error as NodeJS.ErrnoException)?.code ?? "");
    throw Object.assign(isCutOff ? fault(CUT_OFF, { transient: true }) : asFault(error), {
      partial: { text, thinking },
    });
  }
  const calls = callDrafts
    .filter(({ name, args }) => name || args)
    .map((callDraft) => finishCall(callDraft, finish === "length"));
  if (calls.length > MAX_CALLS)
    calls[MAX_CALLS]!.broken = tooManyCalls(calls[MAX_CALLS]!, unrunCalls);
  if (finish === "stop" || finish === "calls") finish = calls.length ? "calls" : "stop";
  giveOwnIds(calls);
  const splitReply = splitThinking(text);
  const thought = [...new Set([thinking.trim(), splitReply.thinking])].filter(Boolean).join("\n");
  return {
    text: splitReply.text,
    thinking: thought,
    calls,
    finish,
    ...(usage && { usage }),
    ...(extra.length && { extra }),
  };
}
function giveOwnIds(calls: Call[]): void {
  const usedIds = new Set<string>();
  for (const call of calls) {
    if (!call.id || usedIds.has(call.id)) call.id = newId("call_");
    usedIds.add(call.id);
  }
}

const CONNECTION_ENDED = /^(ECONN|EPIPE|ETIMEDOUT|HPE_|Z_)/;
const notADelta = (yielded: unknown, providerName: string): Error =>
  fault(
    `Cannot read the answer of provider '${providerName}': ` +
      `${JSON.stringify(yielded)?.slice(0, 60)} is not a delta. It yields { text }, ` +
      "{ thinking }, { call }, { usage }, { extra }, { finish } or { error }: see Delta.",
  );
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
  const deltaFields = Object(delta);
  let hasField = false;
  for (const [fieldName, fieldType] of DELTA_FIELD_TYPES) {
    if (!(fieldName in deltaFields)) continue;
    hasField = true;
    const value = deltaFields[fieldName];
    if (!fieldType) continue;
    if (value == null ? fieldName === "call" : typeof value !== fieldType) return false;
  }
  return hasField;
}
const MAX_REPLY_CHARS = 64 * 1024 * 1024;
const CHARS_PER_DELTA = 32; // what an empty delta counts as, so that endless ones stop too
const MAX_CALLS = 128; // that run; the model is told which ones did not
const MAX_NAME_CHARS = 200; // of a tool's name
const MAX_ID_CHARS = 100_000; // some gateways put signatures into it
const MAX_ARGS_CHARS = 4 * 1024 * 1024; // of one call's arguments
const MAX_PARSED_CHARS = 8 * 1024 * 1024; // parsed to see whether a call's arguments are complete
const charsOf = (maybeText: unknown): number =>
  typeof maybeText === "string" ? maybeText.length : 0;
const extraSize = (extraData: unknown): number =>
  isDeep(extraData) ? 0 : charsOf(JSON.stringify(extraData));
function measureDelta(delta: Delta): number {
  const { text, thinking, call } = delta as { text?: string; thinking?: string; call?: CallDelta };
  const basicSize = charsOf(text) + charsOf(thinking) + extraSize(delta.extra);
  return call
    ? basicSize + charsOf(call.id) + charsOf(call.name) + charsOf(call.args) + extraSize(call.extra)
    : basicSize;
}

/** A server's token counts, if they are numbers. */
function checkedUsage({ input, output, cached, written }: Partial<Usage>): Usage {
  const toCount = (rawCount: unknown) =>
    Number.isFinite(rawCount) ? Math.max(0, rawCount as number) : 0;
  const cacheCounts = pickKeys({ cached, written }, (_, rawCount) => toCount(rawCount) > 0);
  return { input: toCount(input), output: toCount(output), ...cacheCounts };
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
function addCallPiece(callDrafts: CallDraft[], callPiece: CallDelta, unrunCalls: UnrunCalls): void {
  const index = callPiece.index ?? undefined;
  const id =
    typeof callPiece.id === "string" && callPiece.id.length <= MAX_ID_CHARS ? callPiece.id : "";
  const pieceName = typeof callPiece.name === "string" ? callPiece.name : "";
  const { args, wrong } = textOfArgs(callPiece.args);
  const lastDraft = callDrafts.at(-1);
  let callDraft = lastDraft;
  if (index !== undefined)
    callDraft = callDrafts.findLast((candidate) => candidate.index === index);
  else if (id)
    callDraft =
      callDrafts.findLast((candidate) => candidate.id === id) ??
      (lastDraft?.id ? undefined : lastDraft);
  if (!callDraft || startsAnother(callDraft)) {
    if (callDrafts.length > MAX_CALLS) leaveOut(callDrafts.pop()!);
    callDraft = { index, id: "", name: "", args: "", last: "", parsed: 0 };
    callDrafts.push(callDraft);
  }
  callDraft.id ||= id;
  // some gateways send it again: never append
  callDraft.name = pieceName.slice(0, MAX_NAME_CHARS + 1) || callDraft.name;
  if (pieceName.length > MAX_NAME_CHARS)
    callDraft.wrong =
      `its name has ${pieceName.length} characters, ` +
      `more than the ${MAX_NAME_CHARS} that a tool's may have`;
  if (wrong) callDraft.wrong = wrong;
  callDraft.last = args.at(-1) ?? callDraft.last;
  if (callDraft.args.length + args.length <= MAX_ARGS_CHARS) callDraft.args += args;
  else callDraft.wrong = `its arguments have more than ${MAX_ARGS_CHARS / 1024 / 1024} MB`;
  if (callPiece.extra !== undefined && !isDeep(callPiece.extra)) callDraft.extra = callPiece.extra;

  function startsAnother(openDraft: CallDraft): boolean {
    if (id && openDraft.id && id !== openDraft.id) return true;
    if (!pieceName || !openDraft.name) return false;
    const isOtherName = pieceName.slice(0, MAX_NAME_CHARS + 1) !== openDraft.name;
    if (index === undefined && isOtherName) return true;
    if (!isDraftWhole(openDraft)) return false;
    return (
      isOtherName || (isWhole(args) && ((index === undefined && !id) || args !== openDraft.args))
    );
  }
  function leaveOut({ name }: CallDraft): void {
    unrunCalls.count++;
    if (unrunCalls.names.size < 10) unrunCalls.names.add(name.slice(0, 60));
  }
}

/** Arguments may come as text or as JSON values. */
function textOfArgs(rawArguments: unknown): { args: string; wrong?: string } {
  if (typeof rawArguments === "string" || !rawArguments)
    return { args: (rawArguments as string) || "" };
  return isDeep(rawArguments)
    ? { args: "", wrong: TOO_DEEP }
    : { args: JSON.stringify(rawArguments) ?? "" };
}

/** Asked for every piece: checks the last character first, and parses only up to a limit. */
function isDraftWhole(callDraft: CallDraft): boolean {
  if (callDraft.parsed > MAX_PARSED_CHARS || !/[}"l\s]/.test(callDraft.last)) return false;
  callDraft.parsed += callDraft.args.length;
  return isWhole(callDraft.args);
}

function tooManyCalls({ name }: Call, { count, names }: UnrunCalls): string {
  const unrunNames = [...new Set([...names, name.slice(0, 60)])].filter(Boolean);
  const callCount = MAX_CALLS + 1 + count;
  const excessText = `This reply had ${callCount} calls, and at most ${MAX_CALLS} of a reply run.`;
  return (
    `${excessText} Not run: the last ${count + 1}, of ${unrunNames.join(", ")}. ` +
    "Make those that are still needed in the next reply."
  );
}

const isWhole = (argsText: string): boolean =>
  argsText.trim() !== "" && "args" in parseArguments(argsText);

function finishCall({ id, name, args, extra, wrong }: CallDraft, isCutOff: boolean): Call {
  const broken = `The call did not run: ${wrong}. Send it again, shorter.`;
  if (wrong) return { id, name: name.slice(0, MAX_NAME_CHARS), args: {}, broken };
  const parsedArgs = parseArguments(args);
  const finishedCall: Call = {
    id,
    name,
    args: "args" in parsedArgs ? parsedArgs.args : {},
    ...(extra !== undefined && { extra }),
  };
  if (isCutOff && !isWhole(args))
    finishedCall.broken =
      "The call was cut off by the output limit and did not run. " +
      "Send it again, shorter or in parts.";
  else if ("wrong" in parsedArgs)
    finishedCall.broken =
      `The arguments are not usable: ${parsedArgs.wrong}. ` +
      "Send the call again with a valid JSON object.";
  else if (!name) finishedCall.broken = "The call names no tool. Send it again with a name.";
  return finishedCall;
}

/**
 * Parses arguments. Nothing is {}; a JSON string is parsed again; repeated objects count once, and
 * a leading {} is dropped.
 */
function parseArguments(argsText: string): { args: Record<string, unknown> } | { wrong: string } {
  if (!argsText.trim()) return { args: {} };
  let parsedValue: unknown;
  try {
    parsedValue = JSON.parse(argsText);
    if (typeof parsedValue === "string") parsedValue = JSON.parse(parsedValue);
  } catch (error) {
    const jsonTexts = jsonValues(argsText);
    const nonEmptyTexts = jsonTexts?.filter((jsonText) => jsonText !== "{}");
    if (!jsonTexts || new Set(nonEmptyTexts).size > 1) return { wrong: errorMessage(error) };
    parsedValue = JSON.parse(nonEmptyTexts?.[0] ?? "{}");
  }
  if (isDeep(parsedValue)) return { wrong: TOO_DEEP };
  if (typeof parsedValue === "object" && !Array.isArray(parsedValue))
    return { args: { ...parsedValue } };
  return { wrong: `expected an object, got ${argsText.trim().slice(0, 40)}` };
}
const TOO_DEEP = `its arguments are nested more than ${MAX_JSON_DEPTH} deep`;

/** Splits `{…}{…}`; undefined unless everything is objects. */
function jsonValues(joinedJson: string): string[] | undefined {
  const jsonTexts: string[] = [];
  let [braceDepth, objectStart] = [0, 0];
  for (const { 0: token, index } of joinedJson.matchAll(/"(?:\\.|[^"\\])*"?|[{}]/gs)) {
    if (token === "{") braceDepth++;
    if (token !== "}" || --braceDepth > 0) continue;
    jsonTexts.push(joinedJson.slice(objectStart, index + 1));
    objectStart = index + 1;
  }
  if (jsonTexts.length < 2 || joinedJson.slice(objectStart).trim()) return undefined;
  return tryTo(() => jsonTexts.map((jsonText) => JSON.stringify(JSON.parse(jsonText))));
}

function finishOf(finishWord: string): Finish | undefined {
  if (!finishWord) return undefined;
  if (/^(tool_calls|tool_use|function_call|calls)$/.test(finishWord)) return "calls";
  if (/length|max_tokens|window_exceeded/.test(finishWord)) return "length";
  if (/content_filter|safety|^filter$/i.test(finishWord)) return "filter";
  if (finishWord === "refusal") return "refusal";
  if (/^error$|insufficient_system_resource/.test(finishWord))
    throw fault(`The model's server gave up in mid-stream (${finishWord}). Try again.`, {
      transient: true,
    });
  return "stop";
}

/**
 * Separates thinking from text: `<think>…</think>` at the start, or everything before a lone
 * `</think>` that is not in code.
 */
export function splitThinking(replyText: string): { text: string; thinking: string } {
  let remaining = replyText;
  const thoughts: string[] = [];
  for (
    let thinkBlock: RegExpExecArray | null;
    (thinkBlock = /^\s*<think(?:ing)?>(.*?)(?:<\/think(?:ing)?>|$)/s.exec(remaining));
  ) {
    thoughts.push(thinkBlock[1]!.replace(/^\s*<think>/, "").trim());
    remaining = remaining.slice(thinkBlock[0].length);
  }
  const closeIndex = remaining.indexOf("</think>");
  const textBefore = remaining.slice(0, closeIndex);
  if (thoughts.length) remaining = remaining.replace(/^\s*<\/think>/, "");
  else if (closeIndex >= 0 && !textBefore.includes("<think>") && !isQuoted(textBefore)) {
    thoughts.push(textBefore.trim());
    remaining = remaining.slice(closeIndex + "</think>".length);
  }
  if (remaining.length !== replyText.length) remaining = remaining.replace(/^\s+/, "");
  return { text: remaining, thinking: thoughts.filter(Boolean).join("\n") };
}

/** Of a reply that is not complete yet, the text that is certainly no thinking at its start. */
export function answerSoFar(replyText: string): string {
  if (!/^\s*</.test(replyText.slice(0, 200))) return replyText;
  return /^\s*<[^>]*$/.test(replyText) ? "" : splitThinking(replyText).text;
}

/** Whether a text ends inside of a code fence or inline code. */
function isQuoted(textBefore: string): boolean {
  return (
    textBefore.split("```").length % 2 === 0 ||
    textBefore.slice(textBefore.lastIndexOf("\n") + 1).split("`").length % 2 === 0
  );
}
