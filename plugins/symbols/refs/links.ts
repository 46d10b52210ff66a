// The names under which a file passes on another name: by import, export or inheritance.
import { ts } from "ts-morph";
import { K } from "./compiler.ts";
import { isScript } from "./disk.ts";
import { treeOf } from "./documents.ts";
import { partsOf, wordOf } from "./locate.ts";
import type { Link, Slice, State } from "./state.ts";

export const isMainExport = ({ how, to, module }: Link): boolean => how === "export" && to === "default" && !module;

export function linksOf(state: State, slice: Slice, file: string, withSubclasses = false): Link[] {
  const source = treeOf(state, slice, file);
  if (!source) return [];
  const found = state.links.get(source) ?? readLinks(source);
  state.links.set(source, found);
  return withSubclasses ? [...found, ...readSubclasses(source)] : found;
}

/** Every name under which a file passes on another. */
function readLinks(source: ts.SourceFile): Link[] {
  const found: Link[] = [];
  const isJs = isScript(source.fileName);
  for (const statement of source.statements) read(statement);
  return found;

  function read(node: ts.Statement, isAmbient?: true): void {
    const add = (how: Link["how"], from: string | undefined, to: string | undefined, module?: string) =>
      from !== undefined &&
      to !== undefined &&
      found.push({ how, from, to, ...(module !== undefined && { module }), ...(isAmbient && { isAmbient }) });
    if (ts.isImportDeclaration(node)) {
      const { name, namedBindings } = node.importClause ?? {};
      const module = wordOf(node.moduleSpecifier);
      if (name) add("import", "default", name.text, module);
      if (namedBindings && ts.isNamespaceImport(namedBindings)) add("all", "*", namedBindings.name.text, module);
      else
        for (const { propertyName, name } of namedBindings?.elements ?? [])
          add("import", wordOf(propertyName ?? name), name.text, module);
    } else if (ts.isImportEqualsDeclaration(node)) {
      const { name, moduleReference: from } = node;
      const isExported = partsOf(node).some(({ kind }) => kind === K.ExportKeyword);
      if (ts.isExternalModuleReference(from)) add("import", "default", name.text, wordOf(from.expression));
      else add("export", lastWord(from), name.text);
      if (isExported) add("export", name.text, name.text);
    } else if (ts.isExportDeclaration(node)) {
      if (!node.exportClause || !ts.isNamedExports(node.exportClause)) return;
      for (const { propertyName, name } of node.exportClause.elements)
        add("export", wordOf(propertyName ?? name), wordOf(name), wordOf(node.moduleSpecifier));
    } else if (ts.isExportAssignment(node)) add("export", lastWord(node.expression), "default");
    else if (ts.isNamespaceExportDeclaration(node)) add("export", node.name.text, "default");
    else if (ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node)) {
      if (partsOf(node).some(({ kind }) => kind === K.DefaultKeyword)) add("export", wordOf(node.name), "default");
    } else if (ts.isModuleDeclaration(node)) {
      const { body } = node;
      if (!body || !ts.isModuleBlock(body)) return;
      for (const statement of body.statements)
        read(statement, ts.isStringLiteral(node.name) || isAmbient ? true : undefined);
    } else if (isJs && ts.isVariableStatement(node)) {
      for (const { name, initializer } of node.declarationList.declarations) {
        const module = initializer && required(initializer);
        if (module === undefined) continue;
        if (ts.isIdentifier(name)) add("import", "default", name.text, module);
        else
          for (const part of name.elements)
            if (ts.isBindingElement(part))
              add("import", wordOf(part.propertyName ?? part.name), wordOf(part.name), module);
      }
    } else if (isJs && ts.isExpressionStatement(node)) {
      const targets: ts.Expression[] = [];
      let value = node.expression;
      for (; ts.isBinaryExpression(value) && value.operatorToken.kind === K.EqualsToken; value = value.right)
        targets.push(value.left);
      const from = lastWord(value) ?? wordOf((value as { name?: ts.Node }).name);
      for (const target of targets) add("export", from, exportedAs(target));
      if (targets.some((target) => exportedAs(target) === "default") && ts.isObjectLiteralExpression(value))
        for (const property of value.properties) add("export", localOf(property), wordOf(property.name));
    }
  }
}
/** What a property of `module.exports = { a, b: c }` passes on: a, c. */
function localOf(property: ts.ObjectLiteralElementLike): string | undefined {
  if (ts.isShorthandPropertyAssignment(property)) return property.name.text;
  return ts.isPropertyAssignment(property) ? lastWord(property.initializer) : undefined;
}
/** The c of `a.b.c`. */
function lastWord(node: ts.Node): string | undefined {
  if (ts.isIdentifier(node)) return node.text;
  if (ts.isQualifiedName(node)) return node.right.text;
  return ts.isPropertyAccessExpression(node) ? node.name.text : undefined;
}
function required(value: ts.Expression): string | undefined {
  while (ts.isPropertyAccessExpression(value)) value = value.expression;
  if (!ts.isCallExpression(value) || !ts.isIdentifier(value.expression) || value.expression.text !== "require")
    return undefined;
  return wordOf(value.arguments[0]);
}
/** The name that an assignment to `exports.a`, or to `module.exports`, exports. */
export function exportedAs(target: ts.Expression): string | undefined {
  const text = ts.isPropertyAccessExpression(target) ? target.name.text : undefined;
  const owner = text !== undefined && (target as ts.PropertyAccessExpression).expression;
  if (!owner) return undefined;
  if (ts.isIdentifier(owner) && owner.text === "module" && text === "exports") return "default";
  return ["exports", undefined].includes(lastWord(owner)) ? text : undefined;
}

/** Classes without a constructor: constructing them uses the base class. */
function readSubclasses(source: ts.SourceFile): Link[] {
  const found: Link[] = [];
  visit(source);
  return found;

  function visit(node: ts.Node): void {
    if (ts.isClassLike(node) && !node.members.some(ts.isConstructorDeclaration)) {
      const base = node.heritageClauses?.find(({ token }) => token === K.ExtendsKeyword)?.types[0];
      const from = base && lastWord(base.expression);
      if (from) found.push({ how: "extends", from, to: wordOf(node.name) ?? "default" });
    }
    ts.forEachChild(node, visit);
  }
}
