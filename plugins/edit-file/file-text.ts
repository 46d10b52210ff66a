// The text of a file as it is searched: with \n as its only line end, since models write no others,
// and with the way back to the text on the disk.

export interface Edit {
  old_string: string;
  new_string: string;
  replace_all?: boolean;
}

/** A range of the text, in offsets. */
export type Span = { from: number; to: number };
export type Lines = { old: string[]; fresh: string[] };

export const BOM = "\uFEFF";

export interface File {
  raw: string;
  text: string;
  lines: string[];
  starts: number[]; // of the lines, in text
  returns: number[]; // offsets in text at which the raw text has \r\n
  end: string; // the more frequent line end
}

export function open(raw: string): File {
  const text = toLf(raw);
  const lines = text.split("\n");
  let nextStart = 0;
  const starts = lines.map((textLine) => (nextStart += textLine.length + 1) - textLine.length - 1);
  const returns = occurrences(raw, "\r\n", true).map((returnOffset, i) => returnOffset - i);
  const end = returns.length * 2 > lines.length - 1 ? "\r\n" : "\n";
  if (lines.length > 1 && lines.at(-1) === "") lines.pop();
  return { raw, text, lines, starts, returns, end };
}

export const toLf = (anyText: string): string => anyText.replaceAll("\r\n", "\n");
const toRawOffset = ({ returns }: File, textOffset: number): number =>
  textOffset + countBelow(returns, textOffset);
export const rawSpan = (openedFile: File, { from, to }: Span): Span => ({
  from: toRawOffset(openedFile, from),
  to: toRawOffset(openedFile, to),
});
export const rawText = (openedFile: File, textSpan: Span): string =>
  openedFile.raw.slice(
    toRawOffset(openedFile, textSpan.from),
    toRawOffset(openedFile, textSpan.to),
  );

/** How many of these sorted numbers are less than n. */
export function countBelow(sortedNumbers: number[], upperBound: number): number {
  let [lowIndex, highIndex] = [0, sortedNumbers.length];
  while (lowIndex < highIndex) {
    const middleIndex = (lowIndex + highIndex) >> 1;
    if (sortedNumbers[middleIndex]! < upperBound) lowIndex = middleIndex + 1;
    else highIndex = middleIndex;
  }
  return lowIndex;
}

/**
 * Like indexOf(), which takes quadratic time on repetitive texts: long ones are searched by Knuth,
 * Morris and Pratt.
 */
export function indexIn(searchedText: string, wantedText: string, searchStart = 0): number {
  if ((searchedText.length - searchStart) * wantedText.length < MAX_INDEX_OF_STEPS)
    return searchedText.indexOf(wantedText, searchStart);
  // for each prefix, the longest shorter prefix that it ends with
  const prefixFallbacks = new Int32Array(wantedText.length + 1);
  for (let i = 1, prefixLength = 0; i < wantedText.length; i++) {
    while (prefixLength > 0 && wantedText[i] !== wantedText[prefixLength])
      prefixLength = prefixFallbacks[prefixLength]!;
    if (wantedText[i] === wantedText[prefixLength]) prefixLength++;
    prefixFallbacks[i + 1] = prefixLength;
  }
  for (let i = searchStart, matched = 0; i < searchedText.length; i++) {
    while (matched > 0 && searchedText[i] !== wantedText[matched])
      matched = prefixFallbacks[matched]!;
    if (searchedText[i] === wantedText[matched]) matched++;
    if (matched === wantedText.length) return i - matched + 1;
  }
  return -1;
}
const MAX_INDEX_OF_STEPS = 100_000_000; // comparisons of characters

export const MAX_PLACES = 100; // further matches are not counted
/**
 * The offsets of a text. Overlapping ones count separately, unless all are wanted (`areApart`).
 */
export function occurrences(searchedText: string, wantedText: string, areApart = false): number[] {
  const matchStarts: number[] = [];
  const searchStep = areApart ? wantedText.length : 1;
  for (
    let matchStart = indexIn(searchedText, wantedText);
    matchStart >= 0;
    matchStart = indexIn(searchedText, wantedText, matchStart + searchStep)
  )
    if (matchStarts.push(matchStart) === MAX_PLACES && !areApart) break;
  return matchStarts;
}

export const isBlank = (textLine: string): boolean => trimEnd(textLine) === "";
export const indentOf = (textLine: string): string => /^[ \t]*/.exec(textLine)![0];

/**
 * Removes blanks at the end. A regular expression would take quadratic time on a long run of blanks
 * inside a line.
 */
export function trimEnd(textLine: string): string {
  let endOffset = textLine.length;
  while (endOffset > 0 && " \t\r".includes(textLine[endOffset - 1]!)) endOffset--;
  return textLine.slice(0, endOffset);
}

export const split = (splitText: string): string[] => toLf(splitText).split("\n");
