// Calls that a model writes as text. Where its API has no tools for it, it is asked in words; where a reply that should
// hold a call holds it as text, the text is read. All of it loads when it is first needed.
import type { ChatRequest, Ctx, Reply, Zz } from "zz";

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
        description: "how tools are offered: natively where the model can, always natively, or always in words",
      },
    },
  },
};

/** Without one of these no reply holds a call or a mark of thinking. */
const MARKERS = /[<{[(]|Action:/;
const NO_TOOLS =
  /(not|n't) support (the )?(tools?|functions?)\b|(not|n't) support (tool|function)[- _](use|call)|support tool use|(tools?|functions?)( calling| use| calls)?['"`]? (is|are) not (supported|enabled|available)|requires --(enable-auto-tool-choice|jinja|tool-call-parser)/i;

const MAX_SHOW_MS = 30_000; // a busy server may take long to say what a model can

export default (zz: Zz<typeof defaults>) => {
  const inWords = new Set<string>(); // models whose server refused tools

  zz.wrap("request", offer, { limit: MAX_SHOW_MS });

  async function offer(request: ChatRequest, next: (request: ChatRequest) => Promise<Reply>, ctx: Ctx): Promise<Reply> {
    const { format } = zz.config;
    const isPlain = !request.tools.length && !request.messages.some(({ role }) => role === "tool");
    if (isPlain) return read(request, await next(request), false, ctx);
    if (format === "text" || (format === "auto" && (await lacksTools(request, ctx)))) return ask();
    try {
      return await read(request, await next(request), false, ctx);
    } catch (error) {
      const { message = "", status = 0 } = error as Error & { status?: number };
      const refused = format === "auto" && status >= 400 && NO_TOOLS.test(message.slice(0, 2_000));
      if (!refused || ctx.signal.aborted) throw error;
      inWords.add(request.model);
      return ask();
    }

    async function ask(): Promise<Reply> {
      const worded = await import("./ask.ts");
      return read(request, await next(worded.inWords(request)), true, ctx);
    }
  }

  async function lacksTools({ model }: ChatRequest, { about }: Ctx): Promise<boolean> {
    return inWords.has(model) || (await about.model(model, true))?.tools === false;
  }
};

async function read(request: ChatRequest, reply: Reply, worded: boolean, { about, note }: Ctx): Promise<Reply> {
  const { text, thinking, calls } = reply;
  if (calls.length || !MARKERS.test(text || thinking)) return reply;
  const { rescue } = await import("./rescue.ts");
  const { tools, options, schema, task } = request;
  const named = new Set(tools.map(({ name }) => name));
  const others = tools.length && task === "chat" ? about.tools.filter(({ name }) => !named.has(name)) : []; // known, if not described
  try {
    return await rescue(reply, { tools: [...tools, ...others], options, schema, worded });
  } catch (error) {
    note(`The answer was not searched for calls: ${(error as Error)?.message}`);
    return reply;
  }
}
