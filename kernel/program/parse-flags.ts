// Parses the command line.
import { parseArgs } from "node:util";
import type { Flag } from "../contract.ts";
import { UNLISTED_FLAGS } from "../settings/flag-table.ts";
import { usage } from "../text/faults.ts";
import { ownValue } from "../text/words.ts";

const storedName = ({ name, as }: Flag & { as?: string }): string => as ?? name;
/** What a flag means without its value. */
const MEANT_WITHOUT_VALUE: Record<string, string | undefined> = { "--resume": "--continue" };
/** The parsed command line; `unknown` holds the flags that no table has. */
export type CommandLine = {
  values: Map<string, (string | true)[]>;
  words: string[];
  unknown: string[];
};

/**
 * Parses the command line by a table of flags. Only once the plugins are loaded is an unknown flag
 * an error.
 */
export function parseFlags(argv: string[], knownFlags: Flag[]): CommandLine {
  knownFlags = [...knownFlags, ...UNLISTED_FLAGS];
  const flagsByName = new Map(knownFlags.map((knownFlag) => [knownFlag.name, knownFlag]));
  const describeOption = ({ name, short, value, optional }: Flag) =>
    [name, { type: value && !optional ? "string" : "boolean", ...(short && { short }) }] as const;
  const options = Object.fromEntries(knownFlags.map(describeOption));
  const cli: CommandLine = { values: new Map(), words: [], unknown: [] };
  const { tokens } = parseArgs({
    args: joinPairs(argv, knownFlags, isKnownFlag),
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === "positional") cli.words.push(token.value);
    if (token.kind !== "option") continue;
    const { name, rawName, value, inlineValue } = token;
    const knownFlag = flagsByName.get(name);
    if (!knownFlag) cli.unknown.push(rawName);
    else if (
      knownFlag.value &&
      !knownFlag.optional &&
      (value === undefined || (!inlineValue && isKnownFlag(value)))
    )
      throw usage(`Flag ${rawName} needs a value: ${rawName} ${knownFlag.value}.`);
    else if (!knownFlag.value && value !== undefined)
      throw usage(`Flag ${rawName} takes no value. Leave out '=${value}'.`);
    else
      cli.values.set(storedName(knownFlag), [
        ...(knownFlag.many ? (cli.values.get(name) ?? []) : []),
        value ?? true,
      ]);
  }
  return cli;

  function isKnownFlag(candidate: string): boolean {
    return candidate.startsWith("--") && flagsByName.has(candidate.slice(2));
  }
}

/**
 * -o KEY VALUE is one option with two words, and --resume may stand alone, which parseArgs cannot
 * express.
 */
function joinPairs(
  args: string[],
  knownFlags: Flag[],
  isKnownFlag: (candidate: string) => boolean,
): string[] {
  const joinedArgs: string[] = [];
  for (let i = 0; i < args.length; i++) {
    if (args[i] === "--") return [...joinedArgs, ...args.slice(i)];
    const [optionKey, optionValue] = [args[i + 1], args[i + 2]];
    const meantFlag = ownValue(MEANT_WITHOUT_VALUE, args[i]!);
    if (meantFlag && (optionKey === undefined || optionKey.startsWith("-"))) {
      joinedArgs.push(meantFlag);
      continue;
    }
    const pairFlag = knownFlags.find(
      (knownFlag) =>
        knownFlag.value === "KEY VALUE" &&
        [`-${knownFlag.short}`, `--${knownFlag.name}`].includes(args[i]!),
    );
    if (!pairFlag || optionKey === undefined) joinedArgs.push(args[i]!);
    else if (optionKey.includes("=") || optionValue === undefined || isKnownFlag(optionValue))
      joinedArgs.push(`--${pairFlag.name}=${args[++i]}`);
    else joinedArgs.push(`--${pairFlag.name}=${optionKey}=${args[(i += 2)]}`);
  }
  return joinedArgs;
}

export const allValues = (cli: CommandLine, flagName: string): string[] =>
  (cli.values.get(flagName) ?? []).filter((flagValue) => flagValue !== true);
export const lastValue = (cli: CommandLine, flagName: string): string | undefined =>
  allValues(cli, flagName).at(-1);

/** Where `--run` is: everything after the script belongs to the script. */
export const indexOfRunFlag = (argv: string[]): number => {
  const runIndex = argv.findIndex((argument) => argument === "--" || /^--run(=|$)/.test(argument));
  return argv[runIndex] === "--" ? -1 : runIndex;
};

export const isJson = (cli: CommandLine): boolean =>
  cli.values.has("json") || cli.values.has("json-lines");
