// What a plugin sees: the types of zz and their tables. Read it as the manual for plugins.
import type {
  ChildProcess,
  ForkOptions,
  SpawnOptions,
  SpawnSyncOptions,
  SpawnSyncReturns,
} from "node:child_process";
import type { Static, TSchema } from "typebox";

export type Awaitable<T> = T | Promise<T>;
/** The default export of a plugin file. The file may also export `defaults: C`, its settings, and
 * `settings: { name, schema, project }`, where `project` names the settings that a project's file
 * may set too (true: all). */
export type Plugin<C = {}> = (zz: Zz<C>) => Awaitable<void>;
/** The handle of one plugin. What it registers goes away when its file is unloaded. */
export interface Zz<C = {}> {
  readonly config: Readonly<C>; // defaults, then the person's settings under the plugin's name
  // what is wrong in those settings, so that its default counts: for settings that protect
  readonly configFault: string | undefined;
  readonly signal: AbortSignal; // aborts on unload
  state<T extends object>(initial: T & Plain<T>): T; // plain JSON, kept in the session; called once
  tool<const S extends Schema = {}>(tool: Tool<S>): void; // one per name
  command(command: Command): void; // one per name
  layer(layer: Layer): void; // all, by slot, then by plugin name
  provider(provider: Provider): void; // one is chosen
  flag(flag: Flag): void; // appears in --help
  key(key: Key): void; // one per key; while a line is typed
  dialog(dialog: Dialog): void; // the last one is used
  store(store: Store): void; // one per scheme; used only if the setting `store` names a URL of it
  /** Observes an event and cannot change it. `limit`: ms that it may take, 5,000 by default. */
  on<K extends keyof Events>(
    event: K,
    see: (fact: Readonly<Events[K]>, ctx: Ctx) => Awaitable<void>,
    how?: { limit?: number },
  ): void;
  /**
   * Wraps a step and may change what goes in and out; a throw fails it, in gate it refuses. `limit`
   * leaves out next() and ctx.
   */
  wrap<K extends keyof Steps>(
    step: K,
    around: Around<Steps[K]>,
    how?: Order | { order?: Order; limit?: number },
  ): void;
  // for others to get by ctx.service(); one per name
  service<K extends keyof Services>(name: K, offer: Services[K]): void;
  defer(cleanup: () => Awaitable<void>): void; // runs on unload, the latest first
  readonly io: PluginIo;
  readonly programs: Programs;
  // a status that is not 2xx throws, in the server's words, unless `any`
  fetch(url: string, request?: HttpRequest): Promise<HttpAnswer>;
  // server-sent events from fetch()
  events(answer: HttpAnswer): AsyncIterable<{ event?: string; data: string }>;
  // from now on `instead`, or [key], is shown in its place
  secret(value: string, instead?: string): Secret;
  // known secrets replaced; with `instead`, for logs, short ones too
  veil(text: string, instead?: string): string;
}

// where a wrapper stands among those of its step; "last" by default
export type Order = "first" | "last";
/** Data that survives JSON unchanged. */
export type Plain<T> = T extends Date | Map<any, any> | Set<any> | Function | bigint | symbol
  ? never
  : { [K in keyof T]: Plain<T[K]> };

/** The part of the built-in fetch that providers need, in a tenth of its loading time. */
type Maybe<T> = { [K in keyof T]?: T[K] | undefined };
/** Looks up each host, after redirects too; may throw. Undefined: as usual. */
type Via = { via(url: URL): Awaitable<import("node:net").LookupFunction | undefined> };
type Sent = {
  method: string;
  headers: Record<string, string>;
  body: string | Uint8Array;
  signal: AbortSignal;
  any: boolean;
};
export type HttpRequest = Maybe<Via & Sent>;
export interface HttpAnswer
  extends Readonly<{ ok: boolean; status: number; headers: { get(name: string): string | null } }> {
  readonly body: AsyncIterable<Uint8Array>;
  text(): Promise<string>;
  json(): Promise<unknown>;
}

/**
 * What plugins offer one another, by name. Yours adds its own: declare module "zz" { interface
 * Services { lamp: Lamp } }
 */
// biome-ignore lint/suspicious/noEmptyInterface: sdk/services.ts and plugins fill it
export interface Services {}

