// Uses servers: calls and describes their tools, reads their resources, sends their prompts,
// answers their questions.
import type { Ctx, Message, Needs, Result, Tool } from "zz";
import { clean, clip, fault, oneLine, plural, sentenceOf } from "zz/text";
import { type KnownPrompt, type KnownTool, shownName, steering } from "./describe.ts";
import {
  countOf,
  ensureRunning,
  type Hub,
  needName,
  needsOf,
  RESOURCES,
  registeredNameOf,
  type Server,
  serverNamed,
  stop,
  tell,
  withLink,
} from "./hub.ts";
import type { Answers } from "./link.ts";
import { cut, readContent, resultOf } from "./results.ts";
import { allow, describeDenials, hasDenials } from "./sandbox-denials.ts";

const [MAX_LISTED, MAX_NAMES, MAX_BRIEF_CHARS] = [200, 8, 400];
const [CALL_SECONDS, START_MS] = [120, 60_000];

/**
 * A server's tool as a tool of zz. Getters look up its description each time, since the server may
 * change it.
 */
export function toolFor(hub: Hub, serverName: string, remoteTool: string, name: string): Tool {
  const currentTool = () =>
    hub.servers.get(serverName)?.catalog?.tools.find((candidate) => candidate.name === remoteTool);
  return {
    name,
    aliases: [`mcp__${name}`],
    get description() {
      return descriptionOf(serverName, currentTool());
    },
    get params() {
      return (currentTool()?.schema ?? { type: "object" }) as object;
    },
    get kind() {
      return hub.servers.get(serverName)?.config.readOnly === "believe" &&
        currentTool()?.hints?.readOnlyHint
        ? undefined
        : ("run" as const);
    },
    get timeout() {
      return (hub.servers.get(serverName)?.config.timeout ?? CALL_SECONDS) * 1_000 + START_MS;
    },
    needs: (_, ctx) => needsOf(hub, serverName, remoteTool, ctx),
    preview: (callArguments) => preview(serverName, currentTool(), callArguments),
    family: (needText) => (needText.startsWith("mcp:") ? needText.split(" ")[0] : undefined),
    run: (callArguments, ctx) => call(hub, serverName, remoteTool, callArguments, ctx),
  } as Tool;
}

const descriptionOf = (serverName: string, knownTool: KnownTool | undefined): string =>
  `MCP server '${serverName}' says: ${knownTool?.description || "(nothing)"}`;

function preview(
  serverName: string,
  knownTool: KnownTool | undefined,
  callArguments: unknown,
): string {
  const { readOnlyHint, destructiveHint, openWorldHint } = knownTool?.hints ?? {};
  const hintTexts = [
    readOnlyHint && "it only reads",
    destructiveHint && !readOnlyHint && "it may destroy something",
    openWorldHint && "it reaches beyond this machine",
  ].filter(Boolean);
  const claimWords = hintTexts.length
    ? `\nBy the word of MCP server '${serverName}', ${hintTexts.join(", ")}.`
    : "";
  return `${JSON.stringify(callArguments, null, 2)}${claimWords}`;
}

export async function call(
  hub: Hub,
  serverName: string,
  remoteTool: string,
  callArguments: unknown,
  ctx: Ctx,
): Promise<Result> {
  const server = serverNamed(hub, serverName);
  const result = resultOf(
    await withLink(hub, server, ctx, (link) => {
      assertOffered(server, remoteTool);
      return link.call(remoteTool, callArguments, ctx);
    }),
  );
  const denials = result.failed ? server.kept?.(result.text) : undefined;
  if (!denials || !hasDenials(denials)) return result;
  const isAllowed = await allow(hub, server, denials, ctx);
  if (isAllowed) await stop(server);
  const nextStep = isAllowed
    ? "It is allowed now: call it again."
    : describeDenials(server, denials);
  return { ...result, text: `${result.text}\n[zz: ${nextStep}]` };
}

function assertOffered({ name, held, catalog }: Server, remoteTool: string): void {
  const heldReason = held.get(remoteTool);
  const problem = `Cannot call '${remoteTool}' of MCP server '${name}': `;
  if (heldReason)
    throw fault(`${problem}${heldReason}. The person can look at it: /mcp accept ${name}`);
  if (catalog!.tools.some((candidate) => candidate.name === remoteTool)) return;
  const knownNames = catalog!.tools.slice(0, MAX_LISTED).map((known) => shownName(known.name));
  throw fault(`${problem}it has no such tool. It has: ${knownNames.join(", ") || "none"}.`);
}

/** The tools of a server that the model is offered. */
export function offeredOf(hub: Hub, server: Server) {
  const offered = server.catalog?.tools.filter(({ name }) => !server.held.has(name)) ?? [];
  return offered.flatMap((catalogTool) => {
    const name = registeredNameOf(hub, server.name, catalogTool.name);
    return name
      ? [{ name, description: descriptionOf(server.name, catalogTool), schema: catalogTool.schema }]
      : [];
  });
}

