// Plugins are checked, begun, written by the model; functions become tools for one run.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { initialRules } from "../../../../kernel/gate/rules.ts";
import type { Options } from "../../../../kernel/instance.ts";
import type { Harness, Move } from "../../../../sdk/testing.ts";
import { put } from "../../../../test/support/repository.ts";
import { type Place, place, ROOT, zz } from "../../../../test/support/run.ts";
import { isAll, some } from "../../../../test/support/runs.ts";
import { harness } from "../../../../test/support/script.ts";

const HEAD = 'import type { Zz } from "zz";\n';
const plugin = (body: string) => `${HEAD}export default (zz: Zz) => ${body};\n`;
const tool = (rest: string) =>
  plugin(`zz.tool({ name: "lamp", description: "The lamp.", ${rest} })`);
const LAMP = tool('run: () => "on"');

/**
 * A place whose folder is where the home's plugins are: what is checked there is loaded as well, in
 * another process.
 */
function atHome(): Place {
  const where = place();
  const cwd = join(where.home, "plugins");
  mkdirSync(cwd, { recursive: true });
  return { ...where, cwd };
}

async function check(where: Place, name: string, files: Record<string, string>, env = {}) {
  put(where.cwd, files);
  return zz(where, ["--check-plugin", name], { env });
}

const ZOD = 'import { z } from "zod";\n';
const SCHEMA = '{ type: "object", properties: { n: { type: "number" } }, required: ["n"] }';
const CONFIGURED =
  "export default (zz: Zz<typeof defaults>) => zz.config.unit.length > 9 && zz.defer(() => {});\n";
const MADE = "export default async () => { await (await harness()).close(); };\n";
const RIGHT: [what: string, code: string][] = [
  [
    "the shorthand",
    tool(
      'params: { c: "string", n: "number?", t: "string[]" }, run: ({ c, n = 1 }) => c.at(n) ?? ""',
    ),
  ],
  ["zod", ZOD + tool("params: z.object({ n: z.number() }), run: ({ n }) => n.toFixed()")],
  ["JSON Schema", tool(`params: ${SCHEMA}, run: ({ n }) => n.toFixed()`)],
  ["settings of its own", `${HEAD}export const defaults = { unit: "C" };\n${CONFIGURED}`],
  ["a test of it", `import { harness } from "zz/test";\n${MADE}`],
  [
    "an import of a type alone",
    `import type { Word } from "./lib/word";\nexport const w: Word = "";\n${LAMP}`,
  ],
];

const LIB = {
  "lib/word.ts": 'export const word = "on";\nexport type Word = string;',
  "lib/index.ts": "export {};",
};

/** Rows are checked together, as files that one plugin imports: that takes no longer than one. */
async function checkRows(rows: (readonly [string, string, ...unknown[]])[], where = place()) {
  const files = Object.fromEntries(rows.map(([, code], i) => [`row${i}.ts`, code]));
  const all = rows.map((_, i) => `import "./row${i}.ts";\n`).join("") + LAMP;
  return check(where, "a.ts", {
    ...files,
    ...LIB,
    "word.ts": 'export const word = "on";',
    "a.ts": all,
  });
}

let right: ReturnType<typeof check> | undefined;
for (const [i, [what]] of RIGHT.entries())
  test(`--check-plugin takes ${what}`, async () => {
    const ran = await (right ??= checkRows(RIGHT));
    ok(!ran.stderr.includes(`row${i}.ts`), ran.stderr);
    match(ran.stdout, /^'a\.ts' has no type errors\.\nIt was not loaded/);
    equal(ran.code, 0);
  });

