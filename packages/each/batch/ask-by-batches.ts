// --batch: the inputs of a run are submitted as batches, and what comes of them is kept as any
// answer. What was submitted is noted in the run before and after, so that after a kill at any
// moment a batch is looked for at the provider before it is submitted again.
import type { Fault } from "zz";
import { CHARS_PER_TOKEN, fault, plural, usage } from "zz/text";
import { pauseAfter } from "../ask-model.ts";
import { messageOf } from "../inputs.ts";
import type { RunLedger } from "../run-ledger.ts";
import type { Running } from "../running.ts";
import { ASSUMED_OUTPUT_TOKENS, dollarsOf, showProgress } from "../spending.ts";
import { anthropicBatches } from "./anthropic.ts";
import { type Exchange, NO_BATCHES, openExchange } from "./exchange.ts";
import { geminiBatches } from "./gemini.ts";
import { openaiBatches } from "./openai.ts";
import {
  type BatchResult,
  type BatchService,
  type BatchState,
  type Send,
  type Submission,
  sender,
} from "./service.ts";

const ROUNDS = 3; // how often an input is submitted in one run of zz
const TRIES = 5;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;

/** A batch as the run keeps it. */
interface Batch extends Submission {
  key: string; // its name in the ledger
  inputs: string; // their numbers: "0-99,105"
  id?: string; // once it is submitted
  isDone?: boolean; // its results are in the run
}
interface Batches {
  running: Running;
  exchange: Exchange;
  service: BatchService;
  underWay: Batch[];
  ids: string[]; // of all that were submitted, at the provider
  count: number;
}

/** Asks all that has no answer by batches. Without `isWaiting` it ends once all are submitted. */
export async function askByBatches(running: Running, isWaiting: boolean): Promise<void> {
  const exchange = openExchange(running);
  const service = await serviceFor(running, exchange);
  const batches: Batches = { running, exchange, service, ...batchesIn(running.ledger) };
  const submitted = new Set(batches.underWay.flatMap(({ inputs }) => numbersIn(inputs)));
  let open = (await takeAll(running)).filter((n) => !submitted.has(n));
  for (let round = 1; ; round++) {
    await submitAll(batches, open);
    open = await resultsOf(batches, isWaiting);
    if (running.ended || !open.length) return;
    if (round < ROUNDS) continue;
    for (const n of open)
      await running.ledger.giveBack(n, { error: "Its batches brought no answer.", exit: 1 });
    return;
  }
}

async function serviceFor(running: Running, exchange: Exchange): Promise<BatchService> {
  const request = await exchange.capture({ text: running.ledger.plan.prompt });
  const send = sender(running.zz, request);
  const [, makeService] = SERVICES.find(([url]) => url.test(request.url)) ?? [];
  if (!makeService) throw usage(NO_BATCHES);
  return makeService(request.url, send);
}
const SERVICES: [url: RegExp, make: (url: string, send: Send) => BatchService][] = [
  [/\/(chat\/completions|responses)([?].*)?$/, openaiBatches],
  [/\/messages([?].*)?$/, anthropicBatches],
  [/:streamGenerateContent/, geminiBatches],
];

/** The batches of earlier runs of zz: those whose results are not here yet, and all ids. */
function batchesIn(ledger: RunLedger): Pick<Batches, "underWay" | "ids" | "count"> {
  const earlier: Pick<Batches, "underWay" | "ids" | "count"> = { underWay: [], ids: [], count: 0 };
  for (; ; earlier.count++) {
    const batch = ledger.kept(`batch ${earlier.count}`) as Batch | undefined;
    if (!batch) return earlier;
    if (!batch.isDone) earlier.underWay.push(batch);
    if (batch.id) earlier.ids.push(batch.id);
  }
}

async function takeAll({ ledger, stop }: Running): Promise<number[]> {
  const { inputs, answered, failed } = ledger.counts;
  const numbers: number[] = [];
  for (let left = inputs - answered - failed; left > 0; left--) {
    const taken = await ledger.take(stop.signal);
    if (!taken) break;
    numbers.push(taken.n);
  }
  return numbers.sort((a, b) => a - b);
}

// What is submitted

