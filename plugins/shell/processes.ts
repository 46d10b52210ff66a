// processes: all that belong to a command, whatever group they moved to, and how much they may use.
import { randomInt, randomUUID } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Programs } from "zz";
import { textOf } from "zz/text";
import { direntsOf } from "./paths.ts";

export const GRACE = 2_000; // ms from SIGTERM to SIGKILL
const LINGER = 1_000; // ms that children may live on after the command itself

/** What the command left running gets a moment to end by itself, then is ended. Returns a note if it was. */
export async function settle(
  programs: Programs,
  pid: number,
  closed: Promise<unknown>,
  mark: Mark,
): Promise<string | undefined> {
  let open = true;
  void closed.then(() => (open = false));
  const gone = async (ms: number) => {
    const until = performance.now() + ms;
    do {
      await Promise.race([closed, pause(10)]);
      if (!open && !living(pid)) return true;
      if (!open) await pause(10);
    } while (performance.now() < until);
    return false;
  };
  const ended = !(await gone(LINGER));
  if (ended) {
    sendSignal(programs, pid, "SIGTERM");
    if (!(await gone(GRACE))) sendSignal(programs, pid, "SIGKILL");
  }
  const strays = await endStrays(mark);
  if ((ended || strays) && !(await gone(LINGER / 2)) && open)
    return "a process that left the command's group still holds its output, and may be running";
  return ended || strays
    ? "processes that it left running were ended. Start, use and stop a server within one command"
    : undefined;
}

/** Processes that left the command's group and session, and have no parent any more: the mark tells them. */
async function endStrays(mark: Mark): Promise<boolean> {
  const first = mark.strays();
  if (!first.length) return false;
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    for (const pid of mark.strays()) kill(pid, signal);
    for (const until = performance.now() + GRACE; mark.strays().length && performance.now() < until; ) await pause(20);
  }
  return true;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export function sendSignal(programs: Programs, pid: number, signal: NodeJS.Signals, isSandboxed = false): void {
  if (process.platform === "win32")
    return void programs.start("taskkill", ["/pid", `${pid}`, "/t", "/f"], { stdio: "ignore" });
  const members = processesOf(pid);
  // bubblewrap would die of SIGTERM at once, and the command with it by SIGKILL: only the processes within get the signal.
  if (!isSandboxed) kill(-pid, signal);
  for (const member of members) if (member !== pid) kill(member, signal);
}

function kill(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch {} // gone
}

function living(pid: number): boolean {
  if (process.platform === "win32") return false;
  try {
    process.kill(-pid, 0);
    return process.platform !== "linux" || processesOf(pid).length > 0; // one that has ended but was not waited for counts as well
  } catch {
    return false;
  }
}

/** The living processes of a leader's group and session, and those that they started: the sandbox's own too. */
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
      return state === "Z" ? [] : [{ pid: Number(name), parent: parent!, group: group!, session: session! }];
    } catch {
      return []; // gone meanwhile
    }
  });
  const found = new Set(
    table.filter((one) => [one.pid, one.group, one.session].includes(leader)).map((one) => one.pid),
  );
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const one of table) if (found.has(one.parent)) found.add(one.pid);
  }
  return [...found];
}

// ── a mark ─────────────────────────────────────────────────────────────────────────────────────────────

export interface Mark {
  wrap(argv: string[]): { argv: string[]; env: Record<string, string> };
  strays(): number[]; // those that bear it
}

/**
 * What a command's processes are known by: a variable; and a number that is inherited by who clears its variables too,
 * how willingly the kernel ends it where memory ends. In a sandbox none is needed: there all end with the first.
 */
