// One server that runs: the SDK's client, what the server may ask of zz, and how long zz waits.

import { pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  GetPromptResultSchema,
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesResultSchema,
  ListRootsRequestSchema,
  ListToolsResultSchema,
  ReadResourceResultSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { Clock, Ctx } from "zz";
import { clean, clip, fault, oneLine, plural } from "zz/text";
import { type KnownPrompt, type KnownTool, knownTool } from "./describe.ts";

const NO_LIMIT_MS = 2 ** 31 - 1;
const START_MS = 30_000; // for a server to answer the greeting
const SILENT = "Check its command or its address, and try again.";
const SLOW = 'Try again, or raise its "timeout".';
const [MAX_TOOLS, MAX_PAGES] = [500, 20];
const CLOSED = -32_000; // the SDK's error code for a closed connection
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
  close(): Promise<void>;
}
export type Opening = {
  name: string;
  version: string; // zz's
  transport: Transport;
  why(): string; // what is known about why the server ended
  seconds: number; // the limit of one call
  answers: Answers;
  changed(what: "tools" | "prompts" | "resources"): void;
  ended(): void;
};

interface Live {
  opening: Opening;
  client: Client;
  waits: Set<Patience>; // the time limits of open requests
  now: Ctx; // of the last request; the server's questions go through it
  isOpen: boolean;
  asked: number;
}

export async function openLink(opening: Opening, ctx: Ctx): Promise<Link> {
  const { transport } = opening;
  const live: Live = { opening, client: newClient(opening), waits: new Set(), now: ctx, isOpen: true, asked: 0 };
  const { client } = live;
  client.onclose = () => {
    live.isOpen = false;
    opening.ended();
  };
  client.onerror = () => {}; // the request that waits throws
  answerTo(live);
  const greet = (how: object) => client.connect(transport, how);
  await limited(live, START_MS, ctx, "say what it is", greet, SILENT).catch(async (error) => {
    await transport.close().catch(() => {});
    throw error;
  });
  return linkOf(live);
}

function newClient({ version, changed }: Opening): Client {
  const hook = (what: "tools" | "prompts" | "resources") => ({ autoRefresh: false, onChanged: () => changed(what) });
  const listChanged = { tools: hook("tools"), prompts: hook("prompts"), resources: hook("resources") };
  const valid = { valid: true, data: undefined as never, errorMessage: undefined };
  const jsonSchemaValidator = { getValidator: () => () => valid } as never; // output schemas are ignored
  const capabilities = { sampling: {}, elicitation: { form: {} }, roots: {} };
  return new Client({ name: "zz", version }, { capabilities, listChanged, jsonSchemaValidator });
}

function linkOf(live: Live): Link {
  const { client, opening } = live;
  const { tools, prompts, resources } = client.getServerCapabilities() ?? {};
  const { version = "" } = client.getServerVersion() ?? {};
  const request = <T>(what: string, ctx: Ctx, method: string, params: object, schema: any): Promise<T> => {
    const act = (how: object) => client.request({ method, params } as never, schema, how) as Promise<T>;
    return limited(live, opening.seconds * 1_000, ctx, what, act);
  };
  /** All pages of a list, up to the limits. */
  async function allPages(ctx: Ctx, method: string, field: string, schema: any): Promise<any[]> {
    const items: any[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES && items.length < MAX_TOOLS; page++) {
      const given = await request<any>("list what it has", ctx, method, cursor === undefined ? {} : { cursor }, schema);
      items.push(...given[field]);
      cursor = given.nextCursor;
      if (cursor === undefined) break;
    }
    return items.slice(0, MAX_TOOLS);
  }
  return {
    get ended() {
      return !live.isOpen;
    },
    can: { tools: Boolean(tools), prompts: Boolean(prompts), resources: Boolean(resources) },
    about: {
      version: clip(oneLine(clean(version)), 40),
      instructions: clean(client.getInstructions() ?? "").slice(0, 2_000),
    },
    tools: async (ctx) => (await allPages(ctx, "tools/list", "tools", ListToolsResultSchema)).map(knownTool),
    prompts: async (ctx) => (await allPages(ctx, "prompts/list", "prompts", ListPromptsResultSchema)).map(knownPrompt),
    async resources(ctx) {
      const listed = await allPages(ctx, "resources/list", "resources", ListResourcesResultSchema);
      const method = "resources/templates/list";
      const templates = allPages(ctx, method, "resourceTemplates", ListResourceTemplatesResultSchema).catch(() => []);
      return [...listed, ...(await templates)].map(knownResource);
    },
    call: (tool, args, ctx) =>
      request(`answer '${tool}'`, ctx, "tools/call", { name: tool, arguments: args }, CallToolResultSchema),
    prompt: (prompt, args, ctx) =>
      request(`give '${prompt}'`, ctx, "prompts/get", { name: prompt, arguments: args }, GetPromptResultSchema),
    read: (uri, ctx) => request(`give '${uri}'`, ctx, "resources/read", { uri }, ReadResourceResultSchema),
    close: () => client.close(),
  };
}

