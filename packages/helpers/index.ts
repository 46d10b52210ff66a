// task: a helper, a model with its own tools and window, finds something out and returns a report.
// Several can work at once. A helper only reads unless the person allows it more; its calls pass
// the conversation's own gate.
import type { AsyncLocalStorage } from "node:async_hooks";
import type { Ctx, Result, Zz } from "zz";
import { fault, oneLine, plural, unknown } from "zz/text";
import { agentList, agentNamed } from "./agents.ts";

export const defaults = { tools: [] as string[], rounds: 20, depth: 1, most: 40, model: "" };
export const settings = {
  schema: {
    type: "object",
    properties: {
      tools: {
        type: "array",
        items: { type: "string" },
        description: "tools that a helper may call beyond those that read",
      },
      rounds: {
        type: "integer",
        minimum: 1,
        maximum: 1_000,
        description: "rounds of tools after which a helper has to answer",
      },
      depth: {
        type: "integer",
        minimum: 1,
        maximum: 5,
        description: "levels of helpers; 1: a helper sends no helpers",
      },
      most: {
        type: "integer",
        minimum: 1,
        maximum: 10_000,
        description: "helpers in one turn, including those that helpers send",
      },
      model: {
        type: "string",
        description: "the model of helpers, as provider/model; empty: the conversation's",
      },
    },
  },
};
type Config = typeof defaults;

const TASK_TOOL = "task";
const HELPER_TASK = "helper"; // the task of its requests
const READERS = (
  "read_file list_dir glob grep find_definition find_references get_structure repo_map " +
  "git_log git_diff web_fetch web_search"
).split(" ");
const HELPER_PROMPT = `You look into something for a colleague, who sees of it only your last
message. Find out what is asked with your tools, and stay with that. Then report in at most fifteen
sentences: what you found, with paths and line numbers or addresses, and what you could not find.`;

/** A helper at work. */
interface Helper {
  number: number;
  level: number; // 1: sent by the conversation; 2: by a helper; …
  question: string;
  doing: string;
  calls: number;
}

interface State {
  working: Set<Helper>;
  sent: number;
  inTurn: number; // helpers sent in this turn
  current?: AsyncLocalStorage<Helper>; // the helper that an event belongs to
}

export default (zz: Zz<Config>) => {
  const state: State = { working: new Set(), sent: 0, inTurn: 0 };
  zz.tool({
    name: TASK_TOOL,
    description:
      "Send a helper to find something out; it reads as much as it needs and reports. " +
      "Several at once work side by side.",
    params: {
      question: "string all that the helper has to know: it sees nothing of this conversation",
      agent: "string? one of the agents, if any are listed",
    },
    also: { agent: ["subagent_type"] },
    timeout: 3_600_000,
    // An empty need of another kind keeps a helper that may do more than read from running next to
    // other calls.
    needs: (_, ctx) => (mayChange(zz.config, ctx) ? { write: [] } : {}),
    kind: "read",
    describe: ({ question }) => oneLine(question),
    render: ({ text, data }) => {
      const { calls } = (data ?? {}) as { calls?: number };
      return calls === undefined ? oneLine(text) : `${plural(calls, "call")} · ${oneLine(text)}`;
    },
    run: ({ question, agent = "" }, ctx) => sendHelper(state, zz.config, { question, agent }, ctx),
  });
  zz.layer({ name: "agents", slot: "memory", budget: 1_500, text: agentList });
  zz.on("phase", ({ to }) => {
    if (to === "idle") state.inTurn = 0;
  });
  zz.on("replied", ({ task, calls }, ctx) => {
    const activeHelper = task === HELPER_TASK ? state.current?.getStore() : undefined;
    if (!activeHelper) return;
    activeHelper.doing =
      calls
        .map((toolCall) => `${toolCall.name} ${ctx.about.line(toolCall) ?? ""}`.trim())
        .join(", ") || "reporting";
    showProgress(state, ctx);
  });
  zz.on("called", ({ call, inner }, ctx) => {
    // what plugins lend one another is none
    const isTool = ctx.about.tools.some(({ name }) => name === call.name);
    const activeHelper = inner && isTool ? state.current?.getStore() : undefined;
    if (!activeHelper) return;
    activeHelper.calls++;
    showProgress(state, ctx);
  });
};

