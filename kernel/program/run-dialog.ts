// What a dialog gets from zz: a conversation that opens in the background, and one way to obey a
// line.

import fs from "node:fs";
import path from "node:path";
import type { Ask, Ctx, Dialog, DialogHost, Flag, Person } from "../contract.ts";
import { openChat, retractLastMessage } from "../conversation/chat.ts";
import { fallbackModel, learnWindow, NO_MODEL_MESSAGE } from "../conversation/choose-model.ts";
import { closeChat } from "../conversation/save-chat.ts";
import { emit, emitNote, observeEvent, runStep } from "../events.ts";
import type { Core, LiveChat, TurnContext } from "../instance.ts";
import { createCtx } from "../plugins/create-ctx.ts";
import { explainError } from "../plugins/import-plugin.ts";
import { refreshPlugins, watchPlugins } from "../plugins/load-plugins.ts";
import { updatePrivateFile } from "../system/locks.ts";
import { printAnswer, say } from "../system/streams.ts";
import { clockOf } from "../text/clock.ts";
import { asFault, usage } from "../text/faults.ts";
import { textOf } from "../text/read-quietly.ts";
import { makeSecret as markSecret, veil, veilData } from "../text/secrets.ts";
import { cleanRendered } from "../text/show-safely.ts";
import { tryTo } from "../text/words.ts";
import {
  askAboutTrust,
  commandOffering,
  emitStarted,
  isUntrusted,
  noteUnusualFolder,
} from "./command-line.ts";
import type { EarlyStop } from "./process-signals.ts";
import type { FirstMessage } from "./read-input.ts";

// resolves once a model is chosen; undefined if there is none
type OpenConversation = () => Promise<LiveChat | undefined>;
// the last one registered
export const dialogOf = (core: Core): Dialog | undefined => core.dialogs.at(-1)?.value;

/** Lets a one-shot ask the person, if there is a terminal, or whom the flag knows. */
export function connectPersonAtTerminal(core: Core, personFlag?: Flag): void {
  const { stdin, stderr } = core.io;
  const hasTerminal = core.options.prompt !== false && stdin.isTTY && stderr.isTTY;
  const person = personFlag?.person?.() ?? (hasTerminal ? dialogOf(core)?.person?.() : undefined);
  if (person) connectPerson(core, person);
}

/** Makes this the way to reach the person. */
export function connectPerson(core: Core, person: Person): void {
  const {
    ask,
    away,
    most,
    secret = refuseSecret,
    pick,
    edit,
    terminal,
    note,
    tryAgain,
    goOn,
  } = person;
  Object.assign(core, tryAgain && { tryAgain }, goOn && { goOn });
  if (terminal)
    core.terminal = (useTerminal) => askWhileQuiet(core, "", () => terminal(useTerminal));
  if (edit)
    core.edit = (editedText, fileName) => askWhileQuiet(core, "", () => edit(editedText, fileName));
  if (note) core.showNote = (noteText) => note(veil(noteText));
  if (core.options.prompt === false) return;
  if (ask) {
    const through: Ask = (question, answerKeys, askedQuestion) =>
      askWhileQuiet(core, question, (shownQuestion) =>
        ask(shownQuestion, answerKeys, veilData(askedQuestion)),
      );
    if (away)
      Object.defineProperty(core, "ask", {
        get: () => (away() ? undefined : through),
        enumerable: true,
      });
    else core.ask = through;
    core.mostAsked = most;
  }
  core.secret = async (question) => {
    const secretAnswer = await askWhileQuiet(core, question, secret);
    if (secretAnswer) markSecret(secretAnswer); // from now on it is veiled
    return secretAnswer;
  };
  if (pick)
    core.pick = (question, choices) =>
      askWhileQuiet(core, question, (shownQuestion) => pick(shownQuestion, choices));
}
const refuseSecret: Ask = async () =>
  Promise.reject(
    usage("Cannot ask for a secret: it would be shown. Take it from the environment."),
  );

/** Lets nothing else draw, and counts the time until the person answers as theirs. */
async function askWhileQuiet<T>(
  core: Core,
  question: string,
  putQuestion: (shownQuestion: string) => Promise<T>,
): Promise<T> {
  await emit(core, "asked", { question });
  const clock = clockOf(core.io);
  const started = clock.now();
  return putQuestion(cleanRendered(veil(question))).finally(() => {
    const waitedMs = clock.now() - started;
    core.waited += waitedMs;
    return emit(core, "resumed", { ms: Math.round(waitedMs) });
  });
}

/** A running dialog. */
interface RunningDialog extends DialogOptions {
  core: Core;
  chat?: LiveChat;
  opening?: Promise<Ctx>;
  person?: Person;
  unseen: boolean; // what is shown on the terminal reaches nobody
  begins: string[]; // the commands to start with
  busy: boolean;
  plugins: ReturnType<typeof watchPlugins>;
}
/** One way to obey a line: obey() in zz.ts. */
type ObeyLine = (
  turn: TurnContext,
  typedLine: string,
  lineOptions: { show(answerText: string): unknown; expand(typedText: string): string },
) => Promise<unknown>;
type DialogOptions = {
  open: OpenConversation;
  first: FirstMessage;
  stop: EarlyStop;
  obey: ObeyLine;
};

/**
 * Runs the dialog until the person leaves. The first prompt shows while the model is still being
 * chosen.
 */
