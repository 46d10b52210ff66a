// Ollama's own API as the server sends it, byte for byte: lines of JSON, and its refusals in its
// own words.
import { type Fake, type Script, type Seen, type Step, serve, stepOf } from "./http.ts";

const LINES = { "content-type": "application/x-ndjson" };
const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };
const at = { model: "m:latest", created_at: "2026-06-01T12:00:00.000000001Z" };

/** One line of the stream with a piece of the message. */
export const line = (message: Record<string, unknown>): string =>
  `${JSON.stringify({ ...at, message: { role: "assistant", content: "", ...message }, done: false })}\n`;

/** The last line. The counts can be absent: a prompt that was cached is not counted by older
 * servers. */
export const done = (reason = "stop", counts: object = { prompt_eval_count: 61, eval_count: 9 }) =>
  `${JSON.stringify({ ...at, message: { role: "assistant", content: "" }, done: true, done_reason: reason, ...counts })}\n`;

/** A failure after the first line: status 200 was sent before, so it is one more line, and no
 * `done` follows. */
const failure = (words: string): string => `${JSON.stringify({ error: words })}\n`;

export const stream = (...body: (string | Promise<unknown>)[]): Step => ({ headers: LINES, body });
const texts = (text: string): string[] =>
  (text.match(/.{1,5}/gsu) ?? []).map((content) => line({ content }));

/** An answer in a few pieces, after its thinking. */
export const say = (text: string, thinking = "", reason = "stop"): Step =>
  stream(
    ...(thinking.match(/.{1,5}/gsu) ?? []).map((thinking) => line({ thinking })),
    ...texts(text),
    done(reason),
  );

/** Whole calls on one line, with arguments as an object; only newer servers send ids. */
export const call = (...calls: [name: string, args: object, id?: string][]): Step =>
  stream(line({ tool_calls: calls.map(wholeCall) }), done());
const wholeCall = ([name, args, id]: [name: string, args: object, id?: string], index: number) => ({
  ...(id && { id }),
  function: { ...(id && { index }), name, arguments: args },
});

const json = (body: unknown, ready?: Promise<unknown>, status = 200): Step => ({
  status,
  headers: JSON_TYPE,
  body: [...(ready ? [ready] : []), JSON.stringify(body)],
});
export const refuse = (status: number, error: string): Step => json({ error }, undefined, status);

const GB = 1_000_000_000;
/** The course of a pull: the manifest, a layer of which one half comes after the other, each once
 * it may, then the final steps. */
export const pulling = (gigabytes: number, first: Promise<unknown>, second: Promise<unknown>) => {
  const layer = (digest: string, total: number, completed?: number) =>
    status(`pulling ${digest}`, { digest: `sha256:${digest}`, total, completed });
  const [big, total] = ["970aa74c0a90", gigabytes * GB];
  const [begun, half, whole] = [
    layer(big, total),
    layer(big, total, total / 2),
    layer(big, total, total),
  ];
  const last = ["verifying sha256 digest", "writing manifest", "success"].map((words) =>
    status(words),
  );
  return stream(
    MANIFEST,
    begun,
    first,
    half,
    second,
    whole,
    layer("c71d239df917", 11_357, 11_357),
    ...last,
  );
};
const status = (words: string, more: object = {}): string =>
  `${JSON.stringify({ status: words, ...more })}\n`;
const MANIFEST = status("pulling manifest");
/** The registry's error for an unknown model: status 200 was sent with the first line. */
export const notInRegistry: Step = stream(
  MANIFEST,
  failure("pull model manifest: file does not exist"),
);

export interface Installed {
  name: string;
  capabilities?: string[] | null; // null: an old server that does not report them
  trained?: number | null;
  parameters?: string;
  loaded?: { size?: number; size_vram?: number }; // in memory
}
interface FakeOllama extends Fake {
  /** Requests other than /api/chat, such as "POST /api/show m"; "closed /api/pull" if the client
   * left during a pull. */
  asked: string[];
}

/**
 * `ready`: what /api/tags waits for. A chat that the real server would refuse takes no step of the
 * script. A model that was pulled is installed from then on.
 */
export async function fakeOllama(
  script: Script,
  installed: Installed[] = [{ name: "m:latest" }],
  ready?: Promise<unknown>,
  pull: Step = notInRegistry,
): Promise<FakeOllama> {
  const asked: string[] = [];
  let turn = 0;
  const find = (name: string) =>
    installed.find((one) => one.name === name || one.name === `${name}:latest`);
  const route = (answer: (request: Seen) => Step) => (request: Seen) => {
    asked.push(
      [request.method, request.path, request.body?.model ?? request.body?.name]
        .filter(Boolean)
        .join(" "),
    );
    return answer(request);
  };
  const fake = await serve(
    (request) => {
      if (`${request.method} ${request.path}` !== "POST /api/chat")
        return {
          status: 404,
          headers: { "content-type": "text/plain" },
          body: ["404 page not found"],
        };
      const model = find(request.body.model);
      const refused = model ? refusal(request.body, model) : notFound(request.body.model);
      if (refused) return refused;
      return stepOf(script, request, turn++);
    },
    {
      "GET /api/version": route(() => json({ version: "0.14.1" })),
      "GET /api/tags": route(() =>
        json({ models: installed.map(({ name }) => named(name, { size: 4 * GB })) }, ready),
      ),
      "GET /api/ps": route(() =>
        json({
          models: installed.flatMap(({ name, loaded }) => (loaded ? named(name, loaded) : [])),
        }),
      ),
      "POST /api/pull": route(({ body, aborted }) => {
        void aborted.then(() => asked.push("closed /api/pull"));
        if (pull !== notInRegistry) installed.push({ name: body.model ?? body.name });
        return pull;
      }),
      "POST /api/show": route(({ body }) => {
        const model = find(body.model);
        return model ? json(shown(model)) : notFound(body.model);
      }),
    },
  );
  return { ...fake, asked };
}

const named = (name: string, more: object) => ({ name, model: name, ...more });
const notFound = (name: string): Step => refuse(404, `model '${name}' not found`);

function shown({
  capabilities = ["completion", "tools"],
  trained = 131_072,
  parameters,
}: Installed) {
  const length = trained !== null && { "lamp.context_length": trained };
  return {
    ...(parameters !== undefined && { parameters }),
    template: "{{ .Prompt }}",
    model_info: { "general.architecture": "lamp", ...length, "lamp.vision.context_length": 1 },
    ...(capabilities && { capabilities }),
  };
}

/** The server's own error for a request that it would refuse. */
function refusal(body: any, { name, capabilities = ["completion", "tools"] }: Installed) {
  for (const message of body.messages) {
    for (const image of message.images ?? []) {
      const bad = /[^A-Za-z0-9+/=]/.exec(image);
      if (bad) return refuse(400, `illegal base64 data at input byte ${bad.index}`);
    }
    for (const { function: called } of message.tool_calls ?? [])
      if (typeof called.arguments !== "object" || called.arguments === null)
        return refuse(400, "Value looks like object, but can't find closing '}' symbol");
  }
  if (body.tools?.length && capabilities && !capabilities.includes("tools"))
    return refuse(400, `registry.ollama.ai/library/${name} does not support tools`);
  if (body.think && capabilities && !capabilities.includes("thinking"))
    return refuse(400, `"${body.model}" does not support thinking`);
  return undefined;
}
