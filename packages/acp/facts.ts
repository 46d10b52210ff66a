// Updates and questions of the protocol, as the facts that a conversation tells its listeners.
import { fileURLToPath } from "node:url";
import type * as acp from "@agentclientprotocol/sdk";
import type { Shown } from "zz";
import type { Asked, Fact } from "./conversations.ts";

export function updateFact(update: acp.SessionUpdate): Fact | undefined {
  switch (update.sessionUpdate) {
    case "user_message_chunk":
      return sent(update.content);
    case "agent_message_chunk":
      return said("text", update.content);
    case "agent_thought_chunk":
      return said("thought", update.content);
    case "tool_call":
    case "tool_call_update":
      return callFact(update);
    case "config_option_update":
      return optionsFact(update.configOptions);
    case "usage_update":
      return { type: "used", text: `${update.used} of ${update.size} tokens` };
    default:
      return undefined;
  }
}

/** What the person said in a session that is opened; a picture comes after the words. */
function sent(content: acp.ContentBlock): Fact | undefined {
  const past = { type: "user", isPast: true } as const;
  if (content.type === "text") return { ...past, text: content.text };
  if (content.type !== "image") return undefined;
  const { mimeType: type, data: base64 } = content;
  return { ...past, text: "", along: { images: [{ type, base64 }] } };
}

function said(type: "text" | "thought", content: acp.ContentBlock): Fact | undefined {
  return content.type === "text" ? { type, text: content.text } : undefined;
}

type CallUpdate = Pick<acp.ToolCallUpdate, "toolCallId" | "title" | "status" | "content">;
function callFact({ toolCallId: name, title, status, content }: CallUpdate): Fact {
  const fact = { type: "call" as const, name, text: title ?? "", shown: shownIn(content) };
  return status ? { ...fact, status } : fact;
}

/** A question with all that it shows, and its answers. */
export function questionFact({ toolCall, options }: acp.RequestPermissionRequest): Asked {
  return {
    text: toolCall.title ?? "",
    shown: shownIn(toolCall.content),
    options: options.map(({ optionId: id, name }) => ({ id, name })),
  };
}

export function optionsFact(options: acp.SessionConfigOption[]): Fact | undefined {
  const models = options.find(({ id }) => id === "model");
  if (models?.type !== "select") return undefined;
  const names = models.options.flatMap((option) =>
    "value" in option ? [{ id: option.value, name: option.name }] : [],
  );
  return { type: "models", text: String(models.currentValue), options: names };
}

const shownIn = (content: acp.ToolCallContent[] | null | undefined): Shown[] =>
  (content ?? []).flatMap((part): Shown[] => {
    if (part.type === "diff")
      return [{ type: "diff", path: part.path, before: part.oldText ?? "", after: part.newText }];
    if (part.type !== "content") return [];
    const { content: block } = part;
    if (block.type === "text") return [{ type: "text", text: block.text }];
    if (block.type === "image")
      return [{ type: "image", mime: block.mimeType, base64: block.data }];
    if (block.type === "resource_link" && block.uri.startsWith("file:"))
      return [{ type: "file", path: fileURLToPath(block.uri) }];
    return [];
  });
