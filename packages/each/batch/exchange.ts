// The request with which an input would be asked is caught before it is sent; later the answer that
// a batch brought is put in the place of the server's. So a batch asks and reads as zz always does.
import type { HttpAnswer, HttpRequest, Question } from "zz";
import { fault, usage } from "zz/text";
import { askModel, type Mishap } from "../ask-model.ts";
import type { Answered } from "../run-ledger.ts";
import type { Running } from "../running.ts";
import type { CapturedRequest } from "./service.ts";

const DAY_MS = 86_400_000;
const OF_MODELS = /\/(chat\/completions|responses|messages)([?].*)?$|:streamGenerateContent/;

type Sent = HttpRequest & { url: string };
/** One question: its request is caught, or answered by this. */
type Slot = { answer?: unknown; caught?: Sent };

export interface Exchange {
  /** The request of a question, which is not sent. */
  capture(question: Question): Promise<CapturedRequest & { body: Record<string, unknown> }>;
  /** The answer to a question, of what a batch brought for it. */
  replay(question: Question, answerBody: unknown): Promise<Answered | Mishap>;
}

/** One question at a time. */
export function openExchange(running: Running): Exchange {
  const { zz, ctx, ledger } = running;
  let openSlot: Slot | undefined;
  zz.wrap(
    "fetch",
    (request, nextFetch) => {
      const current = openSlot;
      if (!current || request.method !== "POST") return nextFetch(request);
      if (!OF_MODELS.test(request.url)) throw usage(NO_BATCHES);
      openSlot = undefined; // what follows is sent
      if ("answer" in current) return answerWith(current.answer);
      current.caught = request;
      throw fault("The request waits for its batch.");
    },
    { order: "first", limit: DAY_MS },
  );
  const modelOption = ledger.plan.model ? { model: ledger.plan.model } : {};
  return {
    async capture(question) {
      const current: Slot = (openSlot = {});
      const failure = await ctx
        .answer({ ...question, ...modelOption, tools: false, save: false })
        .then(() => undefined)
        .catch((error) => error as Error)
        .finally(() => (openSlot = undefined));
      const { caught } = current;
      if (caught)
        return {
          url: caught.url,
          headers: { ...caught.headers },
          body: JSON.parse(String(caught.body)),
        };
      throw failure ?? usage(NO_BATCHES);
    },

    async replay(question, answer) {
      openSlot = { answer };
      return askModel(running, { ...question, tools: false }).finally(() => (openSlot = undefined));
    },
  };
}

export const NO_BATCHES =
  "Cannot use --batch: this provider has no batch interface that zz knows. Leave --batch out.";

function answerWith(batchAnswer: unknown): HttpAnswer {
  const answerText = JSON.stringify(batchAnswer);
  const answerBytes = Buffer.from(answerText);
  return {
    ok: true,
    status: 200,
    headers: {
      get: (headerName) => (/^content-type$/i.test(headerName) ? "application/json" : null),
    },
    body: (async function* () {
      yield answerBytes;
    })(),
    text: async () => answerText,
    json: async () => JSON.parse(answerText),
  };
}
