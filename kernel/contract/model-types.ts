// Models: who answers, what a request holds, and what comes back.
import type { Awaitable } from "./io-types.ts";

/** What a tool's call gives. */
export interface Result {
  text: string; // what the model reads
  data?: unknown; // for programs: --call --json, scripts, other tools
  failed?: boolean;
  refused?: boolean; // it failed because it was not permitted
  wrote?: boolean; // set by zz: files were changed by it
  images?: Image[];
  files?: string[]; // absolute paths of what a dialog elsewhere hands to the person
}
// type: image/png …; application/pdf or audio/mpeg if the model accepts it
export type Image = { type: string; base64: string };

/** A source of models, such as a company's server. */
export interface Provider {
  name: string; // the part of a model's name before the slash
  // used for --base-url alone; used if no other answers; listed only with a key or URL; no source
  // of models at all, but what a plugin has a key for, which /keys keeps
  role?: "default" | "fallback" | "named" | "service";
  // the environment variable of its key, which comes as endpoint.key; pattern: all of a key fits it
  key?: { variable: string; pattern?: string };
  url?: { variable: string }; // the same for its URL
  models(signal: AbortSignal, endpoint: Endpoint): Promise<Model[]>;
  // one of them
  model?(id: string, patience: () => AbortSignal, endpoint: Endpoint): Awaitable<Model | undefined>;
  chat(request: ChatRequest, signal: AbortSignal): AsyncIterable<Delta>;
  /**
   * The model to use if none is named. A string (a key is set) wins over a promise (a server
   * answered). The signal limits the wait.
   */
  auto?(signal: AbortSignal, endpoint: Endpoint): Awaitable<string | undefined>;
}
/** A value that nothing shows. As text it is a placeholder, which only requests fill in. */
export interface Secret {
  toString(): string;
  toJSON(): string;
}
/** A provider's URL and key, from the flags, else the settings' providers.NAME, else the
 * environment, else (for keys) from /keys. A password or key in the URL is a placeholder as well.
 * `own`: the person's other settings for it. */
// for fetch(): `Bearer ${endpoint.key}`
export type Endpoint = { url?: string; key?: Secret; own?: Record<string, unknown> };
export type Model = {
  id: string; // without its provider
  window?: number; // in tokens
  tools?: boolean; // whether it can call tools
  vision?: boolean; // whether it can see images
  takes?: string[]; // what else it can be sent, such as application/pdf
  price?: Price;
  note?: string; // for lists of models
};
// dollars per million tokens
export type Price = { input: number; output: number; cached?: number; written?: number };
/** One request to a model. */
export interface ChatRequest {
  task: string; // "chat", or the task of a side request
  // provider/model; a wrapper may change it. The provider sees the part after the slash
  model: string;
  system: string;
  messages: Message[]; // repaired for the provider: every call has a result, roles alternate
  tools: { name: string; description: string; schema: Record<string, unknown> }[];
  options: Record<string, unknown>; // set by the person, with the provider's own names
  effort?: Effort; // how much to think
  schema?: Record<string, unknown>; // the JSON Schema that the answer must fit
  endpoint: Endpoint;
}
export type Effort = "none" | "low" | "medium" | "high";
/**
 * What a provider yields. Without a `finish` the reply was cut off. `error`: the server's body.
 * `extra`, on any of them, is sent back.
 */
type Sign = { usage: Usage } | { finish: string } | { error: unknown } | { extra: unknown };
export type Delta = ({ text: string } | { thinking: string } | { call: CallDelta } | Sign) & {
  extra?: unknown;
};
/** A piece of a call, or a whole one. */
export type CallDelta = {
  index?: number; // which of the reply's calls it belongs to
  id?: string | null;
  name?: string | null;
  args?: unknown; // a piece of JSON text, or the whole object
  extra?: unknown; // what must be sent back with the call
};
/**
 * Tokens. Parts of the input: cached ones were read from the provider's cache, written ones were
 * added to it.
 */
export type Usage = { input: number; output: number; cached?: number; written?: number };
// refusal: by the model itself, in its text
export type Finish = "stop" | "calls" | "length" | "filter" | "refusal";
/** One use of a tool. */
export type Call = {
  id: string;
  name: string; // of the tool, as the model wrote it
  args: Record<string, unknown>;
  broken?: string; // why it cannot run
  extra?: unknown; // what must be sent back with it
};
/** What a model gives to one request, received whole. */
export type Reply = {
  text: string;
  thinking: string;
  calls: Call[];
  finish: Finish;
  data?: unknown; // the answer as JSON, where the request has a schema
} & Omit<AnswerMeta, "ms">;

export type Message =
  | (UserMeta & { role: "user"; text: string; images?: Image[] })
  | (AnswerMeta & {
      role: "assistant";
      text: string;
      thinking?: string;
      calls?: Call[];
      cut?: boolean; // it is unfinished
    })
  | ({ role: "tool"; id: string; name: string } & Pick<
      Result,
      "text" | "failed" | "images" | "files"
    >);

// aside: from zz or a plugin; news: layer updates, by key
export type UserMeta = { aside?: true; news?: Record<string, string> };
/**
 * The model of an answer, its cost, the ms since the person's message, and extras for its provider,
 * in order.
 */
export type AnswerMeta = { model?: string; usage?: Usage; ms?: number; extra?: unknown[] };
/**
 * Tokens: of the last request with its answer, and of the model's window, if its provider reports
 * it.
 */
export type Filled = { used?: number; window?: number };

/** What a turn comes to. */
export interface Answer extends Filled, Pick<Reply, "data"> {
  text: string; // by the model
  rendered?: string; // after the wrappers of "render", if they changed it
  thinking?: string;
  model: string; // that gave the last reply
  session: string | null; // its id; null: not saved
  finish: Finish | "rounds" | "repeat"; // the last two: a limit ended it
  rounds: number; // requests to the model
  calls: {
    name: string;
    args: Record<string, unknown>;
    ok: boolean;
    refused?: boolean; // it was not permitted
    changes?: boolean; // of a tool that writes files, or it wrote some
  }[];
  usage: Usage; // of all rounds
  ms: number; // without the time spent waiting for the person
}

/** An error as a sentence, with what the kernel needs to know. */
export interface Fault extends Error {
  exit?: number; // 1 by default
  kind?: "key" | "quota" | "network" | "provider"; // the cause of exit code 1, for programs
  transient?: boolean; // it may pass
  stalled?: boolean; // nothing came for too long: worth one more try
  after?: number; // ms to wait before the next try, as the server says
  status?: number; // of the server's answer
  partial?: { text: string; thinking: string }; // what had arrived of a reply
  dry?: unknown; // --dry-run: the request that was not sent
  told?: boolean; // the person has read it, in the question of a dialog's tryAgain
}
