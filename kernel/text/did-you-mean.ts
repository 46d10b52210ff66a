// Which name was probably meant where a misspelt one was given.
import { distance } from "fastest-levenshtein";

/** Why a name is unknown: the name that was probably meant, or all names. */
export function unknown(
  noun: string,
  unknownName: string,
  allNames: Iterable<string>,
  instead?: string,
): string {
  const knownNames = [...allNames];
  // `theme` is probably `display.theme`
  const hasThatEnd = (knownName: string) => knownName.endsWith(`.${unknownName}`);
  const nearestName =
    unknownName.length > MAX_NAME_CHARS
      ? undefined
      : (knownNames.find(hasThatEnd) ?? nearest(unknownName, knownNames));
  const shownName =
    unknownName.length > MAX_NAME_CHARS ? `${unknownName.slice(0, MAX_NAME_CHARS)}…` : unknownName;
  const nameHint = nearestName
    ? `Did you mean '${nearestName}'?`
    : (instead ?? `There are: ${knownNames.join(", ") || "none"}.`);
  return `there is no ${noun} '${shownName}'. ${nameHint}`;
}
const MAX_NAME_CHARS = 100; // longer ones are not typos

/**
 * The known name that a misspelt one most likely means, by edit distance; fuse.js takes too long to
 * load at each start.
 */
export function nearest(misspeltName: string, candidates: Iterable<string>): string | undefined {
  const loweredName = misspeltName.toLowerCase();
  const isPartial = (candidate: string) =>
    (candidate.startsWith(loweredName) && loweredName.length > 1) ||
    (loweredName.endsWith(candidate) && candidate.length > 2);
  const farFrom = (candidate: string) =>
    isPartial(candidate) ? 1 : distance(loweredName, candidate);
  const distances = [...candidates].map((word) => ({ word, far: farFrom(word.toLowerCase()) }));
  // the first of equally near ones
  const [bestMatch] = distances.sort((first, second) => first.far - second.far);
  return bestMatch && bestMatch.far <= Math.max(2, Math.ceil(misspeltName.length / 3))
    ? bestMatch.word
    : undefined;
}
/** The one of several values that was probably meant, for the end of a sentence. */
export function nearestAllowed(
  allowedValues: readonly unknown[] = [],
  misspeltValue: unknown,
): string {
  const allowedNames = allowedValues.map(String);
  const nearestName =
    nearestSwitch(allowedNames, misspeltValue) ??
    (typeof misspeltValue === "string" ? nearest(shortenName(misspeltValue), allowedNames) : "");
  return !nearestName || nearestName === misspeltValue
    ? ""
    : `; nearest to "${shortenName(String(misspeltValue))}" is "${nearestName}"`;
}

/**
 * Of words that switch something on or off, the allowed one that does the same, and never one that
 * does the opposite. "": none does.
 */
function nearestSwitch(allowedNames: string[], misspeltValue: unknown): string | undefined {
  const misspeltWord = String(misspeltValue).toLowerCase();
  const matchingSide = SWITCHES.find((sideWords) => sideWords.includes(misspeltWord));
  return (
    matchingSide && (matchingSide.find((switchWord) => allowedNames.includes(switchWord)) ?? "")
  );
}
const SWITCHES = [
  ["on", "true", "yes", "1", "enable", "enabled", "auto", "always"],
  ["off", "false", "no", "0", "disable", "disabled", "none", "never"],
];

/** A name, shortened for messages: a file may contain very long ones. */
export const shortenName = (longName: string): string => longName.slice(0, 60).replace(/\s+/g, " ");
