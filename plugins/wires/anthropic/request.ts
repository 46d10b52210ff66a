// Builds a request for Anthropic: messages as blocks, marks for the cache, how much to think, and a
// schema.
import type { ChatRequest, Effort, Image, Message } from "zz";
import { usage } from "zz/text";

type Thinking = "budget" | "adaptive" | "none";
/**
 * What is known about a model by its name; the first match counts. output: the most tokens to ask
 * for.
 */
interface Known {
  window?: number;
  output: number;
  thinking: Thinking;
}
// biome-ignore format: one family a row.
const MODELS: [names: RegExp, known: Known][] = [
  [/^claude-3-(opus|sonnet|haiku)/, { window: 200_000, output: 4_096, thinking: "none" }],
  [/^claude-3-5-/, { window: 200_000, output: 8_192, thinking: "none" }],
  [/^claude-3-7-/, { window: 200_000, output: 32_000, thinking: "budget" }],
  [/^claude-(opus|sonnet|haiku)-4(-[0-5])?(-\d{8}|-latest|$)/, { window: 200_000, output: 32_000, thinking: "budget" }],
  [/^claude-haiku-/, { window: 200_000, output: 32_000, thinking: "adaptive" }],
  [/^claude-\D/, { window: 1_000_000, output: 64_000, thinking: "adaptive" }],
  [/./, { output: 8_192, thinking: "budget" }],
];
export const knownOf = (id: string): Known => MODELS.find(([names]) => names.test(id))![1];
export const TAKES = ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"];
/** What a server refused, and what is sent instead. */
export interface Learnt {
  without: Set<string>;
  thoughts: Set<string>; // the refused ones, by the ends of their signatures
  output?: number;
  thinking?: Thinking;
  bearer?: boolean;
}
/** What was learnt for one request only. */
export type Once = { output?: number; refused?: Error };

export const ANSWER_TOOL = "structured_answer";
const CACHE = { cache_control: { type: "ephemeral" } };
const BUDGETS: Record<Exclude<Effort, "none">, number> = {
  low: 2_048,
  medium: 8_192,
  high: 24_576,
};
export const LEAST_BUDGET = 1_024;

export function bodyOf(
  request: ChatRequest,
  learnt: Learnt,
  once: Once,
  pausedBlocks: any[],
): Record<string, any> {
  const { task, model, system, messages, tools, options } = request;
  // others cannot be sent
  const schema = request.schema?.type === "object" ? request.schema : undefined;
  const { without } = learnt;
  const {
    betas: _,
    max_tokens: maxTokens,
    max_completion_tokens,
    stop,
    tools: extraTools,
    output_config,
    ...rest
  } = options as any;
  const mark = !without.has("cache_control") && (task === "chat" || tools.length) ? CACHE : {};
  const max = Number(maxTokens ?? max_completion_tokens ?? knownOf(model).output);
  const max_tokens = Math.min(max, learnt.output ?? max, once.output ?? max);
  const isForced = Boolean(schema && (without.has("format") || !strict(schema)));
  const { thinking = rest.thinking, ...effort } = rest.thinking
    ? {}
    : thinkingOf(request, learnt, isForced, max_tokens);
  const config = {
    ...effort,
    ...(schema && !isForced && { format: { type: "json_schema", schema: strict(schema) } }),
  };
  const offered = offeredTools(request, isForced);
  const conversation = toWire(messages, model, learnt);
  const isSilent = !offered.length && !extraTools; // earlier calls still need their tools listed
  if (isSilent) offered.push(...toolsIn(conversation));
  const choice = isForced
    ? { tool_choice: tools.length ? { type: "any" } : { type: "tool", name: ANSWER_TOOL } }
    : isSilent && offered.length && { tool_choice: { type: "none" } };
  if (offered.length) Object.assign(offered.at(-1), mark);
  if (pausedBlocks.length) conversation.push({ role: "assistant", content: pausedBlocks });
  markLatest(conversation, mark);
  const body: Record<string, any> = {
    model,
    max_tokens,
    ...(system.trim() && { system: [{ type: "text", text: system, ...mark }] }),
    messages: conversation,
    stream: true,
    ...((offered.length || extraTools) && { tools: [...offered, ...(extraTools ?? [])] }),
    ...choice,
    ...(stop && { stop_sequences: [stop].flat() }),
    ...rest,
    ...(thinking && { thinking }),
    ...((output_config || Object.keys(config).length) && {
      output_config: { ...config, ...output_config },
    }),
  };
  if (["enabled", "adaptive"].includes(thinking?.type))
    for (const name of SAMPLING) delete body[name];
  for (const name of without) delete body[name];
  return body;
}

