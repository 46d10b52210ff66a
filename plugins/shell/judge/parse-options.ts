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
export function parseOptions(
  args: readonly Arg[],
  tableText: string,
  early = false,
): ParsedOptions {
  const options = optionsOf(tableText);
  const parsedOptions: ParsedOptions = { operands: [], values: new Map(), files: [] };
  const unknownOption = (optionName: string): ParsedOptions => ({
    ...parsedOptions,
    unknownOption: optionName,
  });
  for (let i = 0; i < args.length; i++) {
    const { text, shown } = args[i]!;
    if (text === undefined && early && !parsedOptions.operands.length) return unknownOption(shown);
    if (text === undefined || !/^-./s.test(text)) {
      if (early) return { ...parsedOptions, operands: args.slice(i) };
      parsedOptions.operands.push(args[i]!);
      continue;
    }
    if (text === "--") {
      if (parsedOptions.operands.length) parsedOptions.split = true;
      return { ...parsedOptions, operands: [...parsedOptions.operands, ...args.slice(i + 1)] };
    }
    if (/^-\d+$/.test(text) && options.has("-#")) continue;
    for (const [optionName, attached] of namesOf(text, options)) {
      const optionValue = options.get(optionName);
      if (!optionValue || (optionValue === "nothing" && attached !== undefined))
        return unknownOption(optionName);
      const valuesOfOption = parsedOptions.values.get(optionName) ?? [];
      parsedOptions.values.set(optionName, valuesOfOption);
      const needsValue = optionValue === "value" || optionValue === "file";
      const value = needsValue ? (attached ?? args[++i]?.text) : attached;
      if (value === undefined && needsValue) return unknownOption(optionName);
      if (value !== undefined) valuesOfOption.push(value);
      if (value !== undefined && optionValue === "file") parsedOptions.files.push(value);
    }
  }
  return parsedOptions;
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

function optionsOf(tableText: string): Map<string, OptionValue> {
  const optionTable = new Map<string, OptionValue>();
  for (const tableWord of split(tableText)) {
    const optionValue = VALUE_SIGNS[tableWord.at(-1)!];
    const optionName = optionValue ? tableWord.slice(0, -1) : tableWord;
    if (optionValue || optionName.startsWith("--"))
      optionTable.set(optionName, optionValue ?? "nothing");
    else for (const letter of optionName.slice(1)) optionTable.set(`-${letter}`, "nothing");
  }
  return optionTable;
}

/** `-abn5` is a, b, and n with 5. */
function namesOf(
  optionWord: string,
  options: Map<string, OptionValue>,
): [name: string, attached: string | undefined][] {
  if (optionWord.startsWith("--")) {
    const equalsSign = optionWord.indexOf("=");
    return [
      equalsSign < 0
        ? [optionWord, undefined]
        : [optionWord.slice(0, equalsSign), optionWord.slice(equalsSign + 1)],
    ];
  }
  const optionNames: [string, string | undefined][] = [];
  for (let i = 1; i < optionWord.length; i++) {
    const optionValue = options.get(`-${optionWord[i]}`);
    const gluedValue = optionWord.slice(i + 1);
    if (optionValue && optionValue !== "nothing")
      return [...optionNames, [`-${optionWord[i]}`, gluedValue || undefined]];
    optionNames.push([`-${optionWord[i]}`, undefined]);
  }
  return optionNames;
}

/**
 * Whether one of these options is given, abbreviated or combined; false positives are acceptable.
 */
export function hasOption(words: Words, optionList: string): boolean {
  const wantedOptions = split(optionList);
  const endIndex = words.indexOf("--");
  return (endIndex < 0 ? words : words.slice(0, endIndex)).some((argument) => {
    const optionName = argument?.split("=")[0];
    if (!optionName || !/^-./.test(optionName)) return false;
    if (optionName.startsWith("--"))
      return wantedOptions.some((wantedOption) => wantedOption.startsWith(optionName));
    return wantedOptions.some(
      (wantedOption) => wantedOption.length === 2 && optionName.includes(wantedOption[1]!, 1),
    );
  });
}
