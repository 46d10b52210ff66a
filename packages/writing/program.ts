// A TypeScript program for a plugin's files. `zz`, `zod` and `typebox` are zz's own, wherever the
// files are, as when zz loads them. Slow to load.

import fs from "node:fs";
import { isBuiltin } from "node:module";
import path from "node:path";
import { getLibFiles } from "@ts-morph/common";
import { ts } from "ts-morph";
import type { CompilerGate } from "zz";
import { isInside, isInsideAny, ownValue, tryTo } from "zz/text";
import { contractFiles, packageAt, packageFolder } from "./locate-zz.ts";

export { ts };

const LIB_FOLDER = "/zz-typescript-lib/";
const PROVIDED = /^(zod|typebox|zz)(\/|$)/; // as in kernel/plugins/load-plugins.ts
const NODE_TYPES = `declare module "node:*";
declare var process: any;
declare var Buffer: any;
type Buffer = any;
declare var global: any;
declare var setImmediate: any;
declare var clearImmediate: any;
interface Number { ref(): any; unref(): any; hasRef(): boolean } // of a timer
interface ImportMeta {
  dirname: string; filename: string; url: string; main: boolean;
  resolve(specifier: string): string;
}
`;
const SOURCES: Record<string, string> = {
  zz: "zz.ts",
  "zz/test": "sdk/testing.ts",
  "zz/text": "sdk/text.ts",
};
const NODE_FILE = "/zz-node.d.ts";

const DECLARATION = /\.d\.[cm]?ts$/;

/**
 * Parsed libraries, which are always the same, so the next program of this process need not parse
 * them again.
 */
const DECLARATIONS = new Map<string, ts.SourceFile>();
/**
 * Where their imports lead, as "file\nname": half of the time of a check. Counts as long as the
 * file is there and may be read.
 */
const IMPORT_LEADS = new Map<string, ts.ResolvedModuleWithFailedLookupLocations>();

export interface Opened {
  program: ts.Program;
  checker: ts.TypeChecker;
  knowsNode: boolean; // Node's types are available
  unread: Set<string>; // imports of what may not be read, as "file\nname"
  misnamed: Map<ts.StringLiteralLike, string>; // imports that only TypeScript finds: the file meant
}

const fromDisk = (filePath: string): string | undefined =>
  tryTo(() => fs.readFileSync(filePath, "utf8"));

/**
 * `texts` has the contents of files that are not on the disk (yet). Without a gate everything is
 * read: it is the person's own code.
 */
export function openProgram(
  rootFiles: string[],
  texts: ReadonlyMap<string, string> = new Map(),
  gate: CompilerGate = OPEN_GATE,
): Opened {
  const node = nodeTypesFor(rootFiles[0]!, gate);
  const options = optionsFor(node);
  const libs = new Map(getLibFiles().map(({ fileName, text }) => [LIB_FOLDER + fileName, text]));
  if (!node) libs.set(NODE_FILE, NODE_TYPES);
  const host = createHost(rootFiles, { texts, libs, gate });
  const resolver = resolveImports(rootFiles[0]!, { host, options, node, gate });
  host.resolveModuleNameLiterals = (literals, importer) =>
    literals.map((literal) => resolver.resolve(literal, importer));
  const program = ts.createProgram({
    rootNames: [...(node ? [] : [NODE_FILE]), ...rootFiles],
    options,
    host,
  });
  const { unread, misnamed } = resolver;
  return { program, checker: program.getTypeChecker(), knowsNode: Boolean(node), unread, misnamed };
}

/** Node's types: zz's own, else those above the plugin, as --new-plugin puts into the home. */
function nodeTypesFor(mainFile: string, gate: CompilerGate): string | undefined {
  const nodeFolder = packageAt("@types/node") ?? packageAt("@types/node", path.dirname(mainFile));
  return nodeFolder && gate.mayRead(path.join(nodeFolder, "index.d.ts")) ? nodeFolder : undefined;
}

interface Readable {
  texts: ReadonlyMap<string, string>;
  libs: ReadonlyMap<string, string>;
  gate: CompilerGate;
}

