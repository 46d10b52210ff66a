// A change, made to a file's text: every line that it names is found, in one place alone, or it throws and says why not.
import type { FileChange, Hunk } from "./parse.ts";

/** A line of the file; `key` is what is compared where trailing spaces do not count. */
type Row = { text: string; eol: string; key: string };
type File = { rows: Row[]; at: Map<string, number[]> }; // at: where each key is
type Same = (a: Row, b: Row) => boolean;
type Place = { hunk: Hunk; name: string; at: number; size: number; done?: boolean };
type Refuse = (why: string, next: string) => Error;

const BOM = "\uFEFF";
const SHOWN = 12; // lines of a message
const AGAIN = "Read the file and send the patch with the lines as they are.";

/** The file's text afterwards; undefined: no file. A change that is there already gives the text back as it was. */
export function applyChange(before: string | undefined, change: FileChange): string | undefined {
  const { kind, path, hunks } = change;
  const refuse = refusal(`${kind} '${path}'`);
  if (kind === "add" || (before === undefined && hunks.length && hunks.every(({ fresh }) => fresh))) {
    if (before !== undefined) throw refuse("it exists already", "Update it, or choose another name.");
    const rows = hunks.flatMap(({ lines }) => lines).map(toRow);
    return join(rows, "\n", rows.at(-1)?.eol !== "");
  }
  if (before === undefined) throw refuse("there is no such file", "Check the path.");
  if (kind === "delete" && !hunks.length) return undefined;
  const after = patch(before, change);
  if (kind === "update") return after;
  if (!after || after === BOM) return undefined;
  const left = split(after);
  throw refuse(
    `the patch leaves ${many(left.length, "line")} of it, the first is '${cut(left[0]!.text)}'`,
    "Remove every line of it, or use *** Delete File.",
  );
}

const refusal =
  (what: string): Refuse =>
  (why, next) =>
    new Error(`Cannot ${what}: ${why}${why.endsWith("\n") ? "" : ". "}Nothing was changed. ${next}`);

function patch(before: string, { path, hunks }: FileChange): string {
  // A mark at the start is the file's, unless the patch itself writes it in a line that it names.
  const marked = before.startsWith(BOM) && !hunks.some(namesMark);
  const rows = split(marked ? before.slice(1) : before);
  const file = { rows, at: Map.groupBy(rows.keys(), (at) => rows[at]!.key) };
  const places = hunks.map((hunk, i) => {
    const name =
      hunks.length === 1 && !hunk.header ? "the hunk" : `hunk ${i + 1}${hunk.header && ` (${cut(hunk.header)})`}`;
    const refuse = refusal(`apply ${name} to '${path}'`);
    return { hunk, name, ...find(file, hunk, refuse) };
  });
  const done = places.filter((place) => place.done);
  if (done.length) {
    if (done.length === places.length) return before;
    const there = done.map(({ name, at }) => `${name} is there already, at line ${at + 1}`).join("; ");
    throw refusal(`apply the patch to '${path}'`)(`${there}; the others are not`, "Leave out what is there.");
  }
  places.sort((a, b) => a.at - b.at);
  refuseClashes(places, path);
  const after = rewrite(rows, places);
  return marked && !after.startsWith(BOM) ? BOM + after : after;
}

const namesMark = ({ lines }: Hunk): boolean => lines.some(({ sign, text }) => sign !== "+" && text.startsWith(BOM));

// ── where a hunk goes ──

const exact: Same = (a, b) => a.text === b.text && a.eol === b.eol;
const loose: Same = (a, b) => a.key === b.key;

