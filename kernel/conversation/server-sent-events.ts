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
  let unfinished: Uint8Array[] = [];
  let otherLines = "";
  // bytes: in all, of the rest, and since the last event ended
  let [size, restSize, open] = [0, 0, 0];
  const tooLong = (noun: string, maxBytes: number) => {
    const [sender, hint] = name ? [`'${name}'`, "--base-url"] : ["The server", "its address"];
    return new Error(
      `${sender} sent ${noun} of more than ${maxBytes / MB} MB, and was given up. Check ${hint}.`,
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
        ? Buffer.concat([...unfinished, chunk.subarray(0, end)])
        : chunk.subarray(0, end);
      parser.feed(withoutReturns(lines.toString()));
      [unfinished, restSize] = [[], 0];
    }
    if (end < chunk.length) restSize += unfinished.push(chunk.subarray(end)) && chunk.length - end;
    open = batch.length ? 0 : open + chunk.length;
    if (restSize > MAX_LINE_BYTES) throw tooLong("a line", MAX_LINE_BYTES);
    if (open > MAX_LINE_BYTES || otherLines.length > MAX_LINE_BYTES)
      throw tooLong("an event", MAX_LINE_BYTES);
    if (size > MAX_ANSWER_BYTES) throw tooLong("an answer", MAX_ANSWER_BYTES);
    if (!batch.length) continue;
    yield batch;
    batch = [];
  }
  parser.feed(`${Buffer.concat(unfinished)}\n\n`);
  parser.reset({ consume: true });
  if (otherLines.trim()) batch.push({ rest: otherLines });
  if (batch.length) yield batch;
}

/** The parser is fastest if lines end in a line feed alone. */
const withoutReturns = (text: string): string =>
  text.includes("\r\n") ? text.replaceAll("\r\n", "\n") : text;

/** Yields single items from groups: awaiting each group is much faster than awaiting each item. */
function oneByOne<T>(groups: AsyncIterable<Iterable<T>>): AsyncIterableIterator<T, undefined> {
  const source = groups[Symbol.asyncIterator]();
  let group: Iterator<T> | undefined;
  let hasLeft = false;
  const leave = async (): Promise<IteratorReturnResult<undefined>> => {
    hasLeft = true;
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
        while (!hasLeft) {
          const current = group?.next();
          if (current && !current.done) return current;
          const nextGroup = await source.next();
          if (nextGroup.done) break;
          group = nextGroup.value[Symbol.iterator]();
        }
      } catch (error) {
        await leave(); // closes the source
        throw error;
      }
      hasLeft = true;
      return { done: true, value: undefined };
    },
    return: leave,
  };
}

/** Turns groups of pieces into deltas: text that arrived together is one delta. */
export const deltasOf = (
  groups: AsyncIterable<Iterable<Delta>>,
): AsyncIterableIterator<Delta, undefined> => oneByOne(joinTexts(groups));

async function* joinTexts(groups: AsyncIterable<Iterable<Delta>>): AsyncGenerator<Iterable<Delta>> {
  for await (const group of groups) yield withTextsJoined(group);
}

function* withTextsJoined(group: Iterable<Delta>): Generator<Delta> {
  let isThinking = false;
  let run: string[] = [];
  const takeRun = (): Delta => {
    const joinedText = run.join("");
    run = [];
    return isThinking ? { thinking: joinedText } : { text: joinedText };
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
      if (run.length && (!isPlain || isThinking !== (text === undefined))) yield takeRun();
      if (!isPlain) yield delta;
      else {
        isThinking = text === undefined;
        run.push(piece);
      }
    }
  } catch (error) {
    if (run.length) yield takeRun(); // the text before it
    throw error;
  }
  if (run.length) yield takeRun();
}
