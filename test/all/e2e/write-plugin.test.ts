// Plugins that are added while zz runs: the model's, asked for once and used at once; and what the type check reports.
import { equal, match, ok } from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, renameSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { call, say } from "../../support/fake/openai.ts";
import { repl } from "../../support/repl.ts";
import { put } from "../../support/repository.ts";
import { place } from "../../support/run.ts";
import { KEY } from "../../support/terminal.ts";

const lamp = (rest: string) => `import type { Zz } from "zz";
export default (zz: Zz) => zz.tool({ name: "lamp", description: "The lamp.", ${rest} });
`;
const ON = lamp('run: () => "on"');

test("Another plugin whose file is broken by now does not keep the model from writing one", async (t) => {
  const where = place();
  const file = join(where.home, "plugins/lamp.ts");
  put(where.home, { "plugins/torn.ts": ON.replace('"lamp"', '"torn"') });
  const script = [call(["write_plugin", { name: "lamp", code: ON }]), call(["lamp", {}]), say("It is on.")];
  const { hit, sees, say: tell, leave } = await repl(t, { where, script, cols: 120, rows: 40 });
  put(where.home, { "plugins/torn.ts": "export default (zz) => {" });
  await sees(/Cannot load plugin 'torn'[\s\S]*Its\s+previous\s+version\s+stays\s+in\s+use\./);
  const shown = await tell("light", "Allow? [y/N/A/?]");
  match(shown, /┏ write_plugin requests run access to "plugin lamp"/);
  for (const line of ON.trimEnd().split("\n")) ok(shown.includes(`┃ ${line}`), shown);
  equal(existsSync(file), false, "nothing is written before the answer");
  await hit("y", "It is on.");
  equal(readFileSync(file, "utf8"), ON);
  await leave();
});

test("A plugin whose types do not fit is loaded all the same, and told once for each version of it", async (t) => {
  const { where, hit, sees, raw, leave, say } = await repl(t, { cols: 120, rows: 40 });
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
  await hit(`/plugin check lamp${KEY.enter}`, "1 error in 'lamp'.");
  equal(raw().split("its types do not fit").length, 2, "told once");
  save(`export default (zz) => zz.tool({ name: "lamp", description: "d", run: () => "on" });\n`); // only untyped
  await say("two", /reloaded in[\s\S]*Plugin 'lamp' reloaded in/);
  await hit(`/plugin check lamp${KEY.enter}`, "Parameter 'zz' implicitly has an 'any' type.");
  equal(raw().split("its types do not fit").length, 2);
  await leave();
});

test("/plugin new makes one that is live before the next message", async (t) => {
  const { hit, sees, say, leave } = await repl(t, { cols: 120, rows: 40 });
  await hit(`/plugin new lamp${KEY.enter}`, "Plugin 'lamp' was created:");
  await sees(/›$/);
  await say("/lamp", "Nobody yet.");
  await hit(`/plugin new lamp${KEY.enter}`, "is already there");
  await hit(`/plugin chek lamp${KEY.enter}`, "Cannot run '/plugin chek lamp'");
  await leave();
});
