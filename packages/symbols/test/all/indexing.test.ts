// The index of symbols as people meet it: what is kept, that no answer is stale, and what bad input
// does to it.
import { equal, match, ok } from "node:assert/strict";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { type Harness, standingClock } from "../../../../sdk/testing.ts";
import { having as project } from "../../../../test/support/having.ts";
import { needs } from "../../../../test/support/needs.ts";
import { type How, type Place, type Ran, zz } from "../../../../test/support/run.ts";
import { runs } from "../../../../test/support/runs.ts";
import { caller, harness } from "../../../../test/support/script.ts";
import { readersOf } from "../../../../test/support/symbols.ts";
import { waitFor } from "../../../../test/support/wait.ts";
import { warm } from "../../../../test/support/warm.ts";
import { defaults } from "../../index.ts";

const put = (where: Place, name: string, content: string) => project({ [name]: content }, where);
const index = ({ home }: Pick<Place, "home">): string => {
  const written = (name: string) => !name.endsWith(".tmp"); // the others are just being written
  const [name, ...others] = fs.readdirSync(join(home, "index")).filter(written);
  equal(others.length, 0, `one file in ${home}/index: ${[name, ...others].join(" ")}`);
  return join(home, "index", name!);
};
const find = (where: Place, symbol: string, args: string[] = [], how: How = {}): Promise<Ran> =>
  zz(where, ["--call", "find_definition", JSON.stringify({ symbol }), ...args], how);
async function finds(where: Place, symbol: string, expected: string, how: How = {}): Promise<void> {
  const { stdout, stderr, code } = await find(where, symbol, [], how);
  equal(stdout.trimEnd(), expected, stderr);
  equal(code, 0, stderr);
}
async function lacks(where: Place, symbol: string): Promise<void> {
  const { stdout, code } = await find(where, symbol);
  ok(code === 1 || stdout.startsWith("No definition"), stdout);
}
const many = (count: number): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`src/f${i}.ts`, `export const c${i} = ${i};\n`]),
  );

test("the index is the person's alone, one file a project, and holds no bodies", async () => {
  const where = project({
    "a.ts": 'export function hail(name: string) {\n  return "body-of-hail" + name;\n}\n',
  });
  await finds(where, "hail", "a.ts:1: export function hail(name: string)");
  equal(fs.statSync(index(where)).mode & 0o777, 0o600);
  equal(fs.statSync(dirname(index(where))).mode & 0o777, 0o700);
  const kept = fs.readFileSync(index(where), "utf8");
  match(kept, /hail/);
  ok(!kept.includes("body-of-hail"), kept);
});

test("files that were renamed, replaced by folders or the other way round, or by one of the same size and time, are seen", async () => {
  const names = ["old.ts", "a.ts", "deep/x.ts", "same.ts", "other.ts"];
  const where = project(
    Object.fromEntries(names.map((name, i) => [name, `export const was${i} = 1;\n`])),
  );
  const at = (name: string) => join(where.cwd, name);
  for (const [i, name] of names.entries())
    await finds(where, `was${i}`, `${name}:1: export const was${i} = 1`);
  fs.renameSync(at("old.ts"), at("new.ts"));
  fs.rmSync(at("a.ts"));
  put(where, "a.ts/in.ts", "export const within = 1;\n");
  fs.rmSync(at("deep"), { recursive: true });
  put(where, "deep", "export const was2 = 1;\n");
  const { atimeMs, mtimeMs } = fs.statSync(at("same.ts"));
  put(where, "same.ts", "export const is3 = 11;\n");
  fs.utimesSync(at("same.ts"), atimeMs / 1000, mtimeMs / 1000);
  await finds(where, "was0", "new.ts:1: export const was0 = 1");
  await finds(where, "within", "a.ts/in.ts:1: export const within = 1");
  await finds(where, "is3", "same.ts:1: export const is3 = 11");
  await finds(where, "was4", "other.ts:1: export const was4 = 1");
  for (const gone of ["was1", "was2", "was3"]) await lacks(where, gone);
});

const EDITS = runs(25, 200);
const EDITED = 10; // files

