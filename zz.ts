/**
 * zz: a terminal agent whose story you can read in one sitting.
 *
 * This file is the story: an instance is created, a turn alternates between the model and the
 * tools, a one-shot prints its answer, and the command line decides which of these happens.
 * Everything it builds on is in kernel/, room by room: docs/how-it-is-built.md draws them.
 *
 *    contract.ts     what a plugin sees: read it as the manual
 *    program/        what the flags ask for, and who talks
 *    plugins/        found, loaded, reloaded; one call run
 *    conversation/   a conversation, kept; one reply, whole
 *    changes/        the only way to the disk, and back
 *    gate/           what a tool may touch, and who is asked
 *    settings/       read and merged from home and project
 *    system/         the machine: disk, locks, programs, git
 *
 * Next to it: sdk/ (zz in scripts and programs, the test kit, zz/text), plugins/ (what everyone
 * needs; the prompt is plugins/repl) and packages/ (abilities of their own). Deliberately not here:
 * tools, providers, how things look.
 * Nothing at module level but constants.
 */

import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Answer,
  type Call,
  type ChatRequest,
  type Command,
  EVENTS,
  type Fault,
  type Image,
  type Io,
  type Message,
  type Reply,
} from "./kernel/contract.ts";
import {
  addAsides,
  addMessage,
  closeChat,
  markFailed,
  openChat,
  saveEntry,
  savePluginStates,
} from "./kernel/conversation/chat.ts";
import {
  completeModelName,
  NO_MODEL_MESSAGE,
  providerNamed,
} from "./kernel/conversation/choose-model.ts";
import { sendRequest } from "./kernel/conversation/send-request.ts";
import { events } from "./kernel/conversation/server-sent-events.ts";
import { loadPrompts, prepareSystemPrompt } from "./kernel/conversation/system-prompt.ts";
import { assertPhase, emit, emitNote, enterPhase, observeEvent, runStep } from "./kernel/events.ts";
import { initialRules } from "./kernel/gate/rules.ts";
import { projectExtras } from "./kernel/gate/trust.ts";
import {
  type Core,
  commandNamed,
  type LiveChat,
  NO_MODEL_ID,
  type Options,
  registeredValues,
  showsTraces,
  type TurnContext,
} from "./kernel/instance.ts";
import { createCtx } from "./kernel/plugins/create-ctx.ts";
import { explainError, forbidExitDuring, locationOfError } from "./kernel/plugins/import-plugin.ts";
import { loadPlugins } from "./kernel/plugins/load-plugins.ts";
import { closeInstance } from "./kernel/plugins/plugin-handle.ts";
import { findTool, offeredTools, onlyReads, runCall } from "./kernel/plugins/run-call.ts";
import { sideRequest } from "./kernel/plugins/side-request.ts";
import type { OutputFormat } from "./kernel/program/command-line.ts";
import {
  askAboutTrust,
  checkFlags,
  checkTools,
  commandIn,
  emitStarted,
  exitCode,
  madeNoChange,
  noteUnusualFolder,
  openConversation,
  takeForkId,
} from "./kernel/program/command-line.ts";
import { catchConsole, narrateTurns, usageLine } from "./kernel/program/narrate-turns.ts";
import {
  optionsFromFlags,
  parseAgainWith,
  requireFolder,
  resolveRoot,
} from "./kernel/program/options-from-flags.ts";
import {
  type CommandLine,
  indexOfRunFlag,
  lastValue,
  parseFlags,
} from "./kernel/program/parse-flags.ts";
import { type EarlyStop, errorLine, runAsProcess } from "./kernel/program/process-signals.ts";
import { type FirstMessage, readPrompt, readStdin } from "./kernel/program/read-input.ts";
import { connectPersonAtTerminal, dialogOf, runDialog } from "./kernel/program/run-dialog.ts";
import { callTool, printResult, runFlag } from "./kernel/program/single-run.ts";
import { unknownSettings } from "./kernel/settings/change-settings.ts";
import { allFlags, KERNEL_FLAGS } from "./kernel/settings/flag-table.ts";
import { renewSettings } from "./kernel/settings/plugin-settings.ts";
import { ROUNDS } from "./kernel/settings/settings-table.ts";
import { homeFolder, IS_BUILT, version } from "./kernel/system/installation.ts";
import { finishUnfinished } from "./kernel/system/locks.ts";
import { print, printAnswer, processIo, say } from "./kernel/system/streams.ts";
import { clockOf } from "./kernel/text/clock.ts";
import { orAbort } from "./kernel/text/deadlines.ts";
import { unknown } from "./kernel/text/did-you-mean.ts";
import { asFault, codeOf, fault, kindOf, usage } from "./kernel/text/faults.ts";
import { joinHalves } from "./kernel/text/join-continuation.ts";
import {
  errorMessage,
  learnData,
  learnEnvironment,
  learnHome,
  learnSecret,
  veiledJson,
} from "./kernel/text/secrets.ts";
import { clean } from "./kernel/text/show-safely.ts";
import { plural, sumUsage } from "./kernel/text/words.ts";
import type { Embedded, Embedding } from "./sdk/embed.ts";
import type { Script } from "./sdk/script.ts";

