// Small functions for plugins, beside what they stand for.
import { equal, match } from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fencedBlock } from "../../kernel/conversation/system-prompt.ts";
import { thousands, whoReads, wordsOf } from "../../sdk/text.ts";
import { fc } from "../support/property.ts";
import { place } from "../support/run.ts";

test("thousands() is what toLocaleString() gives for an integer", () =>
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.integer({ min: 1, max: 1e12 }), (count, parts) => {
      for (const one of [count, Math.trunc(count / parts)]) equal(thousands(one), (one || 0).toLocaleString("en"));
    }),
    { examples: [[0, 1], [999, 1], [1_000, 1], [-1_000, 1], [-999, 1], [1_234_567, 1]] },
  )); // biome-ignore format: one line

const FILE = fencedBlock("FILE a.ts", "--- FILE b.ts ---\n1\n--- END");
for (const [what, text, words] of [
  ["words alone", "what is this?", "what is this?"],
  ["two files and piped text",
    [FILE, fencedBlock("FILE c", ""), fencedBlock("STDIN", "x"), "sum\nup"].join("\n\n"),
    "sum\nup"],
  ["a file alone", FILE, "FILE a.ts"],
  ["a block behind them", `see\n\n${FILE}`, `see\n\n${FILE}`],
  ["a block without an end", "--- FILE a.ts ---\nhello", "--- FILE a.ts ---\nhello"],
] as const) // biome-ignore format: a table
  test(`wordsOf() ${what}`, () => equal(wordsOf(text), words));

test("whoReads() looks at what the disk made of the permissions", () => {
  const file = join(place().cwd, "key");
  writeFileSync(file, "", { mode: 0o600 });
  for (const [mode, says] of [
    [0o600, /^which only you can read$/],
    [0o640, /^which others on this machine can read/],
    [0o777, /^which others on this machine can read/],
  ] as const) {
    chmodSync(file, mode);
    match(whoReads(file), says);
  }
});
