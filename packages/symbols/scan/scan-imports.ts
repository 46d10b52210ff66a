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

export function noteImport(importNode: ts.ImportDeclaration, reading: Reading): void {
  const { importClause, moduleSpecifier } = importNode;
  const importedNames: string[] = [];
  if (importClause?.name) importedNames.push(`default as ${idText(importClause.name)}`);
  const bindings = importClause?.namedBindings;
  if (bindings && isNamespaceImport(bindings)) importedNames.push(`* as ${idText(bindings.name)}`);
  else if (bindings) importedNames.push(...bindings.elements.map(aliasText));
  pushImport(
    reading,
    moduleSpecifier,
    importClause?.phaseModifier === K.TypeKeyword ? "type" : "import",
    importedNames,
  );
  forEachChild(importNode, reading.visit);
}
export function noteImportEquals(importNode: ts.ImportEqualsDeclaration, reading: Reading): void {
  const { name, moduleReference } = importNode;
  if (isExternalModuleReference(moduleReference))
    pushImport(reading, moduleReference.expression, "require", [`* as ${idText(name)}`]);
  if (modifiersOf(importNode) & ModifierFlags.Export && !reading.owner)
    exportOnce(reading, idText(name), idText(name));
  forEachChild(importNode, reading.visit);
}
export function noteImportType(importNode: ts.ImportTypeNode, reading: Reading): void {
  const { argument, qualifier } = importNode;
  if (isLiteralTypeNode(argument))
    pushImport(reading, argument.literal, "type", [leftmost(qualifier) ?? "*"]);
  forEachChild(importNode, reading.visit);
}
function leftmost(entityName: ts.EntityName | undefined): string | undefined {
  while (entityName && !isIdentifier(entityName)) entityName = entityName.left;
  return entityName && idText(entityName);
}
export function noteCall(callNode: ts.CallExpression, reading: Reading): void {
  const importForm = importedBy(callNode);
  if (importForm)
    pushImport(
      reading,
      callNode.arguments[0]!,
      importForm,
      reading.taken?.call === callNode ? reading.taken.names : ["*"],
    );
  if (importForm === "require" && reading.isScript) reading.isCommonJs = true;
  forEachChild(callNode, reading.visit);
}
export function importedBy(candidate: ts.Node): Import["how"] | undefined {
  if (!isCallExpression(candidate)) return undefined;
  const {
    expression,
    arguments: [firstArgument],
  } = candidate;
  const isRequire = isIdentifier(expression) && expression.escapedText === "require";
  if (
    !(isRequire || expression.kind === K.ImportKeyword) ||
    !firstArgument ||
    !isStringLiteralLike(firstArgument)
  )
    return undefined;
  return isRequire ? "require" : "dynamic";
}
/** `const { a, b: c } = await import("x")` takes only a and b. */
export function noteTaking(
  bindingName: ts.BindingName,
  assigned: ts.Node,
  reading: Reading,
): boolean {
  // require("x").a
  const importSource = isPropertyAccessExpression(assigned)
    ? unwrap(assigned.expression)
    : assigned;
  const call = isAwaitExpression(importSource) ? unwrap(importSource.expression) : importSource;
  const importForm = importedBy(call);
  if (importForm)
    reading.taken = {
      call,
      names:
        importSource === assigned
          ? takenNames(bindingName)
          : [importText((assigned as ts.PropertyAccessExpression).name, bindingName)],
    };
  return importForm === "require" && reading.isScript;
}
function takenNames(bindingName: ts.BindingName): string[] {
  if (isIdentifier(bindingName)) return [`* as ${idText(bindingName)}`];
  return bindingName.elements.map((element) =>
    isBindingElement(element) && !element.dotDotDotToken
      ? importText(element.propertyName ?? element.name, element.name)
      : "*",
  );
}
function importText(importedNode: ts.Node, localName: ts.BindingName): string {
  const importedName = nameOf(importedNode);
  if (!importedName || !isIdentifier(localName) || idText(localName) === importedName)
    return importedName || "*";
  return `${importedName} as ${idText(localName)}`;
}
export function pushImport(
  { facts, starts, text }: Reading,
  sourceNode: ts.Node,
  importForm: Import["how"],
  names: string[],
): void {
  if (!isStringLiteralLike(sourceNode)) return;
  facts.imports.push({
    from: sourceNode.text,
    line: lineAt(starts, skipTrivia(text, sourceNode.pos)),
    how: importForm,
    names,
  });
}
