// All places of a name that the project takes from elsewhere, apart by what it means there.
import { plural } from "zz/text";
import type { CodeUse, Group } from "./code-uses.ts";
import { type Desk, pointAt, showFile, textAt, titleOf, toCodeUse, wordIn } from "./desk.ts";
import { boundAt, usesOfBound, usesOfWhole } from "./missed.ts";

const MAX_FILES = 1_000; // that may hold the name
const MAX_MS = 10_000;

/** `first`: the file that it is asked about. */
export async function foreignUses(
  desk: Desk,
  name: string,
  users: string[],
  first: string | undefined,
): Promise<{ groups: Group[]; unsearched: string }> {
  const { server } = desk;
  const files = users.toSorted((a, b) => Number(b === first) - Number(a === first));
  const looked = files.slice(0, MAX_FILES);
  const groups = new Map<string, Group>();
  const covered = new Set<string>();
  const until = performance.now() + MAX_MS;
  let done = 0;
  for (const file of looked) await showFile(desk, file);
  for (const file of looked) {
    if (performance.now() > until) break;
    done++;
    const { text } = await textAt(desk, file);
    await addImported(desk, file, name, add);
    for (
      let offset = wordIn(text, name);
      offset !== undefined;
      offset = wordIn(text, name, offset + name.length)
    ) {
      const isText = /[^[\s]\s*["'`]$/.test(text.slice(Math.max(0, offset - 20), offset));
      if (isText || covered.has(`${file}:${offset}`)) continue;
      covered.add(`${file}:${offset}`);
      const point = await pointAt(desk, file, offset);
      const spots = (await server.references(point)).filter((spot) => desk.mayShow(spot.path));
      const places: CodeUse[] = [];
      for (const spot of spots) places.push(await toCodeUse(desk, spot));
      // a part of a text
      if (!places.some((use) => use.path === file && use.start === offset)) continue;
      const importUse = places.find(({ kind: useKind }) => useKind === "import");
      const from = importUse && moduleOf(desk, importUse, name);
      add(
        from ?? `${file}:${offset}`,
        from ? `"${from}".${name}` : await titleOf(desk, point, name),
        places,
      );
    }
  }
  const remainingFiles = files.length - done;
  return {
    groups: [...groups.values()].sort((a, b) => Number(isTaken(b)) - Number(isTaken(a))),
    unsearched: remainingFiles
      ? `Not looked into: ${plural(remainingFiles, "more file")} with that name; path begins at one, grep finds all`
      : "",
  };

  function add(key: string, symbol: string, places: CodeUse[]): void {
    const group = groups.get(key) ?? { symbol, places: [] };
    const present = new Set(group.places.map((use) => `${use.path}:${use.start}`));
    for (const use of places) {
      covered.add(`${use.path}:${use.start}`);
      if (!present.has(`${use.path}:${use.start}`)) group.places.push(use);
    }
    if (group.places.length) groups.set(key, group);
  }
}
type Add = (key: string, symbol: string, places: CodeUse[]) => void;
/** The uses of what a file takes by that name. */
async function addImported(desk: Desk, file: string, name: string, add: Add): Promise<void> {
  for (const { names, from, line } of desk.index.passed(file).imports)
    for (const specifier of names) {
      const [imported = "", local = imported] = specifier.split(" as ");
      const title = `"${from}".${name}`;
      if (imported === "*") add(from, title, await usesOfWhole(desk, file, local, name));
      if (imported !== name) continue;
      const about = { path: file, name, local, line };
      const bound = await boundAt(desk, about);
      if (bound) add(from, title, await usesOfBound(desk, about, bound));
    }
}

/** From where the file of such a use takes the name. */
const moduleOf = ({ index }: Desk, { path }: CodeUse, name: string): string | undefined =>
  index
    .passed(path)
    .imports.find(({ names }) => names.some((specifier) => specifier.split(" as ")[0] === name))
    ?.from;

const isTaken = ({ places }: Group): boolean =>
  places.some(({ kind: useKind }) => useKind === "import");
