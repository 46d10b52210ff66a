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
  file: string,
  hash: string,
  lines: Span[] = [ALL_LINES],
): void {
  const [seenFile, round] = [chat.seen.get(file), roundOf(chat)];
  const seenLines =
    seenFile?.hash === hash
      ? { lines: seenFile.lines, moved: movedNow(chat, seenFile) }
      : { lines: [], moved: round ? [EVERYTHING_MOVED] : [] };
  if (lines.length)
    keepSeen(chat, file, {
      ...seenLines,
      hash,
      round,
      lines: mergeSpans([...seenLines.lines, ...lines]),
    });
}

function keepSeen(chat: LiveChat, file: string, seenFile?: Seen): void {
  if (seenFile) chat.seen.set(file, seenFile);
  else if (!chat.seen.delete(file)) return;
  chat.unsavedSeen.add(file);
}

/**
 * After zz changed files: what the model still knows of each, and where its lines are now. wrote:
 * whether it knows what is new.
 */
export function followChanges(
  chat: LiveChat,
  held: Map<string, { before: DiskState; after: DiskState }>,
  wrote: boolean,
): void {
  const round = roundOf(chat);
  const seenBefore = new Map([...held.keys()].map((file) => [file, chat.seen.get(file)]));
  for (const [file, { before, after }] of held) {
    if (isFolder(after)) continue; // nobody reads it
    const from = [...held].find(
      ([, otherChange]) =>
        !before &&
        !otherChange.after &&
        otherChange.before &&
        after?.bytes.equals(otherChange.before.bytes),
    );
    const seenFile = seenBefore.get(from?.[0] ?? file);
    // it has to be read again
    const isLost = !wrote && !from && seenFile?.hash !== hashOfState(before);
    if (!isLost) keepSeen(chat, file);
    if (!after || isLost) continue;
    const hash = hashOf(after.bytes);
    if (from && seenFile?.hash === hash) keepSeen(chat, file, seenFile);
    else if (!before && !from)
      keepSeen(chat, file, {
        hash,
        lines: [ALL_LINES],
        round,
        moved: round ? [EVERYTHING_MOVED] : [],
      });
    else if (before && !from)
      keepSeen(chat, file, { hash, round, ...withChange(seenFile, before, after) });
  }

  function withChange(
    seenText: Seen | undefined,
    before: NonNullable<DiskState>,
    after: NonNullable<DiskState>,
  ) {
    const isKnown = seenText?.hash === hashOfState(before);
    const move = lineMove(linesOf(before), linesOf(after));
    const shifted = isKnown
      ? seenText.lines.flatMap((span) => (move ? shiftedSpans(span, move) : [span]))
      : [];
    const fresh: Span[] =
      wrote && move && move.to + move.by >= move.from ? [[move.from, move.to + move.by]] : [];
    return {
      lines: [...shifted, ...fresh],
      moved: isKnown ? [...movedNow(chat, seenText), ...(move ? [move] : [])] : [EVERYTHING_MOVED],
    };
  }
}

const linesOf = ({ bytes }: NonNullable<DiskState>): string[] =>
  bytes.toString("latin1").split(/(?<=\n)/);

/** The lines that were replaced. Where lines are alike and several ranges would do, all of them. */
function lineMove(before: string[], after: string[]): Moved | undefined {
  const [n, m, least] = [before.length, after.length, Math.min(before.length, after.length)];
  let [head, tail] = [0, 0];
  while (head < least && before[head] === after[head]) head++;
  while (tail < least && before[n - 1 - tail] === after[m - 1 - tail]) tail++;
  if (head === n && head === m) return undefined;
  return {
    from: Math.min(head, least - tail) + 1,
    to: Math.max(n - tail, head + n - least),
    by: m - n,
  };
}

/** What is left of a span before and after the replaced lines, with the new numbers. */
function shiftedSpans([start, end]: Span, { from, to, by }: Moved): Span[] {
  const parts: Span[] = [
    [start, Math.min(end, from - 1)],
    [Math.max(start, to + 1) + by, end + by],
  ];
  return parts.filter(([first, last]) => first <= last);
}

/** Sorts spans and joins neighbours. */
export function mergeSpans(lines: Span[]): Span[] {
  const merged: Span[] = [];
  for (const [from, to] of [...lines].sort(([a], [b]) => a - b)) {
    const last = merged.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}
