// Anthropic's Messages as the server sends them, byte for byte, and its refusals in its own words.
import { type Fake, type Script, type Seen, type Step, serve, stepOf } from "./http.ts";

const SSE = { "content-type": "text/event-stream; charset=utf-8" };
const pieces = (text: string, length = 5): string[] =>
  text.match(new RegExp(`.{1,${length}}`, "gsu")) ?? [];

export const event = (type: string, more: object = {}) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
export const PING = event("ping");
const NOT_CACHED = { cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
export const COUNTS = { input_tokens: 61, ...NOT_CACHED, output_tokens: 1 };
export const start = (usage: object = COUNTS): string =>
  event("message_start", {
    message: {
      id: "msg_01",
      type: "message",
      role: "assistant",
      model: "claude-sonnet-4-5-20250929",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage,
    },
  });
/** The events of one block: its start, its deltas, its end. */
export const block = (index: number, content_block: object, ...deltas: object[]): string =>
  [
    event("content_block_start", { index, content_block }),
    ...deltas.map((delta) => event("content_block_delta", { index, delta })),
    event("content_block_stop", { index }),
  ].join("");
export const text = (index: number, words: string): string =>
  block(
    index,
    { type: "text", text: "" },
    ...pieces(words).map((text) => ({ type: "text_delta", text })),
  );
export const thinking = (index: number, words: string, signature: string): string =>
  block(
    index,
    { type: "thinking", thinking: "", signature: "" },
    ...pieces(words).map((thinking) => ({ type: "thinking_delta", thinking })),
    ...pieces(signature, 8).map((signature) => ({ type: "signature_delta", signature })),
  );
export const redacted = (index: number, data: string): string =>
  block(index, { type: "redacted_thinking", data });
export const use = (index: number, name: string, args: object, id = `toolu_${name}_${index}`) =>
  block(
    index,
    { type: "tool_use", id, name, input: {} },
    { type: "input_json_delta", partial_json: "" },
    ...pieces(JSON.stringify(args), 7).map((partial_json) => ({
      type: "input_json_delta",
      partial_json,
    })),
  );
export const end = (
  stop_reason: string | null,
  usage: object = { output_tokens: 9 },
  more: object = {},
): string =>
  event("message_delta", { delta: { stop_reason, stop_sequence: null, ...more }, usage }) +
  event("message_stop");

export const stream = (...body: string[]): Step => ({ headers: SSE, body });
export const say = (words: string, reason = "end_turn"): Step =>
  stream(start(), PING, text(0, words), end(reason));
export const call = (...calls: [name: string, args: object][]): Step =>
  stream(start(), ...calls.map(([name, args], i) => use(i, name, args)), end("tool_use"));

export const refuse = (
  status: number,
  type: string,
  message: string,
  headers: Record<string, string> = {},
): Step => ({
  status,
  headers: { "content-type": "application/json", "request-id": "req_1", ...headers },
  body: [JSON.stringify({ type: "error", error: { type, message }, request_id: "req_1" })],
});
export const json = (body: unknown, space?: number): Step => ({
  headers: { "content-type": "application/json" },
  body: [JSON.stringify(body, null, space)],
});

/** Plays a script, but answers 400 to a request that the real server would refuse. */
export async function fakeAnthropic(script: Script, models: object[][] = MODELS): Promise<Fake> {
  let turn = 0;
  const page = (at: number) => () => {
    const data = models[at] ?? [];
    const last_id = (data.at(-1) as any)?.id ?? null;
    return json({
      data,
      has_more: at < models.length - 1,
      first_id: (data[0] as any)?.id ?? null,
      last_id,
    });
  };
  const pages = models.map((_, at): [string, (seen: Seen) => Step] => {
    const before = (models[at - 1]?.at(-1) as any)?.id;
    return [`GET /v1/models?limit=1000${before ? `&after_id=${before}` : ""}`, page(at)];
  });
  return serve((request) => {
    if (`${request.method} ${request.path}` !== "POST /v1/messages")
      return refuse(404, "not_found_error", "Not Found");
    const wrong = problems(request);
    if (wrong.length) return refuse(400, "invalid_request_error", wrong.join("; "));
    return stepOf(script, request, turn++);
  }, Object.fromEntries(pages));
}
const MODELS = [[{ type: "model", id: "claude-sonnet-4-5", display_name: "Claude Sonnet 4.5" }]];

const FIELDS =
  /^(model|max_tokens|messages|system|stream|tools|tool_choice|temperature|top_p|top_k|stop_sequences|thinking|metadata|output_config|service_tier)$/;

/** What the real server would refuse about a request; empty if nothing. */
export function problems({ body, headers }: Pick<Seen, "body" | "headers">): string[] {
  const found: string[] = [];
  if (headers["anthropic-version"] !== "2023-06-01")
    found.push("anthropic-version: header is required");
  for (const field of Object.keys(body))
    if (!FIELDS.test(field)) found.push(`${field}: Extra inputs are not permitted`);
  if (!(body.max_tokens > 0)) found.push("max_tokens: Field required");
  const { thinking, messages } = body;
  if (thinking?.type === "enabled") {
    if (!(thinking.budget_tokens >= 1024))
      found.push("thinking.enabled.budget_tokens: at least 1024");
    if (thinking.budget_tokens >= body.max_tokens)
      found.push("`max_tokens` must be greater than `thinking.budget_tokens`");
    if (body.temperature !== undefined)
      found.push("`temperature` may only be set to 1 when thinking is enabled");
  }
  if ("tools" in body && !body.tools.length) found.push("tools: empty");
  const marks = JSON.stringify(body).match(/"cache_control"/g)?.length ?? 0;
  if (marks > 4)
    found.push(`A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`);
  let open: string[] = [];
  for (const [i, { role, content }] of messages.entries()) {
    const where = `messages.${i}`;
    if (role !== (i % 2 ? "assistant" : "user")) found.push(`${where}: roles must alternate`);
    if (!content.length) found.push(`${where}: content must not be empty`);
    const results = content.filter(({ type }: any) => type === "tool_result");
    const answered = results.map((one: any) => one.tool_use_id);
    if (answered.join() !== open.join())
      found.push(`${where}: \`tool_use\` ids were found without \`tool_result\` blocks`);
    if (results.some((one: any, at: number) => one !== content[at]))
      found.push(`${where}: tool_result blocks come first`);
    for (const one of content) found.push(...wrongBlock(one, where));
    open = content.flatMap((one: any) => (one.type === "tool_use" ? [one.id] : []));
    const mustThink =
      role === "assistant" &&
      thinking?.type === "enabled" &&
      open.length &&
      i >= messages.length - 2;
    if (mustThink && !/thinking/.test(content[0].type))
      found.push(
        `${where}: Expected \`thinking\` or \`redacted_thinking\`, but found \`${content[0].type}\``,
      );
    const firstSaid = content.findIndex(({ type }: any) => !/thinking/.test(type));
    if (
      role === "assistant" &&
      content.slice(firstSaid).some(({ type }: any) => /thinking/.test(type))
    )
      found.push(`${where}: thinking after what was said`);
  }
  if (!body.tools && /"type":"tool_(use|result)"/.test(JSON.stringify(messages)))
    found.push("Requests which include `tool_use` or `tool_result` blocks must define tools");
  if (open.length) found.push("the last calls have no result");
  return found;
}

function wrongBlock(one: any, where: string): string[] {
  const wrong =
    (one.type === "text" &&
      !one.text.trim() &&
      "text content blocks must contain non-whitespace text") ||
    (one.type === "tool_use" &&
      !/^[\w-]+$/.test(one.id) &&
      "tool_use.id: String should match pattern") ||
    (one.type === "tool_use" && !/^[\w-]{1,128}$/.test(one.name) && "tool_use.name") ||
    (one.type === "thinking" &&
      typeof one.signature !== "string" &&
      "thinking.signature: Field required") ||
    (one.cache_control &&
      /thinking/.test(one.type) &&
      "cache_control: Extra inputs are not permitted");
  if (wrong) return [`${where}: ${wrong}`];
  const inner: any[] = (one.type === "tool_result" && one.content) || [];
  return inner.flatMap((block) => wrongBlock(block, where));
}
