// Calls in text that name their tool as other programs do: in every format each becomes just what
// it becomes as a native call.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { Call, Reply } from "../../../kernel/contract.ts";
import type { Harness } from "../../../sdk/testing.ts";
import { harness } from "../../../test/support/script.ts";
import { decodeArgs } from "../coerce.ts";
import { foreignTools, ownCalls } from "../habits/calls.ts";
import { rescue } from "../rescue.ts";
import "../../../test/support/lean.ts";
import { isAll } from "../../../test/support/runs.ts";
import { FORMATS } from "../../../test/support/text-calls.ts";
import { CALLS, FILES } from "./habits/calls.ts";
import { PROSE } from "./prose.ts";

let opened: Promise<Harness> | undefined;
/** For all tests that only read what a call would be. */
const house = () => (opened ??= harness({ own: true, files: FILES, answer: "yes" }));
after(async () => (await opened)?.close());
type Known = Awaited<ReturnType<typeof known>>;
/** What each text is read with; describing all tools takes a while. */
async function known() {
  const { ctx } = await house();
  const { tools } = ctx.about;
  return { ctx, tools, foreign: foreignTools(tools) };
}

async function read(
  known: Known,
  text: string,
  worded: boolean,
  more: Partial<Reply> = {},
): Promise<Reply> {
  const { ctx, tools, foreign } = known;
  const translate = (call: Call) => ownCalls(call, tools, ctx);
  const reply: Reply = { text, thinking: "", calls: [], finish: "stop", ...more };
  return rescue(reply, { tools, foreign, translate, options: {}, worded });
}
const NEW_ID = /(?<=id\\+": \\+")[\da-f]{8}/g; // of a notebook's cell
const shown = (calls: readonly Call[]) =>
  calls.map(({ name, args, broken }) => (broken ? [name] : [name, args]));

/**
 * Each format writes every sixth call, each another sixth than the format before it;
 * `npm run test:all` has all of them.
 */
const EVERY = isAll ? 1 : 6;

test("A call under a foreign name is found in every format", async (t) => {
  const { root } = await house();
  const it = await known();
  const { ctx, tools } = it;
  for (const [column, format] of FORMATS.entries())
    await t.test(format.name, async () => {
      const wrong: string[] = [];
      for (const [row, [program, name, given, own]] of CALLS.entries()) {
        if ((row + column) % EVERY) continue;
        // what no format can write, and what fits no tool
        if (program === "hostile" || typeof own?.[1] === "string" || name.includes("<|")) continue;
        const args = JSON.parse(JSON.stringify(given).replaceAll("ROOT", root)) as Call["args"];
        const native = await ownCalls({ id: "1", name, args }, tools, ctx);
        const text = format.calls([{ id: `functions.${name}:0`, name, args }], tools);
        const found = (await read(it, `So:\n${text}`, true)).calls;
        if (!isSame(found, native))
          wrong.push(
            `${name} ${JSON.stringify(args).slice(0, 200)} ${JSON.stringify([found, native])}`,
          );
      }
      ok(!wrong.length, `${wrong.length}:\n${wrong.slice(0, 8).join("\n")}`);
    });
});

function isSame(found: readonly Call[], native: readonly Call[]): boolean {
  const plain = (calls: readonly Call[]) =>
    JSON.stringify(shown(calls))
      .replace(NEW_ID, "id")
      // a parameter that zz does not have has no type in XML
      .replace(/"(true|false|-?\d+(?:\.\d+)?)"/g, "$1")
      .replace(/,"ignore":"\[\]"/, "");
  return plain(found) === plain(native);
}

describe("A foreign name in a text", () => {
  test("runs", async () => {
    const edit = {
      command: "str_replace",
      path: "a.ts",
      old_str: "return 1;",
      new_str: "return 2;",
    };
    const say = (name: string, args: object) =>
      `<tool_call>${JSON.stringify({ name, arguments: args })}</tool_call>`;
    const script = [
      say("Read", { file_path: "a.ts" }),
      say("str_replace_based_edit_tool", edit),
      "Done.",
    ];
    await using it = await harness({ own: true, files: FILES, answer: "yes", script });
    equal((await it.ask("go")).text, "Done.");
    equal(it.read("a.ts"), FILES["a.ts"]!.replace("return 1", "return 2"));
  });

  test("that nobody knows stays text among words; alone, the model is told, as of arguments that do not fit", async () => {
    const it = await known();
    const odd = '<tool_call>\n{"name": "Frobnicate", "arguments": {"command": "ls"}}\n</tool_call>';
    const unfit = '<tool_call>\n{"name": "Bash", "arguments": {"colour": "red"}}\n</tool_call>';
    const names = async (text: string) =>
      (await read(it, text, false)).calls.map(({ name }) => name);
    deepEqual(await names(`So it goes:\n${odd}`), []);
    deepEqual(await names(odd), ["Frobnicate"]);
    deepEqual(await names(`Now.\n${unfit}`), ["run_command"]);
  });

  test("that was cut off does not run", async () => {
    const it = await known();
    const text = '<tool_call>\n{"name": "Bash", "arguments": {"command": "rm -r';
    const { calls } = await read(it, text, false, { finish: "length" });
    match(calls[0]!.broken!, /cut off/);
  });

  test("that the person's own tool has goes there", async () => {
    const it = await known();
    const bash = {
      name: "bash",
      description: "",
      schema: { type: "object", properties: { cmd: { type: "string" } } },
    };
    const tools = [...it.tools, { ...bash, owner: "", kind: "unknown" as never }];
    const text = '<tool_call>{"name":"bash","arguments":{"cmd":"x"}}</tool_call>';
    const { calls } = await read({ ...it, tools, foreign: foreignTools(tools) }, text, false);
    deepEqual(shown(calls), [["bash", { cmd: "x" }]]);
  });
});

test("decoded() reads lists, objects and words of a call whose tool is not known yet, and leaves its texts", () => {
  const given = {
    all: "true",
    paths: ' ["a"] ',
    nested: '{"a": 1}',
    text: "1",
    broken: "[a",
    offset: "null",
  };
  deepEqual(decodeArgs(given), {
    all: true,
    paths: ["a"],
    nested: { a: 1 },
    text: "1",
    broken: "[a",
  });
  const texts = { content: '{"a": 1}', command: "[ -e a ]" };
  deepEqual(decodeArgs(texts), texts);
});

describe("Nothing that only looks like it is a call", () => {
  const LIKE = [
    '```python\nopen("a.ts")\n```',
    '[run("a"), exec("b")]',
    '{"run": {"command": "npm test"}}',
    'Use `bash(command="ls")` for that.',
    'Claude Code calls {"name": "Bash", "arguments": {"command": "ls"}} there.',
  ];
  test("whatever the text", async () => {
    const it = await known();
    const names = { get_weather: "Read", run_command: "Bash", write_file: "Write" };
    const foreign = (text: string) =>
      Object.entries(names).reduce(
        (made, [own, name]) => made.replaceAll(new RegExp(`\\b${own}\\b`, "g"), name),
        text,
      );
    for (const text of [...LIKE, ...PROSE.map(foreign)])
      for (const worded of [false, true])
        deepEqual(shown((await read(it, text, worded)).calls), [], text);
  });
});
