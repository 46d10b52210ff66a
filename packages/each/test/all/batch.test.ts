// --batch: the inputs of a run by the batch interfaces of three providers.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  type BatchFake,
  fakeBatches,
  type Outcome,
} from "../../../../test/support/fake/batches.ts";
import { listen } from "../../../../test/support/fake/http.ts";
import { type Place, place, type Ran, zz } from "../../../../test/support/run.ts";

/** How each provider is asked, and writes its answers. */
const PROVIDERS = {
  openai: {
    args: (url: string) => ["-m", "openai/m", "--base-url", `${url}/v1`, "--key", "x"],
    asked: (body: any): string => body.messages.at(-1).content,
    answer: (content: string) => ({
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
      usage: { prompt_tokens: 61, completion_tokens: 9, total_tokens: 70 },
    }),
  },
  responses: {
    args: (url: string) => ["-m", "openai/gpt-5", "--base-url", `${url}/v1`, "--key", "x"],
    asked: (body: any): string => body.input.at(-1).content[0].text,
    answer: (text: string) => ({
      object: "response",
      status: "completed",
      output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text }] }],
      usage: { input_tokens: 61, output_tokens: 9, total_tokens: 70 },
    }),
  },
  anthropic: {
    args: (url: string) => ["-m", "anthropic/m", "--base-url", url, "--key", "x"],
    asked: (body: any): string => textOf(body.messages.at(-1).content),
    answer: (text: string) => ({
      id: "msg_1",
      type: "message",
      role: "assistant",
      content: [{ type: "text", text }],
      stop_reason: "end_turn",
      usage: { input_tokens: 61, output_tokens: 9 },
    }),
  },
  gemini: {
    args: (url: string) => ["-m", "gemini/m", "--base-url", `${url}/v1beta`, "--key", "x"],
    asked: (body: any): string => body.contents.at(-1).parts[0].text,
    answer: (text: string) => ({
      candidates: [{ content: { role: "model", parts: [{ text }] }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 61, candidatesTokenCount: 9 },
    }),
  },
};
const textOf = (content: any): string =>
  typeof content === "string" ? content : content.at(-1).text;
const lineOf = (text: string): string => /INPUT ---\n(.*)/.exec(text)![1]!;
const rows = ({ stdout }: Ran): any[] =>
  stdout
    .trim()
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
const INPUT = "one\ntwo\nthree\n";
const ANSWERS = ["about one", "about two", "about three"];

interface Scene {
  fake: BatchFake;
  where: Place;
  run(...more: string[]): Promise<Ran>;
  resume(...more: string[]): Promise<Ran>;
}
async function scene(
  t: TestContext,
  provider: keyof typeof PROVIDERS,
  outcome: (input: string) => Outcome | undefined = () => undefined,
): Promise<Scene> {
  const { args, asked, answer } = PROVIDERS[provider];
  const fake = await fakeBatches(t, (body) => {
    const input = lineOf(asked(body));
    return outcome(input) ?? { body: answer(`about ${input}`) };
  });
  const where = place();
  const flags = args(fake.url);
  const run = (...more: string[]) =>
    zz(where, [...flags, "--batch", ...more, "--each-line", "Say."], { input: INPUT });
  return {
    fake,
    where,
    run,
    resume: (...more) => zz(where, [...flags, ...more, "--each", "--resume"]),
  };
}

for (const provider of Object.keys(PROVIDERS) as (keyof typeof PROVIDERS)[])
  test(`${provider}: a run is submitted, zz ends, and comes back for the answers`, async (t) => {
    const { fake, run, resume } = await scene(t, provider);
    fake.isHeld = true;
    const first = await run();
    assert.equal(first.code, 3, first.stderr);
    assert.equal(first.stdout, "");
    assert.match(first.stderr, /Not answered yet: 3 inputs in 1 batch, 0 done\..*--resume/);
    assert.equal((await resume()).code, 3);
    fake.isHeld = false;
    const last = await resume();
    assert.equal(last.code, 0, last.stderr);
    assert.deepEqual(
      rows(last).map(({ answer }) => answer),
      ANSWERS,
    );
    assert.deepEqual(rows(last)[0].usage, { input: 61, output: 9 });
    assert.equal(fake.batches.length, 1);
    const posts = fake.seen.filter((route) => route.startsWith("POST"));
    assert.equal(posts.length, fake.uploads.length + 1, "nothing is asked outside of the batch");
  });

