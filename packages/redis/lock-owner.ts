// Who holds a lock: machine, process, when that process started, and which of its stores. A process
// that is gone holds none.
import fs from "node:fs";
import os from "node:os";

/** The machine as processes see it: containers of one host have numbers of their own. */
function machine(): string {
  const host = os.hostname().replace(/\s/g, "_");
  try {
    return `${host}/${fs.readlinkSync("/proc/self/ns/pid").replace(/\D/g, "")}`;
  } catch {
    return host;
  }
}

/**
 * When a process started, in the system's ticks; "": there is no such process; "?": it is there,
 * and more is not known.
 */
function startOf(processId: number): string {
  try {
    process.kill(processId, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return "";
  }
  try {
    const processStat = fs.readFileSync(`/proc/${processId}/stat`, "utf8");
    const statFields = processStat.slice(processStat.lastIndexOf(")") + 2).split(" ");
    return statFields[0] === "Z" ? "" : statFields[19]!;
  } catch {
    return "?";
  }
}

export const newOwner = (): string =>
  `${machine()} ${process.pid} ${startOf(process.pid)} ` + Math.random().toString(36).slice(2, 10);

export function isGone(lockOwner: string): boolean {
  const [ownerMachine, processId, start] = lockOwner.split(" ");
  return ownerMachine === machine() && startOf(Number(processId)) !== start;
}
