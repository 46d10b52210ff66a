// Finds commands that never run, on zz's own deny list or the person's, even if only some of the
// words are known.
import path from "node:path";
import { matchesStars } from "./bash-words.ts";
import { DENIED, startsWith } from "./denied-commands.ts";
import { holdsCommand, isCommandName, isHarmless } from "./harmless-variables.ts";
import { ask, type Ruling, unknown } from "./judge-state.ts";
import type { Words } from "./parse-options.ts";

interface Denials {
  deny: string[];
  except: string[];
}
const NONE: Denials = { deny: [], except: [] };

/**
 * The words with the program's plain name first: `/BIN/RM` is rm, at least on a Mac's disk;
 * `git-reset` is git.
 */
function plainWords([first, ...args]: Words): Words {
  const name = first && path.posix.basename(first).toLowerCase();
  return name?.startsWith("git-") ? ["git", name.slice(4), ...args] : [name, ...args];
}

/**
 * The words of a list entry; ` *` at its end has no effect, since every entry allows further words.
 */
const listedWords = (text: string): string[] => {
  const words = text.trim().split(/\s+/).filter(Boolean);
  return words.length > 1 && words.at(-1) === "*" ? words.slice(0, -1) : words;
};
const isSameWord = (word: string | undefined, part: string): boolean =>
  word === part || (word !== undefined && part.includes("*") && matchesStars(word, part));

/** The name under which a command is denied. */
export function denialOf(words: Words, { deny, except }: Denials = NONE): string | undefined {
  const normalized = plainWords(words);
  const exempt = new Set(except.map((text) => text.trim().split(/\s+/).join(" ")));
  const builtIn = DENIED.find(([name, , test]) => !exempt.has(name) && test(normalized))?.[0];
  return (
    builtIn ??
    deny.find((text) => {
      const listed = listedWords(text);
      return (
        listed.length > 0 &&
        (startsWith(normalized, listed, isSameWord) || startsWith(words, listed, isSameWord))
      );
    })
  );
}

/** A denied command among the words of an unknown command. */
export function denialInWords(words: Words, denials: Denials = NONE): string | undefined {
  const index = words.findIndex((_, i) => denialOf(words.slice(i), denials) !== undefined);
  return index < 0 ? undefined : `it may run '${words[index]}'`;
}

/** A denied command in a text that a program may read as a command line. */
export function denialInText(text: string, denials: Denials = NONE): string | undefined {
  const findIn = (piece: string) =>
    denialInWords(piece.split(/[\s;&|(){}$`'"<>[\]=!\\,]+/).filter(Boolean), denials);
  return findIn(text) ?? (/^-\w/.test(text) ? findIn(text.slice(2)) : undefined); // -x'rm -rf d'
}

/** A denied command in the value of a variable, which bash or another program may run later. */
export function denialInAssignment(
  name: string,
  value: string | undefined,
  denials: Denials,
): string | undefined {
  const runs = isCommandName(name);
  if (value === undefined) return runs ? `it sets ${name} to what is not known` : undefined;
  return runs || holdsCommand(value) ? denialInText(value, denials) : undefined;
}

/** How an assignment before a command affects its verdict; undefined if not at all. */
export function ruleOnSetting(
  name: string,
  value = "",
  denials: Denials = NONE,
  doubt?: string,
): Ruling | undefined {
  const denial = denialInAssignment(name, doubt === undefined ? value : undefined, denials);
  if (denial) return unknown(denial);
  if (doubt) return ask(doubt);
  return isHarmless(name, value) ? undefined : ask(`it sets ${name}`);
}

/**
 * A denied command in a word that is itself a command line, as some programs take it; texts for
 * people are skipped.
 */
export function denialInLines(words: Words, denials: Denials = NONE): string | undefined {
  for (const [i, word = ""] of words.entries()) {
    if (TEXT_OPTION.test(words[i - 1] ?? "") || TEXT_OPTION.test(word.split("=")[0]!)) continue;
    const denial = holdsCommand(word) ? denialInText(word, denials) : undefined;
    if (denial) return denial;
    if (!/\s/.test(word)) continue;
    for (const text of [word, word.replace(/^(-\w|-*[\w-]+=)/, "")])
      for (const line of text.split(/[;&|\n]+/)) {
        const lineWords = line.trim().split(/\s+/);
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
]
  .concat(["publish", "npm publish", "+x", "recursive publish"])
  .map((text) => text.split(" "));

/** Whether a command is denied for some values of its unknown words. */
export function mayBeDenied(words: Words, denials: Denials): boolean {
  const unknown = words.flatMap((word, i) => (i && word === undefined ? [i] : []));
  const filled = unknown.flatMap((index) =>
    POSSIBLE_WORDS.map((possibleWords) => [
      ...words.slice(0, index),
      ...possibleWords,
      ...words.slice(index + 1),
    ]),
  );
  if (
    filled.some(
      (candidate) => denialOf(candidate, { deny: [], except: denials.except }) !== undefined,
    )
  )
    return true;
  const anything = (word: string | undefined, part: string) =>
    word === undefined || isSameWord(word, part);
  return (
    unknown.length > 0 &&
    denials.deny.some((text) => {
      const listed = listedWords(text);
      // An unknown word may be several words, so those before it decide.
      const knownPart = listed.slice(0, Math.max(1, unknown[0]!));
      return listed.length > 0 && startsWith(plainWords(words), knownPart, anything);
    })
  );
}

/**
 * The index where `npm --silent exec` ends: its words, with options and their possible values in
 * between.
 */
export function runnerEnd(texts: Words, words: string[], name: string): number | undefined {
  if (words[0] !== name) return undefined;
  let index = 0;
  for (const word of words.slice(1)) {
    const from = index + 1;
    index = texts.indexOf(word, from);
    const between = texts.slice(from, index);
    if (
      index < 0 ||
      between.some((word, i) => !/^-/.test(word ?? "") && !/^-/.test(between[i - 1] ?? ""))
    )
      return undefined;
  }
  return index;
}
