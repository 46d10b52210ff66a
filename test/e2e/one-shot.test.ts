// One answer, then exit: the program itself against a server on loopback. What it prints, where, and its exit code.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { Fault } from "../../kernel/contract.ts";
import { kindOf } from "../../kernel/faults.ts";
import { FLAGS } from "../../kernel/flags.ts";
import { type Fake, type Script, type Step, serve } from "../support/fake/http.ts";
import { call, DONE, data, delta, fakeOpenAI, problems, refuse, say, stream, usage } from "../support/fake/openai.ts";
import { type How, type Place, place, type Ran, ROOT, WAYS, type Way, zz } from "../support/run.ts";

const BASE = /You are zz, an agent in a terminal/;

async function server(script: Script): Promise<Fake> {
  const fake = await fakeOpenAI(script);
  after(() => fake.close());
  return fake;
}
/** The flags that name the server. */
const at = (fake: { url: string }) => ["--model", "openai/m", "--base-url", fake.url, "--key", "x"];
/** One run of zz --once against a script. */
async function ask(script: Script, args: string[] = [], how: How = {}, where: Place = place()) {
  const fake = await server(script);
  const ran = await zz(where, ["--once", ...at(fake), ...args], { input: "hi", ...how });
  return { ...ran, fake, where, sent: fake.requests.map((request) => request.body) };
}
const put = (where: Place, name: string, text: string | Buffer) => writeFileSync(join(where.cwd, name), text);
const lines = (text: string): any[] => text.trimEnd().split("\n").map((line) => JSON.parse(line)); // biome-ignore format: one line
const last = (body: any) => body.messages.at(-1);
const results = (body: any): string[] => body.messages.filter((m: any) => m.role === "tool").map((m: any) => m.content);

test("Count to 3!", async () => {
  const { stdout, stderr, code, sent } = await ask([say("1, 2, 3")], [], { input: "Count to 3!\n" });
  deepEqual([stdout, stderr, code], ["1, 2, 3\n", "", 0]);
  equal(last(sent[0]).content, "Count to 3!");
});

/** A failure as a person should see it: one line on stderr, a sentence, no stack trace; nothing on stdout. */
function sentence({ stdout, stderr, code }: Ran, exit: number, words: RegExp): void {
  deepEqual({ stdout, code }, { stdout: "", code: exit }, stderr);
  match(stderr, words);
  match(stderr, /^[A-Z\d][^\n]*[.!?)"}]\n$/);
  noTrace(stderr);
}
const noTrace = (text: string) => ok(!/^\s+at |node:internal|\b\w*Error:/m.test(text), text);

/** Half an answer; then nothing more, or the connection is cut. */
const broken = (ending: "hang" | "cut"): Step => ({ ...stream(delta({ content: "half" })), ending });

const FIELDS = ["calls", "finish", "model", "ms", "rounds", "session", "text", "usage"];
const ENDLESS: Script = (seen, turn) =>
  seen.body.tools ? call(["list_dir", { path: turn % 2 ? "." : "./" }]) : say("so far");
const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64"); // biome-ignore format: one line

describe("in all three ways", { concurrency: 3 }, () => {
  for (const way of Object.keys(WAYS) as Way[]) {
    test(`${way}: a tool call runs, and the second request carries call and result`, async () => {
      const where = place();
      put(where, "a.txt", "the needle\n");
      const ran = await ask([call(["read_file", { path: "a.txt" }]), say("done")], [], { way }, where);
      deepEqual([ran.stdout, ran.stderr, ran.code, ran.sent.length], ["done\n", "", 0, 2]);
      deepEqual([ran.sent[0].model, last(ran.sent[0])], ["m", { role: "user", content: "hi" }]);
      const [asked, result] = ran.sent[1].messages.slice(-2);
      deepEqual(JSON.parse(asked.tool_calls[0].function.arguments), { path: "a.txt" });
      equal(result.tool_call_id, asked.tool_calls[0].id);
      match(result.content, /the needle/);
      deepEqual(problems(ran.sent[1]), []);
    });
  }
  test("a failure is a sentence, by node", async () =>
    sentence(await zz(place(), ["--onse"], { way: "node" }), 2, /^Unknown flag --onse\. Did you mean --once\?$/m));
});

describe("the answer", { concurrency: 3 }, () => {
  for (const [text, printed] of [
    ["one", "one\n"],
    ["one\n", "one\n"],
    ["one\n\n", "one\n\n"],
    ["# Raw\n\n**bold** `x`", "# Raw\n\n**bold** `x`\n"],
    ["漢字 🙂", "漢字 🙂\n"],
    ["\u001b[31mred", "\u001b[31mred\n"],
  ] as const)
    test(`${JSON.stringify(text)} is printed as ${JSON.stringify(printed)}`, async () => {
      const ran = await ask([stream(delta({ content: text }), delta({}, "stop"), DONE)]);
      deepEqual([ran.stdout, ran.stderr, ran.code], [printed, "", 0]);
    });

  test("--json is one object with the documented fields and no other", async () => {
    const where = place();
    const { stdout, stderr, code } = await ask([call(["list_dir", {}]), say("Hello.")], ["--json"], {}, where);
    const answer = JSON.parse(stdout);
    deepEqual([stderr, code, stdout.split("\n").length], ["", 0, 2]);
    deepEqual(Object.keys(answer).sort(), FIELDS);
    const { session, ms, ...rest } = answer;
    deepEqual(rest, {
      text: "Hello.",
      model: "openai/m",
      finish: "stop",
      rounds: 2,
      calls: [{ name: "list_dir", args: {}, ok: true }],
      usage: { input: 122, output: 18 },
    });
    equal(session, where.sessions()[0]![0].id);
    ok(Number.isInteger(ms) && ms > 0, `${ms}`);
  });

  test("--json carries the thinking, and text never does", async () => {
    const thoughtful = stream(delta({ reasoning_content: "hmm" }), delta({ content: "yes" }), delta({}, "stop"), DONE);
    const json = await ask([thoughtful], ["--json"]);
    deepEqual([JSON.parse(json.stdout).thinking, JSON.parse(json.stdout).text], ["hmm", "yes"]);
    equal((await ask([thoughtful])).stdout, "yes\n");
  });

  test("--json names the session null when nothing is saved, and -n saves nothing", async () => {
    const { stdout, where } = await ask([say("x")], ["--json", "-n"]);
    equal(JSON.parse(stdout).session, null);
    equal(existsSync(join(where.home, "sessions")), false);
  });

  test("--json describes a failed and a refused call with the documented fields and no other", async () => {
    const script = [call(["read_file", { path: "none" }], ["read_file", { path: "../x" }]), say("x")];
    const { stdout } = await ask(script, ["--json"]);
    deepEqual(JSON.parse(stdout).calls, [
      { name: "read_file", args: { path: "none" }, ok: false },
      { name: "read_file", args: { path: "../x" }, ok: false, refused: true },
    ]);
  });

  test("--json-lines is an event a line, the last one done with the fields of --json", async () => {
    const { stdout, stderr, code } = await ask([call(["list_dir", {}]), say("Hello.")], ["--json-lines"]);
    const events = lines(stdout);
    deepEqual([stderr, code], ["", 0]);
    for (const event of events) equal(typeof event.type, "string");
    const types = events.map((event) => event.type);
    deepEqual([types[0], types.at(-1), types.filter((type) => type === "done").length], ["started", "done", 1]);
    ok(types.indexOf("planned") > 0 && types.indexOf("called") > types.indexOf("planned"), `${types}`);
    const { type: _, ...answer } = events.at(-1);
    deepEqual([Object.keys(answer).sort(), answer.text, answer.rounds], [FIELDS, "Hello.", 2]);
  });

  test("-u prints tokens, calls and time on stderr alone", async () => {
    const { stdout, stderr } = await ask([say("x")], ["-u"]);
    equal(stdout, "x\n");
    match(stderr, /^openai\/m · 61 tokens in, 9 out · 0 calls · \d+\.\d s\n$/);
  });

  test("-u and --json tell what came from the server's cache", async () => {
    const told = { prompt_tokens: 61, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 40 } };
    const answer = stream(delta({ content: "x" }, "stop"), data({ choices: [], usage: told }), DONE);
    match((await ask([answer], ["-u"])).stderr, /^openai\/m · 61 tokens in \(40 cached\), 9 out · 0 calls/);
    deepEqual(JSON.parse((await ask([answer], ["--json"])).stdout).usage, { input: 61, output: 9, cached: 40 });
  });

  test("finish 'length' three times is joined without the repeated seams, exit 3", async () => {
    const ran = await ask([
      say("one two three", "length"),
      say("three four five", "length"),
      say("five six", "length"),
    ]);
    deepEqual([ran.stdout, ran.code, ran.sent.length], ["one two three four five six\n", 3, 3]);
    match(ran.stderr, /not complete/);
    for (const body of ran.sent) deepEqual(problems(body), []);
  });

  test("finish 'length' twice and then a proper end is a whole answer, exit 0", async () => {
    const ran = await ask([say("one two", "length"), say("two three", "length"), say("three four")], ["--json"]);
    const { text, finish } = JSON.parse(ran.stdout);
    deepEqual([text, finish, ran.code], ["one two three four", "stop", 0]);
  });

  test("a server that never ends with less than 'length' leaves with 3, in one text", async () => {
    const ran = await ask([say("abc", "length")]);
    deepEqual([ran.stdout, ran.code, ran.sent.length], ["abc\n", 3, 3]);
  });
});

