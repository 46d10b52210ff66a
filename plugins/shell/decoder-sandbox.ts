// A sandbox in which a program reads what it is named and the system's libraries, writes
// nothing and reaches nobody. It is for programs that decode what strangers sent.
import os from "node:os";
import type { Programs } from "zz";
import { findOutside } from "./find-sandbox.ts";
import { real } from "./resolve-paths.ts";
import { outsideRules } from "./seatbelt.ts";
import { seccompFilter } from "./seccomp.ts";

/** What holds the libraries of a system, and where they are listed. */
const LIBRARIES =
  "/usr /lib /lib32 /lib64 /libx32 /etc/ld.so.cache /etc/ld.so.conf /etc/alternatives /nix/store /gnu/store " +
  "/home/linuxbrew/.linuxbrew /opt/homebrew";

/** How it is started. `third`: what is written to its file 3. */
type Shut = { name: string; argv: string[]; third?: Uint8Array };

/** `name` is the sandbox that was found here; `only` are real paths. */
export function shutSandbox(
  programs: Programs,
  name: string,
  argv: string[],
  only: string[],
): Shut {
  if (name === "sandbox-exec")
    return { name, argv: ["/usr/bin/sandbox-exec", "-p", decoderProfile(only), ...argv] };
  const mounts = LIBRARIES.split(" ").flatMap((file) => ["--ro-bind-try", file, file]);
  const calls = seccompFilter({ unix: false });
  const args = [
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    "--clearenv",
    "--chdir",
    "/",
    ...(calls ? ["--seccomp", "3"] : []),
    ...mounts,
    "--dev",
    "/dev",
    ...only.flatMap((file) => ["--ro-bind", file, file]),
    "--remount-ro",
    "/dev",
    "--remount-ro",
    "/",
    "--",
  ];
  return {
    name,
    argv: [findOutside(programs, "bwrap", [])!, ...args, ...argv],
    ...(calls && { third: calls }),
  };
}

/** Written with care, since no test here can run it. Later rules win. */
export function decoderProfile(only: string[]): string {
  const list = (paths: string[]) =>
    paths.map((file) => `(subpath ${JSON.stringify(file)})`).join(" ");
  const people = real(["/Users", "/Volumes", "/tmp", "/private/var/folders", os.homedir()]);
  return [
    '(version 1) (allow default) (deny network*) (deny file-write*) (allow file-write* (literal "/dev/null"))',
    `(deny process-fork) (deny file-read-data ${list(people)})`,
    `(allow file-read* ${list(only)})`,
    ...outsideRules(),
  ].join("\n");
}
