// How much of a model's window the folds of --reduce take, and how many there will be.
import type { Ctx } from "zz";

const ASSUMED_WINDOW = 32_000; // tokens, where the model's window is unknown
// of the window: the rest is for the answer, and for estimates that are wrong
const FOLD_SHARE = 0.5;
const BYTES_PER_TOKEN = 3; // an estimate on the safe side
export const FRAME_TOKENS = 20; // around each answer

export const tokensIn = (measuredText: string): number =>
  Math.ceil(Buffer.byteLength(measuredText) / BYTES_PER_TOKEN);

export const promptLayers = async (ctx: Ctx): Promise<string> =>
  (await ctx.about.prompt()).map(({ text }) => text).join("\n");

/** How many tokens of answers one request may hold. */
export const foldRoom = (window: number | undefined, layers: string, foldPrompt: string): number =>
  Math.floor((window ?? ASSUMED_WINDOW) * FOLD_SHARE) - tokensIn(layers) - tokensIn(foldPrompt);

/** How many requests it takes to fold these answers into one, and how many tokens they send. */
export function foldsFor(
  answers: number,
  tokensEach: number,
  roomTokens: number,
): { requests: number; tokens: number } {
  const perGroup = Math.max(2, Math.floor(roomTokens / (tokensEach + FRAME_TOKENS)));
  let [requests, tokens] = [0, 0];
  let partCount = answers;
  for (;;) {
    const groupCount = Math.max(1, Math.ceil(partCount / perGroup));
    requests += groupCount;
    tokens += partCount * (tokensEach + FRAME_TOKENS);
    if (groupCount === 1) return { requests, tokens };
    partCount = groupCount;
  }
}
