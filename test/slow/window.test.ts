// A conversation without end in a small window, with a server that is as strict as the strictest.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Script } from "../support/fake/http.ts";
import { call, say, strictOpenAI } from "../support/fake/openai.ts";
import { slowness } from "../support/machine.ts";
import { repl } from "../support/repl.ts";
import { place } from "../support/run.ts";
import { KEY, terminal } from "../support/terminal.ts";

const TURNS = process.env.ZZ_SHORT ? 100 : 2_000;
const WINDOW = 16_384;
const FILES = 30;
const NOTES = "[Not from the person: of this conversation";

/** What the person says in a turn: prose, code, a script without spaces. */
const SAID = [
  (turn: number) => `Message ${turn}: please look at the lamp in the hall and say whether it is on, off or broken.`,
  (turn: number) => `Message ${turn}: const lamp${turn} = { on: ${turn % 2 === 0}, watts: ${turn}, at: [1, 2, 3] };`,
  (turn: number) => `Message ${turn}: ${"灯は廊下にあります。".repeat(12)}`,
];
const said = (turn: number): string => SAID[turn % SAID.length]!(turn);
const answer = (turn: number): string => `answer ${turn}. ${"It is as it was. ".repeat(turn % 7)}`;

/** The calls of a turn, by rounds. */
function rounds(turn: number): [name: string, args: Record<string, unknown>][][] {
  const file = `src/part${turn % FILES}.txt`;
  if (turn % 3 === 0) return [];
  if (turn % 50 === 7) return [[["read_file", { path: "huge.txt" }]]];
  if (turn % 5 === 0)
    return [
      [
        ["read_file", { path: file }],
        ["list_dir", { path: "src" }],
      ],
      [["edit_file", { path: file, old_string: "first line", new_string: `first line of turn ${turn}, no` }]],
    ];
  if (turn % 7 === 0) return [[["write_file", { path: `made/new${turn % 40}.txt`, content: `turn ${turn}\n` }]]];
  return [[["read_file", { path: file }]], [["grep", { pattern: "lamp" }]]];
}

test(`${TURNS} turns with tools in a window of ${WINDOW} tokens`, async (t) => {
  const where = place();
  mkdirSync(where.home, { recursive: true });
  writeFileSync(join(where.home, "zz.config.json"), '{ "symbols": { "map": "never" }, "rounds": 0 }');
  for (const folder of ["src", "made"]) mkdirSync(join(where.cwd, folder));
  for (let i = 0; i < FILES; i++)
    writeFileSync(join(where.cwd, `src/part${i}.txt`), `first line\n${`the lamp of part ${i} is on\n`.repeat(20 + i)}`);
  writeFileSync(join(where.cwd, "huge.txt"), "a word and 42 more\n".repeat(20_000));

  let [turn, round, summaries, compacted] = [0, 0, 0, 0];
  const changed = new Set<string>();
  const notNamed: string[] = [];
  const notVerbatim: number[] = [];
  const script: Script = ({ body }) => {
    const [system, ...messages] = body.messages;
    if (!body.tools) {
      summaries++;
      ok(system.content.startsWith("You keep the notes"));
      return say(`Goal: the lamp. Constraints: tabs. So far ${summaries} summaries.`);
    }
    const all = messages.map(({ content }: any) => content).join("\n");
    if (messages[0].content.startsWith(NOTES)) {
      compacted++;
      for (const file of changed) if (!all.includes(file)) notNamed.push(`turn ${turn}: ${file}`);
      const before = turn > 1 ? [said(turn - 1), answer(turn - 1).trim()] : [];
      if (![said(turn), ...before].every((text) => all.includes(text))) notVerbatim.push(turn);
    }
    const calls = rounds(turn)[round++];
    if (!calls) return say(answer(turn));
    for (const [name, { path }] of calls) if (/write|edit/.test(name)) changed.add(String(path));
    return call(...calls);
  };
  const fake = await strictOpenAI(WINDOW, script);
  t.after(fake.close);
  const args = ["-m", "openai/m", "--base-url", fake.url, "--key", "x", "--allow-write"];
  const term = terminal(where, args, { cols: 200, process: true });
  await term.sees("›");
  term.shut();
  const started = performance.now();
  for (turn = 1; turn <= TURNS; turn++) {
    round = 0;
    const from = term.raw().length;
    term.type(`${said(turn)}${KEY.enter}`);
    const until = performance.now() + 20_000;
    for (;;) {
      const shown = term.raw().slice(from);
      const at = shown.indexOf(`answer ${turn}.`);
      if (at >= 0 && shown.includes("› ", at)) break;
      if (performance.now() > until) throw new Error(`No answer in turn ${turn}:\n${shown.slice(-3000)}`);
      await sleep(1);
    }
    fake.requests.splice(0);
  }
  const ms = (performance.now() - started) / TURNS;
  term.type(KEY.ctrlD);
  equal(await term.exited, 0);
  t.diagnostic(
    `${summaries} summaries, ${compacted} requests with notes, at most ${fake.most()} of ${WINDOW} tokens sent, ${ms.toFixed(0)} ms a turn`,
  );
  deepEqual(fake.refusals, []);
  deepEqual(notNamed.slice(0, 5), []);
  deepEqual(notVerbatim.slice(0, 5), []);
  ok(summaries > TURNS / 100);
  ok(compacted > TURNS / 2);

  const [entries] = where.sessions();
  const messages = entries!.flatMap(({ message }) => message ?? []);
  const words = messages.filter(({ role }) => role === "user").map(({ text }) => text);
  deepEqual(
    words,
    Array.from({ length: TURNS }, (_, i) => said(i + 1)),
    "nothing is lost in the file",
  );
  const results = messages.filter(({ role }) => role === "tool");
  const calls = Array.from({ length: TURNS }, (_, i) => rounds(i + 1).flat()).flat();
  equal(results.length, calls.length);
  ok(
    results.some(({ name, text }) => name === "read_file" && text.length > 10_000),
    "also what was cut is there whole",
  );
  ok(readFileSync(join(where.cwd, "src/part5.txt"), "utf8").includes("of turn"));
});

