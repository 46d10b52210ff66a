// What messages tell the model when an old_string is not in exactly one place.

import { countBelow, type Edit, type File } from "./file-text.ts";
import { HOW, linesOf, MAX_PLACES, type Match, NUMBERED, SPACED } from "./find-matches.ts";

const MAX_SHOWN = 8; // nearest lines, or line numbers
const MAX_WANTED_LINES = 20; // of old_string that are compared
const MAX_LINE_CHARS = 400;

export function ambiguous(file: File, matches: Match[]): string {
  const lines = [...new Set(matches.map(({ from }) => countBelow(file.starts, from + 1)))];
  const listed = lines.slice(0, MAX_SHOWN).join(", ") + (lines.length > MAX_SHOWN ? " …" : "");
  const { how } = matches[0]!;
  const where = `${matches.length === MAX_PLACES ? "at least " : ""}${matches.length} places (${lines.length === 1 ? "line" : "lines"} ${listed})`;
  if (how === "exact" || how === "line ends")
    return `old_string matches ${where}. Give more of the lines around the one that is meant, or set replace_all.`;
  return `old_string is not there as it stands, and ${HOW[how]} it matches ${where}. Copy the lines exactly, with more around them.`;
}

export function notFound(file: File, { old_string }: Edit, wasThere: boolean): string {
  const { old } = linesOf({ old_string, new_string: "" });
  const sentences = ["old_string was not found (0 places)."];
  if (wasThere)
    sentences.push("An edit before it changed that text: each sees what the ones before it made.");
  if (old.every((line) => NUMBERED.test(line)))
    sentences.push(
      "Its lines begin with line numbers, which the file does not hold: leave them out.",
    );
  const near = nearest(file, old);
  if (near.length) sentences.push("Nearest lines:");
  else sentences.push("No line is like it. Read the file again.");
  return [sentences.join(" "), ...near].join("\n");
}

/**
 * The file's lines most similar to these, numbered. Compared by shared trigrams, which is fast and
 * tolerates typos.
 */
function nearest({ lines }: File, old: string[]): string[] {
  const wanted = old.slice(0, MAX_WANTED_LINES).map(trigramsOf);
  const holders: (number[] | undefined)[] = new Array(PIECE_HASHES).fill(undefined);
  for (const [i, pieces] of wanted.entries())
    for (const piece of new Set(pieces)) (holders[piece] ??= []).push(i);
  // for each line at which old_string might start
  const votes = new Float64Array(lines.length + wanted.length);
  const shared = new Uint32Array(wanted.length);
  for (let index = 0; index < lines.length; index++) {
    shared.fill(0);
    const pieces = trigramsOf(lines[index]!);
    for (const piece of pieces) for (const i of holders[piece] ?? NONE) shared[i]!++;
    for (let i = 0; i < shared.length; i++) {
      const { length } = wanted[i]!;
      const alike = Math.min(1, shared[i]! / Math.max(pieces.length, length));
      if (alike > 0.3) votes[index - i + wanted.length]! += alike * alike * length;
    }
  }
  const best = votes.reduce((best, vote, i) => (vote > votes[best]! ? i : best), 0);
  if (!votes[best]) return [];
  const top = best - wanted.length;
  const differs = old.findIndex((line, i) => SPACED.key(line) !== SPACED.key(lines[top + i] ?? ""));
  const from = Math.max(0, old.length < MAX_SHOWN ? top - 1 : top + Math.max(0, differs - 2));
  const to = Math.min(from + MAX_SHOWN, top + old.length + 1);
  return lines
    .slice(from, to)
    .map(
      (line, i) =>
        `${from + i + 1}\t${line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS)}…` : line}`,
    );
}

const PIECE_HASHES = 65_536;
const NONE: number[] = [];

function trigramsOf(line: string): number[] {
  const text = ` ${SPACED.key(line.slice(0, MAX_LINE_CHARS)).toLowerCase()} `;
  const pieces: number[] = [];
  for (let i = 2; i < text.length; i++)
    pieces.push(
      ((text.charCodeAt(i - 2) * 31 + text.charCodeAt(i - 1)) * 31 + text.charCodeAt(i)) %
        PIECE_HASHES,
    );
  return pieces;
}
