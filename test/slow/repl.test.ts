// The prompt under load: a long answer, a long talk.
import { ok } from "node:assert/strict";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { DONE, delta, stream, usage } from "../support/fake/openai.ts";
import { slowness } from "../support/machine.ts";
import { ESC, repl } from "../support/repl.ts";
import { place } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";

/** Answers of a MB: prose with lists, one block of code, and some of everything. */
const LONG: Record<string, string> = {
  prose:
    "Some **words** with `code` and a [link](https://example.org/) in a sentence that goes on.\n\n- one *item*\n- two\n\n",
  code: "const value = compute(1, 'two', [3]); // and so on\n",
  mixed: `## Part\n\n${"Some words and **bold** ones. ".repeat(12)}\n\n| a | b |\n|---|---|\n${"| 1 | some words |\n".repeat(4)}\n\`\`\`ts\n${"const a = 1; // one\n".repeat(10)}\`\`\`\n\n`,
};
for (const [kind, piece] of Object.entries(LONG))
  test(`An answer of 1 MB (${kind}) is written to the terminal within a second of its first byte`, async (t) => {
    const body = piece.repeat(Math.ceil(1_000_000 / piece.length));
    const text = `${kind === "code" ? `\`\`\`ts\n${body}\`\`\`` : body}\n\nThe end.`;
    let sent = 0;
    const pieces = text.match(/[\s\S]{1,20000}/g)!.map((content) => delta({ content }));
    const script = () => {
      setTimeout(() => (sent = performance.now()));
      return stream(...pieces, delta({}, "stop"), usage(10, 10), DONE);
    };
    const term = await repl(t, { script, process: true });
    const ended = new Promise<void>((resolve) => {
      let tail = "";
      term.onData((data) => {
        tail = (tail + data).slice(-10_000);
        if (tail.includes("The end.")) resolve();
      });
    });
    term.shut();
    term.type(`go${KEY.enter}`);
    await ended;
    const ms = performance.now() - sent;
    t.diagnostic(`${ms.toFixed(0)} ms, sending, receiving and writing it included`);
    ok(ms < 1000 * slowness(), `${ms} ms`);
  });

test("10,000 entries of history: from key to echo it takes less than 16 ms", async (t) => {
  const where = place();
  mkdirSync(where.home, { recursive: true });
  const file = join(where.home, "history");
  for (let i = 0; i < 10_000; i++) appendFileSync(file, `${JSON.stringify(`entry ${i} with a few words more`)}\n`);
  for (let i = 0; i < 300; i++) writeFileSync(join(where.cwd, `f${i}.ts`), `export const v${i} = 1;\n`);
  const term = await repl(t, { where, process: true });
  await sleep(500);
  const times: number[] = [];
  for (const letter of "the quick brown fox jumps over the lazy dog") {
    const before = term.raw().length;
    const started = performance.now();
    term.type(letter);
    while (term.raw().length === before) await new Promise((soon) => setImmediate(soon));
    times.push(performance.now() - started);
    await sleep(5);
  }
  const median = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]!;
  t.diagnostic(`median ${median.toFixed(2)} ms, slowest ${Math.max(...times).toFixed(2)} ms`);
  ok(median < 16 * slowness(), `median ${median} ms`);
});

test("A paste of 10,000 lines is accepted in under a second", async (t) => {
  const term = await repl(t, { process: true });
  const text = Array.from({ length: 10_000 }, (_, i) => `line ${i} of the log, with some words in it`).join("\n");
  const started = performance.now();
  term.type(`${ESC}[200~${text}${ESC}[201~`);
  await term.sees("[paste 1: 10000 lines]");
  const ms = performance.now() - started;
  ok(ms < 1000 * slowness(), `it took ${ms} ms`);
});
