// The samples of docs/plugins.md for files, commands, questions, layers, flags, keys, secrets and
// dialogs, and the program of docs/scripts.md with embed(): each is run as it is printed.
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { harness } from "zz/test";
import { type Script, type Seen, serve } from "../support/fake/http.ts";
import { askable, call, say } from "../support/fake/openai.ts";
import { needs } from "../support/needs.ts";
import { snippet } from "../support/pages.ts";
import { place, zz } from "../support/run.ts";
import { KEY, terminal } from "../support/terminal.ts";
import { waitFor } from "../support/wait.ts";

function saved(holds: string, name: string) {
  const where = place({ [`${name}.ts`]: snippet(holds) });
  return { ...where, file: join(where.cwd, `${name}.ts`) };
}

test("Files: both are sorted after one yes, and /undo takes both back", async (t) => {
  const { file } = saved('name: "sort_lines"', "sort");
  const files = { "a.txt": "b\na\n", "b.txt": "2\n1\n" };
  const kit = await harness({ plugins: [file], files, own: true, answer: "yes" }, t);
  equal((await kit.call("sort_lines", { paths: ["a.txt", "b.txt"] })).text, "Sorted a.txt, b.txt.");
  deepEqual([kit.read("a.txt"), kit.read("b.txt"), kit.questions.length], ["a\nb\n", "1\n2\n", 1]);
  const progress = kit.events.flatMap((fact) => (fact.type === "progressed" ? fact.text : []));
  deepEqual(progress, ["1 of 2", "2 of 2"]);
  await kit.command("/undo");
  deepEqual([kit.read("a.txt"), kit.read("b.txt")], [files["a.txt"], files["b.txt"]]);
});

test("Commands: lines are kept in the home, and the chosen one is sent", async (t) => {
  const { file } = saved('name: "jot"', "jot");
  const kit = await harness({ plugins: [file], answer: async () => "two" }, t);
  await kit.command("/jot one");
  await kit.command("/jot two");
  deepEqual(await kit.command("/jot"), ["one\ntwo"]);
  equal((await kit.ask("/jot send")).text, "ok");
  equal(kit.chat.messages[0]!.text, "two");
  deepEqual(await kit.ctx.about.complete("jot", ""), [
    { name: "send", description: "choose a line" },
  ]);
  const alone = await harness({ plugins: [file], answer: "nobody" }, t);
  await rejects(alone.command("/jot send"), /there is no terminal to choose on/);
});

test("Asking the person: a line, a key, and another command", async (t) => {
  const { file } = saved('name: "brief"', "brief");
  const kit = await harness(
    { plugins: [file], own: true, answer: async (_, keys) => (keys ? "y" : "Fix it.") },
    t,
  );
  await kit.ask("hello");
  await kit.ask("/brief");
  const said = kit.chat.messages.map(({ text }) => text);
  deepEqual(said, ["Fix it.", "ok"], "in a new conversation");
  deepEqual(kit.questions, ["What is to be done? ", "Begin a new conversation for it? [y/N] "]);
  const silent = await harness({ plugins: [file], answer: "yes" }, t);
  deepEqual(
    (await silent.ask("/brief")).notes,
    ["Nothing was sent."],
    'the kit\'s "yes" is no line',
  );
});

needs("git")(
  "Layers: the first text stays in the system prompt, the next goes before a message",
  async (t) => {
    const { file } = saved('name: "git branch"', "branch");
    const kit = await harness({ plugins: [file] }, t);
    const git = (...args: string[]) => promisify(execFile)("git", args, { cwd: kit.root });
    await git("init", "-q", "-b", "main");
    await kit.ask("one");
    await git("checkout", "-q", "-b", "other");
    await kit.ask("two");
    await kit.ask("three");
    const { system, messages } = kit.requests.at(-1)!;
    match(system, /--- GIT BRANCH ---\nmain\n--- END GIT BRANCH ---$/);
    const said = messages.filter(({ role }) => role === "user").map(({ text }) => text);
    deepEqual(said, ["one", "--- GIT BRANCH ---\nother\n--- END GIT BRANCH ---\n\ntwo", "three"]);
  },
);

test("Compacting: what a failed call said is left out, and comes back with /back", async (t) => {
  const { file } = saved('name: "drop-errors"', "drop");
  const script = [
    { call: ["read_file", { path: "none.txt" }] as [string, object] },
    { text: "Gone." },
  ];
  const kit = await harness({ plugins: [file], own: true, script }, t);
  await kit.ask("read it");
  const results = () =>
    kit.chat.messages.flatMap(({ role, text }) => (role === "tool" ? text : []));
  const [said] = results();
  match(said!, /none\.txt/);
  deepEqual(await kit.command("/drop-errors"), ["Left out: 1 result."]);
  deepEqual(results(), ["(failed)"]);
  kit.chat.back(kit.chat.tree().branch.findLast(({ type }) => type === "message")!.id);
  deepEqual(results(), [said]);
});

