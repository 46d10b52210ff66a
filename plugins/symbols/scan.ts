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
const PARSED = { languageVersion: ts.ScriptTarget.Latest, jsDocParsingMode: ts.JSDocParsingMode.ParseNone };
const K = ts.SyntaxKind;
/** Not in the types, though TypeScript's own tools are made of them. */
const skipTrivia = (ts as unknown as { skipTrivia(text: string, pos: number): number }).skipTrivia;
const lineStarts = (ts as unknown as { getLineStarts(source: ts.SourceFile): readonly number[] }).getLineStarts;
const TODO = /\b(?:TODO|FIXME|HACK)\b.*/g;
const MINIFIED = 500; // characters a line, on average

export function scan(path: string, text: string): Facts {
  if (/\.json$/i.test(path)) return scanJson(path, text);
  if (/\.ya?ml$/i.test(path)) return scanYaml(text);
  return isMinified(path, text) ? listed("minified") : scanCode(path, text);
}

/** A file that is listed and not parsed. */
export const listed = (unread: string): Facts => ({ ...empty(), unread });

const empty = (): Facts => ({
  ...{ symbols: [], imports: [], exports: [], uses: {}, todos: [] },
  ...{ loc: 0, nesting: 0, decisions: 0 },
});

function isMinified(path: string, text: string): boolean {
  if (/[.-]min\.[cm]?js$/.test(path)) return true;
  if (text.length < 10 * MINIFIED) return false;
  let lines = 1;
  for (let at = 0; (at = text.indexOf("\n", at) + 1); ) lines++;
  return text.length / lines > MINIFIED;
}

