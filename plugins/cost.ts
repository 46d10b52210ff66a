// /cost: the cost of a conversation, by the prices in the settings, per million tokens.
import type { Ctx, Entry, Usage, Zz } from "zz";
import { sumUsage } from "zz/text";

/** What no price is given for, of the tokens that went in, costs what the others do. */
type Prices = Record<string, Usage>;
const price = { type: "number", minimum: 0 };
export const settings = {
  name: "prices",
  schema: {
    type: "object",
    additionalProperties: {
      type: "object",
      properties: { input: price, output: price, cached: price, written: price },
      required: ["input", "output"],
      additionalProperties: false,
    },
  },
};
const EXAMPLE = '{"input": 0.15, "output": 0.6}';

export default (zz: Zz<Prices>) =>
  zz.command({
    name: "cost",
    description: "what this conversation cost",
    group: "sessions and model",
    run(_, { chat, note }: Ctx) {
      const lines = costs(chat.tree().entries, zz.config);
      if (Object.keys(zz.config).length) return note(lines.join("\n") || "Nothing was asked yet.");
      const { model } = chat;
      note(`No price is known. Give it per million tokens, such as\n/config prices {"${model}": ${EXAMPLE}}`);
    },
  });

/** An answer, or a request beside the conversation, such as a summary. */
type Spent = { model?: string; usage?: Usage };

/** Of all entries, since what was taken back was paid for too. */
export function costs(entries: readonly Entry[], prices: Readonly<Prices>): string[] {
  const spent = new Map<string, Usage>();
  for (const entry of entries) {
    const { model, usage } = (entry.type === "spent" ? entry : (entry.message ?? {})) as Spent;
    if (!usage || !model) continue;
    spent.set(model, sumUsage([spent.get(model), usage]));
  }
  let sum = 0;
  const someCached = [...spent.values()].some(({ cached }) => cached);
  const rows = [...spent].map(([model, usage]) => {
    const { input, output, cached = 0 } = usage;
    const rate = Object.hasOwn(prices, model) ? prices[model] : undefined;
    const cost = rate && costOf(usage, rate);
    sum += cost ?? 0;
    const shown = cost === undefined ? "no price" : cost.toFixed(4);
    return [model, `${input} in`, ...(someCached ? [cached ? `${cached} cached` : ""] : []), `${output} out`, shown];
  });
  if (rows.length > 1) rows.push(["in all", ...rows[0]!.slice(2).map(() => ""), sum.toFixed(4)]);
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]!.length)));
  return rows.map(([model, ...more]) =>
    [model!.padEnd(widths[0]!), ...more.map((cell, i) => cell.padStart(widths[i + 1]!))].join("  "),
  );
}

/** Per million tokens. */
function costOf({ input, output, cached = 0, written = 0 }: Usage, rate: Usage): number {
  const plain = Math.max(input - cached - written, 0);
  const taken = plain * rate.input + cached * (rate.cached ?? rate.input) + written * (rate.written ?? rate.input);
  return (taken + output * rate.output) / 1e6;
}
