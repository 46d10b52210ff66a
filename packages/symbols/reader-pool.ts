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
  filesToRead: readonly ReadRequest["files"][number][],
  abortSignal: AbortSignal,
  handleRows: (readRows: Rows, page: Page) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // this process waits meanwhile; each reader takes a second of work until it is fast
  const coreCount = os.availableParallelism();
  const readerCount = Math.max(
    1,
    Math.floor(Math.min(coreCount, filesToRead.length / FILES_PER_READER, MAX_READERS)),
  );
  let [nextIndex, remaining] = [0, filesToRead.length];
  const readers = Array.from({ length: readerCount }, startReader);
  const rejectOnAbort = () => reject(abortSignal.reason);
  abortSignal.addEventListener("abort", rejectOnAbort);
  try {
    if (abortSignal.aborted) rejectOnAbort();
    await promise;
  } finally {
    abortSignal.removeEventListener("abort", rejectOnAbort);
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
    reader.on("exit", (exitCode) =>
      reject(
        new Error(
          `Cannot index this project: a process that reads it ended (${exitCode}). Try again.`,
        ),
      ),
    );
    reader.on("message", (readRows: Rows) => {
      handleRows(readRows, page);
      remaining -= readRows.read;
      if (!remaining) resolve();
      else sendBatch(reader);
    });
    sendBatch(reader);
    sendBatch(reader); // the next batch waits while one is read
    return reader;
  }
  function sendBatch(reader: ChildProcess): void {
    const fileBatch = filesToRead.slice(nextIndex, (nextIndex += BATCH_FILES));
    const request: ReadRequest = { root, files: fileBatch };
    // if it cannot be sent, the reader has ended, which is reported
    if (fileBatch.length) reader.send(request, () => {});
  }
}
