// A sandbox for a program that only reads. It sees the project and what it is given, and of
// the rest of the machine nothing: no other file, no network, no sockets.
import path from "node:path";
import type { Ctx } from "zz";
import { isInside, removeTree, temporaryFolder } from "zz/text";
import { ISOLATED } from "./find-sandbox.ts";
import { type Sandbox, withLimits, writeFilterFile } from "./open-sandbox.ts";
import { isFolder, real } from "./resolve-paths.ts";
import { outsideRules, subpathsOf } from "./seatbelt.ts";
import { findUnreadableFiles } from "./unreadable-files.ts";

/** What a program on macOS needs of the system to start at all. */
const MAC_SYSTEM = ["/usr/lib", "/System", "/Library/Apple", "/dev", "/private/var/db/dyld"];

export async function openReadingSandbox(
  ctx: Ctx,
  readPaths: string[],
): Promise<Pick<Sandbox, "wrap" | "close">> {
  const { root, permissions, programs } = ctx;
  const allowed = permissions.rules.flatMap(({ verdict, kind, name, but }) =>
    verdict === "allow" && kind === "read" && !but && !/[*?]/.test(name ?? "")
      ? [permissions.place(name ?? "/")]
      : [],
  );
  const visible = outermost(real([root, ...readPaths, ...allowed]));
  const closedPaths = (await findUnreadableFiles(ctx)).hide;
  const hiddenPaths = outermost(real([...closedPaths, path.join(root, ".git")])).filter(
    (hiddenPath) => visible.some((visibleFolder) => isBelow(visibleFolder, hiddenPath)),
  );
  if (process.platform === "darwin") return openOnMac(visible, hiddenPaths);
  const program = programs.find("bwrap")!; // it was tried before
  const workFolder = temporaryFolder("sandbox");
  const filterFile = writeFilterFile(workFolder, false);
  return {
    wrap: (argv) => ({
      argv: [
        ...withLimits(program, filterFile),
        ...mountArgs(visible, hiddenPaths),
        "--chdir",
        root,
        "--",
        ...argv,
      ],
      env: {},
    }),
    close: () => removeTree(workFolder),
  };
}

function mountArgs(visible: string[], hiddenPaths: string[]): string[] {
  const emptyRoot = visible.includes("/") ? [] : ["--tmpfs", "/"];
  return [
    ...ISOLATED,
    ...emptyRoot,
    ...visible.flatMap((visiblePath) => ["--ro-bind", visiblePath, visiblePath]),
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    ...hiddenPaths.flatMap((hiddenPath) =>
      isFolder(hiddenPath)
        ? ["--perms", "0000", "--tmpfs", hiddenPath]
        : ["--ro-bind", "/dev/null", hiddenPath],
    ),
    ...hiddenPaths.filter(isFolder).flatMap((hiddenPath) => ["--remount-ro", hiddenPath]),
    ...(emptyRoot.length ? ["--remount-ro", "/"] : []),
  ];
}

function openOnMac(visible: string[], hiddenPaths: string[]): Pick<Sandbox, "wrap" | "close"> {
  const profile = readingProfile(visible, hiddenPaths);
  return {
    wrap: (argv) => ({ argv: ["/usr/bin/sandbox-exec", "-p", profile, ...argv], env: {} }),
    close() {},
  };
}

/** Written with care, since no test here can run it. Later rules win. */
export function readingProfile(visible: string[], hiddenPaths: string[]): string {
  const profileRules = [
    "(version 1) (allow default) (deny file-write*) (deny network*) " +
      '(deny file-read-data (subpath "/"))',
    `(allow file-read-data (literal "/") ${subpathsOf([...visible, ...MAC_SYSTEM])})`,
    hiddenPaths.length ? `(deny file-read* ${subpathsOf(hiddenPaths)})` : "",
    ...outsideRules(),
  ];
  return profileRules.filter(Boolean).join("\n");
}

const isBelow = (folder: string, innerPath: string): boolean =>
  folder !== innerPath && isInside(folder, innerPath);
/** Without those that lie in another of them. */
const outermost = (distinctPaths: string[]): string[] =>
  distinctPaths.filter((candidate) => !distinctPaths.some((outer) => isBelow(outer, candidate)));
