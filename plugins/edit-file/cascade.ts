// Puts edits into a text. Each old_string is looked for as it stands, then less and less strictly; but whatever is
// replaced are characters that it names, or as many whole lines as it has: never what lies between two of them.
import { diffArrays } from "diff";

export interface Edit {
  old_string: string;
  new_string: string;
  replace_all?: boolean;
}
/** What an edit is in the new text, in lines from 1. An end before its start: the lines are gone. */
export interface Place {
  edit: number; // from 1
  start: number;
  end: number;
  how: How;
}
/** How an old_string was matched, and how that is said. */
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

/** A stretch of the text, in offsets. */
type Span = { from: number; to: number };
type Change = Span & { text: string; how: How };
type Spot = Span & { edit: number; how: How; gone: boolean; ended: boolean };
/** A stretch that matches; what replaces it is worked out only if it is the one. Undefined: it cannot be said for sure. */
type Match = Span & { how: How; text: () => string | undefined };
type Lines = { old: string[]; fresh: string[] };
type Piece = { text: string; end: string };

const BOM = "\uFEFF";
const SUBSTANCE = 8; // non-blank characters: less than that is found by chance
const MANY = 100; // places of whole lines: more are not counted
const SHOWN = 8; // lines of what is nearest
const COMPARED = 20; // lines of old_string that count for it
const WIDEST = 400;

/** All of the edits, each on what the ones before it made; or an error, a sentence for the model. */
export function applyEdits(text: string, edits: readonly Edit[]): { text: string; places: Place[] } {
  const bom = text.startsWith(BOM) ? BOM : "";
  const first = text.slice(bom.length);
  const spots: Spot[] = [];
  let body = first;
  for (const [i, given] of edits.entries()) {
    const { old_string, new_string } = given;
    const edit = bom ? { ...given, old_string: withoutBom(old_string), new_string: withoutBom(new_string) } : given;
    try {
      body = put(body, changesOf(body, edit, first), spots, i + 1);
    } catch (error) {
      if (edits.length === 1) throw error;
      const which = `edit ${i + 1} of ${edits.length} failed, so nothing was changed`;
      throw new Error(`${which}: ${(error as Error).message}`);
    }
  }
  return { text: bom + body, places: placesOf(body, spots) };
}

const withoutBom = (text: string): string => (text.startsWith(BOM) ? text.slice(1) : text);

function changesOf(body: string, edit: Edit, first: string): Change[] {
  const { old_string: old, new_string: fresh, replace_all: all } = edit;
  if (old === fresh) throw new Error("nothing to change, since old_string and new_string are the same.");
  if (old === "" && body === "") return [{ from: 0, to: 0, text: fresh, how: "exact" }];
  if (old === "")
    throw new Error(
      "old_string is empty. Name the text to replace; write_file replaces a whole file, create_file makes a new one.",
    );
  const file = open(body);
  for (const found of attempts(file, edit)) {
    if (found.length > 1 && !all) throw new Error(ambiguous(file, found));
    const changes = found.map((match) => settled(file, match, edit));
    if (changes.length && changes.every((change) => change !== undefined)) return changes;
  }
  const there = standing(file, fresh);
  if (there) return [kept(file, there)];
  throw new Error(missed(file, edit, lf(first).includes(lf(old))));
}

/** What to try, the strictest first. All of the places, where there are several. */
function* attempts(file: File, edit: Edit): Generator<Match[]> {
  yield asItStands(file, edit);
  const lines = linesOf(edit);
  const forms = [lines, ...withoutBlankEdges(lines)];
  for (const form of forms) yield byLines(file, form, TRAILING, edit.replace_all);
  if (edit.replace_all) return;
  for (const form of forms) for (const step of [SHIFTED, SPACED]) yield byLines(file, form, step);
  const plain = unescaped(edit);
  if (plain) {
    const steps = [TRAILING, SHIFTED].map((step) => byLines(file, linesOf(plain), step));
    for (const found of [asItStands(file, plain), ...steps]) yield found.map((match) => ({ ...match, how: "escapes" }));
  }
  for (const form of forms) yield byLines(file, form, FOLDED);
  yield byNumbers(file, lines);
}

// The text, with lone \n for line ends: models write no others.

