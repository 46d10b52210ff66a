// zz --telegram: asks Telegram for what was said, takes what comes from those who are paired, and
// hands it to the chats.
import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import path from "node:path";
import type { CallbackQuery, Message, Update } from "grammy/types";
import type { Conversation, ConversationEvent, Conversations, Ctx, Zz } from "zz";
import { acquireLock, makeFolder, tryTo, usage } from "zz/text";
import {
  descriptionOf,
  GrammyError,
  isRevoked,
  openTelegram,
  revoked,
  type Telegram,
} from "./api.ts";
import { Book, chatIdOf, type Kept } from "./book.ts";
import { wordsIn } from "./incoming.ts";
import { moveChat, moveIn, pairedAsText, removeChat } from "./pairing.ts";
import { answerByWords, lockOf, passOnPress as pressElsewhere } from "./phone.ts";
import { Chat } from "./phone-chat.ts";
import { closeQuestion, optionsOf, type Standing, sendQuestion, tokenOf } from "./questions.ts";
import { addressOf } from "./say.ts";

const POLL_S = 25;
const CONFLICT_TRIES = 5;
const CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const CODE_CHARS = 12;
const COMMANDS = [
  { command: "new", description: "begin a new conversation" },
  { command: "model", description: "the model that answers" },
  { command: "undo", description: "take back the last change to files" },
  { command: "stop", description: "stop what is under way" },
  { command: "who", description: "list who is paired" },
  { command: "leave", description: "end the pairing of this chat" },
];

export async function runBot(zz: Zz<{ minutes: number }>, ctx: Ctx): Promise<void> {
  const service = ctx.service("conversations");
  if (!service)
    throw usage(
      "Cannot converse by Telegram: the plugin 'acp' is off. /plugins on acp turns it on.",
    );
  const telegram = await openTelegram(zz, ctx, ctx.signal);
  const remedy = "End it, or type /phone off there";
  makeFolder(ctx.about.home, 0o700);
  zz.defer(acquireLock(lockOf(ctx.about.home), "Cannot listen to Telegram", remedy));
  const folder = path.join(ctx.about.home, "telegram-files");
  const given = process.argv.slice(2).filter((argument) => !/^--telegram(=|$)/.test(argument));
  const flags = [...given, "--phone-session", `--allow-read=${folder}`];
  const conversations = await service.start(ctx, { name: "zz telegram", flags });
  const bot = new Bot({ zz, ctx, telegram, folder, conversations });
  await telegram.raw.setMyCommands({ commands: COMMANDS });
  await bot.run();
}

type Parts = Pick<Bot, "zz" | "ctx" | "telegram" | "folder" | "conversations">;

export class Bot {
  readonly zz: Zz<{ minutes: number }>;
  readonly ctx: Ctx;
  readonly telegram: Telegram;
  readonly folder: string; // of files that came
  readonly conversations: Conversations;
  readonly book: Book;
  readonly #chats = new Map<string, Chat>();
  readonly #standing = new Map<string, Standing>(); // by what their buttons carry
  readonly #reasons = new Map<string, string>(); // by chat: why the last answer was a no
  #code = newCode();
  readonly #failure = Promise.withResolvers<never>();

  constructor({ zz, ctx, telegram, folder, conversations }: Parts) {
    this.zz = zz;
    this.ctx = ctx;
    this.telegram = telegram;
    this.folder = folder;
    this.conversations = conversations;
    this.book = new Book(ctx);
    telegram.moved = (oldChatId, to) => {
      this.book.change((keptBook) => void this.#move(keptBook, oldChatId, to));
    };
  }

  /** Ends it all: what waits is answered at the next start. */
  fail(error: Error): void {
    this.#failure.reject(isRevoked(error) ? revoked() : error);
  }

  async run(): Promise<void> {
    const stopped = once(this.ctx.signal, "abort");
    this.#greet();
    await this.#closeOldQuestions();
    for (const chatKey of Object.keys(this.book.kept.chats)) this.#chat(chatKey).work();
    await Promise.race([this.#failure.promise, stopped, this.conversations.ended, this.#poll()]);
  }

  #greet(): void {
    const { username } = this.telegram.me;
    const titles = Object.values(this.book.kept.chats).map(({ title }) => title);
    this.ctx.note(
      [
        `zz is @${username} in ` +
          `Telegram.${titles.length ? ` It answers in: ${titles.join(", ")}.` : ""}`,
        "To pair a chat, send it there: " +
          `${this.#code} (https://t.me/${username}?start=${this.#code})`,
        "Ctrl+C ends it.",
      ].join("\n"),
    );
  }

  #chat(key: string): Chat {
    const chat = this.#chats.get(key) ?? new Chat(this, key);
    this.#chats.set(key, chat);
    return chat;
  }

  // ── What comes ─────────────────────────────────────────────────────────────────────────────────

  async #poll(): Promise<void> {
    const allowed_updates = ["message", "edited_message", "callback_query"] as const;
    let offset = 0;
    let conflicts = 0;
    while (!this.ctx.signal.aborted) {
      try {
        const asked = { timeout: POLL_S, allowed_updates, ...(offset && { offset }) };
        const updates = await this.telegram.raw.getUpdates(asked);
        conflicts = 0;
        this.#take(updates);
        offset = (updates.at(-1)?.update_id ?? offset - 1) + 1;
      } catch (error) {
        if (!(error instanceof GrammyError) || error.error_code !== 409) throw error;
        if (++conflicts > CONFLICT_TRIES)
          throw usage(
            "Cannot go on: another program asks for the messages of this bot " +
              `(${error.description}). End it first.`,
          );
        await this.zz.io.clock.sleep(1_000, this.ctx.signal);
      }
    }
  }

