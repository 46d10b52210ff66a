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
  on<K extends keyof Events>(event: K, see: (fact: Readonly<Events[K]>) => Awaitable<void>): void; // sees, cannot change
  wrap<K extends keyof Steps>(step: K, around: Around<Steps[K]>, order?: "first" | "last"): void; // changes; a throw refuses
  defer(cleanup: () => Awaitable<void>): void; // on unload, last in first out
  fetch(url: string, init?: RequestInit): Promise<Response>; // an answer that is not 2xx throws, in the server's own words
}

/** What a running tool, command or layer reaches: the turn, not the kernel. */
export interface Ctx {
  readonly root: string; // the project
  readonly signal: AbortSignal; // aborts on Ctrl-C
  readonly chat: Chat;
  readonly files: Files;
  readonly ask?: Ask; // absent when nobody is there
  readonly about: About;
  call(tool: string, args: unknown): Promise<Result>; // through the same gate as the model's calls
  note(text: string): void; // to the person, never to the model
  progress(text: string): void; // a live line while a tool runs
}
export type Ask = (question: string) => Promise<string>;

/** What there is, to look at: for commands such as /help and flags such as --tools. */
export interface About {
  readonly tools: (ChatRequest["tools"][number] & { owner: string })[];
  readonly commands: { name: string; description: string; owner: string }[];
  readonly plugins: { name: string; from: string; file: string; ms: number; failure?: string }[];
  readonly flags: Flag[];
  readonly sessions: Header[]; // newest first
  models(): Promise<{ models: Model[]; failures: string[] }>; // of every provider, or of the one that --model names
}

export interface Tool<S extends Schema = any> {
  name: string; // snake_case
  description: string;
  aliases?: string[]; // other names that models use for it; accepted, never advertised
  params?: S;
  needs?(args: Infer<S>): Needs; // what the gate asks for; absent: pure
  run(args: Infer<S>, ctx: Ctx): Awaitable<Result | string>; // a throw becomes a failed result that the model reads
  render?(result: Result, width: number): string;
  timeout?: number; // ms; two minutes unless it says otherwise
}
export type Kind = "read" | "write" | "run" | "net" | "env";
export type Needs = { [K in Kind]?: string[] };
export interface Result {
  text: string;
  data?: unknown; // for programs: --call --json, scripts, other tools
  failed?: boolean;
  refused?: boolean; // failed for want of permission
  images?: Image[];
}
export interface Image {
  type: string; // image/png …
  base64: string;
}

/** zod (or any Standard Schema), typebox, JSON Schema, or the shorthand { path: "string", lines: "number? how many" }. */
export type Schema = StandardSchema | TSchema | Shorthand;
export interface StandardSchema {
  readonly "~standard": {
    validate(value: unknown): Awaitable<{ value: unknown } | { issues: readonly SchemaIssue[] }>;
    types?: { input: unknown; output: unknown } | undefined;
    jsonSchema?: { input(options: { target: string }): Record<string, unknown> };
  };
}
export interface SchemaIssue {
  message: string;
  path?: readonly unknown[] | undefined;
}
export type Shorthand = { readonly [param: string]: string };
interface Kinds {
  string: string;
  number: number;
  integer: number;
  boolean: boolean;
  "string[]": string[];
  "number[]": number[];
}
type Head<T> = T extends `${infer H} ${string}` ? H : T;
type Base<T> = Head<T> extends `${infer B}?` ? B : Head<T>;
type Value<T> = Base<T> extends keyof Kinds ? Kinds[Base<T>] : unknown;
type Loose<S> = { [K in keyof S]: Head<S[K]> extends `${string}?` ? K : never }[keyof S];
export type Infer<S> = S extends { readonly "~standard": infer V }
  ? V extends { types?: infer T }
    ? NonNullable<T> extends { output: infer O }
      ? O
      : any
    : any
  : S extends Shorthand
    ? { [K in Exclude<keyof S, Loose<S>>]: Value<S[K]> } & { [K in Loose<S>]?: Value<S[K]> }
    : S extends TSchema
      ? Static<S>
      : any;

export interface Command {
  name: string;
  description: string;
  complete?(typed: string, ctx: Ctx): Awaitable<string[]>;
  run(rest: string, ctx: Ctx): Awaitable<void>;
}

/** Slots in order. All but "turn" render once a session, so that a provider's prefix cache holds. */
export interface Layer {
  name: string;
  slot: Slot;
  budget?: number; // tokens; cut head 70, tail 20 beyond it
  text: string | ((ctx: Ctx) => Awaitable<string | undefined>);
}
const SLOTS = ["identity", "rules", "project", "memory", "turn"] as const;
export type Slot = (typeof SLOTS)[number];

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
}
export interface Model {
  id: string;
  window?: number;
  tools?: boolean;
  vision?: boolean;
}
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
export interface Usage {
  input: number;
  output: number;
}
export type Finish = "stop" | "calls" | "length" | "filter";
export interface Call {
  id: string;
  name: string;
  args: Record<string, unknown>;
  broken?: string; // why the arguments cannot be used
  extra?: unknown;
}
export interface Reply {
  text: string;
  thinking: string;
  calls: Call[];
  finish: Finish;
  usage?: Usage;
}

export type Message =
  | { role: "user"; text: string; images?: Image[] }
  | { role: "assistant"; text: string; thinking?: string; calls?: Call[]; cut?: boolean }
  | { role: "tool"; id: string; name: string; text: string; failed?: boolean; images?: Image[] };

export interface Chat {
  readonly id: string | null; // null: not saved
  readonly model: string; // provider/model
  readonly phase: Phase;
  readonly messages: readonly Message[]; // the branch in force, oldest first
}

/** The disk, for tools. Paths are relative to the project, or absolute inside it. */
export interface Files {
  path(name: string): string; // absolute, links followed; throws outside the project
  read(name: string): Promise<{ text: string; bytes: Buffer; hash: string }>;
  list(under?: string): Promise<string[]>; // every file that is not ignored, relative to the project
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
  started: { session: string | null; model: string; root: string; live: boolean }; // live: a person watches
  phase: { from: Phase; to: Phase };
  received: { tokens: number; ms: number; thinking: string }; // while a response streams
  retried: { attempt: number; wait: number; reason: string };
  planned: { calls: readonly Call[]; text: string };
  called: { call: Call; result: Result; ms: number };
  progressed: { text: string };
  noted: { text: string };
  answered: Answer;
  failed: { message: string; exit: number };
}
/** Where a plugin can change what passes: what goes in, what comes out. */
export interface Steps {
  line: [string, string]; // what the person typed
  request: [ChatRequest, Reply];
  call: [Call, Result];
  render: [string, string]; // the answer, as it is shown
}
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
}

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
  [plugin: string]: unknown;
}

/** What an embedding program says to createZz(); main makes it from the flags. */
export interface Options {
  root?: string;
  home?: string;
  settings?: Settings;
  plugins?: string[]; // extra plugin files
  own?: boolean; // false: leave out the plugins of the home
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
  allow?: Partial<Record<Kind, true | string[]>>;
  deny?: Partial<Record<Kind, true | string[]>>;
  debug?: boolean;
  dry?: boolean;
}

// ── 2 Registry and loader ──────────────────────────────────────────────────────────────────────────────

interface Owned<T> {
  owner: string;
  value: T;
}
interface Loaded {
  name: string;
  file: string;
  from: "zz" | "home" | "flag";
  ms?: number;
  failure?: string;
  undo: (() => Awaitable<void>)[];
}
interface Wrapped {
  step: keyof Steps;
  around: (input: any, next: (input: any) => Promise<any>, ctx: Ctx) => any;
  order: "first" | "last";
}
/** Everything there is of one instance; createZz() makes it. */
export interface Core {
  options: Options & { root: string; home: string; settings: Settings };
  plugins: Loaded[];
  tools: Map<string, Owned<Tool>>;
  commands: Map<string, Owned<Command>>;
  providers: Map<string, Owned<Provider>>;
  flags: Map<string, Owned<Flag>>;
  layers: Owned<Layer>[];
  seers: Owned<{ event: keyof Events; see: (fact: any) => Awaitable<void> }>[];
  wraps: Owned<Wrapped>[];
  states: Map<string, { live: object; saved: string }>;
  ask?: Ask;
  asking?: Promise<string>; // one question at a time
  atFault?: (error: Fault) => Promise<boolean>; // the person says whether to try again
  atLimit?: (why: string) => Promise<boolean>; // the person says whether to go on
}

const SELF = path.dirname(fileURLToPath(import.meta.url));
const BUILT = path.basename(SELF) === "dist";
const PACKAGE = BUILT ? path.dirname(SELF) : SELF;
const HOOK_LIMIT = 5_000;
const LOAD_LIMIT = 10_000;
const EVENTS: (keyof Events)[] = [
  "started",
  "phase",
  "received",
  "retried",
  "planned",
  "called",
  "progressed",
  "noted",
  "answered",
  "failed",
];
const STEPS: (keyof Steps)[] = ["line", "request", "call", "render"];
/** Field by field what may be registered; "!" marks what must be there. */
const SHAPES = {
  tool: "name! description! run! aliases params needs render timeout",
  command: "name! description! run! complete",
  layer: "name! slot! text! budget",
  provider: "name! models! chat! auto",
  flag: "name! description! short value optional many set run",
} as const;
const IDENTIFIER = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

/** Makes an instance: loads the plugins and returns all there is. Many can live side by side. */
export async function createZz(options: Options = {}): Promise<Core> {
  const home = options.home ?? homeFolder();
  const core: Core = {
    options: {
      ...options,
      home,
      root: fs.realpathSync(options.root ?? process.cwd()),
      settings: options.settings ?? {},
    },
    plugins: [],
    tools: new Map(),
    commands: new Map(),
    providers: new Map(),
    flags: new Map(),
    layers: [],
    seers: [],
    wraps: [],
    states: new Map(),
  };
  core.layers.push(...promptFiles(core), toolGuide(core));
  const found = findPlugins(core);
  core.plugins.push(...found);
  lendPackages(found);
  const modules = found.map((plugin) => read(plugin));
  for (const [i, plugin] of found.entries()) await load(core, plugin, await modules[i]!);
  return core;

  async function read(plugin: Loaded): Promise<{ exports?: any; error?: unknown; ms: number }> {
    const start = performance.now();
    try {
      return { exports: await import(pathToFileURL(plugin.file).href), ms: performance.now() - start };
    } catch (error) {
      return { error, ms: performance.now() - start };
    }
  }
}

/** A checkout is its own home; an installed zz keeps the person's things in ~/.zz. */
export function homeFolder(): string {
  if (process.env.ZZ_HOME) return path.resolve(process.env.ZZ_HOME);
  return fs.existsSync(path.join(PACKAGE, "sessions")) ? PACKAGE : path.join(os.homedir(), ".zz");
}

function findPlugins(core: Core): Loaded[] {
  const own = path.join(SELF, "plugins");
  const home = path.join(core.options.home, "plugins");
  const found = pluginsIn(own, "zz");
  // A checkout's home is the folder that the built-in plugins were built from: there, only what is new counts.
  if (core.options.own !== false && home !== own) {
    const seen = new Set(path.dirname(home) === PACKAGE ? found.map((plugin) => plugin.name) : []);
    found.push(...pluginsIn(home, "home").filter((plugin) => !seen.has(plugin.name)));
  }
  for (const file of core.options.plugins ?? []) {
    const full = path.resolve(file);
    if (!fs.existsSync(full)) throw usage(`Cannot load plugin '${file}': no such file. Check the path.`);
    found.push({ name: pluginName(full), file: full, from: "flag", undo: [] });
  }
  return found;
}

