// The state of a scan while it walks one file, and moving from node to node.

import type { ts } from "ts-morph";
import type { Facts, Sym } from "./facts.ts";
import {
  escapeLeadingUnderscores,
  forEachChild,
  isIdentifierText,
  K,
  PARSE_OPTIONS,
  skipTrivia,
} from "./parser.ts";

export interface Reading {
  text: string;
  starts: number[]; // of its lines
  facts: Facts;
  uses: Map<ts.__String, number>;
  exported: Set<string>; // overloads, and a type and a value of the same name, are one export
  texts: ts.TextRange[]; // templates and other literals that span several lines, in order
  isScript: boolean; // JavaScript, where calls and assignments can be declarations
  isCommonJs: boolean;
  visit(node: ts.Node): void;
  // The current position:
  owner: string; // "Class.method"
  inFunction: boolean;
  depth: number; // of blocks and functions
  decisions: number; // of the enclosing named function
  made?: ts.Node; // the function or class that is already named by what it is assigned to
  // what `const { a } = await import("x")` takes from it
  taken?: { call: ts.Node; names: string[] };
}
export const START = { owner: "", inFunction: false, depth: 0, decisions: 0 };

export function countUse(
  identifier: ts.Identifier | ts.PrivateIdentifier,
  { uses }: Reading,
): void {
  const escapedName = identifier.escapedText;
  if (escapedName) uses.set(escapedName, (uses.get(escapedName) ?? 0) + 1);
}
/**
 * A property may be named by a string: it["name"]. That is not a use, but the file must be
 * searched.
 */
export function noteMention({ text }: ts.LiteralLikeNode, { uses }: Reading): void {
  if (text.length >= 50 || !isIdentifierText(text, PARSE_OPTIONS.languageVersion)) return;
  const escapedName = escapeLeadingUnderscores(text);
  if (!uses.has(escapedName)) uses.set(escapedName, 0);
}
/** The same for names in JSDoc tags, such as {@link name}: TypeScript counts them as uses. */
export function noteTags({ text, uses }: Reading): void {
  for (const [, tagType = "", tagName = ""] of text.matchAll(JSDOC_TAG))
    for (const [tagWord] of `${tagType} ${tagName}`.matchAll(NAME_PATTERN)) {
      const escaped = escapeLeadingUnderscores(tagWord);
      if (tagWord.length < 50 && !uses.has(escaped)) uses.set(escaped, 0);
    }
}
const JSDOC_TAG = /@(?!since|category|example|internal)\w+\s+(?:\{([^}\n]*)\}\s*)?([^\s}|]*)/g;
const NAME_PATTERN = /[\p{L}_$][\p{L}\p{N}_$]*/gu;

export function noteText(textNode: ts.Node, reading: Reading): void {
  if (textNode.kind === K.NoSubstitutionTemplateLiteral)
    noteMention(textNode as ts.LiteralLikeNode, reading);
  const pos = textNode.kind === K.JsxText ? textNode.pos : skipTrivia(reading.text, textNode.pos);
  const lineEnd = reading.text.indexOf("\n", pos);
  if (lineEnd >= 0 && lineEnd < textNode.end) reading.texts.push({ pos, end: textNode.end });
}

/**
 * Visits its parts as belonging to it. `made`: what it is set to, if that has no name of its own.
 */
export function visitInside(
  reading: Reading,
  declaredName: string | undefined,
  assigned: ts.Node | undefined,
  visitParts: () => void,
): void {
  const { owner, made: madeBefore } = reading;
  if (declaredName) reading.owner = joinOwner(owner, declaredName);
  reading.made = assigned;
  visitParts();
  reading.owner = owner;
  reading.made = madeBefore;
}
const joinOwner = (ownerPath: string, memberName: string) =>
  ownerPath ? `${ownerPath}.${memberName}` : memberName;

/** Counts a function's decisions apart from those of the function around it. */
export function countDecisionsOf(
  reading: Reading,
  sym: Sym | undefined,
  visitParts: () => void,
): void {
  const decisionsBefore = reading.decisions;
  if (sym) reading.decisions = 0;
  visitParts();
  if (!sym) return;
  sym.decisions = reading.decisions;
  reading.facts.decisions += reading.decisions;
  reading.decisions = decisionsBefore;
}

export function visitBody(bodyNode: ts.Node, reading: Reading): void {
  const wasInFunction = reading.inFunction;
  reading.inFunction = true;
  visitDeeper(bodyNode, reading);
  reading.inFunction = wasInFunction;
}
export function visitDeeper(node: ts.Node, reading: Reading): void {
  descend(reading, () => forEachChild(node, reading.visit));
}
export function descend(reading: Reading, visitParts: () => void): void {
  reading.depth++;
  if (reading.depth > reading.facts.nesting) reading.facts.nesting = reading.depth;
  visitParts();
  reading.depth--;
}
export function exportOnce({ facts, exported }: Reading, name: string, local: string): void {
  if (exported.has(name)) return;
  exported.add(name);
  facts.exports.push(local === name ? { name } : { name, local });
}
