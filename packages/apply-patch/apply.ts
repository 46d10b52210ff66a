// Applies a change to a file's text. Every line that the change names must be found in exactly one
// place, otherwise it throws.
import { plural } from "zz/text";
import { joinRows, type Row, splitRows, toRow } from "./file-rows.ts";
import type { FileChange, Hunk } from "./parse.ts";

type File = { rows: Row[]; linesByKey: Map<string, number[]> }; // at: the line numbers of each key
type SameRow = (first: Row, second: Row) => boolean;
type HunkMatch = { hunk: Hunk; name: string; index: number; size: number; done?: boolean };
type Refuse = (reason: string, nextStep: string) => Error;

const BOM = "\uFEFF";
const MAX_LINES_SHOWN = 12; // in a message
const MAX_LINES_EXAMINED = 50_000_000; // for one change; takes seconds
let examined = 0; // lines, for the current change
const READ_AGAIN = "Read the file and send the patch with the lines as they are.";

/**
 * Limits the work: in a repetitive file each hunk may fit thousands of places, which all have to be
 * examined.
 */
function countExamined(lineCount: number): void {
  examined += lineCount;
  if (examined > MAX_LINES_EXAMINED)
    throw new Error(
      "Cannot apply the patch: too many lines of the file are like those that it names. " +
        "Nothing was changed. Send fewer hunks, with lines that are there once.",
    );
}

/**
 * The file's text after the change, undefined if the change deletes the file. If the change was
 * already made, the text stays the same.
 */
export function applyChange(before: string | undefined, change: FileChange): string | undefined {
  const { action, path, hunks } = change;
  examined = 0;
  const refuse = refusal(`${action} '${path}'`);
  if (
    action === "add" ||
    (before === undefined && hunks.length && hunks.every(({ fresh }) => fresh))
  ) {
    if (before !== undefined)
      throw refuse("it exists already", "Update it, or choose another name.");
    const newRows = hunks.flatMap(({ lines }) => lines).map(toRow);
    return joinRows(newRows, "\n", newRows.at(-1)?.eol !== "");
  }
  if (before === undefined) throw refuse("no such file", "Check the path.");
  if (action === "delete" && !hunks.length) return undefined;
  const textAfter = applyHunks(before, change);
  if (action === "update") return textAfter;
  if (!textAfter || textAfter === BOM) return undefined;
  const remaining = splitRows(textAfter);
  throw refuse(
    `the patch leaves ${plural(remaining.length, "line")} of it, ` +
      `the first is '${clipLine(remaining[0]!.text)}'`,
    "Remove every line of it, or use *** Delete File.",
  );
}

const refusal =
  (task: string): Refuse =>
  (reason, nextStep) =>
    new Error(
      `Cannot ${task}: ${reason}${reason.endsWith("\n") ? "" : ". "}Nothing was changed. ` +
        nextStep,
    );

function applyHunks(textBefore: string, { path, hunks }: FileChange): string {
  // A byte order mark is kept, unless the patch itself has a line that begins with one.
  const hasBom = textBefore.startsWith(BOM) && !hunks.some(namesBom);
  const rows = splitRows(hasBom ? textBefore.slice(1) : textBefore);
  const indexedFile = {
    rows,
    linesByKey: Map.groupBy(rows.keys(), (rowIndex) => rows[rowIndex]!.key),
  };
  const places = hunks.map((hunk, i) => {
    const name =
      hunks.length === 1 && !hunk.header
        ? "the hunk"
        : `hunk ${i + 1}${hunk.header && ` (${clipLine(hunk.header)})`}`;
    const refuse = refusal(`apply ${name} to '${path}'`);
    return { hunk, name, ...findMatch(indexedFile, hunk, refuse) };
  });
  const done = places.filter((hunkMatch) => hunkMatch.done);
  if (done.length) {
    if (done.length === places.length) return textBefore;
    const alreadyThere = done
      .map(({ name, index }) => `${name} is there already, at line ${index + 1}`)
      .join("; ");
    throw refusal(`apply the patch to '${path}'`)(
      `${alreadyThere}; the others are not`,
      "Leave out what is there.",
    );
  }
  places.sort((first, second) => first.index - second.index);
  refuseOverlaps(places, path);
  const textAfter = rewrite(rows, places);
  return hasBom && !textAfter.startsWith(BOM) ? BOM + textAfter : textAfter;
}

