// One conversation with an editor: the editor's prompts become turns of zz; what zz does becomes
// updates, questions and diffs of the protocol.
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import type { AgentContext, AnyMessage, ContentBlock, StopReason } from "@agentclientprotocol/sdk";
import * as acp from "@agentclientprotocol/sdk";
import type { Ctx, DialogHost, Ruling, Zz } from "zz";
import { mediaIn, sentenceOf } from "zz/text";
import { keepName, lastKeyOf, namesIn } from "./names.ts";
import { askThrough } from "./questions.ts";
import { lendServers } from "./servers.ts";
import { type Running, running, type Talk, tell } from "./talk.ts";
import {
  answerOf,
  commandsOf,
  historyOf,
  optionsOf,
  optionsWith,
  startOf,
  stopReasonOf,
  textUpdate,
} from "./updates.ts";
import { showWriting, tellRest } from "./writing.ts";

const MODES = {
  ask: { name: "Ask", description: "asks before it changes files or runs what may do harm" },
  edit: { name: "Edit", description: "changes files of the project without asking" },
  read: { name: "Read", description: "only reads" },
};
const RULES = {
  ask: [],
  edit: [{ verdict: "allow", kind: "write", name: ".", from: "answer" }],
  read: [
    { verdict: "deny", kind: "write", from: "answer", why: "the editor is in the mode Read" },
    { verdict: "deny", kind: "run", from: "answer", why: "the editor is in the mode Read" },
  ],
} as const;

/** Runs until the editor leaves. */
export async function talk(zz: Zz, host: DialogHost): Promise<number> {
  let live: Talk | undefined;
  let can: acp.ClientCapabilities = {};
  const opened = async (
    editor: AgentContext,
    id: string,
    servers: acp.McpServer[] = [],
  ): Promise<Talk> => {
    live = await openTalk(zz, host, { id, editor, can });
    await lendServers(servers, live.ctx);
    return live;
  };
  const current = (): Talk => {
    if (live) return live;
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
      const talk = await opened(client, randomUUID(), params.mcpServers);
      return { sessionId: talk.id, ...(await begun(talk)) };
    })
    .onRequest(session.load, async ({ client, params }) => {
      const talk = await opened(client, params.sessionId, params.mcpServers);
      for (const update of historyOf(talk.ctx)) await tell(talk, update);
      return begun(talk);
    })
    .onRequest(session.resume, async ({ client, params }) =>
      begun(await opened(client, params.sessionId, params.mcpServers)),
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
      stopReason: await prompt(current(), params.prompt, keyIn(params)),
    }))
    .onNotification(session.cancel, () => cancel(live))
    .connect(streamOfParent());
  await connection.closed;
  cancel(live);
  return 0;
}

async function openTalk(
  zz: Zz,
  host: DialogHost,
  session: Pick<Talk, "id" | "editor" | "can">,
): Promise<Talk> {
  const talk: Talk = {
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
  watch(talk);
  host.meet(askThrough(talk));
  return talk;
}

/** A stream over the channel to the parent process, which passes messages as objects. */
function streamOfParent(): acp.Stream {
  return {
    readable: new ReadableStream<AnyMessage>({
      start(to) {
        process.on("message", (message) => to.enqueue(message as AnyMessage));
        process.once("disconnect", () => to.close());
      },
    }),
    writable: new WritableStream<AnyMessage>({
      write: (message) =>
        new Promise<void>((done) =>
          process.connected ? process.send!(message, undefined, undefined, () => done()) : done(),
        ),
    }),
  };
}

/** The answer to a request that begins a session. What takes longer is sent as updates after it. */
async function begun(talk: Talk) {
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
      availableModes: Object.entries(MODES).map(([id, about]) => ({ id, ...about })),
    },
    configOptions: optionsWith(ctx, []),
  };
}

function setMode(talk: Talk, mode: string): Record<string, never> {
  const { permissions } = talk.ctx;
  if (!Object.hasOwn(RULES, mode))
    throw acp.RequestError.invalidParams(undefined, `there is no mode '${mode}'`);
  for (const rule of RULES[talk.mode as keyof typeof RULES]) permissions.drop(rule);
  for (const rule of RULES[mode as keyof typeof RULES]) permissions.add(rule);
  talk.mode = mode;
  return {};
}

function cancel(talk?: Talk): void {
  talk?.turn.abort();
  talk?.host.stop();
}

/** A client's own key for a prompt: after a crash it asks whether zz had got it. */
const keyIn = ({ _meta }: acp.PromptRequest): string | undefined => {
  const { key } = Object((_meta as { zz?: unknown } | undefined)?.zz) as { key?: unknown };
  return typeof key === "string" ? key : undefined;
};

/** So that the session is found by the editor's name, whatever ends this process. */
function nameSession({ ctx, id, key }: Talk): void {
  const { id: own } = ctx.chat;
  if (!own) return;
  const isKept = namesIn(ctx)[id] === own || id === own;
  if (!isKept || (key !== undefined && key !== lastKeyOf(ctx, id))) keepName(ctx, id, own, key);
}

