// look_into: sends a helper, a model of its own with tools that read, so that what it reads to find something out costs
// the conversation nothing. An example of ctx.request() with tools.
import type { Zz } from "zz";

export const defaults = { tools: ["read_file", "list_dir", "grep", "glob", "find_definition"], rounds: 20 };

const SYSTEM =
  "You look into a project for a colleague. Find out what is asked, with your tools; change nothing. Answer in at most ten sentences, with paths and line numbers, and say what you could not find.";

export default (zz: Zz<typeof defaults>) =>
  zz.tool({
    name: "look_into",
    description:
      "Send a helper to find something out in the project. It reads as much as it has to, and answers in a few sentences: for questions whose answer is much shorter than what has to be read.",
    aliases: ["delegate", "task", "subagent"],
    params: { question: "string all that the helper has to know: it sees nothing of this conversation" },
    also: { question: ["prompt", "task", "query"] },
    timeout: 600_000,
    describe: ({ question }) => question,
    async run({ question }, ctx) {
      const { tools, rounds } = zz.config;
      const there = ctx.about.tools.flatMap(({ name, kind }) => (tools.includes(name) && kind === "read" ? name : []));
      const messages = [{ role: "user" as const, text: question }];
      const reply = await ctx.request({ task: "helper", system: SYSTEM, messages, tools: there, rounds });
      if (!reply.text)
        throw new Error("The helper answered with nothing. Ask more precisely, or look for it yourself.");
      return { text: reply.text, data: { model: reply.model, usage: reply.usage } };
    },
  });
