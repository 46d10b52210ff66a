// Finds out the kind and encoding of an answer, and its text. Pages and PDFs are read in a process
// with limits on memory and time, since some are made to use up both.
import type { Ctx } from "zz";
import { decode, fault, tryTo } from "zz/text";

export type Kind = "page" | "pdf" | "json" | "text";
export interface Source {
  bytes: Buffer;
  kind: Kind;
  type: string;
  url: string;
}
export type Read = { text: string; title: string; cut: string };

const PAGE_MB = 128; // of memory
const MAX_PAGE_CHARS = 200_000; // of HTML that is parsed, without scripts and styles
const MAX_TAG_CHARS = 20_000;
const MAX_DEPTH = 1_000;

/** The kind, by the server's type or else by the first bytes; undefined if it holds no text. */
export function kindOf(contentType: string, answerBytes: Buffer): Kind | undefined {
  const [typePart = ""] = contentType.toLowerCase().split(";");
  const mediaType = typePart.trim();
  const startText = answerBytes.subarray(0, 1_024).toString("latin1");
  if (/^[\s\S]{0,100}%PDF-/.test(startText)) return "pdf";
  if (mediaType === "application/pdf")
    throw fault("Cannot read it: it is called a PDF and is not one. Look for another source.");
  if (/^(text\/html|application\/xhtml\+xml)$/.test(mediaType)) return "page";
  if (
    !/^text\/(?!plain)/.test(mediaType) &&
    /^\s*(<!--[\s\S]*?-->\s*)?<(!doctype html|html)\b/i.test(startText)
  )
    return "page";
  if (/^application\/json$|\+json$/.test(mediaType)) return "json";
  return /^text\//.test(mediaType) || isText(answerBytes) ? "text" : undefined;
}

function isText(answerBytes: Buffer): boolean {
  const startBytes = answerBytes.subarray(0, 4_096);
  return /^\xff\xfe|^\xfe\xff/.test(startBytes.toString("latin1", 0, 2)) || !startBytes.includes(0);
}

type Content = Pick<Read, "text" | "title">;
export async function textFrom({ kind, bytes, type, url }: Source, ctx: Ctx): Promise<Read> {
  const near = import.meta.url;
  if (kind === "pdf") {
    const { value } = await decode<Content>({ job: "decode-pdf", near, bytes }, ctx).catch(
      (error) => {
        ctx.signal.throwIfAborted();
        throw fault(`Cannot read the PDF: ${error.message}.`);
      },
    );
    return { ...value, cut: "" };
  }
  const decodedText = decoded(bytes, type, kind);
  if (kind !== "page") return { text: decodedText.trim(), title: "", cut: "" };
  const unscripted = withoutScripts(decodedText);
  const keptHtml = unscripted.slice(0, MAX_PAGE_CHARS);
  const cut =
    keptHtml.length < unscripted.length
      ? `Only the first ${MAX_PAGE_CHARS} characters of the page were read.`
      : "";
  try {
    if (depthOf(keptHtml) > MAX_DEPTH) throw fault("it is nested too deeply");
    const pageJob = {
      job: "decode-page",
      near,
      bytes: Buffer.from(keptHtml),
      how: { url },
      megabytes: PAGE_MB,
    };
    return { ...(await decode<Content>(pageJob, ctx)).value, cut };
  } catch (error) {
    ctx.signal.throwIfAborted();
    return {
      text: bareText(keptHtml),
      title: "",
      cut: `It could not be read as a page (${(error as Error).message}): this is its bare text.`,
    };
  }
}

/**
 * Decodes by byte order mark, the server's header or the page's own; else as UTF-8 if valid, or as
 * windows-1252.
 */
