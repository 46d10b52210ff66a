// A zz that is killed while it has to do with batches: nothing is submitted twice, nothing is lost.
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { test } from "node:test";
import { fakeBatches } from "../../../../test/support/fake/batches.ts";
import { place, zzProcess } from "../../../../test/support/run.ts";

const INPUTS = ["one", "two", "three"];
const nameIn = (body: unknown): string => /INPUT ---\\n(\w+)/.exec(JSON.stringify(body))![1]!;
const PROVIDERS = {
  openai: {
    model: "openai/m",
    path: "/v1",
    answer: (content: string) => ({
      choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    }),
  },
  anthropic: {
    model: "anthropic/m",
    path: "",
    answer: (text: string) => ({
      type: "message",
      role: "assistant",
      content: [{ type: "text", text }],
      stop_reason: "end_turn",
    }),
  },
  gemini: {
    model: "gemini/m",
    path: "/v1beta",
    answer: (text: string) => ({
      candidates: [{ content: { role: "model", parts: [{ text }] }, finishReason: "STOP" }],
    }),
  },
};

/** Where each is killed: after the request had its effect, before its answer arrived. */
const KILLS: [provider: keyof typeof PROVIDERS, at: string, route: RegExp][] = [
  ["openai", "after the upload", /^POST \/v1\/files/],
  ["openai", "after the batch was made", /^POST \/v1\/batches/],
  ["openai", "while it is looked at", /^GET \/v1\/batches\/b/],
  ["openai", "while its answers arrive", /content$/],
  ["anthropic", "after the batch was made", /^POST \/v1\/messages\/batches/],
  ["anthropic", "while its answers arrive", /results$/],
  ["gemini", "after the batch was made", /^POST \/v1beta\/models/],
  ["gemini", "while its answers arrive", /^GET \/v1beta\/batches\/b/],
];

for (const [provider, at, route] of KILLS)
  test(`${provider}: killed ${at}, a run submits nothing twice`, async (t) => {
    const { model, path, answer } = PROVIDERS[provider];
    const fake = await fakeBatches(t, (body) => ({ body: answer(`about ${nameIn(body)}`) }));
    let child: ChildProcess | undefined;
    let kills = 0;
    fake.before = (seen) => {
      if (kills || !route.test(seen)) return undefined;
      kills++;
      child!.kill("SIGKILL");
      return ended;
    };
    const where = place();
    const flags = ["-m", model, "--base-url", fake.url + path, "--key", "x", "--wait"];
    const ended = zzProcess(where, [...flags, "--batch", "--each-line", "Say."], {
      input: INPUTS.join("\n"),
      started: (process) => void (child = process),
    });
    await ended;
    const last = await zzProcess(where, [...flags, "--each", "--resume"]);
    assert.equal(last.code, 0, last.stderr);
    const answers = last.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).answer);
    assert.deepEqual(
      answers,
      INPUTS.map((input) => `about ${input}`),
    );
    assert.equal(kills, 1);
    assert.equal(fake.batches.length, 1);
    assert.equal(fake.uploads.length, provider === "openai" ? 1 : 0);
  });

test("anthropic: a batch of another run with as many requests is not taken for the own one", async (t) => {
  const { answer } = PROVIDERS.anthropic;
  const fake = await fakeBatches(t, (body) => ({ body: answer(`about ${nameIn(body)}`) }));
  const flags = ["-m", "anthropic/m", "--base-url", fake.url, "--key", "x", "--wait"];
  let child: ChildProcess | undefined;
  const other = place();
  let isOther = false;
  // killed before its own is made: the server never saw it, and has another's of the same size
  fake.hides = /^POST/;
  fake.before = (seen) => {
    if (isOther || !/^POST .*batches/.test(seen)) return undefined;
    isOther = true;
    child!.kill("SIGKILL");
    return ended;
  };
  const where = place();
  const args = [...flags, "--batch", "--each-line", "Say."];
  const ended = zzProcess(where, args, {
    input: INPUTS.join("\n"),
    started: (process) => void (child = process),
  });
  await ended;
  delete fake.hides;
  fake.isHeld = true;
  await zzProcess(
    other,
    args.filter((flag) => flag !== "--wait"),
    { input: "four\nfive\nsix" },
  );
  const waiting = zzProcess(where, [...flags, "--each", "--resume"]);
  fake.before = (seen) => {
    if (/^GET .*batches\/msg/.test(seen)) fake.isHeld = false;
  };
  const last = await waiting;
  assert.equal(last.code, 0, last.stderr);
  const answers = last.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).answer);
  assert.deepEqual(
    answers,
    INPUTS.map((input) => `about ${input}`),
  );
  assert.equal(fake.batches.length, 2);
});
