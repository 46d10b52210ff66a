// zz for scripts and programs: one handle, with the same turn loop and the same gate.

import { pathToFileURL } from "node:url";
import type {
  Answer,
  Image,
  Infer,
  Message,
  Question,
  Result,
  Schema,
  Tool,
} from "../kernel/contract.ts";
import { openChat } from "../kernel/conversation/chat.ts";
import { chooseModel, NO_MODEL_MESSAGE } from "../kernel/conversation/choose-model.ts";
import { closeChat } from "../kernel/conversation/save-chat.ts";
import { type Core, IDENTIFIER, type LiveChat, NO_MODEL_ID, newId } from "../kernel/instance.ts";
import { createCtx } from "../kernel/plugins/create-ctx.ts";
import {
  importTrees,
  isForCompiler,
  providePackages,
  readyCompiler,
} from "../kernel/plugins/import-plugin.ts";
import { runCall } from "../kernel/plugins/run-call.ts";
import { emitStarted, exitCode } from "../kernel/program/command-line.ts";
import { readAllStdin, readAttachment } from "../kernel/program/read-input.ts";
import { unknown } from "../kernel/text/did-you-mean.ts";
import { fault, usage } from "../kernel/text/faults.ts";
import { parametersOf, toJsonSchema } from "../kernel/text/json-schema.ts";
import { readJson } from "./json-in-answers.ts";
import { shortSchema } from "./short-schema.ts";

/** What scripts and programs get: `import { zz } from "zz"`. With `zz --run` it has the settings
 * and permissions of the flags; a program of your own gets those of an empty command line, and
 * nothing can be asked. */
export interface Script {
  readonly args: readonly string[]; // the words after the script
  stdin(): Promise<string>; // all of it; empty at a terminal
  // a single turn
  ask<const S extends Schema>(text: string, options: How<S> & { schema: S }): Promise<Infer<S>>;
  ask(text: string, options: How & { schema: string }): Promise<any>;
  ask(text: string, options?: How): Promise<string>;
  chat(options?: How): Promise<Talk>; // several turns
  call(tool: string, args?: object): Promise<Result>; // through the same gate as a model's calls
  // what `ask` makes of each item, in their order; `jobs` at a time, 4 if it does not say
  each: typeof eachOf;
}
export interface Talk {
  readonly id: string | null;
  readonly model: string;
  readonly messages: readonly Message[];
  ask: Script["ask"];
}
export interface How<S extends Schema = Schema> {
  schema?: S | string; // the answer is data that fits it; a text: its short form
  model?: string;
  system?: string;
  tools?: (string | Tool)[] | false; // only these, by name or defined here; false: none
  files?: string[]; // attached
  images?: Image[];
  signal?: AbortSignal;
}

/**
 * Asks about each item, so many at a time. The first that throws ends it, once those under way are
 * done.
 */
export async function eachOf<T, R>(
  items: Iterable<T> | AsyncIterable<T>,
  ask: (item: T, index: number) => Promise<R> | R,
  { jobs = 4 }: { jobs?: number } = {},
): Promise<R[]> {
  if (!(Number.isInteger(jobs) && jobs > 0))
    throw usage(`Cannot run ${jobs} jobs: it takes a whole number from 1.`);
  const results: R[] = [];
  const isAsync = Symbol.asyncIterator in items;
  const source = isAsync ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  let [count, isOver] = [0, false];
  let turn: Promise<unknown> = Promise.resolve(); // items are taken one after the other
  const take = () =>
    (turn = turn.catch(() => {}).then(() => source.next())) as Promise<IteratorResult<T>>;
  const work = async () => {
    while (!isOver) {
      const { done, value } = await take();
      if (done || isOver) return;
      const index = count++;
      results[index] = await ask(value, index);
    }
  };
  const stopping = () =>
    work().catch((error) => {
      isOver = true;
      throw error;
    });
  const ended = await Promise.allSettled(Array.from({ length: jobs }, stopping));
  const failed = ended.find(({ status }) => status === "rejected");
  if (failed) throw (failed as PromiseRejectedResult).reason;
  return results;
}

const SIGNALS: Record<number, string> = { 129: "SIGHUP", 130: "SIGINT", 143: "SIGTERM" };
const TRIES = 3; // to get an answer that fits a schema

/** `end` closes everything and returns the exit code; `stop` ends what is running. */
interface OpenScript extends Script {
  end(): number;
  stop(exit: number): void;
}

/** The turn loop, as zz.ts passes it in. */
export interface Story {
  runTurn(core: Core, chat: LiveChat, text: string): Promise<Answer>;
  sendQueued(core: Core, chat: LiveChat): Promise<Answer | undefined>;
}
/** What a script's conversations share. */
interface Running {
  core: Core;
  story: Story;
  chats: Set<LiveChat>;
  code: number;
  busy: number; // running turns and calls
  ended?: true;
}

