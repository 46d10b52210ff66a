// /cost: the cost of a conversation, at the prices per million tokens in the settings or from a
// provider. At the person's limit ("budget", in dollars) zz asks before it goes on.
import type { Ctx, Entry, Usage, Zz } from "zz";
import { ownValue, sumUsage } from "zz/text";

/**
 * Per million tokens. Input tokens without a price of their own (cached, written) cost as much as
 * the others.
 */
type Prices = Record<string, Usage>;
const priceSchema = { type: "number", minimum: 0 };
export const settings = {
  name: "prices",
  schema: {
    type: "object",
    description:
      "prices of models in dollars per million tokens: { model: " +
      "{ input, output, cached, written } }",
    additionalProperties: {
      type: "object",
      properties: {
        input: priceSchema,
        output: priceSchema,
        cached: priceSchema,
        written: priceSchema,
      },
      required: ["input", "output"],
      additionalProperties: false,
    },
  },
};
const EXAMPLE = '{"input": 0.15, "output": 0.6}';

const noteOnPrice = (model: string): string =>
  `No price of ${model} is known, so the budget does not count it. /config prices sets one.`;

export default (zz: Zz<Prices>) => {
  // budgets allowed, by conversation; /back keeps them
  const granted = new Map<string | null, number>();
  const fromProviders: Prices = {};
  const askedModels = new Set<string>(); // models whose prices were looked for
  const unpriced = new Set<string>(); // models for which the person was told that no price is known

  zz.command({
    name: "cost",
    description: "what this conversation cost",
    group: "sessions and model",
    async run(_, ctx) {
      const { chat, note } = ctx;
      const prices = await pricesFor(ctx);
      const costRows = listCosts(chat.tree().entries, prices);
      if (!Object.keys(prices).length)
        costRows.push(
          "No price is known. Give it per million tokens, such as",
          `/config prices {"${chat.model}": ${EXAMPLE}}`,
        );
      note(costRows.join("\n") || "Nothing was asked yet.");
    },
  });

  const budgetIn = budgetReader(zz);
  zz.wrap("request", async (request, nextRequest, ctx) => {
    const budget = budgetIn(ctx);
    if (typeof budget !== "number" || budget <= 0) return nextRequest(request);
    const prices = await pricesFor(ctx, request.model);
    if (!ownValue(prices, request.model) && !unpriced.has(request.model)) {
      unpriced.add(request.model);
      ctx.note(noteOnPrice(request.model));
    }
    const costSoFar = sumOf(ctx.chat.tree().entries, prices);
    const shares = granted.get(ctx.chat.id) ?? 1;
    if (costSoFar < shares * budget) return nextRequest(request);
    await askToGoOn(costSoFar, budget, ctx);
    granted.set(ctx.chat.id, Math.floor(costSoFar / budget) + 1);
    return nextRequest(request);
  });

  /**
   * Prices in the settings win over those of a provider, which is asked once for each model without
   * a price.
   */
  async function pricesFor({ about, chat }: Ctx, nextModel = chat.model): Promise<Prices> {
    const unknownModels = [nextModel, ...spentOn(chat.tree().entries).keys()].filter(
      (modelName) => !ownValue(zz.config, modelName) && !askedModels.has(modelName),
    );
    for (const modelName of unknownModels) askedModels.add(modelName);
    const listTimeout = new Promise<undefined>((resolveLate) =>
      zz.io.clock.timer(MAX_LIST_MS, () => resolveLate(undefined), { background: true }),
    );
    const listedModels = unknownModels.length
      ? await Promise.race([about.models(true).catch(() => undefined), listTimeout])
      : undefined;
    for (const { id, price } of listedModels?.models ?? []) if (price) fromProviders[id] = price;
    return { ...fromProviders, ...zz.config };
  }
};
/**
 * Looked up again after a change: the list of settings is long, and a run asks a thousand times.
 */
function budgetReader(zz: Zz<Prices>): (ctx: Ctx) => unknown {
  let [budget, isKnown]: [unknown, boolean] = [undefined, false];
  for (const eventName of ["configured", "reloaded"] as const)
    zz.on(eventName, () => void (isKnown = false));
  return ({ settings }) => {
    if (!isKnown) budget = settings.list().find(({ name }) => name === "budget")?.value;
    isKnown = true;
    return budget;
  };
}