export function marked(needed: boolean): Mark {
  if (!needed || process.platform !== "linux") return { wrap: (argv) => ({ argv, env: {} }), strays: () => [] };
  const [name, score, since] = [randomUUID(), randomInt(700, 1_000), startOf("self")];
  const script = `{ echo ${score} > /proc/self/oom_score_adj; } 2>/dev/null; exec "$@"`;
  return {
    wrap: (argv) => ({ argv: ["/bin/sh", "-c", script, "sh", ...argv], env: { ZZ_JOB: name } }),
    strays() {
      // One that forks and ends while it is looked for is missed, and its child as well: then it is looked for again.
      for (let again = 5; ; again--) {
        let gone = false;
        const found = fs.readdirSync("/proc").filter((pid) => {
          if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false;
          const state = stateOf(pid);
          if (!state) gone = true;
          if (!state || state === "Z") return false;
          const variables = textOf(`/proc/${pid}/environ`);
          if (variables.includes(`ZZ_JOB=${name}`)) return true;
          const isNear = textOf(`/proc/${pid}/oom_score_adj`).trim() === `${score}`;
          return isNear && !variables.includes("ZZ_JOB=") && startOf(pid) >= since;
        });
        if (found.length || !gone || !again) return found.map(Number);
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

// ── what it uses up ────────────────────────────────────────────────────────────────────────────────────

/** Far above what builds need. */
export interface Caps {
  memory: number; // bytes that its processes hold for themselves, together
  processes: number;
  tmp: number; // bytes in its own /tmp
  free: number; // bytes that must stay free on the disk, once it has taken as much
}
const CHECK_EVERY = 500; // ms

function usualCaps(): Caps {
  const limit = process.constrainedMemory();
  const memory = limit > 0 && limit < os.totalmem() ? limit : os.totalmem();
  return { memory: memory * 0.8, processes: 2_000, tmp: 8 * 2 ** 30, free: 256 * 2 ** 20 };
}

/** Says so once when it takes more; only of what runs longer than a moment. */
export function watch(
  pid: number,
  caps: Partial<Caps>,
  tmp: string | undefined,
  cwd: string,
  over: (what: string) => void,
): () => void {
  if (process.platform !== "linux") return () => {};
  const most = { ...usualCaps(), ...caps };
  const disks = [cwd, ...(tmp ? [tmp] : [])].map((at) => ({ at, before: freeOn(at) }));
  const timer = setInterval(() => {
    const what = excess();
    if (!what) return;
    clearInterval(timer);
    over(what);
  }, CHECK_EVERY);
  return () => clearInterval(timer);

  function excess(): string | undefined {
    const members = processesOf(pid);
    if (members.length > most.processes)
      return `started more than ${most.processes} processes. Let it start fewer at a time`;
    const held = members.reduce((sum, one) => sum + memoryOf(one), 0);
    if (held > most.memory) return `took more than ${size(most.memory)} of memory. Let it work in smaller parts`;
    for (const { at, before } of disks) {
      const taken = before - freeOn(at);
      if (freeOn(at) < most.free && taken > most.free) return `filled the disk of '${at}'. Let it write less`;
      if (at === tmp && taken > most.tmp && sizeOf(tmp) > most.tmp)
        return `wrote more than ${size(most.tmp)} to /tmp. Let it write less, or into the project`;
    }
    return undefined;
  }
}

const memoryOf = (pid: number): number =>
  1024 * Number(/^RssAnon:\s+(\d+)/m.exec(textOf(`/proc/${pid}/status`))?.[1] ?? 0);
const size = (bytes: number): string =>
  bytes < 2 ** 30 ? `${Math.round(bytes / 2 ** 20)} MB` : `${(bytes / 2 ** 30).toFixed(1)} GB`;

function freeOn(at: string): number {
  try {
    const { bavail, bsize } = fs.statfsSync(at);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function sizeOf(folder: string): number {
  return direntsOf(folder).reduce((sum, entry) => {
    const at = path.join(folder, entry.name);
    if (entry.isDirectory()) return sum + sizeOf(at);
    return sum + 512 * (fs.lstatSync(at, { throwIfNoEntry: false })?.blocks ?? 0);
  }, 0);
}