function scanCode(path: string, text: string): Facts {
  const source = ts.createSourceFile(path, text, PARSED, false);
  const starts = lineStarts(source);
  const facts = empty();
  const uses = new Map<string, number>();
  const { symbols, imports, exports } = facts;
  const isScript = /\.[cm]?jsx?$/.test(path);
  let [owner, depth, branches, inFunction] = ["", 0, 0, false];
  let container: ts.Node | undefined; // the declaration whose direct parts are looked at

  ts.forEachChild(source, visit);
  facts.uses = Object.fromEntries(uses);
  facts.loc = countLines(text);
  facts.decisions = branches;
  facts.todos = todosIn(source, text, lineOf);
  markExported(facts);
  const wrong = (source as unknown as { parseDiagnostics: ts.DiagnosticWithLocation[] }).parseDiagnostics[0];
  if (wrong) {
    const words = typeof wrong.messageText === "string" ? wrong.messageText : wrong.messageText.messageText;
    facts.parseError = `line ${lineOf(wrong.start)}: ${words}`;
  }
  if (!isModule(source)) facts.global = true;
  return facts;

  function visit(node: ts.Node): void {
    switch (node.kind) {
      case K.Identifier:
      case K.PrivateIdentifier: {
        const name = (node as ts.Identifier).text;
        uses.set(name, (uses.get(name) ?? 0) + 1);
        return;
      }
      case K.StringLiteral:
      case K.NoSubstitutionTemplateLiteral: {
        const name = (node as ts.StringLiteral).text; // a property may be named so: it["name"]
        if (name.length < 50 && /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name) && !uses.has(name)) uses.set(name, 0);
        return;
      }
      case K.ImportDeclaration:
        noteImport(node as ts.ImportDeclaration);
        break;
      case K.ImportEqualsDeclaration:
        noteImportEquals(node as ts.ImportEqualsDeclaration);
        break;
      case K.ExportDeclaration:
        noteExport(node as ts.ExportDeclaration);
        break;
      case K.ExportAssignment:
        return void noteDefault(node as ts.ExportAssignment);
      case K.ImportType: {
        const { argument } = node as ts.ImportTypeNode;
        if (ts.isLiteralTypeNode(argument) && ts.isStringLiteral(argument.literal))
          imports.push({ from: argument.literal.text, line: lineOf(startOf(node)), how: "type", names: ["*"] });
        break;
      }
      case K.CallExpression:
        noteCall(node as ts.CallExpression);
        break;
      case K.FunctionDeclaration:
        return void declare(node as ts.FunctionDeclaration, "function");
      case K.ClassDeclaration:
        return void declare(node as ts.ClassDeclaration, "class");
      case K.ClassExpression:
        if (node !== container && (node as ts.ClassExpression).name)
          return void declare(node as ts.ClassExpression, "class");
        break;
      case K.InterfaceDeclaration:
        return void declare(node as ts.InterfaceDeclaration, "interface");
      case K.TypeAliasDeclaration:
        return void declare(node as ts.TypeAliasDeclaration, "type");
      case K.EnumDeclaration:
        return void declare(node as ts.EnumDeclaration, "enum");
      case K.EnumMember:
        return void declare(node as ts.EnumMember, "member");
      case K.ModuleDeclaration:
        return void declareModule(node as ts.ModuleDeclaration);
      case K.MethodSignature:
        if (inFunction) break;
        return void declare(node as ts.MethodSignature, "method");
      case K.MethodDeclaration:
      case K.GetAccessor:
      case K.SetAccessor:
        return void declare(node as ts.MethodDeclaration, "method");
      case K.Constructor:
        return void declareConstructor(node as ts.ConstructorDeclaration);
      case K.PropertySignature:
        if (inFunction) break; // of a parameter's type
        return void declareProperty(node as ts.PropertySignature);
      case K.PropertyDeclaration:
        return void declareProperty(node as ts.PropertyDeclaration);
      case K.PropertyAssignment: {
        const property = node as ts.PropertyAssignment;
        if (isFunction(property.initializer)) return void declare(property, "method", property.initializer);
        if (!ts.isObjectLiteralExpression(bare(property.initializer))) break;
        visit(property.name);
        return void within(join(nameOf(property.name)), node, () => visit(property.initializer));
      }
      case K.VariableStatement:
        return void declareVariables(node as ts.VariableStatement);
      case K.VariableDeclaration: // of a for or a using
        return void declareVariable(node as ts.VariableDeclaration, node, node);
      case K.BinaryExpression: {
        const { operatorToken, left, right } = node as ts.BinaryExpression;
        if (LOGICAL.has(operatorToken.kind)) branches++;
        else if (isScript && operatorToken.kind === K.EqualsToken && assigned(node, left, right)) return;
        break;
      }
      case K.ArrowFunction:
      case K.FunctionExpression: {
        const named = (node as ts.FunctionExpression).name;
        if (named && node !== container) return void declare(node as ts.FunctionExpression, "function");
        return void body(node);
      }
      case K.ClassStaticBlockDeclaration:
        return void body(node);
      case K.Block:
        if (!inFunction && !depth) return void nested(node); // neither a function's nor a statement's
        break;
      case K.IfStatement:
        return void branch(node as ts.IfStatement);
      default:
        if (BRANCHES.has(node.kind)) branches++;
        if (NESTS.has(node.kind)) return void nested(node);
    }
    ts.forEachChild(node, visit);
  }

  /** A named thing with what is in it. `at`: where its text begins and ends; `made`: the function or class that it is. */
  function declare(
    node: ts.Node & { name?: ts.Node },
    kind: Sym["kind"],
    made: ts.Node = node,
    at: ts.Node = node,
  ): void {
    const name = node.name ? nameOf(node.name) : "default";
    if (name === undefined) return void ts.forEachChild(node, visit); // computed: [Symbol.iterator]
    const sym = add(name, kind, at, headEnd(made, at));
    const before = branches;
    const inside =
      isFunction(made) || ts.isClassLike(made) || kind === "interface" || kind === "enum" || kind === "type";
    if (node.name) visit(node.name);
    if (inside)
      within(join(name), made, () => {
        if (isFunction(made)) body(made, node.name);
        else ts.forEachChild(made, (child) => (child === node.name ? undefined : visit(child)));
      });
    if (made !== node || !inside)
      ts.forEachChild(node, (child) => (child === node.name || child === made ? undefined : visit(child)));
    if (isFunction(made)) {
      sym.decisions = branches - before;
      if (ts.getCombinedModifierFlags(made as ts.Declaration) & ts.ModifierFlags.Async) sym.async = true;
    }
  }

  function declareModule(node: ts.ModuleDeclaration): void {
    const name = ts.isStringLiteral(node.name) ? `"${node.name.text}"` : node.name.text;
    const isGlobal = (node.flags & ts.NodeFlags.GlobalAugmentation) !== 0;
    if (isGlobal || ts.isStringLiteral(node.name)) facts.global = true;
    if (!isGlobal) add(name, "namespace", node, node.name.end);
    visit(node.name);
    within(isGlobal ? owner : join(name), node, () => node.body && visit(node.body));
  }

  function declareConstructor(node: ts.ConstructorDeclaration): void {
    for (const parameter of node.parameters)
      if (parameter.modifiers?.some(({ kind }) => PARAMETER_PROPERTY.has(kind)) && ts.isIdentifier(parameter.name))
        add(parameter.name.text, "property", parameter, parameter.end);
    const sym = add("constructor", "method", node, headEnd(node, node));
    const before = branches;
    within(join("constructor"), node, () => body(node));
    sym.decisions = branches - before;
  }

  function declareProperty(node: ts.PropertyDeclaration | ts.PropertySignature): void {
    const made = "initializer" in node && node.initializer ? bare(node.initializer) : undefined;
    if (made && isFunction(made)) return void declare(node, "method", made);
    const name = nameOf(node.name);
    if (name !== undefined) add(name, "property", node, made?.pos ?? node.end);
    if (made && name !== undefined) return void within(join(name), node, () => ts.forEachChild(node, visit));
    ts.forEachChild(node, visit);
  }

  function declareVariables(node: ts.VariableStatement): void {
    const { declarations } = node.declarationList;
    for (const one of declarations) declareVariable(one, declarations.length > 1 ? one : node, node);
  }

  function declareVariable(node: ts.VariableDeclaration, at: ts.Node, statement: ts.Node): void {
    const made = node.initializer && bare(node.initializer);
    const named = ts.isIdentifier(node.name);
    if (made && named && (isFunction(made) || ts.isClassExpression(made)))
      return void declare(node, isFunction(made) ? "function" : "class", made, at);
    const isLocal = inFunction || depth > 0 || statement === node;
    if (!isLocal) {
      const flags = ts.isVariableStatement(statement) ? statement.declarationList.flags : 0;
      const kind = flags & ts.NodeFlags.Const ? "const" : "variable";
      for (const name of boundNames(node.name)) add(name, kind, at, made ? Math.max(made.pos, 0) : node.end, made);
    }
    if (named && made && !isLocal)
      return void within(join((node.name as ts.Identifier).text), node, () => ts.forEachChild(node, visit));
    ts.forEachChild(node, visit);
  }

  /** `exports.name = …`, `module.exports = …` and `Class.prototype.name = …`, as JavaScript has them. */
  function assigned(node: ts.Node, left: ts.Expression, right: ts.Expression): boolean {
    const path = dotted(left);
    if (path === "module.exports") exports.push({ name: "export=" });
    const [, name] = /^(?:module\.)?exports\.([\w$]+)$/.exec(path) ?? [];
    const [, type, member] = /^([\w$]+)\.prototype\.([\w$]+)$/.exec(path) ?? [];
    const made = bare(right);
    if (name) exports.push({ name, ...(ts.isIdentifier(right) && { local: right.text }) });
    if (!isFunction(made) || !(name || member)) return false;
    const sym = add(name ?? member!, name ? "function" : "method", node, headEnd(made, node));
    if (type) sym.owner = type;
    visit(left);
    const before = branches;
    within(name ?? join(member!, type), made, () => body(made));
    sym.decisions = branches - before;
    return true;
  }

  function noteImport({ importClause, moduleSpecifier }: ts.ImportDeclaration): void {
    const names: string[] = [];
    if (importClause?.name) names.push(`default as ${importClause.name.text}`);
    const bindings = importClause?.namedBindings;
    if (bindings && ts.isNamespaceImport(bindings)) names.push(`* as ${bindings.name.text}`);
    else for (const one of bindings?.elements ?? []) names.push(aliased(one));
    pushImport(moduleSpecifier, importClause?.phaseModifier === K.TypeKeyword ? "type" : "import", names);
  }
  function noteImportEquals({ name, moduleReference }: ts.ImportEqualsDeclaration): void {
    if (ts.isExternalModuleReference(moduleReference))
      pushImport(moduleReference.expression, "require", [`* as ${name.text}`]);
  }
  function noteExport({ exportClause, moduleSpecifier }: ts.ExportDeclaration): void {
    const from = moduleSpecifier && ts.isStringLiteral(moduleSpecifier) ? { from: moduleSpecifier.text } : {};
    if (!exportClause) exports.push({ name: "*", ...from });
    else if (ts.isNamespaceExport(exportClause)) exports.push({ name: exportClause.name.text, local: "*", ...from });
    else
      for (const { name, propertyName } of exportClause.elements)
        exports.push({ name: name.text, ...(propertyName && { local: propertyName.text }), ...from });
    if (!moduleSpecifier) return;
    const names = !exportClause
      ? ["*"]
      : ts.isNamespaceExport(exportClause)
        ? [`* as ${exportClause.name.text}`]
        : exportClause.elements.map(aliased);
    pushImport(moduleSpecifier, "export", names);
  }
  function noteDefault(node: ts.ExportAssignment): void {
    const made = bare(node.expression);
    const local = ts.isIdentifier(made) ? { local: made.text } : {};
    exports.push({ name: node.isExportEquals ? "export=" : "default", ...local });
    if (ts.isIdentifier(made)) return void visit(made);
    const kind = isFunction(made) ? "function" : ts.isClassExpression(made) ? "class" : "const";
    const sym =
      kind === "const" ? add("default", kind, node, made.pos, made) : add("default", kind, node, headEnd(made, node));
    sym.exported = true;
    const before = branches;
    within("default", made, () => visit(node.expression));
    if (isFunction(made)) sym.decisions = branches - before;
  }
  function noteCall({ expression, arguments: [first] }: ts.CallExpression): void {
    if (!first || !ts.isStringLiteralLike(first)) return;
    if (expression.kind === K.ImportKeyword) pushImport(first, "dynamic", ["*"]);
    else if (ts.isIdentifier(expression) && expression.text === "require") pushImport(first, "require", ["*"]);
  }
  function pushImport(from: ts.Expression, how: Import["how"], names: string[]): void {
    if (ts.isStringLiteralLike(from)) imports.push({ from: from.text, line: lineOf(startOf(from)), how, names });
  }

  function add(name: string, kind: Sym["kind"], node: ts.Node, headEnd: number, value?: ts.Node): Sym {
    const start = startOf(node);
    const sym: Sym = {
      ...{ name, kind, line: lineOf(start), end: lineOf(node.end) },
      signature: signatureOf(start, headEnd, node, value),
    };
    if (owner) sym.owner = owner;
    if (inFunction) sym.local = true;
    const flags = modifiersOf(node);
    if (flags & ts.ModifierFlags.Export) sym.exported = true;
    if (flags & ts.ModifierFlags.Private || name.startsWith("#")) sym.visibility = "private";
    else if (flags & ts.ModifierFlags.Protected) sym.visibility = "protected";
    const doc = docOf(node);
    if (doc) sym.doc = doc;
    if (flags & ts.ModifierFlags.Export && !owner)
      exports.push({
        name: flags & ts.ModifierFlags.Default ? "default" : name,
        ...(flags & ts.ModifierFlags.Default && { local: name }),
      });
    symbols.push(sym);
    return sym;
  }

  function signatureOf(start: number, headEnd: number, node: ts.Node, value?: ts.Node): string {
    let head = text.slice(start, Math.min(Math.max(headEnd, start), start + 4 * LONGEST));
    if (value) head += shortValue(value);
    else if (headEnd >= node.end) head = text.slice(start, Math.min(node.end, start + 4 * LONGEST));
    return head
      .replace(/\/\*.*?\*\/|\/\/.*$/gms, " ")
      .replace(/\s+/g, " ")
      .replace(/[\s{;,=]+$/, (tail) => (tail.trim() === "=>" ? " =>" : ""))
      .trim()
      .slice(0, LONGEST);
  }
  /** What a constant is set to, without what is inside: `tool({…})`. */
  function shortValue(value: ts.Node): string {
    if (ts.isCallExpression(value)) {
      const [first] = value.arguments;
      return ` ${dotted(value.expression) || "…"}(${first ? (ts.isObjectLiteralExpression(first) ? "{…}" : "…") : ""})`;
    }
    if (ts.isObjectLiteralExpression(value)) return " {…}";
    if (ts.isArrayLiteralExpression(value)) return " […]";
    return ` ${text.slice(startOf(value), Math.min(value.end, startOf(value) + LONGEST))}`;
  }

  function docOf(node: ts.Node): string {
    const start = startOf(node);
    if (start - node.pos < 4) return "";
    let last: ts.CommentRange | undefined;
    for (const range of ts.getLeadingCommentRanges(text, node.pos) ?? []) last = range;
    if (!last || text.slice(last.end, start).split("\n").length > 2) return "";
    const from = lineStart(text, last);
    const words = text
      .slice(from, last.end)
      .replace(/^\/[/*]+|\*+\/$/g, "")
      .replace(/^\s*\*/gm, "")
      .replace(/^\s*\/\//gm, "");
    return words.trim().split("\n")[0]!.trim().slice(0, LONGEST);
  }
  /** Of several lines of `//`, the first. */
  function lineStart(text: string, { pos, kind }: ts.CommentRange): number {
    if (kind !== K.SingleLineCommentTrivia) return pos;
    for (let from = pos; ; ) {
      const before = text.lastIndexOf("\n", from - 1);
      const start = text.lastIndexOf("\n", before - 1) + 1;
      const line = text.slice(start, Math.max(before, 0)).trimStart();
      if (before <= 0 || !line.startsWith("//")) return from;
      from = before - line.length;
    }
  }

  function within(name: string, made: ts.Node, act: () => void): void {
    const before = [owner, container] as const;
    [owner, container] = [name, made];
    act();
    [owner, container] = before;
  }
  function body(node: ts.Node, skip?: ts.Node): void {
    const before = [inFunction, container] as const;
    depth++;
    facts.nesting = Math.max(facts.nesting, depth);
    inFunction = true;
    ts.forEachChild(node, (child) => (child === skip ? undefined : visit(child)));
    depth--;
    [inFunction, container] = before;
  }
  function nested(node: ts.Node, act: (node: ts.Node) => void = (node) => ts.forEachChild(node, visit)): void {
    depth++;
    facts.nesting = Math.max(facts.nesting, depth);
    act(node);
    depth--;
  }
  /** An `else if` is no deeper than its `if`. */
  function branch({ expression, thenStatement, elseStatement }: ts.IfStatement): void {
    branches++;
    visit(expression);
    nested(thenStatement, visit);
    if (!elseStatement) return;
    if (ts.isIfStatement(elseStatement)) branch(elseStatement);
    else nested(elseStatement, visit);
  }
  function join(name: string | undefined, within = owner): string {
    return within && within !== "default" && name ? `${within}.${name}` : (name ?? within);
  }

  function startOf(node: ts.Node): number {
    const modifiers = (node as { modifiers?: ts.NodeArray<ts.ModifierLike> }).modifiers;
    const decorated = modifiers?.findLast(({ kind }) => kind === K.Decorator);
    return skipTrivia(text, decorated ? decorated.end : node.pos);
  }
  function headEnd(made: ts.Node, at: ts.Node): number {
    if (ts.isClassLike(made) || ts.isInterfaceDeclaration(made)) return made.members.pos - 1;
    if (ts.isEnumDeclaration(made)) return made.members.pos - 1;
    const inner = (made as { body?: ts.Node }).body;
    return inner && isFunction(made) ? inner.pos : at.end;
  }
  function lineOf(pos: number): number {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle]! <= pos) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  }
}

