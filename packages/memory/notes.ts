// The format of notes in files: a dated line each, and in INDEX.md a line for each file.
import { plural } from "zz/text";

const NOTE_LINE = /^- (\d{4}-\d\d-\d\d): (.*)$/;
const MAX_INDEXED_CHARS = 120; // of a note in the index
/** A line that zz wrote in the index. A line that the person wrote for a file is not changed. */
export const MADE = /^- \[[^\]]*\]\(([^)]+)\): \d+ notes?, last \d{4}-\d\d-\d\d: /;

export const linesOf = (fileText: string): string[] =>
  fileText.replace(/^\ufeff/, "").split(/\r?\n/);

/** The file with the note appended. */
export function withNote(fileText: string | undefined, title: string, noteLine: string): string {
  const textBefore = fileText?.trim() ? linesOf(fileText).join("\n").trimEnd() : `# ${title}\n`;
  return `${textBefore}\n${noteLine}\n`;
}

/** The index with its line for the file updated, or removed if the file has no text left. */
export function withIndexed(
  indexText: string | undefined,
  fileName: string,
  fileText: string | undefined,
): string {
  const indexLines = indexText?.trim() ? linesOf(indexText.trimEnd()) : ["# Memory", ""];
  const newLines = fileText === undefined ? [] : linesFor(fileName, fileText);
  const existingIndex = indexLines.findIndex((candidate) => candidate.includes(`](${fileName})`));
  if (existingIndex < 0) indexLines.push(...newLines);
  else if (MADE.test(indexLines[existingIndex]!)) indexLines.splice(existingIndex, 1, ...newLines);
  return [...indexLines, ""].join("\n");
}

/** The index's line for a file; none if no note is in it. */
function linesFor(fileName: string, fileText: string): string[] {
  const datedNotes = linesOf(fileText).flatMap((noteLine) => {
    const [, date, said = ""] = NOTE_LINE.exec(noteLine) ?? [];
    return date ? [{ date, said }] : [];
  });
  const lastNote = datedNotes.at(-1);
  if (!lastNote) return [];
  const shortNote =
    lastNote.said.length > MAX_INDEXED_CHARS
      ? `${lastNote.said.slice(0, MAX_INDEXED_CHARS)}…`
      : lastNote.said;
  const noteCount = plural(datedNotes.length, "note");
  return [
    `- [${fileName.replace(/\.\w+$/, "")}](${fileName}): ${noteCount}, ` +
      `last ${lastNote.date}: ${shortNote}`,
  ];
}

/** Whether the text consists only of headings and blank lines. */
export const isBare = (fileText: string): boolean =>
  linesOf(fileText).every((fileLine) => !fileLine.trim() || fileLine.startsWith("#"));

/** The local date. Written by hand, since the first use of Intl costs 15 ms. */
export function today(noteDate = new Date()): string {
  return [noteDate.getFullYear(), noteDate.getMonth() + 1, noteDate.getDate()]
    .map((datePart) => String(datePart).padStart(2, "0"))
    .join("-");
}
