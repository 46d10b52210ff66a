// One conversation with an editor: the editor's prompts become turns of zz; what zz does becomes
// updates, questions and diffs of the protocol.
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import type { AgentContext, AnyMessage, ContentBlock, StopReason } from "@agentclientprotocol/sdk";
import * as acp from "@agentclientprotocol/sdk";
import type { DialogHost, Image, Rule, Ruling, Zz } from "zz";
import { mediaIn, ownValue, sentenceOf } from "zz/text";
import { keepName, lastKeyOf, namesIn } from "./names.ts";
import { askThrough } from "./questions.ts";
import { lendServers } from "./servers.ts";
import { type Running, running, type Talk, tell } from "./talk.ts";
import {
  callEndUpdate,
  callStartUpdate,
  commandsOf,
  historyOf,
  optionsOf,
  optionsWith,
  stopReasonOf,
  textUpdate,
} from "./updates.ts";
import { showWriting, tellRest } from "./writing.ts";

const MODES: Record<string, { name: string; description: string; rules: Rule[] }> = {
  ask: {
    name: "Ask",
    description: "asks before it changes files or runs what may do harm",
    rules: [],
  },
  edit: {
    name: "Edit",
    description: "changes files of the project without asking",
    rules: [{ verdict: "allow", kind: "write", name: ".", from: "answer" }],
  },
  read: {
    name: "Read",
    description: "only reads",
    rules: [
      { verdict: "deny", kind: "write", from: "answer", why: "the editor is in the mode Read" },
      { verdict: "deny", kind: "run", from: "answer", why: "the editor is in the mode Read" },
    ],
  },
};

/** Runs until the editor leaves. */
export async function talk(zz: Zz, dialogHost: DialogHost): Promise<number> {
  let liveTalk: Talk | undefined;
  let can: acp.ClientCapabilities = {};
  const openWithServers = async (
    editor: AgentContext,
    id: string,
    servers: acp.McpServer[] = [],
  ): Promise<Talk> => {
    liveTalk = await openTalk(zz, dialogHost, { id, editor, can });
    await lendServers(servers, liveTalk.ctx);
    return liveTalk;
  };
  const current = (): Talk => {
    if (liveTalk) return liveTalk;
    throw new acp.RequestError(-32002, "Cannot do that yet: there is no session.");
  };
  const { initialize, session } = acp.methods.agent;
  const connection = acp
    .agent({ name: "zz" })
    .onRequest(initialize, ({ params }) => {
      can = params.clientCapabilities ?? {};
      return { protocolVersion: acp.PROTOCOL_VERSION };
    })
    .onRequest(session.new, async ({ client, params }) => {
      const newTalk = await openWithServers(client, randomUUID(), params.mcpServers);
      return { sessionId: newTalk.id, ...(await describeSession(newTalk)) };
    })
    .onRequest(session.load, async ({ client, params }) => {
      const loadedTalk = await openWithServers(client, params.sessionId, params.mcpServers);
      for (const pastUpdate of historyOf(loadedTalk.ctx)) await tell(loadedTalk, pastUpdate);
      return describeSession(loadedTalk);
    })
    .onRequest(session.resume, async ({ client, params }) =>
      describeSession(await openWithServers(client, params.sessionId, params.mcpServers)),
    )
    .onRequest(session.setMode, ({ params }) => setMode(current(), params.modeId))
    .onRequest(session.setConfigOption, async ({ params }) => {
      const { ctx } = current();
      if (params.configId !== "model")
        throw acp.RequestError.invalidParams(undefined, `there is no option '${params.configId}'`);
      await ctx.chat.use(String(params.value));
      return { configOptions: await optionsOf(ctx) };
    })
    .onRequest(session.prompt, async ({ params }) => ({
      stopReason: await runPrompt(current(), params.prompt, promptKeyIn(params)),
    }))
    .onNotification(session.cancel, () => cancelTurn(liveTalk))
    .connect(streamOfParent());
  await connection.closed;
  cancelTurn(liveTalk);
  return 0;
}

async function openTalk(
  zz: Zz,
  host: DialogHost,
  session: Pick<Talk, "id" | "editor" | "can">,
): Promise<Talk> {
  const newTalk: Talk = {
    ...session,
    zz,
    host,
    ctx: await host.open(),
    mode: "ask",
    turn: new AbortController(),
    finish: "stop",
    busy: false,
    written: "",
  };
  watchEvents(newTalk);
  host.meet(askThrough(newTalk));
  return newTalk;
}

/** A stream over the channel to the parent process, which passes messages as objects. */
function streamOfParent(): acp.Stream {
  return {
    readable: new ReadableStream<AnyMessage>({
      start(controller) {
        process.on("message", (message) => controller.enqueue(message as AnyMessage));
        process.once("disconnect", () => controller.close());
      },
    }),
    writable: new WritableStream<AnyMessage>({
      write: (message) =>
        new Promise<void>((resolveWrite) =>
          process.connected
            ? process.send!(message, undefined, undefined, () => resolveWrite())
            : resolveWrite(),
        ),
    }),
  };
}

