// How plugins hear of what happens: emit() tells observers, around() runs a step through its wrappers, enter() begins a phase.

import type * as contract from "./contract.ts";
import { type Events, PHASES, type Phase, type Steps, words } from "./contract.ts";
import type { Core, LiveChat, TurnContext } from "./instance.ts";
import { clockOf } from "./text/clock.ts";
import { type Deadline, deadline, until, within } from "./text/deadlines.ts";
import { asFault, fault } from "./text/faults.ts";
import { reason, veilData } from "./text/secrets.ts";

export const HOOK_LIMIT = 5_000;
export const inTime = <T>({ io }: Core, promise: Promise<T>): Promise<T> => within(clockOf(io), promise, HOOK_LIMIT, tooLong(HOOK_LIMIT));
export const tooLong = (limit: number): string => `it took longer than ${limit / 1000} s`;

/** Tells all observers. One that throws or hangs is named, and the turn continues. */
export async function emit<K extends keyof Events>(core: Core, event: K, fact: Events[K]): Promise<void> {
  if (VEILED_EVENTS.includes(event)) fact = veilData(fact);
  for (const { owner, value } of core.observers) {
    if (value.event !== event) continue;
    const limit = deadline(clockOf(core.io), value.limit, () => fault(`${tooLong(value.limit)}. Its own limit can be raised.`));
    try {
      const seen = value.see(fact, owner ? uncounted(core.ctx(), limit) : (undefined as never));
      if (seen instanceof Promise) await until(limit.signal, seen);
    } catch (error) {
      if (event !== "noted") note(core, `Plugin '${owner}' failed on '${event}': ${reason(error)}`);
    } finally {
      limit.lift();
    }
  }
}

/** These events are veiled here. The others were veiled before, or hold nothing to veil. */
const VEILED_EVENTS = words<keyof Events>(
  "replied retried thought planned decided called progressed typed asked noted answered failed compacted",
);
export const note = (core: Core, text: string): void => void emit(core, "noted", { text });

/** Runs a step through the wrappers around it. A wrapper's own time is limited, but not the time that it waits for inner steps. */
export function around<K extends keyof Steps>(
  { core, ctx }: Omit<TurnContext, "chat"> & { chat?: LiveChat },
  step: K,
  input: Steps[K][0],
  inner: (input: Steps[K][0]) => Promise<Steps[K][1]> = async (given) => given as Steps[K][1],
): Promise<Steps[K][1]> {
  const wraps = core.wraps.filter(({ value }) => value.step === step);
  const clock = clockOf(core.io);
  return pass(0, input);

  async function pass(at: number, given: Steps[K][0]): Promise<Steps[K][1]> {
    const wrap = wraps[at];
    if (!wrap) return inner(given);
    const { owner, value } = wrap;
    const late = `Plugin '${owner}' was cut off in '${step}': ${tooLong(value.limit)}. Its own limit can be raised.`;
    const limit = deadline(clock, value.limit, () => fault(late));
    const next = (passed: Steps[K][0]) => limit.wait(pass(at + 1, passed));
    const ran = until(limit.signal, (async () => value.around(given, next, uncounted(ctx, limit)))()).finally(limit.lift);
    const left = () => fault(`Plugin '${owner}' did not stop in '${step}', and was left behind.`);
    const out = await until(ctx.signal, ran, { clock, left }).catch((error) =>
      Promise.reject(asFault(error, `Plugin '${owner}' threw in '${step}', and did not say what.`)),
    );
    if (out !== undefined && out !== null) return out;
    throw fault(`Plugin '${owner}' gave nothing back in '${step}'. Its wrapper must return what next() gave.`);
  }
}
const UNCOUNTED = words<"ask">("ask pick edit terminal call command request");
/** Stops the clock of limits while one of these runs: the person's time, or that of a call with a limit of its own, does not count. */
export function uncounted(ctx: contract.Ctx, { wait }: Deadline): contract.Ctx {
  const waits = UNCOUNTED.flatMap((name) => {
    const { [name]: act } = ctx as Required<contract.Ctx>;
    return act ? [[name, { value: (...given: Parameters<typeof act>) => wait(act(...given)) }]] : [];
  });
  return Object.create(ctx, Object.fromEntries(waits));
}

export function checkMove(from: Phase, to: Phase): void {
  const next: readonly Phase[] = [...PHASES[from], "error", "aborted"];
  if (!next.includes(to)) throw fault(`Cannot go from '${from}' to '${to}': there is no such step. This is a bug in zz.`);
}

/** What may be shown or run only in that phase. */
export function during({ phase }: LiveChat, ...only: Phase[]): void {
  if (!only.includes(phase)) throw fault(`Cannot do this while '${phase}', only while '${only.join("' or '")}'. This is a bug in zz.`);
}

export function enter(core: Core, chat: LiveChat, to: Phase): void {
  const from = chat.phase;
  checkMove(from, to);
  chat.phase = to;
  void emit(core, "phase", { from, to });
}

export const watch = <K extends keyof Events>(core: Core, event: K, see: (fact: Events[K]) => void) =>
  void core.observers.push({ owner: "", value: { event, see, limit: HOOK_LIMIT } });
