// Ollama's own API: the window and the capabilities come from `show`, and num_ctx is sent, since without it Ollama
// takes a small default and drops the oldest messages in silence.
import type { ChatRequest, Delta, Endpoint, HttpAnswer, Message, Model, Zz } from "zz";

export const defaults = { window: 32_768 };
export const settings = {
  project: true,
  schema: {
    type: "object",
    properties: {
      window: { type: "integer", minimum: 1, description: "tokens at most; a larger one costs graphics memory" },
    },
  },
};

interface Shown {
  capabilities?: string[];
  model_info?: Record<string, unknown>;
  parameters?: string;
}

export default (zz: Zz<typeof defaults>) => {
  const shown = new Map<string, Promise<Shown>>();

  zz.provider({
    name: "ollama",

    async auto(signal, endpoint) {
      for (const { id } of await tags(signal, endpoint)) {
        const { tools } = capabilities(await show(id, endpoint, zz.signal)); // it has answered: it may take its time
        if (tools) return id;
      }
    },

    /** The chat asks for the same, once. */
    model: (id, patience, endpoint) => one(id, patience(), endpoint),

    async models(signal, endpoint) {
      return Promise.all((await tags(signal, endpoint)).map(({ id }) => one(id, signal, endpoint)));
    },

    async *chat(request, signal) {
      const info = await show(request.model, request.endpoint, signal).catch(
        (error: Error & { status?: number; exit?: number }): Shown => {
          if (error.exit) throw error;
          if (error.status !== 404 || !/model ['"]/.test(error.message)) return {}; // an old server without `show`, or a dry run: the chat will tell
          const message = `Ollama has no model '${request.model}'. Get it with: ollama pull ${request.model}`;
          throw Object.assign(new Error(message), { status: 404 });
        },
      );
      const response = await zz.fetch(`${base(request.endpoint)}/api/chat`, {
        method: "POST",
        headers: headers(request.endpoint),
        body: JSON.stringify(body(request, info), (_, value) =>
          typeof value === "string" ? value.toWellFormed() : value,
        ),
        signal,
      });
      yield* read(response);
    },
  });

  async function one(id: string, signal: AbortSignal, endpoint: Endpoint): Promise<Model> {
    const info = await show(id, endpoint, signal).catch((): Shown => ({}));
    const window = windowOf(info, zz.config.window);
    return { id, ...(window && { window }), ...capabilities(info) };
  }

  async function tags(signal: AbortSignal, endpoint: Endpoint): Promise<Model[]> {
    const response = await zz.fetch(`${base(endpoint)}/api/tags`, { headers: headers(endpoint), signal });
    const { models = [] } = (await response.json()) as { models?: { name: string }[] };
    return models.map(({ name }) => ({ id: name }));
  }

  async function show(model: string, endpoint: Endpoint, signal: AbortSignal): Promise<Shown> {
    const known = shown.get(model);
    if (known) return known;
    const asked = zz
      .fetch(`${base(endpoint)}/api/show`, {
        method: "POST",
        headers: headers(endpoint),
        body: JSON.stringify({ model }),
        signal,
      })
      .then((response) => response.json() as Promise<Shown>);
    shown.set(model, asked);
    asked.catch(() => shown.delete(model));
    return asked;
  }

  function body({ model, system, messages, tools, options }: ChatRequest, info: Shown) {
    const { think, format, keep_alive, ...rest } = options;
    const can = capabilities(info);
    if (can.vision === false && messages.some((message) => "images" in message && message.images?.length))
      throw Object.assign(new Error(`Cannot send an image to '${model}': it does not see. Choose a model that does.`), {
        exit: 2,
      });
    return {
      model,
      messages: [...(system ? [{ role: "system", content: system }] : []), ...messages.map(toWire)],
      stream: true,
      ...(tools.length &&
        can.tools !== false && {
          tools: tools.map(({ name, description, schema }) => ({
            type: "function",
            function: { name, description, parameters: schema },
          })),
        }),
      options: { num_ctx: windowOf(info, zz.config.window) ?? zz.config.window, ...rest },
      ...(think !== undefined && { think }),
      ...(format !== undefined && { format }),
      ...(keep_alive !== undefined && { keep_alive }),
    };
  }
};

/** OLLAMA_HOST may lack its scheme or its port, and 0.0.0.0 is where a server listens, not where it is. */
export function base(endpoint: Endpoint, host = process.env.OLLAMA_HOST): string {
  if (endpoint.url) return endpoint.url.replace(/\/+$/, "").replace(/\/(v1|api)$/, "");
  const given = host?.trim().replace(/^["']|["']$/g, "") || "127.0.0.1:11434";
  const [, scheme, name = "", port, path = ""] =
    /^(https?:\/\/)?(\[[^\]]*\]|[^:/]*)(?::(\d+))?(\/.*)?$/.exec(given) ?? [];
  const here = /^(|0\.0\.0\.0)$/.test(name) ? "127.0.0.1" : name === "[::]" ? "[::1]" : name;
  const url = `${scheme ?? "http://"}${here}${port ? `:${port}` : scheme ? "" : ":11434"}${path.replace(/\/+$/, "")}`;
  if ((!name && !port) || !URL.canParse(url))
    throw Object.assign(new Error(`Cannot use OLLAMA_HOST '${given}': not an address. Set it to host:port or a URL.`), {
      exit: 2,
    });
  return new URL(url).href.replace(/\/+$/, "");
}

function headers(endpoint: Endpoint): Record<string, string> {
  const key = endpoint.key ?? process.env.OLLAMA_API_KEY ?? endpoint.kept;
  return { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) };
}

/** What it takes in here: as the model's own file says, else what it was trained for, up to what is worth the memory. */
function windowOf(info: Shown, most: number): number | undefined {
  const own = Number(/^num_ctx\s+(\d+)/m.exec(info.parameters ?? "")?.[1] ?? 0);
  const window = trained(info);
  return own || (window && Math.min(window, most));
}

/** The window that the model was trained for. */
function trained(info: Shown): number | undefined {
  const family = info.model_info?.["general.architecture"];
  const length = info.model_info?.[`${family}.context_length`];
  return typeof length === "number" ? length : undefined;
}

function capabilities({ capabilities }: Shown): { tools?: boolean; vision?: boolean } {
  return capabilities ? { tools: capabilities.includes("tools"), vision: capabilities.includes("vision") } : {};
}

function toWire(message: Message) {
  const images =
    "images" in message && message.images?.length ? { images: message.images.map((image) => image.base64) } : {};
  if (message.role === "user") return { role: "user", content: message.text, ...images };
  if (message.role === "tool")
    return { role: "tool", tool_name: message.name, tool_call_id: message.id, content: message.text, ...images };
  return {
    role: "assistant",
    content: message.text,
    ...(message.thinking && { thinking: message.thinking }),
    ...(message.calls?.length && {
      tool_calls: message.calls.map(({ id, name, args }) => ({ id, function: { name, arguments: args } })),
    }),
  };
}

/** Lines of JSON. The last has `done`; a failure on the way is a line `{"error": …}` under status 200. */
async function* read(response: HttpAnswer): AsyncGenerator<Delta> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of response.body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop()!;
    for (const line of lines) if (line.trim()) yield* deltas(line);
  }
  if (rest.trim()) yield* deltas(rest);
}

function* deltas(line: string): Generator<Delta> {
  let chunk: any;
  try {
    chunk = JSON.parse(line);
  } catch {
    yield { error: `not a stream but ${line.trim().slice(0, 200)}` };
  }
  if (chunk.error) yield { error: chunk };
  const { thinking, content, tool_calls = [] } = chunk.message ?? {};
  if (thinking) yield { thinking };
  if (content) yield { text: content };
  for (const {
    id,
    function: { name, arguments: args },
  } of tool_calls)
    yield { call: { id: id || newCall(), name, args } };
  if (!chunk.done) return;
  yield { usage: { input: chunk.prompt_eval_count ?? 0, output: chunk.eval_count ?? 0 } };
  yield { finish: chunk.done_reason || "stop" };
}

/** Calls come whole and, from older servers, without an id; two alike are two all the same. */
const newCall = (): string => `call_${Math.random().toString(36).slice(2, 10)}`;
