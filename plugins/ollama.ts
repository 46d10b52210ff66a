// Ollama's own API, by its own client over zz's transport. `showModel` gives the window and the
// capabilities; num_ctx is sent, since without it Ollama uses a small default and silently drops
// the oldest messages.
import type { Ollama, ChatRequest as OllamaChat } from "ollama/browser";
import type { ChatRequest, Delta, Effort, Endpoint, HttpAnswer, Message, Model, Zz } from "zz";
import { deltasOf, usage } from "zz/text";

export const defaults = { window: 32_768 };
export const settings = {
  project: true,
  schema: {
    type: "object",
    properties: {
      window: {
        type: "integer",
        minimum: 1,
        maximum: 100_000_000,
        description: "tokens of the window at most; a larger one costs graphics memory",
      },
    },
  },
};

interface Shown {
  capabilities?: string[];
  model_info?: Record<string, unknown>;
  parameters?: string;
}

export default (zz: Zz<typeof defaults>) => {
  const cache: Known = new Map();

  zz.provider({
    name: "ollama",
    key: { variable: "OLLAMA_API_KEY" },
    url: { variable: "OLLAMA_HOST" },

    async auto(signal, endpoint) {
      for (const id of await listModels(zz, signal, endpoint)) {
        // the server is there: no time limit
        const { tools } = capabilities(await showModel(zz, cache, id, zz.signal, endpoint));
        if (tools) return id;
      }
    },

    model: (id, patience, endpoint) => describe(zz, cache, id, patience(), endpoint),

    async models(signal, endpoint) {
      const [ids, loaded] = await Promise.all([
        listModels(zz, signal, endpoint),
        loadedModels(zz, signal, endpoint),
      ]);
      return Promise.all(
        ids.map(async (id) => {
          const model = await describe(zz, cache, id, signal, endpoint);
          const note = loaded.get(id);
          return note ? { ...model, note } : model;
        }),
      );
    },

    chat: (request, signal) => deltasOf(streamAnswer(zz, cache, request, signal)),
  });
};

