// Calls in text: 10,000 random conversations of each format, and how fast a reply is read. A stream is read whole once it has
// ended, so that all that counts is how many bytes of it are looked through in a second.
import { ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { rescue } from "../../plugins/text-calls/rescue.ts";
import { slowness } from "../support/machine.ts";
import { cutOff, FORMATS, RANDOM_TOOLS, roundTrip } from "../support/text-calls.ts";

const RUNS = Number(process.env.ZZ_RUNS ?? (process.env.ZZ_SHORT ? 300 : 10_000));
const MB_PER_SECOND = 50; // on a quiet machine
const SIZE = 8 * 1024 * 1024;

describe("What is written is read", () => {
  for (const format of FORMATS)
    test(`${format.name}: ${RUNS} random conversations`, { timeout: 600_000 }, () => roundTrip(format, RUNS));
  for (const format of FORMATS)
    test(`${format.name}: ${RUNS} random cuts`, { timeout: 600_000 }, () => cutOff(format, RUNS));
});

const LINE = '  if (list[i] < 3 && map["key"] === `a{b}`) { return { a: [1, 2], b: "<div>" }; } // a note on it\n';
const CODE = LINE.repeat(1_000);
const PROSE = "The parser reads the text once, from its beginning (see below) to its end, and says what it found. ";
const argsOf = (text: string) => ({
  path: "src/a.ts",
  text,
  count: 3,
  list: ["a", "b"],
  nested: { deep: [{ a: "b" }] },
});
const inBlocks = (format: (typeof FORMATS)[number], block: string) => {
  const one = format.calls([{ id: "", name: "write_file", args: argsOf(block) }], RANDOM_TOOLS);
  return Array.from({ length: Math.ceil(SIZE / one.length) }, () => one).join("\n");
};

const TEXTS: [what: string, text: string][] = [
  ["prose", PROSE.repeat(SIZE / PROSE.length)],
  ["code in a fence", `\`\`\`ts\n${LINE.repeat(SIZE / LINE.length)}\`\`\`\n`],
  ["code without a fence", LINE.repeat(SIZE / LINE.length)],
  [
    "JSON that is no call",
    JSON.stringify(Array.from({ length: SIZE / 60 }, (_, i) => ({ id: i, name: "Ada", tags: ["a", "b"] }))),
  ],
  ...FORMATS.map((format) => [`calls of ${format.name}`, inBlocks(format, CODE)] as [string, string]),
];

test(`a reply is read at ${MB_PER_SECOND} MB/s`, { timeout: 600_000 }, async (t) => {
  const slow: string[] = [];
  const least = MB_PER_SECOND / slowness();
  for (const [what, text] of TEXTS) {
    const rates: number[] = [];
    for (let i = 0; i < 5; i++) {
      const fresh = Buffer.from(text).toString(); // as it comes from the wire
      const reply = { text: fresh, thinking: "", calls: [], finish: "stop" as const };
      const before = process.cpuUsage();
      await rescue(reply, { tools: RANDOM_TOOLS, options: {}, worded: false });
      const { user, system } = process.cpuUsage(before); // of one core, whatever else the machine does
      rates.push(Buffer.byteLength(text) / 1024 / 1024 / ((user + system) / 1e6));
    }
    const rate = Math.max(...rates); // others may be at work on the machine
    t.diagnostic(`${what}: ${rate.toFixed(0)} MB/s`);
    if (rate < least) slow.push(`${what}: ${rate.toFixed(0)} MB/s`);
  }
  ok(!slow.length, slow.join("; "));
});
