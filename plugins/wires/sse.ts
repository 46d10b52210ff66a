// What a server streams, piece by piece: server-sent events, keep-alives, and what is neither.
import type { HttpAnswer } from "zz";
import { tryTo } from "zz/text";

const MB = 1024 * 1024;
const MAX_LINE_CHARS = 8 * MB; // also of an event, which may have several lines
const MAX_ANSWER_CHARS = 512 * MB; // of the whole stream, most of which is not the answer itself

/** An event; a sign of life without any; or, at the end, all lines that belonged to no event. */
export type Piece = { event?: string | undefined; data: string } | { alive: true } | { rest: string };

export async function* pieces(response: HttpAnswer, name: string): AsyncGenerator<Piece> {
  const { createParser } = await import("eventsource-parser");
  const decoder = new TextDecoder();
  let come: Piece[] = [];
  let rest = ""; // the parser drops an unfinished line that it does not know, so it gets whole lines only
  let otherLines = "";
  let [size, open] = [0, 0]; // characters: in all, and since the last event ended
  const tooLong = (what: string, most: number) =>
    new Error(`'${name}' sent ${what} of more than ${most / MB} MB, and was given up. Check --base-url.`);
  const parser = createParser({
    onEvent: ({ event, data }) => come.push({ event, data }),
    onComment: () => come.push({ alive: true }),
    onError: (error) => (otherLines += `${error.line ?? ""}\n`),
  });
  for await (const bytes of response.body) {
    const text = decoder.decode(bytes, { stream: true });
    const end = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1; // only in new text, so that a long line is not searched repeatedly
    if (end) parser.feed(rest + text.slice(0, end));
    rest = end ? text.slice(end) : rest + text;
    open = come.length ? 0 : open + text.length;
    size += text.length;
    if (rest.length > MAX_LINE_CHARS) throw tooLong("a line", MAX_LINE_CHARS);
    if (open > MAX_LINE_CHARS || otherLines.length > MAX_LINE_CHARS) throw tooLong("an event", MAX_LINE_CHARS);
    if (size > MAX_ANSWER_CHARS) throw tooLong("an answer", MAX_ANSWER_CHARS);
    yield* come;
    come = [];
  }
  parser.feed(`${rest}${decoder.decode()}\n\n`);
  parser.reset({ consume: true });
  yield* come;
  if (otherLines.trim()) yield { rest: otherLines };
}

export const parse = (text: string): any => tryTo(() => JSON.parse(text));

/** Some servers omit the blank line between events; then several lines come as one. */
export const chunksOf = (data: string): string[] => (parse(data) !== undefined ? [data] : data.split("\n"));

/** What stood where a stream was expected, as an error says it: the page itself, or its first words. */
export const noStream = (text: string): string =>
  /^\s*<(!doctype|html)/i.test(text) ? text : `not a stream but ${text.trim().slice(0, 200)}`;
