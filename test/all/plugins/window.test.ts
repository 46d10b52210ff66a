// The window in a long conversation: what a cache of prefixes makes of what is sent.
import { deepEqual, equal, ok } from "node:assert/strict";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { embed } from "../../../zz.ts";
import type { Script } from "../../support/fake/http.ts";
import { call, say, strictOpenAI } from "../../support/fake/openai.ts";
import { place } from "../../support/run.ts";

const TURNS = Number(process.env.ZZ_RUNS ?? 20);
test(`${TURNS} turns with edits: a prefix cache would reuse more than nine tenths of what is sent`, async (t) => {
  const where = place();
  const put = (name: string, text: string) => writeFileSync(join(where.cwd, name), text);
  put("package.json", "{}");
  put("AGENTS.md", "Tabs.\n");
  for (let i = 0; i < 40; i++)
    put(`part${i}.ts`, `export function part${i}(a: number) {\n  return a + ${i};\n}\n`);
  let [turn, round] = [0, 0];
  const script: Script = () => {
    const path = `part${turn % 40}.ts`;
    const edit = { path, old_string: "  return a", new_string: `  return ${turn} * a` };
    const also = { path: `more${turn}.ts`, content: `export const more${turn} = ${turn};\n` };
    const both = call(["edit_file", edit], ["write_file", also]);
    return [call(["read_file", { path }]), both, say(`Done ${turn}.`)][round++]!;
  };
  const fake = await strictOpenAI(128_000, script);
  t.after(fake.close);
  const how = { root: where.cwd, home: where.home, model: "openai/m", baseUrl: fake.url, key: "x" };
  const settings = { symbols: { map: "always" } } as never;
  await using zz = await embed({ ...how, allow: { write: true }, settings });
  const chat = await zz.chat();
  for (turn = 1; turn <= TURNS; turn++) {
    round = 0;
    // the person works, too
    appendFileSync(join(where.cwd, `part${(turn + 7) % 40}.ts`), `export const own${turn} = 1;\n`);
    equal((await chat.ask(`turn ${turn}: change it`)).trim(), `Done ${turn}.`);
  }
  deepEqual(fake.refusals, []);
  const sent = fake.requests.map(({ body }) => JSON.stringify([body.tools, ...body.messages]));
  let [all, reused] = [0, 0];
  for (const [i, text] of sent.entries()) {
    const before = sent[i - 1] ?? "";
    let same = 0;
    while (same < before.length && before[same] === text[same]) same++;
    all += text.length;
    reused += same;
  }
  const maps = fake.requests
    .at(-1)!
    .body.messages.filter(({ content }: any) => content?.includes("--- REPO MAP ---"));
  t.diagnostic(
    `${((100 * reused) / all).toFixed(1)} % of ${sent.length} requests reused; ${maps.length} maps`,
  );
  ok(maps.length > 2, `${maps.length} maps`);
  ok(reused / all > 0.9, `${reused / all}`);
  const prompts = new Set(fake.requests.map(({ body }) => body.messages[0].content));
  equal(prompts.size, 1, "the prompt stays byte for byte");
});
