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
  leave(exitCode: number): void;
  isLight(): boolean | undefined;
  // from the next prompt on; undefined: as the settings say
  useVi(wantsVi: boolean | undefined): void;
}

/**
 * The prompt shows at once; the first message waits until a model is chosen. `places` is where
 * questions are asked as well.
 */
export function openTalk(zz: Zz, host: DialogHost, places: ReadonlySet<AnswerPlace>): Talk {
  let code = 0;
  let hasLeft = false;
  let retracts = false; // whether to take the message back once its turn has ended
  const leaveTalk = (leaveCode: number) => {
    code = leaveCode;
    hasLeft = true;
    closeKeyboard(keyboard);
  };
  const keyboard = openKeyboard(zz, host, leaveTalk);
  zz.on("failed", () => void (keyboard.isCutShort = true));
  const endTalk = (leaveCode: number) =>
    leaveCode === 130 ? stopInstead(keyboard) : leaveTalk(leaveCode);
  const isLight = () => keyboard.isLight;
  const useVi = (wantsVi: boolean | undefined) => void (keyboard.wantsVi = wantsVi);
  return { run, isLight, useVi, leave: (leaveCode) => void ([code, hasLeft] = [leaveCode, true]) };

  async function run(): Promise<number> {
    host.onEnd(endTalk);
    host.meet({
      ...personAt(keyboard, places),
      tryAgain: async (requestFault, ctx) => {
        const key = await askWhatNow(zz, host, requestFault, ctx);
        retracts = key === "a";
        return key === "r" || key === "m";
      },
    });
    const startsAtPrompt = !host.text;
    // a dumb terminal could not take it away again
    if (startsAtPrompt && !keyboard.isDumb) await promptForMessage(keyboard);
    const opening = openConversation(keyboard, startsAtPrompt);
    opening.catch(() => closeKeyboard(keyboard)); // there is no model: zz says why
    if (!startsAtPrompt) {
      await opening.catch(() => {});
      for (const command of commandsToBegin(host)) await obeyMessage(command);
    }
    let message: string | undefined = startsAtPrompt ? await nextMessage(keyboard) : host.text;
    for (; message !== undefined; message = await nextMessage(keyboard)) {
      if (message.trim()) await obeyMessage(message.trim());
      if (hasLeft || keyboard.isClosed) break;
      await promptForMessage(keyboard);
    }
    closeKeyboard(keyboard);
    if (code === 0 || code === 130) zz.io.stdout.write("\n");
    await opening;
    if (code === 0 || code === 130) sayHowToComeBack(zz, host);
    return code;
  }

  async function obeyMessage(message: string): Promise<void> {
    muteEditor(keyboard, true);
    keyboard.isCutShort = false;
    await host.obey(message, (messageText) => expandPastes(keyboard.pastes, messageText));
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
  const [command, ...laterCommands] = commandsToBegin(host);
  if (!host.quiet)
    showNote(
      keyboard,
      [greeting(host.ctx()!, chat), ...recallOrOffer(keyboard, command)].join("\n"),
    );
  if (command) sendMessage(keyboard, command);
  else if (!keyboard.isMuted) await promptForMessage(keyboard);
  keyboard.queue.push(...laterCommands);
}

/** How the person is asked while the conversation is at the prompt. */
function personAt(keyboard: Keyboard, answerPlaces: ReadonlySet<AnswerPlace>): Person {
  const { zz, host } = keyboard;
  return {
    ask: (question, offeredKeys) => askEverywhere(keyboard, answerPlaces, question, offeredKeys),
    secret: (question) =>
      lendTerminal(keyboard, () => askUnseen(zz.io, question, host.ctx()?.signal)),
    ...(canChoose(zz.io) && {
      pick: (question, choices) =>
        wantsWords(zz.io, host.ctx())
          ? pickByNumber((listText) => askAtPrompt(keyboard, listText), question, choices)
          : lendTerminal(keyboard, () =>
              pickFromList(zz.io, question, choices, host.ctx()?.signal),
            ),
    }),
    terminal: (act) => lendTerminal(keyboard, act),
    edit: async (initialText, fileName) =>
      lendTerminal(keyboard, async () =>
        (await import("./external-editor.ts")).openEditor(zz, initialText, fileName),
      ),
    note: (noteText) => showNote(keyboard, noteText),
    goOn: async (stopReason) =>
      (await host.ask(`Stopped: ${stopReason}. Go on? [y/N] `, "yn")) === "y",
  };
}

/** The commands that a conversation begins with, such as /setup. */
function commandsToBegin(host: DialogHost): string[] {
  const commands: string[] = [];
  for (let commandName = host.begins(); commandName; commandName = host.begins())
    commands.push(`/${commandName}`);
  return commands;
}

/**
 * After a failed request: "r" or "m" to ask again, the same or another model; "a" to take the
 * message back; "" to leave it.
 */
async function askWhatNow(
  zz: Zz,
  host: DialogHost,
  requestFault: Fault,
  ctx: Ctx,
): Promise<string> {
  const canPickModel = ctx.about.commands.some(({ name }) => name === "model");
  const keysQuestion =
    "[r]etry, [S]kip, [a]bort and take the message " +
    `back${canPickModel ? ", another [m]odel" : ""}? `;
  for (let message = `${clean(requestFault.message)}\n`; ; message = "") {
    const chosenKey = await host.ask(message + keysQuestion, "rsam");
    requestFault.told = true;
    if (!/[ram]/.test(chosenKey))
      say(zz, "Your message stays in the conversation; /retry sends it again.");
    if (chosenKey !== "m") return chosenKey;
    const modelBefore = ctx.chat.model;
    await ctx.command("model").catch((commandError) => say(zz, sentenceOf(commandError)));
    if (ctx.chat.model !== modelBefore) return chosenKey; // otherwise nothing was picked: ask again
  }
}

function takeBack(zz: Zz, host: DialogHost): void {
  const { text = "" } = host.ctx()?.chat.messages.findLast(isAsked) ?? {};
  host.retract();
  const quotedWords = quoted(text, 40);
  say(zz, quotedWords ? `Took back “${quotedWords}”.` : "Took back your message.");
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
    const continueCommand = columns < NARROW_COLUMNS ? "zz -c" : "zz -c (the last one here)";
    const adviceLine = `To come back: ${continueCommand}, or zz --session ${id}`;
    // a command in two rows cannot be copied
    say(zz, adviceLine.length < columns ? adviceLine : adviceLine.replace(", or zz", ", or\nzz"));
  }
}

