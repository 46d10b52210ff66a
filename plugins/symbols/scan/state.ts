// The state of a scan while it walks one file, and what moves it from node to node.

import type { ts } from "ts-morph";
import type { Facts, Sym } from "./facts.ts";
import { escapeLeadingUnderscores, forEachChild, isIdentifierText, K, PARSE_OPTIONS, skipTrivia } from "./parser.ts";

export interface Reading {
  text: string;
  starts: number[]; // of its lines
  facts: Facts;
  uses: Map<ts.__String, number>;
  exported: Set<string>; // overloads, and a type and a value of one name, are one export
  texts: ts.TextRange[]; // templates and the like that go over several lines, in order
  isScript: boolean; // JavaScript, which has declarations that are plain calls and assignments
  isCommonJs: boolean;
  visit(node: ts.Node): void;
  // Where we are:
  owner: string; // "Class.method"
  inFunction: boolean;
  depth: number; // of blocks and functions
  decisions: number; // of the function that has a name around here
  made?: ts.Node; // the function or class that has its name already, from what it is set to
  taken?: { call: ts.Node; names: string[] }; // what `const { a } = await import("x")` takes from it
}
export const START = { owner: "", inFunction: false, depth: 0, decisions: 0 };

export function count(node: ts.Identifier | ts.PrivateIdentifier, { uses }: Reading): void {
  const name = node.escapedText;
  if (name) uses.set(name, (uses.get(name) ?? 0) + 1);
}
/** A property may be named by a text: it["name"]. That is no use of it, but the file is one to look into. */
export function mention({ text }: ts.LiteralLikeNode, { uses }: Reading): void {
  if (text.length >= 50 || !isIdentifierText(text, PARSE_OPTIONS.languageVersion)) return;
  const name = escapeLeadingUnderscores(text);
  if (!uses.has(name)) uses.set(name, 0);
}
/** So are names that a comment's tags give, such as {@link name}: TypeScript counts them as uses. */
export function noteTags({ text, uses }: Reading): void {
  for (const [, type = "", name = ""] of text.matchAll(TAG))
    for (const [one] of `${type} ${name}`.matchAll(NAME)) {
      const known = escapeLeadingUnderscores(one);
      if (one.length < 50 && !uses.has(known)) uses.set(known, 0);
    }
}
const TAG = /@(?!since|category|example|internal)\w+\s+(?:\{([^}\n]*)\}\s*)?([^\s}|]*)/g;
const NAME = /[\p{L}_$][\p{L}\p{N}_$]*/gu;

export function noteText(node: ts.Node, file: Reading): void {
  if (node.kind === K.NoSubstitutionTemplateLiteral) mention(node as ts.LiteralLikeNode, file);
  const pos = node.kind === K.JsxText ? node.pos : skipTrivia(file.text, node.pos);
  const lineEnd = file.text.indexOf("\n", pos);
  if (lineEnd >= 0 && lineEnd < node.end) file.texts.push({ pos, end: node.end });
}

/** Its parts belong to it. `made` is what it is set to, where that has no name of its own to go by. */
export function inside(file: Reading, name: string | undefined, made: ts.Node | undefined, read: () => void): void {
  const { owner, made: before } = file;
  if (name) file.owner = join(owner, name);
  file.made = made;
  read();
  file.owner = owner;
  file.made = before;
}
const join = (owner: string, name: string): string => (owner ? `${owner}.${name}` : name);

/** What a function decides is its own, and not that of the function around it. */
export function measured(file: Reading, sym: Sym | undefined, read: () => void): void {
  const before = file.decisions;
  if (sym) file.decisions = 0;
  read();
  if (!sym) return;
  sym.decisions = file.decisions;
  file.facts.decisions += file.decisions;
  file.decisions = before;
}

export function body(node: ts.Node, file: Reading): void {
  const before = file.inFunction;
  file.inFunction = true;
  deeper(node, file);
  file.inFunction = before;
}
export function deeper(node: ts.Node, file: Reading): void {
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
