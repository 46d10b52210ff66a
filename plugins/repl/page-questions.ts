// Questions shown page by page, if they are longer than the screen.
import type { Zz } from "zz";
import { plural, width as widthOf } from "zz/text";
import { matchKey } from "./prompt-rows.ts";

/** Where a question is shown. */
export interface Screen {
  write(shownText: string): void;
  // the next key, RESIZED, or PASTED and a text; settled: ignores keys held down or typed ahead
  press(settled: boolean): Promise<string>;
  size(): { columns: number; rows: number };
  // what is typed within a moment after a key; "": nothing
  soon?(pressedKey: string): Promise<string>;
  // reads the rest of a line, returns the key that it means; "": it was deleted
  words?(firstTyped: string): Promise<string>;
  plain?: boolean; // any answer counts at once
  unframed?: boolean; // no frame, no rules, and no cursor that moves: for screen readers
}

/** Without the frame what is quoted is indented, so that it cannot look like zz's own words. */
export const unframed = (framedRow: string): string =>
  framedRow
    .replace(/^(?:([┏┠┗])|┃) /u, (_, ownBorder) => (ownBorder ? "" : "  "))
    .replace(/^─+ /u, "");

/** Whether the person wants a yes to count although parts of the question were not shown. */
export const isPlain = ({ config }: Zz): boolean =>
  (config as { readFirst?: boolean }).readFirst === false;