function find(file: File, hunk: Hunk, refuse: Refuse): { at: number; size: number; done?: boolean } {
  const old = hunk.lines.filter(({ sign }) => sign !== "+").map(toRow);
  const spans = spansUnder(file.rows, hunk, refuse);
  if (!old.length) return { at: insertion(file.rows, hunk, spans, refuse), size: 0 };
  for (const same of [exact, loose]) {
    const found = within(spans, places(file, old, same, hunk.atEnd), old.length);
    if (found.length === 1) return { at: found[0]!, size: old.length };
    if (hunk.start !== undefined && found.includes(hunk.start)) return { at: hunk.start, size: old.length };
    if (!found.length) continue;
    const at = found
      .slice(0, SHOWN)
      .map((at) => at + 1)
      .join(", ");
    const more = found.length > SHOWN ? " …" : "";
    throw refuse(
      `its lines are there ${found.length} times, at lines ${at}${more}`,
      "Add more of the lines around it, or the right line number in its @@.",
    );
  }
  const done = madeAt(file, hunk, spans);
  if (done !== undefined) return { at: done, size: 0, done: true };
  throw refuse(`${missing(file, old, hunk)}\n${nearest(file.rows, old, hunk)}\n`, AGAIN);
}

/** The one place where the hunk was made already. A line that it removes at its edge would leave no trace of that. */
function madeAt(file: File, { lines, atEnd }: Hunk, spans: Span[]): number | undefined {
  const shows = (sign?: string, next?: string) => sign !== "-" || next === "+";
  const runs = lines.map(({ sign }) => sign).filter((sign, i, all) => sign !== all[i - 1]);
  if (!shows(runs[0], runs[1]) || !shows(runs.at(-1), runs.at(-2))) return;
  const renewed = lines.filter(({ sign }) => sign !== "-").map(toRow);
  const found = within(spans, places(file, renewed, loose, atEnd), renewed.length);
  return found.length === 1 ? found[0] : undefined;
}

function places({ rows, at }: File, lines: Row[], same: Same, atEnd: boolean): number[] {
  const count = (line: Row) => at.get(line.key)?.length ?? 0;
  const rare = lines.reduce((best, line, i) => (count(line) < count(lines[best]!) ? i : best), 0);
  const last = rows.length - lines.length;
  return (at.get(lines[rare]!.key) ?? [])
    .map((at) => at - rare)
    .filter((at) => at >= 0 && (atEnd ? at === last : at <= last))
    .filter((at) => lines.every((line, i) => same(rows[at + i]!, line)));
}

/** Hunks that name no line: only where there is but one place for them. */
function insertion(file: Row[], { under, atEnd, fresh }: Hunk, spans: Span[], refuse: Refuse): number {
  if (!file.length) return 0;
  if (fresh) throw refuse(`it says that the file is empty, but it has ${many(file.length, "line")}`, AGAIN);
  if (atEnd) return file.length;
  if (under.length && spans.length === 1) return spans[0]!.from + 1;
  const why = under.length ? `its @@ line is there ${spans.length} times` : "it names no line of the file";
  throw refuse(`${why}, so that its place is not known`, "Add the lines around it.");
}

/** From a line that an @@ names to where its block ends, as it is indented. */
type Span = { from: number; to: number };

function spansUnder(file: Row[], { under }: Hunk, refuse: Refuse): Span[] {
  let spans: Span[] = [{ from: -1, to: file.length }];
  for (const head of under) {
    const inside = (at: number) => spans.some(({ from, to }) => at > from && at < to);
    const heads = linesLike(file, head);
    const after = heads.filter((at) => at > spans[0]!.from);
    const found = heads.some(inside) ? heads.filter(inside) : after;
    if (!found.length) throw refuse(`there is no line '${cut(head)}'${aroundWord(file, head)}`, AGAIN);
    spans = found.map((from) => ({ from, to: blockEnd(file, from) }));
  }
  return spans;
}

function linesLike(file: Row[], head: string): number[] {
  const like = (same: (text: string) => boolean) => file.flatMap(({ text }, at) => (same(text.trim()) ? [at] : []));
  const equal = like((text) => text === head);
  return equal.length ? equal : like((text) => text.startsWith(head));
}

