// A run: made of the command line or gone on with, asked by several jobs at a time, its outcomes
// printed in order.
import path from "node:path";
import type { Ctx, Fault, Image, Model, Result, Typed, Usage, Zz } from "zz";
import {
  CHARS_PER_TOKEN,
  fault,
  makeFolder,
  plural,
  sumUsage,
  usage,
  visible,
  writeWhole,
} from "zz/text";
import { filesOf, linesOf, messageOf } from "./inputs.ts";
import { createRun, findRun, openRun, readRun } from "./local-ledger.ts";
import { paceOf } from "./pace.ts";
import type { Answered, Failed, Input, Outcome, Plan, RunLedger, Taken } from "./run-ledger.ts";

const JOBS = 4;
const QUEUED_JOBS = 64; // with --queue: as many as may wait for its workers
const TRIES = 6;
const MAX_JOBS = 256;
const DAY_MS = 86_400_000;
const ASSUMED_OUTPUT_TOKENS = 300; // for an estimate

/** What the jobs of a run share. */
interface Running {
  zz: Zz;
  ctx: Ctx;
  ledger: RunLedger;
  stop: AbortController;
  limits: { jobs: number; dollars?: number; tokens?: number };
  price?: Model["price"];
  window?: number;
  spent: Usage;
  worst: number; // exit code
  asked: number;
  started: number;
  ended?: Error; // why nothing more is asked
  files: Map<string, number>; // that --out has written, and for which input
}

export async function obey(
  zz: Zz,
  ctx: Ctx,
  kind: Input["kind"],
  words: string[],
  line: Typed,
): Promise<Result> {
  const { home } = ctx.about;
  const given = (name: string) => line.values.get(name)?.at(-1);
  const resumed = given("session") ?? given("continue");
  if (given("status")) return ctx.service("queue")?.status(words[0]) ?? status(home, words[0]);
  const limits = limitsOf(line);
  const refused: string[] = [];
  let ledger: RunLedger;
  if (resumed) {
    ledger = await openRun(home, findRun(home, resumed === true ? words[0] : resumed), ctx.note);
    const { schema } = ledger.plan;
    if (schema !== given("schema")) {
      await ledger.close();
      throw usage(
        `Cannot resume '${ledger.id}': its answers ${schema ? `have the schema '${schema}'` : "have no schema"}. Say the same.`,
      );
    }
  } else {
    const prompt = words.pop()?.trim();
    if (!prompt) throw usage(`Nothing to ask: the prompt is empty. Write ${EXAMPLES[kind]}.`);
    if (kind === "file" && !words.length)
      throw usage(`Cannot ask: no file is named. Write ${EXAMPLES[kind]}.`);
    if (kind !== "file" && words.length)
      throw usage(`Cannot ask '${words[0]}': the prompt is one value. Quote it.`);
    const plan = planOf(ctx, kind, prompt, given);
    const found = kind === "file" ? filesOf(words, ctx) : undefined;
    refused.push(...(found?.refused ?? []));
    const inputs = found?.files ?? linesOf(ctx, kind === "row" ? "row" : "line");
    if (found && !found.files.length && refused.length) throw fault(refusal(refused), { exit: 4 });
    if (line.values.has("dry-run")) return estimate(ctx, plan, inputs);
    ledger = await createRun(home, plan, inputs);
  }
  if (refused.length) ctx.note(refusal(refused));
  try {
    return await run(zz, ctx, ledger, limits, refused.length ? 4 : 0);
  } finally {
    await ledger.close();
  }
}

const EXAMPLES: Record<Input["kind"], string> = {
  file: "zz --each 'src/**/*.ts' \"What does this file do?\"",
  line: 'cat urls | zz --each-line "Summarise."',
  row: 'cat rows.jsonl | zz --each-json "Greet {name}."',
};

const refusal = (names: string[]): string =>
  `${plural(names.length, "file")} may not be read without a question and were left out: ` +
  `${names.slice(0, 5).map(visible).join(", ")}${names.length > 5 ? " …" : ""}. --allow-read=NAME reads one.`;

function planOf(
  ctx: Ctx,
  kind: Input["kind"],
  prompt: string,
  given: (name: string) => string | true | undefined,
): Plan {
  const text = (name: string) => {
    const value = given(name);
    return typeof value === "string" ? { [name]: value } : {};
  };
  const unordered = given("unordered") ? { unordered: true } : {};
  const tools = given("no-tools") ? { tools: false as const } : {};
  return {
    prompt,
    kind,
    root: ctx.root,
    model: ctx.chat.model,
    ...text("schema"),
    ...text("out"),
    ...unordered,
    ...tools,
  };
}

