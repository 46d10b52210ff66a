// edit_lines: replaces lines of a file by their numbers.
import { isUtf8 } from "node:buffer";
import type { Ctx, FileRead, Moved, Span, Zz } from "zz";
import { plural, visible } from "zz/text";

export default (zz: Zz) =>
  zz.tool({
    name: "edit_lines",
    description:
      "Replace lines start to end (inclusive) of a file that was read by content; empty content deletes them. With end = start - 1, content is inserted before line start.",
    params: {
      path: "string relative to the project",
      start: "integer first line, from 1",
      end: "integer last line, inclusive",
      content: "string the new lines",
    },
    changes: true,
    needs: ({ path }) => ({ read: [path] }),
    async run({ path, start, end, content }, { files, chat }) {
      const file = await files.read(path);
      const { text, bytes, hash, seen: seenHash } = file;
      const cannot = (reason: string) => new Error(`Cannot edit '${path}': ${reason}`);
      if (!isUtf8(bytes) || bytes.subarray(0, 8_192).includes(0))
        throw cannot("it is not UTF-8 text. Leave it, or convert it first.");
      if (seenHash === undefined && chat.messages.length)
        throw cannot("it was not read in this conversation. Read it first.");
      if (seenHash !== undefined && seenHash !== hash)
        throw cannot(
          "it changed since it was read, so its line numbers may be others now. Read it again.",
        );
      const bom = text.startsWith("\uFEFF") ? "\uFEFF" : "";
      const lines = linesOf(text.slice(bom.length));
      const by = movedBy(file.moved, start, end);
      if (by === undefined) throw cannot(linesNow(file, lines, files, path));
      const [from, to] = [start + by, end + by];
      const wrong = outOfRange(start, end, lines.length - by);
      if (wrong) throw cannot(wrong);
      const unread = seenHash !== undefined && firstUnread(file.lines, from, to, lines.length);
      if (unread) throw cannot(`line ${unread} was not read in this conversation. Read it first.`);
      const changed = bom + withLines(lines, from, to, content);
      const data = { path, start: from, end: to };
      if (changed === text)
        return { text: `Nothing to change: '${path}' reads like that already.`, data };
      await files.write(path, Buffer.from(changed));
      return { text: resultText(path, start, end, by, linesOf(content).length), data };
    },
  });

type Line = { text: string; end: string };
const MAX_LINES_SHOWN = 40;

/**
 * How far other edits moved these lines since the model gave their numbers; undefined if one
 * changed the lines.
 */
function movedBy(moved: readonly Moved[], start: number, end: number): number | undefined {
  let by = 0;
  for (const move of moved) {
    if (start + by > move.to) by += move.by;
    else if (Math.max(start, end + 1) + by > move.from) return undefined;
  }
  return by;
}

/**
 * The lines as they are now where this round's edits changed the file, with a few lines around
 * them.
 */
function linesNow(
  { moved, hash }: FileRead,
  lines: Line[],
  files: Ctx["files"],
  path: string,
): string {
  let [first, last] = [Number.POSITIVE_INFINITY, 0];
  for (const { from, to, by } of moved) {
    last = Math.max(last > to ? last + by : last, to + by);
    first = Math.min(first, from);
  }
  first = Math.max(1, first - 2);
  last = Math.min(lines.length, last + 2, first + MAX_LINES_SHOWN - 1);
  files.shown(path, [[first, last]], hash);
  const currentLines = lines.slice(first - 1, last).map(({ text }, i) => `${first + i}\t${text}`);
  return [
    `this round changed it or read it for the first time, so these line numbers may be others. Lines ${first}–${last} of ${lines.length} now:`,
    ...currentLines,
    "Send the edit again, with the numbers as they are now.",
  ].join("\n");
}

/**
 * The first line that the model was not shown. To insert lines, one of those around the place is
 * enough.
 */
function firstUnread(
  shown: readonly Span[],
  from: number,
  to: number,
  length: number,
): number | undefined {
  const isShown = (line: number) => shown.some(([first, last]) => first <= line && line <= last);
  if (to >= from)
    return Array.from({ length: to - from + 1 }, (_, i) => from + i).find((line) => !isShown(line));
  return !length || isShown(from) || isShown(to) ? undefined : from;
}

function linesOf(text: string): Line[] {
  const parts = text.split(/(\r?\n)/);
  const lines = Array.from({ length: (parts.length + 1) / 2 }, (_, i) => ({
    text: parts[2 * i]!,
    end: parts[2 * i + 1] ?? "",
  }));
  if (lines.at(-1)!.text === "") lines.pop();
  return lines;
}

function outOfRange(start: number, end: number, length: number): string | undefined {
  const has = `it has ${plural(length, "line")}`;
  if (start < 1) return `line ${start} is not there: lines count from 1.`;
  if (start > length + 1)
    return `line ${start} is not there: ${has}. To append, start at ${length + 1}.`;
  if (end < start - 1)
    return `the end, ${end}, is before the start, ${start}. To insert before a line, end one less.`;
  if (end > Math.max(length, start === 1 ? 1 : 0))
    return `line ${end} is not there: ${has}. End at ${length}.`;
  return undefined;
}

/**
 * New lines get the line ends of those they replace; the file keeps or lacks its final newline as
 * before.
 */
function withLines(lines: Line[], start: number, end: number, content: string): string {
  if (!lines.length) return content; // the file has no line ends to follow
  const last = lines.at(-1)!.end;
  const replaced = lines.slice(start - 1, end);
  const usual = mostOf(replaced) ?? mostOf(lines) ?? "\n";
  const fresh = linesOf(content).map(({ text }, i) => ({ text, end: replaced[i]?.end || usual }));
  const allLines = [...lines.slice(0, start - 1), ...fresh, ...lines.slice(end)];
  const ended = (end: string, i: number) =>
    i === allLines.length - 1 ? last && (end || usual) : end || usual;
  return allLines.map((line, i) => line.text + ended(line.end, i)).join("");
}

function mostOf(lines: Line[]): string | undefined {
  const ends = lines.map(({ end }) => end).filter(Boolean);
  if (!ends.length) return undefined;
  return ends.filter((end) => end === "\r\n").length * 2 > ends.length ? "\r\n" : "\n";
}

/** Names the edited lines; if this round's other edits moved them, with their new numbers too. */
function resultText(path: string, start: number, end: number, by: number, count: number): string {
  const range = (from: number, to: number) =>
    from === to ? `line ${from}` : `lines ${from}–${to}`;
  const moved = `, which this round's other edits had moved to ${range(start + by, end + by)},`;
  const old = `${range(start, end)}${by ? moved : ""}`;
  const newRange = range(start + by, start + by + count - 1);
  if (end < start)
    return `Edited ${visible(path)}: inserted ${newRange}${by ? ` (line ${start} before this round's other edits)` : ""}.`;
  if (!count) return `Edited ${visible(path)}: deleted ${old.replace(/,$/, "")}.`;
  return `Edited ${visible(path)}: ${old} became ${newRange}.`;
}
