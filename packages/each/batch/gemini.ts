// Gemini's batches, with their requests in the message itself. Their display name names them.
import { type BatchService, errorWords, jsonOf, mayPass, type Send } from "./service.ts";

const MAX_REQUESTS = 2_000;
const MAX_BYTES = 8 * 1024 * 1024; // of the 20 MB of a message; answers come in one as well
const MAX_PAGES = 50;
const ENDED = /_(SUCCEEDED|FAILED|CANCELLED|EXPIRED)$/;
const HTTP_STATUS: Record<number, number> = { 4: 504, 8: 429, 13: 500, 14: 503 }; // by gRPC's code

export function geminiBatches(url: string, send: Send): BatchService {
  const [, base = "", model = ""] =
    /^(.*)\/((?:models|tunedModels)\/.*):streamGenerateContent/.exec(url)!;
  return {
    maxRequests: MAX_REQUESTS,
    maxBytes: MAX_BYTES,
    encode: (key, request) => JSON.stringify({ request, metadata: { key } }),

    async find({ name }) {
      for (let after = "", page = 0; page < MAX_PAGES; page++) {
        const list = await jsonOf(send(`${base}/batches?pageSize=100${after}`));
        const { operations = [], nextPageToken } = list;
        const match = operations.find(({ metadata }: any) => metadata?.displayName === name);
        if (match) return String(match.name);
        if (!nextPageToken) return undefined;
        after = `&pageToken=${encodeURIComponent(nextPageToken)}`;
      }
    },

    async submit({ name }, requests) {
      const displayName = JSON.stringify(name);
      const inputConfig = `{"requests":{"requests":[${requests.join(",")}]}}`;
      const body = `{"batch":{"displayName":${displayName},"inputConfig":${inputConfig}}}`;
      const headers = { "content-type": "application/json" };
      const to = `${base}/${model}:batchGenerateContent`;
      return String((await jsonOf(send(to, { method: "POST", headers, body }))).name);
    },

    async state(id) {
      const { done, metadata, error } = await jsonOf(send(`${base}/${id}`));
      const { state = "", batchStats = {} } = Object(metadata);
      const { successfulRequestCount = 0, failedRequestCount = 0 } = batchStats;
      return {
        isEnded: Boolean(done) || ENDED.test(state),
        done: Number(successfulRequestCount) + Number(failedRequestCount),
        ...(error && { wrong: errorWords(error) }),
      };
    },

    async *results(id) {
      const { response, metadata } = await jsonOf(send(`${base}/${id}`));
      const output = response ?? metadata?.output;
      for (const result of output?.inlinedResponses?.inlinedResponses ?? []) {
        const key = String(result.metadata?.key);
        if (result.response) yield { id: key, body: result.response };
        else {
          const status = HTTP_STATUS[result.error?.code] ?? 400;
          yield { id: key, error: errorWords(result.error), mayPass: mayPass(status) };
        }
      }
    },
  };
}
