// Checks a plugin's file without running it: for TypeScript's errors against zz's contract, and for
// mistakes that types do not show, such as imports that Node does not find. Slow to load, so it
// runs in a separate process.
import path from "node:path";
import type { CompilerGate, CompilerRules, MakeCompilerGate } from "zz";
import { usage } from "zz/text";
import { contractFiles } from "./locate-zz.ts";
import { messageOf, type Opened, openProgram, ownFiles, ts } from "./program.ts";

export interface Problem {
  file: string;
  line: number; // from 1
  column: number; // from 1
  message: string;
  untyped?: true; // a type is missing, nothing else is wrong
}

const NO_DEFAULT =
  "The plugin has no default export to call. Write `export default (zz: Zz) => …`.";
const IDENTIFIER = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const SHORTHAND = /^(string|number|integer|boolean)(\[\])?(\?)?( .*)?$/s;
/** A package without types, and JSX without a library for it: Node loads both nevertheless. */
const LOADS_ANYWAY = [7016, 7026];
const OF_COMMONJS = [1286, 1287, 1295]; // imports and exports in a .cts file, which is compiled
const NOT_FOUND = 2307; // a module that was not found
const WITHOUT_NODE = [2503, 2694, 2709]; // a type from an unknown module
const UNTYPED = (code: number): boolean => code >= 7005 && code <= 7053;
const TEST = /\.test\.\w+$/; // tests have no default export, and test() need not be awaited
const NOT_AWAITED =
  "This promise is not awaited. Put 'await' before it, or 'void' if that is intended.";
const NO_TYPE =
  "is not a type of a parameter: write string, number, integer or boolean, with [] and ? as needed, then a space and what it is.";
const WITH_NAME = ["tool", "command", "layer", "flag", "provider", "key"];

export interface Checked {
  problems: Problem[];
  unread: string[]; // sentences about what was not read
  untyped: string[]; // its files whose types were not checked
}

/**
 * `text` replaces the content of the file: the model wrote it, so other files are read only where
 * that is allowed without asking. Without `text` the person named the file, and the files next to
 * it belong to it.
 */
export async function check(file: string, rules: CompilerRules, text?: string): Promise<Checked> {
  const { compilerGate } = (await import(rules.module)) as { compilerGate: MakeCompilerGate };
  const near = text === undefined ? [path.dirname(file)] : [];
  const gate = compilerGate(rules, { own: contractFiles(), near });
  return { ...look(file, text, gate), unread: gate.unread() };
}

function look(file: string, text: string | undefined, gate: CompilerGate): Omit<Checked, "unread"> {
  const probe = path.join(
    path.dirname(file),
    `.zz-check-${path.basename(file).replace(/[cm]?[jt]sx?$/, "ts")}`,
  );
  const isTest = TEST.test(file);
  const texts = new Map(isTest ? [] : [[probe, probeOf(file)]]);
  if (text !== undefined) texts.set(file, text);
  const opened = openProgram([file, ...(isTest ? [] : [probe])], texts, gate);
  if (!opened.program.getSourceFile(file))
    throw usage(`Cannot check '${file}': ${gate.unread()[0] ?? "it is gone."}`);
  const sources = ownFiles(opened);
  const problems = sources.flatMap((source) =>
    source.fileName === probe ? exported(opened, source, file) : problemsIn(opened, source),
  );
  return {
    problems: problems.sort((a, b) => Number(b.file === file) - Number(a.file === file)),
    untyped: sources.flatMap(({ fileName, text }) => (isUntyped(fileName, text) ? fileName : [])),
  };
}

/** TypeScript checks JavaScript only where that is asked for. */
const isUntyped = (file: string, text: string): boolean =>
  /\.[cm]?jsx?$/.test(file) && !/^\s*\/\/ *@ts-check/m.test(text);

