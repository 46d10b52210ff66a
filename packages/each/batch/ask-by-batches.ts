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

const MAX_ROUNDS = 3; // how often an input is submitted in one run of zz
const MAX_TRIES = 5;
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
  let openNumbers = (await takeAll(running)).filter((inputNumber) => !submitted.has(inputNumber));
  for (let roundNumber = 1; ; roundNumber++) {
    await submitAll(batches, openNumbers);
    openNumbers = await resultsOf(batches, isWaiting);
    if (running.ended || !openNumbers.length) return;
    if (roundNumber < MAX_ROUNDS) continue;
    for (const inputNumber of openNumbers)
      await running.ledger.giveBack(inputNumber, {
        error: "Its batches brought no answer.",
        exit: 1,
      });
    return;
  }
}

async function serviceFor(running: Running, exchange: Exchange): Promise<BatchService> {
  const request = await exchange.capture({ text: running.ledger.plan.prompt });
  const sendRequest = sender(running.zz, request);
  const [, makeService] = SERVICES.find(([urlPattern]) => urlPattern.test(request.url)) ?? [];
  if (!makeService) throw usage(NO_BATCHES);
  return makeService(request.url, sendRequest);
}
const SERVICES: [url: RegExp, make: (url: string, sendRequest: Send) => BatchService][] = [
  [/\/(chat\/completions|responses)([?].*)?$/, openaiBatches],
  [/\/messages([?].*)?$/, anthropicBatches],
  [/:streamGenerateContent/, geminiBatches],
];

/** The batches of earlier runs of zz: those whose results are not here yet, and all ids. */
function batchesIn(ledger: RunLedger) {
  const earlier = { underWay: [] as Batch[], ids: [] as string[], count: 0 };
  for (; ; earlier.count++) {
    const keptBatch = ledger.kept(`batch ${earlier.count}`) as Batch | undefined;
    if (!keptBatch) return earlier;
    if (!keptBatch.isDone) earlier.underWay.push(keptBatch);
    if (keptBatch.id) earlier.ids.push(keptBatch.id);
  }
}

async function takeAll({ ledger }: Running): Promise<number[]> {
  const { inputs, answered, failed } = ledger.counts;
  const numbers: number[] = [];
  for (let remaining = inputs - answered - failed; remaining > 0; remaining--) {
    const takenInput = await ledger.take();
    if (!takenInput) break;
    numbers.push(takenInput.n);
  }
  return numbers.sort((first, second) => first - second);
}

// What is submitted

async function submitAll(batches: Batches, numbers: readonly number[]): Promise<void> {
  const { running, service } = batches;
  let [chosen, requests, batchBytes]: [number[], string[], number] = [[], [], 0];
  const submitChosen = async () => {
    if (chosen.length) await submitBatch(batches, await newBatch(batches, chosen), requests);
    [chosen, requests, batchBytes] = [[], [], 0];
  };
  let [requestCount, tokensSoFar] = [0, 0];
  for (const inputNumber of numbers) {
    const request = await requestFor(batches, inputNumber);
    if (request === undefined) continue;
    const requestBytes = Buffer.byteLength(request);
    tokensSoFar += Math.ceil(requestBytes / CHARS_PER_TOKEN);
    if (isOverBudget(running, tokensSoFar, ++requestCount)) {
      running.ended ??= fault("Stopped: the budget is spent.", { exit: 3 });
      break;
    }
    if (chosen.length === service.maxRequests || batchBytes + requestBytes > service.maxBytes)
      await submitChosen();
    chosen.push(inputNumber);
    requests.push(request);
    batchBytes += requestBytes;
  }
  await submitChosen();
}

/** The request of an input. Undefined: it cannot be asked about, which is kept. */
async function requestFor(
  { running, exchange, service }: Batches,
  inputNumber: number,
): Promise<string | undefined> {
  const { ledger, ctx } = running;
  try {
    const message = await messageOf(ledger.plan.prompt, await ledger.input(inputNumber), ctx);
    const { body } = await exchange.capture(message);
    return service.encode(`${prefixOf(ledger)}${inputNumber}`, body);
  } catch (error) {
    const { message, exit = 1 } = error as Fault;
    await ledger.giveBack(inputNumber, { error: message, exit });
    return undefined;
  }
}

const prefixOf = ({ id }: RunLedger): string => `${id}-`;

