// /sessions: what it says, what the session files hold and the model is asked; at a terminal only
// its list and its picker.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { existsSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Entry, Header, Message } from "../../kernel/contract.ts";
import { toMarkdown } from "../../plugins/sessions/export-session.ts";
import type { Setup } from "../../sdk/testing.ts";
import { repl } from "../support/repl.ts";
import { put } from "../support/repository.ts";
import { place } from "../support/run.ts";
import { sit } from "../support/sit.ts";
import { KEY } from "../support/terminal.ts";

const user = (text: string): Message => ({ role: "user", text });
const answer = (text: string): Message => ({ role: "assistant", text });
const fileOf = (home: string, id: string) => join(home, "sessions", `${id}.jsonl`);

/** Writes the file of a session that is that many days old. */
function stored(
  home: string,
  root: string,
  days: number,
  tail: string,
  title: string,
  ...said: Message[]
): string {
  const at = new Date(Date.UTC(2026, 0, 30 - days, 12)).toISOString();
  const id = `${at.slice(0, 10).replaceAll("-", "")}-120000-${tail}`;
  const first: Header = { zz: 1, id, at, root, model: "script/n", title };
  const entries = said.map((message, i) => ({
    id: i + 1,
    parent: i || null,
    at,
    type: "message",
    message,
  }));
  put(home, {
    [`sessions/${id}.jsonl`]: [first, ...entries]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(""),
  });
  utimesSync(fileOf(home, id), new Date(at), new Date(at));
  return id;
}
/** Three sessions of this folder, and one of another. */
const some = (home: string, root: string): string[] => [
  stored(
    home,
    root,
    1,
    "alpha111",
    "mend the parser",
    user("mend the parser"),
    answer("The tokenizer was at fault."),
  ),
  stored(
    home,
    root,
    2,
    "beta2222",
    "what is a monad",
    user("what is a monad"),
    answer("A monoid, they say."),
  ),
  stored(
    home,
    root,
    3,
    "beta3333",
    "日本語の質問 about wide letters",
    user("日本語"),
    answer("はい"),
  ),
  stored(home, "/tmp/other", 4, "gamma444", "elsewhere", user("elsewhere"), answer("There.")),
];
/** A zz with those sessions, where a person answers with these keys. */
async function among(t: TestContext, keys: string[] = [], setup: Setup = {}) {
  const answer = async () => keys.shift() ?? "";
  const zz = await sit(t, { answer, ...setup });
  return { ...zz, ids: some(zz.it.home, zz.it.root) };
}

