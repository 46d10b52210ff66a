// OpenAI's Responses API as the server sends it: events with their types, each item with its index.
import type { Step } from "./http.ts";
import { data, refuse, stream } from "./openai.ts";

/** An event, whose name is sent twice, as the server does. */
export const event = (type: string, more: object = {}): string =>
  `event: ${type}\n${data({ type, ...more })}`;

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
const WHOLE = { id: "resp_1", object: "response", status: "completed", output: [], usage: USAGE };
export const completed = (more: object = {}): string =>
  event("response.completed", { response: { ...WHOLE, ...more } });

const pieces = (text: string, size: number): string[] =>
  text.match(new RegExp(`.{1,${size}}`, "gsu")) ?? [];

/** The events of one item of an answer. */
export function itemEvents(item: Item, at: number): string[] {
  const whole = wholeItem(item, at);
  const begun = { ...whole, ...("call" in item && { arguments: "" }) };
  const of = (kind: string, more: object = {}) =>
    event(`response.${kind}`, { output_index: at, item_id: whole.id, ...more });
  const deltas = (kind: string, text: string, more: object = {}) =>
    pieces(text, 5).map((delta) => of(`${kind}.delta`, { ...more, delta }));
  const inner = () => {
    if ("say" in item)
      return deltas(item.refuses ? "refusal" : "output_text", item.say, { content_index: 0 });
    const first = { summary_index: 0 };
    if ("think" in item)
      return [
        of("reasoning_summary_part.added", first),
        ...deltas("reasoning_summary_text", item.think, first),
      ];
    const args = JSON.stringify(item.args);
    return [
      ...deltas("function_call_arguments", args),
      of("function_call_arguments.done", { arguments: args }),
    ];
  };
  const around = (kind: string, item: object) =>
    event(`response.output_item.${kind}`, { output_index: at, item });
  return [around("added", begun), ...inner(), around("done", whole)];
}

export function wholeItem(item: Item, at: number): { id: string } {
  const status = "completed";
  const whole = (made: { id: string; [name: string]: unknown }) => made;
  if ("say" in item) {
    const part = item.refuses
      ? { type: "refusal", refusal: item.say }
      : { type: "output_text", text: item.say, annotations: [] };
    return whole({ id: `msg_${at}`, type: "message", role: "assistant", status, content: [part] });
  }
  if ("think" in item) {
    const sealed = item.sealed === undefined ? {} : { encrypted_content: item.sealed };
    const summary = [{ type: "summary_text", text: item.think }];
    return whole({ id: item.id ?? `rs_${at}`, type: "reasoning", summary, ...sealed, status });
  }
  const { call: name, args, id: call_id = `call_${at}` } = item;
  return whole({
    id: `fc_${at}`,
    type: "function_call",
    status,
    call_id,
    name,
    arguments: JSON.stringify(args),
  });
}

/** A whole answer. */
export const answer = (...items: Item[]): Step =>
  stream(
    event("response.created", { response: { id: "resp_1", status: "in_progress" } }),
    event("response.in_progress", { response: { id: "resp_1", status: "in_progress" } }),
    ...items.flatMap(itemEvents),
    completed(),
  );

/** What the server would refuse: each call needs its result, and an item of reasoning what follows
 * from it. */
export function wrongInput({ input, store, include }: any): string[] {
  const wrong: string[] = [];
  if (store !== false) wrong.push("store is not false");
  if (include && include[0] !== "reasoning.encrypted_content") wrong.push("include is odd");
  const calls = new Set<string>();
  const results = new Set<string>();
  for (const [i, item] of input.entries()) {
    if (item.type === "function_call") calls.add(item.call_id);
    if (item.type === "function_call" && typeof item.arguments !== "string")
      wrong.push("arguments are no text");
    if (item.type === "function_call_output" && !calls.has(item.call_id))
      wrong.push(`No tool call found for function call output with call_id ${item.call_id}.`);
    if (item.type === "function_call_output") results.add(item.call_id);
    const { type = "", role = "" } = input[i + 1] ?? {};
    if (
      item.type === "reasoning" &&
      !/^(function_call|reasoning)$/.test(type) &&
      role !== "assistant"
    )
      wrong.push(
        `Item '${item.id}' of type 'reasoning' was provided without its required following item.`,
      );
  }
  for (const id of calls)
    if (!results.has(id)) wrong.push(`No tool output found for function call ${id}.`);
  return wrong;
}

export { refuse };
