// The conversation at a prompt: line after line, until the person leaves.
import type { AnswerPlace, Chat, Ctx, DialogHost, Fault, Message, Person, Zz } from "zz";
import {
  clean,
  clip,
  oneLine,
  plural,
  sentenceOf,
  terminalColumns,
  wantsWords,
  wordsOf,
} from "zz/text";
import { askEverywhere } from "./answer-elsewhere.ts";
import { askAtPrompt } from "./ask-at-prompt.ts";
import { type Keyboard, muteEditor, showNote } from "./input-line.ts";
import {
  closeKeyboard,
  holdQueue,
  interrupt,
  lendTerminal,
  nextMessage,
  openKeyboard,
  promptForMessage,
  sendMessage,
} from "./keyboard.ts";
import { lastConversation } from "./offer-last-conversation.ts";
import { expandPastes } from "./pastes.ts";
import { askUnseen, canChoose, pickByNumber, pickFromList } from "./pick-from-list.ts";
import { say } from "./prompt-rows.ts";

export interface Talk {
  run(): Promise<number>;
  leave(code: number): void;
  isLight(): boolean | undefined;
  useVi(on: boolean | undefined): void; // from the next prompt on; undefined: as the settings say
}

/**
 * The prompt shows at once; the first message waits until a model is chosen. `places` is where
 * questions are asked as well.
 */
export function openTalk(zz: Zz, host: DialogHost, places: ReadonlySet<AnswerPlace>): Talk {
  let code = 0;
  let hasLeft = false;
  let retracts = false; // whether to take the message back once its turn has ended
  const leave = (exit: number) => {
    code = exit;
    hasLeft = true;
    closeKeyboard(keyboard);
  };
  const keyboard = openKeyboard(zz, host, leave);
  zz.on("failed", () => void (keyboard.isCutShort = true));
  const end = (exit: number) => (exit === 130 ? stopInstead(keyboard) : leave(exit));
  const isLight = () => keyboard.isLight;
  const useVi = (on: boolean | undefined) => void (keyboard.wantsVi = on);
  return { run, isLight, useVi, leave: (exit) => void ([code, hasLeft] = [exit, true]) };

  async function run(): Promise<number> {
    host.onEnd(end);
    host.meet({
      ...personAt(keyboard, places),
      tryAgain: async (failed, ctx) => {
        const key = await whatNow(zz, host, failed, ctx);
        retracts = key === "a";
        return key === "r" || key === "m";
      },
    });
    const startsAtPrompt = !host.text;
    // a dumb terminal could not take it away again
    if (startsAtPrompt && !keyboard.isDumb) await promptForMessage(keyboard);
    const opened = openConversation(keyboard, startsAtPrompt);
    opened.catch(() => closeKeyboard(keyboard)); // there is no model: zz says why
    if (!startsAtPrompt) {
      await opened.catch(() => {});
      for (const command of commandsToBegin(host)) await obey(command);
    }
    let message: string | undefined = startsAtPrompt ? await nextMessage(keyboard) : host.text;
    for (; message !== undefined; message = await nextMessage(keyboard)) {
      if (message.trim()) await obey(message.trim());
      if (hasLeft || keyboard.isClosed) break;
      await promptForMessage(keyboard);
    }
    closeKeyboard(keyboard);
    if (code === 0 || code === 130) zz.io.stdout.write("\n");
    await opened;
    if (code === 0 || code === 130) sayHowToComeBack(zz, host);
    return code;
  }

  async function obey(message: string): Promise<void> {
    muteEditor(keyboard, true);
    keyboard.isCutShort = false;
    await host.obey(message, (text) => expandPastes(keyboard.pastes, text));
    if (keyboard.isCutShort) holdQueue(keyboard);
    if (retracts) takeBack(zz, host);
    retracts = false;
  }
}

/**
 * Chooses the model, shows the greeting, and runs the command that the conversation starts with,
 * if there is one.
 */
async function openConversation(keyboard: Keyboard, startsAtPrompt: boolean): Promise<void> {
  const { host } = keyboard;
  const { chat } = await host.open();
  if (!startsAtPrompt) return;
  const [command, ...others] = commandsToBegin(host);
  if (!host.quiet)
    showNote(keyboard, [greeting(host.ctx()!, chat), ...before(keyboard, command)].join("\n"));
  if (command) sendMessage(keyboard, command);
  else if (!keyboard.isMuted) await promptForMessage(keyboard);
  keyboard.queue.push(...others);
}

/** How the person is asked while the conversation is at the prompt. */
function personAt(keyboard: Keyboard, places: ReadonlySet<AnswerPlace>): Person {
  const { zz, host } = keyboard;
  return {
    ask: (question, keys) => askEverywhere(keyboard, places, question, keys),
    secret: (question) =>
      lendTerminal(keyboard, () => askUnseen(zz.io, question, host.ctx()?.signal)),
    ...(canChoose(zz.io) && {
      pick: (question, choices) =>
        wantsWords(zz.io, host.ctx())
          ? pickByNumber((list) => askAtPrompt(keyboard, list), question, choices)
          : lendTerminal(keyboard, () =>
              pickFromList(zz.io, question, choices, host.ctx()?.signal),
            ),
    }),
    terminal: (act) => lendTerminal(keyboard, act),
    edit: async (text, name) =>
      lendTerminal(keyboard, async () =>
        (await import("./external-editor.ts")).openEditor(zz, text, name),
      ),
    note: (text) => showNote(keyboard, text),
    goOn: async (reason) => (await host.ask(`Stopped: ${reason}. Go on? [y/N] `, "yn")) === "y",
  };
}

