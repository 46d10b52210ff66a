// Chat Completions as servers send it, byte for byte.
import { after } from "node:test";
import { type Fake, type Script, type Step, serve, stepOf } from "./http.ts";

const SSE = { "content-type": "text/event-stream; charset=utf-8" };
const at = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m" };

export const data = (chunk: unknown): string => `data: ${JSON.stringify(chunk)}\n\n`;
export const DONE = "data: [DONE]\n\n";

/** One choice's delta, as a line of the stream. */
export const delta = (delta: unknown, finish: string | null = null): string =>
  data({ ...at, choices: [{ index: 0, delta, finish_reason: finish }] });
export const usage = (prompt_tokens: number, completion_tokens: number): string => {
  const total_tokens = prompt_tokens + completion_tokens;
  return data({ ...at, choices: [], usage: { prompt_tokens, completion_tokens, total_tokens } });
};

export const stream = (...body: NonNullable<Step["body"]>): Step => ({ headers: SSE, body });

/** An answer in a few pieces, with its usage in an extra chunk. */
export const say = (text: string, finish = "stop"): Step =>
  stream(
    delta({ role: "assistant", content: "" }),
    ...(text.match(/.{1,5}/gs) ?? []).map((content) => delta({ content })),
    delta({}, finish),
    usage(61, 9),
    DONE,
  );

/** Calls as OpenAI sends them: id and name first, then the arguments in pieces. */
export const call = (...calls: [name: string, args: unknown][]): Step =>
  stream(
    ...calls.flatMap(([name, args], index) => {
      const piece = (text: string, more: object = {}, own: object = {}) =>
        delta({ tool_calls: [{ index, ...more, function: { ...own, arguments: text } }] });
      const begun = piece("", { id: `call_${name}_${index}`, type: "function" }, { name });
      return [begun, ...(JSON.stringify(args).match(/.{1,7}/gs) ?? []).map((text) => piece(text))];
    }),
    delta({}, "tool_calls"),
    usage(61, 9),
    DONE,
  );

export const refuse = (status: number, body: unknown, headers: Record<string, string> = {}) => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: [typeof body === "string" ? body : JSON.stringify(body)],
});

/** The base URL ends in /v1. Requests to other paths than the two get 404. */
export async function fakeOpenAI(script: Script, models: object[] = MODELS): Promise<Fake> {
  const fake = await serve(script, {
    "GET /v1/models": () => refuse(200, { object: "list", data: models }),
  });
  return { ...fake, url: `${fake.url}/v1` };
}
/** One that is closed when the file ends, and the flags with which zz asks it. */
export async function askable(script: Script) {
  const fake = await fakeOpenAI(script);
  after(fake.close);
  return { ...fake, args: ["-m", "openai/m", "--base-url", fake.url, "--key", "x"] };
}
const MODELS = [
  { id: "m", object: "model" },
  { id: "n", context_length: 8192 },
];

type Strict = Fake & { refusals: string[]; most: () => number };
/** As strict as a server can be: it counts tokens, and refuses what is too long or not a valid
 * conversation. */
export async function strictOpenAI(window: number, script: Script, tells = true): Promise<Strict> {
  const refusals: string[] = [];
  let most = 0;
  const models = [{ id: "m", ...(tells && { context_length: window }) }];
  const fake = await fakeOpenAI(async (request, turn) => {
    const tokens = tokensOf(request.body);
    const wrong = problems(request.body);
    most = Math.max(most, tokens);
    if (wrong.length) return refused(wrong.join("; "), "invalid_value");
    if (tokens > window)
      return refused(
        `This model's maximum context length is ${window} tokens. However, your messages resulted in ${tokens} tokens.`,
        "context_length_exceeded",
      );
    const step = await stepOf(script, request, turn);
    const body = (step.body ?? []).map((piece) =>
      typeof piece === "string"
        ? piece.replace(/"prompt_tokens":\d+/, `"prompt_tokens":${tokens}`)
        : piece,
    );
    return { ...step, body };
  }, models);
  return { ...fake, refusals, most: () => most };

  function refused(message: string, code: string): Step {
    refusals.push(message);
    return refuse(400, {
      error: { message, type: "invalid_request_error", param: "messages", code },
    });
  }
}

/** Counts by a made-up tokenizer: pieces of words, digits in threes, signs, each letter of scripts
 * without spaces. */
export function tokensOf({ messages, tools }: any): number {
  const PIECES =
    /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]| ?[\p{L}]{1,6}|\p{N}{1,3}|[^\s\p{L}\p{N}]|\s+/gu;
  const count = (text: string) => text.match(PIECES)?.length ?? 0;
  let all = tools ? count(JSON.stringify(tools)) : 0;
  for (const { content = "", tool_calls = "" } of messages)
    all += 3 + count(JSON.stringify([content ?? "", tool_calls]));
  return all;
}

/** What the strictest of real servers would refuse about a request; empty if nothing. */
export function problems(body: any): string[] {
  const found: string[] = [];
  let open: string[] = [];
  let before = "";
  for (const [i, message] of (body.messages as any[]).entries()) {
    const where = `messages[${i}]`;
    if (message.role === "system" && i > 0) found.push(`${where}: system is not first`);
    if (message.role === "tool") {
      if (open[0] !== message.tool_call_id)
        found.push(`${where}: no call ${message.tool_call_id} is open here`);
      open = open.slice(1);
      if (typeof message.content !== "string") found.push(`${where}: a result must be a string`);
    } else if (open.length) found.push(`${where}: ${open.length} calls have no result`);
    if (message.role === before && message.role !== "tool")
      found.push(`${where}: two of '${before}' in a row`);
    if (message.role === "assistant") {
      if (before === "system" || before === "") found.push(`${where}: assistant before user`);
      if (!message.content && !message.tool_calls?.length) found.push(`${where}: empty`);
      open = (message.tool_calls ?? []).map((one: any) => one.id);
      if (new Set(open).size < open.length) found.push(`${where}: two calls of one id`);
      for (const { function: called } of message.tool_calls ?? []) {
        if (!/^[\w-]{1,64}$/.test(called.name)) found.push(`${where}: name ${called.name}`);
        try {
          if (typeof JSON.parse(called.arguments) !== "object")
            found.push(`${where}: arguments are no object`);
        } catch {
          found.push(`${where}: arguments are not JSON`);
        }
      }
    }
    if (message.role === "user" && !message.content?.length) found.push(`${where}: empty`);
    before = message.role;
  }
  if (open.length) found.push(`the last ${open.length} calls have no result`);
  if (before !== "user" && before !== "tool") found.push(`ends with '${before}'`);
  if ("tools" in body && !body.tools.length) found.push("tools is empty");
  return found;
}
