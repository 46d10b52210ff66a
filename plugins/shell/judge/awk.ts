// awk: whether a program only prints what it reads. It can also run commands, and open files that its line does not name.
//
// Several programs are called awk, and they read one text differently: where a slash divides, where a > writes. So this is no list of
// what is harmful, but a small grammar of what all of them read alike. What it does not know is asked about.
import { bracket } from "./brackets.ts";

/** Words of any awk that are no variables, and variables that hold more than what is read. */
const RESERVED = new Set(
  `BEGIN BEGINFILE END ENDFILE ENVIRON ARGV ARGC ARGIND PROCINFO SYMTAB FUNCTAB ERRNO adump and asort asorti atan2 bindtextdomain break case
  close compl continue cos dcgettext dcngettext default delete do else eval exit exp extension fflush for func function gensub getline gsub if
  in include index int intdiv intdiv0 isarray length load log lshift match mkbool mktime namespace next nextfile or ord patsplit print printf
  rand return rshift sin split sprintf sqrt srand srandom stopme strftime strtonum sub substr switch system systime tolower toupper typeof
  while xor`.split(/\s+/),
);
const CALL =
  /(?:length|substr|split|index|toupper|tolower|sub|gsub|gensub|match|int|sprintf|sin|cos|atan2|exp|log|sqrt|rand|strftime|systime)[ \t]*\(/y;
/** Without parentheses only where no slash can follow. */
const LENGTH = /length(?=[ \t]*(?:[<>)};,\n]|[=!]=|&&|$))/y;

