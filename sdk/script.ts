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
  ask<const S extends Schema>(
    promptText: string,
    options: How<S> & { schema: S },
  ): Promise<Infer<S>>;
  ask(promptText: string, options: How & { schema: string }): Promise<any>;
  ask(promptText: string, options?: How): Promise<string>;
  chat(options?: How): Promise<Talk>; // several turns
  // through the same gate as a model's calls
  call(toolName: string, args?: object): Promise<Result>;
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
async function eachOf<T, R>(
  items: Iterable<T> | AsyncIterable<T>,
  askAbout: (item: T, index: number) => Promise<R> | R,
  { jobs = 4 }: { jobs?: number } = {},
): Promise<R[]> {
  if (!(Number.isInteger(jobs) && jobs > 0))
    throw usage(`Cannot run ${jobs} jobs: it takes a whole number from 1.`);
  const results: R[] = [];
  const isAsync = Symbol.asyncIterator in items;
  const itemIterator = isAsync ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  let [takenCount, isOver] = [0, false];
  let pendingTake: Promise<unknown> = Promise.resolve(); // items are taken one after the other
  const takeItem = () =>
    (pendingTake = pendingTake.catch(() => {}).then(() => itemIterator.next())) as Promise<
      IteratorResult<T>
    >;
  const runWorker = async () => {
    while (!isOver) {
      const { done, value } = await takeItem();
      if (done || isOver) return;
      const itemIndex = takenCount++;
      results[itemIndex] = await askAbout(value, itemIndex);
    }
  };
  const stopping = () =>
    runWorker().catch((workerError) => {
      isOver = true;
      throw workerError;
    });
  const workerResults = await Promise.allSettled(Array.from({ length: jobs }, stopping));
  const failedWorker = workerResults.find(({ status }) => status === "rejected");
  if (failedWorker) throw (failedWorker as PromiseRejectedResult).reason;
  return results;
}

const SIGNALS: Record<number, string> = { 129: "SIGHUP", 130: "SIGINT", 143: "SIGTERM" };
const SCHEMA_TRIES = 3; // to get an answer that fits a schema

/** `end` closes everything and returns the exit code; `stop` ends what is running. */
interface OpenScript extends Script {
  end(): number;
  stop(exitStatus: number): void;
}

/** The turn loop, as zz.ts passes it in. */
export interface Story {
  runTurn(core: Core, chat: LiveChat, promptText: string): Promise<Answer>;
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
  const runningScript: Running = { core, story, chats: new Set(), code: 0, busy: 0 };
  let stdinText: Promise<string> | undefined;
  return {
    args,
    each: eachOf,
    stdin: () => (stdinText ??= core.io.stdin.isTTY ? Promise.resolve("") : readAllStdin(core.io)),
    async ask(promptText: string, options: How = {}) {
      const { talk, chat } = await openTalk(runningScript, options);
      return talk.ask(promptText, options).finally(() => endChat(runningScript, chat));
    },
    chat: async (options = {}) => (await openTalk(runningScript, options)).talk,
    async call(name, parameters = {}) {
      assertOpen(runningScript, `call '${name}'`);
      if (!core.tools.has(name))
        throw usage(`Cannot call '${name}': ${unknown("tool", name, core.tools.keys())}`);
      const chat = trackChat(runningScript, openChat(core, NO_MODEL_ID));
      const toolCall = { id: newId("call_"), name, args: parameters as Record<string, unknown> };
      const turnContext = { core, chat, ctx: createCtx(core, chat) };
      const callResult = await whileBusy(runningScript, () =>
        runCall(turnContext, toolCall),
      ).finally(() => endChat(runningScript, chat));
      if (callResult.refused) runningScript.code ||= 4;
      return callResult;
    },
    end() {
      runningScript.ended = true;
      for (const chat of runningScript.chats) endChat(runningScript, chat);
      // the script's own exit code wins
      return process.exitCode === undefined ? runningScript.code : Number(process.exitCode);
    },
    stop(exitStatus) {
      for (const chat of runningScript.chats) chat.stop.abort();
      // zz has one listener itself
      const isItsOwn = process.listenerCount(SIGNALS[exitStatus] ?? "") > 1;
      // zz has nothing to stop first
      if (!runningScript.busy && !isItsOwn) process.exit(exitStatus);
    },
  };
}

function assertOpen({ ended }: Running, action: string): void {
  if (ended) throw usage(`Cannot ${action}: this zz was closed. Make another with embed().`);
}

async function whileBusy<T>(runningScript: Running, runAction: () => Promise<T>): Promise<T> {
  runningScript.busy++;
  try {
    return await runAction();
  } finally {
    runningScript.busy--;
  }
}
function trackChat({ chats }: Running, chat: LiveChat): LiveChat {
  chats.add(chat);
  return chat;
}
function endChat({ core, chats }: Running, chat: LiveChat): void {
  chats.delete(chat);
  closeChat(core, chat);
}

/** The model that answers, whose provider is then the one that was named. */
async function modelOf(core: Core): Promise<string> {
  const model = await chooseModel(core);
  if (!model) throw usage(NO_MODEL_MESSAGE);
  core.namedProvider = model.split("/")[0]!;
  return model;
}

async function openTalk(
  runningScript: Running,
  options: How,
): Promise<{ talk: Talk; chat: LiveChat }> {
  assertOpen(runningScript, "ask");
  const ownCore = coreWithOptions(runningScript.core, options);
  const model = await modelOf(ownCore);
  const chat = trackChat(runningScript, openChat(ownCore, model));
  await emitStarted(ownCore, chat, false);
  let lastTurn: Promise<unknown> = Promise.resolve(); // one turn at a time
  const talk: Talk = {
    get id() {
      return chat.id;
    },
    model,
    get messages() {
      return chat.messages;
    },
    ask(promptText: string, turnOptions: How = {}) {
      assertOpen(runningScript, "ask");
      const answered = lastTurn.then(() =>
        whileBusy(runningScript, () =>
          answerPrompt(runningScript, ownCore, chat, promptText, { ...options, ...turnOptions }),
        ),
      );
      lastTurn = answered.catch(() => {});
      return answered;
    },
  };
  return { talk, chat };
}

