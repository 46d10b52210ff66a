// Who is paired: listed, ended at the terminal and in the chat, and kept where a group becomes a
// supergroup. And a server that does not answer.
import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { call, say } from "../../../../test/support/fake/openai.ts";
import { place, zz } from "../../../../test/support/run.ts";
import { waitFor } from "../../../../test/support/wait.ts";
import { fakeBotApi } from "../fake-bot-api.ts";
import { codeOf, PAIRED, phone } from "../phone.ts";

const TEAM = { id: -5, type: "group", title: "Team" };
const ENTRY = PAIRED.chats["11"]!;
const BOOK = {
  people: { 11: "Alice", 12: "Bob", 13: "bob" },
  chats: {
    11: ENTRY,
    "-5": { ...ENTRY, title: "Team" },
    "-5:7": { ...ENTRY, title: "Team" },
    "-6": { ...ENTRY, title: "Alice" },
  },
  seen: [],
};
const bookIn = (home: string) => JSON.parse(readFileSync(join(home, "telegram.json"), "utf8"));

describe("--phones", () => {
  const ROWS: [words: string[], says: RegExp, people: string, chats: string][] = [
    [[], /^People: Alice \(11\), Bob \(12\), bob \(13\)\nChats: /, "11 12 13", "-5 -5:7 -6 11"],
    [["remove", "team"], /^'Team' is not paired any more\./, "11 12 13", "-6 11"],
    [["remove", "--", "-5"], /^'Team' is not paired any more\./, "11 12 13", "-6 11"],
    [["remove", "11"], /^'Alice' is not paired any more\./, "12 13", "-5 -5:7 -6"],
    [["remove", "@12"], /^'Bob' is not paired any more\./, "11 13", "-5 -5:7 -6 11"],
    [["remove", "Alice"], /^Cannot unpair 'Alice': 11 and -6 have that name\. Give the/, "11 12 13", "-5 -5:7 -6 11"],
    [["remove", "bob"], /^Cannot unpair 'bob': 12 and 13 have that name\./, "11 12 13", "-5 -5:7 -6 11"],
    [["remove", "Caro"], /^Cannot unpair this: .*'Caro'/, "11 12 13", "-5 -5:7 -6 11"],
    [["remove"], /^Cannot do 'remove': it is 'remove', and then a name or a number\./, "11 12 13", "-5 -5:7 -6 11"],
    [["forget", "Bob"], /^Cannot do 'forget Bob'/, "11 12 13", "-5 -5:7 -6 11"],
  ]; // biome-ignore format: a table
  for (const [words, says, people, chats] of ROWS)
    test(`--phones ${words.join(" ")}`, async () => {
      const where = place({}, {}, { "telegram.json": BOOK });
      const [first, ...others] = words;
      const ran = await zz(where, [first ? `--phones=${first}` : "--phones", ...others]);
      match(ran.stdout || ran.stderr, says);
      const book = bookIn(where.home);
      equal(Object.keys(book.people).join(" "), people);
      equal(Object.keys(book.chats).sort().join(" "), chats);
    });

  test("while zz --telegram runs, what is said there then gets no answer", async () => {
    const gate = Promise.withResolvers<void>();
    const late = say("Late.");
    const one = await phone([{ ...late, body: [gate.promise, ...late.body!] }]);
    const { api, model, where } = one;
    api.say("one");
    await waitFor("the request", () => model.requests.length);
    equal((await zz(where, ["--phones=remove", "Alice"])).code, 0);
    gate.resolve();
    api.say("two");
    await waitFor("the end of what came", () => api.pending === 0);
    equal(model.requests.length, 1);
    doesNotMatch(JSON.stringify(api.messages), /Late\./);
    deepEqual(bookIn(where.home).chats, {});
  });
});

test("/who lists who is paired, /leave ends it: the turn, the question, and all that comes after", async () => {
  const write = call(["write_file", { path: "a.txt", content: "x" }]);
  const one = await phone([write, say("Refused.")]);
  const { api, model, where } = one;
  api.say("/who");
  await api.sees(/^People: Alice \(11\)\nChats: Alice \(11\)$/);
  api.say("write it");
  const question = await api.asks(/wants to change/);
  api.say("/leave");
  await api.sees(/^This chat is not paired any more/);
  api.press(question, "Allow");
  api.say("hello?");
  api.say(await codeOf(one)); // paired again, with a conversation of its own
  await api.sees(/This chat is paired/, { count: 2 });
  equal(existsSync(join(where.cwd, "a.txt")), false);
  deepEqual(bookIn(where.home).chats["11"].sessions, {});
  equal(model.requests.filter(({ body }) => JSON.stringify(body).includes("hello?")).length, 0);
});

describe("A group that becomes a supergroup", () => {
  for (const isTold of [true, false])
    test(`its pairing and conversation follow, ${isTold ? "by its message" : "by what a call says"}`, async () => {
      const gate = Promise.withResolvers<void>();
      const slow = say("Answered there.");
      const one = await phone([
        say("First."),
        call(["write_file", { path: "a.txt", content: "x" }]),
        { ...slow, body: [gate.promise, ...slow.body!] },
        say("And again."),
      ]);
      const { api, model, where } = one;
      api.say(`@zz_test_bot ${await codeOf(one)}`, { chat: TEAM });
      await api.sees(/This chat is paired/, { chat: -5 });
      api.say("@zz_test_bot one", { chat: TEAM });
      await api.sees(/^First\.$/, { chat: -5 });
      api.say("@zz_test_bot write", { chat: TEAM });
      const old = await api.asks(/wants to change/, { chat: -5 });
      api.migrate(-5, -1005, { isTold });
      // told, it asks there again; else a press that was made before
      const question = isTold ? await api.asks(/wants to change/, { chat: -1005 }) : old;
      api.press(question, "Allow");
      await waitFor("the next request", () => model.requests.length === 3);
      gate.resolve();
      await api.sees(/^Answered there\.$/, { chat: -1005 });
      api.say("@zz_test_bot more", { chat: { ...TEAM, id: -1005, type: "supergroup" } });
      await api.sees(/^And again\.$/, { chat: -1005 });
      match(JSON.stringify(model.requests.at(-1)!.body), /one.*write.*more/s);
      deepEqual(Object.keys(bookIn(where.home).chats).sort(), ["-1005", "11"]);
      api.say("@zz_test_bot old", { chat: TEAM });
      equal(model.requests.length, 4);
    });
});

test("a server that does not answer is named within two seconds, and asked until it does", async () => {
  const api = await fakeBotApi();
  api.isSilent = true;
  const where = place({}, {}, { "telegram.json": PAIRED });
  const one = await phone([say("Here.")], { api, where, isPaired: false });
  await waitFor("the note", () =>
    /'127\.0\.0\.1:\d+' does not answer\. zz tries again/.test(one.said()),
  );
  equal(one.child.exitCode, null);
});