interface File {
  raw: string;
  text: string;
  lines: string[];
  starts: number[]; // of the lines, in text
  returns: number[]; // where in text a line end was \r\n
  end: string; // most of its line ends
}

function open(raw: string): File {
  const text = lf(raw);
  const lines = text.split("\n");
  let start = 0;
  const starts = lines.map((line) => (start += line.length + 1) - line.length - 1);
  const returns: number[] = [];
  for (let at = raw.indexOf("\r\n"); at >= 0; at = raw.indexOf("\r\n", at + 2)) returns.push(at - returns.length);
  const end = returns.length * 2 > lines.length - 1 ? "\r\n" : "\n";
  if (lines.length > 1 && lines.at(-1) === "") lines.pop();
  return { raw, text, lines, starts, returns, end };
}

const lf = (text: string): string => text.replaceAll("\r\n", "\n");
const inRaw = ({ returns }: File, at: number): number => at + below(returns, at);
const rawSpan = (file: File, { from, to }: Span): Span => ({ from: inRaw(file, from), to: inRaw(file, to) });
const rawText = (file: File, span: Span): string => file.raw.slice(inRaw(file, span.from), inRaw(file, span.to));

/** How many of these sorted numbers are less than n. */
function below(sorted: number[], n: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < n) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Matching

/** Character by character, but for line ends; those that are right to the byte go first. */
function asItStands(file: File, { old_string: old, new_string: fresh, replace_all: all }: Edit): Match[] {
  const wanted = lf(old);
  const found = occurrences(file.text, wanted, all).map((from): Match => {
    const span = { from, to: from + wanted.length };
    const own = rawText(file, span);
    return { ...span, how: own === old ? "exact" : "line ends", text: () => fitted(own, old, fresh, file.end) };
  });
  const exact = found.filter(({ how }) => how === "exact");
  return exact.length && (!all || old.includes("\r\n")) ? exact : found;
}

/** Those that overlap are several places, unless all are to be replaced. */
function occurrences(text: string, wanted: string, apart = false): number[] {
  const found: number[] = [];
  const step = apart ? wanted.length : 1;
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + step)) found.push(at);
  return found;
}

/** The new text with the line ends of the old. Where those are mixed, line by line. */
function fitted(own: string, old: string, fresh: string, end: string): string {
  if (own === old && lf(old) === lf(fresh)) return fresh; // a change of nothing but line ends is meant
  const ends = new Set(own.match(/\r?\n/g));
  if (ends.size > 1) return woven(piecesOf(own), { old: split(old), fresh: split(fresh) }, end, (line) => line)!;
  return lf(fresh).replaceAll("\n", () => [...ends][0] ?? end);
}

const split = (text: string): string[] => lf(text).split("\n");

/** Both as whole lines. A line end at the end of old_string goes with that of new_string, or with the lines, if they go. */
function linesOf({ old_string, new_string }: Edit): Lines {
  const [old, fresh] = [split(old_string), split(new_string)];
  if (old.length > 1 && old.at(-1) === "") {
    old.pop();
    if (fresh.at(-1) === "") fresh.pop();
  }
  return { old, fresh };
}

/** Without the blank lines that both begin or end with. */
function withoutBlankEdges({ old, fresh }: Lines): Lines[] {
  if (old.every(isBlank) || fresh.every(isBlank)) return [];
  const head = Math.min(...[old, fresh].map((lines) => lines.findIndex((line) => !isBlank(line))));
  const tail = Math.min(...[old, fresh].map((lines) => lines.toReversed().findIndex((line) => !isBlank(line))));
  const cut = (lines: string[]) => lines.slice(head, lines.length - tail);
  return head + tail ? [{ old: cut(old), fresh: cut(fresh) }] : [];
}

