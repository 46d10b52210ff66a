// What a wire is: how one family of servers is spoken to. Each is a file of its own, loaded when it is first needed.
import type { ChatRequest, Delta, Endpoint, Model, Zz } from "zz";

/** A provider, as a line of the table in presets.ts. */
export interface Preset {
  name: string;
  wire: WireName;
  url: string; // with its version, as in …/v1; "": each person has their own
  key?: string; // the variable of the environment that its key stands in; absent: it needs none
  address?: string; // the variable that its address stands in
  model?: string; // asked when none is named
  is?: "default"; // --base-url alone means it
  named?: true; // never chosen by itself: its key is there for other things too
  quirks?: Quirks;
}
export type WireName = "chat" | "anthropic" | "gemini" | "responses";
/** Where it differs from the wire's usual ways. What nobody told of a server is found out by its refusals. */
export interface Quirks {
  max?: "max_tokens" | "max_completion_tokens"; // what it calls the limit of an answer
  without?: string[]; // fields of a request that it refuses: they are left out
  developer?: RegExp; // models that take the system prompt in the role "developer"
  echo?: "reasoning_content" | "reasoning" | "reasoning_details" | "parts"; // where it wants its thinking back
  effort?: "thinking" | "reasoning" | "enable_thinking" | "high"; // how it is told how much to think; else reasoning_effort
  schema?: "json_object" | "strict"; // JSON without a schema; a schema that it keeps to by force, where it can
  between?: true; // no message of the person straight after a result: one of the model stands between
  ids?: RegExp; // what ids of calls must look like
  tools?: false; // it has none: results are told as text
  auth?: "api-key"; // the header of its key, where it is no bearer
  models?: string | string[]; // what lists them, where it is not /models; or they themselves
  responses?: RegExp; // models that are asked over the wire of that name
}

/** Those that came together, together: a small event takes less time to read than to wait for. */
export type Deltas = AsyncIterable<Iterable<Delta>>;

/** How a request goes out and its answer comes back. */
export interface Wire {
  chat(zz: Zz<any>, preset: Preset, request: ChatRequest, signal: AbortSignal): Deltas;
  models(zz: Zz<any>, preset: Preset, endpoint: Endpoint, signal: AbortSignal): Promise<Model[]>;
  model?(preset: Preset, id: string): Model | undefined; // what is known without asking
}

/** Where a preset's server is: as the person says, else where it is for everybody. */
export const baseOf = (preset: Preset, endpoint: Endpoint): string => (endpoint.url ?? preset.url).replace(/\/+$/, "");

/** Of a server elsewhere, under a name that stands for any, nothing is known. */
export const quirksOf = (preset: Preset, endpoint: Endpoint): Quirks =>
  preset.is && baseOf(preset, endpoint) !== preset.url ? {} : (preset.quirks ?? {});

/** What servers refused of a request, by address and model: not sent again. */
export function memory<T>(empty: () => T): (url: string, model: string) => T {
  const all = new Map<string, T>();
  return (url, model) => {
    const name = `${url} ${model}`;
    const known = all.get(name) ?? empty();
    all.set(name, known);
    return known;
  };
}
