// /add and /drop in a real pseudo-terminal: what the screen shows, and what the model is sent.
import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { call, fakeOpenAI, say } from "../support/fake/openai.ts";
import { repl, TAB } from "../support/repl.ts";
import { type Place, place, zz } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";

function project(): Place {
  const where = place();
  mkdirSync(join(where.cwd, "src"));
  for (const [name, content] of Object.entries({
    "a.ts": "export const a = 1;\n",
    "src/app.ts": "one\n",
    "my notes.txt": "remember\n",
    "data.bin": Buffer.from([1, 0, 2]),
    "big.txt": "row\n".repeat(300_000),
    "long.txt": `FIRST ${"word ".repeat(20_000)} LAST`,
    ".env": "TOKEN=abc\n",
    "../out.txt": "OUTSIDE\n",
  }))
    writeFileSync(join(where.cwd, name), content);
  return where;
}
const put = (where: Place, name: string, text: string) => writeFileSync(join(where.cwd, name), text);
const file = (name: string, text: string) => `--- FILE ${name} ---\n${text}\n--- END FILE ${name} ---`;
/** The pinned files as the model was last sent them, in the prompt or with a message. */
const pinnedIn = (request: { body: any } | undefined): string[] | undefined => {
  const all = request!.body.messages.map(({ content }: any) => content).join("\n");
  const last = [...all.matchAll(/--- PINNED ---\n([\s\S]*?)\n--- END PINNED ---/g)].at(-1)?.[1];
  return last?.match(/--- FILE (.*) ---\n[\s\S]*?\n--- END FILE \1 ---/g) ?? undefined;
};

/** A REPL that also reports what the model was last sent of pinned files. */
async function sit(t: TestContext, how: Parameters<typeof repl>[1] = {}) {
  const sitting = await repl(t, { where: project(), rows: 60, cols: 120, ...how });
  const ready = () => sitting.sees(/(^|\n)[^\n]*›$/);
  let turns = 0;
  return {
    ...sitting,
    async gives(line: string, sees: string | RegExp) {
      await ready();
      sitting.type(line + KEY.enter);
      return sitting.sees(sees);
    },
    async told() {
      await ready();
      sitting.type(`hello ${++turns}${KEY.enter}`);
      await sitting.asked(turns);
      await ready();
      return pinnedIn(sitting.fake.requests.at(-1));
    },
  };
}

test("what is pinned is told as it is in every turn, until it is dropped", async (t) => {
  const { where, gives, told, fake } = await sit(t);
  equal(await told(), undefined);
  await gives("/add a.ts src/../src/app.ts", "Pinned a.ts, src/app.ts.");
  deepEqual(await told(), [file("a.ts", "export const a = 1;"), file("src/app.ts", "one")]);
  equal((await told())!.length, 2);
  const [one, two] = fake.requests.slice(-2).map(({ body }) => body.messages);
  deepEqual(two.slice(0, one.length), one, "what was sent stays as it was");
  equal(two.at(-1).content, "hello 3", "and what has not changed is not told again");
  put(where, "a.ts", "export const a = 2;\n");
  deepEqual((await told())?.[0], file("a.ts", "export const a = 2;"));
  await gives("/add", "Pinned: a.ts, src/app.ts.");
  await gives("/drop a.ts", "Dropped a.ts.");
  deepEqual(await told(), [file("src/app.ts", "one")]);
  await gives("/drop all", "Dropped src/app.ts.");
  equal(await told(), undefined);
  await gives("/add", "Nothing is pinned. /add FILE pins a file.");
});

test("what is pinned lives through a restart", async (t) => {
  const where = project();
  const one = await sit(t, { where });
  await one.gives('/add a.ts "my notes.txt"', "Pinned a.ts, my notes.txt.");
  await one.told();
  await one.leave();
  put(where, "a.ts", "export const a = 3;\n");
  const again = await sit(t, { where, args: ["-c"] });
  deepEqual(await again.told(), [file("a.ts", "export const a = 3;"), file("my notes.txt", "remember")]);
  await again.leave();
  const fake = await fakeOpenAI([say("x")]);
  t.after(fake.close);
  const ran = await zz(where, ["-c", "-m", "openai/m", "--base-url", fake.url, "--key", "x", "hi"]);
  equal(ran.stderr, "");
  equal(pinnedIn(fake.requests[0])?.length, 2);
  await zz(where, ["-m", "openai/m", "--base-url", fake.url, "--key", "x", "hi"]);
  equal(pinnedIn(fake.requests[1]), undefined, "a new conversation has none");
});

test("what is pinned counts as read: it may be edited, also after it changed", async (t) => {
  const edit = (from: number, to: number) =>
    call(["edit_file", { path: "a.ts", old_string: `a = ${from}`, new_string: `a = ${to}` }]);
  const { where, gives, type, asked, sees } = await sit(t, {
    script: [edit(1, 2), say("one."), edit(5, 6), say("two.")],
    args: ["--allow-write"],
  });
  await gives("/add a.ts", "Pinned a.ts.");
  await gives("edit it", "one.");
  equal(readFileSync(join(where.cwd, "a.ts"), "utf8"), "export const a = 2;\n");
  put(where, "a.ts", "export const a = 5;\n");
  await sees(/›$/);
  type(`edit it again${KEY.enter}`);
  await sees("two.");
  await asked(4);
  equal(readFileSync(join(where.cwd, "a.ts"), "utf8"), "export const a = 6;\n");
});

