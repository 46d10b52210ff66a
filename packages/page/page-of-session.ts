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
  veil(text: string): string; // secrets replaced
  hides(path: string): boolean; // nothing of this file may be shown
  describe(call: Call): string | undefined; // in its tool's words
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
const IMAGES = /^image\/(?:png|jpeg|gif|webp)$/; // none of them can hold a script

export function pageOf(saved: Saved, reader: Reader): string {
  const title = reader.veil(oneLine(saved.header.title) || "A conversation");
  const { items, timeline, leftOut } = itemsOf(saved, reader);
  const inForce = branchInForce(saved, items);
  const script = `(()=>{"use strict";${scriptOf(READING)}})();`;
  const policy =
    `default-src 'none'; img-src data:; style-src ${allowed(LOOK)}; script-src ${allowed(script)}; ` +
    "base-uri 'none'; form-action 'none'";
  const { at, model, root } = saved.header;
  const place = root.startsWith(reader.home) ? `~${root.slice(reader.home.length)}` : root;
  return [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="referrer" content="no-referrer">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${htmlOf(title)}</title><style>${LOOK}</style></head>`,
    `<body data-leaf="${inForce.at(-1) ?? 0}"><header class="top"><h1>${htmlOf(title)}</h1>`,
    `<p>${[timeHtml(at), htmlOf(model), htmlOf(place)].join(" · ")}</p>`,
    TOOLBAR,
    "</header>",
    timelineHtml(timeline),
    "<main>",
    ...[...items.values()].map((item) => itemHtml(item, inForce.includes(item.id))),
    leftOut
      ? `<p class="left-out">${plural(leftOut, "later part")} left out: the page would be too large.</p>`
      : "",
    `</main><script>${script}</script></body></html>\n`,
  ].join("\n");
}

const TOOLBAR =
  '<form class="tools" role="search"><label>Search <input type="search" id="words"></label>' +
  '<output id="hits" aria-live="polite"></output>' +
  '<button type="button" id="fold">Unfold all</button>' +
  '<button type="button" id="sides" aria-pressed="false">Side by side</button>' +
  '<button type="button" id="theme">Dark or light</button></form>';

// ── From entries to items ────────────────────────────────────────────────────────────────────────

type Made = { items: Items; timeline: FileChange[]; leftOut: number };

function itemsOf({ entries }: Saved, reader: Reader): Made {
  const changes = changesIn(entries, reader.hides);
  const results = new Map(
    entries.flatMap(({ message }) => (message?.role === "tool" ? [[message.id, message]] : [])),
  );
  const items: Items = new Map();
  const shownAt = new Map<number, number>([[0, 0]]); // for each entry, the item that it belongs to
  const timeline: FileChange[] = [];
  let [chars, leftOut] = [0, 0];
  for (const entry of entries) {
    const parent = shownAt.get(entry.parent ?? 0) ?? 0;
    const change = changes.get(entry.id);
    const drawn = chars > MAX_PAGE_CHARS ? undefined : drawnOf(entry, { change, results, reader });
    if (chars > MAX_PAGE_CHARS) leftOut++;
    shownAt.set(entry.id, drawn ? entry.id : parent);
    if (!drawn) continue;
    items.set(entry.id, { id: entry.id, parent, ...drawn });
    chars += drawn.html.length;
    if (change) timeline.push(change);
  }
  return { items, timeline, leftOut };
}

/** From the first item to the last of the branch that was gone on with. */
function branchInForce(saved: Saved, items: Items): number[] {
  return saved
    .branch()
    .map(({ id }) => id)
    .filter((id) => items.has(id));
}

// ── One item ─────────────────────────────────────────────────────────────────────────────────────

type Results = Map<string, Message & { role: "tool" }>;
type Around = { change: FileChange | undefined; results: Results; reader: Reader };
type Drawn = { kind: string; html: string };

function drawnOf(entry: Entry, { change, results, reader }: Around): Drawn | undefined {
  const { message, type, at } = entry;
  if (change) return { kind: "change", html: changeHtml(change, reader) };
  if (type === "draft" && entry.text) {
    const text = markdownToHtml(reader.veil(String(entry.text)));
    return { kind: "answer", html: `${headHtml("zz, unfinished", at)}${text}` };
  }
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

function userDrawn(message: Message & { role: "user" }, at: string, reader: Reader): Drawn {
  const text = markdownToHtml(reader.veil(message.text));
  if (message.aside) return { kind: "aside", html: folded("zz told the model", text) };
  return { kind: "user", html: `${headHtml("You", at)}${text}${imagesHtml(message.images)}` };
}

function answerHtml(
  message: Message & { role: "assistant" },
  at: string,
  results: Results,
  reader: Reader,
): string {
  const { text, thinking, calls = [], cut, model, usage, ms } = message;
  const about = [
    model && htmlOf(model),
    usage && `${usage.input + usage.output} tokens`,
    ms && `${(ms / 1_000).toFixed(1)} s`,
  ].filter(Boolean);
  return [
    headHtml("zz", at, about.join(" · ")),
    thinking ? folded("Thinking", preHtml(reader.veil(thinking))) : "",
    text ? markdownToHtml(reader.veil(text)) : "",
    cut ? "<p><em>unfinished</em></p>" : "",
    ...calls.map((call) => callHtml(call, results.get(call.id), reader)),
  ].join("");
}

function callHtml(
  call: Call,
  result: (Message & { role: "tool" }) | undefined,
  reader: Reader,
): string {
  const given = Object.values(call.args).filter((value) => typeof value === "string");
  const words = reader.describe(call) ?? given.join(" ");
  const sign = result?.failed ? "✗" : "✓";
  const head = `<span class="${result?.failed ? "bad" : "good"}">${result ? sign : "■"}</span> <b>${htmlOf(call.name)}</b> ${htmlOf(clip(oneLine(reader.veil(words)), 120))}`;
  const asked = preHtml(reader.veil(JSON.stringify(call.args, null, 2)));
  const came = result ? preHtml(reader.veil(result.text)) + imagesHtml(result.images) : "";
  return `<details class="call"><summary>${head}</summary>${asked}${came}</details>`;
}

function changeHtml(change: FileChange, { veil }: Reader): string {
  const { path, before, after, note } = change;
  const head = `<b>${didOf(change)}</b> <span class="path">${htmlOf(veil(path))}</span>`;
  if (note) return `<p>${head} · ${note}</p>`;
  const { html, added, removed } = diffToHtml(path, veil(before ?? ""), veil(after ?? ""));
  return `<details open><summary>${head} <span class="count">+${added} −${removed}</span></summary>${html}</details>`;
}

function didOf({ before, after, note }: FileChange): string {
  if (note) return "change";
  if (before === undefined) return "create";
  return after === undefined ? "delete" : "edit";
}

// ── Pieces of HTML ───────────────────────────────────────────────────────────────────────────────

function itemHtml({ id, parent, kind, html }: Item, isShown: boolean): string {
  return `<article class="${kind}" id="e${id}" data-parent="${parent}"${isShown ? "" : " hidden"}>${html}</article>`;
}

function timelineHtml(changes: FileChange[]): string {
  if (!changes.length) return "";
  const rows = changes.map(
    (change) =>
      `<li><a href="#e${change.entry}">${didOf(change)} ${htmlOf(change.path.split("/").at(-1)!)}</a></li>`,
  );
  const count = plural(changes.length, "change");
  return `<nav aria-label="Changes"><details><summary>${count}</summary><ol>${rows.join("")}</ol></details></nav>`;
}

/** `about` is HTML. */
const headHtml = (who: string, at: string, about = ""): string =>
  `<div class="head"><h2>${who}</h2><p class="when">${about && `${about} · `}${timeHtml(at)}</p></div>`;

function timeHtml(at: string): string {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return htmlOf(at.slice(0, 24));
  const iso = time.toISOString();
  return `<time datetime="${iso}">${iso.slice(0, 16).replace("T", " ")} UTC</time>`;
}

const folded = (name: string, html: string): string =>
  `<details class="folded"><summary>${name}</summary>${html}</details>`;

function preHtml(text: string): string {
  const more = text.length - MAX_TEXT_CHARS;
  const shown = more > 0 ? `${text.slice(0, MAX_TEXT_CHARS)}\n… ${more} more characters` : text;
  return `<pre tabindex="0">${htmlOf(shown)}</pre>`;
}

function imagesHtml(images: Image[] = []): string {
  return images
    .map(({ type, base64 }) =>
      IMAGES.test(type) && /^[\w+/=\s-]*$/.test(base64)
        ? `<img alt="attached picture" src="data:${type};base64,${base64}">`
        : `<p>(an attachment: ${escapeHtml(type)})</p>`,
    )
    .join("");
}
