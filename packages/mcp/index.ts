// MCP, both ways: the tools, resources and prompts of servers, and zz as a server (--mcp). A server
// starts when it is needed; until then zz uses what it learned in an earlier run, or only the name
// of a server that never ran.
import fs from "node:fs";
import path from "node:path";
import type { ChatRequest, Ctx, Tool, Zz } from "zz";
import { clip, compare, fault, tokensOf } from "zz/text";
import { type Asking, personOf } from "./ask-client.ts";
import type { Accepts, Hub, Server } from "./hub.ts";
import { lookUp, stop } from "./hub.ts";
import { SCHEMA, type ServerConfig } from "./settings-schema.ts";
import * as use from "./use-servers.ts";

export const defaults: Record<string, ServerConfig> = {};
export const settings = { name: "mcpServers", schema: SCHEMA };

const PROJECT_FILE = ".mcp.json";
const NO_TIMEOUT_MS = 2 ** 31 - 1; // the gate may ask, and the person may take any time to answer
const WINDOW_SHARE = 0.05; // the part of the window that descriptions of servers' tools may fill
const [LEAST_TOKENS, MOST_TOKENS] = [400, 4_000];
const MORE_TOOL = "mcp_tools";
// for offer(), scripts, /mcp and servers
const HIDDEN_TOOLS = new Set([MORE_TOOL, "mcp_call", "mcp_start", "mcp_reach", "mcp_sampling"]);

const ACCEPTS: Record<keyof Accepts, string> = {
  tools:
    "without a terminal: use tools of MCP servers whose description changed or " +
    "gives orders; they are shown whole",
  defaults: "without a terminal: answer what an MCP server asks with the defaults of its form",
};
const SERVING_HELP =
  "serve zz's tools to an MCP client on stdin and stdout, " +
  "or with a token at this port of this machine";

type Config = typeof defaults;
type Tools = ChatRequest["tools"];
/** Loaded once there are servers. */
interface Loaded {
  hub: Hub;
  use: typeof import("./use-servers.ts");
  lookUp: typeof import("./hub.ts").lookUp;
}
/** The state of the plugin. */
interface PluginState {
  zz: Zz<Config>;
  state: { open: string[] }; // servers whose tools the model asked for
  names: Map<string, { server: string; tool: string }>; // of the tools that were registered
  commands: Set<string>;
  lent: Config; // servers that an editor names for this instance alone
  accepts: Accepts;
  loaded?: Promise<Loaded>;
  isRegistered?: true; // whether the plugin's own tools are registered
}

