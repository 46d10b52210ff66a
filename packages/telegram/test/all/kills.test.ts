// zz --telegram is killed in each state of a message: nothing is lost, and nothing is said twice.
import { deepEqual, equal } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { call, fakeOpenAI, say } from "../../../../test/support/fake/openai.ts";
import { place, sessionsIn } from "../../../../test/support/run.ts";
import { waitFor } from "../../../../test/support/wait.ts";
import { type Called, fakeBotApi } from "../fake-bot-api.ts";
import { PAIRED, phone } from "../phone.ts";

/** Where it is killed: at a call of the Bot API, before or after its effect, or at a request. */
const ROWS: [what: string, at: { call?: RegExp; when?: "before" | "after"; request?: number }][] = [
  ["before the message that will hold the answer", { call: /^sendMessage … *$/, when: "before" }],
  ["after it, and before its id is kept", { call: /^sendMessage … *$/, when: "after" }],
  ["while the model is asked", { request: 1 }],
  ["before the question is there", { call: /^sendMessage .*wants to/, when: "before" }],
  ["once the question is there", { call: /^sendMessage .*wants to/, when: "after" }],
  ["before a press is answered", { call: /^answerCallbackQuery/, when: "before" }],
  ["after a press is answered", { call: /^answerCallbackQuery/, when: "after" }],
  ["before the question is closed", { call: /^editMessageText .*→ Allow/, when: "before" }],
  ["after the question is closed", { call: /^editMessageText .*→ Allow/, when: "after" }],
  ["while the model is asked again", { request: 2 }],
  ["before the answer is in its message", { call: /^editMessageText Written/, when: "before" }],
  ["after the answer is in its message", { call: /^editMessageText Written/, when: "after" }],
  ["before the second part has a message", { call: /^sendMessage … *$ 2/, when: "before" }],
  ["after the second part has a message", { call: /^sendMessage … *$ 2/, when: "after" }],
  ["after the second part is in its message", { call: /^editMessageText .*word999/, when: "after" }],
]; // biome-ignore format: a table

const LONG = Array.from({ length: 1_000 }, (_, i) => `word${i}`).join(" ");
const WRITE = call(["write_file", { path: "a.txt", content: "new\n" }]);

describe("A kill -9", () => {
  for (const [what, { call: at, when, request }] of ROWS)
    test(what, async () => {
      const where = place({}, {}, { "telegram.json": PAIRED });
      const api = await fakeBotApi();
      let [requests, empties, isKilled] = [0, 0, false];
      const kill = async () => {
        isKilled = true;
        one.child.kill("SIGKILL");
        await one.exited;
      };
      const model = await fakeOpenAI(async ({ body }) => {
        if (++requests === request && !isKilled) await kill();
        const results = body.messages.filter(({ role }: any) => role === "tool");
        const isWritten = results.some(({ content }: any) => !/interrupted|Refused/.test(content));
        return isWritten ? say(`Written.\n\n${LONG}`) : WRITE;
      });
      api.around = async (called, now) => {
        if (isKilled || !at || now !== when) return;
        if (textOf(called) === "…") empties++;
        const line = `${called.method} ${textOf(called)}`;
        const isIt = at.source.endsWith("2") ? line.endsWith("…") && empties === 2 : at.test(line);
        if (!isIt) return;
        await kill();
        if (when === "before") throw new Error("It was killed.");
      };
      let one = await phone([], { where, api, model, isPaired: false });
      const pressing = pressAll(api);
      api.say("write it");
      await waitFor(
        "the kill",
        () => isKilled,
        () => JSON.stringify(api.messages),
      );
      one = await phone([], { where, api, model, isPaired: false });
      await api.sees(/word999$/);
      await waitFor("the end of its queue", () => bookOf(where.home).queue.length === 0);
      clearInterval(pressing);
      const texts = api.messages.map(({ text }) => text);
      equal(texts.filter((text) => /^Written\./.test(text)).length, 1, texts.join("\n"));
      equal(texts.filter((text) => /word999$/.test(text)).length, 1);
      deepEqual(
        texts.filter((text) => text === "…"),
        [],
        "no message is left empty",
      );
      equal(readFileSync(join(where.cwd, "a.txt"), "utf8"), "new\n");
      const asked = sessionsIn(where.home)
        .flat()
        .filter(({ message }) => message?.role === "user" && message.text === "write it");
      equal(asked.length, 1, "the conversation got the message once");
      deepEqual(
        api.messages.flatMap(({ buttons }) => buttons),
        [],
        "no button is left",
      );
      await model.close();
    });
});

const textOf = ({ payload }: Called): string => String(payload.text ?? "").replaceAll("\n", " ");
const bookOf = (home: string) =>
  JSON.parse(readFileSync(join(home, "telegram.json"), "utf8")).chats["11"];

/** Someone who allows each question once. */
function pressAll(api: Awaited<ReturnType<typeof fakeBotApi>>): NodeJS.Timeout {
  const pressed = new Set<number>();
  return setInterval(() => {
    for (const shown of api.messages)
      if (shown.buttons.length && !pressed.has(shown.id)) {
        pressed.add(shown.id);
        api.press(shown, "Allow");
      }
  }, 20);
}
