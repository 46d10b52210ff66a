// What zz's own plugins offer one another, by `zz.service()` and `ctx.service()`: types alone. A
// plugin of yours adds its own: declare module "zz" { interface Services { lamp: { on(): void } } }
import type { Call, Ctx, Result, Saved } from "../kernel/contract.ts";

declare module "../kernel/contract.ts" {
  interface Services {
    sandbox: Sandbox;
    languageServers: LanguageServers;
    mcpServers: McpServers;
    redis: RedisServers;
    queue: Queue;
    toolNames: ToolNames;
    otherNames: OtherNames;
    ownOutput: OwnOutput;
    background: Background;
    page: Page;
    conversations: ConversationStarter;
    questions: Questions;
    messenger: Messenger;
  }
}

/** Connections to Redis or Valkey, checked, which come back when the server does. */
export interface RedisServers {
  open(
    serverUrl: string,
    details: {
      what: string; // as messages call it: "queue"; its settings have that name, too
      named: string; // where the URL comes from: "--queue"
      keyCommand: string; // prints the password, or ""
      cluster: boolean;
    },
  ): Promise<OpenedRedis>;
}
export interface OpenedRedis {
  client: unknown; // of ioredis: Redis | Cluster
  where: string; // the URL without user and password
  keepsLog: boolean; // whether a restart loses nothing
  evicts: string; // how it throws data away when it is full, or ""
  // what the server said, as a sentence; passes: it may be otherwise soon
  sentenceOf(serverError: Error): { text: string; passes: boolean } | undefined;
}

/** Other machines that answer, while --queue names where to reach them. */
export interface Queue {
  readonly where: string;
  /** What is asked of a model in `act` counts as asked for this input: once, also after a kill. */
  ask<T>(runId: string, inputNumber: number, act: () => Promise<T>): Promise<T>;
  /** What came of an input is kept: the queue needs it no more. */
  forget(runId: string, inputNumber: number): Promise<void>;
  /** For those who ask on another machine how a run stands. */
  report(runReport: RunReport): Promise<void>;
  status(runId?: string): Promise<Result>;
}
export type RunReport = {
  run: string;
  inputs: number;
  answered: number;
  failed: number;
  prompt: string;
  resume: string; // the command that goes on with it
};

/** What a command's name in another agent comes to here, as a sentence. */
export interface OtherNames {
  meaning(commandName: string): string | undefined;
}

/** The terminal's background, if it has said what it is. */
export interface Background {
  isLight(): boolean | undefined;
}

/** What the person's last own command printed, for the next message; false: there is none. */
export interface OwnOutput {
  give(ctx: Ctx): boolean;
}

/** zz's own names for the tools of other programs: run_command for Bash. */
export interface ToolNames {
  own(foreignName: string): Promise<string | undefined>;
  calls(call: Call, ctx: Ctx): Promise<Call[]>; // a call, with the arguments of zz's own tools
}

/** Starts programs that the person need not be asked about, since they can do no harm there. */
export interface Sandbox {
  name(ctx: Ctx): Promise<string | undefined>; // "bubblewrap"; undefined: none works here
  /**
   * For one that stays: the project is read-only unless `write` names it, and only these hosts
   * ("*": all) can be reached.
   */
  start(
    argv: string[],
    sandboxLimits: { hosts?: string[]; write?: string[] },
    ctx: Ctx,
  ): Promise<SandboxedProgram | undefined>;
  /** For one that only reads: it sees the project and these folders, and nothing beside them. */
  startReader(argv: string[], folders: string[], ctx: Ctx): Promise<SandboxedProgram | undefined>;
  /**
   * For one that decodes strangers' bytes: it reads these and the system's libraries, writes
   * nothing and reaches nobody.
   */
  startDecoder(
    argv: string[],
    readableFiles: string[],
    ctx: Pick<Ctx, "programs">,
  ): Promise<SandboxedDecoder | undefined>;
}
/** How a program is started in the sandbox; `undefined` stands for no sandbox. */
export interface SandboxedProgram {
  name: string;
  argv: string[];
  env: Record<string, string>;
  failedLookups?(): string[]; // hosts that it looked up in vain
  close(): void;
}
// third: what is written to its file 3
export type SandboxedDecoder = { argv: string[]; third?: Uint8Array };

/**
 * Adds MCP servers for this conversation, such as an editor's, described as in the settings; each
 * is treated like one of a project.
 */
export interface McpServers {
  add(servers: Record<string, object>, ctx: Ctx): Promise<void>;
}

