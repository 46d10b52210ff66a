// The compiler, for code with types.
import { ts } from "ts-morph";

const TARGET = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };

/** The same code without its types. */
export const withoutTypes = (code: string): string =>
  ts.transpile(code, TARGET).replace('"use strict";', "").trim();
