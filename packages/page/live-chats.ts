// The conversations behind --serve. Each is one of `zz --acp`, which this starts: what happens in
// it becomes events that any number of browsers read, from the first on; a question is answered by
// whichever comes first.
import { createHash, randomUUID } from "node:crypto";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";
import type { Ctx, Zz } from "zz";
import { fault } from "zz/text";
import { type Drawn, drawUpdate, questionOf } from "./draw-update.ts";
import { markdownToHtml } from "./markdown-to-html.ts";

/** What a browser is sent; `id` counts from 1 in each conversation. */
export type ChatEvent = Drawn & { id: number };

interface Question {
  hash: string; // of all that it shows: a yes is for exactly that
  options: string[];
  settle(answer: string): void;
}

export interface LiveChat {
  id: string;
  events: ChatEvent[];
  listeners: Set<(event: ChatEvent) => void>;
  questions: Map<string, Question>;
  busy: boolean;
}

export type Attachment = { type: string; base64: string };
/** Why a request cannot be done, and the status that says so over HTTP. */
export const refusal = (status: number, sentence: string): Error => fault(sentence, { status });

/** What the agent says of a fault stands beside the protocol's own word for it. */
function reasonOf(error: unknown): string {
  const { message, data } = error as Error & { data?: { details?: unknown } };
  const { details } = Object(data) as { details?: unknown };
  return typeof details === "string" ? details : message.replace(/^[A-Z][a-z ]+: /, "");
}

const MAX_EVENTS = 20_000; // of a conversation; the first ones go

export class LiveChats {
  readonly #chats = new Map<string, LiveChat>();
  readonly #agent: acp.ClientContext;
  readonly #root: string;
  readonly ended: Promise<void>;

  private constructor(agent: acp.ClientContext, root: string, ended: Promise<void>) {
    this.#agent = agent;
    this.#root = root;
    this.ended = ended;
  }

