import {
  type Call,
  type CallDelta,
  type Core,
  type Delta,
  type Fault,
  type Finish,
  fault,
  type HttpAnswer,
  type HttpRequest,
  jsonOrText,
  newId,
  type Reply,
  reason,
  tryTo,
  type Usage,
  usage,
} from "../zz.ts";
import { send } from "./http.ts";

/**
 * Drains one provider stream into a whole reply. Servers differ in all that matters here: indexes missing or
 * from 1, ids late, repeated or empty, names resent, arguments in one piece or fifty, finish reasons that
 * contradict what came. Throws when the stream was cut off or carried an error; what had come is `partial`.
 */
export async function collect(
  stream: AsyncIterable<Delta>,
  see?: (text: string, thinking: string) => void,
): Promise<Reply> {
  let text = "";
  let thinking = "";
  let finish: Finish | undefined;
  let usage: Usage | undefined;
  const drafts: Draft[] = [];
  let size = 0;
  try {
    for await (const delta of stream) {
      if ("text" in delta) text += delta.text ?? "";
      else if ("thinking" in delta) thinking += delta.thinking ?? "";
      else if ("call" in delta) gather(drafts, delta.call);
      else if ("usage" in delta) usage = { ...usage, ...delta.usage };
      else if ("finish" in delta) finish = finishOf(delta.finish) ?? finish;
      else if ("error" in delta) throw answerFault("The model's server failed in mid-stream", delta.error);
      see?.(text, thinking);
      size += sizeOf(delta);
      if (size > LARGEST_REPLY) throw fault("The answer is larger than 64 MB and was given up. Ask for less.");
    }
    if (!finish && !text && !thinking && !drafts.length)
      throw fault("The server answered with nothing. Try again.", { transient: true });
    if (!finish) throw fault(CUT_OFF, { transient: true });
  } catch (error) {
    const cut = /^(ECONN|EPIPE|ETIMEDOUT|HPE_|Z_)/.test((error as NodeJS.ErrnoException)?.code ?? "");
    throw Object.assign(cut ? fault(CUT_OFF, { transient: true }) : (error as Fault), { partial: { text, thinking } });
  }
  const calls = drafts.filter((draft) => draft.name || draft.args).map((draft) => finished(draft, finish === "length"));
  if (finish === "stop" || finish === "calls") finish = calls.length ? "calls" : "stop";
  const ids = new Set<string>();
  for (const call of calls) {
    if (!call.id || ids.has(call.id)) call.id = newId("call_");
    ids.add(call.id);
  }
  const parts = splitThinking(text);
  const thought = [...new Set([thinking.trim(), parts.thinking])].filter(Boolean).join("\n");
  return { text: parts.text, thinking: thought, calls, finish, ...(usage && { usage }) };
}

const LARGEST_REPLY = 64 * 1024 * 1024;

function sizeOf(delta: Delta): number {
  const text = "text" in delta ? delta.text : "thinking" in delta ? delta.thinking : "call" in delta && delta.call.args;
  return typeof text === "string" ? text.length : 0;
}

const CUT_OFF = "The connection ended before the answer was complete. Try again.";

type Draft = { index: number | undefined; id: string; name: string; args: string; extra?: unknown };

/** Puts a piece of a call where it belongs: by index, else by id, else at the last call. */
function gather(drafts: Draft[], piece: CallDelta): void {
  const index = piece.index ?? undefined;
  const id = piece.id ?? "";
  const name = piece.name ?? "";
  const args = typeof piece.args === "string" ? piece.args : piece.args ? JSON.stringify(piece.args) : "";
  const last = drafts.at(-1);
  let draft = last;
  if (index !== undefined) draft = drafts.findLast((other) => other.index === index);
  else if (id) draft = drafts.findLast((other) => other.id === id) ?? (last?.id ? undefined : last);
  if (!draft || startsAnother(draft)) drafts.push((draft = { index, id: "", name: "", args: "" }));
  draft.id ||= id;
  draft.name = name || draft.name; // resent whole by some gateways: never append
  draft.args += args;
  if (piece.extra !== undefined) draft.extra = piece.extra;

  function startsAnother(open: Draft): boolean {
    if (id && open.id && id !== open.id) return true;
    if (!name || !open.name) return false;
    const other = name !== open.name;
    if (index === undefined && other) return true;
    if (!isWhole(open.args)) return false;
    return other || (isWhole(args) && ((index === undefined && !id) || args !== open.args));
  }
}

const isWhole = (args: string): boolean => args.trim() !== "" && "args" in parseArguments(args);