test("what cannot be pinned is named", async (t) => {
  const { where, gives, told, type, sees } = await sit(t);
  for (const [names, words] of [
    ["gone.ts", /Cannot pin 'gone\.ts': no such file/],
    ["src", /Cannot pin 'src': it is a folder\. Name its files\./],
    ["data.bin", /Cannot pin 'data\.bin': it is not text\./],
    ["big.txt", /Cannot pin 'big\.txt': 1200000 bytes are too many/],
    ["a.ts ./a.ts", /'a\.ts' is pinned already\.\s+Pinned a\.ts\./],
  ] as const)
    await gives(`/add ${names}`, words);
  await gives("/drop b.ts", "'b.ts' is not pinned. Pinned: a.ts.");
  await gives("/drop", 'Say which, or "all". Pinned: a.ts.');
  await gives("/add .env", "Allow?");
  type("y");
  await sees(/Cannot pin '\.env': it is read again in every turn, so one yes is not enough\./);
  symlinkSync("../out.txt", join(where.cwd, "out.ts"));
  await gives("/add out.ts", /out\.txt'\.[\s\S]*Allow\?/);
  type("n");
  await sees("Why not?");
  type(KEY.enter);
  await sees(/Refused: the person said no/);
  deepEqual(await told(), [file("a.ts", "export const a = 1;")]);
});

test("what was allowed for the session can be pinned, outside the project as well", async (t) => {
  const { where, gives, told, type, sees } = await sit(t);
  await gives("/add .env ../out.txt", "Allow?");
  type("A");
  await sees(/Allow\?[\s\S]*Allow\?/);
  type("A");
  const out = join(where.cwd, "../out.txt");
  await sees(/Pinned \.env, \/[\s\S]*out\.txt\./);
  deepEqual(await told(), [file(".env", "TOKEN=abc"), file(out, "OUTSIDE")]);
});

test("what is gone, is no text any more, or is too long, is named in its place, and the turn goes on", async (t) => {
  const { where, gives, told } = await sit(t);
  await gives('/add a.ts src/app.ts "my notes.txt" long.txt', /Pinned .*long\.txt\./);
  rmSync(join(where.cwd, "a.ts"));
  put(where, "src/app.ts", "a\0b");
  put(where, "my notes.txt", "x".repeat(1_100_000));
  const [gone, binary, big, long] = (await told())!;
  match(gone!, /^--- FILE a\.ts ---\n\[Cannot read 'a\.ts': no such file.*\]\n/);
  equal(binary, file("src/app.ts", "[it is not text any more]"));
  equal(big, file("my notes.txt", "[1100000 bytes are too many to show; search it]"));
  match(long!, /FIRST [\s\S]*\n\[… \d+ characters left out; read the file for them …\]\n[\s\S]* LAST\n/);
  doesNotMatch(long!, /.{16000}/);
});

test("Tab completes paths, one after the other, and what can be dropped", async (t) => {
  const { type, sees, gives } = await sit(t);
  await sees("›");
  type(`/add a${TAB}`);
  await sees("/add a.ts");
  type(` src/a${TAB}`);
  await sees("/add a.ts src/app.ts");
  type(` "my${TAB}${KEY.enter}`);
  await sees("Pinned a.ts, src/app.ts, my notes.txt.");
  await gives(`/drop sr${TAB}`, "Dropped src/app.ts.");
  await gives(`/drop al${TAB}`, "Dropped a.ts, my notes.txt.");
});

test("rules that change, and what they name, are told anew in the next turn", async (t) => {
  const where = project();
  put(where, "AGENTS.md", "RULE 1 @b.md");
  put(where, "b.md", "NAMED 1");
  const { told, fake } = await sit(t, { where });
  const rules = async () => {
    await told();
    return /--- RULES ---[\s\S]*--- END RULES ---/.exec(fake.requests.at(-1)!.body.messages[0].content)![0];
  };
  const first = await rules();
  match(first, /RULE 1[\s\S]*NAMED 1/);
  equal(await rules(), first);
  put(where, "b.md", "NAMED 2");
  match(await rules(), /RULE 1[\s\S]*NAMED 2/);
  put(where, "AGENTS.md", "RULE 2 @c.md");
  match(await rules(), /RULE 2[\s\S]*Left out: c\.md \(no such file\)/);
  put(where, "c.md", "NAMED 3");
  match(await rules(), /RULE 2[\s\S]*NAMED 3/);
  rmSync(join(where.cwd, "AGENTS.md"));
  put(where, "CLAUDE.md", "RULE 4");
  match(await rules(), /CLAUDE\.md ---\nRULE 4/);
});
