// What the code tools show to a model in a conversation, to a person at the prompt, and in a pipe.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { countTokens } from "../../plugins/symbols/rank.ts";
import { type Harness, harness } from "../../sdk/testing.ts";
import { call, fakeOpenAI, say } from "../support/fake/openai.ts";
import { has } from "../support/needs.ts";
import { repl, sharedRepl } from "../support/repl.ts";
import { type Place, place, zz } from "../support/run.ts";
import { KEY, terminal } from "../support/terminal.ts";

/** With little to check beside what the tests are about. */
const LITTLE = '{"compilerOptions":{"lib":["es5"],"types":[],"module":"esnext","moduleResolution":"bundler"}}';
const FILES = {
  "package.json": "{}",
  "tsconfig.json": LITTLE,
  "src/lamp.ts": "/** Makes light. */\nexport class Lamp {\n  dim(level: number) {\n    return level;\n  }\n}\n",
  "src/room.ts":
    'import { Lamp as Light } from "./lamp.js";\nexport const room = { lamp: new Light() };\nroom.lamp.dim(2);\n',
  "src/other.ts": "export class Lamp {}\nexport const dim = 1;\n",
  "notes.md": "The Lamp is bright.\n",
};
const PASSED_ON = {
  "lib/made.ts": "function original(a: number) {\n  return a;\n}\nexport { original as aliased };\n",
  "lib/main.ts": 'const x = 1;\nexport { x as default };\nexport * as lamps from "../src/lamp.js";\n',
  "lib/far.ts": 'export { aliased as further } from "./made.js";\nexport { it as outside } from "elsewhere";\n',
};
function project(): Place {
  const where = place();
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(where.cwd, name)), { recursive: true });
    writeFileSync(join(where.cwd, name), text);
  }
  if (has("git")) execFileSync("git", ["init", "-q"], { cwd: where.cwd });
  return where;
}
/** The built zz in such a project; its compiler is warm after the first question. For tests that leave it unchanged. */
let opened: Promise<Harness> | undefined;
const warm = () => (opened ??= harness({ own: true, answer: "yes", files: { ...FILES, ...PASSED_ON } }));
after(async () => (await opened)?.close());

/** Asks while the project has one more file. */
async function withFile<T>(name: string, content: string, act: (zz: Harness) => Promise<T>): Promise<T> {
  const zz = await warm();
  zz.write(name, content);
  try {
    return await act(zz);
  } finally {
    rmSync(join(zz.root, name));
  }
}

const text = ({ cwd }: Place, name: string): string => readFileSync(join(cwd, name), "utf8");
const at = ({ url }: { url: string }) => ["-m", "openai/m", "--base-url", url, "--key", "x"];
const rename = { symbol: "Lamp.dim", to: "fade" };

