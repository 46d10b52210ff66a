// Saved conversations: /sessions with list, search, load, rename, delete and export; /rename and
// /export; --sessions.
import type { Ctx, Listed, Result, Zz } from "zz";
import { clip, oneLine, pickRow, plural, terminalColumns, width } from "zz/text";
import { idOf, sessionNamed, shortIds } from "./choose-session.ts";
import { toText, write } from "./export-session.ts";
import { search } from "./search-sessions.ts";
import { lineOf, sizeOf, timeOf } from "./session-rows.ts";

type Subcommand = { usage: string; about: string; run(typedText: string, ctx: Ctx): unknown };
const SUBCOMMANDS: Record<string, Subcommand> = {
  new: { usage: "", about: "start a new one, as /new does", run: beginSession },
  all: { usage: "", about: "those of every folder", run: (_, ctx) => listSessions(ctx, true) },
  search: { usage: "WORDS", about: "find a conversation by what was said in it", run: search },
  load: { usage: "[ID]", about: "go on with another conversation", run: loadSession },
  rename: { usage: "[ID] TITLE", about: "give a conversation another title", run: renameSession },
  delete: { usage: "ID", about: "delete a conversation for good", run: removeSession },
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
    run: (_, { sessions }) => formatTable(sessions.list()),
  });
  zz.flag({
    name: "export",
    value: "ID",
    group: "the conversation",
    description: "print that session as Markdown",
    run: async (id, ctx, typedLine) => {
      const saved = ctx.sessions.read(sessionNamed(String(id), ctx).id);
      return { text: await toText(saved, typedLine.values.has("page") ? ".html" : ".md", ctx) };
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
    async run(typedText, ctx) {
      const [, subcommandName = "", remaining = ""] = /^(\S*)\s*(.*)$/s.exec(typedText) ?? [];
      if (!subcommandName || subcommandName === "list") return listSessions(ctx);
      const subcommand = Object.hasOwn(SUBCOMMANDS, subcommandName) && SUBCOMMANDS[subcommandName];
      if (!subcommand)
        throw new Error(
          `Cannot run '/sessions ${subcommandName}': ` +
            `use one of ${Object.keys(SUBCOMMANDS).join(", ")}.`,
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
      "[FILE] [--jsonl | --page]",
      "write this conversation to a file, as Markdown, JSON lines or a page",
      exports,
    ],
  ] as const)
    zz.command({
      name,
      usage,
      description,
      examples,
      group: "sessions and model",
      run: async (typedText, ctx) => void (await SUBCOMMANDS[name]!.run(typedText, ctx)),
    });
}

/**
 * The list of --sessions: ids, the time of the last use (UTC, as in the ids), sizes, folders and
 * titles.
 */
function formatTable(headers: Listed[]): Result {
  const tableRows = headers.map(({ id, used, bytes, root, title }) => [
    id,
    used.slice(0, 16).replace("T", " "),
    sizeOf(bytes),
    root,
    title,
  ]);
  const widths = [0, 1, 2, 3].map((i) =>
    Math.max(0, ...tableRows.map((tableRow) => width(tableRow[i]!))),
  );
  const padCell = (cellText: string, i: number) =>
    cellText + " ".repeat(Math.max(0, (widths[i] ?? 0) - width(cellText)));
  return {
    text: tableRows.map((tableRow) => tableRow.map(padCell).join("  ")).join("\n"),
    data: headers,
  };
}

function complete(typedText: string, { sessions, chat }: Ctx) {
  const [, subcommandName = "", argument] = /^(\S*)(?:\s+(.*))?$/s.exec(typedText) ?? [];
  if (argument === undefined)
    return Object.entries(SUBCOMMANDS)
      .filter(([knownName]) => knownName.startsWith(subcommandName))
      .map(([knownName, { about, usage }]) => ({
        name: usage ? `${knownName} ` : knownName,
        description: about,
      }));
  if (!/^(load|rename|delete|export)$/.test(subcommandName)) return [];
  const headers = sessions.list();
  const shortById = shortIds(headers);
  return headers
    .filter(
      ({ id }) => id !== chat.id || subcommandName === "rename" || subcommandName === "export",
    )
    .filter(({ id, title }) =>
      [shortById.get(id)!, id, title.toLowerCase()].some((searchedText) =>
        searchedText.includes(argument.toLowerCase()),
      ),
    )
    .map(({ id, title }) => ({
      name: `${subcommandName} ${shortById.get(id)}`,
      description: title,
    }));
}

// Lists

function listSessions({ sessions, chat, io, root, note }: Ctx, everywhere = false): void {
  const headers = sessions.list();
  const inFolder = headers.filter((header) => header.root === root);
  const elsewhere = headers.filter((header) => header.root !== root);
  const shortById = shortIds(headers);
  const columns = terminalColumns(io) - 1;
  const maxRows = Math.min(MAX_ROWS, Math.max(4, (io.stderr.rows ?? Infinity) - ROWS_AROUND));
  const rowOf = (header: Listed) => lineOf(header, shortById, chat.id, columns);
  const shownLines = (everywhere ? inFolder : inFolder.slice(0, maxRows)).map(rowOf);
  if (shownLines.length) shownLines.unshift(`${root}:`);
  if (everywhere)
    for (const [otherFolder, folderSessions] of Map.groupBy(elsewhere, (header) => header.root))
      shownLines.push(`${otherFolder}:`, ...folderSessions.map(rowOf));
  const olderCount = everywhere ? 0 : Math.max(0, inFolder.length - maxRows);
  const omitted = [
    olderCount && `${olderCount} older`,
    !everywhere && elsewhere.length && `${elsewhere.length} in other folders`,
  ];
  if (!shownLines.length) shownLines.push("None in this folder.");
  const omittedText = omitted.filter(Boolean).join(", ");
  if (omittedText) shownLines.push(`${omittedText}: /sessions all`);
  note(headers.length ? shownLines.join("\n") : "No conversation was saved yet.");
}

// New, load, rename, delete

function beginSession(_: string, { sessions, chat, note }: Ctx): void {
  const { id } = chat;
  sessions.open();
  note(`A new conversation.${id ? ` The other is kept: /sessions load ${id}` : ""}`);
}

async function loadSession(typedId: string, ctx: Ctx): Promise<void> {
  const { sessions, chat, io, note } = ctx;
  const header = typedId ? sessionNamed(typedId, ctx) : await pickSession(ctx);
  if (!header) return;
  if (header.id === chat.id) return note("That is this conversation.");
  sessions.open(header.id);
  const userMessages = chat.messages.filter(
    ({ role, ...fields }) => role === "user" && !("aside" in fields),
  );
  const lastAnswer = chat.messages.findLast(({ role, text }) => role === "assistant" && text);
  const messageCount = `${plural(userMessages.length, "message")} of yours`;
  note(
    `Now in “${header.title}”: ${messageCount}, ` +
      `${chat.model}.${header.root === ctx.root ? "" : ` It was begun in ${header.root}.`}`,
  );
  if (!lastAnswer) return;
  const quoteStart = (messageText = "") =>
    clip(oneLine(messageText.slice(0, MAX_QUOTED_CHARS)), (terminalColumns(io) - 1) * 2);
  note(`You: ${quoteStart(userMessages.at(-1)?.text)}\nzz: ${quoteStart(lastAnswer.text)}`);
}
const MAX_QUOTED_CHARS = 4_000; // of a message: measuring all of a long one takes time

async function pickSession({
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
  const shortById = shortIds(headers);
  const rows = headers.map((header) => ({
    value: header,
    name: lineOf(header, shortById, null, terminalColumns(io) - 5),
    short: clip(header.title, 40),
    words: `${header.title} ${header.id}`,
  }));
  return terminal(() => pickRow(io, { message: "Conversation", rows, signal }));
}

function renameSession(typedText: string, ctx: Ctx): void {
  const { sessions, chat, note } = ctx;
  const headers = sessions.list();
  const [, firstWord = "", newTitle = ""] = /^(\S+)\s+(.+)$/s.exec(typedText) ?? [];
  const otherId = firstWord && idOf(firstWord, headers);
  const id = otherId || chat.id;
  const wantedTitle = oneLine(otherId ? newTitle : typedText);
  if (!wantedTitle) throw new Error("Cannot rename to nothing: give a title, /rename TITLE.");
  const unsavedReason = chat.messages.length
    ? "it is not saved (--no-session)"
    : "nothing of it is saved yet";
  if (!id) throw new Error(`Cannot rename this conversation: ${unsavedReason}.`);
  sessions.rename(id, wantedTitle);
  note(
    `${id === chat.id ? "This conversation" : shortIds(headers).get(id)} is ` +
      `called “${wantedTitle}” now.`,
  );
}

async function removeSession(typedId: string, ctx: Ctx): Promise<void> {
  const { ask, sessions, note } = ctx;
  if (!typedId)
    throw new Error(
      "Cannot delete nothing: give an id, /sessions delete ID. /sessions lists them.",
    );
  const { id, title } = sessionNamed(typedId, ctx);
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
