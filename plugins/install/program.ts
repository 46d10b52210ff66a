// Runs npm and git: without a terminal, so that nothing can wait for a password there, and never for ever.
import { spawn } from "node:child_process";
import path from "node:path";
import { fault } from "./words.ts";

export interface Ran {
  code: number;
  out: Buffer;
  err: string;
}
export interface How {
  cwd: string;
  env?: Record<string, string | undefined>;
  signal: AbortSignal;
  limit: number; // ms
  most?: number; // bytes of its output
}

/** What a repository or an npm script around zz would tell them, which is about something else. */
const STRANGE =
  /^(GIT_(DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|NAMESPACE|PREFIX|EXTERNAL_DIFF)|npm_config_(local_prefix|prefix|json|dry_run|global|workspaces?)|npm_(package|lifecycle)_.*)$/;
const SILENT = {
  GIT_TERMINAL_PROMPT: "0",
  GIT_ASKPASS: "true",
  SSH_ASKPASS: "true",
  SSH_ASKPASS_REQUIRE: "never",
  GCM_INTERACTIVE: "never",
};
/** Without what the folder where zz was started brings: npx and npm put its node_modules/.bin into PATH, and that of those above it. */
function pathWithout(root: string): string {
  const isBrought = (folder: string) =>
    !path.isAbsolute(folder) ||
    (/[/\\]node_modules[/\\]/.test(folder) &&
      `${root}${path.sep}`.startsWith(folder.replace(/(?<=[/\\])node_modules[/\\].*/, "")));
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  return folders.filter((folder) => !isBrought(folder)).join(path.delimiter);
}

const ENDS = 64 << 10; // characters of what it complains of

export function run(program: string, args: string[], { cwd, env, signal, limit, most = 64 << 20 }: How): Promise<Ran> {
  const { promise, resolve, reject } = Promise.withResolvers<Ran>();
  const stop = AbortSignal.any([signal, AbortSignal.timeout(limit)]);
  const own = Object.entries(process.env).filter(([name]) => !STRANGE.test(name));
  const child = spawn(program, args, {
    cwd,
    env: {
      ...Object.fromEntries(own),
      ...SILENT,
      PATH: pathWithout(process.cwd()),
      LC_ALL: "C.UTF-8",
      LANGUAGE: "",
      ...env,
    },
    detached: process.platform !== "win32", // a session of its own has no terminal
    stdio: ["ignore", "pipe", "pipe"],
    windowsHide: true,
  });
  const out: Buffer[] = [];
  let [size, err] = [0, ""];
  child.stdout.on("data", (bytes: Buffer) => {
    if ((size += bytes.length) > most) kill();
    else out.push(bytes);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err = (err + text).slice(0, ENDS)));
  process.once("exit", kill);
  stop.addEventListener("abort", kill, { once: true });
  if (stop.aborted) kill();
  child.on("error", (error: NodeJS.ErrnoException) => {
    done();
    reject(error.code === "ENOENT" ? fault(`there is no ${program} on the PATH. Install it`) : error);
  });
  child.on("close", (code) => {
    done();
    if (signal.aborted) reject(signal.reason);
    else if (stop.aborted) reject(fault(`${program} took longer than ${limit / 1000} s and was stopped. Try again`));
    else if (size > most)
      reject(fault(`${program} gave more than ${Math.round(most / 1e6)} MB, which is more than a plugin may bring`));
    else resolve({ code: code ?? -1, out: Buffer.concat(out), err });
  });
  return promise;

  function done(): void {
    process.off("exit", kill);
    stop.removeEventListener("abort", kill);
  }
  function kill(): void {
    try {
      if (process.platform === "win32" || !child.pid) child.kill("SIGKILL");
      else process.kill(-child.pid, "SIGKILL");
    } catch {} // it is gone
  }
}
