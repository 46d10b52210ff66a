// A run: made of the command line or gone on with, asked by several jobs at a time, its outcomes
// printed in order.
import v8 from "node:v8";
import type { Ctx, Fault, Image, Result, Typed, Zz } from "zz";
import { fault, plural, tokensOf, usage, visible } from "zz/text";
import { askModel, type Mishap, pauseAfter, TRIES } from "./ask-model.ts";
import { type Found, filesOf, linesOf, messageOf } from "./inputs.ts";
import { createRun, findRun, openRun, readRun } from "./local-ledger.ts";
import { paceOf } from "./pace.ts";
import { hasPlace, print, printAnswered, show } from "./print-outcomes.ts";
import { reduce } from "./reduce.ts";
import type { Answered, Input, Plan, RunLedger, Taken } from "./run-ledger.ts";
import type { Running } from "./running.ts";
import { estimate, isSpent, knownOf, showProgress } from "./spending.ts";

const DEFAULT_JOBS = 4;
const QUEUED_JOBS = 64; // with --queue: as many as may wait for its workers
const MAX_JOBS = 256;
const DAY_MS = 86_400_000;

export async function runFromFlags(
  zz: Zz,
  ctx: Ctx,
  kind: Input["kind"],
  words: string[],
  typedLine: Typed,
): Promise<Result> {
  const { home } = ctx.about;
  const flagValue = (flagName: string) => typedLine.values.get(flagName)?.at(-1);
  const resumed = flagValue("session") ?? flagValue("continue");
  if (flagValue("status"))
    return ctx.service("queue")?.status(words[0]) ?? describeRun(ctx, words[0]);
  keepMemorySmall();
  const limits = limitsOf(typedLine);
  const refused: string[] = [];
  let ledger: RunLedger;
  if (resumed) {
    ledger = await openRun(home, findRun(home, resumed === true ? words[0] : resumed), ctx.note);
    const { schema } = ledger.plan;
    if (schema !== flagValue("schema")) {
      await ledger.close();
      throw usage(
        `Cannot resume '${ledger.id}': its answers ` +
          `${schema ? `have the schema '${schema}'` : "have no schema"}. Say the same.`,
      );
    }
  } else {
    const prompt = words.pop()?.trim();
    if (!prompt) throw usage(`Nothing to ask: the prompt is empty. Write ${EXAMPLES[kind]}.`);
    if (kind === "file" && !words.length)
      throw usage(`Cannot ask: no file is named. Write ${EXAMPLES[kind]}.`);
    if (kind !== "file" && words.length)
      throw usage(`Cannot ask '${words[0]}': the prompt is one value. Quote it.`);
    const plan = await makePlan(ctx, kind, prompt, flagValue);
    const foundFiles = kind === "file" ? filesOf(words, ctx) : undefined;
    refused.push(...(foundFiles?.refused ?? []));
    if (foundFiles?.others.length) sayLeftOut(foundFiles, ctx);
    const inputs = foundFiles?.files ?? linesOf(ctx, kind === "row" ? "row" : "line");
    if (foundFiles && !foundFiles.files.length && refused.length)
      throw fault(refusal(refused), { exit: 4 });
    if (typedLine.values.has("dry-run")) return estimate(ctx, plan, inputs);
    ledger = await createRun(home, plan, inputs);
  }
  if (refused.length) ctx.note(refusal(refused));
  try {
    const reducePrompt = flagValue("reduce");
    const reduction = typeof reducePrompt === "string" ? reducePrompt : undefined;
    const runOptions = {
      worst: refused.length ? 4 : 0,
      reduction,
      isBatch: ledger.plan.batch ?? typedLine.values.has("batch"),
      isWaiting: typedLine.values.has("wait"),
    };
    return await askAndPrint(zz, ctx, ledger, limits, runOptions);
  } finally {
    await ledger.close();
  }
}

const EXAMPLES: Record<Input["kind"], string> = {
  file: "zz --each 'src/**/*.ts' \"What does this file do?\"",
  line: 'cat urls | zz --each-line "Summarise."',
  row: 'cat rows.jsonl | zz --each-json "Greet {name}."',
};

const refusal = (refusedNames: string[]): string =>
  `${plural(refusedNames.length, "file")} may not be read without a question and ` +
  `${refusedNames.length === 1 ? "was" : "were"} left out: ` +
  `${refusedNames.slice(0, 5).map(visible).join(", ")}${refusedNames.length > 5 ? " …" : ""}. ` +
  "--allow-read=NAME reads one.";

