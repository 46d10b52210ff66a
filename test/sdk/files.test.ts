// Files that plugins write: whole or not at all, also on a disk that is full.
import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import fs, {
  linkSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder, writeWhole } from "../../sdk/files.ts";

const real = fs.writeFileSync;
/** While it runs, the disk takes no more than the first bytes of a file. */
async function onFullDisk<T>(act: () => T): Promise<Awaited<T>> {
  fs.writeFileSync = (file, data, options) => {
    real(file, String(data).slice(0, 3), options);
    throw Object.assign(new Error("ENOSPC: no space left on device, write"), {
      code: "ENOSPC",
      syscall: "write",
    });
  };
  syncBuiltinESMExports();
  try {
    return await act();
  } finally {
    fs.writeFileSync = real;
    syncBuiltinESMExports();
  }
}

test("writeWhole() leaves the old file, and nothing beside it, where the disk is full", async () => {
  const folder = mkdtempSync(join(tmpdir(), "zz-whole-"));
  const file = join(folder, "a");
  real(file, "old words", { mode: 0o640 });
  for (const at of [file, join(folder, "b")]) {
    const written = onFullDisk(() => writeWhole(at, "new words"));
    await rejects(written, /the disk is full\. Make room/);
  }
  equal(readFileSync(file, "utf8"), "old words");
  deepEqual(readdirSync(folder), ["a"]);
});

test("writeWhole() keeps modes and links, and writes to devices directly", () => {
  const folder = mkdtempSync(join(tmpdir(), "zz-whole-"));
  const at = (name: string) => join(folder, name);
  real(at("a"), "old", { mode: 0o640 });
  symlinkSync("a", at("link"));
  symlinkSync("later", at("dangling"));
  writeWhole(at("link"), "new");
  writeWhole(at("dangling"), "new");
  writeWhole(at("x".repeat(255)), "new", 0o600);
  deepEqual([lstatSync(at("link")).isSymbolicLink(), readFileSync(at("a"), "utf8")], [true, "new"]);
  equal(readFileSync(at("later"), "utf8"), "new");
  deepEqual(
    [statSync(at("a")).mode & 0o777, statSync(at("x".repeat(255))).mode & 0o777],
    [0o640, 0o600],
  );
  linkSync(at("a"), at("second"));
  writeWhole("/dev/null", "new");
  ok(lstatSync("/dev/null").isCharacterDevice());
  throws(() => writeWhole(folder, "new"), /it is a folder/);
});

test("writeWhole() writes into a file that cannot be replaced", () => {
  const folder = mkdtempSync(join(tmpdir(), "zz-whole-"));
  const file = join(folder, "mounted");
  real(file, "old");
  const rename = fs.renameSync;
  fs.renameSync = () => {
    throw Object.assign(new Error("EBUSY: resource busy or locked, rename"), {
      code: "EBUSY",
      syscall: "rename",
    });
  };
  syncBuiltinESMExports();
  try {
    writeWhole(file, "new");
    throws(() => writeWhole(join(folder, "other"), "new"), { code: "EBUSY" });
  } finally {
    fs.renameSync = rename;
    syncBuiltinESMExports();
  }
  equal(readFileSync(file, "utf8"), "new");
  deepEqual(readdirSync(folder), ["mounted"]);
});

test("makeFolder() gives what it made, and ends in /proc", () => {
  const folder = mkdtempSync(join(tmpdir(), "zz-folder-"));
  deepEqual(makeFolder(join(folder, "a", "b")), [join(folder, "a"), join(folder, "a", "b")]);
  deepEqual(makeFolder(join(folder, "a")), []);
  if (fs.existsSync("/proc/self")) throws(() => makeFolder("/proc/zz/a"), /ENOENT|EACCES|EPERM/);
});
