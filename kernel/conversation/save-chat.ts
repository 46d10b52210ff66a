// Saving a conversation: each entry as it comes, and what to do where that fails.
import path from "node:path";
import type { Entry, Fault, Header, Message } from "../contract.ts";
import { emitNote, noteTo } from "../events.ts";
import type { Core, LiveChat } from "../instance.ts";
import { fileFault } from "../system/atomic-write.ts";
import { codeOf, fault } from "../text/faults.ts";
import { plainJson } from "../text/json-schema.ts";
import { errorMessage } from "../text/secrets.ts";
import { tryTo, writtenTextOf } from "../text/words.ts";
import {
  hasSession,
  nameOfPlace,
  newSessionId,
  openSession,
  type SessionPlace,
} from "./session-files.ts";
import { isChange, unsavedSession } from "./session-lines.ts";
import { sessionPlaceOf, unsavedIn } from "./session-store.ts";

/**
 * Marks a one-shot that failed before anything was answered or done: lists of sessions leave it out
 * until it is continued.
 */
export function markFailed(core: Core, chat: LiveChat): void {
  const { entries = [] } = chat.session ?? {};
  const hasResult = entries.some(
    (sessionEntry) => isChange(sessionEntry) || sessionEntry.message?.role === "assistant",
  );
  if (entries.length && !hasResult) saveEntry(core, chat, "failed", {});
}

/** Saves the plugins' states that changed. */
export function savePluginStates(core: Core, chat: LiveChat): void {
  if (!chat.session) return; // it is created with the first message
  for (const [plugin, pluginState] of core.states) {
    try {
      const currentState = plainJson(pluginState.live);
      // a copy: the plugin goes on
      if (currentState !== pluginState.saved)
        saveEntry(core, chat, "state", { plugin, value: JSON.parse(currentState) });
      pluginState.saved = currentState;
    } catch (error) {
      if (pluginState.saved !== errorMessage(error))
        emitNote(
          core,
          `Cannot keep the state of plugin '${plugin}': ` +
            `${(pluginState.saved = errorMessage(error))}`,
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
  const id = chat.lost && !hasSession(home, chat.lost) ? chat.lost : header.id;
  const homeSession = tryTo(() => openSession(home, { ...header, id }, () => {}));
  if (!homeSession) return;
  for (const { id: _, type, parent, ...fields } of entries)
    homeSession.append(type, fields, parent);
  homeSession.close();
  emitNote(
    core,
    `What ${sessionPlace.where} could not take is in '${nameOfPlace(home, id)}'. ` +
      `zz --store-copy files ${sessionPlace.where} puts it there.`,
  );
}

/** Saves what undoing a change takes, before the change is made. Throws a sentence if it cannot. */
export function saveChangeEntry(
  core: Core,
  chat: LiveChat,
  entryFields: Record<string, unknown>,
): void {
  const sessionPlace = sessionPlaceOf(core);
  if (core.unsavable || (core.options.save !== false && chat.id === ""))
    throw fault(`The session in '${nameOfPlace(sessionPlace)}' is not saved any more.`);
  try {
    appendEntry(core, chat, "change", entryFields);
  } catch (error) {
    if (!chat.session?.entries.length) dropUnsaved(chat);
    throw saveFault(sessionPlace, error);
  }
}

/** What kept a session from being saved. A store says it in a sentence. */
export const saveFault = (sessionPlace: SessionPlace, error: unknown): Fault =>
  typeof sessionPlace === "string" || codeOf(error)
    ? fileFault("save the session in", nameOfPlace(sessionPlace), error)
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
  entryType: Entry["type"],
  entryFields: Record<string, unknown>,
): void {
  if (!chat.session && entryType !== "message" && entryType !== "change") return;
  if (chat.id === "" && (entryFields.message as Message | undefined)?.role === "user")
    saveAgain(core, chat);
  // a store that answers too late may have kept it: it is the same entry then
  const stamped = { at: new Date().toISOString(), ...entryFields };
  try {
    appendEntry(core, chat, entryType, stamped);
  } catch (error) {
    const sessionPlace = sessionPlaceOf(core);
    emitNote(core, `${saveFault(sessionPlace, error).message} ${unsavedIn(sessionPlace)}`);
    const entries = chat.session?.entries ?? [];
    chat.session?.close();
    chat.session = unsavedSession(newSessionHeader(core, chat, entryFields), entries);
    chat.session.append(entryType, stamped);
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
  const warnPerson = noteTo(core);
  const reopened = chat.lost
    ? tryTo(() => openSession(sessionPlace, chat.lost!, warnPerson))
    : undefined;
  const reopenedEntries = reopened?.entries ?? [];
  const isOurSession = reopenedEntries.every(
    ({ id, at }, i) => entries[i]?.id === id && entries[i]?.at === at,
  );
  if (!isOurSession) reopened?.close(); // another zz went on with it
  const session =
    (isOurSession && reopened) || tryTo(() => openSession(sessionPlace, header, warnPerson));
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
  entryType: Entry["type"],
  entryFields: Record<string, unknown>,
): void {
  if (!chat.session && core.options.save !== false) {
    const newHeader = newSessionHeader(core, chat, entryFields);
    chat.session = openSession(sessionPlaceOf(core), newHeader, (warningText) =>
      emitNote(core, warningText),
    );
    chat.id = newHeader.id;
  }
  chat.session ??= unsavedSession(newSessionHeader(core, chat, entryFields));
  chat.session.append(entryType, entryFields);
}

function newSessionHeader(
  { options: { root } }: Core,
  chat: LiveChat,
  entryFields: Record<string, unknown>,
): Header {
  const firstWords = ((entryFields.message as Message | undefined) ?? chat.messages[0])?.text;
  const firstText =
    (firstWords && writtenTextOf(firstWords))?.trimStart().slice(0, 1_000) ??
    `${entryFields.tool} ${path.relative(root, String(entryFields.path))}`;
  const timestamp = new Date().toISOString();
  return {
    zz: 1,
    id: newSessionId(timestamp),
    at: timestamp,
    root,
    model: chat.model,
    title: firstText.replace(/\s+/g, " ").trim().slice(0, 80),
  };
}
