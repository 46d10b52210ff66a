// What a message from Telegram asks: its words, pictures, and files, which are kept in the home.
import path from "node:path";
import type { Message } from "grammy/types";
import type { SentAlong } from "zz";
import { fault, makeFolder, writeWhole } from "zz/text";
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
  filesFolder: string,
): Promise<Asked> {
  const messageTexts = messages.map((message) => wordsIn(message, telegram.me.username));
  const [firstMessage] = messages;
  const quotedMessage = firstMessage?.reply_to_message;
  if (
    firstMessage?.chat.type !== "private" &&
    quotedMessage &&
    quotedMessage.from?.id !== telegram.me.id
  )
    messageTexts.unshift(`In reply to:\n${wordsIn(quotedMessage, "").replace(/^/gm, "> ")}`);
  const images: NonNullable<SentAlong["images"]> = [];
  const files: string[] = [];
  for (const message of messages)
    for (const attached of attachedTo(message)) {
      const fileBytes = await fetchFile(attached, telegram);
      const base64 = Buffer.from(fileBytes).toString("base64");
      if (attached.isPicture) images.push({ type: attached.type, base64 });
      if (attached.isPicture && message.photo) continue; // it has no name that the person gave it
      files.push(keepFile(filesFolder, `${message.message_id}-${attached.name}`, fileBytes));
    }
  const askedText = messageTexts.filter(Boolean).join("\n\n");
  if (!askedText && !images.length && !files.length)
    throw fault("Cannot take this: send words, pictures or files.");
  return { text: askedText || "Look at this.", along: { images, files } };
}

type SentFile = { file_id: string; file_size?: number; mime_type?: string; file_name?: string };
function attachedTo({ photo, document, voice, audio, video, video_note }: Message): Attached[] {
  const sentFiles: [sentFile: SentFile | undefined, name: string, type: string][] = [
    [photo?.at(-1), "photo.jpg", "image/jpeg"],
    [document, "file", "application/octet-stream"],
    [voice, "voice.ogg", "audio/ogg"],
    [audio, "audio.mp3", "audio/mpeg"],
    [video ?? video_note, "video.mp4", "video/mp4"],
  ];
  return sentFiles.flatMap(([sentFile, defaultName, defaultType]) => {
    if (!sentFile) return [];
    const { file_id: id, file_size: bytes = 0, mime_type: type = defaultType } = sentFile;
    const isPicture = PICTURE.test(type) && bytes <= MAX_PICTURE_BYTES;
    return { id, name: safeName(sentFile.file_name ?? defaultName), bytes, type, isPicture };
  });
}

/** A name from elsewhere, without folders and without a dot in front. */
const safeName = (foreignName: string): string =>
  foreignName
    .replace(/[^\p{L}\p{N}._ -]+/gu, "_")
    .replace(/^[. ]+/, "_")
    .slice(-100) || "file";

async function fetchFile(attachedFile: Attached, telegram: Telegram): Promise<Uint8Array> {
  const { name, bytes } = attachedFile;
  const tooLarge = () =>
    fault(
      `Cannot take '${name}': it has ${Math.ceil(bytes / 1_000_000)} MB, and Telegram gives ` +
        `bots at most ${MAX_DOWNLOAD_BYTES / 1_000_000}. Put it where zz runs, and say where.`,
    );
  if (telegram.isOfficial && bytes > MAX_DOWNLOAD_BYTES) throw tooLarge();
  try {
    return await telegram.download(attachedFile.id);
  } catch (error) {
    if (/too big/.test(descriptionOf(error))) throw tooLarge();
    throw error;
  }
}

function keepFile(filesFolder: string, fileName: string, fileBytes: Uint8Array): string {
  makeFolder(filesFolder, 0o700);
  const keptFile = path.join(filesFolder, fileName);
  writeWhole(keptFile, fileBytes as never);
  return keptFile;
}
