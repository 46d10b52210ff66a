// --functions: turns each exported function of a TypeScript file, or of a text, into a tool for
// this run. Its parameters come from its types, its description from its JSDoc. It is the person's
// own code and runs without asking.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Zz } from "zz";
import { removeTree, sentenceOf, temporaryFolder, tryTo, usage } from "zz/text";
import { messageOf, openProgram, ts } from "./program.ts";

type Json = Record<string, unknown>;
/** A parameter, or a property of an object. */
interface Field {
  name: string;
  schema: Json;
  required: boolean;
  isRest?: boolean;
}
interface FunctionTool {
  export: string;
  name: string;
  description: string;
  params: Field[];
}

const MAX_DEPTH = 6; // of nested types
const MAX_BYTES = 1024 * 1024;

export async function addFunctions(zz: Zz, codeOrFile: string): Promise<void> {
  const codeSource = sourceOf(codeOrFile, zz.io.cwd());
  try {
    const functionTools = readTools(codeSource);
    const exports = await loadModule(codeSource);
    for (const functionTool of functionTools)
      register(zz, functionTool, exports[functionTool.export], codeSource);
  } finally {
    codeSource.remove?.();
  }
}

/** Either a file that exists, or code, which is written to a temporary file. */
type Source = { file: string; shown: string; remove?(): void };

function sourceOf(codeOrFile: string, baseFolder: string): Source {
  const refuse = (reason: string) =>
    usage(`Cannot use the functions of '${shortText(codeOrFile)}': ${reason}`);
  const namedPath = path.resolve(baseFolder, codeOrFile);
  const fileStats =
    codeOrFile.includes("\n") || codeOrFile.length > 4_000
      ? undefined
      : tryTo(() => fs.statSync(namedPath));
  if (fileStats?.isDirectory()) throw refuse("it is a folder. Name a file.");
  if (fileStats && !fileStats.isFile()) throw refuse("it is not a regular file. Choose another.");
  if ((fileStats?.size ?? codeOrFile.length) > MAX_BYTES)
    throw refuse("it is too long (1 MB at most). Name a smaller file.");
  if (fileStats && !/\.[cm]?tsx?$/.test(codeOrFile))
    throw refuse("it is not TypeScript. Name a file that ends in .ts.");
  if (fileStats) return { file: namedPath, shown: codeOrFile };
  if (/^[^\s(){};]+$/.test(codeOrFile))
    throw refuse("no such file. Check the path, or give TypeScript.");
  const codeFolder = temporaryFolder("functions"); // only this user can read it
  const removeFolder = () => removeTree(codeFolder);
  const file = path.join(fs.realpathSync(codeFolder), "functions.ts");
  process.once("exit", removeFolder);
  fs.writeFileSync(file, codeOrFile, { mode: 0o600 });
  return {
    file,
    shown: "--functions",
    remove() {
      process.off("exit", removeFolder);
      removeFolder();
    },
  };
}

const shortText = (codeText: string): string =>
  (codeText.length > 60 ? `${codeText.slice(0, 60)}…` : codeText).replaceAll("\n", " ");

async function loadModule({ file, shown }: Source): Promise<Json> {
  try {
    return (await import(pathToFileURL(file).href)) as Json;
  } catch (error) {
    throw usage(
      `Cannot use the functions of '${shown}': loading it failed: ` +
        `${sentenceOf(error).split("\n")[0]}`,
    );
  }
}

