// Anthropic's message batches. They have no name of their own: one that may have been submitted
// before a kill is known by its time and size, and for certain by the ids of its results.
import {
  type BatchService,
  errorWords,
  jsonLines,
  jsonOf,
  type Send,
  type Submission,
} from "./service.ts";

const MAX_REQUESTS = 100_000;
const MAX_BYTES = 16 * 1024 * 1024; // of the 256 MB that the server takes
const MAX_PAGES = 50;
const CLOCKS_DIFFER_MS = 600_000; // the server's from this machine's

export function anthropicBatches(messagesUrl: string, sendRequest: Send): BatchService {
  const batches = `${messagesUrl.replace(/[?].*$/, "")}/batches`;
  const results = async function* (id: string) {
    const { results_url } = await jsonOf(sendRequest(`${batches}/${id}`));
    // the address comes from the server: the key goes to no other
    const isSameOrigin = new URL(results_url, batches).origin === new URL(batches).origin;
    const httpAnswer = await sendRequest(isSameOrigin ? results_url : `${batches}/${id}/results`);
    for await (const { custom_id, result } of jsonLines(httpAnswer)) {
      const id = String(custom_id);
      if (result?.type === "succeeded") yield { id, body: result.message };
      else yield { id, ...failureOf(result) };
    }
  };
  return {
    maxRequests: MAX_REQUESTS,
    maxBytes: MAX_BYTES,
    encode: (custom_id, { stream: _, ...params }) => JSON.stringify({ custom_id, params }),

    async find(batch) {
      for await (const { id, processing_status } of candidates(sendRequest, batches, batch)) {
        if (processing_status !== "ended") return id; // its results will tell
        for await (const firstResult of results(id)) {
          if (firstResult.id.startsWith(batch.prefix)) return id;
          break;
        }
      }
    },

    async submit(_, requests) {
      const headers = { "content-type": "application/json" };
      const body = `{"requests":[${requests.join(",")}]}`;
      return String((await jsonOf(sendRequest(batches, { method: "POST", headers, body }))).id);
    },

    async state(id) {
      const { processing_status, request_counts } = await jsonOf(sendRequest(`${batches}/${id}`));
      const { processing = 0, ...ended } = Object(request_counts) as Record<string, number>;
      const done = Object.values(ended).reduce((sum, endedCount) => sum + endedCount, 0);
      return { isEnded: processing_status === "ended" && !processing, done };
    },

    results,
  };
}

const failureOf = (failedResult: any): { error: string; mayPass: boolean } => {
  if (failedResult?.type !== "errored")
    return { error: `It is ${failedResult?.type}.`, mayPass: true };
  const { type } = Object(failedResult.error?.error ?? failedResult.error);
  return { error: errorWords(failedResult.error), mayPass: type !== "invalid_request_error" };
};

/** The batches that may be meant, the newest first. */
async function* candidates(
  sendRequest: Send,
  batches: string,
  { since, size, foreign }: Submission,
): AsyncGenerator<{ id: string; processing_status: string }> {
  const earliest = Date.parse(since) - CLOCKS_DIFFER_MS;
  for (let pageQuery = "", pageIndex = 0; pageIndex < MAX_PAGES; pageIndex++) {
    const { data = [], has_more } = await jsonOf(sendRequest(`${batches}?limit=100${pageQuery}`));
    for (const listedBatch of data) {
      if (Date.parse(listedBatch.created_at) < earliest) return;
      const requestCounts = Object.values(Object(listedBatch.request_counts)) as number[];
      const hasSameSize = requestCounts.reduce((sum, stateCount) => sum + stateCount, 0) === size;
      if (hasSameSize && !foreign.includes(listedBatch.id)) yield listedBatch;
    }
    if (!has_more || !data.length) return;
    pageQuery = `&after_id=${encodeURIComponent(data.at(-1).id)}`;
  }
}
