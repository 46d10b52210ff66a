// Plugins that are written, changed, broken and removed while zz runs.
import { equal, ok } from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { harness } from "../../sdk/testing.ts";
import type { Script } from "../support/fake/http.ts";
import { call, say } from "../support/fake/openai.ts";
import { repl } from "../support/repl.ts";
import { put } from "../support/repository.ts";
import { place } from "../support/run.ts";

const tool = (answer: string) =>
  `import type { Zz } from "zz";
export default (zz: Zz) => zz.tool({ name: "lamp", description: "The lamp.", run: () => ${JSON.stringify(answer)} });
`;
/** Calls the lamp if there is one, and says what it returned. */
const script: Script = ({ body }) => {
  const last = body.messages.at(-1);
  if (last.role === "tool") return say(`It is ${last.content}.`);
  const has = body.tools.some((one: any) => one.function.name === "lamp");
  return has ? call(["lamp", {}]) : say("No lamp.");
};

test("A plugin is written, called in the next turn, changed, broken and taken away, all in one sitting", async (t) => {
  const where = place();
  const file = join(where.home, "plugins", "lamp.ts");
  const save = (text: string) => put(where.home, { "plugins/lamp.ts": text });
  mkdirSync(dirname(file), { recursive: true });
  const { say, sees, leave } = await repl(t, { where, script, cols: 120, rows: 50 });
  await say("one", "No lamp.");
  save(tool("on"));
  await say("two", "It is on.");
  save(tool("off"));
  await sees("Plugin 'lamp' reloaded in");
  await say("three", "It is off.");
  save(tool("torn").replace("run:", "run"));
  const torn =
    /Cannot load plugin 'lamp' \([^)]*lamp\.ts(:\d+)?\):\s[\s\S]*Its\s+previous\s+version\s+stays\s+in\s+use\./;
  const shown = await sees(torn);
  ok(!/^\s+at |node:internal/m.test(shown), "no trace");
  await say("four", /four[\s\S]*It is off\./);
  await say(
    "/plugins",
    /lamp +home +older +[\s\S]*Its\s+previous\s+version\s+stays\s+in\s+use\.[\s\S]*tool lamp/,
  );
  save(tool("mended"));
  await say("five", "It is mended.");
  rmSync(file);
  await sees("Plugin 'lamp' unloaded.");
  await say("six", /six\n+No lamp\./);
  await leave();
});

test("What a plugin imports of its own files is loaded again with it, and what it keeps stays", async (t) => {
  const index = `import { word } from "./words.ts";
export default (zz) => {
  const kept = zz.state({ count: 0 });
  zz.tool({ name: "lamp", description: "d", run: () => word + " " + ++kept.count });
};
`;
  const deep = 'export const word = "bright";';
  const files = {
    "index.ts": index,
    "words.ts": 'export { word } from "./deep.ts";',
    "deep.ts": deep,
  };
  const home = Object.fromEntries(
    Object.entries(files).map(([name, text]) => [`plugins/lamp/${name}`, text]),
  );
  const it = await harness({ home }, t);
  for (const [name, text, says] of [
    ["deep.ts", deep, "bright 1"],
    ["deep.ts", 'export const word = "dim";', "dim 2"],
    ["index.ts", index.replace('word + " "', 'word + "! "'), "dim! 3"],
  ] as const) {
    writeFileSync(join(it.home, "plugins/lamp", name), text);
    await it.reload();
    equal((await it.call("lamp")).text, says);
  }
});

test("A project's plugin is asked for at the prompt, shown, loaded, and asked for again when it changes", async (t) => {
  const where = place();
  const write = (answer: string) => put(where.cwd, { ".zz/plugins/lamp.ts": tool(answer) });
  write("on");
  const { sees, say, hit, leave } = await repl(t, { where, script, cols: 100, rows: 50 });
  await sees("Load it? [y]es, [n]o, [s]how it:");
  await hit(
    "s",
    /--- \.zz\/plugins\/lamp\.ts ---\s+import type \{ Zz \} from "zz";[\s\S]*Load it\?/,
  );
  await hit("y", "Plugin 'lamp' loaded");
  await say("one", "It is on.");
  write("evil");
  await sees(/\.zz\/plugins\/lamp\.ts changed since you trusted it\. What was loaded stays in use/);
  await say("two", /two[\s\S]*It is on\./);
  await hit("/trust\r", /\.zz\/plugins\/lamp\.ts {2}\(new or changed\)[\s\S]*Load it\?/);
  await sees(/how it:$/);
  await hit("y", "Plugin 'lamp' reloaded");
  await say("three", "It is evil.");
  await say("/trust no", "Plugin 'lamp' unloaded.");
  await say("four", "No lamp.");
  await say("/reload", "No plugin has changed.");
  await sees(/›$/);
  await leave();
});
