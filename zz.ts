/**
 * zz: a terminal agent that you can read in one sitting.
 *
 * This file is the kernel's story. It holds a conversation safely and loads plugins; whatever else zz can do is a
 * plugin in plugins/, written with the same verbs that yours has. Read it from top to bottom: the contract first, `main`
 * last. The chapters that one can take on trust at first lie in kernel/.
 *
 *    1 Contract   what a plugin sees                       7 Store      kernel/store.ts: sessions, a tree of JSON lines
 *    2 Registry   who owns what; kernel/loader.ts: loading  8 Prompt     layers, in slot order, within budgets
 *    3 Stream     kernel/stream.ts: one whole reply          9 Turn       the loop; kernel/chat.ts: a conversation
 *    4 Phases     what may happen when                      10 Dialogs    one-shot, the readline loop; kernel/keyboard.ts
 *    5 Gate       kernel/gate.ts: what a tool may touch     11 Main       flags, wiring, exit code; kernel/settings.ts
 *    6 Files      kernel/files.ts: the only way to the disk
 *
 * Beside them: kernel/trust.ts (what a project brings), kernel/script.ts (zz --run, and zz in your program), kernel/test.ts
 * (a kit to test plugins with).
 *
 * Deliberately not here: tools, providers, how things look. Nothing at module level but constants.
 */

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Static, TSchema } from "typebox";
import {
  keepNews,
  keepPrompt,
  keepStates,
  learnWindow,
  modelNamed,
  modelOf,
  openChat,
  remember,
  save,
  sessions,
  takeBack,
} from "./kernel/chat.ts";
import { commit, fileFault, type Held, LARGEST_READ, openFiles, ZZ } from "./kernel/files.ts";
import { firstRules, gate, KINDS, nameOf, permissions, realPath } from "./kernel/gate.ts";
import {
  blamed,
  importScript,
  type Loaded,
  loadPlugins,
  pluginAmong,
  refreshPlugins,
  stampOf,
  unloadPlugin,
  watchPlugins,
  whereFrom,
} from "./kernel/loader.ts";
import { type Config, preferences, readAgain, type Sources, settings, strangeSettings } from "./kernel/settings.ts";
import {
  type Entry,
  findSession,
  type Header,
  lastSession,
  openSession,
  readSession,
  repair,
  type Saved,
  type Session,
  sessionFile,
  sessionIds,
  UNSAVED,
} from "./kernel/store.ts";
import { collect } from "./kernel/stream.ts";
import { type Brought, broughtBy, isTrusted, keepTrust } from "./kernel/trust.ts";
import type { Watchdog } from "./kernel/watchdog.ts";

export * from "./kernel/chat.ts";
export * from "./kernel/files.ts";
export * from "./kernel/gate.ts";
export * from "./kernel/settings.ts";
export * from "./kernel/store.ts";
export * from "./kernel/stream.ts";
export { unloadPlugin };

// ── 1 Contract ─────────────────────────────────────────────────────────────────────────────────────────

export type Awaitable<T> = T | Promise<T>;

/**
 * A plugin file's default export. `export const defaults: C` beside it holds its settings, and `settings` may say more of
 * them: { name, schema, project }, the last of which names those that a project's file may set too (true: all).
 */
export type Plugin<C = {}> = (zz: Zz<C>) => Awaitable<void>;

/** One plugin's own handle. Whatever it adds goes away when its file is unloaded. */
export interface Zz<C = {}> {
  readonly config: Readonly<C>; // defaults, then the person's settings under the plugin's name
  readonly signal: AbortSignal; // aborts on unload
  state<T extends object>(initial: T): T; // plain JSON, kept in the session
  tool<const S extends Schema = {}>(tool: Tool<S>): void; // one per name
  command(command: Command): void; // one per name
  layer(layer: Layer): void; // all, by slot, then by plugin name
  provider(provider: Provider): void; // one chosen
  flag(flag: Flag): void; // appears in --help
  key(key: Key): void; // one per key; while a line is typed
  /** Sees what happens, cannot change it. `limit` is how many ms it may take: 5,000 unless it asks for more. */
  on<K extends keyof Events>(event: K, see: (fact: Readonly<Events[K]>) => Awaitable<void>, limit?: number): void;
  /** Changes what passes; a throw refuses. `limit` is for its own time, without what it waits for in next(). */
  wrap<K extends keyof Steps>(step: K, around: Around<Steps[K]>, order?: "first" | "last", limit?: number): void;
  defer(cleanup: () => Awaitable<void>): void; // on unload, last in first out
  fetch(url: string, request?: HttpRequest): Promise<HttpAnswer>; // an answer that is not 2xx throws, in the server's own words
}

/** The part of the built-in fetch that providers need; it loads in a tenth of the time. */
export interface HttpRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array | undefined;
  signal?: AbortSignal | undefined;
}

export interface HttpAnswer {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: { get(name: string): string | null };
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
  readonly sessions: Sessions;
  readonly settings: Preferences;
  readonly about: About;
  readonly plugins: Plugins;
  readonly ask?: Ask; // absent, as the next two, when nobody is there
  edit?(text: string, name: string): Promise<string | undefined>; // in the person's own editor; undefined: not saved
  terminal?<T>(act: () => Promise<T>): Promise<T>; // lent to what draws and reads keys by itself
  call(tool: string, args: unknown): Promise<Result>; // through the same gate as the model's calls
  request(what: Beside): Promise<Reply>; // asks a model beside the conversation: without tools, and nothing of it is kept
  note(text: string): void; // to the person, never to the model
  progress(text: string): void; // a live line while a tool runs
}
/** A line; with keys ("yn"), one of them, in lower or upper case as it stands there: whatever else is pressed is the empty text. */
export type Ask = (question: string, keys?: string) => Promise<string>;

/** What a model is asked beside the conversation. For its task the settings may name a model of its own: models.TASK. */
export type Beside = { task: string; messages: Message[]; system?: string; model?: string };

/** The plugins, for commands and tools. */
export interface Plugins {
  refresh(): Promise<Reloaded[]>; // loads those whose files changed or came, and takes away those that went
  readonly brought?: Trust; // what the project's .zz/ brings
  trust(yes: boolean): Promise<Reloaded[]>; // to what was looked at last
}
/** What a project brings that could run or steer zz, by name, and whether the person said yes to just these bytes. */
export interface Trust {
  files: string[];
  given: boolean;
  changed?: string[]; // since they said yes to it
  wrong?: string; // why nobody can
}
/** What came of a plugin whose files had changed. One that fails keeps its last good version. */
export type Reloaded = { name: string; did: "loaded" | "reloaded" | "unloaded" | "failed"; ms: number; why?: string };

/** What there is, to look at: for commands such as /help and flags such as --tools. */
export interface About {
  readonly home: string;
  readonly tools: (ChatRequest["tools"][number] & { owner: string })[];
  readonly commands: (Omit<Command, "run" | "complete"> & { owner: string })[];
  readonly keys: { name: string; description: string; owner: string }[];
  readonly plugins: {
    name: string;
    from: "zz" | "home" | "project" | "flag";
    file: string;
    ms: number;
    failure?: string;
    outdated?: string; // why its file, as it is now, could not be loaded: what it was before goes on
    disabled?: boolean;
    adds: Added[];
  }[];
  readonly flags: Flag[];
  models(all?: boolean): Promise<{ models: Model[]; failures: string[] }>; // of every provider, or of the one that --model names
  prompt(): Promise<(Part & { sent: "system" | "earlier" | "next" })[]>; // the system prompt, layer by layer; then what was news in an earlier message, and what will be in the next
  model(name: string, quick?: boolean): Promise<Model | undefined>; // what its provider tells of it; quick: what it knows without asking for all
  complete(command: string, typed: string): Promise<Choice[]>; // what may stand after a command
}
/** What a plugin adds: a tool, a command, a wrapper of a step … */
export type Added = { kind: string; name: string };
/** Something to choose from. */
export type Choice = { name: string; description?: string };

export interface Tool<S extends Schema = any> {
  name: string; // snake_case
  description: string;
  aliases?: string[]; // other names that models use for it; accepted, never advertised
  also?: Record<string, string[]>; // the same for its parameters: { path: ["file_path"] }
  params?: S;
  needs?(args: NoInfer<Infer<S>>, ctx: Ctx): Awaitable<Needs>; // what the gate asks for, before it runs; absent: pure. A file to write that it names is not asked for again
  changes?: boolean; // it changes files, through ctx.files: held until it returns, shown, asked for, made all or none
  preview?(args: NoInfer<Infer<S>>, ctx: Ctx): Awaitable<string>; // what else to show with the question
  run(args: NoInfer<Infer<S>>, ctx: Ctx): Awaitable<Result | string>; // a throw becomes a failed result that the model reads
  render?(result: Result, width: number): string;
  timeout?: number; // ms; two minutes unless it says otherwise
}
export type Kind = "read" | "write" | "run" | "net" | "env";
export type Needs = { [K in Kind]?: Need[] };
/** A path, a command's words, a host, a variable. A tool may say what it knows of it: "ask" is asked whatever a list allows. */
export type Need = string | { name: string; verdict: Verdict; why: string };
export type Verdict = "allow" | "ask" | "deny";
export interface Result {
  text: string;
  data?: unknown; // for programs: --call --json, scripts, other tools
  failed?: boolean;
  refused?: boolean; // failed for want of permission
  images?: Image[];
}
export type Image = { type: string; base64: string }; // type: image/png …

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
  group?: string; // where /help lists it
  complete?(typed: string, ctx: Ctx): Awaitable<(string | Choice)[]>;
  run(rest: string, ctx: Ctx): Awaitable<void>;
}

/** What a key does while a line is typed. */
export interface Key {
  name: string; // as in "ctrl+r", "meta+return", "tab", "f1"
  description: string;
  press(line: Line, ctx: Ctx): Awaitable<unknown>; // false: what it does anyway
}
export type Press = { name: string; text: string }; // the key's name, and what it types
/** The line being typed. */
export interface Line {
  readonly text: string;
  readonly cursor: number;
  readonly history: readonly string[]; // newest first
  set(text: string, cursor?: number): void;
  prompt(text?: string): void; // instead of the prompt, until it is given back
  below(text: string): void; // shown under the line until the next key
  next(): Promise<Press>; // the next key comes here, and does nothing else
  press(key: Press): void; // as if it had been pressed
}

/**
 * Slots in order. Layers are rendered each turn, so they must be cheap, and are frozen within it. The system prompt stays
 * as it was first sent, so that a provider's prefix cache holds: only "identity" and "rules" change it later. What is new
 * in the others goes with the person's message.
 */
export interface Layer {
  name: string;
  slot: Slot;
  budget?: number; // tokens; cut head 70, tail 20 beyond it
  text: string | ((ctx: Ctx) => Awaitable<string | undefined>);
}
export type Slot = (typeof SLOTS)[number];
/** A layer as it was rendered. */
export type Part = { name: string; slot: Slot; owner: string; text: string };
export const SLOTS = ["identity", "rules", "project", "memory", "turn"] as const;

export interface Provider {
  name: string;
  models(signal: AbortSignal, endpoint: Endpoint): Promise<Model[]>;
  model?(id: string, patience: () => AbortSignal, endpoint: Endpoint): Awaitable<Model | undefined>; // one of them, where a turn can wait for that
  chat(request: ChatRequest, signal: AbortSignal): AsyncIterable<Delta>;
  /**
   * The model to use when nobody named one. A string at once (a key is set) goes before a promise (a local server
   * answered). The signal limits how long to wait for a server's first word.
   */
  auto?(signal: AbortSignal, endpoint: Endpoint): Awaitable<string | undefined>;
}
export interface Endpoint {
  url?: string; // --base-url, or the settings' providers.NAME.url
  key?: string; // --key, or the settings' providers.NAME.key
  kept?: string; // the key that /keys keeps; the environment goes before it
}
export type Model = { id: string; window?: number; tools?: boolean; vision?: boolean };
export interface ChatRequest {
  task: string; // "chat", or what it is for beside the conversation
  model: string; // provider/model: a wrapper may route it to another. The provider sees it without its own name
  system: string;
  messages: Message[]; // the provider sees them repaired: every call has its result, no two of a role in a row
  tools: { name: string; description: string; schema: Record<string, unknown> }[];
  options: Record<string, unknown>; // what the person set, in the provider's own words
  endpoint: Endpoint;
}
/** What a provider yields. A stream without a `finish` was cut off. An `error` is the server's own body, as it came. */
export type Delta =
  | { text: string }
  | { thinking: string }
  | { call: CallDelta }
  | { usage: Usage }
  | { finish: string }
  | { error: unknown };
export interface CallDelta {
  index?: number | undefined;
  id?: string | null | undefined;
  name?: string | null | undefined;
  args?: unknown; // a piece of JSON text, or the whole object
  extra?: unknown; // whatever must be sent back with the call
}
export type Usage = { input: number; output: number };
export type Finish = "stop" | "calls" | "length" | "filter";
export interface Call {
  id: string;
  name: string;
  args: Record<string, unknown>;
  broken?: string; // why the arguments cannot be used
  extra?: unknown;
}
export type Reply = { text: string; thinking: string; calls: Call[]; finish: Finish; usage?: Usage; model?: string };

export type Message =
  | (Told & { role: "user"; text: string; images?: Image[] })
  | (Made & { role: "assistant"; text: string; thinking?: string; calls?: Call[]; cut?: boolean })
  | { role: "tool"; id: string; name: string; text: string; failed?: boolean; images?: Image[] };

/** aside: zz tells what the person did meanwhile; news: what is new in the layers, by their keys. */
export type Told = { aside?: true; news?: Record<string, string> };
/** Who gave an answer, what it cost, and how long after the person's message it was there. */
export type Made = { model?: string; usage?: Usage; ms?: number };

export interface Chat {
  readonly id: string | null; // null: not saved
  readonly model: string; // provider/model
  readonly phase: Phase;
  readonly messages: readonly Message[]; // the branch in force, oldest first
  readonly used?: number; // tokens of the window that the last request and its answer took
  readonly window?: number; // tokens that the model takes in, where its provider tells
  tree(): { entries: readonly Entry[]; branch: readonly Entry[] }; // all that was ever said; of it what is in force
  back(to: number | null): void; // goes on from that entry, or from nothing; what came after it stays in the file
  use(model: string): Promise<void>; // another model, from now on
  send(text: string): void; // as the person's next message
  attach(what: Image | string): void; // goes with the person's next message; a text before it
  compact(what: Compaction): void; // from now on the model sees less; all of it stays in the session's file
}
/** Indices are those of `messages`. */
export interface Compaction {
  upTo?: number; // the messages before it are gone; it begins a turn
  summary?: string; // stands for them
  texts?: Record<number, string | number>; // what a message says now; a number: of each of its texts so many characters
}

