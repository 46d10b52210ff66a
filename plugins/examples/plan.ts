// /plan: plan mode. The model may look at whatever it likes and changes nothing, until you say go. An example of the
// step "gate": nothing is guessed by the names of tools, and what it refuses, no flag and no answer allows.
import type { Zz } from "zz";

const TOLD =
  "Plan mode is on. Only look: nothing that changes files or does anything else will run. Find out what you need, then answer with a plan of numbered steps, and wait.";
const GO = "The plan is agreed. Plan mode is off: carry it out.";

export default (zz: Zz) => {
  const kept = zz.state({ on: false }); // of this conversation

  zz.wrap("gate", (asked, next) => {
    if (!kept.on || asked.kind === "read") return next(asked);
    return { verdict: "deny", why: `plan mode is on, and this call would ${does(asked.kind)}. Put it into the plan.` };
  });

  zz.layer({ name: "plan", slot: "turn", text: () => (kept.on ? TOLD : undefined) });
  zz.wrap("prompt", async (mark, next) => (kept.on ? `plan ${await next(mark)}` : next(mark)));

  zz.command({
    name: "plan",
    usage: "[go | off]",
    description: "plan mode: the model only looks, until /plan go",
    examples: { "/plan": "from now on, only look", "/plan go": "carry the plan out", "/plan off": "leave plan mode" },
    complete: () => ["go", "off"],
    run(rest, { chat, note }) {
      if (!/^(|go|off)$/.test(rest)) throw new Error(`Cannot do '/plan ${rest}': /plan, /plan go, /plan off.`);
      const was = kept.on;
      kept.on = rest === "";
      if (rest === "go" && was) chat.send(GO);
      else note(kept.on ? "Plan mode is on. /plan go carries the plan out." : "Plan mode is off.");
    },
  });
};

const does = (kind: "change" | "run"): string => (kind === "change" ? "change files" : "do more than look");
