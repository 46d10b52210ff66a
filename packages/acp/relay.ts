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
  waiting: Map<Message["id"], (sessionReply: Message) => void>;
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
const ERROR_CODES = {
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
    for await (const editorLine of linesOf(zz.io.stdin)) void obeyLine(state, editorLine);
  } finally {
    await Promise.all([...state.live].map(endSession));
  }
}

async function* linesOf(inputStream: NodeJS.ReadableStream): AsyncGenerator<string> {
  let unfinishedPieces: string[] = []; // joined once its end is here
  let unfinishedSize = 0;
  for await (const piece of inputStream.setEncoding("utf8") as AsyncIterable<string>) {
    const pieceLines = piece.split("\n");
    const lastPart = pieceLines.pop()!;
    if (pieceLines.length) {
      pieceLines[0] = unfinishedPieces.join("") + pieceLines[0];
      [unfinishedPieces, unfinishedSize] = [[], 0];
    }
    unfinishedSize += lastPart.length;
    if (unfinishedSize > MAX_MESSAGE_CHARS) [unfinishedPieces, unfinishedSize] = [[], 0];
    else unfinishedPieces.push(lastPart);
    yield* pieceLines.filter((wholeLine) => wholeLine.trim());
  }
}

async function obeyLine(state: Relay, editorLine: string): Promise<void> {
  let message: Message;
  try {
    message = JSON.parse(editorLine);
    if (typeof message !== "object" || !message || Array.isArray(message))
      throw new Error("it is not a message");
  } catch {
    return sendToEditor(state, {
      id: null,
      error: { code: ERROR_CODES.parse, message: "Cannot read this line: it is not JSON-RPC." },
    });
  }
  const { id, method } = message;
  if (method === undefined) return passAnswer(state, message);
  try {
    if (message.params !== undefined && Object(message.params) !== message.params)
      throw refusal(ERROR_CODES.params, `Cannot do '${method}': 'params' must be an object.`);
    if (id !== undefined && [...state.live].some(({ waiting }) => waiting.has(id)))
      throw refusal(
        ERROR_CODES.request,
        `Cannot do '${method}': a request with the id '${id}' is under way. Give each its own.`,
      );
    const result = await handleRequest(state, message);
    if (id !== undefined && result !== undefined) sendToEditor(state, { id, result });
  } catch (thrown) {
    const { code = ERROR_CODES.internal, message: reason } = thrown as Error & { code?: number };
    if (id !== undefined)
      sendToEditor(state, { id, error: { code, message: state.zz.veil(reason) } });
  }
}

const refusal = (code: number, message: string): Error =>
  Object.assign(new Error(message), { code });

/** The result; undefined if the session's own process answers. */
async function handleRequest(state: Relay, message: Message): Promise<unknown> {
  const { method = "", params = {} } = message;
  if (method === "initialize") return initialize(state, message);
  if (!state.hello.method)
    throw refusal(ERROR_CODES.request, `Cannot do '${method}' before 'initialize'.`);
  if (method === "authenticate") return {};
  if (method === "session/new") return beginSession(state, message);
  if (method === "session/load" || method === "session/resume") {
    const id = sessionIdIn(params);
    if (!savedName(state, id) && !state.known.has(id)) throw missing(method, id);
    return beginSession(state, message, id);
  }
  if (method === "session/list") return listSessions(state, params);
  if (method === "session/delete") return removeSession(state, sessionIdIn(params));
  if (method === "session/close") return closeSession(state, sessionIdIn(params));
  if (method === "$/cancel_request") {
    for (const liveSession of state.sessions.values()) liveSession.process.send(message);
    return undefined;
  }
  if (!OF_A_SESSION.test(method))
    throw refusal(ERROR_CODES.method, `Cannot do '${method}': zz has no such method.`);
  const id = sessionIdIn(params);
  const session = state.sessions.get(id) ?? (await beginAgain(state, id, method));
  const knownSession = state.known.get(id);
  if (knownSession && method === "session/set_mode" && typeof params.modeId === "string")
    knownSession.mode = params.modeId;
  passToSession(state, session, message);
  return undefined;
}

const missing = (method: string, id: string): Error =>
  refusal(
    ERROR_CODES.missing,
    `Cannot do '${method}': there is no session '${id}'. session/list names them.`,
  );

