// Finds the calls in a text: first those after marks, anywhere in it; otherwise a whole text that
// is nothing but calls.
import type { Call } from "zz";
import { anyOf } from "zz/text";
import { readObjects } from "./call-shapes.ts";
import {
  asCalls,
  type CheckedCall,
  checkCalls,
  MAX_CALLS_PER_REPLY,
  type Translate,
} from "./check-calls.ts";
import { toolFor } from "./coerce.ts";
import { skipSpace } from "./json.ts";
import { type Mark, marksIn } from "./marks.ts";
import { isTalk, talkIn } from "./mentioned-calls.ts";
import { readPythonic } from "./pythonic.ts";
import { matchAt, openSource, quotes } from "./search-text.ts";
import { readBareHarmony, readUnmarked } from "./special-tokens.ts";
import { BLOCK_END } from "./tagged-calls.ts";
import { THINKING_MARKS } from "./thinking.ts";
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
  replyText: string,
  tools: readonly Tool[],
  options: SearchOptions,
): Promise<FoundCalls | undefined> {
  const source = openSource(replyText, tools, options.ended);
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
  const scan: Scan = {
    source,
    worded,
    translate,
    marks,
    kinds,
    quoted: quotes(text),
    takenCalls: [],
    start: -1,
    end: 0,
    bad: -1,
    wrapper: { at: -1, end: -1 },
    muted: -1,
    aside: { from: Infinity, calls: [] },
    named: false,
  };
  for (
    let markMatch = marks.exec(text);
    markMatch && source.work.left > 0;
    markMatch = marks.exec(text)
  ) {
    if (scan.start >= 0 && (source.next(INVENTED, scan.end)?.at ?? text.length) < markMatch.index)
      break;
    if (!(await readMark(scan, markMatch))) break;
  }
  if (scan.start < 0) return undefined;
  const { aside } = scan;
  const textBefore = text.slice(0, Math.min(aside.from, scan.start));
  const orderedCalls =
    aside.from < scan.start
      ? [...aside.calls, ...scan.takenCalls]
      : [...scan.takenCalls, ...aside.calls];
  const introduction = scan.named
    ? textBefore.replace(/^\s{0,100}(?:Thought:|(?:>>>)?all\n)\s{0,20}/, "")
    : textBefore;
  return {
    text: tidyText(introduction),
    calls: asCalls(orderedCalls, endsInCall(scan), aside.calls.length ? MIXED_REASON : ""),
  };
}
const MIXED_REASON =
  "This reply has calls in the middle of its sentences, so none of its calls ran. " +
  "Send those that you mean again, after the text and not within it.";

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
  pieceStart: number,
): Promise<void> {
  const fittingCalls = (await checkCalls(source, piece.calls, translate)).filter(
    ({ verdict }) => verdict === "fits",
  );
  if (fittingCalls.length) aside.from = Math.min(aside.from, pieceStart);
  aside.calls.push(...fittingCalls);
}

/** Reads what follows one mark. False ends the search. */
async function readMark(scan: Scan, markMatch: RegExpExecArray): Promise<boolean> {
  const { source, marks, worded } = scan;
  const { text } = source;
  const markStart = markMatch.index;
  const markEnd = markStart + markMatch[0].length;
  const thinkingEnd = THINKING_MARKS.get(markMatch[0]);
  if (thinkingEnd) {
    // calls inside of thinking do not count
    marks.lastIndex = source.next(thinkingEnd, markEnd)?.end ?? markEnd;
    return true;
  }
  const quoting = scan.quoted.how(markStart);
  if (quoting === "code") return true;
  const mark = scan.kinds[markMatch.slice(1).findIndex((group) => group !== undefined)]!;
  if (mark.worded && !worded) return true;
  const { wrapper, muted } = scan;
  const outerStart =
    wrapper.at >= 0 && isNothing(text.slice(wrapper.end, markStart)) ? wrapper.at : markStart;
  const piece = mark.read?.(source, markStart, markEnd, markMatch[0]);
  const pieceStart = Math.min(piece?.start ?? outerStart, outerStart);
  scan.muted = -1;
  // A call that follows another one directly counts, however it is indented.
  const isNextCall = scan.start >= 0 && isNothing(text.slice(scan.end, markStart));
  if (
    (quoting === "quoted" && !isNextCall) ||
    (muted >= 0 && isNothing(text.slice(muted, markStart))) ||
    (piece && !isNextCall && isTalk(text, pieceStart, piece.end))
  ) {
    const isWhole = piece && !piece.calls.at(-1)?.cut;
    const isMixed =
      piece && quoting !== "quoted" && talkIn(text, pieceStart, piece.end) === "sentence";
    if (isWhole) marks.lastIndex = Math.max(piece.end, markEnd);
    // what follows directly is talk, too
    if (!isMixed || !isWhole) scan.muted = isWhole ? marks.lastIndex : markEnd;
    if (isMixed) await setAside(scan, piece, pieceStart);
    return true;
  }
  if (piece) return takePiece(scan, piece, pieceStart, markEnd, markMatch[0]);
  scan.wrapper = { at: outerStart, end: markEnd };
  const lostCall = mark.read && unreadable(source, markEnd);
  if (!lostCall) return true;
  if (worded || scan.start >= 0) await takePiece(scan, lostCall, pieceStart, markEnd, markMatch[0]);
  return false; // marks after this are part of the call
}

