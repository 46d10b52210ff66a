// Finds and ends all processes of a command, whatever group they moved to, and limits
// what they may use.
import { randomInt, randomUUID } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Programs } from "zz";
import { textOf, tryTo } from "zz/text";
import { direntsOf } from "./resolve-paths.ts";

export const GRACE_MS = 2_000; // ms from SIGTERM to SIGKILL
const LINGER_MS = 1_000; // ms that child processes may outlive the command

/**
 * Gives processes that the command left running a moment to end by themselves, then ends them.
 * Returns a note if it had to.
 */
export async function endAllProcesses(
  programs: Programs,
  pid: number,
  closed: Promise<unknown>,
  mark: ProcessMark,
): Promise<string | undefined> {
  let open = true;
  void closed.then(() => (open = false));
  const isGoneWithin = async (ms: number) => {
    const until = performance.now() + ms;
    do {
      await Promise.race([closed, pause(10)]);
      if (!open && !hasLivingProcess(pid)) return true;
      if (!open) await pause(10);
    } while (performance.now() < until);
    return false;
  };
  const ended = !(await isGoneWithin(LINGER_MS));
  if (ended) {
    sendSignal(programs, pid, "SIGTERM");
    if (!(await isGoneWithin(GRACE_MS))) sendSignal(programs, pid, "SIGKILL");
  }
  const strays = await endStrays(mark);
  if ((ended || strays) && !(await isGoneWithin(LINGER_MS / 2)) && open)
    return "a process that left the command's group still holds its output, and may be running";
  return ended || strays
    ? "processes that it left running were ended. Start, use and stop a server within one command"
    : undefined;
}

/**
 * Ends processes that left the command's group and session and have no parent any more: they are
 * found by the mark.
 */
async function endStrays(mark: ProcessMark): Promise<boolean> {
  const first = mark.strays();
  if (!first.length) return false;
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    for (const pid of mark.strays()) kill(pid, signal);
    for (
      const until = performance.now() + GRACE_MS;
      mark.strays().length && performance.now() < until;
    )
      await pause(20);
  }
  return true;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export function sendSignal(
  programs: Programs,
  pid: number,
  signal: NodeJS.Signals,
  isSandboxed = false,
): void {
  if (process.platform === "win32")
    return void programs.start("taskkill", ["/pid", `${pid}`, "/t", "/f"], { stdio: "ignore" });
  const members = processesOf(pid);
  // SIGTERM would end bubblewrap at once, and the command with it by SIGKILL: only the processes
  // inside get the signal.
  if (!isSandboxed) kill(-pid, signal);
  for (const member of members) if (member !== pid) kill(member, signal);
}

function kill(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch {} // it has ended
}

function hasLivingProcess(pid: number): boolean {
  if (process.platform === "win32") return false;
  try {
    process.kill(-pid, 0);
    // kill() succeeds for zombies, too
    return process.platform !== "linux" || processesOf(pid).length > 0;
  } catch {
    return false;
  }
}

/**
 * The living processes of a leader's group and session, and their descendants, including those
 * inside the sandbox.
 */
function processesOf(leader: number): number[] {
  if (process.platform !== "linux") return [];
  const table = fs.readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const [state, ...numbers] = fs
        .readFileSync(`/proc/${name}/stat`, "latin1")
        .replace(/^.*\) /s, "")
        .split(" ");
      const [parent, group, session] = numbers.map(Number);
      return state === "Z"
        ? []
        : [{ pid: Number(name), parent: parent!, group: group!, session: session! }];
    } catch {
      return []; // ended meanwhile
    }
  });
  const familyPids = new Set(
    table
      .filter((candidate) => [candidate.pid, candidate.group, candidate.session].includes(leader))
      .map((member) => member.pid),
  );
  for (let before = -1; before !== familyPids.size; ) {
    before = familyPids.size;
    for (const process of table) if (familyPids.has(process.parent)) familyPids.add(process.pid);
  }
  return [...familyPids];
}

// ── a mark ───────────────────────────────────────────────────────────────────────────────────────

export interface ProcessMark {
  wrap(argv: string[]): { argv: string[]; env: Record<string, string> };
  strays(): number[]; // processes with the mark
}

