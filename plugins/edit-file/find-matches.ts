// The ways in which an old_string is searched for in a file.

import {
  type Edit,
  type File,
  indentOf,
  indexIn,
  isBlank,
  type Lines,
  rawText,
  type Span,
  split,
  toLf,
  trimEnd,
} from "./file-text.ts";
import {
  type IndentPairs,
  indented,
  indentPairs,
  isOtherBlank,
  type Reindent,
  scale,
  shift,
} from "./indent.ts";
import { mergeLines, piecesOf, withLineEndsOf } from "./replace.ts";

/** How an old_string was matched, and how messages say it. */
export const HOW = {
  exact: "as it stands",
  "line ends": "with other line ends",
  "trailing space": "without regard to space at the ends of lines",
  indentation: "with another indentation",
  whitespace: "with other spaces and tabs",
  escapes: "with its escapes taken for what they stand for",
  punctuation: "with other quotes, dashes or spaces",
  "line numbers": "without its line numbers",
  already: "already",
} as const;
export type How = keyof typeof HOW;
/**
 * A range that matches. `text` works out what replaces it, or gives undefined if that is uncertain.
 */
export type Match = Span & { how: How; text: () => string | undefined };
export const MAX_PLACES = 100; // further matches are not counted
const MAX_LINES_COMPARED = 50_000_000; // for one edit; takes seconds

/**
 * Matches of the same characters, whatever the line ends are. Matches of the same bytes take
 * precedence.
 */
export function matchAsIs(
  file: File,
  { old_string: old, new_string: fresh, replace_all: isAll }: Edit,
): Match[] {
  const wanted = toLf(old);
  const matches = occurrences(file.text, wanted, isAll).map((from): Match => {
    const span = { from, to: from + wanted.length };
    const raw = rawText(file, span);
    return {
      ...span,
      how: raw === old ? "exact" : "line ends",
      text: () => withLineEndsOf(raw, old, fresh, file.end),
    };
  });
  const exact = matches.filter((match) => match.how === "exact");
  return exact.length && (!isAll || old.includes("\r\n")) ? exact : matches;
}

/**
 * The offsets of a text. Overlapping ones count separately, unless all are to be replaced
 * (`apart`).
 */
function occurrences(text: string, wanted: string, areApart = false): number[] {
  const starts: number[] = [];
  const step = areApart ? wanted.length : 1;
  for (let index = indexIn(text, wanted); index >= 0; index = indexIn(text, wanted, index + step))
    if (starts.push(index) === MAX_PLACES && !areApart) break;
  return starts;
}

/**
 * Both strings as lines. If old_string ends with a newline, both lose theirs; an empty new_string
 * then has no lines, so the old ones are deleted.
 */
export function linesOf({ old_string, new_string }: Edit): Lines {
  const [old, fresh] = [split(old_string), split(new_string)];
  if (old.length > 1 && old.at(-1) === "") {
    old.pop();
    if (fresh.at(-1) === "") fresh.pop();
  }
  return { old, fresh };
}

/**
 * Leaves out the blank lines that both strings begin or end with. Returns nothing if there are
 * none.
 */
export function withoutBlankEdges({ old, fresh }: Lines): Lines[] {
  if (old.every(isBlank) || fresh.every(isBlank)) return [];
  const head = Math.min(...[old, fresh].map((lines) => lines.findIndex((line) => !isBlank(line))));
  const tail = Math.min(
    ...[old, fresh].map((lines) => lines.toReversed().findIndex((line) => !isBlank(line))),
  );
  const cut = (lines: string[]) => lines.slice(head, lines.length - tail);
  return head + tail ? [{ old: cut(old), fresh: cut(fresh) }] : [];
}

/** A way to compare lines. */
interface Step {
  how: How;
  key(line: string): string;
  least: RegExp; // what old_string must contain for this way to apply
  fits?(indents: IndentPairs): boolean; // whether the indentations are compatible
  indents?: true; // new lines get the file's indentation
}
const WORDS = /([\p{L}\p{N}][^\p{L}\p{N}]*){4}/u; // lines such as "}" and "end" are everywhere
export const TRAILING: Step = { how: "trailing space", key: trimEnd, least: /\S/ };
export const SHIFTED: Step = {
  how: "indentation",
  key: (line) => trimEnd(line).slice(indentOf(line).length),
  least: WORDS,
  fits: (indents) => Boolean(shift(indents) ?? (isOtherBlank(indents) && scale(indents))),
  indents: true,
};
export const SPACED: Step = {
  how: "whitespace",
  key: (line) => SHIFTED.key(line).replace(/[ \t]+/g, " "),
  least: WORDS,
  indents: true,
};
export const FOLDED: Step = {
  how: "punctuation",
  key: (line) => trimEnd(folded(line)),
  least: WORDS,
};

