// A conversation: opening it, going back in it, saving it.
import path from "node:path";
import type {
  AnswerMeta,
  Compaction,
  Entry,
  Fault,
  Header,
  Message,
  Part,
  Saved,
  Sessions,
  Span,
} from "../contract.ts";
import { emit, emitNote } from "../events.ts";
import type { Core, LiveChat, Seen, Session, TurnContext } from "../instance.ts";
import { allProviders } from "../settings/providers.ts";
import { fileFault } from "../system/atomic-write.ts";
import { codeOf, fault, usage } from "../text/faults.ts";
import { plainJson } from "../text/json-schema.ts";
import { errorMessage, veil } from "../text/secrets.ts";
import { tryTo, wordsOf } from "../text/words.ts";
import {
  completeModelName,
  firstModel,
  learnWindow,
  modelOfSession,
  providerNamed,
} from "./choose-model.ts";
import { compactMessages, withoutField } from "./messages.ts";
import * as saved from "./session-files.ts";
import { sessionPlaceOf, storeNamed, unsavedIn } from "./session-store.ts";

/**
 * Opens a conversation: a new one, a saved session, or a copy of one. A new one is saved from its
 * first message on.
 */
export function openChat(core: Core, model: string, from?: Session | Saved): LiveChat {
  const chat: LiveChat = {
    id: null,
    model,
    phase: "idle",
    messages: [],
    attached: [],
    queue: [],
    told: [],
    turn: 0,
    seen: new Map(),
    unsavedSeen: new Set(),
    stop: new AbortController(),
    tree: () => ({ entries: chat.session?.entries ?? [], branch: chat.session?.branch() ?? [] }),
    back: (to, keep) => goBack(core, chat, to, keep),
    use: (named) => useModel(core, chat, named),
    send: (text) => void chat.queue.push(text),
    tell(text) {
      chat.told.push(veil(text));
      if (chat.phase === "idle" && chat.messages.length) addAsides(core, chat);
    },
    attach: (attachment) => void chat.attached.push(attachment),
    compact(compaction) {
      const before = chat.messages.length;
      saveEntry(core, chat, "compaction", { ...compaction, before });
      compactMessages(chat, compaction);
      const { summary } = compaction;
      void emit(core, "compacted", {
        before,
        after: chat.messages.length,
        ...(summary && { summary }),
      });
    },
  };
  core.chat = chat;
  continueSession(core, chat, from);
  return chat;
}

/** Continues that session, or a copy of it, or starts a new conversation. */
function continueSession(core: Core, chat: LiveChat, from?: Session | Saved): void {
  const isContinued = from && "append" in from;
  delete chat.session;
  delete chat.used;
  const turn = isContinued
    ? Math.max(0, ...from.entries.filter(saved.isChange).map((change) => change.turn))
    : 0;
  Object.assign(chat, {
    id: isContinued ? from.header.id : null,
    turn,
    ...(isContinued && { session: from }),
  });
  const branch = from?.branch() ?? [];
  rebuildFromBranch(core, chat, branch);
  if (isContinued) return;
  for (const { type, id, parent, at, ...fields } of branch)
    if (REPLAYED_TYPES.includes(type)) saveEntry(core, chat, type, fields);
}
// a conversation is rebuilt from these
const REPLAYED_TYPES: Entry["type"][] = ["message", "prompt", "news", "compaction", "state"];

/** Rebuilds the messages and the plugins' states from a branch. */
function rebuildFromBranch(core: Core, chat: LiveChat, branch: Entry[]): void {
  chat.messages = [];
  delete chat.prompt;
  restoreSeen(chat, branch);
  for (const state of core.states.values()) renew(state, JSON.parse(state.initial));
  for (const { type, message, plugin, value, ...entry } of branch) {
    const state = type === "state" ? core.states.get(String(plugin)) : undefined;
    if (state) renew(state, value as object);
    else if (type === "prompt") setSystemPrompt(chat, entry.layers as Part[]);
    else if (type === "news") attachLayerUpdates(chat, entry.news as Record<string, string>);
    else if (type === "compaction" && entry.before === chat.messages.length)
      compactMessages(chat, entry as Compaction);
    else if (type === "message" && saved.isMessage(message)) chat.messages.push(message);
    else if (type === "message")
      emitNote(core, "A message of the session that cannot be understood was ignored.");
  }
  const { usage } = (chat.messages.findLast((message) => "usage" in message && message.usage) ??
    {}) as AnswerMeta;
  if (usage) chat.used = usage.input + usage.output;

  function renew(state: { live: object; saved: string }, value: object): void {
    for (const key of Object.keys(state.live)) delete (state.live as Record<string, unknown>)[key];
    Object.assign(state.live, structuredClone(value));
    state.saved = JSON.stringify(state.live);
  }
}

