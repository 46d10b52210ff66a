// How plugins hear of what happens: emit() tells observers, around() runs a step through its
// wrappers, enter() begins a phase.

import type * as contract from "./contract.ts";
import { type Events, PHASES, type Phase, type Steps, words } from "./contract.ts";
import type { Core, LiveChat, TurnContext } from "./instance.ts";
import { clockOf } from "./text/clock.ts";
import { type Deadline, deadline, orAbort, withTimeout } from "./text/deadlines.ts";
import { asFault, fault } from "./text/faults.ts";
import { errorMessage, veilData } from "./text/secrets.ts";

export const HOOK_LIMIT_MS = 5_000;
export const withinHookLimit = <T>({ io }: Core, promise: Promise<T>): Promise<T> =>
  withTimeout(clockOf(io), promise, HOOK_LIMIT_MS, tooLongSentence(HOOK_LIMIT_MS));
const tooLongSentence = (limit: number): string => `it took longer than ${limit / 1000} s`;

/** Tells all observers. One that throws or hangs is named, and the turn continues. */
export async function emit<K extends keyof Events>(
  core: Core,
  event: K,
  fact: Events[K],
): Promise<void> {
  if (VEILED_EVENTS.includes(event)) fact = veilData(fact);
  for (const { owner, value } of core.observers) {
    if (value.event !== event) continue;
    const limit = deadline(clockOf(core.io), value.limit, () =>
      fault(`${tooLongSentence(value.limit)}. Its own limit can be raised.`),
    );
    try {
      const observation = value.see(
        fact,
        owner ? pauseLimitWhileWaiting(core.ctx(), limit) : (undefined as never),
      );
      if (observation instanceof Promise) await orAbort(limit.signal, observation);
    } catch (error) {
      if (event !== "noted")
        emitNote(core, `Plugin '${owner}' failed on '${event}': ${errorMessage(error)}`);
    } finally {
      limit.lift();
    }
  }
}

/** These events are veiled here. The others were veiled before, or hold nothing to veil. */
const VEILED_EVENTS = words<keyof Events>(
  "replied retried thought planned decided called progressed typed asked noted answered failed compacted",
);
export const emitNote = (core: Core, text: string): void => void emit(core, "noted", { text });

/**
 * Runs a step through the wrappers around it. A wrapper's own time is limited, but not the time
 * that it waits for inner steps.
 */
export function runStep<K extends keyof Steps>(
  { core, ctx }: Omit<TurnContext, "chat"> & { chat?: LiveChat },
  step: K,
  input: Steps[K][0],
  inner: (input: Steps[K][0]) => Promise<Steps[K][1]> = async (passedInput) =>
    passedInput as Steps[K][1],
): Promise<Steps[K][1]> {
  const wraps = core.wraps.filter(({ value }) => value.step === step);
  const clock = clockOf(core.io);
  return pass(0, input);

  async function pass(index: number, stepInput: Steps[K][0]): Promise<Steps[K][1]> {
    const wrap = wraps[index];
    if (!wrap) return inner(stepInput);
    const { owner, value } = wrap;
    const late = `Plugin '${owner}' was cut off in '${step}': ${tooLongSentence(value.limit)}. Its own limit can be raised.`;
    const limit = deadline(clock, value.limit, () => fault(late));
    const next = (passed: Steps[K][0]) => limit.wait(pass(index + 1, passed));
    const ran = orAbort(
      limit.signal,
      (async () => value.around(stepInput, next, pauseLimitWhileWaiting(ctx, limit)))(),
    ).finally(limit.lift);
    const leftBehind = () =>
      fault(`Plugin '${owner}' did not stop in '${step}', and was left behind.`);
    const output = await orAbort(ctx.signal, ran, { clock, left: leftBehind }).catch((error) =>
      Promise.reject(asFault(error, `Plugin '${owner}' threw in '${step}', and did not say what.`)),
    );
    if (output !== undefined && output !== null) return output;
    throw fault(
      `Plugin '${owner}' gave nothing back in '${step}'. Its wrapper must return what next() gave.`,
    );
  }
}
const WAITING_METHODS = words<"ask">("ask pick edit terminal call command request");
/**
 * Stops the clock of limits while one of these runs: the person's time, or that of a call with a
 * limit of its own, does not count.
 */
export function pauseLimitWhileWaiting(ctx: contract.Ctx, { wait }: Deadline): contract.Ctx {
  const waits = WAITING_METHODS.flatMap((name) => {
    const { [name]: act } = ctx as Required<contract.Ctx>;
    return act
      ? [[name, { value: (...parameters: Parameters<typeof act>) => wait(act(...parameters)) }]]
      : [];
  });
  return Object.create(ctx, Object.fromEntries(waits));
}

export function assertPhaseChange(from: Phase, to: Phase): void {
  const next: readonly Phase[] = [...PHASES[from], "error", "aborted"];
  if (!next.includes(to))
    throw fault(`Cannot go from '${from}' to '${to}': no step leads there. This is a bug in zz.`);
}

/** What may be shown or run only in that phase. */
export function assertPhase({ phase }: LiveChat, ...only: Phase[]): void {
  if (!only.includes(phase))
    throw fault(
      `Cannot do this while '${phase}', only while '${only.join("' or '")}'. This is a bug in zz.`,
    );
}

export function enterPhase(core: Core, chat: LiveChat, to: Phase): void {
  const from = chat.phase;
  assertPhaseChange(from, to);
  chat.phase = to;
  void emit(core, "phase", { from, to });
}

export const observeEvent = <K extends keyof Events>(
  core: Core,
  event: K,
  see: (fact: Events[K]) => void,
) => void core.observers.push({ owner: "", value: { event, see, limit: HOOK_LIMIT_MS } });
