// MCP, both ways: the tools, resources and prompts of servers, and zz as a server (--mcp). A server
// starts when it is needed; until then zz uses what it learned in an earlier run, or only the name
// of a server that never ran.
import fs from "node:fs";
import path from "node:path";
import type { ChatRequest, Ctx, Tool, Zz } from "zz";
import { byName, clip, tokensOf } from "zz/text";
import { type Asking, personOf } from "./ask-client.ts";
import { toolName } from "./describe.ts";
import {
  type Accepts,
  type Config,
  type Hub,
  lookUp,
  needsOf,
  RESOURCES,
  registeredNameOf,
  type Server,
  stop,
  tell,
} from "./hub.ts";
import { SCHEMA } from "./settings-schema.ts";
import * as use from "./use-servers.ts";

export const defaults: Config = {};
export const settings = { name: "mcpServers", schema: SCHEMA };

const PROJECT_FILE = ".mcp.json";
const NO_TIMEOUT_MS = 2 ** 31 - 1; // the gate may ask, and the person may take any time to answer
const WINDOW_SHARE = 0.05; // the part of the window that descriptions of servers' tools may fill
const [LEAST_TOKENS, MOST_TOKENS] = [400, 4_000];
const MORE_TOOL = "mcp_tools";

const ACCEPTS: Record<keyof Accepts, string> = {
  tools:
    "without a terminal: use tools of MCP servers whose description changed or " +
    "gives orders; they are shown whole",
  defaults: "without a terminal: answer what an MCP server asks with the defaults of its form",
};
const SERVING_HELP =
  "serve zz's tools to an MCP client on stdin and stdout, " +
  "or with a token at this port of this machine";

type Tools = ChatRequest["tools"];

export default (zz: Zz<Config>) => {
  const hub: Hub = {
    zz,
    state: zz.state({ open: [] as string[] }),
    lent: {},
    servers: new Map(),
    leftOut: [],
    disabledNames: [],
    told: new Set(),
    accepts: {},
    names: new Map(),
    commands: new Set(),
    answers: (serverName) => use.answers(hub, serverName),
    learned: (server) => registerLearned(hub, server),
  };
  zz.defer(async () => void (await Promise.all([...hub.servers.values()].map(stop))));
  for (const [subject, description] of Object.entries(ACCEPTS))
    zz.flag({
      name: `accept-${subject}`,
      group: "other programs",
      description,
      set: () => void (hub.accepts[subject as keyof Accepts] = true),
    });
  zz.on("started", async (_, ctx) => void (await upToDate(hub, ctx)));
  zz.wrap("offer", (tools, next, ctx) => offerTools(hub, tools, next, ctx), {
    limit: NO_TIMEOUT_MS,
  });
  zz.wrap("line", async (line, nextLine, ctx) => nextLine(await withResources(hub, line, ctx)), {
    limit: NO_TIMEOUT_MS,
  });
  zz.service("mcpServers", {
    async add(servers, ctx) {
      Object.assign(hub.lent, servers);
      await upToDate(hub, ctx);
    },
  });
  zz.command({
    name: "mcp",
    usage: "[tools|resources|restart|stop|accept|login|logout NAME]",
    description: "list MCP servers and what they are doing; show, restart or log in to one",
    examples: {
      "/mcp": "list the servers, and what each is doing",
      "/mcp tools github": "show its tools as it describes them, and which are left out",
      "/mcp restart github": "start it again",
      "/mcp login github": "log in to it in the browser",
    },
    group: "settings",
    complete: async (typedText, ctx) =>
      (await import("./command.ts")).complete(await upToDate(hub, ctx), typedText),
    run: async (typedText, ctx) =>
      (await import("./command.ts")).run(await upToDate(hub, ctx), typedText, ctx),
  });
  addServing(zz);
  if (Object.keys(zz.config).length || fs.existsSync(path.join(zz.io.cwd(), PROJECT_FILE)))
    register(hub); // --call needs them now
};

