// What would have hung zz, or filled its memory: each ends with a sentence, and Ctrl+C is heard meanwhile. Nothing is timed: a hang
// is what the runner ends.
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { type ChildProcess, execFileSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { gzipSync } from "node:zlib";
import type { Delta } from "../../kernel/contract.ts";
import { joinHalves } from "../../kernel/seam.ts";
import { collect } from "../../kernel/stream.ts";
import type { Fake, Script, Seen, Step } from "../support/fake/http.ts";
import * as ollama from "../support/fake/ollama.ts";
import { DONE, delta, fakeOpenAI, problems, refuse, say, stream } from "../support/fake/openai.ts";
import { has, needs } from "../support/needs.ts";
import { type How, place, type Ran, zz } from "../support/run.ts";
import { isAll, some } from "../support/runs.ts";
import { waitFor } from "../support/wait.ts";

/** Repositories whose .gitignore never answers. All are made by one shell, and first: starting it from a process that grew costs more. */
const GIT_TOOLS = some(["list_dir", "glob", "grep", "git_status"], 4);
const hanging = new Map(GIT_TOOLS.map((tool) => [tool, place()]));
if (has("git"))
  execFileSync("sh", [
    ...["-ec", 'for at in "$@"; do git init -q "$at"; mkfifo "$at/.gitignore"; done', "sh"],
    ...[...hanging.values()].map(({ cwd }) => cwd),
  ]);

const MB = 1024 * 1024;

async function openai(
  t: TestContext,
  script: Script,
  more: string[] = [],
  how: How = {},
): Promise<Ran & { fake: Fake }> {
  const fake = await fakeOpenAI(script);
  t.after(() => fake.close());
  const where = place();
  writeFileSync(join(where.cwd, "a.txt"), "a\n");
  const args = ["-m", "openai/m", "--base-url", fake.url, "--key", "k", ...more, "hi"];
  return { ...(await zz(where, args, how)), fake };
}
async function atOllama(t: TestContext, script: Script, how: How = {}): Promise<Ran & { fake: Fake }> {
  const fake = await ollama.fakeOllama(script);
  t.after(() => fake.close());
  const env = { OLLAMA_HOST: fake.url, ...how.env };
  return { ...(await zz(place(), ["-m", "ollama/m", "hi"], { ...how, env })), fake };
}
/** Sends Ctrl+C once zz has read all that the server had, which sends no more. */
function interrupting(step: Step): [Script, How] {
  let child: ChildProcess | undefined;
  function* body(server: string) {
    yield* step.body ?? [];
    yield waitFor("zz to read it", () => isRead(server));
    child?.kill("SIGINT");
  }
  const script = ({ headers }: Seen): Step => ({
    ...step,
    body: body(`${headers.host}`) as Iterable<unknown> as string[],
    ending: "hang",
  });
  return [script, { started: (one) => (child = one) }];
}
/** Whether nothing that was sent to who asked this server lies in the system any more. */
function isRead(server: string): boolean {
  const port = Number(server.split(":").at(-1)).toString(16).toUpperCase().padStart(4, "0");
  const rows = tryRead("/proc/net/tcp")
    .split("\n")
    .map((row) => row.trim().split(/\s+/));
  return rows.every(
    ([, from, to, , waiting]) => ![from, to].some((at) => at?.endsWith(`:${port}`)) || waiting === "00000000:00000000",
  );
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
      delta({ tool_calls: [{ index, id: `c${index}`, function: { name, arguments: JSON.stringify(args) } }] }),
    ),
    delta({}, "tool_calls"),
    DONE,
  );
const results = ({ fake }: { fake: Fake }): string[] =>
  fake.requests.at(-1)!.body.messages.flatMap((one: any) => (one.role === "tool" ? [one.content] : []));

const PATTERNS: [tool: string, args: object][] = [
  ["glob", { pattern: "{".repeat(300_000) }],
  ["glob", { pattern: "[".repeat(300_000) }],
  ["glob", { pattern: "*a".repeat(150_000) }],
  ["glob", { pattern: "{a,".repeat(100_000) }],
  ["glob", { pattern: "{a,b}".repeat(60_000) }],
  ["find_files", { pattern: "**/".repeat(100_000) }],
  ["grep", { query: "a", glob: "[".repeat(300_000) }],
  ["grep", { query: "a", glob: "{".repeat(300_000) }],
  ["grep", { query: "[".repeat(300_000), regex: true }],
  ["grep", { query: "(".repeat(300_000), regex: true }],
];
test("patterns of 300,000 braces or brackets are refused in a sentence each", async (t) => {
  const ran = await openai(t, [call1(PATTERNS), say("done")]);
  equal(ran.stdout, "done\n", ran.stderr);
  equal(results(ran).length, PATTERNS.length);
  for (const result of results(ran)) match(result, /^Cannot (use a pattern of|search for) \d+ characters/);
});

