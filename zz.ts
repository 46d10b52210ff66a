/**
 * zz: a terminal agent that you can read in one sitting.
 *
 * This file is the kernel. It holds a conversation safely and loads plugins; whatever else zz can do is a
 * plugin in plugins/, written with the same verbs that yours has. Read it from top to bottom: the contract
 * first, `main` last.
 *
 *    1 Contract   what a plugin sees            7 Store      sessions: an append-only tree of JSON lines
 *    2 Registry   who owns what; loading        8 Prompt     layers, in slot order, within budgets
 *    3 Stream     one stream, one whole reply   9 Turn       the loop
 *    4 Phases     what may happen when         10 Dialogs    one-shot and the readline loop
 *    5 Gate       what a tool may touch        11 Main       flags, wiring, exit code
 *    6 Files      the only way to the disk
 *
 * Deliberately not here: tools, providers, how things look. Nothing at module level but constants.
 */
import fs from "node:fs";
import module from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import type { StructuredPatch } from "diff";
import { LowSync } from "lowdb";
import type { Static, TSchema } from "typebox";

// ── 1 Contract ─────────────────────────────────────────────────────────────────────────────────────────

export type Awaitable<T> = T | Promise<T>;

/** A plugin file's default export. `export const defaults: C` beside it holds its settings. */
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
  fetch(url: string, init?: RequestInit): Promise<Response>; // an answer that is not 2xx throws, in the server's own words
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
  readonly ask?: Ask; // absent, as the next two, when nobody is there
  edit?(text: string, name: string): Promise<string | undefined>; // in the person's own editor; undefined: not saved
  terminal?<T>(act: () => Promise<T>): Promise<T>; // lent to what draws and reads keys by itself
  call(tool: string, args: unknown): Promise<Result>; // through the same gate as the model's calls
  note(text: string): void; // to the person, never to the model
  progress(text: string): void; // a live line while a tool runs
}
/** A line; with keys ("yn"), one of them, in lower or upper case as it stands there: whatever else is pressed is the empty text. */
export type Ask = (question: string, keys?: string) => Promise<string>;

/** What there is, to look at: for commands such as /help and flags such as --tools. */
export interface About {
  readonly home: string;
  readonly tools: (ChatRequest["tools"][number] & { owner: string })[];
  readonly commands: (Omit<Command, "run" | "complete"> & { owner: string })[];
  readonly keys: { name: string; description: string; owner: string }[];
  readonly plugins: { name: string; from: "zz" | "home" | "flag"; file: string; ms: number; failure?: string }[];
  readonly flags: Flag[];
  models(all?: boolean): Promise<{ models: Model[]; failures: string[] }>; // of every provider, or of the one that --model names
  prompt(): Promise<{ name: string; slot: Slot; owner: string; text: string }[]>; // the system prompt, layer by layer
  complete(command: string, typed: string): Promise<Choice[]>; // what may stand after a command
}
/** Something to choose from. */
export type Choice = { name: string; description?: string };

