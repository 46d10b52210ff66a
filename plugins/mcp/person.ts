// The person of an MCP client that zz serves: what the gate asks goes to the client, which shows it in a form.
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { Person } from "zz";
import { withoutFrame } from "zz/text";

/** The client whose call runs, to be asked what the gate asks. */
export type Asking = { server?: Server; signal?: AbortSignal };
const MOST_ASKED = 20_000; // characters of a question in a client's form
const PATIENCE_MS = 600_000; // other clients' calls wait meanwhile

/** What the person would read at zz's own prompt, with a yes or a no. The call waits meanwhile, so that a yes is for what was shown. */
export const personOf = (asking: Asking): Person => ({
  away: () => !asking.server?.getClientCapabilities()?.elicitation,
  most: MOST_ASKED,
  async ask(question, keys = "") {
    if (!keys.includes("y")) return ""; // such as the reason for a no
    const yes = { type: "string", title: "Allow it, this once?", enum: ["no", "yes"] } as const;
    const form = {
      message: `zz: ${withoutFrame(question)}`,
      requestedSchema: { type: "object" as const, properties: { answer: yes }, required: ["answer"] },
    };
    const { server, signal } = asking;
    const asked = server!.elicitInput(form, { timeout: PATIENCE_MS, ...(signal && { signal }) });
    const { action, content } = await asked.catch(() => ({ action: "cancel", content: {} }));
    return !signal?.aborted && action === "accept" && (content as { answer?: unknown } | undefined)?.answer === "yes"
      ? "y"
      : "n";
  },
});