test(`${EDITS} edits, one after the other, each seen at once; the file of the index does not grow without end`, async () => {
  const where = project(many(EDITED));
  const call = await caller(where);
  const ask = async (symbol: string) => (await call("find_definition", { symbol })).text;
  equal(await ask("c7"), "src/f7.ts:1: export const c7 = 7");
  const first = fs.statSync(index(where)).size;
  for (let i = 0; i < EDITS; i++) {
    put(where, `src/f${i % EDITED}.ts`, `${"\n".repeat(i % 5)}export const edit${i} = ${i};\n`);
    equal(
      await ask(`edit${i}`),
      `src/f${i % EDITED}.ts:${(i % 5) + 1}: export const edit${i} = ${i}`,
    );
  }
  ok(
    fs.statSync(index(where)).size < 3 * first,
    `${fs.statSync(index(where)).size} of ${first} at first`,
  );
  const last = EDITS - 1; // asked for by another instance, from the disk alone
  await finds(
    where,
    `edit${last}`,
    `src/f${last % EDITED}.ts:${(last % 5) + 1}: export const edit${last} = ${last}`,
  );
});

const whole = /a\.ts:1: export const first = 1/;
for (const [what, spoil] of [
  ["has one byte that is another", (file: string) => flip(file, -5)],
  [
    "is of another version",
    (file: string) => fs.writeFileSync(file, `{"format":0,"files":[],"gone":[]}\n`),
  ],
  [
    "ends in a half-written change",
    (file: string) => fs.appendFileSync(file, '{"format":1,"files":[["a.ts",1'),
  ],
  ["is a folder", (file: string) => [fs.rmSync(file), fs.mkdirSync(file)]],
] as const)
  test(`an index that ${what} does no harm`, async () => {
    const where = project({
      "a.ts": "export const first = 1;\n",
      "b.ts": "export const second = 1;\n",
    });
    await find(where, "first");
    spoil(index(where));
    put(where, "c.ts", "export const third = 1;\n");
    for (let i = 0; i < 2; i++) {
      const { stdout, stderr, code } = await find(where, "first");
      match(stdout, whole, stderr);
      equal(code, 0);
      for (const line of stderr.trim().split("\n"))
        ok(
          !line || /^Cannot (use|keep) the index of this project: .*\. It is made again/.test(line),
          stderr,
        );
    }
    await finds(where, "third", "c.ts:1: export const third = 1");
  });

function flip(file: string, at: number): void {
  const bytes = fs.readFileSync(file);
  const place = at < 0 ? bytes.length + at : at;
  bytes[place] = bytes[place]! ^ 1;
  fs.writeFileSync(file, bytes);
}

test("two that index at once, one of them a process of its own, both answer, and what they leave is whole", async () => {
  const where = project(many(100)); // so many that each has another process read them
  const all = await Promise.all(
    [0, 1].map((i) => find(where, `c${i}`, [], i % 2 ? { way: "dist" } : {})),
  );
  for (const [i, ran] of all.entries())
    equal(ran.stderr + ran.stdout, `src/f${i}.ts:1: export const c${i} = ${i}\n`);
  await finds(where, "c99", "src/f99.ts:1: export const c99 = 99");
  equal(fs.readdirSync(dirname(index(where))).length, 1); // no remains
});

/** What to do as soon as the first files of several are read. */
function whenReading(it: Harness, act: () => void): void {
  const observer = { event: "progressed", limit: 5_000, see: act } as const;
  it.core.observers.push({ owner: "test", value: observer });
}

test("files that go while they are indexed do no harm, and the progress is told", async (t) => {
  const it = await harness({ own: true, files: many(100) }, t);
  whenReading(it, () => {
    for (let i = 0; i < 90; i++) fs.rmSync(join(it.root, `src/f${i}.ts`), { force: true });
  });
  equal(
    (await it.call("find_definition", { symbol: "c99" })).text,
    "src/f99.ts:1: export const c99 = 99",
  );
  match(
    (await it.call("find_definition", { symbol: "c3" })).text,
    /^No definition is named 'c3'|^Cannot find/,
  );
  const told = it.events.flatMap((event) => (event.type === "progressed" ? [event.text] : []));
  match(told[0]!, /^Indexing \[=*>-*\] \d+% \(\d+\/100 files\)$/);
});

