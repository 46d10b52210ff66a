// Where this zz keeps its sessions: in files of the home, or in what the setting `store` names.
import path from "node:path";
import type { SessionStore } from "../contract.ts";
import { emitNote } from "../events.ts";
import type { Core } from "../instance.ts";
import { unknown } from "../text/did-you-mean.ts";
import { fault, usage } from "../text/faults.ts";
import { errorMessage } from "../text/secrets.ts";
import { type Place, sessionFiles, UNSAVED } from "./session-files.ts";

export function placeOf(core: Core): Place {
  const { store: url } = core.options.settings;
  if (!url) return core.options.home;
  core.store ??= openStore(core, url);
  return core.store;
}

function openStore(core: Core, url: string): SessionStore {
  const scheme = url.split(":", 1)[0]!;
  const store = core.stores.get(scheme)?.value;
  if (store) return store.open(url);
  const known = [...core.stores.keys()];
  throw usage(
    `Cannot use the store '${scheme}:': ${unknown("kind of store", scheme, known, "Without the setting `store`, files are used.")}`,
  );
}

/**
 * A place that was named: "files", the folder of a home, or a URL. Without a name, where this zz
 * keeps its sessions.
 */
export function storeNamed(core: Core, place?: string): SessionStore {
  const { home, settings } = core.options;
  if (place === "files") return sessionFiles(home);
  const own = placeOf(core);
  const isOwn =
    !place || place === settings.store || (typeof own !== "string" && place === own.where);
  if (isOwn) return typeof own === "string" ? sessionFiles(own) : own;
  return /^[a-z][a-z+]+:/i.test(place)
    ? openStore(core, place)
    : sessionFiles(path.resolve(core.io.cwd(), place));
}

/**
 * Says what the person should know of the store. If it is out of reach, the person chooses; with
 * nobody to ask, it goes on in memory.
 */
export async function reachStore(core: Core): Promise<void> {
  const place = placeOf(core);
  if (typeof place === "string" || core.options.save === false) return;
  for (;;)
    try {
      for (const text of place.reach?.() ?? []) emitNote(core, text);
      return;
    } catch (error) {
      const why = errorMessage(error);
      const choice = core.ask
        ? await core.ask(`${why} [r]etry, go on in [m]emory and save later, or [l]eave? `, "rml")
        : "m";
      if (choice === "m") return; // the first entry says why
      if (choice !== "r") throw fault(why);
    }
}
const UNSAVED_YET = "It goes on in memory, and is saved once the store can be reached.";
export const unsavedIn = (place: Place): string =>
  typeof place === "string" ? UNSAVED : UNSAVED_YET;
