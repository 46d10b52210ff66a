// What a server sends for a request: where it is no answer, the request gets an error that says so,
// instead of waiting on.
import { clean, clip, oneLine, tryTo } from "zz/text";
import type { Message } from "./read-lines.ts";

type Id = string | number;
/** The code of such an error; no server sends it. */
export const NO_ANSWER = -32_799;

/** `whatItDid`: as it follows the server's name in a sentence. */
export const noAnswer = (id: Id, whatItDid: string): Message => ({
  jsonrpc: "2.0",
  id,
  error: { code: NO_ANSWER, message: whatItDid },
});
const notThis = (id: Id, sent: string): Message =>
  noAnswer(id, `sent something that is not an answer: ${clip(oneLine(clean(sent)), 200)}`);

/** The message for the request `id` as the library reads it; it knows no other fields. */
export function answerTo(id: Id, { result, error, ...others }: Message): Message {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  if (typeof result === "object" && result !== null && !Array.isArray(result))
    return { jsonrpc: "2.0", id, result };
  if (Number.isInteger(code) && typeof message === "string") return { jsonrpc: "2.0", id, error };
  return notThis(id, JSON.stringify({ ...others, result, error }));
}

/** A whole body of HTTP. An error without an id, as many servers send it, is for its request. */
export function answerIn(bodyText: string, id: Id): unknown {
  const body = tryTo(() => JSON.parse(bodyText));
  if (Array.isArray(body)) return body;
  if (typeof body !== "object" || body === null)
    return bodyText.trim() ? notThis(id, bodyText) : noAnswer(id, "answered with nothing");
  const isForOther = body.id !== undefined && body.id !== null && String(body.id) !== String(id);
  return isForOther || body.method ? notThis(id, bodyText) : answerTo(id, body);
}

/** Where the library lists what it expected of which field, as JSON, the first ones in words. */
export function withoutJson(librarySentence: string): string {
  const listStart = librarySentence.search(/\[\s*\{/);
  const misfits: unknown =
    listStart < 0 || tryTo(() => JSON.parse(librarySentence.slice(listStart)));
  if (!Array.isArray(misfits)) return librarySentence;
  const inWords = misfits.slice(0, 3).map(({ path = [], message = "" }) => {
    return path.length ? `${path.join(".")}: ${message}` : message;
  });
  return librarySentence.slice(0, listStart) + inWords.join("; ");
}
