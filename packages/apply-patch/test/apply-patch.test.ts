// apply_patch as a person or a model calls it: what is on the disk afterwards, and what is said.
import { deepEqual, equal, match } from "node:assert/strict";
import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { place, zz } from "../../../test/support/run.ts";

type Disk = Record<string, string | Buffer>;
interface Row {
  before: Disk;
  patch: string;
  says: string | RegExp;
  after?: Disk; // absent: as before
  code?: number;
  flags?: string[];
}

/** Every file there, as bytes that can be compared. */
const bytes = (files: Disk): Record<string, string> => {
  const all = Object.entries(files).map(([name, content]) => [
    name,
    Buffer.from(content as string).toString("latin1"),
  ]);
  return Object.fromEntries(all.sort());
};
const onDisk = (folder: string): Record<string, string> => {
  const names = (readdirSync(folder, { recursive: true }) as string[]).filter((name) =>
    statSync(join(folder, name)).isFile(),
  );
  return bytes(Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name))])));
};

const lines = (...all: string[]): string => all.map((line) => `${line}\n`).join("");
const edit = (name: string): string => lines(`*** Update File: ${name}`, "@@", " a", "-b", "+B");
const AB = "a\nb\n";
const MANY = lines(
  "*** Begin Patch",
  "*** Update File: src/a.ts",
  "@@",
  " a",
  "-b",
  "+B",
  "@@",
  " y",
  "-z",
  "+Z",
  "*** Add File: b.ts",
  "+new",
  "*** Delete File: c.ts",
  "*** Update File: d.ts",
  "*** Move to: deep/e.ts",
  "*** End Patch",
);

// biome-ignore format: one case a row, as far as it fits.
const ROWS: Record<string, Row> = {
  "edits, creates, deletes and moves in one call": { before: { "src/a.ts": "a\nb\ny\nz\n", "c.ts": "c", "d.ts": "d" }, patch: MANY, says: "Applied: edited src/a.ts (2 hunks), created b.ts, deleted c.ts, moved d.ts to deep/e.ts.", after: { "src/a.ts": "a\nB\ny\nZ\n", "b.ts": "new\n", "deep/e.ts": "d" } },
  "does none of it when the last part does not fit": { before: { "src/a.ts": "a\nb\ny\nz\n", "c.ts": "c", "d.ts": "d", "x.ts": "x\n" }, patch: MANY.replace("*** End Patch\n", "") + edit("x.ts"), says: /Cannot apply hunk 1 \(@@\) to 'x\.ts': the file does not hold its 2 lines\..*Nothing was changed\./s, code: 1 },
  "says which file was so already": { before: { "a.txt": "a\nB\n", "b.txt": AB }, patch: edit("a.txt") + edit("b.txt"), says: "Applied: edited b.txt (1 hunk). Unchanged, since it was there already: a.txt.", after: { "a.txt": "a\nB\n", "b.txt": "a\nB\n" } },
  "says that it set no mode": { before: {}, patch: lines("diff --git a/run b/run", "new file mode 100755", "--- /dev/null", "+++ b/run", "@@ -0,0 +1 @@", "+x"), says: "Applied: created run. Modes were not set: run (100755).", after: { run: "x\n" } },
  "deletes and moves what is no text": { before: { "a.bin": Buffer.from([0, 255]), "b.bin": Buffer.from([0, 254]) }, patch: lines("*** Delete File: a.bin", "*** Update File: b.bin", "*** Move to: c.bin"), says: "Applied: deleted a.bin, moved b.bin to c.bin.", after: { "c.bin": Buffer.from([0, 254]) } },
  "edits no binary file": { before: { "a.bin": Buffer.from("a\nb\n\0") }, patch: edit("a.bin"), says: /Cannot patch 'a\.bin': it is binary\. Nothing was changed\./, code: 1 },
  "does not move over a file": { before: { "a.txt": AB, "b.txt": "b" }, patch: lines("*** Update File: a.txt", "*** Move to: b.txt"), says: /Cannot move 'a\.txt' to 'b\.txt': it exists already\. Nothing was changed\./, code: 1 },
  "names the file that was meant": { before: { "src/deep/a.txt": AB }, patch: edit("a.txt"), says: /Cannot update 'a\.txt': no such file\. Nothing was changed\. Did you mean 'src\/deep\/a\.txt'\?/, code: 1 },
  "writes nothing if it may write only one of two": { before: { "a.txt": AB, "b.txt": AB }, patch: edit("a.txt") + edit("b.txt"), flags: ["--allow-write=a.txt"], says: /write access to "b\.txt"/, code: 4 },
  "does not leave the project": { before: { "a.txt": AB }, patch: lines("*** Add File: ../home/x.txt", "+x"), says: /\.\.\/home\/x\.txt/, code: 1 },
};

describe("apply_patch", () => {
  for (const [what, row] of Object.entries(ROWS))
    test(what, async () => {
      const { before, patch, says, after = before, code = 0, flags = ["--allow-write"] } = row;
      const where = place(before);
      const ran = await zz(where, ["--call", "apply_patch", JSON.stringify({ patch }), ...flags]);
      const said = code ? ran.stdout + ran.stderr : ran.stdout.trimEnd();
      if (typeof says === "string") equal(said, says, ran.stderr);
      else match(said, says);
      equal(ran.code, code, said);
      deepEqual(onDisk(where.cwd), bytes(after));
    });

  test("takes an absolute path inside the project, and tells programs what it did", async () => {
    const where = place({ "a.txt": AB });
    const name = join(realpathSync(where.cwd), "a.txt");
    const patch = edit(name) + lines("*** Add File: n/b.txt", "+b");
    const ran = await zz(where, [
      "--call",
      "apply_patch",
      JSON.stringify({ patch }),
      "--allow-write",
      "--json",
    ]);
    const { ok, data } = JSON.parse(ran.stdout);
    const did = data.files.map((file: Record<string, unknown>) => Object.values(file).join());
    deepEqual([ok, did], [true, [`${name},edited,1`, "n/b.txt,created,1"]]);
    deepEqual(onDisk(where.cwd), bytes({ "a.txt": "a\nB\n", "n/b.txt": "b\n" }));
  });
});
