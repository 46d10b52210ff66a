// One answer, then exit: the program itself against a server on loopback. What it prints, where,
// and its exit code.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, describe, test } from "node:test";
import type { Fault } from "../../kernel/contract.ts";
import { KERNEL_FLAGS } from "../../kernel/settings/flag-table.ts";
import { kindOf } from "../../kernel/text/faults.ts";
import { standingClock } from "../../sdk/clock.ts";
import { type Script, type Step, serve } from "../support/fake/http.ts";
import {
  askable,
  call,
  DONE,
  data,
  delta,
  problems,
  refuse,
  say,
  stream,
} from "../support/fake/openai.ts";
import { needs } from "../support/needs.ts";
import { put } from "../support/repository.ts";
import {
  type How,
  type Place,
  place,
  type Ran,
  ROOT,
  TELLING_ENDS,
  TELLING_LOADS,
  zz,
  zzProcess,
} from "../support/run.ts";

const BASE = /You are zz, an agent in a terminal/;

/** One run of zz --once against a script. */
async function ask(script: Script, args: string[] = [], how: How = {}, where: Place = place()) {
  const model = await askable(script);
  const ran = await zz(where, ["--once", ...model.args, ...args], { input: "hi", ...how });
  return { ...ran, where, sent: model.requests.map((request) => request.body) };
}
const lines = (text: string): any[] => text.trimEnd().split("\n").map((line) => JSON.parse(line)); // biome-ignore format: one line
const last = (body: any) => body.messages.at(-1);
const results = (body: any): string[] =>
  body.messages.filter((m: any) => m.role === "tool").map((m: any) => m.content);

/** A failure as a person should see it: one line on stderr, a sentence, no stack trace; nothing on
 * stdout. */
