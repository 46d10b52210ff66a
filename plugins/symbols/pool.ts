// Reads many files in worker threads, so that the conversation goes on meanwhile and every core helps.
import fs from "node:fs";
import os from "node:os";
import { Worker } from "node:worker_threads";
import type { Order, Rows } from "./worker.ts";

const BATCH = 32; // files
const WORTH_TWO = 300; // files, from which on a second thread pays
const MOST_WORKERS = 4;

/** Hands over what was read, batch by batch, until all of it is or the signal says stop. */
export async function readAll(
  root: string,
  files: readonly Order["files"][number][],
  signal: AbortSignal,
  take: (rows: Rows) => void,
): Promise<void> {
  const cores = Math.min(os.availableParallelism(), MOST_WORKERS);
  const count = files.length < WORTH_TWO ? 1 : cores;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let [next, left] = [0, files.length];
  const workers = Array.from({ length: count }, () => startWorker("worker"));
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop);
  for (const worker of workers) {
    worker.on("error", reject);
    worker.on("message", (rows: Rows) => {
      take(rows);
      left -= rows.read;
      if (!left) resolve();
      else give(worker);
    });
    give(worker);
    give(worker); // one waits while one is read
  }
  try {
    if (signal.aborted) stop();
    await promise;
  } finally {
    signal.removeEventListener("abort", stop);
    await Promise.all(workers.map((worker) => worker.terminate()));
  }

  function give(worker: Worker): void {
    const batch = files.slice(next, (next += BATCH));
    if (batch.length) worker.postMessage({ root, files: batch } satisfies Order);
  }
}

/** In dist/ a worker is a file beside the kernel; from source it lies here. */
export function startWorker(name: "worker" | "service", workerData?: object): Worker {
  const places = [`./${name}.ts`, `./symbols-${name}.js`, `../symbols-${name}.js`].map(
    (at) => new URL(at, import.meta.url),
  );
  return new Worker(places.find((place) => fs.existsSync(place))!, {
    execArgv: [],
    workerData,
    resourceLimits: { maxYoungGenerationSizeMb: 16 },
  });
}
