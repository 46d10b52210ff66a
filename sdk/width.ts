// Widths on the screen in columns, with wide characters, emoji and styles.
import { createRequire } from "node:module";
import type { PluginIo } from "../kernel/contract.ts";

/** The columns that a text takes; colours and links take none. */
export function width(text: string): number {
  const plain = text.includes("\x1b") ? text.replace(STYLE, "") : text;
  if (ONE_COLUMN_EACH.test(plain)) return plain.length;
  if (TWO_COLUMNS_EACH.test(plain)) return plain.length * 2;
  stringWidth ??= loadStringWidth().default;
  return stringWidth(plain);
}

/** Loaded late: it compiles tables of all emoji, which takes longer than the rest of a start. */
let stringWidth: typeof import("string-width").default | undefined;
const loadStringWidth = (): typeof import("string-width") =>
  typeof require === "function"
    ? require("string-width")
    : createRequire(import.meta.url)("string-width"); // the build, or the source

const STYLE = /\x1b\[[\d;]*m|\x1b\]8;;[^\x1b]*\x1b\\/g;
const ONE_COLUMN_EACH =
  /^[\x20-\x7e\xa1-\xac\xae-\u02ff\u0391-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e\u2190-\u2319\u23f4-\u25fc\u2694-\u26a0\u270c-\u2727\u2800-\u28ff]*$/;
const TWO_COLUMNS_EACH =
  /^[\u3001-\u3029\u3041-\u3096\u30a1-\u30fe\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60]*$/;

/** The part of a text that fits into so many columns, with … if it was cut. */
export function clip(text: string, columns: number): string {
  if (text.length <= MAX_MEASURED_CHARS && width(text) <= columns) return text;
  let fits = "";
  let columnsUsed = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    columnsUsed += width(segment);
    if (columnsUsed > columns) return `${fits}…`;
    if (columnsUsed < columns) fits += segment;
  }
  return text.length <= MAX_MEASURED_CHARS ? `${fits}…` : text;
}
const MAX_MEASURED_CHARS = 10_000; // measures no more of it than is shown

/**
 * Breaks a text into lines of at most so many columns, at spaces, or inside of words that are
 * longer.
 */
export function wrap(text: string, columns: number): string[] {
  return text
    .split("\n")
    .flatMap((line) => (width(line) <= columns ? [line] : wrapLine(line, Math.max(columns, 1))));
}

function wrapLine(text: string, columns: number): string[] {
  const lines: string[] = [];
  let [line, columnsUsed] = ["", 0];
  for (const piece of text.match(/\s+|\S+/g) ?? []) {
    const size = width(piece);
    if (columnsUsed + size <= columns) [line, columnsUsed] = [line + piece, columnsUsed + size];
    else if (/^\s/.test(piece)) [line, columnsUsed] = push(line, "");
    else {
      if (columnsUsed) [line, columnsUsed] = push(line, "");
      if (size <= columns) [line, columnsUsed] = [piece, size];
      else
        for (const part of partsOf(piece)) {
          const partWidth = width(part);
          if (line && columnsUsed + partWidth > columns) [line, columnsUsed] = push(line, "");
          [line, columnsUsed] = [line + part, columnsUsed + partWidth];
        }
    }
  }
  return [...lines, line.trimEnd()];

  function push(fullLine: string, next: string): [string, number] {
    lines.push(fullLine.trimEnd());
    return [next, 0];
  }
}

/** Where an overlong word may be broken: anywhere, except before its closing punctuation. */
function partsOf(word: string): string[] {
  const end = /[,.;:!?)\]}'"]{0,3}$/.exec(word)![0];
  const parts = Array.from(
    new Intl.Segmenter().segment(word.slice(0, word.length - end.length)),
    ({ segment }) => segment,
  );
  return [...parts.slice(0, -1), (parts.at(-1) ?? "") + end];
}

/** The columns of the person's terminal; 80 without one. */
export const terminalColumns = ({ stderr }: Pick<PluginIo, "stderr"> = process): number =>
  stderr.columns || 80;

/** Erases from the cursor's row on, the cursor being at its beginning. As one order, tmux takes it
 * for clearing the whole screen if that is the first row, and copies all of it into what scrolled
 * away. */
export const ERASE_BELOW = "\x1b7\x1b[K\x1b[B\r\x1b[J\x1b8";

/**
 * Whether the terminal rewraps the line at its cursor when it is resized; others keep the rows, and
 * the cursor in its row.
 */
export function rewrapsLines(env: NodeJS.ProcessEnv | PluginIo["variable"]): boolean {
  const of = typeof env === "function" ? env : (name: string) => env[name];
  const program = of("TERM_PROGRAM") ?? "";
  if (of("TMUX") || /^tmux/.test(of("TERM") ?? "")) return true;
  if (/^(iTerm\.app|WezTerm|ghostty|Apple_Terminal)$/.test(program)) return true;
  if (program) return false; // the terminal of VS Code keeps the cursor's row
  return [
    "VTE_VERSION",
    "KITTY_WINDOW_ID",
    "WT_SESSION",
    "ALACRITTY_WINDOW_ID",
    "KONSOLE_VERSION",
  ].some(of);
}
