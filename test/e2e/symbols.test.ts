// What the code tools show to a model in a conversation, to a person at the prompt, and in a pipe.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { countTokens } from "../../packages/symbols/rank.ts";
import { type Harness, harness, type Step } from "../../sdk/testing.ts";
import { repl } from "../support/repl.ts";
import { place } from "../support/run.ts";

/** With little to check beside what the tests are about. */
const LITTLE =
  '{"compilerOptions":{"lib":["es5"],"types":[],"module":"esnext","moduleResolution":"bundler"}}';
const FILES = {
  "package.json": "{}",
  "tsconfig.json": LITTLE,
  "src/lamp.ts":
    "/** Makes light. */\nexport class Lamp {\n  dim(level: number) {\n    return level;\n  }\n}\n",
  "src/room.ts":
    'import { Lamp as Light } from "./lamp.js";\nexport const room = { lamp: new Light() };\nroom.lamp.dim(2);\n',
  "src/other.ts": "export class Lamp {}\nexport const dim = 1;\n",
  "notes.md": "The Lamp is bright.\n",
};
const PASSED_ON = {
  "lib/made.ts":
    "function original(a: number) {\n  return a;\n}\nexport { original as aliased };\n",
  "lib/main.ts":
    'const x = 1;\nexport { x as default };\nexport * as lamps from "../src/lamp.js";\n',
  "lib/far.ts":
    'export { aliased as further } from "./made.js";\nexport { it as outside } from "elsewhere";\n',
};
/** The built zz in such a project; its compiler is warm after the first question. For tests that
 * leave it unchanged. */
let opened: Promise<Harness> | undefined;
const warm = () =>
  (opened ??= harness({ own: true, answer: "yes", files: { ...FILES, ...PASSED_ON } }));
after(async () => (await opened)?.close());