function limitsOf(line: Typed): Running["limits"] {
  const usual = line.values.has("queue") ? QUEUED_JOBS : JOBS;
  const jobs = Number(line.values.get("jobs")?.at(-1) ?? usual);
  if (!(Number.isInteger(jobs) && jobs > 0 && jobs <= MAX_JOBS))
    throw usage(
      `Cannot use --jobs '${line.values.get("jobs")?.at(-1)}': it takes a whole number from 1 to ${MAX_JOBS}.`,
    );
  const budget = line.values.get("budget")?.at(-1);
  if (budget === undefined) return { jobs };
  const [, count, isTokens] = /^\$?([\d.]+)(t?)$/.exec(String(budget)) ?? [];
  if (!(Number(count) > 0))
    throw usage(`Cannot use --budget '${budget}': write dollars, as 2.50, or tokens, as 500000t.`);
  return { jobs, ...(isTokens ? { tokens: Number(count) } : { dollars: Number(count) }) };
}

async function run(
  zz: Zz,
  ctx: Ctx,
  ledger: RunLedger,
  limits: Running["limits"],
  worst: number,
): Promise<Result> {
  const { plan, counts } = ledger;
  const described = plan.model
    ? await ctx.about.model(plan.model, true).catch(() => undefined)
    : undefined;
  if (limits.dollars && !described?.price)
    throw usage(
      `Cannot keep to --budget: what '${plan.model || "the model"}' costs is not known. Give tokens: --budget 500000t.`,
    );
  const running: Running = {
    zz,
    ctx,
    ledger,
    stop: new AbortController(),
    limits,
    ...(described?.price && { price: described.price }),
    ...(described?.window && { window: described.window }),
    spent: { input: 0, output: 0 },
    files: new Map(),
    worst,
    asked: 0,
    started: zz.io.clock.now(),
  };
  zz.wrap("fetch", paceOf(zz.io.clock), { limit: DAY_MS });
  ctx.note(
    `${plural(counts.inputs - counts.answered, "input")} to ask. If it stops: ${resuming(ledger, ctx)}`,
  );
  await ctx.service("queue")?.report({ run: ledger.id, ...counts, prompt: plan.prompt });
  if (plan.unordered) await printAnswered(running);
  const printed = plan.unordered ? undefined : print(running);
  await ask(running); // alone first, so that the provider's cache holds what all of them share
  const jobs = Array.from({ length: limits.jobs }, () => askAll(running));
  await Promise.all(jobs);
  running.stop.abort();
  await printed;
  ctx.progress("");
  return finish(running);
}

async function askAll(running: Running): Promise<void> {
  while (await ask(running));
}

/** Asks about one input. False: there is none left, or the run has to end. */
async function ask(running: Running): Promise<boolean> {
  const { ledger, stop } = running;
  const queue = running.ctx.service("queue");
  if (isSpent(running)) running.ended ??= fault("Stopped: the budget is spent.", { exit: 3 });
  if (running.ended) return false;
  const taken = await ledger.take(stop.signal).catch(() => undefined);
  if (!taken) return false;
  if (running.ended) return false;
  const outcome = await answerTo(running, taken);
  if ("error" in outcome) await giveBack(running, taken, outcome);
  else await ledger.answer(taken.n, outcome);
  if (queue && !("error" in outcome)) await queue.forget(ledger.id, taken.n);
  await queue?.report({ run: ledger.id, ...ledger.counts, prompt: ledger.plan.prompt });
  const final = ledger.plan.unordered ? await ledger.outcome(taken.n) : undefined;
  if (final) await show(running, taken.n, final);
  showProgress(running);
  return running.ended === undefined;
}

