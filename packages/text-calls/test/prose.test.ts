// Prose that talks about calls never runs one: neither where tools were offered natively, nor where
// zz asked for calls in words.
import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { PROSE } from "./prose.ts";
import { readReply, shown } from "./tools.ts";

const tool = (name: string, key: string) => ({
  name,
  description: name,
  schema: { type: "object", properties: { [key]: { type: "string" } }, required: [key] },
});
const tools: any = [
  tool("get_weather", "city"),
  tool("run_command", "command"),
  tool("write_file", "path"),
];

for (const worded of [false, true])
  test(worded ? "asked for in words" : "offered natively", async () => {
    for (const text of PROSE)
      deepEqual(shown(await readReply({ text }, { worded, tools })), [], text);
  });
