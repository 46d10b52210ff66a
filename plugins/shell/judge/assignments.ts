// What may be assigned unasked: only names that mean nothing to bash or to any program.

/** The environment that a reading command may be given, and with what. */
const HARMLESS = /^(NO_COLOR|CI|LANG|LANGUAGE|LC_[A-Z]+|TERM|COLORTERM|COLUMNS|LINES|NODE_ENV|DEBUG|FORCE_COLOR|TZ)$/;
/** Only where each character of the line is what it is here: Shift-JIS, Big5 and GBK take a `\` or `|` for half of one. */
const LOCALE = /^(|C|POSIX|C\.utf-?8|en_[A-Z]{2}|[a-z]{2,3}_[A-Z]{2}\.utf-?8)$/i;
const HARMLESS_VALUE = /^(?!.*\.\.)([\w@+*-][\w@+.:,=*/-]*)?$/;

/** Whether `NAME=value command` changes nothing but how its output looks. */
export const isHarmless = (name: string, value: string): boolean =>
  HARMLESS.test(name) && (/^(LANG$|LC_)/.test(name) ? LOCALE : HARMLESS_VALUE).test(value);

/**
 * A variable of the line's own. Bash gives a meaning to capitals (RANDOM, SECONDS and OPTIND are even evaluated as
 * arithmetic, which runs commands), so a plain name is of small letters, or one capital alone.
 */
const PLAIN = /^([a-z][a-z0-9_]*|[A-Z]|CI|NO_COLOR|FORCE_COLOR|NODE_ENV|DEBUG)$/;
/** Names in small letters that bash or other programs heed all the same. Those of zsh ask, as all of zsh does. */
const TAKEN = /^(histchars|auto_resume|\w*_proxy|npm_\w*|yarn_\w*|pnpm_\w*)$/;

/** Whether setting it alone goes unnoticed. What the environment holds already reaches programs. */
export const isPlainName = (name: string, env: NodeJS.ProcessEnv): boolean =>
  PLAIN.test(name) && !TAKEN.test(name) && !(name in env);

/** Their value is a command line, or holds one, for the program that reads it. */
const COMMANDS =
  /^(BASH_ENV|ENV|PS[0-4]|BASH_ALIASES|BASH_CMDS|BASH_FUNC.*|LESSOPEN|LESSCLOSE|SHELL|GIT_(SSH|EXTERNAL_DIFF|CONFIG.*)|\w*(PAGER|EDITOR|VISUAL|BROWSER|ASKPASS|COMMAND|_CMD|_RSH))(\[|$)/;
export const isCommandName = (name: string): boolean => COMMANDS.test(name);
/** Text that bash runs once it expands it, or takes it for arithmetic. */
export const holdsCommand = (value: string): boolean => /\$\(|`|\$\{|[<>]\(/.test(value);
