// The zz that asks: each request that it would send to a model becomes a job, and what a worker was
// answered comes back in its place. A job is named by its run, its input and its content, so that
// a zz that was killed finds again what was answered meanwhile.
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import os from "node:os";
import { Queue as BullQueue, QueueEvents } from "bullmq";
import type { ChatRequest, Ctx, OpenedRedis, Queue, Reply, Zz } from "zz";
import { fault } from "zz/text";
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
import { type AskJob, type AskQueue, type Config, connection } from "./queue.ts";
import { statusOf } from "./status.ts";

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
  again(): Promise<AskJob>; // for a server that lost it
  resolve(reply: Reply): void;
  reject(error: unknown): void;
}

export async function sendTo(zz: Zz<Config>, ctx: Ctx, opened: OpenedRedis): Promise<void> {
  const sender = openSender(zz, ctx, opened);
  zz.service("queue", sender.queue);
  // last: what leaves is what the provider would have got
  zz.wrap("request", (request, _, { signal }) => sender.send(request, signal), {
    limit: NO_LIMIT_MS,
  });
  zz.defer(sender.close);
}

function openSender(zz: Zz<Config>, ctx: Ctx, opened: OpenedRedis) {
  const server = connection(opened, zz.config, ctx);
  const { client, keys, seconds, where } = server;
  const how = { connection: client as never, prefix: keys.base };
  const kept = { age: seconds };
  const jobs: AskQueue = new BullQueue(QUEUE, {
    ...how,
    defaultJobOptions: {
      attempts: ATTEMPTS,
      backoff: { type: "exponential", delay: FIRST_BACKOFF_MS, jitter: 0.5 },
      removeOnComplete: kept,
      removeOnFail: kept,
      stackTraceLimit: 0,
    },
  });
  const events = new QueueEvents(QUEUE, how);
  const places = new AsyncLocalStorage<Place>();
  const waiting = new Map<string, Waiting>();
  const sent = new Map<string, { id: string; text: string }[]>(); // by run and input
  const uses = new Map<string, number>(); // of a text, by its hash
  let reported = { run: "", at: 0 };
  jobs.on("error", server.trouble);
  events.on("error", server.trouble);
  events.on("completed", ({ jobId }) => void settle(jobId));
  events.on("failed", ({ jobId }) => void settle(jobId));
  events.on("progress", ({ jobId, data }) => {
    const { left } = Object(data);
    if (waiting.has(jobId) && typeof left === "string")
      server.once(`A worker leaves it to others: ${zz.veil(left)}`);
  });
  const poll = setInterval(() => {
    for (const id of waiting.keys()) void settle(id);
    void tellIfNobodyWorks();
  }, POLL_MS);

  async function send(request: ChatRequest, signal: AbortSignal): Promise<Reply> {
    const place = places.getStore();
    const { run, n, count } = place ?? { run: `once-${randomUUID().slice(0, 8)}`, n: 0, count: 0 };
    if (place) place.count++;
    const asked = askedIn(request);
    const text = zz.veil(JSON.stringify(asked));
    const hash = hashOf(text);
    const id = `${run}.${n}.${count}.${hashOf(gistOf(asked)).slice(0, 12)}`;
    const key = `${run}.${n}`;
    sent.set(key, [...(sent.get(key) ?? []), { id, text: hash }]);
    uses.set(hash, (uses.get(hash) ?? 0) + 1);
    const put = async () => {
      await client.hset(keys.texts(run), hash, text);
      await client.expire(keys.texts(run), seconds);
      return jobs.add("ask", { zz: VERSION, run, text: hash }, { jobId: id });
    };
    try {
      const before = await server.attempt(() => jobs.getJob(id));
      if (before && (await before.isFailed()))
        await before.retry("failed", { resetAttemptsMade: true, resetAttemptsStarted: true });
      const answer = answerTo(id, signal, () => server.attempt(put));
      if (before) void settle(id); // it may have come to something
      return await answer;
    } finally {
      if (!place) await forget(run, n).catch(() => {});
    }
  }

  async function answerTo(
    id: string,
    signal: AbortSignal,
    again: () => Promise<AskJob>,
  ): Promise<Reply> {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    try {
      waiting.set(id, { again, resolve, reject });
      await again();
      return await promise;
    } finally {
      waiting.delete(id);
      signal.removeEventListener("abort", stop);
    }
  }

  /** If the job has come to something, whoever waits for it gets it. */
  async function settle(id: string): Promise<void> {
    const one = waiting.get(id);
    if (!one || client.status !== "ready") return;
    try {
      // first its state: what was read of a job before it ended says nothing of its end
      const state = await jobs.getJobState(id);
      const job = await jobs.getJob(id);
      if (!waiting.has(id)) return;
      if (!job) await one.again();
      else if (state === "completed") one.resolve(await replyTo(job));
      else if (state === "failed") one.reject(failureOf(job));
    } catch (error) {
      if (client.status === "ready" && !opened.sentenceOf(error as Error)) one.reject(error);
    }
  }

  async function replyTo({ id, returnvalue, data }: AskJob): Promise<Reply> {
    const text = await client.hget(keys.answers(data.run), id!);
    if (text !== null && hashOf(text) === returnvalue) return readReply(text);
    throw fault("The answer in the queue is not the one that the worker gave. Ask again.");
  }

  async function forget(run: string, n: number): Promise<void> {
    for (const { id, text } of sent.get(`${run}.${n}`) ?? []) {
      const left = (uses.get(text) ?? 1) - 1;
      if (left) uses.set(text, left);
      else uses.delete(text);
      await client.hdel(keys.answers(run), id);
      if (!left) await client.hdel(keys.texts(run), text);
      await jobs.remove(id);
    }
    sent.delete(`${run}.${n}`);
  }

  async function tellIfNobodyWorks(): Promise<void> {
    if (!waiting.size || client.status !== "ready") return;
    const count = await client.zcount(keys.workers, Date.now() - 60_000, "+inf").catch(() => 1);
    if (!count)
      server.once(`Nobody works for ${where} yet. Start it on a machine: zz --work ${where}`);
  }

  async function writeReport(run: string, facts: object): Promise<void> {
    if (client.status !== "ready") return;
    await client.hset(keys.run(run), { ...facts, host: os.hostname(), at: Date.now() });
    await client.expire(keys.run(run), seconds);
    await client.zadd(keys.runs, Date.now(), run);
    await client.zremrangebyscore(keys.runs, "-inf", Date.now() - seconds * 1_000);
  }

  const queue: Queue = {
    where,
    ask: (run, n, act) => places.run({ run, n, count: 0 }, act),
    forget: (run, n) => server.attempt(() => forget(run, n)),
    async report({ run, ...facts }) {
      const isOver = facts.answered + facts.failed === facts.inputs;
      if (reported.run === run && !isOver && performance.now() - reported.at < REPORT_MS) return;
      reported = { run, at: performance.now() };
      // --status tells less without it, and the run goes on
      await writeReport(run, facts).catch(() => {});
    },
    status: (run) => server.attempt(() => statusOf(server, jobs, run)),
  };
  return {
    queue,
    send,
    async close() {
      clearInterval(poll);
      await Promise.all([jobs.close(), events.close()]).catch(() => {});
      server.close();
    },
  };
}

/** What makes it the same question later: the system prompt tells the time, too. */
const gistOf = ({ system: _, messages, ...asked }: Asked): string =>
  JSON.stringify([asked, messages.map((message) => ({ ...message, news: undefined }))]);

function failureOf({ failedReason = "" }: AskJob): Error {
  let failure: Partial<Failure> = {};
  try {
    failure = JSON.parse(failedReason);
  } catch {} // BullMQ's own words
  const { error = `No worker could answer: ${failedReason}.`, exit = 1, kind } = failure;
  return fault(String(error), {
    exit: exit === 2 ? 1 : Number(exit), // of one input; the run goes on
    ...(kind === "network" || kind === "provider" ? { kind } : {}),
  });
}
