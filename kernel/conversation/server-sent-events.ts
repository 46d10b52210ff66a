// Server-sent events, as most providers stream them:
// `for await (const { data } of zz.events(answer))`.
import type { Delta, HttpAnswer } from "../contract.ts";

type ServerEvent = { event?: string | undefined; data: string };
const MB = 1024 * 1024;
const MAX_LINE_BYTES = 8 * MB; // also of an event, which may have several lines
const MAX_ANSWER_BYTES = 512 * MB; // of the whole stream, most of which is not the answer itself
const [LF, CR] = [10, 13];

/** An event; a keep-alive; or, at the end, all lines that belonged to no event. */
export type EventPiece = ServerEvent | { alive: true } | { rest: string };

/**
 * Yields events in order, however they were split. Other lines are ignored; the last event needs no
 * empty line after it.
 */
export const events = (answer: HttpAnswer): AsyncIterable<{ event?: string; data: string }> =>
  oneByOne(onlyEvents(answer));

async function* onlyEvents(answer: HttpAnswer): AsyncGenerator<{ event?: string; data: string }[]> {
  for await (const batch of eventPieces(answer))
    yield batch.flatMap((piece) =>
      "data" in piece ? { data: piece.data, ...(piece.event && { event: piece.event }) } : [],
    );
}

/**
 * Yields pieces in batches, as they arrived: waiting for each piece would take longer than reading
 * it.
 */
export async function* eventPieces(
  response: HttpAnswer,
  name?: string,
): AsyncGenerator<EventPiece[]> {
  const { createParser } = await import("eventsource-parser");
  let batch: EventPiece[] = [];
  // an unfinished line, which the parser may drop; no character contains a line break
  let rest: Uint8Array[] = [];
  let otherLines = "";
  // bytes: in all, of the rest, and since the last event ended
  let [size, restSize, open] = [0, 0, 0];
  const tooLong = (what: string, most: number) => {
    const [who, hint] = name ? [`'${name}'`, "--base-url"] : ["The server", "its address"];
    return new Error(
      `${who} sent ${what} of more than ${most / MB} MB, and was given up. Check ${hint}.`,
    );
  };
  const parser = createParser({
    onEvent: (event) => batch.push(event),
    onComment: () => batch.push({ alive: true }),
    onError: (error) => (otherLines += `${error.line ?? ""}\n`),
  });
  for await (const bytes of response.body) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    // not in `rest`: long lines stay cheap
    const end = Math.max(chunk.lastIndexOf(LF), chunk.lastIndexOf(CR)) + 1;
    size += chunk.length;
    if (end) {
      const lines = restSize
        ? Buffer.concat([...rest, chunk.subarray(0, end)])
        : chunk.subarray(0, end);
      parser.feed(withoutReturns(lines.toString()));
      [rest, restSize] = [[], 0];
    }
    if (end < chunk.length) restSize += rest.push(chunk.subarray(end)) && chunk.length - end;
    open = batch.length ? 0 : open + chunk.length;
    if (restSize > MAX_LINE_BYTES) throw tooLong("a line", MAX_LINE_BYTES);
    if (open > MAX_LINE_BYTES || otherLines.length > MAX_LINE_BYTES)
      throw tooLong("an event", MAX_LINE_BYTES);
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
const withoutReturns = (text: string): string =>
  text.includes("\r\n") ? text.replaceAll("\r\n", "\n") : text;

/** Yields single items from groups: awaiting each group is much faster than awaiting each item. */
export function oneByOne<T>(
  groups: AsyncIterable<Iterable<T>>,
): AsyncIterableIterator<T, undefined> {
  const source = groups[Symbol.asyncIterator]();
  let group: Iterator<T> | undefined;
  let left = false;
  const leave = async (): Promise<IteratorReturnResult<undefined>> => {
    left = true;
    group?.return?.();
    await source.return?.();
    return { done: true, value: undefined };
  };
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      try {
        while (!left) {
          const one = group?.next();
          if (one && !one.done) return one;
          const more = await source.next();
          if (more.done) break;
          group = more.value[Symbol.iterator]();
        }
      } catch (error) {
        await leave(); // closes the source
        throw error;
      }
      left = true;
      return { done: true, value: undefined };
    },
    return: leave,
  };
}

/** Turns groups of pieces into deltas: text that arrived together is one delta. */
export const deltasOf = (
  groups: AsyncIterable<Iterable<Delta>>,
): AsyncIterableIterator<Delta, undefined> => oneByOne(joined(groups));

async function* joined(groups: AsyncIterable<Iterable<Delta>>): AsyncGenerator<Iterable<Delta>> {
  for await (const group of groups) yield withTextsJoined(group);
}

function* withTextsJoined(group: Iterable<Delta>): Generator<Delta> {
  let isThinking = false;
  let run: string[] = [];
  const taken = (): Delta => {
    const all = run.join("");
    run = [];
    return isThinking ? { thinking: all } : { text: all };
  };
  try {
    for (const delta of group) {
      const { text, thinking, extra } = delta as {
        text?: unknown;
        thinking?: unknown;
        extra?: unknown;
      };
      const piece = extra === undefined ? (text ?? thinking) : undefined;
      const isPlain = typeof piece === "string";
      if (run.length && (!isPlain || isThinking !== (text === undefined))) yield taken();
      if (!isPlain) yield delta;
      else {
        isThinking = text === undefined;
        run.push(piece);
      }
    }
  } catch (error) {
    if (run.length) yield taken(); // the text before it
    throw error;
  }
  if (run.length) yield taken();
}