export type * from "./kernel/contract.ts";
export { openChat } from "./kernel/conversation/chat.ts";
export type { Core, LiveChat, Options } from "./kernel/instance.ts";
export type { Embedded, Embedding } from "./sdk/embed.ts";
export type { How, Script, Talk } from "./sdk/script.ts";
export type * from "./sdk/services.ts";

/** Creates an instance and loads its plugins. Instances are independent. */
export async function createZz(options: Options = {}, ready?: (core: Core) => void): Promise<Core> {
  const { io = processIo(), settings = {} } = options;
  const { home = homeFolder(io.env) } = options;
  const root = resolveRoot(options, io);
  const core: Core = {
    io,
    options: { ...options, home, settings, root },
    plugins: [],
    prompts: { stamps: "", layers: [] },
    tools: new Map(),
    commands: new Map(),
    providers: new Map(),
    flags: new Map(),
    models: new Map(),
    schemas: new Map(),
    keys: new Map(),
    dialogs: [],
    stores: new Map(),
    layers: [],
    configs: [],
    observers: [],
    wraps: [],
    services: new Map(),
    states: new Map(),
    waited: 0,
    rules: [],
    first: [],
    events,
    side: sideRequest,
    apart: async (core, question) =>
      (await import("./sdk/script.ts")).answerApart(core, { runTurn, sendQueued }, question),
    ctx: () => createCtx(core, core.chat ?? openChat(core, NO_MODEL_ID)),
  };
  core.rules.push(...(core.first = initialRules(core.options)));
  learnEnvironment(io.env);
  learnHome(home);
  learnData([settings, options.options, options.baseUrl]);
  if (options.key) learnSecret(options.key);
  if (options.own !== false) core.extras = projectExtras(core.options);
  finishUnfinished(root);
  ready?.(core);
  await renewSettings(core);
  await forbidExitDuring(() => loadPlugins(core));
  loadPrompts(core);
  return core;
}

/** What the steps of a turn share. */
interface Turn extends TurnContext {
  chat: LiveChat;
  answer: Answer; // so far; its finish is "stop" until a limit ends the turn
  started: number; // without the person's time
  show?: Show | undefined;
  system: string;
  limit: number; // of rounds
  repeats: Map<string, number>; // by call and result: in how many rounds in a row it occurred
}

const SIDE_BY_SIDE = 4;
const SAME_CALLS = 3;

const CONTINUATIONS = 2;
const CUT_OFF = "The answer is not complete: the model's output limit cut it off.";
const REPORT =
  "Stop here: no more tools can be used now. Say what was done, what is left, and what you know so far.";
const CONTINUE =
  "Your answer was cut off by the output limit. Continue exactly where it stopped; repeat nothing.";

