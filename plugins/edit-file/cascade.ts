// Applies edits to a text. Each old_string is searched for literally first, then less and less
// strictly. It replaces the characters of old_string or as many whole lines as that has, never what
// is between two matched lines.

import {
  BOM,
  countBelow,
  type Edit,
  type File,
  indexIn,
  open,
  rawSpan,
  rawText,
  type Span,
  toLf,
} from "./file-text.ts";
import {
  FOLDED,
  type How,
  linesOf,
  type Match,
  matchAsIs,
  matchByLines,
  matchByNumbers,
  SHIFTED,
  SPACED,
  TRAILING,
  unescaped,
  withoutBlankEdges,
} from "./find-matches.ts";
import { ambiguous, notFound } from "./report.ts";

export type { Edit } from "./file-text.ts";
export { HOW, type How } from "./find-matches.ts";

/**
 * Where an edit is in the new text, in lines from 1. When the end is before the start, the lines
 * were deleted.
 */
export interface Place {
  edit: number; // from 1
  start: number;
  end: number;
  how: How;
}
/** A replacement of characters of the text. */
type Change = Span & { text: string; how: How };
/** Where an edit's text is now, kept up to date while later edits shift it. */
type Spot = Span & { edit: number; how: How; gone: boolean; ended: boolean };
const MIN_CHARS_TO_RECOGNISE = 8; // non-blank; shorter texts match by chance
const MAX_OLD_STRING_CHARS = 1_000_000;

/**
 * Applies each edit to the result of the earlier ones. Throws a sentence for the model if one
 * cannot be applied.
 */
export function applyEdits(
  text: string,
  edits: readonly Edit[],
): { text: string; places: Place[] } {
  const bom = text.startsWith(BOM) ? BOM : "";
  const first = text.slice(bom.length);
  const spots: Spot[] = [];
  let body = first;
  for (const [i, rawEdit] of edits.entries()) {
    const { old_string, new_string } = rawEdit;
    const edit = bom
      ? { ...rawEdit, old_string: withoutBom(old_string), new_string: withoutBom(new_string) }
      : rawEdit;
    try {
      body = applyChanges(body, changesOf(body, edit, first), spots, i + 1);
    } catch (error) {
      if (edits.length === 1) throw error;
      const which = `edit ${i + 1} of ${edits.length} failed, so nothing was changed`;
      throw new Error(`${which}: ${(error as Error).message}`);
    }
  }
  return { text: bom + body, places: placesOf(body, spots) };
}

const withoutBom = (text: string): string => (text.startsWith(BOM) ? text.slice(1) : text);

function changesOf(body: string, edit: Edit, first: string): Change[] {
  const { old_string: old, new_string: fresh, replace_all: isAll } = edit;
  if (old === fresh)
    throw new Error("nothing to change, since old_string and new_string are the same.");
  if (old === "" && body === "") return [{ from: 0, to: 0, text: fresh, how: "exact" }];
  if (old.length > MAX_OLD_STRING_CHARS)
    throw new Error(
      `old_string has ${old.length} characters; at most ${MAX_OLD_STRING_CHARS} are looked for. Name less, or write_file.`,
    );
  if (old === "")
    throw new Error(
      "old_string is empty. Name the text to replace; write_file replaces a whole file, create_file makes a new one.",
    );
  const file = open(body);
  for (const matches of matchesByStrictness(file, edit)) {
    if (matches.length > 1 && !isAll) throw new Error(ambiguous(file, matches));
    const changes = matches.map((match) => toChange(file, match, edit));
    if (changes.length && changes.every((change) => change !== undefined)) return changes;
  }
  const there = findPresent(file, fresh);
  if (there) return [unchanged(file, there)];
  throw new Error(notFound(file, edit, toLf(first).includes(toLf(old))));
}

/** Yields all the matches that each way to search finds, the strictest way first. */
function* matchesByStrictness(file: File, edit: Edit): Generator<Match[]> {
  yield matchAsIs(file, edit);
  const lines = linesOf(edit);
  const forms = [lines, ...withoutBlankEdges(lines)];
  for (const form of forms) yield matchByLines(file, form, TRAILING, edit.replace_all);
  if (edit.replace_all) return;
  for (const form of forms)
    for (const step of [SHIFTED, SPACED]) yield matchByLines(file, form, step);
  const plain = unescaped(edit);
  if (plain) {
    const steps = [TRAILING, SHIFTED].map((step) => matchByLines(file, linesOf(plain), step));
    for (const matches of [matchAsIs(file, plain), ...steps])
      yield matches.map((match) => ({ ...match, how: "escapes" }));
  }
  for (const form of forms) yield matchByLines(file, form, FOLDED);
  yield matchByNumbers(file, lines);
}