/**
 * What was shown of files is saved with the messages that showed it, so that each branch has its
 * own.
 */
function restoreSeen(chat: LiveChat, branch: Entry[]): void {
  chat.seen.clear();
  chat.unsavedSeen.clear();
  for (const [file, saved] of branch.flatMap(({ seen }) =>
    Object.entries((seen ?? {}) as SavedSeen),
  )) {
    const lines = saved?.lines.map(
      ([first, last]): Span => [first, last ?? Number.POSITIVE_INFINITY],
    );
    if (saved && lines)
      chat.seen.set(file, { hash: saved.hash, lines, round: undefined, moved: [] });
    else chat.seen.delete(file);
  }
}

type SavedSeen = Record<
  string,
  { hash: string; lines: [first: number, last: number | null][] } | null
>; // a last of null: to the end

function newlySeen(chat: LiveChat): Record<string, Pick<Seen, "hash" | "lines"> | null> {
  const files = [...chat.unsavedSeen].map((file) => [file, chat.seen.get(file)] as const);
  return Object.fromEntries(
    files.map(([file, shown]) => [file, shown ? { hash: shown.hash, lines: shown.lines } : null]),
  );
}

/**
 * Continues from an earlier entry. What came after that entry stays in the file, on a branch of its
 * own.
 */
function goBack(core: Core, chat: LiveChat, to: number | null, keep = false): void {
  if (chat.phase !== "idle")
    throw fault("Cannot go back while an answer is under way. Stop it first, with Ctrl+C.");
  if (to !== null && !chat.session?.entries.some(({ id }) => id === to))
    throw fault(`Cannot go back to ${to}: there is no entry with that number. /tree lists them.`);
  savePluginStates(core, chat);
  chat.session?.append("back", {}, to);
  delete chat.used;
  const kept = [...core.states.values()].map(({ live }) => ({ live, was: structuredClone(live) }));
  rebuildFromBranch(core, chat, chat.session?.branch() ?? []);
  if (!keep) return;
  for (const { live, was } of kept) Object.assign(live, was);
  savePluginStates(core, chat);
}

async function useModel(core: Core, chat: LiveChat, named: string): Promise<void> {
  const completed = await completeModelName(core, named);
  const { name } = providerNamed(core, completed);
  const model = completed === name ? await firstModel(core, name) : completed;
  if (model === `${name}/`)
    throw usage(`Cannot use model '${completed}': it has no name. /models lists them.`);
  chat.model = model;
  saveEntry(core, chat, "model", { model });
  await learnWindow(core, chat);
}

export function sessions({ core, chat }: Pick<TurnContext, "core" | "chat">): Sessions {
  const warn = (text: string) => emitNote(core, text);
  return {
    list: () => saved.listSessions(sessionPlaceOf(core)),
    read: (id) =>
      saved.readSession(sessionPlaceOf(core), saved.findSession(sessionPlaceOf(core), id)),
    store: (storeName) => storeNamed(core, storeName),
    open(id, copy = false) {
      const sessionPlace = sessionPlaceOf(core);
      if (chat.phase !== "idle")
        throw fault(
          "Cannot change the conversation while an answer is under way. Stop it first, with Ctrl+C.",
        );
      const sessionId = id === undefined ? undefined : saved.findSession(sessionPlace, id);
      if (sessionId === chat.id && sessionId !== undefined && !copy) return;
      const load = (id: string) =>
        copy ? saved.readSession(sessionPlace, id) : saved.openSession(sessionPlace, id, warn);
      const from = sessionId === undefined ? undefined : load(sessionId);
      closeChat(core, chat);
      continueSession(core, chat, from);
      const model = from && modelOfSession(from);
      if (!model || !allProviders(core).has(model.split("/")[0]!) || model === chat.model) return;
      chat.model = model;
      delete chat.window;
      void learnWindow(core, chat);
    },
    rename(id, title) {
      const sessionPlace = sessionPlaceOf(core);
      const sessionId = saved.findSession(sessionPlace, id);
      // throws if another zz has it open
      const session =
        sessionId === chat.id ? chat.session : saved.openSession(sessionPlace, sessionId, warn);
      session?.append("title", { title });
      if (session !== chat.session) session?.close();
      storeNamed(core).rename(sessionId, title);
    },
    remove(id) {
      const sessionPlace = sessionPlaceOf(core);
      const sessionId = saved.findSession(sessionPlace, id);
      if (sessionId === chat.id)
        throw fault(
          "Cannot delete the current conversation. Start another with /new, then delete this one.",
        );
      saved.openSession(sessionPlace, sessionId, warn).close(); // throws if another zz has it open
      storeNamed(core).remove(sessionId);
    },
  };
}

