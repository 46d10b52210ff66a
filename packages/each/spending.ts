// What a run costs: beforehand, so far, and whether that is as much as it may.
import type { Ctx, Model, Price, Result, Usage } from "zz";
import { CHARS_PER_TOKEN, plural, usage } from "zz/text";
import { foldRoom, foldsFor, promptLayers, tokensIn } from "./fold-sizes.ts";
import { messageOf } from "./inputs.ts";
import type { Input, Plan } from "./run-ledger.ts";
import type { Running } from "./running.ts";

export const ASSUMED_OUTPUT_TOKENS = 300; // for an estimate

export function isSpent({ spent, limits, price, asked }: Running): boolean {
  const { tokens, dollars } = limits;
  const next = asked ? (spent.input + spent.output) / asked : 0; // what one more is likely to take
  if (tokens !== undefined && spent.input + spent.output + next > tokens) return true;
  const cost = dollarsOf(spent, price);
  return dollars !== undefined && cost + (asked ? cost / asked : 0) > dollars;
}

export const dollarsOf = ({ input, output, cached = 0 }: Usage, price?: Model["price"]): number => {
  if (!price) return 0;
  return (
    ((input - cached) * price.input +
      cached * (price.cached ?? price.input) +
      output * price.output) /
    1e6
  );
};

/** What batches cost: half. */
export const batchPrice = ({ input, output, cached }: Price): Price => {
  const half = { input: input / 2, output: output / 2 };
  return cached === undefined ? half : { ...half, cached: cached / 2 };
};

export function showProgress(
  { ctx, zz, ledger, started, asked, spent, price }: Running,
  activity = "",
): void {
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
    [`${answered}/${inputs}`, activity, bad, `${rate.toFixed(1)}/s`, cost, time]
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
  let requests = count;
  if (plan.reduce !== undefined) {
    const room = foldRoom(described?.window, await promptLayers(ctx), plan.reduce);
    const folds = foldsFor(count, ASSUMED_OUTPUT_TOKENS, room);
    requests += folds.requests;
    tokens += folds.tokens + folds.requests * (shared + tokensIn(plan.reduce));
  }
  const cost = dollarsOf(
    { input: tokens, output: requests * ASSUMED_OUTPUT_TOKENS },
    described?.price && (plan.batch ? batchPrice(described.price) : described.price),
  );
  const price = described?.price
    ? `, about $${cost.toFixed(2)}`
    : "; what the model costs is not known";
  const folded = requests > count ? { folds: requests - count } : {};
  const data = { inputs: count, ...folded, tokens, ...(described?.price && { dollars: cost }) };
  return {
    text: `${plural(requests, "request")} of about ${tokens} tokens together${price}. Nothing was sent.`,
    data,
  };
}
