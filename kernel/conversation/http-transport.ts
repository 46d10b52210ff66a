// Requests over node:http. Loading the built-in fetch takes 33 ms, half of a whole one-shot. This
// file alone puts the values of secrets in the place of their placeholders, in headers and
// addresses.
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import type { Fault, HttpAnswer, HttpRequest } from "../contract.ts";
import errors from "../text/errors.json" with { type: "json" };
import { codeOf, fault, usage } from "../text/faults.ts";
import { fillPlaceholders, KEY, learnSecret, namesSecret, sealUrl, veil } from "../text/secrets.ts";
import { visible } from "../text/show-safely.ts";

const SILENCE_LIMIT_MS = 300_000; // ms without a byte until a connection counts as dead
const MAX_REDIRECTS = 5;
const MB = 1024 * 1024;
// of a text that is read whole; packed, it may be a thousandth of that
const MAX_TEXT_BYTES = 128 * MB;
// what may still come of a body that nobody reads on
const MAX_LEFT_BYTES = 64 * 1024;
const LEFT_MS = 100;
const MAX_JSON_BYTES = 32 * MB; // parsing blocks everything else

/**
 * A request with its secrets filled in, and a function that hides them in messages, however short
 * they are.
 */
interface Outgoing {
  url: string;
  request: HttpRequest;
  hide(text: string): string;
}

export function fillSecrets(address: string, request: HttpRequest = {}): Outgoing {
  const used = new Set<string>();
  const url = fillPlaceholders(sealUrl(address), "url", used);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    headers[name] = fillPlaceholders(String(value), "header", used);
    const credential = headers[name].replace(/^(Bearer|Basic|Token)\s+/i, "");
    if (!namesSecret(name) || !credential || credential === "none") continue;
    learnSecret(credential);
    used.add(credential);
  }
  const hiddenValues = [...used]
    .filter((value) => value.length >= MIN_HIDDEN_CHARS)
    .sort((a, b) => b.length - a.length);
  const hide = (text: string) =>
    hiddenValues.reduce((shown, value) => shown.replaceAll(value, KEY), veil(text));
  return { url, request: { ...request, ...(request.headers && { headers }) }, hide };
}
const MIN_HIDDEN_CHARS = 4;

/**
 * Like fetch, for http and https: follows redirects, unpacks bodies, and reconnects when a kept
 * connection was closed.
 */
export const sendHttp = (url: string, request?: HttpRequest): Promise<HttpAnswer> =>
  fetchWithRedirects(fillSecrets(url, request));

// what a server does is no mistake of the person's
const ofServer = (message: string): Fault => fault(message, { kind: "provider" });

/** A limit's reason is told as what it means. */
const abortReason = ({ reason }: AbortSignal, host: string): unknown =>
  reason?.name === "TimeoutError"
    ? fault(`Cannot reach '${host}': ${errors.network.ETIMEDOUT}`, {
        kind: "network",
        transient: true,
      })
    : reason;

// an error body may be endless
type FinalAnswer = HttpAnswer & { host: string; beginning(maxChars: number): Promise<string> };
/** A redirect's address comes from the server: placeholders in it mean nothing. */
export async function fetchWithRedirects(
  outgoing: Outgoing,
  isModels = false,
  moves = 0,
): Promise<FinalAnswer> {
  const { url, request, hide } = outgoing;
  const { signal } = request;
  signal?.throwIfAborted();
  const location = new URL(url);
  if (!/^https?:$/.test(location.protocol))
    throw usage(`Cannot reach '${hide(sealUrl(url))}': neither http nor https. Check the address.`);
  const again = (error: NodeJS.ErrnoException & { stale?: boolean }) => {
    if (/^ERR_INVALID_(CHAR|HTTP_TOKEN)$/.test(codeOf(error)))
      throw usage(
        `Cannot ask '${location.host}': a header has a character that none may have (${hide(error.message)}). Correct it where it is set.`,
      );
    if (signal?.aborted) throw abortReason(signal, location.host);
    if (!error.stale) throw Object.assign(error, { host: location.host });
    return connect(location, request); // the server had closed the kept connection
  };
  const answer = await connect(location, request).catch(again);
  const status = answer.statusCode!;
  const to = [301, 302, 303, 307, 308].includes(status) && answer.headers.location;
  if (to && URL.canParse(to, location.href)) {
    answer.destroy();
    if (moves >= MAX_REDIRECTS)
      throw ofServer(`Cannot reach '${location.host}': it redirects without end.`);
    const next = redirected(outgoing, new URL(to, location.href), status, isModels);
    return fetchWithRedirects(next, isModels, moves + 1);
  }
  return answerFrom(answer, location.host, signal);
}