function addServing(zz: Zz<Config>): void {
  const asking: Asking = {};
  zz.flag({
    name: "mcp",
    value: "PORT",
    optional: true,
    group: "other programs",
    description: SERVING_HELP,
    run: async (flagValue, ctx) => (await import("./serve.ts")).serve(zz, flagValue, ctx, asking),
    person: () => personOf(asking),
  });
}

/** The hub with the servers as they are configured now. */
async function upToDate(hub: Hub, ctx: Ctx): Promise<Hub> {
  await lookUp(hub, ctx);
  if (hub.servers.size || hub.leftOut.length) register(hub);
  for (const sentence of hub.leftOut) tell(hub, ctx, sentence);
  return hub;
}

/** Registers the tools and prompts of a server that are not registered yet. */
function registerLearned(hub: Hub, { name: server, catalog }: Server): void {
  const { zz, names, commands } = hub;
  for (const { name: tool } of catalog!.tools) {
    if (registeredNameOf(hub, server, tool)) continue;
    const registeredName = toolName(server, tool, [...names.values()]);
    names.set(`${server} ${tool}`, registeredName);
    zz.tool(use.toolFor(hub, server, tool, registeredName));
  }
  for (const knownPrompt of catalog!.prompts) {
    const name = toolName(server, knownPrompt.name);
    if (commands.has(name)) continue;
    commands.add(name);
    const usage = use.usageOf(knownPrompt);
    const exampleCommand = `/${name}${usage && ` ${usage}`}`;
    zz.command({
      name,
      usage,
      group: "MCP",
      description: clip(
        `${knownPrompt.description || knownPrompt.name} (a prompt of MCP server ${server})`,
        160,
      ),
      examples: {
        [exampleCommand]: `send the prompt '${knownPrompt.name}' of MCP server '${server}'`,
      },
      run: (typedText, ctx) => use.sendPrompt(hub, server, knownPrompt.name, typedText, ctx),
    });
  }
}

/** Registers the plugin's own tools, once. */
function register(hub: Hub): void {
  if (hub.isRegistered) return;
  hub.isRegistered = true;
  registerMore(hub);
  registerUses(hub);
  registerWishes(hub);
}

const COMMON_FIELDS = { timeout: NO_TIMEOUT_MS, kind: "run" as const };

/** What the model uses of a server. */
function registerUses(hub: Hub): void {
  const { zz } = hub;
  zz.tool({
    ...COMMON_FIELDS,
    name: "mcp_call",
    description: "Call a tool of an MCP server by its own name.",
    params: {
      type: "object",
      properties: {
        server: { type: "string", description: "as the settings name it" },
        tool: { type: "string", description: "one of its tools" },
        arguments: { type: "object", description: "for that tool" },
      },
      required: ["server", "tool"],
    } as object,
    needs: async ({ server, tool }: any, ctx) =>
      needsOf(await upToDate(hub, ctx), server, tool, ctx),
    run: async ({ server, tool, arguments: callArguments = {} }: any, ctx) =>
      use.call(await upToDate(hub, ctx), server, tool, callArguments, ctx),
  } as Tool);
  zz.tool({
    ...COMMON_FIELDS,
    name: "mcp_resource",
    description: "Read a resource of an MCP server; without a URI: list them.",
    params: { server: "string its name", uri: "string? as listed" },
    needs: async ({ server }, ctx) => needsOf(await upToDate(hub, ctx), server, RESOURCES, ctx),
    run: async ({ server, uri }, ctx) => use.resource(await upToDate(hub, ctx), server, uri, ctx),
  });
  zz.tool({
    ...COMMON_FIELDS,
    name: "mcp_start",
    description: "Start an MCP server.",
    params: { server: "string its name" },
    needs: async ({ server }, ctx) => use.startNeedsOf(await upToDate(hub, ctx), [server], ctx),
    run: async ({ server }, ctx) => use.start(await upToDate(hub, ctx), server, ctx),
  });
}

