// A copy-on-write view of the project, on which commands run without a question.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Programs } from "zz";
import { errnoSentence, isInside, removeTree, temporaryFolder, tryTo } from "zz/text";
import { collect } from "./collect-output.ts";
import { direntsOf, real } from "./resolve-paths.ts";

export interface View {
  merged: string; // the project as the command sees it, inside a mount namespace of its own
  upper: string; // what the command changed
  workFolder: string; // the folder with all of that
  wrap(argv: string[]): string[];
  // what is left in them, as latin1; undefined: unknown
  list(folders: string[]): Promise<Set<string> | undefined>;
  began: number; // when it was made, by the disk's clock
  close(): void;
}

/**
 * Why there can be no view of this project here; undefined if there can. It is really tried, once
 * for each project.
 */
const triedRoots = new Map<string, Promise<string | undefined>>();
export async function whyNoView(
  programs: Programs,
  root: string,
  home?: string,
): Promise<string | undefined> {
  if (process.platform !== "linux") return "only Linux has overlays";
  if (mountsIn(root)) return "another file system is mounted inside the project";
  if (ignoresCase(root))
    return "the project lies on a disk that takes a capital and a small letter for the same";
  const trialOfRoot = triedRoots.get(root) ?? tryView(programs, root, home);
  triedRoots.set(root, trialOfRoot);
  return trialOfRoot;
}

async function tryView(
  programs: Programs,
  root: string,
  home?: string,
): Promise<string | undefined> {
  const tools = toolsOf(programs);
  if (typeof tools === "string") return tools;
  let failure = "no folder for temporary files can hold one";
  for (const base of bases(root, home)) {
    let view: View | undefined;
    try {
      view = mountView(programs, tools, root, base);
      const bwrap = [
        "--unshare-all",
        "--cap-drop",
        "ALL",
        "--ro-bind",
        "/",
        "/",
        "--bind",
        view.merged,
        root,
      ];
      const script = ["sh", "-c", 'echo ok > "$0/.zz-trial"', root];
      const argv = view.wrap([
        tools.bwrap,
        ...bwrap,
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        ...script,
      ]);
      const { ok, stderr } = await runInView(programs, argv);
      if (
        ok &&
        fs.existsSync(path.join(view.upper, ".zz-trial")) &&
        !fs.existsSync(path.join(root, ".zz-trial"))
      ) {
        chosen.set(root, base);
        return undefined;
      }
      failure = stderr.trim().split("\n").at(-1) || failure;
    } catch (error) {
      failure = (error as Error).message;
    } finally {
      view?.close();
    }
  }
  return `an overlay cannot be mounted: ${failure}`;
}
const chosen = new Map<string, string>();

/**
 * Where upper folders can be: first on the project's own disk, so that files can be moved; else
 * others, or memory.
 */
function bases(root: string, home?: string): string[] {
  const diskOf = (folder: string) => tryTo(() => fs.statSync(folder).dev);
  const isNear = (folder: string) => diskOf(folder) === diskOf(root);
  const homeFolder =
    home && isNear(home) && !isInside(root, home) ? path.join(home, "copies") : undefined;
  if (homeFolder) tryTo(() => fs.mkdirSync(homeFolder, { mode: 0o700 }));
  const temporary = real([os.tmpdir(), "/dev/shm", "/var/tmp"]);
  const candidates = [
    ...temporary.filter(isNear),
    ...real(homeFolder ? [homeFolder] : []),
    ...temporary.filter((folder) => !isNear(folder)),
  ];
  return candidates.filter((folder) => isPlainName(folder) && !isInside(root, folder));
}

interface OverlayTools {
  unshare: string;
  mount: string;
  bwrap: string;
}
function toolsOf(programs: Programs): OverlayTools | string {
  const [unshare, mount, bwrap] = ["unshare", "mount", "bwrap"].map((name) => programs.find(name));
  if (unshare && mount && bwrap) return { unshare, mount, bwrap };
  return "unshare, mount or bwrap is not installed";
}

export function openView(programs: Programs, root: string): View {
  const tools = toolsOf(programs);
  const base = chosen.get(root);
  if (typeof tools === "string" || !base)
    throw new Error("Cannot open a view of the project: it was not tried.");
  try {
    return mountView(programs, tools, root, base);
  } catch (error) {
    throw new Error(
      `Cannot open a view of the project: ${errnoSentence(error) || (error as Error).message}`,
    );
  }
}

/**
 * A project whose name cannot be written in an overlay's options is first mounted under a plain
 * one, as a second step.
 */
const MOUNT = `mount=$1 own=$2 root=$3 layers=$4; shift 4
{ [ "$root" = - ] || "$mount" --bind -- "$root" "$own/lower"; } && "$mount" -t overlay overlay -o "$layers" "$own/merged" &&
exec "$@"
exit 125`;
const isPlainName = (absolutePath: string): boolean => /^[\w./-]+$/.test(absolutePath);

/** What is there when zz ends, by whatever way: nothing is unloaded then. */
const openFolders = new Set<string>();
function clearAll(): void {
  for (const folder of openFolders) tryTo(() => removeTree(folder));
}
function removeView(folder: string): void {
  removeTree(folder);
  openFolders.delete(folder);
  if (!openFolders.size) process.off("exit", clearAll);
}

