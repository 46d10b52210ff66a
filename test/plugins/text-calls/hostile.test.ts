// A quarter of a megabyte of what opens and never closes comes to an end, and is no call. test/all tries many more.
import { deepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { isAll, some } from "../../support/runs.ts";
import { readReply, shown } from "./tools.ts";

const SIZE = (isAll ? 1024 : 256) * 1024;
const again = (unit: string): string => unit.repeat(SIZE / unit.length);

for (const unit of some(
  [
    "{",
    "[",
    '{"a":',
    "<tool_call>",
    "<tool_call>{",
    "[TOOL_CALLS][",
    "<think>",
    "`",
    "<|channel|>",
    "[THINK]",
    "(",
    "<a ",
  ],
  3,
))
  test(`Much of ${unit}`, async () => {
    deepEqual(shown(await readReply({ text: again(unit) })), []);
    deepEqual(shown(await readReply({ thinking: again(unit) }, { worded: true })), []);
  });

for (const [what, unit] of [
  ["begun in JSON", '<tool_call>{"name":"log","arguments":{"text":"'],
  ["begun in tags", "<function=log><parameter=text>"],
  ["whole", '<tool_call>{"name":"kiln","arguments":{}}</tool_call>'],
])
  test(`Very many calls, ${what}: at most 129 are read, and the last says why`, async () => {
    const { calls } = await readReply({ text: again(unit!) });
    ok(calls.length <= 129);
    ok(calls.length < 129 || /more than 128 calls/.test(calls[128]!.broken ?? ""));
  });

test("objects in objects, deeper than is read, are no call", async () => {
  const deep = `${'{"a":'.repeat(200)}1${"}".repeat(200)}`;
  const text = `<tool_call>{"name":"note","arguments":{"title":"t","body":${deep}}}</tool_call>`;
  deepEqual(shown(await readReply({ text })), []);
});

test("__proto__ is a name like any other", async () => {
  const [call] = (
    await readReply({
      text: `<tool_call>{'name':'note','arguments':{'title':'t','body':{'__proto__':{'a':1}}}}</tool_call>`,
    })
  ).calls;
  deepEqual(JSON.stringify(call?.args), '{"title":"t","body":{"__proto__":{"a":1}}}');
});
