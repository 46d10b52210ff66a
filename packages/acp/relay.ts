// Passes messages between the editor and the processes of its sessions.
import type { ChildProcess } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Zz } from "zz";
import { tryTo } from "zz/text";
import { namesIn } from "./names.ts";

/** The parts of a JSON-RPC message that the relay reads. */
interface Message {
  id?: string | number | null;
  method?: string;
  params?: Record<string, any>;
  result?: any;
  error?: { code: number; message: string; data?: { details?: unknown } };
}
interface Session {
  process: ChildProcess;
  number: number;
  // handlers of its answers, by the request's id
  waiting: Map<Message["id"], (answer: Message) => void>;
  isOpen?: true; // its first request was answered
  said: string; // the end of what it wrote on stderr
}
/** What begins a session again whose process died. */
interface Known {
  params: Record<string, any>;
  mode?: string;
  again?: Promise<Session>; // it is being begun
}
interface Relay {
  zz: Zz;
  ctx: Ctx;
  hello: Message; // the editor's `initialize`, which each process gets too
  sessions: Map<string, Session>;
  known: Map<string, Known>; // those of this editor that were not closed
  live: Set<Session>; // also those that have not begun yet
  begun: number;
}

// what its process does
const OF_A_SESSION = /^session\/(prompt|cancel|set_mode|set_config_option)$/;
const CODES = {
  parse: -32700,
  request: -32600,
  method: -32601,
  params: -32602,
  internal: -32603,
  missing: -32002,
};
const VERSION = 1;
const MAX_MESSAGE_CHARS = 64 << 20;
const MAX_SESSIONS = 100; // each has a process
const PATIENCE_MS = 3_000; // until a process that does not end is killed

/** Runs until the editor closes its end. */
export async function relay(zz: Zz, ctx: Ctx): Promise<void> {
  const state: Relay = {
    zz,
    ctx,
    hello: {},
    sessions: new Map(),
    known: new Map(),
    live: new Set(),
    begun: 0,
  };
  zz.io.stdout.on("error", () => {}); // the editor is gone; the end of stdin ends the loop
  try {
    for await (const line of linesOf(zz.io.stdin)) void obey(state, line);
  } finally {
    await Promise.all([...state.live].map(end));
  }
}

async function* linesOf(input: NodeJS.ReadableStream): AsyncGenerator<string> {
  let rest: string[] = []; // joined once its end is here
  let size = 0;
  for await (const piece of input.setEncoding("utf8") as AsyncIterable<string>) {
    const lines = piece.split("\n");
    const last = lines.pop()!;
    if (lines.length) {
      lines[0] = rest.join("") + lines[0];
      [rest, size] = [[], 0];
    }
    size += last.length;
    if (size > MAX_MESSAGE_CHARS) [rest, size] = [[], 0];
    else rest.push(last);
    yield* lines.filter((line) => line.trim());
  }
}

async function obey(state: Relay, line: string): Promise<void> {
  let message: Message;
  try {
    message = JSON.parse(line);
    if (typeof message !== "object" || !message || Array.isArray(message))
      throw new Error("it is not a message");
  } catch {
    return send(state, {
      id: null,
      error: { code: CODES.parse, message: "Cannot read this line: it is not JSON-RPC." },
    });
  }
  const { id, method } = message;
  if (method === undefined) return answer(state, message);
  try {
    if (message.params !== undefined && Object(message.params) !== message.params)
      throw refusal(CODES.params, `Cannot do '${method}': 'params' must be an object.`);
    if (id !== undefined && [...state.live].some(({ waiting }) => waiting.has(id)))
      throw refusal(
        CODES.request,
        `Cannot do '${method}': a request with the id '${id}' is under way. Give each its own.`,
      );
    const result = await handle(state, message);
    if (id !== undefined && result !== undefined) send(state, { id, result });
  } catch (thrown) {
    const { code = CODES.internal, message: reason } = thrown as Error & { code?: number };
    if (id !== undefined) send(state, { id, error: { code, message: state.zz.veil(reason) } });
  }
}

const refusal = (code: number, message: string): Error =>
  Object.assign(new Error(message), { code });

/** The result; undefined if the session's own process answers. */
async function handle(state: Relay, message: Message): Promise<unknown> {
  const { method = "", params = {} } = message;
  if (method === "initialize") return initialize(state, message);
  if (!state.hello.method)
    throw refusal(CODES.request, `Cannot do '${method}' before 'initialize'.`);
  if (method === "authenticate") return {};
  if (method === "session/new") return begin(state, message);
  if (method === "session/load" || method === "session/resume") {
    const id = sessionIdIn(params);
    if (!isSaved(state, id) && !state.known.has(id)) throw missing(method, id);
    return begin(state, message, id);
  }
  if (method === "session/list") return list(state, params);
  if (method === "session/delete") return remove(state, sessionIdIn(params));
  if (method === "session/close") return close(state, sessionIdIn(params));
  if (method === "$/cancel_request") {
    for (const one of state.sessions.values()) one.process.send(message);
    return undefined;
  }
  if (!OF_A_SESSION.test(method))
    throw refusal(CODES.method, `Cannot do '${method}': zz has no such method.`);
  const id = sessionIdIn(params);
  const session = state.sessions.get(id) ?? (await beginAgain(state, id, method));
  if (method === "session/set_mode") noteMode(state, id, params.modeId);
  pass(state, session, message);
  return undefined;
}