function finished({ id, name, args, extra }: Draft, cut: boolean): Call {
  const parsed = parseArguments(args);
  const call: Call = { id, name, args: "args" in parsed ? parsed.args : {}, ...(extra !== undefined && { extra }) };
  if (cut && !isWhole(args))
    call.broken = "The call was cut off by the output limit and did not run. Send it again, shorter or in parts.";
  else if ("wrong" in parsed)
    call.broken = `The arguments are not usable: ${parsed.wrong}. Send the call again with a valid JSON object.`;
  else if (!name) call.broken = "The call names no tool. Send it again with a name.";
  return call;
}

/** Nothing is {}. A string is parsed once more. Of several values in a row, equal ones or an empty first one give the one meant. */
function parseArguments(text: string): { args: Record<string, unknown> } | { wrong: string } {
  if (!text.trim()) return { args: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
    if (typeof value === "string") value = JSON.parse(value);
  } catch (error) {
    const values = jsonValues(text);
    const meant = values?.filter((one) => one !== "{}");
    if (!values || new Set(meant).size > 1) return { wrong: reason(error) };
    value = JSON.parse(meant?.[0] ?? "{}");
  }
  if (isDeep(value, DEEPEST)) return { wrong: `nested more than ${DEEPEST} deep` };
  if (typeof value === "object" && !Array.isArray(value)) return { args: { ...value } };
  return { wrong: `expected an object, got ${text.trim().slice(0, 40)}` };
}

const DEEPEST = 100;

function isDeep(value: unknown, left: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return left === 0 || Object.values(value).some((inner) => isDeep(inner, left - 1));
}

/** `{…}{…}` taken apart; undefined unless all of it is objects. */
function jsonValues(text: string): string[] | undefined {
  const values: string[] = [];
  let depth = 0;
  let start = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:\\.|[^"\\])*"?|[{}]/gs)) {
    if (token === "{") depth++;
    if (token !== "}" || --depth > 0) continue;
    values.push(text.slice(start, index + 1));
    start = index + 1;
  }
  if (values.length < 2 || text.slice(start).trim()) return undefined;
  return tryTo(() => values.map((value) => JSON.stringify(JSON.parse(value))));
}

function finishOf(word: string): Finish | undefined {
  if (!word) return undefined;
  if (/^(tool_calls|tool_use|function_call|calls)$/.test(word)) return "calls";
  if (/length|max_tokens|window_exceeded/.test(word)) return "length";
  if (/content_filter|safety|^filter$/i.test(word)) return "filter";
  if (/^error$|insufficient_system_resource/.test(word))
    throw fault(`The model's server gave up in mid-stream (${word}). Try again.`, { transient: true });
  return "stop";
}

/** Thinking that came inside the text: `<think>…</think>` at its start, or all before a lone `</think>` that is not quoted code. */
export function splitThinking(text: string): { text: string; thinking: string } {
  let rest = text;
  const thoughts: string[] = [];
  for (let block: RegExpExecArray | null; (block = /^\s*<think(?:ing)?>(.*?)(?:<\/think(?:ing)?>|$)/s.exec(rest)); ) {
    thoughts.push(block[1]!.replace(/^\s*<think>/, "").trim());
    rest = rest.slice(block[0].length);
  }
  const close = rest.indexOf("</think>");
  const before = rest.slice(0, close);
  if (thoughts.length) rest = rest.replace(/^\s*<\/think>/, "");
  else if (close >= 0 && !before.includes("<think>") && !isQuoted(before)) {
    thoughts.push(before.trim());
    rest = rest.slice(close + "</think>".length);
  }
  if (rest.length !== text.length) rest = rest.replace(/^\s+/, "");
  return { text: rest, thinking: thoughts.filter(Boolean).join("\n") };
}

/** Whether what follows this text stands in a code fence or in inline code. */
function isQuoted(before: string): boolean {
  const line = before.slice(before.lastIndexOf("\n") + 1);
  return before.split("```").length % 2 === 0 || line.split("`").length % 2 === 0;
}

