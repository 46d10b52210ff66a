// All places of a name that the project takes from elsewhere, apart by what it means there.
import { plural } from "zz/text";
import type { Group, Place } from "./contract.ts";
import { type Desk, placeOf, pointAt, show, textAt, titleOf, wordIn } from "./desk.ts";
import { boundAt, usesOfBound, usesOfWhole } from "./missed.ts";

const MAX_FILES = 1_000; // that may hold the name
const MAX_MS = 10_000;

/** `first`: the file that it is asked about. */
export async function foreignUses(
  desk: Desk,
  name: string,
  users: string[],
  first: string | undefined,
): Promise<{ groups: Group[]; left: string }> {
  const { index, server } = desk;
  const files = users.toSorted((a, b) => Number(b === first) - Number(a === first));
  const looked = files.slice(0, MAX_FILES);
  const groups = new Map<string, Group>();
  const known = new Set<string>();
  const until = performance.now() + MAX_MS;
  let done = 0;
  for (const file of looked) await show(desk, file);
  for (const file of looked) {
    if (performance.now() > until) break;
    done++;
    const { text } = await textAt(desk, file);
    for (const { names, from, line } of index.passed(file).imports)
      for (const taken of names) {
        const [own = "", local = own] = taken.split(" as ");
        const title = `"${from}".${name}`;
        if (own === "*") add(from, title, await usesOfWhole(desk, file, local, name));
        if (own !== name) continue;
        const about = { path: file, name, local, line };
        const bound = await boundAt(desk, about);
        if (bound) add(from, title, await usesOfBound(desk, about, bound));
      }
    for (let at = wordIn(text, name); at !== undefined; at = wordIn(text, name, at + name.length)) {
      const isText = /[^[\s]\s*["'`]$/.test(text.slice(Math.max(0, at - 20), at));
      if (isText || known.has(`${file}:${at}`)) continue;
      known.add(`${file}:${at}`);
      const point = await pointAt(desk, file, at);
      const spots = (await server.references(point)).filter((spot) => desk.mayShow(spot.path));
      const places: Place[] = [];
      for (const spot of spots) places.push(await placeOf(desk, spot));
      // a part of a text
      if (!places.some((one) => one.path === file && one.start === at)) continue;
      const taken = places.find(({ kind }) => kind === "import");
      const from =
        taken &&
        index
          .passed(taken.path)
          .imports.find((one) => one.names.some((n) => n.split(" as ")[0] === name))?.from;
      add(
        from ?? `${file}:${at}`,
        from ? `"${from}".${name}` : await titleOf(desk, point, name),
        places,
      );
    }
  }
  const rest = files.length - done;
  return {
    groups: [...groups.values()].sort((a, b) => Number(isTaken(b)) - Number(isTaken(a))),
    left: rest
      ? `Not looked into: ${plural(rest, "more file")} with that name; path begins at one, grep finds all`
      : "",
  };

  function add(key: string, symbol: string, places: Place[]): void {
    const group = groups.get(key) ?? { symbol, places: [] };
    const own = new Set(group.places.map((one) => `${one.path}:${one.start}`));
    for (const place of places) {
      known.add(`${place.path}:${place.start}`);
      if (!own.has(`${place.path}:${place.start}`)) group.places.push(place);
    }
    if (group.places.length) groups.set(key, group);
  }
}
const isTaken = ({ places }: Group): boolean => places.some(({ kind }) => kind === "import");
