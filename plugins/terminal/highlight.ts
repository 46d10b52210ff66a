// The colours of code, by highlight.js. Heavy, since it knows all languages: import it when there
// is code to colour.
import { createRequire } from "node:module";
import type { Paint, Theme } from "./styles.ts";

/** Its own types would bring those of a browser into all of zz. */
interface Highlighter {
  getLanguage(name: string): unknown;
  highlight(
    code: string,
    options: { language: string; ignoreIllegals: boolean },
  ): { value: string };
}
const hljs: Highlighter =
  typeof require === "function"
    ? require("highlight.js")
    : createRequire(import.meta.url)("highlight.js"); // the build, or the source

const MAX_CHARS = 20_000; // some languages take quadratic time
const MAX_LINE_CHARS = 1_000; // of the longest line, for the same reason

/** Code with the colours of its language, if known; every line ends its own styles. */
export function highlight(code: string, language: string, { syntax }: Theme): string {
  if (!syntax || !hljs.getLanguage(language) || code.length > MAX_CHARS) return code;
  if (code.split("\n").some(({ length }) => length > MAX_LINE_CHARS)) return code;
  try {
    return painted(hljs.highlight(code, { language, ignoreIllegals: true }).value, syntax);
  } catch {
    return code;
  }
}

const PIECE = /<span class="hljs-([\w-]+)[^"]*">|<span[^>]*>|(<\/span>)|([^<]+)/g;
const CHARACTERS: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'" };

/** What highlight.js gives is HTML: the innermost scope that has a colour counts. */
function painted(html: string, syntax: NonNullable<Theme["syntax"]>): string {
  const paints: (Paint | undefined)[] = [];
  return Array.from(html.matchAll(PIECE), ([, scope, end, text]) => {
    if (text) {
      const shown = text.replace(/&(amp|lt|gt|quot|#x27);/g, (_, name) => CHARACTERS[name]!);
      const paint = paints.at(-1);
      return paint ? shown.split("\n").map(paint).join("\n") : shown;
    }
    if (end) paints.pop();
    else paints.push((scope && syntax[scope]) || paints.at(-1));
    return "";
  }).join("");
}
