// Who is paired, and where: listed, ended, and kept where a group becomes another chat.
import type { Message } from "grammy/types";
import type { Ctx, Result } from "zz";
import { unknown, usage } from "zz/text";
import { Book, chatIdOf, type Kept, type Pending } from "./book.ts";

export function pairedAsText({ people, chats }: Readonly<Kept>): string {
  const nameWithId = ([id, pairedName]: [string, string]) => `${pairedName} (${id})`;
  const chatTitles = new Map(
    Object.entries(chats).map(([chatKey, { title }]) => [chatIdOf(chatKey), title]),
  );
  if (!chatTitles.size) return "No chat is paired. zz --telegram shows the code that pairs one.";
  return [
    `People: ${Object.entries(people).map(nameWithId).join(", ")}`,
    `Chats: ${[...chatTitles].map(nameWithId).join(", ")}`,
  ].join("\n");
}

/** `name` is an id, or the name of a person or a chat. Gives what is not paired any more. */
export function unpair(keptBook: Kept, name: string): string {
  const wantedName = name.trim().replace(/^@/, "").toLowerCase();
  const allPaired = [
    ...Object.entries(keptBook.people),
    ...Object.entries(keptBook.chats).map(
      ([chatKey, { title }]) => [chatIdOf(chatKey), title] as const,
    ),
  ];
  const fitting = allPaired.filter(
    ([id, pairedName]) => id === wantedName || pairedName.toLowerCase() === wantedName,
  );
  const matchingIds = [...new Set(fitting.map(([id]) => id))];
  if (!allPaired.length) throw usage("Cannot unpair this: no chat is paired.");
  if (!matchingIds.length)
    throw usage(
      `Cannot unpair this: ${unknown("chat or person", name, new Set(allPaired.flat()))}`,
    );
  if (matchingIds.length > 1)
    throw usage(
      `Cannot unpair '${name}': ${matchingIds.join(" and ")} have that name. Give the number.`,
    );
  removeChat(keptBook, matchingIds[0]!);
  return fitting[0]![1];
}

/** The chat with all of its topics, and the person whose own it is. */
export function removeChat(keptBook: Kept, id: string): void {
  delete keptBook.people[id];
  for (const chatKey of Object.keys(keptBook.chats))
    if (chatIdOf(chatKey) === id) delete keptBook.chats[chatKey];
  // those who are left could speak nowhere, or nobody could
  if (!Object.keys(keptBook.chats).length) keptBook.people = {};
  if (!Object.keys(keptBook.people).length) keptBook.chats = {};
}

/** --phones, and /phones at the prompt: [remove NAME]. */
export function obeyPhones(typedWords: string, ctx: Ctx): Result {
  const [verb = "", ...nameWords] = typedWords.trim().split(/\s+/);
  const book = new Book(ctx);
  if (!verb) return { text: pairedAsText(book.kept) };
  const removedName = nameWords.join(" ");
  if (!/^(remove|drop)$/.test(verb) || !removedName)
    throw usage(`Cannot do '${typedWords.trim()}': it is 'remove', and then a name or a number.`);
  let removedTitle = "";
  book.change((keptBook) => {
    removedTitle = unpair(keptBook, removedName);
  });
  return { text: `'${removedTitle}' is not paired any more.` };
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
export function moveChat(keptBook: Kept, oldChatId: number, newChatId: number): boolean {
  const movedKeys = Object.keys(keptBook.chats).filter(
    (chatKey) => chatIdOf(chatKey) === `${oldChatId}`,
  );
  for (const movedKey of movedKeys) {
    const { [movedKey]: chatEntry } = keptBook.chats;
    delete keptBook.chats[movedKey];
    for (const pending of chatEntry!.queue) forgetMessages(pending);
    const { queue = [], sessions = {} } = keptBook.chats[`${newChatId}`] ?? {};
    keptBook.chats[`${newChatId}`] = {
      ...chatEntry!,
      questions: [], // nobody can press their buttons there
      sessions: { ...chatEntry!.sessions, ...sessions },
      queue: [...chatEntry!.queue, ...queue],
    };
  }
  if (movedKeys.length) keptBook.moved[`${oldChatId}`] = `${newChatId}`;
  return movedKeys.length > 0;
}

/** Its messages cannot be edited where it is now: what is unfinished gets others. */
export function forgetMessages(pending: Pending): void {
  pending.parts.length = Math.min(pending.parts.length, pending.edited ?? 0);
  delete pending.files;
  delete pending.sending;
}
