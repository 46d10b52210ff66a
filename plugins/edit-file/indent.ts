// Indentation: how old_string's differs from the file's, and how new lines get the file's.
import { type File, indentOf, isBlank, type Lines } from "./file-text.ts";

/**
 * Gives a new line the file's indentation; `like` is the line of old_string it replaces. Undefined
 * if uncertain.
 */
export type Reindent = (line: string, model?: number) => string | undefined;
type Indent = (indent: string) => string | undefined;
/** The indentation of each line that is not blank, in old_string and in the file. */
export type IndentPairs = [old: string, own: string][];

export const indentPairs = (file: File, old: string[], start: number): IndentPairs =>
  old.flatMap((line, i) =>
    isBlank(line) ? [] : [[indentOf(line), indentOf(file.lines[start + i]!)]],
  );

/**
 * Indents new lines as the file does: like the line they replace, like equally indented lines, or
 * all by one rule.
 */
export function indented(file: File, { old }: Lines, start: number): Reindent {
  const indents = indentPairs(file, old, start);
  const byIndent = Map.groupBy(indents, ([indent]) => indent);
  const rule = shift(indents) ?? scale(indents);
  return (line, model) => {
    if (isBlank(line)) return line;
    const indent = indentOf(line);
    const owns = new Set(byIndent.get(indent)?.map(([, fileIndent]) => fileIndent));
    const alike = model !== undefined && !isBlank(old[model]!) && indentOf(old[model]!) === indent;
    const modelIndent = alike ? indentOf(file.lines[start + model]!) : undefined;
    const indentInFile = owns.size === 1 ? [...owns][0] : modelIndent;
    const fresh = indentInFile ?? (owns.size ? undefined : rule?.(indent));
    return fresh === undefined ? undefined : fresh + line.slice(indent.length);
  };
}

/**
 * The rule that adds the same characters before every line, or removes them; undefined if that does
 * not fit.
 */
export function shift(indents: IndentPairs): Indent | undefined {
  const [old, fileIndent] = indents[0]!;
  const added = fileIndent.endsWith(old)
    ? fileIndent.slice(0, fileIndent.length - old.length)
    : undefined;
  const less = old.endsWith(fileIndent) ? old.slice(0, old.length - fileIndent.length) : undefined;
  if (added !== undefined && indents.every(([old, ownIndent]) => ownIndent === added + old))
    // never mixes tabs and spaces
    return (indent) => (new Set(added + indent).size > 1 ? undefined : added + indent);
  if (less !== undefined && indents.every(([old, ownIndent]) => old === less + ownIndent))
    return (indent) => (indent.startsWith(less) ? indent.slice(less.length) : undefined);
  return undefined;
}

/**
 * The rule that converts indentation at a fixed rate: tabs for spaces, four spaces for two.
 * Undefined if none fits.
 */
export function scale(indents: IndentPairs): Indent | undefined {
  const [from, to] = [
    blankCharOf(indents.map(([old]) => old)),
    blankCharOf(indents.map(([, fileIndent]) => fileIndent)),
  ];
  if (!from || !to) return undefined;
  const points = indents
    .map(([old, fileIndent]) => [old.length, fileIndent.length] as const)
    .sort(([a], [b]) => a - b);
  const [[x1, y1], [x2, y2]] = [points[0]!, points.at(-1)!];
  if (x1 === x2 && from === to) return undefined;
  const [rate, base] =
    x1 === x2 ? [y1 / x1, 0] : [(y2 - y1) / (x2 - x1), y1 - (x1 * (y2 - y1)) / (x2 - x1)];
  if (!RATES.includes(rate) || points.some(([x, y]) => base + rate * x !== y)) return undefined;
  return (indent) => {
    const count = base + rate * indent.length;
    const fits =
      [...indent].every((blank) => blank === from) && Number.isInteger(count) && count >= 0;
    return fits ? to.repeat(count) : undefined;
  };
}
const RATES = [2, 4, 8, 1 / 2, 1 / 4, 1 / 8];

/** The one character that all of the indentations consist of. */
function blankCharOf(indents: string[]): string | undefined {
  const chars = new Set(indents.join(""));
  return chars.size === 1 ? [...chars][0] : undefined;
}

export const isOtherBlank = (indents: IndentPairs): boolean =>
  blankCharOf(indents.map(([old]) => old)) !==
  blankCharOf(indents.map(([, fileIndent]) => fileIndent));