const LOGICAL = new Set([
  ...[K.AmpersandAmpersandToken, K.BarBarToken, K.QuestionQuestionToken],
  ...[K.AmpersandAmpersandEqualsToken, K.BarBarEqualsToken, K.QuestionQuestionEqualsToken],
]);
const BRANCHES = new Set([
  ...[K.ForStatement, K.ForInStatement, K.ForOfStatement, K.WhileStatement, K.DoStatement],
  ...[K.CaseClause, K.CatchClause, K.ConditionalExpression],
]);
const NESTS = new Set([
  ...[K.ForStatement, K.ForInStatement, K.ForOfStatement, K.WhileStatement, K.DoStatement],
  ...[K.SwitchStatement, K.TryStatement],
]);
const PARAMETER_PROPERTY = new Set<ts.SyntaxKind>([
  ...[K.PublicKeyword, K.PrivateKeyword, K.ProtectedKeyword, K.ReadonlyKeyword, K.OverrideKeyword],
]);
const FUNCTIONS = new Set([
  ...[K.FunctionDeclaration, K.FunctionExpression, K.ArrowFunction, K.MethodDeclaration, K.Constructor],
  ...[K.GetAccessor, K.SetAccessor],
]);

const isFunction = (node: ts.Node): boolean => FUNCTIONS.has(node.kind);

