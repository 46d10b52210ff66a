// Where one question to a language server is worked on: the texts of files, and what a place in
// them is for the server and for the tools.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, LanguageServer, Point, Spot } from "zz";
import type { State } from "../answers/tool-state.ts";
import { readText } from "../encoding.ts";
import type { Index } from "../index-view.ts";
import { readability } from "../may-read.ts";
import { bothSides } from "../scan/conflict.ts";
import type { Facts } from "../scan/facts.ts";
import { lineStarts } from "../scan/line-numbers.ts";
import type { CodeUse, SymbolSpot } from "./code-uses.ts";
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
  places: Map<string, CodeUse>; // that were looked at
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
  instead?: (reason: string) => T,
): Promise<T> {
  let answer: { value: T } | { error: unknown } | undefined;
  const mayShow = readability(ctx);
  const reason = await ctx.service("languageServers")?.answer(
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
  if (reason) answer = { error: new NoServer(reason) };
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
  const earlier = state.stamps;
  const isSame =
    earlier?.version === index.version &&
    unlisted.every(([name, stamp]) => earlier.all.get(name) === stamp);
  if (isSame && earlier.names === index.names) return earlier.all;
  const stamps = new Map(unlisted);
  for (const name of index.files) stamps.set(name, index.entries.get(name)!.hash);
  state.stamps = { version: index.version, names: index.names, all: stamps };
  return stamps;
}
const READ_TOO = /\.(?:[cm]?[jt]sx?|json)$/i;

export async function textAt(desk: Desk, file: string): Promise<Text> {
  const opened = desk.texts.get(file);
  if (opened) return opened;
  const hash = desk.index.entries.get(file)?.hash;
  const kept = desk.state.texts.get(file);
  const isKept = hash && kept?.hash === hash;
  const fileText = isKept ? kept.text : textOf(desk, file, (await readText(desk.ctx, file)).text);
  desk.texts.set(file, fileText);
  if (desk.state.texts.size >= MAX_KEPT) desk.state.texts.clear();
  if (hash) desk.state.texts.set(file, { hash, text: fileText });
  return fileText;
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

export async function showFile(desk: Desk, file: string): Promise<void> {
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

export async function toCodeUse(desk: Desk, spot: Spot): Promise<CodeUse> {
  const start = await offsetOf(desk, spot);
  const end = await offsetOf(desk, { ...spot, line: spot.endLine, character: spot.endCharacter });
  return codeUseAt(desk, spot.path, start, end);
}
export async function codeUseAt(
  desk: Desk,
  file: string,
  start: number,
  end: number,
): Promise<CodeUse> {
  const { text, rows, facts, places } = await textAt(desk, file);
  const earlier = places.get(`${start} ${end}`);
  if (earlier) return earlier;
  const row = rows.findLastIndex((from) => from <= start);
  const line = text.slice(rows[row], rows[row + 1]);
  const use: CodeUse = {
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
  places.set(`${start} ${end}`, use);
  return use;
}

/** Where the name of a declaration stands. */
export async function locate(desk: Desk, target: SymbolSpot): Promise<Point> {
  const text = await textAt(desk, target.path);
  await showFile(desk, target.path);
  const key = `${target.line} ${target.name}`;
  const point = text.points.get(key) ?? (await pointOf(desk, target, text));
  text.points.set(key, point);
  return point;
}
async function pointOf(
  desk: Desk,
  { path: file, line, name }: SymbolSpot,
  { text, rows, facts }: Text,
): Promise<Point> {
  if (name !== "default") {
    const row = line - 1;
    const named = (await desk.server.symbols(file)).filter(
      (declared) => bare(declared.name) === name,
    );
    const exact =
      named.find((declared) => declared.begins === row) ??
      named.find((declared) => declared.line === row);
    const around = named.find((declared) => declared.begins < row && row <= declared.line);
    const located = exact ?? around;
    if (located) {
      const start = await offsetOf(desk, located);
      return pointAt(desk, file, text[start] === "'" || text[start] === '"' ? start + 1 : start);
    }
  }
  const symbol = facts?.symbols.find((sym) => sym.line === line && sym.name === name);
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
  for (let index = text.indexOf(name, from); index >= 0; index = text.indexOf(name, index + 1))
    if (!PART.test(text[index - 1] ?? "") && !PART.test(text[index + name.length] ?? ""))
      return index;
  return undefined;
}
const PART = /[\p{L}\p{N}_$#]/u;

/** Of what hover says, the first line that is no marker of a block. */
export async function titleOf(desk: Desk, point: Point, name: string): Promise<string> {
  if (!desk.server.isSafe) return name;
  const hoverText = await desk.server.hover(point);
  const line = hoverText.split("\n").find((row) => row.trim() && !row.startsWith("```")) ?? name;
  return line.replace(/\s+/g, " ").slice(0, MAX_LINE_CHARS);
}

/** What a function takes and gives, where a server is there already: it is not started for this. */
export async function typeOf(
  state: State,
  index: Index,
  target: SymbolSpot,
  ctx: Ctx,
): Promise<string> {
  if (!state.hasServer || !READ_TOO.test(target.path)) return "";
  const ask = async (desk: Desk) => titleOf(desk, await locate(desk, target), "");
  return atDesk(state, index, target.path, ctx, ask).catch((error) => {
    if (error instanceof NoServer || error instanceof NoAnswer) return "";
    throw error;
  });
}
