// Patterns in the names of rules: `*`, `**` and `?`. Written by hand, since a regular expression
// made from one could run forever.
import type { Kind } from "../contract.ts";

export const isPattern = (ruleName: string): boolean => /[*?]/.test(ruleName);

/** Folds a name as disks do that ignore case. */
export const anyCase = (diskName: string): string => diskName.normalize("NFC").toLowerCase();

/** `*` matches any characters, `?` one. */
export const fitsText = (pattern: string, candidate: string): boolean =>
  fitsLetters(lettersOf(pattern), candidate);
const fitsLetters = (letters: string[], candidate: string): boolean =>
  fitsStars(letters, [...candidate], (patternLetter) => patternLetter === "*", fitsLetter);
const fitsLetter = (patternLetter: string, textChar: string): boolean =>
  patternLetter === "?" || patternLetter === textChar;
const lettersOf = (pattern: string): string[] => [...pattern.replace(/\*+/g, "*")];

/**
 * Below where the pattern starts: `*` and `?` within a name, `**` for any folders. What is inside
 * of a folder that matches, matches.
 */
export function pathPattern(pattern: string): (filePath: string) => boolean {
  const segments = [...pattern.split("/").filter(Boolean).map(segmentOf), undefined];
  return (filePath) =>
    fitsStars(segments, filePath.split("/").filter(Boolean), isDoubleStar, fitsSegment);
}

// the letters of a pattern, or a plain text; undefined: any number of folders
type Segment = string[] | string | undefined;
const segmentOf = (text: string): Segment => {
  if (text === "**") return undefined;
  return isPattern(text) ? lettersOf(text) : text;
};
const isDoubleStar = (segment: Segment): boolean => segment === undefined;
const fitsSegment = (patternSegment: Segment, pathSegment: string): boolean =>
  Array.isArray(patternSegment)
    ? fitsLetters(patternSegment, pathSegment)
    : patternSegment === pathSegment;

/** A command by its words: `*` is one word, `**` any number; further words are covered. */
export function fitsWords(pattern: string, command: string): boolean {
  const [patternWords, commandWords] = [pattern, command].map((commandText) =>
    commandText.split(/\s+/).filter(Boolean),
  ) as [string[], string[]];
  return fitsStars(
    [...patternWords, "**"],
    commandWords,
    (patternWord) => patternWord === "**",
    fitsText,
  );
}

/**
 * A host, with or without a port: `*` matches any characters, dots included; without a port it
 * covers all ports.
 */
export function fitsHost(pattern: string, hostName: string): boolean {
  const [patternHost, targetHost] = [parseHost(pattern), parseHost(hostName)];
  return (
    fitsText(patternHost.name, targetHost.name) &&
    (!patternHost.port || fitsText(patternHost.port, targetHost.port))
  );
}

function parseHost(hostText: string): { name: string; port: string } {
  const loweredText = hostText.toLowerCase();
  const [, hostName = loweredText, port = ""] =
    /^(\[[^\]]*\]|[^:]*):([\d*?]+)$/.exec(loweredText) ?? [];
  return { name: hostName.replace(/\.$/, ""), port };
}

/**
 * Greedy from star to star: when a piece does not match, the last star takes one more character.
 * Earlier stars never need to.
 */
export function fitsStars<P, I>(
  pattern: P[],
  items: I[],
  isStar: (patternPart: P) => boolean,
  fitsPart: (patternPart: P, item: I) => boolean,
): boolean {
  let [position, starPosition, starEnd] = [0, -1, 0];
  for (let i = 0; i < items.length; ) {
    if (position < pattern.length && isStar(pattern[position]!))
      [starPosition, starEnd] = [position++, i];
    else if (position < pattern.length && fitsPart(pattern[position]!, items[i]!))
      [position, i] = [position + 1, i + 1];
    else if (starPosition < 0) return false;
    else [position, i] = [starPosition + 1, ++starEnd];
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
  ruleName: string,
  exists: (fileName: string) => boolean,
): string | undefined {
  if (typeof ruleName !== "string") return "it is not a text";
  if (!ruleName.trim()) return "it names nothing";
  if (ruleName.includes("\0")) return "it holds a NUL byte";
  if (needKind === "run") return undefined;
  if (needKind === "net") return wrongHost(ruleName);
  if (needKind === "env")
    return /[\s=$]/.test(ruleName)
      ? "it is not a variable's name. Write its name alone, such as AWS_* or HOME"
      : undefined;
  return exists(ruleName) ? undefined : wrongPath(ruleName);
}

function wrongHost(ruleName: string): string | undefined {
  const hostAdvice = "Write a host alone, such as example.com, *.example.com or example.com:443";
  if (/^[a-z][\w+.-]*:\/\//i.test(ruleName)) return `it is an address. ${hostAdvice}`;
  const [, hostName = "", portText] =
    /^(\[[\da-f:.]+\]|[^:[\]]*|[\da-f:]*:[\da-f:.]*)(?::([^:]*))?$/i.exec(ruleName) ?? [];
  if (
    !hostName ||
    /[^\p{L}\p{N}.*?:_[\]-]/u.test(hostName) ||
    /\.\./.test(hostName) ||
    hostName.startsWith(".")
  )
    return `it is not a host's name. ${hostAdvice}`;
  if (portText !== undefined && !(/^[\d*?]+$/.test(portText) && !(Number(portText) > 65_535)))
    return `'${portText}' is not a port. ${hostAdvice}`;
  return undefined;
}

const MAX_PATH_CHARS = 4_096; // that systems accept

function wrongPath(ruleName: string): string | undefined {
  if (ruleName !== ruleName.trim()) return "it begins or ends with a blank. Leave that out";
  if (/^[a-z][\w+.-]*:\/\//i.test(ruleName)) return "it is an address. Write a path";
  if (ruleName.replace(/\*+/g, "*").length > MAX_PATH_CHARS)
    return "it is too long for a path. Make it shorter";
  if (/^~[^/]/.test(ruleName))
    return "homes of other users are not looked up. Write the whole path";
  if (/^\$\{?[A-Z_]\w*\}?(\/|$)/.test(ruleName))
    return "variables are not looked up. Write the path itself";
  if (/\[([!^][^\]]|[^\]]*\w-\w|:\w)[^\]]*\]/.test(ruleName))
    return (
      "it holds a class of letters, and only *, ** and ? stand for others. " +
      "Use those, or write one rule for each"
    );
  if (/\{[^{}]*,[^{}]*\}/.test(ruleName))
    return (
      "braces are not taken apart, and only *, ** and ? " +
      "stand for others. Write one rule for each"
    );
  return undefined;
}
