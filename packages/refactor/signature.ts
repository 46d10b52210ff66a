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
import { applied, type Edit, isPlain, type Opened, type Plan, sourceOf } from "./project.ts";

type Callable = Node & { getParameters(): ParameterDeclaration[] };
type Call = CallExpression | NewExpression;
type Found = { callable: Callable; named: Node; full: string; line: number };
/** `old`: its place until now; -1: it is new. */
type Parameter = { name: string; text: string; old: number; isOptional: boolean };

export function changeSignature(opened: Opened): Plan {
  const { paths, name = "", value, root } = opened;
  const { callable, named } = functionNamed(sourceOf(opened, paths[0]!)!, name, opened.line);
  const old = callable.getParameters();
  const wanted = parametersOf(opened.parameters ?? [], old);
  checkBody(callable, old, wanted);
  if (value !== undefined && !isExpression(value))
    throw new Error(`'${value}' is not an expression.`);
  const isNew = Node.isConstructorDeclaration(callable);
  const placeOf = (use: Node) =>
    `${path.relative(root, use.getSourceFile().getFilePath())}:${use.getStartLineNumber()}`;
  const uses = usesOf(named).map((use) => ({ use, call: callOf(use, isNew, placeOf(use)) }));
  const calls = uses.flatMap(({ use, call }) => (call ? [{ call, place: placeOf(use) }] : []));
  const edits: Edit[] = [];
  const dropped: string[] = [];
  for (const { call, place } of calls)
    dropped.push(...droppedAt(call.getArguments(), old, wanted, place));
  for (const { call, place } of calls
    .sort((a, b) => b.call.getEnd() - b.call.getStart() - (a.call.getEnd() - a.call.getStart()))
    .reverse())
    listEdit(edits, call, call.getArguments(), (textOf) =>
      argumentsOf(call.getArguments(), old, wanted, value, place, textOf),
    );
  listEdit(edits, callable, old, (textOf) =>
    wanted.map(({ text, old: at }) =>
      at >= 0 ? textOf(old[at]!).replace(old[at]!.getText(), () => text) : text,
    ),
  );
  for (const [i, one] of old.entries())
    if (!wanted.some((kept) => kept.old === i)) {
      edits.push(...documentationOf(callable, one.getName()));
      if (/\/[/*]/.test(one.getFullText())) dropped.push(`with its comment: ${short(one)}`);
    }
  return {
    edits,
    dropped,
    seen: uses.map(({ use }) => placeOf(use)),
    said: `Changed the parameters of '${name}', with ${calls.length} of its calls`,
  };
}

function functionNamed(source: SourceFile, name: string, line: number | undefined): Found {
  const all = source.getDescendants().flatMap((node): Found[] => {
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
  const alike = all.filter(
    (one) => (one.full === name || one.full.endsWith(`.${name}`)) && (!line || line === one.line),
  );
  if (alike.length > 1)
    throw new Error(
      `${alike.length} functions are: at lines ${alike.map((one) => one.line).join(", ")}. Choose one by line.`,
    );
  if (!alike[0])
    throw new Error(
      `no function '${name}' is in it. There are: ${
        all
          .slice(0, 12)
          .map(({ full }) => full)
          .join(", ") || "none"
      }.`,
    );
  return alike[0];
}

function parametersOf(texts: string[], old: ParameterDeclaration[]): Parameter[] {
  const plain = (text: string) => text.replace(/\s/g, "");
  const all = texts.map((given): Parameter => {
    const text = given.trim();
    const kept = old.findIndex((one) => plain(one.getName()) === plain(text));
    if (kept >= 0)
      return {
        name: old[kept]!.getName(),
        text: old[kept]!.getText(),
        old: kept,
        isOptional: old[kept]!.isOptional(),
      };
    const [own, ...more] =
      parses(`function f(${text}) {}`)?.getFunctions()[0]?.getParameters() ?? [];
    if (!own || more.length)
      throw new Error(`'${text}' is not a parameter. Give each as 'name' or 'name: type'.`);
    const name = own.getName();
    return {
      name,
      text,
      old: old.findIndex((one) => one.getName() === name),
      isOptional: own.isOptional(),
    };
  });
  const twice = all.find(({ name }, i) => all.findIndex((one) => one.name === name) !== i);
  if (twice) throw new Error(`'${twice.name}' is there twice. Give each parameter once.`);
  if (all.filter((one) => one.old < 0).length > 1)
    throw new Error("two parameters are new. Add one at a time.");
  return all;
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
  const [whole] = parses(`(${text});`)?.getStatements() ?? [];
  const inner = Node.isExpressionStatement(whole) ? whole.getExpression() : undefined;
  return (
    Node.isParenthesizedExpression(inner) &&
    inner.getExpression().getFirstChild()?.getNextSibling()?.getKind() !== SyntaxKind.CommaToken
  );
}

function checkBody(callable: Callable, old: ParameterDeclaration[], wanted: Parameter[]): void {
  const words = callable.getDescendants().filter(Node.isIdentifier);
  for (const one of old.filter((_, i) => !wanted.some((kept) => kept.old === i))) {
    const names = [one.getNameNode(), ...one.getNameNode().getDescendants()].filter(
      Node.isIdentifier,
    );
    const isOutside = (use: Node) =>
      use.getEnd() <= one.getStart() || use.getStart() >= one.getEnd();
    const use = names
      .flatMap((name) => name.findReferencesAsNodes())
      .find((use) => isOutside(use) && !isDocumentation(use));
    if (use)
      throw new Error(
        `'${one.getName()}' is still used at line ${use.getStartLineNumber()}. Change that first.`,
      );
  }
  const taken = wanted.find(
    ({ name, old }) => old < 0 && words.some((word) => word.getText() === name),
  );
  if (taken) throw new Error(`'${taken.name}' already means something in it. Choose another name.`);
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
function callOf(use: Node, isNew: boolean, place: string): Call | undefined {
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
      `at ${place} it is used in another way than by a call: '${parent.getText().split("\n")[0]!.slice(0, 80)}'. Edit that, or all of it, by hand.`,
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
  given: Node[],
  old: ParameterDeclaration[],
  wanted: Parameter[],
  place: string,
): string[] {
  const kept = wanted.flatMap(({ old: at }) => {
    if (at < 0) return [];
    return old[at]!.isRestParameter() ? given.slice(at) : given.slice(at, at + 1);
  });
  const lost = given.filter((one) => !kept.includes(one));
  const acting = lost.find((one) => !isStill(one));
  if (acting)
    throw new Error(
      `the call at ${place} would lose '${short(acting)}', which may do something. Edit it by hand.`,
    );
  const inOrder = kept.filter((one) => !isStill(one));
  const late = inOrder.find((one, i) => i > 0 && one.getStart() < inOrder[i - 1]!.getStart());
  if (late)
    throw new Error(
      `the call at ${place} would run '${short(late)}' in another order. Edit it by hand.`,
    );
  return lost.map((one) => `at ${place}: ${short(one)}`);
}
const short = (node: Node): string => node.getFullText().trim().replace(/\s+/g, " ").slice(0, 80);

function argumentsOf(
  given: Node[],
  old: ParameterDeclaration[],
  wanted: Parameter[],
  value: string | undefined,
  place: string,
  textOf: (node: Node) => string,
): string[] {
  if (given.some(Node.isSpreadElement))
    throw new Error(`the call at ${place} spreads what it passes. Edit it by hand.`);
  if (given.length > old.length && !old.at(-1)?.isRestParameter())
    throw new Error(`the call at ${place} passes more than it takes.`);
  const texts = wanted.flatMap(({ name, old: at, isOptional }) => {
    if (at >= 0)
      return (old[at]!.isRestParameter() ? given.slice(at) : [given[at]]).map(
        (one) => one && textOf(one),
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
  made: (textOf: (node: Node) => string) => string[],
): void {
  const file = holder.getSourceFile().getFilePath() as string;
  const within = (start: number, end: number) =>
    edits.filter((one) => one.file === file && start <= one.start && one.end <= end);
  const texts = made((node) => {
    const [start, end] = [node.getPos(), node.getEnd()];
    const own = within(start, end).map((one) => ({
      ...one,
      start: one.start - start,
      end: one.end - start,
    }));
    return applied(node.getFullText(), own).trim();
  });
  const [open, close] = [SyntaxKind.OpenParenToken, SyntaxKind.CloseParenToken].map((kind) =>
    holder.getLastChildByKind(kind),
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
  for (const one of within(start, end)) edits.splice(edits.indexOf(one), 1);
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
  const gaps = old.map((one, i) =>
    text.slice(old[i - 1]?.getEnd() ?? one.getPos(), one.getStart()).replace(/^\s*,/, ""),
  );
  const last = close && old.length ? text.slice(old.at(-1)!.getEnd(), close.getStart()) : "";
  const isSame =
    texts.length === old.length && old.every((one, i) => one.getFullText().trim() === texts[i]);
  const odd = [...gaps, last].find(
    (gap, i) => /\/[/*]/.test(gap) && (i === gaps.length || !GOES_ALONG.test(gap)),
  );
  if (odd === undefined || isSame) return;
  const place = `${path.basename(source.getFilePath())}:${holder.getStartLineNumber()}`;
  throw new Error(
    `the comment '${odd.replace(/^[\s,]+|\s+$/g, "").slice(0, 80)}' at ${place} would be lost or belong to another. Edit it by hand.`,
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
