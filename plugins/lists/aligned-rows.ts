// Rows for a terminal: names with texts beside them, and tables.
import type { Ctx } from "zz";
import { clip, oneLine, terminalColumns, width, wrap } from "zz/text";

export const availableColumns = (io: Ctx["io"]): number => terminalColumns(io) - 1;
export type Row = [name: string, text: string];
/** Names, with texts next to them if there is room, otherwise below. */
export function columns(textRows: Row[], maxColumns: number, textColumn = 27): string[] {
  const indentWidth = maxColumns < 60 ? 0 : textColumn;
  return textRows.flatMap(([rowName, rowText]) => {
    const hasRoom = indentWidth > 0 && rowName.length <= indentWidth - 4;
    const textLines = wrapped(rowText, maxColumns - Math.max(indentWidth, 4)).map(
      (textLine) => " ".repeat(Math.max(indentWidth, 4)) + textLine,
    );
    if (hasRoom)
      return [
        `  ${rowName}`.padEnd(indentWidth) + textLines[0]!.slice(indentWidth),
        ...textLines.slice(1),
      ];
    return [
      ...wrapped(rowName, maxColumns - 6).map((nameLine, i) =>
        i ? `      ${nameLine}` : `  ${nameLine}`,
      ),
      ...textLines,
    ];
  });
}
export const wrapped = (longText: string, columns: number): string[] =>
  wrap(oneLine(longText), columns);
export const narrow = (longText: string, maxColumns: number): string =>
  longText
    .split("\n")
    .map((textLine) => clip(textLine, maxColumns))
    .join("\n");
/** Rows with aligned columns; the last column is not padded. */
export function table(tableRows: string[][]): string {
  const columnWidths: number[] = [];
  for (const tableRow of tableRows)
    for (const [i, cellText] of tableRow.slice(0, -1).entries())
      columnWidths[i] = Math.max(columnWidths[i] ?? 0, width(cellText));
  return tableRows
    .map((tableRow) =>
      tableRow
        .map((cellText, i) =>
          i < tableRow.length - 1
            ? cellText + " ".repeat(columnWidths[i]! - width(cellText))
            : cellText,
        )
        .join("  "),
    )
    .join("\n");
}
