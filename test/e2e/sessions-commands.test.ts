// /sessions in a real pseudo-terminal: what the screen shows, the session files hold and the server is asked.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Entry, Header, Message } from "../../kernel/contract.ts";
import { shortIds, toMarkdown } from "../../plugins/sessions.ts";
import { fakeOpenAI, problems, say } from "../support/fake/openai.ts";
import { type Place, place, zz } from "../support/run.ts";
import { KEY, terminal } from "../support/terminal.ts";

const asks = (url: string) => ["-m", "openai/m", "--base-url", url, "--key", "x"];
const user = (text: string): Message => ({ role: "user", text });
const answer = (text: string): Message => ({ role: "assistant", text });

/** Writes the file of a session that is that many days old. */
function stored(
  where: Place,
  tail: string,
  title: string,
  said: Message[],
  more: Partial<Header> & { days?: number } = {},
) {
  const { days = 1, ...header } = more;
  const at = new Date(Date.UTC(2026, 0, 30 - days, 12)).toISOString();
  const id = `${at.slice(0, 10).replaceAll("-", "")}-120000-${tail}`;
  const first: Header = { zz: 1, id, at, root: where.cwd, model: "openai/n", title, ...header };
  const entries = said.map((message, i) => ({ id: i + 1, parent: i || null, at, type: "message", message }));
  mkdirSync(join(where.home, "sessions"), { recursive: true });
  writeFileSync(fileOf(where, id), [first, ...entries].map((line) => `${JSON.stringify(line)}\n`).join(""));
  utimesSync(fileOf(where, id), new Date(at), new Date(at));
  return id;
}
const fileOf = (where: Place, id: string) => join(where.home, "sessions", `${id}.jsonl`);

/** Three sessions of this folder, and one of another. */
function some() {
  const where = place();
  return {
    where,
    ids: [
      stored(where, "alpha111", "mend the parser", [user("mend the parser"), answer("The tokenizer was at fault.")]),
      stored(where, "beta2222", "what is a monad", [user("what is a monad"), answer("A monoid, they say.")], {
        days: 2,
      }),
      stored(where, "beta3333", "日本語の質問 about wide letters", [user("日本語"), answer("はい")], { days: 3 }),
      stored(where, "gamma444", "elsewhere", [user("elsewhere"), answer("There.")], { days: 4, root: "/tmp/other" }),
    ],
  };
}

async function talk(t: TestContext, where: Place, script: Parameters<typeof fakeOpenAI>[0] = [], cols = 100) {
  const fake = await fakeOpenAI(script);
  t.after(fake.close);
  const term = terminal(where, asks(fake.url), { rows: 40, cols });
  return {
    ...{ term, fake },
    async gives(line: string, text: string | RegExp) {
      await term.sees(/(^|\n)[^\n]*›$/); // ready: text typed ahead would be elsewhere
      term.type(line + KEY.enter);
      return term.sees(text);
    },
    async leaves() {
      term.type(KEY.ctrlD);
      equal(await term.exited, 0);
    },
  };
}

