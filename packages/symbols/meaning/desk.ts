// Where one question to a language server is worked on: the texts of files, and what a place in
// them is for the server and for the tools.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, LanguageServer, Point, Spot } from "zz";
import type { State } from "../answers/state.ts";
import { readText } from "../encoding.ts";
import { type Index, readability } from "../project.ts";
import { bothSides } from "../scan/conflict.ts";
import type { Facts } from "../scan/facts.ts";
import { lineStarts } from "../scan/lines.ts";
import type { At, Place } from "./contract.ts";
import { kindAt } from "./kinds.ts";

const MAX_LINE_CHARS = 120; // of the text of a place
const BOM = "\ufeff";

/** There is no server for the file, or none that works: why, as a part of a sentence. */
export class NoServer extends Error {}
/** The server looked, and cannot tell. */
export class NoAnswer extends Error {}

export interface Desk {
  state: State;
  index: Index;
  ctx: Ctx;
  server: LanguageServer;
  texts: Map<string, Text>;
  mayShow(file: string): boolean; // each file is judged once for one answer
}
export interface Text {
  text: string; // as read, with its mark
  lines: number[]; // where its lines begin, as servers count them
  rows: number[]; // the same, as all other tools count
  mark: number; // 1: it begins with a byte order mark, which servers do not see
  facts: Facts | undefined;
  places: Map<string, Place>; // that were looked at
  points: Map<string, Point>; // where declarations have their names, as they were located
}

/**
 * `ask` may be asked twice, with another server. `instead`: where there is none, or none that
 * knows; told why.
 */
export async function atDesk<T>(
  state: State,
  index: Index,
  file: string,
  ctx: Ctx,
  ask: (desk: Desk) => Promise<T>,
  instead?: (why: string) => T,
): Promise<T> {
  let answer: { value: T } | { error: unknown } | undefined;
  const mayShow = readability(ctx);
  const why = await ctx.service("languageServers")?.answer(
    {
      file,
      stamps: stampsOf(state, index),
      textOf: async (name) => shownText((await readText(ctx, name)).text),
      ask: async (server) => {
        const desk: Desk = { state, index, ctx, server, texts: new Map(), mayShow };
        try {
          answer = { value: await ask(desk) };
        } catch (error) {
          // it is started again
          if (ctx.signal.aborted || (error as { isOver?: true }).isOver) throw error;
          const { isRefusal, message } = error as { isRefusal?: true; message: string };
          answer = {
            error: isRefusal ? new NoServer(`${server.name} refused: ${message}`) : error,
          };
        }
      },
    },
    ctx,
  );
  if (why) answer = { error: new NoServer(why) };
  else if (!answer) answer = { error: new NoServer("the plugin 'code' is turned off") };
  else state.hasServer = true;
  if (answer && "value" in answer) return answer.value;
  const { error } = answer!;
  if (instead && error instanceof NoServer) return instead(error.message);
  throw error;
}

/** Starts the server of such a file, while the index is brought up to date. */
export function wake(file: string | undefined, ctx: Ctx): void {
  const question = {
    file: file ?? "index.ts",
    stamps: new Map(),
    textOf: async () => "",
    ask: async () => {},
  };
  if (READ_TOO.test(question.file))
    void ctx
      .service("languageServers")
      ?.answer(question, ctx)
      .catch(() => {});
}

/** What tells whether a file is still the one that a server has read. */
function stampsOf(state: State, index: Index): ReadonlyMap<string, string> {
  const unlisted = index.names
    .filter((name) => READ_TOO.test(name) && !index.entries.has(name))
    .map((name): [string, string] => {
      const stat = fs.statSync(path.join(state.root, name), { throwIfNoEntry: false });
      return [name, [stat?.mtimeMs, stat?.size].join(" ")];
    });
  const known = state.stamps;
  const isSame =
    known?.version === index.version &&
    unlisted.every(([name, stamp]) => known.all.get(name) === stamp);
  if (isSame && known.names === index.names) return known.all;
  const all = new Map(unlisted);
  for (const name of index.files) all.set(name, index.entries.get(name)!.hash);
  state.stamps = { version: index.version, names: index.names, all };
  return all;
}
const READ_TOO = /\.(?:[cm]?[jt]sx?|json)$/i;

export async function textAt(desk: Desk, file: string): Promise<Text> {
  const known = desk.texts.get(file);
  if (known) return known;
  const hash = desk.index.entries.get(file)?.hash;
  const kept = desk.state.texts.get(file);
  const isKept = hash && kept?.hash === hash;
  const made = isKept ? kept.text : textOf(desk, file, (await readText(desk.ctx, file)).text);
  desk.texts.set(file, made);
  if (desk.state.texts.size >= MAX_KEPT) desk.state.texts.clear();
  if (hash) desk.state.texts.set(file, { hash, text: made });
  return made;
}
const MAX_KEPT = 200; // texts, for the next question
/** As if a file had this text. */
export function textOf({ index }: Desk, file: string, text: string): Text {
  const mark = text.startsWith(BOM) ? 1 : 0;
  return {
    text,
    lines: linesOf(text),
    rows: lineStarts(text),
    mark,
    facts: index.facts(file),
    places: new Map(),
    points: new Map(),
  };
}
/** For a server a carriage return alone ends a line, too. */
function linesOf(text: string): number[] {
  const lines = [0];
  for (const { index, 0: end } of text.matchAll(/\r\n|\r|\n/g)) lines.push(index + end.length);
  return lines;
}
/** Both sides of a merge conflict count. */
const shownText = (text: string): string => bothSides(text.startsWith(BOM) ? text.slice(1) : text);