function register(
  zz: Zz,
  functionTool: FunctionTool,
  runFunction: unknown,
  { shown }: Source,
): void {
  if (typeof runFunction !== "function")
    throw usage(`Cannot use '${functionTool.export}' of '${shown}': it is not a function.`);
  const { name, description, params } = functionTool;
  try {
    zz.tool({
      name,
      description,
      params: objectSchema(params) as any, // known only at run time
      async run(args: Json) {
        const argumentValues = params.map((parameter) => args[parameter.name]);
        const restValues = params.at(-1)?.isRest
          ? ((argumentValues.pop() as unknown[] | undefined) ?? [])
          : [];
        const result = await runFunction(...argumentValues, ...restValues);
        return typeof result === "string" ? result : (JSON.stringify(result) ?? "Done.");
      },
    });
  } catch (error) {
    throw usage(`Cannot use function '${functionTool.export}' of '${shown}': ${sentenceOf(error)}`);
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
  const parsedCode: Code = { checker, source, shown };
  const [syntaxError] = program.getSyntacticDiagnostics(source);
  if (syntaxError)
    throw usage(
      `Cannot use the functions of '${shown}': ${positionOf(parsedCode, syntaxError.start)}: ` +
        messageOf(syntaxError.messageText),
    );
  const moduleSymbol = checker.getSymbolAtLocation(source);
  const functionTools = (moduleSymbol ? checker.getExportsOfModule(moduleSymbol) : []).flatMap(
    (exportSymbol) => {
      const realSymbol =
        exportSymbol.flags & ts.SymbolFlags.Alias
          ? checker.getAliasedSymbol(exportSymbol)
          : exportSymbol;
      const declaration = realSymbol.valueDeclaration;
      const signatures = declaration
        ? checker.getTypeOfSymbolAtLocation(realSymbol, declaration).getCallSignatures()
        : [];
      return declaration && signatures.length
        ? [buildTool(parsedCode, exportSymbol, realSymbol, declaration, signatures)]
        : [];
    },
  );
  if (!functionTools.length)
    throw usage(
      `Cannot use the functions of '${shown}': it exports none. ` +
        "Write 'export function name(…) { … }'.",
    );
  return functionTools;
}

function positionOf({ source, shown }: Code, startOffset: number): string {
  const { line, character } = source.getLineAndCharacterOfPosition(startOffset);
  return `${shown}:${line + 1}:${character + 1}`;
}

function buildTool(
  parsedCode: Code,
  exportSymbol: ts.Symbol,
  realSymbol: ts.Symbol,
  declaration: ts.Declaration,
  signatures: readonly ts.Signature[],
): FunctionTool {
  const exportName =
    exportSymbol.name === "default"
      ? (ts.getNameOfDeclaration(declaration)?.getText() ?? "default")
      : exportSymbol.name;
  const position =
    declaration.getSourceFile() === parsedCode.source
      ? positionOf(parsedCode, declaration.getStart())
      : parsedCode.shown;
  const refuse = (reason: string) =>
    usage(`Cannot use function '${exportName}' (${position}): ${reason}`);
  if (exportName === "default") throw refuse("it has no name. Give it one.");
  if (signatures.length > 1) throw refuse("it has overloads. Export one that has none.");
  const [signature] = signatures;
  if (signature!.typeParameters?.length) throw refuse("it is generic. Say which types it takes.");
  const name = toSnakeCase(exportName);
  return {
    export: exportSymbol.name,
    name,
    description: docOf(parsedCode, realSymbol) || name.replaceAll("_", " "),
    params: signature!.parameters.map((parameter) => paramOf(parsedCode, parameter, refuse)),
  };
}

const docOf = ({ checker }: Code, documented: ts.Symbol): string =>
  ts.displayPartsToString(documented.getDocumentationComment(checker)).trim();

function paramOf(
  parsedCode: Code,
  paramSymbol: ts.Symbol,
  refuse: (reason: string) => Error,
): Field {
  const declaration = paramSymbol.valueDeclaration as ts.ParameterDeclaration;
  if (!ts.isIdentifier(declaration.name))
    throw refuse("a parameter that is taken apart has no name. Give it one.");
  const isRest = Boolean(declaration.dotDotDotToken);
  const isOptional = isRest || Boolean(declaration.questionToken ?? declaration.initializer);
  const refuseParam = (reason: string) => refuse(`its parameter '${paramSymbol.name}' ${reason}`);
  return { ...fieldOf(parsedCode, paramSymbol, isOptional, refuseParam, 0), isRest };
}

function fieldOf(
  parsedCode: Code,
  fieldSymbol: ts.Symbol,
  isOptional: boolean,
  refuseParam: (reason: string) => Error,
  depth: number,
): Field {
  const fieldType = parsedCode.checker.getTypeOfSymbolAtLocation(
    fieldSymbol,
    fieldSymbol.valueDeclaration ?? parsedCode.source,
  );
  const description = docOf(parsedCode, fieldSymbol);
  return {
    name: fieldSymbol.name,
    schema: {
      ...schemaOf(parsedCode, fieldType, refuseParam, depth),
      ...(description && { description }),
    },
    required:
      !isOptional && !partsOf(fieldType).some(({ flags }) => flags & ts.TypeFlags.Undefined),
  };
}

const objectSchema = (fields: Field[]): Json => ({
  type: "object",
  properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema])),
  required: fields.filter(({ required }) => required).map(({ name }) => name),
  additionalProperties: false,
});

