// TypeScript, and some functions that it does not publish.
import { ts } from "ts-morph";

export const K = ts.SyntaxKind;
export const JSDOC = { all: ts.JSDocParsingMode.ParseAll, none: ts.JSDocParsingMode.ParseNone };

/** Missing from the types, though TypeScript's own tools use them. */
export const internals = ts as unknown as {
  getNameTable(source: ts.SourceFile): Map<ts.__String, number>;
  getTouchingPropertyName(source: ts.SourceFile, at: number): ts.Node;
  isPartOfTypeNode(node: ts.Node): boolean;
  isInJSDoc(node: ts.Node): boolean;
  isIdentifierText(text: string, target: ts.ScriptTarget): boolean;
  isStringANonContextualKeyword(text: string): boolean;
  unescapeLeadingUnderscores(text: ts.__String): string;
  getEmitDeclarations(options: ts.CompilerOptions): boolean;
  getEmitModuleResolutionKind(options: ts.CompilerOptions): ts.ModuleResolutionKind;
  getEmitScriptTarget(options: ts.CompilerOptions): ts.ScriptTarget;
  getSetExternalModuleIndicator(options: ts.CompilerOptions): (source: ts.SourceFile) => void;
  matchFiles(
    ...args: [
      ...[folder: string, extensions?: readonly string[], excludes?: readonly string[], includes?: readonly string[]],
      ...[isCase: boolean, current: string, depth: number | undefined],
      ...[entries: (path: string) => Record<"files" | "directories", string[]>, realpath: (path: string) => string],
    ]
  ): string[];
  getImpliedNodeFormatForFileWorker(file: string, cache: unknown, host: unknown, options: ts.CompilerOptions): unknown;
};