const missing = (method: string, id: string): Error =>
  refusal(
    CODES.missing,
    `Cannot do '${method}': there is no session '${id}'. session/list names them.`,
  );

/** Whether a session is on the disk. Nothing is before the first prompt. */
function isSaved({ ctx }: Relay, id: string): boolean {
  const ownName = namesIn(ctx)[id] ?? id;
  return ctx.sessions.list().some((session) => session.id === ownName);
}

function noteMode({ known }: Relay, id: string, mode: unknown): void {
  const entry = known.get(id);
  if (entry && typeof mode === "string") entry.mode = mode;
}

/** Begins a session whose process died once more, in the mode in which it was. */
async function beginAgain(state: Relay, id: string, method: string): Promise<Session> {
  const known = state.known.get(id);
  if (!known) throw missing(method, id);
  known.again ??= resume(state, id, known).finally(() => delete known.again);
  return known.again;
}

async function resume(state: Relay, id: string, { params, mode }: Known): Promise<Session> {
  const again = `zz again ${state.begun}`;
  const { promise, resolve } = Promise.withResolvers<Message>();
  const request = {
    jsonrpc: "2.0",
    id: again,
    method: "session/resume",
    params: { ...params, sessionId: id },
  };
  await begin(state, request, id, resolve);
  const { error } = await promise;
  const session = state.sessions.get(id);
  if (error || !session) throw refusal(CODES.internal, error?.message ?? GONE);
  if (mode !== undefined) {
    const set = { jsonrpc: "2.0", id: `${again} mode`, method: "session/set_mode" };
    await new Promise<void>((done) => {
      session.waiting.set(set.id, () => done());
      session.process.send({ ...set, params: { sessionId: id, modeId: mode } }, () => {});
    });
  }
  return session;
}

function sessionIdIn(params: Record<string, any>): string {
  if (typeof params.sessionId === "string") return params.sessionId;
  throw refusal(CODES.params, "Cannot tell which session is meant: 'sessionId' is missing.");
}

function initialize(state: Relay, message: Message): object {
  state.hello = message;
  return {
    protocolVersion: VERSION,
    agentInfo: { name: "zz", title: "zz", version: state.ctx.about.version },
    agentCapabilities: {
      loadSession: true,
      mcpCapabilities: { http: true, sse: false },
      promptCapabilities: { image: true, embeddedContext: true },
      sessionCapabilities: { list: {}, delete: {}, resume: {}, close: {} },
    },
    authMethods: [],
  };
}

/**
 * Starts a process for one session, and sends it the editor's `initialize` first, then the editor's
 * request.
 */
async function begin(
  state: Relay,
  message: Message,
  id?: string,
  answered = (reply: Message): void => send(state, reply),
): Promise<undefined> {
  const { params = {} } = message;
  if (typeof params.cwd !== "string" || !path.isAbsolute(params.cwd))
    throw refusal(
      CODES.params,
      `Cannot begin a session in '${params.cwd}': 'cwd' has to be an absolute path.`,
    );
  if (!tryTo(() => fs.statSync(params.cwd))?.isDirectory())
    throw refusal(
      CODES.params,
      `Cannot begin a session in '${params.cwd}': no such folder. Check 'cwd'.`,
    );
  const before = id === undefined ? undefined : state.sessions.get(id);
  if (before) {
    state.sessions.delete(id!);
    await end(before);
  }
  if (state.live.size >= MAX_SESSIONS)
    throw refusal(
      CODES.request,
      `Cannot begin a session: ${MAX_SESSIONS} are open. Close one with session/close.`,
    );
  const flags = process.argv.slice(2).filter((flag) => flag !== "--acp");
  const args = [process.argv[1]!, ...flags, "--acp-session", "--no-stdin", "--cwd", params.cwd];
  const child = state.zz.programs.start(
    process.execPath,
    [...args, ...(id && isSaved(state, id) ? ["--session", namesIn(state.ctx)[id] ?? id] : [])],
    { stdio: ["ignore", "ignore", "pipe", "ipc"], ownPath: true },
  );
  const session: Session = { process: child, number: state.begun++, waiting: new Map(), said: "" };
  state.live.add(session);
  const heard = hear(state, session);
  child.on("message", (message) => receive(state, session, message as Message));
  child.on("error", () => ended(state, session));
  child.on("exit", () => void heard.then(() => ended(state, session)));
  const greeting = { ...state.hello, id: `zz hello ${session.number}` };
  session.waiting.set(message.id, (reply) => {
    const sessionId = id ?? reply.result?.sessionId;
    if (sessionId && !reply.error) {
      session.isOpen = true;
      state.sessions.set(sessionId, session);
      state.known.set(sessionId, { ...state.known.get(sessionId), params });
    }
    answered(reply);
    if (reply.error) void end(session);
  });
  session.waiting.set(greeting.id, (reply) => void (reply.error || child.send(message, () => {})));
  child.send(greeting, () => {});
}

