// How a run stands, from any machine: what its zz told the queue, and what lies there.
import type { Result } from "zz";
import { plural, usage } from "zz/text";
import type { Failure } from "./job.ts";
import type { AskQueue, Connection } from "./queue.ts";

const SHOWN = 10; // dead letters
export const SEEN_MS = 60_000; // a worker tells that it is there more often

export async function statusOf(
  { client, keys, where }: Connection,
  jobs: AskQueue,
  given?: string,
): Promise<Result> {
  const run = await findRun();
  const facts = await client.hgetall(keys.run(run));
  const counts = await jobs.getJobCounts("wait", "active", "delayed");
  const workers = await client.zcount(keys.workers, Date.now() - SEEN_MS, "+inf");
  const dead = (await jobs.getFailed(0, 9_999)).filter(({ id }) => id?.startsWith(`${run}.`));
  const [inputs, answered] = [Number(facts.inputs), Number(facts.answered)];
  const waiting = (counts.wait ?? 0) + (counts.delayed ?? 0);
  const active = counts.active ?? 0;
  const letters = dead.map(({ id, failedReason }) => ({
    input: Number(id!.slice(run.length + 1).split(".")[0]) + 1,
    error: reasonOf(failedReason),
  }));
  const next =
    answered < inputs
      ? ` Go on with it on ${facts.host}: zz --each --resume ${run} --queue ${where}`
      : "";
  const lines = [
    `${run}: ${answered} of ${inputs} answered.${next}`,
    `The queue has ${plural(workers, "worker")}; ${active} of its jobs are under way, ${waiting} wait.`,
  ];
  if (letters.length)
    lines.push(
      `${plural(letters.length, "dead letter")}, asked again by --resume:`,
      ...letters.slice(0, SHOWN).map(({ input, error }) => `  input ${input}: ${error}`),
    );
  const data = { run, inputs, answered, left: inputs - answered, prompt: facts.prompt };
  return { text: lines.join("\n"), data: { ...data, workers, active, waiting, dead: letters } };

  async function findRun(): Promise<string> {
    const runs = await client.zrevrange(keys.runs, 0, -1);
    const fits = given === undefined ? runs.slice(0, 1) : runs.filter((id) => id.startsWith(given));
    if (fits.length === 1) return fits[0]!;
    if (!runs.length) throw usage(`Cannot find a run: ${where} knows of none. Check the address.`);
    const why = fits.length
      ? `${fits.length} begin like that. Give more of it`
      : `${where} does not know it. The last is ${runs[0]}`;
    throw usage(`Cannot find the run '${given}': ${why}.`);
  }
}

function reasonOf(failedReason: string | undefined): string {
  try {
    return String((JSON.parse(failedReason ?? "") as Failure).error);
  } catch {
    return failedReason ?? "it does not say why";
  }
}