describe("the prompt", { concurrency: 3 }, () => {
  for (const [what, args, input, content] of [
    ["words", ["what", "is", "this"], undefined, /^what is this$/],
    ["words and an empty pipe", ["what"], "", /^what$/],
    ["a pipe", [], "line 1\nline 2\n", /^line 1\nline 2$/],
    ["a pipe, with -", ["-"], "from the pipe", /^from the pipe$/],
    ["data and words: the data first, in a labelled block", ["sum", "up"], "1\n2\n", /^.*STDIN.*\n1\n2\n.*STDIN.*\n\nsum up$/],
    ["data and words, with -", ["-", "sum up"], "1", /^.*STDIN.*\n1\n.*STDIN.*\n\nsum up$/],
    ["words after --", ["--", "--once", "-x"], undefined, /^--once -x$/],
    ["words, the pipe left alone", ["--no-stdin", "alone"], "ignored", /^alone$/],
  ] as [string, string[], string | undefined, RegExp][]) // biome-ignore format: a table
    test(`can be ${what}`, async () => {
      const { sent, code } = await ask([say("x")], args, { input: input as string });
      equal(code, 0);
      match(last(sent[0]).content, content);
    });

  test("can be a text file, in a labelled block, before the words", async () => {
    const where = place();
    put(where, "a.txt", "alpha\nbeta\n");
    const { sent } = await ask([say("x")], ["-f", "a.txt", "sum up"], { input: "1" }, where);
    match(
      last(sent[0]).content,
      /^.*STDIN.*\n1\n.*STDIN.*\n\n.*FILE a\.txt.*\nalpha\nbeta\n.*FILE a\.txt.*\n\nsum up$/,
    );
  });

  test("can be an image, as an image_url part", async () => {
    const where = place();
    put(where, "dot.png", PNG);
    const { sent } = await ask([say("x")], ["-f", "dot.png", "what is it"], {}, where);
    const url = `data:image/png;base64,${PNG.toString("base64")}`;
    deepEqual(last(sent[0]).content.at(-1), { type: "image_url", image_url: { url } });
    match(last(sent[0]).content[0].text, /what is it$/);
  });

  test("with a file that is missing, or neither text nor image, exits 2", async () => {
    const where = place();
    put(where, "a.bin", Buffer.from([1, 0, 2, 0]));
    const none = await ask([say("x")], ["-f", "none.txt"], {}, where);
    sentence(none, 2, /^Cannot attach 'none\.txt': no such file/);
    const binary = await ask([say("x")], ["-f", "a.bin"], {}, where);
    sentence(binary, 2, /^Cannot attach 'a\.bin': it is neither text nor an image/);
    deepEqual([none.sent, binary.sent], [[], []]);
  });

  for (const input of ["", " \n\t\n"])
    test(`that is ${JSON.stringify(input)} on stdin exits 2`, async () => {
      const ran = await ask([say("x")], [], { input });
      sentence(ran, 2, /^Nothing to ask: the prompt is empty/);
      equal(ran.sent.length, 0);
    });
  test("that is nothing at all exits 2", async () => sentence(await zz(place(), ["--once"]), 2, /^Nothing to ask/));

  test("on a pipe that stays open and silent is given up after ZZ_STDIN_WAIT seconds, exit 2", async () => {
    const ran = await ask([say("x")], [], { input: null, env: { ZZ_STDIN_WAIT: "1" } });
    sentence(ran, 2, /for 1 s.*--no-stdin/);
  });

  test("on a pipe that stays open and silent is announced on stderr", async () => {
    const ran = await ask([say("x")], [], {
      input: null,
      started: (child) => child.stderr!.once("data", () => child.stdin!.end("late words")),
    });
    match(ran.stderr, /stdin.*--no-stdin/);
    deepEqual([ran.stdout, ran.code, last(ran.sent[0]).content], ["x\n", 0, "late words"]);
  });

  test("that is more than ZZ_STDIN_LIMIT megabytes exits 2, before more than that is held", async () => {
    const env = { ZZ_STDIN_LIMIT: "0.001" };
    const ran = await ask([say("x")], ["hi"], { input: "y\n".repeat(600), env });
    sentence(ran, 2, /^Cannot take what comes on stdin: it is more than 0\.001 MB\. .*ZZ_STDIN_LIMIT/);
    equal(ran.sent.length, 0);
    for (const input of ["y\n".repeat(500), "y\n".repeat(600)])
      equal(
        (await ask([say("x")], ["hi"], { input, env: { ZZ_STDIN_LIMIT: input.length > 1_048 ? "0" : "0.001" } })).code,
        0,
      );
  });

  test("that never ends, on stdin or through a pipe of a file's name, exits 2", async () => {
    const flood = (child: ChildProcess) => {
      const more = () => child.stdin!.write("y\n".repeat(50_000), (error) => error || more());
      more();
    };
    const ran = await ask([say("x")], ["hi"], { input: null, started: flood, env: { ZZ_STDIN_LIMIT: "2" } });
    sentence(ran, 2, /more than 2 MB/);
    const where = place();
    execFileSync("mkfifo", [join(where.cwd, "pipe")]);
    const yes = spawn("sh", ["-c", "yes > pipe"], { cwd: where.cwd, stdio: "ignore" });
    const piped = await ask([say("x")], ["-f", "pipe", "hi"], {}, where);
    yes.kill();
    sentence(piped, 2, /^Cannot attach 'pipe': it is over 50 MB/);
  });

  for (const [args, started] of [
    [["--no-stdin", "hi"], () => {}], // in a process, which ends though its stdin is open
    [["--version"]],
    [["--help"]],
    [["--call", "list_dir"]],
  ] as const)
    test(`does not wait for an open pipe with ${args.join(" ")}`, async () => {
      const how = { input: null, env: { ZZ_STDIN_WAIT: "600" } };
      const ran = await ask([say("x")], [...args], started ? { ...how, started } : how);
      equal(ran.code, 0, ran.stderr);
    });
});

