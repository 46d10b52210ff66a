// Joins an answer that the output limit cut with its continuation.

import type { Reply } from "../contract.ts";

/**
 * Joins two texts without what the second repeats of the first: a long stretch, or whole words.
 * `10` and `00` make 1000.
 */
export function joinHalves(first: string, two: string): string {
  for (const length of overlaps(first.slice(-MAX_OVERLAP_CHARS), two.slice(0, MAX_OVERLAP_CHARS))) {
    const isAtWords = !/[\p{L}\p{N}]/u.test((first.at(-length - 1) ?? "") + (two[length] ?? ""));
    if (length >= 16 || (isAtWords && /^\p{L}.*\p{L}$/su.test(two.slice(0, length))))
      return first + two.slice(length);
  }
  return first + two;
}
const MAX_OVERLAP_CHARS = 100_000;

/** A reply that was cut off, with the one that continues it. */
export function joinReplies(first: Reply, next: Reply): Reply {
  const extra = [...(first.extra ?? []), ...(next.extra ?? [])];
  return {
    ...next,
    text: joinHalves(first.text, next.text),
    thinking: first.thinking || next.thinking,
    ...(extra.length && { extra }),
  };
}

/**
 * The lengths by which the end of one is the beginning of the other, longest first, down to two: by
 * Knuth, Morris and Pratt.
 */
function* overlaps(first: string, two: string): Generator<number> {
  // for each beginning, the longest shorter one that it also ends with
  const fails = new Int32Array(two.length + 1);
  for (let i = 1, matched = 0; i < two.length; i++) {
    while (matched > 0 && two[i] !== two[matched]) matched = fails[matched]!;
    if (two[i] === two[matched]) matched++;
    fails[i + 1] = matched;
  }
  let length = 0;
  for (let i = 0; i < first.length; i++) {
    while (length > 0 && (length === two.length || first[i] !== two[length]))
      length = fails[length]!;
    if (first[i] === two[length]) length++;
  }
  for (; length > 1; length = fails[length]!) yield length;
}
