// OpenAI's Responses API as the server sends it: events with their types, each item with its index.
import type { Step } from "./http.ts";
import { data, refuse, stream } from "./openai.ts";

/** An event, whose name is sent twice, as the server does. */
export const event = (type: string, more: object = {}): string => `event: ${type}\n${data({ type, ...more })}`;

export type Item =
  | { say: string; refuses?: boolean }
  | { think: string; sealed?: string; id?: string }
  | { call: string; args: unknown; id?: string };

export const USAGE = {
  input_tokens: 61,
  output_tokens: 9,
  total_tokens: 70,
  input_tokens_details: { cached_tokens: 40 },
  output_tokens_details: { reasoning_tokens: 4 },
};
export const completed = (more: object = {}): string =>
  event("response.completed", {
    response: { id: "resp_1", object: "response", status: "completed", output: [], usage: USAGE, ...more },
  });

const pieces = (text: string, size: number): string[] => text.match(new RegExp(`.{1,${size}}`, "gsu")) ?? [];

/** The events of one item of an answer. */
export function itemEvents(item: Item, at: number): string[] {
  const whole = wholeItem(item, at);
  const begun = event("response.output_item.added", {
    output_index: at,
    item: { ...whole, ...("call" in item && { arguments: "" }) },
  });
  const done = event("response.output_item.done", { output_index: at, item: whole });
  const part = { output_index: at, item_id: (whole as { id: string }).id };
  if ("say" in item) {
    const kind = item.refuses ? "refusal" : "output_text";
    return [
      begun,
      ...pieces(item.say, 5).map((delta) => event(`response.${kind}.delta`, { ...part, content_index: 0, delta })),
      done,
    ];
  }
  if ("think" in item)
    return [
      begun,
      event("response.reasoning_summary_part.added", { ...part, summary_index: 0 }),
      ...pieces(item.think, 5).map((delta) =>
        event("response.reasoning_summary_text.delta", { ...part, summary_index: 0, delta }),
      ),
      done,
    ];
  const args = JSON.stringify(item.args);
  return [
    begun,
    ...pieces(args, 7).map((delta) => event("response.function_call_arguments.delta", { ...part, delta })),
    event("response.function_call_arguments.done", { ...part, arguments: args }),
    done,
  ];
}

export function wholeItem(item: Item, at: number): object {
  if ("say" in item) {
    const part = item.refuses
      ? { type: "refusal", refusal: item.say }
      : { type: "output_text", text: item.say, annotations: [] };
    return { id: `msg_${at}`, type: "message", role: "assistant", status: "completed", content: [part] };
  }
  if ("think" in item) {
    const sealed = item.sealed === undefined ? {} : { encrypted_content: item.sealed };
    return {
      id: item.id ?? `rs_${at}`,
      type: "reasoning",
      summary: [{ type: "summary_text", text: item.think }],
      ...sealed,
      status: "completed",
    };
  }
  const { call: name, args, id = `call_${at}` } = item;
  return {
    id: `fc_${at}`,
    type: "function_call",
    status: "completed",
    call_id: id,
    name,
    arguments: JSON.stringify(args),
  };
}

/** A whole answer. */
export const answer = (...items: Item[]): Step =>
  stream(
    event("response.created", { response: { id: "resp_1", status: "in_progress" } }),
    event("response.in_progress", { response: { id: "resp_1", status: "in_progress" } }),
    ...items.flatMap(itemEvents),
    completed(),
  );

/** What the server would refuse: each call needs its result, and an item of reasoning what follows from it. */
export function wrongInput({ input, store, include }: any): string[] {
  const wrong: string[] = [];
  if (store !== false) wrong.push("store is not false");
  if (include && include[0] !== "reasoning.encrypted_content") wrong.push("include is odd");
  const calls = new Set<string>();
  const results = new Set<string>();
  for (const [i, item] of input.entries()) {
    if (item.type === "function_call") calls.add(item.call_id);
    if (item.type === "function_call" && typeof item.arguments !== "string") wrong.push("arguments are no text");
    if (item.type === "function_call_output" && !calls.has(item.call_id))
      wrong.push(`No tool call found for function call output with call_id ${item.call_id}.`);
    if (item.type === "function_call_output") results.add(item.call_id);
    const next = input[i + 1];
    if (
      item.type === "reasoning" &&
      !(next?.type === "function_call" || next?.type === "reasoning" || next?.role === "assistant")
    )
      wrong.push(`Item '${item.id}' of type 'reasoning' was provided without its required following item.`);
  }
  for (const id of calls) if (!results.has(id)) wrong.push(`No tool output found for function call ${id}.`);
  return wrong;
}

export { refuse };
