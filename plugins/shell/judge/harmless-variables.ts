// Which variables may be assigned unasked: only those whose names mean nothing to bash or to any
// program.

/** Environment variables, and their values, that may be set for a command that only reads. */
const HARMLESS_NAMES =
  "NO_COLOR|CI|LANG|LANGUAGE|LC_[A-Z]+|TERM|COLORTERM|COLUMNS|LINES|NODE_ENV|DEBUG|FORCE_COLOR|TZ";
const HARMLESS = new RegExp(`^(${HARMLESS_NAMES})$`);
/**
 * Locales in which each byte of the line keeps its meaning: in Shift-JIS, Big5 and GBK a `\` or `|`
 * may be half of a character.
 */
const LOCALE_VALUE = /^(|C|POSIX|C\.utf-?8|en_[A-Z]{2}|[a-z]{2,3}_[A-Z]{2}\.utf-?8)$/i;
const HARMLESS_VALUE = /^(?!.*\.\.)([\w@+*-][\w@+.:,=*/-]*)?$/;

/** Whether `NAME=value command` changes nothing but the format of its output. */
export const isHarmless = (variable: string, value: string): boolean =>
  HARMLESS.test(variable) &&
  (/^(LANG$|LC_)/.test(variable) ? LOCALE_VALUE : HARMLESS_VALUE).test(value);

/**
 * Whether it is just a variable of the line. Bash gives capitals a meaning (RANDOM, SECONDS and
 * OPTIND are even evaluated as arithmetic, which runs commands), so a plain name is lower case, or
 * a single capital.
 */
const PLAIN_NAME = /^([a-z][a-z0-9_]*|[A-Z]|CI|NO_COLOR|FORCE_COLOR|NODE_ENV|DEBUG)$/;
/**
 * Lower-case names with a meaning for bash or other programs. Those of zsh are missing, since zsh
 * always asks.
 */
const TAKEN_NAME = /^(histchars|auto_resume|\w*_proxy|npm_\w*|yarn_\w*|pnpm_\w*)$/;

/**
 * Whether setting it alone has no effect. Variables that are already in the environment reach
 * programs.
 */
export const isPlainName = (variable: string, environment: NodeJS.ProcessEnv): boolean =>
  PLAIN_NAME.test(variable) && !TAKEN_NAME.test(variable) && !(variable in environment);

/** Variables whose value is, or contains, a command line for the program that reads it. */
const COMMAND_NAMES =
  "BASH_ENV|ENV|PS[0-4]|BASH_ALIASES|BASH_CMDS|BASH_FUNC.*|LESSOPEN|LESSCLOSE|SHELL" +
  "|GIT_(SSH|EXTERNAL_DIFF|CONFIG.*)";
const NAME_ENDINGS = "PAGER|EDITOR|VISUAL|BROWSER|ASKPASS|COMMAND|_CMD|_RSH";
const COMMANDS = new RegExp(String.raw`^(${COMMAND_NAMES}|\w*(${NAME_ENDINGS}))(\[|$)`);
export const isCommandName = (variable: string): boolean => COMMANDS.test(variable);
/** Text that bash runs when it expands it, or evaluates it as arithmetic. */
export const holdsCommand = (value: string): boolean => /\$\(|`|\$\{|[<>]\(/.test(value);
