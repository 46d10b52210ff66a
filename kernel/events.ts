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
const tooLongSentence = (limitMs: number): string => `it took longer than ${limitMs / 1000} s`;

/** Tells all observers. One that throws or hangs is named, and the turn continues. */
export async function emit<K extends keyof Events>(
  core: Core,
  eventName: K,
  eventFact: Events[K],
): Promise<void> {
  if (VEILED_EVENTS.includes(eventName)) eventFact = veilData(eventFact);
  for (const { owner, value } of core.observers) {
    if (value.event !== eventName) continue;
    const timeLimit = deadline(clockOf(core.io), value.limit, () =>
      fault(`${tooLongSentence(value.limit)}. Its own limit can be raised.`),
    );
    try {
      const observation = value.see(
        eventFact,
        owner ? pauseLimitWhileWaiting(core.ctx(), timeLimit) : (undefined as never),
      );
      if (observation instanceof Promise) await orAbort(timeLimit.signal, observation);
    } catch (pluginError) {
      if (eventName !== "noted")
        emitNote(core, `Plugin '${owner}' failed on '${eventName}': ${errorMessage(pluginError)}`);
    } finally {
      timeLimit.lift();
    }
  }
}

/** These events are veiled here. The others were veiled before, or hold nothing to veil. */
const VEILED_EVENTS = words<keyof Events>(
  "replied retried thought planned decided called progressed typed " +
    "asked noted answered failed compacted",
);
export const emitNote = (core: Core, text: string): void => void emit(core, "noted", { text });
export const noteTo = (core: Core) => (text: string) => emitNote(core, text);

/**
 * Runs a step through the wrappers around it. A wrapper's own time is limited, but not the time
 * that it waits for inner steps.
 */
export function runStep<K extends keyof Steps>(
  { core, ctx }: Omit<TurnContext, "chat"> & { chat?: LiveChat },
  stepName: K,
  firstInput: Steps[K][0],
  innerStep: (innerInput: Steps[K][0]) => Promise<Steps[K][1]> = async (passedInput) =>
    passedInput as Steps[K][1],
): Promise<Steps[K][1]> {
  const stepWrappers = core.wraps.filter(({ value }) => value.step === stepName);
  const clock = clockOf(core.io);
  return runFrom(0, firstInput);

  async function runFrom(wrapIndex: number, stepInput: Steps[K][0]): Promise<Steps[K][1]> {
    const stepWrapper = stepWrappers[wrapIndex];
    if (!stepWrapper) return innerStep(stepInput);
    const { owner, value } = stepWrapper;
    const lateMessage =
      `Plugin '${owner}' was cut off in '${stepName}': ${tooLongSentence(value.limit)}. ` +
      "Its own limit can be raised.";
    const timeLimit = deadline(clock, value.limit, () => fault(lateMessage));
    const runNext = (passedInput: Steps[K][0]) =>
      timeLimit.wait(runFrom(wrapIndex + 1, passedInput));
    const wrapperRun = orAbort(
      timeLimit.signal,
      (async () => value.around(stepInput, runNext, pauseLimitWhileWaiting(ctx, timeLimit)))(),
    ).finally(timeLimit.lift);
    const leftBehind = () =>
      fault(`Plugin '${owner}' did not stop in '${stepName}', and was left behind.`);
    const stepOutput = await orAbort(ctx.signal, wrapperRun, { clock, left: leftBehind }).catch(
      (wrapperError) =>
        Promise.reject(
          asFault(wrapperError, `Plugin '${owner}' threw in '${stepName}', and did not say what.`),
        ),
    );
    if (stepOutput !== undefined && stepOutput !== null) return stepOutput;
    throw fault(
      `Plugin '${owner}' gave nothing back in '${stepName}'. ` +
        "Its wrapper must return what next() gave.",
    );
  }
}
const WAITING_METHODS = words<"ask">("ask pick edit terminal call command request");
/**
 * Stops the clock of limits while one of these runs: the person's time, or that of a call with a
 * limit of its own, does not count.
 */
export function pauseLimitWhileWaiting(ctx: contract.Ctx, { wait }: Deadline): contract.Ctx {
  const waitingCtx = Object.create(ctx);
  for (const methodName of WAITING_METHODS) {
    const runMethod = ctx[methodName];
    if (!runMethod) continue;
    const value = (...parameters: Parameters<typeof runMethod>) => wait(runMethod(...parameters));
    Object.defineProperty(waitingCtx, methodName, { value });
  }
  return waitingCtx;
}

export function assertPhaseChange(fromPhase: Phase, toPhase: Phase): void {
  const allowedPhases: readonly Phase[] = [...PHASES[fromPhase], "error", "aborted"];
  if (!allowedPhases.includes(toPhase))
    throw fault(
      `Cannot go from '${fromPhase}' to '${toPhase}': no step leads there. This is a bug in zz.`,
    );
}

/** What may be shown or run only in that phase. */
export function assertPhase({ phase }: LiveChat, ...allowedPhases: Phase[]): void {
  if (!allowedPhases.includes(phase))
    throw fault(
      `Cannot do this while '${phase}', ` +
        `only while '${allowedPhases.join("' or '")}'. This is a bug in zz.`,
    );
}

export function enterPhase(core: Core, liveChat: LiveChat, to: Phase): void {
  const from = liveChat.phase;
  assertPhaseChange(from, to);
  liveChat.phase = to;
  void emit(core, "phase", { from, to });
}

export const observeEvent = <K extends keyof Events>(
  core: Core,
  event: K,
  see: (eventFact: Events[K]) => void,
) => void core.observers.push({ owner: "", value: { event, see, limit: HOOK_LIMIT_MS } });