describe("/sessions", () => {
  test("lists this folder's, newest first, with ids short enough to type; all: those of other folders too", async (t) => {
    const { tells } = await among(t);
    const rows = [
      / {2}alpha {2}2026-01-29 \d\d:\d\d +~\d+k? tokens {2}mend the parser +script\/n\n/,
      / {2}beta2 {2}2026-01-28 \d\d:\d\d +~\d+k? tokens {2}what is a monad +script\/n\n/,
      / {2}beta3 {2}2026-01-27 \d\d:\d\d +~\d+k? tokens {2}日本語の質問 about wide let.* +script\/n\n1 in other folders: \/sessions all$/,
    ];
    await tells("/sessions", new RegExp(rows.map(({ source }) => source).join("")));
    await tells(
      "/sessions all",
      /\/tmp\/other:\n {2}gamma {2}2026-01-26 \d\d:\d\d +~\d+k? tokens {2}elsewhere/,
    );
  });

  test("keeps to 40 columns; load without an id is a picker: words narrow it, Enter loads", async (t) => {
    const where = place();
    some(where.home, where.cwd);
    const { say, hit } = await repl(t, { where, cols: 40 });
    const listed =
      / {2}alpha {2}01-29 {2}mend the parser\n[\s\S]* {2}beta3 {2}01-27 {2}日本語の質問 about wid…\n/;
    await say("/sessions", listed);
    await say(
      "/sessions load",
      /\? Conversation\s*\n❯ {3}alpha[\s\S]*beta2[\s\S]*beta3[\s\S]*gamma/,
    );
    await hit("monda", /\? Conversation monda\n❯ {3}beta2/);
    await hit(KEY.enter, /Now in “what is a monad”/);
    await say("/permissions", /\n {2}· .* except\n {4}files that hold secrets/);
  });

  test("of many, the newest 20 are shown and the rest is counted; a word in any of them is found", async (t) => {
    const { tells, it } = await sit(t);
    await tells("/sessions", /^No conversation was saved yet\.$/);
    const said = Array.from({ length: 40 }, (_, i) =>
      (i % 2 ? answer : user)(`Line ${i} of talk.`),
    );
    stored(it.home, it.root, 1, "s0000000", "number 0", ...said, user("the needle"));
    for (let i = 1; i < 25; i++)
      stored(it.home, it.root, i + 1, `s${String(i).padStart(7, "0")}`, `number ${i}`);
    const listed = await tells("/sessions", /^5 older: \/sessions all$/m);
    ok(listed.includes("number 19") && !listed.includes("number 20"), listed);
    Object.assign(it.core.io.stderr, { rows: 15 }); // as many as a lower window has room for
    match(await tells("/sessions", /^14 older: \/sessions all$/m), /number 10 .*\n14 older/);
    await tells("/sessions search needle", /#41 the needle/);
  });

  test("what it cannot do it says in a sentence", async (t) => {
    const { tells } = await among(t);
    for (const [line, says] of [
      ["/sessions laod",
        "Cannot run '/sessions laod': use one of new, all, search, load, rename, delete, export."],
      ["/sessions load nope", "Cannot find the session 'nope': no id begins like that."],
      ["/sessions load beta", "Cannot find the session 'beta': 2 ids begin like that."],
      ["/rename", "Cannot rename to nothing: give a title, /rename TITLE."],
      ["/sessions rename Fine", "Cannot rename this conversation: nothing of it is saved yet."],
      ["/sessions delete", "Cannot delete nothing: give an id"],
      ["/sessions search", "Cannot search for nothing: give words"],
      ["/sessions export", "Cannot export this conversation: nothing was said in it."],
    ] as const) // biome-ignore format: a table
      await tells(line, says);
  });
});

describe("/sessions load", () => {
  test("really replaces the conversation: the next request has its history, its model, and goes into its file", async (t) => {
    const { tells, say, it, sent, ids } = await among(t);
    await say("good day");
    await tells("/sessions load alpha", "Now in “mend the parser”: 1 message of yours, script/n.");
    await tells("/sessions load alpha", "That is this conversation.");
    await say("go on");
    equal(it.requests[1]!.model, "n");
    deepEqual(sent().slice(0, 2), ["mend the parser", "The tokenizer was at fault."]);
    match(sent()[2]!, /go on$/);
    const lines = readFileSync(fileOf(it.home, ids[0]!), "utf8").trimEnd().split("\n");
    ok(lines.some((line) => JSON.parse(line).message?.text === "go on"));
  });

  test("of one that another zz has open is refused, and the conversation stays", async (t) => {
    const { tells, say, it, sent, ids } = await among(t);
    const start = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)!.split(" ")[19];
    writeFileSync(join(it.home, "sessions", `${ids[0]}.lock`), `${process.pid} ${start}`);
    await say("good day");
    await tells("/sessions load alpha", `Cannot open session '${ids[0]}': another zz`);
    await say("and now");
    equal(sent()[0], "good day");
  });

  test("with nobody to ask needs an id, as delete and overwriting are refused", async (t) => {
    const { tells, it } = await among(t, [], { answer: "nobody" });
    it.write("m.md", "mine");
    await tells("/sessions load", /^Cannot choose a conversation here: give its id, \/ses/);
    await tells(
      "/sessions delete beta2",
      /^Cannot delete 'what is a monad': there is no terminal to ask on\./,
    );
    await tells(
      "/sessions export alpha m.md",
      /^Cannot write '.*m\.md': it already exists\. Choose another name\.$/,
    );
    equal(it.read("m.md"), "mine");
  });
});