test("Flags: one sets something before the turn, the other is all that zz does", async () => {
  const where = saved('name: "topic"', "topic");
  const plugin = ["--plugin", where.file];
  deepEqual((await zz(where, [...plugin, "--count-files"])).stdout, "1 files\n");
  deepEqual(JSON.parse((await zz(where, [...plugin, "--count-files", "--json"])).stdout), [
    "topic.ts",
  ]);
  const dry = await zz(where, [
    ...plugin,
    "--topic",
    "The move",
    "-m",
    "openai/m",
    "--key",
    "x",
    "--dry-run",
    "hi",
  ]);
  match(dry.stdout, /--- TOPIC ---\\nThe move\\n--- END TOPIC ---/);
  match((await zz(where, [...plugin, "--help"])).stdout, /--topic TEXT +what this run is about/);
});

test("Keys: Alt+T puts the date into the line", async () => {
  const where = saved("put today's date", "today");
  const term = terminal(where, ["-m", "offline/router", "--plugin", where.file]);
  await term.sees("project ›");
  await term.hit("on ", "› on");
  await term.hit("\x1bt", /› on \d{4}-\d\d-\d\d/);
  term.type(KEY.ctrlC + KEY.ctrlD);
  await term.exited;
});

test("Secrets: without a token nothing is sent; from a variable or a setting it is sent and never shown", async (t) => {
  const { file } = saved('name: "find_issue"', "tracker");
  const fake = await serve([{ body: ["secret-tok-1 and none other"] }]);
  t.after(fake.close);
  const settings = { tracker: { url: fake.url } };
  const answer = async (_: string, keys?: string) => (keys ? "y" : "secret-tok-1");
  const kit = await harness(
    { plugins: [file], settings, allow: { net: ["127.0.0.1"] }, answer },
    t,
  );
  const asked = await kit.call("find_issue", { words: "a b" });
  deepEqual([asked.failed, fake.requests.length], [true, 0]);
  match(asked.text, /^Cannot ask the tracker: it has no token\. Set TRACKER_TOKEN/);
  await kit.command("/tracker-token");
  equal((await kit.call("find_issue", { words: "a b" })).text, "[key] and none other");
  const [{ headers, path }] = fake.requests as [Seen];
  deepEqual([headers.authorization, path], ["Bearer secret-tok-1", "/issues?q=a%20b"]);
  equal(
    JSON.stringify(kit.ctx.settings.list().find(({ name }) => name === "tracker.token")!.value),
    '"[key]"',
  );
  const where = saved('name: "find_issue"', "tracker");
  writeFileSync(join(where.cwd, "zz.json"), JSON.stringify(settings));
  const words =
    `--plugin ${where.file} --config zz.json --allow-net --call find_issue {"words":"a"}`.split(
      " ",
    );
  await zz(where, words, { env: { TRACKER_TOKEN: "another-tok-2" } });
  equal(fake.requests[1]!.headers.authorization, "Bearer another-tok-2");
});

describe("Dialogs", () => {
  const open = async (script: Script, ...words: string[]) => {
    const { args, requests } = await askable(script);
    const where = saved("createInterface", "plain");
    return { where, requests, term: terminal(where, [...args, "--plugin", where.file, ...words]) };
  };
  const WRITE = [
    say("First."),
    call(["write_file", { path: "new.txt", content: "x\n" }]),
    say("Done."),
  ];
  test("messages are answered and questions asked, after words on the command line, until Ctrl+C", async () => {
    const { where, term, requests } = await open(WRITE, "hello", "there");
    await term.sees(/First\.[\s\S]*project >/);
    equal(requests[0]!.body.messages.at(-1).content, "hello there");
    await term.hit(`go${KEY.enter}`, "Allow?");
    await term.hit(`Y${KEY.enter}`, /Done\.[\s\S]*project >/);
    ok(existsSync(join(where.cwd, "new.txt")));
    term.type(KEY.ctrlC);
    equal(await term.exited, 0);
  });

  test("Ctrl+C stops a turn, and the dialog goes on", async () => {
    const { term, requests } = await open([{ body: [], ending: "hang" }]);
    await term.sees("project >");
    term.type(`hello${KEY.enter}`);
    await waitFor("the request", () => requests.length);
    await term.hit(KEY.ctrlC, /Stopped\.\nproject >/);
    term.type(KEY.ctrlD);
    equal(await term.exited, 0);
  });
});

test("Services: the lamp is turned on by the command, which says what to do without it", async (t) => {
  const { file } = saved('zz.service("lamp"', "lamp");
  const kit = await harness({ plugins: [file] }, t);
  deepEqual(await kit.command("/lamp"), []);
  equal(typeof kit.ctx.service("lamp" as never), "object");
});
