// Saved conversations: /sessions with list, search, load, rename, delete and export; /rename and
// /export; --sessions.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Entry, Header, Listed, Message, Result, Saved, Zz } from "zz";
import {
  clip,
  oneLine,
  pickRow,
  plural,
  terminalColumns,
  width,
  wordsOf,
  writeWhole,
} from "zz/text";

type Subcommand = { usage: string; about: string; run(typed: string, ctx: Ctx): unknown };
const SUBCOMMANDS: Record<string, Subcommand> = {
  new: { usage: "", about: "start a new one, as /new does", run: begin },
  all: { usage: "", about: "those of every folder", run: (_, ctx) => list(ctx, true) },
  search: { usage: "WORDS", about: "find a conversation by what was said in it", run: search },
  load: { usage: "[ID]", about: "go on with another conversation", run: load },
  rename: { usage: "[ID] TITLE", about: "give a conversation another title", run: rename },
  delete: { usage: "ID", about: "delete a conversation for good", run: remove },
  export: {
    usage: "[ID] [FILE | md | json | jsonl | html]",
    about: "write a conversation to a file, as Markdown, JSON, JSON lines or a page",
    run: write,
  },
};
const MAX_ROWS = 20; // of a list

export default (zz: Zz) => {
  zz.flag({
    name: "sessions",
    group: "the conversation",
    description: "list the sessions, the one used last first",
    run: (_, { sessions }) => table(sessions.list()),
  });
  zz.flag({
    name: "export",
    value: "ID",
    group: "the conversation",
    description: "print that session as Markdown",
    run: async (id, ctx, line) => {
      const saved = ctx.sessions.read(sessionNamed(String(id), ctx).id);
      return { text: await toText(saved, line.values.has("page") ? ".html" : ".md", ctx) };
    },
  });
  zz.command({
    name: "sessions",
    usage: "[WHAT …]",
    description: "the saved conversations",
    examples: {
      "/sessions": "list this folder's conversations",
      "/sessions all": "list those of every folder",
      "/sessions search price": "find those that mention a word",
      "/sessions load 4f2a": "go on with one, by its id",
      "/sessions rename price fix": "give this one a title",
      "/sessions delete 4f2a": "delete one",
      "/sessions export notes.md": "write this one to a file",
    },
    group: "sessions and model",
    complete,
    async run(typed, ctx) {
      const [, word = "", remaining = ""] = /^(\S*)\s*(.*)$/s.exec(typed) ?? [];
      if (!word || word === "list") return list(ctx);
      const subcommand = Object.hasOwn(SUBCOMMANDS, word) && SUBCOMMANDS[word];
      if (!subcommand)
        throw new Error(
          `Cannot run '/sessions ${word}': use one of ${Object.keys(SUBCOMMANDS).join(", ")}.`,
        );
      await subcommand.run(remaining.trim(), ctx);
    },
  });
  const renames = { "/rename price fix": "call this conversation that" };
  const exports = {
    "/export notes.md": "write it as Markdown",
    "/export all.jsonl --jsonl": "write all of it, line by line",
  };
  for (const [name, usage, description, examples] of [
    ["rename", "TITLE", "give this conversation another title", renames],
    [
      "export",
      "[FILE] [--jsonl]",
      "write this conversation to a file, as Markdown or JSON lines",
      exports,
    ],
  ] as const)
    zz.command({
      name,
      usage,
      description,
      examples,
      group: "sessions and model",
      run: async (typed, ctx) => void (await SUBCOMMANDS[name]!.run(typed, ctx)),
    });
};

/**
 * The list of --sessions: ids, the time of the last use (UTC, as in the ids), sizes, folders and
 * titles.
 */
function table(headers: Listed[]): Result {
  const rows = headers.map(({ id, used, bytes, root, title }) => [
    id,
    used.slice(0, 16).replace("T", " "),
    sizeOf(bytes),
    root,
    title,
  ]);
  const widths = [0, 1, 2, 3].map((i) => Math.max(0, ...rows.map((row) => width(row[i]!))));
  const cell = (text: string, i: number) =>
    text + " ".repeat(Math.max(0, (widths[i] ?? 0) - width(text)));
  return { text: rows.map((row) => row.map(cell).join("  ")).join("\n"), data: headers };
}

const BYTES_PER_TOKEN = 5; // of a session's file, counting all that it holds besides the texts
/**
 * About how many tokens a session has, estimated from its file's size, since reading all sessions
 * would take long.
 */
