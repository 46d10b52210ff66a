// Draws a diff: numbered lines, what was removed and added, and the part of a line that differs.
import { diffWordsWithSpace, structuredPatch } from "diff";
import type { Difference } from "zz";
import { visible } from "zz/text";

export type Paint = {
  removed(lineText: string): string;
  added(lineText: string): string;
  strong(lineText: string): string;
  dim(lineText: string): string;
  // the same in the colours of its language, if it has any
  code?: ((sourceCode: string, filePath: string) => string) | undefined;
};

const MAX_CLOSE_ROWS = 1_000; // rows in which the changed part of a line is searched for
const MAX_CLOSE_CHARS = 2_000; // of such a line
const CLOSE_CHARS = 100_000; // that are searched for one question
const MAX_DIFFERENCES = 2_500; // with more, all of the text is shown as removed and added

/** In how much text the changed parts of lines are still searched for. */
type Room = { chars: number };
export const newRoom = (): Room => ({ chars: CLOSE_CHARS });

export function renderDiff(
  { path, before, after, note, line = 1 }: Difference,
  paint: Paint,
  searchRoom = newRoom(),
): string {
  const editOrDelete = after === undefined ? "delete" : "edit";
  const actionName = before === undefined ? "create" : editOrDelete;
  const diffHunks = hunksOf(before ?? "", after ?? "", line);
  const hunkLines = diffHunks.flatMap(({ lines }) => lines);
  const countLines = (lineSign: string) =>
    hunkLines.filter((hunkLine) => hunkLine.startsWith(lineSign)).length;
  const lineRanges = diffHunks.map(({ newStart, newLines, oldStart, oldLines }) =>
    after === undefined ? formatRange(oldStart, oldLines) : formatRange(newStart, newLines),
  );
  const isOneRange = lineRanges.length === 1 && !lineRanges[0]!.includes("–");
  const lineSummary = lineRanges.length
    ? [
        `${isOneRange ? "line" : "lines"} ${lineRanges.join(", ")}`,
        `+${countLines("+")} −${countLines("-")}`,
      ]
    : [];
  const isEmpty = !lineRanges.length && (before === undefined || after === undefined) && !note;
  const headRow = [
    `${actionName} ${visible(path)}`,
    ...lineSummary,
    ...(isEmpty ? ["empty"] : []),
    ...(note ? [note] : []),
  ].join(" · ");
  const codeLines = colouredLines(path, after, line, paint);
  const diffRows: string[] = [];
  for (const [i, diffHunk] of diffHunks.entries())
    for (const hunkRow of [
      ...(i ? [paint.dim("  ⋮")] : []),
      ...hunkRows(
        diffHunk,
        paint,
        codeLines,
        diffRows.length < MAX_CLOSE_ROWS ? searchRoom : undefined,
      ),
    ])
      diffRows.push(hunkRow);
  return [headRow, ...diffRows].join("\n");
}

/**
 * The lines of a file as they will be, in colours; undefined if it has none, or if they would
 * change what is read.
 */
