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
/**
 * What Node loads nevertheless: a package without types, JSX without a library for it, imports and
 * exports in a .cts file, which is compiled.
 */
const LOADS_ANYWAY = [7016, 7026, 1286, 1287, 1295];
const NOT_FOUND = 2307; // a module that was not found
const WITHOUT_NODE = [2503, 2694, 2709]; // a type from an unknown module
const UNTYPED = (errorCode: number): boolean => errorCode >= 7005 && errorCode <= 7053;
const TEST_FILE = /\.test\.\w+$/; // tests have no default export, and test() need not be awaited
const NOT_AWAITED =
  "This promise is not awaited. Put 'await' before it, or 'void' if that is intended.";
const NO_TYPE =
  "is not a type of a parameter: write string, number, integer or boolean, with [] and ? " +
  "as needed, then a space and what it is.";
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
export async function check(
  pluginFile: string,
  gateRules: CompilerRules,
  text?: string,
): Promise<Checked> {
  const { compilerGate } = (await import(gateRules.module)) as { compilerGate: MakeCompilerGate };
  const near = text === undefined ? [path.dirname(pluginFile)] : [];
  const gate = compilerGate(gateRules, { own: contractFiles(), near });
  return { ...findProblems(pluginFile, text, gate), unread: gate.unread() };
}

function findProblems(
  pluginFile: string,
  text: string | undefined,
  gate: CompilerGate,
): Omit<Checked, "unread"> {
  const probeFile = path.join(
    path.dirname(pluginFile),
    `.zz-check-${path.basename(pluginFile).replace(/[cm]?[jt]sx?$/, "ts")}`,
  );
  const isTestFile = TEST_FILE.test(pluginFile);
  const virtualTexts = new Map(isTestFile ? [] : [[probeFile, probeOf(pluginFile)]]);
  if (text !== undefined) virtualTexts.set(pluginFile, text);
  const openedProgram = openProgram(
    [pluginFile, ...(isTestFile ? [] : [probeFile])],
    virtualTexts,
    gate,
  );
  if (!openedProgram.program.getSourceFile(pluginFile))
    throw usage(`Cannot check '${pluginFile}': ${gate.unread()[0] ?? "it is gone."}`);
  const sources = ownFiles(openedProgram);
  const problems = sources.flatMap((sourceFile) =>
    sourceFile.fileName === probeFile
      ? exported(openedProgram, sourceFile, pluginFile)
      : problemsIn(openedProgram, sourceFile),
  );
  return {
    problems: problems.sort(
      (first, second) => Number(second.file === pluginFile) - Number(first.file === pluginFile),
    ),
    untyped: sources.flatMap(({ fileName, text }) => (isUntyped(fileName, text) ? fileName : [])),
  };
}

/** TypeScript checks JavaScript only where that is asked for. */
const isUntyped = (fileName: string, fileText: string): boolean =>
  /\.[cm]?jsx?$/.test(fileName) && !/^\s*\/\/ *@ts-check/m.test(fileText);

/** zz calls the default export with the plugin's handle. */
const probeOf = (pluginFile: string): string => `import type { Zz } from "zz";
import * as plugin from ${JSON.stringify(`./${path.basename(pluginFile)}`)};
export const made: (zz: Zz<any>) => unknown = plugin.default;
`;

function exported({ program }: Opened, probeSource: ts.SourceFile, pluginFile: string): Problem[] {
  const pluginSource = program.getSourceFile(pluginFile)!;
  // already reported
  if (program.getSyntacticDiagnostics(pluginSource).length) return [];
  const [firstError] = program.getSemanticDiagnostics(probeSource);
  if (!firstError) return [];
  const lacksDefault =
    !ts.isExternalModule(pluginSource) || firstError.code === 2339 || firstError.code === 2306;
  // it may use module.exports, which loading shows
  if (lacksDefault && pluginFile.endsWith(".cts")) return [];
  const statement = pluginSource.statements.find(ts.isExportAssignment);
  const message = lacksDefault
    ? NO_DEFAULT
    : `The default export cannot be called with zz. ${messageOf(firstError.messageText)}`;
  return [problemAt(pluginSource, statement?.expression.getStart() ?? 0, message)];
}