function pluginsIn(folder: string, from: Loaded["from"]): Loaded[] {
  const found: Loaded[] = [];
  for (const entry of entriesOf(folder)) {
    if (/^[._]|\.d\.m?ts$|\.test\.\w+$/.test(entry)) continue;
    const file = path.join(folder, entry);
    if (/\.[cm]?[jt]s$/.test(entry)) found.push({ name: pluginName(file), file, from, undo: [] });
    else
      for (const index of ["index.ts", "index.js"])
        if (fs.existsSync(path.join(file, index)))
          found.push({ name: entry, file: path.join(file, index), from, undo: [] });
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function pluginName(file: string): string {
  const base = path.basename(file).replace(/\.[cm]?[jt]sx?$/, "");
  return base === "index" ? path.basename(path.dirname(file)) : base;
}

function entriesOf(folder: string): string[] {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}

/** A plugin gets zz's own zod and typebox, wherever its file lies. */
function lendPackages(found: Loaded[]): void {
  const once = Symbol.for("zz.packages"); // hooks hold for the whole process, however many instances it has
  if (Object.hasOwn(globalThis, once) || found.every((plugin) => plugin.from === "zz")) return;
  Object.defineProperty(globalThis, once, { value: true });
  module.registerHooks({
    resolve: (specifier, context, next) =>
      /^(zod|typebox|zz)(\/|$)/.test(specifier) && context.parentURL !== import.meta.url
        ? { url: import.meta.resolve(specifier), shortCircuit: true }
        : next(specifier, context),
  });
}

/** Sets one plugin up. If that fails, what it had added is taken back, and the failure is a sentence that names it. */
async function load(core: Core, plugin: Loaded, got: { exports?: any; error?: unknown; ms: number }): Promise<void> {
  const start = performance.now();
  const unload = new AbortController();
  plugin.undo = [() => unload.abort()];
  try {
    if (got.error) throw got.error;
    if (typeof got.exports?.default !== "function")
      throw fault("it has no default export to call. Write `export default (zz: Zz) => …`.");
    const zz = handle(core, plugin, got.exports.defaults ?? {}, unload.signal);
    const setup = got.exports.default(zz);
    if (setup instanceof Promise)
      await within(setup, LOAD_LIMIT, "loading took longer than 10 s. Move slow work into a tool.");
  } catch (error) {
    await unloadPlugin(plugin);
    plugin.failure = `Cannot load plugin '${plugin.name}' (${whereFrom(error, plugin.file)}): ${reason(error)}`;
    if (core.options.debug) plugin.failure += `\n${(error as Error)?.stack}`;
  }
  plugin.ms = got.ms + performance.now() - start;
}

export async function unloadPlugin(plugin: Loaded): Promise<void> {
  for (const undo of plugin.undo.splice(0).reverse()) await undo();
}

/** The verbs that one plugin has. Each remembers how to take back what it adds. */
function handle(core: Core, plugin: Loaded, defaults: object, signal: AbortSignal): Zz<any> {
  const owner = plugin.name;
  const settings = (core.options.settings[owner] ?? {}) as object;
  return {
    config: Object.freeze({ ...defaults, ...settings }),
    signal,
    fetch: (url, init) => request(core, url, init),
    defer: (cleanup) => void plugin.undo.push(cleanup),
    state: (initial) => {
      const live = structuredClone(initial);
      core.states.set(owner, { live, saved: JSON.stringify(live) });
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
    layer: (layer) => {
      shaped("layer", layer);
      if (!SLOTS.includes(layer.slot)) throw fault(unknown("slot", layer.slot, SLOTS));
      many(core.layers, layer);
    },
    on: (event, see) => {
      if (!EVENTS.includes(event)) throw fault(unknown("event", event, EVENTS));
      many(core.seers, { event, see });
    },
    wrap: (step, around, order = "last") => {
      if (!STEPS.includes(step)) throw fault(unknown("step", step, STEPS));
      if (order !== "first" && order !== "last") throw fault(unknown("order", order, ["first", "last"]));
      many(core.wraps, { step, around, order });
      core.wraps.sort((a, b) => rank(a) - rank(b) || (a.owner < b.owner ? -1 : a.owner > b.owner ? 1 : 0));
    },
  };

  function one<T extends { name: string }>(kind: keyof typeof SHAPES, all: Map<string, Owned<T>>, value: T): void {
    shaped(kind, value);
    if (!IDENTIFIER.test(value.name))
      throw fault(`${kind} '${value.name}' has a name that providers refuse. Use letters, digits, _ and -.`);
    const before =
      all.get(value.name) ?? (kind === "flag" && FLAGS.some((flag) => flag.name === value.name) && { owner: "zz" });
    if (before) {
      const file = core.plugins.find((other) => other.name === before.owner)?.file ?? "the kernel";
      throw fault(`${kind} '${value.name}' is already there, from '${before.owner}' (${file}). Rename one of them.`);
    }
    all.set(value.name, { owner, value });
    plugin.undo.push(() => void all.delete(value.name));
  }
  function many<T>(all: Owned<T>[], value: T): void {
    const entry = { owner, value };
    all.push(entry);
    plugin.undo.push(() => void all.splice(all.indexOf(entry), 1));
  }
  function rank({ value }: Owned<Wrapped>): number {
    return value.order === "first" ? 0 : 1;
  }
}

/** Refuses a field that nobody would ever read, and a field that is missing. */
function shaped(kind: keyof typeof SHAPES, value: object): void {
  const fields = SHAPES[kind].split(" ").map((field) => field.replace("!", ""));
  for (const key of Object.keys(value)) if (!fields.includes(key)) throw fault(unknown(`${kind} field`, key, fields));
  for (const must of SHAPES[kind].match(/\w+(?=!)/g) ?? [])
    if (!(value as Record<string, unknown>)[must]) throw fault(`a ${kind} needs '${must}'. Add it.`);
}

function unknown(what: string, word: string, known: readonly string[]): string {
  const near = nearest(word, known);
  return `there is no ${what} '${word}'. ${near ? `Did you mean '${near}'?` : `There are: ${known.join(", ")}.`}`;
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
async function emit<K extends keyof Events>(core: Core, event: K, fact: Events[K]): Promise<void> {
  for (const { owner, value } of core.seers) {
    if (value.event !== event) continue;
    try {
      const seen = value.see(fact);
      if (seen instanceof Promise) await within(seen, HOOK_LIMIT, "it took longer than 5 s");
    } catch (error) {
      if (event !== "noted") note(core, `Plugin '${owner}' failed on '${event}': ${reason(error)}`);
    }
  }
}

const note = (core: Core, text: string): void => void emit(core, "noted", { text });

/** Runs a step through everything wrapped around it. A wrapper's own time is limited; what it waits for inside is not. */
function around<K extends keyof Steps>(
  core: Core,
  step: K,
  input: Steps[K][0],
  ctx: Ctx,
  inner: (input: Steps[K][0]) => Promise<Steps[K][1]>,
): Promise<Steps[K][1]> {
  const wraps = core.wraps.filter(({ value }) => value.step === step);
  return pass(0, input);

  async function pass(at: number, given: Steps[K][0]): Promise<Steps[K][1]> {
    const wrap = wraps[at];
    if (!wrap) return inner(given);
    let timer: NodeJS.Timeout;
    const limit = new Promise<never>((_, late) => {
      timer = setTimeout(late, HOOK_LIMIT, fault(`Plugin '${wrap.owner}' took longer than 5 s in '${step}'.`));
    });
    const next = async (passed: Steps[K][0]) => {
      clearTimeout(timer);
      return pass(at + 1, passed);
    };
    try {
      return await Promise.race([wrap.value.around(given, next, ctx), limit]);
    } finally {
      clearTimeout(timer!);
    }
  }
}

function within<T>(promise: Promise<T>, ms: number, late: string): Promise<T> {
  let timer: NodeJS.Timeout;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(fault(late)), ms);
  });
  return Promise.race([promise, limit]).finally(() => clearTimeout(timer));
}

/** The promise, or the signal's reason, whichever comes first: for code that does not heed the signal itself. */
function until<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** An error's own words, without a stack, and without the two lines that tsx puts around a syntax error. */
const reason = (error: unknown): string =>
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

const SHORTHAND = /^(string|number|integer|boolean)(\[\])?(\?)?(?: (.*))?$/s;

/** The JSON Schema that a tool's parameters stand for. */
export function toJsonSchema(params: Schema | undefined): Record<string, unknown> {
  if (!params) return { type: "object", properties: {} };
  if ("~standard" in params) {
    const convert = (params as StandardSchema)["~standard"].jsonSchema;
    if (!convert) throw fault("its params cannot become JSON Schema. Use zod 4.6 or later.");
    const { $schema, ...schema } = convert.input({ target: "draft-2020-12" });
    return schema;
  }
  const given = params as Record<string, unknown>;
  if (given.type === "object" || given.properties) return { properties: {}, ...given };
  const properties: Record<string, unknown> = {};
  const required: string[] = [];
  for (const [name, word] of Object.entries(given)) {
    const [, type, list, optional, description] = SHORTHAND.exec(String(word)) ?? [];
    if (!type)
      throw fault(
        `param '${name}' has type '${word}'. Use string, number, integer or boolean, with [] and ? as needed.`,
      );
    properties[name] = {
      ...(list ? { type: "array", items: { type } } : { type }),
      ...(description && { description }),
    };
    if (!optional) required.push(name);
  }
  return { type: "object", properties, required };
}

/** The arguments as the tool will see them, or a sentence that says what is wrong with them. */
async function validate(tool: Tool, args: unknown): Promise<{ value: any } | { wrong: string }> {
  if (tool.params && "~standard" in tool.params) {
    const checked = await (tool.params as StandardSchema)["~standard"].validate(args);
    if ("value" in checked) return checked;
    return {
      wrong: checked.issues.map((issue) => `${issue.path?.join(".") || "arguments"}: ${issue.message}`).join("; "),
    };
  }
  const { Errors } = await import("typebox/schema");
  const [ok, errors] = Errors(toJsonSchema(tool.params), args);
  if (ok) return { value: args };
  return { wrong: errors.map((error) => `${error.instancePath.slice(1) || "arguments"} ${error.message}`).join("; ") };
}

// ── 3 Stream ───────────────────────────────────────────────────────────────────────────────────────────

interface Draft {
  index: number | undefined;
  id: string;
  name: string;
  args: string;
  extra: unknown;
}

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
  try {
    for await (const delta of stream) {
      if ("text" in delta) text += delta.text ?? "";
      else if ("thinking" in delta) thinking += delta.thinking ?? "";
      else if ("call" in delta) gather(drafts, delta.call);
      else if ("usage" in delta) usage = { ...usage, ...delta.usage };
      else if ("finish" in delta) finish = finishOf(delta.finish) ?? finish;
      else if ("error" in delta) throw answerFault("The model's server failed in mid-stream", delta.error);
      see?.(text, thinking);
    }
    if (!finish) {
      const what =
        text || thinking || drafts.length
          ? "The connection ended before the answer was complete"
          : "The server answered with nothing";
      throw fault(`${what}. Try again.`, { transient: true });
    }
  } catch (error) {
    const { code = "" } = ((error as Error)?.cause ?? {}) as { code?: string };
    const cut = /^(UND_ERR|ECONN|EPIPE)/.test(code);
    const failed = cut
      ? fault("The connection ended before the answer was complete. Try again.", { transient: true })
      : (error as Fault);
    throw Object.assign(failed, { partial: { text, thinking } });
  }
  const parts = splitThinking(text);
  const calls = drafts.filter((draft) => draft.name || draft.args).map((draft) => finished(draft, finish === "length"));
  if (calls.length && finish === "stop") finish = "calls";
  if (!calls.length && finish === "calls") finish = "stop";
  const ids = new Set<string>();
  for (const call of calls) {
    if (!call.id || ids.has(call.id)) call.id = newId("call_");
    ids.add(call.id);
  }
  const thought = [...new Set([thinking.trim(), parts.thinking])].filter(Boolean).join("\n");
  return { text: parts.text, thinking: thought, calls, finish, ...(usage && { usage }) };
}

