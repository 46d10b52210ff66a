// Markdown as HTML that does nothing: markup in it is text, links lead to the web alone, and
// pictures are links, since a page loads nothing from elsewhere.
import { Marked, type MarkedExtension, type RendererObject, type Tokens } from "marked";
import { clean, workLimit } from "zz/text";
import { colourCode } from "./colour-code.ts";
import { escapeHtml } from "./escape.ts";

const WEB_ADDRESS = /^(?:https?:\/\/|mailto:)/i;
const MAX_CHARS = 100_000; // of what is said: a browser takes long for more
const MAX_PARSE_MS = 500; // of work; what is not parsed by then stays as it was written

export function markdownToHtml(markdown: string): string {
  const excessChars = markdown.length - MAX_CHARS;
  if (excessChars > 0)
    return `${markdownToHtml(markdown.slice(0, MAX_CHARS))}<p>… ${excessChars} more characters</p>`;
  const cleanSource = clean(markdown.replace(/\r\n?/g, "\n"));
  try {
    const markedParser = new Marked({ async: false, gfm: true }, limitedTo(MAX_PARSE_MS), {
      renderer,
    });
    const parsedHtml = markedParser.parse(cleanSource) as string;
    return parsedHtml.replace(/<(?:pre|table)>/g, (openingTag) =>
      openingTag.replace(">", ' tabindex="0">'),
    ); // they scroll
  } catch {
    // it takes too long, or is nested too deep
    return `<pre tabindex="0">${escapeHtml(cleanSource)}</pre>`;
  }
}

const renderer: RendererObject = {
  html: ({ text }) => escapeHtml(text),
  code: ({ text, lang = "" }) =>
    `<pre><code>${colourCode(text, lang.split(/\s/)[0]!)}</code></pre>`,
  codespan: ({ text }) => `<code>${escapeHtml(text)}</code>`,
  link(linkToken) {
    return linkHtml(linkToken.href, this.parser.parseInline(linkToken.tokens));
  },
  image: ({ href, text }) => linkHtml(href, `picture: ${escapeHtml(text || href)}`),
  text(textToken) {
    const { tokens } = textToken as Tokens.Text;
    return tokens ? this.parser.parseInline(tokens) : escapeHtml(textToken.text);
  },
  heading({ tokens, depth }) {
    const headingLevel = Math.min(6, depth + 2); // the page and the message have the first two
    return `<h${headingLevel}>${this.parser.parseInline(tokens)}</h${headingLevel}>`;
  },
  checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
};

function linkHtml(linkTarget: string, shownHtml: string): string {
  if (!WEB_ADDRESS.test(linkTarget)) return shownHtml;
  return (
    `<a href="${escapeHtml(linkTarget)}" rel="noreferrer noopener ` +
    `nofollow" target="_blank">${shownHtml}</a>`
  );
}

/** The rules that are tried first look at the limit; false: the parser goes on. */
function limitedTo(milliseconds: number): MarkedExtension {
  const isOver = workLimit(milliseconds);
  const checkLimit = (): false => {
    if (isOver()) throw new Error("Cannot parse this text: it takes too long.");
    return false;
  };
  return { tokenizer: { space: checkLimit, escape: checkLimit } };
}
