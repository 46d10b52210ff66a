// The language service's thread: it answers one question after the other, from the files as they are.
import module from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import { globals, type Leaf, using } from "./rows.ts";
import { memoryPage } from "./store.ts";

/** What it is asked, with the index where that is another than the last time. */
export interface Question {
  id: number;
  ask: "references" | "rename" | "check";
  args: unknown[];
  index?: { names: string[]; leaves: (Omit<Leaf, "page"> & { rows: Uint8Array })[] };
}
export type Answer = { id: number; value?: unknown; error?: string };

const IDLE = 1_500; // ms after an answer, when it gets ready for the next ones

module.enableCompileCache();
const { openService } = await import("./refs.ts");
module.flushCompileCache();

let leaves: Leaf[] = [];
let idle: NodeJS.Timeout | undefined;
const service = openService(
  workerData.root,
  (names) => [...new Set([...names].flatMap((name) => using(leaves, name)))],
  () => globals(leaves),
);

parentPort!.on("message", ({ id, ask, args, index }: Question) => {
  clearTimeout(idle);
  const answer: Answer = { id };
  try {
    if (index) {
      leaves = index.leaves.map(({ rows, ...leaf }) => ({
        ...leaf,
        page: memoryPage(Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength)),
      }));
      service.update(index.names);
    }
    answer.value = (service[ask] as (...args: unknown[]) => unknown)(...args);
  } catch (error) {
    answer.error = error instanceof Error ? error.message : String(error);
  }
  parentPort!.postMessage(answer);
  if (workerData.stays) idle = setTimeout(warm, IDLE);
});

/** Step by step, so that a question does not wait for it. */
function warm(): void {
  if (service.warm()) idle = setTimeout(warm, 1);
}
