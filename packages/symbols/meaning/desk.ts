// Where one question to a language server is worked on: the texts of files, and what a place in
// them is for the server and for the tools.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, LanguageServer, Point, Spot } from "zz";
import { stampOf } from "zz/text";
import type { State } from "../answers/tool-state.ts";
import { readText } from "../encoding.ts";
import type { Index } from "../index-view.ts";
import { readability } from "../may-read.ts";
import { bothSides } from "../scan/conflict.ts";
import { type Facts, MAX_TEXT_CHARS } from "../scan/facts.ts";
import { lineStarts } from "../scan/line-numbers.ts";
import type { CodeUse, SymbolSpot } from "./code-uses.ts";
import { kindAt } from "./kinds.ts";

const BYTE_ORDER_MARK = "\ufeff";

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
  mayShow(filePath: string): boolean; // a file that may be read, and is there
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
  const mayShow = readability(
    ctx,
    (filePath) => index.entries.has(filePath) || isFile(path.join(state.root, filePath)),
  );
  const reason = await ctx.service("languageServers")?.answer(
    {
      file,
      stamps: stampsOf(state, index),
      textOf: async (filePath) => shownText((await readText(ctx, filePath)).text),
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
  else if (!answer) answer = { error: new NoServer(CODE_OFF) };
  else state.hasServer = true;
  if (answer && "value" in answer) return answer.value;
  const { error } = answer!;
  if (instead && error instanceof NoServer) return instead(error.message);
  throw error;
}

const CODE_OFF = "the plugin 'code' is off (/plugins on code turns it on)";
const isFile = (file: string) => fs.statSync(file, { throwIfNoEntry: false })?.isFile() === true;

/** Starts the server of such a file, while the index is brought up to date. */
export function startServerEarly(filePath: string | undefined, ctx: Ctx): void {
  const question = {
    file: filePath ?? "index.ts",
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
    .filter((filePath) => READ_TOO.test(filePath) && !index.entries.has(filePath))
    .map((filePath) => [filePath, stampOf(path.join(state.root, filePath))] as const);
  const earlier = state.stamps;
  const isUnchanged =
    earlier?.version === index.version &&
    unlisted.every(([filePath, fileStamp]) => earlier.all.get(filePath) === fileStamp);
  if (isUnchanged && earlier.names === index.names) return earlier.all;
  const fileStamps = new Map(unlisted);
  for (const filePath of index.files) fileStamps.set(filePath, index.entries.get(filePath)!.hash);
  state.stamps = { version: index.version, names: index.names, all: fileStamps };
  return fileStamps;
}
const READ_TOO = /\.(?:[cm]?[jt]sx?|json)$/i;

export async function textAt(desk: Desk, filePath: string): Promise<Text> {
  const openedText = desk.texts.get(filePath);
  if (openedText) return openedText;
  const hash = desk.index.entries.get(filePath)?.hash;
  const keptText = desk.state.texts.get(filePath);
  const isKeptCurrent = hash && keptText?.hash === hash;
  const fileText = isKeptCurrent
    ? keptText.text
    : textOf(desk, filePath, (await readText(desk.ctx, filePath)).text);
  desk.texts.set(filePath, fileText);
  if (desk.state.texts.size >= MAX_KEPT) desk.state.texts.clear();
  if (hash) desk.state.texts.set(filePath, { hash, text: fileText });
  return fileText;
}
export const MAX_KEPT = 200; // texts, for the next question
/** As if a file had this text. */
export function textOf({ index }: Desk, filePath: string, text: string): Text {
  const mark = text.startsWith(BYTE_ORDER_MARK) ? 1 : 0;
  return {
    text,
    lines: linesOf(text),
    rows: lineStarts(text),
    mark,
    facts: index.facts(filePath),
    places: new Map(),
    points: new Map(),
  };
}
/** For a server a carriage return alone ends a line, too. */
function linesOf(fileText: string): number[] {
  const lineOffsets = [0];
  for (const { index, 0: lineEnd } of fileText.matchAll(/\r\n|\r|\n/g))
    lineOffsets.push(index + lineEnd.length);
  return lineOffsets;
}
/** Both sides of a merge conflict count. */
const shownText = (fileText: string) =>
  bothSides(fileText.startsWith(BYTE_ORDER_MARK) ? fileText.slice(1) : fileText);

export async function showFile(desk: Desk, filePath: string): Promise<void> {
  if (!desk.server.shows(filePath))
    desk.server.show(filePath, shownText((await textAt(desk, filePath)).text));
}

export async function offsetOf(
  desk: Desk,
  { path: file, line, character }: Point,
): Promise<number> {
  const { text, lines, mark } = await textAt(desk, file);
  const lineStart = lines[line] ?? text.length;
  return Math.min(lineStart + character + (line === 0 ? mark : 0), text.length);
}
export async function pointAt(desk: Desk, filePath: string, offset: number): Promise<Point> {
  const { lines, mark } = await textAt(desk, filePath);
  const line = lines.findLastIndex((lineStart) => lineStart <= offset);
  return { path: filePath, line, character: offset - lines[line]! - (line === 0 ? mark : 0) };
}

export async function toCodeUse(desk: Desk, spot: Spot): Promise<CodeUse> {
  const startOffset = await offsetOf(desk, spot);
  const endOffset = await offsetOf(desk, {
    ...spot,
    line: spot.endLine,
    character: spot.endCharacter,
  });
  return codeUseAt(desk, spot.path, startOffset, endOffset);
}
export async function codeUseAt(
  desk: Desk,
  filePath: string,
  start: number,
  end: number,
): Promise<CodeUse> {
  const { text, rows, facts, places } = await textAt(desk, filePath);
  const earlier = places.get(`${start} ${end}`);
  if (earlier) return earlier;
  const rowIndex = rows.findLastIndex((rowStart) => rowStart <= start);
  const lineText = text.slice(rows[rowIndex], rows[rowIndex + 1]);
  const codeUse: CodeUse = {
    path: filePath,
    line: rowIndex + 1,
    column: start - rows[rowIndex]! + 1,
    start,
    end,
    text: lineText
      .replace(/[\r\u2028\u2029]/g, " ")
      .trim()
      .slice(0, MAX_TEXT_CHARS),
    kind: kindAt(text, start, end, facts, rowIndex + 1),
  };
  places.set(`${start} ${end}`, codeUse);
  return codeUse;
}

/** Where the name of a declaration stands. */
export async function locate(desk: Desk, targetSpot: SymbolSpot): Promise<Point> {
  const targetText = await textAt(desk, targetSpot.path);
  await showFile(desk, targetSpot.path);
  const pointKey = `${targetSpot.line} ${targetSpot.name}`;
  const namePoint =
    targetText.points.get(pointKey) ?? (await pointOf(desk, targetSpot, targetText));
  targetText.points.set(pointKey, namePoint);
  return namePoint;
}
async function pointOf(
  desk: Desk,
  { path: filePath, line, name }: SymbolSpot,
  { text, rows, facts }: Text,
): Promise<Point> {
  if (name !== "default") {
    const rowIndex = line - 1;
    const namedSymbols = (await desk.server.symbols(filePath)).filter(
      (declared) => stripName(declared.name) === name,
    );
    const exactSymbol =
      namedSymbols.find((declared) => declared.begins === rowIndex) ??
      namedSymbols.find((declared) => declared.line === rowIndex);
    const enclosingSymbol = namedSymbols.find(
      (declared) => declared.begins < rowIndex && rowIndex <= declared.line,
    );
    const located = exactSymbol ?? enclosingSymbol;
    if (located) {
      const nameOffset = await offsetOf(desk, located);
      return pointAt(
        desk,
        filePath,
        text[nameOffset] === "'" || text[nameOffset] === '"' ? nameOffset + 1 : nameOffset,
      );
    }
  }
  const indexedSymbol = facts?.symbols.find(
    (candidate) => candidate.line === line && candidate.name === name,
  );
  const lastLine = indexedSymbol?.end ?? line;
  const startOffset = rows[line - 1] ?? text.length;
  const symbolText = text.slice(startOffset, rows[lastLine] ?? text.length);
  const nameOffset =
    wordIn(symbolText, name) ?? (name === "default" ? wordIn(symbolText, "export") : undefined);
  if (nameOffset === undefined)
    throw new NoAnswer(
      `Cannot find '${name}' at ${filePath}:${line}: ` +
        `nothing there has that name for ${desk.server.name}. Use grep, or read_file there.`,
    );
  return pointAt(desk, filePath, startOffset + nameOffset);
}
const stripName = (declaredName: string) =>
  declaredName.replace(/^(["'])(.*)\1$/, "$2").replace(/\(.*$/s, "");

/** Where it stands as a whole word. */
export function wordIn(text: string, word: string, from = 0): number | undefined {
  for (let index = text.indexOf(word, from); index >= 0; index = text.indexOf(word, index + 1))
    if (!WORD_PART.test(text[index - 1] ?? "") && !WORD_PART.test(text[index + word.length] ?? ""))
      return index;
  return undefined;
}
const WORD_PART = /[\p{L}\p{N}_$#]/u;

/** Of what hover says, the first line that is no marker of a block. */
export async function titleOf(desk: Desk, symbolPoint: Point, fallback: string): Promise<string> {
  if (!desk.server.isSafe) return fallback;
  const hoverText = await desk.server.hover(symbolPoint);
  const titleLine =
    hoverText.split("\n").find((hoverLine) => hoverLine.trim() && !hoverLine.startsWith("```")) ??
    fallback;
  return titleLine.replace(/\s+/g, " ").slice(0, MAX_TEXT_CHARS);
}

/** What a function takes and gives, where a server is there already: it is not started for this. */
export async function typeOf(
  state: State,
  index: Index,
  targetSpot: SymbolSpot,
  ctx: Ctx,
): Promise<string> {
  if (!state.hasServer || !READ_TOO.test(targetSpot.path)) return "";
  const askForTitle = async (desk: Desk) => titleOf(desk, await locate(desk, targetSpot), "");
  return atDesk(state, index, targetSpot.path, ctx, askForTitle).catch((error) => {
    if (error instanceof NoServer || error instanceof NoAnswer) return "";
    throw error;
  });
}
