// A server at an address: the SDK's transport over zz's own requests, which are veiled and limited
// like all others.
import type { LookupFunction } from "node:net";

export { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

import type { Zz } from "zz";
import { jsonOrText } from "zz/text";
import { lineReader, salvage } from "./read-lines.ts";

const MAX_BODY_BYTES = 8_000_000; // of an answer that is not a stream of events
const KEPT = ["content-type", "mcp-session-id", "www-authenticate", "retry-after"];

/**
 * Asked before each request, also after a redirect: throws where none may go, and may say to which
 * addresses.
 */
export type Guard = (
  target: URL,
  sent: string | undefined,
  signal?: AbortSignal,
) => Promise<LookupFunction | undefined>;

/** The fetch function that the SDK asks for. An answer that is too long for memory is cut. */
export function fetchOf(
  zz: Pick<Zz, "fetch">,
  guard: Guard,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init = {}) => {
    const headers = Object.fromEntries(new Headers(init.headers));
    const sent = init.body === undefined || init.body === null ? undefined : String(init.body);
    const { method } = init;
    const signal = later(init.signal ?? undefined);
    const via = (target: URL) => guard(target, sent, signal);
    const answer = await zz.fetch(String(url), {
      method,
      headers,
      body: sent,
      signal,
      via,
      any: true,
    });
    const pending = new Set([idIn(sent)]);
    const type = answer.headers.get("content-type") ?? "";
    const kept = KEPT.flatMap((name) =>
      answer.headers.get(name) === null
        ? []
        : [[name, answer.headers.get(name)!] as [string, string]],
    );
    const isEmpty = answer.status === 202 || answer.status === 204 || answer.status === 205;
    if (isEmpty) for await (const _ of answer.body) break;
    const body = untilStopped(answer.body, signal);
    const pieces = /event-stream/.test(type) ? events(body, pending) : wholeBody(body, pending);
    return new Response(isEmpty ? null : ReadableStream.from(pieces), {
      status: answer.status,
      headers: kept,
    });
  };
}

/**
 * Aborts a tick after the given signal: just as an answer ends, nothing listens for errors of its
 * connection.
 */
function later(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (!signal || signal.aborted) return signal;
  const end = new AbortController();
  signal.addEventListener("abort", () => setImmediate(() => end.abort(signal.reason)), {
    once: true,
  });
  return end.signal;
}

/** Ignores the error of a connection that zz itself ended: nothing reads on. */
async function* untilStopped(
  body: AsyncIterable<Uint8Array>,
  signal?: AbortSignal | null,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    if (!signal?.aborted) throw error;
  }
}

function idIn(body: string | undefined): string | number {
  const { id } = Object(body === undefined ? undefined : jsonOrText(body)) as {
    id?: string | number;
  };
  return id ?? "";
}

/** The whole lines of a stream of events, with overlong ones cut. */
async function* events(
  body: AsyncIterable<Uint8Array>,
  pending: ReadonlySet<string | number>,
): AsyncGenerator<Uint8Array> {
  let lines: string[] = [];
  const reader = lineReader(
    (line) => lines.push(line),
    (cut) =>
      lines.push(
        `data: ${JSON.stringify(salvage({ ...cut, head: cut.head.replace(/^data: ?/, "") }, pending) ?? null)}`,
      ),
  );
  for await (const bytes of body) {
    reader.add(Buffer.from(bytes));
    if (!bytes.includes(10)) continue;
    yield Buffer.from(`${lines.join("\n")}\n`);
    lines = [];
  }
  reader.end();
  if (lines.length) yield Buffer.from(`${lines.join("\n")}\n`);
}

async function* wholeBody(
  body: AsyncIterable<Uint8Array>,
  pending: ReadonlySet<string | number>,
): AsyncGenerator<Uint8Array> {
  let [size, pieces]: [number, Uint8Array[]] = [0, []];
  let head: Buffer | undefined;
  let tail: Uint8Array = new Uint8Array();
  for await (const bytes of body) {
    size += bytes.length;
    if (head) tail = Buffer.concat([tail, bytes]).subarray(-4_096);
    else pieces.push(bytes);
    if (head || size <= MAX_BODY_BYTES) continue;
    const kept = Buffer.concat(pieces);
    [head, tail, pieces] = [
      Buffer.from(kept.subarray(0, 512_000)),
      Buffer.from(kept.subarray(-4_096)),
      [],
    ];
  }
  if (!head) return yield* pieces;
  const cut = { head: head.toString(), tail: Buffer.from(tail).toString(), bytes: size };
  yield Buffer.from(JSON.stringify(salvage(cut, pending) ?? null));
}
