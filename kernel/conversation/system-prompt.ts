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
  const promptPaths = promptFiles(core);
  const stamps = promptPaths.map((promptPath) => `${promptPath} ${stampOf(promptPath)}`).join("\n");
  if (stamps === prompts.stamps) return;
  for (const oldLayer of prompts.layers) layers.splice(layers.indexOf(oldLayer), 1);
  for (const [commandName, { owner }] of commands)
    if (owner === TEMPLATE_OWNER) commands.delete(commandName);
  const loadedPrompts = readPrompts(promptPaths);
  core.prompts = { stamps, layers: promptLayers(core, loadedPrompts) };
  layers.push(...core.prompts.layers);
  addTemplates(core, loadedPrompts);
}

/** A Markdown file in prompts/ whose front matter names a slot is a layer. */
function promptLayers(core: Core, prompts: PromptFile[]): Owned<Layer>[] {
  const { system } = core.options;
  const fileLayers: Layer[] = system ? [{ name: "system", slot: "identity", text: system }] : [];
  for (const { name, head, body } of prompts) {
    const slot = SLOTS.find(
      (candidate) => candidate === head.slot && !(candidate === "identity" && system !== undefined),
    );
    if (slot)
      fileLayers.push({
        name,
        slot,
        text: body,
        ...(head.budget && { budget: Number(head.budget) }),
      });
  }
  return fileLayers.map((value) => ({ owner: "", value }));
}

/** The current text of all layers, in the order of their slots. */
async function renderLayers({ core, chat, ctx }: TurnContext): Promise<Part[]> {
  const rankLayer = (layer: Owned<Layer>) => SLOTS.indexOf(layer.value.slot);
  const { system } = core.options;
  const maxTokens = chat.window ? chat.window / MAX_WINDOW_SHARE : Number.POSITIVE_INFINITY;
  const promptParts: Part[] = [];
  for (const ownedLayer of core.layers.toSorted(
    (first, second) => rankLayer(first) - rankLayer(second) || compare(first.owner, second.owner),
  )) {
    const { owner, value } = ownedLayer;
    const { name, slot } = value;
    // --system replaces the identity
    if (system !== undefined && slot === "identity" && owner) continue;
    const layerText = await renderLayer(ownedLayer);
    if (layerText)
      promptParts.push({
        name,
        slot,
        owner: owner || ZZ,
        text: slot === "identity" && !owner ? layerText : fencedBlock(titleOf(name), layerText),
      });
  }
  return promptParts;

  async function renderLayer({
    owner,
    value: { name, text, budget = LAYER_BUDGET },
  }: Owned<Layer>): Promise<string> {
    const tokenBudget = Math.min(budget, maxTokens);
    if (typeof text === "string") return shortenToTokens(text.trim(), tokenBudget);
    try {
      const rendered = text(ctx);
      return shortenToTokens(
        (
          (rendered instanceof Promise ? await withinHookLimit(core, rendered) : rendered) ?? ""
        ).trim(),
        tokenBudget,
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
  const { prompt: sentPrompt, messages } = turn.chat;
  const currentParts = await renderLayers(turn);
  const sentUpdates = new Map<string, string>();
  if (!sentPrompt) return { prompt: currentParts, told: sentUpdates, news: [] };
  const looseParts = sentPrompt.filter((sentPart) => !isAlwaysCurrent(sentPart));
  for (const message of messages)
    for (const [updateKey, updateText] of Object.entries((message as UserMeta).news ?? {}))
      sentUpdates.set(updateKey, updateText);
  const knownTexts = new Map([
    ...looseParts.map((loosePart) => [layerKey(loosePart), loosePart.text] as const),
    ...sentUpdates,
  ]);
  const news = currentParts.filter(
    (currentPart) =>
      !isAlwaysCurrent(currentPart) && knownTexts.get(layerKey(currentPart)) !== currentPart.text,
  );
  const currentKeys = new Set(currentParts.map(layerKey));
  for (const [knownKey, knownText] of knownTexts) {
    const removalPart = updatePart(
      knownKey,
      fencedBlock(titleOf(knownKey.split("/")[1]!), "Nothing any more."),
    );
    if (!currentKeys.has(knownKey) && knownText !== removalPart.text) news.push(removalPart);
  }
  return {
    prompt: [...currentParts.filter(isAlwaysCurrent), ...looseParts],
    told: sentUpdates,
    news,
  };
}
export const updatePart = (updateKey: string, text: string): Part => {
  const [owner = "", name = ""] = updateKey.split("/");
  return { name, slot: "turn", owner, text };
};
const isAlwaysCurrent = ({ slot }: Part): boolean => slot === "identity" || slot === "rules";
const layerKey = ({ owner, name }: Part): string => `${owner}/${name}`;

/**
 * Prepares the prompt for a turn. What changed is attached to the message and kept, so that later
 * requests begin the same way.
 */
export async function prepareSystemPrompt(turn: TurnContext): Promise<string> {
  const { core, chat } = turn;
  const { prompt, news } = await composePrompt(turn);
  if (!chat.prompt || JSON.stringify(prompt) !== JSON.stringify(chat.prompt))
    saveSystemPrompt(core, chat, prompt);
  if (news.length)
    saveLayerUpdates(
      core,
      chat,
      Object.fromEntries(news.map((newPart) => [layerKey(newPart), newPart.text])),
    );
  // in case zz is killed before the answer
  savePluginStates(core, chat);
  return prompt.map(({ text }) => text).join("\n\n");
}

const titleOf = (layerName: string): string => layerName.replace(/[-_]/g, " ").toUpperCase();
export const fencedBlock = (blockTitle: string, blockText: string): string =>
  `--- ${blockTitle} ---\n${blockText}\n--- END ${blockTitle} ---`;

/** At most so many tokens: the head and the tail, with a marker between. */
export const shortenToTokens = (longText: string, maxTokens: number): string =>
  shorten(longText, Math.floor(maxTokens * CHARS_PER_TOKEN));