/** What a running tool, command or layer can reach: the turn, not the kernel. */
export interface Ctx extends Pick<Zz, "io" | "programs"> {
  readonly root: string; // the project
  readonly signal: AbortSignal; // aborts on Ctrl+C
  readonly chat: Chat;
  readonly files: Files;
  readonly permissions: Permissions;
  readonly git: Git;
  readonly sessions: Sessions;
  readonly settings: Preferences;
  readonly about: About;
  readonly plugins: Plugins;
  // like the next three, absent without a terminal
  readonly ask?: Ask & ((question: string, how: { secret: true }) => Promise<string>);
  // the choice's name; undefined: none
  pick?(question: string, choices: readonly (string | Choice)[]): Promise<string | undefined>;
  // in the person's editor; undefined: not saved
  edit?(text: string, name: string): Promise<string | undefined>;
  terminal?<T>(act: () => Promise<T>): Promise<T>; // while `act` draws and reads keys itself
  // through the same gate as the model's calls
  call(tool: string, args: unknown, signal?: AbortSignal): Promise<Result>;
  // undefined: the plugin that offers it is off
  service<K extends keyof Services>(name: K): Services[K] | undefined;
  command(name: string, rest?: string): Promise<void>; // as if the person had typed it
  // asks a model outside of the conversation; its cost is kept as an entry "spent"
  request(what: SideRequest): Promise<Reply>;
  // a turn in a conversation of its own; exit: as a one-shot would end
  answer(question: Question): Promise<ApartAnswer>;
  note(text: string): void; // to the person, never to the model
  // changes a private file of the home; no other zz writes it meanwhile
  keep(name: string, change: (text: string) => string): void;
  progress(text: string): void; // a live line while a tool runs
}
/**
 * Asks for a line, or with keys ("yn") for one of these, in either case. Enter and Escape give "".
 * The question is shown as given.
 */
export type Ask = (question: string, keys?: string) => Promise<string>;
/**
 * The only way to start other programs. They are found by absolute path, never in or above the
 * project or in a node_modules.
 */
export interface Programs {
  // its path; searched in this PATH instead of zz's own
  find(name: string, path?: string): string | undefined;
  // throws if there is none
  start(name: string, args: readonly string[], how?: SpawnOptions & OwnPath): ChildProcess;
  // waits for it: only for what ends quickly
  run(name: string, args: readonly string[], how?: SpawnSyncOptions): SpawnSyncReturns<Buffer>;
  fork(file: string | URL, how?: ForkOptions): ChildProcess; // Node, on a file of your own
}
/**
 * Programs get a PATH without the project's folders. ownPath keeps PATH, for a command that the
 * person typed or approved.
 */
export type OwnPath = { ownPath?: boolean };
/**
 * Git, asked in such a way that a repository can neither start programs nor reveal files elsewhere.
 */
