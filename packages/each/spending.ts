// What a run costs: beforehand, so far, and whether that is as much as it may.
import type { Ctx, Price, Result, Usage } from "zz";
import { plural, tokensOf, usage } from "zz/text";
import { foldRoom, foldsFor, promptLayers, tokensIn } from "./fold-sizes.ts";
import { messageOf } from "./inputs.ts";
import type { Input, Plan } from "./run-ledger.ts";
import type { Running } from "./running.ts";

export const ASSUMED_OUTPUT_TOKENS = 300; // for an estimate

export function isSpent({ spent, limits, price, asked }: Running): boolean {
  const { tokens, dollars } = limits;
  // what one more is likely to take
  const nextTokens = asked ? (spent.input + spent.output) / asked : 0;
  if (tokens !== undefined && spent.input + spent.output + nextTokens > tokens) return true;
  const spentDollars = dollarsOf(spent, price);
  return dollars !== undefined && spentDollars + (asked ? spentDollars / asked : 0) > dollars;
}

export const dollarsOf = (
  { input, output, cached = 0 }: Usage,
  modelPrice: Price | undefined,
): number => {
  if (!modelPrice) return 0;
  return (
    ((input - cached) * modelPrice.input +
      cached * (modelPrice.cached ?? modelPrice.input) +
      output * modelPrice.output) /
    1e6
  );
};

/** What is known of a model; by batches it costs half. */
export async function knownOf(modelName: string, { about }: Ctx, isBatch?: boolean) {
  const described = modelName
    ? await about.model(modelName, true).catch(() => undefined)
    : undefined;
  const { price, window } = described ?? {};
  if (!price || !isBatch) return { price, window };
  const { input, output, cached = input } = price;
  return { price: { input: input / 2, output: output / 2, cached: cached / 2 }, window };
}

export function showProgress(
  { ctx, zz, ledger, started, asked, spent, price }: Running,
  activity = "",
): void {
  const { inputs, answered, failed } = ledger.counts;
  const seconds = Math.max(0.001, (zz.io.clock.now() - started) / 1000);
  const askedPerSecond = asked / seconds;
  const remaining = inputs - answered - failed;
  const costWords = price
    ? `$${dollarsOf(spent, price).toFixed(2)}`
    : `${spent.input + spent.output} tokens`;
  const timeWords = askedPerSecond ? `${Math.ceil(remaining / askedPerSecond)} s left` : "";
  const failedWords = failed ? `${failed} failed` : "";
  ctx.progress(
    [
      `${answered}/${inputs}`,
      activity,
      failedWords,
      `${askedPerSecond.toFixed(1)}/s`,
      costWords,
      timeWords,
    ]
      .filter(Boolean)
      .join(" · "),
  );
}

/** What it would take, without a request. */
export async function estimate(
  ctx: Ctx,
  plan: Plan,
  inputs: Iterable<Input> | AsyncIterable<Input>,
): Promise<Result> {
  const layers = await ctx.about.prompt();
  const promptTokens = tokensOf(layers.map(({ text }) => text).join(""));
  const toolTokens = plan.tools === false ? 0 : tokensOf(JSON.stringify(await ctx.about.offered()));
  let [inputCount, tokens] = [0, 0];
  for await (const runInput of inputs) {
    const message = await messageOf(plan.prompt, runInput, ctx).catch(() => undefined);
    if (message) tokens += promptTokens + toolTokens + tokensOf(message.text);
    inputCount++;
  }
  if (!inputCount)
    throw usage("Cannot ask about nothing: no input came. Check the glob, or what is piped in.");
  const { price, window } = await knownOf(plan.model, ctx, plan.batch);
  let requests = inputCount;
  if (plan.reduce !== undefined) {
    const roomTokens = foldRoom(window, await promptLayers(ctx), plan.reduce);
    const foldEstimate = foldsFor(inputCount, ASSUMED_OUTPUT_TOKENS, roomTokens);
    requests += foldEstimate.requests;
    tokens += foldEstimate.tokens + foldEstimate.requests * (promptTokens + tokensIn(plan.reduce));
  }
  const totalDollars = dollarsOf(
    { input: tokens, output: requests * ASSUMED_OUTPUT_TOKENS },
    price,
  );
  const costWords = price
    ? `, about $${totalDollars.toFixed(2)}`
    : "; what the model costs is not known";
  const data = {
    inputs: inputCount,
    ...(requests > inputCount && { folds: requests - inputCount }),
    tokens,
    ...(price && { dollars: totalDollars }),
  };
  return {
    text:
      `${plural(requests, "request")} of about ${tokens} tokens ` +
      `together${costWords}. Nothing was sent.`,
    data,
  };
}
