// What runs off the main thread: reading files for the index, and the language service.
import module from "node:module";
import v8 from "node:v8";
import vm from "node:vm";
import { parentPort } from "node:worker_threads";
import type { Entry, Row } from "./rows.ts";

export type Order = { root: string; files: (readonly [string, Entry | undefined])[] };
export type Rows = { files: (Omit<Row, "text"> & { length: number })[]; text: Uint8Array; read: number };

module.enableCompileCache();
const { readRow } = await import("./read.ts");
module.flushCompileCache();

/** What was parsed is of no use once its row is made, and there is a lot of it: let it go before there is more. */
const MOST_HEAP = 48 << 20;
v8.setFlagsFromString("--expose-gc");
const collect: () => void = vm.runInNewContext("gc");

parentPort!.on("message", ({ root, files }: Order) => {
  const rows = files.map(([name, known]) => readRow(root, name, known)).filter((row) => row !== undefined);
  const answer: Rows = {
    files: rows.map(({ text, ...row }) => ({ ...row, length: text.length })),
    text: new Uint8Array(Buffer.concat(rows.map(({ text }) => text))),
    read: files.length,
  };
  parentPort!.postMessage(answer, [answer.text.buffer as ArrayBuffer]);
  if (v8.getHeapStatistics().used_heap_size > MOST_HEAP) collect();
});
