// Vue, Svelte and HTML: their scripts are TypeScript's to read, in their place; a component has the
// name of its file.
import { emptyFacts, type Facts, MAX_TEXT_CHARS, type Sym } from "../scan/facts.ts";
import { lineAt, lineStarts } from "../scan/line-numbers.ts";
import { eachUse, packUses } from "../scan/uses.ts";
import { scan } from "../scan.ts";
import { countLines, maskOf, type Span, todosIn, usesIn } from "./comment-masks.ts";

const PARTS =
  /<!--[\s\S]*?(?:-->|$)|<(script|style)\b((?:[^>"']|"[^"]*"|'[^']*')*)>([\s\S]*?)(?:<\/\1\s*>|$)|<[a-z][\w.:-]*(?:[^<>"']|"[^"]*"|'[^']*')*>/gi;
const ATTRIBUTE = /([@:#\w.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>={][^\s"'<>=]*))/g;
const BRACES = /\{\{?([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}?\}/g;
const DATA_SCRIPT =
  /type\s*=\s*["']?(?:application\/(?:ld\+)?json|importmap|text\/(?:template|html))/i;

interface Parts {
  scripts: { span: Span; tag: string }[];
  comments: Span[];
  styles: Span[];
  tags: { offset: number; end: number; text: string }[];
}

export function scanComponent(path: string, text: string): Facts {
  const starts = lineStarts(text);
  const parts = partsOf(text);
  const facts = scriptFacts(path, text, parts);
  const isPage = PAGE.test(path);
  if (isPage) idsIn(facts, parts, starts);
  else facts.symbols.unshift(componentSymbol(path, starts.length - (text.endsWith("\n") ? 1 : 0)));
  for (const { text: tag, offset } of parts.tags)
    linksOf(facts, tag, lineAt(starts, offset), isPage);
  for (const { tag, span } of parts.scripts)
    linksOf(facts, `<script ${tag}>`, lineAt(starts, span[0]), isPage);
  facts.imports.sort((a, b) => a.line - b.line);
  const scripts = parts.scripts.map(({ span }) => span);
  const mask = maskOf(text.length, {
    comment: parts.comments,
    string: [...scripts, ...parts.styles],
    code: [],
  });
  facts.todos = [...facts.todos, ...todosIn(text, starts, mask)].sort((a, b) => a.line - b.line);
  facts.loc = countLines(
    text,
    starts,
    maskOf(text.length, { comment: parts.comments, string: [], code: [] }),
  );
  countUses(facts, text, parts, isPage);
  delete facts.global;
  return facts;
}

/** What is not code: comments and styles; in a page all but scripts and what names something. */
export function componentSpans(
  path: string,
  text: string,
): { comment: Span[]; string: Span[]; code: Span[] } {
  const { comments, styles, scripts, tags } = partsOf(text);
  if (!PAGE.test(path)) return { comment: comments, string: styles, code: [] };
  const code = scripts.map(({ span }) => span);
  for (const { text: tag, offset } of tags)
    for (const { index, name, value } of attributesIn(tag)) {
      if (!namesIn(name, value).length && !HANDLER.test(name)) continue;
      const start = offset + tag.indexOf(value, index + name.length);
      code.push([start, start + value.length]);
    }
  return { comment: comments, string: [[0, text.length]], code };
}
const PAGE = /\.html?$/i;
const HANDLER = /^on[a-z]+$/; // its value is code
const NAMING = /^(?:class|id|for|form|list|headers|aria-(?:controls|describedby|labelledby|owns))$/;
/** The classes and ids in an attribute. */
const namesIn = (name: string, value: string): string[] => {
  if (NAMING.test(name)) return value.split(/\s+/).filter(Boolean);
  if (name === "href" && /^#[^/]/.test(value)) return [value.slice(1)];
  return [];
};

function partsOf(text: string): Parts {
  const parts: Parts = { scripts: [], comments: [], styles: [], tags: [] };
  for (const { 0: match, 1: element, 2: tag = "", 3: inner = "", index } of text.matchAll(PARTS)) {
    const end = index + match.length;
    if (!element && match.startsWith("<!--")) parts.comments.push([index, end]);
    else if (!element) parts.tags.push({ offset: index, end, text: match });
    else {
      const start = index + 1 + element.length + tag.length + 1;
      const span: Span = [start, start + inner.length];
      if (element.toLowerCase() === "style" || DATA_SCRIPT.test(tag)) parts.styles.push(span);
      else parts.scripts.push({ span, tag });
    }
  }
  return parts;
}

/** The rest of the file is blank for TypeScript, so that lines stay what they are. */
function scriptFacts(path: string, text: string, { scripts }: Parts): Facts {
  if (!scripts.some(({ span: [start, end] }) => text.slice(start, end).trim())) return emptyFacts();
  let [scriptText, from] = ["", 0];
  for (const {
    span: [start, end],
  } of scripts) {
    scriptText += text.slice(from, start).replace(/[^\n]/g, " ") + text.slice(start, end);
    from = end;
  }
  const isTyped = scripts.some(({ tag }) => /lang\s*=\s*["']?tsx?/i.test(tag));
  const isJsx = scripts.some(({ tag }) => /lang\s*=\s*["']?[jt]sx/i.test(tag));
  const facts = scan(
    `${path}.${isTyped ? "ts" : "js"}${isJsx ? "x" : ""}`,
    scriptText + text.slice(from).replace(/[^\n]/g, " "),
  );
  if (facts.unread) return { ...emptyFacts(), unread: facts.unread };
  return facts;
}

function componentSymbol(path: string, end: number): Sym {
  const file = path.slice(path.lastIndexOf("/") + 1).replace(/\.\w+$/, "");
  const folder = path.split("/").at(-2) ?? file;
  const name = pascal(/^index$/i.test(file) ? folder : file);
  return {
    name,
    kind: "class",
    line: 1,
    end: Math.max(end, 1),
    signature: `component ${name}`,
    exported: true,
  };
}
const pascal = (name: string): string =>
  name
    .replace(/^\+/, "")
    .replace(/(?:^|[^\p{L}\p{N}_$]+)([\p{L}\p{N}])/gu, (_, letter: string) => letter.toUpperCase());

function attributesOf(tag: string): Map<string, string> {
  return new Map(attributesIn(tag).map(({ name, value }) => [name, value]));
}
const attributesIn = (tag: string): { index: number; name: string; value: string }[] =>
  Array.from(tag.matchAll(ATTRIBUTE), ({ 1: name, 2: double, 3: single, 4: bare, index }) => {
    return { index, name: name!.toLowerCase(), value: (double ?? single ?? bare)! };
  });

function idsIn(facts: Facts, { tags }: Parts, starts: number[]): void {
  for (const { text, offset } of tags) {
    const id = attributesOf(text).get("id");
    const line = lineAt(starts, offset);
    if (id)
      facts.symbols.push({
        name: id,
        kind: "key",
        line,
        end: line,
        signature: text.replace(/\s+/g, " ").slice(0, MAX_TEXT_CHARS),
      });
  }
  facts.symbols.sort((a, b) => a.line - b.line);
}

/** A script, a style sheet. */
function linksOf(facts: Facts, tag: string, line: number, isPage: boolean): void {
  const isLink = /^<link\b/i.test(tag);
  if (!isLink && !/^<script\b/i.test(tag)) return;
  const attributes = attributesOf(tag);
  const from = attributes.get(isLink ? "href" : "src");
  if (!from || (isLink && !/stylesheet|modulepreload/i.test(attributes.get("rel") ?? ""))) return;
  const isBare = isPage && !/^(?:[./]|[a-z]+:)/i.test(from); // in a page that is beside it
  facts.imports.push({ from: isBare ? `./${from}` : from, line, how: "import", names: [] });
}

/**
 * The names in a template: of components, as tags spell them too, of classes and ids, and in what
 * is computed.
 */
function countUses(
  facts: Facts,
  text: string,
  { scripts, styles, comments, tags }: Parts,
  isPage: boolean,
): void {
  const uses = new Map<string, number>();
  const add = (name: string, count = 1) => void uses.set(name, (uses.get(name) ?? 0) + count);
  eachUse(facts.uses, add);
  const addAll = (code: string) => {
    for (const [name, count] of usesIn(code, new Uint8Array(code.length)))
      if (count) add(name, count);
  };
  let [template, from] = ["", 0];
  for (const [start, end] of [...scripts.map(({ span }) => span), ...styles, ...comments].sort(
    (a, b) => a[0] - b[0],
  )) {
    template += text.slice(from, Math.max(from, start));
    from = Math.max(from, end);
  }
  template += text.slice(from);
  for (const { text: tag } of tags) {
    const name = /^<([\w.-]+)/.exec(tag)![1]!;
    if (!isPage && /^\p{Lu}|-/u.test(name)) add(pascal(name.split(".")[0]!));
    for (const { name: key, value } of attributesIn(tag)) {
      for (const word of namesIn(key, value)) add(word);
      if (isPage ? HANDLER.test(key) : /^(?:[@:#]|v-)/.test(key)) addAll(value);
      if (/^(?:v-bind)?:class$/.test(key))
        for (const [, names = ""] of value.matchAll(/["'`]([\w -]+)["'`]/g))
          for (const word of namesIn("class", names)) add(word);
    }
    for (const [, word = ""] of isPage ? [] : tag.matchAll(/\sclass:([\w-]+)/g)) add(word);
  }
  if (!isPage) for (const [, code = ""] of template.matchAll(BRACES)) addAll(code);
  facts.uses = packUses(uses);
}
