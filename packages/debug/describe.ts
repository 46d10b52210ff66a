// How the log describes requests, messages and calls.
import fs from "node:fs";
import type { Call, ChatRequest, Ctx, Message, Part } from "zz";
import { tokensOf } from "zz/text";

type Size = { chars: number; tokens: number };
export const sizeOf = (text: string): Size => ({ chars: text.length, tokens: tokensOf(text) });

/**
 * The prompt and its layers, as the session keeps them. Text that is in no layer is listed as well.
 */
export function describePrompt(
  { system, task }: ChatRequest,
  { chat }: Ctx,
): Record<string, unknown> {
  const keptLayers = chat.tree().branch.findLast(({ type }) => type === "prompt")?.layers as
    | Part[]
    | undefined;
  const layers: (Size & { name: string; slot: string; owner: string })[] = [];
  let searchOffset = 0;
  for (const { name, slot, owner, text } of keptLayers ?? []) {
    const layerStart = system.indexOf(text, searchOffset);
    if (layerStart < 0) continue;
    addText(searchOffset, layerStart);
    layers.push({ name, slot, owner, ...sizeOf(text) });
    searchOffset = layerStart + text.length;
  }
  addText(searchOffset, system.length);
  const updates =
    task === "chat" ? chat.messages.flatMap((message) => Object.entries(newsOf(message))) : [];
  const news = updates.map(([name, newsText]) => ({ name, ...sizeOf(newsText) }));
  return { ...sizeOf(system), layers, ...(news.length && { news }), text: system };

  function addText(startOffset: number, endOffset: number): void {
    const unlayered = system.slice(startOffset, endOffset).trim();
    if (unlayered)
      layers.push({ name: "(in no layer)", slot: "", owner: "", ...sizeOf(unlayered) });
  }
}

const newsOf = (message: Message): Record<string, string> =>
  (message.role === "user" && message.news) || {};

export function describeMessage(message: Message): Record<string, unknown> {
  const { role, text } = message;
  const images = message.role !== "assistant" && message.images;
  return {
    role,
    ...(message.role === "tool" && {
      name: message.name,
      id: message.id,
      ...(message.failed && { failed: true }),
    }),
    ...sizeOf(text),
    ...(message.role === "assistant" && message.thinking && { thinking: sizeOf(message.thinking) }),
    text,
    ...(message.role === "assistant" &&
      message.calls?.length && { calls: message.calls.map(describeCall) }),
    ...(images && images.length > 0 && { images }),
  };
}

export const describeCall = ({ name, id, args, broken }: Call): Record<string, unknown> => ({
  name,
  id,
  ...(broken && { broken }),
  args,
});

/** The version of zz. */
export function version(): string {
  for (const parentPath of [".", ".."])
    try {
      const packageFile = new URL(`${parentPath}/package.json`, import.meta.resolve("zz"));
      const { name, version } = JSON.parse(fs.readFileSync(packageFile, "utf8"));
      if (name === "zz") return version;
    } catch {} // look further up
  return "unknown";
}
