// The colours of code, by highlight.js. Heavy, since it knows all languages: import it when there
// is code to colour.
import { createRequire } from "node:module";
import { ownValue } from "zz/text";
import type { Paint, Theme } from "./styles.ts";

/** Its own types would bring those of a browser into all of zz. */
interface Highlighter {
  getLanguage(languageName: string): unknown;
  highlight(
    sourceCode: string,
    options: { language: string; ignoreIllegals: boolean },
  ): { value: string };
}
const highlighter: Highlighter =
  typeof require === "function"
    ? require("highlight.js")
    : createRequire(import.meta.url)("highlight.js"); // the build, or the source

const MAX_CHARS = 20_000; // some languages take quadratic time
const MAX_LINE_CHARS = 1_000; // of the longest line, for the same reason

/** Code with the colours of its language, if known; every line ends its own styles. */
export function highlight(sourceCode: string, language: string, { syntax }: Theme): string {
  if (!syntax || !highlighter.getLanguage(language) || sourceCode.length > MAX_CHARS)
    return sourceCode;
  if (sourceCode.split("\n").some(({ length }) => length > MAX_LINE_CHARS)) return sourceCode;
  try {
    return painted(
      highlighter.highlight(sourceCode, { language, ignoreIllegals: true }).value,
      syntax,
    );
  } catch {
    return sourceCode;
  }
}

const HTML_PIECE = /<span class="hljs-([\w-]+)[^"]*">|<span[^>]*>|(<\/span>)|([^<]+)/g;
const CHARACTERS: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'" };

/** What highlight.js gives is HTML: the innermost scope that has a colour counts. */
function painted(highlighted: string, syntaxPaints: NonNullable<Theme["syntax"]>): string {
  const openPaints: (Paint | undefined)[] = [];
  return Array.from(highlighted.matchAll(HTML_PIECE), ([, scopeName, endTag, escapedText]) => {
    if (escapedText) {
      const plainText = escapedText.replace(
        /&(amp|lt|gt|quot|#x27);/g,
        (_, entityName) => CHARACTERS[entityName]!,
      );
      const innerPaint = openPaints.at(-1);
      return innerPaint ? plainText.split("\n").map(innerPaint).join("\n") : plainText;
    }
    if (endTag) openPaints.pop();
    else openPaints.push((scopeName && ownValue(syntaxPaints, scopeName)) || openPaints.at(-1));
    return "";
  }).join("");
}
