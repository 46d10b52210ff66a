// Asks the language service, which runs in its own thread: an answer may take seconds, and can be cancelled.
import type { Worker } from "node:worker_threads";
import type { Ctx } from "zz";
import type { Index } from "./project.ts";
import type { Service } from "./refs/contract.ts";
import type { Answer, Question } from "./service.ts";

const FORGOTTEN = 10 * 60_000; // ms without a question, after which the thread is stopped to free its memory
const FORGOTTEN_ALONE = 20_000; // in a program that is about to end

export interface Remote {
  /** Starting takes a while, so call this as soon as a question is likely. */
  start(): void;
  ask<K extends Question["ask"]>(
    ask: K,
    args: Parameters<Service[K]>,
    index: Index,
    ctx: Pick<Ctx, "permissions" | "signal">,
  ): Promise<ReturnType<Service[K]>>;
  close(): void;
}

export function openRemote(root: string, stays: () => boolean): Remote {
  let worker: Promise<Worker> | undefined;
  let told: object | undefined; // the version of the index that the thread has
  let timer: NodeJS.Timeout | undefined;
  let last = 0;
  const open = new Map<number, PromiseWithResolvers<any>>();
  return { start, ask, close };

  function start(): void {
    clearTimeout(timer);
    worker ??= import("./pool.ts").then(({ startThread }) => {
      const started = startThread("service", { root, stays: stays() });
      started.on("message", ({ id, value, error }: Answer) => {
        if (error === undefined) open.get(id)?.resolve(value);
        else open.get(id)?.reject(new Error(error));
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
  ): Promise<any> {
    const { permissions, signal } = ctx;
    start();
    const id = ++last;
    const asked = Promise.withResolvers<any>();
    open.set(id, asked);
    const stop = () => fail(signal.reason);
    signal.addEventListener("abort", stop);
    try {
      const thread = await worker!;
      const isKnown = told === index.version;
      told = index.version;
      const question: Question = { id, ask, args, rules: permissions.compiler() };
      if (!isKnown) {
        const leaves = index.leaves.map(({ page, ...leaf }) => ({ ...leaf, rows: page.read(0, leaf.end) }));
        question.index = { names: index.names.filter((name) => CODE.test(name)), leaves };
      }
      thread.ref();
      thread.postMessage(question);
      return await asked.promise;
    } finally {
      signal.removeEventListener("abort", stop);
      open.delete(id);
      if (!open.size) void worker?.then((thread) => thread.unref());
      clearTimeout(timer);
      timer = setTimeout(close, stays() ? FORGOTTEN : FORGOTTEN_ALONE).unref();
    }
  }

  /** Rejects all pending questions; the next one starts a new thread. */
  function fail(error: unknown): void {
    for (const { reject } of open.values()) reject(error);
    close();
  }
  function close(): void {
    clearTimeout(timer);
    void worker?.then((thread) => thread.terminate());
    [worker, told] = [undefined, undefined];
  }
}

const CODE = /\.[cm]?[jt]sx?$/i;
