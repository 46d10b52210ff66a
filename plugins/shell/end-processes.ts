// Finds and ends all processes of a command, whatever group they moved to, and limits
// what they may use.
import { randomInt, randomUUID } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Programs } from "zz";
import { textOf, tryTo } from "zz/text";
import { direntsOf } from "./resolve-paths.ts";
import { processes } from "./sockets-and-fifos.ts";

export const GRACE_MS = 2_000; // ms from SIGTERM to SIGKILL
const LINGER_MS = 1_000; // ms that child processes may outlive the command

/**
 * Gives processes that the command left running a moment to end by themselves, then ends them.
 * Returns a note if it had to.
 */
export async function endAllProcesses(
  programs: Programs,
  leaderPid: number,
  outputClosed: Promise<unknown>,
  processMark: ProcessMark,
): Promise<string | undefined> {
  let isOpen = true;
  void outputClosed.then(() => (isOpen = false));
  const isGoneWithin = async (limitMs: number) => {
    const deadline = performance.now() + limitMs;
    do {
      await Promise.race([outputClosed, pause(10)]);
      if (!isOpen && !hasLivingProcess(leaderPid)) return true;
      if (!isOpen) await pause(10);
    } while (performance.now() < deadline);
    return false;
  };
  const hasLeftovers = !(await isGoneWithin(LINGER_MS));
  if (hasLeftovers) {
    sendSignal(programs, leaderPid, "SIGTERM");
    if (!(await isGoneWithin(GRACE_MS))) sendSignal(programs, leaderPid, "SIGKILL");
  }
  const hadStrays = await endStrays(processMark);
  if ((hasLeftovers || hadStrays) && !(await isGoneWithin(LINGER_MS / 2)) && isOpen)
    return "a process that left the command's group still holds its output, and may be running";
  return hasLeftovers || hadStrays
    ? "processes that it left running were ended. Start, use and stop a server within one command"
    : undefined;
}

/**
 * Ends processes that left the command's group and session and have no parent any more: they are
 * found by the mark.
 */
async function endStrays(processMark: ProcessMark): Promise<boolean> {
  const firstStrays = processMark.strays();
  if (!firstStrays.length) return false;
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    for (const strayPid of processMark.strays()) trySignal(strayPid, signal);
    for (
      const deadline = performance.now() + GRACE_MS;
      processMark.strays().length && performance.now() < deadline;
    )
      await pause(20);
  }
  return true;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export function sendSignal(
  programs: Programs,
  leaderPid: number,
  signal: NodeJS.Signals,
  isSandboxed = false,
): void {
  if (process.platform === "win32")
    return void programs.start("taskkill", ["/pid", `${leaderPid}`, "/t", "/f"], {
      stdio: "ignore",
    });
  const members = processesOf(leaderPid);
  // SIGTERM would end bubblewrap at once, and the command with it by SIGKILL: only the processes
  // inside get the signal.
  if (!isSandboxed) trySignal(-leaderPid, signal);
  for (const member of members) if (member !== leaderPid) trySignal(member, signal);
}

/** It may have ended. */
const trySignal = (targetPid: number, signal: NodeJS.Signals | 0): boolean =>
  tryTo(() => process.kill(targetPid, signal)) === true;

function hasLivingProcess(leaderPid: number): boolean {
  if (process.platform === "win32" || !trySignal(-leaderPid, 0)) return false;
  // that succeeds for zombies, too
  return process.platform !== "linux" || processesOf(leaderPid).length > 0;
}

/**
 * The living processes of a leader's group and session, and their descendants, including those
 * inside the sandbox.
 */
