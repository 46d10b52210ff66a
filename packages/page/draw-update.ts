// What happens in a conversation, drawn for a browser: each update of the protocol becomes one
// event, with its text for programs and HTML that does nothing for the page.
import type * as acp from "@agentclientprotocol/sdk";
import { clip } from "zz/text";
import { diffToHtml } from "./diff-to-html.ts";
import { htmlOf } from "./escape.ts";
import { markdownToHtml } from "./markdown-to-html.ts";

export interface Drawn {
  type:
    | "user"
    | "text"
    | "thought"
    | "call"
    | "question"
    | "answered"
    | "models"
    | "used"
    | "end"
    | "failed";
  text: string;
  html?: string;
  name?: string; // of a call or a question, the same in its later events
  hash?: string; // of a question: an answer names it
  status?: string; // of a call
  options?: { id: string; name: string }[]; // answers of a question, or models
}

const MAX_CHARS = 20_000; // of a result

export function drawUpdate(update: acp.SessionUpdate): Drawn | undefined {
  switch (update.sessionUpdate) {
    case "user_message_chunk":
      return said("user", update.content);
    case "agent_message_chunk":
      return said("text", update.content);
    case "agent_thought_chunk":
      return said("thought", update.content);
    case "tool_call":
    case "tool_call_update":
      return callOf(update);
    case "config_option_update":
      return modelsOf(update.configOptions);
    case "usage_update":
      return { type: "used", text: `${update.used} of ${update.size} tokens` };
    default:
      return undefined;
  }
}

function said(type: "user" | "text" | "thought", content: acp.ContentBlock): Drawn | undefined {
  if (content.type !== "text") return undefined;
  return { type, text: content.text, html: markdownToHtml(content.text) };
}

type CallUpdate = Partial<Pick<acp.ToolCall, "title" | "status" | "content">> & {
  toolCallId: string;
};
function callOf({ toolCallId, title, status, content }: CallUpdate | acp.ToolCallUpdate): Drawn {
  const html = (content ?? []).map(contentHtml).join("");
  return {
    type: "call",
    name: toolCallId,
    text: title ?? "",
    ...(status && { status }),
    ...(html && { html }),
  };
}

/** A question with all that it shows, and the names of its answers. */
export function questionOf(asked: acp.RequestPermissionRequest): {
  drawn: Drawn;
  options: string[];
} {
  const { title, content } = asked.toolCall;
  const options = asked.options.map(({ optionId: id, name }) => ({ id, name }));
  const html = (content ?? []).map(contentHtml).join("");
  const drawn: Drawn = { type: "question", text: title ?? "", html, options };
  return { drawn, options: options.map(({ id }) => id) };
}

function modelsOf(options: acp.SessionConfigOption[]): Drawn | undefined {
  const models = options.find(({ id }) => id === "model");
  if (models?.type !== "select") return undefined;
  const names = models.options.flatMap((option) =>
    "value" in option ? [{ id: option.value, name: option.name }] : [],
  );
  return { type: "models", text: String(models.currentValue), options: names };
}

function contentHtml(content: acp.ToolCallContent): string {
  if (content.type === "diff") {
    const { path, oldText, newText } = content;
    const { html, added, removed } = diffToHtml(path, oldText ?? "", newText);
    return `<p><span class="path">${htmlOf(path)}</span> <span class="count">+${added} −${removed}</span></p>${html}`;
  }
  if (content.type !== "content") return "";
  const { content: block } = content;
  if (block.type === "text")
    return `<pre tabindex="0">${htmlOf(clip(block.text, MAX_CHARS))}</pre>`;
  if (block.type === "image" && /^image\/(png|jpeg|gif|webp)$/.test(block.mimeType))
    return `<img alt="picture" src="data:${block.mimeType};base64,${block.data.replace(/[^\w+/=]/g, "")}">`;
  return "";
}
