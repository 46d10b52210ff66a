// Where this zz keeps its sessions: in files of the home, or in what the setting `store` names.
import path from "node:path";
import type { SessionStore } from "../contract.ts";
import { emitNote } from "../events.ts";
import type { Core } from "../instance.ts";
import { unknown } from "../text/did-you-mean.ts";
import { fault, usage } from "../text/faults.ts";
import { errorMessage } from "../text/secrets.ts";
import { type SessionPlace, sessionFiles, UNSAVED_IN_FILES } from "./session-files.ts";

export function sessionPlaceOf(core: Core): SessionPlace {
  const { store: storeUrl } = core.options.settings;
  if (!storeUrl) return core.options.home;
  core.store ??= openStore(core, storeUrl);
  return core.store;
}

function openStore(core: Core, storeUrl: string): SessionStore {
  const scheme = storeUrl.split(":", 1)[0]!;
  const store = core.stores.get(scheme)?.value;
  if (store) return store.open(storeUrl, core.options.home);
  const schemes = [...core.stores.keys()];
  throw usage(
    `Cannot use the store '${scheme}:': ` +
      unknown("kind of store", scheme, schemes, "Without the setting `store`, files are used."),
  );
}

/**
 * A place that was named: "files", the folder of a home, or a URL. Without a name, where this zz
 * keeps its sessions.
 */
export function storeNamed(core: Core, placeName?: string): SessionStore {
  const { home, settings } = core.options;
  if (placeName === "files") return sessionFiles(home);
  const currentPlace = sessionPlaceOf(core);
  const isCurrent =
    !placeName ||
    placeName === settings.store ||
    (typeof currentPlace !== "string" && placeName === currentPlace.where);
  if (isCurrent)
    return typeof currentPlace === "string" ? sessionFiles(currentPlace) : currentPlace;
  return /^[a-z][a-z+]+:/i.test(placeName)
    ? openStore(core, placeName)
    : sessionFiles(path.resolve(core.io.cwd(), placeName));
}

/**
 * Says what the person should know of the store. If it is out of reach, the person chooses; with
 * nobody to ask, it goes on in memory.
 */
export async function reachStore(core: Core): Promise<void> {
  const sessionPlace = sessionPlaceOf(core);
  if (typeof sessionPlace === "string" || core.options.save === false) return;
  for (;;)
    try {
      for (const storeNote of sessionPlace.reach?.() ?? []) emitNote(core, storeNote);
      return;
    } catch (error) {
      const reason = errorMessage(error);
      const choice = core.ask
        ? await core.ask(`${reason} [r]etry, go on in [m]emory and save later, or [l]eave? `, "rml")
        : "m";
      if (choice === "m") return; // the first entry says why
      if (choice !== "r") throw fault(reason);
    }
}
const UNSAVED_IN_STORE = "It goes on in memory, and is saved once the store can be reached.";
export const unsavedIn = (sessionPlace: SessionPlace): string =>
  typeof sessionPlace === "string" ? UNSAVED_IN_FILES : UNSAVED_IN_STORE;
