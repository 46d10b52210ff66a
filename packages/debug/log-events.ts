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

/** What is known of a turn. */
const newTurn = () => ({
  inTurn: false,
  step: 0,
  open: undefined as Pending | undefined, // how the current step ends, as far as known
  total: sumUsage([]),
  attempts: new WeakMap<ChatRequest, number>(),
  sent: new Map<string, Sent>(), // by task
  written: new Set<string>(), // texts of this turn: if they are sent again, "as above" is enough
  announced: new Set<string>(), // ids of calls that the model made and that have not run yet
});
interface Watch extends ReturnType<typeof newTurn> {
  log: Log;
  ctx: Ctx | undefined;
  turn: number;
  titled: boolean; // the log has a header already
  models: Set<string>; // full names
}

/** Starts observing. The function it returns forgets what was seen. */
export function startWatching(zz: Zz, log: Log): () => void {
  const watch: Watch = {
    log,
    ctx: undefined,
    turn: 0,
    titled: false,
    models: new Set(),
    ...newTurn(),
  };
  wrapSteps(zz, watch);
  observeEvents(zz, watch);
  return () => void Object.assign(watch, newTurn());
}

function wrapSteps(zz: Zz, watch: Watch): void {
  wrapOutermost("line", (_, runNext) => runNext());
  wrapOutermost("call", (toolCall, runNext) => {
    if (!watch.announced.delete(toolCall.id)) {
      putHeader(watch);
      putEntry(watch, "TOOL-CALL", describeCall(toolCall));
    }
    return runNext();
  });
  wrapOutermost("request", async ({ task, model }, runNext) => {
    watch.models.add(model).add(watch.ctx!.chat.model);
    if (!watch.inTurn && watch.ctx!.chat.phase !== "idle") beginTurn(watch);
    try {
      return await runNext();
    } catch (error) {
      putError(watch, task, error as Error);
      throw error;
    }
  });

  /** Wraps outside of all other wrappers, and changes nothing. */
  function wrapOutermost<K extends "line" | "call" | "request">(
    stepName: K,
    observeStep: See<K>,
  ): void {
    const outside = (
      stepInput: Steps[K][0],
      runNext: (inputToPass: Steps[K][0]) => Promise<Steps[K][1]>,
      ctx: Ctx,
    ) => {
      if (!watch.log.on()) return runNext(stepInput);
      watch.ctx = ctx;
      watch.log.setContext(ctx);
      return observeStep(stepInput, () => runNext(stepInput));
    };
    zz.wrap(stepName, outside as never, "first");
  }
}

function observeEvents(zz: Zz, watch: Watch): void {
  observe("requested", (request) => putRequest(watch, request));
  observe("replied", (replyEvent) => putReply(watch, replyEvent));
  observe("called", (calledEvent) => putResult(watch, calledEvent));
  observe("decided", ({ allowed, ...decision }) =>
    putEntry(watch, "GATE", { decision: allowed ? "allowed" : "refused", ...decision }),
  );
  observe("changed", ({ tool, paths }) => putEntry(watch, "CHANGED", { tool, paths }));
  observe("retried", ({ attempt, wait, reason }) =>
    putEntry(watch, "RETRY", { attempt, waitMs: wait, reason }),
  );
  observe("compacted", (compactedEvent) => putEntry(watch, "COMPACTED", { ...compactedEvent }));
  observe("noted", ({ text }) => putEntry(watch, "NOTE", { text }));
  observe("failed", ({ message, exit }) => {
    if (!watch.inTurn) beginTurn(watch);
    const finishReason = exit === 130 ? "aborted" : "error";
    endTurn(watch, { finishReason, message, exit, usage: watch.total });
  });
  observe("answered", ({ finish: finishReason, usage, rounds, calls, ms, used, window }) =>
    endTurn(watch, { finishReason, usage, rounds, calls: calls.length, ms, used, window }),
  );

  function observe<K extends keyof Events>(
    eventName: K,
    handleFact: (eventFact: Readonly<Events[K]>) => void,
  ): void {
    zz.on(eventName, (eventFact) => {
      if (watch.log.on()) handleFact(eventFact);
    });
  }
}

function putEntry(watch: Watch, type: string, entryFields: Record<string, unknown>): void {
  const timestamp = new Date().toISOString();
  watch.log.put({
    at: timestamp,
    turn: watch.inTurn ? watch.turn : 0,
    step: watch.step,
    type,
    pid: process.pid,
    ...entryFields,
  });
}

function beginTurn(watch: Watch): void {
  Object.assign(watch, newTurn(), { inTurn: true });
  watch.turn++;
}

