// run_tests: runs the project's tests by run_command, and summarises the output.
import type { Result, Zz } from "zz";
import { commandFor } from "./find-runner.ts";
import { type Output, summarise } from "./read-results.ts";

export const defaults = { seconds: 600 };
export const settings = {
  project: true,
  schema: {
    type: "object",
    properties: {
      seconds: {
        type: "number",
        minimum: 1,
        maximum: 600,
        description: "seconds that all tests together may take",
      },
    },
  },
};
const QUESTION_SECONDS = 120; // extra time for the question that run_command may ask

export default ({ config: { seconds }, tool }: Zz<typeof defaults>) =>
  tool({
    name: "run_tests",
    kind: "run",
    description:
      "Run the project's tests (node:test, vitest, jest, mocha, " +
      "or its test script): all, or some of them.",
    aliases: ["runTests", "test"],
    params: {
      path: "string? only this test file, or the ones in this folder",
      filter: "string? only tests with this in their name: a text or a regular expression",
    },
    also: {
      path: ["file", "file_path", "test_path"],
      filter: ["name", "pattern", "grep", "test_name"],
    },
    timeout: (seconds + QUESTION_SECONDS) * 1_000,
    async run({ path, filter }, ctx) {
      const { command, runner, notes, narrowed } = await commandFor({ path, filter }, ctx);
      const result = await ctx.call("run_command", {
        command,
        timeout_ms: Math.ceil(seconds * 1_000),
      });
      const commandData = result.data as Output | undefined;
      if (typeof commandData?.stdout !== "string") return result; // refused, or could not start
      const { text, read, ...counts } = summarise(commandData, runner, filter);
      const hasNoMatch =
        narrowed && commandData.exit === 0 && counts.passed + counts.failed === 0 && read;
      const noneMatchedText =
        "No test ran: " +
        `nothing matches${path ? ` path '${path}'` : ""}${filter ? ` filter '${filter}'` : ""}.`;
      return {
        text: [`$ ${command}`, ...notes, hasNoMatch ? noneMatchedText : text].join("\n"),
        data: {
          runner,
          command,
          exit: commandData.exit,
          ...counts,
          output: result.text,
          ...(commandData.file && { file: commandData.file }),
        },
        ...((commandData.exit !== 0 || hasNoMatch) && { failed: true }),
      } satisfies Result;
    },
  });
