// One server that runs: the SDK's client, what the server may ask of zz, and how long zz waits.

import { pathToFileURL } from "node:url";
import { Client, SdkErrorCode, type Transport } from "@modelcontextprotocol/client";
import type { Clock, Ctx } from "zz";
import { clean, clip, fault, jsonOrText, oneLine, plural } from "zz/text";
import { type KnownPrompt, type KnownTool, knownTool } from "./describe.ts";
import { UNCHECKED } from "./settings.ts";

const NO_LIMIT_MS = 2 ** 31 - 1;
const SILENT = 'Check its command or its address, or raise its "timeout".';
const SLOW = 'Try again, or raise its "timeout".';
const [MAX_TOOLS, MAX_PAGES] = [500, 20];
// of the time for a start: what does not answer a question of 2026 until then is greeted
const PROBE_SHARE = 0.5;
const MAX_ASKED = 50; // how often a server may ask the model or the person in one conversation

/** Answers to what a server may ask for while it works. */
export interface Answers {
  sample(params: any, ctx: Ctx): Promise<object>;
  elicit(params: any, ctx: Ctx): Promise<object>;
}
export interface Link {
  readonly ended: boolean;
  readonly can: { tools: boolean; prompts: boolean; resources: boolean };
  readonly about: { version: string; instructions: string };
  tools(ctx: Ctx): Promise<KnownTool[]>;
  prompts(ctx: Ctx): Promise<KnownPrompt[]>;
  resources(ctx: Ctx): Promise<{ uri: string; name: string; description: string }[]>;
  call(tool: string, args: unknown, ctx: Ctx): Promise<unknown>;
  prompt(name: string, args: Record<string, string>, ctx: Ctx): Promise<any>;
  read(uri: string, ctx: Ctx): Promise<any>;
  readonly era: Era;
  close(): Promise<void>;
}
/**
 * Servers up to 2025-11-25 begin with a greeting; those of 2026-07-28 answer each request by
 * itself.
 */
export type Era = "legacy" | "modern";
type Opening = {
  name: string;
  version: string; // zz's
  transport: Transport;
  endReason(): string; // what is known about why the server ended
  seconds: { start: number; call: number }; // limits
  era?: Era | undefined; // as known from the last time: "legacy" is not asked again
  answers: Answers;
  changed(listName: "tools" | "prompts" | "resources"): void;
  ended(): void;
};

interface Live {
  opening: Opening;
  client: Client;
  waits: Set<Patience>; // the time limits of open requests
  latestCtx: Ctx; // of the last request; the server's questions go through it
  isOpen: boolean;
  asked: number;
}

export async function openLink(opening: Opening, ctx: Ctx): Promise<Link> {
  const { transport } = opening;
  const live: Live = {
    opening,
    client: newClient(opening),
    waits: new Set(),
    latestCtx: ctx,
    isOpen: true,
    asked: 0,
  };
  const { client } = live;
  client.onclose = () => {
    live.isOpen = false;
    opening.ended();
  };
  client.onerror = () => {}; // the request that waits throws
  answerTo(live);
  const prior = opening.era === "legacy" ? { prior: { kind: "legacy" as const } } : {};
  const greet = (options: object) => client.connect(transport, { ...options, ...prior });
  await limited(live, opening.seconds.start * 1_000, ctx, "say what it is", greet, SILENT).catch(
    async (error) => {
      await transport.close().catch(() => {});
      throw error;
    },
  );
  return linkOf(live);
}

function newClient(opening: Opening): Client {
  const { version, changed, seconds } = opening;
  const hook = (listName: "tools" | "prompts" | "resources") => ({
    autoRefresh: false,
    onChanged: () => changed(listName),
  });
  const listChanged = {
    tools: hook("tools"),
    prompts: hook("prompts"),
    resources: hook("resources"),
  };
  const capabilities = { sampling: {}, elicitation: { form: { applyDefaults: true } }, roots: {} };
  const probe = { timeoutMs: seconds.start * 1_000 * PROBE_SHARE };
  const versionNegotiation = { mode: "auto" as const, probe };
  const clientOptions = { capabilities, listChanged, ...UNCHECKED, versionNegotiation };
  return new Client({ name: "zz", version }, clientOptions);
}

function within<T>(
  live: Live,
  action: string,
  ctx: Ctx,
  act: (options: object) => Promise<T>,
): Promise<T> {
  return limited(live, live.opening.seconds.call * 1_000, ctx, action, act);
}