function processesOf(leaderPid: number): number[] {
  if (process.platform !== "linux") return [];
  const processTable = processes().flatMap((processId) => {
    const [processState, ...numbers] = readStatFields(processId);
    const [parent, group, session] = numbers.map(Number);
    // ended, now or before
    return !processState || processState === "Z"
      ? []
      : { pid: Number(processId), parent: parent!, group: group!, session: session! };
  });
  const familyPids = new Set(
    processTable
      .filter((candidate) =>
        [candidate.pid, candidate.group, candidate.session].includes(leaderPid),
      )
      .map((member) => member.pid),
  );
  for (let sizeBefore = -1; sizeBefore !== familyPids.size; ) {
    sizeBefore = familyPids.size;
    for (const process of processTable)
      if (familyPids.has(process.parent)) familyPids.add(process.pid);
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
export function markProcesses(isNeeded: boolean): ProcessMark {
  if (!isNeeded || process.platform !== "linux")
    return { wrap: (argv) => ({ argv, env: {} }), strays: () => [] };
  const [markName, oomScore, startedAfter] = [randomUUID(), randomInt(700, 1_000), startOf("self")];
  const markScript = `{ echo ${oomScore} > /proc/self/oom_score_adj; } 2>/dev/null; exec "$@"`;
  return {
    wrap: (argv) => ({
      argv: ["/bin/sh", "-c", markScript, "sh", ...argv],
      env: { ZZ_JOB: markName },
    }),
    strays() {
      // A process that forks and ends during the search is missed, and so is its child: then search
      // again. Some that have ended stay in the list, as zombies.
      const zombies = new Set<string>();
      for (let retries = 5; ; retries--) {
        let hasVanished = false;
        const markedPids = processes().filter((processId) => {
          const processState = stateOf(processId);
          if (!processState || (processState === "Z" && !zombies.has(processId)))
            hasVanished = true;
          if (processState === "Z") zombies.add(processId);
          if (!processState || processState === "Z") return false;
          const variables = textOf(`/proc/${processId}/environ`);
          if (variables.includes(`ZZ_JOB=${markName}`)) return true;
          const hasScore = textOf(`/proc/${processId}/oom_score_adj`).trim() === `${oomScore}`;
          return hasScore && !variables.includes("ZZ_JOB=") && startOf(processId) >= startedAfter;
        });
        if (markedPids.length || !hasVanished || !retries) return markedPids.map(Number);
      }
    },
  };
}

const readStatFields = (processId: string): string[] =>
  textOf(`/proc/${processId}/stat`)
    .replace(/^.*\) /s, "")
    .split(" ");
const stateOf = (processId: string): string | undefined => readStatFields(processId)[0];
const startOf = (processId: string): number => Number(readStatFields(processId)[19]);

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
  const memoryLimit = process.constrainedMemory();
  const totalMemory = memoryLimit > 0 && memoryLimit < os.totalmem() ? memoryLimit : os.totalmem();
  return {
    memory: totalMemory * 0.8,
    processes: 2_000,
    tmp: 8 * 2 ** 30,
    upper: 2 * 2 ** 30,
    free: 256 * 2 ** 20,
  };
}

