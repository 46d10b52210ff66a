// Markdown for reading in a terminal: marked parses, marked-terminal renders what it renders
// correctly. What is rendered here has its reason in a test ("what marked-terminal shows"). Heavy:
// import it when there is something to render.
import { decodeHTMLStrict } from "entities";
import {
  Lexer,
  Marked,
  type MarkedExtension,
  Parser,
  type RendererObject,
  type Token,
  type Tokens,
} from "marked";
// @ts-expect-error: it has no types.
import { markedTerminal } from "marked-terminal";
import { width, workedMs, workLimit } from "zz/text";
import type { Theme } from "./styles.ts";
import { LINK_END, SEQUENCE, wrap } from "./wrap-styled.ts";

export interface Look {
  width: number;
  theme: Theme;
  // loaded where there is code
  highlight?: ((sourceCode: string, language: string, theme: Theme) => string) | undefined;
  links?: boolean;
  parseTimeout?: number;
}

const MAX_DEPTH = 24; // of nested quotes and lists; deeper ones stay as they were written
// of work, if the look has none of its own; what is not parsed by then stays as it was written
const MAX_PARSE_MS = 1_500;
const MAX_COLOURING_MS = 200; // of work, for all code in a text; after that code has no colours
const MIN_COLUMNS = 8; // nothing is indented if less would be left
const MAX_WORD_COLUMNS = 12; // that a table gives to a word before it breaks it

