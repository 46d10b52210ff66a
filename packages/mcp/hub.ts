// All MCP servers of a conversation: what earlier runs learned, and which servers run. Each starts
// when it is needed.
import path from "node:path";
import type { Ctx, Need, Needs, Zz } from "zz";
import { clean, clip, fault, oneLine, plural, sentenceOf, textOf, tryTo } from "zz/text";
import type { Catalog, KnownTool } from "./describe.ts";
import type { Answers, Era, Link } from "./link.ts";
import { allow, type Denials, describeDenials, hasDenials } from "./sandbox-denials.ts";
import {
  type Configured,
  configured,
  filledIn,
  keptUnder,
  objectIn,
  type ServerConfig,
  unusedIn,
  variablesOf,
} from "./settings.ts";

export type Config = Record<string, ServerConfig>;
// in the home: what servers reported about themselves the last time
export const CACHE = "mcp-tools.json";
const [CALL_SECONDS, START_SECONDS, MAX_KEPT] = [120, 30, 100];
const SHELL_OFF = "the plugin 'shell' is off (/plugins on shell turns it on)";
const MAX_FAILURES = 2; // of the first start and one restart
const FORGIVEN_MS = 600_000; // failures older than this no longer count

export interface Server extends Configured {
  catalog?: Catalog; // undefined if it never ran
  link?: Promise<Link> | undefined;
  running?: Link | undefined;
  accepts?: boolean; // its tools, as they are the next time
  stale?: boolean; // it reported that its lists have changed
  held: Map<string, string>; // tools that the model is not offered, and why
  kept?: ((serverText?: string) => Denials) | undefined; // what the sandbox kept from it
  failures: number; // failed starts and unexpected ends
  failedAt: number;
  reason?: string; // the reason for the last failure
}
/** What a script agrees to beforehand. */
export type Accepts = { tools?: boolean; defaults?: boolean };
export interface Hub {
  zz: Zz<Config>;
  state: { open: string[] }; // servers whose tools the model asked for
  lent: Config; // servers that an editor names for this conversation
  servers: Map<string, Server>;
  leftOut: string[]; // a sentence for each server that is left out
  disabledNames: string[];
  told: Set<string>; // sentences that the person has seen
  accepts: Accepts;
  names: Map<string, string>; // of tools that were registered, by their server and own name
  commands: Set<string>; // names of prompts that were registered
  isRegistered?: boolean; // whether the plugin's own tools are
  answers(serverName: string): Answers;
  learned(server: Server): void; // called once its tools and prompts are known
}

export const registeredNameOf = (
  { names }: Hub,
  serverName: string,
  remoteTool: string,
): string | undefined => names.get(`${serverName} ${remoteTool}`);

/** Brings the list of servers up to date; those whose settings did not change keep running. */
export async function lookUp(hub: Hub, ctx: Ctx): Promise<void> {
  const [configuredServers, leftOut, disabledNames] = await configured(
    ctx,
    hub.zz.config,
    hub.lent,
  );
  Object.assign(hub, { leftOut, disabledNames });
  const newServers = [...configuredServers.values()].filter(
    ({ name, id }) => hub.servers.get(name)?.id !== id,
  );
  for (const [knownName, server] of hub.servers)
    if (configuredServers.get(knownName)?.id !== server.id) {
      void stop(server);
      hub.servers.delete(knownName);
    }
  const catalogCache = newServers.length ? readCache(ctx) : {};
  const isAnyKnown = Object.keys(catalogCache).length > 0;
  for (const newServer of newServers) {
    const catalog = isAnyKnown ? catalogCache[keptUnder(newServer)] : undefined;
    const server: Server = {
      ...newServer,
      ...(catalog && { catalog }),
      held: new Map(),
      failures: 0,
      failedAt: 0,
    };
    hub.servers.set(newServer.name, server);
    if (catalog) hub.learned(server);
  }
}

