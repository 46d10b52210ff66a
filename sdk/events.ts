// Server-sent events, as most providers stream them: `for await (const { data } of zz.events(answer))`.
import type { HttpAnswer } from "../kernel/contract.ts";

type ServerEvent = { event?: string; data: string };
const MAX_EVENT_CHARS = 8 * 1024 * 1024; // of an event, or of a line that never ends

/** In their order, whatever pieces they come in. What is no event is passed over; the last one counts also without an empty line after it. */
export async function* events({ body }: HttpAnswer): AsyncGenerator<ServerEvent> {
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
    yield* come.splice(0);
  }
  parser.feed(`${decoder.decode()}\n\n`);
  yield* come;
}
