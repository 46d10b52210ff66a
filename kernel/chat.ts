// Chapter 9 of the kernel, its second half: a conversation, how it is taken up, gone back in, and saved.
import fs from "node:fs";
import path from "node:path";
import {
  type Core,
  endpointOf,
  fault,
  firstModel,
  type LiveChat,
  type Made,
  type Message,
  NO_ONE,
  note,
  PATIENCE,
  type Place,
  providerNamed,
  type Sessions,
  usage,
} from "../zz.ts";
import { fileFault, isChange } from "./files.ts";
import {
  type Entry,
  findSession,
  type Header,
  isMessage,
  keepTitle,
  listSessions,
  newSessionId,
  openSession,
  readSession,
  type Saved,
  type Session,
  sessionFile,
  sessionsFolder,
  UNSAVED,
  unsavedSession,
} from "./store.ts";

/** Opens a conversation: a new one, or a session's, or a copy of what was saved. A new one is saved from its first message on. */
export function openChat(core: Core, model: string, from?: Session | Saved): LiveChat {
  const chat: LiveChat = {
    id: null,
    model,
    phase: "idle",
    messages: [],
    attached: [],
    layers: new Map(),
    turn: 0,
    log: [],
    seen: new Map(),
    stop: new AbortController(),
    tree: () => ({ entries: chat.session?.entries ?? [], branch: chat.session?.branch() ?? [] }),
    back: (to) => goBack(core, chat, to),
    use: (given) => useModel(core, chat, given),
    send: (text) => void (chat.next = text),
    attach: (what) => void chat.attached.push(what),
  };
  takeUp(core, chat, from);
  return chat;
}

/** The conversation goes on as that session, or as a copy of it, or anew. */
function takeUp(core: Core, chat: LiveChat, from?: Session | Saved): void {
  const own = from && "append" in from;
  delete chat.session;
  delete chat.used;
  Object.assign(chat, { id: own ? from.header.id : null, turn: 0, log: [], seen: new Map(), layers: new Map() });
  if (own) {
    chat.session = from;
    chat.log.push(...from.entries.filter((entry) => /^(change|undone|redone)$/.test(entry.type)));
    chat.turn = Math.max(0, ...chat.log.filter(isChange).map(({ turn }) => turn));
  }
  replay(core, chat, from?.branch() ?? []);
  if (!own) for (const message of chat.messages.splice(0)) remember(core, chat, message);
}

/** Messages and plugins' states as a branch has them. */
function replay(core: Core, chat: LiveChat, branch: Entry[]): void {
  chat.messages = [];
  for (const state of core.states.values()) renew(state, JSON.parse(state.initial));
  for (const { type, message, plugin, value } of branch) {
    const state = type === "state" ? core.states.get(String(plugin)) : undefined;
    if (state) renew(state, value as object);
    if (type !== "message") continue;
    if (isMessage(message)) chat.messages.push(message);
    else note(core, "A message of the session that cannot be understood was passed over.");
  }
  const last = chat.messages.findLast((message) => "usage" in message && message.usage);
  const { usage } = (last ?? {}) as Made;
  if (usage) chat.used = usage.input + usage.output;

  function renew(state: { live: object; saved: string }, value: object): void {
    for (const key of Object.keys(state.live)) delete (state.live as Record<string, unknown>)[key];
    Object.assign(state.live, structuredClone(value));
    state.saved = JSON.stringify(state.live);
  }
}

/** From there on. What came after it stays in the file, on a branch of its own. */
function goBack(core: Core, chat: LiveChat, to: number | null): void {
  if (chat.phase !== "idle") throw fault("Cannot go back while an answer is under way. Stop it first, with Ctrl+C.");
  if (to !== null && !chat.session?.entries.some(({ id }) => id === to))
    throw fault(`Cannot go back to ${to}: there is nothing of that number. /tree lists what there is.`);
  chat.session?.append("back", {}, to);
  delete chat.used;
  chat.layers.clear();
  replay(core, chat, chat.session?.branch() ?? []);
}

async function useModel(core: Core, chat: LiveChat, given: string): Promise<void> {
  const { name } = providerNamed(core, given);
  const model = given === name ? await firstModel(core, name) : given;
  if (model === `${name}/`) throw usage(`Cannot use model '${given}': it has no name. /models lists them.`);
  chat.model = model;
  save(core, chat, "model", { model });
  delete chat.window;
  await learnWindow(core, chat);
}

