// The two verbs by which plugins reach in: on() sees, wrap() changes. Each has what is around it,
// and a limit.
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { describe, test } from "node:test";
import type { Zz } from "zz";
import { harness, type Inline } from "zz/test";
import { runFlag } from "../../kernel/program/single-run.ts";

const tool = (zz: Zz) => zz.tool({ name: "it", description: "d", run: () => "ran" });

describe("what is registered wrongly is refused when its plugin is loaded, in words", {
  concurrency: 4,
}, () => {
  const fields = { name: "a", description: "d", run: () => "" };
  const param = (a: unknown) => ({ ...fields, params: { type: "object", properties: { a } } });
  const types = "must be one of string, number, integer, boolean, object, array, null";
  const bad = (what: string, must: string) => new RegExp(`: in ${what}, "${must}\\.$`);
  const ROWS: [what: string, plugin: (zz: any) => void, why: RegExp][] = [
    ["a tool's description", (zz) => zz.tool({ ...fields, description: 5 }), bad("tool 'a'", 'description" must be a string')],
    ["a tool's run()", (zz) => zz.tool({ ...fields, run: "no" }), bad("tool 'a'", 'run" must be a function')],
    ["nothing", (zz) => zz.tool(), /: a tool needs 'name'\. Add it\.$/],
    ["a layer's text", (zz) => zz.layer({ name: "a", slot: "rules", text: 5 }), bad("layer 'a'", 'text" must be a string or a function')],
    ["a flag's value", (zz) => zz.flag({ name: "a", description: "d", value: true }), bad("flag 'a'", 'value" must be a string')],
    ["what a key does", (zz) => zz.key({ name: "f1", description: "d", press: 1 }), bad("key 'f1'", 'press" must be a function')],
    ["a misspelt field of a dialog", (zz) => zz.dialog({ name: "a", talc() {} }), /there is no dialog field 'talc'\. Did you mean 'talk'\?/],
    ["an observer", (zz) => zz.on("called", "x"), /: on\(\) takes a function after the name\. Write one instead of 'x'\.$/],
    ["a type in params", (zz) => zz.tool(param({ type: "strnig" })), new RegExp(`: params\\.properties\\.a\\.type ${types}; nearest to "strnig" is "string"`)],
    ["a type far within", (zz) => zz.tool(param({ type: "array", items: { type: "int" } })), /: params\.properties\.a\.items\.type must be/],
    ["the short form within the long one", (zz) => zz.tool(param("string")), /: params\.properties\.a must be an object or true or false/],
    ["what is required, by property", (zz) => zz.tool(param({ type: "string", required: true })), /: params\.properties\.a\.required must be a list/],
  ]; // biome-ignore format: a table
  for (const [what, plugin, why] of ROWS)
    test(what, () => rejects(harness({ plugins: [plugin] }), why));

  const SETTINGS: [what: string, exports: Omit<Inline, "default">, why: RegExp][] = [
    ["a schema", { settings: { schema: { type: "objekt" } } }, /: settings\.schema\.type must be one of .*; nearest to "objekt" is "object";/],
    ["a misspelt field", { settings: { shema: {} } }, /: there is no settings field 'shema'\. Did you mean 'schema'\?/],
    ["defaults", { defaults: "C" as never }, bad("export '.*'", 'defaults" must be an object')],
  ]; // biome-ignore format: a table
  for (const [what, exports, why] of SETTINGS)
    test(`${what} of settings`, () =>
      rejects(harness({ plugins: [{ ...exports, default: () => {} }] }), why));

  const FITTING: [what: string, plugin: (zz: any) => void][] = [
    ["an instance of a class", (zz) => zz.tool(new (class { name = "a"; description = "d"; run() {} })())],
    ["fields that are left open", (zz) => zz.tool({ ...fields, needs: undefined, timeout: null })],
    ["a parameter that is called type", (zz) => zz.tool({ ...fields, params: { type: "string what it is" } })],
  ]; // biome-ignore format: a table
  for (const [what, plugin] of FITTING)
    test(`but not ${what}`, (t) => harness({ plugins: [plugin] }, t).then(() => {}));
});

describe("zz.service()", () => {
  const offers = (word: string) => (zz: any) => zz.service("word", { say: () => word });
  const said = (zz: { ctx: any }) => zz.ctx.service("word")?.say();

  test("lends an object to all plugins until its plugin is gone, and no model can call it", async () => {
    const zz = await harness({ plugins: [offers("hi")] });
    equal(said(zz), "hi");
    match((await zz.call("word", {})).text, /^Cannot call 'word': there is no tool 'word'/);
    await zz.close();
    equal(said(zz), undefined);
  });

  test("has one offer for a name", () =>
    rejects(
      harness({ plugins: [offers("a"), offers("b")] }),
      /: service 'word' is already there, from '.*'/,
    ));

  test("takes an object", () =>
    rejects(
      harness({ plugins: [(zz: any) => zz.service("word", "hi")] }),
      /in service 'word', "offer" must be an object/,
    ));
});

