// awk: whether a program only prints what it reads. It can also run commands, and open files that its line does not name.

/** What starts commands, opens files, or calls what is only known when it runs. */
const FORBIDDEN =
  /^(system|getline|close|fflush|ENVIRON|PROCINFO|SYMTAB|FUNCTAB|ARGV|ARGC|ARGIND|function|func|include|load|namespace|eval)$/;
/** After these a slash begins a pattern. */
const BEFORE_PATTERN = /^(print|printf|in|else|do|exit)$/;

const BLANK = /[ \t\n]+/y;
const TEXT = /"(?:[^"\\\n]|\\[^\n])*"/y;
const NAME = /[A-Za-z_]\w*/y;
const NUMBER = /\d[\w.]*/y;
const PATTERN = /\/(?:[^/\\\n"[]|\\[^\n"]|\[\^?\]?[^\]/\\\n"]*\])+\//y;
const SIGN = /\+\+|--|\|\||&&|>=|<=|==|!=|[-+*%^=/]=?|[{}()[\];,!~<>?:$]/y;

/**
 * Each slash must be either a division or the start of a pattern, whichever awk reads it; a single > outside of parentheses writes a file
 * where statements are, and compares where patterns are.
 */
export function onlyPrints(program: string): boolean {
  let [at, braces, parentheses, before]: [number, number, number, "start" | "value" | "unclear"] = [0, 0, 0, "start"];
  const take = (kind: RegExp): string | undefined => {
    kind.lastIndex = at;
    const found = kind.exec(program)?.[0];
    at += found?.length ?? 0;
    return found;
  };
  while (at < program.length) {
    const blank = take(BLANK);
    if (blank?.includes("\n")) before = "start";
    if (blank) continue;
    if (take(TEXT) ?? take(NUMBER)) {
      before = "value";
      continue;
    }
    const name = take(NAME);
    if (name !== undefined) {
      if (FORBIDDEN.test(name)) return false;
      before = BEFORE_PATTERN.test(name) ? "start" : "value";
      continue;
    }
    if (program[at] === "/" && before !== "value") {
      if (before === "unclear" || take(PATTERN) === undefined) return false;
      before = "value";
      continue;
    }
    const sign = take(SIGN);
    if (sign === undefined || (sign === ">" && braces && !parentheses)) return false;
    braces += Number(sign === "{") - Number(sign === "}");
    parentheses += Number(sign === "(") - Number(sign === ")");
    if (braces < 0 || parentheses < 0) return false;
    before = sign === "]" ? "value" : /^(\+\+|--|\)|\$)$/.test(sign) ? "unclear" : "start";
  }
  return braces === 0 && parentheses === 0;
}
