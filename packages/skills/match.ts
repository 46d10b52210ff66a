// Which skills a message calls for: by a trigger or its name, exactly or nearly so. When in doubt,
// a skill is left out, since the model sees every description and can read a skill by itself.
import type { Skill } from "./find-skills.ts";

const MAX_MESSAGE_CHARS = 2_000; // from its end: attachments come before the typed text
const MIN_FUZZY_CHARS = 6; // of a word that may be misspelt
const LETTER = "[\\p{L}\\p{N}]";
/** Scripts without spaces between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

export async function calledSkills<S extends Pick<Skill, "name" | "triggers">>(
  skills: S[],
  message: string,
): Promise<S[]> {
  const text = message.slice(-MAX_MESSAGE_CHARS).normalize("NFKC");
  if (!text.trim()) return [];
  const exact = skills.filter((skill) =>
    phrasesOf(skill).some((phrase) => containsPhrase(text, phrase)),
  );
  const words = wordsOf(text);
  const near = skills.filter(
    (skill) => !exact.includes(skill) && phrasesOf(skill).some((phrase) => mayMatch(words, phrase)),
  );
  if (!near.length) return exact;
  const { default: Fuse } = await import("fuse.js");
  const fuse = new Fuse(words, { threshold: 0.2, distance: 10, includeScore: false });
  const isNearlySaid = (phrase: string) =>
    wordsOf(phrase).every(
      (word) => words.includes(word) || fuse.search(word).some(({ item }) => isNear(word, item)),
    );
  return [
    ...exact,
    ...near.filter((skill) =>
      phrasesOf(skill).some((phrase) => mayMatch(words, phrase) && isNearlySaid(phrase)),
    ),
  ];
}

/** What calls for a skill: its triggers, and its name unless that may be an everyday word. */
const phrasesOf = ({ name, triggers }: Pick<Skill, "name" | "triggers">): string[] => [
  ...triggers,
  ...(/[-_]/.test(name) ? [name, name.replace(/[-_]+/g, " ")] : [`skill ${name}`, `${name} skill`]),
];

/** As whole words: `c++` and `.pdf` are found, `test` is not in `latest`. */
function containsPhrase(text: string, phrase: string): boolean {
  const words = phrase.normalize("NFKC").trim();
  const [begin = ""] = words.split(/\s/);
  if (!begin || !text.toLowerCase().includes(begin.toLowerCase())) return false;
  const bound = (edge: string, sign: string) =>
    new RegExp(LETTER, "u").test(edge) && !UNSPACED.test(edge) ? `(?${sign}${LETTER})` : "";
  const [first = "", last = ""] = [[...words][0], [...words].at(-1)];
  const inner = words
    .split(/\s+/)
    .map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"))
    .join("\\s+");
  return new RegExp(`${bound(first, "<!")}${inner}${bound(last, "!")}`, "iu").test(text);
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/**
 * Whether a fuzzy search, which loads fuse.js, is worthwhile: every word of the phrase is there or
 * nearly so, and one is long.
 */
const mayMatch = (words: string[], phrase: string): boolean => {
  const phraseWords = wordsOf(phrase);
  return (
    phraseWords.some(isLong) &&
    phraseWords.every((word) =>
      words.some((messageWord) => messageWord === word || isNear(word, messageWord)),
    )
  );
};
const isLong = (word: string): boolean => word.length >= MIN_FUZZY_CHARS;

/**
 * Long enough, with the same beginning, a similar length, and the same digits: python2 is not a
 * misspelt python3.
 */
const isNear = (word: string, messageWord: string): boolean =>
  isLong(word) &&
  word.slice(0, 2) === messageWord.slice(0, 2) &&
  Math.abs(word.length - messageWord.length) <= 2 &&
  word.replace(/\D/g, "") === messageWord.replace(/\D/g, "");
