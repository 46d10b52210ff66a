// A process that reads files for the index: batches of names come in, their rows go out.
import module from "node:module";
import type { Entry, Row } from "./rows.ts";

export type Order = { root: string; files: (readonly [string, Entry | undefined])[] };
export type Rows = { files: (Omit<Row, "text"> & { length: number })[]; text: Uint8Array; read: number };

module.enableCompileCache();
const { readRow } = await import("./read.ts");
module.flushCompileCache();

process.on("message", ({ root, files }: Order) => {
  const rows = files.map(([name, known]) => readRow(root, name, known)).filter((row) => row !== undefined);
  const answer: Rows = {
    files: rows.map(({ text, ...row }) => ({ ...row, length: text.length })),
    text: Buffer.concat(rows.map(({ text }) => text)),
    read: files.length,
  };
  process.send!(answer);
});
process.on("disconnect", () => process.exit()); // nobody waits any more
process.on("SIGINT", () => {}); // whoever started it says when to stop
