// Texts shortened for a row or a few rows of the terminal.
import { clip, oneLine, plural, wrap } from "zz/text";

/** One line without control and invisible characters, at most so many columns wide. */
export const shortenToColumns = (longText: string, columns = 60): string =>
  clip(visible(longText.slice(0, 4 * columns + 1_000)), columns);

/** The end of a text, likewise. */
export function tail(longText: string, columns: number): string {
  const reversed = (textLine: string) => [...textLine].reverse().join("");
  return reversed(shortenToColumns(reversed(longText), columns));
}

const visible = (rawText: string): string =>
  oneLine(rawText.replace(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]+/gu, " "));

/** A call's arguments: the first without its name, the others with theirs. */
export function argumentsOf(callArguments: Record<string, unknown>): string {
  const formatValue = (argumentValue: unknown) =>
    typeof argumentValue === "string" ? argumentValue : (JSON.stringify(argumentValue) ?? "");
  return Object.entries(callArguments)
    .map(([argumentName, argumentValue], i) =>
      i === 0 && typeof argumentValue !== "object"
        ? formatValue(argumentValue)
        : `${argumentName}=${formatValue(argumentValue)}`,
    )
    .join("  ");
}

/** What a call is about: a path, a command. */
export function subjectOf(callArguments: Record<string, unknown>): string {
  const [firstValue] = Object.values(callArguments);
  return typeof firstValue === "string" || typeof firstValue === "number" ? String(firstValue) : "";
}

/** A result in one row: how long it is, and how it begins. */
export function summary(resultText: string): string {
  const filledRows = resultText.split("\n").filter((resultRow) => resultRow.trim());
  return filledRows.length > 1 ? `${filledRows.length} lines · ${filledRows[0]}` : resultText;
}

/** A summary beside what it is about: "Edited a.ts: line 2" names a.ts once more. */
export function withoutSubject(resultSummary: string, subject: string): string {
  const [verb = "", rest] = resultSummary.split(` ${subject}`, 2);
  const isNamed = subject && !verb.includes(" ") && rest !== undefined;
  return isNamed && /^([:.,]|$| \()/.test(rest)
    ? verb + resultSummary.slice(verb.length + 1 + subject.length)
    : resultSummary;
}

const MAX_FOLDED_CHARS = 200_000; // more would scroll by unread

/** A text as rows; rows beyond `maxRows` are counted. */
export function foldRows(longText: string, columns: number, maxRows: number): string[] {
  const wrappedRows = longText
    .slice(0, MAX_FOLDED_CHARS)
    .split("\n")
    .map(visible)
    .filter(Boolean)
    .flatMap((textRow) => wrap(textRow, Math.max(columns, 10)));
  return firstOf(wrappedRows, maxRows, (leftOut) =>
    shortenToColumns(
      `… ${plural(leftOut, "more row")} (display.thinking full shows them)`,
      columns,
    ),
  );
}

/** The first rows, and one that counts the others, unless that is only one. */
export const firstOf = (
  rows: string[],
  maxRows: number,
  sayMore: (leftOut: number) => string,
): string[] =>
  rows.length <= maxRows + 1 ? rows : [...rows.slice(0, maxRows), sayMore(rows.length - maxRows)];