/** `github (35 tools: search_issues, …)`. */
export function briefly({ name, catalog }: Server): string {
  if (!catalog) return `${name} (not started yet)`;
  const firstNames = catalog.tools.slice(0, MAX_NAMES).map((known) => shownName(known.name));
  return clip(
    `${name} (${plural(catalog.tools.length, "tool")}: ` +
      `${firstNames.join(", ")}${catalog.tools.length > MAX_NAMES ? ", …" : ""})`,
    MAX_BRIEF_CHARS,
  );
}

/** Asks running servers again for their lists if they reported a change. */
export async function renew(hub: Hub, ctx: Ctx): Promise<void> {
  for (const server of hub.servers.values())
    if (server.stale && server.running)
      await ensureRunning(hub, server, ctx).catch((error) => tell(hub, ctx, sentenceOf(error)));
}

export async function startNeedsOf(hub: Hub, names: readonly string[], ctx: Ctx): Promise<Needs> {
  const allNeeds: Needs = {};
  for (const serverName of names) {
    if (serverNamed(hub, serverName).running) continue;
    const serverNeeds = await needsOf(hub, serverName, undefined, ctx);
    for (const needKind of ["run", "net", "env"] as const)
      if (serverNeeds[needKind])
        allNeeds[needKind] = [...(allNeeds[needKind] ?? []), ...serverNeeds[needKind]];
  }
  return allNeeds;
}

export async function describeAll(hub: Hub, names: readonly string[], ctx: Ctx): Promise<string> {
  const describedRows: string[] = [];
  for (const serverName of names) {
    const server = serverNamed(hub, serverName);
    const link = await ensureRunning(hub, server, ctx);
    describedRows.push(
      ...offeredOf(hub, server).map(
        (offeredTool) => `${offeredTool.name}: ${clip(oneLine(offeredTool.description), 120)}`,
      ),
    );
    const { instructions } = link.about;
    const steeringText = steering(instructions);
    if (steeringText)
      ctx.note(
        `What MCP server '${serverName}' says of itself is left out, ` +
          `since it would steer the model: ${steeringText}`,
      );
    else if (instructions)
      describedRows.push(
        `MCP server '${serverName}' says of itself: ${clip(oneLine(instructions), 1_000)}`,
      );
  }
  return describedRows.length
    ? `Described from now on:\n${describedRows.slice(0, MAX_LISTED).join("\n")}`
    : "They have no tools.";
}

// Resources

export async function resource(
  hub: Hub,
  serverName: string,
  uri: string | undefined,
  ctx: Ctx,
): Promise<Result> {
  const server = serverNamed(hub, serverName);
  const { can } = await ensureRunning(hub, server, ctx);
  if (!can.resources) throw fault(`MCP server '${serverName}' has no resources.`);
  if (uri !== undefined) {
    const { contents } = await withLink(hub, server, ctx, (link) => link.read(uri, ctx));
    const content = contents.map((resource) => ({ type: "resource", resource }));
    return resultOf({ content }, "[It is empty.]");
  }
  const resources = await withLink(hub, server, ctx, (link) => link.resources(ctx));
  const resourceRows = resources
    .slice(0, MAX_LISTED)
    .map(
      (resource) =>
        `${resource.uri}  ${resource.name}${resource.description && `: ${resource.description}`}`,
    );
  return { text: cut(resourceRows.join("\n")) || "It has none now.", data: resources };
}

