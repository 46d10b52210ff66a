// Rows for a terminal: names with texts beside them, and tables.
import type { Ctx } from "zz";
import { clip, oneLine, terminalColumns, width, wrap } from "zz/text";

export const availableColumns = (io: Ctx["io"]): number => terminalColumns(io) - 1;
export type Row = [name: string, text: string];
/** Names, with texts next to them if there is room, otherwise below. */
export function columns(rows: Row[], room: number, textColumn = 27): string[] {
  const indent = room < 60 ? 0 : textColumn;
  return rows.flatMap(([name, text]) => {
    const fits = indent > 0 && name.length <= indent - 4;
    const lines = wrapped(text, room - Math.max(indent, 4)).map(
      (line) => " ".repeat(Math.max(indent, 4)) + line,
    );
    if (fits) return [`  ${name}`.padEnd(indent) + lines[0]!.slice(indent), ...lines.slice(1)];
    return [
      ...wrapped(name, room - 6).map((line, i) => (i ? `      ${line}` : `  ${line}`)),
      ...lines,
    ];
  });
}
export const wrapped = (text: string, columns: number): string[] => wrap(oneLine(text), columns);
export const narrow = (text: string, room: number): string =>
  text
    .split("\n")
    .map((line) => clip(line, room))
    .join("\n");
/** Rows with aligned columns; the last column is not padded. */
export function table(rows: string[][]): string {
  const widths: number[] = [];
  for (const row of rows)
    for (const [i, cell] of row.slice(0, -1).entries())
      widths[i] = Math.max(widths[i] ?? 0, width(cell));
  return rows
    .map((row) =>
      row
        .map((cell, i) => (i < row.length - 1 ? cell + " ".repeat(widths[i]! - width(cell)) : cell))
        .join("  "),
    )
    .join("\n");
}
