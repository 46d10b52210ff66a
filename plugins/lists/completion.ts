// --completion: a shell's completions of all flags and of their values. Models, sessions and names
// are asked of zz when they are needed.
import type { About, Flag } from "zz";
import { usage } from "zz/text";

/** What completes a value: words, or a shell command that prints them, one a line. */
type Values = { words: string } | { command: string };
const FIRST_WORDS = "2>/dev/null | head -n 500 | cut -d' ' -f1";
const MODELS: Values = { command: `zz --models ${FIRST_WORDS}` };
const SESSIONS: Values = { command: `zz --sessions ${FIRST_WORDS}` };
const PLUGINS: Values = { command: `zz --plugins ${FIRST_WORDS}` };
const TOOLS: Values = { command: `zz --tools ${FIRST_WORDS}` };
const FLAG_VALUES: Record<string, Values> = {
  model: MODELS,
  models: MODELS,
  session: SESSIONS,
  fork: SESSIONS,
  export: SESSIONS,
  tool: TOOLS,
  call: TOOLS,
  uninstall: PLUGINS,
  update: PLUGINS,
  effort: { words: "none low medium high" },
  completion: { words: "bash zsh fish" },
  keys: { words: "set remove" },
  trust: { words: "no" },
};

export function completion(shellName: string, { flags, commands }: About): string {
  const templates = commands.filter(({ template }) => template).map(({ name }) => name);
  const valuesOf = ({ name }: Flag): Values | undefined =>
    name === "template" ? { words: templates.join(" ") } : FLAG_VALUES[name];
  const shellWriters: Record<string, (flags: Flag[], valuesOf: ValuesOf) => string> = {
    bash,
    zsh,
    fish,
  };
  if (!Object.hasOwn(shellWriters, shellName))
    throw usage(
      `Cannot complete for '${shellName}': only for bash, zsh and fish. Name one of them.`,
    );
  return shellWriters[shellName]!(flags, valuesOf);
}
type ValuesOf = (flag: Flag) => Values | undefined;

const listValues = (flagValues: Values): string =>
  "words" in flagValues ? flagValues.words : `$(${flagValues.command})`;
const takesValue = ({ value, optional }: Flag): boolean => Boolean(value && !optional);

function bash(flags: Flag[], valuesOf: ValuesOf): string {
  const flagCases = flags.flatMap((flag) => {
    const flagValues = valuesOf(flag);
    const flagNames = flag.short ? `-${flag.short}|--${flag.name}` : `--${flag.name}`;
    return flagValues ? [`    ${flagNames}) words="${listValues(flagValues)}" ;;`] : [];
  });
  return [
    "_zz() {",
    "  local cur=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD-1]} words=",
    "  # bash takes --flag=value for three words",
    '  [ "$cur" = = ] && cur=',
    '  [ "$flag" = = ] && flag=${COMP_WORDS[COMP_CWORD-2]}',
    "  case $flag in",
    ...flagCases,
    "  esac",
    `  case $cur in -*) words="${flags.map(({ name }) => `--${name}`).join(" ")}" ;; esac`,
    '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
    '  type __ltrim_colon_completions >/dev/null 2>&1 && __ltrim_colon_completions "$cur"',
    "  return 0",
    "}",
    "complete -o default -F _zz zz",
  ].join("\n");
}

function zsh(flags: Flag[], valuesOf: ValuesOf): string {
  const quotable = (rawText: string) => rawText.replace(/'/g, "’").replace(/[[\]:]/g, " ");
  const functions = flags.flatMap((flag) => {
    const flagValues = valuesOf(flag);
    return flagValues ? [`_zz_${nameFor(flag)}() { compadd -- ${zshWords(flagValues)} }`] : [];
  });
  const argumentRows = flags.map((flag) => {
    const valueAction = valuesOf(flag) ? `_zz_${nameFor(flag)}` : "_files";
    const valueSign = takesValue(flag) ? "" : "=-";
    const valuePart = takesValue(flag) || valuesOf(flag) ? `:value:${valueAction}` : "";
    return (
      `  '*--${flag.name}${valuePart && valueSign}[${quotable(flag.description)}]${valuePart}' ` +
      "\\"
    );
  });
  return ["#compdef zz", ...functions, "_arguments \\", ...argumentRows, "  '*:file:_files'"].join(
    "\n",
  );
}
const nameFor = ({ name }: Flag): string => name.replaceAll("-", "_");
const zshWords = (flagValues: Values): string =>
  "words" in flagValues ? flagValues.words : `\${(f)"$(${flagValues.command})"}`;

function fish(flags: Flag[], valuesOf: ValuesOf): string {
  const quotable = (rawText: string) => rawText.replace(/'/g, "’");
  return flags
    .map((flag) => {
      const flagValues = valuesOf(flag);
      const valueList =
        flagValues && ("words" in flagValues ? flagValues.words : `(${flagValues.command})`);
      const choices = valueList ? ` -xa "${valueList}"` : "";
      const shortOption = flag.short ? ` -s ${flag.short}` : "";
      const required = takesValue(flag) && !valueList ? " -r" : "";
      return (
        `complete -c zz -l ${flag.name}${shortOption}${required}${choices} ` +
        `-d '${quotable(flag.description)}'`
      );
    })
    .join("\n");
}
