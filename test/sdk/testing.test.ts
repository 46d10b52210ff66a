// The test kit as a plugin's author uses it: `zz/test`, from the built package.
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Zz } from "zz";
import { harness, type Setup, type Step } from "zz/test";
import { temporaryFolder } from "../support/files.ts";
import { put } from "../support/repository.ts";
import { ROOT } from "../support/run.ts";

const tapes = temporaryFolder("kit-");

/** A folder of the test's own for what is temporary: what is left in it can be counted. */
function temporary(t: TestContext): () => string[] {
  const before = process.env.TMPDIR;
  const folder = mkdtempSync(join(tmpdir(), "kit-"));
  process.env.TMPDIR = folder;
  t.after(() => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    rmSync(folder, { recursive: true, force: true });
  });
  return () => readdirSync(folder);
}

/** Plugins that do one thing each. */
const echo = (zz: Zz) =>
  zz.tool({
    name: "echo",
    description: "Says it again.",
    params: { words: "string what to say", times: "integer?" },
    run: ({ words, times = 1 }) => ({ text: Array(times).fill(words).join(" "), data: times }),
  });
const writer = (zz: Zz) =>
  zz.tool({
    name: "puts",
    description: "Writes a file.",
    params: { path: "string", text: "string" },
    changes: true,
    run: async ({ path, text }, { files }) => {
      await files.write(path, text);
      return "Done.";
    },
  });
const counter = (zz: Zz) => {
  const kept = zz.state({ count: 0 });
  zz.tool({ name: "counts", description: "Counts.", run: () => String(++kept.count) });
  zz.command({
    name: "count",
    description: "count",
    run: (rest, { note }) => note(`${rest} ${++kept.count}`),
  });
  zz.layer({ name: "count", slot: "turn", text: () => `The count is ${kept.count}.` });
};

const open = (t: TestContext, setup: Setup) => harness(setup, t);
const having = (
  t: TestContext,
  plugin: (zz: Zz<any>) => void,
  script: Step[] = [],
  more: Setup = {},
) => open(t, { plugins: [plugin], script, ...more });
const puts: Step = { call: ["puts", { path: "a.txt", text: "new\n" }] };

describe("script", () => {
  // biome-ignore format: one case a row.
  const rows: [what: string, script: Step[], text: string, calls?: [string, string][], more?: object][] = [
    ["a text is the answer", ["Hello."], "Hello."],
    ["a call alone: what came of it is the answer", [{ call: ["echo", { words: "a" }] }], "a", [["echo", "a"]]],
    ["several calls in one round, in their order", [{ calls: [["echo", { words: "a" }], ["echo", { words: "b", times: 2 }]], text: "So." }, "done"], "done", [["echo", "a"], ["echo", "b b"]]],
    ["a call without arguments is told what it lacks", [{ call: ["echo"] }, "done"], "done", [["echo", "Cannot call 'echo': it needs 'words'. Send the call again with valid arguments."]]],
    ["arguments that are no JSON", [{ call: ["echo", "{words"] }, "done"], "done", [["echo", "The arguments are not usable: Ex"]]],
    ["a function that gives a call", [() => ({ call: ["echo", { words: "f" }] }), "done"], "done", [["echo", "f"]]],
    ["a failure that may pass is tried again, at once", [{ fail: "Busy.", status: 503 }, "Hello."], "Hello."],
    ["thinking and tokens are counted", [{ text: "Hello.", thinking: "Hm.", usage: { input: 7, output: 2 } }], "Hello.", [], { thinking: "Hm.", usage: { input: 7, output: 2 } }],
  ]; // biome-ignore format: a table
  for (const [what, script, text, calls = [], more = {}] of rows)
    test(what, async (t) => {
      const zz = await having(t, echo, script);
      const said = await zz.ask("hi");
      equal(said.text, text);
      const called = said.calls.map(({ name }, i) => [
        name,
        said.results[i]!.text.slice(0, calls[i]![1].length),
      ]);
      deepEqual(called, calls);
      for (const [key, value] of Object.entries(more)) deepEqual((said as any)[key], value, key);
    });

  test("a call that stays is made once in each turn", async (t) => {
    const zz = await having(t, counter, [{ call: ["counts"] }]);
    deepEqual([(await zz.ask("a")).text, (await zz.ask("b")).text], ["1", "2"]);
  });
});

