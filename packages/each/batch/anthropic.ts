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

export function anthropicBatches(url: string, send: Send): BatchService {
  const batches = `${url.replace(/[?].*$/, "")}/batches`;
  const results = async function* (id: string) {
    const { results_url } = await jsonOf(send(`${batches}/${id}`));
    // the address comes from the server: the key goes to no other
    const isSame = new URL(results_url, batches).origin === new URL(batches).origin;
    const answer = await send(isSame ? results_url : `${batches}/${id}/results`);
    for await (const { custom_id, result } of jsonLines(answer)) {
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
      for await (const { id, processing_status } of candidates(send, batches, batch)) {
        if (processing_status !== "ended") return id; // its results will tell
        for await (const result of results(id)) {
          if (result.id.startsWith(batch.prefix)) return id;
          break;
        }
      }
    },

    async submit(_, requests) {
      const headers = { "content-type": "application/json" };
      const body = `{"requests":[${requests.join(",")}]}`;
      return String((await jsonOf(send(batches, { method: "POST", headers, body }))).id);
    },

    async state(id) {
      const { processing_status, request_counts } = await jsonOf(send(`${batches}/${id}`));
      const { processing = 0, ...ended } = Object(request_counts) as Record<string, number>;
      const done = Object.values(ended).reduce((sum, count) => sum + count, 0);
      return { isEnded: processing_status === "ended" && !processing, done };
    },

    results,
  };
}

const failureOf = (result: any): { error: string; mayPass: boolean } => {
  if (result?.type !== "errored") return { error: `It is ${result?.type}.`, mayPass: true };
  const { type } = Object(result.error?.error ?? result.error);
  return { error: errorWords(result.error), mayPass: type !== "invalid_request_error" };
};

/** The batches that may be meant, the newest first. */
async function* candidates(
  send: Send,
  batches: string,
  { since, size, foreign }: Submission,
): AsyncGenerator<{ id: string; processing_status: string }> {
  const earliest = Date.parse(since) - CLOCKS_DIFFER_MS;
  for (let after = "", page = 0; page < MAX_PAGES; page++) {
    const { data = [], has_more } = await jsonOf(send(`${batches}?limit=100${after}`));
    for (const listed of data) {
      if (Date.parse(listed.created_at) < earliest) return;
      const counts = Object.values(Object(listed.request_counts)) as number[];
      const isSize = counts.reduce((sum, count) => sum + count, 0) === size;
      if (isSize && !foreign.includes(listed.id)) yield listed;
    }
    if (!has_more || !data.length) return;
    after = `&after_id=${encodeURIComponent(data.at(-1).id)}`;
  }
}
