// Compiles, while they load, TypeScript files that Node cannot run by erasing types: enums, JSX,
// decorators.
import fs from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";
import { ts } from "ts-morph";

const COMPILED = /\.([cm]?ts|tsx|jsx)$/;
const COMMON_JS = /\.cts$/; // CommonJS
const INSTALLED = Symbol.for("zz.compiler"); // hooks stay for the whole process

/** Compiles the files that `wants` accepts, from now on. A syntax error names its file and line. */
export function installCompiler(wants: (fileUrl: string) => boolean): void {
  if (Object.hasOwn(globalThis, INSTALLED)) return;
  Object.defineProperty(globalThis, INSTALLED, { value: true });
  process.setSourceMapsEnabled(true);
  module.registerHooks({
    load(fileUrl, context, nextLoad) {
      const filePath = wants(fileUrl) ? fileURLToPath(fileUrl) : "";
      if (!COMPILED.test(filePath)) return nextLoad(fileUrl, context);
      return {
        format: COMMON_JS.test(filePath) ? "commonjs" : "module",
        source: compile(filePath),
        shortCircuit: true,
      };
    },
  });
}

function compile(fileName: string): string {
  const sourceText = fs.readFileSync(fileName, "utf8");
  const { CommonJS, ESNext } = ts.ModuleKind;
  const compilerOptions = {
    module: COMMON_JS.test(fileName) ? CommonJS : ESNext,
    target: ts.ScriptTarget.ES2022,
    jsx: ts.JsxEmit.ReactJSX,
    inlineSourceMap: true,
    inlineSources: true,
  };
  const { outputText, diagnostics = [] } = ts.transpileModule(sourceText, {
    fileName,
    reportDiagnostics: true,
    compilerOptions,
  });
  const [firstProblem] = diagnostics;
  if (!firstProblem) return outputText;
  const { line } = ts.getLineAndCharacterOfPosition(firstProblem.file!, firstProblem.start ?? 0);
  throw new SyntaxError(
    `${ts.flattenDiagnosticMessageText(firstProblem.messageText, " ")} (${fileName}:${line + 1})`,
  );
}
