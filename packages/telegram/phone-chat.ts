// One chat: its messages are answered one after the other, each in the chat's conversation.
import type { Conversation, ConversationEvent } from "zz";
import { sentenceOf } from "zz/text";
import { InputFile, isChatGone, isRevoked } from "./api.ts";
import type { Pending } from "./book.ts";
import type { Bot } from "./bot.ts";
import { readMessages, wordsIn } from "./incoming.ts";
import { partsOf } from "./markdown.ts";
import { forgetMessages } from "./pairing.ts";
import { type Address, addressOf, fill, Progress, sendKept } from "./say.ts";
import { sendFiles } from "./send-files.ts";

const GO_ON =
  "(zz was ended before this was answered. Go on where you were, and answer my last message.)";
const TYPING_MS = 4_500; // Telegram shows it for five seconds
const OPEN_TRIES = 20;
const ALBUM_MS = 1_000; // its messages come one by one
const MAX_PARTS = 10; // of an answer; what is longer is a file, too

export class Chat {
  readonly #bot: Bot;
  readonly #key: string;
  #conversation: Conversation | undefined;
  #isWorking = false;
  #current: Pending | undefined; // which is answered now

  constructor(bot: Bot, key: string) {
    this.#bot = bot;
    this.#key = key;
  }

  /** Answers what waits, unless that is under way. */
  work(): void {
    if (this.#isWorking) return;
    this.#isWorking = true;
    void this.#answerAll()
      .catch((error) => this.#bot.fail(error))
      .finally(() => {
        this.#isWorking = false;
      });
  }

  async #answerAll(): Promise<void> {
    for (;;) {
      const [pending] = this.#bot.book.chat(this.#key)?.queue ?? [];
      if (!pending) return;
      try {
        await this.#answer(await this.#wholeAlbum(pending));
      } catch (error) {
        if (isRevoked(error) || !isChatGone(error)) throw error;
        this.#bot.ctx.note(`Cannot reach the chat '${this.#title}': ${sentenceOf(error as Error)}`);
      }
      this.#bot.book.changeChat(this.#key, ({ queue }) => {
        queue.splice(
          queue.findIndex(({ update }) => update === pending.update),
          1,
        );
      });
    }
  }

  get #address(): Address {
    return addressOf(this.#bot.book.current(this.#key));
  }

  get #title(): string {
    return this.#bot.book.chat(this.#key)?.title ?? this.#key;
  }

  /** The pictures of an album are messages of their own, which belong together. */
  async #wholeAlbum(pending: Pending): Promise<Pending> {
    const album = pending.messages[0]?.media_group_id;
    if (!album || pending.parts.length) return pending;
    await this.#bot.zz.io.clock.sleep(ALBUM_MS);
    let whole = pending;
    this.#bot.book.changeChat(this.#key, (chat) => {
      const isOfIt = ({ messages }: Pending) => messages[0]?.media_group_id === album;
      const [first, ...others] = chat.queue.filter(isOfIt);
      if (!first) return;
      first.messages.push(...others.flatMap(({ messages }) => messages));
      chat.queue = chat.queue.filter((waiting) => !others.includes(waiting));
      whole = first;
    });
    return whole;
  }

  #change(pending: Pending, act: (pending: Pending) => void): void {
    act(pending);
    this.#bot.book.changePending(this.#key, pending.update, act);
  }

  async #answer(pending: Pending): Promise<void> {
    const { telegram, book } = this.#bot;
    this.#current = pending;
    const change = (act: (waiting: Pending) => void) => this.#change(pending, act);
    if (!pending.parts.length) {
      const answers = pending.messages[0]!.message_id;
      const keep = ({ parts }: Pending, id: number) => void parts.push(id);
      await sendKept(telegram, this.#address, pending, change, { keep, answers });
    }
    if (pending.answer === undefined) {
      const answer = await this.#answerTo(pending).catch((error) => {
        if (isRevoked(error) || isChatGone(error)) throw error;
        return sentenceOf(error);
      });
      this.#change(pending, (waiting) => {
        waiting.answer = answer;
      });
    }
    book.change(() => {}); // another zz may have ended the pairing
    if (book.chat(this.#key)) await this.#deliver(pending);
  }

  /** The group is another chat now. */
  moved(): void {
    if (this.#current) forgetMessages(this.#current);
  }

  /** It is not paired any more. */
  async end(): Promise<void> {
    await this.#conversation?.stop();
    await this.#conversation?.close();
  }

  async #answerTo(pending: Pending): Promise<string> {
    const words = wordsIn(pending.messages[0]!, this.#bot.telegram.me.username);
    const [, command = "", rest = ""] = /^\/(\w+)\s*(.*)$/s.exec(words) ?? [];
    if (command === "start" || command === "help") return HELP;
    if (command === "new") return this.#begin();
    if (command === "model" && rest) return this.#use(rest.trim());
    return this.#converse(pending);
  }

  async #begin(): Promise<string> {
    const conversation = this.#conversation;
    this.#conversation = undefined;
    this.#bot.book.changeChat(
      this.#key,
      ({ sessions }) => void delete sessions[this.#bot.ctx.root],
    );
    await conversation?.close();
    return "A new conversation.";
  }

  async #use(model: string): Promise<string> {
    await (await this.#open()).use(model);
    return `From now on, ${model} answers.`;
  }

  // ── The conversation ───────────────────────────────────────────────────────────────────────────

  /** The chat's conversation in this folder; a new one, if there is none or it is gone. */
  async #open(): Promise<Conversation> {
    const { conversations, ctx, book } = this.#bot;
    const name = this.#conversation?.id ?? book.chat(this.#key)?.sessions[ctx.root];
    this.#conversation = (name && (await this.#openNamed(name))) || (await conversations.begin());
    const { id } = this.#conversation;
    if (id !== name) book.changeChat(this.#key, ({ sessions }) => void (sessions[ctx.root] = id));
    return this.#conversation;
  }

  async #openNamed(name: string): Promise<Conversation | undefined> {
    for (let tries = 0; ; tries++)
      try {
        return await this.#bot.conversations.open(name);
      } catch (error) {
        const { message } = error as Error;
        // the process that had it was killed, and is still ending
        const isHeld = /another zz .*has it open/.test(message);
        if (isHeld && tries < OPEN_TRIES) await this.#bot.zz.io.clock.sleep(500);
        else if (isHeld) throw error;
        else return undefined;
      }
  }

  async #converse(pending: Pending): Promise<string> {
    const { telegram, folder } = this.#bot;
    const conversation = await this.#open();
    const key = `telegram ${pending.update}`;
    const turn = new Turn(this.#bot, this.#key, pending, (act) => this.#change(pending, act));
    if (conversation.last === key) {
      const said = sinceLastMessage(conversation.events);
      const isCommand = wordsIn(pending.messages[0]!, telegram.me.username).startsWith("/");
      if (isCommand) return "zz was ended while it did this. See what came of it.";
      for (const event of said) turn.hear(event);
      if (said.findLast(({ type }) => type === "text" || type === "call")?.type === "text")
        return turn.ended();
      return turn.run(conversation, () => conversation.send(GO_ON, { key }));
    }
    const asked = await readMessages(pending.messages, telegram, folder);
    return turn.run(conversation, () => conversation.send(asked.text, { ...asked.along, key }));
  }

  /** Stops the turn, if one is under way. */
  async stop(): Promise<void> {
    await this.#conversation?.stop();
  }

  // ── The answer ─────────────────────────────────────────────────────────────────────────────────

  async #deliver(pending: Pending): Promise<void> {
    const { telegram } = this.#bot;
    const { answer = "" } = pending;
    const whole = partsOf(answer);
    const parts = whole.slice(0, MAX_PARTS);
    for (let index = pending.edited ?? 0; index < parts.length; index++) {
      for (;;) {
        if (pending.parts[index] === undefined) {
          const keep = ({ parts }: Pending, id: number) => void (parts[index] = id);
          const change = (act: (waiting: Pending) => void) => this.#change(pending, act);
          await sendKept(telegram, this.#address, pending, change, { keep });
        }
        if (await fill(telegram, this.#address, pending.parts[index]!, parts[index]!)) break;
        this.#change(pending, (waiting) => void (waiting.parts.length = index));
      }
      this.#change(pending, (waiting) => void (waiting.edited = index + 1));
    }
    if (whole.length > parts.length) {
      const file = new InputFile(Buffer.from(answer), "answer.md");
      await sendFiles(this.#bot, this.#key, pending, "answer", [{ file, name: "answer.md" }]);
    }
  }
}

const HELP =
  "Say what is to be done; pictures and files may come along.\n\n" +
  "/new begins a new conversation, /model changes the model, /undo takes back the last change, /stop stops. " +
  "/who lists who is paired, /leave ends the pairing of this chat.";

/** What came after the person's last message. */
function sinceLastMessage(events: readonly ConversationEvent[]): readonly ConversationEvent[] {
  return events.slice(events.findLastIndex(({ type }) => type === "user") + 1);
}

/** A turn while it runs, and what it came to. */
class Turn {
  readonly #bot: Bot;
  readonly #key: string;
  readonly #pending: Pending;
  readonly #change: (act: (pending: Pending) => void) => void;
  readonly #progress: Progress;
  readonly #texts: string[] = [];
  #sending: Promise<unknown> = Promise.resolve();
  #end: ((why: string) => void) | undefined;

  constructor(
    bot: Bot,
    key: string,
    pending: Pending,
    change: (act: (pending: Pending) => void) => void,
  ) {
    this.#bot = bot;
    this.#key = key;
    this.#pending = pending;
    this.#change = change;
    const { clock } = bot.zz.io;
    const after = (ms: number, act: () => void) => clock.timer(ms, act);
    this.#progress = new Progress(bot.telegram, addressOf(key), pending.parts[0]!, after);
  }

  async run(conversation: Conversation, begin: () => void): Promise<string> {
    const over = new Promise<string>((resolve) => {
      this.#end = resolve;
    });
    const silence = conversation.listen((event) => this.hear(event, conversation));
    const stopTyping = this.#showTyping();
    try {
      begin();
      const why = await over;
      return await this.ended(why);
    } finally {
      silence();
      stopTyping();
      await this.#progress.end();
    }
  }

  hear(event: ConversationEvent, conversation?: Conversation): void {
    if (event.type === "text") this.#texts.push(event.text.trim());
    if (event.type === "call") this.#hearCall(event);
    if (event.type === "failed") this.#texts.push(event.text);
    if (event.type === "end" || event.type === "failed") this.#end?.(event.text);
    if (!conversation) return;
    if (event.type === "question") this.#bot.ask(this.#key, event, conversation);
    if (event.type === "answered") this.#bot.answered(event.name, event.text);
  }

  #hearCall({ name, text, status, shown }: ConversationEvent & { type: "call" }): void {
    if (text) this.#progress.show(`⚙ ${text}`);
    const files = shown.flatMap((part) => (part.type === "file" ? [part.path] : []));
    if (!files.length || status === "failed") return;
    this.#sending = this.#sending.then(() =>
      sendFiles(
        this.#bot,
        this.#key,
        this.#pending,
        name,
        files.map((path) => ({ path })),
        this.#change,
      ),
    );
  }

  /** The whole answer, once all files are there. */
  async ended(why = "end_turn"): Promise<string> {
    await this.#sending;
    await this.#progress.end();
    const note = OUTCOMES[why];
    return [...this.#texts, ...(note ? [note] : [])].filter(Boolean).join("\n\n") || "Done.";
  }

  #showTyping(): () => void {
    const { zz, telegram } = this.#bot;
    let cancel: () => void;
    const show = () => {
      const action = { ...addressOf(this.#key), action: "typing" as const };
      telegram.hasty.sendChatAction(action).catch(() => {}); // the next one shows it
      cancel = zz.io.clock.timer(TYPING_MS, show);
    };
    show();
    return () => cancel();
  }
}

const OUTCOMES: Record<string, string> = {
  cancelled: "Stopped.",
  max_tokens: "(The answer was cut off: it was too long.)",
  max_turn_requests: "(Stopped at a limit. “go on” goes on.)",
};
