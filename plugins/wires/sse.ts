// What a server streams, piece by piece: server-sent events, keep-alives, and what is neither.
import type { HttpAnswer } from "zz";

const MB = 1024 * 1024;
const MAX_LINE_BYTES = 8 * MB; // also of an event, which may have several lines
const MAX_ANSWER_BYTES = 512 * MB; // of the whole stream, most of which is not the answer itself
const [LF, CR] = [10, 13];

/** An event; a keep-alive; or, at the end, all lines that belonged to no event. */
export type Piece = { event?: string | undefined; data: string } | { alive: true } | { rest: string };

/** Yields pieces in batches, as they arrived: waiting for each piece would take longer than reading it. */
export async function* pieces(response: HttpAnswer, name: string): AsyncGenerator<Piece[]> {
  const { createParser } = await import("eventsource-parser");
  let batch: Piece[] = [];
  let rest: Uint8Array[] = []; // an unfinished line, which the parser may drop; no character contains a line break
  let otherLines = "";
  let [size, restSize, open] = [0, 0, 0]; // bytes: in all, of the rest, and since the last event ended
  const tooLong = (what: string, most: number) =>
    new Error(`'${name}' sent ${what} of more than ${most / MB} MB, and was given up. Check --base-url.`);
  const parser = createParser({
    onEvent: (event) => batch.push(event),
    onComment: () => batch.push({ alive: true }),
    onError: (error) => (otherLines += `${error.line ?? ""}\n`),
  });
  for await (const bytes of response.body) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const end = Math.max(chunk.lastIndexOf(LF), chunk.lastIndexOf(CR)) + 1; // not in `rest`: long lines stay cheap
    size += chunk.length;
    if (end) {
      const lines = restSize ? Buffer.concat([...rest, chunk.subarray(0, end)]) : chunk.subarray(0, end);
      parser.feed(withoutReturns(lines.toString()));
      [rest, restSize] = [[], 0];
    }
    if (end < chunk.length) restSize += rest.push(chunk.subarray(end)) && chunk.length - end;
    open = batch.length ? 0 : open + chunk.length;
    if (restSize > MAX_LINE_BYTES) throw tooLong("a line", MAX_LINE_BYTES);
    if (open > MAX_LINE_BYTES || otherLines.length > MAX_LINE_BYTES) throw tooLong("an event", MAX_LINE_BYTES);
    if (size > MAX_ANSWER_BYTES) throw tooLong("an answer", MAX_ANSWER_BYTES);
    if (!batch.length) continue;
    yield batch;
    batch = [];
  }
  parser.feed(`${Buffer.concat(rest)}\n\n`);
  parser.reset({ consume: true });
  if (otherLines.trim()) batch.push({ rest: otherLines });
  if (batch.length) yield batch;
}

/** The parser is fastest if lines end in a line feed alone. */
const withoutReturns = (text: string): string => (text.includes("\r\n") ? text.replaceAll("\r\n", "\n") : text);

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

/** What an event holds. Some servers omit the blank line between events; then several lines come as one. */
export function valuesIn(data: string): any[] {
  const whole = parse(data);
  if (whole !== undefined) return [whole];
  const lines = data.split("\n").filter((line) => line.trim() && line.trim() !== DONE);
  return lines.map((line) => {
    const value = parse(line);
    return value === undefined ? new NoJson(line) : value;
  });
}

const DONE = "[DONE]";
export const isDone = (data: string): boolean => data.length < 20 && data.trim() === DONE;

export const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;
/** The objects of a list; none if it is no list. Servers also send null, numbers and texts there. */
export const objectsIn = (list: unknown): any[] => (Array.isArray(list) ? list.filter(isObject) : []);
export const wordsOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** What came instead of a stream, as an error says it: a web page, or its first words. */
export const noStream = (text: string): string =>
  /^\s*<(!doctype|html)/i.test(text) ? text : `not a stream but ${text.trim().slice(0, 200)}`;
