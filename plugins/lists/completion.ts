// --completion: a shell's completions of all flags and of their values. Models, sessions and names
// are asked of zz when they are needed.
import type { About, Flag } from "zz";
import { usage } from "zz/text";

/** What completes a value: words, or a command of the shell that prints some, one a line. */
type Values = { words: string } | { command: string };
const FIRST_WORDS = "2>/dev/null | head -n 500 | cut -d' ' -f1";
const MODELS: Values = { command: `zz --models ${FIRST_WORDS}` };
const SESSIONS: Values = { command: `zz --sessions ${FIRST_WORDS}` };
const PLUGINS: Values = { command: `zz --plugins ${FIRST_WORDS}` };
const TOOLS: Values = { command: `zz --tools ${FIRST_WORDS}` };
const VALUES: Record<string, Values> = {
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

export function completion(shell: string, { flags, commands }: About): string {
  const templates = commands.filter(({ template }) => template).map(({ name }) => name);
  const valuesOf = ({ name }: Flag): Values | undefined =>
    name === "template" ? { words: templates.join(" ") } : VALUES[name];
  const shells: Record<string, (flags: Flag[], valuesOf: ValuesOf) => string> = { bash, zsh, fish };
  if (!Object.hasOwn(shells, shell))
    throw usage(`Cannot complete for '${shell}': only for bash, zsh and fish. Name one of them.`);
  return shells[shell]!(flags, valuesOf);
}
type ValuesOf = (flag: Flag) => Values | undefined;

const listed = (values: Values): string =>
  "words" in values ? values.words : `$(${values.command})`;
const takesValue = ({ value, optional }: Flag): boolean => Boolean(value && !optional);

function bash(flags: Flag[], valuesOf: ValuesOf): string {
  const cases = flags.flatMap((flag) => {
    const values = valuesOf(flag);
    const names = flag.short ? `-${flag.short}|--${flag.name}` : `--${flag.name}`;
    return values ? [`    ${names}) words="${listed(values)}" ;;`] : [];
  });
  return [
    "_zz() {",
    "  local cur=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD-1]} words=",
    "  # bash takes --flag=value for three words",
    '  [ "$cur" = = ] && cur=',
    '  [ "$flag" = = ] && flag=${COMP_WORDS[COMP_CWORD-2]}',
    "  case $flag in",
    ...cases,
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
  const quotable = (text: string) => text.replace(/'/g, "’").replace(/[[\]:]/g, " ");
  const functions = flags.flatMap((flag) => {
    const values = valuesOf(flag);
    return values ? [`_zz_${nameFor(flag)}() { compadd -- ${zshWords(values)} }`] : [];
  });
  const rows = flags.map((flag) => {
    const action = valuesOf(flag) ? `_zz_${nameFor(flag)}` : "_files";
    const sign = takesValue(flag) ? "" : "=-";
    const value = takesValue(flag) || valuesOf(flag) ? `:value:${action}` : "";
    return `  '*--${flag.name}${value && sign}[${quotable(flag.description)}]${value}' \\`;
  });
  return ["#compdef zz", ...functions, "_arguments \\", ...rows, "  '*:file:_files'"].join("\n");
}
const nameFor = ({ name }: Flag): string => name.replaceAll("-", "_");
const zshWords = (values: Values): string =>
  "words" in values ? values.words : `\${(f)"$(${values.command})"}`;

function fish(flags: Flag[], valuesOf: ValuesOf): string {
  const quotable = (text: string) => text.replace(/'/g, "’");
  return flags
    .map((flag) => {
      const values = valuesOf(flag);
      const list = values && ("words" in values ? values.words : `(${values.command})`);
      const choices = list ? ` -xa "${list}"` : "";
      const short = flag.short ? ` -s ${flag.short}` : "";
      const required = takesValue(flag) && !list ? " -r" : "";
      return `complete -c zz -l ${flag.name}${short}${required}${choices} -d '${quotable(flag.description)}'`;
    })
    .join("\n");
}