describe("zz.on()", () => {
  test("hears what happens, with the conversation that it happens in", async (t) => {
    const heard: string[] = [];
    const plugin = (zz: Zz) => {
      tool(zz);
      let isAgain = false; // its own call is heard of, too
      zz.on("called", async (_, { call: again, chat, root, note }) => {
        if (isAgain) return;
        isAgain = true;
        const { text } = await again("it", {});
        heard.push(text, chat.model, String(root.length > 1));
        note("heard");
      });
    };
    const zz = await harness({ plugins: [plugin], script: [{ call: ["it"] }, "done"] }, t);
    const { notes } = await zz.ask("hi");
    deepEqual(heard, ["ran", "script/model", "true"]);
    deepEqual(notes, ["heard"]);
  });
});

describe("the options of on() and wrap()", () => {
  test("the order counts", async (t) => {
    const mark = (word: string) => async (text: string, next: (text: string) => Promise<string>) =>
      `${word}(${await next(text)})`;
    const plugin = (zz: any) => {
      zz.wrap("render", mark("late"), "last");
      zz.wrap("render", mark("early"), { order: "first" });
    };
    const zz = await harness({ plugins: [plugin] }, t);
    equal((await zz.ask("hi")).rendered, "early(late(ok))");
  });

  const REFUSED: [what: string, plugin: (zz: any) => void, why: RegExp][] = [
    ["a misspelt option", (zz) => zz.on("answered", () => {}, { limits: 3 }), /there is no option of on\(\) 'limits'\. Did you mean 'limit'\?/],
    ["a number alone", (zz) => zz.on("answered", () => {}, 40), /on\(\) takes options as its last argument, not '40': \{ limit: 30_000 \}\./],
    ["a limit that is none", (zz) => zz.wrap("line", () => "", { limit: "5 s" }), /the limit of wrap\(\) is '5 s'\. Give it in milliseconds: \{ limit: 30_000 \}\./],
  ]; // biome-ignore format: a table
  for (const [what, plugin, why] of REFUSED)
    test(`${what} is refused`, async () => {
      await rejects(harness({ plugins: [plugin] }), why);
    });
});

describe("a tool that overrides another", () => {
  const says = (word: string, more = {}) => ({
    name: word,
    default: (zz: Zz) =>
      zz.tool({
        name: "read_file",
        description: word,
        params: { n: "number?" },
        run: () => word,
        ...more,
      }),
  });

  test("stands instead of it, and /plugins says so", async (t) => {
    const zz = await harness(
      { plugins: [says("first"), says("mine", { override: true, params: {} })] },
      t,
    );
    equal((await zz.call("read_file")).text, "mine");
    zz.core.plugins.find(({ name }) => name === "mine")!.ms = 1.26;
    const mine = zz.ctx.about.plugins.find(({ name }) => name === "mine")!;
    equal(mine.ms, 1.3);
    deepEqual(mine.adds, [{ kind: "tool", name: "read_file (instead of the one of that name)" }]);
    await zz.ask("hi");
    const told = zz.requests[0]!.tools.map(({ description, schema }) => [
      description,
      schema.properties,
    ]);
    deepEqual(told, [["mine", {}]]);
  });

  test("gives it back when its plugin goes", async (t) => {
    const zz = await harness({ plugins: [says("first"), says("mine", { override: true })] }, t);
    zz.core.options.settings.disabled = ["mine"];
    await zz.reload();
    equal((await zz.call("read_file")).text, "first");
    equal(zz.ctx.about.tools[0]!.owner, "first");
  });

  test("without the word it is refused, and the word is told", async () => {
    const why =
      /tool 'read_file' is already there, from 'first' \(.*\)\. Rename one of them, or say override: true\./;
    await rejects(harness({ plugins: [says("first"), says("mine")] }), why);
  });
});

test("A tool's render() sees the arguments", async (t) => {
  const plugin = (zz: Zz) =>
    zz.tool({
      name: "it",
      description: "d",
      params: { word: "string" },
      run: () => "ran",
      render: ({ text }, width, { word }) => `${text} ${word} ${typeof width}`,
    });
  const zz = await harness({ plugins: [plugin] }, t);
  await zz.call("it", { word: "now" });
  const called = zz.events.find(({ type }) => type === "called");
  equal(called?.type === "called" && called.shown, "ran now number");
});

test("Of a model that its provider does not know, nothing is known", async (t) => {
  const plugin = (zz: Zz) =>
    void zz.provider({ name: "bare", models: async () => [], async *chat() {} });
  const zz = await harness({ plugins: [plugin] }, t);
  equal(await zz.ctx.about.model("bare/m"), undefined);
});

test("A flag that is all that zz does in a run is stopped in its own way", async (t) => {
  const flag = { name: "wait", description: "d", run: () => ({ text: "" }), stop() {} };
  const zz = await harness({ plugins: [(zz: Zz) => void zz.flag(flag)] }, t);
  const early = { why: "", leave() {} };
  const values = new Map([["wait", [true as const]]]);
  await runFlag(zz.core, { values, words: [], unknown: [] } as never, flag, early);
  equal(early.leave, flag.stop);
});
