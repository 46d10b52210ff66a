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
import { pickKeys } from "../text/words.ts";

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
  hide(shownText: string): string;
}

export function fillSecrets(address: string, request: HttpRequest = {}): Outgoing {
  const usedSecrets = new Set<string>();
  const url = fillPlaceholders(sealUrl(address), "url", usedSecrets);
  const headers: Record<string, string> = {};
  for (const [headerName, headerValue] of Object.entries(request.headers ?? {})) {
    headers[headerName] = fillPlaceholders(String(headerValue), "header", usedSecrets);
    const credential = headers[headerName].replace(/^(Bearer|Basic|Token)\s+/i, "");
    if (!namesSecret(headerName) || !credential || credential === "none") continue;
    learnSecret(credential);
    usedSecrets.add(credential);
  }
  const hiddenValues = [...usedSecrets]
    .filter((secretValue) => secretValue.length >= MIN_HIDDEN_CHARS)
    .sort((first, second) => second.length - first.length);
  const hide = (plainText: string) =>
    hiddenValues.reduce(
      (hiddenText, secretValue) => hiddenText.replaceAll(secretValue, KEY),
      veil(plainText),
    );
  return { url, request: { ...request, ...(request.headers && { headers }) }, hide };
}
const MIN_HIDDEN_CHARS = 4;

/**
 * Like fetch, for http and https: follows redirects, unpacks bodies, and reconnects when a kept
 * connection was closed.
 */
export const sendHttp = (address: string, request?: HttpRequest): Promise<HttpAnswer> =>
  fetchWithRedirects(fillSecrets(address, request));

// what a server does is no mistake of the person's
const ofServer = (message: string): Fault => fault(message, { kind: "provider" });