/** The same request for where it has moved to; throws where it may not go there. */
function redirected(
  { url, request, hide }: Outgoing,
  moved: URL,
  status: number,
  isModels: boolean,
): Outgoing {
  if (!/^https?:$/.test(moved.protocol))
    throw ofServer(
      `Cannot reach '${hide(sealUrl(url))}': it has moved to '${hide(sealUrl(moved.href))}', neither http nor https.`,
    );
  const reads = /^(GET|HEAD)$/i.test(request.method ?? "GET");
  const kept = status === 303 && !reads ? { ...request, method: "GET", body: undefined } : request;
  const isFar = moved.origin !== new URL(url).origin;
  // A body is not sent on unless the status says so, and never to another server; nor is a
  // model's server exchanged unseen.
  if ((!reads && status < 303) || (isFar && (isModels || kept.body !== undefined))) {
    const shownMoved = hide(sealUrl(moved.href));
    const far = isFar ? ", another server, and nothing was sent there" : "";
    const hint = isModels
      ? `If you trust it: --base-url ${shownMoved.replace(WIRE_PATH, "")}`
      : "Give that address";
    throw usage(
      `Cannot reach '${hide(sealUrl(url))}': it has moved to '${shownMoved}'${far}. ${hint}.`,
    );
  }
  return {
    url: moved.href,
    request: isFar ? { ...kept, headers: headersForOtherServer(kept.headers) } : kept,
    hide,
  };
}

function answerFrom(
  answer: IncomingMessage,
  host: string,
  signal: AbortSignal | undefined,
): FinalAnswer {
  const body = unpackBody(answer, host);
  const parts = () => readPieces(body, answer, host, signal);
  const text = async (maxChars = MAX_TEXT_BYTES, isCut = false) => {
    const decoder = new TextDecoder();
    let text = "";
    try {
      for await (const bytes of parts()) {
        text += decoder.decode(bytes, { stream: true });
        if (text.length > maxChars)
          throw ofServer(`Cannot use what '${host}' sent: it is larger than ${maxChars / MB} MB.`);
      }
    } catch (error) {
      if (!isCut) throw error; // else what arrived is enough
    }
    return text + decoder.decode();
  };
  return {
    host,
    beginning: (maxChars) => text(maxChars, true),
    ok: answer.statusCode! >= 200 && answer.statusCode! < 300,
    status: answer.statusCode!,
    headers: { get: (name) => answer.headers[name.toLowerCase()]?.toString() ?? null },
    body: parts(),
    text: () => text(),
    json: async () => JSON.parse(await text(MAX_JSON_BYTES)),
  };
}
// what wires add to a base URL
const WIRE_PATH = /\/(chat\/completions|responses|models|messages|api\/\w+)([/:?].*)?$/;

async function connect(
  location: URL,
  { method = "GET", headers, body, signal, via }: HttpRequest,
): Promise<IncomingMessage> {
  const lookup = await via?.(location);
  const ownConnection = lookup && ({ lookup, agent: false } as const); // a connection of its own
  const { request } = process.getBuiltinModule(
    location.protocol === "https:" ? "node:https" : "node:http",
  );
  return new Promise((resolve, reject) => {
    const allHeaders = { accept: "*/*", "user-agent": "zz", ...headers };
    let answer: IncomingMessage | undefined;
    const sent = request(
      location,
      { method, headers: allHeaders, timeout: SILENCE_LIMIT_MS, ...ownConnection },
      (response) => resolve((answer = response)),
    );
    // by now the connection may serve another request
    const abort = () => void (answer?.complete || sent.destroy(signal!.reason));
    signal?.addEventListener("abort", abort, { once: true });
    sent.on("close", () => signal?.removeEventListener("abort", abort));
    sent.on("upgrade", ({ statusCode }, socket) => {
      socket.destroy();
      reject(
        ofServer(
          `Cannot talk to '${location.host}': it answered ${statusCode}, and wants a protocol other than HTTP.`,
        ),
      );
    });
    sent.on("timeout", () =>
      sent.destroy(Object.assign(new Error("no answer in time"), { code: "ETIMEDOUT" })),
    );
    sent.on("error", (error) =>
      reject(Object.assign(error, { stale: sent.reusedSocket && codeOf(error) === "ECONNRESET" })),
    );
    sent.end(body);
  });
}