test("a rename is shown, asked for, made in every file that means it, and undone", async (t) => {
  const fake = await fakeOpenAI([call(["rename_symbol", rename]), say("Renamed.")]);
  t.after(fake.close);
  const where = project();
  const term = terminal(where, ["rename it", ...at(fake)], { cols: 100, rows: 40 });
  const shown = await term.sees("Allow?");
  match(shown, /- +dim\(level: number\) \{/);
  match(shown, /\+ +fade\(level: number\) \{/);
  match(shown, /room\.lamp\.fade\(2\)/);
  equal(text(where, "src/lamp.ts"), FILES["src/lamp.ts"]);
  term.type("y");
  await term.sees("Renamed.");
  equal(text(where, "src/lamp.ts"), FILES["src/lamp.ts"].replace("dim", "fade"));
  equal(text(where, "src/room.ts"), FILES["src/room.ts"].replace("dim", "fade"));
  equal(text(where, "src/other.ts"), FILES["src/other.ts"]);
  await term.sees(/Renamed\.[\s\S]*›$/);
  term.type(`/undo${KEY.enter}`);
  await term.sees("Undone:");
  equal(text(where, "src/lamp.ts"), FILES["src/lamp.ts"]);
  equal(text(where, "src/room.ts"), FILES["src/room.ts"]);
  term.type(KEY.ctrlD);
  equal(await term.exited, 0);
});

test("what a rename makes has no problems of types, as it had none before", async () => {
  const zz = await warm();
  const check = async () => (await zz.call("check_types", { paths: ["src"] })).text;
  equal(await check(), "No problems in 3 files.");
  equal(
    (await zz.call("rename_symbol", rename)).text,
    "Renamed 'Lamp.dim' to 'fade' in 2 places:\nsrc/lamp.ts: 1\nsrc/room.ts: 1",
  );
  equal(await check(), "No problems in 3 files.");
  await zz.command("/undo");
  for (const name of ["src/lamp.ts", "src/room.ts"] as const) equal(zz.read(name), FILES[name]);
  zz.questions.length = 0;
});

for (const [what, args, told] of [
  [
    "of a name that several things have",
    { symbol: "Lamp", to: "Light" },
    /2 things are: src\/lamp\.ts:2, src\/other\.ts:1\. Choose one by path and line/,
  ],
  ["to a keyword", { symbol: "room", to: "class" }, /^Cannot rename 'room' to 'class': /],
  ["of nothing", { symbol: "nothing", to: "x" }, /^Cannot rename 'nothing' to 'x': nothing has that name/],
] as const)
  test(`a rename ${what} is refused with a sentence`, async () => {
    const zz = await warm();
    const { text, failed } = await zz.call("rename_symbol", args);
    ok(failed);
    match(text, told);
    deepEqual(zz.questions, []);
    equal(zz.read("src/lamp.ts"), FILES["src/lamp.ts"]);
  });

test("references go by meaning: an import under another name counts, another thing of the same name does not", async () => {
  const { text } = await (await warm()).call("find_references", { symbol: "Lamp", path: "src/lamp.ts" });
  match(text, /^src\/lamp\.ts:2: export class Lamp \{ {2}\[definition\]$/m);
  match(text, /^src\/room\.ts:1: import \{ Lamp as Light \}/m);
  match(text, /^src\/room\.ts:2: /m);
  match(text, /^In other files, as text:\nnotes\.md:1: The Lamp is bright\.$/m);
  doesNotMatch(text, /other\.ts/);
});

test("a link in a comment is a reference, also where the name stands nowhere else in the file", async () => {
  const linked =
    'import { Lamp } from "./lamp.js";\n/** As {@link Lamp.dim} has it. */\nexport const lamp = new Lamp();\n';
  const { text } = await withFile("src/doc.ts", linked, (zz) => zz.call("find_references", { symbol: "Lamp.dim" }));
  match(text, /^src\/doc\.ts:2: \/\*\* As \{@link Lamp\.dim\} has it\. \*\/$/m);
});

for (const [symbol, row] of [
  ["aliased", "lib/made.ts:1: function original(a: number)  [exported as aliased by lib/made.ts]"],
  ["further", "lib/made.ts:1: function original(a: number)  [exported as further by lib/far.ts]"],
  ["default", "lib/main.ts:1: const x = 1  [exported as default by lib/main.ts]"],
  ["lamps", 'lib/main.ts:3: export * as lamps from "../src/lamp.js"'],
  ["outside", 'lib/far.ts:2: export { it as outside } from "elsewhere"'],
] as const)
  test(`what is exported as '${symbol}' is found by that name`, async () => {
    equal((await (await warm()).call("find_definition", { symbol })).text, row);
  });

test("get_function shows a function by the name under which it is exported", async () => {
  const { text } = await (await warm()).call("get_function", { name: "further" });
  match(text, /^lib\/made\.ts:1-3\n1\tfunction original/);
});

for (const [tool, args, told] of [
  ["find_references", { symbol: "Lampp" }, "Cannot find a use of 'Lampp': no code names it. Nearest: Lamp ("],
  ["find_references", { symbol: "Lamp.dmi" }, "Cannot look for 'Lamp.dmi': nothing is named like that. Nearest: "],
  ["find_references", { symbol: "zzzzzz" }, "Cannot find a use of 'zzzzzz': no code names it. Try grep."],
  [
    "rename_symbol",
    { symbol: "Lampp", to: "x" },
    "Cannot rename 'Lampp' to 'x': nothing has that name. Nearest: Lamp (",
  ],
] as const)
  test(`${tool} of the misspelt ${args.symbol} says what is near`, async () => {
    const { text, failed } = await (await warm()).call(tool, args);
    ok(failed);
    ok(text.startsWith(told), text);
  });

test("more uses than one answer shows are shown by the next ones, each once", async () => {
  const uses = Array.from({ length: 200 }, (_, i) => `new Lamp().dim(${i});`);
  const many = `import { Lamp } from "./lamp.js";\n${uses.join("\n")}\n`;
  await withFile("src/many.ts", many, async (zz) => {
    const ask = (start?: number) => zz.call("find_references", { symbol: "dim", path: "src/lamp.ts", start });
    const rows: string[] = [];
    for (let start: number | undefined = 1, asked = 0; start && asked < 9; asked++) {
      const { text } = await ask(start === 1 ? undefined : start);
      const [, left, next] = /^\[(\d+) more places?; start: (\d+) shows more\]$/m.exec(text) ?? [];
      rows.push(...text.split("\n").filter((row) => /^src\//.test(row)));
      equal(Number(left ?? 0), 202 - rows.length);
      start = next ? Number(next) : undefined;
    }
    equal(rows.length, 202); // including the definition, and the one in room.ts
    equal(new Set(rows).size, 202);
    const { text, failed } = await ask(203);
    ok(failed);
    equal(text, "Cannot show the uses of 'dim' from place 203 on: there are 202. Begin with an earlier one.");
  });
});

/** The system prompts that a fake server was sent. */
const systems = (fake: { requests: { body: any }[] }): string[] =>
  fake.requests.map(({ body }) => body.messages.find(({ role }: { role: string }) => role === "system").content);
const mapIn = (system: string): string | undefined =>
  /--- REPO MAP ---\n([\s\S]*?)\n--- END REPO MAP ---/.exec(system)?.[1];

test("at the prompt the model is told the map; when code has changed it is told again, with the message", async (t) => {
  const edit = { path: "src/other.ts", old_string: "export const dim = 1;", new_string: "export const bright = 1;" };
  const fake = await fakeOpenAI([
    ...[say("one."), say("two."), call(["read_file", { path: "src/other.ts" }]), call(["edit_file", edit])],
    ...[say("three."), say("four."), say("five.")],
  ]);
  t.after(fake.close);
  const where = project();
  const term = terminal(patient(where), [...at(fake), "--allow-write"], { cols: 100, rows: 40 });
  for (const [line, answer] of [
    ["hello", "one."],
    ["more about the lamp", "two."],
    ["edit", "three."],
    ["and now", "four."],
  ] as const) {
    await term.sees(/›$/);
    if (line === "and now") await heard();
    term.type(`${line}\r`);
    await term.sees(answer);
  }
  term.type(KEY.ctrlD);
  await term.exited;
  const maps = systems(fake).map(mapIn);
  match(maps[0]!, /^src\/lamp\.ts:2: export class Lamp/m);
  match(maps[0]!, /verify with grep/);
  equal(maps[1], maps[0]);
  equal(maps[2], maps[0]);
  ok(!maps[0]!.includes("bright"));
  equal(maps.at(-1), maps[0], "the prompt stays");
  const said = fake.requests.map(({ body }) => body.messages.at(-1).content);
  match(said.at(-1), /^--- REPO MAP ---\n[\s\S]*export const bright[\s\S]*\n\nand now$/);
  equal(said[1], "more about the lamp");
  const { stdout, code } = await zz(where, [...at(fake), "--once", "-c", "and from a script"]);
  equal(`${code} ${stdout}`, "0 five.\n");
  const last = fake.requests.at(-1)!.body.messages.at(-1).content; // the time may have changed
  match(last, /^(--- TIME ---\n.*\n--- END TIME ---\n\n)?and from a script$/, "what has not changed is not told");
});

const numbered = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, i) => `src/part${from + i}.ts`);
const counted = parts(11);
/** The map is waited for, however busy the machine is. */
const patient = (where: Place, symbols: object = {}, more: object = {}): Place => {
  mkdirSync(where.home, { recursive: true });
  const settings = { ...more, symbols: { wait: 60_000, waitAgain: 60_000, debounce: 50, ...symbols } };
  writeFileSync(join(where.home, "zz.config.json"), JSON.stringify(settings));
  return where;
};
const talk = await sharedRepl({ where: patient(counted), args: ["--allow-write"] });
let isKnown = false; // the model's window
/** The maps sent to the model in a project of that many files, before and after something is done to it. */
async function toldOf(count: number, act: (where: Place) => unknown, script = [say("Good.")]) {
  const there = readdirSync(join(counted.cwd, "src")).map((name) => `src/${name}`);
  const wanted = numbered(1, count);
  drop(there.filter((name) => !wanted.includes(name)))(counted);
  add(wanted.filter((name) => !there.includes(name)))(counted);
  await heard();
  const zz = await talk([say("Good."), ...script]);
  if (!isKnown) await zz.say("/model openai/m", /openai\/m[;,] .*\bwindow\b/);
  isKnown = true;
  await zz.say("begin");
  await zz.sees(/›$/);
  await act(counted);
  await heard();
  await zz.say("go on", /go on[\s\S]*Good\./);
  const [first] = systems(zz.fake).map(mapIn);
  return { first: first!, next: mapIn(zz.sent().at(-1)) };
}
/** A project of that many files. */
function parts(count: number): Place {
  const where = place();
  const make = (name: string) => {
    mkdirSync(dirname(join(where.cwd, name)), { recursive: true });
    writeFileSync(join(where.cwd, name), `export const of${name.replace(/\W/g, "_")} = 1;\n`);
  };
  for (const name of numbered(1, count)) make(name);
  writeFileSync(join(where.cwd, "package.json"), "{}");
  if (has("git")) execFileSync("git", ["init", "-q"], { cwd: where.cwd });
  return where;
}
/** zz there, after the first answer. */
async function begun(t: TestContext, where: Place) {
  const zz = await repl(t, { where, args: ["--allow-write"] });
  await zz.say("/model openai/m", /openai\/m[;,] .*\bwindow\b/); // now its window is known
  await zz.say("begin");
  await zz.sees(/›$/);
  return zz;
}
/** Until zz has heard of saved files: the system tells of them in the next round of this process. */
async function heard(): Promise<void> {
  for (let rounds = 0; rounds < 4; rounds++) await setImmediate();
}
const add = (names: string[]) => (where: Place) => {
  for (const name of names) writeFileSync(join(where.cwd, name), `export const of${name.replace(/\W/g, "_")} = 1;\n`);
};
/** Two changes, of which the map is made one after the other. */
const addAndSave = async (where: Place) => {
  add(["src/new.ts"])(where);
  await heard();
  appendFileSync(join(where.cwd, "src/part7.ts"), "// saved\n");
};
const drop = (names: string[]) => (where: Place) => {
  for (const name of names) rmSync(join(where.cwd, name));
};

for (const [what, count, act, shown, gone] of [
  ["one file more than eleven", 11, add(["src/new.ts"]), ["src/new.ts"], []],
  ["one of eleven files less", 11, drop(["src/part3.ts"]), ["src/part4.ts"], ["src/part3.ts"]],
  ["eight of eighteen files less", 18, drop(numbered(11, 18)), numbered(1, 10), numbered(11, 18)],
  ["one file more than five hundred, and one of them saved later", 500, addAndSave, ["src/new.ts"], []],
] as const)
  test(`${what}, and the next message has the map as it is now`, async () => {
    const { first, next = "" } = await toldOf(count, act);
    if (count < 100) equal(first.match(/^src\/\w+\.ts:/gm)?.length, count); // of more, the map shows a part
    deepEqual(
      [...shown, ...gone].filter((name) => new RegExp(`^${name}:`, "m").test(next)),
      shown,
    );
  });

test("a file that the model itself makes or deletes, or one that is merely saved again, leaves the map as it was", async () => {
  const make = call(["create_file", { path: "src/made.ts", content: "export const made = 1;\n" }]);
  const script = [make, call(["delete_file", { path: "src/part2.ts" }]), say("Good.")];
  const { first, next } = await toldOf(11, add(["src/part1.ts"]), script);
  match(first, /src\/part2\.ts/);
  equal(next, undefined);
});

test("the map takes 8 % of the model's window, unless the settings say how much", async (t) => {
  const sizes: number[] = [];
  const where = parts(150); // indexed by the first
  for (const [window, symbols] of [[20_000], [20_000, { tokens: 300 }]] as [number, object?][]) {
    const zz = await begun(t, patient(where, symbols, { window }));
    sizes.push(countTokens(mapIn(systems(zz.fake)[0]!)!));
    await zz.leave();
  }
  const limits = [1_600, 300];
  deepEqual(
    sizes.map((size, i) => size > 0.85 * limits[i]! && size < limits[i]! + 50), // besides the rows it says to verify
    limits.map(() => true),
    `${sizes}`,
  );
});

test("one answer in a pipe is not told the map, unless the settings say so", async (t) => {
  const fake = await fakeOpenAI([say("one."), say("two.")]);
  t.after(fake.close);
  const where = project();
  await zz(where, [...at(fake), "hello"]);
  writeFileSync(join(where.cwd, "zz.json"), '{"symbols":{"map":"always","tokens":100}}');
  await zz(where, [...at(fake), "--config", "zz.json", "hello"]);
  const [without, within] = systems(fake).map(mapIn);
  equal(without, undefined);
  match(within!, /src\/lamp\.ts/);
});

test("/map shows the map, /reindex makes the index anew and counts, at 40 columns as well", async () => {
  const where = project();
  const term = terminal(where, ["-m", "offline/router"], { cols: 40, rows: 30 });
  await term.sees("›");
  term.type("/map lamp\r");
  await term.sees("src/lamp.ts:2: export class Lamp");
  term.type("/reindex\r");
  await term.sees(/Indexed 5 files with \d+ symbols/);
  term.type(KEY.ctrlD);
  equal(await term.exited, 0);
});