/**
 * Marks a command's processes by a variable, and by an OOM score, which is also inherited by
 * processes that clear their variables. A sandbox needs no mark: when its first process ends, all
 * of them do.
 */
export function markProcesses(needed: boolean): ProcessMark {
  if (!needed || process.platform !== "linux")
    return { wrap: (argv) => ({ argv, env: {} }), strays: () => [] };
  const [name, score, startedAfter] = [randomUUID(), randomInt(700, 1_000), startOf("self")];
  const script = `{ echo ${score} > /proc/self/oom_score_adj; } 2>/dev/null; exec "$@"`;
  return {
    wrap: (argv) => ({ argv: ["/bin/sh", "-c", script, "sh", ...argv], env: { ZZ_JOB: name } }),
    strays() {
      // A process that forks and ends during the search is missed, and so is its child: then search
      // again. Some that have ended stay in the list, as zombies.
      const zombies = new Set<string>();
      for (let retries = 5; ; retries--) {
        let hasVanished = false;
        const markedPids = fs.readdirSync("/proc").filter((pid) => {
          if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false;
          const state = stateOf(pid);
          if (!state || (state === "Z" && !zombies.has(pid))) hasVanished = true;
          if (state === "Z") zombies.add(pid);
          if (!state || state === "Z") return false;
          const variables = textOf(`/proc/${pid}/environ`);
          if (variables.includes(`ZZ_JOB=${name}`)) return true;
          const hasScore = textOf(`/proc/${pid}/oom_score_adj`).trim() === `${score}`;
          return hasScore && !variables.includes("ZZ_JOB=") && startOf(pid) >= startedAfter;
        });
        if (markedPids.length || !hasVanished || !retries) return markedPids.map(Number);
      }
    },
  };
}

const statOf = (pid: string): string[] =>
  textOf(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, "")
    .split(" ");
const stateOf = (pid: string): string | undefined => statOf(pid)[0];
const startOf = (pid: string): number => Number(statOf(pid)[19]);

// ── resources ────────────────────────────────────────────────────────────────────────────────────

/** Limits on resources, far above what builds need. */
export interface ResourceCaps {
  memory: number; // private memory in bytes, of all its processes together
  processes: number;
  // bytes in its /tmp, which it may share with others on a copy: with what they left there
  tmp: number;
  upper: number; // bytes on its view of the project
  free: number; // bytes that must stay free on the disk, once the command has written as much
}
const CHECK_INTERVAL_MS = 500; // ms

function usualCaps(): ResourceCaps {
  const limit = process.constrainedMemory();
  const memory = limit > 0 && limit < os.totalmem() ? limit : os.totalmem();
  return {
    memory: memory * 0.8,
    processes: 2_000,
    tmp: 8 * 2 ** 30,
    upper: 2 * 2 ** 30,
    free: 256 * 2 ** 20,
  };
}

/** Reports once when a command exceeds its caps, if it runs longer than a moment. */
export function watchLimits(
  pid: number,
  caps: Partial<ResourceCaps>,
  { tmp, upper }: { tmp?: string | undefined; upper?: string | undefined },
  cwd: string,
  onExceeded: (excess: string) => void,
): () => void {
  if (process.platform !== "linux") return () => {};
  const limits = { ...usualCaps(), ...caps };
  const disks = [cwd, tmp, upper]
    .filter((folder) => folder !== undefined)
    .map((folder) => ({ folder, before: freeBytesOn(folder) }));
  const inTmp = measureFolder(tmp, () => namelessOf(processesOf(pid), tmp).onDisk);
  const onView = measureFolder(upper, () => namelessOf(processesOf(pid), tmp).elsewhere);
  const timer = setInterval(() => {
    const excess = exceededCap();
    if (!excess) return;
    clearInterval(timer);
    onExceeded(excess);
  }, CHECK_INTERVAL_MS);
  return () => clearInterval(timer);

  function exceededCap(): string | undefined {
    const members = processesOf(pid);
    if (members.length > limits.processes)
      return `started more than ${limits.processes} processes. Let it start fewer at a time`;
    const ownMemory = members.reduce((sum, member) => sum + memoryOf(member), 0);
    const used = os.totalmem() - os.freemem();
    if (
      ownMemory > limits.memory ||
      (used > limits.memory && ownMemory + namelessOf(members).memory > limits.memory)
    )
      return `took more than ${formatSize(limits.memory)} of memory. Let it work in smaller parts`;
    for (const { folder, before } of disks) {
      const written = before - freeBytesOn(folder);
      if (freeBytesOn(folder) < limits.free && written > limits.free)
        return `filled the disk of '${folder}'. Let it write less`;
    }
    if (inTmp(limits.tmp) > Math.max(limits.tmp, inTmp.first)) {
      const others = inTmp.first > limits.tmp / 2 ? ", with what earlier commands left there" : "";
      return `wrote more than ${formatSize(limits.tmp)} to /tmp${others}. Let it write less, or into the project`;
    }
    if (onView(limits.upper) > limits.upper)
      return `changed more than ${formatSize(limits.upper)} of the project. Let it write less, or call it with direct: true`;
    return undefined;
  }
}