test("references go by meaning: an import under another name counts, another thing of the same name does not", async () => {
  const { text } = await (await warm()).call("find_references", {
    symbol: "Lamp",
    path: "src/lamp.ts",
  });
  match(text, /^src\/lamp\.ts:2: export class Lamp \{ {2}\[definition\]$/m);
  match(text, /^src\/room\.ts:1: import \{ Lamp as Light \}[\s\S]*^src\/room\.ts:2: /m);
  match(text, /^In other files, as text:\nnotes\.md:1: The Lamp is bright\.$/m);
  doesNotMatch(text, /other\.ts/);
});

// biome-ignore format: one case a row.
for (const [tool, symbol, told] of [
  ["find_definition", "aliased", "lib/made.ts:1: function original(a: number)  [exported as aliased by lib/made.ts]"],
  ["find_definition", "further", "lib/made.ts:1: function original(a: number)  [exported as further by lib/far.ts]"],
  ["find_definition", "outside", 'lib/far.ts:2: export { it as outside } from "elsewhere"'],
  ["find_references", "Lampp", "Cannot find a use of 'Lampp': no code names it. Nearest: Lamp ("],
  ["find_references", "Lamp.dmi", "Cannot look for 'Lamp.dmi': nothing is named like that. Nearest: "],
  ["rename_symbol", "Lampp", "Cannot rename 'Lampp' to 'x': nothing has that name. Nearest: Lamp ("],
] as const)
  test(`${tool} of ${symbol}: what is exported by that name is found, and of a misspelt one what is near`, async () => {
    const { text, failed = false } = await (await warm()).call(tool, {
      symbol,
      ...(tool === "rename_symbol" && { to: "x" }),
    });
    equal(failed, told.startsWith("Cannot"));
    equal(failed ? text.slice(0, told.length) : text, told);
  });

test("more uses than one answer shows are shown by the next ones, each once", async () => {
  const uses = Array.from({ length: 200 }, (_, i) => `new Lamp().dim(${i});`);
  const many = `import { Lamp } from "./lamp.js";\n${uses.join("\n")}\n`;
  const zz = await warm();
  zz.write("src/many.ts", many);
  const ask = (start?: number) =>
    zz.call("find_references", { symbol: "dim", path: "src/lamp.ts", start });
  const rows: string[] = [];
  for (let start: number | undefined = 1, asked = 0; start && asked < 9; asked++) {
    const { text } = await ask(start === 1 ? undefined : start);
    const [, left, next] = /^\[(\d+) more places?; start: (\d+) shows more\]$/m.exec(text) ?? [];
    rows.push(...text.split("\n").filter((row) => /^src\//.test(row)));
    equal(Number(left ?? 0), 202 - rows.length);
    start = next ? Number(next) : undefined;
  }
  // including the definition, and the one in room.ts
  deepEqual([rows.length, new Set(rows).size], [202, 202]);
  const { text, failed } = await ask(203);
  ok(failed);
  equal(
    text,
    "Cannot show the uses of 'dim' from place 203 on: there are 202. Begin with an earlier one.",
  );
});

const mapIn = (text = ""): string | undefined =>
  /--- REPO MAP ---\n([\s\S]*?)\n--- END REPO MAP ---/.exec(text)?.[1];
const saying = (name: string): string => `export const of${name.replace(/\W/g, "_")} = 1;\n`;

/** zz in a conversation in a project of that many files, with the map in its prompt. It waits for
 * the map, however busy the machine is. */
async function begun(t: TestContext, count: number, script: Step[] = [], symbols: object = {}) {
  const names = Array.from({ length: count }, (_, i) => `src/part${i + 1}.ts`);
  const files = {
    "package.json": "{}",
    ...Object.fromEntries(names.map((name) => [name, saying(name)])),
  };
  const settings = { symbols: { wait: 60_000, waitAgain: 60_000, debounce: 50, ...symbols } };
  const how = {
    own: true,
    live: true,
    allow: { write: true as const },
    script: ["Good.", ...script, "Good."],
  };
  const zz = await harness({ ...how, settings, files }, t);
  Object.assign(zz.chat, { window: 20_000 }); // as once its provider has said so
  await zz.ask("begin");
  return zz;
}
/** Until zz has heard of saved files: the system tells of them in the next round of this
 * process. */
async function heard(): Promise<void> {
  for (let rounds = 0; rounds < 4; rounds++) await setImmediate();
}
/** The maps that the model is told before and after something is done to such a project. */
async function toldOf(
  t: TestContext,
  count: number,
  act: (zz: Harness) => unknown,
  script: Step[] = [],
) {
  const zz = await begun(t, count, script);
  await heard();
  await act(zz);
  await heard();
  await zz.ask("go on");
  const [first, last] = [zz.requests[0]!, zz.requests.at(-1)!];
  equal(last.system, first.system, "the prompt stays");
  return {
    first: mapIn(first.system)!,
    next: mapIn(last.messages.findLast(({ role }) => role === "user")!.text),
  };
}
function isAbout(map: string, tokens: number): void {
  const size = countTokens(map);
  ok(size > 0.85 * tokens && size < tokens + 50, `${size}`); // besides the rows it says to verify
}
const add = (name: string) => (zz: Harness) => zz.write(name, saying(name));
/** Two changes, of which the map is made one after the other. */
const addAndSave = async (zz: Harness) => {
  add("src/new.ts")(zz);
  await heard();
  zz.write("src/part7.ts", `${saying("src/part7.ts")}// saved\n`);
};
const drop = (zz: Harness) => rmSync(join(zz.root, "src/part3.ts"));

for (const [what, count, act, shown, gone] of [
  ["one file more than eleven", 11, add("src/new.ts"), ["src/new.ts"], []],
  ["one of eleven files less", 11, drop, ["src/part4.ts"], ["src/part3.ts"]],
  ["one file more than a hundred and fifty, and one of them saved later", 150, addAndSave,
    ["src/new.ts"], []],
] as const) // biome-ignore format: a table
  test(`${what}, and the next message has the map as it is now`, async (t) => {
    const { first, next = "" } = await toldOf(t, count, act);
    match(first, /verify with grep/);
    if (count > 100)
      isAbout(first, 1_600); // 8 % of the model's window; of more files it shows a part
    else equal(first.match(/^src\/\w+\.ts:/gm)?.length, count);
    const named = [...shown, ...gone].filter((name) => new RegExp(`^${name}:`, "m").test(next));
    deepEqual(named, shown);
  });

test("a file that the model itself makes or deletes, or one that is merely saved again, leaves the map as it was", async (t) => {
  const made: Step = {
    call: ["create_file", { path: "src/made.ts", content: "export const made = 1;\n" }],
  };
  const script = [made, { call: ["delete_file", { path: "src/part2.ts" }] } as Step];
  const { first, next } = await toldOf(t, 11, add("src/part1.ts"), script);
  match(first, /src\/part2\.ts/);
  equal(next, undefined);
});

test("one answer in a pipe is not told the map, unless the settings say so", async (t) => {
  for (const map of ["sessions", "always"]) {
    const zz = await harness(
      { own: true, files: FILES, settings: { symbols: { map, tokens: 100 } } },
      t,
    );
    await zz.ask("hello");
    equal(/src\/lamp\.ts/.test(mapIn(zz.requests[0]!.system) ?? ""), map === "always");
  }
});

test("/map shows the map, /reindex makes the index anew and counts, at 40 columns as well", async (t) => {
  const term = await repl(t, { where: place(FILES), cols: 40, rows: 30 });
  await term.say("/map lamp", "src/lamp.ts:2: export class Lamp");
  await term.say("/reindex", /Indexed 5 files with \d+ symbols/);
  await term.leave();
});
