// Applies edits to a text. Each old_string is searched for literally first, then less and less
// strictly. It replaces the characters of old_string or as many whole lines as that has, never what
// is between two matched lines.

import {
  BOM,
  countBelow,
  type Edit,
  type File,
  indexIn,
  occurrences,
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
  fileText: string,
  edits: readonly Edit[],
): { text: string; places: Place[] } {
  const bom = fileText.startsWith(BOM) ? BOM : "";
  const originalBody = fileText.slice(bom.length);
  const spots: Spot[] = [];
  let bodyText = originalBody;
  for (const [i, rawEdit] of edits.entries()) {
    const { old_string, new_string } = rawEdit;
    const cleanEdit = bom
      ? { ...rawEdit, old_string: withoutBom(old_string), new_string: withoutBom(new_string) }
      : rawEdit;
    try {
      bodyText = applyChanges(bodyText, changesOf(bodyText, cleanEdit, originalBody), spots, i + 1);
    } catch (error) {
      if (edits.length === 1) throw error;
      const failedEdit = `edit ${i + 1} of ${edits.length} failed, so nothing was changed`;
      throw new Error(`${failedEdit}: ${(error as Error).message}`);
    }
  }
  return { text: bom + bodyText, places: placesOf(bodyText, spots) };
}

const withoutBom = (editText: string): string =>
  editText.startsWith(BOM) ? editText.slice(1) : editText;

function changesOf(bodyText: string, edit: Edit, originalBody: string): Change[] {
  const { old_string: oldText, new_string: newText, replace_all: isEverywhere } = edit;
  if (oldText === newText)
    throw new Error("nothing to change, since old_string and new_string are the same.");
  if (oldText === "" && bodyText === "") return [{ from: 0, to: 0, text: newText, how: "exact" }];
  if (oldText.length > MAX_OLD_STRING_CHARS)
    throw new Error(
      `old_string has ${oldText.length} characters; ` +
        `at most ${MAX_OLD_STRING_CHARS} are looked for. Name less, or write_file.`,
    );
  if (oldText === "")
    throw new Error(
      "old_string is empty. Name the text to replace; " +
        "write_file replaces a whole file, create_file makes a new one.",
    );
  const openedFile = open(bodyText);
  for (const matches of matchesByStrictness(openedFile, edit)) {
    if (matches.length > 1 && !isEverywhere) throw new Error(ambiguous(openedFile, matches));
    const changes = matches.map((foundMatch) => toChange(openedFile, foundMatch, edit));
    if (changes.length && changes.every((madeChange) => madeChange !== undefined)) return changes;
  }
  const presentSpan = findPresent(openedFile, newText);
  if (presentSpan) return [unchanged(openedFile, presentSpan)];
  throw new Error(notFound(openedFile, edit, toLf(originalBody).includes(toLf(oldText))));
}

/** Yields all the matches that each way to search finds, the strictest way first. */
function* matchesByStrictness(openedFile: File, edit: Edit): Generator<Match[]> {
  yield matchAsIs(openedFile, edit);
  const editLines = linesOf(edit);
  const lineForms = [editLines, ...withoutBlankEdges(editLines)];
  for (const lineForm of lineForms)
    yield matchByLines(openedFile, lineForm, TRAILING, edit.replace_all);
  if (edit.replace_all) return;
  for (const lineForm of lineForms)
    for (const looseStep of [SHIFTED, SPACED]) yield matchByLines(openedFile, lineForm, looseStep);
  const unescapedEdit = unescaped(edit);
  if (unescapedEdit) {
    const steps = [TRAILING, SHIFTED].map((looseStep) =>
      matchByLines(openedFile, linesOf(unescapedEdit), looseStep),
    );
    for (const matches of [matchAsIs(openedFile, unescapedEdit), ...steps])
      yield matches.map((looseMatch) => ({ ...looseMatch, how: "escapes" }));
  }
  for (const lineForm of lineForms) yield matchByLines(openedFile, lineForm, FOLDED);
  yield matchByNumbers(openedFile, editLines);
}

/**
 * Turns a match into a change. If the new text is already there, as after the same edit, the change
 * keeps it.
 */
