// One file's facts, by TypeScript's parser alone: no program, no types. Loaded on first use; in dist/ it is bundled with
// the parser only, which loads in a sixth of the time of the whole compiler (see esbuild.config.js).
import { ts } from "ts-morph";

/** What the index holds of one file. No bodies. */
export interface Facts {
  symbols: Sym[];
  imports: Import[];
  exports: Export[];
  uses: Record<string, number>; // how often each identifier stands there
  todos: Todo[];
  loc: number; // lines that are neither blank nor comment
  nesting: number; // blocks and functions within one another, at the deepest place
  decisions: number; // ways to branch: if, loops, case, catch, ?:, && || ??
  parseError?: string;
  global?: true; // what it declares is seen without an import
  unread?: string; // listed, not parsed: why
}
export interface Sym {
  name: string;
  kind: (typeof SYMBOL_KINDS)[number];
  line: number;
  end: number;
  signature: string; // one line, cut at 120 characters
  owner?: string; // the class, object, namespace or function around it
  exported?: true;
  async?: true;
  visibility?: "private" | "protected";
  doc?: string; // the first line of the comment before it
  decisions?: number; // of a function, without those within it
  local?: true; // within a function
}
export interface Import {
  from: string;
  line: number;
  how: "import" | "type" | "export" | "dynamic" | "require";
  names: string[]; // "foo", "foo as bar", "default as x", "* as all", "*"
}
export interface Export {
  name: string; // as others see it
  local?: string; // as it is called here, where that differs
  from?: string; // re-exported from there
}
export interface Todo {
  line: number;
  text: string;
}

export const SYMBOL_KINDS = [
  ...(["function", "class", "method", "property", "interface", "type", "enum", "member", "namespace"] as const),
  ...(["const", "variable", "key"] as const),
];

const LONGEST = 120;
const MINIFIED = 500; // characters a line, on average
const PARSED = { languageVersion: ts.ScriptTarget.Latest, jsDocParsingMode: ts.JSDocParsingMode.ParseNone };
const K = ts.SyntaxKind;
const [IDENTIFIER, LAST_TOKEN] = [K.Identifier, K.LastToken];
// Taken out of the library's table of exports once: that is made of getters, and each look into it costs.
const { escapeLeadingUnderscores, forEachChild, getLeadingCommentRanges, idText } = ts;
const { isArrayLiteralExpression, isAwaitExpression, isBigIntLiteral, isBinaryExpression } = ts;
const { isBindingElement, isCallExpression, isClassExpression, isClassLike, isComputedPropertyName } = ts;
const { isConstructorDeclaration, isExpressionStatement, isExternalModuleReference, isIdentifier } = ts;
const { isIfStatement, isIntersectionTypeNode, isLiteralTypeNode, isNamespaceExport, isNamespaceImport } = ts;
const { isNewExpression, isNumericLiteral, isObjectLiteralExpression, isParenthesizedTypeNode } = ts;
const { isPrivateIdentifier, isPropertyAccessExpression, isPropertyAssignment, isPropertySignature } = ts;
const { isStringLiteral, isStringLiteralLike, isTypeLiteralNode, isUnionTypeNode, isVoidExpression } = ts;
const { unescapeLeadingUnderscores } = ts;
/** Not in the types, though TypeScript's own tools are made of them. */
const { skipTrivia, isIdentifierText } = ts as unknown as {
  skipTrivia(text: string, pos: number): number;
  isIdentifierText(text: string, version: ts.ScriptTarget): boolean;
};
type Parsed = ts.SourceFile & { parseDiagnostics: ts.DiagnosticWithLocation[]; externalModuleIndicator?: unknown };

/** Whatever the text is, this does not throw. */
export function scan(path: string, text: string): Facts {
  if (/\.json$/i.test(path)) return scanJson(path, text);
  if (/\.ya?ml$/i.test(path)) return scanYaml(text);
  return scanCode(path, text);
}

/** A file that is listed and not parsed. */
export const listed = (unread: string): Facts => ({ ...empty(), unread });

const empty = (): Facts => ({
  ...{ symbols: [], imports: [], exports: [], uses: {}, todos: [] },
  ...{ loc: 0, nesting: 0, decisions: 0 },
});

function isMinified(path: string, text: string, lines: number): boolean {
  return /[.-]min\.[cm]?js$/.test(path) || (text.length >= 10 * MINIFIED && text.length / lines > MINIFIED);
}

// ── A file while it is read ────────────────────────────────────────────────────────────────────────────

interface Reading {
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
const START = { owner: "", inFunction: false, depth: 0, decisions: 0 };

function scanCode(path: string, text: string): Facts {
  const starts = lineStarts(text);
  if (isMinified(path, text, starts.length)) return listed("minified");
  const facts = empty();
  const source = parse(facts, () => ts.createSourceFile(path, text, PARSED, false));
  const file: Reading = {
    ...{ text, starts, facts, uses: new Map(), exported: new Set(), texts: [] },
    ...{ isScript: /\.[cm]?jsx?$/.test(path), isCommonJs: false },
    ...START,
    visit: (node) => visit(node, file),
  };
  for (const statement of source?.statements ?? [])
    try {
      visit(statement, file);
    } catch (error) {
      noteFailure(facts, error);
      Object.assign(file, START);
    }
  noteTags(file);
  facts.uses = record(file.uses);
  facts.loc = countLines(file);
  facts.decisions += file.decisions;
  facts.todos = source ? todosIn(source, text, starts) : [];
  markExported(facts);
  if (source && !isModule(path, source, file)) facts.global = true;
  noteError(facts, source, starts);
  return facts;
}

/** The parser calls itself for what is within; where that goes deeper than the stack, there is no tree. */
function parse<T>(facts: Facts, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    noteFailure(facts, error);
    ts.createSourceFile("", "", PARSED); // until the next file's end, the parser takes this one's arrow functions for it
    return undefined;
  }
}
/** One file that cannot be read is not to keep the others from it. */
function noteFailure(facts: Facts, error: unknown): void {
  facts.parseError = error instanceof RangeError ? "nested too deep" : `cannot be parsed: ${error}`.split("\n")[0]!;
}
function noteError(facts: Facts, source: ts.SourceFile | undefined, starts: number[]): void {
  const wrong = (source as Parsed | undefined)?.parseDiagnostics[0];
  if (wrong) facts.parseError ??= `line ${lineAt(starts, wrong.start)}: ${wrong.messageText}`;
}

