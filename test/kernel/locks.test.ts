// Files of the home that several zz change at once: nothing is lost, and a dead process holds nobody up.
import { deepEqual, equal, match } from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Place, place, ROOT, zz } from "../support/run.ts";
import { isAll } from "../support/runs.ts";

const json = (where: Place, name: string) => JSON.parse(fs.readFileSync(join(where.home, name), "utf8"));
const ids = (count: number) => Array.from({ length: count }, (_, i) => `N${i}`);
const offline = ["-m", "offline/router", "--once"];

for (const [what, count, args, kept] of [
  [
    "set_env",
    4,
    (id: string) => ["--allow-env", "--call", "set_env", JSON.stringify({ name: id, value: "v" })],
    (where: Place) => Object.keys(json(where, "env.json")),
  ],
  [
    "/env set",
    4,
    (id: string) => [...offline, `/env set ${id} value`],
    (where: Place) => Object.keys(json(where, "env.json")),
  ],
  [
    "/config",
    4,
    (id: string) => [...offline, `/config models.${id} offline/x`],
    (where: Place) => Object.keys(json(where, "zz.config.json").models),
  ],
] as const)
  test(`${count} × ${what} at once: all of them are kept`, async () => {
    const where = place();
    const all = ids(count);
    const ran = await Promise.all(all.map((id) => zz(where, [...args(id)])));
    deepEqual(
      ran.map(({ code }) => code),
      all.map(() => 0),
      ran.map(({ stderr }) => stderr).join(""),
    );
    deepEqual(kept(where).toSorted(), all.toSorted());
    deepEqual(
      fs.readdirSync(where.home).filter((name) => /lock|tmp/.test(name)),
      [],
    );
  });

test("8 × --trust in eight folders at once: all of them are trusted", async () => {
  const where = place();
  const folders = ids(8).map((id) => join(where.cwd, id));
  for (const folder of folders) {
    fs.mkdirSync(join(folder, ".zz"), { recursive: true });
    fs.writeFileSync(join(folder, ".zz/zz.config.json"), "{}");
  }
  const ran = await Promise.all(folders.map((cwd) => zz({ ...where, cwd }, ["--trust"])));
  deepEqual(
    ran.map(({ code }) => code),
    folders.map(() => 0),
  );
  deepEqual(Object.keys(json(where, "trust.json")), folders.map((one) => fs.realpathSync(one)).toSorted());
});

const locks = join(ROOT, "kernel/locks.ts");
function child(code: string): Promise<number | null> {
  const source = `import fs from "node:fs"; import { updatePrivate } from "${locks}"; ${code}`;
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
    `for (let i = 0; i < 10; i++) updatePrivate(${JSON.stringify(file)}, (text) => JSON.stringify([...JSON.parse(text || "[]"), "${id}-" + i]));`;
  deepEqual(
    await Promise.all(ids(WRITERS).map((id) => child(add(id)))),
    ids(WRITERS).map(() => 0),
  );
  equal(new Set(JSON.parse(fs.readFileSync(file, "utf8"))).size, WRITERS * 10);
});

if (isAll)
  test("3 processes that each keep a rule for one project: all of them are kept", async () => {
    const where = place();
    const keep = (id: string) =>
      `import { createZz } from "${join(ROOT, "zz.ts")}"; import { permissions } from "${join(ROOT, "kernel/permissions.ts")}";
    const core = await createZz(${JSON.stringify({ root: where.cwd, home: where.home, bare: true })});
    permissions(core).add({ verdict: "deny", kind: "read", name: "${id}", from: "project" });`;
    deepEqual(
      await Promise.all(ids(3).map((id) => child(keep(id)))),
      ids(3).map(() => 0),
    );
    const [rules] = Object.values(json(where, "permissions.json")) as { name: string }[][];
    deepEqual(rules!.map(({ name }) => name).toSorted(), ids(3));
  });

test("A process that is killed while it holds the lock holds nobody up, and tears nothing", async () => {
  const { cwd } = place();
  const file = join(cwd, "list.json");
  fs.writeFileSync(file, '["before"]');
  await child(`updatePrivate(${JSON.stringify(file)}, () => process.kill(process.pid, "SIGKILL"));`);
  equal(fs.existsSync(`${file}.lock`), true, "it left its lock behind");
  const add = (id: string) =>
    `updatePrivate(${JSON.stringify(file)}, (text) => JSON.stringify([...JSON.parse(text), "${id}"]));`;
  deepEqual(await Promise.all(ids(2).map((id) => child(add(id)))), [0, 0]);
  deepEqual(JSON.parse(fs.readFileSync(file, "utf8")).toSorted(), ["N0", "N1", "before"]);
  equal(fs.existsSync(`${file}.lock`), false);
});

test("A home that cannot be written says so at once, not after a wait for a lock", async () => {
  const where = place();
  fs.writeFileSync(where.home, "a file where the home should be");
  const { stderr, code } = await zz(where, ["--allow-env", "--call", "set_env", '{"name":"A","value":"b"}']);
  equal(code, 1);
  match(stderr, /Cannot write '.*env\.json'/);
});
