// /phone: the questions of a conversation at the terminal are put to a paired chat as well. It is
// zz --telegram that hears from Telegram where it runs; else this process, until it ends.
import { createHash, randomUUID } from "node:crypto";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { CallbackQuery, Message, Update } from "grammy/types";
import type { AnswerPlace, Ctx, Zz } from "zz";
import { acquireLock, oneLine, tryTo, usage, withoutFrame } from "zz/text";
import { openTelegram, type Telegram } from "./api.ts";
import { Book } from "./book.ts";
import {
  answerLetter,
  closeLetter,
  type Given,
  letterWith,
  openLetter,
  readAnswer,
} from "./mailbox.ts";
import { privateKeys } from "./messenger.ts";
import { closeQuestion, type Question, sendQuestion, tokenOf } from "./questions.ts";
import { addressOf } from "./say.ts";
import { fileOf } from "./send-files.ts";

const LOOK_MS = 300;
const POLL_SECONDS = 25;
const ANSWER_ORIGIN = "the phone";
const OPTION_NAMES: Record<string, string> = {
  y: "Yes",
  A: "Always, in this session",
  F: "Always, this kind of command",
  n: "No",
};

export const lockOf = (home: string): string => path.join(home, "telegram.lock");

export class Phone implements AnswerPlace {
  readonly #zz: Zz<any>;
  readonly #ctx: Ctx;
  readonly #telegram: Telegram;
  readonly #key: string;
  readonly #stop: AbortController;
  #reason: string | undefined; // of the last no

  constructor(
    zz: Zz<any>,
    ctx: Ctx,
    telegram: Telegram,
    chatKey: string,
    stopController: AbortController,
  ) {
    this.#zz = zz;
    this.#ctx = ctx;
    this.#telegram = telegram;
    this.#key = chatKey;
    this.#stop = stopController;
  }