/** All pages of a list, up to the limits. */
async function allPages(live: Live, ctx: Ctx, method: string, field: string): Promise<any[]> {
  const items: any[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES && items.length < MAX_TOOLS; pages++) {
    const params = cursor === undefined ? {} : { cursor };
    const page = (options: object): Promise<any> =>
      live.client.request({ method, params } as never, options);
    const response = await within(live, "list what it has", ctx, page);
    items.push(...response[field]);
    cursor = response.nextCursor;
    if (cursor === undefined) break;
  }
  return items.slice(0, MAX_TOOLS);
}

/** The client keeps them, since a server may want arguments of theirs in headers. */
async function listTools(live: Live, ctx: Ctx): Promise<KnownTool[]> {
  const list = (options: object) =>
    live.client.listTools(undefined, { ...options, cacheMode: "refresh" });
  const { tools } = await within(live, "list what it has", ctx, list);
  return tools.slice(0, MAX_TOOLS).map(knownTool);
}

function linkOf(live: Live): Link {
  const { client } = live;
  const can = client.getServerCapabilities() ?? {};
  const { version = "" } = client.getServerVersion() ?? {};
  return {
    get ended() {
      return !live.isOpen;
    },
    can: {
      tools: Boolean(can.tools),
      prompts: Boolean(can.prompts),
      resources: Boolean(can.resources),
    },
    about: {
      version: clip(oneLine(clean(version)), 40),
      instructions: clean(client.getInstructions() ?? "").slice(0, 2_000),
    },
    era: client.getProtocolEra() ?? "legacy",
    tools: (ctx) => listTools(live, ctx),
    prompts: async (ctx) => (await allPages(live, ctx, "prompts/list", "prompts")).map(knownPrompt),
    async resources(ctx) {
      const listed = await allPages(live, ctx, "resources/list", "resources");
      const templates = allPages(live, ctx, "resources/templates/list", "resourceTemplates").catch(
        () => [],
      );
      return [...listed, ...(await templates)].map(knownResource);
    },
    call: (name, args, ctx) =>
      within(live, `answer '${name}'`, ctx, (options) =>
        client.callTool({ name, arguments: args as never }, options),
      ),
    prompt: (name, args, ctx) =>
      within(live, `give '${name}'`, ctx, (options) =>
        client.getPrompt({ name, arguments: args }, options),
      ),
    read: (uri, ctx) =>
      within(live, `give '${uri}'`, ctx, (options) =>
        client.readResource({ uri }, { ...options, cacheMode: "bypass" }),
      ),
    close: () => client.close(),
  };
}

/** Runs a request within its time limit, which pauses while the person is asked something. */
async function limited<T>(
  live: Live,
  ms: number,
  by: Ctx,
  action: string,
  act: (options: object) => Promise<T>,
  remedy = SLOW,
): Promise<T> {
  const { name, endReason } = live.opening;
  const because = () => (endReason() ? `: ${endReason()}` : "");
  if (!live.isOpen) throw fault(`MCP server '${name}' has ended${because()}.`);
  live.latestCtx = by;
  const wait = patience(by.io.clock, ms);
  live.waits.add(wait);
  const onprogress = ({ message, progress, total }: any) => {
    wait.putOff();
    by.progress(clip(oneLine(clean(message ?? `${progress}${total ? ` of ${total}` : ""}`)), 200));
  };
  try {
    const signal = AbortSignal.any([by.signal, wait.signal]);
    return await Promise.race([
      act({ signal, timeout: NO_LIMIT_MS, onprogress }),
      rejection(signal),
    ]);
  } catch (error) {
    by.signal.throwIfAborted();
    if (wait.signal.aborted)
      throw fault(
        `MCP server '${name}' did not ${action} within ${ms / 1000} s${because()}. ${remedy}`,
      );
    const { code } = error as { code?: number | string };
    const isEnd =
      code === "EPIPE" ||
      (!live.isOpen && /^(CONNECTION_CLOSED|ERA_NEGOTIATION_FAILED)$/.test(String(code)));
    if (isEnd)
      throw Object.assign(
        fault(`MCP server '${name}' ended before it could ${action}${because()}.`),
        { code },
      );
    throw saidBy(name, error);
  } finally {
    wait.lift();
    live.waits.delete(wait);
  }
}

