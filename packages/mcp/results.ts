// Turns a server's answer into a result: its texts joined and cut, and its images.
import type { Image, Result } from "zz";
import { clean, mediaIn, oneLine, plural, tryTo } from "zz/text";

const MAX_RESULT_CHARS = 60_000; // more than this the model does not read
const MAX_IMAGES = 8;
const HEAD_SHARE = 0.8;

type Content = {
  type?: string;
  text?: string;
  data?: string;
  mimeType?: string;
  uri?: string;
  name?: string;
  resource?: Resource;
};
type Resource = { uri?: string; text?: string; blob?: string; mimeType?: string };

export function resultOf(
  { content, structuredContent, isError }: any,
  emptyText = "[It answered with nothing.]",
): Result {
  const { text, images } = readContent(Array.isArray(content) ? content : []);
  const shownText =
    text || (structuredContent === undefined ? "" : JSON.stringify(structuredContent, null, 2));
  return {
    text: cut(shownText) || (images.length ? "" : emptyText),
    ...(structuredContent !== undefined && { data: structuredContent }),
    ...(isError === true && { failed: true }),
    ...(images.length && { images }),
  };
}

export function readContent(content: Content[]): { text: string; images: Image[] } {
  const images: Image[] = [];
  const partTexts = content.map((contentPart) => {
    if (contentPart.type === "text" && typeof contentPart.text === "string")
      return contentPart.text;
    if (contentPart.type === "resource_link")
      return `[${contentPart.name ?? "resource"}: ${contentPart.uri}]`;
    if (contentPart.type === "resource" && contentPart.resource)
      return ofResource(contentPart.resource, images);
    return addMedia(contentPart.data, contentPart.mimeType, images);
  });
  return { text: partTexts.filter(Boolean).join("\n"), images };
}

function ofResource({ uri, text, blob, mimeType }: Resource, imageList: Image[]): string {
  if (typeof text === "string") return text;
  return addMedia(blob, mimeType, imageList) || `[${uri}: ${mimeType ?? "bytes"}]`;
}

/** Adds data to the images; what cannot be sent to the model is named in the text instead. */
function addMedia(base64Data: unknown, type = "bytes", imageList: Image[]): string {
  if (typeof base64Data !== "string") return "";
  const dataBytes = Buffer.from(base64Data, "base64");
  const media = tryTo(() => mediaIn(dataBytes)); // servers may call anything an image
  if (!media || !SENDABLE.test(media.type) || imageList.length >= MAX_IMAGES)
    return `[${oneLine(clean(type))}, ${plural(dataBytes.length, "byte")}, left out]`;
  imageList.push({ type: media.type, base64: media.base64 });
  return "";
}
const SENDABLE = /^(image\/(png|jpeg|gif|webp)|application\/pdf|audio\/(mpeg|wav))$/;

/** Cuts a text that is too long in the middle. */
export function cut(longText: string, maxChars = MAX_RESULT_CHARS): string {
  if (longText.length <= maxChars) return longText;
  const headText = longText.slice(0, maxChars * HEAD_SHARE);
  const tailText = longText.slice(-maxChars * (1 - HEAD_SHARE));
  const omitted = longText.length - headText.length - tailText.length;
  return (
    `${headText.toWellFormed()}\n[… ${plural(omitted, "character")} left out: ask for less …]\n` +
    tailText.toWellFormed()
  );
}
