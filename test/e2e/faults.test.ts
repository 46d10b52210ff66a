// Bad luck and bad will: what zz does about disks, servers, plugins and files that are not as they should be.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { call, DONE, delta, fakeOpenAI, problems, refuse, say, stream } from "../support/fake/openai.ts";
import { type Place, place, zz } from "../support/run.ts";
import { terminal } from "../support/terminal.ts";

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

test("Escape codes in a title, an error's words and a tool's name never reach the terminal", async (t) => {
  const steps = [
    say("ok"),
    refuse(401, { error: { message: "no \x1b]0;PWN\x07 key" } }),
    call(["gr\x1b[45mep\x07\n", {}]),
  ];
  const fake = await fakeOpenAI([...steps, say("ok")]);
  t.after(fake.close);
  const where = place();
  await zz(where, asks(fake.url, "--once"), { input: "data \x1b]0;PWN\x07 end" });
  const once = asks(fake.url, "--once", "--no-stdin", "hi");
  let raw = "";
  for (const args of [once, once, ["--sessions"]]) {
    const term = terminal(where, args);
    term.onData((text) => (raw += text));
    await term.exited;
  }
  ok(!/\x1b\]0|\x07|\x1b\[45m/.test(raw), JSON.stringify(raw));
  ok(raw.length > 60);
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

test("-f refuses a device, and reads a pipe to its end", async (t) => {
  const fake = await fakeOpenAI([say("ok")]);
  t.after(fake.close);
  const where = place();
  const device = await zz(where, asks(fake.url, "--once", "-f", "/dev/zero", "hi"));
  deepEqual([device.code, device.stderr], [2, "Cannot attach '/dev/zero': it is a device. Name a file.\n"]);
  const fifo = join(where.cwd, "fifo");
  execFileSync("mkfifo", [fifo]);
  const writing = writeFile(fifo, "from the pipe"); // once it is opened to be read
  const ran = await zz(where, asks(fake.url, "--once", "-f", fifo, "hi"));
  await writing;
  equal(ran.code, 0);
  match(fake.requests[0]!.body.messages.at(-1).content, /from the pipe/);
});

test("A timeout of more than timers can wait is no timeout of nothing", async (t) => {
  const fake = await fakeOpenAI([say("ok")]);
  t.after(fake.close);
  const where = place();
  writeFileSync(join(where.cwd, "s.json"), '{"timeout": 99999999}');
  const ran = await zz(where, asks(fake.url, "--once", "--config", "s.json", "hi"));
  deepEqual([ran.stdout, ran.stderr, ran.code], ["ok\n", "", 0]);
});

test("Of a long error the beginning is told", async (t) => {
  const fake = await fakeOpenAI([{ status: 400, body: ["x".repeat(2_000_000)] }]);
  t.after(fake.close);
  match((await zz(place(), asks(fake.url, "--once", "hi"))).stderr, /answered 400: x{600}\.$/m);
});

test("A name that nobody has is refused with a list of those there are", async () => {
  for (const [args, words] of [
    [["--call", "xyzzy"], /^Cannot call 'xyzzy': there is no tool 'xyzzy'\. There are: .*grep.*\.$/m],
    [["-T", "xyzzy", "--once", "hi"], /^Cannot offer 'xyzzy': there is no tool 'xyzzy'\. There are: .*grep.*\.$/m],
    [["-m", "xyzzy/x", "--once", "hi"], /there is no provider 'xyzzy'\. There are: .*offline.*\.$/m],
  ] as const) {
    const ran = await zz(place(), [...args]);
    equal(ran.code, 2);
    match(ran.stderr, words);
  }
});

test("Sessions that are a pipe or a folder are neither listed nor opened", async () => {
  const where = place();
  lay(where, "good", header);
  lay(where, "typed", { ...header, at: 5 });
  execFileSync("mkfifo", [join(where.home, "sessions", "pipe.jsonl")]);
  mkdirSync(join(where.home, "sessions", "folder.jsonl"));
  match((await zz(where, ["--sessions"])).stdout, /^good {2}[\d-]{10} [\d:]{5} +~100 tokens +t\n$/);
  for (const id of ["pipe", "folder"])
    equal((await zz(where, ["--session", id, "--once", "-m", "offline", "hi"])).code, 2);
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

test("A slash in one-shot is a command on the line, text in a pipe and after a second slash", async (t) => {
  for (const [args, input, sent, exit] of [
    [["//etc"], undefined, "/etc", 0],
    [[], "/tools", "/tools", 0],
    [["/toolz"], undefined, undefined, 2],
    [["/tools"], undefined, undefined, 0],
  ] as const) {
    const fake = await fakeOpenAI([say("ok")]);
    t.after(fake.close);
    const ran = await zz(place(), asks(fake.url, "--once", ...args), { ...(input && { input }) });
    deepEqual([ran.code, fake.requests[0]?.body.messages.at(-1).content], [exit, sent]);
    if (args[0] === "/tools") match(ran.stderr, /^grep /m);
    if (exit === 2)
      match(ran.stderr, /^Cannot run '\/toolz': there is no command '\/toolz'\. Did you mean '\/tools'\?$/m);
  }
});
