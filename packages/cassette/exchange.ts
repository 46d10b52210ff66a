// One line of a cassette: a request, and what came back: an answer, whole or cut off by an error,
// or an error alone.
import * as z from "zod";

export const exchange = z.object({
  asked: z.object({ method: z.string(), url: z.string(), body: z.unknown().optional() }),
  model: z.string().optional(), // as the person names it
  status: z.number().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  pieces: z.array(z.union([z.string(), z.object({ base64: z.base64() })])).optional(),
  error: z.looseObject({ message: z.string() }).optional(),
});
export type Exchange = z.infer<typeof exchange>;
