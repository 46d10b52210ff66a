// What a program that zz itself started printed, once it has ended.
import type { ChildProcess } from "node:child_process";

/** `code` is -1 if it did not end by itself; `err` may say why it did not start. */
type Collected = { code: number; stdout: string; stderr: string };
interface CollectOptions {
  encoding?: BufferEncoding;
  input?: string | Buffer;
  signal?: AbortSignal;
  // gets the output piece by piece, each ended by a NUL, until it returns false
  take?(outputPiece: string): boolean;
}

export function collect(
  childProcess: ChildProcess,
  { encoding = "utf8", input = "", signal, take }: CollectOptions = {},
): Promise<Collected> {
  const { promise, resolve } = Promise.withResolvers<Collected>();
  let [stdout, stderr, hasEnded] = ["", "", false];
  const finish = (code: number, message = stderr) => {
    hasEnded = true;
    signal?.removeEventListener("abort", stopOnAbort);
    childProcess.kill("SIGKILL");
    resolve({ code, stdout, stderr: message });
  };
  const stopOnAbort = () => finish(-1);
  signal?.addEventListener("abort", stopOnAbort, { once: true });
  childProcess.stdin?.on("error", () => {}).end(input);
  childProcess.stderr?.setEncoding("utf8").on("data", (errorText) => (stderr += errorText));
  childProcess.stdout?.setEncoding(encoding).on("data", (outputText) => {
    stdout += outputText;
    if (!take || hasEnded) return;
    const outputPieces = stdout.split("\0");
    stdout = outputPieces.pop()!;
    if (!outputPieces.every((outputPiece) => !outputPiece || take(outputPiece))) finish(0);
  });
  childProcess.on("error", ({ message }) => finish(-1, message));
  childProcess.on("close", (exitCode) => {
    if (!hasEnded && stdout) take?.(stdout);
    finish(exitCode ?? -1);
  });
  return promise;
}
