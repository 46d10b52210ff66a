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
 *    text/           words, faults, schemas, secrets
 *
 * Next to it: sdk/ (scripts, programs, the test kit, zz/text), plugins/ (what everyone needs; the
 * prompt is plugins/repl), packages/ (abilities of their own). Not here: tools, providers, looks.
 */

import type { Answer, Fault, Image, Io, Message, Reply } from "./kernel/contract.ts";
import { addAsides, addMessage, openChat } from "./kernel/conversation/chat.ts";
import { NO_MODEL_MESSAGE } from "./kernel/conversation/choose-model.ts";
import {
  messageOfReply,
  messageOfResult,
  takeAttachments,
} from "./kernel/conversation/messages.ts";
import {
  closeChat,
  markFailed,
  saveEntry,
  savePluginStates,
} from "./kernel/conversation/save-chat.ts";
import { sendRequest } from "./kernel/conversation/send-request.ts";
import { loadPrompts, prepareSystemPrompt } from "./kernel/conversation/system-prompt.ts";
import { assertPhase, emit, emitNote, enterPhase, runStep } from "./kernel/events.ts";
import { initialRules } from "./kernel/gate/rules.ts";
import { projectExtras } from "./kernel/gate/trust.ts";
import {
  type Core,
  emptyInstance,
  type LiveChat,
  MAX_SAME_CALLS,
  NO_MODEL_ID,
  type Options,
  type TurnContext,
} from "./kernel/instance.ts";
import { createCtx } from "./kernel/plugins/create-ctx.ts";
import { explainError } from "./kernel/plugins/import-plugin.ts";
import { loadPlugins } from "./kernel/plugins/load-plugins.ts";
import { commandNamed } from "./kernel/plugins/off-plugins.ts";
import { closeInstance } from "./kernel/plugins/plugin-handle.ts";
import {
  nextBatch,
  offeredTools,
  recordOfCall,
  refuseUnoffered,
  runBatch,
} from "./kernel/plugins/run-call.ts";
import {
  checkNamedModel,
  checkNamedPlugins,
  checkPrompt,
  commandIn,
  emitStarted,
  exitCode,
  openConversation,
  openForCommand,
  parseAllFlags,
  takeForkId,
} from "./kernel/program/command-line.ts";
import { catchConsole, narrateTurns, sayFaults } from "./kernel/program/narrate-turns.ts";
import {
  obeyEarlyFlags,
  optionsFromFlags,
  resolveRoot,
} from "./kernel/program/options-from-flags.ts";
import { type CommandLine, indexOfRunFlag, parseFlags } from "./kernel/program/parse-flags.ts";
import {
  CUT_OFF,
  formatOf,
  type OutputFormat,
  printEvents,
  printFailure,
  printOutcome,
  printVersion,
  takeCommandNotes,
} from "./kernel/program/print-outcome.ts";
import { type EarlyStop, endProcess, runAsProcess } from "./kernel/program/process-signals.ts";
import { type FirstMessage, readPrompt, startReadingStdin } from "./kernel/program/read-input.ts";
import { dialogOf, runDialog } from "./kernel/program/run-dialog.ts";
import { callTool, flagToRun, meetPerson, runFlag } from "./kernel/program/single-run.ts";
import { KERNEL_FLAGS } from "./kernel/settings/flag-table.ts";
import { renewSettings } from "./kernel/settings/plugin-settings.ts";
import { ROUNDS } from "./kernel/settings/settings-table.ts";
import { homeFolder, isProgram } from "./kernel/system/installation.ts";
import { finishUnfinished } from "./kernel/system/locks.ts";
import { printAnswer, processIo } from "./kernel/system/streams.ts";
import { clockOf } from "./kernel/text/clock.ts";
import { orAbort } from "./kernel/text/deadlines.ts";
import { asFault, fault, kindOf, usage } from "./kernel/text/faults.ts";
import { joinHalves, joinReplies } from "./kernel/text/join-continuation.ts";
import { errorMessage, learnSecrets } from "./kernel/text/secrets.ts";
import { clean } from "./kernel/text/show-safely.ts";
import { plural, sumUsage } from "./kernel/text/words.ts";
import type { Embedded, Embedding } from "./sdk/embed.ts";
import type { Script } from "./sdk/script.ts";
import { scriptOfProcess } from "./sdk/this-process.ts";

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
  const core: Core = emptyInstance(
    io,
    { ...options, home, settings, root },
    {
      apart: async (core, question) =>
        (await import("./sdk/script.ts")).answerApart(core, { runTurn, sendQueued }, question),
      ctx: () => createCtx(core, core.chat ?? openChat(core, NO_MODEL_ID)),
    },
  );
  core.rules.push(...(core.first = initialRules(core.options)));
  learnSecrets(io.env, home, core.options);
  if (options.own !== false) core.extras = projectExtras(core.options);
  finishUnfinished(root);
  ready?.(core);
  await renewSettings(core);
  await loadPlugins(core);
  loadPrompts(core);
  return core;
}

