// Joins an answer that the output limit cut with its continuation.

/**
 * Joins two texts without what the second repeats of the first: a long stretch, or whole words.
 * `10` and `00` make 1000.
 */
export function joinHalves(one: string, two: string): string {
  for (const length of overlaps(one.slice(-MAX_OVERLAP_CHARS), two.slice(0, MAX_OVERLAP_CHARS))) {
    const apart = !/[\p{L}\p{N}]/u.test((one.at(-length - 1) ?? "") + (two[length] ?? ""));
    if (length >= 16 || (apart && /^\p{L}.*\p{L}$/su.test(two.slice(0, length))))
      return one + two.slice(length);
  }
  return one + two;
}
const MAX_OVERLAP_CHARS = 100_000;

/**
 * The lengths by which the end of one is the beginning of the other, longest first, down to two: by
 * Knuth, Morris and Pratt.
 */
function* overlaps(one: string, two: string): Generator<number> {
  // for each beginning, the longest shorter one that it also ends with
  const fails = new Int32Array(two.length + 1);
  for (let i = 1, at = 0; i < two.length; i++) {
    while (at > 0 && two[i] !== two[at]) at = fails[at]!;
    if (two[i] === two[at]) at++;
    fails[i + 1] = at;
  }
  let at = 0;
  for (let i = 0; i < one.length; i++) {
    while (at > 0 && (at === two.length || one[i] !== two[at])) at = fails[at]!;
    if (one[i] === two[at]) at++;
  }
  for (; at > 1; at = fails[at]!) yield at;
}
