// What runs off the main thread: reading files for the index, and the language service.
import module from "node:module";
import { parentPort } from "node:worker_threads";
import type { Entry, Row } from "./rows.ts";

export type Order = { root: string; files: (readonly [string, Entry | undefined])[] };
export type Rows = { files: (Omit<Row, "text"> & { length: number })[]; text: Uint8Array; read: number };

module.enableCompileCache();
const { readRow } = await import("./read.ts");
module.flushCompileCache();

parentPort!.on("message", ({ root, files }: Order) => {
  const rows = files.map(([name, known]) => readRow(root, name, known)).filter((row) => row !== undefined);
  const text = rows.map(({ text }) => Buffer.from(text));
  const answer: Rows = {
    files: rows.map(({ text: _, ...row }, at) => ({ ...row, length: text[at]!.length })),
    text: new Uint8Array(Buffer.concat(text)),
    read: files.length,
  };
  parentPort!.postMessage(answer, [answer.text.buffer as ArrayBuffer]);
});