/** Those that zz begins with, such as /setup. */
function commandsToBegin(host: DialogHost): string[] {
  const commands: string[] = [];
  for (let name = host.begins(); name; name = host.begins()) commands.push(`/${name}`);
  return commands;
}

/**
 * After a failed request: "r" or "m" to ask again, the same or another model; "a" to take the
 * message back; "" to leave it.
 */
async function whatNow(zz: Zz, host: DialogHost, failed: Fault, ctx: Ctx): Promise<string> {
  const picks = ctx.about.commands.some(({ name }) => name === "model");
  const keys = `[r]etry, [S]kip, [a]bort and take the message back${picks ? ", another [m]odel" : ""}? `;
  for (let message = `${clean(failed.message)}\n`; ; message = "") {
    const key = await host.ask(message + keys, "rsam");
    failed.told = true;
    if (!/[ram]/.test(key))
      say(zz, "Your message stays in the conversation; /retry sends it again.");
    if (key !== "m") return key;
    const before = ctx.chat.model;
    await ctx.command("model").catch((error) => say(zz, sentenceOf(error)));
    if (ctx.chat.model !== before) return key; // otherwise nothing was picked: ask again
  }
}

function takeBack(zz: Zz, host: DialogHost): void {
  const last = host
    .ctx()
    ?.chat.messages.findLast(({ role, ...message }) => role === "user" && !("aside" in message));
  host.retract();
  const words = last && clip(oneLine(wordsOf(last.text).slice(0, MAX_QUOTED_CHARS)), 40);
  say(zz, words ? `Took back “${words}”.` : "Took back your message.");
}

/** Ctrl+C ends what is under way, not the conversation. */
function stopInstead(keyboard: Keyboard): false {
  if (!keyboard.terminalUsers) interrupt(keyboard);
  return false;
}

function sayHowToComeBack(zz: Zz, host: DialogHost): void {
  const { id, messages } = host.ctx()?.chat ?? {};
  if (id && messages?.length && !host.quiet) {
    const columns = terminalColumns(zz.io);
    const last = columns < NARROW_COLUMNS ? "zz -c" : "zz -c (the last one here)";
    const line = `To come back: ${last}, or zz --session ${id}`;
    // a command in two rows cannot be copied
    say(zz, line.length < columns ? line : line.replace(", or zz", ", or\nzz"));
  }
}

const NARROW_COLUMNS = 45;

/**
 * The last exchange; in a new conversation, an offer to continue the last one, unless a message was
 * already typed.
 */
function before(keyboard: Keyboard, command: string | undefined): string[] {
  const { zz, host, isDumb, isMuted, queue } = keyboard;
  const isFree =
    !command && !isDumb && !isMuted && !queue.length && (zz.config as { offer: boolean }).offer;
  const last = isFree ? lastConversation(host.ctx()!) : undefined;
  if (!last) return lastExchange(zz, host.ctx()!);
  keyboard.offer = () => sendMessage(keyboard, last.line);
  return [last.row];
}

const MAX_QUOTED_CHARS = 4_000; // of a message, since measuring all of a long one takes time

/**
 * The last message and answer, in at most two rows each, and what to do if its turn did not end;
 * nothing if it is new.
 */
function lastExchange({ io }: Zz, { chat, files }: Ctx): string[] {
  const from = chat.messages.findLastIndex(isAsked);
  const [asked, ...since] = chat.messages.slice(Math.max(from, 0));
  if (asked?.role !== "user") return [];
  const start = (text: string) =>
    clip(oneLine(wordsOf(text).slice(0, MAX_QUOTED_CHARS)), (terminalColumns(io) - 5) * 2);
  const answered = since.findLast(({ role, text }) => role === "assistant" && text);
  const last = since.findLast(({ role }) => role !== "user");
  const isOver = last?.role === "assistant" && !last.calls?.length;
  return [
    `You: ${start(asked.text)}`,
    ...(answered ? [`zz: ${start(answered.text)}`] : []),
    ...(isOver
      ? []
      : [
          `${answered ? "Its turn did not end: /continue goes on" : NO_ANSWER}${andUndo(chat, files)}.`,
        ]),
  ];
}
const NO_ANSWER = "It has no answer yet: /retry asks again";

const isAsked = (message?: Message): boolean => message?.role === "user" && !message.aside;

/** What takes back the changes to files since the last message. */
function andUndo(chat: Chat, files: Ctx["files"]): string {
  const { branch } = chat.tree();
  const fromPlugins = new Set(
    branch
      .slice(branch.findLastIndex(({ message }) => isAsked(message)))
      .map(({ change }) => change),
  );
  const changes = files.changes().filter(({ id, undone }) => !undone && fromPlugins.has(id)).length;
  return changes ? `, /undo takes back the last of its ${plural(changes, "change")} to files` : "";
}

const greeting = ({ about }: Ctx, { model, messages }: Chat): string =>
  [
    `zz ${about.version}`,
    model,
    ...(messages.length ? [`goes on after ${plural(messages.length, "message")}`] : []),
    "/help lists the commands",
  ].join(" · ");
