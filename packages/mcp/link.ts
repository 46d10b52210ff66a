// One server that runs: the SDK's client, what the server may ask of zz, and how long zz waits.

import { pathToFileURL } from "node:url";
import { Client, SdkErrorCode, type Transport } from "@modelcontextprotocol/client";
import type { Clock, Ctx } from "zz";
import { clean, clip, fault, jsonOrText, oneLine, plural } from "zz/text";
import { type KnownPrompt, type KnownTool, knownTool } from "./describe.ts";
import { NO_ANSWER, withoutJson } from "./refuse-bad-answers.ts";
import { UNCHECKED } from "./settings.ts";

const NO_LIMIT_MS = 2 ** 31 - 1;
const SILENT_REMEDY = 'Check its command or its address, or raise its "timeout".';
const LISTING = "list what it has";
const SLOW_REMEDY = 'Try again, or raise its "timeout".';
const [MAX_LISTED, MAX_PAGES] = [500, 20];
// of the time for a start: a server that has not answered the protocol of 2026 by then is greeted
const PROBE_SHARE = 0.5;
const MAX_ASKED = 50; // how often a server may ask the model or the person in one conversation

/** Answers to what a server may ask for while it works. */
export interface Answers {
  sample(params: any, ctx: Ctx): Promise<object>;
  elicit(params: any, ctx: Ctx): Promise<object>;
}
export type Link = ReturnType<typeof makeLink>;
/**
 * Servers up to 2025-11-25 begin with a greeting; those of 2026-07-28 answer each request by
 * itself.
 */
export type Era = "legacy" | "modern";
type Opening = {
  name: string;
  version: string; // zz's own
  transport: Transport;
  endReason(): string; // what is known about why the server ended
  seconds: { start: number; call: number }; // limits
  spentMs?: number; // of the time for its start, by a try before
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
  const priorEra = opening.era === "legacy" ? { prior: { kind: opening.era } } : {};
  await limited(
    live,
    ctx,
    "say what it is",
    (options) => client.connect(transport, { ...options, ...priorEra }),
    { seconds: opening.seconds.start, remedy: SILENT_REMEDY, spentMs: opening.spentMs ?? 0 },
  ).catch(async (error) => {
    await transport.close().catch(() => {});
    throw error;
  });
  return makeLink(live);
}

function newClient(opening: Opening): Client {
  const { version, changed, seconds } = opening;
  const listHook = (listName: "tools" | "prompts" | "resources") => ({
    autoRefresh: false,
    onChanged: () => changed(listName),
  });
  const listChanged = {
    tools: listHook("tools"),
    prompts: listHook("prompts"),
    resources: listHook("resources"),
  };
  const capabilities = { sampling: {}, elicitation: { form: { applyDefaults: true } }, roots: {} };
  const probe = { timeoutMs: seconds.start * 1_000 * PROBE_SHARE };
  const versionNegotiation = { mode: "auto" as const, probe };
  const clientOptions = { capabilities, listChanged, ...UNCHECKED, versionNegotiation };
  return new Client({ name: "zz", version }, clientOptions);
}

/** All pages of a list, up to the limits. */
async function allPages(live: Live, ctx: Ctx, method: string, listField: string): Promise<any[]> {
  const listedItems: any[] = [];
  let cursor: string | undefined;
  for (let pageCount = 0; pageCount < MAX_PAGES && listedItems.length < MAX_LISTED; pageCount++) {
    const request = { method, params: { cursor } } as never;
    const requestPage = (options: object): Promise<any> => live.client.request(request, options);
    const response = await limited(live, ctx, LISTING, requestPage);
    listedItems.push(...response[listField]);
    cursor = response.nextCursor;
    if (cursor === undefined) break;
  }
  return listedItems.slice(0, MAX_LISTED);
}

/** The client keeps them, since a server may want arguments of theirs in headers. */
async function listTools(live: Live, ctx: Ctx): Promise<KnownTool[]> {
  const requestTools = (options: object) =>
    live.client.listTools(undefined, { ...options, cacheMode: "refresh" });
  return (await limited(live, ctx, LISTING, requestTools)).tools.map(knownTool);
}

