// The person's own colours: styles in chalk's words, such as "bold #ff8800". Loaded only if the settings have some.
import { backgroundColorNames, Chalk, type ChalkInstance, foregroundColorNames, modifierNames } from "chalk";
import { fault, unknown } from "zz/text";
import type { Paint, StyleName } from "./theme.ts";

const NAMES: readonly string[] = [...modifierNames, ...foregroundColorNames, ...backgroundColorNames];
const HEX = /^(bg)?#(?:[\da-f]{3}|[\da-f]{6})$/i;

/** Paints for the styles in the settings. Throws a sentence that names the setting and the unknown word. */
export function ownPaints(colours: Record<string, string>, depth: number): Partial<Record<StyleName, Paint>> {
  const chalk = new Chalk({ level: depth >= 24 ? 3 : depth >= 8 ? 2 : 1 });
  const pairs = Object.entries(colours).map(([name, words]) => [name, paintOf(chalk, name, words)] as const);
  return Object.fromEntries(pairs);
}

function paintOf(chalk: ChalkInstance, name: string, words: string): Paint {
  let style = chalk;
  for (const word of words.split(/\s+/).filter(Boolean)) {
    const hex = HEX.exec(word);
    if (hex) style = hex[1] ? style.bgHex(word.slice(2)) : style.hex(word);
    else if (NAMES.includes(word)) style = style[word as "bold"];
    else throw fault(`Cannot use the setting "display.colours.${name}": ${unknown("style", word, NAMES)}`);
  }
  return (text) => style(text);
}
