// What git, zz, editors, other agents and the person's shell run by themselves, in a
// project and below it.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Programs } from "zz";
import { isInside, repositoryTop, runsByItself, stampOf } from "zz/text";
import { split } from "./judge/parse-options.ts";
import { direntsOf, isFolder } from "./resolve-paths.ts";

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
const HOME = split(`
  .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .inputrc .zshrc .zshenv
  .zprofile .zlogin .zlogout .oh-my-zsh .config/zsh .config/fish .kshrc .cshrc .tcshrc .xprofile
  .xinitrc .xsession .xsessionrc .pam_environment .gitconfig .config/git .ssh .config/autostart
  .config/systemd .config/environment.d .local/share/applications .local/share/systemd
  .local/share/dbus-1 Library/LaunchAgents .local/bin bin .cargo/bin .vim .config/nvim .emacs
  .emacs.d .config/emacs .tmux.conf .config/tmux .screenrc .config/direnv .config/starship.toml
  .npmrc .pythonrc .irbrc .psqlrc .sqliterc .vscode .config/Code .config/mise .asdfrc .zz`);

const HOOKS = split(`
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
export function findSelfRunningFiles(root: string, git: GitProgram | undefined): SelfRunningFiles {
  const home = os.homedir();
  const startFiles = isInside(root, home) ? HOME.map((name) => path.join(home, name)) : [];
  const fromGit = git ? filesNamedByGit(root, git) : { paths: [] };
  const named = [
    ...START_FILES.map((name) => path.join(root, name)),
    ...startFiles,
    ...fromGit.paths,
  ];
  return {
    ...fromGit,
    paths: [...new Set(named.flatMap((absolutePath) => linkAndTarget(root, absolutePath)))],
  };
}

/**
 * For a path in the project: the first link on the way to it, and the link's target; otherwise the
 * path itself.
 */
function linkAndTarget(root: string, absolutePath: string): string[] {
  let current = root;
  for (const part of path
    .relative(root, path.dirname(absolutePath))
    .split(path.sep)
    .filter(Boolean)) {
    current = path.join(current, part);
    if (!fs.lstatSync(current, { throwIfNoEntry: false })?.isSymbolicLink()) continue;
    let real: string;
    try {
      real = fs.realpathSync(current);
    } catch {
      return [current];
    }
    const there = path.join(real, path.relative(current, absolutePath));
    return [current, ...(isInside(root, there) ? linkAndTarget(root, there) : [])];
  }
  return [absolutePath];
}

/**
 * The project's files that git's configuration is read from, or names: hooks, filters, commands of
 * aliases.
 */
function filesNamedByGit(root: string, git: GitProgram): SelfRunningFiles {
  const top = repositoryTop(root);
  if (!top) return { paths: [] };
  const files = new Set<string>();
  let hooks: string | undefined;
  const add = (file: string): void => {
    if (isInside(root, file) && file !== root && !isInside(path.join(root, ".git"), file))
      files.add(file);
  };
  for (const { origin, key, value } of configuration(root, git)) {
    add(origin);
    const resolve = (name: string, from: string) =>
      path.resolve(from, name.replace(/^~(?=\/)/, os.homedir()));
    if (/^include(if\..*)?\.path$/.test(key)) add(resolve(value, path.dirname(origin)));
    else if (key === "core.hookspath") hooks = value && resolve(value, top);
    else if (!/^(remote|branch|submodule|user)\./.test(key))
      for (const word of value.split(/[\s'"!;&|()=]+/).filter(Boolean)) {
        const absolutePath = resolve(word, top);
        if (
          isInside(root, absolutePath) &&
          fs.statSync(absolutePath, { throwIfNoEntry: false })?.isFile()
        )
          add(absolutePath);
      }
  }
  if (
    !hooks ||
    !(isInside(root, hooks) || isInside(hooks, root)) ||
    isInside(path.join(root, ".git"), hooks)
  )
    return { paths: [...files] };
  // it runs the hooks above
  const folder = path.basename(hooks) === "_" ? path.dirname(hooks) : hooks;
  if (folder !== root && isInside(root, folder))
    return { paths: [...files, folder], hooks: folder };
  return { paths: [...files, ...HOOKS.map((name) => path.join(hooks, name))] };
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
function configuration(root: string, git: GitProgram): Setting[] {
  const remembered = configurations.get(root);
  const origins = (settings: Setting[]) => [...new Set(settings.map(({ origin }) => origin))];
  if (remembered && remembered.stamp === stampOfSettings(root, origins(remembered.settings)))
    return remembered.settings;
  const output =
    askGit(git, ["-C", root, "config", "--list", "-z", "--show-origin", "--includes"])?.split(
      "\0",
    ) ?? [];
  const settings = output.flatMap((text, i) => {
    if (i % 2 || output[i + 1] === undefined) return [];
    const origin = path.resolve(root, text.replace(/^file:/, ""));
    return [{ origin, ...parseGitSetting(output[i + 1]!) }];
  });
  configurations.set(root, { stamp: stampOfSettings(root, origins(settings)), settings });
  return settings;
}

/**
 * Changes with the files that git read, those that it could read, and the branch, which an include
 * may depend on.
 */
function stampOfSettings(root: string, origins: string[]): string {
  const home = process.env.XDG_CONFIG_HOME ?? path.join(os.homedir(), ".config");
  const top = path.join(repositoryTop(root) ?? root, ".git");
  const usual = [
    path.join(os.homedir(), ".gitconfig"),
    path.join(home, "git/config"),
    "/etc/gitconfig",
    top,
  ];
  const repositoryFiles = ["config", "config.worktree", "HEAD"].map((name) => path.join(top, name));
  const files = [...usual, ...repositoryFiles, ...origins].map(stampOf);
  return [process.env.GIT_CONFIG_GLOBAL, process.env.GIT_CONFIG_SYSTEM, ...files].join();
}

export function parseGitSetting(text: string): { key: string; value: string } {
  const lineEnd = text.indexOf("\n");
  return lineEnd < 0
    ? { key: text, value: "" }
    : { key: text.slice(0, lineEnd), value: text.slice(lineEnd + 1) };
}

/** Which git to ask, and how to start it. */
export type GitProgram = { programs: Programs; program: string };

/** Runs git, only for questions that make it run nothing else. */
export function askGit(
  { programs, program }: GitProgram,
  args: string[],
  input?: Buffer,
): string | undefined {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^GIT_(?!CONFIG_)/.test(name)),
  );
  try {
    const { status, stdout } = programs.run(program, args, {
      env: { ...env, GIT_ALLOW_PROTOCOL: "none", LC_ALL: "C.UTF-8" },
      input: input ?? "",
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
  isIncomplete: boolean; // there was too much to look at everything
}

const MAX_FOLDERS = 20_000;
const MAX_FILES = 20_000; // checked for hard links

/**
 * Searches a project, nearest folders first, without installed packages, in which a person does not
 * work.
 */
export function findRepositories(root: string, links = true): ProjectScan {
  const scan: ProjectScan = {
    folders: [],
    gitPointers: [],
    startFiles: [],
    hardLinked: [],
    endpoints: [],
    isIncomplete: false,
  };
  const queue = [root];
  let files = 0;
  const named = new Map<string, { names: string[]; links: number }>();
  for (let i = 0; i < queue.length && i < MAX_FOLDERS; i++) {
    const inside = direntsOf(queue[i]!);
    const has = (name: string) => inside.some((dirent) => dirent.name === name);
    if (i && has("HEAD") && has("objects") && has("refs")) {
      scan.folders.push(...gitFolders(queue[i]!)); // a bare repository
      continue;
    }
    for (const child of inside) {
      const absolutePath = path.join(queue[i]!, child.name);
      if (child.name === ".git") {
        if (child.isDirectory()) scan.folders.push(...gitFolders(absolutePath));
        else scan.gitPointers.push(absolutePath);
      } else if (child.isDirectory()) {
        if (child.name !== "node_modules") queue.push(absolutePath);
      } else if (queue[i] !== root && runsByItself(absolutePath))
        scan.startFiles.push(absolutePath);
      else if (child.isSocket() || child.isFIFO()) scan.endpoints.push(absolutePath);
      else if (links && child.isFile() && files++ < MAX_FILES) countLink(absolutePath);
    }
  }
  scan.isIncomplete = queue.length > MAX_FOLDERS;
  scan.hardLinked = [...named.values()].flatMap((linkedFile) =>
    linkedFile.names.length < linkedFile.links ? linkedFile.names : [],
  );
  return scan;

  function countLink(file: string): void {
    const stat = fs.lstatSync(file, { throwIfNoEntry: false });
    if (!stat || stat.nlink < 2) return;
    const key = `${stat.dev} ${stat.ino}`;
    const linkedFile = named.get(key) ?? { names: [], links: stat.nlink };
    linkedFile.names.push(file);
    named.set(key, linkedFile);
  }
}

/** A repository's own folder, and those of its worktrees and submodules. */
export function gitFolders(git: string): string[] {
  const subfolders = (name: string) =>
    direntsOf(path.join(git, name)).flatMap((dirent) =>
      dirent.isDirectory() ? [path.join(git, name, dirent.name)] : [],
    );
  return [
    git,
    ...subfolders("worktrees"),
    ...subfolders("modules").flatMap((folder) => moduleFolders(folder)),
  ];
}

/** A submodule's name may contain slashes. */
function moduleFolders(folder: string): string[] {
  if (["HEAD", "config", "objects"].some((name) => fs.existsSync(path.join(folder, name))))
    return gitFolders(folder);
  return direntsOf(folder).flatMap((dirent) =>
    dirent.isDirectory() ? moduleFolders(path.join(folder, dirent.name)) : [],
  );
}

/**
 * Packages whose files are hard links into a store in the home, as pnpm, bun and uv make them:
 * other projects share them.
 */
export function stores(root: string): string[] {
  const modules = path.join(root, "node_modules");
  const linked = (file: string): boolean =>
    (fs.statSync(file, { throwIfNoEntry: false })?.nlink ?? 1) > 1;
  const sample = (folder: string, file: string) =>
    direntsOf(folder)
      .filter((dirent) => dirent.isDirectory() && !dirent.name.startsWith("."))
      .slice(0, 20)
      .some((dirent) => linked(path.join(folder, dirent.name, file)));
  const isStored = (folder: string): boolean => {
    const scope = direntsOf(folder).find((dirent) => dirent.name.startsWith("@"));
    return (
      sample(folder, "package.json") ||
      (!!scope && sample(path.join(folder, scope.name), "package.json"))
    );
  };
  const pnpm = path.join(modules, ".pnpm");
  const packageDirent = direntsOf(pnpm).find(
    (dirent) => dirent.isDirectory() && dirent.name.includes("@"),
  );
  const inPnpm = packageDirent && path.join(pnpm, packageDirent.name, "node_modules");
  return [...node(), ...python()];

  function node(): string[] {
    if (isStored(modules)) return [modules];
    return inPnpm && isStored(inPnpm) ? [pnpm] : [];
  }

  function python(): string[] {
    return [".venv", "venv"].flatMap((name) => {
      const lib = path.join(root, name, "lib");
      const sites = direntsOf(lib).map((dirent) => path.join(lib, dirent.name, "site-packages"));
      return sites.filter(
        (absolutePath) =>
          isFolder(absolutePath) &&
          (sample(absolutePath, "__init__.py") || sample(absolutePath, "METADATA")),
      );
    });
  }
}
