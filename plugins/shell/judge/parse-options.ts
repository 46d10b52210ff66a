// Command-line options: how a table describes them, and which of them a command was given.
import type { Arg } from "./bash-words.ts";

export type Words = (string | undefined)[];
export interface ParsedOptions {
  operands: Arg[];
  values: Map<string, string[]>; // the values of each option; an empty list for a switch
  files: string[]; // files that options name to be read
  split?: true; // it has a -- between operands
  unknownOption?: string; // an option that the table does not have
}

export const split = (text: string): string[] => text.split(/\s+/).filter(Boolean);

/** `early`: the first operand ends the options, as in commands that run others. */
export function parseOptions(args: readonly Arg[], spec: string, early = false): ParsedOptions {
  const options = optionsOf(spec);
  const parsed: ParsedOptions = { operands: [], values: new Map(), files: [] };
  const unknownOption = (option: string): ParsedOptions => ({ ...parsed, unknownOption: option });
  for (let i = 0; i < args.length; i++) {
    const { text, shown } = args[i]!;
    if (text === undefined && early && !parsed.operands.length) return unknownOption(shown);
    if (text === undefined || !/^-./s.test(text)) {
      if (early) return { ...parsed, operands: args.slice(i) };
      parsed.operands.push(args[i]!);
      continue;
    }
    if (text === "--") {
      if (parsed.operands.length) parsed.split = true;
      return { ...parsed, operands: [...parsed.operands, ...args.slice(i + 1)] };
    }
    if (/^-\d+$/.test(text) && options.has("-#")) continue;
    for (const [name, attached] of namesOf(text, options)) {
      const takes = options.get(name);
      if (!takes || (takes === "nothing" && attached !== undefined)) return unknownOption(name);
      const valuesOfOption = parsed.values.get(name) ?? [];
      parsed.values.set(name, valuesOfOption);
      const needs = takes === "value" || takes === "file";
      const value = needs ? (attached ?? args[++i]?.text) : attached;
      if (value === undefined && needs) return unknownOption(name);
      if (value !== undefined) valuesOfOption.push(value);
      if (value !== undefined && takes === "file") parsed.files.push(value);
    }
  }
  return parsed;
}

/**
 * In a table, `-ab` are switches, `-n:` takes a value, `-n?` may have one attached, `-#` is a
 * number; `@` instead of `:` means a file that is read.
 */
type OptionValue = "nothing" | "value" | "maybe" | "file";
const VALUE_SIGNS: Record<string, OptionValue> = {
  ":": "value",
  "=": "value",
  "?": "maybe",
  "@": "file",
};

function optionsOf(spec: string): Map<string, OptionValue> {
  const optionTable = new Map<string, OptionValue>();
  for (const option of split(spec)) {
    const takes = VALUE_SIGNS[option.at(-1)!];
    const name = takes ? option.slice(0, -1) : option;
    if (takes || name.startsWith("--")) optionTable.set(name, takes ?? "nothing");
    else for (const letter of name.slice(1)) optionTable.set(`-${letter}`, "nothing");
  }
  return optionTable;
}

/** `-abn5` is a, b, and n with 5. */
function namesOf(
  text: string,
  options: Map<string, OptionValue>,
): [name: string, attached: string | undefined][] {
  if (text.startsWith("--")) {
    const equalsSign = text.indexOf("=");
    return [
      equalsSign < 0 ? [text, undefined] : [text.slice(0, equalsSign), text.slice(equalsSign + 1)],
    ];
  }
  const names: [string, string | undefined][] = [];
  for (let i = 1; i < text.length; i++) {
    const takes = options.get(`-${text[i]}`);
    const glued = text.slice(i + 1);
    if (takes && takes !== "nothing") return [...names, [`-${text[i]}`, glued || undefined]];
    names.push([`-${text[i]}`, undefined]);
  }
  return names;
}

/**
 * Whether one of these options is given, abbreviated or combined; false positives are acceptable.
 */
export function hasOption(words: Words, names: string): boolean {
  const wantedOptions = split(names);
  const end = words.indexOf("--");
  return (end < 0 ? words : words.slice(0, end)).some((word) => {
    const name = word?.split("=")[0];
    if (!name || !/^-./.test(name)) return false;
    if (name.startsWith("--")) return wantedOptions.some((wanted) => wanted.startsWith(name));
    return wantedOptions.some((wanted) => wanted.length === 2 && name.includes(wanted[1]!, 1));
  });
}