function decoded(answerBytes: Buffer, contentType: string, contentKind: Kind): string {
  const startText = answerBytes.subarray(0, 2_048).toString("latin1");
  const markEncoding =
    BYTE_ORDER_MARKS.find(([markBytes]) => startText.startsWith(markBytes))?.[1] ?? "";
  const inHeader = /charset\s*=\s*["']?([\w.:-]+)/i.exec(contentType)?.[1];
  const pageEncoding =
    contentKind === "page"
      ? /<(?:meta\b[^>]*?charset|\?xml[^>]*?encoding)\s*=\s*["']?([\w.:-]+)/i.exec(startText)?.[1]
      : undefined;
  for (const encoding of [markEncoding, inHeader, pageEncoding]) {
    const decoder = encoding ? tryTo(() => new TextDecoder(encoding)) : undefined;
    if (decoder) return decoder.decode(answerBytes);
  }
  // stream: the bytes may be cut in the middle of a character
  return (
    tryTo(() => new TextDecoder("utf-8", { fatal: true }).decode(answerBytes, { stream: true })) ??
    new TextDecoder("windows-1252").decode(answerBytes)
  );
}

/** Tags and the text between them, in one pass, without comments, scripts and the like. */
function* piecesOf(pageHtml: string): Generator<string> {
  const lowerHtml = pageHtml.toLowerCase();
  for (let offset = 0; offset < pageHtml.length; ) {
    const tagStart = pageHtml.indexOf("<", offset);
    if (tagStart !== offset)
      yield pageHtml.slice(offset, tagStart < 0 ? pageHtml.length : tagStart);
    if (tagStart < 0) return;
    const [, silentTag] =
      /^<(script|style|noscript|template|svg)\b/.exec(lowerHtml.slice(tagStart, tagStart + 10)) ??
      [];
    const isComment = pageHtml.startsWith("<!--", tagStart);
    const afterSilent = silentTag ? lowerHtml.indexOf(`</${silentTag}`, tagStart) : tagStart;
    const contentEnd = isComment ? pageHtml.indexOf("-->", tagStart) : afterSilent;
    const closeOffset = contentEnd < 0 ? -1 : pageHtml.indexOf(">", contentEnd);
    if (closeOffset < 0) return;
    if (!silentTag && !isComment) yield pageHtml.slice(tagStart, closeOffset + 1);
    offset = closeOffset + 1;
  }
}

/** A page without its scripts and styles, which often are most of it. */
function withoutScripts(pageHtml: string): string {
  const keptPieces: string[] = [];
  let totalChars = 0;
  for (const htmlPiece of piecesOf(pageHtml)) {
    // an inline image
    keptPieces.push(
      htmlPiece.length > MAX_TAG_CHARS && htmlPiece.startsWith("<") ? " " : htmlPiece,
    );
    totalChars += htmlPiece.length;
    if (totalChars > MAX_PAGE_CHARS) break;
  }
  return keptPieces.join("");
}

/** About how deeply the HTML is nested, counting only tags that are normally closed. */
function depthOf(pageHtml: string): number {
  let [depth, deepest] = [0, 0];
  for (const htmlPiece of piecesOf(pageHtml)) {
    if (!NESTING_TAG.test(htmlPiece)) continue;
    depth += htmlPiece[1] === "/" ? -1 : 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}
const NESTING_NAMES =
  "div|span|section|article|main|table|ul|ol|dl|blockquote|a|b|i|u|em|strong|font|small|code|pre";
const NESTING_TAG = new RegExp(String.raw`^<\/?(${NESTING_NAMES})\b`, "i");

/** The text between tags, without parsing a tree. */
function bareText(pageHtml: string): string {
  const textPieces = Array.from(piecesOf(pageHtml), (htmlPiece) => {
    if (!/^<[!/a-z]/i.test(htmlPiece)) return htmlPiece;
    if (BLOCK_TAG.test(htmlPiece)) return "\n";
    return " ";
  });
  return withoutEntities(textPieces.join(""))
    .replace(/[^\S\n]+/g, " ")
    .replace(/ ?\n\s*/g, "\n")
    .trim();
}
const BLOCK_TAG = /^<\/?(p|div|br|li|tr|h\d|section|article|pre|table|ul|ol)\b/i;

export const withoutEntities = (html: string): string =>
  html.replace(/&(nbsp|amp|lt|gt|quot|#39|#x27);/g, (_, entityName) => ENTITIES[entityName]!);
const ENTITIES: Record<string, string> = {
  nbsp: " ",
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  "#39": "'",
  "#x27": "'",
};

const BYTE_ORDER_MARKS = [
  ["\xef\xbb\xbf", "utf-8"],
  ["\xff\xfe", "utf-16le"],
  ["\xfe\xff", "utf-16be"],
] as const;
