// What --schema takes: files, JSON Schema, its short form; and what it refuses.
import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { place } from "../../../test/support/run.ts";
import { isImpossible, readSchema, shortForm } from "../schema.ts";

const text = { type: "string" };
const object = (properties: object, required = Object.keys(properties)) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

describe("The short form", () => {
  const ROWS: [given: string, schema: object][] = [
    [
      "name, n int, tags: list",
      object({ name: text, n: { type: "integer" }, tags: { type: "array", items: text } }),
    ],
    ["ok bool, n number", object({ ok: { type: "boolean" }, n: { type: "number" } })],
    [
      "age int (in years, whole)",
      object({ age: { type: "integer", description: "in years, whole" } }),
    ],
    [
      "n int?, d? (if any)",
      object({ n: { type: "integer" }, d: { ...text, description: "if any" } }, []),
    ],
  ];
  for (const [given, schema] of ROWS)
    test(`reads ${JSON.stringify(given)}`, () => deepEqual(shortForm(given), schema));

  const WRONG: [given: string, message: RegExp][] = [
    [
      "age flaot",
      /^Cannot use --schema: 'age' .* there is no type 'flaot'\. Did you mean 'float'\?$/,
    ],
    ["a, b int, a", /'a' stands there twice/],
    ["2nd int", /'2nd int' is not a field. Write a name, a type/],
  ];
  for (const [given, message] of WRONG)
    test(`refuses ${JSON.stringify(given)}`, () =>
      throws(() => shortForm(given), { message, exit: 2 }));
});

describe("--schema", () => {
  const { cwd } = place();
  const files: Record<string, string> = {
    "a.json": '{"type": "object", "properties": {"n": {"type": "number"}}}',
    "bom.json": '\ufeff{"type": "array"}',
    "list.json": "[1, 2]",
    "package.json": '{"name": "zz", "version": "1"}',
    "prose.json": "name, age",
    "any.json": "{}",
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
  mkdirSync(join(cwd, "vendor"));
  mkdirSync(join(cwd, "folder.json"));

  test("takes a file, relative to the current folder, or absolute", async () => {
    deepEqual(await readSchema("a.json", cwd), JSON.parse(files["a.json"]!));
    deepEqual(await readSchema(join(cwd, "a.json"), "/"), JSON.parse(files["a.json"]!));
    deepEqual(await readSchema("./bom.json", cwd), { type: "array" });
    deepEqual(await readSchema("any.json", cwd), {});
  });
  test("takes JSON, and names, of which one may be a folder's", async () => {
    deepEqual(await readSchema(' {"type": "number"} ', cwd), { type: "number" });
    deepEqual(await readSchema("vendor", cwd), object({ vendor: text }));
  });

  const WRONG: [given: string, message: RegExp][] = [["", /^Flag --schema has an empty value\./],
    ["gone.json", /^Cannot use --schema 'gone\.json': no such file\. Check the path\.$/],
    ["folder.json", /^Cannot use --schema 'folder\.json': .*folder/i],
    ["list.json", /it is not a JSON Schema: it must be an object or true or false\.$/],
    ["package.json", /it is not a JSON Schema: none of its words is one of JSON Schema's/],
    ["prose.json", /it is not JSON \(/],
    ['{"type": "strng"}', /: it\.type must be one of string, .*; nearest to "strng" is "string"/],
    [
      '{"properties": {"a": {"type": "int"}}}', /it\.properties\.a\.type must be one of .*; nearest to "int" is "integer"/],
    ['{"required": "a"}', /it\.required must be a list\./],
    ['{"anyOf": []}', /it\.anyOf must not have fewer than 1 items\./],
    ['{"items": 3}', /it\.items must be an object or true or false\./],
    ['{"minimum": "1"}', /it\.minimum must be a number\./],
    ['{"pattern": "("}', /it\.pattern must match format "regex"\./],
    ['{"$ref": "#/$defs/a"}', /it refers to '#\/\$defs\/a', which is not in it/],
    ['{"type": "string", "enum": [1, 2]}', /no answer can fit this schema/],
  ]; // biome-ignore format: a table
  for (const [given, message] of WRONG)
    test(`refuses ${JSON.stringify(given)}`, () =>
      rejects(readSchema(given, cwd), { message, exit: 2 }));
});

describe("Whether nothing fits a schema", () => {
  const ROWS: [schema: unknown, impossible: boolean][] = [
    [true, false],
    [false, true],
    [{ type: "integer", const: 1.5 }, true],
    [{ type: ["string", "null"], enum: [null] }, false],
    [{ type: "number", minimum: 3, maximum: 2 }, true],
    [{ minimum: 3, maximum: 2 }, false], // a text fits
    [{ type: "array", minItems: 1, items: false }, true],
    [{ type: "object", required: ["a"], properties: { a: { enum: [] } } }, true],
    [{ type: "object", required: ["a"], additionalProperties: false }, true],
    [
      {
        type: "object",
        required: ["a"],
        additionalProperties: false,
        patternProperties: { a: {} },
      },
      false,
    ],
    [{ anyOf: [{ enum: [] }, false] }, true],
    [{ allOf: [{ type: "string" }, { type: "number" }] }, true],
    [{ type: "object", required: ["a"], properties: { a: { $ref: "#" } } }, true], // without end
    [
      {
        type: "object",
        required: ["a"],
        properties: { a: { anyOf: [{ $ref: "#" }, { type: "null" }] } },
      },
      false,
    ],
  ];
  for (const [schema, impossible] of ROWS)
    test(`${JSON.stringify(schema)}: ${impossible ? "nothing" : "something"}`, () =>
      equal(isImpossible(schema, schema), impossible));
});
