// The debug log: by what stands in the file, what a server received, and what was said on stderr.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { Script } from "../../../../test/support/fake/http.ts";
import { call, data, delta, refuse, say, stream } from "../../../../test/support/fake/openai.ts";
import type { Tree } from "../../../../test/support/files.ts";
import { asks, having } from "../../../../test/support/having.ts";
import { png } from "../../../../test/support/media.ts";
import { type How, type Place, place, zz } from "../../../../test/support/run.ts";
import { harness } from "../../../../test/support/script.ts";
import { waitFor } from "../../../../test/support/wait.ts";

const READ = call(["read_file", { path: "a.txt" }]);
const HEAD = ["HEADER", "PROMPT", "HISTORY", "TOOLS", "PARAMETERS", "STEP-START"];
const END = ["STEP-FINISH", "FINISH", "Turn ended"];

/** A run with a model that plays the script, in a project with a file. */
const run = (
  script: Script,
  args: string[],
  { where = place(), ...more }: How & { where?: Place } = {},
) => asks(having({ "a.txt": "one\ntwo\n" }, where), script, ["--once", ...args], more);
const text = (where: Place, name = "../home/debug.log"): string =>
  readFileSync(join(where.cwd, name), "utf8");
const entries = (where: Place, name = "log.jsonl"): any[] =>
  text(where, name)
    .split("\n")
    .slice(0, -1) // what has no line end is just being written
    .map((line) => JSON.parse(line));
const types = (all: any[]): string[] =>
  all.map(({ type, task }) => (task && task !== "chat" ? `${type} ${task}` : type));
const of = (all: any[], type: string): any[] => all.filter((one) => one.type === type);
const modeOf = (where: Place, name: string): string =>
  (statSync(join(where.cwd, name)).mode & 0o777).toString(8);
/** A plugin that wraps requests, and the arguments of a log with it. */
const wrapping = (wrap: string) => ({
  "../wrap.ts": `export default (zz) => zz.wrap("request", ${wrap});`,
});
const WRAPPED = ["--debug=log.jsonl", "--plugin", "../wrap.ts"];
/** What stands indented below a line of the log. */
const below = (log: string, line: RegExp): string => {
  const found = new RegExp(`${line.source}\\n((?: {4}.*\\n)*)`, "m").exec(log);
  ok(found, `${line} is not in:\n${log}`);
  return found[1]!.replace(/^ {4}/gm, "").replace(/\n$/, "");
};

