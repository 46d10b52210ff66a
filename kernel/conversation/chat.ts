// A conversation: opening it, going back in it, what comes into it.
import type {
  AnswerMeta,
  Compaction,
  Entry,
  Message,
  Part,
  Saved,
  Sessions,
  Span,
} from "../contract.ts";
import { emit, emitNote, noteTo } from "../events.ts";
import type { Core, LiveChat, Seen, Session, TurnContext } from "../instance.ts";
import { allProviders } from "../settings/providers.ts";
import { fault, usage } from "../text/faults.ts";
import { veil } from "../text/secrets.ts";
import {
  completeModelName,
  firstModel,
  learnWindow,
  modelOfSession,
  providerNamed,
} from "./choose-model.ts";
import { compactMessages, withoutField } from "./messages.ts";
import { closeChat, saveEntry, savePluginStates } from "./save-chat.ts";
import { findSession, listSessions, openSession, readSession } from "./session-files.ts";
import { isChange, isMessage } from "./session-lines.ts";
import { sessionPlaceOf, storeNamed } from "./session-store.ts";

/**
 * Opens a conversation: a new one, a saved session, or a copy of one. A new one is saved from its
 * first message on.
 */
export function openChat(core: Core, model: string, savedSession?: Session | Saved): LiveChat {
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
    back: (entryId, keepsStates) => goBack(core, chat, entryId, keepsStates),
    use: (modelName) => useModel(core, chat, modelName),
    send: (messageText) => void chat.queue.push(messageText),
    tell(asideText) {
      chat.told.push(veil(asideText));
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
  continueSession(core, chat, savedSession);
  return chat;
}

/** Continues that session, or a copy of it, or starts a new conversation. */
function continueSession(core: Core, chat: LiveChat, savedSession?: Session | Saved): void {
  const isContinued = savedSession && "append" in savedSession;
  delete chat.session;
  delete chat.used;
  const turn = isContinued
    ? Math.max(0, ...savedSession.entries.filter(isChange).map((change) => change.turn))
    : 0;
  Object.assign(chat, {
    id: isContinued ? savedSession.header.id : null,
    turn,
    ...(isContinued && { session: savedSession }),
  });
  const branch = savedSession?.branch() ?? [];
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
  for (const pluginState of core.states.values())
    restoreState(pluginState, JSON.parse(pluginState.initial));
  for (const { type, message, plugin, value, ...entry } of branch) {
    const pluginState = type === "state" ? core.states.get(String(plugin)) : undefined;
    if (pluginState) restoreState(pluginState, value as object);
    else if (type === "prompt") setSystemPrompt(chat, entry.layers as Part[]);
    else if (type === "news") attachLayerUpdates(chat, entry.news as Record<string, string>);
    else if (type === "compaction" && entry.before === chat.messages.length)
      compactMessages(chat, entry as Compaction);
    else if (type === "message" && isMessage(message)) chat.messages.push(message);
    else if (type === "message")
      emitNote(core, "A message of the session that cannot be understood was ignored.");
  }
  const { usage } = (chat.messages.findLast((message) => "usage" in message && message.usage) ??
    {}) as AnswerMeta;
  if (usage) chat.used = usage.input + usage.output;

  function restoreState(pluginState: { live: object; saved: string }, savedValue: object): void {
    for (const stateKey of Object.keys(pluginState.live))
      delete (pluginState.live as Record<string, unknown>)[stateKey];
    Object.assign(pluginState.live, structuredClone(savedValue));
    pluginState.saved = JSON.stringify(pluginState.live);
  }
}

/**
 * What was shown of files is saved with the messages that showed it, so that each branch has its
 * own.
 */
function restoreSeen(chat: LiveChat, branch: Entry[]): void {
  chat.seen.clear();
  chat.unsavedSeen.clear();
  for (const [filePath, savedSeen] of branch.flatMap(({ seen }) =>
    Object.entries((seen ?? {}) as SavedSeen),
  )) {
    if (savedSeen) {
      const lines = savedSeen.lines.map(
        ([firstLine, lastLine]): Span => [firstLine, lastLine ?? Number.POSITIVE_INFINITY],
      );
      chat.seen.set(filePath, { hash: savedSeen.hash, lines, round: undefined, moved: [] });
    } else chat.seen.delete(filePath);
  }
}

type SavedSeen = Record<
  string,
  { hash: string; lines: [first: number, last: number | null][] } | null
>; // a last of null: to the end

function newlySeen(chat: LiveChat): Record<string, Pick<Seen, "hash" | "lines"> | null> {
  return Object.fromEntries(
    [...chat.unsavedSeen].map((filePath) => {
      const seenFile = chat.seen.get(filePath);
      return [filePath, seenFile ? { hash: seenFile.hash, lines: seenFile.lines } : null];
    }),
  );
}

/**
 * Continues from an earlier entry. What came after that entry stays in the file, on a branch of its
 * own.
 */
function goBack(core: Core, chat: LiveChat, entryId: number | null, keepsStates = false): void {
  if (chat.phase !== "idle")
    throw fault("Cannot go back while an answer is under way. Stop it first, with Ctrl+C.");
  if (entryId !== null && !chat.session?.entries.some(({ id }) => id === entryId))
    throw fault(
      `Cannot go back to ${entryId}: there is no entry with that number. /tree lists them.`,
    );
  savePluginStates(core, chat);
  chat.session?.append("back", {}, entryId);
  delete chat.used;
  const keptStates = [...core.states.values()].map(({ live }) => ({
    live,
    was: structuredClone(live),
  }));
  rebuildFromBranch(core, chat, chat.session?.branch() ?? []);
  if (!keepsStates) return;
  for (const { live, was } of keptStates) Object.assign(live, was);
  savePluginStates(core, chat);
}

async function useModel(core: Core, chat: LiveChat, modelName: string): Promise<void> {
  const completed = await completeModelName(core, modelName);
  const { name } = providerNamed(core, completed);
  const model = completed === name ? await firstModel(core, name) : completed;
  if (model === `${name}/`)
    throw usage(`Cannot use model '${completed}': it has no name. /models lists them.`);
  chat.model = model;
  saveEntry(core, chat, "model", { model });
  await learnWindow(core, chat);
}

export function sessions({ core, chat }: Pick<TurnContext, "core" | "chat">): Sessions {
  const warnPerson = noteTo(core);
  return {
    list: () => listSessions(sessionPlaceOf(core)),
    read: (id) => readSession(sessionPlaceOf(core), findSession(sessionPlaceOf(core), id)),
    store: (storeName) => storeNamed(core, storeName),
    open(id, isCopy = false) {
      const sessionPlace = sessionPlaceOf(core);
      if (chat.phase !== "idle")
        throw fault(
          "Cannot change the conversation while an answer is under way. " +
            "Stop it first, with Ctrl+C.",
        );
      const sessionId = id === undefined ? undefined : findSession(sessionPlace, id);
      if (sessionId === chat.id && sessionId !== undefined && !isCopy) return;
      const loadSession = (id: string) =>
        isCopy ? readSession(sessionPlace, id) : openSession(sessionPlace, id, warnPerson);
      const savedSession = sessionId === undefined ? undefined : loadSession(sessionId);
      closeChat(core, chat);
      continueSession(core, chat, savedSession);
      const modelName = savedSession && modelOfSession(savedSession);
      if (
        !modelName ||
        !allProviders(core).has(modelName.split("/")[0]!) ||
        modelName === chat.model
      )
        return;
      chat.model = modelName;
      delete chat.window;
      void learnWindow(core, chat);
    },
    rename(id, title) {
      const sessionPlace = sessionPlaceOf(core);
      const sessionId = findSession(sessionPlace, id);
      // throws if another zz has it open
      const session =
        sessionId === chat.id ? chat.session : openSession(sessionPlace, sessionId, warnPerson);
      session?.append("title", { title });
      if (session !== chat.session) session?.close();
      storeNamed(core).rename(sessionId, title);
    },
    remove(id) {
      const sessionPlace = sessionPlaceOf(core);
      const sessionId = findSession(sessionPlace, id);
      if (sessionId === chat.id)
        throw fault(
          "Cannot delete the current conversation. Start another with /new, then delete this one.",
        );
      openSession(sessionPlace, sessionId, warnPerson).close(); // throws if another zz has it open
      storeNamed(core).remove(sessionId);
    },
  };
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

/** Removes the person's last message, and everything after it, from the conversation. */
export function retractLastMessage(core: Core, chat: LiveChat): void {
  const lastUserEntry = chat.session
    ?.branch()
    .findLast(({ message }) => message?.role === "user" && !message.aside);
  if (lastUserEntry) goBack(core, chat, lastUserEntry.parent);
}