function modifiersOf(node: ts.Node): number {
  let flags = 0;
  for (const { kind } of (node as { modifiers?: ts.NodeArray<ts.ModifierLike> }).modifiers ?? [])
    flags |= MODIFIERS[kind] ?? 0;
  return flags;
}
const MODIFIERS: Record<number, number> = {
  [K.ExportKeyword]: ts.ModifierFlags.Export,
  [K.DefaultKeyword]: ts.ModifierFlags.Default,
  [K.PrivateKeyword]: ts.ModifierFlags.Private,
  [K.ProtectedKeyword]: ts.ModifierFlags.Protected,
};

/** Without the parentheses and the words about its type around it. */
function bare(node: ts.Node): ts.Node {
  while (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isSatisfiesExpression(node))
    node = node.expression;
  return node;
}

function nameOf(name: ts.Node): string | undefined {
  if (ts.isIdentifier(name) || ts.isPrivateIdentifier(name) || ts.isStringLiteralLike(name)) return name.text;
  return ts.isNumericLiteral(name) ? name.text : undefined;
}

function* boundNames(name: ts.BindingName): Generator<string> {
  if (ts.isIdentifier(name)) yield name.text;
  else for (const element of name.elements) if (ts.isBindingElement(element)) yield* boundNames(element.name);
}

