// The test kit, `import { harness } from "zz/test"`: a plugin with the real loader, gate, files and
// turn loop, a scripted model, a temporary project, and a person who answers as told.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import {
  type About,
  type Answer,
  type Ask,
  type Awaitable,
  type Chat,
  type ChatRequest,
  type Clock,
  type Ctx,
  type Delta,
  EVENTS,
  type Events,
  type Finish,
  type Plugin,
  type Provider,
  type Reloaded,
  type Result,
  type Usage,
} from "../kernel/contract.ts";
import { openChat } from "../kernel/conversation/chat.ts";
import { closeChat } from "../kernel/conversation/save-chat.ts";
import { openSession } from "../kernel/conversation/session-files.ts";
import { sessionPlaceOf } from "../kernel/conversation/session-store.ts";
import { emit, observeEvent } from "../kernel/events.ts";
import type { Core, LiveChat, Options } from "../kernel/instance.ts";
import { createCtx } from "../kernel/plugins/create-ctx.ts";
import { closeInstance } from "../kernel/plugins/plugin-handle.ts";
import { processIo } from "../kernel/system/streams.ts";
import { removeTree } from "../kernel/system/temporary-files.ts";
import { fault } from "../kernel/text/faults.ts";
import { createZz, obey } from "../zz.ts";
import { PATIENT } from "./clock.ts";

export { type StandingClock, standingClock } from "./clock.ts";

/** What is tested, and in which surroundings. */
export interface Setup
  extends Pick<Options, "settings" | "allow" | "deny" | "tools" | "rounds" | "system" | "debug"> {
  // files or folders, by path or file: URL, or functions
  plugins?: (string | URL | Plugin<any> | Inline)[];
  files?: Record<string, string | Uint8Array>; // the project's
  home?: Record<string, string | Uint8Array>; // the home's
  // the model: each request takes the next step; the last one stays. Without one, it answers "ok"
  script?: Step[];
  // recorded by --record: every request is answered from it, and zz's own plugins are loaded
  cassette?: string | URL;
  model?: string; // provider/model, instead of the script: as when the cassette was recorded
  // what the person says to keys, "no" by default; to a line, only a function says something
  answer?: "yes" | "no" | "nobody" | Ask;
  own?: boolean; // zz's own plugins too, with their tools and commands: /undo, /help …
  live?: boolean; // as if at a terminal
  // standingClock(), which the test moves; by default the machine's, on which limits of 5 s and
  // more end nothing
  clock?: Clock;
}
/** A plugin without a file: what its file would export. */
export type Inline = { name?: string; default: Plugin<any>; defaults?: object; settings?: object };

/**
 * The model's next step. If the last step is a call, it is made once a turn, and its result is the
 * answer.
 */
export type Step = string | Move | ((request: ChatRequest) => Awaitable<string | Move>);
export interface Move {
  text?: string;
  thinking?: string;
  call?: Asked;
  calls?: Asked[];
  finish?: Finish;
  usage?: Usage;
  fail?: string; // instead of an answer
  status?: number; // its status; from 500 on it is retried
}
export type Asked = [tool: string, args?: unknown];

/**
 * What a line led to: the answer, the results of the model's calls, and what the person was told.
 */
export type Said = Answer & { results: Result[]; notes: string[] };
type Happened = { [K in keyof Events]: { type: K } & Events[K] }[keyof Events];

export interface Harness {
  ask(typedLine: string): Promise<Said>; // through the turn loop; commands run, too
  command(typedLine: string): Promise<string[]>; // what the person was told
  call(toolName: string, args?: unknown): Promise<Result>; // as ctx.call(): through the same gate
  read(fileName: string): string | undefined; // a file of the project; undefined: it does not exist
  write(fileName: string, content: string | Uint8Array): void;
  reload(): Promise<Reloaded[]>; // plugins whose files changed
  restart(): Promise<void>; // like a new process with the same home and conversation
  stop(): void; // Ctrl+C
  close(): Promise<void>; // removes everything; throws if a plugin's cleanup failed
  [Symbol.asyncDispose](): Promise<void>;
  readonly root: string;
  readonly home: string;
  readonly requests: ChatRequest[]; // what the model was sent
  readonly questions: string[]; // what the person was asked
  readonly notes: string[]; // what the person was told
  readonly events: Happened[]; // all but `received`
  readonly plugin: About["plugins"][number]; // the first of the plugins
  readonly chat: Chat;
  readonly ctx: Ctx; // as a command gets it
  readonly core: Core;
}