describe("what the log says was sent is what the server received", () => {
  test("as JSON lines: prompt, layers, history, tools, parameters, and what is added in each round", async () => {
    const script = [READ, call(["list_dir", {}]), say("Two lines.")];
    const ran = await run(script, ["--debug=log.jsonl", "-o", "seed", "7", "look at a.txt"]);
    const log = entries(ran.where);
    const [first] = ran.sent;
    const [prompt, ...more] = of(log, "PROMPT");
    equal(prompt.text, first.messages[0].content);
    deepEqual(more, [], "the prompt stands there once a turn");
    const covered = prompt.layers.reduce((sum: number, { chars }: any) => sum + chars, 0);
    equal(
      covered + 2 * (prompt.layers.length - 1),
      prompt.text.length,
      "the layers, with an empty line between",
    );
    const layers = prompt.layers.map(({ name, slot }: any) => `${slot} ${name}`);
    equal(layers.join(", "), "identity base, project session, turn runtime, turn time");
    const said = [
      ...of(log, "HISTORY")[0].messages,
      ...of(log, "STEP-START").flatMap(({ added = [] }) => added),
    ];
    const sent = ran.sent
      .at(-1)
      .messages.map(({ role, content }: any, i: number) => [i, role, content ?? ""]);
    const told = said.map(({ index, role, text }) => [index, role, text]);
    deepEqual(told, sent.slice(1));
    deepEqual(said[1].calls[0].args, { path: "a.txt" });
    const tools = of(log, "TOOLS")[0].tools.map(
      ({ schema: parameters, name, description }: any) => {
        return { name, description, parameters };
      },
    );
    const offered = first.tools.map((tool: any) => tool.function);
    deepEqual(tools, offered);
    const { task, model, url, options } = of(log, "PARAMETERS")[0];
    deepEqual({ task, model, options }, { task: "chat", model: "openai/m", options: { seed: 7 } });
    match(url, /^http:\/\/127\.0\.0\.1:\d+\/v1$/);
  });

  test("as text: sections 2 and 3, letter for letter", async () => {
    const ran = await run([say("x")], ["--debug", "say\n\n  “hi” "]);
    const [system, user] = ran.sent[0].messages;
    const log = text(ran.where);
    equal(below(log, /^── 2 PROMPT · .*\n(?: {2}\S.*\n)* {2}TEXT/), system.content);
    equal(below(log, /^ {2}\[1\] user · .*/), user.content);
    match(log, /^ {2}base +identity, zz +\d+ characters, about \d+ tokens$/m);
  });

  test("what was told with a message is part of the history, and named with the layers", async () => {
    const where = having({ ".zz/RELATIONS.md": "Bo reviews." });
    await run([say("One.")], ["hi"], { where });
    having({ ".zz/RELATIONS.md": "Cy reviews." }, where);
    const ran = await run([say("Two.")], ["--debug=log.jsonl", "-c", "again"], { where });
    const log = entries(where);
    ok(of(log, "PROMPT")[0].news.some(({ name }: any) => name === "persona/relations"));
    const last = of(log, "HISTORY")[0].messages.at(-1);
    match(last.text, /Cy reviews[\s\S]*again$/);
    equal(last.text, ran.sent[0].messages.at(-1).content);
  });

  test("a wrapper's own words in the prompt are in no layer, and what it sends is what is written", async () => {
    const more = `{ ...request, system: request.system + "\\n\\nBe dry.", tools: [] }`;
    const where = having(wrapping(`(request, next) => next(${more})`));
    const ran = await run([say("x")], [...WRAPPED, "hi"], { where });
    const log = entries(where);
    equal(of(log, "PROMPT")[0].text, ran.sent[0].messages[0].content);
    deepEqual(of(log, "PROMPT")[0].layers.at(-1), {
      name: "(in no layer)",
      slot: "",
      owner: "",
      chars: 7,
      tokens: 2,
    });
    deepEqual(of(log, "TOOLS")[0].tools, []);
  });
});

