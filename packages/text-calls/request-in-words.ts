// Builds a request for a model whose API has no tools: the system prompt offers them, and the calls
// and results of the conversation so far are written as the model would have written and read them.
import type { Call, ChatRequest, Message } from "zz";
import { type Format, formatFor, wordsFor } from "./formats.ts";

export function requestInWords(request: ChatRequest): ChatRequest {
  const format = formatFor(request.model);
  const instructions =
    request.tools.length &&
    `--- TOOL CALLS ---\n${wordsFor(format, request.tools)}\n--- END TOOL CALLS ---`;
  const { tool_choice, parallel_tool_calls, ...options } = request.options;
  const system = [request.system, instructions].filter(Boolean).join("\n\n");
  return { ...request, system, messages: messagesAsText(request, format), tools: [], options };
}

/** The messages as text, with each call's result directly after the message that made it. */
function messagesAsText({ messages, tools }: ChatRequest, format: Format): Message[] {
  const written: Message[] = [];
  for (const [i, message] of messages.entries()) {
    if (message.role === "tool") continue; // shown with its call
    const madeCalls = message.role === "assistant" ? (message.calls ?? []) : [];
    if (message.role !== "assistant" || !madeCalls.length) {
      written.push(message);
      continue;
    }
    const { calls: _, extra: __, ...otherFields } = message;
    const text = [message.text, format.calls(madeCalls, tools)].filter(Boolean).join("\n");
    written.push({ ...otherFields, text }, resultsOf(messages, i, madeCalls, format));
  }
  return written;
}

function resultsOf(
  messages: readonly Message[],
  position: number,
  madeCalls: readonly Call[],
  format: Format,
): Message {
  const nextIndex = messages.findIndex(({ role }, i) => i > position && role === "assistant");
  const laterMessages = messages.slice(position + 1, nextIndex < 0 ? undefined : nextIndex);
  const answers = madeCalls.map(({ id, name }, index) => {
    const toolResult = laterMessages.findLast(
      (message) => message.role === "tool" && message.id === id,
    ) as (Message & { role: "tool" }) | undefined;
    return {
      text: format.result({ name, id, index, text: toolResult?.text ?? "[interrupted]" }),
      images: toolResult?.images ?? [],
    };
  });
  const images = answers.flatMap((answer) => answer.images);
  return {
    role: "user",
    text: answers.map(({ text }) => text).join("\n"),
    ...(images.length && { images }),
  };
}
