// Answers as Telegram shows them: Markdown becomes MarkdownV2, in parts that fit a message each.
import { lexer, type Token, type Tokens } from "marked";
import { MAX_TEXT } from "./limits.ts";

/** A part of an answer, and how it reads where Telegram cannot parse it. */
export interface Part {
  markdown: string;
  plain: string;
}

export const escapeText = (text: string): string =>
  text.replace(/[_*[\]()~`>#+\-=|{}.!\\]/g, "\\$&");
const escapeCode = (text: string): string => text.replace(/[`\\]/g, "\\$&");
const escapeUrl = (text: string): string => text.replace(/[)\\]/g, "\\$&");

/** Splits between blocks, and a block only where it alone is too long. */
export function partsOf(markdown: string, max = MAX_TEXT): Part[] {
  const parts: Part[] = [];
  for (const block of blocksOf(markdown, max)) {
    const last = parts.at(-1);
    const joined = last && `${last.markdown}\n\n${block.markdown}`;
    if (last && joined!.length <= max) {
      last.markdown = joined!;
      last.plain = `${last.plain}\n\n${block.plain}`;
    } else parts.push(block);
  }
  return parts;
}

function blocksOf(markdown: string, max: number): Part[] {
  return lexer(markdown).flatMap((token): Part[] => {
    const text = blockText(token);
    if (!text.trim()) return [];
    const plain = token.raw.trim();
    if (text.length <= max && plain.length <= max) return [{ markdown: text, plain }];
    return splitBlock(token, max);
  });
}

/** Code is split between lines, and stays code; all else is split in its source, and read again. */
function splitBlock(token: Token, max: number): Part[] {
  if (token.type === "code") {
    const { text, lang } = token as Tokens.Code;
    return piecesOf(text, max, (piece) => codeBlock(piece, lang)).map((piece) => ({
      markdown: codeBlock(piece, lang),
      plain: piece,
    }));
  }
  const source = token.type === "list" ? token.raw.replace(/\n{2,}/g, "\n") : token.raw;
  return piecesOf(source, max, escapeText).map((piece) => asPart(piece, max));
}

/** A piece of a block. What would not fit as Markdown is sent as the plain text that it is. */
function asPart(piece: string, max: number): Part {
  const plain = piece.trim();
  const text = lexer(plain)
    .map((token) => blockText(token))
    .filter(Boolean)
    .join("\n\n");
  return { markdown: text && text.length <= max ? text : escapeText(plain), plain };
}

/** Pieces that are not too long once they are `shown`: at lines, else at words, else anywhere. */
function piecesOf(text: string, max: number, shown: (piece: string) => string): string[] {
  const pieces: string[] = [];
  let rest = text;
  while (rest) {
    let end = Math.min(rest.length, max);
    while (shown(rest.slice(0, end)).length > max) end = Math.floor(end * 0.9);
    if (end < rest.length) end = cutBefore(rest, end);
    const piece = rest.slice(0, end);
    if (piece.trim()) pieces.push(piece.replace(/\n$/, ""));
    rest = rest.slice(end);
  }
  return pieces;
}

function cutBefore(text: string, end: number): number {
  const head = text.slice(0, end);
  for (const border of ["\n", " "]) {
    const index = head.lastIndexOf(border) + 1;
    if (index > end / 2) return index;
  }
  return /[\uD800-\uDBFF]$/.test(head) && end > 1 ? end - 1 : end; // between the halves of a sign
}

// ── Blocks ───────────────────────────────────────────────────────────────────────────────────────

