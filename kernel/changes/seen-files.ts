// Which lines of files the model was shown, and where zz's own changes have moved them.

import type { Message, Moved, Span } from "../contract.ts";
import type { LiveChat, Seen } from "../instance.ts";
import { type DiskState, hashOf, hashOfState, isFolder } from "../system/file-state.ts";

const ALL_LINES: Span = [1, Number.POSITIVE_INFINITY];
const EVERYTHING_MOVED: Moved = { from: 1, to: Number.POSITIVE_INFINITY, by: 0 };

/** The reply whose calls are running; their effects are unknown to it. Undefined between rounds. */
const roundOf = ({ phase, messages }: LiveChat): Message | undefined =>
  phase === "executing_tools" ? messages.findLast(({ role }) => role === "assistant") : undefined;

export const movedNow = (chat: LiveChat, seenFile: Seen | undefined): Moved[] =>
  seenFile?.round && seenFile.round === roundOf(chat) ? seenFile.moved : [];

export function markLinesSeen(
  chat: LiveChat,
  filePath: string,
  hash: string,
  lineSpans: Span[] = [ALL_LINES],
): void {
  const [seenFile, round] = [chat.seen.get(filePath), roundOf(chat)];
  const seenLines =
    seenFile?.hash === hash
      ? { lines: seenFile.lines, moved: movedNow(chat, seenFile) }
      : { lines: [], moved: round ? [EVERYTHING_MOVED] : [] };
  if (lineSpans.length)
    keepSeen(chat, filePath, {
      ...seenLines,
      hash,
      round,
      lines: mergeSpans([...seenLines.lines, ...lineSpans]),
    });
}

function keepSeen(chat: LiveChat, filePath: string, seenFile?: Seen): void {
  if (seenFile) chat.seen.set(filePath, seenFile);
  else if (!chat.seen.delete(filePath)) return;
  chat.unsavedSeen.add(filePath);
}

/**
 * After zz changed files: what the model still knows of each, and where its lines are now. wrote:
 * whether it knows what is new.
 */
export function followChanges(
  chat: LiveChat,
  heldChanges: Map<string, { before: DiskState; after: DiskState }>,
  wrote: boolean,
): void {
  const round = roundOf(chat);
  const seenBefore = new Map(
    [...heldChanges.keys()].map((filePath) => [filePath, chat.seen.get(filePath)]),
  );
  for (const [filePath, { before, after }] of heldChanges) {
    if (isFolder(after)) continue; // nobody reads it
    const movedFrom = [...heldChanges].find(
      ([, otherChange]) =>
        !before &&
        !otherChange.after &&
        otherChange.before &&
        after?.bytes.equals(otherChange.before.bytes),
    );
    const seenFile = seenBefore.get(movedFrom?.[0] ?? filePath);
    // it has to be read again
    const isLost = !wrote && !movedFrom && seenFile?.hash !== hashOfState(before);
    if (!isLost) keepSeen(chat, filePath);
    if (!after || isLost) continue;
    const hash = hashOf(after.bytes);
    if (movedFrom && seenFile?.hash === hash) keepSeen(chat, filePath, seenFile);
    else if (!before && !movedFrom)
      keepSeen(chat, filePath, {
        hash,
        lines: [ALL_LINES],
        round,
        moved: round ? [EVERYTHING_MOVED] : [],
      });
    else if (before && !movedFrom)
      keepSeen(chat, filePath, { hash, round, ...withChange(seenFile, before, after) });
  }

  function withChange(
    seenText: Seen | undefined,
    before: NonNullable<DiskState>,
    after: NonNullable<DiskState>,
  ) {
    const isKnown = seenText?.hash === hashOfState(before);
    const movedLines = lineMove(linesOf(before), linesOf(after));
    const shifted = isKnown
      ? seenText.lines.flatMap((seenSpan) =>
          movedLines ? shiftedSpans(seenSpan, movedLines) : [seenSpan],
        )
      : [];
    const freshSpans: Span[] =
      wrote && movedLines && movedLines.to + movedLines.by >= movedLines.from
        ? [[movedLines.from, movedLines.to + movedLines.by]]
        : [];
    return {
      lines: [...shifted, ...freshSpans],
      moved: isKnown
        ? [...movedNow(chat, seenText), ...(movedLines ? [movedLines] : [])]
        : [EVERYTHING_MOVED],
    };
  }
}

const linesOf = ({ bytes }: NonNullable<DiskState>): string[] =>
  bytes.toString("latin1").split(/(?<=\n)/);

/** The lines that were replaced. Where lines are alike and several ranges would do, all of them. */
function lineMove(before: string[], after: string[]): Moved | undefined {
  const [oldCount, newCount, lowerCount] = [
    before.length,
    after.length,
    Math.min(before.length, after.length),
  ];
  let [head, tail] = [0, 0];
  while (head < lowerCount && before[head] === after[head]) head++;
  while (tail < lowerCount && before[oldCount - 1 - tail] === after[newCount - 1 - tail]) tail++;
  if (head === oldCount && head === newCount) return undefined;
  return {
    from: Math.min(head, lowerCount - tail) + 1,
    to: Math.max(oldCount - tail, head + oldCount - lowerCount),
    by: newCount - oldCount,
  };
}

/** What is left of a span before and after the replaced lines, with the new numbers. */
function shiftedSpans([spanStart, spanEnd]: Span, { from, to, by }: Moved): Span[] {
  const spanParts: Span[] = [
    [spanStart, Math.min(spanEnd, from - 1)],
    [Math.max(spanStart, to + 1) + by, spanEnd + by],
  ];
  return spanParts.filter(([firstLine, lastLine]) => firstLine <= lastLine);
}

/** Sorts spans and joins neighbours. */
export function mergeSpans(lineSpans: Span[]): Span[] {
  const mergedSpans: Span[] = [];
  for (const [spanStart, spanEnd] of [...lineSpans].sort(
    ([firstStart], [secondStart]) => firstStart - secondStart,
  )) {
    const lastSpan = mergedSpans.at(-1);
    if (lastSpan && spanStart <= lastSpan[1] + 1) lastSpan[1] = Math.max(lastSpan[1], spanEnd);
    else mergedSpans.push([spanStart, spanEnd]);
  }
  return mergedSpans;
}
