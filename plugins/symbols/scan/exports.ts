// What a file exports in export statements.
import type { ts } from "ts-morph";
import { add, declare } from "./declarations.ts";
import { importedBy, pushImport } from "./imports.ts";
import { aliased, assignedValue, isFunction, nameOf, ownName } from "./nodes.ts";
import { forEachChild, idText, isClassExpression, isIdentifier, isNamespaceExport, isStringLiteral } from "./parser.ts";
import { inside, type Reading } from "./state.ts";

/** In a namespace it says what the namespace exports, not the file. */
export function noteExport(node: ts.ExportDeclaration, file: Reading): void {
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
export function noteDefault(node: ts.ExportAssignment, file: Reading): void {
  const as = node.isExportEquals ? "export=" : "default";
  if (file.owner || !exportOne(file, node, node.expression, as)) forEachChild(node, file.visit);
}
/** `export default …`, `export = …`, `module.exports = …`; false if the value is declared elsewhere. */
export function exportOne(file: Reading, node: ts.Node, expression: ts.Expression, as: string): boolean {
  const made = assignedValue(expression);
  const name = isFunction(made) || isClassExpression(made) ? (ownName(made) ?? "default") : "default";
  const local = isIdentifier(made) ? idText(made) : name;
  file.facts.exports.push({ name: as, ...(local !== "default" && { local }) });
  if (isIdentifier(made) || importedBy(made)) return false;
  declareValue(file, name, node, expression, made);
  return true;
}
/** Declares an exported expression under the name of its export. */
export function declareValue(
  file: Reading,
  name: string,
  node: ts.Node,
  expression: ts.Expression,
  made: ts.Node,
): void {
  const from = file.facts.symbols.length;
  if (isFunction(made)) declare(file, name, "function", node, made);
  else if (isClassExpression(made)) declare(file, name, "class", node, made);
  else {
    add(file, name, "const", { node, end: expression.pos, value: made });
    inside(file, name, undefined, () => forEachChild(node, file.visit));
  }
  file.facts.symbols[from]!.exported = true;
}
