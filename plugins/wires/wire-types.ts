// What a wire is: how zz talks to one family of servers. Each is a file of its own, loaded when it
// is first needed.
import type { ChatRequest, Delta, Endpoint, Model, Zz } from "zz";
import { usage } from "zz/text";

/** A provider, as a line of the table in presets.ts. */
export interface Preset {
  name: string;
  wire?: Exclude<WireName, "chat">; // absent: chat
  url: string; // with its version, as in …/v1; "": each person has their own
  key?: string; // the environment variable that holds its key; absent: it needs none
  address?: string; // the environment variable that holds its address
  model?: string; // the one to ask when none is named
  is?: "default"; // the provider that --base-url alone stands for
  named?: true; // chosen only by name, since its key is used for other things, too
  quirks?: Quirks;
}
export type WireName = "chat" | "anthropic" | "gemini" | "responses";
/**
 * How a server differs from what its wire usually sends. Differences that are not listed are learnt
 * from refusals.
 */
export interface Quirks {
  // what it calls the limit of an answer; in a preset, max_tokens if absent
  max?: "max_tokens" | "max_completion_tokens";
  without?: string[]; // fields of a request that it refuses: they are left out
  developer?: RegExp; // models that take the system prompt in the role "developer"
  // how it wants its thinking sent back
  echo?: "reasoning_content" | "reasoning" | "reasoning_details" | "parts";
  // how effort is sent; else as reasoning_effort
  effort?: "thinking" | "reasoning" | "enable_thinking" | "high";
  // it takes JSON without a schema; or it enforces a schema where it can
  schema?: "json_object" | "strict";
  between?: true; // the person's message may not follow a result: one of the model goes between
  ids?: RegExp; // the form that the ids of calls must have
  tools?: false; // it has no tools: calls and results are sent as text
  auth?: "api-key"; // the header for its key, if that is not a bearer token
  models?: string | string[]; // where they are listed, if not at /models; or the models themselves
  responses?: RegExp; // the models that are asked over the wire "responses"
}

/** Deltas in batches, as they arrived: a small event takes less time to read than to wait for. */
type Deltas = AsyncIterable<Iterable<Delta>>;

/** How a request goes out and its answer comes back. */
export interface Wire {
  chat(zz: Zz, preset: Preset, request: ChatRequest, signal: AbortSignal): Deltas;
  models(zz: Zz, preset: Preset, endpoint: Endpoint, signal: AbortSignal): Promise<Model[]>;
  model(preset: Preset, id: string): Model | undefined; // what is known without asking
}

/** The address of a preset's server: the person's own if set, else the public one. */
export const baseOf = (preset: Preset, endpoint: Endpoint): string =>
  (endpoint.url ?? preset.url).replace(/\/+$/, "");

/** A preset's quirks; none if its name stands for any server and it is asked at another address. */
export const quirksOf = (preset: Preset, endpoint: Endpoint): Quirks =>
  preset.is && baseOf(preset, endpoint) !== preset.url
    ? {}
    : { max: "max_tokens", ...preset.quirks };

/** Throws if the public server would be asked without a key. */
export function needKey(
  { name, url, key: keyVariable }: Preset,
  key: unknown,
  baseUrl: string,
  otherVariable?: string,
): void {
  if (key || baseUrl !== url) return;
  const variableNames = [keyVariable, otherVariable].filter(Boolean).join(" or ");
  throw usage(
    `Cannot ask '${name}': no key is set. ` +
      `Set ${variableNames}, or pass --key KEY (--base-url URL for another server).`,
  );
}

/** JSON without lone surrogates, which would break the decoders of some servers. */
export const toJson = (requestBody: unknown): string =>
  JSON.stringify(requestBody, (_, fieldValue) =>
    typeof fieldValue === "string" ? fieldValue.toWellFormed() : fieldValue,
  );

/** The name of a tool, as servers take it. */
export const acceptedName = (toolName: string): string =>
  toolName.replace(/[^\w-]/g, "_").slice(0, 64) || "unknown";

/** Remembers by address and model what servers refused, so that it is not sent again. */
export function rememberByModel<T>(createEntry: () => T): (serverUrl: string, model: string) => T {
  const registry = new Map<string, T>();
  return (serverUrl, model) => {
    const registryKey = `${serverUrl} ${model}`;
    const current = registry.get(registryKey) ?? createEntry();
    registry.set(registryKey, current);
    return current;
  };
}
