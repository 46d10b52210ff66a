// Patterns in the names of rules: `*`, `**` and `?`. Written by hand, since a regular expression
// made from one could run forever.
import type { Kind } from "../contract.ts";

export const isPattern = (name: string): boolean => /[*?]/.test(name);

/** Folds a name as disks do that ignore case. */
export const anyCase = (name: string): string => name.normalize("NFC").toLowerCase();

/** `*` matches any characters, `?` one. */
export const fitsText = (pattern: string, text: string): boolean =>
  fitsLetters(lettersOf(pattern), text);
const fitsLetters = (letters: string[], text: string): boolean =>
  fitsStars(letters, [...text], (letter) => letter === "*", fitsLetter);
const fitsLetter = (letter: string, char: string): boolean => letter === "?" || letter === char;
const lettersOf = (pattern: string): string[] => [...pattern.replace(/\*+/g, "*")];

/**
 * Below where the pattern starts: `*` and `?` within a name, `**` for any folders. What is inside
 * of a folder that matches, matches.
 */
export function pathPattern(pattern: string): (file: string) => boolean {
  const segments: Segment[] = [...pattern.split("/").filter(Boolean).map(segmentOf), undefined];
  return (file) => fitsStars(segments, file.split("/").filter(Boolean), isAny, fitsSegment);
}

// undefined: any number of folders
type Segment = { letters: string[] } | { text: string } | undefined;
const segmentOf = (text: string): Segment => {
  if (text === "**") return undefined;
  if (isPattern(text)) return { letters: lettersOf(text) };
  return { text };
};
const isAny = (segment: Segment): boolean => segment === undefined;
const fitsSegment = (part: Segment, name: string): boolean =>
  "text" in part! ? part.text === name : fitsLetters(part!.letters, name);

/** A command by its words: `*` is one word, `**` any number; further words are covered. */
export function fitsWords(pattern: string, command: string): boolean {
  const [asked, words] = [pattern, command].map((text) => text.split(/\s+/).filter(Boolean)) as [
    string[],
    string[],
  ];
  return fitsStars([...asked, "**"], words, (word) => word === "**", fitsText);
}

/**
 * A host, with or without a port: `*` matches any characters, dots included; without a port it
 * covers all ports.
 */
export function fitsHost(pattern: string, host: string): boolean {
  const [asked, target] = [hostOf(pattern), hostOf(host)];
  return fitsText(asked.name, target.name) && (!asked.port || fitsText(asked.port, target.port));
}

function hostOf(text: string): { name: string; port: string } {
  const low = text.toLowerCase();
  const [, name = low, port = ""] = /^(\[[^\]]*\]|[^:]*):([\d*?]+)$/.exec(low) ?? [];
  return { name: name.replace(/\.$/, ""), port };
}

/**
 * Greedy from star to star: when a piece does not match, the last star takes one more character.
 * Earlier stars never need to.
 */
export function fitsStars<P, I>(
  pattern: P[],
  items: I[],
  isStar: (part: P) => boolean,
  fitsPart: (part: P, item: I) => boolean,
): boolean {
  let [position, star, mark] = [0, -1, 0];
  for (let i = 0; i < items.length; ) {
    if (position < pattern.length && isStar(pattern[position]!)) [star, mark] = [position++, i];
    else if (position < pattern.length && fitsPart(pattern[position]!, items[i]!))
      [position, i] = [position + 1, i + 1];
    else if (star < 0) return false;
    else [position, i] = [star + 1, ++mark];
  }
  while (position < pattern.length && isStar(pattern[position]!)) position++;
  return position === pattern.length;
}

/**
 * Why a rule of that kind and name could never match; undefined if it could. `exists`: a file has
 * exactly that name.
 */
export function neverMatches(
  needKind: Kind,
  name: string,
  exists: (name: string) => boolean,
): string | undefined {
  if (typeof name !== "string") return "it is not a text";
  if (!name.trim()) return "it names nothing";
  if (name.includes("\0")) return "it holds a NUL byte";
  if (needKind === "run") return undefined;
  if (needKind === "net") return wrongHost(name);
  if (needKind === "env")
    return /[\s=$]/.test(name)
      ? "it is not a variable's name. Write its name alone, such as AWS_* or HOME"
      : undefined;
  return exists(name) ? undefined : wrongPath(name);
}

function wrongHost(name: string): string | undefined {
  const advice = "Write a host alone, such as example.com, *.example.com or example.com:443";
  if (/^[a-z][\w+.-]*:\/\//i.test(name)) return `it is an address. ${advice}`;
  const [, host = "", port] =
    /^(\[[\da-f:.]+\]|[^:[\]]*|[\da-f:]*:[\da-f:.]*)(?::([^:]*))?$/i.exec(name) ?? [];
  if (!host || /[^\p{L}\p{N}.*?:_[\]-]/u.test(host) || /\.\./.test(host) || host.startsWith("."))
    return `it is not a host's name. ${advice}`;
  if (port !== undefined && !(/^[\d*?]+$/.test(port) && !(Number(port) > 65_535)))
    return `'${port}' is not a port. ${advice}`;
  return undefined;
}

const MAX_PATH_CHARS = 4_096; // that systems accept

function wrongPath(name: string): string | undefined {
  if (name !== name.trim()) return "it begins or ends with a blank. Leave that out";
  if (/^[a-z][\w+.-]*:\/\//i.test(name)) return "it is an address. Write a path";
  if (name.replace(/\*+/g, "*").length > MAX_PATH_CHARS)
    return "it is too long for a path. Make it shorter";
  if (/^~[^/]/.test(name)) return "homes of other users are not looked up. Write the whole path";
  if (/^\$\{?[A-Z_]\w*\}?(\/|$)/.test(name))
    return "variables are not looked up. Write the path itself";
  if (/\[([!^][^\]]|[^\]]*\w-\w|:\w)[^\]]*\]/.test(name))
    return "it holds a class of letters, and only *, ** and ? stand for others. Use those, or write one rule for each";
  if (/\{[^{}]*,[^{}]*\}/.test(name))
    return "braces are not taken apart, and only *, ** and ? stand for others. Write one rule for each";
  return undefined;
}
