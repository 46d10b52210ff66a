// The page of --serve and its interface over HTTP, on loopback, for whom has the token.
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import type { Conversation, ConversationEvent, Conversations, Ctx, SentAlong, Zz } from "zz";
import { fault, makeFolder, plural, sentenceOf, usage, writeWhole } from "zz/text";
import { type ChatEvent, drawEvent } from "./draw-event.ts";
import { livePage } from "./live-page.ts";

interface Server {
  chats: Conversations;
  ctx: Ctx;
  zz: Zz;
  folder: string;
  token: string;
  port: number;
}
type Exchange = { request: IncomingMessage; response: ServerResponse };

type Attachment = { type: string; base64: string; name?: string };

/** Why a request cannot be done, and the status that says so. */
const refusal = (status: number, sentence: string): Error => fault(sentence, { status });

const HOST = "127.0.0.1";
const MAX_BODY_BYTES = 32 << 20;
const MAX_SENT_CHARS = 64_000_000; // of what a browser has missed
const KEEP_ALIVE_MS = 5_000; // a proxy must not end a silent stream, and the page knows it as alive

/** Serves until it is stopped. `port` 0: any that is free. */
export async function serve(zz: Zz, ctx: Ctx, port: number): Promise<void> {
  const conversations = ctx.service("conversations");
  if (!conversations)
    throw usage("Cannot serve: the plugin 'acp' is off. /plugins on acp turns it on.");
  const server = createServer();
  await new Promise<void>((listening, failed) => {
    server.once("error", ({ message }) =>
      failed(usage(`Cannot serve on port ${port}: ${message}. Choose another, --serve=PORT.`)),
    );
    server.listen(port, HOST, listening);
  });
  const flags = process.argv.slice(2).filter((word) => !/^--serve(=|$)/.test(word));
  const folder = path.join(ctx.about.home, "page-files"); // of files that browsers send
  const chats = await conversations.start(ctx, {
    name: "zz page",
    flags: [...flags, `--allow-read=${folder}`],
  });
  const token = randomBytes(24).toString("base64url");
  const state: Server = {
    chats,
    ctx,
    zz,
    folder,
    token,
    port: (server.address() as AddressInfo).port,
  };
  server.on("request", (request, response) => void handle(state, { request, response }));
  ctx.note(`zz is at http://${HOST}:${state.port}/#${token}\nCtrl+C ends it.`);
  const stopped = new Promise<void>((resolve) =>
    ctx.signal.addEventListener("abort", () => resolve()),
  );
  await Promise.race([stopped, chats.ended]);
  server.closeAllConnections();
  server.close();
}

async function handle(state: Server, exchange: Exchange): Promise<void> {
  const { request, response } = exchange;
  try {
    assertOurs(state, request);
    const url = new URL(request.url ?? "/", "http://zz");
    if (url.pathname === "/" && request.method === "GET") return sendPage(response);
    assertToken(state, request);
    await route(state, exchange, url);
  } catch (error) {
    const { status = 500 } = error as { status?: number };
    if (response.headersSent) return void response.end();
    sendJson(response, status, { error: state.zz.veil(sentenceOf(error as Error)) });
  }
}

/** A name that was bound anew to this machine, or a page from elsewhere, gets nothing. */
function assertOurs({ port }: Server, { headers }: IncomingMessage): void {
  const hosts = [`${HOST}:${port}`, `localhost:${port}`];
  if (!hosts.includes(headers.host ?? ""))
    throw refusal(403, `Cannot answer '${headers.host}': ask ${hosts[0]}.`);
  const { origin } = headers;
  if (origin !== undefined && !hosts.some((host) => origin === `http://${host}`))
    throw refusal(403, `Cannot answer a page of '${origin}'.`);
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none")
    throw refusal(403, "Cannot answer a page from elsewhere.");
}

function assertToken({ token }: Server, { headers }: IncomingMessage): void {
  const given = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1] ?? "";
  const digest = (text: string) => createHash("sha256").update(text).digest();
  if (!timingSafeEqual(digest(given), digest(token)))
    throw refusal(401, "Cannot answer without the token: it stands where zz --serve runs.");
}

// ── The interface ────────────────────────────────────────────────────────────────────────────────

async function route(state: Server, exchange: Exchange, url: URL): Promise<void> {
  const { request, response } = exchange;
  const { pathname } = url;
  const { chats } = state;
  const match = /^\/chats(?:\/([\w-]+)(?:\/(\w+)(?:\/([\w-]+))?)?)?$/.exec(pathname);
  if (!match) throw refusal(404, `Cannot find '${pathname}'.`);
  const [, id = "", what = "", name = ""] = match;
  const doing = `${request.method} ${what || (id ? "chat" : "chats")}`;
  if (doing === "GET chats") return sendJson(response, 200, sessionsOf(state));
  if (doing === "POST chats") return sendJson(response, 201, { id: (await chats.begin()).id });
  const chat = await chats.open(id);
  if (doing === "GET events") return streamEvents(exchange, chat, url.searchParams.has("once"));
  const body = request.method === "POST" ? await bodyOf(request) : {};
  if (doing === "POST messages") chat.send(textIn(body), alongIn(body, state.folder));
  else if (doing === "POST stop") await chat.stop();
  else if (doing === "POST model") await chat.use(String(body.model));
  else if (doing === "POST questions") chat.answer(name, String(body.hash), String(body.answer));
  else throw refusal(404, `Cannot ${request.method} '${pathname}'.`);
  sendJson(response, 202, {});
}

