// A program of TypeScript's over a plugin's files: `zz`, `zod` and `typebox` are zz's own wherever the files lie, as they
// are when zz loads them. Slow to load.
import fs from "node:fs";
import path from "node:path";
import { getLibFiles } from "@ts-morph/common";
import { ts } from "ts-morph";
import { packageAt, packageFolder } from "./where.ts";

export { ts };

const LIB = "/zz-typescript-lib/";
const LENT = /^(zod|typebox|zz)(\/|$)/; // as in kernel/loader.ts
const NODE = `declare module "node:*";
declare var process: any;
declare var Buffer: any;
declare var global: any;
interface ImportMeta { dirname: string; filename: string; url: string; resolve(specifier: string): string; main: boolean }
`;
const SOURCES: Record<string, string> = { zz: "zz.ts", "zz/test": "kernel/test.ts" };
const NODE_FILE = "/zz-node.d.ts";

export interface Opened {
  program: ts.Program;
  checker: ts.TypeChecker;
  knowsNode: boolean; // the types of Node are there
}

/** `texts`: what files hold that are not, or not yet, on the disk. */
export function openProgram(files: string[], texts: ReadonlyMap<string, string> = new Map()): Opened {
  const own = packageFolder();
  const node = packageAt("@types/node");
  const libs = new Map(getLibFiles().map(({ fileName, text }) => [LIB + fileName, text]));
  if (!node) libs.set(NODE_FILE, NODE);
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.Preserve,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ["lib.esnext.d.ts", node ? "lib.dom.iterable.d.ts" : "lib.dom.d.ts"],
    strict: true,
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
  const folders = new Set([...texts.keys()].map((file) => path.dirname(file)));
  const textAt = (file: string) => texts.get(file) ?? libs.get(file) ?? tryTo(() => fs.readFileSync(file, "utf8"));
  const host: ts.CompilerHost = {
    fileExists: (file) => texts.has(file) || libs.has(file) || Boolean(statOf(file)?.isFile()),
    directoryExists: (folder) => folders.has(folder) || Boolean(statOf(folder)?.isDirectory()),
    getDirectories: (folder) =>
      (tryTo(() => fs.readdirSync(folder)) ?? []).filter((name) => statOf(path.join(folder, name))?.isDirectory()),
    readFile: textAt,
    realpath: (file) => (texts.has(file) ? file : (tryTo(() => fs.realpathSync(file)) ?? file)),
    getSourceFile(file, version) {
      const text = textAt(file);
      const { ParseAll, ParseNone } = ts.JSDocParsingMode;
      const jsDocParsingMode = file.endsWith(".d.ts") ? ParseNone : ParseAll; // a fifth of the time to parse
      const how = { ...(typeof version === "object" ? version : { languageVersion: version }), jsDocParsingMode };
      return text === undefined ? undefined : ts.createSourceFile(file, text, how);
    },
    getDefaultLibFileName: () => `${LIB}lib.esnext.d.ts`,
    getDefaultLibLocation: () => LIB,
    getCurrentDirectory: () => path.dirname(files[0]!),
    getCanonicalFileName: (file) => file,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => "\n",
    writeFile: () => {},
    resolveModuleNameLiterals: (names, from) => names.map(({ text }) => resolve(text, from)),
  };
  const cache = ts.createModuleResolutionCache(path.dirname(files[0]!), (file) => file, options);
  const program = ts.createProgram({ rootNames: [...(node ? [] : [NODE_FILE]), ...files], options, host });
  return { program, checker: program.getTypeChecker(), knowsNode: Boolean(node) };

  function resolve(name: string, from: string): ts.ResolvedModuleWithFailedLookupLocations {
    const isLent = LENT.test(name) && !from.includes("/node_modules/");
    const found = ts.resolveModuleName(name, isLent ? path.join(own, "zz.ts") : from, options, host, cache);
    const source = SOURCES[name];
    if (!isLent || !source || found.resolvedModule?.resolvedFileName.endsWith(".d.ts")) return found;
    const resolvedFileName = path.join(own, source); // a checkout that was not built
    return {
      ...found,
      resolvedModule: { resolvedFileName, extension: ts.Extension.Ts, isExternalLibraryImport: false },
    };
  }
}

/** Of the plugin itself: not the packages that it imports, not zz. */
export function ownFiles({ program }: Opened): ts.SourceFile[] {
  const folder = packageFolder();
  const zz = [path.join(folder, "zz.ts"), `${path.join(folder, "kernel")}/`, `${path.join(folder, "dist")}/`];
  return program
    .getSourceFiles()
    .filter(({ isDeclarationFile }) => !isDeclarationFile)
    .filter(({ fileName }) => !fileName.includes("/node_modules/") && !zz.some((one) => fileName.startsWith(one)));
}

/** A compiler's message, with all its parts in one line. */
export function said(message: string | ts.DiagnosticMessageChain): string {
  return ts
    .flattenDiagnosticMessageText(message, "\n")
    .split("\n")
    .map((line) => line.trim())
    .join(" ");
}

const statOf = (file: string) => tryTo(() => fs.statSync(file, { throwIfNoEntry: false }));

function tryTo<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
