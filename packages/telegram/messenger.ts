// A message that nobody asked for, to a paired chat: from plugins, in any zz of this home.
import type { Ctx, Zz } from "zz";
import { unknown, usage } from "zz/text";
import { openTelegram } from "./api.ts";
import { Book } from "./book.ts";
import { partsOf } from "./markdown.ts";
import { addressOf, fill, sendEmpty } from "./say.ts";

/** `to` is the chat's name, as --telegram lists it; "": the private chats. */
export async function sendMessage(zz: Zz<any>, to: string, text: string, ctx: Ctx): Promise<void> {
  const keys = keysOf(new Book(ctx), to);
  const { endpoint = {} } = ctx.about.providers.find(({ name }) => name === "telegram") ?? {};
  const telegram = await openTelegram(zz, endpoint, ctx.signal, ctx.note);
  for (const key of keys)
    for (const part of partsOf(text)) {
      const address = addressOf(key);
      await fill(telegram, address, await sendEmpty(telegram, address), part);
    }
}

/** Private chats have the id of their person. */
export const privateKeys = ({ kept }: Book): string[] =>
  Object.keys(kept.chats).filter((key) => Object.hasOwn(kept.people, key));

function keysOf(book: Book, to: string): string[] {
  const chats = Object.entries(book.kept.chats);
  const keys = to
    ? chats.flatMap(([key, { title }]) => (title.toLowerCase() === to.toLowerCase() ? key : []))
    : privateKeys(book);
  if (keys.length) return keys;
  if (!chats.length)
    throw usage(
      "Cannot send this: no chat is paired. zz --telegram shows the code that pairs one.",
    );
  throw usage(
    `Cannot send this: ${unknown(
      "chat",
      to,
      chats.map(([, { title }]) => title),
    )}`,
  );
}
