// Runs the parser. Does not throw, whatever the text is.

import type { ts } from "ts-morph";
import type { Facts } from "./facts.ts";
import { lineAt } from "./line-numbers.ts";
import { createSourceFile, PARSE_OPTIONS } from "./parser.ts";

/**
 * The parser is recursive; if the code is nested deeper than the stack allows, there is no tree.
 */
export function parse<T>(facts: Facts, readTree: () => T): T | undefined {
  try {
    return readTree();
  } catch (thrownError) {
    noteFailure(facts, thrownError);
    // otherwise the parser confuses its arrow functions with those of the next file
    createSourceFile("", "", PARSE_OPTIONS);
    return undefined;
  }
}
/** One unreadable file must not affect the others. */
export function noteFailure(facts: Facts, thrownError: unknown): void {
  facts.parseError =
    thrownError instanceof RangeError
      ? "nested too deep"
      : `cannot be parsed: ${thrownError}`.split("\n")[0]!;
}
export function noteError(
  facts: Facts,
  sourceFile: ts.SourceFile | undefined,
  lineOffsets: number[],
): void {
  const [diagnostic] =
    (sourceFile as { parseDiagnostics?: ts.DiagnosticWithLocation[] } | undefined)
      ?.parseDiagnostics ?? [];
  if (diagnostic)
    facts.parseError ??= `line ${lineAt(lineOffsets, diagnostic.start)}: ${diagnostic.messageText}`;
}