  /** Asks there. Undefined: the answer has to come from elsewhere. */
  async ask(question: string, answerKeys: string | undefined, signal: AbortSignal) {
    if (answerKeys === undefined) return this.#giveReason();
    const askedQuestion = questionOf(question, answerKeys);
    const token = tokenOf(askedQuestion);
    const address = addressOf(this.#key);
    const { home } = this.#ctx.about;
    openLetter(home, token, { key: this.#key, message: 0 }); // a press may come before its number
    const sentQuestion = await sendQuestion(this.#telegram, address, askedQuestion, this.#ctx.root);
    openLetter(home, token, { key: this.#key, message: sentQuestion.message });
    const phoneAnswer = await this.#answer(token, signal);
    closeLetter(home, token);
    const answer = phoneAnswer && this.#keyOf(askedQuestion, phoneAnswer);
    const optionNameOf = (optionId: unknown) =>
      askedQuestion.options.find(({ id }) => id === optionId)?.name ?? "no answer";
    const outcome = answer
      ? `→ ${optionNameOf(answer)}`
      : `→ ${optionNameOf(signal.reason)} (at the terminal)`;
    // it counted
    void closeQuestion(this.#telegram, address, sentQuestion, outcome).catch(() => {});
    return answer ? { answer, from: ANSWER_ORIGIN } : undefined;
  }

  async sendFiles(filePaths: readonly string[]): Promise<void> {
    const address = addressOf(this.#key);
    for (const filePath of filePaths)
      await this.#telegram.raw.sendDocument({ ...address, document: fileOf({ path: filePath }) });
  }

  #giveReason() {
    const answer = this.#reason;
    this.#reason = undefined;
    return answer === undefined ? undefined : { answer, from: ANSWER_ORIGIN };
  }

  #keyOf({ options }: Question, phoneAnswer: Given): string | undefined {
    const pickedOption =
      "words" in phoneAnswer ? options.find(({ id }) => id === "n") : options[phoneAnswer.option];
    if (pickedOption?.id === "n") this.#reason = "words" in phoneAnswer ? phoneAnswer.words : "";
    return pickedOption?.id;
  }

  async #answer(token: string, signal: AbortSignal): Promise<Given | undefined> {
    const endSignal = AbortSignal.any([signal, this.#stop.signal]);
    const { clock } = this.#zz.io;
    while (!endSignal.aborted) {
      const phoneAnswer = readAnswer(this.#ctx.about.home, token);
      if (phoneAnswer) return phoneAnswer;
      await clock.sleep(LOOK_MS, endSignal).catch(() => {}); // it is over
    }
    return undefined;
  }

  /** Hears from Telegram whenever no other zz does. */
  async listen(): Promise<void> {
    const { clock } = this.#zz.io;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const release = tryTo(() => acquireLock(lockOf(this.#ctx.about.home), "Cannot listen"));
      if (release) await this.#poll().finally(release);
      await clock.sleep(2_000, signal).catch(() => {}); // it is over
    }
  }

  async #poll(): Promise<void> {
    const { signal } = this.#stop;
    let offset = 0;
    while (!signal.aborted) {
      const pollOptions = { timeout: POLL_SECONDS, ...(offset && { offset }) };
      const updates = await this.#telegram.raw.getUpdates(pollOptions, signal as never);
      const book = new Book(this.#ctx);
      for (const update of updates) await this.#hear(book, update);
      offset = (updates.at(-1)?.update_id ?? offset - 1) + 1;
    }
  }

  async #hear({ kept }: Book, { callback_query: pressed, message }: Update): Promise<void> {
    const pressOrMessage = pressed ?? message;
    const chatId = (pressed?.message ?? message)?.chat.id;
    if (!pressOrMessage?.from || !Object.hasOwn(kept.people, pressOrMessage.from.id)) return;
    if (!Object.hasOwn(kept.chats, `${chatId}`)) return;
    if (pressed) await passOnPress(this.#telegram, this.#ctx.about.home, pressed);
    else if (message && !answerByWords(this.#ctx.about.home, message))
      await this.#telegram.raw.sendMessage({ chat_id: message.chat.id, text: NOT_RUNNING });
  }
}

const NOT_RUNNING = "Nothing was done with this: zz --telegram is not running.";

/** Hands a press on to the process whose question it answers. */
export async function passOnPress(
  { raw }: Telegram,
  home: string,
  { id, data = "", message }: Pick<CallbackQuery, "id" | "data" | "message">,
  isOpen = false, // the message is one of a question that stands
): Promise<void> {
  const [, token = "", optionIndex = ""] = /^q:([\w-]+):(\d+)$/.exec(data) ?? [];
  const chatKey = `${message?.chat.id}`;
  const isSent =
    token !== "" && answerLetter(home, token, chatKey, { option: Number(optionIndex) });
  const text = isSent ? "Sent." : "This question is over.";
  await raw.answerCallbackQuery({ callback_query_id: id, text });
  if (isSent || !message || isOpen || letterWith(home, chatKey, message.message_id)) return;
  const deadMessage = { chat_id: message.chat.id, message_id: message.message_id };
  await raw.editMessageReplyMarkup(deadMessage).catch(() => {}); // it has no buttons any more
}

/** A reply to a question of another process is a no, with these words as the reason. */
export function answerByWords(
  home: string,
  { chat, text, reply_to_message: to }: Message,
): boolean {
  const token = text && to && letterWith(home, `${chat.id}`, to.message_id);
  return Boolean(token) && answerLetter(home, token as string, `${chat.id}`, { words: text! });
}

function questionOf(question: string, answerKeys: string): Question {
  const text = withoutFrame(stripVTControlCharacters(question)).trim();
  const options = [...answerKeys]
    .filter((answerKey) => Object.hasOwn(OPTION_NAMES, answerKey))
    .map((id) => ({ id, name: OPTION_NAMES[id]! }));
  const hash = createHash("sha256").update(`${question} ${answerKeys}`).digest("hex");
  const firstLine = oneLine(text.split("\n")[0]!);
  return { name: randomUUID(), hash, text: firstLine, shown: [{ type: "text", text }], options };
}

/** Opens the paired private chat, or the one of this name. */
export async function openPhone(
  zz: Zz<any>,
  ctx: Ctx,
  chatName: string,
  stopController: AbortController,
): Promise<{ phone: Phone; title: string }> {
  const book = new Book(ctx);
  const chatKeys = privateKeys(book);
  const titleOf = (chatKey: string) => book.kept.chats[chatKey]!.title;
  const chosenKey = chatKeys.find(
    (chatKey) => !chatName || titleOf(chatKey).toLowerCase() === chatName.toLowerCase(),
  );
  if (chosenKey === undefined)
    throw usage(
      chatKeys.length
        ? `Cannot ask '${chatName}': it is not a paired chat. ` +
            `Those are: ${chatKeys.map(titleOf).join(", ")}.`
        : "Cannot ask on the phone: no chat is paired. " +
            "zz --telegram shows the code that pairs one.",
    );
  const telegram = await openTelegram(zz, ctx, stopController.signal);
  return {
    phone: new Phone(zz, ctx, telegram, chosenKey, stopController),
    title: titleOf(chosenKey),
  };
}
