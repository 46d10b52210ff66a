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
/** `old`: its place until now; -1: it is new. */
type Parameter = { name: string; text: string; old: number; isOptional: boolean };

export function changeSignature(opened: OpenProject): Plan {
  const { paths, name = "", value, root } = opened;
  const { callable, named } = functionNamed(sourceOf(opened, paths[0]!)!, name, opened.line);
  const old = callable.getParameters();
  const wanted = parametersOf(opened.parameters ?? [], old);
  checkBody(callable, old, wanted);
  if (value !== undefined && !isExpression(value))
    throw new Error(`'${value}' is not an expression.`);
  const isNew = Node.isConstructorDeclaration(callable);
  const locationOf = (use: Node) =>
    `${path.relative(root, use.getSourceFile().getFilePath())}:${use.getStartLineNumber()}`;
  const uses = usesOf(named).map((use) => ({ use, call: callOf(use, isNew, locationOf(use)) }));
  const calls = uses.flatMap(({ use, call }) =>
    call ? [{ call, location: locationOf(use) }] : [],
  );
  const edits: Edit[] = [];
  const dropped: string[] = [];
  for (const { call, location } of calls)
    dropped.push(...droppedAt(call.getArguments(), old, wanted, location));
  for (const { call, location } of calls
    .sort((a, b) => b.call.getEnd() - b.call.getStart() - (a.call.getEnd() - a.call.getStart()))
    .reverse())
    listEdit(edits, call, call.getArguments(), (textOf) =>
      argumentsOf(call.getArguments(), old, wanted, value, location, textOf),
    );
  listEdit(edits, callable, old, (textOf) =>
    wanted.map(({ text, old: oldIndex }) =>
      oldIndex >= 0 ? textOf(old[oldIndex]!).replace(old[oldIndex]!.getText(), () => text) : text,
    ),
  );
  for (const [i, parameter] of old.entries())
    if (!wanted.some((kept) => kept.old === i)) {
      edits.push(...documentationOf(callable, parameter.getName()));
      if (/\/[/*]/.test(parameter.getFullText()))
        dropped.push(`with its comment: ${short(parameter)}`);
    }
  return {
    edits,
    dropped,
    seen: uses.map(({ use }) => locationOf(use)),
    summary: `Changed the parameters of '${name}', with ${calls.length} of its calls`,
  };
}

function functionNamed(source: SourceFile, name: string, line: number | undefined): NamedFunction {
  const namedFunctions = source.getDescendants().flatMap((node): NamedFunction[] => {
    const isValue = Node.isArrowFunction(node) || Node.isFunctionExpression(node);
    if (
      !isValue &&
      !Node.isFunctionDeclaration(node) &&
      !Node.isMethodDeclaration(node) &&
      !Node.isConstructorDeclaration(node)
    )
      return [];
    const holder = isValue ? node.getParentOrThrow() : node;
    const owner = holder.getParent();
    const ofClass =
      Node.isClassDeclaration(owner) || Node.isClassExpression(owner) ? owner : undefined;
    const isMade = Node.isConstructorDeclaration(node);
    const named = isMade
      ? ofClass?.getNameNode()
      : (holder as { getNameNode?(): Node | undefined }).getNameNode?.();
    if (!named || !node.getBody()) return [];
    const full = `${ofClass ? `${ofClass.getName() ?? ""}.` : ""}${isMade ? "constructor" : named.getText()}`;
    return [{ callable: node, named, full, line: node.getStartLineNumber() }];
  });
  const alike = namedFunctions.filter(
    (namedFunction) =>
      (namedFunction.full === name || namedFunction.full.endsWith(`.${name}`)) &&
      (!line || line === namedFunction.line),
  );
  if (alike.length > 1)
    throw new Error(
      `${alike.length} functions are: at lines ${alike.map((namedFunction) => namedFunction.line).join(", ")}. Choose one by line.`,
    );
  if (!alike[0])
    throw new Error(
      `no function '${name}' is in it. There are: ${
        namedFunctions
          .slice(0, 12)
          .map(({ full }) => full)
          .join(", ") || "none"
      }.`,
    );
  return alike[0];
}

function parametersOf(texts: string[], old: ParameterDeclaration[]): Parameter[] {
  const plain = (text: string) => text.replace(/\s/g, "");
  const parameters = texts.map((givenText): Parameter => {
    const text = givenText.trim();
    const kept = old.findIndex((oldParameter) => plain(oldParameter.getName()) === plain(text));
    if (kept >= 0)
      return {
        name: old[kept]!.getName(),
        text: old[kept]!.getText(),
        old: kept,
        isOptional: old[kept]!.isOptional(),
      };
    const [added, ...furtherParameters] =
      parses(`function f(${text}) {}`)?.getFunctions()[0]?.getParameters() ?? [];
    if (!added || furtherParameters.length)
      throw new Error(`'${text}' is not a parameter. Give each as 'name' or 'name: type'.`);
    const name = added.getName();
    return {
      name,
      text,
      old: old.findIndex((oldParameter) => oldParameter.getName() === name),
      isOptional: added.isOptional(),
    };
  });
  const twice = parameters.find(
    ({ name }, i) => parameters.findIndex((parameter) => parameter.name === name) !== i,
  );
  if (twice) throw new Error(`'${twice.name}' is there twice. Give each parameter once.`);
  if (parameters.filter((parameter) => parameter.old < 0).length > 1)
    throw new Error("two parameters are new. Add one at a time.");
  return parameters;
}

function parses(text: string): SourceFile | undefined {
  const project = new Project({ useInMemoryFileSystem: true, skipLoadingLibFiles: true });
  const source = project.createSourceFile("a.ts", text);
  const isWhole = source.getStatements().length === 1;
  return isWhole && !project.getProgram().getSyntacticDiagnostics(source).length
    ? source
    : undefined;
}

function isExpression(text: string): boolean {
  const [statement] = parses(`(${text});`)?.getStatements() ?? [];
  const inner = Node.isExpressionStatement(statement) ? statement.getExpression() : undefined;
  return (
    Node.isParenthesizedExpression(inner) &&
    inner.getExpression().getFirstChild()?.getNextSibling()?.getKind() !== SyntaxKind.CommaToken
  );
}

function checkBody(callable: Callable, old: ParameterDeclaration[], wanted: Parameter[]): void {
  const words = callable.getDescendants().filter(Node.isIdentifier);
  for (const removed of old.filter((_, i) => !wanted.some((kept) => kept.old === i))) {
    const names = [removed.getNameNode(), ...removed.getNameNode().getDescendants()].filter(
      Node.isIdentifier,
    );
    const isOutside = (use: Node) =>
      use.getEnd() <= removed.getStart() || use.getStart() >= removed.getEnd();
    const use = names
      .flatMap((name) => name.findReferencesAsNodes())
      .find((use) => isOutside(use) && !isDocumentation(use));
    if (use)
      throw new Error(
        `'${removed.getName()}' is still used at line ${use.getStartLineNumber()}. Change that first.`,
      );
  }
  const clashing = wanted.find(
    ({ name, old }) => old < 0 && words.some((word) => word.getText() === name),
  );
  if (clashing)
    throw new Error(`'${clashing.name}' already means something in it. Choose another name.`);
  const bare = words.find((word) => word.getText() === "arguments");
  if (bare)
    throw new Error(
      `it reads 'arguments' at line ${bare.getStartLineNumber()}. Change that first.`,
    );
  if (Node.isOverloadable(callable) && callable.getOverloads().length)
    throw new Error("it has overloads. Edit them and the calls.");
}

const isDocumentation = (node: Node): boolean => Boolean(node.getFirstAncestor(Node.isJSDoc));

function usesOf(named: Node): Node[] {
  const uses = (named as Node & { findReferencesAsNodes(): Node[] }).findReferencesAsNodes();
  const isItself = (use: Node) =>
    use.getSourceFile() === named.getSourceFile() && use.getStart() === named.getStart();
  return uses.filter((use) => !isItself(use) && !isDocumentation(use));
}

/**
 * The call that a use is; undefined: it passes the name on in an import or as a type. Throws for
 * any other use.
 */
function callOf(use: Node, isNew: boolean, location: string): Call | undefined {
  const near = use.getParentOrThrow();
  if (PASSES_ON.some((is) => is(near))) return undefined;
  if (
    Node.isBindingElement(near) &&
    /\b(require|import)\(/.test(near.getParent().getParent()?.getText() ?? "")
  )
    return undefined;
  if (isNew && (Node.isTypeReference(near) || /\binstanceof\b/.test(near.getText())))
    return undefined;
  if (isNew && Node.isPropertyAccessExpression(near) && near.getExpression() === use)
    return undefined; // a static member
  let node = Node.isPropertyAccessExpression(near) && near.getNameNode() === use ? near : use;
  let parent = node.getParentOrThrow();
  while (Node.isParenthesizedExpression(parent) || Node.isNonNullExpression(parent))
    [node, parent] = [parent, parent.getParentOrThrow()];
  const isCall = isNew ? Node.isNewExpression(parent) : Node.isCallExpression(parent);
  if (!isCall || (parent as Call).getExpression() !== node)
    throw new Error(
      `at ${location} it is used in another way than by a call: '${parent.getText().split("\n")[0]!.slice(0, 80)}'. Edit that, or all of it, by hand.`,
    );
  return parent as Call;
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
  passed: Node[],
  old: ParameterDeclaration[],
  wanted: Parameter[],
  location: string,
): string[] {
  const kept = wanted.flatMap(({ old: oldIndex }) => {
    if (oldIndex < 0) return [];
    return old[oldIndex]!.isRestParameter()
      ? passed.slice(oldIndex)
      : passed.slice(oldIndex, oldIndex + 1);
  });
  const lost = passed.filter((argument) => !kept.includes(argument));
  const acting = lost.find((argument) => !isStill(argument));
  if (acting)
    throw new Error(
      `the call at ${location} would lose '${short(acting)}', which may do something. Edit it by hand.`,
    );
  const inOrder = kept.filter((argument) => !isStill(argument));
  const late = inOrder.find(
    (argument, i) => i > 0 && argument.getStart() < inOrder[i - 1]!.getStart(),
  );
  if (late)
    throw new Error(
      `the call at ${location} would run '${short(late)}' in another order. Edit it by hand.`,
    );
  return lost.map((argument) => `at ${location}: ${short(argument)}`);
}
const short = (node: Node): string => node.getFullText().trim().replace(/\s+/g, " ").slice(0, 80);

function argumentsOf(
  passed: Node[],
  old: ParameterDeclaration[],
  wanted: Parameter[],
  value: string | undefined,
  location: string,
  textOf: (node: Node) => string,
): string[] {
  if (passed.some(Node.isSpreadElement))
    throw new Error(`the call at ${location} spreads what it passes. Edit it by hand.`);
  if (passed.length > old.length && !old.at(-1)?.isRestParameter())
    throw new Error(`the call at ${location} passes more than it takes.`);
  const texts = wanted.flatMap(({ name, old: oldIndex, isOptional }) => {
    if (oldIndex >= 0)
      return (old[oldIndex]!.isRestParameter() ? passed.slice(oldIndex) : [passed[oldIndex]]).map(
        (argument) => argument && textOf(argument),
      );
    if (value === undefined && !isOptional)
      throw new Error(`calls have to pass something for '${name}'. Give it as value.`);
    return [value];
  });
  return texts
    .slice(0, texts.findLastIndex((text) => text !== undefined) + 1)
    .map((text) => text ?? "undefined");
}

/** Adds the edit of a list in parentheses; edits within it become part of it. */
function listEdit(
  edits: Edit[],
  holder: Node,
  old: Node[],
  makeTexts: (textOf: (node: Node) => string) => string[],
): void {
  const file = holder.getSourceFile().getFilePath() as string;
  const within = (start: number, end: number) =>
    edits.filter((edit) => edit.file === file && start <= edit.start && edit.end <= end);
  const texts = makeTexts((node) => {
    const [start, end] = [node.getPos(), node.getEnd()];
    const innerEdits = within(start, end).map((edit) => ({
      ...edit,
      start: edit.start - start,
      end: edit.end - start,
    }));
    return applyEdits(node.getFullText(), innerEdits).trim();
  });
  const [open, close] = [SyntaxKind.OpenParenToken, SyntaxKind.CloseParenToken].map((tokenKind) =>
    holder.getLastChildByKind(tokenKind),
  );
  const [first, last] = [old[0], old.at(-1)];
  const isBare = !open || !close; // x => x, new X
  const start = first?.getPos() ?? (open?.getEnd() || holder.getEnd());
  const end = (texts.length || isBare ? last?.getEnd() : close?.getStart()) ?? start;
  checkComments(holder, old, texts, close);
  const gap = old[1]
    ? holder.getSourceFile().getFullText().slice(first!.getEnd(), old[1].getStart())
    : "";
  const before = texts.length && first && !isBare ? /^\s*/.exec(first.getFullText())![0] : "";
  const list = before + texts.join(/^,\s+$/.test(gap) ? gap : ", ");
  if (isBare && !first && !texts.length) return;
  for (const innerEdit of within(start, end)) edits.splice(edits.indexOf(innerEdit), 1);
  edits.push({ file, start, end, text: isBare ? `(${list})` : list });
}

/** In lines of their own, or one in the same line. */
const GOES_ALONG =
  /^\s*(\n\s*(\/\/.*|\/\*((?!\*\/)[\s\S])*\*\/))*\s*(\/\*((?!\*\/).)*\*\/[ \t]*)?$/;

/**
 * A comment goes along with what it stands right before; of any other nobody knows what it is
 * about.
 */
function checkComments(holder: Node, old: Node[], texts: string[], close: Node | undefined): void {
  const source = holder.getSourceFile();
  const text = source.getFullText();
  const gaps = old.map((node, i) =>
    text.slice(old[i - 1]?.getEnd() ?? node.getPos(), node.getStart()).replace(/^\s*,/, ""),
  );
  const last = close && old.length ? text.slice(old.at(-1)!.getEnd(), close.getStart()) : "";
  const isSame =
    texts.length === old.length && old.every((node, i) => node.getFullText().trim() === texts[i]);
  const odd = [...gaps, last].find(
    (gap, i) => /\/[/*]/.test(gap) && (i === gaps.length || !GOES_ALONG.test(gap)),
  );
  if (odd === undefined || isSame) return;
  const location = `${path.basename(source.getFilePath())}:${holder.getStartLineNumber()}`;
  throw new Error(
    `the comment '${odd.replace(/^[\s,]+|\s+$/g, "").slice(0, 80)}' at ${location} would be lost or belong to another. Edit it by hand.`,
  );
}

/** The line about a parameter in the comment of its function. */
function documentationOf(callable: Callable, name: string): Edit[] {
  const holder = Node.isJSDocable(callable)
    ? callable
    : callable.getFirstAncestor(Node.isJSDocable);
  const tags = (holder?.getJsDocs() ?? []).flatMap((doc) => doc.getTags());
  return tags.flatMap((tag) => {
    if (!Node.isJSDocParameterTag(tag) || tag.getName() !== name) return [];
    return [
      {
        file: tag.getSourceFile().getFilePath() as string,
        start: tag.getStart(),
        end: tag.getEnd(),
        text: "",
      },
    ];
  });
}
