// Which skills a message calls for: by a trigger or its name, exactly or nearly so. When in doubt,
// a skill is left out, since the model sees every description and can read a skill by itself.
import type { Skill } from "./find-skills.ts";

const MAX_MESSAGE_CHARS = 2_000; // from its end: attachments come before the typed text
const MIN_FUZZY_CHARS = 6; // of a word that may be misspelt
const WORD_CHAR = "[\\p{L}\\p{N}]";
/** Scripts without spaces between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

export async function calledSkills<S extends Pick<Skill, "name" | "triggers">>(
  skills: S[],
  message: string,
): Promise<S[]> {
  const messageText = message.slice(-MAX_MESSAGE_CHARS).normalize("NFKC");
  if (!messageText.trim()) return [];
  const exactMatches = skills.filter((skill) =>
    phrasesOf(skill).some((phrase) => containsPhrase(messageText, phrase)),
  );
  const words = wordsOf(messageText);
  const nearMatches = skills.filter(
    (skill) =>
      !exactMatches.includes(skill) && phrasesOf(skill).some((phrase) => mayMatch(words, phrase)),
  );
  if (!nearMatches.length) return exactMatches;
  const { default: Fuse } = await import("fuse.js");
  const fuzzySearch = new Fuse(words, { threshold: 0.2, distance: 10, includeScore: false });
  const isNearlySaid = (phrase: string) =>
    wordsOf(phrase).every(
      (word) =>
        words.includes(word) || fuzzySearch.search(word).some(({ item }) => isNear(word, item)),
    );
  return [
    ...exactMatches,
    ...nearMatches.filter((skill) =>
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
function containsPhrase(messageText: string, phrase: string): boolean {
  const phraseText = phrase.normalize("NFKC").trim();
  const [firstWord = ""] = phraseText.split(/\s/);
  if (!firstWord || !messageText.toLowerCase().includes(firstWord.toLowerCase())) return false;
  const boundaryFor = (edgeChar: string, sign: string) =>
    new RegExp(WORD_CHAR, "u").test(edgeChar) && !UNSPACED.test(edgeChar)
      ? `(?${sign}${WORD_CHAR})`
      : "";
  const [firstLetter = "", lastLetter = ""] = [[...phraseText][0], [...phraseText].at(-1)];
  const wordsPattern = phraseText
    .split(/\s+/)
    .map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"))
    .join("\\s+");
  return new RegExp(
    `${boundaryFor(firstLetter, "<!")}${wordsPattern}${boundaryFor(lastLetter, "!")}`,
    "iu",
  ).test(messageText);
}

const wordsOf = (phraseOrText: string): string[] =>
  phraseOrText.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/**
 * Whether a fuzzy search, which loads fuse.js, is worthwhile: every word of the phrase is there or
 * nearly so, and one is long.
 */
const mayMatch = (words: string[], phrase: string): boolean => {
  const phraseWords = wordsOf(phrase);
  return (
    phraseWords.some(isLong) &&
    phraseWords.every((phraseWord) =>
      words.some((messageWord) => messageWord === phraseWord || isNear(phraseWord, messageWord)),
    )
  );
};
const isLong = (word: string): boolean => word.length >= MIN_FUZZY_CHARS;

/**
 * Long enough, with the same beginning, a similar length, and the same digits: python2 is not a
 * misspelt python3.
 */
const isNear = (phraseWord: string, messageWord: string): boolean =>
  isLong(phraseWord) &&
  phraseWord.slice(0, 2) === messageWord.slice(0, 2) &&
  Math.abs(phraseWord.length - messageWord.length) <= 2 &&
  phraseWord.replace(/\D/g, "") === messageWord.replace(/\D/g, "");
