// Questions shown page by page, if they are longer than the screen.
import { width as widthOf } from "zz/text";
import { keyOf } from "./screen.ts";

/** Where a question is shown. */
export interface Screen {
  write(text: string): void;
  press(settled: boolean): Promise<string>; // the next key; settled: ignores keys held down or typed ahead
  size(): { columns: number; rows: number };
  soon?(): Promise<string>; // what is typed within a moment; "": nothing
  words?(first: string): Promise<string>; // reads the rest of a line, returns the key that it means; "": it was deleted
}

const FORWARD = /^( |\r?\n|\r|\x1b\[B|\x1bOB|\x1b\[6~)$/;
const BACK = /^(b|\x1b\[A|\x1bOA|\x1b\[5~)$/;

const LEAVE = /^(|\x03|\x04|\x1b)$/; // the question was closed, Ctrl+C, Ctrl+D, Escape
const WORDS = /^[^\p{C}\s]/u; // the person types words instead of pressing a key
const ENTER = /^[\r\n]+$/;
const GRANTS = /^[AF]$/; // they allow more than this once, and may be the first letter of a reason

/**
 * Shows the question, then returns an offered key or Enter; words count as a no that says why. Until all of it is
 * shown, only a no, Ctrl+C, Escape or closing the question ends it. Without `keys`, it returns "on" without waiting.
 */
export async function putQuestion(text: string, keys: string | undefined, screen: Screen): Promise<string> {
  let columns = 0;
  let rows: Row[] = [];
  for (let top = 0; ; ) {
    const size = screen.size();
    if (size.columns !== columns) {
      const { line = 0 } = rows[top] ?? {}; // the window was resized: continue at the same line
      columns = size.columns;
      rows = rowsOf(text, columns);
      top = rows.findIndex((row) => row.line === line);
    }
    const room = Math.max((size.rows || 24) - 1, 1);
    const isEnd = top + room >= rows.length;
    const page = rows.slice(top, top + room).map((row) => row.text);
    screen.write(page.join("\n"));
    if (isEnd && keys === undefined) return "on";
    if (!isEnd)
      screen.write(`\n${statusBar({ shown: top + room, all: rows.length, canGoBack: top > 0 }, keys ?? "n", columns)}`);
    const typed = await nextMove(isEnd, top > 0, rows.length > room);
    if (typed !== "on" && typed !== "back") return typed;
    screen.write(isEnd ? "\n" : "\r\x1b[K");
    top = typed === "on" ? top + room : Math.max(0, top - room);
  }

  async function nextMove(isEnd: boolean, canGoBack: boolean, isPaged: boolean): Promise<string> {
    for (;;) {
      const typed = await screen.press(isPaged);
      if (LEAVE.test(typed) || keyOf(typed, (keys ?? "n").replace(/[^n]/g, ""))) return typed;
      const more = isEnd && GRANTS.test(typed) && keys?.includes(typed) ? await screen.soon?.() : undefined;
      const said = more && !/^\p{C}/u.test(more) ? typed + more : typed;
      if (isEnd && (ENTER.test(said) || (keys && keyOf(said, keys)))) return said;
      if (isPaged && canGoBack && BACK.test(typed)) return "back";
      if (!isEnd && FORWARD.test(typed)) return "on";
      const isChoice = keys !== undefined && keys.length > 1;
      const key = isEnd && isChoice && WORDS.test(said) ? await screen.words?.(said) : undefined;
      if (key) return key;
    }
  }
}

/** The bar under a page. In few columns it uses fewer words and leaves parts out, how to say no last of all. */
type Page = { shown: number; all: number; canGoBack: boolean };
function statusBar({ shown, all, canGoBack }: Page, keys: string, columns: number): string {
  const isRefusal = keys.includes("n");
  const bars = [
    [`── line ${shown} of ${all}`, "space goes on", isRefusal ? "n = no" : "Esc leaves", canGoBack && "b = back"],
    [`─ ${shown}/${all}`, "space: more", isRefusal ? "n: no" : "Esc: leave", canGoBack && "b: back"],
    [`─ ${shown}/${all}`, "space: more", isRefusal ? "n: no" : "Esc: leave"],
    ["space: more"],
  ].map((parts) => parts.filter(Boolean).join(" · "));
  const bar = bars.find(({ length }) => length <= columns - 2) ?? bars.at(-1)!;
  return `${bar} `.slice(0, Math.max(columns - 1, 10));
}

/** A row of the screen, and the number of the line that it shows. */
type Row = { text: string; line: number };

/**
 * The text as rows of at most so many columns. The rows of a broken line keep its bar, so that no quoted text can look
 * like the question's own words. Colours continue in the next row.
 */
export function rowsOf(text: string, columns: number): Row[] {
  return text.split("\n").flatMap((line, i) => {
    const [, bar = "", rest = line] = /^([┏┠┃┗] )(.*)$/su.exec(line) ?? [];
    const nextBar = bar && (bar === "┗ " ? "  " : "┃ ");
    const room = Math.max((columns || Number.POSITIVE_INFINITY) - bar.length, 8);
    return breakLine(rest, room).map((row, j) => ({ text: (j ? nextBar : bar) + row, line: i }));
  });
}

/** At the last space, unless that would leave most of the row empty: then within a word. */
function breakLine(line: string, room: number): string[] {
  if (line.length <= room && ASCII.test(line)) return [line];
  const rows: string[] = [];
  let [row, width, styles] = ["", 0, ""];
  let space = { end: 0, width: 0, styles: "" }; // the place after the last space in this row
  for (const [piece, style] of line.matchAll(PIECE)) {
    if (style) styles = /^\x1b\[0?m$/.test(style) ? "" : styles + style;
    const columns = Math.min(style ? 0 : piece === "\t" ? 8 - (width % 8) : widthOfCharacter(piece), room);
    if (width + columns > room) {
      const at = piece !== " " && space.width > room / 3 ? space : { end: row.length, width, styles };
      const shown = row.slice(0, at.end);
      rows.push(at.styles ? `${shown}\x1b[0m` : shown);
      [row, width] = [at.styles + row.slice(at.end), width - at.width];
      space = { end: 0, width: 0, styles: "" };
      if (piece === " ") continue; // it would be after the last column
    }
    row += piece === "\t" ? " ".repeat(columns) : piece;
    width += columns;
    if (piece === " " || piece === "\t") space = { end: row.length, width, styles };
  }
  return row || !rows.length ? [...rows, row] : rows;
}
const ASCII = /^[ -~]*$/;
const PIECE = /(\x1b\[[\d;]*m|\x1b\]8;;[!-~]*\x1b\\)|./gsu;

/** The width of one character. Terminals may show several as one, so the sum is never too small. */
function widthOfCharacter(character: string): number {
  if (character >= " " && character <= "~") return 1;
  const known = WIDTHS.get(character);
  if (known !== undefined) return known;
  const width = widthOf(character);
  if (WIDTHS.size < MAX_WIDTHS) WIDTHS.set(character, width);
  return width;
}
const WIDTHS = new Map<string, number>();
const MAX_WIDTHS = 10_000;
