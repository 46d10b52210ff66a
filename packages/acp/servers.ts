// Hands the MCP servers that the editor names for a session to zz's plugin for MCP.
import type { McpServer } from "@agentclientprotocol/sdk";
import type { Ctx } from "zz";

const MAX_NAME = 28;

/**
 * Describes each server as settings do. The plugin for MCP starts them, and keeps them until this
 * process ends.
 */
export async function lendServers(editorServers: readonly McpServer[], ctx: Ctx): Promise<void> {
  if (!editorServers.length) return;
  const servers: Record<string, object> = {};
  for (const server of editorServers) {
    if ("type" in server && server.type !== "http")
      ctx.note(
        `The editor's MCP server '${server.name}' is left out: ` +
          `zz speaks MCP over stdio and HTTP, not over '${server.type}'.`,
      );
    else servers[unusedName(plainName(server.name), servers)] = configOf(server);
  }
  const mcpServers = ctx.service("mcpServers");
  if (mcpServers) await mcpServers.add(servers, ctx);
  else
    ctx.note(
      "The editor's MCP servers are left out: the plugin 'mcp' is off. " +
        "/plugins on mcp turns it on.",
    );
}

const configOf = (server: McpServer): object =>
  "url" in server
    ? { url: server.url, headers: valuesOf(server.headers) }
    : { command: server.command, args: server.args, env: valuesOf(server.env) };

const valuesOf = (variables: { name: string; value: string }[]): Record<string, string> =>
  Object.fromEntries(variables.map(({ name, value }) => [name, value]));

/** An editor's name for a server, as zz can use it: at the start of tool names. */
function plainName(editorName: string): string {
  const cleanName = editorName.replace(/[^A-Za-z0-9-]+/g, "_").replace(/^_+|_+$/g, "");
  return (/^[A-Za-z]/.test(cleanName) ? cleanName : `mcp_${cleanName}`).slice(0, MAX_NAME);
}

function unusedName(wantedName: string, takenNames: object): string {
  let [freeName, suffixNumber] = [wantedName, 1];
  while (freeName in takenNames) freeName = `${wantedName}-${++suffixNumber}`;
  return freeName;
}