/** The conversations that were saved, for commands. */
export interface Sessions {
  list(): Header[]; // newest first
  read(id: string): Saved;
  open(id?: string, copy?: boolean): void; // this conversation goes on as that one, or as a copy of it; without an id as a new one
  rename(id: string, title: string): void;
  remove(id: string): void;
}

/** The settings, for commands. */
export interface Preferences {
  list(): Setting[];
  set(name: string, value: unknown): Promise<void>; // checked, kept in the home, in force at once; undefined takes it back
  schema(): Record<string, unknown>; // of all there is to set, in JSON Schema
}
export type Setting = {
  name: string;
  value: unknown;
  default?: unknown;
  values?: unknown[];
  about?: string;
  from?: ("home" | "project")[]; // who set it; absent: nobody
  owner: string;
};

/**
 * The disk, for tools. Paths are relative to the project, or absolute inside it. What a tool writes, removes and moves
 * is held until it returns; it sees its own changes meanwhile.
 */
export interface Files {
  path(name: string): string; // absolute, links followed; throws outside the project
  read(name: string): Promise<FileRead>;
  list(under?: string): Promise<string[]>; // every file that is not ignored, relative to the project
  write(name: string, content: string | Uint8Array): Promise<void>; // text takes on the file's BOM, line ends and last newline; bytes are bytes
  remove(name: string): Promise<void>;
  move(from: string, to: string): Promise<void>;
  changes(): Changed[]; // what this conversation did to files, oldest first
  undo(what?: string): Promise<Result>; // the last one; or a count, "turn", a path
  redo(what?: string): Promise<Result>;
}
export interface FileRead {
  text: string;
  bytes: Uint8Array;
  hash: string;
  seen?: string; // the hash of what the model last read or wrote there; absent: it has not
}

/** One file, before and after; absent: not there. */
export interface Difference {
  path: string; // relative to the project
  before?: string;
  after?: string;
  note?: string; // what the texts do not show: a mode, a move, bytes that are no text
}
/** A difference that was made. */
export interface Changed {
  id: number;
  turn: number; // those of one turn are one group
  at: string;
  tool: string;
  path: string;
  did: "created" | "edited" | "deleted";
  undone: boolean;
}

/** What the gate goes by. Deny wins, then allow, then what a tool says of its own need, then the defaults. */
export interface Permissions {
  readonly rules: readonly Rule[];
  judge(kind: Kind, need: Need): { verdict: Verdict; why: string };
  add(rule: Rule): void; // from "project": kept for this folder, in the home
  drop(rule: Rule): void;
}
export interface Rule {
  verdict: "allow" | "deny";
  kind: Kind;
  name?: string; // absent: all of that kind
  exact?: boolean; // that very name, and nothing that lies in it or begins so
  from: "flag" | "settings" | "project" | "answer";
}

export interface Flag {
  name: string;
  short?: string;
  value?: string; // what stands for its value in --help; absent: a switch
  optional?: boolean; // the value may be left out: --flag or --flag=value
  many?: boolean; // may be given several times
  description: string;
  set?(value: string | boolean): Awaitable<void>; // hands its value over, before anything runs
  run?(value: string | boolean, ctx: Ctx): Awaitable<Result>; // instead of a turn; what it gives is printed
}

/** Facts, in the past tense. */
export interface Events {
  started: { session: string | null; model: string; root: string; live: boolean; stays: boolean }; // live: a person watches; stays: for more than one turn
  phase: { from: Phase; to: Phase };
  requested: ChatRequest; // as it went to the provider
  received: { tokens: number; ms: number; thinking: string }; // while a response streams
  replied: Reply & { task: string; ms: number }; // the whole response
  compacted: { before: number; after: number; summary?: string }; // messages
  retried: { attempt: number; wait: number; reason: string };
  thought: { text: string; ms: number }; // what the model thought before a reply
  planned: { calls: readonly Call[]; text: string };
  decided: { tool: string; kind: Kind; name: string; allowed: boolean; why: string };
  changed: { tool: string; paths: string[] };
  reloaded: { plugins: Reloaded[] }; // those whose files had changed, come or gone
  called: { call: Call; result: Result; ms: number; shown?: string; inner?: true }; // shown: by its tool; inner: by a tool or a command, not by the model
  progressed: { text: string };
  asked: { question: string };
  noted: { text: string };
  answered: Answer;
  failed: { message: string; exit: number };
}
/** Where a plugin can change what passes: what goes in, what comes out. */
export interface Steps {
  line: [string, string]; // what the person typed
  request: [ChatRequest, Reply];
  call: [Call, Result];
  preview: [Preview, string]; // what a tool would do, as it is shown with the question
  render: [string, string]; // the answer, as it is shown
  prompt: [string, string]; // what stands before the line that is typed
}
export type Preview = { tool: string; about: string; changes: Difference[] };
export type Around<IO> = IO extends [infer In, infer Out]
  ? (input: In, next: (input: In) => Promise<Out>, ctx: Ctx) => Awaitable<Out>
  : never;

export interface Answer {
  text: string;
  thinking?: string;
  model: string;
  session: string | null;
  finish: Finish | "rounds" | "repeat";
  rounds: number;
  calls: { name: string; args: Record<string, unknown>; ok: boolean; refused?: boolean }[];
  usage: Usage;
  ms: number;
  used?: number; // tokens of the window that the last request and its answer took
  window?: number; // tokens that the model takes in, where its provider tells
}

/**
 * What scripts and programs have: `import { zz } from "zz"`. `zz --run` gives it the settings and permissions of its
 * flags; a program of your own gets what an empty command line would, and nobody is asked.
 */
export interface Script {
  readonly args: readonly string[]; // what stood after the script
  stdin(): Promise<string>; // all of it; empty at a terminal
  ask<const S extends Schema>(text: string, how: How<S> & { schema: S }): Promise<Infer<S>>; // one turn by itself
  ask(text: string, how?: How): Promise<string>;
  chat(how?: How): Promise<Talk>; // several turns
  call(tool: string, args?: object): Promise<Result>; // through the same gate as a model's calls
}
export interface Talk {
  readonly id: string | null;
  readonly model: string;
  readonly messages: readonly Message[];
  ask: Script["ask"];
}
export interface How<S extends Schema = Schema> {
  schema?: S; // the answer is data that fits it
  model?: string;
  system?: string;
  tools?: (string | Tool)[] | false; // only these, by name or made here; none
  files?: string[]; // attached
  images?: Image[];
  signal?: AbortSignal;
}

export type Rules = { [K in Kind]?: true | string[] }; // true: whatever it is

/** An error as a sentence, with what the kernel needs to know about it. */
export interface Fault extends Error {
  exit?: number; // 1 unless it says otherwise
  transient?: boolean; // worth trying again
  after?: number; // ms to wait before that, in the server's words
  status?: number;
  partial?: { text: string; thinking: string };
  dry?: unknown; // --dry-run: the request that would have gone out
}
export const fault = (message: string, more: Partial<Fault> = {}): Fault => Object.assign(new Error(message), more);
export const usage = (message: string): Fault => fault(message, { exit: 2 });

export interface Settings {
  model?: string;
  models?: Record<string, string>; // by task
  window?: number; // tokens that the model takes in, where its provider does not tell
  rounds?: number;
  disabled?: string[]; // plugins, by name
  timeout?: number; // seconds without a byte from the provider
  options?: Record<string, unknown>;
  providers?: Record<string, Endpoint>;
  permissions?: { allow?: Rules; deny?: Rules };
  [plugin: string]: unknown;
}

/** What an embedding program says to createZz(); main makes it from the flags. */
export interface Options {
  root?: string;
  home?: string;
  settings?: Settings;
  sources?: Sources; // the files that the settings are from
  plugins?: string[]; // extra plugin files
  own?: boolean; // false: leave out the plugins of the home
  bare?: boolean; // leave out zz's own
  config?: string; // the file of the settings
  model?: string;
  baseUrl?: string;
  key?: string;
  options?: Record<string, unknown>; // for the provider
  system?: string; // instead of zz's own identity
  tools?: string[] | false; // only these; none
  rounds?: number; // 0: no limit
  save?: boolean;
  raw?: boolean; // the answer as it came, without the render step
  usage?: boolean; // tokens, calls and time on stderr
  quiet?: boolean; // no notes on stderr
  prompt?: boolean; // false: never ask the person
  allow?: Rules;
  deny?: Rules; // beats allow
  debug?: boolean;
  dry?: boolean;
}

// ── 2 Registry and loader ──────────────────────────────────────────────────────────────────────────────

/** Everything there is of one instance; createZz() makes it. */
export interface Core {
  options: Options & { root: string; home: string; settings: Settings };
  plugins: Loaded[];
  brought?: Brought | undefined; // by the project
  dog?: Watchdog; // while plugins load
  prompts: { stamps: string; layers: Owned<Layer>[] }; // of the files that are in force
  refreshing?: Promise<unknown>; // one refresh at a time
  versions: number; // how often a plugin was loaded anew, at most
  tools: Map<string, Owned<Tool>>;
  commands: Map<string, Owned<Command>>;
  providers: Map<string, Owned<Provider>>;
  flags: Map<string, Owned<Flag>>;
  models: Map<string, Model>; // what providers told of them
  schemas: Map<string, Record<string, unknown>>; // of the tools' parameters, by their names
  keys: Map<string, Owned<Key>>;
  layers: Owned<Layer>[];
  configs: Owned<Config>[]; // of the plugins
  seers: Owned<{ event: keyof Events; see: (fact: any) => Awaitable<void>; limit: number }>[];
  wraps: Owned<{ step: keyof Steps; around: Around<[any, any]>; order: "first" | "last"; limit: number }>[];
  states: Map<string, { live: object; saved: string; initial: string }>;
  ask?: Ask;
  edit?: NonNullable<Ctx["edit"]>;
  terminal?: NonNullable<Ctx["terminal"]>;
  aside?: (text: string) => void; // shows a note while a line is being typed
  named?: string; // the provider that --base-url and --key are for
  asking?: Promise<unknown>; // one question at a time
  rules: Rule[];
  atFault?: (error: Fault, turn: Place) => Promise<boolean>; // the person says whether to try again
  atLimit?: (why: string) => Promise<boolean>; // the person says whether to go on
}
export type Owned<T> = { owner: string; value: T };
const valuesOf = <T>(all: Map<string, Owned<T>>): T[] => [...all.values()].map(({ value }) => value);

export const words = <Word extends string>(text: string): Word[] => text.split(" ") as Word[];

export const SELF_URL = new URL(".", import.meta.url).href.slice(0, -1);
export const SELF = fileURLToPath(SELF_URL);
export const BUILT = path.basename(SELF) === "dist";
export const PACKAGE = BUILT ? path.dirname(SELF) : SELF;
export const HOOK_LIMIT = 5_000;
const tooLong = (limit: number): string => `it took longer than ${limit / 1000} s`;
export const EVENTS = words<keyof Events>(
  "started phase requested received replied compacted retried thought planned decided changed reloaded called progressed asked noted answered failed",
);
export const STEPS = words<keyof Steps>("line request call preview render prompt");
export const IDENTIFIER = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

/** Makes an instance: loads the plugins and returns all there is. Many can live side by side. */
export async function createZz(options: Options = {}, ready?: (core: Core) => void): Promise<Core> {
  const { home = homeFolder(), settings = {} } = options;
  const root = tryTo(() => fs.realpathSync(options.root ?? process.cwd()));
  if (!root) throw usage("Cannot work here: the folder is gone. Change to another, or name one with --cwd.");
  const core: Core = {
    options: { ...options, home, settings, root },
    plugins: [],
    prompts: { stamps: "", layers: [] },
    versions: 0,
    tools: new Map(),
    commands: new Map(),
    providers: new Map(),
    flags: new Map(),
    models: new Map(),
    schemas: new Map(),
    keys: new Map(),
    layers: [],
    configs: [],
    seers: [],
    wraps: [],
    states: new Map(),
    rules: [],
  };
  core.rules.push(...firstRules(core.options));
  if (options.own !== false) core.brought = broughtBy(core.options);
  core.layers.push(toolGuide(core));
  ready?.(core);
  await loadPlugins(core);
  loadPrompts(core);
  return core;
}

/** A checkout is its own home; an installed zz keeps the person's things in ~/.zz. */
export function homeFolder(): string {
  if (process.env.ZZ_HOME) return path.resolve(process.env.ZZ_HOME);
  return fs.existsSync(path.join(PACKAGE, "sessions")) ? PACKAGE : path.join(os.homedir(), ".zz");
}

export function known(what: string, word: string, all: readonly string[]): void {
  if (!all.includes(word)) throw fault(unknown(what, word, all));
}

export function unknown(what: string, word: string, all: Iterable<string>): string {
  const names = [...all];
  const near = nearest(word, names);
  return `there is no ${what} '${word}'. ${near ? `Did you mean '${near}'?` : `There are: ${names.join(", ")}.`}`;
}

/** The known word that a misspelt one most likely stands for. By edit distance: fuse.js takes longer to load than this to run. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let least = Math.max(2, Math.ceil(word.length / 3)) + 1;
  for (const candidate of known) {
    const [a, b] = [word.toLowerCase(), candidate.toLowerCase()];
    let row = Array.from({ length: b.length + 1 }, (_, j) => j);
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++)
        next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
      row = next;
    }
    const distance = b.startsWith(a) && a.length > 1 ? 1 : row[b.length]!;
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best;
}

/** Tells everyone who asked. One that throws or hangs is named, and the turn goes on. */
export async function emit<K extends keyof Events>(core: Core, event: K, fact: Events[K]): Promise<void> {
  for (const { owner, value } of core.seers) {
    if (value.event !== event) continue;
    try {
      const seen = value.see(fact);
      if (seen instanceof Promise) await within(seen, value.limit, tooLong(value.limit));
    } catch (error) {
      if (event !== "noted") note(core, `Plugin '${owner}' failed on '${event}': ${reason(error)}`);
    }
  }
}

export const note = (core: Core, text: string): void => void emit(core, "noted", { text });