export interface Tool<S extends Schema = any> {
  name: string; // snake_case
  description: string;
  aliases?: string[]; // other names that models use for it; accepted, never advertised
  also?: Record<string, string[]>; // the same for its parameters: { path: ["file_path"] }
  params?: S;
  needs?(args: Infer<S>, ctx: Ctx): Awaitable<Needs>; // what the gate asks for, before it runs; absent: pure
  changes?: boolean; // it changes files, through ctx.files: held until it returns, shown, asked for, made all or none
  preview?(args: Infer<S>, ctx: Ctx): Awaitable<string>; // what else to show with the question
  run(args: Infer<S>, ctx: Ctx): Awaitable<Result | string>; // a throw becomes a failed result that the model reads
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

/** Slots in order. All but "turn" render once a session, so that a provider's prefix cache holds. */
export interface Layer {
  name: string;
  slot: Slot;
  budget?: number; // tokens; cut head 70, tail 20 beyond it
  text: string | ((ctx: Ctx) => Awaitable<string | undefined>);
}
export type Slot = (typeof SLOTS)[number];
const SLOTS = ["identity", "rules", "project", "memory", "turn"] as const;

export interface Provider {
  name: string;
  models(signal: AbortSignal, endpoint: Endpoint): Promise<Model[]>;
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
  model: string; // without the provider's name
  system: string;
  messages: Message[]; // repaired: every call has its result, no two of a role in a row
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
export type Reply = { text: string; thinking: string; calls: Call[]; finish: Finish; usage?: Usage };

export type Message =
  | { role: "user"; text: string; images?: Image[]; aside?: true } // aside: zz tells what the person did meanwhile
  | (Made & { role: "assistant"; text: string; thinking?: string; calls?: Call[]; cut?: boolean })
  | { role: "tool"; id: string; name: string; text: string; failed?: boolean; images?: Image[] };

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
}
export type Setting = {
  name: string;
  value: unknown;
  default?: unknown;
  values?: unknown[];
  about?: string;
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
  set?(value: string | boolean): void; // hands its value over, before anything runs
  run?(value: string | boolean, ctx: Ctx): Awaitable<Result>; // instead of a turn; what it gives is printed
}

/** Facts, in the past tense. */
export interface Events {
  started: { session: string | null; model: string; root: string; live: boolean; stays: boolean }; // live: a person watches; stays: for more than one turn
  phase: { from: Phase; to: Phase };
  received: { tokens: number; ms: number; thinking: string }; // while a response streams
  retried: { attempt: number; wait: number; reason: string };
  thought: { text: string; ms: number }; // what the model thought before a reply
  planned: { calls: readonly Call[]; text: string };
  decided: { tool: string; kind: Kind; name: string; allowed: boolean; why: string };
  changed: { tool: string; paths: string[] };
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
const fault = (message: string, more: Partial<Fault> = {}): Fault => Object.assign(new Error(message), more);
const usage = (message: string): Fault => fault(message, { exit: 2 });

export interface Settings {
  model?: string;
  rounds?: number;
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
  plugins?: string[]; // extra plugin files
  own?: boolean; // false: leave out the plugins of the home
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
  tools: Map<string, Owned<Tool>>;
  commands: Map<string, Owned<Command>>;
  providers: Map<string, Owned<Provider>>;
  flags: Map<string, Owned<Flag>>;
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
/** A plugin's settings: where they stand, what they are unless the person says otherwise, what they may be. */
type Config = { section: string; live: Record<string, unknown>; defaults: Record<string, unknown>; schema?: Schema };
const valuesOf = <T>(all: Map<string, Owned<T>>): T[] => [...all.values()].map(({ value }) => value);
type Loaded = About["plugins"][number] & { undo: (() => Awaitable<void>)[] };

const words = <Word extends string>(text: string): Word[] => text.split(" ") as Word[];

const SELF_URL = new URL(".", import.meta.url).href.slice(0, -1);
const SELF = fileURLToPath(SELF_URL);
const BUILT = path.basename(SELF) === "dist";
const PACKAGE = BUILT ? path.dirname(SELF) : SELF;
const LENT = /^(zod|typebox|zz)(\/|$)/;
const HOOK_LIMIT = 5_000;
const LOAD_LIMIT = 10_000;
const SLOW_LOAD = "loading took longer than 10 s. Move slow work into a tool.";
const tooLong = (limit: number): string => `it took longer than ${limit / 1000} s`;
const EVENTS = words<keyof Events>(
  "started phase received retried thought planned decided changed called progressed asked noted answered failed",
);
const STEPS = words<keyof Steps>("line request call preview render prompt");
/** Field by field what may be registered; "!" marks what must be there. */
const SHAPES = {
  tool: "name! description! run! aliases also params needs changes preview render timeout",
  command: "name! description! run! usage group complete",
  layer: "name! slot! text! budget",
  provider: "name! models! chat! auto",
  flag: "name! description! short value optional many set run",
  key: "name! description! press!",
} as const;
const IDENTIFIER = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const KEY_NAME = /^((ctrl|meta|shift)\+)*[a-z0-9]+$/;

/** Makes an instance: loads the plugins and returns all there is. Many can live side by side. */
export async function createZz(options: Options = {}): Promise<Core> {
  const { home = homeFolder(), settings = {} } = options;
  const root = tryTo(() => fs.realpathSync(options.root ?? process.cwd()));
  if (!root) throw usage("Cannot work here: the folder is gone. Change to another, or name one with --cwd.");
  const core: Core = {
    options: { ...options, home, settings, root },
    plugins: [],
    tools: new Map(),
    commands: new Map(),
    providers: new Map(),
    flags: new Map(),
    keys: new Map(),
    layers: [],
    configs: [],
    seers: [],
    wraps: [],
    states: new Map(),
    rules: [],
  };
  core.rules.push(...firstRules(core.options));
  const prompts = promptFiles(core);
  core.layers.push(...promptLayers(core, prompts), toolGuide(core));
  const bundle: Record<string, unknown> = BUILT ? (await import(`${SELF_URL}/plugins.js`)).default : {};
  core.plugins.push(...findPlugins(core, bundle));
  lendPackages(core.plugins);
  const imports = core.plugins.map((plugin) => startImport(plugin, bundle)); // all at once; set up one after the other
  for (const [i, plugin] of core.plugins.entries()) await load(core, plugin, imports[i]!);
  addTemplates(core, prompts);
  return core;
}

/** A checkout is its own home; an installed zz keeps the person's things in ~/.zz. */
export function homeFolder(): string {
  if (process.env.ZZ_HOME) return path.resolve(process.env.ZZ_HOME);
  return fs.existsSync(path.join(PACKAGE, "sessions")) ? PACKAGE : path.join(os.homedir(), ".zz");
}

/** The built zz has its own plugins in one file: to import each by itself takes a tenth of a start. */
function findPlugins(core: Core, bundle: object): Loaded[] {
  const own = path.join(SELF, "plugins");
  const home = path.join(core.options.home, "plugins");
  const bundled = Object.keys(bundle).map((name) => ({ ...pluginAt(path.join(SELF, "plugins.js"), "zz"), name }));
  const found = BUILT ? bundled : pluginsIn(own, "zz");
  // A checkout's home is the folder that the built-in plugins were built from: there, only what is new counts.
  if (core.options.own !== false && home !== own) {
    const seen = new Set(path.dirname(home) === PACKAGE ? found.map((plugin) => plugin.name) : []);
    found.push(...pluginsIn(home, "home").filter((plugin) => !seen.has(plugin.name)));
  }
  const named = (core.options.plugins ?? []).map((file) => {
    if (!fs.existsSync(file)) throw usage(`Cannot load plugin '${file}': no such file. Check the path.`);
    return pluginAt(path.resolve(file), "flag");
  });
  return [...found, ...named.sort(byName)];
}

/** A plugin is a file, or a folder with an index. */
function pluginsIn(folder: string, from: Loaded["from"]): Loaded[] {
  return entriesOf(folder)
    .filter((entry) => !/^[._]|\.d\.m?ts$|\.test\.\w+$/.test(entry))
    .flatMap((entry) => (/\.[cm]?[jt]s$/.test(entry) ? [entry] : [`${entry}/index.ts`, `${entry}/index.js`]))
    .map((entry) => path.join(folder, entry))
    .filter((file) => fs.existsSync(file))
    .map((file) => pluginAt(file, from))
    .sort(byName);
}

function pluginAt(file: string, from: Loaded["from"]): Loaded {
  const base = path.basename(file).replace(/\.[cm]?[jt]sx?$/, "");
  return { name: base === "index" ? path.basename(path.dirname(file)) : base, file, from, ms: 0, undo: [] };
}

/** A plugin gets zz's own zod and typebox, wherever its file lies; the packages that it imports keep their own. */
function lendPackages(found: Loaded[]): void {
  const once = Symbol.for("zz.packages"); // hooks hold for the whole process, however many instances it has
  if (Object.hasOwn(globalThis, once) || found.every((plugin) => plugin.from === "zz")) return;
  Object.defineProperty(globalThis, once, { value: true });
  module.registerHooks({
    resolve(specifier, context, next) {
      const { parentURL = "" } = context;
      const lent = LENT.test(specifier) && !parentURL.includes("/node_modules/") && parentURL !== import.meta.url;
      return lent ? { url: import.meta.resolve(specifier), shortCircuit: true } : next(specifier, context);
    },
  });
}

/** What a plugin's file exports; the built zz has its own at hand. */
function startImport(plugin: Loaded, bundle: Record<string, unknown>): Awaitable<any> {
  if (BUILT && plugin.from === "zz") return bundle[plugin.name];
  const start = performance.now();
  const imported = import(pathToFileURL(plugin.file).href).finally(() => (plugin.ms += performance.now() - start));
  imported.catch(() => {}); // load() tells of it, when it is its turn
  return imported;
}

/** Sets one plugin up. If that fails, what it had added is taken back, and the failure is a sentence that names it. */
async function load(core: Core, plugin: Loaded, imported: Awaitable<any>): Promise<void> {
  const unload = new AbortController();
  plugin.undo = [() => unload.abort()];
  let start = performance.now();
  try {
    const exports = imported instanceof Promise ? await within(imported, LOAD_LIMIT, SLOW_LOAD) : imported;
    start = performance.now();
    if (typeof exports.default !== "function")
      throw fault("it has no default export to call. Write `export default (zz: Zz) => …`.");
    const made = configOf(core, plugin, exports);
    const config = made instanceof Promise ? await made : made;
    const setup = exports.default(handle(core, plugin, config, unload.signal));
    if (setup instanceof Promise) await within(setup, LOAD_LIMIT, SLOW_LOAD);
  } catch (error) {
    await unloadPlugin(plugin);
    plugin.failure = `Cannot load plugin '${plugin.name}' (${whereFrom(error, plugin.file)}): ${reason(error)}`;
    if (core.options.debug) plugin.failure += `\n${(error as Error)?.stack}`;
  }
  plugin.ms += performance.now() - start;
}

/** What the person set goes before the defaults, unless the plugin's schema refuses it. */
function configOf({ options }: Core, plugin: Loaded, exports: any): Awaitable<Config> {
  const { defaults = {}, settings: { name: section = plugin.name, schema } = {} } = exports;
  const config: Config = { section, live: { ...defaults }, defaults: { ...defaults }, ...(schema && { schema }) };
  const given = options.settings[section] as object | undefined;
  Object.assign(config.live, given);
  return given && schema ? checked() : config;

  async function checked(): Promise<Config> {
    const { wrong } = await check(schema, config.live);
    if (wrong) say(`Cannot use the settings under "${section}": ${wrong}. Its defaults are used; mend them.`);
    return wrong ? { ...config, live: { ...defaults } } : config;
  }
}

export async function unloadPlugin(plugin: Loaded): Promise<void> {
  for (const undo of plugin.undo.splice(0).reverse()) await undo();
}

/** The verbs that one plugin has. Each remembers how to take back what it adds. */
function handle(core: Core, plugin: Loaded, config: Config, signal: AbortSignal): Zz<any> {
  const owner = plugin.name;
  many(core.configs, config);
  return {
    config: config.live,
    signal,
    fetch: (url, init) => request(core, url, init),
    defer: (cleanup) => void plugin.undo.push(cleanup),
    state: (initial) => {
      const live = structuredClone(initial);
      const saved = JSON.stringify(live);
      core.states.set(owner, { live, saved, initial: saved });
      plugin.undo.push(() => void core.states.delete(owner));
      return live;
    },
    tool: (tool) => {
      one("tool", core.tools, tool);
      toJsonSchema(tool.params); // refused now rather than at the first call
    },
    command: (command) => one("command", core.commands, command),
    provider: (provider) => one("provider", core.providers, provider),
    flag: (flag) => one("flag", core.flags, flag),
    key: (key) => one("key", core.keys, key),
    layer: (layer) => {
      shaped("layer", layer);
      known("slot", layer.slot, SLOTS);
      many(core.layers, layer);
    },
    on: (event, see, limit = HOOK_LIMIT) => {
      known("event", event, EVENTS);
      many(core.seers, { event, see, limit });
    },
    wrap: (step, around, order = "last", limit = HOOK_LIMIT) => {
      known("step", step, STEPS);
      known("order", order, ["first", "last"]);
      many(core.wraps, { step, around, order, limit });
      core.wraps.sort((a, b) => compare(a.value.order, b.value.order) || compare(a.owner, b.owner)); // first < last
    },
  };

  function one<T extends { name: string }>(kind: keyof typeof SHAPES, all: Map<string, Owned<T>>, value: T): void {
    const { name } = value;
    shaped(kind, value);
    if (!IDENTIFIER.test(name) && kind !== "key")
      throw fault(`${kind} '${name}' has a name that providers refuse. Use letters, digits, _ and -.`);
    if (kind === "key" && !KEY_NAME.test(name))
      throw fault(`key '${name}' has a name that no key has. Write it like ctrl+r, meta+return or tab.`);
    const other = kind === "flag" && FLAGS.some((flag) => flag.name === name) ? "zz" : all.get(name)?.owner;
    const file = core.plugins.find((plugin) => plugin.name === other)?.file ?? "the kernel";
    if (other) throw fault(`${kind} '${name}' is already there, from '${other}' (${file}). Rename one of them.`);
    all.set(name, { owner, value });
    plugin.undo.push(() => void all.delete(name));
  }
  function many<T>(all: Owned<T>[], value: T): void {
    const entry = { owner, value };
    all.push(entry);
    plugin.undo.push(() => void all.splice(all.indexOf(entry), 1));
  }
}

/** Refuses a field that nobody would ever read, and a field that is missing. */
function shaped(kind: keyof typeof SHAPES, value: object): void {
  const fields = words(SHAPES[kind].replaceAll("!", ""));
  for (const key of Object.keys(value)) known(`${kind} field`, key, fields);
  for (const must of SHAPES[kind].match(/\w+(?=!)/g) ?? [])
    if (!(value as Record<string, unknown>)[must]) throw fault(`a ${kind} needs '${must}'. Add it.`);
}

function known(what: string, word: string, all: readonly string[]): void {
  if (!all.includes(word)) throw fault(unknown(what, word, all));
}

function unknown(what: string, word: string, all: Iterable<string>): string {
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

const note = (core: Core, text: string): void => void emit(core, "noted", { text });

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
type Place = { core: Core; chat: LiveChat; ctx: Ctx };

function within<T>(promise: Promise<T>, ms: number, late: string): Promise<T> {
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
function until<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
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

/** file:line, where an error tells: Node puts a syntax error's place first in its stack, tsx in its message. */
function whereFrom(error: unknown, file: string): string {
  const text = `${(error as Error)?.stack ?? ""}\n${reason(error)}`;
  const at = text.indexOf(path.basename(file) + ":");
  const line = at < 0 ? undefined : /^[^:]*:(\d+)/.exec(text.slice(at))?.[1];
  return line ? `${file}:${line}` : file;
}

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
async function check(schema: Schema | undefined, given: unknown): Promise<{ value?: any; wrong?: string }> {
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
  return {
    wrong: errors.map(({ instancePath, message }) => `${instancePath.slice(1) || "arguments"} ${message}`).join("; "),
  };
}

// The smallest words of the language here.

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const byName = (a: { name: string }, b: { name: string }): number => compare(a.name, b.name);
const entriesOf = (folder: string): string[] => tryTo(() => fs.readdirSync(folder)) ?? [];
export const textOf = (file: string): string => tryTo(() => fs.readFileSync(file, "utf8")) ?? "";
const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException)?.code ?? ""; // ENOENT …
const newId = (prefix = ""): string => prefix + Math.random().toString(36).slice(2, 10).padEnd(8, "0");

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

// ── 3 Stream ───────────────────────────────────────────────────────────────────────────────────────────

/**
 * Drains one provider stream into a whole reply. Servers differ in all that matters here: indexes missing or
 * from 1, ids late, repeated or empty, names resent, arguments in one piece or fifty, finish reasons that
 * contradict what came. Throws when the stream was cut off or carried an error; what had come is `partial`.
 */
export async function collect(
  stream: AsyncIterable<Delta>,
  see?: (text: string, thinking: string) => void,
): Promise<Reply> {
  let text = "";
  let thinking = "";
  let finish: Finish | undefined;
  let usage: Usage | undefined;
  const drafts: Draft[] = [];
  let size = 0;
  try {
    for await (const delta of stream) {
      if ("text" in delta) text += delta.text ?? "";
      else if ("thinking" in delta) thinking += delta.thinking ?? "";
      else if ("call" in delta) gather(drafts, delta.call);
      else if ("usage" in delta) usage = { ...usage, ...delta.usage };
      else if ("finish" in delta) finish = finishOf(delta.finish) ?? finish;
      else if ("error" in delta) throw answerFault("The model's server failed in mid-stream", delta.error);
      see?.(text, thinking);
      size += sizeOf(delta);
      if (size > LARGEST_REPLY) throw fault("The answer is larger than 64 MB and was given up. Ask for less.");
    }
    if (!finish && !text && !thinking && !drafts.length)
      throw fault("The server answered with nothing. Try again.", { transient: true });
    if (!finish) throw fault(CUT_OFF, { transient: true });
  } catch (error) {
    const { code } = ((error as Error)?.cause ?? {}) as { code?: string };
    const cut = /^(UND_ERR|ECONN|EPIPE|HPE_|Z_)/.test(code ?? "");
    throw Object.assign(cut ? fault(CUT_OFF, { transient: true }) : (error as Fault), { partial: { text, thinking } });
  }
  const calls = drafts.filter((draft) => draft.name || draft.args).map((draft) => finished(draft, finish === "length"));
  if (finish === "stop" || finish === "calls") finish = calls.length ? "calls" : "stop";
  const ids = new Set<string>();
  for (const call of calls) {
    if (!call.id || ids.has(call.id)) call.id = newId("call_");
    ids.add(call.id);
  }
  const parts = splitThinking(text);
  const thought = [...new Set([thinking.trim(), parts.thinking])].filter(Boolean).join("\n");
  return { text: parts.text, thinking: thought, calls, finish, ...(usage && { usage }) };
}

const LARGEST_REPLY = 64 * 1024 * 1024;

function sizeOf(delta: Delta): number {
  const text = "text" in delta ? delta.text : "thinking" in delta ? delta.thinking : "call" in delta && delta.call.args;
  return typeof text === "string" ? text.length : 0;
}

const CUT_OFF = "The connection ended before the answer was complete. Try again.";

type Draft = { index: number | undefined; id: string; name: string; args: string; extra?: unknown };

/** Puts a piece of a call where it belongs: by index, else by id, else at the last call. */
function gather(drafts: Draft[], piece: CallDelta): void {
  const index = piece.index ?? undefined;
  const id = piece.id ?? "";
  const name = piece.name ?? "";
  const args = typeof piece.args === "string" ? piece.args : piece.args ? JSON.stringify(piece.args) : "";
  const last = drafts.at(-1);
  let draft = last;
  if (index !== undefined) draft = drafts.findLast((other) => other.index === index);
  else if (id) draft = drafts.findLast((other) => other.id === id) ?? (last?.id ? undefined : last);
  if (!draft || startsAnother(draft)) drafts.push((draft = { index, id: "", name: "", args: "" }));
  draft.id ||= id;
  draft.name = name || draft.name; // resent whole by some gateways: never append
  draft.args += args;
  if (piece.extra !== undefined) draft.extra = piece.extra;

  function startsAnother(open: Draft): boolean {
    if (id && open.id && id !== open.id) return true;
    if (!name || !open.name) return false;
    const other = name !== open.name;
    if (index === undefined && other) return true;
    if (!isWhole(open.args)) return false;
    return other || (isWhole(args) && ((index === undefined && !id) || args !== open.args));
  }
}

const isWhole = (args: string): boolean => args.trim() !== "" && "args" in parseArguments(args);

function finished({ id, name, args, extra }: Draft, cut: boolean): Call {
  const parsed = parseArguments(args);
  const call: Call = { id, name, args: "args" in parsed ? parsed.args : {}, ...(extra !== undefined && { extra }) };
  if (cut && !isWhole(args))
    call.broken = "The call was cut off by the output limit and did not run. Send it again, shorter or in parts.";
  else if ("wrong" in parsed)
    call.broken = `The arguments are not usable: ${parsed.wrong}. Send the call again with a valid JSON object.`;
  else if (!name) call.broken = "The call names no tool. Send it again with a name.";
  return call;
}

/** Nothing is {}. A string is parsed once more. Of several values in a row, equal ones or an empty first one give the one meant. */
function parseArguments(text: string): { args: Record<string, unknown> } | { wrong: string } {
  if (!text.trim()) return { args: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
    if (typeof value === "string") value = JSON.parse(value);
  } catch (error) {
    const values = jsonValues(text);
    const meant = values?.filter((one) => one !== "{}");
    if (!values || new Set(meant).size > 1) return { wrong: reason(error) };
    value = JSON.parse(meant?.[0] ?? "{}");
  }
  if (isDeep(value, DEEPEST)) return { wrong: `nested more than ${DEEPEST} deep` };
  if (typeof value === "object" && !Array.isArray(value)) return { args: { ...value } };
  return { wrong: `expected an object, got ${text.trim().slice(0, 40)}` };
}

const DEEPEST = 100;

function isDeep(value: unknown, left: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return left === 0 || Object.values(value).some((inner) => isDeep(inner, left - 1));
}

/** `{…}{…}` taken apart; undefined unless all of it is objects. */
function jsonValues(text: string): string[] | undefined {
  const values: string[] = [];
  let depth = 0;
  let start = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:\\.|[^"\\])*"?|[{}]/gs)) {
    if (token === "{") depth++;
    if (token !== "}" || --depth > 0) continue;
    values.push(text.slice(start, index + 1));
    start = index + 1;
  }
  if (values.length < 2 || text.slice(start).trim()) return undefined;
  return tryTo(() => values.map((value) => JSON.stringify(JSON.parse(value))));
}

function finishOf(word: string): Finish | undefined {
  if (!word) return undefined;
  if (/^(tool_calls|tool_use|function_call|calls)$/.test(word)) return "calls";
  if (/length|max_tokens|window_exceeded/.test(word)) return "length";
  if (/content_filter|safety|^filter$/i.test(word)) return "filter";
  if (/^error$|insufficient_system_resource/.test(word))
    throw fault(`The model's server gave up in mid-stream (${word}). Try again.`, { transient: true });
  return "stop";
}

/** Thinking that came inside the text: `<think>…</think>` at its start, or all before a lone `</think>` that is not quoted code. */
export function splitThinking(text: string): { text: string; thinking: string } {
  let rest = text;
  const thoughts: string[] = [];
  for (let block: RegExpExecArray | null; (block = /^\s*<think(?:ing)?>(.*?)(?:<\/think(?:ing)?>|$)/s.exec(rest)); ) {
    thoughts.push(block[1]!.replace(/^\s*<think>/, "").trim());
    rest = rest.slice(block[0].length);
  }
  const close = rest.indexOf("</think>");
  const before = rest.slice(0, close);
  if (thoughts.length) rest = rest.replace(/^\s*<\/think>/, "");
  else if (close >= 0 && !before.includes("<think>") && !isQuoted(before)) {
    thoughts.push(before.trim());
    rest = rest.slice(close + "</think>".length);
  }
  if (rest.length !== text.length) rest = rest.replace(/^\s+/, "");
  return { text: rest, thinking: thoughts.filter(Boolean).join("\n") };
}

/** Whether what follows this text stands in a code fence or in inline code. */
function isQuoted(before: string): boolean {
  const line = before.slice(before.lastIndexOf("\n") + 1);
  return before.split("```").length % 2 === 0 || line.split("`").length % 2 === 0;
}

/** fetch for providers: what goes wrong on the way, and answers that are not 2xx, become sentences with the server's own words. */
async function request(core: Core, url: string, init: RequestInit = {}): Promise<Response> {
  if (core.options.dry) {
    const body = typeof init.body === "string" ? JSON.parse(init.body) : undefined;
    throw fault(`Nothing is sent to '${url}' in a dry run.`, body?.messages ? { dry: body } : {});
  }
  if (!URL.canParse(url)) throw usage(`Cannot reach '${url}': not a URL. Check --base-url.`);
  const { host } = new URL(url);
  const response = await fetch(url, init).catch((error) => {
    throw init.signal?.aborted ? error : networkFault(error, host);
  });
  if (response.ok) return response;
  const failed = answerFault(`${host} answered ${response.status}`, await beginning(response), response);
  const key = /Bearer (\S{4,})/.exec(new Headers(init.headers).get("authorization") ?? "")?.[1];
  if (key) failed.message = failed.message.replaceAll(key, "…"); // some servers repeat it
  throw failed;
}

/** Enough of an error to read it; a server may send it without end. */
async function beginning({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const bytes of body ?? []) {
      text += decoder.decode(bytes as Uint8Array, { stream: true });
      if (text.length > LONGEST_ERROR) break;
    }
  } catch {} // cut off: what came will do
  return text;
}

const LONGEST_ERROR = 65_536;

const NETWORK: Record<string, string> = {
  ECONNREFUSED: "connection refused. Is the server running there?",
  ENOTFOUND: "no such host. Check --base-url and the network.",
  EAI_AGAIN: "its name could not be looked up. Check the network.",
  ECONNRESET: "the connection was closed. Try again.",
  UND_ERR_SOCKET: "the connection was closed. Try again.",
  ETIMEDOUT: "no answer in time. Try again.",
  UND_ERR_CONNECT_TIMEOUT: "no answer in time. Try again.",
  UND_ERR_HEADERS_TIMEOUT: "no answer in time. Try again.",
};

function networkFault(error: unknown, where: string): Fault {
  const cause = ((error as Error)?.cause ?? error) as Error & { code?: string; errors?: { code?: string }[] };
  const code = cause?.code ?? cause?.errors?.[0]?.code ?? "";
  const why = NETWORK[code] ?? `${cause?.message || reason(error)}. Check --base-url and the network.`;
  return fault(`Cannot reach '${where}': ${why}`, { transient: code !== "" && !/CERT|SSL|TLS|ERR_INVALID/.test(code) });
}

/** A server's refusal. Its body has one of a dozen shapes (a string, a list, flat, nested); a web page is one too. */
function answerFault(what: string, body: unknown, response?: Response): Fault {
  let parsed: any = typeof body === "string" ? jsonOrText(body) : body;
  if (Array.isArray(parsed)) parsed = parsed[0];
  const inner = parsed?.error ?? parsed?.detail ?? parsed;
  const page = typeof parsed === "string" && /^\s*(<!doctype|<html|<\?xml)/i.test(parsed);
  const title = page && /<title>([^<]*)/i.exec(parsed)?.[1]?.trim();
  const message = inner?.message === undefined ? inner : inner.message;
  const said = page ? `a web page${title ? ` ("${title}")` : ""}` : (message ?? "");
  const upstream = inner?.metadata?.raw; // what the server behind a gateway said
  const words = [said, ...(upstream ? [upstream] : [])].map(spoken).join(": ").trim().slice(0, 600);
  const status = response?.status ?? (typeof inner?.code === "number" ? inner.code : undefined);
  const codes = [inner?.code, inner?.type, inner?.status, parsed?.code];
  const code = codes.filter((one) => typeof one === "string").join(" ");
  const forGood = /insufficient_quota|billing|credit|per day|daily|monthly/i.test(`${code} ${words}`);
  const transient =
    status === undefined
      ? !page && !forGood && !/invalid|tool_use_failed|context_length/.test(code)
      : (status >= 500 || [408, 409, 425, 429].includes(status)) && !forGood;
  let hint = "";
  if (status === 401 || status === 403) hint = " Check the key: --key, or the provider's variable.";
  else if (status === 404 || (page && !(status >= 500)))
    hint = " Check --model (zz --models lists what there is) and --base-url, which mostly ends in /v1.";
  const sentence = `${what}: ${words || "no reason given"}`;
  const stop = /[.!?]"?\)?$/.test(sentence) ? "" : ".";
  const after = retryAfter(response?.headers);
  return fault(sentence + stop + hint, {
    transient,
    ...(status !== undefined && { status }),
    ...(after >= 0 && { after }),
  });

  function spoken(words: unknown): string {
    return typeof words === "string" ? words : JSON.stringify(words);
  }
}

/** In ms; NaN when the server names no time. */
function retryAfter(headers = new Headers()): number {
  const ms = Number(headers.get("retry-after-ms") ?? Number.NaN);
  if (ms >= 0) return ms;
  const value = headers.get("retry-after") || Number.NaN;
  return Number.isNaN(Number(value)) ? Date.parse(String(value)) - Date.now() : Number(value) * 1000;
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

// ── 5 Gate ─────────────────────────────────────────────────────────────────────────────────────────────

const KINDS: Kind[] = ["read", "write", "run", "net", "env"];
/** Files inside the project that hold secrets: reading them is asked for all the same. */
const SECRET =
  /(^|\/)(\.env(\..*)?|\.envrc|id_(rsa|dsa|ecdsa|ed25519)|.*\.(pem|key|p12|pfx)|\.npmrc|\.netrc|\.pypirc|\.git-credentials|zz\.config\.json)$/i;
/** Files that run by themselves some day: only their own name allows writing them, not a list that holds their folder. */
const GUARDED = /(^|\/)(\.git|\.zz)(\/|$)/i;

const toRules = (verdict: Rule["verdict"], from: Rule["from"], rules: Rules = {}): Rule[] =>
  KINDS.flatMap((kind) => {
    const given = rules[kind];
    return given === true ? [{ verdict, kind, from }] : (given ?? []).map((name) => ({ verdict, kind, name, from }));
  });

/** From the flags, the settings, and what was kept for this folder; answers are added as they come. */
function firstRules({ root, home, allow, deny, settings: { permissions } }: Core["options"]): Rule[] {
  const flags = [...toRules("deny", "flag", deny), ...toRules("allow", "flag", allow)];
  const set = [...toRules("deny", "settings", permissions?.deny), ...toRules("allow", "settings", permissions?.allow)];
  return [...flags, ...set, ...(keptRules(home)[root] ?? [])];
}

const keptFile = (home: string): string => path.join(home, "permissions.json");
function keptRules(home: string): Record<string, Rule[]> {
  const isRule = (rule: any) =>
    KINDS.includes(rule?.kind) && /^(allow|deny)$/.test(rule.verdict) && typeof rule.name !== "number";
  const kept = Object.entries((tryTo(() => JSON.parse(textOf(keptFile(home)))) as object) ?? {});
  return Object.fromEntries(kept.map(([root, rules]) => [root, Array.isArray(rules) ? rules.filter(isRule) : []]));
}

function permissions({ rules, options }: Core): Permissions {
  return {
    rules,
    judge: (kind, need) => judge({ rules, options }, kind, need),
    add(rule) {
      rules.push(rule);
      if (rule.from === "project") keep();
    },
    drop(rule) {
      rules.splice(rules.indexOf(rule), rules.includes(rule) ? 1 : 0);
      if (rule.from === "project") keep();
    },
  };

  function keep(): void {
    const { home, root } = options;
    const all = { ...keptRules(home), [root]: rules.filter((rule) => rule.from === "project") };
    writePrivate(keptFile(home), JSON.stringify(all, null, 2));
  }
}

/** Deny wins, then allow, then what the tool says of its need, then: reading the project is allowed, all else is asked. */
function judge({ rules, options: { root, home } }: Pick<Core, "rules" | "options">, kind: Kind, need: Need) {
  const { name, verdict, why } = typeof need === "string" ? { name: need, verdict: undefined, why: "" } : need;
  const isFile = kind === "read" || kind === "write";
  const target = isFile ? realPath(root, name) : name;
  const guarded = verdict === "ask" || (kind === "write" && (GUARDED.test(target) || isOwn(home, target)));
  const ruled = (by: Rule["verdict"], exactly: boolean) =>
    rules.find((rule) => rule.kind === kind && rule.verdict === by && covers(rule, exactly));
  const rule = ruled("deny", false) ?? (verdict === "deny" ? undefined : ruled("allow", guarded));
  if (rule) return { verdict: rule.verdict, why: `by ${nameOfRule(rule)}` };
  if (verdict) return { verdict, why };
  const led = isFile && target !== path.resolve(root, name) ? `it leads to '${target}'` : "";
  if (kind !== "read" || !isInside(root, target)) return { verdict: "ask" as const, why: led };
  return SECRET.test(target)
    ? { verdict: "ask" as const, why: "it may hold secrets" }
    : { verdict: "allow" as const, why: "reading the project" };

  /** Writing outside of the project is allowed by name alone. */
  function covers({ name, verdict, exact = false }: Rule, exactly: boolean): boolean {
    if (name === undefined) return kind !== "write" || verdict === "deny" || isInside(root, target);
    const own = isFile ? realPath(root, name) : name;
    // A link in the project does not carry a rule for its name out of it.
    const left = isFile && verdict === "allow" && isInside(root, path.resolve(root, name)) && !isInside(root, own);
    if (left) return false;
    if (own === target || exactly || exact) return own === target;
    if (isFile) return isInside(own, target);
    if (kind === "run") return target.startsWith(`${own} `);
    if (kind === "net") return target.startsWith(`${own}:`) || (own.startsWith("*.") && target.endsWith(own.slice(1)));
    return own.endsWith("*") && target.startsWith(own.slice(0, -1));
  }
}

/** What zz itself goes by: a tool that could write it could allow itself anything. A checkout's plugins are its code. */
function isOwn(home: string, file: string): boolean {
  const names = ["sessions", "permissions.json", "zz.config.json", ...(home === PACKAGE ? [] : ["plugins", "prompts"])];
  return names.some((name) => isInside(realPath(home, name), file));
}

const nameOf = (need: Need): string => (typeof need === "string" ? need : need.name);
const accessTo = (kind: Kind, name: string): string => `${kind} access to "${name}"`;
const RULE_FROM = {
  settings: "the settings",
  project: "what was kept for this project",
  answer: "an answer in this session",
};
const nameOfRule = ({ verdict, kind, name, from }: Rule): string =>
  from === "flag" ? flagOf(verdict, kind, name === undefined ? [] : [name]) : RULE_FROM[from];
/** As it would be typed. What a list cannot hold needs the flag without one. */
function flagOf(verdict: Rule["verdict"], kind: Kind, names: string[]): string {
  const flag = `--${verdict}-${kind}`;
  const list = names.join(",");
  if (!list || names.some((name) => /[,'\x00-\x1f]/.test(name))) return flag;
  return `${flag}=${/^[\w./:@%+=*~,-]+$/.test(list) ? list : `'${list}'`}`;
}

/** What the rules leave open. */
type Open = { kind: Kind; name: string; why: string; whole: boolean }; // whole: no list may allow it

/** Judges what a call needs and asks the person for what the rules leave open. Returns the sentence of a refusal. */
async function gate(place: Place, tool: Tool, args: unknown, needs: Needs): Promise<string | undefined> {
  const open = new Map<string, Open>();
  for (const kind of KINDS)
    for (const need of needs[kind] ?? []) {
      const refusal = await weigh(place.core, tool.name, kind, need, open);
      if (refusal) return refusal;
    }
  if (!open.size) return undefined;
  const text = (await tool.preview?.(args, place.ctx)) ?? "";
  return (await confirm(place, tool.name, [...open.values()], clean(text))).refusal;
}

async function weigh(core: Core, tool: string, kind: Kind, need: Need, open: Map<string, Open>) {
  const name = nameOf(need);
  const { verdict, why } = judge(core, kind, need);
  if (verdict !== "ask") await emit(core, "decided", { tool, kind, name, allowed: verdict === "allow", why });
  else open.set(`${kind} ${name}`, { kind, name, why, whole: typeof need !== "string" });
  return verdict === "deny"
    ? `Refused: ${accessTo(kind, name)} is denied${why.startsWith("by ") ? " " : ": "}${why}.`
    : undefined;
}

type Keys = Record<string, string>; // what each does
type Confirmed = { key: string; refusal?: string };

/** Puts it to the person; nobody there means no. `more` are keys beyond yes, no and always. */
async function confirm(place: Place, tool: string, open: Open[], text: string, more: Keys = {}): Promise<Confirmed> {
  const { core, ctx } = place;
  const accesses = open.map(({ kind, name }) => accessTo(kind, name)).join(" and ");
  const flags = KINDS.flatMap((kind) => {
    const own = open.filter((one) => one.kind === kind);
    return own.length ? flagOf("allow", kind, own.some(({ whole }) => whole) ? [] : own.map(({ name }) => name)) : [];
  }).join(" ");
  if (!core.ask) {
    await decide(false, "nobody is there to ask");
    return { key: "n", refusal: `Refused: requires ${accesses}; run again with ${flags}.` };
  }
  const rules = new Map(open.map((one) => always(core, one)).map((rule) => [`${rule.kind} ${rule.name}`, rule]));
  const lasting = [...rules.values()].map(({ kind, name }) =>
    name === "." ? "edits in this project" : `${kind} "${name}"`,
  );
  const keys: Keys = { y: "yes", n: "no", ...more, A: `always ${lasting.join(", ")}, this session` };
  const { key, because } = await inTurn(core, async () => {
    const granted = open.every((one) => judge(core, one.kind, needOf(one)).verdict === "allow"); // by an answer meanwhile
    const key = granted && !text ? "y" : await until(ctx.signal, core.ask!(question(keys), Object.keys(keys).join("")));
    const because =
      key === "n" && tool !== ZZ ? (await until(ctx.signal, core.ask!("Why not? (Enter: no reason) "))).trim() : "";
    return { key, because };
  });
  if (key === "A") core.rules.push(...rules.values());
  if (key === "r") await decide(false, "the person sent it back");
  else if (key in keys && key !== "n") await decide(true, key === "e" ? "the person edited it" : "the person said yes");
  if (key in keys && key !== "n") return { key };
  await decide(false, "the person said no");
  return { key: "n", refusal: `Refused: the person said no to ${accesses}${because ? `: ${because}` : "."}` };

  async function decide(allowed: boolean, why: string): Promise<void> {
    for (const { kind, name } of open) await emit(core, "decided", { tool, kind, name, allowed, why });
  }

  function question(keys: Keys): string {
    const oneLine = (text: string) => inner(clean(text).replaceAll("\n", "␊"));
    return [
      `┏ ${tool} requests ${oneLine(accesses)}.`,
      ...open.flatMap(({ why }) => (why ? [`┠ ${oneLine(why)}.`] : [])),
      ...(text ? text.split("\n").map((line) => `┃ ${inner(line)}`) : []),
      `┠ ${oneLine(flags)} skips this question.`,
      `┗ Allow? [${Object.keys(keys).join("/")}] (${Object.entries(keys)
        .map(([key, does]) => `${key} = ${oneLine(does)}`)
        .join(", ")}) `,
    ].join("\n");
  }
}

/** A line that nobody could read is shown by its ends. */
const inner = (line: string): string =>
  line.length > LONGEST_LINE
    ? `${line.slice(0, LONGEST_LINE / 2)} [… ${line.length - LONGEST_LINE} characters …] ${line.slice(-LONGEST_LINE / 2)}`
    : line;
const LONGEST_LINE = 4_000;

/** Writing in the project is one permission; all else goes by its name. */
function always({ options: { root } }: Core, { kind, name }: Open): Rule {
  const wide = kind === "write" && isInside(root, realPath(root, name)) && !GUARDED.test(name);
  return { verdict: "allow", kind, from: "answer", ...(wide ? { name: "." } : { name, exact: true }) };
}
const needOf = ({ name, why, whole }: Open): Need => (whole ? { name, verdict: "ask", why } : name);

/** Calls that run side by side ask one after the other. */
function inTurn<T>(core: Core, act: () => Promise<T>): Promise<T> {
  const acted = Promise.resolve(core.asking).then(act);
  core.asking = acted.catch(() => {});
  return acted;
}

const isInside = (folder: string, file: string): boolean =>
  file === folder || file.startsWith(folder.endsWith(path.sep) ? folder : folder + path.sep);

const DEEPEST_PATH = 1_000;

/** Absolute, with links followed as far as the path exists: what a path really names. */
function realPath(root: string, name: string): string {
  if (name.includes("\0"))
    throw fault(`Cannot use path '${name.replaceAll("\0", "\\0")}': it holds a NUL byte. Leave it out.`);
  if (name.split("/").length > DEEPEST_PATH)
    throw fault(`Cannot use path '${name.slice(0, 60)}…': it is nested too deep. Check it.`);
  let existing = path.resolve(root, name);
  const missing: string[] = [];
  for (let links = 0; ; ) {
    const real = tryTo(() => fs.realpathSync.native(existing));
    const parent = path.dirname(existing);
    if (real !== undefined || parent === existing) return path.join(real ?? existing, ...missing);
    const to = links++ < 40 ? tryTo(() => fs.readlinkSync(existing)) : undefined; // a link that leads nowhere yet
    if (to === undefined) missing.unshift(path.basename(existing));
    existing = to === undefined ? parent : path.resolve(parent, to);
  }
}

// ── 6 Files ────────────────────────────────────────────────────────────────────────────────────────────

const NEVER_LISTED = /(^|\/)(node_modules|\.git)(\/|$)/;
const IGNORED_WITHOUT_GIT = ["dist", "build", ".next", "coverage", ".venv", "__pycache__", "target"];
const LARGEST_READ = 50 * 1024 * 1024;
const [FILE, LINK, TYPE] = [0o100000, 0o120000, 0o170000];

/** A file as it is: its mode with the type in it; a link's bytes are its target. Undefined: not there. */
type State = { bytes: Buffer; mode: number } | undefined;
/** What is to become of files, by real path. */
type Held = Map<string, { before: State; after: State }>;
/** What one call may reach. `granted`: what the gate let it have by name; `held`: where its changes wait. */
type Reach = { tool: string; granted?: string[]; held?: Held | undefined; changes?: boolean };

const ZZ = "zz"; // who acts when it is no tool

function openFiles(place: Place, { tool, granted = [], held, changes = true }: Reach): Files {
  const { core, chat } = place;
  const { root } = core.options;
  return {
    path: inside,
    read,
    list,
    async write(name, content) {
      const given = typeof content === "string" ? undefined : Buffer.from(content);
      const mode = FILE | (0o666 & ~process.umask());
      const become = (before: State) => ({
        bytes: given ?? adapt(String(content), before),
        mode: before?.mode ?? mode,
      });
      await change("write", name, [[realPath(root, name), become]]);
    },
    async remove(name) {
      const file = ownPath(name);
      if (!now(file)) throw fileFault("delete", name, { code: "ENOENT" });
      await change("delete", name, [[file, () => undefined]]);
    },
    async move(from, to) {
      const [file, target] = [ownPath(from), ownPath(to)];
      const moved = now(file);
      if (!moved) throw fileFault("move", from, { code: "ENOENT" });
      if (now(target)) throw fault(`Cannot move '${from}' to '${to}': there is a file already. Delete it first.`);
      await change("move", from, [
        [target, () => moved],
        [file, () => undefined],
      ]);
    },
    changes: () =>
      history(recall(place).log).changes.map((one) => {
        const { change: id, turn, at, tool, path: file, undone } = one;
        return {
          id,
          turn,
          at,
          tool,
          path: isInside(root, file) ? path.relative(root, file) : file,
          did: didOf(one),
          undone,
        };
      }),
    undo: (what = "1") => travel(forPerson("undo"), "undo", what),
    redo: (what = "1") => travel(forPerson("redo"), "redo", what),
  };

  /** Commands and flags are the person's; a tool acts for the model. */
  function forPerson(verb: string): Place {
    if (tool === ZZ) return place;
    throw fault(`Cannot ${verb} in a tool: only the person does that. Register a command for it.`);
  }

  function inside(name: string): string {
    const file = realPath(root, name);
    const allowed = (kind: Kind) => judge(core, kind, file).verdict === "allow";
    if (!isInside(root, file) && !granted.includes(file) && !allowed("read") && !allowed("write"))
      throw fault(`Cannot use '${name}': it is outside the project (${root}). Use a path inside it.`);
    return file;
  }

  /** The path itself, not what it links to. */
  function ownPath(name: string): string {
    const whole = path.resolve(root, name);
    return path.join(realPath(root, path.dirname(whole)), path.basename(whole));
  }

  function now(file: string): State {
    return held?.has(file) ? held.get(file)!.after : stateOf(file);
  }

  /** Holds the changes of a tool until it returns; a command's are asked for and made at once. */
  async function change(
    verb: string,
    name: string,
    steps: [file: string, become: (before: State) => State][],
  ): Promise<void> {
    if (!changes)
      throw fault(`Cannot ${verb} '${name}': '${tool}' does not say that it changes files. Add changes: true to it.`);
    const into: Held = held ?? new Map();
    try {
      for (const [file, become] of steps) {
        const present = now(file);
        if (present && !(present.mode & 0o222) && (present.mode & TYPE) === FILE)
          throw fault(`Cannot ${verb} '${name}': it is read-only. Leave it, or have its mode changed first.`);
        into.set(file, { before: into.has(file) ? into.get(file)!.before : present, after: become(present) });
      }
    } catch (error) {
      throw codeOf(error) ? fileFault(verb, name, error) : error;
    }
    const { refusal } = held ? {} : await commit(place, tool, into, new Map());
    if (refusal) throw fault(refusal);
  }

  async function read(name: string): Promise<FileRead> {
    const refuse = (why: string) => fault(`Cannot read '${name}': ${why}`);
    const file = inside(name);
    const { verdict } = judge(core, "read", file); // again, since a search comes upon files that nobody named
    if (verdict === "deny") throw refuse(`it is denied ${judge(core, "read", file).why}.`);
    if (verdict === "ask" && !granted.includes(file))
      throw refuse("it requires read access. Name the file itself, and it is asked for.");
    const waiting = held?.get(file);
    try {
      if (!waiting) {
        const stat = await fs.promises.stat(file);
        if (stat.isDirectory()) throw refuse("it is a folder. List it with list_dir instead.");
        if (!stat.isFile()) throw refuse("it is not a regular file. Choose another.");
        if (stat.size > LARGEST_READ) throw refuse(`${stat.size} bytes are too many. Search it instead.`);
      } else if (!waiting.after) throw fileFault("read", name, { code: "ENOENT" });
      const bytes = waiting?.after?.bytes ?? (await fs.promises.readFile(file));
      const hash = hashOf(bytes);
      const seen = chat.seen.get(file);
      if (granted.includes(file) && !changes) chat.seen.set(file, hash);
      return { text: bytes.toString("utf8"), bytes, hash, ...(seen && { seen }) };
    } catch (error) {
      throw codeOf(error) ? fileFault("read", name, error) : error;
    }
  }

  async function list(under = "."): Promise<string[]> {
    const folder = inside(under);
    const stat = fs.statSync(folder, { throwIfNoEntry: false });
    if (!stat?.isDirectory())
      throw fault(`Cannot list '${under}': ${stat ? "it is a file. Read it" : "no such folder. Check the path"}.`);
    const prefix = folder === root ? "" : `${path.relative(root, folder)}/`;
    const top = isInside(root, folder) ? root : folder; // where the .gitignore files begin, if git does not know
    const known = await listByGit(root, folder);
    const isForeign = known && !known.length && (await git(root, top, "check-ignore", "-q", top)) !== undefined; // to a repository around it
    const found = known && !isForeign ? known : await listByWalk(root, top, folder);
    return found
      .map((file) => prefix + file)
      .filter((file) => !NEVER_LISTED.test(file))
      .sort();
  }
}

const hashOf = (bytes: Uint8Array): string =>
  process.getBuiltinModule("node:crypto").createHash("sha256").update(bytes).digest("hex");
const hashOfState = (state: State): string | null => (state ? hashOf(state.bytes) : null);
const alike = (one: State, two: State): boolean =>
  one && two ? one.bytes.equals(two.bytes) && one.mode === two.mode : one === two;

function stateOf(file: string): State {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  if (!stat) return undefined;
  const refuse = (why: string) => fault(`Cannot change '${file}': ${why}`);
  if (stat.isSymbolicLink()) return { bytes: Buffer.from(fs.readlinkSync(file)), mode: stat.mode };
  if (stat.isDirectory()) throw refuse("it is a folder. Name a file, or use a command.");
  if (!stat.isFile()) throw refuse("it is not a regular file. Choose another.");
  if (stat.size > LARGEST_READ) throw refuse(`${stat.size} bytes are too many. Use a command.`);
  return { bytes: fs.readFileSync(file), mode: stat.mode };
}

/** A text as the file has it: its byte order mark, its line ends and its last newline stay. */
function adapt(text: string, before: State): Buffer {
  const old = before?.bytes.toString("utf8") ?? "";
  if (!before || !old || !before.bytes.equals(Buffer.from(old))) return Buffer.from(text);
  const count = (what: string) => old.split(what).length - 1;
  const all = count("\n");
  let next = text;
  if (all && count("\r\n") === all) next = next.replace(/\r?\n/g, "\r\n");
  else if (all && !count("\r\n")) next = next.replaceAll("\r\n", "\n");
  if (!old.endsWith("\n")) next = next.replace(/\r?\n$/, "");
  else if (next && !next.endsWith("\n")) next += /\r\n$/.test(old) ? "\r\n" : "\n";
  if (old.startsWith("\ufeff") && !next.startsWith("\ufeff")) next = `\ufeff${next}`;
  return Buffer.from(next);
}

/** Puts a file into a state, by a neighbour that takes its place: whole, or not at all. */
function put(file: string, state: State): void {
  const folder = path.dirname(file);
  for (const missing of missingFolders(folder)) fs.mkdirSync(missing);
  const name = path.basename(file);
  const fd = fs.openSync(folder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
  const handle = `/proc/self/fd/${fd}`; // the folder itself: nobody can swap it for a link meanwhile
  const real = tryTo(() => fs.readlinkSync(handle));
  const at = real === undefined ? folder : handle;
  try {
    if ((real ?? fs.realpathSync(folder)) !== folder)
      throw fault(`Cannot write '${file}': its folder was swapped for a link. Look at what happens there.`);
    sweep(at);
    if (state) replace(path.join(at, name), path.join(at, `.zz-${process.pid}-${newId()}.tmp`), state);
    else fs.unlinkSync(path.join(at, name));
  } finally {
    fs.closeSync(fd);
  }
}

function replace(file: string, temporary: string, { bytes, mode }: NonNullable<State>): void {
  const owner = fs.lstatSync(file, { throwIfNoEntry: false });
  try {
    if ((mode & TYPE) === LINK) fs.symlinkSync(bytes.toString(), temporary);
    else {
      const fd = fs.openSync(temporary, "wx", 0o600);
      try {
        fs.writeFileSync(fd, bytes);
        if (owner && owner.uid !== process.getuid?.()) tryTo(() => fs.fchownSync(fd, owner.uid, owner.gid));
        fs.fchmodSync(fd, mode & 0o7777);
        fs.fsyncSync(fd);
      } finally {
        fs.closeSync(fd);
      }
    }
    fs.renameSync(temporary, file);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

/** What a zz that was killed in the middle of a write left behind. */
function sweep(folder: string): void {
  for (const name of entriesOf(folder)) {
    const pid = /^\.zz-(\d+)-\w+\.tmp$/.exec(name)?.[1];
    if (pid && !startOf(Number(pid))) tryTo(() => fs.unlinkSync(path.join(folder, name)));
  }
}

const missingFolders = (folder: string): string[] =>
  fs.existsSync(folder) ? [] : [...missingFolders(path.dirname(folder)), folder];

/** Puts all files into their new states, or none of them. */
function putAll(steps: Step[]): void {
  const made: string[] = [];
  const done: Step[] = [];
  try {
    for (const step of steps) {
      made.push(...missingFolders(path.dirname(step.file)));
      done.push(step);
      if (step.to || stateOf(step.file)) put(step.file, step.to);
    }
  } catch (error) {
    for (const { file, from } of done.reverse())
      tryTo(() => (alike(stateOf(file), from) ? undefined : put(file, from)));
    unmake(made);
    throw error;
  }
}

/** Only those that are empty again. */
const unmake = (folders: string[]): void => {
  for (const folder of folders.toReversed()) tryTo(() => fs.rmdirSync(folder));
};

type Committed = { refusal?: string; said?: string };

/** Shows what a tool would change, asks, and makes it. What it says is for the model. */
async function commit(place: Place, tool: string, held: Held, seen: Map<string, string>): Promise<Committed> {
  const { core } = place;
  const { root } = core.options;
  const named = (file: string) => (isInside(root, file) ? path.relative(root, file) : file);
  const open = new Map<string, Open>();
  for (const [file, { before, after }] of held) if (alike(before, after)) held.delete(file);
  for (const file of held.keys()) {
    const refusal = await weigh(core, tool, "write", named(file), open);
    if (refusal) return { refusal };
  }
  const told: string[] = [];
  for (let news = ""; held.size; ) {
    const stale = [...held].filter(
      ([file, { before }]) => (seen.get(file) ?? hashOfState(before)) !== hashOfState(before),
    );
    const again = `${stale.map(([file]) => `'${named(file)}'`).join(", ")}: it changed since it was read`;
    if (stale.length && !open.size) throw fault(`Cannot write ${again}. Read it again.`);
    if (open.size) {
      const text = await preview(place, tool, news || (stale.length ? `Mind ${again}.` : ""), held);
      const more = {
        ...(editable().length && { e: "edit it first" }),
        ...((news || stale.length) && { r: "let the model look again" }),
      };
      const { key, refusal } = await confirm(place, tool, [...open.values()], text, more);
      if (refusal) return { refusal };
      if (key === "r")
        return { refusal: `Refused: the person sent it back. Read the file again, and propose the change anew.` };
      if (key === "e" && !(await editAll())) continue; // the editor was left without saving: ask again
    }
    const swapped = [...held].filter(([file, { before }]) => !alike(stateOf(file), before));
    if (!swapped.length) break;
    const names = swapped.map(([file]) => `'${named(file)}'`).join(", ");
    for (const [file, { before, after }] of swapped) {
      const rebased = await rebase(stateOf(file), before, after);
      if (!rebased || !open.size) throw fault(`Cannot write ${names}: it changed meanwhile. Read it again.`);
      held.set(file, rebased);
    }
    news = `${names} changed meanwhile; the change still applies.`;
  }
  const said = told.length ? `The person edited the proposal before it was written:\n${told.join("\n")}` : "";
  record(place, tool, held);
  for (const [file, { after }] of held) if (after) seen.set(file, hashOf(after.bytes));
  if (held.size) await emit(core, "changed", { tool, paths: [...held.keys()].map(named) });
  return { said };

  function editable(): [file: string, before: State, after: NonNullable<State>][] {
    return [...held].flatMap(([file, { before, after }]) =>
      core.edit && after && isText(after) && (after.mode & TYPE) === FILE ? [[file, before, after]] : [],
    );
  }

  /** Lets the person edit each proposed text. What was saved is what is written. Undefined: nothing was. */
  async function editAll(): Promise<boolean> {
    for (const [file, before, after] of editable()) {
      const proposed = after.bytes.toString("utf8");
      const saved = await core.edit!(proposed, path.basename(file));
      if (saved === undefined) return false;
      if (saved === proposed) continue;
      held.set(file, { before, after: { ...after, bytes: Buffer.from(saved) } });
      told.push(await patchOf({ path: named(file), before: proposed, after: saved }));
    }
    return true;
  }
}

const isText = (state: State): boolean =>
  state !== undefined && !state.bytes.includes(0) && Buffer.from(state.bytes.toString("utf8")).equals(state.bytes);

/** The same change to a file that is another by now; undefined when it does not apply there. */
async function rebase(now: State, before: State, after: State): Promise<{ before: State; after: State } | undefined> {
  if (!now || !before || !after || ![now, before, after].every(isText)) return undefined;
  const { applyPatch, structuredPatch } = await import("diff");
  const [from, to, on] = [before, after, now].map((state) => state.bytes.toString("utf8")) as [string, string, string];
  const patch = structuredPatch("", "", from, to, "", "", { timeout: DIFF_LIMIT }) as StructuredPatch | undefined;
  const merged = patch && applyPatch(on, patch, { autoConvertLineEndings: false });
  return merged === undefined || merged === false
    ? undefined
    : { before: now, after: { ...after, bytes: Buffer.from(merged) } };
}

async function preview(place: Place, tool: string, about: string, held: Held): Promise<string> {
  const { root } = place.core.options;
  const changes = [...held].map(([file, { before, after }]) => {
    const text = (state: State) => state && { text: clean(state.bytes.toString("utf8")) };
    const binary = [before, after].some((state) => state?.bytes.subarray(0, 8_192).includes(0));
    const [old, next] = [before, after].map((state) =>
      binary ? state && `${state.bytes.length} bytes\n` : text(state)?.text,
    );
    return {
      path: clean(isInside(root, file) ? path.relative(root, file) : file).replaceAll("\n", "␊"),
      ...(old !== undefined && { before: old }),
      ...(next !== undefined && { after: next }),
      ...noteOf(before, after, binary, old === next),
    };
  });
  return around(place, "preview", { tool, about: clean(about), changes }, async ({ about, changes }) =>
    [about, ...(await Promise.all(changes.map(patchOf)))].filter(Boolean).join("\n"),
  );
}

/** What the texts do not show. */
function noteOf(before: State, after: State, binary: boolean, same: boolean): { note?: string } {
  const mode = (after ?? before)!.mode;
  const notes = [
    ...(binary ? ["not text"] : []),
    ...((mode & TYPE) === LINK ? ["a link"] : mode & 0o111 ? ["executable"] : []),
    ...(before && after && before.mode !== after.mode ? ["another mode"] : []),
    ...(same && before && after ? ["only line ends or bytes that do not show"] : []),
  ];
  return notes.length ? { note: notes.join(", ") } : {};
}

async function patchOf({ path, before, after }: Difference): Promise<string> {
  const { createTwoFilesPatch } = await import("diff");
  const [from, to] = [before === undefined ? "/dev/null" : path, after === undefined ? "/dev/null" : path];
  const options = { timeout: DIFF_LIMIT };
  const patch: string | undefined = createTwoFilesPatch(from, to, before ?? "", after ?? "", "", "", options);
  return patch?.replace(/^(Index: .*\n)?=+\n/, "").trimEnd() ?? `${path}: nearly all of it differs`;
}
const DIFF_LIMIT = 1_000; // ms

/** An entry of a session: one file, from what it was to what it is. Hashes tell whether it still is; null: not there. */
interface Change extends Entry {
  type: "change";
  change: number; // from 1
  group: number; // the first change of its call
  turn: number;
  tool: string;
  path: string; // absolute
  was: string | null;
  is: string | null;
  modes: [before: number, after: number];
  base?: Content; // all of it before, where no earlier entry tells
  place: number; // where `put` took the place of `cut` bytes
  cut: number;
  put: Content;
  made: string[]; // folders
}
type Content = { text: string } | { base64: string };

function toContent(bytes: Buffer): Content {
  const text = bytes.toString("utf8");
  return Buffer.from(text).equals(bytes) ? { text } : { base64: bytes.toString("base64") };
}
const fromContent = (content: Content): Buffer =>
  "text" in content ? Buffer.from(content.text) : Buffer.from(content.base64, "base64");

const isChange = (entry: Entry): entry is Change =>
  entry.type === "change" &&
  typeof entry.change === "number" &&
  typeof entry.path === "string" &&
  Array.isArray(entry.made);
const LONGEST_CHAIN = 20;

/** Writes down, then makes: what was killed in between is seen by the hashes. */
function record({ core, chat }: Place, tool: string, held: Held): void {
  const steps = [...held].map(([file, { before, after }]) => ({ file, from: before, to: after }));
  const first = chat.log.filter(isChange).length + 1;
  for (const [i, { file, from, to }] of steps.entries()) {
    const [was, is] = [hashOfState(from), hashOfState(to)];
    const [old, next] = [from?.bytes ?? Buffer.alloc(0), to?.bytes ?? Buffer.alloc(0)];
    const earlier = chat.log.filter(isChange).filter((change) => change.path === file);
    const told =
      earlier.at(-1)?.is === was && earlier.slice(-LONGEST_CHAIN).some((change) => change.base || !change.was);
    let place = 0;
    while (place < old.length && place < next.length && old[place] === next[place]) place++;
    let end = 0;
    while (end < Math.min(old.length, next.length) - place && old.at(-end - 1) === next.at(-end - 1)) end++;
    keepLog(core, chat, "change", {
      change: first + i,
      group: first,
      turn: chat.turn,
      tool,
      path: file,
      was,
      is,
      modes: [from?.mode ?? 0, to?.mode ?? 0],
      ...(from && !told && { base: toContent(old) }),
      place,
      cut: old.length - place - end,
      put: toContent(next.subarray(place, next.length - end)),
      made: missingFolders(path.dirname(file)),
    });
  }
  try {
    putAll(steps);
  } catch (error) {
    keepLog(core, chat, "undone", { changes: steps.map((_, i) => first + i), never: true });
    throw codeOf(error) ? fileFault("write", path.relative(core.options.root, steps[0]!.file), error) : error;
  }
}

/** Every change, with whether it is undone; and what a redo would take up again, the last first. */
function history(log: readonly Entry[]): { changes: (Change & { undone: boolean })[]; redo: number[][] } {
  const changes: (Change & { undone: boolean })[] = [];
  let redo: number[][] = [];
  for (const entry of log) {
    const ids = Array.isArray(entry.changes) ? (entry.changes as number[]) : [];
    for (const change of changes) if (ids.includes(change.change)) change.undone = entry.type === "undone";
    if (isChange(entry)) changes.push({ ...entry, undone: false });
    if (entry.type === "undone" && !entry.never) redo = [ids, ...redo];
    else if (entry.type === "redone") redo = redo.slice(1);
    else if (isChange(entry)) redo = []; // after a new change there is nothing to take up again
  }
  return { changes, redo };
}

const didOf = ({ was, is }: Change): Changed["did"] => (was === null ? "created" : is === null ? "deleted" : "edited");

/** A file's bytes before a change: from the nearest whole copy, through the changes since. */
function bytesBefore(changes: readonly Change[], change: Change): Buffer {
  const chain: Change[] = [];
  let from = change;
  while (!from.base && from.was !== null) {
    const earlier = changes.findLast((one) => one.path === from.path && one.change < from.change);
    if (!earlier) throw fault(`Cannot restore '${change.path}': the session no longer holds what it was.`);
    chain.unshift(earlier);
    from = earlier;
  }
  return chain.reduce(bytesAfter, from.base ? fromContent(from.base) : Buffer.alloc(0));
}
const bytesAfter = (before: Buffer, { place, cut, put }: Change): Buffer =>
  Buffer.concat([before.subarray(0, place), fromContent(put), before.subarray(place + cut)]);

/** Outside of a conversation: the last session of this folder that changed anything. */
function recall({ core, chat }: Place): LiveChat {
  const { home, root } = core.options;
  if (chat.model || chat.session) return chat;
  const warn = (text: string) => note(core, text);
  const id = lastSession(home, root, warn, (id) => Boolean(tryTo(() => readSession(home, id).entries.some(isChange))));
  return id ? Object.assign(chat, openChat(core, "", openSession(home, id, warn))) : chat;
}

type Step = { file: string; from: State; to: State };

/** Takes changes back, or makes them again: all that are named, or none. */
async function travel(place: Place, way: "undo" | "redo", what: string): Promise<Result> {
  const { core } = place;
  const chat = recall(place);
  const back = way === "undo";
  const { root } = core.options;
  const named = (file: string) => (isInside(root, file) ? path.relative(root, file) : file);
  const { changes, redo } = history(chat.log);
  const batches = back ? toUndo() : redo.slice(0, Number(what) || 0);
  const picked = changes.filter(({ change }) => batches.flat().includes(change));
  if (!picked.length)
    return { text: `Nothing to ${way}${/^(\d+|turn)$/.test(what) ? "" : ` in '${what}'`}.`, data: [] };
  if (back) picked.reverse();
  const steps: Step[] = [];
  for (const file of new Set(picked.map((change) => change.path))) {
    const step = await stepOf(
      file,
      picked.filter((change) => change.path === file),
    );
    if (typeof step === "string") return { text: step, failed: true };
    if (step) steps.push(step);
  }
  try {
    putAll(steps);
  } catch (error) {
    throw codeOf(error) ? fileFault(way, steps.map(({ file }) => named(file)).join(", "), error) : error;
  }
  const above = (folder: string) => picked.some((change) => isInside(folder, change.path));
  if (back) unmake([...new Set(changes.flatMap(({ made }) => made))].filter(above).sort());
  for (const changes of batches) keepLog(core, chat, back ? "undone" : "redone", { changes });
  const text = `${back ? "Undone" : "Redone"}: ${picked.map((change) => `${didOf(change)} ${named(change.path)}`).join(", ")}.`;
  if (chat.messages.length)
    remember(core, chat, { role: "user", text: `[Since your last message: ${text}]`, aside: true });
  return { text, data: picked.map((change) => named(change.path)) };

  /** The last so many calls, one after the other; all of the last turn; or the last change of one file. */
  function toUndo(): number[][] {
    const open = changes.filter((change) => !change.undone);
    const of = (fits: (change: Change) => boolean) => open.filter(fits).map(({ change }) => change);
    const last = open.at(-1);
    if (what === "turn") return last ? [of(({ turn }) => turn === last.turn)] : [];
    const count = /^\d+$/.test(what) ? Number(what) : undefined;
    const groups = [...new Set(open.map(({ group }) => group))].slice(count ? -count : open.length);
    if (count !== undefined) return groups.reverse().map((group) => of((change) => change.group === group));
    const file = realPath(root, what);
    return [of((change) => change.path === file).slice(-1)];
  }

  /** What is to become of one file. A text: why nothing can. */
  async function stepOf(file: string, own: Change[]): Promise<Step | string | undefined> {
    const from = stateOf(file);
    let hash = hashOfState(from);
    const expected = own.every(({ was, is }) => {
      const [before, after] = back ? [is, was] : [was, is];
      const fits = hash === before || hash === after; // the latter: it was killed before it could be made
      hash = after;
      return fits;
    });
    const [first, last] = [own[0]!, own.at(-1)!];
    const after = (change: Change) => {
      if ((back ? change.was : change.is) === null) return undefined;
      const before = bytesBefore(changes, change);
      return back ? before : bytesAfter(before, change);
    };
    const bytes = after(last);
    const untouched = from?.mode === first.modes[back ? 1 : 0]; // a mode that somebody set since stays
    const mode = !from || untouched ? last.modes[back ? 0 : 1] : from.mode;
    const to = bytes && { bytes, mode };
    if (expected) return alike(from, to) ? undefined : { file, from, to };
    const verb = `Cannot ${way} '${named(file)}': it has changed since.`;
    if (!core.ask) return `${verb} Nothing was touched. At the prompt, zz can merge or overwrite it.`;
    const merged = await mergeAll();
    const keys = `${merged ? "m = merge into what is there now, " : ""}o = overwrite, n = leave everything`;
    const key = await core.ask(`${verb} [${merged ? "m/" : ""}o/n] (${keys}) `, merged ? "mon" : "on");
    if (key === "o") return { file, from, to };
    return key === "m" && merged ? { file, from, to: merged } : `${verb} Nothing was touched.`;

    async function mergeAll(): Promise<State> {
      let now = from;
      for (const { was, is, ...change } of own) {
        if (was === null || is === null) return undefined;
        const old = bytesBefore(changes, { was, is, ...change });
        const [one, two] = [old, bytesAfter(old, { was, is, ...change })].map((bytes) => ({ bytes, mode: 0 }));
        now = (await rebase(now, back ? two : one, back ? one : two))?.after;
      }
      return now && { bytes: now.bytes, mode: from!.mode };
    }
  }
}

/** npx and npm put the project's own programs into PATH. */
function gitOutside(root: string): string {
  const name = process.platform === "win32" ? "git.exe" : "git";
  const folders = (process.env.PATH ?? "").split(path.delimiter).filter(path.isAbsolute);
  const outside = folders.filter((at) => fs.existsSync(path.join(at, name)) && !isInside(root, realPath(root, at)));
  return path.join(outside[0] ?? "/nowhere", name);
}

/** What git tracks, and what it would if asked; so for every repository in it. Undefined: git does not look here. */
async function listByGit(root: string, folder: string): Promise<string[] | undefined> {
  const out = await git(root, folder, "ls-files", "-coz", "--exclude-standard", "--deduplicate");
  if (out === undefined) return undefined;
  const folders = new Map<string, Map<string, fs.Dirent>>(); // a look at each folder is half the work of one at each file
  const found: string[] = [];
  for (const name of out.split("\0")) {
    const entry = name ? entryOf(name.replace(/\/$/, "")) : undefined; // tracked ones may be gone
    const file = `${folder}/${name}`;
    if (entry?.isFile() || entry?.isSymbolicLink()) found.push(name);
    else if (entry?.isDirectory() && fs.existsSync(path.join(file, ".git")))
      found.push(...((await listByGit(root, file)) ?? []).map((inner) => path.join(name, inner)));
  }
  return found;

  function entryOf(name: string): fs.Dirent | undefined {
    const cut = name.lastIndexOf("/") + 1;
    const at = name.slice(0, cut);
    const read = () => tryTo(() => fs.readdirSync(`${folder}/${at}`, { withFileTypes: true })) ?? [];
    if (!folders.has(at)) folders.set(at, new Map(read().map((entry) => [entry.name, entry])));
    return folders.get(at)!.get(name.slice(cut));
  }
}

async function git(root: string, cwd: string, ...args: string[]): Promise<string | undefined> {
  const { execFile } = await import("node:child_process");
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const quiet = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]; // a repository's own programs stay out
  const env = { ...process.env, GIT_NO_LAZY_FETCH: "1", GIT_ALLOW_PROTOCOL: "none", GIT_OPTIONAL_LOCKS: "0" };
  const how = { cwd, env, maxBuffer: 1 << 28, timeout: 30_000 };
  execFile(gitOutside(root), [...quiet, ...args], how, (error, out) => resolve(error ? undefined : out));
  return promise;
}

/** Where there is no git: every folder's .gitignore holds below it, and the last rule that says anything wins. */
async function listByWalk(root: string, top: string, under: string): Promise<string[]> {
  const [{ default: ignore }, { setImmediate }] = await Promise.all([import("ignore"), import("node:timers/promises")]);
  const wanted = under === top ? "" : `${path.relative(top, under)}/`;
  const found: string[] = [];
  let rest = performance.now() + 30; // reading folders at a stretch is three times as fast as waiting for each
  await walk("", []);
  return found.map((name) => name.slice(wanted.length));

  async function walk(at: string, above: { base: string; rules: ReturnType<typeof ignore> }[]): Promise<void> {
    if (performance.now() > rest) rest = (await setImmediate(30)) + performance.now();
    const folder = path.join(top, at);
    const entries = tryTo(() => fs.readdirSync(folder, { withFileTypes: true })) ?? [];
    const known = at && entries.some((entry) => entry.name === ".git") ? await listByGit(root, folder) : undefined;
    if (known) return void found.push(...known.map((name) => at + name).filter((name) => name.startsWith(wanted)));
    const own = entries.some((entry) => entry.name === ".gitignore" && entry.isFile());
    const text = own ? textOf(path.join(folder, ".gitignore")) : "";
    const rules = own ? [...above, { base: at, rules: ignore().add(text) }] : above;
    for (const entry of entries) {
      const name = at + entry.name + (entry.isDirectory() ? "/" : "");
      if (!name.startsWith(wanted) && !(entry.isDirectory() && wanted.startsWith(name))) continue;
      const judged = rules.map((rule) => rule.rules.test(name.slice(rule.base.length)));
      const last = judged.findLast(({ ignored, unignored }) => ignored || unignored);
      if (NEVER_LISTED.test(name) || (last ? last.ignored : IGNORED_WITHOUT_GIT.includes(entry.name))) continue;
      if (entry.isDirectory()) await walk(name, rules);
      else if (entry.isFile() || entry.isSymbolicLink()) found.push(name);
    }
  }
}

const FILE_WORDS: Record<string, string> = {
  ENOENT: "no such file or folder. Check the path.",
  EACCES: "permission denied. Check its mode.",
  EPERM: "permission denied. Check its mode.",
  EROFS: "the file system is read-only. Choose another place.",
  ENOSPC: "the disk is full. Make room.",
  EISDIR: "it is a folder. Name a file.",
  ENOTDIR: "a part of the path is not a folder. Check the path.",
};

function fileFault(verb: string, name: string, error: unknown, more: Partial<Fault> = {}): Fault {
  return fault(`Cannot ${verb} '${name}': ${FILE_WORDS[codeOf(error)] ?? `${reason(error)}.`}`, more);
}

// ── 7 Store ────────────────────────────────────────────────────────────────────────────────────────────

/** A session file's first line. */
export type Header = { zz: 1; id: string; at: string; root: string; model: string; title: string };
/** Every later line. `parent` makes a tree of it: nothing is ever rewritten. Unknown types are kept. */
export interface Entry {
  id: number;
  parent: number | null;
  at: string;
  type: "message" | "draft" | "state" | "back" | (string & {});
  message?: Message;
  [field: string]: unknown;
}
type Row = Header | Entry;
/** A session to look at and to copy. */
export interface Saved {
  readonly header: Header;
  readonly entries: readonly Entry[]; // as they came
  branch(): Entry[]; // from the root to the last entry
}
export interface Session extends Saved {
  append(type: Entry["type"], fields: Record<string, unknown>, parent?: number | null): void; // on the disk when it returns
  sync(): Promise<void>; // also past a power cut
  close(): void;
}

/**
 * A lowdb adapter that appends: `write` puts down only the lines that it has not yet written, so that an
 * append costs the same at entry 10 and at entry 100,000. `read` cuts off a torn last line (a crash) and says so.
 */
function jsonLines(file: string, warn: (text: string) => void) {
  let fd = -1;
  let written = 0;
  return {
    read(): Row[] {
      fd = fs.openSync(file, "a+");
      const bytes = fs.readFileSync(fd);
      const { lines, end, spoilt } = parseLines(bytes, file);
      const torn = bytes.length - end;
      const were = spoilt === 1 ? "line, which was" : "lines, which were";
      if (spoilt) warn(`Session file '${file}' has ${spoilt} unreadable ${were} passed over.`);
      if (torn) warn(`Session file '${file}' ended in the middle of a line; its last ${torn} bytes, ${NEVER_SAVED}.`);
      if (torn) fs.ftruncateSync(fd, end);
      written = lines.length;
      return lines;
    },
    write(lines: Row[]): void {
      if (fd < 0) fd = fs.openSync(file, "ax+", 0o600);
      const end = fs.fstatSync(fd).size;
      const added = lines.slice(written).map((line) => `${JSON.stringify(line)}\n`);
      try {
        fs.writeFileSync(fd, Buffer.from(added.join("")));
      } catch (error) {
        if (end === 0) fs.rmSync(file);
        else fs.ftruncateSync(fd, end); // a full disk leaves no half line behind
        lines.length = written;
        throw error;
      }
      written = lines.length;
    },
    sync: () => new Promise<void>((resolve) => (fd < 0 ? resolve() : fs.fdatasync(fd, () => resolve()))),
    close: () => fd < 0 || fs.closeSync(fd),
  };
}
const UNSAVED = "It goes on unsaved; --home or ZZ_HOME names another place.";
const NEVER_SAVED = "never confirmed as saved, were cut off";

/** The header and all entries; `end` is where the last whole line ends, `spoilt` counts the lines that are neither. */
function parseLines(bytes: Buffer, file: string): { lines: [Header, ...Entry[]]; end: number; spoilt: number } {
  const lines: Row[] = [];
  let [end, spoilt] = [0, 0];
  for (let stop = bytes.indexOf(10); stop >= 0; stop = bytes.indexOf(10, end)) {
    const line = tryTo(() => JSON.parse(bytes.toString("utf8", end, stop)));
    if (lines.length ? typeof line?.id === "number" : isHeader(line)) lines.push(line);
    else spoilt++;
    end = stop + 1;
  }
  if (lines.length) return { lines: lines as [Header, ...Entry[]], end, spoilt };
  const why = bytes.length ? "it holds no readable header" : "it is empty";
  throw fault(`Cannot open session file '${file}': ${why}. It was left as it is; move it away, or start without it.`);
}

const isHeader = (line: unknown): line is Header =>
  (line as Header)?.zz === 1 &&
  (["id", "at", "root", "model", "title"] as const).every((key) => typeof (line as Header)[key] === "string");

/** Whether a message from a file can be sent: what others wrote there is passed over. */
function isMessage(value: unknown): value is Message {
  const message = value as Message & { calls?: unknown };
  if (typeof message?.text !== "string") return false;
  if (message.role === "tool") return typeof message.id === "string" && typeof message.name === "string";
  const isCall = (call: Call) => typeof call?.id === "string" && typeof call.name === "string" && Boolean(call.args);
  if (message.role === "assistant")
    return !message.calls || (Array.isArray(message.calls) && message.calls.every(isCall));
  return message.role === "user";
}
const sessionsFolder = (home: string): string => path.join(home, "sessions");
const sessionFile = (home: string, id: string): string => path.join(sessionsFolder(home), `${id}.jsonl`);

/** Opens a session for writing; with a header, makes it. */
export function openSession(home: string, which: string | Header, warn: (text: string) => void): Session {
  const id = typeof which === "string" ? which : which.id;
  const file = sessionFile(home, id);
  if (typeof which !== "string") makePrivate(sessionsFolder(home));
  const release = lock(file.replace(/jsonl$/, "lock"), id);
  const adapter = jsonLines(file, warn);
  const db = new LowSync<Row[]>(adapter, []);
  const close = () => {
    adapter.close();
    release();
  };
  try {
    if (typeof which === "string") db.read();
    else db.update((lines) => void lines.push(which));
  } catch (error) {
    close();
    throw error;
  }
  const header: Header = { ...(db.data[0] as Header), id };
  return sessionOf(header, db, { sync: adapter.sync, close });
}

/** Where nothing is saved, the tree is in memory alone. */
function unsavedSession(header: Header, entries: readonly Entry[] = []): Session {
  const nowhere = new LowSync<Row[]>({ read: () => null, write: () => {} }, [header, ...entries]);
  return sessionOf(header, nowhere, { sync: async () => {}, close: () => {} });
}

function sessionOf(header: Header, db: LowSync<Row[]>, ends: Pick<Session, "sync" | "close">): Session {
  return {
    header,
    get entries() {
      return db.data.slice(1) as Entry[];
    },
    branch: () => branchOf(db.data.slice(1) as Entry[]),
    append(type, fields, parent) {
      const last = db.data.length > 1 ? (db.data.at(-1) as Entry) : { id: 0 };
      const under = parent === undefined ? last.id || null : parent;
      db.data.push({ id: last.id + 1, parent: under, at: new Date().toISOString(), type, ...fields });
      db.write();
    },
    ...ends,
  };
}

/** One by one: mkdir's own `recursive` never returns under /proc, and calls a read-only disk a missing folder. */
export function makePrivate(folder: string): void {
  if (!fs.existsSync(folder)) {
    if (!fs.existsSync(path.dirname(folder))) makePrivate(path.dirname(folder));
    try {
      fs.mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error; // another zz made it just now
    }
  } else if (path.basename(folder) === "sessions" && fs.statSync(folder).mode & 0o077) fs.chmodSync(folder, 0o700);
}

/** No lock, and nothing repaired. */
function readSession(home: string, id: string): Saved {
  const file = sessionFile(home, id);
  const [header, ...entries] = parseLines(fs.readFileSync(file), file).lines;
  return { header, entries, branch: () => branchOf(entries) };
}

/** From the root to the last entry. An entry whose parent was lost hangs on the one before it. */
function branchOf(entries: Entry[]): Entry[] {
  const places = new Map(entries.map((entry, i) => [entry.id, i]));
  const branch: Entry[] = [];
  for (let at = entries.length - 1; at >= 0; ) {
    const entry = entries[at]!;
    branch.push(entry);
    at = entry.parent === null ? -1 : Math.min(places.get(entry.parent) ?? at - 1, at - 1);
  }
  return branch.reverse();
}

/** One writer at a time. The lock names its process by number and start time, so that a dead one does not keep it. */
function lock(file: string, session: string): () => void {
  const mine = `${process.pid} ${startOf(process.pid)}`;
  const temporary = `${file}.${process.pid}`;
  try {
    fs.writeFileSync(temporary, mine, { mode: 0o600 });
    for (;;) {
      try {
        fs.linkSync(temporary, file); // all at once: nobody ever sees an empty lock
        return () => fs.rmSync(file, { force: true });
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw error;
      }
      const theirs = textOf(file);
      const [pid, start] = theirs.split(" ");
      const busy = `another zz (process ${pid}) has it open. Close that one, or go on in a copy with --fork`;
      if (start && startOf(Number(pid)) === start) throw fault(`Cannot open session '${session}': ${busy}.`);
      let mayBreak: (() => void) | undefined;
      try {
        mayBreak = lock(`${file}.break`, session); // only one at a time may take a dead one's lock away
        if (textOf(file) === theirs) fs.rmSync(file, { force: true });
      } catch (error) {
        if (codeOf(error)) throw error; // else someone else is at it; look again
      } finally {
        mayBreak?.();
      }
    }
  } finally {
    fs.rmSync(temporary, { force: true });
  }
}

/** When a process started ("" if there is none), to tell it from a later one of the same number. */
function startOf(pid: number): string {
  if (process.platform === "linux") {
    const fields = textOf(`/proc/${pid}/stat`).split(") ").at(-1)!.split(" ");
    return "ZX".includes(fields[0]!) ? "" : (fields[19] ?? ""); // a zombie waits to be reaped; it holds nothing
  }
  try {
    return process.kill(pid, 0) ? "alive" : "";
  } catch (error) {
    return codeOf(error) === "EPERM" ? "alive" : "";
  }
}

const sessionIds = (home: string): string[] =>
  entriesOf(sessionsFolder(home)).flatMap((name) => (name.endsWith(".jsonl") ? [name.slice(0, -".jsonl".length)] : []));

/** Every session's header, newest first, by its file's first line alone. */
export function listSessions(home: string): Header[] {
  const buffer = Buffer.allocUnsafe(8192);
  const titles = titlesOf(home);
  const headers = sessionIds(home).flatMap((id) => headerOf(sessionFile(home, id), buffer) ?? []);
  return headers
    .map((header) => ({ ...header, title: clean(titles[header.id] || header.title) }))
    .sort((a, b) => compare(b.id, a.id));
}

/** New names of sessions. Each session's file holds its own as well; here they are found without reading it. */
const titlesFile = (home: string): string => path.join(sessionsFolder(home), "titles.json");
function titlesOf(home: string): Record<string, string> {
  const titles = tryTo(() => JSON.parse(textOf(titlesFile(home))));
  const isTitle = ([, title]: [string, unknown]) => typeof title === "string";
  return Object.fromEntries(Object.entries((titles as object) ?? {}).filter(isTitle));
}
function keepTitle(home: string, id: string, title: string): void {
  const { [id]: old, ...titles } = titlesOf(home);
  if (!old && !title) return;
  writePrivate(titlesFile(home), JSON.stringify(title ? { ...titles, [id]: title } : titles, null, 2));
}

/** The person's alone. */
export function writePrivate(file: string, text: string): void {
  makePrivate(path.dirname(file));
  const real =
    tryTo(() => fs.realpathSync(file)) ?? path.join(fs.realpathSync(path.dirname(file)), path.basename(file));
  put(real, { bytes: Buffer.from(`${text}\n`), mode: 0o100600 });
}

/** By the file's own name, whatever the header says of it. */
function headerOf(file: string, buffer = Buffer.allocUnsafe(8192)): Header | undefined {
  return tryTo(() => {
    const fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK); // a FIFO holds nobody up
    const size = tryTo(() => fs.readSync(fd, buffer, 0, buffer.length, 0)) ?? 0;
    fs.closeSync(fd);
    const end = buffer.subarray(0, size).indexOf(10);
    const header = JSON.parse(buffer.toString("utf8", 0, end < 0 ? size : end));
    return isHeader(header) ? { ...header, id: path.basename(file, ".jsonl") } : undefined;
  });
}

/** The session of this folder that was used last, and fits. Files that cannot be read are named and passed over. */
function lastSession(home: string, root: string, warn: (text: string) => void, fits = (_: string) => true) {
  const files = sessionIds(home).map((id) => sessionFile(home, id));
  const used = files.map((file) => ({ file, at: fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0 }));
  for (const { file } of used.sort((a, b) => b.at - a.at)) {
    const header = headerOf(file);
    if (header?.root === root && fits(header.id)) return header.id;
    if (!header) warn(`Session file '${file}' holds no readable header; it was passed over and left as it is.`);
  }
  return undefined;
}

/** The one session whose id starts so. */
function findSession(home: string, start: string): string {
  const ids = sessionIds(home);
  const fits = ids.includes(start) ? [start] : ids.filter((id) => id.startsWith(start));
  const [id] = fits;
  if (fits.length === 1 && fs.statSync(sessionFile(home, id!)).isFile()) return id!;
  const why = fits.length ? `${fits.length} start so. Give more of it` : "there is none. `zz --sessions` lists them";
  throw usage(`Cannot open session '${start}': ${why}.`);
}

const newSessionId = (at: string): string => `${at.slice(0, 19).replace(/[-:]/g, "").replace("T", "-")}-${newId()}`;

/**
 * What every provider accepts: each call has exactly one result, straight after it and in call order; results
 * without a call are gone; neighbours of one role are merged; nothing is empty. Run before every request.
 */
export function repair(history: readonly Message[]): Message[] {
  const fixed: Message[] = [];
  let open = new Map<string, number>(); // where in `fixed` the results of the last calls belong
  for (const message of history) {
    if (message.role === "tool") {
      const place = open.get(message.id);
      if (place !== undefined) fixed[place] = message;
      open.delete(message.id);
      continue;
    }
    const calls = message.role === "assistant" ? (message.calls ?? []) : [];
    const images = message.role === "user" ? (message.images ?? []) : [];
    if (message.role === "assistant") open = new Map();
    if (!message.text && !calls.length && !images.length) continue;
    const last = fixed.at(-1);
    if (last?.role === message.role) fixed[fixed.length - 1] = joined(last, message);
    else fixed.push(message);
    for (const { id, name } of calls)
      open.set(id, fixed.push({ role: "tool", id, name, text: "[interrupted]", failed: true }) - 1);
  }
  return fixed;
}

function joined(one: Message, two: Message): Message {
  const images = [one, two].flatMap((message) => ("images" in message && message.images) || []);
  return { ...two, text: [one.text, two.text].filter(Boolean).join("\n\n"), ...(images.length && { images }) };
}

// ── 8 Prompt ───────────────────────────────────────────────────────────────────────────────────────────

const LAYER_BUDGET = 2_000;
const CHARS_A_TOKEN = 4;

/** Markdown in prompts/ whose front matter names a slot is a layer: zz's own, then the home's. */
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

type PromptFile = ReturnType<typeof frontMatter> & { name: string; file: string };
function promptFiles({ options: { home } }: Core): PromptFile[] {
  const folders = new Set([path.join(PACKAGE, "prompts"), path.join(home, "prompts")]);
  const filesIn = (folder: string) => entriesOf(folder).map((name) => path.join(folder, name));
  return [...folders]
    .flatMap((folder) => filesIn(folder).sort())
    .filter((file) => file.endsWith(".md"))
    .map((file) => ({ file, ...frontMatter(textOf(file)) }))
    .map((one) => ({ ...one, name: one.head.name ?? path.basename(one.file, ".md") }));
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
function toolGuide(core: Core): Owned<Layer> {
  const lines = () => offered(core).map(({ name, description }) => `- ${name}: ${description}`);
  return { owner: "", value: { name: "tools", slot: "rules", budget: 4_000, text: () => lines().join("\n") } };
}

/** The system prompt. Layers that do not change are rendered once a session and kept in the chat. */
async function buildPrompt(place: Place): Promise<string> {
  return (await promptParts(place)).map(({ text }) => text).join("\n\n");
}

async function promptParts({ core, chat, ctx }: Place) {
  const order = (layer: Owned<Layer>) => SLOTS.indexOf(layer.value.slot);
  const parts: Awaited<ReturnType<About["prompt"]>> = [];
  for (const layer of core.layers.toSorted((a, b) => order(a) - order(b) || compare(a.owner, b.owner))) {
    const { name, slot } = layer.value;
    const body = chat.layers.get(layer.value) ?? (await render(layer));
    if (slot !== "turn") chat.layers.set(layer.value, body);
    const title = name.replace(/[-_]/g, " ").toUpperCase();
    if (body)
      parts.push({ name, slot, owner: layer.owner || "zz", text: slot === "identity" ? body : block(title, body) });
  }
  return parts;

  async function render({ owner, value: { name, text, budget = LAYER_BUDGET } }: Owned<Layer>): Promise<string> {
    if (typeof text === "string") return fit(text.trim(), budget);
    try {
      const body = await within(Promise.resolve(text(ctx)), HOOK_LIMIT, tooLong(HOOK_LIMIT));
      return fit((body ?? "").trim(), budget);
    } catch (error) {
      note(core, `Layer '${name}' of '${owner}' was left out: ${reason(error)}`);
      return "";
    }
  }
}

const block = (title: string, text: string): string => `--- ${title} ---\n${text}\n--- END ${title} ---`;

/** At most so many tokens: the head and the tail, with a marker between. */
export function fit(text: string, tokens: number): string {
  const most = tokens * CHARS_A_TOKEN;
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
  layers: Map<Layer, string>; // as they were rendered
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
    turn.system = await buildPrompt(turn);
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

/** Sends a request, and again at most twice when what went wrong may pass. Nothing of it has been shown yet. */
async function ask(turn: Turn, history: Message[], tools: ChatRequest["tools"]): Promise<Reply> {
  const { core, chat, system } = turn;
  for (;;) {
    const provider = providerNamed(core, chat.model); // the person may change it after a failure
    const model = chat.model.slice(provider.name.length + 1);
    const endpoint = endpointOf(core, provider.name);
    const options = { ...core.options.settings.options, ...core.options.options };
    const request = { model, system, messages: repair(history), tools, options, endpoint };
    turn.answer.model = chat.model;
    try {
      return await around(turn, "request", request, (request) => attempt(provider, request));
    } catch (error) {
      const failed = error as Fault;
      if (chat.stop.signal.aborted || failed.dry || !(await core.atFault?.(failed, turn))) throw failed;
    }
  }

  async function attempt(provider: Provider, request: ChatRequest): Promise<Reply> {
    for (let tried = 1; ; tried++) {
      try {
        return await receive(turn, provider, request);
      } catch (error) {
        const failed = error as Fault;
        if (chat.stop.signal.aborted || failed.dry) throw failed;
        const wait = failed.after ?? 500 * 2 ** (tried - 1) * (1 + Math.random() / 4);
        if (failed.transient && wait > LONGEST_WAIT) failed.message += ` Try again in ${Math.ceil(wait / 1000)} s.`;
        if (failed.transient && tried < TRIES && wait <= LONGEST_WAIT) {
          await emit(core, "retried", { attempt: tried, wait: Math.round(wait), reason: reason(failed) });
          const { setTimeout: sleep } = await import("node:timers/promises");
          await sleep(wait, undefined, { signal: chat.stop.signal });
        } else throw failed;
      }
    }
  }
}

/** One answer of the provider, whole. The silence in it is limited, not its length. */
async function receive({ core, chat }: Turn, provider: Provider, request: ChatRequest): Promise<Reply> {
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
    const { endpoint, ...shown } = request; // it may hold a key
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
async function runCall(place: Place, call: Call, inner = false): Promise<Result> {
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
  const granted = (needs.read ?? []).map((need) => realPath(core.options.root, nameOf(need)));
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
    const { refusal, said } = await commit(place, tool.name, held, place.chat.seen);
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
  for (const [plugin, state] of core.states) {
    const now = JSON.stringify(state.live);
    if (now !== state.saved) save(core, chat, "state", { plugin, value: state.live });
    state.saved = now;
  }
  await chat.session?.sync();
  enter(core, chat, "idle");
  chat.stop = new AbortController();
}

/** Opens a conversation: a new one, or a session's, or a copy of what was saved. A new one is saved from its first message on. */
export function openChat(core: Core, model: string, from?: Session | Saved): LiveChat {
  const chat: LiveChat = {
    id: null,
    model,
    phase: "idle",
    messages: [],
    attached: [],
    layers: new Map(),
    turn: 0,
    log: [],
    seen: new Map(),
    stop: new AbortController(),
    tree: () => ({ entries: chat.session?.entries ?? [], branch: chat.session?.branch() ?? [] }),
    back: (to) => goBack(core, chat, to),
    use: (given) => useModel(core, chat, given),
    send: (text) => void (chat.next = text),
    attach: (what) => void chat.attached.push(what),
  };
  takeUp(core, chat, from);
  return chat;
}

/** The conversation goes on as that session, or as a copy of it, or anew. */
function takeUp(core: Core, chat: LiveChat, from?: Session | Saved): void {
  const own = from && "append" in from;
  delete chat.session;
  delete chat.used;
  Object.assign(chat, { id: own ? from.header.id : null, turn: 0, log: [], seen: new Map(), layers: new Map() });
  if (own) {
    chat.session = from;
    chat.log.push(...from.entries.filter((entry) => /^(change|undone|redone)$/.test(entry.type)));
    chat.turn = Math.max(0, ...chat.log.filter(isChange).map(({ turn }) => turn));
  }
  replay(core, chat, from?.branch() ?? []);
  if (!own) for (const message of chat.messages.splice(0)) remember(core, chat, message);
}

/** Messages and plugins' states as a branch has them. */
function replay(core: Core, chat: LiveChat, branch: Entry[]): void {
  chat.messages = [];
  for (const state of core.states.values()) renew(state, JSON.parse(state.initial));
  for (const { type, message, plugin, value } of branch) {
    const state = type === "state" ? core.states.get(String(plugin)) : undefined;
    if (state) renew(state, value as object);
    if (type !== "message") continue;
    if (isMessage(message)) chat.messages.push(message);
    else note(core, "A message of the session that cannot be understood was passed over.");
  }
  const last = chat.messages.findLast((message) => "usage" in message && message.usage);
  const { usage } = (last ?? {}) as Made;
  if (usage) chat.used = usage.input + usage.output;

  function renew(state: { live: object; saved: string }, value: object): void {
    for (const key of Object.keys(state.live)) delete (state.live as Record<string, unknown>)[key];
    Object.assign(state.live, structuredClone(value));
    state.saved = JSON.stringify(state.live);
  }
}

/** From there on. What came after it stays in the file, on a branch of its own. */
function goBack(core: Core, chat: LiveChat, to: number | null): void {
  if (chat.phase !== "idle") throw fault("Cannot go back while an answer is under way. Stop it first, with Ctrl+C.");
  if (to !== null && !chat.session?.entries.some(({ id }) => id === to))
    throw fault(`Cannot go back to ${to}: there is nothing of that number. /tree lists what there is.`);
  chat.session?.append("back", {}, to);
  delete chat.used;
  chat.layers.clear();
  replay(core, chat, chat.session?.branch() ?? []);
}

async function useModel(core: Core, chat: LiveChat, given: string): Promise<void> {
  const { name } = providerNamed(core, given);
  const model = given === name ? await firstModel(core, name) : given;
  if (model === `${name}/`) throw usage(`Cannot use model '${given}': it has no name. /models lists them.`);
  chat.model = model;
  save(core, chat, "model", { model });
  delete chat.window;
  await learnWindow(core, chat);
}

/** What the provider says of the model. One that does not say, or does not answer, leaves it unknown. */
async function learnWindow(core: Core, chat: LiveChat): Promise<void> {
  const { model } = chat;
  const provider = providerNamed(core, model);
  const models = await provider.models(AbortSignal.timeout(PATIENCE), endpointOf(core, provider.name)).catch(() => []);
  const window = models.find(({ id }) => model === `${provider.name}/${id}`)?.window;
  if (window && chat.model === model) chat.window = window;
}

/** The model that a session used last. */
const modelOf = ({ header, branch }: Saved): string =>
  String(branch().findLast(({ type }) => type === "model")?.model ?? header.model).replace(NO_ONE, "");

function sessions({ core, chat }: Pick<Place, "core" | "chat">): Sessions {
  const { home } = core.options;
  const warn = (text: string) => note(core, text);
  return {
    list: () => listSessions(home),
    read: (id) => readSession(home, findSession(home, id)),
    open(id, copy = false) {
      if (chat.phase !== "idle")
        throw fault("Cannot change the conversation while an answer is under way. Stop it first, with Ctrl+C.");
      const found = id === undefined ? undefined : findSession(home, id);
      if (found === chat.id && found !== undefined && !copy) return;
      const from = found === undefined ? undefined : copy ? readSession(home, found) : openSession(home, found, warn);
      chat.session?.close();
      takeUp(core, chat, from);
      const model = from && modelOf(from);
      if (!model || !core.providers.has(model.split("/")[0]!) || model === chat.model) return;
      chat.model = model;
      delete chat.window;
      void learnWindow(core, chat);
    },
    rename(id, title) {
      const found = findSession(home, id);
      keepTitle(home, found, title);
      if (found === chat.id) return chat.session?.append("title", { title });
      const session = openSession(home, found, warn);
      session.append("title", { title });
      session.close();
    },
    remove(id) {
      const found = findSession(home, id);
      if (found === chat.id)
        throw fault("Cannot delete the conversation under way. /new begins another; then delete this one.");
      openSession(home, found, warn).close(); // nobody else has it open
      fs.rmSync(sessionFile(home, found));
      keepTitle(home, found, "");
    },
  };
}

/** Into the history and onto the disk, before anything is done about it. */
function remember(core: Core, chat: LiveChat, message: Message): void {
  chat.messages.push(message);
  save(core, chat, "message", { message });
}

function keepLog(core: Core, chat: LiveChat, type: Entry["type"], fields: Record<string, unknown>): void {
  const at = new Date().toISOString();
  chat.log.push({ id: 0, parent: null, at, type, ...fields });
  save(core, chat, type, fields);
}

/** Where nothing can be saved, the talk goes on and says so. */
function save(core: Core, chat: LiveChat, type: Entry["type"], fields: Record<string, unknown>): void {
  const { home, root } = core.options;
  if (!chat.session && type !== "message" && type !== "change") return;
  const title = (chat.messages[0]?.text ?? `${fields.tool} ${path.relative(root, String(fields.path))}`)
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 80);
  const at = new Date().toISOString();
  const header: Header = { zz: 1, id: newSessionId(at), at, root, model: chat.model, title };
  try {
    if (!chat.session && core.options.save !== false) {
      chat.session = openSession(home, header, (text) => note(core, text));
      chat.id = header.id;
    }
    chat.session ??= unsavedSession(header);
    chat.session.append(type, fields);
  } catch (error) {
    const { message } = fileFault("save the session in", sessionsFolder(home), error);
    note(core, `${message} ${UNSAVED}`);
    const saved = chat.session?.entries ?? [];
    chat.session?.close();
    chat.session = unsavedSession(header, saved);
    chat.session.append(type, fields);
    chat.id = "";
  }
}

/** Takes the last message of the person, and all that came of it, out of the conversation. */
function takeBack(core: Core, chat: LiveChat): void {
  const entry = chat.session?.branch().findLast(({ message }) => message?.role === "user" && !message.aside);
  if (entry) goBack(core, chat, entry.parent);
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
    ...(core.ask && { ask: core.ask }),
    ...(core.edit && { edit: core.edit }),
    ...(core.terminal && { terminal: core.terminal }),
    get about() {
      return about({ core, chat, ctx });
    },
    call: (name, args) => runCall({ core, chat, ctx }, { id: newId("call_"), name, args: args as Call["args"] }, true),
    note: (text) => note(core, text),
    progress: (text) => void emit(core, "progressed", { text }),
  };
  return ctx;
}

function about(place: Place): About {
  const { core, ctx } = place;
  return {
    home: core.options.home,
    tools: offered(core).map((tool) => ({ ...tool, owner: core.tools.get(tool.name)!.owner })),
    commands: [...OWN_COMMANDS, ...[...core.commands.values()].map(told)].sort(byName),
    keys: [...core.keys.values()].map(({ owner, value: { name, description } }) => ({ name, description, owner })),
    plugins: core.plugins.map(({ undo, ms, ...plugin }) => ({ ...plugin, ms: Math.round(ms * 10) / 10 })),
    flags: allFlags(core),
    models: (all = false) => listModels(core, all),
    prompt: () => promptParts(place),
    async complete(command, typed) {
      const given = (await core.commands.get(command)?.value.complete?.(typed, ctx)) ?? [];
      return given.map((one) => (typeof one === "string" ? { name: one } : one));
    },
  };

  function told({ owner, value: { run, complete, ...rest } }: Owned<Command>): About["commands"][number] {
    return { ...rest, owner };
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
function offered({ tools, options: { tools: only } }: Core): ChatRequest["tools"] {
  return valuesOf(tools)
    .filter(({ name }) => only !== false && (!only?.length || only.includes(name)))
    .sort(byName)
    .map(({ name, description, params }) => ({ name, description, schema: toJsonSchema(params) }));
}

/** The provider that a model's name names; the first slash splits. */
function providerNamed(core: Core, model: string): Provider {
  const [name = ""] = model.split("/");
  const provider = core.providers.get(name)?.value;
  if (provider) return provider;
  const why = `a model is named provider/model, and ${unknown("provider", name, core.providers.keys())}`;
  throw usage(`Cannot use model '${model}': ${why}`);
}

function endpointOf({ options, named = "" }: Core, provider: string): Endpoint {
  const own = options.settings.providers?.[provider];
  if (named && named !== provider) return { ...own }; // the flags speak of another
  const { baseUrl, key } = options;
  return { ...own, ...(baseUrl && { url: baseUrl }), ...(key && { key }) };
}

/**
 * Which model to talk to: --model, ZZ_MODEL, the session's, the settings', a provider whose key is set, a local
 * server that answers within 300 ms. Undefined when there is none.
 */
export async function chooseModel(core: Core, earlier?: string): Promise<string | undefined> {
  const { model, baseUrl, settings } = core.options;
  const named = model || process.env.ZZ_MODEL || earlier || settings.model;
  if (named && baseUrl && !core.providers.has(named.split("/")[0]!)) return `openai/${named}`;
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

async function firstModel(core: Core, name: string): Promise<string> {
  const provider = providerNamed(core, name);
  const signal = AbortSignal.timeout(PATIENCE);
  const endpoint = endpointOf(core, name);
  const model = (await provider.auto?.(signal, endpoint)) ?? (await provider.models(signal, endpoint))[0]?.id;
  if (!model) throw usage(`Cannot use '${name}': it offers no model. Name one with --model ${name}/MODEL.`);
  return `${name}/${model}`;
}

const LOCAL_LIMIT = 300;
const PATIENCE = 10_000;
const NO_MODEL =
  "No model to ask: set OPENAI_API_KEY, start Ollama, or name one with --model provider/model (and --base-url URL for a server of your own). " +
  "Without any, --model offline finds definitions, references and TODOs in this folder.";

// ── 10 Dialogs ─────────────────────────────────────────────────────────────────────────────────────────

const UNSAFE =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\u3164\ufeff\uffa0\u{e0000}-\u{e0fff}]/gu;

/** Text that a terminal can only show, never obey: control bytes become visible signs. */
export function clean(text: string): string {
  return text
    .replace(/\r\n/g, "\n")
    .replace(UNSAFE, (char) => (char < " " ? String.fromCharCode(0x2400 + char.charCodeAt(0)) : "\ufffd"));
}

/** The same for an answer that was rendered: its colours and links stay. The model's own text was cleaned before. */
export const cleanRendered = (text: string): string =>
  text
    .split(/(\x1b\[[\d;]*m|\x1b\]8;;[!-~]*\x1b\\)/)
    .map((piece, i) => (i % 2 ? piece : clean(piece)))
    .join("");
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

function start(core: Core, { id, model }: LiveChat, watched: boolean, stays = false): Promise<void> {
  const { root, quiet } = core.options;
  return emit(core, "started", { session: id || null, model, root, live: watched && !quiet, stays });
}

/** One answer and out. */
async function once(core: Core, chat: LiveChat, prompt: Prompt, format: Format): Promise<number> {
  if (format === "json-lines")
    for (const event of EVENTS.filter((event) => !["received", "answered", "failed"].includes(event)))
      watch(core, event, (fact) => void printLine(JSON.stringify({ type: event, ...fact })));
  await start(core, chat, format === "text" && Boolean(process.stderr.isTTY));
  askOnTerminal(core);
  const ctx = context(core, chat);
  prompt.attached.forEach(chat.attach);
  const line = prompt.typed ? await around({ core, chat, ctx }, "line", prompt.words) : prompt.words;
  const { name, rest } = parseCommand(prompt.typed ? line : "");
  const command = core.commands.get(name)?.value;
  if (name && !command) throw usage(`Cannot obey '/${name}': ${unknown("command", name, core.commands.keys())}`);
  if (command) await command.run(rest, ctx);
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
  const { openKeyboard } = await import("./keyboard.ts");
  const keyboard = openKeyboard(core, { ctxNow, ready: () => opened, interrupt: stopTurn, leave });
  atStop(leave);
  core.aside = keyboard.aside;
  core.terminal = keyboard.terminal;
  core.edit = (text, name) => keyboard.terminal(() => openEditor(text, name));
  if (core.options.prompt !== false) core.ask = keyboard.ask;
  core.atFault = askAtFault;
  core.atLimit = async (why) => (await keyboard.ask(`Stopped: ${why}. Go on? [y/N] `, "yn")) === "y";
  process.removeAllListeners("uncaughtException").on("uncaughtException", (error) => keyboard.aside(astray(error)));

  performance.setResourceTimingBufferSize(0); // fetch would note down every request
  const waits = !first.words;
  if (waits) await keyboard.prompt();
  const opened = open().then(async (opened) => {
    const helped = Boolean(core.ask && core.commands.has("setup") && waits);
    if (!opened && helped) keyboard.put("/setup");
    chat = opened ?? (await openOffline(core, helped));
    await start(core, chat, true, true);
    void learnWindow(core, chat);
    if (!busy && waits && (opened || !helped)) await keyboard.prompt();
  });
  opened.catch(() => keyboard.close()); // nothing to talk to: main says why
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
      first.attached.splice(0).forEach(chat!.attach);
      return await heed(given);
    } catch (error) {
      say((error as Fault).exit === 130 ? "Stopped." : reason(error));
    } finally {
      busy = false;
      if (chat?.stop.signal.aborted) chat.stop = new AbortController(); // a command was stopped, not a turn
      if (takesBack) takeBack(core, chat!);
      takesBack = false;
    }
    return true;
  }
  async function heed(given: string): Promise<boolean> {
    const ctx = context(core, chat!);
    const line = await around({ core, chat: chat!, ctx }, "line", given);
    const { name: first, rest } = parseCommand(line);
    const known = core.commands.get(first)?.value;
    const isText = line.includes("\n") && known?.group !== "templates"; // several lines are a message, as what is pasted is
    const [name, command] = isText ? ["", undefined] : [first, known];
    if (name === "quit" || name === "exit") return false;
    const names = [...OWN_COMMANDS.map((own) => own.name), ...core.commands.keys()];
    if (command) await command.run(rest, ctx);
    else if (name) say(`Cannot obey '/${name}': ${unknown("command", name, names)}`);
    else if (line) chat!.send(line.replace(/^\/\//, "/"));
    const text = chat!.next;
    chat!.next = undefined;
    if (text !== undefined) await runTurn(core, chat!, keyboard.whole(text), { show: showAnswer });
    return true;
  }

  async function askAtFault(error: Fault, { ctx }: Place): Promise<boolean> {
    say(error.message);
    const models = core.commands.get("model")?.value;
    const switches = models ? ", another [m]odel" : "";
    const key = await keyboard.ask(`[r]etry, [s]kip, [a]bort and take the message back${switches}? `, "rsam");
    takesBack = key === "a";
    if (key === "m") await models?.run("", ctx);
    return key === "r" || key === "m";
  }
}

/** What the readline loop itself obeys. */
const OWN_COMMANDS: About["commands"] = [
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
  { name: "debug", description: "show where errors come from" },
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
    why = astray(error);
    say(why);
    stopped ??= 1;
    leave(1);
  });
  process.on("exit", (code) => {
    if (!running || code !== 0) return;
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
    const message = stopped ? why : reason(failed);
    if (!stopped) say(message);
    if (argv.includes("--debug")) say(String(failed.stack));
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
  const early = parseFlags(argv, FLAGS);
  if (early.values.has("no-color")) process.env.NO_COLOR = "1";
  if (early.values.has("version")) return show(early, { text: `zz ${version()}`, data: { version: version() } });
  if (early.values.has("cwd")) process.chdir(folder(one(early, "cwd")!, "cwd"));
  const lists = early.unknown.length > 0 || early.values.has("call");
  const reading = lists ? undefined : readStdin(early); // while the plugins load, unless no turn will come of it

  const core = await createZz(optionsOf(early));
  for (const plugin of core.plugins) if (plugin.failure) say(plugin.failure);
  const cli = parseFlags(argv, allFlags(core));
  checkNames(core, cli);
  follow(core);
  const added = valuesOf(core.flags);
  for (const flag of added) for (const value of cli.values.get(flag.name) ?? []) flag.set?.(value);
  for (const flag of added) {
    const value = cli.values.get(flag.name)?.at(-1);
    if (!flag.run || value === undefined) continue;
    askOnTerminal(core);
    const chat = openChat(core, "");
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

const WAYS_TO_ASK = 'Give words (zz "…"), pipe text in, or open a terminal without --once.';

function optionsOf(cli: Cli): Options & { home: string } {
  const has = (name: string) => cli.values.has(name);
  for (const name of ["model", "session", "base-url", "home", "config", "cwd"])
    if (one(cli, name) === "") throw usage(`Flag --${name} has an empty value. Give it one, or leave it out.`);
  const home = one(cli, "home") ? path.resolve(one(cli, "home")!) : homeFolder();
  return {
    home,
    settings: settings(home, one(cli, "config")),
    ...(one(cli, "config") && { config: path.resolve(one(cli, "config")!) }),
    plugins: all(cli, "plugin"),
    own: !has("no-plugins"),
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
    debug: has("debug"),
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

/** Flags and tools that nobody has. */
function checkNames(core: Core, cli: Cli): void {
  for (const name of cli.unknown) {
    const near = nearest(name.replace(/^-+/, ""), new Set(allFlags(core).map((flag) => flag.name)));
    throw usage(`Unknown flag ${name}. ${near ? `Did you mean --${near}?` : "zz --help lists them."}`);
  }
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

const NO_ONE = "none/none"; // a call without a model

/** --call NAME [JSON] */
async function callTool(core: Core, cli: Cli, atStop: AtStop): Promise<number> {
  const tool = toolNamed(core, one(cli, "call")!);
  const args = argumentsOf(cli.words.join(" ") || "{}");
  await validate(tool, spelt(tool, args), "zz --tools --json shows its parameters.");
  const chat = openChat(core, NO_ONE);
  atStop(() => chat.stop.abort());
  askOnTerminal(core);
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

async function attachment(name: string): Promise<{ text?: string; image?: Image }> {
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

/** What the kernel's own settings must be; the others are the plugins'. */
const SETTINGS: Record<string, { must: string; about: string }> = {
  model: { must: "a string", about: "the model to ask, as provider/model" },
  rounds: { must: "a positive number", about: "rounds of tools before zz stops (0: no limit)" },
  timeout: { must: "a positive number", about: "seconds that a provider may be silent (0: no limit)" },
  options: { must: "an object", about: "for the provider, such as { temperature: 0 }" },
  providers: { must: "an object", about: "where each provider is: { name: { url } }" },
  permissions: { must: "an object", about: "what tools may do unasked, and never" },
};

function settings(home: string, named: string | undefined): Settings {
  const file = named ?? path.join(home, "zz.config.json");
  const refuse = (why: string) => usage(`Cannot use the settings '${file}': ${why}. Mend it or move it away.`);
  let parsed: Settings = {};
  try {
    parsed = JSON.parse(fs.readFileSync(file, "utf8"));
  } catch (error) {
    if (!codeOf(error)) throw refuse(`not JSON (${reason(error)})`);
    if (named) throw fileFault("read the settings", file, error, { exit: 2 });
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw refuse("they must be a JSON object");
  const wrong = wrongSetting(parsed);
  if (wrong) throw refuse(wrong);
  const keys = tryTo(() => JSON.parse(textOf(keysFile(home)))) as Record<string, string> | undefined;
  for (const [name, key] of Object.entries(keys ?? {}))
    if (typeof key === "string")
      parsed.providers = { ...parsed.providers, [name]: { ...parsed.providers?.[name], kept: key } };
  return parsed;
}

/** Keys lie apart, so that settings can be shown and shared. */
const keysFile = (home: string): string => path.join(home, "keys.json");

function wrongSetting(parsed: Settings): string | undefined {
  for (const [key, { must }] of Object.entries(SETTINGS))
    if (key in parsed && (!must.endsWith(` ${typeof parsed[key]}`) || Number(parsed[key]) < 0))
      return `"${key}" must be ${must}`;
  return "permissions" in parsed && !arePermissions(parsed.permissions) ? `"permissions" ${PERMISSIONS}` : undefined;
}

function preferences({ options, configs }: Core): Preferences {
  const { home } = options;
  return { list, set };

  function list(): Setting[] {
    const own = Object.entries(SETTINGS).map(([name, { about }]) => {
      const value = name === "providers" ? withoutKeys(options.settings[name]) : options.settings[name];
      return { name, value, about, owner: "zz" };
    });
    const added = configs.flatMap(({ owner, value: { section, live, defaults, schema } }) => {
      const told = (schema ? toJsonSchema(schema).properties : {}) as Record<
        string,
        { description?: string; enum?: unknown[] }
      >;
      return [...new Set([...Object.keys(defaults), ...Object.keys(told)])].map((key) => {
        const { description: about, enum: values } = told[key] ?? {};
        const more = { ...(about && { about }), ...(values && { values }) };
        return { name: `${section}.${key}`, value: live[key], default: defaults[key], owner, ...more };
      });
    });
    return [...own, ...added].sort(byName);
  }

  /** That there is a key may be told, and nothing of it. */
  function withoutKeys(providers: Settings["providers"] = {}): Settings["providers"] {
    const told = ({ kept, key = kept, ...rest }: Endpoint): Endpoint => ({ ...rest, ...(key && { key: "(kept)" }) });
    return Object.fromEntries(Object.entries(providers).map(([name, one]) => [name, told(one)]));
  }

  async function set(name: string, value: unknown): Promise<void> {
    const [section = "", ...keys] = name.split(".");
    const refuse = (why: string) => usage(`Cannot set '${name}': ${why}`);
    const names = list().map((one) => one.name);
    const whole = !keys.length && configs.some(({ value }) => value.section === section);
    if (!names.includes(name) && !whole && !(keys.length && section in SETTINGS))
      throw refuse(unknown("setting", name, names));
    const [, provider, last] = /^providers\.([^.]+)\.(key)$/.exec(name) ?? [];
    const file = last ? keysFile(home) : (options.config ?? path.join(home, "zz.config.json"));
    const kept = (tryTo(() => JSON.parse(textOf(file))) ?? {}) as Settings;
    const next = changed(kept, last ? [provider!] : [section, ...keys], value);
    const inForce = changed(
      options.settings,
      last ? [section, provider!, "kept"] : [section, ...keys],
      value,
    ) as Settings;
    const wrong = wrongSetting(inForce);
    if (wrong) throw refuse(`${wrong}.`);
    const own = configs.filter((config) => config.value.section === section).map((config) => config.value);
    for (const { defaults, schema } of own) {
      const given = { ...defaults, ...(inForce[section] as object) };
      const refused = schema ? (await check(schema, given)).wrong : keys[0] && unlike(defaults[keys[0]], value);
      if (refused) throw refuse(`${refused}.`);
    }
    writePrivate(file, JSON.stringify(next, null, 2));
    options.settings = inForce;
    for (const { live, defaults } of own) {
      for (const key of Object.keys(live)) delete live[key];
      Object.assign(live, defaults, inForce[section]);
    }
  }

  function unlike(before: unknown, value: unknown): string | undefined {
    const fits = value === undefined || before === undefined || typeof before === typeof value;
    return fits ? undefined : `it must be a ${typeof before}, like ${JSON.stringify(before)}`;
  }
  /** A copy with the value there, or without it. */
  function changed(from: unknown, [key, ...more]: string[], value: unknown): any {
    if (key === undefined) return value;
    const { [key]: old, ...rest } = (typeof from === "object" ? from : {}) as Record<string, unknown>;
    const inner = changed(old, more, value);
    return inner === undefined ? rest : { ...rest, [key]: inner };
  }
}

const PERMISSIONS = `must be like { "allow": { "run": ["npm test"] }, "deny": { "read": true } }`;

/** What cannot be understood must not be taken for no rule. */
function arePermissions(given: unknown): boolean {
  const isMap = (value: unknown, keys: readonly string[]) =>
    typeof value === "object" &&
    value !== null &&
    Object.keys(value).every((key) => keys.includes(key)) &&
    !Array.isArray(value);
  const isList = (value: unknown) =>
    value === true || (Array.isArray(value) && value.every((name) => typeof name === "string" && name));
  return (
    isMap(given, ["allow", "deny"]) &&
    Object.values(given as object).every((rules) => isMap(rules, KINDS) && Object.values(rules).every(isList))
  );
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
  process.exit(await main(process.argv.slice(2)));