/** Whether others see what it declares only when they import it. */
function isModule(path: string, source: ts.SourceFile, { isCommonJs }: Reading): boolean {
  return (source as Parsed).externalModuleIndicator !== undefined || isCommonJs || /\.[cm][jt]s$/.test(path);
}

/** What `export { name }` names is exported as well. */
function markExported({ symbols, exports }: Facts): void {
  const locals = new Set(exports.filter(({ from }) => !from).map(({ name, local = name }) => local));
  for (const sym of symbols) if (!sym.owner && !sym.local && locals.has(sym.name)) sym.exported = true;
}

/** Without a prototype while it is filled: an object like a Map, in which __proto__ is a name like any other. */
function record(uses: Map<ts.__String, number>): Record<string, number> {
  const all = Object.create(null);
  for (const [name, count] of uses) all[unescapeLeadingUnderscores(name)] = count;
  return Object.setPrototypeOf(all, Object.prototype);
}

// ── The walk ───────────────────────────────────────────────────────────────────────────────────────────

function visit(node: ts.Node, file: Reading): void {
  const { kind } = node;
  const act = VISITORS[kind];
  if (kind === IDENTIFIER) count(node as ts.Identifier, file);
  else if (act) act(node, file);
  else if (kind > LAST_TOKEN) forEachChild(node, file.visit);
}

type Visitor = (node: any, file: Reading) => void;
const VISITORS = byKind<Visitor>([
  [[K.PrivateIdentifier], count],
  [[K.StringLiteral], mention],
  [[K.NoSubstitutionTemplateLiteral, K.TemplateHead, K.TemplateMiddle, K.TemplateTail, K.JsxText], noteText],
  [[K.ImportDeclaration], noteImport],
  [[K.ImportEqualsDeclaration], noteImportEquals],
  [[K.ImportType], noteImportType],
  [[K.CallExpression], noteCall],
  [[K.ExportDeclaration], noteExport],
  [[K.ExportAssignment], noteDefault],
  [[K.FunctionDeclaration], (node, file) => declare(file, ownName(node), "function", node)],
  [[K.FunctionExpression, K.ArrowFunction], visitFunction],
  [
    [K.MethodDeclaration, K.GetAccessor, K.SetAccessor],
    (node, file) => declare(file, nameOf(node.name), "method", node),
  ],
  [[K.Constructor], declareConstructor],
  [[K.ClassDeclaration], (node, file) => declare(file, ownName(node), "class", node)],
  [[K.ClassExpression], visitClass],
  [[K.ClassStaticBlockDeclaration], body],
  [[K.PropertyDeclaration], declareProperty],
  [[K.PropertyAssignment], visitPropertyAssignment],
  [[K.InterfaceDeclaration], (node, file) => declare(file, nameOf(node.name), "interface", node)],
  [[K.PropertySignature, K.MethodSignature], declareMember],
  [[K.TypeAliasDeclaration], declareType],
  [[K.TypeLiteral], visitTypeLiteral],
  [[K.EnumDeclaration], (node, file) => declare(file, nameOf(node.name), "enum", node)],
  [[K.EnumMember], (node, file) => declare(file, nameOf(node.name), "member", node)],
  [[K.ModuleDeclaration], declareModule],
  [[K.VariableStatement], declareVariables],
  [[K.VariableDeclaration], (node, file) => declareVariable(file, node)], // of a loop or a catch
  [[K.BinaryExpression], visitBinary],
  [[K.IfStatement], branch],
  [[K.ConditionalExpression, K.CaseClause, K.CatchClause], decide],
  [[K.ForStatement, K.ForInStatement, K.ForOfStatement, K.WhileStatement, K.DoStatement], loop],
  [[K.SwitchStatement, K.TryStatement], deeper],
  [[K.Block], visitBlock],
]);

function byKind<T>(rows: [kinds: ts.SyntaxKind[], value: T][]): (T | undefined)[] {
  const table = new Array<T | undefined>(K.Count).fill(undefined);
  for (const [kinds, value] of rows) for (const kind of kinds) table[kind] = value;
  return table;
}