function problemsIn(openedProgram: Opened, sourceFile: ts.SourceFile): Problem[] {
  const { program, knowsNode, unread } = openedProgram;
  const syntaxErrors = program.getSyntacticDiagnostics(sourceFile);
  const diagnostics = syntaxErrors.length
    ? syntaxErrors
    : program.getSemanticDiagnostics(sourceFile);
  const problems = diagnostics
    .filter(({ category, code, start = 0, length = 0 }) => {
      const moduleName = sourceFile.text.slice(start, start + length).replace(/^["'`]|["'`]$/g, "");
      return (
        category === ts.DiagnosticCategory.Error &&
        !LOADS_ANYWAY.includes(code) &&
        (knowsNode || !WITHOUT_NODE.includes(code)) &&
        (code !== NOT_FOUND || !unread.has(`${sourceFile.fileName}\n${moduleName}`))
      );
    })
    .map(({ start = 0, messageText, relatedInformation = [], code }) => ({
      ...problemAt(
        sourceFile,
        start,
        [messageText, ...remedies(relatedInformation)]
          .map((messagePart) => messageOf(messagePart).replace(/\.$/, ""))
          .join(". "),
      ),
      ...(UNTYPED(code) && { untyped: true as const }),
    }));
  if (!syntaxErrors.length) {
    problems.push(...misnamedImports(openedProgram, sourceFile));
    if (/\.[cm]?tsx?$/.test(sourceFile.fileName))
      problems.push(...beyondTypes(openedProgram, sourceFile));
  }
  return problems.sort((first, second) => first.line - second.line || first.column - second.column);
}

/**
 * Imports that TypeScript finds but Node does not: Node adds no ending, and takes no .js for .ts.
 * Types are gone.
 */
function misnamedImports({ misnamed }: Opened, sourceFile: ts.SourceFile): Problem[] {
  return [...misnamed].flatMap(([specifier, meantFile]) => {
    if (specifier.getSourceFile() !== sourceFile || !isLoaded(specifier.parent)) return [];
    const relativePath = path.relative(path.dirname(sourceFile.fileName), meantFile);
    const message =
      `Node does not find '${specifier.text}'. ` +
      `Write '${relativePath.startsWith(".") ? relativePath : `./${relativePath}`}'.`;
    return problemAt(sourceFile, specifier.getStart(sourceFile), message);
  });
}

/** Whether an import is still there when the types are gone. */
const isLoaded = (node: ts.Node): boolean =>
  (ts.isImportDeclaration(node) && !node.importClause?.isTypeOnly) ||
  (ts.isExportDeclaration(node) && !node.isTypeOnly) ||
  (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword);

/** The compiler's suggestions, such as "Did you forget to use 'await'?" */
const remedies = (related: readonly ts.DiagnosticRelatedInformation[]) =>
  related.flatMap(({ messageText }) =>
    /^Did you/.test(messageOf(messageText)) ? [messageText] : [],
  );

function problemAt(sourceFile: ts.SourceFile, startOffset: number, message: string): Problem {
  const { line, character } = sourceFile.getLineAndCharacterOfPosition(startOffset);
  return {
    file: sourceFile.fileName,
    line: line + 1,
    column: character + 1,
    message: /[.!?]$/.test(message) ? message : `${message}.`,
  };
}

/**
 * Checks names and parameter types, which are only strings to TypeScript, and finds promises that
 * are not awaited.
 */
function beyondTypes({ checker }: Opened, sourceFile: ts.SourceFile): Problem[] {
  const problems: Problem[] = [];
  const reportAt = (node: ts.Node, message: string) =>
    problems.push(problemAt(sourceFile, node.getStart(sourceFile), message));
  const namesByVerb = new Map<string, Set<string>>();
  visitNode(sourceFile);
  return problems;

  function visitNode(node: ts.Node): void {
    if (
      ts.isExpressionStatement(node) &&
      !TEST_FILE.test(sourceFile.fileName) &&
      isUnawaited(node.expression, checker)
    )
      reportAt(node, NOT_AWAITED);
    if (ts.isCallExpression(node)) checkRegistered(node);
    ts.forEachChild(node, visitNode);
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
    const nameNode = fieldOf(argument, "name");
    if (nameNode && ts.isStringLiteralLike(nameNode)) checkGivenName(verb, nameNode);
    const paramsNode = fieldOf(argument, "params");
    if (verb === "tool" && paramsNode && ts.isObjectLiteralExpression(paramsNode))
      for (const typeNode of wrongTypes(paramsNode))
        reportAt(typeNode, `'${typeNode.text}' ${NO_TYPE}`);
  }

  function checkGivenName(verb: string, nameNode: ts.StringLiteralLike): void {
    const seenNames = namesByVerb.get(verb) ?? new Set();
    namesByVerb.set(verb, seenNames);
    if (seenNames.has(nameNode.text) && verb !== "layer")
      reportAt(nameNode, `There is a ${verb} '${nameNode.text}' in this file already.`);
    if (verb !== "key" && verb !== "layer" && !IDENTIFIER.test(nameNode.text))
      reportAt(
        nameNode,
        `A ${verb} cannot be called '${nameNode.text}': use letters, digits, _ and -, at most 64.`,
      );
    seenNames.add(nameNode.text);
  }
}

function isUnawaited(expression: ts.Expression, checker: ts.TypeChecker): boolean {
  if (!ts.isCallExpression(expression) || !isPromise(checker.getTypeAtLocation(expression)))
    return false;
  const methodName = ts.isPropertyAccessExpression(expression.expression)
    ? expression.expression.name.text
    : "";
  return methodName !== "catch" && (methodName !== "then" || expression.arguments.length < 2);
}

function isPromise(type: ts.Type): boolean {
  if (type.isUnion()) return type.types.some(isPromise);
  return ["Promise", "PromiseLike"].includes(type.getSymbol()?.name ?? "");
}

/** The types of parameters in the short form that are none; in JSON Schema, `type` is "object". */
function wrongTypes(paramsNode: ts.ObjectLiteralExpression): ts.StringLiteralLike[] {
  if (
    fieldOf(paramsNode, "properties") ||
    fieldOf(paramsNode, "type")?.getText().slice(1, -1) === "object"
  )
    return [];
  return paramsNode.properties
    .flatMap((property) => (ts.isPropertyAssignment(property) ? property.initializer : []))
    .filter(ts.isStringLiteralLike)
    .filter(({ text }) => !SHORTHAND.test(text));
}

function fieldOf(
  objectNode: ts.ObjectLiteralExpression,
  fieldName: string,
): ts.Expression | undefined {
  const property = objectNode.properties.find((member) => member.name?.getText() === fieldName);
  return property && ts.isPropertyAssignment(property) ? property.initializer : undefined;
}