async function answerPrompt(
  runningScript: Running,
  ownCore: Core,
  chat: LiveChat,
  promptText: string,
  options: How,
): Promise<any> {
  const { files = [], images = [], signal } = options;
  const answerSchema = schemaOf(options);
  if (typeof promptText !== "string") throw usage("Cannot ask: what is asked must be a text.");
  const attachments = await Promise.all(
    files.map((fileName) => readAttachment(fileName, ownCore.io.cwd())),
  );
  signal?.throwIfAborted(); // also while files were read
  for (const { text = [], image = [] } of attachments)
    for (const attachment of [text, image].flat()) chat.attach(attachment);
  images.forEach(chat.attach);
  const abortChat = () => chat.stop.abort(signal!.reason);
  signal?.addEventListener("abort", abortChat, { once: true });
  try {
    let nextPrompt = answerSchema
      ? `${promptText}\n\n${JSON_ALONE}\n${JSON.stringify(toJsonSchema(answerSchema))}`
      : promptText;
    for (let triesLeft = SCHEMA_TRIES - 1; ; triesLeft--) {
      const answered = await runningScript.story.runTurn(ownCore, chat, nextPrompt);
      const exitStatus = exitCode(answered);
      if (exitStatus === 3 || !runningScript.code)
        runningScript.code = exitStatus || runningScript.code;
      await runningScript.story.sendQueued(ownCore, chat);
      if (!answerSchema) return answered.text;
      const { value, wrong } = await readJson(answered.text, answerSchema);
      if (!wrong) return value;
      if (!triesLeft)
        throw fault(
          `The answer does not fit the schema: ${wrong}. Ask for less, or another model.`,
        );
      nextPrompt = `That does not fit: ${wrong}. ${JSON_ALONE}`;
    }
  } finally {
    signal?.removeEventListener("abort", abortChat);
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
  const chat = openChat(apartCore, await modelOf(apartCore));
  images.forEach(chat.attach);
  const abortChat = () => chat.stop.abort(signal!.reason);
  signal?.throwIfAborted();
  signal?.addEventListener("abort", abortChat, { once: true });
  try {
    const apartAnswer = await story.runTurn(apartCore, chat, text);
    return { ...apartAnswer, exit: exitCode(apartAnswer) };
  } finally {
    signal?.removeEventListener("abort", abortChat);
    closeChat(apartCore, chat);
  }
}

/** The instance, with what this conversation has differently. */
function coreWithOptions(core: Core, { model, system, tools }: How): Core {
  const wantedTools = tools || [];
  const ownTools = wantedTools.filter((tool) => typeof tool !== "string");
  for (const { name, run } of ownTools)
    if (!IDENTIFIER.test(name ?? "") || typeof run !== "function")
      throw usage(
        `Cannot offer '${name}': a tool has a 'name' of letters, ` +
          "digits, _ and -, and a function 'run'.",
      );
  const toolNames = wantedTools.map((tool) => (typeof tool === "string" ? tool : tool.name));
  const ownCore: Core = {
    ...core,
    ctx: () => createCtx(ownCore, ownCore.chat ?? openChat(ownCore, NO_MODEL_ID)),
    options: {
      ...core.options,
      raw: true,
      ...(model && { model }),
      ...(system !== undefined && { system }),
      ...(tools !== undefined && { tools: toolNames.length ? toolNames : (false as const) }),
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
  for (const toolName of toolNames)
    if (!ownCore.tools.has(toolName))
      throw usage(`Cannot offer '${toolName}': ${unknown("tool", toolName, ownCore.tools.keys())}`);
  const systemLayers =
    system === undefined
      ? []
      : [{ owner: "", value: { name: "system", slot: "identity" as const, text: system } }];
  const keptLayers = core.layers.filter(
    ({ owner, value }) => system === undefined || owner || value.slot !== "identity",
  );
  ownCore.layers = [...systemLayers, ...keptLayers];
  const sharedAsking = {
    get: () => core.asking,
    set: (asking: Core["asking"]) => void (core.asking = asking),
    enumerable: true,
  };
  // one question at a time, from all of them
  return Object.defineProperty(ownCore, "asking", sharedAsking);
}

/** For a program that imports zz as a plugin does. */
export async function importScript(scriptFile: string): Promise<void> {
  providePackages();
  const plugin = pathToFileURL(scriptFile).href;
  importTrees().set(plugin, { plugin, script: true });
  try {
    await settled(import(plugin));
  } catch (importError) {
    if (!isForCompiler(importError))
      throw importError ?? fault("The script threw, and did not say what.");
    await readyCompiler();
    const compiledUrl = `${plugin}?zz=1`;
    importTrees().set(compiledUrl, { plugin: compiledUrl, script: true, compiled: true });
    await settled(import(compiledUrl));
  }
}

/** Nothing is left to do, yet something is awaited: Node would end with a stack trace. */
async function settled(imported: Promise<unknown>): Promise<void> {
  const { promise: idlePromise, reject } = Promise.withResolvers<never>();
  const rejectStuck = () =>
    reject(
      fault(
        "The script waits for something that can no longer happen: " +
          "a promise in it is never settled.",
      ),
    );
  process.once("beforeExit", rejectStuck);
  await Promise.race([imported, idlePromise]).finally(() => process.off("beforeExit", rejectStuck));
}
