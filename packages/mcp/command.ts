// /mcp: lists the servers and what they are doing, and starts, stops or shows one.
import type { Choice, Ctx } from "zz";
import { clip, oneLine, usage } from "zz/text";
import { countOf, type Hub, type Server, serverNamed, stop } from "./hub.ts";
import { resource, started } from "./use-servers.ts";

const VERBS: Record<string, string> = {
  tools: "show its tools as it describes them",
  resources: "list its resources",
  restart: "start it again",
  stop: "end it",
  accept: "look again at tools that are left out",
  login: "log in to it in the browser",
  logout: "forget that login",
};
const NONE =
  'There are no MCP servers. Name some under "mcpServers" in the settings, as docs/mcp.md shows.';

export function complete(hub: Hub | undefined, typed: string): Choice[] {
  const [, verb = "", name] = /^(\S*)(?:\s+(.*))?$/s.exec(typed) ?? [];
  if (name === undefined)
    return Object.entries(VERBS).flatMap(([command, description]) =>
      command.startsWith(verb) ? [{ name: `${command} `, description }] : [],
    );
  return [...(hub?.servers.keys() ?? [])].flatMap((serverName) =>
    serverName.startsWith(name) ? [{ name: `${verb} ${serverName}` }] : [],
  );
}

export async function run(hub: Hub | undefined, typed: string, ctx: Ctx): Promise<void> {
  const [verb = "", name = "", ...extra] = typed.split(/\s+/).filter(Boolean);
  if (!hub) return ctx.note(NONE);
  if (!verb) return ctx.note(list(hub));
  if (!Object.hasOwn(VERBS, verb) || !name || extra.length)
    throw usage(
      `Cannot use '/mcp ${typed}': give ${Object.keys(VERBS).join(", ")}, and a server's name.`,
    );
  const server = serverNamed(hub, name);
  ctx.note(await act(hub, server, verb, ctx));
}

async function act(hub: Hub, server: Server, verb: string, ctx: Ctx): Promise<string> {
  const { name } = server;
  if (verb === "stop") {
    await stop(server);
    return `MCP server '${name}' is stopped. It starts again when it is needed.`;
  }
  if (verb === "login" || verb === "logout") {
    const sentence = await (await import("./oauth.ts"))[verb](hub, server, ctx);
    await stop(server);
    server.failures = 0;
    return sentence;
  }
  if (verb === "resources") {
    await started(name, ctx);
    return (await resource(hub, name, undefined, ctx)).text;
  }
  if (verb === "restart") {
    await stop(server);
    server.failures = 0;
  }
  if (verb === "accept") Object.assign(server, { stale: true, accepts: true });
  await started(name, ctx);
  return verb === "tools" ? tools(server) : `MCP server '${name}' runs: ${countOf(server)}.`;
}

function list({ servers, leftOut }: Hub): string {
  const rows = [...servers.values()].map((server) => {
    const { name, config, from, held } = server;
    const state = stateOf(server);
    const heldCount = held.size ? `, ${held.size} left out` : "";
    const where = config.command ?? config.url?.replace(/\?.*$/, "");
    return `${name}  ${state} · ${countOf(server)}${heldCount} · ${clip(oneLine(where ?? ""), 60)}${ORIGINS[from]}`;
  });
  return [...rows, ...leftOut].join("\n") || NONE;
}

const ORIGINS = { home: "", project: " · of this project", editor: " · of the editor" };

function stateOf({ running, failures, reason }: Server): string {
  if (running) return `runs${running.about.version && ` (version ${running.about.version})`}`;
  return failures ? `failed: ${reason}` : "not needed yet";
}

function tools({ name, catalog, held }: Server): string {
  const rows = catalog!.tools.map((tool) => {
    const hintNames = Object.entries(tool.hints ?? {}).flatMap(([hint, is]) =>
      is ? [hint.replace(/Hint$/, "")] : [],
    );
    const reason = held.get(tool.name);
    return `${tool.name}${hintNames.length ? ` [${hintNames.join(", ")}]` : ""}${reason ? ` (left out: ${reason})` : ""}: ${clip(oneLine(tool.description), 300)}`;
  });
  const gone = [...held]
    .filter(([tool]) => !catalog!.tools.some((knownTool) => knownTool.name === tool))
    .map(([tool, reason]) => `${tool} (left out: ${reason})`);
  return [...rows, ...gone].join("\n") || `MCP server '${name}' has no tools.`;
}