function colouredLines(
  filePath: string,
  textAfter = "",
  startLine: number,
  { code }: Paint,
): string[] | undefined {
  const colouredText = textAfter.length <= CLOSE_CHARS && code?.(textAfter, filePath);
  const isSameText =
    colouredText &&
    colouredText !== textAfter &&
    colouredText.replace(/\x1b\[[\d;]*m/g, "") === textAfter;
  return isSameText ? [...Array(startLine - 1), ...colouredText.split("\n")] : undefined;
}

type Hunk = {
  lines: string[];
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
};

/**
 * If two long texts have little in common, the shortest difference takes minutes to find, and is
 * unreadable.
 */
function hunksOf(textBefore: string, textAfter: string, startLine: number): Hunk[] {
  const textPatch = structuredPatch("", "", textBefore, textAfter, "", "", {
    context: 3,
    maxEditLength: MAX_DIFFERENCES,
  });
  const moveHunk = ({ oldStart, newStart, ...hunk }: Hunk) => ({
    ...hunk,
    oldStart: oldStart + startLine - 1,
    newStart: newStart + startLine - 1,
  });
  if (textPatch) return textPatch.hunks.map(moveHunk);
  const [removed, added] = [textBefore, textAfter].map((wholeText) =>
    wholeText.replace(/\n$/, "").split("\n"),
  );
  const lines = [
    ...removed!.map((removedLine) => `-${removedLine}`),
    ...added!.map((addedLine) => `+${addedLine}`),
  ];
  return [
    {
      lines,
      oldStart: startLine,
      oldLines: removed!.length,
      newStart: startLine,
      newLines: added!.length,
    },
  ];
}

const formatRange = (startLine: number, lineCount: number): string =>
  lineCount > 1 ? `${startLine}–${startLine + lineCount - 1}` : String(startLine);

/**
 * What goes is in one colour; what stays and what comes are in those of the code, if there are any.
 */
function hunkRows(diffHunk: Hunk, paint: Paint, codeLines?: string[], searchRoom?: Room): string[] {
  const diffRows: string[] = [];
  let [oldNumber, newNumber] = [diffHunk.oldStart, diffHunk.newStart];
  for (let i = 0; i < diffHunk.lines.length; ) {
    const removed = takeLines(diffHunk.lines, i, "-");
    const added = takeLines(diffHunk.lines, i + removed.length, "+");
    if (!removed.length && !added.length) {
      const sharedLine = diffHunk.lines[i++]!;
      if (sharedLine.startsWith("\\")) diffRows.push(paint.dim(`       ${sharedLine.slice(2)}`));
      else {
        diffRows.push(
          `${formatNumber(newNumber)}   ${codeLines?.[newNumber - 1] ?? sharedLine.slice(1)}`,
        );
        oldNumber++;
        newNumber++;
      }
      continue;
    }
    const markedPairs =
      searchRoom && removed.length === added.length && removed.length < MAX_CLOSE_ROWS
        ? removed.map((removedLine, i) =>
            markChanges(removedLine, added[i]!, codeLines?.[newNumber + i - 1], paint, searchRoom),
          )
        : [];
    for (const [i, removedLine] of removed.entries())
      diffRows.push(
        paint.removed(`${formatNumber(oldNumber++)} - ${markedPairs[i]?.[0] ?? removedLine}`),
      );
    for (const [i, addedLine] of added.entries()) {
      const addedText = markedPairs[i]?.[1] ?? codeLines?.[newNumber - 1] ?? addedLine;
      const rowHead = `${formatNumber(newNumber++)} + `;
      diffRows.push(
        codeLines ? `${paint.added(rowHead)}${addedText}` : paint.added(`${rowHead}${addedText}`),
      );
    }
    i += removed.length + added.length;
  }
  return diffRows;
}

const formatNumber = (lineNumber: number): string => String(lineNumber).padStart(5);

/** The following lines with that sign, without it. */
function takeLines(hunkLines: string[], startIndex: number, lineSign: string): string[] {
  let endIndex = startIndex;
  while (hunkLines[endIndex]?.startsWith(lineSign)) endIndex++;
  return hunkLines.slice(startIndex, endIndex).map((signedLine) => signedLine.slice(1));
}

/**
 * Both lines with the differing parts marked, the second in its colours, unless nearly all of it
 * differs.
 */
function markChanges(
  removedLine: string,
  addedLine: string,
  colouredLine = addedLine,
  paint: Paint,
  searchRoom: Room,
): [string, string] | undefined {
  if (Math.max(removedLine.length, addedLine.length) > MAX_CLOSE_CHARS) return undefined;
  searchRoom.chars -= removedLine.length + addedLine.length;
  if (searchRoom.chars < 0) return undefined;
  const wordParts = diffWordsWithSpace(removedLine, addedLine, { maxEditLength: MAX_DIFFERENCES });
  if (!wordParts) return undefined;
  const sharedChars = wordParts
    .filter(({ added, removed }) => !added && !removed)
    .reduce((charTotal, { value }) => charTotal + value.length, 0);
  if (sharedChars * 3 < Math.max(removedLine.length, addedLine.length)) return undefined;
  const markLine = (shownLine: string, skippedSide: "added" | "removed") => {
    const ownParts = wordParts.filter((wordPart) => !wordPart[skippedSide]);
    const partSizes = ownParts.map(({ value, added, removed }) => ({
      size: value.length,
      isMarked: added || removed,
    }));
    return markParts(shownLine, partSizes, paint.strong);
  };
  return [markLine(removedLine, "added"), markLine(colouredLine, "removed")];
}

/** Marks parts of a line that may have colours; where a mark ends them, they begin again. */
function markParts(
  shownLine: string,
  markedParts: { size: number; isMarked: boolean }[],
  strong: Paint["strong"],
): string {
  let [markedLine, openStyles] = ["", ""];
  for (const [textPiece, sequence] of shownLine.matchAll(/(\x1b\[[\d;]*m)|[^\x1b]+/g)) {
    if (sequence) {
      markedLine += sequence;
      openStyles = /^\x1b\[(?:2\d|39)m$/.test(sequence) ? "" : openStyles + sequence;
      continue;
    }
    for (let remaining = textPiece; remaining && markedParts[0]; ) {
      const partText = remaining.slice(0, markedParts[0].size);
      markedLine += markedParts[0].isMarked ? strong(partText) + openStyles : partText;
      remaining = remaining.slice(partText.length);
      markedParts[0].size -= partText.length;
      if (!markedParts[0].size) markedParts.shift();
    }
  }
  return markedLine;
}
