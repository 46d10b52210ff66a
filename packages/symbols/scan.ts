// One file's facts, by TypeScript's parser alone: no program, no types. Loaded on first use; in
// dist/ it is bundled with only the parser, which loads in a sixth of the time of the whole
// compiler (see build/typescript.js).
import type { ts } from "ts-morph";
import { todosIn } from "./scan/comments.ts";
import { bothSides, conflictIn } from "./scan/conflict.ts";
import { scanJson, scanYaml } from "./scan/data-files.ts";
import { emptyFacts, type Facts, unreadFacts } from "./scan/facts.ts";
import { isMarkedGenerated } from "./scan/generated-files.ts";
import { countLines, isMinified, lineAt, lineStarts } from "./scan/line-numbers.ts";
import { isInComment } from "./scan/nodes.ts";
import { noteError, noteFailure, parse } from "./scan/parse.ts";
import {
  createSourceFile,
  isExternalModule,
  PARSE_OPTIONS,
  unescapeLeadingUnderscores,
} from "./scan/parser.ts";
import { noteTags, type Reading, START } from "./scan/scan-state.ts";
import { packUses } from "./scan/uses.ts";
import { visit } from "./scan/visit.ts";

export type { Facts, Sym } from "./scan/facts.ts";
export { unreadFacts as listed };

/** Does not throw, whatever the text is. */
export function scan(filePath: string, sourceText: string): Facts {
  if (/\.json$/i.test(filePath)) return scanJson(filePath, sourceText);
  if (/\.ya?ml$/i.test(filePath)) return scanYaml(sourceText);
  return scanCode(filePath, sourceText);
}

function scanCode(filePath: string, text: string): Facts {
  const starts = lineStarts(text);
  if (/[.-]min\.[cm]?js$/.test(filePath) || isMinified(text, starts.length))
    return unreadFacts("minified");
  const facts = emptyFacts();
  const conflict = conflictIn(text);
  if (conflict >= 0) {
    facts.parseError = `line ${lineAt(starts, conflict)}: a merge conflict`;
    text = bothSides(text);
  }
  const sourceFile = parse(facts, () => createSourceFile(filePath, text, PARSE_OPTIONS));
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
  markExported(facts);
  if (sourceFile) {
    facts.todos = todosIn(text, starts, (offset) => isInComment(sourceFile, offset));
    if (!isModule(filePath, sourceFile, reading)) facts.global = true;
  }
  if (isMarkedGenerated(text)) facts.made = true;
  noteError(facts, sourceFile, starts);
  facts.uses = packUses(
    Array.from(reading.uses, ([name, useCount]) => [unescapeLeadingUnderscores(name), useCount]),
  );
  return facts;
}

/** Whether other files see its declarations only by importing them. */
function isModule(filePath: string, sourceFile: ts.SourceFile, { isCommonJs }: Reading): boolean {
  return isExternalModule(sourceFile) || isCommonJs || /\.[cm][jt]s$/.test(filePath);
}

/** Marks what `export { name }` names as exported. */
function markExported({ symbols, exports }: Facts): void {
  const localNames = new Set(
    exports.filter(({ from }) => !from).map(({ name, local = name }) => local),
  );
  for (const sym of symbols)
    if (!sym.owner && !sym.local && localNames.has(sym.name)) sym.exported = true;
}