async function* streamAnswer(
  zz: Zz<typeof defaults>,
  shownByModel: Known,
  request: ChatRequest,
  signal: AbortSignal,
): AsyncGenerator<Iterable<Delta>> {
  const shownModel = await showModel(
    zz,
    shownByModel,
    request.model,
    signal,
    request.endpoint,
  ).catch((error: Error & { status?: number; exit?: number }): Shown => {
    if (error.exit) throw error;
    // an old server without `showModel`, or a dry run: the chat will tell
    if (error.status !== 404 || !/model ['"]/.test(error.message)) return {};
    const pullCommand = `ollama pull ${request.model}`;
    const message = `Ollama has no model '${request.model}'. Get it with: ${pullCommand}`;
    throw Object.assign(new Error(message), { status: 404 });
  });
  const requestBody = chatBody(request, shownModel, zz.config.window);
  const { answer } = await ask(zz, request.endpoint, signal, (ollama) =>
    ollama.chat(requestBody as OllamaChat & { stream: true }),
  );
  yield* readDeltas(answer);
}

/**
 * What is known of each model, by server and name: one request answers the window, the capabilities
 * and the chat.
 */
type Known = Map<string, Promise<Shown>>;

async function describe(
  zz: Zz<typeof defaults>,
  shownByModel: Known,
  id: string,
  signal: AbortSignal,
  endpoint: Endpoint,
): Promise<Model> {
  const shownModel = await showModel(zz, shownByModel, id, signal, endpoint).catch(
    (): Shown => ({}),
  );
  const window = windowOf(shownModel, zz.config.window);
  const { thinking, ...can } = capabilities(shownModel);
  return { id, ...(window && { window }), ...can };
}

async function listModels(zz: Zz, signal: AbortSignal, endpoint: Endpoint): Promise<string[]> {
  const { parsed } = await ask(zz, endpoint, signal, (ollama) => ollama.list());
  return modelsIn(parsed).map(({ name }) => String(name));
}

/** What the server holds in memory at the moment; an old one does not tell. */
async function loadedModels(
  zz: Zz,
  signal: AbortSignal,
  endpoint: Endpoint,
): Promise<Map<string, string>> {
  const psAnswer = await ask(zz, endpoint, signal, (ollama) => ollama.ps()).catch(() => undefined);
  return new Map(
    modelsIn(psAnswer?.parsed).map((loadedModel) => [loadedModel.name, stateOf(loadedModel)]),
  );
}

const modelsIn = (parsed: { models?: unknown } | undefined): any[] =>
  objectsIn(parsed?.models).slice(0, MAX_MODELS);

function stateOf({ size, size_vram }: { size?: unknown; size_vram?: unknown }): string {
  if (typeof size !== "number" || size <= 0) return "loaded";
  const isPartly = typeof size_vram === "number" && size_vram < size;
  const memoryWords = isPartly
    ? `, ${Math.round((100 * Math.max(0, size_vram)) / size)} % in graphics memory`
    : "";
  return `loaded, ${(size / 1e9).toFixed(1)} GB${memoryWords}`;
}

async function showModel(
  zz: Zz,
  cache: Known,
  model: string,
  signal: AbortSignal,
  endpoint: Endpoint,
): Promise<Shown> {
  const cacheKey = `${endpoint.url ?? ""} ${model}`;
  const knownAnswer = cache.get(cacheKey);
  if (knownAnswer) return knownAnswer;
  const showAnswer = ask(zz, endpoint, signal, (ollama) => ollama.show({ model })).then(
    ({ parsed }) => Object(parsed) as Shown,
  );
  cache.set(cacheKey, showAnswer);
  showAnswer.catch(() => cache.delete(cacheKey));
  return showAnswer;
}

/**
 * Its client makes the request, and zz sends it; what came is given as the client understood it,
 * and as it came. The client passes over lines that are not JSON and ends a stream that was cut in
 * its own way, so a chat is read here.
 */
async function ask<T>(
  zz: Zz,
  endpoint: Endpoint,
  signal: AbortSignal,
  clientAction: (ollama: Ollama) => Promise<T>,
): Promise<{ parsed: T; answer: HttpAnswer }> {
  const host = hostOf(endpoint);
  const { key } = endpoint;
  const { Ollama } = await import("ollama/browser");
  let httpAnswer: HttpAnswer | undefined;
  let fetchError: unknown;
  const clientFetch = async (url: string, { method = "GET", headers, body }: ClientRequest) => {
    try {
      const { "User-Agent": _, ...sent } = headers; // which would describe this machine
      httpAnswer = await zz.fetch(url, {
        method,
        headers: sent,
        ...(body && { body: wellFormed(body) }),
        signal,
      });
      return httpAnswer;
    } catch (error) {
      fetchError = error; // in the server's own words
      throw error;
    }
  };
  const headers: Record<string, string> = key ? { authorization: `Bearer ${key}` } : {};
  try {
    return {
      parsed: await clientAction(new Ollama({ host, headers, fetch: clientFetch as never })),
      answer: httpAnswer!,
    };
  } catch (error) {
    throw fetchError ?? error;
  }
}

/** What the client hands to its transport. */
interface ClientRequest {
  headers: Record<string, string>;
  method?: string;
  body?: string;
}

/** Half a character breaks the server's decoder. */
function wellFormed(jsonBody: string): string {
  if (!/\\ud[89a-f]/i.test(jsonBody)) return jsonBody;
  return JSON.stringify(JSON.parse(jsonBody), (_, jsonValue) =>
    typeof jsonValue === "string" ? jsonValue.toWellFormed() : jsonValue,
  );
}

function chatBody(
  { model, system, messages, tools, options, effort, schema }: ChatRequest,
  shownModel: Shown,
  maxWindow: number,
) {
  const modelCan = capabilities(shownModel);
  const withTools = tools.length > 0 && modelCan.tools !== false; // in a format it cannot call
  const replyFormat = withTools ? undefined : schema;
  const {
    think = thinkingOf(effort, model, modelCan.thinking),
    format = replyFormat,
    keep_alive,
    ...otherOptions
  } = options;
  if (
    modelCan.vision === false &&
    messages.some((message) => "images" in message && message.images?.length)
  )
    throw usage(
      `Cannot send an image to '${model}': it does not take images. Choose a model that does.`,
    );
  const lastMessage = messages.at(-1);
  const unusable =
    lastMessage?.role === "user" && lastMessage.images?.find(({ type }) => !isImage(type));
  if (unusable)
    throw usage(
      `Cannot send ${unusable.type} to '${model}': Ollama takes images alone. ` +
        "Attach those, or ask another provider.",
    );
  return {
    model,
    messages: [
      ...(system ? [{ role: "system", content: system }] : []),
      ...messages.map(wireMessage),
    ],
    stream: true,
    ...(withTools && {
      tools: tools.map(({ name, description, schema }) => ({
        type: "function",
        function: { name, description, parameters: schema },
      })),
    }),
    options: { num_ctx: windowOf(shownModel, maxWindow) ?? maxWindow, ...otherOptions },
    ...(think !== undefined && { think }),
    ...(format !== undefined && { format }),
    ...(keep_alive !== undefined && { keep_alive }),
  };
}

/**
 * An address as the client takes it: 0.0.0.0 is where a server listens, and /v1 and /api are what
 * others add.
 */
export function hostOf({ url = "" }: Endpoint): string {
  const address = url.trim().replace(/^["']|["']$/g, "");
  const host = address
    .replace(/\/+$/, "")
    .replace(/\/(v1|api)$/, "")
    .replace(
      /^(https?:\/\/)?(0\.0\.0\.0|\[::\])(?=[:/]|$)/,
      (_, urlScheme = "", listenAddress) => urlScheme + LOCAL_ADDRESSES[listenAddress],
    );
  if (URL.canParse(host) || URL.canParse(`http://${host || "here"}`) || /^:\d+/.test(host))
    return host;
  throw usage(
    `Cannot reach Ollama at '${address}': not an address. ` +
      "Set OLLAMA_HOST or --base-url to host:port or a URL.",
  );
}
const LOCAL_ADDRESSES: Record<string, string> = { "0.0.0.0": "127.0.0.1", "[::]": "[::1]" };

/**
 * The window to use: the model file's own setting, else the one it was trained for, up to the
 * setting.
 */
function windowOf({ parameters, model_info }: Shown, maxTokens: number): number | undefined {
  const ownWindow = Number(/^num_ctx\s+(\d+)/m.exec(parameters ?? "")?.[1] ?? 0);
  if (ownWindow) return ownWindow;
  const trained = model_info?.[`${model_info["general.architecture"]}.context_length`];
  return typeof trained === "number" ? Math.min(trained, maxTokens) : undefined;
}

const capabilities = ({ capabilities: abilities }: Shown): Can =>
  Array.isArray(abilities)
    ? {
        tools: abilities.includes("tools"),
        vision: abilities.includes("vision"),
        thinking: abilities.includes("thinking"),
      }
    : {};
type Can = { tools?: boolean; vision?: boolean; thinking?: boolean };

/**
 * Most models can only think or not; gpt-oss always does, more or less. A model that cannot is not
 * asked to.
 */
function thinkingOf(
  effort: Effort | undefined,
  modelName: string,
  canThink?: boolean,
): boolean | string | undefined {
  if (!effort || canThink === false) return undefined;
  if (/gpt-oss/.test(modelName)) return effort === "none" ? "low" : effort;
  return effort !== "none";
}

const isImage = (mediaType: string): boolean => mediaType.startsWith("image/");

function wireMessage(message: Message) {
  const pictures =
    "images" in message ? (message.images ?? []).filter(({ type }) => isImage(type)) : [];
  const imageFields = pictures.length ? { images: pictures.map(({ base64 }) => base64) } : {};
  if (message.role === "user") return { role: "user", content: message.text, ...imageFields };
  if (message.role === "tool")
    return {
      role: "tool",
      tool_name: message.name,
      tool_call_id: message.id,
      content: message.text,
      ...imageFields,
    };
  return {
    role: "assistant",
    content: message.text,
    ...(message.thinking && { thinking: message.thinking }),
    ...(message.calls?.length && {
      tool_calls: message.calls.map(({ id, name, args }) => ({
        id,
        function: { name, arguments: args },
      })),
    }),
  };
}

const MB = 1024 * 1024;
const MAX_LINE_BYTES = 8 * MB;
const LINE_FEED = 10;
const MAX_ANSWER_BYTES = 512 * MB; // of the whole stream, most of which is not the answer itself
const MAX_MODELS = 1_000;

/**
 * Lines of JSON, as they came together. The last has `done`; a failure midway is a line
 * `{"error": …}` under status 200.
 */
async function* readDeltas(response: HttpAnswer): AsyncGenerator<Iterable<Delta>> {
  let unread: Uint8Array[] = []; // of a line; no letter ends in a line break
  let [answerBytes, restSize] = [0, 0];
  const tooLong = (subject: string, byteLimit: number) =>
    new Error(
      `'ollama' sent ${subject} of more than ${byteLimit / MB} MB, ` +
        "and was given up. Check --base-url.",
    );
  for await (const bodyBytes of response.body) {
    const chunk = Buffer.from(bodyBytes.buffer, bodyBytes.byteOffset, bodyBytes.length);
    // only in what is new, so that a long line is not searched repeatedly
    const end = chunk.lastIndexOf(LINE_FEED) + 1;
    const wholeLines = end ? Buffer.concat([...unread, chunk.subarray(0, end)]).toString() : "";
    if (end) [unread, restSize] = [[], 0];
    if (end < chunk.length) {
      unread.push(chunk.subarray(end));
      restSize += chunk.length - end;
    }
    answerBytes += chunk.length;
    if (restSize > MAX_LINE_BYTES) throw tooLong("a line", MAX_LINE_BYTES);
    if (answerBytes > MAX_ANSWER_BYTES) throw tooLong("an answer", MAX_ANSWER_BYTES);
    if (wholeLines) yield readAll(wholeLines.slice(0, -1).split("\n"));
  }
  const lastLine = `${Buffer.concat(unread)}`;
  if (lastLine.trim()) yield deltasIn(lastLine);
}

function* readAll(jsonLines: string[]): Generator<Delta> {
  for (const jsonLine of jsonLines)
    if (jsonLine.trim()) yield* deltasIn(jsonLine);
    else yield { text: "" }; // nothing to show, but a sign of life
}

function* deltasIn(jsonLine: string): Generator<Delta> {
  let chunk: any;
  try {
    chunk = JSON.parse(jsonLine);
  } catch {
    return yield { error: `not a stream but ${jsonLine.trim().slice(0, 200)}` };
  }
  if (typeof chunk !== "object" || !chunk) return yield { text: "" };
  if (chunk.error) yield { error: chunk };
  const { thinking, content, tool_calls } = chunk.message ?? {};
  if (thinking) yield { thinking: wordsOf(thinking) };
  if (content) yield { text: wordsOf(content) };
  for (const { id, function: called } of objectsIn(tool_calls))
    if (called) yield { call: { id: id || newCall(), name: called.name, args: called.arguments } };
  if (!chunk.done) return;
  yield { usage: { input: chunk.prompt_eval_count ?? 0, output: chunk.eval_count ?? 0 } };
  yield { finish: wordsOf(chunk.done_reason) || "stop" };
}

/** The objects of a list; none if it is no list. */
const objectsIn = (maybeList: unknown): any[] =>
  Array.isArray(maybeList)
    ? maybeList.filter((element) => typeof element === "object" && element)
    : [];
const wordsOf = (maybeText: unknown): string => (typeof maybeText === "string" ? maybeText : "");

/**
 * Calls arrive whole and, from older servers, without an id; two equal calls still need two ids.
 */
const newCall = (): string => `call_${Math.random().toString(36).slice(2, 10)}`;