for (const provider of ["openai", "anthropic", "gemini"] as const)
  test(`${provider}: what expired or failed for a while is submitted again, a refusal is reported`, async (t) => {
    const times = new Map<string, number>();
    const { fake, run } = await scene(t, provider, (input) => {
      if (input === "one") return { status: 400, words: "the input is not allowed" };
      const isFirst = fake.batches.length === 1;
      times.set(input, fake.batches.length);
      if (isFirst) return input === "two" ? "expired" : { status: 500, words: "overloaded" };
      return undefined;
    });
    const ran = await run("--wait");
    assert.deepEqual(
      rows(ran).map(({ answer, error }) => answer ?? error),
      ["the input is not allowed", "about two", "about three"],
    );
    assert.equal(ran.code, 1);
    assert.equal(fake.batches.length, 2);
    assert.deepEqual(fake.batches[1]!.requests.length, 2);
  });

test("many inputs are split by the size of a batch, each is in one", async (t) => {
  const { fake, where } = await scene(t, "gemini");
  const input = Array.from({ length: 5 }, (_, n) => `${n}${"x".repeat(2_500_000)}\n`).join("");
  const args = [...PROVIDERS.gemini.args(fake.url), "--batch", "--each-line", "Say."];
  const ran = await zz(where, [...args, "--out", "{n}.txt"], { input });
  assert.equal(ran.code, 0, ran.stderr);
  const firsts = fake.batches.map(({ requests }) =>
    requests.map(([, body]) => lineOf(PROVIDERS.gemini.asked(body))[0]),
  );
  assert.deepEqual(firsts, [
    ["0", "1", "2"],
    ["3", "4"],
  ]);
});

test("what a batch cannot do is said: no interface, a refusal, a budget that is too small", async (t) => {
  const refusal = "Enqueued token limit reached";
  const cases: [
    what: string,
    change: (scene: Scene) => void,
    more: string[],
    RegExp,
    code: number,
  ][] = [
    [
      "a server without batches",
      ({ fake }) => void (fake.hides = /batches|files/),
      [],
      /Cannot use --batch: this provider has no batch interface .* answered 404/,
      2,
    ],
    [
      "a batch that is refused",
      ({ fake }) => void (fake.refusal = refusal),
      ["--wait"],
      /The batch was refused: Enqueued token limit reached.*0 of 3 are answered/,
      1,
    ],
    ["a small budget", () => {}, ["--budget", "10t"], /the budget is spent\. 0 of 3/, 3],
  ];
  for (const [what, change, more, told, code] of cases)
    await t.test(what, async (t) => {
      const set = await scene(t, "openai");
      change(set);
      const ran = await set.run(...more);
      assert.match(ran.stderr, told);
      assert.equal(ran.code, code);
    });
  await t.test("a provider of another kind", async (t) => {
    const url = await listen(t, (_, response) => void response.end('{"models":[]}'));
    const args = ["-m", "ollama/m", "--base-url", url, "--batch", "--each-line", "Say."];
    const ran = await zz(place(), args, { input: "x" });
    assert.match(ran.stderr, /this provider has no batch interface that zz knows/);
    assert.equal(ran.code, 2);
  });
});

test("a batch that the provider deleted is submitted again, and --dry-run submits nothing", async (t) => {
  const { fake, run, resume } = await scene(t, "openai");
  fake.isHeld = true;
  await run();
  fake.forget();
  fake.isHeld = false;
  const ran = await resume("--wait");
  assert.match(ran.stderr, /no longer has the batch/);
  assert.deepEqual(
    rows(ran).map(({ answer }) => answer),
    ANSWERS,
  );
  const before = fake.seen.length;
  assert.match((await run("--dry-run")).stdout, /3 requests/);
  assert.equal(fake.seen.length, before);
});
