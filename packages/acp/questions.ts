// Asks zz's questions in the editor's own dialogs.
import * as acp from "@agentclientprotocol/sdk";
import type { Choice, Person } from "zz";
import { oneLine, withoutFrame } from "zz/text";
import { inCall } from "./blocks.ts";
import { type Running, running, type Talk, tell } from "./talk.ts";
import { diffOf, textUpdate } from "./updates.ts";

const OPTIONS = [
  { optionId: "y", name: "Allow", kind: "allow_once" },
  { optionId: "A", name: "Always allow in this session", kind: "allow_always" },
  { optionId: "F", name: "Always allow this kind of command", kind: "allow_always" },
  { optionId: "n", name: "Reject", kind: "reject_once" },
] as const;

export function askThrough(talk: Talk): Person {
  return {
    ask: (question, answerKeys) =>
      answerKeys ? chooseKey(talk, question, answerKeys) : askForText(talk, question),
    // why a turn failed is in the answer to its request
    note: (noteText) =>
      void (talk.failed || tell(talk, textUpdate("agent_message_chunk", `${noteText}\n\n`))),
    pick: (question, choices) => pickChoice(talk, question, choices),
  };
}

/**
 * Asks for a key, and shows what would change. If the person closes the question, the answer is no.
 */
async function chooseKey(talk: Talk, question: string, answerKeys: string): Promise<string> {
  const callState = running.getStore();
  const questionText = withoutFrame(question);
  const { changes = [], preview = "" } = callState ?? {};
  // The editor draws the differences itself; whatever else the question says stays, so that it
  // shows what the prompt would.
  const text =
    preview && questionText.includes(preview)
      ? questionText.replace(preview, () => aboutOf(callState!))
      : questionText;
  const content = [
    inCall({ type: "text", text }),
    ...changes.map((change) => diffOf(talk.ctx, change)),
  ];
  const pickedKey = await request(talk, {
    toolCall: {
      toolCallId: callState?.id ?? `question ${++questionCount}`,
      title: oneLine(questionText.split("\n")[0]!),
      content,
    },
    options: OPTIONS.filter(({ optionId }) => answerKeys.includes(optionId)),
  });
  return pickedKey ?? (answerKeys.includes("n") ? "n" : "");
}
let questionCount = 0;

/**
 * What differences do not show: the command, and of each file whether it is new or goes, is a link,
 * can be run …
 */
const aboutOf = ({ about, changes }: Running): string =>
  [
    about,
    ...changes.map(({ path, before, after, note }) => {
      const changeWord = changeOf(before, after);
      return `${path}: ${[changeWord, note].filter(Boolean).join(", ")}`;
    }),
  ]
    .filter(Boolean)
    .join("\n");

function changeOf(textBefore: unknown, textAfter: unknown): string {
  if (textAfter === undefined) return "deleted";
  return textBefore === undefined ? "new" : "changed";
}

async function request(
  talk: Talk,
  permissionFields: Pick<acp.RequestPermissionRequest, "toolCall" | "options">,
): Promise<string | undefined> {
  const params = { sessionId: talk.id, ...permissionFields };
  try {
    const options = { cancellationSignal: talk.turn.signal, stopWaitingOnCancel: true };
    const method = acp.methods.client.session.requestPermission;
    const { outcome } = await talk.editor.request<acp.RequestPermissionResponse>(
      method,
      params,
      options,
    );
    return outcome.outcome === "selected" ? outcome.optionId : undefined;
  } catch {
    return undefined; // the editor is gone, or cancelled the turn
  }
}

/** Asks for a line of text; "" if the editor cannot ask for one. */
async function askForText({ editor, id, can, turn }: Talk, question: string): Promise<string> {
  if (!can.elicitation?.form) return "";
  try {
    const formAnswer = await editor.request(
      acp.methods.client.elicitation.create,
      {
        mode: "form",
        sessionId: id,
        message: withoutFrame(question),
        requestedSchema: {
          type: "object",
          properties: { answer: { type: "string", title: "Answer" } },
        },
      } as acp.CreateElicitationRequest,
      { cancellationSignal: turn.signal, stopWaitingOnCancel: true },
    );
    const answerText = (formAnswer as any).content?.answer;
    return typeof answerText === "string" ? answerText : "";
  } catch {
    return "";
  }
}

async function pickChoice(
  talk: Talk,
  question: string,
  choices: readonly (string | Choice)[],
): Promise<string | undefined> {
  const named = choices.map((choice) => (typeof choice === "string" ? { name: choice } : choice));
  const options = named.map(({ name, description }, i) => ({
    optionId: String(i),
    name: description ? `${name}: ${description}` : name,
    kind: "allow_once" as const,
  }));
  const content = [inCall({ type: "text", text: question })];
  const noneOption = { optionId: "none", name: "None of them", kind: "reject_once" as const };
  const pickedIndex = await request(talk, {
    toolCall: { toolCallId: `question ${++questionCount}`, title: oneLine(question), content },
    options: [...options, noneOption],
  });
  return named[Number(pickedIndex)]?.name;
}