export async function runDialog(
  core: Core,
  dialog: Dialog,
  setting: DialogOptions,
): Promise<number> {
  const plugins = watchPlugins(core, () => void (dialogRun.busy || renewPlugins(dialogRun)));
  const dialogRun: RunningDialog = {
    ...setting,
    core,
    busy: false,
    begins: [],
    plugins,
    unseen: dialog.unseen === true,
  };
  try {
    return await dialog.talk(dialogHost(dialogRun));
  } catch (error) {
    const dialogFault = asFault(error);
    const { name, from } =
      core.plugins.find(
        ({ name }) => name === core.dialogs.find(({ value }) => value === dialog)?.owner,
      ) ?? {};
    if (from === "zz" || dialogFault.name !== "Error" || dialogFault.exit) throw dialogFault;
    throw Object.assign(dialogFault, {
      message: `Plugin '${name}' failed in its dialog: ${dialogFault.message}`,
    });
  } finally {
    plugins.close();
    await dialogRun.opening?.finally(() => dialogRun.chat && closeChat(core, dialogRun.chat));
  }
}

function dialogHost(dialogRun: RunningDialog): DialogHost {
  const { core, first, stop } = dialogRun;
  const historyFile = path.join(core.options.home, "history");
  return {
    text: first.words,
    quiet: core.options.quiet === true,
    history: {
      // reading a device may never end
      read: () => (isFile(historyFile) ? textOf(historyFile) : ""),
      update: (rewriteText) =>
        (isFile(historyFile) || !fs.existsSync(historyFile)) &&
        updatePrivateFile(historyFile, rewriteText),
    },
    keys: core.keys,
    ctx: () => dialogRun.chat && createCtx(core, dialogRun.chat),
    open: () => openOnce(dialogRun),
    begins: () => dialogRun.begins.shift(),
    obey: (typedLine, expand) => obeyLine(dialogRun, typedLine, expand),
    ask: async (question, answerKeys) =>
      dialogRun.person?.ask
        ? askWhileQuiet(core, question, (shownQuestion) =>
            dialogRun.person!.ask!(shownQuestion, answerKeys),
          )
        : "",
    retract: () => dialogRun.chat && retractLastMessage(core, dialogRun.chat),
    meet(person) {
      dialogRun.person = person;
      connectPerson(core, person);
      stop.showStray = (strayText) =>
        core.showNote ? core.showNote(strayText) : say(core.io, strayText);
      noteUnusualFolder(core);
    },
    stop() {
      if (dialogRun.busy) dialogRun.chat?.stop.abort();
      return dialogRun.busy;
    },
    typed: (text) => void emit(core, "typed", { text }),
    onEnd: (leaveDialog) => void (stop.leave = leaveDialog),
    async prompt(promptMark) {
      const { chat } = dialogRun;
      return chat
        ? runStep({ core, chat, ctx: createCtx(core, chat) }, "prompt", promptMark).catch(
            () => promptMark,
          )
        : promptMark;
    },
  };
}

const openOnce = (dialogRun: RunningDialog): Promise<Ctx> =>
  (dialogRun.opening ??= beginConversation(dialogRun));

async function beginConversation(dialogRun: RunningDialog): Promise<Ctx> {
  const { core, first, open } = dialogRun;
  const isPrompting = !first.words;
  const setupCommand = core.ask && commandOffering(core, "model");
  const openedChat = await open();
  if (!openedChat && !setupCommand) emitNote(core, NO_MODEL_MESSAGE);
  const chat = (dialogRun.chat = openedChat ?? openChat(core, await fallbackModel(core)));
  first.attached.forEach(chat.attach);
  await emitStarted(core, chat, !dialogRun.unseen, true);
  for (const eventName of ["configured", "reloaded"] as const)
    observeEvent(core, eventName, () => void learnWindow(core, chat));
  void learnWindow(core, chat);
  if (!isPrompting) await askAboutTrust(core, chat);
  const trustCommand =
    core.ask && isPrompting && isUntrusted(core) ? commandOffering(core, "trust") : undefined;
  dialogRun.begins = [openedChat ? undefined : setupCommand, trustCommand].flatMap(
    (command) => command?.name ?? [],
  );
  return createCtx(core, chat);
}

/** Obeys one line. A failure is reported, and the dialog continues. */
async function obeyLine(
  dialogRun: RunningDialog,
  typedLine: string,
  expand = (typedText: string) => typedText,
): Promise<void> {
  const { core } = dialogRun;
  dialogRun.busy = true;
  try {
    await openOnce(dialogRun);
    await renewPlugins(dialogRun);
    const chat = dialogRun.chat!;
    const show = (answerText: string) => printAnswer(core.io, answerText);
    await dialogRun.obey({ core, chat, ctx: createCtx(core, chat) }, typedLine, { show, expand });
  } catch (thrown) {
    const error = asFault(thrown);
    const faultText = error.exit === 130 ? "Stopped." : explainError(error);
    if (!error.told) say(core.io, faultText);
    if (dialogRun.unseen && !error.told && error.exit !== 130) core.showNote?.(faultText);
  } finally {
    dialogRun.busy = false;
    // a command was stopped, not a turn
    if (dialogRun.chat?.stop.signal.aborted) dialogRun.chat.stop = new AbortController();
  }
}

/** Reloads saved plugins before the next turn. */
async function renewPlugins({ core, plugins }: RunningDialog): Promise<void> {
  for (const { name, did, ms, why } of await refreshPlugins(core))
    emitNote(core, why ?? `Plugin '${name}' ${did}${did === "unloaded" ? "" : ` in ${ms} ms`}.`);
  plugins.aim();
}

const isFile = (filePath: string): boolean => tryTo(() => fs.statSync(filePath).isFile()) ?? false;
