// Gemini's batches, with their requests in the message itself. Their display name names them.
import { type BatchService, errorWords, jsonOf, mayPass, type Send } from "./service.ts";

const MAX_REQUESTS = 2_000;
const MAX_BYTES = 8 * 1024 * 1024; // of the 20 MB of a message; answers come in one as well
const MAX_PAGES = 50;
const ENDED_STATE = /_(SUCCEEDED|FAILED|CANCELLED|EXPIRED)$/;
const HTTP_STATUS: Record<number, number> = { 4: 504, 8: 429, 13: 500, 14: 503 }; // by gRPC's code

export function geminiBatches(streamUrl: string, sendRequest: Send): BatchService {
  const [, baseUrl = "", modelPath = ""] =
    /^(.*)\/((?:models|tunedModels)\/.*):streamGenerateContent/.exec(streamUrl)!;
  return {
    maxRequests: MAX_REQUESTS,
    maxBytes: MAX_BYTES,
    encode: (key, request) => JSON.stringify({ request, metadata: { key } }),

    async find({ name }) {
      for (let pageQuery = "", pageIndex = 0; pageIndex < MAX_PAGES; pageIndex++) {
        const listedPage = await jsonOf(sendRequest(`${baseUrl}/batches?pageSize=100${pageQuery}`));
        const { operations = [], nextPageToken } = listedPage;
        const matchingBatch = operations.find(
          ({ metadata }: any) => metadata?.displayName === name,
        );
        if (matchingBatch) return String(matchingBatch.name);
        if (!nextPageToken) return undefined;
        pageQuery = `&pageToken=${encodeURIComponent(nextPageToken)}`;
      }
    },

    async submit({ name }, requests) {
      const displayName = JSON.stringify(name);
      const inputConfig = `{"requests":{"requests":[${requests.join(",")}]}}`;
      const body = `{"batch":{"displayName":${displayName},"inputConfig":${inputConfig}}}`;
      const headers = { "content-type": "application/json" };
      const submitUrl = `${baseUrl}/${modelPath}:batchGenerateContent`;
      return String((await jsonOf(sendRequest(submitUrl, { method: "POST", headers, body }))).name);
    },

    async state(id) {
      const { done, metadata, error } = await jsonOf(sendRequest(`${baseUrl}/${id}`));
      const { state = "", batchStats = {} } = Object(metadata);
      const { successfulRequestCount = 0, failedRequestCount = 0 } = batchStats;
      return {
        isEnded: Boolean(done) || ENDED_STATE.test(state),
        done: Number(successfulRequestCount) + Number(failedRequestCount),
        ...(error && { wrong: errorWords(error) }),
      };
    },

    async *results(id) {
      const { response, metadata } = await jsonOf(sendRequest(`${baseUrl}/${id}`));
      const batchOutput = response ?? metadata?.output;
      for (const inlineResult of batchOutput?.inlinedResponses?.inlinedResponses ?? []) {
        const resultKey = String(inlineResult.metadata?.key);
        if (inlineResult.response) yield { id: resultKey, body: inlineResult.response };
        else {
          const httpStatus = HTTP_STATUS[inlineResult.error?.code] ?? 400;
          yield {
            id: resultKey,
            error: errorWords(inlineResult.error),
            mayPass: mayPass(httpStatus),
          };
        }
      }
    },
  };
}
