// What a plugin sees: the types of zz, and the tables that belong to them. Read it as the manual of plugins.
import type { ChildProcess, ForkOptions, SpawnOptions, SpawnSyncOptions, SpawnSyncReturns } from "node:child_process";
import type { Static, TSchema } from "typebox";
import type { Secret } from "./secrets.ts";

export type Awaitable<T> = T | Promise<T>;
/** A plugin file's default export. Beside it stand `defaults: C`, its settings, and `settings: { name, schema, project }`, where `project`
 * names those that a project's file may set too (true: all). */
export type Plugin<C = {}> = (zz: Zz<C>) => Awaitable<void>;
/** One plugin's own handle. Whatever it adds goes away when its file is unloaded. */
export interface Zz<C = {}> {
  readonly config: Readonly<C>; // defaults, then the person's settings under the plugin's name
  readonly signal: AbortSignal; // aborts on unload
  state<T extends object>(initial: T & Plain<T>): T; // plain JSON, kept in the session; called once
  tool<const S extends Schema = {}>(tool: Tool<S>): void; // one per name
  command(command: Command): void; // one per name
  layer(layer: Layer): void; // all, by slot, then by plugin name
  provider(provider: Provider): void; // one chosen
  flag(flag: Flag): void; // appears in --help
  key(key: Key): void; // one per key; while a line is typed
  dialog(dialog: Dialog): void; // one chosen: the last
  /** Sees what happens, cannot change it. `limit` is how many ms it may take: 5,000 unless it asks for more. */
  on<K extends keyof Events>(event: K, see: (fact: Readonly<Events[K]>, ctx: Ctx) => Awaitable<void>, how?: { limit?: number }): void;
  /** Changes what passes; a throw refuses. `limit` is for its own time, without what it waits for in next() and through ctx. */
  wrap<K extends keyof Steps>(step: K, around: Around<Steps[K]>, how?: Order | { order?: Order; limit?: number }): void;
  defer(cleanup: () => Awaitable<void>): void; // on unload, last in first out
  readonly io: PluginIo;
  readonly programs: Programs;
  fetch(url: string, request?: HttpRequest): Promise<HttpAnswer>; // what is not 2xx throws, in the server's own words
  events(answer: HttpAnswer): AsyncIterable<{ event?: string; data: string }>; // server-sent, as fetch() gave them
  secret(value: string, instead?: string): Secret; // from now on shown nowhere; `instead` is, or [key]
  veil(text: string, instead?: string): string; // without known secrets; with `instead`, for logs, without short ones too
}

export type Order = "first" | "last"; // in which wrappers stand around a step: "last" unless it says otherwise
/** What comes back from JSON as it went in. */
export type Plain<T> = T extends Date | Map<any, any> | Set<any> | Function | bigint | symbol ? never : { [K in keyof T]: Plain<T[K]> };

/** The part of the built-in fetch that providers need; it loads in a tenth of the time. */
type Maybe<T> = { [K in keyof T]?: T[K] | undefined };
type Via = { via(url: URL): Awaitable<import("node:net").LookupFunction> }; // how each host is looked up, also after a move; or throws
export type HttpRequest = Maybe<Via & { method: string; headers: Record<string, string>; body: string | Uint8Array; signal: AbortSignal }>;
export interface HttpAnswer extends Readonly<{ ok: boolean; status: number; headers: { get(name: string): string | null } }> {
  readonly body: AsyncIterable<Uint8Array>;
  text(): Promise<string>;
  json(): Promise<unknown>;
}

