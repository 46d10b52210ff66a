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
export const SYSTEM_FOLDERS = [
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
  const homeFolder = followLinks(os.homedir());
  for (
    let ancestor = path.dirname(root);
    !isInside(ancestor, homeFolder) && ancestor !== path.dirname(ancestor);
    ancestor = path.dirname(ancestor)
  )
    if (PROJECT_MARKS.some((projectMark) => fs.existsSync(path.join(ancestor, projectMark))))
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
  const realOf = (filePath: string): string =>
    realPaths.get(filePath) ?? realPaths.set(filePath, followLinks(filePath)).get(filePath)!;
  /** `named`: by its whole path, so that a package of another folder is meant. */
  const isProjects = (filePath: string, named = false): boolean => {
    if (!named && filePath.split(path.sep).includes("node_modules")) return true;
    const realFile = realOf(filePath);
    if (
      isSystemProject &&
      isInsideAny(SYSTEM_FOLDERS, filePath) &&
      isInsideAny(SYSTEM_FILES, realFile)
    )
      return false;
    // What npm installs globally links into a node_modules of its own, which is not above the
    // project.
    const [modulesHolder, inModules] = realFile.split(/[\\/]node_modules(?=[\\/]|$)/, 2);
    if (inModules !== undefined && isInside(modulesHolder || path.sep, root)) return true;
    return [filePath, realFile].some((candidate) => isInsideAny(folders, candidate));
  };
  return { isProjects, realOf };
}

/** PATH without folders that the project can write to. */
export function safePath(
  root: string,
  searchPath = process.env.PATH ?? "",
  { isProjects, realOf } = judgeOf(root),
): string {
  const isSafeFolder = (programFolder: string) => {
    if (!path.isAbsolute(programFolder) || isProjects(programFolder)) return false;
    const realFolder = realOf(programFolder);
    return !isInside(realFolder, root) && !realFolder.split(path.sep).includes("node_modules");
  };
  return searchPath.split(path.delimiter).filter(isSafeFolder).join(path.delimiter);
}

/** A program's absolute path; undefined if only the project has one. */
export function findProgram(
  programName: string,
  root: string,
  searchPath = process.env.PATH ?? "",
  projectJudge = judgeOf(root),
): string | undefined {
  if (programName === process.execPath) return programName;
  if (
    !programName ||
    programName.includes("\0") ||
    (!path.isAbsolute(programName) && /[\\/]/.test(programName))
  )
    return undefined;
  const isAbove = (programFile: string) =>
    [programFile, projectJudge.realOf(programFile)].some((candidate) =>
      isInside(path.dirname(candidate), root),
    );
  const folders = path.isAbsolute(programName)
    ? [""]
    : safePath(root, searchPath, projectJudge).split(path.delimiter).filter(Boolean);
  const programFiles = folders.flatMap((programFolder) =>
    PROGRAM_ENDINGS.map((ending) => path.join(programFolder, programName + ending)),
  );
  return programFiles.find(
    (programFile) =>
      isProgram(programFile) &&
      !projectJudge.isProjects(programFile, path.isAbsolute(programName)) &&
      !isAbove(programFile),
  );
}

export const isProgram = (programFile: string): boolean =>
  tryTo(() => fs.accessSync(programFile, fs.constants.X_OK) ?? fs.statSync(programFile).isFile()) ??
  false;

// computed on first use
const childProcessModule = () => process.getBuiltinModule("node:child_process");

/**
 * Where nothing more can be opened, Node gives a process without streams, and reports the error
 * where nobody may be listening.
 */
