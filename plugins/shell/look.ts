// look: a sandbox for a program that only reads. It sees the project and what it is given, and of
// the rest of the machine nothing: no other file, no network, no sockets.
import path from "node:path";
import type { Ctx } from "zz";
import { isInside, removeTree, temporaryFolder } from "zz/text";
import { findUnreadableFiles } from "./hidden.ts";
import { isFolder, real } from "./paths.ts";
import { callsFile, limited, locate, type Sandbox } from "./sandbox.ts";

/** What a program on macOS needs of the system to start at all. */
const MAC_SYSTEM = ["/usr/lib", "/System", "/Library/Apple", "/dev", "/private/var/db/dyld"];

export async function openLook(
  ctx: Ctx,
  reads: string[],
): Promise<Pick<Sandbox, "wrap" | "close">> {
  const { root, permissions, programs } = ctx;
  const allowed = permissions.rules.flatMap(({ verdict, kind, name, but }) =>
    verdict === "allow" && kind === "read" && !but && !/[*?]/.test(name ?? "")
      ? [permissions.place(name ?? "/")]
      : [],
  );
  const seen = outermost(real([root, ...reads, ...allowed]));
  const closed = (await findUnreadableFiles(ctx)).hide;
  const hidden = outermost(real([...closed, path.join(root, ".git")])).filter((at) =>
    seen.some((folder) => isInside(folder, at) && folder !== at),
  );
  if (process.platform === "darwin") return onMac(seen, hidden);
  const program = locate(programs, "bwrap", [])!; // it was tried before
  const own = temporaryFolder("sandbox");
  const calls = callsFile(own, false);
  return {
    wrap: (argv) => ({
      argv: [...limited(program, calls), ...mounts(seen, hidden), "--chdir", root, "--", ...argv],
      env: {},
    }),
    close: () => removeTree(own),
  };
}

function mounts(seen: string[], hidden: string[]): string[] {
  const empty = seen.includes("/") ? [] : ["--tmpfs", "/"];
  return [
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    ...empty,
    ...seen.flatMap((at) => ["--ro-bind", at, at]),
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    ...hidden.flatMap((at) =>
      isFolder(at) ? ["--perms", "0000", "--tmpfs", at] : ["--ro-bind", "/dev/null", at],
    ),
    ...hidden.filter(isFolder).flatMap((at) => ["--remount-ro", at]),
    ...(empty.length ? ["--remount-ro", "/"] : []),
  ];
}

/** Written with care, since no test here can run it. Later rules win. */
function onMac(seen: string[], hidden: string[]): Pick<Sandbox, "wrap" | "close"> {
  const paths = (list: string[]) => list.map((at) => `(subpath ${JSON.stringify(at)})`).join(" ");
  const rules = [
    '(version 1) (allow default) (deny file-write*) (deny network*) (deny file-read-data (subpath "/"))',
    `(allow file-read-data (literal "/") ${paths([...seen, ...MAC_SYSTEM])})`,
    hidden.length ? `(deny file-read* ${paths(hidden)})` : "",
  ];
  return {
    wrap: (argv) => ({ argv: ["/usr/bin/sandbox-exec", "-p", rules.join("\n"), ...argv], env: {} }),
    close() {},
  };
}

/** Without those that lie in another of them. */
function outermost(all: string[]): string[] {
  const distinct = [...new Set(all)].sort((a, b) => a.length - b.length);
  return distinct.filter((at, i) => !distinct.slice(0, i).some((folder) => isInside(folder, at)));
}
