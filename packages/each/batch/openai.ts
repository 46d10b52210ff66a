// OpenAI's batches, and those of servers that have the same: a file of requests is uploaded, then a
// batch is made of it. Its metadata names it.
import type { HttpAnswer } from "zz";
import {
  type BatchResult,
  type BatchService,
  type BatchState,
  errorWords,
  jsonLines,
  jsonOf,
  mayPass,
  type Send,
} from "./service.ts";

const MAX_REQUESTS = 50_000;
const MAX_BYTES = 16 * 1024 * 1024; // of the 200 MB that a server takes
const MAX_PAGES = 50;
const ENDED = ["failed", "completed", "expired", "cancelled"];

export function openaiBatches(url: string, send: Send): BatchService {
  const [, base = "", suffix = ""] = /^(.*)(\/chat\/completions|\/responses)([?].*)?$/.exec(url)!;
  const endpoint = `/v1${suffix}`;
  const json = { "content-type": "application/json" };
  return {
    maxRequests: MAX_REQUESTS,
    maxBytes: MAX_BYTES,
    encode: (id, { stream: _, stream_options: __, ...body }) =>
      JSON.stringify({ custom_id: id, method: "POST", url: endpoint, body }),

    async find({ name }) {
      const isMeant = ({ metadata }: any) => metadata?.zz === name;
      return (await findListed(send, `${base}/batches?limit=100`, isMeant))?.id;
    },

    async submit({ name }, requests) {
      const file = `${name}.jsonl`;
      const uploaded = `${base}/files?purpose=batch&limit=1000`;
      const earlier = await findListed(send, uploaded, ({ filename }) => filename === file);
      const input_file_id = earlier?.id ?? (await upload(send, base, file, requests));
      const batch = { input_file_id, endpoint, completion_window: "24h", metadata: { zz: name } };
      const headers = { ...json, "idempotency-key": name };
      const body = JSON.stringify(batch);
      const made = await jsonOf(send(`${base}/batches`, { method: "POST", headers, body }));
      return String(made.id);
    },

    async state(id): Promise<BatchState> {
      const { status, errors, request_counts } = await jsonOf(send(`${base}/batches/${id}`));
      const wrong = errors?.data?.[0];
      return {
        isEnded: ENDED.includes(status),
        done: Number(request_counts?.completed ?? 0) + Number(request_counts?.failed ?? 0),
        ...(status === "failed" && { wrong: errorWords(wrong ?? "it is not valid") }),
      };
    },

    async *results(id) {
      const { output_file_id, error_file_id } = await jsonOf(send(`${base}/batches/${id}`));
      for (const file of [output_file_id, error_file_id])
        if (file) yield* resultsIn(await send(`${base}/files/${file}/content`));
    },
  };
}

async function upload(
  send: Send,
  base: string,
  file: string,
  requests: readonly string[],
): Promise<string> {
  const boundary = `zz-${file.replace(/[^\w-]/g, "")}`;
  const part = (head: string) => `--${boundary}\r\ncontent-disposition: form-data; ${head}\r\n`;
  const body = Buffer.from(
    `${part('name="purpose"')}\r\nbatch\r\n` +
      `${part(`name="file"; filename="${file}"`)}content-type: application/jsonl\r\n\r\n` +
      `${requests.join("\n")}\n\r\n--${boundary}--\r\n`,
  );
  const headers = { "content-type": `multipart/form-data; boundary=${boundary}` };
  const uploaded = await jsonOf(send(`${base}/files`, { method: "POST", headers, body }));
  return String(uploaded.id);
}

/** The first object of a list, page by page, that is meant. */
async function findListed(
  send: Send,
  list: string,
  isMeant: (listed: any) => boolean,
): Promise<any> {
  for (let after = "", page = 0; page < MAX_PAGES; page++) {
    const { data = [], has_more } = await jsonOf(send(list + after));
    const match = data.find(isMeant);
    if (match || !has_more || !data.length) return match;
    after = `&after=${encodeURIComponent(data.at(-1).id)}`;
  }
}

async function* resultsIn(answer: HttpAnswer): AsyncGenerator<BatchResult> {
  for await (const { custom_id, response, error } of jsonLines(answer)) {
    const id = String(custom_id);
    const status = Number(response?.status_code ?? 0);
    if (status >= 200 && status < 300 && !error) yield { id, body: response.body };
    else if (response) yield { id, error: errorWords(response.body), mayPass: mayPass(status) };
    else yield { id, error: errorWords(error), mayPass: true }; // expired or cancelled
  }
}
