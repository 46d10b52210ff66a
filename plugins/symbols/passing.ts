// What the files of the index take of one another, read from their rows without unpacking all of them.
import { containing, type PageIndex, passingOf } from "./rows.ts";

export function passing(pageIndexes: PageIndex[]) {
  const places = new Map(
    pageIndexes.flatMap((pageIndex) => pageIndex.paths.map((path, at) => [path, { pageIndex, at }] as const)),
  );
  const [read, lists] = [new Map<string, ReturnType<typeof passingOf>>(), new Map<string, string[]>()];
  return { of: (path: string) => rowOf(path).imports, exportsOf: (path: string) => rowOf(path).exports, taking };

  function rowOf(path: string): ReturnType<typeof passingOf> {
    const known = read.get(path);
    const place = places.get(path);
    if (known || !place) return known ?? { imports: [], exports: [] };
    const { page, starts, end } = place.pageIndex;
    const from = starts[place.at]!;
    const found = passingOf(page.read(from, (starts[place.at + 1] ?? end) - from));
    read.set(path, found);
    return found;
  }
  function taking(what: string): string[] {
    let found = lists.get(what);
    if (!found) lists.set(what, (found = containing(pageIndexes, `"${what}`)));
    return found;
  }
}
