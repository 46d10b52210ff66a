// Long outputs of commands, kept in full.
import { deepEqual, equal } from "node:assert/strict";
import fs, { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { MAX_SHOWN_CHARS, openOutputStore } from "../../../plugins/shell/keep-outputs.ts";

const long = Buffer.alloc(MAX_SHOWN_CHARS + 1, "x");

test("An output that is longer than what is shown is kept; one that fills the disk is named as not kept, and takes no room", () => {
  const folder = mkdtempSync(join(tmpdir(), "zz-outputs-"));
  const first = openOutputStore(folder);
  first.add(long);
  const { path = "", failure } = first.close();
  deepEqual([readFileSync(path).length, failure], [long.length, undefined]);

  const real = fs.writeSync;
  let writes = 0;
  fs.writeSync = ((fd: number, bytes: Buffer, at: number) => {
    if (writes++)
      throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    return real(fd, bytes, at, 5);
  }) as typeof real;
  const second = openOutputStore(folder);
  try {
    for (const bytes of [long.subarray(0, 10), long, long]) second.add(bytes);
  } finally {
    fs.writeSync = real;
  }
  deepEqual(
    readdirSync(folder).length,
    1,
    "the part that was written is gone, before the command ends",
  );
  const { drop, ...told } = second.close();
  drop();
  deepEqual(told, {
    failure: `the whole output could not be kept in '${folder}': the disk is full`,
  });
  equal(writes, 2, "nothing more is tried");
});
