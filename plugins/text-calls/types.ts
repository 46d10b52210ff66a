// What a reader of one grammar is given, and what it gives.
import type { ChatRequest } from "zz";
import type { Work } from "./json.ts";

export type Tool = ChatRequest["tools"][number] & { foreign?: true }; // foreign: a name that other programs have for one of zz's

/** A call as it stood in the text, before its name and its arguments were looked at. */
export interface Raw {
  name: string;
  args: Record<string, unknown>;
  id?: string | undefined;
  raw?: boolean | undefined; // its values are texts without a type
  cut?: boolean | undefined; // the text ended inside of it
  loose?: boolean | undefined; // the text ended behind one of its arguments: another might have come
  wrong?: string | undefined; // why its arguments cannot be used
}
/** Calls that stood together, and where what belongs to them ends. */
export type Piece = { calls: Raw[]; end: number; thinking?: string; start?: number };

/** A text, searched from its beginning to its end: what was found is remembered, so that a mark that is not there is looked for once. */
export interface Source {
  readonly text: string;
  readonly tools: readonly Tool[];
  readonly work: Work;
  readonly ended: boolean; // by the output limit
  next(what: string | RegExp, from: number): { at: number; end: number } | undefined;
}
/** Reads what begins at a marker; undefined: it is no call. `after` is where the marker ends. */
export type Reader = (source: Source, at: number, after: number, marker: string) => Piece | undefined;
