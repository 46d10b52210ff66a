// Answers as Telegram shows them: Markdown becomes MarkdownV2, in parts that fit a message each.
import { lexer, type Token, type Tokens } from "marked";
import { MAX_TEXT } from "./limits.ts";

/** A part of an answer, and how it reads where Telegram cannot parse it. */
export interface Part {
  markdown: string;
  plain: string;
}

export const escapeText = (rawText: string): string =>
  rawText.replace(/[_*[\]()~`>#+\-=|{}.!\\]/g, "\\$&");
const escapeCode = (codeText: string): string => codeText.replace(/[`\\]/g, "\\$&");
const escapeUrl = (linkUrl: string): string => linkUrl.replace(/[)\\]/g, "\\$&");

/** Splits between blocks, and a block only where it alone is too long. */
export function partsOf(markdown: string, maxChars = MAX_TEXT): Part[] {
  const parts: Part[] = [];
  for (const block of blocksOf(markdown, maxChars)) {
    const lastPart = parts.at(-1);
    const joinedText = lastPart && `${lastPart.markdown}\n\n${block.markdown}`;
    if (lastPart && joinedText!.length <= maxChars) {
      lastPart.markdown = joinedText!;
      lastPart.plain = `${lastPart.plain}\n\n${block.plain}`;
    } else parts.push(block);
  }
  return parts;
}

function blocksOf(markdown: string, maxChars: number): Part[] {
  return lexer(markdown).flatMap((blockToken): Part[] => {
    const blockMarkdown = blockText(blockToken);
    if (!blockMarkdown.trim()) return [];
    const plain = blockToken.raw.trim();
    if (blockMarkdown.length <= maxChars && plain.length <= maxChars)
      return [{ markdown: blockMarkdown, plain }];
    return splitBlock(blockToken, maxChars);
  });
}

/** Code is split between lines, and stays code; all else is split in its source, and read again. */
function splitBlock(blockToken: Token, maxChars: number): Part[] {
  if (blockToken.type === "code") {
    const { text, lang } = blockToken as Tokens.Code;
    return piecesOf(text, maxChars, (codePiece) => codeBlock(codePiece, lang)).map((codePiece) => ({
      markdown: codeBlock(codePiece, lang),
      plain: codePiece,
    }));
  }
  const blockSource =
    blockToken.type === "list" ? blockToken.raw.replace(/\n{2,}/g, "\n") : blockToken.raw;
  return piecesOf(blockSource, maxChars, escapeText).map((sourcePiece) =>
    pieceToPart(sourcePiece, maxChars),
  );
}

/** A piece of a block. What would not fit as Markdown is sent as the plain text that it is. */
function pieceToPart(sourcePiece: string, maxChars: number): Part {
  const plain = sourcePiece.trim();
  const pieceMarkdown = lexer(plain)
    .map((token) => blockText(token))
    .filter(Boolean)
    .join("\n\n");
  return {
    markdown: pieceMarkdown && pieceMarkdown.length <= maxChars ? pieceMarkdown : escapeText(plain),
    plain,
  };
}

/** Pieces that are not too long once they are `shown`: at lines, else at words, else anywhere. */
function piecesOf(
  longText: string,
  maxChars: number,
  shown: (textPiece: string) => string,
): string[] {
  const pieces: string[] = [];
  let remaining = longText;
  while (remaining) {
    let endOffset = Math.min(remaining.length, maxChars);
    while (shown(remaining.slice(0, endOffset)).length > maxChars)
      endOffset = Math.floor(endOffset * 0.9);
    if (endOffset < remaining.length) endOffset = cutBefore(remaining, endOffset);
    const nextPiece = remaining.slice(0, endOffset);
    if (nextPiece.trim()) pieces.push(nextPiece.replace(/\n$/, ""));
    remaining = remaining.slice(endOffset);
  }
  return pieces;
}

function cutBefore(longText: string, endOffset: number): number {
  const headText = longText.slice(0, endOffset);
  for (const separator of ["\n", " "]) {
    const cutOffset = headText.lastIndexOf(separator) + 1;
    if (cutOffset > endOffset / 2) return cutOffset;
  }
  // between the halves of a sign
  return /[\uD800-\uDBFF]$/.test(headText) && endOffset > 1 ? endOffset - 1 : endOffset;
}

// ── Blocks ───────────────────────────────────────────────────────────────────────────────────────