function sentence({ stdout, stderr, code }: Ran, exit: number, words: RegExp): void {
  deepEqual({ stdout, code }, { stdout: "", code: exit }, stderr);
  match(stderr, words);
  match(stderr, /^[A-Z\d][^\n]*[.!?)"}]\n$/);
  noTrace(stderr);
}
const noTrace = (text: string) => ok(!/^\s+at |node:internal|\b\w*Error:/m.test(text), text);

test("in a pipe, an answer with Markdown loads the client, and nothing that draws or colours", async () => {
  const { args } = await askable([say("# Hi\n\n```js\nlet a\n```")]);
  const { stdout, stderr } = await zzProcess(place(), ["--once", ...args], {
    input: "hi",
    env: TELLING_LOADS,
  });
  match(stdout, /^# Hi/);
  match(stderr, /loads \S*\bofficial\b/);
  doesNotMatch(stderr, /loads \S*\b(chalk|theme|markdown|highlight|prompts)\b/);
});

/** A plugin that fails, and has another exit code in mind, when all is over. */
const LATE = `export default () => void process.on("beforeExit", () => {
  process.exitCode = 7;
  setInterval(() => {}, 1_000);
  throw new Error("late");
});`;
// process.exit() can wait for ever: for V8's workers, while these wait for this thread
test("it ends by itself, and is ended where a plugin leaves something running", async () => {
  const rows: [args: string[], code: number, plugin?: string][] = [
    [["-m", "offline", "hello"], 0],
    [["-m", "nobody/m", "hello"], 2],
    [["--no-such-flag"], 2],
    [["--version"], 0],
    [["-m", "offline", "hello"], 0, "export default () => void setInterval(() => {}, 1_000);"],
    [["-m", "offline", "hello"], 0, LATE],
  ];
  for (const [args, code, plugin] of rows) {
    const where = place();
    if (plugin) put(where.home, { "plugins/timer.ts": plugin });
    const ran = await zzProcess(where, ["--once", ...args], { env: TELLING_ENDS, input: "" });
    doesNotMatch(ran.stderr, /late/);
    deepEqual([ran.code, /forced/.test(ran.stderr)], [code, plugin !== undefined], ran.stderr);
  }
});

test("one answer loads no module of Node that it does not need, and no letter that takes two bytes", async () => {
  const { args } = await askable([say("hi")]);
  const tell = 'process.on("exit",()=>process.stderr.write(process.moduleLoadList.join("\\n")))';
  const where = place();
  const locks = join(where.home, "tmp", `zz-locks-${userInfo().uid}`);
  mkdirSync(locks, { recursive: true, mode: 0o700 });
  // another zz is just changing another project
  put(locks, { "ab12.unfinished": '{"root":"/elsewhere","pid":1,"folders":[]}' });
  const { stdout, stderr } = await zzProcess(where, ["--once", ...args, "hi"], {
    env: {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(tell)}`,
      TMPDIR: join(where.home, "tmp"),
    },
  });
  const unneeded =
    /^NativeModule (crypto|readline|perf_hooks|child_process|worker_threads|.*fs\/(promises|streams))$/gm;
  deepEqual([stdout, stderr.match(unneeded)], ["hi\n", null]);
  match(stderr, /^NativeModule http$/m); // it does tell
  match(readFileSync(join(ROOT, "dist", "chunks", "start.js"), "latin1"), /^[\0-\x7f]{100000,}$/);
});

const FIELDS = ["calls", "finish", "model", "ms", "rounds", "session", "text", "usage"];
const ENDLESS: Script = (seen, turn) =>
  seen.body.tools ? call(["list_dir", { path: turn % 2 ? "." : "./" }]) : say("so far");

describe("the answer", () => {
  test("is printed with one newline at its end, escape codes and all", async () => {
    for (const text of ["one", "one\n", "\u001b[31mred"]) {
      const ran = await ask([stream(delta({ content: text }), delta({}, "stop"), DONE)]);
      deepEqual([ran.stdout, ran.stderr, ran.code], [`${text.trimEnd()}\n`, "", 0]);
    }
  });

  test("--json carries the thinking, which text never does, and no session where nothing is saved", async () => {
    const thoughtful = stream(
      delta({ reasoning_content: "hmm" }),
      delta({ content: "yes" }),
      delta({}, "stop"),
      DONE,
    );
    const { thinking, text, session } = JSON.parse(
      (await ask([thoughtful], ["--json", "-n"])).stdout,
    );
    deepEqual([thinking, text, session], ["hmm", "yes", null]);
    equal((await ask([thoughtful])).stdout, "yes\n");
  });

  test("--json is one object with the documented fields and no other", async () => {
    const where = place();
    const clock = standingClock();
    const script = async (_: unknown, turn: number) => {
      await clock.pass(617);
      return turn ? say("Hello.") : call(["list_dir", {}]);
    };
    const { stdout, stderr, code } = await ask(script, ["--json"], { clock }, where);
    const answer = JSON.parse(stdout);
    deepEqual([stderr, code, stdout.split("\n").length], ["", 0, 2]);
    deepEqual(Object.keys(answer).sort(), FIELDS);
    const { session, ms, calls, usage, ...rest } = answer;
    deepEqual(rest, { text: "Hello.", model: "openai/m", finish: "stop", rounds: 2 });
    deepEqual(
      [calls, usage],
      [[{ name: "list_dir", args: {}, ok: true }], { input: 122, output: 18 }],
    );
    deepEqual([session, ms], [where.sessions()[0]![0].id, 2 * 617]);
  });

  test("--json describes a failed and a refused call with the documented fields and no other", async () => {
    const script = [
      call(["read_file", { path: "none" }], ["read_file", { path: "../x" }]),
      say("x"),
    ];
    const { stdout } = await ask(script, ["--json"]);
    deepEqual(JSON.parse(stdout).calls, [
      { name: "read_file", args: { path: "none" }, ok: false },
      { name: "read_file", args: { path: "../x" }, ok: false, refused: true },
    ]);
  });

  test("--json-lines is an event a line, the last one done with the fields of --json", async () => {
    const { stdout, stderr, code } = await ask(
      [call(["list_dir", {}]), say("Hello.")],
      ["--json-lines"],
    );
    const events = lines(stdout);
    deepEqual([stderr, code], ["", 0]);
    for (const event of events) equal(typeof event.type, "string");
    const types = events.map((event) => event.type);
    deepEqual(
      [types[0], types.at(-1), types.filter((type) => type === "done").length],
      ["started", "done", 1],
    );
    ok(
      types.indexOf("planned") > 0 && types.indexOf("called") > types.indexOf("planned"),
      `${types}`,
    );
    const { type: _, ...answer } = events.at(-1);
    deepEqual([Object.keys(answer).sort(), answer.text, answer.rounds], [FIELDS, "Hello.", 2]);
  });

  test("--json-lines has the text as it comes, and says of later requests only what is new", async () => {
    const script = [call(["list_dir", {}]), call(["list_dir", {}]), say("Hello, you there.")];
    const events = lines((await ask(script, ["--json-lines"])).stdout);
    const deltas = events.filter(({ type }) => type === "delta").map(({ text }) => text);
    equal(deltas.join(""), "Hello, you there.");
    const requests = events.filter(({ type }) => type === "requested");
    deepEqual(
      requests.map((request) => [request.from, request.messages.length, "tools" in request]),
      [
        [0, 1, true],
        [1, 2, false],
        [3, 2, false],
      ],
    );
    deepEqual(
      requests.map(({ system, task }) => [typeof system, task]),
      [
        ["string", "chat"],
        ["undefined", "chat"],
        ["undefined", "chat"],
      ],
    );
  });

  // biome-ignore format: a table
  for (const [what, args, input, stdout, stderr] of [
    ["is on stdout", ["/changes"], undefined, /^Nothing was changed\.\n$/, /^$/],
    ["is there with --quiet", ["--quiet", "/changes"], undefined, /^Nothing was changed/, /^$/],
    ["is the text of --json", ["--json", "/changes"], undefined, /^\{"text":"Nothing was changed/, /^$/],
    ["is the text of --json-lines", ["--json-lines", "/changes"], undefined, /"type":"done","text":"Nothing was changed/, /^$/],
    ["is on stdout, but a warning of zz is not", ["-c", "/changes"], undefined, /^Nothing was changed\.\n$/, /^There is no earlier session/],
    ["is none in a pipe, whose text goes to the model", [], "/changes", /^x\n$/, /^$/],
  ] as [string, string[], string | undefined, RegExp, RegExp][])
    test(`what a command says ${what}`, async () => {
      const ran = await ask([say("x")], args, { input: input ?? "" });
      match(ran.stdout, stdout);
      match(ran.stderr, stderr);
      deepEqual([ran.code, ran.sent.length], [0, input ? 1 : 0]);
    });

  test("-u and --json tell what came from the server's cache", async () => {
    const told = {
      prompt_tokens: 61,
      completion_tokens: 9,
      prompt_tokens_details: { cached_tokens: 40 },
    };
    const answer = stream(
      delta({ content: "x" }, "stop"),
      data({ choices: [], usage: told }),
      DONE,
    );
    const { stdout, stderr } = await ask([answer], ["-u"]);
    equal(stdout, "x\n");
    match(stderr, /^openai\/m · 61 tokens in \(40 cached\), 9 out · 0 calls · \d+\.\d s\n$/);
    deepEqual(JSON.parse((await ask([answer], ["--json"])).stdout).usage, {
      input: 61,
      output: 9,
      cached: 40,
    });
  });
});

describe("the prompt", () => {
  for (const [what, args, input, content] of [
    ["words", ["what", "is", "this"], undefined, /^what is this$/],
    ["words and an empty pipe", ["what"], "", /^what$/],
    ["a pipe", [], "line 1\nline 2\n", /^line 1\nline 2$/],
    ["data and words: the data first, in a labelled block", ["sum", "up"], "1\n2\n", /^.*STDIN.*\n1\n2\n.*STDIN.*\n\nsum up$/],
    ["words after --", ["--", "--once", "-x"], undefined, /^--once -x$/],
    ["words, the pipe left alone", ["--no-stdin", "alone"], "ignored", /^alone$/],
    ["a text file, in a labelled block, before the words", ["-f", "a.txt", "sum up"], "1", /^.*STDIN.*\n1\n.*STDIN.*\n\n.*FILE a\.txt.*\nalpha\nbeta\n.*FILE a\.txt.*\n\nsum up$/],
  ] as [string, string[], string | undefined, RegExp][]) // biome-ignore format: a table
    test(`can be ${what}`, async () => {
      const where = place({ "a.txt": "alpha\nbeta\n" });
      const { sent, code } = await ask([say("x")], args, { input: input as string }, where);
      equal(code, 0);
      match(last(sent[0]).content, content);
    });

  test("with a file that is missing, or neither text nor image, exits 2", async () => {
    const where = place({ "a.bin": Buffer.from([1, 0, 2, 0]) });
    for (const [file, words] of [
      ["none.txt", /^Cannot attach 'none\.txt': no such file/],
      ["a.bin", /^Cannot attach 'a\.bin': it is neither text nor an image/],
    ] as const) {
      const ran = await ask([say("x")], ["-f", file], {}, where);
      sentence(ran, 2, words);
      deepEqual(ran.sent, []);
    }
  });

  test("on a pipe that stays open and silent is announced on stderr after 2 s, given up after 30 s", async () => {
    for (const isGivenUp of [false, true]) {
      const [clock, input] = [standingClock(), new Readable({ read() {} })];
      const running = ask([say("x")], [], { input, clock });
      await clock.waits(30_000);
      await clock.pass(isGivenUp ? 30_000 : 29_999);
      input.push("late words");
      input.push(null);
      const { stdout, stderr, code, sent } = await running;
      match(stderr, /^Waiting for stdin; --no-stdin leaves it alone\.\n/);
      if (isGivenUp) match(stderr, /Nothing came on stdin for 30 s.*--no-stdin.*ZZ_STDIN_WAIT/);
      deepEqual([stdout, code, sent.length], isGivenUp ? ["", 2, 0] : ["x\n", 0, 1]);
      if (!isGivenUp) equal(last(sent[0]).content, "late words");
    }
  });

  test("on a socket that stays open and silent, as exec() of Node gives it, is the words alone", async () => {
    const { args, requests } = await askable([say("x")]);
    const env = { ZZ_STDIN_WAIT: "1" };
    const ran = await zzProcess(place(), ["--once", ...args, "hi"], { input: null, env });
    deepEqual([ran.stdout, ran.code], ["x\n", 0]);
    match(ran.stderr, /^Nothing came on stdin for 1 s: answering without it\.$/m);
    equal(last(requests[0]!.body).content, "hi");
    const without = await zzProcess(place(), ["--once", ...args], { input: null, env });
    sentence(without, 2, /^Nothing came on stdin for 1 s/);
  });

  test("that is only blanks, or more than ZZ_STDIN_LIMIT megabytes, though it never ends, exits 2", async () => {
    sentence(
      await ask([say("x")], [], { input: " \n\t\n" }),
      2,
      /^Nothing to ask: the prompt is empty/,
    );
    const flood = new Readable({ read: () => void flood.push("y\n".repeat(50_000)) });
    const flooded = await ask([say("x")], ["hi"], { input: flood, env: { ZZ_STDIN_LIMIT: "2" } });
    sentence(
      flooded,
      2,
      /^Cannot take what comes on stdin: it is more than 2 MB\. .*ZZ_STDIN_LIMIT/,
    );
    equal(flooded.sent.length, 0);
    for (const ZZ_STDIN_LIMIT of ["0.001", "0"])
      equal(
        (await ask([say("x")], ["hi"], { input: "y\n".repeat(500), env: { ZZ_STDIN_LIMIT } })).code,
        0,
      );
  });

  test("that never ends, through a pipe of a file's name, exits 2", async () => {
    const where = place();
    execFileSync("mkfifo", [join(where.cwd, "pipe")]);
    const yes = spawn("sh", ["-c", "yes > pipe"], { cwd: where.cwd, stdio: "ignore" });
    const piped = await ask([say("x")], ["-f", "pipe", "hi"], {}, where);
    yes.kill();
    sentence(piped, 2, /^Cannot attach 'pipe': it is over 50 MB/);
  });

  test("is not waited for where none is needed", async () => {
    for (const args of [
      ["--no-stdin", "hi"],
      ["--version"],
      ["--help"],
      ["--tools"],
      ["--call", "list_dir"],
    ]) {
      const ran = await ask([say("x")], args, { input: null, clock: standingClock() });
      equal(ran.code, 0, ran.stderr);
    }
  });
});

describe("the request", () => {
  test("has zz's own identity, and -s instead of it", async () => {
    const system = async (...args: string[]) =>
      (await ask([say("x")], args)).sent[0].messages[0].content;
    match(await system(), BASE);
    const own = await system("-s", "You are a parrot.");
    match(own, /^You are a parrot\./);
    ok(!BASE.test(own));
    ok(!BASE.test(await system("-s", "")));
  });

  test("has the options of -o, as JSON where they parse", async () => {
    const args = '-o temperature 0 -o user=me -o stop ["a","b"] --option=seed=7 hi'.split(" ");
    const [body] = (await ask([say("x")], args)).sent;
    deepEqual([body.temperature, body.user, body.stop, body.seed], [0, "me", ["a", "b"], 7]);
  });

  test("is printed by --dry-run as JSON; the server sees nothing, and nothing is saved", async () => {
    const { stdout, stderr, code, sent, where } = await ask(
      [say("x")],
      ["--dry-run", "-o", "seed=7"],
    );
    const body = JSON.parse(stdout);
    deepEqual([stderr, code, sent], ["", 0, []]);
    deepEqual([body.model, body.seed, last(body)], ["m", 7, { role: "user", content: "hi" }]);
    deepEqual(problems(body), []);
    ok(body.tools.some((tool: any) => tool.function.name === "read_file"));
    deepEqual(existsSync(join(where.home, "sessions")) ? where.sessions() : [], []);
  });

  test("offers every tool, none with --no-tools, one with -T", async () => {
    const names = async (...args: string[]) =>
      (await ask([say("x")], args)).sent[0].tools?.map((tool: any) => tool.function.name);
    ok((await names()).length > 4);
    deepEqual(await names("--no-tools"), undefined);
    deepEqual(await names("-T", "read_file"), ["read_file"]);
    deepEqual(await names("-T", "read_file", "-T", "grep"), ["grep", "read_file"]);
  });
});

describe("tools", () => {
  test("--rounds 2 and a model that calls for ever: a last request without tools, its report printed, exit 3", async () => {
    const ran = await ask(ENDLESS, ["--rounds", "2"]);
    deepEqual([ran.stdout, ran.code, ran.sent.length], ["so far\n", 3, 3]);
    deepEqual(
      ran.sent.flatMap((body) => ["tools" in body, ...problems(body)]),
      [true, true, false],
    );
    equal(last(ran.sent[2]).role, "user");
    match(ran.stderr, /2 rounds.*--rounds/);
  });

  test("with -T runs no tool that was not offered", async () => {
    const where = place({ "a.txt": "the needle" });
    const { sent } = await ask(
      [call(["read_file", { path: "a.txt" }]), say("x")],
      ["-T", "grep"],
      {},
      where,
    );
    equal(results(sent[1]).length, 1);
    ok(!results(sent[1])[0]!.includes("needle"), results(sent[1])[0]);
  });

  test("the same call with the same result three times stops, exit 3", async () => {
    const ran = await ask(
      (seen) => (seen.body.tools ? call(["list_dir", {}]) : say("stuck")),
      ["--json"],
    );
    const { text, finish, calls } = JSON.parse(ran.stdout);
    deepEqual(
      [text, finish, calls.length, ran.code, ran.sent.length],
      ["stuck", "repeat", 3, 3, 4],
    );
    equal("tools" in ran.sent[3], false);
    for (const body of ran.sent) deepEqual(problems(body), []);
  });

  test("the same call with another result each time goes on", async () => {
    const where = place();
    const script: Script = (_, turn) => {
      put(where.cwd, { "a.txt": `turn ${turn}` });
      return turn < 5 ? call(["read_file", { path: "a.txt" }]) : say("done");
    };
    const ran = await ask(script, [], {}, where);
    deepEqual([ran.stdout, ran.code, ran.sent.length], ["done\n", 0, 6]);
  });
});

/** An error's last line, whatever the port. */
const plain = (text: string) => text.trimEnd().split("\n").at(-1)!.replace(/:\d+/, "");

const WRITE: [string, object] = ["write_file", { path: "b", content: "x" }];
const EDIT = ["edit_file", { path: "missing", edits: [{ old: "a", new: "b" }] }] as [
  string,
  object,
];

describe("exit codes are the same in text, --json and --json-lines", () => {
  const rows: [code: number, what: string, script: Script, args: string[], finish?: string][] = [
    [0, "an answer", [say("x")], [], "stop"],
    [1, "an empty answer", [say("")], [], "stop"],
    [1, "a server that refuses", [refuse(400, { error: { message: "bad" } })], []],
    [1, "edits that all fail", [call(EDIT), say("Done!")], ["--allow-write"], "stop"],
    [0, "an edit that works in the end", [call(EDIT), call(WRITE), say("Done!")], ["--allow-write"],
      "stop"],
    [2, "an unknown flag", [say("x")], ["--onse"]],
    [3, "an answer cut by length three times", [say("x", "length")], [], "length"],
    [4, "a refused call", [call(["read_file", { path: "../x" }]), say("x")], [], "stop"],
  ]; // biome-ignore format: a table
  for (const [code, what, script, args, finish] of rows)
    test(`${code}: ${what}`, async () => {
      const [text, json, events] = await Promise.all([
        ask(script, args),
        ask(script, [...args, "--json"]),
        ask(script, [...args, "--json-lines"]),
      ]);
      deepEqual([text.code, json.code, events.code], [code, code, code]);
      equal(json.stdout.split("\n").length, 2, "one line and its end");
      const [whole, end] = [JSON.parse(json.stdout), lines(events.stdout).at(-1)];
      if (finish) deepEqual([whole.finish, end.type, end.finish], [finish, "done", finish]);
      else {
        equal(text.stdout, "");
        deepEqual(
          [whole.type, whole.exit, plain(whole.message)],
          ["error", code, plain(text.stderr)],
        );
        deepEqual(
          { ...end, message: plain(end.message) },
          { ...whole, message: plain(whole.message) },
        );
      }
      if (finish && code === 1)
        match(
          text.stderr,
          /^(The model answered with nothing|None of the changes .* could be made)\.$/m,
        );
      noTrace(text.stderr + json.stderr + events.stderr + json.stdout);
    });
});

needs("bwrap")(
  "an edit that fails, then a command that makes the change, is no failure",
  async () => {
    const made = call(["run_command", { command: "echo x > b" }]);
    const { code, stderr } = await ask([call(EDIT), made, say("Done!")], ["-A"]);
    deepEqual([code, stderr], [0, ""]);
  },
);

describe("the kind of an error, for programs", () => {
  const no = (status: number, message = "No.", more = {}) =>
    refuse(status, { error: { message, ...more } });
  // biome-ignore format: a table
  const rows: [what: string, step: Step | undefined, args: string[], kind: string, exit: number][] = [
    ["a key that is refused", no(401, "Bad key."), [], "key", 1],
    ["too many requests", refuse(429, { error: { message: "Slow down." } }, { "retry-after": "3600" }), [], "quota", 1],
    ["a quota that is used up", no(400, "Out of it.", { code: "insufficient_quota" }), [], "quota", 1],
    ["a request that is refused", no(400), [], "provider", 1],
    ["a server that is not there", undefined, ["--base-url", "http://127.0.0.1:49"], "network", 1],
    ["a flag that nobody has", undefined, ["--nope"], "usage", 2],
    ["a content filter", stream(delta({}, "content_filter"), DONE), [], "limit", 3],
    ["an attachment that is denied", undefined, ["--deny-net", "-a", "http://127.0.0.1:49/a.png"], "refused", 4],
  ];
  for (const [what, step, args, kind, exit] of rows)
    test(`${what}: ${kind}`, async () => {
      const model = await askable(step ? [step, step, step] : []);
      const ran = await zz(place(), [...model.args, ...args, "--json", "hi"]);
      const last = JSON.parse(ran.stdout);
      deepEqual(
        [last.type, last.kind, last.exit, ran.code],
        ["error", kind, exit, exit],
        ran.stderr,
      );
    });

  test("docs/scripts.md has each kind with its exit code", () => {
    const page = readFileSync(join(ROOT, "docs", "scripts.md"), "utf8");
    const table = [...page.matchAll(/^\| `(\w+)` \| ([\d, ]+) \|/gm)].map(([, kind, exits]) => [
      kind,
      exits,
    ]);
    const made = ["key", "quota", "network", "provider", undefined].map((kind) => [
      kindOf({ kind } as Fault),
      "1",
    ]);
    const others = [2, 3, 4].map((exit) => [kindOf({ exit }), `${exit}`]);
    deepEqual(table, [...made, ...others, [kindOf({ exit: 130 }), "130, 143"]]);
  });
});

describe("--call", () => {
  const rows: [what: string, args: string[], code: number, stdout: string, stderr: RegExp, json: any][] = [
    ["a tool that works", ["read_file", '{"path":"a.txt"}'], 0, "1\talpha\n", /^$/, { ok: true, text: "1\talpha" }],
    ["an alias and arguments of many words", ["readFile", '{"path":', '"a.txt"}'], 0, "1\talpha\n", /^$/, { ok: true, text: "1\talpha" }],
    ["a tool that fails", ["read_file", '{"path":"none"}'], 1, "", /^Cannot read 'none': no such file/, { ok: false }],
    ["a refused tool", ["read_file", '{"path":"../x"}'], 4, "", /^read_file: Refused: .*--allow-read=\.\.\/x/, { ok: false }],
    ["an unknown tool", ["raed_file", "{}"], 2, "", /no tool 'raed_file'\. Did you mean 'read_file'\?/, { type: "error", exit: 2 }],
    ["arguments that are not JSON", ["read_file", "{path}"], 2, "", /^Cannot call 'read_file': its arguments are not JSON/, { type: "error", exit: 2 }],
  ]; // biome-ignore format: a table
  for (const [what, args, code, stdout, stderr, json] of rows)
    test(`with ${what}: exit ${code}, in text and --json`, async () => {
      const where = place({ "a.txt": "alpha\n" });
      const called = ["--call", ...args];
      const [text, object] = await Promise.all([
        zz(where, called),
        zz(where, [...called, "--json"]),
      ]);
      deepEqual([text.stdout, text.code, object.code], [stdout, code, code]);
      match(text.stderr, stderr);
      ok(text.stderr.split("\n").length <= 2, text.stderr);
      noTrace(text.stderr);
      const result = JSON.parse(object.stdout);
      for (const [key, value] of Object.entries(json)) deepEqual(result[key], value, key);
      if (!json.type)
        deepEqual(
          Object.keys(result).sort(),
          result.data ? ["data", "ok", "text"] : ["ok", "text"],
        );
      equal(existsSync(join(where.home, "sessions")), false, "no session is made");
    });
});

describe("lists", () => {
  test("--models asks once an hour, --refresh again, and other providers are another question", async () => {
    const other = await askable([]);
    let asked = 0;
    const list = () => {
      asked++;
      return refuse(200, { data: [{ id: "lamp-large" }, { id: "lamp-small" }, { id: "kiln" }] });
    };
    const count = await serve([], { "GET /v1/models": list });
    after(count.close);
    const where = place({}, { rounds: 9 }); // whose home is there, so that the list is kept
    const env = { OPENAI_BASE_URL: `${count.url}/v1`, OPENAI_API_KEY: "sk-canary-0123456789" };
    const models = (...more: string[]) => zz(where, ["--models", ...more], { env });
    const first = await models();
    const again = await models();
    equal(asked, 1);
    equal(again.stdout, first.stdout);
    match(again.stderr, /^As of 0 minutes ago\. --models --refresh asks again\.$/m);
    doesNotMatch(readFileSync(join(where.home, "models.json"), "utf8"), /canary/);
    equal((await models("lamp")).stdout, "openai/lamp-large\nopenai/lamp-small\n");
    match((await models("lmap-small")).stdout, /^openai\/lamp-small$/m);
    match(
      (await models("zebra")).stderr,
      /^Cannot list models like 'zebra': none of \d+ is\. --models lists all\.$/m,
    );
    equal(asked, 1);
    await models("--refresh");
    equal(asked, 2);
    env.OPENAI_BASE_URL = other.url;
    match((await models()).stdout, /^openai\/n +8192 tokens$/m);
  });

  test("--tools, --sessions and --version have a form for programs as well", async () => {
    const told = async (...args: string[]) => (await zz(place(), args)).stdout;
    match(await told("--tools"), /^read_file +Read a text file/m);
    const { schema } = JSON.parse(await told("--tools", "--json")).find(
      ({ name }: any) => name === "read_file",
    );
    deepEqual([schema.required, schema.properties.path.type], [["path"], "string"]);
    const { where } = await ask([say("x")], ["the first\nquestion"], { input: "" });
    const listed = JSON.parse((await zz(where, ["--sessions", "--json"])).stdout);
    deepEqual(listed.map(({ title }: any) => title), ["the first question"]); // biome-ignore format: short
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    equal(await told("--version"), `zz ${version}\n`);
    equal(await told("-V", "--json"), `{"version":"${version}"}\n`);
  });

  test("--help has every flag in a group and every exit code, in 80 columns", async () => {
    const { stdout, stderr, code } = await zz(place(), ["--help"]);
    deepEqual([stderr, code], ["", 0]);
    for (const { name, short, description } of KERNEL_FLAGS) {
      const flag = `${short ? `-${short}, ` : ""}--${name}`;
      const row = new RegExp(`^ +${flag}(?![\\w-])(.*\\n)( {20}.*\\n)*`, "m").exec(stdout);
      ok(row?.[0].replace(/\s+/g, " ").includes(description), name);
    }
    for (const exit of [0, 1, 2, 3, 4, 130, 143]) match(stdout, new RegExp(`\\b${exit}\\b`));
    ok(stdout.split("\n").every((line) => line.length <= 80));
    const groups = [...stdout.matchAll(/^(\w[\w ]+):$/gm)].map(([, name]) => name!);
    deepEqual(groups.slice(0, 3), ["asking", "model", "the conversation"]);
    ok(!groups.includes("other"), "a flag of zz's own without a group");
  });

  test("--completion bash, zsh and fish have every flag", async () => {
    for (const [shell, flag] of [
      ["bash", (name: string) => `--${name}`],
      ["zsh", (name: string) => `'*--${name}`],
      ["fish", (name: string) => `-l ${name} `],
    ] as const) {
      const { stdout } = await zz(place(), ["--completion", shell]);
      for (const { name } of KERNEL_FLAGS) ok(stdout.includes(flag(name)), `${shell} ${name}`);
    }
  });
});

