// Code in the colours of its language, by highlight.js, as HTML with classes.
import { createRequire } from "node:module";
import { escapeHtml } from "./escape.ts";

type Highlighter = {
  getLanguage(languageName: string): object | undefined;
  highlight(
    sourceCode: string,
    options: { language: string; ignoreIllegals: boolean },
  ): { value: string };
};
declare const require: NodeJS.Require | undefined;
const highlighter: Highlighter =
  typeof require === "function"
    ? require("highlight.js")
    : createRequire(import.meta.url)("highlight.js"); // the build, or the source

const MAX_CHARS = 20_000; // of one piece of code: some languages take quadratic time
const LONG_LINE = /.{1001}/; // for the same reason

export function colourCode(sourceCode: string, language: string): string {
  if (!language || sourceCode.length > MAX_CHARS || LONG_LINE.test(sourceCode))
    return escapeHtml(sourceCode);
  if (!highlighter.getLanguage(language)) return escapeHtml(sourceCode);
  try {
    return highlighter.highlight(sourceCode, { language, ignoreIllegals: true }).value;
  } catch {
    return escapeHtml(sourceCode);
  }
}

/** The language of a file, by its name. */
export const languageOf = (filePath: string): string => /\.(\w+)$/.exec(filePath)?.[1] ?? "";