/** Whether so many requests are likely to take more than is left of the budget. */
function isOverBudget(
  { limits, spent, price }: Running,
  tokens: number,
  requestCount: number,
): boolean {
  const output = requestCount * ASSUMED_OUTPUT_TOKENS;
  if (limits.tokens !== undefined)
    return spent.input + spent.output + tokens + output > limits.tokens;
  if (limits.dollars === undefined) return false;
  return dollarsOf(spent, price) + dollarsOf({ input: tokens, output }, price) > limits.dollars;
}

async function newBatch(batches: Batches, numbers: readonly number[]): Promise<Batch> {
  const { ledger } = batches.running;
  const batchNumber = batches.count++;
  const createdBatch: Batch = {
    key: `batch ${batchNumber}`,
    name: `zz-${ledger.id}-${batchNumber}`,
    prefix: prefixOf(ledger),
    since: new Date().toISOString(),
    size: numbers.length,
    inputs: rangesOf(numbers),
    foreign: batches.ids,
  };
  await ledger.keep(createdBatch.key, createdBatch);
  batches.underWay.push(createdBatch);
  return createdBatch;
}

/** Submits a batch, unless the provider has it already; for that it is asked before each retry. */
async function submitBatch(
  { running, service, ids }: Batches,
  unsentBatch: Batch,
  requests: readonly string[],
): Promise<void> {
  const submitted = await patiently(running, async (failedTries) => {
    const earlier = failedTries ? await service.find(unsentBatch) : undefined;
    return earlier ?? (await service.submit(unsentBatch, requests));
  }).catch(tellMissing);
  await keepBatchId(running, unsentBatch, submitted);
  ids.push(submitted);
}

async function keepBatchId({ ledger }: Running, sentBatch: Batch, id: string): Promise<void> {
  sentBatch.id = id;
  await ledger.keep(sentBatch.key, sentBatch);
}

/** Says that a provider has no batches, where that is why it refused. */
function tellMissing(error: Fault): never {
  if (![404, 405, 501].includes(error.status ?? 0)) throw error;
  throw usage(`${NO_BATCHES} The server answered ${error.status}.`);
}

/** Tries again what may pass. */
async function patiently<T>(
  { zz, ctx }: Running,
  attempt: (failedTries: number) => Promise<T>,
): Promise<T> {
  for (let failedTries = 0; ; failedTries++) {
    try {
      return await attempt(failedTries);
    } catch (error) {
      const { transient, after } = error as Fault;
      if (!transient || failedTries + 1 === MAX_TRIES) throw error;
      await zz.io.clock.sleep(after ?? pauseAfter(failedTries), ctx.signal);
    }
  }
}

// What came of it

/** Waits for the batches, and keeps their answers; the numbers of inputs that are still open. */
async function resultsOf(batches: Batches, isWaiting: boolean): Promise<number[]> {
  const { running, service } = batches;
  const openNumbers: number[] = [];
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2)) {
    let doneCount = 0;
    for (const pendingBatch of [...batches.underWay]) {
      const id = pendingBatch.id ?? (await submitAgain(batches, pendingBatch));
      const batchState: BatchState & { isGone?: true } = await patiently(running, () =>
        service.state(id),
      ).catch(stateIfGone);
      doneCount += batchState.done;
      if (!batchState.isEnded) continue;
      if (batchState.isGone) {
        running.ctx.note(`The provider no longer has the batch ${id}: it is asked again.`);
        openNumbers.push(
          ...(await settleBatch(batches, pendingBatch, new Set(numbersIn(pendingBatch.inputs)))),
        );
        continue;
      }
      if (batchState.wrong) running.ended ??= fault(`The batch was refused: ${batchState.wrong}`);
      openNumbers.push(...(await collect(batches, pendingBatch, id)));
    }
    const { underWay } = batches;
    if (!underWay.length) return openNumbers;
    const waitingCount = underWay.reduce((sum, waitingBatch) => sum + waitingBatch.size, 0);
    const batchCount = plural(underWay.length, "batch", "batches");
    const waitingWords = `${plural(waitingCount, "input")} in ${batchCount}`;
    if (!isWaiting) {
      running.ended ??= fault(`Not answered yet: ${waitingWords}, ${doneCount} done.`, { exit: 3 });
      return openNumbers;
    }
    running.ctx.progress(`${waitingWords} · ${doneCount} done`);
    await running.zz.io.clock.sleep(pauseMs, running.ctx.signal);
  }
}