/** How lines are compared, and what becomes of new ones; `fits` looks at the indentations: [old_string's, the file's]. */
interface Step {
  how: How;
  key(line: string): string;
  least: RegExp; // what old_string must hold to be looked for so
  fits?(leads: Leads): boolean;
  indents?: true; // new lines get the file's indentation
}
type Leads = [old: string, own: string][];
const WORDS = /([\p{L}\p{N}][^\p{L}\p{N}]*){4}/u; // "}" and "end" stand everywhere
const TRAILING: Step = { how: "trailing space", key: trimEnd, least: /\S/ };
const SHIFTED: Step = {
  how: "indentation",
  key: (line) => trimEnd(line).slice(leadOf(line).length),
  least: WORDS,
  fits: (leads) => Boolean(shift(leads) ?? (isOtherBlank(leads) && scale(leads))),
  indents: true,
};
const SPACED: Step = {
  how: "whitespace",
  key: (line) => SHIFTED.key(line).replace(/[ \t]+/g, " "),
  least: WORDS,
  indents: true,
};
const FOLDED: Step = { how: "punctuation", key: (line) => trimEnd(folded(line)), least: WORDS };

/** As many lines of the file as old_string has, each the same by the step's key. */
function byLines(file: File, lines: Lines, step: Step, apart = false): Match[] {
  const { old } = lines;
  if (!step.least.test(old.join("\n"))) return [];
  const wanted = old.map(step.key);
  const keys = file.lines.map(step.key);
  const found: number[] = [];
  for (const at of candidates(keys, wanted)) {
    if (apart && at < (found.at(-1) ?? -old.length) + old.length) continue;
    if (wanted.some((key, i) => key !== keys[at + i])) continue;
    if (step.fits && !step.fits(leadsAt(file, old, at))) continue;
    if (found.push(at) === MANY && !apart) break;
  }
  return found.map((at) => wholeLines(file, at, lines, step.how, step.indents && (() => indented(file, lines, at))));
}

/** Where the rarest of the wanted lines would be in its place. */
function candidates(keys: string[], wanted: string[]): number[] {
  const places = new Map(wanted.map((key): [string, number[]] => [key, []]));
  for (const [i, key] of keys.entries()) places.get(key)?.push(i);
  const [rarest, at] = wanted.reduce<[number[], number]>(
    (best, key, i) => (places.get(key)!.length < best[0].length ? [places.get(key)!, i] : best),
    [places.get(wanted[0]!)!, 0],
  );
  return rarest.map((place) => place - at).filter((start) => start >= 0);
}

function wholeLines(file: File, at: number, lines: Lines, how: How, mend: () => Mend = () => (line) => line): Match {
  const last = at + lines.old.length - 1;
  const from = file.starts[at]!;
  const to = file.starts[last]! + file.lines[last]!.length;
  if (!lines.fresh.length) return { from, to: Math.min(to + 1, file.text.length), how, text: () => "" };
  return { from, to, how, text: () => woven(piecesOf(rawText(file, { from, to })), lines, file.end, mend()) };
}

/** Lines copied with read_file's numbers: right only where those say. */
function byNumbers(file: File, { old, fresh }: Lines): Match[] {
  const at = Number(NUMBERED.exec(old[0]!)?.[1] ?? 0) - 1;
  const inOrder = old.every((line, i) => Number(NUMBERED.exec(line)?.[1]) === at + i + 1);
  const plain = old.map(withoutNumber);
  if (!inOrder || plain.some((line, i) => trimEnd(line) !== trimEnd(file.lines[at + i] ?? "\0"))) return [];
  const numbered = fresh.filter((line) => NUMBERED.test(line)).length;
  if (numbered && numbered < fresh.filter((line) => !isBlank(line)).length) return [];
  const lines = { old: plain, fresh: numbered ? fresh.map(withoutNumber) : fresh };
  return [wholeLines(file, at, lines, "line numbers")];
}
const NUMBERED = /^ *(\d+)(?:\t|$)/;
const withoutNumber = (line: string): string => line.replace(NUMBERED, "");

