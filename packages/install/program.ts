// Runs npm and git without a terminal, so that nothing can wait for a password there, and with a
// time limit.
import type { Ctx } from "zz";
import { anyOf, fault } from "zz/text";

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
const MISLEADING = anyOf(
  /^GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|NAMESPACE|PREFIX|EXTERNAL_DIFF)$/,
  /^GIT_(OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES)$/,
  /^npm_config_(local_prefix|prefix|json|dry_run|global|workspaces?)$/,
  /^npm_(package|lifecycle)_.*$/,
);
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
  programArgs: string[],
  { cwd, env, limit }: RunOptions,
): Promise<ProgramResult> {
  if (!programs.find(program))
    return Promise.reject(fault(`there is no ${program} on the PATH. Install it`));
  const { promise, resolve, reject } = Promise.withResolvers<ProgramResult>();
  const stopSignal = AbortSignal.any([signal, io.clock.limit(limit)]);
  const ownVariables = Object.entries(process.env).filter(
    ([variableName]) => !MISLEADING.test(variableName),
  );
  const childProcess = programs.start(program, programArgs, {
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
  childProcess
    .stdout!.setEncoding("utf8")
    .on("data", (outputText: string) => (stdout = (stdout + outputText).slice(0, MAX_CHARS)));
  childProcess
    .stderr!.setEncoding("utf8")
    .on("data", (errorText: string) => (stderr = (stderr + errorText).slice(0, MAX_CHARS)));
  process.once("exit", killProcess);
  stopSignal.addEventListener("abort", killProcess, { once: true });
  if (stopSignal.aborted) killProcess();
  childProcess.on("error", (error) => {
    stopListening();
    reject(error);
  });
  childProcess.on("close", (exitCode) => {
    stopListening();
    if (signal.aborted) reject(signal.reason);
    else if (stopSignal.aborted)
      reject(fault(`${program} took longer than ${limit / 1000} s and was stopped. Try again`));
    else resolve({ code: exitCode ?? -1, stdout, stderr });
  });
  return promise;

  function stopListening(): void {
    process.off("exit", killProcess);
    stopSignal.removeEventListener("abort", killProcess);
  }
  function killProcess(): void {
    try {
      if (process.platform === "win32" || !childProcess.pid) childProcess.kill("SIGKILL");
      else process.kill(-childProcess.pid, "SIGKILL");
    } catch {} // it has ended
  }
}
