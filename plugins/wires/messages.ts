// The messages of a conversation as Chat Completions have them, in the shape that a server takes.
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import type { Image, Message } from "zz";
import { acceptedName, type Quirks } from "./wire-types.ts";

export function toMessages(messages: Message[], model: string, quirks: Quirks): unknown[] {
  const sendable = quirks.tools === false ? withoutCalls(messages) : messages;
  return between(afterResults(acceptedIds(sendable, model, quirks.ids)), quirks).flatMap(
    (message) => toWireMessages(message, model, quirks),
  );
}

/**
 * Replaces the ids of calls that a server may refuse: those of other models that are not short and
 * plain; if the server has a form of its own, all ids without it. Every server accepts the new
 * ones, of nine letters and digits.
 */
export function acceptedIds(messages: Message[], model: string, idPattern?: RegExp): Message[] {
  const replacedIds = new Map<string, string>();
  const acceptedId = (id: string) => replacedIds.get(id) ?? id;
  for (const message of messages)
    if (message.role === "assistant" && (idPattern || !message.model?.endsWith(`/${model}`)))
      for (const { id } of message.calls ?? [])
        if (!(idPattern ?? /^[\w-]{1,40}$/).test(id))
          replacedIds.set(id, `moved${String(replacedIds.size).padStart(4, "0")}`);
  if (!replacedIds.size) return messages;
  return messages.map((message) => {
    if (message.role === "tool") return { ...message, id: acceptedId(message.id) };
    if (message.role !== "assistant" || !message.calls) return message;
    return {
      ...message,
      calls: message.calls.map((call) => ({ ...call, id: acceptedId(call.id) })),
    };
  });
}

const OF_RESULTS = "The images of the results above.";

/** Tool results cannot contain images here: they move into a user message after the last result. */
function afterResults(messages: Message[]): Message[] {
  const movedMessages: Message[] = [];
  let images: Image[] = [];
  for (const [i, message] of messages.entries()) {
    if (message.role === "tool") images.push(...(message.images ?? []));
    if (message.role === "user" && images.length) {
      const allImages = [...images, ...(message.images ?? [])];
      movedMessages.push({
        role: "user",
        text: `${OF_RESULTS}\n\n${message.text}`,
        images: allImages,
      });
      images = [];
      continue;
    }
    movedMessages.push(message);
    const nextRole = messages[i + 1]?.role;
    if (images.length && nextRole !== "tool" && nextRole !== "user") {
      movedMessages.push({ role: "user", text: OF_RESULTS, images });
      images = [];
    }
  }
  return movedMessages;
}

/**
 * For a server that refuses a person's message right after a result: puts one of the model between
 * them.
 */
function between(messages: Message[], quirks: Quirks): Message[] {
  if (!quirks.between) return messages;
  const fillerMessage: Message = { role: "assistant", text: "I have the results." };
  return messages.flatMap((message, i) =>
    message.role === "user" && messages[i - 1]?.role === "tool"
      ? [fillerMessage, message]
      : [message],
  );
}

/**
 * For a server without tools: earlier calls and results become text. Adjacent messages of the
 * person are joined.
 */
function withoutCalls(messages: Message[]): Message[] {
  const mergedMessages: Message[] = [];
  for (const message of messages) {
    const plainMessage = plainOf(message);
    if (plainMessage.role === "assistant") delete plainMessage.calls;
    const lastMessage = mergedMessages.at(-1);
    if (plainMessage.role === "user" && lastMessage?.role === "user") {
      const images = [...(lastMessage.images ?? []), ...(plainMessage.images ?? [])];
      mergedMessages[mergedMessages.length - 1] = {
        role: "user",
        text: `${lastMessage.text}\n\n${plainMessage.text}`,
        ...(images.length && { images }),
      };
    } else mergedMessages.push(plainMessage);
  }
  return mergedMessages;
}

function plainOf(message: Message): Message {
  if (message.role === "tool")
    return { role: "user", text: `The result of ${message.name}:\n${message.text}` };
  if (message.role !== "assistant") return message;
  return {
    ...message,
    text: message.text || `(called ${message.calls?.map(({ name }) => name).join(", ")})`,
  };
}

function toWireMessages(message: Message, model: string, { echo }: Quirks): unknown[] {
  if (message.role === "user")
    return [
      {
        role: "user",
        content: withImages(message.text, message.images),
      } satisfies ChatCompletionMessageParam,
    ];
  if (message.role === "tool")
    return [{ role: "tool", tool_call_id: message.id, content: message.text }];
  const isOwnMessage = message.model?.endsWith(`/${model}`);
  const thinking = (isOwnMessage && message.thinking) || "";
  const text = message.text || null;
  const content =
    echo === "parts" && thinking
      ? [
          { type: "thinking", thinking: [{ type: "text", text: thinking }] },
          ...(text ? [{ type: "text", text }] : []),
        ]
      : text;
  const sharedFields = {
    role: "assistant",
    ...extraOf(message.extra),
    ...thoughtOf(echo, thinking),
  };
  if (!message.calls?.length) return [{ ...sharedFields, content: content ?? message.text }];
  return [
    {
      ...sharedFields,
      content,
      tool_calls: message.calls.map(({ id, name, args, extra }) => ({
        id,
        type: "function" as const,
        function: { name: acceptedName(name), arguments: JSON.stringify(args) },
        ...(extra ? { extra_content: extra } : {}),
      })),
    },
  ];
}

/**
 * A server that wants reasoning_content back wants it on every answer, even if nothing was thought.
 */
function thoughtOf(echoMode: Quirks["echo"], thinking: string): object {
  if (echoMode === "reasoning_content") return { reasoning_content: thinking };
  return echoMode === "reasoning" && thinking ? { reasoning: thinking } : {};
}

/** What a gateway said of the thinking, or Gemini's signature. */
function extraOf(extraParts: unknown[] = []): object {
  const details = extraParts.flatMap((extraPart: any) => extraPart?.reasoning_details ?? []);
  if (details.length) return { reasoning_details: details };
  const lastExtra: any = extraParts.at(-1);
  return lastExtra ? { extra_content: lastExtra } : {};
}

function withImages(text: string, images: Image[] = []) {
  if (!images.length) return text;
  return [{ type: "text" as const, text }, ...images.map(toContentPart)];
}

function toContentPart({ type, base64 }: Image) {
  const url = `data:${type};base64,${base64}`;
  if (type === "application/pdf")
    return { type: "file" as const, file: { filename: "document.pdf", file_data: url } };
  if (!type.startsWith("audio/")) return { type: "image_url" as const, image_url: { url } };
  const formatName = type.slice("audio/".length).replace(/^x-/, "");
  // OpenAI takes wav and mp3, other servers more
  const format = (formatName === "mpeg" ? "mp3" : formatName) as "mp3";
  return { type: "input_audio" as const, input_audio: { data: base64, format } };
}