const NARROW_COLUMNS = 45;

/**
 * The last exchange; in a new conversation, an offer to continue the last one, unless a message was
 * already typed.
 */
function recallOrOffer(keyboard: Keyboard, command: string | undefined): string[] {
  const { zz, host, isDumb, isMuted, queue } = keyboard;
  const canOffer =
    !command && !isDumb && !isMuted && !queue.length && (zz.config as { offer: boolean }).offer;
  const lastOffer = canOffer ? lastConversation(host.ctx()!) : undefined;
  if (!lastOffer) return lastExchange(zz, host.ctx()!);
  keyboard.offer = () => sendMessage(keyboard, lastOffer.line);
  return [lastOffer.row];
}

const MAX_QUOTED_CHARS = 4_000; // of a message, since measuring all of a long one takes time
const quoted = (messageText: string, columns: number): string =>
  clip(oneLine(wordsOf(messageText).slice(0, MAX_QUOTED_CHARS)), columns);

/**
 * The last message and answer, in at most two rows each, and what to do if its turn did not end;
 * nothing if it is new.
 */
function lastExchange({ io }: Zz, { chat, files }: Ctx): string[] {
  const askedIndex = chat.messages.findLastIndex(isAsked);
  const [askedMessage, ...laterMessages] = chat.messages.slice(Math.max(askedIndex, 0));
  if (askedMessage?.role !== "user") return [];
  const shortenText = (messageText: string) => quoted(messageText, (terminalColumns(io) - 5) * 2);
  const answered = laterMessages.findLast(({ role, text }) => role === "assistant" && text);
  const finalMessage = laterMessages.findLast(({ role }) => role !== "user");
  const isTurnOver = finalMessage?.role === "assistant" && !finalMessage.calls?.length;
  return [
    `You: ${shortenText(askedMessage.text)}`,
    ...(answered ? [`zz: ${shortenText(answered.text)}`] : []),
    ...(isTurnOver
      ? []
      : [
          `${answered ? "Its turn did not end: /continue goes on" : NO_ANSWER}` +
            `${andUndo(chat, files)}.`,
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
