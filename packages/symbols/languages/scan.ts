// One file's facts in another language, by its grammar. Does not throw, whatever the text is;
// prepare() comes first.
import type { Node, QueryMatch, Tree } from "web-tree-sitter";
import { emptyFacts, type Facts, type Import, unreadFacts } from "../scan/facts.ts";
import { isMarkedGenerated } from "../scan/generated-files.ts";
import { lineStarts } from "../scan/line-numbers.ts";
import { packUses } from "../scan/uses.ts";
import { countLines, maskOf, type Spans, todosIn, usesIn } from "./comment-masks.ts";
import { scanComponent } from "./component.ts";
import { deadline, type Grammar, grammarOf, MAX_PARSE_S, renew } from "./grammar.ts";
import { importsIn } from "./read-imports.ts";
import { scanSql } from "./sql.ts";
import { definitionsIn, type Reading, symbolsOf } from "./symbols.ts";
import { isComponent, type Language, languageOf } from "./table.ts";

// characters a line on average, in a text of at least so many
const MINIFIED = { lines: 500, chars: 5_000 };
const NOT_C =
  /^\s*(?:class\s+\w|namespace\b|template\s*<|public:|private:|using\s+\w)|\bstd::|\bconstexpr\b/m;

export function scanLanguage(path: string, text: string, seconds = MAX_PARSE_S): Facts {
  if (isComponent(path)) return scanComponent(path, text);
  const language = languageOf(path)!;
  const starts = lineStarts(text);
  if (text.length >= MINIFIED.chars && text.length / starts.length > MINIFIED.lines)
    return unreadFacts("minified");
  const facts = language.grammar
    ? scanByGrammar(language, path, text, starts, seconds)
    : scanSql(text, starts);
  if (isMarkedGenerated(text)) facts.made = true;
  return facts;
}

/** Headers may be either's. */
function ruling(language: Language, path: string, text: string): Language {
  return /\.h$/i.test(path) && NOT_C.test(text) ? languageOf("a.hpp")! : language;
}

function scanByGrammar(
  namedLanguage: Language,
  path: string,
  text: string,
  starts: number[],
  seconds: number,
): Facts {
  const language = ruling(namedLanguage, path, text);
  const grammar = grammarOf(language);
  if (typeof grammar === "string") return { ...unreadFacts(grammar), retry: true };
  const isLate = deadline(seconds);
  let tree: Tree | null | undefined;
  try {
    tree = parse(grammar, text, isLate);
    const repaired = tree?.rootNode.hasError && language.repair?.(text);
    if (repaired && repaired !== text) {
      tree!.delete();
      tree = parse(grammar, repaired, isLate);
    }
    const matches = tree ? grammar.query.matches(tree.rootNode, { progressCallback: isLate }) : [];
    if (!tree || isLate())
      return unreadFacts(`its ${language.name} takes more than ${seconds} s to parse`);
    return factsOf({ language, text, starts }, tree.rootNode, matches);
  } catch (error) {
    renew(grammar);
    return unreadFacts(
      `its ${language.name} cannot be parsed: ${String((error as Error)?.message ?? error).split("\n")[0]}`,
    );
  } finally {
    tree?.delete();
  }
}

function parse({ parser }: Grammar, text: string, isLate: () => boolean): Tree | null {
  parser.reset();
  return parser.parse(text, null, { progressCallback: isLate });
}

function factsOf(file: Reading, root: Node, matches: QueryMatch[]): Facts {
  const { text, starts, language } = file;
  const facts = emptyFacts();
  const spans: Spans = { comment: [], string: [], code: [], branch: [], case: [] };
  for (const { captures } of matches)
    for (const { name, node } of captures) {
      if (name in spans) spans[name as keyof Spans].push([node.startIndex, node.endIndex]);
      else if (name === "import") facts.imports.push(...importsAt(language, node));
    }
  const mask = maskOf(text.length, spans);
  const definitions = definitionsIn(file, matches);
  facts.symbols = symbolsOf(file, definitions, spans);
  Object.assign(facts, branchesOf(file, definitions, spans, mask));
  facts.uses = packUses(usesIn(text, mask, language.word));
  facts.todos = todosIn(text, starts, mask);
  facts.loc = countLines(text, starts, mask);
  if (root.hasError && !language.hasMacros)
    facts.parseError = `line ${firstError(root)} is not understood`;
  return facts;
}

function importsAt({ name }: Language, node: Node): Import[] {
  const imports = importsIn(name, node.text, node.startPosition.row + 1);
  if (name !== "Rust") return imports;
  const around: string[] = []; // modules that are written out in the file
  for (let up = node.parent; up; up = up.parent)
    if (up.type === "mod_item") around.unshift(up.childForFieldName("name")?.text ?? "");
  if (!around.length) return imports;
  return imports.map((importFact) => {
    if (node.type !== "mod_item") return { ...importFact, inside: around.length };
    return {
      ...importFact,
      from: ["self", ...around, importFact.from.slice("self::".length)].join("::"),
    };
  });
}

/** Counts branches, those of each function apart, and how deep they nest. */
function branchesOf(
  { language, text }: Reading,
  definitions: ReturnType<typeof definitionsIn>,
  spans: Spans,
  mask: Uint8Array,
): Pick<Facts, "decisions" | "nesting"> {
  if (language.isMarkup) return { decisions: 0, nesting: 0 };
  const functions = definitions.filter(
    ({ sym }) => sym?.kind === "function" || sym?.kind === "method",
  );
  const operators = Array.from(text.matchAll(language.logic ?? /&&|\|\|/g), ({ index }) => index);
  const decisions = [
    ...[...spans.branch, ...spans.case].map(([start]) => start),
    ...operators.filter((offset) => !mask[offset]),
  ].sort((a, b) => a - b);
  const around: typeof functions = [];
  let next = 0;
  for (const offset of decisions) {
    while (next < functions.length && functions[next]!.start <= offset)
      around.push(functions[next++]!);
    while (around.length && around.at(-1)!.end <= offset) around.pop();
    const inner = around.findLast(({ end }) => end > offset)?.sym;
    if (inner) inner.decisions = (inner.decisions ?? 0) + 1;
  }
  const nests = [
    ...spans.branch.filter(
      ([start]) => !/\belse\s+$/.test(text.slice(Math.max(0, start - 12), start)),
    ),
  ]
    .concat(functions.map(({ start, end }) => [start, end]))
    .sort(([a], [b]) => a - b);
  const open: number[] = [];
  let nesting = 0;
  for (const [start, end] of nests) {
    while (open.length && open.at(-1)! <= start) open.pop();
    nesting = Math.max(nesting, open.push(end));
  }
  return { decisions: decisions.length, nesting };
}

/** Down to the first node that is wrong itself. */
function firstError(root: Node): number {
  let node = root;
  for (;;) {
    const wrong = node.children.find(
      (child) => child && (child.isError || child.isMissing || child.hasError),
    );
    if (!wrong) return node.startPosition.row + 1;
    node = wrong;
    if (node.isError || node.isMissing) return node.startPosition.row + 1;
  }
}