function count(node: ts.Identifier | ts.PrivateIdentifier, { uses }: Reading): void {
  const name = node.escapedText;
  if (name) uses.set(name, (uses.get(name) ?? 0) + 1);
}
/** A property may be named by a text: it["name"]. That is no use of it, but the file is one to look into. */
function mention({ text }: ts.LiteralLikeNode, { uses }: Reading): void {
  if (text.length >= 50 || !isIdentifierText(text, PARSED.languageVersion)) return;
  const name = escapeLeadingUnderscores(text);
  if (!uses.has(name)) uses.set(name, 0);
}
/** So are names that a comment's tags give, such as {@link name}: TypeScript counts them as uses. */
function noteTags({ text, uses }: Reading): void {
  for (const [, type = "", name = ""] of text.matchAll(TAG))
    for (const [one] of `${type} ${name}`.matchAll(NAME)) {
      const known = escapeLeadingUnderscores(one);
      if (one.length < 50 && !uses.has(known)) uses.set(known, 0);
    }
}
const TAG = /@(?!since|category|example|internal)\w+\s+(?:\{([^}\n]*)\}\s*)?([^\s}|]*)/g;
const NAME = /[\p{L}_$][\p{L}\p{N}_$]*/gu;

function noteText(node: ts.Node, file: Reading): void {
  if (node.kind === K.NoSubstitutionTemplateLiteral) mention(node as ts.LiteralLikeNode, file);
  const pos = node.kind === K.JsxText ? node.pos : skipTrivia(file.text, node.pos);
  const lineEnd = file.text.indexOf("\n", pos);
  if (lineEnd >= 0 && lineEnd < node.end) file.texts.push({ pos, end: node.end });
}

/** Its parts belong to it. `made` is what it is set to, where that has no name of its own to go by. */
function inside(file: Reading, name: string | undefined, made: ts.Node | undefined, read: () => void): void {
  const { owner, made: before } = file;
  if (name) file.owner = join(owner, name);
  file.made = made;
  read();
  file.owner = owner;
  file.made = before;
}
const join = (owner: string, name: string): string => (owner ? `${owner}.${name}` : name);

/** What a function decides is its own, and not that of the function around it. */
function measured(file: Reading, sym: Sym | undefined, read: () => void): void {
  const before = file.decisions;
  if (sym) file.decisions = 0;
  read();
  if (!sym) return;
  sym.decisions = file.decisions;
  file.facts.decisions += file.decisions;
  file.decisions = before;
}

function body(node: ts.Node, file: Reading): void {
  const before = file.inFunction;
  file.inFunction = true;
  deeper(node, file);
  file.inFunction = before;
}
function deeper(node: ts.Node, file: Reading): void {
  descend(file, () => forEachChild(node, file.visit));
}
function descend(file: Reading, read: () => void): void {
  file.depth++;
  if (file.depth > file.facts.nesting) file.facts.nesting = file.depth;
  read();
  file.depth--;
}
function decide(node: ts.Node, file: Reading): void {
  file.decisions++;
  forEachChild(node, file.visit);
}
function loop(node: ts.Node, file: Reading): void {
  file.decisions++;
  deeper(node, file);
}
/** An `else if` is no deeper than its `if`. */
function branch({ expression, thenStatement, elseStatement }: ts.IfStatement, file: Reading): void {
  file.decisions++;
  file.visit(expression);
  descend(file, () => file.visit(thenStatement));
  if (!elseStatement) return;
  if (isIfStatement(elseStatement)) branch(elseStatement, file);
  else descend(file, () => file.visit(elseStatement));
}
/** One that is neither a function's nor a statement's: what it declares is its own. */
function visitBlock(node: ts.Block, file: Reading): void {
  if (file.depth) forEachChild(node, file.visit);
  else deeper(node, file);
}

/** A sum of thousands of parts leans to the left, and is walked without calls within calls. */
function visitBinary(node: ts.BinaryExpression, file: Reading): void {
  if (file.isScript && node.operatorToken.kind === K.EqualsToken && assigned(node, file)) return;
  const rights: ts.Expression[] = [];
  let left: ts.Expression = node;
  for (; isBinaryExpression(left); left = left.left) {
    if (LOGICAL.has(left.operatorToken.kind)) file.decisions++;
    rights.push(left.right);
  }
  file.visit(left);
  while (rights.length) file.visit(rights.pop()!);
}
const LOGICAL = new Set([
  ...[K.AmpersandAmpersandToken, K.BarBarToken, K.QuestionQuestionToken],
  ...[K.AmpersandAmpersandEqualsToken, K.BarBarEqualsToken, K.QuestionQuestionEqualsToken],
]);

// ── Declarations ───────────────────────────────────────────────────────────────────────────────────────

/** Where a declaration stands, and what its signature is made of. One of several variables has a part in its statement. */
interface Place {
  node: ts.Node;
  statement?: ts.Node; // that has the modifiers and the comment
  shown?: ts.Node;
  before?: string; // `export const`
  end?: number; // of what is shown
  value?: ts.Node; // what it is set to, of which not all is shown
}

/** A declaration and what is in it. `made`: the function or class that it is set to. */
function declare(
  file: Reading,
  name: string | undefined,
  kind: Sym["kind"],
  node: ts.Node,
  made: ts.Node = node,
  at: Place = { node },
): Sym | undefined {
  const sym = name === undefined ? undefined : add(file, name, kind, { ...at, end: headEnd(made, at.node) });
  const isCode = isFunction(made);
  if (sym && isCode && modifiersOf(made) & ts.ModifierFlags.Async) sym.async = true;
  inside(file, name, made, () => {
    if (file.isScript && isClassLike(made)) addFields(made, file);
    measured(file, isCode && made.body ? sym : undefined, () =>
      isCode && made === node ? body(node, file) : forEachChild(node, file.visit),
    );
  });
  return sym;
}

