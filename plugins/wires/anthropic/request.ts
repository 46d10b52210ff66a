// Builds a request for Anthropic: messages as blocks, marks for the cache, how much to think, and a
// schema.
import type { ChatRequest, Effort, Image, Message } from "zz";
import { usage } from "zz/text";
import { acceptedName } from "../wire-types.ts";

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
const KNOWN_MODELS: [names: RegExp, known: Known][] = [
  [/^claude-3-(opus|sonnet|haiku)/, { window: 200_000, output: 4_096, thinking: "none" }],
  [/^claude-3-5-/, { window: 200_000, output: 8_192, thinking: "none" }],
  [/^claude-3-7-/, { window: 200_000, output: 32_000, thinking: "budget" }],
  [/^claude-(opus|sonnet|haiku)-4(-[0-5])?(-\d{8}|-latest|$)/,
    { window: 200_000, output: 32_000, thinking: "budget" }],
  [/^claude-haiku-/, { window: 200_000, output: 32_000, thinking: "adaptive" }],
  [/^claude-\D/, { window: 1_000_000, output: 64_000, thinking: "adaptive" }],
  [/./, { output: 8_192, thinking: "budget" }],
];
export const knownOf = (id: string): Known => KNOWN_MODELS.find(([names]) => names.test(id))![1];
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
const CACHE_MARK = { cache_control: { type: "ephemeral" } };
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
  const mark = !without.has("cache_control") && (task === "chat" || tools.length) ? CACHE_MARK : {};
  const max = Number(maxTokens ?? max_completion_tokens ?? knownOf(model).output);
  const max_tokens = Math.min(max, learnt.output ?? max, once.output ?? max);
  const isForced = Boolean(schema && (without.has("format") || !toStrictSchema(schema)));
  const { thinking = rest.thinking, ...effort } = rest.thinking
    ? {}
    : thinkingOf(request, learnt, isForced, max_tokens);
  const outputFields = {
    ...effort,
    ...(schema && !isForced && { format: { type: "json_schema", schema: toStrictSchema(schema) } }),
  };
  const offered = offeredTools(request, isForced);
  const conversation = toWireMessages(messages, model, learnt);
  const isSilent = !offered.length && !extraTools; // earlier calls still need their tools listed
  if (isSilent) offered.push(...toolsIn(conversation));
  const toolChoice = isForced
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
    ...toolChoice,
    ...(stop && { stop_sequences: [stop].flat() }),
    ...rest,
    ...(thinking && { thinking }),
    ...((output_config || Object.keys(outputFields).length) && {
      output_config: { ...outputFields, ...output_config },
    }),
  };
  if (["enabled", "adaptive"].includes(thinking?.type))
    for (const samplingField of SAMPLING) delete body[samplingField];
  for (const omittedField of without) delete body[omittedField];
  return body;
}

function offeredTools({ tools, schema: answerSchema }: ChatRequest, isForced: boolean): any[] {
  return [
    ...tools.map(({ name, description, schema }) => ({
      name,
      description,
      input_schema: { type: "object", ...schema },
    })),
    ...(isForced
      ? [{ name: ANSWER_TOOL, description: "Gives the answer.", input_schema: answerSchema }]
      : []),
  ];
}

function markLatest(conversation: WireMessage[], cacheMark: object): void {
  const latestMessages = conversation.filter(({ role }) => role === "user").slice(-2);
  for (const { content } of latestMessages) Object.assign(content.at(-1)!, cacheMark);
}

