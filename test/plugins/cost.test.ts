// What a conversation costs, by the person's prices or those that a provider tells, and the limit
// at which zz asks.
import { equal, match } from "node:assert/strict";
import { describe, test } from "node:test";
import { harness } from "zz/test";
import { fakeOpenAI, say } from "../support/fake/openai.ts";
import { having } from "../support/having.ts";
import { zz } from "../support/run.ts";

const TOLD = [
  {
    id: "m",
    context_length: 8192,
    pricing: { prompt: "0.001", completion: "0.01", input_cache_read: "" },
  },
];

/** Lines to one zz, whose provider tells what its model costs. */
async function session(lines: string[], settings: object = {}, told = TOLD) {
  const fake = await fakeOpenAI([say("Hi")], told);
  const where = having({ "~/zz.config.json": settings });
  const args = ["-m", "openai/m", "--base-url", fake.url, "--key", "k"];
  const runs = [];
  for (const line of lines)
    runs.push(await zz(where, [...args, ...(runs.length ? ["--continue"] : []), "--once", line]));
  await fake.close();
  return { runs, fake };
}

test("/cost takes the price that the provider tells, but the person's before it", async () => {
  const free = { prices: { "openai/m": { input: 0, output: 0 } } };
  for (const [price, settings] of Object.entries({ "0.1510": {}, "0.0000": free })) {
    const { runs } = await session(["hi", "/cost"], settings);
    match(runs[1]!.stdout + runs[1]!.stderr, new RegExp(`openai/m +61 in +9 out +${price}`));
  }
});

test("/cost without a price shows the tokens, and how to give one", async () => {
  const { runs } = await session(["hi", "/cost"], {}, []);
  match(
    runs[1]!.stdout + runs[1]!.stderr,
    /openai\/m +61 in +9 out +no price\nNo price is known\. [^\n]*\n\/config prices \{"openai\/m"/,
  );
});

describe("a budget", { concurrency: 2 }, () => {
  test("that is used up stops a script with a sentence", async () => {
    const { runs, fake } = await session(["one", "two"], { budget: 0.1 });
    equal(runs.map(({ code, stdout }) => `${code} ${stdout}`).join(), "0 Hi\n,1 ");
    match(
      runs[1]!.stderr,
      /This conversation cost about \$0\.15, and \$0\.10 is its budget\. Raise "budget" in the/,
    );
    equal(fake.requests.length, 1);
  });
  for (const [answer, sent] of Object.entries({ yes: 3, no: 1 } as const))
    test(`is asked about, and "${answer}" is heeded for as much again`, async (t) => {
      const usage = { input: 1000, output: 0 };
      const script = ["one", "two", "three"].map((text) => ({ text, usage }));
      const settings = { budget: 0.01, prices: { "script/model": { input: 10, output: 0 } } };
      const it = await harness({ own: true, settings, script, answer: answer as "yes" | "no" }, t);
      await it.ask("hi");
      for (const line of ["again", "and again"]) await it.ask(line).catch(() => {});
      match(
        it.questions.join("\n"),
        /This conversation cost about \$\d+\.\d\d\. Go on for \$0\.01 more\?/,
      );
      equal(it.requests.length, sent);
    });
});
