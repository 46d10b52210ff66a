// Writes random calls in each format and reads them again: none may be lost, invented or changed.
import { deepEqual, ok } from "node:assert/strict";
import type { Call } from "zz";
import { findCalls } from "../../packages/text-calls/find-calls.ts";
import { FORMATS, type Format } from "../../packages/text-calls/formats.ts";
import { fc } from "./property.ts";

const [string, count] = [{ type: "string" }, { type: "integer" }];
const properties = {
  text: string,
  path: string,
  count,
  ratio: { type: "number" },
  flag: { type: "boolean" },
  list: { type: "array", items: string },
  numbers: { type: "array", items: count },
  nested: { type: "object" },
  either: { type: ["string", "null"] },
  any: {},
};
const schema: Record<string, unknown> = { type: "object", properties };
const NAMES = ["write_file", "run", "a", "get-weather", "read_file2"];
export const RANDOM_TOOLS = NAMES.map((name) => ({ name, description: `Does ${name}.`, schema }));

/** Pieces of every grammar, which must stay text if they are part of a text. */
const MARKS =
  `<tool_call> </tool_call> <function=run> </function> <parameter=text> </parameter> <arg_key> </arg_key> <arg_value> </arg_value>
  [TOOL_CALLS] [ARGS] <|python_tag|> <|tool_call|> functools[ </invoke> <think> </think> <｜tool▁calls▁begin｜> <｜tool▁sep｜> <|tool_call_end|>
  \`\`\` \`\`\`tool_call \`\`\`json <|channel|> </｜DSML｜parameter> <|python_end|> <tool_response> [run()] { } [ ] " ' \` \\ \\n \\u003c
  true null None 42 1.0 é 💡 ｜ </ < &lt; = : , ;`.split(/\s+/);
const PHRASES = [
  '<invoke name="a">',
  '{"name": "run", "arguments": {}}',
  "Action: run\nAction Input: {}",
];
const PIECES = [...MARKS, ...PHRASES, "\n", "\n\n", " ", "\t", "\r", "\u2028", "\0"];
const [piece, signs] = [fc.constantFrom(...PIECES), fc.string({ maxLength: 20, unit: "grapheme" })];
const words = fc.array(fc.oneof(piece, fc.string({ maxLength: 6, unit: "grapheme" })), {
  maxLength: 6,
});
const text = fc.oneof(
  words.map((all) => all.join("")),
  signs,
  piece,
);
const integer = fc.maxSafeInteger();
const ratio = fc
  .double({ noNaN: true, noDefaultInfinity: true })
  .map((one) => (Object.is(one, -0) ? 0 : one));
const key = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.constantFrom("a", "name", "arguments", "</tool_call>"),
);
const { any } = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    text,
    integer,
    fc.boolean(),
    fc.constant(null),
    tie("list"),
    tie("object"),
  ),
  list: fc.array(tie("any"), { maxLength: 3 }),
  object: fc.dictionary(key, tie("any"), { maxKeys: 3, noNullPrototype: true }),
}));
const nested = fc.dictionary(key, any, { maxKeys: 3, noNullPrototype: true });
const some = <T>(one: fc.Arbitrary<T>) => fc.array(one, { maxLength: 3 });
const values = {
  text,
  path: text,
  count: integer,
  ratio,
  flag: fc.boolean(),
  list: some(text),
  numbers: some(integer),
  nested,
  either: fc.oneof(text, fc.constant(null)),
  any: text,
};
const args = fc.record(values, { requiredKeys: [], noNullPrototype: true });
const call = fc.record({ name: fc.constantFrom(...NAMES), args }, { noNullPrototype: true });
const calls = fc.array(call, { minLength: 1, maxLength: 3 });
const before = fc.constantFrom("", "Let me look.", "Ünïcode 💡!\n\nNow the file.");

/** Tries `runs` random conversations in this format. */
export async function roundTrip(format: Format, runs: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(calls, before, async (calls, before) => {
      const written = format.calls(withIds(calls), RANDOM_TOOLS);
      const found = await findCalls(before ? `${before}\n${written}` : written, RANDOM_TOOLS, {
        worded: true,
      });
      const read = found?.calls.map(({ name, args, broken }) => ({
        name,
        args,
        ...(broken && { broken }),
      }));
      deepEqual([found?.text, read], [before, calls]);
    }),
    { numRuns: runs },
  );
}
const withIds = (calls: readonly Pick<Call, "name" | "args">[]) =>
  calls.map((one, i) => ({ ...one, id: `functions.${one.name}:${i}` }));

/** However early the output limit cuts an answer off, only whole calls that were written run, and
 * nothing else. */
export async function cutEverywhere(format: Format): Promise<void> {
  const calls = [
    {
      name: "run",
      args: {
        text: "<tool_call>",
        list: [],
        flag: false,
        either: "<|python_end|>",
        any: "```json",
      },
    },
    {
      name: "get-weather",
      args: { path: "ü", nested: { "</tool_call>": "[TOOL_CALLS]" }, count: 1 },
    },
    { name: "write_file", args: { text: "<think>\n" } },
  ];
  const written = `So:\n${format.calls(withIds(calls), RANDOM_TOOLS)}`;
  for (let end = 0; end <= written.length; end++) await cutAt(calls, written.slice(0, end));
}

async function cutAt(calls: readonly Pick<Call, "name" | "args">[], text: string): Promise<void> {
  const found = await findCalls(text, RANDOM_TOOLS, { worded: true, ended: true });
  ok(found?.calls.every(({ name }) => name) ?? true, `a call without a name: ${text}`);
  const run = (found?.calls ?? [])
    .filter(({ broken }) => !broken)
    .map(({ name, args }) => ({ name, args }));
  deepEqual(run, calls.slice(0, run.length), text);
}

export { FORMATS };
