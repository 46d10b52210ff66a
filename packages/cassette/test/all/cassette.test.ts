// --record and --replay: what was recorded is answered again, byte for byte, without a server;
// nothing else is.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { Script, Step } from "../../../../test/support/fake/http.ts";
import {
  call,
  DONE,
  delta,
  fakeOpenAI,
  refuse,
  say,
  stream,
} from "../../../../test/support/fake/openai.ts";
import { type Place, place, type Ran, zz } from "../../../../test/support/run.ts";
import { HURRIED } from "../../../../test/support/wires.ts";

const KEY = "sk-canary-0123456789abcdef";
const NOWHERE = "http://127.0.0.1:9/v1";

/** Records a run, and gives what a run without the server says. */
async function twice(script: Script, words: string[], where = place()) {
  const fake = await fakeOpenAI(script);
  const to = (url: string) => ["-m", "openai/m", "--base-url", url];
  const first = await zz(where, [...to(fake.url), "--key", KEY, "--record", "tape", ...words], {
    clock: HURRIED,
  });
  await fake.close();
  const again = await zz(where, [...to(NOWHERE), "-n", "--replay", "tape", ...words], {
    clock: HURRIED,
  });
  return { first, again, where };
}
const told = ({ stdout, stderr, code }: Ran) => [stdout, stderr, code];
const tape = (where: Place): string => readFileSync(join(where.cwd, "tape"), "utf8");

