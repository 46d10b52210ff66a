// A file's facts as one line of JSON, searchable without parsing. Behind it, after a zero byte,
// stands what words occur in the file.
import type { Index } from "./index-view.ts";
import type { Facts } from "./scan/facts.ts";
import { type Bag, readBag } from "./scan/word-bag.ts";

/** Tells whether a file is still the one that was read. */
export interface Entry {
  mtime: number; // -1: changed so shortly before it was read that its time proves nothing
  ctime: number;
  size: number;
  hash: string;
}
export type Row = Entry & { path: string; text: Uint8Array }; // empty: unchanged

export function pack(fileFacts: Facts, wordBag: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify(fileFacts)}\0`), wordBag]);
}
/** What words occur in the file. */
export const wordsOf = (rowBytes: Buffer): Bag =>
  readBag(rowBytes.subarray(rowBytes.indexOf(0) + 1));
export const unpack = (rowBytes: Buffer): Facts =>
  JSON.parse(rowBytes.toString("utf8", 0, rowBytes.indexOf(0)));

/** Its imports and exports alone: what lies around them is not parsed. */
export type Passed = Pick<Facts, "imports" | "exports">;
export function passedOf(rowBytes: Buffer): Passed {
  const [importsStart, usesStart] = [
    rowBytes.indexOf(',"imports":['),
    rowBytes.indexOf(',"uses":"'),
  ];
  return JSON.parse(`{${rowBytes.toString("utf8", importsStart + 1, usesStart)}}`);
}

/** Rows stored one after the other. */
export interface Page {
  read(offset: number, length: number, targetBuffer?: Buffer): Buffer;
}

/**
 * The files that define a name, or export something under it that has another, and those that use
 * it.
 */
export const filesDefining = (index: Index, symbolName: string) =>
  index.having(`{"name":${JSON.stringify(symbolName)},`);
export const filesUsing = (index: Index, symbolName: string) => index.having(` ${symbolName}:`);
/** The files that say of themselves that a program made them. */
export const filesMarkedGenerated = (index: Index) => index.having(',"made":true');
