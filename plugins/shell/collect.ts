// collect: what a program that zz itself started printed, once it has ended.
import type { ChildProcess } from "node:child_process";

/** `code` is -1 if it did not end by itself; `err` may say why it did not start. */
export type Collected = { code: number; out: string; err: string };
interface How {
  encoding?: BufferEncoding;
  input?: string | Buffer;
  signal?: AbortSignal;
  // gets the output piece by piece, each ended by a NUL, until it returns false
  take?(piece: string): boolean;
}

export function collect(
  child: ChildProcess,
  { encoding = "utf8", input = "", signal, take }: How = {},
): Promise<Collected> {
  const { promise, resolve } = Promise.withResolvers<Collected>();
  let [out, err, hasEnded] = ["", "", false];
  const end = (code: number, why = err) => {
    hasEnded = true;
    signal?.removeEventListener("abort", stop);
    child.kill("SIGKILL");
    resolve({ code, out, err: why });
  };
  const stop = () => end(-1);
  signal?.addEventListener("abort", stop, { once: true });
  child.stdin?.on("error", () => {}).end(input);
  child.stderr?.setEncoding("utf8").on("data", (text) => (err += text));
  child.stdout?.setEncoding(encoding).on("data", (text) => {
    out += text;
    if (!take || hasEnded) return;
    const pieces = out.split("\0");
    out = pieces.pop()!;
    if (!pieces.every((piece) => !piece || take(piece))) end(0);
  });
  child.on("error", ({ message }) => end(-1, message));
  child.on("close", (code) => {
    if (!hasEnded && out) take?.(out);
    end(code ?? -1);
  });
  return promise;
}
