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

const SHARED_STYLES: Words = {
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
const SHARED_SYNTAX: Record<string, string> = {
  ...assignStyle("dim", "comment doctag quote"),
  ...assignStyle("green", "string regexp code char addition"),
  ...assignStyle("magenta", "keyword selector-tag template-tag"),
  deletion: "red",
  emphasis: "italic",
  strong: "bold",
  link: "underline",
};
const NAMES_OF_THINGS =
  "built_in type class attr attribute property bullet selector-id " +
  "selector-class selector-attr selector-pseudo";

const THEMES: Record<"dark" | "light", { styles: Words; syntax: Record<string, string> }> = {
  dark: {
    styles: {
      ...SHARED_STYLES,
      heading1: "bold underline cyan",
      heading: "bold cyan",
      code: "yellow",
      link: "underline blueBright",
      marker: "cyan",
      accent: "cyan",
      warn: "yellow",
    },
    syntax: {
      ...SHARED_SYNTAX,
      ...assignStyle("cyan", NAMES_OF_THINGS),
      ...assignStyle("yellow", "literal number symbol variable template-variable meta formula"),
      ...assignStyle("blueBright", "title name"),
      section: "bold cyan",
    },
  },
  // Yellow and the bright colours cannot be read on white.
  light: {
    styles: {
      ...SHARED_STYLES,
      heading1: "bold underline blue",
      heading: "bold blue",
      code: "magenta",
      link: "underline blue",
      marker: "blue",
      accent: "blue",
      warn: "magenta",
    },
    syntax: {
      ...SHARED_SYNTAX,
      ...assignStyle("blue", `${NAMES_OF_THINGS} title name`),
      ...assignStyle("red", "literal number symbol variable template-variable meta formula"),
      section: "bold blue",
    },
  },
};

function assignStyle(styleWords: string, scopeNames: string): Record<string, string> {
  return Object.fromEntries(scopeNames.split(" ").map((scopeName) => [scopeName, styleWords]));
}

/**
 * `personColours`: the person's styles, in the same words; `depth`: the bits of colour that the
 * terminal has.
 */
export function themeOf(
  themeName: ThemeName,
  personColours: Record<string, string> = {},
  depth = 4,
): Theme {
  const chalk = new Chalk({ level: levelOf(depth) });
  const painted = (styles: object, setting = "") =>
    Object.entries(styles).map(
      ([styleName, styleWords]) =>
        [styleName, paintOf(chalk, styleWords, setting + styleName)] as const,
    );
  const personStyles = painted(personColours, "display.colours.");
  if (themeName === "none") return PLAIN;
  const { styles, syntax } = THEMES[themeName];
  return {
    ...PLAIN,
    ...Object.fromEntries([...painted(styles), ...personStyles]),
    syntax: Object.fromEntries(painted(syntax)),
  };
}

function levelOf(depth: number): 1 | 2 | 3 {
  if (depth >= 24) return 3;
  return depth >= 8 ? 2 : 1;
}

const STYLE_WORDS: readonly string[] = [
  ...modifierNames,
  ...foregroundColorNames,
  ...backgroundColorNames,
];
const HEX_COLOUR = /^(bg)?#(?:[\da-f]{3}|[\da-f]{6})$/i;

/** Throws a sentence that names the setting and the unknown word. */
function paintOf(chalk: ChalkInstance, styleWords: string, setting: string): Paint {
  let chalkStyle = chalk;
  for (const styleWord of styleWords.split(/\s+/).filter(Boolean)) {
    const hexMatch = HEX_COLOUR.exec(styleWord);
    if (hexMatch)
      chalkStyle = hexMatch[1] ? chalkStyle.bgHex(styleWord.slice(2)) : chalkStyle.hex(styleWord);
    else if (STYLE_WORDS.includes(styleWord)) chalkStyle = chalkStyle[styleWord as "bold"];
    else
      throw fault(
        `Cannot use the setting "${setting}": ${unknown("style", styleWord, STYLE_WORDS)}`,
      );
  }
  return (plainText) => chalkStyle(plainText);
}
