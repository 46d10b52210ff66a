// Applies a change to a file's text. Every line that the change names must be found in exactly one
// place, otherwise it throws.
import { plural } from "zz/text";
import type { FileChange, Hunk } from "./parse.ts";

/** A line of the file; `key` is compared when trailing spaces do not count. */
type Row = { text: string; eol: string; key: string };
type File = { rows: Row[]; linesByKey: Map<string, number[]> }; // at: the line numbers of each key
type SameRow = (a: Row, b: Row) => boolean;
type HunkMatch = { hunk: Hunk; name: string; index: number; size: number; done?: boolean };
type Refuse = (reason: string, next: string) => Error;

const BOM = "\uFEFF";
const MAX_LINES_SHOWN = 12; // in a message
const MAX_LINES_EXAMINED = 50_000_000; // for one change; takes seconds
let examined = 0; // lines, for the current change
const READ_AGAIN = "Read the file and send the patch with the lines as they are.";

/**
 * Limits the work: in a repetitive file each hunk may fit thousands of places, which all have to be
 * examined.
 */
function countExamined(lines: number): void {
  examined += lines;
  if (examined > MAX_LINES_EXAMINED)
    throw new Error(
      "Cannot apply the patch: too many lines of the file are like those that it names. Nothing was changed. Send fewer hunks, with lines that are there once.",
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
    const rows = hunks.flatMap(({ lines }) => lines).map(toRow);
    return join(rows, "\n", rows.at(-1)?.eol !== "");
  }
  if (before === undefined) throw refuse("no such file", "Check the path.");
  if (action === "delete" && !hunks.length) return undefined;
  const after = patch(before, change);
  if (action === "update") return after;
  if (!after || after === BOM) return undefined;
  const remaining = split(after);
  throw refuse(
    `the patch leaves ${plural(remaining.length, "line")} of it, the first is '${clipLine(remaining[0]!.text)}'`,
    "Remove every line of it, or use *** Delete File.",
  );
}

const refusal =
  (task: string): Refuse =>
  (reason, next) =>
    new Error(
      `Cannot ${task}: ${reason}${reason.endsWith("\n") ? "" : ". "}Nothing was changed. ${next}`,
    );

function patch(before: string, { path, hunks }: FileChange): string {
  // A byte order mark is kept, unless the patch itself has a line that begins with one.
  const hasBom = before.startsWith(BOM) && !hunks.some(namesBom);
  const rows = split(hasBom ? before.slice(1) : before);
  const file = { rows, linesByKey: Map.groupBy(rows.keys(), (index) => rows[index]!.key) };
  const places = hunks.map((hunk, i) => {
    const name =
      hunks.length === 1 && !hunk.header
        ? "the hunk"
        : `hunk ${i + 1}${hunk.header && ` (${clipLine(hunk.header)})`}`;
    const refuse = refusal(`apply ${name} to '${path}'`);
    return { hunk, name, ...findMatch(file, hunk, refuse) };
  });
  const done = places.filter((hunkMatch) => hunkMatch.done);
  if (done.length) {
    if (done.length === places.length) return before;
    const there = done
      .map(({ name, index }) => `${name} is there already, at line ${index + 1}`)
      .join("; ");
    throw refusal(`apply the patch to '${path}'`)(
      `${there}; the others are not`,
      "Leave out what is there.",
    );
  }
  places.sort((a, b) => a.index - b.index);
  refuseOverlaps(places, path);
  const after = rewrite(rows, places);
  return hasBom && !after.startsWith(BOM) ? BOM + after : after;
}

const namesBom = ({ lines }: Hunk): boolean =>
  lines.some(({ sign, text }) => sign !== "+" && text.startsWith(BOM));

// Finding the place of a hunk

const sameText: SameRow = (a, b) => a.text === b.text && a.eol === b.eol;
const sameTrimmed: SameRow = (a, b) => a.key === b.key;