async function answerTo(
  running: Running,
  { n, input }: Taken,
): Promise<Answered | (Failed & { mayPass?: boolean })> {
  const { ctx, ledger, window } = running;
  const { plan } = ledger;
  let message: { text: string; images?: Image[] };
  try {
    message = await messageOf(plan.prompt, input, ctx);
    const tokens = Math.ceil(message.text.length / CHARS_PER_TOKEN);
    if (window && tokens > window)
      throw fault(`It is too long: about ${tokens} tokens, and the model takes ${window}.`, {
        exit: 3,
      });
  } catch (error) {
    const { message, exit = 1 } = error as Fault;
    return { error: message, exit };
  }
  try {
    const { rules } = ctx.permissions;
    const save = rules.some(
      ({ kind, verdict }) => verdict === "allow" && (kind === "write" || kind === "run"),
    );
    const given = {
      save,
      ...(plan.model && { model: plan.model }),
      ...(plan.tools === false && { tools: false as const }),
    };
    const queue = ctx.service("queue");
    const question = () => ctx.answer({ ...message, ...given });
    const { text, rendered, data, usage, model, ms, finish, exit } = await (queue
      ? queue.ask(ledger.id, n, question)
      : question());
    running.spent = sumUsage([running.spent, usage]);
    running.asked++;
    const more = { ...(finish !== "stop" && { finish }), ...(exit && { exit }) };
    if (exit) running.worst ||= exit;
    return { answer: data ?? rendered ?? text, model, usage, ms, ...more };
  } catch (error) {
    const { message, exit = 1, kind, transient, stalled } = error as Fault;
    if (kind === "key" || exit === 2 || (kind === "quota" && !transient))
      running.ended ??= error as Error;
    return { error: message, exit, ...(kind && { kind }), mayPass: Boolean(transient || stalled) };
  }
}

async function giveBack(
  running: Running,
  { n, tries }: Taken,
  outcome: Failed & { mayPass?: boolean },
): Promise<void> {
  const { mayPass, ...failed } = outcome;
  if (mayPass && tries + 1 < TRIES && !running.ended) {
    return running.ledger.giveBack(n, failed, Math.min(30_000, 250 * 2 ** tries));
  }
  await running.ledger.giveBack(n, failed);
}

function isSpent({ spent, limits, price, asked }: Running): boolean {
  const { tokens, dollars } = limits;
  const next = asked ? (spent.input + spent.output) / asked : 0; // what one more is likely to take
  if (tokens !== undefined && spent.input + spent.output + next > tokens) return true;
  const cost = dollarsOf(spent, price);
  return dollars !== undefined && cost + (asked ? cost / asked : 0) > dollars;
}

const dollarsOf = ({ input, output, cached = 0 }: Usage, price?: Model["price"]): number => {
  if (!price) return 0;
  return (
    ((input - cached) * price.input +
      cached * (price.cached ?? price.input) +
      output * price.output) /
    1e6
  );
};

function showProgress({ ctx, zz, ledger, started, asked, spent, price }: Running): void {
  const { inputs, answered, failed } = ledger.counts;
  const seconds = Math.max(0.001, (zz.io.clock.now() - started) / 1000);
  const rate = asked / seconds;
  const left = inputs - answered - failed;
  const cost = price
    ? `$${dollarsOf(spent, price).toFixed(2)}`
    : `${spent.input + spent.output} tokens`;
  const time = rate ? `${Math.ceil(left / rate)} s left` : "";
  const bad = failed ? `${failed} failed` : "";
  ctx.progress(
    [`${answered}/${inputs}`, bad, `${rate.toFixed(1)}/s`, cost, time].filter(Boolean).join(" · "),
  );
}

// What came of it

/** Prints each outcome in order, once it is there. At the end those after a gap are printed too. */
async function print(running: Running): Promise<void> {
  const { ledger, stop } = running;
  const { promise: over, resolve } = Promise.withResolvers<void>();
  stop.signal.addEventListener("abort", () => resolve(), { once: true });
  for (let n = 0; n < ledger.counts.inputs; ) {
    const news = ledger.settled();
    const isOver = stop.signal.aborted;
    const outcome = await ledger.outcome(n);
    if (outcome) await show(running, n, outcome);
    if (outcome || isOver) n++;
    else await Promise.race([news, over]);
  }
}

/** For --unordered: what was answered before; the rest is printed as it comes. */
async function printAnswered(running: Running): Promise<void> {
  const { ledger } = running;
  for (let n = 0; n < ledger.counts.inputs; n++) {
    const outcome = await ledger.outcome(n);
    if (outcome) await show(running, n, outcome);
  }
}

async function show(running: Running, n: number, outcome: Outcome): Promise<void> {
  const { zz, ledger } = running;
  const { plan } = ledger;
  const { name, kind } = await ledger.input(n);
  if (plan.out && "answer" in outcome) {
    writeAnswer(running, outFileFor(plan.out, { name, kind }, n), n, outcome.answer);
    return;
  }
  const input = kind === "row" ? JSON.parse(name) : name;
  const line = `${zz.veil(JSON.stringify({ input, ...outcome }))}\n`;
  if (!zz.io.stdout.write(line))
    await new Promise((drained) => zz.io.stdout.once("drain", drained));
}

