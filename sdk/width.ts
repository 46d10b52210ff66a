// Widths on the screen, in columns: of wide characters, emoji and styled texts alike.
import { createRequire } from "node:module";

/** How many columns a text takes; colours and links take none. Most texts need not be taken apart for it. */
export function width(text: string): number {
  const plain = text.includes("\x1b") ? text.replace(STYLE, "") : text;
  if (ONE_COLUMN_EACH.test(plain)) return plain.length;
  if (TWO_COLUMNS_EACH.test(plain)) return plain.length * 2;
  stringWidth ??= loadStringWidth().default;
  return stringWidth(plain);
}

/** Not imported: it compiles tables of all emoji when it loads, which takes longer than the rest of a start. */
let stringWidth: typeof import("string-width").default | undefined;
const loadStringWidth = (): typeof import("string-width") =>
  typeof require === "function" ? require("string-width") : createRequire(import.meta.url)("string-width"); // built, or from source

const STYLE = /\x1b\[[\d;]*m|\x1b\]8;;[^\x1b]*\x1b\\/g;
const ONE_COLUMN_EACH = /^[\x20-\x7e\xa1-\xac\xae-\u02ff\u0391-\u0482\u048a-\u052f\u2010-\u2027]*$/;
const TWO_COLUMNS_EACH = /^[\u3001-\u3029\u3041-\u3096\u30a1-\u30fe\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60]*$/;

/** As much of a text as fits so many columns, with … where it was cut. */
export function clip(text: string, columns: number): string {
  if (text.length <= MAX_MEASURED_CHARS && width(text) <= columns) return text;
  let fits = "";
  let taken = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    taken += width(segment);
    if (taken > columns) return `${fits}…`;
    if (taken < columns) fits += segment;
  }
  return text.length <= MAX_MEASURED_CHARS ? `${fits}…` : text;
}
const MAX_MEASURED_CHARS = 10_000; // a longer text is measured only as far as it is shown

/** Lines of at most so many columns, broken at spaces, or inside of a word that is longer than a line. */
export function wrap(text: string, columns: number): string[] {
  return text.split("\n").flatMap((line) => (width(line) <= columns ? [line] : wrapLine(line, Math.max(columns, 1))));
}

function wrapLine(text: string, columns: number): string[] {
  const lines: string[] = [];
  let [line, taken] = ["", 0];
  for (const piece of text.match(/\s+|\S+/g) ?? []) {
    const size = width(piece);
    if (taken + size <= columns) [line, taken] = [line + piece, taken + size];
    else if (/^\s/.test(piece)) [line, taken] = push(line, "");
    else {
      if (taken) [line, taken] = push(line, "");
      if (size <= columns) [line, taken] = [piece, size];
      else
        for (const part of partsOf(piece)) {
          const more = width(part);
          if (line && taken + more > columns) [line, taken] = push(line, "");
          [line, taken] = [line + part, taken + more];
        }
    }
  }
  return [...lines, line.trimEnd()];

  function push(whole: string, next: string): [string, number] {
    lines.push(whole.trimEnd());
    return [next, 0];
  }
}

/** Where a word that is too long may be broken: between any two of its letters, but not before the mark that ends it. */
function partsOf(word: string): string[] {
  const end = /[,.;:!?)\]}'"]{0,3}$/.exec(word)![0];
  const parts = Array.from(new Intl.Segmenter().segment(word.slice(0, word.length - end.length)), ({ segment }) => segment);
  return [...parts.slice(0, -1), (parts.at(-1) ?? "") + end];
}

/** How many columns the person's terminal has; 80 where there is none. */
export const terminalColumns = (): number => process.stderr.columns || 80;