/** Puts a piece of a call where it belongs: by index, else by id, else at the last call. */
function gather(drafts: Draft[], piece: CallDelta): void {
  const index = piece.index ?? undefined;
  const id = piece.id ?? "";
  const name = piece.name ?? "";
  const args =
    piece.args === undefined || piece.args === null
      ? ""
      : typeof piece.args === "string"
        ? piece.args
        : JSON.stringify(piece.args);
  const last = drafts.at(-1);
  let draft: Draft | undefined = last;
  if (index !== undefined) draft = drafts.findLast((other) => other.index === index);
  else if (id) draft = drafts.findLast((other) => other.id === id) ?? (last && !last.id ? last : undefined);
  if (draft && startsAnother(draft)) draft = undefined;
  if (!draft) drafts.push((draft = { index, id: "", name: "", args: "", extra: undefined }));
  if (id) draft.id ||= id;
  if (name) draft.name = name; // resent whole by some gateways: never append
  draft.args += args;
  if (piece.extra !== undefined) draft.extra = piece.extra;

  function startsAnother(open: Draft): boolean {
    if (id && open.id && id !== open.id) return true;
    if (!name || !open.name) return false;
    const other = name !== open.name;
    if (index === undefined && other) return true;
    if (!isWhole(open.args)) return false;
    if (other) return true;
    if (!isWhole(args)) return false;
    return (index === undefined && !id) || args !== open.args;
  }
}

function isWhole(args: string): boolean {
  return "args" in parseArguments(args) && args.trim() !== "";
}

function finished(draft: Draft, cut: boolean): Call {
  const parsed = parseArguments(draft.args);
  const call: Call = { id: draft.id, name: draft.name, args: "args" in parsed ? parsed.args : {} };
  if (draft.extra !== undefined) call.extra = draft.extra;
  if (cut && !isWhole(draft.args))
    call.broken = "The call was cut off by the output limit and did not run. Send it again, shorter or in parts.";
  else if ("wrong" in parsed)
    call.broken = `The arguments are not usable: ${parsed.wrong}. Send the call again with a valid JSON object.`;
  if (!draft.name) call.broken ??= "The call names no tool. Send it again with a name.";
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
  if (value === null) return { args: {} };
  if (typeof value !== "object" || Array.isArray(value))
    return { wrong: `expected an object, got ${text.trim().slice(0, 40)}` };
  return { args: value as Record<string, unknown> };
}

/** `{…}{…}` taken apart; undefined unless all of it is objects. */
function jsonValues(text: string): string[] | undefined {
  const values: string[] = [];
  let depth = 0;
  let quoted = false;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (quoted) {
      if (char === "\\") i++;
      else if (char === '"') quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === "{") depth++;
    else if (char === "}" && --depth === 0) {
      values.push(text.slice(start, i + 1).trim());
      start = i + 1;
    }
  }
  if (values.length < 2 || text.slice(start).trim()) return undefined;
  try {
    return values.map((value) => JSON.stringify(JSON.parse(value)));
  } catch {
    return undefined;
  }
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
  let where: string;
  try {
    where = new URL(url).host;
  } catch {
    throw usage(`Cannot reach '${url}': not a URL. Check --base-url.`);
  }
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw networkFault(error, where);
  }
  if (response.ok) return response;
  const body = await response.text().catch(() => "");
  throw answerFault(`${where} answered ${response.status}`, body, response);
}

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
export function answerFault(what: string, body: unknown, response?: Response): Fault {
  let parsed: any = body;
  if (typeof body === "string")
    try {
      parsed = JSON.parse(body);
    } catch {}
  if (Array.isArray(parsed)) parsed = parsed[0];
  const inner = parsed?.error ?? parsed?.detail ?? parsed;
  const upstream = inner?.metadata?.raw;
  const page = typeof parsed === "string" && /^\s*(<!doctype|<html|<\?xml)/i.test(parsed);
  const title = page ? /<title>([^<]*)/i.exec(parsed)?.[1]?.trim() : undefined;
  let words = page ? `a web page${title ? ` ("${title}")` : ""}` : typeof inner === "string" ? inner : inner?.message;
  if (words === undefined && inner && typeof inner === "object") words = JSON.stringify(inner);
  if (upstream) words = `${words}: ${typeof upstream === "string" ? upstream : JSON.stringify(upstream)}`;
  words = String(words ?? "")
    .trim()
    .slice(0, 600);
  const status = response?.status ?? (typeof inner?.code === "number" ? inner.code : undefined);
  const code = [inner?.code, inner?.type, inner?.status, parsed?.code]
    .filter((one) => typeof one === "string")
    .join(" ");
  const forGood = /insufficient_quota|billing|credit|per day|daily|monthly/i.test(`${code} ${words}`);
  const transient =
    status === undefined
      ? !page && !/invalid|tool_use_failed|context_length/.test(code)
      : (status >= 500 || [408, 409, 425, 429].includes(status)) && !forGood;
  const hint =
    status === 401 || status === 403
      ? " Check the key: --key, or the provider's variable."
      : status === 404 || page
        ? " Check --model (zz --models lists what there is) and --base-url, which mostly ends in /v1."
        : "";
  const sentence = `${what}: ${words || "no reason given"}`;
  return fault(/[.!?]"?\)?$/.test(sentence) ? sentence + hint : `${sentence}.${hint}`, {
    transient,
    ...(status !== undefined && { status }),
    ...retryAfter(response),
  });
}

function retryAfter(response?: Response): Partial<Fault> {
  const ms = Number(response?.headers.get("retry-after-ms") ?? Number.NaN);
  if (ms >= 0) return { after: ms };
  const value = response?.headers.get("retry-after");
  if (!value) return {};
  const wait = Number.isNaN(Number(value)) ? Date.parse(value) - Date.now() : Number(value) * 1000;
  return wait >= 0 ? { after: wait } : {};
}

// ── 4 Phases ───────────────────────────────────────────────────────────────────────────────────────────

export type Phase =
  | "idle"
  | "thinking"
  | "planning_tools"
  | "executing_tools"
  | "responding"
  | "done"
  | "error"
  | "aborted";

/** What may follow what. `error` and `aborted` may follow anything. */
export const PHASES: Record<Phase, readonly Phase[]> = {
  idle: ["thinking"],
  thinking: ["planning_tools", "responding"],
  planning_tools: ["executing_tools"],
  executing_tools: ["thinking", "responding"],
  responding: ["done"],
  done: ["idle"],
  error: ["idle"],
  aborted: ["idle"],
};
/** What may be done when: text is shown only in `responding`, tools run only in `executing_tools`. */
const MAY: Record<"respond" | "run" | "show thinking", readonly Phase[]> = {
  respond: ["responding"],
  run: ["executing_tools"],
  "show thinking": ["thinking", "planning_tools"],
};

export function checkMove(from: Phase, to: Phase): void {
  if (to !== "error" && to !== "aborted" && !PHASES[from].includes(to))
    throw fault(`Cannot go from '${from}' to '${to}': the phases do not allow it. This is a bug in zz.`);
}

function enter(core: Core, chat: LiveChat, to: Phase): void {
  checkMove(chat.phase, to);
  const from = chat.phase;
  chat.phase = to;
  void emit(core, "phase", { from, to });
}

function assertMay(chat: Chat, what: keyof typeof MAY): void {
  if (!MAY[what].includes(chat.phase)) throw fault(`Cannot ${what} while '${chat.phase}'. This is a bug in zz.`);
}

// ── 5 Gate ─────────────────────────────────────────────────────────────────────────────────────────────

const KINDS: Kind[] = ["read", "write", "run", "net", "env"];
/** Files inside the project that are asked for all the same. */
const SECRET = /(^|\/)(\.env(\..*)?|id_(rsa|dsa|ecdsa|ed25519)|.*\.(pem|key|p12|pfx)|\.npmrc|\.netrc)$/;

/** Deny wins, then allow, then ask. Reading inside the project is allowed, but for files that hold secrets. */
function judge({ options }: Core, kind: Kind, target: string): "allow" | "ask" | "deny" {
  const { root, allow, deny } = options;
  const isFile = kind === "read" || kind === "write";
  const covers = (rule: true | string[] | undefined) =>
    rule === true || rule?.some((one) => (isFile ? isInside(realPath(root, one), target) : one === target));
  if (covers(deny?.[kind])) return "deny";
  if (covers(allow?.[kind])) return "allow";
  return kind === "read" && isInside(root, target) && !SECRET.test(target) ? "allow" : "ask";
}

/** Asks the person for what the rules leave open; nobody there means no. Returns the sentence of a refusal. */
async function gate(core: Core, tool: string, needs: Needs): Promise<string | undefined> {
  for (const kind of KINDS)
    for (const target of needs[kind] ?? []) {
      const isFile = kind === "read" || kind === "write";
      const verdict = judge(core, kind, isFile ? realPath(core.options.root, target) : target);
      const words = `${kind} access to "${target}"`;
      if (verdict === "deny") return `Refused: ${words} is denied by --deny-${kind}.`;
      if (verdict === "allow") continue;
      if (!core.ask) return `Refused: requires ${words}; run again with --allow-${kind}=${target}.`;
      const before = core.asking; // calls that run side by side ask one after the other
      const asking = Promise.resolve(before).then(() => core.ask!(`Allow ${tool} ${words}? [y/N] `));
      core.asking = asking.catch(() => "");
      if (!/^y(es)?$/i.test((await asking).trim())) return `Refused: the person said no to ${words}.`;
    }
  return undefined;
}

function isInside(folder: string, file: string): boolean {
  return file === folder || file.startsWith(folder.endsWith(path.sep) ? folder : folder + path.sep);
}

/** Absolute, with links followed as far as the path exists: what a path really names. */
function realPath(root: string, name: string): string {
  if (name.includes("\0"))
    throw fault(`Cannot use path '${name.replaceAll("\0", "\\0")}': it holds a NUL byte. Leave it out.`);
  let existing = path.resolve(root, name);
  const missing: string[] = [];
  for (let links = 0; ; ) {
    try {
      return path.join(fs.realpathSync(existing), ...missing);
    } catch {
      const to = links++ < 40 ? linkOf(existing) : undefined;
      if (to !== undefined) {
        existing = path.resolve(path.dirname(existing), to);
        continue;
      }
      const parent = path.dirname(existing);
      if (parent === existing) return path.join(existing, ...missing);
      missing.unshift(path.basename(existing));
      existing = parent;
    }
  }
}

function linkOf(file: string): string | undefined {
  try {
    return fs.readlinkSync(file);
  } catch {
    return undefined;
  }
}

// ── 6 Files ────────────────────────────────────────────────────────────────────────────────────────────

const NEVER_LISTED = ["node_modules", ".git"];
const IGNORED_WITHOUT_GIT = ["dist", "build", ".next", "coverage", ".venv", "__pycache__", "target"];
const LARGEST_READ = 50 * 1024 * 1024;

