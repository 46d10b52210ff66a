// Whether a provider's error says that the request was too long for the model, and how much the
// model accepts.

const OTHER_LIMITS = /rate.?limit|per minute|\btpm\b|tokens per|quota/i;
const TOO_LONG_WORDS = new RegExp(
  [
    "context_length_exceeded",
    "context length exceeded",
    "maximum context length",
    "exceeds the context window",
    "context window exceeds",
    "prompt is too long",
    "input is too long",
    "too many tokens.*prompt",
    "input_too_large",
    "exceeds the limit of \\d+",
    "request_too_large",
    "input token count .*exceeds",
    "input tokens exceed",
    "maximum prompt length is",
    "exceed_context_size",
    "exceeds the available context size",
    "context size has been exceeded",
    "greater than the context length",
    "reduce the length of the messages",
    "too large for model with",
    "exceeded model token limit",
    "trying to keep the first",
    "reached context length",
    "longer than the context length",
    "input length and .max_tokens. exceed",
    "max_new_tokens. must be <=",
    "model_context_window_exceeded",
  ].join("|"),
  "i",
);
const WINDOW_WORDS =
  "maximum context length|maximum prompt length|context length|context size|context window";
/** Where such an error names the limit; the first plausible number is used. */
const LIMIT_PATTERNS = [
  new RegExp(String.raw`(?:${WINDOW_WORDS})[^\d.]{0,40}(\d[\d,_]*)`, "i"),
  /(?:must be <=|limit of|allowed|maximum(?: of| is)?)[^\d.]{0,4}(\d[\d,_]*)/i,
  /> *(\d[\d,_]*)/,
];
const [MIN_WINDOW, MAX_WINDOW] = [256, 20_000_000]; // plausible sizes in tokens

/**
 * The model's window in tokens, 0 if the error does not say it, undefined if the error is about
 * something else.
 */
export function overflow(
  error: { message?: unknown; status?: unknown } | undefined,
): number | undefined {
  const message = String(error?.message ?? "");
  if (error?.status === 429 || OTHER_LIMITS.test(message)) return undefined;
  if (!TOO_LONG_WORDS.test(message) && error?.status !== 413) return undefined;
  const numbers = LIMIT_PATTERNS.map((pattern) =>
    Number(pattern.exec(message)?.[1]?.replace(/[,_]/g, "")),
  );
  return numbers.find((windowSize) => windowSize >= MIN_WINDOW && windowSize <= MAX_WINDOW) ?? 0;
}
