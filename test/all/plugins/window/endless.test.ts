// A conversation that goes on for many turns in a small window, with a server that is as strict as
// the strictest.
import { deepEqual, equal, ok } from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { embed } from "../../../../zz.ts";
import type { Script } from "../../../support/fake/http.ts";
import { call, say, strictOpenAI } from "../../../support/fake/openai.ts";
import { place } from "../../../support/run.ts";

const TURNS = 300;
const WINDOW = 16_384;
const FILES = 30;
const NOTES = "[Not from the person: of this conversation";

const said = (turn: number): string =>
  `Message ${turn}: ${turn % 2 ? "灯は廊下にあります。".repeat(12) : "please look at the lamp in the hall, and say whether it is on."}`;
const answer = (turn: number): string =>
  `answer ${turn}. ${"It is as it was. ".repeat(turn % 7)}`.trim();

/** The calls of a turn, by rounds. */
function rounds(turn: number): [name: string, args: Record<string, unknown>][][] {
  const path = `src/part${turn % FILES}.txt`;
  const edit = { path, old_string: "first line", new_string: `first line of turn ${turn}, no` };
  if (turn % 3 === 0) return [];
  if (turn % 50 === 7) return [[["read_file", { path: "huge.txt" }]]];
  const both: [string, Record<string, unknown>][] = [["read_file", { path }], ["list_dir", { path: "src" }]]; // biome-ignore format: short
  if (turn % 5 === 0) return [both, [["edit_file", edit]]];
  if (turn % 7 === 0)
    return [[["write_file", { path: `made/new${turn % 40}.txt`, content: `turn ${turn}\n` }]]];
  return [[["read_file", { path }]], [["grep", { pattern: "lamp" }]]];
}

test(`${TURNS} turns with tools in a window of ${WINDOW} tokens`, async (t) => {
  const where = place();
  for (const folder of ["src", "made"]) mkdirSync(join(where.cwd, folder));
  for (let i = 0; i < FILES; i++)
    writeFileSync(
      join(where.cwd, `src/part${i}.txt`),
      `first line\n${`the lamp of part ${i} is on\n`.repeat(20 + i)}`,
    );
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
    const texts = messages.map(({ content }: any) => content).join("\n");
    if (messages[0].content.startsWith(NOTES)) {
      compacted++;
      for (const file of changed) if (!texts.includes(file)) notNamed.push(`turn ${turn}: ${file}`);
      const before = turn > 1 ? [said(turn - 1), answer(turn - 1)] : [];
      if (![said(turn), ...before].every((text) => texts.includes(text))) notVerbatim.push(turn);
    }
    const calls = rounds(turn)[round++];
    if (!calls) return say(answer(turn));
    for (const [name, { path }] of calls) if (/write|edit/.test(name)) changed.add(String(path));
    return call(...calls);
  };
  const fake = await strictOpenAI(WINDOW, script);
  t.after(fake.close);
  const [{ cwd: root, home }, allow] = [where, { write: true as const }];
  const settings = { symbols: { map: "never" } } as never;
  const how = { root, home, model: "openai/m", baseUrl: fake.url, key: "x", rounds: 0 };
  await using zz = await embed({ ...how, allow, settings });
  const chat = await zz.chat();
  for (turn = 1; turn <= TURNS; turn++) {
    round = 0;
    equal((await chat.ask(said(turn))).trim(), answer(turn));
    fake.requests.splice(0);
  }
  deepEqual(fake.refusals, []);
  deepEqual(notNamed, [], "every file that was changed is named in the notes");
  deepEqual(notVerbatim, [], "the last two messages of the person are there word for word");
  ok(summaries > TURNS / 100, `${summaries}`);
  ok(compacted > TURNS / 2, `${compacted}`);

  const messages = where.sessions()[0]!.flatMap(({ message }) => message ?? []);
  const words = messages.filter(({ role }) => role === "user").map(({ text }) => text);
  const turns = Array.from({ length: TURNS }, (_, i) => i + 1);
  deepEqual(words, turns.map(said), "nothing is lost in the file");
  const results = messages.filter(({ role }) => role === "tool");
  equal(results.length, turns.flatMap((turn) => rounds(turn).flat()).length);
  const whole = results.some(({ name, text }) => name === "read_file" && text.length > 10_000);
  ok(whole, "also what was cut is there whole");
});