type Cache = Record<string, Catalog>;
function readCache({ about }: Ctx): Cache {
  const cached: Cache = objectIn(textOf(path.join(about.home, CACHE)));
  const isKnown = ([, catalog]: [string, Catalog]) =>
    Array.isArray(catalog?.tools) && Array.isArray(catalog?.prompts);
  return Object.fromEntries(Object.entries(cached).filter(isKnown));
}

function keepCatalog(server: Server, ctx: Ctx): void {
  const id = keptUnder(server);
  const updateCache = (cacheText: string) => {
    const { [id]: _, ...others } = objectIn(cacheText);
    return JSON.stringify(
      Object.fromEntries([...Object.entries(others).slice(1 - MAX_KEPT), [id, server.catalog]]),
    );
  };
  tryTo(() => ctx.keep(CACHE, updateCache)); // if that fails, the server is asked again next time
}

export function serverNamed({ servers, leftOut, disabledNames }: Hub, serverName: string): Server {
  const server = servers.get(serverName);
  if (server) return server;
  const leftOutReason = leftOut.find((sentence) => sentence.includes(`'${serverName}'`));
  if (disabledNames.includes(serverName))
    throw fault(`Cannot use MCP server '${serverName}': it is disabled where it is configured.`);
  const knownNames = [...servers.keys()].join(", ");
  throw fault(
    leftOutReason ??
      `Cannot use MCP server '${serverName}': no server has that name. ` +
        `${knownNames ? `There are: ${knownNames}.` : "The settings name none."}`,
  );
}

/**
 * Starts a server unless it runs. One that failed is started again once; after that, this throws.
 */
export async function ensureRunning(hub: Hub, server: Server, ctx: Ctx): Promise<Link> {
  const { name } = server;
  while (server.link) {
    const opening = server.link;
    const link = await opening;
    if (!link.ended) {
      if (server.stale) await learnCatalog(hub, server, link, ctx);
      return link;
    }
    // else another call has just started it again
    if (server.link === opening) server.link = undefined;
  }
  if (hub.zz.io.clock.now() - server.failedAt > FORGIVEN_MS) server.failures = 0;
  if (server.failures >= MAX_FAILURES)
    throw fault(
      `MCP server '${name}' failed twice and is left alone: ` +
        `${server.reason} /mcp restart ${name} tries it again.`,
    );
  server.link = openServer(hub, server, ctx);
  try {
    return await server.link;
  } catch (error) {
    server.link = undefined;
    ctx.signal.throwIfAborted();
    if (server.kept && (await allow(hub, server, server.kept(), ctx)))
      return ensureRunning(hub, server, ctx);
    if ((error as { status?: number }).status !== 401)
      recordFailure(hub, server, sentenceOf(error));
    throw error;
  }
}

export function recordFailure({ zz }: Hub, server: Server, failureReason: string): void {
  server.failures++;
  server.failedAt = zz.io.clock.now();
  server.reason = failureReason;
}

async function openServer(hub: Hub, server: Server, ctx: Ctx): Promise<Link> {
  const { name } = server;
  const filledConfig = filledIn(hub.zz, ctx, server);
  ctx.progress(`starting MCP server ${name}`);
  server.kept = undefined;
  const { clock } = hub.zz.io;
  const startedAt = clock.now();
  const startInEra = (era?: Era) =>
    beginLink(hub, server, filledConfig, ctx, { era, spentMs: clock.now() - startedAt });
  const link = await startInEra(server.catalog?.era).catch((error) => {
    ctx.signal.throwIfAborted();
    const retryEra = otherEra(server, error);
    if (!retryEra) throw error;
    return startInEra(retryEra);
  });
  server.running = link;
  await learnCatalog(hub, server, link, ctx);
  return link;
}

/**
 * A server of another era than was thought ends at a question of 2026 or is silent, or refuses a
 * greeting of 2025.
 */
function otherEra({ config }: Server, { code }: { code?: unknown }): Era | undefined {
  if (config.command ? code === "ERA_NEGOTIATION_FAILED" : code === "REQUEST_TIMEOUT")
    return "legacy";
  return typeof code === "number" ? "modern" : undefined;
}