function toChange(
  openedFile: File,
  foundMatch: Match,
  { old_string: oldText, new_string: newText, replace_all: isEverywhere }: Edit,
) {
  const text = foundMatch.text();
  if (text === undefined) return undefined;
  const literal = foundMatch.how === "exact" || foundMatch.how === "line ends";
  const minChars = literal
    ? Math.max(MIN_CHARS_TO_RECOGNISE, countNonBlank(oldText) + 1)
    : countNonBlank(oldText);
  const presentSpan =
    !isEverywhere && countNonBlank(text) >= minChars
      ? (findPresent(openedFile, text, foundMatch) ?? findPresent(openedFile, newText, foundMatch))
      : undefined;
  if (presentSpan) return unchanged(openedFile, presentSpan);
  const matchMethod = text === rawText(openedFile, foundMatch) ? "already" : foundMatch.how;
  return { ...rawSpan(openedFile, foundMatch), text, how: matchMethod } satisfies Change;
}

const unchanged = (openedFile: File, presentSpan: Span): Change => ({
  ...rawSpan(openedFile, presentSpan),
  text: rawText(openedFile, presentSpan),
  how: "already",
});

/**
 * Finds the place of a text that covers the span, or without a span its only place, if it is long
 * enough.
 */
function findPresent(openedFile: File, wantedText: string, coveredSpan?: Span): Span | undefined {
  const searchedText = toLf(wantedText);
  if (!coveredSpan && countNonBlank(searchedText) < MIN_CHARS_TO_RECOGNISE) return undefined;
  // the last line may lack its newline
  const complete = openedFile.text.endsWith("\n") ? openedFile.text : `${openedFile.text}\n`;
  const matchStarts: number[] = [];
  const searchArea = coveredSpan
    ? complete.slice(0, coveredSpan.from + searchedText.length)
    : complete;
  let matchStart = indexIn(
    searchArea,
    searchedText,
    coveredSpan ? Math.max(0, coveredSpan.to - searchedText.length) : 0,
  );
  for (; matchStart >= 0; matchStart = indexIn(searchArea, searchedText, matchStart + 1)) {
    const [charBefore, charAfter] = [
      complete.slice(matchStart - 1, matchStart),
      complete.slice(matchStart + searchedText.length, matchStart + searchedText.length + 1),
    ];
    if (
      !splitsWord(charBefore, searchedText.slice(0, 1)) &&
      !splitsWord(searchedText.slice(-1), charAfter)
    )
      matchStarts.push(matchStart);
    if (matchStarts.length > 1) return undefined;
  }
  const [from] = matchStarts;
  if (from === undefined) return undefined;
  return { from, to: Math.min(from + searchedText.length, openedFile.text.length) };
}

const countNonBlank = (countedText: string): number => countedText.replace(/\s+/g, "").length;
const splitsWord = (leftChar: string, rightChar: string): boolean =>
  /^[\p{L}\p{N}_]{2}$/u.test(leftChar + rightChar);

function applyChanges(bodyText: string, changes: Change[], spots: Spot[], edit: number): string {
  const bodyParts: string[] = [];
  let position = 0;
  let growthSoFar = 0;
  const newSpots = changes.map(({ from, to, text, how }): Spot => {
    bodyParts.push(bodyText.slice(position, from), text);
    const newStart = from + growthSoFar;
    const ended = to === bodyText.length || bodyText[to - 1] === "\n";
    const gone = text === "" && ended && (from === 0 || bodyText[from - 1] === "\n");
    position = to;
    growthSoFar += text.length - (to - from);
    return { edit, how, from: newStart, to: newStart + text.length, gone, ended };
  });
  for (const laterChange of changes.toReversed())
    for (const earlierSpot of spots) shiftSpot(earlierSpot, laterChange);
  spots.push(...newSpots);
  return bodyParts.join("") + bodyText.slice(position);
}

/** Moves an earlier edit's place to where a later change puts it. */
function shiftSpot(earlierSpot: Spot, { from, to, text }: Change): void {
  const textGrowth = text.length - (to - from);
  if (from >= earlierSpot.to) return;
  earlierSpot.from =
    to <= earlierSpot.from ? earlierSpot.from + textGrowth : Math.min(earlierSpot.from, from);
  earlierSpot.to = Math.max(earlierSpot.to, to) + textGrowth;
}

function placesOf(bodyText: string, spots: Spot[]): Place[] {
  const newlineOffsets = occurrences(bodyText, "\n", true);
  return spots.map(({ edit, from, to, how, gone, ended }) => {
    const start = countBelow(newlineOffsets, from) + 1;
    const lastLine = countBelow(newlineOffsets, ended && to > from ? to - 1 : to) + 1;
    return { edit, start, end: gone && from === to ? start - 1 : lastLine, how };
  });
}
