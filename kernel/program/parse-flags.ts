// Parses the command line.
import { parseArgs } from "node:util";
import type { Flag } from "../contract.ts";
import { UNLISTED_FLAGS } from "../settings/flag-table.ts";
import { usage } from "../text/faults.ts";

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
export function parseFlags(argv: string[], flags: Flag[]): CommandLine {
  flags = [...flags, ...UNLISTED_FLAGS];
  const byName = new Map(flags.map((flag) => [flag.name, flag]));
  const option = ({ name, short, value, optional }: Flag) =>
    [name, { type: value && !optional ? "string" : "boolean", ...(short && { short }) }] as const;
  const options = Object.fromEntries(flags.map(option));
  const cli: CommandLine = { values: new Map(), words: [], unknown: [] };
  const { tokens } = parseArgs({
    args: joinPairs(argv, flags, isFlag),
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === "positional") cli.words.push(token.value);
    if (token.kind !== "option") continue;
    const { name, rawName, value, inlineValue } = token;
    const flag = byName.get(name);
    if (!flag) cli.unknown.push(rawName);
    else if (
      flag.value &&
      !flag.optional &&
      (value === undefined || (!inlineValue && isFlag(value)))
    )
      throw usage(`Flag ${rawName} needs a value: ${rawName} ${flag.value}.`);
    else if (!flag.value && value !== undefined)
      throw usage(`Flag ${rawName} takes no value. Leave out '=${value}'.`);
    else
      cli.values.set(storedName(flag), [
        ...(flag.many ? (cli.values.get(name) ?? []) : []),
        value ?? true,
      ]);
  }
  return cli;

  function isFlag(value: string): boolean {
    return value.startsWith("--") && byName.has(value.slice(2));
  }
}

/**
 * -o KEY VALUE is one option with two words, and --resume may stand alone, which parseArgs cannot
 * express.
 */
function joinPairs(args: string[], flags: Flag[], isFlag: (value: string) => boolean): string[] {
  const parsed: string[] = [];
  for (let i = 0; i < args.length; i++) {
    if (args[i] === "--") return [...parsed, ...args.slice(i)];
    const [key, value] = [args[i + 1], args[i + 2]];
    const meant = MEANT_WITHOUT_VALUE[args[i]!];
    if (meant && (key === undefined || key.startsWith("-"))) {
      parsed.push(meant);
      continue;
    }
    const pair = flags.find(
      (flag) =>
        flag.value === "KEY VALUE" && [`-${flag.short}`, `--${flag.name}`].includes(args[i]!),
    );
    if (!pair || key === undefined) parsed.push(args[i]!);
    else if (key.includes("=") || value === undefined || isFlag(value))
      parsed.push(`--${pair.name}=${args[++i]}`);
    else parsed.push(`--${pair.name}=${key}=${args[(i += 2)]}`);
  }
  return parsed;
}

export const allValues = (cli: CommandLine, name: string): string[] =>
  (cli.values.get(name) ?? []).filter((value) => value !== true);
export const lastValue = (cli: CommandLine, name: string): string | undefined =>
  allValues(cli, name).at(-1);

/** Where `--run` is: everything after the script belongs to the script. */
export const indexOfRunFlag = (argv: string[]): number => {
  const index = argv.findIndex((arg) => arg === "--" || /^--run(=|$)/.test(arg));
  return argv[index] === "--" ? -1 : index;
};

export const isJson = (cli: CommandLine): boolean =>
  cli.values.has("json") || cli.values.has("json-lines");
