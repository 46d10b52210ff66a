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
export function scan(filePath: string, sourceText: string): Facts {
  if (/\.json$/i.test(filePath)) return scanJson(filePath, sourceText);
  if (/\.ya?ml$/i.test(filePath)) return scanYaml(sourceText);
  return scanCode(filePath, sourceText);
}

function isMinified(filePath: string, sourceText: string, lineCount: number): boolean {
  return (
    /[.-]min\.[cm]?js$/.test(filePath) ||
    (sourceText.length >= 10 * MINIFIED && sourceText.length / lineCount > MINIFIED)
  );
}

function scanCode(filePath: string, text: string): Facts {
  const starts = lineStarts(text);
  if (isMinified(filePath, text, starts.length)) return unreadFacts("minified");
  const facts = emptyFacts();
  const conflict = conflictIn(text);
  if (conflict >= 0) {
    facts.parseError = `line ${lineAt(starts, conflict)}: a merge conflict`;
    text = bothSides(text);
  }
  const sourceFile = parse(facts, () => createSourceFile(filePath, text, PARSE_OPTIONS, false));
  const reading: Reading = {
    text,
    starts,
    facts,
    uses: new Map(),
    exported: new Set(),
    texts: [],
    isScript: /\.[cm]?jsx?$/.test(filePath),
    isCommonJs: false,
    ...START,
    visit: (node) => visit(node, reading),
  };
  for (const statement of sourceFile?.statements ?? [])
    try {
      visit(statement, reading);
    } catch (visitError) {
      noteFailure(facts, visitError);
      Object.assign(reading, START);
    }
  noteTags(reading);
  facts.loc = countLines(reading);
  facts.decisions += reading.decisions;
  facts.todos = sourceFile ? todosIn(sourceFile, text, starts) : [];
  markExported(facts);
  if (sourceFile && !isModule(filePath, sourceFile, reading)) facts.global = true;
  if (isMarkedGenerated(text)) facts.made = true;
  noteError(facts, sourceFile, starts);
  facts.uses = packUses(entriesOf(reading.uses));
  return facts;
}

/** Whether other files see its declarations only by importing them. */
function isModule(filePath: string, sourceFile: ts.SourceFile, { isCommonJs }: Reading): boolean {
  return (
    (sourceFile as Parsed).externalModuleIndicator !== undefined ||
    isCommonJs ||
    /\.[cm][jt]s$/.test(filePath)
  );
}

/** Marks what `export { name }` names as exported. */
function markExported({ symbols, exports }: Facts): void {
  const localNames = new Set(
    exports.filter(({ from }) => !from).map(({ name, local = name }) => local),
  );
  for (const sym of symbols)
    if (!sym.owner && !sym.local && localNames.has(sym.name)) sym.exported = true;
}

function* entriesOf(nameUses: Map<ts.__String, number>): Generator<[string, number]> {
  for (const [escapedName, useCount] of nameUses)
    yield [unescapeLeadingUnderscores(escapedName), useCount];
}
