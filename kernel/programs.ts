// Other programs: found and started only here, so that none of them comes from the project.
import type { ChildProcess, ForkOptions, SpawnOptions, SpawnSyncOptions, SpawnSyncReturns } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { OwnPath, Programs } from "./contract.ts";
import { followLinks } from "./disk.ts";
import { fault } from "./faults.ts";
import { isInside, tryTo } from "./text.ts";

const ENDINGS = process.platform === "win32" ? [".exe", ".cmd", ".bat", ""] : [""];
/** Where the system keeps its programs, and where links there lead. */
const SYSTEM = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin", "/opt/homebrew/bin"];
const SYSTEM_FILES = ["/usr", "/bin", "/sbin", "/opt", "/etc/alternatives", "/nix/store", "/System", "/Library"];
const MARKS = [".git", "package.json", ".zz"]; // marks a folder above the project as part of it: a repository, a workspace

/** The folders whose programs count as the project's: the project, and those above it that are a repository or a workspace. A home is not a
 * workspace: it holds what the person installed. */
function projectFolders(root: string): string[] {
  const found = [root];
  const home = followLinks(os.homedir());
  for (let at = path.dirname(root); !isInside(at, home) && at !== path.dirname(at); at = path.dirname(at))
    if (MARKS.some((mark) => fs.existsSync(path.join(at, mark)))) found.push(at);
  return found;
}

/** Whether it contains the system's folders or the person's home: those are not the project's even then. */
const holdsSystem = (root: string): boolean => ["/usr", followLinks(os.homedir())].some((at) => isInside(root, at));

/** Tells of a file, or a folder of programs, whether the project could have brought it. Links are followed. */
function judgeOf(root: string): (file: string) => boolean {
  const folders = projectFolders(root);
  const whole = holdsSystem(root);
  return (file) => {
    if (file.split(path.sep).includes("node_modules")) return true;
    const real = followLinks(file);
    if (whole && [SYSTEM, SYSTEM_FILES].every((all, i) => all.some((at) => isInside(at, i ? real : file)))) return false;
    // What npm installs globally links into a node_modules of its own, which is not above the project.
    const [holder, inModules] = real.split(/[\\/]node_modules(?=[\\/]|$)/, 2);
    if (inModules !== undefined && isInside(holder || path.sep, root)) return true;
    return [file, real].some((one) => folders.some((at) => isInside(at, one)));
  };
}

/** PATH without folders that the project can write to. */
export function safePath(root: string, given = process.env.PATH ?? ""): string {
  const isProjects = judgeOf(root);
  const isSafe = (folder: string) => {
    if (!path.isAbsolute(folder) || isProjects(folder)) return false;
    const real = followLinks(folder);
    return !isInside(real, root) && !real.split(path.sep).includes("node_modules");
  };
  return given.split(path.delimiter).filter(isSafe).join(path.delimiter);
}

/** A program's absolute path; undefined if only the project has one. */
export function findProgram(name: string, root: string, given = process.env.PATH ?? ""): string | undefined {
  if (name === process.execPath) return name;
  if (!name || name.includes("\0") || (!path.isAbsolute(name) && /[\\/]/.test(name))) return undefined;
  const isProjects = judgeOf(root);
  const isAbove = (file: string) => [file, followLinks(file)].some((one) => isInside(path.dirname(one), root));
  const folders = path.isAbsolute(name) ? [""] : safePath(root, given).split(path.delimiter).filter(Boolean);
  for (const folder of folders)
    for (const ending of ENDINGS) {
      const file = path.join(folder, name + ending);
      if (isProgram(file) && !isProjects(file) && !isAbove(file)) return file;
    }
  return undefined;
}

const isProgram = (file: string): boolean => tryTo(() => fs.accessSync(file, fs.constants.X_OK) ?? fs.statSync(file).isFile()) ?? false;

const starters = () => process.getBuiltinModule("node:child_process"); // computed on first use

/** Programs, as a project's plugins and tools may start them. */
export function programs(root: string, own: NodeJS.ProcessEnv = process.env): Programs {
  const place = (name: string, env: NodeJS.ProcessEnv): string => {
    const program = findProgram(name, root, env.PATH) ?? findProgram(name, root);
    if (program) return program;
    const why = "it is not installed, or only where the project could have put it";
    throw Object.assign(fault(`Cannot start '${name}': ${why}. Install it on this machine.`), { code: "ENOENT" });
  };
  const clean = (env = own) => ({ ...env, PATH: safePath(root, env.PATH ?? own.PATH) });
  return {
    find: (name, given) => findProgram(name, root, given),
    start(name, args, { ownPath = false, ...how }: SpawnOptions & OwnPath = {}): ChildProcess {
      const env = how.env ?? own;
      return starters().spawn(place(name, env), args, { cwd: root, ...how, shell: false, env: ownPath ? env : clean(env) });
    },
    run(name, args, how: SpawnSyncOptions = {}): SpawnSyncReturns<Buffer> {
      const all = { cwd: root, ...how, shell: false, encoding: "buffer" as const, env: clean(how.env) };
      return starters().spawnSync(place(name, how.env ?? own), args, all);
    },
    fork(file, how: ForkOptions = {}): ChildProcess {
      const all = { cwd: root, ...how, execPath: process.execPath, env: clean(how.env) };
      return starters().fork(file instanceof URL ? fileURLToPath(file) : file, [], all);
    },
  };
}
