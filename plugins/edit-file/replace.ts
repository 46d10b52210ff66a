// The text that replaces a match: with the line ends of what it replaces, and with the file's own
// lines wherever new_string repeats those of old_string.
import { diffArrays } from "diff";
import { type Lines, split, toLf } from "./file-text.ts";
import type { Reindent } from "./indent.ts";

/** A line and its line end. */
type Piece = { text: string; end: string };

export function piecesOf(replacedText: string): Piece[] {
  const lineEnds = replacedText.match(/\r?\n/g) ?? [];
  return split(replacedText).map((text, i) => ({ text, end: lineEnds[i] ?? "" }));
}

/** The new text with the line ends of the text it replaces, line by line if those are mixed. */
export function withLineEndsOf(
  ownText: string,
  oldText: string,
  newText: string,
  usualEnd: string,
): string {
  // only the line ends are to be changed
  if (ownText === oldText && toLf(oldText) === toLf(newText)) return newText;
  const lineEnds = new Set(ownText.match(/\r?\n/g));
  if (lineEnds.size > 1)
    return mergeLines(
      piecesOf(ownText),
      { old: split(oldText), fresh: split(newText) },
      usualEnd,
      (newLine) => newLine,
    )!;
  return toLf(newText).replaceAll("\n", () => [...lineEnds][0] ?? usualEnd);
}

/**
 * The new lines; those that old_string also has keep the file's bytes. The last line end stays in
 * the file.
 */
export function mergeLines(
  ownLines: Piece[],
  { old, fresh }: Lines,
  fileEnd: string,
  reindent: Reindent,
): string | undefined {
  const lineEnds = ownLines.map((piece) => piece.end).filter(Boolean);
  const isWindows = lineEnds.filter((lineEnd) => lineEnd === "\r\n").length * 2 > lineEnds.length;
  const mostUsed = isWindows ? "\r\n" : "\n";
  const usualEnd = lineEnds.length ? mostUsed : fileEnd;
  const mergedPieces: Piece[] = [];
  let oldIndex = 0; // in old
  let removedCount = 0; // lines of old removed just before, which the next added ones replace
  const diffParts = diffArrays(old, fresh, { maxEditLength: 2_000 }) ?? [
    { value: old, removed: true },
    { value: fresh, added: true },
  ];
  for (const { value, added, removed } of diffParts) {
    if (added)
      for (const [i, addedLine] of value.entries()) {
        const text = reindent(
          addedLine,
          removedCount === value.length ? oldIndex - removedCount + i : undefined,
        );
        if (text === undefined) return undefined;
        mergedPieces.push({
          text,
          end:
            ownLines[
              removedCount ? Math.min(oldIndex - removedCount + i, oldIndex - 1) : oldIndex - 1
            ]?.end || usualEnd,
        });
      }
    else if (!removed)
      for (let i = oldIndex; i < oldIndex + value.length; i++) mergedPieces.push(ownLines[i]!);
    if (!added) oldIndex += value.length;
    removedCount = removed ? value.length : 0;
  }
  return mergedPieces
    .map(({ text, end }, i) => (i < mergedPieces.length - 1 ? text + (end || usualEnd) : text))
    .join("");
}