const MODEL = "script/model";
const RECORDED = EVENTS.filter((event) => event !== "received");
const INLINE = Symbol.for("zz.inline"); // where a function's file finds the function

/** The state of a harness: folders, recordings, and the current instance. */
interface Kit
  extends Pick<Harness, "root" | "home" | "requests" | "questions" | "notes" | "events"> {
  setup: Setup;
  base: string; // around the project and the home
  inline: Map<string, Inline>; // by the file that represents it
  files: string[]; // of the plugins
  provider: Provider;
  core: Core;
  chat: LiveChat;
  open: boolean;
  underWay: Promise<unknown>;
}

/**
 * Gives a test its zz. With the test's context, or with `await using`, it is closed when the test
 * ends.
 */
export async function harness(
  setup: Setup = {},
  test?: { after(cleanUp: () => Promise<void>): void },
): Promise<Harness> {
  const kit = newKit(setup);
  const { root, home, requests, questions, notes, events, files } = kit;
  const currentCtx = () => createCtx(kit.core, kit.chat);
  const end = () => close(kit);
  try {
    for (const [folder, givenFiles] of [
      [root, setup.files] as const,
      [home, setup.home] as const,
    ]) {
      fs.mkdirSync(folder);
      for (const [name, content] of Object.entries(givenFiles ?? {}))
        put(path.join(folder, name), content);
    }
    await start(kit);
  } catch (error) {
    await end().catch(() => {}); // the first error is the one to report
    throw error;
  }
  test?.after(end);
  return {
    root,
    home,
    requests,
    questions,
    notes,
    events,
    close: end,
    [Symbol.asyncDispose]: end,
    ask: (line) => ask(kit, line),
    command: async (line) => (await ask(kit, line.replace(/^\/?/, "/"))).notes,
    call: (tool, args = {}) => currentCtx().call(tool, args),
    read: (name) =>
      fs.existsSync(path.join(root, name))
        ? fs.readFileSync(path.join(root, name), "utf8")
        : undefined,
    write: (name, content) => put(path.join(root, name), content),
    reload: async () => currentCtx().plugins.refresh(),
    restart: () => restart(kit),
    stop: () => kit.chat.stop.abort(),
    get plugin() {
      return currentCtx().about.plugins.find(
        ({ file }) => file === files[0] || file.startsWith(files[0] + path.sep),
      )!;
    },
    get chat() {
      return kit.chat;
    },
    get ctx() {
      return currentCtx();
    },
    get core() {
      return kit.core;
    },
  };
}

function newKit(setup: Setup): Kit {
  const base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "zz-test-")));
  const inline: Kit["inline"] = new Map();
  const requests: ChatRequest[] = [];
  return {
    setup,
    base,
    root: path.join(base, "project"),
    home: path.join(base, "home"),
    inline,
    requests,
    questions: [],
    notes: [],
    events: [],
    open: true,
    underWay: Promise.resolve(),
    files: (setup.plugins ?? []).map((givenPlugin, i) => fileOf(givenPlugin, i, base, inline)),
    provider: scripted(setup.script ?? [], requests),
    ...({} as Pick<Kit, "core" | "chat">), // set by start()
  };
}

