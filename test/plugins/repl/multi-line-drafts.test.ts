// Messages of several lines, line by line.
import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { addLine, discard, isStarted, newDraft } from "../../../plugins/repl/multi-line-drafts.ts";

for (const [what, lines, messages] of [
  ["an empty line", [""], [""]],
  ["a backslash at the end goes on", ["a \\", "b"], ["a \nb"]],
  ["three do", ["a\\\\\\", "b"], ["a\\\\\nb"]],
  ["quotes around lines", ['"""', "a", "", 'b"""'], ["a\n\nb"]],
  ["quotes that open and close in one line", ['"""a"""'], ["a"]],
  ["a backslash between quotes stays", ['"""a\\', 'b"""'], ["a\\\nb"]],
  ["quotes in the middle of a line are text", ['a """ b'], ['a """ b']],
  ["the next message begins afresh", ["a\\", "b", '"""c', 'd"""', "e"], ["a\nb", "c\nd", "e"]],
] as const)
  test(`addLine(): ${what}`, () => {
    const draft = newDraft();
    const made = lines.map((line) => addLine(draft, line));
    const whole = made.filter((message) => message !== undefined);
    deepEqual(whole, messages);
  });

test("discard() drops the lines of a message that is not complete, and its quotes", () => {
  const draft = newDraft();
  for (const line of ['"""', "gone"]) addLine(draft, line);
  equal(isStarted(draft), true);
  discard(draft);
  equal(isStarted(draft), false);
  equal(addLine(draft, "kept"), "kept");
});
