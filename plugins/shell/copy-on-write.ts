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
  const [unshare, mount, bwrap] = ["unshare", "mount", "bwrap"].map((programName) =>
    programs.find(programName),
  );
  if (unshare && mount && bwrap) return { unshare, mount, bwrap };
  return "unshare, mount or bwrap is not installed";
}

export function openView(programs: Programs, root: string): View {
  const overlayTools = toolsOf(programs);
  const baseFolder = chosenBases.get(root);
  if (typeof overlayTools === "string" || !baseFolder)
    throw new Error("Cannot open a view of the project: it was not tried.");
  try {
    return mountView(programs, overlayTools, root, baseFolder);
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
const MOUNT_SCRIPT = `mount=$1 own=$2 root=$3 layers=$4; shift 4
{ [ "$root" = - ] || "$mount" --bind -- "$root" "$own/lower"; } && "$mount" -t overlay overlay \\
  -o "$layers" "$own/merged" &&
exec "$@"
exit 125`;
const MOUNT_SHELL = ["/bin/sh", "-c", MOUNT_SCRIPT, "sh"];
export const isPlainName = (absolutePath: string): boolean => /^[\w./-]+$/.test(absolutePath);

/** What is there when zz ends, by whatever way: nothing is unloaded then. */
const openFolders = new Set<string>();
function clearAll(): void {
  for (const openFolder of openFolders) tryTo(() => removeTree(openFolder));
}

function removeView(viewFolder: string): void {
  removeTree(viewFolder);
  openFolders.delete(viewFolder);
  if (!openFolders.size) process.off("exit", clearAll);
}

/**
 * Makes a folder with these folders in it. Those that a killed zz left behind are removed first.
 */
export function makeWorkFolder(baseFolder: string, folderNames: string[]): string {
  const workFolder = temporaryFolder("view", baseFolder);
  if (!openFolders.size) process.once("exit", clearAll);
  openFolders.add(workFolder);
  return orClear(workFolder, () => {
    for (const folderName of folderNames) fs.mkdirSync(path.join(workFolder, folderName));
    return workFolder;
  });
}

/** Leaves nothing behind where a disk is full, or does not let modes be set. */
function orClear<T>(workFolder: string, attempt: () => T): T {
  try {
    return attempt();
  } catch (error) {
    tryTo(() => removeTree(workFolder));
    throw error;
  }
}

export function mountView(
  programs: Programs,
  { unshare, mount }: OverlayTools,
  root: string,
  baseFolder: string,
): View {
  const workFolder = makeWorkFolder(baseFolder, ["lower", "upper", "work", "merged"]);
  const pathInWork = (folderName: string) => path.join(workFolder, folderName);
  orClear(workFolder, () => fs.chmodSync(pathInWork("upper"), fs.statSync(root).mode & 0o7777));
  const [lowerFolder, mounted] = isPlainName(root) ? [root, "-"] : [pathInWork("lower"), root];
  const [upper, work] = [pathInWork("upper"), pathInWork("work")];
  const layerOptions = `lowerdir=${lowerFolder},upperdir=${upper},workdir=${work},userxattr`;
  const insideView = (options: string, argv: string[]) => [
    unshare,
    "-Urm",
    "--",
    ...MOUNT_SHELL,
    mount,
    workFolder,
    mounted,
    options,
    ...argv,
  ];
  return {
    merged: pathInWork("merged"),
    upper,
    workFolder,
    began: fs.statSync(pathInWork("merged")).ctimeMs,
    wrap: (argv) => insideView(layerOptions, argv),
    async list(folders) {
      const listingOptions = `lowerdir=${upper}:${lowerFolder},userxattr`;
      const relativeNames = folders.map((folderName) => `./${folderName}\0`);
      const { ok, stdout } = await runInView(
        programs,
        insideView(listingOptions, ["/bin/sh", "-c", LIST_FOLDERS, pathInWork("merged")]),
        Buffer.from(relativeNames.join(""), "latin1"),
      );
      return ok
        ? new Set(stdout.split("\0").map((listedName) => listedName.slice("./".length)))
        : undefined;
    },
    close: () => removeView(workFolder),
  };
}

/**
 * Lists the folders that it is given as its input: their names are bytes, and may be many. A name
 * may appear twice, but one that is missing counts as a removed file.
 */
const LIST_FOLDERS = `cd "$0" &&
exec xargs -0 sh -c 'exec find "$@" -mindepth 1 -maxdepth 1 -print0' sh`;

const MAX_VIEW_MS = 30_000;
export async function runInView(
  programs: Programs,
  [program, ...args]: string[],
  input: string | Buffer = "",
) {
  const child = programs.start(program!, args, {
    timeout: MAX_VIEW_MS,
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
const SYSTEM_FOLDER = /^\/(bin|sbin|usr|lib\w*|etc|opt|nix|gnu|snap|sys|proc|dev|tmp|run)$/;
const PRIVATE = [
  "/etc/shadow",
  "/etc/gshadow",
  "/etc/ssl/private",
  "/etc/sudoers",
  "/etc/sudoers.d",
];
export function outsidePaths(root: string): string[] {
  const topFolders = direntsOf("/").map(({ name }) => `/${name}`);
  const homeFolders = real([os.homedir()]).filter(
    (homeFolder) => homeFolder !== "/" && !isInside(homeFolder, root),
  );
  return [
    ...topFolders.filter((topFolder) => !SYSTEM_FOLDER.test(topFolder) && topFolder !== root),
    ...homeFolders,
    ...PRIVATE.filter((privateFile) => fs.existsSync(privateFile)),
  ];
}