  /** Keeps what is to be answered before Telegram forgets it; does at once what cannot wait. */
  #take(updates: Update[]): void {
    const atOnce: (() => Promise<unknown>)[] = [];
    this.book.change((kept) => {
      for (const update of updates) {
        if (kept.seen.includes(update.update_id)) continue;
        const act = this.#takeUpdate(kept, update);
        if (act === undefined) continue; // of strangers nothing is kept
        kept.seen.push(update.update_id);
        if (act) atOnce.push(act);
      }
    });
    for (const key of this.#chats.keys()) if (!this.book.chat(key)) this.#drop(key);
    for (const act of atOnce) void act().catch((error) => this.#afterwards(error));
    for (const chatKey of Object.keys(this.book.kept.chats)) this.#chat(chatKey).work();
  }

  #afterwards(error: Error): void {
    if (isRevoked(error)) this.fail(error);
    else this.ctx.note(`Telegram: ${descriptionOf(error)}`);
  }

  /** What to do at once, false for nothing more; undefined: it is a stranger's. */
  #takeUpdate(kept: Kept, update: Update): (() => Promise<unknown>) | false | undefined {
    const { message, edited_message: edited, callback_query: pressed } = update;
    if (pressed)
      return this.#isPaired(kept, pressed.message, pressed.from.id)
        ? () => this.#press(pressed)
        : undefined;
    const said = message ?? edited;
    if (!said) return undefined;
    const move = moveIn(said);
    if (move) return this.#move(kept, ...move);
    if (this.#pairs(said)) return this.#pair(kept, said);
    if (!this.#isPaired(kept, said, said.from?.id) || !this.#isForBot(said)) return undefined;
    const key = keyOf(said);
    if (edited) return this.#takeEdited(kept, edited);
    const words = wordsIn(said, this.telegram.me.username);
    if (words === "/stop")
      return kept.chats[key]?.queue.length
        ? () => this.#chat(key).stop()
        : () => this.#tell(said, "Nothing is under way.");
    if (words === "/who") return () => this.#tell(said, pairedAsText(this.book.kept));
    if (words === "/leave") {
      removeChat(kept, `${said.chat.id}`);
      return () => this.#tell(said, "This chat is not paired any more. zz reads nothing here.");
    }
    if (answerByWords(this.ctx.about.home, said)) return false;
    const asked = this.#questionFor(key, said);
    if (asked && words) return async () => this.#answerInWords(asked, words);
    kept.chats[key] ??= entryFor(said);
    kept.chats[key].queue.push({ update: update.update_id, messages: [said], parts: [] });
    return false;
  }

  /** A message that waits is answered as it was edited; one that was begun on stays as it was. */
  #takeEdited(keptBook: Kept, edited: Message): (() => Promise<unknown>) | false {
    for (const { messages, parts } of keptBook.chats[keyOf(edited)]?.queue ?? []) {
      const index = messages.findIndex(({ message_id }) => message_id === edited.message_id);
      if (index < 0) continue;
      if (parts.length) break;
      messages[index] = edited;
      return false;
    }
    const text = "This was answered as it was before. Send it again to ask again.";
    return () => this.#tell(edited, text);
  }