/** How a line is obeyed. `expand` gives the message for what was typed. */
type TurnOptions = { images?: Image[]; show?: Show; expand?(typedText: string): string };
/** Shows an answer: once, whole, and only in the phase for it. */
type Show = ((answerText: string) => unknown) | undefined;

/** Obeys a line, wherever it was typed: as a command, or as the next message in a turn. */
export async function obey(
  turn: TurnContext,
  typed: string,
  options: TurnOptions = {},
): Promise<Answer | undefined> {
  const { core, chat } = turn;
  const line = await runStep(turn, "line", typed);
  const { name, words } = commandIn(core, line);
  if (name) await runCommand(turn, (await commandNamed(core, name)).name, words);
  else if (line) chat.send(line.replace(/^\/\//, "/"));
  return sendQueued(core, chat, options);
}

/** Runs a command until it ends or is stopped, then saves what plugins keep. */
async function runCommand(
  { core, chat, ctx }: TurnContext,
  name: string,
  words: string,
): Promise<void> {
  const left = () => {
    const owner = core.commands.get(name)?.owner;
    emitNote(core, `'/${name}' of plugin '${owner}' did not stop, and was left behind.`);
    return fault("Stopped.", { exit: 130 });
  };
  try {
    await orAbort(ctx.signal, ctx.command(name, words), { clock: clockOf(core.io), left });
  } finally {
    savePluginStates(core, chat);
    ctx.progress(""); // its progress line goes away
  }
}

/** Makes a turn of each queued message, also those queued meanwhile. Returns the last answer. */
export async function sendQueued(
  core: Core,
  chat: LiveChat,
  options: TurnOptions = {},
): Promise<Answer | undefined> {
  const { expand = (text: string) => text } = options;
  let answer: Answer | undefined;
  try {
    for (let text = chat.queue.shift(); text !== undefined; text = chat.queue.shift())
      answer = await runTurn(core, chat, expand(text), options);
  } finally {
    const unsent = chat.queue.splice(0).map((text) => `'${text.slice(0, 60)}'`);
    if (unsent.length)
      emitNote(core, `Not sent, since the turn before did not end: ${unsent.join(", ")}.`);
  }
  return answer;
}

/** The turn loop: from the person's message to the answer. */
export async function runTurn(
  core: Core,
  chat: LiveChat,
  text: string,
  options: TurnOptions = {},
): Promise<Answer> {
  const message = takeAttachments(chat, text, options.images);
  const turn = newTurn(core, chat, options.show);
  try {
    enterPhase(core, chat, "thinking");
    chat.turn++;
    addMessage(core, chat, message);
    turn.answer.session = chat.id || null;
    turn.system = await prepareSystemPrompt(turn);
    for (;;) {
      addAsides(core, chat);
      const reply = await requestReply(turn);
      addMessage(core, chat, savedReply(turn, reply));
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

/** What the steps of a turn share. */
interface Turn extends TurnContext {
  answer: Answer; // so far; its finish is "stop" until a limit ends the turn
  started: number; // without the person's time
  show: Show;
  system: string;
  limit: number; // of rounds
  repeats: Map<string, number>; // by call and result: in how many rounds in a row it occurred
}

function newTurn(core: Core, chat: LiveChat, show?: Show): Turn {
  const limit = core.options.rounds ?? core.options.settings.rounds ?? ROUNDS;
  const counts = { rounds: 0, calls: [], usage: { input: 0, output: 0 }, ms: 0 };
  const answer: Answer = { text: "", model: chat.model, session: null, finish: "stop", ...counts };
  const started = clockOf(core.io).now() - core.waited;
  const turn = { core, chat, ctx: createCtx(core, chat), answer, started, show, limit };
  return { ...turn, system: "", repeats: new Map() };
}

/** The ms since the person's message, without those spent waiting for the person. */
const msOf = ({ core, started }: Turn): number =>
  Math.round(clockOf(core.io).now() - core.waited - started);

const CONTINUATIONS = 2;
const CONTINUE =
  "Your answer was cut off by the output limit. Continue exactly where it stopped; repeat nothing.";
const REPORT =
  "Stop here: no more tools can be used. Say what was done, what is left, and what you know now.";

/** One round: asks the model, and asks for the rest of a reply that the output limit cut. */
async function requestReply(turn: Turn): Promise<Reply> {
  const { core, chat, answer } = turn;
  const isLast = answer.finish !== "stop"; // at a limit the model only reports
  const messages = [...chat.messages];
  if (isLast) messages.push({ role: "user", text: REPORT });
  let whole: Reply | undefined;
  answer.rounds++;
  const tools = isLast ? [] : await runStep(turn, "offer", offeredTools(core));
  const started = clockOf(core.io).now();
  for (let asked = 0; ; asked++) {
    const reply = await askModel(turn, messages, tools).catch((error: Fault) => {
      const { text = "", thinking = "" } = error.partial ?? {};
      if (whole) error.partial = { text: joinHalves(whole.text, text), thinking };
      throw error;
    });
    if (reply.usage) answer.used = chat.used = reply.usage.input + reply.usage.output;
    if (chat.window) answer.window = chat.window;
    assertPhase(chat, "thinking", "planning_tools");
    const ms = Math.round(clockOf(core.io).now() - started);
    if (reply.thinking) await emit(core, "thought", { text: reply.thinking, ms });
    answer.usage = sumUsage([answer.usage, reply.usage]);
    whole = whole ? joinReplies(whole, reply) : reply;
    if (reply.finish !== "length" || reply.calls.length || !reply.text || asked === CONTINUATIONS)
      return isLast ? { ...whole, calls: [] } : whole;
    emitNote(core, "The answer was cut off by the output limit; asking for the rest.");
    messages.push(savedReply(turn, { ...reply, thinking: "" }), { role: "user", text: CONTINUE });
  }
}

/** Asks the model. If that fails, the person may have it tried again, or ask another model. */
async function askModel(
  turn: Turn,
  messages: Message[],
  tools: ReturnType<typeof offeredTools>,
): Promise<Reply> {
  const { core, chat, system } = turn;
  for (;;) {
    try {
      const request = { task: "chat", model: chat.model, system, messages, tools };
      const reply = await sendRequest(turn, request);
      turn.answer.model = reply.model ?? chat.model;
      return reply;
    } catch (error) {
      const failed = asFault(error);
      if (chat.stop.signal.aborted || failed.dry || !(await core.tryAgain?.(failed, turn.ctx)))
        throw failed;
    }
  }
}

/** A reply as it is saved: with its model and its cost. The answer shows what was thought. */
function savedReply(turn: Turn, reply: Reply): Message {
  const { answer } = turn;
  if (reply.thinking)
    answer.thinking = [answer.thinking, reply.thinking].filter(Boolean).join("\n");
  return messageOfReply(reply, answer.model, msOf(turn));
}

/** Runs a round's calls: those that only read side by side, others in turn; results in order. */
async function runCalls(turn: Turn, { calls, text }: Reply): Promise<void> {
  const { core, chat, answer } = turn;
  enterPhase(core, chat, "planning_tools");
  await emit(core, "planned", { calls, text });
  enterPhase(core, chat, "executing_tools");
  refuseUnoffered(core, calls);
  const before = turn.repeats;
  turn.repeats = new Map();
  const waiting = [...calls];
  while (waiting.length && !chat.stop.signal.aborted) {
    const batch = await nextBatch(turn, waiting);
    assertPhase(chat, "executing_tools");
    const results = await runBatch(turn, batch);
    for (const [i, result] of results.entries()) {
      const call = batch[i]!;
      addMessage(core, chat, messageOfResult(call, result));
      answer.calls.push(recordOfCall(core, call, result));
      const key = JSON.stringify([call.name, call.args, result.text]);
      turn.repeats.set(key, (before.get(key) ?? 0) + 1);
    }
  }
  chat.stop.signal.throwIfAborted();
}

/** At a limit the person may choose to continue; otherwise the next request is the last. */
async function checkLimits(turn: Turn): Promise<void> {
  const { core, answer, limit } = turn;
  const stops = async (reason: string) => !(await core.goOn?.(reason));
  const isRepeating = Math.max(0, ...turn.repeats.values()) >= MAX_SAME_CALLS;
  if (isRepeating && (await stops(`the same call gave the same result ${MAX_SAME_CALLS} times`)))
    answer.finish = "repeat";
  else if (limit === 0 || answer.rounds < limit) return;
  else if (await stops(`${plural(limit, "round")} used up`)) answer.finish = "rounds";
  else turn.limit += limit;
}

/** Shows an answer, once and whole, as the wrappers of `render` have it. */
async function showAnswer(turn: Turn, { text, finish, data }: Reply): Promise<void> {
  const { core, chat, answer } = turn;
  enterPhase(core, chat, "responding");
  const safe = turn.show && (core.io.stdout.isTTY || core.io.clean) ? clean(text) : text;
  // what is shown is not lost in a power cut
  const synced = core.io.stdout.isTTY ? chat.session?.sync() : undefined;
  const shown = await rendered(turn, safe, (error) =>
    emitNote(core, `The answer is shown as it came: ${explainError(error)}`),
  );
  await synced;
  answer.text = text;
  if (data !== undefined) answer.data = data;
  if (shown !== text) answer.rendered = shown;
  if (answer.finish === "stop") answer.finish = finish;
  if (finish === "filter" && !text) throw fault(WITHHELD, { exit: 3 });
  if (finish === "filter") emitNote(core, "The provider's content filter cut the answer short.");
  if (!text.trim()) emitNote(core, "The model answered with nothing.");
  assertPhase(chat, "responding");
  await turn.show?.(shown);
  if (finish === "length" && core.showNote)
    emitNote(core, `${CUT_OFF} /continue goes on from there.`);
  enterPhase(core, chat, "done");
}
const WITHHELD = "The provider's content filter withheld the answer. Put the question differently.";

/** Through the wrappers of `render`; the text itself where they fail, or with --raw. */
async function rendered(
  turn: Turn,
  text: string,
  failed: (renderError: unknown) => void = () => {},
): Promise<string> {
  if (turn.core.options.raw) return text;
  return runStep(turn, "render", text).catch((error) => {
    failed(error);
    return text;
  });
}

/** Ends a turn that failed or was stopped. What arrived of an answer is shown and kept. */
async function endFailedTurn(turn: Turn, error: Fault): Promise<Fault> {
  const { core, chat } = turn;
  const { aborted } = chat.stop.signal;
  const failed = aborted ? fault("Stopped.", { exit: 130 }) : error;
  if (error.partial?.text.trim()) await keepUnfinished(turn, error.partial);
  else if (error.partial?.thinking) saveEntry(core, chat, "draft", error.partial);
  enterPhase(core, chat, aborted ? "aborted" : "error");
  const { exit = 1 } = failed;
  await emit(core, "failed", { message: errorMessage(failed), exit, kind: kindOf(failed) });
  return failed;
}

/** A partial answer, as a message that says so. A pipe on stdout only gets whole answers. */
async function keepUnfinished(
  turn: Turn,
  { text, thinking }: NonNullable<Fault["partial"]>,
): Promise<void> {
  const { core, chat, show, answer } = turn;
  const thought = thinking && { thinking };
  addMessage(core, chat, { role: "assistant", text, ...thought, cut: true, model: answer.model });
  if (!show || !core.io.stdout.isTTY) return;
  enterPhase(core, chat, "responding");
  const draft = await rendered(turn, clean(text));
  await (async () => show(`${draft.trimEnd()}\n[unfinished: /continue goes on]`))().catch(() => {});
}

/** After any turn: saves what plugins keep and makes room for the next one. */
async function endTurn(turn: Turn): Promise<void> {
  const { core, chat, answer } = turn;
  addAsides(core, chat);
  answer.ms = msOf(turn);
  savePluginStates(core, chat);
  await chat.session?.sync();
  enterPhase(core, chat, "idle");
  chat.stop = new AbortController();
}

/** zz as a program. */
export const main = (argv: string[]): Promise<number> => runAsProcess(argv, run);
export const start = (argv: string[]): Promise<void> => main(argv).then(endProcess);

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
    return await printFailure(error, argv, io, stop);
  } finally {
    if (!io.console && stop.core) await closeInstance(stop.core); // the process continues
  }
}

/** Does what the command line says: a script, a flag, a tool, a dialog, or else one turn. */
async function obeyFlags(argv: string[], io: Io, stop: EarlyStop): Promise<number> {
  if (indexOfRunFlag(argv) >= 0) {
    const { runScript } = await import("./sdk/run-script.ts");
    return runScript(argv, io, stop, { prepare, runTurn, sendQueued });
  }
  const early = parseFlags(argv, KERNEL_FLAGS);
  if (early.values.has("version")) return printVersion(io, early);
  const isNoTurn = early.unknown.length > 0 || early.values.has("call");
  const reading = isNoTurn ? undefined : startReadingStdin(early, io); // while the plugins load

  const { core, cli } = await prepare(argv, early, io, stop);
  const flag = flagToRun(core, cli);
  if (flag) return runFlag(core, cli, flag, stop);
  if (cli.values.has("call")) return callTool(core, cli, stop);

  takeForkId(core, cli);
  const first = await readPrompt(cli, await (reading ?? startReadingStdin(cli, io))(), io);
  const format = formatOf(cli);
  const isSingle = format !== "text" || cli.values.has("once") || cli.values.has("dry-run");
  await checkNamedModel(core);
  const open = () => openConversation(core, cli);
  const dialog = isSingle ? undefined : dialogOf(core);
  if (dialog && (dialog.unseen || (io.stdin.isTTY && io.stdout.isTTY)))
    return runDialog(core, dialog, { open, first, stop, obey });
  checkPrompt(first);
  checkNamedPlugins(core);
  const chat = (await open()) ?? (await openForCommand(core, first));
  if (!chat) throw usage(NO_MODEL_MESSAGE);
  stop.leave = () => chat.stop.abort();
  try {
    return await answerOnce(core, chat, first, format);
  } catch (error) {
    if (!stop.code) markFailed(core, chat);
    throw error;
  } finally {
    closeChat(core, chat);
  }
}

/** One turn, its answer printed: the exit code. */
async function answerOnce(
  core: Core,
  chat: LiveChat,
  first: FirstMessage,
  format: OutputFormat,
): Promise<number> {
  const { io } = core;
  printEvents(core, format);
  await emitStarted(core, chat, format === "text" && Boolean(io.stderr.isTTY));
  await meetPerson(core, chat);
  first.attached.forEach(chat.attach);
  const show = format === "text" ? (text: string) => printAnswer(io, text) : undefined;
  if (!first.typed) chat.send(first.words);
  const said = takeCommandNotes(core, format);
  const obeyed = first.typed
    ? obey({ core, chat, ctx: createCtx(core, chat) }, first.words, { show })
    : sendQueued(core, chat, { show });
  const answer = await obeyed.finally(said);
  await printOutcome(core, answer ?? { ...newTurn(core, chat).answer, text: await said() }, format);
  return exitCode(answer); // a command may have led to no turn
}

/** Creates the instance that the flags describe, and parses them again with the plugins' flags. */
async function prepare(
  argv: string[],
  early: CommandLine,
  io: Io,
  stop: EarlyStop,
  isScript = false,
): Promise<{ core: Core; cli: CommandLine }> {
  obeyEarlyFlags(early, io);
  const core = await createZz(await optionsFromFlags(early, io), (core) => {
    stop.core = core;
    catchConsole(core, isScript);
  });
  sayFaults(core);
  if (isScript || early.values.has("call")) checkNamedPlugins(core);
  narrateTurns(core);
  return { core, cli: await parseAllFlags(core, argv) };
}

/** The handle for a program that imports zz. */
export const embed = async (options: Embedding = {}): Promise<Embedded> =>
  (await import("./sdk/embed.ts")).embedWith({ createZz, runTurn, sendQueued }, options);

/** The handle of this process. */
export const zz: Script = scriptOfProcess(() => embed());

// not awaited: a script imports this very file
if (isProgram(import.meta.url)) void start(process.argv.slice(2));
