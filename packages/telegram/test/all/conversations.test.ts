// What is said and asked on the phone, by each kind of message, with a fake of Telegram.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { call, say } from "../../../../test/support/fake/openai.ts";
import { place } from "../../../../test/support/run.ts";
import { waitFor } from "../../../../test/support/wait.ts";
import { MALLORY, PIXEL, TOKEN } from "../fake-bot-api.ts";
import { codeOf, type Phone, phone } from "../phone.ts";

const BODY = ({ model }: Phone) => JSON.stringify(model.requests.at(-1)!.body);
const write = (path: string, content: string) => call(["write_file", { path, content }]);

describe("--telegram", () => {
  test("a question shows what would change; a yes writes it, and counts once", async () => {
    const one = await phone([write("a.txt", "new\n"), say("Written.")]);
    const { api, where } = one;
    api.say("write it");
    const question = await api.asks(/wants to change a\.txt/);
    match(question.text, /--- a\.txt\n\+\+\+ a\.txt\n@@ -0,0 \+1,1 @@\n\+new/);
    deepEqual(
      question.buttons.map(({ text }) => text),
      ["Allow", "Always allow in this session", "Reject"],
    );
    const [{ callback_data: yes = "" } = {}] = question.buttons;
    const wrong = [
      api.pressData(question, yes.replace(/:..../, ":AAAA")), // another hash
      api.pressData(question, yes.replace(/\d+$/, "7")), // no option of it
      api.pressData(question, yes, MALLORY),
      api.pressData({ ...question, chat: MALLORY.id }, yes),
    ];
    await waitFor("the presses", () => api.answered.length === 2);
    ok(!existsSync(join(where.cwd, "a.txt")));
    const presses = Array.from({ length: 10 }, () => api.press(question, "Allow"));
    await api.sees(/^Written\.$/);
    await waitFor("all presses", () => api.answered.length === 12);
    const texts = presses.map((id) => api.answered.find((answer) => answer.id === id)!.text);
    deepEqual(texts.sort(), ["Allow", ...Array(9).fill("This question is over.")]);
    ok(wrong.every((id) => api.answered.find((answer) => answer.id === id)?.text !== "Allow"));
    equal(readFileSync(join(where.cwd, "a.txt"), "utf8"), "new\n");
    await waitFor("its outcome", () => /→ Allow$/.test(question.text));
    deepEqual(question.buttons, []);
  });

  test("a no, alone or as a reply with the reason; a question that is left becomes a no", async () => {
    const where = place({}, { telegram: { minutes: 0.02 } });
    const script = [
      write("a.txt", "1"),
      say("First."),
      write("a.txt", "2"),
      say("Second."),
      write("a.txt", "3"),
      say("Third."),
    ];
    const one = await phone(script, { where });
    const { api } = one;
    api.say("one");
    api.press(await api.asks(/wants to change/), "Reject");
    await api.sees(/^First\.$/);
    match(BODY(one), /the person said no to write access to \\"a\.txt\\"\./);
    api.say("two");
    const { id } = await api.asks(/wants to change/);
    api.say("not that file", { reply_to_message: { message_id: id, from: { id: 123456 } } });
    await api.sees(/^Second\.$/);
    match(BODY(one), /the person said no to write access to \\"a\.txt\\": not that file/);
    api.say("three");
    await api.sees(/^Third\.$/); // nobody answers
    match(BODY(one), /the person said no to write access to \\"a\.txt\\"\./);
    ok(!existsSync(join(where.cwd, "a.txt")));
  });

  test("a long change is a file with all of it, and its buttons stand there", async () => {
    const text = Array.from({ length: 900 }, (_, i) => `line ${i} of it\n`).join("");
    const one = await phone([write("long.txt", text), say("Written.")]);
    one.api.say("write it");
    const question = await one.api.asks(/The file has all of it/);
    equal(question.document!.name, "question.diff");
    const diff = question.document!.bytes.toString();
    ok(text.split("\n").every((line) => !line || diff.includes(`+${line}\n`)));
    one.api.press(question, "Allow");
    await one.api.sees(/^Written\.$/);
    equal(readFileSync(join(one.where.cwd, "long.txt"), "utf8"), text);
  });

  test("pictures, files, an album and voice come along; send_file brings files", async () => {
    const where = place({ "out/report.pdf": "%PDF-1.4 report" });
    const script = [
      say("Seen."),
      say("Read."),
      say("Heard."),
      call(["send_file", { paths: ["out/report.pdf"] }]),
      say("Here."),
      call(["send_file", { paths: ["none"] }]),
      say("Not there."),
    ];
    const one = await phone(script, { where });
    const { api } = one;
    const photo = () => [{ ...api.file(PIXEL), width: 1, height: 1 }];
    api.say("what is it?", { photo: photo(), media_group_id: "1" });
    api.say("", { photo: photo(), media_group_id: "1" });
    await api.sees(/^Seen\.$/);
    equal(BODY(one).match(/data:image\/\w+;base64,iVBORw0KGgo/g)?.length, 2);
    api.say("read it", {
      document: {
        ...api.file(Buffer.from("some notes")),
        file_name: "../n o?tes.md",
        mime_type: "text/markdown",
      },
    });
    await api.sees(/^Read\.$/);
    const [, file = ""] = /(\/\S+telegram-files\/\d+-[^"\\]*tes\.md)/.exec(BODY(one)) ?? [];
    equal(readFileSync(file, "utf8"), "some notes");
    api.say("", { voice: { ...api.file(Buffer.from("ogg")), duration: 1 } });
    await api.sees(/^Heard\.$/);
    match(BODY(one), /telegram-files\/\d+-voice\.ogg/);
    api.say("send the report");
    await api.sees(/^Here\.$/);
    const sent = api.messages.find(({ document }) => document?.name === "report.pdf");
    equal(sent?.document?.bytes.toString(), "%PDF-1.4 report");
    api.say("send what is not there");
    await api.sees(/^Not there\.$/);
  });

  test("what is too large either way is a sentence", async () => {
    const where = place();
    writeFileSync(join(where.cwd, "big.bin"), Buffer.alloc(50_000_001));
    const one = await phone([call(["send_file", { paths: ["big.bin"] }]), say("Too big.")], {
      where,
    });
    one.api.say("", {
      document: { ...one.api.file(Buffer.alloc(20_000_001)), file_name: "x.zip" },
    });
    await one.api.sees(/^Cannot take 'x\.zip': it has 21 MB, and Telegram gives bots at most 20\./);
    one.api.say("send it");
    await one.api.sees(/^Too big\.$/);
    match(BODY(one), /it has 51 MB, and Telegram takes at most 50 from a bot\. Compress it/);
  });

  test("commands: /new, /model, /undo, /help, /stop", async () => {
    const where = place({ "a.txt": "old\n" });
    const hang = { ...say("never"), ending: "hang" as const, body: ["data: {}\n\n"] };
    const edit = call(["edit_file", { path: "a.txt", old_string: "old", new_string: "new" }]);
    const read = call(["read_file", { path: "a.txt" }]);
    const one = await phone([read, edit, say("Edited."), say("By n."), say("Fresh."), hang], {
      where,
    });
    const { api, model } = one;
    api.say("/help");
    await api.sees(/pictures and files may come along/);
    api.say("swap the words");
    api.press(await api.asks(/wants to change/), "Allow");
    await api.sees(/^Edited\.$/);
    api.say("/undo");
    await waitFor("the undo", () => readFileSync(join(where.cwd, "a.txt"), "utf8") === "old\n");
    api.say("/model openai/n");
    await api.sees(/^From now on, openai\/n answers\.$/);
    api.say("by whom?");
    await api.sees(/^By n\.$/);
    equal(model.requests.at(-1)!.body.model, "n");
    api.say("/new");
    await api.sees(/^A new conversation\.$/);
    api.say("fresh?");
    await api.sees(/^Fresh\.$/);
    doesNotMatch(BODY(one), /swap the words/);
    const count = model.requests.length;
    api.say("/stop");
    await api.sees(/^Nothing is under way\.$/);
    api.say("wait");
    await waitFor("the request", () => model.requests.length > count);
    api.say("/stop");
    await api.sees(/^Stopped\.$/);
  });

  test("in a group: who is paired, and mentions the bot or replies to it, and nobody else", async () => {
    const one = await phone([say("In the group."), say("Again.")]);
    const { api } = one;
    const chat = { id: -5, type: "group", title: "Team" };
    api.say(`@zz_test_bot ${await codeOf(one)}`, { chat });
    await api.sees(/This chat is paired/, { chat: -5 });
    api.say("among people", { chat });
    api.say("@zz_test_bot do harm", { chat, from: MALLORY });
    api.say("@zz_test_bot hello", {
      chat,
      reply_to_message: { message_id: 1, from: MALLORY, text: "quoted", chat },
    });
    const answer = await api.sees(/^In the group\.$/, { chat: -5 });
    match(BODY(one), /In reply to:\\n> quoted\\n\\nhello/);
    api.say("and?", {
      chat,
      reply_to_message: { message_id: answer.id, from: { id: 123456 }, chat },
    });
    await api.sees(/^Again\.$/, { chat: -5 });
    equal(one.model.requests.length, 2);
  });

  test("an update that comes twice is answered once; an edit counts while it waits", async () => {
    const gate = Promise.withResolvers<void>();
    const first = say("First.");
    const one = await phone([{ ...first, body: [gate.promise, ...first.body!] }, say("Second.")]);
    const { api, model } = one;
    const message = api.say("one");
    api.update({ message }, 1_001);
    const second = api.say("two");
    await waitFor("the request", () => model.requests.length);
    api.edit(second, "two, edited");
    api.edit(message, "one, edited");
    await api.sees(/^This was answered as it was before/);
    gate.resolve();
    await api.sees(/^First\.$/);
    await api.sees(/^Second\.$/);
    equal(model.requests.length, 2);
    match(BODY(one), /two, edited/);
    doesNotMatch(BODY(one), /one, edited/);
  });

  test("a flood is waited out; a long answer comes in parts that Telegram takes", async () => {
    const text = Array.from({ length: 220 }, (_, i) => `**Point ${i}.** Some words for it.`).join(
      "\n\n",
    );
    const one = await phone([say(text)]);
    const { api } = one;
    let floods = 0;
    api.flood = ({ method }) => (/^(edit|send)Message/.test(method) && floods++ < 3 ? 1 : 0);
    api.say("tell all");
    await api.sees(/Point 219\./);
    const shown = api.messages.filter(({ text }) => /Point/.test(text));
    ok(shown.length > 1);
    deepEqual(
      shown
        .map(({ text }) => text)
        .join("\n\n")
        .split("\n\n"),
      text.replaceAll("**", "").split("\n\n"),
    );
  });

  test("a token that is revoked ends it with a sentence; what waits is answered with the next", async () => {
    const gate = Promise.withResolvers<void>();
    const late = say("Late.");
    const script = (_: unknown, turn: number) =>
      turn === 0 ? { ...late, body: [gate.promise, ...late.body!] } : say("Later.");
    const one = await phone(script);
    one.api.say("wait");
    await waitFor("the request", () => one.model.requests.length);
    one.api.token = "another";
    gate.resolve();
    equal(await one.exited, 1);
    match(one.said(), /Cannot go on: Telegram refuses the token\. zz --keys set telegram/);
    one.api.token = TOKEN;
    const again = await phone([], { ...one, isPaired: false });
    await again.api.sees(/^Late(r)?\.$/);
    equal(again.api.messages.filter(({ text }) => /^Late/.test(text)).length, 1);
  });
});
