// The colours, by chalk: those of the sixteen that every terminal has and the person's palette
// decides on, and the person's own, such as "bold #ff8800". Loaded when something is drawn.
import {
  backgroundColorNames,
  Chalk,
  type ChalkInstance,
  foregroundColorNames,
  modifierNames,
} from "chalk";
import { fault, unknown } from "zz/text";
import { type Paint, PLAIN, type StyleName, type Theme, type ThemeName } from "./styles.ts";

type Words = Partial<Record<StyleName, string>>;

const SHAPES: Words = {
  strong: "bold",
  em: "italic",
  del: "strikethrough",
  url: "dim",
  quote: "dim",
  rule: "dim",
  table: "dim",
  dim: "dim",
  ok: "green",
  bad: "red",
  added: "green",
  removed: "red",
  changed: "inverse",
};
/**
 * By the scopes of highlight.js; a scope in two words, such as "title function_", has the colour of
 * its first.
 */
const SYNTAX: Record<string, string> = {
  ...words("dim", "comment doctag quote"),
  ...words("green", "string regexp code char addition"),
  ...words("magenta", "keyword selector-tag template-tag"),
  deletion: "red",
  emphasis: "italic",
  strong: "bold",
  link: "underline",
};
const NAMES_OF_THINGS =
  "built_in type class attr attribute property bullet selector-id selector-class selector-attr selector-pseudo";

const THEMES: Record<"dark" | "light", { styles: Words; syntax: Record<string, string> }> = {
  dark: {
    styles: {
      ...SHAPES,
      heading1: "bold underline cyan",
      heading: "bold cyan",
      code: "yellow",
      link: "underline blueBright",
      marker: "cyan",
      accent: "cyan",
      warn: "yellow",
    },
    syntax: {
      ...SYNTAX,
      ...words("cyan", NAMES_OF_THINGS),
      ...words("yellow", "literal number symbol variable template-variable meta formula"),
      ...words("blueBright", "title name"),
      section: "bold cyan",
    },
  },
  // Yellow and the bright colours cannot be read on white.
  light: {
    styles: {
      ...SHAPES,
      heading1: "bold underline blue",
      heading: "bold blue",
      code: "magenta",
      link: "underline blue",
      marker: "blue",
      accent: "blue",
      warn: "magenta",
    },
    syntax: {
      ...SYNTAX,
      ...words("blue", `${NAMES_OF_THINGS} title name`),
      ...words("red", "literal number symbol variable template-variable meta formula"),
      section: "bold blue",
    },
  },
};

function words(style: string, names: string): Record<string, string> {
  return Object.fromEntries(names.split(" ").map((name) => [name, style]));
}

/**
 * `own`: the person's styles, in the same words; `depth`: the bits of colour that the terminal has.
 */
export function themeOf(
  name: ThemeName,
  personColours: Record<string, string> = {},
  depth = 4,
): Theme {
  const chalk = new Chalk({ level: levelOf(depth) });
  const painted = (styles: object, setting = "") =>
    Object.entries(styles).map(
      ([style, words]) => [style, paintOf(chalk, words, setting + style)] as const,
    );
  const mine = painted(personColours, "display.colours.");
  if (name === "none") return PLAIN;
  const { styles, syntax } = THEMES[name];
  return {
    ...PLAIN,
    ...Object.fromEntries([...painted(styles), ...mine]),
    syntax: Object.fromEntries(painted(syntax)),
  };
}

function levelOf(depth: number): 1 | 2 | 3 {
  if (depth >= 24) return 3;
  return depth >= 8 ? 2 : 1;
}

const NAMES: readonly string[] = [
  ...modifierNames,
  ...foregroundColorNames,
  ...backgroundColorNames,
];
const HEX = /^(bg)?#(?:[\da-f]{3}|[\da-f]{6})$/i;

/** Throws a sentence that names the setting and the unknown word. */
function paintOf(chalk: ChalkInstance, words: string, setting: string): Paint {
  let style = chalk;
  for (const word of words.split(/\s+/).filter(Boolean)) {
    const hex = HEX.exec(word);
    if (hex) style = hex[1] ? style.bgHex(word.slice(2)) : style.hex(word);
    else if (NAMES.includes(word)) style = style[word as "bold"];
    else throw fault(`Cannot use the setting "${setting}": ${unknown("style", word, NAMES)}`);
  }
  return (text) => style(text);
}
