// A piece of code as a function or a constant of its own, by TypeScript's own extraction.
import { Node, type SourceFile, ts } from "ts-morph";
import { applied, editsOf, isPlain, type Opened, type Plan, sourceOf, styleOf } from "./project.ts";

const REFACTOR = "Extract Symbol";

export const extractFunction = (opened: Opened): Plan => extract(opened, "function");
export const extractConstant = (opened: Opened): Plan => extract(opened, "constant");

function extract(opened: Opened, what: "function" | "constant"): Plan {
  const { service, paths, name = "" } = opened;
  const source = sourceOf(opened, paths[0]!)!;
  const file = source.getFilePath() as string;
  if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name))
    throw new Error(`'${name}' is not a name.`);
  if (source.getDescendants().some((node) => Node.isIdentifier(node) && node.getText() === name))
    throw new Error(`'${name}' already means something in it. Choose another name.`);
  const range = rangeOf(source.getFullText(), opened.code ?? "", opened.line);
  if (what === "constant" && isConditional(source, range))
    throw new Error(
      "it runs only at times, or again and again, and a constant would run it once. Extract a function.",
    );
  const wishes = { provideRefactorNotApplicableReason: true };
  const kind = `refactor.extract.${what}`;
  const actions = service
    .getApplicableRefactors(file, range, wishes, undefined, kind)
    .flatMap((one) => one.actions);
  const possible = actions
    .filter(({ notApplicableReason }) => !notApplicableReason)
    .map((one) => one.name)
    .filter((one) => one.startsWith(what));
  // A function stands outside of all others, a constant as near as possible: what it is made of may
  // change in between.
  const action = what === "function" ? possible.at(-1) : possible[0];
  const why = actions.find(({ notApplicableReason }) => notApplicableReason)?.notApplicableReason;
  if (!action)
    throw new Error(
      `${why?.replace(/\.$/, "") ?? "it is not whole expressions or statements"}. Choose other code.`,
    );
  const found = service.getEditsForRefactor(file, styleOf(source), range, REFACTOR, action, wishes);
  const edits = editsOf(found?.edits ?? []);
  const made = applied(source.getFullText(), edits);
  const [given = ""] = /^[\w$]+/.exec(made.slice(found?.renameLocation ?? made.length)) ?? [];
  if (!given) throw new Error("TypeScript gave it no name. Choose other code.");
  const text = renamed(made, file, given, name);
  return {
    edits: [{ file, start: 0, end: source.getFullText().length, text }],
    said: `Extracted the ${what} '${name}' in '${paths[0]}'`,
  };
}

/** The name that TypeScript gave is replaced where it is one, not in texts. */
function renamed(made: string, file: string, given: string, name: string): string {
  const places: number[] = [];
  const parsed = ts.createSourceFile(file, made, ts.ScriptTarget.Latest, true);
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && node.text === given) places.push(node.getStart());
    ts.forEachChild(node, visit);
  };
  visit(parsed);
  return places
    .sort((a, b) => b - a)
    .reduce((text, at) => text.slice(0, at) + name + text.slice(at + given.length), made);
}

/** Code that a condition decides on, or a loop repeats, unless it is a plain value. */
function isConditional(source: SourceFile, range: ts.TextRange): boolean {
  let node: Node | undefined = source.getDescendantAtPos(range.pos);
  const fits = (one: Node | undefined) =>
    !!one && one.getStart() >= range.pos && one.getEnd() <= range.end;
  while (fits(node?.getParent())) node = node!.getParent();
  if (isPlain(node)) return false;
  for (
    let inner = node, outer = node?.getParent();
    inner && outer;
    [inner, outer] = [outer, outer.getParent()]
  ) {
    if (
      Node.isBinaryExpression(outer) &&
      outer.getRight() === inner &&
      /^(&&|\|\||\?\?)=?$/.test(outer.getOperatorToken().getText())
    )
      return true;
    if (Node.isConditionalExpression(outer) && outer.getCondition() !== inner) return true;
    if (Node.isParameterDeclaration(outer) || Node.isCaseClause(outer)) return true;
    if (Node.isIterationStatement(outer))
      return (
        !(Node.isForOfStatement(outer) || Node.isForInStatement(outer)) &&
        outer.getStatement() !== inner
      );
    if (Node.isIfStatement(outer))
      return (
        outer.getParent() !== undefined &&
        Node.isIfStatement(outer.getParent()) &&
        outer.getExpression() === inner
      );
    if (Node.isStatement(outer) || ts.isFunctionLike(outer.compilerNode)) return false;
  }
  return false;
}

function rangeOf(text: string, given: string, line: number | undefined): ts.TextRange {
  const code = given.trim();
  if (!code) throw new Error("code is empty. Give it exactly as it is in the file.");
  const words = code.split(/\r?\n/).map((row) => row.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const all = [...text.matchAll(new RegExp(words.join("\\r?\\n"), "g"))];
  const lineOf = (at: number) => text.slice(0, at).split("\n").length;
  const own = all.filter(({ index }) => !line || lineOf(index) === line);
  if (!own[0])
    throw new Error(
      `${all.length ? `that code is not at line ${line}` : "that code is not in it"}. Give it exactly as it is in the file.`,
    );
  if (own.length > 1)
    throw new Error(
      `that code is there ${own.length} times: at lines ${own.map(({ index }) => lineOf(index)).join(", ")}. Choose one by line.`,
    );
  return { pos: own[0].index, end: own[0].index + own[0][0].length };
}
