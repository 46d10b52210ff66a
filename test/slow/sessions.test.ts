// What sessions cost when they are long and many.
import { equal, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { listSessions, openSession } from "../../kernel/sessions.ts";
import { median, slowness } from "../support/machine.ts";
import { place, WAYS } from "../support/run.ts";

const MANY = 100_000;
const SESSIONS = 10_000;
const { home } = place();
const folder = join(home, "sessions");
mkdirSync(folder, { recursive: true });

const at = new Date().toISOString();
const header = (id: string) => ({ zz: 1 as const, id, at, root: "/home/me/project", model: "openai/m", title: "Why?" });
const message = (i: number) => ({
  role: "user" as const,
  text: `Question ${i}: why does the build fail in src/parse/tokens.ts when the flag is set? `.repeat(2),
});
const entries = Array.from(
  { length: MANY },
  (_, i) => `${JSON.stringify({ id: i + 1, parent: i || null, at, type: "message", message: message(i) })}\n`,
);
const lay = (id: string, count: number) =>
  writeFileSync(join(folder, `${id}.jsonl`), `${JSON.stringify(header(id))}\n${entries.slice(0, count).join("")}`);
const loud = (text: string) => {
  throw new Error(text);
};
function timed(run: () => void): number {
  const started = performance.now();
  run();
  return performance.now() - started;
}
const often = (times: number, run: () => void) => median(Array.from({ length: times }, () => timed(run)));

test("An append costs the same at entry 100,000 as at entry 10", (t) => {
  lay("long", MANY);
  const long = openSession(home, "long", loud);
  const cost: { short: number[]; long: number[] } = { short: [], long: [] };
  for (let block = 0; block < 210; block++) {
    lay("short", 10);
    const short = openSession(home, "short", loud);
    // The two take turns, so that whatever else the machine does strikes both alike.
    for (let i = 0; i < 20; i++)
      for (const [name, session] of Object.entries({ short, long }) as ["short" | "long", typeof long][]) {
        const took = timed(() => session.append("message", { message: message(i) }));
        if (block >= 10) cost[name].push(took * 1000); // the first are for the compiler
      }
    short.close();
  }
  equal(long.entries.length, MANY + 210 * 20);
  long.close();
  const [early, late] = [median(cost.short), median(cost.long)];
  t.diagnostic(
    `${early.toFixed(1)} µs at entry 10, ${late.toFixed(1)} µs at entry 100,000: ${(late / early).toFixed(2)} times`,
  );
  ok(late / early < 1.5, `${late / early}`);
});

test("A session of 100,000 entries opens in under 1 s", (t) => {
  lay("long", MANY);
  const ms = often(5, () => {
    const session = openSession(home, "long", loud);
    equal(session.branch().length, MANY);
    session.close();
  });
  t.diagnostic(`opened, its branch taken, in ${ms.toFixed(0)} ms`);
  ok(ms < 1_000 * slowness(), `${ms}`);
});

test("10,000 sessions are listed in under 0.3 s", (t) => {
  for (let i = 0; i < SESSIONS; i++) lay(`20260101-${String(i).padStart(6, "0")}-aaaaaaaa`, 10);
  const ms = often(5, () => ok(listSessions(home).length >= SESSIONS));
  const whole = often(5, () => {
    const [command, file] = WAYS.dist;
    const { status, stdout } = spawnSync(command, [file, "--sessions", "--home", home], { maxBuffer: 1 << 28 });
    ok(status === 0 && String(stdout).split("\n").length > SESSIONS);
  });
  const slow = slowness();
  t.diagnostic(`listed in ${ms.toFixed(0)} ms, by the whole of zz --sessions in ${whole.toFixed(0)} ms`);
  ok(ms < 300 * slow && whole < 500 * slow, `${ms} ${whole}`);
});