/**
 * Tells how large a folder is. It is measured again once the free space says that more may be
 * there, and now and then anyway, since others may free as much. more: what else counts.
 */
function measureFolder(
  folder = "",
  bytesBesides: () => number,
): { (limit: number): number; first: number } {
  let last = { size: folder ? folderSize(folder) : 0, free: freeBytesOn(folder) };
  let checks = CHECKS_BETWEEN;
  const sizeNow = (limit: number) => {
    if (!folder || (--checks > 0 && last.size + last.free - freeBytesOn(folder) <= limit))
      return last.size;
    const began = performance.now();
    last = { size: folderSize(folder) + bytesBesides(), free: freeBytesOn(folder) };
    // a twentieth of the time
    checks = CHECKS_BETWEEN + Math.ceil((20 * (performance.now() - began)) / CHECK_INTERVAL_MS);
    return last.size;
  };
  return Object.assign(sizeNow, { first: last.size });
}
const CHECKS_BETWEEN = 10;

/**
 * The bytes of files that have no name any more, but that these processes hold open: on the disk of
 * a folder, elsewhere, in memory.
 */
function namelessOf(
  pids: number[],
  folder = "/",
): { onDisk: number; elsewhere: number; memory: number } {
  const disk = fs.statSync(folder, { throwIfNoEntry: false })?.dev;
  const held = { onDisk: 0, elsewhere: 0, memory: 0 };
  const countedFiles = new Set<string>();
  for (const link of pids.flatMap((pid) =>
    direntsOf(`/proc/${pid}/fd`).map(({ name }) => `/proc/${pid}/fd/${name}`),
  )) {
    const stat = tryTo(() => fs.statSync(link)); // it may be closed meanwhile
    const file = `${stat?.dev}:${stat?.ino}`;
    if (!stat?.isFile() || stat.nlink || countedFiles.has(file)) continue;
    countedFiles.add(file);
    const isMemory = tryTo(() => fs.readlinkSync(link))?.startsWith("/memfd:");
    const storage = stat.dev === disk ? "onDisk" : "elsewhere";
    held[isMemory ? "memory" : storage] += 512 * stat.blocks;
  }
  return held;
}

const memoryOf = (pid: number): number =>
  1024 * Number(/^RssAnon:\s+(\d+)/m.exec(textOf(`/proc/${pid}/status`))?.[1] ?? 0);
const formatSize = (bytes: number): string =>
  bytes < 2 ** 30 ? `${Math.round(bytes / 2 ** 20)} MB` : `${(bytes / 2 ** 30).toFixed(1)} GB`;

function freeBytesOn(folder: string): number {
  try {
    const { bavail, bsize } = fs.statfsSync(folder);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function folderSize(folder: string): number {
  return direntsOf(folder).reduce((sum, dirent) => {
    const absolutePath = path.join(folder, dirent.name);
    if (dirent.isDirectory()) return sum + folderSize(absolutePath);
    return sum + 512 * (fs.lstatSync(absolutePath, { throwIfNoEntry: false })?.blocks ?? 0);
  }, 0);
}