function blockEnd(file: Row[], from: number): number {
  const indent = indentOf(file[from]!);
  const end = file.findIndex(
    (row, at) => at > from && row.key && indentOf(row) <= indent && !/^\s*[{}()[\]]/.test(row.key),
  );
  return end < 0 ? file.length : end;
}
const indentOf = ({ text }: Row): number => text.length - text.trimStart().length;

/** The places in the blocks that the @@ lines begin; where those hold none, the places after them. */
function within(spans: Span[], found: number[], size: number): number[] {
  const held = found.filter((at) => spans.some(({ from, to }) => at + size > from && at < to));
  return held.length ? held : found.filter((at) => at + size > spans[0]!.from);
}

/** Two hunks may show the same line around theirs, but not both change it. */
function refuseClashes(places: Place[], path: string): void {
  for (const [i, one] of places.entries())
    for (let j = i + 1; j < places.length; j++) {
      const other = places[j]!;
      if (other.at >= one.at + one.size) break;
      const [a, b] = [touched(one), touched(other)];
      const named = (line: number, { at, size }: Place) => line >= at && line < at + size;
      const line =
        a.gone.find((line) => named(line, other)) ??
        b.gone.find((line) => named(line, one)) ??
        a.gaps.find((gap) => b.gaps.includes(gap));
      if (line !== undefined)
        throw refusal(`apply the patch to '${path}'`)(
          `${one.name} and ${other.name} both change line ${line + 1}`,
          "Make one hunk of them.",
        );
    }
}

/** The lines that a hunk removes, and those before which it adds. */
function touched({ hunk, at }: Place): { gone: number[]; gaps: number[] } {
  const [gone, gaps]: [number[], number[]] = [[], []];
  for (const { sign } of hunk.lines) {
    if (sign === "+") gaps.push(at);
    else if (sign === "-") gone.push(at++);
    else at++;
  }
  return { gone, gaps };
}

// ── the new text ──

function rewrite(file: Row[], places: Place[]): string {
  const house = file.find(({ eol }) => eol)?.eol ?? "\n";
  const gone = new Set<number>();
  const added = new Map<number, Row[]>();
  for (const { hunk, at: start } of places) {
    const literal = hasEnds(file, hunk, start);
    let at = start;
    let replaced: Row[] = [];
    for (const line of hunk.lines) {
      const row = file[at];
      if (line.sign === "+") {
        // The line ends of what it replaces, or stands beside.
        const eol = replaced.shift()?.eol || file[at - 1]?.eol || row?.eol || house;
        if (!added.has(at)) added.set(at, []);
        added.get(at)!.push(literal ? toRow(line) : { ...toRow(line), eol });
        continue;
      }
      if (line.sign === "-") {
        gone.add(at);
        replaced.push(row!);
      } else replaced = [];
      at++;
    }
  }
  const rows = [...file, undefined].flatMap((row, at) => [
    ...(added.get(at) ?? []),
    ...(row && !gone.has(at) ? [row] : []),
  ]);
  return join(rows, house, endsInNewline(file, places));
}

/** Whether the patch shows the very line ends of the file: then its own are meant as they are. */
function hasEnds(file: Row[], { lines }: Hunk, at: number): boolean {
  const old = lines.filter(({ sign }) => sign !== "+");
  const told = old.some(({ eol }) => eol) || !file.some(({ eol }) => eol);
  return told && old.every(({ eol }, i) => eol === file[at + i]!.eol);
}

/** As the file does, unless the patch takes "\ No newline at end of file" away or sets it. */
function endsInNewline(file: Row[], places: Place[]): boolean {
  for (const { hunk } of places) {
    const without = (other: string) => hunk.lines.some(({ sign, eol }) => sign !== other && !eol);
    if (without("+") !== without("-")) return without("+");
  }
  return file.at(-1)?.eol !== "";
}

function split(text: string): Row[] {
  return (text.match(/[^\n]*\n|[^\n]+$/g) ?? []).map((line) => {
    const eol = line.endsWith("\r\n") ? "\r\n" : line.endsWith("\n") ? "\n" : "";
    return toRow({ text: line.slice(0, line.length - eol.length), eol });
  });
}

