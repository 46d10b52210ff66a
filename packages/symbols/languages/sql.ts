// SQL, by hand: its dialects differ more than a grammar knows, and what is defined begins with
// CREATE in all of them.
import { anyOf } from "zz/text";
import { emptyFacts, type Facts, MAX_TEXT_CHARS, type Sym } from "../scan/facts.ts";
import { lineAt } from "../scan/line-numbers.ts";
import { packUses } from "../scan/uses.ts";
import {
  codeAlone,
  countLines,
  docLineOf,
  maskedTodos,
  maskOf,
  type Span,
  usesIn,
} from "./comment-masks.ts";

/** Comments, texts, quoted names, and what stands between dollar signs: the body of a function. */
const QUOTED_TEXT = anyOf(
  /--[^\n]*|\/\*[\s\S]*?(?:\*\/|(?![\s\S]))|'(?:[^'\\]|''|\\.)*(?:'|(?![\s\S]))/,
  /(\$\w*\$)[\s\S]*?(?:\1|(?![\s\S]))/,
  /"[^"]*"|`[^`]*`/,
);
/**
 * Where statements end beside their own sign: `GO` (T-SQL) and `/` (Oracle) alone in a line,
 * `DELIMITER //` (MySQL).
 */
const STATEMENT_ENDS = /^[ \t]*(?:(?:GO|\/)[ \t\d;]*|DELIMITER[ \t]+(\S+)[^\n]*)\r?$/;
const tokenPattern = (endSign: string) =>
  new RegExp(
    `${endSign.replace(/[^\w\s]/g, "\\$&")}|${QUOTED_TEXT.source}|${STATEMENT_ENDS.source}`,
    "gim",
  );
