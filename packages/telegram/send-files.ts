// Files to the phone: each into a message that was sent empty, so that it comes once.
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { fault, sentenceOf } from "zz/text";
import { InputFile, isChatGone, isMessageGone, isRevoked } from "./api.ts";
import type { Pending } from "./book.ts";
import type { Bot } from "./bot.ts";
import { MAX_UPLOAD_BYTES } from "./limits.ts";
import { addressOf, sendKept } from "./say.ts";

type Sent = { path: string } | { file: InputFile; name: string };

/** Throws a sentence if Telegram would not take the file. */
export function assertFits(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (!stats?.isFile()) throw fault(`Cannot send '${file}': it is not a file. Check the path.`);
  if (stats.size === 0) throw fault(`Cannot send '${file}': it is empty.`);
  if (stats.size > MAX_UPLOAD_BYTES)
    throw fault(
      `Cannot send '${file}': it has ${Math.ceil(stats.size / 1_000_000)} MB, and Telegram takes at most ${MAX_UPLOAD_BYTES / 1_000_000} from a bot. Compress it, send a part of it, or say where it is.`,
    );
}

/** Sends what a call has for the person; twice for the same call does it once. */
export async function sendFiles(
  bot: Bot,
  key: string,
  pending: Pending,
  call: string,
  files: Sent[],
  change = (act: (pending: Pending) => void) => {
    act(pending);
    bot.book.changePending(key, pending.update, act);
  },
): Promise<void> {
  const { telegram, ctx } = bot;
  const address = addressOf(key);
  for (const [index, sent] of files.entries()) {
    const name = `${call} ${index}`;
    if (pending.sent?.includes(name)) continue;
    const send = async (): Promise<void> => {
      const keep = (waiting: Pending, made: number) => {
        waiting.files = { ...waiting.files, [name]: made };
      };
      const message_id =
        pending.files?.[name] ?? (await sendKept(telegram, address, pending, change, { keep }));
      const { chat_id } = addressOf(bot.book.current(key));
      const media = { type: "document" as const, media: fileOf(sent) };
      await telegram.raw.editMessageMedia({ chat_id, message_id, media });
    };
    try {
      await send().catch((error) => {
        if (!isMessageGone(error)) throw error;
        change((waiting) => void delete waiting.files?.[name]);
        return send();
      });
    } catch (error) {
      if (isRevoked(error) || isChatGone(error)) throw error;
      if (!isMessageGone(error)) ctx.note(sentenceOf(error as Error));
    }
    change((waiting) => {
      waiting.sent = [...(waiting.sent ?? []), name];
    });
  }
}

export function fileOf(sent: Sent): InputFile {
  if ("file" in sent) return sent.file;
  assertFits(sent.path);
  return new InputFile(readFileSync(sent.path), path.basename(sent.path));
}
