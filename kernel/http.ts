// Requests over node:http. The built-in fetch brings 33 ms of loading with it, half of what a whole one-shot takes.
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { type HttpAnswer, type HttpRequest, usage } from "../zz.ts";

const SILENT = 300_000; // ms without a byte until a connection counts as dead
const MOST_MOVES = 5;
const LARGEST = 128 * 1024 * 1024; // of a text that is taken whole; packed, it may be a thousandth of that

/** As fetch does it, for http and https: moved addresses are followed, packed bodies unpacked, a stale connection renewed. */
export async function send(url: string, request: HttpRequest = {}, moves = 0): Promise<HttpAnswer> {
  const { signal } = request;
  signal?.throwIfAborted();
  const at = new URL(url);
  if (!/^https?:$/.test(at.protocol)) throw usage(`Cannot reach '${url}': neither http nor https. Check the address.`);
  const answer = await connect(at, request).catch((error: NodeJS.ErrnoException & { stale?: boolean }) => {
    if (!error.stale || signal?.aborted) throw error;
    return connect(at, request); // the server had closed the connection that was kept
  });
  const status = answer.statusCode!;
  const to = [301, 302, 303, 307, 308].includes(status) && answer.headers.location;
  if (to && URL.canParse(to, at.href)) {
    answer.destroy();
    const moved = new URL(to, at.href);
    const reads = /^(GET|HEAD)$/i.test(request.method ?? "GET");
    if (moves >= MOST_MOVES)
      throw usage(`Cannot reach '${at.host}': it sends from one address to the next without end.`);
    // What was sent is not sent elsewhere unless the server says to: it would arrive as a GET without a body.
    if (!reads && status < 303) throw usage(`Cannot reach '${url}': it has moved to '${moved}'. Give that address.`);
    const kept = status === 303 && !reads ? { ...request, method: "GET", body: undefined } : request;
    return send(
      moved.href,
      moved.origin === at.origin ? kept : { ...kept, headers: harmless(kept.headers) },
      moves + 1,
    );
  }
  const body = unpacked(answer);
  const text = async () => {
    const decoder = new TextDecoder();
    let text = "";
    for await (const bytes of pieces(body, signal)) {
      text += decoder.decode(bytes, { stream: true });
      if (text.length > LARGEST) throw usage(`Cannot use what '${at.host}' sent: it is larger than 128 MB.`);
    }
    return text + decoder.decode();
  };
  return {
    ok: status >= 200 && status < 300,
    status,
    headers: { get: (name) => answer.headers[name.toLowerCase()]?.toString() ?? null },
    body: pieces(body, signal),
    text,
    json: async () => JSON.parse(await text()),
  };
}

function connect(at: URL, { method = "GET", headers, body, signal }: HttpRequest): Promise<IncomingMessage> {
  const { request } = process.getBuiltinModule(at.protocol === "https:" ? "node:https" : "node:http");
  return new Promise((resolve, reject) => {
    const all = { accept: "*/*", "user-agent": "zz", ...headers };
    const sent = request(at, { method, headers: all, timeout: SILENT }, resolve);
    const abort = () => sent.destroy(signal!.reason);
    signal?.addEventListener("abort", abort, { once: true });
    sent.on("close", () => signal?.removeEventListener("abort", abort));
    sent.on("upgrade", ({ statusCode }, socket) => {
      socket.destroy();
      reject(usage(`Cannot talk to '${at.host}': it answered ${statusCode}, and wants another protocol than HTTP.`));
    });
    sent.on("timeout", () => sent.destroy(Object.assign(new Error("no answer in time"), { code: "ETIMEDOUT" })));
    sent.on("error", (error: NodeJS.ErrnoException) =>
      reject(Object.assign(error, { stale: sent.reusedSocket && error.code === "ECONNRESET" })),
    );
    sent.end(body);
  });
}

/** Reading ends with the reason of an abort, whatever the socket says then. */
async function* pieces(body: Readable, signal?: AbortSignal): AsyncGenerator<Uint8Array, void> {
  try {
    yield* body;
  } catch (error) {
    throw signal?.aborted ? signal.reason : error;
  }
}

/** Nothing packed is asked for; some send it all the same. What is cut off is left to whoever reads it. */
function unpacked(answer: IncomingMessage): Readable {
  const packed = answer.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (packed === "identity") return answer;
  const zlib = process.getBuiltinModule("node:zlib");
  const { Z_SYNC_FLUSH: gently, BROTLI_OPERATION_FLUSH: flush } = zlib.constants;
  const unpack = Object.entries({
    gzip: () => zlib.createUnzip({ flush: gently, finishFlush: gently }),
    deflate: () => zlib.createInflate({ flush: gently, finishFlush: gently }),
    br: () => zlib.createBrotliDecompress({ flush, finishFlush: flush }),
    zstd: () => zlib.createZstdDecompress(),
  }).find(([name]) => name === packed.replace(/^x-/, ""))?.[1];
  return unpack ? process.getBuiltinModule("node:stream").pipeline(answer, unpack(), () => {}) : answer;
}

/** What may go to another server: nothing that could be a key. */
const harmless = (headers: Record<string, string> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => /^(accept|content-type|user-agent)/i.test(name)));