function stateIfGone(error: Fault): BatchState & { isGone: true } {
  if (error.status !== 404) throw error;
  return { isEnded: true, done: 0, isGone: true };
}

/** After a kill: the batch as the provider has it, else it is made of its inputs once more. */
async function submitAgain(batches: Batches, lostBatch: Batch): Promise<string> {
  const { running, service } = batches;
  const earlier = await patiently(running, () => service.find(lostBatch)).catch(tellMissing);
  if (earlier) await keepBatchId(running, lostBatch, earlier);
  else {
    const requests: string[] = [];
    for (const inputNumber of numbersIn(lostBatch.inputs)) {
      const request = await requestFor(batches, inputNumber);
      if (request) requests.push(request);
    }
    await submitBatch(batches, lostBatch, requests);
  }
  return lostBatch.id!;
}

/** Keeps what a batch brought; the numbers of the inputs that are to be submitted once more. */
async function collect(batches: Batches, endedBatch: Batch, id: string): Promise<number[]> {
  const { running, service } = batches;
  const { ledger } = running;
  const openNumbers = new Set(numbersIn(endedBatch.inputs));
  let isForeign = false;
  await patiently(running, async () => {
    for await (const result of service.results(id)) {
      isForeign = !result.id.startsWith(endedBatch.prefix);
      if (isForeign) return;
      const inputNumber = Number(result.id.slice(endedBatch.prefix.length));
      if (openNumbers.has(inputNumber) && (await keepResult(batches, inputNumber, result)))
        openNumbers.delete(inputNumber);
    }
  });
  if (isForeign) {
    endedBatch.foreign = [...endedBatch.foreign, id];
    delete endedBatch.id;
    await ledger.keep(endedBatch.key, endedBatch);
    return [];
  }
  return settleBatch(batches, endedBatch, openNumbers);
}

/** Notes that nothing more comes of a batch; those of its inputs that have come to nothing. */
async function settleBatch(
  { running: { ledger }, underWay }: Batches,
  endedBatch: Batch,
  unanswered: ReadonlySet<number>,
): Promise<number[]> {
  underWay.splice(underWay.indexOf(endedBatch), 1);
  await ledger.keep(endedBatch.key, { ...endedBatch, isDone: true });
  const openNumbers: number[] = [];
  for (const inputNumber of unanswered)
    if (!(await ledger.outcome(inputNumber))) openNumbers.push(inputNumber);
  return openNumbers;
}

/** Whether something came of an input. */
async function keepResult(
  { running, exchange }: Batches,
  inputNumber: number,
  result: BatchResult,
): Promise<boolean> {
  const { ledger, ctx } = running;
  if (await ledger.outcome(inputNumber)) return true;
  if ("error" in result) {
    if (result.mayPass) return false;
    await ledger.giveBack(inputNumber, { error: result.error, exit: 1 });
    return true;
  }
  const message = await messageOf(ledger.plan.prompt, await ledger.input(inputNumber), ctx).catch(
    () => ({
      text: ledger.plan.prompt, // the input is gone; its answer counts
    }),
  );
  const outcome = await exchange.replay(message, result.body);
  if ("error" in outcome && outcome.mayPass) return false;
  if ("error" in outcome)
    await ledger.giveBack(inputNumber, { error: outcome.error, exit: outcome.exit });
  else await ledger.answer(inputNumber, outcome);
  showProgress(running);
  return true;
}

// Numbers of inputs, as "0-99,105"

function rangesOf(numbers: readonly number[]): string {
  const numberRanges: [first: number, last: number][] = [];
  for (const inputNumber of numbers) {
    const lastRange = numberRanges.at(-1);
    if (lastRange?.[1] === inputNumber - 1) lastRange[1] = inputNumber;
    else numberRanges.push([inputNumber, inputNumber]);
  }
  return numberRanges
    .map(([firstNumber, lastNumber]) =>
      firstNumber === lastNumber ? `${firstNumber}` : `${firstNumber}-${lastNumber}`,
    )
    .join();
}

const numbersIn = (rangesText: string): number[] =>
  rangesText.split(",").flatMap((rangeText) => {
    const [firstNumber = 0, lastNumber = firstNumber] = rangeText.split("-").map(Number);
    return Array.from({ length: lastNumber - firstNumber + 1 }, (_, i) => firstNumber + i);
  });
