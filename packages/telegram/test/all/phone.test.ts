// /phone in a conversation at the terminal, and messages that plugins send.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Script } from "../../../../test/support/fake/http.ts";
import { call, say } from "../../../../test/support/fake/openai.ts";
import { repl } from "../../../../test/support/repl.ts";
import { place, zz } from "../../../../test/support/run.ts";
import { waitFor } from "../../../../test/support/wait.ts";
import { ALICE, type FakeBotApi, fakeBotApi, MALLORY, TOKEN } from "../fake-bot-api.ts";
import { PAIRED, phone } from "../phone.ts";

const write = (path: string) => call(["write_file", { path, content: "new\n" }]);
const variables = (api: FakeBotApi) => ({ TELEGRAM_BOT_TOKEN: TOKEN, TELEGRAM_API_URL: api.url });

async function talk(
  t: TestContext,
  script: Script,
  where = place({}, {}, { "telegram.json": PAIRED }),
  given?: FakeBotApi,
) {
  const api = given ?? (await fakeBotApi());
  const one = await repl(t, { where, script, env: variables(api) });
  one.type("/phone\r");
  await one.sees("Questions are asked in 'Alice' as well.");
  return { ...one, api, where };
}

describe("/phone", () => {
  test("an answer on the phone counts, and the terminal shows it", async (t) => {
    const { api, where, fake, ...term } = await talk(t, [
      write("a.txt"),
      write("b.txt"),
      say("Both asked."),
    ]);
    term.type("write them\r");
    const first = await api.asks(/wants to change a\.txt/);
    match(first.text, /1 \+ new$/);
    api.press(first, "Yes", MALLORY);
    api.press(first, "Yes");
    await term.sees("Answered on the phone: y");
    const second = await api.asks(/wants to change b\.txt/);
    api.say("rather not", { reply_to_message: { message_id: second.id, from: { id: 123456 } } });
    await term.sees("Both asked.");
    equal(readFileSync(join(where.cwd, "a.txt"), "utf8"), "new\n");
    ok(!existsSync(join(where.cwd, "b.txt")));
    match(
      JSON.stringify(fake.requests.at(-1)!.body),
      /said no to write access to \\"b\.txt\\": rather not/,
    );
    await waitFor("both outcomes", () => /→ Yes$/.test(first.text) && /→ No$/.test(second.text));
    deepEqual([first.buttons, second.buttons], [[], []]);
    deepEqual(
      api.messages.filter(({ chat }) => chat !== ALICE.id),
      [],
    );
  });

  test("an answer at the terminal counts, and the phone shows it; /phone off asks there alone", async (t) => {
    const { api, where, ...term } = await talk(t, [
      write("a.txt"),
      say("Written."),
      write("b.txt"),
      say("Again."),
    ]);
    term.type("write it\r");
    const question = await api.asks(/wants to change/);
    await term.sees("Allow?");
    term.type("y");
    await term.sees("Written.");
    await waitFor("the outcome", () => /→ Yes \(at the terminal\)$/.test(question.text));
    const late = api.pressData(question, "q:AAAAAAAAAAAAAAAAAAAAAA:0");
    await waitFor("the answer to the press", () => api.answered.find(({ id }) => id === late));
    equal(api.answered.at(-1)!.text, "This question is over.");
    api.say("hello");
    await api.sees(/^Nothing was done with this: zz --telegram is not running\.$/);
    term.type("/phone off\r");
    await term.sees("Questions are asked here alone.");
    term.type("write b\r");
    await term.sees("b.txt");
    term.type("y");
    await term.sees("Again.");
    ok(existsSync(join(where.cwd, "b.txt")));
    equal(api.messages.filter(({ text }) => /wants to/.test(text)).length, 1);
  });

  test("send_file sends to the phone that is paired, while /phone is on", async (t) => {
    const send = call(["send_file", { paths: ["report.pdf"] }]);
    const where = place({ "report.pdf": "%PDF-1.4 report" }, {}, { "telegram.json": PAIRED });
    const script = [send, say("Sent it."), send, say("Not sent.")];
    const { api, fake, ...term } = await talk(t, script, where);
    const offers = () =>
      /"name":"send_file"/.test(JSON.stringify(fake.requests.at(-1)!.body.tools));
    term.type("send the report\r");
    await term.sees("Sent it.");
    const [sent] = api.messages.filter(({ document }) => document);
    equal(sent!.chat, ALICE.id);
    equal(sent!.document!.bytes.toString(), "%PDF-1.4 report");
    ok(offers());
    term.type("/phone off\r");
    await term.sees("Questions are asked here alone.");
    term.type("send it again\r");
    await term.sees("Not sent.");
    ok(!offers());
    equal(api.messages.filter(({ document }) => document).length, 1);
  });

  test("while zz --telegram runs, that hears the answer", async (t) => {
    const one = await phone([say("Hello.")]);
    const { api, where, ...term } = await talk(
      t,
      [write("a.txt"), say("Written.")],
      one.where,
      one.api,
    );
    term.type("write it\r");
    api.press(await api.asks(/wants to change/), "Yes");
    await term.sees("Written.");
    equal(readFileSync(join(where.cwd, "a.txt"), "utf8"), "new\n");
    api.say("hello");
    await api.sees(/^Hello\.$/);
  });
});

test("a plugin sends a message that nobody asked for", async () => {
  const plugin = `export default (zz) => zz.tool({ name: "tell", description: "x", params: { to: "string" },
    run: async ({ to }, ctx) => (await ctx.service("messenger").send(to, "The build is **done**.", ctx), "sent") });`;
  const where = place({ "tell.mjs": plugin }, {}, { "telegram.json": PAIRED });
  const api = await fakeBotApi();
  const tell = (to: string) =>
    zz(where, ["--plugin", "tell.mjs", "--call", "tell", JSON.stringify({ to })], {
      env: variables(api),
    });
  equal((await tell("")).stdout, "sent\n");
  equal((await tell("alice")).stdout, "sent\n");
  equal((await api.sees(/^The build is done\.$/, { count: 2 })).texts[0], "…");
  match((await tell("Bob")).stderr + (await tell("Bob")).stdout, /Cannot send this: .*'Bob'/);
});
