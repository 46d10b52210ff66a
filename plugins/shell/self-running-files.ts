// What git, zz, editors, other agents and the person's shell run by themselves, in a
// project and below it.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Programs } from "zz";
import { expandHome, isInside, repositoryTop, runsByItself, stampOf } from "zz/text";
import { split } from "./judge/parse-options.ts";
import { direntsOf, isFolder, isGitFolder, realOf } from "./resolve-paths.ts";

/**
 * Files of a project that programs obey as soon as a person opens the folder, changes into it, or
 * starts a tool.
 */
const START_FILES = split(`
  .envrc .direnv .autoenv .autoenv.zsh mise.toml .mise.toml mise.local.toml .mise .mise.local.toml
  .config/mise.toml .config/mise .exrc .vimrc .nvimrc .nvim.lua .lvimrc .dir-locals.el
  .dir-locals-2.el .gdbinit .lldbinit .vscode/tasks.json .vscode/settings.json .vscode/launch.json
  .vscode/mcp.json .idea/startup.xml .idea/runConfigurations .devcontainer .devcontainer.json
  .mcp.json .claude .cursor .gemini .codex .zed/tasks.json .zed/settings.json .helix`);

/** Files of a home, which may be in the project, or be the project. */
const HOME_FILES = split(`
  .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .inputrc .zshrc .zshenv
  .zprofile .zlogin .zlogout .oh-my-zsh .config/zsh .config/fish .kshrc .cshrc .tcshrc .xprofile
  .xinitrc .xsession .xsessionrc .pam_environment .gitconfig .config/git .ssh .config/autostart
  .config/systemd .config/environment.d .local/share/applications .local/share/systemd
  .local/share/dbus-1 Library/LaunchAgents .local/bin bin .cargo/bin .vim .config/nvim .emacs
  .emacs.d .config/emacs .tmux.conf .config/tmux .screenrc .config/direnv .config/starship.toml
  .npmrc .pythonrc .irbrc .psqlrc .sqliterc .vscode .config/Code .config/mise .asdfrc .zz`);

const GIT_HOOKS = split(`
  applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg
  commit-msg post-commit pre-rebase post-checkout post-merge pre-push post-rewrite pre-auto-gc
  reference-transaction post-index-change fsmonitor-watchman sendemail-validate`);

/** Files of a git folder. */
export const IN_GIT = ["config", "config.worktree", "commondir", "gitdir", "hooks"];

export interface SelfRunningFiles {
  paths: string[]; // whether they exist or not
  hooks?: string; // a hooks folder among the project's own files, which package installers write to
}

/** The places of a project: those known by name, and those that git's configuration names. */
export function findSelfRunningFiles(
  root: string,
  gitProgram: GitProgram | undefined,
): SelfRunningFiles {
  const homeFolder = os.homedir();
  const startFiles = isInside(root, homeFolder)
    ? HOME_FILES.map((fileName) => path.join(homeFolder, fileName))
    : [];
  const fromGit = gitProgram ? filesNamedByGit(root, gitProgram) : { paths: [] };
  const namedPaths = [
    ...START_FILES.map((fileName) => path.join(root, fileName)),
    ...startFiles,
    ...fromGit.paths,
  ];
  return {
    ...fromGit,
    paths: [...new Set(namedPaths.flatMap((absolutePath) => linkAndTarget(root, absolutePath)))],
  };
}

/**
 * For a path in the project: the first link on the way to it, and the link's target; otherwise the
 * path itself.
 */
function linkAndTarget(root: string, absolutePath: string): string[] {
  let current = root;
  for (const folderName of path
    .relative(root, path.dirname(absolutePath))
    .split(path.sep)
    .filter(Boolean)) {
    current = path.join(current, folderName);
    if (!fs.lstatSync(current, { throwIfNoEntry: false })?.isSymbolicLink()) continue;
    const realFolder = realOf(current);
    if (realFolder === undefined) return [current];
    const targetPath = path.join(realFolder, path.relative(current, absolutePath));
    return [current, ...(isInside(root, targetPath) ? linkAndTarget(root, targetPath) : [])];
  }
  return [absolutePath];
}

/**
 * The project's files that git's configuration is read from, or names: hooks, filters, commands of
 * aliases.
 */
