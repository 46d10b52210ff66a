// plain: without a sandbox, only a single plain command runs unasked, and without a shell.
import path from "node:path";
import type { Judged } from "./judge/index.ts";

/** The folders where a system keeps its own programs. */
const SYSTEM = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin", "/opt/homebrew/bin"];
/** Commands that only mean something to the shell itself, or start another program by its name. */
const OF_SHELLS = /^(cd|command|type|egrep|fgrep)$/;
const BARE = /[\w@%+=:,./^-]+/y;
const BRACKET = /\[(?= )|\](?= |$)/y; // of a test; nothing else may be in the word
const QUOTED = /'([^']*)'|"([^"$`\\!]*)"/y;
const NOT_ASCII = /[^\x20-\x7e]/;

/** The words of a line that is a single command: no assignment, expansion, glob, redirection, pipe or list. */
export function plainWords(line: string): string[] | undefined {
  const source = line.trim();
  if (NOT_ASCII.test(source)) return undefined;
  const words: string[] = [];
  for (let i = 0; i < source.length; ) {
    let word: string | undefined;
    for (let before = -1; i < source.length && source[i] !== " " && before !== i; ) {
      before = i;
      for (const kind of word === undefined ? [BRACKET, BARE, QUOTED] : [BARE, QUOTED]) {
        kind.lastIndex = i;
        const found = kind.exec(source);
        if (!found) continue;
        word = (word ?? "") + (kind === QUOTED ? (found[1] ?? found[2] ?? "") : found[0]);
        i += found[0].length;
      }
    }
    if (word === undefined || (i < source.length && source[i] !== " ")) return undefined;
    words.push(word);
    while (source[i] === " ") i++;
  }
  return words.length && !source.split(" ")[0]!.includes("=") ? words : undefined;
}

/**
 * The program to start, by its absolute path, for a line that zz's own tables allow. Three must agree: the judge, the
 * words above, and the system's folders.
 */
export function plainCommand(
  line: string,
  { verdict, simple, writes }: Judged,
  find: (name: string) => string | undefined,
): string[] | undefined {
  const words = plainWords(line);
  const [only, ...others] = simple;
  if (verdict !== "allow" || !words || !only || others.length || writes.length) return undefined;
  if (only.verdict !== "allow" || JSON.stringify(only.words) !== JSON.stringify(words)) return undefined;
  const [name, ...rest] = words;
  const named = name!.startsWith("/") ? path.posix.normalize(name!) : name!;
  if (OF_SHELLS.test(path.posix.basename(named)) || (!path.isAbsolute(named) && named.includes("/"))) return undefined;
  const program = find(named);
  return program && SYSTEM.includes(path.posix.dirname(program)) ? [program, ...rest] : undefined;
}
