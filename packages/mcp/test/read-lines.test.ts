// Lines of a server's output, whatever pieces they come in; one that is too long is cut, and the
// lines around it are whole.
import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { lineReader } from "../read-lines.ts";

type Cut = Parameters<Parameters<typeof lineReader>[1]>[0];
const LONG = 9_000_000;
const long = `begin${"x".repeat(LONG - 8)}end`;
const text = `first\n${long}\nsecond\n${long}\nthird`;

/** As a pipe gives it: each piece with memory of its own. */
const own = (bytes: Buffer): Buffer => Buffer.from(new Uint8Array(bytes).buffer);

for (const [memory, piece, sizes] of [
  ["its own memory", own, [65_536, LONG + 6, LONG + 7]],
  ["memory shared with others", (bytes: Buffer) => bytes, [8_000_001, 40_000_000]],
] as const)
  for (const size of sizes)
    test(`lineReader() cuts two long lines in pieces of ${size} bytes with ${memory}`, () => {
      const [lines, cuts]: [string[], [string, string, number][]] = [[], []];
      const cut = ({ head, tail, bytes }: Cut) =>
        void cuts.push([head.slice(0, 7), tail.slice(-4), bytes]);
      const reader = lineReader((line) => void lines.push(line), cut);
      const all = Buffer.from(`${text}?`).subarray(0, text.length); // of a larger memory
      for (let from = 0; from < all.length; from += size)
        reader.add(piece(all.subarray(from, from + size)));
      reader.end();
      deepEqual(lines, ["first", "second", "third"]);
      deepEqual(cuts, Array(2).fill(["beginxx", "xend", LONG]));
      ok(all.toString() === text); // nothing of another's was given back
    });

test("lineReader() gives the memory of many lines back, and keeps what waits for its end", () => {
  const lines: string[] = [];
  const reader = lineReader((line) => void lines.push(line.slice(0, 9)), Object);
  const pieces = ["one\ntwo\nbegun ", "and ", "ended\nlast", "\n", "\n\nx"].map((text) =>
    own(Buffer.from(text)),
  );
  for (const piece of pieces) reader.add(piece);
  reader.end();
  deepEqual(lines, ["one", "two", "begun and", "last", "", "", "x"]);
  for (const { buffer } of pieces) equal(buffer.byteLength, 0);
});