const TWICE = 'zz.tool({ name: "x", description: "", run: () => "" })';
const WRONG: [what: string, code: string, message: RegExp][] = [
  [
    "a misspelt field",
    LAMP.replace("description", "descripton"),
    /Did you mean to write 'description'\?$/m,
  ],
  [
    "a wrong event",
    plugin('zz.on("startd", () => {})'),
    /^a\.ts:2:\d+: Argument of type '"startd"'/m,
  ],
  [
    "a missing await",
    tool('run: (_, { files }) => files.read("x").text'),
    /Did you forget to use 'await'\?$/m,
  ],
  [
    "a lost promise",
    tool('run: (_, { files }) => { files.read("x"); return "" }'),
    /a\.ts:2:\d+: This promise is/m,
  ],
  [
    "a misspelt type",
    tool('params: { n: "numbr" }, run: () => ""'),
    /'numbr' is not a type of a parameter/,
  ],
  [
    "two tools of one name",
    plugin(`{ ${TWICE}; ${TWICE} }`),
    /^a\.ts:2:\d+: There is a tool 'x' in this file/m,
  ],
  [
    "a type imported like a value",
    LAMP.replace("import type", "import"),
    /^a\.ts:1:10: .*using a type-only import/m,
  ],
  ["a torn line", LAMP.replace("run:", "run"), /^a\.ts:2:\d+: .*expected\.$/m],
  ["an import of nothing", `import "./gone.ts";\n${LAMP}`, /^a\.ts:1:8: .*'\.\/gone\.ts'/m],
  [
    "an imported file",
    "export const word: string = 1;",
    /^a\.ts:1:14: Type 'number' is not assignable to type/m,
  ],
];
let wrong: ReturnType<typeof check> | undefined;
for (const [i, [what, , message]] of WRONG.entries())
  test(`--check-plugin finds ${what}`, async () => {
    const ran = await (wrong ??= checkRows(WRONG));
    const own = ran.stderr.split("\n").filter((line) => line.startsWith(`row${i}.ts:`));
    match(own.join("\n").replaceAll(`row${i}.ts`, "a.ts"), message);
    deepEqual([ran.stdout, ran.code], ["", 1]);
  });

for (const [what, code, message] of [
  [
    "no default export",
    LAMP.replace("export default", "export const it ="),
    /^a\.ts:1:1: The plugin has no default/m,
  ],
  [
    "one that is no function",
    `${HEAD}export default { name: "x" };\n`,
    /^a\.ts:2:16: .* cannot be called with zz/m,
  ],
] as [string, string, RegExp][])
  test(`--check-plugin finds ${what}`, async () => {
    const ran = await check(place(), "a.ts", { "a.ts": code });
    match(ran.stderr, message);
    match(ran.stderr, /^1 error in 'a\.ts'\.$/m);
    deepEqual([ran.stdout, ran.code], ["", 1]);
  });

for (const [name, reason] of [
  ["gone.ts", "no such file. Check the path."],
  [".", "it is a folder without an index.ts. Name a file."],
  ["a.txt", "it is not TypeScript. Name a file that ends in .ts."],
  ["big.ts", "1048577 bytes are too many for a plugin. Split it."],
] as const)
  test(`--check-plugin refuses ${name}`, async () => {
    const where = place({ "a.txt": "x", "big.ts": "/".repeat(1024 * 1024 + 1) });
    const ran = await zz(where, ["--check-plugin", name]);
    deepEqual([ran.stderr, ran.code], [`Cannot check '${name}': ${reason}\n`, 2]);
  });

test("--check-plugin checks a folder's index, tells --json, and checks one of zz's own from source", async () => {
  const where = place({ "lamp/index.ts": LAMP });
  const { file, problems } = JSON.parse(
    (await zz(where, ["--check-plugin", "lamp", "--json"])).stdout,
  );
  // as text, a folder is in the last table
  deepEqual([file, problems], [join(where.cwd, "lamp/index.ts"), []]);
  if (isAll) equal((await zz(where, ["--check-plugin", join(ROOT, "packages", "git")])).code, 0);
});

