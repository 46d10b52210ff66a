// zz as an MCP server: its tools for any client, through the same gate, whose questions go to a
// client that can ask.
import { once } from "node:events";
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
import { codeOf, errnoSentence, fault, usage } from "zz/text";
import type { Asking, Form } from "./ask-client.ts";
import { KEPT, objectIn, UNCHECKED } from "./settings.ts";
import { onStdin } from "./stdin.ts";

const PORT_TAKEN = "another program has it. Choose another port, or 0 for any that is free.";

const NOT_SERVED = new Set(["more_tools", "mcp_tools"]);
const MAX_SESSIONS = 32;
const PATIENCE_SECONDS = 600; // for an answer of the person; other clients' calls wait meanwhile
const INSTRUCTIONS =
  "zz's tools work in one project folder. " +
  "What they need is checked by zz's own permissions; a refusal names what would allow it.";

/**
 * Serves until the client leaves. `flagValue`: a port, for HTTP on this machine; true: stdin and
 * stdout.
 */
export async function serve(
  zz: Zz<any>,
  flagValue: string | boolean,
  ctx: Ctx,
  asking: Asking,
): Promise<Result> {
  const servingEnd = new AbortController();
  const newServer = newServing(zz, ctx, asking, servingEnd.signal);
  if (flagValue !== true) return serveHttp(zz, String(flagValue), ctx, newServer);
  const { stdin, stdout } = zz.io;
  const inputEnded = new Promise<void>((resolve) => {
    stdin.once("end", resolve).once("close", resolve);
    ctx.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  serveStdio(newServer, { transport: onStdin(stdin, stdout) });
  await inputEnded;
  servingEnd.abort();
  return { text: "" };
}

/**
 * A call that runs. To a client of 2026 each question goes as an answer, and what its person says
 * comes with the next request.
 */
interface Running {
  result: Promise<object>;
  question: PromiseWithResolvers<Form>; // the next one
  answer(isAllowed: boolean): void;
  stop: AbortController;
}
type Call = ServerContext["mcpReq"];
type Capable = { [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } | undefined;
const saidYes = (content: unknown): boolean =>
  (content as { answer?: unknown } | undefined)?.answer === "yes";

/** Makes servers, which share what runs. */
function newServing(
  zz: Zz<any>,
  ctx: Ctx,
  asking: Asking,
  servingSignal: AbortSignal,
): () => Server {
  const { randomBytes, randomUUID } = process.getBuiltinModule("node:crypto");
  const stateCodec = createRequestStateCodec<string>({
    key: randomBytes(32),
    ttlSeconds: PATIENCE_SECONDS,
  });
  const running = new Map<string, Running>();
  const beginCall = newCalls(zz, ctx, asking, servingSignal);
  return () => {
    const options = {
      capabilities: { tools: {} },
      instructions: INSTRUCTIONS,
      requestState: { verify: stateCodec.verify },
      ...UNCHECKED,
    };
    const server = new Server({ name: "zz", version: ctx.about.version }, options);
    server.setRequestHandler("tools/list", () => ({ tools: listTools(ctx) as never }));
    server.setRequestHandler(
      "tools/call",
      async ({ params: { name, arguments: callArguments = {} } }, { mcpReq }) => {
        const { envelope, inputResponses } = mcpReq;
        const resumedId = mcpReq.requestState<string>();
        const id = resumedId ?? randomUUID();
        const capabilities =
          (envelope as Capable)?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities();
        if (!resumedId)
          running.set(
            id,
            beginCall(name, callArguments, capabilities?.elicitation ? mcpReq : undefined),
          );
        const runningCall = running.get(id);
        if (!runningCall) throw fault("Cannot go on with this call: it has ended.");
        runningCall.result.finally(() => running.delete(id)).catch(() => {});
        if (resumedId) runningCall.answer(saidYes(acceptedContent(inputResponses, "answer")));
        const nextForm = await questionOf(runningCall, mcpReq.signal);
        if (!nextForm) return (await runningCall.result) as never;
        const inputRequests = { answer: inputRequired.elicit(nextForm) };
        return inputRequired({ inputRequests, requestState: await stateCodec.mint(id) }) as never;
      },
    );
    return server;
  };
}

/** The call's next question; undefined once it has its result. */
async function questionOf(runningCall: Running, signal: AbortSignal): Promise<Form | undefined> {
  const abortCall = () => runningCall.stop.abort();
  signal.addEventListener("abort", abortCall, { once: true });
  const callEnded = runningCall.result.then(() => undefined);
  return Promise.race([runningCall.question.promise, callEnded]).finally(() =>
    signal.removeEventListener("abort", abortCall),
  );
}

/**
 * Begins calls, one after the other, so that a question belongs to one. A client of 2026 may never
 * come back with an answer: while it is waited for, other calls run. `by`: the request, if its
 * client can ask its person.
 */
function newCalls(zz: Zz<any>, ctx: Ctx, asking: Asking, servingSignal: AbortSignal) {
  let turnQueue = Promise.resolve();
  /** Waits until no other call runs; what it gives ends the turn. */
  async function takeTurn(): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const previousTurn = turnQueue;
    turnQueue = promise;
    await previousTurn;
    return resolve;
  }
  return (
    toolName: string,
    callArguments: Record<string, unknown>,
    clientRequest: Call | undefined,
  ): Running => {
    const stop = new AbortController();
    servingSignal.addEventListener("abort", () => stop.abort(), { signal: stop.signal });
    let endTurn = () => {};
    const runningCall = { question: Promise.withResolvers<Form>(), answer(_: boolean) {}, stop };
    const askClient =
      clientRequest &&
      (clientRequest.envelope
        ? askByAnswer
        : (askedForm: Form) => askByRequest(clientRequest, askedForm, stop.signal));
    return Object.assign(runningCall, { result: runCall().finally(() => endTurn()) });

    async function runCall(): Promise<object> {
      endTurn = await takeTurn();
      if (stop.signal.aborted) return answerOf({ text: "[interrupted]", failed: true });
      const isKnown = listTools(ctx).some((servedTool) => servedTool.name === toolName);
      const text =
        `Cannot call '${toolName}': zz serves no tool of that name. ` + "tools/list has them all.";
      if (!isKnown) return answerOf({ text, failed: true });
      asking.ask =
        askClient && (async (askedForm) => (await askClient(askedForm)) && !stop.signal.aborted);
      return answerOf(await ctx.call(toolName, callArguments, stop.signal));
    }

    async function askByAnswer(askedForm: Form): Promise<boolean> {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const cancelTimer = zz.io.clock.timer(PATIENCE_SECONDS * 1_000, () => resolve(false));
      stop.signal.addEventListener("abort", () => resolve(false), { once: true });
      const { question } = runningCall;
      const { ask: ownAsk } = asking;
      Object.assign(runningCall, { answer: resolve, question: Promise.withResolvers<Form>() });
      question.resolve(askedForm);
      endTurn();
      const isAllowed = await promise.finally(cancelTimer);
      endTurn = await takeTurn();
      asking.ask = ownAsk;
      return isAllowed;
    }
  };
}

/** How a client of 2025 is asked. */
async function askByRequest(
  { elicitInput }: Call,
  askedForm: Form,
  signal: AbortSignal,
): Promise<boolean> {
  const formAnswer = elicitInput(askedForm, { timeout: PATIENCE_SECONDS * 1_000, signal });
  const { action, content } = await formAnswer.catch(() => ({ action: "cancel", content: {} }));
  return action === "accept" && saidYes(content);
}

function listTools({ about }: Ctx) {
  const ownTools = about.tools.filter(
    ({ name, owner }) => !NOT_SERVED.has(name) && owner !== "mcp",
  );
  return ownTools.map(({ name, description, schema, kind }) => ({
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

function answerOf({ text, failed, images = [] }: Result): object {
  const mediaParts = images.flatMap(({ type: mimeType, base64: data }) => {
    const [, type] = /^(image|audio)\//.exec(mimeType) ?? [];
    return type ? [{ type, data, mimeType }] : [];
  });
  return { content: [{ type: "text", text }, ...mediaParts], ...(failed && { isError: true }) };
}

// Over HTTP, on this machine alone

async function serveHttp(
  zz: Zz<any>,
  portText: string,
  ctx: Ctx,
  newServer: () => Server,
): Promise<Result> {
  if (!/^\d{1,5}$/.test(portText) || Number(portText) > 65_535)
    throw usage(
      `Cannot use --mcp=${portText}: give a port up to 65535 (0: ` +
        "any that is free), or no value for stdin and stdout.",
    );
  const sessions = new HttpSessions(newServer);
  const hasToken = tokenCheck(tokenOf(zz, ctx));
  const httpServer = createServer((request, response) => {
    const fetch = async (webRequest: Request) =>
      refusalOf(webRequest, hasToken) ?? sessions.serve(webRequest, response);
    toNodeHandler({ fetch })(request, response).catch(() => response.destroy());
  });
  const reasonOf = (error: Error) =>
    codeOf(error) === "EADDRINUSE" ? PORT_TAKEN : errnoSentence(error) || error.message;
  const fail = (error: Error) => {
    throw fault(`Cannot serve on port ${portText}: ${reasonOf(error)}`);
  };
  await once(httpServer.listen(Number(portText), "127.0.0.1"), "listening").catch(fail);
  const { port } = httpServer.address() as { port: number };
  zz.io.stderr.write(
    `Serving MCP on http://127.0.0.1:${port}/mcp, ` +
      `with the token of ${whereToken(zz, ctx)}. Ctrl+C ends it.\n`,
  );
  const ends = [once(ctx.signal, "abort"), once(httpServer, "close")]; // this throws on an error
  await Promise.race(ends)
    .catch(fail)
    .finally(() => {
      httpServer.close();
      httpServer.closeAllConnections();
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
  const digest = (secretText: string) => createHash("sha256").update(secretText).digest();
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
    ctx.keep(KEPT, (credentialText) => {
      const credentials = objectIn(credentialText);
      token =
        typeof credentials.serve === "string"
          ? credentials.serve
          : process.getBuiltinModule("node:crypto").randomBytes(24).toString("base64url");
      return JSON.stringify({ ...credentials, serve: token }, null, 2);
    });
  zz.secret(token);
  return token;
}
