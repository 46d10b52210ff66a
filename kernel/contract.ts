// What a plugin sees: the types of zz and their tables. Read it as the manual for plugins.
import type { Difference, Files, Git } from "./contract/file-types.ts";
import type {
  Ask,
  Awaitable,
  HttpAnswer,
  HttpRequest,
  PluginIo,
  Programs,
} from "./contract/io-types.ts";
import type {
  Answer,
  Call,
  ChatRequest,
  Endpoint,
  Fault,
  Filled,
  Image,
  Message,
  Model,
  Provider,
  Reply,
  Result,
  Secret,
} from "./contract/model-types.ts";
import type {
  Effect,
  Judged,
  Kind,
  Needs,
  Permissions,
  Ruling,
} from "./contract/permission-types.ts";
import type { PluginFile, PluginState, Plugins, Reloaded } from "./contract/plugin-types.ts";
import type { Infer, Schema } from "./contract/schema-types.ts";
import type { Entry, Sessions, Store } from "./contract/session-types.ts";
import type { Preferences } from "./contract/settings-types.ts";

export type * from "./contract/file-types.ts";
export type * from "./contract/io-types.ts";
export type * from "./contract/model-types.ts";
export type * from "./contract/permission-types.ts";
export type * from "./contract/plugin-types.ts";
export type * from "./contract/schema-types.ts";
export type * from "./contract/session-types.ts";
export type * from "./contract/settings-types.ts";

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
    options?: { limit?: number },
  ): void;
  /**
   * Wraps a step and may change what goes in and out; a throw fails it, in gate it refuses. `limit`
   * leaves out next() and ctx.
   */
  wrap<K extends keyof Steps>(
    step: K,
    around: Around<Steps[K]>,
    options?: Order | { order?: Order; limit?: number },
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
  readonly ask?: Ask & ((question: string, options: { secret: true }) => Promise<string>);
  // the choice's name; undefined: none
  pick?(question: string, choices: readonly (string | Choice)[]): Promise<string | undefined>;
  // in the person's editor; undefined: not saved
  edit?(text: string, name: string): Promise<string | undefined>;
  terminal?<T>(act: () => Promise<T>): Promise<T>; // while `act` draws and reads keys itself
  // through the same gate as the model's calls
  call(tool: string, args: unknown, signal?: AbortSignal): Promise<Result>;
  // undefined: the plugin that offers it is off
  service<K extends keyof Services>(name: K): Services[K] | undefined;
  command(name: string, words?: string): Promise<void>; // as if the person had typed it
  // asks a model outside of the conversation; its cost is kept as an entry "spent"
  request(question: SideRequest): Promise<Reply>;
  // a turn in a conversation of its own; exit: as a one-shot would end
  answer(question: Question): Promise<ApartAnswer>;
  note(text: string): void; // to the person, never to the model
  // changes a private file of the home; no other zz writes it meanwhile
  keep(name: string, change: (text: string) => string): void;
  progress(text: string): void; // a live line while a tool runs
}

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
  readonly providers: (Pick<Provider, "name" | "role"> & {
    variable?: string;
    endpoint: Endpoint;
    owner: string;
  })[];
  // of all providers, or of the one in --model
  models(isOfAll?: boolean): Promise<{ models: Model[]; failures: string[] }>;
  offered(): Promise<ChatRequest["tools"]>; // the tools that the model is told of
  // by layer; then updates sent earlier, then those to come
  prompt(): Promise<(Part & { sent: "system" | "earlier" | "next" })[]>;
  // as its provider describes it; quick: without a list of all models
  model(name: string, quick?: boolean): Promise<Model | undefined>;
  defaultModel(): Promise<string | undefined>; // the one that answers if none is named
  line(call: Pick<Call, "name" | "args">): string | undefined; // in its tool's words
  complete(command: string, typed: string): Promise<Choice[]>; // what may follow a command's name
}
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
  // calls that follow one another as one: asked for, made and undone together; undefined: not these
  join?(args: NoInfer<Infer<S>>, next: NoInfer<Infer<S>>): Infer<S> | undefined;
  // a throw becomes a failed result that the model reads
  run(args: NoInfer<Infer<S>>, ctx: Ctx): Awaitable<Result | string>;
  // a call in a few words, instead of its arguments, which may not be valid yet
  describe?(args: NoInfer<Infer<S>>): string;
  override?: boolean; // replaces the tool that already has this name
  // for the screen; failures only if they have data
  render?(result: Result, width: number, args: Call["args"]): string;
  timeout?: number; // ms; two minutes by default
}

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
  run(words: string, ctx: Ctx): Awaitable<void>;
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
  goOn?(reason: string): Promise<boolean>; // at a limit
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
  // attached to the person's next message; text goes before it
  attach(attachment: Image | string): void;
  // the model sees less from now on; the session's file keeps everything
  compact(compaction: Compaction): void;
}
export interface Compaction {
  upTo?: number; // drops the messages before this index, which must start a turn
  summary?: string; // replaces them
  // new texts by index; a number: cut each text of the message to so many characters
  texts?: Record<number, string | number>;
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
  // while a reply streams; text: of the answer, what came since the last time
  received: { tokens: number; ms: number; thinking: string; text: string };
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
  // shown: as rendered, "" if another call's row says it all; inner: not by the model
  called: { call: Call; result: Result; ms: number; shown?: string; inner?: true };
  progressed: { text: string };
  typed: { text: string }; // by the person during a turn; it waits for the next prompt
  // "": a plugin or an editor has the terminal; until `resumed` nothing else draws
  asked: { question: string };
  resumed: { ms: number }; // the question is over, after so long
  noted: { text: string; command?: string }; // said by this command
  answered: Answer;
  failed: { message: string; exit: number; kind: string };
}
/** Steps that a plugin can wrap: what goes in, what comes out. */
export interface Steps {
  line: [string, string]; // what the person typed
  // the command line; out come its words, of which those that begin with -- count as flags
  words: [Typed, readonly string[]];
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
export type Preview = { tool: string; about: string; changes: Difference[] };
export type Around<IO> = IO extends [infer In, infer Out]
  ? (input: In, next: (input: In) => Promise<Out>, ctx: Ctx) => Awaitable<Out>
  : never;
export const words = <Word extends string>(text: string): Word[] => text.split(" ") as Word[];
export const EVENTS = words<keyof Events>(
  "started phase requested received replied compacted retried thought planned " +
    "decided changed configured reloaded called progressed typed " +
    "asked resumed noted answered failed",
);
export const STEPS = words<keyof Steps>(
  "line words offer request fetch call gate preview render prompt",
);
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
