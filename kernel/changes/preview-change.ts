// What a question shows of changes to files. What is too much for any question is neither compared
// nor drawn.

import type { Difference } from "../contract.ts";
import { runStep } from "../events.ts";
import { MAX_QUESTION_CHARS, MAX_QUESTION_LINES } from "../gate/gate.ts";
import type { TurnContext } from "../instance.ts";
import { type DiskState, FILE, isFolder, LINK, sharedEnds, TYPE } from "../system/file-state.ts";
import { shortestName } from "../system/real-paths.ts";
import { clean, cleanVersions, visible } from "../text/show-safely.ts";
import { plural } from "../text/words.ts";
import type { PendingChanges } from "./commit-changes.ts";

/** long: how much there is, where that is more than can be shown: then nobody can say yes to it. */
type ShownPreview = { text: string; long?: string };

export async function renderPreview(
  turn: TurnContext,
  tool: string,
  aboutText: string,
  heldChanges: PendingChanges,
): Promise<ShownPreview> {
  const hasRoomFor = roomLeft();
  let excessBytes = 0;
  const changes = [...heldChanges].map(([filePath, { before, after }]): Difference => {
    const isBinary = holdsNul(before) || holdsNul(after);
    const { parts, line } = isBinary ? { parts: [], line: 1 } : comparedParts(before, after);
    const isTooLong = !hasRoomFor(parts);
    if (isTooLong) excessBytes += bytesIn(parts);
    const isBrief = isBinary || isTooLong;
    const [oldText, newText] = isBrief
      ? [before, after].map((fileState) => fileState && `${fileState.bytes.length} bytes\n`)
      : textsOf(parts);
    const shownTexts = {
      ...(oldText !== undefined && { before: oldText }),
      ...(newText !== undefined && { after: newText }),
    };
    const noteField = describeInvisible(
      before,
      after,
      [isBinary && "not text", isTooLong && "too long to be shown"],
      oldText === newText,
    );
    return {
      path: visible(shortestName(turn.core.options, filePath)),
      ...shownTexts,
      ...noteField,
      ...(line > 1 && !isBrief && { line }),
    };
  });
  const text = await runStep(
    turn,
    "preview",
    { tool, about: clean(aboutText), changes },
    async ({ about, changes }) =>
      [about, ...(await Promise.all(changes.map(unifiedDiff)))].filter(Boolean).join("\n"),
  );
  return { text, ...(excessBytes && { long: `${excessBytes} bytes` }) };
}

const holdsNul = (fileState: DiskState): boolean =>
  fileState?.bytes.subarray(0, 8_192).includes(0) === true;

type ComparedParts = (Buffer | undefined)[];
const sumOf = (parts: ComparedParts, measure: (partBytes: Buffer) => number): number =>
  parts.reduce((total, partBytes) => total + (partBytes ? measure(partBytes) : 0), 0);
const bytesIn = (parts: ComparedParts): number => sumOf(parts, ({ length }) => length);

/**
 * Of a large file only what lies between its first and its last difference, in whole lines and with
 * some around.
 */
function comparedParts(
  before: DiskState,
  after: DiskState,
): { parts: ComparedParts; line: number } {
  const allBytes = [before?.bytes, after?.bytes];
  const [oldBytes, newBytes] = allBytes;
  if (!oldBytes || !newBytes || bytesIn(allBytes) < LARGE_BYTES)
    return { parts: allBytes, line: 1 };
  const [sharedStart, sharedEnd] = sharedEnds(oldBytes, newBytes);
  const findLineStart = (offset: number) =>
    offset > 0 ? oldBytes.lastIndexOf(10, offset - 1) + 1 : 0;
  let partStart = findLineStart(sharedStart);
  for (let lineCount = 0; lineCount < LINES_AROUND; lineCount++)
    partStart = findLineStart(partStart - 1);
  const findPartEnd = (fileBytes: Buffer) => {
    let endOffset = fileBytes.length - sharedEnd;
    for (let lineCount = 0; lineCount <= LINES_AROUND && endOffset < fileBytes.length; lineCount++)
      endOffset = fileBytes.indexOf(10, endOffset) + 1 || fileBytes.length;
    return endOffset;
  };
  return {
    parts: [
      oldBytes.subarray(partStart, findPartEnd(oldBytes)),
      newBytes.subarray(partStart, findPartEnd(newBytes)),
    ],
    line: linesIn(oldBytes.subarray(0, partStart)) + 1,
  };
}
const [LARGE_BYTES, LINES_AROUND] = [1_000_000, 3];

function linesIn(textBytes: Buffer): number {
  let lineCount = 0;
  for (
    let newlineOffset = textBytes.indexOf(10);
    newlineOffset >= 0;
    newlineOffset = textBytes.indexOf(10, newlineOffset + 1)
  )
    lineCount++;
  return lineCount;
}

/**
 * How much is compared for one question. What is new or goes is shown whole, so that the limits of
 * a question are its own.
 */
