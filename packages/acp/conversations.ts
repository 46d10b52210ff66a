// Conversations for dialogs that are elsewhere, such as a page: each is a session of `zz --acp`,
// which this starts. What happens in it becomes events that any number of listeners read, from the
// first on; a question is answered by the first of them.
import { createHash, randomUUID } from "node:crypto";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";
import type { Conversation, ConversationEvent, Conversations, Ctx, SentAlong, Shown, Zz } from "zz";
import { fault } from "zz/text";
import { fileBlock, imageBlock } from "./blocks.ts";
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
  settle(answerId: string): void;
}
interface Live {
  id: string;
  events: ConversationEvent[];
  listeners: Set<(newEvent: ConversationEvent) => void>;
  questions: Map<string, Question>;
  isBusy: boolean;
  last?: string | undefined; // the key of the last message that had one
}

const IS_GONE = /^(The process of this session ended|Cannot do '.*': there is no session)/;
const MAX_EVENTS = 20_000; // of a conversation; the first ones go

const refusal = (status: number, sentence: string): Error => fault(sentence, { status });

/** What the agent says of a fault, without the protocol's own word for it. */
const reasonOf = (error: unknown): string =>
  (error as Error).message.replace(/^[A-Z][a-z ]+: /, "");

/** Starts `zz --acp` with these flags. */
export async function startConversations(
  zz: Zz,
  ctx: Ctx,
  startOptions: { name: string; flags: string[] },
): Promise<Conversations> {
  const childProcess = zz.programs.start(
    process.execPath,
    [...process.execArgv, process.argv[1]!, ...startOptions.flags, "--acp"],
    { stdio: ["pipe", "pipe", "inherit"], ownPath: true },
  );
  zz.defer(() => void childProcess.kill());
  const processEnded = new Promise<void>((resolve) => childProcess.on("exit", () => resolve()));
  const messageStream = acp.ndJsonStream(
    Writable.toWeb(childProcess.stdin!) as WritableStream<Uint8Array>,
    Readable.toWeb(childProcess.stdout!) as ReadableStream<Uint8Array>,
  );
  const { client } = acp.methods;
  let running: RunningConversations;
  const connection: acp.ClientConnection = acp
    .client({ name: startOptions.name })
    .onNotification(client.session.update, ({ params }) =>
      running.tell(params.sessionId, updateFact(params.update)),
    )
    .onRequest(client.session.requestPermission, ({ params }) => running.ask(params))
    .onRequest(client.elicitation.create, ({ params }) => running.askForText(params))
    .connect(messageStream);
  const { agent } = connection;
  running = new RunningConversations(agent, ctx, processEnded);
  await agent.request(acp.methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientInfo: { name: startOptions.name, version: ctx.about.version },
    clientCapabilities: { elicitation: { form: {} } },
  });
  return running;
}

class RunningConversations implements Conversations {
  readonly #live = new Map<string, Live>();
  readonly #agent: acp.ClientContext;
  readonly #ctx: Ctx;
  readonly ended: Promise<void>;

  constructor(agentContext: acp.ClientContext, ctx: Ctx, processEnded: Promise<void>) {
    this.#agent = agentContext;
    this.#ctx = ctx;
    this.ended = processEnded;
  }

  async begin(): Promise<Conversation> {
    const session = acp.methods.agent.session.new;
    const { root: cwd } = this.#ctx;
    const newSession = await this.#agent.request(session, { cwd, mcpServers: [] });
    const liveSession = this.#keep(newSession.sessionId);
    this.#add(liveSession, optionsFact(newSession.configOptions ?? []));
    return this.#conversation(liveSession);
  }

  /** A conversation that is open here; else a saved one, which is opened. */
  async open(id: string): Promise<Conversation> {
    const openedSession = this.#live.get(id) ?? this.#live.get(this.names().get(id) ?? "");
    if (openedSession) return this.#conversation(openedSession);
    const liveSession = this.#keep(id); // first, since its history comes as updates
    try {
      const loadMethod = acp.methods.agent.session.load;
      const params = { sessionId: id, cwd: this.#ctx.root, mcpServers: [] };
      const loadedSession = await this.#agent.request<acp.LoadSessionResponse>(loadMethod, params);
      this.#add(liveSession, optionsFact(loadedSession.configOptions ?? []));
      liveSession.last = (loadedSession._meta as any)?.zz?.last;
      return this.#conversation(liveSession);
    } catch (error) {
      this.#live.delete(id);
      throw refusal(404, `Cannot open '${id}': ${reasonOf(error)}`);
    }
  }

  names(): ReadonlyMap<string, string> {
    const openNames = Object.entries(namesIn(this.#ctx)).filter(([editorName]) =>
      this.#live.has(editorName),
    );
    return new Map(openNames.map(([editorName, id]) => [id, editorName]));
  }

  #conversation(liveSession: Live): Conversation {
    return {
      id: liveSession.id,
      events: liveSession.events,
      last: liveSession.last,
      listen(hearEvent) {
        liveSession.listeners.add(hearEvent);
        return () => void liveSession.listeners.delete(hearEvent);
      },
      send: (messageText, sentAlong) => this.#send(liveSession, messageText, sentAlong),
      stop: () =>
        this.#agent.notify(acp.methods.agent.session.cancel, { sessionId: liveSession.id }),
      use: (modelName) => this.#use(liveSession, modelName),
      answer: (name, hash, answer) => settleQuestion(liveSession, { name, hash, answer }),
      close: () => this.#close(liveSession),
    };
  }

  async #close(liveSession: Live): Promise<void> {
    this.#live.delete(liveSession.id);
    const closeMethod = acp.methods.agent.session.close;
    // it is gone already
    await this.#agent.request(closeMethod, { sessionId: liveSession.id }).catch(() => {});
  }

