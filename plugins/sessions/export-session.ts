// /sessions export: a conversation as Markdown, JSON or JSON lines.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Entry, Header, Listed, Message, Saved } from "zz";
import { oneLine, plural, wordsOf, writeWhole } from "zz/text";
import { idOf } from "./choose-session.ts";
import { timeOf } from "./session-rows.ts";

const FORMATS: Record<string, string | undefined> = {
  md: ".md",
  markdown: ".md",
  json: ".json",
  jsonl: ".jsonl",
  html: ".html",
  "--md": ".md",
  "--json": ".json",
  "--jsonl": ".jsonl",
};
export async function write(typed: string, ctx: Ctx): Promise<void> {
  const { sessions, chat, root, ask, note } = ctx;
  const allWords = typed.split(/\s+/).filter(Boolean);
  // a file of that name is ./json
  const extension = allWords.map((word) => FORMATS[word.toLowerCase()]).find(Boolean);
  const words = allWords.filter((word) => !FORMATS[word.toLowerCase()]);
  const otherId = words.length ? idOf(words[0]!, sessions.list()) : undefined;
  const name = words.slice(otherId ? 1 : 0).join(" ");
  const saved = savedOf(otherId);
  const file = path.resolve(
    root,
    expandHome(name) || `${nameOf(saved.header)}${extension ?? ".md"}`,
  );
  const format = extension ?? (/\.(jsonl?|md|html)$/i.exec(name)?.[0].toLowerCase() || ".md");
  const lines = format === ".jsonl";
  if (fs.statSync(path.dirname(file), { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new Error(`Cannot write '${file}': its folder does not exist. Make it first.`);
  if (fs.statSync(file, { throwIfNoEntry: false })?.isDirectory())
    throw new Error(`Cannot write '${file}': it is a folder. Name a file in it.`);
  if (fs.existsSync(file)) {
    if (!ask) throw new Error(`Cannot write '${file}': it already exists. Choose another name.`);
    if ((await ask(`${file} already exists. Overwrite it? [y/N] `, "yn")) !== "y")
      return note("Nothing was written.");
  }
  const text = lines ? toLines(saved) : await toText(saved, format, ctx);
  writeWhole(file, text);
  note(
    `Wrote ${file} (${lines ? `${saved.entries.length + 1} lines` : `${text.length} characters`}).`,
  );

  function savedOf(id: string | undefined): Saved {
    const listed = sessions.list().find((session) => session.id === (id ?? chat.id));
    const header = listed && headerOf(listed);
    if (id !== undefined) return { ...sessions.read(id), header: header! };
    const { entries, branch } = chat.tree();
    if (!chat.messages.length)
      throw new Error("Cannot export this conversation: nothing was said in it.");
    const time = entries[0]?.at ?? new Date().toISOString();
    const unsaved: Header = {
      zz: 1,
      id: "unsaved",
      at: time,
      root,
      model: chat.model,
      title: oneLine(wordsOf(chat.messages[0]!.text)),
    };
    return { header: header ?? unsaved, entries, branch: () => [...branch] };
  }
}
const toLines = ({ header, entries }: Saved): string =>
  [header, ...entries].map((line) => `${JSON.stringify(line)}\n`).join("");
export async function toText(saved: Saved, format: string, ctx: Ctx): Promise<string> {
  if (format === ".json")
    return `${JSON.stringify({ ...saved.header, entries: saved.entries }, null, 2)}\n`;
  if (format !== ".html") return toMarkdown(saved);
  const page = ctx.service("page");
  if (page) return page.html(saved, ctx);
  throw new Error("Cannot make a page: the plugin page is off. /plugins on page turns it on.");
}
/** The header without what a list adds about its file. */
const headerOf = ({ used, bytes, ...header }: Listed): Header => header;
const expandHome = (name: string): string => name.replace(/^~(?=\/|$)/, process.env.HOME ?? "~");
const nameOf = ({ at: createdAt, title }: Header): string =>
  [
    "zz",
    createdAt.slice(0, 10),
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, "-")
      .slice(0, 40)
      .replace(/^-|-$/g, ""),
  ]
    .filter(Boolean)
    .join("-");
const MAX_RESULT_CHARS = 4_000; // of a tool's result in Markdown; JSON lines have all of it
/** The branch in force, as a person reads it. */
export function toMarkdown({ header, branch }: Pick<Saved, "header" | "branch">): string {
  const spoken = branch().flatMap((sessionEntry: Entry): Message[] => {
    if (sessionEntry.type === "draft" && sessionEntry.text)
      return [{ role: "assistant", text: String(sessionEntry.text), cut: true }];
    return sessionEntry.type === "message" && sessionEntry.message ? [sessionEntry.message] : [];
  });
  const head = `# ${oneLine(header.title)}\n\n${timeOf(header.at)} · ${header.model} · ${header.root}`;
  return `${[head, ...spoken.map(partOf)].join("\n\n")}\n`;
}
function partOf(message: Message): string {
  if (message.role === "user") {
    const pictures = message.images?.length
      ? `\n\n(${plural(message.images.length, "attachment")})`
      : "";
    return message.aside
      ? `> ${message.text.replaceAll("\n", "\n> ")}`
      : `## You\n\n${message.text}${pictures}`;
  }
  if (message.role === "tool") {
    const { text } = message;
    const omittedChars = text.length - MAX_RESULT_CHARS;
    const shown =
      omittedChars > 0
        ? `${text.slice(0, MAX_RESULT_CHARS)}\n… ${omittedChars} more characters`
        : text;
    return `${message.failed ? "Failed: " : ""}\`${message.name}\` gave\n\n${fenced(shown)}`;
  }
  const calls = (message.calls ?? []).map(
    ({ name, args }) => `\`${name}\` with\n\n${fenced(JSON.stringify(args, null, 2))}`,
  );
  const text = message.cut ? `${message.text}\n\n*(unfinished)*` : message.text;
  return [`## zz${message.model ? ` (${message.model})` : ""}`, text, ...calls]
    .filter(Boolean)
    .join("\n\n");
}
/** Puts a text in a code fence that the text itself does not close. */
function fenced(text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`{3,}/g), ([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}
