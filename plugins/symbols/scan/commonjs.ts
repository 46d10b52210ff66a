// JavaScript's own declarations: assignments to exports, module.exports and prototypes.

import type { ts } from "ts-morph";
import { declare } from "./declarations.ts";
import { declareValue, exportOne } from "./exports.ts";
import { importedBy } from "./imports.ts";
import { assignedValue, dotted, isFunction, nameOf, unwrapped } from "./nodes.ts";
import {
  forEachChild,
  idText,
  isIdentifier,
  isObjectLiteralExpression,
  isPropertyAssignment,
  isVoidExpression,
} from "./parser.ts";
import type { Reading } from "./state.ts";

/** `exports.name = …`, `module.exports = …`, `Class.prototype.name = …`. Returns whether nothing is left to visit. */
export function visitAssignment(node: ts.BinaryExpression, file: Reading): boolean {
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
  const made = unwrapped(node.right);
  if (member && isFunction(made)) declare(file, member, "method", node, made);
  else if (!member && isObjectLiteralExpression(made)) forEachChild(node, file.visit);
  else return false;
  return true;
}
function exportNamed(node: ts.BinaryExpression, name: string, file: Reading): boolean {
  const made = assignedValue(node.right);
  if (isVoidExpression(made)) return false; // compilers declare a later export like this
  file.facts.exports.push({ name, ...(isIdentifier(made) && { local: idText(made) }) });
  if (dotted(made) || importedBy(made)) return false; // declared elsewhere
  declareValue(file, name, node, node.right, made);
  return true;
}
/** Each property of an object literal is exported under its name. */
function exportAll(node: ts.BinaryExpression, file: Reading): boolean {
  const made = assignedValue(node.right);
  if (!isObjectLiteralExpression(made)) return exportOne(file, node, node.right, "export=");
  for (const property of made.properties) {
    const name = property.name && nameOf(property.name);
    if (name === undefined) continue;
    const local = isPropertyAssignment(property) && isIdentifier(property.initializer) && property.initializer;
    file.facts.exports.push({ name, ...(local && { local: idText(local) }) });
  }
  return false;
}
