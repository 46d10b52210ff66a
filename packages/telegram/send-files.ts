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
export function assertFits(filePath: string): void {
  const fileStats = statSync(filePath, { throwIfNoEntry: false });
  if (!fileStats?.isFile())
    throw fault(`Cannot send '${filePath}': it is not a file. Check the path.`);
  if (fileStats.size === 0) throw fault(`Cannot send '${filePath}': it is empty.`);
  if (fileStats.size > MAX_UPLOAD_BYTES)
    throw fault(
      `Cannot send '${filePath}': it has ${Math.ceil(fileStats.size / 1_000_000)} MB, ` +
        `and Telegram takes at most ${MAX_UPLOAD_BYTES / 1_000_000} from a bot. ` +
        "Compress it, send a part of it, or say where it is.",
    );
}

/** Sends what a call has for the person; twice for the same call does it once. */
export async function sendFiles(
  bot: Bot,
  chatKey: string,
  pending: Pending,
  callName: string,
  filesToSend: Sent[],
): Promise<void> {
  const { telegram, ctx, book } = bot;
  for (const [fileIndex, fileToSend] of filesToSend.entries()) {
    const sentName = `${callName} ${fileIndex}`;
    if (pending.sent?.includes(sentName)) continue;
    const sendFile = async (): Promise<void> => {
      const keep = (waiting: Pending, messageId: number) => {
        waiting.files = { ...waiting.files, [sentName]: messageId };
      };
      const message_id = pending.files?.[sentName] ?? (await sendKept(bot, chatKey, pending, keep));
      const { chat_id } = addressOf(book.current(chatKey));
      const media = { type: "document" as const, media: fileOf(fileToSend) };
      await telegram.raw.editMessageMedia({ chat_id, message_id, media });
    };
    try {
      await sendFile().catch((error) => {
        if (!isMessageGone(error)) throw error;
        book.changePending(chatKey, pending, ({ files }) => void delete files?.[sentName]);
        return sendFile();
      });
    } catch (error) {
      if (isRevoked(error) || isChatGone(error)) throw error;
      if (!isMessageGone(error)) ctx.note(sentenceOf(error as Error));
    }
    book.changePending(chatKey, pending, (waiting) => {
      waiting.sent = [...(waiting.sent ?? []), sentName];
    });
  }
}

export function fileOf(fileToSend: Sent): InputFile {
  if ("file" in fileToSend) return fileToSend.file;
  assertFits(fileToSend.path);
  return new InputFile(readFileSync(fileToSend.path), path.basename(fileToSend.path));
}
