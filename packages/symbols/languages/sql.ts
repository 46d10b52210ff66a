// SQL, by hand: its dialects differ more than a grammar knows, and what is defined begins with
// CREATE in all of them.
import { emptyFacts, type Facts, MAX_TEXT_CHARS, type Sym } from "../scan/facts.ts";
import { lineAt } from "../scan/line-numbers.ts";
import { packUses } from "../scan/uses.ts";
import { countLines, maskOf, type Span, todosIn, usesIn } from "./comment-masks.ts";

/** Comments, texts, quoted names, and what stands between dollar signs: the body of a function. */
const QUOTED =
  /--[^\n]*|\/\*[\s\S]*?(?:\*\/|(?![\s\S]))|'(?:[^'\\]|''|\\.)*(?:'|(?![\s\S]))|(\$\w*\$)[\s\S]*?(?:\1|(?![\s\S]))|"[^"]*"|`[^`]*`/;
/**
 * Where statements end beside their own sign: `GO` (T-SQL) and `/` (Oracle) alone in a line,
 * `DELIMITER //` (MySQL).
 */
const ENDS = /^[ \t]*(?:(?:GO|\/)[ \t\d;]*|DELIMITER[ \t]+(\S+)[^\n]*)\r?$/;
const tokens = (sign: string): RegExp =>
  new RegExp(`${sign.replace(/[^\w\s]/g, "\\$&")}|${QUOTED.source}|${ENDS.source}`, "gim");
const PART = /(?:"[^"]+"|`[^`]+`|\[[^\]]+\]|[\p{L}_#@][\p{L}\p{N}_$#@]*)/u.source;
const CREATE = new RegExp(
  `^CREATE\\s+(?:OR\\s+(?:REPLACE|ALTER)\\s+)?(?:(?:GLOBAL|LOCAL|TEMP|TEMPORARY|UNLOGGED|EXTERNAL|FOREIGN|VIRTUAL|RECURSIVE|` +
    `MATERIALIZED|UNIQUE|CLUSTERED|NONCLUSTERED|CONSTRAINT|DEFINER\\s*=\\s*\\S+)\\s+)*` +
    `(TABLE|VIEW|FUNCTION|PROCEDURE|PROC|TRIGGER|TYPE|DOMAIN|ENUM|SCHEMA|SEQUENCE|INDEX|AGGREGATE|MACRO)\\s+` +
    `(?:CONCURRENTLY\\s+)?(?:IF\\s+NOT\\s+EXISTS\\s+)?(?!(?:ON|IF|CONCURRENTLY)\\b)(${PART}(?:\\s*\\.\\s*${PART}){0,3})`,
  "iu",
);
const COLUMN = new RegExp(`^\\s*(${PART})\\s+\\S`, "u");
const NO_COLUMN =
  /^\s*(?:CONSTRAINT|PRIMARY|FOREIGN|UNIQUE|CHECK|KEY|INDEX|EXCLUDE|LIKE|FULLTEXT|SPATIAL|PERIOD)\b/i;
const KINDS: Record<string, Sym["kind"]> = {
  table: "class",
  view: "class",
  type: "type",
  domain: "type",
  enum: "enum",
  schema: "namespace",
  function: "function",
  procedure: "function",
  proc: "function",
  trigger: "function",
  aggregate: "function",
  macro: "function",
  sequence: "variable",
  index: "const",
};

export function sqlSpans(
  text: string,
  isBody = false,
): { comment: Span[]; string: Span[]; ends: Span[] } {
  const [comment, string, ends]: [Span[], Span[], Span[]] = [[], [], []];
  let sign = ";";
  let wanted = tokens(sign);
  for (let match = wanted.exec(text); match; match = wanted.exec(text)) {
    const { 0: token, 1: dollars, 2: next, index } = match;
    const span: Span = [index, index + token.length];
    if (next) {
      const lastIndex = wanted.lastIndex;
      wanted = tokens((sign = next));
      wanted.lastIndex = lastIndex;
    }
    if (dollars && !isBody) {
      const inner = sqlSpans(token.slice(dollars.length, -dollars.length), true);
      const moved = ([start, end]: Span): Span =>
        [start, end].map((offset) => offset + index + dollars.length) as Span;
      comment.push(...inner.comment.map(moved));
      string.push(...inner.string.map(moved));
    } else if (/^(?:--|\/\*)/.test(token) && token !== sign) comment.push(span);
    else if (/^'/.test(token)) string.push(span);
    else if (!dollars && !/^["`]/.test(token)) ends.push(span);
  }
  return { comment, string, ends };
}

export function scanSql(text: string, starts: number[]): Facts {
  const facts = emptyFacts();
  const { comment, string, ends } = sqlSpans(text);
  const mask = maskOf(text.length, { comment, string, code: [] });
  const plain = Array.from(text, (letter, index) =>
    mask[index] === 1 && letter !== "\n" ? " " : letter,
  ).join("");
  let from = 0;
  for (const [end, next] of [...ends, [text.length, text.length] as Span]) {
    const start = from + /^\s*/.exec(plain.slice(from, end))![0].length;
    define(facts, plain.slice(start, end), start, { text, starts, comment });
    from = next;
  }
  facts.uses = packUses(usesIn(text, mask));
  facts.todos = todosIn(text, starts, mask);
  facts.loc = countLines(text, starts, mask);
  return facts;
}

type Reading = { text: string; starts: number[]; comment: Span[] };
function define(
  { symbols }: Facts,
  statement: string,
  start: number,
  { text, starts, comment }: Reading,
): void {
  const [createClause, objectKind, path] = CREATE.exec(statement) ?? [];
  if (!createClause) return;
  const names = path!.match(new RegExp(PART, "gu"))!.map(bare);
  const line = lineAt(starts, start);
  const head = statement.slice(0, 4 * MAX_TEXT_CHARS).replace(/\s+/g, " ");
  const signature = head
    .replace(/\s*(?:\((?!.*\breturns\b).*|\b(?:AS|BEGIN)\b.*)$/is, "")
    .slice(0, MAX_TEXT_CHARS);
  const end = lineAt(starts, start + statement.trimEnd().length);
  const sym: Sym = {
    name: names.at(-1)!,
    kind: KINDS[objectKind!.toLowerCase()]!,
    line,
    end,
    signature,
    exported: true,
  };
  const doc = comment.findLast(([, end]) => end <= start && !text.slice(end, start).trim());
  const docLine =
    doc &&
    text
      .slice(...doc)
      .replace(/^(?:--+|\/\*+)\s*|\s*\*+\/$/g, "")
      .split("\n")[0]!
      .trim();
  if (docLine && !/\n\s*\n/.test(text.slice(doc[1], start)))
    sym.doc = docLine.slice(0, MAX_TEXT_CHARS);
  symbols.push(sym);
  if (/^table$/i.test(objectKind!)) columns(symbols, sym, statement, start, starts);
}

function columns(
  symbols: Sym[],
  { name: owner }: Sym,
  statement: string,
  start: number,
  starts: number[],
): void {
  const open = statement.indexOf("(");
  if (open < 0) return;
  let [depth, from] = [0, open + 1];
  for (let index = open; index < statement.length; index++) {
    const letter = statement[index]!;
    if (letter === "'") index = Math.max(index, statement.indexOf("'", index + 1));
    else if (letter === "(") depth++;
    else if (letter === ")") depth--;
    const isEnd = depth === 0;
    if (!isEnd && !(letter === "," && depth === 1)) continue;
    const part = statement.slice(from, index);
    const [, name] = NO_COLUMN.test(part) ? [] : (COLUMN.exec(part) ?? []);
    const line = lineAt(starts, start + from + part.length - part.trimStart().length);
    const signature = part.trim().replace(/\s+/g, " ").slice(0, MAX_TEXT_CHARS);
    if (name)
      symbols.push({
        name: bare(name),
        kind: "property",
        line,
        end: line,
        signature,
        owner,
        exported: true,
      });
    if (isEnd) return;
    from = index + 1;
  }
}
const bare = (name: string): string => name.replace(/^["`[]|["`\]]$/g, "");