/** Reports once when a command exceeds its caps, if it runs longer than a moment. */
export function watchLimits(
  leaderPid: number,
  changedCaps: Partial<ResourceCaps>,
  { tmp, upper }: { tmp?: string | undefined; upper?: string | undefined },
  workingFolder: string,
  onExceeded: (excess: string) => void,
): () => void {
  if (process.platform !== "linux") return () => {};
  const effectiveCaps = { ...usualCaps(), ...changedCaps };
  const watchedDisks = [workingFolder, tmp, upper]
    .filter((folder) => folder !== undefined)
    .map((folder) => ({ folder, before: freeBytesOn(folder) }));
  const bytesInTmp = measureFolder(tmp, () => namelessOf(processesOf(leaderPid), tmp).onDisk);
  const bytesOnView = measureFolder(upper, () => namelessOf(processesOf(leaderPid), tmp).elsewhere);
  const checkTimer = setInterval(() => {
    const excess = exceededCap();
    if (!excess) return;
    clearInterval(checkTimer);
    onExceeded(excess);
  }, CHECK_INTERVAL_MS);
  return () => clearInterval(checkTimer);

  function exceededCap(): string | undefined {
    const members = processesOf(leaderPid);
    if (members.length > effectiveCaps.processes)
      return `started more than ${effectiveCaps.processes} processes. Let it start fewer at a time`;
    const ownMemory = members.reduce((sum, member) => sum + memoryOf(member), 0);
    const usedMemory = os.totalmem() - os.freemem();
    if (
      ownMemory > effectiveCaps.memory ||
      (usedMemory > effectiveCaps.memory &&
        ownMemory + namelessOf(members).memory > effectiveCaps.memory)
    )
      return (
        `took more than ${formatSize(effectiveCaps.memory)} of memory. ` +
        "Let it work in smaller parts"
      );
    for (const { folder, before } of watchedDisks) {
      const written = before - freeBytesOn(folder);
      if (freeBytesOn(folder) < effectiveCaps.free && written > effectiveCaps.free)
        return `filled the disk of '${folder}'. Let it write less`;
    }
    if (bytesInTmp(effectiveCaps.tmp) > Math.max(effectiveCaps.tmp, bytesInTmp.first)) {
      const othersNote =
        bytesInTmp.first > effectiveCaps.tmp / 2 ? ", with what earlier commands left there" : "";
      return (
        `wrote more than ${formatSize(effectiveCaps.tmp)} to /tmp${othersNote}. ` +
        "Let it write less, or into the project"
      );
    }
    if (bytesOnView(effectiveCaps.upper) > effectiveCaps.upper)
      return (
        `changed more than ${formatSize(effectiveCaps.upper)} of the project. ` +
        "Let it write less, or call it with direct: true"
      );
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
): { (sizeLimit: number): number; first: number } {
  let lastMeasure = { size: folder ? folderSize(folder) : 0, free: freeBytesOn(folder) };
  let remainingChecks = CHECKS_BETWEEN;
  const sizeNow = (sizeLimit: number) => {
    if (
      !folder ||
      (--remainingChecks > 0 &&
        lastMeasure.size + lastMeasure.free - freeBytesOn(folder) <= sizeLimit)
    )
      return lastMeasure.size;
    const startedAt = performance.now();
    lastMeasure = { size: folderSize(folder) + bytesBesides(), free: freeBytesOn(folder) };
    // a twentieth of the time
    remainingChecks =
      CHECKS_BETWEEN + Math.ceil((20 * (performance.now() - startedAt)) / CHECK_INTERVAL_MS);
    return lastMeasure.size;
  };
  return Object.assign(sizeNow, { first: lastMeasure.size });
}
const CHECKS_BETWEEN = 10;

/**
 * The bytes of files that have no name any more, but that these processes hold open: on the disk of
 * a folder, elsewhere, in memory.
 */
function namelessOf(
  processIds: number[],
  folder = "/",
): { onDisk: number; elsewhere: number; memory: number } {
  const folderDisk = fs.statSync(folder, { throwIfNoEntry: false })?.dev;
  const heldBytes = { onDisk: 0, elsewhere: 0, memory: 0 };
  const countedFiles = new Set<string>();
  for (const fileLink of processIds.flatMap((processId) =>
    direntsOf(`/proc/${processId}/fd`).map(({ name }) => `/proc/${processId}/fd/${name}`),
  )) {
    const fileStats = tryTo(() => fs.statSync(fileLink)); // it may be closed meanwhile
    const fileIdentity = `${fileStats?.dev}:${fileStats?.ino}`;
    if (!fileStats?.isFile() || fileStats.nlink || countedFiles.has(fileIdentity)) continue;
    countedFiles.add(fileIdentity);
    const isMemory = tryTo(() => fs.readlinkSync(fileLink))?.startsWith("/memfd:");
    const storage = fileStats.dev === folderDisk ? "onDisk" : "elsewhere";
    heldBytes[isMemory ? "memory" : storage] += 512 * fileStats.blocks;
  }
  return heldBytes;
}

const memoryOf = (processId: number): number =>
  1024 * Number(/^RssAnon:\s+(\d+)/m.exec(textOf(`/proc/${processId}/status`))?.[1] ?? 0);
const formatSize = (byteCount: number): string =>
  byteCount < 2 ** 30
    ? `${Math.round(byteCount / 2 ** 20)} MB`
    : `${(byteCount / 2 ** 30).toFixed(1)} GB`;

function freeBytesOn(folder: string): number {
  const disk = tryTo(() => fs.statfsSync(folder));
  return disk ? disk.bavail * disk.bsize : Number.POSITIVE_INFINITY;
}

function folderSize(folder: string): number {
  return direntsOf(folder).reduce((sum, dirent) => {
    const absolutePath = path.join(folder, dirent.name);
    if (dirent.isDirectory()) return sum + folderSize(absolutePath);
    return sum + 512 * (fs.lstatSync(absolutePath, { throwIfNoEntry: false })?.blocks ?? 0);
  }, 0);
}
