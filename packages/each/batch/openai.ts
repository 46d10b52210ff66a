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
const ENDED_STATES = ["failed", "completed", "expired", "cancelled"];

export function openaiBatches(endpointUrl: string, send: Send): BatchService {
  const [, base = "", urlSuffix = ""] = /^(.*)(\/chat\/completions|\/responses)([?].*)?$/.exec(
    endpointUrl,
  )!;
  const endpoint = `/v1${urlSuffix}`;
  const jsonHeaders = { "content-type": "application/json" };
  return {
    maxRequests: MAX_REQUESTS,
    maxBytes: MAX_BYTES,
    encode: (id, { stream: _, stream_options: streamOptions, ...body }) =>
      JSON.stringify({ custom_id: id, method: "POST", url: endpoint, body }),

    async find({ name }) {
      const isMeant = ({ metadata }: any) => metadata?.zz === name;
      return (await findListed(send, `${base}/batches?limit=100`, isMeant))?.id;
    },

    async submit({ name }, requests) {
      const uploadName = `${name}.jsonl`;
      const uploaded = `${base}/files?purpose=batch&limit=1000`;
      const earlier = await findListed(send, uploaded, ({ filename }) => filename === uploadName);
      const input_file_id = earlier?.id ?? (await uploadFile(send, base, uploadName, requests));
      const batchRequest = {
        input_file_id,
        endpoint,
        completion_window: "24h",
        metadata: { zz: name },
      };
      const headers = { ...jsonHeaders, "idempotency-key": name };
      const body = JSON.stringify(batchRequest);
      const createdBatch = await jsonOf(send(`${base}/batches`, { method: "POST", headers, body }));
      return String(createdBatch.id);
    },

    async state(id): Promise<BatchState> {
      const { status, errors, request_counts } = await jsonOf(send(`${base}/batches/${id}`));
      const firstError = errors?.data?.[0];
      return {
        isEnded: ENDED_STATES.includes(status),
        done: Number(request_counts?.completed ?? 0) + Number(request_counts?.failed ?? 0),
        ...(status === "failed" && { wrong: errorWords(firstError ?? "it is not valid") }),
      };
    },

    async *results(id) {
      const { output_file_id, error_file_id } = await jsonOf(send(`${base}/batches/${id}`));
      for (const resultFile of [output_file_id, error_file_id])
        if (resultFile) yield* resultsIn(await send(`${base}/files/${resultFile}/content`));
    },
  };
}

async function uploadFile(
  sendRequest: Send,
  baseUrl: string,
  uploadName: string,
  requests: readonly string[],
): Promise<string> {
  const boundary = `zz-${uploadName.replace(/[^\w-]/g, "")}`;
  const formPart = (disposition: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n`;
  const body = Buffer.from(
    `${formPart('name="purpose"')}\r\nbatch\r\n` +
      `${formPart(`name="file"; filename="${uploadName}"`)}content-type: ` +
      "application/jsonl\r\n\r\n" +
      `${requests.join("\n")}\n\r\n--${boundary}--\r\n`,
  );
  const headers = { "content-type": `multipart/form-data; boundary=${boundary}` };
  const uploaded = await jsonOf(sendRequest(`${baseUrl}/files`, { method: "POST", headers, body }));
  return String(uploaded.id);
}

/** The first object of a list, page by page, that is meant. */
async function findListed(
  sendRequest: Send,
  listUrl: string,
  isMeant: (listedObject: any) => boolean,
): Promise<any> {
  for (let pageQuery = "", pageIndex = 0; pageIndex < MAX_PAGES; pageIndex++) {
    const { data = [], has_more } = await jsonOf(sendRequest(listUrl + pageQuery));
    const matchingObject = data.find(isMeant);
    if (matchingObject || !has_more || !data.length) return matchingObject;
    pageQuery = `&after=${encodeURIComponent(data.at(-1).id)}`;
  }
}

async function* resultsIn(httpAnswer: HttpAnswer): AsyncGenerator<BatchResult> {
  for await (const { custom_id, response, error } of jsonLines(httpAnswer)) {
    const id = String(custom_id);
    const httpStatus = Number(response?.status_code ?? 0);
    if (httpStatus >= 200 && httpStatus < 300 && !error) yield { id, body: response.body };
    else if (response) yield { id, error: errorWords(response.body), mayPass: mayPass(httpStatus) };
    else yield { id, error: errorWords(error), mayPass: true }; // expired or cancelled
  }
}
