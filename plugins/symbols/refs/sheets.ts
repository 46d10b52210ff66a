// What the top level of a module declares, imports and exports, and what a declaration's type takes of it.
import { ts } from "ts-morph";
import { K } from "./compiler.ts";
import { wordOf } from "./locate.ts";

export interface Sheet {
  declared: Map<string, ts.Statement[]>;
  imports: Map<string, { from: string; name: string }>; // "*": the module
  exports: Map<string, { from?: string; name: string }>;
  stars: string[]; // modules of which all is exported
  isWhole: boolean; // by `export =`
}
const SHEETS = new WeakMap<ts.SourceFile, Sheet>();

export function sheetOf(source: ts.SourceFile): Sheet {
  let sheet = SHEETS.get(source);
  if (!sheet) SHEETS.set(source, (sheet = read(source)));
  return sheet;
}

function read(source: ts.SourceFile): Sheet {
  const sheet: Sheet = { declared: new Map(), imports: new Map(), exports: new Map(), stars: [], isWhole: false };
  const { declared, imports, exports, stars } = sheet;
  const declare = (name: string, node: ts.Statement) => void declared.set(name, [...(declared.get(name) ?? []), node]);
  for (const node of source.statements) {
    const modifiers = ((node as { modifiers?: ts.NodeArray<ts.Node> }).modifiers ?? []).map(({ kind }) => kind);
    const isExported = modifiers.includes(K.ExportKeyword);
    if (ts.isImportDeclaration(node)) {
      const from = wordOf(node.moduleSpecifier) ?? "";
      const { name, namedBindings } = node.importClause ?? {};
      if (name) imports.set(name.text, { from, name: "default" });
      if (namedBindings && ts.isNamespaceImport(namedBindings))
        imports.set(namedBindings.name.text, { from, name: "*" });
      else
        for (const one of namedBindings?.elements ?? [])
          imports.set(one.name.text, { from, name: wordOf(one.propertyName ?? one.name)! });
    } else if (ts.isImportEqualsDeclaration(node)) {
      if (ts.isExternalModuleReference(node.moduleReference)) {
        imports.set(node.name.text, { from: wordOf(node.moduleReference.expression) ?? "", name: "*" });
        sheet.isWhole ||= isExported;
      } else declare(node.name.text, node);
      if (isExported) exports.set(node.name.text, { name: node.name.text });
    } else if (ts.isExportDeclaration(node)) {
      const from = wordOf(node.moduleSpecifier);
      const { exportClause } = node;
      if (!exportClause) stars.push(from ?? "");
      else if (ts.isNamespaceExport(exportClause)) exports.set(wordOf(exportClause.name)!, { from: from!, name: "*" });
      else
        for (const one of exportClause.elements)
          exports.set(wordOf(one.name)!, {
            ...(from !== undefined && { from }),
            name: wordOf(one.propertyName ?? one.name)!,
          });
    } else if (ts.isExportAssignment(node)) {
      sheet.isWhole ||= Boolean(node.isExportEquals);
      exports.set("default", { name: "default" });
      declare("default", node);
    } else if (ts.isVariableStatement(node)) {
      for (const name of namesOf(node)) {
        declare(name, node);
        if (isExported) exports.set(name, { name });
      }
    } else if (ts.isNamespaceExportDeclaration(node)) sheet.isWhole = true;
    else if (ts.isExpressionStatement(node)) {
      const owner = expanded(node.expression);
      if (owner) declare(owner, node);
    } else {
      const name = wordOf((node as { name?: ts.Node }).name);
      if (name !== undefined) declare(name, node);
      const isDefault = modifiers.includes(K.DefaultKeyword);
      if (isDefault) {
        exports.set("default", { name: "default" });
        declare("default", node);
      } else if (isExported && name !== undefined) exports.set(name, { name });
    }
  }
  return sheet;
}
/** What a statement declares. */
export function namesOf(node: ts.Statement): string[] {
  const inside = (name: ts.BindingName): string[] =>
    ts.isIdentifier(name)
      ? [name.text]
      : name.elements.flatMap((part) => (ts.isBindingElement(part) ? inside(part.name) : []));
  if (ts.isVariableStatement(node)) return node.declarationList.declarations.flatMap(({ name }) => inside(name));
  const name = wordOf((node as { name?: ts.Node }).name);
  return name === undefined ? [] : [name];
}
/** The a of `a.b = …`, which gives a function a member. */
function expanded(node: ts.Expression): string | undefined {
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== K.EqualsToken) return undefined;
  let { left } = node;
  while (ts.isPropertyAccessExpression(left) || ts.isElementAccessExpression(left)) left = left.expression;
  return ts.isIdentifier(left) ? left.text : undefined;
}

export interface Needs {
  names: Set<string>; // "a.b" where a member is taken of it
  modules: Set<string>; // by import("…")
  hasJsx: boolean;
}
const NEEDS = [new WeakMap<ts.Node, Needs>(), new WeakMap<ts.Node, Needs>()] as const;

