// Other programs: found and started only here, so that none of them comes from the project.
import type {
  ChildProcess,
  ForkOptions,
  SpawnOptions,
  SpawnSyncOptions,
  SpawnSyncReturns,
} from "node:child_process";
import fs from "node:fs";
import module from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { OwnPath, Programs } from "../contract.ts";
import { codeOf, fault } from "../text/faults.ts";
import { isInside, isInsideAny } from "../text/read-quietly.ts";
import { tryTo } from "../text/words.ts";
import { fileFault } from "./atomic-write.ts";
import { modulesForPlugins, SELF_URL } from "./installation.ts";
import { followLinks } from "./open-real.ts";

const PROGRAM_ENDINGS = process.platform === "win32" ? [".exe", ".cmd", ".bat", ""] : [""];
/** Where the system keeps its programs, and where links there lead. */
const SYSTEM_FOLDERS = [
  "/usr/local/bin",
  "/usr/bin",
  "/bin",
  "/usr/local/sbin",
  "/usr/sbin",
  "/sbin",
  "/opt/homebrew/bin",
];
const SYSTEM_FILES = [
  "/usr",
  "/bin",
  "/sbin",
  "/opt",
  "/etc/alternatives",
  "/nix/store",
  "/System",
  "/Library",
];
// marks a folder above the project as part of it: a repository, a workspace
const PROJECT_MARKS = [".git", "package.json", ".zz"];

/**
 * The folders whose programs count as the project's: it, and those above that are a repository or a
 * workspace, unless they are a home.
 */
function projectFolders(root: string): string[] {
  const folders = [root];
  const home = followLinks(os.homedir());
  for (
    let ancestor = path.dirname(root);
    !isInside(ancestor, home) && ancestor !== path.dirname(ancestor);
    ancestor = path.dirname(ancestor)
  )
    if (PROJECT_MARKS.some((mark) => fs.existsSync(path.join(ancestor, mark))))
      folders.push(ancestor);
  return folders;
}

/**
 * Tells of a file, or a folder of programs, whether the project could have brought it. Links are
 * followed, each once: for one start.
 */
function judgeOf(root: string) {
  const folders = projectFolders(root);
  // neither is the project's then
  const isSystemProject = ["/usr", followLinks(os.homedir())].some((systemFolder) =>
    isInside(root, systemFolder),
  );
  const realPaths = new Map<string, string>();
  const realOf = (file: string): string =>
    realPaths.get(file) ?? realPaths.set(file, followLinks(file)).get(file)!;
  /** `named`: by its whole path, so that a package of another folder is meant. */
  const isProjects = (file: string, named = false): boolean => {
    if (!named && file.split(path.sep).includes("node_modules")) return true;
    const real = realOf(file);
    if (
      isSystemProject &&
      [SYSTEM_FOLDERS, SYSTEM_FILES].every((systemFolders, i) =>
        systemFolders.some((systemFolder) => isInside(systemFolder, i ? real : file)),
      )
    )
      return false;
    // What npm installs globally links into a node_modules of its own, which is not above the
    // project.
    const [holder, inModules] = real.split(/[\\/]node_modules(?=[\\/]|$)/, 2);
    if (inModules !== undefined && isInside(holder || path.sep, root)) return true;
    return [file, real].some((candidate) => isInsideAny(folders, candidate));
  };
  return { isProjects, realOf };
}

/** PATH without folders that the project can write to. */
export function safePath(
  root: string,
  searchPath = process.env.PATH ?? "",
  { isProjects, realOf } = judgeOf(root),
): string {
  const isSafe = (folder: string) => {
    if (!path.isAbsolute(folder) || isProjects(folder)) return false;
    const real = realOf(folder);
    return !isInside(real, root) && !real.split(path.sep).includes("node_modules");
  };
  return searchPath.split(path.delimiter).filter(isSafe).join(path.delimiter);
}

/** A program's absolute path; undefined if only the project has one. */
export function findProgram(
  name: string,
  root: string,
  searchPath = process.env.PATH ?? "",
  judge = judgeOf(root),
): string | undefined {
  if (name === process.execPath) return name;
  if (!name || name.includes("\0") || (!path.isAbsolute(name) && /[\\/]/.test(name)))
    return undefined;
  const isAbove = (file: string) =>
    [file, judge.realOf(file)].some((candidate) => isInside(path.dirname(candidate), root));
  const folders = path.isAbsolute(name)
    ? [""]
    : safePath(root, searchPath, judge).split(path.delimiter).filter(Boolean);
  const files = folders.flatMap((folder) =>
    PROGRAM_ENDINGS.map((ending) => path.join(folder, name + ending)),
  );
  return files.find(
    (file) => isProgram(file) && !judge.isProjects(file, path.isAbsolute(name)) && !isAbove(file),
  );
}