function sizeOf(bytes: number): string {
  const tokens = bytes / BYTES_PER_TOKEN;
  const rounded =
    tokens < 950
      ? `${Math.max(1, Math.round(tokens / 100)) * 100}`
      : `${Math.round(tokens / 1_000)}k`;
  return `~${rounded} tokens`.padStart(12);
}

function complete(typed: string, { sessions, chat }: Ctx) {
  const [, word = "", argument] = /^(\S*)(?:\s+(.*))?$/s.exec(typed) ?? [];
  if (argument === undefined)
    return Object.entries(SUBCOMMANDS)
      .filter(([name]) => name.startsWith(word))
      .map(([name, { about, usage }]) => ({ name: usage ? `${name} ` : name, description: about }));
  if (!/^(load|rename|delete|export)$/.test(word)) return [];
  const headers = sessions.list();
  const short = shortIds(headers);
  return headers
    .filter(({ id }) => id !== chat.id || word === "rename" || word === "export")
    .filter(({ id, title }) =>
      [short.get(id)!, id, title.toLowerCase()].some((text) =>
        text.includes(argument.toLowerCase()),
      ),
    )
    .map(({ id, title }) => ({ name: `${word} ${short.get(id)}`, description: title }));
}

// Choosing a session

/** The shortest unique part of each id's tail: short enough to type. */
export function shortIds(headers: readonly Pick<Header, "id">[]): Map<string, string> {
  const tails = headers.map(({ id }) => id.slice(id.lastIndexOf("-") + 1));
  let length = 4;
  const isUnique = () => new Set(tails.map((tail) => tail.slice(0, length))).size === tails.length;
  while (length < 12 && !isUnique()) length++;
  return new Map(headers.map(({ id }, i) => [id, isUnique() ? tails[i]!.slice(0, length) : id]));
}

/** The sessions whose id, or whose id's tail, begins with what was given. */
function sessionsLike<One extends Pick<Header, "id">>(
  given: string,
  headers: readonly One[],
): One[] {
  const tail = (id: string) => id.slice(id.lastIndexOf("-") + 1);
  const fits = headers.filter(
    ({ id }) => id.startsWith(given) || (given.length > 3 && tail(id).startsWith(given)),
  );
  const exact = fits.find(({ id }) => id === given);
  return exact ? [exact] : fits;
}

function idOf(given: string, headers: readonly Header[]): string | undefined {
  const [header, ...others] = sessionsLike(given, headers);
  return others.length ? undefined : header?.id;
}

function sessionNamed(given: string, { sessions }: Ctx): Listed {
  const [header, ...others] = sessionsLike(given, sessions.list());
  if (header && !others.length) return header;
  const why = header ? `${others.length + 1} ids begin like that` : "no id begins like that";
  throw new Error(`Cannot find the session '${given}': ${why}. /sessions all lists them.`);
}

// Lists

function list({ sessions, chat, io, root, note }: Ctx, everywhere = false): void {
  const headers = sessions.list();
  const inFolder = headers.filter((header) => header.root === root);
  const away = headers.filter((header) => header.root !== root);
  const short = shortIds(headers);
  const columns = terminalColumns(io) - 1;
  const lines = (everywhere ? inFolder : inFolder.slice(0, MAX_ROWS)).map((header) =>
    lineOf(header, short, chat.id, columns),
  );
  if (lines.length) lines.unshift(`${root}:`);
  if (everywhere)
    for (const [folder, folderSessions] of Map.groupBy(away, (header) => header.root))
      lines.push(
        `${folder}:`,
        ...folderSessions.map((header) => lineOf(header, short, chat.id, columns)),
      );
  const older = everywhere ? 0 : Math.max(0, inFolder.length - MAX_ROWS);
  const omitted = [
    older && `${older} older`,
    !everywhere && away.length && `${away.length} in other folders`,
  ];
  if (!lines.length) lines.push("None in this folder.");
  const omittedText = omitted.filter(Boolean).join(", ");
  if (omittedText) lines.push(`${omittedText}: /sessions all`);
  note(headers.length ? lines.join("\n") : "No conversation was saved yet.");
}

/** The row of a session. In a narrow terminal it shows less. */
function lineOf(
  { id, used, bytes, title, model }: Listed,
  short: Map<string, string>,
  current: string | null,
  columns: number,
): string {
  const size = columns < 60 ? "" : `${sizeOf(bytes)}  `;
  const head = `${id === current ? "*" : " "} ${short.get(id)}  ${timeOf(used, columns)}  ${size}`;
  const name = columns < 60 ? "" : `  ${model.slice(0, 24)}`;
  const room = Math.max(8, columns - head.length - name.length);
  const shown = clip(title || "(no title)", room);
  return `${head}${shown}${name && " ".repeat(Math.max(0, room - width(shown)))}${name}`;
}