function schemaOf(
  parsedCode: Code,
  declaredType: ts.Type,
  refuseParam: (reason: string) => Error,
  depth: number,
): Json {
  const { checker } = parsedCode;
  const plainType = checker.getNonNullableType(declaredType);
  const refuse = () =>
    refuseParam(
      plainType.flags & ts.TypeFlags.Any
        ? "has no type. Write one: string, number, boolean, a list or an object of these."
        : `is of type '${checker.typeToString(plainType)}'. ` +
            "Use string, number, boolean, 'one' | 'of' | 'these', lists and objects of them.",
    );
  const isNullable = partsOf(declaredType).some(({ flags }) => flags & ts.TypeFlags.Null);
  if (depth > MAX_DEPTH || isNullable) throw refuse();
  const { flags } = plainType;
  if (flags & ts.TypeFlags.String) return { type: "string" };
  if (flags & ts.TypeFlags.Number) return { type: "number" };
  if (flags & (ts.TypeFlags.Boolean | ts.TypeFlags.BooleanLiteral)) return { type: "boolean" };
  const members = partsOf(plainType);
  if (members.every((member) => member.isStringLiteral())) return buildChoice("string", members);
  if (members.every((member) => member.isNumberLiteral())) return buildChoice("number", members);
  if (checker.isArrayType(plainType)) {
    const [itemType] = checker.getTypeArguments(plainType as ts.TypeReference);
    return { type: "array", items: schemaOf(parsedCode, itemType!, refuseParam, depth + 1) };
  }
  const isPlain =
    flags & ts.TypeFlags.Object && !plainType.isClass() && !plainType.getCallSignatures().length;
  if (
    !isPlain ||
    checker.isTupleType(plainType) ||
    checker.getIndexInfosOfType(plainType).length ||
    isBuiltIn(plainType)
  )
    throw refuse();
  return objectSchema(
    checker.getPropertiesOfType(plainType).map((property) => {
      const isOptional = Boolean(property.flags & ts.SymbolFlags.Optional);
      return fieldOf(parsedCode, property, isOptional, refuseParam, depth + 1);
    }),
  );
}

/** Whether the type comes from TypeScript's own library, like Date and Map. */
function isBuiltIn(type: ts.Type): boolean {
  return (type.getSymbol()?.declarations ?? []).some(
    (declaration) => declaration.getSourceFile().isDeclarationFile,
  );
}

const buildChoice = (type: string, members: ts.Type[]): Json => ({
  type,
  enum: members.map((member) => (member as ts.LiteralType).value),
});
const partsOf = (type: ts.Type): ts.Type[] => (type.isUnion() ? type.types : [type]);

/** getHTTPStatus becomes get_http_status. */
const toSnakeCase = (camelName: string): string =>
  camelName
    .replace(
      /([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])/g,
      (_, lowerEnd = "", upperStart = "", upperEnd = "", wordStart = "") =>
        `${lowerEnd}${upperEnd}_${upperStart}${wordStart}`,
    )
    .replace(/^[_$]+/, "")
    .toLowerCase();
