// Indentation: how old_string's differs from the file's, and how new lines get the file's.
import { type File, indentOf, isBlank, type Lines } from "./text.ts";

/** Gives a new line the file's indentation; `like` is the line of old_string it replaces. Undefined if uncertain. */
export type Reindent = (line: string, like?: number) => string | undefined;
type Indent = (indent: string) => string | undefined;
/** The indentation of each line that is not blank, in old_string and in the file. */
export type IndentPairs = [old: string, own: string][];

export const indentPairs = (file: File, old: string[], at: number): IndentPairs =>
  old.flatMap((line, i) => (isBlank(line) ? [] : [[indentOf(line), indentOf(file.lines[at + i]!)]]));

/** Indents new lines as the file does: like the line they replace, like equally indented lines, or all by one rule. */
export function indented(file: File, { old }: Lines, at: number): Reindent {
  const indents = indentPairs(file, old, at);
  const known = Map.groupBy(indents, ([indent]) => indent);
  const rule = shift(indents) ?? scale(indents);
  return (line, like) => {
    if (isBlank(line)) return line;
    const indent = indentOf(line);
    const owns = new Set(known.get(indent)?.map(([, own]) => own));
    const alike = like !== undefined && !isBlank(old[like]!) && indentOf(old[like]!) === indent;
    const own = owns.size === 1 ? [...owns][0] : alike ? indentOf(file.lines[at + like]!) : undefined;
    const fresh = own ?? (owns.size ? undefined : rule?.(indent));
    return fresh === undefined ? undefined : fresh + line.slice(indent.length);
  };
}

/** The rule that adds the same characters before every line, or removes them; undefined if that does not fit. */
export function shift(indents: IndentPairs): Indent | undefined {
  const [old, own] = indents[0]!;
  const more = own.endsWith(old) ? own.slice(0, own.length - old.length) : undefined;
  const less = old.endsWith(own) ? old.slice(0, old.length - own.length) : undefined;
  if (more !== undefined && indents.every(([old, own]) => own === more + old))
    return (indent) => (new Set(more + indent).size > 1 ? undefined : more + indent); // never mixes tabs and spaces
  if (less !== undefined && indents.every(([old, own]) => old === less + own))
    return (indent) => (indent.startsWith(less) ? indent.slice(less.length) : undefined);
  return undefined;
}

/** The rule that converts indentation at a fixed rate: tabs for spaces, four spaces for two. Undefined if none fits. */
export function scale(indents: IndentPairs): Indent | undefined {
  const [from, to] = [blankCharOf(indents.map(([old]) => old)), blankCharOf(indents.map(([, own]) => own))];
  if (!from || !to) return undefined;
  const points = indents.map(([old, own]) => [old.length, own.length] as const).sort(([a], [b]) => a - b);
  const [[x1, y1], [x2, y2]] = [points[0]!, points.at(-1)!];
  if (x1 === x2 && from === to) return undefined;
  const [rate, base] = x1 === x2 ? [y1 / x1, 0] : [(y2 - y1) / (x2 - x1), y1 - (x1 * (y2 - y1)) / (x2 - x1)];
  if (!RATES.includes(rate) || points.some(([x, y]) => base + rate * x !== y)) return undefined;
  return (indent) => {
    const count = base + rate * indent.length;
    const fits = [...indent].every((blank) => blank === from) && Number.isInteger(count) && count >= 0;
    return fits ? to.repeat(count) : undefined;
  };
}
const RATES = [2, 4, 8, 1 / 2, 1 / 4, 1 / 8];

/** The one character that all of the indentations consist of. */
function blankCharOf(indents: string[]): string | undefined {
  const all = new Set(indents.join(""));
  return all.size === 1 ? [...all][0] : undefined;
}

export const isOtherBlank = (indents: IndentPairs): boolean =>
  blankCharOf(indents.map(([old]) => old)) !== blankCharOf(indents.map(([, own]) => own));
