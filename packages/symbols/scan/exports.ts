// What a file exports: in export statements, and as JavaScript assigns it to exports,
// module.exports and prototypes.
import type { ts } from "ts-morph";
import { addSymbol, declare } from "./declarations.ts";
import { aliasText, assignedValue, dottedName, nameOf, ownName, unwrap } from "./nodes.ts";
import {
  forEachChild,
  idText,
  isClassExpression,
  isFunctionLikeDeclaration,
  isIdentifier,
  isNamespaceExport,
  isObjectLiteralExpression,
  isPropertyAssignment,
  isStringLiteral,
  isVoidExpression,
} from "./parser.ts";
import { importedBy, pushImport } from "./scan-imports.ts";
import { type Reading, visitInside } from "./scan-state.ts";

/** In a namespace it says what the namespace exports, not the file. */
export function noteExport(exportNode: ts.ExportDeclaration, reading: Reading): void {
  const { exportClause, moduleSpecifier } = exportNode;
  const sourceField =
    moduleSpecifier && isStringLiteral(moduleSpecifier) ? { from: moduleSpecifier.text } : {};
  const { exports } = reading.facts;
  let exportedNames = ["*"];
  if (reading.owner) exportedNames = [];
  else if (!exportClause) exports.push({ name: "*", ...sourceField });
  else if (isNamespaceExport(exportClause)) {
    const name = nameOf(exportClause.name)!;
    exportedNames = [`* as ${name}`];
    exports.push({ name, local: "*", ...sourceField });
  } else {
    exportedNames = exportClause.elements.map(aliasText);
    for (const { name, propertyName } of exportClause.elements)
      exports.push({
        name: nameOf(name)!,
        ...(propertyName && { local: nameOf(propertyName) }),
        ...sourceField,
      });
  }
  if (moduleSpecifier) pushImport(reading, moduleSpecifier, "export", exportedNames);
  forEachChild(exportNode, reading.visit);
}
export function noteDefault(exportNode: ts.ExportAssignment, reading: Reading): void {
  const exportName = exportNode.isExportEquals ? "export=" : "default";
  if (reading.owner || !exportOne(reading, exportNode, exportNode.expression, exportName))
    forEachChild(exportNode, reading.visit);
}
/**
 * `export default …`, `export = …`, `module.exports = …`; false if the value is declared elsewhere.
 */
function exportOne(
  reading: Reading,
  exportNode: ts.Node,
  expression: ts.Expression,
  exportName: string,
): boolean {
  const assigned = assignedValue(expression);
  const declaredName =
    isFunctionLikeDeclaration(assigned) || isClassExpression(assigned)
      ? (ownName(assigned) ?? "default")
      : "default";
  const local = isIdentifier(assigned) ? idText(assigned) : declaredName;
  reading.facts.exports.push({ name: exportName, ...(local !== "default" && { local }) });
  if (isIdentifier(assigned) || importedBy(assigned)) return false;
  declareValue(reading, declaredName, exportNode, expression, assigned);
  return true;
}
/** Declares an exported expression under the name of its export. */
function declareValue(
  reading: Reading,
  declaredName: string,
  node: ts.Node,
  expression: ts.Expression,
  assigned: ts.Node,
): void {
  const symbolIndex = reading.facts.symbols.length;
  if (isFunctionLikeDeclaration(assigned))
    declare(reading, declaredName, "function", node, assigned);
  else if (isClassExpression(assigned)) declare(reading, declaredName, "class", node, assigned);
  else {
    addSymbol(reading, declaredName, "const", { node, end: expression.pos, value: assigned });
    visitInside(reading, declaredName, undefined, () => forEachChild(node, reading.visit));
  }
  reading.facts.symbols[symbolIndex]!.exported = true;
}

/**
 * `exports.name = …`, `module.exports = …`, `Class.prototype.name = …`. Returns whether nothing is
 * left to visit.
 */
export function visitAssignment(assignment: ts.BinaryExpression, reading: Reading): boolean {
  const dottedPath = dottedName(assignment.left) ?? "";
  const [exportsPath, exported] = /^(?:module\.)?exports(?:\.([^.]+))?$/.exec(dottedPath) ?? [];
  const [, typeName = "", memberName] =
    /^(?:.+\.)?([^.]+)\.prototype(?:\.([^.]+))?$/.exec(dottedPath) ?? [];
  if (exportsPath) reading.isCommonJs = true;
  const { owner } = reading;
  reading.owner = typeName;
  const isDone = declare();
  reading.owner = owner;
  return isDone;

  function declare(): boolean {
    if (exported) return exportNamed(assignment, exported, reading);
    if (exportsPath === "module.exports") return exportAll(assignment, reading);
    return typeName !== "" && declareOn(assignment, memberName, reading);
  }
}
function declareOn(
  assignment: ts.BinaryExpression,
  memberName: string | undefined,
  reading: Reading,
): boolean {
  const assigned = unwrap(assignment.right);
  if (memberName && isFunctionLikeDeclaration(assigned))
    declare(reading, memberName, "method", assignment, assigned);
  else if (!memberName && isObjectLiteralExpression(assigned))
    forEachChild(assignment, reading.visit);
  else return false;
  return true;
}
function exportNamed(assignment: ts.BinaryExpression, name: string, reading: Reading): boolean {
  const assigned = assignedValue(assignment.right);
  if (isVoidExpression(assigned)) return false; // compilers declare a later export like this
  reading.facts.exports.push({ name, ...(isIdentifier(assigned) && { local: idText(assigned) }) });
  if (dottedName(assigned) || importedBy(assigned)) return false; // declared elsewhere
  declareValue(reading, name, assignment, assignment.right, assigned);
  return true;
}
/** Each property of an object literal is exported under its name. */
function exportAll(assignment: ts.BinaryExpression, reading: Reading): boolean {
  const assigned = assignedValue(assignment.right);
  if (!isObjectLiteralExpression(assigned))
    return exportOne(reading, assignment, assignment.right, "export=");
  for (const property of assigned.properties) {
    const name = property.name && nameOf(property.name);
    if (name === undefined) continue;
    const localNode =
      isPropertyAssignment(property) && isIdentifier(property.initializer) && property.initializer;
    reading.facts.exports.push({ name, ...(localNode && { local: idText(localNode) }) });
  }
  return false;
}
