// /mcp: lists the servers and what they are doing, and starts, stops or shows one.
import type { Choice, Ctx } from "zz";
import { clip, oneLine, usage } from "zz/text";
import { shownName } from "./describe.ts";
import { countOf, type Hub, type Server, serverNamed, stop } from "./hub.ts";
import { resource, startThroughGate } from "./use-servers.ts";

const VERB_DESCRIPTIONS: Record<string, string> = {
  tools: "show its tools as it describes them",
  resources: "list its resources",
  restart: "start it again",
  stop: "end it",
  accept: "look again at tools that are left out",
  login: "log in to it in the browser",
  logout: "forget that login",
};
const NO_SERVERS =
  'There are no MCP servers. Name some under "mcpServers" in the settings, as docs/mcp.md shows.';

export function complete({ servers }: Hub, typedText: string): Choice[] {
  const [, typedVerb = "", namePrefix] = /^(\S*)(?:\s+(.*))?$/s.exec(typedText) ?? [];
  if (namePrefix === undefined)
    return Object.entries(VERB_DESCRIPTIONS).flatMap(([command, description]) =>
      command.startsWith(typedVerb) ? [{ name: `${command} `, description }] : [],
    );
  return [...servers.keys()].flatMap((serverName) =>
    serverName.startsWith(namePrefix) ? [{ name: `${typedVerb} ${serverName}` }] : [],
  );
}

export async function run(hub: Hub, typedText: string, ctx: Ctx): Promise<void> {
  const [typedVerb = "", serverName = "", ...extraWords] = typedText.split(/\s+/).filter(Boolean);
  if (!typedVerb) return ctx.note(listServers(hub));
  if (!Object.hasOwn(VERB_DESCRIPTIONS, typedVerb) || !serverName || extraWords.length)
    throw usage(
      `Cannot use '/mcp ${typedText}': ` +
        `give ${Object.keys(VERB_DESCRIPTIONS).join(", ")}, and a server's name.`,
    );
  const server = serverNamed(hub, serverName);
  ctx.note(await runVerb(hub, server, typedVerb, ctx));
}

async function runVerb(hub: Hub, server: Server, typedVerb: string, ctx: Ctx): Promise<string> {
  const { name } = server;
  if (typedVerb === "stop") {
    await stop(server);
    return `MCP server '${name}' is stopped. It starts again when it is needed.`;
  }
  if (typedVerb === "login" || typedVerb === "logout") {
    const sentence = await (await import("./oauth.ts"))[typedVerb](hub, server, ctx);
    await stop(server);
    server.failures = 0;
    return sentence;
  }
  if (typedVerb === "resources") {
    await startThroughGate(name, ctx);
    return (await resource(hub, name, undefined, ctx)).text;
  }
  if (typedVerb === "restart") {
    await stop(server);
    server.failures = 0;
  }
  if (typedVerb === "accept") Object.assign(server, { stale: true, accepts: true });
  const startedSentence = await startThroughGate(name, ctx);
  return typedVerb === "tools" ? listTools(server) : startedSentence;
}

function listServers({ servers, leftOut }: Hub): string {
  const serverRows = [...servers.values()].map((server) => {
    const { name, config, from, held } = server;
    const stateWords = stateOf(server);
    const heldCount = held.size ? `, ${held.size} left out` : "";
    const location = config.command ?? config.url?.replace(/\?.*$/, "");
    return (
      `${name}  ${stateWords} · ${countOf(server)}${heldCount} · ` +
      `${clip(oneLine(location ?? ""), 60)}${ORIGINS[from]}`
    );
  });
  return [...serverRows, ...leftOut].join("\n") || NO_SERVERS;
}

const ORIGINS = { home: "", project: " · of this project", editor: " · of the editor" };

function stateOf({ running, failures, reason }: Server): string {
  if (running) return `runs${running.about.version && ` (version ${running.about.version})`}`;
  return failures ? `failed: ${reason}` : "not needed yet";
}

function listTools({ name, catalog, held }: Server): string {
  const toolRows = catalog!.tools.map((listedTool) => {
    const hintNames = Object.entries(listedTool.hints ?? {}).flatMap(([hintName, isHinted]) =>
      isHinted ? [hintName.replace(/Hint$/, "")] : [],
    );
    const heldReason = held.get(listedTool.name);
    return (
      `${shownName(listedTool.name)}${hintNames.length ? ` [${hintNames.join(", ")}]` : ""}` +
      `${heldReason ? ` (left out: ${heldReason})` : ""}: ` +
      clip(oneLine(listedTool.description), 300)
    );
  });
  const missingRows = [...held]
    .filter(([heldName]) => !catalog!.tools.some((knownTool) => knownTool.name === heldName))
    .map(([heldName, heldReason]) => `${shownName(heldName)} (left out: ${heldReason})`);
  return [...toolRows, ...missingRows].join("\n") || `MCP server '${name}' has no tools.`;
}
