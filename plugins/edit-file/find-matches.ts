// The ways in which an old_string is searched for in a file.

import {
  type Edit,
  type File,
  indentOf,
  isBlank,
  type Lines,
  MAX_PLACES,
  occurrences,
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
const MAX_LINES_COMPARED = 50_000_000; // for one edit; takes seconds

/**
 * Matches of the same characters, whatever the line ends are. Matches of the same bytes take
 * precedence.
 */
export function matchAsIs(
  openedFile: File,
  { old_string: old, new_string: fresh, replace_all: isAll }: Edit,
): Match[] {
  const wantedText = toLf(old);
  const matches = occurrences(openedFile.text, wantedText, isAll).map((from): Match => {
    const matchSpan = { from, to: from + wantedText.length };
    const rawMatch = rawText(openedFile, matchSpan);
    return {
      ...matchSpan,
      how: rawMatch === old ? "exact" : "line ends",
      text: () => withLineEndsOf(rawMatch, old, fresh, openedFile.end),
    };
  });
  const exactMatches = matches.filter((anyMatch) => anyMatch.how === "exact");
  return exactMatches.length && (!isAll || old.includes("\r\n")) ? exactMatches : matches;
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
  const blankHead = Math.min(
    ...[old, fresh].map((sideLines) => sideLines.findIndex((sideLine) => !isBlank(sideLine))),
  );
  const blankTail = Math.min(
    ...[old, fresh].map((sideLines) =>
      sideLines.toReversed().findIndex((sideLine) => !isBlank(sideLine)),
    ),
  );
  const cutEdges = (sideLines: string[]) =>
    sideLines.slice(blankHead, sideLines.length - blankTail);
  return blankHead + blankTail ? [{ old: cutEdges(old), fresh: cutEdges(fresh) }] : [];
}

/** A way to compare lines. */
interface Step {
  how: How;
  key(textLine: string): string;
  least: RegExp; // what old_string must contain for this way to apply
  fits?(indents: IndentPairs): boolean; // whether the indentations are compatible
  indents?: true; // new lines get the file's indentation
}
// lines such as "}" and "end" are everywhere
const FOUR_LETTERS = /([\p{L}\p{N}][^\p{L}\p{N}]*){4}/u;
export const TRAILING: Step = { how: "trailing space", key: trimEnd, least: /\S/ };
export const SHIFTED: Step = {
  how: "indentation",
  key: (textLine) => trimEnd(textLine).slice(indentOf(textLine).length),
  least: FOUR_LETTERS,
  fits: (indents) => Boolean(shift(indents) ?? (isOtherBlank(indents) && scale(indents))),
  indents: true,
};
export const SPACED: Step = {
  how: "whitespace",
  key: (textLine) => SHIFTED.key(textLine).replace(/[ \t]+/g, " "),
  least: FOUR_LETTERS,
  indents: true,
};
export const FOLDED: Step = {
  how: "punctuation",
  key: (textLine) => trimEnd(foldPunctuation(textLine)),
  least: FOUR_LETTERS,
};

/** Runs of as many lines as old_string has, each with the same key as its line of old_string. */
export function matchByLines(
  openedFile: File,
  editLines: Lines,
  looseStep: Step,
  areApart = false,
): Match[] {
  const { old } = editLines;
  if (!looseStep.least.test(old.join("\n"))) return [];
  const wantedKeys = old.map(looseStep.key);
  const fileKeys = openedFile.lines.map(looseStep.key);
  const matchStarts: number[] = [];
  let comparedLines = 0;
  for (const candidate of candidates(fileKeys, wantedKeys)) {
    if (areApart && candidate < (matchStarts.at(-1) ?? -old.length) + old.length) continue;
    let alikeLines = 0;
    while (
      alikeLines < wantedKeys.length &&
      wantedKeys[alikeLines] === fileKeys[candidate + alikeLines]
    )
      alikeLines++;
    comparedLines += alikeLines + 1;
    if (comparedLines > MAX_LINES_COMPARED)
      throw new Error(
        "too many lines of the file are like those of old_string. Name fewer, that are there once.",
      );
    if (alikeLines < wantedKeys.length) continue;
    if (looseStep.fits && !looseStep.fits(indentPairs(openedFile, old, candidate))) continue;
    if (matchStarts.push(candidate) === MAX_PLACES && !areApart) break;
  }
  return matchStarts.map((matchStart) =>
    wholeLines(
      openedFile,
      matchStart,
      editLines,
      looseStep.how,
      looseStep.indents && (() => indented(openedFile, editLines, matchStart)),
    ),
  );
}

/** Where old_string might start, judging by its rarest line. */
function candidates(fileKeys: string[], wantedKeys: string[]): number[] {
  const rowsByKey = new Map(wantedKeys.map((wantedKey): [string, number[]] => [wantedKey, []]));
  for (const [i, fileKey] of fileKeys.entries()) rowsByKey.get(fileKey)?.push(i);
  const [rarest, rarestOffset] = wantedKeys.reduce<[number[], number]>(
    (rarestSoFar, wantedKey, i) =>
      rowsByKey.get(wantedKey)!.length < rarestSoFar[0].length
        ? [rowsByKey.get(wantedKey)!, i]
        : rarestSoFar,
    [rowsByKey.get(wantedKeys[0]!)!, 0],
  );
  return rarest.map((rarestRow) => rarestRow - rarestOffset).filter((startRow) => startRow >= 0);
}

function wholeLines(
  openedFile: File,
  startRow: number,
  editLines: Lines,
  matchMethod: How,
  reindent: () => Reindent = () => (newLine) => newLine,
): Match {
  const lastRow = startRow + editLines.old.length - 1;
  const from = openedFile.starts[startRow]!;
  const to = openedFile.starts[lastRow]! + openedFile.lines[lastRow]!.length;
  if (!editLines.fresh.length)
    return { from, to: Math.min(to + 1, openedFile.text.length), how: matchMethod, text: () => "" };
  return {
    from,
    to,
    how: matchMethod,
    text: () =>
      mergeLines(
        piecesOf(rawText(openedFile, { from, to })),
        editLines,
        openedFile.end,
        reindent(),
      ),
  };
}

/** Matches lines that were copied with the line numbers of read_file, and only at those numbers. */
export function matchByNumbers(openedFile: File, { old, fresh }: Lines): Match[] {
  const firstLine = Number(NUMBERED.exec(old[0]!)?.[1] ?? 0) - 1;
  const inOrder = old.every(
    (oldLine, i) => Number(NUMBERED.exec(oldLine)?.[1]) === firstLine + i + 1,
  );
  const plainLines = old.map(withoutNumber);
  if (
    !inOrder ||
    plainLines.some(
      (plainLine, i) => trimEnd(plainLine) !== trimEnd(openedFile.lines[firstLine + i] ?? "\0"),
    )
  )
    return [];
  const numbered = fresh.filter((newLine) => NUMBERED.test(newLine)).length;
  if (numbered && numbered < fresh.filter((newLine) => !isBlank(newLine)).length) return [];
  const editLines = { old: plainLines, fresh: numbered ? fresh.map(withoutNumber) : fresh };
  return [wholeLines(openedFile, firstLine, editLines, "line numbers")];
}
export const NUMBERED = /^ *(\d+)(?:\t|$)/;
const withoutNumber = (numberedLine: string): string => numberedLine.replace(NUMBERED, "");

/**
 * The edit with escapes such as \\n resolved. Undefined if old_string has none, or if only one of
 * the strings is escaped, which may be intended.
 */
export function unescaped(escapedEdit: Edit): Edit | undefined {
  const [old_string, new_string] = [
    resolveEscapes(escapedEdit.old_string),
    resolveEscapes(escapedEdit.new_string),
  ];
  if (old_string === escapedEdit.old_string || !FOUR_LETTERS.test(old_string)) return undefined;
  const isUneven =
    !escapedEdit.old_string.includes("\n") &&
    escapedEdit.new_string.includes("\n") &&
    /\\n/.test(escapedEdit.new_string);
  return isUneven ? undefined : { old_string, new_string };

  function resolveEscapes(escapedText: string): string {
    return escapedText.replace(
      /\\([nrt"'`\\])/g,
      (_, escapedLetter: string) => ESCAPES[escapedLetter] ?? escapedLetter,
    );
  }
}
const ESCAPES: Record<string, string> = { n: "\n", r: "\r", t: "\t" };

const PUNCTUATION_FOLDS: [RegExp, string][] = [
  [/[‘’‚‛′]/g, "'"],
  [/[“”„‟″]/g, '"'],
  [/[‐‑‒–—―−]/g, "-"],
  [/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g, " "],
  [/…/g, "..."],
];
const foldPunctuation = (textLine: string): string =>
  /^[\0-\x7f]*$/.test(textLine)
    ? textLine
    : PUNCTUATION_FOLDS.reduce(
        (foldedText, [foldedMarks, asciiText]) => foldedText.replace(foldedMarks, asciiText),
        textLine,
      );