/** zz calls the default export with the plugin's handle. */
const probeOf = (file: string): string => `import type { Zz } from "zz";
import * as plugin from ${JSON.stringify(`./${path.basename(file)}`)};
export const made: (zz: Zz<any>) => unknown = plugin.default;
`;

function exported({ program }: Opened, probe: ts.SourceFile, file: string): Problem[] {
  const source = program.getSourceFile(file);
  const isScript = !source || !ts.isExternalModule(source);
  if (source && program.getSyntacticDiagnostics(source).length) return []; // already reported
  const [first] = program.getSemanticDiagnostics(probe);
  if (!first) return [];
  const lacks = isScript || first.code === 2339 || first.code === 2306;
  if (lacks && file.endsWith(".cts")) return []; // it may use module.exports, which loading shows
  const statement = source?.statements.find(ts.isExportAssignment);
  const message = lacks
    ? NO_DEFAULT
    : `The default export cannot be called with zz. ${messageOf(first.messageText)}`;
  return [problemAt(source!, statement?.expression.getStart() ?? 0, message)];
}

function problemsIn(opened: Opened, source: ts.SourceFile): Problem[] {
  const { program, knowsNode } = opened;
  const syntaxErrors = program.getSyntacticDiagnostics(source);
  const diagnostics = syntaxErrors.length ? syntaxErrors : program.getSemanticDiagnostics(source);
  const problems = diagnostics
    .filter(({ category }) => category === ts.DiagnosticCategory.Error)
    .filter(
      ({ code }) =>
        !LOADS_ANYWAY.includes(code) &&
        !OF_COMMONJS.includes(code) &&
        (knowsNode || !WITHOUT_NODE.includes(code)),
    )
    .filter(({ code, start = 0, length = 0 }) => {
      const name = source.text.slice(start, start + length).replace(/^["'`]|["'`]$/g, "");
      return code !== NOT_FOUND || !opened.unread.has(`${source.fileName}\n${name}`);
    })
    .map(({ start = 0, messageText, relatedInformation = [], code }) => ({
      ...problemAt(
        source,
        start,
        [messageText, ...remedies(relatedInformation)]
          .map((part) => messageOf(part).replace(/\.$/, ""))
          .join(". "),
      ),
      ...(UNTYPED(code) && { untyped: true as const }),
    }));
  if (!syntaxErrors.length) problems.push(...misnamedImports(opened, source));
  if (!syntaxErrors.length && /\.[cm]?tsx?$/.test(source.fileName))
    problems.push(...beyondTypes(opened, source));
  return problems.sort((a, b) => a.line - b.line || a.column - b.column);
}

/**
 * Imports that TypeScript finds but Node does not: Node adds no ending, and takes no .js for .ts.
 * Types are gone.
 */
function misnamedImports({ misnamed }: Opened, source: ts.SourceFile): Problem[] {
  const problems: Problem[] = [];
  visit(source);
  return problems;

  function visit(node: ts.Node): void {
    const name = importedBy(node);
    const file = name && misnamed.get(`${source.fileName}\n${name.text}`);
    if (file) {
      const near = path.relative(path.dirname(source.fileName), file);
      const message = `Node does not find '${name.text}'. Write '${near.startsWith(".") ? near : `./${near}`}'.`;
      problems.push(problemAt(source, name.getStart(source), message));
    }
    ts.forEachChild(node, visit);
  }
}

function importedBy(node: ts.Node): ts.StringLiteralLike | undefined {
  let name: ts.Expression | undefined;
  if (ts.isImportDeclaration(node) && !node.importClause?.isTypeOnly) name = node.moduleSpecifier;
  if (ts.isExportDeclaration(node) && !node.isTypeOnly) name = node.moduleSpecifier;
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    name = node.arguments[0];
  return name && ts.isStringLiteralLike(name) ? name : undefined;
}

/** The compiler's suggestions, such as "Did you forget to use 'await'?" */
const remedies = (related: readonly ts.DiagnosticRelatedInformation[]) =>
  related.flatMap(({ messageText }) =>
    /^Did you/.test(messageOf(messageText)) ? [messageText] : [],
  );

function problemAt(source: ts.SourceFile, start: number, message: string): Problem {
  const { line, character } = source.getLineAndCharacterOfPosition(start);
  return {
    file: source.fileName,
    line: line + 1,
    column: character + 1,
    message: /[.!?]$/.test(message) ? message : `${message}.`,
  };
}

/**
 * Checks names and parameter types, which are only strings to TypeScript, and finds promises that
 * are not awaited.
 */
function beyondTypes({ checker }: Opened, source: ts.SourceFile): Problem[] {
  const problems: Problem[] = [];
  const report = (node: ts.Node, message: string) =>
    problems.push(problemAt(source, node.getStart(source), message));
  const names = new Map<string, Set<string>>();
  visit(source);
  return problems;

  function visit(node: ts.Node): void {
    if (
      ts.isExpressionStatement(node) &&
      !TEST.test(source.fileName) &&
      isUnawaited(node.expression, checker)
    )
      report(node, NOT_AWAITED);
    if (ts.isCallExpression(node)) checkRegistered(node);
    ts.forEachChild(node, visit);
  }

  function checkRegistered({ expression, arguments: [argument] }: ts.CallExpression): void {
    if (
      !ts.isPropertyAccessExpression(expression) ||
      !argument ||
      !ts.isObjectLiteralExpression(argument)
    )
      return;
    const verb = expression.name.text;
    if (!WITH_NAME.includes(verb)) return;
    if (checker.getTypeAtLocation(expression.expression).getSymbol()?.name !== "Zz") return;
    const name = fieldOf(argument, "name");
    if (name && ts.isStringLiteralLike(name)) checkGivenName(verb, name);
    const params = fieldOf(argument, "params");
    if (verb === "tool" && params && ts.isObjectLiteralExpression(params))
      for (const type of wrongTypes(params)) report(type, `'${type.text}' ${NO_TYPE}`);
  }

  function checkGivenName(verb: string, node: ts.StringLiteralLike): void {
    const seenNames = names.get(verb) ?? new Set();
    names.set(verb, seenNames);
    if (seenNames.has(node.text) && verb !== "layer")
      report(node, `There is a ${verb} '${node.text}' in this file already.`);
    if (verb !== "key" && verb !== "layer" && !IDENTIFIER.test(node.text))
      report(
        node,
        `A ${verb} cannot be called '${node.text}': use letters, digits, _ and -, at most 64.`,
      );
    seenNames.add(node.text);
  }
}

function isUnawaited(node: ts.Expression, checker: ts.TypeChecker): boolean {
  if (!ts.isCallExpression(node) || !isPromise(checker.getTypeAtLocation(node))) return false;
  const last = ts.isPropertyAccessExpression(node.expression) ? node.expression.name.text : "";
  return last !== "catch" && (last !== "then" || node.arguments.length < 2);
}

function isPromise(type: ts.Type): boolean {
  if (type.isUnion()) return type.types.some(isPromise);
  return ["Promise", "PromiseLike"].includes(type.getSymbol()?.name ?? "");
}

/** The types of parameters in the short form that are none; in JSON Schema, `type` is "object". */
function wrongTypes(params: ts.ObjectLiteralExpression): ts.StringLiteralLike[] {
  if (fieldOf(params, "properties") || fieldOf(params, "type")?.getText().slice(1, -1) === "object")
    return [];
  return params.properties
    .flatMap((property) => (ts.isPropertyAssignment(property) ? property.initializer : []))
    .filter(ts.isStringLiteralLike)
    .filter(({ text }) => !SHORTHAND.test(text));
}

function fieldOf(object: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined {
  const property = object.properties.find((member) => member.name?.getText() === name);
  return property && ts.isPropertyAssignment(property) ? property.initializer : undefined;
}
