// Prose that talks about calls never runs one: neither where tools were offered natively, nor where zz asked for calls in words.
import { deepEqual, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { PROSE } from "./prose.ts";
import { readReply, shown } from "./tools.ts";

const tool = (name: string, key: string) => ({
  name,
  description: name,
  schema: { type: "object", properties: { [key]: { type: "string" } }, required: [key] },
});
const tools: any = [tool("get_weather", "city"), tool("run_command", "command"), tool("write_file", "path")];

test("the table has at least 150 texts, all different", () => {
  ok(PROSE.length >= 150 && new Set(PROSE).size === PROSE.length, `${PROSE.length}`);
});

for (const worded of [false, true])
  describe(worded ? "asked for in words" : "offered natively", () => {
    for (const text of PROSE)
      test(JSON.stringify(text.slice(0, 90)), async () => {
        deepEqual(shown(await readReply({ text }, { worded, tools })), []);
      });
  });
