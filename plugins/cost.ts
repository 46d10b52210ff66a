// /cost: the cost of a conversation, at the prices per million tokens in the settings or from a
// provider. At the person's limit ("budget", in dollars) zz asks before it goes on.
import type { Ctx, Entry, Usage, Zz } from "zz";
import { sumUsage } from "zz/text";

/**
 * Per million tokens. Input tokens without a price of their own (cached, written) cost as much as
 * the others.
 */
type Prices = Record<string, Usage>;
const price = { type: "number", minimum: 0 };
export const settings = {
  name: "prices",
  schema: {
    type: "object",
    description:
      "prices of models in dollars per million tokens: { model: { input, output, cached, written } }",
    additionalProperties: {
      type: "object",
      properties: { input: price, output: price, cached: price, written: price },
      required: ["input", "output"],
      additionalProperties: false,
    },
  },
};
const EXAMPLE = '{"input": 0.15, "output": 0.6}';

export default (zz: Zz<Prices>) => {
  // budgets allowed, by conversation; /back keeps them
  const granted = new Map<string | null, number>();
  const fromProviders: Prices = {};
  const asked = new Set<string>(); // models whose prices were looked for
  const unpriced = new Set<string>(); // models for which the person was told that no price is known

  zz.command({
    name: "cost",
    description: "what this conversation cost",
    group: "sessions and model",
    async run(_, ctx) {
      const { chat, note } = ctx;
      const prices = await pricesFor(ctx);
      if (Object.keys(prices).length)
        return note(costs(chat.tree().entries, prices).join("\n") || "Nothing was asked yet.");
      note(
        `No price is known. Give it per million tokens, such as\n/config prices {"${chat.model}": ${EXAMPLE}}`,
      );
    },
  });

  const budgetIn = budgetReader(zz);
  zz.wrap("request", async (request, next, ctx) => {
    const budget = budgetIn(ctx);
    if (typeof budget !== "number" || budget <= 0) return next(request);
    const prices = await pricesFor(ctx, request.model);
    if (!prices[request.model] && !unpriced.has(request.model)) {
      unpriced.add(request.model);
      ctx.note(
        `No price of ${request.model} is known, so the budget does not count it. /config prices sets one.`,
      );
    }
    const cost = sumOf(ctx.chat.tree().entries, prices);
    const shares = granted.get(ctx.chat.id) ?? 1;
    if (cost < shares * budget) return next(request);
    await askToGoOn(cost, budget, ctx);
    granted.set(ctx.chat.id, Math.floor(cost / budget) + 1);
    return next(request);
  });

  /**
   * Prices in the settings win over those of a provider, which is asked once for each model without
   * a price.
   */
  async function pricesFor({ about, chat }: Ctx, next = chat.model): Promise<Prices> {
    const open = [next, ...spentOn(chat.tree().entries).keys()].filter(
      (model) => !zz.config[model] && !asked.has(model),
    );
    for (const model of open) asked.add(model);
    const late = new Promise<undefined>((done) =>
      zz.io.clock.timer(MAX_LIST_MS, () => done(undefined), { background: true }),
    );
    const listed = open.length
      ? await Promise.race([about.models(true).catch(() => undefined), late])
      : undefined;
    for (const { id, price } of listed?.models ?? []) if (price) fromProviders[id] = price;
    return { ...fromProviders, ...zz.config };
  }
};
/** Looked up again after a change: the list of settings is long, and a run asks a thousand times. */
function budgetReader(zz: Zz<Prices>): (ctx: Ctx) => unknown {
  let [budget, isKnown]: [unknown, boolean] = [undefined, false];
  for (const event of ["configured", "reloaded"] as const)
    zz.on(event, () => void (isKnown = false));
  return ({ settings }) => {
    if (!isKnown) budget = settings.list().find(({ name }) => name === "budget")?.value;
    isKnown = true;
    return budget;
  };
}

/** Throws unless the person says that the conversation may cost as much again. */
async function askToGoOn(cost: number, budget: number, ctx: Ctx): Promise<void> {
  const sum = `This conversation cost about $${cost.toFixed(2)}`;
  const budgetText = `$${budget.toFixed(2)}`;
  if (!ctx.ask)
    throw new Error(
      `${sum}, and ${budgetText} is its budget. Raise "budget" in the settings to go on.`,
    );
  if ((await ctx.ask(`${sum}. Go on for ${budgetText} more? [y/N] `, "yn")) !== "y")
    throw new Error(
      `${sum}, and you said that this is enough. Send the message again to go on after all.`,
    );
}

const MAX_LIST_MS = 3_000; // for a provider to list its models

/** What an answer used, or a side request such as a summary. */
type Spent = { model?: string; usage?: Usage };

/** The usage by model, of all entries, since messages that were taken back were paid for too. */
function spentOn(entries: readonly Entry[]): Map<string, Usage> {
  const spent = new Map<string, Usage>();
  for (const sessionEntry of entries) {
    const { model, usage } = (
      sessionEntry.type === "spent" ? sessionEntry : (sessionEntry.message ?? {})
    ) as Spent;
    if (usage && model) spent.set(model, sumUsage([spent.get(model), usage]));
  }
  return spent;
}

const sumOf = (entries: readonly Entry[], prices: Readonly<Prices>): number =>
  [...spentOn(entries)].reduce((sum, [model, usage]) => {
    const rate = Object.hasOwn(prices, model) ? prices[model] : undefined;
    return sum + (rate ? costOf(usage, rate) : 0);
  }, 0);

function costs(entries: readonly Entry[], prices: Readonly<Prices>): string[] {
  const spent = spentOn(entries);
  let sum = 0;
  const someCached = [...spent.values()].some(({ cached }) => cached);
  const rows = [...spent].map(([model, usage]) => {
    const { input, output, cached = 0 } = usage;
    const rate = Object.hasOwn(prices, model) ? prices[model] : undefined;
    const cost = rate && costOf(usage, rate);
    sum += cost ?? 0;
    const shown = cost === undefined ? "no price" : cost.toFixed(4);
    return [
      model,
      `${input} in`,
      ...(someCached ? [cached ? `${cached} cached` : ""] : []),
      `${output} out`,
      shown,
    ];
  });
  if (rows.length > 1) rows.push(["in all", ...rows[0]!.slice(2).map(() => ""), sum.toFixed(4)]);
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]!.length)));
  return rows.map(([model, ...counts]) =>
    [model!.padEnd(widths[0]!), ...counts.map((cell, i) => cell.padStart(widths[i + 1]!))].join(
      "  ",
    ),
  );
}

/** The cost of the tokens, at prices per million. */
function costOf({ input, output, cached = 0, written = 0 }: Usage, rate: Usage): number {
  const plain = Math.max(input - cached - written, 0);
  const inputCost =
    plain * rate.input +
    cached * (rate.cached ?? rate.input) +
    written * (rate.written ?? rate.input);
  return (inputCost + output * rate.output) / 1e6;
}
