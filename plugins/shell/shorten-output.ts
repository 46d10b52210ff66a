// What of a command's output is held, and what the model is shown of it.
import type { Readable } from "node:stream";
import { plural } from "zz/text";
import { MAX_FILE_BYTES, MAX_SHOWN_CHARS, type OutputStore } from "./keep-outputs.ts";

const NOTES_CHARS = 1_000; // of MAX_SHOWN_CHARS, reserved for zz's own notes
const HEAD_SHARE = 0.4; // of what is shown of a long output; the rest goes to its end
const MAX_HELD_CHARS = 200_000; // kept of each end; what is shown is made from them

/** Both ends of an output of any length. */
export interface Captured {
  front: string;
  back: string;
  cut: boolean; // something between them was dropped
  lines: number;
  bytes: number;
  broken: number; // characters that were not valid UTF-8
}

export function newCapture(): Captured {
  return { front: "", back: "", cut: false, lines: 0, bytes: 0, broken: 0 };
}

function recordText(capture: Captured, text: string): void {
  const room = MAX_HELD_CHARS - capture.front.length;
  if (room > 0) capture.front += text.slice(0, room);
  if (room < text.length) capture.back += room > 0 ? text.slice(room) : text;
  if (capture.back.length <= 2 * MAX_HELD_CHARS) return;
  capture.back = capture.back.slice(-MAX_HELD_CHARS);
  capture.cut = true;
}

export function readStream(
  stream: Readable,
  captured: Captured[],
  file: OutputStore,
  onOutput: () => void,
  onTooMuch: () => void,
): Promise<void> {
  const decoder = new TextDecoder(); // holds back incomplete characters
  const add = (text: string, bytes: Uint8Array) => {
    const [lines, broken] = [
      countByte(bytes, 10),
      text.includes("\ufffd") ? text.split("\ufffd").length - 1 : 0,
    ];
    for (const capture of captured) {
      recordText(capture, text);
      capture.bytes += bytes.length;
      capture.lines += lines;
      capture.broken += broken;
    }
  };
  stream.on("data", (bytes: Buffer) => {
    file.add(bytes);
    add(decoder.decode(bytes, { stream: true }), bytes);
    if (captured[0]!.bytes > MAX_FILE_BYTES) onTooMuch();
    onOutput();
  });
  return new Promise((resolve) => {
    stream.on("error", () => {}); // only its end matters
    stream.on("end", () => add(decoder.decode(), new Uint8Array()));
    stream.on("close", resolve);
  });
}

function countByte(bytes: Uint8Array, byte: number): number {
  let total = 0;
  for (let i = 0; i < bytes.length; i++) if (bytes[i] === byte) total++;
  return total;
}

export function shorten(
  capture: Captured,
  file: string | undefined,
  veil: ((output: string) => string) | undefined,
): { text: string; whole: boolean } {
  const readable = (text: string) => veil?.(outputForModel(text)) ?? outputForModel(text);
  const wholeText = capture.cut ? undefined : readable(capture.front + capture.back);
  const room = MAX_SHOWN_CHARS - NOTES_CHARS;
  if (wholeText !== undefined && wholeText.length <= room) return { text: wholeText, whole: true };
  const head = keepHead(wholeText ?? readable(capture.front), Math.floor(room * HEAD_SHARE));
  const end = keepTail(wholeText ?? readable(capture.back), Math.floor(room * (1 - HEAD_SHARE)));
  const lines = Math.max(0, capture.lines - breaks(head) - breaks(end));
  const bytes = Math.max(0, capture.bytes - Buffer.byteLength(head) - Buffer.byteLength(end));
  const where = file ? `; all of it is in ${file}` : "";
  return {
    text: `${head}\n[… ${plural(lines, "line")}, ${plural(bytes, "byte")} left out${where}]\n${end}`,
    whole: false,
  };
}
const breaks = (text: string) => text.split("\n").length - 1;
function keepHead(text: string, maxChars: number): string {
  const lineEnd = text.lastIndexOf("\n", maxChars);
  return (lineEnd > maxChars / 2 ? text.slice(0, lineEnd) : text.slice(0, maxChars)).toWellFormed();
}

function keepTail(text: string, maxChars: number): string {
  const tail = text.slice(-maxChars);
  const lineEnd = tail.indexOf("\n");
  return (lineEnd >= 0 && lineEnd < maxChars / 2 ? tail.slice(lineEnd + 1) : tail).toWellFormed();
}
const CODES =
  /\x1b\[[0-?]*[ -/]*([@-~])?|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b[ -/]*[0-~]/g;
const CONTROLS = /[\0-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]/g;
/**
 * The text as a terminal would show it: without control codes, and only the last state of a line
 * that was overwritten.
 */
export function outputForModel(raw: string): string {
  const plain = raw.replace(CODES, (code, end) => (end === "K" ? code : "")).replace(CONTROLS, "");
  if (!/[\r\b\x1b]/.test(plain)) return plain;
  return plain
    .split(/\r*\n/)
    .map((line) => (/[\r\b\x1b]/.test(line) ? lastState(line) : line))
    .join("\n");
}

function lastState(line: string): string {
  // replaying it would take long
  if (line.length > 20_000) line = line.replace(/\r+$/, "").replace(/^.*\r/s, "");
  let [cells, column] = ["", 0];
  for (const part of line.split(/(\r|\x08|\x1b\[[\d;]*K|\x1b)/)) {
    if (part === "" || part === "\x1b") continue;
    if (part === "\r") column = 0;
    else if (part === "\b") column = Math.max(0, column - 1);
    else if (part.startsWith("\x1b[1")) cells = " ".repeat(column) + cells.slice(column);
    else if (part.startsWith("\x1b[2")) cells = "";
    else if (part.startsWith("\x1b[")) cells = cells.slice(0, column);
    else {
      cells = cells.slice(0, column).padEnd(column) + part + cells.slice(column + part.length);
      column += part.length;
    }
  }
  return cells;
}
