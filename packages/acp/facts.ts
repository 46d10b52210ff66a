// Updates and questions of the protocol, as the facts that a conversation tells its listeners.
import { fileURLToPath } from "node:url";
import type * as acp from "@agentclientprotocol/sdk";
import type { Shown } from "zz";
import type { Asked, Fact } from "./conversations.ts";

export function updateFact(sessionUpdate: acp.SessionUpdate): Fact | undefined {
  switch (sessionUpdate.sessionUpdate) {
    case "user_message_chunk":
      return sentFact(sessionUpdate.content);
    case "agent_message_chunk":
      return saidFact("text", sessionUpdate.content);
    case "agent_thought_chunk":
      return saidFact("thought", sessionUpdate.content);
    case "tool_call":
    case "tool_call_update":
      return callFact(sessionUpdate);
    case "config_option_update":
      return optionsFact(sessionUpdate.configOptions);
    case "usage_update":
      return { type: "used", text: `${sessionUpdate.used} of ${sessionUpdate.size} tokens` };
    default:
      return undefined;
  }
}

/** What the person said in a session that is opened; a picture comes after the words. */
function sentFact(content: acp.ContentBlock): Fact | undefined {
  const pastFields = { type: "user", isPast: true } as const;
  if (content.type === "text") return { ...pastFields, text: content.text };
  if (content.type !== "image") return undefined;
  const { mimeType: type, data: base64 } = content;
  return { ...pastFields, text: "", along: { images: [{ type, base64 }] } };
}

function saidFact(type: "text" | "thought", content: acp.ContentBlock): Fact | undefined {
  return content.type === "text" ? { type, text: content.text } : undefined;
}

type CallUpdate = Pick<acp.ToolCallUpdate, "toolCallId" | "title" | "status" | "content">;
function callFact({ toolCallId: name, title, status, content }: CallUpdate): Fact {
  const shown = shownIn(content);
  return { type: "call", name, text: title ?? "", shown, ...(status && { status }) };
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
  const modelOption = options.find(({ id }) => id === "model");
  if (modelOption?.type !== "select") return undefined;
  const modelNames = modelOption.options.flatMap((option) =>
    "value" in option ? [{ id: option.value, name: option.name }] : [],
  );
  return { type: "models", text: String(modelOption.currentValue), options: modelNames };
}

const shownIn = (content: acp.ToolCallContent[] | null | undefined): Shown[] =>
  (content ?? []).flatMap((contentPart): Shown[] => {
    if (contentPart.type === "diff")
      return [
        {
          type: "diff",
          path: contentPart.path,
          before: contentPart.oldText ?? "",
          after: contentPart.newText,
        },
      ];
    if (contentPart.type !== "content") return [];
    const { content: contentBlock } = contentPart;
    if (contentBlock.type === "text") return [{ type: "text", text: contentBlock.text }];
    if (contentBlock.type === "image")
      return [{ type: "image", mime: contentBlock.mimeType, base64: contentBlock.data }];
    if (contentBlock.type === "resource_link" && contentBlock.uri.startsWith("file:"))
      return [{ type: "file", path: fileURLToPath(contentBlock.uri) }];
    return [];
  });
