// What a project brings with it that would run, or show more, when somebody only looks: programs in PATH, git's own settings.
import fs from "node:fs";
import path from "node:path";

/** Whether bash would take this name from the project: npx and npm put node_modules/.bin into PATH. */
export function isBrought(name: string, cwd: string, folders = ""): boolean {
  if (name.includes("/")) return false;
  const root = realOf(cwd);
  for (const folder of folders.split(path.delimiter)) {
    const file = path.resolve(cwd, folder, name);
    if (!isProgram(file)) continue;
    return [file, realOf(file)].some((one) => isInside(root, one));
  }
  return false;
}

const isInside = (folder: string, file: string): boolean => file === folder || file.startsWith(`${folder}/`);

function realOf(file: string): string {
  try {
    return fs.realpathSync(file);
  } catch {
    return file;
  }
}

function isProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Settings that name a program, another file or another folder. They may stand behind their section, on its line. */
const TELLING =
  /\b(\w*fsmonitor\w*|external|textconv|clean|process|program|showsignature|\w*command|hookspath|uploadpack|vcs|gitproxy|worktree|ignorerevsfile)[ \t]*([=#;\r]|$)|^[ \t]*\[[ \t]*(include)/im;

/** The setting or the hook by which a repository makes git run something, even where git only looks. */
export function ownPrograms(folder: string | undefined): string | undefined {
  for (const git of repositories(folder)) {
    for (const name of ["config", "config.worktree"]) {
      const text = textOf(path.join(git, name));
      if (text === undefined) return name;
      const [, key, , section] = TELLING.exec(text) ?? [];
      if (key ?? section) return `setting '${key ?? section}'`;
    }
    if (isProgram(path.join(git, "hooks", "post-index-change"))) return "hook post-index-change"; // after a refresh
  }
  return undefined;
}

/** Whether the index has a file of such a name: then a patch may show it. */
export function tracksSecret(folder: string | undefined, secret: RegExp): boolean {
  const [git] = repositories(folder);
  const index = git === undefined ? "" : textOf(path.join(git, "index"));
  if (index === undefined) return true;
  // A name follows two bytes of flags, and ends in a NUL.
  return index.split("\0").some((piece) => {
    const name = piece.split("/").at(-1)!;
    return [0, 1, 2].some((from) => secret.test(name.slice(from))) || secret.test(name.replace(/^.*(?=\.env)/s, ""));
  });
}

/** Git's folders for a working tree: its own, and the one that it shares with others. */
function repositories(folder: string | undefined): string[] {
  for (let at = folder; at !== undefined; at = at === path.dirname(at) ? undefined : path.dirname(at)) {
    const git = path.join(at, ".git");
    const stat = fs.statSync(git, { throwIfNoEntry: false });
    if (!stat && ["HEAD", "objects", "refs"].every((name) => fs.existsSync(path.join(at, name)))) return [at]; // bare
    if (!stat) continue;
    const own = stat.isDirectory() ? git : path.resolve(at, (textOf(git) ?? "").replace(/^gitdir:\s*/, "").trim());
    const common = textOf(path.join(own, "commondir"))?.trim();
    return common ? [own, path.resolve(own, common)] : [own];
  }
  return [];
}

/** Nothing there: nothing in it. Undefined: nobody can tell. */
function textOf(file: string): string | undefined {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (!stat) return "";
  try {
    return stat.isFile() && stat.size < 1 << 26 ? fs.readFileSync(file, "latin1") : undefined;
  } catch {
    return undefined;
  }
}
