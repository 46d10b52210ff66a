// What is written to the log, and when: everything that goes out with the first request of a turn,
// what changed in later ones, then what happens. A step is a request of the conversation with the
// calls it led to; retries belong to their step.
import type { ChatRequest, Ctx, Events, Message, Steps, Usage, Zz } from "zz";
import { sumUsage } from "zz/text";
import { describeCall, describeMessage, describePrompt, sizeOf, version } from "./describe.ts";
import type { LogEntry } from "./entries.ts";

interface Log {
  on(): boolean;
  setContext(ctx: Ctx): void;
  put(logEntry: LogEntry): void;
}
/** What went out with the last request of a task, as text, to find what changed in the next. */
type Sent = { system: string; tools: string; parameters: string; messages: string[] };
type Pending = { finishReason: string; usage?: Usage; ms?: number; model?: string };

interface Watch {
  log: Log;
  ctx: Ctx | undefined;
  turn: number;
  inTurn: boolean;
  titled: boolean; // the log has a header already
  step: number;
  open: Pending | undefined; // how the current step ends, as far as known
  total: Usage;
  attempts: WeakMap<ChatRequest, number>;
  sent: Map<string, Sent>; // by task
  written: Set<string>; // texts of this turn: if they are sent again, "as above" is enough
  announced: Set<string>; // ids of calls that the model made and that have not run yet
  models: Set<string>; // full names
}

/** Starts observing. The function it returns forgets what was seen. */
export function startWatching(zz: Zz, log: Log): () => void {
  const watch: Watch = {
    log,
    ctx: undefined,
    turn: 0,
    inTurn: false,
    titled: false,
    step: 0,
    open: undefined,
    total: { input: 0, output: 0 },
    attempts: new WeakMap(),
    sent: new Map(),
    written: new Set(),
    announced: new Set(),
    models: new Set(),
  };
  wrapSteps(zz, watch);
  observeEvents(zz, watch);
  return () => forget(watch);
}

function wrapSteps(zz: Zz, watch: Watch): void {
  wrap("line", (_, next) => next());
  wrap("call", (call, next) => {
    if (!watch.announced.delete(call.id)) {
      putHeader(watch);
      put(watch, "TOOL-CALL", describeCall(call));
    }
    return next();
  });
  wrap("request", async ({ task, model }, next) => {
    watch.models.add(model).add(watch.ctx!.chat.model);
    if (!watch.inTurn && watch.ctx!.chat.phase !== "idle") beginTurn(watch);
    try {
      return await next();
    } catch (error) {
      putError(watch, task, error as Error);
      throw error;
    }
  });

  /** Wraps outside of all other wrappers, and changes nothing. */
  function wrap<K extends "line" | "call" | "request">(step: K, see: See<K>): void {
    const outside = (
      input: Steps[K][0],
      next: (given: Steps[K][0]) => Promise<Steps[K][1]>,
      ctx: Ctx,
    ) => {
      if (!watch.log.on()) return next(input);
      watch.ctx = ctx;
      watch.log.setContext(ctx);
      return see(input, () => next(input));
    };
    zz.wrap(step, outside as never, "first");
  }
}

function observeEvents(zz: Zz, watch: Watch): void {
  on("requested", (request) => putRequest(watch, request));
  on("replied", (reply) => putReply(watch, reply));
  on("called", (fact) => putResult(watch, fact));
  on("decided", ({ allowed, ...decision }) =>
    put(watch, "GATE", { decision: allowed ? "allowed" : "refused", ...decision }),
  );
  on("changed", ({ tool, paths }) => put(watch, "CHANGED", { tool, paths }));
  on("retried", ({ attempt, wait, reason }) =>
    put(watch, "RETRY", { attempt, waitMs: wait, reason }),
  );
  on("compacted", (fact) => put(watch, "COMPACTED", { ...fact }));
  on("noted", ({ text }) => put(watch, "NOTE", { text }));
  on("failed", ({ message, exit }) => {
    if (!watch.inTurn) beginTurn(watch);
    const finishReason = exit === 130 ? "aborted" : "error";
    endTurn(watch, { finishReason, message, exit, usage: watch.total });
  });
  on("answered", ({ finish: finishReason, usage, rounds, calls, ms, used, window }) =>
    endTurn(watch, { finishReason, usage, rounds, calls: calls.length, ms, used, window }),
  );

  function on<K extends keyof Events>(event: K, see: (fact: Readonly<Events[K]>) => void): void {
    zz.on(event, (fact) => {
      if (watch.log.on()) see(fact);
    });
  }
}

function put(watch: Watch, type: string, fields: Record<string, unknown>): void {
  const time = new Date().toISOString();
  watch.log.put({
    at: time,
    turn: watch.inTurn ? watch.turn : 0,
    step: watch.step,
    type,
    pid: process.pid,
    ...fields,
  });
}

function forget(watch: Watch): void {
  [watch.inTurn, watch.step, watch.open, watch.total] = [
    false,
    0,
    undefined,
    { input: 0, output: 0 },
  ];
  watch.attempts = new WeakMap();
  for (const each of [watch.sent, watch.written, watch.announced]) each.clear();
}

function beginTurn(watch: Watch): void {
  forget(watch);
  watch.turn++;
  watch.inTurn = true;
}

