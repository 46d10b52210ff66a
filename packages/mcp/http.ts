// A server at an address: the SDK's transport over zz's own requests, which are veiled and limited
// like all others.
import type { LookupFunction } from "node:net";

export { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

import type { Zz } from "zz";
import { jsonOrText, tryTo } from "zz/text";
import { lineReader, salvage } from "./read-lines.ts";
import { answerIn, answerTo, noAnswer } from "./refuse-bad-answers.ts";

type Id = string | number;
const KEPT_HEADERS = ["content-type", "mcp-session-id", "www-authenticate", "retry-after"];

/**
 * Asked before each request, also after a redirect: throws where none may go, and may say to which
 * addresses.
 */
export type Guard = (
  targetUrl: URL,
  sentBody: string | undefined,
  signal?: AbortSignal,
) => Promise<LookupFunction | undefined>;

/** The fetch function that the SDK asks for. An answer that is too long for memory is cut. */
export function fetchOf(
  zz: Pick<Zz, "fetch">,
  guard: Guard,
): (url: string | URL, requestInit?: RequestInit) => Promise<Response> {
  return async (url, requestInit = {}) => {
    const headers = Object.fromEntries(new Headers(requestInit.headers));
    const { method, body } = requestInit;
    const sentBody = body ? String(body) : undefined;
    const sentId = requestIdIn(sentBody);
    const signal = abortLater(requestInit.signal ?? undefined);
    const via = (targetUrl: URL) => guard(targetUrl, sentBody, signal);
    const httpAnswer = await zz
      .fetch(String(url), { method, headers, body: sentBody, signal, via, any: true })
      .catch(throwAsOwn);
    const { status } = httpAnswer;
    const contentType = httpAnswer.headers.get("content-type") ?? "";
    const keptHeaders = KEPT_HEADERS.flatMap((headerName) =>
      httpAnswer.headers.get(headerName) === null
        ? []
        : [[headerName, httpAnswer.headers.get(headerName)!] as [string, string]],
    );
    const isEmpty = [202, 204, 205].includes(status);
    if (isEmpty) for await (const _ of httpAnswer.body) break;
    if (isEmpty && sentId !== undefined)
      return Response.json(noAnswer(sentId, "answered with nothing"));
    const answerBody = untilStopped(httpAnswer.body, signal);
    const isAnswer = status < 300 && /^application\/json\b/i.test(contentType);
    const pieces = /event-stream/.test(contentType)
      ? readEvents(answerBody, sentId)
      : wholeBody(answerBody, sentId, isAnswer);
    return new Response(isEmpty ? null : ReadableStream.from(pieces), {
      status,
      headers: keptHeaders,
    });
  };
}

/** What zz itself says of a request is told as it is, and not as the server's words. */
function throwAsOwn(error: Error & { kind?: string }): never {
  throw Object.isExtensible(error)
    ? Object.assign(error, { kind: error.kind ?? "network" })
    : error;
}

/**
 * Aborts a tick after the given signal: just as an answer ends, nothing listens for errors of its
 * connection.
 */
function abortLater(givenSignal: AbortSignal | undefined): AbortSignal | undefined {
  if (!givenSignal || givenSignal.aborted) return givenSignal;
  const laterAbort = new AbortController();
  givenSignal.addEventListener(
    "abort",
    () => setImmediate(() => laterAbort.abort(givenSignal.reason)),
    { once: true },
  );
  return laterAbort.signal;
}

/** Ignores the error of a connection that zz itself ended: nothing reads on. */
async function* untilStopped(
  answerBody: AsyncIterable<Uint8Array>,
  signal?: AbortSignal | null,
): AsyncGenerator<Uint8Array> {
  try {
    yield* answerBody;
  } catch (error) {
    if (!signal?.aborted) throwAsOwn(error as Error);
  }
}

function requestIdIn(requestBody: string | undefined): Id | undefined {
  const { id, method } = Object(jsonOrText(requestBody ?? "")) as { id?: Id; method?: string };
  return method === undefined ? undefined : id;
}
const asPending = (sentId: Id | undefined): ReadonlySet<Id> => new Set([sentId ?? ""]);

/**
 * The whole lines of a stream of events, with overlong ones cut. Where it ends before the answer,
 * and cannot be taken up again, the answer says so.
 */
async function* readEvents(
  answerBody: AsyncIterable<Uint8Array>,
  sentId: Id | undefined,
): AsyncGenerator<Uint8Array> {
  let wholeLines: string[] = [];
  let isOver = sentId === undefined;
  const reader = lineReader(
    (eventLine) => wholeLines.push(checkedLine(eventLine)),
    (overlongCut) => {
      const head = overlongCut.head.replace(/^data: ?/, "");
      const salvaged = salvage({ ...overlongCut, head }, asPending(sentId)) ?? null;
      wholeLines.push(checkedLine(`data: ${JSON.stringify(salvaged)}`));
    },
  );
  try {
    for await (const bodyChunk of answerBody) {
      reader.add(Buffer.from(bodyChunk));
      if (!bodyChunk.includes(10)) continue;
      yield Buffer.from(`${wholeLines.join("\n")}\n`);
      wholeLines = [];
    }
  } catch (error) {
    if (isOver) throw error;
  }
  reader.end();
  if (!isOver) {
    const brokenOff = noAnswer(sentId!, "ended its stream before the answer. Try again");
    wholeLines.push("", `data: ${JSON.stringify(brokenOff)}`, "");
  }
  if (wholeLines.length) yield Buffer.from(`${wholeLines.join("\n")}\n`);

  function checkedLine(eventLine: string): string {
    const [, fieldName, fieldValue = ""] = /^(data|id): ?(.*)$/s.exec(eventLine) ?? [];
    if (isOver || !fieldValue) return eventLine;
    if (fieldName === "id") isOver = true; // the library takes such a stream up again
    const message = fieldValue.includes('"id"') && tryTo(() => JSON.parse(fieldValue));
    if (!message || message.id !== sentId || message.method !== undefined) return eventLine;
    isOver = true;
    return `data: ${JSON.stringify(answerTo(message.id, message))}`;
  }
}

async function* wholeBody(
  answerBody: AsyncIterable<Uint8Array>,
  sentId: Id | undefined,
  isAnswer: boolean,
): AsyncGenerator<Uint8Array> {
  let bodyText = "";
  const reader = lineReader(
    (wholeText) => {
      bodyText = wholeText;
    },
    (overlongCut) => {
      bodyText = JSON.stringify(salvage(overlongCut, asPending(sentId)) ?? null);
    },
  );
  for await (const bodyChunk of answerBody) reader.take(Buffer.from(bodyChunk));
  reader.end();
  const isForRequest = isAnswer && sentId !== undefined;
  yield Buffer.from(isForRequest ? JSON.stringify(answerIn(bodyText, sentId)) : bodyText);
}
