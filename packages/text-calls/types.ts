// The types of readers: one reader for each grammar.
import type { ChatRequest } from "zz";
import type { Work } from "./json.ts";

export const MAX_CALLS_PER_MARK = 1_000; // that one mark begins

// foreign: under another program's name
export type Tool = ChatRequest["tools"][number] & { foreign?: true };

/** A call from a text, before its name and arguments are checked. */
export interface Raw {
  name: string;
  args: Record<string, unknown>;
  id?: string | undefined;
  raw?: boolean | undefined; // its values are texts without a type
  cut?: boolean | undefined; // the text ended inside of it
  loose?: boolean | undefined; // the text ended after an argument, so others may be missing
  wrong?: string | undefined; // why its arguments cannot be used
}
/** Adjacent calls, and the end of their markup. */
export type Piece = { calls: Raw[]; end: number; start?: number };

/**
 * A text that is searched from start to end. Results are remembered, so that a missing mark is
 * searched for once.
 */
export interface Source {
  readonly text: string;
  readonly tools: readonly Tool[];
  readonly work: Work;
  readonly ended: boolean; // the output limit cut it off
  next(sought: string | RegExp, fromIndex: number): { at: number; end: number } | undefined;
}
/**
 * Reads what begins at a marker and goes on at `markerEnd`; undefined if it is not a call.
 */
export type Reader = (
  source: Source,
  markerStart: number,
  markerEnd: number,
  marker: string,
) => Piece | undefined;
