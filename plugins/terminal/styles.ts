// The styles by their meaning. Nothing is imported: this loads when zz starts, the colours when
// something is drawn.

export type Paint = (plainText: string) => string;
export type StyleName = (typeof STYLES)[number];
/** `syntax`: by the scopes of highlight.js; undefined where there are no colours. */
export type Theme = Record<StyleName, Paint> & { syntax?: Record<string, Paint> };
export type ThemeName = "dark" | "light" | "none";

// biome-ignore format: a list of words.
export const STYLES = [
  "heading1", "heading", "strong", "em", "del", "code", "link", "url", "quote",
  "marker", "rule", "table", "dim", "accent", "ok", "bad", "warn",
  "added", "removed", "changed", // in a diff; changed is the part of a line that differs
] as const;

/** No colours at all. */
export const PLAIN: Theme = Object.fromEntries(
  STYLES.map((styleName) => [styleName, (plainText: string) => plainText]),
) as any;