export function openScript(core: Core, args: string[], story: Story): OpenScript {
  const script: Running = { core, story, chats: new Set(), code: 0, busy: 0 };
  let read: Promise<string> | undefined;
  return {
    args,
    each: eachOf,
    stdin: () => (read ??= core.io.stdin.isTTY ? Promise.resolve("") : readAllStdin(core.io)),
    async ask(text: string, options: How = {}) {
      const { talk, chat } = await open(script, options);
      return talk.ask(text, options).finally(() => close(script, chat));
    },
    chat: async (options = {}) => (await open(script, options)).talk,
    async call(name, parameters = {}) {
      assertOpen(script, `call '${name}'`);
      if (!core.tools.has(name))
        throw usage(`Cannot call '${name}': ${unknown("tool", name, core.tools.keys())}`);
      const chat = trackChat(script, openChat(core, NO_MODEL_ID));
      const call = { id: newId("call_"), name, args: parameters as Record<string, unknown> };
      const turn = { core, chat, ctx: createCtx(core, chat) };
      const result = await whileBusy(script, () => runCall(turn, call)).finally(() =>
        close(script, chat),
      );
      if (result.refused) script.code ||= 4;
      return result;
    },
    end() {
      script.ended = true;
      for (const chat of script.chats) close(script, chat);
      // the script's own exit code wins
      return process.exitCode === undefined ? script.code : Number(process.exitCode);
    },
    stop(exit) {
      for (const chat of script.chats) chat.stop.abort();
      const isItsOwn = process.listenerCount(SIGNALS[exit] ?? "") > 1; // zz has one listener itself
      if (!script.busy && !isItsOwn) process.exit(exit); // zz has nothing to stop first
    },
  };
}

function assertOpen({ ended }: Running, action: string): void {
  if (ended) throw usage(`Cannot ${action}: this zz was closed. Make another with embed().`);
}

async function whileBusy<T>(script: Running, act: () => Promise<T>): Promise<T> {
  script.busy++;
  try {
    return await act();
  } finally {
    script.busy--;
  }
}
function trackChat({ chats }: Running, chat: LiveChat): LiveChat {
  chats.add(chat);
  return chat;
}
function close({ core, chats }: Running, chat: LiveChat): void {
  chats.delete(chat);
  closeChat(core, chat);
}

async function open(script: Running, options: How): Promise<{ talk: Talk; chat: LiveChat }> {
  assertOpen(script, "ask");
  const ownCore = coreWithOptions(script.core, options);
  const model = await chooseModel(ownCore);
  if (!model) throw usage(NO_MODEL_MESSAGE);
  ownCore.namedProvider = model.split("/")[0]!;
  const chat = trackChat(script, openChat(ownCore, model));
  await emitStarted(ownCore, chat, false);
  let last: Promise<unknown> = Promise.resolve(); // one turn at a time
  const talk: Talk = {
    get id() {
      return chat.id;
    },
    model,
    get messages() {
      return chat.messages;
    },
    ask(text: string, turnOptions: How = {}) {
      assertOpen(script, "ask");
      const answered = last.then(() =>
        whileBusy(script, () =>
          answer(script, ownCore, chat, text, { ...options, ...turnOptions }),
        ),
      );
      last = answered.catch(() => {});
      return answered;
    },
  };
  return { talk, chat };
}

