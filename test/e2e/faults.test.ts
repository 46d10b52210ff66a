// Bad luck and bad will: what zz does about disks, servers, plugins and files that are not as they should be.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { call, DONE, data, delta, fakeOpenAI, problems, refuse, say, stream } from "../support/fake/openai.ts";
import { type Place, place, WAYS, zz, zzProcess } from "../support/run.ts";
import { KEY, terminal } from "../support/terminal.ts";

const asks = (url: string, ...more: string[]) => [
  "-m",
  "openai/m",
  "--base-url",
  url,
  "--key",
  "SECRETKEY123",
  ...more,
];
const header = { zz: 1, id: "a", at: "2026-01-01T00:00:00.000Z", root: "", model: "openai/m", title: "t" };

function lay(where: Place, id: string, ...lines: unknown[]): string {
  const folder = join(where.home, "sessions");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${id}.jsonl`);
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return file;
}

const DANGER = `import { writeFileSync } from "node:fs";
export default (zz) => zz.tool({
  name: "danger", description: "Deletes.", needs: () => ({ run: ["rm"] }),
  run: () => { writeFileSync("ran", "yes"); return "ran"; },
});`;

test("Ctrl+C at a permission question means no: nothing runs, and the next line is a message", async (t) => {
  const fake = await fakeOpenAI([call(["danger", {}]), say("Next.")]);
  t.after(fake.close);
  const where = place();
  writeFileSync(join(where.cwd, "danger.ts"), DANGER);
  const term = terminal(where, asks(fake.url, "--plugin", "danger.ts"));
  await term.sees("›");
  term.type(`go${KEY.enter}`);
  await term.sees("Allow? [y/N/A/?]");
  term.type(KEY.ctrlC);
  await term.sees("Next.");
  ok(!existsSync(join(where.cwd, "ran")));
  match(fake.requests[1]!.body.messages.at(-1).content, /^Refused: the person said no to run access to "rm"/);
  term.type(`y${KEY.enter}`);
  while (fake.requests.length < 3) await new Promise((soon) => setTimeout(soon, 10));
  equal(fake.requests[2]!.body.messages.at(-1).content, "y");
  deepEqual(problems(fake.requests[2]!.body), []);
  term.type(KEY.ctrlD);
  equal(await term.exited, 0);
});

test("A yes at the question runs the tool; --no-prompt never asks", async (t) => {
  const fake = await fakeOpenAI([call(["danger", {}]), say("Done."), call(["danger", {}]), say("Not done.")]);
  t.after(fake.close);
  const where = place();
  writeFileSync(join(where.cwd, "danger.ts"), DANGER);
  const one = terminal(where, asks(fake.url, "--plugin", "danger.ts"), { process: true }); // it writes to its own folder
  await one.sees("›");
  one.type(`go${KEY.enter}`);
  await one.sees(/danger requests run access to "rm"\.[\s\S]*Allow\? \[y\/N\/A\/\?\]/);
  one.type("y");
  await one.sees("Done.");
  ok(existsSync(join(where.cwd, "ran")));
  one.type(KEY.ctrlD);
  await one.exited;
  const two = terminal(where, asks(fake.url, "--plugin", "danger.ts", "--no-prompt"));
  await two.sees("›");
  two.type(`go${KEY.enter}`);
  await two.sees("Not done.");
  match(two.screen(), /--allow-run=rm/);
  two.type(KEY.ctrlD);
  await two.exited;
});

test("A live line counts the seconds while a server says nothing", async (t) => {
  const fake = await fakeOpenAI([{ ...stream(), ending: "hang" }]);
  t.after(fake.close);
  const term = terminal(place(), asks(fake.url));
  await term.sees("›");
  term.type(`go${KEY.enter}`);
  await term.sees(/thinking · (0\.[3-9]|[1-9]\.\d) s/);
  term.type(KEY.ctrlC);
  term.type(KEY.ctrlD);
  await term.exited;
});

test("An answer that cannot be written is a sentence and exit 1", async (t) => {
  const fake = await fakeOpenAI([say("Hello.")]);
  t.after(fake.close);
  const where = place();
  const words = [...WAYS.dist, ...asks(fake.url, "--once", "--no-stdin", "hi")].map((word) => `'${word}'`).join(" ");
  for (const more of ["", " --json"]) {
    const shell = `${words}${more} >/dev/full 2>err; echo $? >code`;
    await zzShell(where, shell);
    equal(readFileSync(join(where.cwd, "code"), "utf8").trim(), "1");
    match(
      readFileSync(join(where.cwd, "err"), "utf8"),
      /^Cannot write the answer to 'stdout': the disk is full\. Make room\.$/m,
    );
  }
});

const zzShell = async (where: Place, line: string) => {
  const { spawn } = await import("node:child_process");
  const env = { ...process.env, ZZ_HOME: where.home };
  const child = spawn("sh", ["-c", line], { cwd: where.cwd, env, stdio: "ignore" });
  return new Promise((done) => child.on("close", done));
};

for (const [what, step] of [
  ["a title from a pipe", say("ok")],
  ["an error's words", refuse(401, { error: { message: "no \x1b]0;PWN\x07 key" } })],
  ["a tool's name", call(["gr\x1b[31mep\x07\n", {}])],
] as const)
  test(`Escape codes in ${what} never reach the terminal`, async (t) => {
    const fake = await fakeOpenAI([step, say("ok")]);
    t.after(fake.close);
    const where = place();
    await zz(where, asks(fake.url, "--once"), { input: "data \x1b]0;PWN\x07 end" });
    const raw: string[] = [];
    for (const args of [asks(fake.url, "--once", "--no-stdin", "hi"), ["--sessions"]]) {
      const term = terminal(where, args);
      term.onData((text) => raw.push(text));
      await term.exited;
    }
    ok(!/\x1b\]0|\x07|\x1b\[31m/.test(raw.join("")), JSON.stringify(raw.join("")));
    ok(raw.join("").length > 20);
  });

test("Arguments nested 10,000 deep are a failed call, and the conversation goes on", async (t) => {
  const deep = "[".repeat(10_000) + "]".repeat(10_000);
  const step = stream(
    delta(
      { tool_calls: [{ index: 0, id: "a", function: { name: "grep", arguments: `{"query":${deep}}` } }] },
      "tool_calls",
    ),
    DONE,
  );
  const fake = await fakeOpenAI([step, say("Fine.")]);
  t.after(fake.close);
  const ran = await zz(place(), asks(fake.url, "--once", "hi"));
  deepEqual([ran.stdout, ran.stderr, ran.code], ["Fine.\n", "", 0]);
  match(fake.requests[1]!.body.messages.at(-1).content, /nested more than 100 deep/);
});

test("A session is the file that it is in, whatever its header says", async (t) => {
  const fake = await fakeOpenAI([say("ok")]);
  t.after(fake.close);
  const where = place();
  const file = lay(where, "mine", { ...header, id: "../../evil", root: where.cwd });
  equal((await zz(where, asks(fake.url, "--once", "-c", "hi"))).code, 0);
  equal(readFileSync(file, "utf8").trim().split("\n").length, 4);
  ok(!existsSync(join(where.home, "..", "evil.jsonl")));
});

test("One bad file among the sessions does not take out the listing", async () => {
  const where = place();
  lay(where, "good", header);
  lay(where, "short", { zz: 1, id: "h2" });
  lay(where, "typed", { ...header, at: 5 });
  execFileSync("mkfifo", [join(where.home, "sessions", "pipe.jsonl")]);
  mkdirSync(join(where.home, "sessions", "folder.jsonl"));
  const ran = await zz(where, ["--sessions"]);
  match(ran.stdout, /^good {2}[\d-]{10} [\d:]{5} +~100 tokens +t\n$/);
  deepEqual([ran.stderr, ran.code], ["", 0]);
  for (const id of ["pipe", "folder"])
    equal((await zz(where, ["--session", id, "--once", "-m", "offline", "hi"])).code, 2);
});

test("Messages of a session that are no messages are passed over, and the request is valid", async (t) => {
  const fake = await fakeOpenAI([say("ok")]);
  t.after(fake.close);
  const where = place();
  const bad = [
    null,
    { role: "assistant", text: "x", calls: "zz" },
    { role: "assistant", text: "", calls: [null] },
    { role: "user" },
  ];
  const entries = bad.map((message, i) => ({ id: i + 1, parent: i || null, at: "", type: "message", message }));
  lay(where, "mine", { ...header, root: where.cwd }, ...entries);
  const ran = await zz(where, asks(fake.url, "--once", "-c", "hi"));
  deepEqual([ran.stdout, ran.code], ["ok\n", 0]);
  match(ran.stderr, /cannot be understood/);
  deepEqual(problems(fake.requests[0]!.body), []);
});

for (const [what, code, exit, words] of [
  ["never finishes loading", "await new Promise(() => {}); export default () => {};", 2, /took longer than 1 s/],
  [
    "throws from a timer",
    "export default () => void setTimeout(() => { throw new Error('stray') }, 1);",
    1,
    /outside of any turn.*stray/,
  ],
  [
    "leaves a rejection floating",
    "export default () => void Promise.reject(new Error('stray'));",
    1,
    /outside of any turn.*stray/,
  ],
  ["leaves as it loads", "export default () => process.exit(0);", 2, /^Cannot load plugin 'bad' .* process\.exit\(0\)/],
  [
    "leaves later",
    "export default () => void setTimeout(() => process.exit(0), 1);",
    1,
    /ended it before there was an answer/,
  ],
  [
    "leaves later with an exit code",
    "export default () => void setTimeout(() => process.exit(3), 1);",
    3,
    /ended it before there was an answer/,
  ],
  [
    "gives nothing back from a wrapper",
    'export default (zz) => zz.wrap("render", () => undefined);',
    0,
    /gave nothing back in 'render'/,
  ],
] as const)
  test(`A plugin that ${what} is told of in a sentence`, async (t) => {
    const fake = await fakeOpenAI([{ ...say("ok"), body: [50, ...say("ok").body!] }]);
    t.after(fake.close);
    const where = place();
    writeFileSync(join(where.cwd, "bad.ts"), code);
    const env = what === "never finishes loading" ? { ZZ_LOAD_LIMIT: "1" } : {};
    const isStray = /stray|before there was an answer/.test(words.source); // it reaches the whole process
    const start = isStray ? zzProcess : zz;
    const ran = await start(where, asks(fake.url, "--once", "--plugin", "bad.ts", "hi"), { env });
    match(ran.stderr, words);
    ok(!/^\s+at /m.test(ran.stderr), ran.stderr);
    equal(ran.code, exit);
  });

test("-f refuses a device, and reads a pipe to its end", async (t) => {
  const fake = await fakeOpenAI([say("ok")]);
  t.after(fake.close);
  const where = place();
  const device = await zz(where, asks(fake.url, "--once", "-f", "/dev/zero", "hi"));
  deepEqual([device.code, device.stderr], [2, "Cannot attach '/dev/zero': it is a device. Name a file.\n"]);
  const fifo = join(where.cwd, "fifo");
  execFileSync("mkfifo", [fifo]);
  const [ran] = await Promise.all([
    zz(where, asks(fake.url, "--once", "-f", fifo, "hi")),
    zzShell(where, `echo from the pipe > '${fifo}'`),
  ]);
  equal(ran.code, 0);
  match(fake.requests[0]!.body.messages.at(-1).content, /from the pipe/);
});

for (const [timeout, code, words] of [
  [-1, 2, /"timeout" must be a number from 0 up to \d/],
  [0, 0, /^$/],
  [99_999_999, 0, /^$/],
] as const)
  test(`A timeout of ${timeout} in the settings: exit ${code}`, async (t) => {
    const fake = await fakeOpenAI([say("ok")]);
    t.after(fake.close);
    const where = place();
    writeFileSync(join(where.cwd, "s.json"), JSON.stringify({ timeout }));
    const ran = await zz(where, asks(fake.url, "--once", "--config", "s.json", "hi"));
    match(ran.stderr.trim(), words);
    equal(ran.code, code);
  });

test("Keep-alive comments are no silence", async (t) => {
  const beats = Array.from({ length: 6 }, () => [": PROCESSING\n\n", 300]).flat();
  const fake = await fakeOpenAI([stream(...beats, delta({ content: "late" }), delta({}, "stop"), DONE)]);
  t.after(fake.close);
  const where = place();
  writeFileSync(join(where.cwd, "s.json"), '{"timeout": 1}');
  const ran = await zz(where, asks(fake.url, "--once", "--config", "s.json", "hi"));
  deepEqual([ran.stdout, ran.code, fake.requests.length], ["late\n", 0, 1]);
});

for (const [what, step, words, exit] of [
  [
    "an error of 80 MB",
    { status: 400, body: Array.from({ length: 80 }, () => "x".repeat(1_000_000)) },
    /answered 400: x{600}\./,
    1,
  ],
  ["calls that are no list", stream(delta({ tool_calls: { a: 1 } }), delta({ content: "ok" }, "stop"), DONE), /^$/, 0],
  [
    "a key in its refusal",
    refuse(401, { error: { message: "Incorrect key: Bearer SECRETKEY123" } }),
    /Incorrect key: Bearer \[key\]/,
    1,
  ],
  ["a body that is not gzip", { headers: { "content-encoding": "gzip" }, body: ["nonsense"] }, /connection ended/, 1],
  [
    "a chunk without anything",
    stream(data(null), data({}), data([]), data({ choices: null }), delta({ content: "ok" }, "stop")),
    /^$/,
    0,
  ],
] as const)
  test(`A server that sends ${what}: exit ${exit}`, async (t) => {
    const fake = await fakeOpenAI([step as any]);
    t.after(fake.close);
    const ran = await zz(place(), asks(fake.url, "--once", "hi"));
    match(ran.stderr.trim(), words);
    ok(!ran.stderr.includes("SECRETKEY123"));
    equal(ran.code, exit);
  });

test("A folder that is gone is a sentence", () => {
  const where = place();
  const script = `mkdir gone && cd gone && rmdir ../gone && '${WAYS.dist[0]}' '${WAYS.dist[1]}' --once --no-stdin -m offline hi`;
  const { status, stderr } = spawnSync("sh", ["-c", script], {
    cwd: where.cwd,
    env: { ...process.env, ZZ_HOME: where.home },
    encoding: "utf8",
  });
  deepEqual(
    [status, stderr],
    [2, "Cannot work here: the folder is gone. Change to another, or name one with --cwd.\n"],
  );
});

for (const [args, words] of [
  [["--call", "xyzzy"], /^Cannot call 'xyzzy': there is no tool 'xyzzy'\. There are: .*grep.*\.$/m],
  [["-T", "xyzzy", "--once", "hi"], /^Cannot offer 'xyzzy': there is no tool 'xyzzy'\. There are: .*grep.*\.$/m],
  [["-m", "xyzzy/x", "--once", "hi"], /there is no provider 'xyzzy'\. There are: .*offline.*\.$/m],
] as const)
  test(`${args.join(" ")} lists the names there are`, async () => {
    const ran = await zz(place(), [...args]);
    equal(ran.code, 2);
    match(ran.stderr, words);
  });

test("A wrapper that hangs after what it wraps is cut off at its limit and named", async (t) => {
  const fake = await fakeOpenAI([call(["list_dir", {}]), say("Went on.")]);
  t.after(fake.close);
  const where = place();
  const hang = `export default (zz) => zz.wrap("call", async (call, next) => { await next(call); await new Promise(() => {}); }, undefined, 300);`;
  writeFileSync(join(where.cwd, "hang.ts"), hang);
  const ran = await zz(where, asks(fake.url, "--once", "--plugin", "hang.ts", "hi"));
  deepEqual([ran.stdout, ran.code], ["Went on.\n", 0]);
  match(
    fake.requests[1]!.body.messages.at(-1).content,
    /^Plugin 'hang' was cut off in 'call': it took longer than 0\.3 s\./,
  );
});

test("A used-up quota told in the stream is not asked for again", async (t) => {
  const fake = await fakeOpenAI([stream(data({ error: { code: "insufficient_quota", message: "Pay first" } }))]);
  t.after(fake.close);
  const ran = await zz(place(), asks(fake.url, "--once", "hi"));
  deepEqual([ran.code, fake.requests.length], [1, 1]);
});

test("A wait that the server asks for and that is too long is told, not waited for", async (t) => {
  const fake = await fakeOpenAI([refuse(429, { error: { message: "Too many." } }, { "retry-after": "100" })]);
  t.after(fake.close);
  const ran = await zz(place(), asks(fake.url, "--once", "hi"));
  deepEqual([ran.code, fake.requests.length], [1, 1]);
  match(ran.stderr, /Too many\. Try again in 100 s\.$/m);
});

for (const [what, args, how, exit] of [
  ["SIGINT while stdin is waited for", ["--once"], { input: null }, 130],
  ["a plugin that leaves", ["--once", "--plugin", "leave.ts", "hi"], {}, 1],
] as const)
  test(`--json ends in an error object after ${what}`, async () => {
    const where = place();
    writeFileSync(join(where.cwd, "leave.ts"), 'export default (zz) => zz.on("started", () => process.exit(0));');
    for (const json of ["--json", "--json-lines"]) {
      const ran = await zz(where, [...args, json, "-m", "offline"], {
        ...how,
        started: (child) => exit === 130 && setTimeout(() => child.kill("SIGINT"), 1_500),
      });
      equal(ran.code, exit);
      const last = JSON.parse(ran.stdout.trim().split("\n").at(-1)!);
      deepEqual([last.type, last.exit], ["error", exit]);
    }
  });

test("--fork ID takes the ID also when it stands apart", async (t) => {
  const fake = await fakeOpenAI([say("ok")]);
  t.after(fake.close);
  const where = place();
  const message = { role: "user", text: "from the first" };
  lay(where, "20260101-000000-first", header, { id: 1, parent: null, at: "", type: "message", message });
  const ran = await zz(where, asks(fake.url, "--once", "--fork", "20260101-000000-first", "go", "on"));
  equal(ran.code, 0);
  equal(fake.requests[0]!.body.messages.at(-1).content, "from the first\n\ngo on");
});

test("--dry-run of a provider without a wire shows no key", async () => {
  const ran = await zz(place(), ["--dry-run", "-m", "offline", "--key", "SECRETKEY123", "hi"]);
  equal(JSON.parse(ran.stdout).messages.at(-1).text, "hi");
  ok(!ran.stdout.includes("SECRETKEY123"));
});

test("Ids that another model made are replaced, in calls and results alike; its own stay", async (t) => {
  const odd = "functions.list_dir:0";
  const step = stream(
    delta({ tool_calls: [{ index: 0, id: odd, function: { name: "list_dir", arguments: "{}" } }] }, "tool_calls"),
    DONE,
  );
  const fake = await fakeOpenAI([step, say("one"), say("two"), say("three")]);
  t.after(fake.close);
  const where = place();
  const idsOf = (at: number) =>
    fake.requests[at]!.body.messages.flatMap(
      (one: any) => one.tool_call_id ?? one.tool_calls?.map((made: any) => made.id) ?? [],
    );
  await zz(where, asks(fake.url, "--once", "hi"));
  await zz(where, asks(fake.url, "--once", "-c", "again"));
  await zz(where, [...asks(fake.url, "--once", "-c", "again"), "-m", "openai/other"]);
  deepEqual(
    [idsOf(1), idsOf(2), idsOf(3)],
    [
      [odd, odd],
      [odd, odd],
      ["moved0000", "moved0000"],
    ],
  );
});

for (const [args, input, sent, exit] of [
  [["//etc"], undefined, "/etc", 0],
  [[], "/tools", "/tools", 0],
  [["/toolz"], undefined, undefined, 2],
  [["/tools"], undefined, undefined, 0],
] as const)
  test(`A slash in one-shot: ${JSON.stringify(args)} with ${input ?? "nothing"} piped`, async (t) => {
    const fake = await fakeOpenAI([say("ok")]);
    t.after(fake.close);
    const ran = await zz(place(), asks(fake.url, "--once", ...args), { ...(input && { input }) });
    deepEqual([ran.code, fake.requests[0]?.body.messages.at(-1).content], [exit, sent]);
    if (args[0] === "/tools") match(ran.stderr, /^grep /m);
    if (exit === 2)
      match(ran.stderr, /^Cannot run '\/toolz': there is no command '\/toolz'\. Did you mean '\/tools'\?$/m);
  });

test("What an answer cost is kept with it", async (t) => {
  const fake = await fakeOpenAI([say("ok")]);
  t.after(fake.close);
  const where = place();
  await zz(where, asks(fake.url, "--once", "hi"));
  const { model, usage, ms } = where.sessions()[0]!.at(-1).message;
  deepEqual([model, usage, typeof ms], ["openai/m", { input: 61, output: 9 }, "number"]);
});

test("A hook that asks for more time gets it", async (t) => {
  const fake = await fakeOpenAI([call(["list_dir", {}]), say("ok")]);
  t.after(fake.close);
  const where = place();
  const slow = `const nap = () => new Promise((wake) => setTimeout(wake, 300));
    export default (zz) => {
      zz.on("planned", async () => { await nap(); process.stderr.write("seen\\n"); }, 10);
      zz.wrap("call", async (call, next) => { await nap(); return next(call); }, "last", 10);
      zz.wrap("call", async (call, next) => { await nap(); return next(call); }, "first", 2_000);
    };`;
  writeFileSync(join(where.cwd, "slow.ts"), slow);
  const ran = await zz(where, asks(fake.url, "--once", "--plugin", "slow.ts", "hi"));
  match(ran.stderr, /Plugin 'slow' failed on 'planned': it took longer than 0\.01 s/);
  match(
    fake.requests[1]!.body.messages.at(-1).content,
    /^Plugin 'slow' was cut off in 'call': it took longer than 0\.01 s\./,
  );
});

test("The live line shows the end of what the model thinks, and fits the screen", async (t) => {
  const think = delta({ reasoning_content: `first ${"words ".repeat(40)}and the very last thought` });
  const fake = await fakeOpenAI([stream(think, 800, delta({ content: "Done." }), delta({}, "stop"), DONE)]);
  t.after(fake.close);
  const term = terminal(place(), asks(fake.url), { cols: 60 });
  await term.sees("›");
  term.type(`go${KEY.enter}`);
  const shown = await term.sees(/thinking · 0\.\d s · \d+ tokens · ….*the very last thought/);
  equal(shown.split("\n").filter((line) => line.includes("thought")).length, 1);
  const after = await term.sees("Done.");
  ok(!after.includes("thinking · "), after);
  term.type(KEY.ctrlD);
  await term.exited;
});

test("A session that another zz has open is told of before anything is typed, and zz leaves with 1", async () => {
  const where = place();
  lay(where, "mine", { ...header, root: where.cwd });
  const start = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)!.split(" ")[19];
  writeFileSync(join(where.home, "sessions", "mine.lock"), `${process.pid} ${start}`);
  const term = terminal(where, ["-m", "offline", "-c"]);
  await term.sees(`another zz (process ${process.pid}) has it open`);
  equal(await term.exited, 1);
});
