// Whether there can be a copy-on-write view of a project here: it is really tried.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Programs } from "zz";
import { isInside, textOf, tryTo } from "zz/text";
import {
  chosenBases,
  isPlainName,
  mountView,
  runInView,
  toolsOf,
  type View,
} from "./copy-on-write.ts";
import { BASE } from "./find-sandbox.ts";
import { direntsOf, real } from "./resolve-paths.ts";

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
  const overlayTools = toolsOf(programs);
  if (typeof overlayTools === "string") return overlayTools;
  let failure = "no folder for temporary files can hold one";
  for (const baseFolder of possibleBases(root, home)) {
    let triedView: View | undefined;
    try {
      triedView = mountView(programs, overlayTools, root, baseFolder);
      const trialCommand = ["sh", "-c", 'echo ok > "$0/.zz-trial"', root];
      const argv = triedView.wrap([
        overlayTools.bwrap,
        ...BASE,
        "--bind",
        triedView.merged,
        root,
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        ...trialCommand,
      ]);
      const { ok, stderr } = await runInView(programs, argv);
      if (
        ok &&
        fs.existsSync(path.join(triedView.upper, ".zz-trial")) &&
        !fs.existsSync(path.join(root, ".zz-trial"))
      ) {
        chosenBases.set(root, baseFolder);
        return undefined;
      }
      failure = stderr.trim().split("\n").at(-1) || failure;
    } catch (error) {
      failure = (error as Error).message;
    } finally {
      triedView?.close();
    }
  }
  return `an overlay cannot be mounted: ${failure}`;
}

/**
 * Where upper folders can be: first on the project's own disk, so that files can be moved; else
 * others, or memory.
 */
function possibleBases(root: string, home?: string): string[] {
  const diskOf = (folder: string) => tryTo(() => fs.statSync(folder).dev);
  const isOnSameDisk = (folder: string) => diskOf(folder) === diskOf(root);
  const homeFolder =
    home && isOnSameDisk(home) && !isInside(root, home) ? path.join(home, "copies") : undefined;
  if (homeFolder) tryTo(() => fs.mkdirSync(homeFolder, { mode: 0o700 }));
  const temporary = real([os.tmpdir(), "/dev/shm", "/var/tmp"]);
  const candidates = [
    ...temporary.filter(isOnSameDisk),
    ...real(homeFolder ? [homeFolder] : []),
    ...temporary.filter((folder) => !isOnSameDisk(folder)),
  ];
  return candidates.filter((folder) => isPlainName(folder) && !isInside(root, folder));
}

/** Whether something is mounted inside of the project, which an overlay would not show. */
function mountsIn(root: string): boolean {
  const mountTable = textOf("/proc/self/mountinfo").split("\n");
  return mountTable.some((mountLine) => {
    const mountPoint = mountLine
      .split(" ")[4]
      ?.replace(/\\(\d{3})/g, (_, octalDigits) =>
        String.fromCharCode(Number.parseInt(octalDigits, 8)),
      );
    return mountPoint !== undefined && mountPoint !== root && isInside(root, mountPoint);
  });
}

/** Whether names that differ in case are one file: an overlay would take them for two. */
function ignoresCase(root: string): boolean {
  const swapped = (entryName: string) =>
    entryName === entryName.toLowerCase() ? entryName.toUpperCase() : entryName.toLowerCase();
  const entryNames = direntsOf(root).map(({ name }) => name);
  const casedName = entryNames.find((candidate) => swapped(candidate) !== candidate);
  if (casedName === undefined || entryNames.includes(swapped(casedName))) return false;
  return fs.existsSync(path.join(root, swapped(casedName)));
}
