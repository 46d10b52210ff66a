// How much each signal counts. Learnt once, in November 2026, by test/support/learn-weights.ts: a
// conditional logit over 406 commits of three repositories (hono, zod and zz), by which the files
// that a commit changed are chosen among all. Weights that two of them give name in the third as
// many files as these do. Which files change together had no weight, and is left out.
import type { Reason } from "./map-request.ts";
import type { FileRole } from "./survey.ts";

/** Each signal goes from 0 to 1; the file for which it is strongest gets 1. */
export const SIGNALS = [
  "bm25", // the query's words in the file, as search engines count them
  "content", // the same, whatever the file's length, and in its path
  "own", // in the file's own name
  "declared", // in all the names that it declares, together
  "symbol", // in a single name that it declares
  "named", // identifiers of the query in the file
  "declares", // identifiers of the query that the file declares
  "uses", // it uses the best files, or they use it
  "folder", // it lies beside the best files
  "messages", // past commits whose messages have the query's words changed it
  "churn", // it changes often
] as const;
export type Signal = (typeof SIGNALS)[number];

export const WEIGHTS: Record<Signal, number> = {
  bm25: 2.6,
  content: 1.5,
  own: 1.5,
  declared: 0.35,
  symbol: 0.85,
  named: 1.6,
  declares: 1.3,
  uses: 0.65,
  folder: 0.8,
  messages: 1.3,
  churn: 0.25,
};
/**
 * Tests stand behind what they test, examples behind the code, prose behind both, unless the query
 * is about them.
 */
export const ROLE_SCORES: Record<FileRole, number> = {
  code: 0,
  test: -4.2,
  aside: -2.1,
  other: -3.5,
  made: -4.2,
};

/** Which reason `why` gives for each signal. */
export const REASONS: Record<Signal, Reason> = {
  bm25: "words",
  content: "words",
  own: "path",
  folder: "path",
  declared: "symbols",
  symbol: "symbols",
  named: "words",
  declares: "symbols",
  uses: "uses",
  messages: "history",
  churn: "history",
};
