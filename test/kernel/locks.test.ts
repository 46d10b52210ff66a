// Files of the home that several zz change at once: nothing is lost, and a dead process holds
// nobody up.
import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { acquireLock, withProjectLock } from "../../kernel/system/locks.ts";
import { CLOCK } from "../../kernel/text/clock.ts";
import { place, ROOT, zz } from "../support/run.ts";
import { isAll } from "../support/runs.ts";

const ids = (count: number) => Array.from({ length: count }, (_, i) => `N${i}`);

const locks = join(ROOT, "kernel/system/locks.ts");
function child(code: string): Promise<number | null> {
  const source = `import fs from "node:fs"; import { acquireLock, updatePrivateFile, withProjectLock } from "${locks}"; ${code}`;
  const running = spawn(process.execPath, ["--input-type=module", "-e", source], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return new Promise((resolve) => running.on("close", resolve));
}

const WRITERS = isAll ? 6 : 3;
test("Processes that each add to one file ten times lose nothing", async () => {
  const { cwd } = place();
  const file = join(cwd, "list.json");
  const add = (id: string) =>
    `for (let i = 0; i < 10; i++) updatePrivateFile(${JSON.stringify(file)}, (text) => JSON.stringify([...JSON.parse(text || "[]"), "${id}-" + i]));`;
  const codes = await Promise.all(ids(WRITERS).map((id) => child(add(id))));
  ok(codes.every((code) => code === 0));
  equal(new Set(JSON.parse(fs.readFileSync(file, "utf8"))).size, WRITERS * 10);
});

test("A process that is killed while it holds the lock holds nobody up, and tears nothing", async () => {
  const { cwd } = place();
  const file = join(cwd, "list.json");
  fs.writeFileSync(file, '["before"]');
  await child(
    `updatePrivateFile(${JSON.stringify(file)}, () => process.kill(process.pid, "SIGKILL"));`,
  );
  equal(fs.existsSync(`${file}.lock`), true, "it left its lock behind");
  const add = (id: string) =>
    `updatePrivateFile(${JSON.stringify(file)}, (text) => JSON.stringify([...JSON.parse(text), "${id}"]));`;
  deepEqual(await Promise.all(ids(2).map((id) => child(add(id)))), [0, 0]);
  deepEqual(JSON.parse(fs.readFileSync(file, "utf8")).toSorted(), ["N0", "N1", "before"]);
  equal(fs.existsSync(`${file}.lock`), false);
});

test("Who changes a project next takes away the folders that a killed zz made there", async () => {
  const { cwd } = place();
  const made = join(cwd, "made");
  await child(`withProjectLock("${cwd}", { now: Date.now }, new AbortController().signal, async (begin) => {
    begin({ folders: [], made: ["${made}"] });
    fs.mkdirSync("${made}");
    process.kill(process.pid, "SIGKILL");
  });`);
  equal(fs.existsSync(made), true);
  await withProjectLock(cwd, CLOCK, new AbortController().signal, async () => {});
  equal(fs.existsSync(made), false);
});

test("A lock left by a dead process with the same number, as each start has in a container, holds nobody up", () => {
  const file = join(place().cwd, "x.lock");
  fs.writeFileSync(file, `${2 ** 30} 1`);
  fs.linkSync(file, `${file}.${process.pid}`); // killed between the two steps of taking it
  acquireLock(file, "Cannot lock")();
  equal(fs.existsSync(file), false);
});

for (const make of [fs.mkdirSync, fs.symlinkSync.bind(fs, "nowhere")])
  test(`What is no file is no lock, and nobody waits for it: ${make.name}`, () => {
    const file = join(place().cwd, "x.lock");
    make(file);
    throws(
      () => acquireLock(file, "Cannot go on"),
      /Cannot go on: '.*x\.lock' is not a file\. Move/,
    );
  });

test("Of processes that race for the lock of a dead one, again and again, one holds it at a time", async () => {
  const file = join(place().cwd, "x.lock");
  const race = `const [lockFile, own] = [${JSON.stringify(file)}, ${JSON.stringify(file)} + process.pid + "own"];
    let held = 0;
    for (let i = 0; i < 2000 && held < 25; i++) {
      try { acquireLock(lockFile, "Cannot lock"); } catch { continue; }
      held++;
      fs.writeFileSync(lockFile + ".held", "", { flag: "wx" }); // throws where another holds it
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
      fs.writeFileSync(own, "999999999 1");
      fs.rmSync(lockFile + ".held");
      fs.renameSync(own, lockFile); // as if it had died
    }`;
  deepEqual(await Promise.all(ids(WRITERS).map(() => child(race))), ids(WRITERS).map(() => 0)); // biome-ignore format: short
});

test("A home that cannot be written says so at once, not after a wait for a lock", async () => {
  const where = place();
  fs.writeFileSync(where.home, "a file where the home should be");
  const { stderr, code } = await zz(
    where,
    '--allow-env --call set_env {"name":"A","value":"b"}'.split(" "),
  );
  equal(code, 1);
  match(stderr, /Cannot write '.*env\.json'/);
});