async function submitAll(batches: Batches, numbers: readonly number[]): Promise<void> {
  const { running, service } = batches;
  let [chosen, requests, bytes]: [number[], string[], number] = [[], [], 0];
  const flush = async () => {
    if (chosen.length) await submit(batches, await newBatch(batches, chosen), requests);
    [chosen, requests, bytes] = [[], [], 0];
  };
  let [count, tokens] = [0, 0];
  for (const n of numbers) {
    const request = await requestFor(batches, n);
    if (request === undefined) continue;
    const size = Buffer.byteLength(request);
    tokens += Math.ceil(size / CHARS_PER_TOKEN);
    if (isOverBudget(running, tokens, ++count)) {
      running.ended ??= fault("Stopped: the budget is spent.", { exit: 3 });
      break;
    }
    if (chosen.length === service.maxRequests || bytes + size > service.maxBytes) await flush();
    chosen.push(n);
    requests.push(request);
    bytes += size;
  }
  await flush();
}

/** The request of an input. Undefined: it cannot be asked about, which is kept. */
async function requestFor(
  { running, exchange, service }: Batches,
  n: number,
): Promise<string | undefined> {
  const { ledger, ctx } = running;
  try {
    const message = await messageOf(ledger.plan.prompt, await ledger.input(n), ctx);
    const { body } = await exchange.capture(message);
    return service.encode(`${prefixOf(ledger)}${n}`, body);
  } catch (error) {
    const { message, exit = 1 } = error as Fault;
    await ledger.giveBack(n, { error: message, exit });
    return undefined;
  }
}

const prefixOf = ({ id }: RunLedger): string => `${id}-`;

/** Whether so many requests are likely to take more than is left of the budget. */
function isOverBudget({ limits, spent, price }: Running, tokens: number, count: number): boolean {
  const output = count * ASSUMED_OUTPUT_TOKENS;
  if (limits.tokens !== undefined)
    return spent.input + spent.output + tokens + output > limits.tokens;
  if (limits.dollars === undefined) return false;
  return dollarsOf(spent, price) + dollarsOf({ input: tokens, output }, price) > limits.dollars;
}

async function newBatch(batches: Batches, numbers: readonly number[]): Promise<Batch> {
  const { ledger } = batches.running;
  const count = batches.count++;
  const batch: Batch = {
    key: `batch ${count}`,
    name: `zz-${ledger.id}-${count}`,
    prefix: prefixOf(ledger),
    since: new Date().toISOString(),
    size: numbers.length,
    inputs: rangesOf(numbers),
    foreign: batches.ids,
  };
  await ledger.keep(batch.key, batch);
  batches.underWay.push(batch);
  return batch;
}

/** Submits a batch, unless the provider has it already; for that it is asked before each retry. */
async function submit(
  { running, service, ids }: Batches,
  batch: Batch,
  requests: readonly string[],
): Promise<void> {
  const submitted = await patiently(running, async (tries) => {
    const earlier = tries ? await service.find(batch) : undefined;
    return earlier ?? (await service.submit(batch, requests));
  }).catch(tellMissing);
  await keepId(running, batch, submitted);
  ids.push(submitted);
}

async function keepId({ ledger }: Running, batch: Batch, id: string): Promise<void> {
  batch.id = id;
  await ledger.keep(batch.key, batch);
}

/** Says that a provider has no batches, where that is why it refused. */
function tellMissing(error: Fault): never {
  if (![404, 405, 501].includes(error.status ?? 0)) throw error;
  throw usage(`${NO_BATCHES} The server answered ${error.status}.`);
}

/** Tries again what may pass. */
async function patiently<T>({ zz, ctx }: Running, act: (tries: number) => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await act(tries);
    } catch (error) {
      const { transient, after } = error as Fault;
      if (!transient || tries + 1 === TRIES) throw error;
      await zz.io.clock.sleep(after ?? pauseAfter(tries), ctx.signal);
    }
  }
}

// What came of it

