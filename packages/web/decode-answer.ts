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
export function kindOf(type: string, bytes: Buffer): Kind | undefined {
  const [name = ""] = type.toLowerCase().split(";");
  const plain = name.trim();
  const start = bytes.subarray(0, 1_024).toString("latin1");
  if (/^[\s\S]{0,100}%PDF-/.test(start)) return "pdf";
  if (plain === "application/pdf")
    throw fault("Cannot read it: it is called a PDF and is not one. Look for another source.");
  if (/^(text\/html|application\/xhtml\+xml)$/.test(plain)) return "page";
  if (
    !/^text\/(?!plain)/.test(plain) &&
    /^\s*(<!--[\s\S]*?-->\s*)?<(!doctype html|html)\b/i.test(start)
  )
    return "page";
  if (/^application\/json$|\+json$/.test(plain)) return "json";
  return /^text\//.test(plain) || isText(bytes) ? "text" : undefined;
}

function isText(bytes: Buffer): boolean {
  const start = bytes.subarray(0, 4_096);
  return /^\xff\xfe|^\xfe\xff/.test(start.toString("latin1", 0, 2)) || !start.includes(0);
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
  const text = decoded(bytes, type, kind);
  if (kind !== "page") return { text: text.trim(), title: "", cut: "" };
  const unscripted = withoutScripts(text);
  const html = unscripted.slice(0, MAX_PAGE_CHARS);
  const cut =
    html.length < unscripted.length
      ? `Only the first ${MAX_PAGE_CHARS} characters of the page were read.`
      : "";
  try {
    if (depthOf(html) > MAX_DEPTH) throw fault("it is nested too deeply");
    const page = {
      job: "decode-page",
      near,
      bytes: Buffer.from(html),
      how: { url },
      megabytes: PAGE_MB,
    };
    return { ...(await decode<Content>(page, ctx)).value, cut };
  } catch (error) {
    ctx.signal.throwIfAborted();
    return {
      text: bareText(html),
      title: "",
      cut: `It could not be read as a page (${(error as Error).message}): this is its bare text.`,
    };
  }
}

/**
 * Decodes by byte order mark, the server's header or the page's own; else as UTF-8 if valid, or as
 * windows-1252.
 */
function decoded(bytes: Buffer, type: string, contentKind: Kind): string {
  const start = bytes.subarray(0, 2_048).toString("latin1");
  const mark = BYTE_ORDER_MARKS.find(([bytes]) => start.startsWith(bytes))?.[1] ?? "";
  const inHeader = /charset\s*=\s*["']?([\w.:-]+)/i.exec(type)?.[1];
  const inPage =
    contentKind === "page"
      ? /<(?:meta\b[^>]*?charset|\?xml[^>]*?encoding)\s*=\s*["']?([\w.:-]+)/i.exec(start)?.[1]
      : undefined;
  for (const name of [mark, inHeader, inPage]) {
    const decoder = name ? tryTo(() => new TextDecoder(name)) : undefined;
    if (decoder) return decoder.decode(bytes);
  }
  const complete = bytes.subarray(0, lastWhole(bytes));
  return (
    tryTo(() => new TextDecoder("utf-8", { fatal: true }).decode(complete)) ??
    new TextDecoder("windows-1252").decode(bytes)
  );
}

/** The end of the last whole character, in case the bytes were cut in the middle of one. */
function lastWhole(bytes: Buffer): number {
  for (let index = bytes.length - 1; index >= Math.max(0, bytes.length - 4); index--) {
    const byte = bytes[index]!;
    if (byte < 0x80) return index + 1;
    if (byte >= 0xc0) return index + sizeFrom(byte) <= bytes.length ? bytes.length : index;
  }
  return bytes.length;
}

/** Tags and the text between them, in one pass, without comments, scripts and the like. */
function* piecesOf(html: string): Generator<string> {
  const lower = html.toLowerCase();
  for (let offset = 0; offset < html.length; ) {
    const tag = html.indexOf("<", offset);
    if (tag !== offset) yield html.slice(offset, tag < 0 ? html.length : tag);
    if (tag < 0) return;
    const [, silent] =
      /^<(script|style|noscript|template|svg)\b/.exec(lower.slice(tag, tag + 10)) ?? [];
    const isComment = html.startsWith("<!--", tag);
    const afterSilent = silent ? lower.indexOf(`</${silent}`, tag) : tag;
    const end = isComment ? html.indexOf("-->", tag) : afterSilent;
    const close = end < 0 ? -1 : html.indexOf(">", end);
    if (close < 0) return;
    if (!silent && !isComment) yield html.slice(tag, close + 1);
    offset = close + 1;
  }
}

/** A page without its scripts and styles, which often are most of it. */
function withoutScripts(html: string): string {
  const pieces: string[] = [];
  let size = 0;
  for (const piece of piecesOf(html)) {
    // an inline image
    pieces.push(piece.length > MAX_TAG_CHARS && piece.startsWith("<") ? " " : piece);
    size += piece.length;
    if (size > MAX_PAGE_CHARS) break;
  }
  return pieces.join("");
}

/** About how deeply the HTML is nested, counting only tags that are normally closed. */
function depthOf(html: string): number {
  let [depth, deepest] = [0, 0];
  for (const piece of piecesOf(html)) {
    if (!NESTS.test(piece)) continue;
    depth += piece[1] === "/" ? -1 : 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}
const NESTS =
  /^<\/?(div|span|section|article|main|table|ul|ol|dl|blockquote|a|b|i|u|em|strong|font|small|code|pre)\b/i;

/** The text between tags, without parsing a tree. */
function bareText(html: string): string {
  const pieces = Array.from(piecesOf(html), (piece) => {
    if (!/^<[!/a-z]/i.test(piece)) return piece;
    if (BLOCK.test(piece)) return "\n";
    return " ";
  });
  const text = pieces
    .join("")
    .replace(/&(nbsp|amp|lt|gt|quot|#39);/g, (entity, name) => ENTITIES[name] ?? entity);
  return text
    .replace(/[^\S\n]+/g, " ")
    .replace(/ ?\n\s*/g, "\n")
    .trim();
}
const BLOCK = /^<\/?(p|div|br|li|tr|h\d|section|article|pre|table|ul|ol)\b/i;
const ENTITIES: Record<string, string> = {
  nbsp: " ",
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  "#39": "'",
};

const BYTE_ORDER_MARKS = [
  ["\xef\xbb\xbf", "utf-8"],
  ["\xff\xfe", "utf-16le"],
  ["\xfe\xff", "utf-16be"],
] as const;

/** How many bytes a character of UTF-8 has, by its first one. */
function sizeFrom(byte: number): number {
  if (byte >= 0xf0) return 4;
  return byte >= 0xe0 ? 3 : 2;
}
