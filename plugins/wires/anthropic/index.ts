// Anthropic's Messages. Thinking is sent back with its signature, the unchanging prefix is marked
// for the cache, and what a server refuses by name is sent differently from then on.
import type { ChatRequest, Endpoint, HttpAnswer, Usage, Zz } from "zz";
import { ownValue } from "zz/text";
import { modelsOfPages, valuesOf } from "../native.ts";
import { baseOf, needKey, type Preset, rememberByModel, toJson, type Wire } from "../wire-types.ts";
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

const learntOf = rememberByModel<Learnt>(() => ({ without: new Set(), thoughts: new Set() }));

export const anthropic: Wire = {
  model(_preset, id) {
    const { window } = knownOf(id);
    return window ? { id, window, tools: true, vision: true, takes: TAKES } : undefined;
  },

  async models(zz, preset, endpoint, signal) {
    const baseUrl = findBaseUrl(zz, preset, endpoint);
    const learnt = learntOf(baseUrl, "");
    const listedModels = await modelsOfPages((afterId) => {
      const queryString = `?limit=1000${afterId && `&after_id=${encodeURIComponent(afterId)}`}`;
      const askPage = () =>
        zz.fetch(`${baseUrl}/v1/models${queryString}`, {
          headers: headers(zz, preset, endpoint, learnt),
          signal,
        });
      return askPage().catch((requestError) => {
        if (requestError.status !== 401 || learnt.bearer || !endpoint.key) throw requestError;
        learnt.bearer = true;
        return askPage().catch(() => {
          delete learnt.bearer;
          throw requestError;
        });
      });
    });
    return listedModels.map(({ id, window = knownOf(id).window }) => ({
      id,
      ...(window && { window }),
      ...(/^claude/.test(id) && { tools: true, vision: true }),
    }));
  },

  async *chat(zz, preset, request, signal) {
    const url = findBaseUrl(zz, preset, request.endpoint);
    const learnt = learntOf(url, request.model);
    const once: Once = {};
    const pausedBlocks: any[] = []; // the answer's blocks up to its last pause
    let spent: Usage = { input: 0, output: 0 };
    for (let pauseCount = 0; ; pauseCount++) {
      const reading: Reading = {
        open: new Map(),
        blocks: [],
        first: pauseCount * MAX_BLOCKS,
        spent,
        counts: {},
        text: false,
        grown: { field: "text", pieces: [] },
      };
      const httpAnswer = await sendRequest(zz, preset, request, signal, {
        url,
        learnt,
        once,
        pausedBlocks,
      });
      for await (const valueBatch of valuesOf(httpAnswer, PROTOCOL, preset.name)) {
        yield readAll(reading, valueBatch);
        if (reading.ended) break;
      }
      const isPaused = reading.stop === "pause_turn";
      if (!isPaused || pauseCount === MAX_PAUSES) {
        if (reading.stop || reading.ended)
          yield [
            { finish: isPaused ? "length" : (ownValue(FINISH_REASONS, reading.stop!) ?? "stop") },
          ];
        return;
      }
      settle(reading);
      pausedBlocks.push(...reading.blocks);
      spent = usageOf(reading);
    }
  },
};