/** Runs a step through everything wrapped around it. A wrapper's own time is limited; what it waits for inside is not. */
export function around<K extends keyof Steps>(
  { core, ctx }: Place,
  step: K,
  input: Steps[K][0],
  inner: (input: Steps[K][0]) => Promise<Steps[K][1]> = async (given) => given as Steps[K][1],
): Promise<Steps[K][1]> {
  const wraps = core.wraps.filter(({ value }) => value.step === step);
  return pass(0, input);

  async function pass(at: number, given: Steps[K][0]): Promise<Steps[K][1]> {
    const wrap = wraps[at];
    if (!wrap) return inner(given);
    const { owner, value } = wrap;
    const late = `Plugin '${owner}' was cut off in '${step}': ${tooLong(value.limit)}. Its own limit can be raised.`;
    const limit = deadline(value.limit, fault(late));
    const next = async (passed: Steps[K][0]) => {
      limit.lift();
      return pass(at + 1, passed).finally(limit.putOff);
    };
    const out = await until(limit.signal, (async () => value.around(given, next, ctx))()).finally(limit.lift);
    if (out !== undefined && out !== null) return out;
    throw fault(`Plugin '${owner}' gave nothing back in '${step}'. Its wrapper must return what next() gave.`);
  }
}
/** Where a step is taken: in this instance, with what its plugins reach there. */
export type Place = { core: Core; chat: LiveChat; ctx: Ctx };

export function within<T>(promise: Promise<T>, ms: number, late: string): Promise<T> {
  const limit = deadline(ms, fault(late));
  return until(limit.signal, promise).finally(limit.lift);
}

/** A signal that aborts after so many ms, unless it is put off or lifted. */
function deadline(ms: number, late: Fault) {
  const end = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const lift = () => clearTimeout(timer);
  const putOff = () => {
    lift();
    timer = setTimeout(() => end.abort(late), Math.min(ms, 2 ** 31 - 1));
  };
  putOff();
  return { signal: end.signal, putOff, lift };
}

/** The promise, or the signal's reason, whichever comes first: for code that does not heed the signal itself. */
export function until<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** An error's own words, without a stack, and without the two lines that tsx puts around a syntax error. */
export const reason = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error))
    .split(/\n {4}at |\nRequire stack:/)[0]!
    .replace(/^Transform failed with \d+ errors?:\n.*?ERROR: ([^\n]*)[\s\S]*/, "$1");

/** The JSON Schema that a tool's parameters stand for. */
export function toJsonSchema(params: Schema | undefined): Record<string, unknown> {
  if (params && "~standard" in params) {
    const convert = (params as StandardSchema)["~standard"].jsonSchema;
    if (!convert) throw fault("its params cannot become JSON Schema. Use zod 4.6 or later.");
    const { $schema, ...schema } = convert.input({ target: "draft-2020-12" });
    return schema;
  }
  const given: Record<string, unknown> = { ...params };
  if (given.type === "object" || given.properties) return { properties: {}, ...given };
  const required: string[] = [];
  const property = ([name, word]: [string, unknown]) => {
    const [, type, list, optional, description] = SHORTHAND.exec(String(word)) ?? [];
    if (!type) throw fault(`param '${name}' has type '${word}'. ${SHORTHAND_WORDS}`);
    if (!optional) required.push(name);
    return [name, { ...(list ? { type: "array", items: { type } } : { type }), ...(description && { description }) }];
  };
  const properties = Object.fromEntries(Object.entries(given).map(property));
  return { type: "object", properties, ...(params && { required }) };
}
const SHORTHAND = /^(string|number|integer|boolean)(\[\])?(\?)?(?: (.*))?$/s;
const SHORTHAND_WORDS = "Use string, number, integer or boolean, with [] and ? as needed.";

/** The arguments as the tool will see them; a sentence that says what is wrong with them, and what to do, is thrown. */
async function validate({ name, params }: Tool, args: unknown, remedy: string): Promise<any> {
  const { value, wrong } = await check(params, args);
  if (wrong) throw usage(`Cannot call '${name}': ${wrong}. ${remedy}`);
  return value;
}

/** The value as a schema lets it through, or what is wrong with it, in the schema's own words. */
export async function check(schema: Schema | undefined, given: unknown): Promise<{ value?: any; wrong?: string }> {
  if (schema && "~standard" in schema) {
    const checked = await (schema as StandardSchema)["~standard"].validate(given);
    if ("value" in checked) return checked;
    return {
      wrong: checked.issues.map(({ path, message }) => `${path?.join(".") || "arguments"}: ${message}`).join("; "),
    };
  }
  const { Errors } = await import("typebox/schema");
  const [ok, errors] = Errors(toJsonSchema(schema), given);
  if (ok) return { value: given };
  const told = ({ instancePath, message, params }: (typeof errors)[number]): string => {
    const { allowedValues } = params as { allowedValues?: unknown[] };
    const must = allowedValues ? `must be one of ${allowedValues.join(", ")}` : message;
    return `${instancePath.slice(1) || "arguments"} ${must}`;
  };
  return { wrong: errors.map(told).join("; ") };
}

// The smallest words of the language here.

export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
export const byName = (a: { name: string }, b: { name: string }): number => compare(a.name, b.name);
export const entriesOf = (folder: string): string[] => tryTo(() => fs.readdirSync(folder)) ?? [];
export const textOf = (file: string): string => tryTo(() => fs.readFileSync(file, "utf8")) ?? "";
export const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException)?.code ?? ""; // ENOENT …
export const newId = (prefix = ""): string => prefix + Math.random().toString(36).slice(2, 10).padEnd(8, "0");

/** What it gives, or undefined when it throws. */
export function tryTo<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

// ── 4 Phases ───────────────────────────────────────────────────────────────────────────────────────────

/**
 * What may follow what; `error` and `aborted` may follow anything. Thinking is shown only in `thinking` and
 * `planning_tools`, tools run only in `executing_tools`, and text is shown only in `responding`.
 */
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

export function checkMove(from: Phase, to: Phase): void {
  const next: readonly Phase[] = [...PHASES[from], "error", "aborted"];
  if (!next.includes(to)) throw fault(`Cannot go from '${from}' to '${to}': no phase goes so. This is a bug in zz.`);
}

function enter(core: Core, chat: LiveChat, to: Phase): void {
  const from = chat.phase;
  checkMove(from, to);
  chat.phase = to;
  void emit(core, "phase", { from, to });
}

// ── 8 Prompt ───────────────────────────────────────────────────────────────────────────────────────────

const LAYER_BUDGET = 2_000;
const LARGEST_SHARE = 8; // a layer takes at most this part of the window
const CHARS_A_TOKEN = 4;

/** Those that are there now, instead of those that were; unless nothing has changed. */
export function loadPrompts(core: Core): void {
  const { prompts, layers, commands } = core;
  const files = promptFiles(core);
  const stamps = files.map((file) => `${file} ${stampOf(file)}`).join("\n");
  if (stamps === prompts.stamps) return;
  for (const layer of prompts.layers) layers.splice(layers.indexOf(layer), 1);
  for (const [name, { owner }] of commands) if (owner === TEMPLATES) commands.delete(name);
  const read = readPrompts(files);
  core.prompts = { stamps, layers: promptLayers(core, read) };
  layers.push(...core.prompts.layers);
  addTemplates(core, read);
}

/** Markdown in prompts/ whose front matter names a slot is a layer. */
function promptLayers(core: Core, prompts: PromptFile[]): Owned<Layer>[] {
  const { system } = core.options;
  const layers: Layer[] = system ? [{ name: "system", slot: "identity", text: system }] : [];
  for (const { name, head, body } of prompts) {
    const slot = SLOTS.find((slot) => slot === head.slot);
    if (!slot || (slot === "identity" && system !== undefined)) continue;
    layers.push({ name, slot, text: body, ...(head.budget && { budget: Number(head.budget) }) });
  }
  return layers.map((value) => ({ owner: "", value }));
}

/** zz's own, then the home's, then the project's where the person trusts it. */
function promptFiles(core: Core): string[] {
  const { home, root } = core.options;
  const filesIn = (folder: string) =>
    entriesOf(path.join(folder, "prompts")).map((name) => path.join(folder, "prompts", name));
  const own = [...new Set([PACKAGE, home])].flatMap((folder) => filesIn(folder).sort());
  const project = filesIn(path.join(root, ".zz")).filter((file) => isTrusted(core, file));
  return [...own, ...project.sort()].filter((file) => file.endsWith(".md"));
}

type PromptFile = ReturnType<typeof frontMatter> & { name: string; file: string };
/** Of two that are called alike the nearer one. */
function readPrompts(files: string[]): PromptFile[] {
  const all = files
    .map((file) => ({ file, ...frontMatter(textOf(file)) }))
    .map((one) => ({ ...one, name: one.head.name ?? path.basename(one.file, ".md") }));
  return [...new Map(all.map((one) => [one.name, one])).values()];
}

/** Markdown in prompts/ whose front matter describes it, but names no slot, is a command that sends it. The home's go before zz's. */
function addTemplates(core: Core, prompts: PromptFile[]): void {
  for (const { file, name, head, body } of prompts) {
    const { slot, description, usage } = head;
    if (slot || !description) continue;
    const owner = core.commands.get(name)?.owner;
    const why = IDENTIFIER.test(name)
      ? owner && owner !== TEMPLATES && `'${owner}' has it already`
      : "no command is called so";
    if (why) say(`Cannot make '/${name}' of '${file}': ${why}. Give it another name.`);
    else
      core.commands.set(name, {
        owner: TEMPLATES,
        value: { name, description, group: TEMPLATES, ...(usage && { usage }), run },
      });

    async function run(rest: string, { chat }: Ctx): Promise<void> {
      chat.send(fillTemplate(body, rest));
    }
  }
}
const TEMPLATES = "templates";

/** `$1` to `$9` are its words, `$@` is all of them, `${1:-else}` says what stands there otherwise. Words that no place takes come last. */
export function fillTemplate(body: string, rest: string): string {
  const words = [...rest.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, one, two, three]) => one ?? two ?? three);
  let taken = false;
  const text = body.replace(/\$(?:\{([1-9@])(?::-([^}]*))?\}|([1-9@]))/g, (_, braced, otherwise = "", bare) => {
    taken = true;
    const which = braced ?? bare;
    return (which === "@" ? rest : words[which - 1]) || otherwise;
  });
  return taken || !rest ? text : `${text}\n\n${rest}`;
}

/** `---`, lines of `key: value`, `---`, then the body. */
export function frontMatter(text: string): { head: Record<string, string>; body: string } {
  const [, head = "", body = text] = /^---\r?\n(.*?)\r?\n---\r?\n?(.*)$/s.exec(text) ?? [];
  const lines = [...head.matchAll(/^(\w[\w-]*):[^\S\r\n]*(.*?)\s*$/gm)];
  return { head: Object.fromEntries(lines.map(([, key, value]) => [key, value])), body: body.trim() };
}

/** What each tool is for, from the registry, so that a plugin's tools are in it. */
export function toolGuide(core: Core): Owned<Layer> {
  const lines = () => offered(core).map(({ name, description }) => `- ${name}: ${description}`);
  return { owner: "", value: { name: "tools", slot: "rules", budget: 4_000, text: () => lines().join("\n") } };
}

/** Layers as they are now, in the order of their slots. */
async function layersNow({ core, chat, ctx }: Place): Promise<Part[]> {
  const order = (layer: Owned<Layer>) => SLOTS.indexOf(layer.value.slot);
  const { system } = core.options;
  const most = chat.window ? chat.window / LARGEST_SHARE : Number.POSITIVE_INFINITY;
  const parts: Part[] = [];
  for (const layer of core.layers.toSorted((a, b) => order(a) - order(b) || compare(a.owner, b.owner))) {
    const { owner, value } = layer;
    const { name, slot } = value;
    if (system !== undefined && slot === "identity" && owner) continue; // the person said who it is
    const body = await render(layer);
    const title = titleOf(name);
    if (body) parts.push({ name, slot, owner: owner || ZZ, text: slot === "identity" ? body : block(title, body) });
  }
  return parts;

  async function render({ owner, value: { name, text, budget = LAYER_BUDGET } }: Owned<Layer>): Promise<string> {
    const room = Math.min(budget, most);
    if (typeof text === "string") return fit(text.trim(), room);
    try {
      const made = text(ctx);
      const body = made instanceof Promise ? await within(made, HOOK_LIMIT, tooLong(HOOK_LIMIT)) : made;
      return fit((body ?? "").trim(), room);
    } catch (error) {
      note(core, `Layer '${name}' of '${owner}' was left out: ${reason(error)}`);
      return "";
    }
  }
}

/** The system prompt as it was first sent, what was told since, and what is news. */
async function brief(place: Place): Promise<{ prompt: Part[]; told: Map<string, string>; news: Part[] }> {
  const { prompt: first, messages } = place.chat;
  const now = await layersNow(place);
  const told = new Map<string, string>();
  if (!first) return { prompt: now, told, news: [] };
  const loose = first.filter((part) => !isFirm(part));
  for (const message of messages)
    if (message.role === "user") for (const [key, text] of Object.entries(message.news ?? {})) told.set(key, text);
  const known = new Map([...loose.map((part) => [layerKey(part), part.text] as const), ...told]);
  const news = now.filter((part) => !isFirm(part) && known.get(layerKey(part)) !== part.text);
  const keys = new Set(now.map(layerKey));
  for (const [key, text] of known) {
    const gone = partOf(key, block(titleOf(key.split("/")[1]!), "Nothing any more."));
    if (!keys.has(key) && text !== gone.text) news.push(gone);
  }
  return { prompt: [...now.filter(isFirm), ...loose], told, news };
}
const partOf = (key: string, text: string): Part => {
  const [owner = "", name = ""] = key.split("/");
  return { name, slot: "turn", owner, text };
};
const isFirm = ({ slot }: Part): boolean => slot === "identity" || slot === "rules";
const layerKey = ({ owner, name }: Part): string => `${owner}/${name}`;

/** Briefs the model for the turn whose message came last. What it is told is kept: the next requests begin alike. */
async function tell(place: Place): Promise<string> {
  const { core, chat } = place;
  const { prompt, news } = await brief(place);
  if (!chat.prompt || JSON.stringify(prompt) !== JSON.stringify(chat.prompt)) keepPrompt(core, chat, prompt);
  if (news.length) keepNews(core, chat, Object.fromEntries(news.map((part) => [layerKey(part), part.text])));
  return prompt.map(({ text }) => text).join("\n\n");
}

