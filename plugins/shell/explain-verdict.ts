// --judge: whether a command would run without a question, and why.
import type { Ctx, Kind, Need, Result, Verdict } from "zz";
import { decideCall, NO_SANDBOX } from "./decide-call.ts";
import type { Config } from "./shell-settings.ts";
import type { ShellState } from "./shell-state.ts";

/**
 * The verdict on a line: the strictest of the judge and of the rules for everything that it needs.
 */
export async function explainVerdict(
  command: string,
  ctx: Ctx,
  config: Config,
  state: ShellState,
): Promise<Result> {
  const {
    judgement,
    sandbox,
    onView,
    needs: allNeeds,
  } = await decideCall({ command }, ctx, config, state);
  const { unresolved: _, ...named } = allNeeds;
  const needs = Object.entries(named) as [Kind, Need[]][];
  const { whyNotOnCopy } = await import("./not-on-a-copy.ts");
  const beyond = onView ? undefined : whyNotOnCopy(judgement.simple);
  const answers = needs.flatMap(([needKind, list]) =>
    list.map((need, i) => {
      const name = typeof need === "string" ? need : need.name;
      const { verdict, why } = ctx.permissions.judge(needKind, need);
      if (why) return { verdict, why };
      if (needKind !== "run") return { verdict, why: `it needs ${needKind} access to '${name}'` };
      if (judgement.simple[i]?.why === NO_SANDBOX) return { verdict, why: NO_SANDBOX };
      return { verdict, why: beyond ?? `'${name}' is not on any list` };
    }),
  );
  const order: Verdict[] = ["deny", "ask", "allow"];
  const worst = order
    .map((verdict) => answers.find((answer) => answer.verdict === verdict))
    .find(Boolean);
  const { verdict, why: reason } = worst ?? judgement;
  const { runs } = judgement;
  const allowedWay = onView ? "copy" : "unasked";
  const otherWay = verdict === "ask" ? "beforehand" : "never";
  const treatment: keyof typeof WAYS = verdict === "allow" ? allowedWay : otherWay;
  const text = `${verdict}: ${WAYS[treatment]}: ${reason}\nruns: ${runs.join(", ") || "nothing"}`;
  return {
    text,
    data: { command, verdict, way: treatment, runs, reason, sandbox: sandbox !== undefined },
  };
}

/** What can happen to a command, in words. */
const WAYS = {
  unasked: "runs without a question",
  copy: "runs at once on a copy",
  beforehand: "asked for before it runs",
  never: "never runs",
} as const;
export function parseJsonString(line: string): string {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "string") return value;
  } catch {}
  throw new Error(
    `Cannot judge '${line.slice(0, 60)}': it is not a JSON string. Write one a line, as in "git status".`,
  );
}
