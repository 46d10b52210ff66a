// Who is paired, and where: listed, ended, and kept where a group becomes another chat.
import type { Message } from "grammy/types";
import type { Ctx, Result } from "zz";
import { unknown, usage } from "zz/text";
import { Book, type Kept, type Pending } from "./book.ts";

const idOf = (key: string): string => key.split(":")[0]!;

export function pairedAsText({ people, chats }: Readonly<Kept>): string {
  const named = ([id, name]: [string, string]) => `${name} (${id})`;
  const places = new Map(Object.entries(chats).map(([key, { title }]) => [idOf(key), title]));
  if (!places.size) return "No chat is paired. zz --telegram shows the code that pairs one.";
  return [
    `People: ${Object.entries(people).map(named).join(", ")}`,
    `Chats: ${[...places].map(named).join(", ")}`,
  ].join("\n");
}

/** `name` is an id, or the name of a person or a chat. Gives what is not paired any more. */
export function unpair(kept: Kept, name: string): string {
  const wanted = name.trim().replace(/^@/, "").toLowerCase();
  const all = [
    ...Object.entries(kept.people),
    ...Object.entries(kept.chats).map(([key, { title }]) => [idOf(key), title] as const),
  ];
  const fitting = all.filter(([id, title]) => id === wanted || title.toLowerCase() === wanted);
  const ids = [...new Set(fitting.map(([id]) => id))];
  if (!all.length) throw usage("Cannot unpair this: no chat is paired.");
  if (!ids.length)
    throw usage(`Cannot unpair this: ${unknown("chat or person", name, new Set(all.flat()))}`);
  if (ids.length > 1)
    throw usage(`Cannot unpair '${name}': ${ids.join(" and ")} have that name. Give the number.`);
  removeChat(kept, ids[0]!);
  return fitting[0]![1];
}

/** The chat with all of its topics, and the person whose own it is. */
export function removeChat(kept: Kept, id: string): void {
  delete kept.people[id];
  for (const key of Object.keys(kept.chats)) if (idOf(key) === id) delete kept.chats[key];
  // those who are left could speak nowhere, or nobody could
  if (!Object.keys(kept.chats).length) kept.people = {};
  if (!Object.keys(kept.people).length) kept.chats = {};
}

/** --phones, and /phones at the prompt: [remove NAME]. */
export function obeyPhones(words: string, ctx: Ctx): Result {
  const [verb = "", ...rest] = words.trim().split(/\s+/);
  const book = new Book(ctx);
  if (!verb) return { text: pairedAsText(book.kept) };
  const name = rest.join(" ");
  if (!/^(remove|drop)$/.test(verb) || !name)
    throw usage(`Cannot do '${words.trim()}': it is 'remove', and then a name or a number.`);
  let title = "";
  book.change((kept) => {
    title = unpair(kept, name);
  });
  return { text: `'${title}' is not paired any more.` };
}

// ── Groups that become supergroups ───────────────────────────────────────────────────────────────

/** The chats that a service message says are one: the old id and the new one. */
export function moveIn({
  chat,
  migrate_to_chat_id: to,
  migrate_from_chat_id: from,
}: Message): [from: number, to: number] | undefined {
  if (to) return [chat.id, to];
  return from ? [from, chat.id] : undefined;
}

/** Its conversation and what waits follow. False: it is not paired, or has followed. */
export function moveChat(kept: Kept, from: number, to: number): boolean {
  const keys = Object.keys(kept.chats).filter((key) => idOf(key) === `${from}`);
  for (const key of keys) {
    const { [key]: entry } = kept.chats;
    delete kept.chats[key];
    for (const pending of entry!.queue) forgetMessages(pending);
    const { queue = [], sessions = {} } = kept.chats[`${to}`] ?? {};
    kept.chats[`${to}`] = {
      ...entry!,
      questions: [], // nobody can press their buttons there
      sessions: { ...entry!.sessions, ...sessions },
      queue: [...entry!.queue, ...queue],
    };
  }
  if (keys.length) kept.moved[`${from}`] = `${to}`;
  return keys.length > 0;
}

/** Its messages cannot be edited where it is now: what is unfinished gets others. */
export function forgetMessages(pending: Pending): void {
  pending.parts.length = Math.min(pending.parts.length, pending.edited ?? 0);
  delete pending.files;
  delete pending.sending;
}
