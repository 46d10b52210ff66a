// Finds the calls in a text: first those after marks, anywhere in it; otherwise a whole text that
// is nothing but calls.
import type { Call } from "zz";
import { readObjects } from "./call-shapes.ts";
import { asCalls, type CheckedCall, checkCalls, MAX_CALLS, type Translate } from "./check-calls.ts";
import { toolFor } from "./coerce.ts";
import { skipSpace } from "./json.ts";
import { closerOf, isThinking, type Mark, marksIn } from "./marks.ts";
import { isTalk, talkIn } from "./mentioned-calls.ts";
import { readCall, readPythonic } from "./pythonic.ts";
import { matchAt, openSource, quotes } from "./search-text.ts";
import { readBareHarmony, readUnmarked } from "./special-tokens.ts";
import { BLOCK_END } from "./tagged-calls.ts";
import type { Piece, Source, Tool } from "./types.ts";

interface FoundCalls {
  text: string; // the text before the markup
  thinking?: string;
  calls: Call[];
}
/**
 * worded: zz asked for calls in words, so one that does not fit is reported to the model, not shown
 * to the person.
 */
interface SearchOptions {
  worded: boolean;
  bare?: boolean; // false if the answer has to be JSON, which then is not a call
  last?: boolean; // nothing may follow the calls
  ended?: boolean; // the output limit cut the text off
  translate?: Translate | undefined;
}

export async function findCalls(
  text: string,
  tools: readonly Tool[],
  options: SearchOptions,
): Promise<FoundCalls | undefined> {
  const source = openSource(text, tools, options.ended);
  const fromMarks = await callsAfterMarks(source, options);
  if (fromMarks || options.bare === false) return fromMarks;
  return (
    (await callsWithoutMarks(source, options)) ??
    (options.worded ? callsOnLastLines(source, options) : undefined)
  );
}

/** The state of one pass through a text, from mark to mark. */
interface Scan {
  source: Source;
  worded: boolean;
  translate: Translate | undefined;
  marks: RegExp;
  kinds: Mark[]; // by the number of their group in `marks`
  quoted: ReturnType<typeof quotes>;
  takenCalls: CheckedCall[];
  start: number; // where the markup begins; -1 if none was found
  end: number; // the end of the last call
  bad: number; // where the first call begins that does not fit
  wrapper: { at: number; end: number }; // the last mark after which nothing could be read
  muted: number; // the end of such a mark if the text only talks about it
  aside: { from: number; calls: CheckedCall[] }; // calls in the middle of a sentence
  named: boolean; // the text before the calls has a label, as with ReAct and Functionary
}

/** Finds calls after marks, from left to right. */
async function callsAfterMarks(
  source: Source,
  { worded, translate }: SearchOptions,
): Promise<FoundCalls | undefined> {
  const { text } = source;
  const markSet = marksIn(text);
  if (!markSet) return undefined;
  const { pattern: marks, marks: kinds } = markSet;
  const wrapper = { at: -1, end: -1 };
  const none = {
    start: -1,
    end: 0,
    bad: -1,
    muted: -1,
    aside: { from: -1, calls: [] },
    named: false,
  };
  const scan: Scan = {
    source,
    worded,
    translate,
    marks,
    kinds,
    quoted: quotes(text),
    takenCalls: [],
    wrapper,
    ...none,
  };
  for (let match = marks.exec(text); match && source.work.left > 0; match = marks.exec(text)) {
    if (scan.start >= 0 && (source.next(INVENTED, scan.end)?.at ?? text.length) < match.index)
      break;
    if (!(await readMark(scan, match))) break;
  }
  if (scan.start < 0) return undefined;
  const { aside } = scan;
  const isNone = aside.calls.length > 0;
  const before = text.slice(0, isNone ? Math.min(aside.from, scan.start) : scan.start);
  const calls =
    aside.from < scan.start
      ? [...aside.calls, ...scan.takenCalls]
      : [...scan.takenCalls, ...aside.calls];
  if (endsInCall(scan))
    calls.push({ raw: { name: "", args: {}, cut: true }, verdict: "cut", name: "", args: {} });
  const introduction = scan.named
    ? before.replace(/^\s{0,100}(?:Thought:|(?:>>>)?all\n)\s{0,20}/, "")
    : before;
  return { text: tidy(introduction), calls: asCalls(calls, isNone ? MIXED : "") };
}
const MIXED =
  "This reply has calls in the middle of its sentences, so none of its calls ran. Send those that you mean again, after the text and not within it.";

