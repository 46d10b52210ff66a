// Where lines end: between words, or in a word that is too long for any line.
import { deepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import stringWidth from "string-width";
import { width, wrap } from "../../sdk/width.ts";
import { fc } from "../support/property.ts";

for (const [text, columns, lines] of [
  ["one two three", 8, ["one two", "three"]],
  ["a /tmp/long/path, and b", 14, ["a", "/tmp/long/pat", "h, and b"]],
  ["(/tmp/long/pa)", 13, ["(/tmp/long/p", "a)"]],
  ["abcdefgh", 3, ["abc", "def", "gh"]],
] as [string, number, string[]][])
  test(`'${text}' in ${columns} columns`, () => deepEqual(wrap(text, columns), lines));

/** Most texts are measured by a pattern, without the tables of a library: with the same result. */
test("each character takes the columns that string-width says, on its own and among others", () => {
  const wrong: string[] = [];
  for (let code = 0x20; code < 0x3200; code++) {
    const one = String.fromCodePoint(code);
    if (
      width(one) !== stringWidth(one) ||
      width(`a${one}…${one}›`) !== stringWidth(`a${one}…${one}›`)
    )
      wrong.push(code.toString(16));
  }
  deepEqual(wrong, []);
});

test("no line is too long, and nothing but spaces is lost", () => {
  const piece = fc.oneof(
    fc.constantFrom(" ", "  ", ",", ".", ")", "/", "w", "漢字", "💡"),
    fc.string({ maxLength: 9 }),
  );
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 30 }),
      fc.integer({ min: 6, max: 30 }),
      (pieces, columns) => {
        const text = pieces.join("").replace(/[^\S ]/g, " ");
        const lines = wrap(text, columns);
        for (const line of lines) ok(width(line) <= columns, line);
        deepEqual(lines.join("").replace(/\s/g, ""), text.replace(/\s/g, ""));
      },
    ),
    { numRuns: 300 },
  );
});