/** What one call may reach: `granted` is what the gate let it have by name. */
function openFiles(core: Core, granted: string[] = []): Files {
  const { root } = core.options;
  return { path: inside, read, list };

  function inside(name: string): string {
    const file = realPath(root, name);
    if (!isInside(root, file) && !granted.includes(file) && judge(core, "read", file) !== "allow")
      throw fault(`Cannot use '${name}': it is outside the project (${root}). Use a path inside it.`);
    return file;
  }

  async function read(name: string): Promise<{ text: string; bytes: Buffer; hash: string }> {
    const file = inside(name);
    const verdict = judge(core, "read", file); // again, since a search comes upon files that nobody named
    if (verdict === "deny" || (verdict === "ask" && !granted.includes(file)))
      throw fault(`Cannot read '${name}': it requires read access. Name the file itself, and it is asked for.`);
    let stat: fs.Stats;
    try {
      stat = await fs.promises.stat(file);
    } catch (error) {
      throw fileFault("read", name, error);
    }
    if (stat.isDirectory()) throw fault(`Cannot read '${name}': it is a folder. List it instead.`);
    if (!stat.isFile()) throw fault(`Cannot read '${name}': it is not a regular file. Choose another.`);
    if (stat.size > LARGEST_READ)
      throw fault(`Cannot read '${name}': ${stat.size} bytes are too many. Search it instead.`);
    const bytes = await fs.promises.readFile(file).catch((error) => {
      throw fileFault("read", name, error);
    });
    const { createHash } = await import("node:crypto");
    return { text: bytes.toString("utf8"), bytes, hash: createHash("sha256").update(bytes).digest("hex") };
  }

  async function list(under = "."): Promise<string[]> {
    const folder = inside(under);
    const stat = fs.statSync(folder, { throwIfNoEntry: false });
    if (!stat?.isDirectory())
      throw fault(`Cannot list '${under}': ${stat ? "it is a file. Read it" : "no such folder. Check the path"}.`);
    const prefix = folder === root ? "" : `${path.relative(root, folder)}/`;
    const found = (await listByGit(folder))?.map((file) => prefix + file) ?? (await listByWalk(root));
    return found
      .filter((file) => file.startsWith(prefix) && !file.split("/").some((part) => NEVER_LISTED.includes(part)))
      .sort();
  }

  async function listByGit(folder: string): Promise<string[] | undefined> {
    const { execFile } = await import("node:child_process");
    return new Promise((resolve) => {
      const args = ["ls-files", "-coz", "--exclude-standard", "--deduplicate"];
      execFile("git", args, { cwd: folder, maxBuffer: 1 << 28 }, (error, out) =>
        resolve(error ? undefined : out.split("\0").filter((file) => file && fs.existsSync(path.join(folder, file)))),
      );
    });
  }

  async function listByWalk(folder: string): Promise<string[]> {
    const { default: ignore } = await import("ignore");
    const found: string[] = [];
    await walk("", [{ base: "", rules: ignore().add(IGNORED_WITHOUT_GIT) }]);
    return found;

    async function walk(at: string, above: { base: string; rules: ReturnType<typeof ignore> }[]): Promise<void> {
      const entries = await fs.promises.readdir(path.join(folder, at), { withFileTypes: true }).catch(() => []);
      const own = entries.some((entry) => entry.name === ".gitignore" && entry.isFile());
      const text = own ? await fs.promises.readFile(path.join(folder, at, ".gitignore"), "utf8").catch(() => "") : "";
      const rules = own ? [...above, { base: at, rules: ignore().add(text) }] : above;
      for (const entry of entries) {
        const name = at + entry.name;
        const folderMark = entry.isDirectory() ? "/" : "";
        if (NEVER_LISTED.includes(entry.name)) continue;
        const judged = rules.map((rule) => rule.rules.test(name.slice(rule.base.length) + folderMark));
        if (judged.findLast(({ ignored, unignored }) => ignored || unignored)?.ignored) continue;
        if (entry.isDirectory()) await walk(`${name}/`, rules);
        else if (entry.isFile() || entry.isSymbolicLink()) found.push(name);
      }
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
  return fault(
    `Cannot ${verb} '${name}': ${FILE_WORDS[(error as NodeJS.ErrnoException).code ?? ""] ?? `${reason(error)}.`}`,
    more,
  );
}

// ── 7 Store ────────────────────────────────────────────────────────────────────────────────────────────

/** A session file's first line. */
export interface Header {
  zz: 1;
  id: string;
  at: string;
  root: string;
  model: string;
  title: string;
}
/** Every later line. `parent` makes a tree of it: nothing is ever rewritten. Unknown types are kept. */
export interface Entry {
  id: number;
  parent: number | null;
  at: string;
  type: "message" | "draft" | "state" | (string & {});
  message?: Message;
  [field: string]: unknown;
}
export interface Session {
  readonly header: Header;
  readonly entries: readonly Entry[];
  append(type: Entry["type"], fields: Record<string, unknown>, parent?: number | null): void; // on the disk when it returns
  branch(): Entry[]; // from the root to the last entry
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
    read(): (Header | Entry)[] {
      fd = fs.openSync(file, "r+");
      const { lines, good, size, spoilt } = parseLines(fs.readFileSync(fd));
      const [header] = lines;
      if (!isHeader(header))
        throw fault(
          `Cannot open session file '${file}': ${size ? "it holds no readable header" : "it is empty"}. It was left as it is; start another without it, or move it away.`,
        );
      if (spoilt)
        warn(
          `Session file '${file}' has ${spoilt} unreadable ${spoilt === 1 ? "line" : "lines"}, which were passed over.`,
        );
      if (good < size) {
        fs.ftruncateSync(fd, good);
        warn(
          `Session file '${file}' ended in the middle of a line; its last ${size - good} bytes, never confirmed as saved, were cut off.`,
        );
      }
      written = lines.length;
      return lines as (Header | Entry)[];
    },
    write(lines: (Header | Entry)[]): void {
      if (fd < 0) fd = fs.openSync(file, "wx+", 0o600);
      const bytes = Buffer.from(
        lines
          .slice(written)
          .map((line) => JSON.stringify(line) + "\n")
          .join(""),
      );
      const end = fs.fstatSync(fd).size;
      try {
        for (let done = 0; done < bytes.length; )
          done += fs.writeSync(fd, bytes, done, bytes.length - done, end + done);
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

/** The header and all entries that parse; `good` is where the last whole line ends, `spoilt` counts what is neither. */
function parseLines(bytes: Buffer): { lines: unknown[]; good: number; size: number; spoilt: number } {
  const lines: unknown[] = [];
  let good = 0;
  let spoilt = 0;
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(10, start);
    if (end < 0) break;
    try {
      const line = JSON.parse(bytes.toString("utf8", start, end));
      if (lines.length ? typeof line?.id === "number" : isHeader(line)) lines.push(line);
      else spoilt++;
    } catch {
      spoilt++;
    }
    good = start = end + 1;
  }
  return { lines, good, size: bytes.length, spoilt };
}

const isHeader = (line: unknown): line is Header =>
  (line as Header)?.zz === 1 && typeof (line as Header).id === "string";
const sessionsFolder = (home: string): string => path.join(home, "sessions");
const sessionFile = (home: string, id: string): string => path.join(sessionsFolder(home), `${id}.jsonl`);

/** Opens a session for writing; with a header, makes it. */
export function openSession(home: string, which: string | Header, warn: (text: string) => void): Session {
  const id = typeof which === "string" ? which : which.id;
  const file = sessionFile(home, id);
  if (typeof which !== "string") makePrivate(sessionsFolder(home));
  const release = lock(file.replace(/jsonl$/, "lock"), id);
  const adapter = jsonLines(file, warn);
  const db = new LowSync<(Header | Entry)[]>(adapter, []);
  try {
    if (typeof which === "string") db.read();
    else db.update((lines) => void lines.push(which));
  } catch (error) {
    adapter.close();
    release();
    throw error;
  }
  const header = db.data[0] as Header;
  return {
    header,
    get entries() {
      return db.data.slice(1) as Entry[];
    },
    append(type, fields, parent) {
      const last = db.data.length > 1 ? (db.data.at(-1) as Entry) : undefined;
      const under = parent === undefined ? (last?.id ?? null) : parent;
      const entry: Entry = { id: (last?.id ?? 0) + 1, parent: under, at: new Date().toISOString(), type, ...fields };
      db.data.push(entry);
      db.write();
    },
    branch: () => branchOf(db.data.slice(1) as Entry[]),
    sync: adapter.sync,
    close() {
      adapter.close();
      release();
    },
  };
}

/** One by one: mkdir's own `recursive` never returns under /proc, and calls a read-only disk a missing folder. */
function makePrivate(folder: string): void {
  if (!fs.existsSync(folder)) {
    if (!fs.existsSync(path.dirname(folder))) makePrivate(path.dirname(folder));
    try {
      fs.mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error; // another zz made it just now
    }
  } else if (path.basename(folder) === "sessions" && fs.statSync(folder).mode & 0o077) fs.chmodSync(folder, 0o700);
}

/** A session to look at and to copy: no lock, nothing repaired, nothing to append to. */
function readSession(home: string, id: string): Session {
  const file = sessionFile(home, id);
  const { lines } = parseLines(fs.readFileSync(file));
  const [header, ...entries] = lines;
  if (!isHeader(header))
    throw fault(`Cannot open session file '${file}': it holds no readable header. It was left as it is.`);
  const nothing = () => {
    throw fault(`Cannot append to session '${id}': it is only read.`);
  };
  return {
    header,
    entries: entries as Entry[],
    append: nothing,
    branch: () => branchOf(entries as Entry[]),
    sync: async () => {},
    close: () => {},
  };
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
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
      const theirs = textOf(file);
      const [pid, start] = theirs.split(" ");
      if (theirs && startOf(Number(pid)) === start && start !== "")
        throw fault(
          `Cannot open session '${session}': another zz (process ${pid}) has it open. Close that one, or go on in a copy with --fork.`,
        );
      let mayBreak: (() => void) | undefined;
      try {
        mayBreak = lock(`${file}.break`, session); // only one at a time may take a dead one's lock away
        if (textOf(file) === theirs) fs.rmSync(file, { force: true });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code) throw error; // else someone else is at it; look again
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
    return (error as NodeJS.ErrnoException).code === "EPERM" ? "alive" : "";
  }
}

function textOf(file: string): string {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** Every session's header, newest first, by its file's first line alone. */
export function listSessions(home: string): Header[] {
  const headers: Header[] = [];
  const buffer = Buffer.allocUnsafe(8192);
  for (const name of entriesOf(sessionsFolder(home)))
    if (name.endsWith(".jsonl")) {
      const header = headerOf(path.join(sessionsFolder(home), name), buffer);
      if (header) headers.push(header);
    }
  return headers.sort((a, b) => (a.id < b.id ? 1 : -1));
}

function headerOf(file: string, buffer = Buffer.allocUnsafe(8192)): Header | undefined {
  try {
    const fd = fs.openSync(file, "r");
    const size = fs.readSync(fd, buffer, 0, buffer.length, 0);
    fs.closeSync(fd);
    const end = buffer.subarray(0, size).indexOf(10);
    const header = JSON.parse(buffer.toString("utf8", 0, end < 0 ? size : end));
    return isHeader(header) ? header : undefined;
  } catch {
    return undefined;
  }
}

/** The session of this folder that was used last. Files that cannot be read are named and passed over. */
function lastSession(home: string, root: string, warn: (text: string) => void): string | undefined {
  const folder = sessionsFolder(home);
  const files = entriesOf(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => path.join(folder, name));
  const used = files.map((file) => ({ file, at: fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0 }));
  for (const { file } of used.sort((a, b) => b.at - a.at)) {
    const header = headerOf(file);
    if (!header) warn(`Session file '${file}' holds no readable header; it was passed over and left as it is.`);
    else if (header.root === root) return header.id;
  }
  return undefined;
}

/** The one session whose id starts so. */
function findSession(home: string, id: string): string {
  if (fs.existsSync(sessionFile(home, id)) && !id.includes("/")) return id;
  const fits = entriesOf(sessionsFolder(home)).filter((name) => name.startsWith(id) && name.endsWith(".jsonl"));
  if (fits.length === 1) return fits[0]!.replace(/\.jsonl$/, "");
  const why = fits.length
    ? `${fits.length} sessions start so. Give more of it`
    : "there is none. `zz --sessions` lists them";
  throw usage(`Cannot open session '${id}': ${why}.`);
}

const newId = (prefix = ""): string => prefix + Math.random().toString(36).slice(2, 10).padEnd(8, "0");
const newSessionId = (): string =>
  `${new Date().toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-")}-${newId()}`;

/**
 * What every provider accepts: each call has exactly one result, straight after it and in call order; results
 * without a call are gone; neighbours of one role are merged; nothing is empty. Run before every request.
 */
export function repair(history: readonly Message[]): Message[] {
  const results = new Map<string, Message & { role: "tool" }>();
  const fixed: Message[] = [];
  for (let i = 0; i < history.length; i++) {
    const message = history[i]!;
    const last = fixed.at(-1);
    if (message.role === "tool") continue; // taken up with its call
    if (message.role === "user") {
      if (!message.text && !message.images?.length) continue;
      if (last?.role === "user") fixed[fixed.length - 1] = joined(last, message);
      else fixed.push(message);
      continue;
    }
    const calls = message.calls ?? [];
    if (!message.text && !calls.length) continue;
    if (last?.role === "assistant") {
      const text = [last.text, message.text].filter(Boolean).join("\n\n");
      fixed[fixed.length - 1] = { ...message, text };
    } else fixed.push(message);
    results.clear();
    for (let j = i + 1; j < history.length && history[j]!.role !== "assistant"; j++) {
      const result = history[j]!;
      if (result.role === "tool" && !results.has(result.id)) results.set(result.id, result);
    }
    for (const call of calls)
      fixed.push(
        results.get(call.id) ?? { role: "tool", id: call.id, name: call.name, text: "[interrupted]", failed: true },
      );
  }
  return fixed;
}

function joined(one: Message & { role: "user" }, two: Message & { role: "user" }): Message {
  const images = [...(one.images ?? []), ...(two.images ?? [])];
  return { role: "user", text: [one.text, two.text].filter(Boolean).join("\n\n"), ...(images.length && { images }) };
}

// ── 8 Prompt ───────────────────────────────────────────────────────────────────────────────────────────

const LAYER_BUDGET = 2_000;
const CHARS_A_TOKEN = 4;

/** Markdown in prompts/ whose front matter names a slot is a layer: zz's own, then the home's. */
function promptFiles(core: Core): Owned<Layer>[] {
  const layers: Owned<Layer>[] = [];
  if (core.options.system)
    layers.push({ owner: "", value: { name: "system", slot: "identity", text: core.options.system } });
  const folders = new Set([path.join(PACKAGE, "prompts"), path.join(core.options.home, "prompts")]);
  for (const folder of folders)
    for (const name of entriesOf(folder).sort()) {
      if (!name.endsWith(".md")) continue;
      const { head, body } = frontMatter(textOf(path.join(folder, name)));
      if (!SLOTS.includes(head.slot as Slot)) continue;
      const layer: Layer = { name: head.name ?? name.replace(/\.md$/, ""), slot: head.slot as Slot, text: body };
      if (head.budget) layer.budget = Number(head.budget);
      if (layer.slot === "identity" && core.options.system !== undefined) continue;
      layers.push({ owner: "", value: layer });
    }
  return layers;
}

/** `---`, lines of `key: value`, `---`, then the body. */
export function frontMatter(text: string): { head: Record<string, string>; body: string } {
  const match = /^---\r?\n(.*?)\r?\n---\r?\n?(.*)$/s.exec(text);
  if (!match) return { head: {}, body: text.trim() };
  const pairs = match[1]!.split(/\r?\n/).map((line) => /^(\w[\w-]*):\s*(.*?)\s*$/.exec(line));
  return {
    head: Object.fromEntries(pairs.filter((pair) => pair !== null).map((pair) => [pair[1]!, pair[2]!])),
    body: match[2]!.trim(),
  };
}

/** What each tool is for, from the registry, so that a plugin's tools are in it. */
function toolGuide(core: Core): Owned<Layer> {
  const text = () =>
    offered(core)
      .map(({ name, description }) => `- ${name}: ${description}`)
      .join("\n");
  return { owner: "", value: { name: "tools", slot: "rules", budget: 4_000, text } };
}

/** The system prompt. Layers that do not change are rendered once a session and kept in the chat. */
async function buildPrompt(core: Core, chat: LiveChat, ctx: Ctx): Promise<string> {
  const order = (layer: Owned<Layer>) => SLOTS.indexOf(layer.value.slot);
  const layers = core.layers.toSorted(
    (a, b) => order(a) - order(b) || (a.owner < b.owner ? -1 : a.owner > b.owner ? 1 : 0),
  );
  const parts: string[] = [];
  for (const layer of layers) {
    const { name, slot, text, budget = LAYER_BUDGET } = layer.value;
    let body = chat.layers.get(layer.value);
    if (body === undefined) {
      try {
        body =
          (typeof text === "string"
            ? text
            : await within(Promise.resolve(text(ctx)), HOOK_LIMIT, "it took longer than 5 s")) ?? "";
      } catch (error) {
        note(core, `Layer '${name}' of '${layer.owner}' was left out: ${reason(error)}`);
        body = "";
      }
      body = fit(body.trim(), budget);
      if (slot !== "turn") chat.layers.set(layer.value, body);
    }
    if (!body) continue;
    const title = name.replace(/[-_]/g, " ").toUpperCase();
    parts.push(slot === "identity" ? body : `--- ${title} ---\n${body}\n--- END ${title} ---`);
  }
  return parts.join("\n\n");
}

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
  layers: Map<Layer, string>;
  session?: Session;
  stop: AbortController; // of the turn under way
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

/** Opens a conversation: a new one, or the one of a session. A new one is saved from its first message on. */
export function openChat(core: Core, model: string, session?: Session, copy?: boolean): LiveChat {
  const branch = session?.branch() ?? [];
  const messages = branch.flatMap((entry) => (entry.type === "message" ? [entry.message!] : []));
  const chat: LiveChat = {
    id: null,
    model,
    phase: "idle",
    messages: [],
    layers: new Map(),
    stop: new AbortController(),
  };
  for (const entry of branch) {
    const state = entry.type === "state" ? core.states.get(String(entry.plugin)) : undefined;
    if (state) Object.assign(state.live, entry.value);
  }
  if (copy) for (const message of messages) remember(core, chat, message);
  else if (session) Object.assign(chat, { messages, session, id: session.header.id });
  return chat;
}

/** Into the history and onto the disk, before anything is done about it. Where nothing can be saved, the talk goes on and says so. */
function remember(core: Core, chat: LiveChat, message: Message): void {
  chat.messages.push(message);
  save(core, chat, "message", { message });
}

function save(core: Core, chat: LiveChat, type: Entry["type"], fields: Record<string, unknown>): void {
  if (core.options.save === false) return;
  const { home, root } = core.options;
  try {
    if (!chat.session && chat.id === null && type === "message") {
      const first = chat.messages[0];
      const title = (first?.text ?? "").replace(/\s+/g, " ").trim().slice(0, 80);
      const header: Header = {
        zz: 1,
        id: newSessionId(),
        at: new Date().toISOString(),
        root,
        model: chat.model,
        title,
      };
      chat.session = openSession(home, header, (text) => note(core, text));
      chat.id = header.id;
    }
    chat.session?.append(type, fields);
  } catch (error) {
    const folder = sessionsFolder(home);
    note(
      core,
      `${fileFault("save the session in", folder, error).message} It goes on unsaved; --home or ZZ_HOME names another place.`,
    );
    chat.session?.close();
    delete chat.session;
    chat.id = "";
  }
}

/** Takes the last message of the person, and all that came of it, out of the conversation. The file keeps it, on a branch of its own. */
function takeBack(chat: LiveChat): void {
  const at = chat.messages.findLastIndex((message) => message.role === "user");
  chat.messages.length = Math.max(at, 0);
  const entry = chat.session?.branch().findLast((entry) => entry.message?.role === "user");
  if (entry) chat.session!.append("back", {}, entry.parent);
}

/** The turn loop: from the person's message to the answer. */
export async function runTurn(core: Core, chat: LiveChat, text: string, images: Image[] = []): Promise<Answer> {
  const started = performance.now();
  const ctx = context(core, chat);
  const answer: Answer = {
    text: "",
    model: chat.model,
    session: null,
    finish: "stop",
    rounds: 0,
    calls: [],
    usage: { input: 0, output: 0 },
    ms: 0,
  };
  try {
    enter(core, chat, "thinking");
    remember(core, chat, { role: "user", text, ...(images.length && { images }) });
    answer.session = chat.id || null;
    const system = await buildPrompt(core, chat, ctx);
    const seen = new Map<string, number>();
    let limit = core.options.rounds ?? core.options.settings.rounds ?? ROUNDS;
    for (;;) {
      answer.rounds++;
      const stopped = answer.finish === "rounds" || answer.finish === "repeat";
      const reply = await think(core, chat, ctx, system, answer, stopped);
      if (stopped) reply.calls = [];
      remember(core, chat, assistant(reply));
      if (!reply.calls.length) {
        await respond(core, chat, ctx, reply, answer);
        break;
      }
      enter(core, chat, "planning_tools");
      await emit(core, "planned", { calls: reply.calls, text: reply.text });
      enter(core, chat, "executing_tools");
      const same = await perform(core, chat, ctx, reply.calls, answer, seen);
      chat.stop.signal.throwIfAborted();
      if (same >= SAME_CALLS && !(await goOn(`the same call gave the same result ${SAME_CALLS} times`)))
        answer.finish = "repeat";
      else if (limit > 0 && answer.rounds >= limit) {
        if (await goOn(`${limit} rounds are used up`)) limit += limit;
        else answer.finish = "rounds";
      }
      enter(core, chat, "thinking");
    }
  } catch (error) {
    const aborted = chat.stop.signal.aborted;
    enter(core, chat, aborted ? "aborted" : "error");
    const partial = (error as Fault)?.partial;
    if (partial?.text || partial?.thinking) save(core, chat, "draft", partial);
    const failed = aborted ? fault("Stopped.", { exit: 130 }) : (error as Fault);
    await emit(core, "failed", { message: reason(failed), exit: failed.exit ?? 1 });
    throw failed;
  } finally {
    answer.ms = Math.round(performance.now() - started);
    for (const [plugin, state] of core.states) {
      const now = JSON.stringify(state.live);
      if (now !== state.saved) save(core, chat, "state", { plugin, value: state.live });
      state.saved = now;
    }
    await chat.session?.sync();
    if (chat.phase !== "idle") enter(core, chat, "idle");
    chat.stop = new AbortController();
  }
  await emit(core, "answered", answer);
  return answer;

  async function goOn(why: string): Promise<boolean> {
    return core.atLimit ? core.atLimit(why) : false;
  }
}

function assistant(reply: Reply): Message {
  const { text, thinking, calls } = reply;
  return {
    role: "assistant",
    text,
    ...(thinking && { thinking }),
    ...(calls.length && { calls }),
    ...(reply.finish === "length" && { cut: true }),
  };
}

function context(core: Core, chat: LiveChat): Ctx {
  const ctx: Ctx = {
    root: core.options.root,
    get signal() {
      return chat.stop.signal;
    },
    chat,
    files: openFiles(core),
    ...(core.ask && { ask: core.ask }),
    get about() {
      return about(core);
    },
    call: (tool, args) => runCall(core, ctx, { id: newId("call_"), name: tool, args: args as Record<string, unknown> }),
    note: (text) => note(core, text),
    progress: (text) => void emit(core, "progressed", { text }),
  };
  return ctx;
}

function about(core: Core): About {
  const rows = <T extends { name: string; description: string }>(all: Map<string, Owned<T>>) =>
    [...all.values()].map(({ owner, value: { name, description } }) => ({ name, description, owner }));
  return {
    tools: offered(core).map((tool) => ({ ...tool, owner: core.tools.get(tool.name)!.owner })),
    commands: [...OWN_COMMANDS, ...rows(core.commands)].sort((a, b) => (a.name < b.name ? -1 : 1)),
    plugins: core.plugins.map(({ undo, ms = 0, ...plugin }) => ({ ...plugin, ms: Math.round(ms * 10) / 10 })),
    flags: [...FLAGS, ...[...core.flags.values()].map(({ value }) => value)],
    sessions: listSessions(core.options.home),
    models: () => listModels(core),
  };
}

async function listModels(core: Core): Promise<{ models: Model[]; failures: string[] }> {
  const { model, baseUrl } = core.options;
  const only = model?.split("/")[0] ?? (baseUrl ? "openai" : undefined);
  if (only && !core.providers.has(only)) throw usage(noProvider(core, only));
  const asked = [...core.providers.values()].filter(({ value }) => !only || value.name === only);
  const failures: string[] = [];
  const lists = asked.map(async ({ value: { name, models } }) => {
    const all = await models(AbortSignal.timeout(PATIENCE), endpointOf(core, name)).catch((error) => {
      if (only) throw error;
      failures.push(`${name}: ${reason(error)}`);
      return [];
    });
    return all.map((model) => ({ ...model, id: `${name}/${model.id}` }));
  });
  return { models: (await Promise.all(lists)).flat(), failures };
}

/** The tools that the model is told of, in a stable order. */
function offered(core: Core): ChatRequest["tools"] {
  const only = core.options.tools;
  if (only === false) return [];
  return [...core.tools.values()]
    .map(({ value }) => value)
    .filter((tool) => !only?.length || only.includes(tool.name))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, description, params }) => ({ name, description, schema: toJsonSchema(params) }));
}

/** One request, or a few: a text that the output limit cut is continued, at most twice. */
async function think(
  core: Core,
  chat: LiveChat,
  ctx: Ctx,
  system: string,
  answer: Answer,
  last: boolean,
): Promise<Reply> {
  const messages: Message[] = last ? [...chat.messages, { role: "user", text: REPORT }] : [...chat.messages];
  let whole: Reply | undefined;
  for (let more = 0; ; more++) {
    const reply = await ask(repair(messages));
    answer.usage.input += reply.usage?.input ?? 0;
    answer.usage.output += reply.usage?.output ?? 0;
    whole = whole
      ? { ...reply, text: seam(whole.text, reply.text), thinking: whole.thinking || reply.thinking }
      : reply;
    if (reply.finish !== "length" || reply.calls.length || !reply.text || more === CONTINUATIONS) return whole;
    note(core, "The answer was cut off by the output limit; asking for the rest.");
    messages.push({ role: "assistant", text: reply.text }, { role: "user", text: CONTINUE });
  }

  async function ask(messages: Message[]): Promise<Reply> {
    const { provider, model, endpoint } = chosen(core, chat.model);
    const { settings } = core.options;
    const options = { ...settings.options, ...core.options.options };
    const request: ChatRequest = { model, system, messages, tools: last ? [] : offered(core), options, endpoint };
    return around(core, "request", request, ctx, (request) => attempt(core, chat, provider, request));
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
async function attempt(core: Core, chat: LiveChat, provider: Provider, request: ChatRequest): Promise<Reply> {
  for (let tried = 1; ; tried++) {
    try {
      return await receive(core, chat, provider, request);
    } catch (error) {
      const failed = error as Fault;
      if (chat.stop.signal.aborted || failed.dry) throw failed;
      const wait = failed.after ?? 500 * 2 ** (tried - 1) * (1 + Math.random() / 4);
      if (failed.transient && tried < TRIES && wait <= LONGEST_WAIT) {
        await emit(core, "retried", { attempt: tried, wait: Math.round(wait), reason: reason(failed) });
        const { setTimeout: sleep } = await import("node:timers/promises");
        await sleep(wait, undefined, { signal: chat.stop.signal });
      } else if (await core.atFault?.(failed)) tried = 0;
      else throw failed;
    }
  }
}

async function receive(core: Core, chat: LiveChat, provider: Provider, request: ChatRequest): Promise<Reply> {
  const started = performance.now();
  const seconds = core.options.settings.timeout ?? SILENCE_LIMIT;
  const silent = new AbortController();
  const late = fault(
    `'${provider.name}' sent nothing for ${seconds} s. Try again, or raise "timeout" in the settings.`,
    { transient: true },
  );
  const timer = setTimeout(() => silent.abort(late), seconds * 1000);
  const signal = AbortSignal.any([chat.stop.signal, silent.signal]);
  try {
    return await until(signal, collect(provider.chat(request, signal), see));
  } catch (error) {
    throw silent.signal.aborted && !chat.stop.signal.aborted ? late : error;
  } finally {
    clearTimeout(timer);
  }

  function see(text: string, thinking: string): void {
    timer.refresh();
    if (core.options.dry) throw fault("dry run", { dry: request });
    const tokens = Math.round((text.length + thinking.length) / CHARS_A_TOKEN);
    void emit(core, "received", { tokens, ms: Math.round(performance.now() - started), thinking });
  }
}

/** Runs a round's calls: neighbours that only read side by side, all else one at a time, results in call order. */
async function perform(
  core: Core,
  chat: LiveChat,
  ctx: Ctx,
  calls: Call[],
  answer: Answer,
  seen: Map<string, number>,
): Promise<number> {
  assertMay(chat, "run");
  const names = offered(core).map(({ name }) => name);
  for (const call of calls)
    if (!names.includes(findTool(core, call.name)?.name ?? ""))
      call.broken = `Cannot call '${call.name}': ${names.length ? unknown("tool", call.name, names) : "no tools are offered. Answer without."}`;
  const before = new Map(seen); // how many rounds in a row gave this result for this call
  const now = seen;
  now.clear();
  for (let i = 0; i < calls.length; ) {
    const batch = [calls[i++]!];
    while (i < calls.length && batch.length < SIDE_BY_SIDE && onlyReads(core, calls[i]!) && onlyReads(core, batch[0]!))
      batch.push(calls[i++]!);
    const results = await Promise.all(batch.map((call) => runCall(core, ctx, call)));
    for (const [j, result] of results.entries()) {
      const call = batch[j]!;
      const { text, failed, images } = result;
      remember(core, chat, {
        role: "tool",
        id: call.id,
        name: call.name,
        text,
        ...(failed && { failed }),
        ...(images && { images }),
      });
      answer.calls.push({ name: call.name, args: call.args, ok: !failed, ...(result.refused && { refused: true }) });
      const key = JSON.stringify([call.name, call.args, text]);
      now.set(key, (before.get(key) ?? 0) + 1);
    }
    if (chat.stop.signal.aborted) break;
  }
  return Math.max(0, ...now.values());
}

function onlyReads(core: Core, call: Call): boolean {
  const tool = findTool(core, call.name);
  if (!tool || call.broken) return false;
  try {
    return Object.keys(tool.needs?.(call.args) ?? {}).every((kind) => kind === "read");
  } catch {
    return false; // needs() met arguments that validation will refuse
  }
}

/** One call: through what is wrapped around it, then validated, then past the gate, then run. Whatever goes wrong is a result. */
async function runCall(core: Core, ctx: Ctx, call: Call): Promise<Result> {
  const started = performance.now();
  let result: Result;
  try {
    result = await around(core, "call", call, ctx, (call) => runTool(core, ctx, call));
  } catch (error) {
    const text = ctx.signal.aborted ? "[interrupted]" : reason(error);
    if (core.options.debug && !ctx.signal.aborted) note(core, String((error as Error)?.stack));
    result = { text, failed: true };
  }
  await emit(core, "called", { call, result, ms: Math.round(performance.now() - started) });
  return result;
}

async function runTool(core: Core, ctx: Ctx, call: Call): Promise<Result> {
  const tool = findTool(core, call.name);
  if (!tool) throw fault(`Cannot call '${call.name}': ${unknown("tool", call.name, [...core.tools.keys()])}`);
  if (call.broken) throw fault(call.broken);
  const checked = await validate(tool, call.args);
  if ("wrong" in checked)
    throw usage(`Cannot call '${tool.name}': ${checked.wrong}. Send the call again with valid arguments.`);
  const args = frozen(checked.value);
  const refusal = await gate(core, tool.name, tool.needs?.(args) ?? {});
  if (refusal) return { text: refusal, failed: true, refused: true };
  const limit = tool.timeout ?? TOOL_LIMIT;
  const granted = (tool.needs?.(args)?.read ?? []).map((one) => realPath(core.options.root, one));
  const own: Ctx = Object.create(ctx, { files: { value: openFiles(core, granted) } });
  const run = Promise.resolve().then(() => tool.run(args, own));
  const result = await until(
    ctx.signal,
    within(run, limit, `'${tool.name}' took longer than ${limit / 1000} s and was given up.`),
  );
  if (typeof result === "string") return { text: result };
  if (typeof result?.text !== "string")
    throw fault(`'${tool.name}' gave no result. Its run() must return text or { text }.`);
  return result;
}

/** What was asked is what runs. */
function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
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
  const tools = [...core.tools.values()].map(({ value }) => value);
  for (const form of [(name: string) => name, loose])
    for (const name of names) {
      const fits = tools.filter((tool) => [tool.name, ...(tool.aliases ?? [])].some((one) => form(one) === form(name)));
      if (fits.length) return fits.length === 1 ? fits[0] : undefined;
    }
  return undefined;
}

async function respond(core: Core, chat: LiveChat, ctx: Ctx, reply: Reply, answer: Answer): Promise<void> {
  enter(core, chat, "responding");
  assertMay(chat, "respond");
  answer.text = core.options.raw ? reply.text : await around(core, "render", reply.text, ctx, async (text) => text);
  if (reply.thinking) answer.thinking = reply.thinking;
  if (answer.finish === "stop") answer.finish = reply.finish;
  if (reply.finish === "filter" && !reply.text)
    throw fault("The provider's content filter withheld the answer. Put the question differently.");
  if (reply.finish === "filter") note(core, "The provider's content filter cut the answer short.");
  if (!reply.text) note(core, "The model answered with nothing.");
  enter(core, chat, "done");
}

/** The provider that a model's name names; the first slash splits. */
function chosen(core: Core, name: string): { provider: Provider; model: string; endpoint: Endpoint } {
  const slash = name.indexOf("/");
  const provider = core.providers.get(name.slice(0, slash))?.value;
  if (!provider) throw usage(noProvider(core, name));
  return { provider, model: name.slice(slash + 1), endpoint: endpointOf(core, provider.name) };
}

function endpointOf(core: Core, provider: string): Endpoint {
  const { settings, baseUrl, key } = core.options;
  return { ...settings.providers?.[provider], ...(baseUrl && { url: baseUrl }), ...(key && { key }) };
}

function noProvider(core: Core, name: string): string {
  const [first = ""] = name.split("/");
  const known = [...core.providers.keys()];
  const near = nearest(first, known);
  return `Cannot use model '${name}': a model is named provider/model, and there is no provider '${first}'. ${near ? `Did you mean '${near}'?` : `There are: ${known.join(", ")}.`}`;
}

/**
 * Which model to talk to: --model, ZZ_MODEL, the session's, the settings', a provider whose key is set, a local
 * server that answers within 300 ms. Undefined when there is none.
 */
export async function chooseModel(core: Core, earlier?: string): Promise<string | undefined> {
  const named = core.options.model || process.env.ZZ_MODEL || earlier || core.options.settings.model;
  if (named) {
    const provider = core.providers.get(named.split("/")[0]!)?.value;
    if (provider && named.includes("/")) return named;
    if (!provider && core.options.baseUrl) return `openai/${named}`;
    if (!provider) throw usage(noProvider(core, named));
    return firstModel(provider);
  }
  const openai = core.providers.get("openai")?.value;
  if (core.options.baseUrl && openai) return firstModel(openai);
  const signal = AbortSignal.timeout(LOCAL_LIMIT); // for the first word of a server; then it may take its time
  const offers = [...core.providers.values()].map(
    ({ value }) => [value.name, value.auto?.(signal, endpointOf(core, value.name))] as const,
  );
  for (const [, model] of offers) if (model instanceof Promise) model.catch(() => {}); // asked below, if at all
  for (const [name, model] of offers) if (typeof model === "string") return `${name}/${model}`;
  for (const [name, model] of offers) {
    const answered = await Promise.resolve(model).catch(() => undefined);
    if (answered) return `${name}/${answered}`;
  }
  return undefined;

  async function firstModel(provider: Provider): Promise<string> {
    const signal = AbortSignal.timeout(PATIENCE);
    const endpoint = endpointOf(core, provider.name);
    const model = (await provider.auto?.(signal, endpoint)) ?? (await provider.models(signal, endpoint))[0]?.id;
    if (!model)
      throw usage(`Cannot use '${provider.name}': it offers no model. Name one with --model ${provider.name}/MODEL.`);
    return `${provider.name}/${model}`;
  }
}

const LOCAL_LIMIT = 300;
const PATIENCE = 10_000;
const NO_MODEL =
  "No model to ask: set OPENAI_API_KEY, start Ollama, or name one with --model provider/model (and --base-url URL for a server of your own). " +
  "Without any, --model offline finds definitions, references and TODOs in this folder.";

// ── 10 Dialogs ─────────────────────────────────────────────────────────────────────────────────────────

const UNSAFE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text that a terminal can only show, never obey: control bytes become visible signs. */
export function clean(text: string): string {
  return text
    .replace(/\r\n/g, "\n")
    .replace(UNSAFE, (char) => (char < " " ? String.fromCharCode(0x2400 + char.charCodeAt(0)) : "\ufffd"));
}

const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** All of it, also when the other end is slow; a closed pipe is not an error. */
const print = (text: string): Promise<void> => new Promise((done) => process.stdout.write(text, () => done()));

/** `/undo 2` is a command; `//x` and `/` are text. */
export function parseCommand(line: string): { name: string; rest: string } {
  const match = /^\/([A-Za-z][\w-]*)(?:\s+(.*))?$/s.exec(line.trim());
  return { name: match?.[1] ?? "", rest: match?.[2]?.trim() ?? "" };
}

export type Format = "text" | "json" | "json-lines";

const watch = <K extends keyof Events>(core: Core, event: K, see: (fact: Events[K]) => void) =>
  void core.seers.push({ owner: "", value: { event, see } });

/** Notes go to stderr. What else a person sees while a turn runs is for plugins/terminal. */
function follow(core: Core, quiet: boolean): void {
  watch(core, "called", ({ call, result }) => void (result.refused && say(`${call.name}: ${result.text}`)));
  if (quiet) return;
  watch(core, "noted", ({ text }) => say(text));
  watch(core, "retried", ({ attempt, wait, reason }) =>
    say(`${reason} Trying again in ${(wait / 1000).toFixed(1)} s (${attempt} of ${TRIES - 1}).`),
  );
}

const statistics = ({ model, usage, calls, ms }: Answer): string =>
  `${model} · ${usage.input} tokens in, ${usage.output} out · ${calls.length} ${calls.length === 1 ? "call" : "calls"} · ${(ms / 1000).toFixed(1)} s`;

/** What the shell gets: 3 beats 4, since an answer that a limit cut is the worse surprise. */
export function exitCode(answer: Answer): number {
  if (answer.finish !== "stop" && answer.finish !== "filter") return 3;
  return answer.calls.some((call) => call.refused) ? 4 : 0;
}

const start = (core: Core, chat: LiveChat, watched: boolean): Promise<void> =>
  emit(core, "started", {
    session: chat.id || null,
    model: chat.model,
    root: core.options.root,
    live: watched && !core.options.quiet,
  });

/** One answer and out. */
async function once(core: Core, chat: LiveChat, prompt: string, images: Image[], format: Format): Promise<number> {
  if (format === "json-lines")
    for (const event of EVENTS.filter((event) => !["received", "answered", "failed"].includes(event)))
      watch(core, event, (fact) => void print(`${JSON.stringify({ type: event, ...fact })}\n`));
  await start(core, chat, format === "text" && Boolean(process.stderr.isTTY));
  const ctx = context(core, chat);
  const line = await around(core, "line", prompt, ctx, async (line) => line);
  const { name, rest } = parseCommand(line);
  const command = core.commands.get(name)?.value;
  if (command) {
    await command.run(rest, ctx);
    return 0;
  }
  const answer = await runTurn(core, chat, line, images);
  const shown = { ...answer, calls: answer.calls.map(({ name, args, ok }) => ({ name, args, ok })) };
  if (format === "json") await print(`${JSON.stringify(shown)}\n`);
  else if (format === "json-lines") await print(`${JSON.stringify({ type: "done", ...shown })}\n`);
  else {
    const text = process.stdout.isTTY ? clean(answer.text) : answer.text;
    await print(text.endsWith("\n") ? text : `${text}\n`);
  }
  if (core.options.usage) say(statistics(answer));
  if (answer.finish === "rounds") say(`Stopped after ${answer.rounds - 1} rounds of tools. --rounds N allows more.`);
  if (answer.finish === "repeat") say(`Stopped: the same call gave the same result ${SAME_CALLS} times.`);
  if (answer.finish === "length") say("The answer is not complete: the model's output limit cut it off.");
  return exitCode(answer);
}

/** The readline loop. The model is still being chosen when the prompt first shows; the first turn waits for it. */
async function repl(
  core: Core,
  open: () => Promise<LiveChat>,
  first: string,
  images: Image[],
  atStop: (leave: (code: number) => unknown) => void,
): Promise<number> {
  const readline = await import("node:readline");
  const { stdin, stdout } = process;
  const rl = readline.createInterface({ input: stdin, output: stdout, prompt: "› ", historySize: 1000 });
  const typed: string[] = [];
  let wake: (() => void) | undefined;
  let closed = false;
  let busy: LiveChat | undefined;
  let struck = Number.NEGATIVE_INFINITY; // when Ctrl+C was last pressed at an empty prompt
  let code = 0;
  rl.on("line", (line) => {
    typed.push(line);
    wake?.();
  });
  rl.on("close", () => {
    closed = true;
    busy?.stop.abort();
    wake?.();
  });
  rl.on("SIGINT", () => {
    if (busy) return busy.stop.abort();
    if (rl.line) {
      stdout.write("^C\n");
      readline.cursorTo(stdout, 0);
      (rl as { line: string }).line = "";
      (rl as { cursor: number }).cursor = 0;
      return rl.prompt();
    }
    if (performance.now() - struck < 1000) {
      code = 130;
      return rl.close();
    }
    struck = performance.now();
    stdout.write("\nCtrl+C again to leave.\n");
    rl.prompt();
  });
  atStop((stopped) => {
    code = stopped;
    rl.close();
  });
  core.ask = async (question) => {
    typed.length = 0; // what was typed before the question is no answer to it
    stdout.write(clean(question));
    return (await next()) ?? "";
  };
  core.atFault = async (error) => {
    say(error.message);
    const answer = await core.ask!("[r]etry, [s]kip this answer, or [a]bort and take the message back? ");
    if (/^a/i.test(answer) && busy) takeBack(busy);
    return /^r/i.test(answer);
  };
  core.atLimit = async (why) => /^y/i.test(await core.ask!(`Stopped: ${why}. Go on? [y/N] `));

  if (!first) rl.prompt();
  const opened = open().then(async (chat) => {
    await start(core, chat, true);
    return chat;
  });
  opened.catch(() => wake?.());
  for (let line: string | undefined = first || (await next()); line !== undefined; line = await next()) {
    struck = Number.NEGATIVE_INFINITY;
    if (line.trim() && !(await obey(line.trim()))) break;
    if (closed) break;
    rl.prompt();
  }
  if (!closed) rl.close();
  if (code === 0) stdout.write("\n");
  (await opened.catch(() => undefined))?.session?.close();
  return code;

  async function next(): Promise<string | undefined> {
    while (!typed.length && !closed) await new Promise<void>((resolve) => (wake = resolve));
    return typed.shift();
  }

  /** False when it is time to leave. */
  async function obey(given: string): Promise<boolean> {
    const chat = await opened;
    const ctx = context(core, chat);
    busy = chat;
    try {
      const line = await around(core, "line", given, ctx, async (line) => line);
      const { name, rest } = parseCommand(line);
      if (name === "quit" || name === "exit") return false;
      if (core.commands.has(name)) await core.commands.get(name)!.value.run(rest, ctx);
      else if (name)
        say(
          `Cannot obey '/${name}': ${unknown(
            "command",
            name,
            about(core).commands.map((command) => command.name),
          )}`,
        );
      else {
        const answer = await runTurn(core, chat, line.replace(/^\/\//, "/"), images.splice(0));
        stdout.write(`${clean(answer.text)}\n`);
        say(dim(statistics(answer)));
      }
    } catch (error) {
      if ((error as Fault).exit !== 130) say(reason(error));
      else say("Stopped.");
    } finally {
      busy = undefined;
    }
    return true;
  }
}

const dim = (text: string): string => (process.stderr.isTTY && !process.env.NO_COLOR ? `\x1b[2m${text}\x1b[22m` : text);

/** What the readline loop itself obeys. */
const OWN_COMMANDS = [
  { name: "quit", description: "leave (also Ctrl+D)", owner: "zz" },
  { name: "exit", description: "leave", owner: "zz" },
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
    description: "an option for the provider, such as temperature 0",
  },
  { name: "system", short: "s", value: "TEXT", description: "who the model is, instead of zz's own words" },
  { name: "continue", short: "c", description: "go on with this folder's last session" },
  { name: "session", value: "ID", description: "go on with that session" },
  {
    name: "fork",
    value: "ID",
    optional: true,
    description: "go on in a copy: of the last session, of --session, or of ID",
  },
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
      description: `let tools ${VERBS[kind]} all, or what is listed`,
    },
    { name: `deny-${kind}`, value: "LIST", optional: true, description: `never let tools ${VERBS[kind]} it` },
  ]),
  { name: "allow-all", short: "A", description: "let tools do everything that is not denied" },
  { name: "no-prompt", description: "never ask; what is not allowed is refused" },
  { name: "cwd", value: "FOLDER", description: "the project" },
  { name: "home", value: "FOLDER", description: "where plugins, prompts and sessions are kept" },
  { name: "config", value: "FILE", description: "settings, instead of the home's zz.config.json" },
  { name: "debug", description: "show where errors come from" },
  { name: "help", short: "h", description: "this page" },
  { name: "version", short: "V", description: "the version" },
];