/** What a running tool, command or layer reaches: the turn, not the kernel. */
export interface Ctx {
  readonly root: string; // the project
  readonly signal: AbortSignal; // aborts on Ctrl-C
  readonly chat: Chat;
  readonly files: Files;
  readonly permissions: Permissions;
  readonly programs: Programs;
  readonly git: Git;
  readonly sessions: Sessions;
  readonly settings: Preferences;
  readonly about: About;
  readonly plugins: Plugins;
  readonly ask?: Ask & ((question: string, how: { secret: true }) => Promise<string>); // absent, as the next three, when nobody is there
  pick?(question: string, choices: readonly (string | Choice)[]): Promise<string | undefined>; // its name; undefined: none of them
  edit?(text: string, name: string): Promise<string | undefined>; // in the person's own editor; undefined: not saved
  terminal?<T>(act: () => Promise<T>): Promise<T>; // lent to what draws and reads keys by itself
  call(tool: string, args: unknown): Promise<Result>; // through the same gate as the model's calls
  command(name: string, rest?: string): Promise<void>; // as if the person had typed it
  request(what: SideRequest): Promise<Reply>; // asks a model beside the conversation; kept: an entry "spent" of what it took
  note(text: string): void; // to the person, never to the model
  keep(name: string, change: (text: string) => string): void; // a private file of the home: no other zz writes it meanwhile
  progress(text: string): void; // a live line while a tool runs
}
/** A line; with keys ("yn"), one of them, also for its capital. Enter and Escape are the empty text, other keys do nothing. */
export type Ask = (question: string, keys?: string) => Promise<string>;
/** Other programs: the only way to start one. Found by its absolute path, and never in or above the project or in a node_modules. */
export interface Programs {
  find(name: string, path?: string): string | undefined; // where it lies; looked for in this PATH instead of zz's own
  start(name: string, args: readonly string[], how?: SpawnOptions & OwnPath): ChildProcess; // throws where there is none
  run(name: string, args: readonly string[], how?: SpawnSyncOptions): SpawnSyncReturns<Buffer>; // waits: for what is done at once
  fork(file: string | URL, how?: ForkOptions): ChildProcess; // Node, on a file of your own
}
/** A program gets a PATH without the project's folders; for a command that the person typed or said yes to, it stays as it is. */
export type OwnPath = { ownPath?: boolean };
/** Git, asked about the project so that nothing runs, and nothing of elsewhere is shown, that a repository chose. */
export interface Git {
  readonly quiet: readonly string[]; // what stands before its command
  env(command?: NodeJS.ProcessEnv): NodeJS.ProcessEnv; // what it runs in: zz's own variables, or a command's
  /** What must be asked for before git looks; with a command's variables, before that command starts git by itself. */
  check(folder: string, how?: { stop?: AbortSignal; command?: NodeJS.ProcessEnv }): Promise<GitDoubt>;
  say(args: readonly string[], folder?: string): Promise<string | undefined>; // undefined: it failed, or is not there
}
/** Why git would run something, by the name of the setting; and folders outside of the project whose contents it would show. */
export type GitDoubt = { why?: string; reads: string[]; top?: string }; // top: of its files, where there is a repository

/** What a model is asked beside the conversation. For its task the settings may name a model of its own: models.TASK. It may use these
 * tools, through the same gate, for so many rounds (10); then it must answer. Tools that this run leaves out it has not. */
export type SideRequest = { task: string; messages: Message[]; system?: string; model?: string; tools?: string[]; rounds?: number };
export interface Plugins {
  refresh(again?: boolean): Promise<Reloaded[]>; // loads what changed or came, takes away what went; again: loads what failed, too
  readonly brought?: Trust; // what the project's .zz/ brings
  trust(yes: boolean, sends?: Trust["sends"]): Promise<Reloaded[]>; // to what was looked at last; and to where its settings send things
}
/** What a project brings that could run or steer zz, by name, and whether the person said yes to just these bytes. */
export interface Trust {
  files: string[];
  given: boolean;
  changed?: string[]; // since they said yes to it
  wrong?: string; // why nobody can
  sends?: { setting: string; from: string; to: string }[]; // where its settings would send things: left out without a yes of its own
}
/** What came of a plugin whose files had changed. One that fails keeps its last good version. */
export type Reloaded = { name: string; did: "loaded" | "reloaded" | "unloaded" | "failed"; ms: number; why?: string };

