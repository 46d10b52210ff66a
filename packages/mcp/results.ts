// Turns a server's answer into a result: its texts joined and cut, and its images.
import type { Image, Result } from "zz";
import { MAX_MEDIA_BYTES, plural } from "zz/text";

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

export function resultOf({ content, structuredContent, isError }: any): Result {
  const { text, images } = readContent(Array.isArray(content) ? content : []);
  const shown =
    text || (structuredContent === undefined ? "" : JSON.stringify(structuredContent, null, 2));
  return {
    text: cut(shown) || (images.length ? "" : "[It answered with nothing.]"),
    ...(structuredContent !== undefined && { data: structuredContent }),
    ...(isError === true && { failed: true }),
    ...(images.length && { images }),
  };
}

export function readContent(content: Content[]): { text: string; images: Image[] } {
  const images: Image[] = [];
  const texts = content.map((part) => {
    if (part.type === "text" && typeof part.text === "string") return part.text;
    if (part.type === "resource_link") return `[${part.name ?? "resource"}: ${part.uri}]`;
    if (part.type === "resource" && part.resource) return ofResource(part.resource, images);
    return media(part.data, part.mimeType, images);
  });
  return { text: texts.filter(Boolean).join("\n"), images };
}

export function ofResource({ uri, text, blob, mimeType }: Resource, images: Image[]): string {
  if (typeof text === "string") return text;
  return media(blob, mimeType, images) || `[${uri}: ${mimeType ?? "bytes"}]`;
}

/** Adds data to the images; what cannot be sent to the model is named in the text instead. */
function media(data: unknown, type = "bytes", images: Image[]): string {
  if (typeof data !== "string") return "";
  const bytes = Math.floor(data.length * 0.75);
  const fits = /^(image\/(png|jpeg|gif|webp)|application\/pdf|audio\/(mpeg|wav))$/.test(type);
  if (!fits || bytes > MAX_MEDIA_BYTES || images.length >= MAX_IMAGES)
    return `[${type}, ${plural(bytes, "byte")}, left out]`;
  images.push({ type, base64: data });
  return "";
}

/** Cuts a text that is too long in the middle. */
export function cut(text: string, maxChars = MAX_RESULT_CHARS): string {
  if (text.length <= maxChars) return text;
  const head = text.slice(0, maxChars * HEAD_SHARE);
  const end = text.slice(-maxChars * (1 - HEAD_SHARE));
  const omitted = text.length - head.length - end.length;
  return `${head.toWellFormed()}\n[… ${plural(omitted, "character")} left out: ask for less …]\n${end.toWellFormed()}`;
}
