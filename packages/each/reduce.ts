// --reduce: one answer made of all answers. A tree of folds, each of as many answers as fit the
// model's window, level by level until one is left. A fold is kept in the run under a hash of what
// it was made of, so that going on asks only what is missing.
import { createHash } from "node:crypto";
import { fault, oneLine, plural, visible } from "zz/text";
import { askModel, pauseAfter, TRIES } from "./ask-model.ts";
import { FRAME_TOKENS, foldRoom, promptLayers, tokensIn } from "./fold-sizes.ts";
import { writeReduced } from "./print-outcomes.ts";
import type { Answered, RunLedger } from "./run-ledger.ts";
import type { Running } from "./running.ts";
import { isSpent, showProgress } from "./spending.ts";

const MIN_FOLD_TOKENS = 200;
const MAX_NAME_CHARS = 200;
const MIN_SHRINKING = 0.9; // a level that is not this much shorter would be followed by endless ones

interface Part {
  title: string;
  text: string;
}
/** Parts that are folded together. */
interface Group {
  parts: Part[];
  tokens: number;
  isWhole: boolean; // all that there is: what it folds into is the result
}
interface Level {
  parts: AsyncIterable<Part> | Iterable<Part>;
  heads: { whole: string; partial: string };
  room: number; // tokens of a group
}

/** Folds all answers, prints or writes the result, and keeps what was made on the way. */
export async function reduce(running: Running, prompt: string): Promise<void> {
  const { ledger, ctx } = running;
  const { inputs, answered } = ledger.counts;
  if (!answered) throw fault("Cannot reduce: there is no answer.");
  const missing = inputs - answered;
  const gap = `${plural(missing, "input")} of ${inputs} could not be answered`;
  if (missing) ctx.note(`${gap}: what is folded lacks them.`);
  const room = await roomFor(running, prompt);
  const question = visible(oneLine(ledger.plan.prompt)).slice(0, MAX_NAME_CHARS);
  const absent = missing ? ` ${gap}.` : "";
  const heads = {
    whole: `${prompt}\n\nBelow are answers to "${question}".${absent}`,
    partial:
      `${prompt}\n\nBelow is a part of the answers to "${question}". What you write is then put ` +
      "together with what was written about the other parts, so keep all that is needed for that.",
  };
  const result = await foldLevels(running, { parts: answersOf(ledger), heads, room });
  if (result !== undefined) await writeReduced(running, result);
}

/** How many tokens of answers one request may hold. */
async function roomFor({ ctx, ledger }: Running, prompt: string): Promise<number> {
  const model = ledger.plan.model || (await firstAnswer(ledger)).model;
  const described = await ctx.about.model(model, true).catch(() => undefined);
  const room = foldRoom(described?.window, await promptLayers(ctx), prompt);
  if (room >= MIN_FOLD_TOKENS) return room;
  throw fault(
    `Cannot reduce: the window of '${model}' is too small for the prompt and an answer. Choose a model with a larger one.`,
    { exit: 3 },
  );
}

async function firstAnswer(ledger: RunLedger): Promise<Answered> {
  for (let n = 0; ; n++) {
    const outcome = await ledger.outcome(n);
    if (outcome && "answer" in outcome) return outcome;
  }
}

async function* answersOf(ledger: RunLedger): AsyncGenerator<Part> {
  for (let n = 0; n < ledger.counts.inputs; n++) {
    const outcome = await ledger.outcome(n);
    if (!outcome || "error" in outcome) continue;
    const { name } = await ledger.input(n);
    const title = `ANSWER ${n + 1} (${visible(oneLine(name)).slice(0, MAX_NAME_CHARS)})`;
    yield { title, text: textOf(outcome.answer) };
  }
}

const textOf = (answer: unknown): string =>
  typeof answer === "string" ? answer : JSON.stringify(answer);

async function foldLevels(running: Running, first: Level): Promise<Answered | undefined> {
  for (let level = first; ; ) {
    const { tokens, folds } = await foldLevel(running, level);
    if (running.ended) return undefined;
    if (folds.length === 1) return folds[0];
    const parts = folds.map(({ answer }, i) => ({ title: `PART ${i + 1}`, text: textOf(answer) }));
    const shrunk = parts.reduce((sum, part) => sum + tokensOfPart(part), 0);
    if (shrunk > tokens * MIN_SHRINKING)
      throw fault(
        "Cannot reduce: what the parts fold into is as long as they were. Ask for something shorter, or choose a model with a larger window.",
        { exit: 3 },
      );
    level = { ...level, parts };
  }
}

