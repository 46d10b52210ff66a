// Hands the MCP servers that the editor names for a session to zz's plugin for MCP.
import type { McpServer } from "@agentclientprotocol/sdk";
import type { Ctx } from "zz";

const MAX_NAME = 28;

/**
 * Describes each server as settings do. The plugin for MCP starts them, and keeps them until this
 * process ends.
 */
export async function lendServers(given: readonly McpServer[], ctx: Ctx): Promise<void> {
  if (!given.length) return;
  const servers: Record<string, object> = {};
  for (const server of given) {
    if ("type" in server && server.type !== "http")
      ctx.note(
        `The editor's MCP server '${server.name}' is left out: zz speaks MCP over stdio and HTTP, not over '${server.type}'.`,
      );
    else servers[unused(plainName(server.name), servers)] = configOf(server);
  }
  const mcpServers = ctx.service("mcpServers");
  if (mcpServers) await mcpServers.add(servers, ctx);
  else
    ctx.note(
      "The editor's MCP servers are left out: the plugin 'mcp' is off. /plugins on mcp turns it on.",
    );
}

const configOf = (server: McpServer): object =>
  "url" in server
    ? { url: server.url, headers: valuesOf(server.headers) }
    : { command: server.command, args: server.args, env: valuesOf(server.env) };

const valuesOf = (variables: { name: string; value: string }[]): Record<string, string> =>
  Object.fromEntries(variables.map(({ name, value }) => [name, value]));

/** An editor's name for a server, as zz can use it: at the start of tool names. */
function plainName(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9-]+/g, "_").replace(/^_+|_+$/g, "");
  return (/^[A-Za-z]/.test(plain) ? plain : `mcp_${plain}`).slice(0, MAX_NAME);
}

function unused(name: string, taken: object): string {
  let [free, count] = [name, 1];
  while (free in taken) free = `${name}-${++count}`;
  return free;
}
