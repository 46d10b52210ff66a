// zz as an MCP server: its tools for any client, through the same gate, whose questions go to a client that can ask.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import path from "node:path";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { Ctx, Result, Zz } from "zz";
import { codeOf, errnoSentence, fault, tryTo, usage } from "zz/text";
import { KEPT } from "./oauth.ts";
import type { Asking } from "./person.ts";
import { onStdin } from "./stdin.ts";

const PORT_TAKEN = "another program has it. Choose another port, or 0 for any that is free.";

const NOT_SERVED = new Set(["more_tools", "mcp_tools"]);
const MAX_SESSIONS = 32;
const INSTRUCTIONS =
  "zz's tools work in one project folder. What they need is checked by zz's own permissions; a refusal names what would allow it.";

/** Serves until the client leaves. `value`: a port, for HTTP on this machine; true: stdin and stdout. */
export async function serve(zz: Zz<any>, value: string | boolean, ctx: Ctx, asking: Asking): Promise<Result> {
  const connect = newServing(ctx, asking);
  if (value !== true) return serveHttp(zz, String(value), ctx, connect);
  const { stdin, stdout } = zz.io;
  const ended = new Promise<void>((resolve) => {
    stdin.once("end", resolve).once("close", resolve);
    ctx.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await connect(onStdin(stdin, stdout));
  await ended;
  return { text: "" };
}

/** Returns what connects a server to a transport. All servers share a queue, so that a question belongs to one call. */
function newServing(ctx: Ctx, asking: Asking): (transport: Transport) => Promise<Server> {
  let queue: Promise<unknown> = Promise.resolve();
  return async (transport) => {
    const how = { capabilities: { tools: {} }, instructions: INSTRUCTIONS };
    const server = new Server({ name: "zz", version: ctx.about.version }, how);
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools(ctx) as never }));
    server.setRequestHandler(CallToolRequestSchema, ({ params: { name, arguments: args = {} } }, { signal }) => {
      const done = queue.then(() => call(server, name, args, signal));
      queue = done.catch(() => {});
      return done as never;
    });
    await server.connect(transport);
    return server;
  };

  async function call(
    server: Server,
    name: string,
    args: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<object> {
    if (signal.aborted) return answer({ text: "[interrupted]", failed: true });
    const known = tools(ctx).some((tool) => tool.name === name);
    if (!known)
      return answer({
        text: `Cannot call '${name}': zz serves no tool of that name. tools/list has them all.`,
        failed: true,
      });
    Object.assign(asking, { server, signal });
    return answer(await ctx.call(name, args, signal));
  }
}

function tools({ about }: Ctx) {
  const served = about.tools.filter(({ name, owner }) => !NOT_SERVED.has(name) && owner !== "mcp");
  return served.map(({ name, description, schema, kind }) => ({
    ...{ name, description, inputSchema: { ...schema, type: "object" } },
    annotations: {
      ...{ readOnlyHint: kind === "read", destructiveHint: kind !== "read" },
      openWorldHint: kind === "run" || REACHES_OUT.test(name),
    },
  }));
}
/** Tools whose kind is not "run" although they reach other servers. */
const REACHES_OUT = /^(web_|install_|task$)/;

function answer({ text, failed, images = [] }: Result): object {
  const pictures = images
    .filter(({ type }) => type.startsWith("image/"))
    .map(({ type, base64 }) => ({ type: "image", data: base64, mimeType: type }));
  return { content: [{ type: "text", text }, ...pictures], ...(failed && { isError: true }) };
}

// Over HTTP, on this machine alone

