// /plan and --plan: the model may only look until the person approves its plan, whose steps it then
// sees and ticks off. Calls are refused by kind, not by the names of tools; no flag and no answer
// allows what plan mode refuses.
import type { Ctx, Result, Zz } from "zz";
import { byName, fault, oneLine, plural, usage } from "zz/text";

type Step = { text: string; done: boolean };
type Kept = { on: boolean; steps: Step[] };
const isOpen = ({ steps }: Kept): boolean => steps.some(({ done }) => !done);
const PLAN = "plan";
const MAX_STEPS = 50;
const MODE = `Plan mode is on. Only look: nothing that changes files or does anything else will run. Find out what you need, then present a plan
of numbered steps with the tool \`${PLAN}\`, and wait for the person's word.`;
const GO = "The plan is agreed. Plan mode is off: carry it out.";
const NOTHING_TO_APPROVE =
  "Cannot carry out a plan: plan mode is off. /plan on turns it on, and then the model makes one.";
const TICK = `Tick off what is done, as soon as it is: ${PLAN} { "done": [1] }.`;
const NO_TERMINAL =
  "No terminal is there to approve it on. Give the plan as your answer, and change nothing.";

export default (zz: Zz) => {
  const kept = zz.state<Kept>({ on: false, steps: [] });
  let wanted = false;

  zz.flag({
    name: "plan",
    group: "what tools may do",
    description: "plan mode: the model only looks, until you have approved its plan",
    set: () => void (wanted = true),
  });
  zz.on("started", () => {
    if (wanted) kept.on = true;
    wanted = false;
  });

  zz.wrap("gate", (asked, next) => {
    if (!kept.on || asked.kind === "read") return next(asked);
    return {
      verdict: "deny",
      why: `plan mode is on, and this call would ${does(asked.kind)}. Put it into the plan.`,
    };
  });
  zz.layer({
    name: "plan",
    slot: "turn",
    text: () => {
      if (kept.on) return MODE;
      if (isOpen(kept)) return `The plan that the person approved:\n${list(kept.steps)}\n${TICK}`;
      return undefined;
    },
  });
  zz.wrap("prompt", async (mark, next) => (kept.on ? `plan ${await next(mark)}` : next(mark)));
  // The tool is offered whenever it is useful, even if only the usual tools are offered.
  zz.wrap(
    "offer",
    async (tools, next) => {
      const [offered, planTool] = [await next(tools), tools.find(({ name }) => name === PLAN)];
      const isMissing = planTool && (kept.on || isOpen(kept)) && !offered.includes(planTool);
      return isMissing ? [...offered, planTool].sort(byName) : offered;
    },
    "first",
  );

  planTool(zz, kept);
  planCommand(zz, kept);
};

function planTool(zz: Zz, kept: Kept): void {
  zz.tool({
    name: PLAN,
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
    render: () => `${kept.steps.filter(({ done }) => done).length} of ${kept.steps.length} done`,
    async run({ steps, done = [] }, ctx) {
      if (steps)
        return present(kept, steps.length === 1 ? stepsIn(steps[0]!) : steps.map(oneLine), ctx);
      return { text: tick(kept, done), data: kept.steps };
    },
  });
}

/** Asks the person to approve, edit or refuse the plan. */
async function present(kept: Kept, proposed: string[], ctx: Ctx): Promise<Result> {
  let steps = proposed.filter(Boolean);
  if (!steps.length) throw fault("Cannot present a plan without steps. Say what is to be done.");
  if (steps.length > MAX_STEPS)
    throw fault(`Cannot present ${steps.length} steps: ${MAX_STEPS} is the limit. Combine some.`);
  if (!ctx.ask) return { text: NO_TERMINAL };
  for (let edited = ""; ; ) {
    const key = await ctx.ask(questionOf(steps, ctx), ctx.edit ? "yne" : "yn");
    if (key === "e") {
      const text = await ctx.edit!(numbered(steps), "plan.md");
      const changed = text === undefined ? [] : stepsIn(text);
      if (changed.length) [steps, edited] = [changed.slice(0, MAX_STEPS), ", as they edited it"];
      continue;
    }
    if (key !== "y") {
      const reason = key === "n" ? (await ctx.ask("Why not? (Enter: no reason) ")).trim() : "";
      const answer = reason
        ? `The person said no to the plan: “${reason}”.`
        : "The person said no to the plan.";
      return { text: `${answer}\nChange it, and present it again.`, failed: true, refused: true };
    }
    Object.assign(kept, { on: false, steps: steps.map((text) => ({ text, done: false })) });
    const text = `The person approved the plan${edited}:\n${list(kept.steps)}\nPlan mode is off: carry it out. ${TICK}`;
    return { text, data: kept.steps };
  }
}

function tick(kept: Kept, done: readonly number[]): string {
  if (!kept.steps.length)
    throw fault("Cannot tick anything off: there is no plan. Present one first.");
  for (const number of done)
    if (!kept.steps[number - 1])
      throw fault(`Cannot tick off step ${number}: there are ${kept.steps.length}.`);
  kept.steps = kept.steps.map((step, i) => (done.includes(i + 1) ? { ...step, done: true } : step));
  return isOpen(kept) ? list(kept.steps) : `${list(kept.steps)}\nAll of it is done.`;
}

function planCommand(zz: Zz, kept: Kept): void {
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
    run(typed, { chat, note }) {
      const [, verb = "", number = ""] =
        /^(on|off|go|clear|done +(\d+))?$/.exec(typed.trim()) ?? [];
      if (typed.trim() && !verb)
        throw usage(`Cannot do '/plan ${typed}': /plan takes on, off, go, done N or clear.`);
      const was = kept.on;
      if (/^(on|off|go)$/.test(verb)) kept.on = verb === "on";
      if (verb === "clear") kept.steps = [];
      if (number) tick(kept, [Number(number)]);
      if (verb === "go" && was) return chat.send(GO);
      if (verb === "go") throw usage(NOTHING_TO_APPROVE);
      const mode = `Plan mode is ${kept.on ? "on: the model only looks, until you have approved its plan" : "off"}.`;
      note([mode, ...(kept.steps.length ? [list(kept.steps)] : [])].join("\n"));
    },
  });
}

const does = (effect: "change" | "run"): string =>
  effect === "change" ? "change files" : "do more than look";
const list = (steps: readonly Step[]): string =>
  steps.map(({ text, done }, i) => `${i + 1}. [${done ? "x" : " "}] ${text}`).join("\n");
const numbered = (steps: readonly string[]): string =>
  steps.map((text, i) => `${i + 1}. ${text}\n`).join("");

/**
 * The steps of a list as people and models write it; an indented line continues the step before it.
 */
function stepsIn(text: string): string[] {
  const lines = text.split("\n").filter((line) => line.trim() && !/^#/.test(line));
  const isList = lines.some((line) => MARK.test(line));
  const steps: string[] = [];
  for (const line of lines)
    if (steps.length && isList && !MARK.test(line)) steps.push(`${steps.pop()} ${oneLine(line)}`);
    else steps.push(oneLine(line.replace(MARK, "")));
  return steps.filter(Boolean);
}
const MARK = /^\s{0,3}(\d{1,3}[.)]|[-*•])\s+(\[[ xX]\]\s*)?/;

function questionOf(steps: readonly string[], { edit }: Ctx): string {
  const rows = steps.map((text, i) => `┃ ${i + 1}. ${text}`);
  return [
    "┏ The model's plan:",
    ...rows,
    `┗ Carry it out? [y/N${edit ? "/e" : ""}] (n: say why${edit ? ", e: edit it" : ""}) `,
  ].join("\n");
}