function toolsIn(conversation: WireMessage[]): object[] {
  const calledTools = conversation.flatMap(({ content }) =>
    content.filter(({ type }) => type === "tool_use"),
  );
  const calledNames = [...new Set(calledTools.map(({ name }) => name))];
  return calledNames.map((name) => ({
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
  maxTokens: number,
): { thinking?: any; effort?: string } {
  const { without, thinking } = learnt;
  const thinkingMode = thinking ?? knownOf(model).thinking;
  if (thinkingMode === "none" || !effort) return {};
  if (thinkingMode === "adaptive") {
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
  const budget_tokens = Math.min(BUDGETS[effort], maxTokens - LEAST_BUDGET);
  return budget_tokens < LEAST_BUDGET ? {} : { thinking: { type: "enabled", budget_tokens } };
}

/**
 * With a thinking budget, all calls since the person's last message must be sent with the thinking
 * before them.
 */
function isSigned(messages: Message[], model: string, learnt: Learnt): boolean {
  const askedIndex = messages.findLastIndex(
    ({ role }, i) => role === "user" && messages[i - 1]?.role !== "tool",
  );
  const laterMessages = messages.slice(askedIndex + 1);
  return laterMessages.every(
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
export const isThought = (contentBlock: any): boolean =>
  /^(redacted_)?thinking$/.test(contentBlock?.type);
export const signatureOf = ({ signature, data }: any): string =>
  String(signature ?? data).slice(-64);

type WireMessage = { role: "user" | "assistant"; content: any[] };
function toWireMessages(messages: Message[], model: string, learnt: Learnt): WireMessage[] {
  const wireMessages: WireMessage[] = [];
  for (const message of messages) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = blocksOf(message, model, learnt);
    if (!content.length) continue;
    const lastMessage = wireMessages.at(-1);
    if (lastMessage?.role === role) lastMessage.content.push(...content);
    else wireMessages.push({ role, content });
  }
  if (wireMessages[0]?.role === "assistant")
    wireMessages.unshift({ role: "user", content: [{ type: "text", text: "Go on." }] });
  return wireMessages;
}

const textBlock = (text: string): any[] => (text.trim() ? [{ type: "text", text }] : []);

function blocksOf(message: Message, model: string, learnt: Learnt): any[] {
  if (message.role === "user")
    return [
      ...(message.images ?? []).map((image) => toFileBlock(image, model)),
      ...textBlock(message.text),
    ];
  if (message.role === "tool") {
    const content = [
      ...textBlock(message.text),
      ...(message.images ?? []).map((image) => toFileBlock(image, model)),
    ];
    const extraFields = {
      ...(content.length && { content }),
      ...(message.failed && { is_error: true }),
    };
    return [{ type: "tool_result", tool_use_id: plainId(message.id), ...extraFields }];
  }
  const callBlocks = (message.calls ?? []).map(({ id, name, args }) => ({
    type: "tool_use",
    id: plainId(id),
    name: acceptedName(name),
    input: args,
  }));
  const answerBlocks = [...textBlock(message.text), ...callBlocks];
  return answerBlocks.length
    ? [...thoughts(message, model, learnt), ...answerBlocks]
    : answerBlocks;
}

/** Ids of other providers may have characters that Anthropic refuses. */
const plainId = (id: string): string =>
  /^[\w-]{1,64}$/.test(id) ? id : id.replace(/[^\w-]/g, "_").slice(-64) || "call";

function toFileBlock({ type, base64 }: Image, model: string) {
  const source = { type: "base64", media_type: type, data: base64 };
  if (type === "application/pdf") return { type: "document", source };
  if (type.startsWith("image/")) return { type: "image", source };
  throw usage(
    `Cannot send ${type} to '${model}': it takes images and PDFs. ` +
      "Leave the attachment out, or choose another model.",
  );
}

// ── A schema, as the provider takes it ──

/** Limits of numbers and lengths, which the provider does not check; the caller does. */
const UNCHECKED = new Set(
  (
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength " +
    "minItems maxItems uniqueItems minProperties maxProperties $schema"
  ).split(" "),
);

/**
 * The schema in the provider's form; undefined if it has an object whose fields may have any names.
 */
function toStrictSchema(schema: any): any {
  if (Array.isArray(schema)) return requireAll(schema.map(toStrictSchema));
  if (!schema || typeof schema !== "object") return schema;
  if (
    schema.type === "object" &&
    (!schema.properties || typeof schema.additionalProperties === "object")
  )
    return undefined;
  const entries = Object.entries(schema).filter(([keyword]) => !UNCHECKED.has(keyword));
  const strictValues = entries.map(([keyword, keywordValue]) => {
    if (keyword === "properties" || keyword === "$defs" || keyword === "definitions")
      return toStrictFields(keywordValue as object);
    if (/^(items|anyOf|allOf|oneOf)$/.test(keyword)) return toStrictSchema(keywordValue);
    return keywordValue;
  });
  const rebuilt =
    requireAll(strictValues) &&
    Object.fromEntries(entries.map(([keyword], i) => [keyword, strictValues[i]]));
  return (
    rebuilt && (schema.type === "object" ? { ...rebuilt, additionalProperties: false } : rebuilt)
  );
}
function toStrictFields(schemaFields: object): object | undefined {
  const strictValues = requireAll(Object.values(schemaFields).map(toStrictSchema));
  return (
    strictValues &&
    Object.fromEntries(
      Object.keys(schemaFields).map((fieldName, i) => [fieldName, strictValues[i]]),
    )
  );
}
const requireAll = (schemaValues: any[]): any[] | undefined =>
  schemaValues.includes(undefined) ? undefined : schemaValues;
