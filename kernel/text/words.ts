// Small functions about texts, names and values. Plugins get most of them as "zz/text".
import type { Usage } from "../contract.ts";

export const compare = (first: string, second: string): number => {
  if (first < second) return -1;
  if (first > second) return 1;
  return 0;
};
export const byName = (first: { name: string }, second: { name: string }): number =>
  compare(first.name, second.name);

export const isObject = (candidate: unknown): candidate is Record<string, unknown> =>
  typeof candidate === "object" && candidate !== null && !Array.isArray(candidate);

export const MAX_JSON_DEPTH = 100;
/** Whether it holds more levels of lists and objects. */
export function isDeep(jsonValue: unknown, maxLevels = MAX_JSON_DEPTH): boolean {
  if (typeof jsonValue !== "object" || jsonValue === null) return false;
  return (
    maxLevels === 0 ||
    Object.values(jsonValue).some((innerValue) => isDeep(innerValue, maxLevels - 1))
  );
}

/** What stands in a table itself under a key: "constructor" is in every object. */
export const ownValue = <T>(
  table: Readonly<Record<string, T>> | undefined,
  key: string,
): T | undefined => (table && Object.hasOwn(table, key) ? table[key] : undefined);

/** What is wanted of a table. */
export const pickKeys = (
  table: object,
  isWanted: (key: string, value: any) => boolean,
): Record<string, any> =>
  Object.fromEntries(Object.entries(table).filter(([key, value]) => isWanted(key, value)));

/** The table with a new value for each. */
export const mapValues = <T>(
  table: object,
  newValue: (value: any, key: string) => T,
): Record<string, T> =>
  Object.fromEntries(Object.entries(table).map(([key, value]) => [key, newValue(value, key)]));

/** One pattern that fits where any of these does; its flags are those of the first. */
export const anyOf = (...patterns: [RegExp, ...RegExp[]]): RegExp =>
  new RegExp(patterns.map(({ source }) => source).join("|"), patterns[0].flags);

/** `1 file`, `2 files`; `2 matches` with the plural given. */
export const plural = (
  count: number,
  singularNoun: string,
  pluralNoun = `${singularNoun}s`,
): string => `${count} ${count === 1 ? singularNoun : pluralNoun}`;

/** The first of these names, and how many more there are. */
export const someOf = <T>(
  maxShown: number,
  elements: T[],
  nameOf = (element: T) => `${element}`,
): string =>
  elements.slice(0, maxShown).map(nameOf).join(", ") +
  (elements.length > maxShown ? ` and ${elements.length - maxShown} more` : "");

export const CHARS_PER_TOKEN = 4; // roughly

/** The head and the tail of a text that is too long, with a marker between. */
export function shorten(longText: string, maxChars: number): string {
  if (longText.length <= maxChars) return longText;
  const [headLength, tailLength] = [Math.floor(maxChars * 0.7), Math.floor(maxChars * 0.2)];
  const omitted = longText.length - headLength - tailLength;
  return (
    `${longText.slice(0, headLength)}\n[… ${omitted} characters left out …]\n` +
    longText.slice(longText.length - tailLength)
  ).toWellFormed();
}

/**
 * What the person wrote: without the files and the piped text that stand before it. Without
 * anything else, what the first of those is.
 */
export const writtenTextOf = (promptText: string): string =>
  promptText.replace(/^(?:--- (.*) ---\n[\s\S]*?\n--- END \1 ---\s*)+/, "") ||
  (/(?<=^--- ).*(?= ---$)/m.exec(promptText)?.[0] ?? "");

/** What the function returns, or undefined if it throws. */
export function tryTo<T>(attempt: () => T): T | undefined {
  try {
    return attempt();
  } catch {
    return undefined;
  }
}

/** An object whose fields are computed on first access. */
export function lazily<T extends object>(fieldGetters: { [K in keyof T]: () => T[K] }): T {
  const descriptors = mapValues(fieldGetters, (get) => ({ get, enumerable: true }));
  return Object.defineProperties({}, descriptors) as T;
}

export const jsonOrText = (jsonText: string): unknown =>
  (tryTo(() => [JSON.parse(jsonText)]) ?? [jsonText])[0];

/**
 * Equal parts that a pattern can hold, which finds some of them in a text that is cut. V8 takes
 * about 30,000 characters in a row.
 */
export function partsOf(wholeText: string): string[] {
  const partSize = Math.ceil(wholeText.length / Math.ceil(wholeText.length / 1_000));
  return wholeText.match(new RegExp(`[^]{1,${partSize}}`, "g"))!;
}

/** The sum of several usages. */
export function sumUsage(usages: readonly (Usage | undefined)[]): Usage {
  const usageSum: Usage = { input: 0, output: 0 };
  for (const partUsage of usages)
    for (const counterName of ["input", "output", "cached", "written"] as const)
      if (partUsage?.[counterName])
        usageSum[counterName] = (usageSum[counterName] ?? 0) + partUsage[counterName];
  return usageSum;
}
