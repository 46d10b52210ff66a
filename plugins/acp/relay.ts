// Between the editor and the processes of its conversations: each message goes where its session is.
import type { ChildProcess } from "node:child_process";
import path from "node:path";
import type { Ctx, Zz } from "zz";
import { namesIn } from "./names.ts";

/** JSON-RPC, as far as a message has to be looked at. */
interface Message {
  id?: string | number | null;
  method?: string;
  params?: Record<string, any>;
  result?: any;
  error?: { code: number; message: string };
}
interface Session {
  process: ChildProcess;
  number: number;
  waiting: Map<Message["id"], (answer: Message) => void>; // what it was asked, and what becomes of its answer
}
interface Relay {
  zz: Zz;
  ctx: Ctx;
  hello: Message; // the editor's own: each process hears it
  sessions: Map<string, Session>;
  begun: number;
}

const CODES = { parse: -32700, request: -32600, params: -32602, internal: -32603, missing: -32002 };
const VERSION = 1;
const LONGEST = 64 << 20; // characters of one message
const PATIENCE_MS = 3_000; // for a process that is to end

/** Until the editor closes its end. */
export async function relay(zz: Zz, ctx: Ctx): Promise<void> {
  const state: Relay = { zz, ctx, hello: {}, sessions: new Map(), begun: 0 };
  zz.io.stdout.on("error", () => {}); // the editor is gone: its end of stdin tells
  try {
    for await (const line of linesOf(zz.io.stdin)) void obey(state, line);
  } finally {
    await Promise.all([...state.sessions.values()].map(end));
  }
}

async function* linesOf(input: NodeJS.ReadableStream): AsyncGenerator<string> {
  let rest = "";
  for await (const piece of input.setEncoding("utf8")) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop()!;
    if (rest.length > LONGEST) rest = "";
    yield* lines.filter((line) => line.trim());
  }
}

async function obey(state: Relay, line: string): Promise<void> {
  let message: Message;
  try {
    message = JSON.parse(line);
    if (typeof message !== "object" || !message || Array.isArray(message)) throw new Error("it is not a message");
  } catch {
    return send(state, {
      id: null,
      error: { code: CODES.parse, message: "Cannot read this line: it is not JSON-RPC." },
    });
  }
  const { id, method } = message;
  if (method === undefined) return answer(state, message);
  try {
    const result = await handle(state, message);
    if (id !== undefined && result !== undefined) send(state, { id, result });
  } catch (thrown) {
    const { code = CODES.internal, message: why } = thrown as Error & { code?: number };
    if (id !== undefined) send(state, { id, error: { code, message: state.zz.veil(why) } });
  }
}

const refusal = (code: number, message: string): Error => Object.assign(new Error(message), { code });

/** Undefined: the answer comes from the session's own process. */
async function handle(state: Relay, message: Message): Promise<unknown> {
  const { method = "", params = {} } = message;
  if (method === "initialize") return initialize(state, message);
  if (!state.hello.method) throw refusal(CODES.request, `Cannot do '${method}' before 'initialize'.`);
  if (method === "authenticate") return {};
  if (method === "session/new") return begin(state, message);
  if (method === "session/load" || method === "session/resume") return begin(state, message, named(params));
  if (method === "session/list") return list(state, params);
  if (method === "session/delete") return remove(state, named(params));
  if (method === "session/close") return close(state, named(params));
  if (method === "$/cancel_request") {
    for (const one of state.sessions.values()) one.process.send(message);
    return undefined;
  }
  const session = state.sessions.get(named(params));
  if (!session)
    throw refusal(
      CODES.missing,
      `Cannot do '${method}': there is no session '${params.sessionId}'. session/list names them.`,
    );
  pass(state, session, message);
  return undefined;
}