test("--new-plugin writes one that works, has no type errors, and passes its own test", async () => {
  const where = place();
  const ran = await zz(where, ["--new-plugin", "my-greeter"]);
  const [file, own] = ["my-greeter.ts", "my-greeter.test.ts"].map((name) =>
    join(where.home, "plugins", name),
  );
  ok(ran.stdout.includes(`  ${file}\n  ${own}\n`), ran.stdout);
  equal((await zz(where, ["--check-plugin", own!])).code, 0); // it imports what it tests
  equal(
    (await zz(where, ["--call", "my_greeter", '{"who":"Bo","loud":true}'])).stdout,
    "Hello, Bo!!!\n",
  );
  if (isAll) {
    const node = {
      encoding: "utf8",
      cwd: where.cwd,
      env: { ...process.env, NODE_TEST_CONTEXT: undefined },
    } as const;
    match(execFileSync(process.execPath, ["--test", own!], node), /pass 1/);
    // as an editor sees it
    execFileSync(join(ROOT, "node_modules", ".bin", "tsc"), ["-p", where.home], node);
  }
  const again = await zz(where, ["--new-plugin", "my-greeter"]);
  const there = `Cannot make plugin 'my-greeter': ${file} is already there. Edit it, or choose another name.\n`;
  deepEqual([again.stderr, again.code], [there, 2]);
});

test("--new-plugin leaves what is there, and makes a link again that leads nowhere", async () => {
  const where = place();
  put(where.home, { "tsconfig.json": "{}", "node_modules/zod/mine": "" });
  symlinkSync("nowhere", join(where.home, "node_modules", "zz"));
  const ran = await zz(where, ["--new-plugin", "lamp"]);
  equal(readFileSync(join(where.home, "tsconfig.json"), "utf8"), "{}");
  deepEqual(readdirSync(join(where.home, "node_modules", "zod")), ["mine"]);
  ok(existsSync(join(where.home, "node_modules", "zz", "package.json")), ran.stdout);
  ok(!ran.stdout.includes("tsconfig.json"));
});

