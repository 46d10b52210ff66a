// Finds commands that never run, on zz's own deny list or the person's, even if only some of the
// words are known.
import path from "node:path";
import { matchesStars } from "./bash-words.ts";
import { DENIED, startsWith } from "./denied-commands.ts";
import { holdsCommand, isCommandName, isHarmless } from "./harmless-variables.ts";
import { ask, type Lists, type Ruling, unknown } from "./judge-state.ts";
import type { Words } from "./parse-options.ts";

type Denials = Pick<Lists, "deny" | "except">;

/**
 * The words with the program's plain name first: `/BIN/RM` is rm, at least on a Mac's disk;
 * `git-reset` is git.
 */
function plainWords([programWord, ...args]: Words): Words {
  const programName = programWord && path.posix.basename(programWord).toLowerCase();
  return programName?.startsWith("git-")
    ? ["git", programName.slice(4), ...args]
    : [programName, ...args];
}

/**
 * The words of a list entry; ` *` at its end has no effect, since every entry allows further words.
 */
const listedWords = (entryText: string): string[] => {
  const entryWords = entryText.trim().split(/\s+/).filter(Boolean);
  return entryWords.length > 1 && entryWords.at(-1) === "*" ? entryWords.slice(0, -1) : entryWords;
};
const isSameWord = (word: string | undefined, listedWord: string): boolean =>
  word === listedWord ||
  (word !== undefined && listedWord.includes("*") && matchesStars(word, listedWord));

/** The name under which a command is denied. */
export function denialOf(words: Words, { deny, except }: Denials): string | undefined {
  const normalized = plainWords(words);
  const exemptNames = new Set(
    except.map((exceptedText) => exceptedText.trim().split(/\s+/).join(" ")),
  );
  const builtIn = DENIED.find(
    ([denialName, , isDenied]) => !exemptNames.has(denialName) && isDenied(normalized),
  )?.[0];
  return (
    builtIn ??
    deny.find((entryText) => {
      const entryWords = listedWords(entryText);
      return (
        entryWords.length > 0 &&
        (startsWith(normalized, entryWords, isSameWord) ||
          startsWith(words, entryWords, isSameWord))
      );
    })
  );
}

/** A denied command among the words of an unknown command. */
export function denialInWords(words: Words, denials: Denials): string | undefined {
  const denialIndex = words.findIndex((_, i) => denialOf(words.slice(i), denials) !== undefined);
  return denialIndex < 0 ? undefined : `it may run '${words[denialIndex]}'`;
}

/** A denied command in a text that a program may read as a command line. */
export function denialInText(text: string, denials: Denials): string | undefined {
  const findDenial = (textPiece: string) =>
    denialInWords(textPiece.split(/[\s;&|(){}$`'"<>[\]=!\\,]+/).filter(Boolean), denials);
  // -x'rm -rf d'
  return findDenial(text) ?? (/^-\w/.test(text) ? findDenial(text.slice(2)) : undefined);
}

/** A denied command in the value of a variable, which bash or another program may run later. */
export function denialInAssignment(
  variable: string,
  value: string | undefined,
  denials: Denials,
): string | undefined {
  const namesCommand = isCommandName(variable);
  if (value === undefined)
    return namesCommand ? `it sets ${variable} to what is not known` : undefined;
  return namesCommand || holdsCommand(value) ? denialInText(value, denials) : undefined;
}

/** How an assignment before a command affects its verdict; undefined if not at all. */
export function ruleOnSetting(
  variable: string,
  value = "",
  denials: Denials,
  doubt?: string,
): Ruling | undefined {
  const denial = denialInAssignment(variable, doubt === undefined ? value : undefined, denials);
  if (denial) return unknown(denial);
  if (doubt) return ask(doubt);
  return isHarmless(variable, value) ? undefined : ask(`it sets ${variable}`);
}

/**
 * A denied command in a word that is itself a command line, as some programs take it; texts for
 * people are skipped.
 */
export function denialInLines(words: Words, denials: Denials): string | undefined {
  for (const [i, word = ""] of words.entries()) {
    if (TEXT_OPTION.test(words[i - 1] ?? "") || TEXT_OPTION.test(word.split("=")[0]!)) continue;
    const denial = holdsCommand(word) ? denialInText(word, denials) : undefined;
    if (denial) return denial;
    if (!/\s/.test(word)) continue;
    for (const lineText of [word, word.replace(/^(-\w|-*[\w-]+=)/, "")])
      for (const commandLine of lineText.split(/[;&|\n]+/)) {
        const lineWords = commandLine.trim().split(/\s+/);
        if (denialOf(lineWords, denials) !== undefined) return `it may run '${lineWords[0]}'`;
      }
  }
  return undefined;
}
/** Options whose value is only a text for people. */
const TEXT_OPTION = /^(-[mtbd]|--(message|title|body|notes?|description|comment|subject|text))$/;

/** Words that an unknown word may stand for, and that would make a command a denied one. */
const POSSIBLE_WORDS = [
  "-rf",
  "-r",
  "push --force",
  "--force",
  "reset --hard",
  "--hard",
  "clean -fd",
  "-fd",
  "-f",
  "-d",
  "publish",
  "npm publish",
  "+x",
  "recursive publish",
].map((wordsText) => wordsText.split(" "));

/** Whether a command is denied for some values of its unknown words. */
export function mayBeDenied(words: Words, denials: Denials): boolean {
  const unknown = words.flatMap((word, i) => (i && word === undefined ? [i] : []));
  const candidates = unknown.flatMap((unknownIndex) =>
    POSSIBLE_WORDS.map((possibleWords) => [
      ...words.slice(0, unknownIndex),
      ...possibleWords,
      ...words.slice(unknownIndex + 1),
    ]),
  );
  if (
    candidates.some(
      (candidate) => denialOf(candidate, { deny: [], except: denials.except }) !== undefined,
    )
  )
    return true;
  const anything = (word: string | undefined, listedWord: string) =>
    word === undefined || isSameWord(word, listedWord);
  return (
    unknown.length > 0 &&
    denials.deny.some((entryText) => {
      const entryWords = listedWords(entryText);
      // An unknown word may be several words, so those before it decide.
      const knownPart = entryWords.slice(0, Math.max(1, unknown[0]!));
      return entryWords.length > 0 && startsWith(plainWords(words), knownPart, anything);
    })
  );
}

/**
 * The index where `npm --silent exec` ends: its words, with options and their possible values in
 * between.
 */
export function runnerEnd(
  argumentTexts: Words,
  runnerWords: string[],
  runnerName: string,
): number | undefined {
  if (runnerWords[0] !== runnerName) return undefined;
  let endIndex = 0;
  for (const runnerWord of runnerWords.slice(1)) {
    const startIndex = endIndex + 1;
    endIndex = argumentTexts.indexOf(runnerWord, startIndex);
    const between = argumentTexts.slice(startIndex, endIndex);
    if (
      endIndex < 0 ||
      between.some((word, i) => !/^-/.test(word ?? "") && !/^-/.test(between[i - 1] ?? ""))
    )
      return undefined;
  }
  return endIndex;
}
