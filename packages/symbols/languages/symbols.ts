// From what a query found to symbols: their names, owners, signatures and comments.
import type { Node, QueryMatch } from "web-tree-sitter";
import { MAX_TEXT_CHARS, SYMBOL_KINDS, type Sym } from "../scan/facts.ts";
import { lineAt } from "../scan/line-numbers.ts";
import type { Span, Spans } from "./comment-masks.ts";
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

const KINDS = new Set<string>([...SYMBOL_KINDS, "scope"]);
const HOLDS = new Set<QueryKind>([
  "class",
  "interface",
  "enum",
  "scope",
  "function",
  "method",
  "namespace",
  "member",
]);
const TYPES = new Set<QueryKind>(["class", "interface", "enum", "scope", "member"]);
const BODY =
  /(?:^|_)(?:body|block|declaration_list|variant_list|compound_statement|field_list|accessor_list)$/;
const MAX_SYMBOLS = 5_000; // of one file
/** `@name(…)`, `#[…]`, `[…]` before a declaration; not `[a, b] = …`. */
const ANNOTATIONS =
  /^(?:(?:@(?!interface\b)[\w.:]+(?:\((?:[^()]|\([^()]*\))*\))?|#?\[(?:[^[\]]|\[[^[\]]*\])*\](?!\s*=))\s*)+/;

/** In the order of the text, what is around first. */
export function definitionsIn(file: Reading, matches: QueryMatch[]): Definition[] {
  const definitionsByKey = new Map<string, Definition & { order: number }>();
  for (const { captures, patternIndex } of matches) {
    const of = (name: string) => captures.find((capture) => capture.name === name)?.node;
    const kindCapture = captures.find(({ name }) => KINDS.has(name));
    if (!kindCapture) continue;
    for (const definition of kindCapture.node.childCount || of("name")
      ? definedBy(file, kindCapture.name as QueryKind, kindCapture.node, of)
      : []) {
      const key = `${definition.key}`;
      const earlier = definitionsByKey.get(key);
      if (!earlier || earlier.order > patternIndex)
        definitionsByKey.set(key, { ...definition, order: patternIndex });
    }
  }
  return [...definitionsByKey.values()]
    .sort((a, b) => a.from - b.from || b.end - a.end || a.order - b.order)
    .slice(0, MAX_SYMBOLS);
}

type Capture = (name: string) => Node | undefined;
function definedBy(
  file: Reading,
  symbolKind: QueryKind,
  node: Node,
  of: Capture,
): (Definition & { key: string })[] {
  const { language, text } = file;
  const [name, pattern, owner] = [of("name"), of("names"), ownerOf(of("owner")?.text ?? "")];
  if (pattern)
    return namedIn(pattern).map((nameNode) => ({
      ...definitionOf(file, symbolKind, node, nameIn(nameNode.text), owner),
      key: `${nameNode.startIndex}`,
    }));
  if (name || symbolKind === "scope") {
    const startIndex = name?.startIndex ?? node.startIndex;
    return [
      {
        ...definitionOf(file, symbolKind, node, nameIn(name?.text ?? ""), owner),
        key: `${startIndex}`,
      },
    ];
  }
  if (language.names) {
    const head = text.slice(node.startIndex, headEnd(node, text)).replace(NO_NAMES, " ");
    const names = new Set(Array.from(head.matchAll(language.names), ([, className]) => className!));
    return [...names].map((className) => ({
      ...definitionOf(file, symbolKind, node, className, ""),
      key: `.${className}`,
    }));
  }
  return declaredIn(node).map((declared) => ({
    ...definitionOf(
      file,
      declared.isFunction ? "function" : symbolKind,
      node,
      declared.name,
      declared.owner,
    ),
    key: `${declared.at}`,
  }));
}

/**
 * What `(a, *b), c = …` and its like in other languages give a value to; `a.b` and `a[b]` in it
 * were there before.
 */
const namedIn = (node: Node): Node[] => {
  if (PATTERN.test(node.type))
    return node.namedChildren.flatMap((child) => (!child || isLabel(child) ? [] : namedIn(child)));
  if (/^(?:identifier|simple_identifier|name)$/.test(node.type)) return [node];
  return [];
};
/** `let (x: a, y: b)` of Swift. */
const isLabel = ({ parent, nextSibling }: Node): boolean =>
  parent?.type === "pattern" && nextSibling?.type === ":";
const PATTERN =
  /^(?:pattern|pattern_list|(?:tuple|list|list_splat)_pattern|(?:multi_)?variable_declaration|list_literal|variable_name)$/;
/** In the head of a style rule. */
const NO_NAMES = /\/\*[\s\S]*?\*\/|"[^"]*"|'[^']*'|\[[^\]]*\]/g;

/** `*Server`, `Pair[K, V]`, `Point<T>`, `shop::Cart`: the type itself. */
const ownerOf = (text: string): string =>
  text
    .replace(/[<[][\s\S]*$/, "")
    .split(/::|\.|\\/)
    .at(-1)!
    .replace(/[^\p{L}\p{N}_$]/gu, "");
const nameIn = (text: string): string =>
  text
    .replace(/^:|<[\s\S]*$/g, "")
    .replaceAll("::", ".")
    .slice(0, MAX_TEXT_CHARS);

function definitionOf(
  { language, text, starts }: Reading,
  queryKind: QueryKind,
  node: Node,
  name: string,
  owner: string,
): Definition {
  const from = node.startIndex;
  const raw = text.slice(from, headEnd(node, text));
  const start = from + (ANNOTATIONS.exec(raw)?.[0].length ?? 0);
  const head = raw.slice(start - from);
  const symbolKind =
    queryKind === "class"
      ? (language.kinds?.find(([begin]) => begin.test(head))?.[1] ?? queryKind)
      : queryKind;
  const end = node.endIndex;
  const definition = {
    start,
    end,
    from,
    owner: owner || (symbolKind === "scope" ? ownerOf(name) : ""),
    name,
  };
  if (symbolKind === "scope") return definition;
  const signature = oneLine((language.before?.[node.type] ?? "") + head);
  const line = lineAt(starts, start);
  const sym: Sym = {
    name,
    kind: symbolKind,
    line,
    end: lineAt(starts, Math.max(start, endOf(text, end) - 1)),
    signature,
  };
  if (/\basync\b/.test(head)) sym.async = true;
  const modifiers = head.split("(")[0]!;
  if (language.isPrivate?.(name, modifiers)) sym.visibility = "private";
  else if (/\bprotected\b/.test(modifiers)) sym.visibility = "protected";
  else if (language.isExported?.(name, modifiers) ?? true) sym.exported = true;
  return { ...definition, sym };
}

/** Some nodes take the end of the line with them. */
function endOf(text: string, end: number): number {
  while (end > 0 && text.charCodeAt(end - 1) <= 32) end--;
  return end;
}

/** Where its body begins, or else its first line ends. */
function headEnd(node: Node, text: string): number {
  const { namedChildren, startIndex: start } = node;
  const bodyNode =
    node.childForFieldName("body") ?? namedChildren.find((child) => child && BODY.test(child.type));
  // Rust's `Circle(f64)`
  const body = bodyNode?.type === "ordered_field_declaration_list" ? undefined : bodyNode;
  const comment = namedChildren.find(
    (child) => child && /comment/.test(child.type) && child.startIndex > start,
  );
  if (body && body.startIndex > start)
    return Math.min(body.startIndex, comment?.startIndex ?? body.startIndex);
  const type = node.childForFieldName("type");
  const within =
    type &&
    (type.childForFieldName("body") ??
      type.namedChildren.find((child) => child && BODY.test(child.type)));
  if (!node.childCount)
    // a keyword
    return start + /^[^;\n]*/.exec(text.slice(start, start + 4 * MAX_TEXT_CHARS))![0].length;
  const line = text.indexOf("\n", node.startIndex);
  const end = line < 0 ? node.endIndex : Math.min(line, node.endIndex);
  return Math.min(
    within?.startIndex ?? node.endIndex,
    isOpen(text.slice(node.startIndex, end)) ? node.endIndex : end,
  );
}
/** A list that goes on in the next line. */
const isOpen = (line: string): boolean => /[(<,]\s*$/.test(line);

function oneLine(text: string): string {
  return text
    .slice(0, 4 * MAX_TEXT_CHARS)
    .replace(QUOTED_OR_BLANK, (matched, quoted?: string, open?: string, comma?: string) => {
      if (quoted) return quoted.replace(/\s+/g, " ");
      if (open !== undefined || comma === undefined) return open ?? " ";
      return matched.includes("\n") ? "" : comma;
    })
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
export function symbolsOf(file: Reading, definitions: Definition[], { comment }: Spans): Sym[] {
  const open: Definition[] = [];
  const knownKeys = new Set<string>();
  const symbols: Sym[] = [];
  const docs = docsBefore(file, comment);
  for (const definition of definitions) {
    const { sym, start, owner } = definition;
    while (open.length && open.at(-1)!.end <= start) open.pop();
    if (sym) {
      // `int f(void), g(void);` is one node
      const outer = open.filter(({ from, end }) => from < definition.from || end > definition.end);
      const around = outer.findLast((holder) => HOLDS.has(kindOf(holder)) && isOwner(file, holder));
      const owners = [
        ...outer
          .filter((holder) => isOwner(file, holder))
          .map((holder) => holder.owner || holder.name),
        owner,
      ];
      const isLocal = outer.some(({ sym }) => sym?.kind === "function" || sym?.kind === "method");
      if (TYPES.has(around ? kindOf(around) : "key") || owner) toMember(sym);
      sym.owner = [...new Set(owners.filter(Boolean))].join(".");
      if (!sym.owner) delete sym.owner;
      if (isLocal) sym.local = true;
      if (isLocal) delete sym.exported;
      const doc = docs(definition) || docstring(file, definition);
      if (doc) sym.doc = doc;
      const key = `${sym.owner}\n${sym.name}`;
      const isKnown = knownKeys.has(
        isValue(sym) || file.language.isMarkup ? key : `${key}\n${sym.line}`,
      );
      if (!isKnown && sym.name && !(isLocal && isValue(sym))) symbols.push(sym);
      knownKeys.add(key).add(`${key}\n${sym.line}`);
    }
    if (!sym || (HOLDS.has(sym.kind) && !file.language.isMarkup)) open.push(definition);
  }
  return symbols;
}

const kindOf = ({ sym }: Definition): QueryKind => sym?.kind ?? "scope";
const isValue = ({ kind: symbolKind }: Sym): boolean =>
  /^(?:const|variable|property)$/.test(symbolKind);
/**
 * A namespace is around all of a file in some languages: it says little there. A Go method names
 * its type itself.
 */
const isOwner = ({ language }: Reading, { sym }: Definition): boolean =>
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
  const byLine = new Map<number, Span>();
  for (const span of comments) byLine.set(lineAt(starts, endOf(text, span[1]) - 1), span);
  return ({ from }) => {
    let line = lineAt(starts, from) - 1;
    if (!KEYWORD.test(text.slice(starts[line], from))) return "";
    while (line > 0 && /^\s*(?:@|#?\[|template\b)/.test(text.slice(starts[line - 1], starts[line])))
      line--;
    let first: Span | undefined;
    for (let span = byLine.get(line); span && isAlone(text, span); span = byLine.get(line)) {
      first = span;
      line = lineAt(starts, span[0]) - 1;
      if (text.startsWith("/*", span[0])) break;
    }
    return first ? plain(text.slice(...first)) : "";
  };
}
/** What may stand before a definition in its line without being one itself. */
const KEYWORD = /^\s*(?:(?:type|const|var|typedef)\s+|template\s*<.*>\s*)?$/;
const isAlone = (text: string, [start]: Span): boolean =>
  !text.slice(text.lastIndexOf("\n", start - 1) + 1, start).trim();

function plain(comment: string): string {
  for (const line of comment.split("\n")) {
    const words = line
      .replace(/^\s*(?:\/\*+!?|\/\/+!?|\*+(?!\/)|#+!?|-{2,}\[*|<!--)?|(?:\*+\/|-->|\]\])\s*$/g, "")
      .replace(/<\/?[a-z]+>/g, "")
      .trim();
    if (words) return words.slice(0, MAX_TEXT_CHARS);
  }
  return "";
}

/** Python's comments of functions and classes are strings in them. */
function docstring({ language, text }: Reading, { start, end, sym }: Definition): string {
  if (language.name !== "Python" || !sym || !HOLDS.has(sym.kind)) return "";
  const body = text.slice(start, Math.min(end, start + 4_000));
  const [, words = ""] =
    /:\s*(?:#.*)?\n\s*[rRuUbB]{0,2}(?:"""|'''|"|')\s*([^\n]*)/.exec(body) ?? [];
  return words.replace(/\s*(?:"""|'''|"|')\s*$/, "").slice(0, MAX_TEXT_CHARS);
}
