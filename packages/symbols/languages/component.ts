// Vue, Svelte and HTML: their scripts are TypeScript's to read, in their place; a component has the
// name of its file.
import { anyOf } from "zz/text";
import { emptyFacts, type Facts, MAX_TEXT_CHARS, type Sym } from "../scan/facts.ts";
import { lineAt, lineStarts } from "../scan/line-numbers.ts";
import { eachUse, packUses } from "../scan/uses.ts";
import { scan } from "../scan.ts";
import {
  codeAlone,
  countLines,
  maskedTodos,
  maskOf,
  type Span,
  type Spans,
  usesIn,
} from "./comment-masks.ts";

const PART_PATTERN = anyOf(
  /<!--[\s\S]*?(?:-->|$)/gi,
  /<(script|style)\b((?:[^>"']|"[^"]*"|'[^']*')*)>([\s\S]*?)(?:<\/\1\s*>|$)/gi,
  /<[a-z][\w.:-]*(?:[^<>"']|"[^"]*"|'[^']*')*>/gi,
);
const ATTRIBUTE = /([@:#\w.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>={][^\s"'<>=]*))/g;
const BRACES_PATTERN = /\{\{?([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}?\}/g;
const DATA_SCRIPT =
  /type\s*=\s*["']?(?:application\/(?:ld\+)?json|importmap|text\/(?:template|html))/i;

interface Parts {
  scripts: { span: Span; tag: string }[];
  comments: Span[];
  styles: Span[];
  tags: { offset: number; text: string }[];
}

export function scanComponent(filePath: string, sourceText: string): Facts {
  const lineOffsets = lineStarts(sourceText);
  const componentParts = partsOf(sourceText);
  const facts = scriptFacts(filePath, sourceText, componentParts);
  const isPage = PAGE_FILE.test(filePath);
  if (isPage) addIds(facts, componentParts, lineOffsets);
  else
    facts.symbols.unshift(
      componentSymbol(filePath, lineOffsets.length - (sourceText.endsWith("\n") ? 1 : 0)),
    );
  for (const { text: tagText, offset } of componentParts.tags)
    linksOf(facts, tagText, lineAt(lineOffsets, offset), isPage);
  for (const { tag, span } of componentParts.scripts)
    linksOf(facts, `<script ${tag}>`, lineAt(lineOffsets, span[0]), isPage);
  facts.imports.sort((first, second) => first.line - second.line);
  const charMask = maskOf(sourceText.length, {
    comment: componentParts.comments,
    string: [...componentParts.scripts.map(({ span }) => span), ...componentParts.styles],
  });
  facts.todos = [...facts.todos, ...maskedTodos(sourceText, lineOffsets, charMask)].sort(
    (first, second) => first.line - second.line,
  );
  facts.loc = countLines(sourceText, lineOffsets, charMask);
  const template = isPage ? "" : codeAlone(sourceText, charMask);
  countUses(facts, template, componentParts.tags, isPage);
  delete facts.global;
  return facts;
}

/** What is not code: comments and styles; in a page all but scripts and what names something. */
export function componentSpans(filePath: string, sourceText: string): Partial<Spans> {
  const { comments, styles, scripts, tags } = partsOf(sourceText);
  if (!PAGE_FILE.test(filePath)) return { comment: comments, string: styles };
  const code = scripts.map(({ span }) => span);
  for (const { text: tagText, offset } of tags)
    for (const { index, name, value } of attributesIn(tagText)) {
      if (!namesIn(name, value).length && !HANDLER.test(name)) continue;
      const valueStart = offset + tagText.indexOf(value, index + name.length);
      code.push([valueStart, valueStart + value.length]);
    }
  return { comment: comments, string: [[0, sourceText.length]], code };
}
const PAGE_FILE = /\.html?$/i;
const HANDLER = /^on[a-z]+$/; // its value is code
const NAMING_ATTRIBUTE =
  /^(?:class|id|for|form|list|headers|aria-(?:controls|describedby|labelledby|owns))$/;
/** The classes and ids in an attribute. */
const namesIn = (attributeName: string, attributeValue: string): string[] => {
  if (NAMING_ATTRIBUTE.test(attributeName)) return attributeValue.split(/\s+/).filter(Boolean);
  if (attributeName === "href" && /^#[^/]/.test(attributeValue)) return [attributeValue.slice(1)];
  return [];
};

function partsOf(sourceText: string): Parts {
  const componentParts: Parts = { scripts: [], comments: [], styles: [], tags: [] };
  for (const {
    0: partText,
    1: element,
    2: tag = "",
    3: innerText = "",
    index,
  } of sourceText.matchAll(PART_PATTERN)) {
    const end = index + partText.length;
    if (!element && partText.startsWith("<!--")) componentParts.comments.push([index, end]);
    else if (!element) componentParts.tags.push({ offset: index, text: partText });
    else {
      const innerStart = index + 1 + element.length + tag.length + 1;
      const span: Span = [innerStart, innerStart + innerText.length];
      if (element.toLowerCase() === "style" || DATA_SCRIPT.test(tag))
        componentParts.styles.push(span);
      else componentParts.scripts.push({ span, tag });
    }
  }
  return componentParts;
}

/** The rest of the file is blank for TypeScript, so that lines stay what they are. */
function scriptFacts(filePath: string, sourceText: string, { scripts }: Parts): Facts {
  if (
    !scripts.some(({ span: [spanStart, spanEnd] }) => sourceText.slice(spanStart, spanEnd).trim())
  )
    return emptyFacts();
  const charMask = maskOf(sourceText.length, {
    string: [[0, sourceText.length]],
    code: scripts.map(({ span }) => span),
  });
  const isTyped = scripts.some(({ tag }) => /lang\s*=\s*["']?tsx?/i.test(tag));
  const isJsx = scripts.some(({ tag }) => /lang\s*=\s*["']?[jt]sx/i.test(tag));
  const facts = scan(
    `${filePath}.${isTyped ? "ts" : "js"}${isJsx ? "x" : ""}`,
    codeAlone(sourceText, charMask),
  );
  if (facts.unread) return { ...emptyFacts(), unread: facts.unread };
  return facts;
}

function componentSymbol(filePath: string, lastLine: number): Sym {
  const fileName = filePath.slice(filePath.lastIndexOf("/") + 1).replace(/\.\w+$/, "");
  const folderName = filePath.split("/").at(-2) ?? fileName;
  const name = toPascalCase(/^index$/i.test(fileName) ? folderName : fileName);
  return {
    name,
    kind: "class",
    line: 1,
    end: Math.max(lastLine, 1),
    signature: `component ${name}`,
    exported: true,
  };
}
const toPascalCase = (dashedName: string) =>
  dashedName
    .replace(/^\+/, "")
    .replace(/(?:^|[^\p{L}\p{N}_$]+)([\p{L}\p{N}])/gu, (_, letter: string) => letter.toUpperCase());

function attributesOf(tagText: string): Map<string, string> {
  return new Map(attributesIn(tagText).map(({ name, value }) => [name, value]));
}
const attributesIn = (tagText: string) =>
  Array.from(
    tagText.matchAll(ATTRIBUTE),
    ({ 1: attributeName, 2: doubleQuoted, 3: singleQuoted, 4: unquoted, index }) => {
      return {
        index,
        name: attributeName!.toLowerCase(),
        value: (doubleQuoted ?? singleQuoted ?? unquoted)!,
      };
    },
  );

function addIds(facts: Facts, { tags }: Parts, lineOffsets: number[]): void {
  for (const { text, offset } of tags) {
    const id = attributesOf(text).get("id");
    const line = lineAt(lineOffsets, offset);
    if (id)
      facts.symbols.push({
        name: id,
        kind: "key",
        line,
        end: line,
        signature: text.replace(/\s+/g, " ").slice(0, MAX_TEXT_CHARS),
      });
  }
  facts.symbols.sort((first, second) => first.line - second.line);
}

/** A script, a style sheet. */
function linksOf(facts: Facts, tagText: string, line: number, isPage: boolean): void {
  const isLinkTag = /^<link\b/i.test(tagText);
  if (!isLinkTag && !/^<script\b/i.test(tagText)) return;
  const attributes = attributesOf(tagText);
  const linkTarget = attributes.get(isLinkTag ? "href" : "src");
  if (!linkTarget || (isLinkTag && !/stylesheet|modulepreload/i.test(attributes.get("rel") ?? "")))
    return;
  // in a page that is beside it
  const isBarePath = isPage && !/^(?:[./]|[a-z]+:)/i.test(linkTarget);
  facts.imports.push({
    from: isBarePath ? `./${linkTarget}` : linkTarget,
    line,
    how: "import",
    names: [],
  });
}

/**
 * The names in a template: of components, as tags spell them too, of classes and ids, and in what
 * is computed.
 */
function countUses(facts: Facts, template: string, tags: Parts["tags"], isPage: boolean): void {
  const useCounts = new Map<string, number>();
  const addUse = (usedName: string, useCount = 1) =>
    void useCounts.set(usedName, (useCounts.get(usedName) ?? 0) + useCount);
  eachUse(facts.uses, addUse);
  const addUsesIn = (codeText: string) => {
    for (const [usedName, useCount] of usesIn(codeText, new Uint8Array(codeText.length)))
      if (useCount) addUse(usedName, useCount);
  };
  for (const { text: tagText } of tags) {
    const tagName = /^<([\w.-]+)/.exec(tagText)![1]!;
    if (!isPage && /^\p{Lu}|-/u.test(tagName)) addUse(toPascalCase(tagName.split(".")[0]!));
    for (const { name: attributeName, value } of attributesIn(tagText)) {
      for (const usedName of namesIn(attributeName, value)) addUse(usedName);
      if (isPage ? HANDLER.test(attributeName) : /^(?:[@:#]|v-)/.test(attributeName))
        addUsesIn(value);
      if (/^(?:v-bind)?:class$/.test(attributeName))
        for (const [, classNames = ""] of value.matchAll(/["'`]([\w -]+)["'`]/g))
          for (const className of namesIn("class", classNames)) addUse(className);
    }
    for (const [, className = ""] of isPage ? [] : tagText.matchAll(/\sclass:([\w-]+)/g))
      addUse(className);
  }
  for (const [, codeText = ""] of template.matchAll(BRACES_PATTERN)) addUsesIn(codeText);
  facts.uses = packUses(useCounts);
}
