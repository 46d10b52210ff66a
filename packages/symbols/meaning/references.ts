// All places of one thing: those that the server knows, once it was shown every file that may have
// one, and those that only the index knows of, which knows who imports whom.
import type { Point } from "zz";
import { comparePaths, folderOf, SCRIPT } from "../resolve/paths.ts";
import { using } from "../rows.ts";
import type { At, Group, Place } from "./contract.ts";
import { type Desk, locate, NoServer, placeOf, show, titleOf } from "./desk.ts";
import { missedUses, type Taking, takingOf } from "./missed.ts";

const MAX_SHOWN = 300; // files; of more, one for each folder with settings of its own
const C = /\.(?:c|h)(?:c|h|pp|xx)?$/i;

export async function references(desk: Desk, at: At): Promise<Group[]> {
  const point = await locate(desk, at);
  const title = titleOf(desk, point, at.name); // meanwhile
  title.catch(() => {}); // awaited below
  const { all } = await usesAt(desk, at, point);
  return all.length ? [{ symbol: await title, places: inOrder(all, at.path) }] : [];
}

/** What the server knows, who takes it by a way that the server does not follow, and all places. */
export async function usesAt(
  desk: Desk,
  at: At,
  point: Point,
): Promise<{ takings: Taking[]; all: Place[] }> {
  const { server } = desk;
  let spots = await server.references(point);
  if (await showOthers(desk, at, new Set(spots.map(({ path }) => path))))
    spots = await server.references(point);
  const isMeant = SCRIPT.test(at.path) || !spots.length || spots.some((spot) => isAt(spot, point));
  if (!isMeant) throw new NoServer(`${server.name} takes ${at.name} for something else`);
  const distinct = new Map(
    spots.map((spot) => [`${spot.path}:${spot.line}:${spot.character}`, spot]),
  );
  const readable = [...distinct.values()].filter(({ path }) => desk.mayShow(path));
  const places: Place[] = [];
  for (const spot of readable) {
    const place = await placeOf(desk, spot);
    if (place.end > place.start) places.push(place); // else it is beyond the end of its line
  }
  if (!SCRIPT.test(at.path)) return { takings: [], all: places };
  const takings = await takingOf(desk, at, places);
  return { takings, all: [...places, ...(await missedUses(desk, at, places, takings))] };
}

/** A server knows the projects of the files that it was shown, and no others. */
export async function showOthers(
  desk: Desk,
  { path: from, name }: At,
  known = new Set<string>(),
): Promise<boolean> {
  const { index, server, mayShow } = desk;
  const isAlike = (file: string) =>
    [SCRIPT, C].some((kind) => kind.test(from) && kind.test(file)) || endOf(file) === endOf(from);
  const others = using(index, name).filter(
    (file) =>
      file !== from && !known.has(file) && isAlike(file) && mayShow(file) && !server.shows(file),
  );
  const chosen = others.length > MAX_SHOWN ? onePerProject(others, index.names) : others;
  for (const file of chosen) await show(desk, file);
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
    let at = folderOf(file);
    while (at && !configured.has(at)) at = folderOf(at);
    return `${at}\n${file.split("/")[0]}`;
  };
  return [...Map.groupBy(files, configOf).values()].flatMap((own) => own.slice(0, 2));
}
const CONFIG = /(?:^|\/)[jt]sconfig[\w.-]*\.json$/;

/** The definition's file first, and each from its beginning. */
export function inOrder(places: Place[], first: string): Place[] {
  const rank = (file: string) => (file === first ? 0 : 1);
  return places.toSorted(
    (a, b) => rank(a.path) - rank(b.path) || comparePaths(a.path, b.path) || a.start - b.start,
  );
}