/** What there is, to look at: for commands such as /help and flags such as --tools. */
export interface About {
  readonly home: string;
  readonly version: string;
  readonly tools: (ChatRequest["tools"][number] & { owner: string; kind: Effect })[];
  readonly commands: (Omit<Command, "run" | "complete"> & { owner: string })[];
  readonly keys: { name: string; description: string; owner: string }[];
  readonly plugins: (PluginFile & PluginState)[];
  readonly flags: Flag[];
  readonly providers: { name: string; variable?: string; endpoint: Endpoint; owner: string }[]; // variable: of its key
  models(all?: boolean): Promise<{ models: Model[]; failures: string[] }>; // of every provider, or of the one that --model names
  offered(): Promise<ChatRequest["tools"]>; // the tools that the model is told of
  prompt(): Promise<(Part & { sent: "system" | "earlier" | "next" })[]>; // by layer; then what was news in an earlier message, or will be
  model(name: string, quick?: boolean): Promise<Model | undefined>; // what its provider tells; quick: without asking for all
  line(call: Pick<Call, "name" | "args">): string | undefined; // as its tool describes it
  complete(command: string, typed: string): Promise<Choice[]>; // what may stand after a command
}
export type PluginFile = { name: string; from: "zz" | "home" | "project" | "flag" | "program"; file: string; ms: number; adds: Added[] };
export type PluginState = { failure?: string; disabled?: boolean; outdated?: string }; // outdated: why its file could not be loaded again
export type Added = { kind: string; name: string }; // what a plugin adds: a tool, a command, a wrapper of a step …
export type Choice = { name: string; description?: string }; // something to choose from

export interface Tool<S extends Schema = any> {
  name: string; // snake_case
  description: string;
  aliases?: string[]; // other names that models use for it; accepted, never advertised
  also?: Record<string, string[]>; // the same for its parameters: { path: ["file_path"] }
  params?: S;
  needs?(args: NoInfer<Infer<S>>, ctx: Ctx): Awaitable<Needs>; // for the gate, before it runs; absent: pure
  kind?: Effect; // what its calls do at most, where needs and changes do not tell: sending a letter is "run"
  changes?: boolean; // of files, through ctx.files: held until it returns, shown, asked for unless needs() named them, made all or none
  preview?(args: NoInfer<Infer<S>>, ctx: Ctx): Awaitable<string>; // what else to show with the question
  editable?: string; // the parameter whose text the person may edit at the question; what they saved is judged again
  family?(need: string): string | undefined; // of a command, what the person may allow beside those very words: "npm run"
  run(args: NoInfer<Infer<S>>, ctx: Ctx): Awaitable<Result | string>; // a throw becomes a failed result that the model reads
  describe?(args: NoInfer<Infer<S>>): string; // a call in a few words, shown in place of its arguments; they may not fit yet
  override?: boolean; // stands instead of the tool that has its name already
  render?(result: Result, width: number, args: Call["args"]): string; // in a row: also of one that failed, where it has data
  timeout?: number; // ms; two minutes unless it says otherwise
}
export type Kind = "read" | "write" | "run" | "net" | "env";
export type Needs = { [K in Kind]?: Need[] };
export type Effect = "read" | "change" | "run"; // what a call does at most: it looks at things, changes files, or anything else
/** A path, a command's words, a host, a variable. "ask" asks whatever a list allows; "exact" until a rule has that very name. */
export type Need = string | { name: string; verdict: Verdict; why: string; exact?: boolean };
export type Verdict = "allow" | "ask" | "deny";
export interface Result {
  text: string;
  data?: unknown; // for programs: --call --json, scripts, other tools
  failed?: boolean;
  refused?: boolean; // failed for want of permission
  images?: Image[];
}
export type Image = { type: string; base64: string }; // type: image/png …; application/pdf or audio/mpeg where a model takes it

/** zod (or any Standard Schema), typebox, JSON Schema, or the shorthand { path: "string", lines: "number? how many" }. */
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
/** The type of the arguments that a schema lets through. */
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
type Word<T> = T extends `${infer One}[]` ? Word<One>[] : T extends keyof Words ? Words[T] : unknown;
type Words = { string: string; number: number; integer: number; boolean: boolean };

