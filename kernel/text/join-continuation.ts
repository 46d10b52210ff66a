// Joins an answer that the output limit cut with its continuation.

import type { Reply } from "../contract.ts";

/**
 * Joins two texts without what the second repeats of the first: a long stretch, or whole words.
 * `10` and `00` make 1000.
 */
export function joinHalves(firstHalf: string, secondHalf: string): string {
  for (const overlapLength of overlaps(
    firstHalf.slice(-MAX_OVERLAP_CHARS),
    secondHalf.slice(0, MAX_OVERLAP_CHARS),
  )) {
    const isAtWords = !/[\p{L}\p{N}]/u.test(
      (firstHalf.at(-overlapLength - 1) ?? "") + (secondHalf[overlapLength] ?? ""),
    );
    if (
      overlapLength >= 16 ||
      (isAtWords && /^\p{L}.*\p{L}$/su.test(secondHalf.slice(0, overlapLength)))
    )
      return firstHalf + secondHalf.slice(overlapLength);
  }
  return firstHalf + secondHalf;
}
const MAX_OVERLAP_CHARS = 100_000;

/** A reply that was cut off, with the one that continues it. */
export function joinReplies(cutReply: Reply, nextReply: Reply): Reply {
  const extra = [...(cutReply.extra ?? []), ...(nextReply.extra ?? [])];
  return {
    ...nextReply,
    text: joinHalves(cutReply.text, nextReply.text),
    thinking: cutReply.thinking || nextReply.thinking,
    ...(extra.length && { extra }),
  };
}

/**
 * The lengths by which the end of one is the beginning of the other, longest first, down to two: by
 * Knuth, Morris and Pratt.
 */
function* overlaps(firstText: string, secondText: string): Generator<number> {
  // for each beginning, the longest shorter one that it also ends with
  const fallbacks = new Int32Array(secondText.length + 1);
  for (let i = 1, matched = 0; i < secondText.length; i++) {
    while (matched > 0 && secondText[i] !== secondText[matched]) matched = fallbacks[matched]!;
    if (secondText[i] === secondText[matched]) matched++;
    fallbacks[i + 1] = matched;
  }
  let matchLength = 0;
  for (let i = 0; i < firstText.length; i++) {
    while (
      matchLength > 0 &&
      (matchLength === secondText.length || firstText[i] !== secondText[matchLength])
    )
      matchLength = fallbacks[matchLength]!;
    if (firstText[i] === secondText[matchLength]) matchLength++;
  }
  for (; matchLength > 1; matchLength = fallbacks[matchLength]!) yield matchLength;
}
