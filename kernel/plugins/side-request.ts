// ctx.request(): asks a model outside of the conversation, with tools if it gets some.

import type { Call, Message, Reply, SideRequest } from "../contract.ts";
import { saveEntry } from "../conversation/save-chat.ts";
import { sendRequest } from "../conversation/send-request.ts";
import type { Core, LiveChat, TurnContext } from "../instance.ts";
import { unknown } from "../text/did-you-mean.ts";
import { ownValue, sumUsage } from "../text/words.ts";
import { findTool, offeredTools, requireTool, runCall } from "./run-call.ts";

const HELPER_ROUNDS = 10;
const NO_MORE_TOOLS = "No more tools can be used now. Answer with what you know.";

/** Its cost is saved; with tools also an entry with the question, the calls, and the answer. */
export async function sideRequest(turn: TurnContext, sideQuestion: SideRequest): Promise<Reply> {
  const { core, chat, ctx } = turn;
  const {
    task,
    system = "",
    model = ownValue(core.options.settings.models, task) ?? chat.model,
    rounds = HELPER_ROUNDS,
  } = sideQuestion;
  const messages = [...sideQuestion.messages];
  const usableTools = await toolsFor(core, sideQuestion.tools ?? []);
  const helperTurn = { core, chat: chatForHelper(chat, messages), ctx };
  const progress: HelperProgress = { calls: [], usages: [], started: Date.now() };
  try {
    for (let roundsLeft = usableTools.length ? rounds : 0; ; roundsLeft--) {
      const reply = await sendRequest(turn, {
        task,
        model,
        system,
        messages,
        tools: roundsLeft > 0 ? usableTools : [],
      });
      const { text, calls, usage, extra } = reply;
      const replyModel = reply.model ?? model;
      saveEntry(core, chat, "spent", { task, model: replyModel, ...(usage && { usage }) });
      progress.usages.push(usage);
      if (!calls.length || roundsLeft <= 0) return (progress.reply = reply);
      messages.push({ role: "assistant", text, calls, model: replyModel, ...(extra && { extra }) });
      for (const toolCall of calls) messages.push(await runHelperCall(toolCall));
      if (roundsLeft === 1) messages.push({ role: "user", text: NO_MORE_TOOLS });
    }
  } finally {
    if (sideQuestion.tools) keepHelper(turn, sideQuestion, progress, model);
  }

  async function runHelperCall(toolCall: Call): Promise<Message> {
    const { id, name, args } = toolCall;
    const usableNames = usableTools.map((usableTool) => usableTool.name);
    if (!usableNames.includes(findTool(core, name)?.name ?? ""))
      toolCall.broken = `Cannot call '${name}': ${unknown("tool", name, usableNames)}`;
    const { text, failed, images } = await runCall(helperTurn, toolCall, true);
    progress.calls.push({ name, args, ...(failed && { failed }) });
    ctx.signal.throwIfAborted();
    return { role: "tool", id, name, text, ...(failed && { failed }), ...(images && { images }) };
  }
}

/** What it came to so far. */
interface HelperProgress {
  calls: (Pick<Call, "name" | "args"> & { failed?: boolean })[];
  usages: Reply["usage"][];
  started: number;
  reply?: Reply;
}

/** Without a reply: it failed or was stopped. */
function keepHelper(
  { core, chat }: TurnContext,
  { task, messages }: SideRequest,
  progress: HelperProgress,
  askedModel: string,
): void {
  const { reply, calls, usages, started } = progress;
  const question = messages.findLast(({ role }) => role === "user")?.text ?? "";
  const outcome = reply ? { text: reply.text } : { failed: true };
  const replyModel = reply?.model ?? askedModel;
  saveEntry(core, chat, "helper", {
    task,
    model: replyModel,
    question,
    calls,
    ...outcome,
    usage: sumUsage(usages),
    ms: Date.now() - started,
  });
}

/** The tools that it may use, among those of this run. An unknown name is refused. */
async function toolsFor(
  core: Core,
  wantedNames: string[],
): Promise<ReturnType<typeof offeredTools>> {
  const tools = await Promise.all(wantedNames.map((wantedName) => requireTool(core, wantedName)));
  const toolNames = tools.map((tool) => tool.name);
  return offeredTools(core).filter(({ name }) => toolNames.includes(name));
}

/** It has a record of its own of files that were read, and rounds of its own. */
function chatForHelper(chat: LiveChat, messages: Message[]): LiveChat {
  if (!chat.session) return chat; // a new session would begin in the copy
  return Object.assign(Object.create(chat), {
    seen: new Map(),
    unsavedSeen: new Set(),
    messages,
    phase: "executing_tools",
  });
}