  #tell(to: Message, text: string): Promise<unknown> {
    const { message_id } = to;
    const reply_parameters = { message_id, allow_sending_without_reply: true };
    return this.telegram.raw.sendMessage({ ...addressOf(keyOf(to)), text, reply_parameters });
  }

  /** In a group: what mentions the bot, or replies to it. */
  #isForBot({ chat, text = "", caption = "", reply_to_message: quoted }: Message): boolean {
    if (chat.type === "private") return true;
    const { id, username } = this.telegram.me;
    const isNamed = new RegExp(`@${username}\\b`, "i").test(text || caption);
    return isNamed || quoted?.from?.id === id;
  }

  /** The chat as well as the person, who may be one of many in a group. */
  #isPaired(kept: Kept, message: Pick<Message, "chat"> | undefined, personId?: number): boolean {
    if (!message || personId === undefined) return false;
    const isChat = Object.keys(kept.chats).some(
      (chatKey) => chatIdOf(chatKey) === `${message.chat.id}`,
    );
    return isChat && Object.hasOwn(kept.people, personId);
  }

  // ── Pairing ────────────────────────────────────────────────────────────────────────────────────

  #pairs(message: Message): boolean {
    const words = wordsIn(message, this.telegram.me.username).replace(/^\/start\s+/, "");
    if (words.length !== CODE_CHARS || !message.from) return false;
    return timingSafeEqual(
      Buffer.from(words.replace(/[^\x21-\x7e]/g, "?")),
      Buffer.from(this.#code),
    );
  }

  /** Ends what is under way in a chat that is not paired any more. */
  #drop(key: string): void {
    void this.#chats
      .get(key)
      ?.end()
      .catch((error) => this.#afterwards(error));
    this.#chats.delete(key);
    for (const standing of this.#standing.values()) if (standing.key === key) standing.refuse();
  }

  /** A group has become another chat: all goes on there. Undefined: it is no paired one. */
  #move(keptBook: Kept, from: number, to: number): false | undefined {
    if (!moveChat(keptBook, from, to)) return undefined;
    for (const [key, chat] of [...this.#chats])
      if (chatIdOf(key) === `${from}`) {
        this.#chats.delete(key);
        this.#chats.set(`${to}`, chat);
        chat.moved();
      }
    for (const standing of this.#standing.values())
      if (chatIdOf(standing.key) === `${from}`) {
        standing.key = `${to}`;
        void this.#send(standing).catch((error) => this.#afterwards(error));
      }
    return false;
  }

  #pair(kept: Kept, message: Message): () => Promise<unknown> {
    const { from } = message;
    const key = keyOf(message);
    const name = from!.username ?? from!.first_name;
    kept.people[from!.id] = name;
    kept.chats[key] ??= entryFor(message);
    this.#code = newCode();
    const { title } = kept.chats[key];
    return async () => {
      this.ctx.note(
        `'${name}' is paired, in '${title}'. The next code: ` +
          `${this.#code} (https://t.me/${this.telegram.me.username}?start=${this.#code})`,
      );
      const text = `This chat is paired with zz in ${this.ctx.root}. Say what is to be done.`;
      await this.telegram.raw.sendMessage({ ...addressOf(key), text });
    };
  }

  // ── Questions ──────────────────────────────────────────────────────────────────────────────────

  /** Puts a question of a conversation to its chat. */
  ask(key: string, event: ConversationEvent & { type: "question" }, chat: Conversation): void {
    const { name, hash, options } = event;
    const reason = this.#reasons.get(key);
    this.#reasons.delete(key);
    // "Why not?" was answered with the no
    if (!options.length && reason !== undefined) chat.answer(name, hash, reason);
    else
      void this.#put(key, event, chat).catch((error) => {
        this.#afterwards(error);
        this.#standing.get(tokenOf(event))?.refuse(); // nobody can see it
      });
  }

  async #put(
    key: string,
    question: ConversationEvent & { type: "question" },
    chat: Conversation,
  ): Promise<void> {
    const { name, hash, options } = question;
    const answer = (answerText: string) => chat.answer(name, hash, answerText);
    const refuse = () => {
      this.#reasons.set(key, "");
      const noOption = options.find(({ id }) => id === "n") ?? options.at(-1);
      tryTo(() => answer(noOption?.id ?? ""));
    };
    const { minutes } = this.zz.config;
    const cancelExpiry = this.zz.io.clock.timer(minutes * 60_000, refuse);
    const standing: Standing = {
      key: this.book.current(key),
      question,
      cancelExpiry,
      answer,
      refuse,
    };
    this.#standing.set(tokenOf(question), standing);
    await this.#send(standing);
  }

  async #send(standing: Standing): Promise<void> {
    const { key, question } = standing;
    delete standing.message;
    standing.sent = sendQuestion(this.telegram, addressOf(key), question, this.ctx.root);
    const message = await standing.sent;
    standing.message = message;
    this.book.changeChat(key, ({ questions }) => void questions.push(message.message));
  }

  async #press({ id, data = "", message }: CallbackQuery): Promise<void> {
    const [, token = "", optionIndex = ""] = /^q:([\w-]+):(\d+)$/.exec(data) ?? [];
    const standing = this.#standing.get(token);
    const { home } = this.ctx.about;
    if (!standing && message && data.startsWith("q:"))
      return pressElsewhere(
        this.telegram,
        home,
        { id, data, message },
        this.#isOpen(message.message_id),
      );
    let text = "This question is over.";
    if (standing && message && keyOf(message) === standing.key) {
      const option = optionsOf(standing.question)[Number(optionIndex)];
      if (option)
        text =
          tryTo(() => {
            if (option.id === "n") this.#reasons.set(standing.key, "");
            standing.answer(option.id);
            return option.name;
          }) ?? text;
    }
    await this.telegram.raw.answerCallbackQuery({ callback_query_id: id, text }).catch((error) => {
      if (isRevoked(error)) throw error; // else the press was too long ago
    });
  }

  #isOpen(id: number): boolean {
    return [...this.#standing.values()].some(({ message }) => message?.message === id);
  }

  /** The question that these words answer: the one replied to, or one that asks for words. */
  #questionFor(chatKey: string, { reply_to_message: quoted }: Message): Standing | undefined {
    const open = [...this.#standing.values()].filter((standing) => standing.key === chatKey);
    return (
      open.find(({ message }) => message && message.message === quoted?.message_id) ??
      // a reply may come before the number of the question's message
      open.find(({ message }) => !message && quoted?.from?.id === this.telegram.me.id) ??
      open.find(({ question }) => !question.options.length)
    );
  }

  #answerInWords({ key, question, answer }: Standing, words: string): void {
    const no = question.options.find(({ id }) => id === "n");
    if (question.options.length && !no) return;
    if (no) this.#reasons.set(key, words);
    tryTo(() => answer(no ? "n" : words));
  }

  /** Shows in the chat what came of a question, from wherever the answer was. */
  answered(name: string, answerText: string): void {
    for (const [token, standing] of this.#standing) {
      if (standing.question.name !== name) continue;
      this.#standing.delete(token);
      standing.cancelExpiry();
      const chosenOption = standing.question.options.find(({ id }) => id === answerText);
      const outcome = `→ ${chosenOption?.name ?? (answerText || "no answer")}`;
      void this.#close(standing, outcome).catch((error) => this.#afterwards(error));
    }
  }

  async #close({ key, sent }: Standing, outcome: string): Promise<void> {
    const message = await sent;
    if (!message) return;
    await closeQuestion(this.telegram, addressOf(key), message, outcome);
    this.#forgetQuestion(key, message.message);
  }

  #forgetQuestion(chatKey: string, message: number): void {
    this.book.changeChat(chatKey, (chat) => {
      chat.questions = chat.questions.filter((id) => id !== message);
    });
  }

  /** Their process is gone: no answer can count any more. */
  async #closeOldQuestions(): Promise<void> {
    for (const [chatKey, { questions }] of Object.entries(this.book.kept.chats))
      for (const message_id of questions) {
        const { chat_id } = addressOf(chatKey);
        await this.telegram.raw.editMessageReplyMarkup({ chat_id, message_id }).catch((error) => {
          if (isRevoked(error)) throw error; // else the person deleted it
        });
        this.#forgetQuestion(chatKey, message_id);
      }
  }
}

/** A chat, or a topic of one. */
const keyOf = (message: Pick<Message, "chat"> & Partial<Message>): string =>
  message.is_topic_message
    ? `${message.chat.id}:${message.message_thread_id}`
    : `${message.chat.id}`;

const entryFor = ({ chat }: Message) => ({
  title: chat.title ?? chat.username ?? chat.first_name ?? `${chat.id}`,
  sessions: {},
  queue: [],
  questions: [],
});

function newCode(): string {
  const letters = [...randomBytes(CODE_CHARS)].map((randomByte) => CODE_LETTERS[randomByte % 32]);
  return letters.join("");
}
