// Conversations for dialogs that are elsewhere, such as a page: each is a session of `zz --acp`,
// which this starts. What happens in it becomes events that any number of listeners read, from the
// first on; a question is answered by the first of them.
import { createHash, randomUUID } from "node:crypto";
import { basename } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import * as acp from "@agentclientprotocol/sdk";
import type { Conversation, ConversationEvent, Conversations, Ctx, SentAlong, Shown, Zz } from "zz";
import { fault } from "zz/text";
import { optionsFact, questionFact, updateFact } from "./facts.ts";
import { namesIn } from "./names.ts";

/** An event before it has its number. */
export type Fact = ConversationEvent extends infer E
  ? E extends E
    ? Omit<E, "id">
    : never
  : never;

interface Question {
  hash: string; // of all that it shows: a yes is for exactly that
  options: string[];
  settle(answer: string): void;
}
interface Live {
  id: string;
  events: ConversationEvent[];
  listeners: Set<(event: ConversationEvent) => void>;
  questions: Map<string, Question>;
  isBusy: boolean;
  last?: string | undefined; // the key of the last message that had one
}

const IS_GONE = /^(The process of this session ended|Cannot do '.*': there is no session)/;
const MAX_EVENTS = 20_000; // of a conversation; the first ones go

const refusal = (status: number, sentence: string): Error => fault(sentence, { status });

/** What the agent says of a fault stands beside the protocol's own word for it. */
function reasonOf(error: unknown): string {
  const { message, data } = error as Error & { data?: { details?: unknown } };
  const { details } = Object(data) as { details?: unknown };
  return typeof details === "string" ? details : message.replace(/^[A-Z][a-z ]+: /, "");
}

/** Starts `zz --acp` with these flags. */
export async function startConversations(
  zz: Zz,
  ctx: Ctx,
  how: { name: string; flags: string[] },
): Promise<Conversations> {
  const child = zz.programs.start(
    process.execPath,
    [...process.execArgv, process.argv[1]!, ...how.flags, "--acp"],
    { stdio: ["pipe", "pipe", "inherit"], ownPath: true },
  );
  zz.defer(() => void child.kill());
  const ended = new Promise<void>((resolve) => child.on("exit", () => resolve()));
  const stream = acp.ndJsonStream(
    Writable.toWeb(child.stdin!) as WritableStream<Uint8Array>,
    Readable.toWeb(child.stdout!) as ReadableStream<Uint8Array>,
  );
  const { client } = acp.methods;
  let running: RunningConversations;
  const connection: acp.ClientConnection = acp
    .client({ name: how.name })
    .onNotification(client.session.update, ({ params }) =>
      running.tell(params.sessionId, updateFact(params.update)),
    )
    .onRequest(client.session.requestPermission, ({ params }) => running.ask(params))
    .onRequest(client.elicitation.create, ({ params }) => running.askForText(params))
    .connect(stream);
  const { agent } = connection;
  running = new RunningConversations(agent, ctx, ended);
  await agent.request(acp.methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientInfo: { name: how.name, version: ctx.about.version },
    clientCapabilities: { elicitation: { form: {} } },
  });
  return running;
}

class RunningConversations implements Conversations {
  readonly #live = new Map<string, Live>();
  readonly #agent: acp.ClientContext;
  readonly #ctx: Ctx;
  readonly #root: string;
  readonly ended: Promise<void>;

  constructor(agent: acp.ClientContext, ctx: Ctx, ended: Promise<void>) {
    this.#agent = agent;
    this.#ctx = ctx;
    this.#root = ctx.root;
    this.ended = ended;
  }

  async begin(): Promise<Conversation> {
    const session = acp.methods.agent.session.new;
    const begun = await this.#agent.request(session, { cwd: this.#root, mcpServers: [] });
    const live = this.#keep(begun.sessionId);
    this.#add(live, optionsFact(begun.configOptions ?? []));
    return this.#conversation(live);
  }

