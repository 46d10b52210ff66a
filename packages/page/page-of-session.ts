// A session as one HTML file that needs nothing else: what was said, the calls and what they
// changed, all branches of the tree, and a list of the changes in their order.
import type { Call, Entry, Image, Message, Saved } from "zz";
import { clip, oneLine, plural } from "zz/text";
import { changesIn, type FileChange } from "./changes-in-session.ts";
import { diffToHtml } from "./diff-to-html.ts";
import { escapeHtml, htmlOf } from "./escape.ts";
import { READING } from "./in-browser.ts";
import { LOOK } from "./look.ts";
import { markdownToHtml } from "./markdown-to-html.ts";
import { allowed, scriptOf } from "./script-of.ts";

export interface Reader {
  veil(plainText: string): string; // secrets replaced
  hides(filePath: string): boolean; // nothing of this file may be shown
  describe(toolCall: Call): string | undefined; // in its tool's words
  home: string; // shown as ~
}

type Items = Map<number, Item>; // in the order of the entries
interface Item {
  id: number;
  parent: number; // the nearest one above it that is shown; 0: none
  kind: string;
  html: string;
}

const MAX_TEXT_CHARS = 20_000; // of a result, an argument or a thought
const MAX_PAGE_CHARS = 64_000_000; // what follows is left out, and the page says so
const SHOWN_IMAGES = /^image\/(?:png|jpeg|gif|webp)$/; // none of them can hold a script