/** A limit's reason is told as what it means. */
const abortReason = ({ reason }: AbortSignal, hostName: string): unknown =>
  reason?.name === "TimeoutError"
    ? fault(`Cannot reach '${hostName}': ${errors.network.ETIMEDOUT}`, {
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
  redirectCount = 0,
): Promise<FinalAnswer> {
  const { url, request, hide } = outgoing;
  const { signal } = request;
  signal?.throwIfAborted();
  const location = new URL(url);
  if (!/^https?:$/.test(location.protocol))
    throw usage(`Cannot reach '${hide(sealUrl(url))}': neither http nor https. Check the address.`);
  const retryStale = (error: NodeJS.ErrnoException & { stale?: boolean }) => {
    if (/^ERR_INVALID_(CHAR|HTTP_TOKEN)$/.test(codeOf(error)))
      throw usage(
        `Cannot ask '${location.host}': a header has a character that none may have ` +
          `(${hide(error.message)}). Correct it where it is set.`,
      );
    if (signal?.aborted) throw abortReason(signal, location.host);
    if (!error.stale) throw Object.assign(error, { host: location.host });
    return connect(location, request); // the server had closed the kept connection
  };
  const response = await connect(location, request).catch(retryStale);
  const statusCode = response.statusCode!;
  const movedTo = [301, 302, 303, 307, 308].includes(statusCode) && response.headers.location;
  if (movedTo && URL.canParse(movedTo, location.href)) {
    response.destroy();
    if (redirectCount >= MAX_REDIRECTS)
      throw ofServer(`Cannot reach '${location.host}': it redirects without end.`);
    const nextRequest = redirected(outgoing, new URL(movedTo, location.href), statusCode, isModels);
    return fetchWithRedirects(nextRequest, isModels, redirectCount + 1);
  }
  return answerFrom(response, location.host, signal);
}

/** The same request for where it has moved to; throws where it may not go there. */
function redirected(
  { url, request, hide }: Outgoing,
  movedUrl: URL,
  statusCode: number,
  isModels: boolean,
): Outgoing {
  if (!/^https?:$/.test(movedUrl.protocol))
    throw ofServer(
      `Cannot reach '${hide(sealUrl(url))}': ` +
        `it has moved to '${hide(sealUrl(movedUrl.href))}', neither http nor https.`,
    );
  const isReading = /^(GET|HEAD)$/i.test(request.method ?? "GET");
  const keptRequest =
    statusCode === 303 && !isReading ? { ...request, method: "GET", body: undefined } : request;
  const isOtherServer = movedUrl.origin !== new URL(url).origin;
  // A body is not sent on unless the status says so, and never to another server; nor is a
  // model's server exchanged unseen.
  if (
    (!isReading && statusCode < 303) ||
    (isOtherServer && (isModels || keptRequest.body !== undefined))
  ) {
    const shownMoved = hide(sealUrl(movedUrl.href));
    const serverNote = isOtherServer ? ", another server, and nothing was sent there" : "";
    const remedy = isModels
      ? `If you trust it: --base-url ${shownMoved.replace(WIRE_PATH, "")}`
      : "Give that address";
    throw usage(
      `Cannot reach '${hide(sealUrl(url))}': ` +
        `it has moved to '${shownMoved}'${serverNote}. ${remedy}.`,
    );
  }
  return {
    url: movedUrl.href,
    request: isOtherServer
      ? { ...keptRequest, headers: headersForOtherServer(keptRequest.headers) }
      : keptRequest,
    hide,
  };
}

function answerFrom(
  response: IncomingMessage,
  host: string,
  signal: AbortSignal | undefined,
): FinalAnswer {
  const unpackedBody = unpackBody(response, host);
  const readBody = () => readPieces(unpackedBody, response, host, signal);
  const readText = async (maxChars = MAX_TEXT_BYTES, isCut = false) => {
    const decoder = new TextDecoder();
    let decodedText = "";
    try {
      for await (const pieceBytes of readBody()) {
        decodedText += decoder.decode(pieceBytes, { stream: true });
        if (decodedText.length > maxChars)
          throw ofServer(`Cannot use what '${host}' sent: it is larger than ${maxChars / MB} MB.`);
      }
    } catch (error) {
      if (!isCut) throw error; // else what arrived is enough
    }
    return decodedText + decoder.decode();
  };
  return {
    host,
    beginning: (maxChars) => readText(maxChars, true),
    ok: response.statusCode! >= 200 && response.statusCode! < 300,
    status: response.statusCode!,
    headers: {
      get: (headerName) => response.headers[headerName.toLowerCase()]?.toString() ?? null,
    },
    body: readBody(),
    text: () => readText(),
    async json() {
      const sentText = await readText(MAX_JSON_BYTES);
      try {
        return JSON.parse(sentText);
      } catch {
        throw new SyntaxError(`Cannot use what '${host}' sent: it is not JSON.`);
      }
    },
  };
}
// what wires add to a base URL
const WIRE_PATH = /\/(chat\/completions|responses|models|messages|api\/\w+)([/:?].*)?$/;

async function connect(
  location: URL,
  { method = "GET", headers, body, signal, via }: HttpRequest,
): Promise<IncomingMessage> {
  const lookup = await via?.(location);
  signal?.throwIfAborted(); // its listeners hear nothing of what happened meanwhile
  const ownConnection = lookup && ({ lookup, agent: false } as const); // a connection of its own
  const { request } = process.getBuiltinModule(
    location.protocol === "https:" ? "node:https" : "node:http",
  );
  return new Promise((resolve, reject) => {
    const allHeaders = { accept: "*/*", "user-agent": "zz", ...headers };
    let received: IncomingMessage | undefined;
    const sentRequest = request(
      location,
      { method, headers: allHeaders, timeout: SILENCE_LIMIT_MS, ...ownConnection },
      (response) => resolve((received = response)),
    );
    // by now the connection may serve another request
    const abortRequest = () => void (received?.complete || sentRequest.destroy(signal!.reason));
    signal?.addEventListener("abort", abortRequest, { once: true });
    sentRequest.on("close", () => signal?.removeEventListener("abort", abortRequest));
    sentRequest.on("upgrade", ({ statusCode }, socket) => {
      socket.destroy();
      reject(
        ofServer(
          `Cannot talk to '${location.host}': it answered ${statusCode}, ` +
            "and wants a protocol other than HTTP.",
        ),
      );
    });
    sentRequest.on("timeout", () =>
      sentRequest.destroy(Object.assign(new Error("no answer in time"), { code: "ETIMEDOUT" })),
    );
    sentRequest.on("error", (error) =>
      reject(
        Object.assign(error, { stale: sentRequest.reusedSocket && codeOf(error) === "ECONNRESET" }),
      ),
    );
    sentRequest.end(body);
  });
}

/** When aborted, reading fails with the abort's reason, whatever the socket reports. */
const DAMAGED_CODE = /^Z_|BROTLI|ZSTD|^ERR__ERROR/i; // as zlib names its errors
async function* readPieces(
  unpackedBody: Readable,
  response: IncomingMessage,
  hostName: string,
  signal?: AbortSignal,
) {
  try {
    yield* unpackedBody.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
  } catch (error) {
    if (signal?.aborted) throw abortReason(signal, hostName);
    const isUnfinished = codeOf(error) === UNFINISHED_CODE;
    const isEvents = /event-stream/i.test(response.headers["content-type"] ?? "");
    // servers do not always finish what they pack
    if (isUnfinished && (isEvents || !response.readableDidRead)) return;
    if (isUnfinished || (error as Error).message === "aborted")
      throw Object.assign(new Error(`What '${hostName}' sent broke off. Try again.`), {
        code: "ECONNRESET",
      });
    throw DAMAGED_CODE.test(codeOf(error))
      ? ofServer(`Cannot unpack what '${hostName}' sent: it is damaged, or packed in another way.`)
      : error;
  } finally {
    leaveBody(unpackedBody, response);
  }
}

/**
 * Readers stop at the last event, before the end of the body. That end may still come for a moment,
 * so that the connection serves the next request instead of a new one.
 */
function leaveBody(unpackedBody: Readable, response: IncomingMessage): void {
  if (response.readableEnded) return;
  if (unpackedBody !== response || response.destroyed) return void unpackedBody.destroy();
  let bytesLeft = MAX_LEFT_BYTES;
  response.on("error", () => {});
  response.on("data", (bodyBytes: Buffer) => {
    bytesLeft -= bodyBytes.length;
    if (bytesLeft < 0) response.destroy();
  });
  response.resume();
  response.socket.unref(); // nobody waits for it
  setTimeout(() => response.readableEnded || response.destroy(), LEFT_MS).unref();
}
const UNFINISHED_CODE = "Z_BUF_ERROR"; // as zlib says that a packed body ends too early

const MAX_PACKINGS = 3;
/** Unpacks a body: none is asked to be packed, but some servers do, even twice. */
function unpackBody(response: IncomingMessage, hostName: string): Readable {
  const bodyPacking = response.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (bodyPacking === "identity") return response;
  const zlib = process.getBuiltinModule("node:zlib");
  // whatever arrived is unpacked at once
  const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH } = zlib.constants;
  const unpackers: Record<string, () => NodeJS.ReadWriteStream> = {
    gzip: () => zlib.createUnzip({ flush: Z_SYNC_FLUSH }),
    deflate: () => zlib.createInflate({ flush: Z_SYNC_FLUSH }),
    br: () => zlib.createBrotliDecompress({ flush: BROTLI_OPERATION_FLUSH }),
    zstd: () => zlib.createZstdDecompress(),
    identity: () => new (process.getBuiltinModule("node:stream").PassThrough)(),
  };
  const packingNames = bodyPacking
    .split(",")
    .map((packingName) => packingName.trim().replace(/^x-/, ""));
  const knownPackings = packingNames.filter((packingName) => Object.hasOwn(unpackers, packingName));
  if (!knownPackings.length) return response; // some servers name the encoding of their text there
  if (knownPackings.length < packingNames.length || packingNames.length > MAX_PACKINGS)
    throw ofServer(
      `Cannot read what '${hostName}' sent: ` +
        `it is packed in a way that zz cannot unpack ('${visible(bodyPacking).slice(0, 60)}').`,
    );
  const unpackSteps = packingNames.toReversed().map((packingName) => unpackers[packingName]!());
  return process
    .getBuiltinModule("node:stream")
    .pipeline([response, ...unpackSteps], () => {}) as unknown as Readable;
}

/** The headers that may go to another server: none that could hold a key. */
const headersForOtherServer = (headers: Record<string, string> = {}): Record<string, string> =>
  pickKeys(headers, (headerName) => /^(accept|content-type|user-agent)/i.test(headerName));
