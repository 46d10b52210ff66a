// What of the queue needs no server: it costs nothing unless it is asked for, what is wrong is
// said before anything is sent, and what may travel.
import { deepEqual, doesNotMatch, equal, match, rejects, throws } from "node:assert/strict";
import { EventEmitter } from "node:events";
import { describe, test } from "node:test";
import { place, TELLING_LOADS, zz, zzProcess } from "../../../test/support/run.ts";
import { askedIn, isJob, readAsked, readReply, versionOf } from "../job.ts";
import { connection } from "../queue.ts";

const NOWHERE = "redis://127.0.0.1:1"; // a port that nothing listens on

test("without its flags nothing of it is loaded", async () => {
  const offline = ["-m", "offline", "--once", "hello"];
  const { code, stderr } = await zzProcess(place(), offline, { way: "node", env: TELLING_LOADS });
  equal(code, 0);
  match(stderr, /loads file:.*packages\/queue\/index\.ts/);
  doesNotMatch(stderr, /bullmq|ioredis|queue\/(sender|take-jobs|queue|job)\.ts/);
});

describe("wrong usage is said before anything is sent", () => {
  const asks = ["-m", "openai/m", "--each-line", "Say."];
  const rows: [args: string[], said: RegExp][] = [
    [
      ["--queue", "redis://", ...asks],
      /Cannot use --queue: it is no URL of a server\. Write it like redis:\/\/USER:PASSWORD@HOST/,
    ],
    [["--queue", "ftp://host", ...asks], /Cannot use --queue: it is no URL of a server/],
    [["--queue", "redis://host/name", ...asks], /Cannot use --queue: it is no URL of a server/],
    [
      ["--queue", NOWHERE, ...asks],
      /Cannot use the queue redis:\/\/127\.0\.0\.1:1: it cannot be reached \(ECONNREFUSED\)\. Start it, or correct --queue\./,
    ],
    [
      ["--work", NOWHERE],
      /Cannot use the queue .*\(ECONNREFUSED\)\. Start it, or correct --work\./,
    ],
    [["--work", NOWHERE, "--jobs", "0"], /Cannot use --jobs '0': it takes a whole number/],
    [
      ["--work", "redis://queue.example"],
      /Cannot work for 'queue\.example': without a password it takes jobs of anyone/,
    ],
    [
      ["--work", "redis://user@queue.example"],
      /Cannot work for 'queue\.example': without a password it takes jobs of anyone/,
    ],
  ];
  for (const [args, said] of rows)
    test(args.join(" "), async () => {
      const { code, stdout, stderr } = await zz(place(), args, { input: "one\n" });
      match(stderr, said);
      // a server that cannot be reached is no mistake of the person's
      equal(code, /ECONNREFUSED/.test(stderr) ? 1 : 2);
      equal(stdout, "");
    });

  test("a password is never shown", async () => {
    const args = ["--queue", "redis://:open-sesame@127.0.0.1:1", ...asks];
    const { stdout, stderr } = await zz(place(), args, { input: "one\n" });
    doesNotMatch(`${stdout}${stderr}`, /open-sesame/);
  });
});

describe("what travels", () => {
  const request = {
    task: "chat",
    model: "openai/m",
    system: "Be brief.",
    messages: [{ role: "user", text: "Hi" }],
    tools: [],
    options: {},
    endpoint: { url: "http://127.0.0.1", key: "hidden-word" },
  } as any;

  test("neither the key nor the address of the provider", () => {
    doesNotMatch(JSON.stringify(askedIn(request)), /hidden-word|127\.0\.0\.1|endpoint/);
  });

  test("of the options how a model samples, and nothing that a server would do or fetch", () => {
    const options = {
      temperature: 0,
      top_p: 0.5,
      max_tokens: 9,
      seed: 1,
      stop: "END",
      tools: [{ type: "web_search" }],
      web_search_options: {},
      model: "dear",
      base_url: "http://x",
      max_tools: { a: 1 },
      store: true,
    };
    const wanted = { temperature: 0, top_p: 0.5, max_tokens: 9, seed: 1, stop: "END" };
    deepEqual(askedIn({ ...request, options }).options, wanted);
    // a worker does not trust what it gets
    const given = JSON.stringify({ ...askedIn(request), options });
    deepEqual(readAsked(given).options, wanted);
  });

  const text = "0".repeat(64);
  const jobs: [data: unknown, version: number | undefined, isWhole: boolean][] = [
    [{ zz: 1, run: "20261127-1", text }, 1, true],
    [{ zz: 2, else: "new" }, 2, false],
    [{ zz: "1", run: "r", text }, undefined, true],
    [{ zz: -1, run: "r", text }, undefined, true],
    [{ zz: 1, run: "a:b", text }, 1, false],
    [{ zz: 1, run: "r", text: "short" }, 1, false],
    [{ zz: 1, run: { toString: 1 }, text }, 1, false],
    [null, undefined, false],
    [undefined, undefined, false],
    [[], undefined, false],
    ["text", undefined, false],
    [7, undefined, false],
  ];
  for (const [data, version, isWhole] of jobs)
    test(`a job ${JSON.stringify(data)?.slice(0, 60)}`, () => {
      equal(versionOf(data), version);
      equal(isJob(data), isWhole);
    });

  const whole = askedIn(request);
  const broken: [what: string, text: string][] = [
    ["no JSON", "{"],
    ["null", "null"],
    ["no model", JSON.stringify({ ...whole, model: 7 })],
    ["no messages", JSON.stringify({ ...whole, messages: [] })],
    ["a system message", JSON.stringify({ ...whole, messages: [{ role: "system", text: "x" }] })],
    ["a message without a text", JSON.stringify({ ...whole, messages: [{ role: "user" }] })],
    ["a nameless tool", JSON.stringify({ ...whole, tools: [{ description: "x" }] })],
  ];
  for (const [what, given] of broken)
    test(`a request with ${what} is none`, () => throws(() => readAsked(given)));

  test("an answer without a text is none", () => {
    throws(() => readReply('{"calls":[]}'), /it is no reply/);
    throws(() => readReply('{"text":""}'), /it is no reply/);
  });
});

test("a server that takes nothing for good ends the run, as no input is at fault", async () => {
  const client = new EventEmitter();
  const sentenceOf = () => ({ text: "It is full.", passes: false });
  const opened = { client, where: NOWHERE, keepsLog: true, evicts: "", sentenceOf } as any;
  const ctx = { note() {} } as any;
  const { attempt } = connection(opened, { prefix: "zz", lease_seconds: 2, days: 1 }, ctx, 1);
  await rejects(
    attempt(() => Promise.reject(new Error("OOM command not allowed"))),
    { message: "It is full.", kind: "quota" },
  );
});