export function codeBlock(text: string, lang = ""): string {
  const language = /^[\w+#.-]+/.exec(lang)?.[0] ?? "";
  return `\`\`\`${language}\n${escapeCode(text)}\n\`\`\``;
}

/** The blocks within a block, where nothing can be quoted. */
const innerText = (tokens: Token[] = [], between: string): string =>
  tokens
    .map((token) => blockText(token, true))
    .filter(Boolean)
    .join(between);

function blockText(token: Token, isInner = false): string {
  switch (token.type) {
    case "space":
      return "";
    case "code":
      return codeBlock((token as Tokens.Code).text, (token as Tokens.Code).lang);
    case "heading":
      return `*${inlineText(token.tokens, ["*"])}*`;
    case "hr":
      return "———";
    case "blockquote":
      return quoted(innerText(token.tokens, "\n\n"), isInner);
    case "list":
      return listText(token as Tokens.List);
    case "table":
      return codeBlock(tableText(token as Tokens.Table));
    case "paragraph":
    case "text":
      return token.tokens ? inlineText(token.tokens) : escapeText(token.raw);
    default:
      return escapeText(token.raw.trim());
  }
}

/** Code blocks cannot stand in a quotation, nor one quotation in another. */
const quoted = (text: string, isInner: boolean): string =>
  isInner || text.includes("```") ? text : text.replace(/^|(?<=\n)/g, ">");

function listText({ items, ordered, start }: Tokens.List): string {
  return items
    .map(({ tokens, task, checked }, index) => {
      const number = ordered ? `${Number(start || 1) + index}\\. ` : "• ";
      const box = checked ? "☑ " : "☐ ";
      const text = innerText(
        tokens.filter(({ type }) => type !== "checkbox"),
        "\n",
      );
      const body = text.includes("```") ? text : text.replace(/\n/g, "\n   ");
      return `${task ? box : number}${body}`;
    })
    .join("\n");
}

function tableText({ header, rows }: Tokens.Table): string {
  const cells = [header, ...rows].map((row) => row.map(({ tokens }) => plainText(tokens)));
  const widths = header.map((_, i) => Math.max(...cells.map((row) => row[i]?.length ?? 0)));
  return cells
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

// ── Within a line ────────────────────────────────────────────────────────────────────────────────

const MARKS: Record<string, string> = { strong: "*", em: "_", del: "~" };

/** `open`: the marks around it, which cannot be opened again. */
function inlineText(tokens: Token[] = [], open: string[] = []): string {
  let text = "";
  for (const token of tokens) {
    const piece = inlineToken(token, open);
    // two marks of italics that meet would be one of underlining
    const isBetween = piece.startsWith("_") && /(^|[^\\])_$/.test(text);
    text += isBetween ? `${JOINER}${piece}` : piece;
  }
  return text;
}
const JOINER = "\u2060"; // has no width

function inlineToken(token: Token, open: string[]): string {
  const mark = MARKS[token.type];
  if (mark) {
    const text = inlineText((token as Tokens.Strong).tokens, [...open, mark]);
    return open.includes(mark) || !text.trim() ? text : `${mark}${text}${mark}`;
  }
  switch (token.type) {
    case "codespan":
      return token.text ? `\`${escapeCode(token.text)}\`` : "";
    case "br":
      return "\n";
    case "link":
    case "image":
      return linkText(token as Tokens.Link, open);
    case "escape":
      return escapeText(token.text);
    case "text":
      return token.tokens ? inlineText(token.tokens, open) : escapeText(token.raw);
    default:
      return escapeText(token.raw);
  }
}

function linkText({ href, tokens, text }: Tokens.Link, open: string[]): string {
  const shown = tokens ? inlineText(tokens, [...open, "["]) : escapeText(text);
  if (!/^(https?|tg|mailto):/.test(href) || open.includes("[")) return shown;
  return `[${shown.trim() ? shown : escapeText(href)}](${escapeUrl(href)})`;
}

const plainText = (tokens: Token[]): string => tokens.map(plainToken).join("");

function plainToken(token: Token): string {
  if (token.type === "br") return " ";
  const { tokens, text } = token as Tokens.Generic;
  return tokens ? plainText(tokens) : String(text ?? token.raw);
}
