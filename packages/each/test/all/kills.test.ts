// What kills leave of a run.
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { test } from "node:test";
import { askable, refuse, say } from "../../../../test/support/fake/openai.ts";
import { rateWindows } from "../../../../test/support/paced.ts";
import { place, type Ran, zzProcess } from "../../../../test/support/run.ts";
import { waitFor } from "../../../../test/support/wait.ts";

const INPUTS = 1_000;
const KILLS = 10;
const RATE = 8;
const WINDOW_MS = 200;

test("1,000 inputs with three failures in ten and ten kill -9: each has one answer, in order, and the server never gets more than it takes", async () => {
  const windows = rateWindows(RATE, WINDOW_MS);
  const seen = new Map<string, number>(); // answers that were sent, by input
  let count = 0;
  const model = await askable(({ body }) => {
    const input = /item \d+/.exec(body.messages.at(-1).content)![0];
    const told = windows.count();
    if (count++ % 10 < 3) return refuse(500, { error: { message: "no" } }, { "retry-after": "0" });
    seen.set(input, (seen.get(input) ?? 0) + 1);
    const answer = say(`about ${input}`);
    return { ...answer, headers: { ...answer.headers, ...told } };
  });
  const where = place();
  const lines = Array.from({ length: INPUTS }, (_, n) => `item ${n}`);
  for (let kills = 0; kills < KILLS; kills++) {
    let child: ChildProcess | undefined;
    const before = seen.size;
    const how = {
      started: (one: ChildProcess) => void (child = one),
      ...(kills === 0 && { input: lines.join("\n") }),
    };
    const args = kills === 0 ? ["--each-line", "Say."] : ["--each", "--resume"];
    const ended = zzProcess(where, [...model.args, "--no-tools", "--jobs", "8", ...args], how);
    await waitFor("answers", () => seen.size >= before + 60);
    child!.kill("SIGKILL");
    await ended;
  }
  const last = await zzProcess(where, [
    ...model.args,
    "--no-tools",
    "--jobs",
    "8",
    "--each",
    "--resume",
  ]);
  assert.equal(last.code, 0, last.stderr.slice(-2000));
  const rows = last.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    rows.map(({ input, answer }) => [input, answer]),
    lines.map((line) => [line, `about ${line}`]),
  );
  const twice = [...seen.values()].reduce((sum, times) => sum + times - 1, 0);
  assert.deepEqual(windows.tooMany(), []);
  assert.ok(twice <= KILLS * 8, `${twice} were asked again, more than were under way at the kills`);
});

test("a fold that is killed between its requests asks only what is missing", async () => {
  const folds: string[] = [];
  const asked = (body: any): string => body.messages.at(-1).content;
  const model = await askable(({ body }) => {
    const text = asked(body);
    if (!text.startsWith("Sum up.")) return say("word ".repeat(60));
    folds.push(text);
    // each second fold that is asked for hangs, until its zz is killed
    return folds.length % 2 ? say("a sum") : { ending: "hang" };
  });
  const where = place({}, { window: 2000 });
  const input = Array.from({ length: 60 }, (_, n) => `item ${n}`).join("\n");
  const args = [...model.args, "--no-tools", "--system", "S", "--jobs", "1"];
  const first = ["--reduce", "Sum up.", "--each-line", "Say."];
  for (let kills = 0; ; kills++) {
    let child: ChildProcess | undefined;
    const before = folds.length;
    const ended = zzProcess(where, [...args, ...(kills ? ["--each", "--resume"] : first)], {
      started: (process: ChildProcess) => void (child = process),
      ...(kills === 0 && { input }),
    });
    let ran: Ran | undefined;
    void ended.then((result) => (ran = result));
    await waitFor("two folds, or the end", () => ran || folds.length === before + 2);
    child!.kill("SIGKILL");
    await ended;
    if (ran?.code !== 0) continue;
    assert.equal(ran.stdout, "a sum\n");
    break;
  }
  const answered = folds.filter((_, i) => i % 2 === 0);
  assert.ok(answered.length > 3);
  assert.equal(new Set(answered).size, answered.length, "a fold that was kept is not asked again");
});
