// Colours and styles by their meaning, as plain SGR codes of the sixteen colours: every terminal has them, and the
// person's palette decides how they look. Nothing is imported, since this loads when zz starts.

export type Paint = (text: string) => string;

/** The tokens of cli-highlight. All are listed, since it would use its own colours for missing ones. */
export type Syntax = Record<(typeof TOKENS)[number], Paint>;
export type Theme = Record<(typeof STYLES)[number], Paint> & { syntax: Syntax };
export type ThemeName = "dark" | "light" | "none";
export type StyleName = (typeof STYLES)[number];

// biome-ignore format: a list of words.
export const STYLES = [
  "heading1", "heading", "strong", "em", "del", "code", "link", "url", "quote", "marker", "rule", "table",
  "dim", "accent", "ok", "bad", "warn",
  "added", "removed", "changed", // in a diff; changed is the part of a line that differs
] as const;

// biome-ignore format: a list of words.
const TOKENS = [
  "keyword", "built_in", "type", "literal", "number", "regexp", "string", "subst", "symbol", "class", "function", "title",
  "params", "comment", "doctag", "meta", "meta-keyword", "meta-string", "section", "tag", "name", "builtin-name", "attr",
  "attribute", "variable", "bullet", "code", "emphasis", "strong", "formula", "link", "quote", "selector-tag",
  "selector-id", "selector-class", "selector-attr", "selector-pseudo", "template-tag", "template-variable", "addition",
  "deletion", "default",
] as const;

const [BOLD, DIM, ITALIC, UNDERLINE, INVERSE, STRUCK] = [1, 2, 3, 4, 7, 9];
const [RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN, BRIGHT_BLUE] = [31, 32, 33, 34, 35, 36, 94];

type Codes<Names extends string> = Partial<Record<Names, number[]>>;
type Colours = { styles: Codes<(typeof STYLES)[number]>; syntax: Codes<(typeof TOKENS)[number]> };

const SHAPES = {
  ...{ strong: [BOLD], em: [ITALIC], del: [STRUCK], url: [DIM], quote: [DIM], rule: [DIM], table: [DIM], dim: [DIM] },
  ...{ ok: [GREEN], bad: [RED], added: [GREEN], removed: [RED], changed: [INVERSE] },
};
const SYNTAX_SHAPES = {
  ...{ comment: [DIM], doctag: [DIM], quote: [DIM], emphasis: [ITALIC], strong: [BOLD], link: [UNDERLINE] },
  ...{ string: [GREEN], regexp: [GREEN], code: [GREEN], "meta-string": [GREEN], addition: [GREEN], deletion: [RED] },
  ...{ keyword: [MAGENTA], "meta-keyword": [MAGENTA], "selector-tag": [MAGENTA], "template-tag": [MAGENTA] },
};

const COLOURS: Record<ThemeName, Colours> = {
  dark: {
    styles: {
      ...SHAPES,
      ...{ heading1: [BOLD, UNDERLINE, CYAN], heading: [BOLD, CYAN], code: [YELLOW], link: [UNDERLINE, BRIGHT_BLUE] },
      ...{ marker: [CYAN], accent: [CYAN], warn: [YELLOW] },
    },
    syntax: {
      ...SYNTAX_SHAPES,
      ...{ built_in: [CYAN], "builtin-name": [CYAN], type: [CYAN], attr: [CYAN], attribute: [CYAN], bullet: [CYAN] },
      ...{ literal: [YELLOW], number: [YELLOW], symbol: [YELLOW], variable: [YELLOW], "template-variable": [YELLOW] },
      ...{ title: [BRIGHT_BLUE], name: [BRIGHT_BLUE], section: [BOLD, CYAN], meta: [YELLOW], formula: [YELLOW] },
      ...{ "selector-id": [CYAN], "selector-class": [CYAN], "selector-attr": [CYAN], "selector-pseudo": [CYAN] },
    },
  },
  // Yellow and the bright colours cannot be read on white.
  light: {
    styles: {
      ...SHAPES,
      ...{ heading1: [BOLD, UNDERLINE, BLUE], heading: [BOLD, BLUE], code: [MAGENTA], link: [UNDERLINE, BLUE] },
      ...{ marker: [BLUE], accent: [BLUE], warn: [MAGENTA] },
    },
    syntax: {
      ...SYNTAX_SHAPES,
      ...{ built_in: [BLUE], "builtin-name": [BLUE], type: [BLUE], attr: [BLUE], attribute: [BLUE], bullet: [BLUE] },
      ...{ literal: [RED], number: [RED], symbol: [RED], variable: [RED], "template-variable": [RED] },
      ...{ title: [BLUE], name: [BLUE], section: [BOLD, BLUE], meta: [RED], formula: [RED] },
      ...{ "selector-id": [BLUE], "selector-class": [BLUE], "selector-attr": [BLUE], "selector-pseudo": [BLUE] },
    },
  },
  none: { styles: {}, syntax: {} },
};

/** `own`: styles that the person set. */
export function theme(name: ThemeName, own: Partial<Record<StyleName, Paint>> = {}): Theme {
  const { styles, syntax } = COLOURS[name];
  return { ...paints(STYLES, styles), ...(name !== "none" && own), syntax: paints(TOKENS, syntax) };
}

function paints<Name extends string>(names: readonly Name[], codes: Codes<Name>): Record<Name, Paint> {
  const pairs = names.map((name) => [name, paint(codes[name] ?? [])] as const);
  return Object.fromEntries(pairs) as Record<Name, Paint>;
}

function paint(codes: number[]): Paint {
  return (text) => (text === "" ? text : codes.reduceRight(wrapIn, text));
}

/** A style inside another of its kind ends both, so the outer one begins again there. */
function wrapIn(text: string, code: number): string {
  const [on, off] = [`\x1b[${code}m`, `\x1b[${closing(code)}m`];
  // Bold and dim end together and do not replace one another; other styles replace the previous one.
  return `${on}${text.replaceAll(off, closing(code) === 22 ? off + on : on)}${off}`;
}

/** The code that ends what this one begins. */
export function closing(code: number): number {
  if (code === BOLD) return 22;
  if (code < 10) return code + 20;
  return (code >= 40 && code < 50) || code >= 100 ? 49 : 39;
}