/**
 * Marks a one-shot that failed before anything was answered or done: lists of sessions leave it out
 * until it is continued.
 */
export function markFailed(core: Core, chat: LiveChat): void {
  const { entries = [] } = chat.session ?? {};
  const isDone = entries.some(
    (sessionEntry) => saved.isChange(sessionEntry) || sessionEntry.message?.role === "assistant",
  );
  if (entries.length && !isDone) saveEntry(core, chat, "failed", {});
}

/** Adds a message to the history and saves it, before anything acts on it. */
export function addMessage(core: Core, chat: LiveChat, message: Message): void {
  chat.messages.push(message);
  saveEntry(core, chat, "message", {
    message,
    ...(chat.unsavedSeen.size && { seen: newlySeen(chat) }),
  });
  chat.unsavedSeen.clear();
}

export function addAsides(core: Core, chat: LiveChat): void {
  for (const text of chat.told.splice(0))
    if (text.trim()) addMessage(core, chat, { role: "user", text, aside: true });
}

/**
 * Sets the system prompt. A fresh one already contains the updates, so they are dropped from the
 * messages.
 */
export function saveSystemPrompt(core: Core, chat: LiveChat, layers: Part[]): void {
  setSystemPrompt(chat, layers);
  saveEntry(core, chat, "prompt", { layers });
}

function setSystemPrompt(chat: LiveChat, layers: Part[]): void {
  if (!chat.prompt) chat.messages = chat.messages.map((message) => withoutField(message, "news"));
  chat.prompt = layers;
}

/** Attaches what changed in the layers to the person's last message. */
export function saveLayerUpdates(core: Core, chat: LiveChat, news: Record<string, string>): void {
  attachLayerUpdates(chat, news);
  saveEntry(core, chat, "news", { news });
}

function attachLayerUpdates(chat: LiveChat, news: Record<string, string>): void {
  const i = chat.messages.findLastIndex(({ role }) => role === "user");
  const message = chat.messages[i];
  if (message?.role === "user") chat.messages[i] = { ...message, news };
}

/** Saves the plugins' states that changed. */
export function savePluginStates(core: Core, chat: LiveChat): void {
  if (!chat.session) return; // it is created with the first message
  for (const [plugin, state] of core.states) {
    try {
      const currentState = plainJson(state.live);
      // a copy: the plugin goes on
      if (currentState !== state.saved)
        saveEntry(core, chat, "state", { plugin, value: JSON.parse(currentState) });
      state.saved = currentState;
    } catch (error) {
      if (state.saved !== errorMessage(error))
        emitNote(
          core,
          `Cannot keep the state of plugin '${plugin}': ${(state.saved = errorMessage(error))}`,
        );
    }
  }
}

export function closeChat(core: Core, chat: LiveChat): void {
  savePluginStates(core, chat);
  if (chat.id === "") saveUnsavedInHome(core, chat);
  chat.session?.close();
}

/** What a store out of reach could not take stays in a file of the home. */
function saveUnsavedInHome(core: Core, chat: LiveChat): void {
  saveAgain(core, chat);
  const sessionPlace = sessionPlaceOf(core);
  if (chat.id !== "" || typeof sessionPlace === "string" || core.options.save === false) return;
  const { header, entries } = chat.session!;
  const { home } = core.options;
  const id = chat.lost && !saved.hasSession(home, chat.lost) ? chat.lost : header.id;
  const file = tryTo(() => saved.openSession(home, { ...header, id }, () => {}));
  if (!file) return;
  for (const { id: _, type, parent, ...fields } of entries) file.append(type, fields, parent);
  file.close();
  emitNote(
    core,
    `What ${sessionPlace.where} could not take is in '${saved.nameOfPlace(home, id)}'. zz --store-copy files ${sessionPlace.where} puts it there.`,
  );
}

/** Saves what undoing a change takes, before the change is made. Throws a sentence if it cannot. */
export function saveChangeEntry(core: Core, chat: LiveChat, fields: Record<string, unknown>): void {
  const sessionPlace = sessionPlaceOf(core);
  if (core.unsavable || (core.options.save !== false && chat.id === ""))
    throw fault(`The session in '${saved.nameOfPlace(sessionPlace)}' is not saved any more.`);
  try {
    appendEntry(core, chat, "change", fields);
  } catch (error) {
    if (!chat.session?.entries.length) dropUnsaved(chat);
    throw saveFault(sessionPlace, error);
  }
}

