// A TypeScript program for a plugin's files. `zz`, `zod` and `typebox` are zz's own, wherever the
// files are, as when zz loads them. Slow to load.

import fs from "node:fs";
import { isBuiltin } from "node:module";
import path from "node:path";
import { getLibFiles } from "@ts-morph/common";
import { ts } from "ts-morph";
import type { CompilerGate } from "zz";
import { tryTo } from "zz/text";
import { contractFiles, packageAt, packageFolder } from "./locate-zz.ts";

export { ts };

const LIB = "/zz-typescript-lib/";
const PROVIDED = /^(zod|typebox|zz)(\/|$)/; // as in kernel/plugins/load-plugins.ts
const NODE = `declare module "node:*";
declare var process: any;
declare var Buffer: any;
declare var global: any;
interface ImportMeta { dirname: string; filename: string; url: string; resolve(specifier: string): string; main: boolean }
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
const LEADS = new Map<string, ts.ResolvedModuleWithFailedLookupLocations>();

export interface Opened {
  program: ts.Program;
  checker: ts.TypeChecker;
  knowsNode: boolean; // Node's types are available
  unread: Set<string>; // imports of what may not be read, as "file\nname"
  // imports that only TypeScript finds, as "file\nname": the file meant
  misnamed: Map<string, string>;
}

const fromDisk = (file: string): string | undefined => tryTo(() => fs.readFileSync(file, "utf8"));

/**
 * `texts` has the contents of files that are not on the disk (yet). Without a gate everything is
 * read: it is the person's own code.
 */
export function openProgram(
  files: string[],
  texts: ReadonlyMap<string, string> = new Map(),
  gate: CompilerGate = OPEN_GATE,
): Opened {
  const node = packageAt("@types/node");
  const options = optionsFor(node);
  const libs = new Map(getLibFiles().map(({ fileName, text }) => [LIB + fileName, text]));
  if (!node) libs.set(NODE_FILE, NODE);
  const host = createHost(files, { texts, libs, gate });
  const resolver = resolveImports(files[0]!, { host, options, node, gate });
  host.resolveModuleNameLiterals = (names, from) =>
    names.map(({ text }) => resolver.resolve(text, from));
  const program = ts.createProgram({
    rootNames: [...(node ? [] : [NODE_FILE]), ...files],
    options,
    host,
  });
  const { unread, misnamed } = resolver;
  return { program, checker: program.getTypeChecker(), knowsNode: Boolean(node), unread, misnamed };
}

interface Readable {
  texts: ReadonlyMap<string, string>;
  libs: ReadonlyMap<string, string>;
  gate: CompilerGate;
}

/** The files as the compiler may see them. */
function createHost(files: string[], { texts, libs, gate }: Readable): ts.CompilerHost {
  const folders = new Set([...texts.keys()].map((file) => path.dirname(file)));
  const providedText = (file: string) => texts.get(file) ?? libs.get(file);
  const textAt = (file: string) =>
    providedText(file) ?? (isThere(file) && gate.mayRead(file) ? fromDisk(file) : undefined);
  const cachedStat = once(statOf);
  const isThere = (file: string) => cachedStat(file)?.isFile() === true;
  const isFolder = (folder: string) => cachedStat(folder)?.isDirectory() === true;
  const namedFiles = [...files, ...contractFiles()];
  const isAbove = (folder: string) =>
    namedFiles.some((file) => file.startsWith(`${folder.replace(/\/$/, "")}/`));
  return {
    fileExists: (file) =>
      providedText(file) !== undefined || (isThere(file) && gate.mayLookUp(file)),
    directoryExists: once(
      (folder) =>
        folders.has(folder) || (isFolder(folder) && (isAbove(folder) || gate.mayList(folder))),
    ),
    getDirectories: (folder) =>
      (gate.mayList(folder) ? (tryTo(() => fs.readdirSync(folder)) ?? []) : []).filter((name) =>
        isFolder(path.join(folder, name)),
      ),
    readFile: (file) =>
      providedText(file) ?? (isThere(file) && gate.mayLookUp(file) ? fromDisk(file) : undefined),
    realpath: once((file) =>
      texts.has(file) ? file : (tryTo(() => fs.realpathSync(file)) ?? file),
    ),
    getSourceFile(file, version) {
      const text = textAt(file);
      return text === undefined ? undefined : parsed(file, text, version);
    },
    getDefaultLibFileName: () => `${LIB}lib.esnext.d.ts`,
    getDefaultLibLocation: () => LIB,
    getCurrentDirectory: () => path.dirname(files[0]!),
    getCanonicalFileName: (file) => file,
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
function resolveImports(main: string, { host, options, node, gate }: Resolving) {
  const zzFolder = packageFolder();
  // where npm has put them
  const libraries = `${node ? path.dirname(path.dirname(node)) : path.join(zzFolder, "node_modules")}/`;
  const cache = ts.createModuleResolutionCache(path.dirname(main), (file) => file, options);
  const [unread, misnamed] = [new Set<string>(), new Map<string, string>()];
  return { unread, misnamed, resolve };

  function resolve(name: string, from: string): Resolution {
    // in Node's types
    if (isBuiltin(name)) return { resolvedModule: undefined, failedLookupLocations: [] } as any;
    const isLibrary = from.startsWith(libraries) && DECLARATION.test(from);
    const lead = isLibrary ? LEADS.get(`${from}\n${name}`) : undefined;
    const leadFile = lead?.resolvedModule?.resolvedFileName;
    if (leadFile && host.fileExists(leadFile)) return lead!;
    const isProvided = PROVIDED.test(name) && !from.includes("/node_modules/");
    const resolution: Resolution = ts.resolveModuleName(
      name,
      isProvided ? path.join(zzFolder, "zz.ts") : from,
      options,
      host,
      cache,
    );
    if (isLibrary) LEADS.set(`${from}\n${name}`, resolution);
    const source = SOURCES[name];
    const file = resolution.resolvedModule?.resolvedFileName;
    const isNear = /^\.\.?(\/|$)/.test(name) && !/\/node_modules\/|\.d\.[cm]?ts$/.test(from);
    if (file && isNear && !host.fileExists(path.resolve(path.dirname(from), name)))
      misnamed.set(`${from}\n${name}`, file);
    if (!file && leadsOut(name, resolution, gate)) unread.add(`${from}\n${name}`);
    if (!isProvided || !source || file?.endsWith(".d.ts")) return resolution;
    const resolvedFileName = path.join(zzFolder, source); // if zz was not built
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
function leadsOut(name: string, resolution: Resolution, gate: CompilerGate): boolean {
  const { failedLookupLocations = [] } = resolution;
  const hidden = failedLookupLocations.filter(
    (tried) => !/\/package\.json$|\/node_modules\//.test(tried) && !gate.mayLookUp(tried),
  );
  for (const tried of hidden) gate.leadsOut(name, tried);
  return hidden.length > 0;
}

/** Asks once for each text: during one check the disk counts as unchanged. */
function once<T>(ask: (text: string) => T): (text: string) => T {
  const answers = new Map<string, T>();
  return (text) => {
    if (!answers.has(text)) answers.set(text, ask(text));
    return answers.get(text)!;
  };
}

function parsed(
  file: string,
  text: string,
  version: ts.ScriptTarget | ts.CreateSourceFileOptions,
): ts.SourceFile {
  const isDeclaration = DECLARATION.test(file);
  const cached = isDeclaration ? DECLARATIONS.get(file) : undefined;
  if (cached?.text === text) return cached;
  const { ParseAll, ParseNone } = ts.JSDocParsingMode;
  const jsDocParsingMode = isDeclaration ? ParseNone : ParseAll; // a fifth of the time to parse
  const parseOptions = {
    ...(typeof version === "object" ? version : { languageVersion: version }),
    jsDocParsingMode,
  };
  const source = ts.createSourceFile(file, text, parseOptions);
  if (isDeclaration) DECLARATIONS.set(file, source);
  return source;
}

function optionsFor(node: string | undefined): ts.CompilerOptions {
  return {
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.Preserve,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ["lib.esnext.d.ts", node ? "lib.dom.iterable.d.ts" : "lib.dom.d.ts"],
    strict: true,
    noImplicitAny: Boolean(node), // what Node calls back with is known by its types alone
    noFallthroughCasesInSwitch: true,
    verbatimModuleSyntax: true,
    allowImportingTsExtensions: true,
    allowJs: true,
    resolveJsonModule: true,
    jsx: ts.JsxEmit.Preserve,
    skipLibCheck: true,
    noEmit: true,
    types: node ? [node] : [],
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
  const folder = packageFolder();
  const zz = [
    path.join(folder, "zz.ts"),
    `${path.join(folder, "kernel")}/`,
    `${path.join(folder, "sdk")}/`,
    `${path.join(folder, "dist")}/`,
  ];
  return program
    .getSourceFiles()
    .filter(({ isDeclarationFile }) => !isDeclarationFile)
    .filter(
      ({ fileName }) =>
        !fileName.includes("/node_modules/") && !zz.some((prefix) => fileName.startsWith(prefix)),
    );
}

/** A compiler's message, with all its parts on one line. */
export function messageOf(message: string | ts.DiagnosticMessageChain): string {
  return ts
    .flattenDiagnosticMessageText(message, "\n")
    .split("\n")
    .map((line) => line.trim())
    .join(" ");
}

const statOf = (file: string) => tryTo(() => fs.statSync(file, { throwIfNoEntry: false }));
