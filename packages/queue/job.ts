// What passes through the queue: which keys there are, what a job says, and what of a request
// travels. A job of another version is left for a worker that knows it.
import { createHash } from "node:crypto";
import type { ChatRequest, Reply } from "zz";
import { anyOf } from "zz/text";

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
const OPTIONS = anyOf(
  /^(temperature|top_?[pk]|min_p|typical_p|seed|stop|(max|num)_\w+)$/i,
  /^((frequency|presence|repeat)_penalty|reasoning_effort|verbosity|think)$/i,
);

export const hashOf = (hashedText: string): string =>
  createHash("sha256").update(hashedText).digest("hex");

/** The names of all keys. Braces: all in one slot of a cluster. */
export function keysOf(keyPrefix: string) {
  const base = `{${keyPrefix}}:queue`;
  return {
    base, // BullMQ's own
    job: (id: string) => `${base}:${QUEUE}:${id}`,
    runs: `${base}:runs`,
    run: (runName: string) => `${base}:run:${runName}`,
    texts: (runName: string) => `${base}:run:${runName}:texts`,
    answers: (runName: string) => `${base}:run:${runName}:answers`,
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
      ([optionName, optionValue]) => OPTIONS.test(optionName) && typeof optionValue !== "object",
    ),
  );

/** The version of what may be a job; undefined: it is none. */
export function versionOf(jobData: unknown): number | undefined {
  const { zz } = Object(jobData);
  return Number.isInteger(zz) && zz > 0 ? zz : undefined;
}

export function isJob(jobData: unknown): jobData is JobData {
  const { run, text } = Object(jobData);
  const matchesForm = (value: unknown, pattern: RegExp) =>
    typeof value === "string" && pattern.test(value);
  return matchesForm(run, /^[\w.-]{1,100}$/) && matchesForm(text, /^[0-9a-f]{64}$/);
}

/** What a job asks for; throws if it is no request of zz. */
export function readAsked(requestText: string): Asked {
  const { model, system, messages, tools, options, effort, schema } = JSON.parse(requestText);
  const isWhole =
    typeof model === "string" &&
    typeof system === "string" &&
    Array.isArray(messages) &&
    messages.length > 0 &&
    messages.every(
      (message) => /^(user|assistant|tool)$/.test(message?.role) && isString(message.text),
    ) &&
    Array.isArray(tools) &&
    tools.every((offeredTool) => isString(offeredTool?.name) && isString(offeredTool.description));
  if (!isWhole) throw new Error("it is no request");
  return {
    model,
    system,
    messages,
    tools,
    options: sampling(options),
    ...(isString(effort) && { effort: effort as NonNullable<Asked["effort"]> }),
    ...(schema && typeof schema === "object" && { schema }),
  };
}
const isString = (fieldValue: unknown): boolean => typeof fieldValue === "string";

export function readReply(replyText: string): Reply {
  const parsedReply = JSON.parse(replyText);
  if (typeof parsedReply?.text !== "string" || !Array.isArray(parsedReply.calls))
    throw new Error("it is no reply");
  return parsedReply;
}
