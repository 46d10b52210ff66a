// Asks the language service, which runs in its own thread: an answer may take seconds, and can be cancelled.
import type { Worker } from "node:worker_threads";
import type { Ctx } from "zz";
import type { Index } from "./project.ts";
import type { Service } from "./refs/contract.ts";
import type { Answer, Question } from "./service.ts";

const IDLE_MS = 10 * 60_000; // ms without a question, after which the thread is stopped to free its memory
const ONE_SHOT_IDLE_MS = 20_000; // in a program that is about to end

/** The service looked, and cannot tell; any other error is one of its thread. */
export class NoAnswer extends Error {}

export interface Remote {
  /** Starting takes a while, so call this as soon as a question is likely. */
  start(): void;
  ask<K extends Question["ask"]>(
    ask: K,
    args: Parameters<Service[K]>,
    index: Index,
    ctx: Pick<Ctx, "permissions" | "signal">,
    sources?: ReadonlyMap<string, string>, // see refs/state.ts
  ): Promise<ReturnType<Service[K]>>;
  close(): void;
}

export function openRemote(root: string, isOngoing: () => boolean): Remote {
  let worker: Promise<Worker> | undefined;
  let known: Partial<Pick<Index, "version" | "names"> & { sources: ReadonlyMap<string, string> }> = {}; // what the thread has
  let timer: NodeJS.Timeout | undefined;
  let lastId = 0;
  const pending = new Map<number, PromiseWithResolvers<any>>();
  return { start, ask, close };

  function start(): void {
    clearTimeout(timer);
    worker ??= import("./pool.ts").then(({ startThread }) => {
      const started = startThread("service", { root, isOngoing: isOngoing() });
      started.on("message", ({ id, value, error }: Answer) => {
        if (error === undefined) pending.get(id)?.resolve(value);
        else pending.get(id)?.reject(new NoAnswer(error));
      });
      started.on("error", (error) => fail(error));
      started.unref(); // after adding the listeners, which ref it
      return started;
    });
  }

  async function ask(
    ask: Question["ask"],
    args: unknown[],
    index: Index,
    ctx: Pick<Ctx, "permissions" | "signal">,
    sources: ReadonlyMap<string, string> = NO_SOURCES,
  ): Promise<any> {
    const { permissions, signal } = ctx;
    start();
    const id = ++lastId;
    const answer = Promise.withResolvers<any>();
    pending.set(id, answer);
    const stop = () => fail(signal.reason);
    signal.addEventListener("abort", stop);
    try {
      const thread = await worker!;
      const isKnown = known.version === index.version && known.names === index.names;
      const question: Question = { id, ask, args, rules: permissions.compiler() };
      if (known.sources !== sources) question.sources = sources;
      if (!isKnown) {
        const pageIndexes = index.pageIndexes.map(({ page, ...pageIndex }) => ({
          ...pageIndex,
          rows: page.read(0, pageIndex.end),
        }));
        question.index = { names: index.names.filter((name) => CODE.test(name)), pageIndexes };
      }
      thread.ref();
      thread.postMessage(question);
      known = { version: index.version, names: index.names, sources };
      return await answer.promise;
    } finally {
      signal.removeEventListener("abort", stop);
      pending.delete(id);
      if (!pending.size) void worker?.then((thread) => thread.unref());
      clearTimeout(timer);
      timer = setTimeout(close, isOngoing() ? IDLE_MS : ONE_SHOT_IDLE_MS).unref();
    }
  }

  /** Rejects all pending questions; the next one starts a new thread. */
  function fail(error: unknown): void {
    for (const { reject } of pending.values()) reject(error);
    close();
  }
  function close(): void {
    clearTimeout(timer);
    void worker?.then((thread) => thread.terminate());
    [worker, known] = [undefined, {}];
  }
}

const NO_SOURCES: ReadonlyMap<string, string> = new Map();
const CODE = /\.[cm]?[jt]sx?$/i;
