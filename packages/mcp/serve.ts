// zz as an MCP server: its tools for any client, through the same gate, whose questions go to a
// client that can ask.
import { createServer, type ServerResponse } from "node:http";
import path from "node:path";
import { toNodeHandler } from "@modelcontextprotocol/node";
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  isLegacyRequest,
  Server,
  type ServerContext,
  WebStandardStreamableHTTPServerTransport as Session,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Ctx, Result, Zz } from "zz";
import { codeOf, errnoSentence, fault, tryTo, usage } from "zz/text";
import type { Asking, Form } from "./ask-client.ts";
import { KEPT, UNCHECKED } from "./settings.ts";
import { onStdin } from "./stdin.ts";

const PORT_TAKEN = "another program has it. Choose another port, or 0 for any that is free.";

const NOT_SERVED = new Set(["more_tools", "mcp_tools"]);
const MAX_SESSIONS = 32;
const PATIENCE_SECONDS = 600; // for an answer of the person; other clients' calls wait meanwhile
const INSTRUCTIONS =
  "zz's tools work in one project folder. What they need is checked by zz's own permissions; a refusal names what would allow it.";

/**
 * Serves until the client leaves. `value`: a port, for HTTP on this machine; true: stdin and
 * stdout.
 */
export async function serve(
  zz: Zz<any>,
  value: string | boolean,
  ctx: Ctx,
  asking: Asking,
): Promise<Result> {
  const over = new AbortController();
  const newServer = newServing(zz, ctx, asking, over.signal);
  if (value !== true) return serveHttp(zz, String(value), ctx, newServer);
  const { stdin, stdout } = zz.io;
  const ended = new Promise<void>((resolve) => {
    stdin.once("end", resolve).once("close", resolve);
    ctx.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  serveStdio(newServer, { transport: onStdin(stdin, stdout) });
  await ended;
  over.abort();
  return { text: "" };
}

/**
 * A call that runs. To a client of 2026 each question goes as an answer, and what its person says
 * comes with the next request.
 */
interface Running {
  result: Promise<object>;
  question: PromiseWithResolvers<Form>; // the next one
  answer(isYes: boolean): void;
  stop: AbortController;
}
type Call = ServerContext["mcpReq"];
type Capable = { [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } | undefined;
const saidYes = (content: unknown): boolean =>
  (content as { answer?: unknown } | undefined)?.answer === "yes";

/** Makes servers, which share what runs. */
function newServing(zz: Zz<any>, ctx: Ctx, asking: Asking, over: AbortSignal): () => Server {
  const { randomBytes, randomUUID } = process.getBuiltinModule("node:crypto");
  const codec = createRequestStateCodec<string>({
    key: randomBytes(32),
    ttlSeconds: PATIENCE_SECONDS,
  });
  const running = new Map<string, Running>();
  const begin = newCalls(zz, ctx, asking, over);
  return () => {
    const options = {
      capabilities: { tools: {} },
      instructions: INSTRUCTIONS,
      requestState: { verify: codec.verify },
      ...UNCHECKED,
    };
    const server = new Server({ name: "zz", version: ctx.about.version }, options);
    server.setRequestHandler("tools/list", () => ({ tools: tools(ctx) as never }));
    server.setRequestHandler(
      "tools/call",
      async ({ params: { name, arguments: args = {} } }, { mcpReq }) => {
        const { envelope, inputResponses } = mcpReq;
        const resumedId = mcpReq.requestState<string>();
        const id = resumedId ?? randomUUID();
        const can =
          (envelope as Capable)?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities();
        if (!resumedId) running.set(id, begin(name, args, can?.elicitation ? mcpReq : undefined));
        const call = running.get(id);
        if (!call) throw fault("Cannot go on with this call: it has ended.");
        call.result.finally(() => running.delete(id)).catch(() => {});
        if (resumedId) call.answer(saidYes(acceptedContent(inputResponses, "answer")));
        const form = await questionOf(call, mcpReq.signal);
        if (!form) return (await call.result) as never;
        const inputRequests = { answer: inputRequired.elicit(form) };
        return inputRequired({ inputRequests, requestState: await codec.mint(id) }) as never;
      },
    );
    return server;
  };
}

/** The call's next question; undefined once it has its result. */
async function questionOf(call: Running, signal: AbortSignal): Promise<Form | undefined> {
  const end = () => call.stop.abort();
  signal.addEventListener("abort", end, { once: true });
  const ended = call.result.then(() => undefined);
  return Promise.race([call.question.promise, ended]).finally(() =>
    signal.removeEventListener("abort", end),
  );
}

/**
 * Begins calls, one after the other, so that a question belongs to one. A client of 2026 may never
 * come back with an answer: while it is waited for, other calls run. `by`: the request, if its
 * client can ask its person.
 */
function newCalls(zz: Zz<any>, ctx: Ctx, asking: Asking, over: AbortSignal) {
  let queue = Promise.resolve();
  /** Waits until no other call runs; what it gives ends the turn. */
  async function turn(): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = queue;
    queue = promise;
    await before;
    return resolve;
  }
  return (name: string, args: Record<string, unknown>, by: Call | undefined): Running => {
    const stop = new AbortController();
    over.addEventListener("abort", () => stop.abort(), { signal: stop.signal });
    let endTurn = () => {};
    const call = { question: Promise.withResolvers<Form>(), answer(_: boolean) {}, stop };
    const ask =
      by && (by.envelope ? askByAnswer : (form: Form) => askByRequest(by, form, stop.signal));
    return Object.assign(call, { result: run().finally(() => endTurn()) });

    async function run(): Promise<object> {
      endTurn = await turn();
      if (stop.signal.aborted) return answer({ text: "[interrupted]", failed: true });
      const isKnown = tools(ctx).some((tool) => tool.name === name);
      const text = `Cannot call '${name}': zz serves no tool of that name. tools/list has them all.`;
      if (!isKnown) return answer({ text, failed: true });
      asking.ask = ask && (async (form) => (await ask(form)) && !stop.signal.aborted);
      return answer(await ctx.call(name, args, stop.signal));
    }

    async function askByAnswer(form: Form): Promise<boolean> {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const lift = zz.io.clock.timer(PATIENCE_SECONDS * 1_000, () => resolve(false));
      stop.signal.addEventListener("abort", () => resolve(false), { once: true });
      const { question } = call;
      const { ask: ownAsk } = asking;
      Object.assign(call, { answer: resolve, question: Promise.withResolvers<Form>() });
      question.resolve(form);
      endTurn();
      const isYes = await promise.finally(lift);
      endTurn = await turn();
      asking.ask = ownAsk;
      return isYes;
    }
  };
}

/** How a client of 2025 is asked. */
async function askByRequest(
  { elicitInput }: Call,
  form: Form,
  signal: AbortSignal,
): Promise<boolean> {
  const asked = elicitInput(form, { timeout: PATIENCE_SECONDS * 1_000, signal });
  const { action, content } = await asked.catch(() => ({ action: "cancel", content: {} }));
  return action === "accept" && saidYes(content);
}

function tools({ about }: Ctx) {
  const served = about.tools.filter(({ name, owner }) => !NOT_SERVED.has(name) && owner !== "mcp");
  return served.map(({ name, description, schema, kind }) => ({
    name,
    description,
    inputSchema: { ...schema, type: "object" },
    annotations: {
      readOnlyHint: kind === "read",
      destructiveHint: kind !== "read",
      openWorldHint: kind === "run" || REACHES_OUT.test(name),
    },
  }));
}
/** Tools whose kind is not "run" although they reach other servers. */
const REACHES_OUT = /^(web_|install_|task$)/;

function answer({ text, failed, images = [] }: Result): object {
  const media = images.flatMap(({ type: mimeType, base64: data }) => {
    const [, type] = /^(image|audio)\//.exec(mimeType) ?? [];
    return type ? [{ type, data, mimeType }] : [];
  });
  return { content: [{ type: "text", text }, ...media], ...(failed && { isError: true }) };
}

// Over HTTP, on this machine alone

async function serveHttp(
  zz: Zz<any>,
  value: string,
  ctx: Ctx,
  newServer: () => Server,
): Promise<Result> {
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535)
    throw usage(
      `Cannot use --mcp=${value}: give a port up to 65535 (0: any that is free), or no value for stdin and stdout.`,
    );
  const sessions = new HttpSessions(newServer);
  const hasToken = tokenCheck(tokenOf(zz, ctx));
  const http = createServer((request, response) => {
    const fetch = async (asked: Request) =>
      refusalOf(asked, hasToken) ?? sessions.serve(asked, response);
    toNodeHandler({ fetch })(request, response).catch(() => response.destroy());
  });
  const { promise: failed, reject } = Promise.withResolvers<never>();
  const reasonOf = (error: Error) =>
    codeOf(error) === "EADDRINUSE" ? PORT_TAKEN : errnoSentence(error) || error.message;
  http.on("error", (error) => reject(fault(`Cannot serve on port ${value}: ${reasonOf(error)}`)));
  const listening = new Promise<void>((resolve) =>
    http.listen(Number(value), "127.0.0.1", resolve),
  );
  await Promise.race([listening, failed]);
  const { port } = http.address() as { port: number };
  zz.io.stderr.write(
    `Serving MCP on http://127.0.0.1:${port}/mcp, with the token of ${whereToken(zz, ctx)}. Ctrl+C ends it.\n`,
  );
  const stopped = new Promise<void>((resolve) =>
    ctx.signal.addEventListener("abort", () => resolve(), { once: true }),
  );
  await Promise.race([stopped, failed]).finally(() => {
    http.close();
    http.closeAllConnections();
  });
  return { text: "" };
}

function refusalOf(
  request: Request,
  hasToken: (authorization: string) => boolean,
): Response | undefined {
  const { host, origin, authorization = "" } = Object.fromEntries(request.headers);
  // web pages are refused
  const isLocal = /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(host ?? "") && origin === undefined;
  if (!isLocal) return refusal(403, "only programs on this machine may ask");
  if (!hasToken(authorization)) return refusal(401, "the token is missing or wrong");
  if (new URL(request.url).pathname !== "/mcp") return refusal(404, "it is at /mcp");
  return undefined;
}

function tokenCheck(token: string): (authorization: string) => boolean {
  const { createHash, timingSafeEqual } = process.getBuiltinModule("node:crypto");
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return (authorization) => timingSafeEqual(digest(authorization), digest(`Bearer ${token}`));
}

/** Clients of 2025 have a session each; each request of 2026 stands by itself. */
class HttpSessions {
  private readonly newServer: () => Server;
  private readonly modern: ReturnType<typeof createMcpHandler>;
  private readonly sessions = new Map<string, Open>(); // the one that was used last is the last

  constructor(newServer: () => Server) {
    this.newServer = newServer;
    this.modern = createMcpHandler(newServer, { legacy: "reject" });
  }

  async serve(request: Request, response: ServerResponse): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    const session = id && this.sessions.get(id);
    if (session) return this.goOn(id, session, request, response);
    if (!(await isLegacyRequest(request))) return this.modern.fetch(request);
    if (id) return refusal(404, "this session has ended");
    if (this.sessions.size >= MAX_SESSIONS && !this.forgetOne())
      return refusal(503, "there are too many sessions");
    const transport = new Session({
      sessionIdGenerator: process.getBuiltinModule("node:crypto").randomUUID,
      onsessioninitialized: (id) => void this.sessions.set(id, { transport, open: 0 }),
      onsessionclosed: (id) => void this.sessions.delete(id),
    });
    await this.newServer().connect(transport);
    return transport.handleRequest(request);
  }

  private goOn(
    id: string,
    session: Open,
    request: Request,
    response: ServerResponse,
  ): Promise<Response> {
    this.sessions.delete(id);
    this.sessions.set(id, session);
    session.open++;
    response.once("close", () => session.open--);
    return session.transport.handleRequest(request);
  }

  /**
   * Clients that were cut off never say that they leave: the one that asks for nothing and was last
   * heard longest ago makes room.
   */
  private forgetOne(): boolean {
    for (const [id, { transport, open }] of this.sessions)
      if (!open) {
        this.sessions.delete(id);
        void transport.close();
        return true;
      }
    return false;
  }
}