const rejection = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
  );

const UNKNOWN_VERSION = -32_022; // of the protocol
function saidBy(name: string, error: unknown): Error {
  const { message, code, status, data, cause, kind } = error as Error & {
    code?: unknown;
    status?: number;
    data?: any;
    kind?: string;
  };
  if (code === SdkErrorCode.EraNegotiationFailed && cause) return saidBy(name, cause);
  if (kind === "network") return error as Error; // zz's own words: nothing came from the server
  if ((status ?? data?.status) === 401 || (error as Error).name === "UnauthorizedError")
    return fault(`MCP server '${name}' wants a login. Type: /mcp login ${name}`, { status: 401 });
  const sentence = clip(oneLine(clean(data?.status ? answerOf(data) : message)), 600).replace(
    /\.$/,
    "",
  );
  if (/protocol version is not supported/.test(sentence) || code === UNKNOWN_VERSION) {
    const all: unknown = data?.supported;
    const spoken = Array.isArray(all) && all.length ? ` (it speaks ${all.join(", ")})` : "";
    const why = clip(oneLine(clean(`${sentence}${spoken}`)), 600);
    return Object.assign(fault(`Cannot talk to MCP server '${name}': ${why}. Update it, or zz.`), {
      code,
    });
  }
  if (code === SdkErrorCode.InvalidResult)
    return fault(
      `MCP server '${name}' sent something that is not an answer: ${clip(sentence, 200)}.`,
    );
  return Object.assign(fault(`MCP server '${name}' says: ${sentence}.`), { code });
}

/** An HTTP answer that is none of the protocol. */
function answerOf({ status, text }: { status: number; text?: string }): string {
  const body = jsonOrText(text ?? "") as any;
  const words = body?.error?.message ?? body?.message ?? body?.error_description ?? body;
  if (typeof words !== "string") return `HTTP ${status}: ${JSON.stringify(words)}`;
  const isPage = /^\s*<(!doctype|html|\?xml)/i.test(words);
  return `HTTP ${status}: ${isPage ? "a web page" : words}`;
}

/**
 * Registers handlers for a server's questions. The time that the person takes does not count
 * against its limits.
 */
function answerTo(live: Live): void {
  const { client, latestCtx, opening } = live;
  const { sample, elicit } = opening.answers;
  const uri = pathToFileURL(latestCtx.root).href;
  client.setRequestHandler("roots/list", () => ({ roots: [{ uri, name: "project" }] }));
  const onSampling = ({ params }: any) => meanwhile(() => sample(params, live.latestCtx));
  client.setRequestHandler("sampling/createMessage", onSampling as never);
  client.setRequestHandler("elicitation/create", (({ params }: any) =>
    meanwhile(() => elicit(params, live.latestCtx))) as never);

  async function meanwhile<T>(act: () => Promise<T>): Promise<T> {
    if (++live.asked > MAX_ASKED)
      throw fault(`it asked more than ${plural(MAX_ASKED, "time")}, and gets no answer any more.`);
    const held = [...live.waits];
    for (const wait of held) wait.hold();
    return act().finally(() => {
      for (const wait of held) wait.go();
    });
  }
}

type Patience = { signal: AbortSignal; putOff(): void; hold(): void; go(): void; lift(): void };
/**
 * A time limit that can be restarted and paused: aborts after so many ms in which it was not held.
 */
function patience(clock: Clock, ms: number): Patience {
  const end = new AbortController();
  let [holds, cancel] = [0, () => {}];
  const putOff = () => {
    cancel();
    if (!holds) cancel = clock.timer(ms, () => end.abort());
  };
  const by = (count: number) => () => {
    holds += count;
    putOff();
  };
  putOff();
  return { signal: end.signal, putOff, hold: by(1), go: by(-1), lift: by(1) };
}

function knownPrompt({ name, description = "", arguments: args = [] }: any): KnownPrompt {
  const named = (argument: any) => ({
    name: clip(oneLine(clean(String(argument.name))), 40),
    required: argument.required === true,
  });
  return {
    name: String(name),
    description: clip(oneLine(clean(description)), 200),
    args: args.slice(0, 20).map(named),
  };
}

const knownResource = ({ uri, uriTemplate, name = "", description = "" }: any) => ({
  uri: clean(String(uri ?? uriTemplate)),
  name: oneLine(clean(name)),
  description: clip(oneLine(clean(description)), 200),
});