function putRequest(watch: Watch, request: ChatRequest): void {
  const { task, system, messages, tools } = request;
  const taskField = task === "chat" ? {} : { task };
  const attempt = (watch.attempts.get(request) ?? 0) + 1;
  watch.attempts.set(request, attempt);
  if (attempt > 1) {
    put(watch, "STEP-START", { ...taskField, attempt, messages: messages.length });
    return;
  }
  if (task === "chat") {
    endStep(watch);
    watch.step++;
    watch.open = { finishReason: "error" }; // unless a reply comes
  }
  const before = watch.inTurn ? watch.sent.get(task) : undefined;
  const parameters = parametersOf(watch, request);
  const current: Sent = {
    system,
    tools: JSON.stringify(tools),
    parameters: JSON.stringify(parameters),
    messages: messages.map((message) => JSON.stringify(message)),
  };
  watch.sent.set(task, current);
  const sameCount = before ? countSameStart(before.messages, current.messages) : 0;
  const added = messages
    .slice(sameCount)
    .map((message, i) => messageAt(watch, message, sameCount + i));
  const marks = before ? { changed: true, ...taskField } : taskField;
  if (!before) putHeader(watch, request);
  if (before?.system !== current.system)
    put(watch, "PROMPT", { ...marks, ...describePrompt(request, watch.ctx!) });
  if (!before) put(watch, "HISTORY", { ...marks, messages: added });
  if (before?.tools !== current.tools) put(watch, "TOOLS", { ...marks, tools });
  if (before?.parameters !== current.parameters)
    put(watch, "PARAMETERS", { ...marks, ...parameters });
  const gone = (before?.messages.length ?? sameCount) - sameCount;
  const update = before ? { new: added.length, ...(gone && { gone }), added } : { first: true };
  put(watch, "STEP-START", { ...taskField, messages: messages.length, ...update });
}

function messageAt(watch: Watch, message: Message, i: number): Record<string, unknown> {
  return {
    index: i + 1,
    ...describeMessage(message),
    ...(watch.written.has(message.text) && { above: true }),
  };
}

/** Writes section 1. Before any request it is shorter. */
function putHeader(watch: Watch, request?: ChatRequest): void {
  if (watch.titled && !request) return;
  watch.titled = true;
  const { chat, about, root } = watch.ctx!;
  const { task, messages, system } = request ?? {};
  put(watch, "HEADER", {
    ...(task && task !== "chat" && { task }),
    zz: version(),
    node: process.versions.node,
    cwd: process.cwd(),
    root,
    home: about.home,
    model: chat.model,
    session: chat.id || "not saved",
    ...(messages && { messages: messages.length, prompt: sizeOf(system!) }),
  });
}

function parametersOf(
  watch: Watch,
  { task, model, options, endpoint }: ChatRequest,
): Record<string, unknown> {
  const full = [...watch.models].find((name) => name.endsWith(`/${model}`)) ?? model;
  const url = endpoint.url ?? "the provider's own";
  return { task, model: full, url: url.replace(/\?[^\s]*/, "?[redacted]"), options };
}

function putReply(
  watch: Watch,
  { task, text, thinking, calls, finish: finishReason, usage, ms, model }: Events["replied"],
): void {
  const taskField = task === "chat" ? {} : { task };
  const end = { finishReason, ...(usage && { usage }), ms, ...(model && { model }) };
  if (thinking) put(watch, "THINKING", { ...taskField, chars: thinking.length, text: thinking });
  if (text) put(watch, "TEXT-DELTA", { ...taskField, chars: text.length, text });
  for (const call of calls) put(watch, "TOOL-CALL", { ...taskField, ...describeCall(call) });
  watch.total = sumUsage([watch.total, usage]);
  if (watch.inTurn && text) watch.written.add(text);
  if (task !== "chat") put(watch, "STEP-FINISH", { ...taskField, ...end });
  else {
    for (const { id } of calls) watch.announced.add(id);
    watch.open = end;
  }
}

function putResult(
  watch: Watch,
  { call: { id, name }, result, ms, inner }: Events["called"],
): void {
  const { text, failed, refused, images } = result;
  put(watch, failed ? "TOOL-ERROR" : "TOOL-RESULT", {
    name,
    id,
    ms,
    ...(inner && { inner }),
    ...(refused && { refused }),
    ...(images?.length && { images }),
    output: text,
  });
  if (watch.inTurn) watch.written.add(text);
}

function putError(watch: Watch, task: string, error: Error): void {
  const { partial, status } = error as {
    partial?: { text: string; thinking: string };
    status?: number;
  };
  const { aborted } = watch.ctx!.signal;
  if (task === "chat" && watch.open) watch.open = { finishReason: aborted ? "aborted" : "error" };
  const had = partial && Object.fromEntries(Object.entries(partial).filter(([, text]) => text));
  put(watch, "ERROR", {
    ...(task !== "chat" && { task }),
    message: aborted ? "Stopped." : error.message,
    ...(status !== undefined && { status }),
    ...(had && Object.keys(had).length && { partial: had }),
  });
}

function endStep(watch: Watch): void {
  if (watch.open) put(watch, "STEP-FINISH", { ...watch.open });
  watch.open = undefined;
  watch.announced.clear();
}

function endTurn(watch: Watch, finish: Record<string, unknown>): void {
  endStep(watch);
  put(
    watch,
    "FINISH",
    Object.fromEntries(Object.entries(finish).filter(([, value]) => value !== undefined)),
  );
  put(watch, "Turn ended", { usage: watch.total });
  forget(watch);
}

type See<K extends "line" | "call" | "request"> = (
  input: Steps[K][0],
  next: () => Promise<Steps[K][1]>,
) => Promise<Steps[K][1]>;

/** How many equal messages both begin with. */
function countSameStart(before: string[], after: string[]): number {
  const differs = after.findIndex((message, i) => message !== before[i]);
  return differs < 0 ? after.length : differs;
}
