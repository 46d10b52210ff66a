// Where a name stands in the code of a file, by its grammar: not in its comments, and not in its
// strings.
import { lineAt, lineStarts } from "../scan/line-numbers.ts";
import { maskOf, type Span } from "./comment-masks.ts";
import { componentSpans } from "./component.ts";
import { deadline, grammarOf } from "./grammar.ts";
import { sqlSpans } from "./sql.ts";
import { isComponent, languageOf } from "./table.ts";

export interface NamePosition {
  line: number;
  column: number; // both from 1
  start: number;
  end: number;
}

/** prepare() comes first. Without a grammar that works every place counts. */
export function namePositions(path: string, text: string, name: string): NamePosition[] {
  const isWord = /^[\p{L}\p{N}_$]+$/u.test(name);
  const escaped = name.replace(/[^\p{L}\p{N}_]/gu, "\\$&").replace(/\\-/g, "[-]");
  const wanted = new RegExp(
    isWord ? `(?<![\\p{L}\\p{N}_])${escaped}(?![\\p{L}\\p{N}_])` : escaped,
    "gu",
  );
  const offsets = Array.from(text.matchAll(wanted), ({ index }) => index);
  if (!offsets.length) return [];
  const mask = maskOf(text.length, spansOf(path, text));
  const starts = lineStarts(text);
  const isStyled = /\.(?:css|html?)$/i.test(path);
  const isPart = (
    start: number, // `btn` is none of `btn-large`
  ) =>
    isStyled &&
    (text[start - 1] === "-" ||
      /^-\p{L}/u.test(text.slice(start + name.length, start + name.length + 2)));
  return offsets
    .filter((start) => !mask[start] && !isPart(start))
    .map((start) => {
      const line = lineAt(starts, start);
      return { line, column: start - starts[line - 1]! + 1, start, end: start + name.length };
    });
}

function spansOf(path: string, text: string): Record<"comment" | "string" | "code", Span[]> {
  const spans = { comment: [] as Span[], string: [] as Span[], code: [] as Span[] };
  if (isComponent(path)) return { ...spans, ...componentSpans(path, text) };
  const language = languageOf(path);
  if (!language?.grammar) return language ? { ...spans, ...sqlSpans(text) } : spans;
  const grammar = grammarOf(language);
  if (typeof grammar === "string") return spans;
  const parseOptions = { progressCallback: deadline() }; // what is not known by then counts as code
  grammar.parser.reset();
  const tree = grammar.parser.parse(text, null, parseOptions);
  for (const { name, node } of tree ? grammar.query.captures(tree.rootNode, parseOptions) : [])
    if (name in spans) spans[name as keyof typeof spans].push([node.startIndex, node.endIndex]);
  tree?.delete();
  return spans;
}