const FORWARD = /^( |\r?\n|\r|\x1b\[B|\x1bOB|\x1b\[6~)$/;
const BACKWARD = /^(b|\x1b\[A|\x1bOA|\x1b\[5~)$/;
const JUMP_TO_END = /^(G|\x1b\[F|\x1bOF|\x1b\[4~)$/;

/** What is no key: the window got another size, and the beginning of a pasted text. */
export const [RESIZED, PASTED] = ["\x1b[resized", "\x1b[200~"];
// the question was closed, Ctrl+D, Escape, Ctrl+C, also in one piece with other keys
const LEAVING_KEYS = /^(|\x04|\x1b)$|\x03/;
const WORD_START = /^[^\p{C}\s]/u; // the person types words instead of pressing a key
const ENTER_KEY = /^[\r\n]+$/;
/**
 * Shows the question, then returns an offered key or Enter; words count as a no that says why, and
 * none of their letters counts as a key. A question that is longer
 * than the screen shows its start and its end, and page by page what is between. Until all of it
 * was shown, only a no, Ctrl+C, Escape or closing the question ends it. Without `keys`, it returns
 * "on" without waiting.
 */
export async function putQuestion(
  questionText: string,
  keys: string | undefined,
  screen: Screen,
): Promise<string> {
  const questionView = newView(questionText, keys);
  for (let hintText = ""; ; ) {
    questionView.fit(screen.size());
    const hintBar = hintText ? chooseBar([hintText], questionView.columns) : "";
    hintText = "";
    const rowsBelow = questionView.showPage(screen, () => hintBar || statusBar(questionView));
    if (keys === undefined && !questionView.unseen()) return "on";
    const chosenMove = await nextMove();
    if (chosenMove === "hint")
      hintText = `── space first: ${plural(questionView.unseen(), "line")} unseen`;
    else if (chosenMove === "on" || chosenMove === "back" || chosenMove === "end")
      questionView.go(chosenMove);
    else if (chosenMove !== "redraw") return chosenMove;
    const isSameSize = questionView.fits(screen.size());
    screen.write(
      rowsBelow === undefined || !isSameSize || screen.unframed
        ? "\n"
        : `\r${rowsBelow ? `\x1b[${rowsBelow}A` : ""}\x1b[J`,
    );
  }

  async function nextMove(): Promise<string> {
    const isOfferedKey = (typedText: string) =>
      keys !== undefined && matchKey(typedText, keys) !== "";
    for (;;) {
      const typedText = await screen.press(questionView.isPaged);
      if (typedText === RESIZED && questionView.isPaged && !questionView.fits(screen.size()))
        return "redraw";
      if (LEAVING_KEYS.test(typedText)) return typedText;
      const isReady = screen.plain || !questionView.unseen();
      // Even y and n may begin a word: of a reason, or of a message that was under way when the
      // question came.
      const typedSoon =
        (isOfferedKey(typedText) && typedText !== "?" && (await screen.soon?.(typedText))) || "";
      if (typedSoon && LEAVING_KEYS.test(typedSoon)) return typedSoon;
      const message = /^\P{C}/u.test(typedSoon) ? typedText + typedSoon : typedText;
      if (matchKey(message, (keys ?? "n").replace(/[^n]/g, "")))
        return ENTER_KEY.test(typedSoon) ? message + typedSoon : message;
      // explaining them grants nothing
      if (typedText === "?" && isOfferedKey(typedText)) return typedText;
      if (isReady && (isOfferedKey(message) || (ENTER_KEY.test(message) && !questionView.isNext())))
        return message;
      if (isOfferedKey(message)) return "hint";
      if (questionView.isPaged && questionView.top && BACKWARD.test(typedText)) return "back";
      if (questionView.isNext() && FORWARD.test(typedText)) return "on";
      if (questionView.isNext() && JUMP_TO_END.test(typedText)) return "end";
      const isChoice = keys !== undefined && keys.length > 1;
      const meantKey =
        isChoice && (WORD_START.test(message) || message.startsWith(PASTED))
          ? await screen.words?.(message)
          : undefined;
      if (meantKey) return isReady || meantKey === "n" ? meantKey : "hint";
    }
  }
}

/** The rows of a question, and which of them were on the screen. */
function newRows(questionText: string) {
  const seenRows = new Set<Row>();
  const questionRows = {
    all: [] as Row[],
    show: (shownRow: Row) => void seenRows.add(shownRow),
    unseen: () => questionRows.all.length - seenRows.size,
    firstUnseen: () => questionRows.all.findIndex((candidate) => !seenRows.has(candidate)),

    /** A line of which a row was not shown is unseen in a window of another width, too. */
    fit(columns: number): void {
      const unseenLines = new Set(
        questionRows.all.flatMap((previousRow) =>
          seenRows.has(previousRow) ? [] : previousRow.line,
        ),
      );
      const isFirst = !questionRows.all.length;
      seenRows.clear();
      questionRows.all = rowsOf(questionText, columns);
      for (const newRow of isFirst ? [] : questionRows.all)
        if (!unseenLines.has(newRow.line)) seenRows.add(newRow);
    },
  };
  return questionRows;
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
      tail = keys !== undefined && view.isPaged ? countTailRows(rows.all, room) : 0;
      if (!view.isPaged) view.top = 0; // all of it fits by now, and is drawn again
    },

    /**
     * Returns how many rows the cursor is below the first of those that are no part of the page;
     * undefined: there are none.
     */
    showPage(screen: Screen, makeBar: () => string): number | undefined {
      const pageEnd = Math.min(view.top + head(), last());
      const page = view.isPaged ? rows.all.slice(view.top, pageEnd) : rows.all;
      const end = view.isPaged ? rows.all.slice(last()) : [];
      for (const shownRow of [...page, ...end]) rows.show(shownRow);
      const barRows = view.unseen() ? [makeBar()] : [];
      const texts = [...page.map(({ text }) => text), ...barRows, ...end.map(({ text }) => text)];
      screen.write((screen.unframed ? texts.map(unframed) : texts).join("\n"));
      const rowsBelow = barRows.length + end.length - 1;
      return rowsBelow < 0 ? undefined : rowsBelow;
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
function countTailRows(questionRows: readonly Row[], pageHeight: number): number {
  const { line } = questionRows.at(-1)!;
  const countRowsFrom = (firstLine: number) =>
    questionRows.filter((candidate) => candidate.line >= firstLine).length;
  return [line - 1, line].map(countRowsFrom).find((rowCount) => rowCount <= pageHeight / 3) ?? 0;
}

/**
 * The bar of a page. In few columns it uses fewer words and leaves parts out, how to say no last of
 * all.
 */
function statusBar({ shown: { to, all }, unseen, top, canRefuse, columns }: View): string {
  const [longRefusal, shortRefusal] = canRefuse
    ? ["n = no", "n: no"]
    : ["Esc leaves", "Esc: leave"];
  const barVariants = [
    [
      `── line ${to} of ${all}`,
      `${unseen()} unseen`,
      "space goes on",
      "G = end",
      longRefusal,
      top > 0 && "b = back",
    ],
    [`── line ${to} of ${all}`, "space goes on", longRefusal, top > 0 && "b = back"],
    [`─ ${to}/${all}`, "space: more", shortRefusal, top > 0 && "b: back"],
    [`─ ${to}/${all}`, "space: more", shortRefusal],
    ["space: more"],
  ];
  return chooseBar(
    barVariants.map((barParts) => barParts.filter(Boolean).join(" · ")),
    columns,
  );
}

function chooseBar(barVariants: readonly string[], columns: number): string {
  const chosenBar = barVariants.find(({ length }) => length <= columns - 2) ?? barVariants.at(-1)!;
  return `${chosenBar} `.slice(0, Math.max(columns - 1, 10));
}

/** A row of the screen, and the number of the line that it shows. */
type Row = { text: string; line: number };

/**
 * The text as rows of at most so many columns. The rows of a broken line keep its bar, so that no
 * quoted text can look like the question's own words; those of a line of a diff stand under its
 * text. Colours continue in the next row.
 */
export function rowsOf(questionText: string, columns: number): Row[] {
  return questionText.split("\n").flatMap((questionLine, i) => {
    const [, frameBar = "", content = questionLine] = /^([┏┠┃┗] )(.*)$/su.exec(questionLine) ?? [];
    const nextBar = frameBar && (frameBar === "┗ " ? "  " : "┃ ");
    const rowWidth = Math.max((columns || Number.POSITIVE_INFINITY) - frameBar.length, 8);
    const numberWidth = LINE_NUMBER.exec(content)?.[1]?.length ?? 0;
    const indentWidth = numberWidth <= rowWidth / 3 ? numberWidth : 0;
    return breakLine(content, rowWidth, indentWidth).map((contentRow, rowIndex) => ({
      text: rowIndex ? nextBar + " ".repeat(indentWidth) + contentRow : frameBar + contentRow,
      line: i,
    }));
  });
}
const LINE_NUMBER = /^(?:\x1b\[[\d;]*m)*( *\d+ [-+ ] )/; // of a diff, with its sign

/** At the last space, unless that would leave most of the row empty: then within a word. */
function breakLine(contentLine: string, rowWidth: number, indentWidth: number): string[] {
  if (contentLine.length <= rowWidth && PRINTABLE_ASCII.test(contentLine)) return [contentLine];
  const finishedRows: string[] = [];
  let [pendingRow, width, styles] = ["", 0, ""];
  let lastSpace = { end: 0, width: 0, styles: "" }; // the place after the last space in this row
  pieces: for (const [piece, styleCode] of contentLine.matchAll(PIECE_PATTERN)) {
    if (styleCode) styles = /^\x1b\[0?m$/.test(styleCode) ? "" : styles + styleCode;
    const columns = Math.min(styleCode ? 0 : columnsOf(piece, width), rowWidth);
    while (width + columns > rowWidth) {
      const position =
        piece !== " " && lastSpace.width > rowWidth / 3
          ? lastSpace
          : { end: pendingRow.length, width, styles };
      const finishedRow = pendingRow.slice(0, position.end);
      finishedRows.push(position.styles ? `${finishedRow}\x1b[0m` : finishedRow);
      if (finishedRows.length === 1) rowWidth -= indentWidth;
      [pendingRow, width] = [
        position.styles + pendingRow.slice(position.end),
        width - position.width,
      ];
      lastSpace = { end: 0, width: 0, styles: "" };
      if (piece === " ") continue pieces; // it would be after the last column
    }
    pendingRow += piece === "\t" ? " ".repeat(columns) : piece;
    width += columns;
    if (piece === " " || piece === "\t") lastSpace = { end: pendingRow.length, width, styles };
  }
  return pendingRow || !finishedRows.length ? [...finishedRows, pendingRow] : finishedRows;
}

/**
 * How many columns a character takes after others of the given width. Terminals may show several as
 * one, so the sum is never too small.
 */
function columnsOf(character: string, precedingWidth: number): number {
  if (character === "\t") return 8 - (precedingWidth % 8);
  const columns = KNOWN_WIDTHS.get(character) ?? widthOf(character);
  if (KNOWN_WIDTHS.size < MAX_WIDTHS) KNOWN_WIDTHS.set(character, columns);
  return columns;
}
const KNOWN_WIDTHS = new Map<string, number>(); // measuring an emoji or a Thai letter takes time
const MAX_WIDTHS = 10_000;

const PRINTABLE_ASCII = /^[ -~]*$/;
const PIECE_PATTERN = /(\x1b\[[\d;]*m|\x1b\]8;;[!-~]*\x1b\\)|./gsu;
