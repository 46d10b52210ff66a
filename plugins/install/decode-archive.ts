// The files of an archive. It runs in a process of its own.
import { gunzipSync } from "node:zlib";
import type { Job } from "zz/text";
import { MAX_BYTES, TOO_LARGE } from "./contents.ts";
import { refusal, untar } from "./tar.ts";

const HEADER_BYTES = 60e6; // of an archive, in addition to its files
export type Entry = [name: string, runs: boolean];

export default ((archive, { strip }: { strip: boolean }) => {
  const contents = untar(archive[0] === 0x1f && archive[1] === 0x8b ? unzipped(archive) : archive, strip);
  const files = [...contents];
  return {
    value: files.map(([name, { runs = false }]): Entry => [name, runs]),
    bytes: files.map(([, { bytes }]) => bytes),
  };
}) satisfies Job;

function unzipped(archive: Buffer): Buffer {
  try {
    return gunzipSync(archive, { maxOutputLength: MAX_BYTES + HEADER_BYTES });
  } catch (error) {
    const isLarge = (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
    throw refusal(isLarge ? TOO_LARGE : "the archive is damaged");
  }
}