type Values = Map<string, (string | true)[]>;
export interface Cli {
  values: Values;
  words: string[];
  unknown: string[]; // flags that nobody has, as they were typed
}

/** Splits the command line by a table of flags. Whether an unknown flag is an error is known once the plugins are there. */
export function parseFlags(argv: string[], flags: Flag[]): Cli {
  const byName = new Map(flags.map((flag) => [flag.name, flag]));
  const options = Object.fromEntries(
    flags.map(({ name, short, value, optional }) => [
      name,
      { type: value && !optional ? ("string" as const) : ("boolean" as const), ...(short && { short }) },
    ]),
  );
  const cli: Cli = { values: new Map(), words: [], unknown: [] };
  const { tokens } = parseArgs({ args: pairs(argv), options, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind === "positional") cli.words.push(token.value);
    if (token.kind !== "option") continue;
    const flag = byName.get(token.name);
    if (!flag) {
      cli.unknown.push(token.rawName);
      continue;
    }
    const missing = token.value === undefined || (!token.inlineValue && isFlag(token.value));
    if (flag.value && !flag.optional && missing)
      throw usage(`Flag ${token.rawName} needs a value: ${token.rawName} ${flag.value}.`);
    if (!flag.value && token.value !== undefined)
      throw usage(`Flag ${token.rawName} takes no value. Leave out '=${token.value}'.`);
    const before = flag.many ? (cli.values.get(flag.name) ?? []) : [];
    cli.values.set(flag.name, [...before, token.value ?? true]);
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
      else {
        out.push(`--option=${key}=${value}`);
        i += 2;
      }
    }
    return out;
  }
}

