// The repository map: the files and signatures most relevant to a request, within a budget of tokens. No disk access.
import type { MapRequest, RepoMap, Source } from "./rank/contract.ts";
import { orderOf } from "./rank/order.ts";
import { pack } from "./rank/pack.ts";
import { surveyOf } from "./rank/survey.ts";

export type { MapRequest, RepoMap, Source } from "./rank/contract.ts";
export { countTokens } from "./rank/tokens.ts";

export function mapOf(sources: Source[], others: string[], request: MapRequest): RepoMap {
  const survey = surveyOf(sources, others, request);
  return pack(survey, orderOf(survey, request), request.tokens);
}

/** The files, most relevant first. */
export function rank(sources: Source[], others: string[], request: MapRequest): string[] {
  const survey = surveyOf(sources, others, request);
  return orderOf(survey, request).map((doc) => survey.docs[doc]!.path);
}

/** The map with all files in a given order: the benchmark compares with it. */
export function mapInOrder(sources: Source[], others: string[], request: MapRequest, paths: string[]): RepoMap {
  const survey = surveyOf(sources, others, request);
  const places = new Map(survey.docs.map(({ path }, doc) => [path, doc]));
  const order = paths.map((path) => places.get(path)!);
  return pack(survey, order, request.tokens);
}