export interface Git {
  readonly quiet: readonly string[]; // options that go before git's command
  // its environment: from zz's variables, or from a command's
  env(command?: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
  /**
   * What to ask about before git is run; with a command's variables, before that command runs git
   * itself.
   */
  check(
    folder: string,
    how?: { stop?: AbortSignal; command?: NodeJS.ProcessEnv },
  ): Promise<GitDoubt>;
  // undefined: it failed, or there is no git
  say(args: readonly string[], folder?: string): Promise<string | undefined>;
}
/**
 * Why git might start a program (the name of a setting), and folders outside of the project whose
 * contents it would show. `settings`, only for a command: the repository's own that may name a
 * program or a file; which of them count depends on the command. `top`: its top folder.
 */
export type GitDoubt = { why?: string; settings?: string[]; reads: string[]; top?: string };

/** A question to a model outside of the conversation. The settings may name a model for its task
 * (models.TASK). It may use these tools, through the same gate, for so many rounds (10 by default),
 * then it must answer. Tools that this run leaves out stay out. */
export type SideRequest = {
  task: string;
  messages: Message[];
  system?: string;
  model?: string;
  tools?: string[];
  rounds?: number;
};
/**
 * A question in a new conversation, with the tools and through the gate of this run. `save: false`:
 * no session is kept.
 */
export type ApartAnswer = Answer & { exit: number };
export type Question = {
  text: string;
  images?: Image[];
  model?: string;
  tools?: string[] | false;
  save?: boolean;
  signal?: AbortSignal;
};
export interface Plugins {
  // loads what is new or changed, unloads what is gone; again: retries failures
  refresh(again?: boolean): Promise<Reloaded[]>;
  readonly brought?: Trust; // what the project's .zz/ brings
  // for what was looked at last; sends: approves these, too
  trust(yes: boolean, sends?: Trust["sends"]): Promise<Reloaded[]>;
}
/**
 * What a project brings that could run or steer zz, by name, and whether the person trusts exactly
 * these bytes.
 */
export interface Trust {
  files: string[];
  given: boolean;
  changed?: string[]; // since it was trusted
  wrong?: string; // why it cannot be trusted
  // settings that would send data elsewhere: each needs approval of its own
  sends?: { setting: string; from: string; to: string }[];
}
/** What happened to a plugin whose files changed. If it failed, its last good version stays. */
export type Reloaded = {
  name: string;
  did: "loaded" | "reloaded" | "unloaded" | "failed";
  ms: number;
  why?: string;
};

/** What an instance consists of, for commands such as /help and flags such as --tools. */
export interface About {
  readonly home: string;
  readonly version: string;
  readonly tools: (ChatRequest["tools"][number] & { owner: string; kind: Effect })[];
  readonly commands: (Omit<Command, "run" | "complete"> & { owner: string })[];
  readonly keys: { name: string; description: string; owner: string }[];
  readonly plugins: (PluginFile & PluginState)[];
  readonly flags: Flag[];
  // variable: of its key
  readonly providers: { name: string; variable?: string; endpoint: Endpoint; owner: string }[];
  // of all providers, or of the one in --model
  models(all?: boolean): Promise<{ models: Model[]; failures: string[] }>;
  offered(): Promise<ChatRequest["tools"]>; // the tools that the model is told of
  // by layer; then updates sent earlier, then those to come
  prompt(): Promise<(Part & { sent: "system" | "earlier" | "next" })[]>;
  // as its provider describes it; quick: without a list of all models
  model(name: string, quick?: boolean): Promise<Model | undefined>;
  line(call: Pick<Call, "name" | "args">): string | undefined; // in its tool's words
  complete(command: string, typed: string): Promise<Choice[]>; // what may follow a command's name
}
export type PluginFile = {
  name: string;
  from: "zz" | "home" | "project" | "flag" | "program";
  file: string;
  ms: number;
  adds: Added[];
};
// outdated: why its new version could not be loaded
export type PluginState = { failure?: string; disabled?: boolean; outdated?: string };
// what a plugin registered: a tool, a command, a wrapper …
export type Added = { kind: string; name: string };
export type Choice = { name: string; description?: string }; // something to choose from

export interface Tool<S extends Schema = any> {
  name: string; // snake_case
  description: string;
  aliases?: string[]; // other names that models use; accepted, never advertised
  also?: Record<string, string[]>; // the same for its parameters: { path: ["file_path"] }
  params?: S;
  // for the gate, before it runs; absent: pure
  needs?(args: NoInfer<Infer<S>>, ctx: Ctx): Awaitable<Needs & { unresolved?: boolean }>;
  // the most that a call does, if needs and changes do not say: sending a letter is "run"
  kind?: Effect;
  // it changes files through ctx.files: held until it returns, shown, asked for unless in needs(),
  // made all or none
  changes?: boolean;
  preview?(args: NoInfer<Infer<S>>, ctx: Ctx): Awaitable<string>; // more to show with the question
  // the parameter that the person may edit at the question; the result is judged again
  editable?: string;
  // what the person may allow instead of a command's exact words: "npm run"
  family?(need: string): string | undefined;
  // a throw becomes a failed result that the model reads
  run(args: NoInfer<Infer<S>>, ctx: Ctx): Awaitable<Result | string>;
  // a call in a few words, instead of its arguments, which may not be valid yet
  describe?(args: NoInfer<Infer<S>>): string;
  override?: boolean; // replaces the tool that already has this name
  // for the screen; failures only if they have data
  render?(result: Result, width: number, args: Call["args"]): string;
  timeout?: number; // ms; two minutes by default
}
export type Kind = "read" | "write" | "run" | "net" | "env";
export type Needs = { [K in Kind]?: Need[] };
// the most that a call does: look, change files, or anything else
export type Effect = "read" | "change" | "run";
/**
 * A path, a command's words, a host, or a variable. "ask": asked for whatever lists allow; exact:
 * only a rule with this name allows it.
 */
export type Need = string | { name: string; verdict: Verdict; why: string; exact?: boolean };
export type Verdict = "allow" | "ask" | "deny";
export interface Result {
  text: string;
  data?: unknown; // for programs: --call --json, scripts, other tools
  failed?: boolean;
  refused?: boolean; // it failed because it was not permitted
  images?: Image[];
}
// type: image/png …; application/pdf or audio/mpeg if the model accepts it
export type Image = { type: string; base64: string };

/**
 * zod (or any Standard Schema), typebox, JSON Schema, or the shorthand { path: "string", lines:
 * "number? how many" }.
 */
export type Schema = StandardSchema | TSchema | Shorthand;
export interface StandardSchema {
  readonly "~standard": {
    validate(value: unknown): Awaitable<{ value: unknown } | { issues: readonly SchemaIssue[] }>;
    types?: { input: unknown; output: unknown } | undefined;
    jsonSchema?: { input(options: { target: string }): Record<string, unknown> };
  };
}
export type SchemaIssue = { message: string; path?: readonly unknown[] | undefined };
export type Shorthand = { readonly [param: string]: string };
/** The type of arguments that a schema accepts. */
export type Infer<S> = S extends { readonly "~standard": { types?: infer T } }
  ? Output<NonNullable<T>>
  : S extends Shorthand
    ? { [K in Exclude<keyof S, Loose<S>>]: Value<S[K]> } & { [K in Loose<S>]?: Value<S[K]> }
    : S extends TSchema
      ? Static<S>
      : any;
type Output<T> = T extends { output: infer O } ? O : any;
type Head<T> = T extends `${infer H} ${string}` ? H : T;
type Loose<S> = { [K in keyof S]: Head<S[K]> extends `${string}?` ? K : never }[keyof S];
type Value<T> = Head<T> extends `${infer B}?` ? Word<B> : Word<Head<T>>;
type Word<T> = T extends `${infer One}[]`
  ? Word<One>[]
  : T extends keyof Words
    ? Words[T]
    : unknown;
type Words = { string: string; number: number; integer: number; boolean: boolean };

export interface Command {
  name: string; // after the slash
  description: string;
  usage?: string; // what may follow its name: "[n]"
  // lines to type, and what each does: { "/back 2": "take back the last two" }
  examples?: Record<string, string>;
  // a dialog starts with it if no model is found, or a project is not trusted yet
  offer?: "model" | "trust";
  group?: string; // where /help lists it
  template?: {
    head: Record<string, string>;
    fill(words: string, named?: Record<string, string>): string;
  }; // set for a prompt file
  complete?(typed: string, ctx: Ctx): Awaitable<(string | Choice)[]>;
  run(rest: string, ctx: Ctx): Awaitable<void>;
}
/** How zz and a person talk for longer than one turn. */
export interface Dialog extends Readonly<{ name: string; unseen?: true }> {
  // until the person leaves; the exit code. unseen: needs no terminal (only zz's own)
  talk(host: DialogHost): Promise<number>;
  person?(): Person; // reaches the person during a one-shot; what it lacks cannot be done
}
export interface Person extends Pick<Ctx, "edit" | "terminal" | "pick"> {
  ask?: Ask;
  away?(): boolean; // nobody can be asked now
  most?: number; // characters of the longest question that can be shown
  secret?(question: string): Promise<string>; // a line that is typed unseen; "": none
  note?(text: string): void; // works while a line is being typed
  tryAgain?(failed: Fault, ctx: Ctx): Promise<boolean>; // after a failed request
  goOn?(why: string): Promise<boolean>; // at a limit
}
export interface DialogHost {
  readonly text: string; // the first message, from the command line; "": none
  readonly quiet: boolean;
  // typed lines, kept in the home
  readonly history: { read(): string; update(change: (text: string) => string): void };
  readonly keys: ReadonlyMap<string, { owner: string; value: Key }>;
  meet(person: Person): void; // how to reach the person from now on
  open(): Promise<Ctx>; // chooses the model; rejects if there is none
  ctx(): Ctx | undefined; // once it is open
  begins(): string | undefined; // then: the next command to start with, until there is none
  ask: Ask; // through the person given to meet(); observers hear of it
  // a command or a turn; expand: gives the whole message
  obey(line: string, expand?: (text: string) => string): Promise<void>;
  stop(): boolean; // stops what is running; false: nothing was
  retract(): void; // takes back the last message and everything after it
  prompt(mark: string): Promise<string>; // the mark in front of the line
  typed(text: string): void; // the line that waits while a turn runs
  onEnd(leave: (code: number) => unknown): void; // on a signal; false: continue anyway
}
/** Where zz reads and writes. */
export interface Io {
  readonly stdin: NodeJS.ReadableStream & { isTTY?: boolean; destroy?(): void };
  readonly stdout: NodeJS.WritableStream & { isTTY?: boolean; columns?: number; rows?: number };
  readonly stderr: NodeJS.WritableStream & { isTTY?: boolean; columns?: number; rows?: number };
  readonly env: NodeJS.ProcessEnv;
  cwd(): string;
  enter(folder: string): void; // changes the current folder
  console?: Console; // what plugins print through it is captured
  clock?: Clock; // instead of the machine's
  clean?: boolean; // no control characters on stdout, wherever it leads
}
/** Whatever waits or measures uses it, so that a test can hand in one that it moves itself. */
export interface Clock {
  now(): number; // ms since some moment: only differences mean something
  // cancels; background: zz may end before
  timer(ms: number, act: () => void, how?: { background?: boolean }): () => void;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  limit(ms: number): AbortSignal; // aborts after that time; zz may end before
}
/**
 * The part that plugins get. It holds no environment, so that logging a plugin's handle reveals no
 * key.
 */
export type PluginIo = Pick<Io, "stdin" | "stdout" | "stderr" | "cwd"> & {
  clock: Clock;
  variable(name: string): string | undefined;
};
/** What a key does while a line is typed. */
export interface Key {
  // such as "ctrl+r", "meta+return", "tab" or "f1"; "typing" runs after each change of the line
  name: string;
  description: string;
  press(line: Line, ctx: Ctx): Awaitable<unknown>; // false: do what the key does by default
}
export type Press = { name: string; text: string }; // the key's name, and the text it types
export interface Line {
  readonly text: string; // the line being typed
  readonly cursor: number;
  readonly history: readonly string[]; // newest first
  set(text: string, cursor?: number): void;
  prompt(text?: string): void; // replaces the prompt; without a text it comes back
  // plain rows under the line until the next key; chosen: the marked one
  below(text: string, chosen?: number): void;
  next(): Promise<Press>; // takes the next key
  press(key: Press): void; // as if it were pressed
}

/** Layers are rendered each turn, so they must be cheap. The system prompt stays as first sent, so
 * that a provider's prefix cache keeps working: only "identity" and "rules" change it later.
 * Updates of the others go with the person's message; the first text stays. */
export interface Layer {
  name: string;
  slot: Slot;
  budget?: number; // tokens; a longer text keeps 70 % as its head, 20 % as its tail
  text: string | ((ctx: Ctx) => Awaitable<string | undefined>);
}
export type Slot = (typeof SLOTS)[number];
export type Part = { name: string; slot: Slot; owner: string; text: string }; // a rendered layer
export const SLOTS = ["identity", "rules", "project", "memory", "turn"] as const;

export interface Provider {
  name: string;
  // used for --base-url alone; used if no other answers; listed only with a key or URL
  role?: "default" | "fallback" | "named";
  key?: { variable: string }; // the environment variable of its key, which comes as endpoint.key
  url?: { variable: string }; // the same for its URL
  models(signal: AbortSignal, endpoint: Endpoint): Promise<Model[]>;
  // one of them
  model?(id: string, patience: () => AbortSignal, endpoint: Endpoint): Awaitable<Model | undefined>;
  chat(request: ChatRequest, signal: AbortSignal): AsyncIterable<Delta>;
  /**
   * The model to use if none is named. A string (a key is set) wins over a promise (a server
   * answered). The signal limits the wait.
   */
  auto?(signal: AbortSignal, endpoint: Endpoint): Awaitable<string | undefined>;
}
/** A value that nothing shows. As text it is a placeholder, which only requests fill in. */
export interface Secret {
  toString(): string;
  toJSON(): string;
}
/** A provider's URL and key, from the flags, else the settings' providers.NAME, else the
 * environment, else (for keys) from /keys. A password or key in the URL is a placeholder as well.
 * `own`: the person's other settings for it. */
// for fetch(): `Bearer ${endpoint.key}`
export type Endpoint = { url?: string; key?: Secret; own?: Record<string, unknown> };
export type Model = {
  id: string;
  window?: number;
  tools?: boolean;
  vision?: boolean;
  takes?: string[];
  price?: Price;
  note?: string;
};
// dollars per million tokens
export type Price = { input: number; output: number; cached?: number; written?: number };
export interface ChatRequest {
  task: string; // "chat", or the task of a side request
  // provider/model; a wrapper may change it. The provider sees the part after the slash
  model: string;
  system: string;
  messages: Message[]; // repaired for the provider: every call has a result, roles alternate
  tools: { name: string; description: string; schema: Record<string, unknown> }[];
  options: Record<string, unknown>; // set by the person, with the provider's own names
  effort?: Effort; // how much to think
  schema?: Record<string, unknown>; // the JSON Schema that the answer must fit
  endpoint: Endpoint;
}
export type Effort = "none" | "low" | "medium" | "high";
/**
 * What a provider yields. Without a `finish` the reply was cut off. `error`: the server's body.
 * `extra`, on any of them, is sent back.
 */
type Sign = { usage: Usage } | { finish: string } | { error: unknown } | { extra: unknown };
export type Delta = ({ text: string } | { thinking: string } | { call: CallDelta } | Sign) & {
  extra?: unknown;
};
/** args: a piece of JSON text, or the whole object; extra: what must be sent back with the call. */
export type CallDelta = {
  index?: number;
  id?: string | null;
  name?: string | null;
  args?: unknown;
  extra?: unknown;
};
/**
 * Tokens. Parts of the input: cached ones were read from the provider's cache, written ones were
 * added to it.
 */
export type Usage = { input: number; output: number; cached?: number; written?: number };
// refusal: by the model itself, in its text
export type Finish = "stop" | "calls" | "length" | "filter" | "refusal";
export type Call = {
  id: string;
  name: string;
  args: Record<string, unknown>;
  broken?: string;
  extra?: unknown;
}; // broken: why not
export type Reply = {
  text: string;
  thinking: string;
  calls: Call[];
  finish: Finish;
  data?: unknown;
} & Omit<AnswerMeta, "ms">; // as JSON

export type Message =
  | (UserMeta & { role: "user"; text: string; images?: Image[] })
  | (AnswerMeta & {
      role: "assistant";
      text: string;
      thinking?: string;
      calls?: Call[];
      cut?: boolean;
    }) // cut: unfinished
  | { role: "tool"; id: string; name: string; text: string; failed?: boolean; images?: Image[] };

// aside: from zz or a plugin; news: layer updates, by key
export type UserMeta = { aside?: true; news?: Record<string, string> };
/**
 * The model of an answer, its cost, the ms since the person's message, and extras for its provider,
 * in order.
 */
export type AnswerMeta = { model?: string; usage?: Usage; ms?: number; extra?: unknown[] };
/**
 * Tokens: of the last request with its answer, and of the model's window, if its provider reports
 * it.
 */
type Filled = { used?: number; window?: number };
export interface Chat extends Readonly<Filled> {
  readonly id: string | null; // null: not saved
  readonly model: string; // provider/model
  readonly phase: Phase;
  readonly messages: readonly Message[]; // the current branch, oldest first
  // all entries, and those of the current branch
  tree(): { entries: readonly Entry[]; branch: readonly Entry[] };
  // continues from that entry (null: from none). keep: plugins' states stay
  back(to: number | null, keep?: boolean): void;
  use(model: string): Promise<void>; // changes the model
  send(text: string): void; // as the person's next message, after the current turn
  tell(text: string): void; // to the model, as an aside that stays in the conversation
  attach(what: Image | string): void; // attached to the person's next message; text goes before it
  // the model sees less from now on; the session's file keeps everything
  compact(what: Compaction): void;
}
export interface Compaction {
  upTo?: number; // drops the messages before this index, which must start a turn
  summary?: string; // replaces them
  // new texts by index; a number: cut each text of the message to so many characters
  texts?: Record<number, string | number>;
}

export interface Sessions {
  list(): Listed[]; // the one used last first
  read(id: string): Saved;
  // continues with that session, with a copy of it, or (no id) with a new one
  open(id?: string, copy?: boolean): void;
  rename(id: string, title: string): void;
  remove(id: string): void;
  // "files", a home's folder or a URL; without one, where this zz keeps its sessions
  store(place?: string): SessionStore;
}

/** A kind of place for sessions beside files, by the scheme of its URLs. */
export interface Store {
  name: string; // the scheme of its URLs
  open(url: string): SessionStore; // at its first use; it connects when it is first asked something
}
/**
 * Where sessions are kept. It answers at once: zz goes on when an entry is kept. What it throws is
 * shown; the session goes on unsaved.
 */
export interface SessionStore {
  readonly where: string; // as messages name it, without a password
  // throws if it is out of reach; what the person should know of it, each a sentence
  reach?(): string[];
  ids(): string[];
  list(): Listed[]; // in any order, without those whose last entry is of type "failed"
  // ids of this folder's sessions, last used first
  recent(root: string, warn: (text: string) => void): Iterable<string>;
  read(id: string): Buffer; // its lines, each with a newline at its end
  // locks it; throws if another zz has it open
  open(id: string, isNew: boolean, warn: (text: string) => void): KeptSession;
  rename(id: string, title: string): void; // "": as its header says
  remove(id: string): void;
  close?(): void;
}
/**
 * A session that this zz alone writes to. Its first line is a header as JSON, every other an entry.
 */
export interface KeptSession {
  read(): Buffer;
  append(lines: readonly string[]): void; // all or none; kept when it returns
  cut?(bytes: number): void; // keeps only the first so many: what follows is torn
  sync(): Promise<void>; // safe from a power cut, too
  syncNow(): void; // the same at once; throws if it cannot
  close(): void;
}

export interface Preferences {
  list(): Setting[];
  // checked, saved in the home, effective at once; undefined removes it
  set(name: string, value: unknown): Promise<void>;
  schema(): Record<string, unknown>; // a JSON Schema of all settings
}
export type Setting = {
  name: string;
  owner: string;
  value: unknown;
  default?: unknown;
  values?: unknown[];
} & SetBy;
// from: who set it; absent: a default
type SetBy = { about?: string; from?: ("home" | "project")[] };

/**
 * The disk, for tools. Paths are relative to the project, or absolute inside of it. A tool sees its
 * own changes before they are made.
 */
export interface Files {
  path(name: string): string; // absolute, links followed; throws outside the project
  // if the tool's needs name the file, the model counts as shown all of it
  read(name: string): Promise<FileRead>;
  // instead: only these lines, of the text with this hash or as it is now
  shown(name: string, lines: Span[], hash?: string): void;
  open(file: string): number; // a descriptor for reading that absolute path, which holds no links
  // every file that is not ignored, relative to the project
  list(under?: string): Promise<string[]>;
  // a text keeps the file's BOM, line ends and last newline
  write(name: string, content: string | Uint8Array): Promise<void>;
  remove(name: string): Promise<void>;
  move(from: string, to: string): Promise<void>;
  apply(
    states: FileState[],
    about: string,
  ): Promise<{ refusal?: string; said?: string; left?: string[] }>; // from a copy; left: got a no
  // for undo: what these files were before a change that is made already
  made(before: FileState[]): Promise<void>;
  changes(): Changed[]; // of files in this conversation, oldest first
  diff(id: number): Promise<string>; // of one change, as a question shows it
  undo(what?: string): Promise<Result>; // the last one; or a count, "turn", a path
  redo(what?: string): Promise<Result>;
}
export type FileState = {
  path: string;
  bytes?: Uint8Array;
  mode?: number;
  brief?: string;
  moves?: Move[];
}; // no bytes: it is removed
// of many, shown as `brief`; latin1 names; no from: it is removed
export type Move = [name: string, from?: string, mode?: number];
/**
 * seen: the hash of what the model last saw; lines: those it saw; moved: changes of lines since it
 * made this round's calls.
 */
export type FileRead = {
  text: string;
  bytes: Uint8Array;
  hash: string;
  seen?: string;
  lines: Span[];
  moved: Moved[];
};
export type Span = [from: number, to: number]; // lines, from 1, both included
// these lines were replaced; later ones moved by so many
export type Moved = { from: number; to: number; by: number };
export type Difference = {
  path: string;
  before?: string;
  after?: string;
  note?: string; // what texts do not show, such as modes
  line?: number; // where the texts begin in a large file, of which they are a part
};
export type Changed = {
  id: number;
  turn: number;
  at: string;
  tool: string;
  path: string;
  did: Did;
  undone: boolean;
};
export type Did = "created" | "edited" | "deleted";

/**
 * The rules of the gate. Deny wins, then ask, then allow, then what a tool says about its need,
 * then the defaults.
 */
export interface Permissions {
  readonly rules: readonly Rule[];
  judge(kind: Kind, need: Need): { verdict: Verdict; why: string };
  add(rule: Rule): void; // from "project": kept in the home, for this folder
  drop(rule: Rule): void;
  secret(path: string): boolean; // whether it may hold secrets, by its name
  credentials(): string[]; // absolute paths of the person's own
  // whether a denial of that name covers a name; links not followed
  matches(kind: Kind, pattern: string): (name: string) => boolean;
  // why the root is not an ordinary project (a home, say), so that reading it is asked for
  readonly wide?: string;
  // the absolute path that a rule's name stands for; links not followed
  place(name: string): string;
  // for compilers, which read whatever imports lead to, in any thread or process
  compiler(): CompilerRules;
}
/**
 * Can be passed to another thread or process. `module` exports { compilerGate: MakeCompilerGate }.
 */
export type CompilerRules = {
  readonly module: string;
  readonly rules: readonly Rule[];
  readonly where: object;
};
/**
 * `own`: files and folders that may always be read. `near`: those that may be read although they
 * are outside of the project.
 */
export type MakeCompilerGate = (
  rules: CompilerRules,
  places?: { own?: string[]; near?: string[] },
) => CompilerGate;
/** A compiler reads through this. What it may not read seems not to exist, and is reported once. */
export interface CompilerGate {
  mayRead(file: string): boolean; // its text
  // only to resolve an import: package.json of installed packages too
  mayLookUp(file: string): boolean;
  mayList(folder: string): boolean;
  // reports an import that leads to where nothing may be read
  leadsOut(name: string, file: string): void;
  unread(): string[]; // sentences
  again(): void; // after changes: forgets what it found
}
export interface Rule extends Ruling {
  kind: Kind;
  name?: string; // absent: everything of that kind
  but?: string[]; // then: the exceptions, by name
  exact?: boolean; // only that name, not what is in it or starts with it
  from: "flag" | "settings" | "project" | "answer";
}

export interface Flag {
  name: string;
  short?: string;
  // its name in --help; absent: a switch. "KEY VALUE": two words; "NAME [WORDS]", "FROM TO": run
  // gets the line's words
  value?: string;
  optional?: boolean; // --flag or --flag=value
  many?: boolean; // can be repeated
  alone?: boolean; // loads only zz's own plugins
  traces?: boolean; // errors show stack traces
  variable?: string; // the environment variable that sets it
  group?: string; // where --help lists it
  description: string;
  // before the rest; line: words put in front
  set?(value: string | boolean, ctx: Ctx): Awaitable<void> | Awaitable<{ line: string[] }>;
  // instead of a turn; prints the result
  run?(value: string | boolean, ctx: Ctx, line: Typed): Awaitable<Result>;
  person?(): Person; // whom run() asks, where that is not the person at the terminal
  // Ctrl+C calls it, and run() ends by itself; pressed again, zz ends. Absent: zz ends at once
  stop?(): void;
}
export type Typed = {
  values: ReadonlyMap<string, readonly (string | true)[]>;
  words: readonly string[];
}; // values by flag

/** Facts, in the past tense. */
export interface Events {
  // live: a person watches; stays: dialog
  started: { session: string | null; model: string; root: string; live: boolean; stays: boolean };
  phase: { from: Phase; to: Phase };
  requested: ChatRequest; // as sent to the provider
  received: { tokens: number; ms: number; thinking: string }; // while a reply streams
  replied: Reply & { task: string; ms: number }; // the whole reply
  compacted: { before: number; after: number; summary?: string }; // messages
  retried: { attempt: number; wait: number; reason: string };
  thought: { text: string; ms: number }; // the model's thinking before a reply
  planned: { calls: readonly Call[]; text: string };
  decided: { tool: string; kind: Kind; name: string; allowed: boolean; why: string };
  // shown: the diff, if the person was not asked
  changed: { tool: string; paths: string[]; shown?: string };
  configured: { names: string[] }; // the settings that changed, by their first word
  reloaded: { plugins: Reloaded[] }; // those whose files changed, came or went
  // shown: as rendered; inner: not by the model
  called: { call: Call; result: Result; ms: number; shown?: string; inner?: true };
  progressed: { text: string };
  typed: { text: string }; // by the person during a turn; it waits for the next prompt
  // "": a plugin or an editor has the terminal; until `resumed` nothing else draws
  asked: { question: string };
  resumed: { ms: number }; // the question is over, after so long
  noted: { text: string };
  answered: Answer;
  failed: { message: string; exit: number; kind: string };
}
/** Steps that a plugin can wrap: what goes in, what comes out. */
export interface Steps {
  line: [string, string]; // what the person typed
  // the tools that the model is offered; it can still call others
  offer: [ChatRequest["tools"], ChatRequest["tools"]];
  request: [ChatRequest, Reply];
  // plugins' requests; keys and passwords in them are placeholders
  fetch: [HttpRequest & { url: string }, HttpAnswer];
  call: [Call, Result];
  gate: [Judged, Ruling]; // for what the rules do not deny: only a stricter verdict counts
  preview: [Preview, string]; // what a tool would do, as the question shows it
  render: [string, string]; // the answer, as shown
  prompt: [string, string]; // the mark in front of the line
}
/**
 * unresolved: it may write what no need names and what passes no gate later, as all that runs
 * something may, unless it says false.
 */
export type Judged = { call: Omit<Call, "id">; kind: Effect; needs: Needs; unresolved?: true };
// why: for the person who is asked, or for the model
export type Ruling = { verdict: Verdict; why?: string };
export type Preview = { tool: string; about: string; changes: Difference[] };
export type Around<IO> = IO extends [infer In, infer Out]
  ? (input: In, next: (input: In) => Promise<Out>, ctx: Ctx) => Awaitable<Out>
  : never;

export interface Answer extends Filled, Pick<Reply, "data"> {
  text: string; // by the model
  rendered?: string; // after the wrappers of "render", if they changed it
  thinking?: string;
  model: string;
  session: string | null;
  finish: Finish | "rounds" | "repeat";
  rounds: number;
  /** changes: of a tool that writes files. */
  calls: {
    name: string;
    args: Record<string, unknown>;
    ok: boolean;
    refused?: boolean;
    changes?: boolean;
  }[];
  usage: Usage;
  ms: number;
}
export type Rules = { [K in Kind]?: true | string[] }; // true: everything

/** An error as a sentence, with what the kernel needs to know. */
export interface Fault extends Error {
  exit?: number; // 1 by default
  kind?: "key" | "quota" | "network" | "provider"; // the cause of exit code 1, for programs
  transient?: boolean; // it may pass
  stalled?: boolean; // nothing came for too long: worth one more try
  after?: number; // ms to wait before the next try, as the server says
  status?: number;
  partial?: { text: string; thinking: string };
  dry?: unknown; // --dry-run: the request that was not sent
  told?: boolean; // the person has read it, in the question of a dialog's tryAgain
}
export interface Settings {
  model?: string;
  models?: Record<string, string>; // by task
  window?: number; // the model's window in tokens, if its provider does not say
  rounds?: number;
  disabled?: string[]; // plugins, by name
  timeout?: number; // seconds without a byte from the provider
  store?: string; // where sessions are kept, if not in files
  options?: Record<string, unknown>;
  providers?: Record<
    string,
    {
      url?: string;
      key?: string;
      kept?: string;
      key_command?: string;
      key_command_seconds?: number;
      like?: string;
      [more: string]: unknown;
    }
  >;
  permissions?: { [K in Verdict | "only"]?: Rules };
  [plugin: string]: unknown;
}

export const words = <Word extends string>(text: string): Word[] => text.split(" ") as Word[];
export const EVENTS = words<keyof Events>(
  "started phase requested received replied compacted retried thought planned " +
    "decided changed configured reloaded called progressed typed asked resumed noted answered failed",
);
export const STEPS = words<keyof Steps>("line offer request fetch call gate preview render prompt");
/** Which phase may follow which; `error` and `aborted` may follow any. Thinking is shown only in
 * `thinking` and `planning_tools`, tools run only in `executing_tools`, and text is shown only in
 * `responding`. */
export const PHASES = {
  idle: ["thinking"],
  thinking: ["planning_tools", "responding"],
  planning_tools: ["executing_tools"],
  executing_tools: ["thinking", "responding"],
  responding: ["done"],
  done: ["idle"],
  error: ["idle"],
  aborted: ["idle"],
} as const;
export type Phase = keyof typeof PHASES;
export const KINDS: Kind[] = ["read", "write", "run", "net", "env"];

// the first line of a session's file
export type Header = { zz: 1; id: string; at: string; root: string; model: string; title: string };
// for lists: the last use, the file's size; held by another zz
export type Listed = Header & { used: string; bytes: number; held?: true };
/**
 * Every later line. `parent` makes them a tree: nothing is ever rewritten. Unknown types are kept.
 */
export interface Entry {
  id: number;
  parent: number | null;
  at: string;
  type: "message" | "draft" | "state" | "back" | (string & {});
  message?: Message;
  [field: string]: unknown;
}
/**
 * A session to read and to copy: all entries in order, and the branch from the root to the last
 * one.
 */
export type Saved = {
  readonly header: Header;
  readonly entries: readonly Entry[];
  branch(): Entry[];
};
