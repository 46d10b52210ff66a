// One instance of zz: all that it holds.

import type * as contract from "./contract.ts";
import type { Awaitable, Events, Steps } from "./contract.ts";
import { unknown } from "./text/did-you-mean.ts";
import { fault } from "./text/faults.ts";

/** What an embedding program passes to createZz(); main makes it from the flags. */
export interface Options {
  io?: contract.Io; // instead of the process's own
  root?: string;
  home?: string;
  settings?: contract.Settings;
  sources?: Sources; // the files that the settings come from
  plugins?: string[]; // extra plugin files
  own?: boolean; // false: without the plugins of the home
  bare?: boolean; // without zz's own plugins
  config?: string; // the settings file
  model?: string;
  baseUrl?: string;
  key?: string;
  options?: Record<string, unknown>; // passed on to the provider
  system?: string; // instead of zz's own identity
  tools?: string[] | false; // the only tools offered; false: none
  rounds?: number; // 0: no limit
  save?: boolean;
  raw?: boolean; // the answer as it came, without the render step
  rendered?: boolean; // with JSON, add the rendered text too
  usage?: boolean; // tokens, calls and time on stderr
  quiet?: boolean; // no notes on stderr
  prompt?: boolean; // false: never ask the person
  allow?: contract.Rules;
  named?: contract.Rules; // allowed by name, beside a whole kind in `allow`
  deny?: contract.Rules; // beats allow
  debug?: boolean; // errors show stack traces
  given?: string[]; // unknown flags: a plugin may still define them
  dry?: boolean;
}

/** Everything that belongs to one instance; createZz() makes it. */
export interface Core extends Omit<contract.Person, "note"> {
  io: contract.Io;
  pluginIo?: contract.PluginIo; // the part of it that plugins get
  options: Options & { root: string; home: string; settings: contract.Settings };
  plugins: LoadedPlugin[];
  extras?: ProjectExtras | undefined; // what the project brings
  prompts: { stamps: string; layers: Owned<contract.Layer>[] }; // of the prompt files in force
  settingsStamps?: string; // of the settings files in force
  refreshing?: Promise<unknown>; // one refresh at a time
  tools: Map<string, Owned<contract.Tool>>;
  commands: Map<string, Owned<contract.Command>>;
  providers: Map<string, Owned<contract.Provider>>;
  flags: Map<string, Owned<contract.Flag>>;
  models: Map<string, contract.Model>; // as providers described them
  schemas: Map<string, Record<string, unknown>>; // of the tools' parameters, by tool
  keys: Map<string, Owned<contract.Key>>;
  dialogs: Owned<contract.Dialog>[];
  stores: Map<string, Owned<contract.Store>>;
  store?: contract.SessionStore; // that the setting `store` names, once it was asked for
  layers: Owned<contract.Layer>[];
  configs: Owned<Config>[]; // the plugins' settings
  observers: Owned<{
    event: keyof Events;
    see: (eventFact: any, ctx: contract.Ctx) => Awaitable<void>;
    limit: number;
  }>[];
  wraps: Owned<{
    step: keyof Steps;
    around: contract.Around<[any, any]>;
    order: contract.Order;
    limit: number;
  }>[];
  services: Map<string, Owned<{ name: string; offer: object }>>;
  states: Map<string, { live: object; saved: string; initial: string }>;
  // a turn in a conversation of its own
  apart(core: Core, question: contract.Question): Promise<contract.ApartAnswer>;
  ctx(): contract.Ctx; // of the conversation opened last
  chat?: LiveChat; // the conversation opened last
  showNote?: (noteText: string) => void; // shows a note while a line is being typed
  showCommandNote?: (noteText: string) => void; // what a command says, where that is the answer
  namedProvider?: string; // the provider that --base-url and --key are for
  asking?: Promise<unknown>; // one question at a time
  mostAsked?: number | undefined; // characters of the longest question that the person can be shown
  waited: number; // ms spent waiting for the person; they count for no call and no turn
  unsavable?: true; // saving is wanted but impossible
  rules: contract.Rule[];
  first: contract.Rule[]; // those of flags, settings and the folder, as last read
}
/** An instance in which nothing is registered yet. */
export const emptyInstance = (
  io: contract.Io,
  options: Core["options"],
  instanceMethods: Pick<Core, "apart" | "ctx">,
): Core => ({
  io,
  options,
  ...instanceMethods,
  plugins: [],
  prompts: { stamps: "", layers: [] },
  tools: new Map(),
  commands: new Map(),
  providers: new Map(),
  flags: new Map(),
  models: new Map(),
  schemas: new Map(),
  keys: new Map(),
  dialogs: [],
  stores: new Map(),
  layers: [],
  configs: [],
  observers: [],
  wraps: [],
  services: new Map(),
  states: new Map(),
  waited: 0,
  rules: [],
  first: [],
});
export type Owned<T> = { owner: string; value: T };
export const registeredValues = <T>(registry: Map<string, Owned<T>>): T[] =>
  [...registry.values()].map(({ value }) => value);
