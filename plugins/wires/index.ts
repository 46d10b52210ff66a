// The providers that are reached over the network, one for each line of presets.ts. The wires know
// what they speak.
import type { ChatRequest, Delta, Zz } from "zz";
import { deltasOf, usage } from "zz/text";
import { chat } from "./chat.ts";
import { PRESETS } from "./presets.ts";
import { responses } from "./responses.ts";
import { baseOf, type Preset, type Wire, type WireName } from "./wire-types.ts";

export const defaults = { model: "" };
export const settings = {
  name: "openai",
  project: true,
  schema: {
    type: "object",
    properties: {
      model: {
        type: "string",
        description: "the model of OpenAI to ask when none is named; empty: gpt-4o-mini",
      },
    },
  },
};

const WIRE_LOADERS: Record<WireName, () => Promise<Wire>> = {
  chat: async () => chat, // loaded at once: loading it later would cost most answers 5 ms
  anthropic: async () => (await import("./anthropic/index.ts")).anthropic,
  gemini: async () => (await import("./gemini/index.ts")).gemini,
  responses: async () => responses,
};

export default (zz: Zz<typeof defaults>) => {
  for (const preset of PRESETS) provide(zz, preset);
};

function provide(zz: Zz<typeof defaults>, preset: Preset): void {
  const { name, wire = "chat", key, address, is, model: usualModel } = preset;
  const loadWire = WIRE_LOADERS[wire];
  zz.provider({
    name,
    role: is ?? "named",
    ...(key && { key: { variable: key } }),
    ...(address && { url: { variable: address } }),
    auto(_signal, { key, url, own }) {
      if (typeof own?.model === "string" && (key || url)) return own.model;
      return key && !preset.named ? (is && zz.config.model) || usualModel : undefined;
    },
    model: async (id) => (await loadWire()).model(preset, id),
    models: async (signal, endpoint) => (await loadWire()).models(zz, preset, endpoint, signal),
    chat: (request, signal) => deltasOf(answerRequest(zz, preset, request, signal)),
  });
}

/** Asks over the wire that the person named, else over the one that the model is made for. */
async function* answerRequest(
  zz: Zz<typeof defaults>,
  preset: Preset,
  request: ChatRequest,
  signal: AbortSignal,
): AsyncGenerator<Iterable<Delta>> {
  const { wire: askedWire = request.endpoint.own?.wire, ...options } = request.options;
  const askOver = async (wireName: WireName) =>
    (await WIRE_LOADERS[wireName]()).chat(zz, preset, { ...request, options }, signal);
  if (preset.wire) return yield* await askOver(preset.wire);
  if (askedWire !== undefined && askedWire !== "chat" && askedWire !== "responses")
    throw usage(
      `Cannot ask '${preset.name}' over the wire '${askedWire}': there is none. ` +
        "Choose chat or responses.",
    );
  if (askedWire) return yield* await askOver(askedWire);
  if (!preset.quirks?.responses?.test(request.model)) return yield* await askOver("chat");
  try {
    yield* await askOver("responses");
  } catch (requestError) {
    const { status } = requestError as { status?: number };
    const isElsewhere = baseOf(preset, request.endpoint) !== preset.url;
    if (!isElsewhere || (status !== 404 && status !== 405 && status !== 501)) throw requestError;
    // another server, with a model of that name but only the wire "chat"
    yield* await askOver("chat");
  }
}
