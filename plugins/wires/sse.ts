// What the pieces of a stream hold: JSON, the end, or what is neither.
export function parse(jsonText: string): any {
  try {
    return JSON.parse(jsonText);
  } catch {
    return undefined;
  }
}

/** A line of an event that should be JSON and is not. */
export class NoJson {
  readonly words: string;
  constructor(badLine: string) {
    this.words = `a line that is not JSON: ${badLine.slice(0, 200)}`;
  }
}

/**
 * What an event holds. Some servers omit the blank line between events; then several lines come as
 * one.
 */
export function valuesIn(eventData: string): any[] {
  const parsedData = parse(eventData);
  if (parsedData !== undefined) return [parsedData];
  const dataLines = eventData
    .split("\n")
    .filter((dataLine) => dataLine.trim() && dataLine.trim() !== DONE_MARK);
  return dataLines.map((dataLine) => {
    const parsedLine = parse(dataLine);
    return parsedLine === undefined ? new NoJson(dataLine) : parsedLine;
  });
}

const DONE_MARK = "[DONE]";
export const isDone = (eventData: string): boolean =>
  eventData.length < 20 && eventData.trim() === DONE_MARK;

export const isObject = (jsonValue: unknown): boolean =>
  typeof jsonValue === "object" && jsonValue !== null;
/**
 * The objects of a list; none if it is no list. Servers also send null, numbers and texts there.
 */
export const objectsIn = (jsonValue: unknown): any[] =>
  Array.isArray(jsonValue) ? jsonValue.filter(isObject) : [];
export const wordsOf = (jsonValue: unknown): string =>
  typeof jsonValue === "string" ? jsonValue : "";

/** What came instead of a stream, as an error says it: a web page, or its first words. */
export const noStream = (bodyText: string): string =>
  /^\s*<(!doctype|html)/i.test(bodyText)
    ? bodyText
    : `not a stream but ${bodyText.trim().slice(0, 200)}`;
