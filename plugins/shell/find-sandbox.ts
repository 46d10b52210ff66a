// Which sandbox works here: bubblewrap on Linux, sandbox-exec on macOS.
import fs from "node:fs";
import type { Ctx, Programs } from "zz";
import { isInsideAny } from "zz/text";
import { collect } from "./collect-output.ts";
import { split } from "./judge/parse-options.ts";
import { realOf } from "./resolve-paths.ts";
import type { Config } from "./shell-settings.ts";

// No capabilities, even for root.
export const ISOLATED = split("--unshare-all --die-with-parent --new-session --cap-drop ALL");
export const BASE = [...ISOLATED, "--ro-bind", "/", "/"];

/** One mount of a sandbox on Linux. */
export interface Mount {
  at: string;
  args: string[];
  isReadonly?: boolean; // made read-only once everything is mounted
}

/** root may write to /proc/sys without any capability, so it gets a read-only mount of its own. */
export const SYSTEM: Mount[] = [
  { at: "/dev", args: ["--dev", "/dev"], isReadonly: true },
  { at: "/proc", args: ["--proc", "/proc"] },
  { at: "/proc/sys", args: ["--ro-bind", "/proc/sys", "/proc/sys"] },
];

/** The name of the sandbox that commands run in; undefined if there is none, or it is off. */
export const sandboxName = async (
  { sandbox }: Config,
  { programs }: Pick<Ctx, "programs">,
): Promise<string | undefined> => (sandbox === "off" ? undefined : findSandbox(programs));

/** The programs that made a sandbox here: what works once is not tried again for each command. */
const workingPrograms = new Set<string>();
/**
 * Which sandbox works here. It is really tried, since a machine may have bubblewrap but forbid what
 * it does.
 */
export async function findSandbox(programs: Programs): Promise<string | undefined> {
  if (process.platform === "darwin") {
    const { tryRules } = await import("./seatbelt.ts");
    const tryRule = (sandboxRule: string) =>
      runAndRead(programs, "/usr/bin/sandbox-exec", [
        "-p",
        `(version 1)(allow default)${sandboxRule}`,
        "/usr/bin/true",
      ]);
    return (await tryRules(tryRule)) ? "sandbox-exec" : undefined;
  }
  const program = process.platform === "linux" && programs.find("bwrap");
  if (!program) return;
  if (workingPrograms.has(program)) return "bubblewrap";
  const networkNamespace = await runAndRead(programs, program, [
    ...BASE,
    ...SYSTEM.flatMap((mount) => mount.args),
    ...split("--perms 0000 --tmpfs /tmp --remount-ro /tmp -- readlink /proc/self/ns/net"),
  ]);
  if (
    !networkNamespace?.startsWith("net:") ||
    networkNamespace === fs.readlinkSync("/proc/self/ns/net")
  )
    return;
  workingPrograms.add(program);
  return "bubblewrap";
}

/**
 * By its full path, and never from a folder that a command can write to: that program would run
 * instead of the sandbox.
 */
export function findOutside(
  programs: Programs,
  programName: string,
  avoidedFolders: string[],
): string | undefined {
  const program = programs.find(programName);
  return program && !isInsideAny(avoidedFolders, realOf(program) ?? program) ? program : undefined;
}

async function runAndRead(
  programs: Programs,
  program: string,
  args: string[],
): Promise<string | undefined> {
  const { code, stdout } = await collect(
    programs.start(program, args, {
      timeout: 5_000,
      killSignal: "SIGKILL",
      stdio: ["ignore", "pipe", "ignore"],
    }),
  );
  return code === 0 ? stdout.trim() || "yes" : undefined;
}

/** `--size` came with bubblewrap 0.7. */
const sizeSupport = new Map<string, Promise<boolean>>();
export function knowsSize(programs: Programs, program: string): Promise<boolean> {
  const sizeAnswer =
    sizeSupport.get(program) ??
    runAndRead(programs, program, ["--help"]).then((helpText) => !!helpText?.includes("--size"));
  sizeSupport.set(program, sizeAnswer);
  return sizeAnswer;
}
