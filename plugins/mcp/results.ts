// What a server answers, as a result: texts joined and cut, pictures beside them.
import type { Image, Result } from "zz";
import { MAX_MEDIA_BYTES, plural } from "zz/text";

const MAX_RESULT_CHARS = 60_000; // that the model reads
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

/** Of a call. */
export function resultOf({ content, structuredContent, isError }: any): Result {
  const { text, images } = told(Array.isArray(content) ? content : []);
  const shown = text || (structuredContent === undefined ? "" : JSON.stringify(structuredContent, null, 2));
  return {
    text: cut(shown) || (images.length ? "" : "[It answered with nothing.]"),
    ...(structuredContent !== undefined && { data: structuredContent }),
    ...(isError === true && { failed: true }),
    ...(images.length && { images }),
  };
}

export function told(content: Content[]): { text: string; images: Image[] } {
  const images: Image[] = [];
  const texts = content.map((one) => {
    if (one.type === "text" && typeof one.text === "string") return one.text;
    if (one.type === "resource_link") return `[${one.name ?? "resource"}: ${one.uri}]`;
    if (one.type === "resource" && one.resource) return ofResource(one.resource, images);
    return media(one.data, one.mimeType, images);
  });
  return { text: texts.filter(Boolean).join("\n"), images };
}

export function ofResource({ uri, text, blob, mimeType }: Resource, images: Image[]): string {
  if (typeof text === "string") return text;
  return media(blob, mimeType, images) || `[${uri}: ${mimeType ?? "bytes"}]`;
}

/** Pictures go beside the text; of what the model does not take, it is told that it is there. */
function media(data: unknown, type = "bytes", images: Image[]): string {
  if (typeof data !== "string") return "";
  const bytes = Math.floor(data.length * 0.75);
  const fits = /^(image\/(png|jpeg|gif|webp)|application\/pdf|audio\/(mpeg|wav))$/.test(type);
  if (!fits || bytes > MAX_MEDIA_BYTES || images.length >= MAX_IMAGES)
    return `[${type}, ${plural(bytes, "byte")}, left out]`;
  images.push({ type, base64: data });
  return "";
}

/** The beginning and the end of what is too long. */
export function cut(text: string, most = MAX_RESULT_CHARS): string {
  if (text.length <= most) return text;
  const head = text.slice(0, most * HEAD_SHARE);
  const end = text.slice(-most * (1 - HEAD_SHARE));
  const left = text.length - head.length - end.length;
  return `${head.toWellFormed()}\n[… ${plural(left, "character")} left out: ask for less …]\n${end.toWellFormed()}`;
}