function makeLink(live: Live) {
  const { client } = live;
  const serverCan = client.getServerCapabilities() ?? {};
  const { version = "" } = client.getServerVersion() ?? {};
  return {
    get ended(): boolean {
      return !live.isOpen;
    },
    can: {
      tools: Boolean(serverCan.tools),
      prompts: Boolean(serverCan.prompts),
      resources: Boolean(serverCan.resources),
    },
    about: {
      version: clip(oneLine(clean(version)), 40),
      instructions: clean(client.getInstructions() ?? "").slice(0, 2_000),
    },
    era: client.getProtocolEra() ?? "legacy",
    tools: (ctx: Ctx) => listTools(live, ctx),
    prompts: async (ctx: Ctx) =>
      (await allPages(live, ctx, "prompts/list", "prompts")).map(knownPrompt),
    async resources(ctx: Ctx) {
      const listedResources = await allPages(live, ctx, "resources/list", "resources");
      const templates = allPages(live, ctx, "resources/templates/list", "resourceTemplates").catch(
        () => [],
      );
      return [...listedResources, ...(await templates)].map(knownResource);
    },
    call: (name: string, callArguments: unknown, ctx: Ctx) =>
      limited(live, ctx, `answer '${name}'`, (options) =>
        client.callTool({ name, arguments: callArguments as never }, options),
      ),
    prompt: (name: string, promptArguments: Record<string, string>, ctx: Ctx) =>
      limited(live, ctx, `give '${name}'`, (options) =>
        client.getPrompt({ name, arguments: promptArguments }, options),
      ),
    read: (uri: string, ctx: Ctx) =>
      limited(live, ctx, `give '${uri}'`, (options) =>
        client.readResource({ uri }, { ...options, cacheMode: "bypass" }),
      ),
    close: () => client.close(),
  };
}

/** Runs a request within its time limit, which pauses while the person is asked something. */
async function limited<T>(
  live: Live,
  requestCtx: Ctx,
  actionWords: string,
  sendRequest: (options: object) => Promise<T>,
  { seconds, remedy, spentMs } = {
    seconds: live.opening.seconds.call,
    remedy: SLOW_REMEDY,
    spentMs: 0,
  },
): Promise<T> {
  const { name, endReason, transport } = live.opening;
  const because = () => (endReason() ? `: ${endReason()}` : "");
  if (!live.isOpen) throw fault(`MCP server '${name}' has ended${because()}.`);
  live.latestCtx = requestCtx;
  const timeLimit = patience(requestCtx.io.clock, seconds * 1_000 - spentMs);
  live.waits.add(timeLimit);
  const onprogress = ({ message, progress, total }: any) => {
    timeLimit.putOff();
    requestCtx.progress(
      clip(oneLine(clean(message ?? `${progress}${total ? ` of ${total}` : ""}`)), 200),
    );
  };
  try {
    const signal = AbortSignal.any([requestCtx.signal, timeLimit.signal]);
    return await Promise.race([
      sendRequest({ signal, timeout: NO_LIMIT_MS, onprogress }),
      rejection(signal),
    ]);
  } catch (error) {
    requestCtx.signal.throwIfAborted();
    if (timeLimit.signal.aborted)
      throw fault(
        `MCP server '${name}' did not ${actionWords} within ` +
          `${seconds} s${because()}. ${remedy}`,
      );
    const { code } = error as { code?: number | string };
    const hasEnded =
      code === "EPIPE" ||
      (!live.isOpen && /^(CONNECTION_CLOSED|ERA_NEGOTIATION_FAILED)$/.test(String(code)));
    if (hasEnded)
      throw Object.assign(
        fault(`MCP server '${name}' ended before it could ${actionWords}${because()}.`),
        { code },
      );
    if (transport.sessionId && isSessionLost(error))
      throw fault(`MCP server '${name}' knows its session no more. Try again.`, {
        code: SESSION_LOST,
      } as object);
    throw serverError(name, error);
  } finally {
    timeLimit.hold(); // for good
    live.waits.delete(timeLimit);
  }
}

/** A server that was started again knows no session of before. Many say 400 instead of 404. */
export const SESSION_LOST = "SESSION_LOST";
function isSessionLost({ status, data }: any): boolean {
  const { status: httpStatus = status, text = "" } = Object(data);
  return httpStatus === 404 || (httpStatus === 400 && /session/i.test(text));
}

export const rejection = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const rejectAborted = () => reject(signal.reason);
    signal.addEventListener("abort", rejectAborted, { once: true });
    if (signal.aborted) rejectAborted();
  });

export const wantsLogin = (serverName: string): Error =>
  fault(`MCP server '${serverName}' wants a login. Type: /mcp login ${serverName}`, {
    status: 401,
    exit: 1,
  });