const CLOSERS = /<\|?\/?[\w｜|▁ ]{1,40}\|?>/g;
const IDENTIFIER = /^[A-Za-z_][\w.:-]{0,99}$/;
const PLACEHOLDER = /example|^((function|tool)[_-]?)?name$|^tool$|^func(tion)?$/i;

async function takePiece(
  scan: Scan,
  piece: Piece,
  pieceStart: number,
  markEnd: number,
  marker: string,
): Promise<boolean> {
  const { source, takenCalls } = scan;
  const checkedCalls = await checkCalls(source, piece.calls, scan.translate);
  const charsAround = pieceStart + source.text.length - piece.end;
  const isWholeText =
    charsAround < 200 &&
    !(source.text.slice(0, pieceStart) + source.text.slice(piece.end)).replace(CLOSERS, "").trim();
  const isNamed = ({ name }: CheckedCall) => IDENTIFIER.test(name) && !PLACEHOLDER.test(name);
  // The model is told of a call that does not fit, and of one to a tool that there is not. In a
  // text, that may be an example.
  const isCounted = (call: CheckedCall) =>
    call.verdict !== "unknown" || (isWholeText && isNamed(call));
  scan.marks.lastIndex = Math.max(piece.end, markEnd);
  if (scan.start < 0 && !checkedCalls.some(isCounted)) {
    if (!checkedCalls.every(isNamed)) return true;
    if (scan.bad < 0) scan.bad = pieceStart;
    takenCalls.push(...checkedCalls);
    return true;
  }
  if (scan.start < 0) scan.start = scan.bad < 0 ? pieceStart : scan.bad;
  if (marker === "Action:" || marker.startsWith(">>>")) scan.named = true;
  takenCalls.push(...checkedCalls);
  scan.end = Math.max(piece.end, markEnd);
  scan.quoted.skip(scan.end);
  return takenCalls.length <= MAX_CALLS_PER_REPLY;
}

