// What is written, and when: the first request of a turn with all that goes with it, of later ones what is new; then what happens.
// A step is a request of the conversation with the calls that came of it; retries are attempts of the same step.
import type { ChatRequest, Ctx, Endpoint, Events, Message, Steps, Usage, Zz } from "zz";
import { describeCall, describeMessage, describePrompt, sizeOf, version } from "./describe.ts";
import type { Entry } from "./form.ts";

export interface Log {
  on(): boolean;
  meet(ctx: Ctx): void;
  learn(endpoint: Endpoint): void; // what must not be written
  put(entry: Entry): void;
}
/** What went out with the last request for a task: as text, to see what is new in the next. */
type Sent = { system: string; tools: string; parameters: string; messages: string[] };
type Pending = { finishReason: string; usage?: Usage; ms?: number; model?: string };

/** Starts to watch. What it returns forgets what was seen. */
export function watch(zz: Zz, log: Log): () => void {
  let ctx: Ctx | undefined;
  let turn = 0;
  let inTurn = false;
  let titled = false; // there is a header in the file already
  let step = 0;
  let open: Pending | undefined; // the step under way, and how it will have ended
  let total: Usage = { input: 0, output: 0 };
  let attempts = new WeakMap<ChatRequest, number>();
  const sent = new Map<string, Sent>();
  const written = new Set<string>(); // texts of this turn: when they go out, it is enough to say so
  const announced = new Set<string>(); // calls that the model made and nobody ran yet
  const models = new Set<string>(); // full names

  wrap("line", (_, next) => next());
  wrap("call", (call, next) => {
    if (!announced.delete(call.id)) {
      title();
      put("TOOL-CALL", describeCall(call));
    }
    return next();
  });
  wrap("request", async ({ task, model, endpoint }, next) => {
    models.add(model).add(ctx!.chat.model);
    log.learn(endpoint);
    if (!inTurn && ctx!.chat.phase !== "idle") beginTurn();
    try {
      return await next();
    } catch (error) {
      failed(task, error as Error);
      throw error;
    }
  });
  on("requested", requested);
  on("replied", replied);
  on("called", called);
  on("decided", ({ allowed, ...decision }) => put("GATE", { decision: allowed ? "allowed" : "refused", ...decision }));
  on("changed", ({ tool, paths }) => put("CHANGED", { tool, paths }));
  on("retried", ({ attempt, wait, reason }) => put("RETRY", { attempt, waitMs: wait, reason }));
  on("compacted", (fact) => put("COMPACTED", { ...fact }));
  on("noted", ({ text }) => put("NOTE", { text }));
  on("failed", ({ message, exit }) => {
    if (!inTurn) beginTurn();
    endTurn({ finishReason: exit === 130 ? "aborted" : "error", message, exit, usage: total });
  });
  on("answered", ({ finish: finishReason, usage, rounds, calls, ms, used, window }) =>
    endTurn({ finishReason, usage, rounds, calls: calls.length, ms, used, window }),
  );
  return forget;

  function on<K extends keyof Events>(event: K, see: (fact: Readonly<Events[K]>) => void): void {
    zz.on(event, (fact) => {
      if (log.on()) see(fact);
    });
  }

  /** Outside of all other wrappers, and changes nothing. */
  function wrap<K extends "line" | "call" | "request">(step: K, see: See<K>): void {
    const outside = (given: Steps[K][0], next: (given: Steps[K][0]) => Promise<Steps[K][1]>, now: Ctx) => {
      if (!log.on()) return next(given);
      log.meet((ctx = now));
      return see(given, () => next(given));
    };
    zz.wrap(step, outside as never, "first");
  }

  function put(type: string, more: Record<string, unknown>): void {
    const at = new Date().toISOString();
    log.put({ at, turn: inTurn ? turn : 0, step, type, pid: process.pid, ...more });
  }

  function forget(): void {
    [inTurn, step, open, total] = [false, 0, undefined, { input: 0, output: 0 }];
    attempts = new WeakMap();
    for (const each of [sent, written, announced]) each.clear();
  }

  function beginTurn(): void {
    forget();
    turn++;
    inTurn = true;
  }

  function requested(request: ChatRequest): void {
    const { task, system, messages, tools } = request;
    const other = task === "chat" ? {} : { task };
    const attempt = (attempts.get(request) ?? 0) + 1;
    attempts.set(request, attempt);
    if (attempt > 1) {
      put("STEP-START", { ...other, attempt, messages: messages.length });
      return;
    }
    if (task === "chat") {
      endStep();
      step++;
      open = { finishReason: "error" }; // unless a reply comes
    }
    const before = inTurn ? sent.get(task) : undefined;
    const parameters = parametersOf(request);
    const now: Sent = {
      system,
      tools: JSON.stringify(tools),
      parameters: JSON.stringify(parameters),
      messages: messages.map((message) => JSON.stringify(message)),
    };
    sent.set(task, now);
    const same = before ? alike(before.messages, now.messages) : 0;
    const added = messages.slice(same).map((message, i) => messageAt(message, same + i));
    const how = before ? { changed: true, ...other } : other;
    if (!before) title(request);
    if (before?.system !== now.system) put("PROMPT", { ...how, ...describePrompt(request, ctx!) });
    if (!before) put("HISTORY", { ...how, messages: added });
    if (before?.tools !== now.tools) put("TOOLS", { ...how, tools });
    if (before?.parameters !== now.parameters) put("PARAMETERS", { ...how, ...parameters });
    const gone = (before?.messages.length ?? same) - same;
    const news = before ? { new: added.length, ...(gone && { gone }), added } : { first: true };
    put("STEP-START", { ...other, messages: messages.length, ...news });
  }

  function messageAt(message: Message, i: number): Record<string, unknown> {
    return { index: i + 1, ...describeMessage(message), ...(written.has(message.text) && { above: true }) };
  }

  /** Section 1. What happens before any request has a short one. */
  function title(request?: ChatRequest): void {
    if (titled && !request) return;
    titled = true;
    const { chat, about, root } = ctx!;
    const { task, messages, system } = request ?? {};
    put("HEADER", {
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

  function parametersOf({ task, model, options, endpoint }: ChatRequest): Record<string, unknown> {
    const full = [...models].find((name) => name.endsWith(`/${model}`)) ?? model;
    const [provider = ""] = full.split("/");
    const own = [`${provider.toUpperCase()}_BASE_URL`, `${provider.toUpperCase()}_HOST`].find(
      (name) => process.env[name],
    );
    const url = endpoint.url ?? (own ? `${process.env[own]} (${own})` : "the provider's own");
    return { task, model: full, url: url.replace(/\?[^\s]*/, "?[redacted]"), options };
  }

  function replied({ task, text, thinking, calls, finish: finishReason, usage, ms, model }: Events["replied"]): void {
    const other = task === "chat" ? {} : { task };
    const end = { finishReason, ...(usage && { usage }), ms, ...(model && { model }) };
    if (thinking) put("THINKING", { ...other, chars: thinking.length, text: thinking });
    if (text) put("TEXT-DELTA", { ...other, chars: text.length, text });
    for (const call of calls) put("TOOL-CALL", { ...other, ...describeCall(call) });
    total = { input: total.input + (usage?.input ?? 0), output: total.output + (usage?.output ?? 0) };
    if (inTurn && text) written.add(text);
    if (task !== "chat") put("STEP-FINISH", { ...other, ...end });
    else {
      for (const { id } of calls) announced.add(id);
      open = end;
    }
  }

  function called({ call: { id, name }, result, ms, inner }: Events["called"]): void {
    const { text, failed, refused, images } = result;
    put(failed ? "TOOL-ERROR" : "TOOL-RESULT", {
      ...{ name, id, ms },
      ...(inner && { inner }),
      ...(refused && { refused }),
      ...(images?.length && { images }),
      output: text,
    });
    if (inTurn) written.add(text);
  }

  function failed(task: string, error: Error): void {
    const { partial, status } = error as { partial?: { text: string; thinking: string }; status?: number };
    const { aborted } = ctx!.signal;
    if (task === "chat" && open) open = { finishReason: aborted ? "aborted" : "error" };
    const had = partial && Object.fromEntries(Object.entries(partial).filter(([, text]) => text));
    put("ERROR", {
      ...(task !== "chat" && { task }),
      message: aborted ? "Stopped." : error.message,
      ...(status !== undefined && { status }),
      ...(had && Object.keys(had).length && { partial: had }),
    });
  }

  function endStep(): void {
    if (open) put("STEP-FINISH", { ...open });
    open = undefined;
    announced.clear();
  }

  function endTurn(finish: Record<string, unknown>): void {
    endStep();
    put("FINISH", Object.fromEntries(Object.entries(finish).filter(([, value]) => value !== undefined)));
    put("Turn ended", { usage: total });
    forget();
  }
}

type See<K extends "line" | "call" | "request"> = (
  given: Steps[K][0],
  next: () => Promise<Steps[K][1]>,
) => Promise<Steps[K][1]>;

/** How many messages both begin with. */
function alike(one: string[], two: string[]): number {
  const differs = two.findIndex((message, i) => message !== one[i]);
  return differs < 0 ? two.length : differs;
}