/** What a server wants of the person, each asked for by the gate. */
function registerWishes({ zz }: Hub): void {
  zz.tool({
    ...COMMON_FIELDS,
    name: "mcp_reach",
    description: "Reach a host that an MCP server names for its login.",
    params: {
      type: "object",
      properties: { server: { type: "string" }, host: { type: "string" }, agreed: {} },
      required: ["server", "host"],
    } as object,
    needs: ({ server, host, agreed }: any) => ({
      net: [
        typeof agreed === "function" && agreed() === true
          ? { name: host, verdict: "allow", why: `you agreed to it for the login to '${server}'` }
          : host,
      ],
    }),
    preview: ({ server }: any) => `MCP server '${server}' names this host for its login.`,
    run: () => "",
  } as Tool);
  zz.tool({
    ...COMMON_FIELDS,
    name: "mcp_sampling",
    description: "What an MCP server asks the model, once the person has agreed.",
    params: { id: "string of what it asks" },
    needs: ({ id }) => use.samplingNeeds(id),
    preview: ({ id }) => use.samplingPreview(id),
    run: ({ id }, ctx) => use.sample(id, ctx),
  });
}

/** The tool that describes what is not described yet. */
function registerMore(hub: Hub): void {
  const { zz, state } = hub;
  zz.tool({
    name: MORE_TOOL,
    timeout: NO_TIMEOUT_MS,
    description: "Get the tools of MCP servers that are not described yet.",
    params: { servers: "string[] as listed" },
    needs: async ({ servers }, ctx) => use.startNeedsOf(await upToDate(hub, ctx), servers, ctx),
    async run({ servers }, ctx) {
      const describedText = await use.describeAll(await upToDate(hub, ctx), servers, ctx);
      state.open = [...new Set([...state.open, ...servers])];
      return describedText;
    },
  });
}

/**
 * Offers as many of the servers' tools as fit. Servers whose tools do not fit are named by the tool
 * mcp_tools.
 */
async function offerTools(
  hub: Hub,
  offeredTools: Tools,
  nextOffer: (keptTools: Tools) => Promise<Tools>,
  ctx: Ctx,
): Promise<Tools> {
  await upToDate(hub, ctx);
  if (!hub.isRegistered) return nextOffer(offeredTools);
  await use.renew(hub, ctx);
  // --tool may leave some out
  const registered = new Map(
    ctx.about.tools.map((registeredTool) => [registeredTool.name, registeredTool]),
  );
  const servers = [...hub.servers.values()];
  const hasResources = servers.some(({ catalog }) => catalog?.resources);
  const otherTools = await nextOffer(
    offeredTools.filter(
      ({ name }) =>
        registered.get(name)?.owner !== "mcp" || (name === "mcp_resource" && hasResources),
    ),
  );
  const window =
    ctx.chat.window ??
    (await ctx.about.model(ctx.chat.model, true))?.window ??
    Number.POSITIVE_INFINITY;
  let remainingTokens = Math.max(LEAST_TOKENS, Math.min(MOST_TOKENS, window * WINDOW_SHARE));
  const described: Tools = [];
  const hiddenServers: Server[] = [];
  const isOpen = ({ name }: Server) => hub.state.open.includes(name);
  for (const candidate of [
    ...servers.filter(isOpen),
    ...servers.filter((server) => !isOpen(server)),
  ]) {
    const offered = use.offeredOf(hub, candidate).filter(({ name }) => registered.has(name));
    const descriptionTokens = tokensOf(JSON.stringify(offered));
    if (candidate.catalog && (isOpen(candidate) || descriptionTokens <= remainingTokens)) {
      described.push(...offered);
      remainingTokens -= descriptionTokens;
    } else hiddenServers.push(candidate);
  }
  const moreTool = registered.get(MORE_TOOL);
  if (moreTool && hiddenServers.length) {
    const { name, schema, description } = moreTool;
    described.push({
      name,
      schema,
      description: `${description} There are: ${hiddenServers.map(use.briefly).join("; ")}.`,
    });
  }
  return [...otherTools, ...described.sort(byName)];
}

async function withResources(hub: Hub, typedLine: string, ctx: Ctx): Promise<string> {
  if (!/@[A-Za-z][\w-]*:/.test(typedLine) || typedLine.startsWith("!")) return typedLine;
  return use.attachResources(await upToDate(hub, ctx), typedLine, ctx);
}