function sessionsOf({ chats, ctx: { sessions, root } }: Server): object[] {
  const names = chats.names(); // every browser knows an open conversation by the same
  return sessions
    .list()
    .filter((session) => session.root === root)
    .map(({ id, title, used, model }) => ({ id: names.get(id) ?? id, title, used, model }));
}

/**
 * Every event from the one after Last-Event-ID on, then those to come. `once`: those that are
 * there, or the next; the answer ends then, so that what holds streams back passes it on.
 */
function streamEvents({ request, response }: Exchange, chat: Conversation, once: boolean): void {
  const last = Number(request.headers["last-event-id"] ?? 0) || 0;
  response.writeHead(200, {
    ...HEADERS,
    "content-type": "text/event-stream; charset=utf-8",
    "x-accel-buffering": "no", // a proxy must not collect them
  });
  response.write(": zz\n\n");
  const missed = chat.events.filter(({ id }) => id > last);
  for (const block of blocksOf(missed)) response.write(block);
  if (once && missed.length) return void response.end();
  const silence = chat.listen((event) => {
    response.write(blockOf(drawEvent(event)));
    if (once) response.end();
  });
  const alive = setInterval(
    () => (once ? response.end() : response.write(": still here\n\n")),
    KEEP_ALIVE_MS,
  );
  response.on("close", () => {
    clearInterval(alive);
    silence();
  });
}

const blockOf = (event: ChatEvent): string =>
  `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

/** The last of them that a browser can take, and in the place of the others how many they are. */
function blocksOf(events: ConversationEvent[]): string[] {
  const blocks: string[] = [];
  let chars = 0;
  let count = events.length;
  while (count > 0 && chars < MAX_SENT_CHARS) {
    const block = blockOf(drawEvent(events[--count]!));
    chars += block.length;
    blocks.push(block);
  }
  if (count) {
    const text = `${plural(count, "earlier part")} left out: the page would be too large. zz --export has them.`;
    blocks.push(blockOf({ id: events[count]!.id - 1, type: "left-out", text }));
  }
  return blocks.reverse();
}

// ── Bodies ───────────────────────────────────────────────────────────────────────────────────────

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request) {
    size += piece.length;
    if (size <= MAX_BODY_BYTES) pieces.push(piece); // the rest is read, so that the refusal is, too
  }
  if (size > MAX_BODY_BYTES) throw refusal(413, "Cannot take more than 32 MB at once.");
  if (!size) return {};
  if (!/^application\/json\b/.test(request.headers["content-type"] ?? ""))
    throw refusal(415, "Cannot read this: send JSON, as application/json.");
  try {
    return Object(JSON.parse(Buffer.concat(pieces).toString("utf8")));
  } catch {
    throw refusal(400, "Cannot read this: it is not JSON.");
  }
}

function textIn({ text }: Record<string, unknown>): string {
  if (typeof text === "string" && text.trim()) return text;
  throw refusal(400, "Cannot send nothing: give a 'text'.");
}

const PICTURE = /^image\/(png|jpeg|gif|webp)$/;

/** Pictures are for the model to see; other files are kept, and it reads them where they are. */
function alongIn({ attachments = [] }: Record<string, unknown>, folder: string): SentAlong {
  const isAttachment = (value: unknown): value is Attachment => {
    const { type = "", base64, name } = Object(value) as Partial<Attachment>;
    if (typeof base64 !== "string" || typeof type !== "string") return false;
    return PICTURE.test(type) || (typeof name === "string" && name !== "");
  };
  if (!Array.isArray(attachments) || !attachments.every(isAttachment))
    throw refusal(
      400,
      "Cannot attach this: a picture has 'type' and 'base64', another file 'name' and 'base64'.",
    );
  const isPicture = ({ type }: Attachment) => PICTURE.test(type);
  return {
    images: attachments.filter(isPicture),
    files: attachments.filter((one) => !isPicture(one)).map((file) => keepFile(folder, file)),
  };
}

function keepFile(folder: string, { name = "", base64 }: Attachment): string {
  const safeName = name.replace(/[^\p{L}\p{N}._ -]+/gu, "_").replace(/^[. ]+/, "_");
  const file = path.join(folder, randomBytes(6).toString("hex"), safeName.slice(-100));
  makeFolder(path.dirname(file), 0o700);
  writeWhole(file, Buffer.from(base64, "base64") as never, 0o600);
  return file;
}

const HEADERS = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { ...HEADERS, "content-type": "application/json; charset=utf-8" });
  response.end(JSON.stringify(body));
}

function sendPage(response: ServerResponse): void {
  const { html, policy } = livePage();
  response.writeHead(200, {
    ...HEADERS,
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policy,
  });
  response.end(html);
}
