// The index at one moment, as the tools and the map ask it.
import { CODE } from "./code-files.ts";
import type { Kept } from "./resolve.ts";
import { type Entry, type Passed, passedOf, unpack, wordsOf } from "./rows.ts";
import type { Facts } from "./scan/facts.ts";
import type { Bag } from "./scan/word-bag.ts";
import type { Data } from "./store.ts";

/** The index at one moment. */
export interface Index {
  readonly names: readonly string[]; // every file of the project, including those not indexed
  readonly files: readonly string[]; // the indexed ones of code, sorted
  readonly version: object; // the same object as long as nothing has changed
  readonly ms: number; // how long the update took
  readonly leftOut: number; // how many files are beyond the limit
  readonly scope: string; // the indexed folder; "": everything
  readonly beyond: number; // how many code files are outside of it
  readonly ignored: ReadonlySet<string>; // code files that the settings leave out
  readonly entries: ReadonlyMap<string, Entry>; // what tells whether a file has changed
  facts(filePath: string): Facts | undefined;
  words(filePath: string): Bag | undefined; // also of texts that are no code
  passed(filePath: string): Passed; // what it imports and exports
  // the files whose rows have one of them, in order
  having(...searchTexts: string[]): readonly string[];
  resolved?: Kept | undefined;
  keep(resolved: Kept): void;
}
export function rowOf({ files }: Pick<Data, "files">, filePath: string): Buffer {
  const { page, offset, length } = files.get(filePath)!;
  return page.read(offset, length);
}
const MEMO_BY_FILES = new WeakMap<Data["files"], Map<string, unknown>>();
export type Counts = Pick<Index, "ms" | "leftOut" | "beyond" | "scope" | "ignored">;
export function indexOf(
  indexData: Data,
  names: readonly string[],
  counts: Counts,
  keep: Index["keep"],
): Index {
  const { files, resolved } = indexData; // as they are now: later updates replace them
  let rowBuffer = Buffer.alloc(0);
  return {
    ...counts,
    names,
    files: [...files.keys()].filter((filePath) => CODE.test(filePath)),
    version: files,
    entries: files,
    resolved,
    keep,
    having: (...searchTexts) =>
      // Node 24 dies searching a buffer for a string with half a character
      memoize(searchTexts.join("\n"), () =>
        findFiles(searchTexts.map((searchText) => Buffer.from(searchText))),
      ),
    passed: (filePath) =>
      memoize(`\n${filePath}`, () =>
        files.has(filePath) ? passedOf(readRow(filePath)) : { imports: [], exports: [] },
      ),
    facts: (filePath) =>
      files.has(filePath) && CODE.test(filePath) ? unpack(readRow(filePath)) : undefined,
    words: (filePath) => (files.has(filePath) ? wordsOf(readRow(filePath)) : undefined),
  };

  function findFiles(searchBytes: Buffer[]): string[] {
    return [...files.keys()].filter((filePath) => {
      const rowBytes = readRow(filePath);
      return searchBytes.some((needle) => rowBytes.includes(needle));
    });
  }
  /** What was found out about these very files before. */
  function memoize<T>(memoKey: string, compute: () => T): T {
    const remembered = MEMO_BY_FILES.get(files) ?? new Map<string, unknown>();
    MEMO_BY_FILES.set(files, remembered);
    if (!remembered.has(memoKey)) remembered.set(memoKey, compute());
    return remembered.get(memoKey) as T;
  }
  /**
   * Until the next one is read: reading all rows of a project would leave their bytes behind
   * otherwise.
   */
  function readRow(filePath: string): Buffer {
    const { page, offset, length } = files.get(filePath)!;
    if (rowBuffer.length < length) rowBuffer = Buffer.allocUnsafe(2 * length);
    return page.read(offset, length, rowBuffer);
  }
}
