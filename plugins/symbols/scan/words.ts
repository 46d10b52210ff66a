// What words occur in a file, and how often: as hashes, so that the index holds no text. Identifiers count as a whole and
// by their words; "measuring", "measured" and "measures" are the same word.

/** The words of one file: each hash once, with how often it occurs, about. */
export interface Bag {
  hashes: Uint32Array;
  counts: Uint8Array;
}
const HASH_BITS = 24;
const ENTRY_BYTES = 4; // 7 bits each: a byte with its highest bit set is never taken for a piece of the row's names
/** Counts are kept as positions in this list. */
const COUNTS = [1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 29, 40, 60, 100, 200];
const CODES = Uint8Array.from({ length: 201 }, (_, many) =>
  COUNTS.findLastIndex((count) => count <= Math.max(1, many)),
);
const [MIN_CHARS, MAX_CHARS, MAX_WORDS] = [2, 40, 4_000]; // of a word; of a file

/** Splits identifiers: "readFile", "read_file" and "read-file" are two words. */
export const wordsIn = (text: string): string[] => text.match(WORD)?.map((word) => word.toLowerCase()) ?? [];
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
const folded = (hash: number): number => (hash ^ (hash >>> HASH_BITS)) & ((1 << HASH_BITS) - 1);
function hashOf(text: string): number {
  let hash = OFFSET;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), PRIME);
  return hash;
}
/** Of a stem. */
export const wordHash = (stem: string): number => folded(hashOf(stem));
/** Of a whole identifier of several words: another hash than that of a word spelt alike. */
export const nameHash = (name: string): number => folded(Math.imul(hashOf(name) ^ 0x5f, PRIME));

/** Of a name as code writes it: as the bag has it where it is of several words. */
export const keyOf = (name: string): number => (wordsIn(name).length > 1 ? nameHash(name) : wordHash(name));

/** The hashes of the words in a text, without those that say little. */
export function hashesIn(text: string): number[] {
  const found: number[] = [];
  for (const word of wordsIn(text)) if (isWord(word)) found.push(wordHash(stem(word)));
  return found;
}
export const isWord = (word: string): boolean =>
  (word.length >= MIN_CHARS || /\p{Lo}/u.test(word)) && word.length <= MAX_CHARS && !STOP_WORDS.has(word);

const [NONE, LOWER, UPPER, DIGIT, LINK, WIDE] = [0, 1, 2, 3, 4, 5]; // LINK: in an identifier, but in no word
const KINDS = new Uint8Array(1 << 16).fill(WIDE);
for (let code = 0; code < 128; code++) {
  const letter = String.fromCharCode(code);
  KINDS[code] = /[a-z]/.test(letter)
    ? LOWER
    : /[A-Z]/.test(letter)
      ? UPPER
      : /\d/.test(letter)
        ? DIGIT
        : /[_$]/.test(letter)
          ? LINK
          : NONE;
}

/** By the hash of a word as it is spelt: that of its stem; -1 of one that says little. */
const stems = new Map<number, number>();
/** By the hash of an identifier as it is spelt: where what it adds to a bag is counted. */
const spelt = new Map<number, number[]>();
/** Where each hash is counted, which hash that is, and how often the text has it that is being read. */
const places = new Map<number, number>();
const MAX_KEPT = 100_000; // of each of these
let hashes = new Uint32Array(1 << 14);
let counts = new Uint32Array(1 << 14);

export function bagOf(text: string): Buffer {
  const touched: number[] = [];
  if (Math.max(places.size, spelt.size) > MAX_KEPT) for (const known of [stems, spelt, places]) known.clear();
  const { length } = text;
  for (let at = 0; at < length; at++) {
    let code = text.charCodeAt(at);
    let kind = KINDS[code]!;
    if (kind === NONE) continue;
    const start = at;
    let hash = OFFSET;
    let isWide = false;
    do {
      if (kind === WIDE) isWide = true;
      hash = Math.imul(hash ^ code, PRIME);
      code = ++at < length ? text.charCodeAt(at) : 0;
      kind = KINDS[code]!;
    } while (kind !== NONE);
    const known = spelt.get(hash) ?? learn(hash, text.slice(start, at), isWide);
    for (let i = 0; i < known.length; i++) if (counts[known[i]!]!++ === 0) touched.push(known[i]!);
  }
  return packed(touched);
}