export function pageOf(savedSession: Saved, pageReader: Reader): string {
  const pageTitle = pageReader.veil(oneLine(savedSession.header.title) || "A conversation");
  const { items, timeline, leftOut } = itemsOf(savedSession, pageReader);
  const inForce = branchInForce(savedSession, items);
  const pageScript = scriptOf(READING);
  const pagePolicy =
    `default-src 'none'; img-src data:; style-src ${allowed(LOOK)}; ` +
    `script-src ${allowed(pageScript)}; ` +
    "base-uri 'none'; form-action 'none'";
  const { at, model, root } = savedSession.header;
  const shownRoot = root.startsWith(pageReader.home)
    ? `~${root.slice(pageReader.home.length)}`
    : root;
  return [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${pagePolicy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="referrer" content="no-referrer">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${htmlOf(pageTitle)}</title><style>${LOOK}</style></head>`,
    `<body data-leaf="${inForce.at(-1) ?? 0}"><header class="top"><h1>${htmlOf(pageTitle)}</h1>`,
    `<p>${[timeHtml(at), htmlOf(model), htmlOf(shownRoot)].join(" · ")}</p>`,
    TOOLBAR,
    "</header>",
    timelineHtml(timeline),
    "<main>",
    ...[...items.values()].map((shownItem) => itemHtml(shownItem, inForce.includes(shownItem.id))),
    leftOut
      ? `<p class="left-out">${plural(leftOut, "later part")} left out: ` +
        "the page would be too large.</p>"
      : "",
    `</main><script>${pageScript}</script></body></html>\n`,
  ].join("\n");
}

const TOOLBAR =
  '<form class="tools" role="search"><label>Search <input type="search" id="words"></label>' +
  '<output id="hits" aria-live="polite"></output>' +
  '<button type="button" id="fold">Unfold all</button>' +
  '<button type="button" id="sides" aria-pressed="false">Side by side</button>' +
  '<button type="button" id="theme">Dark or light</button></form>';

// ── From entries to items ────────────────────────────────────────────────────────────────────────

function itemsOf({ entries }: Saved, reader: Reader) {
  const changes = changesIn(entries, reader.hides);
  const results = new Map(
    entries.flatMap(({ message }) => (message?.role === "tool" ? [[message.id, message]] : [])),
  );
  const items: Items = new Map();
  const shownAt = new Map<number, number>([[0, 0]]); // for each entry, the item that it belongs to
  const timeline: FileChange[] = [];
  let [pageChars, leftOut] = [0, 0];
  for (const sessionEntry of entries) {
    const parent = shownAt.get(sessionEntry.parent ?? 0) ?? 0;
    const change = changes.get(sessionEntry.id);
    const drawnEntry =
      pageChars > MAX_PAGE_CHARS ? undefined : drawnOf(sessionEntry, { change, results, reader });
    if (pageChars > MAX_PAGE_CHARS) leftOut++;
    shownAt.set(sessionEntry.id, drawnEntry ? sessionEntry.id : parent);
    if (!drawnEntry) continue;
    items.set(sessionEntry.id, { id: sessionEntry.id, parent, ...drawnEntry });
    pageChars += drawnEntry.html.length;
    if (change) timeline.push(change);
  }
  return { items, timeline, leftOut };
}

/** From the first item to the last of the branch that was gone on with. */
function branchInForce(savedSession: Saved, shownItems: Items): number[] {
  return savedSession
    .branch()
    .map(({ id }) => id)
    .filter((id) => shownItems.has(id));
}

// ── One item ─────────────────────────────────────────────────────────────────────────────────────

type Results = Map<string, Message & { role: "tool" }>;
type Around = { change: FileChange | undefined; results: Results; reader: Reader };
type Drawn = { kind: string; html: string };

function drawnOf(sessionEntry: Entry, { change, results, reader }: Around): Drawn | undefined {
  const { message, type, at } = sessionEntry;
  if (change) return { kind: "change", html: changeHtml(change, reader) };
  if (type === "compaction")
    return { kind: "note", html: "<p>What was said before was summed up for the model.</p>" };
  if (type === "undone" || type === "redone")
    return {
      kind: "note",
      html: `<p>${type === "undone" ? "A change was undone." : "A change was made again."}</p>`,
    };
  if (!message || message.role === "tool") return undefined;
  return message.role === "user"
    ? userDrawn(message, at, reader)
    : { kind: "answer", html: answerHtml(message, at, results, reader) };
}

function userDrawn(
  message: Message & { role: "user" },
  sentTime: string,
  pageReader: Reader,
): Drawn {
  const messageHtml = markdownToHtml(pageReader.veil(message.text));
  if (message.aside) return { kind: "aside", html: foldedHtml("zz told the model", messageHtml) };
  return {
    kind: "user",
    html: `${headHtml("You", sentTime)}${messageHtml}${imagesHtml(message.images)}`,
  };
}

function answerHtml(
  message: Message & { role: "assistant" },
  sentTime: string,
  results: Results,
  pageReader: Reader,
): string {
  const { text, thinking, calls = [], cut, model, usage, ms } = message;
  const answerFacts = [
    model && htmlOf(model),
    usage && `${usage.input + usage.output} tokens`,
    ms && `${(ms / 1_000).toFixed(1)} s`,
  ].filter(Boolean);
  return [
    headHtml("zz", sentTime, answerFacts.join(" · ")),
    thinking ? foldedHtml("Thinking", preHtml(pageReader.veil(thinking))) : "",
    text ? markdownToHtml(pageReader.veil(text)) : "",
    cut ? "<p><em>unfinished</em></p>" : "",
    ...calls.map((toolCall) => callHtml(toolCall, results.get(toolCall.id), pageReader)),
  ].join("");
}

function callHtml(
  toolCall: Call,
  callResult: (Message & { role: "tool" }) | undefined,
  pageReader: Reader,
): string {
  const textArguments = Object.values(toolCall.args).filter(
    (argument) => typeof argument === "string",
  );
  const callWords = pageReader.describe(toolCall) ?? textArguments.join(" ");
  const resultSign = callResult?.failed ? "✗" : "✓";
  const summaryHtml =
    "<span " +
    `class="${callResult?.failed ? "bad" : "good"}">${callResult ? resultSign : "■"}</span> ` +
    `<b>${htmlOf(toolCall.name)}</b> ${htmlOf(clip(oneLine(pageReader.veil(callWords)), 120))}`;
  const argumentsHtml = preHtml(pageReader.veil(JSON.stringify(toolCall.args, null, 2)));
  const resultHtml = callResult
    ? preHtml(pageReader.veil(callResult.text)) + imagesHtml(callResult.images)
    : "";
  return (
    "<details " +
    `class="call"><summary>${summaryHtml}</summary>${argumentsHtml}${resultHtml}</details>`
  );
}

function changeHtml(fileChange: FileChange, { veil }: Reader): string {
  const { path, before, after, note } = fileChange;
  const pathHtml = `<span class="path">${htmlOf(veil(path))}</span>`;
  const summaryHtml = `<b>${verbOf(fileChange)}</b> ${pathHtml}`;
  if (note) return `<p>${summaryHtml} · ${note}</p>`;
  const { html, added, removed } = diffToHtml(path, veil(before ?? ""), veil(after ?? ""));
  return (
    `<details open><summary>${summaryHtml} <span class="count">+${added} ` +
    `−${removed}</span></summary>${html}</details>`
  );
}

function verbOf({ before, after, note }: FileChange): string {
  if (note) return "change";
  if (before === undefined) return "create";
  return after === undefined ? "delete" : "edit";
}

// ── Pieces of HTML ───────────────────────────────────────────────────────────────────────────────

function itemHtml({ id, parent, kind, html }: Item, isShown: boolean): string {
  return (
    `<article class="${kind}" id="e${id}" ` +
    `data-parent="${parent}"${isShown ? "" : " hidden"}>${html}</article>`
  );
}

function timelineHtml(changes: FileChange[]): string {
  if (!changes.length) return "";
  const timelineRows = changes.map(
    (fileChange) =>
      `<li><a href="#e${fileChange.entry}">${verbOf(fileChange)} ` +
      `${htmlOf(fileChange.path.split("/").at(-1)!)}</a></li>`,
  );
  const changeCount = plural(changes.length, "change");
  return (
    "<nav " +
    `aria-label="Changes"><details><summary>${changeCount}</summary><ol>` +
    `${timelineRows.join("")}</ol></details></nav>`
  );
}

/** `about` is HTML. */
const headHtml = (authorName: string, sentTime: string, about = ""): string =>
  `<div class="head"><h2>${authorName}</h2><p ` +
  `class="when">${about && `${about} · `}${timeHtml(sentTime)}</p></div>`;

function timeHtml(timestamp: string): string {
  const parsedTime = new Date(timestamp);
  if (Number.isNaN(parsedTime.getTime())) return htmlOf(timestamp.slice(0, 24));
  const isoTime = parsedTime.toISOString();
  return `<time datetime="${isoTime}">${isoTime.slice(0, 16).replace("T", " ")} UTC</time>`;
}

const foldedHtml = (summaryText: string, contentHtml: string): string =>
  `<details class="folded"><summary>${summaryText}</summary>${contentHtml}</details>`;

function preHtml(longText: string): string {
  const excessChars = longText.length - MAX_TEXT_CHARS;
  const shownText =
    excessChars > 0
      ? `${longText.slice(0, MAX_TEXT_CHARS)}\n… ${excessChars} more characters`
      : longText;
  return `<pre tabindex="0">${htmlOf(shownText)}</pre>`;
}

function imagesHtml(pictures: Image[] = []): string {
  return pictures
    .map(({ type, base64 }) =>
      SHOWN_IMAGES.test(type) && /^[\w+/=\s-]*$/.test(base64)
        ? `<img alt="attached picture" src="data:${type};base64,${base64}">`
        : `<p>(an attachment: ${escapeHtml(type)})</p>`,
    )
    .join("");
}
