// What the pieces of a stream hold: JSON, the end, or what is neither.
export function parse(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A line of an event that should be JSON and is not. */
export class NoJson {
  readonly words: string;
  constructor(line: string) {
    this.words = `a line that is not JSON: ${line.slice(0, 200)}`;
  }
}

/**
 * What an event holds. Some servers omit the blank line between events; then several lines come as
 * one.
 */
export function valuesIn(data: string): any[] {
  const parsed = parse(data);
  if (parsed !== undefined) return [parsed];
  const lines = data.split("\n").filter((line) => line.trim() && line.trim() !== DONE);
  return lines.map((line) => {
    const value = parse(line);
    return value === undefined ? new NoJson(line) : value;
  });
}

const DONE = "[DONE]";
export const isDone = (data: string): boolean => data.length < 20 && data.trim() === DONE;

export const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;
/**
 * The objects of a list; none if it is no list. Servers also send null, numbers and texts there.
 */
export const objectsIn = (list: unknown): any[] =>
  Array.isArray(list) ? list.filter(isObject) : [];
export const wordsOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** What came instead of a stream, as an error says it: a web page, or its first words. */
export const noStream = (text: string): string =>
  /^\s*<(!doctype|html)/i.test(text) ? text : `not a stream but ${text.trim().slice(0, 200)}`;
