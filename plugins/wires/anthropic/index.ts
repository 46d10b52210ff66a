// Anthropic's Messages. Thinking is sent back with its signature, the unchanging prefix is marked
// for the cache, and what a server refuses by name is sent differently from then on.
import type { ChatRequest, Endpoint, HttpAnswer, Model, Usage, Zz } from "zz";
import { MAX_MODELS, needKey, toJson, valuesOf } from "../native.ts";
import { baseOf, memory, type Preset, type Wire } from "../wire-types.ts";
import { MAX_BLOCKS, type Reading, readAll, settle, usageOf } from "./read-events.ts";
import {
  bodyOf,
  isThought,
  knownOf,
  LEAST_BUDGET,
  type Learnt,
  type Once,
  SAMPLING,
  signatureOf,
  TAKES,
} from "./request.ts";

const PROTOCOL = "Anthropic's Messages";
const MAX_PAUSES = 10; // of one answer, while the server's own tools run
const MAX_PAGES = 50; // of the list of models

const learntOf = memory<Learnt>(() => ({ without: new Set(), thoughts: new Set() }));

export const anthropic: Wire = {
  model(_preset, id) {
    const { window } = knownOf(id);
    return window ? { id, window, tools: true, vision: true, takes: TAKES } : undefined;
  },

  async models(zz, preset, endpoint, signal) {
    const { readModelPage } = await import("../listed-models.ts");
    const url = base(zz, preset, endpoint);
    const learnt = learntOf(url, "");
    const listed: Model[] = [];
    let after = "";
    for (let page = 0; page < MAX_PAGES && listed.length < MAX_MODELS; page++) {
      const query = `?limit=1000${after && `&after_id=${encodeURIComponent(after)}`}`;
      const ask = () =>
        zz.fetch(`${url}/v1/models${query}`, {
          headers: headers(zz, preset, endpoint, learnt),
          signal,
        });
      const answer = await ask().catch((error) => {
        if (error.status !== 401 || learnt.bearer || !endpoint.key) throw error;
        learnt.bearer = true;
        return ask().catch(() => {
          delete learnt.bearer;
          throw error;
        });
      });
      const { models, next } = readModelPage(await answer.json());
      for (const { id, window = knownOf(id).window } of models)
        listed.push({
          id,
          ...(window && { window }),
          ...(/^claude/.test(id) && { tools: true, vision: true }),
        });
      if (!next || next === after) break;
      after = next;
    }
    return listed.slice(0, MAX_MODELS);
  },

  async *chat(zz, preset, request, signal) {
    const url = base(zz, preset, request.endpoint);
    const learnt = learntOf(url, request.model);
    const once: Once = {};
    const pausedBlocks: any[] = []; // the answer's blocks up to its last pause
    let spent: Usage = { input: 0, output: 0 };
    for (let pauses = 0; ; pauses++) {
      const reading: Reading = {
        open: new Map(),
        blocks: [],
        first: pauses * MAX_BLOCKS,
        spent,
        counts: {},
        text: false,
        grown: { field: "text", pieces: [] },
      };
      const answer = await send(zz, preset, request, signal, { url, learnt, once, pausedBlocks });
      for await (const batch of valuesOf(answer, PROTOCOL, preset.name)) {
        yield readAll(reading, batch);
        if (reading.ended) break;
      }
      const paused = reading.stop === "pause_turn";
      if (!paused || pauses === MAX_PAUSES) {
        if (reading.stop || reading.ended)
          yield [{ finish: paused ? "length" : (FINISH[reading.stop!] ?? "stop") }];
        return;
      }
      settle(reading);
      pausedBlocks.push(...reading.blocks);
      spent = usageOf(reading);
    }
  },
};

const FINISH: Record<string, string> = {
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_use",
  refusal: "refusal",
};

// ── The request ──

/**
 * ANTHROPIC_BASE_URL lacks the version; an address that a person pastes may have it, or the whole
 * path.
 */
const base = (zz: Zz<any>, preset: Preset, endpoint: Endpoint): string => {
  const url =
    endpoint.url ??
    (preset.name === "anthropic" ? zz.io.variable("ANTHROPIC_BASE_URL") : undefined);
  return baseOf(preset, url ? { url } : {}).replace(/\/v1(\/messages)?$/, "");
};

