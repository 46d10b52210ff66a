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

export function countUse(node: ts.Identifier | ts.PrivateIdentifier, { uses }: Reading): void {
  const name = node.escapedText;
  if (name) uses.set(name, (uses.get(name) ?? 0) + 1);
}
/**
 * A property may be named by a string: it["name"]. That is not a use, but the file must be
 * searched.
 */
export function noteMention({ text }: ts.LiteralLikeNode, { uses }: Reading): void {
  if (text.length >= 50 || !isIdentifierText(text, PARSE_OPTIONS.languageVersion)) return;
  const name = escapeLeadingUnderscores(text);
  if (!uses.has(name)) uses.set(name, 0);
}
/** The same for names in JSDoc tags, such as {@link name}: TypeScript counts them as uses. */
export function noteTags({ text, uses }: Reading): void {
  for (const [, type = "", name = ""] of text.matchAll(TAG))
    for (const [word] of `${type} ${name}`.matchAll(NAME)) {
      const escaped = escapeLeadingUnderscores(word);
      if (word.length < 50 && !uses.has(escaped)) uses.set(escaped, 0);
    }
}
const TAG = /@(?!since|category|example|internal)\w+\s+(?:\{([^}\n]*)\}\s*)?([^\s}|]*)/g;
const NAME = /[\p{L}_$][\p{L}\p{N}_$]*/gu;

export function noteText(node: ts.Node, file: Reading): void {
  if (node.kind === K.NoSubstitutionTemplateLiteral) noteMention(node as ts.LiteralLikeNode, file);
  const pos = node.kind === K.JsxText ? node.pos : skipTrivia(file.text, node.pos);
  const lineEnd = file.text.indexOf("\n", pos);
  if (lineEnd >= 0 && lineEnd < node.end) file.texts.push({ pos, end: node.end });
}

/**
 * Visits its parts as belonging to it. `made`: what it is set to, if that has no name of its own.
 */
export function visitInside(
  file: Reading,
  name: string | undefined,
  assigned: ts.Node | undefined,
  read: () => void,
): void {
  const { owner, made: before } = file;
  if (name) file.owner = join(owner, name);
  file.made = assigned;
  read();
  file.owner = owner;
  file.made = before;
}
const join = (owner: string, name: string): string => (owner ? `${owner}.${name}` : name);

/** Counts a function's decisions apart from those of the function around it. */
export function countDecisionsOf(file: Reading, sym: Sym | undefined, read: () => void): void {
  const before = file.decisions;
  if (sym) file.decisions = 0;
  read();
  if (!sym) return;
  sym.decisions = file.decisions;
  file.facts.decisions += file.decisions;
  file.decisions = before;
}

export function visitBody(node: ts.Node, file: Reading): void {
  const before = file.inFunction;
  file.inFunction = true;
  visitDeeper(node, file);
  file.inFunction = before;
}
export function visitDeeper(node: ts.Node, file: Reading): void {
  descend(file, () => forEachChild(node, file.visit));
}
export function descend(file: Reading, read: () => void): void {
  file.depth++;
  if (file.depth > file.facts.nesting) file.facts.nesting = file.depth;
  read();
  file.depth--;
}
export function exportOnce({ facts, exported }: Reading, name: string, local: string): void {
  if (exported.has(name)) return;
  exported.add(name);
  facts.exports.push(local === name ? { name } : { name, local });
}
