// The top-level keys of JSON and YAML files.

import { todosIn } from "./comments.ts";
import { emptyFacts, type Facts, MAX_TEXT_CHARS, type Sym } from "./facts.ts";
import { countLines, lineAt, lineStarts } from "./line-numbers.ts";
import { isInComment } from "./nodes.ts";
import { noteError, parse } from "./parse.ts";
import { isObjectLiteralExpression, isStringLiteral, parseJsonText } from "./parser.ts";
import { startOf } from "./signature.ts";

export function scanJson(filePath: string, text: string): Facts {
  const facts = emptyFacts();
  const starts = lineStarts(text);
  const sourceFile = parse(facts, () => parseJsonText(filePath, text));
  const rootValue = sourceFile?.statements[0]?.expression;
  if (rootValue && isObjectLiteralExpression(rootValue))
    for (const property of rootValue.properties) {
      if (!property.name || !isStringLiteral(property.name)) continue;
      const name = property.name.text;
      const [line, end] = [lineAt(starts, startOf(property, text)), lineAt(starts, property.end)];
      facts.symbols.push({
        name,
        kind: "key",
        line,
        end,
        signature: JSON.stringify(name).slice(0, MAX_TEXT_CHARS),
      });
    }
  if (sourceFile) facts.todos = todosIn(text, starts, (offset) => isInComment(sourceFile, offset));
  facts.loc = countLines({ text, starts, texts: [] });
  noteError(facts, sourceFile, starts);
  return facts;
}

/**
 * Only top-level keys: they start at the beginning of a line, which no continuation line of a text
 * does.
 */
export function scanYaml(yamlText: string): Facts {
  const facts = emptyFacts();
  let lastSymbol: Sym | undefined;
  for (const [rowIndex, yamlRow] of yamlText.split(/\r?\n/).entries()) {
    if (!/^\s*[^\s#]/.test(yamlRow)) continue;
    facts.loc++;
    const [, doubleQuoted, singleQuoted, plainKey] = YAML_KEY.exec(yamlRow) ?? [];
    const [name, line] = [doubleQuoted ?? singleQuoted ?? plainKey?.trimEnd(), rowIndex + 1];
    if (/^(?:---|\.\.\.)/.test(yamlRow)) lastSymbol = undefined;
    else if (name && !/\s#/.test(name)) {
      lastSymbol = { name, kind: "key", line, end: line, signature: name.slice(0, MAX_TEXT_CHARS) };
      facts.symbols.push(lastSymbol);
    } else if (lastSymbol) lastSymbol.end = line;
  }
  return facts;
}
const YAML_KEY = /^\ufeff?(?:"([^"]+)"\s*|'([^']+)'\s*|([^\s"'#&*!|>%@`[\]{},?:-].*?)):(?:\s|$)/;