function add(file: Reading, name: string, kind: Sym["kind"], place: Place): Sym {
  const { facts, owner, starts, text } = file;
  const { node, statement = node, shown = node } = place;
  const start = startOf(node, text);
  const signature = signatureOf(text, shown === node ? start : startOf(shown, text), place);
  const sym: Sym = { name, kind, line: lineAt(starts, start), end: lineAt(starts, node.end), signature };
  if (!name) return sym; // the parser puts in an empty one where a name is missing
  facts.symbols.push(sym);
  if (owner) sym.owner = owner;
  if (file.inFunction) sym.local = true;
  const flags = modifiersOf(statement);
  if (flags & ts.ModifierFlags.Private || name.startsWith("#")) sym.visibility = "private";
  else if (flags & ts.ModifierFlags.Protected) sym.visibility = "protected";
  const doc = docOf(node, text) || (statement === node ? "" : docOf(statement, text));
  if (doc) sym.doc = doc;
  if (flags & ts.ModifierFlags.Export) {
    sym.exported = true;
    if (!owner) exportOnce(file, flags & ts.ModifierFlags.Default ? "default" : name, name);
  }
  return sym;
}
function exportOnce({ facts, exported }: Reading, name: string, local: string): void {
  if (exported.has(name)) return;
  exported.add(name);
  facts.exports.push(local === name ? { name } : { name, local });
}

/** A function in an expression: its own name counts where nothing else names it. */
function visitFunction(node: ts.FunctionExpression | ts.ArrowFunction, file: Reading): void {
  if (node.name && node !== file.made) declare(file, idText(node.name), "function", node);
  else body(node, file);
}
function visitClass(node: ts.ClassExpression, file: Reading): void {
  if (node.name && node !== file.made) declare(file, idText(node.name), "class", node);
  else forEachChild(node, file.visit);
}

function declareConstructor(node: ts.ConstructorDeclaration, file: Reading): void {
  for (const parameter of node.parameters)
    if (modifiersOf(parameter) & ts.ModifierFlags.ParameterPropertyModifier && isIdentifier(parameter.name))
      add(file, idText(parameter.name), "property", { node: parameter });
  declare(file, "constructor", "method", node);
}

function declareProperty(node: ts.PropertyDeclaration, file: Reading): void {
  const name = nameOf(node.name);
  const made = node.initializer && bare(node.initializer);
  if (made && isFunction(made)) return void declare(file, name, "method", node, made);
  if (name !== undefined)
    add(file, name, "property", { node, end: node.initializer?.pos, ...(made && { value: made }) });
  inside(file, name, made, () => forEachChild(node, file.visit));
}

/** Of an object literal, what can be called is listed. */
function visitPropertyAssignment(node: ts.PropertyAssignment, file: Reading): void {
  const made = bare(node.initializer);
  if (isFunction(made)) return void declare(file, nameOf(node.name), "method", node, made);
  if (!isObjectLiteralExpression(made)) return void forEachChild(node, file.visit);
  inside(file, nameOf(node.name), undefined, () => forEachChild(node, file.visit));
}

/** A type's members are those of the literals that it is put together from, and not those further within. */
function declareType(node: ts.TypeAliasDeclaration, file: Reading): void {
  const name = idText(node.name);
  add(file, name, "type", { node });
  inside(file, name, undefined, () =>
    forEachChild(node, (part) => (part === node.type ? visitType(part, file) : file.visit(part))),
  );
}
function visitType(node: ts.Node, file: Reading): void {
  if (isTypeLiteralNode(node)) forEachChild(node, file.visit);
  else if (isUnionTypeNode(node) || isIntersectionTypeNode(node) || isParenthesizedTypeNode(node))
    forEachChild(node, (part) => visitType(part, file));
  else file.visit(node);
}
function declareMember(node: ts.PropertySignature | ts.MethodSignature, file: Reading): void {
  const name = nameOf(node.name);
  if (name !== undefined) add(file, name, isPropertySignature(node) ? "property" : "method", { node });
  forEachChild(node, file.visit);
}
/** One that is no type's own: of a parameter, or further within. */
function visitTypeLiteral(node: ts.TypeLiteralNode, file: Reading): void {
  for (const member of node.members) forEachChild(member, file.visit);
}

function declareModule(node: ts.ModuleDeclaration, file: Reading): void {
  const isGlobal = (node.flags & ts.NodeFlags.GlobalAugmentation) !== 0;
  const name = isIdentifier(node.name) ? idText(node.name) : `"${node.name.text}"`;
  if (isGlobal || !isIdentifier(node.name)) file.facts.global = true;
  if (!isGlobal) {
    const isNested = (node.flags & ts.NodeFlags.NestedNamespace) !== 0; // the B of A.B
    const before = isNested ? `namespace ${file.owner}.` : "";
    const sym = add(file, name, "namespace", { node, before, end: node.name.end });
    if (isNested) sym.exported = true;
  }
  inside(file, isGlobal ? undefined : name, undefined, () => forEachChild(node, file.visit));
}

