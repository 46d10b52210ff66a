// What --telegram remembers, in a file of the home: who is paired, which conversation a chat has,
// and each message until it is answered, with how far its answer has come. All of it is on disk
// before the next step is taken, so that a process that is killed loses nothing and says nothing
// twice.
import type { Message } from "grammy/types";
import type { Ctx } from "zz";

const BOOK_FILE = "telegram.json";
const MAX_SEEN = 1_000; // ids of updates, by which one that comes again is known

/** A message that is not answered yet. Fields come in this order. */
export interface Pending {
  update: number;
  messages: Message[]; // several: an album
  parts: number[]; // the messages that hold the answer, or will
  answer?: string; // all of it
  edited?: number; // how many of its parts stand in their messages
  files?: Record<string, number>; // files that were sent, by their call: the messages
  sent?: string[]; // calls whose files are in their messages
  sending?: number; // a message is sent whose number is not known yet: it comes after this one
}
interface ChatEntry {
  title: string;
  sessions: Record<string, string>; // by folder: the name of its conversation
  queue: Pending[];
  questions: number[]; // messages with buttons
}
export interface Kept {
  people: Record<string, string>; // names, by the id of Telegram
  chats: Record<string, ChatEntry>; // by the chat's id, and the topic's
  seen: number[];
  moved: Record<string, string>; // chats that have become others, by their old ids
}

/** A chat's key in the book is its id and, in a forum, the topic's. */
export const chatIdOf = (chatKey: string): string => chatKey.split(":")[0]!;

export class Book {
  #kept!: Kept;
  readonly #ctx: Pick<Ctx, "keep">;

  constructor(ctx: Pick<Ctx, "keep">) {
    this.#ctx = ctx;
    this.change(() => {});
  }

  get kept(): Readonly<Kept> {
    return this.#kept;
  }

  change(applyChange: (keptBook: Kept) => void): void {
    this.#ctx.keep(BOOK_FILE, (fileText) => {
      const keptBook = parseBook(fileText);
      applyChange(keptBook);
      keptBook.seen = keptBook.seen.slice(-MAX_SEEN);
      this.#kept = keptBook;
      return `${JSON.stringify(keptBook, null, 1)}\n`;
    });
  }

  /** Where the chat with this key is now. */
  current(chatKey: string): string {
    const movedKey = this.#kept.moved[chatIdOf(chatKey)];
    return movedKey === undefined ? chatKey : this.current(movedKey);
  }

  chat(chatKey: string): Readonly<ChatEntry> | undefined {
    return this.#kept.chats[this.current(chatKey)];
  }

  changeChat(chatKey: string, applyChange: (chatEntry: ChatEntry) => void): void {
    this.change(({ chats }) => {
      const chatEntry = chats[this.current(chatKey)];
      if (chatEntry) applyChange(chatEntry);
    });
  }

  /** Changes a message that waits, and the same in the file. */
  changePending(chatKey: string, pending: Pending, applyChange: (pending: Pending) => void): void {
    applyChange(pending);
    this.changeChat(chatKey, ({ queue }) => {
      const keptPending = queue.find(({ update }) => update === pending.update);
      if (keptPending) applyChange(keptPending);
    });
  }
}

function parseBook(fileText: string): Kept {
  let parsedBook: Partial<Kept> = {};
  try {
    parsedBook = Object(JSON.parse(fileText));
  } catch {} // there is none yet
  const { people = {}, chats = {}, seen = [], moved = {} } = parsedBook;
  return { people, chats, seen, moved };
}