needs("git")(
  "a reader that is killed: a sentence, and what was read is kept for the next question",
  async (t) => {
    const it = await harness({ own: true, files: many(100) }, t);
    whenReading(it, () => process.kill(readersOf(process.pid)[0]!, "SIGKILL"));
    const { text } = await it.call("find_definition", { symbol: "c1" });
    match(text, /^Cannot index this project: a process that reads it ended .*\. Try again\./);
    it.core.observers.pop();
    equal(
      (await it.call("find_definition", { symbol: "c99" })).text,
      "src/f99.ts:1: export const c99 = 99",
    );
  },
);

test("a home that cannot be written to: an answer, and a sentence", async () => {
  const where = project({ "a.ts": "export const first = 1;\n", "~/index": "in the way\n" });
  const { stdout, stderr, code } = await find(where, "first");
  match(stdout, whole);
  match(stderr, /^Cannot keep the index of this project: .*\. It is made again next time\.$/m);
  equal(code, 0);
});

test("what may not be read is not in the index, by its own name or by a link", async () => {
  const files = {
    "a.ts": "export const first = 1;\n",
    "private/plan.ts": "export const plan = 1;\n",
  };
  const where = project({ ...files, "link.ts": "->private/plan.ts", "out.yml": "->/etc/hosts" });
  const { stdout } = await zz(where, ["--deny-read=private", "--call", "get_structure", "{}"]);
  equal(stdout, "a.ts (1) first:1\n");
  ok(!fs.readFileSync(index(where), "utf8").includes("plan"));
});

test("what was indexed and may not be read any more is not shown", async () => {
  const where = project({
    "a.ts": "export const first = 1;\n",
    "private/plan.ts": "let plan = first; // TODO\n",
  });
  await finds(where, "plan", "private/plan.ts:1: let plan = first");
  const call = await caller(where, { deny: { read: ["private"] } });
  const tellers = {
    find_definition: { symbol: "plan" },
    find_symbols: { query: "plan" },
    repo_map: { query: "plan" },
  };
  const others = {
    get_structure: {},
    get_complexity: {},
    get_todos: {},
    get_dependents: { path: "a.ts" },
  };
  for (const [tool, args] of Object.entries({ ...tellers, ...others })) {
    const { text } = await call(tool, args);
    ok(!/private\/plan/.test(text), `${tool}: ${text}`);
  }
  ok(!fs.readFileSync(index(where), "latin1").includes("plan"), "nor kept");
});

test("what a killed process left half written is swept; what another is writing stays", async () => {
  const where = project({ "a.ts": "export const first = 1;\n" });
  await find(where, "first");
  const [old, young] = [`${index(where)}.1.aa.tmp`, `${index(where)}.2.bb.tmp`];
  for (const file of [old, young]) fs.writeFileSync(file, "half");
  fs.utimesSync(old, 1, 1);
  fs.rmSync(old.replace(".1.aa.tmp", ""));
  await finds(where, "first", "a.ts:1: export const first = 1");
  equal(fs.existsSync(old), false);
  equal(fs.existsSync(young), true);
});

test("a file whose name holds control characters is left out: it could pass for a row, or for a terminal's orders", async () => {
  const { call } = await warm({
    "a.ts": "export const first = 1;\n",
    "b\nc.ts": "first",
    "\x1b[31mred.ts": "first",
  });
  equal(
    (await call("find_definition", { symbol: "first" })).text,
    "a.ts:1: export const first = 1",
  );
  for (const [tool, args] of Object.entries({ get_structure: {}, repo_map: { query: "red" } })) {
    const { text } = await call(tool, args);
    match(text, /^a\.ts/);
    ok(!/red|c\.ts|\x1b/.test(text), text);
  }
});

test("What was read before indexing was broken off is kept, and the next question goes on", async () => {
  await using it = await harness({ own: true, files: many(100) });
  whenReading(it, () => it.stop());
  match((await it.call("find_definition", { symbol: "c1" })).text, /^\[interrupted\]$/);
  const kept = () => fs.readFileSync(index(it), "latin1").match(/src\/f\d+\.ts/g)!.length;
  const before = kept();
  ok(before > 0 && before < 100, `${before} files are kept`);
  it.core.observers.pop();
  await it.restart();
  equal(
    (await it.call("find_definition", { symbol: "c99" })).text,
    "src/f99.ts:1: export const c99 = 99",
  );
  equal(kept(), 100);
});