const aliased = ({ name, propertyName }: ts.ImportSpecifier | ts.ExportSpecifier): string =>
  propertyName ? `${propertyName.text} as ${name.text}` : name.text;

function dotted(node: ts.Node): string {
  if (ts.isIdentifier(node)) return node.text;
  if (!ts.isPropertyAccessExpression(node)) return "";
  const left = dotted(node.expression);
  return left && `${left}.${node.name.text}`;
}

/** What `export { name }` names is exported as well. */
function markExported({ symbols, exports }: Facts): void {
  const locals = new Set(exports.filter(({ from }) => !from).map(({ name, local = name }) => local));
  for (const sym of symbols) if (!sym.owner && locals.has(sym.name)) sym.exported = true;
}

function isModule(source: ts.SourceFile): boolean {
  return (source as unknown as { externalModuleIndicator?: unknown }).externalModuleIndicator !== undefined;
}

function countLines(text: string): number {
  let [lines, inside] = [0, false];
  for (let start = 0; start < text.length; ) {
    const next = text.indexOf("\n", start);
    const end = next < 0 ? text.length : next;
    let at = start;
    while (at < end && text.charCodeAt(at) <= 32) at++;
    start = end + 1;
    if (inside) {
      const close = text.indexOf("*/", at);
      if (close < 0 || close >= end) continue;
      inside = false;
      at = close + 2;
      while (at < end && text.charCodeAt(at) <= 32) at++;
    }
    if (at >= end || text.startsWith("//", at)) continue;
    if (text.startsWith("/*", at)) {
      const close = text.indexOf("*/", at + 2);
      inside = close < 0 || close >= end;
      if (inside || !text.slice(close + 2, end).trim()) continue;
    }
    lines++;
  }
  return lines;
}

