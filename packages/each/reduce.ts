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
import { isSpent, knownOf, showProgress } from "./spending.ts";

const MIN_FOLD_TOKENS = 200;
const MAX_NAME_CHARS = 200;
// a level that is not this much shorter would be followed by endless ones
const MIN_SHRINKING = 0.9;

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
  if (!answered) throw fault("Cannot reduce: nothing was answered.");
  const missing = inputs - answered;
  const missingWords = `${plural(missing, "input")} of ${inputs} could not be answered`;
  if (missing) ctx.note(`${missingWords}: what is folded lacks them.`);
  const room = await roomFor(running, prompt);
  const question = visible(oneLine(ledger.plan.prompt)).slice(0, MAX_NAME_CHARS);
  const missingNote = missing ? ` ${missingWords}.` : "";
  const heads = {
    whole: `${prompt}\n\nBelow are answers to "${question}".${missingNote}`,
    partial:
      `${prompt}\n\nBelow is a part of the answers to "${question}". What you write is then put ` +
      "together with what was written about the other parts, so keep all that is needed for that.",
  };
  const finalFold = await foldLevels(running, { parts: answersOf(ledger), heads, room });
  if (finalFold !== undefined) await writeReduced(running, finalFold);
}

/** How many tokens of answers one request may hold. */
async function roomFor({ ctx, ledger }: Running, prompt: string): Promise<number> {
  const modelName = ledger.plan.model || (await firstAnswer(ledger)).model;
  const { window } = await knownOf(modelName, ctx);
  const roomTokens = foldRoom(window, await promptLayers(ctx), prompt);
  if (roomTokens >= MIN_FOLD_TOKENS) return roomTokens;
  throw fault(
    `Cannot reduce: the window of '${modelName}' is too small for the prompt and an answer. ` +
      "Choose a model with a larger one.",
    { exit: 3 },
  );
}

async function firstAnswer(ledger: RunLedger): Promise<Answered> {
  for (let inputNumber = 0; ; inputNumber++) {
    const outcome = await ledger.outcome(inputNumber);
    if (outcome && "answer" in outcome) return outcome;
  }
}

async function* answersOf(ledger: RunLedger): AsyncGenerator<Part> {
  for (let inputNumber = 0; inputNumber < ledger.counts.inputs; inputNumber++) {
    const outcome = await ledger.outcome(inputNumber);
    if (!outcome || "error" in outcome) continue;
    const { name } = await ledger.input(inputNumber);
    const title = `ANSWER ${inputNumber + 1} (${visible(oneLine(name)).slice(0, MAX_NAME_CHARS)})`;
    yield { title, text: textOf(outcome.answer) };
  }
}

const textOf = (answerValue: unknown): string =>
  typeof answerValue === "string" ? answerValue : JSON.stringify(answerValue);

async function foldLevels(running: Running, firstLevel: Level): Promise<Answered | undefined> {
  for (let currentLevel = firstLevel; ; ) {
    const { tokens, folds } = await foldLevel(running, currentLevel);
    if (running.ended) return undefined;
    if (folds.length === 1) return folds[0];
    const parts = folds.map(({ answer }, i) => ({ title: `PART ${i + 1}`, text: textOf(answer) }));
    const foldedTokens = parts.reduce(
      (tokensSoFar, foldedPart) => tokensSoFar + tokensOfPart(foldedPart),
      0,
    );
    if (foldedTokens > tokens * MIN_SHRINKING)
      throw fault(
        "Cannot reduce: what the parts fold into is as long as they were. " +
          "Ask for something shorter, or choose a model with a larger window.",
        { exit: 3 },
      );
    currentLevel = { ...currentLevel, parts };
  }
}