function offeredTools({ tools, schema: answer }: ChatRequest, isForced: boolean): any[] {
  return [
    ...tools.map(({ name, description, schema }) => ({
      name,
      description,
      input_schema: { type: "object", ...schema },
    })),
    ...(isForced
      ? [{ name: ANSWER_TOOL, description: "Gives the answer.", input_schema: answer }]
      : []),
  ];
}

function markLatest(conversation: WireMessage[], mark: object): void {
  const latest = conversation.filter(({ role }) => role === "user").slice(-2);
  for (const { content } of latest) Object.assign(content.at(-1)!, mark);
}

function toolsIn(conversation: WireMessage[]): object[] {
  const called = conversation.flatMap(({ content }) =>
    content.filter(({ type }) => type === "tool_use"),
  );
  const names = [...new Set(called.map(({ name }) => name))];
  return names.map((name) => ({
    name,
    description: "Not offered now.",
    input_schema: { type: "object" },
  }));
}

export const SAMPLING = ["temperature", "top_p", "top_k"];

/** How much to think, in the fields that the model's generation takes. */
function thinkingOf(
  { model, effort, messages }: ChatRequest,
  learnt: Learnt,
  isForced: boolean,
  max: number,
): { thinking?: any; effort?: string } {
  const { without, thinking } = learnt;
  const mode = thinking ?? knownOf(model).thinking;
  if (mode === "none" || !effort) return {};
  if (mode === "adaptive") {
    if (effort === "none" || isForced) {
      if (!without.has("disabled")) return { thinking: { type: "disabled" } };
      if (without.has("effort")) return {};
      return { effort: "low" };
    }
    const display = without.has("display") ? {} : { display: "summarized" };
    return {
      thinking: { type: "adaptive", ...display },
      ...(!without.has("effort") && { effort }),
    };
  }
  if (effort === "none" || isForced || !isSigned(messages, model, learnt)) return {};
  const budget_tokens = Math.min(BUDGETS[effort], max - LEAST_BUDGET);
  return budget_tokens < LEAST_BUDGET ? {} : { thinking: { type: "enabled", budget_tokens } };
}

/**
 * With a thinking budget, all calls since the person's last message must be sent with the thinking
 * before them.
 */
function isSigned(messages: Message[], model: string, learnt: Learnt): boolean {
  const last = messages.findLastIndex(
    ({ role }, i) => role === "user" && messages[i - 1]?.role !== "tool",
  );
  const since = messages.slice(last + 1);
  return since.every(
    (message) =>
      message.role !== "assistant" ||
      !message.calls?.length ||
      thoughts(message, model, learnt).length > 0,
  );
}

/**
 * A message's thinking, unless another model wrote it, which this one cannot read, or the server
 * has refused it.
 */
const thoughts = (message: Message, model: string, learnt: Learnt): any[] =>
  message.role === "assistant" && (!message.model || message.model.endsWith(`/${model}`))
    ? (message.extra ?? []).filter(
        (thought) => isThought(thought) && !learnt.thoughts.has(signatureOf(thought)),
      )
    : [];
export const isThought = (block: any): boolean => /^(redacted_)?thinking$/.test(block?.type);
export const signatureOf = ({ signature, data }: any): string =>
  String(signature ?? data).slice(-64);

