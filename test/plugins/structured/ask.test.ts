// --schema, with the whole program against a server: stdout holds exactly one JSON value, or nothing.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { Script, Step } from "../../support/fake/http.ts";
import * as ollama from "../../support/fake/ollama.ts";
import { call, DONE, delta, fakeOpenAI, refuse, say, stream } from "../../support/fake/openai.ts";
import { place, zz } from "../../support/run.ts";

const INVOICE = "ACME Ltd. Total: 12.50, due on the first of May";
const GOOD = '{"vendor": "ACME", "total": 12.50, "due": "1 May"}';
const PLAIN = '{"vendor":"ACME","total":12.50,"due":"1 May"}\n';
const BAD = '{"vendor": "ACME", "total": "a lot"}';

async function asked(script: Script, args: string[] = [], input = INVOICE) {
  const where = place();
  const fake = await fakeOpenAI(script);
  after(() => fake.close());
  writeFileSync(join(where.cwd, "a.txt"), "content of a\n");
  const asks = ["-m", "openai/m", "--base-url", fake.url, "--key", "x", "--once"];
  const ran = await zz(where, [...asks, "--schema", "vendor, total float, due", ...args], { input });
  const sent = fake.requests.map((request) => request.body);
  return { ...ran, where, sent, said: sent.map(({ messages }) => messages.at(-1).content as string) };
}