function learn(hash: number, name: string, isWide: boolean): number[] {
  const found = isWide ? hashesIn(name) : [];
  const words = isWide ? 0 : addWords(name, 0, name.length, (one) => void found.push(one));
  if (words > 1 && name.length <= 2 * MAX_CHARS) found.push(nameHash(name));
  const known = found.map(placeOf);
  if (name.length <= 2 * MAX_CHARS) spelt.set(hash, known); // a longer one is hardly met twice
  return known;
}
function placeOf(hash: number): number {
  const known = places.get(hash);
  if (known !== undefined) return known;
  const place = places.size;
  places.set(hash, place);
  if (place === hashes.length) [hashes, counts] = [twice(hashes), twice(counts)];
  hashes[place] = hash;
  return place;
}

/** The words of an identifier of ASCII letters; of HTMLElement the E belongs to what follows. Returns how many there are. */
function addWords(text: string, start: number, end: number, add: (hash: number) => void): number {
  let words = 0;
  let from = start;
  let before = KINDS[text.charCodeAt(start)]!;
  let kind = before;
  for (let at = start + 1; at <= end; at++) {
    before = kind;
    kind = at < end ? KINDS[text.charCodeAt(at)]! : NONE;
    if (kind === before) continue;
    const to = before === UPPER && kind === LOWER ? at - 1 : at;
    if (to === from) continue;
    if (before !== LINK || to < at) {
      words++;
      if (to - from >= MIN_CHARS && to - from <= MAX_CHARS) {
        const hash = stemHash(text, from, to);
        if (hash >= 0) add(hash);
      }
    }
    from = to;
  }
  return words;
}

function stemHash(text: string, from: number, to: number): number {
  let hash = OFFSET;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ (text.charCodeAt(at) | 32), PRIME); // a digit stays itself
  let known = stems.get(hash);
  if (known === undefined) {
    const word = text.slice(from, to).toLowerCase();
    stems.set(hash, (known = isWord(word) ? wordHash(stem(word)) : -1));
  }
  return known;
}

function twice(numbers: Uint32Array): Uint32Array<ArrayBuffer> {
  const more = new Uint32Array(2 * numbers.length);
  more.set(numbers);
  return more;
}

/** The words of a name, each once, and the name as a whole: what the bag of its file has. */
export function wordsOfName(name: string): { own: number[]; key: number } {
  if (!IDENTIFIER.test(name)) return { own: [...new Set(hashesIn(name))], key: keyOf(name) };
  const own: number[] = [];
  const words = addWords(name, 0, name.length, (hash) => void (own.includes(hash) || own.push(hash)));
  return { own, key: words > 1 ? nameHash(name) : wordHash(name) };
}
const IDENTIFIER = /^[\w$]+$/;

/** The most frequent ones, where there are too many. The counts are zero again afterwards. */
function packed(touched: number[]): Buffer {
  const kept =
    touched.length > MAX_WORDS ? touched.toSorted((a, b) => counts[b]! - counts[a]!).slice(0, MAX_WORDS) : touched;
  const bytes = Buffer.allocUnsafe(kept.length * ENTRY_BYTES);
  let at = 0;
  for (const place of kept) {
    const hash = hashes[place]!;
    const code = CODES[Math.min(counts[place]!, CODES.length - 1)]!;
    bytes[at++] = 0x80 | (hash & 0x7f);
    bytes[at++] = 0x80 | ((hash >>> 7) & 0x7f);
    bytes[at++] = 0x80 | ((hash >>> 14) & 0x7f);
    bytes[at++] = 0x80 | ((hash >>> 21) << 4) | code;
  }
  for (const place of touched) counts[place] = 0;
  return bytes;
}

export function readBag(bytes: Uint8Array): Bag {
  const many = Math.floor(bytes.length / ENTRY_BYTES);
  const bag = { hashes: new Uint32Array(many), counts: new Uint8Array(many) };
  for (let i = 0, at = 0; i < many; i++) {
    const first = (bytes[at++]! & 0x7f) | ((bytes[at++]! & 0x7f) << 7) | ((bytes[at++]! & 0x7f) << 14);
    const last = bytes[at++]!;
    bag.hashes[i] = first | (((last >>> 4) & 7) << 21);
    bag.counts[i] = COUNTS[last & 15]!;
  }
  return bag;
}
