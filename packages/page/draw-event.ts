// What happens in a conversation, drawn for a browser: each event keeps its text for programs, and
// gets HTML that does nothing for the page.
import fs from "node:fs";
import path from "node:path";
import type { ConversationEvent, SentAlong, Shown } from "zz";
import { clip, plural, tryTo } from "zz/text";
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
  const drawn = drawnEvents.get(event) ?? draw(event);
  drawnEvents.set(event, drawn);
  return drawn;
}
const drawnEvents = new WeakMap<ConversationEvent, ChatEvent>();

function draw(event: ConversationEvent): ChatEvent {
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
    const bytes = Buffer.byteLength(base64, "base64");
    return fileHtml(name, bytes) + htmlOfShown({ type: "image", mime: type, base64 });
  });
  const kept = files.map((file) =>
    fileHtml(
      path.basename(file),
      tryTo(() => fs.statSync(file).size),
    ),
  );
  return [...pictures, ...kept].join("");
}

function fileHtml(name: string, bytes: number | undefined): string {
  return `<p class="path">${htmlOf(name)} <span class="count">${sizeOf(bytes)}</span></p>`;
}

function sizeOf(bytes: number | undefined): string {
  if (bytes === undefined) return "gone";
  return bytes < 10_000 ? plural(bytes, "byte") : `${Math.round(bytes / 1_000)} kB`;
}

/** One without options asks for a line of text. */
function drawQuestion(event: ConversationEvent & { type: "question" }): ChatEvent {
  const { shown, options, ...question } = event;
  if (!options.length) return { ...question, html: markdownToHtml(event.text) };
  return {
    ...question,
    options,
    html: htmlOfAll(shown.flatMap((part) => withoutTitle(part, event))),
  };
}

/** The title stands above it already. */
function withoutTitle(part: Shown, { text: title }: ConversationEvent): Shown[] {
  if (part.type !== "text" || !part.text.startsWith(title)) return [part];
  const text = part.text.slice(title.length).trim();
  return text ? [{ type: "text", text }] : [];
}

const htmlOfAll = (shown: readonly Shown[]): string => shown.map(htmlOfShown).join("");

function htmlOfShown(shown: Shown): string {
  if (shown.type === "diff") {
    const { path, before, after } = shown;
    const { html, added, removed } = diffToHtml(path, before, after);
    return `<p><span class="path">${htmlOf(path)}</span> <span class="count">+${added} −${removed}</span></p>${html}`;
  }
  if (shown.type === "text")
    return `<pre tabindex="0">${htmlOf(clip(shown.text, MAX_CHARS))}</pre>`;
  if (shown.type === "file") return `<p class="path">${htmlOf(shown.path)}</p>`;
  if (!/^image\/(png|jpeg|gif|webp)$/.test(shown.mime)) return "";
  return `<img alt="picture" src="data:${shown.mime};base64,${shown.base64.replace(/[^\w+/=]/g, "")}">`;
}
