// Where a name stands in the code of a file, by its grammar: not in its comments, and not in its
// strings.
import { workLimit } from "zz/text";
import { lineStarts, type NamePosition, positionAt } from "../scan/line-numbers.ts";
import { maskOf, type Span, type Spans } from "./comment-masks.ts";
import { componentSpans } from "./component.ts";
import { grammarOf, MAX_PARSE_S } from "./grammar.ts";
import { sqlSpans } from "./sql.ts";
import { isComponent, languageOf } from "./table.ts";

/** prepare() comes first. Without a grammar that works every place counts. */
export function namePositions(
  filePath: string,
  sourceText: string,
  wantedName: string,
): NamePosition[] {
  const isPlainWord = /^[\p{L}\p{N}_$]+$/u.test(wantedName);
  const escaped = wantedName.replace(/[^\p{L}\p{N}_]/gu, "\\$&").replace(/\\-/g, "[-]");
  const namePattern = new RegExp(
    isPlainWord ? `(?<![\\p{L}\\p{N}_])${escaped}(?![\\p{L}\\p{N}_])` : escaped,
    "gu",
  );
  const offsets = Array.from(sourceText.matchAll(namePattern), ({ index }) => index);
  if (!offsets.length) return [];
  const charMask = maskOf(sourceText.length, spansOf(filePath, sourceText));
  const lineOffsets = lineStarts(sourceText);
  const isStyled = /\.(?:css|html?)$/i.test(filePath);
  const isPartOfName = (
    startOffset: number, // `btn` is none of `btn-large`
  ) =>
    isStyled &&
    (sourceText[startOffset - 1] === "-" ||
      /^-\p{L}/u.test(
        sourceText.slice(startOffset + wantedName.length, startOffset + wantedName.length + 2),
      ));
  return offsets
    .filter((startOffset) => !charMask[startOffset] && !isPartOfName(startOffset))
    .map((start) => positionAt(lineOffsets, start, wantedName));
}

function spansOf(filePath: string, sourceText: string): Partial<Spans> {
  if (isComponent(filePath)) return componentSpans(filePath, sourceText);
  const language = languageOf(filePath);
  if (!language?.grammar) return language ? sqlSpans(sourceText) : {};
  const grammar = grammarOf(language);
  if (typeof grammar === "string") return {};
  const spans = { comment: [] as Span[], string: [] as Span[], code: [] as Span[] };
  // what is not known by then counts as code
  const parseOptions = { progressCallback: workLimit(MAX_PARSE_S * 1_000) };
  grammar.parser.reset();
  const syntaxTree = grammar.parser.parse(sourceText, null, parseOptions);
  for (const { name, node } of syntaxTree
    ? grammar.query.captures(syntaxTree.rootNode, parseOptions)
    : [])
    if (name in spans) spans[name as keyof typeof spans].push([node.startIndex, node.endIndex]);
  syntaxTree?.delete();
  return spans;
}