const namesBom = ({ lines }: Hunk): boolean =>
  lines.some(({ sign, text }) => sign !== "+" && text.startsWith(BOM));

// Finding the place of a hunk

const sameText: SameRow = (first, second) => first.text === second.text && first.eol === second.eol;
const sameTrimmed: SameRow = (first, second) => first.key === second.key;

function findMatch(
  file: File,
  hunk: Hunk,
  refuse: Refuse,
): { index: number; size: number; done?: boolean } {
  const old = hunk.lines.filter(({ sign }) => sign !== "+").map(toRow);
  const spans = spansUnder(file.rows, hunk, refuse);
  if (!old.length) return { index: insertion(file.rows, hunk, spans, refuse), size: 0 };
  for (const isSameRow of [sameText, sameTrimmed]) {
    const starts = preferInside(spans, findPlaces(file, old, isSameRow, hunk.atEnd), old.length);
    if (starts.length === 1) return { index: starts[0]!, size: old.length };
    if (hunk.start !== undefined && starts.includes(hunk.start))
      return { index: hunk.start, size: old.length };
    if (!starts.length) continue;
    const lineNumbers = starts
      .slice(0, MAX_LINES_SHOWN)
      .map((matchStart) => matchStart + 1)
      .join(", ");
    const ellipsis = starts.length > MAX_LINES_SHOWN ? " …" : "";
    throw refuse(
      `its lines are there ${starts.length} times, at lines ${lineNumbers}${ellipsis}`,
      "Add more of the lines around it, or the right line number in its @@.",
    );
  }
  const done = appliedAt(file, hunk, spans);
  if (done !== undefined) return { index: done, size: 0, done: true };
  throw refuse(`${missing(file, old, hunk)}\n${nearest(file.rows, old, hunk)}\n`, READ_AGAIN);
}

/**
 * The one place where the hunk was already applied. Undefined if the hunk begins or ends by
 * removing lines, since that leaves no trace.
 */
function appliedAt(indexedFile: File, { lines, atEnd }: Hunk, spans: Span[]): number | undefined {
  const leavesTrace = (sign?: string, nextSign?: string) => sign !== "-" || nextSign === "+";
  const signRuns = lines
    .map(({ sign }) => sign)
    .filter((sign, i, allSigns) => sign !== allSigns[i - 1]);
  if (!leavesTrace(signRuns[0], signRuns[1]) || !leavesTrace(signRuns.at(-1), signRuns.at(-2)))
    return;
  const resultRows = lines.filter(({ sign }) => sign !== "-").map(toRow);
  const matchStarts = preferInside(
    spans,
    findPlaces(indexedFile, resultRows, sameTrimmed, atEnd),
    resultRows.length,
  );
  return matchStarts.length === 1 ? matchStarts[0] : undefined;
}

function findPlaces(
  { rows, linesByKey }: File,
  lines: Row[],
  isSameRow: SameRow,
  atEnd: boolean,
): number[] {
  const countInFile = (wantedRow: Row) => linesByKey.get(wantedRow.key)?.length ?? 0;
  const rarest = lines.toSorted((first, second) => countInFile(first) - countInFile(second))[0]!;
  const lastStart = rows.length - lines.length;
  return (linesByKey.get(rarest.key) ?? [])
    .map((rowIndex) => rowIndex - lines.indexOf(rarest))
    .filter((start) => start >= 0 && (atEnd ? start === lastStart : start <= lastStart))
    .filter((start) => {
      let i = 0;
      while (i < lines.length && isSameRow(rows[start + i]!, lines[i]!)) i++;
      countExamined(i + 1);
      return i === lines.length;
    });
}

