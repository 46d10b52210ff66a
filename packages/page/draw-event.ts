// What happens in a conversation, drawn for a browser: each event keeps its text for programs, and
// gets HTML that does nothing for the page.
import fs from "node:fs";
import path from "node:path";
import type { ConversationEvent, SentAlong, Shown } from "zz";
import { clip, sizeInWords, tryTo } from "zz/text";
import { diffToHtml } from "./diff-to-html.ts";
import { htmlOf } from "./escape.ts";
import { markdownToHtml } from "./markdown-to-html.ts";

/** What a browser is sent; `id` counts from 1 in each conversation. */
export interface ChatEvent {
  id: number;
  type: ConversationEvent["type"] | "left-out"; // in the place of earlier events
  text: string;
  html?: string;
  name?: string; // of a call or a question, the same in its later events
  hash?: string; // of a question: an answer names it
  status?: string; // of a call
  isPast?: true; // of what the person said before this conversation was opened here
  options?: { id: string; name: string }[]; // answers of a question, or models
}

const MAX_CHARS = 20_000; // of a result

/** Each event once, however many browsers read it. */
export function drawEvent(event: ConversationEvent): ChatEvent {
  const drawnEvent = drawnEvents.get(event) ?? drawAfresh(event);
  drawnEvents.set(event, drawnEvent);
  return drawnEvent;
}
const drawnEvents = new WeakMap<ConversationEvent, ChatEvent>();

function drawAfresh(event: ConversationEvent): ChatEvent {
  switch (event.type) {
    case "user": {
      const { along = {}, ...said } = event;
      return { ...said, html: markdownToHtml(event.text) + alongHtml(along) };
    }
    case "text":
    case "thought":
      return { ...event, html: markdownToHtml(event.text) };
    case "call": {
      const { shown, ...call } = event;
      return shown.length ? { ...call, html: htmlOfAll(shown) } : call;
    }
    case "question":
      return drawQuestion(event);
    default:
      return event;
  }
}

/** Names and sizes of what went along with a message, and the pictures. */
function alongHtml({ images = [], files = [] }: SentAlong): string {
  const pictures = images.map(({ name = "picture", type, base64 }) => {
    const imageBytes = Buffer.byteLength(base64, "base64");
    return fileHtml(name, imageBytes) + htmlOfShown({ type: "image", mime: type, base64 });
  });
  const keptFiles = files.map((sentFile) =>
    fileHtml(
      path.basename(sentFile),
      tryTo(() => fs.statSync(sentFile).size),
    ),
  );
  return [...pictures, ...keptFiles].join("");
}

function fileHtml(fileName: string, byteCount: number | undefined): string {
  return (
    `<p class="path">${htmlOf(fileName)} <span ` +
    `class="count">${byteCount === undefined ? "gone" : sizeInWords(byteCount)}</span></p>`
  );
}

/** One without options asks for a line of text. */
function drawQuestion(event: ConversationEvent & { type: "question" }): ChatEvent {
  const { shown, options, ...question } = event;
  if (!options.length) return { ...question, html: markdownToHtml(event.text) };
  return {
    ...question,
    options,
    html: htmlOfAll(shown.flatMap((shownPart) => withoutTitle(shownPart, event))),
  };
}

/** The title stands above it already. */
function withoutTitle(shownPart: Shown, { text: titleText }: ConversationEvent): Shown[] {
  if (shownPart.type !== "text" || !shownPart.text.startsWith(titleText)) return [shownPart];
  const text = shownPart.text.slice(titleText.length).trim();
  return text ? [{ type: "text", text }] : [];
}

const htmlOfAll = (shownParts: readonly Shown[]): string => shownParts.map(htmlOfShown).join("");

function htmlOfShown(shownPart: Shown): string {
  if (shownPart.type === "diff") {
    const { path, before, after } = shownPart;
    const { html, added, removed } = diffToHtml(path, before, after);
    return (
      `<p><span class="path">${htmlOf(path)}</span> <span ` +
      `class="count">+${added} −${removed}</span></p>${html}`
    );
  }
  if (shownPart.type === "text")
    return `<pre tabindex="0">${htmlOf(clip(shownPart.text, MAX_CHARS))}</pre>`;
  if (shownPart.type === "file") return `<p class="path">${htmlOf(shownPart.path)}</p>`;
  if (!/^image\/(png|jpeg|gif|webp)$/.test(shownPart.mime)) return "";
  return (
    '<img alt="picture" ' +
    `src="data:${shownPart.mime};base64,${shownPart.base64.replace(/[^\w+/=]/g, "")}">`
  );
}
