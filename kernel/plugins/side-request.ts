// ctx.request(): asks a model outside of the conversation, with tools if it gets some.

import type { Call, Message, Reply, SideRequest } from "../contract.ts";
import { saveEntry } from "../conversation/chat.ts";
import { sendRequest } from "../conversation/send-request.ts";
import type { Core, LiveChat, TurnContext } from "../instance.ts";
import { unknown } from "../text/did-you-mean.ts";
import { sumUsage } from "../text/words.ts";
import { findTool, offeredTools, requireTool, runCall } from "./run-call.ts";

const ROUNDS = 10;
const NO_MORE_TOOLS = "No more tools can be used now. Answer with what you know.";

/** Its cost is saved; with tools also an entry with the question, the calls, and the answer. */
export async function sideRequest(place: TurnContext, asked: SideRequest): Promise<Reply> {
  const { core, chat, ctx } = place;
  const {
    task,
    system = "",
    model = core.options.settings.models?.[task] ?? chat.model,
    rounds = ROUNDS,
  } = asked;
  const messages = [...asked.messages];
  const tools = toolsFor(core, asked.tools ?? []);
  const own = { core, chat: chatForHelper(chat, messages), ctx };
  const made: HelperProgress = { calls: [], usages: [], started: Date.now() };
  try {
    for (let left = tools.length ? rounds : 0; ; left--) {
      const reply = await sendRequest(place, {
        task,
        model,
        system,
        messages,
        tools: left > 0 ? tools : [],
      });
      const { text, calls, usage, extra } = reply;
      const by = reply.model ?? model;
      saveEntry(core, chat, "spent", { task, model: by, ...(usage && { usage }) });
      made.usages.push(usage);
      if (!calls.length || left <= 0) return (made.reply = reply);
      messages.push({ role: "assistant", text, calls, model: by, ...(extra && { extra }) });
      for (const call of calls) messages.push(await resultOf(call));
      if (left === 1) messages.push({ role: "user", text: NO_MORE_TOOLS });
    }
  } finally {
    if (asked.tools) keepHelper(place, asked, made, model);
  }

  async function resultOf(call: Call): Promise<Message> {
    const { id, name, args } = call;
    const names = tools.map((tool) => tool.name);
    if (!names.includes(findTool(core, name)?.name ?? ""))
      call.broken = `Cannot call '${name}': ${unknown("tool", name, names)}`;
    const { text, failed, images } = await runCall(own, call, true);
    made.calls.push({ name, args, ...(failed && { failed }) });
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
  made: HelperProgress,
  model: string,
): void {
  const { reply, calls, usages, started } = made;
  const question = messages.findLast(({ role }) => role === "user")?.text ?? "";
  const said = reply ? { text: reply.text } : { failed: true };
  const by = reply?.model ?? model;
  saveEntry(core, chat, "helper", {
    task,
    model: by,
    question,
    calls,
    ...said,
    usage: sumUsage(usages),
    ms: Date.now() - started,
  });
}

/** The tools that it may use, among those of this run. An unknown name is refused. */
function toolsFor(core: Core, given: string[]): ReturnType<typeof offeredTools> {
  const names = given.map((name) => requireTool(core, name).name);
  return offeredTools(core).filter(({ name }) => names.includes(name));
}

/** It has a record of its own of files that were read, and rounds of its own. */
function chatForHelper(chat: LiveChat, messages: Message[]): LiveChat {
  if (!chat.session) return chat; // a new session would begin in the copy
  const view = { seen: new Map(), unsavedSeen: new Set(), messages, phase: "executing_tools" };
  return Object.create(
    chat,
    Object.fromEntries(Object.entries(view).map(([name, value]) => [name, { value }])),
  );
}
