// The colours of code, by highlight.js. Heavy, since it knows all languages: import it when there is code to colour.
import { createRequire } from "node:module";
import type { Theme } from "./styles.ts";

/** Its own types would bring those of a browser into all of zz. */
interface Highlighter {
  getLanguage(name: string): unknown;
  highlight(code: string, how: { language: string; ignoreIllegals: boolean }): { value: string };
}
const hljs: Highlighter =
  typeof require === "function" ? require("highlight.js") : createRequire(import.meta.url)("highlight.js"); // the build, or the source

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

const PIECE = /<span class="hljs-([\w-]+)[^"]*">|<span[^>]*>|(<\/span>)|&(amp|lt|gt|quot|#x27);|([^<&]+)/g;
const CHARACTERS: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'" };

/** What highlight.js gives is HTML: the innermost scope that has a colour counts. */
function painted(html: string, syntax: NonNullable<Theme["syntax"]>): string {
  const scopes: (((text: string) => string) | undefined)[] = [];
  return Array.from(html.matchAll(PIECE), ([, scope, end, character, text]) => {
    if (character || text) {
      const paint = scopes.at(-1);
      const shown = text ?? CHARACTERS[character!]!;
      return paint ? shown.split("\n").map(paint).join("\n") : shown;
    }
    if (end) scopes.pop();
    else scopes.push((scope && syntax[scope]) || scopes.at(-1));
    return "";
  }).join("");
}
