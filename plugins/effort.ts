// How much the model thinks before it answers: --effort, /effort, and the setting. Each provider
// has its own words for it; where a model cannot think, it makes no difference.
import type { Ctx, Effort, Zz } from "zz";
import { unknown, usage } from "zz/text";

const LEVELS: Effort[] = ["none", "low", "medium", "high"];

export const defaults = { level: "" as Effort | "" };
export const settings = {
  project: true,
  schema: {
    type: "object",
    properties: {
      level: {
        enum: ["", ...LEVELS],
        description:
          "how much the model thinks: none, low, medium or high; empty: as its provider has it",
      },
    },
  },
};

export default (zz: Zz<typeof defaults>) => {
  let flag: Effort | undefined;
  const state = zz.state({ level: "" as Effort | "" }); // set by /effort in this conversation
  const inForce = () => state.level || flag || zz.config.level;

  zz.flag({
    name: "effort",
    value: "LEVEL",
    group: "model",
    description: `how much the model thinks: ${LEVELS.join(", ")}`,
    set: (value) => void (flag = levelOf(String(value))),
  });
  zz.command({
    name: "effort",
    usage: "[LEVEL]",
    description: "how much the model thinks before it answers",
    examples: { "/effort": "show it", "/effort high": "let it think more from now on" },
    group: "sessions and model",
    complete: () => LEVELS,
    run(argument, { note }: Ctx) {
      if (argument) state.level = levelOf(argument.trim());
      note(`Effort: ${inForce() || "as the model's provider has it"}.`);
    },
  });
  zz.wrap("request", (request, next) => {
    const effort = request.task === "chat" ? inForce() : "";
    return next(effort ? { ...request, effort } : request);
  });
};

function levelOf(word: string): Effort {
  const level = LEVELS.find((candidate) => candidate === word.toLowerCase());
  if (!level) throw usage(`Cannot use effort '${word}': ${unknown("level", word, LEVELS)}`);
  return level;
}