function roomLeft() {
  let [bytesLeft, linesLeft] = [MAX_COMPARED_BYTES, MAX_COMPARED_LINES];
  return (parts: ComparedParts) => {
    const isCompared = parts.every((partBytes) => partBytes !== undefined);
    const [byteCount, lineCount] = [bytesIn(parts), sumOf(parts, linesIn)];
    if (!isCompared && (byteCount > 4 * MAX_QUESTION_CHARS || lineCount > MAX_QUESTION_LINES))
      return false;
    [bytesLeft, linesLeft] = [bytesLeft - byteCount, linesLeft - lineCount];
    return bytesLeft >= 0 && linesLeft >= 0;
  };
}
// a character has up to four bytes
const [MAX_COMPARED_BYTES, MAX_COMPARED_LINES] = [4 * MAX_QUESTION_CHARS, 10 * MAX_QUESTION_LINES];
export const isComparable = (before: DiskState, after: DiskState): boolean =>
  roomLeft()(comparedParts(before, after).parts);

/** As they can be shown, each difference too. */
function textsOf(parts: ComparedParts): (string | undefined)[] {
  const plainTexts = parts.map((partBytes) => partBytes && clean(partBytes.toString()));
  const hasBothParts = parts.every((partBytes) => partBytes !== undefined);
  return hasBothParts && plainTexts[0] !== plainTexts[1]
    ? cleanVersions(parts as Buffer[])
    : plainTexts;
}

const formatMode = ({ mode }: NonNullable<DiskState>): string => (mode & 0o7777).toString(8);

/** Notes on what a diff of the texts does not show. */
function describeInvisible(
  before: DiskState,
  after: DiskState,
  otherNotes: (string | false)[],
  isSameText: boolean,
): { note?: string } {
  const shownMode = (after ?? before)!.mode;
  const allNotes = [
    ...otherNotes,
    [before, after].some(isFolder) && "a folder",
    (shownMode & TYPE) === LINK
      ? "a link"
      : (shownMode & TYPE) === FILE && shownMode & 0o111 && "executable",
    before &&
      after &&
      before.mode !== after.mode &&
      `another mode: ${formatMode(before)} to ${formatMode(after)}`,
    isSameText &&
      before &&
      after &&
      !before.bytes.equals(after.bytes) &&
      "only line ends or bytes that do not show",
  ].filter(Boolean);
  return allNotes.length ? { note: allNotes.join(", ") } : {};
}

export async function unifiedDiff({
  path,
  before,
  after,
  note = "",
  line = 1,
}: Difference): Promise<string> {
  const { formatPatch, structuredPatch } = await import("diff");
  const [fromPath, toPath] = [
    before === undefined ? "/dev/null" : path,
    after === undefined ? "/dev/null" : path,
  ];
  const patch = structuredPatch(fromPath, toPath, before ?? "", after ?? "", "", note, {
    maxEditLength: MAX_DIFFERENCES,
  });
  const signLines = (lineSign: string, sideText = "") =>
    sideText.replace(/\n$/, "").replace(/^/gm, lineSign);
  // nearly everything differs
  const wholeTexts = () =>
    `--- ${fromPath}\n+++ ${toPath}\n${signLines("-", before)}\n${signLines("+", after)}`;
  for (const hunk of patch?.hunks ?? []) {
    hunk.oldStart += line - 1;
    hunk.newStart += line - 1;
  }
  return patch
    ? formatPatch(patch)
        .replace(/^(Index: .*\n)?=+\n/, "")
        .trimEnd()
    : wholeTexts();
}
/** How many lines one state has more and less than the other, or what else there is to say. */
export async function countLines(before: DiskState, after: DiskState): Promise<string> {
  const shownState = (after ?? before)!;
  if (isFolder(shownState)) return after ? "back, a folder" : "removed, a folder";
  const isBinary = holdsNul(before) || holdsNul(after);
  const lineCount =
    linesIn(shownState.bytes) + (shownState.bytes.length && shownState.bytes.at(-1) !== 10 ? 1 : 0);
  const sizeText = isBinary ? plural(shownState.bytes.length, "byte") : plural(lineCount, "line");
  if (!before) return `back, ${sizeText}`;
  if (!after) return `removed, ${sizeText}`;
  if (before.bytes.equals(after.bytes)) return "its mode";
  if (isBinary || !isComparable(before, after)) return `now ${sizeText}`;
  const { structuredPatch } = await import("diff");
  const [oldText, newText] = comparedParts(before, after).parts.map(String) as [string, string];
  const patch = structuredPatch("", "", oldText, newText, "", "", {
    maxEditLength: MAX_DIFFERENCES,
  });
  const changedLines = (patch?.hunks ?? []).flatMap((hunk) => hunk.lines);
  const countSign = (lineSign: string) =>
    changedLines.filter((changedLine) => changedLine.startsWith(lineSign)).length;
  const signCounts = [
    countSign("+") && `+${countSign("+")}`,
    countSign("-") && `−${countSign("-")}`,
  ];
  return signCounts.filter(Boolean).join(" ") || `now ${sizeText}`;
}
/**
 * Lines that came or went: finding more takes over a second. A limit in ms would have an undo fail
 * by chance.
 */
export const MAX_DIFFERENCES = 4_000;