test("--new-plugin refuses names that cannot be", async () => {
  const where = place();
  for (const [name, reason] of [
    ["a".repeat(65), /at most 64/],
    ["models", /the name has a meaning of its own/],
    ["Git", /one of zz's own plugins has that name/],
    ["grep", /a tool or a command already has that name/],
  ] as const) {
    const ran = await zz(where, ["--new-plugin", name]);
    match(ran.stderr, new RegExp(`^Cannot make plugin '${name}': .*${reason.source}`));
    deepEqual([ran.code, inHome(where)], [2, []]);
  }
});

const inHome = (where: { home: string }) =>
  existsSync(join(where.home, "plugins")) ? readdirSync(join(where.home, "plugins")) : [];

const torch = LAMP.replace("lamp", "torch");
let opened: Promise<Harness> | undefined;
const moves: (string | Move)[] = [];
after(async () => (await opened)?.close());
const ALL: Options["allow"] = { read: true, write: true, run: true, net: true, env: true };
/** Its one checker has read TypeScript's libraries after the first plugin. */
async function allowing(allow?: Options["allow"], deny: Options["deny"] = {}): Promise<Harness> {
  const [home, script] = [{ "plugins/torch.ts": torch }, [() => moves.shift()!]];
  const run = await (opened ??= harness({ own: true, answer: "nobody", home, script }));
  Object.assign(run.core.options, { allow, deny });
  run.core.rules.splice(0, run.core.rules.length, ...initialRules(run.core.options));
  return run;
}

test("write_plugin replaces a plugin of the home, also one that was loaded at the start", async (t) => {
  const run = await allowing(ALL);
  t.after(async () => {
    writeFileSync(join(run.home, "plugins", "torch.ts"), torch);
    await run.reload();
  });
  const code = torch.replace("torch", "flame").replace('"on"', '"lit"');
  match(
    (await run.call("write_plugin", { name: "torch", code })).text,
    /It is in use, and adds the tool flame\.$/,
  );
  equal((await run.call("flame")).text, "lit");
});

test("write_plugin shows of one that is there what differs, under its name", async (t) => {
  const run = await allowing();
  let shown = "";
  t.after(() => void delete run.core.ask);
  run.core.ask = async (question) => {
    shown ||= question;
    return "n";
  };
  const code = torch.replace('"on"', '"lit"');
  match((await run.call("write_plugin", { name: "torch", code })).text, /Refused/);
  match(shown, /^┃ edit \/.*\/plugins\/torch\.ts, what differs:\n┃ @@ .*\n(┃ [ +-].*\n)+[┠┗]/m);
});

const REFUSED: [what: string, code: string, reason: RegExp][] = [
  [
    "whose types do not fit",
    tool("run: () => 1"),
    /nothing was written\. Fix it .*:\nlamp\.ts:2:\d+: Type 'number'/,
  ],
  [
    "that throws",
    plugin('{ throw new Error("no luck"); }'),
    /nothing was written: .*lamp\.ts:2: no luck\. Fix it/,
  ],
  [
    "with the name of another",
    LAMP.replace('"lamp"', '"torch"'),
    /another one fails\. .* already there, from 'lamp'/,
  ],
  [
    "with a line that nobody can read",
    `${LAMP}//${"x".repeat(4_000)}`,
    /line 3 has more than 4000 characters/,
  ],
  ["with control characters", `${LAMP}//\x1b[2J`, /it holds control characters/],
];
for (const [what, code, reason] of REFUSED)
  test(`write_plugin refuses one ${what}, and leaves nothing behind`, async () => {
    const run = await allowing(ALL);
    const { text, failed } = await run.call("write_plugin", { name: "lamp", code });
    match(text, reason);
    deepEqual([failed, inHome(run)], [true, ["torch.ts"]]);
  });

test("write_plugin with nothing allowed, where nobody can be asked, says which flag allows it", async () => {
  const run = await allowing();
  const { text, refused } = await run.call("write_plugin", { name: "lamp", code: LAMP });
  equal(
    text,
    "Refused: requires run access to \"plugin lamp\"; run again with --allow-run='plugin lamp'.",
  );
  deepEqual([refused, inHome(run)], [true, ["torch.ts"]]);
});

for (const [what, allow, deny] of [
  ["all allowed, but itself denied", ALL, { run: ["plugin lamp"] }],
  ["all commands allowed", { run: true }],
] as [string, Options["allow"], Options["deny"]?][])
  test(`write_plugin with ${what} is refused`, async () => {
    const run = await allowing(allow, deny);
    const { text, refused } = await run.call("write_plugin", { name: "lamp", code: LAMP });
    deepEqual([refused, inHome(run)], [true, ["torch.ts"]], text);
  });

test("write_plugin adds a tool that the model has in the next round of the same turn, and /undo takes it back", async () => {
  const run = await allowing({ run: ["plugin lamp"] });
  moves.push({ call: ["write_plugin", { name: "lamp", code: LAMP }] }, { call: ["lamp"] }, "Done.");
  const from = run.requests.length;
  const { text, results } = await run.ask("light");
  const file = join(run.home, "plugins", "lamp.ts");
  const [first, ...more] = run.requests
    .slice(from)
    .map(({ tools }) => tools.some(({ name }) => name === "lamp"));
  deepEqual([text, first, more], ["Done.", false, [true, true]]);
  const said = results.map((one) => one.text);
  deepEqual(said, [`Wrote ${file}. It is in use, and adds the tool lamp.`, "on"]);
  match((await run.command("/undo")).join(), /^Undid 1 change: \S+ \(removed, \d+ lines?\)\.$/);
  deepEqual(inHome(run), ["torch.ts"]);
  await run.reload();
});

test("write_plugin refuses the names that --new-plugin refuses, and that of a plugin in a folder", async (t) => {
  const run = await harness({ own: true, home: { "plugins/folder/index.ts": plugin("{}") } }, t);
  for (const [name, reason] of [
    ["git", /one of zz's own plugins has that name/],
    ["../x", /a name begins with a letter/],
    ["folder", /there is one of that name in .*folder\/index\.ts/],
  ] as const)
    match((await run.call("write_plugin", { name, code: LAMP })).text, reason);
  deepEqual(inHome(run), ["folder"]);
});

const CODE = `
/** Adds two numbers. @param first the one */
export function addNumbers(first: number, second = 2) { return first + second; }
`;
const DAYS = `
export interface Day {
  hour: number;
  /** AM or PM */
  half?: "am" | "pm";
}
export const listDays = async (days: Day[], loud?: boolean, ...names: string[]) => ({ days, loud, names });
export const COUNT = 3;
`;

test("--functions makes a tool of each exported function, by its types and its JSDoc", async () => {
  const where = place({ "days.ts": DAYS });
  const both = ["--functions", CODE, "--functions", "days.ts"];
  const tools = JSON.parse((await zz(where, [...both, "--tools", "--json"])).stdout);
  const own = (name: string) => tools.find((one: any) => one.name === name);
  const { kind, description, schema } = own("add_numbers");
  deepEqual([kind, description, schema.required], ["read", "Adds two numbers.", ["first"]]);
  deepEqual(schema.properties, {
    first: { type: "number", description: "the one" },
    second: { type: "number" },
  });
  const day = {
    hour: { type: "number" },
    half: { type: "string", enum: ["am", "pm"], description: "AM or PM" },
  };
  const { properties, required } = own("list_days").schema;
  const items = {
    type: "object",
    properties: day,
    required: ["hour"],
    additionalProperties: false,
  };
  const names = { type: "array", items: { type: "string" } };
  deepEqual(properties, { days: { type: "array", items }, loud: { type: "boolean" }, names });
  deepEqual(required, ["days"]);
  equal((await zz(where, [...both, "--call", "add_numbers", '{"first":1}'])).stdout, "3\n");
  const args = '{"days":[{"hour":1}],"names":["a","b"]}';
  equal(
    (await zz(where, [...both, "--call", "list_days", args])).stdout,
    '{"days":[{"hour":1}],"names":["a","b"]}\n',
  );
  equal((await zz(where, [...both, "--call", "add_numbers", '{"first":"x"}'])).code, 2);
});

for (const [what, code, message] of [
  [
    "a torn line",
    "export function f( {",
    /^Cannot use the functions of '--functions': --functions:1:\d+: .*expected/,
  ],
  [
    "a parameter without a type",
    "\nexport function f(x) { return x }",
    /'f' \(--functions:2:1\): .* 'x' has no type/,
  ],
  ["a mixed union", "export function f(x: string | number) {}", /is of type 'string \| number'/],
  ["nothing exported", "function f() {}", /it exports none/],
  [
    "a name that is taken",
    'export function readFile() { return "" }',
    /tool 'read_file' is already there, from/,
  ],
  [
    "code that throws",
    'export function f() {} throw new Error("no luck")',
    /loading it failed: no luck/,
  ],
  ["a file that is not there", "gone.ts", /^Cannot use the functions of 'gone\.ts': no such file/],
] as [string, string, RegExp][])
  test(`--functions refuses ${what} with exit code 2`, async () => {
    const ran = await zz(place(), ["--functions", code, "--tools"]);
    match(ran.stderr, message);
    deepEqual([ran.stdout, ran.code], ["", 2]);
  });

test("--check-plugin runs nothing but what zz loads by itself, that once, and no plugin beside it", async () => {
  const where = atHome();
  const code = `import { appendFileSync } from "node:fs";\nappendFileSync(import.meta.dirname + "/../loads", "x");\n${LAMP}`;
  put(where.cwd, { "torn.ts": "export default (zz) => {", "lamp.ts": code });
  const own = await zz(where, ["--check-plugin", "lamp.ts"]);
  deepEqual(
    [own.stdout, own.stderr, own.code],
    ["'lamp.ts' has no type errors, and loads.\n", "", 0],
  );
  equal(readFileSync(join(where.home, "loads"), "utf8"), "x");
  const other = place({ "in/lamp.ts": code });
  const { stdout, code: exit } = await zz(other, ["--check-plugin", "in/lamp.ts"]);
  match(
    stdout,
    /^'in\/lamp\.ts' has no type errors\.\nIt was not loaded: that would run it, and it is not in .*plugins\./,
  );
  deepEqual([exit, existsSync(join(other.cwd, "loads"))], [0, false]);
});

const RED = 'export default (zz) => zz.tool({ name: "red", description: "d", run: () => "" });\n';
/** Checked together, as files that one plugin imports. */
const MISNAMED: [what: string, code: string, said: RegExp][] = [
  ["a .js that is a .ts", `import { word } from "./lib/word.js";\n${tool("run: () => word")}`, /^a\.ts:1:22: Node does not find '\.\/lib\/word\.js'\. Write '\.\/lib\/word\.ts'\.$/],
  ["a name without its ending", `export * from "./lib/word";\n${LAMP}`, /^a\.ts:1:15: .* Write '\.\/lib\/word\.ts'\.$/],
  ["a folder", `import "./lib";\n${LAMP}`, /^a\.ts:1:8: .* Write '\.\/lib\/index\.ts'\.$/],
  ["such a name, late", plugin('{ void import("./lib/word"); }'), /^a\.ts:2:\d+: Node does not find '\.\/lib\/word'.*$/],
]; // biome-ignore format: a table
let misnamed: ReturnType<typeof check> | undefined;
for (const [i, [what, , said]] of MISNAMED.entries())
  test(`--check-plugin finds what does not load: ${what}`, async () => {
    const ran = await (misnamed ??= checkRows(MISNAMED));
    const [first, ...more] = ran.stderr
      .split("\n")
      .filter((line) => line.startsWith(`row${i}.ts:`));
    match(first!.replace(`row${i}.ts`, "a.ts"), said);
    deepEqual([more, ran.stdout, ran.code], [[], "", 1]);
  });

const UNLOADABLE: [what: string, name: string, code: string, said: RegExp, more?: Record<string, string>][] = [
  ["a throw, beside a wrong type", "a.ts", `${LAMP}\nthrow new Error("no luck");\nexport const n: number = "x";`, /^a\.ts:\d+:14: Type 'string'.*\n(.*\n)*Cannot load plugin 'a' \(.*a\.ts:\d+\): no luck\n\d errors in/],
  ["JavaScript that fails as it is set up", "a.js", RED.replace("tool", "tol"), /^Cannot load plugin 'a' \(.*a\.js:1\): zz\.tol is not a function\nThe types of JavaScript are not checked: a\.js\.\n1 error in/],
  ["an end of the process, hard", "a.ts", plugin("process.abort()"), /^Cannot load '.*a\.ts': the process that tried it ended \(SIGABRT\)/],
  ["a promise that is never settled", "a.ts", `await new Promise(() => {});\n${LAMP}`, /loading took longer than 1 s/],
  ["the file that a folder's package.json names", "red", "", /^red\/src\/main\.ts:1:1: .*no default export/, { "red/package.json": '{ "zz": "src/main.ts" }', "red/src/main.ts": "export {};", "red/index.ts": LAMP }],
]; // biome-ignore format: a table
for (const [what, name, code, said, more = {}] of some(UNLOADABLE, 9))
  test(`--check-plugin finds what does not load: ${what}`, async () => {
    const env = what.includes("never settled") ? { ZZ_LOAD_LIMIT: "1" } : {};
    const ran = await check(
      atHome(),
      name,
      { ...LIB, ...more, ...(code && { [name]: code }) },
      env,
    );
    match(ran.stderr, said);
    deepEqual([ran.stdout, ran.code], ["", 1]);
  });

test("--check-plugin does not load a test", async () => {
  const ran = await check(atHome(), "a.test.ts", { "a.test.ts": "throw new Error();" });
  equal(ran.stdout, "'a.test.ts' has no type errors.\nIt was not loaded: it is a test.\n");
});
