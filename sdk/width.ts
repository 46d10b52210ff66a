// Widths on the screen in columns, with wide characters, emoji and styles.
import { createRequire } from "node:module";
import type { PluginIo } from "../kernel/contract.ts";

/** The columns that a text takes; colours and links take none. */
export function width(shownText: string): number {
  const plainText = shownText.includes("\x1b") ? shownText.replace(STYLE_SEQUENCE, "") : shownText;
  if (ONE_COLUMN_EACH.test(plainText)) return plainText.length;
  if (TWO_COLUMNS_EACH.test(plainText)) return plainText.length * 2;
  stringWidth ??= loadStringWidth().default;
  return stringWidth(plainText);
}

/** Loaded late: it compiles tables of all emoji, which takes longer than the rest of a start. */
let stringWidth: typeof import("string-width").default | undefined;
const loadStringWidth = (): typeof import("string-width") =>
  typeof require === "function"
    ? require("string-width")
    : createRequire(import.meta.url)("string-width"); // the build, or the source

const STYLE_SEQUENCE = /\x1b\[[\d;]*m|\x1b\]8;;[^\x1b]*\x1b\\/g;
const NARROW_CHARS =
  String.raw`\x20-\x7e\xa1-\xac\xae-\u02ff\u0391-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e` +
  String.raw`\u2190-\u2319\u23f4-\u25fc\u2694-\u26a0\u270c-\u2727\u2800-\u28ff`;
const ONE_COLUMN_EACH = new RegExp(`^[${NARROW_CHARS}]*$`);
const WIDE_CHARS =
  String.raw`\u3001-\u3029\u3041-\u3096\u30a1-\u30fe\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3` +
  String.raw`\uff01-\uff60`;
const TWO_COLUMNS_EACH = new RegExp(`^[${WIDE_CHARS}]*$`);

/** The part of a text that fits into so many columns, with … if it was cut. */
export function clip(longText: string, columns: number): string {
  if (longText.length <= MAX_MEASURED_CHARS && width(longText) <= columns) return longText;
  let fittingText = "";
  let columnsUsed = 0;
  for (const { segment } of new Intl.Segmenter().segment(longText)) {
    columnsUsed += width(segment);
    if (columnsUsed > columns) return `${fittingText}…`;
    if (columnsUsed < columns) fittingText += segment;
  }
  return longText.length <= MAX_MEASURED_CHARS ? `${fittingText}…` : longText;
}
const MAX_MEASURED_CHARS = 10_000; // measures no more of it than is shown

/**
 * Breaks a text into lines of at most so many columns, at spaces, or inside of words that are
 * longer.
 */
export function wrap(longText: string, columns: number): string[] {
  return longText
    .split("\n")
    .flatMap((longLine) =>
      width(longLine) <= columns ? [longLine] : wrapLine(longLine, Math.max(columns, 1)),
    );
}

function wrapLine(longLine: string, columns: number): string[] {
  const wrappedLines: string[] = [];
  let [openLine, columnsUsed] = ["", 0];
  for (const textPiece of longLine.match(/\s+|\S+/g) ?? []) {
    const pieceWidth = width(textPiece);
    if (columnsUsed + pieceWidth <= columns)
      [openLine, columnsUsed] = [openLine + textPiece, columnsUsed + pieceWidth];
    else if (/^\s/.test(textPiece)) endLine();
    else {
      if (columnsUsed) endLine();
      if (pieceWidth <= columns) [openLine, columnsUsed] = [textPiece, pieceWidth];
      else
        for (const wordPart of partsOf(textPiece)) {
          const partWidth = width(wordPart);
          if (openLine && columnsUsed + partWidth > columns) endLine();
          [openLine, columnsUsed] = [openLine + wordPart, columnsUsed + partWidth];
        }
    }
  }
  return [...wrappedLines, openLine.trimEnd()];

  function endLine(): void {
    wrappedLines.push(openLine.trimEnd());
    [openLine, columnsUsed] = ["", 0];
  }
}

/** Where an overlong word may be broken: anywhere, except before its closing punctuation. */
function partsOf(longWord: string): string[] {
  const closingMarks = /[,.;:!?)\]}'"]{0,3}$/.exec(longWord)![0];
  const wordParts = Array.from(
    new Intl.Segmenter().segment(longWord.slice(0, longWord.length - closingMarks.length)),
    ({ segment }) => segment,
  );
  return [...wordParts.slice(0, -1), (wordParts.at(-1) ?? "") + closingMarks];
}

/** The columns of the person's terminal; 80 without one. */
export const terminalColumns = ({ stderr }: Pick<PluginIo, "stderr"> = process): number =>
  stderr.columns || 80;

/**
 * Erases the cursor's row and all below, from the beginning of the row. A single sequence would
 * make tmux copy the whole screen into its scrollback when the cursor is in the first row.
 */
export const ERASE_BELOW = "\x1b7\x1b[K\x1b[B\r\x1b[J\x1b8";

/**
 * Whether the terminal rewraps the line at its cursor when it is resized; others keep the rows, and
 * the cursor in its row.
 */
export function rewrapsLines(environment: NodeJS.ProcessEnv | PluginIo["variable"]): boolean {
  const readVariable =
    typeof environment === "function"
      ? environment
      : (variableName: string) => environment[variableName];
  const program = readVariable("TERM_PROGRAM") ?? "";
  if (readVariable("TMUX") || /^tmux/.test(readVariable("TERM") ?? "")) return true;
  if (/^(iTerm\.app|WezTerm|ghostty|Apple_Terminal)$/.test(program)) return true;
  if (program) return false; // the terminal of VS Code keeps the cursor's row
  return [
    "VTE_VERSION",
    "KITTY_WINDOW_ID",
    "WT_SESSION",
    "ALACRITTY_WINDOW_ID",
    "KONSOLE_VERSION",
  ].some(readVariable);
}
