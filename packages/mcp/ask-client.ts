// The person of an MCP client that zz serves: what the gate asks goes to the client, which shows it
// in a form.
import type { Person } from "zz";
import { withoutFrame } from "zz/text";

/** What is asked of the client whose call runs; undefined where it cannot ask anybody. */
export type Asking = { ask?: ((askedForm: Form) => Promise<boolean>) | undefined };
export type Form = ReturnType<typeof formOf>;
const MOST_ASKED = 20_000; // characters of a question in a client's form

/**
 * What the person would read at zz's own prompt, with a yes or a no. The call waits meanwhile, so
 * that a yes is for what was shown.
 */
export const personOf = (asking: Asking): Person => ({
  away: () => !asking.ask,
  most: MOST_ASKED,
  async ask(question, allowedKeys = "") {
    if (!allowedKeys.includes("y")) return ""; // such as the reason for a no
    return (await asking.ask!(formOf(question))) ? "y" : "n";
  },
});

function formOf(question: string) {
  const yesProperty = {
    type: "string" as const,
    title: "Allow it, this once?",
    enum: ["no", "yes"],
  };
  return {
    message: `zz: ${withoutFrame(question)}`,
    requestedSchema: {
      type: "object" as const,
      properties: { answer: yesProperty },
      required: ["answer"],
    },
  };
}
