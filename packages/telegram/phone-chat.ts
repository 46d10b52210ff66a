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

const RESUME_MESSAGE =
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

  constructor(bot: Bot, chatKey: string) {
    this.#bot = bot;
    this.#key = chatKey;
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
    const albumId = pending.messages[0]?.media_group_id;
    if (!albumId || pending.parts.length) return pending;
    await this.#bot.zz.io.clock.sleep(ALBUM_MS);
    let mergedPending = pending;
    this.#bot.book.changeChat(this.#key, (chatEntry) => {
      const isInAlbum = ({ messages }: Pending) => messages[0]?.media_group_id === albumId;
      const [firstPending, ...otherPendings] = chatEntry.queue.filter(isInAlbum);
      if (!firstPending) return;
      firstPending.messages.push(...otherPendings.flatMap(({ messages }) => messages));
      chatEntry.queue = chatEntry.queue.filter((waiting) => !otherPendings.includes(waiting));
      mergedPending = firstPending;
    });
    return mergedPending;
  }

  #change(pending: Pending, applyChange: (pending: Pending) => void): void {
    this.#bot.book.changePending(this.#key, pending, applyChange);
  }

  async #answer(pending: Pending): Promise<void> {
    const { book } = this.#bot;
    this.#current = pending;
    if (!pending.parts.length) {
      const answers = pending.messages[0]!.message_id;
      const keep = ({ parts }: Pending, id: number) => void parts.push(id);
      await sendKept(this.#bot, this.#key, pending, keep, answers);
    }
    if (pending.answer === undefined) {
      const answerText = await this.#answerTo(pending).catch((error) => {
        if (isRevoked(error) || isChatGone(error)) throw error;
        return sentenceOf(error);
      });
      this.#change(pending, (waiting) => {
        waiting.answer = answerText;
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
    const messageWords = wordsIn(pending.messages[0]!, this.#bot.telegram.me.username);
    const [, command = "", argumentText = ""] = /^\/(\w+)\s*(.*)$/s.exec(messageWords) ?? [];
    if (command === "start" || command === "help") return HELP_TEXT;
    if (command === "new") return this.#begin();
    if (command === "model" && argumentText) return this.#use(argumentText.trim());
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

  async #use(modelName: string): Promise<string> {
    await (await this.#open()).use(modelName);
    return `From now on, ${modelName} answers.`;
  }

  // ── The conversation ───────────────────────────────────────────────────────────────────────────

  /** The chat's conversation in this folder; a new one, if there is none or it is gone. */
  async #open(): Promise<Conversation> {
    const { conversations, ctx, book } = this.#bot;
    const savedName = this.#conversation?.id ?? book.chat(this.#key)?.sessions[ctx.root];
    this.#conversation =
      (savedName && (await this.#openNamed(savedName))) || (await conversations.begin());
    const { id } = this.#conversation;
    if (id !== savedName)
      book.changeChat(this.#key, ({ sessions }) => void (sessions[ctx.root] = id));
    return this.#conversation;
  }

  async #openNamed(savedName: string): Promise<Conversation | undefined> {
    for (let attempts = 0; ; attempts++)
      try {
        return await this.#bot.conversations.open(savedName);
      } catch (error) {
        const { message } = error as Error;
        // the process that had it was killed, and is still ending
        const isHeldOpen = /another zz .*has it open/.test(message);
        if (isHeldOpen && attempts < OPEN_TRIES) await this.#bot.zz.io.clock.sleep(500);
        else if (isHeldOpen) throw error;
        else return undefined;
      }
  }

  async #converse(pending: Pending): Promise<string> {
    const { telegram, folder } = this.#bot;
    const conversation = await this.#open();
    const key = `telegram ${pending.update}`;
    const turn = new Turn(this.#bot, this.#key, pending);
    if (conversation.last === key) {
      const { events } = conversation;
      const laterEvents = events.slice(events.findLastIndex(({ type }) => type === "user") + 1);
      const isCommand = wordsIn(pending.messages[0]!, telegram.me.username).startsWith("/");
      if (isCommand) return "zz was ended while it did this. See what came of it.";
      for (const event of laterEvents) turn.hear(event);
      if (laterEvents.findLast(({ type }) => type === "text" || type === "call")?.type === "text")
        return turn.ended();
      return turn.run(conversation, () => conversation.send(RESUME_MESSAGE, { key }));
    }
    const askedMessage = await readMessages(pending.messages, telegram, folder);
    return turn.run(conversation, () =>
      conversation.send(askedMessage.text, { ...askedMessage.along, key }),
    );
  }

  /** Stops the turn, if one is under way. */
  async stop(): Promise<void> {
    await this.#conversation?.stop();
  }

  // ── The answer ─────────────────────────────────────────────────────────────────────────────────

  async #deliver(pending: Pending): Promise<void> {
    const { telegram } = this.#bot;
    const { answer = "" } = pending;
    const allParts = partsOf(answer);
    const messageParts = allParts.slice(0, MAX_PARTS);
    for (let partIndex = pending.edited ?? 0; partIndex < messageParts.length; partIndex++) {
      for (;;) {
        if (pending.parts[partIndex] === undefined) {
          const keep = ({ parts }: Pending, id: number) => void (parts[partIndex] = id);
          await sendKept(this.#bot, this.#key, pending, keep);
        }
        if (
          await fill(telegram, this.#address, pending.parts[partIndex]!, messageParts[partIndex]!)
        )
          break;
        this.#change(pending, (waiting) => void (waiting.parts.length = partIndex));
      }
      this.#change(pending, (waiting) => void (waiting.edited = partIndex + 1));
    }
    if (allParts.length > messageParts.length) {
      const file = new InputFile(Buffer.from(answer), "answer.md");
      await sendFiles(this.#bot, this.#key, pending, "answer", [{ file, name: "answer.md" }]);
    }
  }
}

const HELP_TEXT =
  "Say what is to be done; pictures and files may come along.\n\n" +
  "/new begins a new conversation, /model changes the model, " +
  "/undo takes back the last change, /stop stops. " +
  "/who lists who is paired, /leave ends the pairing of this chat.";

/** A turn while it runs, and what it came to. */
class Turn {
  readonly #bot: Bot;
  readonly #key: string;
  readonly #pending: Pending;
  readonly #progress: Progress;
  readonly #texts: string[] = [];
  #sending: Promise<unknown> = Promise.resolve();
  #end: ((outcome: string) => void) | undefined;

  constructor(bot: Bot, chatKey: string, pending: Pending) {
    this.#bot = bot;
    this.#key = chatKey;
    this.#pending = pending;
    this.#progress = new Progress(bot, addressOf(chatKey), pending.parts[0]!);
  }

  async run(conversation: Conversation, beginTurn: () => void): Promise<string> {
    const turnOutcome = new Promise<string>((resolve) => {
      this.#end = resolve;
    });
    const silence = conversation.listen((event) => this.hear(event, conversation));
    const stopTyping = this.#showTyping();
    try {
      beginTurn();
      const outcome = await turnOutcome;
      return await this.ended(outcome);
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
    const filePaths = shown.flatMap((shownPart) =>
      shownPart.type === "file" ? [shownPart.path] : [],
    );
    if (!filePaths.length || status === "failed") return;
    this.#sending = this.#sending.then(() =>
      sendFiles(
        this.#bot,
        this.#key,
        this.#pending,
        name,
        filePaths.map((path) => ({ path })),
      ),
    );
  }

  /** The whole answer, once all files are there. */
  async ended(outcome = "end_turn"): Promise<string> {
    await this.#sending;
    await this.#progress.end();
    const outcomeNote = OUTCOMES[outcome];
    return (
      [...this.#texts, ...(outcomeNote ? [outcomeNote] : [])].filter(Boolean).join("\n\n") ||
      "Done."
    );
  }

  #showTyping(): () => void {
    const { zz, telegram } = this.#bot;
    let cancelTimer: () => void;
    const showAction = () => {
      const typingAction = { ...addressOf(this.#key), action: "typing" as const };
      telegram.hasty.sendChatAction(typingAction).catch(() => {}); // the next one shows it
      cancelTimer = zz.io.clock.timer(TYPING_MS, showAction);
    };
    showAction();
    return () => cancelTimer();
  }
}

const OUTCOMES: Record<string, string> = {
  cancelled: "Stopped.",
  max_tokens: "(The answer was cut off: it was too long.)",
  max_turn_requests: "(Stopped at a limit. “go on” goes on.)",
};
