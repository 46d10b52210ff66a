// What a glob pattern means. Not a library, since those turn patterns into regular expressions,
// which can hang on a long name (`*a*a*a*a*b`); here the work is at most stars times letters. Also,
// [slug] may be the literal name of a folder.
import { fitsStars } from "zz/text";

const MAX_PATTERN_CHARS = 1_000;
const MAX_EXPANSIONS = 1_000; // of the braces
const MAX_EXPANDED_CHARS = 100_000; // of all expansions
const MANY_STARS = /^\*+$/;

type Token = string | ((char: string) => boolean);

/**
 * `*` and `?` within a name, `**` for any folders, {a,b}, [a-z], [!a-z]. Brackets also stand for
 * themselves.
 */
export function matcher(pattern: string): (name: string) => boolean {
  if (pattern.length > MAX_PATTERN_CHARS)
    throw new Error(
      `Cannot use a pattern of ${pattern.length} characters: at most ${MAX_PATTERN_CHARS} are allowed. Make it shorter.`,
    );
  const plain = pattern.replace(/^(\.?\/)+/, "").replace(/\/$/, "/**");
  const readings = [true, false].slice(plain.includes("[") ? 0 : 1);
  const ways = expand(plain).flatMap((pattern) =>
    readings.map((brackets) => segments(pattern, brackets)),
  );
  return (name) => {
    if (name === plain) return true;
    const parts = name.split("/").map((part) => [...part]);
    return ways.some((segmentsOfWay) =>
      fitsStars(segmentsOfWay, parts, (segment) => segment === undefined, fitsName),
    );
  };
}

const fitsName = (segment: Token[] | undefined, name: string[]): boolean =>
  fitsStars(segment!, name, (token) => token === "*", fitsChar);
const fitsChar = (token: Token, char: string): boolean =>
  typeof token === "string" ? token === char : token(char);

/**
 * One entry per folder, undefined for `**`. A final `**` needs a name: a/** matches what is in a,
 * not a itself.
 */
function segments(pattern: string, brackets: boolean): (Token[] | undefined)[] {
  const parts = pattern.split("/");
  if (parts.at(-1) === "**") parts.push("*");
  return parts.map((part) => (part === "**" ? undefined : tokens(part, brackets)));
}

function tokens(part: string, brackets: boolean): Token[] {
  const shapes = brackets ? /\\.|\*+|\[[!^]?\]?[^\]]*\]|./gsu : /\\.|\*+|./gsu;
  return (part.match(shapes) ?? []).map((shape) => {
    if (MANY_STARS.test(shape)) return "*";
    if (shape === "?") return () => true;
    if (shape.length > 1 && shape.startsWith("\\")) return only(shape.slice(1));
    if (shape.length > 1 && shape.startsWith("[")) return oneOf(shape.slice(1, -1));
    return only(shape);
  });
}

/** Matches one literal character; a star after a backslash is one too. */
const only = (char: string): Token => (char === "*" ? (otherChar) => otherChar === "*" : char);

function oneOf(inner: string): Token {
  const not = /^[!^]/.test(inner);
  const chars = [...(not ? inner.slice(1) : inner)];
  const ranges: [string, string][] = [];
  for (let i = 0; i < chars.length; i++) {
    const to = chars[i + 1] === "-" && chars[i + 2];
    ranges.push([chars[i]!, to || chars[i]!]);
    if (to) i += 2;
  }
  return (char) => ranges.some(([from, to]) => from <= char && char <= to) !== not;
}

/** Expands {a,b} and {a,{b,c}}; a brace without a comma or a partner is literal. */
function expand(pattern: string): string[] {
  const brace = firstBrace(pattern);
  if (!brace) return [pattern];
  const ends = expand(brace.after);
  const ways = brace.choices
    .flatMap(expand)
    .flatMap((choice) => ends.map((end) => brace.before + choice + end));
  if (
    ways.length > MAX_EXPANSIONS ||
    ways.reduce((sum, expanded) => sum + expanded.length, 0) > MAX_EXPANDED_CHARS
  )
    throw new Error("Cannot use that pattern: its braces have too many readings. Make it simpler.");
  return ways;
}

function firstBrace(
  pattern: string,
): { before: string; choices: string[]; after: string } | undefined {
  for (let from = pattern.indexOf("{"); from >= 0; from = pattern.indexOf("{", from + 1)) {
    const cuts = [from];
    for (let i = from, depth = 0; i < pattern.length; i++) {
      const char = pattern[i];
      if (char === "\\") i++;
      else if (char === "{") depth++;
      else if (char === "," && depth === 1) cuts.push(i);
      else if (char === "}" && --depth === 0) {
        if (cuts.push(i) < 3) break;
        const choices = cuts.slice(1).map((cut, n) => pattern.slice(cuts[n]! + 1, cut));
        return { before: pattern.slice(0, from), choices, after: pattern.slice(i + 1) };
      }
    }
  }
  return undefined;
}