const UNKNOWN_VERSION = -32_022; // of the protocol
function serverError(serverName: string, error: unknown): Error {
  const { message, code, status, data, cause, kind } = error as Error & {
    code?: unknown;
    status?: number;
    data?: any;
    kind?: string;
  };
  if (code === SdkErrorCode.EraNegotiationFailed && cause) return serverError(serverName, cause);
  if (kind === "network" || kind === "provider") return error as Error; // zz's own words
  if ((status ?? data?.status) === 401 || (error as Error).name === "UnauthorizedError")
    return wantsLogin(serverName);
  if (Object.hasOwn(error as object, "requiredScope")) {
    const { requiredScope = "" } = error as { requiredScope?: string };
    const scopeWords = clip(oneLine(clean(requiredScope)), 200);
    return fault(
      `MCP server '${serverName}' wants a login for more` +
        `${scopeWords && ` (${scopeWords})`}. Type: /mcp login ${serverName}`,
    );
  }
  const words = data?.status ? answerOf(data) : withoutJson(message);
  const sentence = clip(oneLine(clean(words)), 600).replace(/\.$/, "");
  if (code === NO_ANSWER) return fault(`MCP server '${serverName}' ${sentence}.`);
  if (/protocol version is not supported/.test(sentence) || code === UNKNOWN_VERSION) {
    const supported: unknown = data?.supported;
    const spokenVersions =
      Array.isArray(supported) && supported.length ? ` (it speaks ${supported.join(", ")})` : "";
    const reasonWords = clip(oneLine(clean(`${sentence}${spokenVersions}`)), 600);
    return Object.assign(
      fault(`Cannot talk to MCP server '${serverName}': ${reasonWords}. Update it, or zz.`),
      { code },
    );
  }
  if (code === SdkErrorCode.InvalidResult || code === SdkErrorCode.ClientHttpUnexpectedContent)
    return fault(
      `MCP server '${serverName}' sent something that is not an answer: ${clip(sentence, 200)}.`,
    );
  return Object.assign(fault(`MCP server '${serverName}' says: ${sentence}.`), { code });
}

/** An HTTP answer that is none of the protocol. */
function answerOf({ status, text }: { status: number; text?: string }): string {
  const answerBody = jsonOrText(text ?? "") as any;
  const errorWords =
    answerBody?.error?.message ??
    answerBody?.message ??
    answerBody?.error_description ??
    answerBody;
  if (typeof errorWords !== "string") return `HTTP ${status}: ${JSON.stringify(errorWords)}`;
  const isWebPage = /^\s*<(!doctype|html|\?xml)/i.test(errorWords);
  return `HTTP ${status}: ${isWebPage ? "a web page" : errorWords}`;
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

  async function meanwhile<T>(askMeanwhile: () => Promise<T>): Promise<T> {
    if (++live.asked > MAX_ASKED)
      throw fault(`it asked more than ${plural(MAX_ASKED, "time")}, and gets no answer any more.`);
    const heldLimits = [...live.waits];
    for (const heldLimit of heldLimits) heldLimit.hold();
    return askMeanwhile().finally(() => {
      for (const heldLimit of heldLimits) heldLimit.go();
    });
  }
}

type Patience = { signal: AbortSignal; putOff(): void; hold(): void; go(): void };
/**
 * A time limit that can be restarted and paused: aborts after so many ms in which it was not held.
 */
function patience(clock: Clock, limitMs: number): Patience {
  const limitAbort = new AbortController();
  let [holdCount, cancel] = [0, () => {}];
  const putOff = () => {
    cancel();
    if (!holdCount) cancel = clock.timer(limitMs, () => limitAbort.abort());
  };
  const changeHolds = (holdChange: number) => () => {
    holdCount += holdChange;
    putOff();
  };
  putOff();
  return { signal: limitAbort.signal, putOff, hold: changeHolds(1), go: changeHolds(-1) };
}

function knownPrompt({
  name,
  description = "",
  arguments: promptArguments = [],
}: any): KnownPrompt {
  const cleanArgument = (argument: any) => ({
    name: clip(oneLine(clean(String(argument.name))), 40),
    required: argument.required === true,
  });
  return {
    name: String(name),
    description: clip(oneLine(clean(description)), 200),
    args: promptArguments.slice(0, 20).map(cleanArgument),
  };
}

const knownResource = ({ uri, uriTemplate, name = "", description = "" }: any) => ({
  uri: clean(String(uri ?? uriTemplate)),
  name: oneLine(clean(name)),
  description: clip(oneLine(clean(description)), 200),
});