function filesNamedByGit(root: string, gitProgram: GitProgram): SelfRunningFiles {
  const topFolder = repositoryTop(root);
  if (!topFolder) return { paths: [] };
  const namedFiles = new Set<string>();
  let hooksFolder: string | undefined;
  const addFile = (candidate: string): void => {
    if (
      isInside(root, candidate) &&
      candidate !== root &&
      !isInside(path.join(root, ".git"), candidate)
    )
      namedFiles.add(candidate);
  };
  for (const { origin, key, value } of configuration(root, gitProgram)) {
    addFile(origin);
    const resolve = (pathName: string, baseFolder: string) =>
      path.resolve(baseFolder, expandHome(pathName));
    if (/^include(if\..*)?\.path$/.test(key)) addFile(resolve(value, path.dirname(origin)));
    else if (key === "core.hookspath") hooksFolder = value && resolve(value, topFolder);
    else if (!/^(remote|branch|submodule|user)\./.test(key))
      for (const settingWord of value.split(/[\s'"!;&|()=]+/).filter(Boolean)) {
        const absolutePath = resolve(settingWord, topFolder);
        if (
          isInside(root, absolutePath) &&
          fs.statSync(absolutePath, { throwIfNoEntry: false })?.isFile()
        )
          addFile(absolutePath);
      }
  }
  if (
    !hooksFolder ||
    !(isInside(root, hooksFolder) || isInside(hooksFolder, root)) ||
    isInside(path.join(root, ".git"), hooksFolder)
  )
    return { paths: [...namedFiles] };
  // it runs the hooks above
  const folder = path.basename(hooksFolder) === "_" ? path.dirname(hooksFolder) : hooksFolder;
  if (folder !== root && isInside(root, folder))
    return { paths: [...namedFiles, folder], hooks: folder };
  return {
    paths: [...namedFiles, ...GIT_HOOKS.map((hookName) => path.join(hooksFolder, hookName))],
  };
}

export interface Setting {
  origin: string;
  key: string;
  value: string;
}

/**
 * Git's settings by root. Every command needs them, so git is asked again only if a file that it
 * read has changed.
 */
const configurations = new Map<string, { stamp: string; settings: Setting[] }>();
function configuration(root: string, gitProgram: GitProgram): Setting[] {
  const remembered = configurations.get(root);
  const origins = (settings: Setting[]) => [...new Set(settings.map(({ origin }) => origin))];
  if (remembered && remembered.stamp === stampOfSettings(root, origins(remembered.settings)))
    return remembered.settings;
  const configFields =
    askGit(gitProgram, [
      "-C",
      root,
      "config",
      "--list",
      "-z",
      "--show-origin",
      "--includes",
    ])?.split("\0") ?? [];
  const settings = configFields.flatMap((originField, i) => {
    if (i % 2 || configFields[i + 1] === undefined) return [];
    const origin = path.resolve(root, originField.replace(/^file:/, ""));
    return [{ origin, ...parseGitSetting(configFields[i + 1]!) }];
  });
  configurations.set(root, { stamp: stampOfSettings(root, origins(settings)), settings });
  return settings;
}

/**
 * Changes with the files that git read, those that it could read, and the branch, which an include
 * may depend on.
 */
function stampOfSettings(root: string, origins: string[]): string {
  const configHome = process.env.XDG_CONFIG_HOME ?? path.join(os.homedir(), ".config");
  const gitFolder = path.join(repositoryTop(root) ?? root, ".git");
  const usualFiles = [
    path.join(os.homedir(), ".gitconfig"),
    path.join(configHome, "git/config"),
    "/etc/gitconfig",
    gitFolder,
  ];
  const repositoryFiles = ["config", "config.worktree", "HEAD"].map((fileName) =>
    path.join(gitFolder, fileName),
  );
  const fileStamps = [...usualFiles, ...repositoryFiles, ...origins].map(stampOf);
  return [process.env.GIT_CONFIG_GLOBAL, process.env.GIT_CONFIG_SYSTEM, ...fileStamps].join();
}

export function parseGitSetting(settingText: string): { key: string; value: string } {
  const lineEnd = settingText.indexOf("\n");
  return lineEnd < 0
    ? { key: settingText, value: "" }
    : { key: settingText.slice(0, lineEnd), value: settingText.slice(lineEnd + 1) };
}

/** Which git to ask, and how to start it. */
export type GitProgram = { programs: Programs; program: string };

/** Runs git, only for questions that make it run nothing else. */
export function askGit(
  { programs, program }: GitProgram,
  gitArguments: string[],
  inputBytes?: Buffer,
): string | undefined {
  const environment = Object.fromEntries(
    Object.entries(process.env).filter(([variable]) => !/^GIT_(?!CONFIG_)/.test(variable)),
  );
  try {
    const { status, stdout } = programs.run(program, gitArguments, {
      env: { ...environment, GIT_ALLOW_PROTOCOL: "none", LC_ALL: "C.UTF-8" },
      input: inputBytes ?? "",
      stdio: ["pipe", "pipe", "ignore"],
      timeout: 5_000,
      maxBuffer: 1 << 24,
    });
    return status === 0 ? stdout.toString() : undefined;
  } catch {
    return undefined; // no git, or a configuration that git cannot read, and so runs nothing from
  }
}

// ── repositories ─────────────────────────────────────────────────────────────────────────────────

export interface ProjectScan {
  folders: string[]; // git folders: each has a configuration
  gitPointers: string[]; // files and links named .git that lead to a git folder
  startFiles: string[]; // what programs obey or run by themselves, outside of git folders
  hardLinked: string[]; // files that also have a name outside of the project
  endpoints: string[]; // sockets and FIFOs
}

const MAX_FOLDERS = 20_000;
const MAX_FILES = 20_000; // checked for hard links

/**
 * Searches a project, nearest folders first, without installed packages, in which a person does not
 * work.
 */
export function scanProject(root: string, checksLinks = true): ProjectScan {
  const projectScan: ProjectScan = {
    folders: [],
    gitPointers: [],
    startFiles: [],
    hardLinked: [],
    endpoints: [],
  };
  const folderQueue = [root];
  let checkedFiles = 0;
  const linkedFiles = new Map<string, { names: string[]; links: number }>();
  for (let i = 0; i < folderQueue.length && i < MAX_FOLDERS; i++) {
    const folderEntries = direntsOf(folderQueue[i]!);
    if (i && isGitFolder(folderEntries.map(({ name }) => name))) {
      projectScan.folders.push(...gitFolders(folderQueue[i]!)); // a bare repository
      continue;
    }
    for (const child of folderEntries) {
      const absolutePath = path.join(folderQueue[i]!, child.name);
      if (child.name === ".git") {
        if (child.isDirectory()) projectScan.folders.push(...gitFolders(absolutePath));
        else projectScan.gitPointers.push(absolutePath);
      } else if (child.isDirectory()) {
        if (child.name !== "node_modules") folderQueue.push(absolutePath);
      } else if (folderQueue[i] !== root && runsByItself(absolutePath))
        projectScan.startFiles.push(absolutePath);
      else if (child.isSocket() || child.isFIFO()) projectScan.endpoints.push(absolutePath);
      else if (checksLinks && child.isFile() && checkedFiles++ < MAX_FILES) countLink(absolutePath);
    }
  }
  projectScan.hardLinked = [...linkedFiles.values()].flatMap((linkedFile) =>
    linkedFile.names.length < linkedFile.links ? linkedFile.names : [],
  );
  return projectScan;

  function countLink(filePath: string): void {
    const fileStats = fs.lstatSync(filePath, { throwIfNoEntry: false });
    if (!fileStats || fileStats.nlink < 2) return;
    const inodeKey = `${fileStats.dev} ${fileStats.ino}`;
    const linkedFile = linkedFiles.get(inodeKey) ?? { names: [], links: fileStats.nlink };
    linkedFile.names.push(filePath);
    linkedFiles.set(inodeKey, linkedFile);
  }
}

/** A repository's own folder, and those of its worktrees and submodules. */
export function gitFolders(gitFolder: string): string[] {
  const subfolders = (groupName: string) =>
    direntsOf(path.join(gitFolder, groupName)).flatMap((dirent) =>
      dirent.isDirectory() ? [path.join(gitFolder, groupName, dirent.name)] : [],
    );
  return [gitFolder, ...subfolders("worktrees"), ...subfolders("modules").flatMap(moduleFolders)];
}

/** A submodule's name may contain slashes. */
function moduleFolders(moduleFolder: string): string[] {
  if (
    ["HEAD", "config", "objects"].some((fileName) =>
      fs.existsSync(path.join(moduleFolder, fileName)),
    )
  )
    return gitFolders(moduleFolder);
  return direntsOf(moduleFolder).flatMap((dirent) =>
    dirent.isDirectory() ? moduleFolders(path.join(moduleFolder, dirent.name)) : [],
  );
}

/**
 * Packages whose files are hard links into a store in the home, as pnpm, bun and uv make them:
 * other projects share them.
 */
export function findLinkedPackages(root: string): string[] {
  const modules = path.join(root, "node_modules");
  const isHardLinked = (filePath: string): boolean =>
    (fs.statSync(filePath, { throwIfNoEntry: false })?.nlink ?? 1) > 1;
  const hasLinkedSample = (folder: string, sampleName: string) =>
    direntsOf(folder)
      .filter((dirent) => dirent.isDirectory() && !dirent.name.startsWith("."))
      .slice(0, 20)
      .some((dirent) => isHardLinked(path.join(folder, dirent.name, sampleName)));
  const isStored = (folder: string): boolean => {
    const scopeDirent = direntsOf(folder).find((dirent) => dirent.name.startsWith("@"));
    return (
      hasLinkedSample(folder, "package.json") ||
      (!!scopeDirent && hasLinkedSample(path.join(folder, scopeDirent.name), "package.json"))
    );
  };
  const pnpmStore = path.join(modules, ".pnpm");
  const packageDirent = direntsOf(pnpmStore).find(
    (dirent) => dirent.isDirectory() && dirent.name.includes("@"),
  );
  const pnpmModules = packageDirent && path.join(pnpmStore, packageDirent.name, "node_modules");
  return [...findNodeStores(), ...findPythonStores()];

  function findNodeStores(): string[] {
    if (isStored(modules)) return [modules];
    return pnpmModules && isStored(pnpmModules) ? [pnpmStore] : [];
  }

  function findPythonStores(): string[] {
    return [".venv", "venv"].flatMap((folderName) => {
      const libFolder = path.join(root, folderName, "lib");
      const sitePackages = direntsOf(libFolder).map((dirent) =>
        path.join(libFolder, dirent.name, "site-packages"),
      );
      return sitePackages.filter(
        (absolutePath) =>
          isFolder(absolutePath) &&
          (hasLinkedSample(absolutePath, "__init__.py") ||
            hasLinkedSample(absolutePath, "METADATA")),
      );
    });
  }
}
