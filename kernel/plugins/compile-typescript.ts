// Compiles, while they load, TypeScript files that Node cannot run by erasing types: enums, JSX,
// decorators.
import fs from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";
import { ts } from "ts-morph";

const COMPILED = /\.([cm]?ts|tsx|jsx)$/;
const COMMON = /\.cts$/; // CommonJS
const INSTALLED = Symbol.for("zz.compiler"); // hooks stay for the whole process

/** Compiles the files that `wants` accepts, from now on. A syntax error names its file and line. */
export function installCompiler(wants: (url: string) => boolean): void {
  if (Object.hasOwn(globalThis, INSTALLED)) return;
  Object.defineProperty(globalThis, INSTALLED, { value: true });
  process.setSourceMapsEnabled(true);
  module.registerHooks({
    load(url, context, next) {
      const file = wants(url) ? fileURLToPath(url) : "";
      if (!COMPILED.test(file)) return next(url, context);
      return {
        format: COMMON.test(file) ? "commonjs" : "module",
        source: compile(file),
        shortCircuit: true,
      };
    },
  });
}

function compile(fileName: string): string {
  const text = fs.readFileSync(fileName, "utf8");
  const { CommonJS, ESNext } = ts.ModuleKind;
  const compilerOptions = {
    module: COMMON.test(fileName) ? CommonJS : ESNext,
    target: ts.ScriptTarget.ES2022,
    jsx: ts.JsxEmit.ReactJSX,
    inlineSourceMap: true,
    inlineSources: true,
  };
  const { outputText, diagnostics = [] } = ts.transpileModule(text, {
    fileName,
    reportDiagnostics: true,
    compilerOptions,
  });
  const [wrong] = diagnostics;
  if (!wrong) return outputText;
  const { line } = ts.getLineAndCharacterOfPosition(wrong.file!, wrong.start ?? 0);
  throw new SyntaxError(
    `${ts.flattenDiagnosticMessageText(wrong.messageText, " ")} (${fileName}:${line + 1})`,
  );
}