/** When aborted, reading fails with the abort's reason, whatever the socket reports. */
const DAMAGED_CODE = /^Z_|BROTLI|ZSTD|^ERR__ERROR/i; // as zlib names its errors
async function* readPieces(
  body: Readable,
  answer: IncomingMessage,
  host: string,
  signal?: AbortSignal,
) {
  try {
    yield* body.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
  } catch (error) {
    if (signal?.aborted) throw abortReason(signal, host);
    const isUnfinished = codeOf(error) === UNFINISHED_CODE;
    const isEvents = /event-stream/i.test(answer.headers["content-type"] ?? "");
    // servers do not always finish what they pack
    if (isUnfinished && (isEvents || !answer.readableDidRead)) return;
    if (isUnfinished || (error as Error).message === "aborted")
      throw Object.assign(new Error(`What '${host}' sent broke off. Try again.`), {
        code: "ECONNRESET",
      });
    throw DAMAGED_CODE.test(codeOf(error))
      ? ofServer(`Cannot unpack what '${host}' sent: it is damaged, or packed in another way.`)
      : error;
  } finally {
    leaveBody(body, answer);
  }
}

/**
 * Readers stop at the last event, before the end of the body. That end may still come for a moment,
 * so that the connection serves the next request instead of a new one.
 */
function leaveBody(body: Readable, answer: IncomingMessage): void {
  if (answer.readableEnded) return;
  if (body !== answer || answer.destroyed) return void body.destroy();
  let left = MAX_LEFT_BYTES;
  answer.on("error", () => {});
  answer.on("data", (bytes: Buffer) => {
    left -= bytes.length;
    if (left < 0) answer.destroy();
  });
  answer.resume();
  answer.socket.unref(); // nobody waits for it
  setTimeout(() => answer.readableEnded || answer.destroy(), LEFT_MS).unref();
}
const UNFINISHED_CODE = "Z_BUF_ERROR"; // as zlib says that a packed body ends too early

const MAX_PACKINGS = 3;
/** Unpacks a body: none is asked to be packed, but some servers do, even twice. */
function unpackBody(answer: IncomingMessage, host: string): Readable {
  const packed = answer.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (packed === "identity") return answer;
  const zlib = process.getBuiltinModule("node:zlib");
  // whatever arrived is unpacked at once
  const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH } = zlib.constants;
  const ways: Record<string, () => NodeJS.ReadWriteStream> = {
    gzip: () => zlib.createUnzip({ flush: Z_SYNC_FLUSH }),
    deflate: () => zlib.createInflate({ flush: Z_SYNC_FLUSH }),
    br: () => zlib.createBrotliDecompress({ flush: BROTLI_OPERATION_FLUSH }),
    zstd: () => zlib.createZstdDecompress(),
    identity: () => new (process.getBuiltinModule("node:stream").PassThrough)(),
  };
  const names = packed.split(",").map((name) => name.trim().replace(/^x-/, ""));
  const knownPackings = names.filter((name) => Object.hasOwn(ways, name));
  if (!knownPackings.length) return answer; // some servers name the encoding of their text there
  if (knownPackings.length < names.length || names.length > MAX_PACKINGS)
    throw ofServer(
      `Cannot read what '${host}' sent: it is packed in a way that zz cannot unpack ('${visible(packed).slice(0, 60)}').`,
    );
  const steps = names.toReversed().map((name) => ways[name]!());
  return process
    .getBuiltinModule("node:stream")
    .pipeline([answer, ...steps], () => {}) as unknown as Readable;
}

/** The headers that may go to another server: none that could hold a key. */
const headersForOtherServer = (headers: Record<string, string> = {}): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => /^(accept|content-type|user-agent)/i.test(name)),
  );