test("above symbols.most, which is ten thousand files: without a person the first are indexed, and a note says so", async (t) => {
  equal(defaults.most, 10_000);
  const files = {
    ...many(12),
    "a.ts": "export const first = 1;\n",
    "deep/b.ts": "export const second = 1;\n",
  };
  const answers = ["f", "deep", "a"];
  const person = async () => answers.shift() ?? "";
  const settings = { symbols: { most: 10 } };
  for (const live of [false, true]) {
    const it = await harness(
      { own: true, live, settings, files, answer: live ? person : "nobody" },
      t,
    );
    const found = async (symbol: string) =>
      (await it.call("find_definition", { symbol })).text.split("\n")[0]!;
    equal(await found("second"), "deep/b.ts:1: export const second = 1");
    if (!live)
      match(
        it.notes[0]!,
        /^This project has 14 code files; the first 10 are indexed\. .*symbols\.folder/,
      );
    if (!live) continue;
    match(
      it.questions[0]!,
      /14 code files\. Index \[a\]ll of them, one \[f\]older, or \[c\]ancel\?/,
    );
    match(await found("first"), /^Cannot find a definition/);
    match((await it.command("/reindex")).join("\n"), /Indexed 14 files/);
    equal(await found("first"), "a.ts:1: export const first = 1");
    equal(it.questions.length, 3, "whether, which folder, and again at /reindex");
  }
});

test("a saved file is indexed when symbols.debounce has passed, with no question asked; a question finds it at once", async (t) => {
  const clock = standingClock();
  const settings = { symbols: { debounce: 60_000 } };
  const files = { "src/a.ts": "export const first = 1;\n" };
  const it = await harness({ own: true, live: true, clock, settings, files }, t);
  const kept = () => fs.readFileSync(index(it), "utf8");
  const found = async (symbol: string) => (await it.call("find_definition", { symbol })).text;
  equal(await found("first"), "src/a.ts:1: export const first = 1");
  it.write("src/a.ts", "export const second = 1;\n");
  await clock.waits(60_000); // the change was seen
  ok(!kept().includes("second"));
  await clock.pass(60_000);
  await waitFor("the saved file in the index", () => kept().includes("second"));
  it.write("src/a.ts", "export const third = 1;\n");
  equal(await found("third"), "src/a.ts:1: export const third = 1");
});

test("symbols.ignore: what it names, as in a .gitignore, is neither in the index nor on the map, and answers say so", async () => {
  const where = project({
    "src/a.ts": 'import { made } from "./gen/made.ts";\nexport const first = made;\n',
    "src/gen/made.ts": "export const made = 1;\n",
    "src/gen/kept.ts": "export const kept = 1;\n",
    "tools/x.gen.js": "export const small = 1;\n",
  });
  await finds(where, "small", "tools/x.gen.js:1: export const small = 1");
  const settings = { symbols: { ignore: ["**/gen/*", "!kept.ts", "/tools/*.gen.js"] } };
  project({ "~/zz.config.json": settings }, where);
  const call = await caller(where, { settings });
  const PART =
    "[Of 4 code files only the 2 that symbols.ignore does not name are indexed, so this is about a part of the code. grep searches all of it.]";
  await finds(where, "kept", `src/gen/kept.ts:1: export const kept = 1\n${PART}`);
  await lacks(where, "small");
  const map = (await call("repo_map", {})).text;
  match(map, /src\/a\.ts/);
  ok(!/made\.ts|gen\.js/.test(map), map);
  match(
    (await call("get_structure", { path: "tools/x.gen.js" })).text,
    /symbols\.ignore leaves it out of the index/,
  );
  match(
    (await call("rename_symbol", { symbol: "first", to: "one" })).text,
    /^Cannot rename .*: uses in the rest/,
  );
  fs.rmSync(join(where.home, "zz.config.json"));
  await finds(where, "small", "tools/x.gen.js:1: export const small = 1");
});

test("symbols.ignore: a pattern that could take for ever is left out and named, and the others count", async () => {
  const settings = { symbols: { ignore: [`${"*a".repeat(30)}c`, "b.ts"] } };
  const where = project({
    "a.ts": "export const first = 1;\n",
    "b.ts": "",
    "~/zz.config.json": settings,
  });
  const { stdout, stderr } = await find(where, "first");
  match(stdout, /^a\.ts:1: .*\n\[Of 2 code files only the 1 that symbols\.ignore/);
  match(stderr, /^Cannot use '\*a\*a.*' of symbols\.ignore: at most 3 stars .*\. Shorten it\.\n$/);
});