/** The file of a plugin. A function gets one, so that it is loaded like any other. */
function fileOf(
  givenPlugin: NonNullable<Setup["plugins"]>[number],
  i: number,
  base: string,
  inline: Kit["inline"],
): string {
  if (givenPlugin instanceof URL || /^file:/.test(String(givenPlugin)))
    return fileURLToPath(givenPlugin as URL);
  if (typeof givenPlugin === "string") return path.resolve(givenPlugin);
  const exports: Inline =
    typeof givenPlugin === "function"
      ? { name: givenPlugin.name, default: givenPlugin }
      : givenPlugin;
  const name = exports.name && exports.name !== "default" ? exports.name : `inline${i || ""}`;
  const file = path.join(base, `${name}.mjs`);
  inline.set(file, exports);
  return file;
}

/** As a process does it. */
async function start(kit: Kit, session?: string): Promise<void> {
  const { setup, root, home, inline, files, requests, notes, events, provider } = kit;
  const {
    settings = {},
    cassette,
    own = cassette !== undefined,
    live = false,
    answer = "no",
    model = MODEL,
    clock = PATIENT,
  } = setup;
  for (const [file, exports] of inline) lend(file, exports);
  const { allow, deny, tools, rounds, system, debug } = setup;
  const core = await createZz({
    settings,
    allow,
    deny,
    tools,
    rounds,
    system,
    debug,
    root,
    home,
    plugins: files,
    bare: !own,
    io: Object.assign(processIo(), { clock }),
  });
  kit.core = core;
  const failures = core.plugins.flatMap(({ failure }) => failure ?? []);
  if (failures.length) throw fault(failures.join("\n"));
  core.providers.set("script", { owner: "test", value: provider });
  for (const event of RECORDED)
    observeEvent(core, event, (fact) => void events.push({ type: event, ...fact } as Happened));
  if (model !== MODEL)
    observeEvent(
      core,
      "requested",
      (request) => void requests.push(structuredClone({ ...request, endpoint: {} })),
    );
  observeEvent(core, "noted", ({ text }) => void notes.push(text));
  if (answer !== "nobody") Object.assign(core, person(kit, answer));
  if (cassette !== undefined) await replay(core, cassette);
  const chat = openChat(
    core,
    model,
    session ? openSession(sessionPlaceOf(core), session, (text) => notes.push(text)) : undefined,
  );
  kit.chat = chat;
  await emit(core, "started", { session: chat.id, model, root, live, stays: live });
}

/** As the flag does it. */
async function replay(core: Core, cassette: string | URL): Promise<void> {
  const file =
    cassette instanceof URL || /^file:/.test(cassette)
      ? fileURLToPath(cassette)
      : path.resolve(cassette);
  const flag = core.flags.get("replay")?.value;
  if (!flag?.set)
    throw fault(
      `Cannot replay '${file}': the plugin that does it is not there. ` +
        'Leave out own: false and "disabled".',
    );
  await flag.set(file, core.ctx());
}

/**
 * A person who answers as told: with a key, a line (hidden ones too), or the name of a choice;
 * "yes" takes the first.
 */
function person(kit: Kit, answer: "yes" | "no" | Ask): Pick<Core, "ask" | "secret" | "pick"> {
  const replyTo = (question: string, keys?: string) => {
    if (typeof answer === "function") return answer(question, keys);
    return keys === undefined ? "" : answer;
  };
  const asked = async (question: string, keys?: string) => {
    kit.questions.push(question);
    await emit(kit.core, "asked", { question });
    return Promise.resolve(replyTo(question, keys)).finally(() =>
      emit(kit.core, "resumed", { ms: 0 }),
    );
  };
  return {
    async ask(question, keys) {
      const reply = await asked(question, keys);
      if (keys === undefined) return reply;
      if (keys.includes(reply.slice(0, 1))) return reply.slice(0, 1);
      return "";
    },
    secret: (question) => asked(question),
    async pick(question, choices) {
      const names = choices.map((choice) => (typeof choice === "string" ? choice : choice.name));
      const reply = await asked(question);
      return answer === "yes" ? names[0] : names.find((name) => name === reply);
    },
  };
}

