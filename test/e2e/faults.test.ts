// Bad luck and bad will: what zz does about disks, servers, plugins and files that are not as they
// should be.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { Script } from "../support/fake/http.ts";
import {
  askable,
  call,
  DONE,
  delta,
  problems,
  refuse,
  say,
  stream,
} from "../support/fake/openai.ts";
import { put } from "../support/repository.ts";
import { type How, type Place, place, zz } from "../support/run.ts";
import { terminal } from "../support/terminal.ts";

const header = {
  zz: 1,
  id: "a",
  at: "2026-01-01T00:00:00.000Z",
  root: "",
  model: "openai/m",
  title: "t",
};
/** Writes the file of a session. */
function lay(where: Place, id: string, ...lines: unknown[]): void {
  put(where.home, {
    [`sessions/${id}.jsonl`]: lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
  });
}
/** One run of zz --once, whose model says ok, and what that was sent. */
async function ask(where: Place, words: string[], how: How = {}, script: Script = [say("ok")]) {
  const { args, requests } = await askable(script);
  return {
    ...(await zz(where, [...args, "--once", ...words], how)),
    sent: requests.map(({ body }) => body),
  };
}

test("Escape codes in a title, an error's words and a tool's name never reach the terminal", async () => {
  const bad = refuse(401, { error: { message: "no \x1b]0;PWN\x07 key" } });
  const { args } = await askable([say("ok"), bad, call(["gr\x1b[45mep\x07\n", {}]), say("ok")]);
  const where = place();
  await zz(where, [...args, "--once"], { input: "data \x1b]0;PWN\x07 end" });
  const once = [...args, "--once", "--no-stdin", "hi"];
  let raw = "";
  for (const args of [once, once, ["--sessions"]]) {
    const term = terminal(where, args);
    term.onData((text) => (raw += text));
    await term.exited;
  }
  ok(!/\x1b\]0|\x07|\x1b\[45m/.test(raw), JSON.stringify(raw));
  ok(raw.length > 60);
});

test("A session is the file that it is in, whatever its header says", async () => {
  const where = place();
  lay(where, "mine", { ...header, id: "../../evil", root: where.cwd });
  equal((await ask(where, ["-c", "hi"])).code, 0);
  equal(where.sessions()[0]!.length, 4);
  ok(!existsSync(join(where.home, "..", "evil.jsonl")));
});

test("Messages of a session that are no messages are passed over, and the request is valid", async () => {
  const where = place();
  const role = "assistant";
  const bad = [
    null,
    { role, text: "x", calls: "zz" },
    { role, text: "", calls: [null] },
    { role: "user" },
  ];
  const entries = bad.map((message, i) => ({
    id: i + 1,
    parent: i || null,
    at: "",
    type: "message",
    message,
  }));
  lay(where, "mine", { ...header, root: where.cwd }, ...entries);
  const { stdout, stderr, code, sent } = await ask(where, ["-c", "hi"]);
  deepEqual([stdout, code, problems(sent[0])], ["ok\n", 0, []]);
  match(stderr, /cannot be understood/);
});

test("-f refuses a device, and reads a pipe to its end", async () => {
  const where = place();
  const device = await ask(where, ["-f", "/dev/zero", "hi"]);
  deepEqual(
    [device.code, device.stderr],
    [2, "Cannot attach '/dev/zero': it is a device. Name a file.\n"],
  );
  const fifo = join(where.cwd, "fifo");
  execFileSync("mkfifo", [fifo]);
  const writing = writeFile(fifo, "from the pipe"); // once it is opened to be read
  const { code, sent } = await ask(where, ["-f", fifo, "hi"]);
  await writing;
  equal(code, 0);
  match(sent[0].messages.at(-1).content, /from the pipe/);
});

test("A timeout of more than timers can wait is no timeout of nothing", async () => {
  const ran = await ask(place({ "s.json": { timeout: 99_999_999 } }), ["--config", "s.json", "hi"]);
  deepEqual([ran.stdout, ran.stderr, ran.code], ["ok\n", "", 0]);
});

test("Of a long error the beginning is told", async () => {
  const { stderr } = await ask(place(), ["hi"], {}, [
    { status: 400, body: ["x".repeat(2_000_000)] },
  ]);
  match(stderr, /answered 400: x{600}\.$/m);
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

test("Ids that another model made are replaced, in calls and results alike; its own stay", async () => {
  const odd = "functions.list_dir:0";
  const called = {
    tool_calls: [{ index: 0, id: odd, function: { name: "list_dir", arguments: "{}" } }],
  };
  const step = stream(delta(called, "tool_calls"), DONE);
  const { args, requests } = await askable([step, say("one"), say("two"), say("three")]);
  const where = place();
  for (const words of [["hi"], ["-c", "again"], ["-c", "again", "-m", "openai/other"]])
    await zz(where, [...args, "--once", ...words]);
  const idsOf = (one: any) => one.tool_call_id ?? one.tool_calls?.map((made: any) => made.id) ?? [];
  const ids = requests.slice(1).map(({ body }) => body.messages.flatMap(idsOf).join());
  deepEqual(ids, [`${odd},${odd}`, `${odd},${odd}`, "moved0000,moved0000"]);
});

test("A slash in one-shot is a command on the line, text in a pipe and after a second slash", async () => {
  for (const [words, input, content, exit, says] of [
    [["//etc"], undefined, "/etc", 0, /^$/],
    [[], "/tools", "/tools", 0, /^$/],
    [
      ["/toolz"],
      undefined,
      undefined,
      2,
      /^Cannot run '\/toolz': .* '\/toolz'\. Did you mean '\/tools'\?$/m,
    ],
    [["/tools"], undefined, undefined, 0, /^grep /m],
  ] as const) {
    const { code, sent, stdout, stderr } = await ask(place(), [...words], {
      ...(input && { input }),
    });
    deepEqual([code, sent[0]?.messages.at(-1).content], [exit, content]);
    match(content ? stderr : stdout + stderr, says);
  }
});
