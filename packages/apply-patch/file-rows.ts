// A file as its lines, each with how it ends.

/** A line of the file; `key` is compared when trailing spaces do not count. */
export type Row = { text: string; eol: string; key: string };

export function splitRows(fileText: string): Row[] {
  return (fileText.match(/[^\n]*\n|[^\n]+$/g) ?? []).map((fileLine) => {
    const [eol = ""] = /\r?\n$/.exec(fileLine) ?? [];
    return toRow({ text: fileLine.slice(0, fileLine.length - eol.length), eol });
  });
}

export const toRow = ({ text, eol }: { text: string; eol: string }): Row => ({
  text,
  eol,
  key: text.trimEnd(),
});

export function joinRows(rows: Row[], usualEol: string, newline: boolean): string {
  const lastIndex = rows.length - 1;
  const chooseEol = (row: Row, rowIndex: number) =>
    rowIndex < lastIndex || newline ? row.eol || usualEol : "";
  return rows.map((row, rowIndex) => row.text + chooseEol(row, rowIndex)).join("");
}
