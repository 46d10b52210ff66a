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
  globalThis as unknown as { WebAssembly: { Module: new (bytes: Uint8Array) => any } }
).WebAssembly;

let library: typeof import("web-tree-sitter") | undefined;
let starting: Promise<void> | undefined;
let failure = ""; // why there is no parser at all
const grammars = new Map<string, Grammar | string>(); // a text: why there is none

/** Before files of these names are read: what runs the grammars cannot be loaded on the way. */
export async function prepare(names: readonly string[]): Promise<void> {
  if (names.some((name) => languageOf(name)?.grammar)) await (starting ??= start());
}

async function start(): Promise<void> {
  try {
    const loaded = await import("web-tree-sitter");
    await loaded.Parser.init({
      wasmBinary: bytesOf("web-tree-sitter.wasm", "web-tree-sitter/web-tree-sitter.wasm"),
    });
    library = loaded;
  } catch (error) {
    failure = reasonOf(error);
  }
}

/** A text says why there is none. */
export function grammarOf(
  { name, grammar, query }: Language,
  which: string = grammar!,
): Grammar | string {
  let loaded = grammars.get(which);
  if (loaded === undefined) grammars.set(which, (loaded = load(which as Name, query!)));
  return typeof loaded === "string" ? `the grammar of ${name} cannot be loaded: ${loaded}` : loaded;
}

function load(name: Name, query: string): Grammar | string {
  if (!library) return failure || "it was not prepared";
  try {
    const language = library.Language.loadSync(
      new Module(bytesOf(`grammars/${name}.wasm.br`, paths[name])),
    );
    return {
      parser: new library.Parser().setLanguage(language),
      query: new library.Query(language, query),
    };
  } catch (error) {
    return reasonOf(error);
  }
}

// of one file: a tree of what is none of its language can take very long to search
export const MAX_PARSE_S = 4;

/**
 * Tells when it is too late, in the work that this process did: another one's may take all of the
 * machine.
 */
export function deadline(seconds = MAX_PARSE_S): () => boolean {
  const before = process.cpuUsage();
  let [isLate, next] = [false, 0];
  return () => {
    // asking each time would take an eighth of the time
    if (isLate || performance.now() < next) return isLate;
    next = performance.now() + LOOK_MS;
    const { user, system } = process.cpuUsage(before);
    return (isLate = user + system > seconds * 1e6);
  };
}
const LOOK_MS = 10;

/** After a parser has failed, another one takes its place. */
export function renew(grammar: Grammar): void {
  const { language } = grammar.parser;
  grammar.parser = new library!.Parser().setLanguage(language);
}

/** Beside the bundle where zz is built, compressed; in node_modules where it runs from source. */
function bytesOf(built: string, from: string): Uint8Array {
  const places = ["./", "../"].map((up) => new URL(up + built, import.meta.url));
  const existing = places.find((file) => fs.existsSync(file));
  const bytes = fs.readFileSync(existing ?? module.createRequire(import.meta.url).resolve(from));
  return existing && built.endsWith(".br") ? zlib.brotliDecompressSync(bytes) : bytes;
}

const reasonOf = (error: unknown): string =>
  String((error as Error)?.message ?? error)
    .split("\n")[0]!
    .slice(0, 200);
