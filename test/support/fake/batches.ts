// The batch interfaces of OpenAI, Anthropic and Gemini as their servers speak them, byte for byte:
// files and batches are kept and listed, and what is not as it must be is refused.
import type { IncomingMessage, RequestListener } from "node:http";
import type { TestContext } from "node:test";
import { listen } from "./http.ts";

/** What comes of a request of a batch: the body of its answer, a refusal, or nothing in time. */
export type Outcome = { body: unknown } | { status: number; words: string } | "expired";
export interface BatchFake {
  url: string;
  /** The requests of each batch that was made, as ids and bodies. */
  batches: { id: string; requests: [id: string, body: any][] }[];
  uploads: string[]; // the names of files
  seen: string[]; // METHOD /path of every request
  isHeld: boolean; // batches stay in progress
  /** Called with METHOD /path once it had its effect; what it awaits delays the answer. */
  before: (route: string) => unknown;
  refusal?: string; // why batches fail when they are checked
  hides?: RegExp; // routes that it has not
  forget(): void; // all batches
}
type Made = {
  id: string;
  name: string; // by which it is listed
  requests: [id: string, body: any][];
  at: string;
  isOver: boolean; // it was seen to have ended
};
type Reply = [status: number, body: string | object];
interface Server extends BatchFake {
  outcome(body: any, id: string): Outcome;
  files: Map<string, { name: string; text: string }>;
  made: Made[];
}

const ID = /^[a-zA-Z0-9_-]{1,64}$/;
const json = (text: string): any => JSON.parse(text);

