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
  commandFor,
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
export function connectPersonAtTerminal(core: Core, flag?: Flag): void {
  const { stdin, stderr } = core.io;
  const hasTerminal = core.options.prompt !== false && stdin.isTTY && stderr.isTTY;
  const person = flag?.person?.() ?? (hasTerminal ? dialogOf(core)?.person?.() : undefined);
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
  Object.assign(
    core,
    Object.fromEntries(Object.entries({ tryAgain, goOn }).filter(([, act]) => act)),
  );
  if (terminal) core.terminal = (act) => askWhileQuiet(core, "", () => terminal(act));
  if (edit) core.edit = (text, name) => askWhileQuiet(core, "", () => edit(text, name));
  if (note) core.showNote = (text) => note(veil(text));
  if (core.options.prompt === false) return;
  if (ask) {
    const through: Ask = (question, keys, asked) =>
      askWhileQuiet(core, question, (shown) => ask(shown, keys, veilData(asked)));
    if (away)
      Object.defineProperty(core, "ask", {
        get: () => (away() ? undefined : through),
        enumerable: true,
      });
    else core.ask = through;
    core.mostAsked = most;
  }
  core.secret = async (question) => {
    const answer = await askWhileQuiet(core, question, secret);
    if (answer) markSecret(answer); // from now on it is veiled
    return answer;
  };
  if (pick)
    core.pick = (question, choices) =>
      askWhileQuiet(core, question, (shown) => pick(shown, choices));
}
const refuseSecret: Ask = async () =>
  Promise.reject(
    usage("Cannot ask for a secret: it would be shown. Take it from the environment."),
  );

/** Lets nothing else draw, and counts the time until the person answers as theirs. */
async function askWhileQuiet<T>(
  core: Core,
  question: string,
  ask: (shown: string) => Promise<T>,
): Promise<T> {
  await emit(core, "asked", { question });
  const clock = clockOf(core.io);
  const started = clock.now();
  return ask(cleanRendered(veil(question))).finally(() => {
    const ms = clock.now() - started;
    core.waited += ms;
    return emit(core, "resumed", { ms: Math.round(ms) });
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
  line: string,
  ways: { show(text: string): unknown; expand(text: string): string },
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
  const plugins = watchPlugins(core, () => void (talk.busy || renewPlugins(talk)));
  const talk: RunningDialog = {
    ...setting,
    core,
    busy: false,
    begins: [],
    plugins,
    unseen: dialog.unseen === true,
  };
  try {
    return await dialog.talk(dialogHost(talk));
  } catch (error) {
    const failed = asFault(error);
    const { name, from } =
      core.plugins.find(
        ({ name }) => name === core.dialogs.find(({ value }) => value === dialog)?.owner,
      ) ?? {};
    if (from === "zz" || failed.name !== "Error" || failed.exit) throw failed;
    throw Object.assign(failed, {
      message: `Plugin '${name}' failed in its dialog: ${failed.message}`,
    });
  } finally {
    plugins.close();
    await talk.opening?.finally(() => talk.chat && closeChat(core, talk.chat));
  }
}

function dialogHost(talk: RunningDialog): DialogHost {
  const { core, first, stop } = talk;
  const past = path.join(core.options.home, "history");
  return {
    text: first.words,
    quiet: core.options.quiet === true,
    history: {
      read: () => (isFile(past) ? textOf(past) : ""), // reading a device may never end
      update: (change) => (isFile(past) || !fs.existsSync(past)) && updatePrivateFile(past, change),
    },
    keys: core.keys,
    ctx: () => talk.chat && createCtx(core, talk.chat),
    open: () => openOnce(talk),
    begins: () => talk.begins.shift(),
    obey: (line, expand) => obeyLine(talk, line, expand),
    ask: async (question, keys) =>
      talk.person?.ask
        ? askWhileQuiet(core, question, (shown) => talk.person!.ask!(shown, keys))
        : "",
    retract: () => talk.chat && retractLastMessage(core, talk.chat),
    meet(person) {
      talk.person = person;
      connectPerson(core, person);
      stop.showStray = (text) => (core.showNote ? core.showNote(text) : say(core.io, text));
      noteUnusualFolder(core);
    },
    stop() {
      if (talk.busy) talk.chat?.stop.abort();
      return talk.busy;
    },
    typed: (text) => void emit(core, "typed", { text }),
    onEnd: (leave) => void (stop.leave = leave),
    async prompt(mark) {
      const { chat } = talk;
      return chat
        ? runStep({ core, chat, ctx: createCtx(core, chat) }, "prompt", mark).catch(() => mark)
        : mark;
    },
  };
}

const openOnce = (talk: RunningDialog): Promise<Ctx> => (talk.opening ??= beginConversation(talk));

async function beginConversation(talk: RunningDialog): Promise<Ctx> {
  const { core, first, open } = talk;
  const waits = !first.words;
  const setup = core.ask && commandFor(core, "model");
  const opened = await open();
  if (!opened && !setup) emitNote(core, NO_MODEL_MESSAGE);
  const chat = (talk.chat = opened ?? openChat(core, await fallbackModel(core)));
  first.attached.forEach(chat.attach);
  await emitStarted(core, chat, !talk.unseen, true);
  for (const event of ["configured", "reloaded"] as const)
    observeEvent(core, event, () => void learnWindow(core, chat));
  void learnWindow(core, chat);
  if (!waits) await askAboutTrust(core, chat);
  const trust = core.ask && waits && isUntrusted(core) ? commandFor(core, "trust") : undefined;
  talk.begins = [opened ? undefined : setup, trust].flatMap((command) => command?.name ?? []);
  return createCtx(core, chat);
}

/** Obeys one line. A failure is reported, and the dialog continues. */
async function obeyLine(
  talk: RunningDialog,
  line: string,
  expand = (text: string) => text,
): Promise<void> {
  const { core } = talk;
  talk.busy = true;
  try {
    await openOnce(talk);
    await renewPlugins(talk);
    const chat = talk.chat!;
    const show = (text: string) => printAnswer(core.io, text);
    await talk.obey({ core, chat, ctx: createCtx(core, chat) }, line, { show, expand });
  } catch (thrown) {
    const error = asFault(thrown);
    const text = error.exit === 130 ? "Stopped." : explainError(error);
    if (!error.told) say(core.io, text);
    if (talk.unseen && !error.told && error.exit !== 130) core.showNote?.(text);
  } finally {
    talk.busy = false;
    // a command was stopped, not a turn
    if (talk.chat?.stop.signal.aborted) talk.chat.stop = new AbortController();
  }
}

/** Reloads saved plugins before the next turn. */
async function renewPlugins({ core, plugins }: RunningDialog): Promise<void> {
  for (const { name, did, ms, why } of await refreshPlugins(core))
    emitNote(core, why ?? `Plugin '${name}' ${did}${did === "unloaded" ? "" : ` in ${ms} ms`}.`);
  plugins.aim();
}

const isFile = (file: string): boolean => tryTo(() => fs.statSync(file).isFile()) ?? false;
