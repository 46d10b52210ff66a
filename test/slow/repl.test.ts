// The prompt under load: a long answer, a long talk.
import { equal, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { DONE, delta, stream, usage } from "../support/fake/openai.ts";
import { slowness } from "../support/machine.ts";
import { ESC, repl } from "../support/repl.ts";
import { place } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";

const TURNS = process.env.ZZ_SHORT ? 200 : 500;

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
    const term = await repl(t, { script });
    const ended = new Promise<void>((resolve) => {
      let tail = "";
      term.pty.onData((data) => {
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

test(`${TURNS} turns: memory grows by less than what the conversation weighs, and a tenth`, async (t) => {
  const where = place();
  mkdirSync(where.home, { recursive: true });
  writeFileSync(join(where.home, "zz.config.json"), '{ "symbols": { "map": "never" } }'); // its readers come and go
  const file = join(where.cwd, "own.ts");
  writeFileSync(
    file,
    `export default (zz) => zz.command({ name: "heap", description: "the heap in use", run: async (_, { note }) => {
       for (let i = 0; i < 10; i++) { gc(); await new Promise((soon) => setTimeout(soon, 20)); }
       note("heap " + process.memoryUsage().heapUsed + " bytes");
     } });`,
  );
  const words = (turn: number) => Array.from({ length: 400 }, (_, i) => `word${turn}-${i}`).join(" ");
  const script = (_: unknown, turn: number) =>
    stream(delta({ content: words(turn) }), delta({}, "stop"), usage(61, 9), DONE);
  const term = await repl(t, { where, script, args: ["--plugin", file], env: { NODE_OPTIONS: "--expose-gc" } });
  let turns = 0;
  const talk = async (count: number) => {
    for (const upTo = turns + count; turns < upTo; turns++) {
      term.type(`question ${turns} of many${KEY.enter}`);
      while (term.fake.requests.length <= turns) await sleep(1);
      term.fake.requests[turns]!.body = undefined; // this process is not what is measured
      while (!term.raw().slice(-400).includes("› ") || !term.raw().slice(-1500).includes(`word${turns}-399`))
        await sleep(1);
    }
  };
  const heap = async (): Promise<number> => {
    const before = term.raw().length;
    term.type(`/heap${KEY.enter}`);
    for (;;) {
      const [, bytes] = /heap (\d+) bytes/.exec(term.raw().slice(before)) ?? [];
      if (bytes) return Number(bytes);
      await sleep(10);
    }
  };
  /** What the session's entries take in a process that holds nothing else. */
  const weight = () => {
    const folder = join(where.home, "sessions");
    const [file] = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
    const weigh = `const bytes = fs.readFileSync(process.argv[1]); // no string of it may be left
      gc(); const before = process.memoryUsage().heapUsed;
      globalThis.held = [];
      for (let at = 0, end; (end = bytes.indexOf(10, at)) >= 0; at = end + 1) held.push(JSON.parse(bytes.subarray(at, end)));
      gc(); console.log(process.memoryUsage().heapUsed - before);`;
    return Number(
      execFileSync(process.execPath, ["--expose-gc", "-e", weigh, join(folder, file!)], { encoding: "utf8" }),
    );
  };
  await talk(200); // by then what is loaded and compiled once is done with, which frees 5 MB
  const [heapBefore, weightBefore] = [await heap(), weight()];
  await talk(TURNS);
  const [grown, weighs] = [(await heap()) - heapBefore, weight() - weightBefore];
  t.diagnostic(
    `heap +${(grown / 1e6).toFixed(2)} MB, conversation ${(weighs / 1e6).toFixed(2)} MB: ${(grown / weighs).toFixed(2)}`,
  );
  ok(grown < weighs * 1.1, `${grown} of ${weighs}`);
  term.type(KEY.ctrlD);
  equal(await term.exited, 0);
});

test("10,000 entries of history: from key to echo it takes less than 16 ms", async (t) => {
  const where = place();
  mkdirSync(where.home, { recursive: true });
  const file = join(where.home, "history");
  for (let i = 0; i < 10_000; i++) appendFileSync(file, `${JSON.stringify(`entry ${i} with a few words more`)}\n`);
  for (let i = 0; i < 300; i++) writeFileSync(join(where.cwd, `f${i}.ts`), `export const v${i} = 1;\n`);
  const term = await repl(t, { where });
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
  const term = await repl(t);
  const text = Array.from({ length: 10_000 }, (_, i) => `line ${i} of the log, with some words in it`).join("\n");
  const started = performance.now();
  term.type(`${ESC}[200~${text}${ESC}[201~`);
  await term.sees("[paste 1: 10000 lines]");
  const ms = performance.now() - started;
  ok(ms < 1000 * slowness(), `it took ${ms} ms`);
});