/** Folds the groups of a level, as many at a time as there are jobs. */
async function foldLevel(
  running: Running,
  foldingLevel: Level,
): Promise<{ tokens: number; folds: Answered[] }> {
  const folds: Answered[] = [];
  const underWay = new Set<Promise<void>>();
  let [tokens, groupCount] = [0, 0];
  let failure: unknown;
  for await (const partGroup of groupsOf(foldingLevel)) {
    const groupIndex = groupCount++;
    tokens += partGroup.tokens;
    const folding = foldGroup(running, partGroup, foldingLevel.heads)
      .then((madeFold) => void (madeFold && (folds[groupIndex] = madeFold)))
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
  let openGroup: Group = { parts: [], tokens: 0, isWhole: true };
  for await (const fittingPart of piecesOf(parts, room)) {
    const tokens = tokensOfPart(fittingPart);
    if (openGroup.parts.length && openGroup.tokens + tokens > room) {
      yield { ...openGroup, isWhole: false };
      openGroup = { parts: [], tokens: 0, isWhole: false };
    }
    openGroup.parts.push(fittingPart);
    openGroup.tokens += tokens;
  }
  yield openGroup;
}

const tokensOfPart = ({ text, title }: Part): number =>
  tokensIn(text) + tokensIn(title) + FRAME_TOKENS;

/** The parts, those in pieces that alone are too long for a request. */
async function* piecesOf(wholeParts: Level["parts"], roomTokens: number): AsyncGenerator<Part> {
  for await (const wholePart of wholeParts) {
    if (tokensOfPart(wholePart) <= roomTokens) {
      yield wholePart;
      continue;
    }
    const pieceTokens = Math.max(
      1,
      roomTokens - tokensOfPart({ ...wholePart, text: "" }) - FRAME_TOKENS,
    );
    let piece = 1;
    for (const text of cutText(wholePart.text, pieceTokens))
      yield { title: `${wholePart.title}, piece ${piece++}`, text };
  }
}

/** A text in pieces of at most so many tokens, cut at the end of a line where one is near. */
function* cutText(longText: string, maxTokens: number): Generator<string> {
  for (let pieceStart = 0; pieceStart < longText.length; ) {
    let pieceEnd = Math.min(longText.length, pieceStart + maxTokens * 3);
    while (tokensIn(longText.slice(pieceStart, pieceEnd)) > maxTokens)
      pieceEnd = pieceStart + ((pieceEnd - pieceStart) >> 1);
    if (pieceEnd < longText.length) {
      const lineStart = longText.lastIndexOf("\n", pieceEnd - 1) + 1;
      if (lineStart > (pieceStart + pieceEnd) / 2) pieceEnd = lineStart;
      else if (/[\ud800-\udbff]/.test(longText[pieceEnd - 1]!) && pieceEnd - 1 > pieceStart)
        pieceEnd--;
    }
    yield longText.slice(pieceStart, pieceEnd);
    pieceStart = pieceEnd;
  }
}

/** Folds one group. Undefined: the run has to end before. */
async function foldGroup(
  running: Running,
  { parts, isWhole }: Group,
  promptHeads: Level["heads"],
): Promise<Answered | undefined> {
  const { ledger, ctx } = running;
  const partBlocks = parts.map(({ title, text }) => `--- ${title} ---\n${text}\n--- END ---`);
  const text = [isWhole ? promptHeads.whole : promptHeads.partial, ...partBlocks].join("\n\n");
  const foldName = `fold ${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
  const keptFold = ledger.kept(foldName) as Answered | undefined;
  if (keptFold) return keptFold;
  for (let failedTries = 0; ; failedTries++) {
    if (isSpent(running)) running.ended ??= fault("Stopped: the budget is spent.", { exit: 3 });
    if (running.ended) return undefined;
    const outcome = await askModel(running, { text, tools: false });
    showProgress(running, "folding");
    if ("answer" in outcome) {
      if (outcome.finish === "length") ctx.note("A fold was cut off at the model's limit.");
      await ledger.keep(foldName, outcome);
      return outcome;
    }
    if (running.ended) return undefined;
    if (!outcome.mayPass || failedTries + 1 === TRIES)
      throw fault(`Cannot reduce: ${outcome.error}`, { exit: outcome.exit });
    await running.zz.io.clock.sleep(pauseAfter(failedTries), ctx.signal);
  }
}
