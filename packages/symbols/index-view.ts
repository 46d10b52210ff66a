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
  readonly read: number; // how many files the update read
  readonly leftOut: number; // how many files are beyond the limit
  readonly scope: string; // the indexed folder; "": everything
  readonly beyond: number; // how many code files are outside of it
  readonly ignored: ReadonlySet<string>; // code files that the settings leave out
  readonly entries: ReadonlyMap<string, Entry>; // what tells whether a file has changed
  facts(name: string): Facts | undefined;
  words(name: string): Bag | undefined; // also of texts that are no code
  passed(name: string): Passed; // what it imports and exports
  having(...texts: string[]): readonly string[]; // the files whose rows have one of them, in order
  resolved?: Kept | undefined;
  keep(resolved: Kept): void;
}
export function rowOf({ files }: Pick<Data, "files">, name: string): Buffer {
  const { page, offset, length } = files.get(name)!;
  return page.read(offset, length);
}
const FOUND = new WeakMap<Data["files"], Map<string, unknown>>();
export type Counts = Pick<Index, "ms" | "read" | "leftOut" | "beyond" | "scope" | "ignored">;
export function indexOf(
  data: Data,
  names: readonly string[],
  counts: Counts,
  keep: Index["keep"],
): Index {
  const { files, resolved } = data; // as they are now: later updates replace them
  let row = Buffer.alloc(0);
  return {
    ...counts,
    names,
    files: [...files.keys()].filter((name) => CODE.test(name)),
    version: files,
    entries: files,
    resolved,
    keep,
    having: (...texts) =>
      // Node 24 dies searching a buffer for a string with half a character
      memo(texts.join("\n"), () => having(texts.map((text) => Buffer.from(text)))),
    passed: (name) =>
      memo(`\n${name}`, () =>
        files.has(name) ? passedOf(read(name)) : { imports: [], exports: [] },
      ),
    facts: (name) => (files.has(name) && CODE.test(name) ? unpack(read(name)) : undefined),
    words: (name) => (files.has(name) ? wordsOf(read(name)) : undefined),
  };

  function having(texts: Buffer[]): string[] {
    return [...files.keys()].filter((name) => {
      const bytes = read(name);
      return texts.some((text) => bytes.includes(text));
    });
  }
  /** What was found out about these very files before. */
  function memo<T>(key: string, find: () => T): T {
    const remembered = FOUND.get(files) ?? new Map<string, unknown>();
    FOUND.set(files, remembered);
    if (!remembered.has(key)) remembered.set(key, find());
    return remembered.get(key) as T;
  }
  /**
   * Until the next one is read: reading all rows of a project would leave their bytes behind
   * otherwise.
   */
  function read(name: string): Buffer {
    const { page, offset, length } = files.get(name)!;
    if (row.length < length) row = Buffer.allocUnsafe(2 * length);
    return page.read(offset, length, row);
  }
}
