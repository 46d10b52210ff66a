// Parameters of tools, in whatever a plugin writes them: what the model is told, what is let
// through, what is said otherwise.
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { describe, test } from "node:test";
import { Type } from "typebox";
import { z } from "zod";
import type { Zz } from "zz";
import { harness } from "zz/test";
import { checkValue, toJsonSchema } from "../../kernel/text/json-schema.ts";

const tool = (params: any, run: (args: any) => unknown = JSON.stringify) =>
  ({ name: "odd", default: (zz: Zz) => zz.tool({ name: "it", description: "d", params, run: (args) => String(run(args)) }) }); // biome-ignore format: one line

describe("JSON Schema is told from the short form", () => {
  const KINDS: [what: string, params: any, type: string | undefined][] = [
    ["a typebox union", Type.Union([Type.Literal("a"), Type.Literal("b")]), undefined],
    ["an array", { type: "array", items: { type: "string" } }, "array"],
    ["a number with a limit", { type: "number", minimum: 3 }, "number"],
    ["a parameter called type", { type: "string" }, "object"],
  ];
  for (const [what, params, type] of KINDS)
    test(what, () => equal(toJsonSchema(params).type, type));

  test("an answer that is no object fits its schema", async () => {
    deepEqual(await checkValue(Type.Array(Type.Number()), [1]), { value: [1] });
    match((await checkValue(Type.Array(Type.Number()), ["a"])).wrong!, /^0 must be a number$/);
  });
});

describe("what is wrong with arguments is told in plain words", () => {
  const strict = {
    type: "object",
    properties: { a: { type: "string" }, b: false },
    additionalProperties: false,
  };
  const ROWS: [what: string, schema: any, given: unknown, wrong: string][] = [
    ["one is missing", { path: "string" }, {}, "it needs 'path'"],
    ["one of a list", { all: "string[]" }, { all: ["a", 3] }, "all.1 must be a string"],
    ["no choice", { is: "boolean" }, { is: 1 }, "is must be true or false"],
    ["an unknown one", strict, { a: "x", c: 1 }, "c is not known"],
    ["a forbidden one", strict, { b: 1 }, "b is not known"],
    ["no object", { path: "string" }, [], "it must be an object"],
  ]; // biome-ignore format: a table
  for (const [what, schema, given, wrong] of ROWS)
    test(what, async () => deepEqual(await checkValue(schema, given), { wrong }));
});

describe("parameters that are not an object are refused at load, with the tool's name", () => {
  for (const [what, params] of [
    ["zod", z.string()],
    ["JSON Schema", { anyOf: [{ type: "string" }, { type: "number" }] }],
    ["a text", "string"],
  ] as const)
    test(what, async () => {
      await rejects(
        harness({ plugins: [tool(params)] }),
        /Cannot load plugin 'odd' \(.*\): tool 'it' has parameters that are not an object\. Write them as \{ name: … \}\./,
      );
    });
});

describe("defaults stand where nothing was said", () => {
  const three = { type: "number", default: 3 };
  const deep = Type.Object({ word: Type.String({ default: "w" }) }, { default: {} });
  const inner = { n: Type.Number({ default: 3 }), deep };
  for (const [what, params, args, gives] of [
    ["typebox", Type.Object(inner), {}, '{"n":3,"deep":{"word":"w"}}'],
    ["typebox, what was said", Type.Object(inner), { n: 0, deep: { word: "" } },
      '{"n":0,"deep":{"word":""}}'],
    ["JSON Schema", { type: "object", properties: { n: three }, required: ["n"] }, {}, '{"n":3}'],
  ] as const) // biome-ignore format: a table
    test(what, async (t) => {
      const zz = await harness({ plugins: [tool(params)] }, t);
      equal((await zz.call("it", args)).text, gives);
    });
});

test("A rule of a schema's own is told in its words, after the name of what breaks it", async () => {
  const even = z.number().refine((n) => n % 2 === 0, "It is odd");
  const { wrong } = await checkValue(z.object({ n: even, word: z.string().min(3) }), {
    n: 3,
    word: "ab",
  });
  match(wrong!, /^n does not fit: It is odd; word does not fit: Too small: .* >=3 characters$/);
});

test("A schema may make bytes of what it is given", async (t) => {
  const params = z.object({ data: z.base64().transform((text) => Buffer.from(text, "base64")) });
  const zz = await harness({ plugins: [tool(params, ({ data }) => data.toString("utf8"))] }, t);
  equal((await zz.call("it", { data: "aGVsbG8=" })).text, "hello");
});

describe("a word that is none of those allowed: they are named", () => {
  const literals = (values: string[]) => values.map((value) => ({ const: value }));
  for (const [what, params] of [
    ["zod, an enum", z.object({ mode: z.enum(["fast", "slow"]) })],
    ["typebox, literals",
      Type.Object({ mode: Type.Union([Type.Literal("fast"), Type.Literal("slow")]) })],
    ["JSON Schema, anyOf",
      { type: "object", properties: { mode: { anyOf: literals(["fast", "slow"]) } } }],
  ] as const) // biome-ignore format: a table
    test(what, async (t) => {
      const zz = await harness({ plugins: [tool(params)] }, t);
      const { text } = await zz.call("it", { mode: "quick" });
      match(text, /^Cannot call 'it': mode:? .*one of "?fast"?(, |\|)"?slow"?\. Send/);
    });
});
