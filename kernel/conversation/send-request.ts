// One request to a model: sent, retried, and received whole.

import type { ChatRequest, Endpoint, Fault, Message, Provider, Reply } from "../contract.ts";
import { emit, runStep } from "../events.ts";
import { MAX_TRIES, type TurnContext } from "../instance.ts";
import { SILENCE_SECONDS } from "../settings/settings-table.ts";
import { clockOf } from "../text/clock.ts";
import { deadline, orAbort } from "../text/deadlines.ts";
import { asFault, fault } from "../text/faults.ts";
import { errorMessage, secretFinder, veil, veilData, veilPieces } from "../text/secrets.ts";
import { CHARS_PER_TOKEN } from "../text/words.ts";
import { endpointOf, providerNamed } from "./choose-model.ts";
import { answerSoFar, collectReply } from "./collect-reply.ts";

const MAX_RETRY_WAIT_MS = 60_000;
const LIFE_SIGN_SILENCES = 4; // that many times as long while comments and other signs of life come

/** Passes the request through its wrappers, then to the provider of its model. */
export async function sendRequest(
  turn: TurnContext,
  askedRequest: Omit<ChatRequest, "options" | "endpoint">,
): Promise<Reply> {
  const { core } = turn;
  const { name } = providerNamed(core, askedRequest.model);
  const options = { ...core.options.settings.options, ...core.options.options };
  const usualEndpoint = endpointOf(core, name);
  // set by a wrapper
  const changedEndpoint = ({ endpoint }: ChatRequest) =>
    endpoint === usualEndpoint ? undefined : endpoint;
  return runStep(
    turn,
    "request",
    { ...askedRequest, options, endpoint: usualEndpoint },
    (request) => tryRequest(turn, request, changedEndpoint(request)),
  );
}

/**
 * Tries up to twice more if the failure may pass, and once more after a silence. Nothing has been
 * shown yet.
 */
async function tryRequest(
  turn: TurnContext,
  { model, messages, ...asked }: ChatRequest,
  wantedEndpoint?: Endpoint,
): Promise<Reply> {
  const { core, chat } = turn;
  const clock = clockOf(core.io);
  const provider = providerNamed(core, model);
  const endpoint = wantedEndpoint ?? endpointOf(core, provider.name);
  const request = {
    ...asked,
    model: model.slice(provider.name.length + 1),
    messages: repairHistory(messages.map((message) => ownExtras(message, provider.name))),
    endpoint,
  };
  const shownRequest = veilData(request);
  let partial: Fault["partial"]; // the longest that any try received
  for (let [attempt, stallCount] = [1, 0]; ; attempt++) {
    try {
      await emit(core, "requested", shownRequest);
      const started = clock.now();
      const reply = { ...(await receiveReply(turn, provider, request)), model };
      await emit(core, "replied", {
        ...reply,
        task: asked.task,
        ms: Math.round(clock.now() - started),
      });
      return reply;
    } catch (error) {
      const requestFault = asFault(error);
      if ((requestFault.partial?.text.length ?? -1) >= (partial?.text.length ?? 0))
        partial = requestFault.partial;
      if (partial) requestFault.partial = partial;
      if (chat.stop.signal.aborted || requestFault.dry) throw requestFault;
      const waitMs = requestFault.after ?? 500 * 2 ** (attempt - 1) * (1 + Math.random() / 4);
      if (requestFault.transient && waitMs > MAX_RETRY_WAIT_MS)
        requestFault.message += ` Try again in ${Math.ceil(waitMs / 1000)} s.`;
      const mayPass = requestFault.stalled ? ++stallCount === 1 : requestFault.transient;
      if (!mayPass || attempt === MAX_TRIES || waitMs > MAX_RETRY_WAIT_MS) throw requestFault;
      await emit(core, "retried", {
        attempt,
        wait: Math.round(waitMs),
        reason: errorMessage(requestFault),
      });
      await clock.sleep(waitMs, chat.stop.signal).catch((stopped) => {
        throw Object.assign(stopped, partial && { partial });
      });
    }
  }
}

