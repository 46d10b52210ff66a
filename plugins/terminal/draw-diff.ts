// Draws a diff: numbered lines, what was removed and added, and the part of a line that differs.
import { diffWordsWithSpace, structuredPatch } from "diff";
import type { Difference } from "zz";
import { visible } from "zz/text";

export type Paint = {
  removed(text: string): string;
  added(text: string): string;
  strong(text: string): string;
  dim(text: string): string;
  // the same in the colours of its language, if it has any
  code?: ((text: string, path: string) => string) | undefined;
};

const MAX_CLOSE_ROWS = 1_000; // rows in which the changed part of a line is searched for
const MAX_CLOSE_CHARS = 2_000; // of such a line
const CLOSE_CHARS = 100_000; // that are searched for one question
const DIFF_TIMEOUT = 500; // ms; after that all of the text is shown as removed and added

/** In how much text the changed parts of lines are still searched for. */
type Room = { chars: number };
export const newRoom = (): Room => ({ chars: CLOSE_CHARS });

export function renderDiff(
  { path, before, after, note, line = 1 }: Difference,
  paint: Paint,
  room = newRoom(),
): string {
  const editOrDelete = after === undefined ? "delete" : "edit";
  const did = before === undefined ? "create" : editOrDelete;
  const hunks = hunksOf(before ?? "", after ?? "", line);
  const lines = hunks.flatMap(({ lines }) => lines);
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
  const ranges = hunks.map(({ newStart, newLines, oldStart, oldLines }) =>
    after === undefined ? range(oldStart, oldLines) : range(newStart, newLines),
  );
  const isOneRange = ranges.length === 1 && !ranges[0]!.includes("–");
  const where = ranges.length
    ? [`${isOneRange ? "line" : "lines"} ${ranges.join(", ")}`, `+${count("+")} −${count("-")}`]
    : [];
  const isEmpty = !ranges.length && (before === undefined || after === undefined) && !note;
  const head = [
    `${did} ${visible(path)}`,
    ...where,
    ...(isEmpty ? ["empty"] : []),
    ...(note ? [note] : []),
  ].join(" · ");
  const shown = colouredLines(path, after, line, paint);
  const rows: string[] = [];
  for (const [i, hunk] of hunks.entries())
    for (const row of [
      ...(i ? [paint.dim("  ⋮")] : []),
      ...hunkRows(hunk, paint, shown, rows.length < MAX_CLOSE_ROWS ? room : undefined),
    ])
      rows.push(row);
  return [head, ...rows].join("\n");
}

/**
 * The lines of a file as they will be, in colours; undefined if it has none, or if they would
 * change what is read.
 */
