// What a model does not take is not sent to it: refused where it goes with the message just asked,
// and told in words where it is of earlier ones.
import type { ChatRequest, Message, Model } from "zz";
import { usage } from "zz/text";

export function suited(request: ChatRequest, model: Model | undefined): ChatRequest {
  const isTaken = (type: string) => takes(model, type);
  const answered = request.messages.findLastIndex(({ role }) => role === "assistant");
  const asked = request.messages.findLastIndex(
    (message) => message.role === "user" && !message.aside,
  );
  const messages = request.messages.map((message, i): Message => {
    if (message.role === "assistant" || !message.images) return message;
    const refused = message.images.find(({ type }) => !isTaken(type));
    if (!refused) return message;
    if (request.task === "chat" && i === asked && asked > answered)
      throw refusal(request.model, refused.type);
    const takenImages = message.images.filter(({ type }) => isTaken(type));
    const words = message.images
      .filter(({ type }) => !isTaken(type))
      .map(({ type }) => `[${type}: ${UNSEEN}]`);
    const { images: _, ...rest } = message;
    return {
      ...rest,
      text: [message.text, ...words].join("\n"),
      ...(takenImages.length && { images: takenImages }),
    };
  });
  return { ...request, messages };
}
const UNSEEN = "left out, since you do not take such files";

/** What nobody knows of is sent. */
function takes(model: Model | undefined, type: string): boolean {
  const [family = ""] = type.split("/");
  if (family === "image" && model?.vision === false) return false;
  const names = [
    type,
    `${family}/*`,
    "*/*",
    family,
    ...(type === "application/pdf" ? ["pdf", "file"] : []),
  ];
  return !model?.takes || model.takes.some((pattern) => names.includes(pattern));
}

function refusal(named: string, type: string): Error {
  const [singular, several] = wordsFor(type);
  const model = named.slice(named.indexOf("/") + 1);
  return usage(
    `Cannot send ${singular} to '${model}': it does not take ${several}. Choose a model that does.`,
  );
}

function wordsFor(type: string): [singular: string, several: string] {
  if (type.startsWith("image/")) return ["an image", "images"];
  return type === "application/pdf" ? ["a PDF", "PDFs"] : ["a sound", "sound"];
}
