// Code in the colours of its language, by highlight.js, as HTML with classes.
import { createRequire } from "node:module";
import { escapeHtml } from "./escape.ts";

type Highlighter = {
  getLanguage(name: string): object | undefined;
  highlight(code: string, how: { language: string; ignoreIllegals: boolean }): { value: string };
};
declare const require: NodeJS.Require | undefined;
const highlighter: Highlighter =
  typeof require === "function"
    ? require("highlight.js")
    : createRequire(import.meta.url)("highlight.js"); // the build, or the source

const MAX_CHARS = 20_000; // of one piece of code: some languages take quadratic time
const LONG_LINE = /.{1001}/; // for the same reason

export function colourCode(code: string, language: string): string {
  if (!language || code.length > MAX_CHARS || LONG_LINE.test(code)) return escapeHtml(code);
  if (!highlighter.getLanguage(language)) return escapeHtml(code);
  try {
    return highlighter.highlight(code, { language, ignoreIllegals: true }).value;
  } catch {
    return escapeHtml(code);
  }
}

/** The language of a file, by its name. */
export const languageOf = (path: string): string => /\.(\w+)$/.exec(path)?.[1] ?? "";
