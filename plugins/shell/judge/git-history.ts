// What git keeps of secret files: in its index, and in everything that was ever committed, stashed
// or amended away.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { tryTo } from "zz/text";
import { collect } from "../collect-output.ts";
import type { FileFacts } from "./judge-state.ts";

/** What is known about the repository that the folder is in. */
export interface GitSecrets {
  index: boolean; // whether a file that git tracks now may contain secrets
  history: boolean; // or any file that it ever tracked
  // whether a folder of what git tracks is a link now, so that git grep searches what it leads to
  linked?: boolean;
  folder?: string | undefined; // where it keeps its objects
  // whether the commit was examined: other objects have no file name to judge by
  knows(hash: string): boolean;
}

// to examine a history; after that it counts as one that may contain secrets
const TIMEOUT_MS = 2_000;
/** Everything that a name can lead to: refs, their reflogs, and heads that are not refs. */
const ALL_REFS = [
  "--all",
  "--reflog",
  "--ignore-missing",
  "HEAD",
  "FETCH_HEAD",
  "ORIG_HEAD",
  "MERGE_HEAD",
  "CHERRY_PICK_HEAD",
  "REVERT_HEAD",
  "REBASE_HEAD",
  "BISECT_HEAD",
  "AUTO_MERGE",
];
const NAMES = [
  "-z",
  "-c",
  "--root",
  "--no-renames",
  "--name-only",
  "--no-ext-diff",
  "--no-textconv",
  "--no-notes",
];

type History = { history: boolean; hashes: Set<string> };
const histories = new Map<string, History>(); // by the folder and all commits that its refs lead to

export async function secretsInGit({
  root,
  git,
  programs,
  permissions,
  signal,
  io,
}: Ctx): Promise<GitSecrets> {
  const ask: AskGit = (args, take) =>
    collect(
      programs.start("git", [...git.quiet, "-c", "log.showRoot=true", ...args], {
        cwd: root,
        env: git.env(),
      }),
      { signal: AbortSignal.any([signal, io.clock.limit(TIMEOUT_MS)]), ...(take && { take }) },
    );
  const nothing = { index: false, history: false, knows: () => true };
  const unknown = { index: true, history: true, knows: () => false };
  if (!programs.find("git")) return nothing;
  const folder = repositoryAt(fs.realpathSync(root));
  if (folder === undefined) return nothing;
  if (isEmpty(folder)) return { ...nothing, knows: () => false };

  const [{ tracked, holdsSecret, linked }, tips] = await Promise.all([
    readIndex(ask, folder, permissions),
    ask(["rev-parse", "--all", "HEAD", "FETCH_HEAD"]),
  ]);
  if (tracked.code) {
    if (/not a git repository/.test(tracked.stderr)) return nothing;
    if ((await ask(["rev-parse", "--git-dir"])).code) return unknown;
  }
  const key = `${root}\0${tips.stdout}`;
  if (!histories.has(key)) {
    histories.clear(); // older states are not needed any more
    histories.set(key, await readHistory(ask, permissions, !tips.stdout.trim()));
  }
  const { history, hashes } = histories.get(key)!;
  const gitFolder = tryTo(() => fs.realpathSync(path.join(folder, ".git")));
  return {
    index: holdsSecret || tracked.code !== 0,
    history,
    linked,
    folder: gitFolder,
    knows: (hash) => startsAnyHash(hashes, hash.toLowerCase()),
  };
}

type AskGit = (args: string[], take?: (piece: string) => boolean) => ReturnType<typeof collect>;

/** Up to the first file with secrets. */
async function readIndex(ask: AskGit, folder: string, permissions: Ctx["permissions"]) {
  let [holdsSecret, linked] = [false, false];
  const folders = new Set<string>();
  const isLinked = (name: string): boolean => {
    const dir = path.dirname(name);
    if (dir === "." || folders.has(dir)) return false;
    folders.add(dir);
    const stat = fs.lstatSync(path.join(folder, dir), { throwIfNoEntry: false });
    return stat?.isSymbolicLink() || isLinked(dir);
  };
  const takeName = (name: string) => {
    linked ||= isLinked(name);
    return !(holdsSecret = permissions.secret(name));
  };
  const tracked = await ask(["ls-files", "-z", "--full-name", ":/"], takeName);
  return { tracked, holdsSecret, linked };
}

async function readHistory(
  ask: AskGit,
  permissions: Ctx["permissions"],
  hasNoTips: boolean,
): Promise<History> {
  const hashes = new Set<string>();
  let history = false;
  const take = (piece: string) => {
    const hash = /^\n?commit:([0-9a-f]+)\n?$/.exec(piece)?.[1];
    if (hash) hashes.add(hash);
    else history ||= permissions.secret(piece.replace(/^\n/, ""));
    return !history;
  };
  const { code } = await ask(["log", "--format=commit:%H", ...NAMES, ...ALL_REFS], take);
  const empty = code === 128 && hasNoTips; // no commit yet
  return { history: history || (code !== 0 && !empty), hashes };
}

const isThere = (folder: string, name: string) =>
  fs.lstatSync(path.join(folder, name), { throwIfNoEntry: false }) !== undefined;
const isRepository = (folder: string) =>
  ["HEAD", "objects", "refs"].every((name) => isThere(folder, name));

/**
 * Whether a path leads to what a repository keeps of its files, which may be a secret that is gone
 * from the files.
 */
export function keepsSecrets(absolutePath: string, { git, needsGit }: FileFacts): boolean {
  const real = tryTo(() => fs.realpathSync(absolutePath)) ?? absolutePath;
  for (const { index } of real.matchAll(/\/objects(?=\/|$)/g)) {
    const parent = real.slice(0, index);
    const store = [parent, path.dirname(parent)].find(isRepository); // of git-lfs: .git/lfs/objects
    if (store === undefined) continue;
    if (!git) needsGit?.();
    if (!git || git.folder !== store || git.index || git.history) return true;
  }
  return false;
}
export const KEEPS = "it would read what git keeps of files, which may hold a secret";

/**
 * The folder in which git may find a repository, here or above: spares starting git. A bare one
 * counts, too.
 */
export function repositoryAt(folder: string): string | undefined {
  if (isThere(folder, ".git") || isRepository(folder)) return folder;
  return folder === path.dirname(folder) ? undefined : repositoryAt(path.dirname(folder));
}

/**
 * Whether its repository tracks no file and holds no object, as after `git init`: whatever a ref
 * says, git can show nothing.
 */
function isEmpty(folder: string): boolean {
  const namesIn = (...names: string[]) =>
    tryTo(() => fs.readdirSync(path.join(folder, ".git", ...names)));
  const [inGitFolder, objects] = [namesIn(), namesIn("objects")];
  if (
    !inGitFolder ||
    !objects ||
    inGitFolder.includes("index") ||
    inGitFolder.includes("commondir")
  )
    return false;
  return objects.every(
    (name) => /^(info|pack)$/.test(name) && namesIn("objects", name)?.length === 0,
  );
}

function startsAnyHash(hashes: Set<string>, hash: string): boolean {
  if (hashes.has(hash)) return true;
  for (const otherHash of hashes) if (otherHash.startsWith(hash)) return true;
  return false;
}
