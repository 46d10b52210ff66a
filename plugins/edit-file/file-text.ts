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
  let start = 0;
  const starts = lines.map((line) => (start += line.length + 1) - line.length - 1);
  const returns: number[] = [];
  for (let index = raw.indexOf("\r\n"); index >= 0; index = raw.indexOf("\r\n", index + 2))
    returns.push(index - returns.length);
  const end = returns.length * 2 > lines.length - 1 ? "\r\n" : "\n";
  if (lines.length > 1 && lines.at(-1) === "") lines.pop();
  return { raw, text, lines, starts, returns, end };
}

export const toLf = (text: string): string => text.replaceAll("\r\n", "\n");
const toRaw = ({ returns }: File, offset: number): number => offset + countBelow(returns, offset);
export const rawSpan = (file: File, { from, to }: Span): Span => ({
  from: toRaw(file, from),
  to: toRaw(file, to),
});
export const rawText = (file: File, span: Span): string =>
  file.raw.slice(toRaw(file, span.from), toRaw(file, span.to));

/** How many of these sorted numbers are less than n. */
export function countBelow(sorted: number[], n: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < n) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Like indexOf(), which takes quadratic time on repetitive texts: long ones are searched by Knuth,
 * Morris and Pratt.
 */
export function indexIn(text: string, wanted: string, from = 0): number {
  if ((text.length - from) * wanted.length < MAX_INDEX_OF_STEPS) return text.indexOf(wanted, from);
  // for each prefix, the longest shorter prefix that it ends with
  const fails = new Int32Array(wanted.length + 1);
  for (let i = 1, index = 0; i < wanted.length; i++) {
    while (index > 0 && wanted[i] !== wanted[index]) index = fails[index]!;
    if (wanted[i] === wanted[index]) index++;
    fails[i + 1] = index;
  }
  for (let i = from, matched = 0; i < text.length; i++) {
    while (matched > 0 && text[i] !== wanted[matched]) matched = fails[matched]!;
    if (text[i] === wanted[matched]) matched++;
    if (matched === wanted.length) return i - matched + 1;
  }
  return -1;
}
const MAX_INDEX_OF_STEPS = 100_000_000; // comparisons of characters

export const isBlank = (line: string): boolean => trimEnd(line) === "";
export const indentOf = (line: string): string => /^[ \t]*/.exec(line)![0];

/**
 * Removes blanks at the end. A regular expression would take quadratic time on a long run of blanks
 * inside a line.
 */
export function trimEnd(line: string): string {
  let end = line.length;
  while (end > 0 && " \t\r".includes(line[end - 1]!)) end--;
  return line.slice(0, end);
}

export const split = (text: string): string[] => toLf(text).split("\n");