/** zz's own name of a session that is on the disk. Nothing is before the first prompt. */
function savedName({ ctx }: Relay, id: string): string | undefined {
  const ownName = namesIn(ctx)[id] ?? id;
  return ctx.sessions.list().find((session) => session.id === ownName)?.id;
}

/** Begins a session whose process died once more, in the mode in which it was. */
async function beginAgain(state: Relay, id: string, method: string): Promise<Session> {
  const knownSession = state.known.get(id);
  if (!knownSession) throw missing(method, id);
  knownSession.again ??= resume(state, id, knownSession).finally(() => delete knownSession.again);
  return knownSession.again;
}

async function resume(state: Relay, id: string, { params, mode }: Known): Promise<Session> {
  const resumeId = `zz again ${state.begun}`;
  const { promise, resolve } = Promise.withResolvers<Message>();
  const request = {
    jsonrpc: "2.0",
    id: resumeId,
    method: "session/resume",
    params: { ...params, sessionId: id },
  };
  await beginSession(state, request, id, resolve);
  const { error } = await promise;
  const session = state.sessions.get(id);
  if (error || !session) throw refusal(ERROR_CODES.internal, error?.message ?? SESSION_GONE);
  if (mode !== undefined) {
    const modeRequest = { jsonrpc: "2.0", id: `${resumeId} mode`, method: "session/set_mode" };
    await new Promise<void>((resolveMode) => {
      session.waiting.set(modeRequest.id, () => resolveMode());
      session.process.send({ ...modeRequest, params: { sessionId: id, modeId: mode } }, () => {});
    });
  }
  return session;
}

function sessionIdIn(params: Record<string, any>): string {
  if (typeof params.sessionId === "string") return params.sessionId;
  throw refusal(ERROR_CODES.params, "Cannot tell which session is meant: 'sessionId' is missing.");
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
async function beginSession(
  state: Relay,
  message: Message,
  id?: string,
  answered = (sessionReply: Message): void => sendToEditor(state, sessionReply),
): Promise<undefined> {
  const { params = {} } = message;
  if (typeof params.cwd !== "string" || !path.isAbsolute(params.cwd))
    throw refusal(
      ERROR_CODES.params,
      `Cannot begin a session in '${params.cwd}': 'cwd' has to be an absolute path.`,
    );
  if (!tryTo(() => fs.statSync(params.cwd))?.isDirectory())
    throw refusal(
      ERROR_CODES.params,
      `Cannot begin a session in '${params.cwd}': no such folder. Check 'cwd'.`,
    );
  const previousSession = id === undefined ? undefined : state.sessions.get(id);
  if (previousSession) {
    state.sessions.delete(id!);
    await endSession(previousSession);
  }
  if (state.live.size >= MAX_SESSIONS)
    throw refusal(
      ERROR_CODES.request,
      `Cannot begin a session: ${MAX_SESSIONS} are open. Close one with session/close.`,
    );
  const zzFlags = process.argv.slice(2).filter((zzFlag) => zzFlag !== "--acp");
  const zzArgs = [process.argv[1]!, ...zzFlags, "--acp-session", "--no-stdin", "--cwd", params.cwd];
  const ownName = id && savedName(state, id);
  const child = state.zz.programs.start(
    process.execPath,
    [...zzArgs, ...(ownName ? ["--session", ownName] : [])],
    { stdio: ["ignore", "ignore", "pipe", "ipc"], ownPath: true },
  );
  const session: Session = { process: child, number: state.begun++, waiting: new Map(), said: "" };
  state.live.add(session);
  const errorsRead = hearErrors(state, session);
  child.on("message", (message) => receive(state, session, message as Message));
  child.on("error", () => answerPending(state, session));
  child.on("exit", () => {
    forgetSession(state, session); // the next prompt finds it gone, whatever is still to be read
    void errorsRead.then(() => answerPending(state, session));
  });
  const greeting = { ...state.hello, id: `zz hello ${session.number}` };
  session.waiting.set(message.id, (sessionReply) => {
    const sessionId = id ?? sessionReply.result?.sessionId;
    if (sessionId && !sessionReply.error) {
      session.isOpen = true;
      state.sessions.set(sessionId, session);
      state.known.set(sessionId, { ...state.known.get(sessionId), params });
    }
    answered(sessionReply);
    if (sessionReply.error) void endSession(session);
  });
  session.waiting.set(greeting.id, (reply) => void (reply.error || child.send(message, () => {})));
  child.send(greeting, () => {});
}

/**
 * Passes on what a session's process writes on stderr, and keeps the end of it: why it did not
 * start. Resolves once that is read.
 */
function hearErrors({ zz }: Relay, session: Session): Promise<void> {
  const { stderr } = session.process;
  stderr!.setEncoding("utf8").on("data", (errorText: string) => {
    session.said = (session.said + errorText).slice(-MAX_SAID_CHARS);
    zz.io.stderr.write(errorText);
  });
  const readToEnd = new Promise<void>((resolveRead) => stderr!.once("end", resolveRead));
  // what it started may hold the other end
  const readTimeout = new Promise<void>((resolveLate) =>
    session.process.once("exit", () => setTimeout(resolveLate, HEARD_MS)),
  );
  return Promise.race([readToEnd, readTimeout]);
}
const MAX_SAID_CHARS = 2_000;
const HEARD_MS = 500;

/** Sends the editor's message to the session's process. */
function passToSession(state: Relay, session: Session, message: Message): void {
  if (message.id !== undefined)
    session.waiting.set(message.id, (sessionReply) => sendToEditor(state, sessionReply));
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
  } else if (message.id === undefined) sendToEditor(state, message);
  else sendToEditor(state, { ...message, id: `${session.number} ${JSON.stringify(message.id)}` });
}