/**
 * Where to insert a hunk that names no line of the file: refused unless only one place is possible.
 */
function insertion(
  fileRows: Row[],
  { anchors, atEnd, fresh }: Hunk,
  spans: Span[],
  refuse: Refuse,
): number {
  if (!fileRows.length) return 0;
  if (fresh)
    throw refuse(
      `it says that the file is empty, but it has ${plural(fileRows.length, "line")}`,
      READ_AGAIN,
    );
  if (atEnd) return fileRows.length;
  if (anchors.length && spans.length === 1) return spans[0]!.from + 1;
  const reason = anchors.length
    ? `its @@ line is there ${spans.length} times`
    : "it names no line of the file";
  throw refuse(`${reason}, so that its place is not known`, "Add the lines around it.");
}

/** A block: it begins with a line that an @@ names, and its indentation tells where it ends. */
type Span = { from: number; to: number };

function spansUnder(file: Row[], { anchors }: Hunk, refuse: Refuse): Span[] {
  let spans: Span[] = [{ from: -1, to: file.length }];
  for (const head of anchors) {
    countExamined(file.length);
    const isInside = (rowIndex: number) =>
      isWithin(spans, ({ from, to }) => rowIndex > from && rowIndex < to);
    const heads = linesLike(file, head);
    const laterIndexes = heads.filter((rowIndex) => rowIndex > spans[0]!.from);
    const chosen = heads.some(isInside) ? heads.filter(isInside) : laterIndexes;
    if (!chosen.length)
      throw refuse(`there is no line '${clipLine(head)}'${aroundWord(file, head)}`, READ_AGAIN);
    spans = chosen.map((from) => ({ from, to: blockEnd(file, from) }));
  }
  return spans;
}

function linesLike(fileRows: Row[], anchorText: string): number[] {
  const linesWhere = (matches: (rowText: string) => boolean) =>
    fileRows.flatMap(({ text }, rowIndex) => (matches(text.trim()) ? [rowIndex] : []));
  const equal = linesWhere((rowText) => rowText === anchorText);
  return equal.length ? equal : linesWhere((rowText) => rowText.startsWith(anchorText));
}

function blockEnd(fileRows: Row[], headIndex: number): number {
  const headIndent = indentOf(fileRows[headIndex]!);
  const endsBlock = (row: Row) =>
    row.key && indentOf(row) <= headIndent && !/^\s*[{}()[\]]/.test(row.key);
  let end = headIndex + 1;
  while (end < fileRows.length && !endsBlock(fileRows[end]!)) end++;
  countExamined(end - headIndex);
  return end;
}
function isWithin(spans: Span[], holds: (span: Span) => boolean): boolean {
  const spanIndex = spans.findIndex(holds);
  countExamined(spanIndex < 0 ? spans.length : spanIndex + 1);
  return spanIndex >= 0;
}
const indentOf = ({ text }: Row): number => text.length - text.trimStart().length;

/**
 * The places inside the blocks that the @@ lines begin; if there are none, those after the @@
 * lines.
 */
function preferInside(spans: Span[], matchStarts: number[], rowCount: number): number[] {
  const innerStarts = matchStarts.filter((start) =>
    isWithin(spans, ({ from, to }) => start + rowCount > from && start < to),
  );
  return innerStarts.length
    ? innerStarts
    : matchStarts.filter((start) => start + rowCount > spans[0]!.from);
}

/** Throws if two hunks change the same line; both may show it as context. */
function refuseOverlaps(hunkMatches: HunkMatch[], filePath: string): void {
  for (const [i, earlier] of hunkMatches.entries())
    for (let j = i + 1; j < hunkMatches.length; j++) {
      const later = hunkMatches[j]!;
      if (later.index >= earlier.index + earlier.size) break;
      const [a, b] = [changedLines(earlier), changedLines(later)];
      const laterGaps = new Set(b.gaps);
      countExamined(earlier.hunk.lines.length + later.hunk.lines.length);
      const isCovered = (lineIndex: number, { index, size }: HunkMatch) =>
        lineIndex >= index && lineIndex < index + size;
      const sharedLine =
        a.gone.find((goneLine) => isCovered(goneLine, later)) ??
        b.gone.find((goneLine) => isCovered(goneLine, earlier)) ??
        a.gaps.find((gap) => laterGaps.has(gap));
      if (sharedLine !== undefined)
        throw refusal(`apply the patch to '${filePath}'`)(
          `${earlier.name} and ${later.name} both change line ${sharedLine + 1}`,
          "Make one hunk of them.",
        );
    }
}

