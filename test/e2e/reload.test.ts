// Plugins that are written, changed, broken and removed while zz runs.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Script } from "../support/fake/http.ts";
import { call, say } from "../support/fake/openai.ts";
import { repl } from "../support/repl.ts";
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

async function sit(t: TestContext, files: Record<string, string> = {}) {
  const where = place();
  const put = (name: string, text: string) => {
    const file = join(where.home, "plugins", name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  for (const [name, text] of Object.entries(files)) put(name, text);
  const zz = await repl(t, { where, script, cols: 120, rows: 50 });
  return { ...zz, put, drop: (name: string) => rmSync(join(where.home, "plugins", name), { recursive: true }) };
}

test("A plugin is written, called in the next turn, changed, broken and taken away, all in one sitting", async (t) => {
  const { say, sees, put, drop, leave } = await sit(t);
  await say("one", "No lamp.");
  put("lamp.ts", tool("on"));
  await say("two", "It is on.");
  put("lamp.ts", tool("off"));
  await sees("Plugin 'lamp' reloaded in");
  await say("three", "It is off.");
  put("lamp.ts", tool("torn").replace("run:", "run"));
  const shown = await sees(
    /Cannot load plugin 'lamp' \([^)]*lamp\.ts(:\d+)?\): [\s\S]*Its\s+previous\s+version\s+stays\s+in\s+use\./,
  );
  ok(!/^\s+at |node:internal/m.test(shown), "no trace");
  await say("four", /four[\s\S]*It is off\./);
  await say("/plugins", /lamp +home +older +[\s\S]*Its\s+previous\s+version\s+stays\s+in\s+use\.[\s\S]*tool lamp/);
  put("lamp.ts", tool("mended"));
  await say("five", "It is mended.");
  drop("lamp.ts");
  await sees("Plugin 'lamp' unloaded.");
  await say("six", /six\n+No lamp\./);
  await leave();
});

test("What a plugin imports of its own files is loaded anew with it, and what it keeps stays", async (t) => {
  const index = `import { word } from "./words.ts";
export default (zz) => {
  const kept = zz.state({ count: 0 });
  zz.tool({ name: "lamp", description: "d", run: () => word + " " + ++kept.count });
};
`;
  const { say, put, leave } = await sit(t, {
    "lamp/index.ts": index,
    "lamp/words.ts": 'export { word } from "./deep.ts";',
    "lamp/deep.ts": 'export const word = "bright";',
  });
  await say("one", "It is bright 1.");
  put("lamp/deep.ts", 'export const word = "dim";');
  await say("two", "It is dim 2.");
  put("lamp/index.ts", index.replace('word + " "', 'word + "! "'));
  await say("three", "It is dim! 3.");
  await leave();
});

test("What a plugin added goes without a trace: listeners, timers, layers, commands, wrappers", async (t) => {
  const { say, put, drop, sees, fake, type, leave } = await sit(t, {
    "lamp.ts": `export default (zz) => {
  zz.tool({ name: "lamp", description: "d", run: () => "on" });
  zz.layer({ name: "lamp-layer", slot: "rules", text: "THE LAMP IS HOLY" });
  zz.command({ name: "lamp", description: "d", run: (_, { note }) => note("the lamp speaks") });
  zz.wrap("request", (request, next) => next({ ...request, options: { ...request.options, seed: 7 } }));
  const timer = setInterval(() => {}, 1_000);
  zz.defer(() => clearInterval(timer));
};
`,
  });
  await say("one", "It is on.");
  match(fake.requests[0]!.body.messages[0].content, /THE LAMP IS HOLY/);
  equal(fake.requests[0]!.body.seed, 7);
  await say("/lamp", "the lamp speaks");
  drop("lamp.ts");
  await sees("Plugin 'lamp' unloaded.");
  await say("two", "No lamp.");
  const { body } = fake.requests.at(-1)!;
  ok(!body.messages[0].content.includes("HOLY"));
  deepEqual([body.seed], [undefined]);
  await sees(/›$/);
  type("/lamp\r");
  await sees("Cannot run '/lamp'");
  put("lamp.ts", tool("back"));
  await say("three", "It is back.");
  await leave();
});

test("A project's plugin is asked for at the prompt, shown, loaded, and asked for again when it changes", async (t) => {
  const where = place();
  const write = (answer: string) => {
    mkdirSync(join(where.cwd, ".zz", "plugins"), { recursive: true });
    writeFileSync(join(where.cwd, ".zz", "plugins", "lamp.ts"), tool(answer));
  };
  write("on");
  const { sees, say, type, leave } = await repl(t, { where, script, cols: 100, rows: 50 });
  const question = "Load it? [y]es, [n]o, [s]how it:";
  await sees(question);
  type("s");
  await sees(/--- \.zz\/plugins\/lamp\.ts ---\s+import type \{ Zz \} from "zz";[\s\S]*Load it\?/);
  type("y");
  await sees("Plugin 'lamp' loaded");
  await say("one", "It is on.");
  write("evil");
  await sees(/\.zz\/plugins\/lamp\.ts changed since you trusted it\. What was loaded stays in use/);
  await say("two", /two[\s\S]*It is on\./);
  type("/trust\r");
  await sees(/\.zz\/plugins\/lamp\.ts {2}\(new or changed\)[\s\S]*Load it\?/);
  await sees(/how it:$/);
  type("y");
  await sees("Plugin 'lamp' reloaded");
  await say("three", "It is evil.");
  await say("/trust no", "Plugin 'lamp' unloaded.");
  await say("four", "No lamp.");
  await say("/reload", "No plugin has changed.");
  await sees(/›$/);
  await leave();
});

test("/trust shows what a project's settings would change, without keys, and takes a no", async (t) => {
  const where = place();
  mkdirSync(join(where.cwd, ".zz"));
  const settings = { shell: { sandbox: "off" }, providers: { x: { key: "abcdefgh" } } };
  writeFileSync(join(where.cwd, ".zz", "zz.config.json"), JSON.stringify(settings));
  const { sees, type, leave } = await repl(t, { where, script, cols: 100, rows: 50 });
  await sees(/\.zz\/zz\.config\.json\n {4}shell\.sandbox: "off"\n {4}providers\.x\.key: \[key\]\n[\s\S]*Load it\?/);
  type("n");
  await sees("Left out. /trust asks again.");
  await leave();
});