/**
 * How a line is obeyed: `show` prints the answer, `expand` gives the whole message for what was
 * typed.
 */
type TurnOptions = { images?: Image[]; show?: Show | undefined; expand?(text: string): string };
/** Shows an answer: once, whole, and only in the phase for it. */
type Show = (text: string) => unknown;

/**
 * Obeys a line, wherever it was typed: as a command, or as the next message. Undefined: it led to
 * no turn.
 */
export async function obey(
  turn: TurnContext,
  typed: string,
  ways: TurnOptions = {},
): Promise<Answer | undefined> {
  const { core, chat } = turn;
  const line = await runStep(turn, "line", typed);
  const { name, rest } = commandIn(core, line);
  if (name) await runCommand(turn, commandNamed(core, name), rest);
  else if (line) chat.send(line.replace(/^\/\//, "/"));
  return sendQueued(core, chat, ways);
}

/**
 * Sends each queued message as a turn of its own, also those queued meanwhile. Returns the last
 * answer.
 */
export async function sendQueued(
  core: Core,
  chat: LiveChat,
  ways: TurnOptions = {},
): Promise<Answer | undefined> {
  const { expand = (text: string) => text } = ways;
  let answer: Answer | undefined;
  try {
    for (let text = chat.queue.shift(); text !== undefined; text = chat.queue.shift())
      answer = await runTurn(core, chat, expand(text), ways);
  } finally {
    const left = chat.queue.splice(0).map((text) => `'${text.slice(0, 60)}'`);
    if (left.length)
      emitNote(core, `Not sent, since the turn before did not end: ${left.join(", ")}.`);
  }
  return answer;
}

async function runCommand(
  { core, chat, ctx }: TurnContext,
  command: Command,
  rest: string,
): Promise<void> {
  const left = () => {
    emitNote(
      core,
      `'/${command.name}' of plugin '${core.commands.get(command.name)?.owner}' did not stop, and was left behind.`,
    );
    return fault("Stopped.", { exit: 130 });
  };
  try {
    await orAbort(ctx.signal, ctx.command(command.name, rest), { clock: clockOf(core.io), left });
  } finally {
    savePluginStates(core, chat);
    ctx.progress(""); // its progress line goes away
  }
}

/** The turn loop: from the person's message to the answer. */
export async function runTurn(
  core: Core,
  chat: LiveChat,
  text: string,
  ways: TurnOptions = {},
): Promise<Answer> {
  const { show } = ways;
  const attached = chat.attached.splice(0);
  const images = [...(ways.images ?? []), ...attached.filter((one) => typeof one !== "string")];
  text = [...attached.filter((one) => typeof one === "string"), text]
    .filter((one) => one.trim())
    .join("\n\n");
  const turn = { ...newTurn(core, chat), show };
  try {
    enterPhase(core, chat, "thinking");
    chat.turn++;
    addMessage(core, chat, { role: "user", text, ...(images.length && { images }) });
    turn.answer.session = chat.id || null;
    turn.system = await prepareSystemPrompt(turn);
    for (;;) {
      addAsides(core, chat);
      const reply = await requestReply(turn);
      addMessage(core, chat, messageOf(turn, reply));
      if (!reply.calls.length) {
        await showAnswer(turn, reply);
        break;
      }
      await runCalls(turn, reply);
      await checkLimits(turn);
      enterPhase(core, chat, "thinking");
    }
  } catch (error) {
    throw await endFailedTurn(turn, asFault(error));
  } finally {
    await endTurn(turn);
  }
  await emit(core, "answered", turn.answer);
  savePluginStates(core, chat);
  return turn.answer;
}

function newTurn(core: Core, chat: LiveChat): Turn {
  const limit = core.options.rounds ?? core.options.settings.rounds ?? ROUNDS;
  const counts = { rounds: 0, calls: [], usage: { input: 0, output: 0 }, ms: 0 };
  const answer: Answer = { text: "", model: chat.model, session: null, finish: "stop", ...counts };
  const ctx = createCtx(core, chat);
  return {
    core,
    chat,
    ctx,
    answer,
    started: clockOf(core.io).now() - core.waited,
    system: "",
    limit,
    repeats: new Map(),
  };
}

/** One request, or up to three if the output limit cuts the text. */
async function requestReply(turn: Turn): Promise<Reply> {
  const { core, chat, answer } = turn;
  const last = answer.finish !== "stop"; // at a limit the model only reports
  const messages: Message[] = last
    ? [...chat.messages, { role: "user", text: REPORT }]
    : [...chat.messages];
  let whole: Reply | undefined;
  answer.rounds++;
  const tools = last ? [] : await runStep(turn, "offer", offeredTools(core));
  const started = clockOf(core.io).now();
  for (let more = 0; ; more++) {
    const reply = await askModel(turn, messages, tools).catch((error: Fault) => {
      const { text = "", thinking = "" } = error.partial ?? {};
      throw whole
        ? Object.assign(error, { partial: { text: joinHalves(whole.text, text), thinking } })
        : error;
    });
    if (reply.usage) answer.used = chat.used = reply.usage.input + reply.usage.output;
    if (chat.window) answer.window = chat.window;
    assertPhase(chat, "thinking", "planning_tools");
    if (reply.thinking)
      await emit(core, "thought", {
        text: reply.thinking,
        ms: Math.round(clockOf(core.io).now() - started),
      });
    answer.usage = sumUsage([answer.usage, reply.usage]);
    const before = whole;
    whole = before ? joined(before, reply) : reply;
    if (reply.finish !== "length" || reply.calls.length || !reply.text || more === CONTINUATIONS)
      return last ? { ...whole, calls: [] } : whole;
    emitNote(core, "The answer was cut off by the output limit; asking for the rest.");
    messages.push(messageOf(turn, { ...reply, thinking: "" }), { role: "user", text: CONTINUE });
  }

  function joined(one: Reply, two: Reply): Reply {
    const extra = [...(one.extra ?? []), ...(two.extra ?? [])];
    const more = { thinking: one.thinking || two.thinking, ...(extra.length && { extra }) };
    return { ...two, text: joinHalves(one.text, two.text), ...more };
  }
}

/**
 * Asks the model. If that fails, the person may choose to try again, perhaps with another model.
 */
async function askModel(
  turn: Turn,
  messages: Message[],
  tools: ChatRequest["tools"],
): Promise<Reply> {
  const { core, chat, system } = turn;
  for (;;) {
    try {
      const reply = await sendRequest(turn, {
        task: "chat",
        model: chat.model,
        system,
        messages,
        tools,
      });
      turn.answer.model = reply.model ?? chat.model;
      return reply;
    } catch (error) {
      const failed = asFault(error);
      if (chat.stop.signal.aborted || failed.dry || !(await core.tryAgain?.(failed, turn.ctx)))
        throw failed;
    }
  }
}

/**
 * Runs a round's calls: those in a row that only read side by side, others one at a time; results
 * in call order.
 */
async function runCalls(turn: Turn, { calls, text }: Reply): Promise<void> {
  const { core, chat, answer } = turn;
  enterPhase(core, chat, "planning_tools");
  await emit(core, "planned", { calls, text });
  enterPhase(core, chat, "executing_tools");
  const names = offeredTools(core).map(({ name }) => name);
  for (const call of calls)
    if (!names.includes(findTool(core, call.name)?.name ?? "")) call.broken = notOffered(call);
  const before = turn.repeats;
  turn.repeats = new Map();
  for (let i = 0; i < calls.length && !chat.stop.signal.aborted; ) {
    const batch = [calls[i++]!];
    if (i < calls.length && (await onlyReads(turn, batch[0]!)))
      while (i < calls.length && batch.length < SIDE_BY_SIDE && (await onlyReads(turn, calls[i]!)))
        batch.push(calls[i++]!);
    assertPhase(chat, "executing_tools");
    const results = await Promise.all(batch.map((call) => runCall(turn, call)));
    for (const [j, { text, failed, refused, images }] of results.entries()) {
      const { id, name, args } = batch[j]!;
      addMessage(core, chat, {
        role: "tool",
        id,
        name,
        text,
        ...(failed && { failed }),
        ...(images && { images }),
      });
      const changes = findTool(core, name)?.changes;
      answer.calls.push({
        name,
        args,
        ok: !failed,
        ...(refused && { refused }),
        ...(changes && { changes }),
      });
      const key = JSON.stringify([name, args, text]);
      turn.repeats.set(key, (before.get(key) ?? 0) + 1);
    }
  }
  chat.stop.signal.throwIfAborted();

  function notOffered({ name }: Call): string {
    const why = names.length
      ? unknown("tool", name, names)
      : "no tools are offered. Answer without.";
    return `Cannot call '${name}': ${why}`;
  }
}

/** At a limit the person may choose to continue; otherwise the next request is the last. */
async function checkLimits(turn: Turn): Promise<void> {
  const { core, answer, limit } = turn;
  const stops = async (why: string) => !(await core.goOn?.(why));
  const same = Math.max(0, ...turn.repeats.values()) >= SAME_CALLS;
  if (same && (await stops(`the same call gave the same result ${SAME_CALLS} times`)))
    answer.finish = "repeat";
  else if (limit === 0 || answer.rounds < limit) return;
  else if (await stops(`${plural(limit, "round")} used up`)) answer.finish = "rounds";
  else turn.limit += limit;
}

async function showAnswer(turn: Turn, { text, finish, data }: Reply): Promise<void> {
  const { core, chat, answer } = turn;
  enterPhase(core, chat, "responding");
  const safe = turn.show && core.io.stdout.isTTY ? clean(text) : text;
  // what is shown is not lost in a power cut
  const synced = core.io.stdout.isTTY ? chat.session?.sync() : undefined;
  const shown = core.options.raw ? safe : await runStep(turn, "render", safe).catch(asItCame);
  await synced;
  Object.assign(answer, {
    text,
    ...(data !== undefined && { data }),
    ...(shown !== text && { rendered: shown }),
  });
  if (answer.finish === "stop") answer.finish = finish;
  if (finish === "filter" && !text)
    throw fault(
      "The provider's content filter withheld the answer. Put the question differently.",
      { exit: 3 },
    );
  if (finish === "filter") emitNote(core, "The provider's content filter cut the answer short.");
  if (!text.trim()) emitNote(core, "The model answered with nothing.");
  assertPhase(chat, "responding");
  await turn.show?.(shown);
  if (finish === "length" && core.showNote)
    emitNote(core, `${CUT_OFF} /continue goes on from there.`);
  enterPhase(core, chat, "done");

  function asItCame(error: unknown): string {
    emitNote(core, `The answer is shown as it came: ${explainError(error)}`);
    return safe;
  }
}

/** Ends a turn that failed or was stopped. What arrived of an answer is shown and kept. */
async function endFailedTurn(turn: Turn, error: Fault): Promise<Fault> {
  const { core, chat } = turn;
  const { aborted } = chat.stop.signal;
  const failed = aborted ? fault("Stopped.", { exit: 130 }) : error;
  if (error?.partial?.text.trim()) await keepUnfinished(turn, error.partial);
  else if (error?.partial?.thinking) saveEntry(core, chat, "draft", error.partial);
  enterPhase(core, chat, aborted ? "aborted" : "error");
  await emit(core, "failed", {
    message: errorMessage(failed),
    exit: failed.exit ?? 1,
    kind: kindOf(failed),
  });
  return failed;
}

/** A partial answer, as a message that says so. A pipe on stdout only gets whole answers. */
async function keepUnfinished(
  turn: Turn,
  { text, thinking }: NonNullable<Fault["partial"]>,
): Promise<void> {
  const { core, chat, show } = turn;
  addMessage(core, chat, {
    role: "assistant",
    text,
    ...(thinking && { thinking }),
    cut: true,
    model: turn.answer.model,
  });
  if (!show || !core.io.stdout.isTTY) return;
  enterPhase(core, chat, "responding");
  const safe = clean(text);
  const shown = core.options.raw ? safe : await runStep(turn, "render", safe).catch(() => safe);
  await (async () => show(`${shown.trimEnd()}\n[unfinished: /continue goes on]`))().catch(() => {});
}

/** After any turn: saves what plugins keep and makes room for the next one. */
async function endTurn({ core, chat, answer, started }: Turn): Promise<void> {
  addAsides(core, chat);
  answer.ms = Math.round(clockOf(core.io).now() - core.waited - started);
  savePluginStates(core, chat);
  await chat.session?.sync();
  enterPhase(core, chat, "idle");
  chat.stop = new AbortController();
}

/** A reply as it is saved: with its model and its cost. */
function messageOf(
  { core, answer, started }: Turn,
  { text, thinking, calls, finish, usage, extra }: Reply,
): Message {
  if (thinking) answer.thinking = [answer.thinking, thinking].filter(Boolean).join("\n");
  const more = {
    ...(thinking && { thinking }),
    ...(calls.length && { calls }),
    ...(finish === "length" && { cut: true }),
    ...(usage && { usage }),
    ...(extra && { extra }),
  };
  return {
    role: "assistant",
    text,
    ...more,
    model: answer.model,
    ms: Math.round(clockOf(core.io).now() - core.waited - started),
  };
}

/** One turn, its answer printed: the exit code. */
async function answerOnce(
  core: Core,
  chat: LiveChat,
  prompt: FirstMessage,
  format: OutputFormat,
): Promise<number> {
  const { io, options } = core;
  const json = (value: object) => print(io, veiledJson(value));
  if (format === "json-lines")
    for (const event of EVENTS.filter(
      (event) => !["received", "answered", "failed"].includes(event),
    ))
      observeEvent(core, event, (fact) => void json({ type: event, ...fact }));
  await emitStarted(core, chat, format === "text" && Boolean(io.stderr.isTTY));
  connectPersonAtTerminal(core);
  noteUnusualFolder(core);
  await askAboutTrust(core, chat);
  prompt.attached.forEach(chat.attach);
  const show = format === "text" ? (text: string) => printAnswer(io, text) : undefined;
  if (!prompt.typed) chat.send(prompt.words);
  const answered = await (prompt.typed
    ? obey({ core, chat, ctx: createCtx(core, chat) }, prompt.words, { show })
    : sendQueued(core, chat, { show }));
  const answer = answered ?? newTurn(core, chat).answer; // a command that led to no turn
  const { used, window, rendered = answer.text, ...told } = answer;
  const shown = { ...told, ...(options.rendered && { rendered }) };
  if (format === "json") await json(shown);
  if (format === "json-lines") await json({ type: "done", ...shown });
  if (options.usage) say(io, usageLine(answer));
  const rounds = plural(answer.rounds - 1, "round");
  if (answer.finish === "rounds")
    say(io, `Stopped after ${rounds} of tools. --rounds N allows more.`);
  if (answer.finish === "repeat")
    say(io, `Stopped: the same call gave the same result ${SAME_CALLS} times.`);
  if (answer.finish === "length") say(io, CUT_OFF);
  if (madeNoChange(answer)) say(io, "None of the changes that the model tried could be made.");
  return exitCode(answered);
}

/** zz as a program. */
export const main = (argv: string[]): Promise<number> => runAsProcess(argv, run);

/** Runs the whole program with the given streams, environment and folder; returns the exit code. */
export async function run(
  argv: string[],
  io: Io,
  stop: EarlyStop = { why: "Stopped.", leave: () => {} },
): Promise<number> {
  try {
    const code = await obeyFlags(argv, io, stop);
    return stop.code ?? code;
  } catch (error) {
    const failed = asFault(error);
    if (stop.code === 0) return 0;
    if (failed.dry) return print(io, veiledJson(failed.dry, 2)).then(() => 0);
    const exit = stop.code ?? failed.exit ?? 1;
    const message = stop.code ? stop.why : explainError(failed);
    if (!stop.code && !failed.told) say(io, message);
    if (stop.core && showsTraces(stop.core)) say(io, String(failed.stack));
    if (argv.includes("--json") || argv.includes("--json-lines"))
      await print(io, errorLine(message, exit, kindOf({ ...failed, exit }))).catch(() => {});
    return exit;
  } finally {
    if (!io.console && stop.core) await closeInstance(stop.core); // the process continues
  }
}

/** Does what the command line says. It is parsed twice, since plugins bring flags. */
async function obeyFlags(argv: string[], io: Io, stop: EarlyStop): Promise<number> {
  const at = indexOfRunFlag(argv);
  if (at >= 0) return runScript(argv.slice(0, at), argv.slice(at), io, stop);
  const early = parseFlags(argv, KERNEL_FLAGS);
  if (early.values.has("clean")) io.clean = true;
  if (early.values.has("version"))
    return printResult(io, early, { text: `zz ${version()}`, data: { version: version() } });
  const lists = early.unknown.length > 0 || early.values.has("call");
  // while the plugins load, unless no turn will follow
  const reading = lists ? undefined : readStdin(early, io);

  const { core, cli } = await prepare(argv, early, io, stop);
  const flag = registeredValues(core.flags).find((flag) => flag.run && cli.values.has(flag.name));
  if (flag) return runFlag(core, cli, flag);
  if (cli.values.has("call")) return callTool(core, cli, stop);

  takeForkId(core, cli);
  const prompt = await readPrompt(cli, await (reading ?? readStdin(cli, io))(), io);
  const jsonOrText = cli.values.has("json") ? "json" : "text";
  const format = cli.values.has("json-lines") ? "json-lines" : jsonOrText;
  const single = format !== "text" || cli.values.has("once") || cli.values.has("dry-run");
  const named = core.options.model || io.env.ZZ_MODEL;
  if (named && !core.options.baseUrl) {
    core.options.model = await completeModelName(core, named);
    providerNamed(core, core.options.model); // refused before a prompt appears
  }
  const dialog = single ? undefined : dialogOf(core);
  if (dialog && (dialog.unseen || (io.stdin.isTTY && io.stdout.isTTY)))
    return runDialog(core, dialog, {
      open: () => openConversation(core, cli),
      first: prompt,
      stop,
      obey,
    });
  if (!prompt.words && !prompt.attached.length)
    throw usage(`Nothing to ask: the prompt is empty. ${WAYS_TO_ASK}`);
  checkNamed(core);
  const chat = await openConversation(core, cli);
  if (!chat) throw usage(NO_MODEL_MESSAGE);
  stop.leave = () => chat.stop.abort();
  try {
    return await answerOnce(core, chat, prompt, format);
  } catch (error) {
    if (!stop.code) markFailed(core, chat);
    throw error;
  } finally {
    closeChat(core, chat);
  }
}

/** Creates the instance that the flags describe, and parses them again with the plugins' flags. */
async function prepare(
  argv: string[],
  early: CommandLine,
  io: Io,
  stop: EarlyStop,
  isScript = false,
): Promise<{ core: Core; cli: CommandLine }> {
  if (early.values.has("no-color")) io.env.NO_COLOR = "1";
  if (early.values.has("cwd")) io.enter(requireFolder(lastValue(early, "cwd")!, "cwd", io.cwd()));
  const core = await createZz(await optionsFromFlags(early, io), (core) => {
    stop.core = core;
    catchConsole(core, isScript);
  });
  for (const plugin of core.plugins) if (plugin.failure) say(io, plugin.failure);
  if (!core.options.quiet) for (const fault of unknownSettings(core)) say(io, fault);
  if (isScript || early.values.has("call")) checkNamed(core);
  let cli = parseFlags(argv, allFlags(core));
  checkFlags(core, cli);
  narrateTurns(core);
  const more: string[] = [];
  for (const flag of registeredValues(core.flags))
    for (const value of cli.values.get(flag.name) ?? []) {
      const { line } = Object((await flag.set?.(value, core.ctx())) ?? {}) as { line?: unknown };
      if (Array.isArray(line)) more.push(...line.map(String));
    }
  if (more.length) cli = await parseAgainWith(core, more, argv);
  await checkTools(core, cli);
  return { core, cli };
}

/**
 * Does nothing without a plugin that the command line names. Why it is not there was said before.
 */
function checkNamed({ plugins }: Core): void {
  const failed = plugins.flatMap(({ from, failure }) =>
    from === "flag" && failure ? failure : [],
  );
  if (failed.length) throw fault(failed.join("\n"), { exit: 2, told: true });
}

/** zz [flags] --run SCRIPT [ARGS] */
async function runScript(
  flags: string[],
  [run = "", ...rest]: string[],
  io: Io,
  stop: EarlyStop,
): Promise<number> {
  const [file = "", ...args] = run.startsWith("--run=")
    ? [run.slice("--run=".length), ...rest]
    : rest;
  if (!file) throw usage("Flag --run needs a value: --run SCRIPT [ARGS].");
  const script = path.resolve(io.cwd(), file);
  if (!fs.existsSync(script)) throw usage(`Cannot run '${file}': no such file. Check the path.`);
  const { core, cli } = await prepare(flags, parseFlags(flags, KERNEL_FLAGS), io, stop, true);
  if (cli.words.length)
    throw usage(`Cannot use '${cli.words.join(" ")}': words for a script stand after its name.`);
  connectPersonAtTerminal(core);
  noteUnusualFolder(core);
  const { importScript, openScript } = await import("./sdk/script.ts");
  const handle = openScript(core, args, { runTurn, sendQueued });
  stop.leave = handle.stop;
  Object.defineProperty(globalThis, SCRIPT, { value: handle, configurable: true });
  try {
    await importScript(script);
    // as under node: nothing is left to do
    await new Promise((idle) => process.once("beforeExit", idle));
  } catch (error) {
    const { name } = error as Error; // a sentence, of zz or of the script, needs no stack
    throw name === "Error" && !codeOf(error)
      ? error
      : fault(`Cannot run '${file}' (${locationOfError(error, script)}): ${errorMessage(error)}`);
  } finally {
    handle.end();
  }
  return handle.end() || Number(process.exitCode ?? 0);
}

const SCRIPT = Symbol.for("zz.script");
const processHandle = async (): Promise<Script> => {
  const all = globalThis as { [SCRIPT]?: Script | Promise<Script> };
  return (all[SCRIPT] ??= embed());
};

/** The handle for a program that imports zz. */
export const embed = async (options: Embedding = {}): Promise<Embedded> =>
  (await import("./sdk/embed.ts")).embedWith({ createZz, runTurn, sendQueued }, options);

/** The handle of this process. */
export const zz: Script = {
  get args() {
    return (globalThis as { [SCRIPT]?: Partial<Script> })[SCRIPT]?.args ?? process.argv.slice(2);
  },
  stdin: async () => (await processHandle()).stdin(),
  ask: async (text: string, how?: any): Promise<any> => (await processHandle()).ask(text, how),
  chat: async (how) => (await processHandle()).chat(how),
  call: async (tool, args) => (await processHandle()).call(tool, args),
  each: async (items, ask, how) => (await processHandle()).each(items, ask, how),
};

const WAYS_TO_ASK = 'Give words (zz "…"), pipe text in, or open a terminal without --once.';

if (
  process.argv[1] &&
  !IS_BUILT &&
  fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)
)
  // not awaited: a script imports this very file
  void main(process.argv.slice(2)).then((code) => process.exit(code));
