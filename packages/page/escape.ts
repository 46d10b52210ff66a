// Text as HTML: nothing of it is markup, and no control character hides what stands beside it.
import { clean } from "zz/text";

const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

export const escapeHtml = (plainText: string): string =>
  plainText.replace(/[&<>"']/g, (character) => ENTITIES[character]!);

/** What a person, a model, a tool or a file says. */
export const htmlOf = (foreignText: string): string => escapeHtml(clean(foreignText));
