// What a glob pattern means. Not a library, since those turn patterns into regular expressions,
// which can hang on a long name (`*a*a*a*a*b`); here the work is at most stars times letters. Also,
// [slug] may be the literal name of a folder.
import { fitsStars } from "zz/text";

const MAX_PATTERN_CHARS = 1_000;
const MAX_EXPANSIONS = 1_000; // of the braces
const MAX_EXPANDED_CHARS = 100_000; // of all expansions
const MANY_STARS = /^\*+$/;

type Token = string | ((character: string) => boolean);

/**
 * `*` and `?` within a name, `**` for any folders, {a,b}, [a-z], [!a-z]. Brackets also stand for
 * themselves.
 */
export function compilePattern(pattern: string): (fileName: string) => boolean {
  if (pattern.length > MAX_PATTERN_CHARS)
    throw new Error(
      `Cannot use a pattern of ${pattern.length} characters: ` +
        `at most ${MAX_PATTERN_CHARS} are allowed. Make it shorter.`,
    );
  const plainPattern = pattern.replace(/^(\.?\/)+/, "").replace(/\/$/, "/**");
  const readings = [true, false].slice(plainPattern.includes("[") ? 0 : 1);
  const alternatives = expandBraces(plainPattern).flatMap((pattern) =>
    readings.map((brackets) => segments(pattern, brackets)),
  );
  return (fileName) => {
    if (fileName === plainPattern) return true;
    const nameParts = fileName.split("/").map((namePart) => [...namePart]);
    return alternatives.some((segmentsOfWay) =>
      fitsStars(segmentsOfWay, nameParts, (segment) => segment === undefined, fitsName),
    );
  };
}

const fitsName = (segment: Token[] | undefined, nameCharacters: string[]): boolean =>
  fitsStars(segment!, nameCharacters, (patternToken) => patternToken === "*", fitsChar);
const fitsChar = (patternToken: Token, character: string): boolean =>
  typeof patternToken === "string" ? patternToken === character : patternToken(character);

/**
 * One entry per folder, undefined for `**`. A final `**` needs a name: a/** matches what is in a,
 * not a itself.
 */
function segments(pattern: string, brackets: boolean): (Token[] | undefined)[] {
  const patternParts = pattern.split("/");
  if (patternParts.at(-1) === "**") patternParts.push("*");
  return patternParts.map((patternPart) =>
    patternPart === "**" ? undefined : parseTokens(patternPart, brackets),
  );
}

function parseTokens(patternPart: string, brackets: boolean): Token[] {
  const tokenPattern = brackets ? /\\.|\*+|\[[!^]?\]?[^\]]*\]|./gsu : /\\.|\*+|./gsu;
  return (patternPart.match(tokenPattern) ?? []).map((tokenText) => {
    if (MANY_STARS.test(tokenText)) return "*";
    if (tokenText === "?") return () => true;
    if (tokenText.length > 1 && tokenText.startsWith("\\"))
      return createLiteral(tokenText.slice(1));
    if (tokenText.length > 1 && tokenText.startsWith("["))
      return parseBrackets(tokenText.slice(1, -1));
    return createLiteral(tokenText);
  });
}

/** Matches one literal character; a star after a backslash is one too. */
const createLiteral = (character: string): Token =>
  character === "*" ? (otherChar) => otherChar === "*" : character;

function parseBrackets(bracketContent: string): Token {
  const isNegated = /^[!^]/.test(bracketContent);
  const setCharacters = [...(isNegated ? bracketContent.slice(1) : bracketContent)];
  const characterRanges: [string, string][] = [];
  for (let i = 0; i < setCharacters.length; i++) {
    const rangeEnd = setCharacters[i + 1] === "-" && setCharacters[i + 2];
    characterRanges.push([setCharacters[i]!, rangeEnd || setCharacters[i]!]);
    if (rangeEnd) i += 2;
  }
  return (character) =>
    characterRanges.some(
      ([rangeStart, rangeEnd]) => rangeStart <= character && character <= rangeEnd,
    ) !== isNegated;
}

/** Expands {a,b} and {a,{b,c}}; a brace without a comma or a partner is literal. */
function expandBraces(pattern: string): string[] {
  const braceGroup = firstBrace(pattern);
  if (!braceGroup) return [pattern];
  const expandedEnds = expandBraces(braceGroup.after);
  const expansions = braceGroup.choices
    .flatMap(expandBraces)
    .flatMap((braceChoice) =>
      expandedEnds.map((expandedEnd) => braceGroup.before + braceChoice + expandedEnd),
    );
  if (
    expansions.length > MAX_EXPANSIONS ||
    expansions.reduce((charTotal, expanded) => charTotal + expanded.length, 0) > MAX_EXPANDED_CHARS
  )
    throw new Error("Cannot use that pattern: its braces have too many readings. Make it simpler.");
  return expansions;
}

function firstBrace(
  pattern: string,
): { before: string; choices: string[]; after: string } | undefined {
  for (
    let braceStart = pattern.indexOf("{");
    braceStart >= 0;
    braceStart = pattern.indexOf("{", braceStart + 1)
  ) {
    const cutIndexes = [braceStart];
    for (let i = braceStart, braceDepth = 0; i < pattern.length; i++) {
      const character = pattern[i];
      if (character === "\\") i++;
      else if (character === "{") braceDepth++;
      else if (character === "," && braceDepth === 1) cutIndexes.push(i);
      else if (character === "}" && --braceDepth === 0) {
        if (cutIndexes.push(i) < 3) break;
        const choices = cutIndexes
          .slice(1)
          .map((cutIndex, choiceIndex) => pattern.slice(cutIndexes[choiceIndex]! + 1, cutIndex));
        return { before: pattern.slice(0, braceStart), choices, after: pattern.slice(i + 1) };
      }
    }
  }
  return undefined;
}
