// What messages tell the model when an old_string is not in exactly one place.

import { countBelow, type Edit, type File, MAX_PLACES } from "./file-text.ts";
import { HOW, linesOf, type Match, NUMBERED, SPACED } from "./find-matches.ts";

const MAX_SHOWN = 8; // nearest lines, or line numbers
const MAX_WANTED_LINES = 20; // of old_string that are compared
const MAX_LINE_CHARS = 400;

export function ambiguous(openedFile: File, matches: Match[]): string {
  const matchLines = [
    ...new Set(matches.map(({ from }) => countBelow(openedFile.starts, from + 1))),
  ];
  const listedLines =
    matchLines.slice(0, MAX_SHOWN).join(", ") + (matchLines.length > MAX_SHOWN ? " …" : "");
  const { how } = matches[0]!;
  const placesWords =
    `${matches.length === MAX_PLACES ? "at least " : ""}${matches.length} places ` +
    `(${matchLines.length === 1 ? "line" : "lines"} ${listedLines})`;
  if (how === "exact" || how === "line ends")
    return (
      `old_string matches ${placesWords}. ` +
      "Give more of the lines around the one that is meant, or set replace_all."
    );
  return (
    `old_string is not there as it stands, and ${HOW[how]} it matches ${placesWords}. ` +
    "Copy the lines exactly, with more around them."
  );
}

export function notFound(openedFile: File, { old_string }: Edit, wasThere: boolean): string {
  const { old } = linesOf({ old_string, new_string: "" });
  const sentences = ["old_string was not found (0 places)."];
  if (wasThere)
    sentences.push("An edit before it changed that text: each sees what the ones before it made.");
  if (old.every((oldLine) => NUMBERED.test(oldLine)))
    sentences.push(
      "Its lines begin with line numbers, which the file does not hold: leave them out.",
    );
  const nearestRows = nearest(openedFile, old);
  if (nearestRows.length) sentences.push("Nearest lines:");
  else sentences.push("No line is like it. Read the file again.");
  return [sentences.join(" "), ...nearestRows].join("\n");
}

/**
 * The file's lines most similar to these, numbered. Compared by shared trigrams, which is fast and
 * tolerates typos.
 */
function nearest({ lines }: File, oldLines: string[]): string[] {
  const wantedTrigrams = oldLines.slice(0, MAX_WANTED_LINES).map(trigramsOf);
  const holders: (number[] | undefined)[] = new Array(PIECE_HASHES).fill(undefined);
  for (const [i, pieces] of wantedTrigrams.entries())
    for (const piece of new Set(pieces)) (holders[piece] ??= []).push(i);
  // for each line at which old_string might start
  const startVotes = new Float64Array(lines.length + wantedTrigrams.length);
  const sharedCounts = new Uint32Array(wantedTrigrams.length);
  for (let lineIndex = 0; lineIndex < lines.length; lineIndex++) {
    sharedCounts.fill(0);
    const pieces = trigramsOf(lines[lineIndex]!);
    for (const piece of pieces) for (const i of holders[piece] ?? NO_HOLDERS) sharedCounts[i]!++;
    for (let i = 0; i < sharedCounts.length; i++) {
      const { length } = wantedTrigrams[i]!;
      const similarity = Math.min(1, sharedCounts[i]! / Math.max(pieces.length, length));
      if (similarity > 0.3)
        startVotes[lineIndex - i + wantedTrigrams.length]! += similarity * similarity * length;
    }
  }
  const bestIndex = startVotes.reduce(
    (bestSoFar, startVote, i) => (startVote > startVotes[bestSoFar]! ? i : bestSoFar),
    0,
  );
  if (!startVotes[bestIndex]) return [];
  const topLine = bestIndex - wantedTrigrams.length;
  const differs = oldLines.findIndex(
    (oldLine, i) => SPACED.key(oldLine) !== SPACED.key(lines[topLine + i] ?? ""),
  );
  const firstShown = Math.max(
    0,
    oldLines.length < MAX_SHOWN ? topLine - 1 : topLine + Math.max(0, differs - 2),
  );
  const shownEnd = Math.min(firstShown + MAX_SHOWN, topLine + oldLines.length + 1);
  return lines
    .slice(firstShown, shownEnd)
    .map((shownLine, i) => `${firstShown + i + 1}\t${shortLine(shownLine)}`);
}
const shortLine = (shownLine: string): string =>
  shownLine.length > MAX_LINE_CHARS ? `${shownLine.slice(0, MAX_LINE_CHARS)}…` : shownLine;

const PIECE_HASHES = 65_536;
const NO_HOLDERS: number[] = [];

function trigramsOf(comparedLine: string): number[] {
  const paddedKey = ` ${SPACED.key(comparedLine.slice(0, MAX_LINE_CHARS)).toLowerCase()} `;
  const pieces: number[] = [];
  for (let i = 2; i < paddedKey.length; i++)
    pieces.push(
      ((paddedKey.charCodeAt(i - 2) * 31 + paddedKey.charCodeAt(i - 1)) * 31 +
        paddedKey.charCodeAt(i)) %
        PIECE_HASHES,
    );
  return pieces;
}
