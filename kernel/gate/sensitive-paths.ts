// Places that are not an ordinary project, and files that run by themselves some day: less is
// allowed there without asking.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { entriesOf, isInside, repositoryTop, textOf } from "../text/read-quietly.ts";
import { tryTo } from "../text/words.ts";
import runs from "./run-by-themselves.json" with { type: "json" };
import { foldPath } from "./secret-files.ts";

/** Where accounts are: this one's, by both of its names, and everybody else's. */
function findHomes(): string[] {
  const ownHomes = [os.homedir(), tryTo(() => os.userInfo().homedir) ?? ""];
  const accountHomes = textOf("/etc/passwd")
    .split("\n")
    .flatMap((passwdRow) => {
      const [, , id = "", , , accountHome = "", loginShell = ""] = passwdRow.split(":");
      return (id === "0" || Number(id) >= 1_000) && !/(nologin|false)$/.test(loginShell)
        ? [accountHome]
        : [];
    });
  const allHomes = [...ownHomes, ...accountHomes].filter(
    (accountHome) => path.isAbsolute(accountHome) && accountHome !== "/",
  );
  return [
    ...new Set(
      allHomes.flatMap((accountHome) => [
        accountHome,
        tryTo(() => fs.realpathSync(accountHome)) ?? accountHome,
      ]),
    ),
  ];
}
let cachedHomes: { key: string; homes: string[] } | undefined;
/** Computed once, unless HOME changes. */
function knownHomes(): string[] {
  const key = os.homedir();
  if (cachedHomes?.key !== key) cachedHomes = { key, homes: findHomes() };
  return cachedHomes.homes;
}

/** Why a folder is not an ordinary project; undefined if it is one. */
export function whyNotProject(root: string): string | undefined {
  if (path.dirname(root) === root) return "the whole disk";
  if (knownHomes().includes(root)) return "a home directory";
  if (
    ["/home", "/Users"].includes(root) ||
    knownHomes().some((knownHome) => isInside(root, knownHome))
  )
    return "a folder with home directories in it";
  return undefined;
}

/** The repository around a folder; undefined where its top may not be a project, such as a home. */
export function repositoryAround(startFolder: string): string | undefined {
  const topFolder = repositoryTop(startFolder);
  return topFolder && !whyNotProject(topFolder) ? topFolder : undefined;
}

/**
 * The home and the name in it, for a file behind a dot in a home, where programs keep their
 * settings, or in a Mac's Library.
 */
export function behindDot(filePath: string): { home: string; name: string } | undefined {
  const namesAtHome = knownHomes().map((home) => ({
    home,
    name: isInside(home, filePath) ? path.relative(home, filePath) : "",
  }));
  return namesAtHome.find(({ name }) => /^\.|^Library(\/|$)/i.test(name));
}

/**
 * Git takes any folder with these in it for a repository, whatever its name, and obeys its
 * settings.
 */
const OF_REPOSITORY = ["HEAD", "objects", "refs"];
const OBEYED_BY_GIT = /^(HEAD|objects|refs|config|hooks|commondir)$/;
/**
 * Those of some files that are the settings or a hook of such a folder, or the last things that it
 * lacks to be one.
 */
export function partsOfRepositories(filePaths: readonly string[]): Set<string> {
  const obeyedParts = filePaths.flatMap((filePath) => {
    const names = filePath.split("/");
    return names.flatMap((name, i) =>
      i > 0 && OBEYED_BY_GIT.test(name)
        ? { folder: names.slice(0, i).join("/"), name, filePath }
        : [],
    );
  });
  const newRepositories = [...Map.groupBy(obeyedParts, ({ folder }) => folder)].filter(
    ([folder, parts]) => lacksNothing([...entriesOf(folder), ...parts.map(({ name }) => name)]),
  );
  return new Set(newRepositories.flatMap(([, parts]) => parts.map(({ filePath }) => filePath)));
}
const lacksNothing = (folderNames: string[]): boolean =>
  OF_REPOSITORY.every((requiredName) => folderNames.includes(requiredName));

/** Whether a file holds the settings of such a folder, or of a worktree: a token, maybe. */
export function configuresRepository(filePath: string): boolean {
  if (!/^config(\.worktree)?$/i.test(path.basename(filePath))) return false;
  const existingNames = entriesOf(path.dirname(filePath));
  return existingNames.includes("commondir") || lacksNothing(existingNames);
}

/**
 * What runs by itself wherever it is: git's files and hooks, zz's own, editors' tasks, other
 * agents' programs.
 */
const RUN_BY_THEMSELVES = new RegExp(`(^|/)(${runs.anywhere.join("|")})`);
/** The same in a home, by the name in it. */
const RUNS_AT_HOME = new RegExp(`^(${runs.home.join("|")})`);
/** The same in the system. */
const RUNS_IN_SYSTEM = new RegExp(`^/(${runs.system.join("|")})(/|$)`);

export function runsByItself(filePath: string): boolean {
  const foldedPath = foldPath(filePath);
  if (partsOfRepositories([filePath]).size) return true;
  if (RUN_BY_THEMSELVES.test(foldedPath) || RUNS_IN_SYSTEM.test(foldedPath)) return true;
  const nameAtHome = behindDot(filePath)?.name;
  return nameAtHome !== undefined && RUNS_AT_HOME.test(foldPath(nameAtHome));
}
