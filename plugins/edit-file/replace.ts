// The text that replaces a match: with the line ends of what it replaces, and with the file's own lines wherever
// new_string repeats those of old_string.
import { diffArrays } from "diff";
import type { Reindent } from "./indent.ts";
import { type Lines, split, toLf } from "./text.ts";

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
export function withLineEndsOf(own: string, old: string, fresh: string, end: string): string {
  if (own === old && toLf(old) === toLf(fresh)) return fresh; // only the line ends are to be changed
  const ends = new Set(own.match(/\r?\n/g));
  if (ends.size > 1) return mergeLines(piecesOf(own), { old: split(old), fresh: split(fresh) }, end, (line) => line)!;
  return toLf(fresh).replaceAll("\n", () => [...ends][0] ?? end);
}

/** The new lines; those that old_string also has keep the file's bytes. The last line end stays in the file. */
export function mergeLines(own: Piece[], { old, fresh }: Lines, end: string, reindent: Reindent): string | undefined {
  const ends = own.map((piece) => piece.end).filter(Boolean);
  const usual = ends.length ? (ends.filter((one) => one === "\r\n").length * 2 > ends.length ? "\r\n" : "\n") : end;
  const out: Piece[] = [];
  let at = 0; // in old
  let gone = 0; // lines of old removed just before, which the next added ones replace
  const parts = diffArrays(old, fresh, { maxEditLength: 2_000 }) ?? [
    { value: old, removed: true },
    { value: fresh, added: true },
  ];
  for (const { value, added, removed } of parts) {
    if (added)
      for (const [i, line] of value.entries()) {
        const text = reindent(line, gone === value.length ? at - gone + i : undefined);
        if (text === undefined) return undefined;
        out.push({ text, end: own[gone ? Math.min(at - gone + i, at - 1) : at - 1]?.end || usual });
      }
    else if (!removed) for (let i = at; i < at + value.length; i++) out.push(own[i]!);
    if (!added) at += value.length;
    gone = removed ? value.length : 0;
  }
  return out.map(({ text, end }, i) => (i < out.length - 1 ? text + (end || usual) : text)).join("");
}
