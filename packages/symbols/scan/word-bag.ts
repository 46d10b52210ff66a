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
const COUNT_STEPS = [1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 29, 40, 60, 100, 200];
const CODES_BY_COUNT = Uint8Array.from({ length: 201 }, (_, exactCount) =>
  COUNT_STEPS.findLastIndex((stepCount) => stepCount <= Math.max(1, exactCount)),
);
const [MIN_CHARS, MAX_CHARS, MAX_WORDS] = [2, 40, 4_000]; // of a word; of a file

/** Splits identifiers: "readFile", "read_file" and "read-file" are two words. */
export const wordsIn = (sourceText: string): string[] =>
  sourceText.match(WORD_PATTERN)?.map((word) => word.toLowerCase()) ?? [];
const WORD_PATTERN = /\p{Lu}?\p{Ll}+|\p{Lu}+(?!\p{Ll})|\p{Lo}+|\d+/gu;

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
    "a add all an and any are as at be been but by can change could did do does each fix " +
    "for from had has have how i if in " +
    "into is it its let make me my no not of on one or other our out over please " +
    "should so some than that the their them " +
    "then there they this those to too under up us use used using was we were what when " +
    "where which while who why will with " +
    "without would you your"
  ).split(" "),
);

const [FNV_OFFSET, FNV_PRIME] = [0x811c9dc5, 0x01000193]; // FNV-1a
const foldHash = (wideHash: number) =>
  (wideHash ^ (wideHash >>> HASH_BITS)) & ((1 << HASH_BITS) - 1);
function hashText(hashedText: string): number {
  let textHash = FNV_OFFSET;
  for (let index = 0; index < hashedText.length; index++)
    textHash = Math.imul(textHash ^ hashedText.charCodeAt(index), FNV_PRIME);
  return textHash;
}
/** Of a stem. */
export const wordHash = (wordStem: string): number => foldHash(hashText(wordStem));
/** Of a whole identifier of several words: another hash than that of a word spelt alike. */
const nameHash = (identifier: string) =>
  foldHash(Math.imul(hashText(identifier) ^ 0x5f, FNV_PRIME));

/** Of a name as code writes it: as the bag has it where it is of several words. */
export const keyOf = (identifier: string): number =>
  wordsIn(identifier).length > 1 ? nameHash(identifier) : wordHash(identifier);

/** The hashes of the words in a text, without those that say little. */
export const hashesIn = (sourceText: string): number[] =>
  wordsIn(sourceText)
    .filter(isWord)
    .map((word) => wordHash(stem(word)));
const isWord = (word: string) =>
  (word.length >= MIN_CHARS || /\p{Lo}/u.test(word)) &&
  word.length <= MAX_CHARS &&
  !STOP_WORDS.has(word);

/** What each identifier adds to a bag. */
const hashesByName = new Map<string, readonly number[]>();
const MAX_KEPT = 100_000;

export function bagOf(sourceText: string): Buffer {
  if (hashesByName.size > MAX_KEPT) hashesByName.clear();
  const hashCounts = new Map<number, number>();
  for (const identifier of sourceText.match(IDENTIFIERS) ?? [])
    for (const countedHash of hashesByName.get(identifier) ?? learnName(identifier))
      hashCounts.set(countedHash, (hashCounts.get(countedHash) ?? 0) + 1);
  return packWords(hashCounts);
}
const IDENTIFIERS = /[\w$\x80-\uffff]+/g;

function learnName(identifier: string): number[] {
  const nameHashes = hashesIn(identifier);
  if (identifier.length > 2 * MAX_CHARS) return nameHashes; // hardly met twice
  if (/^[\w$]+$/.test(identifier) && wordsIn(identifier).length > 1)
    nameHashes.push(nameHash(identifier));
  hashesByName.set(identifier, nameHashes);
  return nameHashes;
}

/** The words of a name, each once, and the name as a whole: what the bag of its file has. */
export const wordsOfName = (identifier: string): { words: number[]; key: number } => ({
  words: [...new Set(hashesIn(identifier))],
  key: keyOf(identifier),
});

/** The most frequent ones, where there are too many. */
function packWords(hashCounts: ReadonlyMap<number, number>): Buffer {
  const entries = [...hashCounts];
  const keptEntries =
    entries.length > MAX_WORDS
      ? entries
          .sort(([, firstCount], [, secondCount]) => secondCount - firstCount)
          .slice(0, MAX_WORDS)
      : entries;
  const packedBytes = Buffer.allocUnsafe(keptEntries.length * ENTRY_BYTES);
  let offset = 0;
  for (const [hash, wordCount] of keptEntries) {
    const countCode = CODES_BY_COUNT[Math.min(wordCount, CODES_BY_COUNT.length - 1)]!;
    packedBytes[offset++] = 0x80 | (hash & 0x7f);
    packedBytes[offset++] = 0x80 | ((hash >>> 7) & 0x7f);
    packedBytes[offset++] = 0x80 | ((hash >>> 14) & 0x7f);
    packedBytes[offset++] = 0x80 | ((hash >>> 21) << 4) | countCode;
  }
  return packedBytes;
}

export function readBag(packedBytes: Uint8Array): Bag {
  const wordCount = Math.floor(packedBytes.length / ENTRY_BYTES);
  const bag = { hashes: new Uint32Array(wordCount), counts: new Uint8Array(wordCount) };
  for (let i = 0, offset = 0; i < wordCount; i++) {
    const lowBits =
      (packedBytes[offset++]! & 0x7f) |
      ((packedBytes[offset++]! & 0x7f) << 7) |
      ((packedBytes[offset++]! & 0x7f) << 14);
    const lastByte = packedBytes[offset++]!;
    bag.hashes[i] = lowBits | (((lastByte >>> 4) & 7) << 21);
    bag.counts[i] = COUNT_STEPS[lastByte & 15]!;
  }
  return bag;
}