/** What the provider says of the model. One that does not say, or does not answer, leaves it unknown. */
export async function learnWindow(core: Core, chat: LiveChat): Promise<void> {
  const { model } = chat;
  const provider = providerNamed(core, model);
  const models = await provider.models(AbortSignal.timeout(PATIENCE), endpointOf(core, provider.name)).catch(() => []);
  const window = models.find(({ id }) => model === `${provider.name}/${id}`)?.window;
  if (window && chat.model === model) chat.window = window;
}

/** The model that a session used last. */
export const modelOf = ({ header, branch }: Saved): string =>
  String(branch().findLast(({ type }) => type === "model")?.model ?? header.model).replace(NO_ONE, "");

export function sessions({ core, chat }: Pick<Place, "core" | "chat">): Sessions {
  const { home } = core.options;
  const warn = (text: string) => note(core, text);
  return {
    list: () => listSessions(home),
    read: (id) => readSession(home, findSession(home, id)),
    open(id, copy = false) {
      if (chat.phase !== "idle")
        throw fault("Cannot change the conversation while an answer is under way. Stop it first, with Ctrl+C.");
      const found = id === undefined ? undefined : findSession(home, id);
      if (found === chat.id && found !== undefined && !copy) return;
      const from = found === undefined ? undefined : copy ? readSession(home, found) : openSession(home, found, warn);
      chat.session?.close();
      takeUp(core, chat, from);
      const model = from && modelOf(from);
      if (!model || !core.providers.has(model.split("/")[0]!) || model === chat.model) return;
      chat.model = model;
      delete chat.window;
      void learnWindow(core, chat);
    },
    rename(id, title) {
      const found = findSession(home, id);
      keepTitle(home, found, title);
      if (found === chat.id) return chat.session?.append("title", { title });
      const session = openSession(home, found, warn);
      session.append("title", { title });
      session.close();
    },
    remove(id) {
      const found = findSession(home, id);
      if (found === chat.id)
        throw fault("Cannot delete the conversation under way. /new begins another; then delete this one.");
      openSession(home, found, warn).close(); // nobody else has it open
      fs.rmSync(sessionFile(home, found));
      keepTitle(home, found, "");
    },
  };
}

/** Into the history and onto the disk, before anything is done about it. */
export function remember(core: Core, chat: LiveChat, message: Message): void {
  chat.messages.push(message);
  save(core, chat, "message", { message });
}

export function keepLog(core: Core, chat: LiveChat, type: Entry["type"], fields: Record<string, unknown>): void {
  const at = new Date().toISOString();
  chat.log.push({ id: 0, parent: null, at, type, ...fields });
  save(core, chat, type, fields);
}

/** Where nothing can be saved, the talk goes on and says so. */
export function save(core: Core, chat: LiveChat, type: Entry["type"], fields: Record<string, unknown>): void {
  const { home, root } = core.options;
  if (!chat.session && type !== "message" && type !== "change") return;
  const title = (chat.messages[0]?.text ?? `${fields.tool} ${path.relative(root, String(fields.path))}`)
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 80);
  const at = new Date().toISOString();
  const header: Header = { zz: 1, id: newSessionId(at), at, root, model: chat.model, title };
  try {
    if (!chat.session && core.options.save !== false) {
      chat.session = openSession(home, header, (text) => note(core, text));
      chat.id = header.id;
    }
    chat.session ??= unsavedSession(header);
    chat.session.append(type, fields);
  } catch (error) {
    const { message } = fileFault("save the session in", sessionsFolder(home), error);
    note(core, `${message} ${UNSAVED}`);
    const saved = chat.session?.entries ?? [];
    chat.session?.close();
    chat.session = unsavedSession(header, saved);
    chat.session.append(type, fields);
    chat.id = "";
  }
}

/** Takes the last message of the person, and all that came of it, out of the conversation. */
export function takeBack(core: Core, chat: LiveChat): void {
  const entry = chat.session?.branch().findLast(({ message }) => message?.role === "user" && !message.aside);
  if (entry) goBack(core, chat, entry.parent);
}
