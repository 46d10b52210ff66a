// Turns zz's events into updates of the protocol.
import type {
  SessionConfigOption,
  SessionUpdate,
  StopReason,
  ToolCallContent,
  ToolKind,
} from "@agentclientprotocol/sdk";
import type { Answer, Call, Ctx, Difference, Model, Result } from "zz";
import { clip, oneLine } from "zz/text";
import { fileBlock, imageBlock, inCall } from "./blocks.ts";
import type { Running } from "./talk.ts";

const MAX_RESULT_CHARS = 20_000; // of a result in the editor; the model gets all of it
const TITLE_CHARS = 200;

export const textUpdate = (
  sessionUpdate: "agent_message_chunk" | "agent_thought_chunk" | "user_message_chunk",
  text: string,
): SessionUpdate => ({ sessionUpdate, content: { type: "text", text } });

export function callStartUpdate(
  ctx: Ctx,
  id: string,
  { name, args }: Pick<Call, "name" | "args">,
): SessionUpdate {
  return {
    sessionUpdate: "tool_call",
    toolCallId: id,
    title: titleOf(ctx, name, args),
    name,
    kind: kindOf(ctx, name),
    status: "in_progress",
    rawInput: args,
  };
}

function titleOf({ about }: Ctx, name: string, args: Call["args"]): string {
  const titleWords =
    about.line({ name, args }) ??
    Object.values(args)
      .filter((argumentValue) => typeof argumentValue === "string")
      .join(" ");
  return clip(oneLine(titleWords ? `${name} ${titleWords}` : name), TITLE_CHARS);
}

const KINDS_BY_NAME: [RegExp, ToolKind][] = [
  [/^delete/, "delete"],
  [/^move|^rename/, "move"],
  [/grep|glob|search|find|references|definition/, "search"],
  [/fetch|^web_/, "fetch"],
];
function kindOf({ about }: Ctx, toolName: string): ToolKind {
  const calledTool = about.tools.find((candidate) => candidate.name === toolName);
  const kindByName = KINDS_BY_NAME.find(([pattern]) => pattern.test(toolName))?.[1];
  return (
    kindByName ??
    ({ read: "read", change: "edit", run: "execute" } as const)[calledTool?.kind ?? "run"]
  );
}

export function callEndUpdate(
  ctx: Ctx,
  { id, changes }: Running,
  { text, failed, images = [], files = [] }: Result,
): SessionUpdate {
  const shownText = clip(text, MAX_RESULT_CHARS);
  return {
    sessionUpdate: "tool_call_update",
    toolCallId: id,
    status: failed ? "failed" : "completed",
    content: [
      ...(failed ? [] : changes.map((change) => diffOf(ctx, change))),
      ...(shownText ? [inCall({ type: "text", text: shownText })] : []),
      ...[...images.map(imageBlock), ...files.map(fileBlock)].map(inCall),
    ],
  };
}

export const diffOf = (
  { permissions }: Ctx,
  { path, before, after }: Difference,
): ToolCallContent => ({
  type: "diff",
  path: permissions.place(path),
  newText: after ?? "",
  oldText: before ?? null,
});

export function stopReasonOf(finishReason: Answer["finish"]): StopReason {
  if (finishReason === "length") return "max_tokens";
  if (finishReason === "rounds" || finishReason === "repeat") return "max_turn_requests";
  return finishReason === "refusal" || finishReason === "filter" ? "refusal" : "end_turn";
}

/** What an editor does itself, or what needs a terminal. */
const NOT_FOR_EDITORS = ["copy", "edit", "exit", "paste", "quit"];

export const commandsOf = ({ about }: Ctx) =>
  about.commands
    .filter(({ name }) => !NOT_FOR_EDITORS.includes(name))
    .map(({ name, description, usage }) => ({
      name,
      description,
      ...(usage && { input: { hint: usage } }),
    }));

/** The models of all providers that answer. */
export async function optionsOf(ctx: Ctx): Promise<SessionConfigOption[]> {
  const { models } = await ctx.about.models().catch(() => ({ models: [] }));
  return optionsWith(ctx, models);
}

export function optionsWith({ chat }: Ctx, models: readonly Model[]): SessionConfigOption[] {
  const modelNames = [...new Set([chat.model, ...models.map(({ id }) => id)])];
  return [
    {
      id: "model",
      name: "Model",
      category: "model",
      type: "select",
      currentValue: chat.model,
      options: modelNames.map((name) => ({ value: name, name })),
    },
  ];
}

/** The messages of a conversation that is loaded again. */
export function historyOf(ctx: Ctx): SessionUpdate[] {
  const { messages } = ctx.chat;
  const results = new Map(
    messages.flatMap((message) =>
      message.role === "tool" ? [[message.id, message] as const] : [],
    ),
  );
  return messages.flatMap((message): SessionUpdate[] => {
    if (message.role === "user")
      return message.aside
        ? []
        : [
            textUpdate("user_message_chunk", message.text),
            ...(message.images ?? []).map((image) => ({
              sessionUpdate: "user_message_chunk" as const,
              content: imageBlock(image),
            })),
          ];
    if (message.role === "tool") return [];
    const callUpdates = (message.calls ?? []).flatMap(({ id, name, args }) => {
      const toolResult = results.get(id);
      const endUpdate =
        toolResult && callEndUpdate(ctx, { id, changes: [], unsaved: [] }, toolResult);
      return [callStartUpdate(ctx, id, { name, args }), ...(endUpdate ? [endUpdate] : [])];
    });
    return [
      ...(message.thinking ? [textUpdate("agent_thought_chunk", message.thinking)] : []),
      ...(message.text ? [textUpdate("agent_message_chunk", message.text)] : []),
      ...callUpdates,
    ];
  });
}