/** Undefined: it was answered; else why not, as a part of a sentence. */
export interface LanguageServers {
  answer(question: LanguageQuestion, ctx: Ctx): Promise<string | undefined>;
}
/** It is asked again where the server fails, so it must not change anything. */
export interface LanguageQuestion {
  file: string; // whose server is asked; relative, like all paths
  // of all files that a server may have read: changed ones are told
  stamps: ReadonlyMap<string, string>;
  textOf(filePath: string): Promise<string>;
  ask(languageServer: LanguageServer): Promise<void>;
}
export interface LanguageServer {
  readonly name: string;
  readonly isSafe: boolean; // it can read nothing that zz may not
  references(point: Point): Promise<Spot[]>;
  definition(point: Point): Promise<Spot[]>; // outside of the project: with an absolute path
  rename(point: Point, newName: string): Promise<(Spot & { text: string })[]>;
  mayRename(point: Point): Promise<string | undefined>; // why not
  hover(point: Point): Promise<string>;
  problems(filePath: string): Promise<SpotProblem[]>;
  callers(point: Point): Promise<Called[]>;
  callees(point: Point): Promise<Called[]>;
  symbols(filePath: string): Promise<(Spot & { name: string; begins: number; ends: number })[]>;
  show(filePath: string, shownText: string): void; // goes by this text, whatever the disk has
  hide(filePath: string): void;
  shows(filePath: string): boolean;
}
/** A place as the protocol of language servers counts: lines and UTF-16 units, from 0. */
export interface Point {
  path: string;
  line: number;
  character: number;
}
export interface Spot extends Point {
  endLine: number;
  endCharacter: number;
}
export type SpotProblem = Spot & { message: string; code: string | number; severity: number };
export type Called = Spot & { name: string; from: Spot[] }; // from: where the calls are

/** A conversation as one HTML file that needs nothing else. */
export interface Page {
  html(savedChat: Saved, ctx: Ctx): Promise<string>;
}

/** Other places that the prompt's questions can be answered from, such as a phone. */
export interface Questions {
  also(answerPlace: AnswerPlace): () => void; // gives what ends it
}
export interface AnswerPlace {
  /**
   * Asks there, with keys for one of them. Undefined: the answer has to come from elsewhere. The
   * signal aborts once an answer counts, which is its reason.
   */
  ask(
    question: string,
    answerKeys: string | undefined,
    abortSignal: AbortSignal,
  ): Promise<{ answer: string; from: string } | undefined>;
}

/** Messages that nobody asked for, to people who are not at the terminal: a build is done. */
export interface Messenger {
  /** `to` is a name that the messenger has for a chat; "": the person's own. */
  send(to: string, messageText: string, ctx: Ctx): Promise<void>;
}

/** Conversations that a dialog elsewhere leads, such as a page, each in a process of its own. */
export interface ConversationStarter {
  /** `flags` are those of the command line, without the one that the dialog itself has. */
  start(ctx: Ctx, startOptions: { name: string; flags: string[] }): Promise<Conversations>;
}
export interface Conversations {
  readonly ended: Promise<void>; // nothing can be asked of them any more
  begin(): Promise<Conversation>;
  open(id: string): Promise<Conversation>; // also a saved one, whose history comes as events
  names(): ReadonlyMap<string, string>; // of those that are open here, by the ids of their sessions
}
/** What it refuses has a `status`, as HTTP has it: 409 where it comes too late or too early. */
export interface Conversation {
  readonly id: string;
  readonly events: readonly ConversationEvent[]; // so far
  readonly last: string | undefined; // when it was opened: the key of its last message with one
  listen(listener: (chatEvent: ConversationEvent) => void): () => void; // gives what ends it
  send(messageText: string, sentAlong?: SentAlong): void; // begins a turn
  stop(): Promise<void>;
  use(modelName: string): Promise<void>;
  /** The first answer counts, if the hash is that of the question. */
  answer(questionName: string, questionHash: string, answerText: string): void;
  close(): Promise<void>; // ends its process; it can be opened again
}
export interface SentAlong {
  images?: { type: string; base64: string; name?: string }[];
  files?: string[]; // absolute paths, which the model is told
  // of the dialog's own: kept with the session before anything is asked of a model, or a command
  // runs, so that a dialog knows after a crash whether the conversation had got the message
  key?: string;
}
/** What a call or a question shows besides its text. */
export type Shown =
  | { type: "text"; text: string }
  | { type: "diff"; path: string; before: string; after: string }
  | { type: "image"; mime: string; base64: string }
  | { type: "file"; path: string }; // for the person to have
type Named = { id: string; name: string };
/** `id` counts from 1 in each conversation; a name is the same in later events. */
export type ConversationEvent = { id: number; text: string } & (
  | { type: "user"; along?: SentAlong; isPast?: true } // past: of a session that was opened
  | { type: "text" | "thought" | "used" | "end" | "failed" }
  | { type: "call"; name: string; status?: string; shown: Shown[] }
  | { type: "question"; name: string; hash: string; shown: Shown[]; options: Named[] }
  | { type: "answered"; name: string }
  | { type: "models"; options: Named[] }
);
