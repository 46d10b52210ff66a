// The format of notes in files: a dated line each, and in INDEX.md a line for each file.
import { plural } from "zz/text";

const NOTE = /^- (\d{4}-\d\d-\d\d): (.*)$/;
const MAX_INDEXED_CHARS = 120; // of a note in the index
/** A line that zz wrote in the index. A line that the person wrote for a file is not changed. */
export const MADE = /^- \[[^\]]*\]\(([^)]+)\): \d+ notes?, last \d{4}-\d\d-\d\d: /;

export const linesOf = (text: string): string[] => text.replace(/^\ufeff/, "").split(/\r?\n/);

/** The file with the note appended. */
export function withNote(text: string | undefined, title: string, note: string): string {
  const before = text?.trim() ? linesOf(text).join("\n").trimEnd() : `# ${title}\n`;
  return `${before}\n${note}\n`;
}

/** The index with its line for the file updated, or removed if the file has no text left. */
export function withIndexed(
  index: string | undefined,
  name: string,
  text: string | undefined,
): string {
  const lines = index?.trim() ? linesOf(index.trimEnd()) : ["# Memory", ""];
  const indexLine = text === undefined ? undefined : lineFor(name, text);
  const at = lines.findIndex((line) => line.includes(`](${name})`));
  if (at < 0) return [...lines, ...(indexLine ? [indexLine] : []), ""].join("\n");
  if (MADE.test(lines[at]!)) lines.splice(at, 1, ...(indexLine ? [indexLine] : []));
  return [...lines, ""].join("\n");
}

function lineFor(name: string, text: string): string | undefined {
  const notes = linesOf(text).flatMap((line) => {
    const [, date, said = ""] = NOTE.exec(line) ?? [];
    return date ? [{ date, said }] : [];
  });
  const last = notes.at(-1);
  if (!last) return undefined;
  const shortNote =
    last.said.length > MAX_INDEXED_CHARS ? `${last.said.slice(0, MAX_INDEXED_CHARS)}…` : last.said;
  const count = plural(notes.length, "note");
  return `- [${name.replace(/\.\w+$/, "")}](${name}): ${count}, last ${last.date}: ${shortNote}`;
}

/** Whether the text consists only of headings and blank lines. */
export const isBare = (text: string): boolean =>
  linesOf(text).every((line) => !line.trim() || line.startsWith("#"));

/** The local date. Written by hand, since the first use of Intl costs 15 ms. */
export function today(date = new Date()): string {
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()]
    .map((part) => String(part).padStart(2, "0"))
    .join("-");
}