/** The answer to a request that begins a session. What takes longer is sent as updates after it. */
async function describeSession(talk: Talk) {
  const { ctx, mode } = talk;
  setTimeout(async () => {
    await tell(talk, {
      sessionUpdate: "available_commands_update",
      availableCommands: commandsOf(ctx),
    });
    await tell(talk, {
      sessionUpdate: "config_option_update",
      configOptions: await optionsOf(ctx),
    });
  });
  const last = lastKeyOf(ctx, talk.id);
  return {
    ...(last !== undefined && { _meta: { zz: { last } } }),
    modes: {
      currentModeId: mode,
      availableModes: Object.entries(MODES).map(([id, { name, description }]) => ({
        id,
        name,
        description,
      })),
    },
    configOptions: optionsWith(ctx, []),
  };
}

function setMode(talk: Talk, modeName: string): Record<string, never> {
  const { permissions } = talk.ctx;
  const newMode = ownValue(MODES, modeName);
  if (!newMode) throw acp.RequestError.invalidParams(undefined, `there is no mode '${modeName}'`);
  for (const rule of MODES[talk.mode]!.rules) permissions.drop(rule);
  for (const rule of newMode.rules) permissions.add(rule);
  talk.mode = modeName;
  return {};
}

function cancelTurn(talk?: Talk): void {
  talk?.turn.abort();
  talk?.host.stop();
}

/** A client's own key for a prompt: after a crash it asks whether zz had got it. */
const promptKeyIn = ({ _meta }: acp.PromptRequest): string | undefined => {
  const key = (_meta as any)?.zz?.key;
  return typeof key === "string" ? key : undefined;
};

/** So that the session is found by the editor's name, whatever ends this process. */
function nameSession({ ctx, id, key }: Talk): void {
  const { id: ownSessionId } = ctx.chat;
  if (!ownSessionId) return;
  const isNameKept = namesIn(ctx)[id] === ownSessionId || id === ownSessionId;
  if (!isNameKept || (key !== undefined && key !== lastKeyOf(ctx, id)))
    keepName(ctx, id, ownSessionId, key);
}

async function runPrompt(
  talk: Talk,
  blocks: ContentBlock[],
  key: string | undefined,
): Promise<StopReason> {
  const { host, ctx } = talk;
  if (talk.busy)
    throw acp.RequestError.invalidRequest(
      undefined,
      "a turn is under way; cancel it, or wait for it",
    );
  Object.assign(talk, {
    busy: true,
    failed: undefined,
    finish: "stop",
    turn: new AbortController(),
    key,
  });
  try {
    const promptParts = blocks.map(partOf); // throws before anything is attached
    for (const { attached } of promptParts) if (attached) ctx.chat.attach(attached);
    const words = promptParts.flatMap((promptPart) => promptPart.words ?? []).join("\n\n");
    if (words.startsWith("/")) nameSession(talk); // a command may do what must not be done twice
    await host.obey(words);
  } finally {
    talk.busy = false;
    nameSession(talk);
  }
  const { failed } = talk as Talk;
  if (talk.turn.signal.aborted || failed?.exit === 130) return "cancelled";
  if (failed && failed.exit !== 3) throw acp.RequestError.internalError(undefined, failed.message);
  const { used, window } = ctx.chat;
  if (used && window) await tell(talk, { sessionUpdate: "usage_update", used, size: window });
  return stopReasonOf(failed ? "filter" : talk.finish);
}

/** The words of one part of a prompt, or what goes with the message: a file or an image. */
function partOf(promptBlock: ContentBlock): { words?: string; attached?: string | Image } {
  if (promptBlock.type === "text") return { words: promptBlock.text };
  if (promptBlock.type === "audio")
    throw cannotTake(
      "a sound",
      "only text, images and files are taken here. Name its file instead.",
    );
  if (promptBlock.type === "image")
    return { attached: imageIn(promptBlock.data, promptBlock.mimeType) };
  if (promptBlock.type === "resource_link")
    return { words: pathOrUri(promptBlock.uri, promptBlock.name) };
  const { resource } = promptBlock;
  if ("text" in resource)
    return {
      attached: `<file name=${JSON.stringify(pathOrUri(resource.uri))}>\n${resource.text}\n</file>`,
    };
  return resource.mimeType?.startsWith("image/")
    ? { attached: imageIn(resource.blob, resource.mimeType) }
    : { words: pathOrUri(resource.uri) };
}

const cannotTake = (refusedContent: string, reason: string): Error =>
  new acp.RequestError(-32602, `Cannot take ${refusedContent}: ${reason}`);

/** An image by its bytes: a model's server would refuse the whole conversation for a broken one. */
function imageIn(base64Data: string, declaredType: string): Image {
  const imageBytes = Buffer.from(base64Data, "base64");
  try {
    const media = mediaIn(imageBytes);
    if (media?.type.startsWith("image/")) return { type: media.type, base64: media.base64 };
  } catch (error) {
    throw cannotTake(`the image (${declaredType})`, sentenceOf(error));
  }
  throw cannotTake(
    `the image (${declaredType})`,
    "it is no PNG, JPEG, WebP or GIF. Attach it again.",
  );
}