export interface Command {
  name: string; // what follows the slash
  description: string;
  usage?: string; // what may follow the name: "[n]"
  examples?: Record<string, string>; // lines to type, and what each does: { "/back 2": "take back the last two" }
  offer?: "model" | "trust"; // a dialog begins with it where no model is found, or where a project waits for trust
  group?: string; // where /help lists it
  template?: { head: Record<string, string>; fill(words: string, named?: Record<string, string>): string }; // of a prompt file
  complete?(typed: string, ctx: Ctx): Awaitable<(string | Choice)[]>;
  run(rest: string, ctx: Ctx): Awaitable<void>;
}
/** How zz and a person talk for longer than one turn. */
export interface Dialog extends Readonly<{ name: string; unseen?: true }> {
  talk(host: DialogHost): Promise<number>; // until the person leaves: the exit code. unseen: no terminal is needed for it
  person?(): Person; // how somebody at the terminal is reached while a single answer is made; what is missing cannot be done
}
export interface Person extends Pick<Ctx, "edit" | "terminal" | "pick"> {
  ask?: Ask;
  secret?(question: string): Promise<string>; // a line that is not shown while it is typed; "": none
  note?(text: string): void; // shows it, also while a line is being typed
  tryAgain?(failed: Fault, ctx: Ctx): Promise<boolean>; // after a failed request
  goOn?(why: string): Promise<boolean>; // at a limit
}
export interface DialogHost {
  readonly text: string; // the first message, from the command line; "": the person types it
  readonly quiet: boolean;
  readonly history: { read(): string; update(change: (text: string) => string): void }; // what was typed, kept in the home
  readonly keys: ReadonlyMap<string, { owner: string; value: Key }>;
  meet(person: Person): void; // from now on this is how they are reached
  open(): Promise<Ctx>; // chooses the model; rejects where there is nothing to talk to
  ctx(): Ctx | undefined; // once it is open
  begins(): string | undefined; // then also: the command to begin with
  ask: Ask; // through the person that was met, and told to those who watch
  obey(line: string, expand?: (text: string) => string): Promise<void>; // a command or a turn, shown; expand: what a message stands for
  stop(): boolean; // what is under way; false: nothing is
  retract(): void; // takes the last message back, and all that came of it
  prompt(mark: string): Promise<string>; // what stands before the line
  typed(text: string): void; // what stands in the line that waits while a turn is under way
  onEnd(leave: (code: number) => unknown): void; // a signal came; false: go on all the same
}
/** Where zz reads and writes. */
export interface Io {
  readonly stdin: NodeJS.ReadableStream & { isTTY?: boolean; destroy?(): void };
  readonly stdout: NodeJS.WritableStream & { isTTY?: boolean; columns?: number; rows?: number };
  readonly stderr: NodeJS.WritableStream & { isTTY?: boolean; columns?: number; rows?: number };
  readonly env: NodeJS.ProcessEnv;
  cwd(): string;
  enter(folder: string): void; // another current folder
  console?: Console; // what plugins print by themselves is taken from it
}
/** The part of it that a plugin has. It holds no environment, so that logging a plugin's handle shows no key. */
export type PluginIo = Pick<Io, "stdin" | "stdout" | "stderr" | "cwd"> & { variable(name: string): string | undefined };
/** What a key does while a line is typed. */
export interface Key {
  name: string; // as in "ctrl+r", "meta+return", "tab", "f1"; "typing" is called after each key that changed the line
  description: string;
  press(line: Line, ctx: Ctx): Awaitable<unknown>; // false: what it does anyway
}
export type Press = { name: string; text: string }; // the key's name, and what it types
export interface Line {
  readonly text: string; // the line being typed
  readonly cursor: number;
  readonly history: readonly string[]; // newest first
  set(text: string, cursor?: number): void;
  prompt(text?: string): void; // instead of the prompt, until it is given back
  below(text: string, chosen?: number): void; // plain rows, shown under the line until the next key; one of them marked
  next(): Promise<Press>; // the next key comes here, and does nothing else
  press(key: Press): void; // as if it had been pressed
}

/** Slots in order. Layers are rendered each turn, so they must be cheap. The system prompt stays as it was first sent, so that a provider's
 * prefix cache holds: only "identity" and "rules" change it later. What is new in the others goes with the person's message. */
