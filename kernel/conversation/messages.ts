// The messages of a conversation: made of what came, and shortened for the model.
import type { Call, Compaction, Image, Message, Reply, Result, UserMeta } from "../contract.ts";
import type { LiveChat } from "../instance.ts";
import { mapValues, shorten } from "../text/words.ts";

/** A reply as it is saved: with its model, its cost and the ms since the person's message. */
export const messageOfReply = (
  { text, thinking, calls, finish, usage, extra }: Reply,
  model: string,
  ms: number,
): Message => ({
  role: "assistant",
  text,
  ...(thinking && { thinking }),
  ...(calls.length && { calls }),
  ...(finish === "length" && { cut: true }),
  ...(usage && { usage }),
  ...(extra && { extra }),
  model,
  ms,
});

/** The result of a call as it is saved. */
export const messageOfResult = (
  { id, name }: Call,
  { text, failed, images, files }: Result,
): Message => ({
  role: "tool",
  id,
  name,
  text,
  ...(failed && { failed }),
  ...(images && { images }),
  ...(files && { files }),
});

/** The person's message, with what was attached to it: texts go before it. */
export function takeAttachments(chat: LiveChat, typedText: string, images: Image[] = []): Message {
  const attached = chat.attached.splice(0);
  const pictures = [...images, ...attached.filter((attachment) => typeof attachment !== "string")];
  const textParts = [...attached.filter((attachment) => typeof attachment === "string"), typedText];
  const text = textParts.filter((textPart) => textPart.trim()).join("\n\n");
  return { role: "user", text, ...(pictures.length && { images: pictures }) };
}

/**
 * Removes messages from what the model sees. Layer updates that only stood there move to the
 * summary.
 */
export function compactMessages(
  chat: LiveChat,
  { upTo = 0, summary, texts = {} }: Compaction,
): void {
  const messages = chat.messages.map((message, i) =>
    texts[i] === undefined ? message : shortenMessage(message, texts[i]),
  );
  const news = Object.assign(
    {},
    ...messages.slice(0, upTo).map((message) => (message as UserMeta).news),
  );
  const replacements: Message[] = [
    { role: "user", text: summary ?? "", aside: true, ...(Object.keys(news).length && { news }) },
    { role: "assistant", text: "Understood. I go on from there." },
  ];
  chat.messages = [...(summary ? replacements : []), ...messages.slice(upTo)];
  delete chat.prompt; // the request changes anyway, so the prompt is rebuilt too
  delete chat.used;
}

function shortenMessage(message: Message, shorterForm: string | number): Message {
  if (typeof shorterForm === "string")
    return { ...withoutField(message, "images"), text: shorterForm };
  const text = shorten(message.text, shorterForm);
  if (message.role !== "assistant" || !message.calls) return { ...message, text };
  const shortenArgument = (argument: unknown) =>
    typeof argument === "string" ? shorten(argument, shorterForm) : argument;
  const calls = message.calls.map((savedCall) => ({
    ...savedCall,
    args: mapValues(savedCall.args, shortenArgument),
  }));
  return { ...message, text, calls };
}

export function withoutField(message: Message, fieldName: "news" | "images"): Message {
  const { [fieldName]: _, ...rest } = message as Message & UserMeta & { images?: unknown };
  return rest as Message;
}