type Errand = { question: string; agent: string };

async function sendHelper(state: State, config: Config, errand: Errand, ctx: Ctx): Promise<Result> {
  const { question } = errand;
  const { working } = state;
  const { AsyncLocalStorage } = await import("node:async_hooks");
  // several calls may have waited for the import
  const current = (state.current ??= new AsyncLocalStorage());
  const level = (current.getStore()?.level ?? 0) + 1;
  if (level > config.depth)
    throw fault(`Cannot send a helper: helpers send none ("helpers.depth"). Look for it yourself.`);
  // a program called it, outside of any turn
  if (ctx.chat.phase === "idle" && !working.size) state.inTurn = 0;
  if (++state.inTurn > config.most)
    throw fault(
      `Cannot send a helper: this turn has sent ${plural(config.most, "helper")} ` +
        '("helpers.most"). Answer with what was found.',
    );
  if (!working.size) state.sent = 0;
  const newHelper: Helper = {
    number: ++state.sent,
    level,
    question: oneLine(question),
    doing: "thinking",
    calls: 0,
  };
  working.add(newHelper);
  showProgress(state, ctx);
  try {
    return await current.run(newHelper, () => runHelper(config, newHelper, errand, ctx));
  } finally {
    working.delete(newHelper);
    showProgress(state, ctx);
  }
}

/** Shows a line for each helper, under the line of the call. */
function showProgress({ working }: State, ctx: Ctx): void {
  const helperLines = [...working].map(({ number, question, doing, calls }) => {
    const shortQuestion = question.length > 30 ? `${question.slice(0, 29)}…` : question;
    return `${number} ${shortQuestion} · ${calls ? `${plural(calls, "call")} · ` : ""}${doing}`;
  });
  ctx.progress(helperLines.join("\n"));
}

async function toolsOf(config: Config, { about, service }: Ctx, level: number): Promise<string[]> {
  const allNames = about.tools.map(({ name }) => name);
  const { depth } = config;
  const configuredTools: string[] = [];
  for (const toolName of config.tools) {
    const ownName = allNames.includes(toolName)
      ? toolName
      : await service("toolNames")?.own(toolName);
    if (!ownName || !allNames.includes(ownName))
      throw fault(`Cannot give helpers '${toolName}': ${unknown("tool", toolName, allNames)}`);
    configuredTools.push(ownName);
  }
  const readingTools = about.tools.flatMap(({ name, kind }) =>
    READERS.includes(name) && kind === "read" ? name : [],
  );
  const extraTools = configuredTools.filter((toolName) => toolName !== TASK_TOOL);
  return [...new Set([...readingTools, ...extraTools, ...(level < depth ? [TASK_TOOL] : [])])];
}

const mayChange = ({ tools }: Config, { about }: Ctx): boolean =>
  tools.some((toolName) => about.tools.find(({ name }) => name === toolName)?.kind !== "read");

async function runHelper(config: Config, helper: Helper, { question, agent }: Errand, ctx: Ctx) {
  const { rounds, model } = config;
  const tools = await toolsOf(config, ctx, helper.level);
  const messages = [{ role: "user" as const, text: question }];
  // most agents of other programs say general-purpose where they mean none
  const chosenAgent = agent && agent !== "general-purpose" ? agentNamed(agent, ctx) : undefined;
  const system = chosenAgent ? `${chosenAgent.system}\n\n${HELPER_PROMPT}` : HELPER_PROMPT;
  const helperRequest = {
    task: HELPER_TASK,
    system,
    messages,
    tools,
    rounds,
    ...(model && { model }),
  };
  const reply = await ctx.request(helperRequest);
  if (!reply.text.trim())
    throw fault("The helper answered with nothing. Ask more precisely, or look for it yourself.");
  const cutOffNote = reply.finish === "length" ? "\n[The output limit cut this report off.]" : "";
  return {
    text: reply.text + cutOffNote,
    data: { model: reply.model, calls: helper.calls, rounds },
  };
}
