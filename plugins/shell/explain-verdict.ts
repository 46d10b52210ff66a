// --judge: whether a command would run without a question, and why.
import type { Ctx, Kind, Need, Result, Verdict } from "zz";
import { decideCall, NO_SANDBOX } from "./decide-call.ts";
import type { ShellState } from "./shell-state.ts";

/**
 * The verdict on a line: the strictest of the judge and of the rules for everything that it needs.
 */
export async function explainVerdict(
  command: string,
  ctx: Ctx,
  shellState: ShellState,
): Promise<Result> {
  const {
    judgement,
    sandbox,
    onView,
    needs: allNeeds,
  } = await decideCall({ command }, ctx, shellState);
  const { unresolved: _, ...named } = allNeeds;
  const needsByKind = Object.entries(named) as [Kind, Need[]][];
  const { whyNotOnCopy } = await import("./not-on-a-copy.ts");
  const whyNoCopy = onView ? undefined : whyNotOnCopy(judgement.simple);
  const answers = needsByKind.flatMap(([needKind, kindNeeds]) =>
    kindNeeds.map((need, i) => {
      const needName = typeof need === "string" ? need : need.name;
      const { verdict, why } = ctx.permissions.judge(needKind, need);
      if (why) return { verdict, why };
      if (needKind !== "run")
        return { verdict, why: `it needs ${needKind} access to '${needName}'` };
      if (judgement.simple[i]?.why === NO_SANDBOX) return { verdict, why: NO_SANDBOX };
      return { verdict, why: whyNoCopy ?? `'${needName}' is not on any list` };
    }),
  );
  const strictness: Verdict[] = ["deny", "ask", "allow"];
  const strictest = strictness
    .map((verdict) => answers.find((answer) => answer.verdict === verdict))
    .find(Boolean);
  const { verdict, why: reason } = strictest ?? judgement;
  const { runs } = judgement;
  const allowedWay = onView ? "copy" : "unasked";
  const otherWay = verdict === "ask" ? "beforehand" : "never";
  const treatment: keyof typeof TREATMENTS = verdict === "allow" ? allowedWay : otherWay;
  const commandList = runs.join(", ") || "nothing";
  const text = `${verdict}: ${TREATMENTS[treatment]}: ${reason}\nruns: ${commandList}`;
  return {
    text,
    data: { command, verdict, way: treatment, runs, reason, sandbox: sandbox !== undefined },
  };
}

/** What can happen to a command, in words. */
const TREATMENTS = {
  unasked: "runs without a question",
  copy: "runs at once on a copy",
  beforehand: "asked for before it runs",
  never: "never runs",
} as const;
export function parseJsonString(jsonLine: string): string {
  try {
    const parsedValue: unknown = JSON.parse(jsonLine);
    if (typeof parsedValue === "string") return parsedValue;
  } catch {}
  throw new Error(
    `Cannot judge '${jsonLine.slice(0, 60)}': it is not a JSON string. ` +
      'Write one a line, as in "git status".',
  );
}
