// What a model does not take is not sent to it: refused where it goes with the message just asked,
// and told in words where it is of earlier ones.
import type { ChatRequest, Image, Message, Model } from "zz";
import { usage } from "zz/text";

export function withoutUnfitMedia(request: ChatRequest, model: Model | undefined): ChatRequest {
  const isTaken = ({ type }: Image) => modelTakes(model, type);
  const answered = request.messages.findLastIndex(({ role }) => role === "assistant");
  const askedIndex = request.messages.findLastIndex(
    (message) => message.role === "user" && !message.aside,
  );
  const messages = request.messages.map((message, i): Message => {
    if (message.role === "assistant" || !message.images) return message;
    const { images, ...rest } = message;
    const [takenImages, refused] = [
      images.filter(isTaken),
      images.filter((image) => !isTaken(image)),
    ];
    if (!refused[0]) return message;
    if (request.task === "chat" && i === askedIndex && askedIndex > answered)
      throw refusal(request.model, refused[0].type);
    const leftOutNotes = refused.map(({ type }) => `[${type}: ${UNSEEN_REASON}]`);
    return {
      ...rest,
      text: [message.text, ...leftOutNotes].join("\n"),
      ...(takenImages.length && { images: takenImages }),
    };
  });
  return { ...request, messages };
}
const UNSEEN_REASON = "left out, since you do not take such files";

/** What nobody knows of is sent. */
function modelTakes(model: Model | undefined, mediaType: string): boolean {
  const [family = ""] = mediaType.split("/");
  if (family === "image" && model?.vision === false) return false;
  const acceptedNames = [
    mediaType,
    `${family}/*`,
    "*/*",
    family,
    ...(mediaType === "application/pdf" ? ["pdf", "file"] : []),
  ];
  return !model?.takes || model.takes.some((pattern) => acceptedNames.includes(pattern));
}

function refusal(fullModelName: string, mediaType: string): Error {
  const [singular, several] = wordsFor(mediaType);
  const model = fullModelName.slice(fullModelName.indexOf("/") + 1);
  return usage(
    `Cannot send ${singular} to '${model}': it does not take ${several}. Choose a model that does.`,
  );
}

function wordsFor(mediaType: string): [singular: string, several: string] {
  if (mediaType.startsWith("image/")) return ["an image", "images"];
  return mediaType === "application/pdf" ? ["a PDF", "PDFs"] : ["a sound", "sound"];
}