/** The files as the compiler may see them. */
function createHost(rootFiles: string[], { texts, libs, gate }: Readable): ts.CompilerHost {
  const folders = new Set([...texts.keys()].map((virtualFile) => path.dirname(virtualFile)));
  const providedText = (filePath: string) => texts.get(filePath) ?? libs.get(filePath);
  const textIf = (isAllowed: (filePath: string) => boolean, filePath: string) =>
    providedText(filePath) ??
    (isThere(filePath) && isAllowed(filePath) ? fromDisk(filePath) : undefined);
  const cachedStat = askOnce((filePath) =>
    tryTo(() => fs.statSync(filePath, { throwIfNoEntry: false })),
  );
  const isThere = (filePath: string) => cachedStat(filePath)?.isFile() === true;
  const isFolder = (folder: string) => cachedStat(folder)?.isDirectory() === true;
  const namedFiles = [...rootFiles, ...contractFiles()];
  const isAbove = (folder: string) => namedFiles.some((namedFile) => isInside(folder, namedFile));
  return {
    fileExists: (filePath) =>
      providedText(filePath) !== undefined || (isThere(filePath) && gate.mayLookUp(filePath)),
    directoryExists: askOnce(
      (folder) =>
        folders.has(folder) || (isFolder(folder) && (isAbove(folder) || gate.mayList(folder))),
    ),
    getDirectories: (folder) =>
      (gate.mayList(folder) ? (tryTo(() => fs.readdirSync(folder)) ?? []) : []).filter(
        (childName) => isFolder(path.join(folder, childName)),
      ),
    readFile: (filePath) => textIf(gate.mayLookUp, filePath),
    realpath: askOnce((filePath) =>
      texts.has(filePath) ? filePath : (tryTo(() => fs.realpathSync(filePath)) ?? filePath),
    ),
    getSourceFile(filePath, version) {
      const sourceText = textIf(gate.mayRead, filePath);
      return sourceText === undefined ? undefined : parseFile(filePath, sourceText, version);
    },
    getDefaultLibFileName: () => `${LIB_FOLDER}lib.esnext.d.ts`,
    getDefaultLibLocation: () => LIB_FOLDER,
    getCurrentDirectory: () => path.dirname(rootFiles[0]!),
    getCanonicalFileName: (filePath) => filePath,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => "\n",
    writeFile: () => {},
  };
}

interface Resolution extends ts.ResolvedModuleWithFailedLookupLocations {
  failedLookupLocations?: string[];
}
interface Resolving {
  host: ts.CompilerHost;
  options: ts.CompilerOptions;
  node: string | undefined;
  gate: CompilerGate;
}

/** Where imports lead, and which of them are unread or misnamed. */
function resolveImports(mainFile: string, { host, options, node, gate }: Resolving) {
  const zzFolder = packageFolder();
  // where npm has put them
  const librariesFolder = node
    ? path.dirname(path.dirname(node))
    : path.join(zzFolder, "node_modules");
  const moduleCache = ts.createModuleResolutionCache(
    path.dirname(mainFile),
    (filePath) => filePath,
    options,
  );
  const [unread, misnamed] = [new Set<string>(), new Map<ts.StringLiteralLike, string>()];
  return { unread, misnamed, resolve };

  function resolve(literal: ts.StringLiteralLike, importer: string): Resolution {
    const specifier = literal.text;
    // in Node's types
    if (isBuiltin(specifier))
      return { resolvedModule: undefined, failedLookupLocations: [] } as any;
    const isLibrary = isInside(librariesFolder, importer) && DECLARATION.test(importer);
    const knownLead = isLibrary ? IMPORT_LEADS.get(`${importer}\n${specifier}`) : undefined;
    const leadFile = knownLead?.resolvedModule?.resolvedFileName;
    if (leadFile && host.fileExists(leadFile)) return knownLead!;
    const isProvided = PROVIDED.test(specifier) && !importer.includes("/node_modules/");
    const resolution: Resolution = ts.resolveModuleName(
      specifier,
      isProvided ? path.join(zzFolder, "zz.ts") : importer,
      options,
      host,
      moduleCache,
    );
    if (isLibrary) IMPORT_LEADS.set(`${importer}\n${specifier}`, resolution);
    const zzSource = ownValue(SOURCES, specifier);
    const resolvedFile = resolution.resolvedModule?.resolvedFileName;
    const isOwnImport =
      /^\.\.?(\/|$)/.test(specifier) && !/\/node_modules\/|\.d\.[cm]?ts$/.test(importer);
    if (
      resolvedFile &&
      isOwnImport &&
      !host.fileExists(path.resolve(path.dirname(importer), specifier))
    )
      misnamed.set(literal, resolvedFile);
    if (!resolvedFile && leadsOut(specifier, resolution, gate))
      unread.add(`${importer}\n${specifier}`);
    if (!isProvided || !zzSource || resolvedFile?.endsWith(".d.ts")) return resolution;
    const resolvedFileName = path.join(zzFolder, zzSource); // if zz was not built
    return {
      ...resolution,
      resolvedModule: {
        resolvedFileName,
        extension: ts.Extension.Ts,
        isExternalLibraryImport: false,
      },
    };
  }
}