function colouredLines(
  path: string,
  after = "",
  line: number,
  { code }: Paint,
): string[] | undefined {
  const shown = after.length <= CLOSE_CHARS && code?.(after, path);
  const isSame = shown && shown !== after && shown.replace(/\x1b\[[\d;]*m/g, "") === after;
  return isSame ? [...Array(line - 1), ...shown.split("\n")] : undefined;
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
function hunksOf(before: string, after: string, line: number): Hunk[] {
  const patch = structuredPatch("", "", before, after, "", "", {
    context: 3,
    timeout: DIFF_TIMEOUT,
  });
  const moved = ({ oldStart, newStart, ...hunk }: Hunk) => ({
    ...hunk,
    oldStart: oldStart + line - 1,
    newStart: newStart + line - 1,
  });
  if (patch) return patch.hunks.map(moved);
  const [removed, added] = [before, after].map((text) => text.replace(/\n$/, "").split("\n"));
  const lines = [...removed!.map((line) => `-${line}`), ...added!.map((line) => `+${line}`)];
  return [
    { lines, oldStart: line, oldLines: removed!.length, newStart: line, newLines: added!.length },
  ];
}

const range = (start: number, count: number): string =>
  count > 1 ? `${start}–${start + count - 1}` : String(start);

/**
 * What goes is in one colour; what stays and what comes are in those of the code, if there are any.
 */
function hunkRows(hunk: Hunk, paint: Paint, shown?: string[], room?: Room): string[] {
  const rows: string[] = [];
  let [old, next] = [hunk.oldStart, hunk.newStart];
  for (let i = 0; i < hunk.lines.length; ) {
    const removed = run(hunk.lines, i, "-");
    const added = run(hunk.lines, i + removed.length, "+");
    if (!removed.length && !added.length) {
      const line = hunk.lines[i++]!;
      if (line.startsWith("\\")) rows.push(paint.dim(`       ${line.slice(2)}`));
      else {
        rows.push(`${number(next)}   ${shown?.[next - 1] ?? line.slice(1)}`);
        old++;
        next++;
      }
      continue;
    }
    const pairs =
      room && removed.length === added.length && removed.length < MAX_CLOSE_ROWS
        ? removed.map((line, i) => markChanges(line, added[i]!, shown?.[next + i - 1], paint, room))
        : [];
    for (const [i, line] of removed.entries())
      rows.push(paint.removed(`${number(old++)} - ${pairs[i]?.[0] ?? line}`));
    for (const [i, line] of added.entries()) {
      const text = pairs[i]?.[1] ?? shown?.[next - 1] ?? line;
      const head = `${number(next++)} + `;
      rows.push(shown ? `${paint.added(head)}${text}` : paint.added(`${head}${text}`));
    }
    i += removed.length + added.length;
  }
  return rows;
}

const number = (line: number): string => String(line).padStart(5);

/** The following lines with that sign, without it. */
function run(lines: string[], from: number, sign: string): string[] {
  let end = from;
  while (lines[end]?.startsWith(sign)) end++;
  return lines.slice(from, end).map((line) => line.slice(1));
}

/**
 * Both lines with the differing parts marked, the second in its colours, unless nearly all of it
 * differs.
 */
function markChanges(
  text: string,
  two: string,
  shown = two,
  paint: Paint,
  room: Room,
): [string, string] | undefined {
  if (Math.max(text.length, two.length) > MAX_CLOSE_CHARS) return undefined;
  room.chars -= text.length + two.length;
  if (room.chars < 0) return undefined;
  const parts = diffWordsWithSpace(text, two, { timeout: DIFF_TIMEOUT });
  if (!parts) return undefined;
  const sharedChars = parts
    .filter(({ added, removed }) => !added && !removed)
    .reduce((sum, { value }) => sum + value.length, 0);
  if (sharedChars * 3 < Math.max(text.length, two.length)) return undefined;
  const marked = (line: string, skip: "added" | "removed") => {
    const ownParts = parts.filter((part) => !part[skip]);
    const sizes = ownParts.map(({ value, added, removed }) => ({
      size: value.length,
      isMarked: added || removed,
    }));
    return markParts(line, sizes, paint.strong);
  };
  return [marked(text, "added"), marked(shown, "removed")];
}

/** Marks parts of a line that may have colours; where a mark ends them, they begin again. */
function markParts(
  line: string,
  parts: { size: number; isMarked: boolean }[],
  strong: Paint["strong"],
): string {
  let [shown, open] = ["", ""];
  for (const [piece, sequence] of line.matchAll(/(\x1b\[[\d;]*m)|[^\x1b]+/g)) {
    if (sequence) {
      shown += sequence;
      open = /^\x1b\[(?:2\d|39)m$/.test(sequence) ? "" : open + sequence;
      continue;
    }
    for (let remaining = piece; remaining && parts[0]; ) {
      const text = remaining.slice(0, parts[0].size);
      shown += parts[0].isMarked ? strong(text) + open : text;
      remaining = remaining.slice(text.length);
      parts[0].size -= text.length;
      if (!parts[0].size) parts.shift();
    }
  }
  return shown;
}