/** What goes wrong on the way, and answers that are not 2xx, become sentences with the server's own words; of a provider's, with the flag that may help. */
export async function request(core: Core, url: string, init: HttpRequest = {}, isModels = true): Promise<HttpAnswer> {
  if (core.options.dry) {
    const body = typeof init.body === "string" ? JSON.parse(init.body) : undefined;
    throw fault(`Nothing is sent to '${url}' in a dry run.`, body?.messages ? { dry: body } : {});
  }
  const check = isModels ? "--base-url" : "the address";
  if (!URL.canParse(url)) throw usage(`Cannot reach '${url}': not a URL. Check ${check}.`);
  const { host } = new URL(url);
  const response = await send(url, init).catch((error) => {
    throw init.signal?.aborted || error.exit ? error : networkFault(error, host, check);
  });
  if (response.ok) return response;
  const failed = answerFault(`${host} answered ${response.status}`, await beginning(response), response, isModels);
  const sent = Object.entries(init.headers ?? {}).find(([name]) => /^authorization$/i.test(name))?.[1];
  const key = /Bearer (\S{4,})/.exec(sent ?? "")?.[1];
  if (key) failed.message = failed.message.replaceAll(key, "…"); // some servers repeat it
  throw failed;
}

/** Enough of an error to read it; a server may send it without end. */
async function beginning({ body }: HttpAnswer): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const bytes of body) {
      text += decoder.decode(bytes, { stream: true });
      if (text.length > LONGEST_ERROR) break;
    }
  } catch {} // cut off: what came will do
  return text;
}

const LONGEST_ERROR = 65_536;

const NETWORK: Record<string, string> = {
  ECONNREFUSED: "connection refused. Is the server running there?",
  ENOTFOUND: "no such host. Check --base-url and the network.",
  EAI_AGAIN: "its name could not be looked up. Check the network.",
  ECONNRESET: "the connection was closed. Try again.",
  EPIPE: "the connection was closed. Try again.",
  ETIMEDOUT: "no answer in time. Try again.",
};

function networkFault(error: unknown, where: string, check: string): Fault {
  const { code = "", message } = error as NodeJS.ErrnoException;
  const why =
    NETWORK[code]?.replace("--base-url", check) ?? `${message || reason(error)}. Check ${check} and the network.`;
  return fault(`Cannot reach '${where}': ${why}`, { transient: code !== "" && !/CERT|SSL|TLS|ERR_INVALID/.test(code) });
}

/** A server's refusal. Its body has one of a dozen shapes (a string, a list, flat, nested); a web page is one too. */
function answerFault(what: string, body: unknown, response?: HttpAnswer, isModels = true): Fault {
  let parsed: any = typeof body === "string" ? jsonOrText(body) : body;
  if (Array.isArray(parsed)) parsed = parsed[0];
  const inner = parsed?.error ?? parsed?.detail ?? parsed;
  const page = typeof parsed === "string" && /^\s*(<!doctype|<html|<\?xml)/i.test(parsed);
  const title = page && /<title>([^<]*)/i.exec(parsed)?.[1]?.trim();
  const message = inner?.message === undefined ? inner : inner.message;
  const said = page ? `a web page${title ? ` ("${title}")` : ""}` : (message ?? "");
  const upstream = inner?.metadata?.raw; // what the server behind a gateway said
  const words = [said, ...(upstream ? [upstream] : [])].map(spoken).join(": ").trim().slice(0, 600);
  const status = response?.status ?? (typeof inner?.code === "number" ? inner.code : undefined);
  const codes = [inner?.code, inner?.type, inner?.status, parsed?.code];
  const code = codes.filter((one) => typeof one === "string").join(" ");
  const forGood = /insufficient_quota|billing|credit|per day|daily|monthly/i.test(`${code} ${words}`);
  const transient =
    status === undefined
      ? !page && !forGood && !/invalid|tool_use_failed|context_length/.test(code)
      : (status >= 500 || [408, 409, 425, 429].includes(status)) && !forGood;
  let hint = "";
  if (!isModels) hint = "";
  else if (status === 401 || status === 403) hint = " Check the key: --key, or the provider's variable.";
  else if (status === 404 || (page && !(status >= 500)))
    hint = " Check --model (zz --models lists what there is) and --base-url, which mostly ends in /v1.";
  const sentence = `${what}: ${words || "no reason given"}`;
  const stop = /[.!?]"?\)?$/.test(sentence) ? "" : ".";
  const after = retryAfter(response?.headers);
  return fault(sentence + stop + hint, {
    transient,
    ...(status !== undefined && { status }),
    ...(after >= 0 && { after }),
  });

  function spoken(words: unknown): string {
    return typeof words === "string" ? words : JSON.stringify(words);
  }
}

/** In ms; NaN when the server names no time. */
function retryAfter(headers?: HttpAnswer["headers"]): number {
  if (!headers) return Number.NaN;
  const ms = Number(headers.get("retry-after-ms") ?? Number.NaN);
  if (ms >= 0) return ms;
  const value = headers.get("retry-after") || Number.NaN;
  return Number.isNaN(Number(value)) ? Date.parse(String(value)) - Date.now() : Number(value) * 1000;
}
