// MCP servers that the editor names for a session, handed to whoever in zz speaks MCP.
import type { McpServer } from "@agentclientprotocol/sdk";
import type { Ctx } from "zz";

const MAX_NAME = 28;

/** Each as settings would describe it. Whoever takes them asks and starts; this session's process holds them until it ends. */
export async function lendServers(given: readonly McpServer[], ctx: Ctx): Promise<void> {
  if (!given.length) return;
  const servers: Record<string, object> = {};
  for (const one of given) {
    if ("type" in one && one.type !== "http")
      ctx.note(
        `The editor's MCP server '${one.name}' is left out: zz speaks MCP over stdio and HTTP, not over '${one.type}'.`,
      );
    else servers[unused(plainName(one.name), servers)] = configOf(one);
  }
  let isTaken = false;
  await ctx.call("lend_mcp_servers", { servers, taken: () => void (isTaken = true) });
  if (!isTaken) ctx.note("The editor's MCP servers are left out: zz's plugin for MCP is turned off.");
}

const configOf = (one: McpServer): object =>
  "url" in one
    ? { url: one.url, headers: valuesOf(one.headers) }
    : { command: one.command, args: one.args, env: valuesOf(one.env) };

const valuesOf = (all: { name: string; value: string }[]): Record<string, string> =>
  Object.fromEntries(all.map(({ name, value }) => [name, value]));

/** An editor names as it likes; zz's names of servers stand before those of their tools. */
function plainName(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9-]+/g, "_").replace(/^_+|_+$/g, "");
  return (/^[A-Za-z]/.test(plain) ? plain : `mcp_${plain}`).slice(0, MAX_NAME);
}

function unused(name: string, taken: object): string {
  let [free, count] = [name, 1];
  while (free in taken) free = `${name}-${++count}`;
  return free;
}