export default (zz: Zz<Config>) => {
  const state = zz.state({ open: [] as string[] });
  const plugin: PluginState = {
    zz,
    state,
    names: new Map(),
    commands: new Set(),
    lent: {},
    accepts: {},
  };
  for (const [subject, description] of Object.entries(ACCEPTS))
    zz.flag({
      name: `accept-${subject}`,
      group: "other programs",
      description,
      set: () => void (plugin.accepts[subject as keyof Accepts] = true),
    });
  zz.on("started", async (_, ctx) => void (await loadServers(plugin, ctx)));
  zz.wrap("offer", (tools, next, ctx) => offerTools(plugin, tools, next, ctx), {
    limit: NO_TIMEOUT_MS,
  });
  zz.wrap("line", async (line, nextLine, ctx) => nextLine(await withResources(plugin, line, ctx)), {
    limit: NO_TIMEOUT_MS,
  });
  zz.service("mcpServers", {
    async add(servers, ctx) {
      Object.assign(plugin.lent, servers);
      await loadServers(plugin, ctx);
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
      (await import("./command.ts")).complete((await loadServers(plugin, ctx))?.hub, typedText),
    run: async (typedText, ctx) =>
      (await import("./command.ts")).run((await loadServers(plugin, ctx))?.hub, typedText, ctx),
  });
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
  if (Object.keys(zz.config).length || fs.existsSync(path.join(zz.io.cwd(), PROJECT_FILE)))
    register(plugin); // --call needs them now
};

/** Loads the parts for servers and looks up the servers; undefined if there are none. */
async function loadServers(plugin: PluginState, ctx: Ctx): Promise<Loaded | undefined> {
  if (
    !plugin.loaded &&
    !Object.keys({ ...plugin.zz.config, ...plugin.lent }).length &&
    !ctx.plugins.brought?.files.includes(PROJECT_FILE)
  )
    return undefined;
  plugin.loaded ??= loadParts(plugin);
  const loaded = await plugin.loaded;
  register(plugin);
  loaded.lookUp(loaded.hub, ctx);
  for (const sentence of loaded.hub.leftOut) loaded.use.tell(loaded.hub, ctx, sentence);
  return loaded;
}

async function loadParts({ zz, lent, names, commands, accepts }: PluginState): Promise<Loaded> {
  const hub: Hub = {
    zz,
    lent,
    servers: new Map(),
    leftOut: [],
    told: new Set(),
    accepts,
    answers: use.answers(zz, accepts),
    learned,
  };
  zz.defer(async () => void (await Promise.all([...hub.servers.values()].map(stop))));
  return { hub, use, lookUp };

  function learned({ name: server, catalog }: Server): void {
    for (const { name: tool } of catalog!.tools) {
      if (registeredNameOf(names, server, tool)) continue;
      const registeredName = use.toolName(server, tool, (candidate) => names.has(candidate));
      names.set(registeredName, { server, tool });
      zz.tool(use.toolFor(hub, server, tool, registeredName));
    }
    for (const knownPrompt of catalog!.prompts) {
      const name = use.toolName(server, knownPrompt.name, () => false);
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
}
const registeredNameOf = (
  originsByName: PluginState["names"],
  serverName: string,
  remoteTool: string,
): string | undefined =>
  [...originsByName].find(
    ([, toolOrigin]) => toolOrigin.server === serverName && toolOrigin.tool === remoteTool,
  )?.[0];

/** Registers the plugin's own tools, once. Each loads what it needs when it is called. */
function register(plugin: PluginState): void {
  if (plugin.isRegistered) return;
  plugin.isRegistered = true;
  registerMore(plugin);
  registerUses(plugin);
  registerWishes(plugin);
}

const COMMON_FIELDS = { timeout: NO_TIMEOUT_MS, kind: "run" as const };

/** What the model uses of a server. */
function registerUses(plugin: PluginState): void {
  const { zz } = plugin;
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
    needs: async (callArguments: any, ctx) =>
      requireLoaded(plugin, ctx).then(({ hub, use }) =>
        use.callNeeds(hub, callArguments.server, callArguments.tool, ctx),
      ),
    run: async (callArguments: any, ctx) =>
      requireLoaded(plugin, ctx).then(({ hub, use }) =>
        use.call(hub, callArguments.server, callArguments.tool, callArguments.arguments ?? {}, ctx),
      ),
  } as Tool);
  zz.tool({
    ...COMMON_FIELDS,
    name: "mcp_resource",
    description: "Read a resource of an MCP server; without a URI: list them.",
    params: { server: "string its name", uri: "string? as listed" },
    needs: async ({ server }, ctx) =>
      requireLoaded(plugin, ctx).then(({ hub, use }) => use.resourceNeeds(hub, server, ctx)),
    run: async ({ server, uri }, ctx) =>
      requireLoaded(plugin, ctx).then(({ hub, use }) => use.resource(hub, server, uri, ctx)),
  });
  zz.tool({
    ...COMMON_FIELDS,
    name: "mcp_start",
    description: "Start an MCP server.",
    params: { server: "string its name" },
    needs: async ({ server }, ctx) =>
      requireLoaded(plugin, ctx).then(({ hub, use }) => use.startNeedsOf(hub, [server], ctx)),
    run: async ({ server }, ctx) =>
      requireLoaded(plugin, ctx).then(({ hub, use }) => use.start(hub, server, ctx)),
  });
}

/** What a server wants of the person, each asked for by the gate. */
function registerWishes(plugin: PluginState): void {
  const { zz } = plugin;
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
    needs: async ({ id }, ctx) =>
      requireLoaded(plugin, ctx).then(({ use }) => use.samplingNeeds(id)),
    preview: async ({ id }, ctx) =>
      requireLoaded(plugin, ctx).then(({ use }) => use.samplingPreview(id)),
    run: async ({ id }, ctx) => requireLoaded(plugin, ctx).then(({ use }) => use.sample(id, ctx)),
  });
}

