// One question to the model in a conversation of its own, and what it comes to.
import type { Fault, Question } from "zz";
import { sumUsage } from "zz/text";
import type { Answered, Failed } from "./run-ledger.ts";
import type { Running } from "./running.ts";

export const TRIES = 6;
const MAX_PAUSE_MS = 30_000;

/** A failure; with `mayPass`, asking again may help. */
export type Mishap = Failed & { mayPass?: boolean };

/** How many ms to wait before a failed input is asked again. */
export const pauseAfter = (failedTries: number): number =>
  Math.min(MAX_PAUSE_MS, 250 * 2 ** failedTries);

/** Asks the model. A failure that all other inputs would meet ends the run. */
export async function askModel(running: Running, question: Question): Promise<Answered | Mishap> {
  const { ctx, ledger } = running;
  const { plan } = ledger;
  const save = ctx.permissions.rules.some(
    ({ kind, verdict }) => verdict === "allow" && (kind === "write" || kind === "run"),
  );
  try {
    const { text, rendered, data, usage, model, ms, finish, exit } = await ctx.answer({
      ...question,
      save,
      ...(plan.model && { model: plan.model }),
    });
    running.spent = sumUsage([running.spent, usage]);
    running.asked++;
    if (exit) running.worst ||= exit;
    const exception = { ...(finish !== "stop" && { finish }), ...(exit && { exit }) };
    return { answer: data ?? rendered ?? text, model, usage, ms, ...exception };
  } catch (error) {
    const { message, exit = 1, kind, transient, stalled } = error as Fault;
    if (kind === "key" || exit === 2 || (kind === "quota" && !transient))
      running.ended ??= error as Error;
    return { error: message, exit, ...(kind && { kind }), mayPass: Boolean(transient || stalled) };
  }
}