/** Throws unless the person says that the conversation may cost as much again. */
async function askToGoOn(costSoFar: number, budget: number, ctx: Ctx): Promise<void> {
  const costSentence = `This conversation cost about $${costSoFar.toFixed(2)}`;
  const budgetText = `$${budget.toFixed(2)}`;
  if (!ctx.ask)
    throw new Error(
      `${costSentence}, and ${budgetText} is its budget. Raise "budget" in the settings to go on.`,
    );
  if ((await ctx.ask(`${costSentence}. Go on for ${budgetText} more? [y/N] `, "yn")) !== "y")
    throw new Error(
      `${costSentence}, and you said that this is enough. ` +
        "Send the message again to go on after all.",
    );
}

const MAX_LIST_MS = 3_000; // for a provider to list its models

/** What an answer used, or a side request such as a summary. */
type Spent = { model?: string; usage?: Usage };

/** The usage by model, of all entries, since messages that were taken back were paid for too. */
function spentOn(entries: readonly Entry[]): Map<string, Usage> {
  const usageByModel = new Map<string, Usage>();
  for (const sessionEntry of entries) {
    const { model, usage } = (
      sessionEntry.type === "spent" ? sessionEntry : (sessionEntry.message ?? {})
    ) as Spent;
    if (usage && model) usageByModel.set(model, sumUsage([usageByModel.get(model), usage]));
  }
  return usageByModel;
}

const sumOf = (entries: readonly Entry[], prices: Readonly<Prices>): number =>
  [...spentOn(entries)].reduce((costSoFar, [modelName, modelUsage]) => {
    const modelPrice = ownValue(prices, modelName);
    return costSoFar + (modelPrice ? costOf(modelUsage, modelPrice) : 0);
  }, 0);

function listCosts(entries: readonly Entry[], prices: Readonly<Prices>): string[] {
  const usageByModel = spentOn(entries);
  const modelCosts: (number | undefined)[] = [];
  const someCached = [...usageByModel.values()].some(({ cached }) => cached);
  const tableRows = [...usageByModel].map(([modelName, modelUsage]) => {
    const { input, output, cached = 0 } = modelUsage;
    const modelPrice = ownValue(prices, modelName);
    const modelCost = modelPrice && costOf(modelUsage, modelPrice);
    modelCosts.push(modelCost);
    const costText = modelCost === undefined ? "no price" : modelCost.toFixed(4);
    return [
      modelName,
      `${input} in`,
      ...(someCached ? [cached ? `${cached} cached` : ""] : []),
      `${output} out`,
      costText,
    ];
  });
  if (tableRows.length > 1)
    tableRows.push(["in all", ...tableRows[0]!.slice(2).map(() => ""), totalWords(modelCosts)]);
  const widths = (tableRows[0] ?? []).map((_, i) =>
    Math.max(...tableRows.map((tableRow) => tableRow[i]!.length)),
  );
  return tableRows.map(([modelCell, ...countCells]) =>
    [
      modelCell!.padEnd(widths[0]!),
      ...countCells.map((countCell, i) => countCell.padStart(widths[i + 1]!)),
    ].join("  "),
  );
}

/** Models without a price cost something, too. */
function totalWords(modelCosts: readonly (number | undefined)[]): string {
  const knownCosts = modelCosts.filter((modelCost) => modelCost !== undefined);
  if (!knownCosts.length) return "no price";
  const total = knownCosts.reduce((sum, modelCost) => sum + modelCost, 0).toFixed(4);
  return knownCosts.length < modelCosts.length ? `at least ${total}` : total;
}

/** The cost of the tokens, at prices per million. */
function costOf({ input, output, cached = 0, written = 0 }: Usage, modelPrice: Usage): number {
  const plainInput = Math.max(input - cached - written, 0);
  const inputCost =
    plainInput * modelPrice.input +
    cached * (modelPrice.cached ?? modelPrice.input) +
    written * (modelPrice.written ?? modelPrice.input);
  return (inputCost + output * modelPrice.output) / 1e6;
}