/** The tool that describes what is not described yet. */
function registerMore(plugin: PluginState): void {
  const { zz, state, names } = plugin;
  zz.tool({
    name: MORE_TOOL,
    timeout: NO_TIMEOUT_MS,
    description: "Get the tools of MCP servers that are not described yet.",
    params: { servers: "string[] as listed" },
    needs: async ({ servers }, ctx) =>
      requireLoaded(plugin, ctx).then(({ hub, use }) => use.startNeedsOf(hub, servers, ctx)),
    async run({ servers }, ctx) {
      const { hub, use } = await requireLoaded(plugin, ctx);
      const describedText = await use.describeAll(
        hub,
        servers,
        (serverName, remoteTool) => registeredNameOf(names, serverName, remoteTool),
        ctx,
      );
      state.open = [...new Set([...state.open, ...servers])];
      return describedText;
    },
  });
}

async function requireLoaded(plugin: PluginState, ctx: Ctx): Promise<Loaded> {
  const loaded = await loadServers(plugin, ctx);
  if (!loaded)
    throw fault('There are no MCP servers. Name some under "mcpServers" in the settings.');
  return loaded;
}

/**
 * Offers as many of the servers' tools as fit. Servers whose tools do not fit are named by the tool
 * mcp_tools.
 */
async function offerTools(
  plugin: PluginState,
  offeredTools: Tools,
  nextOffer: (keptTools: Tools) => Promise<Tools>,
  ctx: Ctx,
): Promise<Tools> {
  const loaded = await loadServers(plugin, ctx);
  if (!loaded) return nextOffer(offeredTools);
  const { names, state } = plugin;
  const { hub, use } = loaded;
  await use.renew(hub, ctx);
  // --tool may leave some out
  const registered = new Map(
    ctx.about.tools.map((registeredTool) => [registeredTool.name, registeredTool]),
  );
  const servers = [...hub.servers.values()];
  const isServerTool = ({ name }: { name: string }) =>
    names.has(name) ||
    HIDDEN_TOOLS.has(name) ||
    (name === "mcp_resource" && !servers.some(({ catalog }) => catalog?.resources));
  const otherTools = await nextOffer(
    offeredTools.filter((offeredTool) => !isServerTool(offeredTool)),
  );
  const window =
    ctx.chat.window ??
    (await ctx.about.model(ctx.chat.model, true))?.window ??
    Number.POSITIVE_INFINITY;
  let remainingTokens = Math.max(LEAST_TOKENS, Math.min(MOST_TOKENS, window * WINDOW_SHARE));
  const described: Tools = [];
  const hiddenServers: Server[] = [];
  const isOpen = ({ name }: Server) => state.open.includes(name);
  for (const candidate of [
    ...servers.filter(isOpen),
    ...servers.filter((server) => !isOpen(server)),
  ]) {
    const offered = use
      .offeredOf(candidate, (...serverAndTool) => registeredNameOf(names, ...serverAndTool))
      .filter(({ name }) => registered.has(name));
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
  return [...otherTools, ...described.sort((first, second) => compare(first.name, second.name))];
}

async function withResources(plugin: PluginState, typedLine: string, ctx: Ctx): Promise<string> {
  if (!/@[A-Za-z][\w-]*:/.test(typedLine) || typedLine.startsWith("!")) return typedLine;
  const loaded = await loadServers(plugin, ctx);
  return loaded ? loaded.use.attachResources(loaded.hub, typedLine, ctx) : typedLine;
}