test("/sessions search finds by the title and by what was said, and shows the place", async (t) => {
  const { tells, it } = await among(t);
  const spoilt = `{"zz":1,"id":"x","at":"","root":"","model":"","title":"spoilt"}\nnot JSON\n`;
  writeFileSync(fileOf(it.home, "20260101-000000-spoilt00"), spoilt);
  for (const [words, shows] of [
    ["TOKENIZER fault", / {2}alpha .*mend the parser.*\n {5}#2 The tokenizer was at fault\.$/],
    ["tokenzier", / {2}alpha .*\n {5}#2 The tokenizer was at fault\.$/],
    ["elsewhere", / {2}gamma .*elsewhere/],
    ["はい", / {2}beta3 .*\n {5}#2 はい$/],
    ["qqqqqqqq", /Nothing like 'qqqqqqqq' was said in 5 conversations\./],
  ] as const)
    await tells(`/sessions search ${words}`, shows);
});

test("/sessions rename of this one and of another; delete asks first, and not of the one under way", async (t) => {
  const { tells, say, it, ids } = await among(t, ["n", "y", "y"]);
  await say("good day");
  await tells("/sessions rename A fine   title", "This conversation is called “A fine title” now.");
  await tells("/sessions rename beta2 Monads at last", "beta2 is called “Monads at last” now.");
  for (const title of ["A fine title", "Monads at last"]) await tells("/sessions", title);
  await tells("/sessions delete alpha", "It stays.");
  match(it.questions[0]!, /Delete “mend the parser” of 2026-01-29 \d\d:\d\d for good\? \[y\/N\]/);
  ok(existsSync(fileOf(it.home, ids[0]!)));
  await tells("/sessions delete alpha", "Deleted “mend the parser”.");
  equal(existsSync(fileOf(it.home, ids[0]!)), false);
  await tells(
    `/sessions delete ${it.chat.id}`,
    "Cannot delete the current conversation. Start another with /new",
  );
});

test("/sessions export writes Markdown, JSON or the session's own lines, under a name made of the title", async (t) => {
  const { tells, say, it, ids } = await among(t, ["n", "y"]);
  await say("good day, all!");
  const told = await tells("/sessions export", "Wrote");
  const [, own] =
    /Wrote .*\/(zz-\d{4}-\d\d-\d\d-good-day-all\.md) \([\d.]+ k?B?(?:bytes)?\)\./.exec(told)!;
  match(
    it.read(own!)!,
    /^# good day, all!\n\n.* · script\/model · .*\n\n## You\n\ngood day, all!\n\n## zz \(script/,
  );
  await tells("/sessions export alpha a b.jsonl", "a b.jsonl (3 lines).");
  equal(it.read("a b.jsonl"), readFileSync(fileOf(it.home, ids[0]!), "utf8"));
  await tells("/sessions export beta2 --jsonl", "zz-2026-01-28-what-is-a-monad.jsonl (3 lines).");
  await tells(
    "/sessions export beta2 json",
    /Wrote .*zz-2026-01-28-what-is-a-monad\.json \([\d.]+ k?B?(?:bytes)?\)\./,
  );
  const { title, entries } = JSON.parse(it.read("zz-2026-01-28-what-is-a-monad.json")!);
  deepEqual([title, entries.length], ["what is a monad", 2]);
  await tells("/sessions export beta2 ./json", /\/json \([\d.]+ k?B?(?:bytes)?\)\./);
  match(it.read("json")!, /^# what is a monad\n/);
  await tells("/sessions export alpha json", "Wrote");
  it.write("m.md", "mine");
  await tells("/sessions export alpha m.md", "Nothing was written.");
  match(it.questions[0]!, /m\.md already exists\. Overwrite it\? \[y\/N\]/);
  equal(it.read("m.md"), "mine");
  await tells("/sessions export alpha m.md", "Wrote ");
  match(it.read("m.md")!, /^# mend the parser/);
  await tells("/export --json-lines", "Cannot write '--json-lines': there is no flag");
  await tells("/export ./--x", /\/--x \([\d.]+ k?B?(?:bytes)?\)\./);
  await tells("/sessions export alpha no/m.md", "its folder does not exist. Make it first.");
});

test("Commands offer what may follow them", async (t) => {
  const { it } = await among(t);
  for (const [command, rest, names] of [
    ["sessions", "", ["new", "all", "search ", "load ", "rename ", "delete ", "export "]],
    ["sessions", "load ", ["load alpha", "load beta2", "load beta3", "load gamma"]],
    ["sessions", "delete beta", ["delete beta2", "delete beta3"]],
    ["sessions", "load monad", ["load beta2"]],
    ["sessions", "search x", []],
    ["model", "rou", ["offline/router"]],
    ["config", "round", ["helpers.rounds", "rounds"]],
    ["help", "sta", ["status"]],
    ["copy", "", ["code"]],
  ] as const)
    deepEqual((await it.ctx.about.complete(command, rest)).map(({ name }) => name), names, `${command} ${rest}`); // biome-ignore format: short
});

test("toMarkdown() shows calls, results and failures in fences that they do not close", () => {
  const messages: Message[] = [
    user("see"),
    {
      role: "assistant",
      text: "",
      calls: [{ id: "1", name: "read_file", args: { path: "a.md" } }],
      model: "a/b",
    },
    { role: "tool", id: "1", name: "read_file", text: "```js\na\n```" },
    { role: "tool", id: "2", name: "grep", text: "x".repeat(5_000), failed: true },
    { role: "user", text: "undone\nby hand", aside: true },
    answer("Done."),
  ];
  const header: Header = {
    zz: 1,
    id: "x",
    at: "2026-01-01T00:00:00Z",
    root: "/p",
    model: "a/b",
    title: "see",
  };
  const branch = () =>
    messages.map(
      (message, i) => ({ id: i + 1, parent: i || null, at: "", type: "message", message }) as Entry,
    );
  const text = toMarkdown({ header, branch });
  ok(text.includes('## zz (a/b)\n\n`read_file` with\n\n```\n{\n  "path": "a.md"\n}\n```'), text);
  ok(text.includes("`read_file` gave\n\n````\n```js\na\n```\n````"), text);
  ok(
    text.includes(
      `Failed: \`grep\` gave\n\n\`\`\`\n${"x".repeat(4_000)}\n… 1000 more characters\n\`\`\``,
    ),
    text,
  );
  ok(text.endsWith("> undone\n> by hand\n\n## zz\n\nDone.\n"), text);
});
