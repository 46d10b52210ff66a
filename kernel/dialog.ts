// What a dialog has of zz: a conversation that is being opened, and one way to obey what the person says in it.
import fs from "node:fs";
import path from "node:path";
import { openChat, retractLastMessage } from "./chat.ts";
import type { Prompt } from "./cli.ts";
import { commandFor, isUntrusted, notePlace, settleTrust, start } from "./cli.ts";
import { context } from "./context.ts";
import type { Ask, Ctx, Dialog, DialogHost, Fault, Person } from "./contract.ts";
import { around, type Core, emit, type LiveChat, note } from "./core.ts";
import { explainError } from "./imports.ts";
import { printAnswer, say } from "./io.ts";
import { refreshPlugins, watchPlugins } from "./loader.ts";
import { updatePrivate } from "./locks.ts";
import { fallbackModel, learnWindow, NO_MODEL } from "./models.ts";
import { obey, type RunTurn } from "./obey.ts";
import type { Stop } from "./process.ts";
import { veil } from "./secrets.ts";
import { cleanRendered, textOf, tryTo } from "./text.ts";

/** A conversation, once its model is chosen; undefined when there is none. */
type Opening = () => Promise<LiveChat | undefined>;

/** The dialog that was registered last. */
export const dialogOf = (core: Core): Dialog | undefined => core.dialogs.at(-1)?.value;

/** Somebody may sit at the terminal while a single answer is made: then they can be asked. */
export function meetPerson(core: Core): void {
  const { stdin, stderr } = core.io;
  if (core.options.prompt === false || !stdin.isTTY || !stderr.isTTY) return;
  const person = dialogOf(core)?.person?.();
  if (person) meet(core, person);
}

/** From now on this is how the person is reached. */
function meet(core: Core, { ask, edit, terminal, note, tryAgain, goOn }: Person): void {
  if (ask && core.options.prompt !== false) core.ask = (question, keys) => announce(core, ask, question, keys);
  if (edit) core.edit = (text, name) => timed(core, edit(text, name));
  if (terminal) core.terminal = terminal;
  if (note) core.showNote = (text) => note(veil(text));
  if (tryAgain) core.tryAgain = tryAgain;
  if (goOn) core.goOn = goOn;
}

async function announce(core: Core, ask: Ask, question: string, keys?: string): Promise<string> {
  await emit(core, "asked", { question });
  return timed(core, ask(cleanRendered(veil(question)), keys));
}

/** The person's own time. */
function timed<T>(core: Core, answer: Promise<T>): Promise<T> {
  const started = performance.now();
  return answer.finally(() => void (core.waited = (core.waited ?? 0) + performance.now() - started));
}

/** Runs the dialog until the person leaves. Its first prompt shows while the model is still being chosen. */
export async function converse(
  core: Core,
  dialog: Dialog,
  { open, first, stop, runTurn }: { open: Opening; first: Prompt; stop: Stop; runTurn: RunTurn },
): Promise<number> {
  let chat: LiveChat | undefined;
  let opening: Promise<Ctx> | undefined;
  let person: Person | undefined;
  let busy = false;
  let begins: string | undefined;
  const past = path.join(core.options.home, "history");
  const ctx = () => chat && context(core, chat);
  const watch = watchPlugins(core, () => void (busy || renewPlugins()));
  const host: DialogHost = {
    text: first.words,
    quiet: core.options.quiet === true,
    history: {
      read: () => (isFile(past) ? textOf(past) : ""), // a device may never end
      update: (change) => (isFile(past) || !fs.existsSync(past)) && updatePrivate(past, change),
    },
    keys: core.keys,
    ctx,
    open: () => (opening ??= begin()),
    begins: () => begins,
    obey: obeyLine,
    ask: async (question, keys) => (person?.ask ? announce(core, person.ask, question, keys) : ""),
    retract: () => chat && retractLastMessage(core, chat),
    meet(met) {
      person = met;
      meet(core, met);
      stop.showStray = (text) => (core.showNote ? core.showNote(text) : say(core.io, text));
      notePlace(core);
    },
    stop() {
      if (busy) chat?.stop.abort();
      return busy;
    },
    typed: (text) => void emit(core, "typed", { text }),
    onEnd: (leave) => void (stop.leave = leave),
    async prompt(mark) {
      const now = ctx();
      return now ? around({ core, chat: chat!, ctx: now }, "prompt", mark).catch(() => mark) : mark;
    },
  };
  try {
    return await dialog.talk(host);
  } finally {
    watch.close();
    await opening?.finally(() => chat?.session?.close());
  }

  async function begin(): Promise<Ctx> {
    const waits = !first.words;
    const setup = core.ask && waits ? commandFor(core, "model") : undefined;
    const found = await open();
    if (!found && !setup) note(core, NO_MODEL);
    chat = found ?? openChat(core, await fallbackModel(core));
    first.attached.forEach(chat.attach);
    await start(core, chat, true, true);
    void learnWindow(core, chat);
    if (!waits) await settleTrust(core, chat);
    const trust = core.ask && waits && isUntrusted(core) ? commandFor(core, "trust") : undefined;
    begins = (found ? trust : (setup ?? trust))?.name;
    return ctx()!;
  }

  /** Not after the message that the command line gave: what is told of a failure is told, and the dialog goes on. */
  async function obeyLine(line: string, expand = (text: string) => text): Promise<void> {
    busy = true;
    try {
      await host.open();
      await renewPlugins();
      const show = (text: string) => printAnswer(core.io, text);
      await obey({ core, chat: chat!, ctx: ctx()! }, line, (text) => runTurn(core, chat!, expand(text), { show }));
    } catch (error) {
      if ((error as Fault).exit === 130) say(core.io, "Stopped.");
      else say(core.io, explainError(error));
    } finally {
      busy = false;
      if (chat?.stop.signal.aborted) chat.stop = new AbortController(); // a command was stopped, not a turn
    }
  }

  /** A saved plugin is live before the next turn. */
  async function renewPlugins(): Promise<void> {
    for (const { name, did, ms, why } of await refreshPlugins(core))
      note(core, why ?? `Plugin '${name}' ${did}${did === "unloaded" ? "" : ` in ${ms} ms`}.`);
    watch.aim();
  }
}

const isFile = (file: string): boolean => tryTo(() => fs.statSync(file).isFile()) ?? false;