/** What kept a session from being saved. A store says it in a sentence. */
export const saveFault = (sessionPlace: saved.SessionPlace, error: unknown): Fault =>
  typeof sessionPlace === "string" || codeOf(error)
    ? fileFault("save the session in", saved.nameOfPlace(sessionPlace), error)
    : fault(errorMessage(error));

/** Drops a session whose first entry could not be saved. */
function dropUnsaved(chat: LiveChat): void {
  chat.session?.close();
  delete chat.session;
  chat.id = null;
}

/** Saves an entry. If that fails, the person is told, and the conversation continues unsaved. */
export function saveEntry(
  core: Core,
  chat: LiveChat,
  type: Entry["type"],
  fields: Record<string, unknown>,
): void {
  if (!chat.session && type !== "message" && type !== "change") return;
  if (chat.id === "" && (fields.message as Message | undefined)?.role === "user")
    saveAgain(core, chat);
  // a store that answers too late may have kept it: it is the same entry then
  const stamped = { at: new Date().toISOString(), ...fields };
  try {
    appendEntry(core, chat, type, stamped);
  } catch (error) {
    const sessionPlace = sessionPlaceOf(core);
    emitNote(core, `${saveFault(sessionPlace, error).message} ${unsavedIn(sessionPlace)}`);
    const entries = chat.session?.entries ?? [];
    chat.session?.close();
    chat.session = saved.unsavedSession(newSessionHeader(core, chat, fields), entries);
    chat.session.append(type, stamped);
    chat.lost ??= chat.id;
    chat.id = "";
  }
}

/**
 * Once there is room again, a session that could not be saved goes on in its file, with all that
 * was said meanwhile.
 */
export function saveAgain(core: Core, chat: LiveChat): void {
  const { entries, header } = chat.session!;
  if (core.options.save === false) return;
  const sessionPlace = sessionPlaceOf(core);
  const warn = (text: string) => emitNote(core, text);
  const reopened = chat.lost
    ? tryTo(() => saved.openSession(sessionPlace, chat.lost!, warn))
    : undefined;
  const reopenedEntries = reopened?.entries ?? [];
  const isOurs = reopenedEntries.every(
    ({ id, at }, i) => entries[i]?.id === id && entries[i]?.at === at,
  );
  if (!isOurs) reopened?.close(); // another zz went on with it
  const session =
    (isOurs && reopened) || tryTo(() => saved.openSession(sessionPlace, header, warn));
  if (!session) return;
  try {
    for (const { id: _, type, parent, ...fields } of entries.slice(session.entries.length))
      session.append(type, fields, parent);
  } catch {
    session.close();
    return;
  }
  Object.assign(chat, { session, id: session.header.id, lost: undefined });
  emitNote(core, `The session is saved again, as '${session.header.id}'.`);
}

function appendEntry(
  core: Core,
  chat: LiveChat,
  type: Entry["type"],
  fields: Record<string, unknown>,
): void {
  if (!chat.session && core.options.save !== false) {
    const header = newSessionHeader(core, chat, fields);
    chat.session = saved.openSession(sessionPlaceOf(core), header, (text) => emitNote(core, text));
    chat.id = header.id;
  }
  chat.session ??= saved.unsavedSession(newSessionHeader(core, chat, fields));
  chat.session.append(type, fields);
}

function newSessionHeader(
  { options: { root } }: Core,
  chat: LiveChat,
  fields: Record<string, unknown>,
): Header {
  const firstWords = ((fields.message as Message | undefined) ?? chat.messages[0])?.text;
  const begins =
    (firstWords && wordsOf(firstWords))?.trimStart().slice(0, 1_000) ??
    `${fields.tool} ${path.relative(root, String(fields.path))}`;
  const timestamp = new Date().toISOString();
  return {
    zz: 1,
    id: saved.newSessionId(timestamp),
    at: timestamp,
    root,
    model: chat.model,
    title: begins.replace(/\s+/g, " ").trim().slice(0, 80),
  };
}

/** Removes the person's last message, and everything after it, from the conversation. */
export function retractLastMessage(core: Core, chat: LiveChat): void {
  const lastUserEntry = chat.session
    ?.branch()
    .findLast(({ message }) => message?.role === "user" && !message.aside);
  if (lastUserEntry) goBack(core, chat, lastUserEntry.parent);
}
