// The zz that asks: each request that it would send to a model becomes a job, and what a worker was
// answered comes back in its place. A job is named by its run, its input and its content, so that
// a zz that was killed finds again what was answered meanwhile.
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import os from "node:os";
import { Queue as BullQueue, QueueEvents } from "bullmq";
import type { ChatRequest, Ctx, OpenedRedis, Queue, Reply, Result, RunReport, Zz } from "zz";
import { fault, tryTo } from "zz/text";
import {
  type Asked,
  ATTEMPTS,
  askedIn,
  type Failure,
  hashOf,
  QUEUE,
  readReply,
  VERSION,
} from "./job.ts";
import { type AskJob, type AskQueue, type Config, type Connection, connection } from "./queue.ts";
import { SEEN_MS, statusOf } from "./queue-status.ts";

const POLL_MS = 2_000; // an event may be lost with the server
const REPORT_MS = 500;
const FIRST_BACKOFF_MS = 500;
const NO_LIMIT_MS = 2 ** 31 - 1;

/** The input that is asked for, and how many requests it took so far. */
interface Place {
  run: string;
  n: number;
  count: number;
}
interface Waiting {
  again(): Promise<void>; // for a server that lost it
  resolve(jobReply: Reply): void;
  reject(error: unknown): void;
}

export async function sendTo(zz: Zz<Config>, ctx: Ctx, openedRedis: OpenedRedis): Promise<void> {
  const queueSender = new Sender(zz, connection(openedRedis, zz.config, ctx));
  zz.service("queue", queueSender);
  // last: what leaves is what the provider would have got
  zz.wrap("request", (request, _, { signal }) => queueSender.send(request, signal), {
    limit: NO_LIMIT_MS,
  });
  zz.defer(() => queueSender.close());
}

class Sender implements Queue {
  readonly where: string;
  private zz: Zz<Config>;
  private server: Connection;
  private jobs: AskQueue;
  private events: QueueEvents;
  private poll: NodeJS.Timeout;
  private places = new AsyncLocalStorage<Place>();
  private waiting = new Map<string, Waiting>();
  private sent = new Map<string, { id: string; text: string }[]>(); // by run and input
  private uses = new Map<string, number>(); // of a text, by its hash
  private reported = { run: "", at: 0 };

  constructor(zz: Zz<Config>, server: Connection) {
    this.zz = zz;
    this.server = server;
    this.where = server.where;
    const bullOptions = {
      connection: server.client as never,
      prefix: server.keys.base,
      skipVersionCheck: true,
    };
    const keptForRun = { age: server.seconds };
    const backoff = { type: "exponential", delay: FIRST_BACKOFF_MS, jitter: 0.5 };
    const jobDefaults = {
      attempts: ATTEMPTS,
      backoff,
      removeOnComplete: keptForRun,
      removeOnFail: keptForRun,
    };
    this.jobs = new BullQueue(QUEUE, {
      ...bullOptions,
      defaultJobOptions: { ...jobDefaults, stackTraceLimit: 0 },
    });
    this.events = new QueueEvents(QUEUE, bullOptions);
    this.jobs.on("error", server.trouble);
    this.hear();
    this.poll = setInterval(() => {
      for (const id of this.waiting.keys()) void this.settle(id);
      void this.tellIfNobodyWorks();
    }, POLL_MS);
  }

  private hear(): void {
    this.events.on("error", this.server.trouble);
    this.events.on("completed", ({ jobId }) => void this.settle(jobId));
    this.events.on("failed", ({ jobId }) => void this.settle(jobId));
    this.events.on("progress", ({ jobId, data }) => {
      const { left } = Object(data);
      if (this.waiting.has(jobId) && typeof left === "string")
        this.server.once(`A worker leaves it to others: ${this.zz.veil(left)}`);
    });
  }

  ask<T>(run: string, n: number, runInput: () => Promise<T>): Promise<T> {
    return this.places.run({ run, n, count: 0 }, runInput);
  }

  async send(request: ChatRequest, signal: AbortSignal): Promise<Reply> {
    const { server, jobs } = this;
    const place = this.places.getStore();
    const { run, n, count } = place ?? { run: `once-${randomUUID().slice(0, 8)}`, n: 0, count: 0 };
    if (place) place.count++;
    const askedRequest = askedIn(request);
    const requestText = this.zz.veil(JSON.stringify(askedRequest));
    const textHash = hashOf(requestText);
    const id = `${run}.${n}.${count}.${hashOf(gistOf(askedRequest)).slice(0, 12)}`;
    this.remember(`${run}.${n}`, id, textHash);
    try {
      const previousJob = await server.attempt(() => jobs.getJob(id));
      if (previousJob && (await previousJob.isFailed()))
        await previousJob.retry("failed", { resetAttemptsMade: true, resetAttemptsStarted: true });
      const putAgain = () => server.attempt(() => this.put(id, run, requestText, textHash));
      const awaitedReply = this.answerTo(id, signal, putAgain);
      if (previousJob) void this.settle(id); // it may have come to something
      return await awaitedReply;
    } finally {
      if (!place) await this.drop(run, n).catch(() => {});
    }
  }

  private remember(placeKey: string, id: string, text: string): void {
    this.sent.set(placeKey, [...(this.sent.get(placeKey) ?? []), { id, text }]);
    this.uses.set(text, (this.uses.get(text) ?? 0) + 1);
  }

