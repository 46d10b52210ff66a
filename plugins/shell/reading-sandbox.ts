// A sandbox for a program that only reads. It sees the project and what it is given, and of
// the rest of the machine nothing: no other file, no network, no sockets.
import path from "node:path";
import type { Ctx } from "zz";
import { isInside, removeTree, temporaryFolder } from "zz/text";
import { findOutside } from "./find-sandbox.ts";
import { callsFile, type Sandbox, withLimits } from "./open-sandbox.ts";
import { isFolder, real } from "./resolve-paths.ts";
import { outsideRules } from "./seatbelt.ts";
import { findUnreadableFiles } from "./unreadable-files.ts";

/** What a program on macOS needs of the system to start at all. */
const MAC_SYSTEM = ["/usr/lib", "/System", "/Library/Apple", "/dev", "/private/var/db/dyld"];

export async function openReadingSandbox(
  ctx: Ctx,
  reads: string[],
): Promise<Pick<Sandbox, "wrap" | "close">> {
  const { root, permissions, programs } = ctx;
  const allowed = permissions.rules.flatMap(({ verdict, kind, name, but }) =>
    verdict === "allow" && kind === "read" && !but && !/[*?]/.test(name ?? "")
      ? [permissions.place(name ?? "/")]
      : [],
  );
  const visible = outermost(real([root, ...reads, ...allowed]));
  const closed = (await findUnreadableFiles(ctx)).hide;
  const hidden = outermost(real([...closed, path.join(root, ".git")])).filter((file) =>
    visible.some((folder) => isInside(folder, file) && folder !== file),
  );
  if (process.platform === "darwin") return onMac(visible, hidden);
  const program = findOutside(programs, "bwrap", [])!; // it was tried before
  const workFolder = temporaryFolder("sandbox");
  const calls = callsFile(workFolder, false);
  return {
    wrap: (argv) => ({
      argv: [
        ...withLimits(program, calls),
        ...mountArgs(visible, hidden),
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

function mountArgs(visible: string[], hidden: string[]): string[] {
  const empty = visible.includes("/") ? [] : ["--tmpfs", "/"];
  return [
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    ...empty,
    ...visible.flatMap((file) => ["--ro-bind", file, file]),
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    ...hidden.flatMap((file) =>
      isFolder(file) ? ["--perms", "0000", "--tmpfs", file] : ["--ro-bind", "/dev/null", file],
    ),
    ...hidden.filter(isFolder).flatMap((file) => ["--remount-ro", file]),
    ...(empty.length ? ["--remount-ro", "/"] : []),
  ];
}

function onMac(visible: string[], hidden: string[]): Pick<Sandbox, "wrap" | "close"> {
  const profile = readingProfile(visible, hidden);
  return {
    wrap: (argv) => ({ argv: ["/usr/bin/sandbox-exec", "-p", profile, ...argv], env: {} }),
    close() {},
  };
}

/** Written with care, since no test here can run it. Later rules win. */
export function readingProfile(visible: string[], hidden: string[]): string {
  const paths = (list: string[]) =>
    list.map((file) => `(subpath ${JSON.stringify(file)})`).join(" ");
  const rules = [
    '(version 1) (allow default) (deny file-write*) (deny network*) (deny file-read-data (subpath "/"))',
    `(allow file-read-data (literal "/") ${paths([...visible, ...MAC_SYSTEM])})`,
    hidden.length ? `(deny file-read* ${paths(hidden)})` : "",
    ...outsideRules(),
  ];
  return rules.filter(Boolean).join("\n");
}

/** Without those that lie in another of them. */
function outermost(paths: string[]): string[] {
  const distinct = [...new Set(paths)].sort((a, b) => a.length - b.length);
  return distinct.filter(
    (file, i) => !distinct.slice(0, i).some((folder) => isInside(folder, file)),
  );
}
