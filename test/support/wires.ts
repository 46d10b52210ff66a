// Runs turns against a native wire's fake, in this process, with a few tools that only report what
// they were given.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Answer, Clock, Events, Fault, Image, Message } from "../../kernel/contract.ts";
import type { Core, Options } from "../../kernel/instance.ts";
import { processIo } from "../../kernel/system/streams.ts";
import type { Fake } from "./fake/http.ts";
import { temporaryFolder } from "./files.ts";
import { clockOf } from "./run.ts";
import { kernel } from "./script.ts";

export const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const base = temporaryFolder("zz-wires-");
/** A plugin with the tools; it also moves the options `effort` and `schema` into the request's own
 * fields. */
export const lamps = join(base, "lamps.ts");
writeFileSync(
  lamps,
  `export default (zz) => {
    const ok = (args) => "ok " + JSON.stringify(args);
    const png = { type: "image/png", base64: "${PIXEL}" };
    zz.tool({ name: "lamp_dim", description: "Dims.", params: { level: "number" }, run: ok });
    zz.tool({ name: "kiln_status", description: "Tells.", run: ok });
    zz.tool({ name: "look", description: "Looks.", run: () => ({ text: "a lamp", images: [png] }) });
    zz.tool({ name: "fail", description: "Fails.", run: () => { throw new Error("the lamp is broken"); } });
    zz.wrap("request", (request, next) => {
      const { effort, schema, ...options } = request.options;
      return next({ ...request, options, ...(effort && { effort }), ...(schema && { schema }) });
    });
  };\n`,
);

export interface Turn {
  answer?: Answer;
  error?: Fault;
  retried: Events["retried"][];
  slept: number[];
  fake: Fake;
  bodies: any[];
  messages: readonly Message[];
}
export interface How {
  options?: Options;
  turns?: number;
  before?: Message[]; // the conversation before
  images?: Image[]; // with the person's message
}

/** Runs turns with this fake as the provider of the model, then closes the server. */
export async function turnWith(fake: Fake, model: string, how: How = {}): Promise<Turn> {
  const { options, turns = 1, before = [], images = [] } = how;
  const key = JSON.stringify([model, options]);
  const mine = free.get(key) ?? [];
  free.set(key, mine);
  const instance = mine.pop() ?? (await open(model, options));
  const { core } = instance;
  core.options.baseUrl = fake.url;
  const retried: Events["retried"][] = (instance.retried = []);
  const chat = kernel.openChat(core, model);
  chat.messages.push(...before);
  slept = [];
  const had = () => ({
    retried,
    slept,
    fake,
    bodies: fake.requests.map(({ body }) => body),
    messages: chat.messages,
  });
  try {
    let answer: Answer | undefined;
    for (let i = 0; i < turns; i++) {
      chat.attached.push(...images);
      answer = await kernel.runTurn(core, chat, "hi");
    }
    return { answer: answer!, ...had() };
  } catch (error) {
    if ((error as Error).name === "AssertionError") throw error;
    return { error: error as Fault, ...had() };
  } finally {
    mine.push(instance);
    await fake.close();
  }
}

/** Nobody waits before a request is sent again; `retried` tells how long it would have been. */
export const HURRIED: Clock = {
  ...clockOf({}),
  sleep: async (ms) => void slept.push(Math.round(ms)),
};
let slept: number[] = []; // how long they would have waited

interface Instance {
  core: Core;
  retried: Events["retried"][]; // of the turn under way
}
/** Those that are free, by what they were made with: each serves one turn after the other. */
const free = new Map<string, Instance[]>();

async function open(model: string, options?: Options): Promise<Instance> {
  const core = await kernel.createZz({
    home: base,
    root: base,
    own: false,
    plugins: [lamps],
    tools: ["lamp_dim", "kiln_status", "look", "fail"],
    model,
    key: "k-12345678",
    save: false,
    baseUrl: "http://127.0.0.1:1", // each turn has its own
    io: Object.assign(processIo(), { clock: HURRIED }),
    ...options,
  });
  const instance: Instance = { core, retried: [] };
  const see = (fact: Events["retried"]) => void instance.retried.push(fact);
  core.observers.push({ owner: "", value: { event: "retried", limit: 5_000, see } });
  return instance;
}
