// --functions: turns each exported function of a TypeScript file, or of a text, into a tool for
// this run. Its parameters come from its types, its description from its JSDoc. It is the person's
// own code and runs without asking.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Zz } from "zz";
import { sentenceOf, temporaryFolder, tryTo, usage } from "zz/text";
import { messageOf, openProgram, ts } from "./program.ts";

type Json = Record<string, unknown>;
interface Param {
  name: string;
  schema: Json;
  required: boolean;
  isRest: boolean;
}
interface FunctionTool {
  export: string;
  name: string;
  description: string;
  params: Param[];
}

const MAX_DEPTH = 6; // of nested types
const MAX_BYTES = 1024 * 1024;

export async function addFunctions(zz: Zz, codeOrFile: string): Promise<void> {
  const source = sourceOf(codeOrFile, zz.io.cwd());
  try {
    const tools = readTools(source);
    const exports = await load(source);
    for (const tool of tools) register(zz, tool, exports[tool.export], source);
  } finally {
    source.remove?.();
  }
}

/** Either a file that exists, or code, which is written to a temporary file. */
type Source = { file: string; shown: string; remove?(): void };

function sourceOf(codeOrFile: string, cwd: string): Source {
  const refuse = (reason: string) =>
    usage(`Cannot use the functions of '${shortText(codeOrFile)}': ${reason}`);
  const named = path.resolve(cwd, codeOrFile);
  const stat =
    codeOrFile.includes("\n") || codeOrFile.length > 4_000
      ? undefined
      : tryTo(() => fs.statSync(named));
  if (stat?.isDirectory()) throw refuse("it is a folder. Name a file.");
  if (stat && !stat.isFile()) throw refuse("it is not a regular file. Choose another.");
  if ((stat?.size ?? codeOrFile.length) > MAX_BYTES)
    throw refuse("it is too long (1 MB at most). Name a smaller file.");
  if (stat && !/\.[cm]?tsx?$/.test(codeOrFile))
    throw refuse("it is not TypeScript. Name a file that ends in .ts.");
  if (stat) return { file: named, shown: codeOrFile };
  if (/^[^\s(){};]+$/.test(codeOrFile))
    throw refuse("no such file. Check the path, or give TypeScript.");
  const folder = temporaryFolder("functions"); // only this user can read it
  const remove = () => fs.rmSync(folder, { recursive: true, force: true });
  const file = path.join(fs.realpathSync(folder), "functions.ts");
  process.once("exit", remove);
  fs.writeFileSync(file, codeOrFile, { mode: 0o600 });
  return {
    file,
    shown: "--functions",
    remove() {
      process.off("exit", remove);
      remove();
    },
  };
}

const shortText = (text: string): string =>
  (text.length > 60 ? `${text.slice(0, 60)}…` : text).replaceAll("\n", " ");

async function load({ file, shown }: Source): Promise<Json> {
  try {
    return (await import(pathToFileURL(file).href)) as Json;
  } catch (error) {
    throw usage(
      `Cannot use the functions of '${shown}': loading it failed: ${sentenceOf(error).split("\n")[0]}`,
    );
  }
}

function register(zz: Zz, tool: FunctionTool, run: unknown, { shown }: Source): void {
  if (typeof run !== "function")
    throw usage(`Cannot use '${tool.export}' of '${shown}': it is not a function.`);
  const { name, description, params } = tool;
  const required = params.filter((param) => param.required).map((param) => param.name);
  const properties = Object.fromEntries(params.map((param) => [param.name, param.schema]));
  try {
    zz.tool({
      name,
      description,
      // known only at run time
      params: { type: "object", properties, required, additionalProperties: false } as any,
      async run(args: Json) {
        const values = params.map((param) => args[param.name]);
        const restValues = params.at(-1)?.isRest
          ? ((values.pop() as unknown[] | undefined) ?? [])
          : [];
        const result = await run(...values, ...restValues);
        return typeof result === "string" ? result : (JSON.stringify(result) ?? "Done.");
      },
    });
  } catch (error) {
    throw usage(`Cannot use function '${tool.export}' of '${shown}': ${sentenceOf(error)}`);
  }
}

/** The file as TypeScript sees it. */
interface Code {
  checker: ts.TypeChecker;
  source: ts.SourceFile;
  shown: string;
}

/** The tools made from the exported functions. */
function readTools({ file, shown }: Source): FunctionTool[] {
  const { program, checker } = openProgram([file]);
  const source = program.getSourceFile(file);
  if (!source)
    throw usage(`Cannot use the functions of '${shown}': it cannot be read. Check its mode.`);
  const code: Code = { checker, source, shown };
  const [error] = program.getSyntacticDiagnostics(source);
  if (error)
    throw usage(
      `Cannot use the functions of '${shown}': ${positionOf(code, error.start)}: ${messageOf(error.messageText)}`,
    );
  const module = checker.getSymbolAtLocation(source);
  const tools = (module ? checker.getExportsOfModule(module) : []).flatMap((symbol) => {
    const real = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    const node = real.valueDeclaration;
    const signatures = node
      ? checker.getTypeOfSymbolAtLocation(real, node).getCallSignatures()
      : [];
    return node && signatures.length ? [toolOf(code, symbol, real, node, signatures)] : [];
  });
  if (!tools.length)
    throw usage(
      `Cannot use the functions of '${shown}': it exports none. Write 'export function name(…) { … }'.`,
    );
  return tools;
}

function positionOf({ source, shown }: Code, start: number): string {
  const { line, character } = source.getLineAndCharacterOfPosition(start);
  return `${shown}:${line + 1}:${character + 1}`;
}

