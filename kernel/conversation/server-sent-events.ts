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
export const events = (response: HttpAnswer): AsyncIterable<{ event?: string; data: string }> =>
  oneByOne(onlyEvents(response));

async function* onlyEvents(
  response: HttpAnswer,
): AsyncGenerator<{ event?: string; data: string }[]> {
  for await (const pieceBatch of eventPieces(response))
    yield pieceBatch.flatMap((eventPiece) =>
      "data" in eventPiece
        ? { data: eventPiece.data, ...(eventPiece.event && { event: eventPiece.event }) }
        : [],
    );
}

/**
 * Yields pieces in batches, as they arrived: waiting for each piece would take longer than reading
 * it.
 */
export async function* eventPieces(
  response: HttpAnswer,
  providerName?: string,
): AsyncGenerator<EventPiece[]> {
  const { createParser } = await import("eventsource-parser");
  let pieceBatch: EventPiece[] = [];
  // an unfinished line, which the parser may drop; no character contains a line break
  let unfinished: Uint8Array[] = [];
  let otherLines = "";
  // bytes: in all, of the unfinished line, and since the last event ended
  let [totalBytes, restSize, openBytes] = [0, 0, 0];
  const tooLong = (excessNoun: string, maxBytes: number) => {
    const [sender, checkHint] = providerName
      ? [`'${providerName}'`, "--base-url"]
      : ["The server", "its address"];
    return new Error(
      `${sender} sent ${excessNoun} of more than ${maxBytes / MB} MB, ` +
        `and was given up. Check ${checkHint}.`,
    );
  };
  const parser = createParser({
    onEvent: (serverEvent) => pieceBatch.push(serverEvent),
    onComment: () => pieceBatch.push({ alive: true }),
    onError: (error) => (otherLines += `${error.line ?? ""}\n`),
  });
  for await (const bodyBytes of response.body) {
    const bodyChunk = Buffer.from(bodyBytes.buffer, bodyBytes.byteOffset, bodyBytes.length);
    // searches only the new bytes, so that long lines stay cheap
    const lineEnd = Math.max(bodyChunk.lastIndexOf(LF), bodyChunk.lastIndexOf(CR)) + 1;
    totalBytes += bodyChunk.length;
    if (lineEnd) {
      const wholeLines = restSize
        ? Buffer.concat([...unfinished, bodyChunk.subarray(0, lineEnd)])
        : bodyChunk.subarray(0, lineEnd);
      parser.feed(withoutReturns(wholeLines.toString()));
      [unfinished, restSize] = [[], 0];
    }
    if (lineEnd < bodyChunk.length) {
      unfinished.push(bodyChunk.subarray(lineEnd));
      restSize += bodyChunk.length - lineEnd;
    }
    openBytes = pieceBatch.length ? 0 : openBytes + bodyChunk.length;
    if (restSize > MAX_LINE_BYTES) throw tooLong("a line", MAX_LINE_BYTES);
    if (openBytes > MAX_LINE_BYTES || otherLines.length > MAX_LINE_BYTES)
      throw tooLong("an event", MAX_LINE_BYTES);
    if (totalBytes > MAX_ANSWER_BYTES) throw tooLong("an answer", MAX_ANSWER_BYTES);
    if (!pieceBatch.length) continue;
    yield pieceBatch;
    pieceBatch = [];
  }
  parser.feed(`${Buffer.concat(unfinished)}\n\n`);
  parser.reset({ consume: true });
  if (otherLines.trim()) pieceBatch.push({ rest: otherLines });
  if (pieceBatch.length) yield pieceBatch;
}

/** The parser is fastest if lines end in a line feed alone. */
const withoutReturns = (lineText: string): string =>
  lineText.includes("\r\n") ? lineText.replaceAll("\r\n", "\n") : lineText;

/** Yields single items from groups: awaiting each group is much faster than awaiting each item. */
function oneByOne<T>(groups: AsyncIterable<Iterable<T>>): AsyncIterableIterator<T, undefined> {
  const source = groups[Symbol.asyncIterator]();
  let groupIterator: Iterator<T> | undefined;
  let hasLeft = false;
  const leaveSource = async (): Promise<IteratorReturnResult<undefined>> => {
    hasLeft = true;
    groupIterator?.return?.();
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
          const current = groupIterator?.next();
          if (current && !current.done) return current;
          const nextGroup = await source.next();
          if (nextGroup.done) break;
          groupIterator = nextGroup.value[Symbol.iterator]();
        }
      } catch (error) {
        await leaveSource(); // closes the source
        throw error;
      }
      hasLeft = true;
      return { done: true, value: undefined };
    },
    return: leaveSource,
  };
}

/** Turns groups of pieces into deltas: text that arrived together is one delta. */
export const deltasOf = (
  groups: AsyncIterable<Iterable<Delta>>,
): AsyncIterableIterator<Delta, undefined> => oneByOne(joinTexts(groups));

async function* joinTexts(groups: AsyncIterable<Iterable<Delta>>): AsyncGenerator<Iterable<Delta>> {
  for await (const deltaGroup of groups) yield withTextsJoined(deltaGroup);
}

function* withTextsJoined(deltaGroup: Iterable<Delta>): Generator<Delta> {
  let isThinking = false;
  let textRun: string[] = [];
  const takeRun = (): Delta => {
    const joinedText = textRun.join("");
    textRun = [];
    return isThinking ? { thinking: joinedText } : { text: joinedText };
  };
  try {
    for (const delta of deltaGroup) {
      const { text, thinking, extra } = delta as {
        text?: unknown;
        thinking?: unknown;
        extra?: unknown;
      };
      const textPiece = extra === undefined ? (text ?? thinking) : undefined;
      const isPlain = typeof textPiece === "string";
      if (textRun.length && (!isPlain || isThinking !== (text === undefined))) yield takeRun();
      if (!isPlain) yield delta;
      else {
        isThinking = text === undefined;
        textRun.push(textPiece);
      }
    }
  } catch (error) {
    if (textRun.length) yield takeRun(); // the text before it
    throw error;
  }
  if (textRun.length) yield takeRun();
}