describe("bad input is one sentence", () => {
  const rows: [what: string, args: string[], code: number, words: RegExp][] = [
    ["a flag that nobody has", ["--modle", "x"], 2, /^Unknown flag --modle\. Did you mean --model\?/],
    ["a short flag that nobody has", ["-z"], 2, /^Unknown flag -z\. .*--help/],
    ["a flag with an empty value", ["hi", "--session", ""], 2, /^Flag --session has an empty value/],
    ["no key", ["-m", "openai/m", "hi"], 2, /no key is set\. Set OPENAI_API_KEY, or pass --key/],
    ["no model", ["hi"], 2, /^No model to ask: .*OPENAI_API_KEY.*Ollama.*--model.*offline/],
    ["a model of no provider", ["-m", "opnai/m", "hi"], 2, /no provider 'opnai'\. Did you mean 'openai'\?/],
    ["a base URL that is none", ["-m", "openai/m", "--key", "x", "--base-url", "nonsense", "hi"], 2, /not a URL.*--base-url/],
    ["a folder that is not there", ["--cwd", "none", "hi"], 2, /--cwd 'none': no such folder/],
    ["settings that are not there", ["--config", "none.json", "hi"], 2, /settings '.*none\.json': no such file/],
  ]; // biome-ignore format: a table
  for (const [what, args, code, words] of rows)
    test(`${what}: exit ${code}`, async () => sentence(await zz(place(), args), code, words));

  test("--debug, and only that, shows where an error comes from", async () =>
    match((await zz(place(), ["--onse", "--debug"])).stderr, /^ +at /m));
});

