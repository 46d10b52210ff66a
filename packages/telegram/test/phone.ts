// A running `zz --telegram` with a scripted model and a fake of Telegram.
import { type ChildProcess, spawn } from "node:child_process";
import { after } from "node:test";
import type { Fake, Script } from "../../../test/support/fake/http.ts";
import { fakeOpenAI } from "../../../test/support/fake/openai.ts";
import { environment, type Place, place, WAYS } from "../../../test/support/run.ts";
import { waitFor } from "../../../test/support/wait.ts";
import { ALICE, type FakeBotApi, fakeBotApi, TOKEN } from "./fake-bot-api.ts";

export interface Phone {
  api: FakeBotApi;
  model: Fake;
  where: Place;
  child: ChildProcess;
  exited: Promise<number | null>;
  said(): string; // on stderr
}
interface Options {
  where?: Place;
  api?: FakeBotApi;
  model?: Fake;
  flags?: string[];
  isPaired?: boolean;
}

const ENTRY = { title: "Alice", sessions: {}, queue: [], questions: [] };
/** What the home has once Alice's chat is paired. */
export const PAIRED = {
  people: { [ALICE.id]: "Alice" },
  chats: { [ALICE.id]: ENTRY } as Record<string, typeof ENTRY>,
  seen: [],
};

const running = new Set<() => unknown>();
after(() => Promise.all([...running].map((end) => end())));

/** Starts zz, and pairs Alice's chat with it. */
export async function phone(script: Script, options: Options = {}): Promise<Phone> {
  const { where = place(), flags = [], isPaired = true } = options;
  const api = options.api ?? (await fakeBotApi());
  const model = options.model ?? (await fakeOpenAI(script));
  const [node, program] = WAYS.dist;
  const modelFlags = ["-m", "openai/m", "--base-url", model.url, "--key", "x"];
  const child = spawn(node, [program, "--telegram", ...modelFlags, ...flags], {
    cwd: where.cwd,
    env: environment(where, { env: { TELEGRAM_BOT_TOKEN: TOKEN, TELEGRAM_API_URL: api.url } }),
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (piece) => (said += piece));
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  running.add(async () => {
    child.kill("SIGKILL");
    await exited;
    if (!options.model) await model.close();
  });
  const one: Phone = { api, model, where, child, exited, said: () => said };
  if (isPaired) {
    api.say(await codeOf(one));
    await api.sees(/This chat is paired/);
  }
  return one;
}

/** The code that the terminal shows last. */
export const codeOf = ({ said }: Pick<Phone, "said">): Promise<string> =>
  waitFor("the code", () => [...said().matchAll(/(?:there|code): (\w{12}) /g)].at(-1)?.[1], said);
