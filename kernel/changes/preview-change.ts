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
  about: string,
  held: PendingChanges,
): Promise<ShownPreview> {
  const room = roomLeft();
  let excessBytes = 0;
  const changes = [...held].map(([file, { before, after }]): Difference => {
    const binary = [before, after].some((state) => state?.bytes.subarray(0, 8_192).includes(0));
    const { parts, line } = binary ? { parts: [], line: 1 } : comparedParts(before, after);
    const long = !room.takes(parts);
    if (long) excessBytes += bytesIn(parts);
    const isBrief = binary || long;
    const [old, next] = isBrief
      ? [before, after].map((state) => state && `${state.bytes.length} bytes\n`)
      : textsOf(parts);
    const texts = {
      ...(old !== undefined && { before: old }),
      ...(next !== undefined && { after: next }),
    };
    const note = describeInvisible(
      before,
      after,
      [binary && "not text", long && "too long to be shown"],
      old === next,
    );
    return {
      path: visible(shortestName(turn.core.options, file)),
      ...texts,
      ...note,
      ...(line > 1 && !isBrief && { line }),
    };
  });
  const text = await runStep(
    turn,
    "preview",
    { tool, about: clean(about), changes },
    async ({ about, changes }) =>
      [about, ...(await Promise.all(changes.map(unifiedDiff)))].filter(Boolean).join("\n"),
  );
  return { text, ...(excessBytes && { long: `${excessBytes} bytes` }) };
}

type ComparedParts = (Buffer | undefined)[];
const bytesIn = (parts: ComparedParts): number =>
  parts.reduce((sum, part) => sum + (part?.length ?? 0), 0);

/**
 * Of a large file only what lies between its first and its last difference, in whole lines and with
 * some around.
 */
function comparedParts(
  before: DiskState,
  after: DiskState,
): { parts: ComparedParts; line: number } {
  const allBytes = [before?.bytes, after?.bytes];
  const [old, next] = allBytes;
  if (!old || !next || bytesIn(allBytes) < LARGE_BYTES) return { parts: allBytes, line: 1 };
  const [start, end] = sharedEnds(old, next);
  const lineAt = (offset: number) => (offset > 0 ? old.lastIndexOf(10, offset - 1) + 1 : 0);
  let from = lineAt(start);
  for (let lines = 0; lines < LINES_AROUND; lines++) from = lineAt(from - 1);
  const upTo = (bytes: Buffer) => {
    let offset = bytes.length - end;
    for (let lines = 0; lines <= LINES_AROUND && offset < bytes.length; lines++)
      offset = bytes.indexOf(10, offset) + 1 || bytes.length;
    return offset;
  };
  return {
    parts: [old.subarray(from, upTo(old)), next.subarray(from, upTo(next))],
    line: linesIn(old.subarray(0, from)) + 1,
  };
}
const [LARGE_BYTES, LINES_AROUND] = [1_000_000, 3];

function linesIn(bytes: Buffer): number {
  let lines = 0;
  for (let offset = bytes.indexOf(10); offset >= 0; offset = bytes.indexOf(10, offset + 1)) lines++;
  return lines;
}

/**
 * How much is compared for one question. What is new or goes is shown whole, so that the limits of
 * a question are its own.
 */
function roomLeft() {
  let [bytes, lines] = [MAX_COMPARED_BYTES, MAX_COMPARED_LINES];
  return {
    takes(parts: ComparedParts): boolean {
      const isCompared = parts.every((part) => part !== undefined);
      const count = parts.reduce((sum, part) => sum + (part ? linesIn(part) : 0), 0);
      if (!isCompared && (bytesIn(parts) > 4 * MAX_QUESTION_CHARS || count > MAX_QUESTION_LINES))
        return false;
      [bytes, lines] = [bytes - bytesIn(parts), lines - count];
      return bytes >= 0 && lines >= 0;
    },
  };
}
// a character has up to four bytes
const [MAX_COMPARED_BYTES, MAX_COMPARED_LINES] = [4 * MAX_QUESTION_CHARS, 10 * MAX_QUESTION_LINES];
export const isComparable = (before: DiskState, after: DiskState): boolean =>
  roomLeft().takes(comparedParts(before, after).parts);

/** As they can be shown, each difference too. */
function textsOf(parts: ComparedParts): (string | undefined)[] {
  const plain = parts.map((part) => part && clean(part.toString()));
  const isBoth = parts.every((part) => part !== undefined);
  return isBoth && plain[0] !== plain[1] ? cleanVersions(parts as Buffer[]) : plain;
}

const octal = ({ mode }: NonNullable<DiskState>): string => (mode & 0o7777).toString(8);

/** Notes on what a diff of the texts does not show. */
function describeInvisible(
  before: DiskState,
  after: DiskState,
  otherNotes: (string | false)[],
  isSameText: boolean,
): { note?: string } {
  const mode = (after ?? before)!.mode;
  const notes = [
    ...otherNotes,
    [before, after].some(isFolder) && "a folder",
    (mode & TYPE) === LINK ? "a link" : (mode & TYPE) === FILE && mode & 0o111 && "executable",
    before &&
      after &&
      before.mode !== after.mode &&
      `another mode: ${octal(before)} to ${octal(after)}`,
    isSameText &&
      before &&
      after &&
      !before.bytes.equals(after.bytes) &&
      "only line ends or bytes that do not show",
  ].filter(Boolean);
  return notes.length ? { note: notes.join(", ") } : {};
}

export async function unifiedDiff({
  path,
  before,
  after,
  note = "",
  line = 1,
}: Difference): Promise<string> {
  const { formatPatch, structuredPatch } = await import("diff");
  const [from, to] = [
    before === undefined ? "/dev/null" : path,
    after === undefined ? "/dev/null" : path,
  ];
  const patch = structuredPatch(from, to, before ?? "", after ?? "", "", note, {
    timeout: DIFF_LIMIT,
  });
  const signLines = (sign: string, text = "") => text.replace(/\n$/, "").replace(/^/gm, sign);
  // the timeout passed: nearly everything differs
  const wholeTexts = () =>
    `--- ${from}\n+++ ${to}\n${signLines("-", before)}\n${signLines("+", after)}`;
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
  const state = (after ?? before)!;
  if (isFolder(state)) return after ? "back, a folder" : "removed, a folder";
  const isBinary = [before, after].some((side) => side?.bytes.subarray(0, 8_192).includes(0));
  const lines = linesIn(state.bytes) + (state.bytes.length && state.bytes.at(-1) !== 10 ? 1 : 0);
  const size = isBinary ? plural(state.bytes.length, "byte") : plural(lines, "line");
  if (!before) return `back, ${size}`;
  if (!after) return `removed, ${size}`;
  if (before.bytes.equals(after.bytes)) return "its mode";
  if (isBinary || !isComparable(before, after)) return `now ${size}`;
  const { structuredPatch } = await import("diff");
  const [old, next] = comparedParts(before, after).parts.map(String) as [string, string];
  const patch = structuredPatch("", "", old, next, "", "", { timeout: DIFF_LIMIT });
  const changedLines = (patch?.hunks ?? []).flatMap((hunk) => hunk.lines);
  const count = (sign: string) => changedLines.filter((line) => line.startsWith(sign)).length;
  const counts = [count("+") && `+${count("+")}`, count("-") && `−${count("-")}`];
  return counts.filter(Boolean).join(" ") || `now ${size}`;
}
export const DIFF_LIMIT = 1_000; // ms