export interface Layer {
  name: string;
  slot: Slot;
  budget?: number; // tokens; cut head 70, tail 20 beyond it
  text: string | ((ctx: Ctx) => Awaitable<string | undefined>);
}
export type Slot = (typeof SLOTS)[number];
export type Part = { name: string; slot: Slot; owner: string; text: string }; // a layer as it was rendered
export const SLOTS = ["identity", "rules", "project", "memory", "turn"] as const;

export interface Provider {
  name: string;
  role?: "default" | "fallback" | "named"; // --base-url alone means it; where no other is; listed only with a key or an address
  key?: { variable: string }; // where its key stands in the environment; it comes as endpoint.key
  url?: { variable: string }; // the same for its address
  models(signal: AbortSignal, endpoint: Endpoint): Promise<Model[]>;
  model?(id: string, patience: () => AbortSignal, endpoint: Endpoint): Awaitable<Model | undefined>; // one of them
  chat(request: ChatRequest, signal: AbortSignal): AsyncIterable<Delta>;
  /** The model when nobody named one: a string (a key is set) goes before a promise (a server answered). The signal limits the wait. */
  auto?(signal: AbortSignal, endpoint: Endpoint): Awaitable<string | undefined>;
}
/** Where a provider is, and its key: as the flags say, else the settings' providers.NAME, else the environment, else (the key) what /keys
 * keeps. A password or a key in the address is a placeholder as well. `own`: what else the person's settings say of it. */
export type Endpoint = { url?: string; key?: Secret; own?: Record<string, unknown> }; // for fetch(): `Bearer ${endpoint.key}`
export type Model = { id: string; window?: number; tools?: boolean; vision?: boolean; takes?: string[]; price?: Price; note?: string };
export type Price = { input: number; output: number; cached?: number; written?: number }; // dollars for a million tokens
export interface ChatRequest {
  task: string; // "chat", or what it is for beside the conversation
  model: string; // provider/model: a wrapper may route it to another. The provider sees it without its own name
  system: string;
  messages: Message[]; // the provider sees them repaired: every call has its result, no two of a role in a row
  tools: { name: string; description: string; schema: Record<string, unknown> }[];
  options: Record<string, unknown>; // what the person set, in the provider's own words
  effort?: Effort; // how much to think
  schema?: Record<string, unknown>; // what the answer must fit, as JSON
  endpoint: Endpoint;
}
export type Effort = "none" | "low" | "medium" | "high";
/** What a provider yields. Without a `finish` it was cut off. `error`: the server's own body. `extra`, beside any of it, is sent back. */
type Sign = { usage: Usage } | { finish: string } | { error: unknown } | { extra: unknown };
export type Delta = ({ text: string } | { thinking: string } | { call: CallDelta } | Sign) & { extra?: unknown };
/** args: a piece of JSON text, or the whole object; extra: whatever must be sent back with the call. */
export type CallDelta = { index?: number; id?: string | null; name?: string | null; args?: unknown; extra?: unknown };
/** Tokens. Of those that went in: cached came from the provider's cache, written went into it; both absent where there are none. */
export type Usage = { input: number; output: number; cached?: number; written?: number };
export type Finish = "stop" | "calls" | "length" | "filter" | "refusal"; // refusal: the model's own, its text says so
export type Call = { id: string; name: string; args: Record<string, unknown>; broken?: string; extra?: unknown }; // broken: why not
export type Reply = { text: string; thinking: string; calls: Call[]; finish: Finish; data?: unknown } & Omit<AnswerMeta, "ms">; // as JSON

export type Message =
  | (UserMeta & { role: "user"; text: string; images?: Image[] })
  | (AnswerMeta & { role: "assistant"; text: string; thinking?: string; calls?: Call[]; cut?: boolean }) // cut: it is not finished
  | { role: "tool"; id: string; name: string; text: string; failed?: boolean; images?: Image[] };

