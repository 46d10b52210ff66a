// What is known of models without asking a server: enough to begin with, before a wire is loaded.
import type { Model } from "zz";
import type { Preset } from "./wire-types.ts";

/**
 * The windows of well-known models, in tokens, for servers that do not report them. The first match
 * counts.
 */
const WINDOWS: [names: RegExp, window: number][] = [
  [/(^|\/)gpt-5/, 272_000],
  [/(^|\/)gpt-4\.1/, 1_047_576],
  [/(^|\/)(gpt-4o|chatgpt-4o|gpt-4-turbo)/, 128_000],
  [/(^|\/)gpt-3\.5-turbo/, 16_385],
  [/(^|\/)(o1|o3|o4-mini)(-\d|-pro|$)/, 200_000],
  [/(^|\/)claude-/, 200_000],
  [/(^|\/)gemini-(1\.5-flash|2)/, 1_048_576],
  [/(^|\/)gemini-1\.5-pro/, 2_097_152],
  [/(^|\/)deepseek-(chat|reasoner)$/, 65_536],
  [/(^|\/)(mistral-large|mistral-small|ministral)/, 128_000],
  [/(^|\/)grok-3/, 131_072],
  [/(^|\/)grok-4/, 256_000],
];

export const knownWindow = (id: string): number | undefined =>
  WINDOWS.find(([names]) => names.test(id))?.[1];

export function knownModel({ quirks }: Preset, id: string): Model | undefined {
  const window = knownWindow(id);
  if (!window && quirks?.tools !== false) return undefined;
  return { id, ...(window && { window }), ...(quirks?.tools === false && { tools: false }) };
}