export const IDENTIFIER = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
export function assertKnown(noun: string, wantedName: string, knownNames: readonly string[]): void {
  if (!knownNames.includes(wantedName)) throw fault(unknown(noun, String(wantedName), knownNames));
}

/** Where a step runs: in which instance, and with which ctx. */
export type TurnContext = { core: Core; chat: LiveChat; ctx: contract.Ctx };

export const newId = (prefix = ""): string =>
  prefix + Math.random().toString(36).slice(2, 10).padEnd(8, "0");
type Writable<T> = { -readonly [K in keyof T]: T[K] };
/** A conversation as the kernel holds it. */
export interface LiveChat extends Writable<contract.Chat> {
  messages: contract.Message[];
  prompt?: contract.Part[] | undefined; // as first sent
  session?: Session;
  lost?: string | null | undefined; // the session that could not be saved any more
  queue: string[]; // messages sent during a turn
  told: string[]; // what plugins told the model: added before a request, or after the answer
  attached: (contract.Image | string)[]; // attached to the person's next message
  stop: AbortController; // of the current turn
  // of a flag: the session whose changes it is about; true: the last one with changes
  past?: string | true;
  turn: number;
  seen: Map<string, Seen>; // by real path, what the model was last shown of the file or wrote to it
  unsavedSeen: Set<string>; // files of `seen` whose news the next message is saved with
}

export const MAX_TRIES = 3;
export const MAX_SAME_CALLS = 3; // rounds in a row in which a call gives the same result
export const NO_MODEL_ID = "none/none"; // --call, without a model
export const ZZ = "zz"; // the actor when neither a tool nor a command acts
// a command is named as it is typed
export const isTool = (actorName: string): boolean =>
  actorName !== ZZ && !actorName.startsWith("/");

export interface ProjectExtras extends contract.Trust {
  hashes: Hashes;
  agreed: string[]; // where its settings may send data, each approved on its own
  stamps: Record<string, string>; // by file, its stamp when it was looked at
}

/** Whether a plugin's flag with that trait was given, on the command line or by its variable. */
export const isFlagGiven = ({ flags, options, io }: Core, flagTrait: "alone" | "traces"): boolean =>
  registeredValues(flags).some(
    (flag) =>
      flag[flagTrait] &&
      (options.given?.includes(`--${flag.name}`) ||
        !/^(0|off|false|no)?$/i.test(io.env[flag.variable ?? ""] ?? "")),
  );
export const showsTraces = (core: Core): boolean =>
  core.options.debug === true || isFlagGiven(core, "traces");

/**
 * A setting of a trusted project that would send the person's words and files elsewhere: it is
 * asked for on its own.
 */
export type DataRedirect = { setting: string; from: string; to: string };

/** A plugin's settings: their section, values, defaults and schema, and who set them. */
export interface Config {
  section: string;
  live: Record<string, unknown>;
  defaults: Record<string, unknown>;
  schema?: contract.Schema;
  project?: true | string[]; // the names that a project may set
  home?: Record<string, unknown>; // what the home and the project set, as far as it counts
  theirs?: Record<string, unknown>;
  teams?: Record<string, unknown>; // the same of the team's
  fault?: string; // the first that is wrong in them
}

/** The files that the settings come from. */
export interface Sources {
  home: contract.Settings;
  project?: Project;
  team?: Team; // as far as it counts, like a project's; the home's go before it
}
/** What lies in the home's folder team/, as a store brought it. */
export type Team = Project & { prompts: string[] }; // the trusted ones
/** The project's settings, without what it may not set. */
export interface Project {
  file: string;
  settings: contract.Settings;
  left: string[]; // names that it may not set
  faults: string[];
  trusted: boolean; // then it may set everything except `sends`
  agreed: string[]; // where its settings may send data, each approved on its own
  sends: DataRedirect[]; // those not approved
}

export interface Session extends contract.Saved {
  append(
    entryType: contract.Entry["type"],
    entryFields: Record<string, unknown>,
    parent?: number | null,
  ): void; // on the disk when append() returns
  sync(): Promise<void>; // safe from a power cut, too
  syncNow(): void;
  close(): void;
}

/** What the model was shown of one file. */
export interface Seen {
  hash: string; // of the text that has these lines
  lines: contract.Span[]; // shown lines, by their numbers in that text
  round: contract.Message | undefined; // the reply whose calls showed it last, or changed it
  moved: contract.Moved[]; // what the model could not know when it made the calls of that round
}

export type Hashes = Record<string, string>; // the hash of each file, by its name from .zz/ on

// where paths are resolved: the project, zz's home, and what the settings name
export type PathScope = Core["options"];

export interface LoadedPlugin extends Omit<contract.About["plugins"][number], "adds"> {
  undo: (() => unknown)[]; // takes back what it registered, latest first
  version: number; // how often it was reloaded
  stamps: Map<string, string>; // its files, as they were when it was loaded
  trusts?: Within["trusts"]; // of a project's plugin
  isPackage?: true; // one of zz's that the home may replace
  section?: string; // of its settings, if it is off and they are not named after it
  unusable?: string; // why nothing of it is imported, by its folder and package.json
}

// the folder that it may import from
export type Within = { folder: string; trusts: (name: string, file: string) => boolean };
