// The compiler, for code with types.
import { ts } from "ts-morph";

const COMPILER_OPTIONS = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };

/** The same code without its types. */
export const withoutTypes = (typedCode: string): string =>
  ts.transpile(typedCode, COMPILER_OPTIONS).replace('"use strict";', "").trim();