test("What the model is told takes less than 10 ms of a turn when nothing changed", async (t) => {
  const where = place();
  const put = (name: string, text: string) => {
    const file = join(where.cwd, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  for (const [name, text] of Object.entries({
    "package.json": "{}",
    "AGENTS.md": `${"Rules.\n".repeat(400)}@docs/a.md`,
    "docs/a.md": "more",
    "../home/memory/INDEX.md": "- note\n".repeat(100),
    "../home/IDENTITY.md": "I am zz.",
    "../home/SOUL.md": "Dry.",
  }))
    put(name, text);
  for (let i = 0; i < 12; i++)
    put(
      `../home/skills/s${i}/SKILL.md`,
      `---\nname: s${i}\ndescription: does ${i} things\ntriggers: thing${i}\n---\nbody`,
    );
  for (let i = 0; i < 500; i++)
    put(`src/p${i}.ts`, `export const part${i} = (a: number): number => a + ${i};\n`.repeat(5));
  const log = join(where.cwd, "../times.txt");
  put(
    "../own.ts",
    `import { appendFileSync } from "node:fs";
     export default (zz) => {
       let began = 0;
       zz.on("phase", ({ from, to }) => { if (from === "idle" && to === "thinking") began = performance.now(); });
       zz.on("requested", () => appendFileSync(${JSON.stringify(log)}, performance.now() - began + "\\n"));
     };`,
  );
  const zz = await repl(t, { where, args: ["--plugin", join(where.cwd, "../own.ts")], process: true });
  await zz.say("/add src/p1.ts AGENTS.md", "Pinned");
  for (let i = 0; i < 25; i++) {
    await zz.sees(/›$/);
    await zz.say(`turn ${i} thing3`, new RegExp(`turn ${i} [\\s\\S]*Good\\.[\\s\\S]*calls`));
  }
  match(zz.fake.requests[0]!.body.messages[0].content, /REPO MAP[\s\S]*PINNED|PINNED[\s\S]*REPO MAP/);
  const times = readFileSync(log, "utf8")
    .trim()
    .split("\n")
    .map(Number)
    .slice(2)
    .sort((a, b) => a - b);
  const median = times[times.length >> 1]!;
  t.diagnostic(
    `median ${median.toFixed(1)} ms, least ${times[0]!.toFixed(1)}, most ${times.at(-1)!.toFixed(1)} ms; from the line to the request, the message saved`,
  );
  ok(median < 10 * slowness(), `${median} ms`);
});