/** Marks a line that is never indented, so that copied code has no margin. */
const FLUSH = "\x00";
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
/** Characters that would change how the text around them is shown. */
const UNSAFE_CHARS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const ENTITY_PATTERN = /&(?:#x[\da-f]{1,6}|#\d{1,7}|[a-z][a-z\d]*);/gi;
const WEB_ADDRESS = /^(?:https?:\/\/|mailto:)/i;

export function renderMarkdown(markdown: string, look: Look): string {
  const sourceText = markdown.replace(/\r\n?/g, "\n").replace(CONTROL, "");
  const { lexer, parse } = setUpParser(look);
  try {
    return parse
      .blocks(readTokens(lexer, sourceText), true)
      .replaceAll(FLUSH, "")
      .replace(/\n+$/, "");
  } catch {
    return sourceText.trim(); // nested deeper than the stack allows
  }
}

// ── Parsing ──────────────────────────────────────────────────────────────────────────────────────

/** Gives renderers the rendered contents of a token. */
type Parse = {
  inline(inlineTokens: Token[]): string;
  blocks(blockTokens: Token[], isLoose: boolean): string;
};

function setUpParser(look: Look): { lexer: Lexer; parse: Parse } {
  const parse: Parse = {
    inline: (inlineTokens) => parser.parseInline(inlineTokens),
    blocks: (blockTokens, isLoose) => renderBlocks(blockTokens, parser, isLoose),
  };
  const page: Page = { look, parse, room: Math.max(1, look.width), colouring: MAX_COLOURING_MS };
  const marked = new Marked(markedTerminal(options(page)));
  marked.use({ renderer: renderer(page), tokenizer: tokenizer(look.parseTimeout) });
  const parser = new Parser(marked.defaults);
  shallow(marked.defaults.tokenizer!);
  return { lexer: new Lexer(marked.defaults), parse };
}

/**
 * Each run of text is parsed by itself, so that one which is too much for the parser does not
 * affect the others.
 */
function readTokens(lexer: Lexer, sourceText: string): Token[] {
  lexer.blockTokens(sourceText, lexer.tokens);
  for (const { src, tokens } of lexer.inlineQueue) {
    Object.assign(lexer.state, { inRawBlock: false, inLink: false });
    try {
      lexer.inlineTokens(src, tokens);
    } catch {
      tokens.splice(0, tokens.length, { type: "text", raw: src, text: src });
    }
  }
  return lexer.tokens;
}

/** The rules that are tried first look at the limit; false lets the parser continue. */
function tokenizer(milliseconds = MAX_PARSE_MS): NonNullable<MarkedExtension["tokenizer"]> {
  const isOver = workLimit(milliseconds);
  const checkLimit = (): false => {
    if (isOver()) throw new Error("Cannot parse this text: it takes too long.");
    return false;
  };
  return {
    space: checkLimit,
    escape: checkLimit,
    // a footnote is text, not a link's address
    def: (sourceText) => (/^ {0,3}\[\^/.test(sourceText) ? undefined : false),
  };
}

/** Limits lists and quotes: they recurse, and each level reads its whole content again. */
function shallow(tokenizer: {
  list(sourceText: string): unknown;
  blockquote(sourceText: string): unknown;
}): void {
  let depth = 0;
  for (const blockType of ["list", "blockquote"] as const) {
    const parseBlock = tokenizer[blockType];
    tokenizer[blockType] = function (sourceText) {
      if (depth >= MAX_DEPTH) return undefined;
      depth++;
      try {
        return parseBlock.call(this, sourceText);
      } finally {
        depth--;
      }
    };
  }
}

// ── Rendering ────────────────────────────────────────────────────────────────────────────────────

/** Blocks below one another, with an empty line between them unless they are in a tight list. */
function renderBlocks(blockTokens: Token[], parser: Parser, isLoose: boolean): string {
  const blockTexts = blockTokens
    .map((blockToken) => renderBlock(blockToken, parser))
    .filter((blockText) => blockText !== "");
  return stackBlocks(blockTexts, isLoose);
}

/** Code is separated even in a tight list, since it starts at the left edge. */
function stackBlocks(blockTexts: string[], isLoose: boolean): string {
  const gapBefore = (i: number) =>
    isLoose || blockTexts[i - 1]!.includes(FLUSH) || blockTexts[i]!.startsWith(FLUSH)
      ? "\n\n"
      : "\n";
  return blockTexts.map((blockText, i) => (i ? gapBefore(i) + blockText : blockText)).join("");
}

function renderBlock(token: Token, parser: Parser): string {
  try {
    // A text on its own line in a tight list is a paragraph in all but name.
    return parser
      .parse([token.type === "text" ? { ...token, type: "paragraph" } : token])
      .replace(/\n+$/, "");
  } catch {
    return token.raw.trim();
  }
}

/** A rendered part, and the room that is left for it. */
interface Page {
  readonly look: Look;
  readonly parse: Parse;
  room: number; // columns that are left inside of quotes and lists
  colouring: number; // ms that are left for the colours of code
}

/** What marked-terminal renders, with zz's styles, and in the columns that are left. */
function options(page: Page): Record<string, unknown> {
  const { strong, em, del, dim, rule, heading1, heading } = page.look.theme;
  const headed = (headingPaint: Theme["strong"]) => (text: string) => {
    const mark = /^#+ /.exec(text)![0];
    return within(page, mark.length, (isFlat) => {
      const lines = wrap(headingPaint(text.slice(mark.length)), page.room).join("\n");
      return isFlat ? lines : indent(lines, `${dim(mark.trim())} `, " ".repeat(mark.length));
    });
  };
  return {
    strong,
    em,
    del,
    emoji: false,
    unescape: false,
    firstHeading: headed(heading1),
    heading: headed(heading),
    hr: () => rule("─".repeat(page.room)),
    paragraph: (paragraphText: string) => wrap(paragraphText, page.room).join("\n"),
    text: (plainText: string) => clean(decode(plainText)).replace(/[ \t\n]+/g, " "),
  };
}

function renderer(page: Page): RendererObject {
  const { look, parse } = page;
  const { theme } = look;
  return {
    checkbox: () => "", // the list shows it in place of the bullet
    blockquote: ({ tokens }) =>
      within(page, 2, (isFlat) => {
        const quotedText = parse.blocks(tokens, true);
        const quoteBar = `${theme.quote("│")} `;
        return isFlat ? quotedText : indent(quotedText.replaceAll(FLUSH, ""), quoteBar, quoteBar);
      }),
    list(list) {
      const itemMarks = list.items.map((item, i) => {
        const itemNumber = list.ordered ? `${Number(list.start) + i}.` : "";
        const taskBox = item.task ? `[${item.checked ? "x" : " "}]` : "";
        return [itemNumber, taskBox].filter(Boolean).join(" ") || "•";
      });
      const widestNumber = largest(itemMarks.map((itemMark) => itemMark.search(/\.|$/)));
      const itemTexts = list.items.map((item, i) =>
        listItem(
          page,
          item,
          itemMarks[i]!,
          list.ordered ? widestNumber - itemMarks[i]!.indexOf(".") : 0,
        ),
      );
      return stackBlocks(itemTexts, list.loose);
    },
    code: (codeToken) => codeBlock(page, codeToken),
    html({ text, block }) {
      if (!block && /^<br\s*\/?>$/i.test(text)) return "\n";
      const shownHtml = clean(text).replace(/<[^<>]*>/g, (htmlTag) => theme.dim(htmlTag));
      if (!block) return shownHtml.replace(/\s+/g, " ");
      return shownHtml
        .trimEnd()
        .split("\n")
        .map((htmlLine) => wrapHtmlLine(page, htmlLine))
        .join("\n");
    },
    table: (tableToken) => renderTable(page, tableToken),
    codespan: ({ text }) => theme.code(clean(text)),
    link: ({ href, text, tokens, autolink }) =>
      autolink
        ? renderLink(look, clean(text), clean(href))
        : renderLink(look, parse.inline(tokens), clean(decode(href))),
    image({ href, text, tokens }) {
      const altText = tokens ? parse.inline(tokens) : clean(text);
      const imageUrl = clean(decode(href));
      return altText ? `${altText} ${theme.url(`(${imageUrl})`)}` : theme.url(imageUrl);
    },
  };
}

/** Renders something with an indent, or without if too little room would be left. */
function within(
  page: Page,
  indentWidth: number,
  renderContent: (isFlat: boolean) => string,
): string {
  const roomBefore = page.room;
  const isFlat = roomBefore - indentWidth < Math.min(MIN_COLUMNS, roomBefore / 2);
  if (!isFlat) page.room -= indentWidth;
  try {
    return renderContent(isFlat);
  } finally {
    page.room = roomBefore;
  }
}
function codeBlock(page: Page, { text, lang }: Tokens.Code): string {
  const { theme, width: columns, highlight } = page.look;
  const language = clean(lang ?? "").trim();
  const code = text.replace(/\n$/, "");
  const name = /^[\w+#.-]*/.exec(language)![0].toLowerCase();
  const workedBefore = workedMs();
  const shownCode = page.colouring > 0 && name ? (highlight?.(code, name, theme) ?? code) : code;
  page.colouring -= workedMs() - workedBefore;
  const headText = `─── ${language}`.trim();
  const endRule = theme.dim("─".repeat(Math.min(3, columns)));
  const headRule = width(headText) <= columns ? theme.dim(headText) : endRule;
  return [headRule, ...(shownCode ? shownCode.split("\n") : []), endRule]
    .map((codeLine) => FLUSH + codeLine)
    .join("\n");
}

function listItem(page: Page, item: Tokens.ListItem, itemMark: string, leftMargin: number): string {
  const { theme } = page.look;
  const size = leftMargin + width(itemMark) + 1;
  const first = `${" ".repeat(leftMargin)}${itemMark && theme.marker(itemMark)}`;
  return within(page, size, (isFlat) => {
    const body = page.parse.blocks(item.tokens, item.loose);
    if (!body) return first;
    if (isFlat) return `${first}\n${body}`;
    const indentation = " ".repeat(size);
    return body.startsWith(FLUSH)
      ? `${first}\n${indent(body, indentation, indentation)}`
      : indent(body, `${first} `, indentation);
  });
}
function renderTable(page: Page, tableToken: Tokens.Table): string {
  const { parse, room } = page;
  const { theme } = page.look;
  const [headerCells, ...bodyRows] = [tableToken.header, ...tableToken.rows].map((rowCells) =>
    rowCells.map(({ tokens }) => parse.inline(tokens)),
  );
  const titleCells = headerCells!.map(theme.strong);
  const sizes = fitColumns([titleCells, ...bodyRows], room - 3 * (titleCells.length - 1));
  if (!sizes) return records(page, titleCells, bodyRows);
  const [columnBar, crossRule] = [
    ` ${theme.table("│")} `,
    theme.table(sizes.map((columnWidth) => "─".repeat(columnWidth)).join("─┼─")),
  ];
  const linesByRow = [titleCells, ...bodyRows].map((rowCells) => {
    const columns = rowCells.map((cellText, i) => wrap(cellText, sizes[i]!, true));
    const rowHeight = largest(columns.map(({ length }) => length));
    return Array.from({ length: rowHeight }, (_, lineIndex) =>
      columns
        .map((columnLines, i) =>
          alignCell(columnLines[lineIndex] ?? "", sizes[i]!, tableToken.align[i] ?? "left"),
        )
        .join(columnBar)
        .trimEnd(),
    );
  });
  // it would be unclear which lines form a row
  const isLoose = linesByRow.slice(1).some(({ length }) => length > 1);
  return linesByRow
    .flatMap((rowLines, i) => (i === 1 || (isLoose && i > 1) ? [crossRule, ...rowLines] : rowLines))
    .join("\n");
}
/** A table without enough room: a line for each cell, with the title of its column. */
function records({ look, room }: Page, titleCells: string[], bodyRows: string[][]): string {
  if (!bodyRows.length) return titleCells.flatMap((titleCell) => wrap(titleCell, room)).join("\n");
  const recordTexts = bodyRows.map((rowCells) =>
    rowCells
      .map((cellText, i) => wrap(`${titleCells[i]}: ${cellText}`, room).join("\n"))
      .join("\n"),
  );
  return recordTexts.join(`\n${look.theme.table("─".repeat(Math.min(3, room)))}\n`);
}
function wrapHtmlLine(page: Page, htmlLine: string): string {
  const indentation = /^ */.exec(htmlLine)![0];
  return within(page, indentation.length, (isFlat) =>
    indent(
      wrap(htmlLine.trim(), page.room).join("\n"),
      isFlat ? "" : indentation,
      isFlat ? "" : indentation,
    ),
  );
}
function renderLink({ theme, links }: Look, linkText: string, href: string): string {
  const plain = linkText.replace(SEQUENCE, "");
  const equivalents = [plain, `mailto:${plain}`, `http://${plain}`].includes(href);
  // A text that looks like an address but links to another must not hide where it leads.
  if (
    links &&
    theme.syntax &&
    WEB_ADDRESS.test(href) &&
    (equivalents || !/:\/\/|^www\./.test(plain))
  )
    return `\x1b]8;;${encodeAddress(href)}\x1b\\${theme.link(linkText || href)}${LINK_END}`;
  if (equivalents || !href) return theme.link(linkText);
  return plain ? `${theme.link(linkText)} ${theme.url(`(${href})`)}` : theme.url(href);
}

/** Every line except those that stay at the left edge. */
function indent(shownText: string, firstIndent: string, hangingIndent: string): string {
  const textLines = shownText.split("\n");
  return textLines
    .map((textLine, i) =>
      textLine.startsWith(FLUSH)
        ? textLine
        : `${i ? hangingIndent : firstIndent}${textLine}`.trimEnd(),
    )
    .join("\n");
}

// ── Text ─────────────────────────────────────────────────────────────────────────────────────────

/**
 * The text without characters that control a terminal; numeric references can produce them, too.
 */
const clean = (plainText: string): string => plainText.replace(UNSAFE_CHARS, "\ufffd");

/** Names of characters, as in HTML. */
const decode = (encodedText: string): string =>
  encodedText.replace(ENTITY_PATTERN, (reference) => {
    const value = decodeHTMLStrict(reference);
    const isEntity = value && value.length < 3; // "&notit;" begins with a name but is not one
    return isEntity && clean(value) === value ? value : reference;
  });

/** An address in the form that the terminal's link command needs. */
function encodeAddress(linkAddress: string): string {
  return linkAddress.replace(/[^\x21-\x7e]/gu, (character) =>
    encodeURIComponent(character.toWellFormed()),
  );
}

/**
 * Columns for these cells: as wide as they are, or shrunk so far that words stay whole; undefined
 * if there is not enough room.
 */
function fitColumns(cellRows: string[][], room: number): number[] | undefined {
  const measureWidest = (cutCell: (cellText: string) => string[]): number[] =>
    cellRows[0]!.map((_, i) =>
      largest(cellRows.flatMap((rowCells) => cutCell(rowCells[i]!).map(width))),
    );
  const fullWidths = measureWidest((cellText) => cellText.split("\n"));
  if (sum(fullWidths) <= room) return fullWidths;
  const leastWidths = measureWidest((cellText) => cellText.split(/[ \n]+/)).map((wordWidth) =>
    Math.min(wordWidth, MAX_WORD_COLUMNS),
  );
  if (sum(leastWidths) > room) return undefined;
  // The widest columns shrink first.
  const widthsAt = (widthLevel: number) =>
    fullWidths.map((fullWidth, i) => Math.max(leastWidths[i]!, Math.min(fullWidth, widthLevel)));
  let widthLevel = room;
  while (sum(widthsAt(widthLevel)) > room) widthLevel--;
  const sizes = widthsAt(widthLevel);
  for (let i = 0, spareWidth = room - sum(sizes); i < sizes.length && spareWidth > 0; i++)
    if (sizes[i]! < fullWidths[i]!) [sizes[i], spareWidth] = [sizes[i]! + 1, spareWidth - 1];
  return sizes;
}

/** Math.max takes only as many numbers as the stack holds. */
const largest = (numbers: number[]): number =>
  numbers.reduce((largest, candidate) => Math.max(largest, candidate), 1);
const sum = (numbers: number[]): number => numbers.reduce((total, addend) => total + addend, 0);

function alignCell(
  cellLine: string,
  columnWidth: number,
  alignment: "left" | "right" | "center",
): string {
  const free = Math.max(0, columnWidth - width(cellLine));
  const leftPadding = { left: 0, right: free, center: Math.floor(free / 2) }[alignment];
  return " ".repeat(leftPadding) + cellLine + " ".repeat(free - leftPadding);
}