function sayLeftOut({ files, refused, others }: Found, ctx: Ctx): void {
  const leftOutNames = others.map(visible).join("', '");
  if (!files.length && !refused.length)
    throw usage(
      `Cannot ask about '${leftOutNames}': it is not a file. Name files, as in 'folder/**'.`,
    );
  ctx.note(`Left out, since they are no files: '${leftOutNames}'.`);
}

async function makePlan(
  ctx: Ctx,
  kind: Input["kind"],
  prompt: string,
  flagValue: (optionName: string) => string | true | undefined,
): Promise<Plan> {
  const textOption = (flagName: string) => {
    const typedValue = flagValue(flagName);
    return typeof typedValue === "string" ? { [flagName]: typedValue } : {};
  };
  const isBatch = Boolean(flagValue("batch"));
  return {
    prompt,
    kind,
    root: ctx.root,
    model: (await ctx.about.defaultModel()) ?? "",
    ...textOption("schema"),
    ...textOption("out"),
    ...textOption("reduce"),
    ...(flagValue("unordered") && { unordered: true }),
    ...(isBatch && { batch: true }),
    ...((isBatch || flagValue("no-tools")) && { tools: false as const }),
  };
}

function limitsOf(typedLine: Typed): Running["limits"] {
  if (typedLine.values.has("queue") && typedLine.values.has("batch"))
    throw usage("Cannot use --batch with --queue: a batch is not for workers. Leave one out.");
  const defaultJobs = typedLine.values.has("queue") ? QUEUED_JOBS : DEFAULT_JOBS;
  const jobsValue = typedLine.values.get("jobs")?.at(-1) ?? defaultJobs;
  const jobs = Number(jobsValue);
  if (!(Number.isInteger(jobs) && jobs > 0 && jobs <= MAX_JOBS))
    throw usage(`Cannot use --jobs '${jobsValue}': it takes a whole number from 1 to ${MAX_JOBS}.`);
  const budget = typedLine.values.get("budget")?.at(-1);
  if (budget === undefined) return { jobs };
  const [, budgetNumber, isTokens] = /^\$?([\d.]+)(t?)$/.exec(String(budget)) ?? [];
  if (!(Number(budgetNumber) > 0))
    throw usage(`Cannot use --budget '${budget}': write dollars, as 2.50, or tokens, as 500000t.`);
  return {
    jobs,
    ...(isTokens ? { tokens: Number(budgetNumber) } : { dollars: Number(budgetNumber) }),
  };
}

/** What the command line says beside the plan. */
interface How {
  worst: number;
  reduction: string | undefined;
  isBatch: boolean;
  isWaiting: boolean;
}

async function askAndPrint(
  zz: Zz,
  ctx: Ctx,
  ledger: RunLedger,
  limits: Running["limits"],
  { worst, reduction = ledger.plan.reduce, isBatch, isWaiting }: How,
): Promise<Result> {
  const { plan, counts } = ledger;
  const known = await knownOf(plan.model, ctx, isBatch);
  if (limits.dollars && !known.price)
    throw usage(
      `Cannot keep to --budget: what '${plan.model || "the model"}' costs is not known. ` +
        "Give tokens: --budget 500000t.",
    );
  const running: Running = {
    zz,
    ctx,
    ledger,
    stop: new AbortController(),
    limits,
    ...known,
    spent: { input: 0, output: 0 },
    files: new Map(),
    isShown: reduction === undefined || hasPlace(plan.out),
    worst,
    asked: 0,
    started: zz.io.clock.now(),
  };
  zz.wrap("fetch", paceOf(zz.io.clock), { limit: DAY_MS });
  const openCount = counts.inputs - counts.answered;
  if (openCount)
    ctx.note(`${plural(openCount, "input")} to ask. If it stops: ${resuming(ledger, ctx)}`);
  await report(running);
  const { isShown } = running;
  const isOrdered = isBatch || !plan.unordered;
  if (!isOrdered && isShown) await printAnswered(running);
  const end = (error: Error) => void (running.ended ??= error);
  const printed = isOrdered && isShown ? print(running).catch(end) : undefined;
  if (isBatch) {
    const { askByBatches } = await import("./batch/ask-by-batches.ts");
    await askByBatches(running, isWaiting).catch(end);
  } else await askByJobs(running);
  running.stop.abort();
  await printed;
  if (reduction !== undefined && !running.ended) await reduce(running, reduction).catch(end);
  ctx.progress("");
  return finishRun(running);
}

async function askByJobs(running: Running): Promise<void> {
  await askNext(running); // alone first, so that the provider's cache holds what all of them share
  await Promise.all(Array.from({ length: running.limits.jobs }, () => askUntilDone(running)));
}