const NAME_PART = /(?:"[^"]+"|`[^`]+`|\[[^\]]+\]|[\p{L}_#@][\p{L}\p{N}_$#@]*)/u.source;
const CREATE_CLAUSE = new RegExp(
  "^CREATE\\s+(?:OR\\s+(?:REPLACE|ALTER)\\s+)?" +
    "(?:(?:GLOBAL|LOCAL|TEMP|TEMPORARY|UNLOGGED|EXTERNAL|FOREIGN|VIRTUAL|RECURSIVE|" +
    "MATERIALIZED|UNIQUE|CLUSTERED|NONCLUSTERED|CONSTRAINT|DEFINER\\s*=\\s*\\S+)\\s+)*" +
    "(TABLE|VIEW|FUNCTION|PROCEDURE|PROC|TRIGGER|TYPE|DOMAIN|ENUM|SCHEMA|SEQUENCE|INDEX|" +
    "AGGREGATE|MACRO)\\s+" +
    "(?:CONCURRENTLY\\s+)?(?:IF\\s+NOT\\s+EXISTS\\s+)?(?!(?:ON|IF|CONCURRENTLY)\\b)(" +
    `${NAME_PART}(?:\\s*\\.\\s*${NAME_PART}){0,3})`,
  "iu",
);
const COLUMN_START = new RegExp(`^\\s*(${NAME_PART})\\s+\\S`, "u");
const NO_COLUMN = anyOf(
  /^\s*(?:CONSTRAINT|PRIMARY|FOREIGN|UNIQUE|CHECK|KEY|INDEX)\b/i,
  /^\s*(?:EXCLUDE|LIKE|FULLTEXT|SPATIAL|PERIOD)\b/i,
);
const SYMBOL_KINDS: Record<string, Sym["kind"]> = {
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
  sqlText: string,
  isFunctionBody = false,
): { comment: Span[]; string: Span[]; ends: Span[] } {
  const [comment, string, ends]: [Span[], Span[], Span[]] = [[], [], []];
  let endSign = ";";
  let signPattern = tokenPattern(endSign);
  for (let match = signPattern.exec(sqlText); match; match = signPattern.exec(sqlText)) {
    const { 0: tokenText, 1: dollars, 2: nextSign, index } = match;
    const tokenSpan: Span = [index, index + tokenText.length];
    if (nextSign) {
      const lastIndex = signPattern.lastIndex;
      endSign = nextSign;
      signPattern = tokenPattern(endSign);
      signPattern.lastIndex = lastIndex;
    }
    if (dollars && !isFunctionBody) {
      const bodySpans = sqlSpans(tokenText.slice(dollars.length, -dollars.length), true);
      const moveSpan = ([start, end]: Span) =>
        [start, end].map((offset) => offset + index + dollars.length) as Span;
      comment.push(...bodySpans.comment.map(moveSpan));
      string.push(...bodySpans.string.map(moveSpan));
    } else if (/^(?:--|\/\*)/.test(tokenText) && tokenText !== endSign) comment.push(tokenSpan);
    else if (/^'/.test(tokenText)) string.push(tokenSpan);
    else if (!dollars && !/^["`]/.test(tokenText)) ends.push(tokenSpan);
  }
  return { comment, string, ends };
}

export function scanSql(text: string, starts: number[]): Facts {
  const facts = emptyFacts();
  const { comment, string, ends } = sqlSpans(text);
  const charMask = maskOf(text.length, { comment, string });
  const plainText = codeAlone(text, maskOf(text.length, { comment }));
  let statementStart = 0;
  for (const [statementEnd, nextStart] of [...ends, [text.length, text.length] as Span]) {
    const textStart =
      statementStart + /^\s*/.exec(plainText.slice(statementStart, statementEnd))![0].length;
    defineSymbol(facts, plainText.slice(textStart, statementEnd), textStart, {
      text,
      starts,
      comment,
    });
    statementStart = nextStart;
  }
  facts.uses = packUses(usesIn(text, charMask));
  facts.todos = maskedTodos(text, starts, charMask);
  facts.loc = countLines(text, starts, charMask);
  return facts;
}

type Reading = { text: string; starts: number[]; comment: Span[] };
function defineSymbol(
  { symbols }: Facts,
  statement: string,
  statementStart: number,
  { text, starts, comment }: Reading,
): void {
  const [createClause, objectKind, namePath] = CREATE_CLAUSE.exec(statement) ?? [];
  if (!createClause) return;
  const nameParts = namePath!.match(new RegExp(NAME_PART, "gu"))!.map(bareName);
  const line = lineAt(starts, statementStart);
  const headText = statement.slice(0, 4 * MAX_TEXT_CHARS).replace(/\s+/g, " ");
  const signature = headText
    .replace(/\s*(?:\((?!.*\breturns\b).*|\b(?:AS|BEGIN)\b.*)$/is, "")
    .slice(0, MAX_TEXT_CHARS);
  const end = lineAt(starts, statementStart + statement.trimEnd().length);
  const sym: Sym = {
    name: nameParts.at(-1)!,
    kind: SYMBOL_KINDS[objectKind!.toLowerCase()]!,
    line,
    end,
    signature,
    exported: true,
  };
  const docSpan = comment.findLast(
    ([, commentEnd]) =>
      commentEnd <= statementStart && !text.slice(commentEnd, statementStart).trim(),
  );
  const docLine = docSpan && docLineOf(text.slice(...docSpan));
  if (docLine && !/\n\s*\n/.test(text.slice(docSpan[1], statementStart))) sym.doc = docLine;
  symbols.push(sym);
  if (/^table$/i.test(objectKind!)) addColumns(symbols, sym, statement, statementStart, starts);
}

function addColumns(
  symbols: Sym[],
  { name: owner }: Sym,
  statement: string,
  statementStart: number,
  lineOffsets: number[],
): void {
  const openBracket = statement.indexOf("(");
  if (openBracket < 0) return;
  let [bracketDepth, columnStart] = [0, openBracket + 1];
  for (let index = openBracket; index < statement.length; index++) {
    const letter = statement[index]!;
    if (letter === "'") index = Math.max(index, statement.indexOf("'", index + 1));
    else if (letter === "(") bracketDepth++;
    else if (letter === ")") bracketDepth--;
    const isListEnd = bracketDepth === 0;
    if (!isListEnd && !(letter === "," && bracketDepth === 1)) continue;
    const columnText = statement.slice(columnStart, index);
    const [, columnName] = NO_COLUMN.test(columnText) ? [] : (COLUMN_START.exec(columnText) ?? []);
    const line = lineAt(
      lineOffsets,
      statementStart + columnStart + columnText.length - columnText.trimStart().length,
    );
    const signature = columnText.trim().replace(/\s+/g, " ").slice(0, MAX_TEXT_CHARS);
    if (columnName)
      symbols.push({
        name: bareName(columnName),
        kind: "property",
        line,
        end: line,
        signature,
        owner,
        exported: true,
      });
    if (isListEnd) return;
    columnStart = index + 1;
  }
}
const bareName = (quotedName: string) => quotedName.replace(/^["`[]|["`\]]$/g, "");
