// Saved conversations: /sessions with list, search, load, rename, delete and export; /rename and
// /export; --sessions.
import type { Ctx, Listed, Result, Zz } from "zz";
import { clip, oneLine, pickRow, plural, terminalColumns, width } from "zz/text";
import { idOf, sessionNamed, shortIds } from "./choose-session.ts";
import { toText, write } from "./export-session.ts";
import { search } from "./search-sessions.ts";
import { lineOf, sizeOf, timeOf } from "./session-rows.ts";

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
const ROWS_AROUND = 4; // its heading, what is left out, an empty row and the prompt

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
  registerShorthands(zz);
};

/** /rename and /export, as the subcommands do it. */
function registerShorthands(zz: Zz): void {
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
}

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

// Lists

function list({ sessions, chat, io, root, note }: Ctx, everywhere = false): void {
  const headers = sessions.list();
  const inFolder = headers.filter((header) => header.root === root);
  const away = headers.filter((header) => header.root !== root);
  const short = shortIds(headers);
  const columns = terminalColumns(io) - 1;
  const most = Math.min(MAX_ROWS, Math.max(4, (io.stderr.rows ?? Infinity) - ROWS_AROUND));
  const lines = (everywhere ? inFolder : inFolder.slice(0, most)).map((header) =>
    lineOf(header, short, chat.id, columns),
  );
  if (lines.length) lines.unshift(`${root}:`);
  if (everywhere)
    for (const [folder, folderSessions] of Map.groupBy(away, (header) => header.root))
      lines.push(
        `${folder}:`,
        ...folderSessions.map((header) => lineOf(header, short, chat.id, columns)),
      );
  const older = everywhere ? 0 : Math.max(0, inFolder.length - most);
  const omitted = [
    older && `${older} older`,
    !everywhere && away.length && `${away.length} in other folders`,
  ];
  if (!lines.length) lines.push("None in this folder.");
  const omittedText = omitted.filter(Boolean).join(", ");
  if (omittedText) lines.push(`${omittedText}: /sessions all`);
  note(headers.length ? lines.join("\n") : "No conversation was saved yet.");
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
    ({ role, ...fields }) => role === "user" && !("aside" in fields),
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
