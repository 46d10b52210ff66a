// Runs the program itself, as a person's shell would: its own process, its own home, its own
// folder.
import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Readable, Writable } from "node:stream";
import type { Clock } from "../../kernel/contract.ts";
import { CLOCK } from "../../kernel/text/clock.ts";
import { PATIENT } from "../../sdk/clock.ts";
import { put, type Tree, temporaryFolder } from "./files.ts";
import "./ripgrep.ts";

/** What zz starts from this process starts as from a person's: without the flags that node has for
 * the tests. */
process.execArgv.length = 0;

/** Also of what this process does without a clock of its own, a busy machine ends nothing. */
Object.assign(CLOCK, PATIENT);

export const ROOT = join(import.meta.dirname, "..", "..");
/** A sandbox has a /tmp of its own. */
export const isHidden = ROOT.startsWith("/tmp/");

/** Where a command in the sandbox finds this program of the tests, also if the checkout lies in
 * /tmp. */
export function visible(name: string): string {
  const file = join(ROOT, name);
  if (!isHidden) return file;
  const folder = temporaryFolder("/var/tmp/zz-visible-");
  copyFileSync(file, join(folder, basename(file)));
  return join(folder, basename(file));
}

/** The three ways to start zz. */
export const WAYS = {
  dist: [process.execPath, join(ROOT, "dist", "zz.js")],
  node: [process.execPath, join(ROOT, "zz.ts")],
  // else the first node of PATH runs it
  tsx: [process.execPath, join(ROOT, "node_modules", ".bin", "tsx"), join(ROOT, "zz.ts")],
} as const;
export type Way = keyof typeof WAYS;

const LOADS = `import{registerHooks}from"node:module";import{writeSync}from"node:fs";
  registerHooks({load:(url,context,next)=>(writeSync(2,"loads "+url+"\\n"),next(url,context))})`;
const ENDS = `import{writeSync}from"node:fs";const{exit}=process;
  process.exit=(code)=>(writeSync(2,"forced\\n"),exit(code))`;
const importing = (code: string) => ({
  NODE_OPTIONS: `--import=data:text/javascript;base64,${Buffer.from(code).toString("base64")}`,
});
/** The environment of a process that says on stderr which modules it loads. */
export const TELLING_LOADS = importing(LOADS);
/** And of one that says there that process.exit() ends it. */
export const TELLING_ENDS = importing(ENDS);

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
  /** What is piped in, then closed; undefined: /dev/null; null: a pipe that stays open and silent.
   * Streams are for runs in this process. */
  input?: string | Readable | null;
  /** Instead of the machine's, for a run in this process. */
  clock?: Clock;
  env?: Record<string, string | undefined>;
  signal?: AbortSignal;
  /** Called as soon as the process runs. */
  started?(child: ChildProcess): void;
}

/** What zz in this process gets as its clock. */
export const clockOf = ({ clock = PATIENT }: { clock?: Clock | undefined }): Clock => clock;

/** A fresh home and a fresh project with these files, objects as JSON, removed when the test file
 * ends. */
export function place(files: Tree = {}, settings: object = {}, homes: Tree = {}): Place {
  const base = temporaryFolder("zz-test-");
  const [home, cwd] = [join(base, "home"), join(base, "project")];
  mkdirSync(cwd);
  put(cwd, files);
  put(home, homes);
  if (Object.keys(settings).length) put(home, { "zz.config.json": settings });
  return { home, cwd, sessions: () => sessionsIn(home) };
}
export function sessionsIn(home: string): any[][] {
  const names = readdirSync(join(home, "sessions")).filter((name) => name.endsWith(".jsonl"));
  const lines = (name: string) =>
    readFileSync(join(home, "sessions", name), "utf8")
      .trimEnd()
      .split("\n");
  return names.sort().map((name) => lines(name).map((line) => JSON.parse(line)));
}

/** Makes zz ask before a command runs, instead of about what it changed on a copy: for tests of
 * that question. */
export function asksBefore(where: Place): Place {
  put(where.home, { "zz.config.json": { shell: { effects: "before" } } });
  return where;
}