test("--tools does not wait for an open pipe", async () => {
  const ran = await zz(place(), ["--tools"], { input: null, env: { ZZ_STDIN_WAIT: "600" } });
  equal(ran.code, 0, ran.stderr);
});

describe("the request", { concurrency: 3 }, () => {
  test("has zz's own identity, and -s instead of it", async () => {
    const system = async (...args: string[]) => (await ask([say("x")], args)).sent[0].messages[0].content;
    match(await system(), BASE);
    const own = await system("-s", "You are a parrot.");
    match(own, /^You are a parrot\./);
    ok(!BASE.test(own));
    ok(!BASE.test(await system("-s", "")));
  });

  test("has the options of -o, as JSON where they parse", async () => {
    const args = ["-o", "temperature", "0", "-o", "user=me", "-o", "stop", '["a","b"]', "--option=seed=7", "hi"];
    const [body] = (await ask([say("x")], args)).sent;
    deepEqual([body.temperature, body.user, body.stop, body.seed], [0, "me", ["a", "b"], 7]);
  });

  for (const args of [["-o"], ["-o", "temperature"], ["-o", "=1"]])
    test(`is not sent with ${args.join(" ")}, exit 2`, async () => {
      const ran = await ask([say("x")], args);
      sentence(ran, 2, /-o/);
      equal(ran.sent.length, 0);
    });

  test("is printed by --dry-run as JSON; the server sees nothing, and nothing is saved", async () => {
    const { stdout, stderr, code, sent, where } = await ask([say("x")], ["--dry-run", "-o", "seed=7"]);
    const body = JSON.parse(stdout);
    deepEqual([stderr, code, sent], ["", 0, []]);
    deepEqual([body.model, body.seed, last(body)], ["m", 7, { role: "user", content: "hi" }]);
    deepEqual(problems(body), []);
    ok(body.tools.some((tool: any) => tool.function.name === "read_file"));
    deepEqual(existsSync(join(where.home, "sessions")) ? where.sessions() : [], []);
  });

  for (const model of ["offline/router", "ollama/m"])
    test(`of ${model} is printed by --dry-run too`, async () => {
      const { stdout, stderr, code } = await zz(place(), ["--dry-run", "-m", model, "hi"]);
      deepEqual([code, stderr], [0, ""]);
      match(JSON.stringify(JSON.parse(stdout)), /"hi"/);
    });

  test("offers every tool, none with --no-tools, one with -T", async () => {
    const names = async (...args: string[]) =>
      (await ask([say("x")], args)).sent[0].tools?.map((tool: any) => tool.function.name);
    ok((await names()).length > 4);
    deepEqual(await names("--no-tools"), undefined);
    deepEqual(await names("-T", "read_file"), ["read_file"]);
    deepEqual(await names("-T", "read_file", "-T", "grep"), ["grep", "read_file"]);
  });

  test("with -T of an unknown tool is not sent, exit 2", async () => {
    const ran = await ask([say("x")], ["-T", "raed_file"]);
    sentence(ran, 2, /no tool 'raed_file'. Did you mean 'read_file'\?/);
    equal(ran.sent.length, 0);
  });

  for (const args of [["--no-tools"], ["-T", "grep"]])
    test(`with ${args.join(" ")} runs no tool that was not offered`, async () => {
      const where = place();
      put(where, "a.txt", "the needle");
      const { sent } = await ask([call(["read_file", { path: "a.txt" }]), say("x")], args, {}, where);
      equal(results(sent[1]).length, 1);
      ok(!results(sent[1])[0]!.includes("needle"), results(sent[1])[0]);
    });
});

