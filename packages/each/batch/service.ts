// What a provider's batch interface is to a run: requests that are submitted together, worked on
// within a day for half the price, and asked for again by name after a kill.
import type { HttpAnswer, HttpRequest, Zz } from "zz";
import { fault } from "zz/text";

/** A batch before it is submitted. Its name tells it from all others, at the provider too. */
export interface Submission {
  name: string;
  prefix: string; // what the ids of its requests begin with
  since: string; // when it was first meant to be submitted, as ISO
  size: number; // its requests
  foreign: readonly string[]; // ids that turned out to be batches of others
}
export type BatchState = { isEnded: boolean; done: number; wrong?: string };
/** What came of one request: the body of its answer, or why there is none. */
export type BatchResult = { id: string } & (
  | { body: unknown }
  | { error: string; mayPass: boolean }
);

export interface BatchService {
  maxRequests: number;
  maxBytes: number; // they are in memory while they are sent
  /** One request as it is submitted, as JSON. Ids have at most 64 letters, digits, - and _. */
  encode(id: string, requestBody: Record<string, unknown>): string;
  /** The provider's id of a batch that may have been submitted already. */
  find(batch: Submission): Promise<string | undefined>;
  /** Submits it; the provider's id. */
  submit(batch: Submission, requests: readonly string[]): Promise<string>;
  state(id: string): Promise<BatchState>;
  results(id: string): AsyncIterable<BatchResult>;
}

/** The request with which one input would have been asked. */
export interface CapturedRequest {
  url: string;
  headers: Record<string, string>;
}

export type Send = (url: string, requestOptions?: HttpRequest) => Promise<HttpAnswer>;

/** Sends with the key and the version of a captured request. */
export const sender =
  (zz: Zz, { headers }: CapturedRequest): Send =>
  (url, requestOptions = {}) =>
    zz.fetch(url, {
      ...requestOptions,
      headers: { ...headers, accept: "*/*", ...requestOptions.headers },
    });

export const jsonOf = async (httpAnswer: Promise<HttpAnswer>): Promise<any> =>
  Object((await (await httpAnswer).json()) as object);

/** The values of JSON lines, as they arrive. */
export async function* jsonLines(httpAnswer: HttpAnswer): AsyncGenerator<any> {
  const decoder = new TextDecoder();
  let unfinished = "";
  for await (const bodyChunk of httpAnswer.body) {
    const bodyLines = (unfinished + decoder.decode(bodyChunk, { stream: true })).split("\n");
    unfinished = bodyLines.pop()!;
    for (const bodyLine of bodyLines) if (bodyLine.trim()) yield parsedLine(bodyLine);
  }
  if (unfinished.trim()) yield parsedLine(unfinished);
}

function parsedLine(bodyLine: string): unknown {
  try {
    return JSON.parse(bodyLine);
  } catch {
    throw fault("A result of the batch is not JSON.", { transient: true });
  }
}

/** Whether a refusal of one request may pass. */
export const mayPass = (httpStatus: number): boolean =>
  httpStatus === 408 || httpStatus === 429 || httpStatus >= 500;

/** The words of an error, however it is wrapped. */
export function errorWords(error: any): string {
  const errorText = error?.error?.message ?? error?.message ?? error?.error ?? error;
  return typeof errorText === "string" ? errorText : JSON.stringify(errorText ?? "no reason given");
}
