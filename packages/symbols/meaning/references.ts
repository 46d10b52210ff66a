// All places of one thing: those that the server knows, once it was shown every file that may have
// one, and those that only the index knows of, which knows who imports whom.
import type { Point } from "zz";
import { comparePaths, folderOf, SCRIPT } from "../resolve/paths.ts";
import { filesUsing } from "../rows.ts";
import type { CodeUse, Group, SymbolSpot } from "./code-uses.ts";
import { type Desk, locate, NoServer, showFile, titleOf, toCodeUse } from "./desk.ts";
import { missedUses, type Taking, takingOf } from "./missed.ts";

const MAX_SHOWN = 300; // files; of more, one for each folder with settings of its own
const C = /\.(?:c|h)(?:c|h|pp|xx)?$/i;

export async function groupedReferences(desk: Desk, target: SymbolSpot): Promise<Group[]> {
  const point = await locate(desk, target);
  const title = titleOf(desk, point, target.name); // meanwhile
  title.catch(() => {}); // awaited below
  const { allUses } = await usesAt(desk, target, point);
  return allUses.length ? [{ symbol: await title, places: sortUses(allUses, target.path) }] : [];
}

/** What the server knows, who takes it by a way that the server does not follow, and all places. */
export async function usesAt(
  desk: Desk,
  target: SymbolSpot,
  point: Point,
): Promise<{ takings: Taking[]; allUses: CodeUse[] }> {
  const { server } = desk;
  let spots = await server.references(point);
  if (await showOthers(desk, target, new Set(spots.map(({ path }) => path))))
    spots = await server.references(point);
  const isMeant =
    SCRIPT.test(target.path) || !spots.length || spots.some((spot) => isAt(spot, point));
  if (!isMeant) throw new NoServer(`${server.name} takes ${target.name} for something else`);
  const distinct = new Map(
    spots.map((spot) => [`${spot.path}:${spot.line}:${spot.character}`, spot]),
  );
  const readable = [...distinct.values()].filter(({ path }) => desk.mayShow(path));
  const places: CodeUse[] = [];
  for (const spot of readable) {
    const use = await toCodeUse(desk, spot);
    if (use.end > use.start) places.push(use); // else it is beyond the end of its line
  }
  if (!SCRIPT.test(target.path)) return { takings: [], allUses: places };
  const takings = await takingOf(desk, target, places);
  return { takings, allUses: [...places, ...(await missedUses(desk, target, places, takings))] };
}

/** A server knows the projects of the files that it was shown, and no others. */
export async function showOthers(
  desk: Desk,
  { path: from, name }: SymbolSpot,
  knownFiles = new Set<string>(),
): Promise<boolean> {
  const { index, server, mayShow } = desk;
  const isAlike = (file: string) =>
    [SCRIPT, C].some((family) => family.test(from) && family.test(file)) ||
    endOf(file) === endOf(from);
  const others = filesUsing(index, name).filter(
    (file) =>
      file !== from &&
      !knownFiles.has(file) &&
      isAlike(file) &&
      mayShow(file) &&
      !server.shows(file),
  );
  const chosen = others.length > MAX_SHOWN ? onePerProject(others, index.names) : others;
  for (const file of chosen) await showFile(desk, file);
  // others read when they have time
  if (!SCRIPT.test(from)) for (const file of chosen) await server.symbols(file);
  return chosen.length > 0;
}
export const isAt = (a: Point, b: Point): boolean =>
  a.path === b.path && a.line === b.line && a.character === b.character;
const endOf = (file: string): string => file.slice(file.lastIndexOf("."));

function onePerProject(files: string[], names: readonly string[]): string[] {
  const configured = new Set(names.filter((name) => CONFIG.test(name)).map(folderOf));
  const configOf = (file: string) => {
    let folder = folderOf(file);
    while (folder && !configured.has(folder)) folder = folderOf(folder);
    return `${folder}\n${file.split("/")[0]}`;
  };
  return [...Map.groupBy(files, configOf).values()].flatMap((group) => group.slice(0, 2));
}
const CONFIG = /(?:^|\/)[jt]sconfig[\w.-]*\.json$/;

/** The definition's file first, and each from its beginning. */
function sortUses(places: CodeUse[], first: string): CodeUse[] {
  const rank = (file: string) => (file === first ? 0 : 1);
  return places.toSorted(
    (a, b) => rank(a.path) - rank(b.path) || comparePaths(a.path, b.path) || a.start - b.start,
  );
}
