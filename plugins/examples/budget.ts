// A cost guard: once a conversation has taken so many tokens, it asks before each further share of
// them. An example of the step "request" and of what answers cost.
import type { Entry, Usage, Zz } from "zz";

// tokens in a share; how much a token from the cache counts
export const defaults = { tokens: 1_000_000, cached: 0.1 };
export const settings = {
  schema: {
    type: "object",
    properties: {
      tokens: { type: "integer", minimum: 1, description: "how many tokens go by before it asks" },
      cached: {
        type: "number",
        minimum: 0,
        maximum: 1,
        description: "what a token from the cache counts",
      },
    },
  },
};

export default (zz: Zz<typeof defaults>) => {
  // shares allowed, by conversation; /back keeps them
  const granted = new Map<string | null, number>();

  zz.wrap("request", async (request, next, { chat, ask }) => {
    const spent = spentIn(chat.tree().entries, zz.config.cached);
    const shares = granted.get(chat.id) ?? 1;
    if (spent < shares * zz.config.tokens) return next(request);
    const sum = `This conversation took about ${Math.round(spent)} tokens`;
    if (!ask)
      throw new Error(
        `${sum}, and ${zz.config.tokens} are its budget. Raise "budget.tokens" in the settings.`,
      );
    if ((await ask(`${sum}. Go on for ${zz.config.tokens} more? [y/N] `, "yn")) !== "y")
      throw new Error(
        `${sum}, and you said that this is enough. Send the message again to go on after all.`,
      );
    granted.set(chat.id, Math.floor(spent / zz.config.tokens) + 1);
    return next(request);
  });
};

/**
 * The tokens of all entries: summaries, helpers and messages that were taken back cost something,
 * too.
 */
function spentIn(entries: readonly Entry[], cachedCounts: number): number {
  const usages = entries.map((sessionEntry): Usage | undefined => {
    if (sessionEntry.type === "spent") return sessionEntry.usage as Usage | undefined;
    return sessionEntry.message?.role === "assistant" ? sessionEntry.message.usage : undefined;
  });
  return usages.reduce((sum, usage) => {
    const { input = 0, output = 0, cached = 0 } = usage ?? {};
    return sum + (input - cached) + cached * cachedCounts + output;
  }, 0);
}
