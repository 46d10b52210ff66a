// A piece of code as a function or a constant of its own, by TypeScript's own extraction.
import { Node, type SourceFile, ts } from "ts-morph";
import {
  applyEdits,
  type Edit,
  editsOf,
  isPlain,
  type OpenProject,
  type Plan,
  sourceOf,
  styleOf,
} from "./project.ts";

const REFACTOR = "Extract Symbol";

export const extractFunction = (openedProject: OpenProject): Plan =>
  planExtraction(openedProject, "function");
export const extractConstant = (openedProject: OpenProject): Plan =>
  planExtraction(openedProject, "constant");

function planExtraction(openedProject: OpenProject, declaration: "function" | "constant"): Plan {
  const { service, paths, name = "" } = openedProject;
  const sourceFile = sourceOf(openedProject, paths[0]!)!;
  const file = sourceFile.getFilePath();
  if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name))
    throw new Error(`'${name}' is not a name.`);
  if (
    sourceFile.getDescendants().some((node) => Node.isIdentifier(node) && node.getText() === name)
  )
    throw new Error(`'${name}' already means something in it. Choose another name.`);
  const codeRange = rangeOf(sourceFile.getFullText(), openedProject.code ?? "", openedProject.line);
  if (declaration === "constant" && isConditional(sourceFile, codeRange))
    throw new Error(
      "it runs only at times, or again and again, " +
        "and a constant would run it once. Extract a function.",
    );
  const preferences = { provideRefactorNotApplicableReason: true };
  const actionKind = `refactor.extract.${declaration}`;
  const actions = service
    .getApplicableRefactors(file, codeRange, preferences, undefined, actionKind)
    .flatMap((refactor) => refactor.actions);
  const possible = actions
    .filter(({ notApplicableReason }) => !notApplicableReason)
    .map((candidate) => candidate.name)
    .filter((actionName) => actionName.startsWith(declaration));
  // A function stands outside of all others, a constant as near as possible: what it is made of may
  // change in between.
  const chosenAction = declaration === "function" ? possible.at(-1) : possible[0];
  const refusalReason = actions.find(
    ({ notApplicableReason }) => notApplicableReason,
  )?.notApplicableReason;
  if (!chosenAction)
    throw new Error(
      `${refusalReason?.replace(/\.$/, "") ?? "it is not whole expressions or statements"}. ` +
        "Choose other code.",
    );
  const extraction = service.getEditsForRefactor(
    file,
    styleOf(sourceFile),
    codeRange,
    REFACTOR,
    chosenAction,
    preferences,
  );
  const generatedEdits = editsOf(extraction?.edits ?? []);
  const newText = applyEdits(sourceFile.getFullText(), generatedEdits);
  const [generatedName = ""] =
    /^[\w$]+/.exec(newText.slice(extraction?.renameLocation ?? newText.length)) ?? [];
  if (!generatedName) throw new Error("TypeScript gave it no name. Choose other code.");
  const text = replaceGeneratedName(newText, file, generatedName, name);
  return {
    edits: [{ file, start: 0, end: sourceFile.getFullText().length, text }],
    summary: `Extracted the ${declaration} '${name}' in '${paths[0]}'`,
  };
}

/** Replaces the name that TypeScript made up, only where it is an identifier. */
function replaceGeneratedName(
  newText: string,
  file: string,
  generatedName: string,
  newName: string,
): string {
  const nameEdits: Edit[] = [];
  const parsedFile = ts.createSourceFile(file, newText, ts.ScriptTarget.Latest, true);
  const visitNode = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && node.text === generatedName)
      nameEdits.push({ file, start: node.getStart(), end: node.getEnd(), text: newName });
    ts.forEachChild(node, visitNode);
  };
  visitNode(parsedFile);
  return applyEdits(newText, nameEdits);
}

/** Code that a condition decides on, or a loop repeats, unless it is a plain value. */
function isConditional(sourceFile: SourceFile, codeRange: ts.TextRange): boolean {
  let coveredNode: Node | undefined = sourceFile.getDescendantAtPos(codeRange.pos);
  const isInRange = (candidate: Node | undefined) =>
    !!candidate && candidate.getStart() >= codeRange.pos && candidate.getEnd() <= codeRange.end;
  while (isInRange(coveredNode?.getParent())) coveredNode = coveredNode!.getParent();
  if (isPlain(coveredNode)) return false;
  for (
    let innerNode = coveredNode, outerNode = coveredNode?.getParent();
    innerNode && outerNode;
    [innerNode, outerNode] = [outerNode, outerNode.getParent()]
  ) {
    if (
      Node.isBinaryExpression(outerNode) &&
      outerNode.getRight() === innerNode &&
      /^(&&|\|\||\?\?)=?$/.test(outerNode.getOperatorToken().getText())
    )
      return true;
    if (Node.isConditionalExpression(outerNode) && outerNode.getCondition() !== innerNode)
      return true;
    if (Node.isParameterDeclaration(outerNode) || Node.isCaseClause(outerNode)) return true;
    if (Node.isForOfStatement(outerNode) || Node.isForInStatement(outerNode)) return false;
    if (Node.isIterationStatement(outerNode)) return outerNode.getStatement() !== innerNode;
    if (Node.isIfStatement(outerNode))
      return Node.isIfStatement(outerNode.getParent()) && outerNode.getExpression() === innerNode;
    if (Node.isStatement(outerNode) || ts.isFunctionLike(outerNode.compilerNode)) return false;
  }
  return false;
}

function rangeOf(
  fileText: string,
  givenCode: string,
  wantedLine: number | undefined,
): ts.TextRange {
  const trimmedCode = givenCode.trim();
  if (!trimmedCode) throw new Error("code is empty. Give it exactly as it is in the file.");
  const escapedLines = trimmedCode
    .split(/\r?\n/)
    .map((codeLine) => codeLine.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const matches = [...fileText.matchAll(new RegExp(escapedLines.join("\\r?\\n"), "g"))];
  const lineNumberAt = (offset: number) => fileText.slice(0, offset).split("\n").length;
  const matchesAtLine = matches.filter(
    ({ index }) => !wantedLine || lineNumberAt(index) === wantedLine,
  );
  if (!matchesAtLine[0])
    throw new Error(
      `${matches.length ? `that code is not at line ${wantedLine}` : "that code is not in it"}. ` +
        "Give it exactly as it is in the file.",
    );
  if (matchesAtLine.length > 1)
    throw new Error(
      `that code is there ${matchesAtLine.length} times: at lines ` +
        `${matchesAtLine.map(({ index }) => lineNumberAt(index)).join(", ")}. Choose one by line.`,
    );
  return { pos: matchesAtLine[0].index, end: matchesAtLine[0].index + matchesAtLine[0][0].length };
}
