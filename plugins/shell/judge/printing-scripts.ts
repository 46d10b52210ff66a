// Programs for awk and sed: which of them only print. Both can run commands, and write or read
// files that their line does not name.

/**
 * Several programs are called awk, and they divide one text differently into words. So this does
 * not: whatever runs, opens or writes needs one of these, or a > or | after a print.
 */
const AWK_REACHES =
  /system|getline|ENVIRON|ARG|PROCINFO|SYMTAB|FUNCTAB|textdomain|extension|@|\\\n/i;

/** A print that ends before anything could divide it otherwise. */
const SHORT_PRINT = /(?<![a-z_])print[^"/;}\n#>|\\]*[;}]/gi;

export function isPrintingAwk(program: string): boolean {
  const unprinted = program.replaceAll("||", "").replace(SHORT_PRINT, " ");
  const [, output = ""] = unprinted.split(/(?<![a-z_])print(.*)/is);
  return !AWK_REACHES.test(program) && !/[>|]/.test(output);
}

/**
 * The [x] of a pattern, which all programs end at the same place: with no backslash, and `[` only
 * as in [:alpha:]. `end` would end the pattern, for some programs within brackets as well.
 */
const bracket = (end: string): string =>
  String.raw`\[(?:\^\]|\]|\^(?!\])|(?![\]^]))(?:\[:[a-z]+:\]|[^\][\\\n${end}])*\]`;
/** A pattern up to its end, in which the delimiter stands for nothing else. */
const pattern = (end: string): string => String.raw`(?:[^\\\n[${end}]|\\[^\nc]|${bracket(end)})*`;
const replacement = (end: string): string => String.raw`(?:[^\\\n${end}]|\\[^\n])*`;
const ADDRESS = String.raw`(?:\d+(?:~\d+)?|\$|/${pattern("/")}/I?)`;
const LINE_RANGE = String.raw`(?:${ADDRESS}(?:,[ ]*(?:${ADDRESS}|[+~]\d+))?[ ]*(?:![ ]*)?)?`;
const SUBSTITUTION = ["/", "|", "#", ",", ":", "@"]
  .map(
    (end) =>
      `s${`\\${end}`}${pattern(`\\${end}`)}\\${end}${replacement(`\\${end}`)}\\${end}[gpIi\\d]*`,
  )
  .join("|");
const COMMAND = `[ ]*${LINE_RANGE}(?:[pd=]|[qQ]\\d*|${SUBSTITUTION})[ ]*`;
const SED_SCRIPT = new RegExp(`^${COMMAND}(?:[;\\n]${COMMAND})*(?:[;\\n]\\s*)?$`);

/** Scripts that print, delete or replace lines of what is read. */
export const isPrintingSed = (sedScript: string): boolean => SED_SCRIPT.test(sedScript);
