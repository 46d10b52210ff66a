// What words occur in a file, and how often: as hashes, so that the index holds no text.
// Identifiers count as a whole and by their words; "measuring", "measured" and "measures" are the
// same word.

/** The words of one file: each hash once, with how often it occurs, about. */
export interface Bag {
  hashes: Uint32Array;
  counts: Uint8Array;
}
const HASH_BITS = 24;
// 7 bits each: a byte with its highest bit set is never taken for a piece of the row's names
const ENTRY_BYTES = 4;
/** Counts are kept as positions in this list. */
const COUNTS = [1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 29, 40, 60, 100, 200];
const CODES = Uint8Array.from({ length: 201 }, (_, number) =>
  COUNTS.findLastIndex((count) => count <= Math.max(1, number)),
);
const [MIN_CHARS, MAX_CHARS, MAX_WORDS] = [2, 40, 4_000]; // of a word; of a file

/** Splits identifiers: "readFile", "read_file" and "read-file" are two words. */
export const wordsIn = (text: string): string[] =>
  text.match(WORD)?.map((word) => word.toLowerCase()) ?? [];
const WORD = /\p{Lu}?\p{Ll}+|\p{Lu}+(?!\p{Ll})|\p{Lo}+|\d+/gu;

export function stem(word: string): string {
  if (word.length < 4) return word;
  return word
    .replace(/ies$/, "y")
    .replace(/([^s])s$/, "$1")
    .replace(/^(.{3,})(?:ing|ed)$|^(.{4,})(?:er|or|ion|ly)$/, "$1$2")
    .replace(/([^aeiou])\1$/, "$1")
    .replace(/e$/, "")
    .replace(/y$/, "i");
}

/** Words that say little about what is meant. */
export const STOP_WORDS = new Set(
  (
    "a add all an and any are as at be been but by can change could did do does each fix for from had has have how i if in " +
    "into is it its let make me my no not of on one or other our out over please should so some than that the their them " +
    "then there they this those to too under up us use used using was we were what when where which while who why will with " +
    "without would you your"
  ).split(" "),
);

const [OFFSET, PRIME] = [0x811c9dc5, 0x01000193]; // FNV-1a
const foldHash = (hash: number): number => (hash ^ (hash >>> HASH_BITS)) & ((1 << HASH_BITS) - 1);
function hashOf(text: string): number {
  let hash = OFFSET;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), PRIME);
  return hash;
}
/** Of a stem. */
export const wordHash = (stem: string): number => foldHash(hashOf(stem));
/** Of a whole identifier of several words: another hash than that of a word spelt alike. */
const nameHash = (name: string): number => foldHash(Math.imul(hashOf(name) ^ 0x5f, PRIME));

/** Of a name as code writes it: as the bag has it where it is of several words. */
export const keyOf = (name: string): number =>
  wordsIn(name).length > 1 ? nameHash(name) : wordHash(name);

/** The hashes of the words in a text, without those that say little. */
export function hashesIn(text: string): number[] {
  const hashes: number[] = [];
  for (const word of wordsIn(text)) if (isWord(word)) hashes.push(wordHash(stem(word)));
  return hashes;
}
export const isWord = (word: string): boolean =>
  (word.length >= MIN_CHARS || /\p{Lo}/u.test(word)) &&
  word.length <= MAX_CHARS &&
  !STOP_WORDS.has(word);

/** What each identifier adds to a bag. */
const hashesByName = new Map<string, readonly number[]>();
const MAX_KEPT = 100_000;

export function bagOf(text: string): Buffer {
  if (hashesByName.size > MAX_KEPT) hashesByName.clear();
  const counts = new Map<number, number>();
  for (const name of text.match(IDENTIFIERS) ?? [])
    for (const hash of hashesByName.get(name) ?? learn(name))
      counts.set(hash, (counts.get(hash) ?? 0) + 1);
  return packWords(counts);
}
const IDENTIFIERS = /[\w$\x80-\uffff]+/g;

function learn(name: string): number[] {
  const hashes = hashesIn(name);
  if (name.length > 2 * MAX_CHARS) return hashes; // hardly met twice
  if (/^[\w$]+$/.test(name) && wordsIn(name).length > 1) hashes.push(nameHash(name));
  hashesByName.set(name, hashes);
  return hashes;
}

/** The words of a name, each once, and the name as a whole: what the bag of its file has. */
export const wordsOfName = (name: string): { words: number[]; key: number } => ({
  words: [...new Set(hashesIn(name))],
  key: keyOf(name),
});

/** The most frequent ones, where there are too many. */
function packWords(counts: ReadonlyMap<number, number>): Buffer {
  const entries = [...counts];
  const kept =
    entries.length > MAX_WORDS
      ? entries.sort(([, a], [, b]) => b - a).slice(0, MAX_WORDS)
      : entries;
  const bytes = Buffer.allocUnsafe(kept.length * ENTRY_BYTES);
  let offset = 0;
  for (const [hash, count] of kept) {
    const code = CODES[Math.min(count, CODES.length - 1)]!;
    bytes[offset++] = 0x80 | (hash & 0x7f);
    bytes[offset++] = 0x80 | ((hash >>> 7) & 0x7f);
    bytes[offset++] = 0x80 | ((hash >>> 14) & 0x7f);
    bytes[offset++] = 0x80 | ((hash >>> 21) << 4) | code;
  }
  return bytes;
}

export function readBag(bytes: Uint8Array): Bag {
  const wordCount = Math.floor(bytes.length / ENTRY_BYTES);
  const bag = { hashes: new Uint32Array(wordCount), counts: new Uint8Array(wordCount) };
  for (let i = 0, offset = 0; i < wordCount; i++) {
    const first =
      (bytes[offset++]! & 0x7f) |
      ((bytes[offset++]! & 0x7f) << 7) |
      ((bytes[offset++]! & 0x7f) << 14);
    const last = bytes[offset++]!;
    bag.hashes[i] = first | (((last >>> 4) & 7) << 21);
    bag.counts[i] = COUNTS[last & 15]!;
  }
  return bag;
}