async function beginLink(
  hub: Hub,
  server: Server,
  filledConfig: ServerConfig,
  ctx: Ctx,
  { era, spentMs }: { era?: Era | undefined; spentMs: number },
): Promise<Link> {
  const { name } = server;
  const [{ openLink }, { transportOf }] = await Promise.all([
    import("./link.ts"),
    import("./transport.ts"),
  ]);
  const { transport, endReason, kept, close } = await transportOf(
    hub.zz,
    ctx,
    server,
    filledConfig,
  );
  server.kept = kept;
  return openLink(
    {
      name,
      version: ctx.about.version,
      transport,
      endReason,
      answers: hub.answers(name),
      era,
      spentMs,
      seconds: {
        call: filledConfig.timeout ?? CALL_SECONDS,
        start: Math.max(filledConfig.timeout ?? 0, START_SECONDS),
      },
      changed: () => void (server.stale = true),
      ended: () => {
        close();
        // not while it starts, nor once zz itself ends it
        if (server.running)
          recordFailure(hub, server, `it ended${endReason() ? ` (${endReason()})` : ""}.`);
        server.running = undefined;
      },
    },
    ctx,
  ).catch((error) => {
    close();
    throw couldNot(server, error, kept());
  });
}

function couldNot(server: Server, error: unknown, denials: Denials): Error {
  const { message, status, code } = error as Error & { status?: number; code?: unknown };
  if (status === 401) return error as Error;
  const serverTitle = `MCP server '${server.name}'`;
  const sentence =
    code === "ENOENT"
      ? message
      : `Cannot start ${serverTitle}: ${message
          .replace(`Cannot talk to ${serverTitle}: `, "")
          .replace(`${serverTitle} `, "it ")
          .replace(/^(Cannot|What) /, (word) => word.toLowerCase())}`;
  const sandboxHint = hasDenials(denials) ? ` ${describeDenials(server, denials)}` : "";
  return Object.assign(fault(`${sentence.replace(/(?<![.?])$/, ".")}${sandboxHint}`), { code });
}

/**
 * Asks a server for its tools and prompts. Descriptions stay as first seen until the person
 * approves a change.
 */
async function learnCatalog(hub: Hub, server: Server, link: Link, ctx: Ctx): Promise<void> {
  server.stale = false;
  const previousCatalog = server.catalog;
  const [listedTools, prompts] = [
    link.can.tools ? chosenTools(hub, server, await link.tools(ctx), ctx) : [],
    link.can.prompts ? await link.prompts(ctx) : [],
  ];
  const { settleTools } = await import("./pins.ts");
  const accepts = hub.accepts.tools === true || server.accepts === true;
  server.accepts = false;
  const { kept, held, gone } = await settleTools(
    server,
    previousCatalog,
    listedTools,
    ctx,
    accepts,
  );
  server.held = held;
  const unusedFields = previousCatalog ? [] : unusedIn(server.config);
  if (unusedFields.length)
    ctx.note(
      `MCP server '${server.name}': zz does not use ${unusedFields.join(", ")} in its settings; ` +
        `--allow-run=mcp:${server.name} allows its tools.`,
    );
  server.catalog = {
    tools: kept,
    prompts,
    resources: link.can.resources,
    ...(gone.length && { gone }),
    ...(link.era === "legacy" && { era: link.era }),
  };
  if (JSON.stringify(previousCatalog) !== JSON.stringify(server.catalog)) keepCatalog(server, ctx);
  hub.learned(server);
}

const MAX_TOOLS = 500;
/** Those that the settings do not leave out, each name once. */
function chosenTools(
  hub: Hub,
  { name, config }: Server,
  listedTools: KnownTool[],
  ctx: Ctx,
): KnownTool[] {
  const byToolName = new Map(listedTools.map((listedTool) => [listedTool.name, listedTool]));
  for (const disabledTool of config.disabledTools ?? []) byToolName.delete(disabledTool);
  const chosen = [...byToolName.values()];
  if (chosen.length > MAX_TOOLS)
    tell(
      hub,
      ctx,
      `MCP server '${name}' has ${chosen.length} tools, and zz takes the first ${MAX_TOOLS}. ` +
        '"disabledTools" in its settings leaves out those that you do not need.',
    );
  return chosen.slice(0, MAX_TOOLS);
}