/** Folds the groups of a level, as many at a time as there are jobs. */
async function foldLevel(
  running: Running,
  level: Level,
): Promise<{ tokens: number; folds: Answered[] }> {
  const folds: Answered[] = [];
  const underWay = new Set<Promise<void>>();
  let [tokens, count] = [0, 0];
  let failure: unknown;
  for await (const group of groupsOf(level)) {
    const index = count++;
    tokens += group.tokens;
    const folding = foldGroup(running, group, level.heads)
      .then((fold) => void (fold && (folds[index] = fold)))
      .catch((error) => void (failure ??= error))
      .finally(() => underWay.delete(folding));
    underWay.add(folding);
    if (underWay.size >= running.limits.jobs) await Promise.race(underWay);
    if (failure || running.ended) break;
  }
  await Promise.all(underWay);
  if (failure) throw failure;
  return { tokens, folds };
}

async function* groupsOf({ parts, room }: Level): AsyncGenerator<Group> {
  let group: Group = { parts: [], tokens: 0, isWhole: true };
  for await (const part of piecesOf(parts, room)) {
    const tokens = tokensOfPart(part);
    if (group.parts.length && group.tokens + tokens > room) {
      yield { ...group, isWhole: false };
      group = { parts: [], tokens: 0, isWhole: false };
    }
    group.parts.push(part);
    group.tokens += tokens;
  }
  yield group;
}

const tokensOfPart = ({ text, title }: Part): number =>
  tokensIn(text) + tokensIn(title) + FRAME_TOKENS;

/** The parts, those in pieces that alone are too long for a request. */
async function* piecesOf(parts: Level["parts"], room: number): AsyncGenerator<Part> {
  for await (const part of parts) {
    if (tokensOfPart(part) <= room) {
      yield part;
      continue;
    }
    const most = Math.max(1, room - tokensOfPart({ ...part, text: "" }) - FRAME_TOKENS);
    let piece = 1;
    for (const text of cutText(part.text, most))
      yield { title: `${part.title}, piece ${piece++}`, text };
  }
}

/** A text in pieces of at most so many tokens, cut at the end of a line where one is near. */
function* cutText(text: string, most: number): Generator<string> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + most * 3);
    while (tokensIn(text.slice(start, end)) > most) end = start + ((end - start) >> 1);
    if (end < text.length) {
      const line = text.lastIndexOf("\n", end - 1) + 1;
      if (line > (start + end) / 2) end = line;
      else if (/[\ud800-\udbff]/.test(text[end - 1]!) && end - 1 > start) end--;
    }
    yield text.slice(start, end);
    start = end;
  }
}

/** Folds one group. Undefined: the run has to end before. */
async function foldGroup(
  running: Running,
  { parts, isWhole }: Group,
  heads: Level["heads"],
): Promise<Answered | undefined> {
  const { ledger, ctx } = running;
  const blocks = parts.map(({ title, text }) => `--- ${title} ---\n${text}\n--- END ---`);
  const text = [isWhole ? heads.whole : heads.partial, ...blocks].join("\n\n");
  const name = `fold ${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
  const kept = ledger.kept(name) as Answered | undefined;
  if (kept) return kept;
  for (let tries = 0; ; tries++) {
    if (isSpent(running)) running.ended ??= fault("Stopped: the budget is spent.", { exit: 3 });
    if (running.ended) return undefined;
    const outcome = await askModel(running, { text, tools: false });
    showProgress(running, "folding");
    if ("answer" in outcome) {
      if (outcome.finish === "length") ctx.note("A fold was cut off at the model's limit.");
      await ledger.keep(name, outcome);
      return outcome;
    }
    if (running.ended) return undefined;
    if (!outcome.mayPass || tries + 1 === TRIES)
      throw fault(`Cannot reduce: ${outcome.error}`, { exit: outcome.exit });
    await running.zz.io.clock.sleep(pauseAfter(tries), ctx.signal);
  }
}