function startOrThrow<P extends ChildProcess>(programName: string, startProgram: () => P): P {
  const createFault = (startError: unknown) =>
    Object.assign(fileFault("start", programName, startError), { code: codeOf(startError) });
  let childProcess: P;
  try {
    childProcess = startProgram();
  } catch (startError) {
    // more streams than may be open
    throw codeOf(startError)
      ? createFault(codeOf(startError) === "EINVAL" ? { code: "EMFILE" } : startError)
      : startError;
  }
  if (childProcess.pid !== undefined || childProcess.stdio !== undefined) return childProcess;
  childProcess.on("error", () => {});
  throw createFault({ code: "EMFILE" });
}

/** Makes zz's own modules those of a plugin's process, too. */
function lendModulesCode(): string {
  const hookCode = `import { registerHooks } from "node:module";
    const own = ${JSON.stringify(modulesForPlugins())};
    const isLent = (name, { parentURL = "" }) =>
      /^(zod|typebox)(\\/|$)/.test(name) && !parentURL.includes("/node_modules/");
    registerHooks({ resolve: (name, from, next) => Object.hasOwn(own, name)
      ? { url: own[name], shortCircuit: true }
      : next(name, isLent(name, from) ? { ...from, parentURL: "${SELF_URL}/zz.ts" } : from) });`;
  return `data:text/javascript,${encodeURIComponent(hookCode)}`;
}

/** Programs, as a project's plugins and tools may start them. */
export function programs(root: string, ownEnvironment: NodeJS.ProcessEnv = process.env): Programs {
  const clean = (environment: NodeJS.ProcessEnv, projectJudge = judgeOf(root)) => ({
    ...environment,
    PATH: safePath(root, environment.PATH ?? ownEnvironment.PATH, projectJudge),
  });
  const locateProgram = (
    name: string,
    env: NodeJS.ProcessEnv,
    ownPath = false,
    projectJudge = judgeOf(root),
  ): [string, NodeJS.ProcessEnv] => {
    const program =
      findProgram(name, root, env.PATH, projectJudge) ??
      findProgram(name, root, undefined, projectJudge);
    if (program) return [program, ownPath ? env : clean(env, projectJudge)];
    const reason = "it is not installed, or only where the project could have put it";
    throw Object.assign(fault(`Cannot start '${name}': ${reason}. Install it on this machine.`), {
      code: "ENOENT",
    });
  };
  return {
    find: (programName, searchPath) => findProgram(programName, root, searchPath),
    start(
      programName,
      args,
      { ownPath = false, ...options }: SpawnOptions & OwnPath = {},
    ): ChildProcess {
      const [program, env] = locateProgram(programName, options.env ?? ownEnvironment, ownPath);
      return startOrThrow(programName, () =>
        childProcessModule().spawn(program, args, { cwd: root, ...options, shell: false, env }),
      );
    },
    run(programName, args, options: SpawnSyncOptions = {}): SpawnSyncReturns<Buffer> {
      const [program, env] = locateProgram(programName, options.env ?? ownEnvironment);
      return childProcessModule().spawnSync(program, args, {
        cwd: root,
        ...options,
        shell: false,
        encoding: "buffer",
        env,
      });
    },
    fork(scriptFile, options: ForkOptions = {}): ChildProcess {
      const scriptPath = scriptFile instanceof URL ? fileURLToPath(scriptFile) : scriptFile;
      const nodeFlags = options.execArgv ?? process.execArgv;
      // what was built has all in it
      const execArgv = scriptPath.endsWith(".ts")
        ? [...nodeFlags, `--import=${lendModulesCode()}`]
        : nodeFlags;
      const forkOptions = {
        cwd: root,
        ...options,
        execArgv,
        execPath: process.execPath,
        env: { ...clean(options.env ?? ownEnvironment), ...compiled() },
      };
      return startOrThrow("node", () => childProcessModule().fork(scriptPath, [], forkOptions));
    },
  };
}

/** What V8 compiled is kept where zz keeps its own. */
function compiled(): Record<string, string> {
  const cacheFolder = module.getCompileCacheDir();
  return cacheFolder ? { NODE_COMPILE_CACHE: path.dirname(cacheFolder) } : {};
}
