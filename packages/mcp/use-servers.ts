// Uses servers: calls and describes their tools, reads their resources, sends their prompts,
// answers their questions.
import type { Ctx, Message, Needs, Result, Tool, Zz } from "zz";
import { clean, clip, fault, oneLine, plural, sentenceOf } from "zz/text";
import { type KnownPrompt, type KnownTool, steering, toolName } from "./describe.ts";
import {
  type Accepts,
  countOf,
  type Hub,
  needName,
  needsOf,
  running,
  type Server,
  serverNamed,
  stop,
  tell,
} from "./hub.ts";
import type { Answers } from "./link.ts";
import { cut, ofResource, readContent, resultOf } from "./results.ts";
import { allow, isAny, wordsOf } from "./sandbox-denials.ts";

export { tell, toolName };

const [MAX_LISTED, MAX_NAMES, MAX_BRIEF_CHARS] = [200, 8, 400];
const [CALL_SECONDS, START_MS] = [120, 60_000];

/**
 * A server's tool as a tool of zz. Getters look up its description each time, since the server may
 * change it.
 */
export function toolFor(hub: Hub, server: string, tool: string, name: string): Tool {
  const currentTool = () =>
    hub.servers.get(server)?.catalog?.tools.find((candidate) => candidate.name === tool);
  return {
    name,
    aliases: [`mcp__${name}`],
    get description() {
      return descriptionOf(server, currentTool());
    },
    get params() {
      return (currentTool()?.schema ?? { type: "object" }) as object;
    },
    get kind() {
      return hub.servers.get(server)?.config.readOnly === "believe" &&
        currentTool()?.hints?.readOnlyHint
        ? undefined
        : ("run" as const);
    },
    get timeout() {
      return (hub.servers.get(server)?.config.timeout ?? CALL_SECONDS) * 1_000 + START_MS;
    },
    needs: (_, ctx) => callNeeds(hub, server, tool, ctx),
    preview: (args) => preview(server, currentTool(), args),
    family: (need) => (need.startsWith("mcp:") ? need.split(" ")[0] : undefined),
    run: (args, ctx) => call(hub, server, tool, args, ctx),
  } as Tool;
}

const descriptionOf = (server: string, tool: KnownTool | undefined): string =>
  `MCP server '${server}' says: ${tool?.description || "(nothing)"}`;

function preview(server: string, tool: KnownTool | undefined, args: unknown): string {
  const { readOnlyHint, destructiveHint, openWorldHint } = tool?.hints ?? {};
  const hintTexts = [
    readOnlyHint && "it only reads",
    destructiveHint && !readOnlyHint && "it may destroy something",
    openWorldHint && "it reaches beyond this machine",
  ].filter(Boolean);
  const claims = hintTexts.length
    ? `\nBy the word of MCP server '${server}', ${hintTexts.join(", ")}.`
    : "";
  return `${JSON.stringify(args, null, 2)}${claims}`;
}

export async function callNeeds(hub: Hub, name: string, tool: string, ctx: Ctx): Promise<Needs> {
  return needsOf(hub, serverNamed(hub, name), tool, ctx);
}

export async function call(
  hub: Hub,
  name: string,
  tool: string,
  args: unknown,
  ctx: Ctx,
): Promise<Result> {
  const server = serverNamed(hub, name);
  const link = await running(hub, server, ctx);
  const heldReason = server.held.get(tool);
  if (heldReason)
    throw fault(
      `Cannot call '${tool}' of MCP server '${name}': ${heldReason}. The person can look at it: /mcp accept ${name}`,
    );
  if (!server.catalog!.tools.some((candidate) => candidate.name === tool)) {
    const names = server.catalog!.tools.map((candidate) => candidate.name).slice(0, MAX_LISTED);
    throw fault(
      `Cannot call '${tool}' of MCP server '${name}': it has no such tool. It has: ${names.join(", ") || "none"}.`,
    );
  }
  const result = resultOf(await link.call(tool, args, ctx));
  const kept = result.failed ? server.kept?.(result.text) : undefined;
  if (!kept || !isAny(kept)) return result;
  const isAllowed = await allow(hub, server, kept, ctx);
  if (isAllowed) await stop(server);
  const next = isAllowed ? "It is allowed now: call it again." : wordsOf(server, kept);
  return { ...result, text: `${result.text}\n[zz: ${next}]` };
}