describe("/sessions", () => {
  test("lists this folder's, newest first, with ids short enough to type; all: those of other folders too", async (t) => {
    const { where } = some();
    const { gives } = await talk(t, where);
    await gives(
      "/sessions",
      /\n {2}alpha {2}2026-01-29 \d\d:\d\d +~\d+k? tokens {2}mend the parser +openai\/n\n {2}beta2 {2}2026-01-28 \d\d:\d\d +~\d+k? tokens {2}what is a monad +openai\/n\n {2}beta3 {2}2026-01-27 \d\d:\d\d +~\d+k? tokens {2}日本語の質問 about wide letters +openai\/n\n1 in other folders: \/sessions all\n/,
    );
    await gives("/sessions all", /\/tmp\/other:\n {2}gamma {2}2026-01-26 \d\d:\d\d +~\d+k? tokens {2}elsewhere/);
  });

  test("keeps to 40 columns", async (t) => {
    const { where } = some();
    const { gives } = await talk(t, where, [], 40);
    await gives(
      "/sessions",
      / {2}alpha {2}01-29 {2}mend the parser\n[\s\S]* {2}beta3 {2}01-27 {2}日本語の質問 about wid…\n/,
    );
  });

  test("where there are none it says so, in one go too", async () => {
    const where = place();
    const fake = await fakeOpenAI([]);
    const ran = await zz(where, [...asks(fake.url), "/sessions"]);
    await fake.close();
    deepEqual([ran.code, ran.stderr], [0, "No conversation was saved yet.\n"]);
  });

  test("of many, the newest 20 are shown and the rest is counted; a word in any of them is found", async () => {
    const where = place();
    const said = Array.from({ length: 40 }, (_, i) => (i % 2 ? answer : user)(`Line ${i} of much talk.`));
    for (let i = 0; i < 25; i++)
      stored(where, `s${String(i).padStart(7, "0")}`, `number ${i}`, i ? [] : [...said, user("the needle")], {
        days: i + 1,
      });
    const listed = (await zz(where, ["-m", "offline", "/sessions"])).stderr;
    match(listed, /^5 older: \/sessions all$/m);
    ok(listed.includes("number 19") && !listed.includes("number 20"), listed);
    match((await zz(where, ["-m", "offline", "/sessions search needle"])).stderr, /#41 the needle/);
  });

  const wrong: [line: string, says: string][] = [
    ["/sessions laod", "Cannot run '/sessions laod': use one of new, all, search, load, rename, delete, export."],
    ["/sessions load nope", "Cannot find a session 'nope': no id begins like that, or several do."],
    ["/sessions load beta", "Cannot find a session 'beta': no id begins like that, or several do."],
    ["/sessions rename", "Cannot rename to nothing: give a title, /rename TITLE."],
    ["/rename", "Cannot rename to nothing: give a title, /rename TITLE."],
    ["/sessions rename Fine", "Cannot rename this conversation: nothing of it is saved yet."],
    ["/sessions delete", "Cannot delete nothing: give an id"],
    ["/sessions search", "Cannot search for nothing: give words"],
    ["/sessions export", "Cannot export this conversation: nothing was said in it."],
  ];
  test("what it cannot do it says in a sentence", async (t) => {
    const { gives } = await talk(t, some().where);
    for (const [line, says] of wrong) await gives(line, says);
  });
});

describe("/sessions load", () => {
  test("really replaces the conversation: the next request has its history, its model, and goes into its file", async (t) => {
    const { where, ids } = some();
    const { gives, fake, leaves } = await talk(t, where, [say("Hello."), say("Yes.")]);
    await gives("good day", "Hello.");
    await gives("/sessions load alpha", "Now in “mend the parser”: 1 message of yours, openai/n.");
    await gives("go on", "Yes.");
    const { body } = fake.requests[1]!;
    deepEqual(
      [body.model, ...body.messages.slice(1).map(({ content }: any) => content)],
      ["n", "mend the parser", "The tokenizer was at fault.", "go on"],
    );
    deepEqual(problems(body), []);
    await leaves();
    const lines = readFileSync(fileOf(where, ids[0]!), "utf8").trimEnd().split("\n");
    equal(JSON.parse(lines[3]!).message.text, "go on");
  });

  test("without an id is a picker: words narrow it, Enter loads", async (t) => {
    const { where } = some();
    const { gives, term, fake } = await talk(t, where, [say("Yes.")]);
    await gives("/sessions load", /\? Conversation\s*\n❯ {3}alpha[\s\S]*beta2[\s\S]*beta3[\s\S]*gamma/);
    term.type("monda");
    await term.sees(/\? Conversation monda\n❯ {3}beta2/);
    term.type(KEY.enter);
    await term.sees("Now in “what is a monad”");
    await gives("go on", "Yes.");
    equal(fake.requests[0]!.body.messages[1].content, "what is a monad");
  });

  test("of one that another zz has open is refused, and the conversation stays", async (t) => {
    const { where, ids } = some();
    const first = await talk(t, where);
    await first.gives("/sessions load alpha", "Now in");
    const { gives, fake } = await talk(t, where, [say("Hello."), say("Still here.")], 160);
    await gives("good day", "Hello.");
    await gives("/sessions load alpha", `Cannot open session '${ids[0]}': another zz`);
    await gives("and now", "Still here.");
    equal(fake.requests[1]!.body.messages[1].content, "good day");
  });

  test("of the one under way, and in one go without an id, is a sentence", async (t) => {
    const { where } = some();
    const { gives, fake } = await talk(t, where);
    await gives("/sessions load alpha", "Now in");
    await gives("/sessions load alpha", "That is this conversation.");
    const ran = await zz(where, [...asks(fake.url), "/sessions load"]);
    deepEqual([ran.code, ran.stderr.slice(0, 52)], [1, "Cannot choose a conversation here: give its id, /ses"]);
  });
});

describe("/sessions search", () => {
  const rows: [words: string, what: string, shows: RegExp][] = [
    [
      "TOKENIZER fault",
      "what holds all the words",
      /\n {2}alpha .*mend the parser.*\n {5}#2 The tokenizer was at fault\.\n/,
    ],
    ["tokenzier", "what is like them", /tokenzier\n {2}alpha .*\n {5}#2 The tokenizer was at fault\.\n/],
    ["elsewhere", "other folders as well", /\n {2}gamma .*elsewhere/],
    ["はい", "any script", /\n {2}beta3 .*\n {5}#2 はい\n/],
    ["qqqqqqqq", "nothing", /Nothing like 'qqqqqqqq' was said in 5 conversations\./],
  ];
  test("finds by the title and by what was said, and shows the place", async (t) => {
    const { where } = some();
    writeFileSync(
      fileOf(where, "20260101-000000-spoilt00"),
      `{"zz":1,"id":"x","at":"","root":"","model":"","title":"spoilt"}\nnot JSON\n`,
    );
    const { gives } = await talk(t, where);
    for (const [words, , shows] of rows) await gives(`/sessions search ${words}`, shows);
  });
});

describe("/sessions rename and delete", () => {
  test("rename of this one and of another; --sessions knows the new titles", async (t) => {
    const { where } = some();
    const { gives, leaves } = await talk(t, where, [say("Hello.")]);
    await gives("good day", "Hello.");
    await gives("/sessions rename A fine   title", "This conversation is called “A fine title” now.");
    await gives("/sessions rename beta2 Monads at last", "beta2 is called “Monads at last” now.");
    await gives("/sessions", /A fine title[\s\S]*Monads at last/);
    await leaves();
    const rows = (await zz(where, ["--sessions"])).stdout.split("\n").map((row) => row.replace(/^\S+ {2}/, ""));
    for (const title of ["A fine title", "Monads at last"])
      match(rows.slice(0, 2).join("\n"), new RegExp(`^\\S+ \\S+ +~\\d+k? tokens {2}\\S+ +${title}$`, "m"));
    match(rows[2]!, /^2026-01-29 12:00 +~\d+k? tokens {2}\S+ +mend the parser$/);
  });

  test("delete asks first; n keeps, y deletes for good", async (t) => {
    const { where, ids } = some();
    const { gives, term } = await talk(t, where);
    await gives("/sessions delete alpha", /Delete “mend the parser” of 2026-01-29 \d\d:\d\d for good\? \[y\/N\]/);
    term.type("n");
    await term.sees("It stays.");
    ok(existsSync(fileOf(where, ids[0]!)));
    await gives("/sessions delete alpha", /for good[\s\S]*for good/);
    term.type("y");
    await term.sees("Deleted “mend the parser”.");
    equal(existsSync(fileOf(where, ids[0]!)), false);
  });

  test("delete of the one under way is refused; so is any without a terminal to ask on", async (t) => {
    const { where, ids } = some();
    const { gives, term, fake } = await talk(t, where);
    await gives("/sessions load alpha", "Now in");
    await gives("/sessions delete alpha", "for good?");
    term.type("y");
    await term.sees("Cannot delete the current conversation. Start another with /new");
    const ran = await zz(where, [...asks(fake.url), "/sessions delete beta2"]);
    match(ran.stderr, /^Cannot delete 'what is a monad': there is no terminal to ask on\./);
    deepEqual(
      [ran.code, readdirSync(join(where.home, "sessions")).filter((name) => name.endsWith("jsonl")).length],
      [1, ids.length],
    );
  });
});

describe("/sessions export", () => {
  test("writes Markdown into the project folder, under a name made of the title", async (t) => {
    const { where } = some();
    const { gives } = await talk(t, where, [say("Hello.")], 160);
    await gives("good day, all!", "Hello.");
    await gives("/sessions export", /Wrote .*\/zz-\d{4}-\d\d-\d\d-good-day-all\.md \(\d+ characters\)\./);
    const [name] = readdirSync(where.cwd);
    match(
      readFileSync(join(where.cwd, name!), "utf8"),
      /^# good day, all!\n\n.* · openai\/m · .*\n\n## You\n\ngood day, all!\n\n## zz \(openai\/m\)\n\nHello\.\n$/,
    );
  });

  test("of another, to a file: its ending or --jsonl decides; JSON lines are the session's own", async (t) => {
    const { where, ids } = some();
    const { gives } = await talk(t, where, [], 160);
    await gives("/sessions export alpha a b.jsonl", "a b.jsonl (3 lines).");
    equal(readFileSync(join(where.cwd, "a b.jsonl"), "utf8"), readFileSync(fileOf(where, ids[0]!), "utf8"));
    await gives("/sessions export beta2 --jsonl", "zz-2026-01-28-what-is-a-monad.jsonl (3 lines).");
    await gives("/sessions export beta2 m.md", "m.md (");
    match(readFileSync(join(where.cwd, "m.md"), "utf8"), /^# what is a monad\n[\s\S]*A monoid, they say\.\n$/);
  });

  test("as JSON, under a name made of the title; a file called json is ./json", async (t) => {
    const { where } = some();
    const { gives } = await talk(t, where, [], 160);
    await gives("/sessions export beta2 json", /Wrote .*zz-2026-01-28-what-is-a-monad\.json \(\d+ characters\)\./);
    const { title, entries } = JSON.parse(readFileSync(join(where.cwd, "zz-2026-01-28-what-is-a-monad.json"), "utf8"));
    deepEqual([title, entries.length], ["what is a monad", 2]);
    await gives("/sessions export beta2 all.json", "all.json (");
    equal(JSON.parse(readFileSync(join(where.cwd, "all.json"), "utf8")).title, "what is a monad");
    await gives("/sessions export beta2 jsonl", "zz-2026-01-28-what-is-a-monad.jsonl (3 lines).");
    await gives("/sessions export beta2 ./json", /\/json \(\d+ characters\)\./);
    match(readFileSync(join(where.cwd, "json"), "utf8"), /^# what is a monad\n/);
  });

  test("asks before it overwrites; with nobody to ask it does not", async (t) => {
    const { where } = some();
    writeFileSync(join(where.cwd, "m.md"), "mine");
    const { gives, term, fake } = await talk(t, where, [], 160);
    await gives("/sessions export alpha m.md", "m.md already exists. Overwrite it? [y/N]");
    term.type("n");
    await term.sees("Nothing was written.");
    const ran = await zz(where, [...asks(fake.url), "/sessions export alpha m.md"]);
    match(ran.stderr, /^Cannot write '.*m\.md': it already exists\. Choose another name\.\n$/);
    deepEqual([ran.code, readFileSync(join(where.cwd, "m.md"), "utf8")], [1, "mine"]);
    await gives("/sessions export alpha m.md", /Overwrite[\s\S]*Overwrite/);
    term.type("y");
    await term.sees("Wrote ");
    ok(readFileSync(join(where.cwd, "m.md"), "utf8").startsWith("# mend the parser"));
    await gives("/sessions export alpha no/m.md", "its folder does not exist. Make it first.");
  });
});

describe("completions", () => {
  const rows: [line: string, names: string[] | RegExp][] = [
    ["sessions|", ["new", "all", "search ", "load ", "rename ", "delete ", "export "]],
    ["sessions|lo", ["load "]],
    ["sessions|load ", ["load alpha", "load beta2", "load beta3", "load gamma"]],
    ["sessions|delete beta", ["delete beta2", "delete beta3"]],
    ["sessions|load monad", ["load beta2"]],
    ["sessions|search x", []],
    ["model|rou", ["offline/router"]],
    ["config|round", ["helpers.rounds", "rounds"]],
    ["config|symbols.", /symbols\.map.*symbols\.most/],
    ["help|sta", ["status"]],
    ["copy|", ["code"]],
  ];
  test("commands offer what may follow them", async () => {
    const { where } = some();
    mkdirSync(join(where.home, "plugins"));
    writeFileSync(
      join(where.home, "plugins", "tab.js"),
      `export default (zz) => zz.command({ name: "tab", description: "x", run: async (rest, ctx) => {
         for (const line of JSON.parse(rest)) ctx.note(JSON.stringify(await ctx.about.complete(...line.split("|")))); } });`,
    );
    const fake = await fakeOpenAI([]);
    const ran = await zz(where, [...asks(fake.url), `/tab ${JSON.stringify(rows.map(([line]) => line))}`]);
    await fake.close();
    const given = ran.stderr
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    for (const [i, [line, names]] of rows.entries()) {
      const got = given[i].map(({ name }: any) => name);
      if (names instanceof RegExp) match(got.join(" "), names, line);
      else deepEqual(got, names, line);
    }
    equal(given[2][1].description, "what is a monad");
  });
});

describe("tables", () => {
  const ids: [given: string[], short: string[]][] = [
    [[], []],
    [["20260101-000000-abcdefgh"], ["abcd"]],
    [
      ["20260101-000000-abcdefgh", "20260101-000000-abcdxxxx"],
      ["abcde", "abcdx"],
    ],
    [
      ["20260101-000000-same", "20260102-000000-same"],
      ["20260101-000000-same", "20260102-000000-same"],
    ],
    [["own name"], ["own "]],
  ];
  for (const [given, short] of ids)
    test(`shortIds() of ${given.join(", ")}`, () =>
      deepEqual([...shortIds(given.map((id) => ({ id }))).values()], short));

  test("toMarkdown() shows calls, results and failures in fences that they do not close", () => {
    const messages: Message[] = [
      user("see"),
      { role: "assistant", text: "", calls: [{ id: "1", name: "read_file", args: { path: "a.md" } }], model: "a/b" },
      { role: "tool", id: "1", name: "read_file", text: "```js\na\n```" },
      { role: "tool", id: "2", name: "grep", text: "x".repeat(5_000), failed: true },
      { role: "user", text: "undone\nby hand", aside: true },
      answer("Done."),
    ];
    const header: Header = { zz: 1, id: "x", at: "2026-01-01T00:00:00Z", root: "/p", model: "a/b", title: "see" };
    const branch = () =>
      messages.map((message, i) => ({ id: i + 1, parent: i || null, at: "", type: "message", message }) as Entry);
    const text = toMarkdown({ header, branch });
    ok(text.includes('## zz (a/b)\n\n`read_file` with\n\n```\n{\n  "path": "a.md"\n}\n```'), text);
    ok(text.includes("`read_file` gave\n\n````\n```js\na\n```\n````"), text);
    ok(text.includes(`Failed: \`grep\` gave\n\n\`\`\`\n${"x".repeat(4_000)}\n… 1000 more characters\n\`\`\``), text);
    ok(text.endsWith("> undone\n> by hand\n\n## zz\n\nDone.\n"), text);
  });
});
