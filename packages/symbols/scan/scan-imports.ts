// What a file imports: import statements, require(), import() and imports in types.

import type { ts } from "ts-morph";
import type { Import } from "./facts.ts";
import { lineAt } from "./line-numbers.ts";
import { aliasText, modifiersOf, nameOf, unwrap } from "./nodes.ts";
import {
  forEachChild,
  idText,
  isAwaitExpression,
  isBindingElement,
  isCallExpression,
  isExternalModuleReference,
  isIdentifier,
  isLiteralTypeNode,
  isNamespaceImport,
  isPropertyAccessExpression,
  isStringLiteralLike,
  K,
  ModifierFlags,
  skipTrivia,
} from "./parser.ts";
import { exportOnce, type Reading } from "./scan-state.ts";

export function noteImport(node: ts.ImportDeclaration, file: Reading): void {
  const { importClause, moduleSpecifier } = node;
  const names: string[] = [];
  if (importClause?.name) names.push(`default as ${idText(importClause.name)}`);
  const bindings = importClause?.namedBindings;
  if (bindings && isNamespaceImport(bindings)) names.push(`* as ${idText(bindings.name)}`);
  else if (bindings) names.push(...bindings.elements.map(aliasText));
  pushImport(
    file,
    moduleSpecifier,
    importClause?.phaseModifier === K.TypeKeyword ? "type" : "import",
    names,
  );
  forEachChild(node, file.visit);
}
export function noteImportEquals(node: ts.ImportEqualsDeclaration, file: Reading): void {
  const { name, moduleReference } = node;
  if (isExternalModuleReference(moduleReference))
    pushImport(file, moduleReference.expression, "require", [`* as ${idText(name)}`]);
  if (modifiersOf(node) & ModifierFlags.Export && !file.owner)
    exportOnce(file, idText(name), idText(name));
  forEachChild(node, file.visit);
}
export function noteImportType(node: ts.ImportTypeNode, file: Reading): void {
  const { argument, qualifier } = node;
  if (isLiteralTypeNode(argument))
    pushImport(file, argument.literal, "type", [leftmost(qualifier) ?? "*"]);
  forEachChild(node, file.visit);
}
function leftmost(name: ts.EntityName | undefined): string | undefined {
  while (name && !isIdentifier(name)) name = name.left;
  return name && idText(name);
}
export function noteCall(node: ts.CallExpression, file: Reading): void {
  const importForm = importedBy(node);
  if (importForm)
    pushImport(
      file,
      node.arguments[0]!,
      importForm,
      file.taken?.call === node ? file.taken.names : ["*"],
    );
  if (importForm === "require" && file.isScript) file.isCommonJs = true;
  forEachChild(node, file.visit);
}
export function importedBy(node: ts.Node): Import["how"] | undefined {
  if (!isCallExpression(node)) return undefined;
  const {
    expression,
    arguments: [first],
  } = node;
  const isRequire = isIdentifier(expression) && expression.escapedText === "require";
  if (!(isRequire || expression.kind === K.ImportKeyword) || !first || !isStringLiteralLike(first))
    return undefined;
  return isRequire ? "require" : "dynamic";
}
/** `const { a, b: c } = await import("x")` takes only a and b. */
export function noteTaking(name: ts.BindingName, assigned: ts.Node, file: Reading): boolean {
  // require("x").a
  const from = isPropertyAccessExpression(assigned) ? unwrap(assigned.expression) : assigned;
  const call = isAwaitExpression(from) ? unwrap(from.expression) : from;
  const importForm = importedBy(call);
  if (importForm)
    file.taken = {
      call,
      names:
        from === assigned
          ? takenNames(name)
          : [importText((assigned as ts.PropertyAccessExpression).name, name)],
    };
  return importForm === "require" && file.isScript;
}
function takenNames(name: ts.BindingName): string[] {
  if (isIdentifier(name)) return [`* as ${idText(name)}`];
  return name.elements.map((element) =>
    isBindingElement(element) && !element.dotDotDotToken
      ? importText(element.propertyName ?? element.name, element.name)
      : "*",
  );
}
function importText(from: ts.Node, to: ts.BindingName): string {
  const name = nameOf(from);
  if (!name || !isIdentifier(to) || idText(to) === name) return name || "*";
  return `${name} as ${idText(to)}`;
}
export function pushImport(
  { facts, starts, text }: Reading,
  from: ts.Node,
  importForm: Import["how"],
  names: string[],
): void {
  if (!isStringLiteralLike(from)) return;
  facts.imports.push({
    from: from.text,
    line: lineAt(starts, skipTrivia(text, from.pos)),
    how: importForm,
    names,
  });
}
