// Runs the program itself, as a person's shell would: its own process, its own home, its own folder.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

export const ROOT = join(import.meta.dirname, "..");

/** The three ways in. */
export const WAYS = {
  dist: [process.execPath, join(ROOT, "dist", "zz.js")],
  node: [process.execPath, join(ROOT, "zz.ts")],
  tsx: [join(ROOT, "node_modules", ".bin", "tsx"), join(ROOT, "zz.ts")],
} as const;
export type Way = keyof typeof WAYS;

export interface Place {
  home: string;
  cwd: string;
  /** Every line of every session file. */
  sessions(): any[][];
}
export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
  ms: number;
}
export interface How {
  way?: Way;
  /** What is piped in, then closed; undefined: nothing, /dev/null; null: a pipe that stays open and silent. */
  input?: string | null;
  env?: Record<string, string | undefined>;
  signal?: AbortSignal;
  /** Called as soon as the process runs. */
  started?(child: ChildProcess): void;
}

/** A test that needs a program of the machine's says so, rather than pass without it. */
export function needsProgram(name: string, debian: string): void {
  const found = (process.env.PATH ?? "").split(":").some((folder) => existsSync(join(folder, name)));
  if (!found) throw new Error(`Cannot test this: '${name}' is not installed. Install it: apt-get install ${debian}.`);
}

/** A fresh home and a fresh project, removed when the test file ends. */
export function place(): Place {
  const base = mkdtempSync(join(tmpdir(), "zz-test-"));
  after(() => rmSync(base, { recursive: true, force: true }));
  const [home, cwd] = [join(base, "home"), join(base, "project")];
  mkdirSync(cwd);
  const folder = join(home, "sessions");
  const lines = (name: string) => readFileSync(join(folder, name), "utf8").trimEnd().split("\n");
  return {
    home,
    cwd,
    sessions: () =>
      readdirSync(folder)
        .filter((name) => name.endsWith(".jsonl"))
        .sort()
        .map((name) => lines(name).map((line) => JSON.parse(line))),
  };
}

export function zz(where: Place, args: string[], how: How = {}): Promise<Ran> {
  const [command, file] = WAYS[how.way ?? "dist"];
  const { OPENAI_API_KEY, OPENAI_BASE_URL, ZZ_MODEL, ZZ_HOME, FORCE_COLOR, ...inherited } = process.env;
  // No Ollama of the machine's own may answer: nothing listens on the discard port of this address.
  const env = { ...inherited, OLLAMA_HOST: "http://127.0.0.1:49", ZZ_HOME: where.home, ...how.env };
  const started = performance.now();
  const child = spawn(command, [file, ...args], {
    cwd: where.cwd,
    env,
    stdio: [how.input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    ...(how.signal && { signal: how.signal, killSignal: "SIGKILL" as const }),
  });
  how.started?.(child);
  if (typeof how.input === "string") child.stdin?.end(how.input);
  child.stdin?.on("error", () => {});
  let [stdout, stderr] = ["", ""];
  child.stdout!.setEncoding("utf8").on("data", (text) => (stdout += text));
  child.stderr!.setEncoding("utf8").on("data", (text) => (stderr += text));
  return new Promise((resolve, reject) => {
    child.on("error", (error) => (error.name === "AbortError" ? undefined : reject(error)));
    child.on("close", (code) => resolve({ code, stdout, stderr, ms: performance.now() - started }));
  });
}
