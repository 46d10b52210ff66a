// The providers that are reached over the network, one for each line of presets.ts. What they speak is a wire's business.
import type { Model, Zz } from "zz";
import type { Preset, Wire, WireName } from "./contract.ts";
import { PRESETS } from "./presets.ts";

export const defaults = { model: "" };
export const settings = {
  name: "openai",
  project: true,
  schema: {
    type: "object",
    properties: { model: { type: "string", description: "the model to ask when none is named" } },
  },
};

const WIRES: Partial<Record<WireName, () => Promise<Wire>>> = {
  chat: async () => (await import("./chat.ts")).chat,
  anthropic: async () => (await import("./anthropic/index.ts")).anthropic,
  gemini: async () => (await import("./gemini.ts")).gemini,
};

export default (zz: Zz<typeof defaults>) => {
  for (const preset of PRESETS) provide(zz, preset);
};

function provide(zz: Zz<typeof defaults>, preset: Preset): void {
  const { name, key, is, model: usual } = preset;
  const wire = WIRES[preset.wire]!;
  zz.provider({
    name,
    ...(is && { role: is }),
    ...(key && { key: { variable: key } }),
    ...(is && { url: { variable: "OPENAI_BASE_URL" } }),
    auto: (_signal, endpoint) => (endpoint.key ? (is && zz.config.model) || usual : undefined),
    model: async (id): Promise<Model | undefined> => (await wire()).model?.(preset, id),
    models: async (signal, endpoint) => (await wire()).models(zz, preset, endpoint, signal),
    async *chat(request, signal) {
      yield* (await wire()).chat(zz, preset, request, signal);
    },
  });
}
