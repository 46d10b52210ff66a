// Which changes of a command git ignores, or lie in packages that git does not track.
import path from "node:path";
import type { Ctx } from "zz";
import { repositoryTop } from "zz/text";
import {
  bytePath,
  type Change,
  lstatOrNone,
  parentsOf,
  raw,
  utf8,
  within,
} from "./compare-copy.ts";
import { listedByGit } from "./listed-by-git.ts";

/** Why changes are not shown one by one. */
const [IGNORED, MODULES] = ["ignored by git", "in node_modules"];
/**
 * The topmost folder of a path that git ignores, or of packages that git does not track, and why it
 * is not shown.
 */
export function findIgnored(
  ctx: Ctx,
  changes: Change[],
): (change: Change) => [group: string, why: string] | undefined {
  const namesByTop = namesByRepository(ctx.root, changes);
  const [ignored, tracked] = [new Set<string>(), new Set<string>()];
  for (const [topFolder, askedNames] of [...namesByTop].slice(0, MAX_REPOSITORIES)) {
    const prefixLength = topFolder ? topFolder.length + 1 : 0;
    const nameBytes = raw(
      `${[...askedNames].map((askedName) => askedName.slice(prefixLength)).join("\0")}\0`,
    );
    for (const ignoredName of askGitToList(
      ctx,
      topFolder,
      ["check-ignore", "-z", "--stdin"],
      nameBytes,
    ))
      ignored.add(ignoredName);
    if (![...askedNames].some((askedName) => inModules(askedName) && !ignored.has(askedName)))
      continue;
    for (const trackedName of askGitToList(ctx, topFolder, [
      "ls-files",
      "-z",
      "--",
      ":(glob)**/node_modules/**",
    ]))
      tracked.add(trackedName);
  }
  return (change) => {
    const gitName = gitNameOf(change);
    // what goes is shown
    if (isReplaced(change) && !ignored.has(change.name) && !inModules(change.name))
      return undefined;
    const ignoredFolder = ignored.has(gitName)
      ? parentsOf(gitName).find((parentFolder) => ignored.has(`${parentFolder}/`))
      : undefined;
    if (ignoredFolder !== undefined) return [utf8(ignoredFolder), IGNORED];
    const modules = tracked.has(change.name) ? undefined : inModules(gitName);
    return modules === undefined
      ? undefined
      : [utf8(modules), ignored.has(gitName) ? IGNORED : MODULES];
  };
}

/** The names to ask git about, by repository: git looks neither through links nor into others. */
function namesByRepository(root: string, changes: Change[]): Map<string, Set<string>> {
  const topByFolder = new Map<string, string | undefined>([["", repositoryTop(root) && ""]]);
  const findTop = (folder: string): string | undefined => {
    if (topByFolder.has(folder)) return topByFolder.get(folder);
    const gitFolder = lstatOrNone(bytePath(root, within(folder, ".git")));
    topByFolder.set(
      folder,
      gitFolder ? folder : findTop(folder.slice(0, Math.max(0, folder.lastIndexOf("/")))),
    );
    return topByFolder.get(folder);
  };
  const namesByTop = new Map<string, Set<string>>();
  const formerFiles = new Set(
    changes.flatMap(({ name, before }) => (before && !before.isDirectory() ? name : [])),
  );
  for (const changed of changes) {
    const { name } = changed;
    const folders = parentsOf(name);
    const topFolder = findTop(folders.at(-1) ?? "");
    if (topFolder === undefined || folders.some((folder) => formerFiles.has(folder))) continue;
    const askedNames = namesByTop.get(topFolder) ?? new Set();
    namesByTop.set(topFolder, askedNames);
    for (const parentFolder of folders)
      if (parentFolder.length > topFolder.length) askedNames.add(`${parentFolder}/`);
    askedNames.add(gitNameOf(changed));
    if (isReplaced(changed)) askedNames.add(name);
  }
  return namesByTop;
}

/** What git lists, relative to the project. */
const askGitToList = (
  ctx: Ctx,
  topFolder: string,
  gitArguments: string[],
  input?: Buffer,
): string[] =>
  listedByGit(ctx, path.join(ctx.root, utf8(topFolder)), gitArguments, input).map((listedName) =>
    within(topFolder, listedName),
  );

/**
 * The name as git expects it: only the slash tells git that a name which is not on the disk is a
 * folder's.
 */
const gitNameOf = ({ name, before, after }: Change): string =>
  (after ?? before)!.isDirectory() ? `${name}/` : name;
/** Whether a folder takes the place of a file or a link. */
const isReplaced = ({ before, after }: Change): boolean =>
  before !== undefined && !before.isDirectory() && after?.isDirectory() === true;
const MAX_REPOSITORIES = 50;
export const inModules = (changedName: string): string | undefined =>
  /^(.*?\/)?node_modules(?=\/)/s.exec(changedName)?.[0];