/** Waits for the batches, and keeps their answers; the numbers of inputs that are still open. */
async function resultsOf(batches: Batches, isWaiting: boolean): Promise<number[]> {
  const { running, service } = batches;
  const open: number[] = [];
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(MAX_PAUSE_MS, pause * 2)) {
    let done = 0;
    for (const batch of [...batches.underWay]) {
      const id = batch.id ?? (await submitAgain(batches, batch));
      const state: BatchState & { isGone?: true } = await patiently(running, () =>
        service.state(id),
      ).catch(gone);
      done += state.done;
      if (!state.isEnded) continue;
      if (state.isGone) {
        running.ctx.note(`The provider no longer has the batch ${id}: it is asked again.`);
        open.push(...(await settle(batches, batch, new Set(numbersIn(batch.inputs)))));
        continue;
      }
      if (state.wrong) running.ended ??= fault(`The batch was refused: ${state.wrong}`);
      open.push(...(await collect(batches, batch, id)));
    }
    const { underWay } = batches;
    if (!underWay.length) return open;
    const size = underWay.reduce((sum, batch) => sum + batch.size, 0);
    const told = `${plural(size, "input")} in ${plural(underWay.length, "batch", "batches")}`;
    if (!isWaiting) {
      running.ended ??= fault(`Not answered yet: ${told}, ${done} done.`, { exit: 3 });
      return open;
    }
    running.ctx.progress(`${told} · ${done} done`);
    await running.zz.io.clock.sleep(pause, running.ctx.signal);
  }
}

function gone(error: Fault): BatchState & { isGone: true } {
  if (error.status !== 404) throw error;
  return { isEnded: true, done: 0, isGone: true };
}

/** After a kill: the batch as the provider has it, else it is made of its inputs once more. */
async function submitAgain(batches: Batches, batch: Batch): Promise<string> {
  const { running, service } = batches;
  const earlier = await patiently(running, () => service.find(batch)).catch(tellMissing);
  if (earlier) await keepId(running, batch, earlier);
  else {
    const requests: string[] = [];
    for (const n of numbersIn(batch.inputs)) {
      const request = await requestFor(batches, n);
      if (request) requests.push(request);
    }
    await submit(batches, batch, requests);
  }
  return batch.id!;
}

/** Keeps what a batch brought; the numbers of the inputs that are to be submitted once more. */
async function collect(batches: Batches, batch: Batch, id: string): Promise<number[]> {
  const { running, service } = batches;
  const { ledger } = running;
  const left = new Set(numbersIn(batch.inputs));
  let isForeign = false;
  await patiently(running, async () => {
    for await (const result of service.results(id)) {
      isForeign = !result.id.startsWith(batch.prefix);
      if (isForeign) return;
      const n = Number(result.id.slice(batch.prefix.length));
      if (left.has(n) && (await keepResult(batches, n, result))) left.delete(n);
    }
  });
  if (isForeign) {
    const { id: _, ...unsubmitted } = batch;
    Object.assign(batch, { ...unsubmitted, foreign: [...batch.foreign, id] });
    delete batch.id;
    await ledger.keep(batch.key, batch);
    return [];
  }
  return settle(batches, batch, left);
}

/** Notes that nothing more comes of a batch; those of its inputs that have come to nothing. */
async function settle(
  { running: { ledger }, underWay }: Batches,
  batch: Batch,
  left: ReadonlySet<number>,
): Promise<number[]> {
  underWay.splice(underWay.indexOf(batch), 1);
  await ledger.keep(batch.key, { ...batch, isDone: true });
  const open: number[] = [];
  for (const n of left) if (!(await ledger.outcome(n))) open.push(n);
  return open;
}

/** Whether something came of an input. */
async function keepResult(
  { running, exchange }: Batches,
  n: number,
  result: BatchResult,
): Promise<boolean> {
  const { ledger, ctx } = running;
  if (await ledger.outcome(n)) return true;
  if ("error" in result) {
    if (result.mayPass) return false;
    await ledger.giveBack(n, { error: result.error, exit: 1 });
    return true;
  }
  const message = await messageOf(ledger.plan.prompt, await ledger.input(n), ctx).catch(() => ({
    text: ledger.plan.prompt, // the input is gone; its answer counts
  }));
  const outcome = await exchange.replay(message, result.body);
  if ("error" in outcome && outcome.mayPass) return false;
  if ("error" in outcome) await ledger.giveBack(n, { error: outcome.error, exit: outcome.exit });
  else await ledger.answer(n, outcome);
  showProgress(running);
  return true;
}

// Numbers of inputs, as "0-99,105"

export function rangesOf(numbers: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const n of numbers) {
    const range = ranges.at(-1);
    if (range?.[1] === n - 1) range[1] = n;
    else ranges.push([n, n]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join();
}

export const numbersIn = (ranges: string): number[] =>
  ranges.split(",").flatMap((range) => {
    const [first = 0, last = first] = range.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