/** The lines that a hunk removes, and the lines before which it adds some. */
function changedLines({ hunk, index }: HunkMatch): { gone: number[]; gaps: number[] } {
  const [gone, gaps]: [number[], number[]] = [[], []];
  for (const { sign } of hunk.lines) {
    if (sign === "+") gaps.push(index);
    else if (sign === "-") gone.push(index++);
    else index++;
  }
  return { gone, gaps };
}

// The new text

function rewrite(file: Row[], hunkMatches: HunkMatch[]): string {
  const usualEol = file.find(({ eol }) => eol)?.eol ?? "\n";
  const gone = new Set<number>();
  const addedRows = new Map<number, Row[]>();
  for (const { hunk, index: hunkStart } of hunkMatches) {
    const literal = hasEnds(file, hunk, hunkStart);
    let index = hunkStart;
    let replaced: Row[] = [];
    for (const hunkLine of hunk.lines) {
      const fileRow = file[index];
      if (hunkLine.sign === "+") {
        // It gets the line end of the line that it replaces, or of a neighbour.
        const eol = replaced.shift()?.eol || file[index - 1]?.eol || fileRow?.eol || usualEol;
        if (!addedRows.has(index)) addedRows.set(index, []);
        addedRows.get(index)!.push(literal ? toRow(hunkLine) : { ...toRow(hunkLine), eol });
        continue;
      }
      if (hunkLine.sign === "-") {
        gone.add(index);
        replaced.push(fileRow!);
      } else replaced = [];
      index++;
    }
  }
  const newRows = [...file, undefined].flatMap((fileRow, rowIndex) => [
    ...(addedRows.get(rowIndex) ?? []),
    ...(fileRow && !gone.has(rowIndex) ? [fileRow] : []),
  ]);
  return joinRows(newRows, usualEol, endsInNewline(file, hunkMatches));
}

/**
 * Whether the patch has the same line ends as the file: if so, those of its new lines are meant
 * literally.
 */
function hasEnds(fileRows: Row[], { lines }: Hunk, hunkStart: number): boolean {
  const oldLines = lines.filter(({ sign }) => sign !== "+");
  const hasEvidence = oldLines.some(({ eol }) => eol) || !fileRows.some(({ eol }) => eol);
  return hasEvidence && oldLines.every(({ eol }, i) => eol === fileRows[hunkStart + i]!.eol);
}

/**
 * Whether the file ends in a newline: as before, unless the patch changes "\ No newline at end of
 * file".
 */
function endsInNewline(fileRows: Row[], hunkMatches: HunkMatch[]): boolean {
  for (const { hunk } of hunkMatches) {
    const without = (oppositeSign: string) =>
      hunk.lines.some(({ sign, eol }) => sign !== oppositeSign && !eol);
    if (without("+") !== without("-")) return without("+");
  }
  return fileRows.at(-1)?.eol !== "";
}

// Error messages

const clipLine = (lineText: string): string =>
  lineText.length > 160 ? `${lineText.slice(0, 160)}…` : lineText;
const listLines = (lines: string[]): string =>
  [
    ...lines.slice(0, MAX_LINES_SHOWN),
    ...(lines.length > MAX_LINES_SHOWN ? [`… ${lines.length - MAX_LINES_SHOWN} more`] : []),
  ].join("\n");

