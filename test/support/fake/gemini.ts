// Gemini's generateContent as the server sends it, byte for byte, and its refusals in its own
// words.
import { type Fake, type Script, type Seen, type Step, serve, stepOf } from "./http.ts";

const SSE = { "content-type": "text/event-stream" };
export const data = (chunk: unknown): string => `data: ${JSON.stringify(chunk)}\r\n\r\n`;
const at = { modelVersion: "gemini-2.5-flash", responseId: "r1" };

/** A chunk with these parts; the last one has the reason and the counts. */
export const parts = (...parts: object[]) =>
  data({ candidates: [{ content: { parts, role: "model" }, index: 0 }], ...at });
export const COUNTS = { promptTokenCount: 61, candidatesTokenCount: 9, totalTokenCount: 70 };
export const end = (
  finishReason = "STOP",
  more: object[] = [{ text: "" }],
  usageMetadata: object = COUNTS,
): string =>
  data({
    candidates: [{ content: { parts: more, role: "model" }, finishReason, index: 0 }],
    usageMetadata,
    ...at,
  });

export const stream = (...body: string[]): Step => ({ headers: SSE, body });
export const say = (words: string, reason = "STOP"): Step =>
  stream(...(words.match(/.{1,8}/gsu) ?? []).map((text) => parts({ text })), end(reason));
export const call = (...calls: [name: string, args: object, signature?: string][]): Step =>
  stream(
    parts(
      ...calls.map(([name, args, sign]) => ({ functionCall: { name, args }, ...signed(sign) })),
    ),
    end(),
  );
const signed = (thoughtSignature?: string) => thoughtSignature && { thoughtSignature };

export const json = (body: unknown, status = 200): Step => ({
  status,
  headers: { "content-type": "application/json; charset=UTF-8" },
  body: [JSON.stringify(body, null, 2)],
});
export const refuse = (code: number, status: string, message: string, details?: object[]): Step =>
  json({ error: { code, message, status, ...(details && { details }) } }, code);

/** Plays a script, but answers 400 to a request that the real server would refuse. */
export async function fakeGemini(script: Script, models: object[][] = MODELS): Promise<Fake> {
  let turn = 0;
  const pages = models.map((list, at): [string, () => Step] => [
    `GET /v1beta/models?pageSize=1000${at ? `&pageToken=page${at}` : ""}`,
    () => json({ models: list, ...(at < models.length - 1 && { nextPageToken: `page${at + 1}` }) }),
  ]);
  return serve((request) => {
    const [, model = ""] =
      /^\/v1beta\/models\/([\w.-]+):streamGenerateContent\?alt=sse$/.exec(request.path) ?? [];
    if (!model || request.method !== "POST")
      return refuse(404, "NOT_FOUND", "models/x is not found for API version v1beta");
    const wrong = problems(request, model);
    if (wrong.length) return refuse(400, "INVALID_ARGUMENT", wrong.join("; "));
    return stepOf(script, request, turn++);
  }, Object.fromEntries(pages));
}
const supportedGenerationMethods = ["generateContent", "countTokens"];
const MODELS = [
  [{ name: "models/gemini-2.5-flash", inputTokenLimit: 1_048_576, supportedGenerationMethods }],
];

const FIELDS =
  /^(contents|systemInstruction|tools|toolConfig|safetySettings|generationConfig|cachedContent|labels)$/;
const GENERATION =
  /^(temperature|topP|topK|seed|maxOutputTokens|stopSequences|candidateCount|thinkingConfig|responseMimeType|responseJsonSchema|responseSchema|presencePenalty|frequencyPenalty)$/;

/** What the real server would refuse about a request; empty if nothing. */
export function problems({ body }: Pick<Seen, "body">, model: string): string[] {
  const found: string[] = [];
  const unknown = (name: string, at: string) =>
    found.push(`Invalid JSON payload. Unknown name "${name}" at '${at}'`);
  for (const field of Object.keys(body)) if (!FIELDS.test(field)) unknown(field, "");
  for (const field of Object.keys(body.generationConfig ?? {}))
    if (!GENERATION.test(field)) unknown(field, "generation_config");
  if (!body.contents?.length) found.push("contents is not specified");
  let open: string[] = [];
  let before = "";
  for (const [i, { role, parts }] of body.contents.entries()) {
    const where = `contents[${i}]`;
    if (role !== "user" && role !== "model") found.push("Please use a valid role: user, model.");
    if (!parts?.length) found.push(`${where}.parts must not be empty`);
    const calls = parts.filter((part: any) => part.functionCall);
    const results = parts.flatMap((part: any) =>
      part.functionResponse ? [part.functionResponse.name] : [],
    );
    if (open.length && results.join() !== open.join())
      found.push(
        `${where}: the number of function response parts is equal to that of the function call parts`,
      );
    else if (!open.length && results.length)
      found.push(`${where}: a function response turn comes after a function call turn`);
    if (calls.length && before !== "user")
      found.push(`${where}: a function call turn comes after a user turn`);
    if (calls.length && /^gemini-[3-9]/.test(model) && !calls[0].thoughtSignature)
      found.push(
        `Function call is missing a thought_signature in functionCall parts. ${calls[0].functionCall.name}`,
      );
    for (const part of parts) {
      const kinds = Object.keys(part).filter((key) => !/^(thought|thoughtSignature)$/.test(key));
      if (kinds.length !== 1)
        found.push(`${where}: a part has one kind of data, not ${kinds.join()}`);
      if (part.functionResponse && typeof part.functionResponse.response !== "object")
        found.push(`${where}: response`);
    }
    open = calls.map((part: any) => part.functionCall.name);
    before = role;
  }
  if (open.length) found.push("the last calls have no response");
  return found;
}
