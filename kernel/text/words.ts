// Small functions about texts, names and values. Plugins get most of them as "zz/text".
import type { Usage } from "../contract.ts";

export const compare = (a: string, b: string): number => {
  if (a < b) return -1;
  if (a > b) return 1;
  return 0;
};
export const byName = (a: { name: string }, b: { name: string }): number => compare(a.name, b.name);

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** `1 file`, `2 files`; `2 matches` with the plural given. */
export const plural = (count: number, noun: string, nouns = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : nouns}`;

/** The first of these names, and how many more there are. */
export const someOf = <T>(max: number, list: T[], nameOf = (element: T) => `${element}`): string =>
  list.slice(0, max).map(nameOf).join(", ") +
  (list.length > max ? ` and ${list.length - max} more` : "");

export const CHARS_PER_TOKEN = 4; // roughly

/** The head and the tail of a text that is too long, with a marker between. */
export function shorten(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const [head, tail] = [Math.floor(maxChars * 0.7), Math.floor(maxChars * 0.2)];
  const omitted = text.length - head - tail;
  return `${text.slice(0, head)}\n[… ${omitted} characters left out …]\n${text.slice(text.length - tail)}`.toWellFormed();
}

/**
 * What the person wrote: without the files and the piped text that stand before it. Without
 * anything else, what the first of those is.
 */
export const wordsOf = (text: string): string =>
  text.replace(/^(?:--- (.*) ---\n[\s\S]*?\n--- END \1 ---\s*)+/, "") ||
  (/(?<=^--- ).*(?= ---$)/m.exec(text)?.[0] ?? "");

/** What the function returns, or undefined if it throws. */
export function tryTo<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

/** An object whose fields are computed on first access. */
export function lazily<T extends object>(fields: { [K in keyof T]: () => T[K] }): T {
  const descriptors = Object.entries(fields).map(([name, get]) => [
    name,
    { get: get as () => unknown, enumerable: true },
  ]);
  return Object.defineProperties({}, Object.fromEntries(descriptors)) as T;
}

export const jsonOrText = (text: string): unknown => (tryTo(() => [JSON.parse(text)]) ?? [text])[0];

/**
 * Equal parts that a pattern can hold, which finds some of them in a text that is cut. V8 takes
 * about 30,000 characters in a row.
 */
export function partsOf(text: string): string[] {
  const size = Math.ceil(text.length / Math.ceil(text.length / 1_000));
  return text.match(new RegExp(`[^]{1,${size}}`, "g"))!;
}

/** The sum of several usages. */
export function sumUsage(usages: readonly (Usage | undefined)[]): Usage {
  const sum: Usage = { input: 0, output: 0 };
  for (const part of usages)
    for (const field of ["input", "output", "cached", "written"] as const)
      if (part?.[field]) sum[field] = (sum[field] ?? 0) + part[field];
  return sum;
}