describe("--schema", { concurrency: 2 }, () => {
  for (const text of [GOOD, `Sure! Here it is:\n\n${GOOD}\n\nAnything else?`])
    test(`prints the JSON of an answer: ${text}`, async () => {
      const ran = await asked([say(text)], ["extract"]);
      deepEqual([ran.stdout, ran.stderr, ran.code, ran.sent.length], [PLAIN, "", 0, 1]);
      const [{ messages }] = ran.sent;
      match(messages[0].content, /--- ANSWER ---\n.*without tool calls.*\n\{"type":"object","properties":\{"vendor"/s);
      match(messages[1].content, /STDIN[\s\S]*ACME Ltd[\s\S]*extract$/);
    });

  test("asks again in the validator's words, without tools, and keeps only what fits", async () => {
    const ran = await asked([say(BAD), say(GOOD)], ["extract"]);
    deepEqual([ran.stdout, ran.stderr, ran.code, ran.sent.length], [PLAIN, "", 0, 2]);
    match(ran.said[1]!, /^That does not fit: .*due.*; total must be a number\. Answer again/);
    deepEqual([Boolean(ran.sent[0].tools), ran.sent[1].tools], [true, undefined]);
    equal(ran.sent[1].messages.at(-2).content, BAD);
    const kept = ran.where.sessions()[0]!.map(({ message }) => message);
    deepEqual(kept.flatMap((one) => (one?.role === "assistant" ? [one.text] : [])), [PLAIN.trim()]); // biome-ignore format: short
  });

  const BAD_ONES: [name: string, step: Step, why: RegExp][] = [
    ["that does not fit", say(BAD), /total must be a number\. .*The last answer was:\n\{.*"total": "a lot"\}\n$/],
    ["that is empty", say(""), /it is empty\. Ask for less, or another model\.\n$/],
  ];
  for (const [name, step, why] of BAD_ONES)
    test(`after three answers ${name} the text is on stderr, and stdout is empty`, async () => {
      const ran = await asked([step], ["extract"]);
      deepEqual([ran.stdout, ran.code, ran.sent.length], ["", 1, 3]);
      match(ran.stderr, /^The answer does not fit the schema, after 3 tries: /);
      match(ran.stderr, why);
    });

  test("a refusal is not asked for again", async () => {
    const refusal = stream(delta({ refusal: "I will not." }), delta({}, "stop"), DONE);
    const ran = await asked([refusal], ["extract"]);
    deepEqual([ran.stdout, ran.stderr, ran.code], ["", "The model refused to answer: I will not.\n", 1]);
    equal(ran.sent.length, 1);
  });

  test("what the content filter withheld is exit code 3, with nothing on stdout", async () => {
    const ran = await asked([say('{"vendor": "A', "content_filter")], ["extract"]);
    deepEqual([ran.stdout, ran.code], ["", 3]);
    match(ran.stderr, /content filter withheld/);
  });

  const CUT_OFF = say('{"vendor": "AC', "length");
  const CUT: [name: string, steps: Step[]][] = [
    ["goes on twice", [CUT_OFF, say('ME", "total": 12.50,', "length"), say('"due": "1 May"}')]],
    ["begins again", [CUT_OFF, say(GOOD)]],
  ];
  for (const [name, steps] of CUT)
    test(`an answer that the output limit cut ${name}`, async () => {
      const ran = await asked(steps, ["extract"]);
      deepEqual([ran.stdout, ran.stderr, ran.code, ran.sent.length], [PLAIN, "", 0, steps.length]);
      match(ran.said.at(-1)!, /^Your JSON was cut off/);
    });

  test("an answer that is cut again and again is given up, and told", async () => {
    const ran = await asked([CUT_OFF], ["extract"]);
    deepEqual([ran.stdout, ran.code], ["", 1]);
    match(ran.stderr, /the output limit cut it off\. /);
  });

  test("a round of tools comes before it: the schema holds for the last answer", async () => {
    const ran = await asked([call(["read_file", { path: "a.txt" }]), say(GOOD)], ["extract"]);
    deepEqual([ran.stdout, ran.stderr, ran.code, ran.sent.length], [PLAIN, "", 0, 2]);
    match(ran.said[1]!, /content of a/);
  });

  test("with --json `data` is its value, and usage that of all tries", async () => {
    const { data, usage } = JSON.parse((await asked([say(BAD), say(GOOD)], ["--json", "extract"])).stdout);
    deepEqual([data, usage], [JSON.parse(GOOD), { input: 122, output: 18 }]);
  });

  test("numbers stay as they were written, and defaults are filled in", async () => {
    const schema = '{"type": "object", "properties": {"id": {"type": "integer"}, "unit": {"default": "m"}}}';
    const exact = await asked([say('{"id": 12345678901234567890, "unit": "k"}')], ["--schema", schema, "x"]);
    equal(exact.stdout, '{"id":12345678901234567890,"unit":"k"}\n');
    const filled = await asked([say('{"id": 1}')], ["--schema", schema, "x"]);
    equal(filled.stdout, '{"id":1,"unit":"m"}\n');
  });

  test("a server that knows no schemas is asked in words alone", async () => {
    const no = { error: { message: "'json_schema' is not supported by this model", type: "invalid_request_error" } };
    const ran = await asked([refuse(400, no), say(GOOD)], ["extract"]);
    deepEqual([ran.stdout, ran.stderr, ran.code], [PLAIN, "", 0]);
    ok(!("response_format" in ran.sent[1]));
  });

  test("--extract beside it is wrong usage, and nothing is asked", async () => {
    const ran = await asked([say(GOOD)], ["-x", "x"]);
    deepEqual([ran.stdout, ran.code, ran.sent.length], ["", 2, 0]);
    match(ran.stderr, /Cannot use --schema with --extract/);
  });
});

describe("--schema with Ollama", () => {
  const run = async (script: Script, args: string[]) => {
    const where = place();
    const fake = await ollama.fakeOllama(script);
    after(() => fake.close());
    const env = { OLLAMA_HOST: fake.url };
    const ran = await zz(where, ["-m", "ollama/m", "--once", "--schema", "n int", ...args, "x"], { env });
    return { ...ran, sent: fake.requests.filter(({ path }) => path.endsWith("/api/chat")).map(({ body }) => body) };
  };

  test("its format is the schema where no tools are offered", async () => {
    const ran = await run([ollama.say('{"n": 1}')], ["--no-tools"]);
    deepEqual([ran.stdout, ran.stderr, ran.code], ['{"n":1}\n', "", 0]);
    deepEqual(ran.sent[0].format.properties, { n: { type: "integer" } });
  });

  test("with tools, which a format would forbid, it is asked in words first", async () => {
    const ran = await run([ollama.say("One."), ollama.say('{"n": 1}')], []);
    deepEqual([ran.stdout, ran.stderr, ran.code], ['{"n":1}\n', "", 0]);
    deepEqual([ran.sent[0].format, ran.sent[1].format.required, ran.sent[1].tools], [undefined, ["n"], undefined]);
    doesNotMatch(JSON.stringify(ran.sent[0].messages), /"format"/);
  });
});
