// Server-sent events, as most providers stream them: `for await (const { data } of zz.events(answer))`.
import type { Delta, HttpAnswer } from "../kernel/contract.ts";

type ServerEvent = { event?: string; data: string };
const MAX_EVENT_CHARS = 8 * 1024 * 1024; // of an event, or of an endless line

/** Yields events in order, however they were split. Other lines are ignored; the last event needs no empty line after it. */
export const events = (answer: HttpAnswer): AsyncIterable<ServerEvent> => oneByOne(groups(answer));

async function* groups({ body }: HttpAnswer): AsyncGenerator<ServerEvent[]> {
  const { createParser } = await import("eventsource-parser");
  const decoder = new TextDecoder();
  const come: ServerEvent[] = [];
  const parser = createParser({ onEvent: ({ event, data }) => come.push({ data, ...(event && { event }) }) });
  let open = 0; // characters since the last event
  for await (const bytes of body) {
    const text = decoder.decode(bytes, { stream: true });
    parser.feed(text);
    open = come.length ? 0 : open + text.length;
    if (open > MAX_EVENT_CHARS) throw new Error("The server sent an event of more than 8 MB, and was given up. Check its address.");
    if (come.length) yield come.splice(0);
  }
  parser.feed(`${decoder.decode()}\n\n`);
  yield come;
}

/** Yields single items from groups: awaiting each group is much faster than awaiting each item. */
export function oneByOne<T>(groups: AsyncIterable<Iterable<T>>): AsyncIterableIterator<T, undefined> {
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
export const deltasOf = (groups: AsyncIterable<Iterable<Delta>>): AsyncIterableIterator<Delta, undefined> => oneByOne(joined(groups));

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
      const { text, thinking, extra } = delta as { text?: unknown; thinking?: unknown; extra?: unknown };
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
