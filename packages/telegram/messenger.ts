// A message that nobody asked for, to a paired chat: from plugins, in any zz of this home.
import type { Ctx, Zz } from "zz";
import { unknown, usage } from "zz/text";
import { openTelegram } from "./api.ts";
import { Book } from "./book.ts";
import { partsOf } from "./markdown.ts";
import { addressOf, fill, sendEmpty } from "./say.ts";

/** `to` is the chat's name, as --telegram lists it; "": the private chats. */
export async function sendMessage(
  zz: Zz<any>,
  to: string,
  messageText: string,
  ctx: Ctx,
): Promise<void> {
  const chatKeys = chatKeysOf(new Book(ctx), to);
  const telegram = await openTelegram(zz, ctx, ctx.signal);
  for (const chatKey of chatKeys)
    for (const messagePart of partsOf(messageText)) {
      const address = addressOf(chatKey);
      await fill(telegram, address, await sendEmpty(telegram, address), messagePart);
    }
}

/** Private chats have the id of their person. */
export const privateKeys = ({ kept }: Book): string[] =>
  Object.keys(kept.chats).filter((chatKey) => Object.hasOwn(kept.people, chatKey));

function chatKeysOf(book: Book, to: string): string[] {
  const chatEntries = Object.entries(book.kept.chats);
  const matchingKeys = to
    ? chatEntries.flatMap(([chatKey, { title }]) =>
        title.toLowerCase() === to.toLowerCase() ? chatKey : [],
      )
    : privateKeys(book);
  if (matchingKeys.length) return matchingKeys;
  if (!chatEntries.length)
    throw usage(
      "Cannot send this: no chat is paired. zz --telegram shows the code that pairs one.",
    );
  throw usage(
    `Cannot send this: ${unknown(
      "chat",
      to,
      chatEntries.map(([, { title }]) => title),
    )}`,
  );
}
