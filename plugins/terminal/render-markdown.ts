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
import { width } from "zz/text";
import type { Theme } from "./styles.ts";
import { LINK_END, SEQUENCE, wrap } from "./wrap-styled.ts";

export interface Look {
  width: number;
  theme: Theme;
  // loaded where there is code
  highlight?: ((code: string, language: string, theme: Theme) => string) | undefined;
  links?: boolean;
  parseTimeout?: number;
}

const MAX_DEPTH = 24; // of nested quotes and lists; deeper ones stay as they were written
// ms, if the look has none of its own; what is not parsed by then stays as it was written
const PARSE_TIMEOUT = 1_500;
const CLOCK_STEPS = 16; // parsing steps between two looks at the clock
const COLOURING_TIME = 200; // ms for the colours of all code in a text; after that code has none
const MIN_COLUMNS = 8; // nothing is indented if less would be left
const MAX_WORD_COLUMNS = 12; // that a table gives to a word before it breaks it

/** Marks a line that is never indented, so that copied code has no margin. */
const FLUSH = "\x00";
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
/** Characters that would change how the text around them is shown. */
const UNSAFE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const ENTITY = /&(?:#x[\da-f]{1,6}|#\d{1,7}|[a-z][a-z\d]*);/gi;
const WEB = /^(?:https?:\/\/|mailto:)/i;

export function renderMarkdown(markdown: string, look: Look): string {
  const source = markdown.replace(/\r\n?/g, "\n").replace(CONTROL, "");
  const { lexer, parse } = setUp(look);
  try {
    return parse.blocks(lex(lexer, source), true).replaceAll(FLUSH, "").replace(/\n+$/, "");
  } catch {
    return source.trim(); // nested deeper than the stack allows
  }
}

// ── Parsing ──────────────────────────────────────────────────────────────────────────────────────

/** Gives renderers the rendered contents of a token. */
type Parse = { inline(tokens: Token[]): string; blocks(tokens: Token[], loose: boolean): string };

function setUp(look: Look): { lexer: Lexer; parse: Parse } {
  const parse: Parse = {
    inline: (tokens) => parser.parseInline(tokens),
    blocks: (tokens, loose) => blocks(tokens, parser, loose),
  };
  const page: Page = { look, parse, room: Math.max(1, look.width), colouring: COLOURING_TIME };
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
function lex(lexer: Lexer, source: string): Token[] {
  lexer.blockTokens(source, lexer.tokens);
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

/**
 * The rules that are tried first look at the clock now and then; false lets the parser continue.
 */
function tokenizer(timeout = PARSE_TIMEOUT): NonNullable<MarkedExtension["tokenizer"]> {
  const deadline = performance.now() + timeout;
  let places = 0;
  const check = (): false => {
    if (++places % CLOCK_STEPS === 0 && performance.now() > deadline)
      throw new Error("Cannot parse this text: it takes too long.");
    return false;
  };
  return {
    space: check,
    escape: check,
    // a footnote is text, not a link's address
    def: (source) => (/^ {0,3}\[\^/.test(source) ? undefined : false),
  };
}

/** Limits lists and quotes: they recurse, and each level reads its whole content again. */
function shallow(tokenizer: {
  list(source: string): unknown;
  blockquote(source: string): unknown;
}): void {
  let depth = 0;
  for (const blockType of ["list", "blockquote"] as const) {
    const parse = tokenizer[blockType];
    tokenizer[blockType] = function (source) {
      if (depth >= MAX_DEPTH) return undefined;
      depth++;
      try {
        return parse.call(this, source);
      } finally {
        depth--;
      }
    };
  }
}

// ── Rendering ────────────────────────────────────────────────────────────────────────────────────

/** Blocks below one another, with an empty line between them unless they are in a tight list. */
function blocks(tokens: Token[], parser: Parser, loose: boolean): string {
  const texts = tokens.map((token) => block(token, parser)).filter((text) => text !== "");
  return stack(texts, loose);
}

/** Code is separated even in a tight list, since it starts at the left edge. */
function stack(texts: string[], loose: boolean): string {
  const gap = (i: number) =>
    loose || texts[i - 1]!.includes(FLUSH) || texts[i]!.startsWith(FLUSH) ? "\n\n" : "\n";
  return texts.map((text, i) => (i ? gap(i) + text : text)).join("");
}

function block(token: Token, parser: Parser): string {
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
  const decode = decoder();
  const headed = (paint: Theme["strong"]) => (text: string) => {
    const mark = /^#+ /.exec(text)![0];
    return within(page, mark.length, (flat) => {
      const lines = wrap(paint(text.slice(mark.length)), page.room).join("\n");
      return flat ? lines : indent(lines, `${dim(mark.trim())} `, " ".repeat(mark.length));
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
    paragraph: (text: string) => wrap(text, page.room).join("\n"),
    text: (text: string) => clean(decode(text)).replace(/[ \t\n]+/g, " "),
  };
}

function renderer(page: Page): RendererObject {
  const { look, parse } = page;
  const { theme } = look;
  const decode = decoder();
  return {
    checkbox: () => "", // the list shows it in place of the bullet
    blockquote: ({ tokens }) =>
      within(page, 2, (flat) => {
        const text = parse.blocks(tokens, true);
        const bar = `${theme.quote("│")} `;
        return flat ? text : indent(text.replaceAll(FLUSH, ""), bar, bar);
      }),
    list(list) {
      const marks = list.items.map((item, i) => {
        const number = list.ordered ? `${Number(list.start) + i}.` : "";
        const box = item.task ? `[${item.checked ? "x" : " "}]` : "";
        return [number, box].filter(Boolean).join(" ") || "•";
      });
      const widest = largest(marks.map((mark) => mark.search(/\.|$/)));
      const texts = list.items.map((each, i) =>
        listItem(page, each, marks[i]!, list.ordered ? widest - marks[i]!.indexOf(".") : 0),
      );
      return stack(texts, list.loose);
    },
    code: (token) => codeBlock(page, token),
    html({ text, block }) {
      if (!block && /^<br\s*\/?>$/i.test(text)) return "\n";
      const shown = clean(text).replace(/<[^<>]*>/g, (tag) => theme.dim(tag));
      if (!block) return shown.replace(/\s+/g, " ");
      return shown
        .trimEnd()
        .split("\n")
        .map((line) => source(page, line))
        .join("\n");
    },
    table: (token) => table(page, token),
    codespan: ({ text }) => theme.code(clean(text)),
    link: ({ href, text, tokens, autolink }) =>
      autolink
        ? anchor(look, clean(text), clean(href))
        : anchor(look, parse.inline(tokens), clean(decode(href))),
    image({ href, text, tokens }) {
      const alt = tokens ? parse.inline(tokens) : clean(text);
      const url = clean(decode(href));
      return alt ? `${alt} ${theme.url(`(${url})`)}` : theme.url(url);
    },
  };
}

/** Renders something with an indent, or without if too little room would be left. */
function within(page: Page, indent: number, render: (flat: boolean) => string): string {
  const before = page.room;
  const flat = before - indent < Math.min(MIN_COLUMNS, before / 2);
  if (!flat) page.room -= indent;
  try {
    return render(flat);
  } finally {
    page.room = before;
  }
}
function codeBlock(page: Page, { text, lang }: Tokens.Code): string {
  const { theme, width: columns, highlight } = page.look;
  const language = clean(lang ?? "").trim();
  const code = text.replace(/\n$/, "");
  const name = /^[\w+#.-]*/.exec(language)![0].toLowerCase();
  const began = performance.now();
  const shown = page.colouring > 0 && name ? (highlight?.(code, name, theme) ?? code) : code;
  page.colouring -= performance.now() - began;
  const head = `─── ${language}`.trim();
  const end = theme.dim("─".repeat(Math.min(3, columns)));
  const rule = width(head) <= columns ? theme.dim(head) : end;
  return [rule, ...(shown ? shown.split("\n") : []), end].map((line) => FLUSH + line).join("\n");
}

function listItem(page: Page, item: Tokens.ListItem, mark: string, margin: number): string {
  const { theme } = page.look;
  const size = margin + width(mark) + 1;
  const first = `${" ".repeat(margin)}${mark && theme.marker(mark)}`;
  return within(page, size, (flat) => {
    const body = page.parse.blocks(item.tokens, item.loose);
    if (!body) return first;
    if (flat) return `${first}\n${body}`;
    const indentation = " ".repeat(size);
    return body.startsWith(FLUSH)
      ? `${first}\n${indent(body, indentation, indentation)}`
      : indent(body, `${first} `, indentation);
  });
}
function table(page: Page, token: Tokens.Table): string {
  const { parse, room } = page;
  const { theme } = page.look;
  const [head, ...rows] = [token.header, ...token.rows].map((cells) =>
    cells.map(({ tokens }) => parse.inline(tokens)),
  );
  const titles = head!.map(theme.strong);
  const sizes = fit([titles, ...rows], room - 3 * (titles.length - 1));
  if (!sizes) return records(page, titles, rows);
  const [bar, cross] = [
    ` ${theme.table("│")} `,
    theme.table(sizes.map((size) => "─".repeat(size)).join("─┼─")),
  ];
  const lines = [titles, ...rows].map((cells) => {
    const columns = cells.map((cell, i) => wrap(cell, sizes[i]!, true));
    const height = largest(columns.map(({ length }) => length));
    return Array.from({ length: height }, (_, y) =>
      columns
        .map((column, i) => align(column[y] ?? "", sizes[i]!, token.align[i] ?? "left"))
        .join(bar)
        .trimEnd(),
    );
  });
  // it would be unclear which lines form a row
  const isLoose = lines.slice(1).some(({ length }) => length > 1);
  return lines
    .flatMap((row, i) => (i === 1 || (isLoose && i > 1) ? [cross, ...row] : row))
    .join("\n");
}
/** A table without enough room: a line for each cell, with the title of its column. */
function records({ look, room }: Page, titles: string[], rows: string[][]): string {
  if (!rows.length) return titles.flatMap((title) => wrap(title, room)).join("\n");
  const texts = rows.map((cells) =>
    cells.map((cell, i) => wrap(`${titles[i]}: ${cell}`, room).join("\n")).join("\n"),
  );
  return texts.join(`\n${look.theme.table("─".repeat(Math.min(3, room)))}\n`);
}
function source(page: Page, line: string): string {
  const margin = /^ */.exec(line)![0];
  return within(page, margin.length, (flat) =>
    indent(wrap(line.trim(), page.room).join("\n"), flat ? "" : margin, flat ? "" : margin),
  );
}
function anchor({ theme, links }: Look, text: string, href: string): string {
  const plain = text.replace(SEQUENCE, "");
  const equivalents = [plain, `mailto:${plain}`, `http://${plain}`].includes(href);
  // A text that looks like an address but links to another must not hide where it leads.
  if (links && theme.syntax && WEB.test(href) && (equivalents || !/:\/\/|^www\./.test(plain)))
    return `\x1b]8;;${encode(href)}\x1b\\${theme.link(text || href)}${LINK_END}`;
  if (equivalents || !href) return theme.link(text);
  return plain ? `${theme.link(text)} ${theme.url(`(${href})`)}` : theme.url(href);
}

/** Every line except those that stay at the left edge. */
function indent(text: string, first: string, hangingIndent: string): string {
  const lines = text.split("\n");
  return lines
    .map((line, i) =>
      line.startsWith(FLUSH) ? line : `${i ? hangingIndent : first}${line}`.trimEnd(),
    )
    .join("\n");
}

// ── Text ─────────────────────────────────────────────────────────────────────────────────────────

/**
 * The text without characters that control a terminal; numeric references can produce them, too.
 */
const clean = (text: string): string => text.replace(UNSAFE, "\ufffd");

/** Names of characters as in HTML, each looked up once. */
function decoder(): (text: string) => string {
  const entities = new Map<string, string>();
  const read = (reference: string): string => {
    const value = decodeHTMLStrict(reference);
    const isEntity = value && value.length < 3; // "&notit;" begins with a name but is not one
    entities.set(reference, isEntity && clean(value) === value ? value : reference);
    return entities.get(reference)!;
  };
  return (text) =>
    text.includes("&") ? text.replace(ENTITY, (name) => entities.get(name) ?? read(name)) : text;
}

/** An address in the form that the terminal's link command needs. */
function encode(href: string): string {
  return href.replace(/[^\x21-\x7e]/gu, (character) =>
    encodeURIComponent(character.toWellFormed()),
  );
}

/**
 * Columns for these cells: as wide as they are, or shrunk so far that words stay whole; undefined
 * if there is not enough room.
 */
function fit(rows: string[][], room: number): number[] | undefined {
  const widest = (cut: (text: string) => string[]): number[] =>
    rows[0]!.map((_, i) => largest(rows.flatMap((row) => cut(row[i]!).map(width))));
  const fullWidths = widest((text) => text.split("\n"));
  if (sum(fullWidths) <= room) return fullWidths;
  const least = widest((text) => text.split(/[ \n]+/)).map((size) =>
    Math.min(size, MAX_WORD_COLUMNS),
  );
  if (sum(least) > room) return undefined;
  // The widest columns shrink first.
  const widthsAt = (level: number) =>
    fullWidths.map((size, i) => Math.max(least[i]!, Math.min(size, level)));
  let level = room;
  while (sum(widthsAt(level)) > room) level--;
  const sizes = widthsAt(level);
  for (let i = 0, spare = room - sum(sizes); i < sizes.length && spare > 0; i++)
    if (sizes[i]! < fullWidths[i]!) [sizes[i], spare] = [sizes[i]! + 1, spare - 1];
  return sizes;
}

/** Math.max takes only as many numbers as the stack holds. */
const largest = (numbers: number[]): number =>
  numbers.reduce((largest, number) => Math.max(largest, number), 1);
const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);

function align(line: string, size: number, side: "left" | "right" | "center"): string {
  const free = Math.max(0, size - width(line));
  const before = { left: 0, right: free, center: Math.floor(free / 2) }[side];
  return " ".repeat(before) + line + " ".repeat(free - before);
}
