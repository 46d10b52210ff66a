// What zz's own plugins offer one another, by `zz.service()` and `ctx.service()`: types alone. A
// plugin of yours adds its own: declare module "zz" { interface Services { lamp: { on(): void } } }
import type { Ctx, Saved } from "../kernel/contract.ts";

declare module "../kernel/contract.ts" {
  interface Services {
    sandbox: Sandbox;
    languageServers: LanguageServers;
    mcpServers: McpServers;
    page: Page;
  }
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
    limits: { hosts?: string[]; write?: string[] },
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
    files: string[],
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
  textOf(file: string): Promise<string>;
  ask(server: LanguageServer): Promise<void>;
}
export interface LanguageServer {
  readonly name: string;
  readonly isSafe: boolean; // it can read nothing that zz may not
  references(at: Point): Promise<Spot[]>;
  definition(at: Point): Promise<Spot[]>; // outside of the project: with an absolute path
  rename(at: Point, to: string): Promise<(Spot & { text: string })[]>;
  mayRename(at: Point): Promise<string | undefined>; // why not
  hover(at: Point): Promise<string>;
  problems(file: string): Promise<SpotProblem[]>;
  callers(at: Point): Promise<Called[]>;
  callees(at: Point): Promise<Called[]>;
  symbols(file: string): Promise<(Spot & { name: string; begins: number; ends: number })[]>;
  show(file: string, text: string): void; // goes by this text, whatever the disk has
  hide(file: string): void;
  shows(file: string): boolean;
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
  html(saved: Saved, ctx: Ctx): Promise<string>;
}