function findMatch(
  file: File,
  hunk: Hunk,
  refuse: Refuse,
): { index: number; size: number; done?: boolean } {
  const old = hunk.lines.filter(({ sign }) => sign !== "+").map(toRow);
  const spans = spansUnder(file.rows, hunk, refuse);
  if (!old.length) return { index: insertion(file.rows, hunk, spans, refuse), size: 0 };
  for (const isSame of [sameText, sameTrimmed]) {
    const starts = preferInside(spans, places(file, old, isSame, hunk.atEnd), old.length);
    if (starts.length === 1) return { index: starts[0]!, size: old.length };
    if (hunk.start !== undefined && starts.includes(hunk.start))
      return { index: hunk.start, size: old.length };
    if (!starts.length) continue;
    const lineNumbers = starts
      .slice(0, MAX_LINES_SHOWN)
      .map((start) => start + 1)
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
function appliedAt(file: File, { lines, atEnd }: Hunk, spans: Span[]): number | undefined {
  const shows = (sign?: string, next?: string) => sign !== "-" || next === "+";
  const runs = lines.map(({ sign }) => sign).filter((sign, i, signs) => sign !== signs[i - 1]);
  if (!shows(runs[0], runs[1]) || !shows(runs.at(-1), runs.at(-2))) return;
  const result = lines.filter(({ sign }) => sign !== "-").map(toRow);
  const starts = preferInside(spans, places(file, result, sameTrimmed, atEnd), result.length);
  return starts.length === 1 ? starts[0] : undefined;
}

function places(
  { rows, linesByKey }: File,
  lines: Row[],
  isSame: SameRow,
  atEnd: boolean,
): number[] {
  const count = (line: Row) => linesByKey.get(line.key)?.length ?? 0;
  const rare = lines.reduce((best, line, i) => (count(line) < count(lines[best]!) ? i : best), 0);
  const last = rows.length - lines.length;
  return (linesByKey.get(lines[rare]!.key) ?? [])
    .map((index) => index - rare)
    .filter((start) => start >= 0 && (atEnd ? start === last : start <= last))
    .filter((start) => {
      let i = 0;
      while (i < lines.length && isSame(rows[start + i]!, lines[i]!)) i++;
      countExamined(i + 1);
      return i === lines.length;
    });
}

/**
 * Where to insert a hunk that names no line of the file: refused unless only one place is possible.
 */
function insertion(
  file: Row[],
  { anchors, atEnd, fresh }: Hunk,
  spans: Span[],
  refuse: Refuse,
): number {
  if (!file.length) return 0;
  if (fresh)
    throw refuse(
      `it says that the file is empty, but it has ${plural(file.length, "line")}`,
      READ_AGAIN,
    );
  if (atEnd) return file.length;
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
    const inside = (index: number) => isWithin(spans, ({ from, to }) => index > from && index < to);
    const heads = linesLike(file, head);
    const after = heads.filter((index) => index > spans[0]!.from);
    const chosen = heads.some(inside) ? heads.filter(inside) : after;
    if (!chosen.length)
      throw refuse(`there is no line '${clipLine(head)}'${aroundWord(file, head)}`, READ_AGAIN);
    spans = chosen.map((from) => ({ from, to: blockEnd(file, from) }));
  }
  return spans;
}

function linesLike(file: Row[], head: string): number[] {
  const linesWhere = (matches: (text: string) => boolean) =>
    file.flatMap(({ text }, index) => (matches(text.trim()) ? [index] : []));
  const equal = linesWhere((text) => text === head);
  return equal.length ? equal : linesWhere((text) => text.startsWith(head));
}

function blockEnd(file: Row[], from: number): number {
  const indent = indentOf(file[from]!);
  const ends = (row: Row) => row.key && indentOf(row) <= indent && !/^\s*[{}()[\]]/.test(row.key);
  let end = from + 1;
  while (end < file.length && !ends(file[end]!)) end++;
  countExamined(end - from);
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
function preferInside(spans: Span[], starts: number[], size: number): number[] {
  const within = starts.filter((start) =>
    isWithin(spans, ({ from, to }) => start + size > from && start < to),
  );
  return within.length ? within : starts.filter((start) => start + size > spans[0]!.from);
}

/** Throws if two hunks change the same line; both may show it as context. */
function refuseOverlaps(places: HunkMatch[], path: string): void {
  for (const [i, earlier] of places.entries())
    for (let j = i + 1; j < places.length; j++) {
      const later = places[j]!;
      if (later.index >= earlier.index + earlier.size) break;
      const [a, b] = [changedLines(earlier), changedLines(later)];
      const gaps = new Set(b.gaps);
      countExamined(earlier.hunk.lines.length + later.hunk.lines.length);
      const named = (line: number, { index, size }: HunkMatch) =>
        line >= index && line < index + size;
      const line =
        a.gone.find((line) => named(line, later)) ??
        b.gone.find((line) => named(line, earlier)) ??
        a.gaps.find((gap) => gaps.has(gap));
      if (line !== undefined)
        throw refusal(`apply the patch to '${path}'`)(
          `${earlier.name} and ${later.name} both change line ${line + 1}`,
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

function rewrite(file: Row[], places: HunkMatch[]): string {
  const usualEol = file.find(({ eol }) => eol)?.eol ?? "\n";
  const gone = new Set<number>();
  const added = new Map<number, Row[]>();
  for (const { hunk, index: start } of places) {
    const literal = hasEnds(file, hunk, start);
    let index = start;
    let replaced: Row[] = [];
    for (const line of hunk.lines) {
      const row = file[index];
      if (line.sign === "+") {
        // It gets the line end of the line that it replaces, or of a neighbour.
        const eol = replaced.shift()?.eol || file[index - 1]?.eol || row?.eol || usualEol;
        if (!added.has(index)) added.set(index, []);
        added.get(index)!.push(literal ? toRow(line) : { ...toRow(line), eol });
        continue;
      }
      if (line.sign === "-") {
        gone.add(index);
        replaced.push(row!);
      } else replaced = [];
      index++;
    }
  }
  const rows = [...file, undefined].flatMap((row, index) => [
    ...(added.get(index) ?? []),
    ...(row && !gone.has(index) ? [row] : []),
  ]);
  return join(rows, usualEol, endsInNewline(file, places));
}

/**
 * Whether the patch has the same line ends as the file: if so, those of its new lines are meant
 * literally.
 */
function hasEnds(file: Row[], { lines }: Hunk, start: number): boolean {
  const old = lines.filter(({ sign }) => sign !== "+");
  const hasEvidence = old.some(({ eol }) => eol) || !file.some(({ eol }) => eol);
  return hasEvidence && old.every(({ eol }, i) => eol === file[start + i]!.eol);
}

/**
 * Whether the file ends in a newline: as before, unless the patch changes "\ No newline at end of
 * file".
 */
function endsInNewline(file: Row[], places: HunkMatch[]): boolean {
  for (const { hunk } of places) {
    const without = (oppositeSign: string) =>
      hunk.lines.some(({ sign, eol }) => sign !== oppositeSign && !eol);
    if (without("+") !== without("-")) return without("+");
  }
  return file.at(-1)?.eol !== "";
}

function split(text: string): Row[] {
  return (text.match(/[^\n]*\n|[^\n]+$/g) ?? []).map((line) => {
    const [eol = ""] = /\r?\n$/.exec(line) ?? [];
    return toRow({ text: line.slice(0, line.length - eol.length), eol });
  });
}

const toRow = ({ text, eol }: { text: string; eol: string }): Row => ({
  text,
  eol,
  key: text.trimEnd(),
});

function join(rows: Row[], usualEol: string, newline: boolean): string {
  const last = rows.length - 1;
  const eol = (row: Row, index: number) => (index < last || newline ? row.eol || usualEol : "");
  return rows.map((row, index) => row.text + eol(row, index)).join("");
}

// Error messages

const clipLine = (text: string): string => (text.length > 160 ? `${text.slice(0, 160)}…` : text);
const listed = (lines: string[]): string =>
  [
    ...lines.slice(0, MAX_LINES_SHOWN),
    ...(lines.length > MAX_LINES_SHOWN ? [`… ${lines.length - MAX_LINES_SHOWN} more`] : []),
  ].join("\n");

function missing(file: File, old: Row[], { atEnd, anchors }: Hunk): string {
  const elsewhere = places(file, old, sameTrimmed, false).slice(0, MAX_LINES_SHOWN);
  const but = atEnd
    ? "at the end of the file, as it says"
    : `after '${clipLine(anchors.at(-1) ?? "")}'`;
  const reason = elsewhere.length
    ? `its lines are at line ${elsewhere.map((start) => start + 1).join(", ")}, but not ${but}`
    : `the file does not hold its ${plural(old.length, "line")}`;
  return `${reason}. Looked for:\n${shownLines(old)}`;
}
const shownLines = (old: Row[]): string => listed(old.map(({ text }) => clipLine(text)));

/**
 * The part of the file that has the most lines in common with what was searched for, or else a line
 * that shares its words.
 */
function nearest(file: Row[], old: Row[], { start = 0 }: Hunk): string {
  if (!file.length) return "The file is empty.";
  const wanted = old.map(({ text }) => text.trim());
  const matches = new Map<number, number>(); // how many lines match if the hunk began there
  const rows = Map.groupBy(file.keys(), (index) => file[index]!.key.trimStart());
  for (const [i, text] of wanted.entries())
    if (text && i < MAX_LINES_COMPARED)
      for (const at of (rows.get(text) ?? []).slice(0, MAX_LINES_COMPARED))
        matches.set(at - i, (matches.get(at - i) ?? 0) + 1);
  const better = (a: [number, number], b: [number, number]) =>
    b[1] - a[1] || Math.abs(a[0] - start) - Math.abs(b[0] - start);
  const [bestStart, sameCount] = [...matches].sort(better)[0] ?? [
    mostSimilarLine(file, wanted) ?? start,
    0,
  ];
  const differs = wanted.findIndex((text, i) => file[bestStart + i]?.text.trim() !== text);
  const from = Math.max(
    0,
    Math.min(differs < MAX_LINES_SHOWN ? bestStart : bestStart + differs - 3, file.length - 1),
  );
  const shown = file.slice(from, from + Math.min(MAX_LINES_SHOWN, Math.max(3, old.length)));
  const first = `${sameCount} of ${old.length} are the same, line ${bestStart + differs + 1} is the first that is not`;
  const comparison =
    sameCount && ` (${differs < 0 ? "the same but for the spaces at the start" : first})`;
  return `Nearest${comparison || ""}:\n${shown.map(({ text }, i) => `${from + i + 1}\t${clipLine(text)}`).join("\n")}`;
}

const MAX_LINES_COMPARED = 1_000;

const wordsOf = (text: string): string[] => text.slice(0, 1_000).match(/[\p{L}\p{N}_]{2,}/gu) ?? [];

/** Where the hunk would begin if its longest line were the most similar line of the file. */
function mostSimilarLine(file: Row[], wanted: string[]): number | undefined {
  const longest = wanted.reduce(
    (best, text, i) => (text.length > wanted[best]!.length ? i : best),
    0,
  );
  const words = new Set(wordsOf(wanted[longest]!));
  let [best, mostShared] = [-1, 0];
  for (const [index, { text }] of file.entries()) {
    const shared = new Set(wordsOf(text).filter((word) => words.has(word))).size;
    if (shared > mostShared) [best, mostShared] = [index, shared];
  }
  return mostShared ? best - longest : undefined;
}

function aroundWord(file: Row[], head: string): string {
  const index = mostSimilarLine(file, [head]);
  return index === undefined
    ? ""
    : `; nearest is line ${index + 1}: '${clipLine(file[index]!.text.trim())}'`;
}
