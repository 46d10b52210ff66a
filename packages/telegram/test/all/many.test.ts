// 200 random conversations in eight chats at once, with questions, strangers and floods between.
import { deepEqual, equal } from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { call, fakeOpenAI, say } from "../../../../test/support/fake/openai.ts";
import { place } from "../../../../test/support/run.ts";
import { SEED } from "../../../../test/support/runs.ts";
import { waitFor } from "../../../../test/support/wait.ts";
import { fakeBotApi, MALLORY, PIXEL } from "../fake-bot-api.ts";
import { PAIRED, phone } from "../phone.ts";

const PEOPLE = Array.from({ length: 8 }, (_, i) => ({ id: 101 + i, first_name: `Person ${i}` }));
const CONVERSATIONS = 200;
const KINDS = ["talk", "allow", "reject", "reply", "ten", "picture"] as const;

test(`${CONVERSATIONS} random conversations: each message is answered once, each yes counts for its own`, async (t) => {
  const random = randomBy(SEED);
  const entry = (title: string) => ({ ...PAIRED.chats["11"]!, title });
  const book = {
    people: Object.fromEntries(PEOPLE.map(({ id, first_name }) => [id, first_name])),
    chats: Object.fromEntries(PEOPLE.map(({ id, first_name }) => [id, entry(first_name)])),
    seen: [],
  };
  const where = place({}, {}, { "telegram.json": book });
  const api = await fakeBotApi();
  api.flood = ({ method }) => (/^(send|edit)/.test(method) && random() < 0.01 ? 1 : 0);
  const model = await fakeOpenAI(({ body }) => {
    const last = body.messages.at(-1);
    const words = JSON.stringify(
      body.messages.findLast(({ role }: any) => role === "user").content,
    );
    const [, kind = "", n = ""] = /(talk|write|picture) (\d+)/.exec(words) ?? [];
    if (kind === "write" && last.role !== "tool")
      return call(["write_file", { path: `${n}.txt`, content: n }]);
    return say(`Answer ${n}. *Done_${n}*`);
  });
  t.after(() => model.close());
  const one = await phone([], { where, api, model, isPaired: false });
  const written: number[] = [];
  let next = 0;

  async function asked(n: number, from: (typeof PEOPLE)[number]) {
    api.say(`write ${n}`, { from });
    return api.asks(new RegExp(`change ${n}\\.txt`), { chat: from.id });
  }

  const KIND = {
    talk: async (n, from) => void api.say(`talk ${n}`, { from }),
    picture: async (n, from) => {
      const photo = [{ ...api.file(PIXEL), width: 1, height: 1 }];
      api.say(`picture ${n}`, { from, photo });
    },
    allow: async (n, from) => {
      written.push(n);
      const question = await asked(n, from);
      api.press(question, "Reject", MALLORY);
      api.press(question, "Allow", from);
    },
    reject: async (n, from) => {
      const question = await asked(n, from);
      api.press(question, "Allow", MALLORY);
      api.press(question, "Reject", from);
    },
    reply: async (n, from) => {
      const { id } = await asked(n, from);
      api.say("no", { from, reply_to_message: { message_id: id, from: { id: 123456 } } });
    },
    ten: async (n, from) => {
      written.push(n);
      const question = await asked(n, from);
      const presses = Array.from({ length: 10 }, () => api.press(question, "Allow", from));
      const won = () => api.answered.filter(({ id }) => presses.includes(id));
      await waitFor("ten answers", () => won().length === 10);
      equal(won().filter(({ text }) => text === "Allow").length, 1);
    },
  } satisfies Record<string, (n: number, from: (typeof PEOPLE)[number]) => Promise<void>>;

  await Promise.all(PEOPLE.map((from) => converse(from)));
  const answers = api.messages.map(({ text }) => /^Answer (\d+)\./.exec(text)?.[1]).filter(Boolean);
  deepEqual(
    answers.map(Number).sort((a, b) => a - b),
    Array.from({ length: CONVERSATIONS }, (_, i) => i),
  );
  for (let n = 0; n < CONVERSATIONS; n++)
    equal(existsSync(join(where.cwd, `${n}.txt`)), written.includes(n), `${n}.txt`);
  deepEqual(
    api.messages.filter(({ chat }) => chat === MALLORY.id),
    [],
  );
  // an answer may come before the edit that takes the buttons away
  await waitFor("no buttons", () => api.messages.every(({ buttons }) => !buttons.length));
  equal(one.child.exitCode, null);

  /** One person's conversations, one after the other. */
  async function converse(from: (typeof PEOPLE)[number]): Promise<void> {
    const chat = from.id;
    for (let count = 1; next < CONVERSATIONS; count++) {
      const n = next++;
      const kind = KINDS[Math.floor(random() * KINDS.length)]!;
      api.say("/new", { from });
      await api.sees(/^A new conversation\.$/, { chat, count });
      if (random() < 0.2) api.say(`talk ${n}`, { from: MALLORY });
      await KIND[kind](n, from);
      await api.sees(new RegExp(`^Answer ${n}\\.`), { chat });
    }
  }
});

/** Numbers from 0 to 1, the same for the same seed. */
function randomBy(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