/** Local time; in a narrow terminal without the year. */
function timeOf(at: string, columns = 80): string {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return at.slice(0, 16);
  const two = (part: number) => String(part).padStart(2, "0");
  const day = `${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  const hour = `${two(time.getHours())}:${two(time.getMinutes())}`;
  return columns < 60 ? day : `${time.getFullYear()}-${day} ${hour}`;
}

// Search

type Line = { header: Listed; id: number; text: string };
const MAX_FOUND = 12; // sessions
const MAX_FUZZY_CHARS = 200; // of a line that is searched for something similar

/** Lines with all the words; similar lines only if there are none. */
async function search(words: string, { sessions, io, note }: Ctx): Promise<void> {
  if (!words) throw new Error("Cannot search for nothing: give words, /sessions search WORDS.");
  const headers = sessions.list();
  const short = shortIds(headers);
  const lines = headers.flatMap((header) => linesOf(header, sessions));
  const exact = lines.filter(({ text }) => holds(text, words));
  const hits = exact.length ? exact : await similar(lines, words);
  if (!hits.length)
    return note(`Nothing like '${words}' was said in ${headers.length} conversations.`);
  const columns = terminalColumns(io) - 1;
  const bySession = [...Map.groupBy(hits, ({ header }) => header.id).values()];
  const shown = bySession.slice(0, MAX_FOUND).flatMap((sessionLines) => {
    const places = sessionLines.filter(({ id }) => id).slice(0, 2);
    const quotes = places.map(({ id, text }) =>
      clip(`     #${id} ${startingNear(text, words)}`, columns),
    );
    return [lineOf(sessionLines[0]!.header, short, null, columns), ...quotes];
  });
  if (bySession.length > MAX_FOUND)
    shown.push(`${bySession.length - MAX_FOUND} more conversations; give more words.`);
  note(shown.join("\n"));
}

/** A session's title, and every line that was said in it. */
function linesOf(header: Listed, sessions: Ctx["sessions"]): Line[] {
  let saved: Saved;
  try {
    saved = sessions.read(header.id);
  } catch {
    return []; // damaged: --sessions leaves it out as well
  }
  const matches = saved.entries.flatMap(({ id, message }) =>
    message && message.role !== "tool"
      ? message.text
          .split("\n")
          .flatMap((text) => (text.trim() ? [{ header, id, text: text.trim() }] : []))
      : [],
  );
  return [{ header, id: 0, text: header.title }, ...matches];
}

function holds(text: string, words: string): boolean {
  const low = text.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => low.includes(word));
}

async function similar(lines: Line[], words: string): Promise<Line[]> {
  const { default: Fuse } = await import("fuse.js");
  const docs = lines.map((line) => ({ line, text: line.text.slice(0, MAX_FUZZY_CHARS) }));
  const fuse = new Fuse(docs, {
    keys: ["text"],
    threshold: 0.3,
    ignoreLocation: true,
    minMatchCharLength: 3,
  });
  return fuse.search(words, { limit: 50 }).map(({ item }) => item.line);
}

/** The line, from a little before the first of the words. */
function startingNear(text: string, words: string): string {
  const index = text.toLowerCase().indexOf(words.toLowerCase().split(/\s+/)[0]!);
  return index > 20 ? `…${text.slice(index - 15)}` : text;
}

// New, load, rename, delete

function begin(_: string, { sessions, chat, note }: Ctx): void {
  const { id } = chat;
  sessions.open();
  note(`A new conversation.${id ? ` The other is kept: /sessions load ${id}` : ""}`);
}

async function load(name: string, ctx: Ctx): Promise<void> {
  const { sessions, chat, io, note } = ctx;
  const header = name ? sessionNamed(name, ctx) : await pick(ctx);
  if (!header) return;
  if (header.id === chat.id) return note("That is this conversation.");
  sessions.open(header.id);
  const userMessages = chat.messages.filter(
    ({ role, ...more }) => role === "user" && !("aside" in more),
  );
  const last = chat.messages.findLast(({ role, text }) => role === "assistant" && text);
  const count = `${plural(userMessages.length, "message")} of yours`;
  note(
    `Now in “${header.title}”: ${count}, ${chat.model}.${header.root === ctx.root ? "" : ` It was begun in ${header.root}.`}`,
  );
  if (!last) return;
  const start = (text = "") =>
    clip(oneLine(text.slice(0, MAX_QUOTED_CHARS)), (terminalColumns(io) - 1) * 2);
  note(`You: ${start(userMessages.at(-1)?.text)}\nzz: ${start(last.text)}`);
}
const MAX_QUOTED_CHARS = 4_000; // of a message: measuring all of a long one takes time