/** In comments only: a word that stands in no token stands in a comment, since the parser knows all else. */
function todosIn(source: ts.SourceFile, text: string, lineOf: (pos: number) => number): Todo[] {
  const todos: Todo[] = [];
  for (const { index, 0: words } of text.matchAll(TODO)) {
    if (!isInComment(source, text, index)) continue;
    todos.push({
      line: lineOf(index),
      text: words
        .replace(/\s*\*\/.*$/, "")
        .trim()
        .slice(0, LONGEST),
    });
  }
  return todos;
}

function isInComment(node: ts.Node, text: string, at: number): boolean {
  for (;;) {
    const inner: ts.Node | undefined = ts.forEachChild(node, (child) =>
      child.pos <= at && at < child.end ? child : undefined,
    );
    if (!inner) break;
    node = inner;
  }
  if (node.kind === K.JsxText) return false;
  const isLeaf =
    ts.isIdentifier(node) ||
    ts.isPrivateIdentifier(node) ||
    (node.kind >= K.FirstLiteralToken && node.kind <= K.LastTemplateToken);
  return !isLeaf || at < skipTrivia(text, node.pos);
}

function scanJson(path: string, text: string): Facts {
  const source = ts.parseJsonText(path, text);
  const facts = empty();
  const value = source.statements[0]?.expression;
  const starts = lineStarts(source);
  const lineOf = (pos: number) => starts.findLastIndex((start) => start <= pos) + 1;
  if (value && ts.isObjectLiteralExpression(value))
    for (const property of value.properties) {
      const name = property.name && nameOf(property.name);
      if (name === undefined) continue;
      const [line, end] = [lineOf(skipTrivia(text, property.pos)), lineOf(property.end)];
      facts.symbols.push({ name, kind: "key", line, end, signature: JSON.stringify(name).slice(0, LONGEST) });
    }
  facts.loc = countLines(text);
  const wrong = (source as unknown as { parseDiagnostics: ts.DiagnosticWithLocation[] }).parseDiagnostics[0];
  if (wrong)
    facts.parseError = `line ${lineOf(wrong.start)}: ${typeof wrong.messageText === "string" ? wrong.messageText : wrong.messageText.messageText}`;
  return facts;
}

/** The keys of the top level alone: they stand at the start of a line, and no text of several lines does. */
function scanYaml(text: string): Facts {
  const facts = empty();
  const lines = text.split("\n");
  for (const [at, line] of lines.entries()) {
    const [, quoted, plain] =
      /^(?:["']([^"']+)["']|([^\s#"'&*!|>%@`[\]{},:-](?:[^:#]|:\S|\S#)*?)) *:(?:\s|$)/.exec(line) ?? [];
    const name = quoted ?? plain;
    if (name) facts.symbols.push({ name, kind: "key", line: at + 1, end: at + 1, signature: name.slice(0, LONGEST) });
  }
  for (const [at, sym] of facts.symbols.entries()) sym.end = (facts.symbols[at + 1]?.line ?? lines.length + 1) - 1;
  facts.loc = lines.filter((line) => /^\s*[^\s#]/.test(line)).length;
  return facts;
}
