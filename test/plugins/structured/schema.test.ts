// What --schema takes: files, JSON Schema, its short form; and what it refuses.
import { deepEqual, equal, throws } from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { isImpossible, readSchema, shortForm } from "../../../plugins/structured/schema.ts";
import { place } from "../../support/run.ts";

const text = { type: "string" };
const object = (properties: object, required = Object.keys(properties)) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

describe("The short form", () => {
  const ROWS: [given: string, schema: object][] = [
    ["name", object({ name: text })],
    [
      "name, age int, tags: list",
      object({ name: text, age: { type: "integer" }, tags: { type: "array", items: text } }),
    ],
    ["vendor, total float, due", object({ vendor: text, total: { type: "number" }, due: text })],
    ["a str, b string, c text", object({ a: text, b: text, c: text })],
    [
      "ok bool, no boolean, n number, i integer",
      object({ ok: { type: "boolean" }, no: { type: "boolean" }, n: { type: "number" }, i: { type: "integer" } }),
    ],
    [
      "ns list of int, fs: list of float",
      object({ ns: { type: "array", items: { type: "integer" } }, fs: { type: "array", items: { type: "number" } } }),
    ],
    ["name: who it is from", object({ name: { ...text, description: "who it is from" } })],
    ["age int: in years", object({ age: { type: "integer", description: "in years" } })],
    [
      "age int (in years, whole), name",
      object({ age: { type: "integer", description: "in years, whole" }, name: text }),
    ],
    ["due (as 2026-01-31)", object({ due: { ...text, description: "as 2026-01-31" } })],
    [
      "note?, n int?, m: int?, d? (if any)",
      object({ note: text, n: { type: "integer" }, m: { type: "integer" }, d: { ...text, description: "if any" } }, []),
    ],
    [
      "name: first, then last\nage int,\n\n",
      object({ name: { ...text, description: "first, then last" }, age: { type: "integer" } }),
    ],
    ["größe float, last-name", object({ größe: { type: "number" }, "last-name": text })],
    ["n: integers", object({ n: { ...text, description: "integers" } })],
  ];
  for (const [given, schema] of ROWS) test(`reads ${JSON.stringify(given)}`, () => deepEqual(shortForm(given), schema));

  const WRONG: [given: string, message: RegExp][] = [
    [
      "age flaot",
      /^Cannot use --schema: 'age' cannot be read, since there is no type 'flaot'\. Did you mean 'float'\?$/,
    ],
    ["due date", /no type 'date'. (Did you mean|There are: str, )/],
    ["ns list of dates", /no type 'dates'/],
    ["a, b int, a", /'a' stands there twice/],
    ["2nd int", /'2nd int' is not a field. Write a name, a type/],
    ["a int float", /'a int float' is not a field/],
  ];
  for (const [given, message] of WRONG)
    test(`refuses ${JSON.stringify(given)}`, () => throws(() => shortForm(given), { message, exit: 2 }));
});