export type UserMeta = { aside?: true; news?: Record<string, string> }; // aside: what zz or a plugin says; news: of the layers, by key
/** Who gave an answer, what it cost, how long after the person's message it was there, and what only its provider gets back, in order. */
export type AnswerMeta = { model?: string; usage?: Usage; ms?: number; extra?: unknown[] };
/** Tokens: what the last request and its answer took of the window, and what the model takes in, where its provider tells. */
type Filled = { used?: number; window?: number };
export interface Chat extends Readonly<Filled> {
  readonly id: string | null; // null: not saved
  readonly model: string; // provider/model
  readonly phase: Phase;
  readonly messages: readonly Message[]; // the branch in force, oldest first
  tree(): { entries: readonly Entry[]; branch: readonly Entry[] }; // all that was ever said; of it what is in force
  back(to: number | null, keep?: boolean): void; // goes on from that entry, or from nothing; the file keeps all. keep: plugins' states stay
  use(model: string): Promise<void>; // another model, from now on
  send(text: string): void; // as the person's next message, once the turn under way has ended
  tell(text: string): void; // to the model, for good: an aside that goes with the next request
  attach(what: Image | string): void; // goes with the person's next message; a text before it
  compact(what: Compaction): void; // from now on the model sees less; all of it stays in the session's file
}
export interface Compaction {
  upTo?: number; // `messages` before that index are gone; it begins a turn
  summary?: string; // stands for them
  texts?: Record<number, string | number>; // by index, what a message says now; a number: of each of its texts so many characters
}

export interface Sessions {
  list(): Listed[]; // newest first
  read(id: string): Saved;
  open(id?: string, copy?: boolean): void; // this conversation goes on as that one, as a copy of it, or (no id) as a new one
  rename(id: string, title: string): void;
  remove(id: string): void;
}

export interface Preferences {
  list(): Setting[];
  set(name: string, value: unknown): Promise<void>; // checked, kept in the home, in force at once; undefined takes it back
  schema(): Record<string, unknown>; // of all there is to set, in JSON Schema
}
export type Setting = { name: string; owner: string; value: unknown; default?: unknown; values?: unknown[] } & SetBy;
type SetBy = { about?: string; from?: ("home" | "project")[] }; // from: who set it; absent: nobody

/** The disk, for tools; paths are relative to the project, or absolute inside it. Changes are held until a tool returns; it sees them. */
export interface Files {
  path(name: string): string; // absolute, links followed; throws outside the project
  read(name: string): Promise<FileRead>; // of a tool that names the file in its needs, the model is taken to be shown all of it
  shown(name: string, lines: Span[], hash?: string): void; // instead: it is shown these lines, of the text with that hash or as it is now
  open(file: string): number; // a descriptor for reading just that absolute path, links followed before
  list(under?: string): Promise<string[]>; // every file that is not ignored, relative to the project
  write(name: string, content: string | Uint8Array): Promise<void>; // a text takes on the file's BOM, line ends, last newline
  remove(name: string): Promise<void>;
  move(from: string, to: string): Promise<void>;
  apply(states: FileState[], about: string): Promise<{ refusal?: string; said?: string; left?: string[] }>; // of a copy; left: got a no
  changes(): Changed[]; // what this conversation did to files, oldest first
  diff(id: number): Promise<string>; // one of them, as a question shows it
  undo(what?: string): Promise<Result>; // the last one; or a count, "turn", a path
  redo(what?: string): Promise<Result>;
}
export type FileState = { path: string; bytes?: Uint8Array; mode?: number; brief?: string; moves?: Move[] }; // no bytes: removed
export type Move = [name: string, from?: string, mode?: number]; // many, told as `brief`; names as latin1; from: absent, where it goes
/** seen: the hash of what the model last saw there; lines: those it saw; moved: what was done to lines since this round's calls. */
export type FileRead = { text: string; bytes: Uint8Array; hash: string; seen?: string; lines: Span[]; moved: Moved[] };
export type Span = [from: number, to: number]; // lines, from 1, both included
export type Moved = { from: number; to: number; by: number }; // those lines were replaced; the ones after them moved by so many
export type Difference = { path: string; before?: string; after?: string; note?: string }; // note: what the texts do not show, as a mode
export type Changed = { id: number; turn: number; at: string; tool: string; path: string; did: Did; undone: boolean };
export type Did = "created" | "edited" | "deleted";

