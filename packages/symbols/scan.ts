// One file's facts, by TypeScript's parser alone: no program, no types. Loaded on first use; in
// dist/ it is bundled with only the parser, which loads in a sixth of the time of the whole
// compiler (see build/typescript.js).
import type { ts } from "ts-morph";
import { bothSides, conflictIn } from "./scan/conflict.ts";
import { scanJson, scanYaml } from "./scan/data-files.ts";
import { emptyFacts, type Facts, unreadFacts } from "./scan/facts.ts";
import { isMarkedGenerated } from "./scan/generated-files.ts";
import { countLines, lineAt, lineStarts } from "./scan/line-numbers.ts";
import { noteError, noteFailure, type Parsed, parse } from "./scan/parse.ts";
import { createSourceFile, PARSE_OPTIONS, unescapeLeadingUnderscores } from "./scan/parser.ts";
import { noteTags, type Reading, START } from "./scan/scan-state.ts";
import { todosIn } from "./scan/todos.ts";
import { packUses } from "./scan/uses.ts";
import { visit } from "./scan/visit.ts";

export type { Facts, Sym } from "./scan/facts.ts";
export { unreadFacts as listed };

const MINIFIED = 500; // characters per line, on average

/** Does not throw, whatever the text is. */
export function scan(path: string, text: string): Facts {
  if (/\.json$/i.test(path)) return scanJson(path, text);
  if (/\.ya?ml$/i.test(path)) return scanYaml(text);
  return scanCode(path, text);
}

function isMinified(path: string, text: string, lines: number): boolean {
  return (
    /[.-]min\.[cm]?js$/.test(path) ||
    (text.length >= 10 * MINIFIED && text.length / lines > MINIFIED)
  );
}

function scanCode(path: string, text: string): Facts {
  const starts = lineStarts(text);
  if (isMinified(path, text, starts.length)) return unreadFacts("minified");
  const facts = emptyFacts();
  const conflict = conflictIn(text);
  if (conflict >= 0) {
    facts.parseError = `line ${lineAt(starts, conflict)}: a merge conflict`;
    text = bothSides(text);
  }
  const source = parse(facts, () => createSourceFile(path, text, PARSE_OPTIONS, false));
  const file: Reading = {
    text,
    starts,
    facts,
    uses: new Map(),
    exported: new Set(),
    texts: [],
    isScript: /\.[cm]?jsx?$/.test(path),
    isCommonJs: false,
    ...START,
    visit: (node) => visit(node, file),
  };
  for (const statement of source?.statements ?? [])
    try {
      visit(statement, file);
    } catch (error) {
      noteFailure(facts, error);
      Object.assign(file, START);
    }
  noteTags(file);
  facts.loc = countLines(file);
  facts.decisions += file.decisions;
  facts.todos = source ? todosIn(source, text, starts) : [];
  markExported(facts);
  if (source && !isModule(path, source, file)) facts.global = true;
  if (isMarkedGenerated(text)) facts.made = true;
  noteError(facts, source, starts);
  facts.uses = packUses(entriesOf(file.uses));
  return facts;
}

/** Whether other files see its declarations only by importing them. */
function isModule(path: string, source: ts.SourceFile, { isCommonJs }: Reading): boolean {
  return (
    (source as Parsed).externalModuleIndicator !== undefined ||
    isCommonJs ||
    /\.[cm][jt]s$/.test(path)
  );
}

/** Marks what `export { name }` names as exported. */
function markExported({ symbols, exports }: Facts): void {
  const locals = new Set(
    exports.filter(({ from }) => !from).map(({ name, local = name }) => local),
  );
  for (const sym of symbols)
    if (!sym.owner && !sym.local && locals.has(sym.name)) sym.exported = true;
}

function* entriesOf(uses: Map<ts.__String, number>): Generator<[string, number]> {
  for (const [name, count] of uses) yield [unescapeLeadingUnderscores(name), count];
}
