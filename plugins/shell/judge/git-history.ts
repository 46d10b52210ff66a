// What git keeps of secret files: in its index, and in everything that was ever committed, stashed
// or amended away.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { tryTo } from "zz/text";
import { collect } from "../collect-output.ts";
import type { FileFacts } from "./judge-state.ts";
import { split } from "./parse-options.ts";

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
const ALL_REFS = split(`--all --reflog --ignore-missing HEAD FETCH_HEAD ORIG_HEAD MERGE_HEAD
  CHERRY_PICK_HEAD REVERT_HEAD REBASE_HEAD BISECT_HEAD AUTO_MERGE`);
const NAME_OPTIONS = split(
  "-z -c --root --no-renames --name-only --no-ext-diff --no-textconv --no-notes",
);

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
  const askGit: AskGit = (gitArguments, take) =>
    collect(
      programs.start("git", [...git.quiet, "-c", "log.showRoot=true", ...gitArguments], {
        cwd: root,
        env: git.env(),
      }),
      { signal: AbortSignal.any([signal, io.clock.limit(TIMEOUT_MS)]), ...(take && { take }) },
    );
  const nothing = { index: false, history: false, knows: () => true };
  const unknown = { index: true, history: true, knows: () => false };
  if (!programs.find("git")) return nothing;
  const topFolder = repositoryAt(fs.realpathSync(root));
  if (topFolder === undefined) return nothing;
  if (isEmpty(topFolder)) return { ...nothing, knows: () => false };

  const [{ tracked, holdsSecret, linked }, refTips] = await Promise.all([
    readIndex(askGit, topFolder, permissions),
    askGit(["rev-parse", "--all", "HEAD", "FETCH_HEAD"]),
  ]);
  if (tracked.code) {
    if (/not a git repository/.test(tracked.stderr)) return nothing;
    if ((await askGit(["rev-parse", "--git-dir"])).code) return unknown;
  }
  const historyKey = `${root}\0${refTips.stdout}`;
  if (!histories.has(historyKey)) {
    histories.clear(); // older states are not needed any more
    histories.set(historyKey, await readHistory(askGit, permissions, !refTips.stdout.trim()));
  }
  const { history, hashes } = histories.get(historyKey)!;
  const gitFolder = tryTo(() => fs.realpathSync(path.join(topFolder, ".git")));
  return {
    index: holdsSecret || tracked.code !== 0,
    history,
    linked,
    folder: gitFolder,
    knows: (hash) => [...hashes].some((known) => known.startsWith(hash.toLowerCase())),
  };
}

type AskGit = (
  gitArguments: string[],
  takePiece?: (outputPiece: string) => boolean,
) => ReturnType<typeof collect>;

/** Up to the first file with secrets. */
async function readIndex(askGit: AskGit, topFolder: string, permissions: Ctx["permissions"]) {
  let [holdsSecret, linked] = [false, false];
  const folders = new Set<string>();
  const isLinked = (fileName: string): boolean => {
    const parentFolder = path.dirname(fileName);
    if (parentFolder === "." || folders.has(parentFolder)) return false;
    folders.add(parentFolder);
    const folderStats = fs.lstatSync(path.join(topFolder, parentFolder), { throwIfNoEntry: false });
    return folderStats?.isSymbolicLink() || isLinked(parentFolder);
  };
  const takeName = (fileName: string) => {
    linked ||= isLinked(fileName);
    holdsSecret = permissions.secret(fileName);
    return !holdsSecret;
  };
  const tracked = await askGit(["ls-files", "-z", "--full-name", ":/"], takeName);
  return { tracked, holdsSecret, linked };
}

async function readHistory(
  askGit: AskGit,
  permissions: Ctx["permissions"],
  hasNoTips: boolean,
): Promise<History> {
  const hashes = new Set<string>();
  let history = false;
  const takePiece = (outputPiece: string) => {
    const commitHash = /^\n?commit:([0-9a-f]+)\n?$/.exec(outputPiece)?.[1];
    if (commitHash) hashes.add(commitHash);
    else history ||= permissions.secret(outputPiece.replace(/^\n/, ""));
    return !history;
  };
  const { code } = await askGit(
    ["log", "--format=commit:%H", ...NAME_OPTIONS, ...ALL_REFS],
    takePiece,
  );
  const hasNoCommit = code === 128 && hasNoTips; // no commit yet
  return { history: history || (code !== 0 && !hasNoCommit), hashes };
}

const isThere = (folder: string, entryName: string) =>
  fs.lstatSync(path.join(folder, entryName), { throwIfNoEntry: false }) !== undefined;
const isRepository = (folder: string) =>
  ["HEAD", "objects", "refs"].every((entryName) => isThere(folder, entryName));

/**
 * Whether a path leads to what a repository keeps of its files, which may be a secret that is gone
 * from the files.
 */
export function keepsSecrets(absolutePath: string, { git, needsGit }: FileFacts): boolean {
  const realPath = tryTo(() => fs.realpathSync(absolutePath)) ?? absolutePath;
  for (const { index } of realPath.matchAll(/\/objects(?=\/|$)/g)) {
    const parentFolder = realPath.slice(0, index);
    // of git-lfs: .git/lfs/objects
    const gitFolder = [parentFolder, path.dirname(parentFolder)].find(isRepository);
    if (gitFolder === undefined) continue;
    if (!git) needsGit?.();
    if (!git || git.folder !== gitFolder || git.index || git.history) return true;
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
  const namesIn = (...pathParts: string[]) =>
    tryTo(() => fs.readdirSync(path.join(folder, ".git", ...pathParts)));
  const [inGitFolder, objects] = [namesIn(), namesIn("objects")];
  if (
    !inGitFolder ||
    !objects ||
    inGitFolder.includes("index") ||
    inGitFolder.includes("commondir")
  )
    return false;
  return objects.every(
    (entryName) => /^(info|pack)$/.test(entryName) && namesIn("objects", entryName)?.length === 0,
  );
}