/**
 * Turns a match into a change. If the new text is already there, as after the same edit, the change
 * keeps it.
 */
function toChange(
  file: File,
  match: Match,
  { old_string: old, new_string: fresh, replace_all: isAll }: Edit,
) {
  const text = match.text();
  if (text === undefined) return undefined;
  const literal = match.how === "exact" || match.how === "line ends";
  const least = literal
    ? Math.max(MIN_CHARS_TO_RECOGNISE, countNonBlank(old) + 1)
    : countNonBlank(old);
  const there =
    !isAll && countNonBlank(text) >= least
      ? (findPresent(file, text, match) ?? findPresent(file, fresh, match))
      : undefined;
  if (there) return unchanged(file, there);
  const method = text === rawText(file, match) ? "already" : match.how;
  return { ...rawSpan(file, match), text, how: method } satisfies Change;
}

const unchanged = (file: File, span: Span): Change => ({
  ...rawSpan(file, span),
  text: rawText(file, span),
  how: "already",
});

/**
 * Finds the place of a text that covers the span, or without a span its only place, if it is long
 * enough.
 */
function findPresent(file: File, wanted: string, over?: Span): Span | undefined {
  const text = toLf(wanted);
  if (!over && countNonBlank(text) < MIN_CHARS_TO_RECOGNISE) return undefined;
  // the last line may lack its newline
  const complete = file.text.endsWith("\n") ? file.text : `${file.text}\n`;
  const starts: number[] = [];
  const near = over ? complete.slice(0, over.from + text.length) : complete;
  let index = indexIn(near, text, over ? Math.max(0, over.to - text.length) : 0);
  for (; index >= 0; index = indexIn(near, text, index + 1)) {
    const [before, after] = [
      complete.slice(index - 1, index),
      complete.slice(index + text.length, index + text.length + 1),
    ];
    if (!splitsWord(before, text.slice(0, 1)) && !splitsWord(text.slice(-1), after))
      starts.push(index);
    if (starts.length > 1) return undefined;
  }
  return starts.length
    ? { from: starts[0]!, to: Math.min(starts[0]! + text.length, file.text.length) }
    : undefined;
}

const countNonBlank = (text: string): number => text.replace(/\s+/g, "").length;
const splitsWord = (before: string, right: string): boolean =>
  /^[\p{L}\p{N}_]{2}$/u.test(before + right);

function applyChanges(body: string, changes: Change[], spots: Spot[], edit: number): string {
  const parts: string[] = [];
  let position = 0;
  let growth = 0;
  const fresh = changes.map(({ from, to, text, how }): Spot => {
    parts.push(body.slice(position, from), text);
    const start = from + growth;
    const ended = to === body.length || body[to - 1] === "\n";
    const gone = text === "" && ended && (from === 0 || body[from - 1] === "\n");
    position = to;
    growth += text.length - (to - from);
    return { edit, how, from: start, to: start + text.length, gone, ended };
  });
  for (const change of changes.toReversed()) for (const spot of spots) shiftSpot(spot, change);
  spots.push(...fresh);
  return parts.join("") + body.slice(position);
}

/** Moves an earlier edit's place to where a later change puts it. */
function shiftSpot(spot: Spot, { from, to, text }: Change): void {
  const growth = text.length - (to - from);
  if (from >= spot.to) return;
  spot.from = to <= spot.from ? spot.from + growth : Math.min(spot.from, from);
  spot.to = Math.max(spot.to, to) + growth;
}

function placesOf(body: string, spots: Spot[]): Place[] {
  const ends: number[] = [];
  for (let index = body.indexOf("\n"); index >= 0; index = body.indexOf("\n", index + 1))
    ends.push(index);
  return spots.map(({ edit, from, to, how, gone, ended }) => {
    const start = countBelow(ends, from) + 1;
    const end = countBelow(ends, ended && to > from ? to - 1 : to) + 1;
    return { edit, start, end: gone && from === to ? start - 1 : end, how };
  });
}
