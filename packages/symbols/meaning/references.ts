// All places of one thing: those that the server knows, once it was shown every file that may have
// one, and those that only the index knows of, which knows who imports whom.
import type { Point } from "zz";
import { compare } from "zz/text";
import { folderOf, SCRIPT } from "../resolve/paths.ts";
import { filesUsing } from "../rows.ts";
import type { CodeUse, Group, SymbolSpot } from "./code-uses.ts";
import {
  type Desk,
  locate,
  MAX_KEPT,
  NoServer,
  showFile,
  textAt,
  titleOf,
  toCodeUse,
} from "./desk.ts";
import { missedUses, type Taking, takingOf } from "./missed.ts";

const MAX_SHOWN = 300; // files; of more, one for each folder with settings of its own
const C_FAMILY = /\.(?:c|h)(?:c|h|pp|xx)?$/i;

export async function groupedReferences(desk: Desk, targetSpot: SymbolSpot): Promise<Group[]> {
  const isLoaded = desk.server.shows(targetSpot.path);
  const locating = locate(desk, targetSpot);
  locating.catch(() => {}); // awaited below
  if (!isLoaded) await readUsers(desk, targetSpot.name); // meanwhile
  const targetPoint = await locating;
  const groupTitle = titleOf(desk, targetPoint, targetSpot.name); // meanwhile
  groupTitle.catch(() => {}); // awaited below
  const { allUses } = await usesAt(desk, targetSpot, targetPoint);
  return allUses.length
    ? [{ symbol: await groupTitle, places: sortUses(allUses, targetSpot.path) }]
    : [];
}

/** Where the name stands is looked at in any case, and a server takes a while to load a project. */
async function readUsers(desk: Desk, name: string): Promise<void> {
  const readable = filesUsing(desk.index, name).filter(desk.mayShow);
  for (const filePath of readable.slice(0, MAX_KEPT)) await textAt(desk, filePath).catch(() => {});
}

/** What the server knows, who takes it by a way that the server does not follow, and all places. */
export async function usesAt(
  desk: Desk,
  targetSpot: SymbolSpot,
  targetPoint: Point,
): Promise<{ takings: Taking[]; allUses: CodeUse[] }> {
  const { server } = desk;
  let useSpots = await server.references(targetPoint);
  if (await showOthers(desk, targetSpot, new Set(useSpots.map(({ path }) => path))))
    useSpots = await server.references(targetPoint);
  const isMeant =
    SCRIPT.test(targetSpot.path) ||
    !useSpots.length ||
    useSpots.some((spot) => isAt(spot, targetPoint));
  if (!isMeant) throw new NoServer(`${server.name} takes ${targetSpot.name} for something else`);
  const distinct = new Map(
    useSpots.map((spot) => [`${spot.path}:${spot.line}:${spot.character}`, spot]),
  );
  const readable = [...distinct.values()].filter(({ path }) => desk.mayShow(path));
  const usePlaces: CodeUse[] = [];
  for (const spot of readable) {
    const codeUse = await toCodeUse(desk, spot);
    // else it is beyond the end of its line
    if (codeUse.end > codeUse.start) usePlaces.push(codeUse);
  }
  if (!SCRIPT.test(targetSpot.path)) return { takings: [], allUses: usePlaces };
  const takings = await takingOf(desk, targetSpot, usePlaces);
  return {
    takings,
    allUses: [...usePlaces, ...(await missedUses(desk, targetSpot, usePlaces, takings))],
  };
}

/** A server knows the projects of the files that it was shown, and no others. */
export async function showOthers(
  desk: Desk,
  { path: from, name }: SymbolSpot,
  knownFiles = new Set<string>(),
): Promise<boolean> {
  const { index, server, mayShow } = desk;
  const isAlike = (filePath: string) =>
    [SCRIPT, C_FAMILY].some((family) => family.test(from) && family.test(filePath)) ||
    getEnding(filePath) === getEnding(from);
  const unshownFiles = filesUsing(index, name).filter(
    (filePath) =>
      filePath !== from &&
      !knownFiles.has(filePath) &&
      isAlike(filePath) &&
      mayShow(filePath) &&
      !server.shows(filePath),
  );
  const chosenFiles =
    unshownFiles.length > MAX_SHOWN ? onePerProject(unshownFiles, index.names) : unshownFiles;
  for (const filePath of chosenFiles) await showFile(desk, filePath);
  // others read when they have time
  if (!SCRIPT.test(from)) for (const filePath of chosenFiles) await server.symbols(filePath);
  return chosenFiles.length > 0;
}
export const isAt = (a: Point, b: Point): boolean =>
  a.path === b.path && a.line === b.line && a.character === b.character;
const getEnding = (filePath: string) => filePath.slice(filePath.lastIndexOf("."));

function onePerProject(filePaths: string[], projectPaths: readonly string[]): string[] {
  const configured = new Set(
    projectPaths.filter((filePath) => CONFIG_FILE.test(filePath)).map(folderOf),
  );
  const configOf = (filePath: string) => {
    let folder = folderOf(filePath);
    while (folder && !configured.has(folder)) folder = folderOf(folder);
    return `${folder}\n${filePath.split("/")[0]}`;
  };
  return [...Map.groupBy(filePaths, configOf).values()].flatMap((projectFiles) =>
    projectFiles.slice(0, 2),
  );
}
const CONFIG_FILE = /(?:^|\/)[jt]sconfig[\w.-]*\.json$/;

/** The definition's file first, and each from its beginning. */
function sortUses(codeUses: CodeUse[], firstFile: string): CodeUse[] {
  const isOther = ({ path }: CodeUse) => Number(path !== firstFile);
  return codeUses.toSorted(
    (a, b) => isOther(a) - isOther(b) || compare(a.path, b.path) || a.start - b.start,
  );
}
