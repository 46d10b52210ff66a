// zz's own list of commands that never run.
import { gitParts } from "./git-commands.ts";
import { split, type Words } from "./options.ts";

interface Switches {
  letters: Set<string>;
  longs: string[];
  operands: Words;
}

/** The switches of a command, without the values of the letters in `takes`. */
function switchesOf(words: Words, takes = ""): Switches {
  const found: Switches = { letters: new Set(), longs: [], operands: [] };
  for (let i = 0; i < words.length; i++) {
    const word = words[i];
    if (word === "--") return { ...found, operands: [...found.operands, ...words.slice(i + 1)] };
    if (!word || !/^-./.test(word)) found.operands.push(word);
    else if (word.startsWith("--")) found.longs.push(word.split("=")[0]!);
    else
      for (let at = 1; at < word.length; at++) {
        if (takes.includes(word[at]!)) {
          if (at === word.length - 1) i++;
          break;
        }
        found.letters.add(word[at]!);
      }
  }
  return found;
}

/** GNU tools and git accept any prefix of a long option. */
const means = ({ longs }: Switches, name: string): boolean =>
  longs.some((one) => one.length > 2 && name.startsWith(one));

function isRm([name, ...rest]: Words, forced: boolean): boolean {
  if (name !== "rm") return false;
  const found = switchesOf(rest);
  const recursive = found.letters.has("r") || found.letters.has("R") || means(found, "--recursive");
  return recursive && (found.letters.has("f") || means(found, "--force")) === forced;
}

function isGit([name, ...rest]: Words, command: string, takes: string, test: (found: Switches) => boolean): boolean {
  if (name !== "git") return false;
  const [, found, words] = gitParts(rest, (word) => word);
  return found === command && test(switchesOf(words, takes));
}

const isForced = (found: Switches): boolean =>
  found.letters.has("f") ||
  means(found, "--force") ||
  means(found, "--mirror") ||
  found.operands.some((one) => one?.startsWith("+"));

/** Settings may make it work without -f, and undo never has what git does not know. */
const isClean = (found: Switches): boolean => !(found.letters.has("n") || means(found, "--dry-run"));

/** npm accepts any prefix of a command. */
const PUBLISH = ["publish", "publis", "publi", "publ", "pub"].flatMap((name) =>
  ["npm", "pnpm", "yarn", "bun", "yarn npm", "pnpm recursive"].map((one) => [...split(one), name]),
);
const isPublish = (words: Words): boolean =>
  PUBLISH.some((entry) => startsWith(words, entry)) ||
  (words[0] === "yarn" && words[1] === "workspace" && startsWith(words.slice(2), [words[2] ?? "", "publish"]));

const named = (name: string): Denied => [name, "elsewhere", ([first]) => first === name];

/** "files": it harms only files of the project, so it may run on a copy of the project; "elsewhere": it never runs. */
type Denied = [name: string, harm: "files" | "elsewhere", test: (words: Words) => boolean];
/**
 * Commands that are denied even if a rule allows them; naming one in shell.except lifts its denial. The words start
 * with the plain name of the program.
 */
export const DENIED: Denied[] = [
  ["rm -rf", "files", (words) => isRm(words, true)],
  ["rm -r", "files", (words) => isRm(words, false)],
  ["chmod", "files", ([first]) => first === "chmod"],
  ["git clean -fd", "files", (words) => isGit(words, "clean", "e", isClean)],
  ["git reset --hard", "elsewhere", (words) => isGit(words, "reset", "", (found) => means(found, "--hard"))],
  ["git push --force", "elsewhere", (words) => isGit(words, "push", "o", isForced)],
  ["npm publish", "elsewhere", isPublish],
  ...split("chown sudo sudoedit doas su runuser run0 gosu su-exec pkexec").map(named),
];
export const ONLY_FILES: readonly string[] = DENIED.flatMap(([name, harm]) => (harm === "files" ? [name] : []));

/** Whether these words begin with those of the entry, ignoring options and their possible values in between. */
export function startsWith(
  words: Words,
  entry: string[],
  same = (word: string | undefined, part: string): boolean => word === part,
): boolean {
  let places = new Set([0]);
  for (const [i, part] of entry.entries()) {
    // The set grows during the loop: after an option may come its value, and then another option.
    if (i) for (const at of places) if (words[at]?.startsWith("-")) places.add(at + 1).add(at + 2);
    places = new Set([...places].filter((at) => at < words.length && same(words[at], part)).map((at) => at + 1));
  }
  return places.size > 0;
}
