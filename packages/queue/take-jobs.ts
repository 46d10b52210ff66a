// The zz that answers: it takes jobs, asks the model with its own keys, and keeps what came of it.
// A job is a stranger's request. Nothing in it is run: what the model calls goes back to the zz
// that asked, and nothing of this machine is put into it.
import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import os from "node:os";
import { DelayedError, UnrecoverableError, Worker } from "bullmq";
import type { Ctx, Fault, OpenedRedis, Result, Zz } from "zz";
import { plural, tryTo } from "zz/text";
import {
  type Asked,
  type Failure,
  hashOf,
  isJob,
  type JobData,
  QUEUE,
  readAsked,
  VERSION,
  versionOf,
} from "./job.ts";
import { type AskJob, type Config, type Connection, connection } from "./queue.ts";
import { KEEP } from "./scripts.ts";
import { sharedPace } from "./shared-pace.ts";

const LEAVE_MS = 250; // before a job that this worker cannot do is there again, for others
const REST_MS = 5_000; // that it takes none meanwhile
const LEAVE_VERSION_MS = 60_000;
const MAX_STALLS = 20; // of workers that were killed with it
const TELL_MS = 10_000; // that this worker is there
const NO_LIMIT_MS = 2 ** 31 - 1;

interface Working {
  ctx: Ctx;
  server: Connection;
  asking: AsyncLocalStorage<Asked>;
  done: number;
  rest(): void;
}

export async function work(
  zz: Zz<Config>,
  ctx: Ctx,
  openedRedis: OpenedRedis,
  { jobs, stop }: { jobs: number; stop: AbortSignal },
): Promise<Result> {
  const server = connection(openedRedis, zz.config, ctx);
  const { client, keys, where } = server;
  zz.defer(server.close);
  const working: Working = { ctx, server, asking: new AsyncLocalStorage(), done: 0, rest() {} };
  zz.wrap("fetch", sharedPace(server, zz.io.clock), { limit: NO_LIMIT_MS });
  // What travelled takes the place of all that this machine would say.
  zz.wrap(
    "request",
    (request, runNext) => {
      const asked = working.asking.getStore();
      const own = { endpoint: request.endpoint, task: request.task };
      if (!asked) return runNext(request);
      return runNext({ ...asked, ...own, options: { ...request.options, ...asked.options } });
    },
    { order: "first", limit: NO_LIMIT_MS },
  );
  const name = `${os.hostname()} ${process.pid}`;
  const tell = () => client.zadd(keys.workers, Date.now(), name);
  await server.attempt(tell);
  const leaseMs = zz.config.lease_seconds * 1_000;
  const worker = new Worker<JobData, string>(
    QUEUE,
    (takenJob, lockToken) => answerJob(working, takenJob, lockToken!),
    {
      connection: client as never,
      prefix: keys.base,
      skipVersionCheck: true,
      concurrency: jobs,
      lockDuration: leaseMs,
      stalledInterval: leaseMs,
      maxStalledCount: MAX_STALLS,
      runRetryDelay: 1_000,
    },
  );
  worker.on("error", server.trouble);
  working.rest = resting(worker);
  const telling = setInterval(() => void tell().catch(() => {}), TELL_MS);
  ctx.note(
    `Working for ${where}, ${plural(jobs, "job")} at a time. Ctrl+C finishes what is under way.`,
  );
  if (!stop.aborted) await once(stop, "abort");
  ctx.note("Finishing what is under way. Ctrl+C again leaves it to other workers.");
  await worker.close();
  clearInterval(telling);
  await client.zrem(keys.workers, name).catch(() => {});
  server.close();
  ctx.progress("");
  ctx.note(`${plural(working.done, "job")} done.`);
  return { text: "" };
}

/** Lets a worker take nothing for a while, so that what it could not do goes to others. */
function resting(worker: Worker): () => void {
  let isResting = false;
  return () => {
    if (isResting) return;
    isResting = true;
    void worker.pause(true);
    setTimeout(() => {
      isResting = false;
      if (!worker.closing) void worker.resume();
    }, REST_MS).unref();
  };
}

/** Does one job; gives the hash of its answer. */
async function answerJob(working: Working, takenJob: AskJob, lockToken: string): Promise<string> {
  const { server, ctx } = working;
  const { client, keys, seconds } = server;
  const { data, id = "" } = takenJob;
  const version = versionOf(data);
  if (version !== undefined && version !== VERSION) {
    server.once(
      `Jobs of another version of zz (${version}, this is ${VERSION}) ` +
        "are left for a worker that knows it.",
    );
    return leaveJob(takenJob, lockToken, LEAVE_VERSION_MS);
  }
  if (!version || !isJob(data)) throw garbage(working, id);
  const answers = keys.answers(data.run);
  const earlierAnswer = await server.attempt(() => client.hget(answers, id));
  if (earlierAnswer !== null) return hashOf(earlierAnswer);
  const requestText = await server.attempt(() => client.hget(keys.texts(data.run), data.text));
  const askedRequest =
    requestText !== null && hashOf(requestText) === data.text
      ? tryTo(() => readAsked(requestText))
      : undefined;
  if (!askedRequest) throw garbage(working, id);
  try {
    const replyText = JSON.stringify(await askModel(working, askedRequest));
    const keepArgs = [answers, keys.job(id), id, replyText, seconds] as const;
    const countingReply = await server.attempt(() => client.eval(KEEP, 2, ...keepArgs));
    working.done++;
    ctx.progress(`${working.done} done`);
    return hashOf(String(countingReply ?? replyText));
  } catch (error) {
    const { message, exit = 1, kind, transient, stalled } = error as Fault;
    if (kind === "key" || exit === 2 || (kind === "quota" && !transient)) {
      server.once(`Left to other workers: ${message}`);
      await takenJob.updateProgress({ left: message });
      working.rest();
      return leaveJob(takenJob, lockToken, LEAVE_MS);
    }
    if (kind === "network") working.rest(); // others may reach it
    const failure: Failure = { error: message, exit, ...(kind && { kind }) };
    const FailureError = transient || stalled ? Error : UnrecoverableError;
    throw new FailureError(JSON.stringify(failure));
  }
}

const askModel = ({ ctx, asking }: Working, askedRequest: Asked) =>
  asking.run(askedRequest, () =>
    ctx.request({
      task: "queue",
      model: askedRequest.model,
      system: askedRequest.system,
      messages: askedRequest.messages,
    }),
  );

async function leaveJob(takenJob: AskJob, lockToken: string, delayMs: number): Promise<never> {
  await takenJob.moveToDelayed(Date.now() + delayMs, lockToken);
  throw new DelayedError();
}

function garbage({ server }: Working, id: string): Error {
  server.once(`The queue has jobs that zz did not make, such as '${id}'. They are not done.`);
  const failure: Failure = { error: "It is no job that zz made.", exit: 1 };
  return new UnrecoverableError(JSON.stringify(failure));
}