function declareVariables(statement: ts.VariableStatement, file: Reading): void {
  for (const one of statement.declarationList.declarations) declareVariable(file, one, statement);
}
/** A variable within a function or a block is listed only where it is a function or a class. */
function declareVariable(file: Reading, node: ts.VariableDeclaration, statement?: ts.VariableStatement): void {
  const made = node.initializer && bare(node.initializer);
  const name = isIdentifier(node.name) ? idText(node.name) : undefined;
  const at = placeOf(node, statement, file);
  if (made && name && (isFunction(made) || isClassExpression(made)))
    return void declare(file, name, isFunction(made) ? "function" : "class", node, made, at);
  const isImport = made !== undefined && takes(node.name, made, file);
  const isListed = statement !== undefined && !file.inFunction && !file.depth && !isImport;
  if (isListed) {
    const kind = statement.declarationList.flags & CONSTANT ? "const" : "variable";
    const place = { ...at, end: node.initializer?.pos ?? node.end, value: made };
    if (name) add(file, name, kind, place);
    else
      for (const bound of boundNames(node.name))
        add(file, idText(bound.name as ts.Identifier), kind, { ...place, node: bound, statement, shown: at.node });
  }
  const isOwner = made && (isListed || isObjectLiteralExpression(made));
  inside(file, isOwner ? name : undefined, undefined, () => forEachChild(node, file.visit));
}
const CONSTANT = ts.NodeFlags.Const | ts.NodeFlags.Using;

/** Alone in its statement, a variable's text is all of the statement's. */
function placeOf(node: ts.VariableDeclaration, statement: ts.VariableStatement | undefined, { text }: Reading): Place {
  if (!statement) return { node };
  const { declarations } = statement.declarationList;
  if (declarations.length === 1) return { node: statement };
  return { node, statement, before: `${text.slice(startOf(statement, text), declarations.pos)} ` };
}

function* boundNames(name: ts.BindingName): Generator<ts.BindingElement> {
  if (isIdentifier(name)) return;
  for (const element of name.elements)
    if (isBindingElement(element)) {
      if (isIdentifier(element.name)) yield element;
      else yield* boundNames(element.name);
    }
}

// ── JavaScript's own forms ─────────────────────────────────────────────────────────────────────────────

/** `exports.name = …`, `module.exports = …`, `Class.prototype.name = …`; whether that was all of it. */
function assigned(node: ts.BinaryExpression, file: Reading): boolean {
  const path = dotted(node.left) ?? "";
  const [whole, exported] = /^(?:module\.)?exports(?:\.([^.]+))?$/.exec(path) ?? [];
  const [, type = "", member] = /^(?:.+\.)?([^.]+)\.prototype(?:\.([^.]+))?$/.exec(path) ?? [];
  if (whole) file.isCommonJs = true;
  const { owner } = file;
  file.owner = type;
  const isDone = exported
    ? exportNamed(node, exported, file)
    : whole === "module.exports"
      ? exportAll(node, file)
      : type !== "" && declareOn(node, member, file);
  file.owner = owner;
  return isDone;
}
function declareOn(node: ts.BinaryExpression, member: string | undefined, file: Reading): boolean {
  const made = bare(node.right);
  if (member && isFunction(made)) declare(file, member, "method", node, made);
  else if (!member && isObjectLiteralExpression(made)) forEachChild(node, file.visit);
  else return false;
  return true;
}
function exportNamed(node: ts.BinaryExpression, name: string, file: Reading): boolean {
  const made = settled(node.right);
  if (isVoidExpression(made)) return false; // compilers announce so what they set later
  file.facts.exports.push({ name, ...(isIdentifier(made) && { local: idText(made) }) });
  if (dotted(made) || importedBy(made)) return false; // it has its place elsewhere
  declareValue(file, name, node, node.right, made);
  return true;
}
/** Of an object, each part is exported by its name. */
function exportAll(node: ts.BinaryExpression, file: Reading): boolean {
  const made = settled(node.right);
  if (!isObjectLiteralExpression(made)) return exportOne(file, node, node.right, "export=");
  for (const property of made.properties) {
    const name = property.name && nameOf(property.name);
    if (name === undefined) continue;
    const local = isPropertyAssignment(property) && isIdentifier(property.initializer) && property.initializer;
    file.facts.exports.push({ name, ...(local && { local: idText(local) }) });
  }
  return false;
}

/** What a class sets on itself as it is made are its fields, where nobody declared them. */
function addFields(node: ts.ClassLikeDeclaration, file: Reading): void {
  const seen = new Set(node.members.map(({ name }) => name && nameOf(name)));
  for (const statement of node.members.find(isConstructorDeclaration)?.body?.statements ?? []) {
    if (!isExpressionStatement(statement) || !isBinaryExpression(statement.expression)) continue;
    const { left, operatorToken, right } = statement.expression;
    if (operatorToken.kind !== K.EqualsToken || !isPropertyAccessExpression(left)) continue;
    const name = nameOf(left.name);
    if (left.expression.kind !== K.ThisKeyword || name === undefined || seen.has(name)) continue;
    seen.add(name);
    add(file, name, "property", { node: statement, end: right.pos });
  }
}

// ── Imports and exports ────────────────────────────────────────────────────────────────────────────────

