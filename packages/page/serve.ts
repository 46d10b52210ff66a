// The page of --serve and its interface over HTTP, on loopback, for whom has the token.
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
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

const LOOPBACK_HOST = "127.0.0.1";
const MAX_BODY_BYTES = 32 << 20;
const MAX_SENT_CHARS = 64_000_000; // of what a browser has missed
const KEEP_ALIVE_MS = 5_000; // a proxy must not end a silent stream, and the page knows it as alive

/** Serves until it is stopped. `port` 0: any that is free. */
export async function serve(zz: Zz, ctx: Ctx, port: number): Promise<void> {
  const conversations = ctx.service("conversations");
  if (!conversations)
    throw usage("Cannot serve: the plugin 'acp' is off. /plugins on acp turns it on.");
  const httpServer = createServer();
  await new Promise<void>((listening, reject) => {
    httpServer.once("error", ({ message }) =>
      reject(usage(`Cannot serve on port ${port}: ${message}. Choose another, --serve=PORT.`)),
    );
    httpServer.listen(port, LOOPBACK_HOST, listening);
  });
  const passedFlags = process.argv.slice(2).filter((argument) => !/^--serve(=|$)/.test(argument));
  const folder = path.join(ctx.about.home, "page-files"); // of files that browsers send
  const chats = await conversations.start(ctx, {
    name: "zz page",
    flags: [...passedFlags, `--allow-read=${folder}`],
  });
  const token = randomBytes(24).toString("base64url");
  const pageServer: Server = {
    chats,
    ctx,
    zz,
    folder,
    token,
    port: (httpServer.address() as AddressInfo).port,
  };
  httpServer.on(
    "request",
    (request, response) => void handleExchange(pageServer, { request, response }),
  );
  ctx.note(`zz is at http://${LOOPBACK_HOST}:${pageServer.port}/#${token}\nCtrl+C ends it.`);
  await Promise.race([once(ctx.signal, "abort"), chats.ended]);
  httpServer.closeAllConnections();
  httpServer.close();
}

async function handleExchange(pageServer: Server, exchange: Exchange): Promise<void> {
  const { request, response } = exchange;
  try {
    assertOurs(pageServer, request);
    const requestUrl = new URL(request.url ?? "/", "http://zz");
    if (requestUrl.pathname === "/" && request.method === "GET") return sendPage(response);
    assertToken(pageServer, request);
    await routeRequest(pageServer, exchange, requestUrl);
  } catch (requestError) {
    const { status = 500 } = requestError as { status?: number };
    if (response.headersSent) return void response.end();
    sendJson(response, status, { error: pageServer.zz.veil(sentenceOf(requestError as Error)) });
  }
}

/** A name that was bound anew to this machine, or a page from elsewhere, gets nothing. */
function assertOurs({ port }: Server, { headers }: IncomingMessage): void {
  const allowedHosts = [`${LOOPBACK_HOST}:${port}`, `localhost:${port}`];
  if (!allowedHosts.includes(headers.host ?? ""))
    throw refusal(403, `Cannot answer '${headers.host}': ask ${allowedHosts[0]}.`);
  const { origin } = headers;
  if (
    origin !== undefined &&
    !allowedHosts.some((allowedHost) => origin === `http://${allowedHost}`)
  )
    throw refusal(403, `Cannot answer a page of '${origin}'.`);
  const fetchSite = headers["sec-fetch-site"];
  if (fetchSite !== undefined && fetchSite !== "same-origin" && fetchSite !== "none")
    throw refusal(403, "Cannot answer a page from elsewhere.");
}

function assertToken({ token }: Server, { headers }: IncomingMessage): void {
  const sentToken = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1] ?? "";
  const digestOf = (tokenText: string) => createHash("sha256").update(tokenText).digest();
  if (!timingSafeEqual(digestOf(sentToken), digestOf(token)))
    throw refusal(401, "Cannot answer without the token: it stands where zz --serve runs.");
}

// ── The interface ────────────────────────────────────────────────────────────────────────────────

async function routeRequest(
  pageServer: Server,
  exchange: Exchange,
  requestUrl: URL,
): Promise<void> {
  const { request, response } = exchange;
  const { pathname } = requestUrl;
  const { chats } = pageServer;
  const pathMatch = /^\/chats(?:\/([\w-]+)(?:\/(\w+)(?:\/([\w-]+))?)?)?$/.exec(pathname);
  if (!pathMatch) throw refusal(404, `Cannot find '${pathname}'.`);
  const [, id = "", resource = "", questionName = ""] = pathMatch;
  const methodAndName = `${request.method} ${resource || (id ? "chat" : "chats")}`;
  if (methodAndName === "GET chats") return sendJson(response, 200, sessionsOf(pageServer));
  if (methodAndName === "POST chats")
    return sendJson(response, 201, { id: (await chats.begin()).id });
  const conversation = await chats.open(id);
  if (methodAndName === "GET events")
    return streamEvents(exchange, conversation, requestUrl.searchParams.has("once"));
  const requestBody = request.method === "POST" ? await readBody(request) : {};
  if (methodAndName === "POST messages")
    conversation.send(messageText(requestBody), alongIn(requestBody, pageServer.folder));
  else if (methodAndName === "POST stop") await conversation.stop();
  else if (methodAndName === "POST model") await conversation.use(String(requestBody.model));
  else if (methodAndName === "POST questions")
    conversation.answer(questionName, String(requestBody.hash), String(requestBody.answer));
  else throw refusal(404, `Cannot ${request.method} '${pathname}'.`);
  sendJson(response, 202, {});
}