describe("the model is", () => {
  const rows: [what: string, args: string[], settings: object, model: string][] = [
    ["the key's provider's", [], {}, "gpt-4o-mini"],
    ["without a provider, at --base-url", ["-m", "bare", "--base-url", "URL"], {}, "bare"],
    ["that of --provider, split at the first slash", ["--provider", "openai", "-m", "org/a:tag"],
      {}, "org/a:tag"],
    ["that of --provider, which its name may repeat", ["--provider", "openai", "-m", "openai/m"],
      {}, "m"],
    ["the same with flags of other programs", ["-m", "m", "--new", "--max-rounds", "3", "--yes"],
      {}, "m"],
    ["the plugin's own setting", [], { openai: { model: "mine" } }, "mine"],
  ]; // biome-ignore format: a table
  for (const [what, args, settings, model] of rows)
    test(what, async () => {
      const { url, requests } = await askable([say("x")]);
      const env = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: url };
      const words = args.map((arg) => arg.replace("URL", url));
      const { code, stderr } = await zz(place({}, settings), [...words, "hi"], { env });
      deepEqual([stderr, code, requests[0]?.body.model], ["", 0, model]);
    });
});

test("--json and --json-lines give the model's own text; --rendered beside it what a plugin made of it to be seen", async () => {
  const red = `export default (zz) => zz.wrap("render", async (text, next) => "\\x1b[31m" + (await next(text)) + "\\x1b[39m");`;
  const where = place({ "red.ts": red });
  const given = async (...flags: string[]) =>
    (await ask([say("**Good.**")], ["--plugin", "red.ts", ...flags], {}, where)).stdout;
  const seen = "\x1b[31m**Good.**\x1b[39m";
  for (const [flags, rendered] of [
    [["--json"], undefined],
    [["--json-lines"], undefined],
    [["--json-lines", "--rendered"], seen],
  ] as const) {
    const answer = lines(await given(...flags)).at(-1);
    deepEqual([answer.text, answer.rendered], ["**Good.**", rendered]);
  }
  equal(await given(), `${seen}\n`);
});