/**
 * Passes on what a session's process writes on stderr, and keeps the end of it: why it did not
 * start. Resolves once that is read.
 */
function hear({ zz }: Relay, session: Session): Promise<void> {
  const { stderr } = session.process;
  stderr!.setEncoding("utf8").on("data", (text: string) => {
    session.said = (session.said + text).slice(-MAX_SAID_CHARS);
    zz.io.stderr.write(text);
  });
  const read = new Promise<void>((done) => stderr!.once("end", done));
  // what it started may hold the other end
  const late = new Promise<void>((done) =>
    session.process.once("exit", () => setTimeout(done, HEARD_MS)),
  );
  return Promise.race([read, late]);
}
const MAX_SAID_CHARS = 2_000;
const HEARD_MS = 500;

/** Sends the editor's message to the session's process. */
function pass(state: Relay, session: Session, message: Message): void {
  if (message.id !== undefined) session.waiting.set(message.id, (reply) => send(state, reply));
  session.process.send(message, () => {});
}

/**
 * Handles a message of a session's process. Its requests get the session's number, so that answers
 * find it.
 */
function receive(state: Relay, session: Session, message: Message): void {
  if (message.method === undefined) {
    const onReply = session.waiting.get(message.id);
    session.waiting.delete(message.id);
    onReply?.(inWords(message));
  } else if (message.id === undefined) send(state, message);
  else send(state, { ...message, id: `${session.number} ${JSON.stringify(message.id)}` });
}

/** What went wrong stands in the message, not beside the protocol's own word for it. */
function inWords(message: Message): Message {
  const { error } = message;
  if (error?.code !== CODES.internal) return message;
  const { data, ...plain } = error;
  const { details } = Object(data) as { details?: unknown };
  const words = typeof details === "string" ? details : error.message;
  return { ...message, error: { ...plain, message: words.replace(/^Internal error: /, "") } };
}

/** Passes the editor's answer to the session that asked. */
function answer(state: Relay, message: Message): void {
  const [, number, id] = /^(\d+) (.*)$/s.exec(String(message.id)) ?? [];
  const session = [...state.live].find((candidate) => candidate.number === Number(number));
  // an editor may answer what nobody asked
  const ownId: unknown = tryTo(() => JSON.parse(id ?? ""));
  if (session && ownId !== undefined)
    session.process.send({ ...message, id: ownId } as Message, () => {});
}

/** Answers the editor's open requests to a session whose process ended. */
function ended(state: Relay, session: Session): void {
  state.live.delete(session);
  for (const [id, other] of state.sessions) if (other === session) state.sessions.delete(id);
  const why = session.said.trim().split("\n").at(-1);
  const message = session.isOpen || !why ? GONE : why;
  for (const [id, onReply] of session.waiting)
    onReply({ id: id ?? null, error: { code: CODES.internal, message } });
  session.waiting.clear();
}

const GONE = "The process of this session ended. The next prompt begins it again.";

async function end({ process: child }: Session): Promise<void> {
  if (child.exitCode !== null || child.signalCode) return;
  const exited = new Promise((done) => child.once("exit", done));
  if (child.connected) child.disconnect(); // it ends as if the editor had left
  const late = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  await exited;
  clearTimeout(late);
}

async function close(state: Relay, id: string): Promise<object> {
  const session = state.sessions.get(id);
  state.sessions.delete(id);
  state.known.delete(id);
  if (session) await end(session);
  return {};
}

function list({ ctx }: Relay, { cwd }: Record<string, any>): object {
  const listedSessions = ctx.sessions.list().filter(({ root }) => !cwd || root === cwd);
  const editorNames = new Map(Object.entries(namesIn(ctx)).map(([name, own]) => [own, name]));
  return {
    sessions: listedSessions.map(({ id, root, title, used }) => ({
      sessionId: editorNames.get(id) ?? id,
      cwd: root,
      title,
      updatedAt: used,
    })),
  };
}

async function remove(state: Relay, id: string): Promise<object> {
  await close(state, id);
  const { sessions } = state.ctx;
  const ownName = namesIn(state.ctx)[id] ?? id;
  if (sessions.list().some((session) => session.id === ownName)) sessions.remove(ownName);
  return {};
}

const send = ({ zz }: Pick<Relay, "zz">, message: Message): void =>
  void zz.io.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