const toRow = ({ text, eol }: { text: string; eol: string }): Row => ({ text, eol, key: text.trimEnd() });

function join(rows: Row[], house: string, newline: boolean): string {
  const last = rows.length - 1;
  const eol = (row: Row, at: number) => (at < last || newline ? row.eol || house : "");
  return rows.map((row, at) => row.text + eol(row, at)).join("");
}

// ── what an error says ──

const many = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;
const cut = (text: string): string => (text.length > 160 ? `${text.slice(0, 160)}…` : text);
const listed = (lines: string[]): string =>
  [...lines.slice(0, SHOWN), ...(lines.length > SHOWN ? [`… ${lines.length - SHOWN} more`] : [])].join("\n");

function missing(file: File, old: Row[], { atEnd, under }: Hunk): string {
  const other = places(file, old, loose, false).slice(0, SHOWN);
  const but = atEnd ? "at the end of the file, as it says" : `after '${cut(under.at(-1) ?? "")}'`;
  const why = other.length
    ? `its lines are at line ${other.map((at) => at + 1).join(", ")}, but not ${but}`
    : `the file does not hold its ${many(old.length, "line")}`;
  return `${why}. Looked for:\n${want(old)}`;
}
const want = (old: Row[]): string => listed(old.map(({ text }) => cut(text)));

/** The part of the file that shares the most lines with what was looked for, or else a line that shares its words. */
function nearest(file: Row[], old: Row[], { start = 0 }: Hunk): string {
  if (!file.length) return "The file is empty.";
  const wanted = old.map(({ text }) => text.trim());
  const shares = new Map<number, number>(); // how many lines are the same, if the hunk began there
  const rows = Map.groupBy(file.keys(), (at) => file[at]!.key.trimStart());
  for (const [i, text] of wanted.entries())
    if (text)
      for (const at of (rows.get(text) ?? []).slice(0, 1_000)) shares.set(at - i, (shares.get(at - i) ?? 0) + 1);
  const better = (a: [number, number], b: [number, number]) =>
    b[1] - a[1] || Math.abs(a[0] - start) - Math.abs(b[0] - start);
  const [at, same] = [...shares].sort(better)[0] ?? [likest(file, wanted) ?? start, 0];
  const differs = wanted.findIndex((text, i) => file[at + i]?.text.trim() !== text);
  const from = Math.max(0, Math.min(differs < SHOWN ? at : at + differs - 3, file.length - 1));
  const shown = file.slice(from, from + Math.min(SHOWN, Math.max(3, old.length)));
  const first = `${same} of ${old.length} are the same, line ${at + differs + 1} is the first that is not`;
  const said = same && ` (${differs < 0 ? "the same but for the spaces at the start" : first})`;
  return `Nearest${said || ""}:\n${shown.map(({ text }, i) => `${from + i + 1}\t${cut(text)}`).join("\n")}`;
}

const wordsOf = (text: string): string[] => text.slice(0, 1_000).match(/[\p{L}\p{N}_]{2,}/gu) ?? [];

/** The line with the most words of the longest wanted one, and where the hunk would then begin. */
function likest(file: Row[], wanted: string[]): number | undefined {
  const longest = wanted.reduce((best, text, i) => (text.length > wanted[best]!.length ? i : best), 0);
  const words = new Set(wordsOf(wanted[longest]!));
  let [best, most] = [-1, 0];
  for (const [at, { text }] of file.entries()) {
    const shared = new Set(wordsOf(text).filter((word) => words.has(word))).size;
    if (shared > most) [best, most] = [at, shared];
  }
  return most ? best - longest : undefined;
}

function aroundWord(file: Row[], head: string): string {
  const at = likest(file, [head]);
  return at === undefined ? "" : `; nearest is line ${at + 1}: '${cut(file[at]!.text.trim())}'`;
}
