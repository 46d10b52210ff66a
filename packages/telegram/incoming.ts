// What a message from Telegram asks: its words, pictures, and files, which are kept in the home.
import { mkdirSync } from "node:fs";
import path from "node:path";
import type { Message } from "grammy/types";
import type { SentAlong } from "zz";
import { fault, writeWhole } from "zz/text";
import { descriptionOf, type Telegram } from "./api.ts";
import { MAX_DOWNLOAD_BYTES } from "./limits.ts";

export interface Asked {
  text: string;
  along: SentAlong;
}
interface Attached {
  id: string;
  name: string;
  bytes: number;
  type: string;
  isPicture: boolean; // the model sees it
}

const MAX_PICTURE_BYTES = 5_000_000; // of a file that is one
const PICTURE = /^image\/(png|jpeg|gif|webp)$/;

/** The words, without the mention of the bot. */
export function wordsIn({ text, caption }: Message, username: string): string {
  const mention = new RegExp(`@${username}\\b`, "gi");
  return (text ?? caption ?? "").replace(mention, "").trim();
}

/** Fetches what hangs on the messages, and says what is asked with them. */
export async function readMessages(
  messages: Message[],
  telegram: Telegram,
  folder: string,
): Promise<Asked> {
  const texts = messages.map((message) => wordsIn(message, telegram.me.username));
  const [first] = messages;
  const quoted = first?.reply_to_message;
  if (first?.chat.type !== "private" && quoted && quoted.from?.id !== telegram.me.id)
    texts.unshift(`In reply to:\n${wordsIn(quoted, "").replace(/^/gm, "> ")}`);
  const images: NonNullable<SentAlong["images"]> = [];
  const files: string[] = [];
  for (const message of messages)
    for (const attached of attachedTo(message)) {
      const bytes = await fetchFile(attached, telegram);
      const base64 = Buffer.from(bytes).toString("base64");
      if (attached.isPicture) images.push({ type: attached.type, base64 });
      if (attached.isPicture && message.photo) continue; // it has no name that the person gave it
      files.push(keepFile(folder, `${message.message_id}-${attached.name}`, bytes));
    }
  const text = texts.filter(Boolean).join("\n\n");
  if (!text && !images.length && !files.length)
    throw fault("Cannot take this: send words, pictures or files.");
  return { text: text || "Look at this.", along: { images, files } };
}

function attachedTo(message: Message): Attached[] {
  const { photo, document, voice, audio, video, video_note: note } = message;
  const largest = photo?.at(-1);
  const found: Attached[] = [];
  const add = (
    file: { file_id: string; file_size?: number; mime_type?: string; file_name?: string },
    name: string,
    type: string,
  ) =>
    found.push({
      id: file.file_id,
      name: safeName(file.file_name ?? name),
      bytes: file.file_size ?? 0,
      type: file.mime_type ?? type,
      isPicture: PICTURE.test(file.mime_type ?? type) && (file.file_size ?? 0) <= MAX_PICTURE_BYTES,
    });
  if (largest) add(largest, "photo.jpg", "image/jpeg");
  if (document) add(document, "file", "application/octet-stream");
  if (voice) add(voice, "voice.ogg", "audio/ogg");
  if (audio) add(audio, "audio.mp3", "audio/mpeg");
  if (video) add(video, "video.mp4", "video/mp4");
  if (note) add(note, "video.mp4", "video/mp4");
  return found;
}

/** A name from elsewhere, without folders and without a dot in front. */
const safeName = (name: string): string =>
  name
    .replace(/[^\p{L}\p{N}._ -]+/gu, "_")
    .replace(/^[. ]+/, "_")
    .slice(-100) || "file";

async function fetchFile(file: Attached, telegram: Telegram): Promise<Uint8Array> {
  const { name, bytes } = file;
  const tooLarge = () =>
    fault(
      `Cannot take '${name}': it has ${Math.ceil(bytes / 1_000_000)} MB, and Telegram gives bots at most ${MAX_DOWNLOAD_BYTES / 1_000_000}. Put it where zz runs, and say where.`,
    );
  if (telegram.isOfficial && bytes > MAX_DOWNLOAD_BYTES) throw tooLarge();
  try {
    return await telegram.download(file.id);
  } catch (error) {
    if (/too big/.test(descriptionOf(error))) throw tooLarge();
    throw error;
  }
}

function keepFile(folder: string, name: string, bytes: Uint8Array): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = path.join(folder, name);
  writeWhole(file, bytes as never);
  return file;
}
