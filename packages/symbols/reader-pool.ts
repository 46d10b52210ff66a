// Other processes. Files for the index are read in separate processes: the conversation goes on
// meanwhile, every core is used, and the memory is freed with them (a thread keeps 100 MB after
// 10,000 files).
import type { ChildProcess } from "node:child_process";
import os from "node:os";
import type { Programs } from "zz";
import { fileBeside } from "zz/text";
import type { Page } from "./rows.ts";
import { scratchPage } from "./store.ts";
import type { ReadRequest, Rows } from "./symbols-worker.ts";

const BATCH_FILES = 32; // files
const FILES_PER_READER = 400; // files that justify another process
const MAX_READERS = 4;

/** Hands over what was read, batch by batch, until everything is read or the signal aborts. */
export async function readAll(
  programs: Programs,
  root: string,
  files: readonly ReadRequest["files"][number][],
  signal: AbortSignal,
  onRows: (rows: Rows, page: Page) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // this process waits meanwhile; each reader takes a second of work until it is fast
  const cores = os.availableParallelism();
  const count = Math.max(
    1,
    Math.floor(Math.min(cores, files.length / FILES_PER_READER, MAX_READERS)),
  );
  let [next, remaining] = [0, files.length];
  const readers = Array.from({ length: count }, startReader);
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop);
  try {
    if (signal.aborted) stop();
    await promise;
  } finally {
    signal.removeEventListener("abort", stop);
    for (const reader of readers) reader.kill("SIGKILL");
  }

  function startReader(): ChildProcess {
    const { page, fd } = scratchPage();
    const reader = programs.fork(fileBeside(import.meta.url, "symbols-worker")!, {
      execArgv: ["--max-semi-space-size=8"], // MB: there may be several of them
      serialization: "advanced",
      stdio: ["ignore", "ignore", "inherit", "ipc", fd], // the last: where it writes
    });
    reader.on("error", reject);
    reader.on("exit", (code) =>
      reject(
        new Error(`Cannot index this project: a process that reads it ended (${code}). Try again.`),
      ),
    );
    reader.on("message", (rows: Rows) => {
      onRows(rows, page);
      remaining -= rows.read;
      if (!remaining) resolve();
      else sendBatch(reader);
    });
    sendBatch(reader);
    sendBatch(reader); // the next batch waits while one is read
    return reader;
  }
  function sendBatch(reader: ChildProcess): void {
    const batch = files.slice(next, (next += BATCH_FILES));
    const request: ReadRequest = { root, files: batch };
    // if it cannot be sent, the reader has ended, which is reported
    if (batch.length) reader.send(request, () => {});
  }
}
