// What would have hung zz, or filled its memory: each ends with a sentence, and Ctrl+C is heard
// meanwhile. Nothing is timed: a hang is what the runner ends.
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { type ChildProcess, execFileSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { gzipSync } from "node:zlib";
import type { Delta } from "../../kernel/contract.ts";
import { collectReply } from "../../kernel/conversation/collect-reply.ts";
import { joinHalves } from "../../kernel/text/join-continuation.ts";
import { tryTo } from "../../kernel/text/words.ts";
import type { Fake, Script, Step } from "../support/fake/http.ts";
import * as ollama from "../support/fake/ollama.ts";
import { DONE, delta, fakeOpenAI, problems, refuse, say, stream } from "../support/fake/openai.ts";
import { needs } from "../support/needs.ts";
import { type How, place, type Ran, zz } from "../support/run.ts";
import { isAll } from "../support/runs.ts";
import { waitFor } from "../support/wait.ts";

const MB = 1024 * 1024;

async function openai(t: TestContext, script: Script, how: How = {}) {
  const fake = await fakeOpenAI(script);
  t.after(() => fake.close());
  const args = ["-m", "openai/m", "--base-url", fake.url, "--key", "k", "hi"];
  return { ...(await zz(place({ "a.txt": "a\n" }), args, how)), fake };
}
async function atOllama(t: TestContext, script: Script): Promise<Ran & { fake: Fake }> {
  const fake = await ollama.fakeOllama(script);
  t.after(() => fake.close());
  return {
    ...(await zz(place(), ["-m", "ollama/m", "hi"], { env: { OLLAMA_HOST: fake.url } })),
    fake,
  };
}
/** Without end, as far as any test can tell. */
function* endless(piece: string, first = ""): Generator<string> {
  yield first;
  for (let sent = 0; sent < 2_000 * MB; sent += piece.length) yield piece;
}
const endlessly = (headers: Record<string, string>, piece: string, first = ""): Step => ({
  headers,
  body: endless(piece, first) as unknown as string[],
});
/** Calls in one piece each. */
const call1 = (calls: [name: string, args: object][]): Step =>
  stream(
    ...calls.map(([name, args], index) =>
      delta({
        tool_calls: [
          { index, id: `c${index}`, function: { name, arguments: JSON.stringify(args) } },
        ],
      }),
    ),
    delta({}, "tool_calls"),
    DONE,
  );
const results = ({ fake }: { fake: Fake }): string[] =>
  fake.requests
    .at(-1)!
    .body.messages.flatMap((one: any) => (one.role === "tool" ? [one.content] : []));

const PATTERNS: [tool: string, args: object][] = [
  ["glob", { pattern: "{".repeat(300_000) }],
  ["glob", { pattern: "{a,b}".repeat(60_000) }],
  ["find_files", { pattern: "**/".repeat(100_000) }],
  ["grep", { query: "a", glob: "[".repeat(300_000) }],
  ["grep", { query: "[".repeat(300_000), regex: true }],
];
test("patterns of 300,000 braces or brackets are refused in a sentence each", async (t) => {
  const ran = await openai(t, [call1(PATTERNS), say("done")]);
  equal(ran.stdout, "done\n", ran.stderr);
  equal(results(ran).length, PATTERNS.length);
  for (const result of results(ran))
    match(result, /^Cannot (use a pattern of|search for) \d+ characters/);
});

const NAMES = ["read_file".repeat(MB / 3), `${" ".repeat(3 * MB)}x`, "functions.".repeat(MB / 3)];
test("tools' names of 3 MB are calls that did not run", async (t) => {
  const ran = await openai(t, [call1(NAMES.map((name) => [name, {}])), say("done")]);
  equal(ran.stdout, "done\n", ran.stderr);
  equal(results(ran).length, NAMES.length);
  for (const result of results(ran)) {
    match(result, /(its name has \d+ characters|there is no tool)/);
    ok(result.length < 2_000);
  }
  deepEqual(problems(ran.fake.requests.at(-1)!.body), []);
});

test("two answers of 3 MB are put together, nearly alike or not", () => {
  for (const [one, two] of [
    [`${"ab".repeat(1.5 * MB)}a`, "ab".repeat(1.5 * MB)],
    [`b${"a".repeat(3 * MB)}`, `c${"a".repeat(3 * MB)}`],
  ] as const) {
    const both = joinHalves(one, two);
    ok(both.startsWith(one) && both.endsWith(two.slice(-1_000)));
  }
});
const allTest = isAll ? test : () => {};

test("of 2,000 calls in a reply 128 run, and the model is told of the others", async (t) => {
  const reads = (many: number) =>
    call1(
      Array.from(
        { length: many },
        (_, i) => ["read_file", { path: "a.txt", n: i }] as [string, object],
      ),
    );
  const ran = await openai(t, [reads(2_000), say("done")]);
  equal(ran.stdout, "done\n", ran.stderr);
  const all = results(ran);
  equal(all.length, 129);
  match(
    all.at(-1)!,
    /had 2000 calls, and at most 128 of a reply run\. Not run: the last 1872, of read_file\./,
  );
  deepEqual(problems(ran.fake.requests.at(-1)!.body), []);
  ok(!results(await openai(t, [reads(128), say("done")])).some((one) => one.includes("at most")));
});

const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
test("arguments nested 100,000 deep are told to the model, at either server", async (t) => {
  const text = delta({
    tool_calls: [{ index: 0, id: "c", function: { name: "list_dir", arguments: deep(100_000) } }],
  });
  const parsed = text.replace(JSON.stringify(deep(100_000)), deep(100_000));
  for (const one of [text, parsed]) {
    const ran = await openai(t, [stream(one, delta({}, "tool_calls"), DONE), say("done")]);
    equal(ran.stdout, "done\n", ran.stderr);
    match(results(ran)[0]!, /nested more than 100 deep/);
  }
  const line = ollama.line({ tool_calls: [{ function: { name: "list_dir", arguments: "@" } }] });
  const ran = await atOllama(t, [
    ollama.stream(line.replace('"@"', deep(100_000)), ollama.done()),
    ollama.say("done"),
  ]);
  equal(ran.stdout, "done\n", ran.stderr);
  match(results(ran)[0]!, /nested more than 100 deep/);
});
test("arguments of more than 4 MB are told to the model", async (t) => {
  const ran = await openai(t, [
    call1([["write_file", { path: "a", content: "a".repeat(5 * MB) }]]),
    say("done"),
  ]);
  equal(ran.stdout, "done\n", ran.stderr);
  match(results(ran)[0]!, /its arguments have more than 4 MB/);
});

const SSE = { "content-type": "text/event-stream" };
const LINES = { "content-type": "application/x-ndjson" };
const piece = "x".repeat(256 * 1024);
const part = "x".repeat(4 * MB); // of what may have 64 MB
for (const [what, step, sentence] of [
  ["a line", endlessly(SSE, piece, "data: "), /'openai' sent a line of more than 8 MB/],
  [
    "lines that are no fields",
    endlessly(SSE, `${piece}\n`),
    /'openai' sent an event of more than 8 MB/,
  ],
] as const)
  test(`${what} without end from openai ends in a sentence`, async (t) => {
    const ran = await openai(t, [step]);
    equal(ran.code, 1, ran.stderr);
    match(ran.stderr, sentence);
    ok(ran.stderr.length < 2_000);
  });

for (const [what, piece] of [
  ["thinking", { thinking: part }],
  ["text", { text: part }],
  ["ids", { call: { index: 0, id: part, name: "a" } }],
  ["a name", { call: { index: 0, name: part } }],
  ["arguments", { call: { index: 0, name: "a", args: part } }],
] as [string, Delta][])
  test(`${what} without end from any provider is given up`, async () => {
    let taken = 0;
    async function* withoutEnd() {
      for (; ; taken++) yield piece;
    }
    await rejects(collectReply(withoutEnd()), /larger than 64 MB/);
    ok(taken <= 64 / 4, String(taken));
  });

test("a line without end from Ollama ends in a sentence", async (t) => {
  const ran = await atOllama(t, [endlessly(LINES, piece)]);
  equal(ran.code, 1, ran.stderr);
  match(ran.stderr, /'ollama' sent a line of more than 8 MB/);
});

test("what is packed counts as what it unpacks to", async (t) => {
  const bomb = gzipSync(Buffer.alloc(40 * MB, "x"), { level: 1 });
  const headers = { ...SSE, "content-encoding": "gzip" };
  const ran = await openai(t, [{ headers, body: [bomb as unknown as string] }]);
  match(ran.stderr, /'openai' sent a line of more than 8 MB/);
});

allTest("a refusal, headers and a list of models without end are sentences", async (t) => {
  const refused = await openai(t, [{ ...endlessly({}, piece), status: 400 }]);
  match(refused.stderr, /answered 400: x+/);
  ok(refused.stderr.length < 2_000);
  const headed = await openai(t, [
    { headers: { ...SSE, "x-long": "a".repeat(100_000) }, body: [] },
  ]);
  match(headed.stderr, /^Cannot reach /);
  const models = [{ id: "x".repeat(33 * MB) }];
  const fake = await fakeOpenAI([], models);
  t.after(() => fake.close());
  const listed = await zz(place(), ["--models", "--base-url", fake.url, "--key", "k"]);
  match(listed.stderr, /larger than 32 MB/);
  const deepOne = await openai(t, [refuse(400, `{"error":{"message":${deep(5_000)}}}`)]);
  match(deepOne.stderr, /answered 400: something nested too deeply to show/);
});

test("Ctrl+C is heard while a server sends without end", async (t) => {
  let child: ChildProcess | undefined;
  const body = (function* () {
    for (let i = 0; i < 100_000; i++) {
      yield ": alive\n".repeat(1_000);
      if (i === 50) child?.kill("SIGINT");
    }
  })();
  const step = { headers: SSE, body: body as unknown as string[] };
  const ran = await openai(t, [step], { started: (one) => (child = one) });
  equal(ran.code, 130, ran.stderr);
});
needs("git")("git that waits for a file that never answers dies with zz", async () => {
  const where = place();
  execFileSync("sh", ["-c", "git init -q; mkfifo .gitignore"], { cwd: where.cwd });
  // it may be gone, or another's
  const isThere = (pid: string) => tryTo(() => readlinkSync(`/proc/${pid}/cwd`)) === where.cwd;
  const ours = () => readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && isThere(pid));
  const wordsOf = (pid: string) =>
    tryTo(() => readFileSync(`/proc/${pid}/cmdline`, "latin1")) ?? "";
  const waits = () =>
    ours().find((pid) => /^[^\0]*git\0.*\0(ls-files|status)\0/s.test(wordsOf(pid)));
  const ran = await zz(where, ["--call", "list_dir", "{}"], {
    started: (child) =>
      void waitFor("git to wait for the file", waits).then(() => child.kill("SIGINT")),
  });
  equal(ran.code, 130, "git was to wait, or this test proves nothing");
  await waitFor("git to end", () => !ours().length);
});