const FINISH_REASONS: Record<string, string> = {
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
const findBaseUrl = (zz: Zz, preset: Preset, endpoint: Endpoint): string => {
  const url =
    endpoint.url ??
    (preset.name === "anthropic" ? zz.io.variable("ANTHROPIC_BASE_URL") : undefined);
  return baseOf(preset, url ? { url } : {}).replace(/\/v1(\/messages)?$/, "");
};

const OAUTH_BETA = "oauth-2025-04-20";
function headers(
  zz: Zz,
  preset: Preset,
  endpoint: Endpoint,
  { bearer }: Learnt,
  askedBetas: unknown = [],
): Record<string, string> {
  const { key } = endpoint;
  needKey(preset, key, findBaseUrl(zz, preset, endpoint));
  const isToken = bearer || /^sk-ant-oat/.test(zz.io.variable(preset.key ?? "") ?? "");
  const betaHeader = [askedBetas, isToken && key ? OAUTH_BETA : []]
    .flat()
    .filter(Boolean)
    .join(",");
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
async function sendRequest(
  zz: Zz,
  preset: Preset,
  request: ChatRequest,
  signal: AbortSignal,
  { url, learnt, once, pausedBlocks }: Way,
): Promise<HttpAnswer> {
  for (;;) {
    const requestBody = bodyOf(request, learnt, once, pausedBlocks);
    try {
      return await zz.fetch(`${url}/v1/messages`, {
        method: "POST",
        headers: headers(zz, preset, request.endpoint, learnt, request.options.betas),
        body: toJson(requestBody),
        signal,
      });
    } catch (requestError) {
      if (
        !learnFromRefusal(
          requestError as Error & { status?: number },
          request,
          requestBody,
          learnt,
          once,
        )
      )
        throw once.refused ?? requestError;
    }
  }
}

// ── What to change after a refusal ──

/** [what to leave out, what the refusal says, whether it was sent] */
const REFUSED: [name: string, words: RegExp, sent: (sentBody: any) => unknown][] = [
  ["display", /\bdisplay\b/, ({ thinking }) => thinking?.display],
  [
    "disabled",
    /thinking\.type\.disabled|thinking.*disabled/s,
    ({ thinking }) => thinking?.type === "disabled",
  ],
  ["effort", /\beffort\b/, (sentBody) => sentBody.output_config?.effort],
  [
    "format",
    /output_config|output_format|structured output|schema/i,
    (sentBody) => sentBody.output_config?.format,
  ],
  ["effort", /output_config/, (sentBody) => sentBody.output_config?.effort],
  ["cache_control", /cache_control/, () => true],
  ...SAMPLING.map((optionName): [string, RegExp, (sentBody: any) => unknown] => [
    optionName,
    RegExp(`\\b${optionName}\\b`),
    (sentBody) => optionName in sentBody,
  ]),
];

/**
 * Learns from a refusal; returns whether to send the request again. Each change is made once, so
 * this ends.
 */
function learnFromRefusal(
  refusalError: Error & { status?: number },
  { endpoint }: ChatRequest,
  sentBody: any,
  learnt: Learnt,
  once: Once,
): boolean {
  const { status, message } = refusalError;
  const { without } = learnt;
  if (status === 401 && endpoint.key) {
    if (once.refused) delete learnt.bearer;
    if (once.refused || learnt.bearer) return false;
    once.refused = refusalError; // of the two refusals, the first is reported
    return (learnt.bearer = true);
  }
  delete once.refused;
  if (status !== 400 && status !== 422) return false;
  const [, , outputLimit] = /max_tokens: (\d+) > (\d+)/.exec(message) ?? [];
  if (outputLimit && sentBody.max_tokens > Number(outputLimit))
    return Boolean((learnt.output = Number(outputLimit)));
  const [, inputTokens, , contextWindow] =
    /exceed context limit: (\d+) \+ (\d+) > (\d+)/.exec(message) ?? [];
  const spareTokens = Number(contextWindow) - Number(inputTokens);
  if (spareTokens >= LEAST_BUDGET && sentBody.max_tokens > spareTokens)
    return Boolean((once.output = spareTokens));
  const sentMode = sentBody.thinking?.type;
  const modePattern =
    sentMode === "enabled" ? /budget_tokens|thinking\.type\.enabled/ : /adaptive(?!\.display)/;
  const isNewMode = /^(enabled|adaptive)$/.test(sentMode) && !without.has(sentMode);
  if (isNewMode && (modePattern.test(message) || /not support.*thinking/.test(message))) {
    without.add(sentMode);
    const otherMode = sentMode === "enabled" ? "adaptive" : "enabled";
    const isRefused = without.has(otherMode) || /not support \w*\s?thinking/.test(message);
    const supported = otherMode === "enabled" ? "budget" : otherMode;
    learnt.thinking = isRefused ? "none" : supported;
    return true;
  }
  const thoughts = sentBody.messages
    .flatMap(({ content }: any) => content.filter(isThought))
    .map(signatureOf);
  if (
    /signature|thinking/.test(message) &&
    thoughts.some((thought: string) => !learnt.thoughts.has(thought))
  ) {
    for (const signature of thoughts) learnt.thoughts.add(signature);
    return true;
  }
  const [refusedName] =
    REFUSED.find(
      ([partName, errorPattern, wasSent]) =>
        !without.has(partName) && errorPattern.test(message) && wasSent(sentBody),
    ) ?? [];
  return Boolean(refusedName && without.add(refusedName));
}