describe("tools", { concurrency: 3 }, () => {
  const spoilt = (args: string) =>
    stream(
      delta({
        tool_calls: [{ index: 0, id: "c1", type: "function", function: { name: "read_file", arguments: args } }],
      }),
      delta({}, "tool_calls"),
      DONE,
    );
  for (const [what, step, result] of [
    ["a tool that nobody has", call(["raed_file", { path: "a" }]), /no tool 'raed_file'. Did you mean 'read_file'\?/],
    ["arguments that do not fit", call(["read_file", { path: 3 }]), /path.*string.*Send the call again/],
    ["arguments that are missing", call(["read_file", {}]), /path.*Send the call again/],
    ["arguments that are not JSON", spoilt('{"path": '), /not usable.*valid JSON object/],
    ["arguments that are no object", spoilt('["a"]'), /expected an object/],
    ["a file that is not there", call(["read_file", { path: "none" }]), /^Cannot read 'none': no such file/],
  ] as const)
    test(`${what}: the model reads why, exit 0`, async () => {
      const ran = await ask([step, say("ok")]);
      deepEqual([ran.stdout, ran.code, ran.sent.length], ["ok\n", 0, 2]);
      match(results(ran.sent[1])[0]!, result);
      deepEqual(problems(ran.sent[1]), []);
      noTrace(ran.stderr + results(ran.sent[1]));
    });

  test("several calls of one round are answered in call order", async () => {
    const where = place();
    for (const name of ["a", "b", "c", "d", "e"]) put(where, name, `in ${name}`);
    const calls = ["a", "b", "c", "d", "e"].map((path): [string, unknown] => ["read_file", { path }]);
    const ids = calls.map(([name, args], index) =>
      delta({ tool_calls: [{ index, id: `id${index}`, function: { name, arguments: JSON.stringify(args) } }] }),
    );
    const { sent } = await ask([stream(...ids, delta({}, "tool_calls"), DONE), say("ok")], [], {}, where);
    deepEqual(results(sent[1]), ["1\tin a", "1\tin b", "1\tin c", "1\tin d", "1\tin e"]);
    deepEqual(problems(sent[1]), []);
  });

  test("--rounds 2 and a model that calls for ever: a last request without tools, its report printed, exit 3", async () => {
    const ran = await ask(ENDLESS, ["--rounds", "2"]);
    deepEqual([ran.stdout, ran.code, ran.sent.length], ["so far\n", 3, 3]);
    deepEqual(
      ran.sent.map((body) => "tools" in body),
      [true, true, false],
    );
    equal(last(ran.sent[2]).role, "user");
    for (const body of ran.sent) deepEqual(problems(body), []);
    match(ran.stderr, /2 rounds.*--rounds/);
  });

  test("the settings' rounds hold as --rounds does", async () => {
    const where = place();
    mkdirSync(where.home);
    writeFileSync(join(where.home, "zz.config.json"), '{"rounds": 1}');
    const ran = await ask(ENDLESS, [], {}, where);
    deepEqual([ran.code, ran.sent.length], [3, 2]);
  });

  for (const rounds of ["-1", "x", "1.5"])
    test(`--rounds ${rounds} exits 2`, async () =>
      sentence(await ask([say("x")], ["--rounds", rounds]), 2, /--rounds/));

  test("the same call with the same result three times stops, exit 3", async () => {
    const ran = await ask((seen) => (seen.body.tools ? call(["list_dir", {}]) : say("stuck")), ["--json"]);
    const { text, finish, calls } = JSON.parse(ran.stdout);
    deepEqual([text, finish, calls.length, ran.code, ran.sent.length], ["stuck", "repeat", 3, 3, 4]);
    equal("tools" in ran.sent[3], false);
    for (const body of ran.sent) deepEqual(problems(body), []);
  });

  test("the same call with another result each time goes on", async () => {
    const where = place();
    const script: Script = (_, turn) => {
      put(where, "a.txt", `turn ${turn}`);
      return turn < 5 ? call(["read_file", { path: "a.txt" }]) : say("done");
    };
    const ran = await ask(script, [], {}, where);
    deepEqual([ran.stdout, ran.code, ran.sent.length], ["done\n", 0, 6]);
  });

  test("a refused tool: exit 4, and stderr names the flag that would have allowed it", async () => {
    const where = place();
    put(where, "../x", "beyond");
    const script = [call(["read_file", { path: "../x" }]), say("could not")];
    const ran = await ask(script, [], {}, where);
    deepEqual([ran.stdout, ran.code], ["could not\n", 4]);
    match(ran.stderr, /--allow-read=\.\.\/x/);
    match(results(ran.sent[1])[0]!, /^Refused: /);
    ok(!results(ran.sent[1])[0]!.includes("beyond"));
  });

  for (const [name, named] of [
    ["../x", "read"],
    [".env", "read"],
  ] as const)
    test(`the flag that a refusal of ${name} names does allow it`, async () => {
      const where = place();
      put(where, name, "behind the gate");
      const refused = await zz(where, ["--call", "read_file", JSON.stringify({ path: name })]);
      equal(refused.code, 4);
      const flag = new RegExp(`--allow-${named}=\\S+`).exec(refused.stderr)![0].replace(/\.$/, "");
      const allowed = await zz(where, ["--call", "read_file", JSON.stringify({ path: name }), flag]);
      deepEqual([allowed.code, allowed.stdout, allowed.stderr], [0, "1\tbehind the gate\n", ""]);
    });
});

const NOT_SAID = /^1\t|^--- TIME ---[\s\S]*--- END TIME ---\n\n/; // a line number; the time, if the minute has changed
describe("a second turn", { concurrency: 3 }, () => {
  test("with -c carries the first, its tool's result included", async () => {
    const where = place();
    put(where, "a.txt", "the needle");
    await ask([call(["read_file", { path: "a.txt" }]), say("found it")], ["first question"], { input: undefined }, where); // biome-ignore format: one line
    const { sent, code } = await ask([say("again")], ["-c", "second question"], { input: undefined }, where);
    equal(code, 0);
    deepEqual(
      sent[0].messages.slice(1).map((m: any) => [m.role, m.content?.replace?.(NOT_SAID, "") ?? null]),
      [
        ["user", "first question"],
        ["assistant", null],
        ["tool", "the needle"],
        ["assistant", "found it"],
        ["user", "second question"],
      ],
    );
    deepEqual(problems(sent[0]), []);
    equal(where.sessions().length, 1);
  });

  test("without -c starts anew", async () => {
    const where = place();
    await ask([say("one")], ["first"], {}, where);
    const { sent } = await ask([say("two")], ["second"], { input: "" }, where);
    deepEqual([sent[0].messages.length, where.sessions().length], [2, 2]);
  });

  test("with -c after a turn that failed carries both questions, validly", async () => {
    const where = place();
    equal((await ask([refuse(400, { error: { message: "no" } })], ["lost?"], { input: "" }, where)).code, 1);
    const { sent } = await ask([say("x")], ["-c", "and this"], { input: "" }, where);
    deepEqual(problems(sent[0]), []);
    match(last(sent[0]).content, /lost\?\s+and this/);
  });

  test("with -c where there is none says so and answers", async () => {
    const ran = await ask([say("x")], ["-c"]);
    deepEqual([ran.stdout, ran.code], ["x\n", 0]);
    match(ran.stderr, /no earlier session/);
  });

  test("with -c in another folder does not carry the first", async () => {
    const where = place();
    await ask([say("one")], ["first"], {}, where);
    mkdirSync(join(where.cwd, "deeper"));
    const { sent } = await ask([say("two")], ["-c", "second", "--cwd", "deeper"], { input: "" }, where);
    equal(sent[0].messages.length, 2);
  });

  test("with --session ID carries that one; the beginning of an ID is enough; an unknown one exits 2", async () => {
    const where = place();
    const { session } = JSON.parse((await ask([say("one")], ["--json"], {}, where)).stdout);
    for (const id of [session, session.slice(0, -3)])
      equal((await ask([say("x")], ["--session", id], {}, where)).sent[0].messages[1].content, "hi");
    sentence(await ask([say("x")], ["--session", "nope"], {}, where), 2, /^Cannot open session 'nope'.*--sessions/);
  });
});

/** An error's last line, whatever the port. */
const plain = (text: string) => text.trimEnd().split("\n").at(-1)!.replace(/:\d+/, "");

describe("exit codes are the same in text, --json and --json-lines", { concurrency: 3 }, () => {
  const rows: [code: number, what: string, script: Script, args: string[], finish?: string][] = [
    [0, "an answer", [say("x")], [], "stop"],
    [1, "an empty answer", [say("")], [], "stop"],
    [1, "an answer of blanks", [say(" \n")], [], "stop"],
    [1, "a server that refuses", [refuse(400, { error: { message: "bad" } })], []],
    [2, "a tool of no plugin", [say("x")], ["-T", "nothing"]],
    [2, "an unknown flag", [say("x")], ["--onse"]],
    [2, "an empty prompt", [say("x")], ["--no-stdin"]],
    [3, "an answer cut by length", [say("x", "length")], [], "length"],
    [3, "rounds used up", ENDLESS, ["--rounds", "1"], "rounds"],
    [4, "a refused call", [call(["read_file", { path: "../x" }]), say("x")], [], "stop"],
  ];
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
        deepEqual([whole.type, whole.exit, plain(whole.message)], ["error", code, plain(text.stderr)]);
        deepEqual({ ...end, message: plain(end.message) }, { ...whole, message: plain(whole.message) });
      }
      if (finish && code === 1) match(text.stderr, /^The model answered with nothing\.$/m);
      noTrace(text.stderr + json.stderr + events.stderr + json.stdout);
    });
});

