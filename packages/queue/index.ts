// --queue: what zz asks of a model is answered by other machines, through BullMQ on Redis or
// Valkey. --work: this machine answers. What passes between them is a request and its reply, so
// tools, files, keys and what was allowed stay where they are.
import type { Ctx, Zz } from "zz";
import { usage } from "zz/text";

export const defaults = {
  prefix: "zz",
  key_command: "",
  cluster: false,
  lease_seconds: 30,
  days: 14,
};
const count = (minimum: number, maximum: number, description: string) => ({
  type: "integer",
  minimum,
  maximum,
  description,
});
export const settings = {
  name: "queue",
  schema: {
    type: "object",
    additionalProperties: false,
    properties: {
      prefix: {
        type: "string",
        pattern: "^[\\w.-]{1,100}$",
        description: "what the names of all keys of the queue begin with",
      },
      key_command: {
        type: "string",
        description: "a command that prints the password of the queue, run when it is needed",
      },
      cluster: { type: "boolean", description: "whether the queue is a node of a cluster" },
      lease_seconds: count(
        2,
        3_600,
        "seconds after which a job is given to another worker, if its worker is cut off",
      ),
      days: count(1, 365, "days after which the queue forgets a run that nobody goes on with"),
    },
  },
};

const group = "many inputs";

export default (zz: Zz<typeof defaults>) => {
  zz.flag({
    name: "queue",
    group,
    value: "URL",
    description: "let workers of this queue answer: redis://USER:PASSWORD@HOST:6379",
    set: async (queueUrl, ctx) =>
      (await import("./sender.ts")).sendTo(
        zz,
        ctx,
        await openQueue(zz, String(queueUrl), "--queue", ctx),
      ),
  });
  const stopWorking = new AbortController();
  zz.flag({
    name: "work",
    group,
    value: "URL",
    description: "answer for those who ask with --queue; --jobs N at a time",
    stop: () => stopWorking.abort(),
    async run(queueUrl, ctx, { values }) {
      const jobsValue = values.get("jobs")?.at(-1) ?? 4;
      const jobs = Number(jobsValue);
      if (!(Number.isInteger(jobs) && jobs > 0 && jobs <= 256))
        throw usage(`Cannot use --jobs '${jobsValue}': it takes a whole number from 1 to 256.`);
      if (values.has("queue"))
        throw usage(
          "Cannot use --queue with --work: a worker asks the model itself. Leave it out.",
        );
      refuseOpenQueue(String(queueUrl), zz.config.key_command);
      const openedQueue = await openQueue(zz, String(queueUrl), "--work", ctx);
      return (await import("./take-jobs.ts")).work(zz, ctx, openedQueue, {
        jobs,
        stop: stopWorking.signal,
      });
    },
  });
};

async function openQueue(zz: Zz<typeof defaults>, queueUrl: string, named: string, ctx: Ctx) {
  if (zz.configFault)
    throw usage(
      `Cannot use ${named}: ${zz.configFault}. Correct it, so that nothing goes elsewhere.`,
    );
  const redisService = ctx.service("redis");
  if (!redisService)
    throw usage(`Cannot use ${named}: the plugin 'redis' is off. /plugins on redis turns it on.`);
  if (URL.parse(queueUrl)?.password) process.title = "zz"; // what `ps` shows
  const { key_command: keyCommand, cluster } = zz.config;
  return redisService.open(queueUrl, { what: "queue", named, keyCommand, cluster });
}

/** A worker does what the queue says, with its own keys: not everyone may say it. */
function refuseOpenQueue(queueUrl: string, keyCommand: string): void {
  const { hostname = "", password = "" } = URL.parse(queueUrl) ?? {};
  if (password || keyCommand || /^(|localhost|127\.[\d.]+|\[::1\])$/.test(hostname)) return;
  throw usage(
    `Cannot work for '${hostname}': without a password it takes jobs of anyone. ` +
      "Set one there, and give it in the URL or by queue.key_command.",
  );
}