/** Runs the program in this process, from its source, unless the test needs a process of its
 * own. */
export const zz = (where: Place, args: string[], how: How = {}): Promise<Ran> =>
  needsProcess(args, how) ? zzProcess(where, args, how) : zzHere(where, args, how);

/** Whether a test needs a process: for its way to start, a signal, a look at it, a script, or its
 * environment. */
function needsProcess(args: string[], { way, env = {}, signal, started }: How): boolean {
  const isShared = Object.keys(env).some((name) => !ZZS_OWN.test(name));
  const isScript = args.some((arg) => /^--run(=|$)/.test(arg));
  return way !== undefined || Boolean(signal ?? started) || isScript || isShared;
}
export const ZZS_OWN =
  /^((OPENAI|OLLAMA|ANTHROPIC|GEMINI|GOOGLE|ACME)_API_KEY|ACME_URL|TRACKER_TOKEN|OPENAI_BASE_URL|ANTHROPIC_BASE_URL|OLLAMA_HOST|ZZ_MODEL|ZZ_HOME|ZZ_DEBUG|ZZ_STDIN_WAIT|ZZ_STDIN_LIMIT|ZZ_LOAD_LIMIT)$/;

/**
 * Sets variables of this process for a while: other files share it.
 * `using _ = withEnvironment({ HOME: home })`.
 */
export function withEnvironment(more: Record<string, string>): Disposable {
  const before = Object.keys(more).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, more);
  return {
    [Symbol.dispose]() {
      for (const [name, value] of before)
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
    },
  };
}

export function environment(where: Place, how: How): NodeJS.ProcessEnv {
  const { OPENAI_BASE_URL, ANTHROPIC_BASE_URL, ZZ_MODEL, ZZ_HOME, FORCE_COLOR, ...rest } =
    process.env;
  const inherited = Object.fromEntries(
    Object.entries(rest).filter(([name]) => !/_API_KEY$/.test(name)),
  ); // no real key
  // The machine's own Ollama must not answer: nothing listens on this port.
  const own = { OLLAMA_HOST: "http://127.0.0.1:49", ZZ_HOME: where.home, ZZ_LOAD_LIMIT: "300" };
  return { ...inherited, ...own, ...how.env };
}

let runsHere = 0;
process.on("exit", () => {
  if (!runsHere) return;
  console.error(
    "The test's process ended in the middle of a run of zz. Use zzProcess() where a plugin may end it.",
  );
  process.exitCode = 1; // later tests did not run, and the file would pass
});

async function zzHere(where: Place, args: string[], how: How): Promise<Ran> {
  const { run } = await import("../../zz.ts");
  const started = performance.now();
  let folder = where.cwd;
  const [stdout, stderr] = [collector(), collector()];
  runsHere++;
  const code = await run(args, {
    stdin: stdinOf(how.input),
    stdout,
    stderr,
    env: environment(where, how),
    cwd: () => folder,
    enter: (to) => void (folder = to),
    clock: clockOf(how),
  }).finally(() => runsHere--);
  return { code, stdout: stdout.text(), stderr: stderr.text(), ms: performance.now() - started };
}

function stdinOf(input: How["input"]): Readable {
  if (input instanceof Readable) return input;
  return input === null
    ? new Readable({ read() {} })
    : Readable.from(input ? [Buffer.from(input)] : []);
}

function collector(): Writable & { text(): string } {
  const pieces: Buffer[] = [];
  const stream = new Writable({
    write(piece, _, done) {
      pieces.push(Buffer.from(piece));
      done();
    },
  });
  return Object.assign(stream, { text: () => Buffer.concat(pieces).toString("utf8") });
}

/** Runs the program in its own process, as a person's shell would start it. */
export function zzProcess(where: Place, args: string[], how: How = {}): Promise<Ran> {
  const [command, ...program] = WAYS[how.way ?? "dist"];
  const env = environment(where, how);
  const started = performance.now();
  const child = spawn(command, [...program, ...args], {
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