/** The tools of a server that the model is offered. */
export function offeredOf(
  server: Server,
  nameOf: (server: string, tool: string) => string | undefined,
) {
  const offered = server.catalog?.tools.filter(({ name }) => !server.held.has(name)) ?? [];
  return offered.flatMap((tool) => {
    const name = nameOf(server.name, tool.name);
    return name
      ? [{ name, description: descriptionOf(server.name, tool), schema: tool.schema }]
      : [];
  });
}

/** `github (35 tools: search_issues, …)`. */
export function briefly({ name, catalog }: Server): string {
  if (!catalog) return `${name} (not started yet)`;
  const names = catalog.tools.slice(0, MAX_NAMES).map((tool) => tool.name);
  return clip(
    `${name} (${plural(catalog.tools.length, "tool")}: ${names.join(", ")}${catalog.tools.length > MAX_NAMES ? ", …" : ""})`,
    MAX_BRIEF_CHARS,
  );
}

/** Asks running servers again for their lists if they reported a change. */
export async function renew(hub: Hub, ctx: Ctx): Promise<void> {
  for (const server of hub.servers.values())
    if (server.stale && server.running)
      await running(hub, server, ctx).catch((error) => tell(hub, ctx, sentenceOf(error)));
}

export async function startNeedsOf(hub: Hub, names: readonly string[], ctx: Ctx): Promise<Needs> {
  const allNeeds: Needs = {};
  for (const name of names) {
    const server = serverNamed(hub, name);
    if (server.running) continue;
    const needs = await needsOf(hub, server, undefined, ctx);
    for (const needKind of ["run", "net", "env"] as const)
      if (needs[needKind]) allNeeds[needKind] = [...(allNeeds[needKind] ?? []), ...needs[needKind]];
  }
  return allNeeds;
}

export async function describeAll(
  hub: Hub,
  names: readonly string[],
  nameOf: (server: string, tool: string) => string | undefined,
  ctx: Ctx,
): Promise<string> {
  const rows: string[] = [];
  for (const name of names) {
    const server = serverNamed(hub, name);
    const link = await running(hub, server, ctx);
    rows.push(
      ...offeredOf(server, nameOf).map(
        (tool) => `${tool.name}: ${clip(oneLine(tool.description), 120)}`,
      ),
    );
    const { instructions } = link.about;
    const steers = steering({ description: instructions, schema: {} });
    if (steers)
      ctx.note(
        `What MCP server '${name}' says of itself is left out, since it would steer the model: ${steers}`,
      );
    else if (instructions)
      rows.push(`MCP server '${name}' says of itself: ${clip(oneLine(instructions), 1_000)}`);
  }
  return rows.length
    ? `Described from now on:\n${rows.slice(0, MAX_LISTED).join("\n")}`
    : "They have no tools.";
}

// Resources

export async function resourceNeeds(hub: Hub, name: string, ctx: Ctx): Promise<Needs> {
  return needsOf(hub, serverNamed(hub, name), "resources/read", ctx);
}

export async function resource(
  hub: Hub,
  name: string,
  uri: string | undefined,
  ctx: Ctx,
): Promise<Result> {
  const link = await running(hub, serverNamed(hub, name), ctx);
  if (!link.can.resources) throw fault(`MCP server '${name}' has no resources.`);
  if (uri !== undefined) return readResource(await link.read(uri, ctx));
  const resources = await link.resources(ctx);
  const rows = resources
    .slice(0, MAX_LISTED)
    .map(
      (resource) =>
        `${resource.uri}  ${resource.name}${resource.description && `: ${resource.description}`}`,
    );
  return { text: cut(rows.join("\n")) || "It has none now.", data: resources };
}