/** Receives one reply, whole. Silence is limited, not length. */
async function receiveReply(
  { core, chat }: TurnContext,
  provider: Provider,
  request: ChatRequest,
): Promise<Reply> {
  const clock = clockOf(core.io);
  const started = clock.now();
  const { timeout = SILENCE_SECONDS } = core.options.settings;
  const seconds = timeout || Number.POSITIVE_INFINITY; // 0: no limit
  // when more than a sign of life came; whether for too long nothing else has
  let [heard, isSigns] = [started, false];
  const silence = deadline(clock, seconds * 1000, () => stalled(provider, seconds, isSigns));
  const signal = AbortSignal.any([chat.stop.signal, silence.signal]);
  let [partial, thought, told] = [{ text: "", thinking: "" }, "", 0]; // told: of the answer
  let telling: NodeJS.Immediate | undefined; // one event for pieces that arrive together
  const [hasSecret, veiledPiece] = [secretFinder(), veilPieces()];
  try {
    const reply = await orAbort(
      signal,
      collectReply(provider.chat(request, signal), see, provider.name),
    );
    return { ...reply, text: veil(reply.text), thinking: veil(reply.thinking) };
  } catch (error) {
    const failed = asFault(
      silence.signal.aborted && !chat.stop.signal.aborted ? silence.signal.reason : error,
    );
    throw Object.assign(failed, { kind: failed.kind ?? "provider", partial: veilData(partial) });
  } finally {
    silence.lift();
    if (telling || told) tell(true);
  }

  function see(text: string, thinking: string, newThought: string, pieceSize: number): void {
    partial = { text, thinking };
    thought += newThought;
    if (pieceSize) heard = clock.now();
    if (telling) return;
    isSigns = clock.now() - heard > seconds * 1000 * (LIFE_SIGN_SILENCES - 1);
    if (!isSigns) silence.putOff();
    const { endpoint, task, ...shown } = request;
    if (core.options.dry) throw fault("dry run", { dry: shown });
    telling = setImmediate(() => tell());
  }
  function tell(isLast = false): void {
    clearImmediate(telling);
    const { text, thinking } = partial;
    const answerText = answerSoFar(text);
    const newText = veiledPiece(answerText.slice(told), isLast);
    told = Math.max(told, answerText.length);
    const tokens = Math.round((text.length + thinking.length) / CHARS_PER_TOKEN);
    const shownThinking = hasSecret(thought) ? veil(thinking) : thinking;
    [telling, thought] = [undefined, ""];
    void emit(core, "received", {
      tokens,
      ms: Math.round(clock.now() - started),
      thinking: shownThinking,
      text: newText,
    });
  }
}

function stalled({ name }: Provider, seconds: number, isSigns: boolean): Fault {
  const silenceText = isSigns
    ? `nothing but signs of life for ${seconds * LIFE_SIGN_SILENCES}`
    : `nothing for ${seconds}`;
  return fault(`'${name}' sent ${silenceText} s. Try again, or raise "timeout" in the settings.`, {
    kind: "network",
    stalled: true,
  });
}

/** Extras are sent back only to the provider that they came from. */
function ownExtras(message: Message, provider: string): Message {
  if (message.role !== "assistant" || message.model?.startsWith(`${provider}/`)) return message;
  const { extra: _, calls, ...rest } = message;
  return { ...rest, ...(calls && { calls: calls.map(({ extra: _, ...call }) => call) }) };
}

/** Makes the history acceptable to every provider: each call has one result right after it, in
 * order; results without a call go away; messages of one role in a row are merged; nothing is
 * empty. Runs before every request. */
export function repairHistory(history: readonly Message[]): Message[] {
  const fixed: Message[] = [];
  // the index in `fixed` of each result of the last calls
  let openResults = new Map<string, number>();
  for (const original of history) {
    const message = withLayerUpdates(original);
    if (message.role === "tool") {
      const resultIndex = openResults.get(message.id);
      if (resultIndex !== undefined) fixed[resultIndex] = message;
      openResults.delete(message.id);
      continue;
    }
    const calls = message.role === "assistant" ? (message.calls ?? []) : [];
    const images = message.role === "user" ? (message.images ?? []) : [];
    if (message.role === "assistant") openResults = new Map();
    if (!message.text && !calls.length && !images.length) continue;
    const lastMessage = fixed.at(-1);
    if (lastMessage?.role === message.role)
      fixed[fixed.length - 1] = mergeMessages(lastMessage, message);
    else fixed.push(message);
    for (const { id, name } of calls)
      openResults.set(
        id,
        fixed.push({ role: "tool", id, name, text: "[interrupted]", failed: true }) - 1,
      );
  }
  return fixed;
}

/** Puts layer updates in front of the words that they came with. */
function withLayerUpdates(message: Message): Message {
  if (message.role !== "user" || !message.news) return message;
  const { news, ...rest } = message;
  return { ...rest, text: [...Object.values(news), rest.text].filter(Boolean).join("\n\n") };
}

function mergeMessages(firstMessage: Message, secondMessage: Message): Message {
  const images = [firstMessage, secondMessage].flatMap(
    (message) => ("images" in message && message.images) || [],
  );
  const extra = [firstMessage, secondMessage].flatMap(
    (message) => ("extra" in message && message.extra) || [],
  );
  const text = [firstMessage.text, secondMessage.text].filter(Boolean).join("\n\n");
  return {
    ...secondMessage,
    text,
    ...(images.length && { images }),
    ...(extra.length && { extra }),
  };
}
