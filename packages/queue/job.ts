// What passes through the queue: which keys there are, what a job says, and what of a request
// travels. A job of another version is left for a worker that knows it.
import { createHash } from "node:crypto";
import type { ChatRequest, Reply } from "zz";

export const VERSION = 1;
export const QUEUE = "ask";
export const ATTEMPTS = 6;

/** `text` is the hash of the request. */
export interface JobData {
  zz: number;
  run: string;
  text: string;
}
/** Why a job failed, as its failure in the queue: JSON. */
export interface Failure {
  error: string;
  exit: number;
  kind?: string;
}
export type Asked = Pick<ChatRequest, "model" | "system" | "messages" | "tools" | "options"> &
  Partial<Pick<ChatRequest, "effort" | "schema">>;

// What a stranger may set of a provider: how it samples, and nothing that it would do or fetch.
const OPTIONS =
  /^(temperature|top_?[pk]|min_p|typical_p|seed|stop|(max|num)_\w+|(frequency|presence|repeat)_penalty|reasoning_effort|verbosity|think)$/i;

export const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The names of all keys. Braces: all in one slot of a cluster. */
export function keysOf(prefix: string) {
  const base = `{${prefix}}:queue`;
  return {
    base, // BullMQ's own
    job: (id: string) => `${base}:${QUEUE}:${id}`,
    runs: `${base}:runs`,
    run: (run: string) => `${base}:run:${run}`,
    texts: (run: string) => `${base}:run:${run}:texts`,
    answers: (run: string) => `${base}:run:${run}:answers`,
    workers: `${base}:workers`,
    pace: (origin: string) => `${base}:pace:${origin}`,
  };
}

export function askedIn(request: ChatRequest): Asked {
  const { model, system, messages, tools, options, effort, schema } = request;
  return {
    model,
    system,
    messages,
    tools,
    options: sampling(options),
    ...(effort && { effort }),
    ...(schema && { schema }),
  };
}

const sampling = (options: unknown): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(Object(options)).filter(
      ([name, value]) => OPTIONS.test(name) && typeof value !== "object",
    ),
  );

/** The version of what may be a job; undefined: it is none. */
export function versionOf(data: unknown): number | undefined {
  const { zz } = Object(data);
  return Number.isInteger(zz) && zz > 0 ? zz : undefined;
}

export function isJob(data: unknown): data is JobData {
  const { run, text } = Object(data);
  const fits = (value: unknown, form: RegExp) => typeof value === "string" && form.test(value);
  return fits(run, /^[\w.-]{1,100}$/) && fits(text, /^[0-9a-f]{64}$/);
}

/** What a job asks for; throws if it is no request of zz. */
export function readAsked(text: string): Asked {
  const { model, system, messages, tools, options, effort, schema } = JSON.parse(text);
  const isWhole =
    typeof model === "string" &&
    typeof system === "string" &&
    Array.isArray(messages) &&
    messages.length > 0 &&
    messages.every((one) => /^(user|assistant|tool)$/.test(one?.role) && isText(one.text)) &&
    Array.isArray(tools) &&
    tools.every((tool) => isText(tool?.name) && isText(tool.description));
  if (!isWhole) throw new Error("it is no request");
  return {
    model,
    system,
    messages,
    tools,
    options: sampling(options),
    ...(isText(effort) && { effort: effort as NonNullable<Asked["effort"]> }),
    ...(schema && typeof schema === "object" && { schema }),
  };
}
const isText = (value: unknown): boolean => typeof value === "string";

export function readReply(text: string): Reply {
  const reply = JSON.parse(text);
  if (typeof reply?.text !== "string" || !Array.isArray(reply.calls))
    throw new Error("it is no reply");
  return reply;
}
