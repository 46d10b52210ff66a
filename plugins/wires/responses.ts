// OpenAI's Responses API, which its reasoning and codex models are made for. The server keeps
// nothing (store: false), so what a model thought comes encrypted, is kept with the answer, and is
// sent back with the next request.
import type { ChatRequest, Delta, HttpAnswer, Image, Message, Usage } from "zz";
import { type EventPiece, eventPieces } from "zz/text";
import { chat, isClosed } from "./chat.ts";
import { send } from "./client.ts";
import { acceptedIds } from "./messages.ts";
import { isObject, NoJson, noStream, objectsIn, parse, valuesIn, wordsOf } from "./sse.ts";
import { acceptedName, type Wire } from "./wire-types.ts";

export const responses: Wire = {
  ...chat,
  async *chat(zz, preset, request, signal) {
    const httpAnswer = await send(zz, preset, request, signal, {
      to: "responses",
      bodyOf: (without) => buildBody(request, without),
      refused: (message, _, without) =>
        OPTIONAL.find(
          ([partName, errorPattern]) => !without.has(partName) && errorPattern.test(message),
        )?.[0],
    });
    yield* readStream(httpAnswer, preset.name);
  },
};

/**
 * Parts of a request that an answer does not depend on, and the words of an error that refuses
 * them.
 */
