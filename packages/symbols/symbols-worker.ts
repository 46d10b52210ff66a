// A process that reads files for the index: batches of names come in, their rows go out.
import fs from "node:fs";
import module from "node:module";
import type { Entry, Row } from "./rows.ts";

export type ReadRequest = { root: string; files: (readonly [string, Entry | undefined])[] };
/** Where each row lies in the file that this process writes to; of length 0 if it is unchanged. */
export type Rows = {
  files: (Omit<Row, "text"> & { offset: number; length: number })[];
  read: number;
};

const SCRATCH_FD = 4; // its file descriptor
let written = 0;

const { readRow } = await import("./read-row.ts");
const { prepare } = await import("./languages/grammar.ts");
module.flushCompileCache();

process.on("message", async ({ root, files }: ReadRequest) => {
  await prepare(files.map(([filePath]) => filePath));
  const indexRows = files
    .map(([filePath, earlier]) => readRow(root, filePath, earlier))
    .filter((indexRow) => indexRow !== undefined);
  const rowBytes = Buffer.concat(indexRows.map(({ text }) => text));
  fs.writeSync(SCRATCH_FD, rowBytes, 0, rowBytes.length, written);
  const storedRows = indexRows.map(({ text: { length }, ...row }) => ({
    ...row,
    length,
    offset: (written += length) - length,
  }));
  // if nobody is waiting any more, it ends by itself
  if (process.connected) process.send!({ files: storedRows, read: files.length } satisfies Rows);
});
process.on("SIGINT", () => {}); // the parent decides when to stop
