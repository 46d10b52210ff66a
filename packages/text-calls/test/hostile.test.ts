// More calls than anybody means, deeper ones and odder names. linear-time.ts has what opens and
// never closes.
import { deepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { readReply, shown } from "./tools.ts";

const SIZE = 256 * 1024;
const again = (unit: string): string => unit.repeat(SIZE / unit.length);

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
  const text = `<tool_call>{'name':'note','arguments':{'title':'t','body':{'__proto__':{'a':1}}}}</tool_call>`;
  deepEqual(shown(await readReply({ text })), ['note {"title":"t","body":{"__proto__":{"a":1}}}']);
});
