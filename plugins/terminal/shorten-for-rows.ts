// Texts shortened for a row or a few rows of the terminal.
import { clip, oneLine, plural, wrap } from "zz/text";

/** One line without control and invisible characters, at most so many columns wide. */
export const shortenToColumns = (text: string, columns = 60): string =>
  clip(visible(text.slice(0, 4 * columns + 1_000)), columns);

/** The end of a text, likewise. */
export function tail(text: string, columns: number): string {
  const reversed = (line: string) => [...line].reverse().join("");
  return reversed(shortenToColumns(reversed(text), columns));
}

const visible = (text: string): string =>
  oneLine(text.replace(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]+/gu, " "));

/** A call's arguments: the first without its name, the others with theirs. */
export function argumentsOf(args: Record<string, unknown>): string {
  const word = (value: unknown) =>
    typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return Object.entries(args)
    .map(([name, value], i) =>
      i === 0 && typeof value !== "object" ? word(value) : `${name}=${word(value)}`,
    )
    .join("  ");
}

/** What a call is about: a path, a command. */
export function subjectOf(args: Record<string, unknown>): string {
  const [first] = Object.values(args);
  return typeof first === "string" || typeof first === "number" ? String(first) : "";
}

/** A result in one row: how long it is, and how it begins. */
export function summary(text: string): string {
  const rows = text.split("\n").filter((row) => row.trim());
  return rows.length > 1 ? `${rows.length} lines · ${rows[0]}` : text;
}

const MAX_FOLDED_CHARS = 200_000; // more would scroll by unread

/** A text as rows; rows beyond `maxRows` are counted. */
export function foldRows(text: string, columns: number, maxRows: number): string[] {
  const rows = text
    .slice(0, MAX_FOLDED_CHARS)
    .split("\n")
    .map(visible)
    .filter(Boolean)
    .flatMap((row) => wrap(row, Math.max(columns, 10)));
  if (rows.length <= maxRows + 1) return rows;
  const moreRows = `… ${plural(rows.length - maxRows, "more row")} (display.thinking full shows them)`;
  return [...rows.slice(0, maxRows), shortenToColumns(moreRows, columns)];
}