function missing(indexedFile: File, oldRows: Row[], { atEnd, anchors }: Hunk): string {
  const elsewhere = findPlaces(indexedFile, oldRows, sameTrimmed, false).slice(0, MAX_LINES_SHOWN);
  const expectedPlace = atEnd
    ? "at the end of the file, as it says"
    : `after '${clipLine(anchors.at(-1) ?? "")}'`;
  const reason = elsewhere.length
    ? `its lines are at line ${elsewhere.map((start) => start + 1).join(", ")}, ` +
      `but not ${expectedPlace}`
    : `the file does not hold its ${plural(oldRows.length, "line")}`;
  return `${reason}. Looked for:\n${shownLines(oldRows)}`;
}
const shownLines = (oldRows: Row[]): string => listLines(oldRows.map(({ text }) => clipLine(text)));

/**
 * The part of the file that has the most lines in common with what was searched for, or else a line
 * that shares its words.
 */
function nearest(file: Row[], oldRows: Row[], { start = 0 }: Hunk): string {
  if (!file.length) return "The file is empty.";
  const wantedTexts = oldRows.map(({ text }) => text.trim());
  const matches = new Map<number, number>(); // how many lines match if the hunk began there
  const indexesByText = Map.groupBy(file.keys(), (rowIndex) => file[rowIndex]!.key.trimStart());
  for (const [i, wantedText] of wantedTexts.entries())
    if (wantedText && i < MAX_LINES_COMPARED)
      for (const rowIndex of (indexesByText.get(wantedText) ?? []).slice(0, MAX_LINES_COMPARED))
        matches.set(rowIndex - i, (matches.get(rowIndex - i) ?? 0) + 1);
  const compareMatches = (first: [number, number], second: [number, number]) =>
    second[1] - first[1] || Math.abs(first[0] - start) - Math.abs(second[0] - start);
  const [bestStart, sameCount] = [...matches].sort(compareMatches)[0] ?? [
    mostSimilarLine(file, wantedTexts) ?? start,
    0,
  ];
  const differs = wantedTexts.findIndex(
    (wantedText, i) => file[bestStart + i]?.text.trim() !== wantedText,
  );
  const from = Math.max(
    0,
    Math.min(differs < MAX_LINES_SHOWN ? bestStart : bestStart + differs - 3, file.length - 1),
  );
  const shownRows = file.slice(from, from + Math.min(MAX_LINES_SHOWN, Math.max(3, oldRows.length)));
  const differenceNote =
    `${sameCount} of ${oldRows.length} are the same, ` +
    `line ${bestStart + differs + 1} is the first that is not`;
  const comparison =
    sameCount && ` (${differs < 0 ? "the same but for the spaces at the start" : differenceNote})`;
  return (
    `Nearest${comparison || ""}:\n` +
    `${shownRows.map(({ text }, i) => `${from + i + 1}\t${clipLine(text)}`).join("\n")}`
  );
}

const MAX_LINES_COMPARED = 1_000;

const wordsOf = (lineText: string): string[] =>
  lineText.slice(0, 1_000).match(/[\p{L}\p{N}_]{2,}/gu) ?? [];

/** Where the hunk would begin if its longest line were the most similar line of the file. */
function mostSimilarLine(fileRows: Row[], wantedTexts: string[]): number | undefined {
  const longest = wantedTexts.toSorted((first, second) => second.length - first.length)[0]!;
  const wantedWords = new Set(wordsOf(longest));
  let [bestIndex, mostShared] = [-1, 0];
  for (const [rowIndex, { text }] of fileRows.entries()) {
    const sharedCount = new Set(wordsOf(text).filter((word) => wantedWords.has(word))).size;
    if (sharedCount > mostShared) [bestIndex, mostShared] = [rowIndex, sharedCount];
  }
  return mostShared ? bestIndex - wantedTexts.indexOf(longest) : undefined;
}

function aroundWord(fileRows: Row[], anchorText: string): string {
  const index = mostSimilarLine(fileRows, [anchorText]);
  return index === undefined
    ? ""
    : `; nearest is line ${index + 1}: '${clipLine(fileRows[index]!.text.trim())}'`;
}