  #send(liveSession: Live, text: string, along: SentAlong = {}): void {
    const { images = [], files = [], key } = along;
    if (liveSession.isBusy)
      throw refusal(409, "Cannot send this now: a turn is under way. Stop it first.");
    liveSession.isBusy = true;
    this.#add(liveSession, { type: "user", text, along });
    const prompt: acp.ContentBlock[] = [
      { type: "text", text },
      ...images.map(imageBlock),
      ...files.map(fileBlock),
    ];
    void this.#agent
      .request<acp.PromptResponse>(acp.methods.agent.session.prompt, {
        sessionId: liveSession.id,
        prompt,
        ...(key !== undefined && { _meta: { zz: { key } } }),
      })
      .finally(() => {
        liveSession.isBusy = false; // before those who listen hear that it is over
      })
      .then(({ stopReason }) => this.#add(liveSession, { type: "end", text: stopReason }))
      .catch((error) => {
        // it can be opened again
        if (IS_GONE.test(reasonOf(error))) this.#live.delete(liveSession.id);
        this.#add(liveSession, { type: "failed", text: reasonOf(error) });
      });
  }

  async #use(liveSession: Live, modelName: string): Promise<void> {
    const setMethod = acp.methods.agent.session.setConfigOption;
    const { configOptions } = await this.#agent
      .request(setMethod, { sessionId: liveSession.id, configId: "model", value: modelName })
      .catch((error) => {
        throw refusal(400, `Cannot use '${modelName}': ${reasonOf(error)}`);
      });
    this.#add(liveSession, optionsFact(configOptions));
  }

  // ── What the agent says ────────────────────────────────────────────────────────────────────────

  #keep(id: string): Live {
    const liveSession: Live = {
      id,
      events: [],
      listeners: new Set(),
      questions: new Map(),
      isBusy: false,
    };
    this.#live.set(id, liveSession);
    return liveSession;
  }

  tell(id: string, newFact: Fact | undefined): void {
    const liveSession = this.#live.get(id);
    if (liveSession) this.#add(liveSession, newFact);
  }

  #add(liveSession: Live, newFact: Fact | undefined): void {
    if (!newFact) return;
    const numberedEvent = { ...newFact, id: (liveSession.events.at(-1)?.id ?? 0) + 1 };
    liveSession.events.push(numberedEvent);
    if (liveSession.events.length > MAX_EVENTS) liveSession.events.shift();
    for (const hearEvent of liveSession.listeners) hearEvent(numberedEvent);
  }

  async ask(permissionAsked: acp.RequestPermissionRequest): Promise<acp.RequestPermissionResponse> {
    const liveSession = this.#live.get(permissionAsked.sessionId);
    if (!liveSession) return { outcome: { outcome: "cancelled" } };
    const question = questionFact(permissionAsked);
    const chosenOption = await this.#question(liveSession, question);
    const isOption = question.options.some(({ id }) => id === chosenOption);
    if (!isOption) return { outcome: { outcome: "cancelled" } };
    return { outcome: { outcome: "selected", optionId: chosenOption } };
  }

  async askForText(
    elicitation: acp.CreateElicitationRequest,
  ): Promise<acp.CreateElicitationResponse> {
    const { sessionId, message } = elicitation as { sessionId?: string; message: string };
    const liveSession = this.#live.get(sessionId ?? "");
    if (!liveSession) return { action: "cancel" };
    const answer = await this.#question(liveSession, { text: message, shown: [], options: [] });
    return answer ? { action: "accept", content: { answer } } : { action: "decline" };
  }

  /** Shows a question to every listener, and waits for the first answer. */
  async #question(liveSession: Live, askedQuestion: Asked): Promise<string> {
    const name = randomUUID();
    const hash = createHash("sha256").update(JSON.stringify(askedQuestion)).digest("hex");
    const options = askedQuestion.options.map(({ id }) => id);
    const firstAnswer = await new Promise<string>((settle) => {
      liveSession.questions.set(name, { hash, options, settle });
      this.#add(liveSession, { type: "question", name, hash, ...askedQuestion });
    });
    this.#add(liveSession, { type: "answered", name, text: firstAnswer });
    return firstAnswer;
  }
}

export type Asked = { text: string; shown: Shown[]; options: { id: string; name: string }[] };

/** The first answer to what was shown counts; a later one, or one to another question, does not. */
function settleQuestion(
  liveSession: Live,
  givenAnswer: { name: string; hash: string; answer: string },
): void {
  const { name, hash, answer } = givenAnswer;
  const question = liveSession.questions.get(name);
  if (!question) throw refusal(409, "This question was answered already.");
  if (question.hash !== hash) throw refusal(409, "This answer is for another question.");
  if (question.options.length && !question.options.includes(answer))
    throw refusal(400, `Answer with one of ${question.options.join(", ")}.`);
  // at once: the next answer may come before this one is acted on
  liveSession.questions.delete(name);
  question.settle(answer);
}
