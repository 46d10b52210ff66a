// Calls in texts. A model whose API has no tools is asked for calls in words; calls that a reply
// contains as text are read; and calls of other programs' tools become calls of zz's own before
// they are shown, judged or saved (habits/). All of it loads on first use.
import type { Call, ChatRequest, Ctx, Reply, Result, Zz } from "zz";
import { anyOf } from "zz/text";

type Format = "auto" | "native" | "text";
export const defaults: { format: Format } = { format: "auto" };
export const settings = {
  name: "textCalls",
  project: true,
  schema: {
    type: "object",
    properties: {
      format: {
        enum: ["auto", "native", "text"],
        description:
          "how tools are offered: natively where the model can, " +
          "always natively, or always in words",
      },
    },
  },
};

/** A reply without any of these contains neither calls nor marks of thinking. */
const MARKERS = /[<{[(]|Action:/;
const SEARCH_BLOCK = /^<{5,9} ?SEARCH/m; // Aider's blocks, in the text of the answer
const NO_TOOLS = anyOf(
  /(not|n't) support (the )?(tools?|functions?)\b/i,
  /(not|n't) support (tool|function)[- _](use|call)|support tool use/i,
  /(tools?|functions?)( calling| use| calls)?['"`]? (is|are) not (supported|enabled|available)/i,
  /requires --(enable-auto-tool-choice|jinja|tool-call-parser)/i,
);

const MAX_SHOW_MS = 30_000; // a busy server may take long to describe a model

type Parameters = { properties?: object; required?: string[] };
/** With zz's name another program's arguments count for tools that only read. */
async function callsMeant(call: Call, ctx: Ctx): Promise<Call[]> {
  const { tools } = ctx.about;
  const ownTool = tools.find(({ name }) => name === call.name);
  const { properties = {}, required = [] } = (ownTool?.schema ?? {}) as Parameters;
  const args = (call.args ?? {}) as object;
  const isExact =
    Object.keys(args).every((argumentName) => Object.hasOwn(properties, argumentName)) &&
    required.every((requiredName) => Object.hasOwn(args, requiredName));
  if (ownTool && (ownTool.kind !== "read" || isExact)) return [call];
  const meantCalls = await (await import("./habits/calls.ts")).ownCalls(call, tools, ctx);
  const onlyReads = ({ name }: Call) => tools.find((tool) => tool.name === name)?.kind === "read";
  return ownTool && !meantCalls.every(onlyReads) ? [call] : meantCalls;
}

const translated = new WeakSet<Call>(); // calls from texts that were translated already

export default (zz: Zz<typeof defaults>) => {
  const inWords = new Set<string>(); // models whose server refused tools

  zz.on("configured", () => inWords.clear()); // another server may answer now
  zz.wrap("request", offerTools, { limit: MAX_SHOW_MS });
  // outermost, to see calls that another plugin found in the text
  zz.wrap(
    "request",
    async (request, next, ctx) => translateCalls(request, await next(request), ctx),
    "first",
  );

  zz.service("toolNames", {
    own: async (foreignName) => (await import("./habits/calls.ts")).ownName(foreignName),
    calls: callsMeant,
  });
  // a call that no model made: --call, a plugin's, an editor's
  zz.wrap("call", callOwnTools);

  async function offerTools(
    request: ChatRequest,
    next: (request: ChatRequest) => Promise<Reply>,
    ctx: Ctx,
  ): Promise<Reply> {
    const { format } = zz.config;
    const isPlain = !request.tools.length && !request.messages.some(({ role }) => role === "tool");
    if (isPlain) return rescued(request, await next(request), false, ctx);
    if (format === "text" || (format === "auto" && (await lacksTools(request, ctx))))
      return askInWords();
    try {
      return await rescued(request, await next(request), false, ctx);
    } catch (error) {
      const { message = "", status = 0 } = error as Error & { status?: number };
      const refused = format === "auto" && status >= 400 && NO_TOOLS.test(message.slice(0, 2_000));
      if (!refused || ctx.signal.aborted) throw error;
      inWords.add(request.model);
      return askInWords();
    }

    async function askInWords(): Promise<Reply> {
      const wordsModule = await import("./request-in-words.ts");
      return rescued(request, await next(wordsModule.requestInWords(request)), true, ctx);
    }
  }

  async function lacksTools({ model }: ChatRequest, { about }: Ctx): Promise<boolean> {
    return inWords.has(model) || (await about.model(model, true))?.tools === false;
  }
};

async function callOwnTools(
  call: Call,
  next: (call: Call) => Promise<Result>,
  ctx: Ctx,
): Promise<Result> {
  const [firstCall = call, ...laterCalls] = await callsMeant(call, ctx);
  let result = await next(firstCall);
  for (const laterCall of laterCalls) {
    if (result.failed) break;
    const { text, ...others } = await next(laterCall);
    result = { ...others, text: `${result.text}\n${text}` };
  }
  return result;
}

/** Turns calls of other programs' tools into zz's own. */
async function translateCalls(request: ChatRequest, answer: Reply, ctx: Ctx): Promise<Reply> {
  let reply = answer;
  if (!request.tools.length) return reply;
  const callableTools = toolsOf(request, ctx);
  const isBlock =
    !reply.calls.length &&
    SEARCH_BLOCK.test(reply.text) &&
    callableTools.some(({ name }) => name === "edit_file");
  if (isBlock) reply = (await import("./habits/answers.ts")).withBlocks(reply, ctx);
  if (reply.calls.every((call) => translated.has(call))) return reply;
  const { ownCalls } = await import("./habits/calls.ts");
  const translations = reply.calls.map((call) =>
    translated.has(call) ? [call] : ownCalls(call, callableTools, ctx),
  );
  return { ...reply, calls: (await Promise.all(translations)).flat() };
}

/** The tools that the model may call: in the conversation, also those that it was not offered. */
const toolsOf = ({ tools, task }: ChatRequest, { about }: Ctx): ChatRequest["tools"] =>
  tools.length && task === "chat" ? about.tools : tools;

/** What a reply holds as text becomes calls; those are `translated` already. */
async function rescued(
  request: ChatRequest,
  reply: Reply,
  worded: boolean,
  ctx: Ctx,
): Promise<Reply> {
  const { text, thinking, calls } = reply;
  if (calls.length || !MARKERS.test(text || thinking)) return reply;
  const [{ rescue }, { foreignTools, ownCalls }] = await Promise.all([
    import("./rescue.ts"),
    import("./habits/calls.ts"),
  ]);
  const { tools, options, schema } = request;
  const offeredNames = new Set(tools.map(({ name }) => name));
  const allTools = [
    ...tools,
    ...toolsOf(request, ctx).filter(({ name }) => !offeredNames.has(name)),
  ];
  try {
    const rescuedReply = await rescue(reply, {
      tools: allTools,
      foreign: foreignTools(allTools),
      translate: (call) => ownCalls(call, allTools, ctx),
      options,
      schema,
      worded,
    });
    for (const call of rescuedReply.calls) if (!call.broken) translated.add(call);
    return rescuedReply;
  } catch (error) {
    ctx.note(`The answer was not searched for calls: ${(error as Error)?.message}`);
    return reply;
  }
}
