// edit_lines: replaces lines of a file by their numbers.
import { isUtf8 } from "node:buffer";
import type { Ctx, FileRead, Moved, Span, Zz } from "zz";
import { plural, visible } from "zz/text";

export default (zz: Zz) =>
  zz.tool({
    name: "edit_lines",
    description:
      "Replace lines start to end (inclusive) of a file that was read by content; " +
      "empty content deletes them. With end = start - 1, content is inserted before line start.",
    params: {
      path: "string relative to the project",
      start: "integer first line, from 1",
      end: "integer last line, inclusive",
      content: "string the new lines",
    },
    changes: true,
    needs: ({ path }) => ({ read: [path] }),
    async run({ path, start, end, content }, { files, chat }) {
      const fileRead = await files.read(path);
      const { text, bytes, hash, seen: seenHash } = fileRead;
      const editRefusal = (reason: string) => new Error(`Cannot edit '${path}': ${reason}`);
      if (!isUtf8(bytes) || bytes.subarray(0, 8_192).includes(0))
        throw editRefusal("it is not UTF-8 text. Leave it, or convert it first.");
      if (seenHash === undefined && chat.messages.length)
        throw editRefusal("it was not read in this conversation. Read it first.");
      if (seenHash !== undefined && seenHash !== hash)
        throw editRefusal(
          "it changed since it was read, so its line numbers may be others now. Read it again.",
        );
      const bom = text.startsWith("\uFEFF") ? "\uFEFF" : "";
      const fileLines = linesOf(text.slice(bom.length));
      const lineShift = movedBy(fileRead.moved, start, end);
      if (lineShift === undefined) throw editRefusal(linesNow(fileRead, fileLines, files, path));
      const [firstLine, lastLine] = [start + lineShift, end + lineShift];
      const rangeError = outOfRange(start, end, fileLines.length - lineShift);
      if (rangeError) throw editRefusal(rangeError);
      const unread =
        seenHash !== undefined &&
        firstUnread(fileRead.lines, firstLine, lastLine, fileLines.length);
      if (unread)
        throw editRefusal(`line ${unread} was not read in this conversation. Read it first.`);
      const changed = bom + withLines(fileLines, firstLine, lastLine, content);
      const data = { path, start: firstLine, end: lastLine };
      if (changed === text)
        return { text: `Nothing to change: '${path}' reads like that already.`, data };
      await files.write(path, Buffer.from(changed));
      return { text: resultText(path, start, end, lineShift, linesOf(content).length), data };
    },
  });

type Line = { text: string; end: string };
const MAX_LINES_SHOWN = 40;

/**
 * How far other edits moved these lines since the model gave their numbers; undefined if one
 * changed the lines.
 */
function movedBy(
  earlierMoves: readonly Moved[],
  firstGiven: number,
  lastGiven: number,
): number | undefined {
  let lineShift = 0;
  for (const earlierMove of earlierMoves) {
    if (firstGiven + lineShift > earlierMove.to) lineShift += earlierMove.by;
    else if (Math.max(firstGiven, lastGiven + 1) + lineShift > earlierMove.from) return undefined;
  }
  return lineShift;
}

/**
 * The lines as they are now where this round's edits changed the file, with a few lines around
 * them.
 */
function linesNow(
  { moved, hash }: FileRead,
  fileLines: Line[],
  files: Ctx["files"],
  filePath: string,
): string {
  let [firstShown, lastShown] = [Number.POSITIVE_INFINITY, 0];
  for (const { from, to, by } of moved) {
    lastShown = Math.max(lastShown > to ? lastShown + by : lastShown, to + by);
    firstShown = Math.min(firstShown, from);
  }
  firstShown = Math.max(1, firstShown - 2);
  lastShown = Math.min(fileLines.length, lastShown + 2, firstShown + MAX_LINES_SHOWN - 1);
  files.shown(filePath, [[firstShown, lastShown]], hash);
  const currentLines = fileLines
    .slice(firstShown - 1, lastShown)
    .map(({ text }, i) => `${firstShown + i}\t${text}`);
  return [
    "this round changed it or read it for the first time, so these line numbers may be others. " +
      `Lines ${firstShown}–${lastShown} of ${fileLines.length} now:`,
    ...currentLines,
    "Send the edit again, with the numbers as they are now.",
  ].join("\n");
}

