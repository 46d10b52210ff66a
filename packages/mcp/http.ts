// A server at an address: the SDK's transport over zz's own requests, which are veiled and limited
// like all others.
import type { LookupFunction } from "node:net";

export { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

import type { Zz } from "zz";
import { jsonOrText } from "zz/text";
import { lineReader, salvage } from "./read-lines.ts";

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
    const signal = abortLater(requestInit.signal ?? undefined);
    const via = (targetUrl: URL) => guard(targetUrl, sentBody, signal);
    const httpAnswer = await zz.fetch(String(url), {
      method,
      headers,
      body: sentBody,
      signal,
      via,
      any: true,
    });
    const pending = new Set([requestIdIn(sentBody)]);
    const contentType = httpAnswer.headers.get("content-type") ?? "";
    const keptHeaders = KEPT_HEADERS.flatMap((headerName) =>
      httpAnswer.headers.get(headerName) === null
        ? []
        : [[headerName, httpAnswer.headers.get(headerName)!] as [string, string]],
    );
    const isEmpty = [202, 204, 205].includes(httpAnswer.status);
    if (isEmpty) for await (const _ of httpAnswer.body) break;
    const answerBody = untilStopped(httpAnswer.body, signal);
    const pieces = /event-stream/.test(contentType)
      ? readEvents(answerBody, pending)
      : wholeBody(answerBody, pending);
    return new Response(isEmpty ? null : ReadableStream.from(pieces), {
      status: httpAnswer.status,
      headers: keptHeaders,
    });
  };
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
    if (!signal?.aborted) throw error;
  }
}

function requestIdIn(requestBody: string | undefined): string | number {
  const { id } = Object(jsonOrText(requestBody ?? "")) as { id?: string | number };
  return id ?? "";
}

/** The whole lines of a stream of events, with overlong ones cut. */
async function* readEvents(
  answerBody: AsyncIterable<Uint8Array>,
  pending: ReadonlySet<string | number>,
): AsyncGenerator<Uint8Array> {
  let wholeLines: string[] = [];
  const reader = lineReader(
    (eventLine) => wholeLines.push(eventLine),
    (overlongCut) => {
      const head = overlongCut.head.replace(/^data: ?/, "");
      const salvaged = salvage({ ...overlongCut, head }, pending) ?? null;
      wholeLines.push(`data: ${JSON.stringify(salvaged)}`);
    },
  );
  for await (const bodyChunk of answerBody) {
    reader.add(Buffer.from(bodyChunk));
    if (!bodyChunk.includes(10)) continue;
    yield Buffer.from(`${wholeLines.join("\n")}\n`);
    wholeLines = [];
  }
  reader.end();
  if (wholeLines.length) yield Buffer.from(`${wholeLines.join("\n")}\n`);
}

async function* wholeBody(
  answerBody: AsyncIterable<Uint8Array>,
  pending: ReadonlySet<string | number>,
): AsyncGenerator<Uint8Array> {
  let bodyText = "";
  const reader = lineReader(
    (wholeText) => {
      bodyText = wholeText;
    },
    (overlongCut) => {
      bodyText = JSON.stringify(salvage(overlongCut, pending) ?? null);
    },
  );
  for await (const bodyChunk of answerBody) reader.take(Buffer.from(bodyChunk));
  reader.end();
  yield Buffer.from(bodyText);
}
