// The parameters of a function, with every call of it. A use that is not understood is a reason to
// refuse.
import path from "node:path";
import {
  type CallExpression,
  type NewExpression,
  Node,
  type ParameterDeclaration,
  Project,
  type SourceFile,
  SyntaxKind,
} from "ts-morph";
import { checkComments, documentationOf } from "./parameter-comments.ts";
import {
  applyEdits,
  type Edit,
  isPlain,
  type OpenProject,
  type Plan,
  sourceOf,
} from "./project.ts";

type Callable = Node & { getParameters(): ParameterDeclaration[] };
type Call = CallExpression | NewExpression;
type NamedFunction = { callable: Callable; named: Node; full: string; line: number };
/** `old`: what it was until now; undefined: it is new. */
type Parameter = {
  name: string;
  text: string;
  old: ParameterDeclaration | undefined;
  isOptional: boolean;
};

export function changeSignature(openedProject: OpenProject): Plan {
  const { paths, name = "", value, root } = openedProject;
  const { callable, named } = functionNamed(
    sourceOf(openedProject, paths[0]!)!,
    name,
    openedProject.line,
  );
  const oldParameters = callable.getParameters();
  const newParameters = parametersOf(openedProject.parameters ?? [], oldParameters);
  const removedParameters = oldParameters.filter(
    (parameter) => !newParameters.some(({ old }) => old === parameter),
  );
  checkBody(callable, removedParameters, newParameters);
  if (value !== undefined && !isExpression(value))
    throw new Error(`'${value}' is not an expression.`);
  const isConstructor = Node.isConstructorDeclaration(callable);
  const locationOf = (useNode: Node) =>
    `${path.relative(root, useNode.getSourceFile().getFilePath())}:${useNode.getStartLineNumber()}`;
  const symbolUses = findUses(named).map((use) => ({
    use,
    call: findCall(use, isConstructor, locationOf(use)),
  }));
  const locatedCalls = symbolUses.flatMap(({ use, call }) =>
    call ? [{ call, location: locationOf(use) }] : [],
  );
  const edits: Edit[] = [];
  const dropped = locatedCalls.flatMap(({ call, location }) =>
    droppedAt(call.getArguments(), oldParameters, newParameters, location),
  );
  // calls within others first
  for (const { call, location } of locatedCalls.sort(
    (first, second) => first.call.getWidth() - second.call.getWidth(),
  ))
    listEdit(edits, call, call.getArguments(), (renderNode) =>
      argumentsOf(call.getArguments(), oldParameters, newParameters, value, location, renderNode),
    );
  listEdit(edits, callable, oldParameters, (renderNode) =>
    newParameters.map(({ text, old }) =>
      old ? renderNode(old).replace(old.getText(), () => text) : text,
    ),
  );
  for (const parameter of removedParameters) {
    edits.push(...documentationOf(callable, parameter.getName()));
    if (/\/[/*]/.test(parameter.getFullText()))
      dropped.push(`with its comment: ${shortenNode(parameter)}`);
  }
  return {
    edits,
    dropped,
    seen: symbolUses.map(({ use }) => locationOf(use)),
    summary: `Changed the parameters of '${name}', with ${locatedCalls.length} of its calls`,
  };
}

function functionNamed(
  sourceFile: SourceFile,
  wantedName: string,
  wantedLine: number | undefined,
): NamedFunction {
  const namedFunctions = sourceFile.getDescendants().flatMap((node): NamedFunction[] => {
    const isValue = Node.isArrowFunction(node) || Node.isFunctionExpression(node);
    if (
      !isValue &&
      !Node.isFunctionDeclaration(node) &&
      !Node.isMethodDeclaration(node) &&
      !Node.isConstructorDeclaration(node)
    )
      return [];
    const nameHolder = isValue ? node.getParentOrThrow() : node;
    const ownerNode = nameHolder.getParent();
    const ofClass =
      Node.isClassDeclaration(ownerNode) || Node.isClassExpression(ownerNode)
        ? ownerNode
        : undefined;
    const isConstructor = Node.isConstructorDeclaration(node);
    const named = isConstructor
      ? ofClass?.getNameNode()
      : (nameHolder as { getNameNode?(): Node | undefined }).getNameNode?.();
    if (!named || !node.getBody()) return [];
    const full =
      `${ofClass ? `${ofClass.getName() ?? ""}.` : ""}` +
      `${isConstructor ? "constructor" : named.getText()}`;
    return [{ callable: node, named, full, line: node.getStartLineNumber() }];
  });
  const candidates = namedFunctions.filter(
    (namedFunction) =>
      (namedFunction.full === wantedName || namedFunction.full.endsWith(`.${wantedName}`)) &&
      (!wantedLine || wantedLine === namedFunction.line),
  );
  if (candidates.length > 1)
    throw new Error(
      `${candidates.length} functions are: at lines ` +
        `${candidates.map((namedFunction) => namedFunction.line).join(", ")}. Choose one by line.`,
    );
  if (!candidates[0])
    throw new Error(
      `no function '${wantedName}' is in it. There are: ${
        namedFunctions
          .slice(0, 12)
          .map(({ full }) => full)
          .join(", ") || "none"
      }.`,
    );
  return candidates[0];
}

function parametersOf(
  parameterTexts: string[],
  oldParameters: ParameterDeclaration[],
): Parameter[] {
  const stripSpaces = (spacedText: string) => spacedText.replace(/\s/g, "");
  const parameters = parameterTexts.map((givenText): Parameter => {
    const text = givenText.trim();
    const kept = oldParameters.find(
      (oldParameter) => stripSpaces(oldParameter.getName()) === stripSpaces(text),
    );
    if (kept)
      return {
        name: kept.getName(),
        text: kept.getText(),
        old: kept,
        isOptional: kept.isOptional(),
      };
    const [addedParameter, ...furtherParameters] =
      parseStatement(`function f(${text}) {}`)?.getFunctions()[0]?.getParameters() ?? [];
    if (!addedParameter || furtherParameters.length)
      throw new Error(`'${text}' is not a parameter. Give each as 'name' or 'name: type'.`);
    const name = addedParameter.getName();
    return {
      name,
      text,
      old: oldParameters.find((oldParameter) => oldParameter.getName() === name),
      isOptional: addedParameter.isOptional(),
    };
  });
  const duplicate = parameters.find(
    ({ name }, i) => parameters.findIndex((parameter) => parameter.name === name) !== i,
  );
  if (duplicate) throw new Error(`'${duplicate.name}' is there twice. Give each parameter once.`);
  if (parameters.filter(({ old }) => !old).length > 1)
    throw new Error("two parameters are new. Add one at a time.");
  return parameters;
}

function parseStatement(statementText: string): SourceFile | undefined {
  const project = new Project({ useInMemoryFileSystem: true, skipLoadingLibFiles: true });
  const sourceFile = project.createSourceFile("a.ts", statementText);
  const isWhole = sourceFile.getStatements().length === 1;
  return isWhole && !project.getProgram().getSyntacticDiagnostics(sourceFile).length
    ? sourceFile
    : undefined;
}

function isExpression(expressionText: string): boolean {
  const [statement] = parseStatement(`(${expressionText});`)?.getStatements() ?? [];
  const expression = Node.isExpressionStatement(statement) ? statement.getExpression() : undefined;
  return (
    Node.isParenthesizedExpression(expression) &&
    expression.getExpression().getFirstChild()?.getNextSibling()?.getKind() !==
      SyntaxKind.CommaToken
  );
}

function checkBody(
  callable: Callable,
  removedParameters: ParameterDeclaration[],
  newParameters: Parameter[],
): void {
  const identifiers = callable.getDescendants().filter(Node.isIdentifier);
  for (const removed of removedParameters) {
    const removedNames = [removed.getNameNode(), ...removed.getNameNode().getDescendants()].filter(
      Node.isIdentifier,
    );
    const isOutside = (useNode: Node) =>
      useNode.getEnd() <= removed.getStart() || useNode.getStart() >= removed.getEnd();
    const remainingUse = removedNames
      .flatMap((nameNode) => nameNode.findReferencesAsNodes())
      .find((useNode) => isOutside(useNode) && !isDocumentation(useNode));
    if (remainingUse)
      throw new Error(
        `'${removed.getName()}' is still used at line ` +
          `${remainingUse.getStartLineNumber()}. Change that first.`,
      );
  }
  const clashing = newParameters.find(
    ({ name, old }) => !old && identifiers.some((identifier) => identifier.getText() === name),
  );
  if (clashing)
    throw new Error(`'${clashing.name}' already means something in it. Choose another name.`);
  const argumentsUse = identifiers.find((identifier) => identifier.getText() === "arguments");
  if (argumentsUse)
    throw new Error(
      `it reads 'arguments' at line ${argumentsUse.getStartLineNumber()}. Change that first.`,
    );
  if (Node.isOverloadable(callable) && callable.getOverloads().length)
    throw new Error("it has overloads. Edit them and the calls.");
}

const isDocumentation = (node: Node): boolean => Boolean(node.getFirstAncestor(Node.isJSDoc));

function findUses(nameNode: Node): Node[] {
  const references = (
    nameNode as Node & { findReferencesAsNodes(): Node[] }
  ).findReferencesAsNodes();
  const isItself = (useNode: Node) =>
    useNode.getSourceFile() === nameNode.getSourceFile() &&
    useNode.getStart() === nameNode.getStart();
  return references.filter((useNode) => !isItself(useNode) && !isDocumentation(useNode));
}

/**
 * The call that a use is; undefined: it passes the name on in an import or as a type. Throws for
 * any other use.
 */
function findCall(useNode: Node, isConstructor: boolean, location: string): Call | undefined {
  const useParent = useNode.getParentOrThrow();
  if (PASSES_ON.some((passesOn) => passesOn(useParent))) return undefined;
  if (
    Node.isBindingElement(useParent) &&
    /\b(require|import)\(/.test(useParent.getParent().getParent()?.getText() ?? "")
  )
    return undefined;
  if (
    isConstructor &&
    (Node.isTypeReference(useParent) ||
      /\binstanceof\b/.test(useParent.getText()) ||
      // a static member
      (Node.isPropertyAccessExpression(useParent) && useParent.getExpression() === useNode))
  )
    return undefined;
  let calleeNode =
    Node.isPropertyAccessExpression(useParent) && useParent.getNameNode() === useNode
      ? useParent
      : useNode;
  let outerNode = calleeNode.getParentOrThrow();
  while (Node.isParenthesizedExpression(outerNode) || Node.isNonNullExpression(outerNode))
    [calleeNode, outerNode] = [outerNode, outerNode.getParentOrThrow()];
  const isExpectedCall = isConstructor
    ? Node.isNewExpression(outerNode)
    : Node.isCallExpression(outerNode);
  if (!isExpectedCall || (outerNode as Call).getExpression() !== calleeNode)
    throw new Error(
      `at ${location} it is used in another way than by a call: ` +
        `'${outerNode.getText().split("\n")[0]!.slice(0, 80)}'. Edit that, or all of it, by hand.`,
    );
  return outerNode as Call;
}
const PASSES_ON = [
  Node.isImportSpecifier,
  Node.isExportSpecifier,
  Node.isImportClause,
  Node.isNamespaceImport,
  Node.isExportAssignment,
  Node.isTypeQuery,
] as ((node: Node) => boolean)[];

/** A value, or a property of one. */
function isStill(node: Node): boolean {
  if (Node.isPropertyAccessExpression(node)) return isStill(node.getExpression());
  return isPlain(node);
}

/**
 * What the call no longer passes. What does something may neither be lost nor run in another order.
 */
function droppedAt(
  argumentNodes: Node[],
  oldParameters: ParameterDeclaration[],
  newParameters: Parameter[],
  location: string,
): string[] {
  const keptArguments = newParameters.flatMap(({ old }) =>
    old ? passedFor(old, argumentNodes, oldParameters) : [],
  );
  const lostArguments = argumentNodes.filter((argument) => !keptArguments.includes(argument));
  const actingArgument = lostArguments.find((argument) => !isStill(argument));
  if (actingArgument)
    throw new Error(
      `the call at ${location} would lose '${shortenNode(actingArgument)}', ` +
        "which may do something. Edit it by hand.",
    );
  const inOrder = keptArguments.filter((argument) => !isStill(argument));
  const lateArgument = inOrder.find(
    (argument, i) => i > 0 && argument.getStart() < inOrder[i - 1]!.getStart(),
  );
  if (lateArgument)
    throw new Error(
      `the call at ${location} would run '${shortenNode(lateArgument)}' ` +
        "in another order. Edit it by hand.",
    );
  return lostArguments.map((argument) => `at ${location}: ${shortenNode(argument)}`);
}

/** What a call passes for a parameter; for one of the rest, all that is left. */
function passedFor(
  parameter: ParameterDeclaration,
  argumentNodes: Node[],
  oldParameters: ParameterDeclaration[],
): Node[] {
  const index = oldParameters.indexOf(parameter);
  return argumentNodes.slice(index, parameter.isRestParameter() ? undefined : index + 1);
}

const shortenNode = (node: Node): string =>
  node.getFullText().trim().replace(/\s+/g, " ").slice(0, 80);

function argumentsOf(
  argumentNodes: Node[],
  oldParameters: ParameterDeclaration[],
  newParameters: Parameter[],
  addedValue: string | undefined,
  location: string,
  renderNode: (node: Node) => string,
): string[] {
  if (argumentNodes.some(Node.isSpreadElement))
    throw new Error(`the call at ${location} spreads what it passes. Edit it by hand.`);
  if (argumentNodes.length > oldParameters.length && !oldParameters.at(-1)?.isRestParameter())
    throw new Error(`the call at ${location} passes more than it takes.`);
  const argumentTexts = newParameters.flatMap(({ name, old, isOptional }) => {
    if (old) {
      const passedTexts = passedFor(old, argumentNodes, oldParameters).map(renderNode);
      return passedTexts.length || old.isRestParameter() ? passedTexts : [undefined];
    }
    if (addedValue === undefined && !isOptional)
      throw new Error(`calls have to pass something for '${name}'. Give it as value.`);
    return [addedValue];
  });
  return argumentTexts
    .slice(0, argumentTexts.findLastIndex((argumentText) => argumentText !== undefined) + 1)
    .map((argumentText) => argumentText ?? "undefined");
}

/** Adds the edit of a list in parentheses; edits within it become part of it. */
function listEdit(
  edits: Edit[],
  listHolder: Node,
  oldItems: Node[],
  makeTexts: (renderNode: (node: Node) => string) => string[],
): void {
  const file = listHolder.getSourceFile().getFilePath();
  const findEdits = (rangeStart: number, rangeEnd: number) =>
    edits.filter(
      (earlierEdit) =>
        earlierEdit.file === file && rangeStart <= earlierEdit.start && earlierEdit.end <= rangeEnd,
    );
  const newTexts = makeTexts((node) => {
    const [nodeStart, nodeEnd] = [node.getPos(), node.getEnd()];
    const innerEdits = findEdits(nodeStart, nodeEnd).map((innerEdit) => ({
      ...innerEdit,
      start: innerEdit.start - nodeStart,
      end: innerEdit.end - nodeStart,
    }));
    return applyEdits(node.getFullText(), innerEdits).trim();
  });
  const [openParen, closeParen] = [SyntaxKind.OpenParenToken, SyntaxKind.CloseParenToken].map(
    (tokenKind) => listHolder.getLastChildByKind(tokenKind),
  );
  const [firstItem, lastItem] = [oldItems[0], oldItems.at(-1)];
  const isBare = !openParen || !closeParen; // x => x, new X
  const start = firstItem?.getPos() ?? (openParen?.getEnd() || listHolder.getEnd());
  const end = (newTexts.length || isBare ? lastItem?.getEnd() : closeParen?.getStart()) ?? start;
  checkComments(listHolder, oldItems, newTexts, closeParen);
  const separator = oldItems[1]
    ? listHolder.getSourceFile().getFullText().slice(firstItem!.getEnd(), oldItems[1].getStart())
    : "";
  const leadingSpace =
    newTexts.length && firstItem && !isBare ? /^\s*/.exec(firstItem.getFullText())![0] : "";
  const listText = leadingSpace + newTexts.join(/^,\s+$/.test(separator) ? separator : ", ");
  if (isBare && !firstItem && !newTexts.length) return;
  for (const innerEdit of findEdits(start, end)) edits.splice(edits.indexOf(innerEdit), 1);
  edits.push({ file, start, end, text: isBare ? `(${listText})` : listText });
}
