// /add and /drop: what the person is told, and what the model is sent.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { ChatRequest } from "../../kernel/contract.ts";
import type { Setup, Step } from "../../sdk/testing.ts";
import { sit } from "../support/sit.ts";

const FILES = {
  "a.ts": "export const a = 1;\n",
  "src/app.ts": "one\n",
  "my notes.txt": "remember\n",
  "data.bin": Buffer.from([1, 0, 2]),
  "big.txt": "row\n".repeat(300_000),
  "long.txt": `FIRST ${"word ".repeat(20_000)} LAST`,
  ".env": "TOKEN=abc\n",
  "../out.txt": "OUTSIDE\n",
};
const file = (name: string, text: string) =>
  `--- FILE ${name} ---\n${text}\n--- END FILE ${name} ---`;
/** The pinned files as the model was last sent them, in the prompt or with a message. */
const pinnedIn = ({ system, messages }: ChatRequest): string[] | undefined => {
  const all = [system, ...messages.map(({ text }) => text)].join("\n");
  const last = [...all.matchAll(/--- PINNED ---\n([\s\S]*?)\n--- END PINNED ---/g)].at(-1)?.[1];
  return last?.match(/--- FILE (.*) ---\n[\s\S]*?\n--- END FILE \1 ---/g) ?? undefined;
};

/** A zz in that project, which also reports what the model was last sent of pinned files. */
async function open(t: TestContext, setup: Setup = {}) {
  const zz = await sit(t, { files: FILES, ...setup });
  const told = () => zz.say("hello").then(() => pinnedIn(zz.it.requests.at(-1)!));
  return { ...zz, told };
}

test("what is pinned is told as it is in every turn, also after /clear and a restart, until it is dropped", async (t) => {
  const { it, tells, told, sent } = await open(t);
  equal(await told(), undefined);
  await tells("/add a.ts src/../src/app.ts", "Pinned a.ts, src/app.ts.");
  deepEqual(await told(), [file("a.ts", "export const a = 1;"), file("src/app.ts", "one")]);
  const before = sent();
  equal((await told())!.length, 2);
  deepEqual(sent().slice(0, before.length), before, "what was sent stays as it was");
  equal(sent().at(-1), "hello", "and what has not changed is not told again");
  it.write("a.ts", "export const a = 2;\n");
  deepEqual((await told())?.[0], file("a.ts", "export const a = 2;"));
  await tells("/clear", "starts over");
  await it.restart();
  equal((await told())!.length, 2);
  await tells("/add", "Pinned: a.ts, src/app.ts.");
  await tells("/drop a.ts", "Dropped a.ts.");
  deepEqual(await told(), [file("src/app.ts", "one")]);
  await tells("/new", "A new conversation.");
  equal(await told(), undefined, "a new conversation has none");
  await tells("/add a.ts", "Pinned a.ts.");
  await tells("/drop all", "Dropped a.ts.");
  equal(await told(), undefined);
  await tells("/add", "Nothing is pinned. /add FILE pins a file.");
});

test("what is pinned counts as read: it may be edited, also after it changed", async (t) => {
  const edit = (from: number, to: number): Step => ({
    call: ["edit_file", { path: "a.ts", old_string: `a = ${from}`, new_string: `a = ${to}` }],
  });
  const { it, tells, say } = await open(t, {
    script: [edit(1, 2), "one.", edit(5, 6), "two."],
    answer: "yes",
  });
  await tells("/add a.ts", "Pinned a.ts.");
  await say("edit it");
  equal(it.read("a.ts"), "export const a = 2;\n");
  it.write("a.ts", "export const a = 5;\n");
  await say("edit it again");
  equal(it.read("a.ts"), "export const a = 6;\n");
});

