// --schema, with the whole program against a server: stdout holds exactly one JSON value, or
// nothing.
import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { Script, Step } from "../../../test/support/fake/http.ts";
import * as ollama from "../../../test/support/fake/ollama.ts";
import { call, DONE, delta, refuse, say, stream } from "../../../test/support/fake/openai.ts";
import { asks } from "../../../test/support/having.ts";
import { place, zz } from "../../../test/support/run.ts";

const INVOICE = "ACME Ltd. Total: 12.50, due on the first of May";
const GOOD = '{"vendor": "ACME", "total": 12.50, "due": "1 May"}';
const PLAIN = '{"vendor":"ACME","total":12.50,"due":"1 May"}\n';
const BAD = '{"vendor": "ACME", "total": "a lot"}';

async function asked(script: Script, args: string[] = [], input = INVOICE) {
  const all = ["--once", "--schema", "vendor, total float, due", ...args];
  const ran = await asks(place({ "a.txt": "content of a\n" }), script, all, { input });
  return { ...ran, said: ran.sent.map(({ messages }) => messages.at(-1).content as string) };
}

describe("--schema", { concurrency: 2 }, () => {
  for (const text of [GOOD, `Sure! Here it is:\n\n${GOOD}\n\nAnything else?`])
    test(`prints the JSON of an answer: ${text}`, async () => {
      const ran = await asked([say(text)], ["extract"]);
      deepEqual([ran.stdout, ran.stderr, ran.code, ran.sent.length], [PLAIN, "", 0, 1]);
      const [{ messages }] = ran.sent;
      match(
        messages[0].content,
        /--- ANSWER ---\n.*without tool calls.*\n\{"type":"object","properties":\{"vendor"/s,
      );
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

  const CUT_OFF = say('{"vendor": "AC', "length");
  const REFUSAL = stream(delta({ refusal: "I will not." }), delta({}, "stop"), DONE);
  const NONE: [what: string, script: Script, requests: number, code: number, why: RegExp, args?: string[]][] = [
    ["three answers that do not fit are told", [say(BAD)], 3, 1, /^The answer does not fit the schema, after 3 tries: .*total must be a number\. .*The last answer was:\n\{.*"total": "a lot"\}\n$/],
    ["three that are empty", [say("")], 3, 1, /^The answer does not fit the schema, after 3 tries: it is empty\. Ask for less, or another model\.\n$/],
    ["a refusal is not asked for again", [REFUSAL], 1, 1, /^The model refused to answer: I will not\.\n$/],
    ["what the content filter withheld", [say('{"vendor": "A', "content_filter")], 1, 3, /content filter withheld/],
    ["an answer that is cut again and again is given up", [CUT_OFF], 9, 1, /the output limit cut it off\. /],
    ["--extract beside it is wrong usage", [say(GOOD)], 0, 2, /Cannot use --schema with --extract/, ["-x"]],
  ]; // biome-ignore format: a table
  for (const [what, script, requests, code, why, args = []] of NONE)
    test(`prints nothing: ${what}`, async () => {
      const ran = await asked(script, [...args, "extract"]);
      deepEqual([ran.stdout, ran.code, ran.sent.length], ["", code, requests]);
      match(ran.stderr, why);
    });

  const no = {
    error: {
      message: "'json_schema' is not supported by this model",
      type: "invalid_request_error",
    },
  };
  const ROUNDS: [what: string, script: Step[], last: RegExp][] = [
    ["goes on twice after the output limit", [CUT_OFF, say('ME", "total": 12.50,', "length"), say('"due": "1 May"}')], /^Your JSON was cut off/],
    ["begins again after the output limit", [CUT_OFF, say(GOOD)], /^Your JSON was cut off/],
    ["comes after a round of tools", [call(["read_file", { path: "a.txt" }]), say(GOOD)], /content of a/],
    ["is asked for in words alone, where a server knows no schemas", [refuse(400, no), say(GOOD)], /ACME Ltd/],
  ]; // biome-ignore format: a table
  for (const [what, script, last] of ROUNDS)
    test(`an answer that ${what}`, async () => {
      const ran = await asked(script, ["extract"]);
      deepEqual([ran.stdout, ran.stderr, ran.code, ran.sent.length], [PLAIN, "", 0, script.length]);
      match(ran.said.at(-1)!, last);
      equal("response_format" in ran.sent.at(-1), !/schemas|limit/.test(what));
    });

  test("with --json `data` is its value, and usage that of all tries", async () => {
    const { data, usage } = JSON.parse(
      (await asked([say(BAD), say(GOOD)], ["--json", "extract"])).stdout,
    );
    deepEqual([data, usage], [JSON.parse(GOOD), { input: 122, output: 18 }]);
  });

  test("numbers stay as they were written, and defaults are filled in", async () => {
    const schema =
      '{"type": "object", "properties": {"id": {"type": "integer"}, "unit": {"default": "m"}}}';
    const exact = await asked(
      [say('{"id": 12345678901234567890, "unit": "k"}')],
      ["--schema", schema, "x"],
    );
    equal(exact.stdout, '{"id":12345678901234567890,"unit":"k"}\n');
    const filled = await asked([say('{"id": 1}')], ["--schema", schema, "x"]);
    equal(filled.stdout, '{"id":1,"unit":"m"}\n');
  });
});

describe("--schema with Ollama", () => {
  const run = async (script: Script, args: string[]) => {
    const where = place();
    const fake = await ollama.fakeOllama(script);
    after(() => fake.close());
    const env = { OLLAMA_HOST: fake.url };
    const ran = await zz(where, ["-m", "ollama/m", "--once", "--schema", "n int", ...args, "x"], {
      env,
    });
    return {
      ...ran,
      sent: fake.requests.filter(({ path }) => path.endsWith("/api/chat")).map(({ body }) => body),
    };
  };

  test("its format is the schema where no tools are offered", async () => {
    const ran = await run([ollama.say('{"n": 1}')], ["--no-tools"]);
    deepEqual([ran.stdout, ran.stderr, ran.code], ['{"n":1}\n', "", 0]);
    deepEqual(ran.sent[0].format.properties, { n: { type: "integer" } });
  });

  test("with tools, which a format would forbid, it is asked in words first", async () => {
    const ran = await run([ollama.say("One."), ollama.say('{"n": 1}')], []);
    deepEqual([ran.stdout, ran.stderr, ran.code], ['{"n":1}\n', "", 0]);
    deepEqual(
      [ran.sent[0].format, ran.sent[1].format.required, ran.sent[1].tools],
      [undefined, ["n"], undefined],
    );
    doesNotMatch(JSON.stringify(ran.sent[0].messages), /"format"/);
  });
});
