// A long run over three workers, through kills of workers, of the server and of the zz that asked.
import { deepEqual, equal, ok } from "node:assert/strict";
import { describe } from "node:test";
import { askable, refuse, say } from "../../../../test/support/fake/openai.ts";
import { needs } from "../../../../test/support/needs.ts";
import { place } from "../../../../test/support/run.ts";
import { waitFor } from "../../../../test/support/wait.ts";
import { LASTING, redisServer } from "../../../redis/test/server.ts";
import { rowsOf, start, worker } from "../machines.ts";

const test = needs("redis-server");
const INPUTS = 1_000;
const RATE = 60; // requests in a window
const WINDOW_MS = 500;

/** A model that fails three times in ten, and refuses what goes beyond its rate. */
async function strictModel() {
  const seen = new Map<string, number>(); // answers that were sent, by input
  let [count, used, ends, refused, most] = [0, 0, 0, 0, 0];
  const model = await askable(({ body }) => {
    const now = performance.now();
    if (now >= ends) [used, ends] = [0, now + WINDOW_MS];
    most = Math.max(most, ++used);
    if (used > RATE) {
      refused++;
      return refuse(429, { error: { message: "too fast" } }, { "retry-after": "1" });
    }
    if (count++ % 10 < 3) return refuse(500, { error: { message: "no" } }, { "retry-after": "0" });
    const input = /item \d+/.exec(body.messages.at(-1).content)![0];
    seen.set(input, (seen.get(input) ?? 0) + 1);
    const step = say(`about ${input}`);
    const headers = {
      ...step.headers,
      "x-ratelimit-limit-requests": `${RATE}`,
      "x-ratelimit-remaining-requests": `${RATE - used}`,
      "x-ratelimit-reset-requests": `${Math.ceil(ends - now)}ms`,
    };
    return { ...step, headers };
  });
  return { ...model, seen, told: () => ({ refused, most }) };
}

describe("a run over several machines", () => {
  test("1,000 inputs, three failures in ten, three workers of which one is killed three times, and the zz that asked and the server once each: each has one answer, in order, within the server's rate", async () => {
    const server = await redisServer(...LASTING);
    const model = await strictModel();
    const work = () => worker(server.url, [...model.args, "--jobs", "8"]);
    const steady = [work(), work()];
    let victim = work();
    const lines = Array.from({ length: INPUTS }, (_, n) => `item ${n}`);
    const asking = ["-m", "openai/m", "--no-tools", "--queue", server.url];
    const home = place();
    const first = start(home, [...asking, "--each-line", "Say."], lines.join("\n"));
    const more = async (count: number) => {
      const before = model.seen.size;
      await waitFor(
        `${count} more than ${before} answers`,
        () => model.seen.size >= before + count,
        () => [first, ...steady, victim].map((one) => one.said().slice(-1_000)).join("\n--\n"),
      );
    };
    for (let kills = 0; kills < 3; kills++) {
      await more(100);
      victim.child().kill("SIGKILL");
      await victim.ended;
      victim = work();
    }
    await more(100);
    await server.kill();
    await server.start();
    await more(100);
    first.child().kill("SIGKILL");
    await first.ended;
    const last = await start(home, [...asking, "--each", "--resume"]).ended;
    deepEqual(
      rowsOf(last).filter(({ error }) => error),
      [],
    );
    equal(last.code, 0, last.stderr.slice(-2_000));
    deepEqual(
      rowsOf(last).map(({ input, answer }) => [input, answer]),
      lines.map((line) => [line, `about ${line}`]),
    );
    const { refused, most } = model.told();
    equal(refused, 0, `${most} in one window of ${RATE}`);
    const twice = [...model.seen.values()].reduce((sum, times) => sum + times - 1, 0);
    ok(twice <= 3 * 8 + 24, `${twice} were asked again, more than were under way at the kills`);
    for (const one of [...steady, victim]) one.child().kill("SIGINT");
    for (const one of [...steady, victim]) equal((await one.ended).code, 130);
  });
});
