// The top-level keys of JSON and YAML files.
import { emptyFacts, type Facts, MAX_TEXT_CHARS, type Sym } from "./facts.ts";
import { countLines, lineAt, lineStarts } from "./line-numbers.ts";
import { noteError, parse } from "./parse.ts";
import { isObjectLiteralExpression, isStringLiteral, parseJsonText } from "./parser.ts";
import { startOf } from "./signature.ts";
import { todosIn } from "./todos.ts";

export function scanJson(path: string, text: string): Facts {
  const facts = emptyFacts();
  const starts = lineStarts(text);
  const source = parse(facts, () => parseJsonText(path, text));
  const value = source?.statements[0]?.expression;
  if (value && isObjectLiteralExpression(value))
    for (const property of value.properties) {
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
  if (source) facts.todos = todosIn(source, text, starts);
  facts.loc = countLines({ text, starts, texts: [] });
  noteError(facts, source, starts);
  return facts;
}

/**
 * Only top-level keys: they start at the beginning of a line, which no continuation line of a text
 * does.
 */
export function scanYaml(text: string): Facts {
  const facts = emptyFacts();
  let last: Sym | undefined;
  for (const [index, row] of text.split(/\r?\n/).entries()) {
    if (!/^\s*[^\s#]/.test(row)) continue;
    facts.loc++;
    const [, double, single, plain] = YAML_KEY.exec(row) ?? [];
    const [name, line] = [double ?? single ?? plain?.trimEnd(), index + 1];
    if (/^(?:---|\.\.\.)/.test(row)) last = undefined;
    else if (name && !/\s#/.test(name)) {
      last = { name, kind: "key", line, end: line, signature: name.slice(0, MAX_TEXT_CHARS) };
      facts.symbols.push(last);
    } else if (last) last.end = line;
  }
  return facts;
}
const YAML_KEY = /^\ufeff?(?:"([^"]+)"\s*|'([^']+)'\s*|([^\s"'#&*!|>%@`[\]{},?:-].*?)):(?:\s|$)/;