describe("interruptions", { concurrency: 3 }, () => {
  for (const [signal, code, when, step, format] of [
    ["SIGINT", 130, "before the answer begins", undefined, []],
    ["SIGTERM", 143, "in mid-answer", broken("hang"), []],
    ["SIGINT", 130, "in mid-answer", broken("hang"), ["--json"]],
    ["SIGTERM", 143, "before the answer begins", undefined, ["--json-lines"]],
  ] as const)
    test(`${[signal, when, ...format].join(" ")}: the request is closed, the message is saved, exit ${code}`, async () => {
      let strike = () => {};
      const script: Script = (): any => {
        setTimeout(() => strike(), 100);
        return step ?? new Promise(() => {});
      };
      const ran = await ask(script, [...format], { started: (child) => (strike = () => void child.kill(signal)) });
      await ran.fake.requests[0]!.aborted;
      deepEqual([ran.code, ran.fake.requests.length], [code, 1]);
      if (format.length) {
        const end = lines(ran.stdout).at(-1);
        deepEqual([end.type, end.exit], ["error", code]);
      } else equal(ran.stdout, "");
      noTrace(ran.stderr);
      const [session] = ran.where.sessions();
      deepEqual(session!.find((entry) => entry.type === "message").message, { role: "user", text: "hi" });
    });

  test("SIGINT while a tool runs: the next turn with -c is valid", async () => {
    const where = place();
    mkdirSync(join(where.home, "plugins"), { recursive: true });
    const slow = `export default (zz: any) => zz.tool({ name: "slow", description: "d", needs: () => ({ run: [] }), run() { console.error("running"); return new Promise(() => setTimeout(() => {}, 99_999)); } });`;
    writeFileSync(join(where.home, "plugins", "slow.ts"), slow);
    const started: How["started"] = (child) =>
      void child.stderr!.on("data", (text) => /running/.test(text) && child.kill("SIGINT"));
    const ran = await ask([call(["slow", {}], ["list_dir", {}])], [], { started }, where);
    deepEqual([ran.code, ran.sent.length], [130, 1]);
    const { sent, code } = await ask([say("x")], ["-c", "go on"], { input: "" }, where);
    deepEqual([code, problems(sent[0]), results(sent[0])], [0, [], ["[interrupted]", "[interrupted]"]]);
  });

  for (const [reader, format, first] of [
    ["head -1", ["--json-lines"], '{"type":"started"'],
    ["true", [], ""],
  ] as const)
    test(`a stdout closed early by ${reader}${format.map((flag) => ` (${flag})`)} ends quietly`, async () => {
      const where = place();
      const text = Array.from({ length: 40_000 }, (_, i) => `line ${i}`).join("\n");
      const fake = await server([stream(delta({ content: text }), delta({}, "stop"), DONE)]);
      const args = ["--once", ...at(fake), ...format, "hi"].map((arg) => `'${arg}'`).join(" ");
      const line = `{ '${process.execPath}' '${WAYS.dist[1]}' ${args} </dev/null; echo "code $?" >&2; } | ${reader}`;
      const env = { ...process.env, ZZ_HOME: where.home, OLLAMA_HOST: "http://127.0.0.1:49" };
      const child = spawn("sh", ["-c", line], { cwd: where.cwd, env, stdio: ["ignore", "pipe", "pipe"] });
      let [out, errors] = ["", ""];
      child.stdout.on("data", (piece) => (out += piece));
      child.stderr.on("data", (piece) => (errors += piece));
      await new Promise((closed) => child.on("close", closed));
      ok(out.startsWith(first), out.slice(0, 100));
      equal(errors, "code 0\n");
    });
});

describe("the kind of an error, for programs", { concurrency: 3 }, () => {
  const no = (status: number, message = "No.", more = {}) => refuse(status, { error: { message, ...more } });
  // biome-ignore format: a table
  const rows: [what: string, step: Step | undefined, args: string[], kind: string, exit: number][] = [
    ["a key that is refused", no(401, "Bad key."), [], "key", 1],
    ["a key that may not", no(403), [], "key", 1],
    ["too many requests", refuse(429, { error: { message: "Slow down." } }, { "retry-after": "3600" }), [], "quota", 1],
    ["no money", no(402), [], "quota", 1],
    ["a quota that is used up", no(400, "Out of it.", { code: "insufficient_quota" }), [], "quota", 1],
    ["a request that is refused", no(400), [], "provider", 1],
    ["a model that is not there", no(404), [], "provider", 1],
    ["an answer that breaks off", stream(delta({ content: "Hal" })), [], "provider", 1],
    ["a body that is no answer", { status: 200, headers: {}, body: ["<html>no"] }, [], "provider", 1],
    ["a server that is not there", undefined, ["--base-url", "http://127.0.0.1:49"], "network", 1],
    ["a flag that nobody has", undefined, ["--nope"], "usage", 2],
    ["a content filter", stream(delta({}, "content_filter"), DONE), [], "limit", 3],
    ["an attachment that is denied", undefined, ["--deny-net", "-a", "http://127.0.0.1:49/a.png"], "refused", 4],
  ];
  for (const [what, step, args, kind, exit] of rows)
    for (const format of ["--json", "--json-lines"])
      test(`${what}, in ${format}: ${kind}`, async () => {
        const fake = await server(step ? [step, step, step] : []);
        const ran = await zz(place(), [...at(fake), ...args, format, "hi"]);
        const last = JSON.parse(ran.stdout.trimEnd().split("\n").at(-1)!);
        deepEqual([last.type, last.kind, last.exit, ran.code], ["error", kind, exit, exit], ran.stderr);
      });

  test("docs/scripts.md has each kind with its exit code", () => {
    const page = readFileSync(join(ROOT, "docs", "scripts.md"), "utf8");
    const table = [...page.matchAll(/^\| `(\w+)` \| ([\d, ]+) \|/gm)].map(([, kind, exits]) => [kind, exits]);
    const made = ["key", "quota", "network", "provider", undefined].map((kind) => [kindOf({ kind } as Fault), "1"]);
    const others = [2, 3, 4].map((exit) => [kindOf({ exit }), `${exit}`]);
    deepEqual(table, [...made, ...others, [kindOf({ exit: 130 }), "130, 143"]]);
  });
});

