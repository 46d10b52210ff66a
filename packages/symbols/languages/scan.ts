// One file's facts in another language, by its grammar. Does not throw, whatever the text is;
// prepare() comes first.
import type { Node, QueryMatch, Tree } from "web-tree-sitter";
import { workLimit } from "zz/text";
import { emptyFacts, type Facts, type Import, unreadFacts } from "../scan/facts.ts";
import { isMarkedGenerated } from "../scan/generated-files.ts";
import { isMinified, lineStarts } from "../scan/line-numbers.ts";
import { packUses } from "../scan/uses.ts";
import { countLines, maskedTodos, maskOf, type Spans, usesIn } from "./comment-masks.ts";
import { scanComponent } from "./component.ts";
import { type Grammar, grammarOf, MAX_PARSE_S, renew } from "./grammar.ts";
import { importsIn } from "./read-imports.ts";
import { scanSql } from "./sql.ts";
import { definitionsIn, type Reading, symbolsOf } from "./symbols.ts";
import { isComponent, type Language, languageOf } from "./table.ts";

const CPP_SIGNS =
  /^\s*(?:class\s+\w|namespace\b|template\s*<|public:|private:|using\s+\w)|\bstd::|\bconstexpr\b/m;

export function scanLanguage(filePath: string, sourceText: string, seconds = MAX_PARSE_S): Facts {
  if (isComponent(filePath)) return scanComponent(filePath, sourceText);
  const language = languageOf(filePath)!;
  const lineOffsets = lineStarts(sourceText);
  if (isMinified(sourceText, lineOffsets.length)) return unreadFacts("minified");
  const facts = language.grammar
    ? scanByGrammar(language, filePath, sourceText, lineOffsets, seconds)
    : scanSql(sourceText, lineOffsets);
  if (isMarkedGenerated(sourceText)) facts.made = true;
  return facts;
}

function scanByGrammar(
  namedLanguage: Language,
  filePath: string,
  text: string,
  starts: number[],
  seconds: number,
): Facts {
  const isCpp = /\.h$/i.test(filePath) && CPP_SIGNS.test(text); // headers may be either's
  const language = isCpp ? languageOf("a.hpp")! : namedLanguage;
  const grammar = grammarOf(language);
  if (typeof grammar === "string") return { ...unreadFacts(grammar), retry: true };
  const isLate = workLimit(seconds * 1_000);
  let syntaxTree: Tree | null | undefined;
  try {
    syntaxTree = parseText(grammar, text, isLate);
    const repaired = syntaxTree?.rootNode.hasError && language.repair?.(text);
    if (repaired && repaired !== text) {
      syntaxTree!.delete();
      syntaxTree = parseText(grammar, repaired, isLate);
    }
    const matches = syntaxTree
      ? grammar.query.matches(syntaxTree.rootNode, { progressCallback: isLate })
      : [];
    if (!syntaxTree || isLate())
      return unreadFacts(`its ${language.name} takes more than ${seconds} s to parse`);
    return factsOf({ language, text, starts }, syntaxTree.rootNode, matches);
  } catch (parseError) {
    renew(grammar);
    return unreadFacts(
      `its ${language.name} cannot be parsed: ` +
        `${String((parseError as Error)?.message ?? parseError).split("\n")[0]}`,
    );
  } finally {
    syntaxTree?.delete();
  }
}

function parseText({ parser }: Grammar, sourceText: string, isLate: () => boolean): Tree | null {
  parser.reset();
  return parser.parse(sourceText, null, { progressCallback: isLate });
}

