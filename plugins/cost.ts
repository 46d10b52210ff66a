// /cost: the cost of a conversation, by the prices in the settings, per million tokens.
import type { Ctx, Entry, Usage, Zz } from "zz";

type Prices = Record<string, { input: number; output: number }>;
const price = { type: "number", minimum: 0 };
export const settings = {
  name: "prices",
  schema: {
    type: "object",
    additionalProperties: {
      type: "object",
      properties: { input: price, output: price },
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
    const { input, output } = spent.get(model) ?? { input: 0, output: 0 };
    spent.set(model, { input: input + usage.input, output: output + usage.output });
  }
  let sum = 0;
  const rows = [...spent].map(([model, { input, output }]) => {
    const rate = Object.hasOwn(prices, model) ? prices[model] : undefined;
    const cost = rate && (input * rate.input + output * rate.output) / 1e6;
    sum += cost ?? 0;
    return [model, `${input} in`, `${output} out`, cost === undefined ? "no price" : cost.toFixed(4)];
  });
  if (rows.length > 1) rows.push(["in all", "", "", sum.toFixed(4)]);
  const widths = [0, 1, 2, 3].map((i) => Math.max(0, ...rows.map((row) => row[i]!.length)));
  return rows.map(([model, ...more]) =>
    [model!.padEnd(widths[0]!), ...more.map((cell, i) => cell.padStart(widths[i + 1]!))].join("  "),
  );
}