/** The whole program. Returns the exit code. */
export async function main(argv: string[]): Promise<number> {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < 22 || (major === 22 && minor < 18)) {
    say(
      `zz needs Node 22.18 or later; this is ${process.versions.node}. Install a newer one, or run it through npx, which brings its own.`,
    );
    return 2;
  }
  let cli: Cli | undefined;
  let stopped: number | undefined;
  let leave = (code: number): unknown => process.exit(code);
  const stop = (code: number) => {
    if (stopped !== undefined) process.exit(stopped);
    stopped = code;
    leave(code);
  };
  process.on("SIGINT", () => stop(130));
  process.on("SIGTERM", () => stop(143));
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") stopped ??= 0; // the reader has what it wanted
    leave(0);
  });
  process.stderr.on("error", () => {});
  try {
    cli = parseFlags(argv, FLAGS);
    const code = await run(cli, argv, (abort) => (leave = abort));
    return stopped ?? code;
  } catch (error) {
    const failed = error as Fault;
    if (stopped === 0) return 0;
    if (failed.dry) {
      await print(`${JSON.stringify(failed.dry, null, 2)}\n`);
      return 0;
    }
    const exit = stopped ?? failed.exit ?? 1;
    const message = stopped ? "Stopped." : reason(failed);
    const json =
      cli?.values.has("json") ||
      cli?.values.has("json-lines") ||
      argv.some((arg) => arg === "--json" || arg === "--json-lines");
    if (!stopped) say(message);
    if (cli?.values.has("debug")) say(String(failed.stack));
    if (json) await print(`${JSON.stringify({ type: "error", message, exit })}\n`);
    return exit;
  }
}

