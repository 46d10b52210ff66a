// Questions on the phone: a message with what would change, and a button for each answer. A button
// names the question by a hash of all that was shown, so that a yes counts for that alone.
import { createHash } from "node:crypto";
import path from "node:path";
import { createTwoFilesPatch } from "diff";
import type { InlineKeyboardMarkup } from "grammy/types";
import type { Shown } from "zz";
import { clip, oneLine } from "zz/text";
import { InputFile, type Telegram } from "./api.ts";
import { MAX_CAPTION, MAX_TEXT } from "./limits.ts";
import { codeBlock, escapeText } from "./markdown.ts";
import type { Address } from "./say.ts";

export interface Question {
  name: string;
  hash: string;
  text: string;
  shown: Shown[];
  options: { id: string; name: string }[];
}
/** One that stands in a chat. */
export interface Standing {
  key: string; // of the chat
  question: Question;
  message?: SentQuestion; // a press may come before it is known
  sent?: Promise<SentQuestion>;
  cancelExpiry(): void;
  refuse(): void; // answers no, for nobody
  answer(optionId: string): void; // throws if another answer was first
}

interface SentQuestion {
  message: number;
  text: string; // as the message has it, without Markdown
  isFile: boolean;
}

/** What the buttons of a question carry: at most 64 bytes. */
export const tokenOf = ({ name, hash }: Pick<Question, "name" | "hash">): string =>
  createHash("sha256").update(`${name} ${hash}`).digest("base64url").slice(0, 22);

/** A question that asks for words can be left without any. */
export const optionsOf = ({ options }: Question): Question["options"] =>
  options.length ? options : [{ id: "", name: "No answer" }];

const MAX_BUTTONS = 90; // Telegram takes a hundred

function buttonsOf(question: Question): InlineKeyboardMarkup {
  const token = tokenOf(question);
  const buttons = optionsOf(question).map(({ name }, optionIndex) => ({
    text: clip(name, 60),
    callback_data: `q:${token}:${optionIndex}`,
  }));
  // the last one is none of them
  if (buttons.length > MAX_BUTTONS) buttons.splice(MAX_BUTTONS - 1, buttons.length - MAX_BUTTONS);
  return { inline_keyboard: buttons.map((keyboardButton) => [keyboardButton]) };
}

/** All that a question shows, as text, and as Markdown for a message. */
export function drawQuestion(
  { text, shown }: Question,
  root: string,
): { plain: string; markdown: string } {
  const [titleLine = "", ...otherLines] = textsIn(shown, text).split("\n");
  const diffTexts = shown.flatMap((shownPart) =>
    shownPart.type === "diff" ? [diffTextOf(shownPart, root)] : [],
  );
  const detailText = otherLines.join("\n").trim();
  return {
    plain: [titleLine, detailText, ...diffTexts].filter(Boolean).join("\n\n"),
    markdown: [
      `*${escapeText(titleLine)}*`,
      ...(detailText ? [codeBlock(detailText)] : []),
      ...diffTexts.map((diffText) => codeBlock(diffText, "diff")),
    ].join("\n"),
  };
}

/** What the question says besides differences. */
const textsIn = (shownParts: Shown[], fallbackTitle: string): string =>
  shownParts
    .flatMap((shownPart) => (shownPart.type === "text" ? shownPart.text : []))
    .join("\n")
    .trim() || fallbackTitle;

function diffTextOf(
  { path: changedFile, before, after }: Shown & { type: "diff" },
  root: string,
): string {
  const shownPath = path.isAbsolute(changedFile)
    ? path.relative(root, changedFile) || changedFile
    : changedFile;
  const patchText = createTwoFilesPatch(shownPath, shownPath, before, after, undefined, undefined, {
    context: 3,
  });
  return patchText.replace(/^Index: .*\n=+\n/, "").trimEnd();
}

/** Sends the question: as a message, or where that is too short for all of it, as a file. */
export async function sendQuestion(
  { raw }: Telegram,
  address: Address,
  question: Question,
  root: string,
): Promise<SentQuestion> {
  const reply_markup = buttonsOf(question);
  const { plain, markdown } = drawQuestion(question, root);
  if (markdown.length <= MAX_TEXT) {
    const { message_id } = await raw.sendMessage({
      ...address,
      text: markdown,
      parse_mode: "MarkdownV2",
      link_preview_options: { is_disabled: true },
      reply_markup,
    });
    return { message: message_id, text: plain, isFile: false };
  }
  const fileNotice = "\n\nThe file has all of it.";
  const caption =
    `${clip(oneLine(plain.split("\n")[0]!), MAX_CAPTION - fileNotice.length - 100)}` + fileNotice;
  const document = new InputFile(Buffer.from(`${plain}\n`), "question.diff");
  const { message_id } = await raw.sendDocument({ ...address, document, caption, reply_markup });
  return { message: message_id, text: caption, isFile: true };
}

/** Takes the buttons away, and says what came of the question. */
export async function closeQuestion(
  { raw }: Telegram,
  { chat_id }: Address,
  { message, text, isFile }: SentQuestion,
  outcome: string,
): Promise<void> {
  const editTarget = { chat_id, message_id: message };
  const maxChars = isFile ? MAX_CAPTION : MAX_TEXT;
  const closedText = `${clip(text, maxChars - outcome.length - 20)}\n\n${outcome}`;
  const editRequest = isFile
    ? raw.editMessageCaption({ ...editTarget, caption: closedText })
    : raw.editMessageText({ ...editTarget, text: closedText });
  await editRequest.catch(() => {}); // the person may have deleted it
}
