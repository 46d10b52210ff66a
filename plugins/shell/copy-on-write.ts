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

/** Where the upper folder of a project can be, once it was tried. */
export const chosenBases = new Map<string, string>();

interface OverlayTools {
  unshare: string;
  mount: string;
  bwrap: string;
}

export function toolsOf(programs: Programs): OverlayTools | string {
  const [unshare, mount, bwrap] = ["unshare", "mount", "bwrap"].map((name) => programs.find(name));
  if (unshare && mount && bwrap) return { unshare, mount, bwrap };
  return "unshare, mount or bwrap is not installed";
}

export function openView(programs: Programs, root: string): View {
  const tools = toolsOf(programs);
  const base = chosenBases.get(root);
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
export const isPlainName = (absolutePath: string): boolean => /^[\w./-]+$/.test(absolutePath);

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

export function mountView(
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
export async function runInView(
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
