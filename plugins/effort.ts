// How much the model thinks before it answers: --effort, /effort, and the setting. Each provider
// has its own words for it; where a model cannot think, it makes no difference.
import type { Effort, Zz } from "zz";
import { unknown, usage } from "zz/text";

const EFFORT_LEVELS: Effort[] = ["none", "low", "medium", "high"];

export const defaults = { level: "" as Effort | "" };
export const settings = {
  project: true,
  schema: {
    type: "object",
    properties: {
      level: {
        enum: ["", ...EFFORT_LEVELS],
        description:
          "how much the model thinks: none, low, medium or high; empty: as its provider has it",
      },
    },
  },
};

export default (zz: Zz<typeof defaults>) => {
  let flagLevel: Effort | undefined;
  // set by /effort in this conversation
  const chosenEffort = zz.state({ level: "" as Effort | "" });
  const inForce = () => chosenEffort.level || flagLevel || zz.config.level;

  zz.flag({
    name: "effort",
    value: "LEVEL",
    group: "model",
    description: `how much the model thinks: ${EFFORT_LEVELS.join(", ")}`,
    set: (flagValue) => void (flagLevel = levelOf(String(flagValue))),
  });
  zz.command({
    name: "effort",
    usage: "[LEVEL]",
    description: "how much the model thinks before it answers",
    examples: { "/effort": "show it", "/effort high": "let it think more from now on" },
    group: "sessions and model",
    complete: () => EFFORT_LEVELS,
    run(argument, { note }) {
      if (argument) chosenEffort.level = levelOf(argument.trim());
      note(`Effort: ${inForce() || "as the model's provider has it"}.`);
    },
  });
  zz.wrap("request", (request, nextRequest) => {
    const effort = request.task === "chat" ? inForce() : "";
    return nextRequest(effort ? { ...request, effort } : request);
  });
};

function levelOf(levelWord: string): Effort {
  const level = EFFORT_LEVELS.find((candidate) => candidate === levelWord.toLowerCase());
  if (!level)
    throw usage(`Cannot use effort '${levelWord}': ${unknown("level", levelWord, EFFORT_LEVELS)}`);
  return level;
}
