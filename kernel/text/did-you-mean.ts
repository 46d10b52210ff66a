// Which name was probably meant where a misspelt one was given.
import { distance } from "fastest-levenshtein";

/** Why a name is unknown: the name that was probably meant, or all names. */
export function unknown(
  noun: string,
  name: string,
  allNames: Iterable<string>,
  instead?: string,
): string {
  const names = [...allNames];
  const near = name.length > MAX_NAME_CHARS ? undefined : nearest(name, names);
  const shown = name.length > MAX_NAME_CHARS ? `${name.slice(0, MAX_NAME_CHARS)}…` : name;
  return `there is no ${noun} '${shown}'. ${near ? `Did you mean '${near}'?` : (instead ?? `There are: ${names.join(", ")}.`)}`;
}
const MAX_NAME_CHARS = 100; // longer ones are not typos

/**
 * The known name that a misspelt one most likely means, by edit distance; fuse.js takes too long to
 * load at each start.
 */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  const meant = name.toLowerCase();
  const isPart = (word: string) =>
    (word.startsWith(meant) && meant.length > 1) || (meant.endsWith(word) && word.length > 2);
  const farFrom = (word: string) => (isPart(word) ? 1 : distance(meant, word));
  const distances = [...candidates].map((word) => ({ word, far: farFrom(word.toLowerCase()) }));
  const [best] = distances.sort((a, b) => a.far - b.far); // the first of equally near ones
  return best && best.far <= Math.max(2, Math.ceil(name.length / 3)) ? best.word : undefined;
}
/** The one of several values that was probably meant, for the end of a sentence. */
export function nearestAllowed(values: readonly unknown[] = [], value: unknown): string {
  const names = values.map(String);
  const near =
    nearestSwitch(names, value) ??
    (typeof value === "string" ? nearest(shortenName(value), names) : "");
  return !near || near === value ? "" : `; nearest to "${shortenName(String(value))}" is "${near}"`;
}

/**
 * Of words that switch something on or off, the allowed one that does the same, and never one that
 * does the opposite. "": none does.
 */
function nearestSwitch(values: string[], value: unknown): string | undefined {
  const word = String(value).toLowerCase();
  const side = SWITCHES.find((words) => words.includes(word));
  return side && (side.find((switchWord) => values.includes(switchWord)) ?? "");
}
const SWITCHES = [
  ["on", "true", "yes", "1", "enable", "enabled", "auto", "always"],
  ["off", "false", "no", "0", "disable", "disabled", "none", "never"],
];

/** A name, shortened for messages: a file may contain very long ones. */
export const shortenName = (name: string): string => name.slice(0, 60).replace(/\s+/g, " ");
