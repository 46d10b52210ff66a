// Bash's grammar for tree-sitter, loaded once.
import fs from "node:fs";
import module from "node:module";
import v8 from "node:v8";
import type { Parser } from "web-tree-sitter";

/** Next to the bundle when zz is built, in node_modules when it runs from source. */
function readWasm(moduleName: string): Uint8Array {
  const builtFiles = ["./", "../"].map(
    (parentPath) => new URL(`${parentPath}${moduleName}.wasm`, import.meta.url),
  );
  const builtFile = builtFiles.find((candidate) => fs.existsSync(candidate));
  return fs.readFileSync(
    builtFile ?? module.createRequire(import.meta.url).resolve(`${moduleName}/${moduleName}.wasm`),
  );
}

function loadOnce<T>(loadValue: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => (loaded ??= loadValue());
}

/**
 * After some ten lines V8 would compile the grammar's lexer once more, by its optimizer: that takes
 * 500 MB for a moment and more time than it saves. Both must stay off, not only while it loads.
 */
const UNOPTIMIZED = ["--no-wasm-dynamic-tiering", "--no-wasm-tier-up"];

const loadGrammar = loadOnce(async () => {
  for (const flag of UNOPTIMIZED) v8.setFlagsFromString(flag);
  const { Language, Parser } = await import("web-tree-sitter");
  await Parser.init({ wasmBinary: readWasm("web-tree-sitter") });
  const bash = await Language.load(readWasm("tree-sitter-bash"));
  return { bash, Parser };
});

export async function makeParser(): Promise<Parser> {
  const { bash, Parser } = await loadGrammar();
  return new Parser().setLanguage(bash);
}