function toolOf(
  code: Code,
  symbol: ts.Symbol,
  real: ts.Symbol,
  node: ts.Declaration,
  signatures: readonly ts.Signature[],
): FunctionTool {
  const exportName =
    symbol.name === "default"
      ? (ts.getNameOfDeclaration(node)?.getText() ?? "default")
      : symbol.name;
  const position =
    node.getSourceFile() === code.source ? positionOf(code, node.getStart()) : code.shown;
  const refuse = (reason: string) =>
    usage(`Cannot use function '${exportName}' (${position}): ${reason}`);
  if (exportName === "default") throw refuse("it has no name. Give it one.");
  if (signatures.length > 1) throw refuse("it has overloads. Export one that has none.");
  const [signature] = signatures;
  if (signature!.typeParameters?.length) throw refuse("it is generic. Say which types it takes.");
  const name = snake(exportName);
  const params = signature!.parameters.map((param) => paramOf(code, param, refuse));
  const text = ts.displayPartsToString(real.getDocumentationComment(code.checker)).trim();
  return { export: symbol.name, name, description: text || name.replaceAll("_", " "), params };
}

function paramOf(code: Code, symbol: ts.Symbol, refuse: (reason: string) => Error): Param {
  const node = symbol.valueDeclaration as ts.ParameterDeclaration;
  if (!ts.isIdentifier(node.name))
    throw refuse("a parameter that is taken apart has no name. Give it one.");
  const type = code.checker.getTypeOfSymbolAtLocation(symbol, node);
  const isRest = Boolean(node.dotDotDotToken);
  const text = ts.displayPartsToString(symbol.getDocumentationComment(code.checker)).trim();
  const cannot = (reason: string) => refuse(`its parameter '${symbol.name}' ${reason}`);
  return {
    name: symbol.name,
    schema: { ...schemaOf(code, type, cannot), ...(text && { description: text }) },
    required: !isRest && !node.questionToken && !node.initializer && !takesUndefined(type),
    isRest,
  };
}

function schemaOf(
  code: Code,
  declaredType: ts.Type,
  cannot: (reason: string) => Error,
  depth = 0,
): Json {
  const type = code.checker.getNonNullableType(declaredType);
  const refuse = () =>
    cannot(
      type.flags & ts.TypeFlags.Any
        ? "has no type. Write one: string, number, boolean, a list or an object of these."
        : `is of type '${code.checker.typeToString(type)}'. Use string, number, boolean, 'one' | 'of' | 'these', lists and objects of them.`,
    );
  if (depth > MAX_DEPTH || isNullable(declaredType)) throw refuse();
  const { flags } = type;
  if (flags & ts.TypeFlags.String) return { type: "string" };
  if (flags & ts.TypeFlags.Number) return { type: "number" };
  if (flags & (ts.TypeFlags.Boolean | ts.TypeFlags.BooleanLiteral)) return { type: "boolean" };
  const members = type.isUnion() ? type.types : [type];
  if (members.every((member) => member.isStringLiteral())) return choice("string", members);
  if (members.every((member) => member.isNumberLiteral())) return choice("number", members);
  if (code.checker.isArrayType(type))
    return {
      type: "array",
      items: schemaOf(
        code,
        code.checker.getTypeArguments(type as ts.TypeReference)[0]!,
        cannot,
        depth + 1,
      ),
    };
  const isPlain =
    flags & ts.TypeFlags.Object && !type.isClass() && !type.getCallSignatures().length;
  if (
    !isPlain ||
    code.checker.isTupleType(type) ||
    code.checker.getIndexInfosOfType(type).length ||
    isBuiltIn(type)
  )
    throw refuse();
  return objectOf(code, type, cannot, depth);
}

function objectOf(
  code: Code,
  type: ts.Type,
  cannot: (reason: string) => Error,
  depth: number,
): Json {
  const required: string[] = [];
  const properties: Json = {};
  for (const property of code.checker.getPropertiesOfType(type)) {
    const propertyType = code.checker.getTypeOfSymbolAtLocation(
      property,
      property.valueDeclaration ?? code.source,
    );
    const text = ts.displayPartsToString(property.getDocumentationComment(code.checker)).trim();
    properties[property.name] = {
      ...schemaOf(code, propertyType, cannot, depth + 1),
      ...(text && { description: text }),
    };
    if (!(property.flags & ts.SymbolFlags.Optional) && !takesUndefined(propertyType))
      required.push(property.name);
  }
  return { type: "object", properties, required, additionalProperties: false };
}

/** Whether the type comes from TypeScript's own library, like Date and Map. */
function isBuiltIn(type: ts.Type): boolean {
  return (type.getSymbol()?.declarations ?? []).some(
    (node) => node.getSourceFile().isDeclarationFile,
  );
}

const choice = (type: string, members: ts.Type[]): Json => ({
  type,
  enum: members.map((member) => (member as ts.LiteralType).value),
});
const partsOf = (type: ts.Type): ts.Type[] => (type.isUnion() ? type.types : [type]);
const takesUndefined = (type: ts.Type): boolean =>
  partsOf(type).some(({ flags }) => Boolean(flags & ts.TypeFlags.Undefined));
const isNullable = (type: ts.Type): boolean =>
  partsOf(type).some(({ flags }) => Boolean(flags & ts.TypeFlags.Null));

/** getHTTPStatus becomes get_http_status. */
const snake = (name: string): string =>
  name
    .replace(
      /([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])/g,
      (_, a = "", b = "", c = "", d = "") => `${a}${c}_${b}${d}`,
    )
    .replace(/^[_$]+/, "")
    .toLowerCase();