  /** Starts `zz --acp` with the flags of this run. */
  static async start(zz: Zz, ctx: Ctx): Promise<LiveChats> {
    const flags = process.argv.slice(2).filter((word) => !/^--serve(=|$)/.test(word));
    const child = zz.programs.start(
      process.execPath,
      [...process.execArgv, process.argv[1]!, ...flags, "--acp"],
      { stdio: ["pipe", "pipe", "inherit"], ownPath: true },
    );
    zz.defer(() => void child.kill());
    const ended = new Promise<void>((resolve) => child.on("exit", () => resolve()));
    const stream = acp.ndJsonStream(
      Writable.toWeb(child.stdin!) as WritableStream<Uint8Array>,
      Readable.toWeb(child.stdout!) as ReadableStream<Uint8Array>,
    );
    const { client } = acp.methods;
    let chats: LiveChats;
    const connection: acp.ClientConnection = acp
      .client({ name: "zz page" })
      .onNotification(client.session.update, ({ params }) =>
        chats.#tell(params.sessionId, drawUpdate(params.update)),
      )
      .onRequest(client.session.requestPermission, ({ params }) => chats.#ask(params))
      .onRequest(client.elicitation.create, ({ params }) => chats.#askForText(params))
      .connect(stream);
    const { agent } = connection;
    chats = new LiveChats(agent, ctx.root, ended);
    await agent.request(acp.methods.agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientInfo: { name: "zz page", version: ctx.about.version },
      clientCapabilities: { elicitation: { form: {} } },
    });
    return chats;
  }

  async begin(): Promise<LiveChat> {
    const session = acp.methods.agent.session.new;
    const begun = await this.#agent.request(session, { cwd: this.#root, mcpServers: [] });
    const chat = this.#keep(begun.sessionId);
    this.#tellOptions(chat, begun.configOptions);
    return chat;
  }

  /** A conversation that is open here; else a saved one, which is opened. */
  async open(id: string): Promise<LiveChat> {
    const open = this.#chats.get(id);
    if (open) return open;
    const chat = this.#keep(id); // first, since its history comes as updates
    try {
      const loaded = await this.#agent.request(acp.methods.agent.session.load, {
        sessionId: id,
        cwd: this.#root,
        mcpServers: [],
      });
      this.#tellOptions(chat, loaded.configOptions);
      return chat;
    } catch (error) {
      this.#chats.delete(id);
      throw refusal(404, `Cannot open '${id}': ${reasonOf(error)}`);
    }
  }

  /** Begins a turn. What comes of it are events. */
  send(chat: LiveChat, text: string, attachments: Attachment[]): void {
    if (chat.busy) throw refusal(409, "Cannot send this now: a turn is under way. Stop it first.");
    chat.busy = true;
    const images = attachments.map(({ type, base64 }) => ({
      type: "image" as const,
      mimeType: type,
      data: base64,
    }));
    this.#add(chat, { type: "user", text, html: markdownToHtml(text) });
    const prompt = [{ type: "text" as const, text }, ...images];
    void this.#agent
      .request<acp.PromptResponse>(acp.methods.agent.session.prompt, { sessionId: chat.id, prompt })
      .then(({ stopReason }) => this.#add(chat, { type: "end", text: stopReason }))
      .catch((error) => this.#add(chat, { type: "failed", text: reasonOf(error) }))
      .finally(() => {
        chat.busy = false;
      });
  }

  stop(chat: LiveChat): Promise<void> {
    return this.#agent.notify(acp.methods.agent.session.cancel, { sessionId: chat.id });
  }

  async use(chat: LiveChat, model: string): Promise<void> {
    const set = acp.methods.agent.session.setConfigOption;
    const { configOptions } = await this.#agent
      .request(set, { sessionId: chat.id, configId: "model", value: model })
      .catch((error) => {
        throw refusal(400, `Cannot use '${model}': ${reasonOf(error)}`);
      });
    this.#tellOptions(chat, configOptions);
  }

  /** The first answer to what was shown counts; of a later one, or to another question, nothing. */
  answer(chat: LiveChat, id: string, hash: string, answer: string): void {
    const question = chat.questions.get(id);
    if (!question) throw refusal(409, "This question was answered already.");
    if (question.hash !== hash) throw refusal(409, "This answer is for another question.");
    if (question.options.length && !question.options.includes(answer))
      throw refusal(400, `Answer with one of ${question.options.join(", ")}.`);
    question.settle(answer);
  }

  // ── What the agent says ────────────────────────────────────────────────────────────────────────

  #keep(id: string): LiveChat {
    const events: ChatEvent[] = [];
    const chat = { id, events, listeners: new Set<never>(), questions: new Map(), busy: false };
    this.#chats.set(id, chat);
    return chat;
  }

  #tell(id: string, drawn: Drawn | undefined): void {
    const chat = this.#chats.get(id);
    if (chat && drawn) this.#add(chat, drawn);
  }

  #tellOptions(chat: LiveChat, options: acp.SessionConfigOption[] | null | undefined): void {
    const update = { sessionUpdate: "config_option_update" as const, configOptions: options ?? [] };
    this.#tell(chat.id, drawUpdate(update));
  }

  #add(chat: LiveChat, drawn: Drawn): void {
    const event = { ...drawn, id: (chat.events.at(-1)?.id ?? 0) + 1 };
    chat.events.push(event);
    if (chat.events.length > MAX_EVENTS) chat.events.shift();
    for (const hear of chat.listeners) hear(event);
  }

  async #ask(asked: acp.RequestPermissionRequest): Promise<acp.RequestPermissionResponse> {
    const chat = this.#chats.get(asked.sessionId);
    if (!chat) return { outcome: { outcome: "cancelled" } };
    const { drawn, options } = questionOf(asked);
    const answer = await this.#question(chat, drawn, options);
    if (!options.includes(answer)) return { outcome: { outcome: "cancelled" } };
    return { outcome: { outcome: "selected", optionId: answer } };
  }

  async #askForText(asked: acp.CreateElicitationRequest): Promise<acp.CreateElicitationResponse> {
    const { sessionId, message } = asked as { sessionId?: string; message: string };
    const chat = this.#chats.get(sessionId ?? "");
    if (!chat) return { action: "cancel" };
    const drawn = { type: "question" as const, text: message, html: markdownToHtml(message) };
    const answer = await this.#question(chat, drawn, []);
    return answer ? { action: "accept", content: { answer } } : { action: "decline" };
  }

  /** Shows a question in every browser, and waits for the first answer. */
  async #question(chat: LiveChat, drawn: Drawn, options: string[]): Promise<string> {
    const name = randomUUID();
    const hash = createHash("sha256")
      .update(JSON.stringify([drawn, options]))
      .digest("hex");
    const answer = await new Promise<string>((settle) => {
      chat.questions.set(name, { hash, options, settle });
      this.#add(chat, { ...drawn, name, hash });
    });
    chat.questions.delete(name);
    this.#add(chat, { type: "answered", name, text: answer });
    return answer;
  }
}