export async function stop(server: Server): Promise<void> {
  const link = await server.link?.catch(() => undefined);
  server.link = server.running = undefined;
  await link?.close().catch(() => {});
}

/** Uses a server that runs; once more with a new session, where it knows the one before no more. */
export async function withLink<T>(
  hub: Hub,
  server: Server,
  ctx: Ctx,
  use: (link: Link) => Promise<T>,
): Promise<T> {
  return use(await ensureRunning(hub, server, ctx)).catch(async (error) => {
    if (error.code !== "SESSION_LOST") throw error;
    await stop(server);
    return use(await ensureRunning(hub, server, ctx));
  });
}

export const RESOURCES = "resources/read";
/** The needs of a call: the call itself, and starting or reaching its server. */
export async function needsOf(
  hub: Hub,
  name: string,
  callTarget: string | undefined,
  ctx: Ctx,
): Promise<Needs> {
  const server = serverNamed(hub, name);
  const { config, from } = server;
  const callNeeds = callTarget === undefined ? [] : [callNeed(server, callTarget)];
  const serverHost = config.url && tryTo(() => new URL(filledIn(hub.zz, ctx, server).url!).host);
  const net: Need[] = serverHost
    ? [
        from === "home"
          ? { name: serverHost, verdict: "allow", why: `the settings of '${name}'` }
          : serverHost,
      ]
    : [];
  const isRunning = server.running !== undefined;
  const env = from === "project" && !isRunning ? variablesOf(config) : [];
  const programNeeds = isRunning || !config.command ? [] : await startNeeds(server, ctx);
  const run = [...callNeeds, ...programNeeds];
  return { ...(run.length && { run }), ...(net.length && { net }), ...(env.length && { env }) };
}

/**
 * A name that no shell command can have, so that a rule for commands never covers a call, nor the
 * other way round.
 */
export const needName = (serverName: string, callTarget: string): string =>
  `mcp:${serverName} ${callTarget.replace(/[^\w./-]/g, "_")}`;

function callNeed({ name, config, catalog }: Server, callTarget: string): Need {
  const callName = needName(name, callTarget);
  const { hints } = catalog?.tools.find((knownTool) => knownTool.name === callTarget) ?? {};
  if (config.readOnly !== "believe" || hints?.readOnlyHint !== true) return callName;
  return {
    name: callName,
    verdict: "allow",
    why: "its server says that it only reads, and the settings believe it",
  };
}

/**
 * A server starts unasked in the sandbox; outside of it, only if the person's own settings turn the
 * sandbox off.
 */
async function startNeeds({ config, from }: Server, ctx: Ctx): Promise<Need[]> {
  if (config.sandbox === false && from === "home") return [];
  const service = ctx.service("sandbox");
  if (config.sandbox !== false && (await service?.name(ctx))) return [];
  const sandboxState =
    config.sandbox === false
      ? "outside of the sandbox"
      : `without a sandbox, since ${service ? "there is none here" : SHELL_OFF}`;
  const reason = `the MCP server would run ${sandboxState}`;
  return [{ name: commandLine(config), verdict: "ask", why: reason }];
}
const commandLine = ({ command = "", args = [] }: ServerConfig): string =>
  clip(oneLine(clean([command, ...args].join(" "))), 2_000);

/** Shows a sentence to the person, once. */
export function tell(hub: Hub, ctx: Ctx, sentence: string): void {
  if (hub.told.has(sentence)) return;
  hub.told.add(sentence);
  ctx.note(sentence);
}

export const countOf = ({ catalog }: Server): string =>
  catalog ? plural(catalog.tools.length, "tool") : "not started yet";