describe("--schema", () => {
  const { cwd } = place();
  const files: Record<string, string> = {
    "a.json": '{"type": "object", "properties": {"n": {"type": "number"}}}',
    "bom.json": '\ufeff{"type": "array"}',
    "list.json": "[1, 2]",
    "package.json": '{"name": "zz", "version": "1"}',
    "prose.json": "name, age",
    "empty.json": "",
    "any.json": "{}",
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
  mkdirSync(join(cwd, "vendor"));
  mkdirSync(join(cwd, "folder.json"));

  test("takes a file, relative to the current folder, or absolute", () => {
    deepEqual(readSchema("a.json", cwd), JSON.parse(files["a.json"]!));
    deepEqual(readSchema(join(cwd, "a.json"), "/"), JSON.parse(files["a.json"]!));
    deepEqual(readSchema("./bom.json", cwd), { type: "array" });
    deepEqual(readSchema("any.json", cwd), {});
  });
  test("takes JSON, and names, of which one may be a folder's", () => {
    deepEqual(readSchema(' {"type": "number"} ', cwd), { type: "number" });
    deepEqual(readSchema("vendor", cwd), object({ vendor: text }));
  });

  const WRONG: [given: string, message: RegExp][] = [
    ["", /^Flag --schema has an empty value\./],
    ["gone.json", /^Cannot use --schema 'gone\.json': there is no such file\. Check the path\.$/],
    ["./gone", /no such file/],
    ["folder.json", /^Cannot use --schema 'folder\.json': .*folder/i],
    ["list.json", /it is not a JSON Schema: it is a list, and must be an object\.$/],
    ["package.json", /it is not a JSON Schema: none of its words is one of JSON Schema's/],
    ["prose.json", /it is not JSON \(/],
    ["empty.json", /it is not JSON \(/],
    ["{type: 'object'}", /^Cannot use --schema: it is not JSON \(/],
    ['{"type": "strng"}', /it has the type 'strng': there is no type 'strng'\. Did you mean 'string'\?/],
    ['{"properties": {"a": {"type": "int"}}}', /'properties\/a' has the type 'int'/],
    ['{"properties": []}', /'properties' is a list, and must be an object of schemas/],
    ['{"required": "a"}', /'required' is a string, and must be a list of names/],
    ['{"anyOf": []}', /'anyOf' is a list, and must be a list of schemas/],
    ['{"items": 3}', /'items' is a number, and must be an object|'items' is a number/],
    ['{"minimum": "1"}', /'minimum' is a string, and must be a number/],
    ['{"pattern": "("}', /the pattern '\(' is not a regular expression/],
    ['{"patternProperties": {"[": {}}}', /the pattern '\[' is not/],
    ['{"pattern": "\\\\-"}', /the pattern '\\-' is not a regular expression \(of Unicode/],
    ['{"$ref": "#/$defs/a"}', /it refers to '#\/\$defs\/a', which is not in it/],
    ['{"$ref": "https://example.com/a"}', /which is not in it/],
    ['{"type": "string", "enum": [1, 2]}', /no answer can fit this schema/],
  ];
  for (const [given, message] of WRONG)
    test(`refuses ${JSON.stringify(given)}`, () => throws(() => readSchema(given, cwd), { message, exit: 2 }));
});

describe("Whether nothing fits a schema", () => {
  const ROWS: [schema: unknown, impossible: boolean][] = [
    [{}, false],
    [true, false],
    [false, true],
    [{ enum: [] }, true],
    [{ type: "integer", const: 1.5 }, true],
    [{ type: "number", const: 1 }, false],
    [{ type: ["string", "null"], enum: [null] }, false],
    [{ type: "number", minimum: 3, maximum: 2 }, true],
    [{ minimum: 3, maximum: 2 }, false], // a text fits
    [{ type: "string", minLength: 2, maxLength: 1 }, true],
    [{ type: "array", minItems: 1, items: false }, true],
    [{ type: "array", items: false }, false],
    [{ type: "object", required: ["a"], properties: { a: { enum: [] } } }, true],
    [{ type: "object", properties: { a: { enum: [] } } }, false],
    [{ type: "object", required: ["a"], additionalProperties: false }, true],
    [{ type: "object", required: ["a"], additionalProperties: false, patternProperties: { a: {} } }, false],
    [{ type: "object", required: ["a"] }, false],
    [{ anyOf: [{ enum: [] }, false] }, true],
    [{ anyOf: [{ enum: [] }, {}] }, false],
    [{ allOf: [{ type: "string" }, { type: "number" }] }, true],
    [{ allOf: [{ type: "integer" }, { type: "number" }] }, false],
    [{ type: "object", required: ["a"], properties: { a: { $ref: "#" } } }, true], // without end
    [{ type: "object", properties: { a: { $ref: "#" } } }, false],
    [{ type: "object", required: ["a"], properties: { a: { anyOf: [{ $ref: "#" }, { type: "null" }] } } }, false],
  ];
  for (const [schema, impossible] of ROWS)
    test(`${JSON.stringify(schema)}: ${impossible ? "nothing" : "something"}`, () =>
      equal(isImpossible(schema, schema), impossible));
});