async function answer(
  script: Running,
  ownCore: Core,
  chat: LiveChat,
  text: string,
  options: How,
): Promise<any> {
  const { files = [], images = [], signal } = options;
  const schema = schemaOf(options);
  if (typeof text !== "string") throw usage("Cannot ask: what is asked must be a text.");
  signal?.throwIfAborted();
  for (const { text = [], image = [] } of await Promise.all(
    files.map((name) => readAttachment(name, ownCore.io.cwd())),
  ))
    for (const attachment of [text, image].flat()) chat.attach(attachment);
  images.forEach(chat.attach);
  const abort = () => chat.stop.abort(signal!.reason);
  signal?.addEventListener("abort", abort, { once: true });
  try {
    let words = schema ? `${text}\n\n${JSON_ALONE}\n${JSON.stringify(toJsonSchema(schema))}` : text;
    for (let triesLeft = TRIES - 1; ; triesLeft--) {
      const answered = await script.story.runTurn(ownCore, chat, words);
      const exit = exitCode(answered);
      if (exit === 3 || !script.code) script.code = exit || script.code;
      await script.story.sendQueued(ownCore, chat);
      if (!schema) return answered.text;
      const { value, wrong } = await readJson(answered.text, schema);
      if (!wrong) return value;
      if (!triesLeft)
        throw fault(
          `The answer does not fit the schema: ${wrong}. Ask for less, or another model.`,
        );
      words = `That does not fit: ${wrong}. ${JSON_ALONE}`;
    }
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

/** `{ schema: "vendor, total float" }` is the short form. */
function schemaOf({ schema }: How): Schema | undefined {
  if (typeof schema !== "string") return schema;
  if (schema.trim()) return shortSchema(schema) as Schema;
  throw usage("Cannot use the schema: it is empty. Write names: 'name, age int'.");
}

const JSON_ALONE =
  "Answer with JSON alone, without a word or a fence around it, that fits this JSON Schema:";

/**
 * ctx.answer(): one turn in a new conversation. Nobody is asked whether to try again or to go on.
 */
export async function answerApart(
  core: Core,
  story: Story,
  question: Question,
): Promise<Answer & { exit: number }> {
  const { text, images = [], model, tools, save, signal } = question;
  const apartCore = coreWithOptions(core, {
    ...(model && { model }),
    ...(tools !== undefined && { tools }),
  });
  if (save !== undefined) apartCore.options.save = save;
  delete apartCore.tryAgain;
  delete apartCore.goOn;
  const chosen = await chooseModel(apartCore);
  if (!chosen) throw usage(NO_MODEL_MESSAGE);
  apartCore.namedProvider = chosen.split("/")[0]!;
  const chat = openChat(apartCore, chosen);
  images.forEach(chat.attach);
  const abort = () => chat.stop.abort(signal!.reason);
  signal?.throwIfAborted();
  signal?.addEventListener("abort", abort, { once: true });
  try {
    const answer = await story.runTurn(apartCore, chat, text);
    return { ...answer, exit: exitCode(answer) };
  } finally {
    signal?.removeEventListener("abort", abort);
    closeChat(apartCore, chat);
  }
}

/** The instance, with what this conversation has differently. */
function coreWithOptions(core: Core, { model, system, tools }: How): Core {
  const wanted = tools || [];
  const ownTools = wanted.filter((tool) => typeof tool !== "string");
  for (const { name, run } of ownTools)
    if (!IDENTIFIER.test(name ?? "") || typeof run !== "function")
      throw usage(
        `Cannot offer '${name}': a tool has a 'name' of letters, digits, _ and -, and a function 'run'.`,
      );
  const names = wanted.map((tool) => (typeof tool === "string" ? tool : tool.name));
  const ownCore: Core = {
    ...core,
    ctx: () => createCtx(ownCore, ownCore.chat ?? openChat(ownCore, NO_MODEL_ID)),
    options: {
      ...core.options,
      raw: true,
      ...(model && { model }),
      ...(system !== undefined && { system }),
      ...(tools !== undefined && { tools: names.length ? names : (false as const) }),
    },
    tools: new Map([
      ...core.tools,
      ...ownTools.map((tool) => [tool.name, { owner: "", value: tool }] as const),
    ]),
    schemas: new Map([
      ...core.schemas,
      ...ownTools.map((tool) => [tool.name, parametersOf(tool)] as const),
    ]),
  };
  for (const name of names)
    if (!ownCore.tools.has(name))
      throw usage(`Cannot offer '${name}': ${unknown("tool", name, ownCore.tools.keys())}`);
  const systemLayers =
    system === undefined
      ? []
      : [{ owner: "", value: { name: "system", slot: "identity" as const, text: system } }];
  const kept = core.layers.filter(
    ({ owner, value }) => system === undefined || owner || value.slot !== "identity",
  );
  ownCore.layers = [...systemLayers, ...kept];
  const shared = {
    get: () => core.asking,
    set: (asking: Core["asking"]) => void (core.asking = asking),
    enumerable: true,
  };
  // one question at a time, from all of them
  return Object.defineProperty(ownCore, "asking", shared);
}

/** For a program that imports zz as a plugin does. */
export async function importScript(file: string): Promise<void> {
  providePackages();
  const plugin = pathToFileURL(file).href;
  importTrees().set(plugin, { plugin, script: true });
  try {
    await settled(import(plugin));
  } catch (error) {
    if (!isForCompiler(error)) throw error ?? fault("The script threw, and did not say what.");
    await readyCompiler();
    const again = `${plugin}?zz=1`;
    importTrees().set(again, { plugin: again, script: true, compiled: true });
    await settled(import(again));
  }
}

/** Nothing is left to do, yet something is awaited: Node would end with a stack trace. */
async function settled(imported: Promise<unknown>): Promise<void> {
  const { promise: idle, reject } = Promise.withResolvers<never>();
  const stuck = () =>
    reject(
      fault(
        "The script waits for something that can no longer happen: a promise in it is never settled.",
      ),
    );
  process.once("beforeExit", stuck);
  await Promise.race([imported, idle]).finally(() => process.off("beforeExit", stuck));
}