async function run(cli: Cli, argv: string[], atStop: (leave: (code: number) => unknown) => void): Promise<number> {
  const has = (name: string) => cli.values.has(name);
  const all = (name: string, bare = false) => (cli.values.get(name) ?? []).filter((value) => bare || value !== true);
  const one = (name: string) => all(name).at(-1) as string | undefined;
  if (has("no-color")) process.env.NO_COLOR = "1";
  const json = has("json") || has("json-lines");
  const format: Format = has("json-lines") ? "json-lines" : has("json") ? "json" : "text";
  if (has("version")) return show({ text: `zz ${version()}`, data: { version: version() } });
  if (one("cwd")) process.chdir(folder(one("cwd")!, "cwd"));
  const home = one("home") ? path.resolve(one("home")!) : homeFolder();

  const terminal = { in: isatty(0), out: isatty(1), err: isatty(2) };
  // Stdin is read while the plugins load, unless it is known already that no turn will come of it.
  const lists = cli.unknown.length > 0 || has("help") || has("call");
  const interactive = !has("once") && !json && !has("dry-run") && terminal.in && terminal.out;
  const dash = cli.words.includes("-");
  const stdin = () => (!has("no-stdin") && (dash || !terminal.in) ? readStdin() : async () => "");
  const early = lists ? undefined : stdin();

  const core = await createZz({
    home,
    settings: settings(home, one("config")),
    plugins: all("plugin").map(String),
    own: !has("no-plugins"),
    options: Object.fromEntries(all("option").map((text) => pair(String(text)))),
    save: !has("no-session") && !has("dry-run"),
    raw: has("raw"),
    usage: has("usage"),
    quiet: has("quiet"),
    debug: has("debug"),
    dry: has("dry-run"),
    allow: rules("allow"),
    deny: rules("deny"),
    tools: has("no-tools") ? false : all("tool").map(String),
    ...(one("model") && { model: one("model")! }),
    ...(one("base-url") && { baseUrl: one("base-url")! }),
    ...(one("key") && { key: one("key")! }),
    ...(one("system") !== undefined && { system: one("system")! }),
    ...(one("rounds") && { rounds: number("rounds", one("rounds")!) }),
  });
  for (const plugin of core.plugins) if (plugin.failure) say(plugin.failure);
  const flags = [...FLAGS, ...[...core.flags.values()].map(({ value }) => value)];
  cli = parseFlags(argv, flags);
  for (const name of cli.unknown) {
    const near = nearest(
      name.replace(/^-+/, ""),
      flags.map((flag) => flag.name),
    ); // prettier than a list of fifty
    throw usage(`Unknown flag ${name}. ${near ? `Did you mean --${near}?` : "zz --help lists them."}`);
  }
  for (const { value: flag } of core.flags.values()) for (const value of all(flag.name, true)) flag.set?.(value);
  for (const name of all("tool").map(String))
    if (!core.tools.has(name)) throw usage(`Cannot offer '${name}': ${unknown("tool", name, [...core.tools.keys()])}`);

  follow(core, has("quiet"));
  if (has("help")) return show({ text: help(flags) });
  if (has("call")) return call(one("call")!, cli.words.join(" "));
  for (const { value: flag } of core.flags.values())
    if (flag.run && has(flag.name))
      return show(await flag.run(all(flag.name, true).at(-1)!, context(core, openChat(core, ""))));

  const words = cli.words.filter((word) => word !== "-").join(" ");
  const files = all("file").map((name) => attachment(String(name)));
  const data = await (early ?? stdin())();
  const texts = files.flatMap((file) => ("text" in file ? [file.text] : []));
  const images = files.flatMap((file) => ("image" in file ? [file.image] : []));
  if (words && data.trim()) texts.unshift(block("STDIN", data));
  const prompt = [...texts, words || data.trimEnd()].filter((part) => part.trim()).join("\n\n");
  if (interactive) return repl(core, openWithFallback, prompt, images, atStop);
  if (!prompt && !images.length)
    throw usage(
      'Nothing to ask: the prompt is empty. Give words (zz "…"), pipe text in, or open a terminal without --once.',
    );
  const chat = await open();
  if (!chat) throw usage(NO_MODEL);
  atStop(() => chat.stop.abort());
  try {
    return await once(core, chat, prompt, images, format);
  } finally {
    chat.session?.close();
  }

  /** The conversation that the flags ask for; undefined when there is no model. */
  async function open(): Promise<LiveChat | undefined> {
    const { root } = core.options;
    const warn = (text: string) => note(core, text);
    const forked = one("fork") ?? one("session");
    const id = forked
      ? findSession(home, forked)
      : has("continue") || has("fork")
        ? lastSession(home, root, warn)
        : undefined;
    if (!id && (has("continue") || has("fork"))) warn("There is no earlier session in this folder; this is a new one.");
    const copy = has("fork") || has("no-session");
    const session = id ? (copy ? readSession(home, id) : openOrRead(id)) : undefined;
    const model = await chooseModel(core, session?.header.model).catch((error) => {
      session?.close();
      throw error;
    });
    return model === undefined ? undefined : openChat(core, model, session, copy);

    /** Where nothing can be written, the talk goes on unsaved. */
    function openOrRead(id: string): Session {
      try {
        return openSession(home, id, warn);
      } catch (error) {
        if (!/^(EROFS|ENOSPC|EDQUOT|EACCES|EPERM)$/.test((error as NodeJS.ErrnoException).code ?? "")) throw error;
        const failed = fileFault("save to", sessionFile(home, id), error).message;
        warn(`${failed} It goes on unsaved; --home or ZZ_HOME names another place.`);
        core.options.save = false;
        return readSession(home, id);
      }
    }
  }

  async function openWithFallback(): Promise<LiveChat> {
    const chat = await open();
    if (chat) return chat;
    note(core, NO_MODEL);
    return openChat(core, await chooseModel({ ...core, options: { ...core.options, model: "offline" } }).then(String));
  }

  async function call(name: string, text: string): Promise<number> {
    const tool = findTool(core, name);
    if (!tool) throw usage(`Cannot call '${name}': ${unknown("tool", name, [...core.tools.keys()])}`);
    let args: unknown;
    try {
      args = JSON.parse(text || "{}");
    } catch (error) {
      throw usage(
        `Cannot call '${name}': its arguments are not JSON (${reason(error)}). Write them as '{"name": "value"}'.`,
      );
    }
    const checked = await validate(tool, args);
    if ("wrong" in checked)
      throw usage(`Cannot call '${name}': ${checked.wrong}. zz --tools --json shows its parameters.`);
    const chat = openChat(core, "none/none");
    atStop(() => chat.stop.abort());
    const result = await runCall(core, context(core, chat), {
      id: newId("call_"),
      name: tool.name,
      args: args as Record<string, unknown>,
    });
    if (json)
      await print(
        `${JSON.stringify({ ok: !result.failed, text: result.text, ...(result.data !== undefined && { data: result.data }) })}\n`,
      );
    else if (!result.failed) await print(result.text.endsWith("\n") ? result.text : `${result.text}\n`);
    else if (!result.refused) say(result.text);
    return result.refused ? 4 : result.failed ? 1 : 0;
  }

  async function show({ text, data, failed }: Result): Promise<number> {
    const shown = json ? JSON.stringify(data ?? text) : text;
    await print(shown && !shown.endsWith("\n") ? `${shown}\n` : shown);
    return failed ? 1 : 0;
  }

  function rules(verb: "allow" | "deny"): Partial<Record<Kind, true | string[]>> {
    const found: Partial<Record<Kind, true | string[]>> = {};
    for (const kind of KINDS) {
      const given = cli.values.get(`${verb}-${kind}`)?.at(-1);
      if (given !== undefined) found[kind] = given === true ? true : given.split(",").filter(Boolean);
      else if (verb === "allow" && has("allow-all")) found[kind] = true;
    }
    return found;
  }
}

