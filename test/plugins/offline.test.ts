import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { test } from "node:test";
import type { Options } from "../../kernel/instance.ts";
import { place, zz } from "../support/run.ts";
import { kernel } from "../support/script.ts";

const made = place({
  "src/lamp.ts": `/** Makes the room bright. */
export class Lamp {
  dim(level: number) {
    return level; // TODO: a smoother curve
  }
}
export const parse_args = (args: string[]) => args;
`,
  "src/app.test.ts": `import { Lamp } from "./lamp.ts";\nnew Lamp().dim(3);\n`,
  "README.md": "# The lamp\n\nhello world\n",
  "tsconfig.base.json": "{}\n",
});

const open = (options?: Options) =>
  kernel.createZz({ root: made.cwd, home: made.home, save: false, ...options });
const shared = await open(); // its language service answers all of them

async function ask(prompt: string, options?: Options) {
  const core = options ? await open(options) : shared;
  return kernel.runTurn(core, kernel.openChat(core, "offline/router"), prompt);
}
for (const [prompt, tool, args] of [
  // definitions
  ["where is the turn loop defined?", "find_definition", { symbol: "turn loop" }],
  ["where is `dim` defined", "find_definition", { symbol: "dim" }],
  ["Definition of bright", "find_definition", { symbol: "bright" }],
  ["parse_args", "find_definition", { symbol: "parse_args" }],
  ["where's the lamp's switch defined?", "find_definition", { symbol: "lamp switch" }],
  // references
  ["who calls dim?", "find_references", { symbol: "dim" }],
  ["where is parse_args used?", "find_references", { symbol: "parse_args" }],
  // structure
  ["structure", "get_structure", {}],
  ["what is the structure of the project?", "get_structure", {}],
  ["structure of src/lamp.ts", "get_structure", { path: "src/lamp.ts" }],
  // todos
  ["todos", "get_todos", {}],
  // status
  ["status", "git_status", {}],
  ["what changed?", "git_status", {}],
  // list
  ["list files", "list_dir", {}],
  ["ls src", "list_dir", { path: "src" }],
  // grep
  ['grep "hello world"', "grep", { query: "hello world" }],
  ['grep "structure"', "grep", { query: "structure" }],
  ["search for dim in src/lamp.ts", "grep", { query: "dim", path: "src/lamp.ts" }],
  // read
  ["read README.md", "read_file", { path: "README.md" }],
  ["open `src/[...slug].ts`", "read_file", { path: "src/[...slug].ts" }],
  // misspelt, and words of other languages that are nearly the same
  ["strcture", "get_structure", {}],
  ["refrences of parse_args", "find_references", { symbol: "parse_args" }],
  ["Wie ist der Status?", "git_status", {}],
] as [string, string, object][])
  test(`offline: ${JSON.stringify(prompt)} is ${tool} ${JSON.stringify(args)}`, async () => {
    const { calls, finish } = await ask(prompt);
    deepEqual([finish, ...calls.map(({ name, args }) => [name, args])], ["stop", [tool, args]]);
  });

for (const prompt of [
  "Ich habe Hunger und möchte ein Brot",
  "你好,今天天气怎么样?",
  "please fix the bug in the parser",
  "I want to read a book about cats",
  "grep",
  "",
])
  test(`offline: ${JSON.stringify(prompt)} is answered with what it can do, and no tool`, async () => {
    const { text, calls } = await ask(prompt);
    deepEqual(calls, []);
    match(text, /not a model/);
    match(text, /- where is NAME defined\? +\(find_definition\)/);
    match(text, /For a model: type \/setup at the prompt, or pass --model/);
  });

test("offline: the answer shows what the tool found and says that it is not a model", async () => {
  const { text, finish, rounds } = await ask("where is Lamp defined?");
  const [found, told] = text.split("\n\n");
  equal(found, "src/lamp.ts:2: export class Lamp  // Makes the room bright.");
  equal(told, "(offline: not a model. `find_definition` found this; only words were matched.)");
  deepEqual([finish, rounds], ["stop", 2]);
});

for (const [prompt, words] of [
  ["where is frobnicateQuux defined?", /^Cannot find a definition of 'frobnicateQuux'/],
  ["git status", /^Cannot ask git: /],
] as const)
  test(`offline: ${JSON.stringify(prompt)} fails, and says so`, async () => {
    const { text, calls } = await ask(prompt);
    equal(calls[0]?.ok, false);
    match(text, words);
    match(text, /not a model.*failed so/);
    doesNotMatch(text, /found this/);
  });

for (const prompt of ["where is Lamp defined?", "hello"])
  test(`offline: with no tools ${JSON.stringify(prompt)} is answered without one, and none is promised`, async () => {
    const { text, calls } = await ask(prompt, { tools: false });
    deepEqual(calls, []);
    match(text, /not a model/);
    doesNotMatch(text, /find_definition|get_todos/);
    doesNotMatch(text, /It understands:\s*\n\s*\n/, "a list that is announced but empty");
  });

test("offline: the program itself, as a person types it", async () => {
  const { code, stdout, stderr } = await zz(made, [
    "--model",
    "offline",
    "--json",
    "-n",
    "where is dim?",
  ]);
  const { text, model, session, calls } = JSON.parse(stdout);
  deepEqual([code, stderr, model, session], [0, "", "offline/router", null]);
  deepEqual(calls, [{ name: "find_definition", args: { symbol: "dim" }, ok: true }]);
  match(text, /^src\/lamp\.ts:3: dim\(level: number\)$/m);
});