const titleOf = (name: string): string => name.replace(/[-_]/g, " ").toUpperCase();
const block = (title: string, text: string): string => `--- ${title} ---\n${text}\n--- END ${title} ---`;

/** At most so many tokens: the head and the tail, with a marker between. */
export const fit = (text: string, tokens: number): string => fitChars(text, Math.floor(tokens * CHARS_A_TOKEN));

export function fitChars(text: string, most: number): string {
  if (text.length <= most) return text;
  const [head, tail] = [Math.floor(most * 0.7), Math.floor(most * 0.2)];
  return `${text.slice(0, head)}\n[… ${text.length - head - tail} characters left out …]\n${text.slice(text.length - tail)}`;
}

// ── 9 Turn ─────────────────────────────────────────────────────────────────────────────────────────────

/** A conversation as the kernel holds it. */
export interface LiveChat extends Chat {
  id: string | null;
  model: string;
  phase: Phase;
  messages: Message[];
  prompt?: Part[] | undefined; // as it was first sent
  session?: Session;
  used?: number;
  window?: number;
  next?: string | undefined; // what a command sends
  attached: (Image | string)[]; // for the person's next message
  stop: AbortController; // of the turn under way
  turn: number;
  log: Entry[]; // what was changed on the disk, undone and redone
  seen: Map<string, string>; // by real path, the hash of what the model last read or wrote there
}
/** What the steps of one turn share. */
interface Turn extends Place {
  chat: LiveChat;
  answer: Answer; // as far as it is known; its finish is "stop" until a limit ends the turn
  started: number;
  show?: Show | undefined;
  system: string;
  limit: number; // of rounds
  repeats: Map<string, number>; // by call and result: how many rounds in a row gave it
}

const ROUNDS = 30;
const SIDE_BY_SIDE = 4;
const SAME_CALLS = 3;
const TRIES = 3;
const LONGEST_WAIT = 60_000;
const TOOL_LIMIT = 120_000;
const SILENCE_LIMIT = 300; // seconds
const CONTINUATIONS = 2;
const REPORT = "Stop here: no more tools can be used now. Say what was done, what is left, and what you know so far.";
const CONTINUE = "Your answer was cut off by the output limit. Continue exactly where it stopped; repeat nothing.";

type Ways = { images?: Image[]; show?: Show | undefined };
/** How an answer is shown: once, whole, and only in the phase for it. */
type Show = (text: string) => Awaitable<void>;

/** The turn loop: from the person's message to the answer. */
export async function runTurn(core: Core, chat: LiveChat, text: string, ways: Ways = {}): Promise<Answer> {
  const { show } = ways;
  const attached = chat.attached.splice(0);
  const images = [...(ways.images ?? []), ...attached.filter((one) => typeof one !== "string")];
  text = [...attached.filter((one) => typeof one === "string"), text].filter((one) => one.trim()).join("\n\n");
  const turn = { ...newTurn(core, chat), show };
  try {
    enter(core, chat, "thinking");
    chat.turn++;
    remember(core, chat, { role: "user", text, ...(images.length && { images }) });
    turn.answer.session = chat.id || null;
    turn.system = await tell(turn);
    for (;;) {
      const reply = await think(turn);
      remember(core, chat, messageOf(turn, reply));
      if (!reply.calls.length) {
        await respond(turn, reply);
        break;
      }
      await perform(turn, reply);
      await checkLimits(turn);
      enter(core, chat, "thinking");
    }
  } catch (error) {
    throw await breakOff(turn, error as Fault);
  } finally {
    await settle(turn);
  }
  await emit(core, "answered", turn.answer);
  return turn.answer;
}

function newTurn(core: Core, chat: LiveChat): Turn {
  const limit = core.options.rounds ?? core.options.settings.rounds ?? ROUNDS;
  const counts = { rounds: 0, calls: [], usage: { input: 0, output: 0 }, ms: 0 };
  const answer: Answer = { text: "", model: chat.model, session: null, finish: "stop", ...counts };
  const ctx = context(core, chat);
  return { core, chat, ctx, answer, started: performance.now(), system: "", limit, repeats: new Map() };
}

/** One request, or a few: a text that the output limit cut is continued, at most twice. */
async function think(turn: Turn): Promise<Reply> {
  const { core, chat, answer } = turn;
  const last = answer.finish !== "stop"; // a limit was reached: only a report is wanted
  const messages: Message[] = last ? [...chat.messages, { role: "user", text: REPORT }] : [...chat.messages];
  let whole: Reply | undefined;
  answer.rounds++;
  const started = performance.now();
  for (let more = 0; ; more++) {
    const reply = await ask(turn, messages, last ? [] : offered(core));
    if (reply.usage) answer.used = chat.used = reply.usage.input + reply.usage.output;
    if (chat.window) answer.window = chat.window;
    if (reply.thinking)
      await emit(core, "thought", { text: reply.thinking, ms: Math.round(performance.now() - started) });
    answer.usage.input += reply.usage?.input ?? 0;
    answer.usage.output += reply.usage?.output ?? 0;
    const before = whole;
    whole = before
      ? { ...reply, text: seam(before.text, reply.text), thinking: before.thinking || reply.thinking }
      : reply;
    if (reply.finish !== "length" || reply.calls.length || !reply.text || more === CONTINUATIONS)
      return last ? { ...whole, calls: [] } : whole;
    note(core, "The answer was cut off by the output limit; asking for the rest.");
    messages.push({ role: "assistant", text: reply.text }, { role: "user", text: CONTINUE });
  }
}

/** The two texts as one, without what the second repeats of the first's end: a long stretch, or whole words. `10` and `00` are 1000. */
export function seam(one: string, two: string): string {
  for (let length = Math.min(one.length, two.length); length > 1; length--) {
    const again = two.slice(0, length);
    if (!one.endsWith(again)) continue;
    const apart = !/[\p{L}\p{N}]/u.test((one.at(-length - 1) ?? "") + (two[length] ?? ""));
    if (length >= 16 || (apart && /^\p{L}.*\p{L}$/su.test(again))) return one + two.slice(length);
  }
  return one + two;
}

/** Asks the model. When that fails, the person may say to try again, perhaps with another model. */
async function ask(turn: Turn, messages: Message[], tools: ChatRequest["tools"]): Promise<Reply> {
  const { core, chat, system } = turn;
  for (;;) {
    try {
      const reply = await send(turn, { task: "chat", model: chat.model, system, messages, tools });
      turn.answer.model = reply.model ?? chat.model;
      return reply;
    } catch (error) {
      const failed = error as Fault;
      if (chat.stop.signal.aborted || failed.dry || !(await core.atFault?.(failed, turn))) throw failed;
    }
  }
}

/** Beside the conversation: no tools, and nothing of it is kept. */
function beside(place: Place, { task, messages, system = "", model }: Beside): Promise<Reply> {
  const { core, chat } = place;
  return send(place, {
    task,
    model: model ?? core.options.settings.models?.[task] ?? chat.model,
    system,
    messages,
    tools: [],
  });
}

/** Through what is wrapped around a request, then to the provider that its model names. */
async function send(
  place: Place,
  asked: Pick<ChatRequest, "task" | "model" | "system" | "messages" | "tools">,
): Promise<Reply> {
  const { core } = place;
  const { name } = providerNamed(core, asked.model);
  const options = { ...core.options.settings.options, ...core.options.options };
  const request = { ...asked, options, endpoint: endpointOf(core, name) };
  return around(place, "request", request, (request) => attempt(place, request));
}

/** Again at most twice when what went wrong may pass. Nothing of it has been shown yet. */
async function attempt(place: Place, { model, messages, ...asked }: ChatRequest): Promise<Reply> {
  const { core, chat } = place;
  const provider = providerNamed(core, model);
  const endpoint = endpointOf(core, provider.name);
  const request = { ...asked, model: model.slice(provider.name.length + 1), messages: repair(messages), endpoint };
  for (let tried = 1; ; tried++) {
    try {
      await emit(core, "requested", request);
      const started = performance.now();
      const reply = { ...(await receive(place, provider, request)), model };
      await emit(core, "replied", { ...reply, task: asked.task, ms: Math.round(performance.now() - started) });
      return reply;
    } catch (error) {
      const failed = error as Fault;
      if (chat.stop.signal.aborted || failed.dry) throw failed;
      const wait = failed.after ?? 500 * 2 ** (tried - 1) * (1 + Math.random() / 4);
      if (failed.transient && wait > LONGEST_WAIT) failed.message += ` Try again in ${Math.ceil(wait / 1000)} s.`;
      if (!failed.transient || tried === TRIES || wait > LONGEST_WAIT) throw failed;
      await emit(core, "retried", { attempt: tried, wait: Math.round(wait), reason: reason(failed) });
      const { setTimeout: sleep } = await import("node:timers/promises");
      await sleep(wait, undefined, { signal: chat.stop.signal });
    }
  }
}

/** One answer of the provider, whole. The silence in it is limited, not its length. */
async function receive({ core, chat }: Place, provider: Provider, request: ChatRequest): Promise<Reply> {
  const started = performance.now();
  const { timeout = SILENCE_LIMIT } = core.options.settings;
  const seconds = timeout || Number.POSITIVE_INFINITY; // 0: no limit
  const late = `'${provider.name}' sent nothing for ${seconds} s. Try again, or raise "timeout" in the settings.`;
  const silence = deadline(seconds * 1000, fault(late));
  const signal = AbortSignal.any([chat.stop.signal, silence.signal]);
  let partial = { text: "", thinking: "" };
  try {
    return await until(signal, collect(provider.chat(request, signal), see));
  } catch (error) {
    const failed = silence.signal.aborted && !chat.stop.signal.aborted ? silence.signal.reason : error;
    throw Object.assign(failed, { partial });
  } finally {
    silence.lift();
  }

  function see(text: string, thinking: string): void {
    partial = { text, thinking };
    silence.putOff();
    const { endpoint, task, ...shown } = request; // the endpoint may hold a key
    if (core.options.dry) throw fault("dry run", { dry: shown });
    const tokens = Math.round((text.length + thinking.length) / CHARS_A_TOKEN);
    void emit(core, "received", { tokens, ms: Math.round(performance.now() - started), thinking });
  }
}

/** Runs a round's calls: neighbours that only read side by side, all else one at a time, results in call order. */
async function perform(turn: Turn, { calls, text }: Reply): Promise<void> {
  const { core, chat, answer } = turn;
  enter(core, chat, "planning_tools");
  await emit(core, "planned", { calls, text });
  enter(core, chat, "executing_tools");
  const names = offered(core).map(({ name }) => name);
  for (const call of calls) if (!names.includes(findTool(core, call.name)?.name ?? "")) call.broken = notOffered(call);
  const before = turn.repeats;
  turn.repeats = new Map();
  for (let i = 0; i < calls.length && !chat.stop.signal.aborted; ) {
    const batch = [calls[i++]!];
    if (await onlyReads(turn, batch[0]!))
      while (i < calls.length && batch.length < SIDE_BY_SIDE && (await onlyReads(turn, calls[i]!)))
        batch.push(calls[i++]!);
    const results = await Promise.all(batch.map((call) => runCall(turn, call)));
    for (const [j, { text, failed, refused, images }] of results.entries()) {
      const { id, name, args } = batch[j]!;
      remember(core, chat, { role: "tool", id, name, text, ...(failed && { failed }), ...(images && { images }) });
      answer.calls.push({ name, args, ok: !failed, ...(refused && { refused }) });
      const key = JSON.stringify([name, args, text]);
      turn.repeats.set(key, (before.get(key) ?? 0) + 1);
    }
  }
  chat.stop.signal.throwIfAborted();

  function notOffered({ name }: Call): string {
    const why = names.length ? unknown("tool", name, names) : "no tools are offered. Answer without.";
    return `Cannot call '${name}': ${why}`;
  }
}

async function onlyReads({ core, ctx }: Place, call: Call): Promise<boolean> {
  const tool = findTool(core, call.name);
  if (!tool || call.broken || tool.changes) return false;
  const needs = await (async () => tool.needs?.(spelt(tool, call.args), ctx) ?? {})().catch(() => undefined); // validation comes later
  return needs !== undefined && Object.keys(needs).every((kind) => kind === "read");
}

/** One call: through what is wrapped around it, then validated, then past the gate, then run. Whatever goes wrong is a result. */
export async function runCall(place: Place, call: Call, inner = false): Promise<Result> {
  const { core, ctx } = place;
  const started = performance.now();
  const result = await around(place, "call", call, (call) => runTool(place, call)).catch((error): Result => {
    if (ctx.signal.aborted) return { text: "[interrupted]", failed: true };
    if (core.options.debug) note(core, String((error as Error)?.stack));
    return { text: reason(error), failed: true };
  });
  const tool = findTool(core, call.name);
  const width = process.stderr.columns ?? 80;
  const shown = result.failed ? undefined : tryTo(() => tool?.render?.(result, width));
  const ms = Math.round(performance.now() - started);
  await emit(core, "called", { call, result, ms, ...(shown && { shown }), ...(inner && { inner }) });
  return result;
}

async function runTool(place: Place, call: Call): Promise<Result> {
  const { core, ctx } = place;
  const tool = toolNamed(core, call.name);
  if (call.broken) throw fault(call.broken);
  const args = frozen(await validate(tool, spelt(tool, call.args), "Send the call again with valid arguments."));
  const needs = checked(tool, (await tool.needs?.(args, ctx)) ?? {});
  const refusal = await gate(place, tool, args, needs);
  ctx.signal.throwIfAborted();
  if (refusal) return { text: refusal, failed: true, refused: true };
  const named = (kind: Kind) => (needs[kind] ?? []).map((need) => realPath(core.options, nameOf(need)));
  const granted = named("read");
  const held: Held | undefined = tool.changes ? new Map() : undefined;
  const files = openFiles(place, { tool: tool.name, granted, held, changes: tool.changes === true });
  const seconds = (tool.timeout ?? TOOL_LIMIT) / 1000;
  const limit = deadline(seconds * 1000, fault(`'${tool.name}' took longer than ${seconds} s and was given up.`));
  const signal = AbortSignal.any([ctx.signal, limit.signal]);
  const nested: Ctx["call"] = (name, args) => {
    limit.lift(); // another tool has a limit of its own, and the person takes their time
    return ctx.call(name, args).finally(limit.putOff);
  };
  const own: Ctx = Object.create(ctx, { files: { value: files }, signal: { value: signal }, call: { value: nested } });
  const given = await until(signal, (async () => tool.run(args, own))()).finally(limit.lift);
  const result = typeof given === "string" ? { text: given } : given;
  if (typeof result?.text === "string") return held && !result.failed ? settleChanges(held, result) : result;
  throw fault(`'${tool.name}' gave no result. Its run() must return text or { text }.`);

  async function settleChanges(held: Held, result: Result): Promise<Result> {
    const { refusal, said } = await commit(place, tool.name, held, place.chat.seen, named("write"));
    if (refusal) return { text: refusal, failed: true, refused: true };
    return said ? { ...result, text: `${result.text}\n${said}` } : result;
  }
}

