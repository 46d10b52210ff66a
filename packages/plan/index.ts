// /plan and --plan: the model may only look until the person approves its plan, whose steps it then
// sees and ticks off. Calls are refused by kind, not by the names of tools; no flag and no answer
// allows what plan mode refuses.
import type { Ctx, Result, Zz } from "zz";
import { byName, fault, oneLine, plural, usage } from "zz/text";

type Step = { text: string; done: boolean };
type Kept = { on: boolean; steps: Step[] };
const hasOpenSteps = ({ steps }: Kept): boolean => steps.some(({ done }) => !done);
const PLAN_TOOL = "plan";
const MAX_STEPS = 50;
const PLAN_MODE_PROMPT = `Plan mode is on. Only look: nothing that changes files or does anything
else will run. Find out what you need, then present a plan of numbered steps
with the tool \`${PLAN_TOOL}\`, and wait for the person's word.`;
const GO_MESSAGE = "The plan is agreed. Plan mode is off: carry it out.";
const NOTHING_TO_APPROVE =
  "Cannot carry out a plan: plan mode is off. /plan on turns it on, and then the model makes one.";
const TICK_HINT = `Tick off what is done, as soon as it is: ${PLAN_TOOL} { "done": [1] }.`;
const NO_TERMINAL =
  "No terminal is there to approve it on. Give the plan as your answer, and change nothing.";

export default (zz: Zz) => {
  const planState = zz.state<Kept>({ on: false, steps: [] });
  let wantsPlanMode = false;

  zz.flag({
    name: "plan",
    group: "what tools may do",
    description: "plan mode: the model only looks, until you have approved its plan",
    set: () => void (wantsPlanMode = true),
  });
  zz.on("started", () => {
    if (wantsPlanMode) planState.on = true;
    wantsPlanMode = false;
  });

  zz.wrap("gate", (gateRequest, runNext) => {
    if (!planState.on || gateRequest.kind === "read") return runNext(gateRequest);
    return {
      verdict: "deny",
      why:
        "plan mode is on, and this call would " +
        `${gateRequest.kind === "change" ? "change files" : "do more than look"}. ` +
        "Put it into the plan.",
    };
  });
  zz.layer({
    name: "plan",
    slot: "turn",
    text: () => {
      if (planState.on) return PLAN_MODE_PROMPT;
      if (hasOpenSteps(planState))
        return `The plan that the person approved:\n${checklistOf(planState.steps)}\n${TICK_HINT}`;
      return undefined;
    },
  });
  zz.wrap("prompt", async (mark, runNext) =>
    planState.on ? `plan ${await runNext(mark)}` : runNext(mark),
  );
  // The tool is offered whenever it is useful, even if only the usual tools are offered.
  zz.wrap(
    "offer",
    async (allTools, runNext) => {
      const offered = await runNext(allTools);
      const planTool = allTools.find(({ name }) => name === PLAN_TOOL);
      const isMissing =
        planTool && (planState.on || hasOpenSteps(planState)) && !offered.includes(planTool);
      return isMissing ? [...offered, planTool].sort(byName) : offered;
    },
    "first",
  );

  planTool(zz, planState);
  planCommand(zz, planState);
};

function planTool(zz: Zz, planState: Kept): void {
  zz.tool({
    name: PLAN_TOOL,
    kind: "read",
    description: "Present a plan for the person to approve, or tick off its steps.",
    aliases: ["exit_plan_mode", "present_plan", "propose_plan"],
    params: {
      steps: "string[]? the plan, a step each",
      done: "integer[]? numbers of steps that are done",
    },
    also: { steps: ["plan"] },
    needs: () => ({ write: [] }), // it asks the person, so it must not run next to other calls
    describe: ({ steps, done = [] }) =>
      steps ? `presents ${plural(steps.length, "step")}` : `done: ${[...done].join(", ")}`,
    render: () =>
      `${planState.steps.filter(({ done }) => done).length} of ${planState.steps.length} done`,
    async run({ steps, done = [] }, ctx) {
      if (steps)
        return present(
          planState,
          steps.length === 1 ? stepsIn(steps[0]!) : steps.map(oneLine),
          ctx,
        );
      return { text: tickSteps(planState, done), data: planState.steps };
    },
  });
}