/** Whether an import may lead to what may not be looked up; the gate keeps where. */
function leadsOut(specifier: string, resolution: Resolution, gate: CompilerGate): boolean {
  const { failedLookupLocations = [] } = resolution;
  const hiddenPaths = failedLookupLocations.filter(
    (triedPath) =>
      !/\/package\.json$|\/node_modules\//.test(triedPath) && !gate.mayLookUp(triedPath),
  );
  for (const triedPath of hiddenPaths) gate.leadsOut(specifier, triedPath);
  return hiddenPaths.length > 0;
}

/** Asks once for each text: during one check the disk counts as unchanged. */
function askOnce<T>(computeAnswer: (cacheKey: string) => T): (cacheKey: string) => T {
  const answers = new Map<string, T>();
  return (cacheKey) => {
    if (!answers.has(cacheKey)) answers.set(cacheKey, computeAnswer(cacheKey));
    return answers.get(cacheKey)!;
  };
}

function parseFile(
  filePath: string,
  sourceText: string,
  version: ts.ScriptTarget | ts.CreateSourceFileOptions,
): ts.SourceFile {
  const isDeclaration = DECLARATION.test(filePath);
  const cachedFile = DECLARATIONS.get(filePath);
  if (cachedFile?.text === sourceText) return cachedFile;
  const { ParseAll, ParseNone } = ts.JSDocParsingMode;
  const jsDocParsingMode = isDeclaration ? ParseNone : ParseAll; // a fifth of the time to parse
  const parseOptions = {
    ...(typeof version === "object" ? version : { languageVersion: version }),
    jsDocParsingMode,
  };
  const sourceFile = ts.createSourceFile(filePath, sourceText, parseOptions);
  if (isDeclaration) DECLARATIONS.set(filePath, sourceFile);
  return sourceFile;
}

function optionsFor(nodeTypes: string | undefined): ts.CompilerOptions {
  return {
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.Preserve,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ["lib.esnext.d.ts", nodeTypes ? "lib.dom.iterable.d.ts" : "lib.dom.d.ts"],
    strict: true,
    noImplicitAny: Boolean(nodeTypes), // what Node calls back with is known by its types alone
    noFallthroughCasesInSwitch: true,
    verbatimModuleSyntax: true,
    allowImportingTsExtensions: true,
    allowJs: true,
    resolveJsonModule: true,
    jsx: ts.JsxEmit.Preserve,
    skipLibCheck: true,
    noEmit: true,
    types: nodeTypes ? [nodeTypes] : [],
  };
}

/** The gate for programs that are entirely the person's own. */
const OPEN_GATE: CompilerGate = {
  mayRead: () => true,
  mayLookUp: () => true,
  mayList: () => true,
  leadsOut: () => {},
  unread: () => [],
  again: () => {},
};

/** The plugin's own files: not the packages it imports, not zz. */
export function ownFiles({ program }: Opened): ts.SourceFile[] {
  const zzFiles = contractFiles();
  return program
    .getSourceFiles()
    .filter(
      ({ fileName, isDeclarationFile }) =>
        !isDeclarationFile &&
        !fileName.includes("/node_modules/") &&
        !isInsideAny(zzFiles, fileName),
    );
}

/** A compiler's message, with all its parts on one line. */
export function messageOf(message: string | ts.DiagnosticMessageChain): string {
  return ts
    .flattenDiagnosticMessageText(message, "\n")
    .split("\n")
    .map((messageLine) => messageLine.trim())
    .join(" ");
}
