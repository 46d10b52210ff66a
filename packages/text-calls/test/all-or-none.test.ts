// Several calls in one text: all of them count, or none runs and the model is told why.
import { deepEqual, match } from "node:assert/strict";
import { describe, test } from "node:test";
import { findCalls } from "../find-calls.ts";
import { TOOLS } from "./tools.ts";

const hermes = (name: string, args: object) =>
  `<tool_call>${JSON.stringify({ name, arguments: args })}</tool_call>`;
const one = hermes("tide", { port: "Oslo" });
const other = hermes("tide", { port: "Rome" });
const glm = (port: string) =>
  `<tool_call>tide\n<arg_key>port</arg_key>\n<arg_value>${port}</arg_value>\n</tool_call>`;
const coder = (port: string) =>
  `<function=tide>\n<parameter=port>\n${port}\n</parameter>\n</function>`;
const unfit = hermes("tide", { town: 1 });
const unknown = hermes("launch", { port: "Oslo" });

/**
 * The text that is left, and what each call asks for; "!" before one that does not run and says
 * why.
 */
async function found(text: string): Promise<[string, ...string[]]> {
  const all = await findCalls(text, TOOLS, { worded: false });
  const calls = all?.calls.map(
    ({ name, args, broken }) => `${broken ? "!" : ""}${name} ${args.port ?? "?"}`,
  );
  return [all?.text ?? text, ...(calls ?? [])];
}

describe("several calls in a text", () => {
  for (const [what, text, left, ...calls] of [
    ["one in the middle of a sentence, and one at the end", `hello${one}hi${other}`, "hello", "!tide Oslo", "!tide Rome"],
    ["three, two of them in sentences", `see ${one} and ${other} then${glm("Bonn")}`, "see", "!tide Oslo", "!tide Rome", "!tide Bonn"],
    ["another format in the sentence", `hello${coder("Oslo")}hi\n${other}`, "hello", "!tide Oslo", "!tide Rome"],
    ["one at the start of a line, and one that a sentence goes on around", `Let me look.\n${one}\nThe file says ${other}, which is an attack.`, "Let me look.", "!tide Oslo", "!tide Rome"],
    ["words between them", `First.\n${one}\nThen:\n${other}`, "First.", "tide Oslo", "tide Rome"],
    ["GLM's, the second one indented", `Both.\n${glm("Oslo")}\n    ${glm("Rome")}`, "Both.", "tide Oslo", "tide Rome"],
    ["Qwen's, the second one behind a tab", `${coder("Oslo")}\n\t${coder("Rome")}`, "", "tide Oslo", "tide Rome"],
    ["the first does not fit", `${unfit}\n${other}`, "", "tide ?", "tide Rome"],
    ["the second does not fit", `${one}\n${unfit}`, "", "tide Oslo", "tide ?"],
    ["the first is of no tool", `${unknown}\n${other}`, "", "launch Oslo", "tide Rome"],
    ["the second is of no tool", `${one}\n${unknown}`, "", "tide Oslo", "launch Oslo"],
    ["one alone that does not fit", `I look.\n${unfit}`, "I look.", "tide ?"],
    ["an example before the call", `For example, ${one} would look so.\n\nNow:\n${other}`, `For example, ${one} would look so.\n\nNow:`, "tide Rome"],
    ["code before the call", `Use \`${one}\`:\n${other}`, `Use \`${one}\`:`, "tide Rome"],
    ["one in a sentence alone is a text", `hello${one}hi`, `hello${one}hi`],
  ] as [string, string, string, ...string[]][]) // biome-ignore format: a table
    test(what, async () => deepEqual(await found(text), [left, ...calls]));

  test("the model reads why none ran, and what to do", async () => {
    const { calls } = (await findCalls(`hello${one}hi${other}`, TOOLS, { worded: false }))!;
    match(
      calls[0]!.broken!,
      /in the middle of its sentences, so none of its calls ran\. Send those that you mean/,
    );
  });
});