async function pick({
  sessions,
  chat,
  io,
  root,
  terminal,
  signal,
  note,
}: Ctx): Promise<Listed | undefined> {
  const allSessions = sessions.list().filter(({ id }) => id !== chat.id);
  const headers = [
    ...allSessions.filter((session) => session.root === root),
    ...allSessions.filter((session) => session.root !== root),
  ];
  if (!headers.length) return void note("There is no other conversation.");
  if (!terminal || io.variable("TERM") === "dumb")
    throw new Error(
      "Cannot choose a conversation here: give its id, /sessions load ID. /sessions lists them.",
    );
  const short = shortIds(headers);
  const rows = headers.map((header) => ({
    value: header,
    name: lineOf(header, short, null, terminalColumns(io) - 5),
    short: clip(header.title, 40),
    words: `${header.title} ${header.id}`,
  }));
  return terminal(() => pickRow(io, { message: "Conversation", rows, signal }));
}

function rename(typed: string, ctx: Ctx): void {
  const { sessions, chat, note } = ctx;
  const headers = sessions.list();
  const [, word = "", newTitle = ""] = /^(\S+)\s+(.+)$/s.exec(typed) ?? [];
  const otherId = word && idOf(word, headers);
  const id = otherId || chat.id;
  const title = oneLine(otherId ? newTitle : typed);
  if (!title) throw new Error("Cannot rename to nothing: give a title, /rename TITLE.");
  const reason = chat.messages.length
    ? "it is not saved (--no-session)"
    : "nothing of it is saved yet";
  if (!id) throw new Error(`Cannot rename this conversation: ${reason}.`);
  sessions.rename(id, title);
  note(
    `${id === chat.id ? "This conversation" : shortIds(headers).get(id)} is called “${title}” now.`,
  );
}

async function remove(name: string, ctx: Ctx): Promise<void> {
  const { ask, sessions, note } = ctx;
  if (!name)
    throw new Error(
      "Cannot delete nothing: give an id, /sessions delete ID. /sessions lists them.",
    );
  const { id, title } = sessionNamed(name, ctx);
  if (!ask)
    throw new Error(
      `Cannot delete '${title}': there is no terminal to ask on. Do it at a terminal.`,
    );
  if (
    (await ask(
      `Delete “${title}” of ${timeOf(sessions.read(id).header.at)} for good? [y/N] `,
      "yn",
    )) !== "y"
  )
    return note("It stays.");
  sessions.remove(id);
  note(`Deleted “${title}”.`);
}

// Export

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

async function write(typed: string, ctx: Ctx): Promise<void> {
  const { sessions, chat, root, ask, note } = ctx;
  const allWords = typed.split(/\s+/).filter(Boolean);
  // a file of that name is ./json
  const kind = allWords.map((word) => FORMATS[word.toLowerCase()]).find(Boolean);
  const words = allWords.filter((word) => !FORMATS[word.toLowerCase()]);
  const otherId = words.length ? idOf(words[0]!, sessions.list()) : undefined;
  const name = words.slice(otherId ? 1 : 0).join(" ");
  const saved = savedOf(otherId);
  const file = path.resolve(root, expandHome(name) || `${nameOf(saved.header)}${kind ?? ".md"}`);
  const format = kind ?? (/\.(jsonl?|md|html)$/i.exec(name)?.[0].toLowerCase() || ".md");
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

async function toText(saved: Saved, format: string, ctx: Ctx): Promise<string> {
  if (format === ".json")
    return `${JSON.stringify({ ...saved.header, entries: saved.entries }, null, 2)}\n`;
  if (format !== ".html") return toMarkdown(saved);
  const page = ctx.service("page");
  if (page) return page.html(saved, ctx);
  throw new Error("Cannot make a page: the plugin page is off. /plugins enable page turns it on.");
}

/** The header without what a list adds about its file. */
const headerOf = ({ used, bytes, ...header }: Listed): Header => header;

const expandHome = (name: string): string => name.replace(/^~(?=\/|$)/, process.env.HOME ?? "~");

const nameOf = ({ at, title }: Header): string =>
  [
    "zz",
    at.slice(0, 10),
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