describe("--call", { concurrency: 3 }, () => {
  const rows: [what: string, args: string[], code: number, stdout: string, stderr: RegExp, json: any][] = [
    ["a tool that works", ["read_file", '{"path":"a.txt"}'], 0, "1\talpha\n", /^$/, { ok: true, text: "1\talpha" }],
    ["arguments of many words", ["read_file", '{"path":', '"a.txt"}'], 0, "1\talpha\n", /^$/, { ok: true }],
    ["an alias", ["cat", '{"path":"a.txt"}'], 0, "1\talpha\n", /^$/, { ok: true, text: "1\talpha" }],
    ["no arguments", ["list_dir"], 0, "a.txt\n", /^$/, { ok: true, text: "a.txt", data: ["a.txt"] }],
    ["a tool that fails", ["read_file", '{"path":"none"}'], 1, "", /^Cannot read 'none': no such file/, { ok: false }],
    ["a refused tool", ["read_file", '{"path":"../x"}'], 4, "", /^read_file: Refused: .*--allow-read=\.\.\/x/, { ok: false }],
    ["an unknown tool", ["raed_file", "{}"], 2, "", /no tool 'raed_file'\. Did you mean 'read_file'\?/, { type: "error", exit: 2 }],
    ["arguments that are not JSON", ["read_file", "{path}"], 2, "", /^Cannot call 'read_file': its arguments are not JSON/, { type: "error", exit: 2 }],
    ["arguments that do not fit", ["read_file", '{"path":3}'], 2, "", /^Cannot call 'read_file': path.*string/, { type: "error", exit: 2 }],
    ["arguments that are no object", ["list_dir", "3"], 2, "", /^Cannot call 'list_dir': /, { type: "error", exit: 2 }],
  ]; // biome-ignore format: a table
  for (const [what, args, code, stdout, stderr, json] of rows)
    test(`with ${what}: exit ${code}, in text and --json`, async () => {
      const where = place();
      put(where, "a.txt", "alpha\n");
      const [text, object] = await Promise.all([
        zz(where, ["--call", ...args]),
        zz(where, ["--call", ...args, "--json"]),
      ]);
      deepEqual([text.stdout, text.code, object.code], [stdout, code, code]);
      match(text.stderr, stderr);
      ok(text.stderr.split("\n").length <= 2, text.stderr);
      noTrace(text.stderr);
      const result = JSON.parse(object.stdout);
      for (const [key, value] of Object.entries(json)) deepEqual(result[key], value, key);
      if (!json.type) deepEqual(Object.keys(result).sort(), result.data ? ["data", "ok", "text"] : ["ok", "text"]);
      equal(existsSync(join(where.home, "sessions")), false, "no session is made");
    });
});

describe("lists", { concurrency: 3 }, () => {
  test("--models are those of the server, with their windows", async () => {
    const fake = await server([say("x")]);
    const { stdout, stderr, code } = await zz(place(), ["--models", ...at(fake)]);
    deepEqual([stdout, stderr, code], ["openai/m\nopenai/n  8192 tokens\n", "", 0]);
    const json = await zz(place(), ["--models", ...at(fake), "--json"]);
    deepEqual(JSON.parse(json.stdout), [{ id: "openai/m" }, { id: "openai/n", window: 8192 }]);
    equal(fake.requests.length, 0);
  });

  test("--models names each provider that does not answer, and lists the others", async () => {
    const { stdout, stderr, code } = await zz(place(), ["--models"]);
    deepEqual([stdout, code], ["offline/router\n", 0]);
    match(stderr, /^openai: .*OPENAI_API_KEY/m);
    match(stderr, /^ollama: .*127\.0\.0\.1:49/m);
    noTrace(stderr);
  });

  test("--models asks once an hour, --refresh again, and other providers are another question", async () => {
    const fake = await fakeOpenAI([]);
    let asked = 0;
    const count = await serve([], {
      "GET /v1/models": () => {
        asked++;
        return refuse(200, { data: [{ id: "lamp-large" }, { id: "lamp-small" }, { id: "kiln" }] });
      },
    });
    after(() => Promise.all([fake.close(), count.close()]));
    const where = place();
    mkdirSync(where.home, { recursive: true });
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
    match((await models("zebra")).stderr, /^Cannot list models like 'zebra': none of \d+ is\. --models lists all\.$/m);
    equal(asked, 1);
    await models("--refresh");
    equal(asked, 2);
    env.OPENAI_BASE_URL = fake.url;
    match((await models()).stdout, /^openai\/n +8192 tokens$/m);
  });

  test("--models of a provider that nobody has exits 2", async () =>
    sentence(await zz(place(), ["--models", "-m", "opnai/m"]), 2, /no provider 'opnai'\. Did you mean 'openai'\?/));

  test("--tools lists names and descriptions; with --json also parameters", async () => {
    const text = await zz(place(), ["--tools"]);
    match(text.stdout, /^read_file +Read a text file/m);
    const rows = JSON.parse((await zz(place(), ["--tools", "--json"])).stdout);
    equal(text.stdout.trimEnd().split("\n").length, rows.length);
    const { schema } = rows.find((row: any) => row.name === "read_file");
    deepEqual([schema.required, schema.properties.path.type], [["path"], "string"]);
  });

  test("--plugins lists every plugin and its file", async () => {
    const { stdout, stderr, code } = await zz(place(), ["--plugins"]);
    deepEqual([stderr, code], ["", 0]);
    match(stdout, /^wires +zz +\d.* ms +\/.*plugins(\.js|\/wires\/index\.ts)$/m);
    const rows = JSON.parse((await zz(place(), ["--plugins", "--json"])).stdout);
    for (const row of rows) ok(existsSync(row.file) && row.from === "zz" && !("failure" in row), row.file);
    equal(stdout.trimEnd().split("\n").length, rows.length);
  });

  test("--sessions lists the newest first, and nothing where there is none", async () => {
    const where = place();
    deepEqual([(await zz(where, ["--sessions"])).stdout, (await zz(where, ["--sessions"])).code], ["", 0]);
    await ask([say("x")], ["the first\nquestion"], { input: "" }, where);
    await new Promise((later) => setTimeout(later, 1_000 - (Date.now() % 1_000)));
    await ask([say("x")], ["the second"], { input: "" }, where);
    const { stdout } = await zz(where, ["--sessions"]);
    match(
      stdout,
      /^\S+ {2}\d{4}-\d\d-\d\d \d\d:\d\d +~\d+k? tokens {2}\S+project {2}the second\n\S+ {2}.* {2}the first question\n$/,
    );
    const rows = JSON.parse((await zz(where, ["--sessions", "--json"])).stdout);
    deepEqual(
      rows.map((row: any) => row.title),
      ["the second", "the first question"],
    );
  });

  test("--help has every flag and every exit code", async () => {
    const { stdout, stderr, code } = await zz(place(), ["--help"]);
    deepEqual([stderr, code], ["", 0]);
    for (const { name, short, description } of FLAGS) {
      const row = new RegExp(`^ +${short ? `-${short}, ` : ""}--${name}(?![\\w-])(.*\\n)( {20}.*\\n)*`, "m").exec(
        stdout,
      );
      ok(row?.[0].replace(/\s+/g, " ").includes(description), name);
    }
    for (const exit of [0, 1, 2, 3, 4, 130, 143]) match(stdout, new RegExp(`\\b${exit}\\b`));
  });

  test("--help fits 80 columns, with every flag in a group", async () => {
    const { stdout } = await zz(place(), ["--help"]);
    deepEqual(
      stdout.split("\n").filter((line) => line.length > 80),
      [],
    );
    const groups = [...stdout.matchAll(/^(\w[\w ]+):$/gm)].map(([, name]) => name!);
    deepEqual(groups.slice(0, 3), ["asking", "model", "the conversation"]);
    ok(!groups.includes("other"), "a flag of zz's own without a group");
  });

  test("--version is that of package.json", async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    deepEqual((await zz(place(), ["--version"])).stdout, `zz ${version}\n`);
    deepEqual((await zz(place(), ["-V", "--json"])).stdout, `{"version":"${version}"}\n`);
  });

  test("--completion bash is what bash understands", async () => {
    const { stdout } = await zz(place(), ["--completion", "bash"]);
    const script = `${stdout}\ncomplete -p zz && compgen -W "$(complete -p zz | sed "s/.*-W '//;s/'.*//")" -- --json`;
    const said = await new Promise<string>((done) =>
      execFile("bash", ["--norc", "-c", script], (error, out, errors) => done(`${error ?? ""}${out}${errors}`)),
    );
    match(said, /^complete .* zz$/m);
    match(said, /^--json$\n^--json-lines$/m);
    for (const { name } of FLAGS) ok(stdout.includes(`--${name}`), name);
  });

  for (const [shell, flag] of [
    ["zsh", (name: string) => `--${name}[`],
    ["fish", (name: string) => `-l ${name} `],
  ] as const)
    test(`--completion ${shell} has every flag`, async () => {
      const { stdout, code } = await zz(place(), ["--completion", shell]);
      equal(code, 0);
      for (const { name } of FLAGS) ok(stdout.includes(flag(name)), name);
    });

  test("--completion of another shell exits 2", async () =>
    sentence(await zz(place(), ["--completion", "tcsh"]), 2, /bash, zsh and fish/));
});

