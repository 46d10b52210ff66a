// Bash's grammar for tree-sitter, loaded once.
import fs from "node:fs";
import module from "node:module";
import type { Parser } from "web-tree-sitter";

/** Next to the bundle when zz is built, in node_modules when it runs from source. */
function readWasm(name: string): Uint8Array {
  const built = ["./", "../"].map((up) => new URL(`${up}${name}.wasm`, import.meta.url));
  const builtFile = built.find((file) => fs.existsSync(file));
  return fs.readFileSync(
    builtFile ?? module.createRequire(import.meta.url).resolve(`${name}/${name}.wasm`),
  );
}

function loadOnce<T>(make: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => (loaded ??= make());
}

const loadGrammar = loadOnce(async () => {
  const { Language, Parser } = await import("web-tree-sitter");
  await Parser.init({ wasmBinary: readWasm("web-tree-sitter") });
  const bash = await Language.load(readWasm("tree-sitter-bash"));
  return { bash, Parser };
});

export async function makeParser(): Promise<Parser> {
  const { bash, Parser } = await loadGrammar();
  return new Parser().setLanguage(bash);
}