function noteImport(node: ts.ImportDeclaration, file: Reading): void {
  const { importClause, moduleSpecifier } = node;
  const names: string[] = [];
  if (importClause?.name) names.push(`default as ${idText(importClause.name)}`);
  const bindings = importClause?.namedBindings;
  if (bindings && isNamespaceImport(bindings)) names.push(`* as ${idText(bindings.name)}`);
  else if (bindings) names.push(...bindings.elements.map(aliased));
  pushImport(file, moduleSpecifier, importClause?.phaseModifier === K.TypeKeyword ? "type" : "import", names);
  forEachChild(node, file.visit);
}
function noteImportEquals(node: ts.ImportEqualsDeclaration, file: Reading): void {
  const { name, moduleReference } = node;
  if (isExternalModuleReference(moduleReference))
    pushImport(file, moduleReference.expression, "require", [`* as ${idText(name)}`]);
  if (modifiersOf(node) & ts.ModifierFlags.Export && !file.owner) exportOnce(file, idText(name), idText(name));
  forEachChild(node, file.visit);
}
function noteImportType(node: ts.ImportTypeNode, file: Reading): void {
  const { argument, qualifier } = node;
  if (isLiteralTypeNode(argument)) pushImport(file, argument.literal, "type", [leftmost(qualifier) ?? "*"]);
  forEachChild(node, file.visit);
}
function leftmost(name: ts.EntityName | undefined): string | undefined {
  while (name && !isIdentifier(name)) name = name.left;
  return name && idText(name);
}
function noteCall(node: ts.CallExpression, file: Reading): void {
  const how = importedBy(node);
  if (how) pushImport(file, node.arguments[0]!, how, file.taken?.call === node ? file.taken.names : ["*"]);
  if (how === "require" && file.isScript) file.isCommonJs = true;
  forEachChild(node, file.visit);
}
function importedBy(node: ts.Node): Import["how"] | undefined {
  if (!isCallExpression(node)) return undefined;
  const {
    expression,
    arguments: [first],
  } = node;
  const isRequire = isIdentifier(expression) && expression.escapedText === "require";
  if (!(isRequire || expression.kind === K.ImportKeyword) || !first || !isStringLiteralLike(first)) return undefined;
  return isRequire ? "require" : "dynamic";
}
/** `const { a, b: c } = await import("x")` takes a and b alone; whether it is JavaScript's own kind of import. */
function takes(name: ts.BindingName, made: ts.Node, file: Reading): boolean {
  const from = isPropertyAccessExpression(made) ? bare(made.expression) : made; // require("x").a
  const call = isAwaitExpression(from) ? bare(from.expression) : from;
  const how = importedBy(call);
  if (how)
    file.taken = {
      call,
      names: from === made ? taken(name) : [renamed((made as ts.PropertyAccessExpression).name, name)],
    };
  return how === "require" && file.isScript;
}
function taken(name: ts.BindingName): string[] {
  if (isIdentifier(name)) return [`* as ${idText(name)}`];
  return name.elements.map((element) =>
    isBindingElement(element) && !element.dotDotDotToken
      ? renamed(element.propertyName ?? element.name, element.name)
      : "*",
  );
}
function renamed(from: ts.Node, to: ts.BindingName): string {
  const name = nameOf(from);
  if (!name || !isIdentifier(to) || idText(to) === name) return name || "*";
  return `${name} as ${idText(to)}`;
}
function pushImport({ facts, starts, text }: Reading, from: ts.Node, how: Import["how"], names: string[]): void {
  if (!isStringLiteralLike(from)) return;
  facts.imports.push({ from: from.text, line: lineAt(starts, skipTrivia(text, from.pos)), how, names });
}

/** In a namespace it says what the namespace has, not the file. */
function noteExport(node: ts.ExportDeclaration, file: Reading): void {
  const { exportClause, moduleSpecifier } = node;
  const from = moduleSpecifier && isStringLiteral(moduleSpecifier) ? { from: moduleSpecifier.text } : {};
  const { exports } = file.facts;
  let names = ["*"];
  if (file.owner) names = [];
  else if (!exportClause) exports.push({ name: "*", ...from });
  else if (isNamespaceExport(exportClause)) {
    const name = nameOf(exportClause.name)!;
    names = [`* as ${name}`];
    exports.push({ name, local: "*", ...from });
  } else {
    names = exportClause.elements.map(aliased);
    for (const { name, propertyName } of exportClause.elements)
      exports.push({ name: nameOf(name)!, ...(propertyName && { local: nameOf(propertyName) }), ...from });
  }
  if (moduleSpecifier) pushImport(file, moduleSpecifier, "export", names);
  forEachChild(node, file.visit);
}
function noteDefault(node: ts.ExportAssignment, file: Reading): void {
  const as = node.isExportEquals ? "export=" : "default";
  if (file.owner || !exportOne(file, node, node.expression, as)) forEachChild(node, file.visit);
}
/** `export default …`, `export = …`, `module.exports = …`; false where it has its name and its place elsewhere. */
function exportOne(file: Reading, node: ts.Node, expression: ts.Expression, as: string): boolean {
  const made = settled(expression);
  const name = isFunction(made) || isClassExpression(made) ? (ownName(made) ?? "default") : "default";
  const local = isIdentifier(made) ? idText(made) : name;
  file.facts.exports.push({ name: as, ...(local !== "default" && { local }) });
  if (isIdentifier(made) || importedBy(made)) return false;
  declareValue(file, name, node, expression, made);
  return true;
}
/** What an expression makes, by the name that its export gives it. */
function declareValue(file: Reading, name: string, node: ts.Node, expression: ts.Expression, made: ts.Node): void {
  const from = file.facts.symbols.length;
  if (isFunction(made)) declare(file, name, "function", node, made);
  else if (isClassExpression(made)) declare(file, name, "class", node, made);
  else {
    add(file, name, "const", { node, end: expression.pos, value: made });
    inside(file, name, undefined, () => forEachChild(node, file.visit));
  }
  file.facts.symbols[from]!.exported = true;
}

// ── What nodes say ─────────────────────────────────────────────────────────────────────────────────────

