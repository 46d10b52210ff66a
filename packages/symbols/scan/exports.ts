// What a file exports: in export statements, and as JavaScript assigns it to exports,
// module.exports and prototypes.
import type { ts } from "ts-morph";
import { addSymbol, declare } from "./declarations.ts";
import {
  aliasText,
  assignedValue,
  dottedName,
  isFunction,
  nameOf,
  ownName,
  unwrap,
} from "./nodes.ts";
import {
  forEachChild,
  idText,
  isClassExpression,
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
export function noteExport(node: ts.ExportDeclaration, file: Reading): void {
  const { exportClause, moduleSpecifier } = node;
  const from =
    moduleSpecifier && isStringLiteral(moduleSpecifier) ? { from: moduleSpecifier.text } : {};
  const { exports } = file.facts;
  let names = ["*"];
  if (file.owner) names = [];
  else if (!exportClause) exports.push({ name: "*", ...from });
  else if (isNamespaceExport(exportClause)) {
    const name = nameOf(exportClause.name)!;
    names = [`* as ${name}`];
    exports.push({ name, local: "*", ...from });
  } else {
    names = exportClause.elements.map(aliasText);
    for (const { name, propertyName } of exportClause.elements)
      exports.push({
        name: nameOf(name)!,
        ...(propertyName && { local: nameOf(propertyName) }),
        ...from,
      });
  }
  if (moduleSpecifier) pushImport(file, moduleSpecifier, "export", names);
  forEachChild(node, file.visit);
}
export function noteDefault(node: ts.ExportAssignment, file: Reading): void {
  const as = node.isExportEquals ? "export=" : "default";
  if (file.owner || !exportOne(file, node, node.expression, as)) forEachChild(node, file.visit);
}
/**
 * `export default …`, `export = …`, `module.exports = …`; false if the value is declared elsewhere.
 */
function exportOne(file: Reading, node: ts.Node, expression: ts.Expression, as: string): boolean {
  const assigned = assignedValue(expression);
  const name =
    isFunction(assigned) || isClassExpression(assigned)
      ? (ownName(assigned) ?? "default")
      : "default";
  const local = isIdentifier(assigned) ? idText(assigned) : name;
  file.facts.exports.push({ name: as, ...(local !== "default" && { local }) });
  if (isIdentifier(assigned) || importedBy(assigned)) return false;
  declareValue(file, name, node, expression, assigned);
  return true;
}
/** Declares an exported expression under the name of its export. */
function declareValue(
  file: Reading,
  name: string,
  node: ts.Node,
  expression: ts.Expression,
  assigned: ts.Node,
): void {
  const from = file.facts.symbols.length;
  if (isFunction(assigned)) declare(file, name, "function", node, assigned);
  else if (isClassExpression(assigned)) declare(file, name, "class", node, assigned);
  else {
    addSymbol(file, name, "const", { node, end: expression.pos, value: assigned });
    visitInside(file, name, undefined, () => forEachChild(node, file.visit));
  }
  file.facts.symbols[from]!.exported = true;
}

/**
 * `exports.name = …`, `module.exports = …`, `Class.prototype.name = …`. Returns whether nothing is
 * left to visit.
 */
export function visitAssignment(node: ts.BinaryExpression, file: Reading): boolean {
  const path = dottedName(node.left) ?? "";
  const [exportsPath, exported] = /^(?:module\.)?exports(?:\.([^.]+))?$/.exec(path) ?? [];
  const [, type = "", member] = /^(?:.+\.)?([^.]+)\.prototype(?:\.([^.]+))?$/.exec(path) ?? [];
  if (exportsPath) file.isCommonJs = true;
  const { owner } = file;
  file.owner = type;
  const isDone = declare();
  file.owner = owner;
  return isDone;

  function declare(): boolean {
    if (exported) return exportNamed(node, exported, file);
    if (exportsPath === "module.exports") return exportAll(node, file);
    return type !== "" && declareOn(node, member, file);
  }
}
function declareOn(node: ts.BinaryExpression, member: string | undefined, file: Reading): boolean {
  const assigned = unwrap(node.right);
  if (member && isFunction(assigned)) declare(file, member, "method", node, assigned);
  else if (!member && isObjectLiteralExpression(assigned)) forEachChild(node, file.visit);
  else return false;
  return true;
}
function exportNamed(node: ts.BinaryExpression, name: string, file: Reading): boolean {
  const assigned = assignedValue(node.right);
  if (isVoidExpression(assigned)) return false; // compilers declare a later export like this
  file.facts.exports.push({ name, ...(isIdentifier(assigned) && { local: idText(assigned) }) });
  if (dottedName(assigned) || importedBy(assigned)) return false; // declared elsewhere
  declareValue(file, name, node, node.right, assigned);
  return true;
}
/** Each property of an object literal is exported under its name. */
function exportAll(node: ts.BinaryExpression, file: Reading): boolean {
  const assigned = assignedValue(node.right);
  if (!isObjectLiteralExpression(assigned)) return exportOne(file, node, node.right, "export=");
  for (const property of assigned.properties) {
    const name = property.name && nameOf(property.name);
    if (name === undefined) continue;
    const local =
      isPropertyAssignment(property) && isIdentifier(property.initializer) && property.initializer;
    file.facts.exports.push({ name, ...(local && { local: idText(local) }) });
  }
  return false;
}
