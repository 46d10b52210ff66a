// /sessions export: a conversation as Markdown, JSON or JSON lines.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Header, Listed, Message, Saved } from "zz";
import {
  fileToWrite,
  oneLine,
  ownValue,
  plural,
  sizeInWords,
  tryTo,
  wordsOf,
  writeWhole,
} from "zz/text";
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
  "--html": ".html",
  "--page": ".html",
};
const isFolder = (name: string): boolean => tryTo(() => fs.statSync(name).isDirectory()) ?? false;

export async function write(typedText: string, ctx: Ctx): Promise<void> {
  const { sessions, chat, root, ask, note } = ctx;
  const allWords = typedText.split(/\s+/).filter(Boolean);
  // a file of that name is ./json
  const extension = allWords
    .map((typedWord) => ownValue(FORMATS, typedWord.toLowerCase()))
    .find(Boolean);
  const nameWords = allWords.filter((typedWord) => !ownValue(FORMATS, typedWord.toLowerCase()));
  const otherId = nameWords.length ? idOf(nameWords[0]!, sessions.list()) : undefined;
  const fileName = nameWords.slice(otherId ? 1 : 0).join(" ");
  const saved = savedOf(otherId);
  const exportFile = path.resolve(
    root,
    fileToWrite(fileName) || `${fileNameFor(saved.header)}${extension ?? ".md"}`,
  );
  const format = extension ?? (/\.(jsonl?|md|html)$/i.exec(fileName)?.[0].toLowerCase() || ".md");
  const isJsonLines = format === ".jsonl";
  if (!isFolder(path.dirname(exportFile)))
    throw new Error(`Cannot write '${exportFile}': its folder does not exist. Make it first.`);
  if (isFolder(exportFile))
    throw new Error(`Cannot write '${exportFile}': it is a folder. Name a file in it.`);
  if (fs.existsSync(exportFile)) {
    if (!ask)
      throw new Error(`Cannot write '${exportFile}': it already exists. Choose another name.`);
    if ((await ask(`${exportFile} already exists. Overwrite it? [y/N] `, "yn")) !== "y")
      return note("Nothing was written.");
  }
  const exportText = isJsonLines ? toLines(saved) : await toText(saved, format, ctx);
  writeWhole(exportFile, exportText);
  const lines = saved.entries.length + 1;
  const size = isJsonLines ? `${lines} lines` : sizeInWords(Buffer.byteLength(exportText));
  note(`Wrote ${exportFile} (${size}).`);

  function savedOf(id: string | undefined): Saved {
    const listedSession = sessions.list().find((session) => session.id === (id ?? chat.id));
    const header = listedSession && headerOf(listedSession);
    if (id !== undefined) return { ...sessions.read(id), header: header! };
    const { entries, branch } = chat.tree();
    if (!chat.messages.length)
      throw new Error("Cannot export this conversation: nothing was said in it.");
    const beginTime = entries[0]?.at ?? new Date().toISOString();
    const unsaved: Header = {
      zz: 1,
      id: "unsaved",
      at: beginTime,
      root,
      model: chat.model,
      title: oneLine(wordsOf(chat.messages[0]!.text)),
    };
    return { header: header ?? unsaved, entries, branch: () => [...branch] };
  }
}
const toLines = ({ header, entries }: Saved): string =>
  [header, ...entries].map((jsonObject) => `${JSON.stringify(jsonObject)}\n`).join("");
export async function toText(saved: Saved, format: string, ctx: Ctx): Promise<string> {
  if (format === ".json")
    return `${JSON.stringify({ ...saved.header, entries: saved.entries }, null, 2)}\n`;
  if (format !== ".html") return toMarkdown(saved);
  const pageService = ctx.service("page");
  if (pageService) return pageService.html(saved, ctx);
  throw new Error("Cannot make a page: the plugin page is off. /plugins on page turns it on.");
}
/** The header without what a list adds about its file. */
const headerOf = ({ used, bytes, ...header }: Listed): Header => header;
const fileNameFor = ({ at: createdAt, title }: Header): string =>
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
  const spokenMessages = branch().flatMap(({ message }) => message ?? []);
  const sessionFacts = `${timeOf(header.at)} · ${header.model} · ${header.root}`;
  const titleAndFacts = `# ${oneLine(header.title)}\n\n${sessionFacts}`;
  return `${[titleAndFacts, ...spokenMessages.map(markdownPart)].join("\n\n")}\n`;
}
function markdownPart(message: Message): string {
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
    const shownResult =
      omittedChars > 0
        ? `${text.slice(0, MAX_RESULT_CHARS)}\n… ${omittedChars} more characters`
        : text;
    return (
      `${message.failed ? "Failed: " : ""}\`${message.name}\` gave\n\n` + fencedText(shownResult)
    );
  }
  const callTexts = (message.calls ?? []).map(
    ({ name, args }) => `\`${name}\` with\n\n${fencedText(JSON.stringify(args, null, 2))}`,
  );
  const answerText = message.cut ? `${message.text}\n\n*(unfinished)*` : message.text;
  return [`## zz${message.model ? ` (${message.model})` : ""}`, answerText, ...callTexts]
    .filter(Boolean)
    .join("\n\n");
}
/** Puts a text in a code fence that the text itself does not close. */
function fencedText(innerText: string): string {
  const longest = Math.max(
    2,
    ...Array.from(innerText.matchAll(/`{3,}/g), ([tickRun]) => tickRun.length),
  );
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${innerText}\n${fence}`;
}
