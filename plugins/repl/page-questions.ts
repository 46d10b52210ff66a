// Questions shown page by page, if they are longer than the screen.
import type { Zz } from "zz";
import { plural, width as widthOf } from "zz/text";
import { matchKey } from "./prompt-rows.ts";

/** Where a question is shown. */
export interface Screen {
  write(text: string): void;
  // the next key, RESIZED, or PASTED and a text; settled: ignores keys held down or typed ahead
  press(settled: boolean): Promise<string>;
  size(): { columns: number; rows: number };
  soon?(key: string): Promise<string>; // what is typed within a moment after a key; "": nothing
  // reads the rest of a line, returns the key that it means; "": it was deleted
  words?(first: string): Promise<string>;
  plain?: boolean; // any answer counts at once
  unframed?: boolean; // no frame, no rules, and no cursor that moves: for screen readers
}

/** Without the frame what is quoted is indented, so that it cannot look like zz's own words. */
export const unframed = (row: string): string =>
  row.replace(/^(?:([┏┠┗])|┃) /u, (_, own) => (own ? "" : "  ")).replace(/^─+ /u, "");

/** Whether the person wants a yes to count although parts of the question were not shown. */
export const isPlain = ({ config }: Zz): boolean =>
  (config as { readFirst?: boolean }).readFirst === false;