function readResource({ contents = [] }: { contents?: object[]; content?: object[] }): Result {
  const images: NonNullable<Result["images"]> = [];
  const text = contents
    .map((content) => ofResource(content, images))
    .filter(Boolean)
    .join("\n");
  return {
    text: cut(text) || (images.length ? "" : "[It is empty.]"),
    ...(images.length && { images }),
  };
}

const MENTION = /(?<![\w\\@.+/-])@([A-Za-z][\w-]*):([a-zA-Z][\w+.-]*:\/*[^\s]+|[^\s:]+)/g;

/** Attaches each resource that @server:uri names to the message; the text of the line stays. */
export async function attachResources(hub: Hub, line: string, ctx: Ctx): Promise<string> {
  const command = /^\/([A-Za-z][\w-]*)(?:\s|$)/.exec(line.trim())?.[1];
  if (
    command &&
    ctx.about.commands.some(
      ({ name, group }) => name === command && group !== "templates" && group !== "MCP",
    )
  )
    return line;
  const named = [...line.matchAll(MENTION)].filter(([, name = ""]) => hub.servers.has(name));
  for (const [, name = "", mention = ""] of named) {
    const uri = mention.replace(/[.,;!?)\]'"]+$/, "");
    try {
      const denied = ctx.permissions.judge("run", needName(name, "resources/read"));
      if (denied.verdict === "deny") throw fault(`it is denied ${denied.why}.`);
      await started(name, ctx);
      const { text, images = [] } = await resource(hub, name, uri, ctx);
      const title = `RESOURCE ${name}:${uri}`;
      if (text) ctx.chat.attach(`--- ${title} ---\n${text}\n--- END ${title} ---`);
      images.forEach(ctx.chat.attach);
      ctx.note(`Attached ${name}:${uri}.`);
    } catch (error) {
      ctx.signal.throwIfAborted();
      ctx.note(`@${name}:${uri} is not attached: ${sentenceOf(error)}`);
    }
  }
  return named.length
    ? line.replace(MENTION, (matched, name) => (hub.servers.has(name) ? `\\${matched}` : matched))
    : line;
}

/** Starts a server through the gate, also when the person asked for it. */
export async function started(name: string, ctx: Ctx): Promise<void> {
  const { failed, text } = await ctx.call("mcp_start", { server: name });
  if (failed) throw fault(text);
}
export async function start(hub: Hub, name: string, ctx: Ctx): Promise<string> {
  const server = serverNamed(hub, name);
  await running(hub, server, ctx);
  return `MCP server '${name}' runs: ${countOf(server)}.`;
}

// Prompts

export const usageOf = ({ args }: KnownPrompt): string =>
  args.map(({ name, required }) => (required ? name.toUpperCase() : `[${name}=…]`)).join(" ");

/**
 * `/server__prompt first second name=third`: unnamed words fill the other arguments in order, the
 * last the rest.
 */
export async function sendPrompt(
  hub: Hub,
  name: string,
  prompt: string,
  typed: string,
  ctx: Ctx,
): Promise<void> {
  const server = serverNamed(hub, name);
  await started(name, ctx);
  const link = await running(hub, server, ctx);
  const knownPrompt = server.catalog!.prompts.find((candidate) => candidate.name === prompt);
  if (!knownPrompt) throw fault(`MCP server '${name}' no longer has the prompt '${prompt}'.`);
  const args = argumentsOf(knownPrompt, typed);
  const missing = knownPrompt.args
    .filter((arg) => arg.required && args[arg.name] === undefined)
    .map((arg) => arg.name);
  if (missing.length)
    throw fault(
      `Cannot send '${prompt}': it needs ${missing.join(" and ")}. Type them after the name.`,
    );
  const { messages = [] } = await link.prompt(prompt, args, ctx);
  const texts = messages.map(({ role, content }: any) => {
    const { text, images } = readContent([content].flat());
    images.forEach(ctx.chat.attach);
    return role === "assistant" && text ? `(You answered:)\n${text}` : text;
  });
  const text = cut(texts.filter(Boolean).join("\n\n"));
  if (!text) throw fault(`MCP server '${name}' gave an empty prompt for '${prompt}'.`);
  ctx.note(`${prompt} of MCP server '${name}': ${clip(oneLine(clean(text)), 200)}`);
  ctx.chat.send(text);
}

function argumentsOf({ args }: KnownPrompt, typed: string): Record<string, string> {
  const argumentValues: Record<string, string> = {};
  const words = [...typed.matchAll(/(?:([\w-]+)=)?(?:"([^"]*)"|'([^']*)'|(\S+))/g)];
  const bare = words.flatMap(([word, name, doubleQuoted, singleQuoted, three]) => {
    const value = doubleQuoted ?? singleQuoted ?? three ?? "";
    if (name && args.some((arg) => arg.name === name)) argumentValues[name] = value;
    else return name ? [word] : [value];
    return [];
  });
  const open = args.filter(({ name }) => !(name in argumentValues));
  open.forEach(({ name }, i) => {
    const value = i === open.length - 1 ? bare.slice(i).join(" ") : bare[i];
    if (value) argumentValues[name] = value;
  });
  return argumentValues;
}

// Servers' questions to the model and the person

type Asked = { server: string; params: any };
// a server's questions to the model, by an id that only zz knows
const asked = new Map<string, Asked>();
let count = 0;

export function answers(zz: Pick<Zz, "veil">, accepts: Accepts): (server: string) => Answers {
  return (server) => ({
    async sample(params, ctx) {
      const id = `${process.pid}-${++count}-${Math.random().toString(36).slice(2)}`;
      asked.set(id, { server, params });
      try {
        const { text, failed, data } = await ctx.call("mcp_sampling", { id });
        if (failed) throw fault(text);
        return {
          role: "assistant",
          content: { type: "text", text: zz.veil(text) },
          model: String(data ?? "model"),
          stopReason: "endTurn",
        };
      } finally {
        asked.delete(id);
      }
    },
    elicit: async (params, ctx) =>
      (await import("./elicit.ts")).elicit(server, params, ctx, accepts.defaults),
  });
}

function askedBy(id: string): Asked {
  const question = asked.get(id);
  if (!question)
    throw fault(
      "Cannot ask the model for a server: no server asks. Only a server's own request starts this.",
    );
  return question;
}

export function samplingNeeds(id: string): Needs {
  const { server } = askedBy(id);
  return {
    run: [
      {
        name: needName(server, "sampling/createMessage"),
        verdict: "ask",
        why: `MCP server '${server}' wants to ask your model, at your cost`,
      },
    ],
  };
}

export function samplingPreview(id: string): string {
  const { params } = askedBy(id);
  const rows = messagesOf(params).map(({ role, text }) => `${role}: ${text}`);
  return cut(
    [...(params.systemPrompt ? [`system: ${params.systemPrompt}`] : []), ...rows].join("\n"),
    8_000,
  );
}

export async function sample(id: string, ctx: Ctx): Promise<Result> {
  const { params } = askedBy(id);
  const system = typeof params.systemPrompt === "string" ? params.systemPrompt : "";
  const { text, model } = await ctx.request({ task: "mcp", system, messages: messagesOf(params) });
  return { text: text || "(nothing)", data: model };
}

function messagesOf({ messages = [] }: any): (Message & { role: "user" | "assistant" })[] {
  return messages.map(({ role, content }: any) => {
    const { text, images } = readContent([content].flat());
    return role === "assistant"
      ? { role, text }
      : { role: "user", text, ...(images.length && { images }) };
  });
}
