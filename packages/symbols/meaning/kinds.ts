// What a place in a text is: a language server says only where.
import type { Facts } from "../scan/facts.ts";
import type { CodeUse } from "./code-uses.ts";

const MAX_STATEMENT_CHARS = 4_000;

export function kindAt(
  text: string,
  start: number,
  end: number,
  facts: Facts | undefined,
  line: number,
): CodeUse["kind"] {
  const before = text.slice(Math.max(0, start - MAX_STATEMENT_CHARS), start);
  const after = text.slice(end, end + MAX_STATEMENT_CHARS);
  const name = text.slice(start, end);
  if (before.lastIndexOf("/**") > before.lastIndexOf("*/")) return "comment";
  if (IMPORTS.test(before)) return "import";
  if (TAKEN_APART.test(before) && FROM_MODULE.test(after)) return "import";
  if (EXPORTS.test(before)) return "export";
  if (facts && isDefinition(facts, name, before, line)) return "definition";
  return WRITES_AFTER.test(after) || WRITES_BEFORE.test(before) ? "write" : "read";
}
/** In the part of an import that names what it takes. */
const IMPORTS = /(?:^|[\n;])\s*import\b(?!\s*[(.])[^;'"`()=]*$/;
const EXPORTS =
  /(?:^|[\n;}])\s*export\s+(?:(?:type\s+)?(?:\{[^{}'"`;]*|\*\s+as\s+)|default\s+|=\s*)$/;
const TAKEN_APART = /\b(?:const|let|var)\s*\{[^{}=;]*$/;
const FROM_MODULE = /^[^{};]*\}\s*=\s*(?:\(?\s*await\s+)?(?:require|import)\s*\(/;
const WRITES_AFTER = /^\s*(?:=(?![=>])|(?:[-+*/%&|^]|\*\*|<<|>>>?|&&|\|\||\?\?)=(?!=)|\+\+|--)/;
const WRITES_BEFORE = /(?:\+\+|--)\s*$/;

/** The first place of a name on a line that defines it. */
function isDefinition({ symbols }: Facts, name: string, before: string, line: number): boolean {
  const bareName = name.replace(/^["'](.*)["']$/, "$1");
  const row = before.slice(before.lastIndexOf("\n") + 1);
  const isFirst = !new RegExp(`(?<![\\w$#])${bareName.replace(/[^\w]/g, "\\$&")}(?![\\w$])`).test(
    row,
  );
  return symbols.some((symbol) => {
    if (symbol.name !== bareName) return false;
    if (symbol.line === line) return isFirst;
    return symbol.line < line && line <= symbol.end && DECLARES.test(row);
  });
}
/** A declaration whose name stands below the line that it begins on. */
const DECLARES =
  /\b(?:function\*?|class|interface|type|enum|namespace|const|let|var|get|set|async|static)\s+$/;