describe("answer", () => {
  const rows: [
    answer: Setup["answer"],
    does: string,
    refused: RegExp | undefined,
    questions: number,
  ][] = [
    ["no", "no", /^Refused: the person said no to write access to "a.txt"\.$/, 2],
    ["nobody", "nobody",
      /^Refused: requires write access to "a.txt"; run again with --allow-write=a.txt\.$/, 0],
    [async (_, keys) => (keys ? "n" : "Not today."), "a reason", /a.txt": Not today\.$/, 2],
  ]; // biome-ignore format: a table
  for (const [answer, does, refused, questions] of rows)
    test(`${does}: a change is ${refused ? "refused" : "made"}`, async (t) => {
      const zz = await having(t, writer, [puts, "done"], {
        files: { "a.txt": "old\n" },
        answer: answer!,
      });
      const { results } = await zz.ask("write");
      if (refused) match(results[0]!.text, refused);
      equal(results[0]!.refused, refused && true);
      equal(zz.read("a.txt"), refused ? "old\n" : "new\n");
      equal(zz.questions.length, questions);
      if (questions) match(zz.questions[0]!, /puts wants to change a\.txt/);
    });
});

describe("a project and a home of its own", () => {
  test("closed, nothing is left: no folder, timer, listener or lent function, and what was deferred is done", async (t) => {
    const left = temporary(t);
    const listeners = () => process.eventNames().map((name) => [name, process.listenerCount(name)]);
    const [heard, timers] = [listeners(), process.getActiveResourcesInfo().length];
    let done = 0;
    for (let i = 0; i < 20; i++) {
      const zz = await harness({ plugins: [counter, (zz: Zz) => zz.defer(() => void done++)] });
      await zz.ask("hi");
      await zz.close();
      await zz.close();
    }
    equal(done, 20);
    deepEqual(left(), []);
    deepEqual(listeners(), heard);
    ok(process.getActiveResourcesInfo().length <= timers, String(process.getActiveResourcesInfo()));
    equal((globalThis as any)[Symbol.for("zz.inline")].size, 0);
  });

  test("`await using` closes it", async () => {
    let root = "";
    {
      await using zz = await harness();
      ({ root } = zz);
      ok(existsSync(root));
    }
    ok(!existsSync(root));
  });

  test("a cleanup that throws is told by close(), and the folders are gone all the same", async () => {
    const careless = (zz: Zz) =>
      zz.defer(() => {
        throw new Error("still open");
      });
    const zz = await harness({ plugins: [careless] });
    await rejects(zz.close(), {
      message: "Plugin 'careless' failed while it was taken away: still open",
    });
    ok(!existsSync(zz.root));
  });
});

describe("what there is to see", () => {
  test("requests: those to a provider under test, too", async (t) => {
    const plugin = (zz: Zz) =>
      zz.provider({
        name: "own",
        models: async () => [{ id: "m" }],
        async *chat() {
          yield* [{ text: "Hello." }, { finish: "stop" }];
        },
      });
    const zz = await harness({ plugins: [plugin], model: "own/m" }, t);
    await zz.ask("hi");
    await zz.restart();
    await zz.ask("again");
    const sent = zz.requests.map(({ model, messages }) => `${model} ${messages.at(-1)!.text}`);
    deepEqual(sent, ["m hi", "m again"]);
  });

  test("command: with and without its slash, its notes; one that is not there is named", async (t) => {
    const zz = await having(t, counter);
    deepEqual(await zz.command("/count so far:"), ["so far: 1"]);
    deepEqual(await zz.command("count now:"), ["now: 2"]);
    await rejects(
      zz.command("/cuont"),
      /Cannot run '.cuont': there is no command '.cuont'\. Did you mean '.count'\?/,
    );
  });
});

describe("files of plugins", () => {
  const source = (answer: string) =>
    `import type { Zz } from "zz";\nimport { z } from "zod";\nimport { word } from "./words.ts";\nexport default (zz: Zz) => {\n  const kept = zz.state({ count: 0 });\n  zz.tool({ name: "lamp", description: "d", params: z.object({}), run: () => word + ${JSON.stringify(answer)} + ++kept.count });\n};\n`;
  /** A folder outside of any project, as a person's own. */
  function folder(_t: TestContext, files: Record<string, string>): (name: string) => string {
    const base = temporaryFolder("kit-");
    put(base, files);
    return (name) => join(base, name);
  }

  test("one that does not load makes harness() throw its sentence, and nothing is left", async (t) => {
    const at = folder(t, { "lamp.ts": "export default (zz => {" });
    const left = temporary(t);
    await rejects(
      harness({ plugins: [at("lamp.ts")] }),
      /Cannot load plugin 'lamp' \(.*lamp\.ts.*\): /,
    );
    deepEqual(left(), []);
  });

  test("by path, by URL and by its text; zod is lent; its own imports come along", async (t) => {
    const at = folder(t, {
      "with space/ünï.ts": source("on"),
      "with space/words.ts": 'export const word = "is ";',
    });
    const file = at("with space/ünï.ts");
    const url = new URL(`file://${encodeURI(file)}`);
    for (const plugin of [file, url, url.href]) {
      const zz = await open(t, { plugins: [plugin] });
      equal((await zz.call("lamp")).text, "is on1");
      equal(zz.plugin.file, file);
    }
  });
});

describe("a cassette", () => {
  const MODEL = "openai/gpt-4o-mini";
  const DONE = "data: [DONE]\n\n";
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const asked = (...messages: object[]) => ({
    method: "POST",
    url: "https://api.openai.com/v1/chat/completions",
    body: {
      model: "gpt-4o-mini",
      messages: [{ role: "system", content: "whatever" }, ...messages],
    },
  });
  const user = { role: "user", content: "Say it" };
  const call = {
    index: 0,
    id: "call_1",
    function: { name: "echo", arguments: '{"words":"twice","times":2}' },
  };
  const lines = [
    { zz: "cassette", version: 1 },
    {
      asked: asked(user),
      status: 200,
      pieces: [chunk({ tool_calls: [call] }), chunk({}, "tool_calls"), DONE],
    },
    {
      asked: asked(
        user,
        { role: "assistant", content: null },
        { role: "tool", content: "of then" },
      ),
      status: 200,
      pieces: [chunk({ content: "Said." }, "stop"), DONE],
    },
    {
      asked: { method: "GET", url: "https://example.com/weather" },
      status: 200,
      pieces: ["Rain."],
    },
  ];
  const file = join(tapes, "a.tape");
  const kept = () => writeFileSync(file, lines.map((one) => `${JSON.stringify(one)}\n`).join(""));

  test("is replayed: the model's words, and the calls of the plugin really run", async (t) => {
    kept();
    const zz = await harness({ plugins: [echo], cassette: file, model: MODEL }, t);
    const { text, results } = await zz.ask("Say it");
    deepEqual([text, results.map((one) => one.text)], ["Said.", ["twice twice"]]);
    await rejects(
      zz.ask("Say something else"),
      /^Error: Cannot replay '.*a\.tape': nothing like this was recorded/,
    );
  });

  test("that is none is refused, and so is one without the plugin that plays it", async () => {
    await rejects(
      harness({ cassette: join(ROOT, "package.json") }),
      /Cannot replay '.*\.json': it is not a cassette/,
    );
    await rejects(
      harness({ cassette: file, own: false }),
      /replay '.*a\.tape': the plugin that does it is not there/,
    );
  });
});