test("what cannot be pinned is named; what was allowed for the session can be, outside the project as well", async (t) => {
  const keys = ["y", "n", "", "A", "A"];
  const { it, tells, told } = await open(t, { answer: async () => keys.shift()! });
  for (const [names, words] of [
    ["gone.ts", /Cannot pin 'gone\.ts': no such file/],
    ["src", /Cannot pin 'src': it is a folder\. Name its files\./],
    ["data.bin", /Cannot pin 'data\.bin': it is not text\./],
    ["big.txt", /Cannot pin 'big\.txt': 1200000 bytes are too many/],
    ["a.ts ./a.ts", /'a\.ts' is pinned already\.\s+Pinned a\.ts\./],
    [".env", /Cannot pin '\.env': it is read again in every turn, so one yes is not enough\./],
  ] as const)
    await tells(`/add ${names}`, words);
  await tells("/drop b.ts", "'b.ts' is not pinned. Pinned: a.ts.");
  await tells("/drop", 'Say which, or "all". Pinned: a.ts.');
  symlinkSync("../out.txt", join(it.root, "out.ts"));
  await tells("/add out.ts", /Refused: the person said no/);
  match(it.questions[1]!, /out\.txt'/);
  deepEqual(await told(), [file("a.ts", "export const a = 1;")]);
  await tells("/add .env ../out.txt", /Pinned \.env, \/[\s\S]*out\.txt\./);
  deepEqual((await told())!.slice(1), [
    file(".env", "TOKEN=abc"),
    file(join(it.root, "../out.txt"), "OUTSIDE"),
  ]);
});

test("what is gone, is no text any more, or is too long, is named in its place, and the turn goes on", async (t) => {
  const { it, tells, told } = await open(t);
  await tells('/add a.ts src/app.ts "my notes.txt" long.txt', /Pinned .*long\.txt\./);
  rmSync(join(it.root, "a.ts"));
  it.write("src/app.ts", "a\0b");
  it.write("my notes.txt", "x".repeat(1_100_000));
  const [gone, binary, big, long] = (await told())!;
  match(gone!, /^--- FILE a\.ts ---\n\[Cannot read 'a\.ts': no such file.*\]\n/);
  equal(binary, file("src/app.ts", "[it is not text any more]"));
  equal(big, file("my notes.txt", "[1100000 bytes are too many to show; search it]"));
  match(
    long!,
    /FIRST [\s\S]*\n\[… \d+ characters left out; read the file for them …\]\n[\s\S]* LAST\n/,
  );
  doesNotMatch(long!, /.{16000}/);
});

test("paths are completed, one after the other, and what can be dropped", async (t) => {
  const { it, tells } = await open(t);
  await tells('/add a.ts src/app.ts "my notes.txt"', "Pinned");
  for (const [command, rest, first] of [
    ["add", "a", "a.ts"],
    ["add", "a.ts src/a", "a.ts src/app.ts"],
    ["add", '"my', '"my notes.txt"'],
    ["drop", "sr", "src/app.ts"],
    ["drop", "al", "all"],
  ] as const) {
    const names = (await it.ctx.about.complete(command, rest)).map(({ name }) => name.trim());
    ok(names.includes(first), `/${command} ${rest}`);
  }
});

test("rules that change, and what they name, are told again in the next turn", async (t) => {
  const { it, told } = await open(t, { files: { "AGENTS.md": "RULE 1 @b.md", "b.md": "NAMED 1" } });
  const rules = async () => {
    await told();
    return /--- RULES ---[\s\S]*--- END RULES ---/.exec(it.requests.at(-1)!.system)![0];
  };
  const first = await rules();
  match(first, /RULE 1[\s\S]*NAMED 1/);
  equal(await rules(), first);
  it.write("b.md", "NAMED 2");
  match(await rules(), /RULE 1[\s\S]*NAMED 2/);
  it.write("AGENTS.md", "RULE 2 @c.md");
  match(await rules(), /RULE 2[\s\S]*Left out: c\.md \(no such file\)/);
  rmSync(join(it.root, "AGENTS.md"));
  it.write("CLAUDE.md", "RULE 4");
  match(await rules(), /CLAUDE\.md ---\nRULE 4/);
});