function factsOf(reading: Reading, rootNode: Node, matches: QueryMatch[]): Facts {
  const { text, starts, language } = reading;
  const facts = emptyFacts();
  const spans: Spans = { comment: [], string: [], code: [], branch: [], case: [] };
  for (const { captures } of matches)
    for (const { name, node } of captures) {
      if (name in spans) spans[name as keyof Spans].push([node.startIndex, node.endIndex]);
      else if (name === "import") facts.imports.push(...importsAt(language, node));
    }
  const charMask = maskOf(text.length, spans);
  const definitions = definitionsIn(reading, matches);
  facts.symbols = symbolsOf(reading, definitions, spans);
  Object.assign(facts, branchesOf(reading, definitions, spans, charMask));
  facts.uses = packUses(usesIn(text, charMask, language.word));
  facts.todos = maskedTodos(text, starts, charMask);
  facts.loc = countLines(text, starts, charMask);
  if (rootNode.hasError && !language.hasMacros)
    facts.parseError = `line ${firstError(rootNode)} is not understood`;
  return facts;
}

function importsAt({ name }: Language, importNode: Node): Import[] {
  const imports = importsIn(name, importNode.text, importNode.startPosition.row + 1);
  if (name !== "Rust") return imports;
  const outerModules: string[] = []; // modules that are written out in the file
  for (let ancestor = importNode.parent; ancestor; ancestor = ancestor.parent)
    if (ancestor.type === "mod_item")
      outerModules.unshift(ancestor.childForFieldName("name")?.text ?? "");
  if (!outerModules.length) return imports;
  return imports.map((importFact) => {
    if (importNode.type !== "mod_item") return { ...importFact, inside: outerModules.length };
    return {
      ...importFact,
      from: ["self", ...outerModules, importFact.from.slice("self::".length)].join("::"),
    };
  });
}

/** Counts branches, those of each function apart, and how deep they nest. */
function branchesOf(
  { language, text }: Reading,
  definitions: ReturnType<typeof definitionsIn>,
  spans: Spans,
  charMask: Uint8Array,
): Pick<Facts, "decisions" | "nesting"> {
  if (language.isMarkup) return { decisions: 0, nesting: 0 };
  const functions = definitions.filter(
    ({ sym }) => sym?.kind === "function" || sym?.kind === "method",
  );
  const operators = Array.from(text.matchAll(language.logic ?? /&&|\|\|/g), ({ index }) => index);
  const decisions = [
    ...[...spans.branch, ...spans.case].map(([branchStart]) => branchStart),
    ...operators.filter((operatorOffset) => !charMask[operatorOffset]),
  ].sort((first, second) => first - second);
  const openFunctions: typeof functions = [];
  let nextFunction = 0;
  for (const decisionOffset of decisions) {
    while (nextFunction < functions.length && functions[nextFunction]!.start <= decisionOffset)
      openFunctions.push(functions[nextFunction++]!);
    while (openFunctions.length && openFunctions.at(-1)!.end <= decisionOffset) openFunctions.pop();
    const innerSymbol = openFunctions.findLast(({ end }) => end > decisionOffset)?.sym;
    if (innerSymbol) innerSymbol.decisions = (innerSymbol.decisions ?? 0) + 1;
  }
  const nestingSpans = spans.branch
    .filter(
      ([branchStart]) => !/\belse\s+$/.test(text.slice(Math.max(0, branchStart - 12), branchStart)),
    )
    .concat(functions.map(({ start, end }) => [start, end]))
    .sort(([firstStart], [secondStart]) => firstStart - secondStart);
  const openEnds: number[] = [];
  let nesting = 0;
  for (const [spanStart, spanEnd] of nestingSpans) {
    while (openEnds.length && openEnds.at(-1)! <= spanStart) openEnds.pop();
    nesting = Math.max(nesting, openEnds.push(spanEnd));
  }
  return { decisions: decisions.length, nesting };
}

/** Down to the first node that is wrong itself. */
function firstError(rootNode: Node): number {
  let node = rootNode;
  do {
    const wrongChild = node.children.find((childNode) => childNode?.hasError);
    if (!wrongChild) break;
    node = wrongChild;
  } while (!node.isError);
  return node.startPosition.row + 1;
}
