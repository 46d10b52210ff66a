// From what a query found to symbols: their names, owners, signatures and comments.
import type { Node, QueryMatch } from "web-tree-sitter";
import { ownValue } from "zz/text";
import { MAX_TEXT_CHARS, SYMBOL_KINDS, type Sym } from "../scan/facts.ts";
import { lineAt } from "../scan/line-numbers.ts";
import { docLineOf, type Span, type Spans } from "./comment-masks.ts";
import { declaredIn } from "./declarators.ts";
import type { Language } from "./table.ts";

export interface Reading {
  language: Language;
  text: string;
  starts: number[];
}
/** A definition in the text; one without a symbol only holds others. */
export interface Definition {
  start: number; // of its signature
  end: number;
  from: number; // with what stands before its signature: annotations
  owner: string; // as it names it itself
  name: string;
  sym?: Sym;
}
type QueryKind = Sym["kind"] | "scope";

const QUERY_KINDS = new Set<string>([...SYMBOL_KINDS, "scope"]);
const HOLDER_KINDS = new Set<QueryKind>([
  "class",
  "interface",
  "enum",
  "scope",
  "function",
  "method",
  "namespace",
  "member",
]);
const TYPE_KINDS = new Set<QueryKind>(["class", "interface", "enum", "scope", "member"]);
const BODY_NODE =
  /(?:^|_)(?:body|block|compound_statement|(?:declaration|variant|field|accessor)_list)$/;
const MAX_SYMBOLS = 5_000; // of one file
const AT_ANNOTATION = /@(?!interface\b)[\w.:]+(?:\((?:[^()]|\([^()]*\))*\))?/.source;
const BRACKET_ANNOTATION = /#?\[(?:[^[\]]|\[[^[\]]*\])*\](?!\s*=)/.source;
/** `@name(…)`, `#[…]`, `[…]` before a declaration; not `[a, b] = …`. */
const ANNOTATIONS = new RegExp(`^(?:(?:${AT_ANNOTATION}|${BRACKET_ANNOTATION})\\s*)+`);

/** In the order of the text, what is around first. */
export function definitionsIn(reading: Reading, matches: QueryMatch[]): Definition[] {
  const definitionsByKey = new Map<string | number, Definition & { order: number }>();
  for (const { captures, patternIndex } of matches) {
    const nodeOf = (captureName: string) =>
      captures.find((capture) => capture.name === captureName)?.node;
    const kindCapture = captures.find(({ name }) => QUERY_KINDS.has(name));
    if (!kindCapture || !(kindCapture.node.childCount || nodeOf("name"))) continue;
    const { node, name: kindName } = kindCapture;
    const queryKind = kindName as QueryKind;
    for (const { key, name, owner, kind = queryKind } of namesOf(
      reading,
      queryKind,
      node,
      nodeOf,
    )) {
      const earlier = definitionsByKey.get(key);
      if (!earlier || earlier.order > patternIndex)
        definitionsByKey.set(key, {
          ...definitionOf(reading, kind, node, name, owner),
          order: patternIndex,
        });
    }
  }
  return [...definitionsByKey.values()]
    .sort(
      (first, second) =>
        first.from - second.from || second.end - first.end || first.order - second.order,
    )
    .slice(0, MAX_SYMBOLS);
}

interface DefinedName {
  name: string;
  owner: string;
  key: string | number; // equal for what is the same thing
  kind?: QueryKind; // unless the query says it
}
function namesOf(
  { language, text }: Reading,
  queryKind: QueryKind,
  node: Node,
  nodeOf: (captureName: string) => Node | undefined,
): DefinedName[] {
  const [namedNode, pattern, owner] = [
    nodeOf("name"),
    nodeOf("names"),
    ownerOf(nodeOf("owner")?.text ?? ""),
  ];
  if (pattern)
    return namedIn(pattern).map(({ text: nameText, startIndex }) => ({
      name: cleanName(nameText),
      owner,
      key: startIndex,
    }));
  if (namedNode || queryKind === "scope") {
    const { startIndex } = namedNode ?? node;
    return [{ name: cleanName(namedNode?.text ?? ""), owner, key: startIndex }];
  }
  if (language.names) {
    const headText = text.slice(node.startIndex, headEnd(node, text)).replace(NO_NAMES, " ");
    const classNames = Array.from(headText.matchAll(language.names), ([, className]) => className!);
    return classNames.map((name) => ({ name, owner: "", key: `.${name}` }));
  }
  return declaredIn(node).map(({ name, owner, at, isFunction }) => ({
    name,
    owner,
    key: at,
    kind: isFunction ? "function" : queryKind,
  }));
}