const isProgram = (file: string): boolean =>
  tryTo(() => fs.accessSync(file, fs.constants.X_OK) ?? fs.statSync(file).isFile()) ?? false;

// computed on first use
const childProcessModule = () => process.getBuiltinModule("node:child_process");

/**
 * Where nothing more can be opened, Node gives a process without streams, and reports the error
 * where nobody may be listening.
 */
function startOrThrow<P extends ChildProcess>(name: string, start: () => P): P {
  const cannot = (error: unknown) =>
    Object.assign(fileFault("start", name, error), { code: codeOf(error) });
  let child: P;
  try {
    child = start();
  } catch (error) {
    // more streams than may be open
    throw codeOf(error) ? cannot(codeOf(error) === "EINVAL" ? { code: "EMFILE" } : error) : error;
  }
  if (child.pid !== undefined || child.stdio !== undefined) return child;
  child.on("error", () => {});
  throw cannot({ code: "EMFILE" });
}

/** Makes zz's own modules those of a plugin's process, too. */
function lendModulesCode(): string {
  const code = `import { registerHooks } from "node:module";
    const own = ${JSON.stringify(modulesForPlugins())};
    const isLent = (name, { parentURL = "" }) => /^(zod|typebox)(\\/|$)/.test(name) && !parentURL.includes("/node_modules/");
    registerHooks({ resolve: (name, from, next) => Object.hasOwn(own, name) ? { url: own[name], shortCircuit: true }
      : next(name, isLent(name, from) ? { ...from, parentURL: "${SELF_URL}/zz.ts" } : from) });`;
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

/** Programs, as a project's plugins and tools may start them. */
export function programs(root: string, ownEnvironment: NodeJS.ProcessEnv = process.env): Programs {
  const clean = (env: NodeJS.ProcessEnv, judge = judgeOf(root)) => ({
    ...env,
    PATH: safePath(root, env.PATH ?? ownEnvironment.PATH, judge),
  });
  const locate = (
    name: string,
    env: NodeJS.ProcessEnv,
    ownPath = false,
    judge = judgeOf(root),
  ): [string, NodeJS.ProcessEnv] => {
    const program =
      findProgram(name, root, env.PATH, judge) ?? findProgram(name, root, undefined, judge);
    if (program) return [program, ownPath ? env : clean(env, judge)];
    const reason = "it is not installed, or only where the project could have put it";
    throw Object.assign(fault(`Cannot start '${name}': ${reason}. Install it on this machine.`), {
      code: "ENOENT",
    });
  };
  return {
    find: (name, searchPath) => findProgram(name, root, searchPath),
    start(name, args, { ownPath = false, ...options }: SpawnOptions & OwnPath = {}): ChildProcess {
      const [program, env] = locate(name, options.env ?? ownEnvironment, ownPath);
      return startOrThrow(name, () =>
        childProcessModule().spawn(program, args, { cwd: root, ...options, shell: false, env }),
      );
    },
    run(name, args, options: SpawnSyncOptions = {}): SpawnSyncReturns<Buffer> {
      const [program, env] = locate(name, options.env ?? ownEnvironment);
      return childProcessModule().spawnSync(program, args, {
        cwd: root,
        ...options,
        shell: false,
        encoding: "buffer",
        env,
      });
    },
    fork(file, options: ForkOptions = {}): ChildProcess {
      const name = file instanceof URL ? fileURLToPath(file) : file;
      const flags = options.execArgv ?? process.execArgv;
      // what was built has all in it
      const execArgv = name.endsWith(".ts") ? [...flags, `--import=${lendModulesCode()}`] : flags;
      const forkOptions = {
        cwd: root,
        ...options,
        execArgv,
        execPath: process.execPath,
        env: { ...clean(options.env ?? ownEnvironment), ...compiled() },
      };
      return startOrThrow("node", () => childProcessModule().fork(name, [], forkOptions));
    },
  };
}

/** What V8 compiled is kept where zz keeps its own. */
function compiled(): Record<string, string> {
  const folder = module.getCompileCacheDir();
  return folder ? { NODE_COMPILE_CACHE: path.dirname(folder) } : {};
}
