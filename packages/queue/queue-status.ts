// How a run stands, from any machine: what its zz told the queue, and what lies there.
import type { Result } from "zz";
import { plural, tryTo, usage } from "zz/text";
import type { Failure } from "./job.ts";
import type { AskQueue, Connection } from "./queue.ts";

const SHOWN = 10; // dead letters
export const SEEN_MS = 60_000; // a worker tells that it is there more often

export async function statusOf(
  { client, keys, where }: Connection,
  jobQueue: AskQueue,
  runPrefix?: string,
): Promise<Result> {
  const run = await findRun();
  const runFacts = await client.hgetall(keys.run(run));
  const jobCounts = await jobQueue.getJobCounts("wait", "active", "delayed");
  const workers = await client.zcount(keys.workers, Date.now() - SEEN_MS, "+inf");
  const deadJobs = (await jobQueue.getFailed(0, 9_999)).filter(({ id }) =>
    id?.startsWith(`${run}.`),
  );
  const [inputs, answered] = [Number(runFacts.inputs), Number(runFacts.answered)];
  const waiting = (jobCounts.wait ?? 0) + (jobCounts.delayed ?? 0);
  const active = jobCounts.active ?? 0;
  const letters = deadJobs.map(({ id, failedReason }) => ({
    input: Number(id!.slice(run.length + 1).split(".")[0]) + 1,
    error: reasonOf(failedReason),
  }));
  const resumeHint =
    answered < inputs ? ` Go on with it on ${runFacts.host}: ${runFacts.resume}` : "";
  const statusLines = [
    `${run}: ${answered} of ${inputs} answered.${resumeHint}`,
    `The queue has ${plural(workers, "worker")}; ` +
      `${active} of its jobs are under way, ${waiting} wait.`,
  ];
  if (letters.length)
    statusLines.push(
      `${plural(letters.length, "dead letter")}, asked again by --resume:`,
      ...letters.slice(0, SHOWN).map(({ input, error }) => `  input ${input}: ${error}`),
    );
  const runData = { run, inputs, answered, left: inputs - answered, prompt: runFacts.prompt };
  return {
    text: statusLines.join("\n"),
    data: { ...runData, workers, active, waiting, dead: letters },
  };

  async function findRun(): Promise<string> {
    const knownRuns = await client.zrevrange(keys.runs, 0, -1);
    const matchingRuns =
      runPrefix === undefined
        ? knownRuns.slice(0, 1)
        : knownRuns.filter((id) => id.startsWith(runPrefix));
    if (matchingRuns.length === 1) return matchingRuns[0]!;
    if (!knownRuns.length)
      throw usage(`Cannot find a run: ${where} knows of none. Check the address.`);
    const failureReason = matchingRuns.length
      ? `${matchingRuns.length} begin like that. Give more of it`
      : `${where} does not know it. The last is ${knownRuns[0]}`;
    throw usage(`Cannot find the run '${runPrefix}': ${failureReason}.`);
  }
}

const reasonOf = (failedReason = "it does not say why"): string =>
  tryTo(() => String((JSON.parse(failedReason) as Failure).error)) ?? failedReason;