/** Undefined when nothing is escaped, or so unevenly that it may be meant as it stands. */
function unescaped(edit: Edit): Edit | undefined {
  const [old_string, new_string] = [plain(edit.old_string), plain(edit.new_string)];
  if (old_string === edit.old_string || !WORDS.test(old_string)) return undefined;
  const uneven = !edit.old_string.includes("\n") && edit.new_string.includes("\n") && /\\n/.test(edit.new_string);
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
  /^[\0-\x7f]*$/.test(line) ? line : FOLDS.reduce((text, [marks, ascii]) => text.replace(marks, ascii), line);

const isBlank = (line: string): boolean => trimEnd(line) === "";
const leadOf = (line: string): string => /^[ \t]*/.exec(line)![0];

/** By hand: a regular expression takes quadratic time on a long run of blanks inside a line. */
function trimEnd(line: string): string {
  let end = line.length;
  while (end > 0 && " \t\r".includes(line[end - 1]!)) end--;
  return line.slice(0, end);
}

// Indentation

type Mend = (line: string, like?: number) => string | undefined;
type Indent = (lead: string) => string | undefined;

const leadsAt = (file: File, old: string[], at: number): Leads =>
  old.flatMap((line, i) => (isBlank(line) ? [] : [[leadOf(line), leadOf(file.lines[at + i]!)]]));

/** New lines are indented as the file indents their like: the line they replace, those that begin alike, or all by one rule. */
function indented(file: File, { old }: Lines, at: number): Mend {
  const leads = leadsAt(file, old, at);
  const known = Map.groupBy(leads, ([lead]) => lead);
  const rule = shift(leads) ?? scale(leads);
  return (line, like) => {
    if (isBlank(line)) return line;
    const lead = leadOf(line);
    const owns = new Set(known.get(lead)?.map(([, own]) => own));
    const alike = like !== undefined && !isBlank(old[like]!) && leadOf(old[like]!) === lead;
    const own = owns.size === 1 ? [...owns][0] : alike ? leadOf(file.lines[at + like]!) : undefined;
    const is = own ?? (owns.size ? undefined : rule?.(lead));
    return is === undefined ? undefined : is + line.slice(lead.length);
  };
}

/** The same characters more, or fewer, before every line. */
function shift(leads: Leads): Indent | undefined {
  const [old, own] = leads[0]!;
  const more = own.endsWith(old) ? own.slice(0, own.length - old.length) : undefined;
  const less = old.endsWith(own) ? old.slice(0, old.length - own.length) : undefined;
  if (more !== undefined && leads.every(([old, own]) => own === more + old))
    return (lead) => (new Set(more + lead).size > 1 ? undefined : more + lead); // no new mixture of tabs and spaces
  if (less !== undefined && leads.every(([old, own]) => old === less + own))
    return (lead) => (lead.startsWith(less) ? lead.slice(less.length) : undefined);
  return undefined;
}

/** So many of one character for every one of the other: tabs for spaces, four spaces for two. */
function scale(leads: Leads): Indent | undefined {
  const [from, to] = [blankOf(leads.map(([old]) => old)), blankOf(leads.map(([, own]) => own))];
  if (!from || !to) return undefined;
  const points = leads.map(([old, own]) => [old.length, own.length] as const).sort(([a], [b]) => a - b);
  const [[x1, y1], [x2, y2]] = [points[0]!, points.at(-1)!];
  if (x1 === x2 && from === to) return undefined;
  const [rate, base] = x1 === x2 ? [y1 / x1, 0] : [(y2 - y1) / (x2 - x1), y1 - (x1 * (y2 - y1)) / (x2 - x1)];
  if (!RATES.includes(rate) || points.some(([x, y]) => base + rate * x !== y)) return undefined;
  return (lead) => {
    const count = base + rate * lead.length;
    const fits = [...lead].every((blank) => blank === from) && Number.isInteger(count) && count >= 0;
    return fits ? to.repeat(count) : undefined;
  };
}
const RATES = [2, 4, 8, 1 / 2, 1 / 4, 1 / 8];

/** The one character that all of them are made of. */
function blankOf(leads: string[]): string | undefined {
  const all = new Set(leads.join(""));
  return all.size === 1 ? [...all][0] : undefined;
}

const isOtherBlank = (leads: Leads): boolean =>
  blankOf(leads.map(([old]) => old)) !== blankOf(leads.map(([, own]) => own));

// Replacing

function piecesOf(text: string): Piece[] {
  const parts = text.split(/(\r?\n)/);
  return Array.from({ length: (parts.length + 1) / 2 }, (_, i) => ({
    text: parts[2 * i]!,
    end: parts[2 * i + 1] ?? "",
  }));
}

/** The new lines; those that old_string has too are the file's own, to the byte. The last has no end: that stays in the file. */
function woven(own: Piece[], { old, fresh }: Lines, end: string, mend: Mend): string | undefined {
  const ends = own.map((piece) => piece.end).filter(Boolean);
  const most = ends.length ? (ends.filter((one) => one === "\r\n").length * 2 > ends.length ? "\r\n" : "\n") : end;
  const out: Piece[] = [];
  let at = 0; // in old
  let gone = 0; // lines of it just before, which the next ones replace
  const parts = diffArrays(old, fresh, { maxEditLength: 2_000 }) ?? [
    { value: old, removed: true },
    { value: fresh, added: true },
  ];
  for (const { value, added, removed } of parts) {
    if (added)
      for (const [i, line] of value.entries()) {
        const text = mend(line, gone === value.length ? at - gone + i : undefined);
        if (text === undefined) return undefined;
        out.push({ text, end: own[gone ? Math.min(at - gone + i, at - 1) : at - 1]?.end || most });
      }
    else if (!removed) for (let i = at; i < at + value.length; i++) out.push(own[i]!);
    if (!added) at += value.length;
    gone = removed ? value.length : 0;
  }
  return out.map(({ text, end }, i) => (i < out.length - 1 ? text + (end || most) : text)).join("");
}

/** A match as a change; none at all when the new text stands there already, as after the same edit. */
function settled(file: File, match: Match, { old_string: old, new_string: fresh, replace_all: all }: Edit) {
  const text = match.text();
  if (text === undefined) return undefined;
  const literal = match.how === "exact" || match.how === "line ends";
  const least = literal ? Math.max(SUBSTANCE, solid(old) + 1) : solid(old);
  const there =
    !all && solid(text) >= least ? (standing(file, text, match) ?? standing(file, fresh, match)) : undefined;
  if (there) return kept(file, there);
  const how = text === rawText(file, match) ? "already" : match.how;
  return { ...rawSpan(file, match), text, how } satisfies Change;
}

const kept = (file: File, span: Span): Change => ({
  ...rawSpan(file, span),
  text: rawText(file, span),
  how: "already",
});

/** Where the text stands: over the whole of a span, or, if there is enough of it, in one place alone. */
function standing(file: File, wanted: string, over?: Span): Span | undefined {
  const text = lf(wanted);
  if (!over && solid(text) < SUBSTANCE) return undefined;
  const whole = file.text.endsWith("\n") ? file.text : `${file.text}\n`; // the last line is a line, ended or not
  const found: number[] = [];
  let at = whole.indexOf(text, over ? Math.max(0, over.to - text.length) : 0);
  for (; at >= 0 && (!over || at <= over.from); at = whole.indexOf(text, at + 1)) {
    const [before, after] = [whole.slice(at - 1, at), whole.slice(at + text.length, at + text.length + 1)];
    if (!isTorn(before, text.slice(0, 1)) && !isTorn(text.slice(-1), after)) found.push(at);
    if (found.length > 1) return undefined;
  }
  return found.length ? { from: found[0]!, to: Math.min(found[0]! + text.length, file.text.length) } : undefined;
}

const solid = (text: string): number => text.replace(/\s+/g, "").length;
const isTorn = (left: string, right: string): boolean => /^[\p{L}\p{N}_]{2}$/u.test(left + right);

function put(body: string, changes: Change[], spots: Spot[], edit: number): string {
  const parts: string[] = [];
  let at = 0;
  let more = 0;
  const fresh = changes.map(({ from, to, text, how }): Spot => {
    parts.push(body.slice(at, from), text);
    const start = from + more;
    const ended = to === body.length || body[to - 1] === "\n";
    const gone = text === "" && ended && (from === 0 || body[from - 1] === "\n");
    at = to;
    more += text.length - (to - from);
    return { edit, how, from: start, to: start + text.length, gone, ended };
  });
  for (const change of changes.toReversed()) for (const spot of spots) move(spot, change);
  spots.push(...fresh);
  return parts.join("") + body.slice(at);
}

/** Where an earlier edit's place is after a later one. */
function move(spot: Spot, { from, to, text }: Change): void {
  const more = text.length - (to - from);
  if (from >= spot.to) return;
  spot.from = to <= spot.from ? spot.from + more : Math.min(spot.from, from);
  spot.to = Math.max(spot.to, to) + more;
}

function placesOf(body: string, spots: Spot[]): Place[] {
  const ends: number[] = [];
  for (let at = body.indexOf("\n"); at >= 0; at = body.indexOf("\n", at + 1)) ends.push(at);
  return spots.map(({ edit, from, to, how, gone, ended }) => {
    const start = below(ends, from) + 1;
    const end = below(ends, ended && to > from ? to - 1 : to) + 1;
    return { edit, start, end: gone && from === to ? start - 1 : end, how };
  });
}

// What is said when there is no one place

function ambiguous(file: File, found: Match[]): string {
  const lines = [...new Set(found.map(({ from }) => below(file.starts, from + 1)))];
  const listed = lines.slice(0, SHOWN).join(", ") + (lines.length > SHOWN ? " …" : "");
  const { how } = found[0]!;
  const where = `${found.length === MANY ? "at least " : ""}${found.length} places (${lines.length === 1 ? "line" : "lines"} ${listed})`;
  if (how === "exact" || how === "line ends")
    return `old_string matches ${where}. Give more of the lines around the one that is meant, or set replace_all.`;
  return `old_string is not there as it stands, and ${HOW[how]} it matches ${where}. Copy the lines exactly, with more around them.`;
}

function missed(file: File, { old_string }: Edit, wasThere: boolean): string {
  const { old } = linesOf({ old_string, new_string: "" });
  const said = ["old_string was not found (0 places)."];
  if (wasThere) said.push("An edit before it changed that text: each sees what the ones before it made.");
  if (old.every((line) => NUMBERED.test(line)))
    said.push("Its lines begin with line numbers, which the file does not hold: leave them out.");
  const near = nearest(file, old);
  if (near.length) said.push("Nearest lines:");
  else said.push("No line is like it. Read the file again.");
  return [said.join(" "), ...near].join("\n");
}

/** The lines of the file that are most like these, numbered. By the three-letter pieces that they share: quick, and typos do little. */
function nearest({ lines }: File, old: string[]): string[] {
  const wanted = old.slice(0, COMPARED).map(piecesOfThree);
  const holders: (number[] | undefined)[] = new Array(KINDS).fill(undefined);
  for (const [i, pieces] of wanted.entries()) for (const piece of new Set(pieces)) (holders[piece] ??= []).push(i);
  const votes = new Float64Array(lines.length + wanted.length); // for each line that might be like old_string's first
  const shared = new Uint32Array(wanted.length);
  for (let at = 0; at < lines.length; at++) {
    shared.fill(0);
    const pieces = piecesOfThree(lines[at]!);
    for (const piece of pieces) for (const i of holders[piece] ?? NONE) shared[i]!++;
    for (let i = 0; i < shared.length; i++) {
      const { length } = wanted[i]!;
      const alike = Math.min(1, shared[i]! / Math.max(pieces.length, length));
      if (alike > 0.3) votes[at - i + wanted.length]! += alike * alike * length;
    }
  }
  const best = votes.reduce((best, vote, i) => (vote > votes[best]! ? i : best), 0);
  if (!votes[best]) return [];
  const top = best - wanted.length;
  const differs = old.findIndex((line, i) => SPACED.key(line) !== SPACED.key(lines[top + i] ?? ""));
  const from = Math.max(0, old.length < SHOWN ? top - 1 : top + Math.max(0, differs - 2));
  const to = Math.min(from + SHOWN, top + old.length + 1);
  return lines
    .slice(from, to)
    .map((line, i) => `${from + i + 1}\t${line.length > WIDEST ? `${line.slice(0, WIDEST)}…` : line}`);
}

const KINDS = 65_536;
const NONE: number[] = [];

function piecesOfThree(line: string): number[] {
  const text = ` ${SPACED.key(line.slice(0, WIDEST)).toLowerCase()} `;
  const pieces: number[] = [];
  for (let i = 2; i < text.length; i++)
    pieces.push(((text.charCodeAt(i - 2) * 31 + text.charCodeAt(i - 1)) * 31 + text.charCodeAt(i)) % KINDS);
  return pieces;
}
