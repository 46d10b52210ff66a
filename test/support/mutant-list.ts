// Makes mutants of the product: one small change each that a test should notice. A seed chooses
// them, so that the list is the same each time. Each is kept with what stands around it, and so is
// found again after other edits of its file.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ts } from "@ts-morph/common";
import { random } from "./runs.ts";

export type Mutant = Record<"file" | "before" | "was" | "after" | "becomes", string> & {
  line: number;
  kind: Kind;
};
const KINDS = [
  "negate a condition",
  "drop a statement",
  "change a constant",
  "swap two arguments",
] as const;
type Kind = (typeof KINDS)[number];
type Candidate = Pick<Mutant, "file" | "line" | "kind"> & {
  start: number;
  end: number;
  becomes: string;
};

/** How many of each part of the product. */
const PARTS: [patterns: string[], count: number][] = [
  [["kernel/**/*.ts", "zz.ts"], 84],
  [
    [
      "plugins/shell/judge/*.ts",
      "plugins/shell/{read-copy-effects,keep-changes,restore-guarded,copy-on-write}.ts",
    ],
    28,
  ],
  [["plugins/sessions/*.ts", "plugins/{undo,conversation}.ts"], 8],
  [["plugins/edit-file/*.ts", "plugins/{edit-lines,write-file,move-file}.ts"], 14],
  [["plugins/wires/**/*.ts"], 18],
  [["packages/text-calls/{,habits/}*.ts"], 25],
];
/** Apart from one another, in lines. */
const APART = 4;
const LONGEST = 160;

/** What changes nothing that a test from the source could see: what is logged, tidied up,
 * remembered or loaded early only to be fast. Of a hash that only says what was checked before
 * (`salted`, numbers of eight hex digits), any numbers would do. */
const UNSEEN =
  /\b(log|debug|trace|unref|clearTimeout|clearInterval|closeSync|performance|preload|BUILT|major)\b|salted|0x[\da-f]{8}|cache|memo|warm|\.set\((\w+), [^)]*\b\2\b/i;
/** Sets and maps that say nothing about order, and functions for which it does not count. */
const ANY_ORDER = /^(Math\.(max|min)|Promise\.(all|race)|new Set)|\.(push|add|delete)$/;

export function makeMutants(root: string, seed: number): Mutant[] {
  const next = random(seed);
  return PARTS.flatMap(([patterns, count]) => {
    const files = patterns.flatMap((pattern) => globSync(pattern, { cwd: root })).sort();
    const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), "utf8")]));
    const candidates = [...texts].flatMap(([file, text]) => candidatesIn(file, text));
    const chosen = choose(candidates, count, next);
    return chosen
      .map((candidate) => withContext(candidate, texts.get(candidate.file)!))
      .sort(byPlace);
  });
}

const byPlace = (a: Mutant, b: Mutant) => a.file.localeCompare(b.file) || a.line - b.line;

/** Each kind in turn, of files and places apart from one another. */
function choose(candidates: Candidate[], count: number, next: () => number): Candidate[] {
  const chosen: Candidate[] = [];
  const order = new Map(candidates.map((candidate) => [candidate, next()]));
  const shuffled = candidates.toSorted((a, b) => order.get(a)! - order.get(b)!);
  for (let turn = 0; chosen.length < count && turn < 4 * count; turn++) {
    const inFile = (file: string) => chosen.filter((one) => one.file === file).length;
    const fitting = shuffled.filter(
      ({ file, kind, line }) =>
        kind === KINDS[turn % KINDS.length] &&
        !chosen.some((one) => one.file === file && Math.abs(one.line - line) < APART),
    );
    const [pick] = fitting.toSorted((a, b) => inFile(a.file) - inFile(b.file));
    if (pick) chosen.push(pick);
  }
  return chosen;
}