/** Asks the person to approve, edit or refuse the plan. */
async function present(planState: Kept, proposed: string[], ctx: Ctx): Promise<Result> {
  let steps = proposed.filter(Boolean);
  if (!steps.length) throw fault("Cannot present a plan without steps. Say what is to be done.");
  if (steps.length > MAX_STEPS)
    throw fault(`Cannot present ${steps.length} steps: ${MAX_STEPS} is the limit. Combine some.`);
  if (!ctx.ask) return { text: NO_TERMINAL };
  for (let edited = ""; ; ) {
    const pressedKey = await ctx.ask(questionOf(steps, ctx), ctx.edit ? "yne" : "yn");
    if (pressedKey === "e") {
      const editedText = await ctx.edit!(
        steps.map((stepText, i) => `${i + 1}. ${stepText}\n`).join(""),
        "plan.md",
      );
      const changed = editedText === undefined ? [] : stepsIn(editedText);
      if (changed.length) [steps, edited] = [changed.slice(0, MAX_STEPS), ", as they edited it"];
      continue;
    }
    if (pressedKey !== "y") {
      const reason =
        pressedKey === "n" ? (await ctx.ask("Why not? (Enter: no reason) ")).trim() : "";
      const text =
        `The person said no to the plan${reason && `: “${reason}”`}.\n` +
        "Change it, and present it again.";
      return { text, failed: true, refused: true };
    }
    Object.assign(planState, { on: false, steps: steps.map((text) => ({ text, done: false })) });
    const text =
      `The person approved the plan${edited}:\n${checklistOf(planState.steps)}\n` +
      `Plan mode is off: carry it out. ${TICK_HINT}`;
    return { text, data: planState.steps };
  }
}

function tickSteps(planState: Kept, doneNumbers: readonly number[]): string {
  if (!planState.steps.length)
    throw fault("Cannot tick anything off: there is no plan. Present one first.");
  for (const stepNumber of doneNumbers)
    if (!planState.steps[stepNumber - 1])
      throw fault(`Cannot tick off step ${stepNumber}: there are ${planState.steps.length}.`);
  planState.steps = planState.steps.map((step, i) =>
    doneNumbers.includes(i + 1) ? { ...step, done: true } : step,
  );
  const checklist = checklistOf(planState.steps);
  return hasOpenSteps(planState) ? checklist : `${checklist}\nAll of it is done.`;
}

function planCommand(zz: Zz, planState: Kept): void {
  zz.command({
    name: "plan",
    usage: "[on | off | go | done N | clear]",
    description:
      "plan mode: the model only looks, until you have approved its plan; without a word, the plan",
    examples: {
      "/plan": "show the plan, and what is done of it",
      "/plan on": "from now on, only look",
      "/plan off": "leave plan mode without a plan",
      "/plan go": "carry out what the model last said",
      "/plan done 2": "tick off step 2 yourself",
      "/plan clear": "put the plan away",
    },
    group: "conversation",
    complete: () => ["on", "off", "go", "done", "clear"],
    run(typedText, { chat, note }) {
      const [, planVerb = "", doneNumber = ""] =
        /^(on|off|go|clear|done +(\d+))?$/.exec(typedText.trim()) ?? [];
      if (typedText.trim() && !planVerb)
        throw usage(`Cannot do '/plan ${typedText}': /plan takes on, off, go, done N or clear.`);
      const wasPlanMode = planState.on;
      if (/^(on|off|go)$/.test(planVerb)) planState.on = planVerb === "on";
      if (planVerb === "clear") planState.steps = [];
      if (doneNumber) tickSteps(planState, [Number(doneNumber)]);
      if (planVerb === "go" && wasPlanMode) return chat.send(GO_MESSAGE);
      if (planVerb === "go") throw usage(NOTHING_TO_APPROVE);
      const modeSentence =
        "Plan mode is " +
        `${planState.on ? "on: the model only looks, until you have approved its plan" : "off"}.`;
      note(
        [modeSentence, ...(planState.steps.length ? [checklistOf(planState.steps)] : [])].join(
          "\n",
        ),
      );
    },
  });
}

const checklistOf = (steps: readonly Step[]): string =>
  steps.map(({ text, done }, i) => `${i + 1}. [${done ? "x" : " "}] ${text}`).join("\n");

/**
 * The steps of a list as people and models write it; an indented line continues the step before it.
 */
function stepsIn(planText: string): string[] {
  const planLines = planText
    .split("\n")
    .filter((planLine) => planLine.trim() && !/^#/.test(planLine));
  const hasListMarks = planLines.some((planLine) => LIST_MARK.test(planLine));
  const steps: string[] = [];
  for (const planLine of planLines)
    if (steps.length && hasListMarks && !LIST_MARK.test(planLine))
      steps.push(`${steps.pop()} ${oneLine(planLine)}`);
    else steps.push(oneLine(planLine.replace(LIST_MARK, "")));
  return steps.filter(Boolean);
}
const LIST_MARK = /^\s{0,3}(\d{1,3}[.)]|[-*•])\s+(\[[ xX]\]\s*)?/;

function questionOf(steps: readonly string[], { edit }: Ctx): string {
  const stepRows = steps.map((stepText, i) => `┃ ${i + 1}. ${stepText}`);
  return [
    "┏ The model's plan:",
    ...stepRows,
    `┗ Carry it out? [y/N${edit ? "/e" : ""}] (n: say why${edit ? ", e: edit it" : ""}) `,
  ].join("\n");
}