type Open = { transport: Session; open: number }; // open: requests that are not answered yet

const refusal = (status: number, reason: string): Response =>
  Response.json(
    { jsonrpc: "2.0", id: null, error: { code: -32_000, message: `Refused: ${reason}.` } },
    { status },
  );

const VARIABLE = "ZZ_MCP_TOKEN";
const whereToken = (zz: Zz<any>, { about }: Ctx): string =>
  zz.io.variable(VARIABLE) ? VARIABLE : `"serve" in ${path.join(about.home, KEPT)}`;

/** The token of the person's variable, or one that is made once and kept in the home. */
function tokenOf(zz: Zz<any>, ctx: Ctx): string {
  const ownToken = zz.io.variable(VARIABLE);
  let token = ownToken ?? "";
  if (ownToken !== undefined && ownToken.length < 16)
    throw usage(`Cannot use ${VARIABLE}: it must have at least 16 characters.`);
  if (!token)
    ctx.keep(KEPT, (text) => {
      const credentials = (tryTo(() => JSON.parse(text)) ?? {}) as Record<string, unknown>;
      token =
        typeof credentials.serve === "string"
          ? credentials.serve
          : process.getBuiltinModule("node:crypto").randomBytes(24).toString("base64url");
      return JSON.stringify({ ...credentials, serve: token }, null, 2);
    });
  zz.secret(token);
  return token;
}