describe("bad input is one sentence", { concurrency: 4 }, () => {
  const rows: [what: string, args: string[], code: number, words: RegExp][] = [
    ["a flag that nobody has", ["--modle", "x"], 2, /^Unknown flag --modle\. Did you mean --model\?/],
    ["a short flag that nobody has", ["-z"], 2, /^Unknown flag -z\. .*--help/],
    ["a flag like no other", ["--bananarama"], 2, /^Unknown flag --bananarama\. .*--help/],
    ["a flag with an empty value", ["hi", "--session", ""], 2, /^Flag --session has an empty value/],
    ["a flag without its value", ["hi", "--model"], 2, /^Flag --model needs a value/],
    ["a switch with a value", ["--once=1"], 2, /^Flag --once takes no value/],
    ["no key", ["-m", "openai/m", "hi"], 2, /no key is set\. Set OPENAI_API_KEY, or pass --key/],
    ["no model", ["hi"], 2, /^No model to ask: .*OPENAI_API_KEY.*Ollama.*--model.*offline/],
    ["a model of no provider", ["-m", "opnai/m", "hi"], 2, /no provider 'opnai'\. Did you mean 'openai'\?/],
    ["a base URL that is none", ["-m", "openai/m", "--key", "x", "--base-url", "nonsense", "hi"], 2, /not a URL.*--base-url/],
    ["a folder that is not there", ["--cwd", "none", "hi"], 2, /--cwd 'none': there is no such folder/],
    ["settings that are not there", ["--config", "none.json", "hi"], 2, /settings '.*none\.json': no such file/],
  ]; // biome-ignore format: a table
  for (const [what, args, code, words] of rows)
    test(`${what}: exit ${code}`, async () => sentence(await zz(place(), args), code, words));

  test("a refused connection: exit 1", async () => {
    const fake = await fakeOpenAI([]);
    await fake.close();
    const where = place();
    const ran = await zz(where, [...at(fake), "--quiet", "precious"]);
    sentence(ran, 1, /^Cannot reach '127\.0\.0\.1:\d+': connection refused\. Is the server running there\?/);
    match(JSON.stringify(where.sessions()), /precious/);
    equal((await zz(where, ["--sessions"])).stdout, "", "nothing was answered: lists leave it out");
  });

  const html = "<!doctype html>\n<html><head><title>Welcome to nginx</title></head>\n<body><h1>Hi</h1></body></html>\n";
  const page = { "content-type": "text/html" };
  for (const [what, step, words] of [
    ["a model that does not exist", refuse(404, { error: { message: "The model 'm' does not exist", code: "model_not_found" } }), /answered 404: The model 'm' does not exist\. .*--model.*--models/],
    ["a key that is wrong", refuse(401, { error: { message: "Incorrect API key provided" } }), /answered 401: Incorrect API key.*--key/],
    ["a web page instead of an error", { status: 404, headers: page, body: [html] }, /a web page \("Welcome to nginx"\)\. .*--base-url/],
    ["a web page instead of an answer", { status: 200, headers: page, body: [html] }, /^(?!.*<body>).*web page.*--base-url/],
    ["a 200 with nothing in it", { status: 200, body: [] }, /answered with nothing/],
    ["a 200 with nothing in its stream", stream(DONE), /answered with nothing/],
    ["an error in mid-stream", stream(delta({ content: "half" }), data({ error: { message: "overloaded" } })), /failed in mid-stream: overloaded/],
    ["a connection cut in mid-answer", broken("cut"), /connection/],
    ["an answer without its end", stream(delta({ content: "half" })), /ended before the answer was complete/],
    ["an error with no words", refuse(400, ""), /answered 400: no reason given\./],
  ] as [string, any, RegExp][]) // biome-ignore format: a table
    test(`${what}: exit 1`, async () => sentence(await ask([step], ["--quiet"]), 1, words));

  test("a connection cut in mid-answer is tried again, and nothing of the first try is printed", async () => {
    const ran = await ask([broken("cut"), say("fine")]);
    deepEqual([ran.stdout, ran.code, ran.sent.length], ["fine\n", 0, 2]);
    match(ran.stderr, /Trying again/);
  });

  test("a server that recovers is asked again, and stderr says so", async () => {
    const script = [refuse(503, { error: { message: "busy" } }, { "retry-after": "0" }), say("fine")];
    const ran = await ask(script);
    deepEqual([ran.stdout, ran.code, ran.sent.length], ["fine\n", 0, 2]);
    match(ran.stderr, /busy.*Trying again/);
  });

  test("a server that does not recover is asked three times", async () => {
    const ran = await ask([refuse(503, { error: { message: "busy" } }, { "retry-after": "0" })]);
    deepEqual([ran.stdout, ran.code, ran.sent.length], ["", 1, 3]);
    noTrace(ran.stderr);
  });

  for (const text of ["{", "", "null", "[]", '"text"', "3", '{"model": 3}', '{"rounds": "x"}'])
    test(`settings that are ${JSON.stringify(text)}: exit 2`, async () => {
      const where = place();
      mkdirSync(where.home);
      writeFileSync(join(where.home, "zz.config.json"), text);
      sentence(await zz(where, ["-m", "offline", "hi"]), 2, /^Cannot (read|use) the settings '.*zz\.config\.json': /);
    });

  test("--debug, and only that, shows where an error comes from", async () =>
    match((await zz(place(), ["--onse", "--debug"])).stderr, /^ +at /m));
});

