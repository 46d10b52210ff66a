// shut: a sandbox in which a program reads what it is named and the system's libraries, writes nothing and reaches nobody. It is for
// programs that decode what strangers sent.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Programs } from "zz";
import { type Box, callsFile, clear, limited, locate } from "./sandbox.ts";

/** What holds the libraries of a system, and where they are listed. */
const LIBRARIES = [
  "/usr",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/etc/ld.so.cache",
  "/etc/ld.so.conf",
  "/etc/alternatives",
];
const OTHER_SYSTEMS = ["/nix/store", "/gnu/store", "/home/linuxbrew/.linuxbrew", "/opt/homebrew"];

/** `name` is the sandbox that was found here; `only` are real paths. */
export function shutSandbox(programs: Programs, name: string, argv: string[], only: string[]): Box {
  if (name === "sandbox-exec")
    return { name, argv: ["/usr/bin/sandbox-exec", "-p", profile(only), ...argv], env: {}, close() {} };
  const own = fs.mkdtempSync(path.join(os.tmpdir(), "zz-sandbox-"));
  const mounts = [...LIBRARIES, ...OTHER_SYSTEMS].flatMap((at) => ["--ro-bind-try", at, at]);
  const args = [
    ...["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", "--chdir", "/"],
    ...[...mounts, "--dev", "/dev", ...only.flatMap((at) => ["--ro-bind", at, at])],
    ...["--remount-ro", "/dev", "--remount-ro", "/", "--"],
  ];
  const program = locate(programs, "bwrap", [])!;
  return {
    name,
    argv: [...limited(program, callsFile(own, false)), ...args, ...argv],
    env: {},
    close: () => clear(own),
  };
}

/** Written with care, since no test here can run it. Later rules win. */
function profile(only: string[]): string {
  const list = (paths: string[]) => paths.map((at) => `(subpath ${JSON.stringify(at)})`).join(" ");
  const people = [
    "/Users",
    "/Volumes",
    "/private/tmp",
    "/private/var/folders",
    os.homedir(),
    fs.realpathSync(os.homedir()),
  ];
  return [
    '(version 1) (allow default) (deny network*) (deny file-write*) (allow file-write* (literal "/dev/null"))',
    `(deny process-fork) (deny file-read-data ${list(people)})`,
    `(allow file-read* ${list(only)})`,
  ].join("\n");
}