/** Whether the text ends before so much as the name of its last call. */
function endsInCall({ source: { text }, wrapper, end }: Scan): boolean {
  const ending = text.slice(wrapper.end, wrapper.end + 300);
  return (
    wrapper.at >= end &&
    /^\s{0,20}(?:[{[]|<\w)/.test(ending) &&
    !/<\/|\n\n/.test(ending) &&
    ending.length < 300
  );
}

/**
 * Keeps a call that a sentence goes on around. If others count, nobody knows which the model means:
 * then none runs.
 */
async function setAside(
  { source, translate, aside }: Scan,
  piece: Piece,
  from: number,
): Promise<void> {
  const calls = (await checkCalls(source, piece.calls, translate)).filter(
    ({ verdict }) => verdict === "fits",
  );
  if (calls.length && aside.from < 0) aside.from = from;
  aside.calls.push(...calls);
}

/** Reads what follows one mark. False ends the search. */
async function readMark(scan: Scan, match: RegExpExecArray): Promise<boolean> {
  const { source, marks, worded } = scan;
  const { text } = source;
  const index = match.index;
  const after = index + match[0].length;
  if (isThinking(match[0])) {
    // calls inside of thinking do not count
    marks.lastIndex = source.next(closerOf(match[0]), after)?.end ?? after;
    return true;
  }
  const quoting = scan.quoted.how(index);
  if (quoting === "code") return true;
  const mark = scan.kinds[match.slice(1).findIndex((group) => group !== undefined)]!;
  if (mark.worded && !worded) return true;
  const { wrapper, muted } = scan;
  const opened = wrapper.at >= 0 && isNothing(text.slice(wrapper.end, index)) ? wrapper.at : index;
  const piece = mark.read?.(source, index, after, match[0]);
  const from = Math.min(piece?.start ?? opened, opened);
  scan.muted = -1;
  if (
    (quoting === "quoted" && !isNext()) ||
    (muted >= 0 && isNothing(text.slice(muted, index))) ||
    (piece && isSpoken())
  ) {
    const isWhole = piece && !piece.calls.at(-1)?.cut;
    const isMixed = piece && quoting !== "quoted" && talkIn(text, from, piece.end) === "sentence";
    if (isWhole) marks.lastIndex = Math.max(piece.end, after);
    // what follows directly is talk, too
    if (!isMixed || !isWhole) scan.muted = isWhole ? marks.lastIndex : after;
    if (isMixed) await setAside(scan, piece, from);
    return true;
  }
  if (piece) return takePiece(scan, piece, from, after, match[0]);
  scan.wrapper = { at: opened, end: after };
  const lost = mark.read && unreadable(source, after);
  if (!lost) return true;
  if (worded || scan.start >= 0) await takePiece(scan, lost, from, after, match[0]);
  return false; // marks after this are part of the call

  function isSpoken(): boolean {
    return !isNext() && isTalk(text, from, piece!.end);
  }
  /** A call that follows another one directly counts, however it is indented. */
  function isNext(): boolean {
    return scan.start >= 0 && isNothing(text.slice(scan.end, index));
  }
}

const CLOSERS = /<\|?\/?[\w｜|▁ ]{1,40}\|?>/g;
const IDENTIFIER = /^[A-Za-z_][\w.:-]{0,99}$/;
const PLACEHOLDER = /example|^((function|tool)[_-]?)?name$|^tool$|^func(tion)?$/i;

async function takePiece(
  scan: Scan,
  piece: Piece,
  from: number,
  after: number,
  marker: string,
): Promise<boolean> {
  const { source, takenCalls } = scan;
  const calls = await checkCalls(source, piece.calls, scan.translate);
  const around = from + source.text.length - piece.end;
  const isAll =
    around < 200 &&
    !(source.text.slice(0, from) + source.text.slice(piece.end)).replace(CLOSERS, "").trim();
  const isNamed = ({ name }: CheckedCall) => IDENTIFIER.test(name) && !PLACEHOLDER.test(name);
  // The model is told of a call that does not fit, and of one to a tool that there is not. In a
  // text, that may be an example.
  const counts = (call: CheckedCall) => call.verdict !== "unknown" || (isAll && isNamed(call));
  scan.marks.lastIndex = Math.max(piece.end, after);
  if (scan.start < 0 && !calls.some(counts)) {
    if (!calls.every(isNamed)) return true;
    if (scan.bad < 0) scan.bad = from;
    takenCalls.push(...calls);
    return true;
  }
  if (scan.start < 0) scan.start = scan.bad < 0 ? from : scan.bad;
  if (marker === "Action:" || marker.startsWith(">>>")) scan.named = true;
  takenCalls.push(...calls);
  scan.end = Math.max(piece.end, after);
  scan.quoted.skip(scan.end);
  return takenCalls.length <= MAX_CALLS;
}

/** Whether a text may be between a wrapper and what it wraps. */
const isNothing = (text: string): boolean =>
  text.length < 500 &&
  /^\s*(?:function\s*<[｜|]tool[▁_ ]sep[｜|]>\s*|\]<\]minimax\[>\[)?$/.test(text);

const INVENTED =
  /<\|?tool_response|<tool_result|<function_results?>|\[TOOL_RESULTS\]|<[｜|]tool[▁_ ]outputs?[▁_ ]begin|\nObservation:/g;

/** A call whose name can be read, but not its arguments. */
function unreadable({ text, tools }: Source, after: number): Piece | undefined {
  const name = /^\s{0,20}[[{]{1,2}\s{0,20}["']name["']\s{0,5}:\s{0,5}["']([^"']{1,100})["']/.exec(
    text.slice(after, after + 300),
  )?.[1];
  if (!name || !toolFor(name, tools)) return undefined;
  return { calls: [{ name, args: {}, wrong: "they are not valid JSON" }], end: text.length };
}

/** The text without the opening tag of a wrapper around the answer or the calls. */
function tidy(text: string): string {
  return text
    .replace(/^\s{0,100}<(?:answer|response)>\s{0,100}/, "")
    .replace(/(?:<(?:answer|response|tool_calls)>|助手：)\s{0,100}$/, "")
    .trimEnd();
}

// ── Without marks: the whole text is calls ──

async function callsWithoutMarks(
  source: Source,
  options: SearchOptions,
): Promise<FoundCalls | undefined> {
  const { text, tools } = source;
  const named = openSource(
    text,
    tools.filter((tool) => !tool.foreign),
    options.ended,
  ); // without foreign names, which code may well call
  const start = skipSpace(text, 0);
  const fenced = insideOfFence(text.slice(start));
  if (fenced) {
    const inner = await findCalls(fenced.body, tools, options);
    if (inner && !inner.text) return inner;
    if (!fenced.isCode) return undefined;
    const code = openSource(fenced.body, named.tools, options.ended);
    return callsIfAllFit(code, readPythonic(code, 0, { list: false, many: true }));
  }
  const harmony = readBareHarmony(source);
  if (harmony)
    return callsIfAllFit(
      source,
      harmony,
      options,
      text.slice(0, harmony.start ?? 0),
      harmony.thinking,
    );
  const char = text[start];
  if (char === "{" || char === "[") {
    const objects = readObjects(
      source,
      start,
      false,
      /<\/(?:tool_call|function)>|<\|e(?:om|ot)_id\|>|<\|im_end\|>/y,
    );
    if (objects)
      return isAlone(source, objects.end, options)
        ? callsIfAllFit(source, objects, options)
        : undefined;
    const python = char === "[" ? readPythonic(named, start, { list: true }) : undefined;
    return python && isAlone(source, python.end, options)
      ? callsIfAllFit(named, python)
      : undefined;
  }
  const tag = matchAt(/<(?:tools?|response|json|JSON|xml)>\s{0,20}(?=[{[])/y, text, start);
  const tagged = tag ? readObjects(source, start + tag[0].length, true, BLOCK_END) : undefined;
  if (tagged)
    return isAlone(source, tagged.end, options)
      ? callsIfAllFit(source, tagged, options)
      : undefined;
  const objects = readUnmarked(named, start);
  if (objects)
    return isAlone(source, objects.end, options) ? callsIfAllFit(named, objects) : undefined;
  if (!readCall(named, start)) return undefined;
  const python = readPythonic(named, start, { list: false, many: true });
  return python && isAlone(source, python.end, options) ? callsIfAllFit(named, python) : undefined;
}

const MAX_BEGINNINGS = 8;
const BEGINNING = /^(?=\{\s{0,20}["']|\[\s{0,20}(?:\{|[A-Za-z_]\w{0,60}\()|functions\.\w)/gm;

/**
 * If zz asked for calls: words, then calls on their own lines without marks, which many servers
 * drop as tokens.
 */
async function callsOnLastLines(
  { text, tools }: Source,
  options: SearchOptions,
): Promise<FoundCalls | undefined> {
  const quoted = quotes(text);
  const lines = new RegExp(BEGINNING);
  for (
    let tried = 0, match = lines.exec(text);
    match && tried < MAX_BEGINNINGS;
    tried++, match = lines.exec(text)
  ) {
    const index = match.index;
    lines.lastIndex = index + 1;
    // then the text talks about it
    const isMarked = /<[|\w:]{1,40}>\s{0,5}$/.test(text.slice(Math.max(0, index - 50), index));
    if (!index || isMarked || quoted.how(index) || isTalk(text, index, text.length)) continue;
    const source = openSource(text.slice(index), tools, options.ended);
    const calls = await callsWithoutMarks(source, { ...options, last: true });
    if (calls && !calls.text) return { ...calls, text: tidy(text.slice(0, index)) };
  }
  return undefined;
}

/** The calls, if every one of them fits or was cut off. */
async function callsIfAllFit(
  source: Source,
  piece: Piece | undefined,
  { translate }: Partial<SearchOptions> = {},
  before = "",
  thinking = "",
): Promise<FoundCalls | undefined> {
  const takenCalls = await checkCalls(source, piece?.calls ?? [], translate);
  if (
    !takenCalls.length ||
    !takenCalls.every(({ verdict }) => verdict === "fits" || verdict === "cut")
  )
    return undefined;
  return { text: tidy(before), calls: asCalls(takenCalls), ...(thinking && { thinking }) };
}

/** Whether nothing follows the calls on their line, and the text does not just talk about them. */
function isAlone({ text }: Source, end: number, { last }: SearchOptions): boolean {
  const ending = text.slice(end, end + 400).replace(/<\|[a-z_]{1,30}\|>|<\/[a-z_]{1,30}>/g, "");
  const line = last ? ending : ending.split("\n")[0]!;
  return !line.trim() && !isTalk(text, 0, end);
}

/** The body of a text that is a single fence. */
function insideOfFence(text: string): { body: string; isCode: boolean } | undefined {
  const head = /^```([\w-]{0,20})[ \t]{0,10}\r?\n/.exec(text.slice(0, 50));
  if (!head) return undefined;
  const content = text.slice(head[0].length).trimEnd();
  const close = content.indexOf("\n```");
  // followed by text or another fence
  if (close >= 0 && close + 4 !== content.length) return undefined;
  const body = close < 0 ? content : content.slice(0, close);
  return { body, isCode: /^(tool_code|python|py)$/.test(head[1]!) };
}