async function ask(kit: Kit, line: string): Promise<Said> {
  const { events, notes } = kit;
  const [from, noteCount] = [events.length, notes.length];
  const done = obeyLine(kit, line);
  kit.underWay = done.catch(() => {});
  const answer = await done;
  const since = events.slice(from);
  const results = new Map(
    since.flatMap((fact) => (fact.type === "called" ? [[fact.call.id, fact.result] as const] : [])),
  );
  const calls = since.flatMap((fact) => (fact.type === "planned" ? fact.calls : []));
  return {
    ...answer,
    results: calls.flatMap(({ id }) => results.get(id) ?? []),
    notes: notes.slice(noteCount),
  };
}

/** Does what zz does with a typed line. */
async function obeyLine({ core, chat }: Kit, typed: string): Promise<Answer> {
  const turn = { core, chat, ctx: createCtx(core, chat) };
  const answered = obey(turn, typed).finally(() => {
    // a command was stopped, not a turn
    if (chat.stop.signal.aborted) chat.stop = new AbortController();
  });
  return (await answered) ?? { ...NOTHING, session: chat.id };
}

async function restart(kit: Kit): Promise<void> {
  const session = kit.chat.id ?? undefined;
  await end(kit);
  await start(kit, session);
}

async function close(kit: Kit): Promise<void> {
  if (!kit.open) return;
  kit.open = false;
  await end(kit).finally(() => {
    for (const file of kit.inline.keys()) lent().delete(file);
    removeTree(kit.base); // commands may leave folders that nobody may enter
  });
}

async function end({ core, chat, underWay }: Kit): Promise<void> {
  chat?.stop.abort();
  await underWay;
  if (chat) closeChat(core, chat);
  const failures = core ? await closeInstance(core) : [];
  if (failures.length) throw fault(failures.join("\n"));
}

const NOTHING: Answer = {
  text: "",
  model: MODEL,
  session: null,
  finish: "stop",
  rounds: 0,
  calls: [],
  usage: { input: 0, output: 0 },
  ms: 0,
};

function put(file: string, content: string | Uint8Array): void {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, content);
}

const lent = (): Map<string, Inline> => ((globalThis as any)[INLINE] ??= new Map());

function lend(file: string, exports: Inline): void {
  lent().set(file, exports);
  const exportsExpression = `globalThis[Symbol.for("zz.inline")].get(${JSON.stringify(file)})`;
  put(
    file,
    `export const { default: plugin, defaults, settings } = ${exportsExpression};\n` +
      "export default plugin;\n",
  );
}

/** A model that follows the script. */
function scripted(script: Step[], requests: ChatRequest[]): Provider {
  let [stepsTaken, callCount] = [0, 0];
  return { name: "script", models: async () => [{ id: "model", tools: true }], chat };

  async function* chat({ endpoint, ...request }: ChatRequest): AsyncGenerator<Delta> {
    requests.push(structuredClone({ ...request, endpoint: {} }));
    const again = stepsTaken >= script.length;
    const step = script[Math.min(stepsTaken++, script.length - 1)] ?? "ok";
    const move = typeof step === "function" ? await step(requests.at(-1)!) : step;
    const { text, thinking, call, calls = [], finish, usage, fail, status } = asMove(move);
    if (fail !== undefined)
      throw fault(fail, {
        ...(status && { status }),
        transient: (status ?? 0) >= 500 || status === 429,
        after: 0,
      });
    const asked = [...(call ? [call] : []), ...calls];
    const last = request.messages.at(-1);
    const spent = again && typeof step !== "function" && asked.length > 0 && last?.role === "tool";
    if (thinking) yield { thinking };
    if (spent) yield { text: last.text };
    else if (text) yield { text };
    if (!spent)
      for (const [name, args = {}] of asked)
        yield { call: { id: `call_${++callCount}`, name, args } };
    if (usage) yield { usage };
    yield { finish: finish ?? (asked.length && !spent ? "calls" : "stop") };
  }
}

const asMove = (move: string | Move): Move => (typeof move === "string" ? { text: move } : move);