/** Runs a request within its time limit, which pauses while the person is asked something. */
async function limited<T>(
  live: Live,
  ms: number,
  by: Ctx,
  what: string,
  act: (how: object) => Promise<T>,
  remedy = SLOW,
): Promise<T> {
  const { name, why } = live.opening;
  const because = () => (why() ? `: ${why()}` : "");
  if (!live.isOpen) throw fault(`MCP server '${name}' has ended${because()}.`);
  live.now = by;
  const wait = patience(by.io.clock, ms);
  live.waits.add(wait);
  const onprogress = ({ message, progress, total }: any) => {
    wait.putOff();
    by.progress(clip(oneLine(clean(message ?? `${progress}${total ? ` of ${total}` : ""}`)), 200));
  };
  try {
    const signal = AbortSignal.any([by.signal, wait.signal]);
    return await act({ signal, timeout: NO_LIMIT_MS, onprogress });
  } catch (error) {
    by.signal.throwIfAborted();
    if (wait.signal.aborted)
      throw fault(`MCP server '${name}' did not ${what} within ${ms / 1000} s${because()}. ${remedy}`);
    const { code } = error as { code?: number | string };
    if (code === "EPIPE" || (!live.isOpen && code === CLOSED))
      throw fault(`MCP server '${name}' ended before it could ${what}${because()}.`);
    throw saidBy(name, error);
  } finally {
    wait.lift();
    live.waits.delete(wait);
  }
}

function saidBy(name: string, error: unknown): Error {
  const { message, code, status } = error as { message: string; code?: number; status?: number };
  if (status === 401) return error as Error;
  const said = clip(oneLine(clean(message.replace(/^MCP error -?\d+: /, ""))), 600).replace(/\.$/, "");
  if (code === 401) return fault(`MCP server '${name}' wants a login. Type: /mcp login ${name}`, { status: 401 });
  if (/protocol version is not supported/.test(said))
    return fault(`Cannot talk to MCP server '${name}': ${said}. Update it, or zz.`);
  if (/"code": ?"invalid_|"path": ?\[/.test(message))
    return fault(`MCP server '${name}' sent something that is not an answer: ${clip(said, 200)}.`);
  return fault(`MCP server '${name}' says: ${said}.`);
}

/** Registers handlers for a server's questions. The time that the person takes does not count against its limits. */
function answerTo(live: Live): void {
  const { client, now, opening } = live;
  const { sample, elicit } = opening.answers;
  const uri = pathToFileURL(now.root).href;
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri, name: "project" }] }));
  client.setRequestHandler(
    CreateMessageRequestSchema,
    ({ params }) => meanwhile(() => sample(params, live.now)) as never,
  );
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => meanwhile(() => elicit(params, live.now)) as never);

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
/** A time limit that can be restarted and paused: aborts after so many ms in which it was not held. */
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
  const named = (one: any) => ({ name: clip(oneLine(clean(String(one.name))), 40), required: one.required === true });
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