/** What it mentions; `isWhole`: in bodies too, of which the type may know nothing. */
export function needsOf(statement: ts.Statement, isWhole: boolean): Needs {
  const known = NEEDS[isWhole ? 1 : 0];
  let needs = known.get(statement);
  if (!needs) known.set(statement, (needs = mentioned(statement, isWhole)));
  return needs;
}

function mentioned(statement: ts.Statement, isWhole: boolean): Needs {
  const needs: Needs = { names: new Set(), modules: new Set(), hasJsx: false };
  const { names, modules } = needs;
  const isTyped = (node: ts.Node): boolean => !isWhole && (node as { type?: ts.Node }).type !== undefined;
  visit(statement);
  return needs;

  function visit(node: ts.Node): void {
    if (ts.isIdentifier(node)) return void names.add(node.text);
    if (ts.isPropertyAccessExpression(node) || ts.isQualifiedName(node)) {
      const path = pathOf(node);
      if (path) return void names.add(path);
      visit(ts.isQualifiedName(node) ? node.left : node.expression);
      return;
    }
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
      modules.add(wordOf(node.argument.literal) ?? "");
    if (ts.isCallExpression(node) && node.expression.kind === K.ImportKeyword) {
      const module = node.arguments[0] && wordOf(node.arguments[0]);
      if (module !== undefined) modules.add(module);
    }
    if (ts.isJsxOpeningLikeElement(node) || ts.isJsxFragment(node)) needs.hasJsx = true;
    const { name, body, initializer } = node as { name?: ts.Node; body?: ts.Node; initializer?: ts.Node };
    const isTypeGiven = isTyped(node);
    ts.forEachChild(node, (child) => {
      if (isTypeGiven && (child === initializer || child === body)) return;
      if (child === name && ts.isIdentifier(child) && !ts.isShorthandPropertyAssignment(node)) return;
      visit(child);
    });
  }
}
export function pathOf(node: ts.Node): string | undefined {
  if (ts.isIdentifier(node)) return node.text;
  const [owner, name] = ts.isPropertyAccessExpression(node)
    ? [node.expression, node.name]
    : ts.isQualifiedName(node)
      ? [node.left, node.right]
      : [];
  const path = owner && ts.isIdentifier(name!) ? pathOf(owner) : undefined;
  return path === undefined ? undefined : `${path}.${name!.text}`;
}

/** What comments with the word name. */
export function mentionedInDocs(text: string, word: string): string[] {
  if (!text.includes("/**")) return [];
  const comments = (text.match(/\/\*\*[\s\S]*?\*\//g) ?? []).filter((one) => one.includes(word));
  return comments
    .flatMap((one) => one.match(/[\p{L}_$][\p{L}\p{N}_$]*(?:[.#~][\p{L}_$][\p{L}\p{N}_$]*)*/gu) ?? [])
    .map((path) => path.replace(/[#~]/g, "."));
}

/** The statements in which the word may be the name of a member: not a variable's, an import's or an export's. */
export function holdersIn(source: ts.SourceFile, word: string): Set<ts.Statement> {
  let known = HOLDERS.get(source);
  if (!known) HOLDERS.set(source, (known = new Map()));
  let found = known.get(word);
  if (!found)
    known.set(word, (found = new Set(source.statements.filter((one) => holdsMember(source.text, one, word)))));
  return found;
}
const HOLDERS = new WeakMap<ts.SourceFile, Map<string, Set<ts.Statement>>>();

function holdsMember(text: string, statement: ts.Statement, word: string): boolean {
  if (ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement)) return false;
  const own = text.slice(statement.pos, statement.end);
  return hasWord(own, word) && (mentionedInDocs(own, word).length > 0 || isMemberIn(statement, undefined));

  function isMemberIn(node: ts.Node, parent: ts.Node | undefined): boolean {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) return node.text === word && isMemberName(node, parent!);
    if (ts.isStringLiteralLike(node)) return node.text === word;
    return ts.forEachChild(node, (child) => isMemberIn(child, node) || undefined) ?? false;
  }
}
function isMemberName(node: ts.Node, parent: ts.Node): boolean {
  if (ts.isVariableDeclaration(parent) || ts.isFunctionDeclaration(parent)) return false;
  if (ts.isClassLike(parent) || ts.isInterfaceDeclaration(parent) || ts.isTypeAliasDeclaration(parent)) return false;
  if (ts.isParameter(parent)) return parent.name === node && parent.modifiers !== undefined;
  if (ts.isBindingElement(parent)) return parent.initializer !== node;
  if (ts.isShorthandPropertyAssignment(parent)) return parent.name === node;
  if (ts.isPropertyAccessExpression(parent)) return parent.name === node;
  if (ts.isQualifiedName(parent)) return parent.right === node;
  const { name } = parent as { name?: ts.Node };
  return name === node && !ts.isTypeParameterDeclaration(parent) && !ts.isFunctionExpression(parent);
}

/** As a whole word. */
export function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
    if (!PART.test(text[at - 1] ?? " ") && !PART.test(text[at + word.length] ?? " ")) return true;
  return false;
}
const PART = /[\p{L}\p{N}_$]/u;