describe("a cassette", { concurrency: 3 }, () => {
  test("answers as the server did, without it and without a key: the first time, and the second", async () => {
    const cut: Step = { ...stream(delta({ content: "half" })), ending: "cut" };
    const { first, again } = await twice([cut, say("Hello, 漢字 🙂.")], ["hi"]);
    for (const { stdout, stderr, code } of [first, again]) {
      deepEqual([stdout, code], ["Hello, 漢字 🙂.\n", 0]);
      match(stderr, /^The connection ended before the answer was complete\. Trying again in .*\n$/);
    }
  });

  test("answers without a key also where a company's server was asked", async () => {
    const { where } = await twice([say("Hello.")], ["hi"]);
    const url = "https://api.openai.com/v1/chat/completions";
    writeFileSync(join(where.cwd, "tape"), tape(where).replace(/http:[^"]*completions/, url));
    deepEqual(told(await zz(where, ["-m", "openai/m", "-n", "--replay", "tape", "hi"])), [
      "Hello.\n",
      "",
      0,
    ]);
  });

  test("needs no model to be named, wherever its server was; one that is named counts", async () => {
    const where = place();
    const fake = await fakeOpenAI([say("Hello.")]);
    const url = fake.url.replace(/v1$/, "");
    const args = ["-m", "openai/m", "--base-url", url, "--key", KEY, "--record", "tape", "hi"];
    await zz(where, args);
    await fake.close();
    const replay = ["-n", "--replay", "tape", "hi"];
    deepEqual(told(await zz(where, replay)), ["Hello.\n", "", 0]);
    const other = await zz(where, ["-m", "openai/other", ...replay]);
    deepEqual([other.stdout, other.code], ["", 2]);
    match(other.stderr, /nothing like this was recorded/);
  });

  test("round by round, with calls that really run", async () => {
    const where = place({ "a.txt": "the needle\n" });
    const script = [call(["read_file", { path: "a.txt" }]), say("Found.")];
    const { first, again } = await twice(script, ["--json", "find it"], where);
    for (const { stdout } of [first, again])
      deepEqual(JSON.parse(stdout).calls, [
        { name: "read_file", args: { path: "a.txt" }, ok: true },
      ]);
    equal(JSON.parse(again.stdout).text, "Found.");
  });

  test("what the model was asked has changed: refused, and nothing is sent", async () => {
    const { where } = await twice([say("x")], ["hi"]);
    const fake = await fakeOpenAI([say("from the server")]);
    after(fake.close);
    const args = ["-m", "openai/m", "--base-url", fake.url, "--replay", "tape"];
    const ran = await zz(where, [...args, "something else"]);
    deepEqual([ran.stdout, ran.code, fake.requests.length], ["", 2, 0]);
    match(
      ran.stderr,
      /^Cannot replay 'tape': nothing like this .*\/chat\/completions, user: something else\)\. /m,
    );
    const other = await zz(where, ["-m", "openai/n", ...args.slice(2), "hi"]);
    equal(other.code, 2, "another model is another question");
  });

  const failures: [what: string, script: Script, said: RegExp][] = [
    ["a refused key", [refuse(401, { error: { message: "No such key." } })], /No such key\./],
    ["a stream that is cut off", Array(3).fill({ ...stream(delta({ content: "half" })), ending: "cut" }), /ended before the answer was complete/],
    ["an error in mid-stream", [stream(delta({ content: "half" }), 'data: {"error":{"message":"No lamps."}}\n\n', DONE)], /No lamps\./],
  ]; // biome-ignore format: one a row
  for (const [what, script, said] of failures)
    test(`${what} fails again, in the same words`, async () => {
      const { first, again } = await twice(script, ["hi"]);
      match(first.stderr, said);
      deepEqual([again.stdout, again.code], [first.stdout, first.code]);
      match(again.stderr, said);
    });

  const parts = (from: number) => [
    KEY.slice(0, from),
    KEY.slice(from, from + 7),
    KEY.slice(from + 7),
  ];
  const inCall = (text: string) =>
    delta({ tool_calls: [{ index: 0, function: { arguments: text } }] });
  const echoes: [what: string, echo: Step][] = [
    ["in one piece", stream(delta({ content: KEY }))],
    ["in three pieces", stream(...parts(9).map((content) => delta({ content })))],
    ["in the middle of words", stream(...parts(4).map((content, i) => delta({ content: i ? content : `it is ${content}` })))],
    ["between pieces of thinking", stream(...parts(9).flatMap((content) => [delta({ content }), delta({ reasoning_content: "hm" })]))],
    ["in thinking", stream(...parts(6).map((reasoning_content) => delta({ reasoning_content })))],
    ["in a call's arguments", stream(delta({ tool_calls: [{ index: 0, id: "c", function: { name: "time", arguments: "" } }] }), ...parts(5).map(inCall))],
  ]; // biome-ignore format: one a row
  for (const [what, echo] of echoes)
    test(`holds no key that was echoed ${what}, and is the person's alone`, async () => {
      echo.body!.push(delta({}, "stop"), DONE);
      const { where, first, again } = await twice([echo, say("Done.")], ["hi"]);
      const around =
        /[^\w-]*(content|reasoning_content|arguments|delta|choices|data|index|function|tool_calls)[^\w-]*/g;
      const kept = tape(where).replace(around, "");
      for (const part of parts(9)) ok(!kept.includes(part), `${part}: ${tape(where)}`);
      doesNotMatch(kept, /sk-c|canary/);
      equal(again.code, first.code);
      equal(statSync(join(where.cwd, "tape")).mode & 0o777, 0o600);
    });

  test("an earlier cassette is replaced, another file is not", async () => {
    const { where } = await twice([say("one")], ["hi"]);
    const before = tape(where);
    const fake = await fakeOpenAI([say("two")]);
    after(fake.close);
    const args = ["-m", "openai/m", "--base-url", fake.url, "--key", KEY];
    await zz(where, [...args, "--record", "tape", "hi"]);
    ok(tape(where) !== before && tape(where).split("\n").length === before.split("\n").length);
    writeFileSync(join(where.cwd, "notes"), "mine\n");
    const ran = await zz(where, [...args, "--record", "notes", "hi"]);
    deepEqual([ran.code, readFileSync(join(where.cwd, "notes"), "utf8")], [2, "mine\n"]);
    match(
      ran.stderr,
      /^Cannot record into '.*notes': it exists and is not a cassette\. Name another file\.$/m,
    );
  });

  const wrong: [name: string, content: string | undefined, said: RegExp][] = [
    ["none", undefined, /^Cannot replay 'none': no such file or folder\. Check the path\.$/m],
    ["plain", "hello\n", /^Cannot replay 'plain': it is not a cassette\. --record makes one\.$/m],
    ["torn", '{"zz":"cassette","version":1}\n{"asked":{"url"', /line 2 is not a recorded exchange\. Record/],
    ["odd", '{"zz":"cassette","version":1}\n{"asked":{"method":"GET","url":"x"},"pieces":[{"base64":3}]}', /line 2 is not a recorded exchange \("pieces\.0"\)\. Record/],
    ["wrong", '{"zz":"cassette","version":1}\n{"asked":{"method":"GET","url":"x"},"status":"200"}', /line 2 is not a recorded exchange \("status": expected number, received string\)\. Record/],
    ["newer", '{"zz":"cassette","version":9}', /another version of zz recorded it\. Record it again/],
    [".", undefined, /^Cannot replay '\.': it is a folder/m],
  ]; // biome-ignore format: one a row
  for (const [name, content, said] of wrong)
    test(`--replay of ${name}: a sentence`, async () => {
      const where = place(content === undefined ? {} : { [name]: content });
      const ran = await zz(where, ["-m", "openai/m", "--replay", name, "hi"]);
      deepEqual([ran.stdout, ran.code], ["", 2]);
      match(ran.stderr, said);
    });
});