export function codeBlock(codeText: string, languageTag = ""): string {
  const language = /^[\w+#.-]+/.exec(languageTag)?.[0] ?? "";
  return `\`\`\`${language}\n${escapeCode(codeText)}\n\`\`\``;
}

/** The blocks within a block, where nothing can be quoted. */
const innerText = (tokens: Token[] = [], between: string): string =>
  tokens
    .map((token) => blockText(token, true))
    .filter(Boolean)
    .join(between);

function blockText(blockToken: Token, isInner = false): string {
  switch (blockToken.type) {
    case "space":
      return "";
    case "code":
      return codeBlock((blockToken as Tokens.Code).text, (blockToken as Tokens.Code).lang);
    case "heading":
      return `*${inlineText(blockToken.tokens, ["*"])}*`;
    case "hr":
      return "———";
    case "blockquote":
      return quoteText(innerText(blockToken.tokens, "\n\n"), isInner);
    case "list":
      return listText(blockToken as Tokens.List);
    case "table":
      return codeBlock(tableText(blockToken as Tokens.Table));
    case "paragraph":
    case "text":
      return blockToken.tokens ? inlineText(blockToken.tokens) : escapeText(blockToken.raw);
    default:
      return escapeText(blockToken.raw.trim());
  }
}

/** Code blocks cannot stand in a quotation, nor one quotation in another. */
const quoteText = (blockMarkdown: string, isInner: boolean): string =>
  isInner || blockMarkdown.includes("```")
    ? blockMarkdown
    : blockMarkdown.replace(/^|(?<=\n)/g, ">");

function listText({ items, ordered, start }: Tokens.List): string {
  return items
    .map(({ tokens, task, checked }, itemIndex) => {
      const itemNumber = ordered ? `${Number(start || 1) + itemIndex}\\. ` : "• ";
      const taskBox = checked ? "☑ " : "☐ ";
      const itemText = innerText(
        tokens.filter(({ type }) => type !== "checkbox"),
        "\n",
      );
      const indentedText = itemText.includes("```") ? itemText : itemText.replace(/\n/g, "\n   ");
      return `${task ? taskBox : itemNumber}${indentedText}`;
    })
    .join("\n");
}

function tableText({ header, rows }: Tokens.Table): string {
  const cellRows = [header, ...rows].map((tableRow) =>
    tableRow.map(({ tokens }) => plainText(tokens)),
  );
  const columnWidths = header.map((_, i) =>
    Math.max(...cellRows.map((cellRow) => cellRow[i]?.length ?? 0)),
  );
  return cellRows
    .map((cellRow) =>
      cellRow
        .map((cellText, i) => cellText.padEnd(columnWidths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

// ── Within a line ────────────────────────────────────────────────────────────────────────────────

const INLINE_MARKS: Record<string, string> = { strong: "*", em: "_", del: "~" };

/** `open`: the marks around it, which cannot be opened again. */
function inlineText(tokens: Token[] = [], open: string[] = []): string {
  let lineText = "";
  for (const token of tokens) {
    const inlinePiece = inlineToken(token, open);
    // two marks of italics that meet would be one of underlining
    const isBetween = inlinePiece.startsWith("_") && /(^|[^\\])_$/.test(lineText);
    lineText += isBetween ? `${WORD_JOINER}${inlinePiece}` : inlinePiece;
  }
  return lineText;
}
const WORD_JOINER = "\u2060"; // has no width

function inlineToken(token: Token, open: string[]): string {
  const inlineMark = INLINE_MARKS[token.type];
  if (inlineMark) {
    const innerMarkdown = inlineText((token as Tokens.Strong).tokens, [...open, inlineMark]);
    return open.includes(inlineMark) || !innerMarkdown.trim()
      ? innerMarkdown
      : `${inlineMark}${innerMarkdown}${inlineMark}`;
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
  const linkLabel = tokens ? inlineText(tokens, [...open, "["]) : escapeText(text);
  if (!/^(https?|tg|mailto):/.test(href) || open.includes("[")) return linkLabel;
  return `[${linkLabel.trim() ? linkLabel : escapeText(href)}](${escapeUrl(href)})`;
}

const plainText = (tokens: Token[]): string => tokens.map(plainToken).join("");

function plainToken(token: Token): string {
  if (token.type === "br") return " ";
  const { tokens, text } = token as Tokens.Generic;
  return tokens ? plainText(tokens) : String(text ?? token.raw);
}
