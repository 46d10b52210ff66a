// Undo and redo.
import { bytesAfter, bytesBefore, didOf, history, tidy } from "./changes.ts";
import { keepLog, openChat, remember } from "./chat.ts";
import { rebase } from "./commit.ts";
import type { Result } from "./contract.ts";
import { type LiveChat, note, type TurnContext } from "./core.ts";
import { alike, fileFault, hashOfState, putAll, type State, type Step, stateOf } from "./disk.ts";
import { codeOf } from "./faults.ts";
import { realPath, shortName } from "./paths.ts";
import { type Change, isChange, lastSession, openSession, readSession } from "./sessions.ts";
import { tryTo } from "./text.ts";

/** Outside of a conversation: the last session of this folder that changed anything. */
export function sessionWithChanges({ core, chat }: TurnContext): LiveChat {
  const { home, root } = core.options;
  if (chat.model || chat.session) return chat;
  const warn = (text: string) => note(core, text);
  const id = lastSession(home, root, warn, (id) => Boolean(tryTo(() => readSession(home, id).entries.some(isChange))));
  return id ? Object.assign(chat, openChat(core, "", openSession(home, id, warn))) : chat;
}

/** Takes changes back, or makes them again: all that are named, or none. */
export async function undoOrRedo(place: TurnContext, way: "undo" | "redo", what: string): Promise<Result> {
  const { core } = place;
  const chat = sessionWithChanges(place);
  const back = way === "undo";
  const named = (file: string) => shortName(core.options, file);
  const { changes, redo } = history(chat.log);
  const batches = back ? toUndo() : redo.slice(0, Number(what) || 0);
  const picked = changes.filter(({ change }) => batches.flat().includes(change));
  if (!picked.length)
    return { text: `Nothing to ${way}${/^(\d+|turn)$/.test(what) ? "" : ` in '${what}'`}.`, data: [] };
  if (back) picked.reverse();
  const steps: Step[] = [];
  for (const file of new Set(picked.map((change) => change.path))) {
    const step = await stepOf(
      file,
      picked.filter((change) => change.path === file),
    );
    if (typeof step === "string") return { text: step, failed: true };
    if (step) steps.push(step);
  }
  try {
    putAll(steps);
  } catch (error) {
    throw codeOf(error) ? fileFault(way, steps.map(({ file }) => named(file)).join(", "), error) : error;
  }
  const paths = picked.map((change) => change.path);
  tidy(changes, paths);
  for (const changes of batches) keepLog(core, chat, back ? "undone" : "redone", { changes });
  const text = `${back ? "Undone" : "Redone"}: ${picked.map((change) => `${didOf(change)} ${named(change.path)}`).join(", ")}.`;
  if (chat.messages.length)
    remember(core, chat, { role: "user", text: `[Since your last message: ${text}]`, aside: true });
  return { text, data: picked.map((change) => named(change.path)) };

  /** The last so many calls, one after the other; all of the last turn; or the last change of one file. */
  function toUndo(): number[][] {
    const open = changes.filter((change) => !change.undone);
    const of = (fits: (change: Change) => boolean) => open.filter(fits).map(({ change }) => change);
    const last = open.at(-1);
    if (what === "turn") return last ? [of(({ turn }) => turn === last.turn)] : [];
    const count = /^\d+$/.test(what) ? Number(what) : undefined;
    const groups = [...new Set(open.map(({ group }) => group))].slice(count ? -count : open.length);
    if (count !== undefined) return groups.reverse().map((group) => of((change) => change.group === group));
    const file = realPath(core.options, what);
    return [of((change) => change.path === file).slice(-1)];
  }

  /** What is to become of one file. A text: why nothing can. */
  async function stepOf(file: string, own: Change[]): Promise<Step | string | undefined> {
    const from = stateOf(file);
    let hash = hashOfState(from);
    const expected = own.every(({ was, is }) => {
      const [before, after] = back ? [is, was] : [was, is];
      const fits = hash === before || hash === after; // the latter: it was killed before it could be made
      hash = after;
      return fits;
    });
    const [first, last] = [own[0]!, own.at(-1)!];
    const after = (change: Change) => {
      if ((back ? change.was : change.is) === null) return undefined;
      const before = bytesBefore(changes, change);
      return back ? before : bytesAfter(before, change);
    };
    const bytes = after(last);
    const untouched = from?.mode === first.modes[back ? 1 : 0]; // a mode that somebody set since stays
    const mode = !from || untouched ? last.modes[back ? 0 : 1] : from.mode;
    const to = bytes && { bytes, mode };
    if (expected) return alike(from, to) ? undefined : { file, from, to };
    const verb = `Cannot ${way} '${named(file)}': it has changed since.`;
    if (!core.ask) return `${verb} Nothing was touched. At the prompt, zz can merge or overwrite it.`;
    const merged = await mergeAll();
    const keys = `${merged ? "m = merge into what is there now, " : ""}o = overwrite, n = leave everything`;
    const key = await core.ask(`${verb} [${merged ? "m/" : ""}o/N] (${keys}) `, merged ? "mon" : "on");
    if (key === "o") return { file, from, to };
    return key === "m" && merged ? { file, from, to: merged } : `${verb} Nothing was touched.`;

    async function mergeAll(): Promise<State> {
      let now = from;
      for (const { was, is, ...change } of own) {
        if (was === null || is === null) return undefined;
        const old = bytesBefore(changes, { was, is, ...change });
        const [one, two] = [old, bytesAfter(old, { was, is, ...change })].map((bytes) => ({ bytes, mode: 0 }));
        now = (await rebase(now, back ? two : one, back ? one : two))?.after;
      }
      return now && { bytes: now.bytes, mode: from!.mode };
    }
  }
}