export async function show(desk: Desk, file: string): Promise<void> {
  if (!desk.server.shows(file)) desk.server.show(file, shownText((await textAt(desk, file)).text));
}

export async function offsetOf(
  desk: Desk,
  { path: file, line, character }: Point,
): Promise<number> {
  const { text, lines, mark } = await textAt(desk, file);
  const from = lines[line] ?? text.length;
  return Math.min(from + character + (line === 0 ? mark : 0), text.length);
}
export async function pointAt(desk: Desk, file: string, offset: number): Promise<Point> {
  const { lines, mark } = await textAt(desk, file);
  const line = lines.findLastIndex((start) => start <= offset);
  return { path: file, line, character: offset - lines[line]! - (line === 0 ? mark : 0) };
}

export async function placeOf(desk: Desk, spot: Spot): Promise<Place> {
  const start = await offsetOf(desk, spot);
  const end = await offsetOf(desk, { ...spot, line: spot.endLine, character: spot.endCharacter });
  return placeAt(desk, spot.path, start, end);
}
export async function placeAt(
  desk: Desk,
  file: string,
  start: number,
  end: number,
): Promise<Place> {
  const { text, rows, facts, places } = await textAt(desk, file);
  const known = places.get(`${start} ${end}`);
  if (known) return known;
  const row = rows.findLastIndex((from) => from <= start);
  const line = text.slice(rows[row], rows[row + 1]);
  const made: Place = {
    path: file,
    line: row + 1,
    column: start - rows[row]! + 1,
    start,
    end,
    text: line
      .replace(/[\r\u2028\u2029]/g, " ")
      .trim()
      .slice(0, MAX_LINE_CHARS),
    kind: kindAt(text, start, end, facts, row + 1),
  };
  places.set(`${start} ${end}`, made);
  return made;
}

/** Where the name of a declaration stands. */
export async function locate(desk: Desk, at: At): Promise<Point> {
  const text = await textAt(desk, at.path);
  await show(desk, at.path);
  const key = `${at.line} ${at.name}`;
  const point = text.points.get(key) ?? (await pointOf(desk, at, text));
  text.points.set(key, point);
  return point;
}
async function pointOf(
  desk: Desk,
  { path: file, line, name }: At,
  { text, rows, facts }: Text,
): Promise<Point> {
  if (name !== "default") {
    const row = line - 1;
    const named = (await desk.server.symbols(file)).filter((one) => bare(one.name) === name);
    const exact = named.find((one) => one.begins === row) ?? named.find((one) => one.line === row);
    const around = named.find((one) => one.begins < row && row <= one.line);
    const found = exact ?? around;
    if (found) {
      const start = await offsetOf(desk, found);
      return pointAt(desk, file, text[start] === "'" || text[start] === '"' ? start + 1 : start);
    }
  }
  const symbol = facts?.symbols.find((one) => one.line === line && one.name === name);
  const last = symbol?.end ?? line;
  const from = rows[line - 1] ?? text.length;
  const part = text.slice(from, rows[last] ?? text.length);
  const start = wordIn(part, name) ?? (name === "default" ? wordIn(part, "export") : undefined);
  if (start === undefined)
    throw new NoAnswer(
      `Cannot find '${name}' at ${file}:${line}: nothing there has that name for ${desk.server.name}. Use grep, or read_file there.`,
    );
  return pointAt(desk, file, from + start);
}
const bare = (name: string): string => name.replace(/^(["'])(.*)\1$/, "$2").replace(/\(.*$/s, "");

/** Where it stands as a whole word. */
export function wordIn(text: string, name: string, from = 0): number | undefined {
  for (let at = text.indexOf(name, from); at >= 0; at = text.indexOf(name, at + 1))
    if (!PART.test(text[at - 1] ?? "") && !PART.test(text[at + name.length] ?? "")) return at;
  return undefined;
}
const PART = /[\p{L}\p{N}_$#]/u;

/** Of what hover says, the first line that is no marker of a block. */
export async function titleOf(desk: Desk, at: Point, name: string): Promise<string> {
  if (!desk.server.isSafe) return name;
  const said = await desk.server.hover(at);
  const line = said.split("\n").find((one) => one.trim() && !one.startsWith("```")) ?? name;
  return line.replace(/\s+/g, " ").slice(0, MAX_LINE_CHARS);
}

/** What a function takes and gives, where a server is there already: it is not started for this. */
export async function typeOf(state: State, index: Index, at: At, ctx: Ctx): Promise<string> {
  if (!state.hasServer || !READ_TOO.test(at.path)) return "";
  const ask = async (desk: Desk) => titleOf(desk, await locate(desk, at), "");
  return atDesk(state, index, at.path, ctx, ask).catch((error) => {
    if (error instanceof NoServer || error instanceof NoAnswer) return "";
    throw error;
  });
}