function putRequest(watch: Watch, request: ChatRequest): void {
  const { task, system, messages, tools } = request;
  const taskField = task === "chat" ? {} : { task };
  const attempt = (watch.attempts.get(request) ?? 0) + 1;
  watch.attempts.set(request, attempt);
  if (attempt > 1) {
    putEntry(watch, "STEP-START", { ...taskField, attempt, messages: messages.length });
    return;
  }
  if (task === "chat") {
    endStep(watch);
    watch.step++;
    watch.open = { finishReason: "error" }; // unless a reply comes
  }
  const previousSent = watch.inTurn ? watch.sent.get(task) : undefined;
  const parameters = parametersOf(watch, request);
  const current: Sent = {
    system,
    tools: JSON.stringify(tools),
    parameters: JSON.stringify(parameters),
    messages: messages.map((message) => JSON.stringify(message)),
  };
  watch.sent.set(task, current);
  const sameCount = previousSent ? countSameStart(previousSent.messages, current.messages) : 0;
  const added = messages
    .slice(sameCount)
    .map((message, i) => messageAt(watch, message, sameCount + i));
  const sharedFields = previousSent ? { changed: true, ...taskField } : taskField;
  if (!previousSent) putHeader(watch, request);
  if (previousSent?.system !== current.system)
    putEntry(watch, "PROMPT", { ...sharedFields, ...describePrompt(request, watch.ctx!) });
  if (!previousSent) putEntry(watch, "HISTORY", { ...sharedFields, messages: added });
  if (previousSent?.tools !== current.tools) putEntry(watch, "TOOLS", { ...sharedFields, tools });
  if (previousSent?.parameters !== current.parameters)
    putEntry(watch, "PARAMETERS", { ...sharedFields, ...parameters });
  const gone = (previousSent?.messages.length ?? sameCount) - sameCount;
  const messageChange = previousSent
    ? { new: added.length, ...(gone && { gone }), added }
    : { first: true };
  putEntry(watch, "STEP-START", { ...taskField, messages: messages.length, ...messageChange });
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
  putEntry(watch, "HEADER", {
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
  const fullModelName =
    [...watch.models].find((knownModel) => knownModel.endsWith(`/${model}`)) ?? model;
  const endpointUrl = endpoint.url ?? "the provider's own";
  return {
    task,
    model: fullModelName,
    url: endpointUrl.replace(/\?[^\s]*/, "?[redacted]"),
    options,
  };
}

function putReply(
  watch: Watch,
  { task, text, thinking, calls, finish: finishReason, usage, ms, model }: Events["replied"],
): void {
  const taskField = task === "chat" ? {} : { task };
  const stepFinish = { finishReason, ...(usage && { usage }), ms, ...(model && { model }) };
  if (thinking)
    putEntry(watch, "THINKING", { ...taskField, chars: thinking.length, text: thinking });
  if (text) putEntry(watch, "TEXT-DELTA", { ...taskField, chars: text.length, text });
  for (const modelCall of calls)
    putEntry(watch, "TOOL-CALL", { ...taskField, ...describeCall(modelCall) });
  watch.total = sumUsage([watch.total, usage]);
  if (watch.inTurn && text) watch.written.add(text);
  if (task !== "chat") putEntry(watch, "STEP-FINISH", { ...taskField, ...stepFinish });
  else {
    for (const { id } of calls) watch.announced.add(id);
    watch.open = stepFinish;
  }
}

function putResult(
  watch: Watch,
  { call: { id, name }, result, ms, inner }: Events["called"],
): void {
  const { text, failed, refused, images } = result;
  putEntry(watch, failed ? "TOOL-ERROR" : "TOOL-RESULT", {
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
  const partialTexts =
    partial && Object.fromEntries(Object.entries(partial).filter(([, partialText]) => partialText));
  putEntry(watch, "ERROR", {
    ...(task !== "chat" && { task }),
    message: aborted ? "Stopped." : error.message,
    ...(status !== undefined && { status }),
    ...(partialTexts && Object.keys(partialTexts).length && { partial: partialTexts }),
  });
}

function endStep(watch: Watch): void {
  if (watch.open) putEntry(watch, "STEP-FINISH", { ...watch.open });
  watch.open = undefined;
  watch.announced.clear();
}

function endTurn(watch: Watch, finish: Record<string, unknown>): void {
  endStep(watch);
  putEntry(
    watch,
    "FINISH",
    Object.fromEntries(Object.entries(finish).filter(([, fieldValue]) => fieldValue !== undefined)),
  );
  putEntry(watch, "Turn ended", { usage: watch.total });
  Object.assign(watch, newTurn());
}

type See<K extends "line" | "call" | "request"> = (
  stepInput: Steps[K][0],
  runNext: () => Promise<Steps[K][1]>,
) => Promise<Steps[K][1]>;

/** How many equal messages both begin with. */
function countSameStart(messagesBefore: string[], messagesAfter: string[]): number {
  const differs = messagesAfter.findIndex((message, i) => message !== messagesBefore[i]);
  return differs < 0 ? messagesAfter.length : differs;
}
