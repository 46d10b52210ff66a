// A page of a server's list of models, read by zod: a field that holds what it should not is left
// out, and so is a model without a name.
import * as z from "zod";
import type { Model } from "zz";

/** Left out where it does not fit. */
const orNothing = <T extends z.ZodType>(fieldType: T) => fieldType.optional().catch(undefined);
const textField = orNothing(z.string().min(1));
const tokenField = orNothing(z.coerce.number().int().positive());
/** OpenRouter and servers like it give dollars per token, as text. */
const dollars = z
  .string()
  .min(1)
  .transform((perToken) => Number(perToken) * 1e6)
  .pipe(z.number().nonnegative());

const LISTED_MODEL = z.object({
  id: textField,
  name: textField,
  context_length: tokenField,
  context_window: tokenField,
  max_context_length: tokenField,
  max_model_len: tokenField,
  max_input_tokens: tokenField, // Anthropic's
  inputTokenLimit: tokenField, // Gemini's, like the methods
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
const MODEL_LIST = orNothing(z.array(orNothing(LISTED_MODEL)));
const MODEL_PAGE = z.union([
  z.array(orNothing(LISTED_MODEL)).transform((data) => ({ data })),
  z.object({
    data: MODEL_LIST,
    models: MODEL_LIST,
    has_more: z.unknown().optional(),
    last_id: textField,
    nextPageToken: textField,
  }),
  z.unknown().transform(() => ({})),
]);

type ListedModel = Model & { generates: boolean };
/** `next` is what asks for the next page. */
export function readModelPage(responseBody: unknown): { models: ListedModel[]; next?: string } {
  const modelPage: Partial<z.infer<(typeof MODEL_PAGE)["options"][1]>> =
    MODEL_PAGE.parse(responseBody);
  const next = modelPage.nextPageToken ?? (modelPage.has_more ? modelPage.last_id : undefined);
  const models = (modelPage.data ?? modelPage.models ?? []).flatMap(
    (listedModel) => modelOf(listedModel) ?? [],
  );
  return { models, ...(next && { next }) };
}

function modelOf(listedModel: z.infer<typeof LISTED_MODEL> | undefined): ListedModel | undefined {
  const id = listedModel?.id ?? listedModel?.name;
  if (!listedModel || !id) return undefined;
  const { pricing, supportedGenerationMethods: methods } = listedModel;
  const window =
    listedModel.context_length ??
    listedModel.context_window ??
    listedModel.max_context_length ??
    listedModel.max_model_len ??
    listedModel.max_input_tokens ??
    listedModel.inputTokenLimit;
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