/**
 * What `(a, *b), c = …` and its like in other languages give a value to; `a.b` and `a[b]` in it
 * were there before.
 */
const namedIn = (patternNode: Node): Node[] => {
  if (PATTERN_TYPES.has(patternNode.type))
    return patternNode.namedChildren.flatMap((childNode) =>
      !childNode || isLabel(childNode) ? [] : namedIn(childNode),
    );
  if (/^(?:identifier|simple_identifier|name)$/.test(patternNode.type)) return [patternNode];
  return [];
};
/** `let (x: a, y: b)` of Swift. */
const isLabel = ({ parent, nextSibling }: Node) =>
  parent?.type === "pattern" && nextSibling?.type === ":";
const PATTERN_TYPES = new Set([
  "pattern",
  "pattern_list",
  "tuple_pattern",
  "list_pattern",
  "list_splat_pattern",
  "variable_declaration",
  "multi_variable_declaration",
  "list_literal",
  "variable_name",
]);
/** In the head of a style rule. */
const NO_NAMES = /\/\*[\s\S]*?\*\/|"[^"]*"|'[^']*'|\[[^\]]*\]/g;

/** `*Server`, `Pair[K, V]`, `Point<T>`, `shop::Cart`: the type itself. */
const ownerOf = (ownerText: string) =>
  ownerText
    .replace(/[<[][\s\S]*$/, "")
    .split(/::|\.|\\/)
    .at(-1)!
    .replace(/[^\p{L}\p{N}_$]/gu, "");
const cleanName = (nameText: string) =>
  nameText
    .replace(/^:|<[\s\S]*$/g, "")
    .replaceAll("::", ".")
    .slice(0, MAX_TEXT_CHARS);

function definitionOf(
  { language, text, starts }: Reading,
  queryKind: QueryKind,
  node: Node,
  name: string,
  ownerName: string,
): Definition {
  const from = node.startIndex;
  const rawHead = text.slice(from, headEnd(node, text));
  const start = from + (ANNOTATIONS.exec(rawHead)?.[0].length ?? 0);
  const headText = rawHead.slice(start - from);
  const symbolKind =
    queryKind === "class"
      ? (language.kinds?.find(([headPattern]) => headPattern.test(headText))?.[1] ?? queryKind)
      : queryKind;
  const end = node.endIndex;
  const definition = {
    start,
    end,
    from,
    owner: ownerName || (symbolKind === "scope" ? ownerOf(name) : ""),
    name,
  };
  if (symbolKind === "scope") return definition;
  const signature = oneLine((ownValue(language.before, node.type) ?? "") + headText);
  const line = lineAt(starts, start);
  const sym: Sym = {
    name,
    kind: symbolKind,
    line,
    end: lineAt(starts, Math.max(start, trimmedEnd(text, end) - 1)),
    signature,
  };
  if (/\basync\b/.test(headText)) sym.async = true;
  const modifiers = headText.split("(")[0]!;
  if (language.isPrivate?.(name, modifiers)) sym.visibility = "private";
  else if (/\bprotected\b/.test(modifiers)) sym.visibility = "protected";
  else if (language.isExported?.(name, modifiers) ?? true) sym.exported = true;
  return { ...definition, sym };
}

/** Some nodes take the end of the line with them. */
function trimmedEnd(sourceText: string, endOffset: number): number {
  while (endOffset > 0 && sourceText.charCodeAt(endOffset - 1) <= 32) endOffset--;
  return endOffset;
}

const bodyOf = (node: Node) =>
  node.childForFieldName("body") ??
  node.namedChildren.find((child) => child && BODY_NODE.test(child.type));
/** Where its body begins, or else its first line ends. */
function headEnd(node: Node, sourceText: string): number {
  const { namedChildren, startIndex: startOffset } = node;
  const bodyNode = bodyOf(node);
  // Rust's `Circle(f64)`
  const body = bodyNode?.type === "ordered_field_declaration_list" ? undefined : bodyNode;
  const comment = namedChildren.find(
    (childNode) =>
      childNode && /comment/.test(childNode.type) && childNode.startIndex > startOffset,
  );
  if (body && body.startIndex > startOffset)
    return Math.min(body.startIndex, comment?.startIndex ?? body.startIndex);
  const typeNode = node.childForFieldName("type");
  const typeBody = typeNode && bodyOf(typeNode);
  if (!node.childCount)
    // a keyword
    return (
      startOffset +
      /^[^;\n]*/.exec(sourceText.slice(startOffset, startOffset + 4 * MAX_TEXT_CHARS))![0].length
    );
  const lineBreak = sourceText.indexOf("\n", node.startIndex);
  const firstLineEnd = lineBreak < 0 ? node.endIndex : Math.min(lineBreak, node.endIndex);
  return Math.min(
    typeBody?.startIndex ?? node.endIndex,
    isOpenList(sourceText.slice(node.startIndex, firstLineEnd)) ? node.endIndex : firstLineEnd,
  );
}
/** A list that goes on in the next line. */
const isOpenList = (headLine: string) => /[(<,]\s*$/.test(headLine);

function oneLine(headText: string): string {
  return headText
    .slice(0, 4 * MAX_TEXT_CHARS)
    .replace(
      QUOTED_OR_BLANK,
      (matched, quotedText?: string, openBracket?: string, lineComma?: string) => {
        if (quotedText) return quotedText.replace(/\s+/g, " ");
        if (openBracket !== undefined || lineComma === undefined) return openBracket ?? " ";
        return matched.includes("\n") ? "" : lineComma;
      },
    )
    .replace(/(?:\s|[{;:,=]|=>|\bdo$|\bend$|(?<=\)) ?\{\}?$)+$/, "")
    .trim()
    .slice(0, MAX_TEXT_CHARS);
}

/**
 * Blanks and comments, after a bracket, before one with a comma that ends its line, and elsewhere.
 */
const QUOTED_OR_BLANK = new RegExp(
  /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`\n]*`|\[\[[\s\S]*?\]\])/.source +
    /|([([])BLANK+|(,?)BLANK+(?=[)\]])|BLANK+/.source.replaceAll(
      "BLANK",
      /(?:\s|\/\*[\s\S]*?\*\/)/.source,
    ),
  "g",
);

/** What is defined where: owners, what is local, what a method is, and the comment before each. */
export function symbolsOf(reading: Reading, definitions: Definition[], { comment }: Spans): Sym[] {
  const openDefinitions: Definition[] = [];
  const knownKeys = new Set<string>();
  const symbols: Sym[] = [];
  const findDoc = docsBefore(reading, comment);
  for (const definition of definitions) {
    const { sym, start, owner } = definition;
    while (openDefinitions.length && openDefinitions.at(-1)!.end <= start) openDefinitions.pop();
    if (sym) {
      // `int f(void), g(void);` is one node
      const enclosing = openDefinitions.filter(
        ({ from, end }) => from < definition.from || end > definition.end,
      );
      const innermost = enclosing.findLast(
        (holder) => HOLDER_KINDS.has(queryKindOf(holder)) && isOwner(reading, holder),
      );
      const ownerNames = [
        ...enclosing
          .filter((holder) => isOwner(reading, holder))
          .map((holder) => holder.owner || holder.name),
        owner,
      ];
      const isLocal = enclosing.some(
        ({ sym }) => sym?.kind === "function" || sym?.kind === "method",
      );
      if (TYPE_KINDS.has(innermost ? queryKindOf(innermost) : "key") || owner) toMember(sym);
      sym.owner = [...new Set(ownerNames.filter(Boolean))].join(".");
      if (!sym.owner) delete sym.owner;
      if (isLocal) sym.local = true;
      if (isLocal) delete sym.exported;
      const docLine = findDoc(definition) || docstring(reading, definition);
      if (docLine) sym.doc = docLine;
      const symbolKey = `${sym.owner}\n${sym.name}`;
      const isKnown = knownKeys.has(
        isValue(sym) || reading.language.isMarkup ? symbolKey : `${symbolKey}\n${sym.line}`,
      );
      if (!isKnown && sym.name && !(isLocal && isValue(sym))) symbols.push(sym);
      knownKeys.add(symbolKey).add(`${symbolKey}\n${sym.line}`);
    }
    if (!sym || (HOLDER_KINDS.has(sym.kind) && !reading.language.isMarkup))
      openDefinitions.push(definition);
  }
  return symbols;
}

const queryKindOf = ({ sym }: Definition): QueryKind => sym?.kind ?? "scope";
const isValue = ({ kind: symbolKind }: Sym) => /^(?:const|variable|property)$/.test(symbolKind);
/**
 * A namespace is around all of a file in some languages: it says little there. A Go method names
 * its type itself.
 */
const isOwner = ({ language }: Reading, { sym }: Definition) =>
  sym?.kind !== "namespace" || !!language.nested;

function toMember(sym: Sym): void {
  if (sym.kind === "function") sym.kind = "method";
  else if (sym.kind === "const" || sym.kind === "variable") sym.kind = "property";
}

/** The first line of the comment right before a definition. */
function docsBefore(
  { text, starts }: Reading,
  comments: Span[],
): (definition: Definition) => string {
  const commentsByLine = new Map<number, Span>();
  for (const commentSpan of comments)
    commentsByLine.set(lineAt(starts, trimmedEnd(text, commentSpan[1]) - 1), commentSpan);
  return ({ from }) => {
    let commentLine = lineAt(starts, from) - 1;
    if (!KEYWORD.test(text.slice(starts[commentLine], from))) return "";
    while (
      commentLine > 0 &&
      /^\s*(?:@|#?\[|template\b)/.test(text.slice(starts[commentLine - 1], starts[commentLine]))
    )
      commentLine--;
    let firstSpan: Span | undefined;
    for (
      let commentSpan = commentsByLine.get(commentLine);
      commentSpan && isAlone(text, commentSpan);
      commentSpan = commentsByLine.get(commentLine)
    ) {
      firstSpan = commentSpan;
      commentLine = lineAt(starts, commentSpan[0]) - 1;
      if (text.startsWith("/*", commentSpan[0])) break;
    }
    return firstSpan ? docLineOf(text.slice(...firstSpan)) : "";
  };
}
/** What may stand before a definition in its line without being one itself. */
const KEYWORD = /^\s*(?:(?:type|const|var|typedef)\s+|template\s*<.*>\s*)?$/;
const isAlone = (sourceText: string, [commentStart]: Span) =>
  !sourceText.slice(sourceText.lastIndexOf("\n", commentStart - 1) + 1, commentStart).trim();

/** Python's comments of functions and classes are strings in them. */
function docstring({ language, text }: Reading, { start, end, sym }: Definition): string {
  if (language.name !== "Python" || !sym || !HOLDER_KINDS.has(sym.kind)) return "";
  const bodyText = text.slice(start, Math.min(end, start + 4_000));
  const [, docWords = ""] =
    /:\s*(?:#.*)?\n\s*[rRuUbB]{0,2}(?:"""|'''|"|')\s*([^\n]*)/.exec(bodyText) ?? [];
  return docWords.replace(/\s*(?:"""|'''|"|')\s*$/, "").slice(0, MAX_TEXT_CHARS);
}
