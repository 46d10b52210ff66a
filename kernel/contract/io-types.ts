// Where zz reads and writes: streams, clock, other programs, requests of plugins.
import type {
  ChildProcess,
  ForkOptions,
  SpawnOptions,
  SpawnSyncOptions,
  SpawnSyncReturns,
} from "node:child_process";
import type { Kind } from "./permission-types.ts";

export type Awaitable<T> = T | Promise<T>;

/** The part of the built-in fetch that providers need, in a tenth of its loading time. */
export interface HttpRequest {
  method?: string | undefined; // GET by default
  headers?: Record<string, string> | undefined;
  body?: string | Uint8Array | undefined;
  signal?: AbortSignal | undefined;
  any?: boolean | undefined; // a status that is not 2xx does not throw
  /** Looks up each host, after redirects too; may throw. Undefined: as usual. */
  via?: ((url: URL) => Awaitable<import("node:net").LookupFunction | undefined>) | undefined;
}
export interface HttpAnswer
  extends Readonly<{ ok: boolean; status: number; headers: { get(name: string): string | null } }> {
  readonly body: AsyncIterable<Uint8Array>;
  text(): Promise<string>;
  json(): Promise<unknown>;
}
/**
 * Asks for a line, or with keys ("yn") for one of these, in either case. Enter and Escape give "".
 * The question is shown as given.
 */
export type Ask = (question: string, keys?: string, asked?: Asked) => Promise<string>;
/** The question whether a call may do something, as data. */
export interface Asked {
  tool: string;
  args?: unknown; // of the call
  needs: { kind: Kind; name: string; why?: string }[]; // what it would read, write, run …
  shown: string; // the command or the diff, as the question shows it
  keys: Record<string, string>; // what each answer does
}
/**
 * The only way to start other programs. They are found by absolute path, never in or above the
 * project or in a node_modules.
 */
export interface Programs {
  // its path; searched in this PATH instead of zz's own
  find(name: string, path?: string): string | undefined;
  // throws if there is none
  start(name: string, args: readonly string[], options?: SpawnOptions & OwnPath): ChildProcess;
  // waits for it: only for what ends quickly
  run(name: string, args: readonly string[], options?: SpawnSyncOptions): SpawnSyncReturns<Buffer>;
  fork(file: string | URL, options?: ForkOptions): ChildProcess; // Node, on a file of your own
}
/**
 * Programs get a PATH without the project's folders. ownPath keeps PATH, for a command that the
 * person typed or approved.
 */
export type OwnPath = { ownPath?: boolean };
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
  timer(ms: number, act: () => void, options?: { background?: boolean }): () => void;
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