/** Whether a text may be between a wrapper and what it wraps. */
const isNothing = (betweenText: string): boolean =>
  betweenText.length < 500 &&
  /^\s*(?:function\s*<[｜|]tool[▁_ ]sep[｜|]>\s*|\]<\]minimax\[>\[)?$/.test(betweenText);

const INVENTED = anyOf(
  /<\|?tool_response|<tool_result|<function_results?>|\[TOOL_RESULTS\]/g,
  /<[｜|]tool[▁_ ]outputs?[▁_ ]begin|\nObservation:/g,
);

/** A call whose name can be read, but not its arguments. */
function unreadable({ text, tools }: Source, markEnd: number): Piece | undefined {
  const name = /^\s{0,20}[[{]{1,2}\s{0,20}["']name["']\s{0,5}:\s{0,5}["']([^"']{1,100})["']/.exec(
    text.slice(markEnd, markEnd + 300),
  )?.[1];
  if (!name || !toolFor(name, tools)) return undefined;
  return { calls: [{ name, args: {}, wrong: "they are not valid JSON" }], end: text.length };
}

/** The text without the opening tag of a wrapper around the answer or the calls. */
function tidyText(proseText: string): string {
  return proseText
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
  const { translate, ended } = options;
  // without foreign names, which code may well call
  const ownTools = tools.filter((tool) => !tool.foreign);
  const named = openSource(text, ownTools, ended);
  const ifAlone = (piece: Piece | undefined, pieceSource: Source, pieceTranslate?: Translate) =>
    piece && isAlone(source, piece.end, options)
      ? callsIfAllFit(pieceSource, piece, pieceTranslate)
      : undefined;
  const start = skipSpace(text, 0);
  const fenced = insideOfFence(text.slice(start));
  if (fenced) {
    const inner = await findCalls(fenced.body, tools, options);
    if (inner && !inner.text) return inner;
    if (!fenced.isCode) return undefined;
    const codeSource = openSource(fenced.body, ownTools, ended);
    return callsIfAllFit(codeSource, readPythonic(codeSource, 0, { list: false, many: true }));
  }
  const harmony = readBareHarmony(source);
  if (harmony) {
    const found = await callsIfAllFit(source, harmony, translate);
    const { thinking } = harmony;
    return found && { ...found, text: tidyText(text.slice(0, harmony.start)), thinking };
  }
  const isList = text[start] === "[";
  if (isList || text[start] === "{") {
    const objects = readObjects(source, start, false, OBJECTS_END);
    if (objects) return ifAlone(objects, source, translate);
    return isList ? ifAlone(readPythonic(named, start, { list: true }), named) : undefined;
  }
  const tagMatch = matchAt(/<(?:tools?|response|json|JSON|xml)>\s{0,20}(?=[{[])/y, text, start);
  const tagged = tagMatch && readObjects(source, start + tagMatch[0].length, true, BLOCK_END);
  if (tagged) return ifAlone(tagged, source, translate);
  const calls =
    readUnmarked(named, start) ?? readPythonic(named, start, { list: false, many: true });
  return ifAlone(calls, named);
}
const OBJECTS_END = /<\/(?:tool_call|function)>|<\|e(?:om|ot)_id\|>|<\|im_end\|>/y;

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
  const quoteScan = quotes(text);
  for (const { index: lineStart } of [...text.matchAll(BEGINNING)].slice(0, MAX_BEGINNINGS)) {
    // then the text talks about it
    const isMarked = /<[|\w:]{1,40}>\s{0,5}$/.test(
      text.slice(Math.max(0, lineStart - 50), lineStart),
    );
    if (!lineStart || isMarked || quoteScan.how(lineStart) || isTalk(text, lineStart, text.length))
      continue;
    const tailSource = openSource(text.slice(lineStart), tools, options.ended);
    const tailCalls = await callsWithoutMarks(tailSource, { ...options, last: true });
    if (tailCalls && !tailCalls.text)
      return { ...tailCalls, text: tidyText(text.slice(0, lineStart)) };
  }
  return undefined;
}

/** The calls, if every one of them fits or was cut off. */
async function callsIfAllFit(
  source: Source,
  piece: Piece | undefined,
  translate?: Translate,
): Promise<FoundCalls | undefined> {
  const takenCalls = await checkCalls(source, piece?.calls ?? [], translate);
  const isMeant = takenCalls.every(({ verdict }) => verdict === "fits" || verdict === "cut");
  return takenCalls.length && isMeant ? { text: "", calls: asCalls(takenCalls) } : undefined;
}

/** Whether nothing follows the calls on their line, and the text does not just talk about them. */
function isAlone({ text }: Source, callsEnd: number, { last }: SearchOptions): boolean {
  const ending = text
    .slice(callsEnd, callsEnd + 400)
    .replace(/<\|[a-z_]{1,30}\|>|<\/[a-z_]{1,30}>/g, "");
  const followingText = last ? ending : ending.split("\n")[0]!;
  return !followingText.trim() && !isTalk(text, 0, callsEnd);
}

/** The body of a text that is a single fence. */
function insideOfFence(wholeText: string): { body: string; isCode: boolean } | undefined {
  const fenceHead = /^```([\w-]{0,20})[ \t]{0,10}\r?\n/.exec(wholeText.slice(0, 50));
  if (!fenceHead) return undefined;
  const content = wholeText.slice(fenceHead[0].length).trimEnd();
  const closeIndex = content.indexOf("\n```");
  // followed by text or another fence
  if (closeIndex >= 0 && closeIndex + 4 !== content.length) return undefined;
  const body = closeIndex < 0 ? content : content.slice(0, closeIndex);
  return { body, isCode: /^(tool_code|python|py)$/.test(fenceHead[1]!) };
}