type WireMessage = { role: "user" | "assistant"; content: any[] };
function toWire(messages: Message[], model: string, learnt: Learnt): WireMessage[] {
  const wire: WireMessage[] = [];
  for (const message of messages) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = blocksOf(message, model, learnt);
    if (!content.length) continue;
    const last = wire.at(-1);
    if (last?.role === role) last.content.push(...content);
    else wire.push({ role, content });
  }
  if (wire[0]?.role === "assistant")
    wire.unshift({ role: "user", content: [{ type: "text", text: "Go on." }] });
  return wire;
}

const textBlock = (text: string): any[] => (text.trim() ? [{ type: "text", text }] : []);

function blocksOf(message: Message, model: string, learnt: Learnt): any[] {
  if (message.role === "user")
    return [
      ...(message.images ?? []).map((image) => file(image, model)),
      ...textBlock(message.text),
    ];
  if (message.role === "tool") {
    const content = [
      ...textBlock(message.text),
      ...(message.images ?? []).map((image) => file(image, model)),
    ];
    const extras = {
      ...(content.length && { content }),
      ...(message.failed && { is_error: true }),
    };
    return [{ type: "tool_result", tool_use_id: plainId(message.id), ...extras }];
  }
  const calls = (message.calls ?? []).map(({ id, name, args }) => ({
    type: "tool_use",
    id: plainId(id),
    name: name.replace(/[^\w-]/g, "_").slice(0, 64) || "unknown",
    input: args,
  }));
  const blocks = [...textBlock(message.text), ...calls];
  return blocks.length ? [...thoughts(message, model, learnt), ...blocks] : blocks;
}

/** Ids of other providers may have characters that Anthropic refuses. */
const plainId = (id: string): string =>
  /^[\w-]{1,64}$/.test(id) ? id : id.replace(/[^\w-]/g, "_").slice(-64) || "call";

function file({ type, base64 }: Image, model: string) {
  const source = { type: "base64", media_type: type, data: base64 };
  if (type === "application/pdf") return { type: "document", source };
  if (type.startsWith("image/")) return { type: "image", source };
  throw usage(
    `Cannot send ${type} to '${model}': it takes images and PDFs. Leave the attachment out, or choose another model.`,
  );
}

// ── A schema, as the provider takes it ──

/** Limits of numbers and lengths, which the provider does not check; the caller does. */
const UNCHECKED =
  /^(minimum|maximum|exclusiveMinimum|exclusiveMaximum|multipleOf|minLength|maxLength|minItems|maxItems|uniqueItems|minProperties|maxProperties|\$schema)$/;

/**
 * The schema in the provider's form; undefined if it has an object whose fields may have any names.
 */
function strict(schema: any): any {
  if (Array.isArray(schema)) return every(schema.map(strict));
  if (!schema || typeof schema !== "object") return schema;
  if (
    schema.type === "object" &&
    (!schema.properties || typeof schema.additionalProperties === "object")
  )
    return undefined;
  const entries = Object.entries(schema).filter(([name]) => !UNCHECKED.test(name));
  const values = entries.map(([name, value]) => {
    if (name === "properties" || name === "$defs" || name === "definitions")
      return fields(value as object);
    if (/^(items|anyOf|allOf|oneOf)$/.test(name)) return strict(value);
    return value;
  });
  const rebuilt =
    every(values) && Object.fromEntries(entries.map(([name], i) => [name, values[i]]));
  return (
    rebuilt && (schema.type === "object" ? { ...rebuilt, additionalProperties: false } : rebuilt)
  );
}
function fields(object: object): object | undefined {
  const values = every(Object.values(object).map(strict));
  return values && Object.fromEntries(Object.keys(object).map((name, i) => [name, values[i]]));
}
const every = (values: any[]): any[] | undefined =>
  values.includes(undefined) ? undefined : values;