const OPTIONAL: [part: string, words: RegExp][] = [
  ["include", /encrypted/i],
  ["summary", /reasoning\.summary|reasoning summar/i],
  ["effort", /reasoning\.effort/i],
  ["reasoning", /['"`]reasoning['"`]|reasoning is not supported/i],
  ["parallel_tool_calls", /parallel_tool_calls/],
  ["max_output_tokens", /max_output_tokens/],
  ["temperature", /temperature/],
  ["top_p", /top_p/],
  ["text", /text\.format/],
];

function buildBody(
  { model, system, messages, tools, options, effort, schema }: ChatRequest,
  without: Set<string>,
) {
  const {
    max_tokens,
    max_completion_tokens,
    max_output_tokens,
    reasoning_effort,
    reasoning,
    ...others
  } = options;
  const tokenLimit = max_output_tokens ?? max_completion_tokens ?? max_tokens;
  const effortSetting = reasoning_effort ?? effort;
  const thinking = {
    ...(!without.has("effort") && effortSetting !== undefined && { effort: effortSetting }),
    ...(!without.has("summary") && { summary: "auto" }),
    ...(reasoning as object),
  };
  const format = schema && {
    type: "json_schema",
    name: "answer",
    schema,
    strict: isClosed(schema),
  };
  const requestBody: Record<string, unknown> = {
    model,
    ...(system && { instructions: system }),
    input: acceptedIds(messages, model, /^[\w-]{1,64}$/).flatMap((message) =>
      toItems(message, model),
    ),
    stream: true,
    store: false,
    include: ["reasoning.encrypted_content"],
    ...(tools.length && {
      tools: tools.map(({ name, description, schema }) => ({
        type: "function",
        name,
        description,
        parameters: schema,
        strict: false,
      })),
    }),
    ...(Object.keys(thinking).length && { reasoning: thinking }),
    ...(format && { text: { format } }),
    ...(tokenLimit !== undefined && { max_output_tokens: tokenLimit }),
    ...others,
  };
  for (const omittedPart of without) delete requestBody[omittedPart];
  return requestBody;
}

/** What was thought, and where: before which call, and before or after the text. */
type Thought = { reasoning: object; calls: number; text: boolean };
const isThought = (extraPart: any): extraPart is Thought =>
  typeof extraPart?.reasoning === "object";

function toItems(message: Message, model: string): object[] {
  if (message.role === "user")
    return [{ role: "user", content: partsOf(message.text, message.images) }];
  if (message.role === "tool") {
    const output = message.images?.length ? partsOf(message.text, message.images) : message.text;
    return [{ type: "function_call_output", call_id: message.id, output }];
  }
  const isOwnMessage = message.model?.endsWith(`/${model}`); // another model cannot read it
  const thoughts = isOwnMessage ? (message.extra ?? []).filter(isThought) : [];
  const thoughtsAt = (callCount: number, isAfterText?: boolean) =>
    thoughts
      .filter(
        (thought) => thought.calls === callCount && (isAfterText ?? thought.text) === thought.text,
      )
      .map(({ reasoning }) => reasoning);
  const messageCalls = message.calls ?? [];
  return [
    ...thoughtsAt(0, false),
    ...(message.text ? [{ role: "assistant", content: message.text }] : []),
    ...thoughtsAt(0, true),
    ...messageCalls.flatMap(({ id, name, args }, i) => [
      ...(i ? thoughtsAt(i) : []),
      {
        type: "function_call",
        call_id: id,
        name: acceptedName(name),
        arguments: JSON.stringify(args),
      },
    ]),
  ];
}

const partsOf = (text: string, images: Image[] = []): object[] => [
  ...(text || !images.length ? [{ type: "input_text", text }] : []),
  ...images.map(({ type, base64 }) => {
    const dataUrl = `data:${type};base64,${base64}`;
    if (type.startsWith("image/"))
      return { type: "input_image", image_url: dataUrl, detail: "auto" };
    return { type: "input_file", filename: `document.${type.split("/")[1]}`, file_data: dataUrl };
  }),
];

/** What came of an item: of its text only whether some did. */
type Item = { text?: boolean; args: string; named?: true };
/** The state of one answer, while its events come. */
interface Open {
  items: Map<number, Item>; // by their indexes
  thoughts: Set<unknown>; // the ids of those that came
  calls: number;
  text: boolean;
  thought?: true;
  isRefusal?: boolean;
  ended?: true; // what follows does not count
}

function itemOf({ items }: Open, itemIndex: number): Item {
  const itemState = items.get(itemIndex) ?? { args: "" };
  items.set(itemIndex, itemState);
  return itemState;
}

async function* readStream(
  response: HttpAnswer,
  providerName: string,
): AsyncGenerator<Iterable<Delta>> {
  const reading: Open = { items: new Map(), thoughts: new Set(), calls: 0, text: false };
  for await (const pieceBatch of eventPieces(response, providerName)) {
    yield readAll(reading, pieceBatch);
    if (reading.ended) return;
  }
}

function* readAll(reading: Open, pieceBatch: EventPiece[]): Generator<Delta> {
  for (const eventPiece of pieceBatch) {
    if ("alive" in eventPiece) yield { text: "" };
    else if ("rest" in eventPiece) {
      const parsedBody = parse(eventPiece.rest);
      if (parsedBody === undefined) yield { error: noStream(eventPiece.rest) };
      else yield* endAnswer(reading, parsedBody ?? {});
    } else
      for (const streamEvent of valuesIn(eventPiece.data)) {
        if (streamEvent instanceof NoJson) yield { error: streamEvent.words };
        else if (isObject(streamEvent))
          yield* readDeltas(reading, streamEvent, streamEvent.type ?? eventPiece.event ?? "");
        else yield { text: "" };
        if (reading.ended) return;
      }
  }
}

function* readDeltas(reading: Open, streamEvent: any, eventType: string): Generator<Delta> {
  const itemIndex = streamEvent?.output_index ?? 0;
  const itemState = itemOf(reading, itemIndex);
  if (eventType === "response.output_text.delta" || eventType === "response.refusal.delta") {
    reading.isRefusal ||= eventType === "response.refusal.delta";
    yield addText(reading, itemState, wordsOf(streamEvent.delta));
  } else if (/^response\.reasoning(_summary)?_text\.delta$/.test(eventType)) {
    reading.thought = true;
    yield { thinking: wordsOf(streamEvent.delta) };
  } else if (eventType === "response.reasoning_summary_part.added") {
    if (reading.thought) yield { thinking: "\n\n" };
  } else if (
    eventType === "response.output_item.added" &&
    streamEvent.item?.type === "function_call"
  ) {
    yield* beginCall(reading, itemState, itemIndex, streamEvent.item, streamEvent.item.arguments);
  } else if (eventType === "response.function_call_arguments.delta") {
    itemState.args += wordsOf(streamEvent.delta);
    yield { call: { index: itemIndex, args: streamEvent.delta } };
  } else if (eventType === "response.function_call_arguments.done") {
    if (!itemState.args && streamEvent.arguments)
      yield { call: { index: itemIndex, args: (itemState.args = streamEvent.arguments) } };
  } else if (eventType === "response.output_item.done")
    yield* wholeItem(reading, itemIndex, streamEvent.item);
  else if (/^response\.(completed|incomplete|failed|cancelled)$/.test(eventType))
    yield* endAnswer(reading, streamEvent.response ?? {});
  else if (eventType === "error" || streamEvent?.error)
    yield { error: streamEvent?.error ? streamEvent : { error: streamEvent } };
  else if (streamEvent?.choices)
    yield {
      error:
        'not a stream of Responses but of Chat Completions. Set "wire": "chat" for this provider',
    };
  else yield { text: "" }; // other events: a sign of life
}

function addText(reading: Open, itemState: Item, text: string): Delta {
  itemState.text ||= text !== "";
  reading.text ||= itemState.text;
  return { text };
}

/** Begins a call once; its arguments come with it, or follow. */
function* beginCall(
  reading: Open,
  itemState: Item,
  index: number,
  sourceItem: any,
  callArguments: unknown,
) {
  const isNewCall = !itemState.named;
  if (isNewCall) reading.calls++;
  itemState.named = true;
  const remainingArgs =
    typeof callArguments === "string" && callArguments && !itemState.args
      ? callArguments
      : undefined;
  itemState.args += remainingArgs ?? "";
  if (isNewCall || remainingArgs)
    yield {
      call: {
        index,
        id: sourceItem.call_id ?? sourceItem.id,
        name: sourceItem.name,
        ...(remainingArgs && { args: remainingArgs }),
      },
    };
}

/** Yields what did not come in pieces of an item that is finished. */
function* wholeItem(reading: Open, itemIndex: number, sourceItem: any): Generator<Delta> {
  const itemState = itemOf(reading, itemIndex);
  if (sourceItem?.type === "function_call")
    yield* beginCall(reading, itemState, itemIndex, sourceItem, sourceItem.arguments);
  else if (sourceItem?.type === "reasoning") {
    const { status: _, ...reasoning } = sourceItem;
    if (!reading.thought)
      for (const { text } of objectsIn(sourceItem.summary))
        if (text) yield { thinking: `${text}\n` };
    const isNewThought = !reading.thoughts.has(sourceItem.id);
    reading.thoughts.add(sourceItem.id);
    if (sourceItem.encrypted_content && isNewThought)
      yield { extra: { reasoning, calls: reading.calls, text: reading.text } satisfies Thought };
  } else if (sourceItem?.type === "message") {
    const contentParts = objectsIn(sourceItem.content);
    reading.isRefusal ||= contentParts.some(({ type }) => type === "refusal");
    if (!itemState.text)
      for (const { text, refusal } of contentParts)
        yield addText(reading, itemState, wordsOf(text ?? refusal));
  }
}

/** The end of an answer, with its usage; from a server that does not stream, all of it. */
function* endAnswer(reading: Open, wholeAnswer: any): Generator<Delta> {
  const { output, usage, status, error, incomplete_details: cutDetails } = wholeAnswer;
  if (error || status === "failed") return yield { error: { error: error ?? "the answer failed" } };
  if (!Array.isArray(output) && !status) return yield { error: wholeAnswer };
  reading.ended = true;
  const isUnstreamed = ![...reading.items.values()].some(({ text, named }) => text || named);
  if (isUnstreamed)
    for (const [itemIndex, outputItem] of objectsIn(output).entries())
      yield* wholeItem(reading, itemIndex, outputItem);
  if (usage) yield { usage: usageOf(usage) };
  if (status === "cancelled") return yield { error: { error: "the answer was cancelled" } };
  const completed = reading.calls ? "tool_calls" : "stop";
  if (status === "incomplete" || cutDetails)
    yield { finish: cutDetails?.reason === "content_filter" ? "content_filter" : "length" };
  else yield { finish: reading.isRefusal ? "refusal" : completed };
}

function usageOf({
  input_tokens: input = 0,
  output_tokens: output = 0,
  input_tokens_details: details,
}: any): Usage {
  const cached = details?.cached_tokens;
  return { input, output, ...(cached && { cached }) };
}
