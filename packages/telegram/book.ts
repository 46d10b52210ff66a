// What --telegram remembers, in a file of the home: who is paired, which conversation a chat has,
// and each message until it is answered, with how far its answer has come. All of it is on disk
// before the next step is taken, so that a process that is killed loses nothing and says nothing
// twice.
import type { Message } from "grammy/types";
import type { Ctx } from "zz";

const FILE = "telegram.json";
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

export class Book {
  #kept: Kept;
  readonly #ctx: Pick<Ctx, "keep">;

  constructor(ctx: Pick<Ctx, "keep">) {
    this.#ctx = ctx;
    this.#kept = this.change(() => {});
  }

  get kept(): Readonly<Kept> {
    return this.#kept;
  }

  change(act: (kept: Kept) => void): Kept {
    this.#ctx.keep(FILE, (text) => {
      const kept = parsed(text);
      act(kept);
      kept.seen = kept.seen.slice(-MAX_SEEN);
      this.#kept = kept;
      return `${JSON.stringify(kept, null, 1)}\n`;
    });
    return this.#kept;
  }

  /** Where the chat with this key is now. */
  current(key: string): string {
    const to = this.#kept.moved[key.split(":")[0]!];
    return to === undefined ? key : this.current(to);
  }

  chat(key: string): Readonly<ChatEntry> | undefined {
    return this.#kept.chats[this.current(key)];
  }

  changeChat(key: string, act: (chat: ChatEntry) => void): void {
    this.change(({ chats }) => {
      const chat = chats[this.current(key)];
      if (chat) act(chat);
    });
  }

  /** Changes a message that waits, and gives it as it is now; undefined: it is answered. */
  changePending(key: string, update: number, act: (pending: Pending) => void): Pending | undefined {
    let pending: Pending | undefined;
    this.changeChat(key, ({ queue }) => {
      pending = queue.find((waiting) => waiting.update === update);
      if (pending) act(pending);
    });
    return pending;
  }
}

function parsed(text: string): Kept {
  let kept: Partial<Kept> = {};
  try {
    kept = Object(JSON.parse(text));
  } catch {} // there is none yet
  const { people = {}, chats = {}, seen = [], moved = {} } = kept;
  return { people, chats, seen, moved };
}
