// zz's own list of commands that never run.
import { gitParts } from "./git-commands.ts";
import { hasOption, split, type Words } from "./parse-options.ts";

const isRm = ([programName, ...args]: Words, forced: boolean): boolean =>
  programName === "rm" &&
  hasOption(args, "-r -R --recursive") &&
  hasOption(args, "-f --force") === forced;

function isGitCommand(
  [programName, ...args]: Words,
  command: string,
  testWords: (words: Words) => boolean,
): boolean {
  if (programName !== "git") return false;
  const [, subcommand, commandWords] = gitParts(args, (word) => word);
  return subcommand === command && testWords(commandWords);
}

/** The words of a command without the values of an option with that letter. */
function withoutValues(words: Words, letter: string): Words {
  const takesValue = new RegExp(`^(-[^-${letter}]*${letter})(.*)`, "s");
  const keptWords: Words = [];
  for (let i = 0; i < words.length; i++) {
    const [, optionWord, attachedValue] = takesValue.exec(words[i] ?? "") ?? [];
    keptWords.push(optionWord ?? words[i]);
    if (attachedValue === "") i++;
  }
  return keptWords;
}

const isForced = (words: Words): boolean =>
  hasOption(withoutValues(words, "o"), "-f --force --mirror") ||
  words.some((word) => word?.startsWith("+"));

/** Settings may make it work without -f, and undo never has what git does not know. */
const isClean = (words: Words): boolean => !hasOption(withoutValues(words, "e"), "-n --dry-run");

/** npm accepts any prefix of a command. */
const PUBLISH = ["publish", "publis", "publi", "publ", "pub"].flatMap((verbName) =>
  ["npm", "pnpm", "yarn", "bun", "yarn npm", "pnpm recursive"].map((manager) => [
    ...split(manager),
    verbName,
  ]),
);
const isPublish = (words: Words): boolean =>
  PUBLISH.some((publishWords) => startsWith(words, publishWords)) ||
  (words[0] === "yarn" &&
    words[1] === "workspace" &&
    startsWith(words.slice(2), [words[2] ?? "", "publish"]));

const deniedByName = (programName: string): DeniedCommand => [
  programName,
  "elsewhere",
  ([firstWord]) => firstWord === programName,
];

/**
 * "files": it harms only files of the project, so it may run on a copy of the project; "elsewhere":
 * it never runs.
 */
type DeniedCommand = [name: string, harm: "files" | "elsewhere", test: (words: Words) => boolean];
/**
 * Commands that are denied even if a rule allows them; naming one in shell.except lifts its denial.
 * The words start with the plain name of the program.
 */
export const DENIED: DeniedCommand[] = [
  ["rm -rf", "files", (words) => isRm(words, true)],
  ["rm -r", "files", (words) => isRm(words, false)],
  ["chmod", "files", ([first]) => first === "chmod"],
  ["git clean -fd", "files", (words) => isGitCommand(words, "clean", isClean)],
  [
    "git reset --hard",
    "elsewhere",
    (words) => isGitCommand(words, "reset", (args) => hasOption(args, "--hard")),
  ],
  ["git push --force", "elsewhere", (words) => isGitCommand(words, "push", isForced)],
  ["npm publish", "elsewhere", isPublish],
  ...split("chown sudo sudoedit doas su runuser run0 gosu su-exec pkexec").map(deniedByName),
];
export const ONLY_FILES: readonly string[] = DENIED.flatMap(([name, harm]) =>
  harm === "files" ? [name] : [],
);

/**
 * Whether these words begin with those of the entry, ignoring options and their possible values in
 * between.
 */
export function startsWith(
  words: Words,
  listedWords: string[],
  isSameWord = (word: string | undefined, listedWord: string): boolean => word === listedWord,
): boolean {
  let nextIndexes = new Set([0]);
  for (const [i, listedWord] of listedWords.entries()) {
    // The set grows during the loop: after an option may come its value, and then another option.
    if (i)
      for (const wordIndex of nextIndexes)
        if (words[wordIndex]?.startsWith("-")) nextIndexes.add(wordIndex + 1).add(wordIndex + 2);
    nextIndexes = new Set(
      [...nextIndexes]
        .filter((wordIndex) => wordIndex < words.length && isSameWord(words[wordIndex], listedWord))
        .map((wordIndex) => wordIndex + 1),
    );
  }
  return nextIndexes.size > 0;
}