export async function fakeBatches(t: TestContext, outcome: (body: any, id: string) => Outcome) {
  const server: Server = {
    url: "",
    batches: [],
    uploads: [],
    seen: [],
    isHeld: false,
    before: () => {},
    forget: () => void server.made.splice(0),
    outcome,
    files: new Map(),
    made: [],
  };
  const listener: RequestListener = async (request, response) => {
    const body = await bytesOf(request).catch(() => undefined);
    if (!body) return; // its client was killed
    const route = `${request.method} ${request.url}`;
    server.seen.push(route);
    let reply: Reply;
    try {
      reply = answerTo(server, route, request, body);
    } catch (error) {
      const { status = 400, message } = error as Error & { status?: number };
      reply = refused(status, message);
    }
    await server.before(route);
    const [status, content] = reply;
    const text = typeof content === "string" ? content : JSON.stringify(content);
    response.writeHead(status, { "content-type": "application/json" }).end(text);
  };
  server.url = await listen(t, listener);
  return server;
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

const refused = (status: number, message: string): Reply => [
  status,
  { error: { message, type: "invalid_request_error", param: null, code: null } },
];

function need(isRight: unknown, sentence: string): asserts isRight {
  if (!isRight) throw new Error(sentence);
}

function answerTo(server: Server, route: string, { headers }: IncomingMessage, body: Buffer) {
  if (server.hides?.test(route)) return refused(404, `Invalid URL (${route})`);
  for (const [form, act] of ROUTES) {
    const match = form.exec(route);
    if (match) return act(server, match.slice(1), body, headers as Record<string, string>);
  }
  return refused(404, `Invalid URL (${route})`);
}

type Act = (
  server: Server,
  parts: string[],
  body: Buffer,
  headers: Record<string, string>,
) => Reply;
const ROUTES: [RegExp, Act][] = [
  [/^POST \/v1\/files$/, uploadFile],
  [/^GET \/v1\/files\?/, listFiles],
  [/^GET \/v1\/files\/(.*)\/content$/, fileContent],
  [/^POST \/v1\/batches$/, makeBatch],
  [/^GET \/v1\/batches\?/,
    (server) => [200, listOf(server.made.map((one) => openaiOf(server, one)))]],
  [/^GET \/v1\/batches\/([^/?]*)$/, (server, [id]) => [200, openaiOf(server, madeOf(server, id!))]],
  [/^POST \/v1\/messages\/batches$/, makeMessageBatch],
  [/^GET \/v1\/messages\/batches\?/,
    (server) => [200, listOf(server.made.map((one) => anthropicOf(server, one)))]],
  [/^GET \/v1\/messages\/batches\/([^/?]*)$/,
    (server, [id]) => [200, anthropicOf(server, madeOf(server, id!))]],
  [/^GET \/v1\/messages\/batches\/([^/?]*)\/results$/, anthropicResults],
  [/^POST \/v1beta\/models\/[^/]*:batchGenerateContent$/, makeGeminiBatch],
  [/^GET \/v1beta\/batches\?/,
    (server) => [200, { operations: server.made.map((one) => geminiOf(server, one)).reverse() }]],
  [/^GET \/v1beta\/(batches\/[^/?]*)$/,
    (server, [id]) => [200, geminiOf(server, madeOf(server, id!))]],
]; // biome-ignore format: a table

const listOf = (data: { id: string }[]) => {
  const newest = data.toReversed();
  const [first, last] = [newest[0]?.id ?? null, newest.at(-1)?.id ?? null];
  return { object: "list", data: newest, first_id: first, last_id: last, has_more: false };
};

function madeOf({ made }: Server, id: string): Made {
  const match = made.find((one) => one.id === id);
  if (!match) throw Object.assign(new Error(`No batch found with id '${id}'.`), { status: 404 });
  return match;
}

function keep(server: Server, id: string, name: string, requests: Made["requests"]): Made {
  need(requests.length, "A batch needs requests.");
  for (const [id, body] of requests) {
    need(ID.test(id), `custom_id '${id}' is not valid.`);
    need(body && !("stream" in body), "stream is not allowed in a batch.");
  }
  need(new Set(requests.map(([id]) => id)).size === requests.length, "Two requests of one id.");
  const made = { id, name, requests, at: new Date().toISOString(), isOver: false };
  server.made.push(made);
  server.batches.push({ id, requests });
  return made;
}

const isOver = (server: Server, made: Made): boolean => (made.isOver ||= !server.isHeld);

// OpenAI

function uploadFile(server: Server, _: string[], body: Buffer, headers: Record<string, string>) {
  const boundary = /^multipart\/form-data; boundary=(.+)$/.exec(headers["content-type"] ?? "")?.[1];
  need(boundary, "The upload is not multipart/form-data.");
  const text = body.toString();
  need(text.endsWith(`\r\n--${boundary}--\r\n`), "The upload has no end.");
  const parts = text.split(`--${boundary}`).slice(1, -1);
  const fields = parts.map((part) => {
    const [head = "", ...content] = part.split("\r\n\r\n");
    return [head, content.join("\r\n\r\n").slice(0, -2)] as const;
  });
  const [, purpose] = fields.find(([head]) => /name="purpose"/.test(head)) ?? [];
  need(purpose === "batch", `The purpose '${purpose}' is none.`);
  const [head = "", content = ""] = fields.find(([head]) => /name="file"/.test(head)) ?? [];
  const name = /filename="(.*?)"/.exec(head)?.[1];
  need(name, "The file has no name.");
  need(name.endsWith(".jsonl"), "The file is not named *.jsonl.");
  const id = `file-${server.files.size + 1}`;
  server.files.set(id, { name, text: content });
  server.uploads.push(name);
  return [200, fileOf(id, server.files.get(id)!)] satisfies Reply;
}

const fileOf = (id: string, { name, text }: { name: string; text: string }) => ({
  id,
  object: "file",
  bytes: Buffer.byteLength(text),
  created_at: 1711471533,
  filename: name,
  purpose: "batch",
  status: "processed",
});

function listFiles(server: Server): Reply {
  return [200, listOf([...server.files].map(([id, file]) => fileOf(id, file)))];
}

function fileContent(server: Server, [id = ""]: string[]): Reply {
  const [, which, batch] = /^(out|err)-(.*)$/.exec(id) ?? [];
  if (!which) return [200, server.files.get(id)!.text];
  const lines = madeOf(server, batch!)
    .requests.toReversed()
    .map(([custom_id, body]) => [custom_id, server.outcome(body, custom_id)] as const)
    .filter(
      ([, outcome]) => (typeof outcome === "object" && "body" in outcome) === (which === "out"),
    )
    .map(([custom_id, outcome], i) => ({ id: `batch_req_${i}`, custom_id, ...lineOf(outcome) }));
  return [200, lines.map((line) => `${JSON.stringify(line)}\n`).join("")];
}

function lineOf(outcome: Outcome): object {
  if (outcome === "expired") {
    const message = "This request could not be executed before the completion window expired.";
    return { response: null, error: { code: "batch_expired", message } };
  }
  if ("body" in outcome)
    return { response: { status_code: 200, request_id: "r", body: outcome.body }, error: null };
  const body = { error: { message: outcome.words } };
  return { response: { status_code: outcome.status, request_id: "r", body }, error: null };
}

function makeBatch(server: Server, _: string[], body: Buffer): Reply {
  const { input_file_id, endpoint, completion_window, metadata } = json(body.toString());
  need(completion_window === "24h", "completion_window must be 24h.");
  const file = server.files.get(input_file_id);
  need(file, `No file '${input_file_id}'.`);
  const requests = file.text
    .trimEnd()
    .split("\n")
    .map((line): [string, any] => {
      const { custom_id, method, url, body } = json(line);
      need(method === "POST" && url === endpoint, "The url does not match the endpoint.");
      return [custom_id, body];
    });
  const made = keep(
    server,
    `batch_${server.batches.length + 1}`,
    JSON.stringify(metadata),
    requests,
  );
  return [200, openaiOf(server, made)];
}

function openaiOf(server: Server, made: Made) {
  const { id, requests } = made;
  const over = isOver(server, made);
  const failed = over && server.refusal !== undefined;
  const expired = over && requests.some(([id, body]) => server.outcome(body, id) === "expired");
  const end = expired ? "expired" : "completed";
  const now = over ? end : "in_progress";
  return {
    id,
    object: "batch",
    endpoint: "/v1/chat/completions",
    errors: failed
      ? { object: "list", data: [{ code: "token_limit_exceeded", message: server.refusal }] }
      : null,
    input_file_id: "file-1",
    completion_window: "24h",
    status: failed ? "failed" : now,
    output_file_id: over && !failed ? `out-${id}` : null,
    error_file_id: over && !failed ? `err-${id}` : null,
    created_at: Math.floor(Date.parse(made.at) / 1000),
    request_counts: { total: requests.length, completed: over ? requests.length : 0, failed: 0 },
    metadata: json(made.name),
  };
}

// Anthropic

function makeMessageBatch(
  server: Server,
  _: string[],
  body: Buffer,
  headers: Record<string, string>,
) {
  need(headers["anthropic-version"], "anthropic-version: header is required");
  const requests = json(body.toString()).requests.map(
    ({ custom_id, params }: any): [string, any] => [custom_id, params],
  );
  const made = keep(server, `msgbatch_${server.batches.length + 1}`, "", requests);
  return [200, anthropicOf(server, made)] satisfies Reply;
}

function anthropicOf(server: Server, made: Made) {
  const over = isOver(server, made);
  const none = { processing: 0, succeeded: 0, errored: 0, canceled: 0, expired: 0 };
  const { length } = made.requests;
  return {
    id: made.id,
    type: "message_batch",
    processing_status: over ? "ended" : "in_progress",
    request_counts: { ...none, ...(over ? { succeeded: length } : { processing: length }) },
    ended_at: over ? made.at : null,
    created_at: made.at,
    expires_at: made.at,
    archived_at: null,
    cancel_initiated_at: null,
    results_url: over ? `${server.url}/v1/messages/batches/${made.id}/results` : null,
  };
}

function anthropicResults(server: Server, [id = ""]: string[]): Reply {
  const lines = madeOf(server, id)
    .requests.toReversed()
    .map(([custom_id, body]) => {
      const outcome = server.outcome(body, custom_id);
      if (outcome === "expired") return { custom_id, result: { type: "expired" } };
      if ("body" in outcome)
        return { custom_id, result: { type: "succeeded", message: outcome.body } };
      const type = outcome.status < 500 ? "invalid_request_error" : "api_error";
      const error = { type: "error", error: { type, message: outcome.words } };
      return { custom_id, result: { type: "errored", error } };
    });
  return [200, lines.map((line) => `${JSON.stringify(line)}\n`).join("")];
}

// Gemini

function makeGeminiBatch(server: Server, _: string[], body: Buffer): Reply {
  const { displayName, inputConfig } = json(body.toString()).batch;
  need(displayName, "batch.displayName is required.");
  const requests = inputConfig.requests.requests.map(
    ({ request, metadata }: any): [string, any] => [metadata.key, request],
  );
  const made = keep(server, `batches/b${server.batches.length + 1}`, displayName, requests);
  return [200, geminiOf(server, made)];
}

function geminiOf(server: Server, made: Made) {
  const over = isOver(server, made);
  const inlinedResponses = made.requests.map(([key, body]) => {
    const outcome = server.outcome(body, key);
    if (outcome === "expired")
      return { error: { code: 4, message: "Deadline." }, metadata: { key } };
    if ("body" in outcome) return { response: outcome.body, metadata: { key } };
    const code = outcome.status < 500 ? 3 : 13;
    return { error: { code, message: outcome.words }, metadata: { key } };
  });
  return {
    name: made.id,
    metadata: {
      "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch",
      displayName: made.name,
      state: over ? "BATCH_STATE_SUCCEEDED" : "BATCH_STATE_RUNNING",
      batchStats: { requestCount: String(made.requests.length) },
      name: made.id,
    },
    ...(over && { done: true, response: { inlinedResponses: { inlinedResponses } } }),
  };
}
