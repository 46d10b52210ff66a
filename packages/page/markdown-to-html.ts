// Markdown as HTML that does nothing: markup in it is text, links lead to the web alone, and
// pictures are links, since a page loads nothing from elsewhere.
import { Marked, type MarkedExtension, type RendererObject, type Tokens } from "marked";
import { clean } from "zz/text";
import { colourCode } from "./colour-code.ts";
import { escapeHtml } from "./escape.ts";

const WEB = /^(?:https?:\/\/|mailto:)/i;
const MAX_CHARS = 100_000; // of what is said: a browser takes long for more
const PARSE_TIMEOUT = 500; // ms; what is not parsed by then stays as it was written
const CLOCK_STEPS = 16; // parsing steps between two looks at the clock

export function markdownToHtml(markdown: string): string {
  const more = markdown.length - MAX_CHARS;
  if (more > 0)
    return `${markdownToHtml(markdown.slice(0, MAX_CHARS))}<p>… ${more} more characters</p>`;
  const source = clean(markdown.replace(/\r\n?/g, "\n"));
  const deadline = performance.now() + PARSE_TIMEOUT;
  try {
    const marked = new Marked({ async: false, gfm: true }, limitedTo(deadline), { renderer });
    const html = marked.parse(source) as string;
    return html.replace(/<(?:pre|table)>/g, (tag) => tag.replace(">", ' tabindex="0">')); // they scroll
  } catch {
    return `<pre tabindex="0">${escapeHtml(source)}</pre>`; // it takes too long, or is nested too deep
  }
}

const renderer: RendererObject = {
  html: ({ text }) => escapeHtml(text),
  code: ({ text, lang = "" }) =>
    `<pre><code>${colourCode(text, lang.split(/\s/)[0]!)}</code></pre>`,
  codespan: ({ text }) => `<code>${escapeHtml(text)}</code>`,
  link(token) {
    return linkTo(token.href, this.parser.parseInline(token.tokens));
  },
  image: ({ href, text }) => linkTo(href, `picture: ${escapeHtml(text || href)}`),
  text(token) {
    const { tokens } = token as Tokens.Text;
    return tokens ? this.parser.parseInline(tokens) : escapeHtml(token.text);
  },
  heading({ tokens, depth }) {
    const level = Math.min(6, depth + 2); // the page and the message have the first two
    return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
  },
  checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
};

function linkTo(href: string, shown: string): string {
  if (!WEB.test(href)) return shown;
  return `<a href="${escapeHtml(href)}" rel="noreferrer noopener nofollow" target="_blank">${shown}</a>`;
}

/** The rules that are tried first look at the clock now and then; false: the parser goes on. */
function limitedTo(deadline: number): MarkedExtension {
  let steps = 0;
  const check = (): false => {
    if (++steps % CLOCK_STEPS === 0 && performance.now() > deadline)
      throw new Error("Cannot parse this text: it takes too long.");
    return false;
  };
  return { tokenizer: { space: check, escape: check } };
}