async function prompt(
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
    blocks.forEach(refuseUnusable); // before anything is attached
    const words = blocks.flatMap((block) => wordsOf(ctx, block)).join("\n\n");
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

/**
 * The text of one part of a prompt. Files and images that the person attached go with the message.
 */
function wordsOf({ chat }: Ctx, block: ContentBlock): string[] {
  if (block.type === "text") return [block.text];
  if (block.type === "image") chat.attach(imageIn(block.data, block.mimeType));
  if (block.type === "resource_link") return [pathOrUri(block.uri, block.name)];
  if (block.type === "resource") {
    const { resource } = block;
    if ("text" in resource)
      chat.attach(
        `<file name=${JSON.stringify(pathOrUri(resource.uri))}>\n${resource.text}\n</file>`,
      );
    else if (/^image\//.test(resource.mimeType ?? ""))
      chat.attach(imageIn(resource.blob, resource.mimeType!));
    else return [pathOrUri(resource.uri)];
  }
  return [];
}

function refuseUnusable(block: ContentBlock): void {
  if (block.type === "audio") throw cannotTake("a sound", NO_AUDIO);
  if (block.type === "image") imageIn(block.data, block.mimeType);
  if (block.type !== "resource" || !("blob" in block.resource)) return;
  const { blob, mimeType = "" } = block.resource;
  if (mimeType?.startsWith("image/")) imageIn(blob, mimeType);
}

const cannotTake = (what: string, reason: string): Error =>
  new acp.RequestError(-32602, `Cannot take ${what}: ${reason}`);
const NO_AUDIO = "only text, images and files are taken here. Name its file instead.";

/** An image by its bytes: a model's server would refuse all of the conversation for a broken one. */
function imageIn(base64: string, type: string): { type: string; base64: string } {
  const bytes = Buffer.from(base64, "base64");
  try {
    const media = mediaIn(bytes);
    if (media?.type.startsWith("image/")) return { type: media.type, base64: media.base64 };
  } catch (error) {
    throw cannotTake(`the image (${type})`, sentenceOf(error));
  }
  throw cannotTake(`the image (${type})`, "it is no PNG, JPEG, WebP or GIF. Attach it again.");
}

/** The path of a file's URI; of another URI, its name and the URI. */
function pathOrUri(uri: string, name = uri): string {
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  return url?.protocol === "file:"
    ? decodeURIComponent(url.pathname)
    : `${name === uri ? "" : `${name}: `}${uri}`;
}

/**
 * Reports what happens in zz to the editor, and refuses calls that change files with unsaved text
 * there.
 */
function watch(talk: Talk): void {
  const { zz, ctx } = talk;
  showWriting(talk);
  zz.on("requested", () => nameSession(talk)); // the message is saved, and nothing was done yet
  zz.on("thought", ({ text }) => tell(talk, textUpdate("agent_thought_chunk", text)));
  zz.on("planned", async ({ text }) => void (text.trim() && (await tellRest(talk, `${text}\n\n`))));
  zz.on("answered", async ({ text, finish }) => {
    talk.finish = finish;
    await tellRest(talk, text);
  });
  zz.on("failed", async (failed) => {
    talk.failed = failed;
    const last = ctx.chat.messages.at(-1);
    if (last?.role === "assistant" && last.cut && last.text) await tellRest(talk, last.text);
  });
  zz.wrap(
    "call",
    async (call, next, callCtx) => {
      // between plugins
      if (Object.values(call.args).some((arg) => typeof arg === "function")) return next(call);
      const state: Running = { id: call.id || randomUUID(), changes: [], unsaved: [] };
      await tell(talk, startOf(callCtx, state.id, call));
      const result = await running
        .run(state, () => next(call))
        .catch(async (error: Error) => {
          await tell(talk, answerOf(callCtx, state, { text: sentenceOf(error), failed: true }));
          throw error;
        });
      await tell(talk, answerOf(callCtx, state, result));
      return state.unsaved.length && !result.refused // what a no keeps back, the editor's text is as well
        ? { ...result, text: [result.text, ...state.unsaved].join("\n") }
        : result;
    },
    "first",
  );
  zz.wrap("gate", async (judged, next, { permissions }) => {
    const names = [...(judged.needs.write ?? []), ...(judged.needs.read ?? [])].map((need) =>
      typeof need === "string" ? need : need.name,
    );
    const files = [...new Set(names)].slice(0, 20).map((name) => permissions.place(name));
    return (await lookAtFiles(talk, files, judged.kind !== "read")) ?? next(judged);
  });
  zz.wrap(
    "preview",
    async (given, next) => {
      const preview = await next(given);
      const { changes, about } = given;
      Object.assign(running.getStore() ?? {}, { changes, about, preview });
      return preview;
    },
    "first",
  );
}

/** Shows which files a call needs. Denies it where it would change unsaved text. */
async function lookAtFiles(
  talk: Talk,
  files: string[],
  writes: boolean,
): Promise<Ruling | undefined> {
  const state = running.getStore();
  if (state && files.length)
    await tell(talk, {
      sessionUpdate: "tool_call_update",
      toolCallId: state.id,
      locations: files.map((path) => ({ path })),
    });
  for (const file of files) {
    const text = await unsavedText(talk, file);
    if (text === undefined) continue;
    if (writes)
      return {
        verdict: "deny",
        why: `'${file}' has changes in the editor that are not saved. Ask the person to save it first.`,
      };
    state?.unsaved.push(
      `[In the editor '${file}' has changes that are not saved. With them it is:\n${text}\n]`,
    );
  }
  return undefined;
}

const PATIENCE_MS = 2_000;
/** A file's text in the editor, if it differs from the disk. */
async function unsavedText(
  { can, ctx, editor, id }: Talk,
  file: string,
): Promise<string | undefined> {
  if (!can.fs?.readTextFile) return undefined;
  try {
    if (!fs.statSync(file).isFile()) return undefined;
    const saved = fs.readFileSync(file, "utf8");
    const options = {
      cancellationSignal: ctx.io.clock.limit(PATIENCE_MS),
      stopWaitingOnCancel: true,
    };
    const method = acp.methods.client.fs.readTextFile;
    const { content } = await editor.request<acp.ReadTextFileResponse>(
      method,
      { sessionId: id, path: file },
      options,
    );
    return content === saved ? undefined : content;
  } catch {
    return undefined; // the editor does not know the file
  }
}
