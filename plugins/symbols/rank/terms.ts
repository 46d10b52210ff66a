// The words of a query, and which of them a text contains.

export interface Terms {
  all: string[];
  in(text: string): number[] | undefined;
}
export const MAX_TERMS = 64;

// Splits identifiers: "readFile", "read_file" and "read-file" are two words.
export const wordsIn = (text: string): string[] =>
  text.match(/\p{Lu}?\p{Ll}+|\p{Lu}+(?!\p{Ll})|\p{Lo}+|\d+/gu)?.map((word) => word.toLowerCase()) ?? [];

/** "measuring", "measured" and "measures" are the same word. */
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
const STOP_WORDS = new Set(
  (
    "a add all an and any are as at be been but by can change could did do does each fix for from had has have how i if in " +
    "into is it its let make me my no not of on one or other our out over please should so some than that the their them " +
    "then there they this those to too under up us use used was we were what when where which while who why will with " +
    "without would you your"
  ).split(" "),
);

/** The significant words of a query, and which of them a text contains; fast for the many texts with none. */
export function termsOf(query: string): Terms {
  const words = wordsIn(query).filter((word) => word.length > 1 && !STOP_WORDS.has(word));
  const all = [...new Set(words.map(stem))].slice(0, MAX_TERMS);
  if (!all.length) return { all, in: () => undefined };
  const places = new Map(all.map((term, at) => [term, at]));
  const known = new Map<string, number>(); // stemming is slow
  const mayContain = new RegExp(all.map((term) => term.replace(/i$/, "")).join("|"), "i"); // only letters and digits
  return {
    all,
    in(text) {
      if (!mayContain.test(text)) return undefined;
      const found: number[] = [];
      for (const word of wordsIn(text)) {
        let at = known.get(word);
        if (at === undefined) known.set(word, (at = places.get(stem(word)) ?? -1));
        if (at >= 0) found.push(at);
      }
      return found;
    },
  };
}
