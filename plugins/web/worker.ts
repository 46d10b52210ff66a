// A thread that reads one page or PDF.
import { parentPort, workerData } from "node:worker_threads";

export type Order = { kind: "page"; html: string; url: string } | { kind: "pdf"; bytes: Uint8Array; url: string };
export type Outcome = { read?: { text: string; title: string }; failure?: string };

const order = workerData as Order;
const outcome: Outcome = {};
try {
  if (order.kind === "page") outcome.read = (await import("./page.ts")).markdownOf(order.html, order.url);
  else outcome.read = await (await import("./pdf.ts")).textOf(order.bytes);
} catch (error) {
  outcome.failure = error instanceof Error ? error.message : String(error);
}
parentPort!.postMessage(outcome);
