// What of a command's output is held, and what the model is shown of it.
import type { Readable } from "node:stream";
import { anyOf, plural } from "zz/text";
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

function recordText(capture: Captured, newText: string): void {
  const remainingRoom = MAX_HELD_CHARS - capture.front.length;
  capture.front += newText.slice(0, remainingRoom);
  capture.back += newText.slice(remainingRoom);
  if (capture.back.length <= 2 * MAX_HELD_CHARS) return;
  capture.back = capture.back.slice(-MAX_HELD_CHARS);
  capture.cut = true;
}

export function readStream(
  outputStream: Readable,
  captured: Captured[],
  outputStore: OutputStore,
  onOutput: () => void,
  onTooMuch: () => void,
): Promise<void> {
  const decoder = new TextDecoder(); // holds back incomplete characters
  const addOutput = (decodedText: string, byteCount: number) => {
    const lineCount = countOf("\n", decodedText);
    const brokenCount = countOf("\ufffd", decodedText);
    for (const capture of captured) {
      recordText(capture, decodedText);
      capture.bytes += byteCount;
      capture.lines += lineCount;
      capture.broken += brokenCount;
    }
  };
  outputStream.on("data", (newBytes: Buffer) => {
    outputStore.add(newBytes);
    addOutput(decoder.decode(newBytes, { stream: true }), newBytes.length);
    if (captured[0]!.bytes > MAX_FILE_BYTES) onTooMuch();
    onOutput();
  });
  return new Promise((resolve) => {
    outputStream.on("error", () => {}); // only its end matters
    outputStream.on("end", () => addOutput(decoder.decode(), 0));
    outputStream.on("close", resolve);
  });
}

function countOf(character: string, text: string): number {
  let count = 0;
  for (let i = text.indexOf(character); i >= 0; i = text.indexOf(character, i + 1)) count++;
  return count;
}

export function shorten(
  capture: Captured,
  outputFile: string | undefined,
  veilOutput = (output: string) => output,
): { text: string; whole: boolean } {
  const readable = (rawText: string) => veilOutput(outputForModel(rawText));
  const wholeText = capture.cut ? undefined : readable(capture.front + capture.back);
  const maxShown = MAX_SHOWN_CHARS - NOTES_CHARS;
  if (wholeText !== undefined && wholeText.length <= maxShown)
    return { text: wholeText, whole: true };
  const shownHead = keepHead(
    wholeText ?? readable(capture.front),
    Math.floor(maxShown * HEAD_SHARE),
  );
  const shownTail = keepTail(
    wholeText ?? readable(capture.back),
    Math.floor(maxShown * (1 - HEAD_SHARE)),
  );
  const shownLines = countOf("\n", shownHead + shownTail);
  const hiddenLines = Math.max(0, capture.lines - shownLines);
  const hiddenBytes = Math.max(0, capture.bytes - Buffer.byteLength(shownHead + shownTail));
  const fileNote = outputFile ? `; all of it is in ${outputFile}` : "";
  return {
    text:
      `${shownHead}\n[… ${plural(hiddenLines, "line")}, ` +
      `${plural(hiddenBytes, "byte")} left out${fileNote}]\n${shownTail}`,
    whole: false,
  };
}
function keepHead(text: string, maxChars: number): string {
  const lineEnd = text.lastIndexOf("\n", maxChars);
  return (lineEnd > maxChars / 2 ? text.slice(0, lineEnd) : text.slice(0, maxChars)).toWellFormed();
}

function keepTail(text: string, maxChars: number): string {
  const tailText = text.slice(-maxChars);
  const lineEnd = tailText.indexOf("\n");
  return (
    lineEnd >= 0 && lineEnd < maxChars / 2 ? tailText.slice(lineEnd + 1) : tailText
  ).toWellFormed();
}
const TERMINAL_CODES = anyOf(
  /\x1b\[[0-?]*[ -/]*([@-~])?|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?/g,
  /\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b[ -/]*[0-~]/g,
);
const CONTROLS = /[\0-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]/g;
/**
 * The text as a terminal would show it: without control codes, and only the last state of a line
 * that was overwritten.
 */
export function outputForModel(rawOutput: string): string {
  const plainOutput = rawOutput
    .replace(TERMINAL_CODES, (terminalCode, finalLetter) =>
      finalLetter === "K" ? terminalCode : "",
    )
    .replace(CONTROLS, "");
  if (!/[\r\b\x1b]/.test(plainOutput)) return plainOutput;
  return plainOutput
    .split(/\r*\n/)
    .map((outputLine) => (/[\r\b\x1b]/.test(outputLine) ? lastState(outputLine) : outputLine))
    .join("\n");
}

function lastState(outputLine: string): string {
  // replaying it would take long
  if (outputLine.length > 20_000) outputLine = outputLine.replace(/\r+$/, "").replace(/^.*\r/s, "");
  let [shownCells, cursorColumn] = ["", 0];
  for (const linePart of outputLine.split(/(\r|\x08|\x1b\[[\d;]*K|\x1b)/)) {
    if (linePart === "" || linePart === "\x1b") continue;
    if (linePart === "\r") cursorColumn = 0;
    else if (linePart === "\b") cursorColumn = Math.max(0, cursorColumn - 1);
    else if (linePart.startsWith("\x1b[1"))
      shownCells = " ".repeat(cursorColumn) + shownCells.slice(cursorColumn);
    else if (linePart.startsWith("\x1b[2")) shownCells = "";
    else if (linePart.startsWith("\x1b[")) shownCells = shownCells.slice(0, cursorColumn);
    else {
      shownCells =
        shownCells.slice(0, cursorColumn).padEnd(cursorColumn) +
        linePart +
        shownCells.slice(cursorColumn + linePart.length);
      cursorColumn += linePart.length;
    }
  }
  return shownCells;
}