type Code = ts.FunctionLikeDeclaration & { name?: ts.Node; body?: ts.Node };
const FUNCTIONS = byKind<true>([
  [[K.FunctionDeclaration, K.FunctionExpression, K.ArrowFunction, K.MethodDeclaration, K.Constructor], true],
  [[K.GetAccessor, K.SetAccessor], true],
]);
const isFunction = (node: ts.Node): node is Code => FUNCTIONS[node.kind] === true;

function modifiersOf(node: ts.Node): number {
  let flags = 0;
  const { modifiers } = node as { modifiers?: ts.NodeArray<ts.ModifierLike> };
  if (modifiers) for (const { kind } of modifiers) flags |= MODIFIERS[kind] ?? 0;
  return flags;
}
const MODIFIERS = byKind<number>([
  [[K.ExportKeyword], ts.ModifierFlags.Export],
  [[K.DefaultKeyword], ts.ModifierFlags.Default],
  [[K.AsyncKeyword], ts.ModifierFlags.Async],
  [[K.PublicKeyword], ts.ModifierFlags.Public],
  [[K.PrivateKeyword], ts.ModifierFlags.Private],
  [[K.ProtectedKeyword], ts.ModifierFlags.Protected],
  [[K.ReadonlyKeyword], ts.ModifierFlags.Readonly],
  [[K.OverrideKeyword], ts.ModifierFlags.Override],
]);

/** Without the parentheses and the words about its type around it. */
function bare(node: ts.Node): ts.Node {
  while (WRAPPERS[node.kind]) node = (node as ts.ParenthesizedExpression).expression;
  return node;
}
const WRAPPERS = byKind<true>([
  [[K.ParenthesizedExpression, K.NonNullExpression], true],
  [[K.AsExpression, K.SatisfiesExpression, K.TypeAssertionExpression], true],
]);
/** The value at the end of `a = b = value`. */
function settled(node: ts.Node): ts.Node {
  for (node = bare(node); isBinaryExpression(node) && node.operatorToken.kind === K.EqualsToken; )
    node = bare(node.right);
  return node;
}

/** As others write it; `[Symbol.iterator]` in its brackets, and none for a name that has to be worked out. */
function nameOf(name: ts.Node): string | undefined {
  if (isIdentifier(name) || isPrivateIdentifier(name)) return idText(name);
  if (isStringLiteralLike(name) || isNumericLiteral(name) || isBigIntLiteral(name)) return name.text;
  if (!isComputedPropertyName(name)) return undefined;
  const { expression } = name;
  if (isStringLiteralLike(expression) || isNumericLiteral(expression)) return expression.text;
  const path = dotted(expression);
  return path && `[${path}]`;
}
const ownName = (node: ts.Node & { name?: ts.Node }): string | undefined =>
  node.name ? nameOf(node.name) : modifiersOf(node) & ts.ModifierFlags.Default ? "default" : undefined;

/** `a.b.c`, and nothing for what is not made of names alone. */
function dotted(node: ts.Node): string | undefined {
  if (isIdentifier(node)) return idText(node);
  if (!isPropertyAccessExpression(node)) return undefined;
  const left = dotted(node.expression);
  return left && `${left}.${idText(node.name)}`;
}

const aliased = ({ name, propertyName }: ts.ImportSpecifier | ts.ExportSpecifier): string =>
  propertyName ? `${nameOf(propertyName)} as ${nameOf(name)}` : nameOf(name)!;

// ── Text ───────────────────────────────────────────────────────────────────────────────────────────────

/** Where a declaration begins: after comments and decorators. */
function startOf(node: ts.Node, text: string): number {
  const { modifiers } = node as { modifiers?: ts.NodeArray<ts.ModifierLike> };
  let from = node.pos;
  if (modifiers) for (const { kind, end } of modifiers) if (kind === K.Decorator) from = end;
  return skipTrivia(text, from);
}
/** Where a declaration's body begins. */
function headEnd(made: ts.Node, at: ts.Node): number {
  const { members, body } = made as { members?: ts.NodeArray<ts.Node>; body?: ts.Node };
  if (members) return members.pos - 1; // before the brace
  return (isFunction(made) && body?.pos) || at.end;
}

/** One line, without the body. `value`: what it is set to, of which not all is said. */
function signatureOf(text: string, start: number, { node, before = "", end = node.end, value }: Place): string {
  const head = text.slice(start, Math.min(end, start + 4 * LONGEST));
  return oneLine(before + head + (value ? ` ${shortValue(value, text)}` : "")).slice(0, LONGEST);
}
/** `tool({…})`, for one. */
function shortValue(value: ts.Node, text: string): string {
  if (isObjectLiteralExpression(value)) return "{…}";
  if (isArrayLiteralExpression(value)) return "[…]";
  if (isAwaitExpression(value)) return `await ${shortValue(bare(value.expression), text)}`;
  if (isCallExpression(value) || isNewExpression(value)) {
    const first = value.arguments?.[0];
    const given = first ? (isObjectLiteralExpression(first) ? "{…}" : "…") : "";
    return `${isNewExpression(value) ? "new " : ""}${dotted(value.expression) ?? "…"}(${given})`;
  }
  const start = startOf(value, text);
  return text.slice(start, Math.min(value.end, start + LONGEST));
}