function sessionsOf({ chats, ctx: { sessions, root } }: Server): object[] {
  const openNames = chats.names(); // every browser knows an open conversation by the same
  return sessions
    .list()
    .filter((session) => session.root === root)
    .map(({ id, title, used, model }) => ({ id: openNames.get(id) ?? id, title, used, model }));
}

/**
 * Every event from the one after Last-Event-ID on, then those to come. `once`: those that are
 * there, or the next; the answer ends then, so that what holds streams back passes it on.
 */
function streamEvents(
  { request, response }: Exchange,
  conversation: Conversation,
  once: boolean,
): void {
  const lastEventId = Number(request.headers["last-event-id"] ?? 0) || 0;
  response.writeHead(200, {
    ...HEADERS,
    "content-type": "text/event-stream; charset=utf-8",
    "x-accel-buffering": "no", // a proxy must not collect them
  });
  response.write(": zz\n\n");
  const missedEvents = conversation.events.filter(({ id }) => id > lastEventId);
  for (const eventBlock of blocksOf(missedEvents)) response.write(eventBlock);
  if (once && missedEvents.length) return void response.end();
  const silence = conversation.listen((newEvent) => {
    if (response.writableEnded) return;
    response.write(blockOf(drawEvent(newEvent)));
    if (once) response.end();
  });
  const keepAliveTimer = setInterval(
    () => (once ? response.end() : response.write(": still here\n\n")),
    KEEP_ALIVE_MS,
  );
  response.on("close", () => {
    clearInterval(keepAliveTimer);
    silence();
  });
}

const blockOf = (chatEvent: ChatEvent): string =>
  `id: ${chatEvent.id}\nevent: ${chatEvent.type}\ndata: ${JSON.stringify(chatEvent)}\n\n`;

/** The last of them that a browser can take, and in the place of the others how many they are. */
function blocksOf(missedEvents: ConversationEvent[]): string[] {
  const sentBlocks: string[] = [];
  let sentChars = 0;
  let leftOutCount = missedEvents.length;
  while (leftOutCount > 0 && sentChars < MAX_SENT_CHARS) {
    const eventBlock = blockOf(drawEvent(missedEvents[--leftOutCount]!));
    sentChars += eventBlock.length;
    sentBlocks.push(eventBlock);
  }
  if (leftOutCount) {
    const text =
      `${plural(leftOutCount, "earlier part")} left out: ` +
      "the page would be too large. zz --export has them.";
    sentBlocks.push(blockOf({ id: missedEvents[leftOutCount]!.id - 1, type: "left-out", text }));
  }
  return sentBlocks.reverse();
}

// ── Bodies ───────────────────────────────────────────────────────────────────────────────────────

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const bodyPieces: Buffer[] = [];
  let bodyBytes = 0;
  for await (const bodyPiece of request) {
    bodyBytes += bodyPiece.length;
    // the rest is read, so that the refusal is, too
    if (bodyBytes <= MAX_BODY_BYTES) bodyPieces.push(bodyPiece);
  }
  if (bodyBytes > MAX_BODY_BYTES) throw refusal(413, "Cannot take more than 32 MB at once.");
  if (!bodyBytes) return {};
  if (!/^application\/json\b/.test(request.headers["content-type"] ?? ""))
    throw refusal(415, "Cannot read this: send JSON, as application/json.");
  try {
    return Object(JSON.parse(Buffer.concat(bodyPieces).toString("utf8")));
  } catch {
    throw refusal(400, "Cannot read this: it is not JSON.");
  }
}

function messageText({ text }: Record<string, unknown>): string {
  if (typeof text === "string" && text.trim()) return text;
  throw refusal(400, "Cannot send nothing: give a 'text'.");
}

const PICTURE = /^image\/(png|jpeg|gif|webp)$/;

/** Pictures are for the model to see; other files are kept, and it reads them where they are. */
function alongIn({ attachments = [] }: Record<string, unknown>, filesFolder: string): SentAlong {
  const isAttachment = (candidate: unknown): candidate is Attachment => {
    const { type = "", base64, name } = Object(candidate) as Partial<Attachment>;
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
    files: attachments
      .filter((attachment) => !isPicture(attachment))
      .map((attachment) => keepFile(filesFolder, attachment)),
  };
}

function keepFile(filesFolder: string, { name = "", base64 }: Attachment): string {
  const safeName = name.replace(/[^\p{L}\p{N}._ -]+/gu, "_").replace(/^[. ]+/, "_");
  const keptFile = path.join(filesFolder, randomBytes(6).toString("hex"), safeName.slice(-100));
  makeFolder(path.dirname(keptFile), 0o700);
  writeWhole(keptFile, Buffer.from(base64, "base64") as never, 0o600);
  return keptFile;
}

const HEADERS = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

function sendJson(response: ServerResponse, statusCode: number, responseBody: unknown): void {
  response.writeHead(statusCode, { ...HEADERS, "content-type": "application/json; charset=utf-8" });
  response.end(JSON.stringify(responseBody));
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
