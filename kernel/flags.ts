// The table of flags. Parsing, --help and completion are made from it.
import { parseArgs } from "node:util";
import { type Flag, KINDS, type Kind } from "./contract.ts";
import { type Core, valuesOf } from "./core.ts";
import { usage } from "./faults.ts";

const VERBS: Record<Kind, string> = { read: "read", write: "write", run: "run", net: "reach", env: "see" };

/** The command line. Parsing, --help and completion are made from this table. */
export const FLAGS: Flag[] = [
  { name: "once", description: "answer once and leave, even on a terminal" },
  { name: "file", short: "f", value: "FILE", many: true, description: "attach a text or an image" },
  { name: "no-stdin", description: "leave stdin alone" },
  { name: "model", short: "m", value: "PROVIDER/MODEL", description: "which model to ask" },
  { name: "base-url", value: "URL", description: "where the provider is" },
  { name: "key", value: "KEY", description: "the provider's key" },
  {
    name: "option",
    short: "o",
    value: "KEY VALUE",
    many: true,
    description: "for the provider, such as temperature 0",
  },
  { name: "system", short: "s", value: "TEXT", description: "who the model is, instead of zz's own words" },
  { name: "continue", short: "c", description: "go on with this folder's last session" },
  { name: "session", value: "ID", description: "go on with that session" },
  { name: "fork", value: "ID", optional: true, description: "go on in a copy: of the last session, --session or ID" },
  { name: "no-session", short: "n", description: "save nothing" },
  { name: "json", description: "print one JSON object" },
  { name: "json-lines", description: "print one JSON object an event" },
  { name: "raw", description: "print the answer as it came" },
  { name: "quiet", description: "no notes on stderr" },
  { name: "usage", short: "u", description: "print tokens, calls and time on stderr" },
  { name: "no-color", description: "no colours" },
  { name: "dry-run", description: "print the request and send nothing" },
  { name: "rounds", value: "N", description: "rounds of tools before zz stops (30; 0: no limit)" },
  { name: "tool", short: "T", value: "NAME", many: true, description: "offer the model only this tool" },
  { name: "no-tools", description: "offer the model no tools" },
  { name: "call", value: "NAME [JSON]", description: "run one tool, without a model" },
  { name: "run", value: "SCRIPT [ARGS]", description: "run a TypeScript file that uses zz; what follows is its own" },
  { name: "plugin", value: "FILE", many: true, description: "load this plugin too" },
  { name: "no-plugins", description: "leave out the home's plugins" },
  ...KINDS.flatMap((kind) => [
    {
      name: `allow-${kind}`,
      value: "LIST",
      optional: true,
      many: true,
      description: `let tools ${VERBS[kind]} all, or the listed`,
    },
    {
      name: `deny-${kind}`,
      value: "LIST",
      optional: true,
      many: true,
      description: `never let tools ${VERBS[kind]} it`,
    },
  ]),
  { name: "allow-all", short: "A", description: "let tools do everything that is not denied" },
  { name: "no-prompt", description: "never ask; what is not allowed is refused" },
  { name: "cwd", value: "FOLDER", description: "the project" },
  { name: "home", value: "FOLDER", description: "where plugins, prompts and sessions are kept" },
  { name: "config", value: "FILE", description: "settings, instead of the home's zz.config.json" },
  { name: "version", short: "V", description: "the version" },
];
/** What other tools call them: taken, and told nowhere. */
export const QUIET_FLAGS: (Flag & { as?: string })[] = [
  { name: "max-rounds", as: "rounds", value: "N", description: "" },
  { name: "yes", as: "allow-all", description: "" },
  { name: "resume", as: "session", value: "ID", description: "" },
  { name: "api-key", as: "key", value: "KEY", description: "" },
  { name: "provider", value: "NAME", description: "" }, // of the model
  { name: "new", description: "" }, // as it is without --continue
];

export const allFlags = (core: Core): Flag[] => [...FLAGS, ...valuesOf(core.flags)];

/** What was typed; `unknown` are the flags that nobody has. */
export type Cli = { values: Map<string, (string | true)[]>; words: string[]; unknown: string[] };

/** Splits the command line by a table of flags. Whether an unknown flag is an error is known once the plugins are there. */
export function parseFlags(argv: string[], flags: Flag[]): Cli {
  flags = [...flags, ...QUIET_FLAGS];
  const byName = new Map(flags.map((flag) => [flag.name, flag]));
  const option = ({ name, short, value, optional }: Flag) =>
    [name, { type: value && !optional ? "string" : "boolean", ...(short && { short }) }] as const;
  const options = Object.fromEntries(flags.map(option));
  const cli: Cli = { values: new Map(), words: [], unknown: [] };
  const { tokens } = parseArgs({ args: pairs(argv), options, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind === "positional") cli.words.push(token.value);
    if (token.kind !== "option") continue;
    const { name, rawName, value, inlineValue } = token;
    const flag = byName.get(name);
    if (!flag) cli.unknown.push(rawName);
    else if (flag.value && !flag.optional && (value === undefined || (!inlineValue && isFlag(value))))
      throw usage(`Flag ${rawName} needs a value: ${rawName} ${flag.value}.`);
    else if (!flag.value && value !== undefined) throw usage(`Flag ${rawName} takes no value. Leave out '=${value}'.`);
    else cli.values.set(nameOf(flag), [...(flag.many ? (cli.values.get(name) ?? []) : []), value ?? true]);
  }
  return cli;

  function nameOf({ name, as }: Flag & { as?: string }): string {
    return as ?? name;
  }

  function isFlag(value: string): boolean {
    return value.startsWith("--") && byName.has(value.slice(2));
  }
  /** -o KEY VALUE is one option of two words; parseArgs knows only one. */
  function pairs(args: string[]): string[] {
    const out: string[] = [];
    for (let i = 0; i < args.length; i++) {
      if (args[i] === "--") return [...out, ...args.slice(i)];
      const [key, value] = [args[i + 1], args[i + 2]];
      if (!/^(-o|--option)$/.test(args[i]!) || key === undefined) out.push(args[i]!);
      else if (key.includes("=") || value === undefined || isFlag(value)) out.push(`--option=${args[++i]}`);
      else out.push(`--option=${key}=${args[(i += 2)]}`);
    }
    return out;
  }
}

export const all = (cli: Cli, name: string): string[] => (cli.values.get(name) ?? []).filter((value) => value !== true);
export const one = (cli: Cli, name: string): string | undefined => all(cli, name).at(-1);

/** Where `--run` stands: what follows it is the script's own. */
export const scriptAt = (argv: string[]): number => {
  const at = argv.findIndex((arg) => arg === "--" || /^--run(=|$)/.test(arg));
  return argv[at] === "--" ? -1 : at;
};

export const isJson = (cli: Cli): boolean => cli.values.has("json") || cli.values.has("json-lines");