const BLANK = /[ \t]*/y;
const LINES = /[ \t\n]*/y;
const ENDS = /[ \t\n;]*/y;
const END = /[;\n]|(?=\})|$/y;
const TEXT = /"(?:[^"\\\n]|\\[^\n])*"/y;
const NAME = /[A-Za-z_]\w*/y;
const NUMBER = /(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])/y;
const PATTERN = new RegExp(String.raw`\/(?:[^/\\\n"[]|\\[^\n"]|${bracket('/"')})+\/`, "y");
const ELSE = /[ \t\n;]*else\b/y;
const PREFIX = /\+\+|--|[-+]|!(?![=~])/y;
const DIVISION = /\/=?/y;
const OPERATOR = /&&|\|\||!?~|[=!<]=|>=?|[-+*%^]?=|[-+*%^<?:]|in\b/y;
/** What stands beside a value is joined to it. */
const JOINED = /["$\w.]/y;
const JOINED_AFTER_VALUE = /["$\w.(]/y;
const STATEMENT = /(?:if|while|for|print|printf|nextfile|next|break|continue|exit|delete)\b/y;
const RULE = /(?:BEGIN|END)(?=[ \t]*\{)/y;
const EACH = /\([ \t]*([A-Za-z_]\w*)[ \t]+in[ \t]+([A-Za-z_]\w*)[ \t]*\)/y;
const DEEP = 100;

/** What an operand is. After a value a slash divides; a name before a parenthesis may be a call. */
type Operand = "pattern" | "text" | "value" | "name";

export const onlyPrints = (program: string): boolean => new Program(program).isHarmless();

/** Each method reads one thing, and tells whether it is there and harmless. */
class Program {
  #at = 0;
  #depth = 0;
  #prints = false; // within a print a > may write a file, with some awks inside parentheses as well
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }

  isHarmless(): boolean {
    for (this.#take(ENDS); this.#at < this.#text.length; this.#take(ENDS)) if (!this.#rule()) return false;
    return true;
  }

  #rule(): boolean {
    if (this.#take(RULE) || this.#is(/\{/y)) return this.#block();
    return this.#list(true, true) && (this.#is(/\{/y) ? this.#block() : this.#ends());
  }

  #block(): boolean {
    if (!this.#take(/\{/y)) return false;
    for (this.#take(ENDS); !this.#take(/\}/y); this.#take(ENDS)) if (!this.#statement()) return false;
    return true;
  }

  #statement(): boolean {
    const word = this.#take(STATEMENT);
    if (word === "if") return this.#condition() && this.#body() && (!this.#take(ELSE) || this.#body());
    if (word === "while") return this.#condition() && this.#body();
    if (word === "for") return this.#loop() && this.#body();
    if (word === "delete") return this.#named() !== undefined && this.#ends();
    if (/^(next|nextfile|break|continue)$/.test(word ?? "")) return this.#ends();
    if ((word === "print" || word === "exit") && this.#ends()) return true;
    this.#prints = word === "print" || word === "printf";
    const harmless = this.#list(false, false);
    this.#prints = false;
    return harmless && this.#ends();
  }

  #body = (): boolean =>
    this.#nested(() => {
      this.#take(LINES);
      return this.#is(/\{/y) ? this.#block() : this.#statement();
    });

  #condition = (): boolean => this.#took(/\(/y) && this.#expression(true, true) && this.#took(/\)/y);

  #loop(): boolean {
    const each = this.#take(EACH);
    if (each) return !each.match(/\w+/g)?.some((one) => one !== "in" && RESERVED.has(one));
    const part = (end: RegExp, compares: boolean) =>
      this.#took(end) || (this.#expression(false, compares) && this.#took(end));
    return this.#took(/\(/y) && part(/;/y, false) && part(/;/y, true) && part(/\)/y, false);
  }

  #list(pattern: boolean, compares: boolean): boolean {
    if (!this.#expression(pattern, compares)) return false;
    while (this.#take(/,/y)) {
      this.#take(LINES);
      if (!this.#expression(true, compares)) return false;
    }
    return true;
  }

  /** `pattern`: it may begin with one. `compares`: a > compares. */
  #expression(pattern: boolean, compares: boolean): boolean {
    for (let may = pattern; ; ) {
      for (let prefix = this.#take(PREFIX); prefix; prefix = this.#take(PREFIX)) may = prefix === "!";
      let before = this.#operand(may);
      for (let sign: string | undefined; before && !sign; ) {
        if (before !== "pattern" && this.#take(/\+\+|--/y)) before = "text";
        sign = (/name|value/.test(before) && this.#take(DIVISION)) || this.#take(OPERATOR);
        if (sign?.startsWith(">") && (!compares || this.#prints)) return false;
        if (before === "pattern" && sign && !/^(&&|\|\||\?|:)$/.test(sign)) return false;
        if (sign === "&&" || sign === "||") this.#take(LINES);
        may = /^(&&|\|\||!?~)$/.test(sign ?? "");
        if (sign === "in") [before, sign] = [this.#named() && "text", undefined];
        else if (!sign) {
          if (before === "pattern" || !this.#is(before === "name" ? JOINED : JOINED_AFTER_VALUE)) return true;
          before = this.#operand(false);
        }
      }
      if (!before) return false;
    }
  }

  #operand(pattern: boolean): Operand | undefined {
    if (this.#take(TEXT) || this.#take(LENGTH)) return "text";
    if (this.#take(NUMBER)) return "value";
    if (pattern && this.#take(PATTERN)) return "pattern";
    let found: Operand | undefined;
    const inner = (): boolean => {
      if (this.#take(/\$/y)) return /name|value/.test((found = this.#operand(false)) ?? "");
      found = "value";
      if (this.#take(/\(/y)) return this.#list(true, true) && this.#took(/\)/y);
      if (this.#take(CALL)) return this.#took(/\)/y) || (this.#list(true, true) && this.#took(/\)/y));
      return (found = this.#named()) !== undefined;
    };
    return this.#nested(inner) ? found : undefined;
  }

  #named(): Operand | undefined {
    const name = this.#take(NAME);
    if (!name || RESERVED.has(name)) return undefined;
    if (this.#text[this.#at] !== "[") return this.#is(/\(/y) ? undefined : "name";
    this.#at++;
    return this.#nested(() => this.#list(false, true) && this.#took(/\]/y)) ? "value" : undefined;
  }

  #nested(read: () => boolean): boolean {
    const harmless = this.#depth++ < DEEP && read();
    this.#depth--;
    return harmless;
  }

  #ends = (): boolean => this.#took(END);
  #took = (kind: RegExp): boolean => this.#take(kind) !== undefined;

  #is(kind: RegExp): boolean {
    const at = this.#at;
    const found = this.#took(kind);
    this.#at = at;
    return found;
  }

  #take(kind: RegExp): string | undefined {
    BLANK.lastIndex = this.#at;
    BLANK.exec(this.#text);
    kind.lastIndex = BLANK.lastIndex;
    const found = kind.exec(this.#text)?.[0];
    if (found !== undefined) this.#at = kind.lastIndex;
    return found;
  }
}