/**
 * What an input and its answer leave is garbage at once. V8 would give it room of 130 MB and more,
 * and never takes it back; collected sooner, a run of any length stays small.
 */
function keepMemorySmall(): void {
  v8.setFlagsFromString("--semi-space-growth-factor=1");
  v8.setFlagsFromString("--heap-growing-percent=30");
}

async function askUntilDone(running: Running): Promise<void> {
  while (await askNext(running));
}

/** Asks about one input. False: there is none left, or the run has to end. */
async function askNext(running: Running): Promise<boolean> {
  const { ledger } = running;
  const { inputs, answered, failed } = ledger.counts;
  if (answered + failed < inputs && isSpent(running))
    running.ended ??= fault("Stopped: the budget is spent.", { exit: 3 });
  if (running.ended) return false;
  const takenInput = await ledger.take().catch(() => undefined);
  if (!takenInput) return false;
  if (running.ended) {
    // else the others would wait for what becomes of it
    await ledger.giveBack(takenInput.n, { error: "It was not asked.", exit: 1 }, 0);
    return false;
  }
  const outcome = await answerTo(running, takenInput);
  if ("error" in outcome) await giveBack(running, takenInput, outcome);
  else {
    await ledger.answer(takenInput.n, outcome);
    await running.ctx.service("queue")?.forget(ledger.id, takenInput.n);
  }
  await report(running);
  const isPrinted = ledger.plan.unordered && running.isShown;
  const finalOutcome = isPrinted ? await ledger.outcome(takenInput.n) : undefined;
  if (finalOutcome) await show(running, takenInput.n, finalOutcome);
  showProgress(running);
  return running.ended === undefined;
}

async function answerTo(running: Running, { n, input }: Taken): Promise<Answered | Mishap> {
  const { ctx, ledger, window } = running;
  const { plan } = ledger;
  let message: { text: string; images?: Image[] };
  try {
    message = await messageOf(plan.prompt, input, ctx);
    const messageTokens = tokensOf(message.text);
    if (window && messageTokens > window)
      throw fault(`It is too long: about ${messageTokens} tokens, and the model takes ${window}.`, {
        exit: 3,
      });
  } catch (error) {
    const { message, exit = 1 } = error as Fault;
    return { error: message, exit };
  }
  const askedQuestion = { ...message, ...(plan.tools === false && { tools: false as const }) };
  const question = () => askModel(running, askedQuestion);
  return ctx.service("queue")?.ask(ledger.id, n, question) ?? question();
}

async function giveBack(running: Running, { n, tries }: Taken, outcome: Mishap): Promise<void> {
  const { mayPass, ...failed } = outcome;
  const isAskedAgain = mayPass && tries + 1 < TRIES && !running.ended;
  await running.ledger.giveBack(n, failed, isAskedAgain ? pauseAfter(tries) : undefined);
}

async function report({ ctx, ledger }: Running): Promise<void> {
  const { id: run, counts, plan } = ledger;
  const resume = resuming(ledger, ctx);
  await ctx.service("queue")?.report({ run, ...counts, prompt: plan.prompt, resume });
}

function resuming({ id, plan }: RunLedger, ctx: Ctx): string {
  const queue = ctx.service("queue");
  const schema = plan.schema?.replaceAll("'", "'\\''");
  return (
    "zz --each --resume " +
    `${id}${schema ? ` --schema '${schema}'` : ""}${queue ? ` --queue ${queue.where}` : ""}`
  );
}

function finishRun({ ledger, ended, worst, ctx }: Running): Result {
  const { inputs, answered } = ledger.counts;
  const resumeCommand = resuming(ledger, ctx);
  if (ended)
    throw fault(
      `${ended.message} ${answered} of ${inputs} are answered. Go on with: ${resumeCommand}`,
      { exit: (ended as Fault).exit ?? 1 },
    );
  if (answered < inputs)
    throw fault(
      `${plural(inputs - answered, "input")} of ${inputs} could not be answered. ` +
        `Ask them again: ${resumeCommand}`,
    );
  ctx.note(`${plural(answered, "answer")}.`);
  if (worst) throw fault("", { exit: worst, told: true });
  return { text: "" };
}

function describeRun(ctx: Ctx, runWords?: string): Result {
  const { home } = ctx.about;
  const ledger = readRun(home, findRun(home, runWords));
  const { inputs, answered } = ledger.counts;
  const left = inputs - answered;
  const resumeHint = left ? ` Go on with: ${resuming(ledger, ctx)}` : "";
  const data = { run: ledger.id, inputs, answered, left, prompt: ledger.plan.prompt };
  return { text: `${ledger.id}: ${answered} of ${inputs} answered.${resumeHint}`, data };
}
