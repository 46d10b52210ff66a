// A sandbox in which a program reads what it is named and the system's libraries, writes
// nothing and reaches nobody. It is for programs that decode what strangers sent.
import os from "node:os";
import type { Programs } from "zz";
import { ISOLATED } from "./find-sandbox.ts";
import { real } from "./resolve-paths.ts";
import { outsideRules, subpathsOf } from "./seatbelt.ts";
import { seccompFilter } from "./seccomp.ts";

/** Where systems keep their libraries, and the lists of them. */
const LIBRARIES =
  "/usr /lib /lib32 /lib64 /libx32 /etc/ld.so.cache /etc/ld.so.conf " +
  "/etc/alternatives /nix/store /gnu/store " +
  "/home/linuxbrew/.linuxbrew /opt/homebrew";

/** How a program is started there; `third` is written to its file descriptor 3. */
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
  const libraryMounts = LIBRARIES.split(" ").flatMap((libraryPath) => [
    "--ro-bind-try",
    libraryPath,
    libraryPath,
  ]);
  const callFilter = seccompFilter({ unix: false });
  const sandboxOptions = [
    ...ISOLATED,
    "--clearenv",
    "--chdir",
    "/",
    ...(callFilter ? ["--seccomp", "3"] : []),
    ...libraryMounts,
    "--dev",
    "/dev",
    ...only.flatMap((readablePath) => ["--ro-bind", readablePath, readablePath]),
    "--remount-ro",
    "/dev",
    "--remount-ro",
    "/",
    "--",
  ];
  return {
    name,
    argv: [programs.find("bwrap")!, ...sandboxOptions, ...argv],
    ...(callFilter && { third: callFilter }),
  };
}

/** Written with care, since no test here can run it. Later rules win. */
export function decoderProfile(only: string[]): string {
  const personalPaths = real(["/Users", "/Volumes", "/tmp", "/private/var/folders", os.homedir()]);
  return [
    "(version 1) (allow default) (deny network*) (deny file-write*) " +
      '(allow file-write* (literal "/dev/null"))',
    `(deny process-fork) (deny file-read-data ${subpathsOf(personalPaths)})`,
    `(allow file-read* ${subpathsOf(only)})`,
    ...outsideRules(),
  ].join("\n");
}
