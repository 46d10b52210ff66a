// Plugins that are added while zz runs: the model's, asked for once and used at once; and what the type check reports.
import { equal, match, ok } from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, renameSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, type TestContext, test } from "node:test";
import { call, say } from "../support/fake/openai.ts";
import { repl } from "../support/repl.ts";
import { place } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";

const lamp = (rest: string) => `import type { Zz } from "zz";
export default (zz: Zz) => zz.tool({ name: "lamp", description: "The lamp.", ${rest} });
`;
const ON = lamp('run: () => "on"');

/** One conversation, with one type checker: each test is a message in it, and leaves what the next one begins with. */
const where = place();
const [file, torn] = ["lamp.ts", "torn.ts"].map((name) => join(where.home, "plugins", name)) as [string, string];
mkdirSync(join(where.home, "plugins"), { recursive: true });
writeFileSync(torn, ON.replace('"lamp"', '"torn"'));
const [on, off] = [ON, ON.replace('"on"', '"off"')].map((code) => call(["write_plugin", { name: "lamp", code }]));
const use = call(["lamp", {}]);
const script = [on!, use, say("It is on."), on!, use, say("It is lit again."), off!, say("As you like.")];
const writing = await repl({ after } as unknown as TestContext, { where, script, cols: 120, rows: 40 });
describe("write_plugin at the prompt", () => {
  test("The model writes a plugin: it is shown in full, asked for once, used in the same turn, undone", async (t) => {
    const { fake, type, sees, raw } = writing;
    type(`light${KEY.enter}`);
    const shown = await sees("Allow? [y/N/A/?]");
    match(shown, /┏ write_plugin requests run access to "plugin lamp"/);
    match(shown, /┠ it becomes a part of zz and runs with all that you may do/);
    match(shown, /┃ create .*lamp\.ts, all of it:/);
    for (const line of ON.trimEnd().split("\n")) ok(shown.includes(`┃ ${line}`), shown);
    equal(existsSync(file), false, "nothing is written before the answer");
    const started = performance.now();
    type("y");
    await sees("It is on.");
    t.diagnostic(`from yes to its answer: ${Math.round(performance.now() - started)} ms`);
    equal(readFileSync(file, "utf8"), ON);
    equal(fake.requests[2]!.body.messages.at(-1).content, "on");
    equal(raw().split("Allow?").length, 2, "asked once");
    await sees(/›$/);
    type(`/undo${KEY.enter}`);
    await sees("Undone: created");
    equal(existsSync(file), false);
    await sees(/Undone: created[\s\S]*›$/);
  });

  test("Another plugin whose file is broken by now does not keep the model from writing one", async () => {
    const { type, sees } = writing;
    writeFileSync(torn, "export default (zz) => {");
    await sees(/Cannot load plugin 'torn'[\s\S]*Its\s+previous\s+version\s+stays\s+in\s+use\./);
    type(`light it again${KEY.enter}`);
    await sees(/› light it again[\s\S]*Allow\? \[y\/N\/A\/\?\]/);
    type("y");
    await sees("It is lit again.");
    equal(readFileSync(file, "utf8"), ON);
    await sees(/It is lit again\.[\s\S]*›$/);
  });

  test("What replaces a plugin is shown as a diff, and a no leaves it as it was", async () => {
    const { type, sees, leave } = writing;
    type(`put it out${KEY.enter}`);
    const shown = await sees(/› put it out[\s\S]*Allow\? \[y\/N\/A\/\?\]/);
    match(shown, /┃ edit .*[\s\S]*┃ -export default .*"on"[\s\S]*┃ \+export default .*"off"/);
    type("n");
    await sees("Why not?");
    type(KEY.enter);
    await sees("As you like.");
    equal(readFileSync(file, "utf8"), ON);
    await leave();
  });
});

test("A plugin whose types do not fit is loaded all the same, and told once for each version of it", {
  timeout: 200_000,
}, async (t) => {
  const { where, type, sees, raw, leave, say } = await repl(t, { cols: 120, rows: 40 });
  const save = (text: string) => {
    const [made, file] = [join(where.cwd, "lamp.ts"), join(where.home, "plugins", "lamp.ts")];
    mkdirSync(join(where.home, "plugins"), { recursive: true });
    writeFileSync(made, text);
    utimesSync(made, 1_000_000_000, 1_000_000_000);
    renameSync(made, file);
  };
  save(lamp("run: () => 1"));
  await say("one", "Plugin 'lamp' loaded in");
  const shown = await sees("its types do not fit"); // they are checked at low priority
  match(shown, /lamp\.ts:2:\d+: Type 'number' is not assignable to type 'Awaitable<string \| Result>'/);
  save(lamp("run: () => 1")); // the same version again
  await sees("Plugin 'lamp' reloaded in");
  type(`/plugin check lamp${KEY.enter}`);
  await sees("1 error in 'lamp'.");
  equal(raw().split("its types do not fit").length, 2, "told once");
  save(`export default (zz) => zz.tool({ name: "lamp", description: "d", run: () => "on" });\n`); // only untyped
  await say("two", /reloaded in[\s\S]*Plugin 'lamp' reloaded in/);
  type(`/plugin check lamp${KEY.enter}`);
  await sees("Parameter 'zz' implicitly has an 'any' type.");
  equal(raw().split("its types do not fit").length, 2);
  await leave();
});

test("/plugin new makes one that is live before the next message", async (t) => {
  const { type, sees, say, leave } = await repl(t, { cols: 120, rows: 40 });
  type(`/plugin new lamp${KEY.enter}`);
  await sees("Plugin 'lamp' was created:");
  await sees(/›$/);
  await say("/lamp", "Nobody yet.");
  type(`/plugin new lamp${KEY.enter}`);
  await sees("is already there");
  type(`/plugin chek lamp${KEY.enter}`);
  await sees("Cannot run '/plugin chek lamp'");
  await leave();
});
