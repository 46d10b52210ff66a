// Which request goes out after models, servers, keys and settings were changed in a conversation:
// the one that a new zz would send.
import { deepEqual } from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { after, test } from "node:test";
import type { DialogHost } from "../../kernel/contract.ts";
import { learnWindow } from "../../kernel/conversation/choose-model.ts";
import { readSession } from "../../kernel/conversation/session-files.ts";
import { runDialog } from "../../kernel/program/run-dialog.ts";
import { readSettings } from "../../kernel/settings/settings-files.ts";
import { createZz, obey as obeyLine, openChat, runTurn } from "../../zz.ts";
import * as ollama from "../support/fake/ollama.ts";
import * as openai from "../support/fake/openai.ts";
import { place } from "../support/run.ts";
import { random, runs, SEED } from "../support/runs.ts";
import { waitFor } from "../support/wait.ts";

const sized = (id: string, context_length: number) => ({ id, context_length });
const capabilities = ["completion"];
const fakes = {
  small: await openai.fakeOpenAI(
    [openai.say("ok")],
    [{ id: "m", context_length: 4_000 }, { id: "n" }],
  ),
  large: await openai.fakeOpenAI([openai.say("ok")], [sized("m", 100_000), sized("n", 9_000)]),
  old: await ollama.fakeOllama(
    [ollama.say("ok")],
    [{ name: "m:latest", trained: 4_096, capabilities }],
  ),
  new: await ollama.fakeOllama([ollama.say("ok")], [{ name: "m:latest", trained: 65_536 }]),
};
after(() => Object.values(fakes).map((fake) => fake.close()));
const { small, large, old, new: newer } = fakes;

/** What the servers were asked since the last look. */
const asked = () =>
  Object.entries(fakes).flatMap(([at, { requests }]) =>
    requests
      .splice(0)
      .map(({ path, headers, body }) => ({ at, path, key: headers.authorization, body })),
  );

/** A conversation at the prompt, and what a new zz would make of the same home and session. */
async function conversation(given: object) {
  const { home, cwd: root } = place();
  const file = join(home, "zz.config.json");
  const put = (given: object) => writeFileSync(file, JSON.stringify(given));
  mkdirSync(home);
  put(given);
  const nowhere = () => new Writable({ write: (_, __, done) => done() });
  const io = {
    stdin: Readable.from([]),
    stdout: nowhere(),
    stderr: nowhere(),
    env: { HOME: home },
    cwd: () => root,
  };
  const open = async () =>
    createZz({ ...(await readSettings({ home, root })), home, root, io: io as never });
  const core = await open();
  const chat = openChat(core, "openai/m");
  const { promise: host, resolve } = Promise.withResolvers<DialogHost>();
  const { promise: over, resolve: leave } = Promise.withResolvers<number>();
  const talk = async (host: DialogHost) => {
    await host.open();
    resolve(host);
    return over;
  };
  const first = { words: "", attached: [], typed: false };
  const done = runDialog(
    core,
    { name: "test", talk },
    { open: async () => chat, first, stop: { why: "", leave: () => {} }, obey: obeyLine },
  );
  const { obey } = await host;

  /** Says the same here and in a new zz: what each asked of which server, with which window in
   * mind. */
  async function compare(words: string, told: string): Promise<void> {
    await core.ctx().plugins.refresh();
    const fresh = await open();
    const twin = openChat(fresh, chat.model, chat.session && readSession(home, chat.id!));
    await learnWindow(fresh, twin);
    const windows = () => `${told}\n${chat.window} here, ${twin.window} in a new one`;
    await waitFor(
      "the window, which is asked for beside",
      () => chat.window === twin.window,
      windows,
    );
    asked();
    await runTurn(fresh, twin, words);
    const theirs = asked();
    await obey(words);
    deepEqual(
      { window: chat.window, asked: asked() },
      { window: twin.window, asked: theirs },
      told,
    );
  }
  return { core, chat, home, put, obey, compare, leave: () => leave(0), done };
}

test("whatever is changed in a conversation (models, servers, keys, settings), it asks as a new zz would", async () => {
  for (let life = 0; life < runs(2, 5); life++) await live(SEED + life);
});

async function live(seed: number): Promise<void> {
  const next = random(seed);
  const one = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)]!;
  const given = () => {
    const like = one(["openai", "ollama"]);
    const mine = {
      like,
      url: one(like === "openai" ? [small.url, large.url] : [old.url, newer.url]),
    };
    return {
      disabled: ["time"], // the minute may change between two questions
      providers: {
        openai: { url: one([small.url, large.url]) },
        ollama: { url: one([old.url, newer.url]) },
        mine,
      },
      ...(next() < 0.4 && { window: one([2_000, 5_000, 50_000]) }),
      ...(next() < 0.3 && { options: { temperature: next() } }),
    };
  };
  const { core, chat, home, put, obey, compare, leave, done: left } = await conversation(given());
  const done: string[] = [];
  const deeds = [
    () => `/model ${one(["openai/m", "openai/n", "mine/m", "ollama/m"])}`,
    () => `/config providers.openai.url ${one([small.url, large.url])}`,
    () => `/config providers.ollama.url ${one([old.url, newer.url])}`,
    () => `/config window ${one(["3000", "90000", "--reset"])}`,
    () => `/config ollama.window ${one(["3000", "30000", "--reset"])}`,
    () => `/config options.temperature ${one(["0.1", "0.9", "--reset"])}`,
    () => one(["/back", "/new"]),
    () => void put(given()),
    () =>
      void writeFileSync(
        join(home, "keys.json"),
        JSON.stringify({ openai: one(["key-of-one-1", "key-of-two-2"]) }),
      ),
    () => core.ctx().settings.set("providers.mine.key", one(["key-of-mine-1", "key-of-mine-2"])),
  ];
  for (let step = 0; step < 6; step++) {
    const deed = one(deeds);
    const line = await deed();
    done.push(line ?? `${deed}`);
    if (line) await obey(line);
    await compare(`hello ${step}`, [`ZZ_SEED=${seed} ZZ_RUNS=1`, ...done, chat.model].join("\n"));
  }
  leave();
  await left;
}