async function serveHttp(
  zz: Zz<any>,
  value: string,
  ctx: Ctx,
  connect: (transport: Transport) => Promise<Server>,
): Promise<Result> {
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535)
    throw usage(
      `Cannot use --mcp=${value}: give a port up to 65535 (0: any that is free), or no value for stdin and stdout.`,
    );
  const { StreamableHTTPServerTransport } = await import("@modelcontextprotocol/sdk/server/streamableHttp.js");
  const { createHash, randomUUID, timingSafeEqual } = process.getBuiltinModule("node:crypto");
  const token = tokenOf(zz, ctx);
  const sessions = new Map<string, Session>(); // the one that was used last is the last
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const http = createServer((request, response) => void handle(request, response).catch(() => response.destroy()));
  const { promise: failed, reject } = Promise.withResolvers<never>();
  const why = (error: Error) => (codeOf(error) === "EADDRINUSE" ? PORT_TAKEN : errnoSentence(error) || error.message);
  http.on("error", (error) => reject(fault(`Cannot serve on port ${value}: ${why(error)}`)));
  const listening = new Promise<void>((resolve) => http.listen(Number(value), "127.0.0.1", resolve));
  await Promise.race([listening, failed]);
  const { port } = http.address() as { port: number };
  zz.io.stderr.write(
    `Serving MCP on http://127.0.0.1:${port}/mcp, with the token of ${whereToken(zz, ctx)}. Ctrl+C ends it.\n`,
  );
  const stopped = new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve(), { once: true }));
  await Promise.race([stopped, failed]).finally(() => {
    http.close();
    http.closeAllConnections();
  });
  return { text: "" };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { host = "", origin, authorization = "" } = request.headers;
    const isLocal = /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(host) && origin === undefined; // web pages are refused
    if (!isLocal) return refuse(response, 403, "only programs on this machine may ask");
    if (!timingSafeEqual(digest(authorization), digest(`Bearer ${token}`)))
      return refuse(response, 401, "the token is missing or wrong");
    if (request.url?.split("?")[0] !== "/mcp") return refuse(response, 404, "it is at /mcp");
    const id = String(request.headers["mcp-session-id"] ?? "");
    const known = sessions.get(id);
    if (known) return take(id, known, request, response);
    if (id) return refuse(response, 404, "this session has ended");
    if (sessions.size >= MAX_SESSIONS && !forgetOne()) return refuse(response, 503, "there are too many sessions");
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, { transport, open: 0 }),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await connect(transport as Transport);
    await transport.handleRequest(request, response);
  }

  async function take(id: string, session: Session, request: IncomingMessage, response: ServerResponse): Promise<void> {
    sessions.delete(id);
    sessions.set(id, session);
    session.open++;
    response.once("close", () => session.open--);
    await session.transport.handleRequest(request, response);
  }

  /** Clients that were cut off never say that they leave: the one that asks for nothing and was last heard longest ago makes room. */
  function forgetOne(): boolean {
    for (const [id, { transport, open }] of sessions)
      if (!open) {
        sessions.delete(id);
        void transport.close();
        return true;
      }
    return false;
  }
}

type Session = { transport: StreamableHTTPServerTransport; open: number }; // open: requests that are not answered yet

function refuse(response: ServerResponse, status: number, why: string): void {
  response.writeHead(status, { "content-type": "application/json", connection: "close" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32_000, message: `Refused: ${why}.` } }));
}

const VARIABLE = "ZZ_MCP_TOKEN";
const whereToken = (zz: Zz<any>, { about }: Ctx): string =>
  zz.io.variable(VARIABLE) ? VARIABLE : `"serve" in ${path.join(about.home, KEPT)}`;

/** The token of the person's variable, or one that is made once and kept in the home. */
function tokenOf(zz: Zz<any>, ctx: Ctx): string {
  const own = zz.io.variable(VARIABLE);
  let token = own ?? "";
  if (own !== undefined && own.length < 16) throw usage(`Cannot use ${VARIABLE}: it must have at least 16 characters.`);
  if (!token)
    ctx.keep(KEPT, (text) => {
      const all = (tryTo(() => JSON.parse(text)) ?? {}) as Record<string, unknown>;
      token =
        typeof all.serve === "string"
          ? all.serve
          : process.getBuiltinModule("node:crypto").randomBytes(24).toString("base64url");
      return JSON.stringify({ ...all, serve: token }, null, 2);
    });
  zz.secret(token);
  return token;
}
