// Runs npm and git without a terminal, so that nothing can wait for a password there, and with a
// time limit.
import type { Ctx } from "zz";
import { fault } from "zz/text";

export interface ProgramResult {
  code: number;
  stdout: string;
  stderr: string;
}
interface RunOptions {
  cwd: string;
  env?: Record<string, string | undefined>;
  limit: number; // ms
}

/**
 * Variables of a git hook or npm script that started zz: they would mislead the git or npm that zz
 * starts.
 */
const MISLEADING =
  /^(GIT_(DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|NAMESPACE|PREFIX|EXTERNAL_DIFF)|npm_config_(local_prefix|prefix|json|dry_run|global|workspaces?)|npm_(package|lifecycle)_.*)$/;
const NO_PROMPTS = {
  GIT_TERMINAL_PROMPT: "0",
  GIT_ASKPASS: "true",
  SSH_ASKPASS: "true",
  SSH_ASKPASS_REQUIRE: "never",
  GCM_INTERACTIVE: "never",
};
const MAX_CHARS = 1 << 20; // of what it says

export function run(
  { programs, signal, io }: Pick<Ctx, "programs" | "signal" | "io">,
  program: string,
  args: string[],
  { cwd, env, limit }: RunOptions,
): Promise<ProgramResult> {
  if (!programs.find(program))
    return Promise.reject(fault(`there is no ${program} on the PATH. Install it`));
  const { promise, resolve, reject } = Promise.withResolvers<ProgramResult>();
  const stop = AbortSignal.any([signal, io.clock.limit(limit)]);
  const ownVariables = Object.entries(process.env).filter(([name]) => !MISLEADING.test(name));
  const child = programs.start(program, args, {
    cwd,
    env: {
      ...Object.fromEntries(ownVariables),
      ...NO_PROMPTS,
      LC_ALL: "C.UTF-8",
      LANGUAGE: "",
      ...env,
    },
    detached: process.platform !== "win32", // a process group of its own has no terminal
    stdio: ["ignore", "pipe", "pipe"],
    windowsHide: true,
  });
  let [stdout, stderr] = ["", ""];
  child
    .stdout!.setEncoding("utf8")
    .on("data", (text: string) => (stdout = (stdout + text).slice(0, MAX_CHARS)));
  child
    .stderr!.setEncoding("utf8")
    .on("data", (text: string) => (stderr = (stderr + text).slice(0, MAX_CHARS)));
  process.once("exit", kill);
  stop.addEventListener("abort", kill, { once: true });
  if (stop.aborted) kill();
  child.on("error", (error) => {
    done();
    reject(error);
  });
  child.on("close", (code) => {
    done();
    if (signal.aborted) reject(signal.reason);
    else if (stop.aborted)
      reject(fault(`${program} took longer than ${limit / 1000} s and was stopped. Try again`));
    else resolve({ code: code ?? -1, stdout, stderr });
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
    } catch {} // it has ended
  }
}
