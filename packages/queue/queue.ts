// The queue as both sides have it: a connection whose troubles are told once, and how long to go on
// trying.
import type { Job, Queue } from "bullmq";
import type { Cluster, Redis } from "ioredis";
import type { Ctx, OpenedRedis } from "zz";
import { fault, usage } from "zz/text";
import { type JobData, keysOf } from "./job.ts";

export type Client = Redis | Cluster;
export type Config = Readonly<{ prefix: string; lease_seconds: number; days: number }>;
export type AskQueue = Queue<JobData, string>;
export type AskJob = Job<JobData, string>;

const PAUSE_MS = 1_000;
const PATIENCE_MS = 30_000; // with a server that is full or read-only

export function connection(
  openedRedis: OpenedRedis,
  { prefix, days }: Config,
  ctx: Ctx,
  patienceMs = PATIENCE_MS,
) {
  const { where, sentenceOf } = openedRedis;
  const client = openedRedis.client as Client;
  const toldTexts = new Set<string>();
  const once = (noticeText: string) => {
    if (!toldTexts.has(noticeText)) ctx.note(noticeText);
    toldTexts.add(noticeText);
  };
  let isClosed = false;
  client.on("close", () => {
    if (!isClosed) once(`The queue ${where} is out of reach. zz goes on as soon as it is back.`);
  });
  client.on("ready", () => toldTexts.clear());
  tellRisks(openedRedis, once);
  return {
    where,
    client,
    keys: keysOf(prefix),
    seconds: days * 86_400,
    once,
    sentenceOf,
    /** What a part of BullMQ could not do: said once, and it goes on trying. */
    trouble(error: Error): void {
      const sentence = sentenceOf(error);
      if (sentence && client.status === "ready") once(sentence.text);
    },
    /** Does it, in spite of a server that is full for a while. */
    async attempt<T>(attemptAction: () => Promise<T>): Promise<T> {
      for (const patienceEnd = performance.now() + patienceMs; ; )
        try {
          return await attemptAction();
        } catch (error) {
          const sentence = sentenceOf(error as Error);
          if (!sentence) throw error;
          const mayPass = sentence.passes || /^(OOM|MISCONF)/.test((error as Error).message);
          if (!mayPass) throw usage(sentence.text);
          // no input is at fault: it ends the run, and a worker leaves the job to others
          if (performance.now() > patienceEnd) throw fault(sentence.text, { kind: "quota" });
          once(sentence.text);
          await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        }
    },
    close(): void {
      isClosed = true;
      client.disconnect();
    },
  };
}
export type Connection = ReturnType<typeof connection>;

function tellRisks({ where, keepsLog, evicts }: OpenedRedis, tell: (risk: string) => void): void {
  if (!keepsLog)
    tell(
      `The queue ${where} keeps no log on its disk: ` +
        "what is under way is asked again if it restarts. Set 'appendonly yes' there.",
    );
  if (evicts)
    tell(
      `The queue ${where} throws data away when its memory is full (${evicts}). ` +
        "Set 'maxmemory-policy noeviction' there.",
    );
}