describe("what happens is written in order", () => {
  test("calls and their results belong to the step whose answer asked for them", async () => {
    const script = [
      call(["read_file", { path: "a.txt" }], ["create_file", { path: "b", content: "1" }]),
      say("Done."),
    ];
    const { where } = await run(script, ["--debug=log.jsonl", "go"]);
    const log = entries(where);
    deepEqual(types(log), [
      ...HEAD,
      "TOOL-CALL",
      "TOOL-CALL",
      "GATE",
      "TOOL-RESULT",
      "GATE",
      "TOOL-ERROR",
      "STEP-FINISH",
      "TOOLS",
      "STEP-START",
      "TEXT-DELTA",
      ...END,
    ]);
    deepEqual(new Set(log.map(({ turn }) => turn)), new Set([1]));
    const steps = log.slice(HEAD.length - 1).map(({ step }) => step);
    deepEqual(steps, [...Array(8).fill(1), ...Array(6).fill(2)]);
    const [asked] = of(log, "TOOL-CALL");
    deepEqual(
      [asked.name, asked.id, asked.args],
      ["read_file", "call_read_file_0", { path: "a.txt" }],
    );
    match(of(log, "TOOL-RESULT")[0].output, /one\n.*two/);
    match(of(log, "TOOL-ERROR")[0].output, /^Refused: requires write access/);
    const gate = of(log, "GATE").map(({ decision, name }) => `${decision} ${name}`);
    equal(gate.join(), "allowed a.txt,refused b");
    const [one, two] = of(log, "STEP-FINISH");
    deepEqual(
      [one.finishReason, one.usage, two.finishReason],
      ["calls", { input: 61, output: 9 }, "stop"],
    );
    equal(of(log, "TEXT-DELTA")[0].text, "Done.");
    for (const type of ["FINISH", "Turn ended"])
      deepEqual(of(log, type)[0].usage, { input: 122, output: 18 });
    for (const { at } of log) match(at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });

  test("as text, in the shape of the first such log", async () => {
    const { where } = await run([READ, say("Done.")], ["--debug", "go"]);
    const at = "\\[[\\dT:.-]+Z\\]";
    const lines = [
      `^${at} STEP-START step=1 messages=1`,
      `${at} TOOL-CALL ► read_file \\(id=call_read_file_0\\) step=1`,
      "  INPUT ARGUMENTS:",
      '    \\{\n      "path": "a.txt"\n    \\}',
      `${at} GATE step=1 decision="allowed" .*`,
      `${at} TOOL-RESULT ◄ read_file \\(id=call_read_file_0\\) step=1 ms=\\d+`,
      "  RESULT OUTPUT:",
      "    .*one\n    .*two",
      `${at} STEP-FINISH step=1 finishReason="calls" usage=.* model="openai/m"`,
      `${at} STEP-START step=2 messages=3 new=2`,
      "  \\[2\\] assistant .*",
      '    ► read_file \\(id=call_read_file_0\\) \\{"path":"a.txt"\\}',
      "  \\[3\\] tool read_file \\(id=call_read_file_0\\) · .* · as above",
      `${at} TEXT-DELTA step=2 chars=5\n  TEXT:\n    Done\\.`,
    ];
    match(text(where).split("── 6 EVENTS\n")[1]!, new RegExp(lines.join("\n")));
  });

  test("thinking, a retry, and a provider's error with what had come", async () => {
    const script = [
      refuse(503, { error: { message: "busy" } }, { "retry-after": "0" }),
      stream(
        delta({ content: "Half an ans" }),
        data({ error: { code: "invalid_request", message: "no" } }),
      ),
    ];
    const ran = await run(script, ["--debug=log.jsonl", "go"]);
    equal(ran.code, 1);
    const log = entries(ran.where);
    deepEqual(types(log).slice(HEAD.length), ["RETRY", "STEP-START", "ERROR", ...END]);
    equal(of(log, "STEP-START")[1].attempt, 2);
    deepEqual(of(log, "ERROR")[0].partial, { text: "Half an ans" });
    for (const { message } of [of(log, "ERROR")[0], of(log, "FINISH")[0]])
      match(message, /in mid-stream: no\./);
    deepEqual([of(log, "FINISH")[0].finishReason, of(log, "FINISH")[0].exit], ["error", 1]);
    const thought = stream(
      delta({ reasoning_content: "Hm, hm." }),
      delta({ content: "Yes." }, "stop"),
    );
    const { where } = await run([thought], ["--debug=log.jsonl", "go"]);
    equal(of(entries(where), "THINKING")[0].text, "Hm, hm.");
  });

  test("kill -9 loses nothing that was written", async () => {
    const where = place();
    const blow = new AbortController();
    const isAsked = () =>
      existsSync(join(where.cwd, "log.jsonl")) && types(entries(where)).includes("STEP-START");
    void waitFor("the request", isAsked).then(() => blow.abort());
    await run([{ ...stream(), ending: "hang" as const }], ["--debug=log.jsonl", "go"], {
      where,
      signal: blow.signal,
    });
    deepEqual(types(entries(where)), HEAD);
  });

  test("a tool that is called without a model", async () => {
    const where = having({ "a.txt": "one\n" });
    const ran = await zz(where, ["--debug=log.jsonl", "--call", "read_file", '{"path":"a.txt"}']);
    equal(ran.code, 0, ran.stderr);
    deepEqual(types(entries(where)), ["HEADER", "TOOL-CALL", "GATE", "TOOL-RESULT"]);
  });
});

describe("where it goes", () => {
  const rows: [args: string[], env: Record<string, string>, file: string | undefined][] = [
    [["--debug"], {}, "../home/debug.log"],
    [[], { ZZ_DEBUG: "1" }, "../home/debug.log"],
    [["--debug=other.log"], { ZZ_DEBUG: "my.log" }, "other.log"],
    [[], { ZZ_DEBUG: "0" }, undefined],
    [[], {}, undefined],
  ];
  for (const [args, env, file] of rows)
    test(`${[...args, JSON.stringify(env)].join(" ")}: ${file ?? "nowhere"}, for the person alone, and nothing else in the folder`, async () => {
      const { where, code, stderr } = await run([say("x")], [...args, "hi"], { env });
      deepEqual([code, stderr], [0, ""]);
      deepEqual(readdirSync(where.cwd), ["a.txt", ...(file && !file.includes("/") ? [file] : [])]);
      equal(existsSync(join(where.home, "debug.log")), file === "../home/debug.log");
      if (!file) return;
      equal(modeOf(where, file), "600");
      match(text(where, file), /Turn ended/);
    });

  const bad: [what: string, name: string, files: Tree, why: string][] = [
    ["a link", "my.log", { "my.log": "->a.txt" }, "it is a link"],
    ["in no folder", "none/my.log", {}, "no such folder"],
    ["a FIFO", "my.log", { "my.log": "|" }, "it is not a regular file"],
  ];
  for (const [what, name, files, why] of bad)
    test(`${what} is refused in one sentence, and the run goes on`, async () => {
      const where = having(files);
      const ran = await run([READ, say("Yes.")], [`--debug=${name}`, "hi"], { where });
      deepEqual([ran.code, ran.stdout], [0, "Yes.\n"]);
      const words = `^Cannot write the debug log '.*${name}': ${why}.*zz continues without a log\\.\\n$`;
      match(ran.stderr, new RegExp(words));
      equal(text(where, "a.txt"), "one\ntwo\n");
    });

  test("what is there is kept, and closed to others", async () => {
    const where = having({ "my.log": "earlier\n" });
    chmodSync(join(where.cwd, "my.log"), 0o644);
    for (const said of ["one", "two"]) await run([say(said)], ["--debug=my.log", "hi"], { where });
    equal(modeOf(where, "my.log"), "600");
    match(text(where, "my.log"), /^earlier\n[\s\S]*Turn ended[\s\S]*Turn ended/);
  });

  test("--debug= is refused", async () => {
    const ran = await run([say("x")], ["--debug=", "hi"]);
    equal(ran.code, 2);
    match(ran.stderr, /^Cannot write the debug log: --debug= has no name\. /);
  });
});

describe("secrets are not in it", () => {
  const BASE64 = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
  const said: [what: string, text: string, secret: string][] = [
    ["OpenAI's key", "my key sk-proj-abcdEFGH0123 here", "abcdEFGH0123"],
    ["AWS's key", "id=AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"],
    ["Slack's token", "xoxb-123456789012-abcdef", "123456789012"],
    [
      "a JSON Web Token",
      "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmVk",
      "eyJzdWIiOiIxMjM0In0",
    ],
    ["a header", "curl -H 'Authorization: Bearer tokentokentoken'", "tokentokentoken"],
    [
      "a private key",
      `-----BEGIN RSA PRIVATE KEY-----\n${BASE64}\n-----END RSA PRIVATE KEY-----`,
      BASE64,
    ],
    [
      "a private key without its end",
      `-----BEGIN PRIVATE KEY-----\n${BASE64}\n${BASE64}\nmore`,
      BASE64,
    ],
    ["a line of .env", "DB_PASSWORD=hunter22", "hunter22"],
    ["a password in a URL", "https://me:pass4me@example.com/", "pass4me"],
    ["a value of env.json with quotes", 'the word is say "friend"', 'say "friend"'],
    ["a provider's kept key", "keep kept-by-keys-command safe", "kept-by-keys-command"],
    ["a provider's key in the settings", "and set-in-the-settings too", "set-in-the-settings"],
    ["a key of the environment", "variable from-environment", "from-environment"],
    ["the key of --key", "flag given-by-flag", "given-by-flag"],
  ];
  const where = having({
    "~/env.json": { WORD: "swordfish", QUOTED: 'say "friend"', SHORT: "on" },
    "~/keys.json": { ollama: "kept-by-keys-command" },
    "~/zz.config.json": { providers: { openai: { key: "set-in-the-settings" } } },
  });

  for (const name of ["log.jsonl", "my.log"])
    test(`whoever says them, in ${name}`, async () => {
      const all = said.map(([, text]) => text).join("\n\n");
      writeFileSync(join(where.cwd, "notes.txt"), all);
      const script = [
        call(["read_file", { path: "notes.txt" }], ["grep", { query: all }]),
        say(all),
      ];
      const header = ["-o", "extra_headers", '{"authorization":"secretly"}'];
      const args = ["--key", "given-by-flag", `--debug=${name}`, "-s", all, ...header, all];
      const ran = await run(script, args, { where, env: { SOME_API_KEY: "from-environment" } });
      equal(ran.code, 0, ran.stderr);
      const log = text(where, name);
      match(log, /Turn ended/);
      for (const [what, , secret] of said) {
        // the environment's values are masked before they are sent
        const sent = JSON.stringify(ran.sent);
        const quoted = JSON.stringify(secret).slice(1, -1);
        ok(
          sent.includes(what.endsWith("with quotes") ? "[value of QUOTED]" : quoted),
          `${what} was never sent`,
        );
        ok(!log.includes(secret) && !log.includes(quoted), `${what} is in the log`);
      }
      ok(!log.includes("secretly"));
      const marks = log.match(/\[redacted\]|\[key\]|\[value of \w+\]/g)!;
      ok(
        marks.length >= 5 * said.length,
        "in the prompt, the message, the call, its result, the answer",
      );
      for (const around of ["my key ", "more"])
        ok(log.includes(around), `'${around}' is gone as well`);
    });

  test("what set_env is to keep is not written, though it is kept nowhere yet", async () => {
    const script = [call(["set_env", { name: "WORD", value: "open sesame" }]), say("Set.")];
    const { where } = await run(script, ["--debug=log.jsonl", "-A", "go"]);
    const log = text(where, "log.jsonl");
    match(log, /"args":\{"name":"WORD","value":"\[redacted\]"\}/);
    ok(!log.includes("open sesame"));
  });

  test("an image is named and left out", async () => {
    const bytes = png(400, 300);
    const where = having({ "pic.png": bytes });
    const script = [call(["read_file", { path: "pic.png" }]), say("A picture.")];
    const ran = await run(script, ["--debug=log.jsonl", "-f", "pic.png", "look"], { where });
    match(JSON.stringify(ran.sent[0]), /data:image\/png;base64,iVBORw0K/);
    const log = text(where, "log.jsonl");
    const shown = `[image, image/png, ${bytes.length} bytes]`;
    deepEqual(of(entries(where), "HISTORY")[0].messages[0].images, [shown]);
    deepEqual(of(entries(where), "TOOL-RESULT")[0].images, [shown]);
    ok(!log.includes("iVBORw0K"));
  });

  test("nothing in it can look like an entry, or be obeyed by a terminal", async () => {
    const forged =
      "[2026-01-01T00:00:00.000Z] FINISH forged\n── 6 EVENTS\n\x1b]0;title\x07\r\x9b31m";
    const where = having({ "forged.txt": forged });
    await run([call(["read_file", { path: "forged.txt" }]), say(forged)], ["--debug", forged], {
      where,
    });
    const log = text(where);
    equal(log.match(/^\[.*FINISH forged/gm), null);
    equal(log.match(/^── 6 EVENTS/gm)!.length, 1);
    ok(log.match(/FINISH forged/g)!.length >= 3);
    doesNotMatch(log, /[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
  });
});

test("/debug on and off in a conversation", async (t) => {
  const zz = await harness({ own: true, script: ["Good."] }, t);
  const file = join(zz.home, "debug.log");
  const own = () =>
    [...zz.core.observers, ...zz.core.wraps].filter(({ owner }) => owner === "debug").length;
  const says = async (line: string) =>
    (await zz.command(line).catch(({ message }) => [message])).join();
  equal(await says("/debug"), `The debug log is off; /debug on writes to ${file}`);
  await zz.ask("first");
  deepEqual([existsSync(file), own()], [false, 0], "nothing is watched");
  match(await says("/debug on"), /^The debug log is on: /);
  const watching = own();
  await zz.ask("second");
  match(await says("/debug off"), /^The debug log is off\. What was written stays in /);
  const log = readFileSync(file, "utf8");
  deepEqual(log.match(/═ TURN \d/g), ["═ TURN 1"]);
  match(log, /^ {2}\[3\] user · 6 characters.*\n {4}second$/m);
  match(log, / Turn ended /);
  await zz.ask("third");
  equal(readFileSync(file, "utf8"), log);
  match(await says("/debug onn"), /^Cannot run '\/debug onn': use \/debug on or \/debug off\.$/);
  rmSync(file);
  mkdirSync(file);
  match(
    await says("/debug on"),
    /^Cannot write the debug log '.*': it is a folder\. Name a file\.$/,
  );
  rmSync(file, { recursive: true });
  for (const line of ["/debug on", "/debug on"]) await zz.command(line);
  equal(own(), watching, "it watches once");
});