/**
 * The first line that the model was not shown. To insert lines, one of those around the place is
 * enough.
 */
function firstUnread(
  shownSpans: readonly Span[],
  firstLine: number,
  lastLine: number,
  lineCount: number,
): number | undefined {
  const isShown = (lineNumber: number) =>
    shownSpans.some(([spanStart, spanEnd]) => spanStart <= lineNumber && lineNumber <= spanEnd);
  if (lastLine >= firstLine)
    return Array.from({ length: lastLine - firstLine + 1 }, (_, i) => firstLine + i).find(
      (lineNumber) => !isShown(lineNumber),
    );
  return !lineCount || isShown(firstLine) || isShown(lastLine) ? undefined : firstLine;
}

const linesOf = (splitText: string): Line[] =>
  Array.from(splitText.matchAll(/(?!$)([^\n]*?)(\r?\n|$)/g), ([, text, end]) => ({
    text: text!,
    end: end!,
  }));

function outOfRange(firstGiven: number, lastGiven: number, lineCount: number): string | undefined {
  const lineCountWords = `it has ${plural(lineCount, "line")}`;
  if (firstGiven < 1) return `line ${firstGiven} is not there: lines count from 1.`;
  if (firstGiven > lineCount + 1)
    return (
      `line ${firstGiven} is not there: ${lineCountWords}. ` +
      `To append, start at ${lineCount + 1}.`
    );
  if (lastGiven < firstGiven - 1)
    return (
      `the end, ${lastGiven}, is before the start, ${firstGiven}. ` +
      "To insert before a line, end one less."
    );
  if (lastGiven > Math.max(lineCount, firstGiven === 1 ? 1 : 0))
    return `line ${lastGiven} is not there: ${lineCountWords}. End at ${lineCount}.`;
  return undefined;
}

/**
 * New lines get the line ends of those they replace; the file keeps or lacks its final newline as
 * before.
 */
function withLines(
  fileLines: Line[],
  firstLine: number,
  lastLine: number,
  content: string,
): string {
  if (!fileLines.length) return content; // the file has no line ends to follow
  const finalLineEnd = fileLines.at(-1)!.end;
  const replaced = fileLines.slice(firstLine - 1, lastLine);
  const usualEnd = mostUsedEnd(replaced) ?? mostUsedEnd(fileLines) ?? "\n";
  const newLines = linesOf(content).map(({ text }, i) => ({ text, end: replaced[i]?.end }));
  const allLines = [
    ...fileLines.slice(0, firstLine - 1),
    ...newLines,
    ...fileLines.slice(lastLine),
  ];
  return allLines
    .map(({ text, end }, i) => {
      const lacksEnd = !finalLineEnd && i === allLines.length - 1;
      return lacksEnd ? text : text + (end || usualEnd);
    })
    .join("");
}

function mostUsedEnd(countedLines: Line[]): string | undefined {
  const lineEnds = countedLines.map(({ end }) => end).filter(Boolean);
  if (!lineEnds.length) return undefined;
  return lineEnds.filter((lineEnd) => lineEnd === "\r\n").length * 2 > lineEnds.length
    ? "\r\n"
    : "\n";
}

/** Names the edited lines; if this round's other edits moved them, with their new numbers too. */
function resultText(
  filePath: string,
  firstGiven: number,
  lastGiven: number,
  lineShift: number,
  newLineCount: number,
): string {
  const nameRange = (rangeStart: number, rangeEnd: number) =>
    rangeStart === rangeEnd ? `line ${rangeStart}` : `lines ${rangeStart}–${rangeEnd}`;
  const movedWords =
    ", which this round's other edits had moved to " +
    `${nameRange(firstGiven + lineShift, lastGiven + lineShift)},`;
  const oldRange = `${nameRange(firstGiven, lastGiven)}${lineShift ? movedWords : ""}`;
  const newRange = nameRange(firstGiven + lineShift, firstGiven + lineShift + newLineCount - 1);
  if (lastGiven < firstGiven)
    return (
      `Edited ${visible(filePath)}: inserted ` +
      `${newRange}${lineShift ? ` (line ${firstGiven} before this round's other edits)` : ""}.`
    );
  if (!newLineCount) return `Edited ${visible(filePath)}: deleted ${oldRange.replace(/,$/, "")}.`;
  return `Edited ${visible(filePath)}: ${oldRange} became ${newRange}.`;
}
