// What a wire is: how one family of servers is spoken to. Each is a file of its own, loaded when it is first needed.
import type { ChatRequest, Delta, Endpoint, Model, Zz } from "zz";

/** A provider, as a line of the table in presets.ts. */
export interface Preset {
  name: string;
  wire: WireName;
  url: string; // with its version, as in …/v1
  key?: string; // the variable of the environment that its key stands in; absent: it needs none
  model?: string; // asked when none is named
  is?: "default"; // --base-url alone means it
  quirks?: Quirks;
}
export type WireName = "chat" | "anthropic" | "gemini" | "responses";
/** Where it differs from the wire's usual ways. */
export type Quirks = {};

/** How a request goes out and its answer comes back. */
export interface Wire {
  chat(zz: Zz<any>, preset: Preset, request: ChatRequest, signal: AbortSignal): AsyncIterable<Delta>;
  models(zz: Zz<any>, preset: Preset, endpoint: Endpoint, signal: AbortSignal): Promise<Model[]>;
  model?(preset: Preset, id: string): Model | undefined; // what is known without asking
}

/** Where a preset's server is: as the person says, else where it is for everybody. */
export const baseOf = (preset: Preset, endpoint: Endpoint): string => (endpoint.url ?? preset.url).replace(/\/+$/, "");