describe("the model is", { concurrency: 3 }, () => {
  const rows: [what: string, args: string[], env: Record<string, string>, settings: object | null, model: string][] = [
    ["--model before all", ["-m", "openai/flag"], { ZZ_MODEL: "openai/env" }, { model: "openai/file" }, "flag"],
    ["ZZ_MODEL before the settings", [], { ZZ_MODEL: "openai/env" }, { model: "openai/file" }, "env"],
    ["the settings' before a key's", [], {}, { model: "openai/file" }, "file"],
    ["the key's provider's", [], {}, null, "gpt-4o-mini"],
    ["with the first slash split", ["-m", "openai/org/name:tag"], {}, null, "org/name:tag"],
    ["without a provider, at --base-url", ["-m", "bare"], {}, null, "bare"],
    ["the plugin's own setting", [], {}, { openai: { model: "mine" } }, "mine"],
  ];
  for (const [what, args, env, settings, model] of rows)
    test(what, async () => {
      const where = place();
      const fake = await server([say("x")]);
      mkdirSync(where.home);
      if (settings) writeFileSync(join(where.home, "zz.config.json"), JSON.stringify(settings));
      const url = what.includes("--base-url") ? ["--base-url", fake.url] : [];
      const given = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: fake.url, ...env };
      const { code, stderr } = await zz(where, [...args, ...url, "hi"], { env: given });
      deepEqual([stderr, code, fake.requests[0]?.body.model], ["", 0, model]);
    });

  test("asked with the settings' URL, key and options; flags win", async () => {
    const where = place();
    const fake = await server([say("x")]);
    mkdirSync(where.home);
    const providers = { openai: { url: fake.url, key: "file-key" } };
    const options = { temperature: 1, seed: 1 };
    const settings = JSON.stringify({ model: "openai/file", providers, options });
    writeFileSync(join(where.home, "zz.config.json"), settings);
    await zz(where, ["hi"]);
    await zz(where, ["hi", "--key", "flag-key", "-o", "seed", "2"]);
    deepEqual(
      fake.requests.map(({ headers, body }) => [headers.authorization, body.temperature, body.seed]),
      [
        ["Bearer file-key", 1, 1],
        ["Bearer flag-key", 1, 2],
      ],
    );
  });

  for (const [settings, note] of [
    [{ rouds: 3 }, `Unknown setting "rouds": there is no setting 'rouds'. Did you mean 'rounds'?\n`],
    [
      { display: { thme: "light" } },
      `Unknown setting "display.thme": there is no setting 'thme'. Did you mean 'theme'?\n`,
    ],
    [
      { display: { theme: "pink" } },
      `Cannot use the setting "display.theme": it must be one of dark, light, none. Its default is used; fix it.\n`,
    ],
    [{ prices: { "openai/m": { input: 1, output: 2 } }, keys: { ctrlZ: "off" } }, ""],
  ] as const)
    test(`asked all the same where a setting is not known: ${JSON.stringify(settings)}`, async () => {
      const where = place();
      const fake = await server([say("x")]);
      mkdirSync(where.home);
      writeFileSync(join(where.home, "zz.config.json"), JSON.stringify(settings));
      const ran = await zz(where, ["-m", "openai/m", "--base-url", fake.url, "--key", "x", "hi"]);
      deepEqual([ran.stdout, ran.stderr, ran.code], ["x\n", note, 0]);
    });

  test("the session's, when it goes on", async () => {
    const where = place();
    const fake = await server([say("x")]);
    const env = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: fake.url };
    await zz(where, ["-m", "openai/special", "hi"], { env });
    await zz(where, ["-c", "more"], { env });
    await zz(where, ["-c", "-m", "openai/other", "more"], { env });
    deepEqual(
      fake.requests.map((request) => request.body.model),
      ["special", "special", "other"],
    );
  });

  test("whose settings --config and --home name", async () => {
    const where = place();
    const fake = await server([say("x")]);
    const env = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: fake.url };
    put(where, "own.json", '{"model": "openai/own"}');
    mkdirSync(join(where.cwd, "other"));
    put(where, "other/zz.config.json", '{"model": "openai/other"}');
    await zz(where, ["--config", "own.json", "hi"], { env });
    await zz(where, ["--home", "other", "hi"], { env });
    deepEqual(
      fake.requests.map((request) => request.body.model),
      ["own", "other"],
    );
    ok(existsSync(join(where.cwd, "other", "sessions")));
  });
});

test("usage is counted over every request of a turn", async () => {
  const counted = (text: string, input: number, output: number) =>
    stream(delta({ content: text }), delta({}, "length"), usage(input, output), DONE);
  const { stdout } = await ask([counted("a", 10, 1), counted("b", 20, 2), counted("c", 30, 3)], ["--json"]);
  deepEqual(JSON.parse(stdout).usage, { input: 60, output: 6 });
});

// biome-ignore format: one case a row.
for (const [args, model] of [
  [["--provider", "openai", "-m", "m"], "m"],
  [["--provider", "openai", "-m", "openai/m"], "m"],
  [["--provider", "openai"], "gpt-4o-mini"],
  [["-m", "m"], "m"],
  [["-m", "m", "--new", "--max-rounds", "3", "--yes"], "m"],
] as const)
  test(`zz ${args.join(" ")}: the model is found`, async (t) => {
    const fake = await fakeOpenAI([say("Hello.")]);
    t.after(fake.close);
    const env = { OPENAI_API_KEY: "x", OPENAI_BASE_URL: fake.url };
    const ran = await zz(place(), [...args, "--once", "hi"], { env });
    deepEqual([ran.stdout, ran.code], ["Hello.\n", 0], ran.stderr);
    equal(fake.requests.at(-1)!.body.model, model);
  });

test("zz -m with a name that no provider offers says how models are named", async (t) => {
  const fake = await fakeOpenAI([]);
  t.after(fake.close);
  const ran = await zz(place(), ["-m", "gtp", "--once", "hi"], {
    env: { OPENAI_API_KEY: "x", OPENAI_BASE_URL: fake.url },
  });
  equal(ran.code, 2);
  match(ran.stderr, /^Cannot use model 'gtp': a model is named provider\/model/);
});

describe("--json and --json-lines give the model's own text", () => {
  const COLOURS = `export default (zz) => zz.wrap("render", async (text, next) => "\\x1b[31m" + (await next(text)) + "\\x1b[39m");`;
  const given = async (...flags: string[]) => {
    const where = place();
    put(where, "red.ts", COLOURS);
    return ask([say("**Good.**")], ["--plugin", "red.ts", ...flags], {}, where);
  };
  for (const format of ["--json", "--json-lines"]) {
    test(`${format}: not what a plugin made of it to be seen`, async () => {
      const answer = lines((await given(format)).stdout).at(-1);
      deepEqual([answer.text, "rendered" in answer], ["**Good.**", false]);
    });
    test(`${format} --rendered: that beside it`, async () => {
      const answer = lines((await given(format, "--rendered")).stdout).at(-1);
      deepEqual([answer.text, answer.rendered], ["**Good.**", "\x1b[31m**Good.**\x1b[39m"]);
    });
  }
  test("without them it is shown as it is rendered", async () => {
    equal((await given()).stdout, "\x1b[31m**Good.**\x1b[39m\n");
  });
});
