// What a program that zz itself started printed, once it has ended.
import type { ChildProcess } from "node:child_process";

/** `code` is -1 if it did not end by itself; `err` may say why it did not start. */
type Collected = { code: number; stdout: string; stderr: string };
interface CollectOptions {
  encoding?: BufferEncoding;
  input?: string | Buffer;
  signal?: AbortSignal;
  // gets the output piece by piece, each ended by a NUL, until it returns false
  take?(piece: string): boolean;
}

export function collect(
  child: ChildProcess,
  { encoding = "utf8", input = "", signal, take }: CollectOptions = {},
): Promise<Collected> {
  const { promise, resolve } = Promise.withResolvers<Collected>();
  let [stdout, stderr, hasEnded] = ["", "", false];
  const end = (code: number, message = stderr) => {
    hasEnded = true;
    signal?.removeEventListener("abort", stop);
    child.kill("SIGKILL");
    resolve({ code, stdout, stderr: message });
  };
  const stop = () => end(-1);
  signal?.addEventListener("abort", stop, { once: true });
  child.stdin?.on("error", () => {}).end(input);
  child.stderr?.setEncoding("utf8").on("data", (text) => (stderr += text));
  child.stdout?.setEncoding(encoding).on("data", (text) => {
    stdout += text;
    if (!take || hasEnded) return;
    const pieces = stdout.split("\0");
    stdout = pieces.pop()!;
    if (!pieces.every((piece) => !piece || take(piece))) end(0);
  });
  child.on("error", ({ message }) => end(-1, message));
  child.on("close", (code) => {
    if (!hasEnded && stdout) take?.(stdout);
    end(code ?? -1);
  });
  return promise;
}
