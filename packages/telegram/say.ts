// Puts texts into messages. A message is sent empty first and its id kept, and only then filled: an
// edit that is made twice says nothing twice.
import { isMessageGone, isUnchanged, isUnparsed, type Telegram } from "./api.ts";
import type { Pending } from "./book.ts";
import type { Bot } from "./bot.ts";
import type { Part } from "./markdown.ts";

/** Where a message goes. */
export interface Address {
  chat_id: number;
  message_thread_id?: number;
}

export const EMPTY = "…";

/** By the chat's key in the book: the chat's id and, in a forum, the topic's. */
export function addressOf(chatKey: string): Address {
  const [chatId = "", topicId] = chatKey.split(":");
  return topicId
    ? { chat_id: Number(chatId), message_thread_id: Number(topicId) }
    : { chat_id: Number(chatId) };
}

export async function sendEmpty(
  { raw }: Telegram,
  address: Address,
  answers?: number,
): Promise<number> {
  const replyFields = answers && {
    reply_parameters: { message_id: answers, allow_sending_without_reply: true },
  };
  const message = { ...address, text: EMPTY, disable_notification: true, ...replyFields };
  const { message_id: id } = await raw.sendMessage(message);
  return id;
}

/**
 * Sends an empty message for `pending`, which keeps its number by `keep`. Where zz was killed in
 * between, the one that was sent then is taken away first.
 */
export async function sendKept(
  { telegram, book }: Bot,
  chatKey: string,
  pending: Pending,
  keep: (pending: Pending, id: number) => void,
  answers?: number,
): Promise<number> {
  const { sending } = pending;
  const address = addressOf(book.current(chatKey));
  if (sending === undefined)
    book.changePending(chatKey, pending, (waiting) => {
      waiting.sending = lastKnown(pending);
    });
  const id = await sendEmpty(telegram, address, answers);
  if (sending !== undefined) await removeStray(telegram, address, sending, id);
  book.changePending(chatKey, pending, (waiting) => {
    delete waiting.sending;
    keep(waiting, id);
  });
  return id;
}

const lastKnown = ({ messages, parts, files = {} }: Pending): number =>
  Math.max(
    ...messages.map(({ message_id }) => message_id),
    ...parts,
    ...Object.values(files).flatMap((id) => id ?? []),
  );

const MAX_LOOKED_AT = 20;

/** A message can only be read by forwarding it: the first empty one of the bot's is the stray. */
async function removeStray(
  { raw, me }: Telegram,
  { chat_id }: Address,
  afterId: number,
  beforeId: number,
): Promise<void> {
  const endId = Math.min(beforeId, afterId + MAX_LOOKED_AT);
  for (let message_id = afterId + 1; message_id < endId; message_id++) {
    const forwardRequest = {
      chat_id,
      from_chat_id: chat_id,
      message_id,
      disable_notification: true,
    };
    const forwarded = await raw.forwardMessage(forwardRequest).catch(() => undefined);
    if (!forwarded) continue; // there is none with this number
    const { forward_origin: origin, text } = forwarded;
    const isStray = text === EMPTY && origin?.type === "user" && origin.sender_user.id === me.id;
    for (const id of isStray ? [forwarded.message_id, message_id] : [forwarded.message_id])
      await raw.deleteMessage({ chat_id, message_id: id }).catch(() => {});
    if (isStray) return;
  }
}

/** False: the message is gone. */
export async function fill(
  { raw }: Telegram,
  { chat_id }: Address,
  message_id: number,
  { markdown, plain }: Part,
): Promise<boolean> {
  const editTarget = { chat_id, message_id, link_preview_options: { is_disabled: true } };
  const editText = async (text: string, parseMode?: "MarkdownV2"): Promise<boolean> => {
    try {
      await raw.editMessageText({ ...editTarget, text, parse_mode: parseMode });
      return true;
    } catch (error) {
      if (isUnchanged(error)) return true;
      if (parseMode && isUnparsed(error)) return editText(plain);
      if (isMessageGone(error)) return false;
      throw error;
    }
  };
  return editText(markdown, "MarkdownV2");
}

const INTERVAL_MS = 2_000; // Telegram asks for not much more than an edit a second

/** What happens meanwhile, in the message that the answer will be in. Edits may be left out. */
export class Progress {
  readonly #bot: Bot;
  readonly #target: { chat_id: number; message_id: number };
  #shown = EMPTY;
  #wanted = EMPTY;
  #cancel: (() => void) | undefined;
  #editing: Promise<unknown> = Promise.resolve();

  constructor(bot: Bot, { chat_id }: Address, message_id: number) {
    this.#bot = bot;
    this.#target = { chat_id, message_id };
  }

  show(progressText: string): void {
    this.#wanted = progressText;
    this.#cancel ??= this.#bot.zz.io.clock.timer(INTERVAL_MS, () => {
      this.#cancel = undefined;
      this.#editing = this.#edit();
    });
  }

  async #edit(): Promise<void> {
    if (this.#wanted === this.#shown) return;
    this.#shown = this.#wanted;
    await this.#bot.telegram.hasty
      .editMessageText({ ...this.#target, text: this.#shown })
      .catch(() => {}); // the next one says more
  }

  /** After it no edit of this comes. */
  async end(): Promise<void> {
    this.#cancel?.();
    await this.#editing;
  }
}