const LONG = "read_file".repeat(MB / 3);
const NAMES: [what: string, name: string][] = [
  ["read_file, again and again", LONG],
  ["spaces", `${" ".repeat(3 * MB)}x`],
  ["quotes", `'${"`' ".repeat(MB)}`],
  ["dots", ".".repeat(3 * MB)],
  ["a prefix without end", "functions.".repeat(MB / 3)],
];
test("tools' names of 3 MB are calls that did not run", async (t) => {
  const ran = await openai(t, [call1(NAMES.map(([, name]) => [name, {}])), say("done")]);
  equal(ran.stdout, "done\n", ran.stderr);
  equal(results(ran).length, NAMES.length);
  for (const result of results(ran)) {
    match(result, /(its name has \d+ characters|there is no tool)/);
    ok(result.length < 2_000);
  }
  deepEqual(problems(ran.fake.requests.at(-1)!.body), []);
});

const NEARLY_ALIKE = [`${"ab".repeat(1.5 * MB)}a`, "ab".repeat(1.5 * MB)] as const;
for (const [what, one, two] of [
  ["alike", "a".repeat(3 * MB), "a".repeat(3 * MB)],
  ["nearly alike", ...NEARLY_ALIKE],
  ["that differ at the end", "a".repeat(3 * MB), `${"a".repeat(3 * MB)}b`],
  ["that differ at the start", `b${"a".repeat(3 * MB)}`, `c${"a".repeat(3 * MB)}`],
] as const)
  test(`two answers of 3 MB ${what} are put together`, () => {
    const both = joinHalves(one, two);
    ok(both.startsWith(one) && both.endsWith(two.slice(-1_000)));
  });
const allTest = isAll ? test : () => {};
allTest("two answers of 3 MB, cut off by the limit, are put together", async (t) => {
  const [one, two] = NEARLY_ALIKE;
  const cut = (text: string) => stream(delta({ content: text }), delta({}, "length"), DONE);
  const ran = await openai(t, [cut(one), cut(two), say("end")], ["--raw"]);
  equal(ran.code, 0, ran.stderr);
  ok(ran.stdout.startsWith(one.slice(0, 1_000)) && ran.stdout.endsWith("end\n"));
});

for (const [what, many] of some(
  [
    ["129 calls", 129],
    ["20,000 calls", 20_000],
  ] as const,
  2,
))
  test(`of ${what} in a reply 128 run, and the model is told of the others`, async (t) => {
    const calls = Array.from({ length: many }, (_, i): [string, object] => ["read_file", { path: "a.txt", n: i }]);
    const ran = await openai(t, [call1(calls), say("done")]);
    equal(ran.stdout, "done\n", ran.stderr);
    const all = results(ran);
    equal(all.length, 129);
    match(
      all.at(-1)!,
      new RegExp(
        `This reply had ${many} calls, and at most 128 of a reply run\\. Not run: the last ${many - 128}, of read_file\\.`,
      ),
    );
    deepEqual(problems(ran.fake.requests.at(-1)!.body), []);
  });
test("128 calls in a reply all run", async (t) => {
  const calls = Array.from({ length: 128 }, (_, i): [string, object] => ["read_file", { path: "a.txt", n: i }]);
  const ran = await openai(t, [call1(calls), say("done")]);
  ok(!results(ran).some((one) => one.includes("at most")));
});
allTest("20,000 calls at Ollama are as many as anywhere", async (t) => {
  const calls = Array.from({ length: 20_000 }, (_, i): [string, object] => ["read_file", { path: "a.txt", n: i }]);
  const ran = await atOllama(t, [ollama.call(...calls), ollama.say("done")]);
  equal(ran.stdout, "done\n", ran.stderr);
  equal(results(ran).length, 129);
});

const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
test("arguments nested 100,000 deep are told to the model, at either server", async (t) => {
  const text = delta({ tool_calls: [{ index: 0, id: "c", function: { name: "list_dir", arguments: deep(100_000) } }] });
  const parsed = text.replace(JSON.stringify(deep(100_000)), deep(100_000));
  for (const one of [text, parsed]) {
    const ran = await openai(t, [stream(one, delta({}, "tool_calls"), DONE), say("done")]);
    equal(ran.stdout, "done\n", ran.stderr);
    match(results(ran)[0]!, /nested more than 100 deep/);
  }
  const line = ollama.line({ tool_calls: [{ function: { name: "list_dir", arguments: "@" } }] });
  const ran = await atOllama(t, [ollama.stream(line.replace('"@"', deep(100_000)), ollama.done()), ollama.say("done")]);
  equal(ran.stdout, "done\n", ran.stderr);
  match(results(ran)[0]!, /nested more than 100 deep/);
});
test("arguments of more than 4 MB are told to the model", async (t) => {
  const ran = await openai(t, [call1([["write_file", { path: "a", content: "a".repeat(5 * MB) }]]), say("done")]);
  equal(ran.stdout, "done\n", ran.stderr);
  match(results(ran)[0]!, /its arguments have more than 4 MB/);
});

const SSE = { "content-type": "text/event-stream" };
const LINES = { "content-type": "application/x-ndjson" };
const piece = "x".repeat(256 * 1024);
const part = "x".repeat(4 * MB); // of what may have 64 MB
for (const [what, step, sentence] of [
  ["a line", endlessly(SSE, piece, "data: "), /'openai' sent a line of more than 8 MB/],
  ["a line that is no field", endlessly(SSE, piece), /'openai' sent a line of more than 8 MB/],
  ["lines of one event", endlessly(SSE, `data: ${piece}\n`), /'openai' sent an event of more than 8 MB/],
  ["lines that are no fields", endlessly(SSE, `${piece}\n`), /'openai' sent an event of more than 8 MB/],
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
    await rejects(collect(withoutEnd()), /larger than 64 MB/);
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
  const headed = await openai(t, [{ headers: { ...SSE, "x-long": "a".repeat(100_000) }, body: [] }]);
  match(headed.stderr, /^Cannot reach /);
  const models = [{ id: "x".repeat(33 * MB) }];
  const fake = await fakeOpenAI([], models);
  t.after(() => fake.close());
  const listed = await zz(place(), ["--models", "--base-url", fake.url, "--key", "k"]);
  match(listed.stderr, /larger than 32 MB/);
  const deepOne = await openai(t, [refuse(400, `{"error":{"message":${deep(5_000)}}}`)]);
  match(deepOne.stderr, /answered 400: something nested too deeply to show/);
});

const FLOODS: [what: string, step: Step][] = [
  ["a line that goes on", stream("data: ", ...Array.from({ length: 7 }, () => "x".repeat(MB)))],
  ["comments", stream(...Array.from({ length: 200 }, () => ": alive\n".repeat(2_000)))],
  ["20,000 calls", stream(...(call1(Array.from({ length: 20_000 }, () => ["a", { b: 1 }])).body ?? []).slice(0, -2))],
  [
    "many small thoughts",
    stream(...Array.from({ length: 100 }, () => delta({ reasoning_content: "hm " }).repeat(200))),
  ],
  [
    "arguments in small pieces, their name with each",
    stream(
      ...Array.from({ length: 100 }, () =>
        delta({ tool_calls: [{ index: 0, id: "c", function: { name: "a", arguments: "{}" } }] }).repeat(200),
      ),
    ),
  ],
];
for (const [what, step] of some(FLOODS, 5))
  test(`Ctrl+C is heard behind ${what}`, async (t) => {
    const [script, how] = interrupting(step);
    const ran = await openai(t, script, [], how);
    equal(ran.code, 130, ran.stderr);
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
  const ran = await openai(t, [step], [], { started: (one) => (child = one) });
  equal(ran.code, 130, ran.stderr);
});
allTest("Ctrl+C is heard behind a line from Ollama that goes on", async (t) => {
  const [script, how] = interrupting(ollama.stream(...Array.from({ length: 7 }, () => "x".repeat(MB))));
  const ran = await atOllama(t, script, how);
  equal(ran.code, 130, ran.stderr);
});

for (const tool of GIT_TOOLS)
  needs("git")(`git that waits for a file that never answers dies with zz, for ${tool}`, async () => {
    const where = hanging.get(tool)!;
    const ours = () =>
      readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && tryLink(`/proc/${pid}/cwd`) === where.cwd);
    const waits = () =>
      ours().find((pid) => /^[^\0]*git\0.*\0(ls-files|status)\0/s.test(tryRead(`/proc/${pid}/cmdline`)));
    const ran = await zz(where, ["--call", tool, '{"pattern":"x"}'], {
      started: (child) => void waitFor("git to wait for the file", waits).then(() => child.kill("SIGINT")),
    });
    equal(ran.code, 130, "git was to wait, or this test proves nothing");
    await waitFor("git to end", () => !ours().length);
  });

function tryLink(at: string): string | undefined {
  try {
    return readlinkSync(at);
  } catch {
    return undefined; // it is gone, or another's
  }
}
function tryRead(at: string): string {
  try {
    return readFileSync(at, "latin1");
  } catch {
    return "";
  }
}