function outFileFor(out: string, { name, kind }: Input, n: number): string {
  const words = kind === "file" ? path.basename(name, path.extname(name)) : name.slice(0, 40);
  const plain = words.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[.-]+|-+$/g, "") || "input";
  const folders = kind === "file" ? path.normalize(name).replace(/\.\.[/\\]/g, "") : plain;
  return out
    .replaceAll("{name}", plain)
    .replaceAll("{path}", folders)
    .replaceAll("{n}", String(n + 1));
}

/** Two inputs may have the same name: the second gets its number. */
function writeAnswer({ ctx, files }: Running, wanted: string, n: number, answer: unknown): void {
  const isTaken = (files.get(path.resolve(ctx.io.cwd(), wanted)) ?? n) !== n;
  const { dir, name, ext } = path.parse(wanted);
  const file = isTaken ? path.join(dir, `${name}-${n + 1}${ext}`) : wanted;
  const whole = path.resolve(ctx.io.cwd(), file);
  files.set(whole, n);
  if (ctx.permissions.judge("write", whole).verdict === "deny")
    throw fault(`Cannot write '${file}': it is denied.`, { exit: 4 });
  makeFolder(path.dirname(whole));
  writeWhole(
    whole,
    typeof answer === "string" ? `${answer.trimEnd()}\n` : `${JSON.stringify(answer, null, 2)}\n`,
  );
}

function resuming({ id }: RunLedger, ctx: Ctx): string {
  const queue = ctx.service("queue");
  return `zz --each --resume ${id}${queue ? ` --queue ${queue.where}` : ""}`;
}

function finish({ ledger, ended, worst, ctx }: Running): Result {
  const { inputs, answered } = ledger.counts;
  const again = resuming(ledger, ctx);
  if (ended)
    throw fault(`${ended.message} ${answered} of ${inputs} are answered. Go on with: ${again}`, {
      exit: (ended as Fault).exit ?? 1,
    });
  if (answered < inputs)
    throw fault(
      `${plural(inputs - answered, "input")} of ${inputs} could not be answered. Ask them again: ${again}`,
    );
  ctx.note(`${plural(answered, "answer")}.`);
  if (worst) throw fault("", { exit: worst, told: true });
  return { text: "" };
}

function status(home: string, given?: string): Result {
  const ledger = readRun(home, findRun(home, given));
  const { inputs, answered } = ledger.counts;
  const left = inputs - answered;
  const next = left ? ` Go on with: zz --each --resume ${ledger.id}` : "";
  const data = { run: ledger.id, inputs, answered, left, prompt: ledger.plan.prompt };
  return { text: `${ledger.id}: ${answered} of ${inputs} answered.${next}`, data };
}

/** What it would take, without a request. */
async function estimate(
  ctx: Ctx,
  plan: Plan,
  inputs: Iterable<Input> | AsyncIterable<Input>,
): Promise<Result> {
  const layers = await ctx.about.prompt();
  const shared = Math.ceil(
    layers.reduce((sum, { text }) => sum + text.length, 0) / CHARS_PER_TOKEN,
  );
  const tools =
    plan.tools === false
      ? 0
      : Math.ceil(JSON.stringify(await ctx.about.offered()).length / CHARS_PER_TOKEN);
  let [count, tokens] = [0, 0];
  for await (const input of inputs) {
    const message = await messageOf(plan.prompt, input, ctx).catch(() => undefined);
    if (message) tokens += shared + tools + Math.ceil(message.text.length / CHARS_PER_TOKEN);
    count++;
  }
  if (!count)
    throw usage("Nothing to ask about: there is no input. Check the glob, or what is piped in.");
  const described = plan.model
    ? await ctx.about.model(plan.model, true).catch(() => undefined)
    : undefined;
  const cost = dollarsOf(
    { input: tokens, output: count * ASSUMED_OUTPUT_TOKENS },
    described?.price,
  );
  const price = described?.price
    ? `, about $${cost.toFixed(2)}`
    : "; what the model costs is not known";
  const data = { inputs: count, tokens, ...(described?.price && { dollars: cost }) };
  return {
    text: `${plural(count, "request")} of about ${tokens} tokens together${price}. Nothing was sent.`,
    data,
  };
}