const FORWARD = /^( |\r?\n|\r|\x1b\[B|\x1bOB|\x1b\[6~)$/;
const BACK = /^(b|\x1b\[A|\x1bOA|\x1b\[5~)$/;
const TO_END = /^(G|\x1b\[F|\x1bOF|\x1b\[4~)$/;

/** What is no key: the window got another size, and the beginning of a pasted text. */
export const [RESIZED, PASTED] = ["\x1b[resized", "\x1b[200~"];
// the question was closed, Ctrl+D, Escape, Ctrl+C, also in one piece with other keys
const LEAVE = /^(|\x04|\x1b)$|\x03/;
const WORDS = /^[^\p{C}\s]/u; // the person types words instead of pressing a key
const ENTER = /^[\r\n]+$/;
/**
 * Shows the question, then returns an offered key or Enter; words count as a no that says why, and
 * none of their letters counts as a key. A question that is longer
 * than the screen shows its start and its end, and page by page what is between. Until all of it
 * was shown, only a no, Ctrl+C, Escape or closing the question ends it. Without `keys`, it returns
 * "on" without waiting.
 */
export async function putQuestion(
  text: string,
  keys: string | undefined,
  screen: Screen,
): Promise<string> {
  const view = newView(text, keys);
  for (let hint = ""; ; ) {
    view.fit(screen.size());
    const bar = hint ? barOf([hint], view.columns) : "";
    hint = "";
    const below = view.showPage(screen, () => bar || statusBar(view));
    if (keys === undefined && !view.unseen()) return "on";
    const move = await nextMove();
    if (move === "hint") hint = `── space first: ${plural(view.unseen(), "line")} unseen`;
    else if (move === "on" || move === "back" || move === "end") view.go(move);
    else if (move !== "redraw") return move;
    const isSame = view.fits(screen.size());
    screen.write(
      below === undefined || !isSame || screen.unframed
        ? "\n"
        : `\r${below ? `\x1b[${below}A` : ""}\x1b[J`,
    );
  }

  async function nextMove(): Promise<string> {
    const isKey = (typed: string) => keys !== undefined && matchKey(typed, keys) !== "";
    for (;;) {
      const typed = await screen.press(view.isPaged);
      if (typed === RESIZED && view.isPaged && !view.fits(screen.size())) return "redraw";
      if (LEAVE.test(typed)) return typed;
      const isReady = screen.plain || !view.unseen();
      // Even y and n may begin a word: of a reason, or of a message that was under way when the
      // question came.
      const typedSoon = (isKey(typed) && typed !== "?" && (await screen.soon?.(typed))) || "";
      if (typedSoon && LEAVE.test(typedSoon)) return typedSoon;
      const message = /^\P{C}/u.test(typedSoon) ? typed + typedSoon : typed;
      if (matchKey(message, (keys ?? "n").replace(/[^n]/g, "")))
        return ENTER.test(typedSoon) ? message + typedSoon : message;
      if (typed === "?" && isKey(typed)) return typed; // explaining them grants nothing
      if (isReady && (isKey(message) || (ENTER.test(message) && !view.isNext()))) return message;
      if (isKey(message)) return "hint";
      if (view.isPaged && view.top && BACK.test(typed)) return "back";
      if (view.isNext() && FORWARD.test(typed)) return "on";
      if (view.isNext() && TO_END.test(typed)) return "end";
      const isChoice = keys !== undefined && keys.length > 1;
      const key =
        isChoice && (WORDS.test(message) || message.startsWith(PASTED))
          ? await screen.words?.(message)
          : undefined;
      if (key) return isReady || key === "n" ? key : "hint";
    }
  }
}

/** The rows of a question, and which of them were on the screen. */
function newRows(text: string) {
  const shown = new Set<Row>();
  const rows = {
    all: [] as Row[],
    show: (row: Row) => void shown.add(row),
    unseen: () => rows.all.length - shown.size,
    firstUnseen: () => rows.all.findIndex((row) => !shown.has(row)),

    /** A line of which a row was not shown is unseen in a window of another width, too. */
    fit(columns: number): void {
      const open = new Set(rows.all.flatMap((row) => (shown.has(row) ? [] : row.line)));
      const isFirst = !rows.all.length;
      shown.clear();
      rows.all = rowsOf(text, columns);
      for (const row of isFirst ? [] : rows.all) if (!open.has(row.line)) shown.add(row);
    },
  };
  return rows;
}

/** The window in which they are shown. */
function newView(text: string, keys: string | undefined) {
  const rows = newRows(text);
  let size = { columns: -1, rows: 0 };
  let [room, tail] = [1, 0]; // rows of a page with its end, and of the end, which stays in view
  const head = () => room - tail; // rows of the page above the end
  const last = () => rows.all.length - tail;
  const view = {
    top: 0,
    canRefuse: keys?.includes("n") ?? true,
    get columns(): number {
      return size.columns;
    },
    get isPaged(): boolean {
      return rows.all.length > room;
    },
    get shown(): { to: number; all: number } {
      return { to: Math.min(view.top + head(), rows.all.length), all: rows.all.length };
    },
    unseen: rows.unseen,
    isNext: () => view.top + head() < last() || view.unseen() > 0,
    fits: (newSize: typeof size) => newSize.columns === size.columns && newSize.rows === size.rows,

    /** In a window of another size it goes on at the same line. */
    fit(newSize: typeof size): void {
      const { line = 0 } = rows.all[view.top] ?? {};
      if (newSize.columns !== size.columns) {
        rows.fit(newSize.columns);
        view.top = rows.all.findIndex((row) => row.line === line);
      }
      size = { ...newSize };
      room = Math.max((size.rows || 24) - 1, 1);
      tail = keys !== undefined && view.isPaged ? tailOf(rows.all, room) : 0;
      if (!view.isPaged) view.top = 0; // all of it fits by now, and is drawn again
    },

    /**
     * Returns how many rows the cursor is below the first of those that are no part of the page;
     * undefined: there are none.
     */
    showPage(screen: Screen, bar: () => string): number | undefined {
      const until = Math.min(view.top + head(), last());
      const page = view.isPaged ? rows.all.slice(view.top, until) : rows.all;
      const end = view.isPaged ? rows.all.slice(last()) : [];
      for (const row of [...page, ...end]) rows.show(row);
      const bars = view.unseen() ? [bar()] : [];
      const texts = [...page.map(({ text }) => text), ...bars, ...end.map(({ text }) => text)];
      screen.write((screen.unframed ? texts.map(unframed) : texts).join("\n"));
      const below = bars.length + end.length - 1;
      return below < 0 ? undefined : below;
    },

    go(to: "on" | "back" | "end"): void {
      if (to === "end") view.top = Math.max(0, last() - head());
      else if (to === "back") view.top = Math.max(0, view.top - head());
      else view.top = view.top + head() < last() ? view.top + head() : rows.firstUnseen();
    },
  };
  return view;
}
type View = ReturnType<typeof newView>;

/** The rows of the last two lines, as far as they take no more than a third of the screen. */
function tailOf(rows: readonly Row[], room: number): number {
  const { line } = rows.at(-1)!;
  const from = (first: number) => rows.filter((row) => row.line >= first).length;
  return [line - 1, line].map(from).find((count) => count <= room / 3) ?? 0;
}

/**
 * The bar of a page. In few columns it uses fewer words and leaves parts out, how to say no last of
 * all.
 */
function statusBar({ shown: { to, all }, unseen, top, canRefuse, columns }: View): string {
  const [no, leave] = canRefuse ? ["n = no", "n: no"] : ["Esc leaves", "Esc: leave"];
  const bars = [
    [
      `── line ${to} of ${all}`,
      `${unseen()} unseen`,
      "space goes on",
      "G = end",
      no,
      top > 0 && "b = back",
    ],
    [`── line ${to} of ${all}`, "space goes on", no, top > 0 && "b = back"],
    [`─ ${to}/${all}`, "space: more", leave, top > 0 && "b: back"],
    [`─ ${to}/${all}`, "space: more", leave],
    ["space: more"],
  ];
  return barOf(
    bars.map((parts) => parts.filter(Boolean).join(" · ")),
    columns,
  );
}

function barOf(bars: readonly string[], columns: number): string {
  const bar = bars.find(({ length }) => length <= columns - 2) ?? bars.at(-1)!;
  return `${bar} `.slice(0, Math.max(columns - 1, 10));
}

/** A row of the screen, and the number of the line that it shows. */
type Row = { text: string; line: number };

/**
 * The text as rows of at most so many columns. The rows of a broken line keep its bar, so that no
 * quoted text can look like the question's own words; those of a line of a diff stand under its
 * text. Colours continue in the next row.
 */
export function rowsOf(text: string, columns: number): Row[] {
  return text.split("\n").flatMap((line, i) => {
    const [, bar = "", content = line] = /^([┏┠┃┗] )(.*)$/su.exec(line) ?? [];
    const nextBar = bar && (bar === "┗ " ? "  " : "┃ ");
    const room = Math.max((columns || Number.POSITIVE_INFINITY) - bar.length, 8);
    const number = LINE_NUMBER.exec(content)?.[1]?.length ?? 0;
    const indent = number <= room / 3 ? number : 0;
    return breakLine(content, room, indent).map((row, j) => ({
      text: j ? nextBar + " ".repeat(indent) + row : bar + row,
      line: i,
    }));
  });
}
const LINE_NUMBER = /^(?:\x1b\[[\d;]*m)*( *\d+ [-+ ] )/; // of a diff, with its sign

/** At the last space, unless that would leave most of the row empty: then within a word. */
function breakLine(line: string, room: number, indent: number): string[] {
  if (line.length <= room && ASCII.test(line)) return [line];
  const rows: string[] = [];
  let [row, width, styles] = ["", 0, ""];
  let space = { end: 0, width: 0, styles: "" }; // the place after the last space in this row
  pieces: for (const [piece, style] of line.matchAll(PIECE)) {
    if (style) styles = /^\x1b\[0?m$/.test(style) ? "" : styles + style;
    const columns = Math.min(style ? 0 : columnsOf(piece, width), room);
    while (width + columns > room) {
      const position =
        piece !== " " && space.width > room / 3 ? space : { end: row.length, width, styles };
      const shown = row.slice(0, position.end);
      rows.push(position.styles ? `${shown}\x1b[0m` : shown);
      if (rows.length === 1) room -= indent;
      [row, width] = [position.styles + row.slice(position.end), width - position.width];
      space = { end: 0, width: 0, styles: "" };
      if (piece === " ") continue pieces; // it would be after the last column
    }
    row += piece === "\t" ? " ".repeat(columns) : piece;
    width += columns;
    if (piece === " " || piece === "\t") space = { end: row.length, width, styles };
  }
  return row || !rows.length ? [...rows, row] : rows;
}

/** How many columns a character takes after others of the given width. */
function columnsOf(character: string, width: number): number {
  return character === "\t" ? 8 - (width % 8) : widthOfCharacter(character);
}

const ASCII = /^[ -~]*$/;
const PIECE = /(\x1b\[[\d;]*m|\x1b\]8;;[!-~]*\x1b\\)|./gsu;

/** The width of one character. Terminals may show several as one, so the sum is never too small. */
function widthOfCharacter(character: string): number {
  if (character >= " " && character <= "~") return 1;
  const knownWidth = WIDTHS.get(character);
  if (knownWidth !== undefined) return knownWidth;
  const width = widthOf(character);
  if (WIDTHS.size < MAX_WIDTHS) WIDTHS.set(character, width);
  return width;
}
const WIDTHS = new Map<string, number>();
const MAX_WIDTHS = 10_000;
