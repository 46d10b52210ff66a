// What a place in a text is: a language server says only where.
import type { Facts } from "../scan/facts.ts";
import type { CodeUse } from "./code-uses.ts";

const MAX_STATEMENT_CHARS = 4_000;

export function kindAt(
  fileText: string,
  start: number,
  end: number,
  fileFacts: Facts | undefined,
  lineNumber: number,
): CodeUse["kind"] {
  const textBefore = fileText.slice(Math.max(0, start - MAX_STATEMENT_CHARS), start);
  const textAfter = fileText.slice(end, end + MAX_STATEMENT_CHARS);
  const usedName = fileText.slice(start, end);
  if (textBefore.lastIndexOf("/**") > textBefore.lastIndexOf("*/")) return "comment";
  if (IMPORTS.test(textBefore)) return "import";
  if (TAKEN_APART.test(textBefore) && FROM_MODULE.test(textAfter)) return "import";
  if (EXPORTS.test(textBefore)) return "export";
  if (fileFacts && isDefinition(fileFacts, usedName, textBefore, lineNumber)) return "definition";
  return WRITES_AFTER.test(textAfter) || WRITES_BEFORE.test(textBefore) ? "write" : "read";
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
function isDefinition(
  { symbols }: Facts,
  usedName: string,
  textBefore: string,
  lineNumber: number,
): boolean {
  const bareName = usedName.replace(/^["'](.*)["']$/, "$1");
  const lineBefore = textBefore.slice(textBefore.lastIndexOf("\n") + 1);
  const isFirst = !new RegExp(`(?<![\\w$#])${bareName.replace(/[^\w]/g, "\\$&")}(?![\\w$])`).test(
    lineBefore,
  );
  return symbols.some((symbol) => {
    if (symbol.name !== bareName) return false;
    if (symbol.line === lineNumber) return isFirst;
    return symbol.line < lineNumber && lineNumber <= symbol.end && DECLARES.test(lineBefore);
  });
}
/** A declaration whose name stands below the line that it begins on. */
const DECLARES =
  /\b(?:function\*?|class|interface|type|enum|namespace|const|let|var|get|set|async|static)\s+$/;
