// The system prompt: layers in the order of their slots.
import { type Layer, type Part, SLOTS, type UserMeta } from "../contract.ts";
import { emitNote, withinHookLimit } from "../events.ts";
import { type Core, type Owned, type TurnContext, ZZ } from "../instance.ts";
import { stampOf } from "../text/read-quietly.ts";
import { errorMessage } from "../text/secrets.ts";
import { CHARS_PER_TOKEN, compare, shorten } from "../text/words.ts";
import { saveLayerUpdates, saveSystemPrompt } from "./chat.ts";
import {
  addTemplates,
  type PromptFile,
  promptFiles,
  readPrompts,
  TEMPLATE_OWNER,
} from "./prompt-files.ts";
import { savePluginStates } from "./save-chat.ts";

const LAYER_BUDGET = 2_000;
const MAX_WINDOW_SHARE = 8; // the part of the window that one layer may fill

/** Loads prompt files again if any of them changed. */
export function loadPrompts(core: Core): void {
  const { prompts, layers, commands } = core;
  const files = promptFiles(core);
  const stamps = files.map((file) => `${file} ${stampOf(file)}`).join("\n");
  if (stamps === prompts.stamps) return;
  for (const layer of prompts.layers) layers.splice(layers.indexOf(layer), 1);
  for (const [name, { owner }] of commands) if (owner === TEMPLATE_OWNER) commands.delete(name);
  const read = readPrompts(files);
  core.prompts = { stamps, layers: promptLayers(core, read) };
  layers.push(...core.prompts.layers);
  addTemplates(core, read);
}

/** A Markdown file in prompts/ whose front matter names a slot is a layer. */
function promptLayers(core: Core, prompts: PromptFile[]): Owned<Layer>[] {
  const { system } = core.options;
  const layers: Layer[] = system ? [{ name: "system", slot: "identity", text: system }] : [];
  for (const { name, head, body } of prompts) {
    const slot = SLOTS.find(
      (slot) => slot === head.slot && !(slot === "identity" && system !== undefined),
    );
    if (slot)
      layers.push({ name, slot, text: body, ...(head.budget && { budget: Number(head.budget) }) });
  }
  return layers.map((value) => ({ owner: "", value }));
}

/** The current text of all layers, in the order of their slots. */
async function renderLayers({ core, chat, ctx }: TurnContext): Promise<Part[]> {
  const order = (layer: Owned<Layer>) => SLOTS.indexOf(layer.value.slot);
  const { system } = core.options;
  const maxTokens = chat.window ? chat.window / MAX_WINDOW_SHARE : Number.POSITIVE_INFINITY;
  const parts: Part[] = [];
  for (const layer of core.layers.toSorted(
    (a, b) => order(a) - order(b) || compare(a.owner, b.owner),
  )) {
    const { owner, value } = layer;
    const { name, slot } = value;
    // --system replaces the identity
    if (system !== undefined && slot === "identity" && owner) continue;
    const body = await render(layer);
    if (body)
      parts.push({
        name,
        slot,
        owner: owner || ZZ,
        text: slot === "identity" && !owner ? body : fencedBlock(titleOf(name), body),
      });
  }
  return parts;

  async function render({
    owner,
    value: { name, text, budget = LAYER_BUDGET },
  }: Owned<Layer>): Promise<string> {
    const room = Math.min(budget, maxTokens);
    if (typeof text === "string") return shortenToTokens(text.trim(), room);
    try {
      const rendered = text(ctx);
      return shortenToTokens(
        (
          (rendered instanceof Promise ? await withinHookLimit(core, rendered) : rendered) ?? ""
        ).trim(),
        room,
      );
    } catch (error) {
      emitNote(core, `Layer '${name}' of '${owner}' was left out: ${errorMessage(error)}`);
      return "";
    }
  }
}

/** The system prompt as first sent, the updates sent since, and what changed since then. */
export async function composePrompt(
  turn: TurnContext,
): Promise<{ prompt: Part[]; told: Map<string, string>; news: Part[] }> {
  const { prompt: first, messages } = turn.chat;
  const currentParts = await renderLayers(turn);
  const sentUpdates = new Map<string, string>();
  if (!first) return { prompt: currentParts, told: sentUpdates, news: [] };
  const loose = first.filter((part) => !isAlwaysCurrent(part));
  for (const message of messages)
    for (const [key, text] of Object.entries((message as UserMeta).news ?? {}))
      sentUpdates.set(key, text);
  const knownTexts = new Map([
    ...loose.map((part) => [layerKey(part), part.text] as const),
    ...sentUpdates,
  ]);
  const news = currentParts.filter(
    (part) => !isAlwaysCurrent(part) && knownTexts.get(layerKey(part)) !== part.text,
  );
  const keys = new Set(currentParts.map(layerKey));
  for (const [key, text] of knownTexts) {
    const gone = updatePart(key, fencedBlock(titleOf(key.split("/")[1]!), "Nothing any more."));
    if (!keys.has(key) && text !== gone.text) news.push(gone);
  }
  return { prompt: [...currentParts.filter(isAlwaysCurrent), ...loose], told: sentUpdates, news };
}
export const updatePart = (key: string, text: string): Part => {
  const [owner = "", name = ""] = key.split("/");
  return { name, slot: "turn", owner, text };
};
const isAlwaysCurrent = ({ slot }: Part): boolean => slot === "identity" || slot === "rules";
const layerKey = ({ owner, name }: Part): string => `${owner}/${name}`;

/**
 * Prepares the prompt for a turn. What changed is attached to the message and kept, so that later
 * requests begin the same way.
 */
export async function prepareSystemPrompt(
  turn: TurnContext,
  { core, chat } = turn,
): Promise<string> {
  const { prompt, news } = await composePrompt(turn);
  if (!chat.prompt || JSON.stringify(prompt) !== JSON.stringify(chat.prompt))
    saveSystemPrompt(core, chat, prompt);
  if (news.length)
    saveLayerUpdates(
      core,
      chat,
      Object.fromEntries(news.map((part) => [layerKey(part), part.text])),
    );
  // what plugins remember of it, in case zz is killed before the answer
  savePluginStates(core, chat);
  return prompt.map(({ text }) => text).join("\n\n");
}

const titleOf = (name: string): string => name.replace(/[-_]/g, " ").toUpperCase();
export const fencedBlock = (title: string, text: string): string =>
  `--- ${title} ---\n${text}\n--- END ${title} ---`;

/** At most so many tokens: the head and the tail, with a marker between. */
export const shortenToTokens = (text: string, tokens: number): string =>
  shorten(text, Math.floor(tokens * CHARS_PER_TOKEN));
