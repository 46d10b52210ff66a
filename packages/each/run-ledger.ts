// What a run is to those who ask and to those who print: inputs that are taken, answered or given
// back, and what came of them in order. local-ledger.ts keeps it in one file of the home.
//
// How a queue implements it (BullMQ, say): `add` puts a job with the input's number as its id, so
// that adding twice adds once; `take` waits for the next job and holds its lease; `answer`
// completes the job and `giveBack` moves it to the delayed ones, or to the dead letters without
// `retryAfterMs`. The first answer of a number counts: a worker whose lease ran out may answer as
// well. `outcome` reads what the job came to, `settled` waits until one more has come to something.
// Nothing above this interface knows where a run is kept, and nothing below it knows what is asked.
import type { Usage } from "zz";

/**
 * What is asked about. A file is named and read when it is asked; a line travels as its text, a row
 * as its fields.
 */
export interface Input {
  name: string; // a file's path in the project, the line itself, or the row as JSON
  kind: "file" | "line" | "row";
}
// tries: how often it was given back before
export type Taken = { n: number; input: Input; tries: number };

/** What came of an input. An answer stays; a failure is asked again when the run is resumed. */
export type Outcome = Answered | Failed;
export interface Answered {
  answer: unknown; // a text, or with --schema the value
  model: string;
  usage: Usage;
  ms: number;
  finish?: string; // unless it is "stop"
  exit?: number; // unless it is 0: as a one-shot would have ended
}
export interface Failed {
  error: string;
  kind?: string;
  exit: number;
}

/** How a run is asked, so that it can go on without the command line. It never changes. */
export interface Plan {
  prompt: string;
  kind: Input["kind"];
  root: string;
  model: string;
  schema?: string; // as it was given
  tools?: false;
  unordered?: boolean;
  out?: string;
  batch?: boolean; // by the provider's batch interface
  reduce?: string; // how all answers become one
}

export interface RunLedger {
  readonly id: string;
  readonly plan: Plan;
  /** Inputs, answers, and failures that are not asked again unless the run is resumed. */
  readonly counts: { inputs: number; answered: number; failed: number };
  /**
   * The next input without an answer that nobody has. Waits for one that was given back; undefined:
   * there is none.
   */
  take(): Promise<Taken | undefined>;
  /** Keeps an answer. When it returns, a killed process does not lose it. */
  answer(inputNumber: number, answered: Answered): Promise<void>;
  /** Gives an input back: to be taken again after so many ms, or (no `retryAfterMs`) as failed. */
  giveBack(inputNumber: number, failedOutcome: Failed, retryAfterMs?: number): Promise<void>;
  /** What came of an input; undefined: nothing yet. */
  outcome(inputNumber: number): Promise<Outcome | undefined>;
  input(inputNumber: number): Promise<Input>;
  /** Resolves when something has come of one more input than at the last call. */
  settled(): Promise<void>;
  /**
   * What was made of several answers, by a name of the caller's: a fold of --reduce, a batch that
   * was submitted.
   */
  kept(entryName: string): unknown;
  keep(entryName: string, entryValue: unknown): Promise<void>;
  close(): Promise<void>;
}