const block = (title: string, text: string): string => `--- ${title} ---\n${text.trimEnd()}\n--- END ${title} ---`;

function version(): string {
  return JSON.parse(fs.readFileSync(path.join(PACKAGE, "package.json"), "utf8")).version;
}

function folder(name: string, flag: string): string {
  if (!fs.statSync(name, { throwIfNoEntry: false })?.isDirectory())
    throw usage(`Cannot use --${flag} '${name}': there is no such folder.`);
  return name;
}

function number(flag: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0)
    throw usage(`Cannot use --${flag} '${text}': it takes a whole number from 0.`);
  return value;
}

/** `key=value`; the value is JSON where it parses as such, else text. */
function pair(text: string): [string, unknown] {
  const at = text.indexOf("=");
  if (at < 1) throw usage(`Cannot use -o ${text}: it takes a name and a value, as in -o temperature 0.`);
  try {
    return [text.slice(0, at), JSON.parse(text.slice(at + 1))];
  } catch {
    return [text.slice(0, at), text.slice(at + 1)];
  }
}

const IMAGES: Record<string, string> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".webp": "image/webp",
  ".gif": "image/gif",
};

function attachment(name: string): { text: string } | { image: Image } {
  let bytes: Buffer;
  try {
    bytes = fs.readFileSync(name);
  } catch (error) {
    throw fileFault("attach", name, error, { exit: 2 });
  }
  const type = IMAGES[path.extname(name).toLowerCase()];
  if (type) return { image: { type, base64: bytes.toString("base64") } };
  if (bytes.subarray(0, 8192).includes(0))
    throw usage(`Cannot attach '${name}': it is neither text nor an image. Convert it first.`);
  return { text: block(`FILE ${name}`, bytes.toString("utf8")) };
}

const KNOWN_SETTINGS: Record<string, string> = {
  model: "string",
  rounds: "number",
  timeout: "number",
  options: "object",
  providers: "object",
};

function settings(home: string, named: string | undefined): Settings {
  const file = named ?? path.join(home, "zz.config.json");
  let parsed: Settings;
  try {
    parsed = JSON.parse(fs.readFileSync(file, "utf8"));
  } catch (error) {
    if (!named && (error as NodeJS.ErrnoException).code) return {};
    if ((error as NodeJS.ErrnoException).code) throw fileFault("read the settings", file, error, { exit: 2 });
    throw usage(`Cannot read the settings '${file}': not JSON (${reason(error)}). Mend it or move it away.`);
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw usage(`Cannot use the settings '${file}': they must be a JSON object. Mend it or move it away.`);
  for (const [key, type] of Object.entries(KNOWN_SETTINGS))
    if (key in parsed && typeof parsed[key] !== type)
      throw usage(
        `Cannot use the settings '${file}': "${key}" must be ${type === "object" ? "an" : "a"} ${type}. Mend it.`,
      );
  return parsed;
}

function isatty(fd: number): boolean {
  return fd === 0 ? Boolean(process.stdin.isTTY) : Boolean((fd === 1 ? process.stdout : process.stderr).isTTY);
}

/**
 * Starts reading stdin; the result waits for all of it. A pipe that stays open and silent is named after 2 s and given
 * up after 30 s (ZZ_STDIN_WAIT, in seconds), counted from when the waiting starts.
 */
function readStdin(): () => Promise<string> {
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

function help(flags: Flag[]): string {
  const rows = flags.map(({ name, short, value, optional, description }) => {
    const shown = value ? (optional ? `[=${value}]` : ` ${value}`) : "";
    return `  ${short ? `-${short}, ` : "    "}--${name}${shown}`.padEnd(34) + ` ${description}`;
  });
  return [
    "zz: a terminal agent that you can read in one sitting.",
    "",
    "  zz [flags] [words]           talk; with words, answer those first",
    "  echo words | zz --once       one answer on stdout, and out",
    "  zz words < data              data first, then the words",
    "",
    ...rows,
    "",
    "Exit codes: 0 answered, 1 the provider or zz failed, 2 wrong usage, 3 stopped by a limit,",
    "4 answered but something was refused, 130 and 143 interrupted.",
  ].join("\n");
}

if (process.argv[1] && !BUILT && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  process.exit(await main(process.argv.slice(2)));