const MENTION = /(?<![\w\\@.+/-])@([A-Za-z][\w-]*):([a-zA-Z][\w+.-]*:\/*[^\s]+|[^\s:]+)/g;

/** Attaches each resource that @server:uri names to the message; the text of the line stays. */
export async function attachResources(hub: Hub, typedLine: string, ctx: Ctx): Promise<string> {
  const command = /^\/([A-Za-z][\w-]*)(?:\s|$)/.exec(typedLine.trim())?.[1];
  if (
    command &&
    ctx.about.commands.some(
      ({ name, group }) => name === command && group !== "templates" && group !== "MCP",
    )
  )
    return typedLine;
  const resourceMentions = [...typedLine.matchAll(MENTION)].filter(([, serverName = ""]) =>
    hub.servers.has(serverName),
  );
  for (const [, serverName = "", mention = ""] of resourceMentions) {
    const uri = mention.replace(/[.,;!?)\]'"]+$/, "");
    try {
      const judgement = ctx.permissions.judge("run", needName(serverName, RESOURCES));
      if (judgement.verdict === "deny") throw fault(`it is denied ${judgement.why}.`);
      await startThroughGate(serverName, ctx);
      const { text, images = [] } = await resource(hub, serverName, uri, ctx);
      const title = `RESOURCE ${serverName}:${uri}`;
      if (text) ctx.chat.attach(`--- ${title} ---\n${text}\n--- END ${title} ---`);
      images.forEach(ctx.chat.attach);
      ctx.note(`Attached ${serverName}:${uri}.`);
    } catch (error) {
      ctx.signal.throwIfAborted();
      ctx.note(`@${serverName}:${uri} is not attached: ${sentenceOf(error)}`);
    }
  }
  return resourceMentions.length
    ? typedLine.replace(MENTION, (matched, serverName) =>
        hub.servers.has(serverName) ? `\\${matched}` : matched,
      )
    : typedLine;
}

/** Starts a server through the gate, also when the person asked for it. */
export async function startThroughGate(serverName: string, ctx: Ctx): Promise<string> {
  const { failed, text } = await ctx.call("mcp_start", { server: serverName });
  if (failed) throw fault(text);
  return text;
}
export async function start(hub: Hub, serverName: string, ctx: Ctx): Promise<string> {
  const server = serverNamed(hub, serverName);
  await ensureRunning(hub, server, ctx);
  return `MCP server '${serverName}' runs: ${countOf(server)}.`;
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
  serverName: string,
  promptName: string,
  typedText: string,
  ctx: Ctx,
): Promise<void> {
  const server = serverNamed(hub, serverName);
  await startThroughGate(serverName, ctx);
  await ensureRunning(hub, server, ctx);
  const knownPrompt = server.catalog!.prompts.find((candidate) => candidate.name === promptName);
  if (!knownPrompt)
    throw fault(`MCP server '${serverName}' no longer has the prompt '${promptName}'.`);
  const promptArguments = argumentsOf(knownPrompt, typedText);
  const missing = knownPrompt.args
    .filter((arg) => arg.required && promptArguments[arg.name] === undefined)
    .map((arg) => arg.name);
  if (missing.length)
    throw fault(
      `Cannot send '${promptName}': it needs ${missing.join(" and ")}. Type them after the name.`,
    );
  const { messages = [] } = await withLink(hub, server, ctx, (link) =>
    link.prompt(promptName, promptArguments, ctx),
  );
  const messageTexts = messages.map(({ role, content }: any) => {
    const { text, images } = readContent([content].flat());
    images.forEach(ctx.chat.attach);
    return role === "assistant" && text ? `(You answered:)\n${text}` : text;
  });
  const promptText = cut(messageTexts.filter(Boolean).join("\n\n"));
  if (!promptText)
    throw fault(`MCP server '${serverName}' gave an empty prompt for '${promptName}'.`);
  ctx.note(`${promptName} of MCP server '${serverName}': ${clip(oneLine(clean(promptText)), 200)}`);
  ctx.chat.send(promptText);
}

function argumentsOf({ args }: KnownPrompt, typedText: string): Record<string, string> {
  const argumentValues: Record<string, string> = {};
  const wordMatches = [...typedText.matchAll(/(?:([\w-]+)=)?(?:"([^"]*)"|'([^']*)'|(\S+))/g)];
  const unnamedWords = wordMatches.flatMap(
    ([wholeWord, argumentName, doubleQuoted, singleQuoted, unquoted]) => {
      const wordValue = doubleQuoted ?? singleQuoted ?? unquoted ?? "";
      if (!argumentName) return [wordValue];
      if (!args.some((arg) => arg.name === argumentName)) return [wholeWord];
      argumentValues[argumentName] = wordValue;
      return [];
    },
  );
  const openArguments = args.filter(({ name }) => !(name in argumentValues));
  openArguments.forEach(({ name }, i) => {
    const assignedWords =
      i === openArguments.length - 1 ? unnamedWords.slice(i).join(" ") : unnamedWords[i];
    if (assignedWords) argumentValues[name] = assignedWords;
  });
  return argumentValues;
}

// Servers' questions to the model and the person

type Asked = { server: string; params: any };
// a server's questions to the model, by an id that only zz knows
const openQuestions = new Map<string, Asked>();

export function answers({ zz, accepts }: Hub, server: string): Answers {
  return {
    async sample(params, ctx) {
      const id = crypto.randomUUID();
      openQuestions.set(id, { server, params });
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
        openQuestions.delete(id);
      }
    },
    elicit: async (params, ctx) =>
      (await import("./elicit.ts")).elicit(server, params, ctx, accepts.defaults),
  };
}

function askedBy(id: string): Asked {
  const question = openQuestions.get(id);
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
  const messageRows = messagesOf(params).map(({ role, text }) => `${role}: ${text}`);
  return cut(
    [...(params.systemPrompt ? [`system: ${params.systemPrompt}`] : []), ...messageRows].join("\n"),
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
