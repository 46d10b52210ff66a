// The text that replaces a match: with the line ends of what it replaces, and with the file's own
// lines wherever new_string repeats those of old_string.
import { diffArrays } from "diff";
import { type Lines, split, toLf } from "./file-text.ts";
import type { Reindent } from "./indent.ts";

/** A line and its line end. */
type Piece = { text: string; end: string };

export function piecesOf(text: string): Piece[] {
  const parts = text.split(/(\r?\n)/);
  return Array.from({ length: (parts.length + 1) / 2 }, (_, i) => ({
    text: parts[2 * i]!,
    end: parts[2 * i + 1] ?? "",
  }));
}

/** The new text with the line ends of the text it replaces, line by line if those are mixed. */
export function withLineEndsOf(ownText: string, old: string, fresh: string, end: string): string {
  // only the line ends are to be changed
  if (ownText === old && toLf(old) === toLf(fresh)) return fresh;
  const ends = new Set(ownText.match(/\r?\n/g));
  if (ends.size > 1)
    return mergeLines(
      piecesOf(ownText),
      { old: split(old), fresh: split(fresh) },
      end,
      (line) => line,
    )!;
  return toLf(fresh).replaceAll("\n", () => [...ends][0] ?? end);
}

/**
 * The new lines; those that old_string also has keep the file's bytes. The last line end stays in
 * the file.
 */
export function mergeLines(
  ownLines: Piece[],
  { old, fresh }: Lines,
  end: string,
  reindent: Reindent,
): string | undefined {
  const ends = ownLines.map((piece) => piece.end).filter(Boolean);
  const isWindows = ends.filter((lineEnd) => lineEnd === "\r\n").length * 2 > ends.length;
  const mostUsed = isWindows ? "\r\n" : "\n";
  const usual = ends.length ? mostUsed : end;
  const merged: Piece[] = [];
  let index = 0; // in old
  let gone = 0; // lines of old removed just before, which the next added ones replace
  const parts = diffArrays(old, fresh, { maxEditLength: 2_000 }) ?? [
    { value: old, removed: true },
    { value: fresh, added: true },
  ];
  for (const { value, added, removed } of parts) {
    if (added)
      for (const [i, line] of value.entries()) {
        const text = reindent(line, gone === value.length ? index - gone + i : undefined);
        if (text === undefined) return undefined;
        merged.push({
          text,
          end: ownLines[gone ? Math.min(index - gone + i, index - 1) : index - 1]?.end || usual,
        });
      }
    else if (!removed) for (let i = index; i < index + value.length; i++) merged.push(ownLines[i]!);
    if (!added) index += value.length;
    gone = removed ? value.length : 0;
  }
  return merged
    .map(({ text, end }, i) => (i < merged.length - 1 ? text + (end || usual) : text))
    .join("");
}
