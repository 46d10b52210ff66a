// Runs the parser. Whatever the text is, this does not throw.

import type { ts } from "ts-morph";
import type { Facts } from "./facts.ts";
import { lineAt } from "./lines.ts";
import { createSourceFile, PARSE_OPTIONS } from "./parser.ts";

export type Parsed = ts.SourceFile & {
  parseDiagnostics: ts.DiagnosticWithLocation[];
  externalModuleIndicator?: unknown;
};

/** The parser calls itself for what is within; where that goes deeper than the stack, there is no tree. */
export function parse<T>(facts: Facts, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    noteFailure(facts, error);
    createSourceFile("", "", PARSE_OPTIONS); // until the next file's end, the parser takes this one's arrow functions for it
    return undefined;
  }
}
/** One file that cannot be read is not to keep the others from it. */
export function noteFailure(facts: Facts, error: unknown): void {
  facts.parseError = error instanceof RangeError ? "nested too deep" : `cannot be parsed: ${error}`.split("\n")[0]!;
}
export function noteError(facts: Facts, source: ts.SourceFile | undefined, starts: number[]): void {
  const wrong = (source as Parsed | undefined)?.parseDiagnostics[0];
  if (wrong) facts.parseError ??= `line ${lineAt(starts, wrong.start)}: ${wrong.messageText}`;
}
