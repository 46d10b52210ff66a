// The grammars of other languages: each is loaded when the first file of its language is read, and
// not before.
import fs from "node:fs";
import module from "node:module";
import zlib from "node:zlib";
import type { Parser, Query } from "web-tree-sitter";
import paths from "./grammars.json" with { type: "json" };
import { type Language, languageOf } from "./table.ts";

export type Grammar = { parser: Parser; query: Query };
type Name = keyof typeof paths;

/** Missing from the types of Node. */
const { Module } = (
  globalThis as unknown as { WebAssembly: { Module: new (wasmBytes: Uint8Array) => any } }
).WebAssembly;

let library: typeof import("web-tree-sitter") | undefined;
let starting: Promise<void> | undefined;
let failure = ""; // why there is no parser at all
const grammars = new Map<string, Grammar | string>(); // a text: why there is none

/** Before files of these names are read: what runs the grammars cannot be loaded on the way. */
export async function prepare(fileNames: readonly string[]): Promise<void> {
  if (fileNames.some((fileName) => languageOf(fileName)?.grammar))
    await (starting ??= startLibrary());
}

async function startLibrary(): Promise<void> {
  try {
    const loadedLibrary = await import("web-tree-sitter");
    await loadedLibrary.Parser.init({
      wasmBinary: bytesOf("web-tree-sitter.wasm", "web-tree-sitter/web-tree-sitter.wasm"),
    });
    library = loadedLibrary;
  } catch (loadError) {
    failure = reasonOf(loadError);
  }
}

/** A text says why there is none. */
export function grammarOf(
  { name, grammar, query }: Language,
  grammarName: string = grammar!,
): Grammar | string {
  let loadedGrammar = grammars.get(grammarName);
  if (loadedGrammar === undefined) {
    loadedGrammar = loadGrammar(grammarName as Name, query!);
    grammars.set(grammarName, loadedGrammar);
  }
  return typeof loadedGrammar === "string"
    ? `the grammar of ${name} cannot be loaded: ${loadedGrammar}`
    : loadedGrammar;
}

function loadGrammar(grammarName: Name, queryText: string): Grammar | string {
  if (!library) return failure || "it was not prepared";
  try {
    const language = library.Language.loadSync(
      new Module(bytesOf(`grammars/${grammarName}.wasm.br`, paths[grammarName])),
    );
    return {
      parser: new library.Parser().setLanguage(language),
      query: new library.Query(language, queryText),
    };
  } catch (loadError) {
    return reasonOf(loadError);
  }
}

// for one file: text that is not of its language can give a tree that takes very long to search
export const MAX_PARSE_S = 4;

/** After a parser has failed, another one takes its place. */
export function renew(grammar: Grammar): void {
  const { language } = grammar.parser;
  grammar.parser = new library!.Parser().setLanguage(language);
}

/** Beside the bundle where zz is built, compressed; in node_modules where it runs from source. */
function bytesOf(builtName: string, packagePath: string): Uint8Array {
  const builtUrls = ["./", "../"].map(
    (folderPrefix) => new URL(folderPrefix + builtName, import.meta.url),
  );
  const existing = builtUrls.find((builtUrl) => fs.existsSync(builtUrl));
  const fileBytes = fs.readFileSync(
    existing ?? module.createRequire(import.meta.url).resolve(packagePath),
  );
  return existing && builtName.endsWith(".br") ? zlib.brotliDecompressSync(fileBytes) : fileBytes;
}

const reasonOf = (loadError: unknown) =>
  String((loadError as Error)?.message ?? loadError)
    .split("\n")[0]!
    .slice(0, 200);