/** What the gate goes by. Deny wins, then ask, then allow, then what a tool says of its own need, then the defaults. */
export interface Permissions {
  readonly rules: readonly Rule[];
  judge(kind: Kind, need: Need): { verdict: Verdict; why: string };
  add(rule: Rule): void; // from "project": kept for this folder, in the home
  drop(rule: Rule): void;
  secret(path: string): boolean; // by its name: whether it may hold secrets; the one list of zz
  credentials(): string[]; // where the person's own lie, absolute
  matches(kind: Kind, pattern: string): (name: string) => boolean; // what a denial of that name covers; links not followed
  readonly wide?: string; // why the root is no ordinary project but, say, a home: what is in it is not read unasked
  place(name: string): string; // what the name of a rule stands for as a path: absolute, links not followed
  compiler(): CompilerRules; // for compilers, which read wherever an import leads; also in other threads and processes
}
/** What is handed to another thread or process. Its `module` exports { compilerGate: MakeCompilerGate }. */
export type CompilerRules = { readonly module: string; readonly rules: readonly Rule[]; readonly where: object };
/** `own`: files and folders that may always be read. `near`: those that may though they lie outside of the project. */
export type MakeCompilerGate = (rules: CompilerRules, places?: { own?: string[]; near?: string[] }) => CompilerGate;
/** Through this a compiler reads. What it may not is as if it were not there, and said so once. */
export interface CompilerGate {
  mayRead(file: string): boolean; // its text
  mayLookUp(file: string): boolean; // only to find out where an import leads: the package.json of installed packages too
  mayList(folder: string): boolean;
  leadsOut(name: string, file: string): void; // an import that was not found: told when it leads where nothing may be read
  unread(): string[]; // sentences
  again(): void; // links may have changed
}
export interface Rule extends Ruling {
  kind: Kind;
  name?: string; // absent: all of that kind
  but?: string[]; // then: what is excepted, by name
  exact?: boolean; // that very name, and nothing that lies in it or begins so
  from: "flag" | "settings" | "project" | "answer";
}

export interface Flag {
  name: string;
  short?: string;
  value?: string; // stands for it in --help; absent: a switch. "KEY VALUE" are two words, with "NAME [WORDS]" run gets the line's words
  optional?: boolean; // the value may be left out: --flag or --flag=value
  many?: boolean; // may be given several times
  alone?: boolean; // with it, only zz's own plugins are loaded
  traces?: boolean; // with it, errors show where they come from
  variable?: string; // of the environment, that stands for it
  group?: string; // where --help lists it
  description: string;
  set?(value: string | boolean, ctx: Ctx): Awaitable<void> | Awaitable<{ line: string[] }>; // before anything runs; line: first on it
  run?(value: string | boolean, ctx: Ctx, line: Typed): Awaitable<Result>; // instead of a turn; what it gives is printed
}
export type Typed = { values: ReadonlyMap<string, readonly (string | true)[]>; words: readonly string[] }; // by the flags' names