const OAUTH = "oauth-2025-04-20";
function headers(
  zz: Zz<any>,
  preset: Preset,
  endpoint: Endpoint,
  { bearer }: Learnt,
  betas: unknown = [],
): Record<string, string> {
  if (base(zz, preset, endpoint) === preset.url) needKey(preset, endpoint);
  const { key } = endpoint;
  const isToken = bearer || /^sk-ant-oat/.test(zz.io.variable(preset.key ?? "") ?? "");
  const betaHeader = [betas, isToken && key ? OAUTH : []].flat().filter(Boolean).join(",");
  return {
    "content-type": "application/json",
    accept: "text/event-stream",
    "anthropic-version": "2023-06-01",
    ...(key && (isToken ? { authorization: `Bearer ${key}` } : { "x-api-key": `${key}` })),
    ...(betaHeader && { "anthropic-beta": betaHeader }),
  };
}

interface Way {
  url: string;
  learnt: Learnt;
  once: Once;
  pausedBlocks: any[];
}
async function send(
  zz: Zz<any>,
  preset: Preset,
  request: ChatRequest,
  signal: AbortSignal,
  connection: Way,
): Promise<HttpAnswer> {
  const { url, learnt, once, pausedBlocks } = connection;
  for (;;) {
    const body = bodyOf(request, learnt, once, pausedBlocks);
    try {
      return await zz.fetch(`${url}/v1/messages`, {
        method: "POST",
        headers: headers(zz, preset, request.endpoint, learnt, request.options.betas),
        body: toJson(body),
        signal,
      });
    } catch (error) {
      if (!adapts(error as Error & { status?: number }, request, body, learnt, once))
        throw once.refused ?? error;
    }
  }
}

// ── What to change after a refusal ──

/** [what to leave out, what the refusal says, whether it was sent] */
const REFUSED: [name: string, words: RegExp, sent: (body: any) => unknown][] = [
  ["display", /\bdisplay\b/, ({ thinking }) => thinking?.display],
  [
    "disabled",
    /thinking\.type\.disabled|thinking.*disabled/s,
    ({ thinking }) => thinking?.type === "disabled",
  ],
  ["effort", /\beffort\b/, (body) => body.output_config?.effort],
  [
    "format",
    /output_config|output_format|structured output|schema/i,
    (body) => body.output_config?.format,
  ],
  ["effort", /output_config/, (body) => body.output_config?.effort],
  ["cache_control", /cache_control/, () => true],
  ...SAMPLING.map((name): [string, RegExp, (body: any) => unknown] => [
    name,
    RegExp(`\\b${name}\\b`),
    (body) => name in body,
  ]),
];

/**
 * Learns from a refusal; returns whether to send the request again. Each change is made once, so
 * this ends.
 */
function adapts(
  error: Error & { status?: number },
  { endpoint }: ChatRequest,
  body: any,
  learnt: Learnt,
  once: Once,
): boolean {
  const { status, message } = error;
  const { without } = learnt;
  if (status === 401 && endpoint.key) {
    if (once.refused) delete learnt.bearer;
    if (once.refused || learnt.bearer) return false;
    once.refused = error; // of the two refusals, the first is reported
    return (learnt.bearer = true);
  }
  delete once.refused;
  if (status !== 400 && status !== 422) return false;
  const [, , limit] = /max_tokens: (\d+) > (\d+)/.exec(message) ?? [];
  if (limit && body.max_tokens > Number(limit)) return Boolean((learnt.output = Number(limit)));
  const [, input, , window] = /exceed context limit: (\d+) \+ (\d+) > (\d+)/.exec(message) ?? [];
  const room = Number(window) - Number(input);
  if (room >= LEAST_BUDGET && body.max_tokens > room) return Boolean((once.output = room));
  const sent = body.thinking?.type;
  const isSent =
    sent === "enabled" ? /budget_tokens|thinking\.type\.enabled/ : /adaptive(?!\.display)/;
  const isNew = /^(enabled|adaptive)$/.test(sent) && !without.has(sent);
  if (isNew && (isSent.test(message) || /not support.*thinking/.test(message))) {
    without.add(sent);
    const otherMode = sent === "enabled" ? "adaptive" : "enabled";
    const isRefused = without.has(otherMode) || /not support \w*\s?thinking/.test(message);
    const supported = otherMode === "enabled" ? "budget" : otherMode;
    learnt.thinking = isRefused ? "none" : supported;
    return true;
  }
  const thoughts = body.messages
    .flatMap(({ content }: any) => content.filter(isThought))
    .map(signatureOf);
  if (
    /signature|thinking/.test(message) &&
    thoughts.some((thought: string) => !learnt.thoughts.has(thought))
  ) {
    for (const signed of thoughts) learnt.thoughts.add(signed);
    return true;
  }
  const [name] =
    REFUSED.find(
      ([name, words, wasSent]) => !without.has(name) && words.test(message) && wasSent(body),
    ) ?? [];
  return Boolean(name && without.add(name));
}