function candidatesIn(file: string, text: string): Candidate[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: Candidate[] = [];
  ts.forEachChild(source, visit);
  return found;

  function add(kind: Kind, node: ts.Node, becomes: string, end: ts.Node = node): void {
    const start = node.getStart(source);
    const line = source.getLineAndCharacterOfPosition(start).line + 1;
    if (end.end - start <= LONGEST) found.push({ file, line, kind, start, end: end.end, becomes });
  }

  function visit(node: ts.Node): void {
    if (isType(node) || ts.isImportDeclaration(node)) return;
    if (isSmall(node) && UNSEEN.test(node.getText(source))) return;
    const condition = conditionOf(node);
    if (condition) add("negate a condition", condition, `!(${condition.getText(source)})`);
    if (isDroppable(node)) add("drop a statement", node, ";");
    const constant = otherConstant(node);
    if (constant !== undefined) add("change a constant", node, constant);
    if (ts.isCallExpression(node)) swap(node);
    ts.forEachChild(node, visit);
  }

  function otherConstant(node: ts.Node): string | undefined {
    if (node.kind === ts.SyntaxKind.TrueKeyword) return "false";
    if (node.kind === ts.SyntaxKind.FalseKeyword) return "true";
    if (ts.isNumericLiteral(node) && !ts.isPropertyAssignment(node.parent)) {
      const value = Number(node.text);
      return String(value < 10 ? value + 1 : value * 2);
    }
    const isCompared =
      ts.isCaseClause(node.parent) ||
      (ts.isBinaryExpression(node.parent) && isEquality(node.parent));
    const isOfType =
      ts.isStringLiteral(node) && /^(typeof |undefined$)/.test(node.parent.getText(source));
    return ts.isStringLiteral(node) && isCompared && !isOfType
      ? JSON.stringify(`${node.text}?`)
      : undefined;
  }

  function swap(node: ts.CallExpression): void {
    const [first, second] = node.arguments;
    if (!first || !second || ANY_ORDER.test(node.expression.getText(source))) return;
    const isLong = (argument: ts.Expression) =>
      ts.isFunctionLike(argument) || ts.isSpreadElement(argument);
    const [one, other] = [first.getText(source), second.getText(source)];
    if (one !== other && !isLong(first) && !isLong(second))
      add("swap two arguments", first, `${other}, ${one}`, second);
  }
}

const isType = (node: ts.Node) =>
  ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);

/** A statement or a variable that does one thing. */
const isSmall = (node: ts.Node) =>
  node.getWidth() <= LONGEST &&
  (ts.isExpressionStatement(node) ||
    ts.isReturnStatement(node) ||
    ts.isIfStatement(node) ||
    ts.isVariableDeclaration(node));

function conditionOf(node: ts.Node): ts.Expression | undefined {
  if (ts.isIfStatement(node) || ts.isWhileStatement(node)) return node.expression;
  if (ts.isConditionalExpression(node)) return node.condition;
  const isLogical = ts.isBinaryExpression(node) && /^(&&|\|\|)$/.test(node.operatorToken.getText());
  return isLogical ? node.left : undefined;
}

/** What is done for its effect, and what ends a function early. */
function isDroppable(node: ts.Node): boolean {
  if (ts.isExpressionStatement(node)) return !/^(super|void import)\b/.test(node.getText());
  return ts.isIfStatement(node) && !node.elseStatement && endsEarly(node.thenStatement);
}
const endsEarly = (node: ts.Statement) =>
  ts.isReturnStatement(node) || ts.isThrowStatement(node) || ts.isContinueStatement(node);

const isEquality = (node: ts.BinaryExpression) => /^[!=]==$/.test(node.operatorToken.getText());

/** As much of the text around it as makes it the only one. */
function withContext({ file, line, kind, start, end, becomes }: Candidate, text: string): Mutant {
  const was = text.slice(start, end);
  let [before, after] = ["", ""];
  for (let size = 16; ; size *= 2) {
    before = text.slice(Math.max(0, start - size), start);
    after = text.slice(end, end + size);
    const context = before + was + after;
    if (text.indexOf(context) === text.lastIndexOf(context)) break;
  }
  return { file, line, kind, before, was, after, becomes };
}

type Mutated = { text: string; start: number };
/** The text with the mutant in it, and where it is now; undefined if what it changes is not there
 * any more. */
export function mutate(text: string, { before, was, after, becomes }: Mutant): Mutated | undefined {
  const inContext = placeOfOnly(text, before + was + after);
  const start = inContext === undefined ? placeOfOnly(text, was) : inContext + before.length;
  if (start === undefined) return undefined;
  return { text: text.slice(0, start) + becomes + text.slice(start + was.length), start };
}

function placeOfOnly(text: string, part: string): number | undefined {
  const place = text.indexOf(part);
  return place >= 0 && place === text.lastIndexOf(part) ? place : undefined;
}
