// A piece of code as a function or a constant of its own, by TypeScript's own extraction.
import { Node, type SourceFile, ts } from "ts-morph";
import {
  applyEdits,
  editsOf,
  isPlain,
  type OpenProject,
  type Plan,
  sourceOf,
  styleOf,
} from "./project.ts";

const REFACTOR = "Extract Symbol";

export const extractFunction = (opened: OpenProject): Plan => planExtraction(opened, "function");
export const extractConstant = (opened: OpenProject): Plan => planExtraction(opened, "constant");

function planExtraction(opened: OpenProject, declaration: "function" | "constant"): Plan {
  const { service, paths, name = "" } = opened;
  const source = sourceOf(opened, paths[0]!)!;
  const file = source.getFilePath() as string;
  if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name))
    throw new Error(`'${name}' is not a name.`);
  if (source.getDescendants().some((node) => Node.isIdentifier(node) && node.getText() === name))
    throw new Error(`'${name}' already means something in it. Choose another name.`);
  const range = rangeOf(source.getFullText(), opened.code ?? "", opened.line);
  if (declaration === "constant" && isConditional(source, range))
    throw new Error(
      "it runs only at times, or again and again, and a constant would run it once. Extract a function.",
    );
  const wishes = { provideRefactorNotApplicableReason: true };
  const actionKind = `refactor.extract.${declaration}`;
  const actions = service
    .getApplicableRefactors(file, range, wishes, undefined, actionKind)
    .flatMap((refactor) => refactor.actions);
  const possible = actions
    .filter(({ notApplicableReason }) => !notApplicableReason)
    .map((candidate) => candidate.name)
    .filter((actionName) => actionName.startsWith(declaration));
  // A function stands outside of all others, a constant as near as possible: what it is made of may
  // change in between.
  const action = declaration === "function" ? possible.at(-1) : possible[0];
  const reason = actions.find(
    ({ notApplicableReason }) => notApplicableReason,
  )?.notApplicableReason;
  if (!action)
    throw new Error(
      `${reason?.replace(/\.$/, "") ?? "it is not whole expressions or statements"}. Choose other code.`,
    );
  const extraction = service.getEditsForRefactor(
    file,
    styleOf(source),
    range,
    REFACTOR,
    action,
    wishes,
  );
  const edits = editsOf(extraction?.edits ?? []);
  const newText = applyEdits(source.getFullText(), edits);
  const [generatedName = ""] =
    /^[\w$]+/.exec(newText.slice(extraction?.renameLocation ?? newText.length)) ?? [];
  if (!generatedName) throw new Error("TypeScript gave it no name. Choose other code.");
  const text = replaceGeneratedName(newText, file, generatedName, name);
  return {
    edits: [{ file, start: 0, end: source.getFullText().length, text }],
    summary: `Extracted the ${declaration} '${name}' in '${paths[0]}'`,
  };
}

/** The name that TypeScript gave is replaced where it is one, not in texts. */
function replaceGeneratedName(
  newText: string,
  file: string,
  generatedName: string,
  name: string,
): string {
  const places: number[] = [];
  const parsed = ts.createSourceFile(file, newText, ts.ScriptTarget.Latest, true);
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && node.text === generatedName) places.push(node.getStart());
    ts.forEachChild(node, visit);
  };
  visit(parsed);
  return places
    .sort((a, b) => b - a)
    .reduce(
      (text, index) => text.slice(0, index) + name + text.slice(index + generatedName.length),
      newText,
    );
}

/** Code that a condition decides on, or a loop repeats, unless it is a plain value. */
function isConditional(source: SourceFile, range: ts.TextRange): boolean {
  let node: Node | undefined = source.getDescendantAtPos(range.pos);
  const fits = (candidate: Node | undefined) =>
    !!candidate && candidate.getStart() >= range.pos && candidate.getEnd() <= range.end;
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

function rangeOf(text: string, givenCode: string, line: number | undefined): ts.TextRange {
  const code = givenCode.trim();
  if (!code) throw new Error("code is empty. Give it exactly as it is in the file.");
  const words = code.split(/\r?\n/).map((row) => row.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const matches = [...text.matchAll(new RegExp(words.join("\\r?\\n"), "g"))];
  const lineOf = (index: number) => text.slice(0, index).split("\n").length;
  const matchesAtLine = matches.filter(({ index }) => !line || lineOf(index) === line);
  if (!matchesAtLine[0])
    throw new Error(
      `${matches.length ? `that code is not at line ${line}` : "that code is not in it"}. Give it exactly as it is in the file.`,
    );
  if (matchesAtLine.length > 1)
    throw new Error(
      `that code is there ${matchesAtLine.length} times: at lines ${matchesAtLine.map(({ index }) => lineOf(index)).join(", ")}. Choose one by line.`,
    );
  return { pos: matchesAtLine[0].index, end: matchesAtLine[0].index + matchesAtLine[0][0].length };
}
