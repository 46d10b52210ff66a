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
import { isInside } from "../text/read-quietly.ts";
import { tryTo } from "../text/words.ts";
import { fileFault, followLinks } from "./atomic-write.ts";
import { lentModules, SELF_URL } from "./installation.ts";

const ENDINGS = process.platform === "win32" ? [".exe", ".cmd", ".bat", ""] : [""];
/** Where the system keeps its programs, and where links there lead. */
const SYSTEM = [
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
const MARKS = [".git", "package.json", ".zz"];

/**
 * The folders whose programs count as the project's: it, and those above that are a repository or a
 * workspace, unless they are a home.
 */
function projectFolders(root: string): string[] {
  const found = [root];
  const home = followLinks(os.homedir());
  for (
    let at = path.dirname(root);
    !isInside(at, home) && at !== path.dirname(at);
    at = path.dirname(at)
  )
    if (MARKS.some((mark) => fs.existsSync(path.join(at, mark)))) found.push(at);
  return found;
}

/**
 * Tells of a file, or a folder of programs, whether the project could have brought it. Links are
 * followed, each once: for one start.
 */
function judgeOf(root: string) {
  const folders = projectFolders(root);
  // neither is the project's then
  const whole = ["/usr", followLinks(os.homedir())].some((at) => isInside(root, at));
  const known = new Map<string, string>();
  const realOf = (file: string): string =>
    known.get(file) ?? known.set(file, followLinks(file)).get(file)!;
  /** `named`: by its whole path, so that a package of another folder is meant. */
  const isProjects = (file: string, named = false): boolean => {
    if (!named && file.split(path.sep).includes("node_modules")) return true;
    const real = realOf(file);
    if (
      whole &&
      [SYSTEM, SYSTEM_FILES].every((all, i) => all.some((at) => isInside(at, i ? real : file)))
    )
      return false;
    // What npm installs globally links into a node_modules of its own, which is not above the
    // project.
    const [holder, inModules] = real.split(/[\\/]node_modules(?=[\\/]|$)/, 2);
    if (inModules !== undefined && isInside(holder || path.sep, root)) return true;
    return [file, real].some((one) => folders.some((at) => isInside(at, one)));
  };
  return { isProjects, realOf };
}

/** PATH without folders that the project can write to. */
export function safePath(
  root: string,
  given = process.env.PATH ?? "",
  { isProjects, realOf } = judgeOf(root),
): string {
  const isSafe = (folder: string) => {
    if (!path.isAbsolute(folder) || isProjects(folder)) return false;
    const real = realOf(folder);
    return !isInside(real, root) && !real.split(path.sep).includes("node_modules");
  };
  return given.split(path.delimiter).filter(isSafe).join(path.delimiter);
}

/** A program's absolute path; undefined if only the project has one. */
export function findProgram(
  name: string,
  root: string,
  given = process.env.PATH ?? "",
  judge = judgeOf(root),
): string | undefined {
  if (name === process.execPath) return name;
  if (!name || name.includes("\0") || (!path.isAbsolute(name) && /[\\/]/.test(name)))
    return undefined;
  const isAbove = (file: string) =>
    [file, judge.realOf(file)].some((one) => isInside(path.dirname(one), root));
  const folders = path.isAbsolute(name)
    ? [""]
    : safePath(root, given, judge).split(path.delimiter).filter(Boolean);
  const files = folders.flatMap((folder) =>
    ENDINGS.map((ending) => path.join(folder, name + ending)),
  );
  return files.find(
    (file) => isProgram(file) && !judge.isProjects(file, path.isAbsolute(name)) && !isAbove(file),
  );
}

const isProgram = (file: string): boolean =>
  tryTo(() => fs.accessSync(file, fs.constants.X_OK) ?? fs.statSync(file).isFile()) ?? false;

const starters = () => process.getBuiltinModule("node:child_process"); // computed on first use

/**
 * Where nothing more can be opened, Node gives a process without streams, and reports the error
 * where nobody may be listening.
 */
function started<P extends ChildProcess>(name: string, start: () => P): P {
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
function lending(): string {
  const code = `import { registerHooks } from "node:module";
    const own = ${JSON.stringify(lentModules())};
    const isLent = (name, { parentURL = "" }) => /^(zod|typebox)(\\/|$)/.test(name) && !parentURL.includes("/node_modules/");
    registerHooks({ resolve: (name, from, next) => Object.hasOwn(own, name) ? { url: own[name], shortCircuit: true }
      : next(name, isLent(name, from) ? { ...from, parentURL: "${SELF_URL}/zz.ts" } : from) });`;
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

/** Programs, as a project's plugins and tools may start them. */
export function programs(root: string, own: NodeJS.ProcessEnv = process.env): Programs {
  const clean = (env: NodeJS.ProcessEnv, judge = judgeOf(root)) => ({
    ...env,
    PATH: safePath(root, env.PATH ?? own.PATH, judge),
  });
  const place = (
    name: string,
    env: NodeJS.ProcessEnv,
    ownPath = false,
    judge = judgeOf(root),
  ): [string, NodeJS.ProcessEnv] => {
    const program =
      findProgram(name, root, env.PATH, judge) ?? findProgram(name, root, undefined, judge);
    if (program) return [program, ownPath ? env : clean(env, judge)];
    const why = "it is not installed, or only where the project could have put it";
    throw Object.assign(fault(`Cannot start '${name}': ${why}. Install it on this machine.`), {
      code: "ENOENT",
    });
  };
  return {
    find: (name, given) => findProgram(name, root, given),
    start(name, args, { ownPath = false, ...how }: SpawnOptions & OwnPath = {}): ChildProcess {
      const [program, env] = place(name, how.env ?? own, ownPath);
      return started(name, () =>
        starters().spawn(program, args, { cwd: root, ...how, shell: false, env }),
      );
    },
    run(name, args, how: SpawnSyncOptions = {}): SpawnSyncReturns<Buffer> {
      const [program, env] = place(name, how.env ?? own);
      return starters().spawnSync(program, args, {
        cwd: root,
        ...how,
        shell: false,
        encoding: "buffer",
        env,
      });
    },
    fork(file, how: ForkOptions = {}): ChildProcess {
      const name = file instanceof URL ? fileURLToPath(file) : file;
      const flags = how.execArgv ?? process.execArgv;
      // what was built has all in it
      const execArgv = name.endsWith(".ts") ? [...flags, `--import=${lending()}`] : flags;
      const all = {
        cwd: root,
        ...how,
        execArgv,
        execPath: process.execPath,
        env: { ...clean(how.env ?? own), ...compiled() },
      };
      return started("node", () => starters().fork(name, [], all));
    },
  };
}

/** What V8 compiled is kept where zz keeps its own. */
function compiled(): Record<string, string> {
  const folder = module.getCompileCacheDir();
  return folder ? { NODE_COMPILE_CACHE: path.dirname(folder) } : {};
}