/** The path of a file's URI; of another URI, its name and the URI. */
function pathOrUri(resourceUri: string, resourceName = resourceUri): string {
  const parsedUri = URL.canParse(resourceUri) ? new URL(resourceUri) : undefined;
  return parsedUri?.protocol === "file:"
    ? decodeURIComponent(parsedUri.pathname)
    : `${resourceName === resourceUri ? "" : `${resourceName}: `}${resourceUri}`;
}

/**
 * Reports what happens in zz to the editor, and refuses calls that change files with unsaved text
 * there.
 */
function watchEvents(talk: Talk): void {
  const { zz, ctx } = talk;
  showWriting(talk);
  zz.on("requested", () => nameSession(talk)); // the message is saved, and nothing was done yet
  zz.on("thought", ({ text }) => tell(talk, textUpdate("agent_thought_chunk", text)));
  zz.on("planned", async ({ text }) => void (text.trim() && (await tellRest(talk, `${text}\n\n`))));
  zz.on("answered", async ({ text, finish }) => {
    talk.finish = finish;
    await tellRest(talk, text);
  });
  zz.on("failed", async (turnFailure) => {
    talk.failed = turnFailure;
    const lastMessage = ctx.chat.messages.at(-1);
    if (lastMessage?.role === "assistant" && lastMessage.cut && lastMessage.text)
      await tellRest(talk, lastMessage.text);
  });
  zz.wrap(
    "call",
    async (toolCall, runNext, callCtx) => {
      // between plugins
      if (Object.values(toolCall.args).some((argument) => typeof argument === "function"))
        return runNext(toolCall);
      const callState: Running = { id: toolCall.id || randomUUID(), changes: [], unsaved: [] };
      await tell(talk, callStartUpdate(callCtx, callState.id, toolCall));
      const callResult = await running
        .run(callState, () => runNext(toolCall))
        .catch(async (error: Error) => {
          const failedResult = { text: sentenceOf(error), failed: true };
          await tell(talk, callEndUpdate(callCtx, callState, failedResult));
          throw error;
        });
      await tell(talk, callEndUpdate(callCtx, callState, callResult));
      // what a no keeps back, the editor's text is as well
      return callState.unsaved.length && !callResult.refused
        ? { ...callResult, text: [callResult.text, ...callState.unsaved].join("\n") }
        : callResult;
    },
    "first",
  );
  zz.wrap("gate", async (judged, runNext, { permissions }) => {
    const neededNames = [...(judged.needs.write ?? []), ...(judged.needs.read ?? [])].map(
      (fileNeed) => (typeof fileNeed === "string" ? fileNeed : fileNeed.name),
    );
    const neededFiles = [...new Set(neededNames)]
      .slice(0, 20)
      .map((neededName) => permissions.place(neededName));
    return (await lookAtFiles(talk, neededFiles, judged.kind !== "read")) ?? runNext(judged);
  });
  zz.wrap(
    "preview",
    async (previewInput, runNext) => {
      const preview = await runNext(previewInput);
      const { changes, about } = previewInput;
      Object.assign(running.getStore() ?? {}, { changes, about, preview });
      return preview;
    },
    "first",
  );
}

/** Shows which files a call needs. Denies it where it would change unsaved text. */
async function lookAtFiles(
  talk: Talk,
  neededFiles: string[],
  changesFiles: boolean,
): Promise<Ruling | undefined> {
  const callState = running.getStore();
  if (callState && neededFiles.length)
    await tell(talk, {
      sessionUpdate: "tool_call_update",
      toolCallId: callState.id,
      locations: neededFiles.map((path) => ({ path })),
    });
  for (const neededFile of neededFiles) {
    const editorText = await unsavedText(talk, neededFile);
    if (editorText === undefined) continue;
    if (changesFiles)
      return {
        verdict: "deny",
        why:
          `'${neededFile}' has changes in the editor that are not saved. ` +
          "Ask the person to save it first.",
      };
    callState?.unsaved.push(
      `[In the editor '${neededFile}' has changes that are not saved. ` +
        `With them it is:\n${editorText}\n]`,
    );
  }
  return undefined;
}

const PATIENCE_MS = 2_000;
/** A file's text in the editor, if it differs from the disk. */
async function unsavedText(
  { can, ctx, editor, id }: Talk,
  filePath: string,
): Promise<string | undefined> {
  if (!can.fs?.readTextFile) return undefined;
  try {
    if (!fs.statSync(filePath).isFile()) return undefined;
    const savedText = fs.readFileSync(filePath, "utf8");
    const options = {
      cancellationSignal: ctx.io.clock.limit(PATIENCE_MS),
      stopWaitingOnCancel: true,
    };
    const method = acp.methods.client.fs.readTextFile;
    const { content } = await editor.request<acp.ReadTextFileResponse>(
      method,
      { sessionId: id, path: filePath },
      options,
    );
    return content === savedText ? undefined : content;
  } catch {
    return undefined; // the editor does not know the file
  }
}