/** What went wrong stands in the message, not beside the protocol's own word for it. */
function inWords(message: Message): Message {
  const { error } = message;
  if (error?.code !== ERROR_CODES.internal) return message;
  const { data, ...plain } = error;
  const errorText = typeof data?.details === "string" ? data.details : error.message;
  return { ...message, error: { ...plain, message: errorText.replace(/^Internal error: /, "") } };
}

/** Passes the editor's answer to the session that asked. */
function passAnswer(state: Relay, message: Message): void {
  const [, sessionNumber, id] = /^(\d+) (.*)$/s.exec(String(message.id)) ?? [];
  const session = [...state.live].find((candidate) => candidate.number === Number(sessionNumber));
  // an editor may answer what nobody asked
  const ownRequestId: unknown = tryTo(() => JSON.parse(id ?? ""));
  if (session && ownRequestId !== undefined)
    session.process.send({ ...message, id: ownRequestId } as Message, () => {});
}

function forgetSession({ sessions }: Relay, endedSession: Session): void {
  for (const [id, session] of sessions) if (session === endedSession) sessions.delete(id);
}

/** Answers the editor's open requests to a session whose process ended. */
function answerPending(state: Relay, session: Session): void {
  state.live.delete(session);
  forgetSession(state, session);
  const lastErrorLine = session.said.trim().split("\n").at(-1);
  const message = session.isOpen || !lastErrorLine ? SESSION_GONE : lastErrorLine;
  for (const [id, onReply] of session.waiting)
    onReply({ id: id ?? null, error: { code: ERROR_CODES.internal, message } });
  session.waiting.clear();
}

const SESSION_GONE = "The process of this session ended. The next prompt begins it again.";

async function endSession({ process: child }: Session): Promise<void> {
  if (child.exitCode !== null || child.signalCode) return;
  const processExited = new Promise((resolveExit) => child.once("exit", resolveExit));
  if (child.connected) child.disconnect(); // it ends as if the editor had left
  const killTimer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  await processExited;
  clearTimeout(killTimer);
}

async function closeSession(state: Relay, id: string): Promise<object> {
  const session = state.sessions.get(id);
  state.sessions.delete(id);
  state.known.delete(id);
  if (session) await endSession(session);
  return {};
}

function listSessions({ ctx }: Relay, { cwd }: Record<string, any>): object {
  const listedSessions = ctx.sessions.list().filter(({ root }) => !cwd || root === cwd);
  const editorNames = new Map(
    Object.entries(namesIn(ctx)).map(([editorName, ownName]) => [ownName, editorName]),
  );
  return {
    sessions: listedSessions.map(({ id, root, title, used }) => ({
      sessionId: editorNames.get(id) ?? id,
      cwd: root,
      title,
      updatedAt: used,
    })),
  };
}

async function removeSession(state: Relay, id: string): Promise<object> {
  await closeSession(state, id);
  const ownName = savedName(state, id);
  if (ownName) state.ctx.sessions.remove(ownName);
  return {};
}

const sendToEditor = ({ zz }: Pick<Relay, "zz">, message: Message): void =>
  void zz.io.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