/** Facts, in the past tense. */
export interface Events {
  started: { session: string | null; model: string; root: string; live: boolean; stays: boolean }; // live: a person watches; stays: to talk
  phase: { from: Phase; to: Phase };
  requested: ChatRequest; // as it went to the provider
  received: { tokens: number; ms: number; thinking: string }; // while a response streams
  replied: Reply & { task: string; ms: number }; // the whole response
  compacted: { before: number; after: number; summary?: string }; // messages
  retried: { attempt: number; wait: number; reason: string };
  thought: { text: string; ms: number }; // what the model thought before a reply
  planned: { calls: readonly Call[]; text: string };
  decided: { tool: string; kind: Kind; name: string; allowed: boolean; why: string };
  changed: { tool: string; paths: string[]; shown?: string }; // shown: as a diff, where the person was not asked
  configured: { names: string[] }; // settings that are otherwise now, by their first word
  reloaded: { plugins: Reloaded[] }; // those whose files had changed, come or gone
  called: { call: Call; result: Result; ms: number; shown?: string; inner?: true }; // shown: by its tool; inner: not by the model
  progressed: { text: string };
  typed: { text: string }; // by the person, while a turn is under way; it waits for the next prompt
  asked: { question: string };
  noted: { text: string };
  answered: Answer;
  failed: { message: string; exit: number; kind: string };
}
/** Where a plugin can change what passes: what goes in, what comes out. */
export interface Steps {
  line: [string, string]; // what the person typed
  offer: [ChatRequest["tools"], ChatRequest["tools"]]; // those that the model is told of; it may call the others all the same
  request: [ChatRequest, Reply];
  fetch: [HttpRequest & { url: string }, HttpAnswer]; // what plugins send: keys and passwords are placeholders in it
  call: [Call, Result];
  gate: [Judged, Ruling]; // what the rules do not deny: only a stricter verdict counts
  preview: [Preview, string]; // what a tool would do, as it is shown with the question
  render: [string, string]; // the answer, as it is shown
  prompt: [string, string]; // what stands before the line that is typed
}
export type Judged = { call: Omit<Call, "id">; kind: Effect; needs: Needs };
export type Ruling = { verdict: Verdict; why?: string }; // why: told with it, to the person who is asked or to the model
export type Preview = { tool: string; about: string; changes: Difference[] };
export type Around<IO> = IO extends [infer In, infer Out]
  ? (input: In, next: (input: In) => Promise<Out>, ctx: Ctx) => Awaitable<Out>
  : never;

export interface Answer extends Filled, Pick<Reply, "data"> {
  text: string; // the model's own
  rendered?: string; // as the wrappers of "render" made it, where that is something else
  thinking?: string;
  model: string;
  session: string | null;
  finish: Finish | "rounds" | "repeat";
  rounds: number;
  calls: { name: string; args: Record<string, unknown>; ok: boolean; refused?: boolean }[];
  usage: Usage;
  ms: number;
}
export type Rules = { [K in Kind]?: true | string[] }; // true: whatever it is

/** An error as a sentence, with what the kernel needs to know about it. */
export interface Fault extends Error {
  exit?: number; // 1 unless it says otherwise
  kind?: "key" | "quota" | "network" | "provider"; // where a failure of exit code 1 comes from, for programs
  transient?: boolean; // worth trying again
  after?: number; // ms to wait before that, in the server's words
  status?: number;
  partial?: { text: string; thinking: string };
  dry?: unknown; // --dry-run: the request that would have gone out
}
export interface Settings {
  model?: string;
  models?: Record<string, string>; // by task
  window?: number; // tokens that the model takes in, where its provider does not say
  rounds?: number;
  disabled?: string[]; // plugins, by name
  timeout?: number; // seconds without a byte from the provider
  options?: Record<string, unknown>;
  providers?: Record<string, { url?: string; key?: string; kept?: string; key_command?: string; like?: string; [more: string]: unknown }>;
  permissions?: { [K in Verdict | "only"]?: Rules };
  [plugin: string]: unknown;
}

export const words = <Word extends string>(text: string): Word[] => text.split(" ") as Word[];
export const EVENTS = words<keyof Events>(
  "started phase requested received replied compacted retried thought planned " +
    "decided changed configured reloaded called progressed typed asked noted answered failed",
);
export const STEPS = words<keyof Steps>("line offer request fetch call gate preview render prompt");
/** What may follow what; `error` and `aborted` may follow anything. Thinking is shown only in `thinking` and `planning_tools`, tools run
 * only in `executing_tools`, and text is shown only in `responding`. */
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

export type Header = { zz: 1; id: string; at: string; root: string; model: string; title: string }; // a session file's first line
export type Listed = Header & { used: string; bytes: number }; // in a list: when it was written to last, and how long its file is
/** Every later line. `parent` makes a tree of it: nothing is ever rewritten. Unknown types are kept. */
export interface Entry {
  id: number;
  parent: number | null;
  at: string;
  type: "message" | "draft" | "state" | "back" | (string & {});
  message?: Message;
  [field: string]: unknown;
}
/** A session to look at and to copy: its entries as they came, and the branch from the root to the last of them. */
export type Saved = { readonly header: Header; readonly entries: readonly Entry[]; branch(): Entry[] };