/** Comments and line breaks become a blank, but not within quotes. */
function oneLine(text: string): string {
  if (/[\n\t/]| {2}/.test(text))
    text = text
      .replace(QUOTED_OR_BLANK, (_, quoted?: string) => (quoted ? quoted.replace(/\s+/g, " ") : " "))
      .replace(/([([]) |,? (?=[)\]])/g, "$1");
  return text.replace(/[\s;,=]+$/, "");
}
const QUOTED_OR_BLANK =
  /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[\s\S])*`)|(?:\s|\/\*[\s\S]*?(?:\*\/|$)|\/\/.*)+/g;

/** The first line of the comment right before a node; of several lines of `//`, of the first. */
function docOf(node: ts.Node, text: string): string {
  let next = skipTrivia(text, node.pos);
  if (inkAfter(text, node.pos) === next) return "";
  let doc = "";
  for (const { pos, end, kind } of getLeadingCommentRanges(text, node.pos)?.reverse() ?? []) {
    if (text.slice(end, next).split("\n").length > 2) break; // a line apart
    doc = text.slice(pos, end);
    next = pos;
    if (kind === K.MultiLineCommentTrivia) break;
  }
  for (const line of doc.split("\n")) {
    const words = line.replace(/^\s*(?:\/\*+|\/\/+|\*+(?!\/))?|\*+\/\s*$/g, "").trim();
    if (words) return words.slice(0, LONGEST);
  }
  return "";
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = 0; (at = text.indexOf("\n", at) + 1); ) starts.push(at);
  return starts;
}
function lineAt(starts: number[], pos: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= pos) low = middle;
    else high = middle - 1;
  }
  return low + 1;
}
/** Where the first thing stands that is no blank. */
function inkAfter(text: string, at: number, end = text.length): number {
  for (; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code > 32 && code !== BOM) break;
  }
  return at;
}
const BOM = 0xfeff;

/** A comment that begins after code counts as code on its further lines too. */
function countLines({ text, starts, texts }: Pick<Reading, "text" | "starts" | "texts">): number {
  let [lines, commentEnd, nextText] = [0, 0, 0];
  for (const [i, start] of starts.entries()) {
    const end = starts[i + 1] ?? text.length;
    let at = inkAfter(text, Math.max(start, commentEnd), end);
    if (at >= end) continue;
    while (nextText < texts.length && texts[nextText]!.end <= start) nextText++;
    const isText = nextText < texts.length && texts[nextText]!.pos < start;
    while (!isText && text.startsWith("/*", at)) {
      const close = text.indexOf("*/", at + 2);
      commentEnd = close < 0 ? text.length : close + 2;
      at = inkAfter(text, commentEnd, end);
    }
    if (at < end && (isText || !text.startsWith("//", at))) lines++;
  }
  return lines;
}

// ── To-dos ─────────────────────────────────────────────────────────────────────────────────────────────

const TODO = /\b(?:TODO|FIXME|HACK)\b/g;

function todosIn(source: ts.SourceFile, text: string, starts: number[]): Todo[] {
  const todos: Todo[] = [];
  for (const { index } of text.matchAll(TODO)) {
    const line = lineAt(starts, index);
    if (todos.at(-1)?.line === line || !isInComment(source, text, index)) continue;
    const words = text.slice(index, starts[line]).replace(/\s*\*\/.*/, "");
    todos.push({ line, text: words.trim().slice(0, LONGEST) });
  }
  return todos;
}

/** The parser knows all else: what stands in no token stands in a comment. */
function isInComment(source: ts.SourceFile, text: string, at: number): boolean {
  let node: ts.Node = source;
  let inner: ts.Node | undefined = source;
  for (; inner; inner = forEachChild(inner, (child) => (child.pos <= at && at < child.end ? child : undefined)))
    node = inner;
  const isWord = node.kind <= K.LastTemplateToken || isIdentifier(node) || isPrivateIdentifier(node);
  return node.kind !== K.JsxText && (!isWord || at < skipTrivia(text, node.pos));
}

// ── Not code ───────────────────────────────────────────────────────────────────────────────────────────

function scanJson(path: string, text: string): Facts {
  const facts = empty();
  const starts = lineStarts(text);
  const source = parse(facts, () => ts.parseJsonText(path, text));
  const value = source?.statements[0]?.expression;
  if (value && isObjectLiteralExpression(value))
    for (const property of value.properties) {
      if (!property.name || !isStringLiteral(property.name)) continue;
      const name = property.name.text;
      const [line, end] = [lineAt(starts, startOf(property, text)), lineAt(starts, property.end)];
      facts.symbols.push({ name, kind: "key", line, end, signature: JSON.stringify(name).slice(0, LONGEST) });
    }
  if (source) facts.todos = todosIn(source, text, starts);
  facts.loc = countLines({ text, starts, texts: [] });
  noteError(facts, source, starts);
  return facts;
}

/** The keys of the top level alone: they stand at the start of a line, and no text of several lines does. */
function scanYaml(text: string): Facts {
  const facts = empty();
  let last: Sym | undefined;
  for (const [at, row] of text.split(/\r?\n/).entries()) {
    if (!/^\s*[^\s#]/.test(row)) continue;
    facts.loc++;
    const [, double, single, plain] = YAML_KEY.exec(row) ?? [];
    const [name, line] = [double ?? single ?? plain?.trimEnd(), at + 1];
    if (/^(?:---|\.\.\.)/.test(row)) last = undefined;
    else if (name && !/\s#/.test(name)) {
      last = { name, kind: "key", line, end: line, signature: name.slice(0, LONGEST) };
      facts.symbols.push(last);
    } else if (last) last.end = line;
  }
  return facts;
}
const YAML_KEY = /^\ufeff?(?:"([^"]+)"\s*|'([^']+)'\s*|([^\s"'#&*!|>%@`[\]{},?:-].*?)):(?:\s|$)/;
