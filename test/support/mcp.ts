// MCP servers for tests: the plugin in this process, the program of ours that plays a server, and
// one by hand over HTTP.
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { harness, type Setup } from "../../sdk/testing.ts";
import { ROOT } from "./run.ts";
import { stripped } from "./stripped.ts";

export const [PLUGIN, FAKE] = [
  join(ROOT, "packages", "mcp", "index.ts"),
  stripped("test/support/fake/mcp.ts"),
];
export const command = process.execPath;
export const fake = (...args: string[]) => ({ command, args: [FAKE, ...args], sandbox: false });

/** The plugin in this process, with servers that were never started. */
export const started = (t: TestContext, mcpServers: object, how: Setup = {}) =>
  harness(
    {
      plugins: [PLUGIN],
      settings: { mcpServers } as Setup["settings"],
      allow: { run: true },
      ...how,
    },
    t,
  );

/** MCP without a library; undefined: it is no request. */
export function replyTo(body: string, call: () => string): object | undefined {
  const { id, method, params } = JSON.parse(body || "{}");
  const of = (result: object) => ({ jsonrpc: "2.0", id, result });
  const serverInfo = { name: "hand", version: "1" };
  if (method === "initialize")
    return of({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo });
  if (method === "tools/list")
    return of({ tools: [{ name: "one", inputSchema: { type: "object" } }] });
  if (method === "tools/call") return of({ content: [{ type: "text", text: call() }] });
  return id === undefined
    ? undefined
    : { jsonrpc: "2.0", id, error: { code: -32_601, message: "Method not found" } };
}
type Reply = object | undefined;
/** Whether it is answered here, since no tool has to: the stream that stays open, which there is
 * none of, or a notification. */
export function isNoCall(
  { method }: IncomingMessage,
  reply: Reply,
  response: ServerResponse,
): reply is undefined {
  if (method !== "GET" && reply) return false;
  response.writeHead(method === "GET" ? 405 : 202).end();
  return true;
}