  /** A job that is there already is not added. */
  private async put(id: string, run: string, requestText: string, textHash: string): Promise<void> {
    const { client, keys, seconds } = this.server;
    await client.hset(keys.texts(run), textHash, requestText);
    await client.expire(keys.texts(run), seconds);
    await this.jobs.add("ask", { zz: VERSION, run, text: textHash }, { jobId: id });
  }

  private async answerTo(
    id: string,
    signal: AbortSignal,
    putAgain: () => Promise<void>,
  ): Promise<Reply> {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const rejectAborted = () => reject(signal.reason);
    signal.addEventListener("abort", rejectAborted, { once: true });
    if (signal.aborted) rejectAborted();
    let isPutting = false;
    const putOnce = async () => {
      if (isPutting) return;
      isPutting = true;
      await putAgain().catch(reject);
      isPutting = false;
    };
    try {
      this.waiting.set(id, { again: putOnce, resolve, reject });
      void putOnce();
      return await promise;
    } finally {
      this.waiting.delete(id);
      signal.removeEventListener("abort", rejectAborted);
    }
  }

  /** If the job has come to something, whoever waits for it gets it. */
  private async settle(id: string): Promise<void> {
    const { waiting, jobs, server } = this;
    const waitingJob = waiting.get(id);
    if (!waitingJob || server.client.status !== "ready") return;
    try {
      // first its state: what was read of a job before it ended says nothing of its end
      const state = await jobs.getJobState(id);
      const endedJob = await jobs.getJob(id);
      if (!waiting.has(id)) return;
      if (!endedJob) await waitingJob.again();
      else if (state === "completed") waitingJob.resolve(await this.replyTo(endedJob));
      else if (state === "failed") waitingJob.reject(failureOf(endedJob));
    } catch (error) {
      if (server.client.status === "ready" && !server.sentenceOf(error as Error))
        waitingJob.reject(error);
    }
  }

  private async replyTo({ id = "", returnvalue, data }: AskJob): Promise<Reply> {
    const { client, keys } = this.server;
    const answerText = await client.hget(keys.answers(data.run), id);
    if (answerText !== null && hashOf(answerText) === returnvalue) return readReply(answerText);
    // gone, so that --resume asks again
    await client.hdel(keys.answers(data.run), id);
    await this.jobs.remove(id);
    throw fault("The answer in the queue is not the one that the worker gave. Ask again.");
  }

  forget(runName: string, inputNumber: number): Promise<void> {
    return this.server.attempt(() => this.drop(runName, inputNumber));
  }

  private async drop(runName: string, inputNumber: number): Promise<void> {
    const { client, keys } = this.server;
    for (const { id, text } of this.sent.get(`${runName}.${inputNumber}`) ?? []) {
      const remainingUses = (this.uses.get(text) ?? 1) - 1;
      if (remainingUses) this.uses.set(text, remainingUses);
      else this.uses.delete(text);
      await client.hdel(keys.answers(runName), id);
      if (!remainingUses) await client.hdel(keys.texts(runName), text);
      await this.jobs.remove(id);
    }
    this.sent.delete(`${runName}.${inputNumber}`);
  }

  private async tellIfNobodyWorks(): Promise<void> {
    const { client, keys, where, once } = this.server;
    if (!this.waiting.size || client.status !== "ready") return;
    const count = await client.zcount(keys.workers, Date.now() - SEEN_MS, "+inf").catch(() => 1);
    if (!count) once(`Nobody works for ${where} yet. Start it on a machine: zz --work ${where}`);
  }

  async report({ run, ...facts }: RunReport): Promise<void> {
    const isRunOver = facts.answered + facts.failed === facts.inputs;
    const { reported } = this;
    if (reported.run === run && !isRunOver && performance.now() - reported.at < REPORT_MS) return;
    this.reported = { run, at: performance.now() };
    // --status tells less without it, and the run goes on
    await this.writeReport(run, facts).catch(() => {});
  }

  private async writeReport(runName: string, reportFacts: object): Promise<void> {
    const { client, keys, seconds } = this.server;
    if (client.status !== "ready") return;
    await client.hset(keys.run(runName), { ...reportFacts, host: os.hostname(), at: Date.now() });
    await client.expire(keys.run(runName), seconds);
    await client.zadd(keys.runs, Date.now(), runName);
    await client.zremrangebyscore(keys.runs, "-inf", Date.now() - seconds * 1_000);
  }

  status(runName?: string): Promise<Result> {
    return this.server.attempt(() => statusOf(this.server, this.jobs, runName));
  }

  async close(): Promise<void> {
    clearInterval(this.poll);
    await Promise.all([this.jobs.close(), this.events.close()]).catch(() => {});
    this.server.close();
  }
}

/** What makes it the same question later: the system prompt tells the time, too. */
const gistOf = ({ system: _, messages, ...asked }: Asked): string =>
  JSON.stringify([asked, messages.map((message) => ({ ...message, news: undefined }))]);

function failureOf({ failedReason = "" }: AskJob): Error {
  // else BullMQ's own words
  const failure: Partial<Failure> = tryTo(() => JSON.parse(failedReason)) ?? {};
  const { error = `No worker could answer: ${failedReason}.`, exit = 1, kind } = failure;
  return fault(String(error), {
    exit: exit === 2 ? 1 : Number(exit), // of one input; the run goes on
    ...(kind === "network" || kind === "provider" ? { kind } : {}),
  });
}