/** What a tool needs is never guessed. */
function checked(tool: Tool, needs: Needs): Needs {
  const isNeed = (need: any) => typeof (typeof need === "string" ? need : need?.name) === "string";
  for (const [kind, list] of Object.entries(needs))
    if (!KINDS.includes(kind as Kind) || !Array.isArray(list) || !list.every(isNeed))
      throw fault(
        `Cannot call '${tool.name}': its needs for '${kind}' make no sense. They are lists of names, by ${KINDS.join(", ")}.`,
      );
  return needs;
}

/** A model's own spelling of a parameter, as the tool knows it. */
function spelt({ also = {} }: Tool, args: Call["args"]): Call["args"] {
  if (typeof args !== "object" || args === null || Array.isArray(args)) return args; // validation tells
  const known = { ...args };
  for (const [name, others] of Object.entries(also))
    for (const other of others)
      if (!(name in known) && other in known) {
        known[name] = known[other];
        delete known[other];
      }
  return known;
}

/** What was asked is what runs. */
function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}

function toolNamed(core: Core, name: string): Tool {
  const tool = findTool(core, name);
  if (!tool) throw usage(`Cannot call '${name}': ${unknown("tool", name, core.tools.keys())}`);
  return tool;
}

/** By name or alias, also when the model wrapped the name in markup, a prefix or a suffix, or wrote it twice. Two that fit are none. */
export function findTool(core: Pick<Core, "tools">, given: string): Tool | undefined {
  const cut = given
    .split(/<\||[{(["<\n]/)[0]!
    .replace(/^[\s'`]+|[\s'`]+$/g, "")
    .replace(/^(functions?[._]|tools\.|default_api\.)/, "")
    .replace(/:\d+$/, "");
  const half = cut.slice(0, cut.length / 2);
  const loose = (name: string) => name.replace(/[-.]/g, "_").toLowerCase();
  const names = [given, cut, cut.split(".").at(-1)!, ...(half + half === cut ? [half] : [])];
  const own = core.tools.get(given)?.value;
  if (own) return own;
  const tools = valuesOf(core.tools);
  for (const form of [(name: string) => name, loose])
    for (const name of names) {
      const fits = tools.filter((tool) => [tool.name, ...(tool.aliases ?? [])].some((one) => form(one) === form(name)));
      if (fits.length) return fits.length === 1 ? fits[0] : undefined;
    }
  return undefined;
}

/** At a limit the person may say to go on; otherwise the next request is the last. */
async function checkLimits(turn: Turn): Promise<void> {
  const { core, answer, limit } = turn;
  const stops = async (why: string) => !(await core.atLimit?.(why));
  const same = Math.max(0, ...turn.repeats.values()) >= SAME_CALLS;
  if (same && (await stops(`the same call gave the same result ${SAME_CALLS} times`))) answer.finish = "repeat";
  else if (limit === 0 || answer.rounds < limit) return;
  else if (await stops(`${plural(limit, "round")} used up`)) answer.finish = "rounds";
  else turn.limit += limit;
}

async function respond(turn: Turn, { text, finish }: Reply): Promise<void> {
  const { core, chat, answer } = turn;
  enter(core, chat, "responding");
  const safe = turn.show && process.stdout.isTTY ? clean(text) : text;
  const shown = core.options.raw ? safe : await around(turn, "render", safe);
  answer.text = turn.show ? text : shown; // for programs: as it is rendered where nobody looks
  if (answer.finish === "stop") answer.finish = finish;
  if (finish === "filter" && !text)
    throw fault("The provider's content filter withheld the answer. Put the question differently.");
  if (finish === "filter") note(core, "The provider's content filter cut the answer short.");
  if (!text) note(core, "The model answered with nothing.");
  await turn.show?.(shown);
  enter(core, chat, "done");
}

/** Ends a turn that failed or was stopped. What had come of an answer is kept in the file. */
async function breakOff({ core, chat }: Turn, error: Fault): Promise<Fault> {
  const { aborted } = chat.stop.signal;
  const failed = aborted ? fault("Stopped.", { exit: 130 }) : error;
  enter(core, chat, aborted ? "aborted" : "error");
  if (error?.partial?.text || error?.partial?.thinking) save(core, chat, "draft", error.partial);
  await emit(core, "failed", { message: reason(failed), exit: failed.exit ?? 1 });
  return failed;
}

/** However a turn ended: what plugins keep is saved, and the next one may begin. */
async function settle({ core, chat, answer, started }: Turn): Promise<void> {
  answer.ms = Math.round(performance.now() - started);
  keepStates(core, chat);
  await chat.session?.sync();
  enter(core, chat, "idle");
  chat.stop = new AbortController();
}

/** A reply as it is kept: with who gave it, and what it cost. */
function messageOf({ answer, started }: Turn, { text, thinking, calls, finish, usage }: Reply): Message {
  if (thinking) answer.thinking = [answer.thinking, thinking].filter(Boolean).join("\n");
  const more = {
    ...(thinking && { thinking }),
    ...(calls.length && { calls }),
    ...(finish === "length" && { cut: true }),
    ...(usage && { usage }),
  };
  return { role: "assistant", text, ...more, model: answer.model, ms: Math.round(performance.now() - started) };
}

export function context(core: Core, chat: LiveChat): Ctx {
  const ctx: Ctx = {
    root: core.options.root,
    get signal() {
      return chat.stop.signal;
    },
    chat,
    get files() {
      return openFiles({ core, chat, ctx }, { tool: ZZ });
    },
    permissions: permissions(core),
    sessions: sessions({ core, chat }),
    settings: preferences(core),
    get plugins() {
      return pluginsOf(core);
    },
    ...(core.ask && { ask: core.ask }),
    ...(core.edit && { edit: core.edit }),
    ...(core.terminal && { terminal: core.terminal }),
    get about() {
      return about({ core, chat, ctx });
    },
    request: (what) => beside({ core, chat, ctx }, what),
    call: (name, args) => runCall({ core, chat, ctx }, { id: newId("call_"), name, args: args as Call["args"] }, true),
    note: (text) => note(core, text),
    progress: (text) => void emit(core, "progressed", { text }),
  };
  return ctx;
}

function pluginsOf(core: Core): Plugins {
  const refresh = () => refreshPlugins(core);
  const { brought } = core;
  const { files = [], given = false, changed, wrong } = brought ?? {};
  return {
    refresh,
    ...(brought && { brought: { files, given, ...(changed && { changed }), ...(wrong && { wrong }) } }),
    async trust(yes) {
      if (yes && !brought) throw usage("Cannot trust this folder: there is nothing in its .zz/ that could run.");
      if (yes && brought?.wrong) throw usage(`Cannot trust this folder: ${brought.wrong}.`);
      keepTrust(core.options, yes ? brought?.hashes : undefined);
      core.brought = broughtBy(core.options);
      await readAgain(core);
      return refresh();
    },
  };
}

/** Each part is made when it is looked at: a turn's layers ask for one or two. */
function about(place: Place): About {
  const { core, ctx } = place;
  return {
    home: core.options.home,
    get tools() {
      return offered(core).map((tool) => ({ ...tool, owner: core.tools.get(tool.name)!.owner }));
    },
    get commands() {
      return [...OWN_COMMANDS, ...[...core.commands.values()].map(told)].sort(byName);
    },
    get keys() {
      return [...core.keys.values()].map(({ owner, value: { name, description } }) => ({ name, description, owner }));
    },
    get plugins() {
      return core.plugins.map(({ undo, ms, version, stamps, ...plugin }) => ({
        ...plugin,
        ms: Math.round(ms * 10) / 10,
        adds: addedBy(core, plugin.name),
      }));
    },
    get flags() {
      return allFlags(core);
    },
    models: (all = false) => listModels(core, all),
    async prompt() {
      const { prompt, told, news } = await brief(place);
      const earlier = [...told].map(([key, text]) => partOf(key, text));
      const sent = { system: prompt, earlier, next: news };
      return Object.entries(sent).flatMap(([when, parts]) =>
        parts.map((part) => ({ ...part, sent: when as keyof typeof sent })),
      );
    },
    model: (name, quick) => modelNamed(core, name, quick),
    async complete(command, typed) {
      const given = (await core.commands.get(command)?.value.complete?.(typed, ctx)) ?? [];
      return given.map((one) => (typeof one === "string" ? { name: one } : one));
    },
  };

  function told({ owner, value: { run, complete, ...rest } }: Owned<Command>): About["commands"][number] {
    return { ...rest, owner };
  }
}

/** Everything that a plugin owns. */
function addedBy(core: Core, owner: string): Added[] {
  const named = (kind: string, all: Map<string, Owned<{ name: string }>>) =>
    list(kind, [...all.values()], ({ name }) => name);
  return [
    ...named("tool", core.tools),
    ...named("command", core.commands),
    ...named("flag", core.flags),
    ...named("key", core.keys),
    ...named("provider", core.providers),
    ...list("layer", core.layers, ({ name }) => name),
    ...list("wrapper", core.wraps, ({ step }) => step),
    ...list("event", core.seers, ({ event }) => event),
    ...list(
      "settings",
      core.configs.filter(({ value }) => Object.keys(value.defaults).length > 0),
      ({ section }) => section,
    ),
  ];

  function list<T>(kind: string, all: Owned<T>[], nameOf: (value: T) => string): Added[] {
    return all.filter((one) => one.owner === owner).map(({ value }) => ({ kind, name: nameOf(value) }));
  }
}

async function listModels(core: Core, all: boolean): Promise<{ models: Model[]; failures: string[] }> {
  const { model, baseUrl } = core.options;
  const only = all ? undefined : (model?.split("/")[0] ?? (baseUrl ? "openai" : undefined));
  const asked = only ? [providerNamed(core, only)] : valuesOf(core.providers);
  const failures: string[] = [];
  const lists = asked.map(async ({ name, models }) => {
    const found = await models(AbortSignal.timeout(PATIENCE), endpointOf(core, name)).catch((error) => {
      if (only) throw error;
      failures.push(`${name}: ${reason(error)}`);
      return [];
    });
    return found.filter(({ id }) => clean(id) === id).map((model) => ({ ...model, id: `${name}/${model.id}` }));
  });
  return { models: (await Promise.all(lists)).flat(), failures };
}

/** The tools that the model is told of, in a stable order. */
function offered({ tools, schemas, options: { tools: only } }: Core): ChatRequest["tools"] {
  return valuesOf(tools)
    .filter(({ name }) => only !== false && (!only?.length || only.includes(name)))
    .sort(byName)
    .map(({ name, description, params }) => ({ name, description, schema: schemas.get(name) ?? toJsonSchema(params) }));
}

/** The provider that a model's name names; the first slash splits. */
export function providerNamed(core: Core, model: string): Provider {
  const [name = ""] = model.split("/");
  const provider = core.providers.get(name)?.value;
  if (provider) return provider;
  const why = `a model is named provider/model, and ${unknown("provider", name, core.providers.keys())}`;
  throw usage(`Cannot use model '${model}': ${why}`);
}

export function endpointOf({ options, named = "" }: Core, provider: string): Endpoint {
  const own = options.settings.providers?.[provider];
  if (named && named !== provider) return { ...own }; // the flags speak of another
  const { baseUrl, key } = options;
  return { ...own, ...(baseUrl && { url: baseUrl }), ...(key && { key }) };
}

/**
 * Which model to talk to: --model, ZZ_MODEL, the session's, the settings', a provider whose key is set, a local
 * server that answers within 300 ms. Undefined when there is none.
 */
/** As the person named it. */
function wantedModel({ options, providers }: Core, earlier?: string): string | undefined {
  const { model, baseUrl, settings } = options;
  const named = model || process.env.ZZ_MODEL || earlier || settings.model || settings.models?.chat;
  return named && baseUrl && !providers.has(named.split("/")[0]!) ? `openai/${named}` : named;
}

export async function chooseModel(core: Core, earlier?: string): Promise<string | undefined> {
  const { baseUrl } = core.options;
  const named = wantedModel(core, earlier);
  if (named) return providerNamed(core, named) && named.includes("/") ? named : firstModel(core, named);
  if (baseUrl && core.providers.has("openai")) return firstModel(core, "openai");
  const signal = AbortSignal.timeout(LOCAL_LIMIT); // for the first word of a server; then it may take its time
  const offers = valuesOf(core.providers).map(
    (one) => [one.name, one.auto?.(signal, endpointOf(core, one.name))] as const,
  );
  for (const [, model] of offers) if (model instanceof Promise) model.catch(() => {}); // asked below, if at all
  for (const [name, model] of offers) if (typeof model === "string") return `${name}/${model}`;
  for (const [name, model] of offers) {
    const answered = await Promise.resolve(model).catch(() => undefined);
    if (answered) return `${name}/${answered}`;
  }
  return undefined;
}

export async function firstModel(core: Core, name: string): Promise<string> {
  const provider = providerNamed(core, name);
  const signal = AbortSignal.timeout(PATIENCE);
  const endpoint = endpointOf(core, name);
  const model = (await provider.auto?.(signal, endpoint)) ?? (await provider.models(signal, endpoint))[0]?.id;
  if (!model) throw usage(`Cannot use '${name}': it offers no model. Name one with --model ${name}/MODEL.`);
  return `${name}/${model}`;
}

const LOCAL_LIMIT = 300;
export const PATIENCE = 10_000;
export const NO_MODEL =
  "No model to ask: set OPENAI_API_KEY, start Ollama, or name one with --model provider/model (and --base-url URL for a server of your own). " +
  "Without any, --model offline finds definitions, references and TODOs in this folder.";

// ── 10 Dialogs ─────────────────────────────────────────────────────────────────────────────────────────

const UNSAFE =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\u3164\ufeff\uffa0\u{e0000}-\u{e0fff}]/gu;

/** Text that a terminal can only show, never obey: control bytes become visible signs. */
export function clean(text: string): string {
  if (!/[^\n\x20-\x7e]/.test(text)) return text; // most of what there is, in a tenth of the time
  return text
    .replace(/\r\n/g, "\n")
    .replace(UNSAFE, (char) => (char < " " ? String.fromCharCode(0x2400 + char.charCodeAt(0)) : "\ufffd"));
}

/** The same for an answer that was rendered: its colours and links stay. The model's own text was cleaned before. */
export function cleanRendered(text: string): string {
  if (!UNSAFE_BUT_PAINT.test(text)) return text; // nearly all that there is, in a tenth of the time
  return text.replace(/\r\n/g, "\n").replace(PAINT_OR_UNSAFE, (found) => (/^\x1b./.test(found) ? found : clean(found)));
}
const PAINT = "\\x1b\\[[\\d;]*m|\\x1b\\]8;;[!-~]*\\x1b\\\\";
const PAINT_OR_UNSAFE = new RegExp(`${PAINT}|${UNSAFE.source}`, "gu");
/** The second half of what ends a link is by itself a sequence that ends nothing. */
const UNSAFE_BUT_PAINT = new RegExp(`\r\n|(?!${PAINT}|\\x1b\\\\)${UNSAFE.source}`, "u");
const showAnswer = (text: string): Promise<void> => printLine(text, cleanRendered);

export const say = (text: string): void => void process.stderr.write(`${clean(text)}\n`);

/** All of it, also when the other end is slow. A closed pipe is not an error: the reader has what it wanted. */
function printLine(text: string, tidy = clean): Promise<void> {
  const shown = process.stdout.isTTY ? tidy(text) : text;
  return new Promise((done, failed) =>
    process.stdout.write(shown.endsWith("\n") ? shown : `${shown}\n`, (error) => {
      if (!error || codeOf(error) === "EPIPE") done();
      else failed(fileFault("write the answer to", "stdout", error));
    }),
  );
}

/** `/undo 2` is a command; `//x` and `/` are text. */
export function parseCommand(line: string): { name: string; rest: string } {
  const match = /^\/([A-Za-z][\w-]*)(?:\s+(.*))?$/s.exec(line.trim());
  return { name: match?.[1] ?? "", rest: match?.[2]?.trim() ?? "" };
}

type Format = "text" | "json" | "json-lines";

const watch = <K extends keyof Events>(core: Core, event: K, see: (fact: Events[K]) => void) =>
  void core.seers.push({ owner: "", value: { event, see, limit: HOOK_LIMIT } });

/** Notes go to stderr. What else a person sees while a turn runs is for plugins/terminal. */
function follow(core: Core): void {
  let live = false; // then plugins/terminal tells of every call
  watch(core, "started", (fact) => void (live = fact.live));
  watch(core, "called", ({ call, result }) => void (result.refused && !live && say(`${call.name}: ${result.text}`)));
  if (core.options.quiet) return;
  watch(core, "noted", ({ text }) => (core.aside ?? say)(wrapped(text)));
  watch(core, "retried", ({ attempt, wait, reason }) =>
    say(
      `${reason.replace(/ Try again\.$/, "")} Trying again in ${(wait / 1000).toFixed(1)} s (${attempt} of ${TRIES - 1}).`,
    ),
  );
}

/** What plugins print by themselves goes to stderr, each line under their name: stdout is for the answer, or a script's own. */
function catchConsole(core: Core, isScript: boolean): void {
  const all = console as unknown as Record<string, any>;
  const own = { ...all };
  const stdout: any = { write: tell };
  let caught: Record<string, any> | undefined; // made at the first word
  let owner: string | undefined;
  for (const name of Object.keys(all))
    if (typeof all[name] === "function" && name !== "Console")
      all[name] = (...given: unknown[]) => {
        owner = pluginAmong(String(new Error().stack));
        if (isScript && !owner) return own[name](...given);
        caught ??= new own.Console({ stdout, ignoreErrors: false }) as Record<string, any>;
        return caught[name](...given);
      };

  function tell(text: string): boolean {
    const lines = text.replace(/\n$/, "").split("\n");
    (core.aside ?? say)(lines.map((line) => (owner ? `${owner}: ${line}` : line)).join("\n"));
    return true;
  }
}

/** On a terminal lines end between words. */
function wrapped(text: string): string {
  const width = process.stderr.isTTY ? (process.stderr.columns ?? 80) : Number.POSITIVE_INFINITY;
  const wrap = (line: string): string => {
    const at = line.length > width ? line.lastIndexOf(" ", width) : -1;
    return at < width / 3 ? line : `${line.slice(0, at)}\n${wrap(line.slice(at + 1))}`;
  };
  return text.split("\n").map(wrap).join("\n");
}

/** Tokens are left out where the server did not tell. */
function statistics({ model, usage: { input, output }, calls, ms }: Answer): string {
  const tokens = input || output ? [`${input} tokens in, ${output} out`] : [];
  return [model, ...tokens, plural(calls.length, "call"), `${(ms / 1000).toFixed(1)} s`].join(" · ");
}

const plural = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;

/** What the shell gets: 3 beats 4, since an answer that a limit cut is the worse surprise. */
export function exitCode(answer: Answer): number {
  if (answer.finish !== "stop" && answer.finish !== "filter") return 3;
  return answer.calls.some((call) => call.refused) ? 4 : 0;
}

export function start(core: Core, { id, model }: LiveChat, watched: boolean, stays = false): Promise<void> {
  const { root, quiet } = core.options;
  return emit(core, "started", { session: id || null, model, root, live: watched && !quiet, stays });
}

/** Whether something of the project waits for a yes. Settings that anybody's project may have do not. */
const isUntrusted = ({ brought, options: { sources } }: Core): boolean =>
  brought?.given === false &&
  (brought.files.some((name) => !name.endsWith("/zz.config.json")) || Boolean(sources?.project?.left.length));

/** Before the first turn: somebody says yes or no, or nobody is there, which means no. */
async function settleTrust(core: Core, chat: LiveChat): Promise<void> {
  if (!isUntrusted(core)) return;
  const command = core.commands.get("trust")?.value;
  if (core.ask && command) return command.run("", context(core, chat));
  const { files, changed } = core.brought!;
  const what = changed
    ? `${changed.join(", ")} changed since you said yes to it`
    : `nobody has said yes to ${files.join(", ")}`;
  say(`Left out what this folder brings: ${what}. Look at it, then: zz --trust`);
}

/** One answer and out. */
async function once(core: Core, chat: LiveChat, prompt: Prompt, format: Format): Promise<number> {
  if (format === "json-lines")
    for (const event of EVENTS.filter((event) => !["received", "answered", "failed"].includes(event)))
      watch(core, event, (fact) => void printLine(JSON.stringify({ type: event, ...fact })));
  await start(core, chat, format === "text" && Boolean(process.stderr.isTTY));
  askOnTerminal(core);
  await settleTrust(core, chat);
  const ctx = context(core, chat);
  prompt.attached.forEach(chat.attach);
  const line = prompt.typed ? await around({ core, chat, ctx }, "line", prompt.words) : prompt.words;
  const { name, rest } = parseCommand(prompt.typed ? line : "");
  const command = core.commands.get(name)?.value;
  if (name && !command) throw usage(`Cannot obey '/${name}': ${unknown("command", name, core.commands.keys())}`);
  if (command) await command.run(rest, ctx);
  if (command) keepStates(core, chat);
  else chat.send(prompt.typed ? line.replace(/^\/\//, "/") : line);
  const show = format === "text" ? showAnswer : undefined;
  const { next } = chat; // a command may send something
  const answer = next === undefined ? newTurn(core, chat).answer : await runTurn(core, chat, next, { show });
  const { used, window, ...told } = answer;
  const shown = { ...told, calls: answer.calls.map(({ name, args, ok }) => ({ name, args, ok })) };
  if (format === "json") await printLine(JSON.stringify(shown));
  if (format === "json-lines") await printLine(JSON.stringify({ type: "done", ...shown }));
  if (core.options.usage) say(statistics(answer));
  if (answer.finish === "rounds")
    say(`Stopped after ${plural(answer.rounds - 1, "round")} of tools. --rounds N allows more.`);
  if (answer.finish === "repeat") say(`Stopped: the same call gave the same result ${SAME_CALLS} times.`);
  if (answer.finish === "length") say("The answer is not complete: the model's output limit cut it off.");
  return exitCode(answer);
}

/** One key of the ones offered, however it came; whatever else was pressed is none. */
export const keyOf = (typed: string, keys: string): string => {
  const key = typed.replace(/[\r\n]+$/, "");
  return key.length === 1 && keys.includes(key) ? key : "";
};
/** What was typed before a question was there is no answer to it, nor is a key that is still held down. */
export async function silence(listen: (hear: () => void) => void): Promise<void> {
  const { setTimeout: sleep } = await import("node:timers/promises");
  let heard = Number.NEGATIVE_INFINITY;
  listen(() => (heard = performance.now()));
  do await sleep(50);
  while (performance.now() - heard < 100);
}

/** Questions outside of the readline loop: where stdin and stderr are a terminal, somebody is there. */
function askOnTerminal(core: Core): void {
  const { stdin, stderr } = process;
  if (core.options.prompt === false || !stdin.isTTY || !stderr.isTTY) return;
  core.ask = async (question, keys) => {
    await emit(core, "asked", { question });
    const heard: ((typed: string) => void)[] = [];
    const hear = (bytes: Buffer) => heard.at(-1)?.(bytes.toString("utf8"));
    stdin
      .setRawMode(keys !== undefined)
      .on("data", hear)
      .resume();
    try {
      if (keys !== undefined) await silence((hear) => heard.push(hear));
      stderr.write(cleanRendered(question));
      const typed = await new Promise<string>((resolve) => heard.push(resolve));
      if (keys === undefined) return typed.trim();
      const key = keyOf(typed, keys);
      stderr.write(`${key}\n`);
      if (typed === "\x03") process.kill(process.pid, "SIGINT");
      return key;
    } finally {
      stdin.off("data", hear).pause().setRawMode(false);
    }
  };
  core.edit = (text, name) => openEditor(text, name);
}

/** In the person's own editor. Undefined when it was left with a failure. */
async function openEditor(text: string, name: string): Promise<string | undefined> {
  const { spawnSync } = await import("node:child_process");
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "zz-edit-"));
  const file = path.join(folder, name);
  try {
    fs.writeFileSync(file, text);
    const before = fs.statSync(file);
    const editor = process.env.VISUAL || process.env.EDITOR || (process.platform === "win32" ? "notepad" : "vi");
    const command =
      process.platform === "win32" ? `${editor} "${file}"` : `${editor} '${file.replaceAll("'", `'\\''`)}'`;
    const { status } = spawnSync(command, { shell: true, stdio: ["inherit", process.stderr.fd, "inherit"] });
    if (status !== 0) say(`'${editor}' ended without saving (exit code ${status}). VISUAL or EDITOR names another.`);
    const now = tryTo(() => fs.statSync(file)); // an editor may have removed it, or put something else there
    const saved = now?.isFile() && (now.mtimeMs !== before.mtimeMs || now.ino !== before.ino);
    return status === 0 && saved ? fs.readFileSync(file, "utf8") : undefined;
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** A conversation, once its model is chosen; undefined when there is none. */
type Opening = () => Promise<LiveChat | undefined>;

const greeting = ({ model, messages }: LiveChat): string =>
  [
    `zz ${version()}`,
    model,
    ...(messages.length ? [`goes on after ${plural(messages.length, "message")}`] : []),
    "/help lists the commands",
  ].join(" · ");

/** The readline loop. The model is still being chosen when the prompt first shows; the first turn waits for it. */
async function repl(core: Core, open: Opening, first: Prompt, atStop: AtStop): Promise<number> {
  let chat: LiveChat | undefined;
  let busy = false;
  let takesBack = false; // the message, once its turn has ended
  let code = 0;
  const stopTurn = () => {
    if (busy) chat?.stop.abort();
    return busy;
  };
  const leave = (exit: number) => {
    code = exit;
    keyboard.close();
  };
  const ctxNow = () => chat && context(core, chat);
  const { openKeyboard } = await import("./kernel/keyboard.ts");
  const keyboard = openKeyboard(core, { ctxNow, ready: () => opened, interrupt: stopTurn, leave });
  atStop(leave);
  core.aside = keyboard.aside;
  core.terminal = keyboard.terminal;
  core.edit = (text, name) => keyboard.terminal(() => openEditor(text, name));
  if (core.options.prompt !== false) core.ask = keyboard.ask;
  core.atFault = askAtFault;
  core.atLimit = async (why) => (await keyboard.ask(`Stopped: ${why}. Go on? [y/N] `, "yn")) === "y";
  process.removeAllListeners("uncaughtException").on("uncaughtException", (error) => keyboard.aside(astray(error)));

  const waits = !first.words;
  if (waits) await keyboard.prompt();
  const opened = open().then(async (opened) => {
    const helped = Boolean(core.ask && core.commands.has("setup") && waits);
    chat = opened ?? (await openOffline(core, helped));
    await start(core, chat, true, true);
    void learnWindow(core, chat);
    if (!waits) await settleTrust(core, chat);
    if (waits && !core.options.quiet) keyboard.aside(wrapped(greeting(chat)));
    if (!busy && waits && (opened || !helped)) await keyboard.prompt();
    if (!opened && helped) keyboard.put("/setup");
    else if (core.ask && waits && isUntrusted(core)) keyboard.put("/trust");
  });
  opened.catch(() => keyboard.close()); // nothing to talk to: main says why
  const watch = watchPlugins(core, () => void (busy || renewPlugins()));
  for (
    let line: string | undefined = waits ? await keyboard.next() : first.words;
    line !== undefined;
    line = await keyboard.next()
  ) {
    if (line.trim() && !(await obey(line.trim()))) break;
    if (keyboard.closed) break;
    await keyboard.prompt();
  }
  keyboard.close();
  watch.close();
  if (code === 0) process.stdout.write("\n");
  await opened;
  chat?.session?.close();
  return code;

  /** False when it is time to leave. */
  async function obey(given: string): Promise<boolean> {
    busy = true;
    keyboard.mute(true);
    try {
      await opened;
      await renewPlugins();
      first.attached.splice(0).forEach(chat!.attach);
      return await heed(given);
    } catch (error) {
      say((error as Fault).exit === 130 ? "Stopped." : wrapped(blamed(error)));
    } finally {
      busy = false;
      if (chat?.stop.signal.aborted) chat.stop = new AbortController(); // a command was stopped, not a turn
      if (takesBack) takeBack(core, chat!);
      takesBack = false;
    }
    return true;
  }
  /** A saved plugin is live before the next turn. */
  async function renewPlugins(): Promise<void> {
    for (const { name, did, ms, why } of await refreshPlugins(core))
      note(core, why ?? `Plugin '${name}' ${did}${did === "unloaded" ? "" : ` in ${ms} ms`}.`);
    watch.aim();
  }
  async function heed(given: string): Promise<boolean> {
    const ctx = context(core, chat!);
    const line = await around({ core, chat: chat!, ctx }, "line", given);
    const { name, rest } = commandIn(line);
    if (name === "quit" || name === "exit") return false;
    const command = core.commands.get(name)?.value;
    const names = [...OWN_COMMANDS.map((own) => own.name), ...core.commands.keys()];
    if (command) await obeyed(command, rest, ctx);
    else if (name) say(`Cannot obey '/${name}': ${unknown("command", name, names)}`);
    else if (line) chat!.send(line.replace(/^\/\//, "/"));
    const text = chat!.next;
    chat!.next = undefined;
    if (text !== undefined) await runTurn(core, chat!, keyboard.whole(text), { show: showAnswer });
    return true;
  }

  async function obeyed(command: Command, rest: string, ctx: Ctx): Promise<void> {
    try {
      await command.run(rest, ctx);
    } finally {
      keepStates(core, chat!);
      ctx.progress(""); // what it showed of its progress goes
    }
  }

  /** Several lines are a message, as what is pasted is, unless they are for a template. */
  function commandIn(line: string): ReturnType<typeof parseCommand> {
    const found = parseCommand(line);
    const takes = !line.includes("\n") || core.commands.get(found.name)?.value.group === TEMPLATES;
    return takes ? found : { name: "", rest: "" };
  }

  /** True: ask again, perhaps another model. */
  async function askAtFault(error: Fault, { ctx }: Place): Promise<boolean> {
    const models = core.commands.get("model")?.value;
    const keys = `[r]etry, [s]kip, [a]bort and take the message back${models ? ", another [m]odel" : ""}? `;
    for (let why = `${clean(error.message)}\n`; ; why = "") {
      const key = await keyboard.ask(why + keys, "rsam");
      takesBack = key === "a";
      if (key !== "m") return key === "r";
      const before = ctx.chat.model;
      await (async () => models?.run("", ctx))().catch((failed) => say(reason(failed)));
      if (ctx.chat.model !== before) return true; // else the picker was left without a choice
    }
  }
}

/** What the readline loop itself obeys. */
export const OWN_COMMANDS: About["commands"] = [
  { name: "quit", description: "leave (also Ctrl+D)", group: "conversation", owner: "zz" },
  { name: "exit", description: "leave", group: "conversation", owner: "zz" },
];

// ── 11 Main ────────────────────────────────────────────────────────────────────────────────────────────

const VERBS: Record<Kind, string> = { read: "read", write: "write", run: "run", net: "reach", env: "see" };

/** The command line. Parsing, --help and completion are made from this table. */
export const FLAGS: Flag[] = [
  { name: "once", description: "answer once and leave, even on a terminal" },
  { name: "file", short: "f", value: "FILE", many: true, description: "attach a text or an image" },
  { name: "no-stdin", description: "leave stdin alone" },
  { name: "model", short: "m", value: "PROVIDER/MODEL", description: "which model to ask" },
  { name: "base-url", value: "URL", description: "where the provider is" },
  { name: "key", value: "KEY", description: "the provider's key" },
  {
    name: "option",
    short: "o",
    value: "KEY VALUE",
    many: true,
    description: "for the provider, such as temperature 0",
  },
  { name: "system", short: "s", value: "TEXT", description: "who the model is, instead of zz's own words" },
  { name: "continue", short: "c", description: "go on with this folder's last session" },
  { name: "session", value: "ID", description: "go on with that session" },
  { name: "fork", value: "ID", optional: true, description: "go on in a copy: of the last session, --session or ID" },
  { name: "no-session", short: "n", description: "save nothing" },
  { name: "json", description: "print one JSON object" },
  { name: "json-lines", description: "print one JSON object an event" },
  { name: "raw", description: "print the answer as it came" },
  { name: "quiet", description: "no notes on stderr" },
  { name: "usage", short: "u", description: "print tokens, calls and time on stderr" },
  { name: "no-color", description: "no colours" },
  { name: "dry-run", description: "print the request and send nothing" },
  { name: "rounds", value: "N", description: "rounds of tools before zz stops (30; 0: no limit)" },
  { name: "tool", short: "T", value: "NAME", many: true, description: "offer the model only this tool" },
  { name: "no-tools", description: "offer the model no tools" },
  { name: "call", value: "NAME [JSON]", description: "run one tool, without a model" },
  { name: "run", value: "SCRIPT [ARGS]", description: "run a TypeScript file that uses zz; what follows is its own" },
  { name: "plugin", value: "FILE", many: true, description: "load this plugin too" },
  { name: "no-plugins", description: "leave out the home's plugins" },
  ...KINDS.flatMap((kind) => [
    {
      name: `allow-${kind}`,
      value: "LIST",
      optional: true,
      many: true,
      description: `let tools ${VERBS[kind]} all, or the listed`,
    },
    {
      name: `deny-${kind}`,
      value: "LIST",
      optional: true,
      many: true,
      description: `never let tools ${VERBS[kind]} it`,
    },
  ]),
  { name: "allow-all", short: "A", description: "let tools do everything that is not denied" },
  { name: "no-prompt", description: "never ask; what is not allowed is refused" },
  { name: "cwd", value: "FOLDER", description: "the project" },
  { name: "home", value: "FOLDER", description: "where plugins, prompts and sessions are kept" },
  { name: "config", value: "FILE", description: "settings, instead of the home's zz.config.json" },
  { name: "version", short: "V", description: "the version" },
];
const allFlags = (core: Core): Flag[] => [...FLAGS, ...valuesOf(core.flags)];

/** What was typed; `unknown` are the flags that nobody has. */
type Cli = { values: Map<string, (string | true)[]>; words: string[]; unknown: string[] };

/** Splits the command line by a table of flags. Whether an unknown flag is an error is known once the plugins are there. */
export function parseFlags(argv: string[], flags: Flag[]): Cli {
  const byName = new Map(flags.map((flag) => [flag.name, flag]));
  const option = ({ name, short, value, optional }: Flag) =>
    [name, { type: value && !optional ? "string" : "boolean", ...(short && { short }) }] as const;
  const options = Object.fromEntries(flags.map(option));
  const cli: Cli = { values: new Map(), words: [], unknown: [] };
  const { tokens } = parseArgs({ args: pairs(argv), options, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind === "positional") cli.words.push(token.value);
    if (token.kind !== "option") continue;
    const { name, rawName, value, inlineValue } = token;
    const flag = byName.get(name);
    if (!flag) cli.unknown.push(rawName);
    else if (flag.value && !flag.optional && (value === undefined || (!inlineValue && isFlag(value))))
      throw usage(`Flag ${rawName} needs a value: ${rawName} ${flag.value}.`);
    else if (!flag.value && value !== undefined) throw usage(`Flag ${rawName} takes no value. Leave out '=${value}'.`);
    else cli.values.set(name, [...(flag.many ? (cli.values.get(name) ?? []) : []), value ?? true]);
  }
  return cli;

  function isFlag(value: string): boolean {
    return value.startsWith("--") && byName.has(value.slice(2));
  }
  /** -o KEY VALUE is one option of two words; parseArgs knows only one. */
  function pairs(args: string[]): string[] {
    const out: string[] = [];
    for (let i = 0; i < args.length; i++) {
      if (args[i] === "--") return [...out, ...args.slice(i)];
      const [key, value] = [args[i + 1], args[i + 2]];
      if (!/^(-o|--option)$/.test(args[i]!) || key === undefined) out.push(args[i]!);
      else if (key.includes("=") || value === undefined || isFlag(value)) out.push(`--option=${args[++i]}`);
      else out.push(`--option=${key}=${args[(i += 2)]}`);
    }
    return out;
  }
}

const all = (cli: Cli, name: string): string[] => (cli.values.get(name) ?? []).filter((value) => value !== true);
const one = (cli: Cli, name: string): string | undefined => all(cli, name).at(-1);

/** The whole program. Returns the exit code. */
export async function main(argv: string[]): Promise<number> {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < 22 || (major === 22 && minor < 18)) {
    const own = fs.existsSync(path.join(PACKAGE, "node_modules", "node")) ? ", or run it by npx in its own folder" : "";
    say(`zz needs Node 22.18 or later; this is ${process.versions.node}. Install a newer one${own}.`);
    return 2;
  }
  const json = argv.includes("--json") || argv.includes("--json-lines");
  const lastWord = (message: string, exit: number) => `${JSON.stringify({ type: "error", message, exit })}\n`;
  let stopped: number | undefined;
  let why = "Stopped.";
  let running = true;
  const leaveAtOnce = (code: number) => {
    running = false;
    if (json && code) process.stdout.write(lastWord(why, code));
    process.exit(code);
  };
  let leave: (code: number) => unknown = leaveAtOnce;
  const stop = (code: number) => {
    if (stopped !== undefined) leaveAtOnce(stopped);
    stopped = code;
    leave(code);
  };
  for (const stream of [process.stdout, process.stderr])
    if (stream.isTTY && !stream.columns) Object.assign(stream, { columns: 80, rows: 24 }); // a terminal that does not know
  process.on("SIGINT", () => stop(130));
  process.on("SIGTERM", () => stop(143));
  process.on("SIGHUP", () => stop(129)); // the window was closed
  process.stdout.on("error", (error) => {
    if (codeOf(error) !== "EPIPE") return; // printLine() tells of it
    stopped ??= 0; // the reader has what it wanted
    leave(0);
  });
  process.stderr.on("error", () => {});
  process.on("uncaughtException", (error) => {
    why = scriptAt(argv) < 0 ? astray(error) : reason(error);
    say(why);
    stopped ??= 1;
    leave(1);
  });
  process.on("exit", (code) => {
    if (!running || code !== 0 || scriptAt(argv) >= 0) return;
    say(FROM_WITHIN);
    if (json) process.stdout.write(lastWord(FROM_WITHIN, 1));
    process.exitCode = 1;
  });
  try {
    const code = await run(argv, (abort) => (leave = abort));
    return stopped ?? code;
  } catch (error) {
    const failed = error as Fault;
    if (stopped === 0) return 0;
    if (failed.dry) {
      await printLine(JSON.stringify(failed.dry, null, 2));
      return 0;
    }
    const exit = stopped ?? failed.exit ?? 1;
    const message = stopped ? why : blamed(failed);
    if (!stopped) say(message);
    if (wantsTraces(argv)) say(String(failed.stack));
    if (json) await printLine(lastWord(message, exit)).catch(() => {});
    return exit;
  } finally {
    running = false;
  }
}

const FROM_WITHIN =
  "zz was ended from within before it had an answer, most likely by a plugin. --no-plugins leaves them out.";
const astray = (error: unknown): string =>
  `Something failed outside of any turn, most likely in a plugin: ${reason(error)}`;

/** Who is told when the program is to stop; the last one who asked. */
type AtStop = (leave: (code: number) => unknown) => void;
/** The person's words, what goes with them, and whether they typed the words: a slash is a command then, and an @ a file. */
type Prompt = { words: string; attached: (Image | string)[]; typed: boolean };

/** What the command line asks for. It is read twice: plugins bring flags of their own. */
async function run(argv: string[], atStop: AtStop): Promise<number> {
  const at = scriptAt(argv);
  if (at >= 0) return runScript(argv.slice(0, at), argv.slice(at), atStop);
  const early = parseFlags(argv, FLAGS);
  if (early.values.has("version")) return show(early, { text: `zz ${version()}`, data: { version: version() } });
  const lists = early.unknown.length > 0 || early.values.has("call");
  const reading = lists ? undefined : readStdin(early); // while the plugins load, unless no turn will come of it

  const { core, cli } = await prepare(argv, early);
  const added = valuesOf(core.flags);
  for (const flag of added) {
    const value = cli.values.get(flag.name)?.at(-1);
    if (!flag.run || value === undefined) continue;
    askOnTerminal(core);
    const model = wantedModel(core) ?? "";
    const chat = openChat(core, model.includes("/") ? model : "");
    const apart = value === true && flag.optional && cli.words.shift(); // --undo 2 as well as --undo=2
    if (cli.words.length)
      throw usage(
        `Cannot use '${cli.words.join(" ")}': --${flag.name} takes ${flag.value ? "one value. Quote it" : "no value. Leave it out"}.`,
      );
    const result = await flag.run(apart || value, context(core, chat));
    chat.session?.close();
    return show(cli, result);
  }
  if (cli.values.has("call")) return callTool(core, cli, atStop);

  takeForkId(core, cli);
  const prompt = await promptOf(cli, await (reading ?? readStdin(cli))());
  const format = cli.values.has("json-lines") ? "json-lines" : cli.values.has("json") ? "json" : "text";
  const single = format !== "text" || cli.values.has("once") || cli.values.has("dry-run");
  const named = core.options.model || process.env.ZZ_MODEL;
  if (named && !core.options.baseUrl) providerNamed(core, named); // refused before a prompt is there
  if (!single && process.stdin.isTTY && process.stdout.isTTY) return repl(core, () => open(core, cli), prompt, atStop);
  if (!prompt.words && !prompt.attached.length) throw usage(`Nothing to ask: the prompt is empty. ${WAYS_TO_ASK}`);
  const chat = await open(core, cli);
  if (!chat) throw usage(NO_MODEL);
  atStop(() => chat.stop.abort());
  try {
    return await once(core, chat, prompt, format);
  } finally {
    chat.session?.close();
  }
}

/** An instance as the flags want it. They are read again once the plugins brought theirs. */
async function prepare(argv: string[], early: Cli, isScript = false): Promise<{ core: Core; cli: Cli }> {
  if (early.values.has("no-color")) process.env.NO_COLOR = "1";
  if (early.values.has("cwd")) process.chdir(folder(one(early, "cwd")!, "cwd"));
  const core = await createZz(optionsOf(early), (core) => catchConsole(core, isScript));
  for (const plugin of core.plugins) if (plugin.failure) say(plugin.failure);
  if (!core.options.quiet) strangeSettings(core).forEach(say);
  const cli = parseFlags(argv, allFlags(core));
  checkFlags(core, cli);
  follow(core);
  for (const flag of valuesOf(core.flags)) for (const value of cli.values.get(flag.name) ?? []) await flag.set?.(value);
  checkTools(core, cli);
  return { core, cli };
}

/** Where `--run` stands: what follows it is the script's own. */
const scriptAt = (argv: string[]): number => {
  const at = argv.findIndex((arg) => arg === "--" || /^--run(=|$)/.test(arg));
  return argv[at] === "--" ? -1 : at;
};

/** zz [flags] --run SCRIPT [ARGS] */
async function runScript(flags: string[], [run = "", ...rest]: string[], atStop: AtStop): Promise<number> {
  const [file = "", ...args] = run.startsWith("--run=") ? [run.slice("--run=".length), ...rest] : rest;
  if (!file) throw usage("Flag --run needs a value: --run SCRIPT [ARGS].");
  const script = path.resolve(file);
  const early = parseFlags(flags, FLAGS);
  if (early.words.length)
    throw usage(`Cannot use '${early.words.join(" ")}': words for a script stand after its name.`);
  if (!fs.existsSync(script)) throw usage(`Cannot run '${file}': no such file. Check the path.`);
  const { core } = await prepare(flags, early, true);
  askOnTerminal(core);
  const { openScript } = await import("./kernel/script.ts");
  const handle = openScript(core, args);
  atStop(handle.stop);
  Object.defineProperty(globalThis, SCRIPT, { value: handle, configurable: true });
  try {
    await importScript(script);
    await new Promise((idle) => process.once("beforeExit", idle)); // as under node: nothing is left to do
  } catch (error) {
    const { name } = error as Error; // a sentence of zz's or of the script's own tells enough
    throw name === "Error" && !codeOf(error)
      ? error
      : fault(`Cannot run '${file}' (${whereFrom(error, script)}): ${reason(error)}`);
  } finally {
    handle.end();
  }
  return handle.end() || Number(process.exitCode ?? 0);
}

const SCRIPT = Symbol.for("zz.script");
const scriptNow = async (): Promise<Script> => {
  const all = globalThis as { [SCRIPT]?: Script | Promise<Script> };
  return (all[SCRIPT] ??= embed());
};

/** A handle for a program of one's own, with what it says instead of flags. */
export async function embed(options: Options = {}): Promise<Script> {
  const home = options.home ?? homeFolder();
  const core = await createZz({ ...settings(home, options.config), home, ...options });
  const { openScript } = await import("./kernel/script.ts");
  return openScript(core, process.argv.slice(2));
}

/** The handle of this process. */
export const zz: Script = {
  get args() {
    return (globalThis as { [SCRIPT]?: Partial<Script> })[SCRIPT]?.args ?? process.argv.slice(2);
  },
  stdin: async () => (await scriptNow()).stdin(),
  ask: async (text: string, how?: any): Promise<any> => (await scriptNow()).ask(text, how),
  chat: async (how) => (await scriptNow()).chat(how),
  call: async (tool, args) => (await scriptNow()).call(tool, args),
};

/** --debug is a plugin's flag, known before any plugin is there. */
const wantsTraces = (args: string[]): boolean =>
  args.some((arg) => /^--debug(=|$)/.test(arg)) || !/^(0|off|false|no)?$/i.test(process.env.ZZ_DEBUG ?? "");

const WAYS_TO_ASK = 'Give words (zz "…"), pipe text in, or open a terminal without --once.';

function optionsOf(cli: Cli): Options & { home: string } {
  const has = (name: string) => cli.values.has(name);
  for (const name of ["model", "session", "base-url", "home", "config", "cwd"])
    if (one(cli, name) === "") throw usage(`Flag --${name} has an empty value. Give it one, or leave it out.`);
  const home = one(cli, "home") ? path.resolve(one(cli, "home")!) : homeFolder();
  const root = tryTo(() => fs.realpathSync(".")); // createZz() tells of a folder that is gone
  const trusted = root !== undefined && !has("no-plugins") && broughtBy({ root, home })?.given;
  return {
    home,
    ...settings(home, one(cli, "config"), trusted),
    ...(one(cli, "config") && { config: path.resolve(one(cli, "config")!) }),
    plugins: all(cli, "plugin"),
    own: !has("no-plugins") && !cli.unknown.includes("--check-plugin"), // a plugin's flag, too: nothing is run by looking
    model: one(cli, "model"),
    baseUrl: one(cli, "base-url"),
    key: one(cli, "key"),
    options: Object.fromEntries(all(cli, "option").map(pair)),
    system: one(cli, "system"),
    tools: has("no-tools") ? false : all(cli, "tool"),
    rounds: one(cli, "rounds") ? number("rounds", one(cli, "rounds")!) : undefined,
    save: !has("no-session") && !has("dry-run"),
    raw: has("raw"),
    usage: has("usage"),
    quiet: has("quiet"),
    prompt: !has("no-prompt"),
    allow: rules("allow"),
    deny: rules("deny"),
    debug: wantsTraces(cli.unknown),
    dry: has("dry-run"),
  };

  function rules(verb: "allow" | "deny"): Rules {
    const found: Rules = {};
    for (const kind of KINDS) {
      const given = cli.values.get(`${verb}-${kind}`);
      if (given?.includes(true)) found[kind] = true;
      else if (given) found[kind] = given.flatMap((list) => String(list).split(",").filter(Boolean));
      if (Array.isArray(found[kind]) && !found[kind].length)
        throw usage(`Flag --${verb}-${kind} has an empty list. Name something, or leave out the '='.`);
      else if (verb === "allow" && has("allow-all")) found[kind] = true;
    }
    return found;
  }
}

/** Flags that nobody has. */
function checkFlags(core: Core, cli: Cli): void {
  for (const name of cli.unknown) {
    const near = nearest(name.replace(/^-+/, ""), new Set(allFlags(core).map((flag) => flag.name)));
    throw usage(`Unknown flag ${name}. ${near ? `Did you mean --${near}?` : "zz --help lists them."}`);
  }
}

/** Tools that nobody has, once a flag may have brought some. */
function checkTools(core: Core, cli: Cli): void {
  for (const name of all(cli, "tool"))
    if (!core.tools.has(name)) throw usage(`Cannot offer '${name}': ${unknown("tool", name, core.tools.keys())}`);
}

/** `--fork ID words`: the ID may also stand apart, where a session of that name is there. */
function takeForkId({ options: { home } }: Core, cli: Cli): void {
  const [word = ""] = cli.words;
  if (cli.values.get("fork")?.at(-1) !== true || cli.values.has("session") || !sessionIds(home).includes(word)) return;
  cli.values.set("fork", [word]);
  cli.words.shift();
}

/** What is asked: stdin where there are words as well, the files, and the words. */
async function promptOf(cli: Cli, data: string): Promise<Prompt> {
  const words = cli.words.filter((word) => word !== "-").join(" ");
  const files = await Promise.all(all(cli, "file").map(attachment));
  const stdin = words && data.trim() ? [block("STDIN", data.trimEnd())] : [];
  const attached = [...stdin, ...files.flatMap(({ text = [], image = [] }) => [text, image].flat())];
  return { words: words || data.trimEnd(), attached, typed: Boolean(words) };
}

/** The conversation that the flags ask for; undefined when there is no model. */
async function open(core: Core, cli: Cli): Promise<LiveChat | undefined> {
  const { home, root } = core.options;
  const warn = (text: string) => note(core, text);
  const named = one(cli, "fork") ?? one(cli, "session");
  const last = !named && (cli.values.has("continue") || cli.values.has("fork"));
  const id = named ? findSession(home, named) : last ? lastSession(home, root, warn, isTalk) : undefined;

  if (last && !id) warn("There is no earlier session in this folder; this is a new one.");
  const copy = cli.values.has("fork") || cli.values.has("no-session");
  const session = id && !copy ? openOr(id) : undefined;
  const from = session ?? (id ? readSession(home, id) : undefined);
  try {
    const model = await chooseModel(core, (from && modelOf(from)) || undefined);
    if (model === undefined) return undefined;
    core.named = model.split("/")[0]!;
    return openChat(core, model, from);
  } catch (error) {
    session?.close();
    throw error;
  }

  /** Not what --call left, which nobody said a word in. */
  function isTalk(id: string): boolean {
    return tryTo(() => readSession(home, id).header.model) !== NO_ONE;
  }

  /** Where nothing can be written, the talk goes on unsaved. */
  function openOr(id: string): Session | undefined {
    try {
      return openSession(home, id, warn);
    } catch (error) {
      if (!/^(EROFS|ENOSPC|EDQUOT|EACCES|EPERM)$/.test(codeOf(error))) throw error;
      warn(`${fileFault("save to", sessionFile(home, id), error).message} ${UNSAVED}`);
      core.options.save = false;
      return undefined;
    }
  }
}

/** Nobody to ask: at a terminal /setup helps; without it the offline provider does what it can. */
async function openOffline(core: Core, helped: boolean): Promise<LiveChat> {
  if (!helped) note(core, NO_MODEL);
  return openChat(core, await firstModel(core, "offline"));
}

export const NO_ONE = "none/none"; // a call without a model

/** --call NAME [JSON] */
async function callTool(core: Core, cli: Cli, atStop: AtStop): Promise<number> {
  const chat = openChat(core, NO_ONE);
  atStop(() => chat.stop.abort());
  askOnTerminal(core);
  await settleTrust(core, chat);
  const tool = toolNamed(core, one(cli, "call")!);
  const args = argumentsOf(cli.words.join(" ") || "{}");
  await validate(tool, spelt(tool, args), "zz --tools --json shows its parameters.");
  const call: Call = { id: newId("call_"), name: tool.name, args };
  const { text, data, failed, refused } = await runCall({ core, chat, ctx: context(core, chat) }, call);
  chat.session?.close();
  if (isJson(cli)) await printLine(JSON.stringify({ ok: !failed, text, data }));
  else if (!failed) await printLine(text);
  else if (!refused) say(text);
  return refused ? 4 : failed ? 1 : 0;

  function argumentsOf(text: string): Call["args"] {
    try {
      return JSON.parse(text);
    } catch (error) {
      const remedy = `Write them as '{"name": "value"}'`;
      throw usage(`Cannot call '${tool.name}': its arguments are not JSON (${reason(error)}). ${remedy}.`);
    }
  }
}

async function show(cli: Cli, { text, data, failed }: Result): Promise<number> {
  if (failed) throw fault(text);
  const shown = isJson(cli) && (text || data !== undefined) ? JSON.stringify(data ?? text) : text;
  if (shown) await printLine(shown);
  return 0;
}

const isJson = (cli: Cli): boolean => cli.values.has("json") || cli.values.has("json-lines");

const version = (): string => JSON.parse(textOf(path.join(PACKAGE, "package.json"))).version;

function folder(name: string, flag: string): string {
  if (fs.statSync(name, { throwIfNoEntry: false })?.isDirectory()) return name;
  throw usage(`Cannot use --${flag} '${name}': there is no such folder.`);
}

function number(flag: string, text: string): number {
  if (Number.isInteger(Number(text)) && Number(text) >= 0) return Number(text);
  throw usage(`Cannot use --${flag} '${text}': it takes a whole number from 0.`);
}

/** `key=value`; the value is JSON where it parses as such, else text. */
function pair(text: string): [string, unknown] {
  const at = text.indexOf("=");
  if (at < 1) throw usage(`Cannot use -o ${text}: it takes a name and a value, as in -o temperature 0.`);
  return [text.slice(0, at), jsonOrText(text.slice(at + 1))];
}

export async function attachment(name: string): Promise<{ text?: string; image?: Image }> {
  const refuse = (why: string) => usage(`Cannot attach '${name}': ${why}.`);
  const bytes = await readAll().catch((error) => {
    throw codeOf(error) ? fileFault("attach", name, error, { exit: 2 }) : error;
  });
  const [, kind] = /\.(png|jpe?g|webp|gif)$/i.exec(name) ?? [];
  const type = `image/${kind?.toLowerCase().replace("jpg", "jpeg")}`;
  if (kind) return { image: { type, base64: bytes.toString("base64") } };
  if (!bytes.subarray(0, 8192).includes(0)) return { text: block(`FILE ${name}`, bytes.toString("utf8").trimEnd()) };
  throw refuse("it is neither text nor an image. Convert it first");

  async function readAll(): Promise<Buffer> {
    const stat = await fs.promises.stat(name);
    if (!stat.isFile() && !stat.isFIFO() && !stat.isDirectory()) throw refuse("it is a device. Name a file");
    if (stat.size > LARGEST_READ) throw refuse(`${stat.size} bytes are too many. Cut it down first`);
    return fs.promises.readFile(name);
  }
}

/**
 * Starts reading stdin; the result waits for all of it. A pipe that stays open and silent is named after 2 s and given
 * up after 30 s (ZZ_STDIN_WAIT, in seconds), counted from when the waiting starts.
 */
function readStdin(cli: Cli): () => Promise<string> {
  if (cli.values.has("no-stdin") || (process.stdin.isTTY && !cli.words.includes("-"))) return async () => "";
  const chunks: Buffer[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const timers: NodeJS.Timeout[] = [];
  const heard = () => timers.map((timer) => timer.refresh());
  const end = () => resolve(Buffer.concat(chunks).toString("utf8"));
  process.stdin.on("data", (chunk: Buffer) => heard() && chunks.push(chunk));
  process.stdin.on("end", end).on("error", end);
  return async () => {
    const stat = fs.fstatSync(0);
    const wait = Number(process.env.ZZ_STDIN_WAIT ?? 30) * 1000;
    if (stat.isFIFO() || stat.isSocket()) {
      timers.push(setTimeout(() => chunks.length || say("Waiting for stdin; --no-stdin leaves it alone."), 2_000));
      if (wait) timers.push(setTimeout(giveUp, wait, wait / 1000));
    }
    return promise.finally(() => timers.forEach(clearTimeout));
  };

  function giveUp(seconds: number): void {
    process.stdin.destroy();
    const remedy = "Close it, add </dev/null, or use --no-stdin; ZZ_STDIN_WAIT=SECONDS waits longer, 0 for ever";
    reject(usage(`Nothing came on stdin for ${seconds} s, and it is still open. ${remedy}.`));
  }
}

if (process.argv[1] && !BUILT && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  void main(process.argv.slice(2)).then((code) => process.exit(code)); // not awaited here: a script imports this very file