/**
 * Makes a folder with these folders in it. Those that a killed zz left behind are removed first.
 */
export function makeWorkFolder(base: string, names: string[]): string {
  const workFolder = temporaryFolder("view", base);
  if (!openFolders.size) process.once("exit", clearAll);
  openFolders.add(workFolder);
  return orClear(workFolder, () => {
    for (const name of names) fs.mkdirSync(path.join(workFolder, name));
    return workFolder;
  });
}

/** Leaves nothing behind where a disk is full, or does not let modes be set. */
function orClear<T>(folder: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    tryTo(() => removeTree(folder));
    throw error;
  }
}

function mountView(
  programs: Programs,
  { unshare, mount }: OverlayTools,
  root: string,
  base: string,
): View {
  const workFolder = makeWorkFolder(base, ["lower", "upper", "work", "merged"]);
  const partOf = (name: string) => path.join(workFolder, name);
  orClear(workFolder, () => fs.chmodSync(partOf("upper"), fs.statSync(root).mode & 0o7777));
  const [lower, mounted] = isPlainName(root) ? [root, "-"] : [partOf("lower"), root];
  const layers = `lowerdir=${lower},upperdir=${partOf("upper")},workdir=${partOf("work")},userxattr`;
  const inside = (options: string, argv: string[]) => [
    unshare,
    "-Urm",
    "--",
    "/bin/sh",
    "-c",
    MOUNT,
    "sh",
    mount,
    workFolder,
    mounted,
    options,
    ...argv,
  ];
  return {
    merged: partOf("merged"),
    upper: partOf("upper"),
    workFolder,
    began: fs.statSync(partOf("merged")).ctimeMs,
    wrap: (argv) => inside(layers, argv),
    async list(folders) {
      const listingOptions = `lowerdir=${partOf("upper")}:${lower},userxattr`;
      const names = folders.map((name) => `./${name}`);
      const isFew =
        // Node's are UTF-8
        names.join("").length < MAX_ARGUMENTS && names.every((name) => /^[ -~]*$/.test(name));
      const argv = [
        "/bin/sh",
        "-c",
        isFew ? LIST : LIST_MANY,
        partOf("merged"),
        ...(isFew ? names : []),
      ];
      const input = isFew ? "" : Buffer.from(names.map((name) => `${name}\0`).join(""), "latin1");
      const { ok, stdout } = await runInView(programs, inside(listingOptions, argv), input);
      return ok ? new Set(stdout.split("\0").map((name) => name.slice("./".length))) : undefined;
    },
    close: () => removeView(workFolder),
  };
}

/** Lists folders. A name may appear twice, but one that is missing counts as a removed file. */
const LIST = `cd "$0" && exec find "$@" -mindepth 1 -maxdepth 1 -print0`;
const LIST_MANY = `cd "$0" && exec xargs -0 sh -c 'exec find "$@" -mindepth 1 -maxdepth 1 -print0' sh`;
const MAX_ARGUMENTS = 50_000; // bytes: far below what a system takes

const MAX_MS = 30_000;
async function runInView(
  programs: Programs,
  [program, ...args]: string[],
  input: string | Buffer = "",
) {
  const child = programs.start(program!, args, {
    timeout: MAX_MS,
    killSignal: "SIGKILL",
    stdio: "pipe",
  });
  const { code, stdout, stderr } = await collect(child, { encoding: "latin1", input });
  return { ok: code === 0, stdout, stderr };
}

/** Whether something is mounted inside of the project, which an overlay would not show. */
function mountsIn(root: string): boolean {
  const text = tryTo(() => fs.readFileSync("/proc/self/mountinfo", "utf8")) ?? "";
  return text.split("\n").some((line) => {
    const mountPoint = line
      .split(" ")[4]
      ?.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
    return mountPoint !== undefined && mountPoint !== root && isInside(root, mountPoint);
  });
}

/** Whether names that differ in case are one file: an overlay would take them for two. */
function ignoresCase(root: string): boolean {
  const swapped = (name: string) =>
    name === name.toLowerCase() ? name.toUpperCase() : name.toLowerCase();
  const names = direntsOf(root).map(({ name }) => name);
  const name = names.find((candidate) => swapped(candidate) !== candidate);
  if (name === undefined || names.includes(swapped(name))) return false;
  return fs.existsSync(path.join(root, swapped(name)));
}

/**
 * Everything outside of the system: homes, other projects, disks. A view hides it, so that no
 * command can print it.
 */
const SYSTEM = /^\/(bin|sbin|usr|lib\w*|etc|opt|nix|gnu|snap|sys|proc|dev|tmp|run)$/;
const PRIVATE = [
  "/etc/shadow",
  "/etc/gshadow",
  "/etc/ssl/private",
  "/etc/sudoers",
  "/etc/sudoers.d",
];
export function outsidePaths(root: string): string[] {
  const tops = direntsOf("/").map(({ name }) => `/${name}`);
  const home = real([os.homedir()]).filter((folder) => folder !== "/" && !isInside(folder, root));
  return [
    ...tops.filter((folder) => !SYSTEM.test(folder) && folder !== root),
    ...home,
    ...PRIVATE.filter((file) => fs.existsSync(file)),
  ];
}
