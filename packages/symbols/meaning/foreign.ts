// All places of a name that the project takes from elsewhere, apart by what it means there.
import { plural } from "zz/text";
import type { CodeUse, Group } from "./code-uses.ts";
import { type Desk, pointAt, showFile, textAt, titleOf, toCodeUse, wordIn } from "./desk.ts";
import { boundAt, usesOfBound, usesOfWhole } from "./missed.ts";

const MAX_FILES = 1_000; // that may hold the name
const MAX_SEARCH_MS = 10_000;

/** `first`: the file that it is asked about. */
export async function foreignUses(
  desk: Desk,
  name: string,
  userFiles: string[],
  first: string | undefined,
): Promise<{ groups: Group[]; unsearched: string }> {
  const { server } = desk;
  const files = userFiles.toSorted((a, b) => Number(b === first) - Number(a === first));
  const looked = files.slice(0, MAX_FILES);
  const groups = new Map<string, Group>();
  const covered = new Set<string>();
  const deadline = performance.now() + MAX_SEARCH_MS;
  let done = 0;
  for (const filePath of looked) await showFile(desk, filePath);
  for (const file of looked) {
    if (performance.now() > deadline) break;
    done++;
    const { text } = await textAt(desk, file);
    await addImported(desk, file, name, add);
    for (
      let offset = wordIn(text, name);
      offset !== undefined;
      offset = wordIn(text, name, offset + name.length)
    ) {
      const isInText = /[^[\s]\s*["'`]$/.test(text.slice(Math.max(0, offset - 20), offset));
      if (isInText || covered.has(`${file}:${offset}`)) continue;
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
  return {
    groups: [...groups.values()].sort((a, b) => Number(isTaken(b)) - Number(isTaken(a))),
    unsearched: files.length > done ? noteOnRest(files.length - done) : "",
  };

  function add(key: string, symbol: string, usePlaces: CodeUse[]): void {
    const group = groups.get(key) ?? { symbol, places: [] };
    const present = new Set(group.places.map((use) => `${use.path}:${use.start}`));
    for (const use of usePlaces) {
      covered.add(`${use.path}:${use.start}`);
      if (!present.has(`${use.path}:${use.start}`)) group.places.push(use);
    }
    if (group.places.length) groups.set(key, group);
  }
}
const noteOnRest = (fileCount: number) =>
  `Not looked into: ${plural(fileCount, "more file")} with that name; ` +
  "path begins at one, grep finds all";
type Add = (groupKey: string, symbol: string, usePlaces: CodeUse[]) => void;
/** The uses of what a file takes by that name. */
async function addImported(
  desk: Desk,
  filePath: string,
  name: string,
  addPlaces: Add,
): Promise<void> {
  for (const { names, from, line } of desk.index.passed(filePath).imports)
    for (const specifier of names) {
      const [imported = "", local = imported] = specifier.split(" as ");
      const groupTitle = `"${from}".${name}`;
      if (imported === "*")
        addPlaces(from, groupTitle, await usesOfWhole(desk, filePath, local, name));
      if (imported !== name) continue;
      const binding = { path: filePath, name, local, line };
      const boundPlace = await boundAt(desk, binding);
      if (boundPlace) addPlaces(from, groupTitle, await usesOfBound(desk, binding, boundPlace));
    }
}

/** From where the file of such a use takes the name. */
const moduleOf = ({ index }: Desk, { path }: CodeUse, symbolName: string) =>
  index
    .passed(path)
    .imports.find(({ names }) =>
      names.some((specifier) => specifier.split(" as ")[0] === symbolName),
    )?.from;

const isTaken = ({ places }: Group) => places.some(({ kind: useKind }) => useKind === "import");
