// A page of a server's list of models, read by zod: a field that holds what it should not is left
// out, and so is a model without a name.
import * as z from "zod";
import type { Model } from "zz";

/** Left out where it does not fit. */
const orNothing = <T extends z.ZodType>(type: T) => type.optional().catch(undefined);
const text = orNothing(z.string().min(1));
const tokens = orNothing(z.coerce.number().int().positive());
/** OpenRouter and servers like it give dollars per token, as text. */
const dollars = z.string().min(1).transform((perToken) => Number(perToken) * 1e6).pipe(z.number().nonnegative()); // biome-ignore format: one

const LISTED = z.object({
  id: text,
  name: text,
  context_length: tokens,
  context_window: tokens,
  max_context_length: tokens,
  max_model_len: tokens,
  max_input_tokens: tokens, // Anthropic's
  inputTokenLimit: tokens, // Gemini's, like the methods
  supportedGenerationMethods: orNothing(z.array(z.string())),
  pricing: orNothing(
    z.object({
      prompt: dollars,
      completion: dollars,
      input_cache_read: orNothing(dollars),
      input_cache_write: orNothing(dollars),
    }),
  ),
});
const LIST = orNothing(z.array(orNothing(LISTED)));
const PAGE = z.union([
  z.array(orNothing(LISTED)).transform((data) => ({ data })),
  z.object({
    data: LIST,
    models: LIST,
    has_more: z.unknown().optional(),
    last_id: text,
    nextPageToken: text,
  }),
  z.unknown().transform(() => ({})),
]);

type ListedModel = Model & { generates: boolean };
/** `next`: what to ask for the page after it by. */
export function readModelPage(body: unknown): { models: ListedModel[]; next?: string } {
  const page: Partial<z.infer<(typeof PAGE)["options"][1]>> = PAGE.parse(body);
  const next = page.nextPageToken ?? (page.has_more ? page.last_id : undefined);
  const models = (page.data ?? page.models ?? []).flatMap((listed) => modelOf(listed) ?? []);
  return { models, ...(next && { next }) };
}

function modelOf(listed: z.infer<typeof LISTED> | undefined): ListedModel | undefined {
  const id = listed?.id ?? listed?.name;
  if (!listed || !id) return undefined;
  const { pricing, supportedGenerationMethods: methods } = listed;
  const window =
    listed.context_length ??
    listed.context_window ??
    listed.max_context_length ??
    listed.max_model_len ??
    listed.max_input_tokens ??
    listed.inputTokenLimit;
  const { input_cache_read: cached, input_cache_write: written } = pricing ?? {};
  return {
    id,
    generates: methods?.includes("generateContent") ?? true,
    ...(window && { window }),
    ...(pricing && {
      price: {
        input: pricing.prompt,
        output: pricing.completion,
        ...(cached !== undefined && { cached }),
        ...(written !== undefined && { written }),
      },
    }),
  };
}