function named(params: Record<string, any>): string {
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

/** A process for one session: it hears the editor's greeting first, then what the editor asked. */
async function begin(state: Relay, message: Message, id?: string): Promise<undefined> {
  const { params = {} } = message;
  if (typeof params.cwd !== "string" || !path.isAbsolute(params.cwd))
    throw refusal(CODES.params, `Cannot begin a session in '${params.cwd}': 'cwd' has to be an absolute path.`);
  if (id && state.sessions.has(id)) await close(state, id);
  const flags = process.argv.slice(2).filter((one) => one !== "--acp");
  const args = [process.argv[1]!, ...flags, "--acp-session", "--no-stdin", "--cwd", params.cwd];
  const child = state.zz.programs.start(
    process.execPath,
    [...args, ...(id ? ["--session", namesIn(state.ctx)[id] ?? id] : [])],
    { stdio: ["ignore", "ignore", "inherit", "ipc"], ownPath: true },
  );
  const session: Session = { process: child, number: state.begun++, waiting: new Map() };
  child.on("message", (told) => hear(state, session, told as Message));
  child.on("error", () => ended(state, session));
  child.on("exit", () => ended(state, session));
  const greeting = { ...state.hello, id: `hello ${session.number}` };
  session.waiting.set(message.id, (told) => {
    const its = id ?? told.result?.sessionId;
    if (its && !told.error) state.sessions.set(its, session);
    send(state, told);
    if (told.error) void end(session);
  });
  session.waiting.set(greeting.id, (told) => void (told.error || child.send(message, () => {})));
  child.send(greeting, () => {});
}

/** To the session's process. */
function pass(state: Relay, session: Session, message: Message): void {
  if (message.id !== undefined) session.waiting.set(message.id, (told) => send(state, told));
  session.process.send(message, () => {});
}

/** From a session's process: an answer, or something for the editor. Its own questions carry its number, so that answers find it. */
function hear(state: Relay, session: Session, message: Message): void {
  if (message.method === undefined) {
    const take = session.waiting.get(message.id);
    session.waiting.delete(message.id);
    take?.(message);
  } else if (message.id === undefined) send(state, message);
  else send(state, { ...message, id: `${session.number} ${JSON.stringify(message.id)}` });
}

/** From the editor, to a question of a session's. */
function answer(state: Relay, message: Message): void {
  const [, number, id] = /^(\d+) (.*)$/s.exec(String(message.id)) ?? [];
  const session = [...state.sessions.values()].find((one) => one.number === Number(number));
  if (session && id) session.process.send({ ...message, id: JSON.parse(id) }, () => {});
}

/** What the editor still waits for is answered. */
function ended(state: Relay, session: Session): void {
  for (const [id, one] of state.sessions) if (one === session) state.sessions.delete(id);
  const error = {
    code: CODES.internal,
    message: "The process of this session ended. Load it again, or begin a new one.",
  };
  for (const [id, take] of session.waiting) take({ id: id ?? null, error });
  session.waiting.clear();
}

async function end({ process: child }: Session): Promise<void> {
  if (child.exitCode !== null || child.signalCode) return;
  const exited = new Promise((done) => child.once("exit", done));
  if (child.connected) child.disconnect(); // its conversation ends as if the editor had left
  const late = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  await exited;
  clearTimeout(late);
}

async function close(state: Relay, id: string): Promise<object> {
  const session = state.sessions.get(id);
  state.sessions.delete(id);
  if (session) await end(session);
  return {};
}

function list({ ctx }: Relay, { cwd }: Record<string, any>): object {
  const all = ctx.sessions.list().filter(({ root }) => !cwd || root === cwd);
  const editors = new Map(Object.entries(namesIn(ctx)).map(([name, own]) => [own, name]));
  return {
    sessions: all.map(({ id, root, title, used }) => ({
      ...{ sessionId: editors.get(id) ?? id, cwd: root, title, updatedAt: used },
    })),
  };
}

async function remove(state: Relay, id: string): Promise<object> {
  await close(state, id);
  const { sessions } = state.ctx;
  const own = namesIn(state.ctx)[id] ?? id;
  if (sessions.list().some((one) => one.id === own)) sessions.remove(own);
  return {};
}

const send = ({ zz }: Pick<Relay, "zz">, message: Message): void =>
  void zz.io.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