  /** A conversation that is open here; else a saved one, which is opened. */
  async open(id: string): Promise<Conversation> {
    const open = this.#live.get(id) ?? this.#live.get(this.names().get(id) ?? "");
    if (open) return this.#conversation(open);
    const live = this.#keep(id); // first, since its history comes as updates
    try {
      const load = acp.methods.agent.session.load;
      const params = { sessionId: id, cwd: this.#root, mcpServers: [] };
      const loaded = await this.#agent.request<acp.LoadSessionResponse>(load, params);
      this.#add(live, optionsFact(loaded.configOptions ?? []));
      live.last = (loaded._meta as { zz?: { last?: string } } | undefined)?.zz?.last;
      return this.#conversation(live);
    } catch (error) {
      this.#live.delete(id);
      throw refusal(404, `Cannot open '${id}': ${reasonOf(error)}`);
    }
  }

  names(): ReadonlyMap<string, string> {
    const names = Object.entries(namesIn(this.#ctx)).filter(([name]) => this.#live.has(name));
    return new Map(names.map(([name, id]) => [id, name]));
  }

  #conversation(live: Live): Conversation {
    return {
      id: live.id,
      events: live.events,
      last: live.last,
      listen(hear) {
        live.listeners.add(hear);
        return () => void live.listeners.delete(hear);
      },
      send: (text, along) => this.#send(live, text, along),
      stop: () => this.#agent.notify(acp.methods.agent.session.cancel, { sessionId: live.id }),
      use: (model) => this.#use(live, model),
      answer: (name, hash, answer) => settle(live, { name, hash, answer }),
      close: () => this.#close(live),
    };
  }

  async #close(live: Live): Promise<void> {
    this.#live.delete(live.id);
    const close = acp.methods.agent.session.close;
    await this.#agent.request(close, { sessionId: live.id }).catch(() => {}); // it is gone already
  }

  #send(live: Live, text: string, along: SentAlong = {}): void {
    const { images = [], files = [], key } = along;
    if (live.isBusy)
      throw refusal(409, "Cannot send this now: a turn is under way. Stop it first.");
    live.isBusy = true;
    this.#add(live, { type: "user", text, along });
    const prompt: acp.ContentBlock[] = [
      { type: "text", text },
      ...images.map(({ type, base64 }) => ({
        type: "image" as const,
        mimeType: type,
        data: base64,
      })),
      ...files.map((file) => ({
        type: "resource_link" as const,
        uri: pathToFileURL(file).href,
        name: basename(file),
      })),
    ];
    const meta = key === undefined ? {} : { _meta: { zz: { key } } };
    void this.#agent
      .request<acp.PromptResponse>(acp.methods.agent.session.prompt, {
        sessionId: live.id,
        prompt,
        ...meta,
      })
      .finally(() => {
        live.isBusy = false; // before those who listen hear that it is over
      })
      .then(({ stopReason }) => this.#add(live, { type: "end", text: stopReason }))
      .catch((error) => {
        if (IS_GONE.test(reasonOf(error))) this.#live.delete(live.id); // it can be opened again
        this.#add(live, { type: "failed", text: reasonOf(error) });
      });
  }

  async #use(live: Live, model: string): Promise<void> {
    const set = acp.methods.agent.session.setConfigOption;
    const { configOptions } = await this.#agent
      .request(set, { sessionId: live.id, configId: "model", value: model })
      .catch((error) => {
        throw refusal(400, `Cannot use '${model}': ${reasonOf(error)}`);
      });
    this.#add(live, optionsFact(configOptions));
  }

  // ── What the agent says ────────────────────────────────────────────────────────────────────────

  #keep(id: string): Live {
    const live: Live = {
      id,
      events: [],
      listeners: new Set(),
      questions: new Map(),
      isBusy: false,
    };
    this.#live.set(id, live);
    return live;
  }

  tell(id: string, fact: Fact | undefined): void {
    const live = this.#live.get(id);
    if (live) this.#add(live, fact);
  }

  #add(live: Live, fact: Fact | undefined): void {
    if (!fact) return;
    const event = { ...fact, id: (live.events.at(-1)?.id ?? 0) + 1 };
    live.events.push(event);
    if (live.events.length > MAX_EVENTS) live.events.shift();
    for (const hear of live.listeners) hear(event);
  }

  async ask(asked: acp.RequestPermissionRequest): Promise<acp.RequestPermissionResponse> {
    const live = this.#live.get(asked.sessionId);
    if (!live) return { outcome: { outcome: "cancelled" } };
    const question = questionFact(asked);
    const answer = await this.#question(live, question);
    const isOption = question.options.some(({ id }) => id === answer);
    if (!isOption) return { outcome: { outcome: "cancelled" } };
    return { outcome: { outcome: "selected", optionId: answer } };
  }

  async askForText(asked: acp.CreateElicitationRequest): Promise<acp.CreateElicitationResponse> {
    const { sessionId, message } = asked as { sessionId?: string; message: string };
    const live = this.#live.get(sessionId ?? "");
    if (!live) return { action: "cancel" };
    const answer = await this.#question(live, { text: message, shown: [], options: [] });
    return answer ? { action: "accept", content: { answer } } : { action: "decline" };
  }

  /** Shows a question to every listener, and waits for the first answer. */
  async #question(live: Live, asked: Asked): Promise<string> {
    const name = randomUUID();
    const hash = createHash("sha256").update(JSON.stringify(asked)).digest("hex");
    const options = asked.options.map(({ id }) => id);
    const answer = await new Promise<string>((settle) => {
      live.questions.set(name, { hash, options, settle });
      this.#add(live, { type: "question", name, hash, ...asked });
    });
    this.#add(live, { type: "answered", name, text: answer });
    return answer;
  }
}

export type Asked = { text: string; shown: Shown[]; options: { id: string; name: string }[] };

/** The first answer to what was shown counts; a later one, or one to another question, does not. */
function settle(live: Live, given: { name: string; hash: string; answer: string }): void {
  const { name, hash, answer } = given;
  const question = live.questions.get(name);
  if (!question) throw refusal(409, "This question was answered already.");
  if (question.hash !== hash) throw refusal(409, "This answer is for another question.");
  if (question.options.length && !question.options.includes(answer))
    throw refusal(400, `Answer with one of ${question.options.join(", ")}.`);
  live.questions.delete(name); // at once: the next answer may come before this one is acted on
  question.settle(answer);
}