/** Runs of as many lines as old_string has, each with the same key as its line of old_string. */
export function matchByLines(file: File, lines: Lines, step: Step, areApart = false): Match[] {
  const { old } = lines;
  if (!step.least.test(old.join("\n"))) return [];
  const wanted = old.map(step.key);
  const keys = file.lines.map(step.key);
  const starts: number[] = [];
  let work = 0;
  for (const start of candidates(keys, wanted)) {
    if (areApart && start < (starts.at(-1) ?? -old.length) + old.length) continue;
    let alike = 0;
    while (alike < wanted.length && wanted[alike] === keys[start + alike]) alike++;
    work += alike + 1;
    if (work > MAX_LINES_COMPARED)
      throw new Error(
        "too many lines of the file are like those of old_string. Name fewer, that are there once.",
      );
    if (alike < wanted.length) continue;
    if (step.fits && !step.fits(indentPairs(file, old, start))) continue;
    if (starts.push(start) === MAX_PLACES && !areApart) break;
  }
  return starts.map((start) =>
    wholeLines(file, start, lines, step.how, step.indents && (() => indented(file, lines, start))),
  );
}

/** Where old_string might start, judging by its rarest line. */
function candidates(keys: string[], wanted: string[]): number[] {
  const places = new Map(wanted.map((key): [string, number[]] => [key, []]));
  for (const [i, key] of keys.entries()) places.get(key)?.push(i);
  const [rarest, offset] = wanted.reduce<[number[], number]>(
    (best, key, i) => (places.get(key)!.length < best[0].length ? [places.get(key)!, i] : best),
    [places.get(wanted[0]!)!, 0],
  );
  return rarest.map((row) => row - offset).filter((start) => start >= 0);
}

function wholeLines(
  file: File,
  start: number,
  lines: Lines,
  method: How,
  reindent: () => Reindent = () => (line) => line,
): Match {
  const last = start + lines.old.length - 1;
  const from = file.starts[start]!;
  const to = file.starts[last]! + file.lines[last]!.length;
  if (!lines.fresh.length)
    return { from, to: Math.min(to + 1, file.text.length), how: method, text: () => "" };
  return {
    from,
    to,
    how: method,
    text: () => mergeLines(piecesOf(rawText(file, { from, to })), lines, file.end, reindent()),
  };
}

/** Matches lines that were copied with the line numbers of read_file, and only at those numbers. */
export function matchByNumbers(file: File, { old, fresh }: Lines): Match[] {
  const firstLine = Number(NUMBERED.exec(old[0]!)?.[1] ?? 0) - 1;
  const inOrder = old.every((line, i) => Number(NUMBERED.exec(line)?.[1]) === firstLine + i + 1);
  const plain = old.map(withoutNumber);
  if (
    !inOrder ||
    plain.some((line, i) => trimEnd(line) !== trimEnd(file.lines[firstLine + i] ?? "\0"))
  )
    return [];
  const numbered = fresh.filter((line) => NUMBERED.test(line)).length;
  if (numbered && numbered < fresh.filter((line) => !isBlank(line)).length) return [];
  const lines = { old: plain, fresh: numbered ? fresh.map(withoutNumber) : fresh };
  return [wholeLines(file, firstLine, lines, "line numbers")];
}
export const NUMBERED = /^ *(\d+)(?:\t|$)/;
const withoutNumber = (line: string): string => line.replace(NUMBERED, "");

/**
 * The edit with escapes such as \\n resolved. Undefined if old_string has none, or if only one of
 * the strings is escaped, which may be intended.
 */
export function unescaped(edit: Edit): Edit | undefined {
  const [old_string, new_string] = [plain(edit.old_string), plain(edit.new_string)];
  if (old_string === edit.old_string || !WORDS.test(old_string)) return undefined;
  const uneven =
    !edit.old_string.includes("\n") &&
    edit.new_string.includes("\n") &&
    /\\n/.test(edit.new_string);
  return uneven ? undefined : { old_string, new_string };

  function plain(text: string): string {
    return text.replace(/\\([nrt"'`\\])/g, (_, letter: string) => ESCAPES[letter] ?? letter);
  }
}
const ESCAPES: Record<string, string> = { n: "\n", r: "\r", t: "\t" };

const FOLDS: [RegExp, string][] = [
  [/[‘’‚‛′]/g, "'"],
  [/[“”„‟″]/g, '"'],
  [/[‐‑‒–—―−]/g, "-"],
  [/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g, " "],
  [/…/g, "..."],
];
const folded = (line: string): string =>
  /^[\0-\x7f]*$/.test(line)
    ? line
    : FOLDS.reduce((text, [marks, ascii]) => text.replace(marks, ascii), line);
